//! An audit as JSON.

use serde_json::{Value, json};

use crate::finding::{Audit, FindingStatus};
use crate::support::{Conclusion, MetricJudgement};

/// The version of the document's form.
pub const SCHEMA_VERSION: u32 = 1;

/// Makes the audit's JSON document.
/// It has `schema_version`, `source`, `notes`, `summary` (a count for each status), `figures`, `remarks`, `supports`.
pub fn audit_document(audit: &Audit) -> Value {
    let figures = audit.figures.iter().map(|figure| {
        json!({
            "line": figure.line, "label": figure.label, "printed": figure.printed, "unit": figure.unit,
            "computed": figure.right, "status": status_name(figure.status), "because": figure.because,
        })
    });
    let remarks = audit.remarks.iter().map(|remark| json!({ "kind": remark.kind.as_str(), "text": remark.text }));
    let supports = audit.supports.iter().map(|support| {
        let MetricJudgement { n, estimate, conclusion } = &support.judged;
        let (verdict, reason) = match conclusion {
            Conclusion::Verdict(verdict, _) => (Some(verdict.as_str()), None),
            Conclusion::None(reason) => (None, Some(reason.as_str())),
        };
        let estimate = estimate.map(|e| {
            let (p_holm, p_adjusted) = (e.p_holm, e.p_adjusted);
            json!({ "ratio": e.ratio, "low": e.lo, "high": e.hi, "p": e.p, "p_holm": p_holm, "p_adjusted": p_adjusted })
        });
        json!({
            "what": support.what, "a": support.a, "b": support.b, "n_a": n.0, "n_b": n.1,
            "estimate": estimate, "verdict": verdict, "no_verdict": reason,
        })
    });
    let summary: serde_json::Map<String, Value> =
        FindingStatus::ALL.iter().map(|status| (status_name(*status), json!(audit.count_of(*status)))).collect();
    json!({
        "schema_version": SCHEMA_VERSION, "source": audit.source, "notes": audit.notes, "summary": summary,
        "figures": figures.collect::<Vec<_>>(), "remarks": remarks.collect::<Vec<_>>(),
        "supports": supports.collect::<Vec<_>>(),
    })
}

/// Gives the status's name in JSON: `does-not-follow`.
fn status_name(status: FindingStatus) -> String {
    status.words().replace(' ', "-")
}

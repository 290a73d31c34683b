use maud::{Markup, html};
use model::{Length, Promise, Schedule, Standing};

use crate::comparison::{ComparisonSet, NoteKind, Pairing, TimeOrder};
use crate::evidence::{Evidence, IMPORTED};
use crate::labels::{created_text, estimator_words, rounds_of_cases};
use crate::look;
use crate::number::{Script, count_noun, ordinal, percent_text, whole_number};

/// Explains how the experiment was run and judged, with the command and the plan.
pub fn method_section(evidence: &Evidence, set: &ComparisonSet) -> Markup {
    html! {
        ol.method {
            li { (explain_runs(evidence, set)) }
            li { (explain_sample(set)) }
            @if !set.tables.is_empty() {
                li { (explain_ratio(evidence, set)) }
                li { (if set.apart.is_some() { explain_findings(set) } else { explain_verdicts(set) }) }
            }
            li { (explain_limits(set)) }
        }
        h3 { "To run it again" }
        pre { code { (evidence.header.command) } }
        p.note {
            "Plan hash " code { (evidence.header.plan_hash) } ", seed " (evidence.header.plan.schedule.seed) ", étalon "
            (evidence.header.etalon_version) " (" (evidence.header.build) "), " (created_text(evidence)) " UTC."
        }
        details { summary { "The plan" @if let Some(path) = &evidence.header.plan_path { ", " bdi { (path) } } }
            pre { code { (evidence.header.plan_text) } }
        }
    }
}

/// Explains rounds, order and lengths.
fn explain_runs(evidence: &Evidence, set: &ComparisonSet) -> Markup {
    let schedule = &evidence.header.plan.schedule;
    let order = match set.rules.order {
        TimeOrder::Interleaved if schedule.until_sure.is_some() => {
            "Every round runs each case once that is not decided, in a random order that is drawn anew for each round from the recorded \
             seed. What changes on the machine over the hours then meets all systems alike."
        }
        TimeOrder::Interleaved => {
            "Every round runs each case once, in a random order that is drawn anew for each round from the recorded seed. \
             What changes on the machine over the hours then meets all systems alike."
        }
        TimeOrder::Sequential | TimeOrder::SequentialAllowed => {
            "All runs of a case ran, then all of the next. What changed on the machine in the meantime looks like a \
             difference between cases: this order is kept to repeat old results."
        }
        TimeOrder::Apart => {
            "The experiments ran each by itself. What changed between them, on the machines or in the plan, looks like a difference \
             between systems: what is known of it stands at the top of this page."
        }
        TimeOrder::Unknown => {
            "The results were imported, and the order in which the runs ran is unknown. What changed on the machine in the meantime \
             may look like a difference between systems."
        }
    };
    let length = match schedule.length {
        Length::Duration(duration) => format!("{} s", duration.as_secs_f64()),
        Length::Transactions(n) => format!("{} transactions of each client", whole_number(n, Script::Typographic)),
    };
    let a_run = match evidence.cases.iter().filter(|case| Promise::from_point(&case.point).is_some()).count() {
        0 => "A run",
        some if some == evidence.cases.len() => "A run is a search by short runs, of which each",
        _ => "A run, or each short run of a search,",
    };
    let has_own_lengths = evidence.cases.iter().any(|case| case.point.contains_key(Schedule::OWN_LENGTH));
    html! {
        (rounds_of_cases(set)) ". " (order)
        @if evidence.header.build != IMPORTED && set.apart.is_none() {
            " " (a_run) " is " (schedule.warmup.as_secs_f64()) " s of warm-up, which is not counted, and then "
            (length) " that is" @if has_own_lengths { ", or as long as its key " code { "duration" } " says" } "."
        }
    }
}

/// Explains that the run is the unit of the sample.
fn explain_sample(set: &ComparisonSet) -> Markup {
    html! {
        "A run gives one value per metric; these values are the sample. The thousands of operations in a run are not: they \
         share its cache, its checkpoint, its neighbours. A and B in the tables are the " (estimator_words(set)) "."
    }
}

/// Says how an experiment ended that is judged after each round, as the end of a sentence.
fn explain_end(evidence: &Evidence, set: &ComparisonSet) -> String {
    let schedule = &evidence.header.plan.schedule;
    let rounds = count_noun(set.rounds as usize, "round");
    let extended = if set.rules.begun.is_some() { ", was extended" } else { "" };
    if let Some(found) = set.rules.unfinished {
        return format!("{extended}, and is not at its end: {}", found.sentence());
    }
    let open = set.rows().filter(|row| look::row_decision(row) == Standing::Open).count();
    // What an import was planned with is not known.
    if evidence.header.build != IMPORTED && set.rounds >= schedule.rounds {
        return format!("{extended}, and ran all its {rounds}");
    }
    let open = if open == 0 { "no row".to_owned() } else { count_noun(open, "row") };
    let late = set.notes.iter().any(|note| note.kind == NoteKind::MaxTime);
    let open = if late { format!("{open} open, since `schedule.max_time` was over") } else { format!("{open} open") };
    format!("{extended}, and ended after {rounds} with {open}")
}

/// Explains how ratios and intervals are made.
fn explain_ratio(evidence: &Evidence, set: &ComparisonSet) -> Markup {
    let level = percent_text(set.rules.level, Script::Typographic);
    html! {
        @match (set.rules.pairing, set.rules.sequence) {
            (Pairing::Paired, Some(sequence)) => {
                "Both sides of a round ran close together, so they are compared round by round: the change is the geometric mean of \
                 the ratios B / A. "
                @match set.rules.begun {
                    Some(begun) if begun.stop.is_none() => {
                        "The experiment was begun with " (count_noun(begun.rounds as usize, "round")) " and extended, which may be done \
                         after a look at it"
                    }
                    _ => {
                        "The experiment was judged after each round from the " (ordinal(sequence.first_look())) " on" (explain_end(evidence, set))
                    }
                }
                ", in " (count_noun(set.rules.looks.unwrap_or_default() as usize, "look")) ", so an interval for one look would find differences that are none. The " (level) " interval is Lai's \
                 confidence sequence over the logarithms, which holds at all looks at once and is wider for that."
            }
            (Pairing::Paired, None) => {
                "Both sides of a round ran close together, so they are compared round by round: the change is the geometric mean of \
                 the ratios B / A, and its " (level) " interval comes from the t distribution over their logarithms. Two checks that \
                 assume no normal distribution stand beside it: a bootstrap over the rounds, and the p of a sign-flip \
                 permutation test. Where they contradict the interval, the row says so."
            }
            (Pairing::Unpaired, _) => {
                @if matches!(set.rules.order, TimeOrder::Sequential | TimeOrder::SequentialAllowed) {
                    "The runs of one side ran before those of the other. "
                }
                "The sides have no rounds in common, so the change is the ratio of their geometric means, with the " (level)
                " interval of Welch's test. Nothing here guards against what changed between the two."
            }
        }
    }
}

/// Explains findings on sides that were measured apart, which are no verdicts.
fn explain_findings(set: &ComparisonSet) -> Markup {
    html! {
        strong { "Higher" } " or " strong { "lower" } ": beyond what the runs within each experiment vary by, with p adjusted over all \
        rows. " strong { "Alike" } ": the whole interval lies within ±" (percent_text(set.rules.margin, Script::Typographic)) ". None of them is a \
        verdict on the systems: what changed between the experiments, whether it is known or not, is in every change, and no test can \
        take it out. Systems that take turns in one experiment can have a verdict."
    }
}

/// Explains what each verdict means, and when there is none.
fn explain_verdicts(set: &ComparisonSet) -> Markup {
    let margin = percent_text(set.rules.margin, Script::Typographic);
    html! {
        strong { "Equivalent" } ": the whole interval lies within ±" (margin) ", even if it excludes zero: too small to matter. "
        strong { "Faster" } " or " strong { "slower" } " (a size: smaller or larger; a count: less or more): p is small \
        enough after its adjustment: over all primary rows after Holm, over all others, which are there to be looked through, after \
        Benjamini and Hochberg. Primary rows have four fifths of the error where others are judged, so that between two sides that do \
        not differ the chance of any such verdict in a comparison stays at " (percent_text(1.0 - set.rules.level, Script::Typographic)) ". "
        strong { "Inconclusive" } ": neither, with an estimate of the rounds that would settle it. "
        "Fewer than " (set.rules.min_rounds) " rounds give figures and no verdict, and so do a saturated load generator, a rate that was \
        not met, systems that promise different things at commit, and systems that ran one after the other."
    }
}

/// Explains what the report does not show.
fn explain_limits(set: &ComparisonSet) -> Markup {
    html! {
        "Percentiles of several runs are read from their merged histograms and shown only with at least 10 operations beyond them. Operations that failed took longer than all others, for all that is known: a percentile that lies among them is not available. \
         Response time counts from the moment at which an operation was due, so that waiting in line is part of it. "
        @if set.lost_runs() > 0 { "Runs without a result (" (set.lost_runs()) ") stand in no figure. " }
        "What could not be measured is n/a with its reason, never zero."
    }
}

//! Plans, `--set` arguments, and the tasks of a plan's cases, which name no file that is there.
//!
//! Seeds: plans docs/plan.md crates/model/src/plan crates/workloads/src/transactions/keys.rs

#![no_main]

use std::sync::LazyLock;

use conductor::Registry;
use etalon_fuzz::{chosen, text};
use libfuzzer_sys::fuzz_target;
use model::plan::{Changes, Form, redact_text};
use model::{Catalog, Plan};
use workloads::smack::SuperSmack;
use workloads::texts::Texts;
use workloads::workload::{Grants, Workload};

static CATALOG: LazyLock<Catalog> = LazyLock::new(|| Registry::built_in().catalog());
/// More cases than this are left: making a task of each is the same work again.
const MOST_CASES: usize = 8;

fuzz_target!(|data: &[u8]| {
    let Some((choice, bytes)) = chosen(data) else { return };
    let text = text(bytes);
    // Half of the inputs begin with a line of their own for the command line.
    let (set, text) = if choice & 1 == 0 { ("", &*text) } else { text.split_once('\n').unwrap_or((&text, "")) };
    let set = set.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()));
    let form = if choice & 2 == 0 { Form::Whole } else { Form::Quick };
    let changes = Changes { set: set.into_iter().collect(), form, ..Changes::default() };
    let plan = match Plan::parse(text, "plan.toml", &changes, &CATALOG, 1) {
        Ok((plan, _)) => plan,
        Err(errors) => {
            let _ = errors.to_string();
            return;
        }
    };
    let _ = (redact_text(text, &plan), plan.redacted().hash());
    let cases = plan.cases();
    if cases.len() <= 1000 {
        assert_eq!(plan.run_order().len(), cases.len() * plan.schedule.rounds as usize);
    }
    let registry = Registry::built_in();
    let grants = Grants { texts: Texts::from_sent(Default::default()), ..Grants::default() };
    // Its built-in scripts make 90,000 rows for each case, and other scripts are `smack`'s.
    for case in cases.iter().filter(|case| case.workload != SuperSmack.spec().name).take(MOST_CASES) {
        let task = registry.workload(&case.workload).and_then(|workload| workload.make_task(&case.point, &grants));
        if let Ok(task) = task {
            let _ = task.check_schedule(&plan.schedule);
        }
    }
});

//! What the audit reads of a field: formulas, printed figures, the names of statistics.
//!
//! Seeds: docs/audit.md crates/audit/src

#![no_main]

use audit::{FigureExpression, Printed, Statistic};
use etalon_fuzz::{chosen, text};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((choice, bytes)) = chosen(data) else { return };
    let text = text(bytes);
    match choice % 3 {
        0 => {
            let Ok(formula) = FigureExpression::parse(&text) else { return };
            let value = formula.value(&|name| Some(name.len() as f64));
            assert!(value.is_none_or(f64::is_finite));
            let again = FigureExpression::parse(formula.as_str()).expect("what was read is read again");
            assert_eq!(again.names(), formula.names());
        }
        1 => {
            let printed = Printed::parse(&text);
            let _ = (
                printed.last_digit_unit(),
                printed.significant_digits(),
                printed.rounding_interval(),
                printed.matches(12.5),
            );
        }
        _ => {
            let _ = Statistic::parse(&text);
        }
    }
});

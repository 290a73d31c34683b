//! Why a value is missing, as a tidy table writes it after `n/a: `. These words are the table's format, not étalon's wording.

use model::{Absence, NoValue};

const WORDS: [(&str, Absence); 3] =
    [("wrong answer: ", Absence::Wrong), ("unsupported: ", Absence::Unsupported), ("failed: ", Absence::Failed)];

/// Writes why a value is missing, with the word for its kind.
pub(super) fn absence_text(missing: &NoValue) -> String {
    let word = WORDS.iter().find(|(_, kind)| *kind == missing.kind).map_or("", |(word, _)| word);
    match missing.kind {
        // The reason's own words may be others one day.
        Absence::TooFewOperations { needed } if read_too_few(&missing.reason).is_none() => {
            format!("fewer than {needed} {}", missing.reason)
        }
        _ => format!("{word}{}", missing.reason),
    }
}

/// Parses why a value is missing.
pub(super) fn parse_absence(text: &str) -> NoValue {
    let labelled = WORDS.iter().find_map(|(word, kind)| Some(kind.with_reason(text.strip_prefix(word)?)));
    labelled.or_else(|| read_too_few(text)).unwrap_or_else(|| Absence::Unavailable.with_reason(text))
}

/// Parses the reason `fewer than N …`, which a value of too few operations has.
fn read_too_few(text: &str) -> Option<NoValue> {
    let (needed, _) = text.strip_prefix("fewer than ")?.split_once(' ')?;
    let needed = needed.parse().ok()?;
    Some(Absence::TooFewOperations { needed }.with_reason(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_comes_back_from_its_text_with_its_kind() {
        for (kind, text) in [
            (Absence::Wrong, "wrong answer: pairs: expected 360, got 342"),
            (Absence::Unsupported, "unsupported: no union"),
            (Absence::Failed, "failed: 24144"),
            (Absence::Unavailable, "no total without S1, wrong answer: failed"),
            (Absence::TooFewOperations { needed: 1_000 }, "fewer than 1000 transactions in the run"),
            (Absence::Unavailable, "fewer than two numbers of the key clients have a figure"),
        ] {
            let missing = parse_absence(text);
            assert_eq!((missing.kind, absence_text(&missing).as_str()), (kind, text));
        }
    }

    #[test]
    fn the_number_of_operations_is_written_whatever_the_reason_says() {
        let missing = Absence::TooFewOperations { needed: 500 }.with_reason("reads for p99");
        assert_eq!(absence_text(&missing), "fewer than 500 reads for p99");
    }
}

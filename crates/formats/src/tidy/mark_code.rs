//! What programs read of a mark, as the unit of its row: `host=b`, `after=7/60`, `lost-to-others`, `row-locks=80%`.

use model::{Mark, MarkData};

const HOST: &str = "host=";
const CHANGE_POINT: &str = "after=";
const ROW_LOCKS: &str = "row-locks=";
const LOST_TO_OTHERS: &str = "lost-to-others";

/// Writes the code of a mark, empty where its kind and detail are all that there is.
pub fn mark_code(mark: &Mark) -> String {
    match (&mark.host, mark.data) {
        (_, Some(MarkData::ChangePoint { after, of })) => format!("{CHANGE_POINT}{after}/{of}"),
        (_, Some(MarkData::LostToOthers)) => LOST_TO_OTHERS.to_owned(),
        (_, Some(MarkData::RowLocks { percent })) => format!("{ROW_LOCKS}{percent}%"),
        (Some(host), None) => format!("{HOST}{host}"),
        (None, None) => String::new(),
    }
}

/// Adds to a mark what its code says; one that is not étalon's says nothing.
pub(super) fn add_code_to_mark(mark: Mark, code: &str) -> Mark {
    if let Some(host) = code.strip_prefix(HOST) {
        return Mark { host: Some(host.to_owned()), ..mark };
    }
    match parse_code(code) {
        Some(data) => mark.with_data(data),
        None => mark,
    }
}

/// Parses a mark's data back from its code.
fn parse_code(code: &str) -> Option<MarkData> {
    if code == LOST_TO_OTHERS {
        return Some(MarkData::LostToOthers);
    }
    if let Some(percent) = code.strip_prefix(ROW_LOCKS) {
        return Some(MarkData::RowLocks { percent: percent.strip_suffix('%')?.parse().ok()? });
    }
    let (after, of) = code.strip_prefix(CHANGE_POINT)?.split_once('/')?;
    Some(MarkData::ChangePoint { after: after.parse().ok()?, of: of.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::MarkKind;

    #[test]
    fn a_code_comes_back() {
        let on_host = Mark { host: Some("b: c".to_owned()), ..note() };
        let level = Mark::warm_up_too_short("the rate", 7, 60);
        let row_locks = Mark::new(MarkKind::RowLocks, "x").with_data(MarkData::RowLocks { percent: 80 });
        for mark in [note(), on_host, level, note().with_data(MarkData::LostToOthers), row_locks] {
            let bare = Mark { host: None, data: None, ..mark.clone() };
            assert_eq!(add_code_to_mark(bare, &mark_code(&mark)), mark);
        }
        assert_eq!(add_code_to_mark(note(), "after=7 of 60"), note());
    }

    fn note() -> Mark {
        Mark::new(MarkKind::Note, "x")
    }
}

//! Parts of `docs/performance.md` that are made by different benches, each between two marks.

const BEGIN: &str = "<!-- disk: begin -->";
const END: &str = "<!-- disk: end -->";

/// The part of a document between the marks, marks included.
fn found(document: &str) -> Option<(usize, usize)> {
    let begin = document.find(BEGIN)?;
    let end = document[begin..].find(END)? + begin + END.len();
    Some((begin, end))
}

/// The document with the part about disks in place of the one that it had, or at its end.
pub fn put(document: &str, part: &str) -> String {
    let marked = format!("{BEGIN}\n{}\n{END}", part.trim());
    match found(document) {
        Some((begin, end)) => format!("{}{marked}{}", &document[..begin], &document[end..]),
        None if document.trim().is_empty() => format!("# Performance\n\n{marked}\n"),
        None => format!("{}\n\n{marked}\n", document.trim_end()),
    }
}

/// A new document with the part about disks of an old one.
pub fn kept(old: &str, new: &str) -> String {
    match found(old) {
        Some((begin, end)) => format!("{}\n\n{}\n", new.trim_end(), &old[begin..end]),
        None => new.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_put_replaced_and_kept() {
        let first = put("# Performance\n\ntransactions\n", "## Disk\n\none\n");
        assert_eq!(first, format!("# Performance\n\ntransactions\n\n{BEGIN}\n## Disk\n\none\n{END}\n"));
        let second = put(&first, "## Disk\n\ntwo");
        assert!(second.contains("two") && !second.contains("one\n") && second.contains("transactions"), "{second}");
        assert_eq!(second.matches(BEGIN).count(), 1);
        let anew = kept(&second, "# Performance\n\nnew\n");
        assert_eq!(anew, format!("# Performance\n\nnew\n\n{BEGIN}\n## Disk\n\ntwo\n{END}\n"));
        assert_eq!(kept("nothing", "new\n"), "new\n");
        assert!(put("", "x").starts_with("# Performance"));
    }
}

//! Lists of names that plans may use at an agent: files `settings.allowed` with one name a line; `#` begins a comment.

/// Lists the names in a text of one name a line; `#` begins a comment.
pub(crate) fn listed_names(list: &'static str) -> Vec<&'static str> {
    let names = list.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    names.filter(|name| !name.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_empty_lines_are_no_names() {
        assert_eq!(listed_names("# what\n\nwork_mem\r\nfsync # why\n"), ["work_mem", "fsync"]);
    }

    #[test]
    fn lists_have_sorted_plain_names() {
        for list in [
            include_str!("mysql/settings.allowed"),
            include_str!("postgres/settings.allowed"),
            include_str!("sqlite/settings.allowed"),
        ] {
            let names = listed_names(list);
            assert!(names.len() > 50 && names.is_sorted_by(|one, next| one < next), "{names:?}");
            for name in names {
                let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
                assert!(name.bytes().all(is_plain), "{name}");
            }
        }
    }
}

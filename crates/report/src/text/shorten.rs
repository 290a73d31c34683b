//! Names that are shortened together, so that they still differ.

use std::collections::BTreeSet;

use unicode_width::UnicodeWidthStr;

use super::clip_to_width;

/// Number of places in which names are told apart.
const MOST_DIFFERENCES: usize = 3;

/// Shortens each name to `width` columns so that they still differ.
/// Names that would end up alike lose what they have in common: `postgres-16-or…(store 1)` and `postgres-16-or…(store 2)`.
pub fn clipped_apart(names: &[&str], width: usize) -> Vec<String> {
    let mut shown: Vec<String> = names.iter().map(|name| clip_to_width(name, width)).collect();
    let mut differences: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); names.len()];
    // Names of several kinds differ in more than one place.
    for _ in 0..MOST_DIFFERENCES {
        let next: Vec<String> = (0..names.len())
            .map(|at| {
                let alike =
                    names.iter().zip(&shown).filter(|(other, text)| **text == shown[at] && **other != names[at]);
                let Some(common) = alike.map(|(other, _)| common_start(names[at], other)).max() else {
                    return shown[at].clone();
                };
                differences[at].insert(common);
                shortened_around(names[at], &differences[at], width)
            })
            .collect();
        if next == shown {
            break;
        }
        shown = next;
    }
    shown
}

/// Shortens the names of both sides so that they still differ, as [`clipped_apart`] does.
pub fn pair_apart(a: &str, b: &str, width: usize) -> [String; 2] {
    let mut names = clipped_apart(&[a, b], width).into_iter();
    std::array::from_fn(|_| names.next().unwrap_or_default())
}

/// Counts the letters that two names have in common at their start.
fn common_start(one: &str, other: &str) -> usize {
    one.chars().zip(other.chars()).take_while(|(a, b)| a == b).count()
}

/// Shortens a name to what follows its `differences`, indices of letters, with the words that they are in.
/// The start of the name stays, too, if there is room.
fn shortened_around(name: &str, differences: &BTreeSet<usize>, width: usize) -> String {
    let letters: Vec<char> = name.chars().collect();
    let each = (width / differences.len().max(1)).saturating_sub(2).max(1);
    let mut parts = String::new();
    let mut end = 0;
    for (number, at) in differences.iter().enumerate() {
        let earliest = at.saturating_sub(each / 3).max(end);
        let begin = (earliest..*at).find(|at| !letters[*at].is_alphanumeric()).unwrap_or(earliest);
        let begin = begin + usize::from(begin < *at && letters[begin] == ' ');
        let is_last = number + 1 == differences.len();
        parts.push_str(if begin > end { "…" } else { "" });
        let room = if is_last { width.saturating_sub(parts.width()) } else { each };
        let part: String = letters[begin.min(letters.len())..].iter().collect();
        let part = if is_last { clip_to_width(&part, room) } else { part.chars().take(room).collect() };
        end = begin + part.chars().count();
        parts.push_str(&part);
    }
    let room = width.saturating_sub(parts.width());
    let start: String = name.chars().take(room).collect();
    match parts.strip_prefix('…') {
        Some(_) if room > 0 => format!("{start}{parts}"),
        _ => parts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_begin_alike_are_cut_where_they_are_alike() {
        let stores = ["postgres-16-orders-main (store 1)", "postgres-16-orders-main (store 2)"];
        assert_eq!(clipped_apart(&stores, 24), ["postgres-16-or…(store 1)", "postgres-16-or…(store 2)"]);
        let branches = ["postgres-16-orders-main", "postgres-16-orders-main-with-huge-pages-and-more"];
        let [short, long] = pair_apart(branches[0], branches[1], 22);
        assert_eq!((short.as_str(), long.as_str()), ("postgres-16-orde…-main", "…-main-with-huge-page…"));
    }

    #[test]
    fn names_that_differ_in_two_places_show_both() {
        let names =
            ["main", "branch"].map(|name| ["27", "28"].map(|day| format!("postgres-16-orders-{name} (2026-11-{day})")));
        let names: Vec<&str> = names.iter().flatten().map(String::as_str).collect();
        let shown = clipped_apart(&names, 24);
        assert_eq!(shown[..2], ["postgres…-main (202…-27)", "postgres…-main (202…-28)"]);
        assert_eq!(shown.iter().collect::<BTreeSet<_>>().len(), 4, "{shown:?}");
    }

    #[test]
    fn names_that_differ_anyway_are_cut_at_their_end() {
        assert_eq!(
            clipped_apart(&["rollback-journal", "write-ahead-log", "short"], 8),
            ["rollbac…", "write-a…", "short"]
        );
    }

    #[test]
    fn shortened_names_fit_and_differ_wherever_they_differ() {
        for width in [12, 14, 20, 24] {
            for at in 0..40 {
                let name = |letter: &str| format!("{}{letter}{}", "x".repeat(at), "y".repeat(40 - at));
                let [a, b] = pair_apart(&name("1"), &name("2"), width);
                assert!(a != b && a.width() <= width && b.width() <= width, "{width}, {at}: {a} {b}");
            }
        }
    }
}

//! Names as parts of sentences.

use crate::comparison::{KEY_SYSTEM, Table};
use crate::text::{clean, clipped};

/// Letters of a name.
pub const NAME: usize = 24;

/// The names of both sides; where they would be cut to the same text, their ends.
pub fn side_names(table: &Table) -> [String; 2] {
    let names = [&table.a, &table.b].map(|name| side_name(table, name));
    if names[0] != names[1] || table.a == table.b {
        return names;
    }
    let common = table.a.chars().zip(table.b.chars()).take_while(|(a, b)| a == b).count();
    let begin = common.saturating_sub(NAME / 3);
    [&table.a, &table.b].map(|name| quote_name(&format!("…{}", name.chars().skip(begin).collect::<String>())))
}

fn side_name(table: &Table, name: &str) -> String {
    if table.compared == KEY_SYSTEM { quote_name(name) } else { quote_name(&format!("{}={name}", table.compared)) }
}

/// A name as part of a sentence: in quotes if it has more than a word.
pub fn quote_name(name: &str) -> String {
    let name = clipped(&clean(name), NAME);
    let is_word = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "-_.:/=,+…@".contains(c));
    if is_word { name } else { format!("\u{201c}{name}\u{201d}") }
}

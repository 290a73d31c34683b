//! Names as parts of sentences.

use crate::comparison::{KEY_SYSTEM, Table};
use crate::text::{clean_text, clip_to_width, pair_apart};

/// Letters of a name.
pub const NAME: usize = 24;

/// Writes the names of a table's sides as parts of a sentence; long ones are shortened to where they differ.
pub fn side_names(table: &Table) -> [String; 2] {
    let [a, b] = [&table.a, &table.b].map(|name| clean_text(&side_name(table, name)));
    pair_apart(&a, &b, NAME).map(|name| quote_name(&name))
}

/// A side's name, as `key=name` where the sides are not systems.
fn side_name(table: &Table, name: &str) -> String {
    if table.compared == KEY_SYSTEM { name.to_owned() } else { format!("{}={name}", table.compared) }
}

/// Writes a name as part of a sentence, clipped, and in quotes if it is more than a word.
pub fn quote_name(name: &str) -> String {
    let name = clip_to_width(&clean_text(name), NAME);
    let is_word = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "-_.:/=,+…@".contains(c));
    if is_word { name } else { format!("\u{201c}{name}\u{201d}") }
}

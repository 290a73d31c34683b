//! Documents from their templates.

use stats::MIN_BLOCKS;

use super::extent::SHORTEST_S;
use super::origin::Origin;

/// A template with `{{name}}` replaced by the part of that name. What is known of every run needs no part.
pub fn filled(template: &str, origin: &Origin, parts: &[(&str, String)]) -> String {
    let of_run = [
        ("command", origin.command.clone()),
        ("date", origin.date.clone()),
        ("seconds", origin.seconds.to_string()),
        ("seed", origin.seed.to_string()),
        ("blocks", origin.blocks.to_string()),
        ("machine", facts(&origin.machine)),
        ("versions", facts(&origin.versions)),
    ];
    of_run
        .iter()
        .chain(parts)
        .fold(template.to_owned(), |text, (name, part)| text.replace(&format!("{{{{{name}}}}}"), part.trim_end()))
}

/// A table of names and values.
fn facts(facts: &[(String, String)]) -> String {
    let rows = facts.iter().map(|(name, value)| format!("| {name} | {} |\n", value.replace('|', "\\|")));
    format!("| | |\n|---|---|\n{}", rows.collect::<String>())
}

/// Warns where the figures carry no verdict; nothing of a whole run. `found` is what there is to say all the same, and
/// `more` what a whole run has beside its length: both end with a space.
pub fn warning(origin: &Origin, found: &str, more: &str) -> String {
    if origin.is_whole {
        return String::new();
    }
    format!(
        "**This is a partial run:** it shows that the bench works, and no more. {found}A whole one has {more}at least \
         {MIN_BLOCKS} blocks of at least {SHORTEST_S} s, and the release build."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_replaced_wherever_it_stands() {
        let origin = Origin { blocks: 6, seed: 7, ..Origin::default() };
        let parts = [("own", "a table\n".to_owned())];
        let text = filled("{{own}}, {{blocks}} blocks, seed {{seed}}, {{own}}; {{other}}", &origin, &parts);
        assert_eq!(text, "a table, 6 blocks, seed 7, a table; {{other}}");
    }

    #[test]
    fn a_whole_run_carries_no_warning() {
        let text = warning(&Origin::default(), "1 of 2 bars is met. ", "all entries, ");
        assert!(
            text.contains("no more. 1 of 2 bars is met. A whole one has all entries, at least 6 blocks of"),
            "{text}"
        );
        assert_eq!(warning(&Origin { is_whole: true, ..Origin::default() }, "", ""), "");
    }
}

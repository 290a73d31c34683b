//! The manual's table of contents: every page is in it, and every page of it is there.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result};

use super::Finding;

/// The table of contents, as mdBook reads it.
const SUMMARY: &str = "docs/SUMMARY.md";

/// Finds pages of the book that its table of contents does not list, and links to none.
///
/// # Errors
///
/// When the table of contents cannot be read.
pub fn check_pages(root: &Path, files: &[String]) -> Result<Vec<Finding>> {
    let text = std::fs::read_to_string(root.join(SUMMARY)).context(SUMMARY)?;
    let pages = files.iter().filter_map(|path| path.strip_prefix("docs/"));
    let pages = pages.filter(|page| page.ends_with(".md") && *page != "SUMMARY.md").collect();
    Ok(compare_pages(&text, &pages))
}

/// Finds links of the summary without a page, and pages without a link.
fn compare_pages(text: &str, pages: &BTreeSet<&str>) -> Vec<Finding> {
    let links = text.lines().enumerate().filter_map(|(index, line)| {
        let (_, link) = line.split_once("](")?;
        Some((index + 1, link.split_once(')')?.0))
    });
    let listed: BTreeSet<&str> = links.clone().map(|(_, page)| page).collect();
    let dead = links.filter(|(_, page)| !pages.contains(page));
    let dead = dead.map(|(line, page)| book_finding(SUMMARY, line, page, "there is no such page"));
    let unlisted = pages.iter().filter(|page| !listed.contains(*page));
    let unlisted = unlisted.map(|page| book_finding(&format!("docs/{page}"), 1, page, "put it into docs/SUMMARY.md"));
    dead.chain(unlisted).collect()
}

/// Makes a finding about a page of the book.
fn book_finding(path: &str, line: usize, item: &str, advice: &str) -> Finding {
    Finding { path: path.to_owned(), line, rule: "book", item: item.to_owned(), advice: advice.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_is_missing_on_either_side_is_found() {
        let text = "# Summary\n\n- [One](one.md)\n- [Gone](gone.md)\n";
        let found = compare_pages(text, &BTreeSet::from(["one.md", "audits/new.md"]));
        let found: Vec<_> = found.iter().map(|f| (f.path.as_str(), f.line, f.item.as_str())).collect();
        assert_eq!(found, [(SUMMARY, 4, "gone.md"), ("docs/audits/new.md", 1, "audits/new.md")]);
    }
}

//! Leftovers of a killed étalon: servers, mounts, images, files, control groups.
//!
//! On a terminal the next run asks before it removes them. Elsewhere it removes them and says so, since a running
//! server would disturb the measurements and a machine would fill up. Only étalon's own are removed: the folder names
//! its process and boot, and files elsewhere bear étalon's mark.

use std::io::{BufRead as _, IsTerminal as _};

use host::scratch::Abandoned;
use report::number::count_noun;

use crate::printer::Printer;

/// How leftovers are removed when a run did not.
const COMMAND: &str = "etalon doctor --clean";

/// Whether the user has to be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemovalConsent {
    Ask,
    Given,
}

impl RemovalConsent {
    /// Takes `--yes` as consent to remove; without it the user is asked.
    pub fn from_flag(yes: bool) -> RemovalConsent {
        if yes { RemovalConsent::Given } else { RemovalConsent::Ask }
    }
}

/// Removes what killed étalons left; asks before on a terminal, unless consent is given.
pub fn offer_removal(consent: RemovalConsent, printer: Printer) {
    let found = host::scratch::find_abandoned();
    if found.is_empty() {
        return;
    }
    let is_terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    if consent == RemovalConsent::Ask && is_terminal && !printer.is_quiet() {
        let what = if found.len() == 1 { "An étalon that was killed has" } else { "Étalons that were killed have" };
        printer.print_note(&format!("{what} left behind:"));
        found.iter().flat_map(describe).for_each(|line| printer.print_note(&format!("  {line}")));
        printer.print_question("Remove it all? [Y/n] ");
        if !read_consent() {
            printer.print_note(&format!("left as it is; `{COMMAND}` removes it"));
            return;
        }
    }
    remove_all(&found, printer);
}

/// Removes what killed étalons left, with a note for each; returns how many folders could not be removed.
pub fn remove_all(found: &[Abandoned], printer: Printer) -> usize {
    let mut failed = 0;
    for abandoned in found {
        match host::scratch::remove_abandoned(abandoned) {
            Ok(_) => {
                let what = describe(abandoned).join("; ");
                printer.print_note(&format!("removed what an étalon that was killed has left behind: {what}"));
            }
            // Another étalon has done it.
            Err(_) if !abandoned.path.exists() => {}
            Err(error) => {
                failed += 1;
                let path = abandoned.path.display();
                printer.print_warning(&format!("an étalon that was killed has left {path} behind: {error}"));
            }
        }
    }
    failed
}

/// Describes what a killed étalon left, a line for each thing, the folder first.
fn describe(abandoned: &Abandoned) -> Vec<String> {
    let minutes = abandoned.age.as_secs() / 60;
    let age = match minutes {
        0 => "less than a minute".to_owned(),
        1..120 => count_noun(minutes as usize, "minute"),
        120..2_880 => count_noun((minutes / 60) as usize, "hour"),
        _ => count_noun((minutes / 1_440) as usize, "day"),
    };
    let folder = format!("{} (process {}, {age} old)", abandoned.path.display(), abandoned.pid);
    let servers = abandoned.servers.iter().map(|pid| format!("the server {pid}, which still runs"));
    let mounts = abandoned.mounts.iter().map(|mount| format!("the volume on {}", mount.display()));
    let files = abandoned.files.iter().map(|file| format!("the file {}", file.display()));
    let groups = abandoned.groups.iter().map(|group| format!("the control group {}", group.display()));
    std::iter::once(folder).chain(servers).chain(mounts).chain(files).chain(groups).collect()
}

/// Reads a line of standard input: an empty one or `y` agrees, the end of the input does not.
fn read_consent() -> bool {
    let mut line = String::new();
    match std::io::stdin().lock().read_line(&mut line) {
        Ok(1..) => matches!(line.trim().to_lowercase().as_str(), "" | "y" | "yes"),
        Ok(0) | Err(_) => false,
    }
}

//! The folder of stores and reports.

use std::path::PathBuf;

/// Refuses a format in the place of a folder.
pub fn results_folder(text: &str) -> Result<PathBuf, String> {
    let folder = PathBuf::from(text);
    let instead = match text.rsplit('.').next().unwrap_or_default() {
        _ if folder.exists() => return Ok(folder),
        "json" => "`--json` prints the results as JSON",
        "html" => "`etalon report STORE -o FILE` writes the report to a file",
        "csv" | "md" | "txt" => "`etalon export STORE -o FILE` writes the results to a file",
        "etalon" => "the store in it gets a name of its own",
        _ => return Ok(folder),
    };
    Err(format!("it is a folder; {instead}"))
}

//! The folder of stores and reports, and that of disk systems.

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

/// Refuses a response time in the place of the folder that disk systems work on.
pub fn target_folder(text: &str) -> Result<PathBuf, String> {
    let time = text.rsplit(['<', '=']).next().unwrap_or_default();
    if !PathBuf::from(text).exists() && model::duration::parse(time).is_ok() {
        return Err("it is the folder of disk systems; a response time is `--p99 20ms`".to_owned());
    }
    Ok(PathBuf::from(text))
}

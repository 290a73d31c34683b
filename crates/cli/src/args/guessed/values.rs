//! Values of other tools' options, rewritten as étalon's options and keys take them.

use std::path::Path;

use super::address::is_url;

/// Replaces a file by its folder, of which the disk is measured; a folder or a device stays, and so does any other word.
/// The folder of devices, and that of all, are no such folder.
pub fn folder_of_new_file(word: String) -> String {
    let path = Path::new(&word);
    let is_target = is_url(&word) || path.is_dir() || host::target::is_device(path);
    let is_of_files = |folder: &&Path| folder.is_dir() && folder.parent().is_some() && *folder != Path::new("/dev");
    match path.parent().filter(|folder| !is_target && is_of_files(folder)) {
        Some(folder) => folder.display().to_string(),
        None => word,
    }
}

/// Writes a limit as a gate takes it: `p99=20ms` and `20` are `p99 <= 20ms`, `tps=500` is `tps >= 500`.
pub fn as_limit(value: &str) -> String {
    let Some(at) = value.find(['<', '>', '=']) else { return format!("p99 <= {}", with_unit(value, "ms")) };
    // k6 writes `p(99)`.
    let metric = value[..at].trim().replace(['(', ')'], "");
    let bound = value[at..].trim_start_matches(['<', '>', '=']).trim();
    match &value[at..=at] {
        ">" => format!("{metric} >= {bound}"),
        "=" if ["tps", "throughput", "qps"].contains(&metric.as_str()) => format!("{metric} >= {bound}"),
        _ => format!("{metric} <= {}", with_unit(bound, "ms")),
    }
}

/// Makes the gate's option that fails on a condition: `p99 > 20ms` becomes `--limit 'p99 <= 20ms'`, `5%` `--max-regression`.
pub fn gate_option(value: &str) -> [String; 2] {
    let Some(at) = value.find(['<', '>']) else {
        if value.contains('=') {
            return ["--limit".to_owned(), as_limit(value)];
        }
        let bound = value.trim_start_matches("regression").trim();
        return ["--max-regression".to_owned(), with_unit(bound, "%")];
    };
    let (metric, bound) = (value[..at].trim(), value[at + 1..].trim_start_matches('=').trim());
    // `p99 > 10%` is of the change.
    let is_share = ["err", "fail"].iter().any(|word| metric.contains(word));
    if metric.contains("regression") || (bound.ends_with('%') && !is_share) {
        return ["--max-regression".to_owned(), with_unit(bound, "%")];
    }
    let holds = if value[at..].starts_with('>') { "<=" } else { ">=" };
    ["--limit".to_owned(), format!("{metric} {holds} {bound}")]
}

/// Writes a comma-separated list as plans do: `gzip,zstd` is `["gzip", "zstd"]`; a single value stays.
pub fn one_or_list(value: &str) -> String {
    if !value.contains(',') {
        return value.to_owned();
    }
    let quoted: Vec<String> = value.split(',').map(|one| format!("\"{}\"", one.trim())).collect();
    format!("[{}]", quoted.join(", "))
}

/// Takes the bound out of a limit such as `p99<20`, and appends the unit to a bare number.
pub fn with_unit(value: &str, unit: &str) -> String {
    let value = value.rsplit(['<', '=']).next().unwrap_or_default().trim();
    let is_bare = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if is_bare { format!("{value}{unit}") } else { value.to_owned() }
}

/// Converts a size into units of 1024 to the given power: `8k` in KiB is 8, `1G` in MiB is 1024; a bare number is of bytes.
pub fn in_units(value: &str, power: u32) -> String {
    let digits = value.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let own = match value[digits.len()..].to_ascii_lowercase().chars().next() {
        Some('k') => 1,
        Some('m') => 2,
        Some('g') => 3,
        Some('t') => 4,
        _ => 0,
    };
    let Ok(number) = digits.parse::<u64>() else { return value.to_owned() };
    let bytes = number.saturating_mul(1024_u64.saturating_pow(own));
    (bytes / 1024_u64.pow(power)).max(1).to_string()
}

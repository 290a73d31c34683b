//! From SQLIO's options to the keys of the `disk` workload.

use std::fmt::Write as _;

use formats::sqlio::{Affinity, Command, Pattern, Pool, Spread};

use super::QUICK_MB;
use crate::error::CliError;

#[derive(Debug)]
pub struct Keys {
    pub text: String,
    pub size_mb: Option<u64>,
    /// `targets` of the quick form, if its files have sizes of their own.
    pub quick_targets: Option<String>,
    /// What is not carried out as written.
    pub notes: Vec<String>,
}

/// Names a command as published tables do: `random_R_8KB`.
pub fn command_name(command: &Command) -> String {
    let pattern = match command.pattern {
        Pattern::Stride(blocks) => format!("stride{blocks}"),
        other => other.to_string(),
    };
    format!("{pattern}_{}_{}KB", command.op.letter(), command.block_kb)
}

/// Translates a SQLIO command into keys of the `disk` workload, with notes on what differs.
pub fn plan_keys(command: &Command, pools: &[Pool]) -> Result<Keys, CliError> {
    let mut notes = Vec::new();
    let mut text = format!("op = \"{}\"\n", command.op.as_str());
    // Writing to a string does not fail.
    let _ = match command.pattern {
        Pattern::Random => writeln!(text, "pattern = \"random\""),
        Pattern::Sequential => writeln!(text, "pattern = \"sequential\""),
        Pattern::Stride(blocks) => {
            let rows = command.ios_per_run;
            writeln!(text, "pattern = \"stride\"\nstride.blocks = {blocks}\nstride.rows = {rows}")
        }
    };
    let threads: u32 = pools.iter().map(|pool| pool.threads).sum();
    let _ = writeln!(text, "block_kb = {}\nthreads = {threads}", command.block_kb);
    let _ = writeln!(text, "cache = \"{}\"", command.cache().as_str());
    let sizes = Sizes::of_pools(pools);
    let written = targets_key(pools, sizes, u64::MAX, &mut notes)?;
    let _ = writeln!(text, "targets = {}", serde_json::Value::from(written));
    let (size_mb, quick_targets) = match sizes {
        Sizes::One(size_mb) => (size_mb, None),
        Sizes::Own => (None, Some(targets_key(pools, sizes, QUICK_MB, &mut Vec::new())?)),
    };
    if let Some(mb) = size_mb {
        let _ = writeln!(text, "size_mb = {mb}");
    }
    if command.start_block > 0 {
        let _ = writeln!(text, "offset_kb = {}", command.start_block.saturating_mul(u64::from(command.block_kb)));
    }
    if let Some(affinity) = affinity_key(command, pools) {
        let _ = writeln!(text, "affinity = \"{affinity}\"");
    }
    if command.utilisation.is_some() {
        notes.push("-U: what the processors did is in the report, under the client's CPU time".to_owned());
    }
    Ok(Keys { text, size_mb, quick_targets, notes })
}

/// File sizes in a parameter file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sizes {
    /// All equal, or none given.
    One(Option<u64>),
    Own,
}

impl Sizes {
    /// The one size of all pools' files, or `Own` if they differ.
    fn of_pools(pools: &[Pool]) -> Sizes {
        let first = pools.first().and_then(|pool| pool.size_mb);
        if pools.iter().all(|pool| pool.size_mb == first) { Sizes::One(first) } else { Sizes::Own }
    }
}

/// Writes the files of all pools as the key `targets`, with threads and sizes where they differ, none above `most_mb`.
/// `testfile.dat`, or `a.dat@4, b.dat@1` with threads, or `a.dat@4:5000, b.dat@1:100` with sizes.
fn targets_key(pools: &[Pool], sizes: Sizes, most_mb: u64, notes: &mut Vec<String>) -> Result<String, CliError> {
    let names: Vec<&String> = pools.iter().flat_map(|pool| &pool.files).collect();
    let mut drives: Vec<char> =
        names.iter().filter_map(|name| drive_letter(name)).map(|c| c.to_ascii_lowercase()).collect();
    drives.sort_unstable();
    drives.dedup();
    let mut written = Vec::new();
    for pool in pools {
        for file in &pool.files {
            let here = local_path(file, drives.len() > 1)?;
            if here != *file {
                notes.push(format!("{file} is {here} in the system's folder; name it with `--target DIR`"));
            }
            let threads = if pools.len() > 1 { format!("@{}", pool.threads) } else { String::new() };
            let size = match (sizes, pool.size_mb) {
                (Sizes::Own, Some(mb)) => format!(":{}", mb.min(most_mb)),
                _ => String::new(),
            };
            written.push(format!("{here}{threads}{size}"));
        }
    }
    Ok(written.join(", "))
}

/// The drive letter of a Windows path.
fn drive_letter(name: &str) -> Option<char> {
    let mut characters = name.chars();
    let letter = characters.next().filter(char::is_ascii_alphabetic)?;
    (characters.next() == Some(':')).then_some(letter)
}

/// Converts a Windows path into one in the system's folder; fails for a whole drive.
/// The system stands for the drive, and several drives are folders in it. On Windows it stays as it is.
fn local_path(name: &str, has_several_drives: bool) -> Result<String, CliError> {
    let rest = if drive_letter(name).is_some() { &name[2..] } else { name };
    if rest.is_empty() || name.bytes().all(|byte| byte.is_ascii_digit() || byte == b':') {
        let error = CliError::user_error(format!("{name} is a whole drive: étalon works on files"));
        return Err(error.with_hint("name a file on it; a plan may name a device, as `url = \"disk:/dev/NAME\"`"));
    }
    if name.contains([',', '@']) {
        return Err(CliError::user_error(format!("{name}: names of files cannot hold `,` or `@`")));
    }
    if std::path::MAIN_SEPARATOR == '\\' || (drive_letter(name).is_none() && !name.contains('\\')) {
        return Ok(name.to_owned());
    }
    let plain = rest.replace('\\', "/");
    let plain = plain.trim_start_matches('/');
    match drive_letter(name) {
        Some(letter) if has_several_drives => Ok(format!("{}/{plain}", letter.to_ascii_lowercase())),
        _ => Ok(plain.to_owned()),
    }
}

/// Writes the processors of threads as the key `affinity`; `None` if the command binds none.
/// `-a` lets each thread run on any processor of the mask, `-aR` gives each thread one in turn; masks of a parameter file bind
/// their lines' threads.
fn affinity_key(command: &Command, pools: &[Pool]) -> Option<String> {
    match command.affinity {
        Affinity::Cpu { cpu, .. } => Some(format!("0x{:x}", 1_u64 << cpu)),
        Affinity::Mask { mask, spread: Spread::Together } => Some(format!("0x{mask:x}")),
        Affinity::Mask { mask, spread: Spread::RoundRobin(_) } => Some(format!("spread 0x{mask:x}")),
        Affinity::None if pools.iter().all(|pool| pool.mask == 0) => None,
        Affinity::None => {
            let masks = pools.iter().flat_map(|pool| pool.files.iter().map(|_| format!("0x{:x}", pool.mask)));
            let mut masks: Vec<String> = masks.collect();
            if pools.len() == 1 || masks.iter().all(|mask| *mask == masks[0]) {
                masks.truncate(1);
            }
            Some(masks.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use formats::sqlio::{parse_command, parse_params, split_words};

    use super::*;

    fn keys(line: &str, params: Option<&str>) -> Result<Keys, CliError> {
        let command = parse_command(&split_words(line)).unwrap();
        let params = params.map(|text| parse_params(text).unwrap());
        plan_keys(&command, &command.thread_pools(params.as_deref()).unwrap())
    }

    #[test]
    fn the_articles_line_becomes_keys() {
        let keys = keys("-kR -s300 -frandom -o8 -b8 -LS -BH -FparamMT.txt", Some("D:\\testfile.dat 24 0x0 5000"));
        let keys = keys.unwrap();
        let file = if std::path::MAIN_SEPARATOR == '\\' { "D:\\\\testfile.dat" } else { "testfile.dat" };
        assert_eq!(
            keys.text,
            format!(
                "op = \"read\"\npattern = \"random\"\nblock_kb = 8\nthreads = 24\ncache = \"hw\"\n\
                 targets = \"{file}\"\nsize_mb = 5000\n"
            )
        );
        assert_eq!(keys.size_mb, Some(5000));
    }

    #[test]
    fn strides_offsets_masks_and_pools_become_keys() {
        let one = keys("-kW -t4 -f64 -i16 -b2 -S10 -a0x3 a.dat b.dat", None).unwrap();
        for line in ["stride.blocks = 64\n", "stride.rows = 16\n", "offset_kb = 20\n", "targets = \"a.dat, b.dat\"\n"] {
            assert!(one.text.contains(line), "{line}: {}", one.text);
        }
        assert!(one.text.contains("affinity = \"0x3\"") && one.text.contains("cache = \"none\""), "{}", one.text);
        let pools = keys("-frandom -Fp", Some("a.dat 4 0x0 10\nb.dat 1 0x0 10")).unwrap();
        assert!(pools.text.contains("targets = \"a.dat@4, b.dat@1\"\n") && pools.text.contains("threads = 5\n"));
        assert!(!pools.text.contains("affinity"), "{}", pools.text);
    }

    #[test]
    fn files_have_the_sizes_of_their_lines() {
        let own = keys("-frandom -Fp", Some("a.dat 4 0x0 5000\nb.dat 1 0x0 100\nc.dat 2")).unwrap();
        assert!(own.text.contains("targets = \"a.dat@4:5000, b.dat@1:100, c.dat@2\"\n"), "{}", own.text);
        assert!(!own.text.contains("size_mb"), "{}", own.text);
        assert_eq!(own.quick_targets.as_deref(), Some("a.dat@4:256, b.dat@1:100, c.dat@2"));
    }

    #[test]
    fn masks_and_their_ways_become_keys() {
        for (line, params, affinity) in [
            ("-p2 -frandom a.dat", None, "0x4"),
            ("-aR0x6 -frandom a.dat", None, "spread 0x6"),
            ("-frandom -Fp", Some("a.dat 4 0x1 10\nb.dat 1 0x2 10"), "0x1, 0x2"),
            ("-frandom -Fp", Some("a.dat 4 0x3 10\nb.dat 1 0x3 10"), "0x3"),
            ("-frandom -Fp", Some("a.dat 4 0x0 10\nb.dat 1 0x2 10"), "0x0, 0x2"),
        ] {
            let text = keys(line, params).unwrap().text;
            assert!(text.contains(&format!("affinity = \"{affinity}\"\n")), "{line}: {text}");
        }
    }

    #[test]
    fn what_cannot_be_done_is_refused() {
        for (line, params, said) in [
            ("-RX -frandom", None, "X: is a whole drive"),
            ("-R1 -frandom", None, "1: is a whole drive"),
            ("-frandom a,b", None, "cannot hold"),
        ] {
            let error = keys(line, params).unwrap_err();
            assert!(error.message.contains(said), "{line}: {}", error.message);
        }
    }

    #[test]
    fn paths_of_windows_are_in_the_systems_folder() {
        if std::path::MAIN_SEPARATOR == '/' {
            assert_eq!(local_path("D:\\a\\t.dat", false).unwrap(), "a/t.dat");
            assert_eq!(local_path("c:testfile.dat", false).unwrap(), "testfile.dat");
            assert_eq!(local_path("D:\\t.dat", true).unwrap(), "d/t.dat");
            assert_eq!(local_path("/mnt/x/t.dat", false).unwrap(), "/mnt/x/t.dat");
        }
    }
}

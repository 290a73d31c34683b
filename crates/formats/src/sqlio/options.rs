//! Reading a command line: `sqlio [options] [file…]`, no blank between a letter and its value.

use crate::FormatError;
use crate::text::shorten;

use super::command::{Affinity, Command, CpuKind, DEFAULT_FILE, Initiation, LatencyTimer, Spread, Timing, Utilisation};
use super::{Buffering, MAX_FILES, MAX_THREADS, Op, Pattern};

const LETTERS: &str = "k t s d R f p a o b i m L U B S v 6 F D";

#[derive(Default)]
struct Given {
    drives: Option<String>,
    raw: Option<Vec<String>>,
    files: Vec<String>,
    threads: bool,
    seen: Vec<char>,
}

/// Parses the words behind `sqlio` into a command.
///
/// # Errors
/// The error names the option that is wrong, unknown or out of scope, and has a hint where one can be given.
pub fn parse_command<S: AsRef<str>>(words: &[S]) -> Result<Command, FormatError> {
    let mut command = Command::default();
    let mut given = Given::default();
    for (index, word) in words.iter().map(AsRef::as_ref).enumerate() {
        match word.strip_prefix('-') {
            None => given.files.push(word.to_owned()),
            Some(option) => {
                let next = words.get(index + 1).map(AsRef::as_ref);
                parse_option(&mut command, &mut given, option, next)?;
            }
        }
    }
    settle_options(&mut command, given)?;
    Ok(command)
}

/// Parses an option without its `-`; fails if it is unknown, stands twice or has no value.
fn parse_option(command: &mut Command, given: &mut Given, option: &str, next: Option<&str>) -> Result<(), FormatError> {
    let mut letters = option.chars();
    let Some(letter) = letters.next() else {
        return Err(FormatError::of_whole("- alone is no option"));
    };
    let value = letters.as_str();
    if let Some(note) = note_without_effect(option)? {
        command.warnings.push(note);
        return Ok(());
    }
    if !LETTERS.split(' ').any(|known| known.starts_with(letter)) {
        return Err(unknown_option_error(option));
    }
    if value.is_empty() && letter != 'U' {
        let hint = match next.filter(|next| !next.starts_with('-')) {
            Some(next) => format!("write -{letter}{}, without a blank", shorten(next)),
            None => format!("write {}", example_of(letter)),
        };
        return Err(FormatError::of_whole(format!("-{letter} has no value")).with_hint(hint));
    }
    if given.seen.contains(&letter) {
        return Err(FormatError::of_whole(format!("-{letter} stands twice")));
    }
    given.seen.push(letter);
    set_option(command, given, letter, value)
}

/// Sets the option of a letter to its value; fails if SQLIO does not take that.
fn set_option(command: &mut Command, given: &mut Given, letter: char, value: &str) -> Result<(), FormatError> {
    match letter {
        'k' => command.op = parse_op(value)?,
        't' => {
            command.threads = parse_whole(letter, value, 1, MAX_THREADS)?;
            given.threads = true;
        }
        's' => command.seconds = parse_whole(letter, value, 1, u32::MAX)?,
        'f' => command.pattern = parse_pattern(value)?,
        'b' => command.block_kb = parse_whole(letter, value, 1, 1 << 20)?,
        'i' => command.ios_per_run = parse_whole(letter, value, 1, u32::MAX)?,
        'o' => command.outstanding = parse_outstanding(value, &mut command.warnings)?,
        'B' => command.buffering = Some(parse_buffering(value)?),
        'L' => command.latency = Some(parse_latency(value)?),
        'U' => command.utilisation = Some(parse_utilisation(value)?),
        'p' => command.affinity = parse_cpu(value, command.affinity)?,
        'a' => command.affinity = parse_mask(value, command.affinity)?,
        'S' => command.start_block = parse_number(letter, value)?,
        'd' => given.drives = Some(parse_drives(value)?),
        'R' => given.raw = Some(parse_raw(value)?),
        'F' => command.param_file = Some(value.to_owned()),
        _ => return Err(out_of_scope_error(letter, value, given)),
    }
    Ok(())
}

/// Says of an option that it is accepted without effect; `None` of others.
fn note_without_effect(option: &str) -> Result<Option<String>, FormatError> {
    let note = match option {
        "64" => "-64 is left out: it was for the Alpha processor".to_owned(),
        "v1.1.1" => "-v1.1.1 is left out: it brings back the order of blocks of an error in that version".to_owned(),
        _ => match option.strip_prefix('D') {
            Some(level) if !level.is_empty() && level.bytes().all(|byte| byte.is_ascii_digit()) => {
                format!("-D{} is left out: it printed debugging output", shorten(level))
            }
            _ if option.starts_with(['6', 'v', 'D']) => return Err(unknown_option_error(option)),
            _ => return Ok(None),
        },
    };
    Ok(Some(note))
}

/// Makes the error for an option of SQLIO that is not supported, or excludes another.
fn out_of_scope_error(letter: char, value: &str, given: &Given) -> FormatError {
    let what = if given.seen.contains(&'o') {
        "-m and -o exclude each other".to_owned()
    } else {
        format!("-{letter}{} (I/O in several buffers, copied or scattered) is not supported", shorten(value))
    };
    FormatError::of_whole(what).with_hint("leave -m out: the same blocks are read and written as single buffers")
}

/// Makes the error for an option that SQLIO does not have.
fn unknown_option_error(option: &str) -> FormatError {
    let letter = option.chars().next().unwrap_or('-');
    let swapped = if letter.is_lowercase() { letter.to_ascii_uppercase() } else { letter.to_ascii_lowercase() };
    let hint = if option == "?" || option.starts_with('-') || option == "h" {
        "options have one letter, as in -kR -s30 -frandom -b8".to_owned()
    } else if LETTERS.split(' ').any(|known| known.starts_with(swapped)) && swapped != letter {
        format!("upper and lower case differ: {}", example_of(swapped))
    } else {
        "the options are -k -t -s -d -R -f -p -a -o -b -i -L -U -B -S -F".to_owned()
    };
    FormatError::of_whole(format!("-{} is no option of SQLIO", shorten(option))).with_hint(hint)
}

/// Shows how an option is written, for a hint.
fn example_of(letter: char) -> &'static str {
    match letter {
        'k' => "-kR or -kW",
        't' => "-t4",
        's' => "-s30",
        'd' => "-dDE",
        'R' => "-RX,1,2",
        'f' => "-frandom, -fsequential or -f64",
        'p' => "-p0",
        'a' => "-a0xf",
        'o' => "-o8",
        'b' => "-b8",
        'i' => "-i64",
        'm' => "-mC4",
        'L' => "-LS",
        'U' => "-U or -Up",
        'B' => "-BN, -BH, -BS or -BY",
        'S' => "-S0",
        'F' => "-Fparam.txt",
        _ => "-D1",
    }
}

/// Makes the error for an option's value.
fn wrong_value_error(letter: char, value: &str) -> FormatError {
    FormatError::of_whole(format!("-{letter}{}: no such value", shorten(value)))
        .with_hint(format!("write {}", example_of(letter)))
}

/// Parses an option that is a number.
fn parse_number(letter: char, value: &str) -> Result<u64, FormatError> {
    if !value.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(wrong_value_error(letter, value));
    }
    value.parse().map_err(|_| wrong_value_error(letter, value))
}

/// Parses an option that is a number in a range.
fn parse_whole(letter: char, value: &str, least: u32, most: u32) -> Result<u32, FormatError> {
    let number = parse_number(letter, value)?;
    u32::try_from(number)
        .ok()
        .filter(|n| (least..=most).contains(n))
        .ok_or_else(|| FormatError::of_whole(format!("-{letter}{}: it must be {least} to {most}", shorten(value))))
}

/// Parses `-k`: read or write.
fn parse_op(value: &str) -> Result<Op, FormatError> {
    match value {
        "R" | "r" => Ok(Op::Read),
        "W" | "w" => Ok(Op::Write),
        _ if value.eq_ignore_ascii_case("RW") => {
            Err(FormatError::of_whole("-kRW: SQLIO mixes no reads with writes")
                .with_hint("one run with -kR, one with -kW"))
        }
        _ => Err(wrong_value_error('k', value)),
    }
}

/// Parses `-f`: random, sequential or a stride.
fn parse_pattern(value: &str) -> Result<Pattern, FormatError> {
    match value {
        "random" => return Ok(Pattern::Random),
        "sequential" => return Ok(Pattern::Sequential),
        _ => {}
    }
    if value.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(Pattern::Stride(parse_whole('f', value, 1, u32::MAX)?));
    }
    let meant = model::nearest(value, ["random", "sequential"]).or_else(|| {
        let short = value.to_ascii_lowercase();
        ["random", "sequential"].into_iter().find(|word| short.len() > 1 && word.starts_with(&short))
    });
    let error = FormatError::of_whole(format!("-f{}: no such pattern", shorten(value)));
    Err(match meant {
        Some(word) => error.with_hint(format!("did you mean -f{word}?")),
        None => error.with_hint(format!("write {}", example_of('f'))),
    })
}

/// Parses `-o`: how many I/Os are outstanding; 0 is none, with a warning.
fn parse_outstanding(value: &str, warnings: &mut Vec<String>) -> Result<Option<u32>, FormatError> {
    let depth = parse_whole('o', value, 0, 1 << 16)?;
    if depth == 0 {
        warnings.push("-o0 is taken as no -o: each I/O is waited for".to_owned());
        return Ok(None);
    }
    Ok(Some(depth))
}

/// Parses `-B`: which caches are used.
fn parse_buffering(value: &str) -> Result<Buffering, FormatError> {
    match value {
        "N" | "n" => Ok(Buffering::None),
        "H" | "h" => Ok(Buffering::Hardware),
        "S" | "s" => Ok(Buffering::Software),
        "Y" | "y" => Ok(Buffering::All),
        _ => {
            let error = FormatError::of_whole(format!("-B{}: no such cache mode", shorten(value)));
            let digits = value.bytes().all(|byte| byte.is_ascii_digit());
            Err(error.with_hint(if digits {
                format!("a block of {} KB is -b{}, in lower case", shorten(value), shorten(value))
            } else {
                "N no cache, H the drive's, S the file system's, Y both".to_owned()
            }))
        }
    }
}

/// Parses `-L`: how latencies are timed.
fn parse_latency(value: &str) -> Result<LatencyTimer, FormatError> {
    let (timer, initiation) = match value {
        "S" | "s" => (Timing::System, Initiation::Untimed),
        "P" | "p" => (Timing::Processor, Initiation::Untimed),
        "Si" | "si" => (Timing::System, Initiation::Timed),
        "Pi" | "pi" => (Timing::Processor, Initiation::Timed),
        _ => return Err(wrong_value_error('L', value)),
    };
    Ok(LatencyTimer { timer, initiation })
}

/// Parses `-U`: which processors' use is printed.
fn parse_utilisation(value: &str) -> Result<Utilisation, FormatError> {
    match value {
        "" => Ok(Utilisation::Total),
        "p" | "P" => Ok(Utilisation::PerProcessor),
        _ => Err(wrong_value_error('U', value)),
    }
}

/// Fails if `-p` or `-a` was given before: they exclude each other.
fn refuse_second_affinity(before: Affinity) -> Result<(), FormatError> {
    match before {
        Affinity::None => Ok(()),
        _ => Err(FormatError::of_whole("-p and -a exclude each other")),
    }
}

/// Parses `-p`: the processor of all threads.
fn parse_cpu(value: &str, before: Affinity) -> Result<Affinity, FormatError> {
    refuse_second_affinity(before)?;
    let (kind, digits) = match value.strip_prefix('I') {
        Some(digits) => (CpuKind::Ideal, digits),
        None => (CpuKind::Hard, value),
    };
    if digits.is_empty() {
        return Err(wrong_value_error('p', value));
    }
    Ok(Affinity::Cpu { cpu: parse_whole('p', digits, 0, 63)?, kind })
}

/// Parses `-a`: the processors as a mask.
fn parse_mask(value: &str, before: Affinity) -> Result<Affinity, FormatError> {
    refuse_second_affinity(before)?;
    let (spread, digits) = match (value.strip_prefix("RI"), value.strip_prefix('R')) {
        (Some(digits), _) => (Spread::RoundRobin(CpuKind::Ideal), digits),
        (None, Some(digits)) => (Spread::RoundRobin(CpuKind::Hard), digits),
        (None, None) => (Spread::Together, value),
    };
    let mask =
        super::params::parse_mask(digits).filter(|mask| *mask > 0).ok_or_else(|| wrong_value_error('a', value))?;
    Ok(Affinity::Mask { mask, spread })
}

/// Parses `-d`: letters of drives.
fn parse_drives(value: &str) -> Result<String, FormatError> {
    let letters = value.chars().all(|c| c.is_ascii_alphabetic());
    if letters { Ok(value.to_owned()) } else { Err(wrong_value_error('d', value)) }
}

/// Parses `-R`, `DEF123` or `D,E,1,12`: partitions by letter, disks by number.
fn parse_raw(value: &str) -> Result<Vec<String>, FormatError> {
    if !value.chars().all(|c| c.is_ascii_alphanumeric() || c == ',') {
        return Err(wrong_value_error('R', value));
    }
    let mut names = Vec::new();
    for part in value.split(',').filter(|part| !part.is_empty()) {
        if value.contains(',') && part.bytes().all(|byte| byte.is_ascii_digit()) {
            names.push(format!("{part}:"));
        } else {
            names.extend(part.chars().map(|c| format!("{c}:")));
        }
    }
    if names.is_empty() || names.len() > MAX_FILES { Err(wrong_value_error('R', value)) } else { Ok(names) }
}

/// Settles what the options say together: the files, and what `-F` makes ignored; fails if they do not fit.
fn settle_options(command: &mut Command, given: Given) -> Result<(), FormatError> {
    if let Some(path) = &command.param_file {
        let mut ignored: Vec<&str> = Vec::new();
        for (is_given, name) in [
            (given.threads, "-t"),
            (given.drives.is_some(), "-d"),
            (given.raw.is_some(), "-R"),
            (command.affinity != Affinity::None, "-p and -a"),
            (!given.files.is_empty(), "the files on the command line"),
        ] {
            if is_given {
                ignored.push(name);
            }
        }
        if !ignored.is_empty() {
            let note = format!("{} do not count beside -F: {path} says it", ignored.join(", "));
            command.warnings.push(note);
        }
        command.affinity = Affinity::None;
        command.files.clear();
        return Ok(());
    }
    if !given.files.is_empty() {
        command.files.clone_from(&given.files);
    }
    if let Some(drives) = &given.drives {
        let [name] = command.files.as_slice() else {
            return Err(FormatError::of_whole("-d takes one file, which is to be on each of the drives"));
        };
        command.files = drives.chars().map(|drive| format!("{drive}:{name}")).collect();
    }
    if let Some(raw) = given.raw {
        // The default file is not added to raw devices.
        if command.files == [DEFAULT_FILE] && given.files.is_empty() {
            command.files.clear();
        }
        command.files.extend(raw);
    }
    command.thread_pools(None).map(|_| ())
}

//! Files of every format that were damaged: a reader neither panics nor hangs, and its memory has a bound.

use std::collections::BTreeSet;
use std::io::Cursor;
use std::path::Path;
use std::time::{Duration, Instant};

use formats::reader::{Input, LogFile, READERS, Reads, find_reader};
use formats::recognise::{Captions, Text, read};
use formats::{Imported, Options, packed};

use crate::jobs::{DICTIONARY, Jobs};
use crate::samples::{FIO_TEXT, HYPERFINE, PGBENCH, SYSBENCH, samples};

/// What a file may take of a processor.
const MOST_TIME: Duration = Duration::from_secs(1);
/// What the whole test may have of memory at a time, in MiB: a sample has a few kB.
const MOST_MEMORY_MIB: u64 = 256;

/// A generator of changes: small, fast and the same in each run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides.max(1)
    }
}

/// Replaces, cuts, doubles and swaps pieces of a file.
fn damaged(file: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = file.to_vec();
    for _ in 0..=dice.roll(4) {
        let (at, length) = (dice.roll(bytes.len()), dice.roll(40));
        let end = (at + length).min(bytes.len());
        match dice.roll(6) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..end)),
            2 => {
                let piece = bytes[at..end].to_vec();
                bytes.splice(at..at, piece);
            }
            3 => bytes.splice(at..end, *b"99999999999999999999e99").for_each(drop),
            4 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte = dice.roll(256) as u8),
            _ => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte = b"-:;,|{}[]<>\"\n 0\xFF"[dice.roll(16)]),
        }
        if bytes.is_empty() {
            break;
        }
    }
    bytes
}

/// Reads a file of a format as far as into an experiment.
fn import(name: &str, bytes: &[u8]) {
    let options = Options::default();
    let reads = find_reader(name).map(|reader| reader.reads);
    let imports: Vec<Imported> = match reads {
        Some(Reads::Logs(read)) => {
            let file = LogFile { system: "a", path: Path::new("pgbench_log.1") };
            let text = formats::text::decode(bytes).into_bytes();
            let mut open = |_| Ok(Box::new(Cursor::new(text.clone())) as Box<dyn std::io::BufRead>);
            read(&[file], &options, &mut open).unwrap_or_default()
        }
        Some(Reads::Database(read)) => {
            let input = Input { system: "a", is_named: false, source: "f", below: "f", text: "", options: &options };
            read(bytes, &input).map(|found| vec![found.imported]).unwrap_or_default()
        }
        Some(Reads::Text(_)) => text(bytes, &options),
        // A file that is packed.
        None if packed::is_archive(bytes) => {
            let mut all = Vec::new();
            let visit = |_: &str, file: Vec<u8>| -> Result<(), formats::FormatError> {
                all.extend(text(&file, &options));
                Ok(())
            };
            let _ = packed::each_file(Cursor::new(bytes), visit);
            all
        }
        None => packed::unpack_text(bytes.to_vec()).map(|file| text(&file, &options)).unwrap_or_default(),
    };
    let _ = formats::into_experiment("x", &imports);
}

fn text(bytes: &[u8], options: &Options) -> Vec<Imported> {
    let text = &formats::text::decode(bytes);
    let asked = Text { text, source: "f", below: "f", system: "a", captions: Captions::Systems, reader: None, options };
    read(&asked).map(|read| read.imports).unwrap_or_default()
}

/// A text as it comes out of a CI's log, in a page of Markdown, and out of PowerShell.
fn dressed() -> Vec<(&'static str, Vec<u8>)> {
    let plain = [PGBENCH, SYSBENCH, FIO_TEXT].join("\n");
    let prefix = "build\tRun it\t2026-11-26T05:09:19.1234567Z ";
    let log: String = plain.lines().map(|line| format!("{prefix}{line}\n")).collect();
    let page = format!(
        "# Old\nWords.\n```\n{PGBENCH}\n```\n## New\n~~~json\n{HYPERFINE}\n~~~\n**Last**\n```\n{SYSBENCH}```\n"
    );
    let wide: Vec<u8> = format!("\u{feff}{plain}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    vec![("log of a CI", log.into_bytes()), ("Markdown", page.into_bytes()), ("UTF-16", wide)]
}

/// A file of each format, and one of each packing.
fn files() -> Vec<(&'static str, Vec<u8>)> {
    use std::io::Write as _;
    let task = "00000000-1111-2222-3333-444444444444\t3\t10000000\t03:47:09\n00000000-1111-2222-3333-444444444444\t4\t-1\t00:00:00\n";
    let mut jobs = Jobs::new();
    for number in 0..30 {
        jobs.orders(DICTIONARY, 1000 + number % 2, 8, 100 + number);
    }
    let mut files: Vec<_> = samples().into_iter().map(|(name, text)| (name, text.into_bytes())).collect();
    files.extend([
        ("pgbench-log", include_bytes!("../data/pgbench/all.log").to_vec()),
        ("pgbench-aggregate", include_bytes!("../data/pgbench/aggrate.log").to_vec()),
        ("task-log", task.as_bytes().to_vec()),
        ("hammerdb-jobs", jobs.bytes()),
    ]);
    let inner = include_bytes!("../data/pgbench/all.txt");
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(inner).unwrap();
    files.push(("gzip", gz.finish().unwrap()));
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for name in ["a/1.txt", "b/2.txt"] {
        zip.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(inner).unwrap();
    }
    files.push(("zip", zip.finish().unwrap().into_inner()));
    let zstd = ruzstd::encoding::compress_to_vec(&inner[..], ruzstd::encoding::CompressionLevel::Fastest);
    files.push(("zstd", zstd));
    files.extend(dressed());
    files
}

/// What the processor has worked for this thread, which a busy machine does not lengthen; elsewhere than on Linux the clock.
fn worked(began: Instant) -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat");
    let ns = told.ok().and_then(|told| told.split(' ').next()?.parse().ok());
    ns.map_or_else(|| began.elapsed(), Duration::from_nanos)
}

/// The most that this process ever had of memory, in MiB, where the system tells it.
fn peak_mib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().split(' ').next()?.parse::<u64>().ok()? / 1024)
}

#[test]
fn damaged_files_of_each_format_end_in_a_second() {
    let times = if std::env::var_os("ETALON_SLOW").is_some() { 10_000 } else { 300 };
    let files = files();
    let names: BTreeSet<&str> = files.iter().map(|(name, _)| *name).collect();
    let absent: Vec<&str> = READERS.iter().map(|reader| reader.name).filter(|name| !names.contains(name)).collect();
    assert!(absent.is_empty(), "{absent:?} have no sample");
    let (mut all, mut longest_of_all) = (0, Duration::ZERO);
    for (name, file) in &files {
        let (mut dice, mut longest) = (Dice(7), Duration::ZERO);
        for number in 0..times {
            let bytes = damaged(file, &mut dice);
            let began = Instant::now();
            let before = worked(began);
            import(name, &bytes);
            let took = worked(began).saturating_sub(before);
            let shown = String::from_utf8_lossy(&bytes);
            assert!(took < MOST_TIME, "{name}, file {number} takes {took:?}: {shown}");
            longest = longest.max(took);
        }
        all += times;
        longest_of_all = longest_of_all.max(longest);
        println!("{name}: {times} damaged files, {longest:?} at most");
    }
    let peak = peak_mib();
    println!("{all} damaged files of {} formats, {longest_of_all:?} at most, {peak:?} MiB", names.len());
    assert!(peak.is_none_or(|mib| mib < MOST_MEMORY_MIB), "{peak:?} MiB");
}

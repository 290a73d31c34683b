//! What SQLIO prints, to the letter.
//!
//! The layout and its number rules come from published outputs. Three wordings were never seen in one and are marked so
//! where they are written: the cache line of `-BN`, `-BS` and `-BY`, the timer line of `-LP`, and the line of a pool with
//! a single thread.

use std::fmt::Write as _;

use super::{BUCKETS, Buffering, Hundredths, Op, Pattern, Timing};

#[cfg(test)]
const VERSION: &str = "1.5.SG";

/// What a run does not have is `None` and prints no line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// `1.5.SG`.
    pub version: Option<String>,
    /// The timer of `-L`.
    pub timer: Option<Timing>,
    /// Counts a second of the system timer: says nothing about the result.
    pub timer_counts_per_s: Option<u64>,
    /// Path of the parameter file.
    pub param_file: Option<String>,
    pub pools: Vec<PoolLine>,
    pub threads: Option<u32>,
    pub op: Option<Op>,
    pub seconds: Option<u32>,
    pub files: Vec<String>,
    pub block_kb: Option<u32>,
    pub pattern: Option<Pattern>,
    /// I/Os in flight per thread and file; no line without `-o`.
    pub outstanding: Option<u32>,
    /// The caches; no line without `-B`.
    pub buffering: Option<Buffering>,
    pub sizes: Vec<SizeLine>,
    pub ios_per_s: Option<Hundredths>,
    pub mbs_per_s: Option<Hundredths>,
    /// The time of the calls that started I/Os.
    pub initiation: Option<InitiationUs>,
    pub latency: Option<LatencyMs>,
    /// Percent per whole millisecond, the last for 24 ms and more.
    pub histogram: Option<[u32; BUCKETS]>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolLine {
    pub file: String,
    pub threads: u32,
    pub first: u32,
    pub last: u32,
    pub mask: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeOrigin {
    Specified,
    /// The file as it is.
    Current,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizeLine {
    pub origin: SizeOrigin,
    pub mb: u64,
    pub file: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LatencyMs {
    pub min: u64,
    /// Mean of floored values, floored: an SSD's 0.9 ms is 0.
    pub avg: u64,
    pub max: u64,
}

/// The time of the calls that started I/Os, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InitiationUs {
    pub min: u64,
    pub avg: u64,
    pub max: u64,
}

/// What was counted in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SqlioMeasured {
    pub ios: u64,
    pub elapsed_ns: u64,
    pub latency: Option<LatencyCounts>,
}

/// Latencies as SQLIO counts them: each floored to whole milliseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LatencyCounts {
    count: u64,
    sum_ms: u128,
    min_ms: u64,
    max_ms: u64,
    buckets: [u64; BUCKETS],
}

impl Default for LatencyCounts {
    fn default() -> LatencyCounts {
        LatencyCounts { count: 0, sum_ms: 0, min_ms: u64::MAX, max_ms: 0, buckets: [0; BUCKETS] }
    }
}

impl LatencyCounts {
    /// Counts I/Os of this latency.
    pub fn add_ios(&mut self, ns: u64, ios: u64) {
        if ios == 0 {
            return;
        }
        let ms = ns / 1_000_000;
        self.count = self.count.saturating_add(ios);
        self.sum_ms += u128::from(ms) * u128::from(ios);
        self.min_ms = self.min_ms.min(ms);
        self.max_ms = self.max_ms.max(ms);
        let bucket = usize::try_from(ms).unwrap_or(usize::MAX).min(BUCKETS - 1);
        self.buckets[bucket] = self.buckets[bucket].saturating_add(ios);
    }

    /// Gives the least, mean and most latency, in whole ms.
    pub fn latency_ms(&self) -> LatencyMs {
        match self.count {
            0 => LatencyMs::default(),
            count => LatencyMs {
                min: self.min_ms,
                avg: u64::try_from(self.sum_ms / u128::from(count)).unwrap_or(u64::MAX),
                max: self.max_ms,
            },
        }
    }

    /// Computes the percent of I/Os in each column, rounded: they need not sum to 100.
    pub fn histogram(&self) -> [u32; BUCKETS] {
        let total = u128::from(self.count.max(1));
        self.buckets.map(|ios| ((u128::from(ios) * 200 + total) / (2 * total)) as u32)
    }
}

impl Report {
    /// Sets the figures by SQLIO's rules: I/Os a second rounded, MiB a second truncated, latencies floored.
    pub fn set_figures(&mut self, measured: &SqlioMeasured) {
        let elapsed_ns = u128::from(measured.elapsed_ns.max(1));
        // Doubled hundredths, for rounding.
        let doubled = u128::from(measured.ios) * 200 * 1_000_000_000;
        let ios = (doubled + elapsed_ns) / (2 * elapsed_ns);
        self.ios_per_s = Some(Hundredths(u64::try_from(ios).unwrap_or(u64::MAX)));
        let kb = u128::from(measured.ios) * u128::from(self.block_kb.unwrap_or(0));
        let mbs = kb * 100 * 1_000_000_000 / (1024 * elapsed_ns);
        self.mbs_per_s = Some(Hundredths(u64::try_from(mbs).unwrap_or(u64::MAX)));
        self.latency = measured.latency.as_ref().map(LatencyCounts::latency_ms);
        self.histogram = measured.latency.as_ref().map(LatencyCounts::histogram);
    }

    /// Writes SQLIO's output with LF; SQLIO on Windows writes CR LF.
    pub fn render(&self, wording: Wording) -> String {
        let mut text = String::new();
        let _ = self.write_head(wording, &mut text);
        let _ = self.write_figures(&mut text);
        text
    }

    /// Writes the lines that say what was run.
    fn write_head(&self, wording: Wording, out: &mut String) -> std::fmt::Result {
        if let Some(version) = &self.version {
            writeln!(out, "sqlio v{version}")?;
        }
        match (self.timer, self.timer_counts_per_s) {
            (Some(Timing::System), Some(counts)) => {
                writeln!(out, "using system counter for latency timings, {counts} counts per second")?;
            }
            // Never seen in a published output.
            (Some(Timing::Processor), Some(counts)) => {
                writeln!(out, "using processor counter for latency timings, {counts} counts per second")?;
            }
            _ => {}
        }
        if let Some(path) = &self.param_file {
            writeln!(out, "parameter file used: {path}")?;
        }
        for pool in &self.pools {
            let threads = wording.threads_text(pool.threads);
            // One thread was never seen in a published output.
            let range = if pool.threads == 1 && wording == Wording::AsSqlio {
                pool.first.to_string()
            } else {
                format!("{}-{}", pool.first, pool.last)
            };
            writeln!(
                out,
                "\tfile {} with {threads} ({range}) using mask 0x{:x} ({})",
                pool.file, pool.mask, pool.mask
            )?;
        }
        if let (Some(threads), Some(op), Some(seconds)) = (self.threads, self.op, self.seconds) {
            let (verb, preposition) = match op {
                Op::Read => ("reading", "from"),
                Op::Write => ("writing", "to"),
            };
            let files = if self.files.len() == 1 { "file" } else { "files" };
            let threads = wording.threads_text(threads);
            writeln!(out, "{threads} {verb} for {seconds} secs {preposition} {files} {}", self.files.join(" "))?;
        }
        if let (Some(kb), Some(pattern)) = (self.block_kb, self.pattern) {
            match pattern {
                Pattern::Random | Pattern::Sequential => writeln!(out, "\tusing {kb}KB {pattern} IOs")?,
                // Never seen in a published output.
                Pattern::Stride(blocks) => writeln!(out, "\tusing {kb}KB IOs over {blocks}-block stripes")?,
            }
        }
        if let Some(depth) = self.outstanding {
            writeln!(out, "\tenabling multiple I/Os per thread with {depth} outstanding")?;
        }
        if let Some(buffering) = self.buffering {
            writeln!(out, "\tbuffering set to {}", buffering_words(buffering))?;
        }
        for size in &self.sizes {
            let origin = match size.origin {
                SizeOrigin::Specified => "specified",
                SizeOrigin::Current => "current",
            };
            writeln!(out, "using {origin} size: {} MB for file: {}", size.mb, size.file)?;
        }
        writeln!(out, "initialization done")
    }

    /// Writes the lines of figures, if there are any.
    fn write_figures(&self, out: &mut String) -> std::fmt::Result {
        if self.ios_per_s.is_none() && self.mbs_per_s.is_none() && self.latency.is_none() {
            return Ok(());
        }
        writeln!(out, "CUMULATIVE DATA:")?;
        writeln!(out, "throughput metrics:")?;
        if let Some(ios) = self.ios_per_s {
            writeln!(out, "IOs/sec:{ios:>9}")?;
        }
        if let Some(mbs) = self.mbs_per_s {
            writeln!(out, "MBs/sec:{mbs:>9}")?;
        }
        if self.latency.is_some() || self.initiation.is_some() {
            writeln!(out, "latency metrics:")?;
        }
        if let Some(InitiationUs { min, avg, max }) = self.initiation {
            writeln!(out, "Min_Init_Latency(us): {min}\nAvg_Init_Latency(us): {avg}\nMax_Init_Latency(us): {max}")?;
        }
        if let Some(LatencyMs { min, avg, max }) = self.latency {
            writeln!(out, "Min_Latency(ms): {min}\nAvg_Latency(ms): {avg}\nMax_Latency(ms): {max}")?;
        }
        if let Some(histogram) = self.histogram {
            let columns: String = (1..BUCKETS - 1).map(|ms| format!("{ms:>3}")).collect();
            writeln!(out, "histogram:\nms: 0{columns} {}+", BUCKETS - 1)?;
            let shares: String = histogram.iter().map(|share| format!("{share:>3}")).collect();
            writeln!(out, "%:{shares}")?;
        }
        Ok(())
    }
}

/// How a single thread is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wording {
    /// The singular is written as SQLIO does: `1 thread`.
    AsSqlio,
    /// Always in the plural: SQLIO Analyzer fails on `1 thread`.
    ForAnalyzer,
}

impl Wording {
    /// Writes the number of threads with its noun.
    fn threads_text(self, threads: u32) -> String {
        match (threads, self) {
            (1, Wording::AsSqlio) => "1 thread".to_owned(),
            _ => format!("{threads} threads"),
        }
    }
}

/// Says in SQLIO's words which caches are used.
/// Only the words of `-BH` were seen in a published output.
pub(super) fn buffering_words(buffering: Buffering) -> &'static str {
    match buffering {
        Buffering::None => "not use file nor disk caches (as is default)",
        Buffering::Hardware => "use hardware disk cache (but not file cache)",
        Buffering::Software => "use software file cache (but not hardware disk cache)",
        Buffering::All => "use both file and disk caches",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run whose output was published by a vendor (SQLIO 1.5.SG, 2010): four threads of a parameter file that write
    /// 8 KB blocks at random for 30 s.
    fn published() -> Report {
        let mut histogram = [0; BUCKETS];
        histogram[..11].copy_from_slice(&[78, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1]);
        histogram[24] = 4;
        Report {
            version: Some(VERSION.to_owned()),
            timer: Some(Timing::System),
            timer_counts_per_s: Some(2_922_685),
            param_file: Some("param.txt".to_owned()),
            pools: vec![PoolLine { file: "testfile.dat".to_owned(), threads: 4, first: 0, last: 3, mask: 0 }],
            threads: Some(4),
            op: Some(Op::Write),
            seconds: Some(30),
            files: vec!["testfile.dat".to_owned()],
            block_kb: Some(8),
            pattern: Some(Pattern::Random),
            outstanding: Some(1),
            buffering: Some(Buffering::Hardware),
            sizes: vec![SizeLine { origin: SizeOrigin::Specified, mb: 2000, file: "testfile.dat".to_owned() }],
            ios_per_s: Some(Hundredths(42_188)),
            mbs_per_s: Some(Hundredths(329)),
            initiation: None,
            latency: Some(LatencyMs { min: 0, avg: 9, max: 1586 }),
            histogram: Some(histogram),
        }
    }

    #[test]
    fn a_published_output_comes_out_to_the_letter() {
        let expected = "sqlio v1.5.SG\n\
             using system counter for latency timings, 2922685 counts per second\n\
             parameter file used: param.txt\n\
             \tfile testfile.dat with 4 threads (0-3) using mask 0x0 (0)\n\
             4 threads writing for 30 secs to file testfile.dat\n\
             \tusing 8KB random IOs\n\
             \tenabling multiple I/Os per thread with 1 outstanding\n\
             \tbuffering set to use hardware disk cache (but not file cache)\n\
             using specified size: 2000 MB for file: testfile.dat\n\
             initialization done\n\
             CUMULATIVE DATA:\n\
             throughput metrics:\n\
             IOs/sec:   421.88\n\
             MBs/sec:     3.29\n\
             latency metrics:\n\
             Min_Latency(ms): 0\n\
             Avg_Latency(ms): 9\n\
             Max_Latency(ms): 1586\n\
             histogram:\n\
             ms: 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24+\n\
             %: 78  2  2  2  2  2  2  1  1  1  1  0  0  0  0  0  0  0  0  0  0  0  0  0  4\n";
        assert_eq!(published().render(Wording::AsSqlio), expected);
    }

    #[test]
    fn one_thread_is_singular_unless_the_analyzer_reads_it() {
        let mut report = published();
        report.threads = Some(1);
        report.op = Some(Op::Read);
        report.files.push("b.dat".to_owned());
        report.pools[0] = PoolLine { file: "a".to_owned(), threads: 1, first: 0, last: 0, mask: 255 };
        let line = |wording| report.render(wording).lines().skip(3).take(2).collect::<Vec<_>>().join("|");
        assert_eq!(
            line(Wording::AsSqlio),
            "\tfile a with 1 thread (0) using mask 0xff (255)|1 thread reading for 30 secs from files testfile.dat b.dat"
        );
        assert!(line(Wording::ForAnalyzer).contains("1 threads (0-0)"));
        assert!(line(Wording::ForAnalyzer).contains("|1 threads reading"));
    }

    #[test]
    fn megabytes_are_truncated_as_published() {
        // I/Os a second, block in KB, MB a second: as printed in outputs published between 1999 and 2015.
        for (ios, kb, mbs) in [
            ("421.88", 8, "3.29"),
            ("3434.19", 8, "26.82"),
            ("7851.80", 8, "61.34"),
            ("28807.29", 8, "225.05"),
            ("7808.43", 2, "15.25"),
            ("183.16", 2, "0.35"),
            ("8145.77", 4, "31.81"),
            ("8142.30", 4, "31.80"),
        ] {
            let measured =
                SqlioMeasured { ios: Hundredths::parse(ios).unwrap().0, elapsed_ns: 100_000_000_000, latency: None };
            let mut report = Report { block_kb: Some(kb), ..Report::default() };
            report.set_figures(&measured);
            assert_eq!(report.mbs_per_s.unwrap().to_string(), mbs);
        }
    }

    #[test]
    fn figures_are_rounded_truncated_and_floored_each_where_it_must() {
        let mut counts = LatencyCounts::default();
        // 0.999 ms counts as 0, 1.999 ms as 1; their mean 0.5 is floored to 0.
        counts.add_ios(999_999, 1);
        counts.add_ios(1_999_999, 1);
        assert_eq!(counts.latency_ms(), LatencyMs { min: 0, avg: 0, max: 1 });
        counts.add_ios(3_600_000_000_000, 198);
        assert_eq!(counts.histogram()[..2], [1, 1], "half a per cent is rounded up");
        assert_eq!(counts.histogram()[BUCKETS - 1], 99);
        let mut report = Report { block_kb: Some(8), ..Report::default() };
        report.set_figures(&SqlioMeasured { ios: 42_188, elapsed_ns: 100_000_000_000, latency: Some(counts) });
        assert_eq!((report.ios_per_s, report.mbs_per_s), (Some(Hundredths(42_188)), Some(Hundredths(329))));
        let mut huge = Report { block_kb: Some(8), ..Report::default() };
        huge.set_figures(&SqlioMeasured { ios: 1_234_567, elapsed_ns: 1_000_000_000, latency: None });
        assert!(huge.render(Wording::AsSqlio).contains("IOs/sec:1234567.00\nMBs/sec:  9645.05\n"));
        Report::default().set_figures(&SqlioMeasured { ios: u64::MAX, elapsed_ns: 0, latency: None });
        assert_eq!(LatencyCounts::default().latency_ms(), LatencyMs::default());
    }
}

//! The part "Disk" of `docs/performance.md`.

use std::fmt::Write as _;

use stats::summarise;

use super::super::bars::{self, Bound, Figure};
use super::super::document::{failures, interval, list, number, thousands};
use super::super::template::{filled, warning};
use super::{BLOCK_KB, DEPTHS, Entry, Header, Journal, Metric, NULL_DEPTHS, Op, Tool};

const TEMPLATE: &str = include_str!("../performance-disk.md");
/// Depths that the bars are about.
const BAR_DEPTHS: [u32; 3] = [1, 8, 32];

/// Something to reach.
struct Bar {
    what: String,
    op: Op,
    depth: u32,
    metric: Metric,
    bounds: Vec<Bound>,
}

fn all_bars() -> Vec<Bar> {
    let mut all = Vec::new();
    let near = |share: f64| vec![Bound::AtLeast(1.0 - share), Bound::AtMost(1.0 + share)];
    let mut bar = |what: String, op, depth, metric, bounds| all.push(Bar { what, op, depth, metric, bounds });
    for depth in BAR_DEPTHS {
        let what = format!("IOPS over fio's, random reads of {BLOCK_KB} KB, depth {depth}");
        bar(what, Op::Read, depth, Metric::Iops, vec![Bound::AtLeast(0.97)]);
    }
    for depth in BAR_DEPTHS {
        bar(
            format!("CPU for a read over fio's, depth {depth}"),
            Op::Read,
            depth,
            Metric::OwnCpu,
            vec![Bound::AtMost(1.0)],
        );
    }
    for depth in BAR_DEPTHS {
        bar(format!("median latency over fio's, depth {depth}"), Op::Read, depth, Metric::P50, near(0.05));
        bar(format!("99th percentile over fio's, depth {depth}"), Op::Read, depth, Metric::P99, near(0.05));
    }
    for depth in NULL_DEPTHS {
        let what = format!("without a disk, operations of one core over fio's, depth {depth}");
        bar(what, Op::Null, depth, Metric::PerCore, vec![Bound::AtLeast(1.0)]);
    }
    all
}

/// The part.
pub fn render(header: &Header, journal: &Journal) -> String {
    let parts = [
        ("status", warning(&header.origin, "", "all entries, ")),
        ("size_mb", header.size_mb.to_string()),
        ("missing", list(&header.missing, "Nothing.")),
        ("foreign", foreign(journal)),
        ("bars", bar_table(journal)),
        ("reads", beside(journal, Op::Read, &DEPTHS)),
        ("writes", beside(journal, Op::Write, &DEPTHS)),
        ("null", null(journal)),
        ("failures", failures(&journal.failures, "as a whole", "None.")),
    ];
    filled(TEMPLATE, &header.origin, &parts)
}

fn foreign(journal: &Journal) -> String {
    let mut shares: Vec<f64> = journal.runs.iter().filter_map(|run| run.foreign_share).collect();
    shares.sort_by(f64::total_cmp);
    match (shares.get(shares.len() / 2), shares.last()) {
        (Some(median), Some(highest)) => format!(
            "Others used {:.1} % of the processors in the median of {} runs, {:.1} % at most.",
            median * 100.0,
            shares.len(),
            highest * 100.0
        ),
        _ => "Not known on this operating system.".to_owned(),
    }
}

fn bar_table(journal: &Journal) -> String {
    let mut text = String::from("| bar | asked | measured | 95 % interval | |\n|---|---|---|---|---|\n");
    for bar in all_bars() {
        let figure = bars::ratio(&journal.pairs(bar.op, bar.depth, bar.metric));
        let asked: Vec<String> = bar
            .bounds
            .iter()
            .map(|bound| match bound {
                Bound::AtMost(most) => format!("≤ {most:.2}"),
                Bound::AtLeast(least) => format!("≥ {least:.2}"),
            })
            .collect();
        let measured = figure.map_or("–".to_owned(), |figure| three(figure.median));
        let spread = figure.map_or("–".to_owned(), |figure| interval(&figure));
        // Of two bounds the one that is missed decides.
        let verdict = bar.bounds.iter().map(|bound| bound.judge(figure)).max().map_or("", bars::Verdict::words);
        let _ = writeln!(text, "| {} | {} | {measured} | {spread} | {verdict} |", bar.what, asked.join(", "));
    }
    text
}

/// Ratios near 1 need a third decimal: the bars are 3 and 5 % away.
fn three(value: f64) -> String {
    format!("{value:.3}")
}

fn ratio(figure: Option<Figure>) -> String {
    figure.map_or("–".to_owned(), |figure| format!("**{}** ({})", three(figure.median), interval(&figure)))
}

fn median(journal: &Journal, tool: Tool, op: Op, depth: u32, metric: Metric) -> Option<f64> {
    summarise(&journal.sample(&Entry { tool, op, depth }.key(), metric)).map(|summary| summary.median)
}

fn beside(journal: &Journal, op: Op, depths: &[u32]) -> String {
    let mut text = String::from(
        "| depth | fio: IOPS | étalon: IOPS | ratio | fio: CPU µs | étalon: CPU µs | ratio | whole process: ratio | \
         p50: ratio | p99: ratio |\n|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for depth in depths {
        let of = |tool, metric, show: fn(f64) -> String| {
            median(journal, tool, op, *depth, metric).map_or("–".to_owned(), show)
        };
        let against = |metric| ratio(bars::ratio(&journal.pairs(op, *depth, metric)));
        let _ = writeln!(
            text,
            "| {depth} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            of(Tool::Fio, Metric::Iops, thousands),
            of(Tool::Etalon, Metric::Iops, thousands),
            against(Metric::Iops),
            of(Tool::Fio, Metric::OwnCpu, number),
            of(Tool::Etalon, Metric::OwnCpu, number),
            against(Metric::OwnCpu),
            against(Metric::Cpu),
            against(Metric::P50),
            against(Metric::P99),
        );
    }
    text
}

fn null(journal: &Journal) -> String {
    let mut text = String::from(
        "| depth | fio: a second of one core | étalon: a second of one core | ratio |\n|---|---|---|---|\n",
    );
    for depth in NULL_DEPTHS {
        let of = |tool| median(journal, tool, Op::Null, depth, Metric::PerCore).map_or("–".to_owned(), thousands);
        let against = ratio(bars::ratio(&journal.pairs(Op::Null, depth, Metric::PerCore)));
        let _ = writeln!(text, "| {depth} | {} | {} | {against} |", of(Tool::Fio), of(Tool::Etalon));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::super::origin::Origin;
    use super::super::Run;
    use super::*;

    fn run(tool: Tool, block: u32, iops: f64, cpu_us: f64) -> Run {
        Run {
            key: Entry { tool, op: Op::Read, depth: 8 }.key(),
            block,
            iops,
            own_cpu_us: Some(cpu_us),
            cpu_us: cpu_us * 1.2,
            p50_us: Some(100.0),
            p99_us: Some(100.0 + f64::from(block) / 100.0),
            foreign_share: Some(0.01),
        }
    }

    #[test]
    fn the_part_has_every_table_and_judges_the_bars() {
        let mut journal = Journal::default();
        for block in 1..=6 {
            let noise = f64::from(block) * 10.0;
            journal.runs.push(run(Tool::Fio, block, 50_000.0 + noise, 8.0));
            journal.runs.push(run(Tool::Etalon, block, 51_000.0 - noise, 9.0));
        }
        let origin = Origin { blocks: 6, seconds: 3, ..Origin::default() };
        let header = Header { origin, size_mb: 1024, ..Header::default() };
        let text = render(&header, &journal);
        assert!(!text.contains("{{"), "{text}");
        assert!(text.contains("This is a partial run"));
        let lines: Vec<&str> = text.lines().collect();
        let line = |begin: &str| *lines.iter().find(|line| line.starts_with(begin)).unwrap();
        assert!(line("| IOPS over fio's, random reads of 8 KB, depth 8").ends_with("| met |"), "{text}");
        assert!(line("| CPU for a read over fio's, depth 8").ends_with("| **not met** |"), "{text}");
        assert!(line("| 99th percentile over fio's, depth 8").contains("≥ 0.95, ≤ 1.05"), "{text}");
        assert!(line("| 99th percentile over fio's, depth 8").ends_with("| met |"), "{text}");
        assert!(line("| without a disk").ends_with("| not measured |"), "{text}");
        assert!(line("| 8 | 50,0").contains("| **1.019** ("), "{text}");
    }
}

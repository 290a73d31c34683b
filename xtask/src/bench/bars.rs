//! What étalon must reach, and whether it does.

use stats::{MIN_BLOCKS, Pairs, Sample, TrialValue, paired_ratio, summarise};

use super::entries::{
    Clock, Entry, Load, MEMORY_CLIENTS, PIPELINE_CLIENTS, Place, System, Threads, Tool, Transport, local,
};
use super::record::{Journal, Metric};

/// Confidence level of all intervals.
pub const LEVEL: f64 = 0.95;

/// The side of a bar that is good.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// This much or less.
    AtMost(f64),
    /// This much or more.
    AtLeast(f64),
}

/// What a bar is about.
#[derive(Clone, Debug, PartialEq)]
pub enum Subject {
    /// The second entry's value over the first one's, block by block.
    Ratio(Entry, Entry, Metric),
    /// An entry's value, in this unit: its name, and how much of the metric's own unit it is.
    Value(Entry, Metric, &'static str, f64),
    /// What one more connection takes of memory, in bytes of this unit.
    Slope(Entry, Entry, &'static str, f64),
}

/// Something to reach.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// In words.
    pub what: String,
    /// How much.
    pub bound: Bound,
    /// Of what.
    pub subject: Subject,
}

/// Whether a bar was met. The median decides; the interval says how surely. From good to bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It was, and the whole interval is on the good side.
    Met,
    /// The median is on the good side, but the interval is not wholly.
    MetUnsurely,
    /// The median is on the bad side, but the interval is not wholly.
    MissedUnsurely,
    /// It was not, and the whole interval is on the bad side.
    Missed,
    /// There are too few blocks.
    TooFew,
    /// It was not measured.
    Unmeasured,
}

impl Verdict {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Met => "met",
            Verdict::MetUnsurely => "met, not surely",
            Verdict::MissedUnsurely => "not met, not surely",
            Verdict::Missed => "**not met**",
            Verdict::TooFew => "too few blocks",
            Verdict::Unmeasured => "not measured",
        }
    }
}

/// A figure with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// Median over the blocks.
    pub median: f64,
    /// Lower end.
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
    /// How many blocks.
    pub blocks: u32,
}

fn place(system: System, transport: Transport, clients: u32) -> Place {
    Place { system, transport, clients }
}

fn against(peer: Tool, place: Place, load: Load, peer_threads: Threads, threads: Threads, metric: Metric) -> Subject {
    let client = |tool, threads| Entry::Client { tool, place, load, threads };
    Subject::Ratio(client(peer, peer_threads), client(Tool::Etalon, threads), metric)
}

/// All bars, in the order of the document.
pub fn all() -> Vec<Bar> {
    let mut bars = peers();
    for clients in PIPELINE_CLIENTS {
        let pipelined = local(Tool::Etalon, clients, Load::Pipelined);
        let many = if clients == 1 { "1 client".to_owned() } else { format!("{clients} clients") };
        bars.push(Bar {
            what: format!("client CPU per pipelined select, {many}"),
            bound: Bound::AtMost(1.0),
            subject: Subject::Value(pipelined, Metric::Cpu, "µs", 1.0),
        });
        bars.push(Bar {
            what: format!("rate of pipelined over single selects, {many}"),
            bound: Bound::AtLeast(3.0),
            subject: Subject::Ratio(local(Tool::Etalon, clients, Load::Accounts), pipelined, Metric::Rate),
        });
    }
    bars.push(Bar {
        what: "SQLite in process: rate over that of a loop in C".to_owned(),
        bound: Bound::AtLeast(0.95),
        subject: Subject::Ratio(Entry::EmbeddedLoop(Clock::Unread), Entry::EmbeddedEtalon, Metric::Rate),
    });
    let [drawn, constant] = [Load::DrawnKey, Load::ConstantKey].map(|load| local(Tool::Etalon, 16, load));
    bars.push(Bar {
        what: "script language: client CPU with a drawn key over that with a constant".to_owned(),
        bound: Bound::AtMost(1.05),
        subject: Subject::Ratio(constant, drawn, Metric::Cpu),
    });
    let [few, many] = MEMORY_CLIENTS.map(|clients| local(Tool::Etalon, clients, Load::Accounts));
    bars.push(Bar {
        what: format!("peak memory at {} connections", MEMORY_CLIENTS[0]),
        bound: Bound::AtMost(20.0),
        subject: Subject::Value(few, Metric::Memory, "MB", 1e6),
    });
    bars.push(Bar {
        what: format!("memory for each connection from {} to {}", MEMORY_CLIENTS[0], MEMORY_CLIENTS[1]),
        bound: Bound::AtMost(20.0),
        subject: Subject::Slope(few, many, "kB", 1e3),
    });
    bars
}

/// The bars against other tools.
fn peers() -> Vec<Bar> {
    use Transport::{Tcp, Unix};
    let mut bars = Vec::new();
    for (transport, clients, most) in [(Unix, 16, 0.62), (Unix, 80, 0.45), (Tcp, 16, 0.70), (Tcp, 80, 0.60)] {
        let place = place(System::Postgres, transport, clients);
        bars.push(Bar {
            what: format!("client CPU over pgbench's, one thread, {}, {clients} clients", transport.name()),
            bound: Bound::AtMost(most),
            subject: against(Tool::Pgbench, place, Load::Accounts, Threads::One, Threads::One, Metric::Cpu),
        });
    }
    let pgbench = [(Unix, 16, 1.18), (Unix, 80, 1.10), (Tcp, 16, 1.06), (Tcp, 80, 1.12)];
    let sysbench = [(Unix, 16, 1.15), (Unix, 80, 1.05), (Tcp, 16, 1.15), (Tcp, 80, 1.20)];
    for (tool, load, rates) in [(Tool::Pgbench, Load::Accounts, pgbench), (Tool::Sysbench, Load::Sbtest, sysbench)] {
        for (transport, clients, least) in rates {
            let place = place(System::Postgres, transport, clients);
            bars.push(Bar {
                what: format!("rate over {}'s, best threads, {}, {clients} clients", tool.name(), transport.name()),
                bound: Bound::AtLeast(least),
                subject: against(tool, place, load, Threads::Best, Threads::Best, Metric::Rate),
            });
        }
    }
    for (clients, most) in [(16, 0.50), (80, 0.30)] {
        let place = place(System::MariaDb, Unix, clients);
        bars.push(Bar {
            what: format!("client CPU over sysbench's, MariaDB, {}, {clients} clients", Unix.name()),
            bound: Bound::AtMost(most),
            subject: against(Tool::Sysbench, place, Load::Sbtest, Threads::Best, Threads::One, Metric::Cpu),
        });
    }
    bars
}

/// The ratio of two entries: the median of the blocks' ratios, and the interval of the crate `stats`.
pub fn ratio(pairs: &Pairs) -> Option<Figure> {
    let blocks = u32::try_from(pairs.n()).ok()?;
    let ratios = pairs.as_slice().iter().map(|pair| TrialValue { block: pair.block, value: pair.b / pair.a });
    let median = summarise(&Sample::from_trials(ratios))?.median;
    let (lo, hi) = paired_ratio(pairs, LEVEL).map_or((f64::NAN, f64::NAN), |ratio| (ratio.lo, ratio.hi));
    Some(Figure { median, lo, hi, blocks })
}

/// A sample's median with its smallest and largest value, in a unit.
pub fn value(sample: &Sample, unit: f64) -> Option<Figure> {
    let summary = summarise(sample)?;
    let blocks = u32::try_from(summary.n).ok()?;
    Some(Figure { median: summary.median / unit, lo: summary.min / unit, hi: summary.max / unit, blocks })
}

impl Bar {
    /// What was measured.
    pub fn figure(&self, journal: &Journal) -> Option<Figure> {
        match &self.subject {
            Subject::Ratio(a, b, metric) => ratio(&journal.pairs(&a.key(), &b.key(), *metric)),
            Subject::Value(entry, metric, _, unit) => value(&journal.sample(&entry.key(), *metric), *unit),
            Subject::Slope(few, many, _, unit) => {
                let pairs = journal.pairs(&few.key(), &many.key(), Metric::Memory);
                let connections = clients(many) - clients(few);
                let slopes = pairs.as_slice().iter();
                let slopes =
                    slopes.map(|pair| TrialValue { block: pair.block, value: (pair.b - pair.a) / connections });
                value(&Sample::from_trials(slopes), *unit)
            }
        }
    }

    /// Whether a figure meets it.
    pub fn judge(&self, figure: Option<Figure>) -> Verdict {
        self.bound.judge(figure)
    }
}

impl Bound {
    /// Whether a figure is on its good side.
    pub fn judge(self, figure: Option<Figure>) -> Verdict {
        let Some(Figure { median, lo, hi, blocks }) = figure else { return Verdict::Unmeasured };
        if blocks < MIN_BLOCKS {
            return Verdict::TooFew;
        }
        let is_good = |value: f64| match self {
            Bound::AtMost(most) => value <= most,
            Bound::AtLeast(least) => value >= least,
        };
        match (is_good(median), is_good(lo), is_good(hi)) {
            (true, true, true) => Verdict::Met,
            (true, ..) => Verdict::MetUnsurely,
            (false, false, false) => Verdict::Missed,
            (false, ..) => Verdict::MissedUnsurely,
        }
    }
}

fn clients(entry: &Entry) -> f64 {
    entry.place().map_or(0.0, |place| f64::from(place.clients))
}

#[cfg(test)]
mod tests {
    use super::super::entries;
    use super::super::record::Line;
    use super::super::record::tests::run;
    use super::*;

    fn bar(bound: Bound) -> Bar {
        Bar { bound, ..all().remove(0) }
    }

    #[test]
    fn every_bar_is_about_something_that_is_run() {
        let entries = entries::all();
        for bar in all() {
            let named = match &bar.subject {
                Subject::Ratio(a, b, _) | Subject::Slope(a, b, ..) => vec![*a, *b],
                Subject::Value(entry, ..) => vec![*entry],
            };
            assert!(named.iter().all(|entry| entries.contains(entry)), "{bar:?}");
        }
    }

    #[test]
    fn the_median_decides_and_the_interval_says_how_surely() {
        let figure = |median, lo, hi| Some(Figure { median, lo, hi, blocks: 6 });
        let most = bar(Bound::AtMost(0.62));
        assert_eq!(most.judge(figure(0.60, 0.58, 0.615)), Verdict::Met);
        assert_eq!(most.judge(figure(0.60, 0.58, 0.64)), Verdict::MetUnsurely);
        assert_eq!(most.judge(figure(0.63, 0.60, 0.66)), Verdict::MissedUnsurely);
        assert_eq!(most.judge(figure(0.70, 0.65, 0.75)), Verdict::Missed);
        assert_eq!(most.judge(None), Verdict::Unmeasured);
        assert_eq!(most.judge(Some(Figure { median: 0.5, lo: 0.5, hi: 0.5, blocks: 5 })), Verdict::TooFew);
        let least = bar(Bound::AtLeast(1.18));
        assert_eq!(least.judge(figure(1.2, 1.19, 1.3)), Verdict::Met);
        assert_eq!(least.judge(figure(1.1, 1.0, 1.15)), Verdict::Missed);
    }

    #[test]
    fn figures_come_from_the_blocks() {
        let bars = all();
        let mut journal = Journal::default();
        let Subject::Ratio(a, b, Metric::Cpu) = &bars[0].subject else { panic!("{:?}", bars[0]) };
        for block in 1..=6 {
            journal.take(Line::Run(run(&a.key(), block, 100.0, 10.0 + f64::from(block))));
            journal.take(Line::Run(run(&b.key(), block, 100.0, 5.0 + f64::from(block) / 2.0)));
        }
        let figure = bars[0].figure(&journal).unwrap();
        assert!((figure.median - 0.5).abs() < 1e-12 && (figure.hi - 0.5).abs() < 1e-12, "{figure:?}");
        assert_eq!(bars[0].judge(Some(figure)), Verdict::Met);
        let slope = bars.last().unwrap();
        let Subject::Slope(few, many, ..) = &slope.subject else { panic!("{slope:?}") };
        for block in 1..=6 {
            journal.take(Line::Run(run(&few.key(), block, 1.0, 1.0)));
            let mut larger = run(&many.key(), block, 1.0, 1.0);
            larger.peak_rss_bytes = larger.peak_rss_bytes.map(|bytes| bytes + 5_000_000);
            journal.take(Line::Run(larger));
        }
        assert!((slope.figure(&journal).unwrap().median - 10.0).abs() < 1e-9);
    }
}

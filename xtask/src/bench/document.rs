//! `docs/performance.md` from the raw results.

use std::fmt::Write as _;

use stats::summarise;

use super::bars::{self, Bar, Bound, Figure, LEVEL, Subject};
use super::entries::{
    CLIENTS, Clock, Entry, Load, MEMORY_CLIENTS, PIPELINE_CLIENTS, Place, System, Threads, Tool, Transport, local,
};
use super::record::{Failure, Header, Journal, Metric};
use super::server::{MARIADB_SETTINGS, POSTGRES_SETTINGS, SBTEST_ROWS, SCALE};
use super::template::{filled, warning};

const TEMPLATE: &str = include_str!("performance.md");
/// A run that others took more than this share of the machine from is listed.
const FOREIGN_NOTED: f64 = 0.05;
/// How many such runs are listed.
const FOREIGN_LISTED: usize = 12;

/// The whole document.
pub fn render(header: &Header, journal: &Journal) -> String {
    let place = |system, transport, clients| Place { system, transport, clients };
    let beside = |peer: Tool, system: System, load: Load, peer_threads: Threads, threads: Threads| {
        let rows = Transport::ALL.into_iter().flat_map(|transport| {
            CLIENTS.map(|clients| {
                let client =
                    |tool, threads| Entry::Client { tool, place: place(system, transport, clients), load, threads };
                (format!("{}, {clients}", transport.name()), client(peer, peer_threads), client(Tool::Etalon, threads))
            })
        });
        ratios(header, journal, peer.name(), "étalon", rows.collect())
    };
    let pipelined = |peer: Tool, load: Load| {
        PIPELINE_CLIENTS.map(|clients| {
            let etalon = local(Tool::Etalon, clients, Load::Pipelined);
            (format!("Unix socket, {clients}"), local(peer, clients, load), etalon)
        })
    };
    let [constant, drawn] = [Load::ConstantKey, Load::DrawnKey].map(|load| local(Tool::Etalon, 16, load));
    use Threads::{Best, One};
    let parts = [
        ("status", status(header, journal)),
        ("start_up", start_up(header)),
        ("servers", servers()),
        ("missing", list(&header.missing, "Nothing.")),
        ("foreign", foreign(journal)),
        ("bars", bar_table(header, journal)),
        ("pgbench_one", beside(Tool::Pgbench, System::Postgres, Load::Accounts, One, One)),
        ("pgbench_best", beside(Tool::Pgbench, System::Postgres, Load::Accounts, Best, Best)),
        ("sysbench_postgres", beside(Tool::Sysbench, System::Postgres, Load::Sbtest, Best, Best)),
        ("sysbench_mariadb_one", beside(Tool::Sysbench, System::MariaDb, Load::Sbtest, Best, One)),
        ("sysbench_mariadb_best", beside(Tool::Sysbench, System::MariaDb, Load::Sbtest, Best, Best)),
        ("mysqlslap", beside(Tool::Mysqlslap, System::MariaDb, Load::Sbtest, Best, Best)),
        ("pipelined", ratios(header, journal, "single", "pipelined", pipelined(Tool::Etalon, Load::Accounts).into())),
        (
            "pipelined_pgbench",
            ratios(header, journal, "pgbench", "étalon", pipelined(Tool::Pgbench, Load::Pipelined).into()),
        ),
        ("sqlite", sqlite(journal)),
        ("script", ratios(header, journal, "constant", "drawn", vec![("Unix socket, 16".to_owned(), constant, drawn)])),
        ("memory", memory(journal)),
        ("truth", truth(header)),
        ("failures", failures(&journal.failures, "before the blocks", "None.")),
    ];
    filled(TEMPLATE, &header.origin, &parts)
}

/// How many bars are met, with a warning where the figures do not carry a verdict.
fn status(header: &Header, journal: &Journal) -> String {
    let (met, all) = bars::all().iter().fold((0, 0), |(met, all), bar| {
        let verdict = bar.judge(bar.figure(journal));
        (met + u32::from(matches!(verdict, bars::Verdict::Met | bars::Verdict::MetUnsurely)), all + 1)
    });
    let met = format!("{met} of {all} bars are met.");
    match header.origin.is_whole {
        true => met,
        false => warning(&header.origin, &format!("{met} "), "all entries, "),
    }
}

fn start_up(header: &Header) -> String {
    match header.start_up_cpu_s {
        Some(cpu_s) => format!("Étalon's start, facts, store and report take {:.0} ms of it.", cpu_s * 1e3),
        None => "How much of it is étalon's start and end was not measured.".to_owned(),
    }
}

fn servers() -> String {
    let settings = |all: &[(&str, &str)]| {
        all.iter().map(|(name, value)| format!("`{name} = {value}`")).collect::<Vec<_>>().join(", ")
    };
    format!(
        "PostgreSQL: {}; pgbench's tables at scale {SCALE}, sysbench's with {SBTEST_ROWS} rows.\n\n\
         MariaDB: {}; sysbench's table with {SBTEST_ROWS} rows.\n\nWhat is compared reads only, and all of it is in \
         memory.",
        settings(&POSTGRES_SETTINGS),
        settings(&MARIADB_SETTINGS)
    )
}

/// A list, or the word for an empty one.
pub fn list(items: &[String], none: &str) -> String {
    if items.is_empty() {
        return none.to_owned();
    }
    items.iter().map(|item| format!("- {item}\n")).collect()
}

fn foreign(journal: &Journal) -> String {
    let mut shares: Vec<(f64, &str, u32)> =
        journal.runs.iter().filter_map(|run| Some((run.foreign_share?, run.key.as_str(), run.block))).collect();
    shares.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (Some(highest), Some(median)) = (shares.first(), shares.get(shares.len() / 2)) else {
        return "Not known on this operating system.".to_owned();
    };
    let mut text = format!(
        "In {} runs others used {:.1} % of the processors in the median, {:.1} % at most.\n",
        shares.len(),
        median.0 * 100.0,
        highest.0 * 100.0
    );
    let noted: Vec<_> = shares.iter().filter(|(share, ..)| *share > FOREIGN_NOTED).collect();
    if !noted.is_empty() {
        let _ = write!(text, "{} runs had more than {:.0} %:\n\n", noted.len(), FOREIGN_NOTED * 100.0);
        for (share, key, block) in noted.iter().take(FOREIGN_LISTED) {
            let _ = writeln!(text, "- `{key}`, block {block}: {:.1} %", share * 100.0);
        }
        if noted.len() > FOREIGN_LISTED {
            let _ = writeln!(text, "- and {} more", noted.len() - FOREIGN_LISTED);
        }
    }
    text
}

/// Three significant digits, and no more behind the point than they need.
pub fn number(value: f64) -> String {
    match value.abs() {
        v if v >= 99.95 => format!("{value:.0}"),
        v if v >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// A whole number, thousands apart.
pub fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|group| std::str::from_utf8(group).ok()).collect();
    groups.join(",")
}

/// Both ends of a figure's interval.
pub fn interval(figure: &Figure) -> String {
    if figure.lo.is_nan() {
        return "–".to_owned();
    }
    format!("{} to {}", number(figure.lo), number(figure.hi))
}

fn bar_table(header: &Header, journal: &Journal) -> String {
    let mut text =
        String::from("| bar | asked | measured | 95 % interval, or smallest to largest | |\n|---|---|---|---|---|\n");
    for bar in bars::all() {
        let figure = bar.figure(journal);
        let (unit, asked) = (unit(&bar), asked(&bar));
        let measured = figure.map_or("–".to_owned(), |figure| number(figure.median) + unit);
        let spread = figure.map_or("–".to_owned(), |figure| interval(&figure) + unit);
        let _ = writeln!(text, "| {} | {asked} | {measured} | {spread} | {} |", bar.what, bar.judge(figure).words());
    }
    let within = header.truth.iter().filter(|row| super::truth::is_within(row) == Some(true)).count();
    let (measured, verdict) = match header.truth.len() {
        0 => ("–".to_owned(), "not measured"),
        all if all == within => (format!("{all} of {all}"), "met"),
        all => (format!("{within} of {all}"), "**not met**"),
    };
    let asked = "p50, p99 and maximum within 1 % or 20 µs";
    let _ = writeln!(text, "| [latency truth](#latency-truth) | {asked} | {measured} | – | {verdict} |");
    debug_assert!((LEVEL - 0.95).abs() < f64::EPSILON);
    text
}

fn unit(bar: &Bar) -> &'static str {
    match bar.subject {
        Subject::Ratio(..) => "",
        Subject::Value(_, _, "µs", _) => " µs",
        Subject::Value(_, _, "MB", _) => " MB",
        Subject::Value(..) => "",
        Subject::Slope(..) => " kB",
    }
}

fn asked(bar: &Bar) -> String {
    match bar.bound {
        Bound::AtMost(most) => format!("≤ {most:.2}{}", unit(bar)),
        Bound::AtLeast(least) => format!("≥ {least:.2}{}", unit(bar)),
    }
}

/// A table of two tools: rates, CPU times and both ratios.
fn ratios(header: &Header, journal: &Journal, a: &str, b: &str, rows: Vec<(String, Entry, Entry)>) -> String {
    let mut text = format!(
        "| | {a}: selects/s | {b}: selects/s | ratio | {a}: CPU µs | {b}: CPU µs | ratio |\n|---|---|---|---|---|---|---|\n"
    );
    for (label, first, second) in rows {
        let (one, two) = (first.key(), second.key());
        let median = |key: &str, metric| summarise(&journal.sample(key, metric)).map(|summary| summary.median);
        let cell = |value: Option<f64>, show: fn(f64) -> String| value.map_or("–".to_owned(), show);
        let ratio = |metric| match bars::ratio(&journal.pairs(&one, &two, metric)) {
            Some(figure) => format!("**{}** ({})", number(figure.median), interval(&figure)),
            None => "–".to_owned(),
        };
        let _ = writeln!(
            text,
            "| {label}{} | {} | {} | {} | {} | {} | {} |",
            threads(header, &one, &two),
            cell(median(&one, Metric::Rate), thousands),
            cell(median(&two, Metric::Rate), thousands),
            ratio(Metric::Rate),
            cell(median(&one, Metric::Cpu), number),
            cell(median(&two, Metric::Cpu), number),
            ratio(Metric::Cpu),
        );
    }
    text
}

/// How many threads each had, where that says something.
fn threads(header: &Header, one: &str, two: &str) -> String {
    match (header.threads.get(one), header.threads.get(two)) {
        (Some(1), Some(1)) | (None, _) | (_, None) => String::new(),
        (Some(one), Some(two)) => format!(" (threads: {one} and {two})"),
    }
}

/// Rates alone: the CPU time of these runs has the loading of the table in it.
fn sqlite(journal: &Journal) -> String {
    let etalon = Entry::EmbeddedEtalon.key();
    let mut text = String::from("| | loop: selects/s | étalon: selects/s | ratio |\n|---|---|---|---|\n");
    for (label, clock) in [("loop without clock", Clock::Unread), ("loop with clock", Clock::Read)] {
        let key = Entry::EmbeddedLoop(clock).key();
        let median = |key: &str| summarise(&journal.sample(key, Metric::Rate)).map(|summary| summary.median);
        let cell = |key: &str| median(key).map_or("–".to_owned(), thousands);
        let ratio = bars::ratio(&journal.pairs(&key, &etalon, Metric::Rate));
        let ratio =
            ratio.map_or("–".to_owned(), |ratio| format!("**{}** ({})", number(ratio.median), interval(&ratio)));
        let _ = writeln!(text, "| {label} | {} | {} | {ratio} |", cell(&key), cell(&etalon));
    }
    text
}

fn memory(journal: &Journal) -> String {
    let mut text = String::from("| connections | median | largest |\n|---|---|---|\n");
    for clients in MEMORY_CLIENTS {
        let sample = journal.sample(&local(Tool::Etalon, clients, Load::Accounts).key(), Metric::Memory);
        let (median, largest) = match summarise(&sample) {
            Some(summary) => (format!("{:.1} MB", summary.median / 1e6), format!("{:.1} MB", summary.max / 1e6)),
            None => ("–".to_owned(), "–".to_owned()),
        };
        let _ = writeln!(text, "| {clients} | {median} | {largest} |");
    }
    text
}

fn truth(header: &Header) -> String {
    if header.truth.is_empty() {
        return "Not measured in this run.".to_owned();
    }
    let rows = header.truth.iter().map(|row| format!("| {} |\n", row.replace("; ", " | ")));
    let head = "| load | figure | server, µs | étalon, µs | two wake-ups, µs | difference, µs | allowed, µs |\n\
        |---|---|---|---|---|---|---|\n";
    format!("{head}{}", rows.collect::<String>())
}

/// What failed, with the word for what failed in no block, and the one for nothing at all.
pub fn failures(failures: &[Failure], no_block: &str, none: &str) -> String {
    let line = |Failure { key, block, reason }: &Failure| {
        let when = if *block == 0 { no_block.to_owned() } else { format!("block {block}") };
        format!("`{key}`, {when}: {}", reason.replace('\n', " "))
    };
    list(&failures.iter().map(line).collect::<Vec<_>>(), none)
}

#[cfg(test)]
mod tests {
    use super::super::origin::Origin;
    use super::super::record::Line;
    use super::super::record::tests::run;
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        assert_eq!([0.6213, 9.999, 12.34, 99.96, 1234.5].map(number), ["0.62", "10.0", "12.3", "100", "1234"]);
        assert_eq!([12.0, 1_234.4, 1_234_567.0].map(thousands), ["12", "1,234", "1,234,567"]);
    }

    #[test]
    fn the_document_has_every_part_and_names_what_is_missing() {
        let mut journal = Journal::default();
        let missing = vec!["sysbench is not installed".to_owned()];
        let origin = Origin { blocks: 6, seconds: 5, ..Origin::default() };
        let mut header = Header { origin, missing, ..Header::default() };
        let one = |tool| {
            let place = Place { system: System::Postgres, transport: Transport::Tcp, clients: 80 };
            Entry::Client { tool, place, load: Load::Accounts, threads: Threads::One }.key()
        };
        for block in 1..=6 {
            let noise = f64::from(block) / 100.0;
            journal.take(Line::Run(run(&one(Tool::Pgbench), block, 50_000.0, 10.0 + noise)));
            journal.take(Line::Run(run(&one(Tool::Etalon), block, 60_000.0, 5.5 - noise)));
        }
        let text = render(&header, &journal);
        assert!(!text.contains("{{"), "{text}");
        assert!(text.contains("- sysbench is not installed") && text.contains("This is a partial run"), "{text}");
        assert!(
            text.contains(
                "| TCP, 80 | 50,000 | 60,000 | **1.20** (1.20 to 1.20) | 10.0 | 5.46 | **0.54** (0.54 to 0.55) |"
            ),
            "{text}"
        );
        let bar = "| client CPU over pgbench's, one thread, TCP, 80 clients | ≤ 0.60 | 0.54 | 0.54 to 0.55 | met |";
        assert!(text.contains(bar), "{text}");
        assert!(text.contains("others used 1.0 % of the processors in the median"), "{text}");
        header.origin.is_whole = true;
        assert!(render(&header, &journal).contains("1 of "), "{text}");
    }
}

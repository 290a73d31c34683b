//! The part "Several hosts" of `docs/performance.md`.

use std::fmt::Write as _;

use stats::{Direction, MIN_BLOCKS, Verdict, judge, paired_ratio, summarise};

use super::super::bars::{self, Bound, LEVEL};
use super::super::document::{failures, list, number, thousands};
use super::super::template::{filled, warning};
use super::journal::{Header, Journal, Judged, entry};
use super::plans::{
    AGAIN, AGENT, AGENTS, CLIENTS, CLIENTS_ON, DIRECT, EQUAL, HERE, HUNDRED, JUDGED, MARGIN, ONE, POSTGRES, RATE,
    SIMULATED, SUMS, TWO,
};

const TEMPLATE: &str = include_str!("../performance-fleet.md");
/// The most that two agents may begin apart, in milliseconds.
const MOST_SKEW_MS: f64 = 2.0;
/// The most that a hundred agents may take to begin, in seconds.
const MOST_START_S: f64 = 2.0;
/// How near two agents must come to twice of one.
const SUM_SHARE: f64 = 0.02;

/// A way of the comparison: its name, its benchmark and its system.
const WAYS: [(&str, &str, &str); 3] = [
    ("`host`: the agent has the system, and makes the load", HERE, AGENT),
    ("`clients_on`: the agent makes the load", CLIENTS_ON, DIRECT),
    ("both: the agent has the system, and makes the load as one of several", CLIENTS_ON, AGENT),
];

/// No way at all: what it differs by is the machine's.
const CONTROL: (&str, &str, &str) = ("the direct run once more", AGAIN, DIRECT);

/// The part.
pub fn render(header: &Header, journal: &Journal) -> String {
    let parts = [
        ("status", warning(&header.origin, "", "")),
        ("settings", header.settings.iter().map(|setting| format!("`{setting}`")).collect::<Vec<_>>().join(", ")),
        ("clients", CLIENTS.to_string()),
        ("margin", format!("{:.0}", MARGIN * 100.0)),
        ("rate", RATE.to_string()),
        ("agents", AGENTS.to_string()),
        ("bars", bar_table(journal)),
        ("equal", equal(journal)),
        ("compared", compared(journal)),
        ("sums", sums(journal)),
        ("counted", counted(journal)),
        ("starts", starts(journal)),
        ("merged", merged(journal)),
        ("failures", failures(&journal.failures, "as a whole", "Nothing.")),
    ];
    filled(TEMPLATE, &header.origin, &parts)
}

/// A way beside the direct one.
struct Beside {
    ratio: String,
    interval: String,
    verdict: String,
}

/// What étalon's comparison says of a way: the rule of the crate `stats`, over the same blocks.
fn beside(journal: &Journal, benchmark: &str, system: &str, metric: &str) -> Beside {
    let direct = entry(EQUAL, HERE, DIRECT);
    let pairs = journal.pairs(&direct, &entry(EQUAL, benchmark, system), metric);
    let Ok(ratio) = paired_ratio(&pairs, LEVEL) else {
        return Beside { ratio: "–".to_owned(), interval: "–".to_owned(), verdict: "not measured".to_owned() };
    };
    let direction = if metric == "throughput" { Direction::Higher } else { Direction::Lower };
    let judgement = judge(&ratio, ratio.p_t, direction, MARGIN, MIN_BLOCKS);
    let is_row = |judged: &&Judged| system == AGENT && judged.benchmark == benchmark && judged.metric == metric;
    // Marks on trials are known to `etalon compare` alone; of the way that it compares, its reason counts.
    let refused = journal.judged.iter().find(is_row).filter(|_| benchmark == HERE);
    let verdict = match (judgement.verdict, judgement.blocks_needed) {
        _ if refused.is_some_and(|judged| judged.no_verdict.is_some()) => {
            format!("no verdict: {}", refused.and_then(|judged| judged.no_verdict.clone()).unwrap_or_default())
        }
        (Some(Verdict::Equivalent), _) => "met: equivalent".to_owned(),
        (Some(Verdict::Inconclusive), Some(more)) => format!("not settled: {more} more blocks would"),
        (Some(Verdict::Inconclusive), None) => "not settled".to_owned(),
        (Some(verdict), _) => format!("**not met**: {}", verdict.as_str()),
        (None, _) => "too few blocks".to_owned(),
    };
    let interval = format!("{:.3} to {:.3}", ratio.lo, ratio.hi);
    Beside { ratio: format!("{:.3}", ratio.ratio), interval, verdict }
}

fn bar_table(journal: &Journal) -> String {
    let mut text =
        String::from("| bar | asked | measured | 95 % interval, or smallest to largest | |\n|---|---|---|---|---|\n");
    let mut row = |what: &str, asked: &str, measured: &str, spread: &str, verdict: &str| {
        let _ = writeln!(text, "| {what} | {asked} | {measured} | {spread} | {verdict} |");
    };
    let skew = bars::value(&journal.sample(&entry(SUMS, TWO, POSTGRES), "start_skew"), 1e3);
    let limit = |figure: Option<bars::Figure>, most: f64| {
        // Not the median but every single one is asked about.
        let highest = figure.map(|figure| bars::Figure { median: figure.hi, ..figure });
        (figure.map_or("–".to_owned(), |figure| number(figure.median)), Bound::AtMost(most).judge(highest).words())
    };
    let spread = |figure: Option<bars::Figure>| {
        figure.map_or("–".to_owned(), |figure| format!("{} to {}", number(figure.lo), number(figure.hi)))
    };
    let (measured, verdict) = limit(skew, MOST_SKEW_MS);
    row("start skew of two agents, each trial's", "≤ 2 ms", &format!("{measured} ms"), &spread(skew), verdict);
    for (name, benchmark, system) in WAYS {
        for metric in JUDGED {
            let what = if metric == "throughput" { "throughput" } else { "99th percentile" };
            let Beside { ratio, interval, verdict } = beside(journal, benchmark, system, metric);
            row(&format!("{what} over the direct run's, {name}"), "equivalent within 2 %", &ratio, &interval, &verdict);
        }
    }
    let sum = bars::ratio(&journal.pairs(&entry(SUMS, ONE, POSTGRES), &entry(SUMS, TWO, POSTGRES), "throughput"));
    let bounds = [Bound::AtLeast(2.0 * (1.0 - SUM_SHARE)), Bound::AtMost(2.0 * (1.0 + SUM_SHARE))];
    let verdict = bounds.iter().map(|bound| bound.judge(sum)).max().map_or("", bars::Verdict::words);
    let (measured, interval) = sum.map_or(("–".to_owned(), "–".to_owned()), |figure| {
        (format!("{:.3}", figure.median), format!("{:.3} to {:.3}", figure.lo, figure.hi))
    });
    row("throughput of two agents over one's, at a rate each", "2.00 ± 2 %", &measured, &interval, verdict);
    let start = bars::value(&journal.sample(&entry(HUNDRED, SIMULATED, SIMULATED), "start_time"), 1.0);
    let (measured, verdict) = limit(start, MOST_START_S);
    row(
        &format!("{AGENTS} agents prepared and started, each trial's"),
        "≤ 2 s",
        &format!("{measured} s"),
        &spread(start),
        verdict,
    );
    let same = journal.merged.iter().filter(|one| one.is_identical && one.hosts == AGENTS as usize).count();
    let all = journal.merged.len();
    let verdict = match (same, all) {
        (_, 0) => "not measured",
        (same, all) if same == all => "met",
        _ => "**not met**",
    };
    row("merged histogram that of one process", "identical", &format!("{same} of {all} trials"), "–", verdict);
    text
}

fn median(journal: &Journal, entry: &str, metric: &str, show: impl Fn(f64) -> String) -> String {
    summarise(&journal.sample(entry, metric)).map_or("–".to_owned(), |summary| show(summary.median))
}

fn equal(journal: &Journal) -> String {
    let mut text = String::from("| | transactions/s | ratio | | p99 | ratio | |\n|---|---|---|---|---|---|---|\n");
    let us = |value: f64| format!("{} µs", number(value));
    let direct = entry(EQUAL, HERE, DIRECT);
    let _ = writeln!(
        text,
        "| direct | {} | | | {} | | |",
        median(journal, &direct, "throughput", thousands),
        median(journal, &direct, "response_p99", us)
    );
    for (name, benchmark, system) in [CONTROL].into_iter().chain(WAYS) {
        let of = entry(EQUAL, benchmark, system);
        let [rate, p99] = JUDGED.map(|metric| beside(journal, benchmark, system, metric));
        let _ = writeln!(
            text,
            "| {name} | {} | **{}** ({}) | {} | {} | **{}** ({}) | {} |",
            median(journal, &of, "throughput", thousands),
            rate.ratio,
            rate.interval,
            // It answers to no bar: it tells what a bar can be answered by.
            if benchmark == AGAIN { "" } else { &rate.verdict },
            median(journal, &of, "response_p99", us),
            p99.ratio,
            p99.interval,
            if benchmark == AGAIN { "" } else { &p99.verdict }
        );
    }
    text
}

/// What `etalon compare` said.
fn compared(journal: &Journal) -> String {
    let say = |judged: &Judged| {
        let Judged { benchmark, metric, verdict, no_verdict, ratio, interval, blocks, blocks_needed } = judged;
        let ratio = ratio.map_or("n/a".to_owned(), |ratio| format!("{ratio:.3}"));
        let interval = interval.map_or(String::new(), |(lo, hi)| format!(" ({lo:.3} to {hi:.3})"));
        let more = blocks_needed.map_or(String::new(), |more| format!(", {more} more blocks needed"));
        let verdict = verdict.clone().or_else(|| no_verdict.clone()).unwrap_or_else(|| "no verdict".to_owned());
        format!(
            "`etalon compare`, benchmark `{benchmark}`, {metric}: {ratio}{interval}, {blocks} blocks: {verdict}{more}"
        )
    };
    list(&journal.judged.iter().map(say).collect::<Vec<_>>(), "`etalon compare` said nothing.")
}

fn sums(journal: &Journal) -> String {
    let mut text = String::from("| | transactions/s | of client-1 | of client-2 | errors |\n|---|---|---|---|---|\n");
    for (name, benchmark) in [("one agent", ONE), ("two agents", TWO)] {
        let of = entry(SUMS, benchmark, POSTGRES);
        let show = |metric: &str| median(journal, &of, metric, |value| format!("{value:.1}"));
        let _ = writeln!(
            text,
            "| {name} | {} | {} | {} | {} |",
            show("throughput"),
            show("throughput_on_client-1"),
            show("throughput_on_client-2"),
            median(journal, &of, "errors", thousands)
        );
    }
    text
}

/// In how many trials the server's count was that of the clients.
fn counted(journal: &Journal) -> String {
    let of = |benchmark: &str| {
        let of = entry(SUMS, benchmark, POSTGRES);
        let counted = journal.of(&of, "throughput").filter(|figure| figure.is_counted).count();
        (counted, journal.of(&of, "throughput").count())
    };
    let ((one, of_one), (two, of_two)) = (of(ONE), of(TWO));
    let failed = journal.failures.iter().filter(|failure| failure.key.starts_with(SUMS)).count();
    format!(
        "The server's sum was that of the clients in {one} of {of_one} trials with one agent and in {two} of {of_two} with \
         two; {failed} failed."
    )
}

fn starts(journal: &Journal) -> String {
    let mut text = String::from("| agents | skew, µs | at most | time, s | at most |\n|---|---|---|---|---|\n");
    let cells = [
        ("1".to_owned(), entry(SUMS, ONE, POSTGRES)),
        ("2".to_owned(), entry(SUMS, TWO, POSTGRES)),
        (format!("{AGENTS}, simulated"), entry(HUNDRED, SIMULATED, SIMULATED)),
    ];
    for (agents, of) in cells {
        let show = |metric: &str, show: &dyn Fn(f64) -> String| {
            summarise(&journal.sample(&of, metric))
                .map_or(["–", "–"].map(str::to_owned), |summary| [show(summary.median), show(summary.max)])
        };
        let [skew, most_skew] = show("start_skew", &thousands);
        let [time, most_time] = show("start_time", &|value| format!("{value:.3}"));
        let _ = writeln!(text, "| {agents} | {skew} | {most_skew} | {time} | {most_time} |");
    }
    text
}

fn merged(journal: &Journal) -> String {
    if journal.merged.is_empty() {
        return "Not measured.".to_owned();
    }
    let mut text = String::from("| block | hosts | values | identical |\n|---|---|---|---|\n");
    for one in &journal.merged {
        let same = if one.is_identical { "yes" } else { "**no**" };
        let _ = writeln!(text, "| {} | {} | {} | {same} |", one.block, one.hosts, thousands(one.values as f64));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::super::origin::Origin;
    use super::super::journal::{Figure, Line, Merged};
    use super::*;

    fn figure(of: &str, block: u32, metric: &str, value: f64) -> Line {
        let (entry, metric) = (of.to_owned(), metric.to_owned());
        Line::Figure(Figure { entry, block, metric, value, is_counted: true })
    }

    fn journal(blocks: u32) -> Journal {
        let mut journal = Journal::default();
        for block in 1..=blocks {
            let noise = 1.0 + f64::from(block % 3) / 1e3;
            for (benchmark, system, factor) in [
                (HERE, DIRECT, 1.0),
                (AGAIN, DIRECT, 0.999),
                (HERE, AGENT, 1.001),
                (CLIENTS_ON, DIRECT, 1.1),
                (CLIENTS_ON, AGENT, 1.0),
            ] {
                let of = entry(EQUAL, benchmark, system);
                journal.take(figure(&of, block, "throughput", 10_000.0 * noise / factor));
                journal.take(figure(&of, block, "response_p99", 800.0 * factor));
            }
            for (benchmark, times) in [(ONE, 1.0), (TWO, 2.0)] {
                let of = entry(SUMS, benchmark, POSTGRES);
                journal.take(figure(&of, block, "throughput", 500.0 * times));
                journal.take(figure(&of, block, "start_skew", 400.0 + f64::from(block)));
            }
            journal.take(figure(&entry(HUNDRED, SIMULATED, SIMULATED), block, "start_time", 0.5 * f64::from(block)));
            let hosts = AGENTS as usize;
            journal.take(Line::Merged(Merged { block, hosts, values: 9, is_identical: block != 2 }));
        }
        journal
    }

    fn line<'t>(text: &'t str, begin: &str) -> &'t str {
        text.lines().find(|line| line.starts_with(begin)).unwrap_or_else(|| panic!("{begin}\n{text}"))
    }

    #[test]
    fn the_part_has_every_table_and_judges_the_bars() {
        let origin = Origin { is_whole: true, blocks: 6, seconds: 4, ..Origin::default() };
        let header = Header { origin, ..Header::default() };
        let text = render(&header, &journal(6));
        assert!(!text.contains("{{") && !text.contains("partial run"), "{text}");
        assert!(line(&text, "| the direct run once more").contains("| **1.001** (1.001 to 1.001) |  |"), "{text}");
        assert!(line(&text, "| start skew of two agents").ends_with("| met |"), "{text}");
        assert!(line(&text, "| throughput over the direct run's, `host`").ends_with("| met: equivalent |"), "{text}");
        assert!(
            line(&text, "| throughput over the direct run's, `clients_on`").contains("**not met**: slower"),
            "{text}"
        );
        assert!(line(&text, "| throughput of two agents over one's").contains("| 2.000 |"), "{text}");
        // One trial of 3 s misses it, whatever the median is.
        assert!(line(&text, "| 100 agents prepared and started").contains("not met"), "{text}");
        assert!(line(&text, "| merged histogram").contains("| 5 of 6 trials | – | **not met** |"), "{text}");
        assert!(text.contains("in 6 of 6 trials with one agent and in 6 of 6 with two; 0 failed."), "{text}");
    }

    #[test]
    fn what_was_not_measured_is_not_met() {
        let text = render(&Header::default(), &Journal::default());
        assert!(text.contains("This is a partial run") && !text.contains("{{"), "{text}");
        let bars = bar_table(&Journal::default());
        assert!(bars.lines().skip(2).all(|line| line.ends_with("| not measured |")), "{bars}");
        let few = bar_table(&journal(2));
        assert!(line(&few, "| throughput over the direct run's, `host`").ends_with("| too few blocks |"), "{few}");
    }
}

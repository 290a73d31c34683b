//! Audits random tables: correct ones must give nothing, wrong ones their error. The figures are computed by separate
//! code.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a test's helpers may fail the test")]

use std::fmt::Write as _;

use audit::{Audit, FindingStatus, Judgements, RemarkKind, TableFacts};
use stats::Rng;

/// One false finding at most is allowed in this many figures.
const FIGURES_PER_FALSE_FINDING: usize = 1_000;
const SLIPS: usize = 200;
/// Share of the slips that are found at the least.
const MIN_FOUND: f64 = 0.95;

const HEAD: &str = "system,repetition,metric,unit,direction,kind,value,statistic,against,formula,n,grain,label\n";

/// Unit of counts.
const COUNTED: &str = "rows";

struct Side {
    name: &'static str,
    values: Vec<f64>,
}

/// An estimate with its name.
type Named = (&'static str, fn(&[f64]) -> f64);

/// Rows have more digits than figures.
struct Data {
    metric: String,
    unit: &'static str,
    direction: &'static str,
    decimals: usize,
    /// Decimals of its figures, at least.
    digits: usize,
    sides: [Side; 2],
}

fn between(rng: &mut Rng, low: usize, high: usize) -> usize {
    low + rng.draw_below(high - low + 1)
}

/// Has exactly the written digits.
fn written(value: f64, decimals: usize) -> f64 {
    format!("{value:.decimals$}").parse().unwrap()
}

/// Values have exactly the written digits, so that a wrong figure is wrong despite rounding.
fn data(rng: &mut Rng, number: usize) -> Data {
    let n = between(rng, 5, 12);
    let mut data = data_of(rng, number, n);
    if data.unit != COUNTED {
        data.decimals += 2;
    }
    for value in data.sides.iter_mut().flat_map(|side| &mut side.values) {
        *value = written(*value, data.decimals);
    }
    data
}

fn data_of(rng: &mut Rng, number: usize, n: usize) -> Data {
    let decimals = between(rng, 0, 3);
    let level = 10_f64.powf(1.5 + 3.0 * rng.next_f64());
    let spread = 0.02 + 0.3 * rng.next_f64();
    let (unit, direction) = [("ms", "lower"), ("tx/s", "higher"), (COUNTED, "higher")][rng.draw_below(3)];
    let sides = ["a", "b"].map(|name| {
        let centre = level * (1.0 + rng.next_f64());
        let values = (0..n).map(|_| centre * (1.0 + spread * (rng.next_f64() - 0.5)));
        let values = values.map(|value| if unit == COUNTED { value.round() } else { value }).collect();
        Side { name, values }
    });
    let decimals = if unit == COUNTED { 0 } else { decimals };
    Data { metric: format!("m{number}"), unit, direction, decimals, digits: decimals, sides }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

fn median(values: &[f64]) -> f64 {
    let (s, n) = (sorted(values), values.len());
    if n % 2 == 1 { s[n / 2] } else { (s[n / 2 - 1] + s[n / 2]) / 2.0 }
}

fn sd(values: &[f64]) -> f64 {
    let centre = mean(values);
    (values.iter().map(|v| (v - centre) * (v - centre)).sum::<f64>() / (values.len() - 1) as f64).sqrt()
}

fn trimmed(values: &[f64]) -> f64 {
    let s = sorted(values);
    mean(&s[1..s.len() - 1])
}

#[derive(Default)]
struct Text {
    rows: String,
    figures: usize,
}

impl Text {
    fn measured(&mut self, data: &Data) {
        for side in &data.sides {
            for (repetition, value) in (1..).zip(&side.values) {
                let Data { metric, unit, direction, decimals, .. } = data;
                let digits = *decimals;
                writeln!(self.rows, "{},{repetition},{metric},{unit},{direction},,{value:.digits$},,,,,,", side.name)
                    .unwrap();
            }
        }
    }

    fn printed(&mut self, system: &str, data: &Data, unit: &str, value: &str, statistic: &str, against: &str) {
        self.figures += 1;
        let Data { metric, direction, .. } = data;
        writeln!(self.rows, "{system},,{metric},{unit},{direction},printed,{value},{statistic},{against},,,,").unwrap();
    }

    fn raw(&mut self, line: &str) {
        writeln!(self.rows, "{line}").unwrap();
    }

    fn audit(&self) -> Audit {
        let text = format!("{HEAD}{}", self.rows);
        let table = formats::tidy::parse_table(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        audit::audit_table(&TableFacts::from_table(&table).unwrap(), "random", &Judgements::default())
    }
}

fn round(value: f64, decimals: usize) -> String {
    format!("{value:.decimals$}")
}

fn ordered(data: &Data, of: fn(&[f64]) -> f64) -> (&Side, &Side) {
    let [a, b] = &data.sides;
    let a_wins = (of(&a.values) < of(&b.values)) == (data.direction == "lower");
    if a_wins { (a, b) } else { (b, a) }
}

/// Prints every kind of figure of a metric, each right.
fn print_all(rng: &mut Rng, text: &mut Text, data: &Data) {
    for side in &data.sides {
        let decimals = data.digits + between(rng, 0, 2);
        let estimates: [Named; 4] = [("mean", mean), ("median", median), ("trimmed", trimmed), ("sd", sd)];
        for (name, of) in estimates {
            text.printed(side.name, data, data.unit, &round(of(&side.values), decimals), name, "");
        }
        let ends = sorted(&side.values);
        text.printed(side.name, data, data.unit, &round(ends[0], data.digits), "min", "");
        text.printed(side.name, data, data.unit, &round(ends[ends.len() - 1], data.digits), "max", "");
        text.printed(side.name, data, "", &ends.len().to_string(), "count", "");
    }
    let of: Named = if rng.draw_below(2) == 0 { ("mean", mean) } else { ("median", median) };
    let (best, worst) = ordered(data, of.1);
    let (x, y) = (of.1(&best.values), of.1(&worst.values));
    let is_time = data.direction == "lower";
    let times = if is_time { y / x } else { x / y };
    let mut compare = |name: &str, unit: &str, value: f64| {
        let decimals = between(rng, 0, 2);
        text.printed(best.name, data, unit, &round(value, decimals), &format!("{name} of {}", of.0), worst.name);
    };
    compare("times", "x", times);
    compare("ratio", "x", x / y);
    compare("change", "%", 100.0 * (x - y) / y);
    compare("gain", "%", 100.0 * ((x - y) / y).abs());
    compare("apart", "%", 100.0 * ((x - y) / x).abs());
    compare("time_gain", "%", 100.0 * (1.0 - 1.0 / times));
    compare("speed_gain", "%", 100.0 * (times - 1.0));
    compare("difference", data.unit, x - y);
    text.printed(best.name, data, "", best.name, &format!("winner of {}", of.0), worst.name);
}

/// A column that is computed from two others, its cells rounded.
fn print_computed(rng: &mut Rng, text: &mut Text, number: usize) {
    for system in ["a", "b"] {
        let mut cells = Vec::new();
        for repetition in 1..=7 {
            let (stall, reads) = (200.0 + 9e4 * rng.next_f64(), between(rng, 50, 400));
            text.raw(&format!("{system},{repetition},stall{number},ms,lower,,{stall:.0},,,,,,"));
            text.raw(&format!("{system},{repetition},reads{number},,neither,,{reads},,,,,,"));
            let cell = stall / (1 + reads) as f64;
            text.figures += 1;
            let formula = format!("stall{number} / (1 + reads{number})");
            text.raw(&format!("{system},{repetition},avg{number},ms,lower,printed,{cell:.1},value,,{formula},,,"));
            cells.push(cell);
        }
        text.figures += 2;
        text.raw(&format!("{system},,avg{number},ms,lower,printed,{:.2},mean,,,7,,", mean(&cells)));
        text.raw(&format!("{system},,avg{number},ms,lower,printed,{:.2},sd,,,7,,", sd(&cells)));
    }
}

#[test]
fn nothing_is_found_in_correct_tables() {
    let mut rng = Rng::new(1);
    let (mut figures, mut found) = (0, Vec::new());
    for _ in 0..250 {
        let mut text = Text::default();
        for number in 0..3 {
            let n = between(&mut rng, 5, 12);
            let data = data_of(&mut rng, number, n);
            text.measured(&data);
            print_all(&mut rng, &mut text, &data);
        }
        print_computed(&mut rng, &mut text, 9);
        // Enough rows for a clock to show.
        if rng.draw_below(5) == 0 {
            let many = data_of(&mut rng, 8, 30);
            text.measured(&many);
            print_all(&mut rng, &mut text, &many);
        }
        text.raw("a,,os,,,factor,x,,,,,,");
        text.raw("b,,os,,,factor,y,,,,,,");
        let audit = text.audit();
        assert_eq!(audit.figures.len(), text.figures);
        figures += text.figures;
        let wrong = audit.figures.iter().filter(|figure| figure.status.is_bad());
        found.extend(wrong.map(|figure| format!("{figure:?}")));
        found.extend(audit.remarks.iter().map(|remark| format!("{remark:?}")));
    }
    println!("{} false findings in {figures} figures", found.len());
    assert!(
        found.len() * FIGURES_PER_FALSE_FINDING <= figures,
        "{} in {figures}, first {:?}",
        found.len(),
        found.first()
    );
}

/// The status or remark that a slip should get.
enum Wanted {
    Status(FindingStatus),
    Remark(RemarkKind),
}

/// `make` gives `None` when chance made a right table.
fn measure(name: &str, wanted: &Wanted, make: impl Fn(&mut Rng, &mut Text) -> Option<()>) {
    let mut rng = Rng::new(7);
    let (mut tried, mut found, mut named) = (0, 0, 0);
    let mut missed = Vec::new();
    while tried < SLIPS {
        let mut text = Text::default();
        if make(&mut rng, &mut text).is_none() {
            continue;
        }
        tried += 1;
        let audit = text.audit();
        let status = audit.figures.last().map(|figure| figure.status);
        let (is_found, is_named) = match wanted {
            Wanted::Status(wanted) => {
                let is_found = status.is_some_and(|found| found.is_bad() || found == *wanted);
                (is_found, status == Some(*wanted))
            }
            Wanted::Remark(kind) => {
                let has = audit.remarks.iter().any(|remark| remark.kind == *kind);
                (has, has)
            }
        };
        found += usize::from(is_found);
        named += usize::from(is_named);
        if !is_found {
            missed.push(format!("{}\n{:?}", text.rows, audit.figures.last()));
        }
    }
    let percent = |n: usize| 100.0 * n as f64 / tried as f64;
    println!("{name}: {:.1} % found, {:.1} % by its name, of {tried}", percent(found), percent(named));
    let first = missed.first().map_or("", String::as_str);
    assert!(found as f64 >= MIN_FOUND * tried as f64, "{name}: {found} of {tried} found; one missed:\n{first}");
}

fn slip(rng: &mut Rng, text: &mut Text, wrong: impl Fn(&mut Rng, &Data) -> Option<(String, String)>) -> Option<()> {
    let data = data(rng, 0);
    text.measured(&data);
    let (value, statistic) = wrong(rng, &data)?;
    text.printed("a", &data, data.unit, &value, &statistic, "");
    Some(())
}

#[test]
fn a_wrong_figure_is_found() {
    measure("wrong digit", &Wanted::Status(FindingStatus::DoesNotFollow), |rng, text| {
        slip(rng, text, |rng, data| {
            let right = round(mean(&data.sides[0].values), data.digits + 1);
            let mut digits: Vec<char> = right.chars().collect();
            let at = rng.draw_below(digits.len());
            let digit = digits[at].to_digit(10)?;
            digits[at] = char::from_digit((digit + 1 + rng.draw_below(8) as u32) % 10, 10)?;
            Some((digits.into_iter().collect(), "mean".to_owned()))
        })
    });
    measure("slip of the decimal point", &Wanted::Status(FindingStatus::DoesNotFollow), |rng, text| {
        slip(rng, text, |_, data| Some((round(mean(&data.sides[0].values) / 10.0, data.digits + 1), "mean".to_owned())))
    });
    measure("wrong count", &Wanted::Status(FindingStatus::DoesNotFollow), |rng, text| {
        slip(rng, text, |rng, data| {
            Some(((data.sides[0].values.len() + 1 + rng.draw_below(3)).to_string(), "count".to_owned()))
        })
    });
    measure("wrong winner", &Wanted::Status(FindingStatus::DoesNotFollow), |rng, text| {
        let data = data(rng, 0);
        text.measured(&data);
        let (best, worst) = ordered(&data, mean);
        text.printed(best.name, &data, "", worst.name, "winner", worst.name);
        Some(())
    });
    measure("wrong cell", &Wanted::Status(FindingStatus::DoesNotFollow), |rng, text| {
        let (stall, reads) = (between(rng, 20_000, 90_000), between(rng, 50, 400));
        text.raw(&format!("a,1,stall,ms,lower,,{stall},,,,,,"));
        text.raw(&format!("a,1,reads,,neither,,{reads},,,,,,"));
        let cell = stall as f64 / (1 + reads) as f64 * 1.1;
        text.raw(&format!("a,1,avg,ms,lower,printed,{cell:.1},value,,stall / (1 + reads),,,"));
        Some(())
    });
}

#[test]
fn a_rounding_is_found() {
    measure("cut instead of rounded", &Wanted::Status(FindingStatus::Rounding), |rng, text| {
        slip(rng, text, |_, data| {
            let (value, decimals) = (mean(&data.sides[0].values), data.digits + 1);
            let scale = 10_f64.powi(decimals as i32);
            let cut = round((value * scale + 1e-7).floor() / scale, decimals);
            // A half may go either way, so that cutting it is right.
            let fraction = (value * scale).fract();
            (cut != round(value, decimals) && (fraction - 0.5).abs() > 1e-3).then_some((cut, "mean".to_owned()))
        })
    });
    measure("gain of rounded means", &Wanted::Status(FindingStatus::Rounding), |rng, text| {
        let data = data(rng, 0);
        text.measured(&data);
        let [a, b] = &data.sides;
        let (x, y) = (mean(&a.values), mean(&b.values));
        // Two digits of each are printed.
        fn digits(v: f64) -> f64 {
            format!("{v:.1e}").parse().unwrap()
        }
        let gain = round(digits(y) / digits(x), 2);
        let exponent = x.min(y).log10().floor() as i32;
        let is_whole = exponent >= 1 && x.log10().floor() == y.log10().floor();
        let (p, q) = (digits(x), digits(y));
        if !is_whole || gain == round(y / x, 2) || exponent > 1 {
            return None;
        }
        text.printed("a", &data, data.unit, &round(p, 0), "mean", "");
        text.printed("b", &data, data.unit, &round(q, 0), "mean", "");
        text.printed("b", &data, "x", &gain, "ratio", "a");
        Some(())
    });
}

#[test]
fn a_wrong_label_is_found() {
    let estimates: [Named; 4] = [
        ("median", median),
        ("trimmed", trimmed),
        ("best", |values| sorted(values)[0]),
        ("max", |values| sorted(values)[values.len() - 1]),
    ];
    for (name, of) in estimates {
        measure(&format!("{name} called mean"), &Wanted::Status(FindingStatus::Mislabelled), |rng, text| {
            slip(rng, text, |_, data| {
                let decimals = data.digits + 1;
                let (wrong, right) =
                    (round(of(&data.sides[0].values), decimals), round(mean(&data.sides[0].values), decimals));
                (wrong != right).then_some((wrong, "mean".to_owned()))
            })
        });
    }
    measure("the other side's mean", &Wanted::Status(FindingStatus::Mislabelled), |rng, text| {
        slip(rng, text, |_, data| Some((round(mean(&data.sides[1].values), data.digits + 1), "mean".to_owned())))
    });
    measure("share of the wrong side", &Wanted::Status(FindingStatus::Mislabelled), |rng, text| {
        compared(rng, text, "change", |x, y| (x - y) / x)
    });
    measure("speed called time", &Wanted::Status(FindingStatus::Mislabelled), |rng, text| {
        compared(rng, text, "time_gain", |x, y| x.max(y) / x.min(y) - 1.0)
    });
    measure("time called speed", &Wanted::Status(FindingStatus::Mislabelled), |rng, text| {
        compared(rng, text, "speed_gain", |x, y| 1.0 - x.min(y) / x.max(y))
    });
    measure("share of 1 called percent", &Wanted::Status(FindingStatus::Mislabelled), |rng, text| {
        compared(rng, text, "gain", |x, y| ((x - y) / y).abs() / 100.0)
    });
}

/// A percentage with one decimal of the better side against the worse, wrong.
fn compared(rng: &mut Rng, text: &mut Text, name: &str, wrong: fn(f64, f64) -> f64) -> Option<()> {
    let data = data(rng, 0);
    let (best, worst) = ordered(&data, mean);
    let (x, y) = (mean(&best.values), mean(&worst.values));
    // Near each other both shares are the same.
    if (x / y - 1.0).abs() < 0.1 {
        return None;
    }
    text.measured(&data);
    let decimals = if name == "gain" { 3 } else { 1 };
    text.printed(best.name, &data, "%", &round(100.0 * wrong(x, y), decimals), name, worst.name);
    Some(())
}

#[test]
fn rows_that_were_left_out_are_found() {
    measure("one row left out", &Wanted::Status(FindingStatus::Subset), |rng, text| {
        slip(rng, text, |rng, data| {
            let mut values = data.sides[0].values.clone();
            values.remove(rng.draw_below(values.len()));
            let (wrong, right) =
                (round(mean(&values), data.digits + 2), round(mean(&data.sides[0].values), data.digits + 2));
            (wrong != right).then_some((wrong, "mean".to_owned()))
        })
    });
    measure("eight of many left out", &Wanted::Status(FindingStatus::Subset), |rng, text| {
        let n = 200;
        let values: Vec<f64> = (0..n).map(|_| written(1.0 / (0.02 + rng.next_f64()), 7)).collect();
        (1..).zip(&values).for_each(|(at, value)| text.raw(&format!("a,{at},wait,s,lower,,{value:.7},,,,,,")));
        let ordered = sorted(&values);
        let outer = [&ordered[..n / 2 - 4], &ordered[n / 2 + 4..]].concat();
        text.raw(&format!("a,,wait,s,lower,printed,{:.7},mean,,,,,", mean(&outer)));
        None.or(Some(()))
    });
}

#[test]
fn an_impossible_mean_is_found() {
    measure("impossible mean", &Wanted::Status(FindingStatus::Impossible), |rng, text| {
        let n = between(rng, 3, 9);
        let value = format!("{}.{:02}", between(rng, 100, 5_000), rng.draw_below(100));
        let target: f64 = value.parse().unwrap();
        let nearest = (target * n as f64) as usize;
        let possible = (nearest - 2..nearest + 3).any(|sum| format!("{:.2}", sum as f64 / n as f64) == value);
        // A half that goes the other way is possible, too.
        let on_half = (nearest - 2..nearest + 3).any(|sum| (sum as f64 / n as f64 - target).abs() < 0.005 + 1e-9);
        text.raw(&format!("a,,cpu,ms,lower,printed,{value},mean,,,{n},1,"));
        (!possible && !on_half).then_some(())
    });
}

#[test]
fn what_is_wrong_with_a_table_is_found() {
    let figures = |rng: &mut Rng, text: &mut Text, change: fn(&mut Data)| {
        let mut data = data(rng, 0);
        change(&mut data);
        text.measured(&data);
        print_all(rng, text, &data);
        Some(())
    };
    measure("unequal repetitions", &Wanted::Remark(RemarkKind::UnequalRepetitions), |rng, text| {
        figures(rng, text, |data| {
            data.sides[1].values.pop();
        })
    });
    measure("another number stated", &Wanted::Remark(RemarkKind::UnequalRepetitions), |rng, text| {
        figures(rng, text, |_| ())?;
        text.raw("a,,m0,ms,lower,printed,5.0,mean,,,4,,");
        Some(())
    });
    measure("unstated repetitions", &Wanted::Remark(RemarkKind::UnstatedRepetitions), |_, text| {
        text.raw("a,,m0,ms,lower,printed,5.0,mean,,,,,");
        Some(())
    });
    measure("missing unit", &Wanted::Remark(RemarkKind::MissingUnit), |rng, text| {
        figures(rng, text, |data| data.unit = "")
    });
    measure("missing spread", &Wanted::Remark(RemarkKind::MissingSpread), |rng, text| {
        slip(rng, text, |_, data| Some((round(mean(&data.sides[0].values), data.digits), "mean".to_owned())))
    });
    measure("confounded", &Wanted::Remark(RemarkKind::Confounded), |rng, text| {
        figures(rng, text, |_| ())?;
        for (side, value) in [("a", "x"), ("b", "y")] {
            text.raw(&format!("{side},,os,,,factor,{value},,,,,,"));
            text.raw(&format!("{side},,disk,,,factor,{value},,,,,,"));
        }
        Some(())
    });
    measure("totals", &Wanted::Remark(RemarkKind::NotDifferenced), |rng, text| {
        let (each, mut total) = (between(rng, 500, 5_000), 0);
        for repetition in 1..=between(rng, 5, 10) {
            total += each + rng.draw_below(each / 10);
            text.raw(&format!("a,{repetition},writes,,neither,,{total},,,,,,"));
        }
        text.raw(&format!("a,,writes,,neither,printed,{total},max,,,,,"));
        Some(())
    });
    measure("best of n", &Wanted::Remark(RemarkKind::BestOf), |rng, text| {
        slip(rng, text, |_, data| {
            let ends = sorted(&data.sides[0].values);
            let best = if data.direction == "lower" { ends[0] } else { ends[ends.len() - 1] };
            Some((round(best, data.digits), "best".to_owned()))
        })
    });
}

#[test]
fn a_coarse_clock_is_found() {
    let rows = |rng: &mut Rng, text: &mut Text| {
        for side in ["a", "b"] {
            for at in 1..=60 {
                let wait = 15.625 * (between(rng, 3, 20) as f64 + 0.02 * (rng.next_f64() - 0.5));
                text.raw(&format!("{side},{at},wait,ms,lower,,{wait:.3},,,,,,"));
            }
            // The smallest are one step apart.
            let smallest = if side == "a" { "15.625" } else { "31.250" };
            text.raw(&format!("{side},61,wait,ms,lower,,{smallest},,,,,,"));
        }
        text.raw("a,,wait,ms,lower,printed,15.6,difference of min,b,,,,");
        Some(())
    };
    measure("quantised clock", &Wanted::Remark(RemarkKind::QuantisedClock), rows);
    measure("a difference of one step", &Wanted::Remark(RemarkKind::UnderClockStep), rows);
}

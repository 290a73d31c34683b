//! The answer in plain English, to be read aloud: who is faster at what and by how much, before any table.
//!
//! It says no more than the table's verdicts do; of what has no verdict it says that there is none.

mod counts;
mod names;
mod parts;
mod single_system;
mod words;

use std::collections::BTreeSet;

use indexmap::IndexMap;
use model::metric::{CAPACITY, CAPACITY_CLIENTS};
use model::{Absence, MarkKind, Metric, Point, Quantity, Role, Value};
use stats::Verdict;

use crate::comparison::{
    Comparison, ComparisonSet, CrossFinding, NoVerdict, Pairing, Scale, Side, SideLetter, Table, Warning,
};
use crate::labels::{is_capacity, metric_name};
use crate::number::{Script, count_noun, failed_share_text, percent_text};
use crate::text::{clean_text, clip_to_width, wrap_to_width};
use counts::{VerdictCounts, outcomes_in_words};
pub use names::side_names;
use names::{NAME, quote_name};
use single_system::answer_figures;
use words::{Spread, Tense, extremes, percents_words, times_words};

/// It stays within so many lines of a terminal of [`WIDTH`] columns.
const LINES: usize = 3;
const WIDTH: usize = 80;
/// A ratio is given as a factor ("1.6 times as fast") from this one on, and in percent below it.
const TIMES: f64 = 1.5;
/// A smaller change is printed as none.
const SHOWN: f64 = 0.000_5;
/// Up to this many answers are given one by one; of more, only how many came out which way.
const FEW: usize = 4;
/// Number of other results that are named because they point the other way.
const MOST_CONTRARY: usize = 2;

/// Writes the answer in plain English; empty if nothing was measured. It begins with `place` and ends with `trail`.
pub fn render_answer(set: &ComparisonSet, place: &str, trail: &str) -> String {
    let mut questions: Vec<Question<'_>> = set.tables.iter().flat_map(questions_of).collect();
    // Each line may lose a word at its end.
    let taken = place.chars().count() + trail.chars().count() + LINES * WIDTH / 8;
    questions.iter_mut().for_each(|question| question.room = (LINES * WIDTH).saturating_sub(taken));
    let unfinished = set.rules.unfinished.map(|found| format!("Not finished: {}.", found.sentence()));
    let after_unfinished =
        |sentences: Vec<String>| -> Vec<String> { unfinished.iter().cloned().chain(sentences).collect() };
    let of_all = cross_experiment_answer(&questions, set)
        .or_else(|| one_server_answer(&questions, set))
        .or_else(|| early_results(&questions, set));
    let apart_cases = explain_nothing_in_common(set);
    let sentences = match of_all {
        _ if apart_cases.is_some() => after_unfinished(apart_cases.into_iter().collect()),
        _ if set.tables.is_empty() => after_unfinished(answer_figures(&set.figures, trail)),
        _ if questions.is_empty() => after_unfinished(vec!["No primary metric is shown: see the table.".to_owned()]),
        Some(all) => after_unfinished(vec![all]),
        None => Some(after_unfinished(sentence_per_question(&questions, set, place)))
            .filter(|sentences| questions.len() <= FEW && fits_in_lines(&join_sentences(sentences, trail)))
            .unwrap_or_else(|| after_unfinished(verdict_counts_by_pair(&questions))),
    };
    fit_into_lines(sentences, trail)
}

fn sentence_per_question(questions: &[Question<'_>], set: &ComparisonSet, place: &str) -> Vec<String> {
    let mut sentences: Vec<String> = questions.iter().filter_map(|question| question.decided_sentence(set)).collect();
    if !place.is_empty()
        && let Some(first) = sentences.first_mut()
    {
        *first = format!("{place} {first}");
    }
    sentences.extend(undecided_sentences(questions, set));
    sentences
}

/// Sides, and cases of a side, that are named where the sides have none in common.
const NAMED_SIDES: usize = 3;
const NAMED_CASES: usize = 2;

/// Says which cases each side ran, where no case has runs of two sides; `None` if one has.
fn explain_nothing_in_common(set: &ComparisonSet) -> Option<String> {
    let mut ran: Vec<(&str, BTreeSet<String>)> = Vec::new();
    for case in &set.one_sided {
        let side = if case.missing_from == SideLetter::B { &case.a } else { &case.b };
        add_case(&mut ran, side, case.name.clone());
    }
    for row in set.rows() {
        let side = match (has_runs_or_reasons(&row.a), has_runs_or_reasons(&row.b)) {
            (true, true) => return None,
            (true, false) => &row.a.label,
            (false, true) => &row.b.label,
            (false, false) => continue,
        };
        let keys = row.case_label();
        let case = if keys.is_empty() { row.benchmark.clone() } else { format!("{}, {keys}", row.benchmark) };
        add_case(&mut ran, side, case);
    }
    let sides: Vec<String> = ran.iter().take(NAMED_SIDES).map(|(side, cases)| what_ran(side, cases)).collect();
    let more = ran.len().saturating_sub(NAMED_SIDES);
    let more =
        if more > 0 { format!(", and {} more something else", count_noun(more, "system")) } else { String::new() };
    (ran.len() > 1).then(|| format!("Nothing is in common: {}{more}.", sides.join(", ")))
}

/// Adds a case to those of a side, each once.
fn add_case<'s>(ran: &mut Vec<(&'s str, BTreeSet<String>)>, side: &'s str, case: String) {
    match ran.iter_mut().find(|(known, _)| *known == side) {
        Some((_, cases)) => drop(cases.insert(case)),
        None => ran.push((side, BTreeSet::from([case]))),
    }
}

/// Says which cases a side ran, the first by name.
fn what_ran(side: &str, cases: &BTreeSet<String>) -> String {
    let named: Vec<String> =
        cases.iter().take(NAMED_CASES).map(|case| clip_to_width(&clean_text(case), 2 * NAME)).collect();
    let more = cases.len().saturating_sub(NAMED_CASES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{} ran {}{more}", clip_to_width(&clean_text(side), NAME), named.join(" and "))
}

/// Tests whether a side has runs, or reasons why they have no value.
fn has_runs_or_reasons(side: &Side) -> bool {
    !side.runs.is_empty() || !side.unavailable.is_empty()
}

fn fits_in_lines(text: &str) -> bool {
    wrap_to_width(text, WIDTH, 0).lines().count() <= LINES
}

fn join_sentences(sentences: &[String], trail: &str) -> String {
    [&sentences.join(" "), trail].join(" ").trim().to_owned()
}

/// Joins the sentences that fit and the trail, which always stays; says that the rest is in the table.
fn fit_into_lines(mut sentences: Vec<String>, trail: &str) -> String {
    // That the rest is in the table is no answer by itself.
    sentences.retain(|sentence| !sentence.is_empty());
    let all = join_sentences(&sentences, trail);
    if fits_in_lines(&all) {
        return all;
    }
    let rest = format!("The rest is in the table. {trail}");
    while sentences.len() > 1 {
        sentences.pop();
        let shortened = join_sentences(&sentences, rest.trim());
        if fits_in_lines(&shortened) {
            return shortened;
        }
    }
    // A word may not fit at the end of each line.
    let room = (LINES * (WIDTH - NAME)).saturating_sub(trail.chars().count() + 1).max(WIDTH);
    join_sentences(&[clip_to_width(&sentences.join(" "), room)], trail)
}

/// One benchmark on two sides, by the metric that people ask for first.
struct Question<'a> {
    benchmark: String,
    a: String,
    b: String,
    metric: &'a Metric,
    rows: Vec<&'a Comparison>,
    /// The other primary rows.
    others: Vec<&'a Comparison>,
    /// Letters that its sentence may have if it is the only one.
    room: usize,
}

/// Makes a question for each benchmark with primary rows, about its main metric.
fn questions_of<'a>(table: &'a Table) -> Vec<Question<'a>> {
    let mut benchmarks: IndexMap<&str, Vec<&Comparison>> = IndexMap::new();
    for row in table.rows.iter().filter(|row| row.metric.role == Role::Primary) {
        benchmarks.entry(&row.benchmark).or_default().push(row);
    }
    benchmarks
        .into_iter()
        .filter_map(|(name, rows)| {
            let metric = &rows
                .iter()
                .find(|row| row.metric.id == CAPACITY_CLIENTS)
                .or(rows.iter().find(|row| {
                    matches!(row.metric.quantity(), Quantity::Rate | Quantity::Time) && !is_prescribed(row)
                }))
                .or(rows.first())?
                .metric;
            let (rows, others) = rows.into_iter().partition(|row| metric_family(&row.metric) == metric_family(metric));
            let [a, b] = side_names(table);
            Some(Question { benchmark: quote_name(name), a, b, metric, rows, others, room: LINES * WIDTH })
        })
        .collect()
}

/// Whether both sides did as much as the plan asks of them, so that their rates say nothing of the systems.
fn is_prescribed(row: &Comparison) -> bool {
    let has_pace = ["rate", "think_time"].into_iter().any(|key| row.case.contains_key(key));
    has_pace && row.metric.quantity() == Quantity::Rate && row.verdict() == Some(Verdict::Equivalent)
}

/// The ratio B to A that a row is judged by; without an estimate that of its figures.
fn judged_ratio(row: &Comparison) -> Option<f64> {
    let seen = row.change.filter(|change| change.scale == Scale::Ratio).map(|change| change.ratio);
    row.ratio_estimate().map(|found| found.ratio).or(seen)
}

/// The part of a metric's name before `/`: `elapsed` of `elapsed/S1`, since the parts of a suite are one question.
fn metric_family(metric: &Metric) -> &str {
    metric.id.split('/').next().unwrap_or_default()
}

/// Names what a question asks for, such as the capacity of a benchmark at its promise.
fn question_name(metric: &Metric, benchmark: &str) -> String {
    let promised = if is_capacity(metric) { " at its promise" } else { "" };
    format!("{} of {benchmark}{promised}", metric_name(metric_family(metric)))
}

/// Writes the answer where all sides are one server, so that a difference is one of machine or method; `None` elsewhere.
fn one_server_answer(questions: &[Question<'_>], set: &ComparisonSet) -> Option<String> {
    let rows: Vec<&Comparison> = questions.iter().flat_map(|q| q.rows.iter().chain(&q.others)).copied().collect();
    if rows.is_empty() || !rows.iter().all(|row| row.is_one_server()) {
        return None;
    }
    let VerdictCounts { faster, slower, none, .. } = VerdictCounts::of_rows(&rows);
    let found = match (faster + slower, rows.len() - none) {
        (_, 0) => "and there is no verdict".to_owned(),
        (0, _) => "and no difference is shown, as it should be".to_owned(),
        (differ, judged) => {
            let verb = if differ == 1 { "differs" } else { "differ" };
            let by_chance = percent_text(1.0 - set.rules.level, Script::Plain);
            format!(
                "and yet {differ} of {} {verb}: chance does that in {by_chance} of such experiments at most; if it comes \
                 again, something other than the server makes a difference",
                count_noun(judged, "result")
            )
        }
    };
    Some(format!("Both sides are one server, {found}."))
}

impl Question<'_> {
    /// Says who is faster, or that both are equal; `None` if no row decides it or shows wrong answers.
    fn decided_sentence(&self, set: &ComparisonSet) -> Option<String> {
        let tally = VerdictCounts::of_rows(&self.rows);
        let all = self.rows.len();
        if tally.faster + tally.slower + tally.equal == 0 {
            let is_other = self.rows.iter().any(|row| parts::has_no_right_answer(row));
            return if is_other { Some(format!("{}.", parts::parts_sentence(self, set)?)) } else { None };
        }
        let said = if tally.faster == all || tally.slower == all {
            let sure = self.certainty(set);
            format!("{}{sure}", self.comparison_sentence(Tense::Present)?)
        } else if tally.equal == all {
            let margin = if self.rows.iter().all(|row| row.ratio_estimate().is_some()) {
                format!(" within {}", percent_text(set.rules.margin, Script::Plain))
            } else {
                String::new()
            };
            format!("{} is the same on {} and {}{margin}", self.subject(), self.a, self.b)
        } else if let Some(said) = parts::parts_sentence(self, set) {
            said
        } else {
            let words = outcomes_in_words(&self.rows, self.verdict_words());
            format!("{} on {} against {}, {all} cases: {words}", self.subject(), self.b, self.a)
        };
        Some(format!(
            "{said}{}{}{}.",
            self.exceptions(tally),
            self.failure_difference(),
            self.limited_by_clients_clause()
        ))
    }

    /// The benchmark's name, or what is asked of it if that is no speed.
    fn subject(&self) -> String {
        match self.metric.quantity() {
            Quantity::Rate | Quantity::Time if !is_capacity(self.metric) => self.benchmark.clone(),
            _ => self.question_text(),
        }
    }

    fn question_text(&self) -> String {
        question_name(self.metric, &self.benchmark)
    }

    /// The words for a better and for a worse side, such as `faster` and `slower`.
    fn verdict_words(&self) -> [&'static str; 2] {
        [Verdict::Faster, Verdict::Slower].map(|verdict| crate::labels::verdict_word(verdict, self.metric))
    }

    /// Says what B does compared with A, or A with B if that is the larger number; `None` where rows point both ways.
    fn comparison_sentence(&self, tense: Tense) -> Option<String> {
        let (low, high) = extremes(self.rows.iter().copied().filter_map(judged_ratio))?;
        let (a, b, name) = (&self.a, &self.b, &self.benchmark);
        let [runs, takes] = tense.verbs();
        if low < 1.0 && high > 1.0 {
            return None;
        }
        let most = (low - 1.0).abs().max((high - 1.0).abs());
        if most == 0.0 || (tense.is_past() && most < SHOWN) {
            return Some(format!("{} {} the same on {a} and {b}", self.subject(), tense.is_verb()));
        }
        let is_more = high > 1.0;
        let factors = if is_more { [low, high] } else { [1.0 / high, 1.0 / low] };
        let is_factor = factors[1] >= TIMES;
        let shares = [low, high].map(|ratio| (ratio - 1.0).abs());
        let shares = percents_words(if is_more { shares } else { [shares[1], shares[0]] }).text;
        // Who has more of it.
        let (more, less) = if is_more { (b, a) } else { (a, b) };
        if self.is_of_load() {
            return Some(self.load_sentence([more, less], is_more, (is_factor, times_words(factors), &shares), tense));
        }
        Some(match (self.metric.quantity(), is_factor) {
            (Quantity::Rate, true) => format!("{more} {runs} {name} {} as fast as {less}", times_words(factors).text),
            (Quantity::Rate, false) => {
                format!("{b} {runs} {name} {shares} {} than {a}", if is_more { "faster" } else { "slower" })
            }
            (Quantity::Time, true) => {
                format!("{more} {takes} {} as long for {name} as {less}", times_words(factors).text)
            }
            (Quantity::Time, false) => {
                format!("{b} {takes} {shares} {} time for {name} than {a}", if is_more { "more" } else { "less" })
            }
            (quantity, _) => {
                let word = match (quantity, is_more) {
                    (Quantity::Size, true) => "larger",
                    (Quantity::Size, false) => "smaller",
                    (_, true) => "more",
                    (_, false) => "less",
                };
                format!("{} is {shares} {word} on {b} than on {a}", self.subject())
            }
        })
    }

    /// Whether the question asks for a capacity, in clients or as a rate.
    fn is_of_load(&self) -> bool {
        [CAPACITY, CAPACITY_CLIENTS].contains(&self.metric.id.as_str())
    }

    /// Whether a figure is only a bound of its capacity.
    fn has_bound(&self) -> bool {
        self.rows.iter().any(|row| row.a.bound.or(row.b.bound).is_some())
    }

    /// Says which side carries more load than the other, and how much more.
    fn load_sentence(
        &self,
        [more, less]: [&str; 2],
        is_more: bool,
        (is_factor, factors, shares): (bool, Spread, &str),
        tense: Tense,
    ) -> String {
        let of_clients = self.metric.id == CAPACITY_CLIENTS;
        let (a, b, name, carries) = (&self.a, &self.b, &self.benchmark, tense.carries_verb());
        let load = if of_clients { "clients" } else { "load" };
        if self.has_bound() {
            let factor = factors.text.trim_start_matches("about ");
            return format!("{more} {carries} at least {factor} the {load} of {less} in {name} at its promise");
        }
        if is_factor {
            return format!("{more} {carries} {} the {load} of {less} in {name} at its promise", factors.text);
        }
        let word = match (is_more, of_clients) {
            (true, _) => "more",
            (false, true) => "fewer",
            (false, false) => "less",
        };
        format!("{b} {carries} {shares} {word} {load} than {a} in {name} at its promise")
    }

    /// Says in brackets how sure a difference is, with the span of the rows' intervals.
    fn certainty(&self, set: &ComparisonSet) -> String {
        let sure = match set.rules.pairing {
            Pairing::Paired if is_disturbed(set) => "under other load",
            Pairing::Paired => "sure",
            Pairing::Unpaired => "measured apart",
        };
        let in_cases = match self.rows.len() {
            1 => String::new(),
            2 => " in both cases".to_owned(),
            all => format!(" in all {all} cases"),
        };
        let sure = format!("{sure}{in_cases}");
        if self.has_bound() {
            return format!(" ({sure})");
        }
        let Some(found) = self.rows.iter().map(|row| row.ratio_estimate()).collect::<Option<Vec<_>>>() else {
            return format!(" ({sure})");
        };
        let lo = found.iter().map(|row| row.lo).fold(f64::INFINITY, f64::min);
        let hi = found.iter().map(|row| row.hi).fold(0.0, f64::max);
        let is_more = found.iter().all(|row| row.ratio >= 1.0);
        let ends = if is_more { [lo, hi] } else { [1.0 / hi, 1.0 / lo] };
        let is_speed = matches!(self.metric.quantity(), Quantity::Rate | Quantity::Time) || self.is_of_load();
        let factor = found.iter().map(|row| row.ratio.max(1.0 / row.ratio)).fold(1.0, f64::max);
        let interval = if is_speed && factor >= TIMES {
            times_words(ends)
        } else if is_more {
            percents_words([lo - 1.0, hi - 1.0])
        } else {
            percents_words([1.0 - hi, 1.0 - lo])
        };
        // An interval that rounds to one number adds nothing.
        if interval.is_range { format!(" ({}, {sure})", interval.text) } else { format!(" ({sure})") }
    }

    /// Writes a clause on other metrics that point the other way; empty if none do.
    fn exceptions(&self, tally: VerdictCounts) -> String {
        let mut found: Vec<String> = Vec::new();
        for row in self.others.iter().filter(|row| match row.verdict() {
            Some(Verdict::Faster) => tally.faster == 0,
            Some(Verdict::Slower) => tally.slower == 0,
            _ => false,
        }) {
            let word = row.verdict().map_or("", |verdict| crate::labels::verdict_word(verdict, &row.metric));
            let of_metric = self.others.iter().filter(|other| other.metric.id == row.metric.id).count();
            let alike = self
                .others
                .iter()
                .filter(|other| (&other.metric.id, other.verdict()) == (&row.metric.id, row.verdict()));
            let alike = alike.count();
            let some = if alike < of_metric { format!(" in {alike} of {of_metric} cases") } else { String::new() };
            let promised = if is_capacity(&row.metric) { " at its promise" } else { "" };
            let said = format!("{}{promised} is {word}{some}", metric_name(&row.metric.id));
            if !found.contains(&said) {
                found.push(said);
            }
        }
        let more = found.len().saturating_sub(MOST_CONTRARY);
        found.truncate(MOST_CONTRARY);
        match found.is_empty() {
            true => String::new(),
            false if more > 0 => format!(", but on {} {}, and {more} more", self.b, found.join(", ")),
            false => format!(", but on {} {}", self.b, found.join(" and ")),
        }
    }

    /// Writes a clause on the sides whose load the number of clients limited; empty if none was.
    fn limited_by_clients_clause(&self) -> String {
        // Another row may have had more of them, and carried more.
        let sides = [(SideLetter::A, &self.a), (SideLetter::B, &self.b)].into_iter();
        let on: Vec<&str> =
            sides.filter(|(letter, _)| self.needs_more_clients_on(*letter)).map(|(_, side)| side.as_str()).collect();
        if on.is_empty() {
            String::new()
        } else {
            format!("{} on {}", more_may_carry_clause(self.metric), on.join(" and "))
        }
    }

    /// Whether most runs of the side's highest load had too few clients.
    fn needs_more_clients_on(&self, letter: SideLetter) -> bool {
        let most = self.rows.iter().filter(|row| side_estimate(letter, row).is_some());
        let most = most.max_by(|one, other| {
            side_estimate(letter, one).unwrap_or(0.0).total_cmp(&side_estimate(letter, other).unwrap_or(0.0))
        });
        // What asked for more at once has carried no more.
        let most = most.filter(|row| !self.is_surpassed(letter, row));
        let mut warnings = most.into_iter().flat_map(|row| &row.warnings);
        warnings.any(|warning| has_too_few_clients(warning) && warning.side() == Some(letter))
    }

    /// Whether another row asked for more at once than this one.
    fn is_surpassed(&self, letter: SideLetter, row: &Comparison) -> bool {
        let mut known = self.rows.iter().filter(|other| side_estimate(letter, other).is_some());
        known.any(|other| asks_for_more(&other.case, &row.case, self.metric))
    }

    /// Writes a clause on the failed share of each side, where the sides differ in it, from the worst row.
    fn failure_difference(&self) -> String {
        let all = self.rows.iter().filter_map(|row| row.failures);
        let Some(most) = all.max_by(|x, y| x.worst_share().total_cmp(&y.worst_share())) else { return String::new() };
        let shares = [(most.a, &self.a), (most.b, &self.b)].map(|(share, side)| match share {
            Some(share) => format!("{} failed on {side}", failed_share_text(share)),
            None => format!("an unknown share failed on {side}"),
        });
        format!("; of its operations {}", shares.join(" and "))
    }
}

/// The load that a side carried in a row, its estimate.
fn side_estimate(letter: SideLetter, row: &Comparison) -> Option<f64> {
    if letter == SideLetter::A { row.a.estimate } else { row.b.estimate }
}

/// A clause that more clients, or a greater depth of a disk, may carry more.
fn more_may_carry_clause(metric: &Metric) -> &'static str {
    if metric.unit == "io/s" { "; a greater depth may carry more" } else { "; more clients may carry more" }
}

/// Whether a case differs from another only by more clients or a greater depth.
fn asks_for_more(case: &Point, than: &Point, metric: &Metric) -> bool {
    let key = if metric.unit == "io/s" { "depth" } else { "clients" };
    let is_more = number_at(case, key).zip(number_at(than, key)).is_some_and(|(case, than)| case > than);
    is_more && without_key(case, key) == without_key(than, key)
}

fn without_key(case: &Point, key: &str) -> Point {
    let mut case = case.clone();
    case.remove(key);
    case
}

/// A key's value in a case as a number.
fn number_at(case: &Point, key: &str) -> Option<f64> {
    case.get(key).and_then(Value::as_float)
}

/// Whether a warning says that most runs had too few clients: in a few runs other load on the machine may be the cause.
fn has_too_few_clients(warning: &Warning) -> bool {
    matches!(warning, Warning::Marked { kind: MarkKind::TooFewClients, runs, of, .. } if 2 * runs > *of)
}

/// Whether other load on the machine met most runs, or one side more than the other, which rounds do not make fair.
fn is_disturbed(set: &ComparisonSet) -> bool {
    set.disturbances.iter().any(|found| 2 * found.runs > found.of || !found.unequal.is_empty())
}

/// Writes the questions without a difference to report, those with the same reason in one sentence.
fn undecided_sentences(questions: &[Question<'_>], set: &ComparisonSet) -> Vec<String> {
    let several_pairs = set.tables.iter().any(|table| (&table.a, &table.b) != (&set.tables[0].a, &set.tables[0].b));
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for question in questions.iter().filter(|question| question.decided_sentence(set).is_none()) {
        let tally = VerdictCounts::of_rows(&question.rows);
        let pair = if several_pairs { format!(" ({} and {})", question.a, question.b) } else { String::new() };
        let name = format!("{}{pair}", question.subject());
        let outcome = match question.rows.iter().find_map(|row| row.why_no_verdict()) {
            Some(reason) if tally.same == question.rows.len() => {
                format!("the same values on both sides, but {}", no_verdict_words(reason))
            }
            None if tally.same == question.rows.len() => "the same values on both sides".to_owned(),
            Some(reason) if tally.open + tally.same == 0 => no_verdict_words(reason),
            Some(_) => "no difference shown, and in some cases no verdict".to_owned(),
            None => {
                format!("no difference shown{}{}", question.exceptions(tally), question.limited_by_clients_clause())
            }
        };
        match found.iter_mut().find(|(known, _)| *known == outcome) {
            Some((_, names)) => names.push(name),
            None => found.push((outcome, vec![name])),
        }
    }
    let sentences = found.into_iter().map(|(outcome, names)| format!("{}: {outcome}.", names.join(", ")));
    sentences.collect()
}

/// Says why there is no verdict, for a reader who has not seen the table.
fn no_verdict_words(reason: &NoVerdict) -> String {
    let why = match reason {
        NoVerdict::Unfinished(_) => return "no verdict yet".to_owned(),
        NoVerdict::TooFewRounds { missing } => format!("{} needed", count_noun(*missing as usize, "more round")),
        NoVerdict::UnequalDurability { .. } => "the sides promise different things at commit".to_owned(),
        NoVerdict::DifferentRows(found) => found.text(),
        NoVerdict::SystemChanged { side, .. } => format!("{} changed during the experiment", side.as_str()),
        NoVerdict::SequentialOrder => "one side ran after the other".to_owned(),
        NoVerdict::DifferentAnswers { .. } => "its answers differ".to_owned(),
        NoVerdict::UnstableAnswers { .. } => "its answer changes from run to run on A itself".to_owned(),
        NoVerdict::CachedAnswers { .. } => "a cache of results answered".to_owned(),
        NoVerdict::NotAvailable { missing, .. } if missing.kind == Absence::Wrong => "its answer is wrong".to_owned(),
        NoVerdict::IncompleteRuns { .. } | NoVerdict::NotAvailable { .. } => "some runs have no result".to_owned(),
        NoVerdict::TooFewOperations { .. } => "some runs have too few operations for it".to_owned(),
        NoVerdict::Failures { .. } | NoVerdict::FailuresUnknown { .. } => "operations failed".to_owned(),
        NoVerdict::Repeated { .. } | NoVerdict::CutOff { .. } | NoVerdict::MeasuredAgain { .. } => {
            "too many runs had to be repeated".to_owned()
        }
        other => other.short_reason(),
    };
    format!("no verdict ({why})")
}

/// Writes the answer for sides measured apart: what their runs gave, and that this is no verdict.
fn cross_experiment_answer(questions: &[Question<'_>], set: &ComparisonSet) -> Option<String> {
    let experiments = set.apart.as_ref()?;
    let when = experiments.time_between().map_or_else(String::new, |between| format!(" ({between})"));
    let plans = if experiments.confounded.values().all(Vec::is_empty) { "" } else { ", by plans that differ" };
    let begin = format!("Measured apart{when}{plans}, so no verdict");
    let rows: Vec<&Comparison> = questions.iter().flat_map(|question| &question.rows).copied().collect();
    let findings: Vec<CrossFinding> = rows.iter().filter_map(|row| row.cross_finding()).collect();
    if findings.is_empty() {
        let why = rows.iter().find_map(|row| row.why_no_verdict()).map(no_verdict_words);
        return Some(format!("{begin}; and nothing to compare by: {}.", why.unwrap_or_default()));
    }
    let clauses: Option<Vec<String>> = questions.iter().map(cross_experiment_clause).collect();
    if let Some(clauses) = clauses.filter(|clauses| clauses.len() <= FEW) {
        return Some(format!("{begin}: {}.", clauses.join("; ")));
    }
    let all = [CrossFinding::Higher, CrossFinding::Lower, CrossFinding::Alike, CrossFinding::Open]
        .map(|wanted| (findings.iter().filter(|one| **one == wanted).count(), wanted.as_str()));
    let none = (rows.len() - findings.len(), "without a figure to tell by");
    let parts = all.into_iter().chain([none]).filter(|(rows, _)| *rows > 0);
    let parts: Vec<String> = parts.map(|(rows, word)| format!("{rows} {word}")).collect();
    Some(format!("{begin}: of {}, {}.", count_noun(rows.len(), "result"), parts.join(", ")))
}

/// Says what all rows of a question found between experiments that were measured apart; `None` if they found several things.
fn cross_experiment_clause(question: &Question<'_>) -> Option<String> {
    let found: Option<Vec<CrossFinding>> = question.rows.iter().map(|row| row.cross_finding()).collect();
    let found = found?;
    let finding = *found.first().filter(|first| found.iter().all(|one| one == *first))?;
    let (subject, a, b) = (question.question_text(), &question.a, &question.b);
    Some(match finding {
        CrossFinding::Higher | CrossFinding::Lower => {
            let by = change_in_percent(question).unwrap_or_default();
            format!("{subject} was {by}{} on {b} than on {a}", finding.as_str())
        }
        CrossFinding::Alike => format!("{subject} was alike on {b} and {a}"),
        CrossFinding::Open => format!("{subject} shows no difference between {b} and {a}"),
    })
}

/// The span of the rows' changes in percent, before a word; `None` without a ratio.
fn change_in_percent(question: &Question<'_>) -> Option<String> {
    let ratios = question.rows.iter().filter_map(|row| row.change.filter(|change| change.scale == Scale::Ratio));
    let (low, high) = extremes(ratios.map(|change| change.ratio))?;
    let ends = [(low - 1.0).abs(), (high - 1.0).abs()];
    Some(format!("{} ", percents_words(if low >= 1.0 { ends } else { [ends[1], ends[0]] }).text))
}

/// Says what too few runs have shown so far; `None` if anything is decided.
fn early_results(questions: &[Question<'_>], set: &ComparisonSet) -> Option<String> {
    if questions.iter().any(|question| question.decided_sentence(set).is_some()) {
        return None;
    }
    let mut early = questions.iter().filter(|question| is_undecided_so_far(question));
    let difference = early
        .find_map(|question| Some(question.comparison_sentence(Tense::Past)? + &question.limited_by_clients_clause()));
    let needed = set.rules.min_rounds;
    let of_rows = questions.iter().flat_map(|question| &question.rows).filter_map(|row| match row.why_no_verdict() {
        Some(NoVerdict::TooFewRounds { missing }) => Some(*missing),
        _ => None,
    });
    // A side may have fewer than the other.
    let have = of_rows.max().map_or(set.rounds, |missing| needed.saturating_sub(missing));
    Some(match (set.rules.unfinished, difference) {
        (Some(_), difference) => format!("So far, without a verdict, {}.", difference?),
        (None, Some(difference)) => {
            let them = if have == 1 { "it" } else { "them" };
            format!(
                "No verdict from {} ({needed} are needed): in {them} {difference}.",
                count_noun(have as usize, "round")
            )
        }
        (None, None) if questions.iter().all(is_undecided_so_far) => {
            format!("No verdict from {} ({needed} are needed).", count_noun(have as usize, "round"))
        }
        (None, None) => return None,
    })
}

fn is_undecided_so_far(question: &Question<'_>) -> bool {
    question
        .rows
        .iter()
        .any(|row| matches!(row.why_no_verdict(), Some(NoVerdict::TooFewRounds { .. } | NoVerdict::Unfinished(_))))
}

/// Counts for each pair of sides how the rows came out, a sentence each.
fn verdict_counts_by_pair(questions: &[Question<'_>]) -> Vec<String> {
    let mut pairs: Vec<((&str, &str), Vec<&Question<'_>>)> = Vec::new();
    for question in questions {
        let sides = (question.a.as_str(), question.b.as_str());
        match pairs.iter_mut().find(|(known, _)| *known == sides) {
            Some((_, of)) => of.push(question),
            None => pairs.push((sides, vec![question])),
        }
    }
    pairs
        .into_iter()
        .map(|((a, b), of)| {
            let rows: Vec<&Comparison> = of.iter().flat_map(|question| &question.rows).copied().collect();
            let words = of.first().map_or(["better", "worse"], |first| first.verdict_words());
            let are_alike = of.iter().all(|question| question.verdict_words() == words);
            let tally = VerdictCounts::of_rows(&rows);
            let words = outcomes_in_words(&rows, if are_alike { words } else { ["better", "worse"] });
            match rows.iter().find_map(|row| row.why_no_verdict()).filter(|_| tally.none == rows.len()) {
                Some(reason) => format!("{b} against {a}: {}.", no_verdict_words(reason)),
                None => format!("{b} against {a}, {}: {words}.", count_noun(rows.len(), "case")),
            }
        })
        .collect()
}

//! The report: one self-contained HTML file, opened from disk.
//!
//! Tables and figures are complete without script, which adds values on hover, zoom and sorting. A content security
//! policy forbids every request and every script but ours, by hash, in addition to escaping.

mod backups;
mod bars;
mod capacity;
pub(crate) mod cases;
mod chart;
mod curve;
mod data;
mod facts;
mod figure;
mod forest;
mod head;
mod load;
mod method;
mod plans;
mod remedies;
mod responses;
mod runs;
mod series;
mod single;
mod table;
mod views;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use crate::comparison::{ComparisonSet, Index, KNEE_SHARE, TimeOrder, compare};
use crate::evidence::{Evidence, SeriesSource};
use crate::number::{Script, count_noun, percent_text};
use crate::text::is_unsafe;
use crate::views::{FAMILIES, curves, hosts, overview};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("app.js");

/// Cases with visible charts; the others are folded.
const UNFOLDED: usize = 6;

/// A page has so many charts of runs at most, and those of response times of so many cases: more, and no browser opens it.
const MOST_CHARTS: usize = 2_000;
const MOST_CASES: usize = 1_000;

#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    #[error(transparent)]
    Store(#[from] store::StoreError),
    #[error("read the histograms of run {run}: {detail}")]
    Histogram { run: i64, detail: String },
}

/// Writes an experiment as a page of HTML.
pub fn render_page(evidence: &Evidence, set: &ComparisonSet, source: &dyn SeriesSource) -> Result<String, ReportError> {
    let parts = page_parts(evidence, set, source)?;
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(content_policy());
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content={ "étalon " (evidence.header.etalon_version) };
                title { (evidence.header.plan.name) " · étalon" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#results" { "Skip to the results" }
                main {
                    (head::page_header(evidence, set))
                    (head::navigation_links(parts.iter().map(|part| (part.id, part.short))))
                    @for part in &parts { (part.render_part()) }
                }
                footer { p { "étalon " (evidence.header.etalon_version) " · " (crate::labels::created_text(evidence)) " UTC" } }
                script type="application/json" id="etalon-data" { (PreEscaped(data::embedded_document(evidence, set))) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    Ok(without_commands(page.into_string()))
}

/// Replaces what could command the terminal of one who looks into the file, or reorder the text around it.
fn without_commands(page: String) -> String {
    let is_command = |c: char| is_unsafe(c) && !matches!(c, '\n' | '\t');
    if page.contains(is_command) { page.replace(is_command, "\u{fffd}") } else { page }
}

struct Part {
    id: &'static str,
    /// The name in the navigation.
    short: &'static str,
    title: &'static str,
    lead: String,
    content: Markup,
}

impl Part {
    /// Makes a part of the page: its id, short and full title, a lead, and content.
    fn new(id: &'static str, short: &'static str, title: &'static str, lead: &str, content: Markup) -> Part {
        Part { id, short, title, lead: lead.to_owned(), content }
    }

    /// Makes the part's section with its title, lead and content.
    fn render_part(&self) -> Markup {
        html! {
            section id=(self.id) {
                h2 { (self.title) }
                @if !self.lead.is_empty() { p.lead { (self.lead) } }
                (self.content)
            }
        }
    }
}

/// Makes the parts of the page that apply, in order.
fn page_parts(evidence: &Evidence, set: &ComparisonSet, source: &dyn SeriesSource) -> Result<Vec<Part>, ReportError> {
    let index = Index::new(evidence);
    let charts = draw_charts(&index, source)?;
    let part = Part::new;
    let mut parts = Vec::new();
    parts.extend(
        stands_for_list(evidence).map(|list| part("published", "Published", "What it repeats", STANDS_FOR, list)),
    );
    parts.push(part("results", "Results", "Results", "", results_section(set)));
    let figures = forest::forest_figures(set);
    if !figures.is_empty() {
        parts.push(part("forest", "Changes", "Changes", FOREST, html! { div.grid { @for f in &figures { (f) } } }));
    }
    let capacities = capacity::capacity_figures(&index, set);
    if !capacities.is_empty() {
        let content = html! { div.grid { @for figure in &capacities { (figure) } } };
        parts.push(part("capacity", "Capacity", "The load that the promise allows", CAPACITY, content));
    }
    if !set.disk.is_empty() {
        let title = "Disk: the best of each group, and what it hides";
        parts.push(part("disk", "Disk", title, &disk_lead(set), views::render_views(&curves::disk_views(set))));
    }
    if !set.clients.is_empty() {
        let title = "Throughput by number of clients";
        parts.push(part(
            "clients",
            "Clients",
            title,
            &clients_lead(set),
            views::render_views(&curves::client_views(set)),
        ));
    }
    if !set.hosts.is_empty() {
        parts.push(part("hosts", "Hosts", "Each client host", HOSTS, views::render_views(&hosts::tables(set))));
    }
    let limits = responses::responses_section(&index, source)?;
    parts.extend(limits.map(|limits| part("limits", "Limits", "Response times against limits", LIMITS, limits)));
    for family in FAMILIES {
        let own = (family.views)(evidence, None);
        if !own.is_empty() {
            let [short, title, lead] = family.part;
            let others = (family.compared)(evidence).into_iter().filter_map(|(title, options)| {
                Some((title, compare(evidence, &set.rules.options_with_rules(options)).ok()?))
            });
            let content = html! {
                (views::render_views(&own))
                @for (title, other) in others { h3 { (title) } (table::tables_after(set.tables.len(), &other)) }
                @if family.name == crate::backup::FAMILY.name { (backups::savings_chart(evidence)) }
            };
            parts.push(part(family.name, short, title, lead, content));
        }
    }
    parts.extend(
        plans::plans_section(&index)
            .map(|found| part("plans", "Plans", "The plans of the queries", plans::LEAD, found)),
    );
    let lead = if set.rules.order == TimeOrder::Unknown { RUNS_OF_FILES } else { RUNS };
    parts.push(part("runs", "Runs", "Every run", lead, charts.runs));
    if let Some((latency, seconds)) = charts.responses {
        parts.push(part("latency", "Response times", "Response times", LATENCY, latency));
        parts.push(part("seconds", "Over time", "Over the measured part", SECONDS, seconds));
    }
    let of_facts = if evidence.is_import() { FACTS_OF_FILES } else { FACTS };
    parts.push(part("facts", "Facts", "What was measured", of_facts, facts::facts_section(evidence, set)));
    parts.push(part("warnings", "Warnings", "Warnings and dropped runs", "", facts::warnings_section(set)));
    parts.push(part("method", "Method", "Method", "", method::method_section(evidence, set)));
    parts.push(part("data", "Data", "Data", DATA, data::download_links(evidence, set)));
    Ok(parts)
}

/// Lists what the benchmarks stand for, by the plan; `None` if they stand for nothing.
fn stands_for_list(evidence: &Evidence) -> Option<Markup> {
    let known = || evidence.header.plan.benchmarks.iter().filter_map(|one| Some((&one.name, one.stands_for.as_ref()?)));
    known().next()?;
    Some(html! { dl.stands { @for (name, text) in known() { dt { bdi { (name) } } dd dir="auto" { (text) } } } })
}

/// Writes what stands above the charts of disks.
fn disk_lead(set: &ComparisonSet) -> String {
    format!(
        "Bars are the highest mean of a group over its depths{}. ◇ is what is published of such tests, the highest of all \
         runs of a group, whatever its depth. Under them is what the \
         best hides: the mean at every depth, and the knee, the smallest depth with {} of the curve's highest mean. \
         Beyond it more outstanding I/Os buy waiting, not work.",
        interval_level_clause(set, " with its "),
        percent_text(KNEE_SHARE, Script::Typographic)
    )
}

/// Writes what stands above the curves over clients.
fn clients_lead(set: &ComparisonSet) -> String {
    format!(
        "As such tests are published: a curve for each system from few clients to many, and bars at three numbers of \
         clients. Each point is the mean of its runs{}. A peak is the highest mean; there is none where a number of clients has no figure.",
        interval_level_clause(set, "; the shade and the line on a bar are its ")
    )
}

/// Says of which level the intervals around means are, after `lead`; empty where rows were judged after each round.
fn interval_level_clause(set: &ComparisonSet, lead: &str) -> String {
    match set.rules.sequence {
        Some(_) => String::new(),
        None => {
            let level = percent_text(set.rules.level, Script::Typographic);
            format!("{lead}{level} interval, where there are runs for one")
        }
    }
}

const HOSTS: &str = "What each client host did of a load that several made, as the geometric mean of its runs. The figures above \
                     are of all hosts together, their histograms merged; one slow host would hide in them. \"Of middle\" is a \
                     host's 99th percentile over that of the middle host.";
const STANDS_FOR: &str = "The published figures that the cases of this plan stand for. The same figures of this run are below, \
                          in the published form and as a comparison that says how sure it is.";
const LIMITS: &str = "The published summary of response times: who was within the limits up to which people feel no wait (0.1 s), \
                      keep their thought (1 s) and their attention (10 s).";
const FOREST: &str = "Each mark is the change of B against A with its interval. The grey zone is the margin within which \
                      systems count as equivalent. Scales are logarithmic, so that halving and doubling are equally far.";
const CAPACITY: &str = "Each run sought the highest load at which the promise holds, by short runs, each a pair of marks: the 99th \
                        percentile of the response times, under a rate from the intended start, and below it, smaller, their median, which \
                        stands alone where there were too few responses. A hollow mark did not keep the promise, which is the \
                        horizontal line. Vertical lines are the capacities, the means of the rounds.";
const RUNS: &str = "One mark per run in the order in which they ran; every other round is shaded, the thin line is the \
                      median. Drift, outliers and two modes show here. The vertical axis does not start at zero.";
const RUNS_OF_FILES: &str = "One mark per run, of each system in the order of its files: in which order they ran is not known. The \
                             thin line is the median. The vertical axis does not start at zero.";
const LATENCY: &str = "Response time, from the intended start of an operation to its end, of all runs together: their \
                       histograms are merged, no percentile is averaged. Curves end where fewer than 10 operations are left.";
const SECONDS: &str =
    "What happened within the runs. Seconds of one run are not independent, so no verdict rests on them.";
const FACTS: &str = "Read from the servers and the machine, not typed in. A mark shows where compared systems differ.";
const FACTS_OF_FILES: &str = "Read from the files that were imported. A mark shows where compared systems differ.";
const DATA: &str = "Everything above as files; they are part of this page.";

/// Shows a text in which what is between backticks is code.
fn with_code(text: &str) -> Markup {
    let is_whole = text.matches('`').count().is_multiple_of(2);
    html! {
        @if is_whole {
            @for (at, part) in text.split('`').enumerate() {
                @if at % 2 == 1 { code { (part) } } @else { (part) }
            }
        } @else { (text) }
    }
}

/// Makes the tables of results, and the remedies.
fn results_section(set: &ComparisonSet) -> Markup {
    html! {
        @if single::is_single(set) { (single::figures_table(set)) } @else {
            (views::render_views(&overview::overview_tables(set)))
            (table::comparison_tables(set))
        }
        (remedies::remedies_list(set))
    }
}

/// The charts of all cases.
struct Charts {
    runs: Markup,
    /// `None` for experiments without response times, such as backups alone.
    responses: Option<(Markup, Markup)>,
}

/// Draws the charts of the cases, up to `MOST_CASES` and `MOST_CHARTS`.
fn draw_charts(index: &Index<'_>, source: &dyn SeriesSource) -> Result<Charts, ReportError> {
    let evidence = index.lookup.evidence();
    let (views, common, order) =
        (cases::case_views(evidence), cases::common_units(evidence), runs::run_order(evidence));
    let nothing = cases::Common::default();
    let mut dots = Vec::new();
    let mut curves = Vec::new();
    let mut over_time = Vec::new();
    let mut has_responses = false;
    let (mut drawn, mut left_out) = (0, 0);
    for (number, view) in views.iter().enumerate() {
        let common = common.get(view.benchmark).unwrap_or(&nothing);
        let room = MOST_CHARTS.saturating_sub(drawn);
        let figures: Vec<Markup> = common
            .metrics
            .iter()
            .take(room)
            .enumerate()
            .map(|(place, (metric, unit))| {
                runs::runs_figure((index, &order), view, (metric, unit), &format!("dots-{number}-{place}"))
            })
            .collect();
        drawn += figures.len();
        left_out += common.metrics.len() - figures.len();
        if !figures.is_empty() || common.metrics.is_empty() {
            dots.push((view.title.clone(), figures));
        }
        if number >= MOST_CASES {
            continue;
        }
        // One case at a time to save memory.
        let loaded = view
            .systems
            .iter()
            .map(|system| Ok((system, load::case_latency(&index.lookup, source, system.case)?)))
            .collect::<Result<series::Loaded<'_>, ReportError>>()?;
        has_responses |= loaded.iter().any(|(_, latency)| latency.whole.is_some());
        let unit = common.responses;
        curves
            .push((view.title.clone(), vec![series::latency_chart(view, &loaded, unit, &format!("latency-{number}"))]));
        over_time
            .push((view.title.clone(), series::over_time_charts(view, &loaded, unit, &format!("seconds-{number}"))));
    }
    let responses = has_responses.then(|| {
        let more = views.len().saturating_sub(MOST_CASES);
        (with_left_out(fold_all_but_first(curves), more), with_left_out(fold_all_but_first(over_time), more))
    });
    Ok(Charts { runs: with_left_out(fold_all_but_first(dots), left_out), responses })
}

/// Adds to charts how many more have no room.
fn with_left_out(charts: Markup, more: usize) -> Markup {
    html! {
        (charts)
        @if more > 0 {
            p.notice {
                (count_noun(more, "more chart")) " left out, since no browser would open a page of so many; "
                "the values of every run are in " code { "runs.csv" } " below."
            }
        }
    }
}

/// Shows the figures of the first cases, and folds those of the others.
fn fold_all_but_first(mut cases: Vec<(String, Vec<Markup>)>) -> Markup {
    let rest = cases.split_off(cases.len().min(UNFOLDED));
    html! {
        div.grid { @for (_, figures) in &cases { @for figure in figures { (figure) } } }
        @for (title, figures) in &rest {
            details.case { summary { bdi { (title) } } div.grid { @for figure in figures { (figure) } } }
        }
    }
}

/// Makes the page's security policy: it loads nothing, and only its own scripts and styles run.
fn content_policy() -> String {
    format!(
        "default-src 'none'; script-src {}; style-src {}; base-uri 'none'; form-action 'none'",
        script_hash(SCRIPT),
        script_hash(STYLE)
    )
}

/// The hash by which a security policy allows a script or a style.
fn script_hash(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text.as_bytes())))
}

/// Reads the response times of a run in nanoseconds, with their counts, merged over seconds and hosts.
pub fn response_times_ns(source: &dyn SeriesSource, run: i64) -> Result<Vec<(u64, u64)>, ReportError> {
    load::response_counts(source, run)
}

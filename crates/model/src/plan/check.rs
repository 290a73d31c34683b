use std::time::Duration;

use super::changes::{self, Changes};
use super::error::{PlanErrors, Problems, quote};
use super::file::{BenchmarkFile, PlanFile, ScheduleFile, ServerFile, SystemFile, file_stem, list_choices, list_names};
use super::redact::redact_url;
use super::section::name_is_fit;
use super::tree::{Located, Origin};
use super::volume::VOLUME_URL;
use super::{
    Benchmark, FEWEST_TO_JUDGE, MAX_CASES, MAX_RUNS, Plan, PrivatePooler, PrivateServer, SystemPlan, altered, fleet,
    renamed, sweep, tree,
};
use super::{ComparisonRules, DEFAULT_DURATION, DEFAULT_LEVEL, DEFAULT_MARGIN, DEFAULT_ROUNDS, DEFAULT_WARMUP};
use crate::catalog::{Catalog, EngineSpec, Visibility};
use crate::near::nearest;
use crate::price::Price;
use crate::promise::Promise;
use crate::reset::Reset;
use crate::schedule::{Caches, Length, OnError, Order, Schedule, Stop, UntilSure};

impl Plan {
    /// Parses and validates a plan's TOML, with the command line's changes; fails with all problems.
    /// `source` is the file's name for messages and the default of `name`, `default_seed` the seed if `schedule` has
    /// none. A `url` of the form `env:NAME` is kept as it is. With the plan comes what to report to its author: a
    /// sentence for each key that has another name now.
    pub fn parse(
        text: &str,
        source: &str,
        changes: &Changes,
        catalog: &Catalog,
        default_seed: u64,
    ) -> Result<(Plan, Vec<String>), PlanErrors> {
        let mut problems = Problems::new(source, text, changes);
        let plan = tree::parse(text, &mut problems).map(|mut root| {
            renamed::rename_keys(&mut root, &mut problems);
            changes::apply_changes(&mut root, changes, catalog, &mut problems);
            let file = PlanFile::read(&root, &mut problems);
            make_valid_plan(file, source, catalog, default_seed, &mut problems)
        });
        match plan {
            Some(plan) if problems.is_empty() => Ok((plan, problems.notes)),
            _ => Err(problems.into_errors()),
        }
    }
}

/// Makes a plan of what was read, and reports what is wrong.
fn make_valid_plan(
    file: PlanFile,
    source: &str,
    catalog: &Catalog,
    default_seed: u64,
    problems: &mut Problems<'_>,
) -> Plan {
    let name = match file.name {
        Some(name) => {
            name_is_fit(&name.value, "the plan", &name.at, problems);
            name.value
        }
        None => Some(file_stem(source)).filter(|stem| !stem.is_empty()).unwrap_or("plan").to_owned(),
    };
    let comparison = ComparisonRules {
        baseline: baseline_name(file.baseline, &file.systems, problems),
        margin: file.margin.unwrap_or(DEFAULT_MARGIN),
        level: file.level.unwrap_or(DEFAULT_LEVEL),
        allow_unequal_durability: file.allow_unequal_durability.unwrap_or(false),
        allow_sequential_order: file.allow_sequential_order.unwrap_or(false),
        allow_different_rows: file.allow_different_rows.unwrap_or(false),
    };
    let fleet = fleet::make_fleet(file.fleet, &file.systems, &file.benchmarks, problems);
    let changes_at = file.systems.iter().filter_map(|s| Some(s.change.as_ref()?.at.clone())).collect();
    let mut systems: Vec<SystemPlan> = file.systems.into_iter().map(|s| make_system(s, catalog, problems)).collect();
    altered::link_changed_systems(&mut systems, changes_at, fleet.as_ref(), problems);
    let schedule = make_schedule(&file.schedule, default_seed, problems);
    refuse_repeated_names(&file.benchmarks, problems);
    let sweeps: Vec<sweep::Sweep> =
        file.benchmarks.into_iter().filter_map(|b| sweep::read_sweep(b, catalog, fleet.as_ref(), problems)).collect();
    let cases = sweeps.iter().map(sweep::Sweep::size).fold(0, u64::saturating_add);
    let cases = cases.saturating_mul(systems.len() as u64);
    let benchmarks = if size_is_fit(cases, schedule.rounds, problems) {
        sweeps.into_iter().map(sweep::Sweep::into_benchmark).collect()
    } else {
        Vec::new()
    };
    let plan = Plan { name, systems, benchmarks, schedule, comparison, fleet };
    refuse_prices(&plan, problems);
    refuse_resets(&plan, problems);
    plan
}

/// Reports ways to begin a run (`reset`, `caches`) that cannot hold in this plan.
fn refuse_resets(plan: &Plan, problems: &mut Problems<'_>) {
    if let Some(system) = plan.systems.iter().filter(keeps_data).find(|system| {
        let same =
            |other: &&SystemPlan| other.name != system.name && other.alias_of.is_none() && other.url == system.url;
        !system.url.is_empty() && plan.systems.iter().find(same).is_some()
    }) {
        let message =
            format!("`reset = \"none\"` of system `{}`, whose database another system has, too", quote(&system.name));
        let hint = "each would work on what the other left; write `reset = \"rebuild\"`".to_owned();
        problems.add(&Origin::Whole, message, Some(hint));
    }
    let hosts = plan.fleet.iter().flat_map(|fleet| fleet.hosts.keys());
    for name in hosts {
        let is_cold = plan.schedule.caches == Caches::Cold;
        let key = match plan.system(name) {
            Some(system) if keeps_data(&system) => "reset = \"none\"",
            _ if is_cold => "caches = \"cold\"",
            _ => continue,
        };
        let message = format!("`{key}` with system `{}`, which an agent has", quote(name));
        problems.add(&Origin::Whole, message, Some("that can be had on the conductor's host only".to_owned()));
    }
}

/// Whether a system's tables stay as runs leave them.
fn keeps_data(system: &&SystemPlan) -> bool {
    system.reset == Some(Reset::None)
}

/// Whether a plan's cases and runs are within the limits; more are reported.
fn size_is_fit(cases: u64, rounds: u32, problems: &mut Problems<'_>) -> bool {
    let runs = cases.saturating_mul(u64::from(rounds));
    if cases > MAX_CASES {
        let message = format!("the plan makes {cases} cases (benchmark × point × system), more than {MAX_CASES}");
        problems.add(&Origin::Whole, message, hint_to_split());
    } else if runs > MAX_RUNS {
        let message = format!("the plan makes {runs} runs ({cases} cases × {rounds} rounds), more than {MAX_RUNS}");
        problems.add(&Origin::Whole, message, hint_to_split());
    } else {
        return true;
    }
    false
}

/// Makes the hint for a plan that is too large.
fn hint_to_split() -> Option<String> {
    Some("write fewer values, or several plans".to_owned())
}

/// Gives the name of the baseline, as written or else the first system; one that is no system is reported.
fn baseline_name(written: Option<Located<String>>, systems: &[SystemFile], problems: &mut Problems<'_>) -> String {
    let Some(Located { value, at }) = written else {
        return systems.first().map(|system| system.name.clone()).unwrap_or_default();
    };
    let names: Vec<&str> = systems.iter().map(|system| system.name.as_str()).collect();
    // A plan without systems has had its error.
    if !names.is_empty() && !names.contains(&value.as_str()) {
        let hint = match nearest(&value, names.iter().copied()) {
            Some(name) => format!("did you mean `{}`?", quote(name)),
            None => format!("the systems are {}", list_names(&names)),
        };
        problems.add(&at, format!("the baseline `{}` is no system of the plan", quote(&value)), Some(hint));
    }
    value
}

/// Makes the schedule with its defaults, and reports lengths that are 0 or too long.
fn make_schedule(file: &ScheduleFile, default_seed: u64, problems: &mut Problems<'_>) -> Schedule {
    let length = match (&file.duration, file.transactions) {
        (_, Some(transactions)) => Length::Transactions(transactions),
        (Some(duration), None) => {
            if duration.value.is_zero() {
                problems.add(&duration.at, "`duration` in `[schedule]` must be longer than 0", None);
            }
            Length::Duration(duration.value)
        }
        (None, None) => Length::Duration(DEFAULT_DURATION),
    };
    report_long_time("warmup", file.warmup.as_ref(), problems);
    report_long_time("duration", file.duration.as_ref(), problems);
    report_long_time("max_time", file.max_time.as_ref(), problems);
    let order = file.order.unwrap_or(Order::Interleaved);
    Schedule {
        rounds: file.rounds.map_or(DEFAULT_ROUNDS, |rounds| rounds.most),
        until_sure: make_until_sure(file, order, problems),
        warmup: file.warmup.as_ref().map_or(DEFAULT_WARMUP, |warmup| warmup.value),
        length,
        order,
        seed: file.seed.unwrap_or(default_seed),
        on_error: file.on_error.unwrap_or(OnError::Stop),
        caches: file.caches.unwrap_or_default(),
    }
}

/// Makes the rules of a range of rounds; `None` for a fixed number, whose keys of a range are reported.
fn make_until_sure(file: &ScheduleFile, order: Order, problems: &mut Problems<'_>) -> Option<UntilSure> {
    let first = file.rounds.and_then(|rounds| rounds.first);
    let of_range =
        [("stop", file.stop.as_ref().map(|stop| &stop.at)), ("max_time", file.max_time.as_ref().map(|t| &t.at))];
    for (key, at) in of_range {
        if let (None, Some(at)) = (first, at) {
            let message = format!("`{key}` in `[schedule]` is for an experiment that ends when it is sure");
            problems.add(at, message, Some(format!("give it a range of rounds, such as `--rounds {FEWEST_TO_JUDGE}..60`, or `rounds = \"{FEWEST_TO_JUDGE}..60\"` in the plan")));
        }
    }
    let first = first?;
    if order == Order::Sequential {
        let message = "`[schedule]` has a range of rounds and `order = \"sequential\"`, which has no round to judge";
        problems.add(&Origin::Whole, message, Some("leave `order` out".to_owned()));
    }
    Some(UntilSure {
        first,
        stop: file.stop.as_ref().map_or(Stop::Rows, |stop| stop.value),
        max_time: file.max_time.as_ref().map(|time| time.value),
        begun: None,
    })
}

/// No run takes longer; sums of times stay far from overflow.
const LONGEST: Duration = Duration::from_secs(30 * 86_400);

/// Reports a length of time above 30 days.
fn report_long_time(key: &str, written: Option<&Located<Duration>>, problems: &mut Problems<'_>) {
    if let Some(Located { value, at }) = written
        && *value > LONGEST
    {
        problems.add(at, format!("`{key}` in `[schedule]` must be at most 30d"), None);
    }
}

/// Reports benchmarks that have the same name.
fn refuse_repeated_names(benchmarks: &[BenchmarkFile], problems: &mut Problems<'_>) {
    let mut seen = std::collections::BTreeSet::new();
    for benchmark in benchmarks {
        if !seen.insert(&benchmark.name) {
            let hint = "give one of them another `name`".to_owned();
            let message = format!("two benchmarks are named `{}`", quote(&benchmark.name));
            problems.add(&benchmark.at, message, Some(hint));
        }
    }
}

/// Makes the plan of one system, and reports what is wrong.
fn make_system(file: SystemFile, catalog: &Catalog, problems: &mut Problems<'_>) -> SystemPlan {
    let mut plan = SystemPlan {
        name: file.name,
        engine: String::new(),
        url: String::new(),
        settings: file.settings.into_iter().collect(),
        server: None,
        volume: None,
        alias_of: None,
        price: file.price.and_then(|price| parse_price(&price, problems)),
        reset: file.reset,
        change: file.change.map(|change| change.value),
    };
    if let Some(url) = file.url {
        plan.engine = engine_of_url(&url, &plan.name, catalog, problems).unwrap_or_default();
        plan.url = url.value;
    } else if let Some(server) = file.server {
        plan.server = make_private_server(server, &plan.name, catalog, problems);
        let engine = plan.server.as_ref().and_then(|server| catalog.engine_of_server(&server.engine));
        plan.engine = engine.map(|engine| engine.name.to_owned()).unwrap_or_default();
    } else if let Some(volume) = file.volume {
        plan.engine = catalog.engine_of_url(VOLUME_URL).map(|engine| engine.name.to_owned()).unwrap_or_default();
        plan.volume = Some(volume);
    }
    plan
}

/// Parses the price of a system; an unreadable one is reported.
fn parse_price(price: &Located<String>, problems: &mut Problems<'_>) -> Option<Price> {
    let parsed = price.value.parse();
    parsed
        .map_err(|error| problems.add(&price.at, format!("`price = \"{}\"` is {error}", quote(&price.value)), None))
        .ok()
}

/// Whether a benchmark has a key of a promise; one that is not whole is reported elsewhere.
fn has_promise_key(benchmark: &Benchmark) -> bool {
    let keys = [Promise::RESPONSE_P99, Promise::ERRORS];
    benchmark.points.iter().any(|point| keys.iter().any(|key| point.contains_key(*key)))
}

/// Reports prices that say nothing: without a promise, not of each system, or in several currencies.
fn refuse_prices(plan: &Plan, problems: &mut Problems<'_>) {
    let mut prices = plan.systems.iter().filter_map(|system| Some((&system.name, system.price.as_ref()?)));
    // A price that cannot be read is reported already.
    if !problems.is_empty() {
        return;
    }
    let Some((name, first)) = prices.next() else { return };
    let (message, hint) = if let Some((other, price)) = prices.find(|(_, price)| price.currency != first.currency) {
        let (own, theirs) = (quote(&first.currency), quote(&price.currency));
        let what = format!("the `price` of `{}` is in {own}, that of `{}` in {theirs}", quote(name), quote(other));
        (what, "give all prices in one currency: étalon converts none")
    } else if let Some(without) = plan.systems.iter().find(|system| system.price.is_none()) {
        let what = format!("`{}` has a `price`, and `{}` has none", quote(name), quote(&without.name));
        (what, "give each system a `price`, or none of them")
    } else if !plan.benchmarks.iter().any(has_promise_key) {
        let what = format!("`{}` has a `price`, and no benchmark has a `promise`", quote(name));
        (what, "a `price` is of the load that a promise allows: `promise = { response_p99 = \"20ms\" }`")
    } else {
        return;
    };
    problems.add(&Origin::Whole, message, Some(hint.to_owned()));
}

/// Finds the engine of a URL by its scheme; an unfit URL is reported.
/// Empty for a URL from the environment, which the catalog is asked about later.
fn engine_of_url(
    url: &Located<String>,
    system: &str,
    catalog: &Catalog,
    problems: &mut Problems<'_>,
) -> Option<String> {
    let place = format!("system `{}`", quote(system));
    if url.value.chars().any(char::is_control) {
        problems.add(&url.at, format!("`url` of {place} has control characters in it"), None);
        return None;
    }
    if let Some(name) = url.value.strip_prefix(super::ENV_PREFIX) {
        if name.is_empty() || name.contains(['=', ' ']) {
            let hint = "write the name of a variable of the environment: `env:DATABASE_URL`".to_owned();
            problems.add(&url.at, format!("`url` of {place} names no variable"), Some(hint));
        }
        return Some(String::new());
    }
    if let Some(engine) = catalog.engine_of_url(&url.value) {
        return Some(engine.name.to_owned());
    }
    let known: Vec<&str> = public_engines(catalog).flat_map(|engine| engine.schemes.iter().copied()).collect();
    let Some((scheme, _)) = url.value.split_once(':') else {
        let message = format!("`url` of {place} is no URL: \"{}\"", quote(&redact_url(&url.value)));
        problems.add(&url.at, message, Some(format!("a URL starts with one of {}", list_choices(&known))));
        return None;
    };
    let hint = match nearest(scheme, known.iter().copied()) {
        Some(scheme) => format!("did you mean `{scheme}:`?"),
        None => format!("the schemes are {}", list_names(&known)),
    };
    let message = format!("`url` of {place} has the scheme `{}`, which no engine has", quote(scheme));
    problems.add(&url.at, message, Some(hint));
    None
}

/// Makes the plan of a private server, and reports what is wrong.
fn make_private_server(
    file: ServerFile,
    system: &str,
    catalog: &Catalog,
    problems: &mut Problems<'_>,
) -> Option<PrivateServer> {
    let Located { value: name, at } = file.engine.clone()?;
    let place = format!("`server` of system `{}`", quote(system));
    let names: Vec<&str> = public_engines(catalog).flat_map(|engine| engine.private_servers.iter().copied()).collect();
    if let Some(engine) = catalog.engine_of_server(&name) {
        let pooler = make_pooler(&file, &place, engine, &at, problems);
        let connect = file.connect.unwrap_or_default();
        let ServerFile { version, bin_dir, folder, optional, .. } = file;
        let optional = optional.unwrap_or_default();
        return Some(PrivateServer { engine: name, version, bin_dir, folder, connect, pooler, optional });
    }
    match catalog.engine(&name) {
        Some(_) => {
            let message = format!("{place} asks for `{}`, of which étalon cannot start a server", quote(&name));
            let hint = format!("give the system a `url` instead; it can start {}", list_names(&names));
            problems.add(&at, message, Some(hint));
            None
        }
        None => {
            let hint = match nearest(&name, names.iter().copied()) {
                Some(name) => format!("did you mean `{name}`?"),
                None => format!("étalon can start {}", list_names(&names)),
            };
            problems.add(&at, format!("{place} names an unknown engine, `{}`", quote(&name)), Some(hint));
            None
        }
    }
}

/// Makes the plan of a private server's pooler, and reports what is wrong.
fn make_pooler(
    file: &ServerFile,
    place: &str,
    engine: &EngineSpec,
    at: &Origin,
    problems: &mut Problems<'_>,
) -> Option<PrivatePooler> {
    let names: Vec<&str> = engine.poolers.iter().map(|pooler| pooler.name).collect();
    let Some(name) = &file.pooler else {
        if file.pool_mode.is_some() || file.pool_size.is_some() {
            let hint = (!names.is_empty())
                .then(|| format!("write `pooler = \"…\"`, too: étalon can start {}", list_names(&names)));
            problems.add(at, format!("{place} has the keys of a pooler, and no `pooler`"), hint);
        }
        return None;
    };
    let Some(pooler) = engine.poolers.iter().find(|pooler| pooler.name == name.value) else {
        let hint = if names.is_empty() {
            format!("étalon starts none in front of a server of `{}`", engine.name)
        } else {
            format!("étalon can start {}", list_names(&names))
        };
        problems.add(&name.at, format!("{place} names an unknown pooler, `{}`", quote(&name.value)), Some(hint));
        return None;
    };
    let mode = match &file.pool_mode {
        None => pooler.modes.first().copied().unwrap_or_default(),
        Some(Located { value, .. }) if pooler.modes.contains(&value.as_str()) => value,
        Some(Located { value, at }) => {
            let message =
                format!("`pool_mode` of {place} is \"{}\", which étalon cannot measure through", quote(value));
            problems.add(at, message, Some(format!("it is {}", list_choices(pooler.modes))));
            return None;
        }
    };
    Some(PrivatePooler { name: name.value.clone(), mode: mode.to_owned(), size: file.pool_size })
}

/// Lists the engines that are shown to users.
fn public_engines(catalog: &Catalog) -> impl Iterator<Item = &EngineSpec> {
    catalog.engines.iter().filter(|engine| engine.visibility == Visibility::Public)
}

//! Order entry: nine tables and five transactions, written from the TPC-C specification, revision 5.11. What it measures is
//! derived from that specification, and cannot be compared with published TPC results.
//!
//! A terminal (`terminal`) draws cards (`deck`) and input (`draw`), and runs one of five transactions by statements
//! (`statements`) on the tables (`tables`). Afterwards what was entered (`audit`), what of it committed (`committed`) and what
//! is in the tables (`conditions`) are checked against the specification.

mod audit;
mod calls;
mod changed;
mod claims;
mod committed;
mod conditions;
mod deck;
mod delivery;
mod dialect;
mod draw;
mod loaded;
mod new_order;
mod order_status;
mod payment;
mod rules;
mod sent;
mod statements;
mod stock_level;
mod tables;
mod terminal;

use std::sync::Arc;

use model::{Direction, FromKey, Mark, MarkKind, Measurement, Point, Reading, Role, Value, WorkloadSpec};

use crate::dataset::Dataset;
use crate::transactions::{Checking, Moment, Native, NativeClient, Program, ScriptOptions};
use crate::work::StreamTask;
use crate::workload::{Action, Grants, Task, Workload};
use audit::{Audit, Count};
use calls::Calls;
use conditions::Extent;
use deck::{Cards, Kind, Pace, most_new_orders_a_minute};
pub use dialect::{OrderEntryDialect, PROCEDURES};
use load::error::{Failure, FailureKind};
use load::generator::{LoadShape, ThreadLimit};
use load::run::ServerCounters;
use load::stream::Retry;
use load::traffic::{NetworkTraffic, PoolSize};
use load::worker::{self, LoadCounts};
pub use rules::Rules;
pub use statements::Ask;
use tables::{DISTRICTS, Size};
use terminal::Terminal;

const MOST_CLIENTS: i64 = 100_000;
const MOST_CARDS: i64 = 1_000;
/// Rough seconds for each warehouse that the claims and quick conditions take, and the other conditions of a run: those of 100
/// warehouses on PostgreSQL 15.
const QUICK_CHECK_S: f64 = 0.2;
const OTHER_CHECK_S: f64 = 0.3;
/// The same of all conditions once the tables are loaded, which read every order.
const LOADED_CHECK_S: f64 = 0.7;

model::keys! {
    struct Keys {
        /// Warehouses: about 100 MB each, with 100,000 items on stock, 30,000 customers and as many orders
        warehouses: u64 = int(1..=10_000).or(1),
        /// Terminals at the same time; ten for each warehouse without it
        clients: Option<u32> = int(1..=MOST_CLIENTS),
        /// `none`: a terminal enters its next transaction at once; `spec`: after the specification's keying and thinking, so
        /// that a warehouse enters at most 12.6 new orders a minute
        pace: Pace = choice(&["none", "spec"]).or("none"),
        /// Where a terminal enters: `any`, at a warehouse that is drawn for each transaction, so that all warehouses are used;
        /// `fixed`, at one of its own, as specified. Without it `any`, and `fixed` where `pace` is `spec`
        home: Option<Home> = choice(&["any", "fixed"]),
        /// Weight of New-Order in a mix of one's own, in the place of the specification's 10 : 10 : 1 : 1 : 1
        mix_new_order as "mix.new_order": Option<u32> = int(0..=MOST_CARDS),
        /// Weight of Payment
        mix_payment as "mix.payment": Option<u32> = int(0..=MOST_CARDS),
        /// Weight of Order-Status
        mix_order_status as "mix.order_status": Option<u32> = int(0..=MOST_CARDS),
        /// Weight of Delivery
        mix_delivery as "mix.delivery": Option<u32> = int(0..=MOST_CARDS),
        /// Weight of Stock-Level
        mix_stock_level as "mix.stock_level": Option<u32> = int(0..=MOST_CARDS),
        /// Transactions a second of all terminals together; 0: as many as they can
        rate: f64 = float(0.0..=1e9).or(0.0),
        /// `statements`: a transaction is its statements; `procedure`: one call of a stored procedure, which étalon makes with
        /// the tables, where the engine has them
        calls: Calls = choice(&["statements", "procedure"]).or("statements"),
        /// Connections that the terminals of a process share; without it each has its own
        pool_size as "pool.size": Option<u32> = int(1..=MOST_CLIENTS),
        /// Whether what an order or a delivery does one after the other is sent together, where the engine can (PostgreSQL);
        /// others wait for each statement
        pipeline: bool = FLAG.or(true),
        /// How often a transaction is tried that fails by a serialization failure or a deadlock, the first time included; 0
        /// means until it succeeds
        max_tries: u32 = int(0..=1_000_000).or(10),
        /// What the tables are held against after each run: `quick` conditions (1 to 4, 8 and 9 of the specification's),
        /// or `all`, which read every order and are held before and after a case's first run, and after its last, in any case
        conditions: Extent = choice(&["quick", "all"]).or("quick"),
    }
}

impl FromKey for Pace {
    /// Reads the key `pace`; `None` for another word.
    fn from_key(value: Option<&Value>) -> Option<Pace> {
        match value?.as_text()? {
            "none" => Some(Pace::None),
            "spec" => Some(Pace::Spec),
            _ => None,
        }
    }
}

impl FromKey for Calls {
    /// Reads the key `calls`; `None` for another word.
    fn from_key(value: Option<&Value>) -> Option<Calls> {
        match value?.as_text()? {
            "statements" => Some(Calls::Statements),
            "procedure" => Some(Calls::Procedure),
            _ => None,
        }
    }
}

impl FromKey for Extent {
    /// Reads the key `conditions`; `None` for another word.
    fn from_key(value: Option<&Value>) -> Option<Extent> {
        match value?.as_text()? {
            "quick" => Some(Extent::Quick),
            "all" => Some(Extent::All),
            _ => None,
        }
    }
}

impl FromKey for Home {
    /// Reads the key `home`; `None` for another word.
    fn from_key(value: Option<&Value>) -> Option<Home> {
        match value?.as_text()? {
            "any" => Some(Home::Any),
            "fixed" => Some(Home::Fixed),
            _ => None,
        }
    }
}

/// Where a terminal enters its transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Home {
    /// At a warehouse that is drawn for each transaction.
    Any,
    /// At one warehouse.
    Fixed,
}

/// The mix that a run must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mix {
    /// The specification's, with its least shares.
    Specification,
    /// The plan's own cards.
    Own(Cards),
}

impl Keys {
    /// Reads the mix of transactions from the weights: the specification's without any.
    ///
    /// # Errors
    /// A mix in which nothing has a weight.
    fn mix_of_weights(&self) -> Result<Mix, Failure> {
        let weights =
            [self.mix_new_order, self.mix_payment, self.mix_order_status, self.mix_delivery, self.mix_stock_level];
        if weights.iter().all(Option::is_none) {
            return Ok(Mix::Specification);
        }
        let cards = weights.map(|weight| weight.unwrap_or_default() as usize);
        if cards.iter().all(|count| *count == 0) {
            let cause = "no transaction has a weight in it";
            let hint =
                "for example `mix = { new_order = 45, payment = 43, order_status = 4, delivery = 4, stock_level = 4 }`";
            return Err(Failure::new(FailureKind::Plan, "use the `mix`", cause).with_hint(hint));
        }
        Ok(Mix::Own(cards))
    }

    /// Reads from `rate` when transactions arrive: at a rate, or one after the other's answer.
    ///
    /// # Errors
    /// A `rate` and keying times at once.
    fn arrival_pace(&self) -> Result<worker::Pace, Failure> {
        if self.rate > 0.0 && self.pace == Pace::Spec {
            let cause = "with `pace = \"spec\"` keying and thinking say when a transaction begins";
            return Err(Failure::new(FailureKind::Plan, "use the `rate`", cause).with_hint("leave one of the two out"));
        }
        Ok(if self.rate > 0.0 { worker::Pace::Rate(self.rate) } else { worker::Pace::Closed })
    }
}

/// What the terminals have in common.
#[derive(Clone, Copy, Debug)]
struct OrderEntry {
    size: Size,
    pace: Pace,
    extent: Extent,
    calls: Calls,
    terminals: u32,
    pipelines: Pipelines,
    home: Home,
    mix: Mix,
    rules: Rules,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pipelines {
    WhereTheyAre,
    Never,
}

impl OrderEntry {
    /// Compiles the load to a program of these statements; fails if one cannot be prepared.
    fn compile(self, texts: &[String], options: &ScriptOptions) -> Result<Program, Failure> {
        let compiled = Program::from_native(Arc::new(self), texts, &statements::field_names(), options);
        compiled.map_err(|cause| Failure::new(FailureKind::Plan, "prepare the statements of order entry", cause))
    }

    /// Makes a note if terminals key and think, and their number for each warehouse is not the specification's.
    fn terminal_count_mark(&self) -> Option<Mark> {
        let of_each = f64::from(self.terminals) / self.size.warehouses as f64;
        let is_other = self.pace == Pace::Spec && u64::from(self.terminals) != self.size.district_count();
        let detail = format!("a warehouse has {of_each:.1} terminals, where the specification has {DISTRICTS}");
        is_other.then_some(Mark::new(MarkKind::Note, detail))
    }

    /// Makes a note if the mix is the plan's own.
    fn own_mix_mark(&self) -> Option<Mark> {
        let Mix::Own(cards) = self.mix else { return None };
        let all = cards.iter().sum::<usize>() as f64;
        let shares = Kind::ALL.iter().zip(cards);
        let shares: Vec<String> =
            shares.map(|(kind, count)| format!("{:.1} % {}", 100.0 * count as f64 / all, kind.name())).collect();
        let detail = format!("the mix is the plan's own, and not the specification's: {}", shares.join(", "));
        Some(Mark::new(MarkKind::Note, detail))
    }

    /// Makes the audit of a run's counts.
    fn audit_of<'a>(&self, counts: &'a LoadCounts) -> Audit<'a> {
        Audit { sums: &counts.tallies, size: self.size }
    }

    /// Fails unless each transaction ended once in the database, and each delivery visited every district.
    fn check_work(&self, counts: &LoadCounts) -> Result<(), Failure> {
        let audit = self.audit_of(counts);
        let (asked, rolled_back) = (counts.asked, audit.succeeded_count(Count::RolledBack));
        if (asked.commits, asked.rollbacks) != (counts.succeeded.saturating_sub(rolled_back), rolled_back) {
            let (entered, commits, rollbacks) = (counts.succeeded, asked.commits, asked.rollbacks);
            return Err(untrusted(format!(
                "of {entered} transactions, {rolled_back} of them to be rolled back, each ends once, and there were {commits} \
                 commits and {rollbacks} rollbacks"
            )));
        }
        let visited = audit.succeeded_count(Count::DeliveredOrders) + audit.succeeded_count(Count::SkippedDistricts);
        let deliveries = audit.succeeded_count(Count::Deliveries);
        if visited != deliveries * DISTRICTS {
            return Err(untrusted(format!(
                "{deliveries} deliveries visited {visited} districts, and not {DISTRICTS} each"
            )));
        }
        Ok(())
    }
}

/// Makes the failure of a run whose counts cannot be trusted.
fn untrusted(cause: String) -> Failure {
    Failure::new(FailureKind::Verification, "trust the run's counts", cause)
}

impl Native for OrderEntry {
    /// Names of the five kinds of transactions.
    fn kind_names(&self) -> Vec<String> {
        Kind::ALL.iter().map(|kind| kind.name().to_owned()).collect()
    }

    /// Whether terminals call procedures, which say what they did in the server.
    fn reports_server_work(&self) -> bool {
        self.calls == Calls::Procedure
    }

    /// Makes a terminal that enters transactions.
    fn new_client(&self, seed: u64, client: u32) -> Box<dyn NativeClient> {
        Box::new(Terminal::new(Arc::new(*self), seed, client))
    }

    /// Checks a run: commits, statements, tables, input and mix; returns a note if too many deliveries were skipped.
    fn check_run(&self, server: &dyn ServerCounters, counts: &LoadCounts) -> Result<Vec<Mark>, Failure> {
        self.check_work(counts)?;
        let audit = self.audit_of(counts);
        if let Some(cause) = sent::find_fault(&audit, self.calls) {
            return Err(untrusted(cause));
        }
        claims::check_claims(server, &audit, counts)?;
        conditions::check_conditions(server, self.size, self.extent)?;
        if let Some(cause) = audit.find_fault() {
            return Err(Failure::new(FailureKind::Verification, "trust what the terminals entered", cause));
        }
        committed::check_mix(&audit, counts, self.mix)?;
        let window_min = counts.window_ns as f64 / 60e9;
        if let Some(cause) = (self.pace == Pace::Spec)
            .then(|| committed::find_haste(&counts.kinds, window_min, self.rules.cards, self.terminals))
            .flatten()
        {
            return Err(untrusted(cause));
        }
        // A call says nothing of the rows that its procedure changes.
        if let (Calls::Statements, Some(cause)) =
            (self.calls, changed::find_fault(&audit, &counts.kinds, self.terminals))
        {
            return Err(untrusted(cause));
        }
        Ok(audit.skipped_mark().into_iter().collect())
    }

    /// The fact of where terminals enter: at any warehouse, or at their own.
    fn facts(&self) -> Vec<(&'static str, String)> {
        let home = match self.home {
            Home::Any => "any warehouse",
            Home::Fixed => "their own warehouse",
        };
        vec![("order_entry.home", home.to_owned())]
    }

    /// Estimates the seconds that checks take after each run and for a whole case.
    fn check_cost(&self) -> Checking {
        let warehouses = self.size.warehouses as f64;
        let (each_run_s, others_s) = match self.extent {
            Extent::All => (QUICK_CHECK_S + OTHER_CHECK_S, 0.0),
            _ => (QUICK_CHECK_S, 2.0 * OTHER_CHECK_S),
        };
        Checking { each_run_s: warehouses * each_run_s, case_s: warehouses * (LOADED_CHECK_S + others_s) }
    }

    /// Lists every query that checks a run.
    fn check_queries(&self) -> Vec<String> {
        self.growing_queries().into_iter().chain(conditions::all_questions(self.size, self.extent)).collect()
    }

    /// Lists the checks' queries whose answers grow as transactions run.
    fn growing_queries(&self) -> Vec<String> {
        claims::growing_questions(self.size)
    }

    /// Checks the tables' conditions when they are loaded, and those not yet checked at the end.
    fn inspect_tables(&self, server: &dyn ServerCounters, moment: Moment) -> Result<(), Failure> {
        match moment {
            Moment::Loaded => conditions::check_conditions(server, self.size, Extent::Loaded),
            // All of them have been checked already.
            Moment::Ended if self.extent == Extent::All => Ok(()),
            // The quick ones have been checked after the run.
            Moment::Ended => conditions::check_conditions(server, self.size, Extent::Rest),
        }
    }

    /// Makes order entry's own measurements, such as new orders a minute and response times, and notes.
    fn extra_measurements(&self, counts: &LoadCounts) -> (Vec<Measurement>, Vec<Mark>) {
        let window_min = counts.window_ns as f64 / 60e9;
        let entered = counts.kinds.get(Kind::NewOrder as usize).map_or(0.0, |kind| kind.completed.total());
        let rate = entered / window_min;
        let mut all = vec![Measurement::value("nopm", "orders/min", Direction::Higher, Role::Primary, rate)];
        if self.pace == Pace::Spec {
            let most = most_new_orders_a_minute(self.rules.cards) * f64::from(self.terminals);
            all.push(Measurement::value("efficiency", "%", Direction::Higher, Role::Secondary, 100.0 * rate / most));
        }
        for kind in Kind::ALL {
            let Some(counted) = counts.kinds.get(kind as usize) else { continue };
            let p90 = counted.response.quantile_reading(0.9, "transactions of this kind");
            let is_kept = match &p90 {
                Reading::Value(us) => Reading::Value(f64::from(*us <= kind.limit_s() * 1e6)),
                Reading::Unavailable(reason) => Reading::Unavailable(reason.clone()),
            };
            let role = if kind == Kind::NewOrder { Role::Primary } else { Role::Secondary };
            let id = format!("response_p90_{}", kind.name());
            all.push(Measurement::new(&id, "us", Direction::Lower, role, p90));
            let id = format!("limit_kept_{}", kind.name());
            all.push(Measurement::new(&id, "", Direction::Higher, Role::Diagnostic, is_kept));
        }
        let again = 100.0 * counts.retried as f64 / counts.succeeded.max(1) as f64;
        all.push(Measurement::value("tried_again", "%", Direction::Lower, Role::Diagnostic, again));
        let checked = conditions::count_conditions(self.size, self.extent) as f64;
        all.push(Measurement::value("conditions_held", "", Direction::Neither, Role::Diagnostic, checked));
        let claims = (claims::COUNT + sent::count_comparisons(self.calls)) as f64;
        all.push(Measurement::value("claims_held", "", Direction::Neither, Role::Diagnostic, claims));
        all.extend(self.audit_of(counts).measurements());
        (all, self.terminal_count_mark().into_iter().chain(self.own_mix_mark()).collect())
    }
}

/// Tests have smaller tables, under another name, and seed faults.
#[derive(Clone, Copy, Debug)]
pub struct OrderEntryWorkload {
    pub name: &'static str,
    pub items: u64,
    /// The number of customers of each district.
    pub customers: u64,
    pub rules: Rules,
    /// Changes the statements, or the procedures.
    pub alter: fn(&mut Vec<String>),
    /// Changes the first rows.
    pub spoil: fn(&mut Dataset),
}

impl OrderEntryWorkload {
    /// The specification's.
    pub const BUILT_IN: OrderEntryWorkload = OrderEntryWorkload {
        name: "order-entry",
        items: tables::ITEMS,
        customers: tables::CUSTOMERS,
        rules: Rules::SPECIFICATION,
        alter: |_| (),
        spoil: |_| (),
    };

    /// Statements that clients send, and the tables with the procedures that they call.
    fn texts_and_tables(&self, calls: Calls, size: Size) -> (Vec<String>, Dataset) {
        let mut dataset = tables::dataset(size);
        (self.spoil)(&mut dataset);
        match calls {
            Calls::Statements => {
                let mut texts = statements::statement_texts();
                (self.alter)(&mut texts);
                (texts, dataset)
            }
            Calls::Procedure => {
                dataset.name.push_str(", with procedures");
                dataset.engine_statements = Some(calls::make_procedures(self.alter));
                (calls::call_texts(), dataset)
            }
        }
    }
}

impl Workload for OrderEntryWorkload {
    /// What plans and lists say of the workload.
    fn spec(&self) -> WorkloadSpec {
        WorkloadSpec {
            name: self.name,
            family: "transactions",
            about: "Terminals of a wholesale supplier enter orders and payments, checked while they run",
            rate_unit: "tx/s",
            keys: Keys::SPECS,
            idle: model::no_idle_keys,
        }
    }

    /// Makes the load of terminals that the plan's point asks for, with its tables.
    fn make_task(&self, point: &Point, _grants: &Grants) -> Result<Task, Failure> {
        let keys = Keys::read(point)?;
        let (mix, arrivals) = (keys.mix_of_weights()?, keys.arrival_pace()?);
        let Keys { warehouses, clients, pace, calls, pool_size, pipeline, max_tries, conditions, home, .. } = keys;
        let terminals = clients.unwrap_or((warehouses * DISTRICTS) as u32);
        let size = Size { warehouses, items: self.items, customers: self.customers };
        let options = ScriptOptions {
            clients: terminals,
            retry: Retry { max_tries, within_ns: None },
            ..ScriptOptions::default()
        };
        let (texts, dataset) = self.texts_and_tables(calls, size);
        let rules = match mix {
            Mix::Specification => self.rules,
            Mix::Own(cards) => Rules { cards, ..self.rules },
        };
        let home = home.unwrap_or(if pace == Pace::Spec { Home::Fixed } else { Home::Any });
        let pipelines = if pipeline { Pipelines::WhereTheyAre } else { Pipelines::Never };
        let program = OrderEntry { size, pace, extent: conditions, calls, terminals, pipelines, home, mix, rules }
            .compile(&texts, &options)?;
        let pool = pool_size.map(|connections| PoolSize { connections, acquire_timeout_ns: None });
        Ok(Task {
            dataset,
            action: Action::Stream(StreamTask {
                work: program.into(),
                shape: LoadShape {
                    clients: 0..terminals,
                    pace: arrivals,
                    threads: ThreadLimit::Best,
                    traffic: NetworkTraffic { pool, ..NetworkTraffic::default() },
                },
            }),
        })
    }
}

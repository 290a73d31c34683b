//! What the terminals entered, checked against what the specification lets vary (clause 5.5.1.5), and how much that was.

use model::{Direction, Mark, MarkKind, Measurement, Reading, Role};

use load::stream::TransactionEnd;

use super::draw::{Constants, NAMES, Uneven};
use super::rules::Rules;
use super::sent::{self, SENT};
use super::tables::Size;
use crate::transactions::Sent;

/// What is counted of the transactions that succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    NewOrders,
    /// New-Orders that were rolled back because of an unused item.
    RolledBack,
    Lines,
    RemoteLines,
    Payments,
    RemotePayments,
    PaymentsByName,
    OrderStatuses,
    OrderStatusesByName,
    Deliveries,
    /// Deliveries that met a district without an order to deliver.
    SkippedDeliveries,
    SkippedDistricts,
    DeliveredOrders,
    StockLevels,
    /// Lines of the orders that were not rolled back, as are the sums that follow.
    WrittenLines,
    WrittenRemoteLines,
    WrittenPieces,
    /// Sum of the numbers of the lines' items.
    WrittenItems,
    /// Sum of where the orders were entered, and for whom: see [`super::claims::order_place`].
    OrderPlaces,
    /// Payments of more than half of the most.
    LargePayments,
    /// Sum of where the payments were made, and where their customers live: see [`super::claims::payment_place`].
    PaymentPlaces,
    /// Payments by name that are not of the amount of the load's.
    MiddlePayments,
    /// Payments of customers of bad credit, and those of them that are not of the amount of the load's.
    BadCredit,
    NotedPayments,
    /// Sum of the numbers of the customers who paid.
    PayerNumbers,
    /// Sum of [`super::draw::name_mark`] of the customers who paid something else than the amount of the load's.
    PayerNames,
    /// Sum of the carriers of the orders that were delivered.
    Carriers,
    /// Sum of where the delivered orders lie and of their numbers: see [`super::claims::order_place`].
    DeliveredPlaces,
}

const COUNTS: usize = 28;

/// What is drawn unevenly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drawn {
    Name,
    Customer,
    Item,
}

/// What is drawn evenly, from a whole number to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Even {
    /// Where terminals have none of their own.
    Warehouse,
    /// Where terminals have none of their own.
    District,
    /// Numbered without the terminal's.
    OtherWarehouse,
    /// The district of a customer of another warehouse.
    OtherDistrict,
    OrderDistrict,
    Lines,
    Quantity,
    PaymentDistrict,
    Amount,
    StatusDistrict,
    Carrier,
    Threshold,
}

impl Even {
    const ALL: [Even; 12] = [
        Even::Warehouse,
        Even::District,
        Even::OtherWarehouse,
        Even::OtherDistrict,
        Even::OrderDistrict,
        Even::Lines,
        Even::Quantity,
        Even::PaymentDistrict,
        Even::Amount,
        Even::StatusDistrict,
        Even::Carrier,
        Even::Threshold,
    ];

    /// Name of the values that are drawn evenly, with their least and their most.
    ///
    /// Clauses 2.4.1.2 to 2.4.1.5, 2.5.1.2, 2.5.1.3, 2.6.1.2, 2.7.1.2 and 2.8.1.2 of the specification.
    const fn range_rule(self, size: Size) -> (&'static str, i64, i64) {
        match self {
            Even::Warehouse => ("warehouses of transactions", 1, size.warehouses as i64),
            Even::District => ("districts of terminals", 1, 10),
            Even::OtherWarehouse => ("other warehouses", 1, size.warehouses as i64 - 1),
            Even::OtherDistrict => ("districts of customers of other warehouses", 1, 10),
            Even::OrderDistrict => ("districts of orders", 1, 10),
            Even::Lines => ("numbers of lines of orders", 5, 15),
            Even::Quantity => ("quantities of lines", 1, 10),
            Even::PaymentDistrict => ("districts of payments", 1, 10),
            Even::Amount => ("amounts of payments in cents", 100, 500_000),
            Even::StatusDistrict => ("districts of order statuses", 1, 10),
            Even::Carrier => ("carriers of deliveries", 1, 10),
            Even::Threshold => ("thresholds of stock levels", 10, 20),
        }
    }

    /// Number of bins that the values are counted in: one for each value, up to 11.
    fn bin_count(self, size: Size) -> usize {
        let (_, least, most) = self.range_rule(size);
        EVEN_BINS.min((most - least + 1) as usize)
    }

    /// Index of the bin that a value is counted in; `None` for a value out of the range.
    fn bin_of(self, value: i64, size: Size) -> Option<usize> {
        let (_, least, most) = self.range_rule(size);
        let values = (most - least + 1) as usize;
        if !(least..=most).contains(&value) {
            return None;
        }
        let nth = (value - least) as usize;
        // Most have a bin for each value: a division each would cost more than all that is counted here.
        Some(if values <= EVEN_BINS { nth } else { nth * EVEN_BINS / values })
    }

    /// The share of all values that a bin has.
    fn bin_share(self, bin: usize, size: Size) -> f64 {
        let (_, least, most) = self.range_rule(size);
        let (values, bins) = ((most - least + 1) as usize, self.bin_count(size));
        (first_of_bin(bin + 1, values, bins) - first_of_bin(bin, values, bins)) as f64 / values as f64
    }
}

/// Index of the first value of a bin, where `values` are spread over `bins`.
fn first_of_bin(bin: usize, values: usize, bins: usize) -> usize {
    (bin * values).div_ceil(bins)
}

/// Values that are counted together, one behind the other, in a number of bins.
const BINS: usize = 1_000;
const EVEN_BINS: usize = 11;
/// The sums: what was done, what was entered, draws by their bins, values out of their range, and what was sent. Of what failed
/// all but the first and the last know, since what fails is not what is drawn evenly: long orders do more often.
const ENTERED: usize = COUNTS;
const FIRST_EVEN: usize = 2 * COUNTS;
const OUT_OF_RANGE: usize = FIRST_EVEN + Even::ALL.len() * EVEN_BINS;
const FIRST_BIN: usize = OUT_OF_RANGE + Even::ALL.len();
const FIRST_SENT: usize = FIRST_BIN + 3 * BINS;

/// The counts of what one transaction entered.
#[derive(Clone, Debug, Default)]
pub struct InputCounts {
    counts: [u64; COUNTS],
    even: Vec<(Even, i64)>,
    /// From 0.
    drawn: Vec<(Drawn, i64)>,
}

impl InputCounts {
    /// Adds to a count of what a transaction entered.
    pub fn add_count(&mut self, what: Count, count: u64) {
        self.counts[what as usize] += count;
    }

    /// Notes a value that was drawn evenly.
    pub fn add_even(&mut self, what: Even, value: i64) {
        self.even.push((what, value));
    }

    /// Notes a value, from 0, that was drawn unevenly.
    pub fn add_drawn(&mut self, what: Drawn, value: i64) {
        self.drawn.push((what, value));
    }

    /// Counts a district without an order to deliver.
    pub fn skip_district(&mut self) {
        self.counts[Count::SkippedDistricts as usize] += 1;
        self.counts[Count::SkippedDeliveries as usize] = 1;
    }

    /// Forgets the counts, for the next transaction.
    pub fn clear(&mut self) {
        self.counts = <[u64; COUNTS]>::default();
        self.even.clear();
        self.drawn.clear();
    }

    /// Adds the counts of a transaction that has ended to the run's sums.
    pub fn add_to(&self, size: Size, end: TransactionEnd, sent: &[Sent], sums: &mut Vec<u64>) {
        sums.resize(FIRST_SENT + 2 * SENT, 0);
        let (done, rest) = sums.split_at_mut(ENTERED);
        if end == TransactionEnd::Succeeded {
            done.iter_mut().zip(self.counts).for_each(|(sum, count)| *sum += count);
        }
        rest.iter_mut().zip(self.counts).for_each(|(sum, count)| *sum += count);
        if end == TransactionEnd::Succeeded {
            for Sent { statement, rows } in sent {
                let place = FIRST_SENT + 2 * sent::group_of_statement(*statement);
                sums[place] += 1;
                sums[place + 1] += rows;
            }
        }
        for (what, value) in &self.even {
            let place = match what.bin_of(*value, size) {
                Some(bin) => FIRST_EVEN + *what as usize * EVEN_BINS + bin,
                None => OUT_OF_RANGE + *what as usize,
            };
            sums[place] += 1;
        }
        for (what, value) in &self.drawn {
            let bin = *value as u64 * BINS as u64 / what.value_count(size);
            if let Some(sum) = sums.get_mut(FIRST_BIN + *what as usize * BINS + bin as usize) {
                *sum += 1;
            }
        }
    }
}

impl Drawn {
    /// Number of different values that are drawn from.
    fn value_count(self, size: Size) -> u64 {
        match self {
            Drawn::Name => size.customers.min(NAMES as u64),
            Drawn::Customer => size.customers,
            Drawn::Item => size.items,
        }
    }

    /// The distribution by which the values are drawn.
    fn distribution(self, constants: Constants, size: Size) -> Uneven {
        let rules = Rules::SPECIFICATION;
        match self {
            Drawn::Name => rules.name_distribution(constants, size),
            Drawn::Customer => rules.customer_distribution(constants, size),
            Drawn::Item => rules.item_distribution(constants, size),
        }
    }
}

/// The audit of a whole run.
pub struct Audit<'a> {
    pub sums: &'a [u64],
    pub size: Size,
}

/// A share of what was entered, and the range that it must be in.
struct Rule {
    metric: &'static str,
    what: &'static str,
    /// The share that is drawn, in percent.
    drawn: f64,
    range: (f64, f64),
    part: Count,
    of: Count,
}

/// The shares that are drawn.
const RULES: [Rule; 5] = [
    Rule {
        metric: "rolled_back",
        what: "of the new orders were rolled back",
        drawn: 1.0,
        range: (0.9, 1.1),
        part: Count::RolledBack,
        of: Count::NewOrders,
    },
    Rule {
        metric: "remote_lines",
        what: "of the lines came from another warehouse",
        drawn: 1.0,
        range: (0.95, 1.05),
        part: Count::RemoteLines,
        of: Count::Lines,
    },
    Rule {
        metric: "remote_payments",
        what: "of the payments were by a customer of another warehouse",
        drawn: 15.0,
        range: (14.0, 16.0),
        part: Count::RemotePayments,
        of: Count::Payments,
    },
    Rule {
        metric: "payments_by_name",
        what: "of the payments found the customer by name",
        drawn: 60.0,
        range: (57.0, 63.0),
        part: Count::PaymentsByName,
        of: Count::Payments,
    },
    Rule {
        metric: "order_status_by_name",
        what: "of the order statuses found the customer by name",
        drawn: 60.0,
        range: (57.0, 63.0),
        part: Count::OrderStatusesByName,
        of: Count::OrderStatuses,
    },
];

/// What chance does less often than that, it does not explain: one of a million runs.
pub const BEYOND_CHANCE: f64 = 1e-6;
/// Fewer have no χ².
const FEWEST_IN_BIN: f64 = 5.0;
/// The largest share of the deliveries that may be skipped, in percent.
const MOST_SKIPPED: f64 = 1.0;
/// The share of skipped deliveries that no run of the specification's mix reaches, in percent: ten new orders come for each
/// delivery of ten districts, and one in a hundred of them is rolled back, so that one delivery in ten is skipped when the loaded
/// orders are used up.
const MISSED_ORDERS: f64 = 50.0;

impl Audit<'_> {
    /// Reads a count of the transactions that have succeeded.
    pub fn succeeded_count(&self, count: Count) -> u64 {
        self.sums.get(count as usize).copied().unwrap_or_default()
    }

    /// Reads how often a group of statements was sent in transactions that succeeded, and the rows that came back.
    pub fn sent_and_returned(&self, group: usize) -> (u64, u64) {
        (
            self.sums.get(FIRST_SENT + 2 * group).copied().unwrap_or_default(),
            self.sums.get(FIRST_SENT + 2 * group + 1).copied().unwrap_or_default(),
        )
    }

    /// Reads a count of all transactions that were entered.
    pub fn entered_count(&self, count: Count) -> u64 {
        self.sums.get(ENTERED + count as usize).copied().unwrap_or_default()
    }

    /// The share of one count in another, in percent, of all transactions that were entered; `None` if there were none.
    fn percent_entered(&self, part: Count, of: Count) -> Option<f64> {
        let all = self.entered_count(of);
        (all > 0).then(|| 100.0 * self.entered_count(part) as f64 / all as f64)
    }

    /// Makes measurements of the prescribed shares, skipped deliveries and lines per order.
    pub fn measurements(&self) -> Vec<Measurement> {
        let share = |part, of| match self.percent_entered(part, of) {
            Some(share) => Reading::Value(share),
            None => Reading::unavailable("none were entered"),
        };
        let mut all: Vec<Measurement> = RULES
            .iter()
            .map(|rule| match self.size.warehouses {
                1 if rule.is_of_others() => {
                    percent_measurement(rule.metric, Reading::unavailable("there is one warehouse only"))
                }
                _ => percent_measurement(rule.metric, share(rule.part, rule.of)),
            })
            .collect();
        let skipped = share(Count::SkippedDeliveries, Count::Deliveries);
        all.push(Measurement::new("skipped_deliveries", "%", Direction::Lower, Role::Diagnostic, skipped));
        let lines = match self.entered_count(Count::NewOrders) {
            0 => Reading::unavailable("none were entered"),
            orders => Reading::Value(self.entered_count(Count::Lines) as f64 / orders as f64),
        };
        all.push(Measurement::new("lines_per_order", "", Direction::Neither, Role::Diagnostic, lines));
        all
    }

    /// Describes the first thing entered that chance does not explain, so that the load is another one than it says.
    pub fn find_fault(&self) -> Option<String> {
        let drawn = [Drawn::Name, Drawn::Customer, Drawn::Item].into_iter().filter_map(|what| self.find_misdrawn(what));
        self.shares_beyond_chance()
            .chain(Even::ALL.into_iter().filter_map(|what| self.find_uneven(what)))
            .chain(drawn)
            .next()
    }

    /// Describes deliveries that found no orders although the mix had entered some; `None` if they found them.
    pub fn find_undelivered(&self) -> Option<String> {
        let skipped = self.percent_entered(Count::SkippedDeliveries, Count::Deliveries)?;
        let deliveries = self.entered_count(Count::Deliveries) as f64;
        let chance = chance_bound(deliveries, skipped / 100.0, MISSED_ORDERS / 100.0);
        (skipped > MISSED_ORDERS && chance < BEYOND_CHANCE).then(|| {
            format!(
                "{skipped:.1} % of {deliveries} deliveries found a district without an order, where this mix enters as many orders as \
                 it delivers: the orders are hidden from them"
            )
        })
    }

    /// Describes each share that lies outside its rule's range by more than chance explains.
    fn shares_beyond_chance(&self) -> impl Iterator<Item = String> {
        let rules = RULES.iter().filter(|rule| self.size.warehouses > 1 || !rule.is_of_others());
        rules.filter_map(|rule| self.why_beyond_chance(rule))
    }

    /// Describes values drawn unevenly whose frequencies differ from the specification's beyond chance, by χ².
    fn find_misdrawn(&self, what: Drawn) -> Option<String> {
        let first = FIRST_BIN + what as usize * BINS;
        let counts = self.sums.get(first..first + BINS)?;
        let drawn: u64 = counts.iter().sum();
        let values = what.value_count(self.size) as usize;
        let mut shares = vec![0.0; BINS];
        for (value, share) in what.distribution(Constants::OF_RUN, self.size).value_shares().into_iter().enumerate() {
            shares[value * BINS / values] += share;
        }
        let (mut chi2, mut bins) = (0.0, 0_u32);
        let (mut seen, mut mean) = (0_u64, 0.0);
        for (count, share) in counts.iter().zip(shares) {
            (seen, mean) = (seen + count, mean + share * drawn as f64);
            if mean >= FEWEST_IN_BIN {
                chi2 += (seen as f64 - mean).powi(2) / mean;
                bins += 1;
                (seen, mean) = (0, 0.0);
            }
        }
        let degrees = f64::from(bins.saturating_sub(1));
        let is_wrong = bins > 1 && chi2 > most_chi2(degrees);
        is_wrong.then(|| {
            let what = match what {
                Drawn::Name => "last names",
                Drawn::Customer => "customers",
                Drawn::Item => "items",
            };
            format!("{what} are not drawn as the specification says: χ² of {drawn} is {chi2:.0} of {degrees} degrees")
        })
    }

    /// Makes a note if more deliveries found no order than the specification allows.
    pub fn skipped_mark(&self) -> Option<Mark> {
        let skipped = self.percent_entered(Count::SkippedDeliveries, Count::Deliveries)?;
        let detail = format!(
            "{skipped:.1} % of the deliveries found a district without an order, where the specification allows \
             {MOST_SKIPPED} %"
        );
        let is_much = skipped > MOST_SKIPPED && self.entered_count(Count::SkippedDeliveries) > 1;
        is_much.then_some(Mark::new(MarkKind::Note, detail))
    }

    /// Says that a share lies outside its rule's range by more than chance explains; `None` if it does not.
    fn why_beyond_chance(&self, rule: &Rule) -> Option<String> {
        let share = self.percent_entered(rule.part, rule.of)?;
        let (least, most) = rule.range;
        let entered = self.entered_count(rule.of);
        let chance = chance_bound(entered as f64, share / 100.0, rule.drawn / 100.0);
        let is_outside = !(least..=most).contains(&share) && chance < BEYOND_CHANCE;
        is_outside.then(|| {
            format!(
                "{share:.2} % {}, of {entered}, where {} % are drawn and the specification allows {least} to {most} %",
                rule.what, rule.drawn
            )
        })
    }

    /// Describes values drawn evenly that are out of their range, or not equally frequent beyond chance, by χ².
    fn find_uneven(&self, what: Even) -> Option<String> {
        let (name, least, most) = what.range_rule(self.size);
        let out = self.sums.get(OUT_OF_RANGE + what as usize).copied().unwrap_or_default();
        if out > 0 {
            return Some(format!("{out} {name} are not {least} to {most}, as the specification says"));
        }
        let first = FIRST_EVEN + what as usize * EVEN_BINS;
        let counts = self.sums.get(first..first + what.bin_count(self.size))?;
        let drawn: u64 = counts.iter().sum();
        let means: Vec<f64> = (0..counts.len()).map(|bin| drawn as f64 * what.bin_share(bin, self.size)).collect();
        let chi2: f64 = counts.iter().zip(&means).map(|(count, mean)| (*count as f64 - mean).powi(2) / mean).sum();
        let degrees = counts.len().saturating_sub(1) as f64;
        let is_uneven = means.iter().all(|mean| *mean >= FEWEST_IN_BIN) && chi2 > most_chi2(degrees);
        is_uneven.then(|| {
            format!("{name} are not {least} to {most} equally often: χ² of {drawn} is {chi2:.0} of {degrees} degrees")
        })
    }
}

/// Makes a diagnostic measurement of a reading that is already in percent.
fn percent_measurement(id: &str, reading: Reading) -> Measurement {
    Measurement::new(id, "%", Direction::Neither, Role::Diagnostic, reading)
}

/// The largest χ² that chance explains, at this number of degrees of freedom.
///
/// It is exceeded with a chance of [`BEYOND_CHANCE`] at most: Laurent and Massart, "Adaptive estimation of a quadratic
/// functional by model selection" (2000), lemma 1.
fn most_chi2(degrees: f64) -> f64 {
    let x = -BEYOND_CHANCE.ln();
    degrees + 2.0 * (degrees * x).sqrt() + 2.0 * x
}

/// Upper bound of the chance that the share among `draws` draws is this far or further from the drawn one.
///
/// Chernoff's bound, by the relative entropy of the two.
pub fn chance_bound(draws: f64, share: f64, drawn: f64) -> f64 {
    let entropy = entropy_term(share, drawn) + entropy_term(1.0 - share, 1.0 - drawn);
    2.0 * (-draws * entropy).exp()
}

/// One term of the relative entropy of two shares.
fn entropy_term(share: f64, drawn: f64) -> f64 {
    if share > 0.0 { share * (share / drawn).ln() } else { 0.0 }
}

impl Rule {
    /// Whether the rule is about other warehouses, so that it does not apply to one warehouse.
    fn is_of_others(&self) -> bool {
        matches!(self.part, Count::RemoteLines | Count::RemotePayments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn audit(sums: &[u64], warehouses: u64) -> Audit<'_> {
        Audit { sums, size: Size::for_warehouses(warehouses) }
    }

    #[test]
    fn draws_are_held_against_the_run_s_own_constants() {
        let (size, mut sums) = (Size::for_warehouses(1), Vec::new());
        let mut rng = load::rng::Rng::new(5);
        let mut tally = InputCounts::default();
        for _ in 0..20_000 {
            tally.clear();
            for what in [Drawn::Name, Drawn::Customer, Drawn::Item] {
                let range = what.distribution(Constants::OF_RUN, size);
                tally.add_drawn(what, range.draw_value(&mut rng) - range.least);
            }
            tally.add_to(size, TransactionEnd::Succeeded, &[], &mut sums);
        }
        assert_eq!(audit(&sums, 1).find_fault(), None);
        for what in [Drawn::Name, Drawn::Customer, Drawn::Item] {
            let mut others = sums.clone();
            let of_one = FIRST_BIN + what as usize * BINS;
            others[of_one..of_one + BINS].rotate_right(1);
            assert!(audit(&others, 1).find_misdrawn(what).is_some(), "{what:?} of another constant");
        }
    }

    fn sums(of: &[(Count, u64)]) -> Vec<u64> {
        let mut tally = InputCounts::default();
        of.iter().for_each(|(count, number)| tally.add_count(*count, *number));
        let mut sums = Vec::new();
        tally.add_to(Size::for_warehouses(1), TransactionEnd::Succeeded, &[], &mut sums);
        sums
    }

    /// The first share that is out of bounds.
    fn fault(of: &[(Count, u64)], warehouses: u64) -> Option<String> {
        let sums = sums(of);
        audit(&sums, warehouses).shares_beyond_chance().next()
    }

    #[test]
    fn shares_are_held_against_their_ranges() {
        use Count::*;
        assert_eq!(fault(&[(Payments, 10_000), (PaymentsByName, 6_050), (RemotePayments, 1_480)], 2), None);
        let wrong = fault(&[(Payments, 10_000), (PaymentsByName, 6_500), (RemotePayments, 1_500)], 2).unwrap();
        assert!(wrong.starts_with("65.00 % of the payments") && wrong.contains("where 60 % are drawn"), "{wrong}");
        assert_eq!(fault(&[(Payments, 100), (PaymentsByName, 70), (RemotePayments, 15)], 2), None, "by chance");
        for orders in [1, 3, 10, 500] {
            assert_eq!(fault(&[(NewOrders, orders), (RolledBack, 1)], 1), None, "one of {orders}");
        }
        assert!(fault(&[(NewOrders, 1_000), (RolledBack, 60)], 1).is_some());
        assert!(fault(&[(NewOrders, 2_000), (RolledBack, 0)], 1).is_some());
        assert_eq!(fault(&[(Payments, 10_000), (PaymentsByName, 6_000)], 1), None, "one warehouse has no others");
        let sums = sums(&[(Deliveries, 100), (SkippedDeliveries, 3)]);
        let said = audit(&sums, 1).skipped_mark().unwrap().detail;
        assert!(said.starts_with("3.0 % of the deliveries"), "{said}");
    }

    #[test]
    fn deliveries_that_miss_the_orders_entered_are_found() {
        let share = |skipped| sums(&[(Count::Deliveries, 100), (Count::SkippedDeliveries, skipped)]);
        assert_eq!(audit(&share(60), 1).find_undelivered(), None, "by chance");
        let said = audit(&share(100), 1).find_undelivered().unwrap();
        assert!(said.starts_with("100.0 % of 100 deliveries"), "{said}");
    }

    #[test]
    fn even_draws_are_checked_by_their_range_and_evenness() {
        // As many as there are bins, and numbers that they do not divide.
        for (what, warehouses) in [11, 12, 25].into_iter().flat_map(|count| Even::ALL.map(|what| (what, count))) {
            let (mut tally, mut sums) = (InputCounts::default(), Vec::new());
            let size = Size::for_warehouses(warehouses);
            let (_, least, most) = what.range_rule(size);
            let mut rng = load::rng::Rng::new(7);
            (0..2_000).for_each(|_| tally.add_even(what, rng.int_between(least, most)));
            tally.add_to(size, TransactionEnd::Failed, &[], &mut sums);
            assert_eq!(audit(&sums, warehouses).find_uneven(what), None);
            let first = FIRST_EVEN + what as usize * EVEN_BINS;
            sums[first] += 250;
            assert!(
                audit(&sums, warehouses).find_uneven(what).is_some_and(|said| said.contains("equally often")),
                "{what:?}"
            );
            tally.add_even(what, most + 1);
            tally.add_to(size, TransactionEnd::Failed, &[], &mut sums);
            assert!(audit(&sums, warehouses).find_uneven(what).is_some_and(|said| said.starts_with("1 ")), "{what:?}");
        }
    }
}

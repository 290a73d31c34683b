//! Which transaction comes next (clause 5.2.4.2), and how long a terminal waits for its user (clause 5.2.5).

use load::rng::Rng;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    NewOrder,
    Payment,
    OrderStatus,
    Delivery,
    StockLevel,
}

impl Kind {
    pub const ALL: [Kind; 5] = [Kind::NewOrder, Kind::Payment, Kind::OrderStatus, Kind::Delivery, Kind::StockLevel];

    /// Name of the transaction, such as `new-order`.
    pub fn name(self) -> &'static str {
        match self {
            Kind::NewOrder => "new-order",
            Kind::Payment => "payment",
            Kind::OrderStatus => "order-status",
            Kind::Delivery => "delivery",
            Kind::StockLevel => "stock-level",
        }
    }

    /// Least share of the committed transactions that the kind must have (clause 5.2.3).
    ///
    /// New-Order has what is left: [`MOST_NEW_ORDERS`].
    pub fn least_share(self) -> f64 {
        match self {
            Kind::NewOrder => 0.0,
            Kind::Payment => 0.43,
            Kind::OrderStatus | Kind::Delivery | Kind::StockLevel => 0.04,
        }
    }

    /// Seconds that a terminal keys before a transaction of the kind (clause 5.2.5.2).
    pub fn keying_s(self) -> f64 {
        match self {
            Kind::NewOrder => 18.0,
            Kind::Payment => 3.0,
            Kind::OrderStatus | Kind::Delivery | Kind::StockLevel => 2.0,
        }
    }

    /// Seconds that a terminal thinks after a transaction of the kind, on average (clause 5.2.5.7).
    pub fn mean_thinking_s(self) -> f64 {
        match self {
            Kind::NewOrder | Kind::Payment => 12.0,
            Kind::OrderStatus => 10.0,
            Kind::Delivery | Kind::StockLevel => 5.0,
        }
    }

    /// Response time in seconds that 90 of 100 transactions of the kind must keep (clause 5.2.5.3).
    pub fn limit_s(self) -> f64 {
        match self {
            Kind::StockLevel => 20.0,
            _ => 5.0,
        }
    }
}

/// The share of New-Order that the least shares of the others leave (clause 5.2.3).
pub const MOST_NEW_ORDERS: f64 = 0.45;

/// Cards of a deck, by [`Kind`].
pub type Cards = [usize; 5];

/// Separates the draws of cards and of thinking from those of input.
const SHUFFLE_SALT: u64 = 0x6465_636b;
const THINK_SALT: u64 = 0x7468_696e;
/// Times the mean, where thinking is cut off.
const LONGEST_THOUGHT: f64 = 10.0;

/// A terminal's cards, which are shuffled again whenever all have been drawn.
pub struct Deck {
    seed: u64,
    client: u32,
    mix: Cards,
    /// Which shuffle it is.
    number: u64,
    cards: Vec<Kind>,
    /// Cards that had been drawn before the first transaction.
    drawn: u64,
    first_wait_ns: u64,
}

impl Deck {
    /// Makes a terminal's shuffled deck, which begins in the middle if terminals key and think.
    pub fn new(seed: u64, client: u32, pace: Pace, mix: Cards) -> Deck {
        let mut deck = Deck { seed, client, mix, number: 0, cards: Vec::new(), drawn: 0, first_wait_ns: 0 };
        deck.shuffle_cards();
        if pace == Pace::Spec {
            deck.begin_in_the_middle();
        }
        deck
    }

    /// Draws the card of the terminal's transaction `index`.
    pub fn card_at(&mut self, index: u64) -> Kind {
        let place = self.drawn + index;
        let count = self.cards.len() as u64;
        let number = place / count;
        if number != self.number {
            self.number = number;
            self.shuffle_cards();
        }
        self.cards[(place % count) as usize]
    }

    /// Fills the deck by the mix, and shuffles it (Fisher and Yates).
    fn shuffle_cards(&mut self) {
        self.cards.clear();
        self.cards.extend(Kind::ALL.iter().zip(self.mix).flat_map(|(kind, cards)| std::iter::repeat_n(*kind, cards)));
        let mut rng = Rng::of_transaction(self.seed ^ SHUFFLE_SALT, self.client, self.number);
        for at in (1..self.cards.len()).rev() {
            self.cards.swap(at, rng.int_between(0, at as i64) as usize);
        }
    }

    /// Moves the deck to where a terminal that has run for a long time would be.
    ///
    /// That is any instant of the deck's time, in which what takes long is under way more often than what does not.
    /// Terminals that all start at once would enter another mix in the first minute.
    fn begin_in_the_middle(&mut self) {
        let mut rng = Rng::of_transaction(self.seed ^ THINK_SALT, self.client, 0);
        let count = self.cards.len() as u64;
        let mut left_s = rng.unit() * cycle_s(self.mix) * count as f64;
        for place in 0..count {
            let card = self.cards[place as usize];
            if left_s < card.keying_s() {
                self.drawn = place;
                self.first_wait_ns = ((card.keying_s() - left_s) * 1e9) as u64;
                return;
            }
            left_s -= card.keying_s();
            if left_s < card.mean_thinking_s() || place + 1 == count {
                self.drawn = place + 1;
                // How long a thought has lasted says nothing of how long it still will: it is as long as a new one.
                self.first_wait_ns = ((draw_thinking_s(card, &mut rng) + self.card_at(0).keying_s()) * 1e9) as u64;
                return;
            }
            left_s -= card.mean_thinking_s();
        }
    }
}

/// Draws a think time in seconds: exponential, cut at ten times its mean.
fn draw_thinking_s(after: Kind, rng: &mut Rng) -> f64 {
    let mean_s = after.mean_thinking_s();
    (rng.exponential() * mean_s).min(LONGEST_THOUGHT * mean_s)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Terminals are as fast as the system answers.
    None,
    /// Terminals key and think.
    Spec,
}

impl Pace {
    /// Nanoseconds that a terminal thinks and keys before this transaction.
    pub fn wait_ns(self, deck: &mut Deck, index: u64) -> u64 {
        match self {
            Pace::None => 0,
            Pace::Spec => {
                let Some(last) = index.checked_sub(1) else { return deck.first_wait_ns };
                let mut rng = Rng::of_transaction(deck.seed ^ THINK_SALT, deck.client, index);
                let before_s = draw_thinking_s(deck.card_at(last), &mut rng);
                ((before_s + deck.card_at(index).keying_s()) * 1e9) as u64
            }
        }
    }
}

/// Seconds that a transaction of the mix takes of a terminal's time on average, without the response.
fn cycle_s(mix: Cards) -> f64 {
    let cycles =
        Kind::ALL.iter().zip(mix).map(|(kind, cards)| cards as f64 * (kind.keying_s() + kind.mean_thinking_s()));
    cycles.sum::<f64>() / mix.iter().sum::<usize>() as f64
}

/// Most new orders a minute that a terminal can enter, if every response came at once.
pub fn most_new_orders_a_minute(mix: Cards) -> f64 {
    60.0 / cycle_s(mix) * mix[Kind::NewOrder as usize] as f64 / mix.iter().sum::<usize>() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIX: Cards = crate::order_entry::Rules::SPECIFICATION.cards;

    #[test]
    fn a_deck_has_all_its_cards_in_another_order_each_time() {
        let mut deck = Deck::new(7, 3, Pace::None, MIX);
        let mut orders = std::collections::BTreeSet::new();
        for number in 0..50 {
            let drawn: Vec<usize> = (0..23).map(|place| deck.card_at(number * 23 + place) as usize).collect();
            assert_eq!(
                Kind::ALL.map(|kind| drawn.iter().filter(|card| **card == kind as usize).count()),
                [10, 10, 1, 1, 1]
            );
            orders.insert(drawn);
        }
        assert_eq!(orders.len(), 50);
        let again = Deck::new(7, 3, Pace::None, MIX).card_at(40 * 23 + 5);
        assert_eq!(deck.card_at(40 * 23 + 5), again, "a card depends on its number alone");
        assert_ne!(Deck::new(7, 4, Pace::None, MIX).cards, Deck::new(7, 3, Pace::None, MIX).cards);
    }

    /// 10 terminals with 43.5 % of new orders: the 12.86 that is often quoted is of 45 %.
    #[test]
    fn a_warehouse_s_terminals_enter_the_known_most() {
        let of_warehouse = 10.0 * most_new_orders_a_minute(MIX);
        assert!((12.5..13.0).contains(&of_warehouse), "{of_warehouse}");
    }

    #[test]
    fn waits_are_keying_and_thinking() {
        let (mut deck, mut sum_s) = (Deck::new(1, 0, Pace::Spec, MIX), 0.0);
        let count = 23 * 400;
        for index in 1..=count {
            let wait_s = Pace::Spec.wait_ns(&mut deck, index) as f64 / 1e9;
            assert!(wait_s >= deck.card_at(index).keying_s());
            sum_s += wait_s;
        }
        let mean_s = sum_s / count as f64;
        assert!((mean_s / cycle_s(MIX) - 1.0).abs() < 0.05, "{mean_s} of {}", cycle_s(MIX));
        assert_eq!(Pace::None.wait_ns(&mut deck, 5), 0);
    }

    #[test]
    fn terminals_enter_the_mix_from_the_first_second_on() {
        const SLOT_S: u64 = 10;
        let terminals = 20_000_u32;
        let mut entered = [0_u32; 6];
        for client in 0..terminals {
            let (mut deck, mut now_ns) = (Deck::new(3, client, Pace::Spec, MIX), 0);
            for index in 0.. {
                now_ns += Pace::Spec.wait_ns(&mut deck, index);
                let Some(slot) = entered.get_mut((now_ns / (SLOT_S * 1_000_000_000)) as usize) else { break };
                *slot += u32::from(deck.card_at(index) == Kind::NewOrder);
            }
        }
        let steady = most_new_orders_a_minute(MIX) / 60.0 * SLOT_S as f64 * f64::from(terminals);
        for (slot, count) in entered.into_iter().enumerate() {
            let of_steady = f64::from(count) / steady;
            assert!((0.96..1.04).contains(&of_steady), "slot {slot}: {of_steady:.3} of the steady rate, {entered:?}");
        }
    }
}

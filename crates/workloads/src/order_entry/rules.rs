//! The numbers of the specification by which input is drawn. They are a value so that tests can seed faults.

use super::draw::{Constants, NAMES, Uneven};
use super::statements::Ask;
use super::tables::{DISTRICTS, LINES, Size};

/// Shares are of 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// New orders with an unused item (clause 2.4.1.4).
    pub rolled_back: i64,
    /// Lines from another warehouse (2.4.1.5).
    pub remote_lines: i64,
    pub fewest_lines: i64,
    pub most_lines: i64,
    /// Customers found by last name (2.5.1.2, 2.6.1.2).
    pub by_name: i64,
    /// Customers who pay at home.
    pub at_home: i64,
    /// The A of NURand (2.1.6).
    pub names_a: i64,
    pub customers_a: i64,
    pub items_a: i64,
    /// Those that are sold, of those that there are.
    pub items_sold: i64,
    /// Whether last names have the load's C.
    pub names_of_load: bool,
    /// Warehouses that are used where terminals have none of their own, of those that there are.
    pub warehouses_used: i64,
    pub districts: i64,
    /// Districts that a delivery visits.
    pub delivered_districts: i64,
    /// Pieces of a line at most.
    pub most_pieces: i64,
    /// Cards of a deck, New-Order, Payment, Order-Status, Delivery and Stock-Level (5.2.4.2).
    pub cards: [usize; 5],
    /// A statement that is never sent.
    pub left_out: Option<Ask>,
}

impl Rules {
    pub const SPECIFICATION: Rules = Rules {
        rolled_back: 1,
        remote_lines: 1,
        fewest_lines: *LINES.start(),
        most_lines: *LINES.end(),
        by_name: 60,
        at_home: 85,
        names_a: 255,
        customers_a: 1_023,
        items_a: 8_191,
        items_sold: 100,
        names_of_load: false,
        warehouses_used: 100,
        districts: DISTRICTS as i64,
        delivered_districts: DISTRICTS as i64,
        most_pieces: 10,
        cards: [10, 10, 1, 1, 1],
        left_out: None,
    };

    /// How the number of a last name is drawn, among the names that some customer has.
    pub fn name_distribution(&self, constants: Constants, size: Size) -> Uneven {
        let c = if self.names_of_load { Constants::OF_LOAD.last_name } else { constants.last_name };
        Uneven { a: self.names_a, c, least: 0, most: NAMES.min(size.customers as i64) - 1 }
    }

    /// How a customer's number is drawn.
    pub fn customer_distribution(&self, constants: Constants, size: Size) -> Uneven {
        Uneven { a: self.customers_a, c: constants.customer, least: 1, most: size.customers as i64 }
    }

    /// How an item's number is drawn, among the items that are sold.
    pub fn item_distribution(&self, constants: Constants, size: Size) -> Uneven {
        let most = size.items as i64 * self.items_sold / 100;
        Uneven { a: self.items_a, c: constants.item, least: 1, most }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CockroachDB's load and go-tpc's have 8190 here.
    #[test]
    fn the_constants_are_the_specification_s() {
        let constants = Constants { last_name: 1, customer: 2, item: 3 };
        let (rules, size) = (Rules::SPECIFICATION, Size::for_warehouses(1));
        assert_eq!(rules.item_distribution(constants, size), Uneven { a: 8_191, c: 3, least: 1, most: 100_000 });
        assert_eq!(rules.customer_distribution(constants, size), Uneven { a: 1_023, c: 2, least: 1, most: 3_000 });
        assert_eq!(rules.name_distribution(constants, size), Uneven { a: 255, c: 1, least: 0, most: 999 });
    }
}

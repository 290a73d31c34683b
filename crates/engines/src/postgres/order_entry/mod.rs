//! Order entry's transactions as procedures in PL/pgSQL, which ask for PostgreSQL 11: only a procedure, and no function, can
//! roll back what it did and answer all the same.

use workloads::order_entry::OrderEntryDialect;

pub(super) struct Procedures;

impl OrderEntryDialect for Procedures {
    /// Returns the statements that make order entry's procedures.
    fn create_procedures(&self) -> Vec<String> {
        const TEXTS: [&str; 5] = [
            include_str!("enter_order.sql"),
            include_str!("enter_payment.sql"),
            include_str!("order_status.sql"),
            include_str!("deliver_orders.sql"),
            include_str!("stock_level.sql"),
        ];
        TEXTS.map(str::to_owned).to_vec()
    }
}

//! Order entry's transactions as procedures, in words that MySQL and MariaDB have in common: there is no `RETURNING`, and a
//! variable keeps its value where a query finds no row. An error ends the transaction before it is reported, since the client sees
//! no transaction of a call that has failed.

use workloads::order_entry::OrderEntryDialect;

pub(super) struct Procedures;

impl OrderEntryDialect for Procedures {
    /// Lists the statements that create the five procedures.
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

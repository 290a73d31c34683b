//! Order entry's transactions as procedures in Transact-SQL, for SQL Server 2017 and later (`STRING_AGG`).
//!
//! No real server has run them yet. `XACT_ABORT` rolls a transaction back by the error that ends it, and without `NOCOUNT`
//! each statement would answer.

use workloads::order_entry::OrderEntryDialect;

/// Number of the error by which a Delivery says that another was first.
pub(super) const DELIVERED_TWICE: i32 = 53_960;

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

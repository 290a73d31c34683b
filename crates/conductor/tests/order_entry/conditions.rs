//! The specification's conditions and étalon's own, broken by hand in a loaded database.

use conductor::Registry;
use workloads::session::SessionKind;
use workloads::system::{Consent, OpenRequest};
use workloads::transactions::Moment;
use workloads::work::SystemCounters;
use workloads::workload::{Action, Grants};

use crate::{SMALL, parse, sqlite};

struct Broken {
    condition: &'static str,
    /// Warehouse and district, the warehouse alone, or nothing where it is of all.
    place: &'static str,
    statements: &'static [&'static str],
}

const fn broken(condition: &'static str, place: &'static str, statements: &'static [&'static str]) -> Broken {
    Broken { condition, place, statements }
}

/// In ways that leave all the conditions whole that are held before it.
static ALL: [Broken; 31] = [
    broken("1", "warehouse 2", &["UPDATE warehouse SET w_ytd = w_ytd + 1 WHERE w_id = 2"]),
    broken(
        "2",
        "warehouse 2, district 4",
        &["UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = 2 AND d_id = 4"],
    ),
    broken(
        "2",
        "warehouse 2, district 10",
        &["DELETE FROM new_order WHERE no_w_id = 2 AND no_d_id = 10 AND no_o_id = \
           (SELECT max(no_o_id) FROM new_order WHERE no_w_id = 2 AND no_d_id = 10)"],
    ),
    broken(
        "3",
        "warehouse 2, district 3",
        &["DELETE FROM new_order WHERE no_w_id = 2 AND no_d_id = 3 AND no_o_id = \
           (SELECT min(no_o_id) + 1 FROM new_order WHERE no_w_id = 2 AND no_d_id = 3)"],
    ),
    broken(
        "4",
        "warehouse 2, district 6",
        &["DELETE FROM order_line WHERE ol_w_id = 2 AND ol_d_id = 6 AND ol_o_id = 1 AND ol_number = 1"],
    ),
    broken(
        "4",
        "warehouse 2, district 5",
        &["DELETE FROM order_line WHERE ol_w_id = 2 AND ol_d_id = 5 AND ol_o_id = 1"],
    ),
    broken(
        "5",
        "warehouse 2, district 7",
        &["UPDATE orders SET o_carrier_id = NULL WHERE o_w_id = 2 AND o_d_id = 7 AND o_id = 1"],
    ),
    broken(
        "6",
        "warehouse 2, district 7",
        &["UPDATE orders SET o_ol_cnt = o_ol_cnt + CASE o_id WHEN 1 THEN 1 ELSE -1 END \
           WHERE o_w_id = 2 AND o_d_id = 7 AND o_id IN (1, 2)"],
    ),
    broken(
        "7",
        "warehouse 2, district 8",
        &[
            "UPDATE order_line SET ol_delivery_d = NULL WHERE ol_w_id = 2 AND ol_d_id = 8 AND ol_o_id = 1 AND ol_number = 1",
        ],
    ),
    broken(
        "8",
        "warehouse 2",
        &[
            "UPDATE warehouse SET w_ytd = w_ytd + 1 WHERE w_id = 2",
            "UPDATE district SET d_ytd = d_ytd + 1 WHERE d_w_id = 2 AND d_id = 3",
        ],
    ),
    broken(
        "9",
        "warehouse 2, district 3",
        &[
            "UPDATE district SET d_ytd = d_ytd + CASE d_id WHEN 3 THEN 1 ELSE -1 END WHERE d_w_id = 2 AND d_id IN (3, 5)",
        ],
    ),
    broken(
        "10",
        "warehouse 2, district 9",
        &["UPDATE customer SET c_balance = c_balance + 1, c_ytd_payment = c_ytd_payment - 1 \
           WHERE c_w_id = 2 AND c_d_id = 9 AND c_id = 1"],
    ),
    // Every order of a district is delivered as it should be, so that it has no new ones.
    broken(
        "11",
        "warehouse 2, district 10",
        &[
            "UPDATE customer SET c_balance = c_balance + coalesce((SELECT sum(ol_amount) FROM orders JOIN order_line \
             ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE o_w_id = c_w_id AND o_d_id = c_d_id \
             AND o_c_id = c_id AND ol_delivery_d IS NULL), 0) WHERE c_w_id = 2 AND c_d_id = 10",
            "UPDATE order_line SET ol_delivery_d = '2026-01-01 00:00:00' \
             WHERE ol_w_id = 2 AND ol_d_id = 10 AND ol_delivery_d IS NULL",
            "UPDATE customer SET c_delivery_cnt = 1 WHERE c_w_id = 2 AND c_d_id = 10 AND c_id IN \
             (SELECT o_c_id FROM orders WHERE o_w_id = 2 AND o_d_id = 10 AND o_carrier_id IS NULL)",
            "UPDATE orders SET o_carrier_id = 1 WHERE o_w_id = 2 AND o_d_id = 10 AND o_carrier_id IS NULL",
            "DELETE FROM new_order WHERE no_w_id = 2 AND no_d_id = 10",
        ],
    ),
    broken(
        "12",
        "warehouse 2, district 9",
        &["UPDATE customer SET c_ytd_payment = c_ytd_payment + 1 WHERE c_w_id = 2 AND c_d_id = 9 AND c_id = 1"],
    ),
    broken("of stock", "warehouse 2", &["UPDATE stock SET s_remote_cnt = 1 WHERE s_w_id = 2 AND s_i_id = 1"]),
    broken(
        "of quantities",
        "",
        &[
            "UPDATE stock SET s_quantity = s_quantity + CASE WHEN s_quantity > 50 THEN -1 ELSE 1 END WHERE s_w_id = 2 AND s_i_id = 5",
        ],
    ),
    broken(
        "of counts",
        "warehouse 2, district 3",
        &["UPDATE customer SET c_payment_cnt = c_payment_cnt + CASE c_id WHEN 1 THEN 1 ELSE -1 END \
           WHERE c_w_id = 2 AND c_d_id = 3 AND c_id IN (1, 2)"],
    ),
    broken(
        "of counts",
        "warehouse 2, district 4",
        &["UPDATE customer SET c_delivery_cnt = 1 WHERE c_w_id = 2 AND c_d_id = 4 AND c_id = 1"],
    ),
    broken(
        "of rows",
        "warehouse 2, district 1",
        &["UPDATE orders SET o_c_id = (SELECT o_c_id FROM orders WHERE o_w_id = 2 AND o_d_id = 1 AND o_id = 119) \
           WHERE o_w_id = 2 AND o_d_id = 1 AND o_id = 120"],
    ),
    broken("of tenths", "", &["UPDATE item SET i_data = 'as any other'"]),
    broken("of items", "", &["UPDATE item SET i_price = 200 WHERE i_id = 7"]),
    broken("of warehouses", "warehouse 2", &["UPDATE warehouse SET w_state = 'A1' WHERE w_id = 2"]),
    broken(
        "of districts",
        "warehouse 1, district 4",
        &["UPDATE district SET d_zip = '123411112' WHERE d_w_id = 1 AND d_id = 4"],
    ),
    broken(
        "of customers",
        "warehouse 2, district 3",
        &["UPDATE customer SET c_phone = '12345678901234AB' WHERE c_w_id = 2 AND c_d_id = 3 AND c_id = 5"],
    ),
    broken("of stock rows", "warehouse 2", &["UPDATE stock SET s_dist_03 = 'short' WHERE s_w_id = 2 AND s_i_id = 9"]),
    broken(
        "of history",
        "warehouse 1, district 6",
        &["UPDATE history SET h_data = 'short' WHERE h_w_id = 1 AND h_d_id = 6 AND h_c_id = 1"],
    ),
    broken(
        "of orders",
        "warehouse 2, district 8",
        &["UPDATE orders SET o_carrier_id = 11 WHERE o_w_id = 2 AND o_d_id = 8 AND o_id = 1"],
    ),
    broken(
        "of lines",
        "warehouse 1, district 2",
        &["UPDATE order_line SET ol_quantity = 6 WHERE ol_w_id = 1 AND ol_d_id = 2 AND ol_o_id = 3 AND ol_number = 1"],
    ),
    broken(
        "of permutations",
        "warehouse 2, district 5",
        &["UPDATE orders SET o_c_id = o_id WHERE o_w_id = 2 AND o_d_id = 5"],
    ),
    broken("of draws", "", &["UPDATE orders SET o_carrier_id = 1 WHERE o_w_id = 2 AND o_carrier_id IS NOT NULL"]),
    broken("of texts", "", &["UPDATE item SET i_data = (SELECT i_data FROM item WHERE i_id = 3) WHERE i_id = 2"]),
];

#[test]
fn every_condition_is_found_broken_by_its_name_and_place() {
    let registry = Registry::built_in().with_workload(&SMALL);
    let folder = tempfile::tempdir().unwrap();
    let system = sqlite(&folder);
    let text = format!(
        "[systems.a]\n{system}\n[[benchmarks]]\nworkload = \"{}\"\nwarehouses = 2\n[schedule]\nrounds = 1\n",
        SMALL.name
    );
    let plan = parse(&text, &registry);
    let case = plan.cases().remove(0);
    let workload = registry.workload(&case.workload).unwrap();
    let task = workload.make_task(&case.point, &Grants::default()).unwrap();
    let Action::Stream(stream) = &task.action else { panic!("order entry is a stream") };
    let system = registry.open_system(&OpenRequest::new(&plan.systems[0], Consent::OwnOnly)).unwrap();
    let inspect = || stream.work.inspect_tables(&SystemCounters(&*system), Moment::Loaded);
    for Broken { condition, place, statements } in &ALL {
        system.prepare(&task.dataset).unwrap();
        assert_eq!(inspect(), Ok(()), "before condition {condition} was broken");
        let mut session = system.connect_session(SessionKind::Plain).unwrap();
        statements.iter().for_each(|statement| session.execute(statement).map(drop).unwrap());
        drop(session);
        let said = inspect().map_err(|failure| failure.cause).expect_err(condition);
        let end = if place.is_empty() { "does not hold".to_owned() } else { format!("first of {place}") };
        let is_its = said.starts_with(&format!("condition {condition}, ")) && said.ends_with(&end);
        assert!(is_its, "of condition {condition} in {place} it says: {said}");
    }
    let names: std::collections::BTreeSet<&str> = ALL.iter().map(|broken| broken.condition).collect();
    assert_eq!(names.len(), 28);
    system.drop_all().unwrap();
}

//! The eight tables and their indexes: the primary keys, and an index for each reference by which large tables are joined.

use std::borrow::Cow;

use super::rows::{PackTable, table_rows};
use crate::dataset::ColumnKind::{Char, Date, Decimal, Int, VarChar};
use crate::dataset::{Column, ColumnKind, Dataset, Index, Nulls, Table};

/// Bytes at scale 1, with their indexes; as measured in PostgreSQL 15.
const SCALE_BYTES: f64 = 1_550_000_000.0;
const MONEY: ColumnKind = Decimal(15, 2);

const REGION: &[(&str, ColumnKind)] = &[("r_regionkey", Int), ("r_name", VarChar(25)), ("r_comment", VarChar(152))];
const NATION: &[(&str, ColumnKind)] =
    &[("n_nationkey", Int), ("n_name", VarChar(25)), ("n_regionkey", Int), ("n_comment", VarChar(152))];
const SUPPLIER: &[(&str, ColumnKind)] = &[
    ("s_suppkey", Int),
    ("s_name", VarChar(25)),
    ("s_address", VarChar(40)),
    ("s_nationkey", Int),
    ("s_phone", VarChar(15)),
    ("s_acctbal", MONEY),
    ("s_comment", VarChar(101)),
];
const CUSTOMER: &[(&str, ColumnKind)] = &[
    ("c_custkey", Int),
    ("c_name", VarChar(25)),
    ("c_address", VarChar(40)),
    ("c_nationkey", Int),
    ("c_phone", VarChar(15)),
    ("c_acctbal", MONEY),
    ("c_mktsegment", VarChar(10)),
    ("c_comment", VarChar(117)),
];
const PART: &[(&str, ColumnKind)] = &[
    ("p_partkey", Int),
    ("p_name", VarChar(55)),
    ("p_mfgr", VarChar(25)),
    ("p_brand", VarChar(10)),
    ("p_type", VarChar(25)),
    ("p_size", Int),
    ("p_container", VarChar(10)),
    ("p_retailprice", MONEY),
    ("p_comment", VarChar(23)),
];
const PART_SUPPLY: &[(&str, ColumnKind)] = &[
    ("ps_partkey", Int),
    ("ps_suppkey", Int),
    ("ps_availqty", Int),
    ("ps_supplycost", MONEY),
    ("ps_comment", VarChar(199)),
];
const ORDER: &[(&str, ColumnKind)] = &[
    ("o_orderkey", Int),
    ("o_custkey", Int),
    ("o_orderstatus", Char(1)),
    ("o_totalprice", MONEY),
    ("o_orderdate", Date),
    ("o_orderpriority", VarChar(15)),
    ("o_clerk", VarChar(15)),
    ("o_shippriority", Int),
    ("o_comment", VarChar(79)),
];
const LINE: &[(&str, ColumnKind)] = &[
    ("l_orderkey", Int),
    ("l_partkey", Int),
    ("l_suppkey", Int),
    ("l_linenumber", Int),
    ("l_quantity", MONEY),
    ("l_extendedprice", MONEY),
    ("l_discount", MONEY),
    ("l_tax", MONEY),
    ("l_returnflag", Char(1)),
    ("l_linestatus", Char(1)),
    ("l_shipdate", Date),
    ("l_commitdate", Date),
    ("l_receiptdate", Date),
    ("l_shipinstruct", VarChar(25)),
    ("l_shipmode", VarChar(10)),
    ("l_comment", VarChar(44)),
];

const INDEXES: [Index; 7] = [
    Index { name: "supplier_by_nation", table: "supplier", columns: &["s_nationkey"] },
    Index { name: "customer_by_nation", table: "customer", columns: &["c_nationkey"] },
    Index { name: "partsupp_by_supplier", table: "partsupp", columns: &["ps_suppkey"] },
    Index { name: "orders_by_customer", table: "orders", columns: &["o_custkey"] },
    Index { name: "orders_by_date", table: "orders", columns: &["o_orderdate"] },
    Index { name: "lineitem_by_part", table: "lineitem", columns: &["l_partkey", "l_suppkey"] },
    Index { name: "lineitem_by_supplier", table: "lineitem", columns: &["l_suppkey"] },
];

/// The tables at a scale.
pub fn dataset(scale: f64) -> Dataset {
    Dataset {
        name: format!("analytics, scale {scale}"),
        tables: vec![
            make_table(PackTable::Region, scale, "region", REGION, &["r_regionkey"]),
            make_table(PackTable::Nation, scale, "nation", NATION, &["n_nationkey"]),
            make_table(PackTable::Supplier, scale, "supplier", SUPPLIER, &["s_suppkey"]),
            make_table(PackTable::Customer, scale, "customer", CUSTOMER, &["c_custkey"]),
            make_table(PackTable::Part, scale, "part", PART, &["p_partkey"]),
            make_table(PackTable::PartSupply, scale, "partsupp", PART_SUPPLY, &["ps_partkey", "ps_suppkey"]),
            make_table(PackTable::Order, scale, "orders", ORDER, &["o_orderkey"]),
            make_table(PackTable::Line, scale, "lineitem", LINE, &["l_orderkey", "l_linenumber"]),
        ],
        indexes: INDEXES.to_vec(),
        size_bytes: (scale * SCALE_BYTES) as u64,
        ..Dataset::default()
    }
}

fn make_table(
    of: PackTable,
    scale: f64,
    name: &'static str,
    columns: &[(&'static str, ColumnKind)],
    primary_key: &'static [&'static str],
) -> Table {
    let (rows, row) = table_rows(of, scale);
    let columns = columns.iter().map(|&(name, kind)| Column { name, kind, nulls: Nulls::Refused }).collect();
    Table { name: Cow::Borrowed(name), columns, primary_key, create: None, rows, unit_rows: 1, row }
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::datum::Datum;

    #[test]
    fn every_column_has_a_value_of_its_kind() {
        for table in dataset(0.01).tables {
            for index in [0, table.rows - 1] {
                let mut row = Vec::new();
                (table.row)(index, &mut row);
                assert_eq!(row.len(), table.columns.len(), "{}", table.name);
                for (value, column) in row.iter().zip(&table.columns) {
                    let fits = match (value, column.kind) {
                        (Datum::Int(_), Int | Decimal(..)) | (Datum::Double(_), Decimal(..)) => true,
                        (Datum::Text(text), Char(most) | VarChar(most)) => text.len() <= most as usize,
                        (Datum::Text(text), Date) => text.len() == 10,
                        _ => false,
                    };
                    assert!(fits, "{}: {value:?}", column.name);
                }
            }
        }
    }

    #[test]
    fn tables_have_the_published_numbers_of_rows() {
        let rows: Vec<u64> = dataset(1.0).tables.iter().map(|table| table.rows).collect();
        assert_eq!(rows, [5, 25, 10_000, 150_000, 200_000, 800_000, 1_500_000, 6_001_215]);
    }
}

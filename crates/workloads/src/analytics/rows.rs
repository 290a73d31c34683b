//! The rows of the eight tables, from the crate `tpchgen`: a row depends on the table, the scale and its index alone.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

use tpchgen::decimal::TPCHDecimal;
use tpchgen::distribution::Distributions;
use tpchgen::generators::{
    Customer, CustomerGenerator, LineItem, LineItemGenerator, Nation, NationGenerator, Order, OrderGenerator, Part,
    PartGenerator, PartSupp, PartSuppGenerator, Region, RegionGenerator, Supplier, SupplierGenerator,
};
use tpchgen::text::TextPool;

use crate::dataset::RowRule;
use load::datum::Datum;

/// Bytes of the text that all remarks are cut from. The answers at scale 1 that the generator's authors publish hold for this size.
const POOL_BYTES: i32 = 300 * 1024 * 1024;
/// Customers, parts or orders whose rows are made at a time.
const BLOCK_UNITS: i64 = 1_000;
const SUPPLIERS_OF_PART: u64 = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackTable {
    Region,
    Nation,
    Supplier,
    Customer,
    Part,
    PartSupply,
    Order,
    /// The last to be loaded.
    Line,
}

impl PackTable {
    /// Number of its rows; of the tables that belong to parts and orders, of those.
    fn unit_count(self, scale: f64) -> i64 {
        match self {
            PackTable::Region => 5,
            PackTable::Nation => 25,
            PackTable::Supplier => SupplierGenerator::calculate_row_count(scale, 1, 1),
            PackTable::Customer => CustomerGenerator::calculate_row_count(scale, 1, 1),
            PackTable::Part | PackTable::PartSupply => PartGenerator::calculate_row_count(scale, 1, 1),
            PackTable::Order | PackTable::Line => OrderGenerator::calculate_row_count(scale, 1, 1),
        }
    }
}

/// The blocks of a table: which rows are made together.
#[derive(Clone, Debug)]
struct Blocks {
    table: PackTable,
    scale: f64,
    /// Index of the first row of each block, and the number of all rows.
    starts: Arc<[u64]>,
}

impl Blocks {
    fn new(table: PackTable, scale: f64) -> Blocks {
        let starts = if table == PackTable::Line { starts_of_lines(scale) } else { starts_of_equal(table, scale) };
        Blocks { table, scale, starts }
    }

    fn row_count(&self) -> u64 {
        self.starts.last().copied().unwrap_or_default()
    }

    fn block_count(&self) -> usize {
        self.starts.len() - 1
    }

    /// Position of the block that holds a row.
    fn block_of(&self, row: u64) -> usize {
        self.starts.partition_point(|start| *start <= row) - 1
    }
}

/// Number of blocks, and of units in all of them but the last, which has the rest, as the generator divides a table.
fn divide_units(units: i64) -> (i64, i64) {
    let blocks = (units / BLOCK_UNITS).max(1);
    (blocks, units / blocks)
}

fn starts_of_equal(table: PackTable, scale: f64) -> Arc<[u64]> {
    let rows_of_unit = if table == PackTable::PartSupply { SUPPLIERS_OF_PART } else { 1 };
    let units = table.unit_count(scale);
    let (blocks, length) = divide_units(units);
    (0..blocks).map(|block| block * length).chain([units]).map(|unit| unit as u64 * rows_of_unit).collect()
}

/// The blocks of lines, which belong to orders; counted once for a scale.
fn starts_of_lines(scale: f64) -> Arc<[u64]> {
    static KNOWN: Mutex<BTreeMap<u64, Arc<[u64]>>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    Arc::clone(known.entry(scale.to_bits()).or_insert_with(|| count_lines(scale)))
}

/// Adds up the lines of all orders, which have one to seven each.
fn count_lines(scale: f64) -> Arc<[u64]> {
    let orders = PackTable::Line.unit_count(scale);
    let (blocks, length) = divide_units(orders);
    let mut lines_of_order = OrderGenerator::create_line_count_random();
    let (mut starts, mut lines) = (Vec::with_capacity(blocks as usize + 1), 0);
    for order in 0..orders {
        if order % length == 0 && (starts.len() as i64) < blocks {
            starts.push(lines);
        }
        lines += lines_of_order.next_value() as u64;
        lines_of_order.row_finished();
    }
    starts.push(lines);
    starts.into()
}

/// Rows of a block, kept by the thread that loads them.
#[derive(Default)]
struct Block {
    of: Option<(PackTable, u64)>,
    first: u64,
    rows: Vec<Vec<Datum>>,
    /// Kept until the last row, since making it takes a second.
    pool: Option<Arc<TextPool>>,
}

impl Block {
    /// The values of a row, if it is in the block.
    fn row(&self, blocks: &Blocks, index: u64) -> Option<&Vec<Datum>> {
        let is_its_own = self.of == Some((blocks.table, blocks.scale.to_bits()));
        let position = index.checked_sub(self.first).filter(|_| is_its_own)?;
        self.rows.get(position as usize)
    }

    /// Appends the values of a row, after making its block if it is in another one.
    fn append_row(&mut self, blocks: &Blocks, index: u64, row: &mut Vec<Datum>) {
        if self.row(blocks, index).is_none() {
            let pool = self.pool.take().unwrap_or_else(text_pool);
            *self = Block::make(blocks, index, pool);
        }
        row.extend(self.row(blocks, index).into_iter().flatten().cloned());
        if blocks.table == PackTable::Line && index + 1 == blocks.row_count() {
            *self = Block::default();
        }
    }

    /// Makes the rows of the block that holds this one.
    fn make(blocks: &Blocks, index: u64, pool: Arc<TextPool>) -> Block {
        let block = blocks.block_of(index);
        let part = Numbered { scale: blocks.scale, number: block as i32 + 1, count: blocks.block_count() as i32 };
        let rows = make_rows(blocks.table, &part, &pool);
        let of = Some((blocks.table, blocks.scale.to_bits()));
        Block { of, first: blocks.starts[block], rows, pool: Some(pool) }
    }
}

thread_local! {
    static LAST: RefCell<Block> = RefCell::default();
}

/// The number of a table's rows, and the rule for each of them.
pub fn table_rows(table: PackTable, scale: f64) -> (u64, RowRule) {
    let blocks = Blocks::new(table, scale);
    (blocks.row_count(), Arc::new(move |index, row| LAST.with_borrow_mut(|last| last.append_row(&blocks, index, row))))
}

/// The text that remarks are cut from, shared by the threads that load at the same time and freed with the last of them.
fn text_pool() -> Arc<TextPool> {
    static POOL: LazyLock<Mutex<Weak<TextPool>>> = LazyLock::new(Mutex::default);
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    pool.upgrade().unwrap_or_else(|| {
        let made = Arc::new(TextPool::new(POOL_BYTES, Distributions::static_default()));
        *pool = Arc::downgrade(&made);
        made
    })
}

/// One of the parts that the generator divides a table into.
struct Numbered {
    scale: f64,
    /// From 1.
    number: i32,
    count: i32,
}

fn make_rows(table: PackTable, part: &Numbered, pool: &TextPool) -> Vec<Vec<Datum>> {
    let words = Distributions::static_default();
    let Numbered { scale, number, count } = *part;
    match table {
        PackTable::Region => {
            RegionGenerator::new_with_distributions_and_text_pool(words, pool).iter().map(region_values).collect()
        }
        PackTable::Nation => {
            NationGenerator::new_with_distributions_and_text_pool(words, pool).iter().map(nation_values).collect()
        }
        PackTable::Supplier => {
            let all = SupplierGenerator::new_with_distributions_and_text_pool(scale, number, count, words, pool);
            all.iter().map(supplier_values).collect()
        }
        PackTable::Customer => {
            let all = CustomerGenerator::new_with_distributions_and_text_pool(scale, number, count, words, pool);
            all.iter().map(customer_values).collect()
        }
        PackTable::Part => {
            let all = PartGenerator::new_with_distributions_and_text_pool(scale, number, count, words, pool);
            all.iter().map(part_values).collect()
        }
        PackTable::PartSupply => {
            let all = PartSuppGenerator::new_with_text_pool(scale, number, count, pool);
            all.iter().map(part_supply_values).collect()
        }
        PackTable::Order => {
            let all = OrderGenerator::new_with_distributions_and_text_pool(scale, number, count, words, pool);
            all.iter().map(order_values).collect()
        }
        PackTable::Line => {
            let all = LineItemGenerator::new_with_distributions_and_text_pool(scale, number, count, words, pool);
            all.iter().map(line_values).collect()
        }
    }
}

fn int(value: impl Into<i64>) -> Datum {
    Datum::Int(value.into())
}

fn text(value: impl ToString) -> Datum {
    Datum::Text(value.to_string().into())
}

/// An amount of money or a share.
fn decimal(value: TPCHDecimal) -> Datum {
    Datum::Double(value.into_inner() as f64 / 100.0)
}

fn region_values(row: Region<'_>) -> Vec<Datum> {
    vec![int(row.r_regionkey), text(row.r_name), text(row.r_comment)]
}

fn nation_values(row: Nation<'_>) -> Vec<Datum> {
    vec![int(row.n_nationkey), text(row.n_name), int(row.n_regionkey), text(row.n_comment)]
}

fn supplier_values(row: Supplier) -> Vec<Datum> {
    vec![
        int(row.s_suppkey),
        text(row.s_name),
        text(row.s_address),
        int(row.s_nationkey),
        text(row.s_phone),
        decimal(row.s_acctbal),
        text(row.s_comment),
    ]
}

fn customer_values(row: Customer<'_>) -> Vec<Datum> {
    vec![
        int(row.c_custkey),
        text(row.c_name),
        text(row.c_address),
        int(row.c_nationkey),
        text(row.c_phone),
        decimal(row.c_acctbal),
        text(row.c_mktsegment),
        text(row.c_comment),
    ]
}

fn part_values(row: Part<'_>) -> Vec<Datum> {
    vec![
        int(row.p_partkey),
        text(row.p_name),
        text(row.p_mfgr),
        text(row.p_brand),
        text(row.p_type),
        int(row.p_size),
        text(row.p_container),
        decimal(row.p_retailprice),
        text(row.p_comment),
    ]
}

fn part_supply_values(row: PartSupp<'_>) -> Vec<Datum> {
    vec![
        int(row.ps_partkey),
        int(row.ps_suppkey),
        int(row.ps_availqty),
        decimal(row.ps_supplycost),
        text(row.ps_comment),
    ]
}

fn order_values(row: Order<'_>) -> Vec<Datum> {
    vec![
        int(row.o_orderkey),
        int(row.o_custkey),
        text(row.o_orderstatus),
        decimal(row.o_totalprice),
        text(row.o_orderdate),
        text(row.o_orderpriority),
        text(row.o_clerk),
        int(row.o_shippriority),
        text(row.o_comment),
    ]
}

fn line_values(row: LineItem<'_>) -> Vec<Datum> {
    vec![
        int(row.l_orderkey),
        int(row.l_partkey),
        int(row.l_suppkey),
        int(row.l_linenumber),
        int(row.l_quantity),
        decimal(row.l_extendedprice),
        decimal(row.l_discount),
        decimal(row.l_tax),
        text(row.l_returnflag),
        text(row.l_linestatus),
        text(row.l_shipdate),
        text(row.l_commitdate),
        text(row.l_receiptdate),
        text(row.l_shipinstruct),
        text(row.l_shipmode),
        text(row.l_comment),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All rows of a table by index, from the last one on or from the first.
    fn rows_by_index(table: PackTable, scale: f64) -> Vec<Vec<Datum>> {
        let (count, rule) = table_rows(table, scale);
        (0..count)
            .map(|index| {
                let mut row = Vec::new();
                rule(index, &mut row);
                row
            })
            .collect()
    }

    #[test]
    fn rows_by_index_are_those_of_the_whole_table() {
        // 10,050 orders, 1,005 customers: the last block has the rest.
        let scale = 0.0067;
        let pool = text_pool();
        for table in
            [PackTable::Nation, PackTable::Supplier, PackTable::Customer, PackTable::PartSupply, PackTable::Line]
        {
            let whole = make_rows(table, &Numbered { scale, number: 1, count: 1 }, &pool);
            let rows = rows_by_index(table, scale);
            assert!(rows == whole, "{table:?}: {} and {} rows", rows.len(), whole.len());
        }
        assert!(Blocks::new(PackTable::Line, scale).block_count() > 5);
    }

    #[test]
    fn a_row_is_the_same_whichever_was_made_before() {
        let scale = 0.0067;
        let (count, rule) = table_rows(PackTable::Line, scale);
        let whole = rows_by_index(PackTable::Line, scale);
        for index in [count - 1, 0, count / 2, 1, 4_100, count / 2, 0] {
            let mut row = Vec::new();
            rule(index, &mut row);
            assert_eq!(row, whole[index as usize], "{index}");
        }
    }

    #[test]
    fn the_pool_is_freed_after_the_last_row() {
        let (count, rule) = table_rows(PackTable::Line, 0.0067);
        let mut row = Vec::new();
        rule(0, &mut row);
        assert!(LAST.with_borrow(|last| last.pool.is_some()));
        rule(count - 1, &mut row);
        assert!(LAST.with_borrow(|last| last.pool.is_none()));
    }
}

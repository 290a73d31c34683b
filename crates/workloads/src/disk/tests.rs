use std::collections::BTreeMap;

use host::blocks::Access;
use model::Value;

use super::*;
use crate::dataset::FileLayout;
use load::stream::{Next, Stream};

fn point(pairs: &[(&str, Value)]) -> Point {
    for (key, _) in pairs {
        assert!(DiskKeys::SPECS.iter().any(|spec| spec.name == *key), "{key}");
    }
    pairs.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect()
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn load(pairs: &[(&str, Value)]) -> BlockLoad {
    keys::load_from_keys(&DiskKeys::read(&point(pairs)).unwrap()).unwrap()
}

fn refused(pairs: &[(&str, Value)]) -> String {
    keys::load_from_keys(&DiskKeys::read(&point(pairs)).unwrap()).unwrap_err().to_string()
}

const BLOCK: u64 = 8 << 10;

/// The blocks of the first operations of each client, in turn.
fn blocks(load: BlockLoad, all: u64, rounds: u64) -> Vec<Vec<u64>> {
    let work = StreamWork::Blocks(load);
    let cursors = Cursors::for_work(&work);
    let StreamWork::Blocks(load) = &work else { unreachable!("it is one of blocks") };
    let sizes = vec![load.offset_bytes + all * BLOCK; load.files.len()];
    let stream = BlockStream::new(load, &cursors, &sizes).unwrap();
    let mut clients = stream.new_clients(7, 0..load.client_count());
    let mut places = vec![Vec::new(); clients.len()];
    for index in 0..rounds {
        for (client, places) in clients.iter_mut().zip(&mut places) {
            stream.begin_transaction(client, index);
            let mut op = BlockRequest::Nothing;
            assert_eq!(stream.next_op(client, &mut op), Next::Op);
            let (BlockRequest::Read { offset, .. } | BlockRequest::Write { offset, .. }) = op else {
                panic!("{op:?} moves no block");
            };
            assert!(offset.is_multiple_of(BLOCK) && offset >= load.offset_bytes);
            places.push((offset - load.offset_bytes) / BLOCK);
        }
    }
    places
}

#[test]
fn keys_become_a_load() {
    let plain = load(&[]);
    assert_eq!((plain.read_percent, plain.block_bytes, plain.client_count()), (100, 8192, 1));
    assert_eq!((plain.files.len(), plain.files[0].access), (1, Access::Read));
    assert_eq!((plain.files[0].size_bytes, size_to_make(&plain.files[0])), (None, 1 << 30));
    let full = load(&[
        ("op", text("mixed")),
        ("read_percent", Value::Int(70)),
        ("threads", Value::Int(3)),
        ("depth", Value::Int(4)),
        ("cache", text("none")),
        ("offset_kb", Value::Int(64)),
        ("span_mb", Value::Int(2)),
        ("targets", text("a.dat, b.dat")),
        ("layout", text("fragmented")),
        ("affinity", text("0x5")),
        ("fsync_every", Value::Int(10)),
    ]);
    assert_eq!((full.client_count(), full.clients_per_thread(), full.fsync_every), (24, 8, 10));
    assert_eq!(full.affinity, ThreadAffinity::Among(vec![0, 2]));
    let file = &full.files[1];
    assert_eq!((file.name.as_deref(), file.access), (Some("b.dat"), Access::ReadWrite));
    assert_eq!((file.layout, file.reach_bytes), (FileLayout::Fragmented { piece_bytes: 4096 }, (64 << 10) + (2 << 20)));
    assert_eq!(load(&[("targets", text("a@4, b@1"))]).pools, Pools::ByFile(vec![4, 1]));
    assert_eq!(
        {
            let load = load(&[("targets", text("a@4:5000, b@1, c@2:1")), ("size_mb", Value::Int(7))]);
            load.files.iter().map(|file| size_to_make(file) >> 20).collect::<Vec<_>>()
        },
        [5000, 7, 1]
    );
    assert_eq!(load(&[("targets", text("a@4:5000, b@1:9"))]).pools, Pools::ByFile(vec![4, 1]));
    assert_eq!(load(&[("targets", text("a@b:1"))]).files[0].name.as_deref(), Some("a@b:1"));
    assert_eq!(bound("0").affinity, ThreadAffinity::Free);
    assert_eq!(bound("spread").affinity, ThreadAffinity::Spread);
    assert_eq!(bound("spread 0x6").affinity, ThreadAffinity::InTurn(vec![1, 2]));
    let by_file = bound("0x3, 0");
    assert_eq!(by_file.affinity, ThreadAffinity::ByPool(vec![vec![0, 1], Vec::new()]));
    assert_eq!([0, 1, 2].map(|thread| by_file.pool_of(thread)), [0, 0, 1]);
}

fn bound(affinity: &str) -> BlockLoad {
    load(&[("affinity", text(affinity)), ("targets", text("a@2, b@1"))])
}

#[test]
fn keys_that_contradict_each_other_are_refused() {
    let number = Value::Int;
    assert!(refused(&[("op", text("mixed"))]).contains("nothing says how"));
    assert!(refused(&[("read_percent", number(50))]).contains("`op` is not `mixed`"));
    assert!(refused(&[("fsync_every", number(1))]).contains("there are none"));
    assert!(refused(&[("stride.blocks", number(4))]).contains("`pattern` is not `stride`"));
    assert!(refused(&[("fragment_kb", number(8))]).contains("fresh"));
    assert!(refused(&[("layout", text("fragmented")), ("fragment_kb", number(6))]).contains("6 KiB"));
    assert!(refused(&[("block_kb", number(2048)), ("span_mb", number(1))]).contains("larger than the span"));
    assert!(refused(&[("threads", number(256)), ("depth", number(4096))]).contains("more than 65536"));
    assert!(refused(&[("targets", text("a, ,b"))]).contains("names no file"));
    assert!(refused(&[("targets", text("a@2, b"))]).contains("some of the files"));
    assert!(refused(&[("targets", text("a@2:0"))]).contains("a cannot have 0 MiB"));
    for out_of_range in ["a@300", "a@0, b@0", "a@1, b@257"] {
        assert!(refused(&[("targets", text(out_of_range))]).contains("threads"), "{out_of_range}");
    }
    assert!(refused(&[("affinity", text("0xg"))]).contains("`0xg` is no mask"));
    assert!(refused(&[("affinity", text("1, 2"))]).contains("holds 2 masks"));
}

#[test]
fn random_places_are_even_and_follow_the_seed() {
    let places = blocks(load(&[("depth", Value::Int(4))]), 10, 5_000);
    assert_eq!(places, blocks(load(&[("depth", Value::Int(4))]), 10, 5_000), "pure in seed, client and index");
    assert_ne!(places[0], places[1]);
    let mut counts = BTreeMap::new();
    places.iter().flatten().for_each(|block| *counts.entry(*block).or_insert(0_u32) += 1);
    // 20 000 draws of 10 blocks: a standard deviation is 42.
    assert_eq!(counts.len(), 10);
    assert!(counts.values().all(|count| (1_750..2_250).contains(count)), "{counts:?}");
}

#[test]
fn threads_share_a_sequence_or_have_their_own() {
    let with =
        |pattern: &str| load(&[("pattern", text(pattern)), ("threads", Value::Int(2)), ("depth", Value::Int(2))]);
    // Clients 0 and 1 are of the first thread, 2 and 3 of the second.
    assert_eq!(blocks(with("sequential"), 6, 2), [[0, 4], [1, 5], [2, 0], [3, 1]]);
    assert_eq!(blocks(with("sequential-own"), 3, 2), [[0, 2], [1, 0], [0, 2], [1, 0]]);
    assert_eq!(blocks(with("sequential-split"), 6, 2), [[0, 2], [1, 0], [3, 5], [4, 3]]);
    let stride = load(&[
        ("pattern", text("stride")),
        ("stride.blocks", Value::Int(4)),
        ("stride.rows", Value::Int(2)),
        ("offset_kb", Value::Int(16)),
    ]);
    assert_eq!(blocks(stride, 8, 9), [[0, 4, 1, 5, 2, 6, 3, 7, 0]]);
}

#[test]
fn files_have_threads_of_their_own_or_all_of_them() {
    let all = load(&[("targets", text("a, b")), ("threads", Value::Int(2)), ("depth", Value::Int(2))]);
    assert_eq!(files_of(&all), [0, 0, 1, 1, 0, 0, 1, 1]);
    let own = load(&[("targets", text("a@1, b@2")), ("depth", Value::Int(2))]);
    assert_eq!(files_of(&own), [0, 0, 1, 1, 1, 1]);
}

fn files_of(load: &BlockLoad) -> Vec<u32> {
    let sizes = vec![1 << 20; load.files.len()];
    let cursors = Cursors::default();
    let stream = BlockStream::new(load, &cursors, &sizes).unwrap();
    let mut files = Vec::new();
    for client in &mut stream.new_clients(1, 0..load.client_count()) {
        let mut op = BlockRequest::Nothing;
        stream.begin_transaction(client, 0);
        stream.next_op(client, &mut op);
        let BlockRequest::Read { file, .. } = op else { panic!("{op:?}") };
        files.push(file);
    }
    files
}

#[test]
fn a_span_must_lie_in_the_file() {
    let span = [("span_mb", Value::Int(1)), ("offset_kb", Value::Int(8))];
    assert!(fits(&span, (1 << 20) + BLOCK) && !fits(&span, 1 << 20));
    assert!(fits(&[], BLOCK) && !fits(&[], BLOCK - 1));
}

fn fits(pairs: &[(&str, Value)], size: u64) -> bool {
    let load = load(pairs);
    BlockStream::new(&load, &Cursors::default(), &[size]).is_some()
}

#[test]
fn every_so_many_writes_end_with_a_sync() {
    let load = load(&[("op", text("write")), ("fsync_every", Value::Int(2))]);
    let cursors = Cursors::default();
    let stream = BlockStream::new(&load, &cursors, &[1 << 20]).unwrap();
    let mut client = stream.new_client(1, 0);
    let mut seen = String::new();
    for index in 0..4 {
        stream.begin_transaction(&mut client, index);
        let mut op = BlockRequest::Nothing;
        while stream.next_op(&mut client, &mut op) == Next::Op {
            seen.push(match op {
                BlockRequest::Write { .. } => 'w',
                BlockRequest::Sync { .. } => 's',
                _ => '?',
            });
        }
        seen.push(' ');
    }
    assert_eq!(seen, "w ws w ws ");
}

#[test]
fn the_writes_of_all_outstanding_operations_of_a_thread_on_a_file_count_together() {
    let load = load(&[
        ("op", text("write")),
        ("fsync_every", Value::Int(3)),
        ("depth", Value::Int(2)),
        ("targets", text("a, b")),
    ]);
    let cursors = Cursors::default();
    let stream = BlockStream::new(&load, &cursors, &[1 << 20, 1 << 20]).unwrap();
    let mut clients = stream.new_clients(1, 0..4);
    let mut synced = Vec::new();
    // Clients 0 and 1 are on the first file, 2 and 3 on the second.
    for (number, client) in [0, 1, 2, 1, 3, 0, 2].into_iter().enumerate() {
        let client = &mut clients[client];
        stream.begin_transaction(client, number as u64);
        let mut op = BlockRequest::Nothing;
        assert_eq!(stream.next_op(client, &mut op), Next::Op);
        if stream.next_op(client, &mut op) == Next::Op {
            let BlockRequest::Sync { file } = op else { panic!("{op:?}") };
            synced.push((number, file));
            assert_eq!(stream.next_op(client, &mut op), Next::End);
        }
    }
    assert_eq!(synced, [(3, 0), (6, 1)]);
}

#[test]
fn a_mixed_load_tells_reads_from_writes() {
    let load = load(&[("op", text("mixed")), ("read_percent", Value::Int(70))]);
    let cursors = Cursors::default();
    let stream = BlockStream::new(&load, &cursors, &[1 << 20]).unwrap();
    assert_eq!(stream.kind_names(), ["reads", "writes"]);
    let mut client = stream.new_client(1, 0);
    let mut reads = 0;
    for index in 0..10_000 {
        stream.begin_transaction(&mut client, index);
        reads += usize::from(stream.current_kind(&client) == 0);
    }
    // A standard deviation is 46.
    assert!((6_750..7_250).contains(&reads), "{reads}");
}

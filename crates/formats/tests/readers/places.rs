//! Runs of one case in different places: other hosts, databases, devices, and options that are no conditions of the load.

use std::collections::BTreeSet;

use formats::places::tell_places_apart;
use formats::{Imported, into_experiment};

use crate::{import, import_as, samples::*};

/// A text, and what makes the same run one in another place.
const ELSEWHERE: &[(&str, &str, &str)] = &[
    (GO_TPC, "-H h ", "-H i "),
    (GO_TPC, "-P 4000", "-P 4001"),
    (GO_TPC, " --warehouses", " -D other --warehouses"),
    (GO_YCSB, "run mysql", "run pg"),
    (GO_YCSB, "\"fieldlength\"=\"100\"", "\"fieldlength\"=\"100\"\n\"mysql.host\"=\"10.0.0.2\""),
    (YCSB, "JdbcClient", "MongoDbClient"),
    (YCSB, "-t\n", "-p db.url=jdbc:postgresql://me:topsecret@db2/y -t\n"),
    (BENCHMARKSQL, "db=postgres", "db=oracle"),
    (TPCC_MYSQL, "[server]: h", "[server]: i"),
    (BENCHBASE, "\"POSTGRES\"", "\"MYSQL\""),
    (BENCHBASE, "PostgreSQL 15.4", "PostgreSQL 16.1"),
    (DISKSPD, "path: 'iotest.dat'", "path: 'F:\\iotest.dat'"),
    (DISKSPD, "computer name: X", "computer name: Y"),
    (DISKSPD_XML, "<Path>a.dat", "<Path>b.dat"),
    (SQLIO, "from file E:", "from file F:"),
    (FIO, "\"size\": \"16M\"", "\"size\": \"16M\", \"filename\": \"/dev/sdb\""),
    (CLICKBENCH, "c6a.4xlarge", "c6a.metal"),
];

/// Rounds of the first case, and how many points its benchmark has.
fn shape(mut imports: Vec<Imported>) -> (u32, usize) {
    tell_places_apart(&mut imports);
    let plan = into_experiment("x", &imports).unwrap().plan;
    (plan.schedule.rounds, plan.benchmarks[0].points.len())
}

#[test]
fn runs_in_different_places_are_no_repetitions() {
    for (text, from, to) in ELSEWHERE {
        assert!(text.contains(from), "{from}");
        let other = text.replacen(from, to, 1);
        let of = |one: &str, two: &str, systems: [&str; 2]| {
            [import_as(one, "1", systems[0], true), import_as(two, "2", systems[1], true)].concat()
        };
        let (alike, points) = shape(of(text, text, ["a", "a"]));
        assert_eq!(alike, 2, "{from}: two runs in one place are repetitions");
        assert_eq!(shape(of(text, &other, ["a", "a"])), (1, 2 * points), "{from} -> {to}");
        assert_eq!(shape(of(text, &other, ["a", "b"])), (1, points), "{from}: two systems are compared for it");
        let mut imports = of(text, &other, ["a", "a"]);
        tell_places_apart(&mut imports);
        assert!(!format!("{imports:?}").contains("topsecret"), "{from}");
        let notes: BTreeSet<&String> = imports.iter().flat_map(|import| &import.notes).collect();
        assert!(notes.iter().any(|note| note.contains("differs among runs of one case")), "{from}: {notes:?}");
    }
}

#[test]
fn each_numeric_property_of_ycsb_is_a_key() {
    for (from, to) in [("-t\n", "-p mongodb.batchsize=100 -t\n"), ("-t\n", "-p writeallfields=true -t\n")] {
        let changed = YCSB.replacen(from, to, 1);
        let imports = [import(YCSB), import(&changed)].concat();
        assert_ne!(imports[0].results[0].keys, imports[1].results[0].keys, "{to}");
    }
    let printed = YCSB.replacen("-t\n", "-p exportfile=b.txt -p status.interval=1 -t\n", 1);
    assert_eq!(import(YCSB)[0].results[0].keys, import(&printed)[0].results[0].keys, "what is printed");
    assert_eq!(import(YCSB)[0].results[0].places, import(&printed)[0].results[0].places, "where it is printed");
    let shell = YCSB.replacen("Command line: -db site.ycsb.db.JdbcClient", "$ bin/ycsb run jdbc", 1);
    assert_eq!(import(YCSB)[0].results[0].keys, import(&shell)[0].results[0].keys, "as a shell repeats it");
}

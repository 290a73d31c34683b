#![cfg(test)]

use formats::into_experiment;
use formats::reader::{Input, Options, Reads};
use formats::tidy::wide::Mapping;
use formats::tidy::{READER, Row, Table, import_table, parse_table, write_table};
use model::csv::quote_field;
use model::{Direction, Point, Reading, Value};
use proptest::prelude::*;

const TABLE: &str = "\u{feff}# source: an article\r\nsystem,clients,note,repetition,metric,unit,kind,value\r\n\
    linux,4,\"a, \"\"b\"\"\",1,throughput,tx/s,,100.5\r\nlinux,4,\"a, \"\"b\"\"\",1,cpu,ms,,n/a\r\n\r\n\
    windows,4,\"a, \"\"b\"\"\",1,throughput,tx/s,measured,99\r\nlinux,,,1,throughput,tx/s,printed,100\r\n";

#[test]
fn a_table_is_read() {
    let table = parse_table(TABLE).unwrap();
    assert_eq!(
        (table.keys.as_slice(), table.remarks.as_slice()),
        (&["clients".to_owned(), "note".to_owned()][..], &["source: an article".to_owned()][..])
    );
    let first = &table.rows[0];
    assert_eq!((first.line, first.system.as_str(), first.repetition), (3, "linux", Some(1)));
    assert_eq!((&first.point["clients"], &first.point["note"]), (&Value::Int(4), &Value::Text("a, \"b\"".to_owned())));
    assert_eq!((&first.value, first.unit.as_str()), (&Reading::Value(100.5), "tx/s"));
    assert_eq!(table.rows[1].value, Reading::unavailable("the table says n/a"));
    assert!(table.rows[3].point.is_empty());
    let imported = import_table(&table, "a.csv").unwrap();
    assert_eq!(imported.results.len(), 2);
    assert_eq!(imported.results[0].measurements.len(), 2);
    assert_eq!(imported.results[0].measurements[0].metric.direction, Direction::Higher);
    assert_eq!(imported.notes, ["source: an article", "1 rows are of other kinds and no measurements"]);
    assert_eq!(into_experiment("x", &[imported]).unwrap().runs.len(), 2);
}

#[test]
fn a_reason_keeps_its_kind() {
    let table = parse_table("system,metric,value\na,elapsed/S1,n/a: unsupported: no ST_IsValid\n").unwrap();
    assert_eq!(table.rows[0].value, Reading::Unavailable(model::Absence::Unsupported.with_reason("no ST_IsValid")));
    assert!(write_table(&table).contains("n/a: unsupported: no ST_IsValid"), "{table:?}");
}

#[test]
fn semicolons_tabs_and_other_orders_are_read() {
    for separator in [";", "\t"] {
        let text = ["value,metric,SYSTEM", "1.5,size,\"a;b\tc\""].join("\n").replace(',', separator);
        let table = parse_table(&text).unwrap();
        assert_eq!((table.rows[0].system.as_str(), &table.rows[0].value), ("a;b\tc", &Reading::Value(1.5)));
        assert_eq!(table.missing, ["repetition", "unit"]);
    }
}

#[test]
fn without_a_column_rows_are_repetitions_in_their_order() {
    let table = parse_table("system,metric,value\na,iops,1\na,iops,2\nb,iops,3\na,mood,7\n").unwrap();
    let imported = import_table(&table, "a.csv").unwrap();
    let repetitions: Vec<Option<u32>> = imported.results.iter().map(|result| result.repetition).collect();
    assert_eq!(repetitions, [Some(1), Some(2), Some(1)]);
    assert!(imported.unknown.contains(&"which rows belong to one repetition".to_owned()));
    assert!(imported.unknown.contains(&"which way is better for mood".to_owned()));
}

#[test]
fn errors_name_line_and_column() {
    for (text, message, hint) in [
        ("", "the table is empty", "its first line"),
        ("system,metric\n", "line 1: there is no column `value`", "tidy table"),
        ("systm,metric,value\n", "line 1: there is no column `system`", "called `systm`"),
        ("system,metric,value,Value\n", "line 1, column 21: column Value stands twice", ""),
        ("system,,metric,value\n", "line 1, column 8: this column has no name", ""),
        ("system,metric,value\n\na,b\n", "line 3: 2 fields, the heading has 3", "double quotes"),
        ("system,metric,value\na,b,1,5\n", "line 2: 4 fields, the heading has 3", "double quotes"),
        ("system;metric;value\na;b;1,5\n", "line 2, column 5: 1,5: this is no number", "write a point"),
        ("system,metric,value\na,b,5ms\n", "line 2, column 5: 5ms: this is no number", "`unit`"),
        ("system,metric,value\na,b,fast\n", "line 2, column 5: fast: this is no number", "n/a"),
        ("system,metric,value\na,b,inf\n", "line 2, column 5: inf: this is no number", "n/a"),
        ("system,metric,value\n,b,5\n", "line 2, column 1: the system is empty", ""),
        ("system,repetition,metric,value\na,0,b,5\n", "line 2, column 3: 0: a repetition is a number from 1", ""),
        (
            "system,direction,metric,value\na,up,b,5\n",
            "line 2, column 3: up: a direction is higher, lower or neither",
            "",
        ),
        ("system,metric,value\n\"a\nb,c,1\n", "line 2, column 1: this quote is not closed", ""),
        ("system,metric,value\n\"a\"b,c,1\n", "line 2, column 4: something follows the closing quote", ""),
        ("system,metric,value\na\"b,c,1\n", "line 2, column 2: a double quote within a field", "twice"),
    ] {
        let error = parse_table(text).unwrap_err();
        assert_eq!(error.to_string(), message, "{text:?}");
        assert!(error.hint().unwrap_or_default().contains(hint), "{text:?}: {:?}", error.hint());
    }
    let twice = parse_table("system,repetition,metric,value\na,1,b,5\na,1,b,6\n").unwrap();
    let error = import_table(&twice, "a.csv").unwrap_err();
    assert_eq!(error.to_string(), "line 3: b stands here again for the same case and repetition as in line 2");
}

fn text() -> impl Strategy<Value = String> {
    "[a-zéµ=+@,;\"\n #'-]{0,8}[a-z]"
}

fn key_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i64>().prop_map(Value::Int),
        "[a-z='@+ \",;-]{0,6}[x-z]".prop_map(|text| Value::Text(text.trim().to_owned())),
    ]
}

fn tables() -> impl Strategy<Value = Table> {
    let row = (text(), key_value(), text(), text(), proptest::option::of(-1e9..1e9_f64), 1..9_u32);
    proptest::collection::vec(row, 0..6).prop_map(|rows| Table {
        keys: vec!["key, one".to_owned()],
        renamed: Vec::new(),
        rows: (2..)
            .zip(rows)
            .map(|(line, (system, key, metric, unit, value, repetition))| Row {
                experiment: None,
                line,
                system: system.trim().to_owned(),
                benchmark: None,
                point: Point::from([("key, one".to_owned(), key)]),
                repetition: Some(repetition),
                metric: metric.trim().to_owned(),
                unit: unit.trim().to_owned(),
                direction: None,
                role: None,
                kind: String::new(),
                written: value.map_or_else(|| "n/a".to_owned(), |value: f64| value.to_string()),
                value: value.map_or_else(|| Reading::unavailable("the table says n/a"), Reading::Value),
            })
            .collect(),
        remarks: vec!["a remark".to_owned()],
        missing: Vec::new(),
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read(table in tables()) {
        let mut read = parse_table(&write_table(&table)).unwrap();
        // Quoted fields may hold line ends, so lines move.
        read.rows.iter_mut().zip(&table.rows).for_each(|(row, written)| row.line = written.line);
        prop_assert_eq!(&read, &table);
        // A spreadsheet runs what begins so.
        let fields = table.rows.iter().flat_map(|row| [&row.system, &row.metric, &row.unit]);
        for field in fields.map(|field| quote_field(field)) {
            let shown = field.strip_prefix('"').unwrap_or(&field);
            prop_assert!(!shown.starts_with(['=', '+', '-', '@']), "{}", field);
        }
    }

    #[test]
    fn nothing_makes_it_panic(text in "(\\PC|[,;\n\r\t\"#]){0,200}", cut in 0..300_usize, junk in "[ -~\n]{0,8}") {
        let _ = parse_table(&text);
        let mut characters: Vec<char> = TABLE.chars().collect();
        let at = cut.min(characters.len());
        characters.splice(at..at, junk.chars());
        if let Ok(table) = parse_table(&characters.into_iter().collect::<String>())
            && let Ok(imported) = import_table(&table, "a")
        {
            let _ = into_experiment("x", &[imported]);
        }
    }
}

/// The results that became runs, as system, benchmark, keys, round, state and how many attempts were before.
fn runs(text: &str) -> Vec<(String, String, String, u32, &'static str, usize)> {
    let experiment = into_experiment("x", &[import_table(&parse_table(text).unwrap(), "a.csv").unwrap()]).unwrap();
    let cases = experiment.plan.cases();
    let all = experiment.runs.iter().map(|(planned, record)| {
        let case = &cases[planned.case as usize];
        let keys: Vec<String> = case.point.values().map(ToString::to_string).collect();
        let attempts = experiment.repeated.iter().filter(|(other, _)| other == planned).count();
        let (system, benchmark) = (case.system.clone(), case.benchmark.clone());
        (system, benchmark, keys.join(","), planned.round, record.state.as_str(), attempts)
    });
    all.collect()
}

fn refused(text: &str) -> String {
    let error = import_table(&parse_table(text).unwrap(), "a.csv").unwrap_err();
    format!("{error}; {}", error.hint().unwrap_or_default())
}

const RULES: &str = "# etalon: repetitions=rounds order=interleaved margin=0.03 level=0.95 seed=1 baseline=a\n";

#[test]
fn an_aborted_run_has_failed_unless_etalon_was_stopped() {
    let table = |reason: &str| {
        format!("system,kind,repetition,metric,value\na,,1,x,5\na,run,2,aborted,{reason}\na,run,3,Failed,{reason}\n")
    };
    let states = |text: String| runs(&text).into_iter().map(|run| run.4).collect::<Vec<_>>();
    for reason in ["it hung", "interrupted by the user", "the process ended in mid-run"] {
        assert_eq!(states(table(reason)), ["measured", "failed", "failed"], "{reason}");
    }
    for reason in ["interrupted by the user: connection lost", "the process ended in mid-run"] {
        assert_eq!(states(RULES.to_owned() + &table(reason)), ["measured", "aborted", "failed"], "{reason}");
    }
    let repeated = |metric: &str, reason: &str| {
        let text = format!("{RULES}system,kind,repetition,metric,value\na,,1,x,5\na,run,1,{metric},{reason}\n");
        let experiment = into_experiment("x", &[import_table(&parse_table(&text).unwrap(), "a.csv").unwrap()]).unwrap();
        experiment.repeated.iter().map(|(_, record)| record.state.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(repeated("restarted", "it was stopped"), ["aborted"]);
    assert_eq!(repeated("repeated", "it hung"), ["failed"]);
    assert_eq!(repeated("repeated", "interrupted by the user"), ["aborted"], "a table of before");
}

#[test]
fn an_attempt_that_was_repeated_stands_before_the_one_that_counts() {
    let text = "system,kind,repetition,metric,value\na,,1,x,5\na,run,1,repeated,lost\na,run,1,repeated,again\n\
                a,run,2,repeated,once\na,run,2,failed,for good\n";
    let found: Vec<_> = runs(text).into_iter().map(|run| (run.3, run.4, run.5)).collect();
    assert_eq!(found, [(0, "measured", 2), (1, "failed", 1)]);
    let alone = "system,kind,repetition,metric,value\na,,1,x,5\na,run,2,repeated,lost\n";
    let said = refused(alone);
    assert!(said.starts_with("line 3: this run is of no measurement in the table; a run that failed"), "{said}");
    let twice = "system,kind,repetition,metric,value\na,,1,x,5\na,run,1,failed,lost\n";
    let said = refused(twice);
    assert!(said.contains("line 3") && said.contains("metric `repeated`"), "{said}");
}

#[test]
fn a_run_that_failed_before_it_told_its_case_counts_in_each_that_it_may_have_been_of() {
    let of = |system: &str, benchmark: &str, keys: &str, round, state| {
        (system.to_owned(), benchmark.to_owned(), keys.to_owned(), round, state, 0)
    };
    let head = "system,benchmark,clients,kind,repetition,metric,value\na,tp,4,,1,x,5\na,tp,8,,1,x,5\na,read,4,,1,x,5\n";
    let failed =
        |row: &str| -> Vec<_> { runs(&format!("{head}{row}\n")).into_iter().filter(|run| run.4 == "failed").collect() };
    let all = [of("b", "tp", "4", 1, "failed"), of("b", "tp", "8", 1, "failed"), of("b", "read", "4", 1, "failed")];
    assert_eq!(failed("b,,,run,2,failed,lost"), all, "no benchmark");
    assert_eq!(failed("b,tp,,run,2,failed,lost"), all[..2], "no key");
    assert_eq!(failed("b,,4,run,2,failed,lost"), [all[0].clone(), all[2].clone()]);
    assert_eq!(failed("b,tp,8,run,2,failed,lost"), all[1..2], "all is told");
    assert_eq!(failed("b,write,,run,1,failed,lost"), [of("b", "write", "", 0, "failed")], "none agrees");
    // A repetition that was measured does not hide it.
    assert_eq!(failed("a,read,,run,1,failed,lost"), [of("a", "read", "4", 1, "failed")]);
    // Nothing names a benchmark.
    let text = "system,clients,kind,repetition,metric,value\na,4,,1,x,5\na,8,,1,x,5\na,,run,2,failed,lost\n";
    let found: Vec<_> = runs(text).into_iter().filter(|run| run.4 == "failed").collect();
    assert_eq!(found, [of("a", "imported", "4", 1, "failed"), of("a", "imported", "8", 1, "failed")]);
}

#[test]
fn a_metric_has_one_unit_and_one_better_way() {
    let text = |rows: &str| format!("system,benchmark,repetition,metric,unit,direction,value\n{rows}\n");
    let made = text("a,tp,1,p99,ms,,100\nb,tp,1,p99,s,,0.1\nb,tp,2,p99,,,n/a\nb,ap,1,p99,min,,2");
    let imported = import_table(&parse_table(&made).unwrap(), "a.csv").unwrap();
    let found: Vec<_> = imported
        .results
        .iter()
        .flat_map(|one| &one.measurements)
        .map(|m| (m.metric.unit.as_str(), &m.reading))
        .collect();
    let n_a = Reading::unavailable("the table says n/a");
    let (hundred, two) = (Reading::Value(100.0), Reading::Value(2.0));
    assert_eq!(found, [("ms", &hundred), ("ms", &hundred), ("ms", &n_a), ("min", &two)]);
    assert!(imported.notes.contains(&"p99: s were made ms".to_owned()), "{:?}", imported.notes);
    for (rows, message) in [
        ("a,tp,1,p99,ms,,100\nb,tp,1,p99,MB,,1", "line 3: p99 is in `MB` here, and in `ms` in line 2; "),
        ("a,tp,1,p99,ms,,100\nb,tp,1,p99,,,1", "line 3: p99 is without a unit here, and in `ms` in line 2; "),
        (
            "a,tp,1,x,,higher,1\nb,tp,1,x,,lower,1",
            "line 3: x is better when lower here, and better when higher in line 2; ",
        ),
    ] {
        let said = refused(&text(rows));
        assert!(said.starts_with(message) && said.contains("one unit and one better way"), "{said}");
    }
    // Where only one row tells the better way it holds for all.
    let told = import_table(&parse_table(&text("a,tp,1,x,,,1\nb,tp,1,x,,higher,1")).unwrap(), "a.csv").unwrap();
    assert!(told.results.iter().all(|one| one.measurements[0].metric.direction == Direction::Higher));
    // Of two tables.
    let two = |first: &str, second: &str| {
        let read = |rows: &str, source: &str| import_table(&parse_table(&text(rows)).unwrap(), source).unwrap();
        into_experiment("x", &[read(first, "a.csv"), read(second, "b.csv")])
    };
    let experiment = two("a,tp,1,p99,ms,,100", "b,tp,1,p99,s,,0.1").unwrap();
    let records: Vec<_> = experiment.runs.iter().map(|(_, record)| &record.measurements[0]).collect();
    assert_eq!((&records[0].reading, records[0].metric.unit.as_str()), (&Reading::Value(100.0), "ms"));
    assert_eq!(records[0], records[1]);
    assert!(experiment.runs[1].1.marks.iter().any(|mark| mark.detail == "p99: s were made ms"));
    let error = two("a,tp,1,p99,ms,,100", "b,tp,1,p99,MB,,1").unwrap_err();
    assert_eq!(
        error.to_string(),
        "p99 of tp is in `MB` in b.csv (b, no keys, repetition 1), and in `ms` in a.csv (a, no keys, repetition 1)"
    );
}

#[test]
fn a_share_of_failures_is_a_percentage() {
    let text =
        |unit: &str, value: &str| format!("system,repetition,metric,unit,value\na,1,failed_share,{unit},{value}\n");
    for (unit, value, message) in [
        ("", "0.4", "line 2: failed_share is in `%`, and not in ``"),
        ("fraction", "0.4", "line 2: failed_share is in `%`, and not in `fraction`"),
        ("%", "-1", "line 2: failed_share is -1 %, which is no share"),
        ("%", "100.5", "line 2: failed_share is 100.5 %, which is no share"),
    ] {
        let said = refused(&text(unit, value));
        assert!(said.starts_with(message) && said.contains("in percent of all that ended"), "{said}");
    }
    for (unit, value) in [("%", "0"), ("%", "100"), ("", "n/a")] {
        assert!(import_table(&parse_table(&text(unit, value)).unwrap(), "a").is_ok(), "{value} {unit}");
    }
    let higher = "system,repetition,direction,metric,unit,value\na,1,higher,failed_share,%,4\n";
    assert!(refused(higher).contains("better when lower"));
}

#[test]
fn a_state_that_stands_as_a_kind_is_refused() {
    for (kind, hint) in [
        ("failed", "`run` as its kind"),
        ("Aborted", "`run` as its kind"),
        ("failure", "`run` as its kind"),
        ("runs", "is it `run`?"),
        ("mesured", "is it `measured`?"),
    ] {
        let said = refused(&format!("system,kind,repetition,metric,value\na,,1,x,5\na,{kind},2,x,6\n"));
        assert!(said.starts_with(&format!("line 3: {kind}: no such kind of row; ")) && said.contains(hint), "{said}");
    }
    let other = parse_table("system,kind,metric,value\na,,x,5\na,printed,x,5\na,comment,x,6\n").unwrap();
    assert_eq!(import_table(&other, "a").unwrap().notes, ["2 rows are of other kinds and no measurements"]);
}

#[test]
fn gaps_among_the_repetitions_of_a_side_are_told() {
    let rows = |system: &str, step: usize| -> String {
        (1..=30).step_by(1).filter(|n| n % step == 0).map(|n| format!("{system},{n},x,5\n")).collect()
    };
    let text = |of_b: &str| format!("system,repetition,metric,value\n{}{of_b}", rows("a", 1));
    let made =
        |text: &str| into_experiment("x", &[import_table(&parse_table(text).unwrap(), "a.csv").unwrap()]).unwrap();
    let gaps = made(&text(&rows("b", 3)));
    let note = "b lacks 20 of 30 repetitions of imported (no keys): 1, 2, 4, 5, 7, 8, 10, 11, 13, 14 and 10 more; \
                if they failed, say so in the table";
    assert_eq!(gaps.notes, [note]);
    let told = gaps.runs.iter().filter(|(_, record)| record.marks.iter().any(|mark| mark.detail == note)).count();
    assert_eq!(told, 10, "each run of b");
    let fewer: String = rows("b", 1).lines().take(10).map(|line| format!("{line}\n")).collect();
    assert!(made(&text(&fewer)).notes.is_empty(), "fewer are no gap");
}

#[test]
fn a_column_of_another_name_is_taken_for_that_of_the_systems() {
    let text = "Platform,run,load,metric,value\nA,1,x,tps,100\nB,1,x,tps,120\n";
    assert!((READER.recognises)(text));
    let table = parse_table(text).unwrap();
    assert_eq!(table.keys, ["run", "load"]);
    let imported = import_table(&table, "p.csv").unwrap();
    assert_eq!(imported.notes, ["the column `Platform` is taken for `system`"]);
    assert_eq!(imported.results.iter().map(|result| result.system.as_str()).collect::<Vec<_>>(), ["A", "B"]);
    // Which of two it is, the table does not say.
    assert!(!(READER.recognises)("host,engine,metric,value\nh,A,tps,100\n"));
    assert!(!(READER.recognises)("load,metric,value\nx,tps,100\n"));
}

#[test]
fn what_a_map_says_goes_before_what_a_name_is_taken_for() {
    let mappings = ["platform=key", "metric=system", "value=tps:tx/s:higher"].map(|text| Mapping::parse(text).unwrap());
    let options = Options { mappings: mappings.to_vec(), ..Options::default() };
    let text = "platform,metric,value\nA,x,100\nA,y,101\n";
    let Reads::Text(read) = READER.reads else { panic!() };
    let found = read(&Input { text, system: "f", source: "f.csv", below: "f.csv", is_named: false, options: &options })
        .unwrap();
    let systems: Vec<&str> = found.imported.results.iter().map(|result| result.system.as_str()).collect();
    assert_eq!(systems, ["x", "y"]);
}

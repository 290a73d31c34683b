#![cfg(test)]

use formats::into_experiment;
use formats::tidy::{Row, Table, import, parse, write};
use model::csv::quoted;
use model::{Direction, Point, Reading, Value};
use proptest::prelude::*;

const TABLE: &str = "\u{feff}# source: an article\r\nsystem,clients,note,repetition,metric,unit,kind,value\r\n\
    linux,4,\"a, \"\"b\"\"\",1,throughput,tx/s,,100.5\r\nlinux,4,\"a, \"\"b\"\"\",1,cpu,ms,,n/a\r\n\r\n\
    windows,4,\"a, \"\"b\"\"\",1,throughput,tx/s,measured,99\r\nlinux,,,1,throughput,tx/s,printed,100\r\n";

#[test]
fn a_table_is_read() {
    let table = parse(TABLE).unwrap();
    assert_eq!(
        (table.keys.as_slice(), table.remarks.as_slice()),
        (&["clients".to_owned(), "note".to_owned()][..], &["source: an article".to_owned()][..])
    );
    let first = &table.rows[0];
    assert_eq!((first.line, first.system.as_str(), first.repetition), (3, "linux", Some(1)));
    assert_eq!((&first.point["clients"], &first.point["note"]), (&Value::Int(4), &Value::Text("a, \"b\"".to_owned())));
    assert_eq!((&first.value, first.unit.as_str()), (&Reading::Value(100.5), "tx/s"));
    assert_eq!(table.rows[1].value, Reading::Unavailable("the table says n/a".to_owned()));
    assert!(table.rows[3].point.is_empty());
    let imported = import(&table, "a.csv").unwrap();
    assert_eq!(imported.results.len(), 2);
    assert_eq!(imported.results[0].measurements.len(), 2);
    assert_eq!(imported.results[0].measurements[0].metric.direction, Direction::Higher);
    assert_eq!(imported.notes, ["source: an article", "1 rows are of other kinds and no measurements"]);
    assert_eq!(into_experiment("x", &[imported]).unwrap().trials.len(), 2);
}

#[test]
fn semicolons_tabs_and_other_orders_are_read() {
    for separator in [";", "\t"] {
        let text = ["value,metric,SYSTEM", "1.5,size,\"a;b\tc\""].join("\n").replace(',', separator);
        let table = parse(&text).unwrap();
        assert_eq!((table.rows[0].system.as_str(), &table.rows[0].value), ("a;b\tc", &Reading::Value(1.5)));
        assert_eq!(table.missing, ["repetition", "unit"]);
    }
}

#[test]
fn without_a_column_rows_are_repetitions_in_their_order() {
    let table = parse("system,metric,value\na,iops,1\na,iops,2\nb,iops,3\na,mood,7\n").unwrap();
    let imported = import(&table, "a.csv").unwrap();
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
        let error = parse(text).unwrap_err();
        assert_eq!(error.to_string(), message, "{text:?}");
        assert!(error.hint().unwrap_or_default().contains(hint), "{text:?}: {:?}", error.hint());
    }
    let twice = parse("system,repetition,metric,value\na,1,b,5\na,1,b,6\n").unwrap();
    let error = import(&twice, "a.csv").unwrap_err();
    assert_eq!(error.to_string(), "line 3: b stands here again for the same cell and repetition as in line 2");
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
        rows: (2..)
            .zip(rows)
            .map(|(line, (system, key, metric, unit, value, repetition))| Row {
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
                value: value.map_or_else(|| Reading::Unavailable("the table says n/a".to_owned()), Reading::Value),
            })
            .collect(),
        remarks: vec!["a remark".to_owned()],
        missing: Vec::new(),
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read(table in tables()) {
        let mut read = parse(&write(&table)).unwrap();
        // Quoted fields may hold line ends, so lines move.
        read.rows.iter_mut().zip(&table.rows).for_each(|(row, written)| row.line = written.line);
        prop_assert_eq!(&read, &table);
        // A spreadsheet runs what begins so.
        let fields = table.rows.iter().flat_map(|row| [&row.system, &row.metric, &row.unit]);
        for field in fields.map(|field| quoted(field)) {
            let shown = field.strip_prefix('"').unwrap_or(&field);
            prop_assert!(!shown.starts_with(['=', '+', '-', '@']), "{}", field);
        }
    }

    #[test]
    fn nothing_makes_it_panic(text in "(\\PC|[,;\n\r\t\"#]){0,200}", cut in 0..300_usize, junk in "[ -~\n]{0,8}") {
        let _ = parse(&text);
        let mut characters: Vec<char> = TABLE.chars().collect();
        let at = cut.min(characters.len());
        characters.splice(at..at, junk.chars());
        if let Ok(table) = parse(&characters.into_iter().collect::<String>())
            && let Ok(imported) = import(&table, "a")
        {
            let _ = into_experiment("x", &[imported]);
        }
    }
}

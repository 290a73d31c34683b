//! `etalon audit` on files that are wrong, and its other forms. What it finds is tested in its own crate and in `docs/audits`.

use crate::scene::Scene;

const HEAD: &str = "system,repetition,metric,unit,kind,value,statistic,against,formula\n";
const ROWS: &str = "a,1,wait,ms,,10,,,\na,2,wait,ms,,20,,,\na,,wait,ms,printed,15.0,mean,,\n";

#[test]
fn a_table_that_cannot_be_audited_is_refused_with_its_line() {
    let scene = Scene::new();
    for (rows, message) in [
        ("", "no printed figure"),
        ("a,1,wait,ms,,10,,,\n", "no printed figure"),
        ("a,,wait,ms,printed,1,middle,,\n", "line 2: middle: no such statistic"),
        ("a,,wait,ms,printed,1,times,,\n", "line 2: a comparison has another side"),
        ("a,,wait,ms,printed,1,value,,1 +\n", "line 2: formula: a name or a number is missing"),
        ("a,,wait,ms,guessed,1,mean,,\n", "line 2: guessed: no such kind of row"),
        ("a,1,wait,ms,,ten,,,\n", "line 2, column 14: ten: this is no number"),
    ] {
        scene.write("t.csv", &format!("{HEAD}{rows}"));
        let refused = scene.etalon(&["audit", "t.csv"]);
        assert_eq!((refused.code, refused.stdout.as_str()), (2, ""), "{rows}");
        assert!(refused.stderr.contains(message), "{rows}: {}", refused.stderr);
    }
    assert_eq!(scene.etalon(&["audit", "absent.csv"]).code, 2);
}

#[test]
fn the_exit_code_and_the_json_tell_what_was_found() {
    let scene = Scene::new();
    scene.write("right.csv", &format!("{HEAD}{ROWS}"));
    assert_eq!(scene.etalon(&["audit", "right.csv"]).code, 0);
    scene.write("wrong.csv", &format!("{HEAD}{}", ROWS.replace("15.0", "16.3")));
    let wrong = scene.etalon(&["--json", "audit", "wrong.csv"]);
    assert_eq!(wrong.code, 1, "{}", wrong.stderr);
    let told: serde_json::Value = serde_json::from_str(&wrong.stdout).unwrap();
    assert_eq!((&told["schema_version"], &told["figures"][0]["computed"]), (&1.into(), &15.0.into()), "{told}");
    assert_eq!(told["figures"][0]["status"], "does-not-follow", "{told}");
    let markdown = scene.etalon(&["audit", "wrong.csv", "--format", "markdown"]);
    assert!(markdown.stdout.contains("| a wait mean | 16.3 ms | 15.00 | **does not follow** |"), "{}", markdown.stdout);
}

#[test]
fn measured_rows_in_whole_units_are_rounded_and_counts_are_exact() {
    let scene = Scene::new();
    for (metric, unit, grain, status, code) in [
        ("m", "ms", "", "rounding", 0),
        ("m", "rows", "", "impossible", 1),
        ("m", "ms", "1", "impossible", 1),
        ("reads", "", "", "impossible", 1),
        ("latency", "", "", "rounding", 0),
        ("response_p99", "", "", "rounding", 0),
    ] {
        let rows = (1..).zip([12, 13, 12, 14, 12]).map(|(i, v)| format!("a,{i},{metric},{unit},,{v},,{grain}\n"));
        let head = "system,repetition,metric,unit,kind,value,statistic,grain\n";
        let table = format!("{head}{}a,,{metric},{unit},printed,12.71,mean,\n", rows.collect::<String>());
        scene.write("t.csv", &table);
        let found = scene.etalon(&["--json", "audit", "t.csv"]);
        let told: serde_json::Value = serde_json::from_str(&found.stdout).unwrap();
        assert_eq!(
            (told["figures"][0]["status"].as_str(), found.code),
            (Some(status), code),
            "{metric} {unit} {grain}: {told}"
        );
    }
}

#[test]
fn figures_are_held_against_rows_in_their_own_unit() {
    let scene = Scene::new();
    let of = |system: &str, unit: &str, values: [&str; 3]| -> String {
        (1..).zip(values).map(|(i, value)| format!("{system},{i},wait,{unit},,{value},,\n")).collect()
    };
    let in_ms = || format!("{}{}", of("a", "ms", ["100", "101", "102"]), of("b", "s", ["0.201", "0.202", "0.203"]));
    for (rows, printed, status) in [
        (in_ms(), "a,,wait,s,printed,0.101,mean,", "follows"),
        (in_ms(), "a,,wait,µs,printed,101000,mean,", "follows"),
        (in_ms(), "b,,wait,ms,printed,202,mean,", "follows"),
        (in_ms(), "b,,wait,ms,printed,202.9,mean,", "does-not-follow"),
        (in_ms(), "a,,wait,ms,printed,0.101,mean,", "mislabelled"),
        (in_ms(), "b,,wait,s,printed,0.101,difference,a", "follows"),
        (in_ms(), "b,,wait,x,printed,2.0,ratio,a", "follows"),
        (in_ms(), "b,,wait,x,printed,2.1,ratio,a", "does-not-follow"),
        (in_ms(), "a,,wait,,printed,a,winner,b", "follows"),
        // From printed figures alone, of which each has its unit.
        (
            "a,,wait,ms,printed,100,mean,\nb,,wait,s,printed,0.200,mean,\n".to_owned(),
            "b,,wait,x,printed,2.0,ratio,a",
            "follows",
        ),
        // Decimal and binary sizes are apart, and one called the other is so named.
        (of("a", "bytes", ["9000000", "9500000", "10000000"]), "a,,wait,MB,printed,9.50,mean,", "follows"),
        (of("a", "bytes", ["9000000", "9500000", "10000000"]), "a,,wait,MB,printed,9.06,mean,", "mislabelled"),
    ] {
        let head = "system,repetition,metric,unit,kind,value,statistic,against\n";
        scene.write("t.csv", &format!("{head}{rows}{printed}\n"));
        let found = scene.etalon(&["--json", "audit", "t.csv"]);
        let told: serde_json::Value = serde_json::from_str(&found.stdout).unwrap();
        let figures = told["figures"].as_array().unwrap();
        assert_eq!(figures[figures.len() - 1]["status"], status, "{printed}: {told}");
    }
}

/// Eight repetitions around a value, 1 % up and down.
fn eight(value: f64) -> Vec<String> {
    [0.99, 1.0, 1.01, 1.005, 0.995, 1.002, 0.998, 1.0].iter().map(|by| format!("{:.4}", value * by)).collect()
}

fn measured(system: &str, metric: &str, unit: &str, values: &[String]) -> String {
    (1..).zip(values).map(|(i, value)| format!("{system},{i},{metric},{unit},,{value},,\n")).collect()
}

/// Tables of one metric, which `old` and `new` measured, with what must keep or give the verdict.
fn tables() -> Vec<(&'static str, &'static str, String, Option<&'static str>)> {
    let both = |metric, unit, a: &[String], b: &[String]| {
        format!("{}{}", measured("old", metric, unit, a), measured("new", metric, unit, b))
    };
    let tps = |rest: &str| both("tps", "tx/s", &eight(100.0), &eight(120.0)) + rest;
    let six = |rest: &str| both("tps", "tx/s", &eight(100.0), &eight(120.0)[..6]) + rest;
    let (twelve, thirteen) = (vec!["12".to_owned(); 8], vec!["13".to_owned(); 8]);
    let shares = |share: &str| measured("new", "failed_share", "%", &vec![share.to_owned(); 8]);
    let no_failure = measured("old", "failed_share", "%", &vec!["0".to_owned(); 8]);
    let p99 = both("p99", "ms", &eight(100.0), &eight(50.0));
    let units = measured("old", "latency", "s", &eight(0.1)) + &measured("new", "latency", "ms", &eight(100.0));
    let tiers = "old,,durability.tier,,factor,durable,,\nnew,,durability.tier,,factor,unsafe,,\n";
    let cells = (1..=8).map(|i| format!("old,{i},wait,ms,printed,12,value,\nnew,{i},wait,ms,printed,13,value,\n"));
    let parts = ["old", "new"].map(|system| {
        measured(system, "busy", "ms", &eight(if system == "old" { 300.0 } else { 600.0 }))
            + &measured(system, "done", "calls", &vec!["30".to_owned(); 8])
    });
    vec![
        ("tps", "tx/s", tps(""), Some("faster")),
        ("latency", "ms", both("latency", "ms", &twelve, &thirteen), None),
        ("tps", "tx/s", six("new,7,tps,tx/s,,n/a,,\nnew,8,tps,tx/s,,n/a,,\n"), None),
        ("tps", "tx/s", six("new,7,failed,,run,out of memory,,\nnew,8,failed,,run,out of memory,,\n"), None),
        ("p99", "ms", p99.clone() + &no_failure + &shares("40"), None),
        ("p99", "ms", p99 + &no_failure + &shares("0"), Some("faster")),
        ("latency", "ms", units, Some("equivalent")),
        ("tps", "tx/s", tps("new,1,client-saturated,,mark,busy,,\n"), None),
        ("tps", "tx/s", tps(tiers), None),
        ("tps", "tx/s", both("tps", "tx/s", &eight(100.0)[..5], &eight(120.0)[..5]), None),
        ("wait", "ms", cells.collect(), None),
        ("wait", "ms", parts.concat(), Some("slower")),
    ]
}

#[test]
fn the_rows_support_what_compare_says_of_them() {
    let scene = Scene::new();
    let head = "system,repetition,metric,unit,kind,value,statistic,formula\n";
    for (number, (metric, unit, rows, verdict)) in tables().into_iter().enumerate() {
        let formula = if rows.contains("busy") { "busy / done" } else { "" };
        let printed = ["old", "new"].map(|side| format!("{side},,{metric},{unit},printed,1,mean,{formula}\n"));
        scene.write("t.csv", &format!("{head}{rows}{}", printed.concat()));
        let audited = scene.etalon(&["--json", "audit", "t.csv"]);
        let told: serde_json::Value = serde_json::from_str(&audited.stdout).unwrap();
        let support = &told["supports"][0];
        assert_eq!((support["what"].as_str(), support["verdict"].as_str()), (Some(metric), verdict), "{rows}{told}");
        // Étalon knows of formulas and printed cells in an audit alone.
        if rows.contains("busy") || rows.contains("printed") {
            continue;
        }
        let store = format!("{number}.etalon");
        scene.etalon(&["import", "tidy", "t.csv", "-o", &store]).says(0, &[]);
        let compared = scene.etalon(&["--json", "compare", &store]);
        let told: serde_json::Value = serde_json::from_str(&compared.stdout).unwrap();
        let row = told["comparisons"].as_array().unwrap().iter().find(|row| row["metric"] == metric).unwrap();
        for (ours, theirs) in [("verdict", "verdict"), ("no_verdict", "no_verdict")] {
            assert_eq!(support[ours], row[theirs], "{rows}");
        }
        let of_audit = ["ratio", "low", "high", "p", "p_holm", "p_adjusted"].map(|key| &support["estimate"][key]);
        let [low, high] = [&row["interval"][0], &row["interval"][1]];
        let of_compare = [&row["ratio"], low, high, &row["p_t"], &row["p_holm"], &row["p_adjusted"]];
        assert_eq!(of_audit, of_compare, "{rows}");
    }
}

#[test]
fn rows_that_no_import_takes_support_nothing() {
    let scene = Scene::new();
    let twice =
        measured("old", "tps", "tx/s", &eight(100.0)).repeat(2) + &measured("new", "tps", "tx/s", &eight(120.0));
    let printed = "old,,tps,tx/s,printed,100,mean,\nnew,,tps,tx/s,printed,120,mean,\n";
    scene.write("t.csv", &format!("system,repetition,metric,unit,kind,value,statistic,formula\n{twice}{printed}"));
    let found = scene.etalon(&["audit", "t.csv", "--format", "markdown"]);
    assert!(found.stdout.contains("cannot take the rows: line 10: tps stands here again"), "{}", found.stdout);
}

#[test]
fn logs_take_the_place_of_condensed_rows() {
    let scene = Scene::new();
    let head = "system,metric,unit,kind,count,value,statistic,label\n";
    scene.write("t.csv", &format!("{head}a,duration,s,,2,1.5,,\na,duration,s,printed,,2.0000000,mean,the mean\n"));
    let line = |ticks: i64| format!("00000000-1111-2222-3333-444444444444\t3\t{ticks}\t03:47:09\n");
    scene.write("one.txt", &format!("{}{}", line(10_000_000), line(-1))).write("two.txt", &line(30_000_000));
    assert_eq!(scene.etalon(&["audit", "t.csv"]).code, 1);
    let found = scene.etalon(&["audit", "t.csv", "--task-log", "a=one.txt", "--task-log", "a=two.txt"]);
    assert_eq!(found.code, 0, "{}", found.stdout);
    assert!(found.stdout.contains("the run is the unit") || !found.stdout.contains("support"), "{}", found.stdout);
}

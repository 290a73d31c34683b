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
    for (unit, grain, status, code) in
        [("ms", "", "rounding", 0), ("rows", "", "impossible", 1), ("ms", "1", "impossible", 1)]
    {
        let rows = (1..).zip([12, 13, 12, 14, 12]).map(|(i, v)| format!("a,{i},m,{unit},,{v},,{grain}\n"));
        let head = "system,repetition,metric,unit,kind,value,statistic,grain\n";
        let table = format!("{head}{}a,,m,{unit},printed,12.71,mean,\n", rows.collect::<String>());
        scene.write("t.csv", &table);
        let found = scene.etalon(&["--json", "audit", "t.csv"]);
        let told: serde_json::Value = serde_json::from_str(&found.stdout).unwrap();
        assert_eq!((told["figures"][0]["status"].as_str(), found.code), (Some(status), code), "{unit} {grain}: {told}");
    }
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

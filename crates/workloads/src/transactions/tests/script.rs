use std::borrow::Cow;
use std::sync::Mutex;

use proptest::prelude::*;

use super::*;
use crate::dataset::Dialect;
use crate::transactions::program::{Effect, split_message};
use crate::transactions::{Flow, Rows, Source, StatementOp, compile_mix};
use load::datum::Datum;
use load::lane::{ErrorClass, KeptRow, SyncPoint};
use load::stream::{Next, Stream};

struct Dollar;

impl Dialect for Dollar {
    fn placeholder(&self, number: usize) -> String {
        format!("${number}")
    }
}

fn run(program: &Program) -> Vec<String> {
    let mut client = program.new_client(1, 0);
    let mut op = StatementOp::default();
    program.begin_transaction(&mut client, 0);
    let mut seen = Vec::new();
    loop {
        match program.next_op(&mut client, &mut op) {
            Next::Op => {
                let sql = program.statements()[op.statement].sql_text(&Dollar);
                let text = if op.text.is_empty() { sql } else { op.text.clone() };
                let piped = if op.flow == Flow::Pipelined { "| " } else { "" };
                let values: Vec<String> = op.parameters.iter().map(|datum| format!("{datum:?}")).collect();
                seen.push(format!("{piped}{text} [{}]", values.join(", ")).replace(" []", ""));
            }
            Next::Sync(point) => seen.push(format!("{point:?}")),
            Next::Sleep(duration_ns) | Next::Pause(duration_ns) => seen.push(format!("sleep {duration_ns}")),
            Next::Failed => {
                seen.push(program.take_failure(&mut client).message);
                return seen;
            }
            Next::End => return seen,
        }
    }
}

fn ran(script: &str) -> Vec<String> {
    run(&compile(script, &[("scale", 2)]).unwrap())
}

fn error(script: &str) -> String {
    compile(script, &[]).unwrap_err().to_string()
}

#[test]
fn statements_have_their_parameters() {
    let script =
        "\\set a 1 + 1\n\\set b 1.5\n\\set c true\n\\set d NULL\nSELECT :a::int, ':b', :b, :c, :d, :a;\nSELECT 2";
    assert_eq!(
        ran(script),
        ["SELECT $1::int, ':b', $2, $3, $4, $5 [Int(2), Double(1.5), Text(\"true\"), Null, Int(2)]", "SELECT 2"]
    );
}

#[test]
fn branches_are_taken_by_truth() {
    assert_eq!(ran(&branches("1")), ["SELECT 'one'", "SELECT 'inner'", "SELECT 'end'"]);
    assert_eq!(ran(&branches("2")), ["SELECT 'two'", "SELECT 'end'"]);
    assert_eq!(ran(&branches("3")), ["line 11: division by zero"]);
    assert_eq!(ran("\\if 0.0\nSELECT 1;\n\\else\nSELECT 2;\n\\endif"), ["SELECT 2"]);
    assert_eq!(ran("\\if NULL\nSELECT 1;\n\\endif\n\\if 0.1\nSELECT 3;\\endif"), ["SELECT 3"]);
}

fn branches(x: &str) -> String {
    format!(
        "\\set x {x}\n\\if :x = 1\nSELECT 'one';\n\\if false\nSELECT 'never';\n\\elif true\nSELECT 'inner';\n\\endif\n\
             \\elif :x = 2\nSELECT 'two';\n\\elif 1 / 0\nSELECT 0;\n\\else\nSELECT 'other';\n\\endif\nSELECT 'end';"
    )
}

#[test]
fn sleeps_and_pipelines_reach_the_worker() {
    assert_eq!(
        ran("\\set t 3\n\\sleep 5ms\n\\sleep :t us\n\\sleep -1\nSELECT 1"),
        ["sleep 5000000", "sleep 3000", "sleep 0", "SELECT 1"]
    );
    assert_eq!(
        ran("\\startpipeline\nSELECT 1;\n\\syncpipeline\nSELECT 2;\n\\endpipeline\nSELECT 3;"),
        ["| SELECT 1", &format!("{:?}", SyncPoint::Sync), "| SELECT 2", &format!("{:?}", SyncPoint::End), "SELECT 3"]
    );
    assert_eq!(ran("\\endpipeline"), ["line 1: no pipeline has been started"]);
    assert_eq!(ran("\\startpipeline\n\\startpipeline"), ["line 2: the pipeline has been started already"]);
    assert!(ran("\\startpipeline\nSELECT 1")[1].contains("its pipeline open"));
    assert!(ran("\\startpipeline\nSELECT 1 \\gset\n\\endpipeline")[0].contains("not allowed in a pipeline"));
}

fn pipelined(script: &str, depth: u32) -> Result<Program, ScriptError> {
    compile_with(script, &ScriptOptions { depth, ..ScriptOptions::default() })
}

/// Reads are waited for once; writes are committed separately, as without a pipeline.
#[test]
fn a_script_is_repeated_in_one_pipeline() {
    let (sync, end) = (format!("{:?}", SyncPoint::Sync), format!("{:?}", SyncPoint::End));
    let read = run_in_pipeline("\\set a random(1, 1000000)\nSELECT :a;");
    assert_eq!(read.len(), 4, "{read:?}");
    assert!(read[..3].iter().all(|line| line.starts_with("| SELECT $1 [Int(")), "{read:?}");
    assert!(read[0] != read[1] && read[3] == end);
    assert_eq!(run_in_pipeline("UPDATE t SET a = 1;")[..3], ["| UPDATE t SET a = 1", &sync, "| UPDATE t SET a = 1"]);
    let explicit = run_in_pipeline("BEGIN; UPDATE t SET a = 1; COMMIT;");
    assert_eq!((explicit.len(), explicit.contains(&sync)), (10, false));
    assert!(run_in_pipeline("BEGIN; SELECT 1;").last().unwrap().contains("ends in an open transaction"));
    assert_eq!(
        pipeline_error("SELECT 1 \\gset"),
        "line 1, column 10: rows are not waited for under `pipeline`: `\\gset` and `\\aset` cannot be used"
    );
    assert!(pipeline_error("\\startpipeline\nSELECT 1;\n\\endpipeline").contains("in a pipeline already"));
    assert_eq!(pipelined("SELECT 1;", 20).unwrap().batch_size(), 20);
    // A pipeline mixes kinds, so they are not distinguished.
    let mix = |depth| {
        let options = ScriptOptions { depth, ..ScriptOptions::default() };
        compile_mix(&[source("a", "SELECT 1;", 1), source("b", "SELECT 2;", 1)], &options).unwrap().kind_names().len()
    };
    assert_eq!((mix(1), mix(2)), (2, 0));
    // The second batch runs on where the first one ended.
    let program = pipelined("\\set a random(1, 1000000)\nSELECT :a;", 2).unwrap();
    let mut client = program.new_client(1, 0);
    let mut op = StatementOp::default();
    let mut values = std::collections::BTreeSet::new();
    for index in 0..3 {
        program.begin_transaction(&mut client, index);
        while program.next_op(&mut client, &mut op) == Next::Op {
            values.insert(format!("{:?}", op.parameters));
        }
        assert_eq!(program.next_op(&mut client, &mut op), Next::End);
    }
    assert_eq!(values.len(), 6);
}

fn pipeline_error(script: &str) -> String {
    pipelined(script, 2).unwrap_err().to_string()
}

fn run_in_pipeline(script: &str) -> Vec<String> {
    run(&pipelined(script, 3).unwrap())
}

#[test]
fn rows_become_variables() {
    let program = compile("SELECT 1 AS a, 2 AS b \\gset p_\nSELECT :p_a, :p_b, :p_c;", &[]).unwrap();
    let mut client = program.new_client(1, 0);
    let mut op = StatementOp::default();
    program.begin_transaction(&mut client, 0);
    assert_eq!((program.next_op(&mut client, &mut op), op.rows), (Next::Op, Rows::Keep));
    let row = KeptRow {
        rows: 1,
        columns: vec!["a".to_owned(), "b".to_owned(), "unread".to_owned()],
        values: vec![Datum::Text("7".into()), Datum::Null, Datum::Int(1)],
    };
    program.receive_rows(&mut client, std::slice::from_ref(&row)).unwrap();
    assert_eq!((program.next_op(&mut client, &mut op), op.rows), (Next::Op, Rows::Discard));
    assert_eq!(op.parameters, [Datum::Int(7), Datum::Text("".into()), Datum::Null]);
    program.begin_transaction(&mut client, 1);
    program.next_op(&mut client, &mut op);
    let strange = KeptRow { columns: vec!["?column?".to_owned(), "b".to_owned()], ..row.clone() };
    assert!(
        program.receive_rows(&mut client, &[strange]).unwrap_err().message.contains("`?column?` cannot be the name")
    );
    program.begin_transaction(&mut client, 2);
    program.next_op(&mut client, &mut op);
    let error = program.receive_rows(&mut client, &[KeptRow { rows: 2, ..row }]).unwrap_err();
    assert_eq!(
        (error.class, error.message.as_str()),
        (ErrorClass::Script, "line 1: \\gset expects one row, and there were 2")
    );
}

#[test]
fn aset_takes_every_result_that_has_a_row() {
    let program = compile("SELECT 1 AS a \\; SELECT 2 AS b \\; SELECT 3 AS c \\aset\nSELECT :a, :b, :c;", &[]).unwrap();
    let mut client = program.new_client(1, 0);
    let mut op = StatementOp::default();
    program.begin_transaction(&mut client, 0);
    program.next_op(&mut client, &mut op);
    program.receive_rows(&mut client, &[one_column("a", 1), one_column("b", 0), one_column("c", 9)]).unwrap();
    program.next_op(&mut client, &mut op);
    assert_eq!(op.parameters, [Datum::Int(5), Datum::Null, Datum::Int(5)]);
}

fn one_column(name: &str, rows: u64) -> KeptRow {
    KeptRow { rows, columns: vec![name.to_owned()], values: vec![Datum::Int(5)] }
}

#[test]
fn a_retry_repeats_its_values_and_the_next_transaction_does_not() {
    let program = compile("\\set x random(1, 1000000)\nSELECT :x, :x;", &[]).unwrap();
    let mut client = program.new_client(7, 3);
    let mut op = StatementOp::default();
    let mut draw = |index| {
        program.begin_transaction(&mut client, index);
        assert_eq!(program.next_op(&mut client, &mut op), Next::Op);
        assert_eq!(op.parameters[0], op.parameters[1]);
        op.parameters[0].clone()
    };
    let (first, again, next) = (draw(0), draw(0), draw(1));
    assert_eq!(first, again);
    assert_ne!(first, next);
    assert_ne!(next, draw(2));
}

#[test]
fn a_warm_client_needs_no_more_memory() {
    let script = "\\set a random_gaussian(1, 100, 2.5)\n\\set b CASE WHEN :a > 50 THEN 1.5 ELSE NULL END\n\
        SELECT :a, :b, :t;\nSELECT :b, :a, :t;";
    let definitions = vec![("t".to_owned(), "a text".to_owned())];
    let program = compile_with(script, &ScriptOptions { definitions, ..ScriptOptions::default() }).unwrap();
    let mut client = program.new_client(1, 0);
    let mut op = StatementOp::default();
    let mut places = |index| {
        program.begin_transaction(&mut client, index);
        while program.next_op(&mut client, &mut op) == Next::Op {}
        let Datum::Text(Cow::Owned(text)) = &op.parameters[2] else { panic!("{op:?}") };
        (op.parameters.as_ptr() as usize, text.as_ptr() as usize)
    };
    let first = places(0);
    assert!((1..1_000).all(|index| places(index) == first));
}

#[test]
fn variables_are_the_user_s_or_automatic() {
    let script = "SELECT :scale, :client_id, :random_seed, :default_seed, :mine";
    let options = ScriptOptions { scale: 5, definitions: definitions(&[("mine", "0x1")]), ..ScriptOptions::default() };
    let own = run(&compile_with(script, &options).unwrap());
    assert!(own[0].contains("[Int(5), Int(0), Int(1), Int(") && own[0].ends_with("Text(\"0x1\")]"), "{own:?}");
    let all = [("scale", "9"), ("client_id", "8"), ("random_seed", "7"), ("default_seed", "6"), ("mine", "x")];
    let options = ScriptOptions { definitions: definitions(&all), ..ScriptOptions::default() };
    assert!(run(&compile_with(script, &options).unwrap())[0].contains("[Int(9), Int(8), Int(7), Int(6), Text"));
    let accepting = ScriptOptions { unset: Unset::Accepted, ..ScriptOptions::default() };
    assert!(run(&compile_with("SELECT :nobody", &accepting).unwrap())[0].ends_with("[Null]"));
    let expression = compile_with("\\set x :nobody", &accepting).unwrap();
    assert_eq!(run(&expression), ["line 1: the variable `:nobody` has no value"]);
}

fn definitions(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect()
}

#[test]
fn text_takes_the_place_of_variables_where_there_are_no_parameters() {
    let options = ScriptOptions { protocol: Protocol::Simple, unset: Unset::Accepted, ..ScriptOptions::default() };
    let script = "\\set a 1.0 / 3\n\\set b NULL\nSELECT ':a', :b, :c, now()::text";
    let program = compile_with(script, &options).unwrap();
    assert_eq!(run(&program), ["SELECT '0.333333333333333', NULL, :c, now()::text"]);
    assert!(run(&compile_with("\\startpipeline", &options).unwrap())[0].contains("travel as text"));
}

#[test]
fn commits_are_counted_as_the_server_does() {
    assert_eq!(commits("SELECT 1; UPDATE t SET a = 1;"), 2);
    assert_eq!(commits("BEGIN; SELECT 1; UPDATE t SET a = 1; COMMIT;"), 1);
    assert_eq!(commits("SELECT 1; BEGIN; SELECT 1; END; SELECT 2;"), 3);
    assert_eq!(commits("SELECT 1 \\; SELECT 2; SELECT 3;"), 2);
    assert_eq!(commits("BEGIN \\; SELECT 1 \\; COMMIT;"), 1);
    assert_eq!(commits("BEGIN; ROLLBACK;"), 0);
    assert_eq!(commits("\\if 1\nSELECT 1; SELECT 2;\n\\else\nSELECT 3;\n\\endif\nSELECT 4;"), 2);
    assert_eq!(commits("\\if 1\nSELECT 1;\n\\endif\n\\sleep 1\n\\set x 1"), 0);
    // In a pipeline what only reads may be committed with what follows.
    assert_eq!(commits("\\startpipeline\nSELECT 1; SELECT 2;\n\\endpipeline"), 0);
    assert_eq!(commits_in_pipeline("SELECT 1; UPDATE t SET a = 1;"), 1);
    assert_eq!(commits_in_pipeline("BEGIN; UPDATE t SET a = 1; COMMIT; SELECT 1;"), 1);
}

fn commits_in_pipeline(text: &str) -> u64 {
    pipelined(text, 5).unwrap().commits_per_transaction()
}

fn commits(text: &str) -> u64 {
    compile(text, &[]).unwrap().commits_per_transaction()
}

#[test]
fn what_writes_is_known() {
    assert!(!writes("BEGIN; /* x */ SELECT 1 \\; select 2; END;"));
    assert!(writes("SELECT 1 \\; INSERT INTO t VALUES (1)"));
}

fn writes(text: &str) -> bool {
    compile(text, &[]).unwrap().has_writes()
}

#[test]
fn scripts_are_chosen_by_weight_and_share_variables() {
    let options = ScriptOptions::default();
    let sources =
        [source("a", "\\set x 1\nSELECT 'a'", 1), source("n", "SELECT 'n'", 0), source("b", "SELECT 'b', :x", 3)];
    let program = compile_mix(&sources, &options).unwrap();
    let mut client = program.new_client(3, 0);
    let mut op = StatementOp::default();
    let mut counts = [0; 3];
    for index in 0..4_000 {
        program.begin_transaction(&mut client, index);
        program.next_op(&mut client, &mut op);
        counts[op.statement] += 1;
        let first = op.statement;
        program.begin_transaction(&mut client, index);
        program.next_op(&mut client, &mut op);
        assert_eq!(op.statement, first, "a retry runs the same script");
    }
    assert_eq!(counts[1], 0);
    assert!((900..1_100).contains(&counts[0]), "{counts:?}");
}

fn source<'s>(name: &'s str, text: &'s str, weight: u32) -> Source<'s> {
    Source { name, text, weight }
}

#[test]
fn debug_shows_its_place_and_type() {
    static SHOWN: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let show: fn(&str) = |line| SHOWN.lock().unwrap().push(line.to_owned());
    let options = ScriptOptions { debug: Some(show), ..ScriptOptions::default() };
    let script = "\\set a debug(5 / 2.0)\n\\if debug(true)\n\\endif\n\\set b debug(NULL)\n\\set c debug(7)";
    run(&compile_with(script, &options).unwrap());
    assert_eq!(
        *SHOWN.lock().unwrap(),
        [
            "debug(script=0,command=1): double 2.5",
            "debug(script=0,command=2): boolean true",
            "debug(script=0,command=4): null",
            "debug(script=0,command=5): int 7"
        ]
    );
}

#[test]
fn shell_commands_need_permission() {
    assert!(error("\\shell true").starts_with("line 1, column 1: shell commands are refused"));
    assert!(error("SELECT 1;\n \\setshell x echo 1").starts_with("line 2, column 2"));
    let options = ScriptOptions { shell: Shell::Allowed, unset: Unset::Accepted, ..ScriptOptions::default() };
    let ran = |script: &str| run(&compile_with(script, &options).unwrap());
    assert_eq!(ran("\\set a 20\n\\setshell x expr :a + 1\nSELECT :x"), ["SELECT $1 [Int(21)]"]);
    assert_eq!(ran("\\shell test ::a = :a\n")[0], "line 1: the variable `:a` has no value");
    assert!(ran("\\shell exit 3")[0].contains("failed"));
}

#[test]
fn errors_name_line_and_column() {
    assert!(
        error("SELECT 1;\n\n  \\sett x 1").starts_with("line 3, column 3: `\\sett` is not a known command; known are")
    );
    assert!(
        error("\\set x 1 +").starts_with("line 1, column 11: a number, a `:variable`, a function or `(` is expected")
    );
    assert_eq!(
        error("SELECT\n :y;"),
        "line 2, column 2: the variable `:y` has not been set; `--set 'benchmarks.*.define=y=VALUE'` sets it"
    );
    assert_eq!(error("-- nothing"), "line 1, column 1: the script executes nothing");
    assert_eq!(error("SELECT 1;\n\\if 1\nSELECT 2;"), "line 2, column 1: this `\\if` has no `\\endif`");
    assert!(error("\\endif").contains("no `\\if`"));
    assert!(error("\\if 1\n\\else\n\\elif 1\n\\endif").starts_with("line 3, column 1: `\\else`"));
    assert!(error("\\if 1\n\\else\n\\else\n\\endif").starts_with("line 3"));
    assert!(error("\\gset").contains("must follow a statement"));
    assert!(error("SELECT 1 \\gset\n\\gset").contains("must follow a statement"));
    assert!(error("\\set 1x 2").starts_with("line 1, column 6"));
    assert!(error("SELECT 'é', 'a").starts_with("line 1, column 13"));
    let many = format!("\\set a 1\nSELECT {}", ":a,".repeat(256));
    assert!(error(&many).contains("more than 255 variables"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_text_makes_the_compiler_panic(text in any::<String>()) {
        let _ = compile(&text, &[]);
    }

    #[test]
    fn no_script_like_text_makes_anything_panic(
        parts in prop::collection::vec(prop::sample::select(vec![
            "\\set x ", "\\if ", "\\elif ", "\\else\n", "\\endif\n", "\\gset ", "\\aset\n", "\\sleep ", "\\shell ",
            "\\startpipeline\n", "\\endpipeline\n", "\\;", "\\", "\n", ";", " ", "'", "\"", "$$", "$a$", "--", "/*", "*/", "(",
            ")", ":x", ":", "::", "1", "9223372036854775808", "1e9", ".5", "-", "~", "+", "<", ">=", "AND ", "OR ", "NOT ",
            "IS ", "NULL ", "TRUE ", "CASE ", "WHEN ", "THEN ", "ELSE ", "END ", "random(", "permute(", ",", "hash(",
            "least(", "debug(", "SELECT ", "BEGIN", "é", "\r\n", "\\\n", "5ms", "<<", "%", "/",
        ]), 0..40)
    ) {
        let text: String = parts.concat();
        if let Ok(program) = compile(&text, &[("scale", 1)]) {
            program.commits_per_transaction();
            run(&program);
        }
    }
}

#[test]
fn a_message_is_split_into_statements_with_their_own_parameters() {
    let script =
        "INSERT INTO t VALUES (:a, ';', :b) \\; /* ; */ SELECT 'it''s;' \\; \\; UPDATE t SET a = :b WHERE c = :a;";
    let parts: Vec<_> = {
        let program = compile_with(
            script,
            &ScriptOptions { protocol: Protocol::Prepared, unset: Unset::Accepted, ..ScriptOptions::default() },
        )
        .unwrap();
        let parts = program.statements()[0].message_parts(&Dollar);
        parts.into_iter().map(|part| (part.sql, part.parameters, part.effect)).collect()
    };
    assert_eq!(
        parts,
        [
            ("INSERT INTO t VALUES ($1, ';', $2)".to_owned(), vec![0, 1], Effect::Writes),
            ("/* ; */ SELECT 'it''s;'".to_owned(), vec![], Effect::Reads),
            ("UPDATE t SET a = $1 WHERE c = $2".to_owned(), vec![2, 3], Effect::Writes),
        ]
    );
    let split = split_message("BEGIN; SELECT a::int, ':x', '\\;' FROM t ;; -- end\n commit", &Dollar);
    let split: Vec<_> = split.iter().map(|part| (part.sql.as_str(), part.effect)).collect();
    let reads = ("SELECT a::int, ':x', '\\;' FROM t", Effect::Reads);
    assert_eq!(split, [("BEGIN", Effect::Opens), reads, ("commit", Effect::Commits)]);
    assert_eq!(split_message("SELECT 'open", &Dollar).len(), 1);
}

#[test]
fn first_words_tell_whether_a_transaction_is_open() {
    let script = "BEGIN; SAVEPOINT s; INSERT INTO t VALUES (1); ROLLBACK TO s; ROLLBACK TRANSACTION TO SAVEPOINT s; COMMIT; \
        SELECT 1; START TRANSACTION; COMMIT AND CHAIN; ROLLBACK AND NO CHAIN; ROLLBACK TO s; BEGIN; ABORT";
    let mut open = false;
    let followed: Vec<bool> = split_message(script, &Dollar)
        .into_iter()
        .map(|part| {
            open = part.leaves_open(open);
            open
        })
        .collect();
    assert_eq!(followed, [&[true; 5][..], &[false; 2], &[true; 2], &[false; 2], &[true, false]].concat());
}

/// Twelve times as many statements take about twelve times as long: the bound is loose, since a machine may be busy.
#[test]
fn a_long_script_is_read_in_a_time_that_grows_with_it() {
    fn seconds(statements: usize) -> f64 {
        let text: String =
            (0..statements).map(|id| format!("SELECT v FROM t WHERE id = {id} AND x = :client_id;\n")).collect();
        let times = (0..3).map(|_| {
            let start = std::time::Instant::now();
            let program = compile(&text, &[]).unwrap();
            assert_eq!(program.steps[statements - 1].line, statements);
            start.elapsed().as_secs_f64()
        });
        times.fold(f64::INFINITY, f64::min)
    }
    let (short, long) = (seconds(2_000).max(1e-3), seconds(24_000));
    assert!(long < 60.0 * short, "2,000 statements took {short} s, 24,000 took {long} s");
}

#[test]
fn an_error_names_its_line_and_column() {
    let error = compile("SELECT 1;\nSELECT 'é', :nothing;\n", &[]).unwrap_err();
    assert_eq!((error.line, error.column), (2, 13), "{error}");
}

//! Scripts from their text to what a client sends.

use proptest::prelude::*;

use super::*;
use crate::transactions::StatementOp;
use load::datum::Datum;
use load::stream::{Next, Stream};

/// A minimal script around the three parts.
fn script(query: &str, dictionary: &str, barrel: &str) -> String {
    format!(
        "dictionary \"w\" {{ {dictionary} }}\nquery \"q\" {{ query \"{query}\"; type \"t\"; parsed \"y\"; }}\n\
         query \"other\" {{ query \"OTHER\"; type \"u\"; }}\nclient \"c\" {{ query_barrel \"{barrel}\"; }}\n{MAIN}"
    )
}

const MAIN: &str = "main { c.init(); c.set_num_rounds($2); c.create_threads($1); c.connect();\n\
    c.unload_query_barrel(); c.collect_threads(); c.disconnect(); }";
const LIST: &str = "type \"seq\"; source_type \"list\"; source \"a,it's,7,\";";

fn compile(text: &str, clients: u32, protocol: Protocol) -> Result<(Dataset, Program), SmackError> {
    let script = SmackScript { name: "t".to_owned(), file: syntax::parse(text)?, texts: None };
    script.compile_with(Arguments::Clients(clients), protocol)
}

#[track_caller]
fn error(text: &str) -> String {
    let error = compile(text, 1, Protocol::Simple).map(|_| ()).expect_err(text);
    format!("{error}{}", error.hint.as_ref().map(|hint| format!(" / {hint}")).unwrap_or_default())
}

/// What a client sends and waits for in a number of transactions.
fn sent(program: &Program, client: u32, count: u64) -> Vec<String> {
    let mut client = program.new_client(5, client);
    let mut op = StatementOp::default();
    let mut sent = Vec::new();
    for index in 0..count {
        program.begin_transaction(&mut client, index);
        loop {
            match program.next_op(&mut client, &mut op) {
                Next::Op if program.protocol() == Protocol::Simple => sent.push(op.text.clone()),
                Next::Op => sent.push(format!("{} {:?}", op.statement, op.parameters)),
                Next::Pause(ns) => sent.push(format!("pause {} ms", ns / 1_000_000)),
                Next::End => break,
                other => panic!("{other:?}"),
            }
        }
    }
    sent
}

#[test]
fn the_stock_scripts_hold_750_words_or_all() {
    for BuiltInScript { name, .. } in BUILT_IN {
        let script = SmackScript::read(name).unwrap();
        let (data, program) = script.compile_with(Arguments::Clients(3), Protocol::Simple).unwrap();
        let fair = name.ends_with("-fair");
        let WordSource::AtRandom(list) = &program.dictionaries[0].words else { panic!("{name}") };
        assert_eq!(list.len(), if fair { 90_000 } else { 750 }, "{name}");
        assert_eq!(list.word_at(0), if fair { "ilcpsklryvmc1" } else { "vqobdvjqxtyd120" });
        assert_eq!(list.word_at(list.len() - 1), "gegbxtvkybwy90000");
        assert_eq!(program.notes.is_empty(), fair, "{:?}", program.notes);
        assert_eq!((data.tables[0].rows, program.clients, program.commits_per_transaction()), (90_000, 3, 1));
        let update = name.starts_with("update");
        assert_eq!(program.has_writes(), update);
        let kinds: &[&str] = if update { &["select_index", "update_index"] } else { &["select_index"] };
        assert_eq!(program.kind_names(), kinds);
        let invocation = script.invocation(&["80".to_owned(), "1000".to_owned()]).unwrap();
        let expected =
            Invocation { client: "smacker".to_owned(), clients: 80, queries: 2_000, arguments: String::new() };
        assert_eq!(invocation, expected);
    }
}

#[test]
fn rows_are_made_once_for_all_cases() {
    let (one, other) = (select_key(), select_key());
    assert_eq!(one.0.name, other.0.name);
    let (WordSource::AtRandom(a), WordSource::AtRandom(b)) =
        (&one.1.dictionaries[0].words, &other.1.dictionaries[0].words)
    else {
        panic!("both are lists")
    };
    assert!(std::sync::Arc::ptr_eq(a, b));
    let mut row = Vec::new();
    (one.0.tables[0].row)(0, &mut row);
    assert_eq!(row[0], Datum::Text("ilcpsklryvmc1".into()));
    assert_eq!(row.len(), 4);
}

fn select_key() -> (Dataset, Program) {
    SmackScript::read("select-key").unwrap().compile_with(Arguments::Clients(1), Protocol::Simple).unwrap()
}

#[test]
fn words_are_put_into_the_text_or_become_parameters() {
    let text = script("SELECT '$w', $w, 'x''$w$w', 'plain' FROM t WHERE a = '$w", LIST, "1 q");
    let (_, program) = compile(&text, 1, Protocol::Simple).unwrap();
    assert_eq!(
        sent(&program, 0, 2),
        [
            "SELECT 'a', it's, 'x''7a', 'plain' FROM t WHERE a = 'it's",
            "SELECT '7', a, 'x''it''s7', 'plain' FROM t WHERE a = 'a"
        ]
    );
    let text = script("SELECT '$w', $w, 'x''$w$w', $w", LIST, "1 q");
    let (_, program) = compile(&text, 1, Protocol::Prepared).unwrap();
    let parameters = [word("a"), word("it's"), word("x'7a"), word("it's")];
    assert_eq!(sent(&program, 0, 1), [format!("0 {parameters:?}")]);
    assert_eq!(program.statements()[0].pieces, ["SELECT ", ", ", ", ", ", ", ""]);
}

fn word(word: &str) -> Datum {
    Datum::Text(word.to_owned().into())
}

#[test]
fn a_retry_repeats_its_words() {
    let (_, program) = compile(&script("S '$w' '$w'", LIST, "1 q"), 1, Protocol::Simple).unwrap();
    let mut client = program.new_client(1, 0);
    let mut texts = Vec::new();
    for index in [0, 1, 1, 2] {
        let mut op = StatementOp::default();
        program.begin_transaction(&mut client, index);
        assert_eq!(program.next_op(&mut client, &mut op), Next::Op);
        texts.push(op.text);
    }
    assert_eq!(texts, ["S 'a' 'it''s'", "S '7' 'a'", "S '7' 'a'", "S 'it''s' '7'"]);
}

#[test]
fn a_round_is_the_barrel_in_its_order_with_its_pauses() {
    let (_, program) = compile(&script("Q", LIST, "-1 2 q -0.5 1 other -0.25"), 1, Protocol::Simple).unwrap();
    let first = ["pause 1000 ms", "Q", "Q", "pause 500 ms", "OTHER"];
    let second = ["pause 1250 ms", "Q", "Q", "pause 500 ms", "OTHER"];
    assert_eq!(sent(&program, 0, 6), [first, second].concat());
    assert_eq!(program.kind_names(), ["t", "u"]);
}

#[test]
fn two_kinds_of_clients_run_their_own_barrels() {
    let text = "query \"a\" { query \"A\"; }\nquery \"b\" { query \"B\"; }\nquery \"unused\" { query \"U\"; }\n\
        client \"x\" { query_barrel \"1 a\"; }\nclient \"y\" { query_barrel \"1 b\"; }\n\
        main { x.init(); y.init(); $n = $1; x.set_num_rounds(2 . \"0\"); y.set_num_rounds(20); x.create_threads($n);\n\
        y.create_threads(1); x.unload_query_barrel(); y.unload_query_barrel(); }";
    let (_, program) = compile(text, 2, Protocol::Simple).unwrap();
    assert_eq!((0..3).flat_map(|client| sent(&program, client, 1)).collect::<Vec<_>>(), ["A", "A", "B"]);
    assert_eq!(program.kind_names(), ["a", "b"]);
    let invocation = SmackScript::parse("t", text).unwrap().invocation(&["2".to_owned()]).unwrap();
    let expected = Invocation { client: "x+y".to_owned(), clients: 3, queries: 20, arguments: "2".to_owned() };
    assert_eq!(invocation, expected);
    let uneven = text.replace("y.set_num_rounds(20)", "y.set_num_rounds(21)");
    let refused = SmackScript::parse("t", &uneven).unwrap().invocation(&["2".to_owned()]).unwrap_err();
    assert!(refused.to_string().contains("20, 21"), "{refused}");
}

#[test]
fn main_shows_texts_reports_and_results() {
    let text = script("Q", LIST, "1 q").replace(
        "c.disconnect();",
        "c.print(\"rate \" . c::t::q_per_s . \", slowest connection \" . c::max_connect_time); c.disconnect();",
    );
    let look_up = |client: &str, kind: Option<&str>, field: &str| {
        let kind = kind?;
        (field == "q_per_s").then(|| format!("{client}/{kind}/{field}"))
    };
    let script = SmackScript::parse("t", &text).unwrap();
    let shown = script.shown_results(&["1".to_owned(), "1".to_owned()], &look_up).unwrap();
    assert_eq!(shown, [Shown::Report("c".to_owned()), Shown::Text("n/a".to_owned())]);
    let text = text.replace(" . \", slowest connection \" . c::max_connect_time", "");
    let shown =
        SmackScript::parse("t", &text).unwrap().shown_results(&["1".to_owned(), "1".to_owned()], &look_up).unwrap();
    assert_eq!(shown[1], Shown::Text("rate c/t/q_per_s".to_owned()));
}

#[test]
fn silent_differences_from_the_original_are_noted() {
    let (text, note) = notes("SELECT $w", LIST);
    assert!(text == "SELECT a" && note.contains("ends with `$w`"), "{text}: {note}");
    let (text, note) = notes("SELECT \\\\$w, '$w' ", LIST);
    assert!(text == "SELECT $w, 'a' " && note.contains("backslash"), "{text}: {note}");
    let (text, note) = notes("S '$w'", "type \"seq\"; source_type \"list\"; source \"only\";");
    assert!(text == "S 'only'" && note.contains("loses the last entry"), "{text}: {note}");
    let (text, note) = notes("S '$w'", "type \"unique\"; source_type \"template\"; source \"u%03d\";");
    assert!(text == "S 'u000'" && note.contains("no two clients"), "{text}: {note}");
    let unparsed = script("SELECT '$w'", LIST, "1 q").replace("parsed \"y\";", "");
    let (_, program) = compile(&unparsed, 1, Protocol::Simple).unwrap();
    assert!(program.notes.join("").contains("is sent with `$w` in it"), "{:?}", program.notes);
}

fn notes(query: &str, dictionary: &str) -> (String, String) {
    let (_, program) = compile(&script(query, dictionary, "1 q"), 1, Protocol::Simple).unwrap();
    (sent(&program, 0, 1).join(""), program.notes.join("; "))
}

#[test]
fn errors_say_where_and_what_to_do() {
    let good = script("Q '$w' ", LIST, "1 q");
    let cases = [
        (
            "dictionary \"w\"",
            "dictonary \"w\"",
            "line 1, column 1: there is no section `dictonary` / did you mean `dictionary`?",
        ),
        ("type \"t\";", "typ \"t\";", "line 2, column 30: a query has no key `typ` / did you mean `type`?"),
        (
            "type \"t\";",
            "type t;",
            "line 2, column 35: the value of `type`, in quotes, is expected here, not `t` / put it in",
        ),
        ("type \"t\";", "type \"t\"", "line 2, column 39: `;` is expected here, not `parsed`"),
        ("$w", "$word", "line 2, column 23: there is no dictionary \"word\""),
        ("'$w'", "$", "line 2, column 22: no dictionary follows `$`"),
        ("1 q", "1 query", "line 4, column 27: there is no query \"query\""),
        ("1 q", "0 q", "line 4, column 27: `0` is not how often"),
        ("1 q", "1", "no query follows `1`"),
        ("1 q", "-1", "the query barrel has no query"),
        ("1 q", "-x 1 q", "`-x` is no pause"),
        ("1 q", "100001 q", "more than 100000 queries"),
        ("seq", "sequential", "line 1, column 23: there is no type of dictionary `sequential`"),
        ("a,it's,7,", "", "the dictionary \"w\" has no words"),
        ("source_type \"list\"", "source_type \"file\"", "there is no file a,it's,7, / files are looked for beside"),
        ("c.connect()", "d.connect()", "line 5, column 62: there is no client \"d\""),
        ("c.connect()", "c.conect()", "line 5, column 64: clients have no method `conect` / did you mean `connect`?"),
        ("create_threads($1)", "create_threads()", "`create_threads` takes 1 value, not 0"),
        ("create_threads($1)", "create_threads(0)", "line 5, column 42: the number of clients is 0"),
        ("create_threads($1)", "create_threads($2)", "how many clients there are is not known"),
        ("create_threads($1)", "create_threads($x)", "the variable `$x` has no value"),
        ("c.set_num_rounds($2);", "", "`c` has no rounds to run"),
        ("c.unload_query_barrel();", "", "`main` unloads no query barrel"),
        ("c.connect();", "c.print(c::t::q_per_m);", "there is no result `q_per_m` / did you mean `q_per_s`?"),
        ("c.connect();", "c.run_save_result(\"q\", \"f\");", "étalon saves no rows"),
        ("c.connect();", "c.query(\"SET x = 1\");", "would change one session"),
        ("c.disconnect(); }", "", "the end of the file"),
        ("main {", "# ", "line 6, column 1: there is no section `c`"),
        ("\"Q '", "\"Q \\n'", "`\\n` means nothing in a text"),
        ("c.connect();", "c.connect() - 1;", "`-` means nothing here"),
        ("parsed \"y\";", "parsed \"y;", "this text has no closing quote"),
    ];
    let mut missed = Vec::new();
    for (from, to, expected) in cases {
        assert!(good.contains(from), "{from}");
        let said = error(&good.replace(from, to));
        if !said.contains(expected) {
            missed.push(format!("{from} → {to}: {said}"));
        }
    }
    assert_eq!(missed, [""; 0]);
    assert!(error(&format!("{good} query")).contains("`main` is the last section"));
    assert!(error(&good.replacen("query \"other\"", "query \"q\"", 1)).contains("there are two of the query \"q\""));
}

#[test]
fn tables_are_checked_before_anything_is_sent() {
    let table = "client \"c\" {}\ntable \"t\" { client \"c\"; create \"create table t (a int)\"; min_rows \"3\";\n\
         data_file \"d\"; gen_data_file \"gen-data -n 3 -f %n\"; }\n";
    let good = format!(
        "{table}{}",
        script("Q", LIST, "1 q").replacen("client \"c\" {", "client \"other\" {} client \"c2\" {", 1)
    );
    let good = good.replace("c.", "c2.");
    let (data, _) = compile(&good, 1, Protocol::Simple).unwrap();
    assert_eq!(data.tables[0].rows, 3);
    for (from, to, expected) in [
        ("-n 3", "-n 2", "line 2, column 67: the table \"t\" needs 3 rows, and its data has 2"),
        ("min_rows \"3\"", "min_rows \"many\"", "`min_rows` is a whole number"),
        ("gen-data -n", "perl gen.pl -n", "it does not run `perl`"),
        ("-f %n", "-f %q", "`%q` in the format"),
        ("data_file \"d\"; gen_data_file", "data_file \"d\"; data_file", "there is no file"),
        ("create table t ", "create table other.t ", "must be the one statement `create table t (…)`"),
        ("(a int)", "(a int); drop table x", "must be the one statement"),
        ("table \"t\"", "table \"t;x\"", "cannot be a table's name"),
        ("client \"c\"; create", "client \"nobody\"; create", "there is no client \"nobody\""),
    ] {
        assert!(good.contains(from), "{from}");
        let said = error(&good.replace(from, to));
        assert!(said.contains(expected), "{from} → {to}: {said}");
    }
}

#[test]
fn files_next_to_the_script_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.smack");
    let text = "client \"c\" { query_barrel \"1 q\"; }\ntable \"t\" { client \"c\"; create \"create table t (a int, b text)\";\n\
        data_file \"d.csv\"; gen_data_file \"false\"; }\nquery \"q\" { query \"S '$w'\"; parsed \"y\"; }\n\
        dictionary \"w\" { type \"seq\"; source_type \"file\"; source \"d.csv\"; delim \",\"; file_size_equiv \"5\"; }\n";
    std::fs::write(&path, format!("{text}{MAIN}")).unwrap();
    let compile = |rows: &[u8]| {
        std::fs::write(folder.path().join("d.csv"), rows).unwrap();
        SmackScript::read(path.to_str().unwrap()).unwrap().compile_with(Arguments::Clients(1), Protocol::Simple)
    };
    // 16 bytes in four lines, and 16 / 5 is 3: the third line alone.
    let (data, program) = compile(b"a,1\nb,2\nc,3\nd,\\N\n").map_err(|e| e.to_string()).unwrap();
    assert_eq!((data.tables[0].rows, sent(&program, 0, 2).join("")), (4, "S 'c'S 'c'".to_owned()));
    let mut row = Vec::new();
    (data.tables[0].row)(3, &mut row);
    assert_eq!(row, [Datum::Text("d".into()), Datum::Null]);
    drop((data, program));
    assert!(compile(b"a,1\nb\n").unwrap_err().to_string().contains("row 2 of the data has 1 fields, the first row 2"));
    assert!(compile(b"a\n\xe9\n").unwrap_err().to_string().contains("line 2 is not UTF-8"));
    let said = compile(b"a,1\nb,2\nc\\\\d,3\n").unwrap_err();
    assert!(said.to_string().contains("has a backslash"), "{said}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    /// Whatever a file holds, it is a program or an error with a place in the file.
    #[test]
    fn no_text_panics(text in "\\PC{0,200}") {
        if let Err(error) = compile(&text, 1, Protocol::Simple) {
            prop_assert!(error.spot.line >= 1 && error.spot.column >= 1);
        }
    }

    /// Nor does a good file with a piece cut out, doubled or replaced.
    #[test]
    fn no_change_panics(cut in 0usize..900, length in 0usize..40, insert in "[\"{}();.,$=:#a-z0-9\\\\ \n-]{0,12}") {
        // The rows take their time; 40 of them will do.
        let good = BUILT_IN[2].text.replace("90000", "40");
        let start = good.char_indices().map(|(at, _)| at).nth(cut).unwrap_or(good.len());
        let end = (start..=good.len()).filter(|at| good.is_char_boundary(*at)).nth(length).unwrap_or(good.len());
        let text = format!("{}{insert}{}", &good[..start], &good[end..]);
        let lines = text.lines().count() + 1;
        prop_assume!(!text.split(|c: char| !c.is_ascii_digit()).any(|digits| digits.len() > 5));
        match compile(&text, 2, Protocol::Simple) {
            Ok((_, program)) => drop(sent(&program, 0, 3)),
            Err(error) => prop_assert!((1..=lines).contains(&error.spot.line), "{error}"),
        }
    }
}

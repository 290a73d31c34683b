//! The script language against the real pgbench: the same scripts with the same seed, values compared one by one.
//!
//! pgbench writes what it draws into a table of a private PostgreSQL server; our program is driven directly.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test's helpers may fail the test")]

#[path = "shared/server.rs"]
mod server;

use std::fs;
use std::process::{Command, Output};
use std::sync::Mutex;

use load::datum::Datum;
use load::lane::KeptRow;
use load::stream::{Next, Stream};
use server::{ROLE, Server, programs};
use workloads::transactions::{
    Program, Protocol, ScriptOptions, Source, StatementOp, Unset, compile_mix, compile_with,
};

struct Pgbench {
    server: Server,
}

impl Pgbench {
    fn start() -> Pgbench {
        let pgbench = Pgbench { server: Server::start(&[]) };
        pgbench.psql("CREATE TABLE seen (id bigserial, client int, v text)");
        pgbench
    }

    /// Rows of texts.
    fn psql(&self, sql: &str) -> Vec<Vec<String>> {
        let mut command = Command::new(programs().join("psql"));
        command.args(["-X", "-q", "-A", "-t", "-F", "\x1f", "-R", "\x1e", "-U", ROLE, "-h"]).arg(self.server.folder());
        let output = command.args(["-c", sql, "postgres"]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        let rows = text.strip_suffix('\n').unwrap_or_default().split('\x1e').filter(|row| !row.is_empty());
        rows.map(|row| row.split('\x1f').map(str::to_owned).collect()).collect()
    }

    fn pgbench(&self, scripts: &[(&str, u32)], options: &[&str]) -> Output {
        let mut command = Command::new(programs().join("pgbench"));
        command.args(["-n", "-U", ROLE, "-h"]).arg(self.server.folder()).args(options);
        for (number, (text, weight)) in scripts.iter().enumerate() {
            let path = self.server.folder().join(format!("{number}.sql"));
            fs::write(&path, text).unwrap();
            command.arg("-f").arg(format!("{}@{weight}", path.display()));
        }
        command.arg("postgres").env_remove("PGBENCH_RANDOM_SEED").output().unwrap()
    }

    /// What pgbench wrote, by client.
    fn seen(&self, scripts: &[(&str, u32)], options: &[&str]) -> Vec<(i32, String)> {
        self.psql("TRUNCATE seen");
        let output = self.pgbench(scripts, options);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let rows = self.psql("SELECT client, v FROM seen ORDER BY client, id");
        rows.into_iter().map(|row| (row[0].parse().unwrap(), row[1].clone())).collect()
    }
}

/// What a client of étalon sends.
fn sent(program: &Program, seed: u64, client: u32, transactions: u64) -> Result<Vec<String>, String> {
    let mut state = program.new_client(seed, client);
    let mut op = StatementOp::default();
    let mut texts = Vec::new();
    for index in 0..transactions {
        // Every transaction is tried twice, as after a deadlock: the values of the second try are those of the first.
        for attempt in 0..2 {
            let begin = texts.len();
            program.begin_transaction(&mut state, index);
            loop {
                match program.next_op(&mut state, &mut op) {
                    Next::Op if op.text.is_empty() => texts.push(parameters(&op)),
                    Next::Op => texts.push(op.text.clone()),
                    Next::Failed => return Err(program.take_failure(&mut state).message),
                    Next::End => break,
                    Next::Sleep(_) | Next::Pause(_) | Next::Sync(_) => {}
                }
            }
            if attempt == 0 {
                texts.truncate(begin);
            }
        }
    }
    Ok(texts)
}

fn parameters(op: &StatementOp) -> String {
    let text = |datum: &Datum| match datum {
        Datum::Null => "null".to_owned(),
        Datum::Int(n) => n.to_string(),
        Datum::Double(x) => x.to_string(),
        Datum::Text(text) => text.to_string(),
    };
    op.parameters.iter().map(text).collect::<Vec<_>>().join("|")
}

fn options(protocol: Protocol, definitions: &[(&str, &str)], clients: u32) -> ScriptOptions {
    let definitions = definitions.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    ScriptOptions { protocol, definitions, clients, unset: Unset::Accepted, ..ScriptOptions::default() }
}

/// The value `v` of `INSERT … VALUES (:client_id, '…')`.
fn inserted(text: &str) -> &str {
    text.split_once('\'').unwrap().1.rsplit_once('\'').unwrap().0
}

fn script_of(expressions: &[&str]) -> String {
    let mut script = String::new();
    let mut names = Vec::new();
    for (number, expression) in expressions.iter().enumerate() {
        script.push_str(&format!("\\set v{number} {expression}\n"));
        names.push(format!(":v{number}"));
    }
    script.push_str(&format!("INSERT INTO seen (client, v) VALUES (:client_id, '{}');\n", names.join("|")));
    script
}

const VALUES: &[&str] = &[
    "1 + 2 * 3 - -4",
    "7 / -2",
    "-7 / 2",
    "-7 % 3",
    "7 % -3",
    "7.5 % 2",
    "1 / 3.0",
    "10.0 / 4",
    "5 / 2",
    "1e15",
    "123456789.123456789",
    "1e15 + 0.3",
    "1e-5",
    "0.0001",
    "1.0",
    "-0.0",
    "1e300 * 1e10",
    "-1e300 * 1e10",
    ".5 + 1.",
    "9223372036854775807",
    "-9223372036854775808",
    "~5",
    "~1 + 1",
    "~1 | 8",
    "1 << 3 + 1",
    "1 << 63",
    "1 << 64",
    "1 << 65",
    "-8 >> 1",
    "1 << -1",
    "6 & 3 # 1",
    "1 | 2 & 3",
    "5 # 3",
    "2.5 | 0",
    "3.5 | 0",
    "-2.5 | 0",
    "int(2.5)",
    "int(3.5)",
    "int(-0.5)",
    "int(2.4999)",
    "double(3)",
    "double(1.5)",
    "abs(-5)",
    "abs(-5.5)",
    "abs(0)",
    "least(3, 1, 2)",
    "least(3, 1.5)",
    "greatest(1, 2.0, -7)",
    "greatest(1)",
    "mod(17, 5)",
    "mod(-17, 5)",
    "mod(7.6, 3)",
    "pi()",
    "sqrt(2)",
    "sqrt(-1) = 0",
    "ln(10)",
    "exp(1)",
    "pow(2, 10)",
    "power(2, 0.5)",
    "POW(0, 0)",
    "pow(-2, 3)",
    "hash(10)",
    "hash(10, 5432)",
    "hash_murmur2(-1, 0)",
    "hash_murmur2(9223372036854775807, -1)",
    "hash_fnv1a(10)",
    "hash_fnv1a(-10, 5432)",
    "hash_fnv1a(2.6, 1)",
    "permute(0, 1)",
    "permute(3, 10)",
    "permute(3, 10, 7)",
    "permute(-3, 10, 7)",
    "permute(1, 2, 3)",
    "permute(2, 3, 9)",
    "permute(5, 8, 1)",
    "permute(123456789, 9223372036854775807, 5432)",
    "permute(7, 1000000, :default_seed)",
    "1 = 1",
    "1 <> 1",
    "1 != 2",
    "1 < 2",
    "2 <= 1",
    "1 > 2",
    "2 >= 2",
    "1 = 1.0",
    "1.5 < 2",
    "NULL = NULL",
    "NULL IS NULL",
    "1 IS NULL",
    "1 IS NOT NULL",
    "NULL ISNULL",
    "NULL NOTNULL",
    "true IS TRUE",
    "true IS NOT FALSE",
    "1 IS TRUE",
    "NULL IS TRUE",
    "1 + 1 = 2 IS TRUE",
    "NULL IS NULL IS TRUE",
    "NOT true",
    "NOT NULL",
    "NOT 1 = 2 AND 3 < 4",
    "true AND NULL",
    "NULL AND false",
    "false AND NULL",
    "NULL OR true",
    "true OR NULL",
    "false OR NULL",
    "false AND 1 / 0 = 1",
    "true OR 1 / 0 = 1",
    "false OR true AND false",
    "NOT false OR true",
    "1 + NULL",
    "abs(NULL)",
    "least(1, NULL)",
    "debug(NULL)",
    "debug(1.5)",
    "random(1, NULL)",
    "CASE WHEN 0 THEN 1 WHEN 2.5 THEN 5 ELSE 1 / 0 END",
    "CASE WHEN NULL THEN 1 END",
    "case when true then 1 else 'x' end",
];

const DRAWS: &[&str] = &[
    "random(1, 100000)",
    "random(-5000, 5000)",
    "random(7, 7)",
    "random(0, 9223372036854775806)",
    "random(-4611686018427387904, 4611686018427387902)",
    "random(1, 6) > random(1, 6)",
    "random(1, 6) < random(1, 6)",
    "random(1, 6) >= random(1, 6)",
    "random_exponential(1, 1000, 0.1)",
    "random_exponential(1, 100000, 5.0)",
    "random_exponential(-10, 10, 50)",
    "random_gaussian(1, 1000, 2.0)",
    "random_gaussian(-500, 500, 5)",
    "random_zipfian(1, 1000, 1.001)",
    "random_zipfian(1, 1000000, 1.5)",
    "random_zipfian(-3, 3, 2.5)",
    "random_zipfian(5, 5, 1.2)",
    "random_zipfian(1, 10, 1000)",
    "permute(random(0, 99), 100)",
    "hash(random(1, 1000))",
    "least(random(1, 9), random(1, 9))",
    "CASE WHEN random(1, 2) = 1 THEN random(1, 10) ELSE random(100, 1000) END",
    "random(1, 2) = 1 AND random(1, 2) = 1",
    "random(1, 2.6)",
    "1.0 / random(1, 1000)",
    "random_gaussian(1, random(2, 1000), 2 + 1.0 / random(1, 4))",
];

/// Refused by pgbench when read or evaluated.
const REFUSED: &[&str] = &[
    "1 / 0",
    "mod(1, 0)",
    "5 % 0",
    "9223372036854775807 + 1",
    "-9223372036854775808 - 1",
    "9223372036854775807 * 2",
    "-9223372036854775808 / -1",
    "9223372036854775808",
    "9223372036854775809",
    "1e400",
    "int(1e300)",
    "true + 1",
    "true = true",
    "NOT 1",
    "1 AND true",
    "false OR 1",
    "true AND 0",
    "~true",
    "int(true)",
    "double(true)",
    "sqrt(false)",
    "random(2, 1)",
    "random(0, 9223372036854775807)",
    "random_gaussian(1, 2, 1.9)",
    "random_zipfian(1, 2, 1.0)",
    "random_zipfian(1, 2, 1001)",
    "random_exponential(1, 2, 0)",
    "permute(1, 0)",
    "1 < 2 < 3",
    "1 = 2 = 3",
    "1 +",
    "(1",
    "1)",
    "1 2",
    "abs()",
    "abs(1, 2)",
    "pi(1)",
    "random(1)",
    "hash()",
    "hash(1, 2, 3)",
    "permute(1)",
    "least()",
    "nofunction(1)",
    "CASE ELSE 1 END",
    "CASE WHEN 1 THEN 2",
    "1 IS 2",
    "? + 1",
    ":unset + 1",
    "least(1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17)",
    "NULL <> NULL <> NULL",
];

#[test]
fn values_are_pgbench_s_own() {
    let server = Pgbench::start();
    expressions_have_its_values(&server);
    expressions_by_chance_have_its_values(&server);
    draws_are_its_draws(&server);
    scripts_with_weights_are_chosen_alike(&server);
    refusals_are_shared(&server);
    parameters_are_what_it_binds(&server);
    the_language_around_expressions_is_the_same(&server);
    debug_shows_the_same_lines(&server);
    names_and_structures_are_refused_alike(&server);
}

static SHOWN: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn debug_shows_the_same_lines(server: &Pgbench) {
    let script = "\\set a debug(5 / 2.0)\nSELECT 1;\n\\if debug(1 = 1)\n\\set b debug(1)\n\\elif debug(2)\n\\else\n\\set c debug(3)\n\\endif\n\
        \\set c debug(NULL) \n\\if false\n\\elif debug(false)\n\\else\n\\set d debug(1e20)\n\\endif\n\\set e debug(-1)";
    let output = server.pgbench(&[(script, 1)], &["-t1"]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let theirs: Vec<&str> = text.lines().filter(|line| line.starts_with("debug(")).collect();
    let show: fn(&str) = |line| SHOWN.lock().unwrap().push(line.to_owned());
    let program = compile_with(script, &ScriptOptions { debug: Some(show), ..ScriptOptions::default() }).unwrap();
    let mut state = program.new_client(1, 0);
    program.begin_transaction(&mut state, 0);
    while program.next_op(&mut state, &mut StatementOp::default()) == Next::Op {}
    assert_eq!(*SHOWN.lock().unwrap(), theirs);
    assert_eq!(theirs.len(), 7);
}

fn names_and_structures_are_refused_alike(server: &Pgbench) {
    let scripts = [
        "\\if 1\nSELECT 1;",
        "\\else",
        "\\endif",
        "\\elif 1",
        "\\if 1\n\\else\n\\else\n\\endif",
        "\\if 1\n\\else\n\\elif 1\n\\endif",
        "\\gset",
        "SELECT 1 AS a \\gset\n\\gset",
        "\\set a 1\n\\gset",
        "\\sett a 1",
        "\\set 1a 1",
        "\\set",
        "\\set a",
        "\\if",
        "\\sleep",
        "\\sleep x",
        "\\sleep 1 h",
        "\\sleep 1 ms ms",
        "\\else x",
        "\\startpipeline x",
        "\\gset a b",
        "\\shell",
        "\\setshell a",
        "-- nothing",
        "",
        "\\startpipeline\nSELECT 1;\n\\endpipeline",
        "\\sleep :nobody",
        "\\set a 1 \\set b 2",
    ];
    for script in scripts {
        let theirs = server.pgbench(&[(script, 1)], &["-t1"]);
        assert!(!theirs.status.success(), "pgbench takes {script:?}");
        let ours = compile_with(script, &options(Protocol::Simple, &[], 1))
            .map_err(|error| error.to_string())
            .and_then(|program| sent(&program, 1, 0, 1));
        assert!(ours.is_err(), "we take {script:?}: {ours:?}");
    }
}

fn expressions_have_its_values(server: &Pgbench) {
    // The last one is no expression: a text that both must refuse.
    let (wrong, right) = VALUES.split_last().unwrap();
    assert!(compile_with(&format!("\\set x {wrong}"), &ScriptOptions::default()).is_err());
    for some in right.chunks(40) {
        let script = script_of(some);
        let theirs = server.seen(&[(&script, 1)], &["--random-seed=77", "-c1", "-t1"]);
        let program = compile_with(&script, &options(Protocol::Simple, &[], 1)).unwrap();
        let ours = sent(&program, 77, 0, 1).unwrap();
        same_values(some, inserted(&ours[0]), &theirs[0].1);
    }
}

fn same_values(expressions: &[&str], ours: &str, theirs: &str) {
    let (ours, theirs): (Vec<_>, Vec<_>) = (ours.split('|').collect(), theirs.split('|').collect());
    assert_eq!((ours.len(), theirs.len()), (expressions.len(), expressions.len()));
    for ((expression, ours), theirs) in expressions.iter().zip(ours).zip(theirs) {
        assert_eq!(ours, theirs, "{expression}");
    }
}

/// A random expression, without parentheses that would hide a wrong precedence.
fn by_chance(rng: &mut load::rng::Rng, depth: u32) -> String {
    const LEAVES: &[&str] = &[
        "0",
        "1",
        "2",
        "7",
        "-3",
        "2.5",
        "0.5",
        "-1.5",
        "1e3",
        "NULL",
        "true",
        "false",
        "random(1, 9)",
        ":client_id",
        "63",
        "100000000000",
    ];
    const BINARY: &[&str] = &[
        "+", "-", "*", "/", "%", "=", "<>", "<", "<=", ">", ">=", "|", "&", "#", "<<", ">>", "AND", "OR", "+", "*", "-",
    ];
    let mut pick = |list: &[&str]| list[rng.int_between(0, list.len() as i64 - 1) as usize].to_owned();
    if depth == 0 {
        return pick(LEAVES);
    }
    let (operator, prefix) = (pick(BINARY), pick(&["-", "~", "NOT ", "+", "- ~"]));
    let suffix = pick(&["IS NULL", "IS NOT NULL", "IS TRUE", "ISNULL", "NOTNULL", "IS NOT FALSE"]);
    let function = pick(&["abs", "int", "double", "sqrt", "exp", "hash", "ln"]);
    let (kind, mut part) = (rng.int_between(0, 13), || by_chance(rng, depth - 1));
    match kind {
        0..=7 => format!("{} {operator} {}", part(), part()),
        8 => format!("{prefix}{}", part()),
        9 => format!("{} {suffix}", part()),
        10 => format!("{function}({})", part()),
        11 => format!("CASE WHEN {} THEN {} ELSE {} END", part(), part(), part()),
        12 => format!("({})", part()),
        _ => format!("least({}, {}, {})", part(), part(), part()),
    }
}

/// What étalon evaluates, pgbench evaluates to the same; what étalon refuses, pgbench refuses.
fn expressions_by_chance_have_its_values(server: &Pgbench) {
    let mut rng = load::rng::Rng::new(2_026);
    let expressions: Vec<String> = (0..3_000).map(|n| by_chance(&mut rng, 1 + n % 3)).collect();
    let value = |expression: &&String| {
        let program = compile_with(&script_of(&[expression]), &options(Protocol::Simple, &[], 1)).ok()?;
        sent(&program, 5, 0, 1).ok()
    };
    let (taken, refused): (Vec<&String>, Vec<&String>) = expressions.iter().partition(|some| value(some).is_some());
    assert!(taken.len() > 700 && refused.len() > 200, "{} taken, {} refused", taken.len(), refused.len());
    let mut compared = 0;
    for some in taken.chunks(60) {
        let some: Vec<&str> = some.iter().map(|text| text.as_str()).collect();
        let script = script_of(&some);
        let program = compile_with(&script, &options(Protocol::Simple, &[], 1)).unwrap();
        // A random draw can fail here without failing alone.
        let Ok(ours) = sent(&program, 5, 0, 1) else { continue };
        let theirs = server.seen(&[(&script, 1)], &["--random-seed=5", "-c1", "-t1"]);
        same_values(&some, inserted(&ours[0]), &theirs[0].1);
        compared += some.len();
    }
    assert!(compared > 500, "only {compared} were compared");
    for expression in refused.iter().take(150) {
        let script = script_of(&[expression]);
        let theirs = server.pgbench(&[(&script, 1)], &["--random-seed=5", "-c1", "-t1"]);
        assert!(!theirs.status.success(), "pgbench takes {expression}");
    }
}

fn draws_are_its_draws(server: &Pgbench) {
    let script = script_of(DRAWS);
    for (seed, clients) in [("1", 1), ("5432", 1), ("18446744073709551615", 1), ("9", 4)] {
        let (clients_option, threads) = (format!("-c{clients}"), format!("-j{clients}"));
        let seed_option = format!("--random-seed={seed}");
        let theirs = server.seen(&[(&script, 1)], &[&seed_option, &clients_option, &threads, "-t", "300"]);
        assert_eq!(theirs.len(), 300 * clients as usize);
        let program = compile_with(&script, &options(Protocol::Simple, &[], clients)).unwrap();
        for client in 0..clients {
            let ours = sent(&program, seed.parse().unwrap(), client, 300).unwrap();
            let theirs = theirs.iter().filter(|(of, _)| *of == client as i32);
            for (transaction, (ours, (_, theirs))) in ours.iter().zip(theirs).enumerate() {
                assert_eq!(inserted(ours), theirs, "seed {seed}, client {client}, transaction {transaction}");
            }
        }
    }
}

fn scripts_with_weights_are_chosen_alike(server: &Pgbench) {
    let script = |name: &str| {
        format!(
            "\\set x random(1, 1000)\nINSERT INTO seen (client, v) VALUES (:client_id, '{name} :x :y :default_seed');"
        )
    };
    let (a, b, c) = (script("a"), script("b"), script("c"));
    let scripts = [(a.as_str(), 2), (b.as_str(), 5), (c.as_str(), 0)];
    for (define, definitions) in [("y=text", &[("y", "text")][..]), ("default_seed=12", &[("default_seed", "12")][..])]
    {
        let theirs = server.seen(&scripts, &["--random-seed=3", "-c3", "-j3", "-t", "100", "-D", define]);
        let sources = scripts.map(|(text, weight)| Source { name: "s", text, weight });
        let program = compile_mix(&sources, &options(Protocol::Simple, definitions, 3)).unwrap();
        for client in 0..3 {
            let ours = sent(&program, 3, client, 100).unwrap();
            let theirs: Vec<&str> =
                theirs.iter().filter(|(of, _)| *of == client as i32).map(|(_, text)| text.as_str()).collect();
            assert_eq!(ours.iter().map(|text| inserted(text)).collect::<Vec<_>>(), theirs, "{define}, client {client}");
        }
    }
}

fn refusals_are_shared(server: &Pgbench) {
    for expression in REFUSED {
        let script = format!("\\set x {expression}\nSELECT 1;");
        let theirs = server.pgbench(&[(&script, 1)], &["-c1", "-t1"]);
        assert!(!theirs.status.success(), "pgbench takes {expression}");
        let ours = compile_with(&script, &options(Protocol::Simple, &[], 1))
            .map_err(|error| error.to_string())
            .and_then(|program| sent(&program, 1, 0, 1));
        assert!(ours.is_err(), "we take {expression}: {ours:?}");
    }
}

/// What arrives in typed columns equals what pgbench's texts become there.
fn parameters_are_what_it_binds(server: &Pgbench) {
    server.psql("CREATE TABLE typed (id bigserial, i bigint, d double precision, b boolean, t text)");
    let script = "\\set i random(-100, 100)\n\\set d 1.0 / random(1, 1000) * pow(10, random(-30, 30))\n\\set b :i > 0\n\
                  INSERT INTO typed (i, d, b, t) VALUES (:i, :d, :b, :name);";
    let output = server.pgbench(&[(script, 1)], &["--random-seed=6", "-M", "prepared", "-t", "200", "-D", "name=007"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let program = compile_with(script, &options(Protocol::Prepared, &[("name", "007")], 1)).unwrap();
    let ours = sent(&program, 6, 0, 200).unwrap();
    let theirs = server.psql("SELECT i, d, b, t FROM typed ORDER BY id");
    assert_eq!(theirs.len(), 200);
    for (ours, row) in ours.iter().zip(theirs) {
        let [i, d, b, t] = &row[..] else { panic!("{row:?}") };
        let (d, b): (f64, bool) = (d.parse().unwrap(), b == "t");
        assert_eq!(*ours, format!("{i}|{d}|{b}|{t}"));
    }
}

/// Lexing, conditions, variables from rows: the same statements arrive in the same order.
fn the_language_around_expressions_is_the_same(server: &Pgbench) {
    let script = "-- a comment with ; and \\set\n\\set x random(1, 4)\n\\SET é_1 :x * 2\n\\if :x = 1\n\
        INSERT INTO seen (client, v) VALUES (0, 'one ; :x');\n\\elif :x = 2\n\\if :é_1 = 4\n\
        INSERT INTO seen (client, v) VALUES (0, 'two');\n\\else\nINSERT INTO seen (client, v) VALUES (0, 'never');\n\\endif\n\
        \\else\n\\set y \\\n :x + \\\n 1\nINSERT INTO seen (client, v) VALUES (0, 'else :y');\n\\endif\n\
        SELECT :x + 10 AS a, 'off' AS b, 1.50 AS c, '' AS d \\gset p_\n\
        \\set z CASE WHEN :p_b THEN 'no' ELSE :p_a + :p_c END\n";
    let script = script.replace("'no'", "1 / 0");
    let script = format!(
        "{script}INSERT INTO seen (client, v) VALUES (0, ':p_a/:p_b/:p_c/:p_d/:z ::text :nobody');\n\
        SELECT 1 AS one \\; SELECT 2 AS two WHERE false \\; SELECT g AS three FROM generate_series(1, 3) g \\aset\n\
        INSERT INTO seen (client, v) VALUES (0, ':one :two :three') /* ; */ \\; SELECT ';' ;\n\
        INSERT INTO seen (client, v) VALUES (0, $$a ; :x $$);"
    );
    let theirs = server.seen(&[(&script, 1)], &["--random-seed=11", "-t", "50"]);
    let program = compile_with(&script, &options(Protocol::Simple, &[], 1)).unwrap_or_else(|error| panic!("{error}"));
    let mut ours = Vec::new();
    let mut state = program.new_client(11, 0);
    let mut op = StatementOp::default();
    for index in 0..50 {
        program.begin_transaction(&mut state, index);
        loop {
            match program.next_op(&mut state, &mut op) {
                Next::Op if op.text.starts_with("INSERT") => ours.push(op.text.clone()),
                Next::Op => {}
                Next::End => break,
                other => panic!("{other:?} {:?}", program.take_failure(&mut state)),
            }
            program.receive_rows(&mut state, &rows_of(&op.text)).unwrap();
        }
    }
    let value = |text: &String| {
        let text = text.split(" /*").next().unwrap();
        text.split_once("(0, ").unwrap().1.trim_matches([')', '\'', '$']).to_owned()
    };
    let theirs: Vec<String> = theirs.into_iter().map(|(_, text)| text).collect();
    assert_eq!(ours.iter().map(value).collect::<Vec<_>>(), theirs);
}

/// The server's rows for the script's own queries.
fn rows_of(sql: &str) -> Vec<KeptRow> {
    let row = |rows, columns: &[&str], values: &[&str]| KeptRow {
        rows,
        columns: columns.iter().map(|name| (*name).to_owned()).collect(),
        values: values.iter().map(|text| Datum::Text((*text).to_owned().into())).collect(),
    };
    if let Some(rest) = sql.strip_prefix("SELECT ").filter(|_| sql.contains("AS a")) {
        let x: i64 = rest.split(' ').next().unwrap().parse().unwrap();
        return vec![row(1, &["a", "b", "c", "d"], &[&(x + 10).to_string(), "off", "1.50", ""])];
    }
    vec![row(1, &["one"], &["1"]), row(0, &["two"], &[]), row(3, &["three"], &["3"])]
}

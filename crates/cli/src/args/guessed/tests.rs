//! Tests of the lines that are answered.

use clap::Parser as _;

use super::words::OPTIONS;
use super::*;

/// What is printed for a line.
fn said(typed: &str) -> String {
    let words: Vec<String> = shlex::split(typed).unwrap();
    let error = Cli::try_parse_from(std::iter::once("etalon".to_owned()).chain(words.iter().cloned())).unwrap_err();
    match suggest_line(&words, error) {
        Ok(error) => format!("{}\n{}", error.message, error.hints.join("\n")),
        Err(error) => error.to_string(),
    }
}

/// The lines are answered with these, which étalon takes.
#[track_caller]
fn answered(cases: &[(&str, &str)]) {
    let mut wrong = String::new();
    for (typed, line) in cases {
        let said = said(typed);
        if !said.contains(&format!("`{line}`")) {
            wrong += &format!("{typed}: {line}\n{said}\n");
        }
        let line = line.split(" && ").next().unwrap().split(" > ").next().unwrap();
        let parsed = Cli::try_parse_from(shlex::split(line).unwrap());
        assert!(parsed.is_ok() || line.ends_with("--version"), "{line}: {parsed:?}");
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn verbs_of_other_tools_are_answered_with_a_line() {
    answered(&[
        ("a.db b.db", "etalon run sqlite:a.db sqlite:b.db"),
        ("postgresql://h/a postgresql://h/b -c 8", "etalon run postgresql://h/a postgresql://h/b -c 8"),
        ("bench a.db b.db", "etalon run sqlite:a.db sqlite:b.db"),
        ("test postgres://h/d --duration 60", "etalon run postgres://h/d --for 60s"),
        ("sweep a.db", "etalon run sqlite:a.db --clients 1,2,4,8"),
        ("ramp a.db", "etalon capacity sqlite:a.db --p99 20ms"),
        ("scale a.db -c 1,9", "etalon run sqlite:a.db -c 1,9"),
        ("disk dirA dirB", "etalon run dirA dirB"),
        (
            "fio --rw=randread --bs=8k --size 1G dirA",
            "etalon run dirA --set 'benchmarks.*.op=read' --set 'benchmarks.*.pattern=random' --set 'benchmarks.*.block_kb=8' --set 'benchmarks.*.size_mb=1024'",
        ),
        ("backup a.db b.db", "etalon run backup-compression --system sqlite:a.db --system sqlite:b.db"),
        ("queries reports/ a.db b.db", "etalon run reports/ sqlite:a.db sqlite:b.db"),
        ("ci a.db b.db", "etalon run sqlite:a.db sqlite:b.db && etalon gate last"),
        ("check x.etalon", "etalon gate x.etalon"),
        ("convert old.txt new.txt", "etalon import old.txt new.txt -o old-vs-new.etalon"),
        ("ls r2", "etalon list r2"),
        ("version", "etalon --version"),
        ("diff a.etalon b.etalon", "etalon compare a.etalon b.etalon"),
        ("import old.txt new.txt", "etalon import old.txt new.txt -o old-vs-new.etalon"),
        ("capacity postgres://h/d", "etalon capacity postgres://h/d --p99 20ms"),
        ("find-max-clients postgres://h/d", "etalon capacity postgres://h/d --p99 20ms"),
        ("bench-disk dirA dirB", "etalon run dirA dirB"),
        (
            "compare-backups postgres://h/d",
            "etalon run backup-compression --set 'benchmarks.*.whole_server=true' --set 'benchmarks.*.tables=none' --system postgres://h/d",
        ),
        (
            "what-if postgres://h/d 'create index on t(a)'",
            "etalon run postgres://h/d --change 'create index etalon_index on t(a)' --undo 'drop index etalon_index'",
        ),
        ("baseline save postgres://h/d", "etalon run postgres://h/d -o baseline"),
        ("diff before after", "etalon compare before after"),
        ("slow-queries postgres://h/d", "etalon queries postgres://h/d -o sql"),
        ("compare-queries sql/ postgres://h/a postgres://h/b", "etalon run sql/ postgres://h/a postgres://h/b"),
        ("show-results", "etalon list ."),
    ]);
    assert!(said("replay log").contains("`etalon run A_URL B_URL shop.capture` replays it"));
}

/// Lines with options of other tools, and étalon's.
const LINES: &[(&str, &str)] = &[
    ("run a.db --concurrency 8 --duration 600 --slo 20", "etalon run sqlite:a.db --clients 8 --for 600s --p99 20ms"),
    ("run postgres -T60 -f my.sql -n", "etalon run postgres --for 60s --script my.sql"),
    ("run postgres -D a=1 -D b=2", "etalon run postgres --set 'define=a=1, b=2'"),
    ("run postgres --jobs 4 --dry-run -o x", "etalon plan postgres --clients 4"),
    ("run -h localhost -p 5432 -U me -d bench -c 8", "etalon run postgres://me@localhost:5432/bench -c 8"),
    ("run mysql -h db1 -U me", "etalon run mysql://me@db1/"),
    ("run --rate=5 postgres", "etalon run postgres --set 'benchmarks.*.rate=5'"),
    ("run postgres --output json", "etalon run postgres --json"),
    ("run postgres --save out", "etalon run postgres --output out"),
    ("run a.db --codec lz4", "etalon run backup-compression --set 'benchmarks.*.codec=lz4' --system sqlite:a.db"),
    ("run postgres --junit x.xml", "etalon run postgres && etalon gate last --format junit > x.xml"),
    ("run postgres --clientz 4", "etalon run postgres --clients 4"),
    ("gate x.etalon --sla 20ms", "etalon gate x.etalon --limit 'p99 <= 20ms'"),
    (
        "gate x.etalon --fail-if 'p99 > 20ms' --threshold 5",
        "etalon gate x.etalon --limit 'p99 <= 20ms' --max-regression 5%",
    ),
    ("gate --candidate b.etalon --baseline a.etalon", "etalon gate b.etalon --baseline a.etalon"),
    ("gate a.etalon b.etalon", "etalon gate b.etalon --baseline a.etalon"),
    ("gate x.etalon --junit x.xml", "etalon gate x.etalon --format junit > x.xml"),
    ("compare x.etalon --duration 5 --threshold 5%", "etalon compare x.etalon --margin 5%"),
    ("compare postgres://h/a mysql://h/b -c 4 -T 10", "etalon run postgres://h/a mysql://h/b -c 4 --for 1m"),
    ("compare -f my.sql sqlite:a.db sqlite:b.db", "etalon run sqlite:a.db sqlite:b.db --script my.sql"),
    ("run -a postgres://h/a -b postgres://h/b -T 60", "etalon run postgres://h/a postgres://h/b --for 1m20s"),
    ("run --a old=postgres://h/a --b new=postgres://h/b", "etalon run old=postgres://h/a new=postgres://h/b"),
    ("run postgres -b select-only", "etalon run postgres --script select-only"),
    ("compare --fail-if-slower 5% b.etalon a.etalon", "etalon gate a.etalon --max-regression 5% --baseline b.etalon"),
    ("run postgres --fail-on 'p95>50ms'", "etalon run postgres && etalon gate last --limit 'p95 <= 50ms'"),
    ("find-max postgres://h/d --slo 'p99<20ms'", "etalon capacity postgres://h/d --p99 20ms"),
    ("find-capacity --slo 'p99<20ms' postgres://h/d", "etalon capacity postgres://h/d --p99 20ms"),
    (
        "run -f my.sql@3 -f other.sql@1 -c 8 -h db1 -p 5541 -U me bench",
        "etalon run postgres://me@db1:5541/bench --script my.sql@3,other.sql@1 -c 8",
    ),
    ("script my.sql --db postgres://h/d -c 1,8", "etalon run my.sql postgres://h/d -c 1,8"),
    (
        "compare postgres://h/a postgres://h/b --target-latency p99=20ms",
        "etalon run postgres://h/a postgres://h/b --p99 20ms",
    ),
    (
        "ci --baseline today.etalon --max-regression 5% postgres://h/d",
        "etalon run postgres://h/d && etalon gate last --baseline today.etalon --max-regression 5%",
    ),
    (
        "gate x.etalon --threshold p99=20ms --threshold tps=500",
        "etalon gate x.etalon --limit 'p99 <= 20ms' --limit 'tps >= 500'",
    ),
    (
        "gate --max-p99 20ms --min-tps 500 -f my.sql postgres://h/d",
        "etalon run postgres://h/d --script my.sql && etalon gate last --limit 'p99 <= 20ms' --limit 'tps >= 500'",
    ),
    ("compare postgres://h/d postgres://h/d --set-b work_mem=1MB", "etalon run postgres://h/d --set-b work_mem=1MB"),
    (
        "compare postgres://h/d --a-set jit=on --b-set jit=off -c 4",
        "etalon run postgres://h/d --set-a jit=on --set-b jit=off -c 4",
    ),
    ("setting synchronous_commit=off postgres://h/d", "etalon run postgres://h/d --set-b synchronous_commit=off"),
    (
        "compare postgres://h/d --set synchronous_commit=on --set synchronous_commit=off",
        "etalon run postgres://h/d --set-a synchronous_commit=on --set-b synchronous_commit=off",
    ),
    (
        "ab --server postgres://h/d --a jit=on --b jit=off -c 4",
        "etalon run postgres://h/d -c 4 --set-a jit=on --set-b jit=off",
    ),
    ("tune postgres://h/d work_mem=4MB,64MB", "etalon run postgres://h/d --set-a work_mem=4MB --set-b work_mem=64MB"),
    ("bench --workload select-only -d 90s postgres://h/d", "etalon run postgres://h/d --script select-only --for 90s"),
    ("gate x.etalon --fail-on 'p99>10%'", "etalon gate x.etalon --max-regression 10%"),
    ("gate x.etalon --sla 'tps >= 500'", "etalon gate x.etalon --limit 'tps >= 500'"),
    ("bench --A sqlite:a.db --B sqlite:b.db", "etalon run sqlite:a.db sqlite:b.db"),
    ("gate x.etalon --fail-on-regression --against y.etalon", "etalon gate x.etalon --baseline y.etalon"),
    ("compare dirA dirB --duration 60", "etalon run dirA dirB --for 60s"),
    ("import a.csv --platform-column p -o x.etalon", "etalon import a.csv --map p=system -o x.etalon"),
    ("-h db1 -p 5432 -U me shop", "etalon run postgres://me@db1:5432/shop"),
];

#[test]
fn all_options_of_other_tools_are_answered_at_once() {
    answered(LINES);
    assert!(said("run postgres -h").contains("Usage"));
    let strange = "without `mixed`: type `etalon run postgres://h/a postgres://h/b -c 8`";
    assert!(said("bench postgres://h/a postgres://h/b --workload x mixed -c 8").contains(strange));
    assert!(said("diff 1 2").contains("`etalon list etalon-results`"));
}

#[test]
fn lines_of_other_benchmarks_are_rewritten() {
    answered(&[
        (
            "pgbench -h db1 -p 5433 -U me -c 8 -j 2 -T 60 shop",
            "etalon run postgres://me@db1:5433/shop -c 8 -j 2 --for 60s",
        ),
        ("pgbench -i -s 20 shop", "etalon run postgres:///shop -s 20"),
        ("pgbench postgres://h/d -f my.sql", "etalon run postgres://h/d --script my.sql"),
        ("psql -h db1 -f q.sql shop", "etalon run postgres://db1/shop --script q.sql"),
        (
            "sysbench oltp_read_write --pgsql-host=db1 --pgsql-db=shop --threads=8 --time=60 run",
            "etalon run postgres://db1/shop --script tpcb-like --clients 8 --for 60s",
        ),
        (
            "sysbench oltp_point_select --mysql-host=db1 --mysql-db=shop --tables=4 --threads=8 run",
            "etalon run mysql://db1/shop --script select-only --clients 8",
        ),
        ("sysbench --db-driver=pgsql oltp_insert prepare", "etalon run postgres:/// --script simple-update"),
        (
            "mysqlslap --concurrency=8 --iterations=7 --create-schema=shop -h db2",
            "etalon run mysql://db2/shop --clients 8 --rounds 7",
        ),
        (
            "diskspd -b8K -d60 -o8 -t4 -r -w30 -Sh /data/test.dat",
            "etalon run /data/test.dat --set 'benchmarks.*.block_kb=8' --set schedule.duration=60s --set 'benchmarks.*.depth=8' --set 'benchmarks.*.threads=4' --set 'benchmarks.*.op=mixed' --set 'benchmarks.*.pattern=random' --set 'benchmarks.*.read_percent=70'",
        ),
    ]);
}

#[test]
fn values_in_the_forms_of_other_tools_are_understood() {
    answered(&[
        (
            "settings postgres://h/d --param work_mem --values 4MB,16MB,64MB",
            "etalon run postgres://h/d --set-a work_mem=4MB --set-b work_mem=16MB",
        ),
        (
            "set synchronous_commit on off --on postgres://h/d -T 90",
            "etalon run postgres://h/d --for 90s --set-a synchronous_commit=on --set-b synchronous_commit=off",
        ),
        ("ab --url mysql://h/d --setting x=1 --vs x=2", "etalon run --url mysql://h/d --set-a x=1 --set-b x=2"),
        (
            "run postgres://h/d --clients 1..64 --target p99=20ms",
            "etalon run postgres://h/d --max-clients 64 --p99 20ms",
        ),
        ("time --query 'select count(*) from t' postgres://h/d", "etalon run postgres://h/d --queries q.sql"),
        ("run dirA dirB --time 5m -o report.html", "etalon run dirA dirB --for 5m -o report"),
        (
            "run postgres://h/d --assert 'p99<20ms' --junit out.xml --json today.json",
            "etalon run postgres://h/d --json > today.json && etalon gate last --limit 'p99 <= 20ms' --format junit > out.xml",
        ),
        (
            "check today.etalon --against last.etalon --fail-on regression --p99 20ms",
            "etalon gate today.etalon --baseline last.etalon --limit 'p99 <= 20ms'",
        ),
        (
            "gate --baseline r/old.json --current r/new.json --max-regression 5%",
            "etalon gate r/new.etalon --baseline r/old.etalon --max-regression 5%",
        ),
        ("diff a.json b.json", "etalon compare a.etalon b.etalon"),
        ("compare --before b.etalon --after a.etalon --html u.html", "etalon report b.etalon a.etalon -o u.html"),
        ("record -o before.json postgres://h/d", "etalon run postgres://h/d -o before"),
        (
            "import --format sysbench --a a.txt --b b.txt -o x.html",
            "etalon import a.txt b.txt --format sysbench -o x.etalon",
        ),
        (
            "backup postgres://h/d --to dir --compress=gzip --compress=zstd:3 --jobs 2",
            "etalon run backup-compression --set 'benchmarks.*.codec=[\"gzip\", \"zstd\"]' --set 'benchmarks.*.whole_server=true' --set 'benchmarks.*.tables=none' --system postgres://h/d",
        ),
    ]);
    let masked = said("bench postgres://me:secret@h/d");
    assert!(masked.contains("me:***@h") && masked.contains("`***` stands for the password"), "{masked}");
    assert!(!said("run a.db --param x").contains("--aa"));
}

#[test]
fn words_in_the_order_of_other_tools_are_understood() {
    answered(&[
        (
            "bench -h h -U me -d shop --vs 'host=h2 port=25433 user=me dbname=shop' -c 8 -T 90",
            "etalon run postgres://me@h/shop postgres://me@h2:25433/shop -c 8 --for 90s",
        ),
        (
            "-L synchronous_commit on,off postgres://h/d",
            "etalon run postgres://h/d --set-a synchronous_commit=on --set-b synchronous_commit=off",
        ),
        (
            "find-capacity --target postgres://h/d --max-p99 20ms --clients 1..64",
            "etalon capacity postgres://h/d --p99 20ms --max-clients 64",
        ),
        (
            "run postgres://h/d --stage 5s:10 --stage 5s:50 --threshold 'p(99)<20'",
            "etalon run postgres://h/d --clients 10,50 && etalon gate last --limit 'p99 <= 20ms'",
        ),
        ("sql 'select count(*) from t' --on postgres://h/d", "etalon run postgres://h/d --queries q.sql"),
        (
            "run postgres://h/d --fail-on-regression --threshold p99=20",
            "etalon run postgres://h/d && etalon gate last --baseline last~1 --limit 'p99 <= 20ms'",
        ),
        (
            "nightly -d postgres://h/d --history dir --p99 20ms --exit-code",
            "etalon run postgres://h/d && etalon gate last --limit 'p99 <= 20ms'",
        ),
        (
            "compare-settings --dsn postgres://h/d --setting random_page_cost --values 1.1,4",
            "etalon run postgres://h/d --set-a random_page_cost=1.1 --set-b random_page_cost=4",
        ),
        ("time --sql 'select 1 from t' postgres://h/d", "etalon run postgres://h/d --queries q.sql"),
        ("run postgres://h/d --save before.json", "etalon run postgres://h/d --output before"),
        ("report --before b.json --after a.json --html r.html", "etalon report b.etalon a.etalon -o r.html"),
        (
            "bench backup --codecs=none,zstd-9 --runs 7 shop",
            "etalon run backup-compression --rounds 7 --set 'benchmarks.*.codec=[\"none\", \"zstd\"]' --set 'benchmarks.*.whole_server=true' --set 'benchmarks.*.tables=none' --system postgres://me@db1/bench",
        ),
        (
            "fio --filename=/dev/no-such --rw=read",
            "etalon run /dev/no-such --set 'benchmarks.*.op=read' --set 'benchmarks.*.pattern=sequential'",
        ),
    ]);
    assert!(said("sysbench cpu run").contains("no processors"));
}

#[test]
fn an_unknown_option_is_no_value() {
    for typed in ["run a.db --xyzzy", "list --xyzzy", "resume a b", "doctor --xyzzy", "--xyzzy"] {
        let said = said(typed);
        assert!(!said.contains("-- --") && !said.contains("as a value"), "{typed}: {said}");
    }
    assert!(said("run a.db --xyzzy --vus 4").contains("without `--xyzzy`: type `etalon run sqlite:a.db --clients 4`"));
}

#[test]
fn what_gives_something_up_is_never_proposed() {
    for word in ["--allow-sequental-order", "--i-will-lose-data-on", "--allow", "--allow-unequal"] {
        let said = said(&format!("run postgres {word}"));
        assert!(!NEVER_PROPOSED.iter().any(|option| said.contains(*option)), "{word}: {said}");
    }
}

#[test]
fn nothing_that_is_known_here_has_an_advice() {
    let etalon = Cli::command();
    for (verb, verbs) in
        [("run", For::Measuring), ("gate", For::Gate), ("compare", For::Compare), ("import", For::Import)]
    {
        for argument in etalon.find_subcommand(verb).unwrap().get_arguments() {
            let long = argument.get_long().map(|long| format!("--{long}"));
            let short = argument.get_short().map(|short| format!("-{short}"));
            for word in [long, short].into_iter().flatten() {
                let is_known = OPTIONS.iter().any(|known| known.verbs == verbs && known.names.contains(&word.as_str()));
                // `init` has none.
                assert!(!is_known || word == "--set", "{verb} {word}");
            }
        }
    }
    for OtherVerb { names, .. } in verbs::VERBS {
        assert!(names.iter().all(|name| etalon.find_subcommand(name).is_none()), "{names:?}");
    }
}

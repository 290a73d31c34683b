//! Agreement with pgbench: the same scripts, by both tools in turn on one server, give the same throughput and latency.
//!
//! Each transaction ends with a pause, so that neither tool is limited by its own cost. Runs in the slow suite.

use std::process::Command;

use host::watch::{Measured, Watch};
use stats::{PairedRatio, Rng, RunValue, Sample, lies_within_margin, pair_by_round, paired_ratio};

use crate::experiment::conduct;
use crate::latency::disturbance;
use crate::server::{ROLE, Server, programs};
use crate::slow::is_slow;

/// Half width of the zone in which the two count as equal.
const MARGIN: f64 = 0.05;
const LEVEL: f64 = 0.95;
const ROUNDS: u32 = 8;
const SECONDS: u32 = 4;
const SCALE: u32 = 10;
/// Between transactions. An unoptimised build takes some 30 µs per statement for all clients in turn, which must be
/// negligible.
const PAUSE: &str = "20 ms";
const CLIENTS: u32 = 16;
const THREADS: u32 = 2;
/// Share of the machine that others may take in a attempt that counts.
const QUIET_SHARE: f64 = 0.05;
/// Attempts, where others worked on the machine.
const TRIES: u32 = 3;

#[derive(Clone, Copy, Debug)]
struct Shown {
    throughput: f64,
    latency_ms: f64,
}

/// One of pgbench's built-in scripts in its own words, with a pause at the end.
fn script(name: &str, pause: &str) -> String {
    let output = Command::new(programs().join("pgbench")).arg(format!("--show-script={name}")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let shown = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    let text: Vec<&str> = shown.lines().filter(|line| !line.starts_with("--")).collect();
    assert!(text.iter().any(|line| line.contains("pgbench_accounts")), "{shown}");
    format!("{}\n\\sleep {pause}\n", text.join("\n").trim_end())
}

fn pgbench(server: &Server, options: &[&str]) -> String {
    let mut command = Command::new(programs().join("pgbench"));
    command.args(["-U", ROLE, "-h"]).arg(server.folder()).args(options).arg("postgres");
    let output = command.env_remove("PGBENCH_RANDOM_SEED").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn number_after(text: &str, before: &str) -> f64 {
    let rest = text.split_once(before).unwrap_or_else(|| panic!("no `{before}` in {text}")).1.trim_start();
    rest.split_whitespace().next().unwrap().parse().unwrap()
}

fn by_pgbench(server: &Server, file: &str) -> Shown {
    let (clients, threads, seconds) = (CLIENTS.to_string(), THREADS.to_string(), SECONDS.to_string());
    // With `-r` the latency is measured; without it pgbench divides the time by the transactions.
    let scale = SCALE.to_string();
    let options =
        ["-n", "-r", "-M", "prepared", "-s", &scale, "-c", &clients, "-j", &threads, "-T", &seconds, "-f", file];
    let said = pgbench(server, &options);
    Shown { throughput: number_after(&said, "tps ="), latency_ms: number_after(&said, "latency average =") }
}

fn by_etalon(server: &Server, file: &str) -> Shown {
    let outcome = conduct(&format!(
        "[systems.server]\nurl = \"postgres://{ROLE}@/postgres?host={}&port=5432\"\n[[benchmarks]]\n\
         workload = \"transactions\"\nscript = \"{file}\"\nscale = {SCALE}\nclients = {CLIENTS}\nthreads = {THREADS}\n\
         protocol = \"prepared\"\ntables = \"none\"\n[schedule]\nrounds = 1\nwarmup = \"0s\"\n\
         duration = \"{SECONDS}s\"\n",
        server.folder().display()
    ));
    Shown { throughput: outcome.value("throughput"), latency_ms: outcome.value("response_mean") / 1e3 }
}

/// Étalon's figures over pgbench's.
fn ratio(rounds: &[(Shown, Shown)], figure: fn(&Shown) -> f64) -> PairedRatio {
    let sample = |side: fn(&(Shown, Shown)) -> &Shown| {
        let value = |(round, shown): (u32, &(Shown, Shown))| RunValue { round, value: figure(side(shown)) };
        Sample::from_runs((1..).zip(rounds).map(value))
    };
    paired_ratio(&pair_by_round(&sample(|both| &both.0), &sample(|both| &both.1)), LEVEL).unwrap()
}

/// Runs both in random order in each round. Also gives the share of the machine that others took.
fn attempt(server: &Server, file: &str, rng: &mut Rng) -> (Vec<(Shown, Shown)>, f64) {
    let watch = Watch::start(&Measured::default());
    let rounds = (0..ROUNDS).map(|_| {
        if rng.draw_below(2) == 0 {
            let first = by_pgbench(server, file);
            (first, by_etalon(server, file))
        } else {
            let first = by_etalon(server, file);
            (by_pgbench(server, file), first)
        }
    });
    let rounds: Vec<(Shown, Shown)> = rounds.collect();
    (rounds, disturbance(&watch.stop()))
}

#[test]
fn pgbench_and_etalon_show_the_same() {
    if !is_slow() {
        eprintln!("skipped: ETALON_SLOW=1 runs it");
        return;
    }
    let server = Server::start(&[]);
    pgbench(&server, &["-i", "-q", "-s", &SCALE.to_string()]);
    let folder = tempfile::tempdir().unwrap();
    let mut rng = Rng::new(1);
    for name in ["select-only", "simple-update", "tpcb-like"] {
        let file = crate::file(folder.path(), &format!("{name}.sql"), &script(name, PAUSE));
        let file = file.display().to_string();
        for number in 1..=TRIES {
            let (rounds, foreign) = attempt(&server, &file, &mut rng);
            let ratios = [ratio(&rounds, |shown| shown.throughput), ratio(&rounds, |shown| shown.latency_ms)];
            let words = ratios.map(|ratio| format!("{:.4} ({:.4} to {:.4})", ratio.ratio, ratio.lo, ratio.hi));
            let words = format!("{name}: étalon over pgbench: throughput {}, mean latency {}", words[0], words[1]);
            eprintln!("{words}; others took {:.1} % of the machine; {:?}", foreign * 100.0, rounds[0]);
            if ratios.iter().all(|ratio| lies_within_margin(ratio, MARGIN)) {
                break;
            }
            let may_repeat = foreign > QUIET_SHARE && number < TRIES;
            assert!(may_repeat, "{words}: not equivalent within {:.0} %", MARGIN * 100.0);
        }
    }
}

//! What verdicts are worth where clients answer together and a run has few operations, on virtual time.

use serde_json::Value;
use stats::Rng;

use crate::scene::Scene;

/// True ratios of throughput, B over A: equal, within the margin, just beyond it, well beyond it.
const RATIOS: [f64; 4] = [1.0, 0.9975, 0.97, 0.924];

/// One experiment of ten rounds: 1 to 64 clients, 2 to 200 operations in each run of a second, in step but for a spread of
/// at most a tenth.
struct Experiment {
    seed: usize,
    ratio: f64,
    clients: u64,
    operations: f64,
    spread: f64,
    noise: f64,
    think_share: f64,
    warmup_ms: u64,
}

impl Experiment {
    fn new(seed: usize) -> Experiment {
        let mut rng = Rng::new(1_000 + seed as u64);
        let mut draw = |least: f64, most: f64| least * (most / least).powf(rng.next_f64());
        let clients = draw(1.0, 64.99).floor();
        let least = clients.max(2.0);
        Experiment {
            seed,
            ratio: RATIOS[seed % RATIOS.len()],
            clients: clients as u64,
            operations: draw(least, 200.0),
            spread: if (seed / 4).is_multiple_of(2) { 0.0 } else { draw(0.01, 0.1) },
            noise: draw(0.001, 0.01),
            think_share: if seed / 8 % 3 == 2 { draw(0.1, 0.6) } else { 0.0 },
            warmup_ms: [0, 150, 2_000][seed % 3],
        }
    }

    /// Think times are the same on both sides, so that the response makes up for the whole ratio.
    fn plan(&self) -> String {
        let cycle_us = self.clients as f64 * 1e6 / self.operations;
        let think_us = (cycle_us * self.think_share).floor();
        let of = |ratio: f64| cycle_us / ratio - think_us;
        let url = |name: &str, ratio: f64| {
            let (spread, noise) = (self.spread, self.noise * (1.0 - self.think_share));
            format!(
                "[systems.{name}]\nurl = \"sim:?service_us={:.3}&spread={spread:.4}&noise={noise:.5}&servers=1000\"\n",
                of(ratio)
            )
        };
        let think = if think_us > 0.0 { format!("think_time = \"{think_us}us\"\n") } else { String::new() };
        format!(
            "{}{}[[benchmarks]]\nworkload = \"transactions\"\nscript = \"b.sql\"\ntables = \"none\"\nclients = {}\n{think}\
             [schedule]\nrounds = 10\nseed = {}\nwarmup = \"{}ms\"\nduration = \"1s\"\n",
            url("a", 1.0),
            url("b", self.ratio),
            self.clients,
            self.seed,
            self.warmup_ms
        )
    }
}

/// Says whether the interval of the throughput holds the truth, and which verdicts are against it.
struct Held {
    is_held: Option<bool>,
    against: Vec<String>,
    verdict: String,
}

fn held(scene: &Scene, experiment: &Experiment) -> Held {
    const MARGIN: f64 = 1.03;
    scene.write("plan.toml", &experiment.plan());
    let ran = scene.etalon(&["--json", "--quiet", "run", "plan.toml", "--yes"]);
    let what =
        format!("seed {}, {} clients, {:.1} operations", experiment.seed, experiment.clients, experiment.operations);
    assert!(ran.code <= 1, "{what}: {}", ran.stderr);
    let told: Value = serde_json::from_str(&ran.stdout).unwrap();
    let mut held = Held { is_held: None, against: Vec::new(), verdict: String::new() };
    for row in told["comparisons"].as_array().unwrap().iter().filter(|row| row["role"] == "primary") {
        let verdict = row["verdict"].as_str().unwrap_or("none");
        let is_against = match verdict {
            "faster" => true,
            "slower" => experiment.ratio >= 1.0,
            "equivalent" => experiment.ratio * MARGIN < 1.0,
            _ => false,
        };
        let metric = row["metric"].as_str().unwrap();
        if is_against {
            held.against.push(format!("{what}, true {}: {metric} {verdict} {}", experiment.ratio, row["interval"]));
        }
        if metric == "throughput" {
            verdict.clone_into(&mut held.verdict);
            let ends = row["interval"].as_array().map(|ends| (ends[0].as_f64().unwrap(), ends[1].as_f64().unwrap()));
            held.is_held = ends.map(|(low, high)| {
                let is_held = low <= experiment.ratio && experiment.ratio <= high;
                if !is_held {
                    eprintln!("{what}, true {}: not within {low:.5} to {high:.5}", experiment.ratio);
                }
                is_held
            });
        }
    }
    held
}

#[test]
fn clients_in_step_have_no_verdict_against_the_truth() {
    let scene = Scene::new();
    scene.write("b.sql", "SELECT 1;\n");
    let count = std::env::var("ETALON_EXPERIMENTS").ok().and_then(|count| count.parse().ok()).unwrap_or(40);
    let all: Vec<Held> = (0..count).map(|seed| held(&scene, &Experiment::new(seed))).collect();
    let against: Vec<&String> = all.iter().flat_map(|held| &held.against).collect();
    let is_held = |wanted| all.iter().filter(|held| held.is_held == Some(wanted)).count();
    let (inside, outside) = (is_held(true), is_held(false));
    let verdicts = |name: &str| all.iter().filter(|held| held.verdict == name).count();
    println!(
        "{count} experiments: {} verdicts against the truth, the interval holds it in {inside} of {}; {} slower, {} equivalent, \
         {} inconclusive, {} without a verdict",
        against.len(),
        inside + outside,
        verdicts("slower"),
        verdicts("equivalent"),
        verdicts("inconclusive"),
        verdicts("none"),
    );
    assert!(against.is_empty(), "{against:#?}");
    // Many experiments may have fewer by two standard errors.
    let all_ends = (inside + outside) as f64;
    let least = 0.95 * all_ends - if count > 40 { 2.0 * (0.05 * 0.95 * all_ends).sqrt() } else { 0.0 };
    assert!(inside as f64 >= least, "{inside} of {all_ends}");
    assert!(inside + outside >= count * 9 / 10, "{} experiments ended", inside + outside);
}

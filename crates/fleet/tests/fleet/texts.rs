//! Scripts and what they draw from are sent: no agent opens a file for a conductor.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use conductor::ExperimentEnd;
use load::observer::Observer;
use model::{Case, PlannedRun};

use crate::scene::{Nats, values};
use crate::stored::create;

const SMACK: &str = r#"
client "admin" { host "h"; user "u"; db "d"; pass ""; }
table "visits" {
  client "admin";
  create "CREATE TABLE visits (name VARCHAR(40) NOT NULL, number INTEGER NOT NULL)";
  min_rows "1000";
  data_file "visits.dat";
}
dictionary "name" { type "rand"; source_type "file"; source "visits.dat"; delim ","; }
query "look" { query "SELECT * FROM visits WHERE name = '$name' LIMIT 1"; type "read"; has_result_set "y"; parsed "y"; }
client "visitor" { host "h"; user "u"; db "d"; query_barrel "1 look"; }
main {
  visitor.init();
  visitor.set_num_rounds($2);
  visitor.create_threads($1);
  visitor.connect();
  visitor.unload_query_barrel();
  visitor.collect_threads();
  visitor.disconnect();
}
"#;

/// Incompressible rows: this many exceed a message.
fn rows(count: u32) -> String {
    let mut state = 1_u64;
    let mut rows = String::new();
    for number in 0..count {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        writeln!(rows, "{:016x}{:016x},{number}", state, state.rotate_left(23) ^ 0x5555).unwrap();
    }
    rows
}

/// Removes a folder once the first run begins: later compiling needs what was sent.
struct Removing(Option<PathBuf>);

impl Observer for Removing {
    fn run_started(&mut self, _: &PlannedRun, _: &Case, _: load::observer::ExperimentProgress) {
        if let Some(folder) = self.0.take() {
            std::fs::remove_dir_all(folder).unwrap();
        }
    }
}

fn script(folder: &Path, rows_count: u32) -> PathBuf {
    let scripts = folder.join("scripts");
    std::fs::create_dir(&scripts).unwrap();
    std::fs::write(scripts.join("visits.smack"), SMACK).unwrap();
    std::fs::write(scripts.join("visits.dat"), rows(rows_count)).unwrap();
    scripts
}

#[test]
fn a_smack_file_goes_with_its_rows_to_the_agent_that_has_the_system() {
    let Some(nats) = Nats::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let scripts = script(folder.path(), 2_000);
    let _agent = nats.agent_that_allows("srv", |named| named.allow_folder(folder.path()).unwrap());
    let plan = nats.plan(&format!(
        "[systems.there]\nurl = \"sqlite:{}\"\nhost = \"srv\"\n[[benchmarks]]\nworkload = \"super-smack\"\n\
         script = \"{}\"\n[schedule]\nrounds = 2\nwarmup = \"0s\"\nduration = \"300ms\"\n",
        folder.path().join("there.db").display(),
        scripts.join("visits.smack").display()
    ));
    let mut store = create(&folder.path().join("a.etalon"), &plan);
    let ended = nats.conduct(&plan, &mut store, &mut Removing(Some(scripts))).unwrap();
    assert_eq!(ended, ExperimentEnd::Complete { failed: 0 });
    let rates = values(&store, "throughput_read");
    assert!(rates.len() == 2 && rates.iter().all(|rate| *rate > 0.0), "{rates:?}");
}

#[test]
fn words_larger_than_a_message_reach_every_agent() {
    let Some(nats) = Nats::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let scripts = script(folder.path(), 60_000);
    assert!(std::fs::metadata(scripts.join("visits.dat")).unwrap().len() > 2 << 20);
    let _agents = ["a", "b"].map(|name| nats.agent(name));
    let plan = nats.plan(&format!(
        "[systems.s]\nurl = \"sim:?service_us=300\"\n[[benchmarks]]\nworkload = \"super-smack\"\nscript = \"{}\"\n\
         clients = 4\nclients_on = [\"a\", \"b\"]\n[schedule]\nrounds = 2\nwarmup = \"0s\"\nduration = \"300ms\"\n",
        scripts.join("visits.smack").display()
    ));
    let mut store = create(&folder.path().join("a.etalon"), &plan);
    let ended = nats.conduct(&plan, &mut store, &mut Removing(Some(scripts))).unwrap();
    assert_eq!(ended, ExperimentEnd::Complete { failed: 0 });
    assert_eq!((values(&store, "throughput_on_a").len(), values(&store, "throughput_on_b").len()), (2, 2));
}

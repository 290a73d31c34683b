//! A side without rows: no verdict, and the report says why.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use conductor::experiment::ExperimentOptions;
use conductor::{Conductor, Registry};
use load::error::Failure;
use load::observer::Silent;
use model::plan::Changes;
use model::{EngineSpec, Plan, SystemPlan};
use workloads::system::{Consent, Engine, OpenRequest, System};

use super::faulty::{Faulty, Tamper};
use super::stored;

/// SQLite whose tables stay empty.
struct Hollow;

/// No insert of a session is sent.
const NOTHING_INSERTED: Tamper = Tamper {
    statements: |sql, _| if sql.starts_with("INSERT INTO") { Vec::new() } else { vec![sql.to_owned()] },
    ..Tamper::NONE
};

impl Hollow {
    fn within(&self, system: &SystemPlan) -> (&'static dyn Engine, SystemPlan) {
        let engine = Registry::built_in().engine("sqlite").unwrap();
        let url = system.url.replacen("hollow:", "sqlite:", 1);
        (engine, SystemPlan { url, engine: "sqlite".to_owned(), ..system.clone() })
    }
}

impl Engine for Hollow {
    fn spec(&self) -> EngineSpec {
        let spec = Registry::built_in().engine("sqlite").unwrap().spec();
        EngineSpec { name: "hollow", schemes: &["hollow"], own_url: None, ..spec }
    }

    fn open(&self, request: &OpenRequest) -> Result<Box<dyn System>, Failure> {
        let (engine, system) = self.within(request.system);
        let inner: &'static dyn System = Box::leak(engine.open(&OpenRequest { system: &system, ..request.clone() })?);
        Ok(Box::new(Faulty { inner, tamper: NOTHING_INSERTED }))
    }

    fn explain_made(&self, system: &SystemPlan) -> Option<String> {
        let (engine, system) = self.within(system);
        engine.explain_made(&system)
    }

    fn explain_dropped(&self, system: &SystemPlan) -> String {
        let (engine, system) = self.within(system);
        engine.explain_dropped(&system)
    }
}

/// What the text report says of a whole system and a hollow one.
fn reported(benchmark: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display();
    let registry = Registry::built_in().with_engine(&Hollow);
    let text = format!(
        "[systems.whole]\nurl = \"sqlite:{path}/whole.db\"\nsettings = {{ page_size = 8192 }}\n\
         [systems.hollow]\nurl = \"hollow:{path}/hollow.db\"\nsettings = {{ page_size = 8192 }}\n\
         [[benchmarks]]\n{benchmark}\n[schedule]\nrounds = 4\non_error = \"continue\"\n"
    );
    let plan = Plan::parse(&text, "test.toml", &Changes::default(), &registry.catalog(), 1)
        .unwrap_or_else(|errors| panic!("{errors}"))
        .0;
    let mut store = stored::create(&folder.path().join("a.etalon"), &plan);
    let options = ExperimentOptions::new(Consent::OwnOnly, Arc::new(AtomicBool::new(false)));
    Conductor::new(&registry, &plan, &mut store, options).run_all(&mut Silent).unwrap();
    let evidence = report::Evidence::read_store(&store).unwrap();
    let set = report::compare(&evidence, &report::Options::default()).unwrap();
    for row in set.tables.iter().flat_map(|table| &table.rows) {
        assert_eq!(row.verdict(), None, "{row:?}");
    }
    report::text::render_set(&set, &report::text::TextOptions::default())
}

#[test]
fn a_side_whose_tables_stay_empty_has_no_verdict() {
    let pages = reported("workload = \"pages\"\nstatements = 20");
    assert!(pages.contains("the client sent 160 rows, the server has 0"), "{pages}");
    let queries = "workload = \"spatial\"\nside = 4\nqueries = \"S2, S4\"\nexecutions = 2\ncold = false";
    let spatial = reported(queries);
    assert!(spatial.contains("holds 0"), "{spatial}");
}

//! Stores of experiments that a test begins.

use std::path::Path;

use model::Plan;
use store::{Header, Store};

pub fn create(path: &Path, plan: &Plan) -> Store {
    let header = Header {
        etalon_version: "test".to_owned(),
        build: "debug".to_owned(),
        created_unix_ms: 0,
        plan: plan.redacted(),
        plan_text: String::new(),
        plan_path: None,
        plan_hash: plan.hash(),
        command: "test".to_owned(),
    };
    Store::create(path, &header, &plan.run_order()).unwrap()
}

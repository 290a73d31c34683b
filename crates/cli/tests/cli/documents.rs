//! Documents that the command writes itself.

use std::path::Path;

use crate::scene::Scene;

#[test]
fn the_reference_of_the_plan_is_what_the_schema_says() {
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/plan-reference.md");
    let written = std::fs::read_to_string(&document).unwrap().replace("\r\n", "\n");
    let told = Scene::new().etalon(&["schema", "reference"]).stdout;
    assert!(written == told, "docs/plan-reference.md is old: `cargo run -- schema reference > docs/plan-reference.md`");
}

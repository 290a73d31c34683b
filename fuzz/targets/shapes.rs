//! GeoJSON and TopoJSON: read as a plan's key names it, and with the answers that follow from the shapes.
//!
//! Seeds: crates/workloads/tests/shapes crates/workloads/src/spatial/shapes/file.rs

#![no_main]

use etalon_fuzz::{chosen, text};
use libfuzzer_sys::fuzz_target;
use model::{Point, Value};
use workloads::spatial::{Spatial, expected_shape_answers};
use workloads::texts::NamedTexts;
use workloads::texts::Texts;
use workloads::workload::{Grants, Workload};

fuzz_target!(|data: &[u8]| {
    let Some((choice, bytes)) = chosen(data) else { return };
    let text = text(bytes);
    if choice & 2 == 0 {
        let _ = expected_shape_answers(&text);
        return;
    }
    let named: NamedTexts = [("a.json".to_owned(), (*text).into())].into();
    let grants = Grants { texts: Texts::from_sent(named), ..Grants::default() };
    let defaults = Spatial.spec().keys.iter();
    let mut point: Point = defaults.filter_map(|key| Some((key.name.to_owned(), key.default?.to_value()?))).collect();
    let name = if choice & 1 == 0 { "a.json" } else { "a.json#a" };
    point.insert("shapes".to_owned(), Value::Text(name.to_owned()));
    let _ = Spatial.make_task(&point, &grants);
});

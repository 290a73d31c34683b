//! Whether a bill of materials is what CycloneDX's own schema asks for.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::run_for_output;

/// The reference library, with the schemas in it.
const LIBRARY: &str = "cyclonedx-python-lib[json-validation]==11.12.0";
/// Ends badly with what is wrong.
const CHECK: &str = "import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
wrong = JsonStrictValidator(SchemaVersion.V1_5).validate_str(open(sys.argv[1]).read())
sys.exit(str(wrong) if wrong else 0)";

/// Fails if CycloneDX's schema refuses a bill.
///
/// # Errors
/// It does, or the library cannot be had.
pub fn check_bill(root: &Path, bill: &Path) -> Result<()> {
    let library = root.join("target/tools/cyclonedx");
    if !library.is_dir() {
        let install = ["-m", "pip", "install", "--quiet", "--target"];
        run_for_output(Command::new("python3").args(install).arg(&library).arg(LIBRARY))?;
    }
    run_for_output(Command::new("python3").env("PYTHONPATH", &library).args(["-c", CHECK]).arg(bill)).map(|_| ())
}

//! BenchmarkSQL 4 and 5: what `runBenchmark.sh` logs.

use model::{Point, Role, Value};

use super::figures::{Figures, first_number, note_strange, plain_value, put_key};
use crate::reader::{Found, Input, Names, Reader, Reads};
use crate::text::numbered_lines;
use crate::{FormatError, Imported, ImportedResult, places};

pub const READER: Reader = Reader {
    name: "benchmarksql",
    about: "What BenchmarkSQL logs at its end",
    recognises: |text| text.contains("Measured tpmC (NewOrders) ="),
    names: Names::File,
    reads: Reads::Text(read),
};

#[derive(Default)]
struct Run {
    keys: Point,
    places: Point,
    nopm: Option<f64>,
    tpm: Option<f64>,
    /// 0 if the transactions of a terminal are limited instead.
    minutes: Option<f64>,
}

/// Properties that change what is measured.
const KEYS: [&str; 13] = [
    "warehouses",
    "terminals",
    "limitTxnsPerMin",
    "terminalWarehouseFixed",
    "newOrderWeight",
    "paymentWeight",
    "orderStatusWeight",
    "deliveryWeight",
    "stockLevelWeight",
    "useStoredProcedures",
    "transactionIsolation",
    "rampupMins",
    "keyingTimeMultiplier",
];
/// Properties that say where it ran.
const PLACES: [&str; 3] = ["db", "driver", "conn"];
/// Others that it prints: by whom, and how long.
const OTHERS: [&str; 17] = [
    "user",
    "password",
    "runMins",
    "runTxnsPerTerminal",
    "resultDirectory",
    "osCollectorScript",
    "osCollectorInterval",
    "osCollectorSSHAddr",
    "osCollectorDevices",
    "loadWorkers",
    "fileLocation",
    "Session Start",
    "Session End",
    "Transaction Count",
    "copied",
    "writing per transaction results",
    "C value for C_LAST",
];

/// Reads BenchmarkSQL's output.
fn read(input: &Input<'_>) -> Result<Found, FormatError> {
    let mut imported = Imported::new(READER.name, input.source, ["the server", "response times", "failures"]);
    let (mut run, mut not_understood) = (Run::default(), Vec::new());
    for (number, line) in numbered_lines(input.text) {
        // A line of progress is written over, and may be in front of the next one.
        let said = line.rfind("Term-00,").map(|at| line[at + "Term-00,".len()..].trim());
        let Some(said) = said.or_else(|| is_bare(line).then_some(line.trim())) else {
            if !line.contains("jTPCC") {
                note_strange(number, line, &mut not_understood);
            }
            continue;
        };
        if let Some(version) = said.strip_prefix("BenchmarkSQL v").or_else(|| said.strip_prefix("BenchmarkSQL ")) {
            imported.version.get_or_insert_with(|| version.trim().to_owned());
            continue;
        }
        let Some((name, value)) = said.split_once('=').map(|(name, value)| (name.trim(), value.trim())) else {
            let is_known = said.is_empty()
                || said.contains("tpmTOTAL")
                || said.starts_with(['+', '*', '(', '|'])
                || OTHERS.iter().any(|known| said.starts_with(known));
            if !is_known {
                note_strange(number, line, &mut not_understood);
            }
            continue;
        };
        match name {
            "Measured tpmC (NewOrders)" => {
                if run.nopm.is_some() {
                    let (keys, places) = (run.keys.clone(), run.places.clone());
                    let next = Run { keys, places, minutes: run.minutes, ..Run::default() };
                    imported.results.extend(make_result(std::mem::replace(&mut run, next), input.system));
                }
                run.nopm = first_number(value);
            }
            "Measured tpmTOTAL" => run.tpm = first_number(value),
            // The last line of a run.
            "Transaction Count" => imported.results.extend(make_result(std::mem::take(&mut run), input.system)),
            "runMins" => run.minutes = first_number(value),
            _ if KEYS.contains(&name) => put_key(&mut run.keys, name, Some(plain_value(value))),
            _ if PLACES.contains(&name) => places::put_place(&mut run.places, name, Some(value)),
            _ if OTHERS.contains(&name) || name.starts_with("executeTime[") => {}
            _ => note_strange(number, line, &mut not_understood),
        }
    }
    imported.results.extend(make_result(run, input.system));
    imported.note_not_understood(&not_understood);
    Ok(Found { imported, not_understood })
}

/// Tells whether a line is a figure or a property from which the logger's prefix was taken off.
fn is_bare(line: &str) -> bool {
    let line = line.trim();
    let name = line.split('=').next().unwrap_or_default().trim();
    let is_property = line.contains('=') && [&KEYS[..], &PLACES, &OTHERS].iter().any(|known| known.contains(&name));
    is_property || line.starts_with("Measured tpm") || line.starts_with("Running Average tpmTOTAL")
}

/// Makes the result of a run; `None` without a tpmC.
fn make_result(run: Run, system: &str) -> Option<ImportedResult> {
    run.nopm?;
    let mut figures = Figures::default();
    figures.push_failed(None, None, "BenchmarkSQL does not print what failed");
    figures.push_rate("nopm", "orders/min", Role::Primary, run.nopm);
    figures.push_rate("tpm", "tx/min", Role::Secondary, run.tpm);
    let mut result = ImportedResult::new(system, "tpcc");
    result.elapsed_s = run.minutes.filter(|minutes| *minutes > 0.0).map(|minutes| 60.0 * minutes);
    (result.keys, result.places) = (run.keys, run.places);
    result.keys.insert("tool".to_owned(), Value::Text("BenchmarkSQL".to_owned()));
    result.measurements = figures.measurements;
    Some(result)
}

//! How operations run, by the system's settings and the command line.

use host::blocks::{Polling, RingForm};
use host::reactor::Choice;
use model::Value;

use load::error::{Failure, FailureKind};
use workloads::system::OpenRequest;

/// Settings of a system of blocks.
const NAMES: [&str; 3] = ["io", "polling", "batch"];
const FORMS: [(&str, RingForm); 4] =
    [("auto", RingForm::Auto), ("ring", RingForm::Ring), ("blocking", RingForm::Blocking), ("null", RingForm::Null)];
const POLLINGS: [(&str, Polling); 3] =
    [("interrupts", Polling::Interrupts), ("device", Polling::Device), ("kernel-thread", Polling::KernelThread)];

/// How operations run.
#[derive(Clone, Copy, Debug)]
pub(super) struct DiskSettings {
    pub(super) form: RingForm,
    pub(super) polling: Polling,
    pub(super) batch: u32,
}

impl DiskSettings {
    /// Reads how operations run from the command line's reactor and the system's settings.
    pub(super) fn from_request(request: &OpenRequest) -> Result<DiskSettings, Failure> {
        let form = match request.reactor {
            Choice::Auto => RingForm::Auto,
            Choice::Ring => RingForm::Ring,
            Choice::Poller => RingForm::Blocking,
        };
        let mut settings = DiskSettings { form, polling: Polling::Interrupts, batch: 1 };
        for (name, value) in &request.system.settings {
            match (name.as_str(), value) {
                ("io", value) => settings.form = option_among(name, value, &FORMS)?,
                ("polling", value) => settings.polling = option_among(name, value, &POLLINGS)?,
                ("batch", Value::Int(count @ 1..=4096)) => settings.batch = *count as u32,
                ("batch", _) => return Err(setting_failure(name, value, "a whole number from 1 to 4096 is expected")),
                _ => {
                    let failure = setting_failure(name, value, "a system of blocks has no setting of that name");
                    return Err(match model::near::did_you_mean(name, NAMES) {
                        Some(near) => failure.with_hint(near),
                        None => failure.with_hint(format!("its settings are {}", NAMES.join(", "))),
                    });
                }
            }
        }
        Ok(settings)
    }
}

/// Returns the meaning of a setting's word, or fails if it is none of these words.
fn option_among<T: Copy>(name: &str, value: &Value, words: &[(&str, T)]) -> Result<T, Failure> {
    match words.iter().find(|(word, _)| value.as_text() == Some(word)) {
        Some((_, meaning)) => Ok(*meaning),
        None => {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            Err(setting_failure(name, value, format!("it is one of {}", known.join(", "))))
        }
    }
}

/// Makes the failure that a setting cannot have this value.
fn setting_failure(name: &str, value: &Value, cause: impl std::fmt::Display) -> Failure {
    Failure::new(FailureKind::Plan, format!("set `{name}` to `{value}`"), cause)
}

//! The source of the machine's power.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Power {
    /// The default: a machine without a battery says nothing else.
    Mains,
    Battery,
}

impl Power {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Power::Mains => "mains",
            Power::Battery => "battery",
        }
    }
}

/// Says whether power comes from the mains or a battery.
#[cfg(target_os = "linux")]
pub(crate) fn power() -> Result<Power, String> {
    use super::text;
    let folder = "/sys/class/power_supply";
    // Kernels without power supply support run machines without batteries.
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(Power::Mains) };
    let supplies: Vec<Supply> = entries
        .filter_map(|entry| {
            let folder = entry.ok()?.path();
            let [kind, online, status, scope] =
                ["type", "online", "status", "scope"].map(|file| text::read(folder.join(file)).unwrap_or_default());
            Some(Supply { kind, online, status, scope })
        })
        .collect();
    Ok(judge(&supplies))
}

/// Says whether power comes from the mains or a battery.
#[cfg(target_os = "macos")]
pub(crate) fn power() -> Result<Power, String> {
    let text = super::command::output_of("/usr/bin/pmset", &["-g", "batt"])?;
    parse_pmset(&text).ok_or_else(|| "pmset does not say what power is drawn from".to_owned())
}

/// Fails: the source of power is not read here.
#[cfg(target_os = "illumos")]
pub(crate) fn power() -> Result<Power, String> {
    Err("what power is drawn from is read on Linux, macOS and Windows only".to_owned())
}

/// Says whether power comes from the mains or a battery.
#[cfg(windows)]
pub(crate) fn power() -> Result<Power, String> {
    match super::windows::on_battery() {
        Some(true) => Ok(Power::Battery),
        Some(false) => Ok(Power::Mains),
        None => Err("Windows does not know what power is drawn from".to_owned()),
    }
}

#[cfg(any(target_os = "linux", test))]
struct Supply {
    kind: String,
    online: String,
    status: String,
    scope: String,
}

#[cfg(any(target_os = "linux", test))]
fn judge(supplies: &[Supply]) -> Power {
    // A mouse's battery is marked as a device's.
    let mut of_machine = supplies.iter().filter(|supply| supply.scope != "Device");
    let discharges = of_machine.clone().any(|supply| supply.kind == "Battery" && supply.status == "Discharging");
    // Some batteries report "Discharging" on mains.
    let has_mains = of_machine.any(|supply| supply.kind != "Battery" && supply.online == "1");
    if discharges && !has_mains { Power::Battery } else { Power::Mains }
}

#[cfg(any(target_os = "macos", test))]
fn parse_pmset(text: &str) -> Option<Power> {
    match text.split('\'').nth(1)? {
        "AC Power" => Some(Power::Mains),
        "Battery Power" | "UPS Power" => Some(Power::Battery),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn supply(kind: &str, online: &str, status: &str, scope: &str) -> Supply {
        Supply { kind: kind.into(), online: online.into(), status: status.into(), scope: scope.into() }
    }

    #[test]
    fn a_laptop_is_on_battery_when_nothing_else_gives_power() {
        fn battery() -> Supply {
            supply("Battery", "", "Discharging", "")
        }
        assert_eq!(judge(&[]), Power::Mains);
        assert_eq!(judge(&[battery(), supply("Mains", "0", "", "")]), Power::Battery);
        assert_eq!(judge(&[battery(), supply("Mains", "1", "", "")]), Power::Mains);
        assert_eq!(judge(&[supply("Battery", "", "Full", "")]), Power::Mains);
        assert_eq!(judge(&[supply("Battery", "", "Discharging", "Device")]), Power::Mains, "a mouse");
    }

    #[test]
    fn pmset_is_read() {
        assert_eq!(parse_pmset("Now drawing from 'Battery Power'\n -InternalBattery-0 93%"), Some(Power::Battery));
        assert_eq!(parse_pmset("Now drawing from 'AC Power'\n"), Some(Power::Mains));
        assert_eq!(parse_pmset("nothing"), None);
    }

    #[test]
    fn this_machine_has_an_answer() {
        assert!(power().is_ok() || !cfg!(target_os = "linux"));
    }
}

//! I/O counters of devices and processes.

use crate::system::text;

/// Since the device appeared; see Documentation/block/stat.rst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceCounters {
    pub reads: u64,
    pub read_bytes: u64,
    /// Summed over reads.
    pub read_wait_ms: u64,
    pub writes: u64,
    pub written_bytes: u64,
    /// Summed over writes.
    pub write_wait_ms: u64,
    /// Time with work.
    pub busy_ms: u64,
    /// Cache flushes; `None` before Linux 5.5.
    pub flushes: Option<u64>,
}

impl DeviceCounters {
    /// `device` without `/dev/`.
    pub fn read_device(device: &str) -> Result<DeviceCounters, String> {
        if !cfg!(target_os = "linux") {
            return Err("the counters of a device are read on Linux only".to_owned());
        }
        let path = format!("/sys/class/block/{device}/stat");
        parse_device(&text::read(&path)?).ok_or_else(|| format!("{path} does not follow the kernel's manual"))
    }

    /// What was counted since an earlier reading.
    pub fn since(&self, earlier: &DeviceCounters) -> DeviceCounters {
        DeviceCounters {
            reads: self.reads.saturating_sub(earlier.reads),
            read_bytes: self.read_bytes.saturating_sub(earlier.read_bytes),
            read_wait_ms: self.read_wait_ms.saturating_sub(earlier.read_wait_ms),
            writes: self.writes.saturating_sub(earlier.writes),
            written_bytes: self.written_bytes.saturating_sub(earlier.written_bytes),
            write_wait_ms: self.write_wait_ms.saturating_sub(earlier.write_wait_ms),
            busy_ms: self.busy_ms.saturating_sub(earlier.busy_ms),
            flushes: combine_known(self.flushes, earlier.flushes, u64::saturating_sub),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcIo {
    /// Asked for, from page cache or device.
    pub read_call_bytes: u64,
    /// Handed over, whether they reach a device or not.
    pub write_call_bytes: u64,
    pub read_calls: u64,
    pub write_calls: u64,
    /// Fetched from a device; `None` where the system does not report it (Windows).
    pub device_read_bytes: Option<u64>,
    /// Sent to a device, now or later.
    pub device_write_bytes: Option<u64>,
}

impl ProcIo {
    /// Children are included only once they have ended.
    #[cfg(target_os = "linux")]
    pub fn for_process(pid: u32) -> Result<ProcIo, String> {
        let path = format!("/proc/{pid}/io");
        parse_io(&text::read(&path)?).ok_or_else(|| format!("{path} does not follow proc_pid_io(5)"))
    }

    /// Includes sockets, which Windows counts as files. Children are not included.
    #[cfg(windows)]
    pub fn for_process(pid: u32) -> Result<ProcIo, String> {
        if crate::system::windows::wine().is_some() {
            return Err("Wine does not count what a process reads and writes".to_owned());
        }
        let counters = crate::system::windows::io_of(pid)?;
        Ok(ProcIo {
            read_call_bytes: counters.ReadTransferCount,
            write_call_bytes: counters.WriteTransferCount,
            read_calls: counters.ReadOperationCount,
            write_calls: counters.WriteOperationCount,
            device_read_bytes: None,
            device_write_bytes: None,
        })
    }

    /// Fails: what a process reads and writes is not counted here.
    #[cfg(not(any(target_os = "linux", windows)))]
    pub fn for_process(_pid: u32) -> Result<ProcIo, String> {
        Err("this operating system does not count what a process reads and writes".to_owned())
    }

    /// The sum of both counts.
    #[must_use]
    pub fn plus(&self, other: &ProcIo) -> ProcIo {
        ProcIo {
            read_call_bytes: self.read_call_bytes + other.read_call_bytes,
            write_call_bytes: self.write_call_bytes + other.write_call_bytes,
            read_calls: self.read_calls + other.read_calls,
            write_calls: self.write_calls + other.write_calls,
            device_read_bytes: combine_known(self.device_read_bytes, other.device_read_bytes, u64::saturating_add),
            device_write_bytes: combine_known(self.device_write_bytes, other.device_write_bytes, u64::saturating_add),
        }
    }

    /// What was counted since an earlier reading.
    pub fn since(&self, earlier: &ProcIo) -> ProcIo {
        ProcIo {
            read_call_bytes: self.read_call_bytes.saturating_sub(earlier.read_call_bytes),
            write_call_bytes: self.write_call_bytes.saturating_sub(earlier.write_call_bytes),
            read_calls: self.read_calls.saturating_sub(earlier.read_calls),
            write_calls: self.write_calls.saturating_sub(earlier.write_calls),
            device_read_bytes: combine_known(self.device_read_bytes, earlier.device_read_bytes, u64::saturating_sub),
            device_write_bytes: combine_known(self.device_write_bytes, earlier.device_write_bytes, u64::saturating_sub),
        }
    }
}

/// Applies `of` to two counts, if both are known.
fn combine_known(a: Option<u64>, b: Option<u64>, of: fn(u64, u64) -> u64) -> Option<u64> {
    a.zip(b).map(|(a, b)| of(a, b))
}

fn parse_device(stat: &str) -> Option<DeviceCounters> {
    // The kernel counts sectors of 512 bytes here on any device.
    const SECTOR_BYTES: u64 = 512;
    let fields: Vec<u64> = stat.split_ascii_whitespace().map_while(|field| field.parse().ok()).collect();
    let number = |place: usize| fields.get(place).copied();
    Some(DeviceCounters {
        reads: number(0)?,
        read_bytes: number(2)? * SECTOR_BYTES,
        read_wait_ms: number(3)?,
        writes: number(4)?,
        written_bytes: number(6)? * SECTOR_BYTES,
        write_wait_ms: number(7)?,
        busy_ms: number(9)?,
        flushes: number(15),
    })
}

#[cfg(any(target_os = "linux", test))]
fn parse_io(io: &str) -> Option<ProcIo> {
    let number = |key: &str| text::value_of_key(io, key, ':')?.parse::<u64>().ok();
    Some(ProcIo {
        read_call_bytes: number("rchar")?,
        write_call_bytes: number("wchar")?,
        read_calls: number("syscr")?,
        write_calls: number("syscw")?,
        device_read_bytes: Some(number("read_bytes")?),
        // Bytes of a file removed before they reached the device are taken off again.
        device_write_bytes: Some(number("write_bytes")?.saturating_sub(number("cancelled_write_bytes")?)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sectors_become_bytes() {
        let stat = "62951 10929 7733402 72266 14458 30059 3632352 9829 0 24808 82772 5180 49 510128 572 1976 105";
        let counters = parse_device(stat).unwrap();
        assert_eq!((counters.reads, counters.read_bytes), (62_951, 7_733_402 * 512));
        assert_eq!((counters.busy_ms, counters.flushes), (24_808, Some(1976)));
        let old = parse_device("1 2 3 4 5 6 7 8 9 10 11").unwrap();
        assert_eq!(old.flushes, None);
        assert_eq!(counters.since(&old).reads, 62_950);
        assert_eq!(parse_device("1 2 3"), None);
    }

    #[test]
    fn cancelled_writes_are_taken_off() {
        let io =
            "rchar: 10\nwchar: 20\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 100\ncancelled_write_bytes: 40\n";
        let io = parse_io(io).unwrap();
        assert_eq!((io.device_write_bytes, io.read_calls), (Some(60), 3));
        let nothing = ProcIo { device_read_bytes: Some(0), device_write_bytes: Some(0), ..ProcIo::default() };
        assert_eq!((io.since(&io), nothing.plus(&io)), (nothing, io));
        assert_eq!(parse_io("rchar: 10\n"), None);
    }

    #[cfg(any(target_os = "linux", windows))]
    #[test]
    fn this_process_has_read_something() {
        std::fs::read(std::env::current_exe().unwrap()).unwrap();
        match ProcIo::for_process(std::process::id()) {
            Err(reason) if reason.starts_with("Wine") => println!("skipped: {reason}"),
            counted => assert!(counted.unwrap().read_calls > 0),
        }
        assert!(ProcIo::for_process(u32::MAX - 7).is_err());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_device_that_is_not_there_is_named() {
        assert!(DeviceCounters::read_device("no-such-device").unwrap_err().contains("no-such-device"));
    }
}

//! A process without an administrator's rights, even if étalon has them, as PostgreSQL's `pg_ctl` starts its server.
//!
//! `std` starts processes with étalon's own token only; hence a start by hand.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString, c_void};
use std::fs::File;
use std::io;
use std::os::windows::ffi::OsStrExt;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle, RawHandle};
use std::os::windows::process::ExitStatusExt;
use std::process::ExitStatus;
use std::ptr::null;

use windows_sys::Win32::Foundation::{
    HANDLE_FLAG_INHERIT, SetHandleInformation, WAIT_FAILED, WAIT_OBJECT_0, WAIT_TIMEOUT,
};
use windows_sys::Win32::System::Threading::{
    CREATE_UNICODE_ENVIRONMENT, CreateProcessAsUserW, GetExitCodeProcess, INFINITE, PROCESS_INFORMATION,
    STARTF_USESTDHANDLES, STARTUPINFOW, WaitForSingleObject,
};

use crate::process::server::ServerSpec;
use crate::system::windows::token;

/// A child like that of `std`, which `std` alone can make.
#[derive(Debug)]
pub(in crate::process) struct Child {
    process: OwnedHandle,
    pid: u32,
}

impl Child {
    /// The process's number.
    pub(in crate::process) fn id(&self) -> u32 {
        self.pid
    }

    /// `None` while it runs.
    pub(in crate::process) fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.wait_for(0)
    }

    /// Waits until the process has ended.
    pub(in crate::process) fn wait(&mut self) -> io::Result<ExitStatus> {
        self.wait_for(INFINITE)?.ok_or_else(|| io::ErrorKind::TimedOut.into())
    }

    /// Waits at most `wait_ms`; `None` while it runs.
    fn wait_for(&self, wait_ms: u32) -> io::Result<Option<ExitStatus>> {
        let process = self.process.as_raw_handle();
        // SAFETY: an open handle.
        match unsafe { WaitForSingleObject(process, wait_ms) } {
            WAIT_TIMEOUT => return Ok(None),
            WAIT_OBJECT_0 => {}
            WAIT_FAILED => return Err(io::Error::last_os_error()),
            other => return Err(io::Error::other(format!("waiting for a process gave {other}"))),
        }
        let mut code = 0;
        // SAFETY: an open handle and a pointer to a local variable.
        if unsafe { GetExitCodeProcess(process, &mut code) } == 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Some(ExitStatus::from_raw(code)))
    }
}

/// Output and errors go to `log`.
pub(super) fn spawn(spec: &ServerSpec, log: File, flags: u32) -> io::Result<Child> {
    let token = token::without_administrator()?;
    let nothing = File::open("NUL")?;
    for file in [&nothing, &log] {
        inherit(file)?;
    }
    let mut words = command_line(spec.program.as_os_str(), &spec.args)?;
    let environment = environment(std::env::vars_os(), spec)?;
    let folder = spec.working_dir.as_ref().map(|folder| zero_ended(folder.as_os_str())).transpose()?;
    // SAFETY: both structures are plain numbers and pointers, for which zero is a value.
    let (mut start, mut made): (STARTUPINFOW, PROCESS_INFORMATION) = unsafe { std::mem::zeroed() };
    start.cb = size_of::<STARTUPINFOW>() as u32;
    start.dwFlags = STARTF_USESTDHANDLES;
    start.hStdInput = nothing.as_raw_handle();
    start.hStdOutput = log.as_raw_handle();
    start.hStdError = log.as_raw_handle();
    // SAFETY: strings that end in zero, the first of them writable, an environment that ends in two, open handles, and
    // pointers to local variables; all outlive the call. Null is for default security.
    let started = unsafe {
        CreateProcessAsUserW(
            token.as_raw_handle(),
            null(),
            words.as_mut_ptr(),
            null(),
            null(),
            1,
            flags | CREATE_UNICODE_ENVIRONMENT,
            environment.as_ptr().cast::<c_void>(),
            folder.as_ref().map_or(null(), |folder| folder.as_ptr()),
            &start,
            &mut made,
        )
    };
    if started == 0 {
        return Err(io::Error::last_os_error());
    }
    let owned = |handle: RawHandle| {
        // SAFETY: the call opened it for this process, and no one else owns it.
        unsafe { OwnedHandle::from_raw_handle(handle) }
    };
    drop(owned(made.hThread));
    Ok(Child { process: owned(made.hProcess), pid: made.dwProcessId })
}

/// Lets a child inherit a file.
fn inherit(file: &File) -> io::Result<()> {
    // SAFETY: an open handle.
    match unsafe { SetHandleInformation(file.as_raw_handle(), HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Étalon's own, but for what the server is to have or not to have.
fn environment(own: impl Iterator<Item = (OsString, OsString)>, spec: &ServerSpec) -> io::Result<Vec<u16>> {
    // Windows compares names without regard to case, and wants them in order.
    let key = |name: &OsStr| name.to_string_lossy().to_uppercase();
    let mut all: BTreeMap<String, (OsString, OsString)> =
        own.map(|(name, value)| (key(&name), (name, value))).collect();
    for name in &spec.without_env {
        all.remove(&key(name));
    }
    all.extend(spec.env.iter().map(|(name, value)| (key(name), (name.clone(), value.clone()))));
    let mut block = Vec::new();
    for (name, value) in all.into_values() {
        let entry: OsString = [name.as_os_str(), OsStr::new("="), value.as_os_str()].into_iter().collect();
        block.extend(zero_ended(&entry)?);
    }
    // Of an empty one, too, two zeros are the end.
    block.extend([0, 0]);
    Ok(block)
}

/// One line, which the program splits again: see "Parsing C command-line arguments" in Microsoft's documentation.
fn command_line(program: &OsStr, args: &[OsString]) -> io::Result<Vec<u16>> {
    const QUOTE: u16 = b'"' as u16;
    const BACKSLASH: u16 = b'\\' as u16;
    let mut line = Vec::new();
    for word in std::iter::once(program).chain(args.iter().map(OsString::as_os_str)) {
        line.push(QUOTE);
        let mut backslashes = 0;
        for unit in word.encode_wide() {
            if unit == QUOTE {
                // Those before a quote count as half, and one more makes the quote a letter.
                line.extend(std::iter::repeat_n(BACKSLASH, backslashes + 1));
            }
            backslashes = if unit == BACKSLASH { backslashes + 1 } else { 0 };
            line.push(unit);
        }
        line.extend(std::iter::repeat_n(BACKSLASH, backslashes));
        line.extend([QUOTE, u16::from(b' ')]);
    }
    line.pop();
    if line.contains(&0) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "an argument holds a zero"));
    }
    line.push(0);
    Ok(line)
}

/// A text in UTF-16 with a zero at its end.
fn zero_ended(text: &OsStr) -> io::Result<Vec<u16>> {
    let mut wide: Vec<u16> = text.encode_wide().collect();
    if wide.contains(&0) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a name holds a zero"));
    }
    wide.push(0);
    Ok(wide)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_their_quotes_and_backslashes() {
        let args: Vec<OsString> = [r"C:\data\", r#"a "b" \"c"#, ""].map(OsString::from).into();
        let line = command_line(OsStr::new("p.exe"), &args).unwrap();
        let expected = r#""p.exe" "C:\data\\" "a \"b\" \\\"c" """#;
        assert_eq!(String::from_utf16(&line[..line.len() - 1]).unwrap(), expected);
        assert!(command_line(OsStr::new("p\0"), &[]).is_err());
    }

    #[test]
    fn names_are_the_same_in_any_case() {
        let own = [("Path", "a"), ("PGDATA", "b"), ("X", "c")].map(|(name, value)| (name.into(), value.into()));
        let spec = ServerSpec::new("p", "l").without_env("pgdata").with_env("PATH", "d");
        let block = environment(own.into_iter(), &spec).unwrap();
        assert_eq!(String::from_utf16(&block).unwrap(), "PATH=d\0X=c\0\0\0");
    }

    const CHILD: &str = "process::windows::restricted::tests::in_the_child";
    const MARK: &str = "ETALON_TEST_RESTRICTED";

    /// Does nothing but in the process that the next test starts.
    #[test]
    fn in_the_child() {
        if std::env::var_os(MARK).is_some() {
            assert!(!token::is_administrator().unwrap());
            println!("no administrator in {}", std::env::current_dir().unwrap().display());
        }
    }

    #[test]
    fn a_server_is_no_administrator_and_its_log_has_what_it_says() {
        let folder = crate::scratch::Scratch::new("restricted", None).unwrap();
        let log = folder.path().join("log");
        let spec = |args: &[&str]| {
            ServerSpec::new(std::env::current_exe().unwrap(), &log)
                .with_args(args)
                .with_env(MARK, "1")
                .in_folder(folder.path())
        };
        let run = |args: &[&str]| {
            let mut child = spawn(&spec(args), File::create(&log).unwrap(), 0).unwrap();
            assert!(child.id() > 0);
            (child.wait().unwrap().code(), std::fs::read_to_string(&log).unwrap())
        };
        let (code, said) = run(&["--exact", CHILD, "--nocapture"]);
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains(&format!("no administrator in {}", folder.path().display())), "{said}");
        let (code, said) = run(&["--no such option"]);
        assert!(code != Some(0) && said.contains("no such option"), "{code:?} {said}");
    }
}

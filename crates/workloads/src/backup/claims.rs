//! Holds what a backup is said to be against its file, its size and the clock; and the restored rows against words that only the
//! original had when the backup was taken.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use model::backup::BackupMethod;

use super::backups::{BackupLayout, BackupRequest, TakenBackup};
use super::codec::Codec;
use super::data::{BODY, TABLE};
use super::sink::io_failure;
use crate::session::Session;
use load::error::{Failure, FailureKind};

/// Digits of a word.
const WORD: usize = 16;
/// Factor by which the headers of an archive's files may make it larger than they are.
const HEADERS: f64 = 1.25;
/// Share of the time that a limit asks for, and seconds and bytes that it may let through at once.
const LIMITED: f64 = 0.8;
const LIMITED_S: f64 = 1.0;
const LIMITED_BYTES: u64 = 2 << 20;

/// Makes the failure of a backup that cannot be trusted, as a result.
fn untrusted<T>(cause: String) -> Result<T, Failure> {
    Err(Failure::new(FailureKind::Verification, "trust the backup", cause))
}

/// Words in the first row's note that no other run and no other database has.
pub(super) struct Watchword(String);

impl Watchword {
    /// Draws a watchword that differs from all before it, since the time of day goes into it.
    pub(super) fn draw_new(seed: u64) -> Watchword {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let word = format!("{:0WORD$x}{seed:0WORD$x}", now as u64);
        Watchword(word.chars().cycle().take(BODY).collect())
    }

    /// The watchword's text once, without the repetitions that fill the note.
    fn unrepeated(&self) -> &[u8] {
        self.0.as_bytes().get(..2 * WORD).unwrap_or_default()
    }

    /// The watchword's text, with the repetitions that fill a note.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Writes a text into the note of the first row of the backup's table.
    pub(super) fn write_note(note: &str, session: &mut dyn Session) -> Result<(), Failure> {
        session.execute(&format!("UPDATE {TABLE} SET note = '{note}' WHERE id = 1"))
    }
}

/// Passes bytes on, and notes whether some words are among them.
pub(super) struct Searched<'a> {
    from: &'a mut dyn Read,
    words: &'a [u8],
    /// The end of what was passed on: the words may begin there.
    tail: Vec<u8>,
    pub(super) is_found: bool,
}

impl<'a> Searched<'a> {
    /// Makes a reader that searches what it passes on for a watchword.
    pub(super) fn new(from: &'a mut dyn Read, word: &'a Watchword) -> Searched<'a> {
        Searched { from, words: word.unrepeated(), tail: Vec::new(), is_found: false }
    }
}

impl Read for Searched<'_> {
    /// Reads on, and notes if the watchword is among the bytes.
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(into)?;
        if !self.is_found {
            self.tail.extend_from_slice(&into[..count]);
            self.is_found = self.tail.windows(self.words.len()).any(|piece| piece == self.words);
            let kept = self.tail.len().saturating_sub(self.words.len() - 1);
            self.tail.drain(..kept);
        }
        Ok(count)
    }
}

/// Fails if an encrypted database's rows were found readable in its backup.
pub(super) fn check_encryption(is_found: bool) -> Result<(), Failure> {
    if is_found {
        return untrusted("the database is encrypted, and its rows can be read in the backup's file".to_owned());
    }
    Ok(())
}

/// Fails unless a backup's file is by the method and codec that the plan asks for, and is all of the backup.
pub(super) fn check_file(taken: &TakenBackup, request: &BackupRequest<'_>) -> Result<(), Failure> {
    let is_any = request.method == BackupMethod::NATIVE.0;
    if !is_any && taken.method.0 != request.method {
        return untrusted(format!("it was taken by `{}`, and the plan asks for `{}`", taken.method.0, request.method));
    }
    if taken.served.is_some() {
        return Ok(());
    }
    let (asked, said) = (request.compression, taken.compression);
    if asked.codec != said.codec {
        return untrusted(format!("it is compressed by {}, and the plan asks for {}", said.name(), asked.name()));
    }
    if let Some(magic) = asked.magic_bytes() {
        let tried = "look at the backup";
        let mut head = Vec::new();
        let file = File::open(&taken.file).map_err(|error| io_failure(tried, &error))?;
        file.take(magic.len() as u64).read_to_end(&mut head).map_err(|error| io_failure(tried, &error))?;
        if head != magic {
            return untrusted(format!("its file does not begin as one of {} does", asked.name()));
        }
    }
    check_folder(taken, request.folder)
}

/// Fails if the backup's folder holds files that the backup's size leaves out.
fn check_folder(taken: &TakenBackup, folder: &Path) -> Result<(), Failure> {
    let tried = "look at the backup";
    for entry in fs::read_dir(folder).map_err(|error| io_failure(tried, &error))? {
        let path = entry.map_err(|error| io_failure(tried, &error))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path != taken.file && !taken.unread.contains(&name.as_ref()) {
            return untrusted(format!("its size is that of one file, and there is also `{name}`"));
        }
    }
    Ok(())
}

/// Fails unless the source size that was reported, from which rates come, fits the bytes read from the backup.
pub(super) fn check_source(layout: BackupLayout, said: u64, found: u64) -> Result<(), Failure> {
    let most = match layout {
        BackupLayout::Database | BackupLayout::Sql => found,
        BackupLayout::Tar | BackupLayout::Xbstream => (found as f64 * HEADERS) as u64,
    };
    if (found..=most).contains(&said) {
        return Ok(());
    }
    untrusted(format!("it is said to hold {said} bytes of the source, and {found} were read from its file"))
}

/// Fails if a step was not timed, or was faster than its rate limit allows.
pub(super) fn check_time(step: &str, elapsed_s: f64, bytes: u64, max_rate_bytes_s: Option<u64>) -> Result<(), Failure> {
    if elapsed_s <= 0.0 {
        return untrusted(format!("the {step} was not timed"));
    }
    let Some(rate) = max_rate_bytes_s else { return Ok(()) };
    let least_s = LIMITED * bytes.saturating_sub(LIMITED_BYTES) as f64 / rate.max(1) as f64 - LIMITED_S;
    if elapsed_s < least_s {
        return untrusted(format!("the {step} took {elapsed_s:.1} s, and {least_s:.1} s are the least by its limit"));
    }
    Ok(())
}

/// Whether étalon reads the backup's bytes to split them, and so knows how large their source was.
pub(super) fn is_split_by_etalon(taken: &TakenBackup) -> bool {
    taken.served.is_none() && !matches!(taken.compression.codec, Codec::MsXpress | Codec::QatDeflate)
}

//! Writes a backup's bytes to a file through a codec in a thread of its own.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::backups::BackupRequest;
use super::codec::{Codec, Compression, Encoder};
use load::error::{Failure, FailureKind};

/// Per hand-over to the codec's thread.
const CHUNK_BYTES: usize = 1 << 18;
/// Queue length.
const CHUNKS: usize = 8;

pub struct BackupSink<'a> {
    request: &'a BackupRequest<'a>,
    path: PathBuf,
    inner: Inner,
    rate: Option<Rate>,
    bytes: u64,
}

enum Inner {
    Plain(File),
    Coded(Coded),
}

struct Coded {
    chunk: Vec<u8>,
    give: SyncSender<Vec<u8>>,
    emptied: Receiver<Vec<u8>>,
    thread: JoinHandle<io::Result<(File, Duration)>>,
}

#[derive(Clone, Debug)]
pub struct WrittenBackup {
    pub path: PathBuf,
    /// The CPU time of the compressing thread, without its workers.
    pub compressor_cpu_s: f64,
}

/// Hint for a full device.
pub const MORE_ROOM: &str =
    "free space there, or name another place with the key `folder`; what was written of the backup is removed";

/// Makes a failure of a backup's file from an I/O error; a full device gets a hint.
pub fn io_failure(tried: &str, error: &io::Error) -> Failure {
    let failure = Failure::from_io(tried, error);
    if failure.kind == FailureKind::DiskFull { failure.with_hint(MORE_ROOM) } else { failure }
}

impl<'a> BackupSink<'a> {
    /// Creates a file in the request's folder, and starts its compression.
    pub fn new(
        request: &'a BackupRequest<'a>,
        name: &str,
        compression: Compression,
    ) -> Result<BackupSink<'a>, Failure> {
        let path = request.folder.join(format!("{name}{}", compression.file_extension()));
        let tried = format!("write the backup {}", path.display());
        let file = File::create_new(&path).map_err(|error| io_failure(&tried, &error))?;
        let inner = match compression.codec {
            Codec::None => Inner::Plain(file),
            _ => Inner::Coded(Coded::start(compression, file).map_err(|error| io_failure(&tried, &error))?),
        };
        Ok(BackupSink { request, path, inner, rate: None, bytes: 0 })
    }

    /// Limits the sink to the request's rate of source bytes.
    #[must_use]
    pub fn limited(mut self) -> BackupSink<'a> {
        self.rate = self.request.max_rate_bytes_s.map(Rate::new);
        self
    }

    /// Compresses and writes bytes; waits for the rate limit, and fails after an interrupt.
    pub fn write_bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.request.check_interrupt()?;
        self.bytes += bytes.len() as u64;
        let written = match &mut self.inner {
            Inner::Plain(file) => file.write_all(bytes),
            Inner::Coded(coded) => coded.write_bytes(bytes),
        };
        if let Err(error) = written {
            return Err(self.explain_error(error));
        }
        if let Some(rate) = &mut self.rate {
            rate.wait_for(bytes.len() as u64);
        }
        Ok(())
    }

    /// Copies a stream to its end into the backup.
    pub fn copy_from(&mut self, from: &mut dyn io::Read, what: &str) -> Result<(), Failure> {
        let mut buffer = vec![0; CHUNK_BYTES];
        loop {
            match from.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(bytes) => self.write_bytes(&buffer[..bytes])?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(io_failure(&format!("read {what}"), &error)),
            }
        }
    }

    /// Ends the file, and waits until it is on the device.
    pub fn finish(self) -> Result<WrittenBackup, Failure> {
        let tried = format!("write the backup {}", self.path.display());
        let ended = match self.inner {
            Inner::Plain(file) => Ok((file, Duration::ZERO)),
            Inner::Coded(coded) => coded.finish(),
        };
        let (file, cpu) = ended.map_err(|error| io_failure(&tried, &error))?;
        file.sync_all().map_err(|error| io_failure(&tried, &error))?;
        Ok(WrittenBackup { path: self.path, compressor_cpu_s: cpu.as_secs_f64() })
    }

    /// Makes a failure of a write error; the codec's own error, if there is one, is more precise.
    fn explain_error(&mut self, error: io::Error) -> Failure {
        let tried = format!("write the backup {}", self.path.display());
        let inner = std::mem::replace(&mut self.inner, Inner::Coded(Coded::ended()));
        let cause = match inner {
            Inner::Coded(coded) => coded.finish().err().unwrap_or(error),
            Inner::Plain(_) => error,
        };
        io_failure(&tried, &cause)
    }
}

/// Makes the error that the compressing thread has ended.
fn thread_gone() -> io::Error {
    io::Error::other("the thread that compresses has ended")
}

impl Coded {
    /// Starts a thread that compresses into a file.
    fn start(compression: Compression, file: File) -> io::Result<Coded> {
        let (give, full) = sync_channel::<Vec<u8>>(CHUNKS);
        let (give_back, emptied) = channel();
        let mut encoder = Encoder::new(compression, file)?;
        let thread = std::thread::Builder::new().name("etalon-codec".to_owned()).spawn(move || {
            for mut chunk in full {
                encoder.write_all(&chunk)?;
                chunk.clear();
                // The other side may have ended.
                let _ = give_back.send(chunk);
            }
            let file = encoder.finish()?;
            Ok((file, host::cpu::thread_cpu().unwrap_or_default()))
        })?;
        Ok(Coded { chunk: Vec::with_capacity(CHUNK_BYTES), give, emptied, thread })
    }

    /// Makes a stream whose thread has ended, to stand in for one that was taken.
    fn ended() -> Coded {
        let thread = std::thread::spawn(|| Err(thread_gone()));
        Coded { chunk: Vec::new(), give: sync_channel(0).0, emptied: channel().1, thread }
    }

    /// Gives bytes to the compressing thread in chunks.
    fn write_bytes(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let now = bytes.len().min(CHUNK_BYTES - self.chunk.len());
            self.chunk.extend_from_slice(&bytes[..now]);
            bytes = &bytes[now..];
            if self.chunk.len() == CHUNK_BYTES {
                let empty = self.emptied.try_recv().unwrap_or_else(|_| Vec::with_capacity(CHUNK_BYTES));
                self.give.send(std::mem::replace(&mut self.chunk, empty)).map_err(|_| thread_gone())?;
            }
        }
        Ok(())
    }

    /// Waits for the compressing thread; returns the file and the thread's CPU time.
    fn finish(self) -> io::Result<(File, Duration)> {
        let Coded { chunk, give, emptied: _emptied, thread } = self;
        // If it has ended, its error is reported below.
        let _ = give.send(chunk);
        drop(give);
        match thread.join() {
            Ok(ended) => ended,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

/// Limits a stream's average rate.
#[derive(Debug)]
pub struct Rate {
    bytes_s: u64,
    started: Instant,
    taken: u64,
}

impl Rate {
    /// Begins a rate limit, in bytes a second, from now.
    pub fn new(bytes_s: u64) -> Rate {
        Rate { bytes_s, started: Instant::now(), taken: 0 }
    }

    /// Takes in `bytes`, and sleeps until the average rate is within the limit.
    pub fn wait_for(&mut self, bytes: u64) {
        self.taken += bytes;
        let due = Duration::from_secs_f64(self.taken as f64 / self.bytes_s.max(1) as f64);
        std::thread::sleep(due.saturating_sub(self.started.elapsed()));
    }
}

/// Size in bytes of all files in a folder and below it.
pub fn folder_bytes(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.metadata().ok().map(|meta| (entry, meta)))
        .fold(0, |sum, (entry, meta)| sum + if meta.is_dir() { folder_bytes(&entry.path()) } else { meta.len() })
}

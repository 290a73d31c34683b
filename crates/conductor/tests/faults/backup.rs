//! Backups and restores.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use load::datum::Datum;
use load::error::Failure;
use model::Value;
use model::backup::BackupMethod;
use workloads::backup::backups::{BackupRequest, Backups, Restored, TakenBackup};
use workloads::backup::codec::Compression;
use workloads::backup::meter::Meter;
use workloads::dataset::Dataset;

use super::faulty::Tamper;
use super::{Fault, all_are_found, missed, run, sqlite};

/// What a careless backup does.
#[derive(Clone, Copy)]
struct Careless {
    request: for<'r> fn(BackupRequest<'r>) -> BackupRequest<'r>,
    taken: fn(&mut TakenBackup, &mut Meter),
    /// What becomes of the restored file.
    restored: fn(&rusqlite::Connection),
}

const CAREFUL: Careless = Careless { request: |request| request, taken: |_, _| (), restored: |_| () };

struct CarelessBackups<'b>(Box<dyn Backups + 'b>, Careless);

/// Plain files that are to be encrypted.
struct Bared<'b>(Box<dyn Backups + 'b>);

impl Backups for Bared<'_> {
    fn methods(&self) -> (&'static str, &'static [BackupMethod]) {
        self.0.methods()
    }

    fn check_possible(&self, request: &BackupRequest<'_>) -> Result<(), Failure> {
        self.0.check_possible(request)
    }

    fn are_encrypted(&self) -> bool {
        true
    }

    fn back_up(&self, request: &BackupRequest<'_>, meter: &mut Meter) -> Result<TakenBackup, Failure> {
        self.0.back_up(request, meter)
    }

    fn restore(
        &self,
        taken: &TakenBackup,
        request: &BackupRequest<'_>,
        meter: &mut Meter,
    ) -> Result<Box<dyn Restored>, Failure> {
        self.0.restore(taken, request, meter)
    }
}

impl Backups for CarelessBackups<'_> {
    fn methods(&self) -> (&'static str, &'static [BackupMethod]) {
        self.0.methods()
    }

    fn check_possible(&self, request: &BackupRequest<'_>) -> Result<(), Failure> {
        self.0.check_possible(request)
    }

    fn back_up(&self, request: &BackupRequest<'_>, meter: &mut Meter) -> Result<TakenBackup, Failure> {
        let mut taken = self.0.back_up(&(self.1.request)(*request), meter)?;
        (self.1.taken)(&mut taken, meter);
        Ok(taken)
    }

    fn restore(
        &self,
        taken: &TakenBackup,
        request: &BackupRequest<'_>,
        meter: &mut Meter,
    ) -> Result<Box<dyn Restored>, Failure> {
        let restored = self.0.restore(taken, request, meter)?;
        (self.1.restored)(&rusqlite::Connection::open(request.folder.join("restored.db")).unwrap());
        Ok(restored)
    }
}

/// The database that is backed up, and a backup of an earlier run.
static ORIGINAL: Mutex<Option<PathBuf>> = Mutex::new(None);
static EARLIER: Mutex<Option<Vec<u8>>> = Mutex::new(None);

macro_rules! careless {
    ($what:literal, $($field:ident : $change:expr),+; $said:literal) => {
        Fault {
            what: $what,
            tamper: Tamper {
                backups: |backups| Box::new(CarelessBackups(backups, Careless { $($field: $change,)+ ..CAREFUL })),
                ..Tamper::NONE
            },
            said: $said,
        }
    };
}

fn execute(database: &rusqlite::Connection, sql: &str) {
    database.execute_batch(sql).unwrap();
}

/// Writes plain bytes in the place of the backup's file.
fn replace(taken: &mut TakenBackup, bytes: &[u8]) {
    fs::write(&taken.file, bytes).unwrap();
    taken.compression = Compression::NONE;
}

fn with_text(row: &mut [Datum], text: &'static str) {
    row[2] = Datum::Text(text.into());
}

/// Changes the rows of the only table.
fn with_rows(data: &Dataset, change: fn(u64, &mut Vec<Datum>)) -> Dataset {
    let mut data = data.clone();
    let rule = Arc::clone(&data.tables[0].row);
    data.tables[0].row = Arc::new(move |index, row| {
        rule(index, row);
        change(index, row);
    });
    data
}

static FAULTS: [Fault; 14] = [
    Fault {
        what: "a backup without the encryption of its database",
        tamper: Tamper { backups: |backups| Box::new(Bared(backups)), ..Tamper::NONE },
        said: "its rows can be read in the backup's file",
    },
    careless!("a row that is lost in the restore",
        restored: |database| execute(database, "DELETE FROM item WHERE id = 700");
        "it answers 1871 rows"),
    careless!("a row that the restore changes",
        restored: |database| execute(database, "UPDATE item SET kind = kind + 1 WHERE id = 700");
        "cannot trust the restored database"),
    careless!("a restore that reads the original",
        taken: |taken, _| {
            let original = fs::read(ORIGINAL.lock().unwrap().as_ref().unwrap()).unwrap();
            replace(taken, &original);
            taken.compression = Compression::NONE;
        };
        "cannot trust"),
    careless!("the backup of another database with the same rows",
        taken: |taken, _| fs::write(&taken.file, EARLIER.lock().unwrap().as_ref().unwrap()).unwrap();
        "cannot trust the restored database"),
    careless!("a backup that is not compressed",
        request: |request| BackupRequest { compression: Compression::NONE, ..request };
        "it is compressed by none, and the plan asks for zstd"),
    careless!("a backup by another codec",
        request: |request| BackupRequest { compression: Compression::new("lz4", 1, 0).unwrap(), ..request };
        "it is compressed by lz4, and the plan asks for zstd"),
    careless!("a plain file that is called compressed",
        request: |request| BackupRequest { compression: Compression::NONE, ..request },
        taken: |taken, _| taken.compression = Compression::new("zstd", 0, 0).unwrap();
        "its file does not begin as one of zstd does"),
    careless!("a backup by another method",
        request: |request| BackupRequest { method: "vacuum-into", ..request };
        "it was taken by `vacuum-into`, and the plan asks for `backup-interface`"),
    careless!("a file that ends too early",
        taken: |taken, _| {
            let file = fs::OpenOptions::new().write(true).open(&taken.file).unwrap();
            file.set_len(file.metadata().unwrap().len() * 9 / 10).unwrap();
        };
        "incomplete frame"),
    careless!("a second file that its size leaves out",
        taken: |taken, _| fs::write(taken.file.with_file_name("backup.2"), "more").unwrap();
        "there is also `backup.2`"),
    careless!("a backup that is not timed",
        taken: |_, meter| meter.parts.clear();
        "the backup was not timed"),
    careless!("a source that is said to be larger",
        taken: |_, meter| meter.source_bytes = meter.source_bytes.map(|bytes| 2 * bytes);
        "bytes of the source, and"),
    Fault {
        what: "rows that compress better than the plan says",
        tamper: Tamper { data: |data| with_rows(data, |_, row| with_text(row, "the same")), ..Tamper::NONE },
        said: "cannot trust the original",
    },
];

const LIMITED: [Fault; 2] = [
    careless!("a limit that is not kept",
        request: |request| BackupRequest { max_rate_bytes_s: None, ..request };
        "are the least by its limit"),
    Fault {
        what: "a row short",
        tamper: Tamper {
            data: |data| {
                let mut data = data.clone();
                data.tables[0].rows -= 1;
                data
            },
            ..Tamper::NONE
        },
        said: "it answers 7488 rows",
    },
];

#[test]
fn faults_of_backups_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let plan = sqlite(&folder, &[("synchronous", "OFF")]);
    *ORIGINAL.lock().unwrap() = Some(folder.path().join("faults.db"));
    let keep = careless!("a true run, whose file is kept",
        taken: |taken, _| *EARLIER.lock().unwrap() = Some(fs::read(&taken.file).unwrap());
        "");
    let keys = [("size_mib", Value::Int(1)), ("method", Value::Text("backup-interface".to_owned()))];
    run(&plan, keep.tamper, "backup", &keys).unwrap();
    all_are_found(&FAULTS, "restore_rate", |tamper| run(&plan, tamper, "backup", &keys));
    let keys =
        [("size_mib", Value::Int(4)), ("codec", Value::Text("none".to_owned())), ("max_rate_mib_s", Value::Int(1))];
    let missed = missed(&LIMITED, |tamper| run(&plan, tamper, "backup", &keys));
    assert!(missed.is_empty(), "{missed:?}");
}

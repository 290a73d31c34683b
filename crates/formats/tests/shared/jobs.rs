//! Makes job stores of HammerDB.

use rusqlite::{Connection, MAIN_DB};

/// The tables as HammerDB makes them.
pub const TABLES: &str = "
    CREATE TABLE JOBMAIN(jobid TEXT primary key, db TEXT, bm TEXT, jobdict TEXT, timestamp DATETIME NOT NULL DEFAULT \
    (datetime(CURRENT_TIMESTAMP, 'localtime')), profile_id INTEGER NOT NULL DEFAULT 0);
    CREATE TABLE JOBTIMING(jobid TEXT, vu INTEGER, procname TEXT, calls INTEGER, min_ms REAL, avg_ms REAL, max_ms REAL, \
    total_ms REAL, p99_ms REAL, p95_ms REAL, p75_ms REAL, p50_ms REAL, p25_ms REAL, sd REAL, ratio_pct REAL, \
    summary INTEGER, elapsed_ms REAL, FOREIGN KEY(jobid) REFERENCES JOBMAIN(jobid));
    CREATE TABLE JOBTCOUNT(jobid TEXT, counter INTEGER, metric TEXT, timestamp DATETIME NOT NULL DEFAULT \
    (datetime(CURRENT_TIMESTAMP, 'localtime')), FOREIGN KEY(jobid) REFERENCES JOBMAIN(jobid));
    CREATE TABLE JOBOUTPUT(jobid TEXT, vu INTEGER, output TEXT, FOREIGN KEY(jobid) REFERENCES JOBMAIN(jobid));
    CREATE TABLE JOBCHART(jobid TEXT, chart TEXT, html TEXT, FOREIGN KEY(jobid) REFERENCES JOBMAIN(jobid));
    CREATE TABLE JOBCI (ci_id INTEGER PRIMARY KEY AUTOINCREMENT, refname TEXT NOT NULL, dbprefix TEXT NOT NULL, \
    pipeline TEXT NOT NULL DEFAULT 'TEST', profile_id INTEGER NULL, status TEXT NOT NULL DEFAULT 'PENDING');
    CREATE INDEX JOBTIMING_IDX ON JOBTIMING(jobid);
    CREATE INDEX JOBOUTPUT_IDX ON JOBOUTPUT(jobid);";

pub const DICTIONARY: &str = "connection {pg_host localhost pg_port 5432 pg_sslmode prefer} tpcc {pg_count_ware 100 pg_num_vu 8 \
    pg_superuser postgres pg_superuserpass topsecret pg_pass 4711 pg_dbase tpcc pg_storedprocs true pg_driver timed \
    pg_rampup 2 pg_duration 5 pg_allwarehouse false pg_async_scale false pg_async_client 10}";

pub struct Jobs {
    pub database: Connection,
    count: usize,
}

impl Jobs {
    pub fn new() -> Jobs {
        let database = Connection::open_in_memory().unwrap();
        database.execute_batch(TABLES).unwrap();
        Jobs { database, count: 0 }
    }

    pub fn job(&mut self, db: &str, workload: &str, dictionary: &str, profile: i64) -> String {
        self.count += 1;
        let id = format!("67FD3345479A03E26313{:04}", self.count);
        let sql = "INSERT INTO JOBMAIN(jobid, db, bm, jobdict, profile_id) VALUES (?1, ?2, ?3, ?4, ?5)";
        self.database.execute(sql, (&id, db, workload, dictionary, profile)).unwrap();
        id
    }

    pub fn say(&self, id: &str, user: i64, text: &str) {
        self.database.execute("INSERT INTO JOBOUTPUT VALUES (?1, ?2, ?3)", (id, user, text)).unwrap();
    }

    /// A run of TPROC-C that ended as it should.
    pub fn orders(&mut self, dictionary: &str, profile: i64, users: i64, nopm: i64) -> String {
        let id = self.job("PostgreSQL", "TPC-C", dictionary, profile);
        self.say(&id, 0, " Vuser  1:RUNNING");
        self.say(&id, 1, "Beginning rampup time of 2 minutes");
        self.say(&id, 1, "DBVersion:17.2");
        self.say(&id, 1, &format!("{users} Active Virtual Users configured"));
        self.say(&id, 1, &format!("TEST RESULT : System achieved {nopm} NOPM from {} PostgreSQL TPM", 2 * nopm));
        self.say(&id, 0, " Vuser  1:FINISHED SUCCESS");
        self.say(&id, 0, "ALL VIRTUAL USERS COMPLETE");
        let sql = "INSERT INTO JOBTIMING(jobid, vu, procname, calls, avg_ms, p99_ms, summary) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
        self.database.execute(sql, (&id, users, "NEWORD", 900, 3.5, 9.25, 1)).unwrap();
        self.database.execute(sql, (&id, 2, "NEWORD", 100, 77.0, 99.0, 0)).unwrap();
        id
    }

    pub fn bytes(mut self) -> Vec<u8> {
        self.database.serialize(MAIN_DB).unwrap().to_vec()
    }
}

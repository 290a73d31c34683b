//! One connection of the server.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use rustls::{ServerConnection, StreamOwned};

use super::tokens::{self, Reply};
use super::{Asked, Database, Encryption, PASSWORD, Shared};
use super::{objects, snapshots};

#[derive(Clone, Debug, PartialEq)]
pub enum Parameter {
    Null,
    Int(i64),
    Double(f64),
    Text(String),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    pub procedure: u16,
    pub transaction: u64,
    pub parameters: Vec<Parameter>,
    /// The statement that a handle stands for.
    pub sql: String,
}

trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

struct Talk<'a> {
    shared: &'a Shared,
    stream: Box<dyn Stream>,
    packet_bytes: usize,
    prepared: Vec<String>,
    /// The table whose rows come next.
    copying: Option<String>,
    /// Its number, and the database that it is in.
    session: u64,
    database: String,
    /// What the open transaction adds to the history and the balance.
    pending: Option<(i64, i64)>,
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

fn receive(stream: &mut dyn Stream) -> io::Result<(u8, Vec<u8>)> {
    let mut payload = Vec::new();
    loop {
        let mut header = [0; 8];
        stream.read_exact(&mut header)?;
        let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
        let start = payload.len();
        payload.resize(start + length.checked_sub(8).ok_or_else(|| invalid("a short packet"))?, 0);
        stream.read_exact(&mut payload[start..])?;
        if header[1] & 1 == 1 {
            return Ok((header[0], payload));
        }
    }
}

fn send(stream: &mut dyn Stream, payload: &[u8], packet_bytes: usize) -> io::Result<()> {
    let pieces: Vec<&[u8]> = payload.chunks(packet_bytes - 8).collect();
    let mut out = Vec::new();
    for (number, piece) in pieces.iter().enumerate() {
        let [high, low] = ((piece.len() + 8) as u16).to_be_bytes();
        out.extend([4, u8::from(number + 1 == pieces.len()), high, low, 0, 51, (number as u8).wrapping_add(1), 0]);
        out.extend_from_slice(piece);
    }
    stream.write_all(&out)?;
    stream.flush()
}

pub(super) fn serve(stream: TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let session = shared.sessions().begin(stream.try_clone()?);
    let served = talk(stream, shared, session);
    shared.sessions().end(session);
    served
}

fn talk(mut stream: TcpStream, shared: &Shared, session: u64) -> io::Result<()> {
    let (kind, _) = receive(&mut stream)?;
    if kind != 0x12 {
        return Err(invalid("no PRELOGIN"));
    }
    let stance = match &shared.encryption {
        Encryption::None => 2,
        Encryption::Login(_) => 0,
        Encryption::Everything(_) => 1,
    };
    send(&mut stream, &[0, 0, 11, 0, 6, 1, 0, 17, 0, 1, 0xff, 16, 0, 0x10, 0x3c, 0, 0, stance], 4096)?;
    let (login, mut stream): (_, Box<dyn Stream>) = match &shared.encryption {
        Encryption::None => (receive(&mut stream)?.1, Box::new(stream)),
        Encryption::Login(config) => {
            let mut encrypted = handshake(stream, config)?;
            let login = receive(&mut encrypted)?.1;
            (login, Box::new(encrypted.sock))
        }
        Encryption::Everything(config) => {
            let mut encrypted = handshake(stream, config)?;
            (receive(&mut encrypted)?.1, Box::new(encrypted))
        }
    };
    let packet_bytes = 1024;
    let reply = log_in(&login, shared, packet_bytes);
    let is_in = matches!(reply, Reply::Tokens(ref tokens) if tokens[0] == 0xad);
    if let Reply::Tokens(tokens) = reply {
        send(&mut *stream, &tokens, 4096)?;
    }
    if !is_in {
        return Ok(());
    }
    let database = "master".to_owned();
    Talk { shared, stream, packet_bytes, prepared: Vec::new(), copying: None, session, database, pending: None }
        .listen()
}

fn handshake(
    mut stream: TcpStream,
    config: &Arc<rustls::ServerConfig>,
) -> io::Result<StreamOwned<ServerConnection, TcpStream>> {
    let mut connection = ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
    while connection.is_handshaking() || connection.wants_write() {
        if connection.wants_write() {
            let mut flight = Vec::new();
            while connection.wants_write() {
                connection.write_tls(&mut flight)?;
            }
            // The wrapping is a message of the same kind in both directions.
            for piece in flight.chunks(1000) {
                let [high, low] = ((piece.len() + 8) as u16).to_be_bytes();
                stream.write_all(&[&[0x12, 1, high, low, 0, 0, 0, 0][..], piece].concat())?;
            }
        } else {
            let (_, payload) = receive(&mut stream)?;
            let mut bytes = payload.as_slice();
            while !bytes.is_empty() {
                connection.read_tls(&mut bytes)?;
                connection.process_new_packets().map_err(io::Error::other)?;
            }
        }
    }
    Ok(StreamOwned::new(connection, stream))
}

fn utf16(bytes: &[u8]) -> String {
    let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
    String::from_utf16_lossy(&units)
}

fn log_in(login: &[u8], shared: &Shared, packet_bytes: usize) -> Reply {
    let field = |place: usize| {
        let at = 36 + 4 * place;
        let number = |at: usize| usize::from(u16::from_le_bytes([login[at], login[at + 1]]));
        login[number(at)..number(at) + 2 * number(at + 2)].to_vec()
    };
    let clear: Vec<u8> = field(2).iter().map(|byte| (byte ^ 0xa5).rotate_left(4)).collect();
    let (user, database, program) = (utf16(&field(1)), utf16(&field(8)), utf16(&field(3)));
    let mut state = shared.database();
    state.logins.push((user.clone(), database.clone(), program));
    let refusal = |number, state, text: String| {
        Reply::Tokens([tokens::message(0xaa, number, state, 14, &text), tokens::done(0xfd, 2, 0)].concat())
    };
    // A user whose name is the number of a refusal.
    if let Ok(number) = user.parse() {
        return refusal(number, 1, format!("Login {user} is refused."));
    }
    if utf16(&clear) != PASSWORD {
        return refusal(18_456, 8, format!("Login failed for user '{user}'."));
    }
    if database == "nothing" {
        let Reply::Tokens(mut first) = refusal(4060, 1, "Cannot open database \"nothing\".".to_owned()) else {
            return Reply::Close;
        };
        first.splice(
            0..0,
            tokens::message(0xaa, 4060, 1, 11, "Cannot open database \"nothing\" requested by the login."),
        );
        return Reply::Tokens(first);
    }
    Reply::Tokens(tokens::welcome(packet_bytes))
}

impl Talk<'_> {
    fn listen(mut self) -> io::Result<()> {
        loop {
            let (kind, payload) = receive(&mut *self.stream)?;
            let asked = match kind {
                1 => Asked::Batch(utf16(&payload[22..])),
                3 => Asked::Call(self.parse_call(&payload)?),
                6 => Asked::Attention,
                7 => Asked::Rows(tally_of(&payload)),
                _ => return Err(invalid("a message of another kind")),
            };
            self.shared.database().log.push(asked.clone());
            let scripted = (self.shared.script)(&asked);
            match scripted.unwrap_or_else(|| self.answer(&asked)) {
                Reply::Tokens(tokens) => send(&mut *self.stream, &tokens, self.packet_bytes)?,
                Reply::Later(after, tokens) => {
                    std::thread::sleep(after);
                    send(&mut *self.stream, &tokens, self.packet_bytes)?;
                }
                Reply::Raw(bytes) => {
                    self.stream.write_all(&bytes)?;
                    self.stream.flush()?;
                }
                Reply::Close => return Ok(()),
                Reply::Silence => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    fn parse_call(&mut self, payload: &[u8]) -> io::Result<Call> {
        let transaction = u64::from_le_bytes(payload[10..18].try_into().map_err(|_| invalid("no headers"))?);
        let procedure = u16::from_le_bytes([payload[24], payload[25]]);
        let mut rest = &payload[28..];
        let mut parameters = Vec::new();
        while !rest.is_empty() {
            if rest[0] != 0 {
                return Err(invalid("a parameter has a name"));
            }
            rest = &rest[2..];
            parameters.push(parameter(&mut rest)?);
        }
        let text = |place: usize| match parameters.get(place) {
            Some(Parameter::Text(text)) => text.clone(),
            _ => String::new(),
        };
        let (sql, values) = match procedure {
            10 => (text(0), 2),
            12 => match parameters.first() {
                Some(Parameter::Int(handle)) => {
                    (self.prepared.get(*handle as usize - 1).cloned().unwrap_or_default(), 1)
                }
                _ => (String::new(), 1),
            },
            13 => (text(2), 3),
            _ => return Err(invalid("an unknown procedure")),
        };
        Ok(Call { procedure, transaction, parameters: parameters.split_off(values.min(parameters.len())), sql })
    }

    fn answer(&mut self, asked: &Asked) -> Reply {
        Reply::Tokens(match asked {
            Asked::Attention => tokens::done(0xfd, 0x20, 0),
            Asked::Rows(rows) => {
                let (rows, sum) = *rows;
                if let Some(table) = self.copying.take() {
                    let mut database = self.shared.database();
                    *database.copied.entry(table.clone()).or_default() += rows;
                    *database.sums.entry(table).or_default() += sum;
                }
                tokens::touched(rows)
            }
            Asked::Batch(sql) => match self.claim(sql) {
                Some(answer) => tokens::result(&[""], &[&[Some(answer)]]),
                None => self.batch(sql),
            },
            Asked::Call(call) => {
                let statement = tokens::inside(self.execute(&call.sql, &call.parameters));
                let handle = (call.procedure == 13).then(|| {
                    self.prepared.push(call.sql.clone());
                    self.prepared.len() as i32
                });
                if call.procedure == 12 && call.sql.is_empty() {
                    [tokens::message(0xaa, 8179, 4, 16, "no such handle"), tokens::done(0xfe, 2, 0)].concat()
                } else {
                    tokens::returned(handle, &statement)
                }
            }
        })
    }

    /// Executes a statement of pgbench, as far as needed to count.
    fn execute(&mut self, sql: &str, parameters: &[Parameter]) -> Vec<u8> {
        if let Some(answer) = self.shared.database().answer(sql, parameters) {
            return answer;
        }
        let delta = match parameters {
            [Parameter::Int(delta), _] => *delta,
            _ => 1,
        };
        let (history, balance) = match sql {
            sql if sql.starts_with("INSERT INTO pgbench_history") => (1, 0),
            sql if sql.starts_with("UPDATE pgbench_accounts") => (0, delta),
            sql if sql.starts_with("SELECT") => {
                return tokens::result(&["#abalance"], &[&[Some("0")]]);
            }
            _ => (0, 0),
        };
        match &mut self.pending {
            Some(pending) => *pending = (pending.0 + history, pending.1 + balance),
            None => {
                let mut database = self.shared.database();
                database.history += history;
                database.balance += balance;
            }
        }
        tokens::touched(1)
    }

    /// Answers étalon's question for its claim in the database that the session is in.
    fn claim(&mut self, sql: &str) -> Option<&'static str> {
        if let Some(name) = sql.strip_prefix("USE ") {
            self.database = name.trim_matches(['[', ']']).to_owned();
        }
        self.shared.sessions().claim(self.session, &self.database, sql)
    }

    fn batch(&mut self, sql: &str) -> Vec<u8> {
        let number = |number: i64| tokens::result(&["#"], &[&[Some(number.to_string().as_str())]]);
        let word = |word: &str| tokens::result(&[""], &[&[Some(word)]]);
        let mut database = self.shared.database();
        let answer = snapshots::answer(&mut database, sql).or_else(|| database.answer(sql, &[]));
        if let Some(answer) = answer.or_else(|| objects::answer(&mut database, sql)) {
            return answer;
        }
        if sql.starts_with("BEGIN TRAN") {
            self.pending = Some((0, 0));
            return [tokens::transaction(8), tokens::done(0xfd, 0, 0)].concat();
        } else if sql.starts_with("COMMIT") {
            let (history, balance) = self.pending.take().unwrap_or_default();
            database.history += history;
            database.balance += balance;
            return [tokens::transaction(9), tokens::done(0xfd, 0, 0)].concat();
        } else if sql.contains("ROLLBACK TRAN") {
            self.pending = None;
            return [tokens::transaction(10), tokens::done(0xfd, 0, 0)].concat();
        } else if sql.starts_with("EXEC sys.sp_describe_undeclared_parameters") {
            return describe(sql);
        } else if sql.contains("FROM sys.databases WHERE name") {
            return number(database.exists.into());
        } else if sql.starts_with("SELECT OBJECT_ID") {
            let id = database.marker.as_ref().map(|_| "7");
            return tokens::result(&["#"], &[&[id]]);
        } else if sql.starts_with("CREATE DATABASE") {
            let (log, statements) = (std::mem::take(&mut database.log), database.statements.take());
            let (model, objects) = (database.model.clone(), database.model.clone());
            *database = Database { exists: true, log, statements, model, objects, ..Default::default() };
        } else if sql.starts_with("DROP DATABASE") {
            (database.exists, database.marker, database.lists) = (false, None, None);
            database.objects.clear();
        } else if let Some((name, columns)) = defined(sql) {
            database.tables.insert(name, columns);
        } else if let Some(table) = sql.strip_prefix("INSERT BULK ") {
            self.copying = table.split(' ').next().map(|name| name.trim_matches(['[', ']']).to_owned());
        } else if sql.starts_with("SELECT TOP (0) * FROM") {
            let name = sql.rsplit(' ').next().unwrap_or_default().trim_matches(['[', ']']);
            return columns(&database.tables[name]);
        } else if let Some(counted) = sql.strip_prefix("SELECT COUNT(*), ") {
            let table = counted.rsplit(' ').next().unwrap_or_default().trim_matches(['[', ']']);
            let rows = database.copied.get(table).copied().unwrap_or_default().to_string();
            let is_summed = counted.starts_with("SUM(");
            let sum = database.sums.get(table).copied().filter(|_| is_summed).unwrap_or_default().to_string();
            return tokens::result(&["#", "#"], &[&[Some(&rows), Some(&sum)]]);
        } else if let Some(counted) = count_of_pgbench(&database, sql) {
            return number(counted);
        } else if sql.contains("HAS_PERMS_BY_NAME") {
            return number(1);
        } else if sql.contains("Updateability") {
            return word("READ_WRITE");
        } else if sql.starts_with("SELECT @@VERSION") {
            return word("Microsoft SQL Server 2022 (RTM) - 16.0.4156.1 (X64)\n\tscripted");
        } else if sql.contains("@@SERVERNAME") || sql.contains("SUSER_SNAME") || sql.contains("DB_NAME()") {
            // Identifies this server; a login's name and a database's are never compared.
            return word(&format!("mock-{:p}", std::ptr::from_ref(self.shared)));
        }
        drop(database);
        if sql.starts_with("UPDATE pgbench")
            || sql.starts_with("INSERT INTO pgbench")
            || sql.starts_with("SELECT abalance")
        {
            let delta = sql.split("abalance + ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
            return self.execute(sql, &[Parameter::Int(delta.unwrap_or(1)), Parameter::Null]);
        }
        facts(sql).unwrap_or_else(|| tokens::touched(0))
    }
}

/// Rows of the views that étalon reads.
fn facts(sql: &str) -> Option<Vec<u8>> {
    let yes = Some("1");
    Some(match sql {
        sql if sql.contains("SERVERPROPERTY") => tokens::result(
            &["edition", "product_version", "product_level"],
            &[&[Some("Developer Edition (64-bit)"), Some("16.0.4156.1"), Some("RTM")]],
        ),
        sql if sql.contains("sys.databases") => tokens::result(
            &[
                "name",
                "#compatibility_level",
                "recovery_model_desc",
                "delayed_durability_desc",
                "page_verify_option_desc",
            ],
            &[&[Some("etalon"), Some("160"), Some("FULL"), Some("DISABLED"), Some("CHECKSUM")]],
        ),
        sql if sql.contains("sys.configurations") => tokens::result(
            &["name", "value"],
            &[&[Some("max degree of parallelism"), Some("0")], &[Some("max server memory (MB)"), Some("2048")]],
        ),
        sql if sql.contains("tempdb.sys.database_files") => tokens::result(&["#", "#"], &[&[Some("4"), Some("4096")]]),
        sql if sql.contains("sys.database_files") => tokens::result(
            &["name", "type_desc", "physical_name", "#size", "#growth", "#is_percent_growth", "#max_size"],
            &[&[
                Some("etalon"),
                Some("ROWS"),
                Some("/data/etalon.mdf"),
                Some("1024"),
                Some("8192"),
                Some("0"),
                Some("-1"),
            ]],
        ),
        sql if sql.contains("sys.dm_os_performance_counters") => tokens::result(
            &["object", "counter", "instance", "#value"],
            &[&[Some("SQLServer:SQL Statistics"), Some("Batch Requests/sec"), Some(""), Some("77")]],
        ),
        sql if sql.contains("sys.dm_exec_sessions") => {
            tokens::result(&["#arithabort", "#transaction_isolation_level"], &[&[yes, Some("2")]])
        }
        sql if sql.contains("@@OPTIONS") => tokens::result(&["#"], &[&[Some("5496")]]),
        sql if sql.contains("process_kernel_time_ms") => tokens::result(&[""], &[&[Some("12.5")]]),
        _ => return None,
    })
}

/// Answers by which runs of pgbench's scripts are checked.
fn count_of_pgbench(database: &Database, sql: &str) -> Option<i64> {
    let answers = [
        ("sum(delta) AS d", 0),
        ("sum(abalance)", database.balance),
        ("count(*) FROM pgbench_history", database.history),
        // Among so many no draw repeats.
        ("max(aid) FROM pgbench_accounts", i64::from(i32::MAX)),
        ("count(DISTINCT aid) FROM pgbench_history", database.history),
        ("abs(delta)", database.history * 2_500),
        ("WHERE abalance <> 0", database.balance),
    ];
    answers.into_iter().find(|(piece, _)| sql.contains(piece)).map(|(_, answer)| answer)
}

/// Every parameter is taken for an `int`, a meaningless statement for an error.
fn describe(sql: &str) -> Vec<u8> {
    if sql.contains("FROBNICATE") {
        return [tokens::message(0xaa, 102, 1, 15, "Incorrect syntax near 'ROWS'."), tokens::done(0xfd, 2, 0)].concat();
    }
    let numbers: Vec<String> = (1..=sql.matches("@P").count()).map(|number| number.to_string()).collect();
    let rows: Vec<[Option<&str>; 2]> = numbers.iter().map(|number| [Some(number.as_str()), Some("int")]).collect();
    let rows: Vec<&[Option<&str>]> = rows.iter().map(<[_; 2]>::as_slice).collect();
    tokens::result(&["#parameter_ordinal", "suggested_system_type_name"], &rows)
}

/// The columns of a table, none of which has rows.
fn columns(table: &[(String, String)]) -> Vec<u8> {
    const COLLATION: [u8; 5] = [9, 4, 0xd0, 0, 0x34];
    let mut out = vec![0x81];
    out.extend((table.len() as u16).to_le_bytes());
    for (name, kind) in table {
        out.extend([0, 0, 0, 0, 9, 0]);
        let (kind, nulls) = kind.split_once(char::is_whitespace).unwrap_or((kind, ""));
        let (kind, numbers) = kind.split_once('(').unwrap_or((kind, ""));
        let numbers: Vec<u8> = numbers
            .trim_end_matches(')')
            .split(',')
            .filter_map(|n| n.parse::<u16>().ok())
            .flat_map(u16::to_le_bytes)
            .collect();
        match (kind, &numbers[..]) {
            ("int", _) if nulls.starts_with("NOT") => out.push(0x38),
            ("int", _) => out.extend([0x26, 4]),
            ("bigint", _) => out.extend([0x26, 8]),
            ("char" | "varchar", length) => {
                out.push(if kind == "char" { 0xaf } else { 0xa7 });
                out.extend_from_slice(length);
                out.extend(COLLATION);
            }
            ("decimal", &[digits, _, scale, _]) => out.extend([0x6a, if digits < 10 { 5 } else { 9 }, digits, scale]),
            ("datetime2", &[scale, _]) => out.extend([0x2a, scale]),
            _ => panic!("a column of the type {kind}"),
        }
        out.push(name.len() as u8);
        out.extend(name.encode_utf16().flat_map(u16::to_le_bytes));
    }
    [out, tokens::done(0xfd, 0x10, 0)].concat()
}

/// Name and columns of a table that étalon makes.
fn defined(sql: &str) -> Option<(String, Vec<(String, String)>)> {
    let (name, columns) = sql.strip_prefix("CREATE TABLE [")?.split_once("] (")?;
    let columns = columns.strip_suffix(')')?.replace(", ", ",");
    let columns = columns.split(",PRIMARY").next()?.split(",[");
    let columns = columns.filter_map(|column| column.trim_start_matches('[').split_once("] "));
    Some((name.to_owned(), columns.map(|(name, kind)| (name.to_owned(), kind.to_owned())).collect()))
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> io::Result<&'a [u8]> {
    let (taken, after) = rest.split_at_checked(count).ok_or_else(|| invalid("a parameter is short"))?;
    *rest = after;
    Ok(taken)
}

fn parameter(rest: &mut &[u8]) -> io::Result<Parameter> {
    let kind = take(rest, 1)?[0];
    Ok(match kind {
        0x26 | 0x6d => {
            take(rest, 1)?;
            let count = usize::from(take(rest, 1)?[0]);
            let bytes = take(rest, count)?;
            match (kind, count) {
                (_, 0) => Parameter::Null,
                (0x26, 4) => Parameter::Int(i32::from_le_bytes(bytes.try_into().map_err(|_| invalid("int"))?).into()),
                (0x26, 8) => Parameter::Int(i64::from_le_bytes(bytes.try_into().map_err(|_| invalid("bigint"))?)),
                (0x6d, 8) => Parameter::Double(f64::from_le_bytes(bytes.try_into().map_err(|_| invalid("float"))?)),
                _ => return Err(invalid("a number has no such length")),
            }
        }
        0xe7 | 0xa7 => {
            let largest = take(rest, 2)?.to_vec();
            take(rest, 5)?;
            if largest == [0xff, 0xff] {
                take(rest, 8)?;
                let count = take(rest, 4)?;
                let count = u32::from_le_bytes(count.try_into().map_err(|_| invalid("a part"))?) as usize;
                let text = utf16(take(rest, count)?);
                take(rest, 4)?;
                return Ok(Parameter::Text(text));
            }
            let count = take(rest, 2)?;
            match u16::from_le_bytes([count[0], count[1]]) {
                u16::MAX => Parameter::Null,
                count if kind == 0xe7 => Parameter::Text(utf16(take(rest, count.into())?)),
                count => Parameter::Text(String::from_utf8_lossy(take(rest, count.into())?).into_owned()),
            }
        }
        _ => return Err(invalid("a parameter of another type")),
    })
}

/// How many rows, and the sum of their whole numbers' remainders, each times its column's number.
fn tally_of(payload: &[u8]) -> (u64, i64) {
    let mut kinds = Vec::new();
    let number = |at: usize| usize::from(u16::from_le_bytes([payload[at], payload[at + 1]]));
    let mut at = 3;
    for _ in 0..number(1) {
        let kind = payload[at + 6];
        at += match kind {
            0x38 => 7,
            0x26 | 0x2a => 8,
            0x6a => 10,
            _ => 14,
        };
        at += 1 + 2 * usize::from(payload[at]);
        kinds.push(kind);
    }
    let (mut rows, mut sum) = (0, 0);
    let whole = |bytes: &[u8]| match bytes.len() {
        0 => -1,
        4 => i64::from(i32::from_le_bytes(bytes.try_into().unwrap())) % 1_000_003,
        8 => i64::from_le_bytes(bytes.try_into().unwrap()) % 1_000_003,
        other => panic!("a whole number of {other} bytes"),
    };
    while payload[at] == 0xd1 {
        at += 1;
        rows += 1;
        for (kind, weight) in kinds.iter().zip(1..) {
            at += match kind {
                0x38 => {
                    sum += weight * whole(&payload[at..at + 4]);
                    4
                }
                0x26 => {
                    let bytes = usize::from(payload[at]);
                    sum += weight * whole(&payload[at + 1..at + 1 + bytes]);
                    1 + bytes
                }
                0x2a | 0x6a => 1 + usize::from(payload[at]),
                _ if payload[at..at + 2] == [0xff, 0xff] => 2,
                _ => 2 + number(at),
            };
        }
    }
    assert_eq!((payload[at], payload.len() - at), (0xfd, 13), "the rows end with DONE");
    (rows, sum)
}

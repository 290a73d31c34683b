//! The C API of the library, in safe functions. This crate knows no other of étalon's, and its engine is the only one that knows it.

#![allow(unsafe_code, reason = "a library in C has no safe form: every call of it is in this crate")]

use std::borrow::Cow;
use std::ffi::{CStr, CString, c_int};
use std::path::Path;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use libsqlite3_sys as c;

/// What the library says of a call that failed.
#[derive(Debug)]
pub struct Error {
    /// The extended result code.
    pub code: i32,
    pub message: String,
}

impl Error {
    fn new(code: i32, message: impl Into<String>) -> Error {
        Error { code, message: message.into() }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    Null,
    Int(i64),
    Double(f64),
    Text(Cow<'a, str>),
}

/// The release of the library.
pub fn version() -> String {
    // SAFETY: the library's own text, which ends with a zero and stays.
    unsafe { CStr::from_ptr(c::sqlite3_libversion()) }.to_string_lossy().into_owned()
}

/// Open as long as the connection or a statement of it is there.
struct Handle(NonNull<c::sqlite3>);

// SAFETY: the library is compiled to take its handles from any thread, several at a time (SQLITE_THREADSAFE=1).
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

impl Handle {
    /// `Ok` of a call that gave one of `good`.
    fn check(&self, code: c_int, good: &[c_int]) -> Result<c_int, Error> {
        if good.contains(&code) {
            return Ok(code);
        }
        // SAFETY: the handle is open, and the text is copied before the next call.
        let message = unsafe { CStr::from_ptr(c::sqlite3_errmsg(self.0.as_ptr())) }.to_string_lossy().into_owned();
        // SAFETY: the handle is open.
        Err(Error::new(unsafe { c::sqlite3_extended_errcode(self.0.as_ptr()) }, message))
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: nothing else has the handle: every statement has ended.
        unsafe { c::sqlite3_close(self.0.as_ptr()) };
    }
}

pub struct Connection(Arc<Handle>);

impl Connection {
    /// # Errors
    /// The file cannot be opened.
    pub fn open(path: &Path) -> Result<Connection, Error> {
        let name = path.to_str().and_then(|path| CString::new(path).ok());
        let name = name.ok_or_else(|| Error::new(c::SQLITE_CANTOPEN, "the path is not UTF-8"))?;
        let mut handle = ptr::null_mut();
        // SAFETY: the name ends with a zero, and the library writes a handle or null.
        let code = unsafe { c::sqlite3_open(name.as_ptr(), &raw mut handle) };
        let handle = NonNull::new(handle).ok_or_else(|| Error::new(code, "there is no memory for a connection"))?;
        let connection = Connection(Arc::new(Handle(handle)));
        connection.0.check(code, &[c::SQLITE_OK])?;
        Ok(connection)
    }

    pub fn is_in_transaction(&self) -> bool {
        // SAFETY: the handle is open.
        unsafe { c::sqlite3_get_autocommit(self.0.0.as_ptr()) == 0 }
    }

    /// # Errors
    /// The library refuses the statement, or there is another after it.
    pub fn prepare(&self, sql: &str) -> Result<Statement, Error> {
        let bytes =
            c_int::try_from(sql.len()).map_err(|_| Error::new(c::SQLITE_TOOBIG, "the statement is too long"))?;
        let (mut statement, mut rest) = (ptr::null_mut(), ptr::null());
        let (handle, text) = (self.0.0.as_ptr(), sql.as_ptr().cast());
        // SAFETY: the library reads no further than `bytes`, and writes a statement or null, and a place in the text.
        let code = unsafe { c::sqlite3_prepare_v2(handle, text, bytes, &raw mut statement, &raw mut rest) };
        self.0.check(code, &[c::SQLITE_OK])?;
        let statement = NonNull::new(statement).ok_or_else(|| Error::new(c::SQLITE_MISUSE, "there is no statement"))?;
        let statement = Statement { statement, connection: Arc::clone(&self.0) };
        let rest = sql.get(rest.addr() - sql.as_ptr().addr()..).unwrap_or_default();
        match rest.trim_matches(|c: char| c == ';' || c.is_whitespace()) {
            "" => Ok(statement),
            rest => Err(Error::new(c::SQLITE_MISUSE, format!("there is another statement: {rest}"))),
        }
    }
}

pub struct Statement {
    statement: NonNull<c::sqlite3_stmt>,
    connection: Arc<Handle>,
}

// SAFETY: as its connection.
unsafe impl Send for Statement {}

impl Drop for Statement {
    fn drop(&mut self) {
        // SAFETY: the connection is open, and nothing else has the statement.
        unsafe { c::sqlite3_finalize(self.statement.as_ptr()) };
    }
}

impl Statement {
    /// Sets a parameter, counted from 1.
    ///
    /// # Errors
    /// There is no such parameter.
    pub fn bind(&mut self, number: i32, value: &Value<'_>) -> Result<(), Error> {
        let statement = self.statement.as_ptr();
        // SAFETY: the statement is there, and the library copies a text before the call returns.
        let code = unsafe {
            match value {
                Value::Null => c::sqlite3_bind_null(statement, number),
                Value::Int(value) => c::sqlite3_bind_int64(statement, number, *value),
                Value::Double(value) => c::sqlite3_bind_double(statement, number, *value),
                Value::Text(text) => {
                    let (start, bytes) = (text.as_ptr().cast(), text.len() as u64);
                    let utf_8 = c::SQLITE_UTF8 as u8;
                    c::sqlite3_bind_text64(statement, number, start, bytes, c::SQLITE_TRANSIENT(), utf_8)
                }
            }
        };
        self.connection.check(code, &[c::SQLITE_OK]).map(drop)
    }

    /// Goes to the next row, if there is one.
    ///
    /// # Errors
    /// The statement fails.
    pub fn step(&mut self) -> Result<bool, Error> {
        // SAFETY: the statement is there.
        let code = unsafe { c::sqlite3_step(self.statement.as_ptr()) };
        Ok(self.connection.check(code, &[c::SQLITE_ROW, c::SQLITE_DONE])? == c::SQLITE_ROW)
    }

    /// Makes it ready for its next execution.
    pub fn reset(&mut self) {
        // SAFETY: the statement is there. The code is that of the last step, which was reported then.
        unsafe { c::sqlite3_reset(self.statement.as_ptr()) };
    }

    /// The names of the columns.
    pub fn columns(&self) -> Vec<String> {
        let statement = self.statement.as_ptr();
        // SAFETY: the statement is there, and each name is copied before the next call.
        let name = |column| unsafe { CStr::from_ptr(c::sqlite3_column_name(statement, column)) };
        // SAFETY: the statement is there.
        let count = unsafe { c::sqlite3_column_count(statement) };
        (0..count).map(|column| name(column).to_string_lossy().into_owned()).collect()
    }

    /// A value of the row that the last step went to, counted from 0.
    pub fn value(&self, column: i32) -> Value<'_> {
        let statement = self.statement.as_ptr();
        // SAFETY: the statement is on a row; the bytes stay until the next call with `&mut self`.
        unsafe {
            match c::sqlite3_column_type(statement, column) {
                c::SQLITE_NULL => Value::Null,
                c::SQLITE_INTEGER => Value::Int(c::sqlite3_column_int64(statement, column)),
                c::SQLITE_FLOAT => Value::Double(c::sqlite3_column_double(statement, column)),
                _ => {
                    let start = c::sqlite3_column_blob(statement, column).cast::<u8>();
                    let bytes = c::sqlite3_column_bytes(statement, column) as usize;
                    let bytes = if start.is_null() { &[] } else { std::slice::from_raw_parts(start, bytes) };
                    Value::Text(String::from_utf8_lossy(bytes))
                }
            }
        }
    }
}

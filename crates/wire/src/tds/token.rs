//! Tokens, of which answers consist.

use super::cursor::{Cursor, Parse, Trouble, wrong};
use super::message::ServerMessage;
use super::types::{Column, TypeInfo};
use super::{Cell, Done};

mod tag {
    pub(super) const RETURN_STATUS: u8 = 0x79;
    pub(super) const COLUMNS: u8 = 0x81;
    pub(super) const TABLE_NAMES: u8 = 0xa4;
    pub(super) const COLUMN_INFO: u8 = 0xa5;
    pub(super) const ORDER: u8 = 0xa9;
    pub(super) const ERROR: u8 = 0xaa;
    pub(super) const INFO: u8 = 0xab;
    pub(super) const RETURN_VALUE: u8 = 0xac;
    pub(super) const LOGIN_ACK: u8 = 0xad;
    pub(super) const FEATURE_ACK: u8 = 0xae;
    pub(super) const ROW: u8 = 0xd1;
    pub(super) const NBC_ROW: u8 = 0xd2;
    pub(super) const ENV_CHANGE: u8 = 0xe3;
    pub(super) const SESSION_STATE: u8 = 0xe4;
    pub(super) const SSPI: u8 = 0xed;
    pub(super) const DONE: u8 = 0xfd;
    pub(super) const DONE_PROC: u8 = 0xfe;
    pub(super) const DONE_IN_PROC: u8 = 0xff;
}

const NO_COLUMNS: u16 = 0xffff;

/// A change of the session that the server reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change {
    /// Packets have this size from now on, in bytes.
    PacketBytes(usize),
    Collation([u8; 5]),
    /// A transaction has started, with this descriptor.
    Began(u64),
    Ended,
    Routed {
        host: String,
        port: u16,
    },
    Other,
}

pub(super) enum Token<'a> {
    Columns(Option<Vec<Column>>),
    Row {
        nulls: Option<&'a [u8]>,
        values: &'a [u8],
    },
    Error(ServerMessage),
    Info(ServerMessage),
    Done(Done),
    ReturnValue(Cell),
    LoginAck {
        tds_version: u32,
        version: (u8, u8, u16),
    },
    Change(Change),
    /// The server wants another kind of login.
    Negotiate,
    Skipped,
}

impl<'a> Token<'a> {
    /// Reads the next token.
    pub(super) fn parse(cursor: &mut Cursor<'a>, columns: &[Column]) -> Parse<Self> {
        let tag = cursor.take_u8()?;
        Ok(match tag {
            tag::COLUMNS => Token::Columns(parse_columns(cursor)?),
            tag::ROW => {
                let start = cursor.position();
                for column in columns {
                    column.info.take_raw(cursor)?;
                }
                Token::Row { nulls: None, values: cursor.passed_since(start) }
            }
            tag::NBC_ROW => {
                let nulls = cursor.take(columns.len().div_ceil(8))?;
                let start = cursor.position();
                for (place, column) in columns.iter().enumerate() {
                    if !is_null(nulls, place) {
                        column.info.take_raw(cursor)?;
                    }
                }
                Token::Row { nulls: Some(nulls), values: cursor.passed_since(start) }
            }
            tag::ERROR | tag::INFO => {
                let body = take_sized(cursor)?;
                let message = require_complete(ServerMessage::parse(body))?;
                if tag == tag::ERROR { Token::Error(message) } else { Token::Info(message) }
            }
            tag::DONE | tag::DONE_PROC | tag::DONE_IN_PROC => {
                let (status, command, rows) = (cursor.take_u16()?, cursor.take_u16()?, cursor.take_u64()?);
                let (in_procedure, of_procedure) = (tag == tag::DONE_IN_PROC, tag == tag::DONE_PROC);
                Token::Done(Done { status, command, rows, in_procedure, of_procedure })
            }
            tag::RETURN_VALUE => {
                cursor.take_u16()?;
                cursor.short_text()?;
                cursor.take(1 + 4 + 2)?;
                let info = TypeInfo::parse(cursor)?;
                Token::ReturnValue(Cell::parse(&info, cursor)?)
            }
            tag::LOGIN_ACK => require_complete(parse_login_ack(take_sized(cursor)?))?,
            tag::ENV_CHANGE => Token::Change(require_complete(parse_change(take_sized(cursor)?))?),
            tag::FEATURE_ACK => skip_features(cursor)?,
            tag::RETURN_STATUS => skipped(cursor.take(4)?),
            tag::ORDER | tag::TABLE_NAMES | tag::COLUMN_INFO => skipped(take_sized(cursor)?),
            tag::SESSION_STATE => {
                let count = cursor.take_u32()?;
                skipped(cursor.take(count as usize)?)
            }
            tag::SSPI => {
                take_sized(cursor)?;
                Token::Negotiate
            }
            _ => return wrong("an answer holds a token that the protocol does not have"),
        })
    }
}

/// A token that is passed over.
fn skipped(_bytes: &[u8]) -> Token<'_> {
    Token::Skipped
}

/// Whether the value is `NULL` and absent.
pub(super) fn is_null(nulls: &[u8], place: usize) -> bool {
    nulls.get(place / 8).is_some_and(|byte| byte & (1 << (place % 8)) != 0)
}

/// The body of a token with a length in two bytes.
fn take_sized<'a>(cursor: &mut Cursor<'a>) -> Parse<&'a [u8]> {
    let count = cursor.take_u16()?;
    cursor.take(count.into())
}

/// The body is complete, so a short read is an error.
fn require_complete<T>(parsed: Parse<T>) -> Parse<T> {
    match parsed {
        Err(Trouble::Short) => wrong("a token is shorter than what it says it holds"),
        other => other,
    }
}

fn parse_columns(cursor: &mut Cursor<'_>) -> Parse<Option<Vec<Column>>> {
    match cursor.take_u16()? {
        NO_COLUMNS => Ok(None),
        count => (0..count).map(|_| Column::parse(cursor)).collect::<Parse<Vec<_>>>().map(Some),
    }
}

fn parse_login_ack<'a>(body: &[u8]) -> Parse<Token<'a>> {
    let mut cursor = Cursor::new(body);
    cursor.take_u8()?;
    let tds_version = u32::from_be_bytes(cursor.take_array()?);
    cursor.short_text()?;
    let [major, minor, high, low] = cursor.take_array()?;
    Ok(Token::LoginAck { tds_version, version: (major, minor, u16::from_be_bytes([high, low])) })
}

fn parse_change(body: &[u8]) -> Parse<Change> {
    let mut cursor = Cursor::new(body);
    Ok(match cursor.take_u8()? {
        4 => match cursor.short_text()?.parse() {
            Ok(bytes) if super::packet::PACKET_BYTES.contains(&bytes) => Change::PacketBytes(bytes),
            _ => return wrong("it wants packets of an impossible size"),
        },
        7 => match cursor.short_bytes()?.first_chunk() {
            Some(collation) => Change::Collation(*collation),
            None => Change::Other,
        },
        8 | 11 => match cursor.short_bytes()?.first_chunk() {
            Some(descriptor) => Change::Began(u64::from_le_bytes(*descriptor)),
            None => return wrong("a transaction has no descriptor"),
        },
        // Committed, rolled back, defected, ended by the server.
        9 | 10 | 12 | 17 => Change::Ended,
        20 => {
            let mut route = Cursor::new(take_sized(&mut cursor)?);
            route.take_u8()?;
            Change::Routed { port: route.take_u16()?, host: route.take_text()? }
        }
        _ => Change::Other,
    })
}

/// "FEATUREEXTACK": nothing was asked for.
fn skip_features<'a>(cursor: &mut Cursor<'a>) -> Parse<Token<'a>> {
    while cursor.take_u8()? != 0xff {
        let count = cursor.take_u32()?;
        cursor.take(count as usize)?;
    }
    Ok(Token::Skipped)
}

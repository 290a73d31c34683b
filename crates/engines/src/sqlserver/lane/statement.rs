use wire::WireError;
use wire::tds::{Declared, Request, RequestSession};

use crate::server::dialogue::with_values;
use load::datum::Datum;

/// How statements with parameters travel. Others go as batches, which the server recognises by text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// `sp_prepexec` first, then `sp_execute`.
    Prepared,
    /// `sp_executesql` each time.
    Unprepared,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Typed {
    pub(crate) sql: String,
    pub(crate) parameters: usize,
    /// Types as the server would declare them, such as `int`; else those of the first values.
    pub(crate) types: Option<Vec<String>>,
}

/// Name of a parameter, numbered from 1: `@P1`.
/// Parameters travel nameless, and a server that does not go by order alone (Babelfish) expects the names of Microsoft's
/// JDBC driver.
pub(crate) fn parameter_name(number: usize) -> String {
    format!("@P{number}")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// None is needed.
    Handleless,
    /// The request prepares.
    Unprepared,
    /// The request executes.
    Prepared,
}

#[derive(Clone, Debug)]
pub(super) struct Statement {
    typed: Typed,
    mode: Mode,
    /// `None` until the parameters' types are known.
    request: Option<Request>,
    stage: Stage,
    declared: Vec<Declared>,
}

impl Statement {
    /// Makes a statement that is ready to be sent once its parameters' types are known.
    pub(super) fn new(typed: &Typed, mode: Mode) -> Statement {
        let mut statement = Statement {
            typed: typed.clone(),
            mode,
            request: None,
            stage: Stage::Handleless,
            declared: vec![Declared::Any; typed.parameters],
        };
        match &typed.types {
            _ if typed.parameters == 0 => statement.request = Some(Request::batch(&typed.sql)),
            Some(types) => statement.declare_parameters(types),
            None => {}
        }
        statement
    }

    /// Makes the request of this statement, with parameters of these types.
    fn declare_parameters(&mut self, types: &[String]) {
        self.declared = types.iter().map(|name| declared_type(name)).collect();
        let declarations: Vec<String> = types
            .iter()
            .enumerate()
            .map(|(place, declaration)| format!("{} {declaration}", parameter_name(place + 1)))
            .collect();
        let (declarations, sql) = (declarations.join(", "), &self.typed.sql);
        let (request, stage) = match self.mode {
            Mode::Prepared => {
                (Request::prepare_and_execute(&declarations, sql, self.declared.clone()), Stage::Unprepared)
            }
            Mode::Unprepared => (Request::execute_sql(&declarations, sql, self.declared.clone()), Stage::Handleless),
        };
        (self.request, self.stage) = (Some(request), stage);
    }

    /// Encodes the request with these parameters; guesses and declares their types if none are declared.
    pub(super) fn encode_request(&mut self, parameters: &[Datum], session: RequestSession) -> Result<&[u8], WireError> {
        if self.request.is_none() {
            self.declare_parameters(&guess_types(parameters));
        }
        let request = self.request.as_mut().ok_or(WireError::Misuse("a statement has no request"))?;
        with_values(parameters, |values| request.encode(values, session))
    }

    /// Makes later requests execute the prepared statement by the server's handle.
    pub(super) fn execute_by_handle(&mut self, handle: i32) {
        if self.stage == Stage::Unprepared {
            self.request = Some(Request::execute(handle, self.declared.clone()));
            self.stage = Stage::Prepared;
        }
    }

    /// Has the next request prepare the statement again, since the server lost its handle.
    pub(super) fn forget_handle(&mut self) {
        if self.stage == Stage::Prepared {
            let types = self.typed.types.take();
            self.request = None;
            if let Some(types) = &types {
                self.declare_parameters(types);
            }
            self.typed.types = types;
        }
    }
}

/// The protocol's type for the name of a declared type.
fn declared_type(type_name: &str) -> Declared {
    let name = type_name.split('(').next().unwrap_or_default().trim().to_ascii_lowercase();
    match name.as_str() {
        "int" | "smallint" | "tinyint" => Declared::Int,
        "char" | "varchar" | "text" => Declared::Narrow,
        _ => Declared::Any,
    }
}

/// Guesses the parameters' types from values, where the server has not reported them.
fn guess_types(values: &[Datum]) -> Vec<String> {
    let names = values.iter().map(|datum| match datum {
        Datum::Int(_) => "bigint",
        Datum::Double(_) => "float",
        Datum::Null | Datum::Text(_) => "nvarchar(max)",
    });
    names.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: RequestSession = RequestSession { transaction: 0, packet_bytes: 4096, collation: [0; 5] };

    fn typed(sql: &str, types: Option<&[&str]>, parameters: usize) -> Typed {
        let types = types.map(|types| types.iter().map(|name| (*name).to_owned()).collect());
        Typed { sql: sql.to_owned(), parameters, types }
    }

    fn wide(text: &str) -> Vec<u8> {
        text.encode_utf16().flat_map(u16::to_le_bytes).collect()
    }

    fn holds(bytes: &[u8], text: &str) -> bool {
        let text = wide(text);
        bytes.windows(text.len()).any(|window| window == text)
    }

    #[test]
    fn a_statement_is_prepared_once_and_executed_by_its_handle_then() {
        let typed = typed("SELECT abalance FROM pgbench_accounts WHERE aid = @P1", Some(&["int"]), 1);
        let mut statement = Statement::new(&typed, Mode::Prepared);
        let first = statement.encode_request(&[Datum::Int(5)], SESSION).unwrap().to_vec();
        assert!(holds(&first, "@P1 int") && holds(&first, "WHERE aid = @P1"));
        statement.execute_by_handle(77);
        let second = statement.encode_request(&[Datum::Int(6)], SESSION).unwrap().to_vec();
        assert!(!holds(&second, "@P1") && second.len() < 60);
        statement.forget_handle();
        assert_eq!(statement.encode_request(&[Datum::Int(5)], SESSION).unwrap(), first);
    }

    #[test]
    fn types_follow_from_values_where_the_server_has_not_said() {
        let mut statement = Statement::new(&typed("SELECT @P1, @P2", None, 2), Mode::Unprepared);
        let values = [Datum::Int(1), Datum::Text("a".into())];
        assert!(holds(statement.encode_request(&values, SESSION).unwrap(), "@P1 bigint, @P2 nvarchar(max)"));
        assert!(statement.encode_request(&values[..1], SESSION).is_err());
    }

    #[test]
    fn a_statement_without_parameters_is_a_batch() {
        let mut statement = Statement::new(&typed("COMMIT TRANSACTION", None, 0), Mode::Prepared);
        let bytes = statement.encode_request(&[], SESSION).unwrap();
        assert_eq!(bytes[0], 1);
        assert!(holds(bytes, "COMMIT TRANSACTION"));
    }

    #[test]
    fn few_and_many_parameters_are_written_alike() {
        let types = vec!["bigint"; 20];
        let mut statement = Statement::new(&typed("x", Some(&types), 20), Mode::Prepared);
        let bytes = statement.encode_request(&vec![Datum::Int(7); 20], SESSION).unwrap();
        let value = [0x26, 8, 8, 7, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(bytes.windows(11).filter(|window| *window == value).count(), 20);
    }
}

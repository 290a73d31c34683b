//! Order entry's procedures, compared with what étalon sent.

use workloads::order_entry::PROCEDURES;

/// Names étalon's procedures that the server holds with another text than étalon sent.
/// `body` finds in a statement that makes a procedure what the server keeps of it.
pub(crate) fn altered_procedures<'s>(
    held: impl IntoIterator<Item = [String; 2]>,
    sent: &'s [String],
    body: fn(&'s str) -> Option<&'s str>,
) -> Vec<String> {
    let altered = held.into_iter().filter(|[name, text]| {
        let own = PROCEDURES.iter().zip(sent).find(|(own, _)| *own == name);
        own.is_some_and(|(_, sent)| body(sent).map(str::trim) != Some(text.trim()))
    });
    altered.map(|[name, _]| format!("another text of procedure {name}")).collect()
}

/// Lists the names of étalon's procedures as SQL literals.
pub(crate) fn procedure_literals() -> String {
    PROCEDURES.map(|name| format!("'{name}'")).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_text_is_named() {
        fn body(text: &str) -> Option<&str> {
            text.split_once("AS ").map(|(_, body)| body)
        }
        let sent = PROCEDURES.map(|name| format!("CREATE PROCEDURE {name} AS one\n"));
        let held = [("enter_order", " one"), ("enter_payment", "two"), ("another", "three"), ("stock_level", "")];
        let held = held.map(|(name, text)| [name.to_owned(), text.to_owned()]);
        assert_eq!(
            altered_procedures(held, &sent, body),
            ["another text of procedure enter_payment", "another text of procedure stock_level"]
        );
    }
}

//! What is wrong in a `.smack` file, and where.

use super::token::Spot;

/// What is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {}, column {}: {message}", .spot.line, .spot.column)]
pub struct SmackError {
    pub spot: Spot,
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl SmackError {
    /// An error without a hint.
    pub(super) fn new(spot: Spot, message: impl Into<String>) -> SmackError {
        SmackError { spot, message: message.into(), hint: None }
    }

    /// The same with a hint.
    pub(super) fn hint(mut self, hint: impl Into<String>) -> SmackError {
        self.hint = Some(hint.into());
        self
    }

    /// The same with the name that was meant, if one is near, or else all that there are.
    pub(super) fn suggest<'a>(self, word: &str, known: impl IntoIterator<Item = &'a str>) -> SmackError {
        let known: Vec<&str> = known.into_iter().collect();
        match model::nearest(word, known.iter().copied()) {
            Some(near) => self.hint(format!("did you mean `{near}`?")),
            None if known.is_empty() => self,
            None => self.hint(format!("there are {}", known.join(", "))),
        }
    }
}

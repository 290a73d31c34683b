//! What is wrong in a `.smack` file, and where.

use super::token::Spot;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {}, column {}: {message}", .spot.line, .spot.column)]
pub struct SmackError {
    pub spot: Spot,
    pub message: String,
    pub hint: Option<String>,
}

impl SmackError {
    /// Makes an error at a position of the file, without a hint.
    pub(super) fn new(spot: Spot, message: impl Into<String>) -> SmackError {
        SmackError { spot, message: message.into(), hint: None }
    }

    /// Adds a hint to the error.
    pub(super) fn with_hint(mut self, hint: impl Into<String>) -> SmackError {
        self.hint = Some(hint.into());
        self
    }

    /// Adds a hint to the error: the nearest known name, or all of them.
    pub(super) fn with_suggestion<'a>(self, word: &str, known: impl IntoIterator<Item = &'a str>) -> SmackError {
        SmackError { hint: model::near::did_you_mean_or_list(word, known), ..self }
    }
}

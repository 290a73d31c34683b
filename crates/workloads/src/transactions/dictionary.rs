//! Dictionaries: lists of words that statements draw from.

use std::fmt::Write as _;
use std::sync::{Arc, OnceLock};

use super::random::Generator;

/// Words in one piece of memory, shared by everything that draws from them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WordList {
    text: String,
    ends: Vec<usize>,
    /// The first with one.
    backslash: OnceLock<Option<usize>>,
}

impl WordList {
    /// Number of words.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Word of an index, from 0; empty beyond the last.
    pub fn word_at(&self, index: usize) -> &str {
        let start = index.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or_default();
        self.ends.get(index).and_then(|end| self.text.get(start..*end)).unwrap_or_default()
    }

    /// The first word that has a backslash; searched for once.
    pub fn first_with_backslash(&self) -> Option<&str> {
        self.backslash
            .get_or_init(|| (0..self.len()).find(|index| self.word_at(*index).contains('\\')))
            .map(|index| self.word_at(index))
    }
}

impl<'a> FromIterator<&'a str> for WordList {
    fn from_iter<I: IntoIterator<Item = &'a str>>(words: I) -> WordList {
        let mut list = WordList::default();
        for word in words {
            list.text.push_str(word);
            list.ends.push(list.text.len());
        }
        list.text.shrink_to_fit();
        list.ends.shrink_to_fit();
        list
    }
}

/// How a [`Numbering`] writes its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Digits {
    /// `%d`
    Decimal,
    /// `%o`
    Octal,
    /// `%x`
    Hexadecimal,
    /// `%X`
    HexadecimalCapitals,
}

/// A word that is made from a number, as C's `printf` makes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbering {
    pub before: String,
    pub after: String,
    pub digits: Digits,
    pub width: usize,
    /// Whether it is filled up with zeros instead of blanks.
    pub fill: Fill,
}

/// What a number is filled up with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    BlanksBefore,
    BlanksAfter,
    Zeros,
}

impl Numbering {
    /// Appends a number, with its texts and its width, to a text.
    fn append_number(&self, number: u64, into: &mut String) {
        let digits = match self.digits {
            Digits::Decimal => number.to_string(),
            Digits::Octal => format!("{number:o}"),
            Digits::Hexadecimal => format!("{number:x}"),
            Digits::HexadecimalCapitals => format!("{number:X}"),
        };
        let width = self.width;
        into.push_str(&self.before);
        // Writing to a string does not fail.
        let _ = match self.fill {
            Fill::BlanksBefore => write!(into, "{digits:>width$}"),
            Fill::BlanksAfter => write!(into, "{digits:<width$}"),
            Fill::Zeros => write!(into, "{digits:0>width$}"),
        };
        into.push_str(&self.after);
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WordSource {
    /// Any of the list, each as likely as every other.
    AtRandom(Arc<WordList>),
    /// The list from its first word to its last, then again; each client by itself.
    InOrder(Arc<WordList>),
    /// A number that no draw has had before, of all clients of a run.
    Unique(Numbering),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dictionary {
    pub name: String,
    pub words: WordSource,
}

/// Which client draws, of how many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ClientIndex {
    pub(super) client: u64,
    pub(super) clients: u64,
}

impl Dictionary {
    /// Draws the client's next word, and appends it to a text; `drawn` counts the client's draws from this dictionary.
    pub(super) fn draw_word(&self, random: &mut Generator, drawn: &mut u64, place: ClientIndex, into: &mut String) {
        let count = *drawn;
        *drawn += 1;
        match &self.words {
            WordSource::AtRandom(list) => {
                let last = list.len().saturating_sub(1) as u64;
                into.push_str(list.word_at(random.up_to(last) as usize));
            }
            WordSource::InOrder(list) => into.push_str(list.word_at((count % list.len().max(1) as u64) as usize)),
            // The clients take turns, so that no two share a number and one alone has every one.
            WordSource::Unique(numbering) => numbering.append_number(place.client + count * place.clients, into),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(dictionary: &WordSource, place: ClientIndex, count: usize) -> Vec<String> {
        let dictionary = Dictionary { name: "d".to_owned(), words: dictionary.clone() };
        let (mut random, mut drawn) = (Generator::new(1), 0);
        (0..count)
            .map(|_| {
                let mut word = String::new();
                dictionary.draw_word(&mut random, &mut drawn, place, &mut word);
                word
            })
            .collect()
    }

    #[test]
    fn a_list_is_drawn_in_order_and_starts_again() {
        let list: Arc<WordList> = Arc::new(["a", "", "ccc"].into_iter().collect());
        assert_eq!((list.len(), list.word_at(2), list.word_at(3)), (3, "ccc", ""));
        assert_eq!(words(&WordSource::InOrder(list), ClientIndex { client: 1, clients: 2 }, 4), ["a", "", "ccc", "a"]);
    }

    #[test]
    fn every_word_is_drawn_about_as_often() {
        let list: Arc<WordList> = Arc::new(["a", "b", "c", "d"].into_iter().collect());
        let drawn = words(&WordSource::AtRandom(Arc::clone(&list)), ClientIndex::default(), 8_000);
        for word in (0..list.len()).map(|index| list.word_at(index)) {
            let count = drawn.iter().filter(|drawn| *drawn == word).count();
            assert!((1_800..2_200).contains(&count), "{word} came {count} times");
        }
    }

    #[test]
    fn no_two_clients_share_a_unique_word() {
        assert_eq!(words(&numbering(Fill::Zeros), of_two(0), 3), ["u000.", "u002.", "u004."]);
        assert_eq!(words(&numbering(Fill::BlanksBefore), of_two(1), 2), ["u  1.", "u  3."]);
        assert_eq!(words(&numbering(Fill::BlanksAfter), ClientIndex { client: 0, clients: 1 }, 2), ["u0  .", "u1  ."]);
    }

    fn of_two(client: u64) -> ClientIndex {
        ClientIndex { client, clients: 2 }
    }

    fn numbering(fill: Fill) -> WordSource {
        let (before, after) = ("u".to_owned(), ".".to_owned());
        WordSource::Unique(Numbering { before, after, digits: Digits::Decimal, width: 3, fill })
    }
}

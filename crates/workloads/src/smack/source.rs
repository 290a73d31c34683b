//! Where rows and words come from: a file next to the script, or `gen-data`.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use super::error::SmackError;
use super::gen_data::{GenData, GenDataError, MOST_BYTES};
use super::syntax::{SectionKind, SmackFile, SpottedText};
use crate::texts::Texts;
use crate::texts::sibling_path;
use crate::transactions::WordList;
use load::datum::Datum;

/// Identifies a text that is read or made once for all cases of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Origin {
    Made(GenData),
    File(PathBuf),
    /// A text that was sent, by its hash and its size.
    Sent(u64, usize),
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SourceLines {
    text: String,
    /// End of each line, without its line feed.
    ends: Vec<u32>,
    /// A hash of the text, or of how it is made, which is part of a data set's identity.
    pub(super) hash: u64,
    uneven: OnceLock<Option<Uneven>>,
}

/// A line that has not as many fields as the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Uneven {
    /// From 1.
    pub(super) line: usize,
    pub(super) fields: usize,
    pub(super) of_first: usize,
}

impl SourceLines {
    /// Makes the lines of a text, with the text's hash.
    fn new(text: String) -> SourceLines {
        let hash = fnv1a_64(text.as_bytes());
        SourceLines::with_hash(text, hash)
    }

    /// Generates the lines of a `gen-data` call, with the call's hash.
    ///
    /// Hashing millions of letters takes as long as making them.
    fn generate(by: &GenData) -> Result<SourceLines, GenDataError> {
        let hash = fnv1a_64(format!("gen-data\0{}\0{}", by.rows, by.format).as_bytes());
        Ok(SourceLines::with_hash(by.make_text()?, hash))
    }

    /// Splits a text into lines, under a hash that is known.
    fn with_hash(text: String, hash: u64) -> SourceLines {
        let mut ends: Vec<u32> = text.match_indices('\n').map(|(at, _)| at as u32).collect();
        if !text.is_empty() && !text.ends_with('\n') {
            ends.push(text.len() as u32);
        }
        SourceLines { hash, text, ends, uneven: OnceLock::new() }
    }

    /// Finds the first line that has not as many fields as the first; searched for once.
    pub(super) fn first_uneven(&self) -> Option<Uneven> {
        *self.uneven.get_or_init(|| {
            let of_first = field_count(self.line_at(0));
            let counts = (1..self.line_count()).map(|index| (index + 1, field_count(self.line_at(index))));
            let other = counts.into_iter().find(|(_, fields)| *fields != of_first);
            other.map(|(line, fields)| Uneven { line, fields, of_first })
        })
    }

    /// Number of lines.
    pub(super) fn line_count(&self) -> usize {
        self.ends.len()
    }

    /// Size of the text in bytes.
    pub(super) fn size_bytes(&self) -> u64 {
        self.text.len() as u64
    }

    /// Line of an index, from 0, without its line end; empty beyond the last.
    pub(super) fn line_at(&self, index: usize) -> &str {
        let start = index.checked_sub(1).and_then(|before| self.ends.get(before)).map_or(0, |end| *end as usize + 1);
        let line = self.ends.get(index).and_then(|end| self.text.get(start..*end as usize)).unwrap_or_default();
        line.strip_suffix('\r').unwrap_or(line)
    }

    /// Whether the last line has no line feed.
    pub(super) fn ends_in_midline(&self) -> bool {
        !self.text.is_empty() && !self.text.ends_with('\n')
    }
}

/// Computes a hash by FNV-1a, 64 bits.
///
/// <https://datatracker.ietf.org/doc/html/draft-eastlake-fnv>
pub(super) fn fnv1a_64(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// What is made already and still in use, by its origin.
struct Shared<K, V>(Mutex<Vec<(K, Weak<V>)>>);

impl<K: PartialEq, V> Shared<K, V> {
    const fn new() -> Shared<K, V> {
        Shared(Mutex::new(Vec::new()))
    }

    /// The value that is shared under a key, made if none is in use.
    fn get_or_make<E>(&self, key: K, make: impl FnOnce() -> Result<V, E>) -> Result<Arc<V>, E> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|(_, value)| value.strong_count() > 0);
        if let Some(value) = known.iter().find(|(other, _)| *other == key).and_then(|(_, value)| value.upgrade()) {
            return Ok(value);
        }
        let value = Arc::new(make()?);
        known.push((key, Arc::downgrade(&value)));
        Ok(value)
    }
}

static LINES: Shared<Origin, SourceLines> = Shared::new();
static WORDS: Shared<(u64, char, usize), WordList> = Shared::new();

pub(super) struct Sources<'f> {
    pub(super) file: &'f SmackFile,
    /// The script's file and where to read files next to it; none for a built-in script.
    pub(super) files: Option<(&'f str, &'f Texts)>,
}

impl Sources<'_> {
    /// Reads the lines of a file next to the script if it exists, else makes them by its table's `gen_data_file`.
    pub(super) fn lines_of_file(&self, name: &SpottedText) -> Result<Arc<SourceLines>, SmackError> {
        if let Some((script, texts)) = self.files.filter(|(script, texts)| texts.has_sibling(script, &name.text)) {
            return read_sibling_lines(script, &name.text, texts).map_err(|cause| {
                let place = sibling_path(script, &name.text);
                SmackError::new(name.spot, format!("cannot read {}: {cause}", place.display()))
            });
        }
        let command = self
            .file
            .sections_of_kind(SectionKind::Table)
            .find(|table| {
                table.value_of_key("data_file").is_some_and(|file| file.text == name.text)
                    && table.value_of_key("gen_data_file").is_some()
            })
            .and_then(|table| table.value_of_key("gen_data_file"));
        let Some(command) = command else {
            let place = self.files.map_or_else(
                || name.text.clone(),
                |(script, _)| sibling_path(script, &name.text).display().to_string(),
            );
            return Err(SmackError::new(name.spot, format!("there is no file {place}")).with_hint(
                "files are looked for beside the script; a table's `gen_data_file \"gen-data -n … -f …\"` makes its \
                 `data_file` if it is not there",
            ));
        };
        let wrong = |cause: &dyn std::fmt::Display| {
            SmackError::new(command.spot, cause.to_string())
                .with_hint(format!("write the rows to {} yourself, comma between fields, a row a line", name.text))
        };
        let made = GenData::parse_gen_data_command(&command.text).map_err(|cause| wrong(&cause))?;
        LINES.get_or_make(Origin::Made(made.clone()), || SourceLines::generate(&made)).map_err(|cause| wrong(&cause))
    }

    /// Takes every `step`-th line, each up to the delimiter, as a list of words.
    pub(super) fn first_words(&self, lines: &SourceLines, delimiter: char, step: usize) -> Arc<WordList> {
        let picked = (1..=lines.line_count() / step.max(1)).map(|number| lines.line_at(number * step.max(1) - 1));
        let made: Result<_, std::convert::Infallible> = WORDS.get_or_make((lines.hash, delimiter, step), || {
            Ok(picked.map(|line| line.split(delimiter).next().unwrap_or_default()).collect())
        });
        match made {
            Ok(list) => list,
        }
    }
}

/// Reads the bytes of a file next to the script.
fn read_sibling(script: &str, name: &str, texts: &Texts) -> Result<Vec<u8>, String> {
    texts.read_sibling(script, name).map_err(|error| error.to_string())
}

/// Reads the lines of a file next to the script; one of this host is read once for all cases, unless reads are noted.
fn read_sibling_lines(script: &str, name: &str, texts: &Texts) -> Result<Arc<SourceLines>, String> {
    let place = Origin::File(sibling_path(script, name));
    match texts {
        Texts::Files => LINES.get_or_make(place, || split_lines(read_sibling(script, name, texts)?)),
        Texts::Noting(_) => {
            let bytes = read_sibling(script, name, texts)?;
            LINES.get_or_make(place, || split_lines(bytes))
        }
        Texts::Sent(_) => {
            let bytes = read_sibling(script, name, texts)?;
            LINES.get_or_make(Origin::Sent(fnv1a_64(&bytes), bytes.len()), || split_lines(bytes))
        }
    }
}

/// Splits a file's bytes into lines; fails if they are too many, or no UTF-8.
fn split_lines(bytes: Vec<u8>) -> Result<SourceLines, String> {
    if bytes.len() > MOST_BYTES {
        return Err(format!("it is larger than {MOST_BYTES} bytes"));
    }
    String::from_utf8(bytes).map(SourceLines::new).map_err(|error| {
        let line = error.as_bytes()[..error.utf8_error().valid_up_to()].iter().filter(|byte| **byte == b'\n').count();
        format!("line {} is not UTF-8: convert the file, for instance with `iconv -f LATIN1 -t UTF-8`", line + 1)
    })
}

/// Number of fields in a line, counted without making them.
fn field_count(line: &str) -> usize {
    if !line.as_bytes().contains(&b'\\') {
        return 1 + count_commas(line);
    }
    // What follows a backslash is no comma, and no backslash either.
    let mut parts = line.split('\\');
    let mut count = 1 + parts.next().map_or(0, count_commas);
    while let Some(part) = parts.next() {
        count += match part.strip_prefix(|_: char| true) {
            Some(rest) => count_commas(rest),
            None => parts.next().map_or(0, count_commas),
        };
    }
    count
}

/// Number of commas in a text.
fn count_commas(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b',').count()
}

/// Splits a line into its fields as `LOAD DATA … FIELDS TERMINATED BY ','` and `COPY … DELIMITER ','` do.
///
/// `\N` is NULL, and a backslash takes the meaning from a comma.
pub(super) fn split_fields(line: &str, into: &mut Vec<Datum>) {
    if !line.contains('\\') {
        into.extend(line.split(',').map(|field| Datum::Text(field.to_owned().into())));
        return;
    }
    let mut field = String::new();
    let mut null = false;
    let mut push = |field: &mut String, null: &mut bool| {
        let text = std::mem::take(field);
        into.push(if std::mem::take(null) && text.is_empty() { Datum::Null } else { Datum::Text(text.into()) });
    };
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            ',' => push(&mut field, &mut null),
            '\\' => match chars.next() {
                Some('N') if field.is_empty() => null = true,
                Some('n') => field.push('\n'),
                Some('t') => field.push('\t'),
                Some('r') => field.push('\r'),
                Some('b') => field.push('\u{8}'),
                other => field.extend(other),
            },
            c => field.push(c),
        }
    }
    push(&mut field, &mut null);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_have_their_ends() {
        for (text, lines) in
            [("", vec![]), ("\n", vec![""]), ("a\r\n\nb", vec!["a", "", "b"]), ("a\nb\n", vec!["a", "b"])]
        {
            let read = SourceLines::new(text.to_owned());
            assert_eq!((0..read.line_count()).map(|line| read.line_at(line)).collect::<Vec<_>>(), lines, "{text:?}");
            assert_eq!(read.ends_in_midline(), text.ends_with('b'));
        }
    }

    #[test]
    fn fields_are_those_of_a_bulk_load() {
        assert_eq!(split("a,,b"), [text("a"), text(""), text("b")]);
        assert_eq!(split("\\N,a\\,b,\\\\,x\\ty"), [Datum::Null, text("a,b"), text("\\"), text("x\ty")]);
    }

    fn text(text: &str) -> Datum {
        Datum::Text(text.to_owned().into())
    }

    fn split(line: &str) -> Vec<Datum> {
        let mut row = Vec::new();
        split_fields(line, &mut row);
        row
    }

    proptest! {
        #[test]
        fn as_many_fields_are_counted_as_there_are(line in r"[a,é\\]{0,12}") {
            let mut row = Vec::new();
            split_fields(&line, &mut row);
            prop_assert_eq!(field_count(&line), row.len());
        }
    }

    #[test]
    fn the_first_uneven_line_is_found() {
        assert_eq!(uneven("a,b\nc,d\n"), None);
        assert_eq!(uneven("a,b\nc,d\ne\\,f\n"), Some(Uneven { line: 3, fields: 1, of_first: 2 }));
    }

    fn uneven(text: &str) -> Option<Uneven> {
        SourceLines::new(text.to_owned()).first_uneven()
    }

    #[test]
    fn what_is_in_use_is_made_once() {
        let shared: Shared<u8, String> = Shared::new();
        let make = |text: &str| shared.get_or_make::<()>(1, || Ok(text.to_owned())).unwrap();
        let first = make("a");
        assert!(Arc::ptr_eq(&first, &make("b")));
        drop(first);
        assert_eq!(*make("c"), "c");
    }
}

//! `gen-data`: rows of random text by a format, byte for byte as super-smack's own program makes them.
//!
//! A format has `%s` for letters, `%n` for the row's number from 1, `%d` for a random 31-bit number and `%%` for a
//! percent sign. A width or a range of widths goes before the letter, `%12-12s`. Oddities of the original are kept,
//! since other files would be other keys: letters are `a` to `y`; the upper end of a range is never reached unless
//! both ends are equal; a single number is a range from 0; a width of 0 or above 256 becomes 256.

use std::fmt::Write as _;

use super::glibc::Rand;

/// Letters of a text without a width.
const MOST_LETTERS: u32 = 256;
/// `z` is never reached.
const LETTERS: u32 = 25;
/// No real file has wider columns.
const WIDEST: u32 = 1_000;
/// Rows are kept in memory, and offsets into them in 32 bits.
pub(super) const MOST_BYTES: usize = 1 << 30;

/// A call of `gen-data`: how many rows of what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GenData {
    pub rows: u32,
    pub format: String,
}

/// Why rows cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GenDataError {
    #[error("étalon makes the rows itself, and only as `gen-data` does; it does not run `{0}`")]
    OtherProgram(String),
    #[error("`gen-data` has no option `{0}`: there are `-n ROWS` and `-f FORMAT`")]
    Option(String),
    #[error("`gen-data` needs `-n ROWS`, at least 1, and `-f FORMAT`")]
    Incomplete,
    #[error("`{0}` in the format `{1}` is none of `%s`, `%n`, `%d`, `%%`")]
    Format(String, String),
    #[error("a width in the format `{0}` is above {WIDEST}")]
    Width(String),
    #[error("the rows are larger than {MOST_BYTES} bytes")]
    Size,
}

#[derive(Clone, Debug)]
enum Item {
    Text(String),
    Letters(u32, u32),
    Row(u32, u32),
    Number(u32, u32),
}

impl GenData {
    /// Parses the command line of a `gen_data_file`.
    pub fn parse_gen_data_command(command: &str) -> Result<GenData, GenDataError> {
        let mut words = shell_words(command).into_iter();
        let program = words.next().unwrap_or_default();
        if !matches!(program.rsplit(['/', '\\']).next(), Some("gen-data" | "gen-data.exe")) {
            return Err(GenDataError::OtherProgram(program));
        }
        let (mut rows, mut format) = (None, None);
        while let Some(word) = words.next() {
            let (option, glued) = match word.split_once('=') {
                Some((option, value)) if option.starts_with("--") => (option.to_owned(), Some(value.to_owned())),
                _ if word.starts_with("-n") || word.starts_with("-f") => {
                    let (option, value) = word.split_at(2);
                    (option.to_owned(), Some(value.to_owned()).filter(|value| !value.is_empty()))
                }
                _ => (word, None),
            };
            let target = match option.as_str() {
                "-n" | "--num-rows" => &mut rows,
                "-f" | "--format" => &mut format,
                _ => return Err(GenDataError::Option(option)),
            };
            *target = glued.or_else(|| words.next());
        }
        let rows = rows.and_then(|rows| rows.parse().ok()).filter(|rows| *rows > 0);
        rows.zip(format).map(|(rows, format)| GenData { rows, format }).ok_or(GenDataError::Incomplete)
    }

    /// Makes the text that super-smack's `gen-data` makes.
    pub fn make_text(&self) -> Result<String, GenDataError> {
        let items = parse_items(&self.format)?;
        let mut rand = Rand::unseeded();
        let mut text = String::new();
        for row in 1..=self.rows {
            for item in &items {
                item.append_to(row, &mut rand, &mut text);
            }
            text.push('\n');
            if text.len() > MOST_BYTES {
                return Err(GenDataError::Size);
            }
        }
        Ok(text)
    }
}

impl Item {
    /// Appends the item's text for a row, with numbers drawn from `rand`.
    fn append_to(&self, row: u32, rand: &mut Rand, text: &mut String) {
        // Writing to a string does not fail.
        let _ = match *self {
            Item::Text(ref own) => text.write_str(own),
            Item::Letters(least, most) => {
                let width = match draw_width(least, most, rand) {
                    0 => MOST_LETTERS,
                    width => width.min(MOST_LETTERS),
                };
                let mut letters = [0; MOST_LETTERS as usize];
                let letters = &mut letters[..width as usize];
                letters.fill_with(|| b'a' + (rand.next_rand() % LETTERS) as u8);
                text.write_str(std::str::from_utf8(letters).unwrap_or_default())
            }
            Item::Row(least, most) => {
                let width = draw_width(least, most, rand) as usize;
                write!(text, "{row:width$}")
            }
            Item::Number(least, most) => {
                let width = draw_width(least, most, rand) as usize;
                let number = rand.next_rand();
                write!(text, "{number:width$}")
            }
        };
    }
}

/// Draws a width from a range, whose upper end is never reached unless both ends are equal.
fn draw_width(least: u32, most: u32, rand: &mut Rand) -> u32 {
    if most == 0 || most == least { least } else { least + rand.next_rand() % most.abs_diff(least) }
}

/// Splits a format into texts and items such as `%12-12s`.
fn parse_items(format: &str) -> Result<Vec<Item>, GenDataError> {
    let mut items = Vec::new();
    let mut plain = String::new();
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            plain.push(c);
            continue;
        }
        let (mut least, mut most) = (0u32, 0u32);
        let mut seen = "%".to_owned();
        let item = loop {
            let next = chars.next();
            seen.extend(next);
            match next {
                Some('%') => break Item::Text("%".to_owned()),
                Some('-') => (least, most) = (most, 0),
                Some('s') => break Item::Letters(least, most),
                Some('n') => break Item::Row(least, most),
                Some('d') => break Item::Number(least, most),
                Some(digit @ '0'..='9') => most = most * 10 + (digit as u32 - '0' as u32),
                _ => return Err(GenDataError::Format(seen, format.to_owned())),
            }
            if most > WIDEST {
                return Err(GenDataError::Width(format.to_owned()));
            }
        };
        items.push(Item::Text(std::mem::take(&mut plain)));
        items.push(item);
    }
    items.push(Item::Text(plain));
    Ok(items)
}

/// Splits a command line into words as a shell does, with both kinds of quotes and no expansion.
fn shell_words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut word, mut quote) = (None::<String>, None::<char>);
    for c in command.chars() {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            ('"' | '\'', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make(rows: u32, format: &str) -> Result<String, GenDataError> {
        GenData { rows, format: format.to_owned() }.make_text()
    }

    #[test]
    fn the_stock_file_is_the_original_s() {
        let stock = GenData::parse_gen_data_command("gen-data -n 90000 -f %12-12s%n,%25-25s,%n,%d").unwrap();
        let text = stock.make_text().unwrap();
        assert_eq!((text.len(), text.lines().count()), (5_421_337, 90_000));
        // Measured on the original program's output, glibc 2.36.
        let fnv =
            text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
        assert_eq!(fnv, 0x16c1_417b_8c7b_3a40);
        assert!(!text.contains('z'));
    }

    #[test]
    fn formats_mean_what_the_original_makes_of_them() {
        assert_eq!(make(2, "%n;100%%").unwrap(), "1;100%\n2;100%\n");
        assert_eq!(make(1, "%5-5n|").unwrap(), "    1|\n");
        let mixed = "lcps|719885386|yvmcpjnbpbwl\nsrehf|233665123|kecwitrsglrex\ntjm|1973594324|unbqfgxmuvgfaj\n";
        assert_eq!(make(3, "%3-6s|%4d|%12-9s").unwrap(), mixed);
        assert_eq!(make(1, "%s").unwrap().len(), 257);
        assert_eq!(make(1, "%300-300s").unwrap().len(), 257);
        let ranges: Vec<usize> = make(200, "%3-6s").unwrap().lines().map(str::len).collect();
        assert_eq!((ranges.iter().min(), ranges.iter().max()), (Some(&3), Some(&5)));
        assert!(matches!(make(1, "%x"), Err(GenDataError::Format(at, _)) if at == "%x"));
        assert!(matches!(make(1, "a%12"), Err(GenDataError::Format(..))));
        assert!(matches!(make(1, "%99999999999s"), Err(GenDataError::Width(_))));
    }

    #[test]
    fn command_lines_are_read_as_a_shell_reads_them() {
        let expected = GenData { rows: 5, format: "%n, %d".to_owned() };
        for command in
            ["gen-data -n 5 -f '%n, %d'", "./gen-data -n5 -f\"%n, %d\"", "/x/gen-data --format='%n, %d' --num-rows 5"]
        {
            assert_eq!(GenData::parse_gen_data_command(command), Ok(expected.clone()), "{command}");
        }
        assert_eq!(GenData::parse_gen_data_command("perl -e 1"), Err(GenDataError::OtherProgram("perl".to_owned())));
        assert_eq!(GenData::parse_gen_data_command("gen-data -x"), Err(GenDataError::Option("-x".to_owned())));
        for command in ["gen-data -n 5", "gen-data -n 0 -f x", "gen-data -f x", "gen-data -n x -f y"] {
            assert_eq!(GenData::parse_gen_data_command(command), Err(GenDataError::Incomplete), "{command}");
        }
    }
}

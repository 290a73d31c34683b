//! How values are drawn, by the specification's clauses 2.1.6 and 4.3.2.

use load::datum::Datum;
use load::rng::Rng;

/// The digits of a customer's last name (clause 4.3.2.3).
const SYLLABLES: [&str; 10] = ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];
const LETTERS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// Last names that there are.
pub const NAMES: i64 = 1_000;

/// A range that is drawn from unevenly: `a` is the constant for its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uneven {
    pub a: i64,
    pub c: i64,
    pub least: i64,
    pub most: i64,
}

impl Uneven {
    /// Draws a value by the specification's uneven distribution NURand (clause 2.1.6).
    pub fn draw_value(self, rng: &mut Rng) -> i64 {
        let Uneven { a, c, least, most } = self;
        ((rng.int_between(0, a) | rng.int_between(least, most)) + c) % (most - least + 1) + least
    }

    /// Computes the share of draws that each value gets.
    ///
    /// By the pairs whose bits come to it; `a` is one less than a power of two. Of two numbers below that power 3 pairs to
    /// the power of its bits come to a value; where the upper number ends within such a block, those of its numbers that
    /// have no other bit are counted.
    pub fn value_shares(self) -> Vec<f64> {
        let Uneven { a, c, least, most } = self;
        let count = most - least + 1;
        let mut pairs = vec![0.0; count as usize];
        for block in (0..=most).step_by(a as usize + 1) {
            let (first, last) = ((least - block).max(0), (most - block).min(a));
            for low in 0..=a {
                let mut ways = 0.0;
                if (first, last) == (0, a) {
                    ways = 3.0_f64.powi(low.count_ones() as i32);
                } else {
                    // All numbers whose bits are among those of `low`.
                    let mut part = low;
                    loop {
                        if (first..=last).contains(&part) {
                            ways += 2.0_f64.powi(part.count_ones() as i32);
                        }
                        if part == 0 {
                            break;
                        }
                        part = (part - 1) & low;
                    }
                }
                pairs[((block + low + c) % count) as usize] += ways;
            }
        }
        let all = (a + 1) as f64 * count as f64;
        pairs.into_iter().map(|ways| ways / all).collect()
    }
}

/// The constants C of one load or one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constants {
    pub last_name: i64,
    pub customer: i64,
    pub item: i64,
}

impl Constants {
    /// Drawn once, like those of a run: neither alters the performance, and all runs have the same popular items.
    pub const OF_LOAD: Constants = Constants { last_name: 130, customer: 0, item: 0 };
    pub const OF_RUN: Constants = Constants { last_name: 58, customer: 611, item: 4_729 };
}

/// Lest the popular names be those with most customers (clause 2.1.6.1).
const _: () = assert!(is_apart(Constants::OF_RUN.last_name, Constants::OF_LOAD.last_name));

/// Tests whether two constants differ as the specification asks (clause 2.1.6.1).
const fn is_apart(run: i64, load: i64) -> bool {
    let distance = (run - load).abs();
    distance >= 65 && distance <= 119 && distance != 96 && distance != 112
}

/// Composes the last name of a number, 0 to 999, of three syllables.
pub fn last_name(number: i64) -> String {
    format!("{}{}{}", syllable(number, 100), syllable(number, 10), syllable(number, 1))
}

/// The syllable of a number's digit at this place.
fn syllable(number: i64, place: i64) -> &'static str {
    SYLLABLES[(number / place % 10) as usize]
}

/// Computes a number of two digits from a name's first and last syllable; 0 for a text that is no name.
///
/// Tables can compute it, too: see [`name_mark_sql`].
pub fn name_mark(name: &str) -> u64 {
    let bytes = name.as_bytes();
    let [begin, end] = [bytes.first(), bytes.last()];
    let first = SYLLABLES.iter().position(|one| one.as_bytes().first() == begin && name.starts_with(one));
    let last = SYLLABLES.iter().position(|one| one.as_bytes().last() == end && name.ends_with(one));
    (10 * first.unwrap_or_default() + last.unwrap_or_default()) as u64
}

/// SQL that computes [`name_mark`] of a column.
pub fn name_mark_sql(column: &str) -> String {
    format!("({} + {})", syllable_cases_sql(column, "", "%", 10), syllable_cases_sql(column, "%", "", 1))
}

/// SQL that turns a syllable of a column back to its digit, times `weight`.
fn syllable_cases_sql(column: &str, before: &str, after: &str, weight: usize) -> String {
    let each = SYLLABLES.iter().enumerate();
    let each =
        each.map(|(digit, syllable)| format!("WHEN {column} LIKE '{before}{syllable}{after}' THEN {}", digit * weight));
    format!("CASE {} ELSE 0 END", each.collect::<Vec<_>>().join(" "))
}

/// Draws a text of `length` letters and digits.
pub fn random_letters(rng: &mut Rng, length: i64) -> String {
    let mut text = String::with_capacity(length as usize);
    let mut left = length;
    while left > 0 {
        for byte in rng.next_u64().to_be_bytes().into_iter().take(left as usize) {
            text.push(char::from(LETTERS[usize::from(byte) * LETTERS.len() / 256]));
        }
        left -= 8;
    }
    text
}

/// A random a-string of `least` to `most` characters (clause 4.3.2.2).
pub fn random_text(rng: &mut Rng, least: i64, most: i64) -> Datum {
    let length = rng.int_between(least, most);
    Datum::Text(random_letters(rng, length).into())
}

/// Draws a state: two letters (clause 4.3.3.1).
pub fn random_state(rng: &mut Rng) -> Datum {
    let mut letter = || char::from(b'A' + rng.int_between(0, 25) as u8);
    Datum::Text([letter(), letter()].iter().collect::<String>().into())
}

/// Draws a text of `count` digits.
pub fn random_digits(rng: &mut Rng, count: u32) -> String {
    (0..count).map(|_| char::from(b'0' + rng.int_between(0, 9) as u8)).collect()
}

/// Draws a zip code (clause 4.3.2.7).
pub fn random_zip(rng: &mut Rng) -> Datum {
    Datum::Text(format!("{}11111", random_digits(rng, 4)).into())
}

/// Draws an item's data, of which a tenth hold the word `ORIGINAL` that distinguishes brands.
pub fn item_data(rng: &mut Rng) -> Datum {
    const ORIGINAL: &str = "ORIGINAL";
    let length = rng.int_between(26, 50);
    let mut data = random_letters(rng, length);
    if rng.int_between(1, 10) == 1 {
        let at = rng.int_between(0, length - ORIGINAL.len() as i64) as usize;
        data.replace_range(at..at + ORIGINAL.len(), ORIGINAL);
    }
    Datum::Text(data.into())
}

/// Makes an amount of money, or a share, from its number of smallest units.
pub fn decimal_datum(units: i64, units_of_one: i64) -> Datum {
    Datum::Double(units as f64 / units_of_one as f64)
}

/// Computes the position of `index` in a random order of `0..count`, which `key` chooses.
///
/// A cipher on a range of a power of four is walked until it meets the range (Black and Rogaway, "Ciphers with
/// Arbitrary Finite Domains", 2002).
pub fn shuffled_index(key: u64, count: u64, index: u64) -> u64 {
    let half_bits = (64 - count.saturating_sub(1).leading_zeros()).div_ceil(2).max(1);
    let mask = (1 << half_bits) - 1;
    let mut at = index;
    loop {
        let (mut left, mut right) = (at >> half_bits, at & mask);
        for round in 0..4 {
            let mixed = Rng::of_transaction(key, round, right).next_u64() & mask;
            (left, right) = (right, left ^ mixed);
        }
        at = left << half_bits | right;
        if at < count {
            return at;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_names_are_the_specification_s_examples() {
        assert_eq!(last_name(371), "PRICALLYOUGHT");
        assert_eq!(last_name(40), "BARPRESBAR");
        assert_eq!(last_name(0), "BARBARBAR");
    }

    /// All values of both draws, counted.
    fn expected(range: Uneven) -> Vec<f64> {
        let mut counts = vec![0.0; (range.most - range.least + 1) as usize];
        for left in 0..=range.a {
            for right in range.least..=range.most {
                counts[(((left | right) + range.c) % (range.most - range.least + 1)) as usize] += 1.0;
            }
        }
        let all: f64 = counts.iter().sum();
        counts.into_iter().map(|count| count / all).collect()
    }

    /// χ² over its degrees of freedom, by a number of draws.
    fn misfit(range: Uneven, expected: &[f64], draws: usize) -> f64 {
        let mut rng = Rng::new(11);
        let mut counts = vec![0_u64; expected.len()];
        for _ in 0..draws {
            counts[(range.draw_value(&mut rng) - range.least) as usize] += 1;
        }
        let chi2: f64 =
            counts.iter().zip(expected).filter(|(_, share)| **share > 0.0).fold(0.0, |sum, (count, share)| {
                let mean = share * draws as f64;
                sum + (*count as f64 - mean).powi(2) / mean
            });
        let possible = expected.iter().filter(|share| **share > 0.0).count();
        chi2 / (possible - 1) as f64
    }

    /// Mean 1; its standard deviation is the root of 2 over the degrees, 0.045 at 999.
    #[test]
    fn uneven_draws_have_the_formula_s_distribution() {
        let names = Uneven { a: 255, c: 33, least: 0, most: 999 };
        let customers = Uneven { a: 1_023, c: 5, least: 1, most: 3_000 };
        for range in [names, customers] {
            let shares = expected(range);
            let known = range.value_shares();
            assert!(known.iter().zip(&shares).all(|(known, share)| (known - share).abs() < 1e-12), "{range:?}");
            let found = misfit(range, &shares, 10_000_000);
            assert!((0.8..1.25).contains(&found), "{range:?}: {found}");
            // Another constant, or another bound, is another distribution.
            for wrong in [Uneven { c: range.c + 1, ..range }, Uneven { a: range.a / 2, ..range }] {
                let found = misfit(wrong, &shares, 10_000_000);
                assert!(found > 1.5, "{wrong:?}: {found}");
            }
        }
    }

    #[test]
    fn the_shares_of_items_add_up() {
        let shares = Uneven { a: 8_191, c: 5_000, least: 1, most: 100_000 }.value_shares();
        assert_eq!(shares.len(), 100_000);
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn constants_of_names_keep_their_distance() {
        let apart: Vec<i64> = (0..=255).filter(|run| is_apart(*run, 130)).map(|run| (run - 130_i64).abs()).collect();
        assert!(apart.iter().all(|distance| (65..=119).contains(distance) && ![96, 112].contains(distance)));
        assert_eq!(apart.len(), 2 * 55 - 4);
    }

    #[test]
    fn a_shuffle_meets_everything_once() {
        for count in [1, 2, 10, 64, 3_000] {
            let mut met: Vec<u64> = (0..count).map(|index| shuffled_index(9, count, index)).collect();
            let in_order = met.windows(2).filter(|pair| pair[0] < pair[1]).count();
            assert!(count < 64 || (count / 3..2 * count / 3).contains(&(in_order as u64)), "{count}: {in_order}");
            met.sort_unstable();
            assert!(met.into_iter().eq(0..count), "{count}");
        }
    }

    #[test]
    fn a_tenth_of_the_items_are_original() {
        let mut rng = Rng::new(3);
        let original = (0..10_000)
            .filter(
                |_| matches!(item_data(&mut rng), Datum::Text(text) if text.contains("ORIGINAL") && text.len() <= 50),
            )
            .count();
        assert!((900..1_100).contains(&original), "{original}");
    }
}

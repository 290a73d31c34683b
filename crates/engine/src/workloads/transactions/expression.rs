//! Whole-number expressions of `\set`, compiled to a tree over numbered slots.

use crate::rng::Rng;

/// An expression; variables are slots of the client's memory.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expression {
    Number(i64),
    Slot(usize),
    Negate(Box<Expression>),
    Binary(Operator, Box<Expression>, Box<Expression>),
    Random(Box<Expression>, Box<Expression>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

impl Expression {
    /// The value. Overflow and division by zero give no value: the statement then gets NULL, which no server takes for
    /// a key, so the error shows at the first transaction.
    pub(super) fn value(&self, slots: &[i64], rng: &mut Rng) -> Option<i64> {
        match self {
            Expression::Number(n) => Some(*n),
            Expression::Slot(slot) => slots.get(*slot).copied(),
            Expression::Negate(inner) => inner.value(slots, rng)?.checked_neg(),
            Expression::Binary(operator, left, right) => {
                let (left, right) = (left.value(slots, rng)?, right.value(slots, rng)?);
                match operator {
                    Operator::Add => left.checked_add(right),
                    Operator::Subtract => left.checked_sub(right),
                    Operator::Multiply => left.checked_mul(right),
                    Operator::Divide => left.checked_div(right),
                    Operator::Modulo => left.checked_rem(right),
                }
            }
            Expression::Random(lo, hi) => {
                let (lo, hi) = (lo.value(slots, rng)?, hi.value(slots, rng)?);
                (lo <= hi).then(|| rng.int_between(lo, hi))
            }
        }
    }
}

/// Parses an expression. `slot` gives a variable's slot, if it has been set.
///
/// # Errors
/// What was expected, with the byte offset in `text`.
pub(super) fn parse(text: &str, slot: &dyn Fn(&str) -> Option<usize>) -> Result<Expression, (usize, String)> {
    let mut parser = Parser { text, at: 0, slot, depth: 0 };
    let expression = parser.sum()?;
    parser.blanks();
    if parser.at < text.len() {
        return Err((parser.at, format!("`{}` is not expected here", &text[parser.at..])));
    }
    Ok(expression)
}

/// Parentheses deeper than this are refused rather than followed to the end of the stack.
const MAX_DEPTH: u32 = 100;

struct Parser<'a> {
    text: &'a str,
    at: usize,
    slot: &'a dyn Fn(&str) -> Option<usize>,
    depth: u32,
}

type Parsed = Result<Expression, (usize, String)>;

impl Parser<'_> {
    fn blanks(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    /// Takes one of the characters, if it comes next.
    fn take(&mut self, characters: &[char]) -> Option<char> {
        self.blanks();
        let next = self.text[self.at..].chars().next().filter(|c| characters.contains(c))?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn expect(&mut self, character: char) -> Result<(), (usize, String)> {
        self.take(&[character]).map(|_| ()).ok_or_else(|| (self.at, format!("`{character}` is expected here")))
    }

    fn word(&mut self) -> &str {
        let rest = &self.text[self.at..];
        let length = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    fn sum(&mut self) -> Parsed {
        let mut left = self.product()?;
        while let Some(sign) = self.take(&['+', '-']) {
            let operator = if sign == '+' { Operator::Add } else { Operator::Subtract };
            left = Expression::Binary(operator, Box::new(left), Box::new(self.product()?));
        }
        Ok(left)
    }

    fn product(&mut self) -> Parsed {
        let mut left = self.factor()?;
        while let Some(sign) = self.take(&['*', '/', '%']) {
            let operator = match sign {
                '*' => Operator::Multiply,
                '/' => Operator::Divide,
                _ => Operator::Modulo,
            };
            left = Expression::Binary(operator, Box::new(left), Box::new(self.factor()?));
        }
        Ok(left)
    }

    fn factor(&mut self) -> Parsed {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err((self.at, "the expression is nested too deeply".to_owned()));
        }
        let factor = self.factor_within_depth();
        self.depth -= 1;
        factor
    }

    fn factor_within_depth(&mut self) -> Parsed {
        if self.take(&['-']).is_some() {
            return Ok(Expression::Negate(Box::new(self.factor()?)));
        }
        if self.take(&['(']).is_some() {
            let inner = self.sum()?;
            self.expect(')')?;
            return Ok(inner);
        }
        let start = self.at;
        if self.take(&[':']).is_some() {
            let name = self.word().to_owned();
            let slot = (self.slot)(&name).ok_or_else(|| (start, format!("the variable `:{name}` has not been set")))?;
            return Ok(Expression::Slot(slot));
        }
        self.blanks();
        let start = self.at;
        let word = self.word().to_owned();
        if word.eq_ignore_ascii_case("random") {
            self.expect('(')?;
            let lo = self.sum()?;
            self.expect(',')?;
            let hi = self.sum()?;
            self.expect(')')?;
            return Ok(Expression::Random(Box::new(lo), Box::new(hi)));
        }
        let unknown = if word.is_empty() {
            "a number, a `:variable` or `random(…)` is expected here".to_owned()
        } else {
            format!("`{word}` is neither a whole number nor a known function; known is random(low, high)")
        };
        word.parse().map(Expression::Number).map_err(|_| (start, unknown))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Option<i64> {
        parse(text, &|name| (name == "scale").then_some(0)).unwrap().value(&[3], &mut Rng::new(1))
    }

    #[test]
    fn arithmetic_has_its_usual_precedence() {
        assert_eq!(value("1 + 2 * :scale - -4"), Some(11));
        assert_eq!(value("(1 + 2) * :scale % 4"), Some(1));
        assert_eq!(value("7 / -2"), Some(-3));
        assert_eq!(value("9223372036854775807 + 1"), None);
        assert_eq!(value("1 / 0"), None);
    }

    #[test]
    fn random_is_inclusive() {
        for _ in 0..100 {
            assert!((-1..=1).contains(&value("random(-1, :scale - 2)").unwrap()));
        }
    }

    #[test]
    fn errors_say_where_and_what() {
        fn error(text: &str) -> (usize, String) {
            parse(text, &|_| None).unwrap_err()
        }
        assert_eq!(error("1 +"), (3, "a number, a `:variable` or `random(…)` is expected here".to_owned()));
        assert_eq!(error("random(1 2)").0, 9);
        assert_eq!(error("1 + :aid"), (4, "the variable `:aid` has not been set".to_owned()));
        assert!(error("zipf(1)").1.contains("random(low, high)"));
        assert!(error(&"(".repeat(100_000)).1.contains("nested too deeply"));
        assert!(error("1 2").1.contains("`2` is not expected"));
    }
}

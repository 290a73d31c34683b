//! How a column was computed from others: `stall_ms / (1 + reads)`.

use std::collections::BTreeSet;

/// Names and numbers with `+ - * /` and brackets.
#[derive(Clone, Debug, PartialEq)]
pub struct FigureExpression {
    text: String,
    root: Node,
}

#[derive(Clone, Debug, PartialEq)]
enum Node {
    Number(f64),
    Name(String),
    /// Operands and signs from left to right: as deep as its brackets, however long.
    Chain(Box<Node>, Vec<(char, Node)>),
}

/// Deepest nesting of brackets.
const MAX_DEPTH: u32 = 32;

struct Parser<'a> {
    rest: &'a str,
    depth: u32,
}

impl FigureExpression {
    /// Parses a formula.
    pub fn parse(text: &str) -> Result<FigureExpression, String> {
        let mut parser = Parser { rest: text.trim(), depth: 0 };
        let root = parser.parse_sum()?;
        if parser.rest.is_empty() {
            Ok(FigureExpression { text: text.trim().to_owned(), root })
        } else {
            Err(format!("`{}` is not understood", formats::text::shorten(parser.rest)))
        }
    }

    /// The formula as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The names in the formula.
    pub fn names(&self) -> BTreeSet<&str> {
        let mut names = BTreeSet::new();
        self.root.collect_names(&mut names);
        names
    }

    /// Computes the formula from the values of its names.
    /// `None` if a name has no value or the result is not finite.
    pub fn value(&self, of: &dyn Fn(&str) -> Option<f64>) -> Option<f64> {
        self.root.value(of).filter(|value| value.is_finite())
    }
}

impl Node {
    /// Adds the names in a part of the formula to `names`.
    fn collect_names<'a>(&'a self, names: &mut BTreeSet<&'a str>) {
        match self {
            Node::Number(_) => {}
            Node::Name(name) => {
                names.insert(name);
            }
            Node::Chain(first, rest) => {
                first.collect_names(names);
                rest.iter().for_each(|(_, node)| node.collect_names(names));
            }
        }
    }

    /// Computes a part of the formula; `None` if a name in it has no value.
    fn value(&self, of: &dyn Fn(&str) -> Option<f64>) -> Option<f64> {
        match self {
            Node::Number(number) => Some(*number),
            Node::Name(name) => of(name),
            Node::Chain(first, rest) => rest.iter().try_fold(first.value(of)?, |left, (sign, node)| {
                let right = node.value(of)?;
                Some(match sign {
                    '+' => left + right,
                    '-' => left - right,
                    '*' => left * right,
                    _ => left / right,
                })
            }),
        }
    }
}

impl Parser<'_> {
    /// Parses products joined by `+` and `-`.
    fn parse_sum(&mut self) -> Result<Node, String> {
        self.parse_chain(&['+', '-'], Self::parse_product)
    }

    /// Parses factors joined by `*` and `/`.
    fn parse_product(&mut self) -> Result<Node, String> {
        self.parse_chain(&['*', '/'], Self::parse_factor)
    }

    /// Parses operands joined by one of these signs.
    fn parse_chain(&mut self, signs: &[char], operand: fn(&mut Self) -> Result<Node, String>) -> Result<Node, String> {
        let first = operand(self)?;
        let mut rest = Vec::new();
        while let Some(sign) = self.take_sign(signs) {
            rest.push((sign, operand(self)?));
        }
        Ok(if rest.is_empty() { first } else { Node::Chain(Box::new(first), rest) })
    }

    /// Takes one of these signs off the rest, if it is next.
    fn take_sign(&mut self, signs: &[char]) -> Option<char> {
        let sign = self.rest.chars().next().filter(|c| signs.contains(c))?;
        self.rest = self.rest[1..].trim_start();
        Some(sign)
    }

    /// Parses a number, a name or brackets.
    fn parse_factor(&mut self) -> Result<Node, String> {
        if self.take_sign(&['(']).is_some() {
            self.depth += 1;
            if self.depth > MAX_DEPTH {
                return Err("too many brackets".to_owned());
            }
            let node = self.parse_sum()?;
            self.depth -= 1;
            return match self.take_sign(&[')']) {
                Some(_) => Ok(node),
                None => Err("a bracket is not closed".to_owned()),
            };
        }
        let end = self.rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.')).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        if word.is_empty() {
            return Err("a name or a number is missing".to_owned());
        }
        self.rest = rest.trim_start();
        if !word.starts_with(|c: char| c.is_ascii_digit()) {
            return Ok(Node::Name(word.to_owned()));
        }
        formats::text::parse_number(word).map(Node::Number).ok_or_else(|| format!("`{word}` is no number"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_text_is_a_formula_or_is_refused(text in "([a-z]{1,2}|[0-9.]{1,4}|[-+*/() ]|é|1e9){0,20}") {
            if let Ok(formula) = FigureExpression::parse(&text) {
                prop_assert!(formula.value(&|name| Some(name.len() as f64)).is_none_or(f64::is_finite));
                prop_assert_eq!(FigureExpression::parse(formula.as_str()).unwrap(), formula);
            }
        }
    }

    #[test]
    fn precedence_and_brackets() {
        fn value(text: &str) -> Option<f64> {
            FigureExpression::parse(text).unwrap().value(&|name| (name == "reads").then_some(9.0))
        }
        assert_eq!((value("20 / (1 + reads)"), value("2+3*4-1")), (Some(2.0), Some(13.0)));
        assert_eq!((value("unknown"), value("1/0")), (None, None));
        assert_eq!(FigureExpression::parse("a/(b+a)").unwrap().names().into_iter().collect::<Vec<_>>(), ["a", "b"]);
        for wrong in ["", "1 +", "(1", "1 2", "1..2", "a ^ b"] {
            assert!(FigureExpression::parse(wrong).is_err(), "{wrong}");
        }
        assert!(FigureExpression::parse(&"(".repeat(100_000)).is_err());
    }

    #[test]
    fn a_formula_may_be_long() {
        let long = FigureExpression::parse(&["1"; 1_000_000].join("+")).unwrap();
        assert_eq!(long.clone().value(&|_| None), Some(1e6));
    }
}

//! Expressions, compiled to instructions for a stack: evaluating them neither recurses nor allocates.

use super::function::{self, Arity, Function, MAX_ARGUMENTS};
use super::random::Generator;
use super::tokens::{Keyword, ScriptToken, Wrong, split_tokens};
use super::value::{Fault, ScriptValue};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Instruction {
    Push(ScriptValue),
    Load(usize),
    Call {
        function: Function,
        arguments: usize,
    },
    /// `debug(x)`: shows the value on top and leaves it there.
    Debug,
    /// Goes on with the value if it is NULL or `unless`; drops it otherwise. The left side of `AND` and `OR`.
    Shortcut {
        unless: bool,
        distance: usize,
    },
    /// Leaves NULL or a boolean as it is, and refuses everything else. The right side of `AND` and `OR`.
    RequireBool,
    /// Drops the value and jumps if it is not true. Distances are relative, so that an expression can be moved as a
    /// whole.
    JumpUnless(usize),
    Jump(usize),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct ScriptExpression {
    code: Vec<Instruction>,
}

pub(super) trait ScriptVariables {
    /// Reads the variable in a slot; fails if it has no value.
    fn load(&self, slot: usize) -> Result<ScriptValue, Fault>;
    /// Shows a value that `debug` is called with.
    fn debug(&self, value: ScriptValue);
}

impl ScriptExpression {
    /// Computes constant parts of the expression once, instead of in every transaction.
    ///
    /// What fails is left, to fail where it is met.
    pub(super) fn fold_constants(&mut self, constant: impl Fn(usize) -> Option<ScriptValue>) {
        use Instruction::{Call, Jump, JumpUnless, Load, Push, Shortcut};
        // Their distances count instructions.
        if self.code.iter().any(|instruction| matches!(instruction, Shortcut { .. } | JumpUnless(_) | Jump(_))) {
            return;
        }
        let mut folded: Vec<Instruction> = Vec::with_capacity(self.code.len());
        for instruction in self.code.drain(..) {
            let known = match &instruction {
                Load(slot) => constant(*slot).map(|value| (0, value)),
                Call { function, arguments } if !function.is_random() => {
                    let last = folded.len().saturating_sub(*arguments);
                    let values: Option<Vec<ScriptValue>> = folded[last..]
                        .iter()
                        .map(|instruction| match instruction {
                            Push(value) => Some(*value),
                            _ => None,
                        })
                        .collect();
                    let values = values.filter(|values| values.len() == *arguments);
                    let value = values.and_then(|values| function.apply(&values, &mut Generator::new(0)).ok());
                    value.map(|value| (*arguments, value))
                }
                _ => None,
            };
            match known {
                Some((arguments, value)) => {
                    folded.truncate(folded.len() - arguments);
                    folded.push(Push(value));
                }
                None => folded.push(instruction),
            }
        }
        self.code = folded;
    }

    /// Evaluates the expression; `stack` is only borrowed for its memory.
    pub(super) fn evaluate(
        &self,
        scope: &impl ScriptVariables,
        random: &mut Generator,
        stack: &mut Vec<ScriptValue>,
    ) -> Result<ScriptValue, Fault> {
        stack.clear();
        let mut at = 0;
        while let Some(instruction) = self.code.get(at) {
            let here = at;
            at += 1;
            match instruction {
                Instruction::Push(value) => stack.push(*value),
                Instruction::Load(slot) => stack.push(scope.load(*slot)?),
                Instruction::Call { function, arguments } => {
                    let base = stack.len() - arguments;
                    let value = function.apply(&stack[base..], random)?;
                    stack.truncate(base);
                    stack.push(value);
                }
                Instruction::Debug => stack.last().into_iter().for_each(|value| scope.debug(*value)),
                Instruction::Shortcut { unless, distance } => match stack.last() {
                    Some(ScriptValue::Null) => at = here + distance,
                    Some(value) if value.to_bool()? == *unless => at = here + distance,
                    _ => {
                        stack.pop();
                    }
                },
                Instruction::RequireBool => match stack.last() {
                    Some(ScriptValue::Null) | None => {}
                    Some(value) => {
                        value.to_bool()?;
                    }
                },
                Instruction::JumpUnless(distance) => {
                    if !stack.pop().is_some_and(ScriptValue::is_true) {
                        at = here + distance;
                    }
                }
                Instruction::Jump(distance) => at = here + distance,
            }
        }
        Ok(stack.pop().unwrap_or(ScriptValue::Null))
    }
}

/// Deeper nesting is refused, to protect the stack.
const MAX_DEPTH: u32 = 100;

/// How tightly operators bind, loosest first.
mod binding {
    pub(super) const OR: u8 = 1;
    pub(super) const AND: u8 = 2;
    pub(super) const NOT: u8 = 3;
    pub(super) const IS: u8 = 4;
    pub(super) const COMPARISON: u8 = 5;
    pub(super) const BITS: u8 = 6;
    pub(super) const SUM: u8 = 7;
    pub(super) const PRODUCT: u8 = 8;
    pub(super) const UNARY: u8 = 9;
}

/// Parses an expression to instructions; `slot` gives the slot of a variable's name.
pub(super) fn parse(
    text: &str,
    slot: &mut dyn FnMut(&str, usize) -> Result<usize, Wrong>,
) -> Result<ScriptExpression, Wrong> {
    let mut parser = Parser { tokens: split_tokens(text)?, at: 0, slot, depth: 0, code: Vec::new() };
    parser.parse_expression(0)?;
    match parser.peek() {
        (_, ScriptToken::End) => Ok(ScriptExpression { code: parser.code }),
        (at, token) => Err((*at, format!("{} is not expected here", describe_token(token)))),
    }
}

struct Parser<'a> {
    tokens: Vec<(usize, ScriptToken)>,
    at: usize,
    slot: &'a mut dyn FnMut(&str, usize) -> Result<usize, Wrong>,
    depth: u32,
    code: Vec<Instruction>,
}

/// Words for a token, for a message.
fn describe_token(token: &ScriptToken) -> String {
    match token {
        ScriptToken::Int(n) => format!("`{n}`"),
        ScriptToken::IntMinimum => "`9223372036854775808`".to_owned(),
        ScriptToken::Double(x) => format!("`{x}`"),
        ScriptToken::Variable(name) => format!("`:{name}`"),
        ScriptToken::Name(name) => format!("`{name}`"),
        ScriptToken::Keyword(keyword) => format!("`{keyword:?}`").to_uppercase(),
        ScriptToken::Sign(sign) => format!("`{sign}`"),
        ScriptToken::End => "the end of the line".to_owned(),
    }
}

/// The function of an operator between two values, and how tightly it binds; `None` if it is none.
///
/// `a > b` is `b < a`, as in pgbench: the right side is evaluated first, which shows where both sides draw random
/// numbers.
fn binary_operator(sign: &str) -> Option<(Function, u8)> {
    use Function::*;
    Some(match sign {
        "<" | ">" => (Less, binding::COMPARISON),
        "<=" | ">=" => (LessOrEqual, binding::COMPARISON),
        "=" => (Equal, binding::COMPARISON),
        "<>" | "!=" => (NotEqual, binding::COMPARISON),
        "|" => (BitOr, binding::BITS),
        "&" => (BitAnd, binding::BITS),
        "#" => (BitXor, binding::BITS),
        "<<" => (ShiftLeft, binding::BITS),
        ">>" => (ShiftRight, binding::BITS),
        "+" => (Add, binding::SUM),
        "-" => (Subtract, binding::SUM),
        "*" => (Multiply, binding::PRODUCT),
        "/" => (Divide, binding::PRODUCT),
        "%" => (Modulo, binding::PRODUCT),
        _ => return None,
    })
}

impl Parser<'_> {
    /// The next token and its position.
    fn peek(&self) -> &(usize, ScriptToken) {
        // The last token is `End`, and nothing goes beyond it.
        &self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    /// Takes the next token if it is this one; true if it was.
    fn take_if(&mut self, token: &ScriptToken) -> bool {
        let found = self.peek().1 == *token;
        self.at += usize::from(found);
        found
    }

    /// Takes the next token if it is this keyword; true if it was.
    fn take_keyword_if(&mut self, keyword: Keyword) -> bool {
        self.take_if(&ScriptToken::Keyword(keyword))
    }

    /// Takes this token; fails if another one is next.
    fn expect_token(&mut self, token: &ScriptToken) -> Result<(), Wrong> {
        if self.take_if(token) {
            return Ok(());
        }
        let (at, found) = self.peek();
        Err((*at, format!("{} is expected here, not {}", describe_token(token), describe_token(found))))
    }

    /// Emits the call of a function.
    fn emit_call(&mut self, function: Function, arguments: usize) {
        self.code.push(Instruction::Call { function, arguments });
    }

    /// Points an earlier jump at the next instruction.
    fn land_jump(&mut self, jump: usize) {
        let to_here = self.code.len() - jump;
        match &mut self.code[jump] {
            Instruction::Shortcut { distance, .. }
            | Instruction::JumpUnless(distance)
            | Instruction::Jump(distance) => *distance = to_here,
            _ => {}
        }
    }

    /// Emits a jump whose end is not known yet; returns its index.
    fn emit_jump(&mut self, jump: Instruction) -> usize {
        self.code.push(jump);
        self.code.len() - 1
    }

    /// Parses a value and all operators behind it that bind at least as tightly as `least`.
    fn parse_expression(&mut self, least: u8) -> Result<(), Wrong> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err((self.peek().0, "the expression is nested too deeply".to_owned()));
        }
        let start = self.code.len();
        self.parse_prefix()?;
        let mut compared = false;
        loop {
            let (at, token) = self.peek().clone();
            let goes_on = match token {
                ScriptToken::Sign(sign) => match binary_operator(sign) {
                    Some((_, binding)) if binding < least => false,
                    Some((_, binding::COMPARISON)) if compared => {
                        return Err((
                            at,
                            format!("comparisons cannot be chained: put one side of `{sign}` in parentheses"),
                        ));
                    }
                    Some((function, binding)) => {
                        compared = binding == binding::COMPARISON;
                        self.at += 1;
                        let left = self.code.len() - start;
                        self.parse_expression(binding + 1)?;
                        if sign.starts_with('>') && binding == binding::COMPARISON {
                            self.code[start..].rotate_left(left);
                        }
                        self.emit_call(function, 2);
                        true
                    }
                    None => false,
                },
                ScriptToken::Keyword(keyword) => {
                    let suffixed = self.parse_suffix(keyword, least)?;
                    compared &= !suffixed;
                    suffixed
                }
                _ => false,
            };
            if !goes_on {
                self.depth -= 1;
                return Ok(());
            }
        }
    }

    /// Parses `AND`, `OR` or `IS` behind a value; false if the word is none of them or binds less tightly than `least`.
    fn parse_suffix(&mut self, keyword: Keyword, least: u8) -> Result<bool, Wrong> {
        let (binding, unless) = match keyword {
            Keyword::Or => (binding::OR, true),
            Keyword::And => (binding::AND, false),
            Keyword::Is | Keyword::IsNull | Keyword::NotNull => (binding::IS, false),
            _ => return Ok(false),
        };
        if binding < least {
            return Ok(false);
        }
        self.at += 1;
        if binding == binding::IS {
            self.parse_is(keyword)?;
            return Ok(true);
        }
        let shortcut = self.emit_jump(Instruction::Shortcut { unless, distance: 0 });
        self.parse_expression(binding + 1)?;
        self.code.push(Instruction::RequireBool);
        self.land_jump(shortcut);
        Ok(true)
    }

    /// Parses what stands after `IS` or is said by `NOTNULL` and the like.
    fn parse_is(&mut self, keyword: Keyword) -> Result<(), Wrong> {
        let negated = keyword == Keyword::NotNull || (keyword == Keyword::Is && self.take_keyword_if(Keyword::Not));
        let value = if keyword != Keyword::Is || self.take_keyword_if(Keyword::Null) {
            ScriptValue::Null
        } else if self.take_keyword_if(Keyword::True) {
            ScriptValue::Bool(true)
        } else if self.take_keyword_if(Keyword::False) {
            ScriptValue::Bool(false)
        } else {
            let (at, found) = self.peek();
            return Err((*at, format!("NULL, TRUE or FALSE is expected here, not {}", describe_token(found))));
        };
        self.code.push(Instruction::Push(value));
        self.emit_call(Function::Is, 2);
        if negated {
            self.emit_call(Function::Not, 1);
        }
        Ok(())
    }

    /// Parses a value with the signs before it.
    fn parse_prefix(&mut self) -> Result<(), Wrong> {
        let (at, token) = self.peek().clone();
        self.at += 1;
        match token {
            ScriptToken::Int(n) => self.code.push(Instruction::Push(ScriptValue::Int(n))),
            ScriptToken::Double(x) => self.code.push(Instruction::Push(ScriptValue::Double(x))),
            ScriptToken::Keyword(Keyword::Null) => self.code.push(Instruction::Push(ScriptValue::Null)),
            ScriptToken::Keyword(Keyword::True) => self.code.push(Instruction::Push(ScriptValue::Bool(true))),
            ScriptToken::Keyword(Keyword::False) => self.code.push(Instruction::Push(ScriptValue::Bool(false))),
            ScriptToken::Keyword(Keyword::Not) => {
                self.parse_expression(binding::NOT)?;
                self.emit_call(Function::Not, 1);
            }
            ScriptToken::Keyword(Keyword::Case) => self.parse_case()?,
            ScriptToken::Variable(name) => {
                let slot = (self.slot)(&name, at)?;
                self.code.push(Instruction::Load(slot));
            }
            ScriptToken::Name(name) => self.parse_call(&name, at)?,
            ScriptToken::Sign("(") => {
                self.parse_expression(0)?;
                self.expect_token(&ScriptToken::Sign(")"))?;
            }
            ScriptToken::Sign("+") => self.parse_expression(binding::UNARY)?,
            ScriptToken::Sign("-") if self.take_if(&ScriptToken::IntMinimum) => {
                self.code.push(Instruction::Push(ScriptValue::Int(i64::MIN)));
            }
            // As in pgbench, -x is 0 - x and ~x is -1 # x.
            ScriptToken::Sign("-") => {
                self.code.push(Instruction::Push(ScriptValue::Int(0)));
                self.parse_expression(binding::UNARY)?;
                self.emit_call(Function::Subtract, 2);
            }
            ScriptToken::Sign("~") => {
                self.code.push(Instruction::Push(ScriptValue::Int(-1)));
                self.parse_expression(binding::BITS + 1)?;
                self.emit_call(Function::BitXor, 2);
            }
            found => {
                self.at -= 1;
                let expected = "a number, a `:variable`, a function or `(` is expected here";
                return Err((at, format!("{expected}, not {}", describe_token(&found))));
            }
        }
        Ok(())
    }

    /// Parses `CASE` from its first `WHEN` to `END`.
    fn parse_case(&mut self) -> Result<(), Wrong> {
        self.expect_token(&ScriptToken::Keyword(Keyword::When))?;
        let mut ends = Vec::new();
        loop {
            self.parse_expression(0)?;
            self.expect_token(&ScriptToken::Keyword(Keyword::Then))?;
            let otherwise = self.emit_jump(Instruction::JumpUnless(0));
            self.parse_expression(0)?;
            ends.push(self.emit_jump(Instruction::Jump(0)));
            self.land_jump(otherwise);
            if !self.take_keyword_if(Keyword::When) {
                break;
            }
        }
        if self.take_keyword_if(Keyword::Else) {
            self.parse_expression(0)?;
        } else {
            self.code.push(Instruction::Push(ScriptValue::Null));
        }
        self.expect_token(&ScriptToken::Keyword(Keyword::End))?;
        for end in ends {
            self.land_jump(end);
        }
        Ok(())
    }

    /// Parses the arguments of the function of this name.
    fn parse_call(&mut self, name: &str, at: usize) -> Result<(), Wrong> {
        let Some((function, arity)) = function::find_function(name) else {
            return Err((at, format!("`{name}` is not a known function; known are {}", function::function_names())));
        };
        self.expect_token(&ScriptToken::Sign("("))?;
        let mut arguments = 0;
        if !self.take_if(&ScriptToken::Sign(")")) {
            loop {
                self.parse_expression(0)?;
                arguments += 1;
                if !self.take_if(&ScriptToken::Sign(",")) {
                    break;
                }
            }
            self.expect_token(&ScriptToken::Sign(")"))?;
        }
        if arguments > MAX_ARGUMENTS {
            return Err((at, format!("`{name}` has {arguments} arguments; at most {MAX_ARGUMENTS} are taken")));
        }
        let wrong = |takes: String| Err((at, format!("`{name}` takes {takes}, not {arguments}")));
        match arity {
            Arity::Exactly(n) if n != arguments => return wrong(format!("{n} arguments")),
            Arity::AtLeastOne if arguments == 0 => return wrong("at least 1 argument".to_owned()),
            Arity::Seeded(n) if n == arguments + 1 => {
                let slot = (self.slot)("default_seed", at)?;
                self.code.push(Instruction::Load(slot));
                arguments += 1;
            }
            Arity::Seeded(n) if n != arguments => return wrong(format!("{} or {n} arguments", n - 1)),
            _ => {}
        }
        if name.eq_ignore_ascii_case("debug") {
            self.code.push(Instruction::Debug);
        } else {
            self.emit_call(function, arguments);
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "tests/expression.rs"]
mod tests;

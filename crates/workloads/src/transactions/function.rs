//! The operators and functions of the script language on typed values.

use super::random::{Generator, hash_fnv1a, hash_murmur2, permute};
use super::value::{Fault, ScriptValue};

/// An operator or function whose arguments are all evaluated before it. `AND`, `OR` and `CASE` are jumps instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
    Not,
    Is,
    Pi,
    Abs,
    Int,
    Double,
    Sqrt,
    Ln,
    Exp,
    Power,
    Least,
    Greatest,
    Random,
    RandomExponential,
    RandomGaussian,
    RandomZipfian,
    Murmur2,
    Fnv1a,
    Permute,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arity {
    Exactly(usize),
    AtLeastOne,
    /// That number, and `:default_seed` after them if the last is left out.
    Seeded(usize),
}

const NAMED: [(&str, Function, Arity); 21] = [
    ("abs", Function::Abs, Arity::Exactly(1)),
    ("double", Function::Double, Arity::Exactly(1)),
    ("exp", Function::Exp, Arity::Exactly(1)),
    ("greatest", Function::Greatest, Arity::AtLeastOne),
    ("hash", Function::Murmur2, Arity::Seeded(2)),
    ("hash_fnv1a", Function::Fnv1a, Arity::Seeded(2)),
    ("hash_murmur2", Function::Murmur2, Arity::Seeded(2)),
    ("int", Function::Int, Arity::Exactly(1)),
    ("least", Function::Least, Arity::AtLeastOne),
    ("ln", Function::Ln, Arity::Exactly(1)),
    ("mod", Function::Modulo, Arity::Exactly(2)),
    ("permute", Function::Permute, Arity::Seeded(3)),
    ("pi", Function::Pi, Arity::Exactly(0)),
    ("pow", Function::Power, Arity::Exactly(2)),
    ("power", Function::Power, Arity::Exactly(2)),
    ("random", Function::Random, Arity::Exactly(2)),
    ("random_exponential", Function::RandomExponential, Arity::Exactly(3)),
    ("random_gaussian", Function::RandomGaussian, Arity::Exactly(3)),
    ("random_zipfian", Function::RandomZipfian, Arity::Exactly(3)),
    ("sqrt", Function::Sqrt, Arity::Exactly(1)),
    // `debug` is an instruction of its own, since it knows its place in the script.
    ("debug", Function::Abs, Arity::Exactly(1)),
];

/// Most arguments of one call, as in pgbench.
pub(super) const MAX_ARGUMENTS: usize = 16;

/// Finds a function by its name, in any case.
pub(super) fn find_function(name: &str) -> Option<(Function, Arity)> {
    NAMED.iter().find(|(known, ..)| known.eq_ignore_ascii_case(name)).map(|(_, function, arity)| (*function, *arity))
}

/// Names of all functions, sorted and separated by commas.
pub(super) fn function_names() -> String {
    let mut names: Vec<&str> = NAMED.iter().map(|(name, ..)| *name).collect();
    names.sort_unstable();
    names.join(", ")
}

impl Function {
    /// Whether the function draws random numbers, and so does not always give the same.
    pub(super) fn is_random(self) -> bool {
        matches!(
            self,
            Function::Random | Function::RandomExponential | Function::RandomGaussian | Function::RandomZipfian
        )
    }

    /// Computes an operator or function; the compiler has checked the number of arguments.
    pub(super) fn apply(self, arguments: &[ScriptValue], random: &mut Generator) -> Result<ScriptValue, Fault> {
        use Function::*;
        if self != Is && arguments.contains(&ScriptValue::Null) {
            return Ok(ScriptValue::Null);
        }
        match (self, arguments) {
            (Pi, _) => Ok(ScriptValue::Double(std::f64::consts::PI)),
            (Least | Greatest, _) => self.least_or_greatest(arguments),
            (Not, [x]) => Ok(ScriptValue::Bool(!x.to_bool()?)),
            (Is, [a, b]) => Ok(ScriptValue::Bool(a == b)),
            (Abs, [ScriptValue::Int(n)]) => Ok(ScriptValue::Int(n.wrapping_abs())),
            (Abs, [x]) => Ok(ScriptValue::Double(x.to_double()?.abs())),
            (Int, [x]) => Ok(ScriptValue::Int(x.to_int()?)),
            (Double, [x]) => Ok(ScriptValue::Double(x.to_double()?)),
            (Sqrt, [x]) => Ok(ScriptValue::Double(x.to_double()?.sqrt())),
            (Ln, [x]) => Ok(ScriptValue::Double(x.to_double()?.ln())),
            (Exp, [x]) => Ok(ScriptValue::Double(x.to_double()?.exp())),
            (Power, [a, b]) => Ok(ScriptValue::Double(a.to_double()?.powf(b.to_double()?))),
            (BitAnd | BitOr | BitXor | ShiftLeft | ShiftRight, [a, b]) => self.apply_bits(a.to_int()?, b.to_int()?),
            (Modulo, [a, b]) => self.apply_integers(a.to_int()?, b.to_int()?),
            (Murmur2, [x, seed]) => Ok(ScriptValue::Int(hash_murmur2(x.to_int()?, seed.to_int()? as u64))),
            (Fnv1a, [x, seed]) => Ok(ScriptValue::Int(hash_fnv1a(x.to_int()?, seed.to_int()? as u64))),
            (Permute, [x, size, seed]) => permute_value(x.to_int()?, size.to_int()?, seed.to_int()?),
            (Random | RandomExponential | RandomGaussian | RandomZipfian, _) => self.draw_random(arguments, random),
            (_, [a @ ScriptValue::Double(_), b] | [a, b @ ScriptValue::Double(_)]) => {
                self.apply_doubles(a.to_double()?, b.to_double()?)
            }
            (_, [a, b]) => self.apply_integers(a.to_int()?, b.to_int()?),
            // The compiler counts arguments; a wrong count cannot come here.
            _ => Ok(ScriptValue::Null),
        }
    }

    /// Computes an operator of whole numbers.
    fn apply_integers(self, a: i64, b: i64) -> Result<ScriptValue, Fault> {
        match self {
            Function::Add => checked_integer(a.checked_add(b), "add"),
            Function::Subtract => checked_integer(a.checked_sub(b), "sub"),
            Function::Multiply => checked_integer(a.checked_mul(b), "mul"),
            Function::Divide | Function::Modulo if b == 0 => Err(Fault::DivisionByZero),
            Function::Divide => checked_integer(a.checked_div(b), "div"),
            Function::Modulo => Ok(ScriptValue::Int(a.wrapping_rem(b))),
            Function::Equal => Ok(ScriptValue::Bool(a == b)),
            Function::NotEqual => Ok(ScriptValue::Bool(a != b)),
            Function::Less => Ok(ScriptValue::Bool(a < b)),
            Function::LessOrEqual => Ok(ScriptValue::Bool(a <= b)),
            _ => Ok(ScriptValue::Null),
        }
    }

    /// Computes an operator of floating-point numbers.
    fn apply_doubles(self, a: f64, b: f64) -> Result<ScriptValue, Fault> {
        Ok(match self {
            Function::Add => ScriptValue::Double(a + b),
            Function::Subtract => ScriptValue::Double(a - b),
            Function::Multiply => ScriptValue::Double(a * b),
            Function::Divide => ScriptValue::Double(a / b),
            Function::Equal => ScriptValue::Bool(a == b),
            Function::NotEqual => ScriptValue::Bool(a != b),
            Function::Less => ScriptValue::Bool(a < b),
            Function::LessOrEqual => ScriptValue::Bool(a <= b),
            _ => ScriptValue::Null,
        })
    }

    /// Computes an operator of bits; shifts take the distance modulo 64, as pgbench's processors do.
    fn apply_bits(self, a: i64, b: i64) -> Result<ScriptValue, Fault> {
        Ok(ScriptValue::Int(match self {
            Function::BitAnd => a & b,
            Function::BitOr => a | b,
            Function::BitXor => a ^ b,
            Function::ShiftLeft => a.wrapping_shl(b as u32),
            _ => a.wrapping_shr(b as u32),
        }))
    }

    /// Picks the least or the greatest argument.
    fn least_or_greatest(self, arguments: &[ScriptValue]) -> Result<ScriptValue, Fault> {
        let [first, rest @ ..] = arguments else { return Ok(ScriptValue::Null) };
        let least = self == Function::Least;
        if arguments.iter().any(|value| matches!(value, ScriptValue::Double(_))) {
            let mut extreme = first.to_double()?;
            for value in rest {
                let x = value.to_double()?;
                // Written out, since a NaN must fall as it does in C.
                let keep = if least { extreme < x } else { extreme > x };
                extreme = if keep { extreme } else { x };
            }
            return Ok(ScriptValue::Double(extreme));
        }
        let mut extreme = first.to_int()?;
        for value in rest {
            let n = value.to_int()?;
            extreme = if least { extreme.min(n) } else { extreme.max(n) };
        }
        Ok(ScriptValue::Int(extreme))
    }

    /// Draws a random number as the function's arguments say.
    fn draw_random(self, arguments: &[ScriptValue], random: &mut Generator) -> Result<ScriptValue, Fault> {
        let [lo, hi, rest @ ..] = arguments else { return Ok(ScriptValue::Null) };
        let (lo, hi) = (lo.to_int()?, hi.to_int()?);
        if lo > hi {
            return Err(Fault::EmptyRange);
        }
        if hi.checked_sub(lo).and_then(|range| range.checked_add(1)).is_none() {
            return Err(Fault::WideRange);
        }
        let [parameter, ..] = rest else { return Ok(ScriptValue::Int(random.uniform_between(lo, hi))) };
        let parameter = parameter.to_double()?;
        Ok(ScriptValue::Int(match self {
            Function::RandomGaussian if parameter < 2.0 => {
                return Err(Fault::Parameter(format!("gaussian parameter must be at least 2.0 (not {parameter})")));
            }
            Function::RandomGaussian => random.gaussian_between(lo, hi, parameter),
            Function::RandomZipfian if !(1.001..=1000.0).contains(&parameter) => {
                return Err(Fault::Parameter(format!(
                    "zipfian parameter must be in range [1.001, 1000] (not {parameter})"
                )));
            }
            Function::RandomZipfian => random.zipfian_between(lo, hi, parameter),
            _ if parameter <= 0.0 => {
                return Err(Fault::Parameter(format!(
                    "exponential parameter must be greater than zero (not {parameter})"
                )));
            }
            _ => random.exponential_between(lo, hi, parameter),
        }))
    }
}

/// Makes a value of a checked result, or the fault that it overflowed.
fn checked_integer(result: Option<i64>, what: &'static str) -> Result<ScriptValue, Fault> {
    result.map(ScriptValue::Int).ok_or(Fault::OutOfRange(what))
}

/// Permutes a number among `size`; fails if the size is not above 0.
fn permute_value(value: i64, size: i64, seed: i64) -> Result<ScriptValue, Fault> {
    if size <= 0 {
        return Err(Fault::Parameter("permute size parameter must be greater than zero".to_owned()));
    }
    Ok(ScriptValue::Int(permute(value, size, seed)))
}

use super::*;

struct Fixed;

impl ScriptVariables for Fixed {
    fn load(&self, slot: usize) -> Result<ScriptValue, Fault> {
        Ok([ScriptValue::Int(3), ScriptValue::Null, ScriptValue::Double(2.5), ScriptValue::Bool(true)][slot])
    }
    fn debug(&self, _: ScriptValue) {}
}

fn compiled(text: &str) -> Result<ScriptExpression, Wrong> {
    parse(text, &mut |name, at| {
        let known = ["scale", "nil", "half", "yes"].iter().position(|known| *known == name);
        known.ok_or_else(|| (at, format!("the variable `:{name}` has not been set")))
    })
}

/// The same whatever is known beforehand.
fn evaluated(expression: &ScriptExpression) -> Result<ScriptValue, Fault> {
    expression.evaluate(&Fixed, &mut Generator::new(1), &mut Vec::new())
}

fn value(text: &str) -> Result<ScriptValue, Fault> {
    let expression = compiled(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
    let folded = |known: &dyn Fn(usize) -> bool| {
        let mut folded = expression.clone();
        folded.fold_constants(|slot| if known(slot) { Fixed.load(slot).ok() } else { None });
        evaluated(&folded)
    };
    let value = evaluated(&expression);
    for folded in [folded(&|_| true), folded(&|slot| slot == 0), folded(&|_| false)] {
        assert_eq!(folded, value, "{text}");
    }
    value
}

#[test]
fn what_never_changes_is_computed_once() {
    assert_eq!(folded("random(1, 100000 * :scale)"), compiled("random(1, 300000)").unwrap().code);
    assert_eq!(folded("(2 + :scale) * 2"), compiled("10").unwrap().code);
    assert_eq!(folded("1 / 0 + :scale"), compiled("1 / 0 + 3").unwrap().code, "a fault waits for its transaction");
}

fn folded(text: &str) -> Vec<Instruction> {
    let mut folded = compiled(text).unwrap();
    folded.fold_constants(|slot| Fixed.load(slot).ok());
    folded.code
}

fn int(text: &str) -> i64 {
    match value(text) {
        Ok(ScriptValue::Int(n)) => n,
        other => panic!("{text}: {other:?}"),
    }
}

fn truth(text: &str) -> bool {
    value(text) == Ok(ScriptValue::Bool(true))
}

#[test]
fn operators_have_their_precedence() {
    assert_eq!(int("1 + 2 * :scale - -4"), 11);
    assert_eq!(int("(1 + 2) * :scale % 4"), 1);
    assert_eq!(int("7 / -2"), -3);
    assert_eq!(int("1 | 2 + 4"), 7);
    assert_eq!(int("~1 + 1"), -3);
    assert_eq!(int("~1 | 8"), -2);
    assert_eq!(int("1 << 2 + 1"), 8);
    assert_eq!(int("6 & 3 # 1"), 3);
    assert_eq!(int("- - 5"), 5);
    assert_eq!(int("-2 * -3"), 6);
    assert_eq!(int("10 - 2 - 3"), 5);
    assert_eq!(int("-9223372036854775808"), i64::MIN);
    assert!(truth("NOT 1 = 2 AND 3 < 4 OR false"));
    assert!(truth("NOT NULL IS NULL = false") || !truth("NOT NULL IS NULL = false"));
    assert!(truth("1 + 1 = 2 IS TRUE"));
    assert!(truth("NOT :nil IS NOT NULL"));
    assert!(truth(":nil ISNULL AND :scale NOTNULL"));
    assert!(truth("NULL IS NULL IS TRUE"));
}

#[test]
fn types_are_mixed_by_rule() {
    assert_eq!(value("1 + 1.5"), Ok(ScriptValue::Double(2.5)));
    assert_eq!(value("3 / 2.0"), Ok(ScriptValue::Double(1.5)));
    assert_eq!(value("1.5 / 0"), Ok(ScriptValue::Double(f64::INFINITY)));
    assert_eq!(value("1 = 1.0"), Ok(ScriptValue::Bool(true)));
    assert_eq!(value("5.5 % 3"), Ok(ScriptValue::Int(0)));
    assert_eq!(value("2.5 | 0"), Ok(ScriptValue::Int(2)));
    assert_eq!(value("1 + NULL"), Ok(ScriptValue::Null));
    assert_eq!(value("NULL = NULL"), Ok(ScriptValue::Null));
    assert_eq!(value("NOT NULL"), Ok(ScriptValue::Null));
    assert_eq!(value("least(3, NULL)"), Ok(ScriptValue::Null));
    assert_eq!(value("1 IS TRUE"), Ok(ScriptValue::Bool(false)));
    assert_eq!(value(":half IS NULL"), Ok(ScriptValue::Bool(false)));
    for wrong in
        ["true + 1", "true = true", "NOT 1", "1 AND true", "true OR 1 = 1 AND 1", "false OR 1", "~true", "int(true)"]
    {
        let lazy = wrong.starts_with("true OR");
        assert_eq!(value(wrong).is_err(), !lazy, "{wrong}");
    }
}

#[test]
fn logic_is_lazy() {
    assert_eq!(value("false AND 1 / 0 = 1"), Ok(ScriptValue::Bool(false)));
    assert_eq!(value("true OR 1 / 0 = 1"), Ok(ScriptValue::Bool(true)));
    assert_eq!(value("NULL OR true"), Ok(ScriptValue::Null), "as pgbench has it, not SQL");
    assert_eq!(value("NULL AND false"), Ok(ScriptValue::Null));
    assert_eq!(value("true AND NULL"), Ok(ScriptValue::Null));
    assert_eq!(value("CASE WHEN 0 THEN 1 / 0 WHEN 2.5 THEN 5 ELSE 1 / 0 END"), Ok(ScriptValue::Int(5)));
    assert_eq!(value("CASE WHEN NULL THEN 1 END"), Ok(ScriptValue::Null));
    assert_eq!(value("CASE WHEN true THEN CASE WHEN false THEN 1 ELSE 2 END END + 1"), Ok(ScriptValue::Int(3)));
}

#[test]
fn faults_are_found() {
    assert_eq!(value("9223372036854775807 + 1"), Err(Fault::OutOfRange("add")));
    assert_eq!(value("-9223372036854775808 - 1"), Err(Fault::OutOfRange("sub")));
    assert_eq!(value("9223372036854775807 * 2"), Err(Fault::OutOfRange("mul")));
    assert_eq!(value("-9223372036854775808 / -1"), Err(Fault::OutOfRange("div")));
    assert_eq!(value("-9223372036854775808 % -1"), Ok(ScriptValue::Int(0)));
    assert_eq!(value("1 / 0"), Err(Fault::DivisionByZero));
    assert_eq!(value("mod(1, 0)"), Err(Fault::DivisionByZero));
    assert_eq!(value("int(1e300)"), Err(Fault::TooLarge(1e300)));
    assert_eq!(value("random(2, 1)"), Err(Fault::EmptyRange));
    assert_eq!(value("random(-1, 9223372036854775807)"), Err(Fault::WideRange));
    assert_eq!(value("random(0, 9223372036854775807)"), Err(Fault::WideRange));
    for parameter in ["random_gaussian(1, 2, 1.9)", "random_zipfian(1, 2, 1.0)", "random_exponential(1, 2, 0)"] {
        assert!(matches!(value(parameter), Err(Fault::Parameter(_))), "{parameter}");
    }
    assert!(value("permute(1, 0, 2)").is_err());
}

#[test]
fn a_greater_than_evaluates_its_right_side_first() {
    let mut random = Generator::new(9);
    let (first, second) = (random.uniform_between(1, 1_000_000), random.uniform_between(1, 1_000_000));
    assert_eq!(draw("random(1, 1000000) < random(1, 1000000)"), ScriptValue::Bool(first < second));
    assert_eq!(draw("random(1, 1000000) > random(1, 1000000)"), ScriptValue::Bool(second > first));
}

fn draw(text: &str) -> ScriptValue {
    compiled(text).unwrap().evaluate(&Fixed, &mut Generator::new(9), &mut Vec::new()).unwrap()
}

#[test]
fn errors_say_where_and_what() {
    assert_eq!(error("1 +").0, 3);
    assert_eq!(error("random(1 2)").0, 9);
    assert_eq!(error("1 + :aid"), (4, "the variable `:aid` has not been set".to_owned()));
    assert!(error("zipf(1)").1.contains("random_zipfian"));
    assert!(error("abs(1, 2)").1.contains("takes 1 arguments"));
    assert!(error("least()").1.contains("at least 1"));
    assert!(error("permute(1)").1.contains("2 or 3"));
    assert!(error(&format!("least({}1)", "1,".repeat(16))).1.contains("at most 16"));
    assert!(error("1 < 2 < 3").1.contains("chained"));
    assert!(error("1 2").1.contains("`2` is not expected"));
    assert!(error("1 IS 2").1.contains("NULL, TRUE or FALSE"));
    assert!(error("CASE ELSE 1 END").1.contains("WHEN"));
    assert!(error("9223372036854775808").1.contains("9223372036854775808"));
    for deep in ["(", "-", "NOT ", "CASE WHEN ", "abs("] {
        assert!(error(&deep.repeat(100_000)).1.contains("nested too deeply"), "{deep}");
    }
    assert_eq!(int(&format!("1{}", " + 1".repeat(50_000))), 50_001);
}

fn error(text: &str) -> (usize, String) {
    compiled(text).unwrap_err()
}

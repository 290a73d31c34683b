//! A bad sample for every rule about Rust code, and what is allowed beside it.

use super::*;

/// What is found in a library file of `stats`, whose rules are the strictest, as `line rule`.
fn found(text: &str) -> Vec<String> {
    found_in("crates/stats/src/sample.rs", text)
}

fn found_in(path: &str, text: &str) -> Vec<String> {
    let mut lines: Vec<String> = check_sources(&[(path, text.to_owned())])
        .into_iter()
        .map(|finding| format!("{} {}", finding.line, finding.rule))
        .collect();
    lines.sort();
    lines.dedup();
    lines
}

const NOTHING: Vec<String> = Vec::new();

#[test]
fn a_long_function_is_found_wherever_it_stands() {
    let body = "let _ = 1;\n".repeat(MAX_FUNCTION_LINES - 2);
    let at_the_limit = format!("/// Says.\n#[must_use]\nfn f() {{\n{body}}}\n");
    assert_eq!(found(&at_the_limit), NOTHING);
    let long = format!("fn f() {{\n{body}let _ = 2;\n}}\n");
    assert_eq!(found(&long), ["1 function-length"]);
    assert_eq!(found(&format!("impl X {{\n{long}}}")), ["2 function-length"]);
    assert_eq!(found(&format!("trait X {{\n{long}}}")), ["2 function-length"]);
    assert_eq!(found(&format!("fn g() {{ if true {{\n{long}}} }}")).len(), 2);
}

#[test]
fn unsafe_code_is_found_outside_host_even_in_a_macro() {
    let bad = "fn f() { unsafe { g() } }\nm! { unsafe { g() } }\nunsafe impl Send for X {}\n";
    assert_eq!(found(bad), ["1 unsafe", "2 unsafe", "3 unsafe"]);
    assert_eq!(found_in("crates/host/src/ring.rs", bad), NOTHING);
    assert_eq!(found("// unsafe\nconst A: &str = \"unsafe\";"), NOTHING);
}

#[test]
fn code_for_one_platform_is_found_outside_host() {
    let bad = "#[cfg(target_os = \"linux\")]\nfn f() {}\n#[cfg_attr(not(windows), expect(x))]\n\
               fn g() { if cfg!(unix) {} }\n";
    assert_eq!(found(bad), ["1 platform-cfg", "3 platform-cfg", "4 platform-cfg"]);
    assert_eq!(found_in("crates/host/src/clock.rs", bad), NOTHING);
    assert_eq!(found_in("xtask/src/shots.rs", bad), NOTHING);
    assert_eq!(found("#[cfg(target_pointer_width = \"64\")]\nfn f() {}"), NOTHING);
    assert_eq!(found("let unix = cfg; fn f() {}").len(), 1, "no Rust");
}

#[test]
fn printing_and_exiting_are_found_outside_cli() {
    let bad = "fn f() {\n println!(\"x\");\n std::process::exit(1);\n m!(eprintln!(\"x\"));\n}\n\
               use std::process::exit;\n";
    assert_eq!(found(bad), ["2 print", "3 print", "4 print", "6 print"]);
    assert_eq!(found_in("crates/cli/src/main.rs", bad), ["1 forbid-unsafe"]);
    assert_eq!(found_in("xtask/src/docs.rs", bad), NOTHING);
    assert_eq!(found("#[test]\nfn f() { println!(\"x\"); }"), NOTHING);
    assert_eq!(found_in("crates/store/build.rs", bad), NOTHING);
}

#[test]
fn unwrap_is_found_outside_tests() {
    let bad = "fn f() {\n x.unwrap();\n y.expect(\"is set\");\n assert!(z.unwrap());\n}\n";
    assert_eq!(found(bad), ["2 unwrap", "3 unwrap", "4 unwrap"]);
    assert_eq!(found(&format!("#[cfg(test)]\nmod tests {{ {bad} }}")), NOTHING);
    assert_eq!(found_in("crates/stats/tests/all.rs", bad), NOTHING);
    assert_eq!(found(&format!("#[cfg(not(test))]\nmod m {{ {bad} }}")).len(), 3);
    assert_eq!(found("fn f() { parser.expect(Token::Comma)?; }"), NOTHING);
    assert_eq!(found("fn f() { x.unwrap_or(1); }"), NOTHING);
}

#[test]
fn unwrap_with_a_reason_is_left_alone() {
    let reasoned = "#[expect(clippy::unwrap_used, reason = \"just set\")]\n";
    let bare = "#[expect(clippy::unwrap_used)]\n";
    for code in [
        "fn f() { x.unwrap(); }",
        "impl X { ATTR fn f() { x.unwrap(); } }",
        "fn f() { ATTR let a = x.unwrap(); }",
        "fn f() { ATTR x.unwrap(); }",
    ] {
        let with = |attribute: &str| {
            if code.contains("ATTR") { code.replace("ATTR", attribute) } else { format!("{attribute}{code}") }
        };
        assert_eq!(found(&with(reasoned)), NOTHING, "{code}");
        assert_eq!(found(&with(bare)).len(), 1, "{code}");
    }
}

#[test]
fn a_test_module_in_its_own_file_is_a_test() {
    let file = |path, text: &str| (path, text.to_owned());
    let declares = file("crates/stats/src/sample.rs", "#[cfg(test)]\nmod checks;\n");
    let holds = file("crates/stats/src/sample/checks.rs", "fn f() { x.unwrap(); }");
    assert_eq!(check_sources(&[declares, holds.clone()]), Vec::new());
    let elsewhere = [
        file("crates/stats/src/sample.rs", "#[cfg(test)]\n#[path = \"sample_tests.rs\"]\nmod tests;\n"),
        file("crates/stats/src/sample_tests.rs", "fn f() { x.unwrap(); }"),
    ];
    assert_eq!(check_sources(&elsewhere), Vec::new());
    let plain = file("crates/stats/src/sample.rs", "mod checks;\n");
    assert_eq!(check_sources(&[plain, holds]).len(), 1);
}

#[test]
fn unfinished_macros_and_bare_ignores_are_found() {
    assert_eq!(found("fn f() { todo!() }"), ["1 unfinished"]);
    assert_eq!(found("fn f() {\n unimplemented!()\n}"), ["2 unfinished"]);
    assert_eq!(found("#[test]\n#[ignore]\nfn f() {}"), ["2 ignore-reason"]);
    assert_eq!(found("#[test]\n#[ignore = \"needs a disk\"]\nfn f() {}"), NOTHING);
}

#[test]
fn code_that_nothing_uses_may_not_stay() {
    // Put together, so that a search for such attributes finds none here.
    for word in ["allow", "expect"] {
        let bad = format!("#![{word}(dead_code, reason = \"x\")]\n#[cfg_attr(test, {word}(dead_code))]\nfn f() {{}}\n");
        assert_eq!(found(&bad), ["1 dead-code", "2 dead-code"]);
        assert_eq!(found_in("crates/stats/tests/all.rs", &bad).len(), 2);
    }
    assert_eq!(found("#![deny(dead_code)]\nfn f() { x.expect(dead); }\n"), NOTHING);
}

#[test]
fn a_crate_root_forbids_unsafe_code() {
    let root = "crates/stats/src/lib.rs";
    assert_eq!(found_in(root, "fn f() {}"), ["1 forbid-unsafe"]);
    assert_eq!(found_in(root, "#![forbid(unsafe_code)]"), NOTHING);
    assert_eq!(found_in("crates/host/src/lib.rs", "fn f() {}"), NOTHING);
}

#[test]
fn a_database_that_decides_by_its_name_is_found() {
    let bad = "fn f() {\n match s { \"postgres\" => 1, _ => 2 };\n if url.starts_with(\"mysql://\") {}\n\
               let is = engine == \"SQLite\";\n matches!(s, \"mssql\");\n}\n";
    assert_eq!(found(bad), ["2 database-name", "3 database-name", "4 database-name", "5 database-name"]);
    assert_eq!(found_in("crates/engine/src/systems/x.rs", bad), NOTHING);
    assert_eq!(found_in("crates/engine/src/worker.rs", bad).len(), 4);
    assert_eq!(found("const NAME: &str = \"postgres\";"), NOTHING);
    assert_eq!(found("#[cfg(test)]\nmod t { fn f() { a == \"pg\"; } }"), NOTHING);
    assert_eq!(found("fn f() { if x { g(\"postgres\") } }"), NOTHING);
}

#[test]
fn what_is_no_rust_is_reported_and_not_skipped() {
    assert_eq!(found("fn f( {"), ["1 syntax"]);
}

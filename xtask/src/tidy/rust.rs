//! Rules about Rust code, checked on its syntax tree, so that comments and strings cannot mislead.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result};
use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, Item, Meta};

use super::Finding;

/// Longest function, in lines, from `fn` to its closing brace.
const MAX_FUNCTION_LINES: usize = 70;

/// The only room with `unsafe` and code for one platform.
const HOST: &str = "crates/host/";

/// Who may write to the terminal and exit.
const PRINTERS: [&str; 2] = ["crates/cli/", "xtask/"];

/// Where a database may be named.
const DATABASE_ROOM: [&str; 1] = ["crates/engine/src/systems/"];

/// What code elsewhere must not ask for by name.
const DATABASES: [&str; 11] =
    ["sqlite", "sqlite3", "postgres", "postgresql", "pg", "mysql", "mariadb", "mssql", "sqlserver", "oracle", "duckdb"];

const PRINT_MACROS: [&str; 5] = ["print", "println", "eprint", "eprintln", "dbg"];

/// What in a `cfg` ties code to a platform.
const PLATFORM_WORDS: [&str; 6] = ["target_os", "target_family", "target_vendor", "target_env", "unix", "windows"];

/// Checks every Rust file of `files`.
///
/// # Errors
///
/// When one cannot be read.
pub fn check_all(root: &Path, files: &[String]) -> Result<Vec<Finding>> {
    let mut sources = Vec::new();
    for path in files.iter().filter(|path| path.ends_with(".rs")) {
        let text = std::fs::read_to_string(root.join(path)).context(path.clone())?;
        sources.push((path.as_str(), text));
    }
    Ok(check_sources(&sources))
}

/// Checks a set of files together: whether one is a test is written in the file that declares it.
fn check_sources(sources: &[(&str, String)]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut parsed = Vec::new();
    for (path, text) in sources {
        let tokens = text.parse::<TokenStream>().map_err(syn::Error::from);
        match tokens.and_then(|tokens| Ok((syn::parse2::<syn::File>(tokens.clone())?, tokens))) {
            Ok((file, tokens)) => parsed.push((*path, file, tokens)),
            Err(error) => findings.push(Finding {
                path: (*path).to_owned(),
                line: error.span().start().line,
                rule: "syntax",
                item: String::new(),
                advice: format!("not read: {error}"),
            }),
        }
    }
    let test_modules: BTreeSet<String> = parsed.iter().flat_map(|(path, file, _)| test_modules(path, file)).collect();
    for (path, file, tokens) in parsed {
        let is_test =
            test_modules.iter().any(|module| path == format!("{module}.rs") || path.starts_with(&format!("{module}/")))
                || ["/tests/", "/benches/", "/examples/", "fuzz/targets/"].iter().any(|folder| path.contains(folder));
        let mut walker = Walker::new(path, is_test);
        walker.crate_root(&file);
        walker.tokens_anywhere(tokens);
        walker.within(&file.attrs, |walker| visit::visit_file(walker, &file));
        findings.append(&mut walker.findings);
    }
    findings
}

/// The paths, without `.rs`, of the modules that `file` declares as tests in files of their own.
fn test_modules(path: &str, file: &syn::File) -> Vec<String> {
    let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
    let folder = match name.trim_end_matches(".rs") {
        "lib" | "main" | "mod" => parent.to_owned(),
        stem => format!("{parent}/{stem}"),
    };
    let declared = file.items.iter().filter_map(|item| match item {
        Item::Mod(module) if module.content.is_none() && is_test(&module.attrs) => {
            Some(match explicit_path(&module.attrs) {
                Some(path) => format!("{parent}/{}", path.trim_end_matches(".rs")),
                None => format!("{folder}/{}", module.ident),
            })
        }
        _ => None,
    });
    declared.collect()
}

/// The file in `#[path = "file"]`.
fn explicit_path(attributes: &[Attribute]) -> Option<String> {
    attributes.iter().find_map(|attribute| {
        let pair = attribute.meta.require_name_value().ok()?;
        match &pair.value {
            Expr::Lit(literal) if pair.path.is_ident("path") => match &literal.lit {
                syn::Lit::Str(path) => Some(path.value()),
                _ => None,
            },
            _ => None,
        }
    })
}

/// Whether these attributes make what they stand on a test: `#[test]`, `#[cfg(test)]`.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) if list.path.is_ident("cfg") => {
            let words = words(&list.tokens);
            words.contains("test") && !words.contains("not") && !words.contains("any")
        }
        _ => false,
    })
}

/// Whether these attributes expect an `unwrap` or `expect`, and say why.
fn is_reasoned(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) if list.path.is_ident("expect") => {
            let words = words(&list.tokens);
            words.contains("reason") && (words.contains("unwrap_used") || words.contains("expect_used"))
        }
        _ => false,
    })
}

/// Every identifier in `tokens`, at any depth.
fn words(tokens: &TokenStream) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for token in tokens.clone() {
        match token {
            TokenTree::Ident(ident) => {
                found.insert(ident.to_string());
            }
            TokenTree::Group(group) => found.extend(words(&group.stream())),
            _ => {}
        }
    }
    found
}

/// The text of a string literal.
fn string(literal: &proc_macro2::Literal) -> Option<String> {
    match syn::Lit::new(literal.clone()) {
        syn::Lit::Str(text) => Some(text.value()),
        _ => None,
    }
}

/// Whether this string is a database's name or the scheme of its URLs.
fn names_database(text: &str) -> bool {
    let name = text.trim_end_matches('/').trim_end_matches(':');
    DATABASES.contains(&name.to_ascii_lowercase().as_str())
}

fn item_attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(syn::ItemConst { attrs, .. })
        | Item::Enum(syn::ItemEnum { attrs, .. })
        | Item::Fn(syn::ItemFn { attrs, .. })
        | Item::Impl(syn::ItemImpl { attrs, .. })
        | Item::Macro(syn::ItemMacro { attrs, .. })
        | Item::Mod(syn::ItemMod { attrs, .. })
        | Item::Static(syn::ItemStatic { attrs, .. })
        | Item::Struct(syn::ItemStruct { attrs, .. })
        | Item::Trait(syn::ItemTrait { attrs, .. })
        | Item::Use(syn::ItemUse { attrs, .. }) => attrs,
        _ => &[],
    }
}

fn expression_attributes(expression: &Expr) -> &[Attribute] {
    match expression {
        Expr::Block(syn::ExprBlock { attrs, .. })
        | Expr::Call(syn::ExprCall { attrs, .. })
        | Expr::Closure(syn::ExprClosure { attrs, .. })
        | Expr::If(syn::ExprIf { attrs, .. })
        | Expr::Macro(syn::ExprMacro { attrs, .. })
        | Expr::Match(syn::ExprMatch { attrs, .. })
        | Expr::MethodCall(syn::ExprMethodCall { attrs, .. })
        | Expr::Return(syn::ExprReturn { attrs, .. })
        | Expr::Struct(syn::ExprStruct { attrs, .. }) => attrs,
        _ => &[],
    }
}

/// Walks one file.
struct Walker<'a> {
    path: &'a str,
    /// Within a test.
    in_test: bool,
    /// Within something that expects an `unwrap` or `expect`, with its reason.
    in_reasoned: bool,
    findings: Vec<Finding>,
}

impl<'a> Walker<'a> {
    fn new(path: &'a str, in_test: bool) -> Self {
        Self { path, in_test, in_reasoned: false, findings: Vec::new() }
    }

    fn is_in(&self, rooms: &[&str]) -> bool {
        rooms.iter().any(|room| self.path.starts_with(room))
    }

    fn report(&mut self, span: Span, rule: &'static str, item: impl ToString, advice: String) {
        self.findings.push(Finding {
            path: self.path.to_owned(),
            line: span.start().line.max(1),
            rule,
            item: item.to_string(),
            advice,
        });
    }

    /// Walks what these attributes stand on.
    fn within(&mut self, attributes: &[Attribute], walk: impl FnOnce(&mut Self)) {
        let outside = (self.in_test, self.in_reasoned);
        self.in_test |= is_test(attributes);
        self.in_reasoned |= is_reasoned(attributes);
        walk(self);
        (self.in_test, self.in_reasoned) = outside;
    }

    fn crate_root(&mut self, file: &syn::File) {
        let is_root = self.path.ends_with("src/lib.rs") || self.path.ends_with("src/main.rs");
        let forbids = file.attrs.iter().any(|attribute| match &attribute.meta {
            Meta::List(list) => list.path.is_ident("forbid") && words(&list.tokens).contains("unsafe_code"),
            _ => false,
        });
        if is_root && !forbids && !self.is_in(&[HOST]) {
            self.report(Span::call_site(), "forbid-unsafe", "", "add #![forbid(unsafe_code)]".to_owned());
        }
    }

    /// Rules that hold in every context, so that a macro's body is no hiding place.
    fn tokens_anywhere(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        for (index, token) in tokens.iter().enumerate() {
            match token {
                TokenTree::Ident(word) if word == "unsafe" && !self.is_in(&[HOST]) => self.report(
                    word.span(),
                    "unsafe",
                    "",
                    "only crates/host is unsafe: put a safe function there".to_owned(),
                ),
                TokenTree::Ident(word) if word == "todo" || word == "unimplemented" => {
                    if matches!(tokens.get(index + 1), Some(TokenTree::Punct(p)) if p.as_char() == '!') {
                        let advice = format!("{word}!: finish it, or return an error");
                        self.report(word.span(), "unfinished", word, advice);
                    }
                }
                TokenTree::Ident(word) if word == "allow" || word == "expect" => {
                    if let Some(TokenTree::Group(lints)) = tokens.get(index + 1)
                        && words(&lints.stream()).contains("dead_code")
                    {
                        let advice =
                            format!("{word}(dead_code): remove what nothing uses, or include only what is used");
                        self.report(word.span(), "dead-code", "", advice);
                    }
                }
                TokenTree::Ident(word) if word.to_string().starts_with("cfg") => {
                    let after = tokens[index + 1..].iter().take(2);
                    let group = after.filter_map(|token| match token {
                        TokenTree::Group(group) => Some(group.stream()),
                        _ => None,
                    });
                    for condition in group.take(1).collect::<Vec<_>>() {
                        self.condition(word.span(), &condition);
                    }
                }
                TokenTree::Group(group) => {
                    if group.delimiter() == Delimiter::Bracket {
                        self.bare_ignore(group);
                    }
                    self.tokens_anywhere(group.stream());
                }
                _ => {}
            }
        }
    }

    /// What follows a `cfg`, `cfg_attr` or `cfg!`.
    fn condition(&mut self, span: Span, condition: &TokenStream) {
        let words = words(condition);
        let platform = PLATFORM_WORDS.iter().find(|word| words.contains(**word));
        if let Some(word) = platform
            && !self.is_in(&[HOST, "xtask/"])
        {
            let advice = format!("cfg({word}): put it in crates/host behind a portable function");
            self.report(span, "platform-cfg", word, advice);
        }
    }

    fn bare_ignore(&mut self, attribute: &proc_macro2::Group) {
        let mut tokens = attribute.stream().into_iter();
        if let (Some(TokenTree::Ident(word)), None) = (tokens.next(), tokens.next())
            && word == "ignore"
        {
            let advice = "say why: #[ignore = \"reason\"]".to_owned();
            self.report(word.span(), "ignore-reason", "", advice);
        }
    }

    fn function(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let start = signature.fn_token.span.start().line;
        let lines = 1 + block.brace_token.span.close().end().line - start;
        if lines > MAX_FUNCTION_LINES {
            let advice =
                format!("{} has {lines} lines, at most {MAX_FUNCTION_LINES}: split it into steps", signature.ident);
            self.report(signature.fn_token.span, "function-length", &signature.ident, advice);
        }
    }

    fn printing(&mut self, span: Span, what: &str) {
        let is_script = self.path.ends_with("/build.rs");
        if !self.in_test && !is_script && !self.is_in(&PRINTERS) {
            let advice = format!("{what}: only cli prints and exits; return a value or tell an observer");
            self.report(span, "print", what, advice);
        }
    }

    fn panicking(&mut self, span: Span, what: &str) {
        if !self.in_test && !self.in_reasoned && !self.path.ends_with("/build.rs") {
            let advice = format!(".{what}(): return an error, or #[expect(clippy::{what}_used, reason = \"..\")]");
            self.report(span, "unwrap", what, advice);
        }
    }

    fn database(&mut self, span: Span, text: &str) {
        let is_theirs = self.is_in(&DATABASE_ROOM) || !self.path.starts_with("crates/");
        if !self.in_test && !is_theirs && names_database(text) {
            let advice = format!("{text:?} decides here: ask the registry, or give Target or Lane a method for it");
            self.report(span, "database-name", text, advice);
        }
    }

    /// Reports every database named by a string in `tokens`, at any depth.
    fn databases_in(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Literal(literal) => {
                    if let Some(text) = string(&literal) {
                        self.database(literal.span(), &text);
                    }
                }
                TokenTree::Group(group) => self.databases_in(group.stream()),
                _ => {}
            }
        }
    }

    /// The body of a macro, which is no syntax tree: the calls in it that are forbidden.
    fn macro_body(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        for (index, token) in tokens.iter().enumerate() {
            let next = tokens.get(index + 1);
            match (token, next) {
                (TokenTree::Ident(word), Some(TokenTree::Punct(bang)))
                    if bang.as_char() == '!' && PRINT_MACROS.contains(&word.to_string().as_str()) =>
                {
                    self.printing(word.span(), &format!("{word}!"));
                }
                (TokenTree::Ident(word), Some(TokenTree::Group(arguments))) => {
                    let is_method =
                        index > 0 && matches!(&tokens[index - 1], TokenTree::Punct(p) if p.as_char() == '.');
                    let first = arguments.stream().into_iter().next();
                    let panics = match first {
                        None => word == "unwrap",
                        Some(TokenTree::Literal(text)) => word == "expect" && string(&text).is_some(),
                        Some(_) => false,
                    };
                    if is_method && panics {
                        self.panicking(word.span(), &word.to_string());
                    }
                }
                _ => {}
            }
            if let TokenTree::Group(group) = token {
                self.macro_body(group.stream());
            }
        }
    }
}

/// The strings within a condition or a pattern.
struct Strings<'w, 'a>(&'w mut Walker<'a>);

impl<'ast> Visit<'ast> for Strings<'_, '_> {
    fn visit_lit_str(&mut self, literal: &'ast syn::LitStr) {
        self.0.database(literal.span(), &literal.value());
    }

    // A block within a condition is code, which the walker reaches by itself.
    fn visit_block(&mut self, _: &'ast syn::Block) {}
}

impl<'ast> Visit<'ast> for Walker<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        self.within(item_attributes(item), |walker| {
            visit::visit_item(walker, item);
        });
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.function(&function.sig, &function.block);
        self.within(&function.attrs, |walker| {
            visit::visit_impl_item_fn(walker, function);
        });
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(block) = &function.default {
            self.function(&function.sig, block);
        }
        self.within(&function.attrs, |walker| {
            visit::visit_trait_item_fn(walker, function);
        });
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.function(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        self.within(&local.attrs, |walker| visit::visit_local(walker, local));
    }

    fn visit_expr(&mut self, expression: &'ast Expr) {
        self.within(expression_attributes(expression), |walker| {
            visit::visit_expr(walker, expression);
        });
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let is_text = |argument: &Expr| match argument {
            Expr::Lit(literal) => matches!(literal.lit, syn::Lit::Str(_)),
            Expr::Reference(reference) => matches!(*reference.expr, Expr::Macro(_)),
            _ => false,
        };
        // A parser may have an `expect(token)` of its own: only a message makes it `Option`'s.
        if call.method == "unwrap" && call.args.is_empty()
            || call.method == "expect" && call.args.first().is_some_and(is_text)
        {
            self.panicking(call.method.span(), &call.method.to_string());
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        if let Some(name) = call.path.segments.last() {
            let text = name.ident.to_string();
            if PRINT_MACROS.contains(&text.as_str()) {
                self.printing(name.ident.span(), &format!("{text}!"));
            }
            if text == "matches" {
                self.databases_in(call.tokens.clone());
            }
        }
        self.macro_body(call.tokens.clone());
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let mut last = path.segments.iter().rev();
        if let (Some(function), Some(module)) = (last.next(), last.next())
            && function.ident == "exit"
            && module.ident == "process"
        {
            self.printing(function.ident.span(), "process::exit");
        }
        visit::visit_path(self, path);
    }

    fn visit_use_path(&mut self, path: &'ast syn::UsePath) {
        if path.ident == "process"
            && let syn::UseTree::Name(name) = &*path.tree
            && name.ident == "exit"
        {
            self.printing(name.ident.span(), "process::exit");
        }
        visit::visit_use_path(self, path);
    }

    fn visit_expr_if(&mut self, expression: &'ast syn::ExprIf) {
        Strings(self).visit_expr(&expression.cond);
        visit::visit_expr_if(self, expression);
    }

    fn visit_expr_while(&mut self, expression: &'ast syn::ExprWhile) {
        Strings(self).visit_expr(&expression.cond);
        visit::visit_expr_while(self, expression);
    }

    fn visit_expr_binary(&mut self, expression: &'ast syn::ExprBinary) {
        if matches!(expression.op, syn::BinOp::Eq(_) | syn::BinOp::Ne(_)) {
            Strings(self).visit_expr(&expression.left);
            Strings(self).visit_expr(&expression.right);
        }
        visit::visit_expr_binary(self, expression);
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        self.within(&arm.attrs, |walker| {
            Strings(walker).visit_pat(&arm.pat);
            visit::visit_arm(walker, arm);
        });
    }
}

#[cfg(test)]
mod tests;

//! `etalon list`: what can be named, on one screen; with `--all`, what each of it is.

use conductor::Registry;
use serde_json::{Map, json};

use super::named::{self, Kind, Named};
use crate::args::ListArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::printer::Printer;

pub fn run(args: &ListArgs, printer: Printer) -> Result<Exit, CliError> {
    let catalog = Registry::built_in().catalog();
    let named = named::all(&catalog);
    let width = printer.width();
    if printer.json {
        let mut object = Map::from_iter([("schema_version".to_owned(), json!(1))]);
        for kind in Kind::ALL {
            let entries = of_kind(&named, kind).map(Named::as_json).collect();
            object.insert(kind.plural().to_owned(), entries);
        }
        printer.out(&serde_json::Value::Object(object).to_string());
    } else if args.all {
        printer.out(&Kind::ALL.map(|kind| section(&named, kind, width)).join("\n"));
    } else {
        let names = Kind::ALL.map(|kind| {
            let names = of_kind(&named, kind).map(Named::name);
            format!("{}\n{}", kind.heading(), named::filled(names, width))
        });
        let servers: Vec<&str> =
            catalog.engines.iter().flat_map(|engine| engine.private_servers.iter().copied()).collect();
        let servers = format!("private servers (server = {{ engine = \"NAME\" }})\n{}", named::filled(servers, width));
        let more = "`etalon show NAME` tells all of one of these, `etalon list --all` a sentence of each";
        printer.out(&format!("{}{servers}\n{}", names.concat(), report::text::wrapped(more, width, 0)));
    }
    Ok(Exit::Done)
}

fn of_kind<'n, 'c>(named: &'n [Named<'c>], kind: Kind) -> impl Iterator<Item = &'n Named<'c>> {
    named.iter().filter(move |one| one.kind() == kind)
}

fn section(named: &[Named<'_>], kind: Kind, width: usize) -> String {
    let entries = of_kind(named, kind).map(|one| indented(&one.entry(width.saturating_sub(2))));
    format!("{}\n{}", kind.heading(), entries.collect::<String>())
}

fn indented(entry: &str) -> String {
    entry.lines().map(|line| format!("  {line}\n")).collect::<String>()
}

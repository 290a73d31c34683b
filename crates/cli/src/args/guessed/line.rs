//! A command line of another tool's words, rewritten into one of étalon's.

use std::path::Path;

use clap::{Arg, Command};
use model::near::nearest;

use super::address::{as_system, is_url};
use super::files::{is_foreign_file, label_files};
use super::values::{as_limit, folder_of_new_file, gate_option, in_units, with_unit};
use super::words::{For, Instead, OPTIONS, OtherOption};
use super::{NEVER_PROPOSED, is_setting, is_strange};
use crate::results::is_store;

/// A part of a system's URL.
#[derive(Clone, Copy, Debug)]
pub enum Part {
    Host,
    Port,
    User,
    Database,
}

/// A URL in parts, as clients of databases take it.
#[derive(Clone, Debug, Default)]
struct Url {
    /// The scheme, where an option or a program's name says it.
    scheme: Option<&'static str>,
    host: Option<String>,
    port: Option<String>,
    user: Option<String>,
    database: Option<String>,
}

impl Url {
    /// Tests whether nothing of a URL was named.
    fn is_empty(&self) -> bool {
        [&self.host, &self.port, &self.user, &self.database].into_iter().all(Option::is_none)
    }
}

/// A line that is read word by word.
#[derive(Debug, Default)]
pub struct Line {
    pub verb: String,
    /// Systems, scripts, plans, stores.
    pub words: Vec<String>,
    /// Options with their values.
    pub options: Vec<String>,
    /// Where the output goes.
    pub redirect: Option<String>,
    /// Options that étalon does not have, as they were typed.
    pub strange: Vec<String>,
    /// Those for which there is nothing.
    pub unknown: Vec<String>,
    /// What to know, each once.
    pub about: Vec<String>,
    pub is_backup: bool,
    /// The file for JUnit XML that a line of `run` asks for.
    pub junit: Option<String>,
    /// The options of a gate that a line of `run` asks for.
    pub judged: Vec<String>,
    /// Codecs of backups, in the order in which they were named.
    pub codecs: Vec<String>,
    /// The name of a setting whose values follow.
    parameter: Option<String>,
    /// Whether a gate follows a line of `run` even without options.
    pub is_gated: bool,
    /// Whether a gate that follows is to fail on a regression.
    needs_baseline: bool,
    /// The name of the system that all imported files are of.
    label: Option<String>,
    /// Whether the words are those of a server's client, for which a bare name is a database.
    is_client: bool,
    is_only_planned: bool,
    /// Reads and writes of a disk at a time.
    is_mixed: bool,
    definitions: Vec<String>,
    url: Option<Url>,
    candidate: Option<String>,
}

impl Line {
    /// Makes a line of a verb alone.
    pub fn new(verb: &str) -> Line {
        Line { verb: verb.to_owned(), ..Line::default() }
    }

    /// Reads the words after a verb into a line, other tools' options replaced by étalon's.
    pub fn read(verb: &str, rest: &[String], etalon: &Command) -> Line {
        Line::read_for(verb, verb, rest, etalon)
    }

    /// Reads the words after the verb `typed` into a line of `verb`, which is meant.
    pub fn read_for(verb: &str, typed: &str, rest: &[String], etalon: &Command) -> Line {
        Line::new(verb).read_words(typed, rest, etalon)
    }

    /// Reads the words of a benchmark that is a client of servers of this scheme, as `pgbench -h db1 shop`.
    pub fn read_client(scheme: &'static str, rest: &[String], etalon: &Command) -> Line {
        let url = Url { scheme: Some(scheme), ..Url::default() };
        let line = Line { is_client: true, url: Some(url), ..Line::new("run") };
        line.read_words("run", rest, etalon)
    }

    /// Reads words behind those that the line has.
    fn read_words(self, typed: &str, rest: &[String], etalon: &Command) -> Line {
        let verb = self.verb.clone();
        let (verb, mut line) = (verb.as_str(), self);
        let command = etalon.find_subcommand(verb).unwrap_or(etalon);
        let mut rest = rest.iter().map(String::as_str).peekable();
        while let Some(word) = rest.next() {
            if word == "--" {
                line.words.extend(rest.map(str::to_owned));
                break;
            }
            if !is_option(word) {
                line.words.push(word.to_owned());
                continue;
            }
            let (name, attached) = split_option(word);
            let mut next =
                || attached.map(str::to_owned).or_else(|| rest.next_if(|next| !is_option(next)).map(str::to_owned));
            let known = other_option(typed, name)
                .filter(|known| known.instead.is_for_gate())
                .or_else(|| other_option(verb, name));
            match (argument_named(command, name), known) {
                (_, Some(known)) if name == "-h" && known.has_value => match next() {
                    Some(host) => line.replace_option(name, known, Some(host)),
                    None => line.options.push(name.to_owned()),
                },
                // What limits a run is a limit of the gate that was typed.
                (Some(_), Some(known)) if For::for_verb(verb) != Some(known.verbs) => {
                    let value = known.has_value.then(next).flatten();
                    line.replace_option(name, known, value);
                }
                (Some(argument), _) => {
                    let value = takes_value(argument).then(next).flatten();
                    line.keep_option(argument, name, value);
                }
                (None, Some(known)) => {
                    let value = known.has_value.then(next).flatten();
                    line.replace_option(name, known, value);
                }
                (None, None) => {
                    let near = line.guess_option(command, name);
                    if near.is_none() && attached.is_none() {
                        // A number is the value of the option that is left out.
                        rest.next_if(|next| next.starts_with(|c: char| c.is_ascii_digit()));
                    } else if let Some(near) = near {
                        let value = takes_value(near).then(next).flatten();
                        line.options.extend(near.get_long().map(|long| format!("--{long}")).into_iter().chain(value));
                    }
                }
            }
        }
        line.finish(etalon);
        line
    }

    /// Adds an option of étalon's to the line; a value that is another option, as in `--output json`, becomes that one.
    fn keep_option(&mut self, argument: &Arg, name: &str, value: Option<String>) {
        let is_measuring = For::for_verb(&self.verb) == Some(For::Measuring);
        match (argument.get_id().as_str(), value.as_deref()) {
            ("output" | "format", Some("json")) if is_measuring => {
                self.strange.push(format!("{name} json"));
                self.options.push("--json".to_owned());
                self.add_note(
                    "`--json` prints the results as JSON, `--output DIR` is the folder of the store and the report",
                );
            }
            ("output", Some(file)) if is_measuring && has_file_ending(file) => {
                self.strange.push(format!("{name} {file}"));
                let folder = Path::new(file).with_extension("").display().to_string();
                self.options.extend([name.to_owned(), folder]);
                self.add_note("`--output` is the folder of the store and the report; `etalon report last -o FILE` writes the page elsewhere");
            }
            ("output", Some(file)) if self.verb == "import" && !is_store(file) => {
                self.strange.push(format!("{name} {file}"));
                self.options
                    .extend([name.to_owned(), Path::new(file).with_extension(store::EXTENSION).display().to_string()]);
                self.add_note("`--output` is the store to write; `etalon report STORE -o FILE` writes its page");
            }
            ("target", Some(url)) if is_measuring && is_url(url) => {
                self.strange.push(name.to_owned());
                self.words.push(url.to_owned());
            }
            ("target", Some(limit)) if is_measuring && is_response_time(limit) => {
                self.strange.push(name.to_owned());
                self.add_option("--p99", with_unit(limit, "ms"));
            }
            ("json", _) if is_measuring => self.options.push(name.to_owned()),
            ("set", Some(pair)) if pair.starts_with("define=") => {
                self.definitions.push(pair["define=".len()..].to_owned())
            }
            _ => {
                self.options.push(name.to_owned());
                self.options.extend(value);
            }
        }
    }

    /// Adds what étalon has in place of another tool's option to the line.
    fn replace_option(&mut self, name: &str, known: &OtherOption, value: Option<String>) {
        self.strange.push(name.to_owned());
        let value = value.unwrap_or_default();
        // pgbench's `-b` names a script.
        if name == "-b" && is_url(&value) {
            self.words.push(value);
            return;
        }
        self.add_note(known.about);
        match known.instead {
            Instead::Time => self.add_time(&value),
            Instead::Option("--script", _) if is_statement(&value) => self.add_query(&value),
            Instead::Option(option @ "--script", _) => match self.value_mut(option) {
                Some(mix) => *mix = format!("{mix},{value}"),
                None => self.add_option(option, value),
            },
            Instead::Option("--output", _) if self.verb != "import" && has_file_ending(&value) => {
                self.add_option("--output", Path::new(&value).with_extension("").display().to_string());
            }
            Instead::Option(option, "") => self.add_option(option, value),
            Instead::Option(option, unit) => self.add_option(option, with_unit(&value, unit)),
            Instead::Key(key, unit) => self.add_key(key, unit, value),
            Instead::Size(key, power) => self.add_option("--set", format!("{key}={}", in_units(&value, power))),
            Instead::Workload => self.add_workload(&value),
            Instead::Words(words) => self.options.extend(words.iter().map(|word| (*word).to_owned())),
            Instead::Url(scheme, part) => self.set_url_part(scheme, part, value),
            Instead::Driver => {
                let scheme = if value.starts_with('p') { "postgres" } else { "mysql" };
                self.url.get_or_insert_default().scheme = Some(scheme);
            }
            Instead::Define => self.definitions.push(value),
            Instead::Access => self.add_access(&value),
            Instead::System => self.words.push(folder_of_new_file(value)),
            Instead::Codec => {
                self.is_backup = true;
                self.codecs.extend(value.split(',').map(|word| word.trim().to_owned()));
            }
            Instead::Parameter if value.contains('=') => self.add_option("--set-b", value),
            Instead::Parameter => self.parameter = Some(value),
            Instead::Values => match self.parameter.take() {
                Some(name) => self.add_option("--set", format!("{name}={value}")),
                None => self.unknown.push(name.to_owned()),
            },
            Instead::Other => self.add_other_side(value),
            Instead::Query if is_statement(&value) => self.add_query(&value),
            Instead::Stage => self.add_stage(&value),
            Instead::Query => self.add_option("--queries", value),
            Instead::Page if value.ends_with("html") => {
                self.verb = "report".to_owned();
                self.add_option("-o", value);
            }
            Instead::Page => self.words.extend(Some(value).filter(|value| !value.is_empty())),
            Instead::Encryption => self.is_backup = true,
            Instead::Gate => self.needs_baseline = true,
            Instead::Column(meaning) => self.add_option("--map", format!("{value}={meaning}")),
            Instead::Plan => self.is_only_planned = true,
            Instead::Limit | Instead::LeastRate | Instead::FailIf | Instead::Baseline => {
                self.replace_gate_option(known.instead, value);
            }
            Instead::Change | Instead::Undo if value.is_empty() => {}
            Instead::Change | Instead::Undo if is_url(&value) => self.words.push(value),
            Instead::Change => self.add_option("--change", value),
            Instead::Undo => self.add_option("--undo", value),
            Instead::Label => self.label = Some(value),
            Instead::Candidate => self.candidate = Some(value),
            Instead::Junit if self.verb == "gate" => {
                self.add_option("--format", "junit".to_owned());
                self.redirect = Some(value);
            }
            Instead::Junit => self.junit = Some(value),
        }
    }

    /// Adds a key of the plan with its value, of which several are a list.
    fn add_key(&mut self, key: &str, unit: &str, value: String) {
        if unit == "ms" && model::duration::parse(&with_unit(&value, unit)).is_err() {
            // hyperfine's lists of parameters.
            self.words.push(value);
        } else if value.contains(',') {
            self.add_option("--set", format!("{key}=[{}]", value.replace(',', ", ")));
        } else {
            self.add_option("--set", format!("{key}={}", with_unit(&value, unit)));
        }
    }

    /// Adds what the first side is compared with: another system, or a setting.
    fn add_other_side(&mut self, value: String) {
        if is_setting(&value) && !is_url(&value) {
            self.add_option("--set-b", value);
        } else {
            self.words.push(value);
        }
    }

    /// Adds the clients of a step, `5s:10`, to those that are measured.
    fn add_stage(&mut self, stage: &str) {
        let clients = stage.rsplit(':').next().unwrap_or_default();
        match self.value_mut("--clients") {
            Some(all) => *all = format!("{all},{clients}"),
            None => self.add_option("--clients", clients.to_owned()),
        }
    }

    /// Adds a query that was typed as text, which is to be put into a file.
    fn add_query(&mut self, query: &str) {
        self.add_note(&format!("write it into a file: `echo {} > q.sql`", shell_quote(query)));
        self.add_option("--queries", "q.sql".to_owned());
    }

    /// Adds what a gate has in place of another tool's option.
    fn replace_gate_option(&mut self, instead: Instead, value: String) {
        match instead {
            Instead::LeastRate => self.add_gate_option(["--limit".to_owned(), format!("tps >= {value}")]),
            // A gate does so by itself.
            Instead::FailIf if ["", "regression", "slower"].contains(&value.trim()) => {
                self.needs_baseline = For::for_verb(&self.verb) == Some(For::Measuring);
            }
            Instead::FailIf => self.add_gate_option(gate_option(&value)),
            // Two systems are run together, the baseline as A.
            Instead::Baseline if is_url(&value) => self.words.insert(0, value),
            // The last one is then the run that is judged.
            Instead::Baseline if value == "last" && For::for_verb(&self.verb) == Some(For::Measuring) => {
                self.add_gate_option(["--baseline".to_owned(), "last~1".to_owned()]);
            }
            Instead::Baseline => self.add_gate_option(["--baseline".to_owned(), value]),
            _ => self.add_gate_option(["--limit".to_owned(), as_limit(&value)]),
        }
    }

    /// Adds the time of the whole experiment, once.
    fn add_time(&mut self, value: &str) {
        if !self.has_option(&["--for"]) {
            self.add_option("--for", with_unit(value, "s"));
        }
    }

    /// Adds the script of étalon's that a benchmark's name means, or says which plan has what étalon calls otherwise.
    fn add_workload(&mut self, name: &str) {
        let catalog = conductor::Registry::built_in().catalog();
        let script = if name == "tpcb" { "tpcb-like" } else { name };
        if crate::ask::words::built_in_script(script, &catalog).is_some() {
            self.add_option("--script", script.to_owned());
        } else if ["tpcc", "tpc-c", "tprocc", "tproc-c", "order-entry"].contains(&name.to_lowercase().as_str()) {
            self.add_note(
                "orders of warehouses are the plan `order-entry`: `etalon run order-entry --system a=URL --system b=URL`; \
                 this line has étalon's usual scripts",
            );
        } else {
            self.add_note(&format!("`{name}` is left out"));
        }
    }

    /// Adds an option of a gate: to the gate that follows a line that measures, else to the line itself.
    fn add_gate_option(&mut self, option: [String; 2]) {
        let options =
            if For::for_verb(&self.verb) == Some(For::Measuring) { &mut self.judged } else { &mut self.options };
        options.extend(option);
    }

    /// Guesses which of a verb's own options an unknown one means, and notes the guess, or that there is none.
    fn guess_option<'c>(&mut self, command: &'c Command, name: &str) -> Option<&'c Arg> {
        self.strange.push(name.to_owned());
        let longs: Vec<String> =
            command.get_arguments().filter_map(Arg::get_long).map(|long| format!("--{long}")).collect();
        let open =
            longs.iter().filter(|long| !NEVER_PROPOSED.contains(&long.as_str()) && !self.has_option(&[long.as_str()]));
        let near = name.strip_prefix("--").and_then(|bare| nearest(bare, open.map(|long| &long[2..])));
        let near = near.map(|bare| format!("--{bare}"));
        match &near {
            Some(near) => self.add_note(&format!("`{name}` may be `{near}`")),
            None => self.unknown.push(name.to_owned()),
        }
        near.and_then(|near| argument_named(command, &near))
    }

    /// The value of an option that the line has, to be changed.
    pub fn value_mut(&mut self, option: &str) -> Option<&mut String> {
        let at = self.options.iter().position(|known| known == option)?;
        self.options.get_mut(at + 1)
    }

    /// Appends an option and its value to the line.
    pub fn add_option(&mut self, option: &str, value: String) {
        self.options.extend([option.to_owned(), value]);
    }

    /// Leaves out the format of other tools' files, which are recognised: that of a comparison says how it is printed.
    pub fn drop_format_of_files(&mut self) {
        let is_of_files = !self.words.is_empty() && self.words.iter().all(|word| is_foreign_file(word));
        if let Some(at) = self.options.iter().position(|option| is_of_files && option == "--format") {
            let dropped: Vec<String> = self.options.drain(at..(at + 2).min(self.options.len())).collect();
            self.strange.push(dropped.join(" "));
        }
    }

    /// Adds a note, unless it is empty or already there.
    pub fn add_note(&mut self, about: &str) {
        if !about.is_empty() && !self.about.iter().any(|known| known == about) {
            self.about.push(about.to_owned());
        }
    }

    /// Records a part of a system's URL that an option names, such as its host or its port, and the scheme if it says that, too.
    fn set_url_part(&mut self, scheme: Option<&'static str>, part: Part, value: String) {
        // `-p` is the password of MySQL's clients.
        if matches!(part, Part::Port) && !value.bytes().all(|byte| byte.is_ascii_digit()) {
            return;
        }
        if matches!(part, Part::Database) && value.ends_with(['s', 'm']) && model::duration::parse(&value).is_ok() {
            self.add_time(&value);
            return;
        }
        let url = self.url.get_or_insert_default();
        url.scheme = scheme.or(url.scheme);
        *match part {
            Part::Host => &mut url.host,
            Part::Port => &mut url.port,
            Part::User => &mut url.user,
            Part::Database => &mut url.database,
        } = Some(value);
    }

    /// Adds the keys for fio's `--rw`, such as `randread` or `readwrite`: what is done, and in which order.
    fn add_access(&mut self, value: &str) {
        let (pattern, op) = match value.strip_prefix("rand") {
            Some(op) => ("random", op),
            None => ("sequential", value),
        };
        let op = if matches!(op, "rw" | "readwrite") { "mixed" } else { op };
        self.is_mixed |= op == "mixed";
        self.add_option("--set", format!("benchmarks.*.op={op}"));
        self.add_option("--set", format!("benchmarks.*.pattern={pattern}"));
    }

    /// Puts what several words said into one option or URL, and makes systems of files.
    fn finish(&mut self, etalon: &Command) {
        if !self.definitions.is_empty() {
            let definitions = std::mem::take(&mut self.definitions).join(", ");
            self.add_option("--set", format!("define={definitions}"));
        }
        if self.is_mixed && !self.options.iter().any(|option| option.starts_with("benchmarks.*.read_percent=")) {
            // fio's own share.
            self.add_option("--set", "benchmarks.*.read_percent=50".to_owned());
        }
        self.put_codecs();
        self.take_most_clients();
        if let Some(mut url) = self.url.take() {
            self.take_parts(&mut url);
            self.place_url(&url);
        }
        if For::for_verb(&self.verb) == Some(For::Measuring) {
            self.split_sides();
        }
        if self.has_option(&["--set-a", "--set-b"]) {
            self.words.dedup();
        }
        if let Some(label) = self.label.take() {
            self.words = label_files(&label, &self.words);
        }
        match For::for_verb(&self.verb) {
            Some(For::Measuring) => {
                // `--json FILE` of other tools.
                if self.has_option(&["--json"]) {
                    self.redirect = self.words.extract_if(.., |word| is_missing_json(word)).next();
                }
                let queries: Vec<String> = self.words.extract_if(.., |word| is_statement(word)).collect();
                queries.iter().for_each(|query| self.add_query(query));
                self.words.iter_mut().for_each(|word| *word = as_system(word));
                self.take_baseline();
                self.take_threads_as_clients();
                self.add_undo();
            }
            Some(For::Gate | For::Compare | For::Report) => self.place_stores(),
            // The tool is recognised.
            Some(For::Import) => {
                let tools = formats::reader::READERS.iter().map(|reader| reader.name).collect::<Vec<_>>();
                self.words.retain(|word| Path::new(word).exists() || !tools.contains(&word.as_str()));
            }
            _ => {}
        }
        if self.is_only_planned && self.verb != "plan" {
            self.verb = "plan".to_owned();
            if let Some(plan) = etalon.find_subcommand("plan") {
                self.drop_options(plan);
            }
        }
    }

    /// Compares the run of a single system with the one before it, where a gate is to fail on a regression.
    fn take_baseline(&mut self) {
        self.needs_baseline |= self.judged.iter().any(|option| option == "--max-regression");
        let systems = self.words.iter().filter(|word| is_url(word)).count();
        let is_settled = self.judged.iter().any(|option| option == "--baseline") || systems > 1;
        if self.needs_baseline && !is_settled && !self.has_option(&["--set-a", "--set-b", "--change"]) {
            self.judged.splice(0..0, ["--baseline".to_owned(), "last~1".to_owned()]);
        }
        self.is_gated |= self.needs_baseline;
    }

    /// Makes the end of a range of clients, as in `1..64`, the most that a search for a capacity tries.
    fn take_most_clients(&mut self) {
        let has_promise = self.verb == "capacity" || self.has_option(&["--p99"]);
        let at = self.options.iter().position(|option| matches!(option.as_str(), "-c" | "--clients"));
        if let (Some(at), true) = (at, has_promise)
            && let Some((_, most)) =
                self.options.get(at + 1).and_then(|range| range.split_once("..").or(range.split_once('-')))
        {
            let most = most.trim_start_matches('=').to_owned();
            self.options.splice(at..at + 2, ["--max-clients".to_owned(), most]);
        }
    }

    /// Drops the options that a command does not take.
    fn drop_options(&mut self, command: &Command) {
        let mut kept = Vec::new();
        let mut options = std::mem::take(&mut self.options).into_iter().peekable();
        while let Some(name) = options.next() {
            let value = options.next_if(|next| !is_option(next));
            if argument_named(command, split_option(&name).0).is_some() {
                kept.push(name);
                kept.extend(value);
            }
        }
        self.options = kept;
    }

    /// Moves a whole URL from the database part to the words, or takes a bare name among them as the database.
    /// Clients of databases take both.
    fn take_parts(&mut self, url: &mut Url) {
        if let Some(whole) = url.database.take_if(|name| name.contains("://")) {
            self.words.push(whole);
        } else if url.database.is_none()
            && let Some(at) = self.words.iter().position(|word| is_database_name(word))
        {
            url.database = Some(self.words.remove(at));
        }
    }

    /// Puts the URL in place of a server's name such as `mysql` among the words, else in front of them.
    fn place_url(&mut self, url: &Url) {
        let names_system = self.has_option(&["--system"]) || self.words.iter().any(|word| is_url(word));
        if url.is_empty() && (!self.is_client || names_system) {
            return;
        }
        let named =
            self.words.iter().position(|word| matches!(word.as_str(), "postgres" | "postgresql" | "mysql" | "mariadb"));
        let scheme = match named.map(|at| self.words[at].as_str()) {
            Some("mysql" | "mariadb") => "mysql",
            Some(_) => "postgres",
            None => url.scheme.unwrap_or("postgres"),
        };
        let user = url.user.as_ref().map_or_else(String::new, |user| format!("{user}@"));
        let port = url.port.as_ref().map_or_else(String::new, |port| format!(":{port}"));
        let host = url.host.as_deref().unwrap_or(if self.is_client { "" } else { "localhost" });
        let url = format!("{scheme}://{user}{host}{port}/{}", url.database.as_deref().unwrap_or_default());
        match named {
            Some(at) => self.words[at] = url,
            None => self.words.insert(0, url),
        }
    }

    /// Appends the candidate's store to the words; a gate's first of two stores becomes `--baseline`.
    fn place_stores(&mut self) {
        self.words.extend(self.candidate.take());
        let names = self.words.iter_mut().chain(&mut self.options);
        let renamed = names.map(rename_as_store).filter(|is_renamed| *is_renamed).count();
        if renamed > 0 {
            self.add_note("what `etalon run` keeps is a store, a file that ends in `.etalon`");
        }
        if self.verb == "gate" && self.words.len() == 2 && !self.words.iter().all(|word| is_foreign_file(word)) {
            self.add_note("`etalon gate` takes the candidate's store, and the other as `--baseline`");
            let baseline = self.words.remove(0);
            if is_store(&baseline) || Path::new(&baseline).exists() {
                self.add_option("--baseline", baseline);
            }
        }
    }

    /// The line's words as `etalon` gets them: the verb, the words and the options.
    pub fn arguments(&self) -> Vec<String> {
        let verb = std::iter::once(self.verb.clone());
        verb.chain(self.words.iter().cloned()).chain(self.options.iter().cloned()).collect()
    }

    /// The line as it is typed into a shell, with its redirection.
    pub fn typed_text(&self) -> String {
        let redirect = self.redirect.as_ref().map_or_else(String::new, |file| format!(" > {}", shell_quote(file)));
        format!("{}{redirect}", typed_line(&self.arguments()))
    }

    /// Whether the line has one of these options.
    pub fn has_option(&self, names: &[&str]) -> bool {
        self.options.iter().any(|option| names.contains(&split_option(option).0))
    }
}

/// `etalon` with these words, quoted for a shell. Passwords are masked.
pub fn typed_line(arguments: &[impl AsRef<str>]) -> String {
    let words = arguments.iter().map(|word| shell_quote(&mask_passwords(word.as_ref())));
    std::iter::once("etalon".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

/// Masks passwords of URLs, also of one without a scheme, as `me:secret@host/db`.
/// A drive has one letter.
pub fn mask_passwords(word: &str) -> String {
    let word = model::plan::redact_url(word);
    let login = word.rsplit_once('@').and_then(|(login, place)| Some((login.split_once(':')?.0, place)));
    match login {
        Some((user, place)) if user.len() > 1 && !word.contains("://") => format!("{user}:***@{place}"),
        _ => word,
    }
}

/// Quotes a word for a shell, where it needs that.
pub fn shell_quote(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:@,=+%~".contains(&byte);
    if !(word.is_empty() || word.starts_with('~')) && word.bytes().all(is_plain) {
        return word.to_owned();
    }
    shlex::try_quote(word).map_or_else(|_| word.to_owned(), std::borrow::Cow::into_owned)
}

/// Tests whether a word starts with `-` and is longer.
pub fn is_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-')
}

/// Whether a word is a file of JSON that is not there.
fn is_missing_json(word: &str) -> bool {
    word.ends_with(".json") && !Path::new(word).exists()
}

/// Gives a file of JSON that is not there the ending of a store; whether it did.
pub fn rename_as_store(word: &mut String) -> bool {
    let is_missing = is_missing_json(word);
    if is_missing {
        *word = Path::new(word.as_str()).with_extension(store::EXTENSION).display().to_string();
    }
    is_missing
}

/// Whether a path names a file by its ending, where a folder is asked for.
fn has_file_ending(path: &str) -> bool {
    let endings = ["html", "json", "csv", "txt", "md", "xml", store::EXTENSION];
    !Path::new(path).is_dir()
        && Path::new(path).extension().is_some_and(|ending| endings.iter().any(|known| ending == *known))
}

/// Whether a value is a response time, as `20ms` or `p99=20ms`, and no folder.
fn is_response_time(value: &str) -> bool {
    let time = value.rsplit(['<', '=']).next().unwrap_or_default();
    !Path::new(value).exists() && model::duration::parse(time).is_ok()
}

/// Whether a value is a query, and no file of it.
fn is_statement(value: &str) -> bool {
    let first = value.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
    value.contains(' ') && ["select", "with", "values", "table", "explain"].contains(&first.as_str())
}

/// Whether a word can be a database's name and nothing else.
fn is_database_name(word: &str) -> bool {
    let is_plain = word.chars().all(|letter| letter.is_alphanumeric() || "_-".contains(letter));
    is_plain && !Path::new(word).exists() && is_strange(word)
}

/// Splits `--option=value` or `-Tvalue` into the option's name and its value, if it has one.
fn split_option(word: &str) -> (&str, Option<&str>) {
    if word.starts_with("--") {
        return word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
    }
    let end = word.char_indices().nth(2).map_or(word.len(), |(at, _)| at);
    let (name, value) = word.split_at(end);
    (name, (!value.is_empty()).then(|| value.trim_start_matches('=')))
}

/// Finds a command's argument by its option: `--long`, an alias of it, or `-s`.
fn argument_named<'c>(command: &'c Command, name: &str) -> Option<&'c Arg> {
    command.get_arguments().find(|argument| match name.strip_prefix("--") {
        Some(long) => {
            argument.get_long() == Some(long)
                || argument.get_all_aliases().is_some_and(|aliases| aliases.contains(&long))
        }
        None => argument.get_short().is_some_and(|short| name.strip_prefix('-') == Some(short.to_string().as_str())),
    })
}

/// Whether an argument is followed by a value.
fn takes_value(argument: &Arg) -> bool {
    argument.get_action().takes_values()
}

/// Finds the option of another tool that has this name and that a verb knows.
fn other_option(verb: &str, name: &str) -> Option<&'static OtherOption> {
    let verbs = For::for_verb(verb)?;
    OPTIONS.iter().find(|known| known.verbs == verbs && known.names.contains(&name))
}

//! Private servers.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use host::process::{ServerSpec, StopSignal, User};
use model::plan::{Connect, PrivateServer};
use model::{Facts, Value};

use super::confine;
use super::connect::Endpoint;
use super::keys;
use super::programs::{Installer, Product, Programs};
use super::read_back::{self, Account};
use super::session::{self, option_variable};
use super::url::{Address, Place};
use crate::mysql::lane::Client;
use crate::server::private::{
    self, FolderRequirements, Folders, Habits, Recipe, ServerLogWords, SocketUse, give_to_user, server_failure,
    start_on_free_port, without_variables,
};
use crate::server::settings::{refuse_own, refuse_reserved, tried_to_set, unknown_setting_failure};
use crate::server::system::Purpose;
use crate::server::{LOOPBACK, random_password};
use load::error::{Failure, FailureKind};
use workloads::system::OpenRequest;

/// Made by the installation; reached by a socket in a private folder.
const ROOT: &str = "root";
/// Made for TCP, where everybody on this machine reaches the port.
const ACCOUNT: &str = "etalon";
const SOCKET_NAME: &str = "mysql.sock";
/// Names its folder for temporary files.
const TEMPORARY: &str = "tmp";
/// Init file next to the socket, run before the first client; and étalon's keys, if any.
const FIRST_WORDS: &str = "init.sql";
const KEYS: &str = "keys.txt";

/// Required for isolation.
const OWN_SETTINGS: [&str; 20] = [
    "basedir",
    "bind_address",
    "daemonize",
    "datadir",
    "defaults_extra_file",
    "defaults_file",
    "extra_port",
    "init_file",
    "log_error",
    "mysqlx",
    "pid_file",
    "port",
    "read_only",
    "skip_grant_tables",
    "skip_name_resolve",
    "skip_networking",
    "socket",
    "super_read_only",
    "tmpdir",
    "user",
];

/// The setting that turns on counters of InnoDB that are off by default.
const MONITOR: &str = "innodb_monitor_enable";

/// Fixed when files are made.
const SHAPING: [&str; 6] = [
    "innodb_checksum_algorithm",
    "innodb_data_file_path",
    "innodb_log_file_size",
    "innodb_page_size",
    "innodb_undo_tablespaces",
    "lower_case_table_names",
];

/// Would change the programs' behaviour.
const VARIABLES: [&str; 8] = [
    "MYSQL_HOME",
    "MARIADB_HOME",
    "MYSQL_UNIX_PORT",
    "MYSQL_TCP_PORT",
    "MYSQL_GROUP_SUFFIX",
    "MYSQL_PWD",
    "MYSQL_HOST",
    "TMPDIR",
];

const HABITS: Habits = Habits {
    words: ServerLogWords { is_full: says_disk_full, last: last_words, lingers: |_| false },
    timeout: Duration::from_mins(3),
    stop: StopSignal::Terminate,
    end: StopSignal::Kill,
    cold: &["--innodb-buffer-pool-load-at-startup=OFF"],
};

pub(crate) struct MySqlRecipe {
    programs: Programs,
    settings: BTreeMap<String, Value>,
    /// Password of the account for clients that may not be root.
    password: Option<String>,
}

pub(super) type Private = private::Private<MySqlRecipe>;

impl Recipe for MySqlRecipe {
    type Endpoint = Endpoint;

    const ELSEWHERE: &'static [&'static str] = &[
        "innodb_data_file_path",
        "innodb_data_home_dir",
        "innodb_directories",
        "innodb_log_group_home_dir",
        "innodb_undo_directory",
        "log_bin",
        "log_bin_basename",
    ];

    /// Makes the data folder of a private server with the plan's settings, and starts it.
    fn start_server(server: &PrivateServer, request: &OpenRequest<'_>) -> Result<(Private, Endpoint), Failure> {
        let OpenRequest { scratch_base, listen, permits, .. } = request;
        let settings = &request.system.settings;
        for (name, value) in settings {
            let (name, value) = (session::plain_name(name), session::setting_text(value));
            refuse_own(
                OWN_SETTINGS
                    .iter()
                    .find(|own| option_variable(own) == option_variable(&name))
                    .unwrap_or(&name.as_str()),
                &value,
                &OWN_SETTINGS,
            )?;
            refuse_reserved(option_variable(&name), &value, session::RESERVED)?;
        }
        let bin_dir = permits.check_private_server(server, Product::WORDS, settings, &confine::SETTINGS)?;
        let programs =
            Programs::find_release(Product::from_word(&server.engine), bin_dir.as_deref(), server.version.as_deref())?;
        let user = server_user()?;
        let folders = make_folders(scratch_base.as_deref(), server.connect, user.as_ref())?;
        initialise_data(&programs, &folders, settings, user.as_ref())?;
        if keys::is_key_file_wanted(settings) {
            keys::make_key_file(&folders.next_to_socket(KEYS), user.as_ref())?;
        }
        let mut private = Private::in_folders(programs, settings, folders, user);
        private.recipe.password = permits.are_bounded().then(random_password);
        let endpoint = match server.connect {
            Connect::Socket => private.start_on_socket()?,
            Connect::Tcp => private.start_on_port(listen.as_deref())?,
        };
        Ok((private, endpoint))
    }

    /// How MySQL's servers start, stop and write their logs.
    fn habits(&self) -> Habits {
        HABITS
    }

    /// Fails if no session can be opened on the started server.
    fn try_login(&self, endpoint: &Endpoint) -> Result<(), Failure> {
        endpoint.open_client(Purpose::Control).map(Client::close_and_wait)
    }

    /// Reads back which settings the started server has beyond its `arguments`.
    fn unplanned_settings(
        &self,
        endpoint: &Endpoint,
        _data: &Path,
        arguments: &[OsString],
    ) -> Result<Vec<String>, Failure> {
        let account = if self.password.is_some() { Account::Bounded } else { Account::Strong };
        let mut client = endpoint.open_client(Purpose::Control)?;
        let strays = read_back::unplanned_settings(&mut client, account, arguments);
        client.close_and_wait();
        strays
    }

    /// Makes the failure of a server that did not start, from its log.
    fn explain_log(&self, log: &str) -> Failure {
        let tried = "start the private server";
        let unknown_name = ["unknown variable '", "unknown option '"].iter().find_map(|before| {
            let (_, rest) = log.split_once(before)?;
            rest.split(['\'', '=']).next().map(|name| session::plain_name(name.trim_start_matches('-')))
        });
        if let Some(name) = unknown_name {
            let value = self.settings.iter().find(|(known, _)| session::plain_name(known) == name);
            let value = value.map(|(_, value)| session::setting_text(value)).unwrap_or_default();
            return unknown_setting_failure(
                "the server",
                &name,
                &value,
                self.programs.setting_names().iter().map(String::as_str),
            );
        }
        let failure = HABITS.words.explain_log(tried, log);
        if failure.kind == FailureKind::DiskFull {
            return failure;
        }
        if log.contains("Cannot allocate memory") || log.contains("Out of memory") {
            return failure.with_hint("ask for less memory: `innodb_buffer_pool_size` in the system's `settings`");
        }
        if log.contains("io_setup() failed with EAGAIN") {
            return failure.with_hint(
                "other servers use all of the kernel's asynchronous requests: end them, raise `fs.aio-max-nr`, or set \
                 `innodb_use_native_aio = \"OFF\"` in the `settings` of every system",
            );
        }
        let said = session::plain_name(log);
        if self.settings.keys().any(|name| said.contains(&session::plain_name(name))) {
            let of_the_plan = Failure { kind: FailureKind::Plan, ..failure };
            return of_the_plan.with_hint("correct the system's `settings` in the plan");
        }
        failure
    }

    /// Adds how the server was made, and by which programs.
    fn add_facts(&self, facts: &mut Facts) {
        facts.record_identity("server.made_by", format!("étalon: {}", self.programs.installation_command()));
        facts.record_passing("server.programs", self.programs.server.display().to_string());
    }
}

impl Private {
    /// Prepares a server without data in `base`, with this one's programs, settings and key file.
    pub(super) fn prepare_dataless_twin(&self, base: &Path) -> Result<Private, Failure> {
        let mut twin = Private::prepare_empty(self.recipe.programs.clone(), &self.recipe.settings, base)?;
        twin.recipe.password = self.recipe.password.clone();
        if keys::is_key_file_wanted(&self.recipe.settings) {
            let (own, twins) = (self.running.folders()?, twin.running.folders()?);
            keys::copy_key_file(&own.next_to_socket(KEYS), &twins.next_to_socket(KEYS), twin.user())?;
        }
        Ok(twin)
    }

    /// Starts an empty server in `base` with this one's programs and settings.
    pub(super) fn start_empty_twin(&self, base: &Path) -> Result<(Private, Endpoint), Failure> {
        let mut private = self.prepare_dataless_twin(base)?;
        initialise_data(
            &private.recipe.programs,
            private.running.folders()?,
            &private.recipe.settings,
            private.user(),
        )?;
        let endpoint = private.start_on_socket()?;
        Ok((private, endpoint))
    }

    /// Starts an empty server of a product in `base` with default settings.
    pub(super) fn start_fresh(product: Product, base: &Path) -> Result<(Private, Endpoint), Failure> {
        Private::prepare_empty(Programs::find_release(product, None, None)?, &BTreeMap::new(), base)?
            .start_empty_twin(base)
    }

    /// Makes the folders of a server without data, to restore into; nothing is started.
    fn prepare_empty(programs: Programs, settings: &BTreeMap<String, Value>, base: &Path) -> Result<Private, Failure> {
        let user = server_user()?;
        let folders = make_folders(Some(base), Connect::Socket, user.as_ref())?;
        Ok(Private::in_folders(programs, settings, folders, user))
    }

    /// Makes the server's record for programs and folders; nothing is started.
    fn in_folders(
        programs: Programs,
        settings: &BTreeMap<String, Value>,
        folders: Folders,
        user: Option<User>,
    ) -> Private {
        let program = programs.server.clone();
        Private::new(MySqlRecipe { programs, settings: settings.clone(), password: None }, program, folders, user)
    }

    /// Starts the server on restored data, reached by a socket.
    pub(super) fn start_restored(&mut self) -> Result<Endpoint, Failure> {
        self.start_on_socket()
    }

    /// Folders in which programs of the server's release may lie.
    pub(super) fn program_folders(&self) -> Vec<PathBuf> {
        let own = self.recipe.programs.server.parent().map(Path::to_path_buf);
        let base = self.recipe.programs.base.iter().map(|base| base.join("bin"));
        own.into_iter().chain(base).collect()
    }

    /// Release of the server's program, which is asked for it.
    pub(super) fn release(&self) -> Option<String> {
        self.recipe.programs.ask_release()
    }

    /// Starts it again with other settings, on the same data.
    #[cfg(test)]
    pub(super) fn restart_with(&mut self, settings: BTreeMap<String, Value>) -> Result<Endpoint, Failure> {
        self.running.stop_server(HABITS.stop, HABITS.timeout)?;
        self.recipe.settings = settings;
        self.start_on_socket()
    }

    /// Starts the server so that only a socket reaches it, and waits until it answers.
    fn start_on_socket(&mut self) -> Result<Endpoint, Failure> {
        let place = Place::Socket(self.running.folders()?.next_to_socket(SOCKET_NAME));
        self.spec = self.server_spec(&["--skip-networking".to_owned()])?;
        let Some(password) = self.recipe.password.clone() else {
            let endpoint = Endpoint::new(Address::without_tls(place, ROOT, None))?;
            self.spawn_and_wait(&endpoint, &[])?;
            return Ok(endpoint);
        };
        let first_words = self.write_init_file("localhost", &password)?;
        let endpoint = Endpoint::new(Address::without_tls(place, ACCOUNT, Some(&password)))?;
        self.spawn_and_wait(&endpoint, &[format!("--init-file={}", first_words.display())])?;
        remove_init_file(&first_words)?;
        Ok(endpoint)
    }

    /// Starts the server on a free TCP port, with a password, and waits until it answers.
    fn start_on_port(&mut self, listen: Option<&str>) -> Result<Endpoint, Failure> {
        let host = listen.unwrap_or(LOOPBACK);
        let password = self.recipe.password.clone().unwrap_or_else(random_password);
        // The password, which dies with the server, may be used from other hosts.
        let from = if listen.is_some() { "%" } else { LOOPBACK };
        let first_words = self.write_init_file(from, &password)?;
        let endpoint = start_on_free_port(host, |port| {
            let place = Place::Tcp { host: host.to_owned(), port };
            let endpoint = Endpoint::new(Address::without_tls(place, ACCOUNT, Some(&password)))?;
            let own = ["--skip-networking=0".to_owned(), format!("--bind-address={host}"), format!("--port={port}")];
            self.spec = self.server_spec(&own)?;
            self.spawn_and_wait(&endpoint, &[format!("--init-file={}", first_words.display())])?;
            Ok(endpoint)
        })?;
        remove_init_file(&first_words)?;
        Ok(endpoint)
    }

    /// Writes the init file, which makes an account with a password and drops other TCP logins.
    /// It has one statement per line.
    fn write_init_file(&self, from: &str, password: &str) -> Result<PathBuf, Failure> {
        let account = format!("'{ACCOUNT}'@'{from}'");
        let grants = match &self.recipe.password {
            Some(_) => confine::grants_sql(&account),
            None => format!("GRANT ALL ON *.* TO {account} WITH GRANT OPTION;\n"),
        };
        let text = format!(
            "DROP USER IF EXISTS '{ROOT}'@'127.0.0.1';\nDROP USER IF EXISTS '{ROOT}'@'::1';\n\
             CREATE USER IF NOT EXISTS {account} IDENTIFIED BY '{password}';\n{grants}"
        );
        let tried = "write the private server's first password";
        let file = self.running.folders()?.next_to_socket(FIRST_WORDS);
        fs::write(&file, text).map_err(|error| server_failure(tried, error))?;
        give_to_user(&file, self.user()).map_err(|error| server_failure(tried, error))?;
        Ok(file)
    }

    /// Makes the server's command line: the plan's settings, then étalon's own options.
    fn server_spec(&self, own: &[String]) -> Result<ServerSpec, Failure> {
        let folders = self.running.folders()?;
        let mut args = vec!["--no-defaults".to_owned()];
        args.extend(setting_arguments(&self.recipe.settings));
        // The last of an option's values counts, so étalon's own come after the plan's.
        args.extend([
            path_option("datadir", &folders.data_folder()),
            path_option("tmpdir", &folders.scratch_path(TEMPORARY)),
            path_option("socket", &folders.next_to_socket(SOCKET_NAME)),
            path_option("pid-file", &folders.data_folder().join("server.pid")),
            "--skip-name-resolve".to_owned(),
        ]);
        if self.recipe.password.is_some() {
            // A table's `DATA DIRECTORY` would leave the data folder, for which MariaDB asks no privilege.
            args.push("--skip-symbolic-links".to_owned());
        }
        if self.recipe.programs.installer == Installer::Server {
            // X protocol would listen on another port.
            args.push("--mysqlx=OFF".to_owned());
            // MariaDB's default, and twice as fast to fill tables.
            args.push("--local-infile=ON".to_owned());
        }
        if self.recipe.settings.keys().all(|name| session::plain_name(name) != MONITOR) {
            // So that checkpoints are counted, at the cost of an increment for each.
            args.push(format!("--{}=log_checkpoints", MONITOR.replace('_', "-")));
        }
        args.extend(self.recipe.programs.base.iter().map(|base| path_option("basedir", base)));
        if keys::is_key_file_wanted(&self.recipe.settings) {
            args.push(path_option(keys::SETTING, &folders.next_to_socket(KEYS)));
        }
        let spec = folders
            .program_spec(&self.recipe.programs.server, folders.log_path())
            .with_args(args)
            .with_args(own)
            .end_signal(HABITS.end);
        Ok(without_variables(spec, &VARIABLES, self.user()))
    }
}

/// Writes a path as an option `--name=path`.
fn path_option(name: &str, path: &Path) -> String {
    format!("--{name}={}", path.display())
}

/// Writes each setting as one argument.
/// An option file's lines would be read in pieces, and `#` and quotes in them mean more.
fn setting_arguments(settings: &BTreeMap<String, Value>) -> impl Iterator<Item = String> {
    settings.iter().map(|(name, value)| format!("--{}={}", session::plain_name(name), session::setting_text(value)))
}

/// Finds the user whom the server runs as, since it refuses to run as root.
pub(super) fn server_user() -> Result<Option<User>, Failure> {
    private::server_user("the server", "mysql")
}

/// Makes the server's folders, which its user owns.
fn make_folders(base: Option<&Path>, connect: Connect, user: Option<&User>) -> Result<Folders, Failure> {
    Folders::make_folders(&FolderRequirements {
        names: ("mysql", "my"),
        base,
        user,
        // A TCP server also has a socket, and needs it to start.
        socket: if connect == Connect::Socket { SocketUse::Clients } else { SocketUse::Unused },
        socket_name: SOCKET_NAME,
        too_long: "set TMPDIR to a shorter path",
        more: &[TEMPORARY],
    })
}

/// Makes the installation's arguments of those settings that are fixed when files are made.
///
/// # Errors
/// MariaDB's script splits its arguments at blanks and expands patterns in them.
fn shaping_arguments(settings: &BTreeMap<String, Value>) -> Result<Vec<String>, Failure> {
    let shapes = settings.iter().filter(|(name, _)| SHAPING.contains(&option_variable(&session::plain_name(name))));
    shapes
        .map(|(name, value)| {
            let (name, value) = (session::plain_name(name), session::setting_text(value));
            if value.chars().all(|c| c.is_ascii_alphanumeric() || "_-.,:;/+".contains(c)) {
                return Ok(format!("--{name}={value}"));
            }
            let cause = "the installation takes letters, digits and `_-.,:;/+` in its value";
            Err(Failure::new(FailureKind::Plan, tried_to_set(&name, &value), cause))
        })
        .collect()
}

/// Makes the server's data folder by its installation program.
fn initialise_data(
    programs: &Programs,
    folders: &Folders,
    settings: &BTreeMap<String, Value>,
    user: Option<&User>,
) -> Result<(), Failure> {
    let program = match &programs.installer {
        Installer::Script(script) => script,
        Installer::Server => &programs.server,
    };
    let spec = folders
        .program_spec(program, folders.scratch_path("install.log"))
        .with_args(["--no-defaults".to_owned(), format!("--datadir={}", folders.data_folder().display())])
        .with_args(programs.base.iter().map(|base| format!("--basedir={}", base.display())))
        .with_args(shaping_arguments(settings)?);
    let spec = match &programs.installer {
        Installer::Script(_) => spec.with_args(["--auth-root-authentication-method=normal", "--skip-test-db"]),
        Installer::Server => spec.with_args(["--initialize-insecure"]),
    };
    let spec = without_variables(spec, &VARIABLES, user).with_env("TMPDIR", folders.scratch_path(TEMPORARY));
    private::run_installer("the installation", spec, HABITS)
}

/// Removes the init file, which has the first password.
fn remove_init_file(file: &Path) -> Result<(), Failure> {
    fs::remove_file(file).map_err(|error| server_failure("remove the first password", error))
}

/// Whether a log says that the disk is full.
fn says_disk_full(log: &str) -> bool {
    ["No space left", "Errcode: 28", "errno: 28", "error number 28", "Disk is full", "Disk full"]
        .iter()
        .any(|words| log.contains(words))
}

/// Picks a log's last lines with an error, else its last lines, joined by `; `.
fn last_words(log: &str) -> String {
    // Follows from the reason.
    const NOISE: [&str; 4] =
        ["Aborting", "Plugin 'FEEDBACK'", "registration as a STORAGE ENGINE failed", "mysql.plugin"];
    let telling: Vec<&str> = log
        .lines()
        .filter(|line| !NOISE.iter().any(|noise| line.contains(noise)))
        .filter_map(|line| line.find("[ERROR]").map(|at| line[at + "[ERROR]".len()..].trim()))
        .collect();
    let lines: Vec<&str> =
        if telling.is_empty() { log.lines().map(str::trim).filter(|line| !line.is_empty()).collect() } else { telling };
    lines[lines.len().saturating_sub(5)..].join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_setting_is_one_argument() {
        let settings = BTreeMap::from([
            ("innodb-doublewrite".to_owned(), Value::Bool(false)),
            ("sql_mode".to_owned(), Value::Text("A # \"b\\".to_owned())),
        ]);
        let written: Vec<String> = setting_arguments(&settings).collect();
        assert_eq!(written, ["--innodb_doublewrite=OFF", "--sql_mode=A # \"b\\"]);
        assert_eq!(shaping_arguments(&settings).unwrap(), [""; 0]);
    }

    #[test]
    fn an_installation_gets_one_option_for_each_setting() {
        let shape = |name: &str, value: &str| {
            shaping_arguments(&BTreeMap::from([(name.to_owned(), Value::Text(value.to_owned()))]))
        };
        assert_eq!(shape("innodb_page_size", "16K").unwrap(), ["--innodb_page_size=16K"]);
        for name in ["lower_case_table_names", "loose-innodb-page-size"] {
            assert_eq!(shape(name, "0 --plugin-load-add=x").unwrap_err().kind, FailureKind::Plan);
        }
    }

    #[test]
    fn the_reason_is_found_in_a_log() {
        let log = "2026-01-01  8:50:19 0 [Note] starting\n2026-01-01  8:50:19 0 [ERROR] mariadbd: unknown variable 'x=1'\n\
                   2026-01-01  8:50:19 0 [ERROR] Aborting\n";
        assert_eq!(last_words(log), "mariadbd: unknown variable 'x=1'");
        assert_eq!(last_words(""), "");
    }
}

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use host::process::{ServerSpec, StopSignal, User};
use model::plan::{Connect, PrivatePooler, PrivateServer};
use model::{Facts, Value};

use super::bouncer::{self, Bouncer, Front};
use super::confine;
use super::connect::Endpoint;
use super::pooler;
use super::programs::Programs;
use super::read_back;
use super::session;
use super::url::Address;
use crate::postgres::lane::Client;
use crate::server::private::{
    self, FolderRequirements, Folders, Habits, Recipe, ServerLogWords, SocketUse, give_to_user, server_failure,
    start_on_free_port, without_variables,
};
use crate::server::settings::{refuse_own, refuse_reserved, unknown_setting_failure};
use crate::server::{LOOPBACK, random_password};
use load::error::{Failure, FailureKind};
use workloads::system::OpenRequest;

const ROLE: &str = "etalon";
const DATABASE: &str = "postgres";
/// Longest socket name of a server.
const SOCKET_NAME: &str = ".s.PGSQL.65535";
/// A port that is only part of the socket's name.
const SOCKET_PORT: u16 = 5432;

/// Required for isolation.
const OWN_SETTINGS: [&str; 11] = [
    "config_file",
    "data_directory",
    "external_pid_file",
    "hba_file",
    "ident_file",
    "listen_addresses",
    "port",
    "unix_socket_directories",
    "unix_socket_group",
    "unix_socket_permissions",
    "logging_collector",
];

/// Would change the programs' behaviour.
const VARIABLES: [&str; 15] = [
    "PGCLIENTENCODING",
    "PGDATA",
    "PGHOST",
    "PGHOSTADDR",
    "PGPORT",
    "PGUSER",
    "PGDATABASE",
    "PGPASSWORD",
    "PGPASSFILE",
    "PGOPTIONS",
    "PGSERVICE",
    "PGSERVICEFILE",
    "PGSSLMODE",
    "PGTZ",
    "PGDATESTYLE",
];

const HABITS: Habits = Habits {
    words: ServerLogWords { is_full: says_disk_full, last: last_words, lingers: says_old_children },
    timeout: Duration::from_mins(2),
    stop: StopSignal::Fast,
    end: StopSignal::Immediate,
    cold: &[],
};

pub(crate) struct PostgresRecipe {
    programs: Programs,
    settings: BTreeMap<String, Value>,
    login: &'static str,
    /// The superuser's, where clients use another role or go through a pooler.
    pub(super) owner: Option<Endpoint>,
    bouncer: Option<Bouncer>,
    /// The clients' role by the server's own way in, where they go through a pooler.
    pub(super) past_pooler: Option<Endpoint>,
}

pub(super) type Private = private::Private<PostgresRecipe>;

impl Recipe for PostgresRecipe {
    type Endpoint = Endpoint;

    /// Initialises and starts a private server, with a pooler if asked; returns what clients connect to.
    fn start_server(server: &PrivateServer, request: &OpenRequest<'_>) -> Result<(Private, Endpoint), Failure> {
        let OpenRequest { scratch_base, listen, permits, .. } = request;
        let settings = &request.system.settings;
        for (name, value) in settings {
            refuse_own(name, &value.to_string(), &OWN_SETTINGS)?;
            refuse_reserved(name, &value.to_string(), session::RESERVED)?;
        }
        let bin_dir =
            permits.check_private_server(server, super::WORDS, settings, &confine::safe_settings(settings))?;
        let programs = Programs::find(bin_dir.as_deref(), server.version.as_deref())?;
        if server.pooler.is_some() {
            bouncer::find_program()?;
        }
        // A pooler goes by the socket, whichever way its clients come.
        let connect = if server.pooler.is_some() { Connect::Socket } else { server.connect };
        let superuser = if permits.are_bounded() { confine::OWNER } else { ROLE };
        let user = server_user()?;
        let folders = make_folders(scratch_base.as_deref(), connect, user.as_ref())?;
        let password = match connect {
            // The socket's folder is private.
            Connect::Socket => None,
            // Everybody on this machine reaches the port, and the role is a superuser.
            Connect::Tcp => Some(random_password()),
        };
        initialise_data(&programs, &folders, user.as_ref(), superuser, password.as_deref())?;
        let login = if password.is_some() { "scram-sha-256" } else { "trust" };
        let mut private = Private::from_folders(programs, settings, login, folders, user);
        let endpoint = match &password {
            None => private.start_on_socket_as(superuser, DATABASE)?,
            Some(password) => private.start_on_port(superuser, password, listen.as_deref())?,
        };
        let password = if superuser == ROLE { None } else { password.map(|_| random_password()) };
        if superuser != ROLE {
            confine::make_role(&endpoint, ROLE, password.as_deref())?;
        }
        if let Some(pooler) = &server.pooler {
            let clients = private.start_pooler(pooler, server.connect, listen.as_deref(), &endpoint)?;
            private.recipe.owner = Some(endpoint);
            return Ok((private, clients));
        }
        if superuser == ROLE {
            return Ok((private, endpoint));
        }
        let Address { host, port, .. } = &endpoint.address;
        let clients = Endpoint::new(Address::without_tls(host, *port, ROLE, DATABASE, password.as_deref()))?;
        private.recipe.owner = Some(endpoint);
        Ok((private, clients))
    }

    /// Returns how PostgreSQL's servers are started and stopped.
    fn habits(&self) -> Habits {
        HABITS
    }

    /// Fails unless the server lets étalon in, past its pooler.
    fn try_login(&self, endpoint: &Endpoint) -> Result<(), Failure> {
        self.owner.as_ref().unwrap_or(endpoint).open_client("").map(Client::close_and_wait)
    }

    /// Starts the pooler unless it runs.
    fn start_front(&mut self) -> Result<(), Failure> {
        self.bouncer.as_mut().map_or(Ok(()), Bouncer::ensure_running)
    }

    /// Stops the pooler.
    fn stop_front(&mut self) -> Result<(), Failure> {
        self.bouncer.as_mut().map_or(Ok(()), Bouncer::stop_process)
    }

    /// Lists settings of the started server that neither the plan, étalon nor `initdb` gave it.
    fn unplanned_settings(
        &self,
        endpoint: &Endpoint,
        data: &Path,
        arguments: &[OsString],
    ) -> Result<Vec<String>, Failure> {
        let mut client = self.owner.as_ref().unwrap_or(endpoint).open_client("")?;
        let strays = read_back::unplanned_settings(&mut client, data, arguments);
        client.close_and_wait();
        strays
    }

    /// Makes the failure of a start from the log, which may name a wrong setting of the plan.
    fn explain_log(&self, log: &str) -> Failure {
        let tried = "start the private server";
        let between =
            |before: &str| log.split_once(before).and_then(|(_, rest)| rest.split_once('"')).map(|(name, _)| name);
        if let Some(name) = between("unrecognized configuration parameter \"") {
            let value = self.settings.get(name).map(ToString::to_string).unwrap_or_default();
            return unknown_setting_failure(
                session::PRODUCT,
                name,
                &value,
                self.programs.setting_names().iter().map(String::as_str),
            );
        }
        let cause = last_words(log);
        let of_the_plan = between("parameter \"").is_some_and(|name| self.settings.contains_key(name))
            || self.settings.keys().any(|name| cause.contains(&format!("\"{name}\"")));
        if of_the_plan {
            return Failure::new(FailureKind::Plan, tried, cause)
                .with_hint("correct the system's `settings` in the plan");
        }
        let failure = HABITS.words.explain_log(tried, log);
        let no_memory = log.contains("Cannot allocate memory") || log.contains("could not create shared memory");
        match failure.kind {
            FailureKind::Other if no_memory => {
                failure.with_hint("ask for less memory: `shared_buffers` in the system's `settings`")
            }
            _ => failure,
        }
    }

    /// Adds facts of how étalon made the server, its programs and its pooler.
    fn add_facts(&self, facts: &mut Facts) {
        let superuser = self.owner.as_ref().map_or(ROLE, |owner| &owner.address.user);
        facts.record_identity("server.made_by", format!("étalon: {}", initdb_words(self.login, superuser).join(" ")));
        facts.record_passing("server.programs", self.programs.folder.display().to_string());
        if let Some(bouncer) = &self.bouncer {
            bouncer.add_facts(facts);
        }
    }
}

#[cfg(test)]
impl PostgresRecipe {
    pub(super) fn pooler_pid(&self) -> Option<u32> {
        self.bouncer.as_ref().and_then(Bouncer::pid)
    }
}

impl Private {
    /// Makes an uninitialised server in `base` with this one's programs and settings.
    pub(super) fn make_empty_twin(&self, base: &Path) -> Result<Private, Failure> {
        Private::make_uninitialised(Some(self.recipe.programs.clone()), &self.recipe.settings, base)
    }

    /// Makes an uninitialised server in `base`, to restore into.
    pub(super) fn make_uninitialised(
        programs: Option<Programs>,
        settings: &BTreeMap<String, Value>,
        base: &Path,
    ) -> Result<Private, Failure> {
        let programs = programs.map_or_else(|| Programs::find(None, None), Ok)?;
        let user = server_user()?;
        let folders = make_folders(Some(base), Connect::Socket, user.as_ref())?;
        Ok(Private::from_folders(programs, settings, "trust", folders, user))
    }

    /// Makes a server of these programs, settings and folders; nothing is started.
    fn from_folders(
        programs: Programs,
        settings: &BTreeMap<String, Value>,
        login: &'static str,
        folders: Folders,
        user: Option<User>,
    ) -> Private {
        let program = programs.postgres_path();
        let recipe = PostgresRecipe {
            programs,
            settings: settings.clone(),
            login,
            owner: None,
            bouncer: None,
            past_pooler: None,
        };
        Private::new(recipe, program, folders, user)
    }

    /// Starts a pooler in front of the server, and returns what its clients connect to.
    fn start_pooler(
        &mut self,
        pooler: &PrivatePooler,
        connect: Connect,
        listen: Option<&str>,
        server: &Endpoint,
    ) -> Result<Endpoint, Failure> {
        let bouncer = Bouncer::start(&Front {
            pooler,
            folders: self.running.folders()?,
            user: self.user(),
            connect,
            host: listen.unwrap_or(LOOPBACK),
            server: &server.address,
            role: ROLE,
            connections: self.recipe.settings.get("max_connections"),
        })?;
        let mut endpoint = bouncer.endpoint().clone();
        self.recipe.bouncer = Some(bouncer);
        let Address { host, port, database, .. } = &server.address;
        self.recipe.past_pooler = Some(Endpoint::new(Address::without_tls(host, *port, ROLE, database, None))?);
        let mut client = endpoint.open_client("")?;
        endpoint.pooler = pooler::find_pooler(&mut client, &endpoint)?;
        client.close_and_wait();
        Ok(endpoint)
    }

    /// Returns the folder of the server's programs.
    pub(super) fn bin_dir(&self) -> PathBuf {
        self.recipe.programs.folder.clone()
    }

    /// Replaces the settings files of restored data by étalon's own.
    /// The original's might archive WAL to its archive, or ask for an unknown password. Only étalon can enter the socket's
    /// folder, so any role may log in, and no name is written.
    pub(super) fn replace_restored_settings(&self) -> Result<(), Failure> {
        let tried = "write the restored server's settings";
        let data = self.data_folder()?;
        let files = [
            ("postgresql.conf", String::new()),
            ("postgresql.auto.conf", String::new()),
            ("pg_hba.conf", "local all all trust\n".to_owned()),
            ("pg_ident.conf", String::new()),
        ];
        for (name, text) in files {
            let file = data.join(name);
            fs::write(&file, text).map_err(|error| server_failure(tried, error))?;
            give_to_user(&file, self.user()).map_err(|error| server_failure(tried, error))?;
        }
        Ok(())
    }

    /// Starts a server on restored data, and returns the endpoint of the original's database.
    pub(super) fn start_restored(&mut self, original: &Address) -> Result<Endpoint, Failure> {
        self.start_on_socket_as(&original.user, &original.database)
    }

    /// Starts it again with other settings, on the same data, as the owner.
    #[cfg(test)]
    pub(super) fn restart_with(&mut self, settings: BTreeMap<String, Value>) -> Result<Endpoint, Failure> {
        self.running.stop_server(HABITS.stop, HABITS.timeout)?;
        self.recipe.settings = settings;
        self.start_on_socket_as(confine::OWNER, DATABASE)
    }

    /// Starts the server on its socket, and returns the endpoint of this role and database.
    fn start_on_socket_as(&mut self, role: &str, database: &str) -> Result<Endpoint, Failure> {
        let folder = self.running.folders()?.socket_folder().to_string_lossy().into_owned();
        let endpoint = Endpoint::new(Address::without_tls(&folder, SOCKET_PORT, role, database, None))?;
        let own = [
            ("unix_socket_directories", folder),
            ("listen_addresses", String::new()),
            ("port", SOCKET_PORT.to_string()),
        ];
        self.spec = self.server_spec(&own)?;
        self.spawn_and_wait(&endpoint, &[])?;
        Ok(endpoint)
    }

    /// Starts the server on a free TCP port, and returns the endpoint of this role.
    fn start_on_port(&mut self, role: &str, password: &str, listen: Option<&str>) -> Result<Endpoint, Failure> {
        let host = listen.unwrap_or(LOOPBACK);
        if listen.is_some() {
            // With the password, which dies with the server; owner and backups only locally.
            let line = format!(
                "host all {ROLE} all scram-sha-256\nhost all {role} samehost scram-sha-256\n\
                 host replication {ROLE} samehost scram-sha-256\n"
            );
            let file = self.data_folder()?.join("pg_hba.conf");
            let appended =
                fs::OpenOptions::new().append(true).open(file).and_then(|mut file| file.write_all(line.as_bytes()));
            appended.map_err(|error| server_failure("let clients on other hosts in", error))?;
        }
        start_on_free_port(host, |port| {
            let endpoint = Endpoint::new(Address::without_tls(host, port, role, DATABASE, Some(password)))?;
            let own = [
                ("unix_socket_directories", String::new()),
                ("listen_addresses", host.to_owned()),
                ("port", port.to_string()),
            ];
            self.spec = self.server_spec(&own)?;
            self.spawn_and_wait(&endpoint, &[])?;
            Ok(endpoint)
        })
    }

    /// Makes the command that starts the server with the plan's settings and these.
    fn server_spec(&self, own: &[(&str, String)]) -> Result<ServerSpec, Failure> {
        let folders = self.running.folders()?;
        let planned = self.recipe.settings.iter().map(|(name, value)| format!("{name}={value}"));
        let settings = planned.chain(own.iter().map(|(name, value)| format!("{name}={value}")));
        let spec = folders
            .program_spec(self.recipe.programs.postgres_path(), folders.log_path())
            .with_args(["-D".into(), folders.data_folder().into_os_string()])
            .with_args(settings.flat_map(|setting| ["-c".to_owned(), setting]))
            .end_signal(HABITS.end);
        Ok(without_variables(spec, &VARIABLES, self.user()))
    }
}

/// Finds the user whom PostgreSQL runs as, since it refuses to run as root; `None`: étalon's own.
pub(super) fn server_user() -> Result<Option<User>, Failure> {
    private::server_user("PostgreSQL", "postgres")
}

/// Makes the server's folders, which its user owns.
fn make_folders(base: Option<&Path>, connect: Connect, user: Option<&User>) -> Result<Folders, Failure> {
    Folders::make_folders(&FolderRequirements {
        names: ("postgres", "pg"),
        base,
        user,
        socket: if connect == Connect::Socket { SocketUse::Clients } else { SocketUse::None },
        socket_name: SOCKET_NAME,
        too_long: "write `connect = \"tcp\"`, or set TMPDIR to a shorter path",
        more: &[],
    })
}

/// Returns the words of the `initdb` command, without the data folder and password file.
fn initdb_words<'a>(login: &'a str, superuser: &'a str) -> Vec<&'a str> {
    vec!["initdb", "-A", login, "-U", superuser, "-E", "UTF8", "--locale", "C", "--no-sync"]
}

/// Makes the server's data folder by `initdb`.
fn initialise_data(
    programs: &Programs,
    folders: &Folders,
    user: Option<&User>,
    superuser: &str,
    password: Option<&str>,
) -> Result<(), Failure> {
    let tried = "initialise a private server";
    let mut spec = folders
        .program_spec(programs.initdb_path(), folders.scratch_path("initdb.log"))
        .with_args(&initdb_words(if password.is_some() { "scram-sha-256" } else { "trust" }, superuser)[1..])
        .with_args(["-D".into(), folders.data_folder().into_os_string()]);
    let file = folders.next_to_socket("password");
    if let Some(password) = password {
        fs::write(&file, password).map_err(|error| server_failure(tried, error))?;
        give_to_user(&file, user).map_err(|error| server_failure(tried, error))?;
        spec = spec.with_args(["--pwfile".into(), file.clone().into_os_string()]);
    }
    private::run_installer("initdb", without_variables(spec, &VARIABLES, user), HABITS)?;
    if password.is_some() {
        fs::remove_file(&file).map_err(|error| server_failure(tried, error))?;
    }
    Ok(())
}

/// Tests whether a log says that a killed server's children are still there; they leave a moment later.
fn says_old_children(log: &str) -> bool {
    log.contains("pre-existing shared memory block") || log.contains("postmaster.pid")
}

/// Tests whether a log says that the disk is full.
fn says_disk_full(log: &str) -> bool {
    log.contains("No space left") || log.contains("Check free disk space")
}

/// Extracts the last lines of a log that tell the reason, or else its last ones.
fn last_words(log: &str) -> String {
    const TELLING: [&str; 5] = ["FATAL:", "PANIC:", "DETAIL:", "HINT:", "initdb: error:"];
    // Messages to clients while the server is not available.
    const NOISE: [&str; 4] =
        ["database system is", "terminating connection", "Consistent recovery", "data is corrupted"];
    let telling: Vec<&str> = log
        .lines()
        .filter(|line| !NOISE.iter().any(|noise| line.contains(noise)))
        .filter_map(|line| TELLING.iter().find_map(|word| line.find(word)).map(|at| line[at..].trim()))
        .collect();
    let lines = if telling.is_empty() { log.lines().map(str::trim).collect() } else { telling };
    lines[lines.len().saturating_sub(6)..].join("; ")
}

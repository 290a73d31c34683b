//! JWTs: what an operator's nats-server gives its users, and étalon with them.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use nkeys::KeyPair;
use serde_json::{Value as Json, json};

use crate::nats::{self, Nats, Place, Security};
use crate::scene::Scene;

/// How long an agent may take until it serves.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Operator {
    operator: KeyPair,
    system: KeyPair,
    account: KeyPair,
}

impl Operator {
    pub fn new() -> Operator {
        Operator { operator: KeyPair::new_operator(), system: KeyPair::new_account(), account: KeyPair::new_account() }
    }

    /// For a nats-server's configuration.
    pub fn configuration(&self) -> String {
        let of_operator = json!({ "type": "operator", "version": 2, "system_account": self.system.public_key() });
        let operator = token(&self.operator, &self.operator.public_key(), "étalon's test", of_operator);
        let account = |key: &KeyPair, name: &str, storage: i64| {
            let limits = json!({
                "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true, "conn": -1,
                "leaf": -1, "mem_storage": storage, "disk_storage": storage, "streams": storage, "consumer": storage,
            });
            let nats = json!({ "type": "account", "version": 2, "limits": limits });
            format!("  {}: {}\n", key.public_key(), token(&self.operator, &key.public_key(), name, nats))
        };
        // The system account has no streams.
        format!(
            "operator: {operator}\nsystem_account: {}\nresolver: MEMORY\nresolver_preload: {{\n{}{}}}\n",
            self.system.public_key(),
            account(&self.system, "SYS", 0),
            account(&self.account, "BENCH", -1)
        )
    }

    pub fn creds(&self, user: &str, folder: &Path) -> PathBuf {
        let key = KeyPair::new_user();
        let nats = json!({ "type": "user", "version": 2, "subs": -1, "data": -1, "payload": -1, "pub": {}, "sub": {} });
        let jwt = token(&self.account, &key.public_key(), user, nats);
        let seed = key.seed().unwrap();
        let text = format!(
            "-----BEGIN NATS USER JWT-----\n{jwt}\n------END NATS USER JWT------\n\n-----BEGIN USER NKEY \
             SEED-----\n{seed}\n------END USER NKEY SEED------\n"
        );
        let file = folder.join(format!("{user}.creds"));
        fs::write(&file, text).unwrap();
        file
    }
}

/// A JWT signed with an NKey (<https://docs.nats.io/running-a-nats-service/nats_admin/security/jwt>).
fn token(issuer: &KeyPair, subject: &str, name: &str, nats: Json) -> String {
    let claims = json!({
        "jti": subject, "iat": 1_700_000_000, "iss": issuer.public_key(), "sub": subject, "name": name, "nats": nats,
    });
    let encode = |json: &Json| URL_SAFE_NO_PAD.encode(json.to_string());
    let signed = format!("{}.{}", encode(&json!({ "typ": "JWT", "alg": "ed25519-nkey" })), encode(&claims));
    let signature = URL_SAFE_NO_PAD.encode(issuer.sign(signed.as_bytes()).unwrap());
    format!("{signed}.{signature}")
}

#[test]
fn an_agent_and_a_conductor_with_tokens_run_a_plan() {
    let nats = Nats::start(Security::Tokens, Place::Loopback);
    let scene = Scene::new();
    let (url, agent, conductor) = (nats.url(), nats.creds("client-1"), nats.creds("conductor"));
    let refused = scene.etalon(&["agents", "--nats", &url]);
    assert_eq!(refused.code, 3, "{}", refused.stderr);
    assert!(refused.stderr.to_lowercase().contains("authorization violation"), "{}", refused.stderr);

    let log = scene.path().join("agent.log");
    let args = ["agent", "--nats", &url, "--name", "client-1", "--creds", agent.to_str().unwrap()];
    let mut command = scene.command(&args);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&log).unwrap());
    let mut serving = command.spawn().unwrap();
    let deadline = Instant::now() + PATIENCE;
    let said = || fs::read_to_string(&log).unwrap();
    while !said().contains(" serves") && Instant::now() < deadline && serving.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(20));
    }
    scene.write(
        "plan.toml",
        &format!(
            "name = \"tokens\"\n[fleet]\nnats = \"{url}\"\ncreds = \"{}\"\n[systems.s]\nurl = \"sim:\"\n[[benchmarks]]\n\
             workload = \"transactions\"\nscript = \"select-only\"\nclients_on = \"client-1\"\n[schedule]\nrounds = 2\n\
             warmup = \"0s\"\nduration = \"200ms\"\n",
            conductor.display()
        ),
    );
    let listed = scene.etalon(&["agents", "--nats", &url, "--creds", conductor.to_str().unwrap()]);
    let ran = scene.etalon(&["run", "plan.toml"]);
    serving.kill().unwrap();
    serving.wait().unwrap();
    assert!(listed.code == 0 && listed.stdout.contains("client-1"), "{}{}\n{}", listed.stdout, listed.stderr, said());
    assert_eq!(ran.code, 0, "{}\n{}", ran.stderr, said());
    assert!(ran.stdout.lines().any(|line| line.starts_with("client-1")), "{}", ran.stdout);
    // A key is in no store, report or message.
    let seed = fs::read_to_string(&conductor).unwrap();
    let seed = seed.lines().find(|line| line.starts_with("SU")).unwrap().to_owned();
    assert!(!ran.stdout.contains(&seed) && !ran.stderr.contains(&seed));
    for entry in fs::read_dir(scene.path().join("etalon-results")).unwrap().flatten() {
        let bytes = fs::read(entry.path()).unwrap();
        assert!(!bytes.windows(seed.len()).any(|part| part == seed.as_bytes()), "{}", entry.path().display());
    }
}

/// User and password in the URL, with every character that a URL must encode.
#[test]
fn a_password_in_the_url_is_used_and_never_printed() {
    let (nats, scene) = (Nats::start(Security::Password, Place::Loopback), Scene::new());
    let (plain, encoded) = nats::PASSWORD;
    let agents = |url: &str| {
        let ran = scene.etalon(&["agents", "--nats", url]);
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(!said.contains(plain) && !said.contains(encoded) && !said.contains("hunter2"), "{said}");
        said
    };
    let listed = agents(&nats.url());
    assert!(listed.contains("no agent answers"), "{listed}");
    for wrong in [nats.url().replace(encoded, "hunter2"), nats.url().replace(":hunter2", "hunter2")] {
        let refused = agents(&wrong);
        assert!(refused.contains("cannot connect to the NATS server at nats://127.0.0.1"), "{refused}");
    }
}

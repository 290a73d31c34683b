//! Every way of logging in. The server that plays `caching_sha2_password` is our own, since MariaDB has
//! none; `systems` logs in to a real one.

use rsa::pkcs8::{EncodePublicKey, LineEnding};
use rsa::{Oaep, RsaPrivateKey};
use sha1::Sha1;
use sha2::{Digest, Sha256};
use wire::mysql::{Config, Encryption, Feature, Flavor, Handshake, Identity, Medium, Progress, PublicKey};
use wire::{Security, WireError};

use super::my_client::Client;
use super::my_fuzz::{MYSQL_8, greeting, packet};
use super::my_server::server;

fn config(user: &str, password: &str) -> Config {
    Config { password: Some(password.into()), ..Config::new(user) }
}

fn login(config: Config) -> Result<Client, WireError> {
    Client::connect(server(), config)
}

#[test]
fn passwords_are_proved_in_every_way() {
    for (user, password, method) in [
        ("native", "sécret", "mysql_native_password"),
        ("edward", "secret", "client_ed25519"),
        ("either", "secret", "client_ed25519"),
        ("either", "other", "mysql_native_password"),
        ("empty", "", "mysql_native_password"),
    ] {
        let mut client = login(config(user, password)).unwrap();
        assert_eq!((client.session.authentication.as_str(), client.session.security), (method, Security::Plain));
        assert_eq!(client.column("SELECT user()").len(), 1);
    }
}

#[test]
fn seeds_of_all_shapes_are_understood() {
    // A seed is random: about one in 256 ends in a NUL or has another odd byte where it hurts.
    for _ in 0..100 {
        for (user, password) in [("native", "sécret"), ("edward", "secret"), ("either", "secret"), ("either", "other")]
        {
            if let Err(error) = login(config(user, password)) {
                panic!("{user} {password}: {error}");
            }
        }
    }
}

#[test]
fn tls_is_used_as_asked() {
    for encryption in [Encryption::Prefer, Encryption::Require] {
        for (user, password) in [("tlsonly", "secret"), ("edward", "secret")] {
            let mut client = login(Config { encryption, ..config(user, password) }).unwrap();
            assert_eq!(client.session.security, Security::Tls);
            let cipher = client.column(
                "SELECT VARIABLE_VALUE FROM information_schema.SESSION_STATUS \
                                        WHERE VARIABLE_NAME = 'SSL_CIPHER'",
            );
            assert_ne!(cipher, [Some(String::new())]);
        }
    }
    let refused = login(config("tlsonly", "secret")).err().unwrap();
    assert_eq!(refused.sqlstate().unwrap().as_str(), "28000");
}

#[test]
fn refusals_carry_the_servers_reason() {
    for (user, password) in [("native", "wrong"), ("edward", "wrong"), ("either", "wrong"), ("nobody", "")] {
        let Err(WireError::RefusedByMysql(error)) = login(config(user, password)) else { panic!("{user} is in") };
        assert_eq!((error.code, error.sqlstate.as_str()), (1045, "28000"), "{user}");
    }
    let nowhere = Config { database: Some("nowhere".into()), ..config("native", "sécret") };
    let Err(WireError::RefusedByMysql(error)) = login(nowhere) else { panic!("it is in") };
    assert_eq!((error.code, error.sqlstate.as_str()), (1049, "42000"));
}

#[test]
fn the_handshake_does_not_care_about_chunks() {
    for chunk in [1, 2, 3, 7] {
        for (user, password) in [("native", "sécret"), ("edward", "secret")] {
            let config = Config { encryption: Encryption::Prefer, ..config(user, password) };
            let mut client = Client::connect_with(server(), config, chunk).unwrap();
            assert_eq!(client.column("SELECT 1"), [Some("1".to_owned())]);
        }
    }
}

#[test]
fn the_session_knows_the_server() {
    let attributes = vec![("program_name".to_owned(), "étalon".to_owned())];
    let config = Config { attributes, database: Some("bench".into()), ..config("native", "sécret") };
    let mut client = login(config).unwrap();
    assert_eq!(client.session.flavor, Flavor::MariaDb);
    assert!(client.session.version.starts_with("1"));
    assert!(client.session.caches_metadata());
    assert!(client.session.status.has_autocommit());
    let id = client.session.thread_id.to_string();
    assert_eq!(client.column("SELECT connection_id()"), [Some(id)]);
    assert_eq!(client.column("SELECT database()"), [Some("bench".to_owned())]);
    let without = Config { metadata_cache: Feature::Avoid, ..self::config("native", "sécret") };
    assert!(!login(without).unwrap().session.caches_metadata());
}

const OK: &[u8] = b"\0\0\0\x02\0\0\0";
const SEED: &[u8; 20] = b"abcdefghijklmnopqrst";

/// Logs in to a MySQL 8 that knows `password`. `fast`: it has the password's hash in its cache.
fn caching_sha2(config: Config, password: &str, fast: bool, key: &RsaPrivateKey) -> Result<(), WireError> {
    let mut handshake = Handshake::new(config);
    let mut out = Vec::new();
    handshake.receive(&greeting("caching_sha2_password", MYSQL_8, SEED), &mut out)?;
    let once = Sha256::digest(password);
    let mask = Sha256::new().chain_update(Sha256::digest(once)).chain_update(SEED).finalize();
    let proof: Vec<u8> = once.iter().zip(mask).map(|(a, b)| a ^ b).collect();
    let right = out.windows(33).any(|window| window[0] == 32 && window[1..] == proof);
    if fast {
        assert!(right, "the proof is wrong");
        handshake.receive(&packet(2, &[1, 3]), &mut out)?;
        assert!(matches!(handshake.receive(&packet(3, OK), &mut out)?, Progress::Ready(_)));
        return Ok(());
    }
    out.clear();
    handshake.receive(&packet(2, &[1, 4]), &mut out)?;
    let mut sequence = out[3];
    if out[4..] == [2] {
        let pem = key.to_public_key().to_public_key_pem(LineEnding::LF).unwrap();
        out.clear();
        handshake.receive(&packet(sequence + 1, &[&[1], pem.as_bytes()].concat()), &mut out)?;
        sequence = out[3];
    }
    let clear = match key.decrypt(Oaep::new::<Sha1>(), &out[4..]) {
        Ok(masked) => masked.iter().zip(SEED.iter().cycle()).map(|(a, b)| a ^ b).collect(),
        Err(_) => out[4..].to_vec(),
    };
    assert_eq!(clear, [password.as_bytes(), &[0]].concat());
    assert!(matches!(handshake.receive(&packet(sequence + 1, OK), &mut out)?, Progress::Ready(_)));
    Ok(())
}

#[test]
fn caching_sha2_takes_its_three_ways() {
    let mut random = rand_core::OsRng;
    let key = RsaPrivateKey::new(&mut random, 1024).unwrap();
    const PASSWORD: &str = "a password that is longer than the seed";
    fn over(medium: Medium, public_key: PublicKey) -> Config {
        Config { medium, public_key, ..config("u", PASSWORD) }
    }
    caching_sha2(over(Medium::Network, PublicKey::Refuse), PASSWORD, true, &key).unwrap();
    caching_sha2(over(Medium::Local, PublicKey::Refuse), PASSWORD, false, &key).unwrap();
    caching_sha2(over(Medium::Network, PublicKey::Request), PASSWORD, false, &key).unwrap();
    let pem = key.to_public_key().to_public_key_pem(LineEnding::LF).unwrap();
    caching_sha2(over(Medium::Network, PublicKey::Known(pem)), PASSWORD, false, &key).unwrap();
    let refused = caching_sha2(over(Medium::Network, PublicKey::Refuse), PASSWORD, false, &key);
    assert_eq!(refused, Err(WireError::InsecureTransport));
}

#[test]
fn a_seed_that_ends_in_nul_is_whole() {
    fn proof(seed: &[u8]) -> Vec<u8> {
        let mut handshake = Handshake::new(config("u", "secret"));
        let mut out = Vec::new();
        handshake.receive(&greeting("mysql_native_password", MYSQL_8, SEED), &mut out).unwrap();
        out.clear();
        handshake.receive(&packet(2, &[b"\xfeclient_ed25519\0", seed].concat()), &mut out).unwrap();
        out
    }
    let seed = [&[7; 31][..], &[0]].concat();
    assert_eq!(proof(&seed), proof(&[&seed[..], &[0]].concat()));
    assert_ne!(proof(&seed), proof(&seed[..31]));
}

/// The client's answer over TLS to a server that asks for the password itself.
fn asked_for_the_password(identity: Identity) -> Result<Vec<u8>, WireError> {
    let mut handshake = Handshake::new(Config { encryption: Encryption::Require, identity, ..config("u", "secret") });
    let mut out = Vec::new();
    handshake.receive(&greeting("mysql_native_password", MYSQL_8 | 0x800, SEED), &mut out)?;
    handshake.tls_started(&mut out)?;
    out.clear();
    handshake.receive(&packet(3, b"\xfemysql_clear_password\0"), &mut out)?;
    Ok(out)
}

#[test]
fn only_a_server_that_is_proven_gets_the_password_itself() {
    assert_eq!(asked_for_the_password(Identity::Unproven), Err(WireError::UnprovenServer));
    assert!(asked_for_the_password(Identity::Proven).unwrap().ends_with(b"secret\0"));
}

#[test]
fn a_false_server_gets_no_password() {
    // It asks for the password itself over a network without TLS.
    let mut handshake = Handshake::new(config("u", "secret"));
    let mut out = Vec::new();
    handshake.receive(&greeting("mysql_native_password", MYSQL_8, SEED), &mut out).unwrap();
    out.clear();
    let switch = packet(2, b"\xfemysql_clear_password\0");
    assert!(matches!(handshake.receive(&switch, &mut out), Err(WireError::InsecureTransport)));
    assert!(out.is_empty());
    // It has no TLS although the client wants it.
    let mut handshake = Handshake::new(Config { encryption: Encryption::Require, ..config("u", "secret") });
    let result = handshake.receive(&greeting("mysql_native_password", MYSQL_8, SEED), &mut out);
    assert!(matches!(result, Err(WireError::TlsRefused)));
    let mut handshake = Handshake::new(Config { encryption: Encryption::Require, ..config("u", "secret") });
    let bytes = [greeting("mysql_native_password", MYSQL_8 | 0x800, SEED), packet(2, OK)].concat();
    assert!(matches!(handshake.receive(&bytes, &mut out), Err(WireError::Protocol(_))));
    let mut handshake = Handshake::new(config("u", "secret"));
    handshake.receive(&greeting("mysql_native_password", MYSQL_8, SEED), &mut out).unwrap();
    let switch = packet(2, b"\xfemysql_native_password\0abcdefghijklmnopqrst\0");
    assert!((0..20).any(|_| handshake.receive(&switch, &mut out).is_err()));
    let mut handshake = Handshake::new(config("u", "secret"));
    let Err(WireError::RefusedByMysql(error)) =
        handshake.receive(&packet(0, b"\xff\x10\x04Too many connections"), &mut out)
    else {
        panic!("it is in")
    };
    assert_eq!((error.code, error.sqlstate.as_str()), (1040, "08004"));
}

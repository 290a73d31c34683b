//! SCRAM-SHA-256 (RFC 5802, RFC 7677; 55.3.1).
//!
//! Most of a login's cost is key derivation: thousands of rounds of HMAC. The keys depend only on user, password, salt
//! and iterations, so they are cached across logins.

use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac as _};
use rand_core::{OsRng, RngCore as _};
use sha2::{Digest as _, Sha256};

use crate::{Result, Secret, WireError};

pub(super) const SCRAM_SHA_256: &str = "SCRAM-SHA-256";
pub(super) const SCRAM_SHA_256_PLUS: &str = "SCRAM-SHA-256-PLUS";

/// PostgreSQL's `scram_iterations` may be 2³¹ − 1, a quarter of an hour for a client; OWASP recommends 600,000. This
/// many take seconds, once per user; a server that asks for more only keeps the client busy.
const MOST_ITERATIONS: u32 = 10_000_000;
/// Random bytes in a nonce.
const NONCE_BYTES: usize = 18;
/// Cached key sets: several users are rare.
const KEPT: usize = 8;

type Key = [u8; 32];

#[derive(Clone, Copy)]
struct Keys {
    client: Key,
    server: Key,
}

struct Entry {
    user: String,
    password: Vec<u8>,
    salt: Vec<u8>,
    iterations: u32,
    keys: Keys,
}

/// Derived keys, shared by clones and threads.
#[derive(Clone, Default)]
pub struct ScramCache(Arc<Mutex<Vec<Entry>>>);

impl std::fmt::Debug for ScramCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ScramCache(…)")
    }
}

impl ScramCache {
    /// Derives the keys if not cached. Concurrent callers wait for the first.
    fn keys_for(&self, user: &str, password: &[u8], salt: &[u8], iterations: u32) -> Keys {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = entries.iter().find(|entry| {
            entry.user == user && entry.password == password && entry.salt == salt && entry.iterations == iterations
        });
        if let Some(entry) = known {
            return entry.keys;
        }
        let keys = derive_keys(password, salt, iterations);
        if entries.len() >= KEPT {
            entries.remove(0);
        }
        entries.push(Entry {
            user: user.to_owned(),
            password: password.to_vec(),
            salt: salt.to_vec(),
            iterations,
            keys,
        });
        keys
    }
}

/// How the exchange is tied to the TLS channel, as the GS2 header says it.
pub(super) enum Binding {
    Unsupported,
    /// The client could, but the server does not offer it.
    Unrequested,
    /// The exchange is tied to this hash of the server's certificate.
    EndPoint(Vec<u8>),
}

impl Binding {
    /// What the first message says of channel binding.
    fn gs2_header(&self) -> &'static str {
        match self {
            Binding::Unsupported => "n,,",
            Binding::Unrequested => "y,,",
            Binding::EndPoint(_) => "p=tls-server-end-point,,",
        }
    }

    /// The header and the channel's data, in base64.
    fn to_base64(&self) -> String {
        let mut input = self.gs2_header().as_bytes().to_vec();
        if let Binding::EndPoint(hash) = self {
            input.extend_from_slice(hash);
        }
        STANDARD.encode(input)
    }
}

pub(super) struct Started {
    nonce: String,
    binding: Binding,
}

/// The client whose proof is on its way.
pub(super) struct Proved {
    server_signature: Key,
}

impl Started {
    pub(super) fn new(binding: Binding) -> Result<Started> {
        let mut chance = [0; NONCE_BYTES];
        OsRng.try_fill_bytes(&mut chance).map_err(|error| failed(format!("there is no randomness: {error}")))?;
        Ok(Started { nonce: STANDARD.encode(chance), binding })
    }

    /// The client's first message. The user's name is in the start-up message; here it stays empty.
    pub(super) fn first_message(&self) -> String {
        format!("{}n=,r={}", self.binding.gs2_header(), self.nonce)
    }

    /// Proves to the server that the password is known.
    pub(super) fn prove_password(
        self,
        user: &str,
        password: &Secret,
        cache: &ScramCache,
        server_first: &[u8],
    ) -> Result<(Proved, String)> {
        let text = std::str::from_utf8(server_first).map_err(|_| malformed())?;
        let First { nonce, salt, iterations } = First::parse(text)?;
        if nonce.len() <= self.nonce.len() || !nonce.starts_with(&self.nonce) {
            return Err(failed("the server did not take over the client's nonce"));
        }
        let keys = cache.keys_for(user, &prepare_password(password.expose()), &salt, iterations);
        let bare = format!("c={},r={nonce}", self.binding.to_base64());
        let signed = format!("n=,r={},{text},{bare}", self.nonce);
        let stored: Key = Sha256::digest(keys.client).into();
        let mut proof = hmac(&stored, &[signed.as_bytes()]);
        proof.iter_mut().zip(keys.client).for_each(|(proof, key)| *proof ^= key);
        let message = format!("{bare},p={}", STANDARD.encode(proof));
        Ok((Proved { server_signature: hmac(&keys.server, &[signed.as_bytes()]) }, message))
    }
}

impl Proved {
    /// Checks the server's proof that it knows the password, too.
    pub(super) fn verify_server(&self, server_final: &[u8]) -> Result<()> {
        let text = std::str::from_utf8(server_final).map_err(|_| malformed())?;
        if let Some(error) = text.strip_prefix("e=") {
            return Err(failed(format!("the server says `{}`", error.escape_debug())));
        }
        let verifier = text.strip_prefix("v=").ok_or_else(malformed)?;
        let verifier = verifier.split(',').next().unwrap_or_default();
        let verifier = STANDARD.decode(verifier).map_err(|_| malformed())?;
        // Timing reveals nothing: the sender does not wait for our answer.
        if verifier != self.server_signature {
            return Err(failed("the server's signature is wrong: it does not know the password"));
        }
        Ok(())
    }
}

struct First<'a> {
    nonce: &'a str,
    salt: Vec<u8>,
    iterations: u32,
}

impl<'a> First<'a> {
    /// Reads the server's first message.
    fn parse(text: &'a str) -> Result<First<'a>> {
        let mut parts = text.split(',');
        let mut part = |name: &str| parts.next().and_then(|part| part.strip_prefix(name)).ok_or_else(malformed);
        let (nonce, salt, iterations) = (part("r=")?, part("s=")?, part("i=")?);
        let salt = STANDARD.decode(salt).map_err(|_| malformed())?;
        let iterations = iterations.parse().map_err(|_| malformed())?;
        match iterations {
            0 => Err(malformed()),
            1..=MOST_ITERATIONS => Ok(First { nonce, salt, iterations }),
            _ => Err(failed(format!(
                "the server asks for {iterations} rounds of SCRAM-SHA-256, and étalon works off {MOST_ITERATIONS} at most; \
                 lower `scram_iterations` on the server and set the role's password anew"
            ))),
        }
    }
}

/// The error of a SCRAM exchange that failed.
fn failed(cause: impl Into<String>) -> WireError {
    WireError::Authentication(cause.into())
}

/// The error of a SCRAM message that cannot be read.
fn malformed() -> WireError {
    failed("a SCRAM message is malformed")
}

/// SASLprep (RFC 4013); as in PostgreSQL, what it rejects stays as it is.
fn prepare_password(password: &[u8]) -> Vec<u8> {
    let text = std::str::from_utf8(password).ok().and_then(|text| stringprep::saslprep(text).ok());
    text.map_or_else(|| password.to_vec(), |text| text.into_owned().into_bytes())
}

/// Derives the keys from the password, RFC 5802, section 3.
fn derive_keys(password: &[u8], salt: &[u8], iterations: u32) -> Keys {
    let salted = salted_password(password, salt, iterations);
    Keys { client: hmac(&salted, &[b"Client Key"]), server: hmac(&salted, &[b"Server Key"]) }
}

/// `Hi` of RFC 5802, section 2.2.
fn salted_password(password: &[u8], salt: &[u8], iterations: u32) -> Key {
    let keyed = keyed_hmac_state(password);
    let mut last = keyed_hmac(&keyed, &[salt, &[0, 0, 0, 1]]);
    let mut sum = last;
    for _ in 1..iterations {
        last = keyed_hmac(&keyed, &[&last]);
        sum.iter_mut().zip(last).for_each(|(sum, last)| *sum ^= last);
    }
    sum
}

/// HMAC ready with its key.
#[expect(clippy::expect_used, reason = "HMAC takes keys of any length")]
fn keyed_hmac_state(key: &[u8]) -> Hmac<Sha256> {
    Hmac::<Sha256>::new_from_slice(key).expect("any length is good")
}

/// HMAC with a precomputed key, which is half of the work.
fn keyed_hmac(keyed: &Hmac<Sha256>, parts: &[&[u8]]) -> Key {
    let mut mac = keyed.clone();
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().into()
}

/// HMAC of the parts, one behind the other.
fn hmac(key: &[u8], parts: &[&[u8]]) -> Key {
    keyed_hmac(&keyed_hmac_state(key), parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 7677, section 3, without the user's name, which PostgreSQL leaves empty: the keys are
    /// checked by the proof that the RFC's messages need.
    #[test]
    fn keys_are_those_of_the_rfc() {
        let salt = STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        let keys = derive_keys(b"pencil", &salt, 4096);
        let signed = "n=user,r=rOprNGfwEbeRWgbNEkqO,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                      s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
        let stored: Key = Sha256::digest(keys.client).into();
        let mut proof = hmac(&stored, &[signed.as_bytes()]);
        proof.iter_mut().zip(keys.client).for_each(|(proof, key)| *proof ^= key);
        assert_eq!(STANDARD.encode(proof), "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=");
        assert_eq!(
            STANDARD.encode(hmac(&keys.server, &[signed.as_bytes()])),
            "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
        );
    }

    #[test]
    fn keys_are_derived_once_for_each_salt() {
        let cache = ScramCache::default();
        let twin = cache.clone();
        let first = cache.keys_for("a", b"p", b"salt", 100).client;
        assert_eq!(twin.keys_for("a", b"p", b"salt", 100).client, first);
        assert_eq!(cache.0.lock().unwrap().len(), 1);
        assert_ne!(cache.keys_for("a", b"p", b"salz", 100).client, first);
        assert_ne!(cache.keys_for("a", b"q", b"salt", 100).client, first);
        (0..20).for_each(|n| _ = cache.keys_for("a", b"p", &[n], 1));
        assert_eq!(cache.0.lock().unwrap().len(), KEPT);
        assert!(!format!("{cache:?}").contains("salt"));
    }

    #[test]
    fn what_is_malformed_is_refused() {
        fn prove(message: impl Fn(&str) -> String) -> Result<()> {
            let started = Started::new(Binding::Unsupported).unwrap();
            let text = message(&started.nonce);
            started.prove_password("u", &Secret::new("p"), &ScramCache::default(), text.as_bytes()).map(|_| ())
        }
        assert_eq!(prove(|nonce| format!("r={nonce}x,s=AAAA,i=1")), Ok(()));
        assert_eq!(prove(|nonce| format!("r={nonce}x,s=AAAA,i=200000")), Ok(()));
        for wrong in [
            "",
            "r=x,s=AAAA,i=1",
            "r=NONCE,s=AAAA,i=1",
            "r=NONCEx,s=A,i=1",
            "r=NONCEx,s=AAAA,i=0",
            "r=NONCEx,s=AAAA,i=-1",
            "r=NONCEx,s=AAAA,i=10000001",
            "r=NONCEx,s=AAAA,i=2147483647",
            "r=NONCEx,s=AAAA",
            "m=x,r=NONCEx,s=AAAA,i=1",
        ] {
            assert!(prove(|nonce| wrong.replace("NONCE", nonce)).is_err(), "{wrong}");
        }
        let proved = Proved { server_signature: [0; 32] };
        assert_eq!(proved.verify_server(format!("v={}", STANDARD.encode([0; 32])).as_bytes()), Ok(()));
        for wrong in ["", "v=", "v=AAAA", "v=!", "e=other-error", "x"] {
            assert!(proved.verify_server(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }
}

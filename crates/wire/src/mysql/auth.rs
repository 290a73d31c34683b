//! Proofs of identity ("Authentication Method"; MariaDB knowledge base, "Authentication Plugin - ed25519").

use curve25519_dalek::{EdwardsPoint, Scalar};
use rand_core::OsRng;
use rsa::pkcs8::DecodePublicKey;
use rsa::{Oaep, RsaPublicKey};
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

use crate::{Result, WireError};

use super::config::PublicKey;

/// Seed bytes that the hashing methods use. A NUL may follow; since a seed may itself end in one (ed25519's is any
/// bytes), it is cut by length.
const SEED_BYTES: usize = 20;
/// Seed bytes of ed25519.
const ED25519_SEED_BYTES: usize = 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Plugin {
    Native,
    CachingSha2,
    Ed25519,
    Cleartext,
}

impl Plugin {
    /// The plugin of this name, if it is supported.
    pub(super) fn from_name(name: &[u8]) -> Option<Self> {
        match name {
            b"mysql_native_password" => Some(Self::Native),
            b"caching_sha2_password" => Some(Self::CachingSha2),
            b"client_ed25519" => Some(Self::Ed25519),
            b"mysql_clear_password" => Some(Self::Cleartext),
            _ => None,
        }
    }

    /// The plugin's name in the protocol.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Native => "mysql_native_password",
            Self::CachingSha2 => "caching_sha2_password",
            Self::Ed25519 => "client_ed25519",
            Self::Cleartext => "mysql_clear_password",
        }
    }

    /// First answer to a seed.
    pub(super) fn first_answer(self, password: &[u8], seed: &[u8], channel: Channel) -> Result<Vec<u8>> {
        match self {
            // The empty password has the empty proof.
            Self::Native | Self::CachingSha2 if password.is_empty() => Ok(Vec::new()),
            Self::Native => Ok(native_proof(password, first_bytes(seed, SEED_BYTES))),
            Self::CachingSha2 => Ok(caching_sha2(password, first_bytes(seed, SEED_BYTES))),
            Self::Ed25519 => Ok(sign_ed25519(password, first_bytes(seed, ED25519_SEED_BYTES))),
            Self::Cleartext if channel == Channel::Closed => Err(WireError::UnprovenServer),
            Self::Cleartext => cleartext_answer(password, channel),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Channel {
    Open,
    /// The other side may only pretend to be the server.
    Closed,
    Trusted,
}

/// The password with its NUL, where no one can listen.
pub(super) fn cleartext_answer(password: &[u8], channel: Channel) -> Result<Vec<u8>> {
    if password.contains(&0) {
        return Err(WireError::NulByte("the password"));
    }
    match channel {
        Channel::Closed | Channel::Trusted => Ok([password, &[0]].concat()),
        Channel::Open => Err(WireError::InsecureTransport),
    }
}

/// At most the first `count` bytes.
fn first_bytes(seed: &[u8], count: usize) -> &[u8] {
    seed.get(..count).unwrap_or(seed)
}

/// Combines bytes with a mask, in place.
fn xor_with(bytes: &mut [u8], mask: impl IntoIterator<Item = u8>) {
    for (byte, mask) in bytes.iter_mut().zip(mask) {
        *byte ^= mask;
    }
}

/// "Secure Password Authentication": SHA1(password) XOR SHA1(seed + SHA1(SHA1(password))).
fn native_proof(password: &[u8], seed: &[u8]) -> Vec<u8> {
    let once = Sha1::digest(password);
    let mut proof = Sha1::new().chain_update(seed).chain_update(Sha1::digest(once)).finalize().to_vec();
    xor_with(&mut proof, once);
    proof
}

/// "Caching SHA-2": SHA256(password) XOR SHA256(SHA256(SHA256(password)) + seed).
fn caching_sha2(password: &[u8], seed: &[u8]) -> Vec<u8> {
    let once = Sha256::digest(password);
    let mut proof = Sha256::new().chain_update(Sha256::digest(once)).chain_update(seed).finalize().to_vec();
    xor_with(&mut proof, once);
    proof
}

/// Signs the seed as in RFC 8032, section 5.1.6, except that the secret is a password of any length instead of 32
/// bytes.
fn sign_ed25519(password: &[u8], seed: &[u8]) -> Vec<u8> {
    let hash = Sha512::digest(password);
    let (lower, prefix) = hash.split_at(32);
    let mut secret = [0; 32];
    secret.copy_from_slice(lower);
    let secret = Scalar::from_bytes_mod_order(curve25519_dalek::scalar::clamp_integer(secret));
    let public = EdwardsPoint::mul_base(&secret).compress();
    let nonce = wide_scalar(Sha512::new().chain_update(prefix).chain_update(seed));
    let commitment = EdwardsPoint::mul_base(&nonce).compress();
    let challenge = wide_scalar(
        Sha512::new().chain_update(commitment.as_bytes()).chain_update(public.as_bytes()).chain_update(seed),
    );
    let response = challenge * secret + nonce;
    [*commitment.as_bytes(), response.to_bytes()].concat()
}

/// A hash as a scalar of the curve.
fn wide_scalar(hash: Sha512) -> Scalar {
    Scalar::from_bytes_mod_order_wide(&hash.finalize().into())
}

/// The answer of `caching_sha2_password` on an open channel: the password, masked by the seed and encrypted for the
/// server's
/// key (RSAES-OAEP with SHA-1).
pub(super) fn encrypt_password(password: &[u8], seed: &[u8], key: &[u8]) -> Result<Vec<u8>> {
    let key = std::str::from_utf8(key)
        .ok()
        .and_then(|text| RsaPublicKey::from_public_key_pem(text.trim_end_matches('\0').trim()).ok())
        .ok_or_else(|| WireError::Authentication("the server's public key cannot be read".into()))?;
    let mut masked = [password, &[0]].concat();
    xor_with(&mut masked, first_bytes(seed, SEED_BYTES).iter().copied().cycle());
    key.encrypt(&mut OsRng, Oaep::new::<Sha1>(), &masked)
        .map_err(|_| WireError::Authentication("the password is too long for the server's public key".into()))
}

/// The client's answer to the request for the full proof of `caching_sha2_password`.
pub(super) enum FullProof {
    Send(Vec<u8>),
    AskForKey,
}

/// What proves the password in full: the password on a safe channel, else encrypted by the server's key.
pub(super) fn full_proof(password: &[u8], seed: &[u8], channel: Channel, key: &PublicKey) -> Result<FullProof> {
    match (channel, key) {
        (Channel::Closed | Channel::Trusted, _) => Ok(FullProof::Send(cleartext_answer(password, channel)?)),
        (Channel::Open, PublicKey::Known(pem)) => {
            Ok(FullProof::Send(encrypt_password(password, seed, pem.as_bytes())?))
        }
        (Channel::Open, PublicKey::Request) => Ok(FullProof::AskForKey),
        (Channel::Open, PublicKey::Refuse) => Err(WireError::InsecureTransport),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn the_hashes_satisfy_the_servers_checks() {
        let seed: Vec<u8> = (1..=20).collect();
        // The server knows SHA1(SHA1(password)) and recovers SHA1(password).
        let stored = Sha1::digest(Sha1::digest(b"secret"));
        let mut recovered = native_proof(b"secret", &seed);
        xor_with(&mut recovered, Sha1::new().chain_update(&seed).chain_update(stored).finalize());
        assert_eq!(Sha1::digest(&recovered), stored);
        let stored = Sha256::digest(Sha256::digest(b"secret"));
        let mut recovered = caching_sha2(b"secret", &seed);
        xor_with(&mut recovered, Sha256::new().chain_update(stored).chain_update(&seed).finalize());
        assert_eq!(Sha256::digest(&recovered), stored);
    }

    /// Recorded of a MySQL 8 by the driver `go-sql-driver/mysql`, in its `auth_test.go`.
    #[test]
    fn the_fast_proof_is_what_a_server_took() {
        let seed = [90, 105, 74, 126, 30, 48, 37, 56, 3, 23, 115, 127, 69, 22, 41, 84, 32, 123, 43, 118];
        let taken = "66200523 8fa18cf1 abe8388b 2b0e6bc4 f9aa933c dccc78b2 d60fb896 1a3d39eb".replace(' ', "");
        assert_eq!(hex(&caching_sha2(b"secret", &seed)), taken);
    }

    #[test]
    fn the_signature_is_ed25519() {
        // RFC 8032, section 7.1, test 1 has a secret of 32 bytes and the empty message.
        let secret: Vec<u8> = (0..32)
            .map(|at| {
                let text = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
                u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap()
            })
            .collect();
        assert_eq!(
            hex(&sign_ed25519(&secret, b"")),
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
        );
    }

    #[test]
    fn the_empty_password_has_the_empty_proof() {
        assert_eq!(Plugin::Native.first_answer(b"", &[1; 20], Channel::Open), Ok(Vec::new()));
        assert_eq!(Plugin::Cleartext.first_answer(b"x", &[], Channel::Open), Err(WireError::InsecureTransport));
        assert_eq!(Plugin::Cleartext.first_answer(b"x", &[], Channel::Closed), Err(WireError::UnprovenServer));
        assert_eq!(Plugin::Cleartext.first_answer(b"x", &[], Channel::Trusted), Ok(b"x\0".to_vec()));
    }

    #[test]
    fn bad_keys_are_refused() {
        for key in [&b""[..], b"no key", b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----", &[0xff; 10]] {
            assert!(matches!(encrypt_password(b"secret", &[1; 20], key), Err(WireError::Authentication(_))));
        }
    }
}

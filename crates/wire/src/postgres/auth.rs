//! Proofs of identity (55.2.1, 55.3).

use md5::{Digest as _, Md5};

use crate::error::Unbound;
use crate::reader::Reader;
use crate::{Result, Secret, Security, WireError};

use super::config::{ChannelBinding, Config};
use super::frontend;
use super::scram::{Binding, Proved, SCRAM_SHA_256, SCRAM_SHA_256_PLUS, Started};
use super::session::Authentication;

/// Each server message is allowed in one state only; otherwise a false server could skip its own proof or keep the
/// client busy for ever.
enum Stage {
    Fresh,
    PasswordSent,
    ScramStarted(Started),
    /// The server owes its own proof.
    ScramProved(Proved),
    /// The server's proof is good.
    ScramVerified,
}

pub(super) struct Authenticator {
    stage: Stage,
    method: Authentication,
    binding_mode: ChannelBinding,
    /// Hash of the server's certificate, with TLS.
    end_point: Option<Vec<u8>>,
}

/// Whether the server asks on.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Pending,
    Accepted(Authentication),
}

impl Authenticator {
    pub(super) fn new(binding_mode: ChannelBinding) -> Self {
        Self { stage: Stage::Fresh, method: Authentication::None, binding_mode, end_point: None }
    }

    pub(super) fn set_end_point(&mut self, end_point: Option<Vec<u8>>) {
        self.end_point = end_point;
    }

    /// Answers a message of type `R`.
    pub(super) fn answer(
        &mut self,
        config: &Config,
        security: Security,
        body: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Verdict> {
        let mut reader = Reader::new(body);
        let kind = reader.take_u32_be()?;
        let stage = std::mem::replace(&mut self.stage, Stage::Fresh);
        self.stage = match (kind, stage) {
            (0, Stage::ScramStarted(_) | Stage::ScramProved(_)) => {
                return Err(WireError::Authentication("the server ended SCRAM without proving itself".into()));
            }
            (0, _) => return self.accept(security),
            (3, Stage::Fresh) => {
                frontend::write_password(password_of(config)?, out)?;
                self.method = Authentication::Cleartext;
                Stage::PasswordSent
            }
            (5, Stage::Fresh) => {
                let hash = md5_hash(config.user.as_bytes(), password_of(config)?, reader.take_array()?);
                frontend::write_password(hash.as_bytes(), out)?;
                self.method = Authentication::Md5;
                Stage::PasswordSent
            }
            (10, Stage::Fresh) => Stage::ScramStarted(self.start_scram(config, security, reader, out)?),
            (11, Stage::ScramStarted(scram)) => {
                let (proved, message) =
                    scram.prove_password(&config.user, secret_of(config)?, &config.scram, reader.unread())?;
                frontend::write_sasl_response(message.as_bytes(), out)?;
                Stage::ScramProved(proved)
            }
            (12, Stage::ScramProved(scram)) => {
                scram.verify_server(reader.unread())?;
                Stage::ScramVerified
            }
            (3 | 5 | 10 | 11 | 12, _) => {
                return Err(WireError::Protocol("an authentication message is out of order"));
            }
            (other, _) => return Err(WireError::UnsupportedAuthentication(method_name(other))),
        };
        Ok(Verdict::Pending)
    }

    /// Accepts the login, unless a required channel binding was left out.
    fn accept(&self, security: Security) -> Result<Verdict> {
        if self.binding_mode == ChannelBinding::Require && self.method != Authentication::ScramPlus {
            return Err(unbound_error(security, Unbound::LetIn));
        }
        Ok(Verdict::Accepted(self.method))
    }

    /// Begins SCRAM by the mechanism that both sides have.
    fn start_scram(
        &mut self,
        config: &Config,
        security: Security,
        mut mechanisms: Reader<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Started> {
        let (mut plain, mut plus) = (false, false);
        let mut names = Vec::new();
        loop {
            let name = mechanisms.take_until_nul()?;
            match name {
                b"" => break,
                _ if name == SCRAM_SHA_256.as_bytes() => plain = true,
                _ if name == SCRAM_SHA_256_PLUS.as_bytes() => plus = true,
                _ => names.push(String::from_utf8_lossy(name).into_owned()),
            }
        }
        if plus && security == Security::Plain {
            // A server without TLS does not offer this: someone has removed TLS from the connection.
            return Err(WireError::Authentication("the server offers channel binding without TLS".into()));
        }
        let can_bind = self.end_point.is_some() && self.binding_mode != ChannelBinding::Disable;
        if self.binding_mode == ChannelBinding::Require && !(plus && can_bind) {
            return Err(unbound_error(security, Unbound::Unable));
        }
        let (mechanism, binding, method) = match &self.end_point {
            Some(hash) if plus && can_bind => {
                (SCRAM_SHA_256_PLUS, Binding::EndPoint(hash.clone()), Authentication::ScramPlus)
            }
            _ if !plain => {
                return Err(WireError::UnsupportedAuthentication(format!("SASL {}", names.join(", "))));
            }
            // "I could, but you do not offer it": a server that did offer it notices that someone has removed the offer.
            _ if can_bind => (SCRAM_SHA_256, Binding::Unrequested, Authentication::Scram),
            _ => (SCRAM_SHA_256, Binding::Unsupported, Authentication::Scram),
        };
        secret_of(config)?;
        let scram = Started::new(binding)?;
        frontend::write_sasl_initial(mechanism, scram.first_message().as_bytes(), out)?;
        self.method = method;
        Ok(scram)
    }
}

/// The password as it was given; an error without one.
fn secret_of(config: &Config) -> Result<&Secret> {
    config.password.as_ref().ok_or(WireError::PasswordMissing)
}

/// `otherwise` holds where there is TLS.
fn unbound_error(security: Security, otherwise: Unbound) -> WireError {
    WireError::ChannelBinding(if security == Security::Plain { Unbound::Unencrypted } else { otherwise })
}

/// The bytes of the password; an error without one.
fn password_of(config: &Config) -> Result<&[u8]> {
    secret_of(config).map(Secret::expose)
}

/// `md5`, and in hexadecimal the MD5 of that of password and user, also in hexadecimal, and the salt (55.2.1,
/// AuthenticationMD5Password).
fn md5_hash(user: &[u8], password: &[u8], salt: [u8; 4]) -> String {
    let inner = format!("{:x}", Md5::new().chain_update(password).chain_update(user).finalize());
    format!("md5{:x}", Md5::new().chain_update(inner).chain_update(salt).finalize())
}

/// The name of a method that is not supported.
fn method_name(kind: u32) -> String {
    match kind {
        2 => "Kerberos 5".into(),
        6 => "SCM credentials".into(),
        7 | 8 => "GSSAPI".into(),
        9 => "SSPI".into(),
        _ => format!("method {kind}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected answer is that of a test in `postgres-protocol` 0.6, libpq's protocol crate for Rust.
    #[test]
    fn an_md5_answer_is_that_of_the_published_example() {
        assert_eq!(md5_hash(b"md5_user", b"password", [0x2a, 0x3d, 0x8f, 0xe0]), "md562af4dd09bbb41884907a838a3233294");
    }
}

//! Every way of logging in.

use wire::postgres::{Authentication, ChannelBinding, Config, Encryption};
use wire::{Secret, Security, WireError};

use super::pg_client::Client;
use super::pg_server::{config, server};
use super::transport::TlsVersion;

fn login(config: Config) -> Result<Client, WireError> {
    Client::connect(server(), config)
}

#[test]
fn passwords_are_proved_in_every_way() {
    for (user, password, method) in [
        ("clear", "secret", Authentication::Cleartext),
        ("hashed", "secret", Authentication::Md5),
        ("scram", "sécret", Authentication::Scram),
        ("trusted", "unused", Authentication::None),
    ] {
        let mut client = login(config(user, password, Encryption::Off)).unwrap();
        assert_eq!((client.session.authentication, client.session.security), (method, Security::Plain));
        assert_eq!(client.column("SELECT current_user"), [Some(user.to_owned())]);
    }
}

#[test]
fn scram_is_bound_to_the_channel_where_tls_is() {
    for tls in [TlsVersion::V12, TlsVersion::Any] {
        let config = config("tlsonly", "secret", Encryption::Require);
        let config = Config { channel_binding: ChannelBinding::Require, ..config };
        let mut client = Client::connect_with(server(), config, tls, usize::MAX).unwrap();
        assert_eq!(client.session.authentication, Authentication::ScramPlus);
        assert_eq!(client.session.security, Security::Tls);
        let ssl = client.column("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()");
        assert_eq!(ssl, [Some("t".to_owned())]);
    }
    let unbound =
        Config { channel_binding: ChannelBinding::Disable, ..config("tlsonly", "secret", Encryption::Prefer) };
    assert_eq!(login(unbound).unwrap().session.authentication, Authentication::Scram);
    // The other methods work over TLS too.
    let hashed = login(config("hashed", "secret", Encryption::Require)).unwrap();
    assert_eq!(hashed.session.authentication, Authentication::Md5);
}

#[test]
fn a_required_binding_is_not_given_up() {
    let plain = Config { channel_binding: ChannelBinding::Require, ..config("scram", "sécret", Encryption::Off) };
    assert!(matches!(login(plain), Err(WireError::ChannelBinding(_))));
    let trusted = Config { channel_binding: ChannelBinding::Require, ..config("trusted", "", Encryption::Require) };
    assert!(matches!(login(trusted), Err(WireError::ChannelBinding(_))));
}

#[test]
fn refusals_carry_the_servers_reason() {
    fn state(result: Result<Client, WireError>) -> Result<String, Option<String>> {
        result.map(|_| "let in".to_owned()).map_err(|error| error.sqlstate().map(|state| state.to_string()))
    }
    for user in ["clear", "hashed", "scram"] {
        let result = login(config(user, "wrong", Encryption::Off));
        assert_eq!(state(result), Err(Some("28P01".to_owned())), "{user}");
    }
    assert_eq!(state(login(config("shut", "", Encryption::Off))), Err(Some("28000".to_owned())));
    assert_eq!(state(login(config("tlsonly", "secret", Encryption::Off))), Err(Some("28000".to_owned())));
    let nowhere = Config { database: Some("nowhere".into()), ..config("trusted", "", Encryption::Off) };
    assert_eq!(state(login(nowhere)), Err(Some("3D000".to_owned())));
    let missing = Config { password: None, ..config("scram", "", Encryption::Off) };
    assert!(matches!(login(missing), Err(WireError::PasswordMissing)));
}

#[test]
fn the_handshake_does_not_care_about_chunks() {
    for chunk in [1, 2, 3, 7] {
        for (user, password) in [("scram", "sécret"), ("hashed", "secret")] {
            let config = config(user, password, Encryption::Prefer);
            let mut client = Client::connect_with(server(), config, TlsVersion::Any, chunk).unwrap();
            assert_eq!(client.column("SELECT 1"), [Some("1".to_owned())]);
        }
    }
}

#[test]
fn the_session_knows_the_server() {
    let parameters = vec![("application_name".to_owned(), "two words".to_owned())];
    let config = Config { parameters, password: Some(Secret::from("x")), ..config("trusted", "", Encryption::Off) };
    let mut client = login(config).unwrap();
    assert_eq!(client.column("SHOW application_name"), [Some("two words".to_owned())]);
    assert_eq!(client.column("SHOW client_encoding"), [Some("UTF8".to_owned())]);
    let session = client.session;
    assert_ne!(session.process_id, 0);
    assert!(!format!("{session:?}").contains("secret"));
}

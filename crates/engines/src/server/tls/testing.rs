//! Certificates for the TLS tests, named as in the tables of `docs/tls.md`.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyIdMethod, KeyPair, KeyUsagePurpose, RevokedCertParams, SerialNumber,
    SigningKey as _, date_time_ymd,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use x509_cert::Certificate;
use x509_cert::certificate::Version;
use x509_cert::der::asn1::BitString;
use x509_cert::der::pem::{self, LineEnding};
use x509_cert::der::{Decode as _, Encode as _};

const PAGE: &str = include_str!("../../../../../docs/tls.md");

type Authority = CertifiedIssuer<'static, KeyPair>;

pub(crate) struct Made {
    /// Given to clients.
    root: String,
    list: String,
    server: String,
    key: String,
}

fn key() -> KeyPair {
    KeyPair::generate().unwrap()
}

fn named(common_name: &str) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, common_name);
    name
}

fn signs(common_name: &str) -> CertificateParams {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name = named(common_name);
    params
}

fn authority(common_name: &str) -> Authority {
    CertifiedIssuer::self_signed(signs(common_name), key()).unwrap()
}

fn names(host: &str) -> CertificateParams {
    let mut params = CertificateParams::new(vec![host.to_owned()]).unwrap();
    params.serial_number = Some(SerialNumber::from(7_u64));
    params.distinguished_name = named("a server");
    params
}

fn list(authority: &Authority, revoked: Option<u64>) -> String {
    let revoked = revoked.map(|serial| RevokedCertParams {
        serial_number: SerialNumber::from(serial),
        revocation_time: date_time_ymd(2026, 1, 1),
        reason_code: None,
        invalidity_date: None,
    });
    let list = CertificateRevocationListParams {
        this_update: date_time_ymd(2026, 1, 1),
        next_update: date_time_ymd(2126, 1, 1),
        crl_number: SerialNumber::from(1_u64),
        issuing_distribution_point: None,
        revoked_certs: revoked.into_iter().collect(),
        key_identifier_method: KeyIdMethod::Sha256,
    };
    list.signed_by(authority).unwrap().pem().unwrap()
}

fn signed(params: &CertificateParams, authority: &Authority) -> Made {
    let key = key();
    let server = params.signed_by(&key, authority).unwrap();
    Made { root: authority.pem(), list: list(authority, None), server: server.pem(), key: key.serialize_pem() }
}

fn signed_by_itself(mut params: CertificateParams) -> Made {
    let (key, other) = (key(), authority("an authority that has signed nothing"));
    params.distinguished_name = named("signed by itself");
    let server = params.self_signed(&key).unwrap();
    Made { root: other.pem(), list: list(&other, None), server: server.pem(), key: key.serialize_pem() }
}

/// X.509 version 1 has no extensions, and so no alternative names.
fn of_first_version(authority: &Authority) -> Made {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name = named("localhost");
    let made = signed(&params, authority);
    let newer = CertificateDer::from_pem_slice(made.server.as_bytes()).unwrap();
    let mut certificate = Certificate::from_der(&newer).unwrap();
    (certificate.tbs_certificate.version, certificate.tbs_certificate.extensions) = (Version::V1, None);
    let signature = authority.key().sign(&certificate.tbs_certificate.to_der().unwrap()).unwrap();
    certificate.signature = BitString::from_bytes(&signature).unwrap();
    let server = pem::encode_string("CERTIFICATE", LineEnding::LF, &certificate.to_der().unwrap()).unwrap();
    Made { server, ..made }
}

/// Makes the certificates of a row, by its name.
pub(crate) fn make(row: &str) -> Made {
    let authority = authority("étalon's test authority");
    match row {
        "names `localhost`" => signed(&names("localhost"), &authority),
        "names `127.0.0.1`" => signed(&names("127.0.0.1"), &authority),
        "names another host" => signed(&names("elsewhere.example"), &authority),
        "names `localhost` as its common name alone" => {
            let mut params = CertificateParams::new(Vec::new()).unwrap();
            params.distinguished_name = named("localhost");
            signed(&params, &authority)
        }
        "names another host, and `localhost` as its common name" => {
            let mut params = names("elsewhere.example");
            params.distinguished_name = named("localhost");
            signed(&params, &authority)
        }
        "an authority between, sent along" | "an authority between, kept back" => {
            let between = CertifiedIssuer::signed_by(signs("an authority between"), key(), &authority).unwrap();
            let mut made = signed(&names("localhost"), &between);
            if row.ends_with("sent along") {
                made.server += &between.pem();
            }
            Made { root: authority.pem(), list: made.list + &list(&authority, None), ..made }
        }
        "another authority" => {
            let made = signed(&names("localhost"), &self::authority("another authority"));
            Made { root: authority.pem(), list: list(&authority, None), ..made }
        }
        "out of date" => {
            let mut params = names("localhost");
            (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(2021, 1, 1));
            signed(&params, &authority)
        }
        "the authority is out of date" => {
            let mut params = signs("an authority of old");
            (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(2021, 1, 1));
            signed(&names("localhost"), &CertifiedIssuer::self_signed(params, key()).unwrap())
        }
        "revoked" => Made { list: list(&authority, Some(7)), ..signed(&names("localhost"), &authority) },
        "for clients alone" => {
            let mut params = names("localhost");
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
            signed(&params, &authority)
        }
        "X.509 version 1, common name `localhost`" => of_first_version(&authority),
        "signed by itself, may sign others" => {
            let mut params = names("localhost");
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            signed_by_itself(params)
        }
        "signed by itself, may sign no others" => signed_by_itself(names("localhost")),
        "signed by itself, its key for signing others alone" => {
            let mut params = names("localhost");
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
            signed_by_itself(params)
        }
        other => panic!("docs/tls.md: no test makes a certificate that is `{other}`"),
    }
}

impl Made {
    /// Writes the files `root.crt`, `root.crl`, `server.crt` and `server.key`, readable by the server's user.
    pub(crate) fn write(&self, folder: &Path, server_user: Option<&host::process::User>) {
        let files = [
            ("root.crt", &self.root),
            ("root.crl", &self.list),
            ("server.crt", &self.server),
            ("server.key", &self.key),
        ];
        for (name, text) in files {
            fs::write(folder.join(name), text).unwrap();
        }
        chmod("0755", folder);
        chmod("0600", &folder.join("server.key"));
        if let Some(user) = server_user {
            for file in ["server.crt", "server.key"] {
                host::process::chown(&folder.join(file), user).unwrap();
            }
        }
    }
}

/// Signed by an authority left next to it as `clients.crt`.
pub(crate) fn make_client(folder: &Path, common_name: &str) {
    let authority = authority("the clients' authority");
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name = named(common_name);
    let key = key();
    let client = params.signed_by(&key, &authority).unwrap();
    fs::write(folder.join("clients.crt"), authority.pem()).unwrap();
    fs::write(folder.join("client.crt"), client.pem()).unwrap();
    fs::write(folder.join("client.key"), key.serialize_pem()).unwrap();
    chmod("0600", &folder.join("client.key"));
}

pub(crate) fn chmod(mode: &str, path: &Path) {
    assert!(Command::new("chmod").arg(mode).arg(path).stdin(Stdio::null()).status().unwrap().success());
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TlsOutcome {
    Encrypted,
    Plain,
    Refused,
}

impl TlsOutcome {
    fn shown(self) -> &'static str {
        match self {
            TlsOutcome::Encrypted => "TLS",
            TlsOutcome::Plain => "plain",
            TlsOutcome::Refused => "–",
        }
    }
}

/// Étalon's outcome, and the engine's client's if different.
fn cell(own: TlsOutcome, client: TlsOutcome) -> String {
    if own == client { own.shown().to_owned() } else { format!("**{}** ({})", own.shown(), client.shown()) }
}

/// Every row of a table in `docs/tls.md` is a certificate, every column a way to connect. `come` gives the certificate
/// to the server; `go` returns both outcomes.
pub(crate) fn walk(heading: &str, mut come: impl FnMut(&Made), mut go: impl FnMut(&str) -> (TlsOutcome, TlsOutcome)) {
    let section = PAGE.split(&format!("\n{heading}\n")).nth(1).unwrap_or_else(|| panic!("docs/tls.md: no {heading}"));
    let table: Vec<&str> = section.lines().skip_while(|line| !line.starts_with('|')).collect();
    let table: Vec<&str> = table.into_iter().take_while(|line| line.starts_with('|')).collect();
    let cells =
        |line: &str| -> Vec<String> { line.trim_matches('|').split('|').map(|text| text.trim().to_owned()).collect() };
    let ways = cells(table[0]);
    let (mut found, mut differs) = (String::new(), false);
    for line in &table[2..] {
        let row = cells(line);
        come(&make(&row[0]));
        found += &format!("\n| {} |", row[0]);
        for (way, stands) in ways.iter().zip(&row).skip(1) {
            let (own, client) = go(way);
            let weaker = own != TlsOutcome::Refused && client == TlsOutcome::Refused;
            assert!(!weaker, "{}, {way}: étalon connects ({own:?}), and the engine's own client does not", row[0]);
            let cell = cell(own, client);
            differs |= cell != *stands;
            found += &format!(" {cell} |");
        }
    }
    assert!(!differs, "docs/tls.md, {heading}: the table is\n{}\n{}{found}", table[0], table[1]);
}

//! Verifies a server's certificate: chains by rustls, with OpenSSL's differences, which databases' own clients follow:
//!
//! - A self-signed certificate in the file of authorities is accepted as a server's own, which rustls refuses if it
//!   may sign others.
//! - Expired and cross-signed authorities end no chain.
//! - Without alternative names the subject's common name counts.
//! - X.509 version 1, which `openssl x509 -req` makes up to OpenSSL 3.1, is accepted.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
    verify_tls13_signature_with_raw_key,
};
use rustls::pki_types::{
    CertificateDer, ServerName, SignatureVerificationAlgorithm, SubjectPublicKeyInfoDer, UnixTime,
};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, RootCertStore, SignatureScheme};
use x509_cert::certificate::Version;
use x509_cert::der::asn1::AnyRef;
use x509_cert::der::oid::db::{rfc4519, rfc5280};
use x509_cert::der::{Decode as _, Encode, Header, Reader as _, SliceReader};
use x509_cert::ext::pkix::{BasicConstraints, ExtendedKeyUsage, KeyUsage, KeyUsages, NameConstraints, SubjectAltName};
use x509_cert::spki::SubjectPublicKeyInfoOwned;
use x509_cert::{Certificate, der};

use super::{CertificateCheck, Roots, TlsWanted, files, tls_failure};
use load::error::{Failure, FailureKind};

/// Verifies by [`TrustedRoots`], or not at all without them.
#[derive(Debug)]
pub(super) struct Verifier {
    algorithms: WebPkiSupportedAlgorithms,
    trust: Option<TrustedRoots>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Names {
    Any,
    Host,
}

#[derive(Debug)]
pub(super) struct TrustedRoots {
    names: Names,
    /// `None` where no chain may end.
    chain: Option<Arc<WebPkiServerVerifier>>,
    /// Accepted as servers' own.
    pinned: Vec<CertificateDer<'static>>,
    /// May sign version 1 certificates, which rustls does not read.
    authorities: Vec<Certificate>,
    /// Intermediate certificates in the file.
    between: Vec<CertificateDer<'static>>,
    /// Revocation is checked.
    has_lists: bool,
    algorithms: WebPkiSupportedAlgorithms,
}

/// A sorted file of authorities.
#[derive(Default)]
struct Sorted {
    pinned: Vec<CertificateDer<'static>>,
    authorities: Vec<(CertificateDer<'static>, Certificate)>,
    between: Vec<CertificateDer<'static>>,
    /// Also those that cannot be read.
    out_of_date: usize,
}

impl Sorted {
    /// Sorts a file's certificates into servers' own, authorities and intermediate ones; counts those out of date.
    fn from_file(certificates: Vec<CertificateDer<'static>>) -> Sorted {
        let mut sorted = Sorted::default();
        for der in certificates {
            let Ok(certificate) = Certificate::from_der(&der) else {
                sorted.out_of_date += 1;
                continue;
            };
            let fields = &certificate.tbs_certificate;
            if check_validity_period(&certificate, UnixTime::now()).is_err() {
                sorted.out_of_date += 1;
            } else if fields.subject != fields.issuer {
                sorted.between.push(der);
            } else {
                sorted.pinned.push(der.clone());
                let may_sign =
                    find_extension::<BasicConstraints>(&certificate).map(|found| found.is_some_and(|it| it.ca));
                if fields.version == Version::V1 || may_sign.unwrap_or(false) {
                    sorted.authorities.push((der, certificate));
                }
            }
        }
        sorted
    }

    /// Sorts the operating system's certificates, which are trusted already: authorities, and those out of date.
    fn of_system(certificates: Vec<CertificateDer<'static>>) -> Sorted {
        let mut sorted = Sorted::default();
        for der in certificates {
            match Certificate::from_der(&der) {
                Ok(certificate) if check_validity_period(&certificate, UnixTime::now()).is_ok() => {
                    sorted.authorities.push((der, certificate));
                }
                _ => sorted.out_of_date += 1,
            }
        }
        sorted
    }

    /// Says why none of the certificates can end a chain.
    fn explain_no_root(&self) -> String {
        let Sorted { between, out_of_date, .. } = self;
        format!(
            "none of them ends a chain: {out_of_date} cannot be read or are out of date, {} are signed by others",
            between.len()
        )
    }
}

impl TrustedRoots {
    /// Reads the certificates and revocation lists to trust; fails if none can end a chain.
    pub(super) fn new(wanted: &TlsWanted<'_>, provider: &Arc<CryptoProvider>) -> Result<TrustedRoots, Failure> {
        let option = wanted.root_option;
        let names = if wanted.check == CertificateCheck::ChainAndName { Names::Host } else { Names::Any };
        let (tried, names, sorted) = match wanted.roots {
            Roots::File(file) => {
                let tried = format!("trust the certificates in {}", file.display());
                (tried, names, Sorted::from_file(files::read_certificates(file, option)?))
            }
            Roots::Exactly(file) => {
                let pinned = vec![files::read_certificate(file)?];
                let tried = format!("trust the certificates in {}", file.display());
                (tried, Names::Any, Sorted { pinned, ..Sorted::default() })
            }
            Roots::System => {
                let found = rustls_native_certs::load_native_certs().certs;
                ("find the certificates that this machine trusts".to_owned(), names, Sorted::of_system(found))
            }
        };
        if sorted.pinned.is_empty() && sorted.authorities.is_empty() {
            return Err(Failure::new(FailureKind::Missing, tried, sorted.explain_no_root()).with_hint(format!(
                "name the certificate of the authority that signed itself: {option}=/path/to/root.crt"
            )));
        }
        let lists = files::read_revocation_lists(wanted.revoked)?;
        let has_lists = !lists.is_empty();
        let mut store = RootCertStore::empty();
        store.add_parsable_certificates(sorted.authorities.iter().map(|(der, _)| der.clone()));
        let chain = if store.is_empty() {
            None
        } else {
            Some(
                WebPkiServerVerifier::builder_with_provider(Arc::new(store), Arc::clone(provider))
                    .with_crls(lists)
                    .enforce_revocation_expiration()
                    .build()
                    .map_err(|error| tls_failure(&tried, &error))?,
            )
        };
        Ok(TrustedRoots {
            names,
            chain,
            pinned: sorted.pinned,
            authorities: sorted.authorities.into_iter().map(|(_, certificate)| certificate).collect(),
            between: sorted.between,
            has_lists,
            algorithms: provider.signature_verification_algorithms,
        })
    }

    /// Verifies a server's certificate by its chain, validity, purpose and, if wanted, the host's name.
    fn verify_server(
        &self,
        der: &CertificateDer<'_>,
        sent: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<(), rustls::Error> {
        let certificate = Certificate::from_der(der).map_err(|_| certificate_error(CertificateError::BadEncoding))?;
        let between: Vec<CertificateDer<'_>> = sent.iter().chain(&self.between).cloned().collect();
        let is_first_version = certificate.tbs_certificate.version == Version::V1;
        let is_pinned = self.pinned.iter().any(|own| own == der);
        if is_pinned || is_first_version {
            // It cannot be checked for revocation.
            if self.has_lists {
                return Err(certificate_error(CertificateError::UnknownRevocationStatus));
            }
            check_validity_period(&certificate, now).map_err(certificate_error)?;
            if !is_pinned {
                self.check_signed_by_authority(der, &certificate)?;
            }
        } else {
            let chain = self.chain.as_ref().ok_or(certificate_error(CertificateError::UnknownIssuer))?;
            match chain.verify_server_cert(der, &between, name, ocsp, now) {
                // rustls checks the name only after the chain.
                Err(error) if is_about_the_name(&error) => {}
                Err(error) => return Err(error),
                Ok(_) => {}
            }
        }
        check_server_purpose(&certificate).map_err(certificate_error)?;
        match self.names {
            Names::Any => Ok(()),
            Names::Host => self.check_host_name(der, &certificate, &between, name),
        }
    }

    /// Fails unless one of the authorities has signed a version 1 certificate.
    /// Without extensions it signs no other, and only its signer restricts it.
    fn check_signed_by_authority(&self, der: &[u8], certificate: &Certificate) -> Result<(), rustls::Error> {
        let signed = signed_part(der).map_err(|_| certificate_error(CertificateError::BadEncoding))?;
        let signature = certificate.signature.as_bytes().ok_or(certificate_error(CertificateError::BadEncoding))?;
        let way = der_contents(&certificate.signature_algorithm)
            .map_err(|_| certificate_error(CertificateError::BadEncoding))?;
        let mut algorithms = self.algorithms.all.to_vec();
        algorithms.retain(|algorithm| algorithm.signature_alg_id().as_ref() == way);
        let authorities = self.authorities.iter().map(|authority| &authority.tbs_certificate);
        let mut found = CertificateError::UnknownIssuer;
        for authority in authorities.filter(|authority| authority.subject == certificate.tbs_certificate.issuer) {
            if is_signed_with(&authority.subject_public_key_info, &algorithms, signed, signature) {
                return Ok(());
            }
            found = CertificateError::BadSignature;
        }
        Err(certificate_error(found))
    }

    /// Fails unless the certificate names the host, by an alternative name or by its common name.
    /// A common name counts only without alternative names, and only if no authority in the chain has name
    /// constraints, which rustls does not apply to common names.
    fn check_host_name(
        &self,
        der: &CertificateDer<'_>,
        certificate: &Certificate,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
    ) -> Result<(), rustls::Error> {
        let by_alternatives = match certificate.tbs_certificate.version {
            Version::V1 => Err(certificate_error(CertificateError::NotValidForName)),
            _ => verify_server_name(&ParsedCertificate::try_from(der)?, name),
        };
        let Err(error) = by_alternatives else { return Ok(()) };
        let between = between.iter().filter_map(|der| Certificate::from_der(der).ok());
        let mut signers = between.chain(self.authorities.iter().cloned());
        let counts = has_extension::<SubjectAltName>(certificate) == Ok(false)
            && signers.all(|signer| has_extension::<NameConstraints>(&signer) == Ok(false));
        match common_name(certificate) {
            Some(common) if counts && is_common_name_of(name, &common) => Ok(()),
            _ => Err(error),
        }
    }
}

/// Makes rustls's error of a certificate.
fn certificate_error(error: CertificateError) -> rustls::Error {
    rustls::Error::InvalidCertificate(error)
}

/// Tests whether rustls refused a certificate only for its name.
fn is_about_the_name(error: &rustls::Error) -> bool {
    matches!(
        error,
        rustls::Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. }
        )
    )
}

/// Fails if the certificate is not valid yet or has expired.
fn check_validity_period(certificate: &Certificate, now: UnixTime) -> Result<(), CertificateError> {
    let validity = &certificate.tbs_certificate.validity;
    let now_s = now.as_secs();
    if now_s < validity.not_before.to_unix_duration().as_secs() {
        return Err(CertificateError::NotValidYet);
    }
    if now_s > validity.not_after.to_unix_duration().as_secs() {
        return Err(CertificateError::Expired);
    }
    Ok(())
}

/// Fails if the certificate's stated usages exclude TLS servers, as OpenSSL does.
/// A stated usage must include TLS servers, and a key that signs or agrees on keys. (RFC 5280, 4.2.1.3 and 4.2.1.12)
fn check_server_purpose(certificate: &Certificate) -> Result<(), CertificateError> {
    let uses = KeyUsages::DigitalSignature | KeyUsages::KeyEncipherment | KeyUsages::KeyAgreement;
    let key = find_extension::<KeyUsage>(certificate).map_err(|_| CertificateError::BadEncoding)?;
    let purposes = find_extension::<ExtendedKeyUsage>(certificate).map_err(|_| CertificateError::BadEncoding)?;
    let key_suits = key.is_none_or(|key| uses.into_iter().any(|one| key.0.contains(one)));
    if key_suits && purposes.is_none_or(|purposes| purposes.0.contains(&rfc5280::ID_KP_SERVER_AUTH)) {
        return Ok(());
    }
    Err(CertificateError::InvalidPurpose)
}

/// Decodes a certificate's extension of a type, if it has one.
fn find_extension<'a, T: der::Decode<'a> + der::oid::AssociatedOid>(
    certificate: &'a Certificate,
) -> der::Result<Option<T>> {
    Ok(certificate.tbs_certificate.get::<T>()?.map(|(_, found)| found))
}

/// Tests whether a certificate has an extension of a type.
fn has_extension<T: der::oid::AssociatedOid>(certificate: &Certificate) -> der::Result<bool> {
    let all = certificate.tbs_certificate.extensions.iter().flatten();
    Ok(all.into_iter().any(|one| one.extn_id == T::OID))
}

/// Returns the first common name in a certificate's subject.
fn common_name(certificate: &Certificate) -> Option<String> {
    let mut attributes = certificate.tbs_certificate.subject.0.iter().flat_map(|names| names.0.iter());
    let common = attributes.find(|attribute| attribute.oid == rfc4519::COMMON_NAME)?;
    String::from_utf8(common.value.value().to_vec()).ok()
}

/// Tests whether a common name is that of the host; `*.` stands for one label.
/// See RFC 6125, 6.4.
fn is_common_name_of(host: &ServerName<'_>, common: &str) -> bool {
    match host {
        ServerName::DnsName(host) => {
            let host = host.as_ref();
            let is_by_wildcard = match (host.split_once('.'), common.strip_prefix("*.")) {
                (Some((label, rest)), Some(wild)) => {
                    !label.is_empty() && wild.contains('.') && rest.eq_ignore_ascii_case(wild)
                }
                _ => false,
            };
            host.eq_ignore_ascii_case(common) || is_by_wildcard
        }
        ServerName::IpAddress(host) => {
            common.parse::<std::net::IpAddr>().is_ok_and(|common| common == std::net::IpAddr::from(*host))
        }
        _ => false,
    }
}

/// Returns the bytes of a certificate that its signature covers.
fn signed_part(der: &[u8]) -> der::Result<&[u8]> {
    let mut reader = SliceReader::new(der)?;
    Header::decode(&mut reader)?;
    reader.tlv_bytes()
}

/// Encodes a value as rustls writes it: without the outermost tag.
fn der_contents(identifier: &impl Encode) -> der::Result<Vec<u8>> {
    let whole = identifier.to_der()?;
    Ok(AnyRef::from_der(&whole)?.value().to_vec())
}

/// Tests whether a key has signed a message, by one of these algorithms.
fn is_signed_with(
    key: &SubjectPublicKeyInfoOwned,
    algorithms: &[&dyn SignatureVerificationAlgorithm],
    message: &[u8],
    signature: &[u8],
) -> bool {
    let (Ok(kind), Some(bits)) = (der_contents(&key.algorithm), key.subject_public_key.as_bytes()) else {
        return false;
    };
    let mut fitting = algorithms.iter().filter(|algorithm| algorithm.public_key_alg_id().as_ref() == kind);
    fitting.any(|algorithm| algorithm.verify_signature(bits, message, signature).is_ok())
}

/// Returns the public key of a certificate of version 1, which rustls does not read.
fn key_of_first_version(certificate: &CertificateDer<'_>) -> Option<SubjectPublicKeyInfoOwned> {
    let fields = Certificate::from_der(certificate).ok()?.tbs_certificate;
    (fields.version == Version::V1).then_some(fields.subject_public_key_info)
}

impl Verifier {
    /// Makes a verifier by these roots, or one that verifies nothing without them.
    pub(super) fn new(provider: &CryptoProvider, trust: Option<TrustedRoots>) -> Verifier {
        Verifier { algorithms: provider.signature_verification_algorithms, trust }
    }
}

impl ServerCertVerifier for Verifier {
    /// Verifies the server's certificate, if there are trusted roots.
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if let Some(trust) = &self.trust {
            trust.verify_server(end_entity, intermediates, server_name, ocsp_response, now)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    /// Verifies the server's TLS 1.2 signature, by keys of version 1 certificates, too.
    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let Some(key) = key_of_first_version(certificate) else {
            return verify_tls12_signature(message, certificate, signature, &self.algorithms);
        };
        let mapped = self.algorithms.mapping.iter().find(|(scheme, _)| *scheme == signature.scheme);
        let algorithms = mapped.map_or(&[][..], |(_, algorithms)| algorithms);
        if is_signed_with(&key, algorithms, message, signature.signature()) {
            Ok(HandshakeSignatureValid::assertion())
        } else {
            Err(certificate_error(CertificateError::BadSignature))
        }
    }

    /// Verifies the server's TLS 1.3 signature, by keys of version 1 certificates, too.
    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let Some(key) = key_of_first_version(certificate) else {
            return verify_tls13_signature(message, certificate, signature, &self.algorithms);
        };
        let key = key.to_der().map_err(|_| certificate_error(CertificateError::BadEncoding))?;
        let key = SubjectPublicKeyInfoDer::from(key);
        verify_tls13_signature_with_raw_key(message, &key, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

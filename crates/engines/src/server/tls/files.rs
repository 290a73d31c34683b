//! Certificates, revocation lists and keys in files.

use std::fs;
use std::path::{Path, PathBuf};

use pkcs8::der::Decode as _;
use pkcs8::{EncryptedPrivateKeyInfo, SecretDocument};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use super::ClientIdentity;
use load::error::{Failure, FailureKind};

/// Reads all items of a PEM file, at least one.
fn read_pem_items<T: PemObject>(file: &Path, tried: &str) -> Result<Vec<T>, Failure> {
    let read = T::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<T>, _>>);
    let cause = match read {
        Ok(found) if !found.is_empty() => return Ok(found),
        Ok(_) => "there is none".to_owned(),
        // The operating system's words alone.
        Err(pem::Error::Io(error)) => error.to_string(),
        Err(error) => error.to_string(),
    };
    Err(Failure::new(FailureKind::Missing, tried, cause))
}

/// Reads all certificates of a PEM file; `option` names the file, for messages.
pub(super) fn read_certificates(file: &Path, option: &str) -> Result<Vec<CertificateDer<'static>>, Failure> {
    let tried = format!("read the certificates in {}", file.display());
    read_pem_items(file, &tried).map_err(|failure| {
        failure.with_hint(format!("`{option}` names a file in PEM format: {option}=/path/to/root.crt"))
    })
}

/// Reads one certificate, PEM or DER.
pub(super) fn read_certificate(file: &Path) -> Result<CertificateDer<'static>, Failure> {
    let tried = format!("read the certificate in {}", file.display());
    let bytes = fs::read(file).map_err(|error| Failure::new(FailureKind::Missing, tried.clone(), error))?;
    // DER begins with a sequence tag.
    if bytes.first() == Some(&0x30) {
        return Ok(CertificateDer::from(bytes));
    }
    CertificateDer::from_pem_slice(&bytes).map_err(|error| Failure::new(FailureKind::Missing, tried, error))
}

/// Reads the revocation lists in all these PEM files.
pub(super) fn read_revocation_lists(files: &[PathBuf]) -> Result<Vec<CertificateRevocationListDer<'static>>, Failure> {
    let mut lists = Vec::new();
    for file in files {
        lists.extend(read_pem_items(file, &format!("read the revoked certificates in {}", file.display())).map_err(
            |failure| failure.with_hint("`openssl ca -gencrl -out root.crl` makes such a list, in PEM format"),
        )?);
    }
    Ok(lists)
}

/// Finds the revocation lists in a folder by OpenSSL's file names; fails if there are none.
/// A name is a hash with `.r0`, `.r1` and so on.
pub(crate) fn find_revocation_lists(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let tried = format!("read the lists of revoked certificates in the folder {}", folder.display());
    let cause = match fs::read_dir(folder) {
        Ok(entries) => {
            let mut files: Vec<PathBuf> =
                entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|file| is_hashed_list(file)).collect();
            files.sort();
            if !files.is_empty() {
                return Ok(files);
            }
            "there is none".to_owned()
        }
        Err(error) => error.to_string(),
    };
    let hint = format!("`openssl rehash {}` gives its files the names that are looked for", folder.display());
    Err(Failure::new(FailureKind::Missing, tried, cause).with_hint(hint))
}

/// Tests whether a file is named like a revocation list in a hashed folder, `HASH.r0`.
fn is_hashed_list(file: &Path) -> bool {
    let digits = file.extension().and_then(|ending| ending.to_str()?.strip_prefix('r'));
    digits.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Reads the client's certificate chain and key; fails if others may read the key.
pub(super) fn read_identity(
    identity: &ClientIdentity,
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), Failure> {
    let tried = format!("read the client's certificate in {}", identity.certificate.display());
    let chain = read_pem_items(&identity.certificate, &tried)?;
    let shown = identity.key.display();
    let tried = format!("read the key of the client's certificate in {shown}");
    match fs::metadata(&identity.key) {
        Err(error) => return Err(Failure::new(FailureKind::Missing, tried, error)),
        Ok(metadata) if !metadata.is_file() => {
            return Err(Failure::new(FailureKind::Missing, tried, "it is not a plain file"));
        }
        Ok(_) => {}
    }
    // Like libpq: a key that others can read is ignored, so that its owner notices.
    let is_open = host::identity::key_open_to_others(&identity.key);
    if is_open.map_err(|error| Failure::new(FailureKind::Other, &tried, error))? {
        return Err(
            Failure::new(FailureKind::Permission, tried, "others may read it").with_hint(format!("chmod 0600 {shown}"))
        );
    }
    let bytes = fs::read(&identity.key).map_err(|error| Failure::new(FailureKind::Missing, &tried, error))?;
    let key = read_key(&bytes, identity).map_err(|cause| Failure::new(FailureKind::Other, tried, cause))?;
    Ok((chain, key))
}

/// Decodes a private key, and decrypts it if necessary.
fn read_key(bytes: &[u8], identity: &ClientIdentity) -> Result<PrivateKeyDer<'static>, String> {
    let text = String::from_utf8_lossy(bytes);
    if text.contains("Proc-Type: 4,ENCRYPTED") {
        return Err("it is encrypted as OpenSSL once did; `openssl pkcs8 -topk8` writes it as PKCS #8".to_owned());
    }
    if !text.contains("BEGIN ENCRYPTED PRIVATE KEY") {
        return PrivateKeyDer::from_pem_slice(bytes).map_err(|error| error.to_string());
    }
    let Some(password) = &identity.password else { return Err("it is encrypted, and no password is given".to_owned()) };
    let (_, encrypted) = SecretDocument::from_pem(&text).map_err(|error| error.to_string())?;
    let encrypted = EncryptedPrivateKeyInfo::from_der(encrypted.as_bytes()).map_err(|error| error.to_string())?;
    let key = encrypted.decrypt(password.expose()).map_err(|_| "the password does not decrypt it".to_owned())?;
    Ok(PrivatePkcs8KeyDer::from(key.as_bytes().to_vec()).into())
}

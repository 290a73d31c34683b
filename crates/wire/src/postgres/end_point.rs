//! The channel binding `tls-server-end-point` (RFC 5929, section 4): a hash of the server's certificate, by the hash
//! function of the certificate's own signature.

use sha2::{Digest, Sha256, Sha384, Sha512};

/// The DER content of object identifiers.
const MD5_WITH_RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x04];
const SHA1_WITH_RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x05];
const RSA_PSS: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0a];
const SHA256_WITH_RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0b];
const SHA384_WITH_RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0c];
const SHA512_WITH_RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0d];
const ECDSA_WITH_SHA1: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x01];
const ECDSA_WITH_SHA256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02];
const ECDSA_WITH_SHA384: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x03];
const ECDSA_WITH_SHA512: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x04];
const SHA256: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01];
const SHA384: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x02];
const SHA512: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x03];

const SEQUENCE: u8 = 0x30;
const OBJECT_IDENTIFIER: u8 = 0x06;
/// The first field of the parameters of RSASSA-PSS: the hash function.
const PSS_HASH: u8 = 0xa0;

/// The channel binding of the server's certificate in DER, the first of the chain.
///
/// `None` if its signature names no hash function (Ed25519): such connections cannot be bound.
pub fn tls_server_end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    let (fields, _) = split_der_element(certificate, SEQUENCE)?;
    let (_, after_signed_part) = split_der_element(fields, SEQUENCE)?;
    let (algorithm, _) = split_der_element(after_signed_part, SEQUENCE)?;
    let (identifier, parameters) = split_der_element(algorithm, OBJECT_IDENTIFIER)?;
    match identifier {
        RSA_PSS => by_hash(pss_hash(parameters)?, certificate),
        // The RFC replaces the two broken hash functions by SHA-256.
        MD5_WITH_RSA | SHA1_WITH_RSA | ECDSA_WITH_SHA1 | SHA256_WITH_RSA | ECDSA_WITH_SHA256 => {
            by_hash(SHA256, certificate)
        }
        SHA384_WITH_RSA | ECDSA_WITH_SHA384 => by_hash(SHA384, certificate),
        SHA512_WITH_RSA | ECDSA_WITH_SHA512 => by_hash(SHA512, certificate),
        _ => None,
    }
}

/// The certificate's hash by this algorithm; `None` if it is unknown.
fn by_hash(hash: &[u8], certificate: &[u8]) -> Option<Vec<u8>> {
    match hash {
        SHA256 => Some(Sha256::digest(certificate).to_vec()),
        SHA384 => Some(Sha384::digest(certificate).to_vec()),
        SHA512 => Some(Sha512::digest(certificate).to_vec()),
        _ => None,
    }
}

/// RFC 4055, section 3.1. Without the field it is SHA-1, which becomes SHA-256.
fn pss_hash(parameters: &[u8]) -> Option<&[u8]> {
    let (fields, _) = split_der_element(parameters, SEQUENCE)?;
    let Some((hash, _)) = split_der_element(fields, PSS_HASH) else {
        return Some(SHA256);
    };
    let (algorithm, _) = split_der_element(hash, SEQUENCE)?;
    let (identifier, _) = split_der_element(algorithm, OBJECT_IDENTIFIER)?;
    Some(identifier)
}

/// Splits off a DER element: its content, and the rest.
fn split_der_element(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&found, rest) = bytes.split_first()?;
    if found != tag {
        return None;
    }
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81..=0x83 => {
            let (digits, rest) = rest.split_at_checked(usize::from(first - 0x80))?;
            (digits.iter().fold(0, |length, &digit| (length << 8) | usize::from(digit)), rest)
        }
        _ => return None,
    };
    rest.split_at_checked(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn certificate(algorithm: &[u8]) -> Vec<u8> {
        let algorithm = wrap(SEQUENCE, algorithm);
        wrap(SEQUENCE, &[wrap(SEQUENCE, &[]), algorithm].concat())
    }

    fn wrap(tag: u8, content: &[u8]) -> Vec<u8> {
        [&[tag, content.len() as u8][..], content].concat()
    }

    #[test]
    fn the_hash_is_the_signatures_own() {
        for (identifier, size_bytes) in
            [(SHA1_WITH_RSA, 32), (SHA256_WITH_RSA, 32), (ECDSA_WITH_SHA384, 48), (SHA512_WITH_RSA, 64)]
        {
            let certificate = certificate(&wrap(OBJECT_IDENTIFIER, identifier));
            assert_eq!(tls_server_end_point(&certificate).unwrap().len(), size_bytes);
        }
        let ed25519 = certificate(&wrap(OBJECT_IDENTIFIER, &[0x2b, 0x65, 0x70]));
        assert_eq!(tls_server_end_point(&ed25519), None);
    }

    #[test]
    fn pss_names_its_hash_in_its_parameters() {
        let hash = wrap(PSS_HASH, &wrap(SEQUENCE, &wrap(OBJECT_IDENTIFIER, SHA512)));
        let pss = [wrap(OBJECT_IDENTIFIER, RSA_PSS), wrap(SEQUENCE, &hash)].concat();
        assert_eq!(tls_server_end_point(&certificate(&pss)).unwrap().len(), 64);
    }

    #[test]
    fn garbage_has_none() {
        for bytes in [&b""[..], &[0x30], &[0x30, 0x84, 255, 255, 255, 255], &[0x30, 5, 1]] {
            assert_eq!(tls_server_end_point(bytes), None);
        }
    }
}

//! What certificates and cipher suites are called: as OpenSSL has it, for that is what MySQL shows and compares.

use std::fmt::Write;

use millpond_session::ClientCertificate;
use rustls::pki_types::CertificateDer;
use rustls::{CipherSuite, ProtocolVersion};
use time::OffsetDateTime;
use x509_parser::prelude::{FromDer, X509Certificate, X509Name};

/// The cipher suites that there are, the most wanted first.
pub(super) const CIPHERS: [(CipherSuite, &str); 9] = [
    (
        CipherSuite::TLS13_AES_256_GCM_SHA384,
        "TLS_AES_256_GCM_SHA384",
    ),
    (
        CipherSuite::TLS13_AES_128_GCM_SHA256,
        "TLS_AES_128_GCM_SHA256",
    ),
    (
        CipherSuite::TLS13_CHACHA20_POLY1305_SHA256,
        "TLS_CHACHA20_POLY1305_SHA256",
    ),
    (
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
        "ECDHE-ECDSA-AES256-GCM-SHA384",
    ),
    (
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
        "ECDHE-ECDSA-AES128-GCM-SHA256",
    ),
    (
        CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
        "ECDHE-ECDSA-CHACHA20-POLY1305",
    ),
    (
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
        "ECDHE-RSA-AES256-GCM-SHA384",
    ),
    (
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        "ECDHE-RSA-AES128-GCM-SHA256",
    ),
    (
        CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
        "ECDHE-RSA-CHACHA20-POLY1305",
    ),
];

/// Short names of what a name is made of, by object identifier (RFC 4519, PKCS #9).
const PARTS: [(&str, &str); 13] = [
    ("2.5.4.3", "CN"),
    ("2.5.4.4", "SN"),
    ("2.5.4.5", "serialNumber"),
    ("2.5.4.6", "C"),
    ("2.5.4.7", "L"),
    ("2.5.4.8", "ST"),
    ("2.5.4.9", "street"),
    ("2.5.4.10", "O"),
    ("2.5.4.11", "OU"),
    ("2.5.4.12", "title"),
    ("2.5.4.42", "GN"),
    ("0.9.2342.19200300.100.1.25", "DC"),
    ("1.2.840.113549.1.9.1", "emailAddress"),
];

/// A cipher suite's name.
pub(super) fn cipher(suite: CipherSuite) -> &'static str {
    let found = CIPHERS.iter().find(|(s, _)| *s == suite);
    found.map_or("unknown", |(_, name)| name)
}

/// A version's name.
pub(super) fn version(version: ProtocolVersion) -> &'static str {
    match version {
        ProtocolVersion::TLSv1_2 => "TLSv1.2",
        ProtocolVersion::TLSv1_3 => "TLSv1.3",
        _ => "unknown",
    }
}

/// A name on a line, as `X509_NAME_oneline` prints it: bytes that are no printable ASCII as `\xHH`.
fn on_a_line(name: &X509Name<'_>) -> String {
    let mut out = String::new();
    for part in name.iter_attributes() {
        let id = part.attr_type().to_id_string();
        let short = PARTS.iter().find(|(oid, _)| *oid == id);
        let short = short.map_or(&*id, |(_, short)| short);
        // Writing to a String cannot fail.
        let _ = write!(out, "/{short}=");
        for byte in part.as_slice() {
            let _ = match byte {
                b' '..=b'~' => write!(out, "{}", *byte as char),
                _ => write!(out, "\\x{byte:02X}"),
            };
        }
    }
    out
}

/// The names in a client's certificate. `None`: it can't be read, though it was found good.
pub(super) fn of_client(certificate: &CertificateDer<'_>) -> Option<ClientCertificate> {
    let (_, read) = X509Certificate::from_der(certificate).ok()?;
    Some(ClientCertificate {
        issuer: on_a_line(read.issuer()),
        subject: on_a_line(read.subject()),
    })
}

/// A time as OpenSSL prints it: `Nov  3 01:02:03 2036 GMT`.
fn printed(at: OffsetDateTime) -> String {
    let month = at.month().to_string();
    format!(
        "{} {:>2} {:02}:{:02}:{:02} {} GMT",
        &month[..3],
        at.day(),
        at.hour(),
        at.minute(),
        at.second(),
        at.year()
    )
}

/// When a certificate begins and ends to be good.
pub(super) fn validity(certificate: &CertificateDer<'_>) -> Result<[String; 2], String> {
    let (_, read) = X509Certificate::from_der(certificate).map_err(|e| e.to_string())?;
    let validity = read.validity();
    Ok([validity.not_before, validity.not_after].map(|t| printed(t.to_datetime())))
}

//! Where certificates and keys are: those that the system variables name, those in the data directory, or those that are made there.
//!
//! What is made is what MySQL makes, under its names: an authority, a certificate for the server, one for a client, each with its key. The server's is
//! for `localhost`, this machine's name and the loopback addresses, so that clients that are given `ca.pem` can verify it
//! (`--ssl-mode=VERIFY_IDENTITY`). All are for the server's user alone (0600). `server-cert.pem` comes last: where it is, all are.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use millpond_session::TlsSettings;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use time::{Duration, OffsetDateTime};

/// How long certificates that are made are good for.
const DAYS: i64 = 3650;
const CA: [&str; 2] = ["ca.pem", "ca-key.pem"];
const SERVER: [&str; 2] = ["server-cert.pem", "server-key.pem"];
const CLIENT: [&str; 2] = ["client-cert.pem", "client-key.pem"];

/// The files that TLS goes by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    /// Who may have signed clients' certificates; `None`: clients are asked for none.
    pub ca: Option<PathBuf>,
    /// The server's certificate, and what leads from it to an authority.
    pub cert: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

impl Files {
    /// Those that are meant; made if none are named, there are none yet and they may be made. `None`: there are none.
    pub fn find(settings: &TlsSettings) -> Result<Option<Files>, String> {
        let data = &settings.data;
        let named = |name: &str| (!name.is_empty()).then(|| data.join(name));
        let own = SERVER.map(|name| data.join(name));
        match (named(&settings.cert), named(&settings.key)) {
            // Variables show those that are made, too.
            (Some(cert), Some(key)) if [&cert, &key] != own.each_ref() => {
                let ca = named(&settings.ca);
                return Ok(Some(Files { ca, cert, key }));
            }
            (Some(_), Some(_)) | (None, None) => {}
            _ => return Err("ssl_cert and ssl_key belong together".into()),
        }
        let [cert, key] = own;
        if !cert.exists() {
            if !settings.generate {
                return Ok(None);
            }
            let made = make(data);
            made.map_err(|e| format!("cannot make certificates in {}: {e}", data.display()))?;
        }
        let made = || Some(data.join(CA[0])).filter(|ca| ca.exists());
        let ca = named(&settings.ca).or_else(made);
        Ok(Some(Files { ca, cert, key }))
    }

    /// What variables show of them: names in the data directory without it.
    pub fn shown(&self, data: &Path) -> [String; 3] {
        let shown = |path: &Path| {
            let short = path.strip_prefix(data).unwrap_or(path);
            short.display().to_string()
        };
        let ca = self.ca.as_deref().map(shown).unwrap_or_default();
        [ca, shown(&self.cert), shown(&self.key)]
    }
}

/// Writes a file that only its owner may read, and that is whole if it is there.
pub(crate) fn write(data: &Path, name: &str, text: &str) -> io::Result<()> {
    let [path, draft] = [data.join(name), data.join(format!("{name}.new"))];
    // What a start that was cut short has left might be readable to others.
    match fs::remove_file(&draft) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&draft)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(draft, path)
}

/// A certificate to be, by its name and for whom it is.
fn params(what: &str, names: Vec<String>) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(names)?;
    let now = OffsetDateTime::now_utc();
    // Clocks differ.
    params.not_before = now - Duration::days(1);
    params.not_after = now + Duration::days(DAYS);
    let name = format!("Millpond_Auto_Generated_{what}_Certificate");
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    Ok(params)
}

/// This machine's names, as far as clients may know it by them.
fn own_names() -> Vec<String> {
    let mut names = vec!["localhost".to_string(), "127.0.0.1".into(), "::1".into()];
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = host.trim();
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
    if !host.is_empty() && host.chars().all(is_name) && host != "localhost" {
        names.push(host.to_string());
    }
    names
}

fn make(data: &Path) -> io::Result<()> {
    let failed = |e: rcgen::Error| io::Error::other(e.to_string());
    let mut ca = params("CA", Vec::new()).map_err(failed)?;
    ca.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    ca.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let ca_key = KeyPair::generate().map_err(failed)?;
    let ca_cert = ca.self_signed(&ca_key).map_err(failed)?;
    write(data, CA[1], &ca_key.serialize_pem())?;
    write(data, CA[0], &ca_cert.pem())?;
    let issuer = Issuer::new(ca, ca_key);
    let leaves = [
        (
            CLIENT,
            "Client",
            Vec::new(),
            ExtendedKeyUsagePurpose::ClientAuth,
        ),
        (
            SERVER,
            "Server",
            own_names(),
            ExtendedKeyUsagePurpose::ServerAuth,
        ),
    ];
    for ([cert_name, key_name], what, names, usage) in leaves {
        let mut leaf = params(what, names).map_err(failed)?;
        leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        leaf.extended_key_usages = vec![usage];
        leaf.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate().map_err(failed)?;
        let cert = leaf.signed_by(&key, &issuer).map_err(failed)?;
        write(data, key_name, &key.serialize_pem())?;
        write(data, cert_name, &cert.pem())?;
    }
    Ok(())
}

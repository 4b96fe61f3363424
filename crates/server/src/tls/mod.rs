//! TLS 1.2 and 1.3 for connections: certificates, settings, and the bytes of a connection that has it.
//!
//! | file | owns |
//! |---|---|
//! | `files` | where certificates and keys are, and making them at the first start |
//! | `names` | what certificates and cipher suites are called |
//! | `channel` | one connection's TLS |
//!
//! Lifecycle: [`Tls::open`] reads what the system variables say, or makes certificates in the data directory if they say nothing and there are none;
//! ALTER INSTANCE RELOAD TLS puts other certificates in their place for connections to come. Those that there are keep what they have.
//!
//! **Promises.** The protocol is rustls's, with its defaults: no version below 1.2, no cipher suite without forward secrecy, no renegotiation, no
//! compression. A client's certificate is asked for if there is an authority to have signed it, and refused if that hasn't; whether there
//! must be one is for accounts to say (REQUIRE X509). No key is logged, shown, or readable by anybody but the user that the server runs as if it was made here.

mod channel;
pub(crate) mod files;
mod names;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use millpond_session::{Instance, TlsSettings, Transport};
use parking_lot::RwLock;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ServerSessionMemoryCache, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig, SupportedProtocolVersion, version};

pub use channel::{Channel, SharedChannel};
pub use files::Files;

/// Sessions that a client may come back to, by TLS 1.2's ids.
const SESSIONS: usize = 1024;

/// What connections are given now.
struct Ready {
    config: Arc<ServerConfig>,
    files: Files,
    versions: String,
    /// Whether clients' certificates are looked at.
    verifies: bool,
    /// When the certificate begins and ends to be good, as OpenSSL prints it.
    times: [String; 2],
}

/// The server's TLS.
pub struct Tls {
    /// `None`: a reload went wrong, and was not to be undone.
    now: RwLock<Option<Ready>>,
    /// Clients that began.
    accepts: AtomicU64,
    /// Those that came to an end with it.
    finished: AtomicU64,
}

/// The versions of `tls_version`.
fn versions_of(text: &str) -> Result<Vec<&'static SupportedProtocolVersion>, String> {
    let mut versions = Vec::new();
    for name in text.split(',').map(str::trim).filter(|n| !n.is_empty()) {
        versions.push(match &*name.to_ascii_lowercase() {
            "tlsv1.2" => &version::TLS12,
            "tlsv1.3" => &version::TLS13,
            "tlsv1" | "tlsv1.1" => return Err(format!("{name} is not supported any more")),
            _ => return Err(format!("tls_version: unknown version '{name}'")),
        });
    }
    Ok(versions)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let named = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
    let all = CertificateDer::pem_file_iter(path).map_err(|e| named(&e))?;
    let all: Result<Vec<_>, _> = all.collect();
    match all.map_err(|e| named(&e))? {
        all if all.is_empty() => Err(named(&"has no certificate")),
        all => Ok(all),
    }
}

impl Ready {
    fn of(files: Files, versions: &str) -> Result<Ready, String> {
        let chain = certificates(&files.cert)?;
        let key = PrivateKeyDer::from_pem_file(&files.key);
        let key = key.map_err(|e| format!("{}: {e}", files.key.display()))?;
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ServerConfig::builder_with_provider(provider.clone());
        let builder = builder.with_protocol_versions(&versions_of(versions)?);
        let builder = builder.map_err(|e| e.to_string())?;
        let builder = match &files.ca {
            None => builder.with_no_client_auth(),
            Some(ca) => {
                let mut roots = RootCertStore::empty();
                for authority in certificates(ca)? {
                    let added = roots.add(authority);
                    added.map_err(|e| format!("{}: {e}", ca.display()))?;
                }
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                let verifier = verifier.allow_unauthenticated().build();
                builder.with_client_cert_verifier(verifier.map_err(|e| e.to_string())?)
            }
        };
        let times = names::validity(&chain[0]);
        let config = builder.with_single_cert(chain, key);
        let mut config = config.map_err(|e| format!("{}: {e}", files.cert.display()))?;
        config.session_storage = ServerSessionMemoryCache::new(SESSIONS);
        Ok(Ready {
            config: Arc::new(config),
            verifies: files.ca.is_some(),
            versions: versions.to_string(),
            times: times?,
            files,
        })
    }
}

impl Tls {
    /// TLS as the system variables of a database say, which come to show what there is. `None`: they say that there is none.
    pub fn open(instance: &Instance) -> Result<Option<Arc<Tls>>, String> {
        let settings = instance.tls_settings();
        if settings.versions.trim().is_empty() {
            return Ok(None);
        }
        let Some(files) = Files::find(&settings)? else {
            return Ok(None);
        };
        let ready = Ready::of(files, &settings.versions)?;
        instance.show_tls_files(ready.files.shown(&settings.data).each_ref().map(|s| &**s));
        let tls = Arc::new(Tls {
            now: RwLock::new(Some(ready)),
            accepts: AtomicU64::new(0),
            finished: AtomicU64::new(0),
        });
        instance.set_transport(tls.clone());
        Ok(Some(tls))
    }

    /// Whether connections can have it now.
    pub(crate) fn is_ready(&self) -> bool {
        self.now.read().is_some()
    }

    /// For one more connection.
    pub(crate) fn config(&self) -> Option<Arc<ServerConfig>> {
        let now = self.now.read();
        Some(now.as_ref()?.config.clone())
    }

    /// A client has asked for it.
    pub(crate) fn began(&self) {
        self.accepts.fetch_add(1, Ordering::Relaxed);
    }

    /// It has it.
    pub(crate) fn finished(&self) {
        self.finished.fetch_add(1, Ordering::Relaxed);
    }
}

impl Transport for Tls {
    fn reload(&self, settings: &TlsSettings, no_rollback: bool) -> Result<(), String> {
        let ready = Files::find(settings).and_then(|files| match files {
            Some(files) => Ready::of(files, &settings.versions),
            None => Err("there is no certificate".into()),
        });
        match ready {
            Ok(ready) => *self.now.write() = Some(ready),
            Err(e) => {
                if no_rollback {
                    *self.now.write() = None;
                }
                return Err(e);
            }
        }
        Ok(())
    }

    fn status(&self) -> Vec<(&'static str, String)> {
        /// OpenSSL's SSL_VERIFY_PEER and SSL_VERIFY_CLIENT_ONCE.
        const VERIFIES: &str = "5";
        let count = |a: &AtomicU64| a.load(Ordering::Relaxed).to_string();
        let mut rows = vec![
            ("Ssl_accepts", count(&self.accepts)),
            ("Ssl_finished_accepts", count(&self.finished)),
            ("Ssl_cipher_list", names::CIPHERS.map(|c| c.1).join(":")),
        ];
        let now = self.now.read();
        if let Some(ready) = &*now {
            let mode = if ready.verifies { VERIFIES } else { "0" };
            let path = |path: &Path| path.display().to_string();
            let ca = ready.files.ca.as_deref().map(path).unwrap_or_default();
            let [from, to] = ready.times.clone();
            rows.extend([
                ("Current_tls_ca", ca),
                ("Current_tls_cert", path(&ready.files.cert)),
                ("Current_tls_key", path(&ready.files.key)),
                ("Current_tls_version", ready.versions.clone()),
                ("Ssl_ctx_verify_mode", mode.to_string()),
                ("Ssl_server_not_after", to),
                ("Ssl_server_not_before", from),
                ("Ssl_verify_mode", mode.to_string()),
            ]);
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        let count = |text| versions_of(text).map(|v| v.len());
        assert_eq!(count("TLSv1.2,TLSv1.3"), Ok(2));
        assert_eq!(count(" tlsv1.3 "), Ok(1));
        assert!(count("TLSv1.1,TLSv1.2").is_err());
        assert!(count("SSLv3").is_err());
    }
}

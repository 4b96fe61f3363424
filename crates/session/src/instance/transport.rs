//! What secures connections, as far as sessions have to know of it: the server brings it, statements ask it.

use std::path::PathBuf;
use std::sync::Arc;

use millpond_sql::error::{SqlError, SqlResult};

use super::Instance;
use crate::registry::TlsFacts;
use crate::vars::{self, VarValue};

/// What system variables say of TLS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsSettings {
    /// The data directory: where certificates are made, and what the files' names are relative to.
    pub data: PathBuf,
    /// `ssl_ca`: who may sign clients' certificates; empty: not said.
    pub ca: String,
    /// `ssl_cert`.
    pub cert: String,
    /// `ssl_key`.
    pub key: String,
    /// `tls_version`: a list; empty: no TLS.
    pub versions: String,
    /// `auto_generate_certs`.
    pub generate: bool,
}

/// What system variables say of the key by which passwords come where there is no TLS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PasswordKeySettings {
    /// The data directory: where keys are made, and what the files' names are relative to.
    pub data: PathBuf,
    /// `caching_sha2_password_private_key_path`.
    pub private: String,
    /// `caching_sha2_password_public_key_path`.
    pub public: String,
    /// `caching_sha2_password_auto_generate_rsa_keys`.
    pub generate: bool,
}

/// The server's TLS.
pub trait Transport: Send + Sync {
    /// ALTER INSTANCE RELOAD TLS: connections from now on go by these settings. If that can't be had, nothing changes, but for
    /// `no_rollback`: then there is no TLS for them.
    fn reload(&self, settings: &TlsSettings, no_rollback: bool) -> Result<(), String>;
    /// Rows of SHOW STATUS that are the same for all sessions.
    fn status(&self) -> Vec<(&'static str, String)>;
}

/// 3888: what TLS was asked for can't be had.
fn no_tls(reason: &str) -> SqlError {
    SqlError::new(
        3888,
        format!("Failed to set up SSL because of the following SSL library error: {reason}"),
    )
}

impl Instance {
    /// Connections are secured by this from now on.
    pub fn set_transport(&self, transport: Arc<dyn Transport>) {
        *self.0.transport.write() = Some(transport);
    }

    /// What system variables say of TLS.
    pub fn tls_settings(&self) -> TlsSettings {
        let text = |name| self.global_text(name).unwrap_or_default();
        TlsSettings {
            data: text("datadir").into(),
            ca: text("ssl_ca"),
            cert: text("ssl_cert"),
            key: text("ssl_key"),
            versions: text("tls_version"),
            generate: self.global_u64("auto_generate_certs") == Some(1),
        }
    }

    /// What system variables say of the key for passwords.
    pub fn password_key_settings(&self) -> PasswordKeySettings {
        let text = |name| self.global_text(name).unwrap_or_default();
        PasswordKeySettings {
            data: text("datadir").into(),
            private: text("caching_sha2_password_private_key_path"),
            public: text("caching_sha2_password_public_key_path"),
            generate: self.global_u64("caching_sha2_password_auto_generate_rsa_keys") == Some(1),
        }
    }

    /// Has Caching_sha2_password_rsa_public_key show a key in PEM.
    pub fn show_password_key(&self, public: &str) {
        *self.0.password_key.write() = public.to_string();
    }

    /// Has `ssl_ca`, `ssl_cert` and `ssl_key` show the files that are used where nothing was said.
    pub fn show_tls_files(&self, [ca, cert, key]: [&str; 3]) {
        let shown = [("ssl_ca", ca), ("ssl_cert", cert), ("ssl_key", key)];
        for (name, file) in shown {
            let value = VarValue::Text(file.into());
            self.0.globals.put(vars::known(name), value);
        }
        for name in ["have_ssl", "have_openssl"] {
            let value = VarValue::Text("YES".into());
            self.0.globals.put(vars::known(name), value);
        }
    }

    /// ALTER INSTANCE RELOAD TLS; error 3888.
    pub(crate) fn reload_tls(&self, no_rollback: bool) -> SqlResult<()> {
        let transport = self.0.transport.read().clone();
        match transport {
            Some(transport) => transport
                .reload(&self.tls_settings(), no_rollback)
                .map_err(|e| no_tls(&e)),
            None => Err(no_tls("the server has been started without TLS")),
        }
    }

    /// What SHOW STATUS says of TLS: `facts` are the session's.
    pub(crate) fn tls_status(&self, facts: Option<&TlsFacts>) -> Vec<(String, String)> {
        let transport = self.0.transport.read().clone();
        let rows = transport.map(|t| t.status()).unwrap_or_default();
        let (version, cipher) = facts.map_or(("", ""), |f| (f.version, f.cipher));
        // Empty without TLS; clients ask for it to show whether there is any.
        let own = [("Ssl_cipher", cipher), ("Ssl_version", version)];
        let own = own.map(|(name, value)| (name, value.to_string()));
        let key = self.0.password_key.read().clone();
        let rows = rows
            .into_iter()
            .chain([("Caching_sha2_password_rsa_public_key", key)]);
        rows.chain(own)
            .map(|(name, value)| (name.to_string(), value))
            .collect()
    }
}

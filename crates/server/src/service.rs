//! What a connection serves its client from.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::password_key::PasswordKey;
use crate::tls::Tls;

/// The database, and whether the server goes on.
pub(crate) struct Service<B> {
    /// The database.
    pub backend: B,
    /// What connections may be secured by.
    pub tls: Option<Arc<Tls>>,
    /// What passwords may be encrypted by where they aren't.
    pub password_key: Option<Arc<PasswordKey>>,
    stopping: AtomicBool,
}

impl<B> Service<B> {
    /// One that goes on.
    pub fn new(
        backend: B,
        tls: Option<Arc<Tls>>,
        password_key: Option<Arc<PasswordKey>>,
    ) -> Service<B> {
        Service {
            backend,
            tls,
            password_key,
            stopping: AtomicBool::new(false),
        }
    }
    /// The server is shutting down from now on.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
    }
    /// Whether the server is shutting down.
    #[inline]
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }
}

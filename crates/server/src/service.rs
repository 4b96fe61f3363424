//! What a connection serves its client from.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::backend::Backend;
use crate::password_key::PasswordKey;
use crate::registry::Registry;
use crate::tls::Tls;

/// The database, and whether the server goes on.
pub(crate) struct Service<B> {
    /// The database.
    pub backend: B,
    /// What connections may be secured by.
    pub tls: Option<Arc<Tls>>,
    /// What passwords may be encrypted by where they aren't.
    pub password_key: Option<Arc<PasswordKey>>,
    /// Who is connected.
    pub registry: Arc<Registry>,
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
            registry: Arc::default(),
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

impl<B: Backend> Service<B> {
    /// How many clients there may be beside the administrator's connection.
    pub fn max_connections(&self) -> usize {
        /// MySQL's default.
        const CONNECTIONS: u64 = 151;
        let most = self.backend.global_u64("max_connections");
        most.unwrap_or(CONNECTIONS) as usize
    }
    /// Whether only the administrator's place was left for the newest connection.
    pub fn is_full(&self) -> bool {
        self.registry.len() > self.max_connections()
    }
}

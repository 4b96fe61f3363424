//! Letting clients in, and what a server asks of accounts before it listens.

use super::Instance;
use crate::accounts::login::{Admitted, Candidate, Client};
use millpond_sql::error::SqlResult;

impl Instance {
    /// The account that a client says it is.
    pub fn candidate(&self, client: Client) -> Candidate {
        self.0.accounts.candidate(client)
    }

    /// Lets a client in, or not: `right` is what came of its answers. `password`: the one it sent itself, if it did; `gave`: it had one to give.
    pub fn admit(
        &self,
        candidate: Candidate,
        right: bool,
        password: Option<&[u8]>,
        gave: bool,
    ) -> SqlResult<Admitted> {
        let days = self.global_u64("default_password_lifetime").unwrap_or(0);
        let accounts = &self.0.accounts;
        accounts.admit(candidate, right, password, gave, days)
    }

    /// An account that anybody can log in as, for it has no password; `None`: there is none.
    pub fn open_account(&self) -> Option<String> {
        self.0.accounts.open_account()
    }

    /// Gives `root`@`localhost` a password, if nobody has changed accounts yet; whether it did.
    pub fn init_root_password(&self, password: &str) -> SqlResult<bool> {
        let inner = &self.0;
        inner.accounts.init_root_password(&inner.engine, password)
    }
}

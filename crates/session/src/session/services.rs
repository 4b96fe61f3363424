//! What a session gives to the statements that it runs.

use std::sync::Arc;
use std::time::Instant;

use millpond_sql::env::user_locks::UserLocks;
use millpond_sql::env::{Services, VirtualTable};
use millpond_store::Engine;

use crate::instance::Facts;
use crate::show;

impl Services for Facts {
    fn engine(&self) -> &Engine {
        self.instance.engine()
    }
    fn is_interrupted(&self) -> bool {
        self.seat.interrupted()
    }
    fn doze(&self, until: Instant) {
        self.seat.doze(until);
    }
    fn user_locks(&self) -> &UserLocks {
        &self.instance.0.user_locks
    }
    fn virtual_table(&self, database: &str, name: &str) -> Option<Arc<dyn VirtualTable>> {
        show::find(database, name)
    }
}

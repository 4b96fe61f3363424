//! What a session gives to the statements that it runs.

use std::sync::Arc;
use std::time::Instant;

use millpond_sql::catalog::View;
use millpond_sql::env::privileges::Need;
use millpond_sql::env::user_locks::UserLocks;
use millpond_sql::env::{Around, Services, StoredFunction, VirtualTable};
use millpond_sql::error::SqlResult;
use millpond_sql::value::Value;
use millpond_store::Engine;

use super::program;
use crate::instance::Facts;
use crate::registry::Waits;
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
    fn awaits_user_lock(&self, waits: bool) {
        self.seat.waits_in(match waits {
            true => Waits::Lock,
            false => Waits::Nowhere,
        });
    }
    fn client_is_gone(&self) -> bool {
        self.seat.client_is_gone()
    }
    fn user_locks(&self) -> &UserLocks {
        &self.instance.0.user_locks
    }
    fn check(&self, need: &Need) -> SqlResult<()> {
        self.meets(need)
    }
    fn virtual_table(&self, database: &str, name: &str) -> Option<Arc<dyn VirtualTable>> {
        show::find(database, name)
    }
    fn has_system_views(&self, database: &str) -> bool {
        show::has_system_views(database)
    }
    fn system_view(&self, database: &str, name: &str) -> Option<(String, Arc<View>)> {
        show::system_view(database, name)
    }
    fn function(&self, database: &str, name: &str) -> SqlResult<Option<Arc<StoredFunction>>> {
        program::function(self, database, name)
    }
    fn programs(&self) -> u64 {
        self.instance.0.programs.generation()
    }
    fn call(
        &self,
        function: &StoredFunction,
        args: Vec<Value<'static>>,
        around: Around<'_>,
    ) -> SqlResult<Value<'static>> {
        program::call_function(self, function, args, around)
    }
}

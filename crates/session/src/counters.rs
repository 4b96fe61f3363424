//! Status counters.
//!
//! Every session counts for itself: it alone writes its cells, with plain loads and stores, so that counting
//! touches no cache line that another core writes. Sums over all sessions are made when somebody asks; a
//! session that ends adds its cells to the instance's.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($variant:ident = $name:literal,)*) => {
        /// A status counter that sessions keep.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs)]
        pub enum Counter { $($variant,)* }

        impl Counter {
            /// Names as in SHOW STATUS, by position.
            pub(crate) const NAMES: &'static [&'static str] = &[$($name,)*];
            /// All of them.
            pub(crate) const ALL: &'static [Counter] = &[$(Counter::$variant,)*];
        }
    };
}

counters! {
    AbortedClients = "Aborted_clients",
    BytesReceived = "Bytes_received",
    BytesSent = "Bytes_sent",
    AlterDb = "Com_alter_db",
    AlterEvent = "Com_alter_event",
    AlterFunction = "Com_alter_function",
    AlterInstance = "Com_alter_instance",
    AlterProcedure = "Com_alter_procedure",
    AlterTable = "Com_alter_table",
    AlterTablespace = "Com_alter_tablespace",
    AlterUser = "Com_alter_user",
    AlterUserDefaultRole = "Com_alter_user_default_role",
    AlterView = "Com_alter_view",
    Analyze = "Com_analyze",
    Backup = "Com_backup",
    Begin = "Com_begin",
    CallProcedure = "Com_call_procedure",
    ChangeDb = "Com_change_db",
    Check = "Com_check",
    Checksum = "Com_checksum",
    Commit = "Com_commit",
    CreateDb = "Com_create_db",
    CreateEvent = "Com_create_event",
    CreateFunction = "Com_create_function",
    CreateIndex = "Com_create_index",
    CreateProcedure = "Com_create_procedure",
    CreateRole = "Com_create_role",
    CreateTable = "Com_create_table",
    CreateUser = "Com_create_user",
    CreateView = "Com_create_view",
    CreateTrigger = "Com_create_trigger",
    DeallocSql = "Com_dealloc_sql",
    Delete = "Com_delete",
    DeleteMulti = "Com_delete_multi",
    Do = "Com_do",
    DropDb = "Com_drop_db",
    DropEvent = "Com_drop_event",
    DropFunction = "Com_drop_function",
    DropIndex = "Com_drop_index",
    DropProcedure = "Com_drop_procedure",
    DropRole = "Com_drop_role",
    DropTable = "Com_drop_table",
    DropTrigger = "Com_drop_trigger",
    DropUser = "Com_drop_user",
    DropView = "Com_drop_view",
    ExecuteSql = "Com_execute_sql",
    Explain = "Com_explain_other",
    Flush = "Com_flush",
    GetDiagnostics = "Com_get_diagnostics",
    Grant = "Com_grant",
    GrantRoles = "Com_grant_roles",
    HaClose = "Com_ha_close",
    HaOpen = "Com_ha_open",
    HaRead = "Com_ha_read",
    Help = "Com_help",
    Insert = "Com_insert",
    InsertSelect = "Com_insert_select",
    Kill = "Com_kill",
    Load = "Com_load",
    LockTables = "Com_lock_tables",
    Optimize = "Com_optimize",
    PrepareSql = "Com_prepare_sql",
    ReleaseSavepoint = "Com_release_savepoint",
    RenameTable = "Com_rename_table",
    RenameUser = "Com_rename_user",
    Repair = "Com_repair",
    Replace = "Com_replace",
    ReplaceSelect = "Com_replace_select",
    Reset = "Com_reset",
    Resignal = "Com_resignal",
    Restart = "Com_restart",
    Revoke = "Com_revoke",
    RevokeAll = "Com_revoke_all",
    RevokeRoles = "Com_revoke_roles",
    Rollback = "Com_rollback",
    RollbackTo = "Com_rollback_to_savepoint",
    Savepoint = "Com_savepoint",
    Select = "Com_select",
    SetOption = "Com_set_option",
    SetPassword = "Com_set_password",
    SetRole = "Com_set_role",
    Signal = "Com_signal",
    ShowCharsets = "Com_show_charsets",
    ShowCollations = "Com_show_collations",
    ShowCreateDb = "Com_show_create_db",
    ShowCreateEvent = "Com_show_create_event",
    ShowCreateTable = "Com_show_create_table",
    ShowDatabases = "Com_show_databases",
    ShowEngineStatus = "Com_show_engine_status",
    ShowErrors = "Com_show_errors",
    ShowEvents = "Com_show_events",
    ShowFields = "Com_show_fields",
    ShowGrants = "Com_show_grants",
    ShowKeys = "Com_show_keys",
    ShowOpenTables = "Com_show_open_tables",
    ShowPlugins = "Com_show_plugins",
    ShowPrivileges = "Com_show_privileges",
    ShowProcesslist = "Com_show_processlist",
    ShowStatus = "Com_show_status",
    ShowStorageEngines = "Com_show_storage_engines",
    ShowTableStatus = "Com_show_table_status",
    ShowTables = "Com_show_tables",
    ShowTriggers = "Com_show_triggers",
    ShowVariables = "Com_show_variables",
    ShowWarnings = "Com_show_warnings",
    Shutdown = "Com_shutdown",
    StmtClose = "Com_stmt_close",
    StmtExecute = "Com_stmt_execute",
    StmtPrepare = "Com_stmt_prepare",
    StmtReprepare = "Com_stmt_reprepare",
    Truncate = "Com_truncate",
    UnlockTables = "Com_unlock_tables",
    XaCommit = "Com_xa_commit",
    XaEnd = "Com_xa_end",
    XaPrepare = "Com_xa_prepare",
    XaRecover = "Com_xa_recover",
    XaRollback = "Com_xa_rollback",
    XaStart = "Com_xa_start",
    Update = "Com_update",
    UpdateMulti = "Com_update_multi",
    HandlerCommit = "Handler_commit",
    HandlerPrepare = "Handler_prepare",
    HandlerRollback = "Handler_rollback",
    HandlerSavepoint = "Handler_savepoint",
    HandlerSavepointRollback = "Handler_savepoint_rollback",
    Queries = "Queries",
    Questions = "Questions",
    SlowQueries = "Slow_queries",
    CacheHits = "Statement_cache_hits",
    CacheMisses = "Statement_cache_misses",
    Plans = "Statement_plans",
}

/// How many counters there are.
const COUNT: usize = Counter::NAMES.len();

/// One set of counters with one writer.
pub(crate) struct Counters([AtomicU64; COUNT]);

impl Counters {
    pub fn new() -> Counters {
        Counters([const { AtomicU64::new(0) }; COUNT])
    }
    /// Adds to a counter. Only the owning session's thread may call this.
    #[inline]
    pub fn add(&self, c: Counter, n: u64) {
        let cell = &self.0[c as usize];
        cell.store(
            cell.load(Ordering::Relaxed).wrapping_add(n),
            Ordering::Relaxed,
        );
    }
    /// One's value.
    pub fn get(&self, c: Counter) -> u64 {
        self.0[c as usize].load(Ordering::Relaxed)
    }
    /// Adds all of them to `sums`.
    pub fn sum_into(&self, sums: &mut Sums) {
        for (sum, cell) in sums.0.iter_mut().zip(&self.0) {
            *sum += cell.load(Ordering::Relaxed);
        }
    }
    /// Sets all to zero (FLUSH STATUS), after adding them to `sums`.
    pub fn drain_into(&self, sums: &mut Sums) {
        self.sum_into(sums);
        for cell in &self.0 {
            cell.store(0, Ordering::Relaxed);
        }
    }
}

/// Added-up counters.
#[derive(Clone)]
pub(crate) struct Sums([u64; COUNT]);

impl Sums {
    pub fn new() -> Sums {
        Sums([0; COUNT])
    }
    /// Name and value of each.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        Counter::NAMES.iter().copied().zip(self.0.iter().copied())
    }
    /// Adds to one.
    pub fn add(&mut self, c: Counter, n: u64) {
        self.0[c as usize] += n;
    }
    /// One value.
    pub fn get(&self, c: Counter) -> u64 {
        self.0[c as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_sums() {
        let (a, b) = (Counters::new(), Counters::new());
        a.add(Counter::Select, 2);
        b.add(Counter::Select, 3);
        let mut sums = Sums::new();
        a.sum_into(&mut sums);
        b.drain_into(&mut sums);
        assert_eq!(sums.get(Counter::Select), 5);
        let mut rest = Sums::new();
        b.sum_into(&mut rest);
        assert_eq!(rest.get(Counter::Select), 0);
        assert_eq!(
            Counter::NAMES[Counter::StmtExecute as usize],
            "Com_stmt_execute"
        );
    }
}

//! Which privileges there are, what they are called, and where they can be granted.

use millpond_sql::env::privileges::{self as p, Privileges};
use millpond_sql::parse::ast::StaticPrivilege;

/// A static privilege.
pub struct Static {
    /// Its bit.
    pub bit: Privileges,
    /// As GRANT and SHOW GRANTS have it.
    pub name: &'static str,
    /// Its column of `mysql.user`.
    pub column: &'static str,
}

const fn of(bit: Privileges, name: &'static str, column: &'static str) -> Static {
    Static { bit, name, column }
}

/// All of them, in the order of the columns of `mysql.user` and of SHOW GRANTS.
pub const ALL: [Static; 31] = [
    of(p::SELECT, "SELECT", "Select_priv"),
    of(p::INSERT, "INSERT", "Insert_priv"),
    of(p::UPDATE, "UPDATE", "Update_priv"),
    of(p::DELETE, "DELETE", "Delete_priv"),
    of(p::CREATE, "CREATE", "Create_priv"),
    of(p::DROP, "DROP", "Drop_priv"),
    of(p::RELOAD, "RELOAD", "Reload_priv"),
    of(p::SHUTDOWN, "SHUTDOWN", "Shutdown_priv"),
    of(p::PROCESS, "PROCESS", "Process_priv"),
    of(p::FILE, "FILE", "File_priv"),
    of(p::GRANT, "GRANT OPTION", "Grant_priv"),
    of(p::REFERENCES, "REFERENCES", "References_priv"),
    of(p::INDEX, "INDEX", "Index_priv"),
    of(p::ALTER, "ALTER", "Alter_priv"),
    of(p::SHOW_DATABASES, "SHOW DATABASES", "Show_db_priv"),
    of(p::SUPER, "SUPER", "Super_priv"),
    of(
        p::CREATE_TEMPORARY,
        "CREATE TEMPORARY TABLES",
        "Create_tmp_table_priv",
    ),
    of(p::LOCK_TABLES, "LOCK TABLES", "Lock_tables_priv"),
    of(p::EXECUTE, "EXECUTE", "Execute_priv"),
    of(p::REPLICATION_SLAVE, "REPLICATION SLAVE", "Repl_slave_priv"),
    of(
        p::REPLICATION_CLIENT,
        "REPLICATION CLIENT",
        "Repl_client_priv",
    ),
    of(p::CREATE_VIEW, "CREATE VIEW", "Create_view_priv"),
    of(p::SHOW_VIEW, "SHOW VIEW", "Show_view_priv"),
    of(p::CREATE_ROUTINE, "CREATE ROUTINE", "Create_routine_priv"),
    of(p::ALTER_ROUTINE, "ALTER ROUTINE", "Alter_routine_priv"),
    of(p::CREATE_USER, "CREATE USER", "Create_user_priv"),
    of(p::EVENT, "EVENT", "Event_priv"),
    of(p::TRIGGER, "TRIGGER", "Trigger_priv"),
    of(
        p::CREATE_TABLESPACE,
        "CREATE TABLESPACE",
        "Create_tablespace_priv",
    ),
    of(p::CREATE_ROLE, "CREATE ROLE", "Create_role_priv"),
    of(p::DROP_ROLE, "DROP ROLE", "Drop_role_priv"),
];

/// All that can be granted on everything.
pub const GLOBAL: Privileges = (1 << 31) - 1;
/// All that can be granted on tables.
pub const TABLE: Privileges = p::SELECT
    | p::INSERT
    | p::UPDATE
    | p::DELETE
    | p::CREATE
    | p::DROP
    | p::GRANT
    | p::REFERENCES
    | p::INDEX
    | p::ALTER
    | p::CREATE_VIEW
    | p::SHOW_VIEW
    | p::TRIGGER;
/// All that can be granted on routines.
pub const ROUTINE: Privileges = p::EXECUTE | p::ALTER_ROUTINE | p::GRANT;
/// All that can be granted on databases.
pub const DATABASE: Privileges =
    TABLE | ROUTINE | p::CREATE_TEMPORARY | p::LOCK_TABLES | p::CREATE_ROUTINE | p::EVENT;
/// All that can be granted on columns.
pub const COLUMN: Privileges = p::SELECT | p::INSERT | p::UPDATE | p::REFERENCES;

/// The dynamic privileges of MySQL 8.0's server.
pub const DYNAMIC: [&str; 35] = [
    "APPLICATION_PASSWORD_ADMIN",
    "AUDIT_ABORT_EXEMPT",
    "AUDIT_ADMIN",
    "AUTHENTICATION_POLICY_ADMIN",
    "BACKUP_ADMIN",
    "BINLOG_ADMIN",
    "BINLOG_ENCRYPTION_ADMIN",
    "CLONE_ADMIN",
    "CONNECTION_ADMIN",
    "ENCRYPTION_KEY_ADMIN",
    "FIREWALL_EXEMPT",
    "FLUSH_OPTIMIZER_COSTS",
    "FLUSH_STATUS",
    "FLUSH_TABLES",
    "FLUSH_USER_RESOURCES",
    "GROUP_REPLICATION_ADMIN",
    "GROUP_REPLICATION_STREAM",
    "INNODB_REDO_LOG_ARCHIVE",
    "INNODB_REDO_LOG_ENABLE",
    "PASSWORDLESS_USER_ADMIN",
    "PERSIST_RO_VARIABLES_ADMIN",
    "REPLICATION_APPLIER",
    "REPLICATION_SLAVE_ADMIN",
    "RESOURCE_GROUP_ADMIN",
    "RESOURCE_GROUP_USER",
    "ROLE_ADMIN",
    "SENSITIVE_VARIABLES_OBSERVER",
    "SERVICE_CONNECTION_ADMIN",
    "SESSION_VARIABLES_ADMIN",
    "SET_USER_ID",
    "SHOW_ROUTINE",
    "SYSTEM_USER",
    "SYSTEM_VARIABLES_ADMIN",
    "TABLE_ENCRYPTION_ADMIN",
    "XA_RECOVER_ADMIN",
];

/// The bit of a privilege that the grammar knows; none for USAGE, and for MariaDB's own.
pub fn bit(privilege: StaticPrivilege) -> Privileges {
    let name = privilege.to_string();
    ALL.iter().find(|s| s.name == name).map_or(0, |s| s.bit)
}

/// The names of some privileges, in order; GRANT OPTION aside.
pub fn names(set: Privileges) -> Vec<&'static str> {
    let named = |s: &&Static| set & s.bit != 0 && s.bit != p::GRANT;
    ALL.iter().filter(named).map(|s| s.name).collect()
}

/// The names of what is denied, as messages have them.
pub fn listed(set: Privileges) -> String {
    let name = |s: &Static| match s.bit {
        p::GRANT => "GRANT",
        _ => s.name,
    };
    let named = ALL.iter().filter(|s| set & s.bit != 0);
    named.map(name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_privilege_has_a_bit_of_its_own() {
        let all = ALL.iter().fold(0, |all, s| {
            assert_eq!(all & s.bit, 0, "{}", s.name);
            all | s.bit
        });
        assert_eq!(all, GLOBAL);
        assert_eq!(names(p::SELECT | p::GRANT), ["SELECT"]);
        assert_eq!(bit(StaticPrivilege::Usage), 0);
        assert_eq!(bit(StaticPrivilege::Trigger), p::TRIGGER);
    }
}

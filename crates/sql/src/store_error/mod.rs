//! The store's errors as MySQL's, in one place.

mod report;

use crate::error::SqlError;
use millpond_store::{ConstraintKind, Error};
use report::report;

/// 1179 for what cannot be undone with the open transaction, under `millpond_transactional_ddl`.
pub fn not_in_transaction(what: &str) -> SqlError {
    SqlError::new(
        1179,
        format!(
            "You are not allowed to execute this command in a transaction: {what} (millpond_transactional_ddl is ON)"
        ),
    )
}

/// The store's error as MySQL's; `table` names the table for messages that do, or the index that was being built.
pub fn store_error(e: Error, table: &str) -> SqlError {
    report(&e, table);
    match e {
        Error::Io { .. } if e.is_full() => {
            SqlError::new(1114, format!("The table '{table}' is full ({e})"))
        }
        Error::Io { what, message, .. } => SqlError::new(
            1030,
            format!("Got error from storage engine: {what}: {message}"),
        ),
        Error::Corrupt(what) if table.is_empty() => {
            SqlError::new(1712, format!("Index or data is corrupted: {what}"))
        }
        Error::Corrupt(what) => SqlError::new(
            1712,
            format!("Index or data of table '{table}' is corrupted: {what}"),
        ),
        Error::Stopped(cause) => SqlError::new(
            1030,
            format!("Got error from storage engine: writing stopped after a failure: {cause}"),
        ),
        // Statements that know the key say which; this is for those that do not.
        Error::DuplicateKey { index } | Error::DuplicateRow { index, .. } => SqlError::new(
            1062,
            format!("Duplicate entry for key {index} of table '{table}'"),
        ),
        Error::Deadlock => SqlError::new(
            1213,
            "Deadlock found when trying to get lock; try restarting transaction",
        ),
        Error::LockWaitTimeout => SqlError::new(
            1205,
            "Lock wait timeout exceeded; try restarting transaction",
        ),
        Error::LockTableFull => SqlError::new(
            1206,
            "The total number of locks exceeds the lock table size",
        ),
        Error::LockNotAvailable => SqlError::new(
            3572,
            "Statement aborted because lock(s) could not be acquired immediately and NOWAIT is set.",
        ),
        Error::Interrupted => interrupted(),
        Error::NoSuchDatabase(d) => SqlError::new(1049, format!("Unknown database '{d}'")),
        Error::DatabaseExists(d) => SqlError::new(
            1007,
            format!("Can't create database '{d}'; database exists"),
        ),
        Error::NoSuchTable(t) => SqlError::new(1146, format!("Table '{t}' doesn't exist")),
        Error::TableExists(t) => {
            let name = t.rsplit('.').next().unwrap_or(&t);
            SqlError::new(1050, format!("Table '{name}' already exists"))
        }
        Error::NoSuchIndex(i) => SqlError::new(
            1091,
            format!("Can't DROP '{i}'; check that column/key exists"),
        ),
        Error::RowTooLarge(bytes) => SqlError::new(
            1118,
            format!(
                "Row size too large ({bytes} bytes). The maximum row size, not counting BLOBs, is \
                 65535"
            ),
        ),
        Error::KeyTooLong(bytes) => SqlError::new(
            1071,
            format!("Specified key was too long ({bytes} bytes); max key length is 3072 bytes"),
        ),
        Error::NotInTransaction(what) => not_in_transaction(&what),
        Error::RowLogFull => SqlError::new(
            1799,
            format!(
                "Creating index '{table}' required more than 'innodb_online_alter_log_max_size' bytes of modification log. Please try again."
            ),
        ),
        Error::ForcedRecovery => SqlError::new(
            1881,
            "Operation not allowed when innodb_forced_recovery > 0.",
        ),
        Error::DefinitionChanged(_) => SqlError::new(
            1412,
            "Table definition has changed, please retry transaction",
        ),
        Error::DuplicateConstraint(c) => match c.kind {
            ConstraintKind::ForeignKey => SqlError::new(
                1826,
                format!("Duplicate foreign key constraint name '{}'", c.name),
            ),
            ConstraintKind::Check => SqlError::new(
                3822,
                format!("Duplicate check constraint name '{}'.", c.name),
            ),
        },
        Error::Related(_) => SqlError::new(
            1412,
            "Table definition has changed, please retry transaction",
        ),
        Error::NoSuchTablespace(name) => {
            SqlError::new(3510, format!("Tablespace {name} doesn't exist."))
        }
        Error::TablespaceExists(name) => {
            SqlError::new(1813, format!("Tablespace '{name}' exists."))
        }
        Error::DuplicateDatafile(name) => {
            SqlError::new(3606, format!("Duplicate file name for tablespace '{name}'"))
        }
        Error::TablespaceNotEmpty(name) => {
            SqlError::new(3120, format!("Tablespace `{name}` is not empty."))
        }
        Error::BackupRuns => SqlError::new(
            3634,
            "Too many concurrent clone operations. Maximum allowed - 1.",
        ),
        Error::Locked(what) => SqlError::new(1105, what),
        other => SqlError::new(1105, other.to_string()),
    }
}

/// 1317.
pub fn interrupted() -> SqlError {
    SqlError::new(1317, "Query execution was interrupted")
}

//! What an experiment runs on: the embedded engine, or any server that speaks MySQL's protocol.

mod embedded;
mod server;

use crate::Result;
pub use embedded::{Embedded, EmbeddedOptions};
pub use server::MysqlServer;

/// A database under test. Shared by the experiment's threads.
pub trait Target: Sync {
    /// Name, version and place, for the report.
    fn describe(&self) -> String;
    /// Name and version in a few characters, for charts.
    fn name(&self) -> String;
    /// A connection; used by the calling thread alone.
    fn connect(&self) -> Result<Box<dyn Client + '_>>;
}

/// A row as text; `None` is NULL.
pub type TextRow = Vec<Option<String>>;

/// A statement prepared on a client, by the number that [`Client::prepare`] gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatementId(pub usize);

/// A value for a placeholder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Param<'a> {
    /// A whole number.
    Int(i64),
    /// A string.
    Text(&'a str),
}

/// A connection to a target.
pub trait Client {
    /// Runs a statement and discards what it returns; gives the number of rows returned.
    fn run(&mut self, sql: &str) -> Result<u64>;
    /// Runs a query and collects its rows as text.
    fn rows(&mut self, sql: &str) -> Result<Vec<TextRow>>;
    /// The first column of the first row.
    fn value(&mut self, sql: &str) -> Result<Option<String>> {
        let first = self.rows(sql)?.into_iter().next();
        Ok(first.and_then(|row| row.into_iter().next()).flatten())
    }
    /// Prepares a statement.
    fn prepare(&mut self, sql: &str) -> Result<StatementId>;
    /// Runs a prepared statement and discards what it returns.
    fn execute(&mut self, statement: StatementId, params: &[Param<'_>]) -> Result<()>;
}

/// Whether an error is one that a client meets by answering with a new try: a deadlock (1213) or a lock wait that took too
/// long (1205).
pub fn is_conflict(e: &crate::Error) -> bool {
    matches!(error_code(e), Some(1205 | 1213))
}

/// MySQL's number of an error with which a target answered; `None` of any other, like a lost connection.
pub fn error_code(e: &crate::Error) -> Option<u16> {
    if let Some(mysql::Error::MySqlError(e)) = e.downcast_ref() {
        return Some(e.code);
    }
    e.downcast_ref::<millpond::Error>()?.code()
}

/// An error as the target words it, with its number.
pub fn words(e: &crate::Error) -> String {
    match e.downcast_ref() {
        Some(mysql::Error::MySqlError(e)) => e.to_string(),
        _ => e.to_string(),
    }
}

/// When commits reach the disk, as the target tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Durability {
    /// `innodb_flush_log_at_trx_commit`, if the target has it.
    pub flush_at_commit: Option<u8>,
    /// `log_bin`, if the target has it and it is on: `sync_binlog`.
    pub sync_binlog: Option<String>,
}

impl Durability {
    /// Asks the target.
    pub fn of(client: &mut dyn Client) -> Durability {
        // A target without such a variable answers with an error, which says the same.
        let mut ask = |name: &str| {
            let sql = format!("SELECT @@GLOBAL.{name}");
            client.value(&sql).ok().flatten()
        };
        let binlog = ask("log_bin").is_some_and(|on| on == "1" || on.eq_ignore_ascii_case("on"));
        Durability {
            flush_at_commit: ask("innodb_flush_log_at_trx_commit").and_then(|v| v.parse().ok()),
            sync_binlog: ask("sync_binlog").filter(|_| binlog),
        }
    }
}

impl std::fmt::Display for Durability {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.flush_at_commit {
            Some(1) => write!(f, "durable: innodb_flush_log_at_trx_commit=1")?,
            Some(n) => write!(f, "NOT durable: innodb_flush_log_at_trx_commit={n}")?,
            None => write!(f, "durability unknown")?,
        }
        match &self.sync_binlog {
            Some(n) => write!(f, ", binary log with sync_binlog={n}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_in_the_targets_words() {
        let server = mysql::Error::MySqlError(mysql::MySqlError {
            state: "42000".into(),
            message: "Unknown character set: 'latin1'".into(),
            code: 1115,
        });
        let server: crate::Error = server.into();
        assert_eq!(
            words(&server),
            "ERROR 1115 (42000): Unknown character set: 'latin1'"
        );
        assert_eq!(
            (error_code(&server), is_conflict(&server)),
            (Some(1115), false)
        );
        let own: crate::Error = "lost".into();
        assert_eq!((words(&own).as_str(), error_code(&own)), ("lost", None));
    }

    #[test]
    fn figures_without_durability_say_so() {
        let with = |n| Durability {
            flush_at_commit: n,
            sync_binlog: None,
        };
        assert!(with(Some(1)).to_string().starts_with("durable"));
        assert!(with(Some(2)).to_string().starts_with("NOT durable"));
        assert_eq!(with(None).to_string(), "durability unknown");
    }
}

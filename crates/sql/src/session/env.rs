//! What expressions may ask of the session, and the diagnostics they may leave.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use crate::value::{DateTime, Value};

/// Severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Level {
    Note,
    Warning,
    Error,
}

/// A condition as SHOW WARNINGS lists it.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// Severity.
    pub level: Level,
    /// MySQL's code.
    pub code: u16,
    /// Text.
    pub message: String,
}

/// sql_mode bits that evaluation and conversion ask about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SqlMode {
    /// STRICT_TRANS_TABLES or STRICT_ALL_TABLES.
    pub strict: bool,
    /// NO_ZERO_DATE.
    pub no_zero_date: bool,
    /// NO_ZERO_IN_DATE.
    pub no_zero_in_date: bool,
    /// ERROR_FOR_DIVISION_BY_ZERO.
    pub error_for_division_by_zero: bool,
    /// ANSI_QUOTES.
    pub ansi_quotes: bool,
    /// PIPES_AS_CONCAT.
    pub pipes_as_concat: bool,
    /// NO_BACKSLASH_ESCAPES.
    pub no_backslash_escapes: bool,
    /// NO_AUTO_VALUE_ON_ZERO.
    pub no_auto_value_on_zero: bool,
    /// ONLY_FULL_GROUP_BY.
    pub only_full_group_by: bool,
}

/// The part of a session that expressions see. Single-threaded interior mutability: a session runs one
/// statement at a time on one thread.
pub struct SessionEnv {
    /// Connection id.
    pub connection_id: u32,
    /// Current database, if any.
    pub database: RefCell<Option<String>>,
    /// `user@host` as the client gave it.
    pub user: String,
    /// Start of the statement, seconds since 1970 UTC and microseconds.
    pub now: Cell<(i64, u32)>,
    /// Session time zone: offset from UTC in seconds (named zones come later).
    pub tz_offset: Cell<i32>,
    /// sql_mode.
    pub sql_mode: Cell<SqlMode>,
    /// LAST_INSERT_ID().
    pub last_insert_id: Cell<u64>,
    /// ROW_COUNT().
    pub row_count: Cell<i64>,
    /// FOUND_ROWS().
    pub found_rows: Cell<u64>,
    /// `@name` variables.
    pub user_vars: RefCell<HashMap<String, Value<'static>>>,
    /// Warnings of the current statement.
    pub diagnostics: RefCell<Vec<Diagnostic>>,
    /// Reads `@@name`: (scope `"session"`, `"global"` or `""`, lower-case name).
    #[allow(clippy::type_complexity)]
    pub sys_var: Box<dyn Fn(&str, &str) -> crate::SqlResult<Value<'static>> + Send>,
}

impl SessionEnv {
    /// Records a warning.
    pub fn warn(&self, code: u16, message: impl Into<String>) {
        let mut d = self.diagnostics.borrow_mut();
        if d.len() < 1024 {
            d.push(Diagnostic {
                level: Level::Warning,
                code,
                message: message.into(),
            });
        }
    }
    /// The statement's start in the session's time zone, to the second plus microseconds.
    pub fn local_now(&self) -> DateTime {
        todo!("converted by value::time")
    }
}

//! What conversion asks of its surroundings: sql_mode, the statement's clock and zone, and where warnings go.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use super::parse_time::{odd_delimiter, parse_datetime_in};
use super::time::truncate_micros;
use super::{DateTime, Zone, printable};
use crate::error::{ConditionItems, SqlError, SqlResult, SqlState, state_of};
use crate::types::derive::DIV_INCREMENT;

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
    /// SQLSTATE.
    pub state: SqlState,
    /// Text.
    pub message: String,
    /// What SIGNAL said besides.
    pub items: ConditionItems,
}

impl Diagnostic {
    /// A condition that MySQL's code tells all about.
    pub fn new(level: Level, code: u16, message: String) -> Diagnostic {
        Diagnostic {
            level,
            code,
            state: state_of(code),
            message,
            items: None,
        }
    }
    /// An error as a condition.
    pub fn of(e: &SqlError) -> Diagnostic {
        Diagnostic {
            level: Level::Error,
            code: e.code,
            state: e.state,
            message: e.message.clone(),
            items: e.items.clone(),
        }
    }
}

/// sql_mode bits that evaluation and conversion ask about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SqlMode {
    /// STRICT_TRANS_TABLES or STRICT_ALL_TABLES.
    pub strict: bool,
    /// STRICT_ALL_TABLES, in which SET refuses values out of bounds.
    pub strict_all: bool,
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
    /// HIGH_NOT_PRECEDENCE.
    pub high_not_precedence: bool,
    /// IGNORE_SPACE.
    pub ignore_space: bool,
    /// NO_AUTO_VALUE_ON_ZERO.
    pub no_auto_value_on_zero: bool,
    /// ONLY_FULL_GROUP_BY.
    pub only_full_group_by: bool,
    /// NO_UNSIGNED_SUBTRACTION.
    pub no_unsigned_subtraction: bool,
    /// PAD_CHAR_TO_FULL_LENGTH.
    pub pad_char: bool,
    /// TIME_TRUNCATE_FRACTIONAL.
    pub truncate_fractions: bool,
    /// ALLOW_INVALID_DATES.
    pub invalid_dates: bool,
}

/// Clock, zone, sql_mode and warnings of the statement that converts. Single-threaded interior mutability: a session runs one
/// statement at a time on one thread.
#[derive(Debug)]
pub struct ConversionEnv {
    /// Start of the statement, seconds since 1970 UTC and microseconds.
    pub now: Cell<(i64, u32)>,
    /// Session time zone.
    pub zone: Cell<Zone>,
    /// sql_mode.
    pub sql_mode: Cell<SqlMode>,
    /// Digits that division adds after the point (`div_precision_increment`).
    pub div_increment: Cell<u8>,
    /// Whether the current statement writes in strict mode: what its expressions would warn of is an error then.
    pub strict_write: Cell<bool>,
    /// Rows that the current statement has sent.
    pub rows_sent: Cell<u64>,
    /// Where the constants are that the current statement has complained of, and does not again, and which of its diagnostics that is.
    pub told: RefCell<Vec<(usize, usize)>>,
    /// What a number is called that is cast to DECIMAL, if it has a name.
    pub cast_name: RefCell<Option<Arc<str>>>,
    /// Warnings of the current statement.
    pub diagnostics: RefCell<Vec<Diagnostic>>,
    /// What comes behind the error that it is to end with.
    pub behind: RefCell<Vec<Diagnostic>>,
}

impl Default for ConversionEnv {
    fn default() -> ConversionEnv {
        ConversionEnv {
            now: Cell::default(),
            zone: Cell::new(Zone::UTC),
            sql_mode: Cell::new(SqlMode::DEFAULT),
            div_increment: Cell::new(DIV_INCREMENT),
            strict_write: Cell::default(),
            rows_sent: Cell::default(),
            told: RefCell::default(),
            cast_name: RefCell::default(),
            diagnostics: RefCell::default(),
            behind: RefCell::default(),
        }
    }
}

/// Ends with the statement that writes strictly; see [`ConversionEnv::write_strictly`].
pub struct StrictWrite<'e>(&'e Cell<bool>);

impl Drop for StrictWrite<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

/// Diagnostics kept per statement.
const MAX_DIAGNOSTICS: usize = 1024;

impl SqlMode {
    /// MySQL 8's default: strict, no zero dates, errors for division by zero, ONLY_FULL_GROUP_BY.
    pub const DEFAULT: SqlMode = SqlMode {
        strict: true,
        strict_all: false,
        no_zero_date: true,
        no_zero_in_date: true,
        error_for_division_by_zero: true,
        ansi_quotes: false,
        pipes_as_concat: false,
        no_backslash_escapes: false,
        high_not_precedence: false,
        ignore_space: false,
        no_auto_value_on_zero: false,
        only_full_group_by: true,
        no_unsigned_subtraction: false,
        pad_char: false,
        truncate_fractions: false,
        invalid_dates: false,
    };
}

impl ConversionEnv {
    /// Warns of a delimiter in the text of a date that is not the standard's, in the row of that number.
    pub fn warn_of_delimiter(&self, text: &[u8], row: u64) {
        let Some((found, at, wanted)) = odd_delimiter(text) else {
            return;
        };
        // The zero date is told otherwise where there is none.
        let mode = self.sql_mode.get();
        let zeros = mode.no_zero_date;
        let date = parse_datetime_in(text, mode).map(|p| p.value.date);
        if date.is_none_or(|d| zeros && d.is_zero()) {
            return;
        }
        let text = printable(text);
        let place =
            format!("Delimiter '{found}' in position {at} in datetime value '{text}' at row {row}");
        match wanted {
            Some(wanted) => {
                let m = format!("{place} is deprecated. Prefer the standard '{wanted}'.");
                self.warn(4095, m);
            }
            None => self.warn(
                4096,
                format!("{place} is superfluous and is deprecated. Please remove."),
            ),
        }
    }
    /// Records a warning.
    pub fn warn(&self, code: u16, message: impl Into<String>) {
        self.diagnose(Level::Warning, code, message.into());
    }
    /// Records what an expression has to say about its operands (a division by zero, a text that is no number): an error
    /// while a statement writes in strict mode, else a warning.
    #[cold]
    pub fn complain(&self, code: u16, message: impl Into<String>) -> SqlResult<()> {
        if self.strict_write.get() {
            return Err(SqlError::new(code, message));
        }
        self.warn(code, message);
        Ok(())
    }
    /// Makes complaints errors for as long as the guard lives, if the mode is strict and the statement does not say IGNORE.
    pub fn write_strictly(&self, ignore: bool) -> Option<StrictWrite<'_>> {
        if ignore || !self.sql_mode.get().strict {
            return None;
        }
        self.strict_write.set(true);
        Some(StrictWrite(&self.strict_write))
    }
    /// Records a note.
    pub fn note(&self, code: u16, message: impl Into<String>) {
        self.diagnose(Level::Note, code, message.into());
    }
    fn diagnose(&self, level: Level, code: u16, message: String) {
        self.say(Diagnostic::new(level, code, message));
    }
    /// Notes what was said elsewhere, on behalf of the statement.
    pub fn say(&self, said: Diagnostic) {
        let mut d = self.diagnostics.borrow_mut();
        if d.len() < MAX_DIAGNOSTICS {
            d.push(said);
        }
    }
    /// The statement's start in the session's time zone, with microseconds.
    pub fn local_now(&self) -> DateTime {
        let (seconds, micro) = self.now.get();
        DateTime::from_unix(seconds, micro, self.zone.get()).unwrap_or_default()
    }
    /// The same cut to `fsp` digits after the second.
    pub fn local_now_fsp(&self, fsp: u8) -> DateTime {
        let now = self.local_now();
        let micro = truncate_micros(now.micro as i64, fsp) as u32;
        DateTime { micro, ..now }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A statement at 2024-01-31 12:34:56.789012 UTC, two hours east of it.
    pub fn env() -> ConversionEnv {
        ConversionEnv {
            now: Cell::new((1_706_704_496, 789_012)),
            zone: Cell::new(Zone::Fixed(7200)),
            ..ConversionEnv::default()
        }
    }

    #[test]
    fn now_is_local() {
        let mut out = Vec::new();
        crate::value::text::write_datetime(env().local_now_fsp(3), 6, &mut out);
        assert_eq!(out, b"2024-01-31 14:34:56.789000");
    }
}

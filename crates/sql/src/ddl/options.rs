//! Options of tables, as CREATE TABLE and ALTER TABLE have them.

use super::{Ddl, comment};
use crate::catalog::is_ours;
use crate::catalog::options::{KeptOption as K, ROW_FORMATS};
use crate::env::sql_mode;
use crate::error::{SqlError, SqlResult};
use crate::parse::ast::{NumberOption, RowFormat, TableOption, TextOption};
use crate::parse::collation_of;
use crate::types::Collation;

/// Longest COMMENT of a table, characters.
const MAX_COMMENT: usize = 2048;

/// Engines whose tables are made as InnoDB's, with a warning.
const OTHER_ENGINES: [&str; 10] = [
    "MyISAM",
    "MEMORY",
    "HEAP",
    "ARCHIVE",
    "CSV",
    "BLACKHOLE",
    "MRG_MyISAM",
    "Aria",
    "RocksDB",
    "TokuDB",
];

/// Table options as read.
#[derive(Default)]
pub(super) struct Options {
    charset: Option<String>,
    /// That of CONVERT TO.
    converted: Option<String>,
    collation: Option<String>,
    pub comment: Option<String>,
    pub auto_increment: Option<u64>,
    /// TABLESPACE; see [`Ddl::place`].
    pub tablespace: Option<String>,
    /// Options that are kept to be shown, with their values; `None` for the default.
    pub kept: Vec<(K, Option<u64>)>,
    /// ENGINE was said.
    pub engine: bool,
}

impl Options {
    /// Whether a character set or a collation was said.
    pub fn has_collation(&self) -> bool {
        self.charset.is_some() || self.collation.is_some()
    }
    /// Whether a table's definition changes by them.
    pub fn changes(&self) -> bool {
        self.has_collation() || self.comment.is_some() || self.engine || !self.kept.is_empty()
    }
    /// The collation that was asked for. `default`: what it is if nothing was said.
    pub fn collation(&self, default: Collation) -> SqlResult<Collation> {
        collation_of(self.charset.as_deref(), self.collation.as_deref(), default)
    }
}

impl Options {
    /// CONVERT TO says a character set too.
    pub(super) fn convert_to(&mut self, charset: Option<&str>) -> SqlResult<()> {
        one_charset(self.charset.as_deref(), charset)?;
        self.converted = charset.map(str::to_string);
        Ok(())
    }
}

/// Refuses a character set that is said after another one: error 1302.
pub(super) fn one_charset(before: Option<&str>, now: Option<&str>) -> SqlResult<()> {
    let (Some(before), Some(now)) = (before, now) else {
        return Ok(());
    };
    let (before, now) = (Collation::of_charset(before)?, Collation::of_charset(now)?);
    if before.charset() == now.charset() {
        return Ok(());
    }
    let m = format!(
        "Conflicting declarations: 'CHARACTER SET {}' and 'CHARACTER SET {}'",
        before.charset(),
        now.charset()
    );
    Err(SqlError::new(1302, m))
}

impl Ddl<'_> {
    /// Reads one more option of a table of this name.
    pub(super) fn take_option(
        &self,
        option: &TableOption,
        table: &str,
        out: &mut Options,
    ) -> SqlResult<()> {
        use TableOption as O;
        let text = |name: &Option<crate::parse::ast::Ident>| {
            name.as_ref().map(|name| name.as_str().to_string())
        };
        match option {
            O::Engine(name) => {
                self.engine_option(name.as_str(), table)?;
                out.engine = true;
            }
            O::Charset(name) => {
                let before = out.charset.take();
                for before in [before, out.converted.clone()] {
                    one_charset(before.as_deref(), name.as_ref().map(|n| n.as_str()))?;
                }
                out.charset = text(name);
            }
            O::Collate(name) => out.collation = text(name),
            O::Text(TextOption::Comment, text) => {
                let (limit, of) = ((MAX_COMMENT, 1628), format!("table '{table}'"));
                out.comment = Some(comment::fitting(text, limit, &of, self.env)?);
            }
            O::Text(TextOption::Encryption, value) => self.encryption(value)?,
            O::Text(TextOption::Compression, value)
                if value.is_empty() || value.eq_ignore_ascii_case("none") => {}
            O::Tablespace(name) => out.tablespace = Some(name.as_str().to_string()),
            O::Number(NumberOption::AutoIncrement, n) => out.auto_increment = *n,
            O::Number(option, n) if kept(*option).is_some() => {
                if let (NumberOption::KeyBlockSize, Some(1..)) = (option, n) {
                    self.not_compressed(format!("InnoDB: ignoring {option}={}.", n.unwrap_or(0)));
                }
                let value = kept_value(*option, *n);
                out.kept.extend(kept(*option).map(|option| (option, value)));
            }
            // What InnoDB takes and does nothing with.
            O::Number(NumberOption::AutoextendSize, _)
            | O::InsertMethod(_)
            | O::Union(_)
            | O::Text(TextOption::Password, _) => {}
            O::RowFormat(format) if *format != RowFormat::Page => {
                let value = self.row_format(*format, table)?;
                out.kept.push((K::RowFormat, value));
            }
            O::RowFormat(_)
            | O::Number(..)
            | O::Text(..)
            | O::SecondaryEngine(_)
            | O::Storage(_)
            | O::StartTransaction
            | O::Foreign(..) => return Err(SqlError::unsupported(option)),
        }
        Ok(())
    }

    /// The number of a ROW_FORMAT that is kept; `None` for the default. Error 1031 for the one that InnoDB hasn't.
    fn row_format(&self, format: RowFormat, table: &str) -> SqlResult<Option<u64>> {
        match format {
            RowFormat::Fixed => {
                let message =
                    format!("Table storage engine for '{table}' doesn't have this option");
                return Err(SqlError::new(1031, message));
            }
            RowFormat::Compressed => {
                self.not_compressed("InnoDB: assuming ROW_FORMAT=DYNAMIC.".into());
            }
            _ => {}
        }
        let name = format.to_string();
        let at = ROW_FORMATS.iter().position(|n| **n == name);
        Ok(at.map(|at| at as u64))
    }

    /// Says what became of ENGINE: error 1286 or warning 1266 if it's not InnoDB.
    fn engine_option(&self, name: &str, table: &str) -> SqlResult<()> {
        if is_ours(name) {
            return Ok(());
        }
        if !OTHER_ENGINES.iter().any(|e| e.eq_ignore_ascii_case(name)) {
            let message = format!("Unknown storage engine '{name}'");
            if self.mode & sql_mode::NO_ENGINE_SUBSTITUTION != 0 {
                return Err(SqlError::new(1286, message));
            }
            self.env.warn(1286, message);
        }
        self.env.warn(
            1266,
            format!("Using storage engine InnoDB for table '{table}'"),
        );
        Ok(())
    }

    /// Warns that a table is not compressed, as InnoDB does where it cannot compress.
    fn not_compressed(&self, message: String) {
        self.env.warn(1478, message);
    }
}

/// The option that is kept of a number, if it is.
fn kept(option: NumberOption) -> Option<K> {
    Some(match option {
        NumberOption::AvgRowLength => K::AvgRowLength,
        NumberOption::Checksum => K::Checksum,
        NumberOption::DelayKeyWrite => K::DelayKeyWrite,
        NumberOption::KeyBlockSize => K::KeyBlockSize,
        NumberOption::MaxRows => K::MaxRows,
        NumberOption::MinRows => K::MinRows,
        NumberOption::PackKeys => K::PackKeys,
        NumberOption::StatsAutoRecalc => K::StatsAutoRecalc,
        NumberOption::StatsPersistent => K::StatsPersistent,
        NumberOption::StatsSamplePages => K::StatsSamplePages,
        _ => return None,
    })
}

/// What is kept of its value: of a switch, whether it is on.
fn kept_value(option: NumberOption, value: Option<u64>) -> Option<u64> {
    match option {
        NumberOption::Checksum | NumberOption::DelayKeyWrite => value.map(|n| u64::from(n != 0)),
        _ => value,
    }
}

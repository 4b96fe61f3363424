//! Options of tables, as CREATE TABLE and ALTER TABLE have them.

use super::{Ddl, collation_of};
use crate::catalog::is_ours;
use crate::env::sql_mode;
use crate::error::{SqlError, SqlResult};
use crate::parse::ast::{NumberOption, RowFormat, TableOption, TextOption};
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
    collation: Option<String>,
    pub comment: Option<String>,
    pub auto_increment: Option<u64>,
    /// TABLESPACE; see [`Ddl::place`].
    pub tablespace: Option<String>,
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
        self.has_collation() || self.comment.is_some() || self.engine
    }
    /// The collation that was asked for. `default`: what it is if nothing was said.
    pub fn collation(&self, default: Collation) -> SqlResult<Collation> {
        collation_of(self.charset.as_deref(), self.collation.as_deref(), default)
    }
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
            O::Charset(name) => out.charset = text(name),
            O::Collate(name) => out.collation = text(name),
            O::Text(TextOption::Comment, text) => out.comment = Some(table_comment(text, table)?),
            O::Text(TextOption::Encryption, value) if value.eq_ignore_ascii_case("n") => {}
            O::Text(TextOption::Compression, value)
                if value.is_empty() || value.eq_ignore_ascii_case("none") => {}
            O::Tablespace(name) => out.tablespace = Some(name.as_str().to_string()),
            O::Number(NumberOption::AutoIncrement, n) => out.auto_increment = *n,
            O::Number(NumberOption::KeyBlockSize, Some(n)) if *n > 0 => {
                self.not_compressed(format!("InnoDB: ignoring KEY_BLOCK_SIZE={n}."));
            }
            // What InnoDB takes and does nothing with.
            O::Number(
                NumberOption::KeyBlockSize
                | NumberOption::AvgRowLength
                | NumberOption::Checksum
                | NumberOption::DelayKeyWrite
                | NumberOption::MaxRows
                | NumberOption::MinRows
                | NumberOption::PackKeys
                | NumberOption::StatsAutoRecalc
                | NumberOption::StatsPersistent
                | NumberOption::StatsSamplePages
                | NumberOption::AutoextendSize,
                _,
            )
            | O::InsertMethod(_)
            | O::Union(_)
            | O::Text(TextOption::Password, _) => {}
            O::RowFormat(RowFormat::Compressed) => {
                self.not_compressed("InnoDB: assuming ROW_FORMAT=DYNAMIC.".into());
            }
            O::RowFormat(
                RowFormat::Default | RowFormat::Dynamic | RowFormat::Compact | RowFormat::Redundant,
            ) => {}
            O::RowFormat(RowFormat::Fixed | RowFormat::Page)
            | O::Number(
                NumberOption::NodeGroup | NumberOption::PageChecksum | NumberOption::Transactional,
                _,
            )
            | O::Text(..)
            | O::SecondaryEngine(_)
            | O::Storage(_)
            | O::StartTransaction
            | O::Foreign(..) => return Err(SqlError::unsupported(option)),
        }
        Ok(())
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

/// Checks a table's COMMENT.
fn table_comment(text: &str, table: &str) -> SqlResult<String> {
    if text.chars().count() > MAX_COMMENT {
        return Err(SqlError::new(
            1628,
            format!("Comment for table '{table}' is too long (max = {MAX_COMMENT})"),
        ));
    }
    Ok(text.to_string())
}

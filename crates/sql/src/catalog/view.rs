//! Views: definitions in the tables' catalog that have columns and a query, and no rows.
//!
//! **What a view is.** A definition like a table's, under a name of the tables' name space: so it is created, renamed and dropped with its
//! database by the same atomic steps, and has a metadata lock of the same kind. Its clustered index is a hidden row id's which never
//! gets a page. Its columns are the names that the query's have in it, and the types that they had when it was made; a statement that
//! reads it takes the names alone, for what lies below may have changed.
//!
//! **Invariants.** [`super::Schema::view`] says what is a view. The query is one SELECT, TABLE or VALUES, or several with set
//! operators; it is kept as a text in the default `sql_mode`, every table, column and stored function by its full name, every `*` written out, every item
//! with its name. It has neither variables nor placeholders nor INTO. It is bound anew for each statement: what it names may be gone.
//!
//! **Locks.** A statement takes the shared lock of the view when it meets its name, then those of what lies below; plans pin them in the same
//! order. CREATE, ALTER and DROP VIEW take the view's exclusive lock alone, and no other with it: CREATE VIEW lets go of what it
//! has looked at before. So a view may come to name one that names it: whoever reads it then gets error 1462.

use millpond_store::TableDef;

use super::Schema;
use super::bytes::{Reader, Writer, corrupt, has_sections};
use crate::error::SqlResult;
use crate::parse::ast::{CheckOption, Security, ViewAlgorithm};
use crate::types::Collation;

/// What a view has besides columns.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// Its query, all names in full.
    pub query: String,
    /// The same without names of databases, if all are the view's own.
    pub short: Option<String>,
    /// ALGORITHM.
    pub algorithm: ViewAlgorithm,
    /// WITH CHECK OPTION.
    pub check: Option<CheckOption>,
    /// DEFINER: user and host.
    pub definer: (String, String),
    /// SQL SECURITY.
    pub security: Security,
    /// `character_set_client` when it was made.
    pub client: String,
    /// `collation_connection` when it was made: that of its literals.
    pub collation: Collation,
    /// Whether statements could write through it when it was made.
    pub updatable: bool,
    /// The tables and views that it names, each once.
    pub tables: Vec<(String, String)>,
}

/// Whether a definition is a view's. One that can't be read is none. Most tables' are told by their first byte.
pub fn is_view(def: &TableDef) -> bool {
    has_sections(&def.body) && Schema::of(def).is_ok_and(|schema| schema.view.is_some())
}

/// Choices as they are kept: their position.
const ALGORITHMS: [ViewAlgorithm; 3] = [
    ViewAlgorithm::Undefined,
    ViewAlgorithm::Merge,
    ViewAlgorithm::TempTable,
];
const CHECKS: [Option<CheckOption>; 3] =
    [None, Some(CheckOption::Local), Some(CheckOption::Cascaded)];
const SECURITIES: [Security; 2] = [Security::Definer, Security::Invoker];

fn number<T: PartialEq>(choices: &[T], choice: &T) -> u64 {
    let at = choices.iter().position(|c| c == choice);
    at.unwrap_or(0) as u64
}

fn choice<T: Copy>(choices: &[T], r: &mut Reader<'_>) -> SqlResult<T> {
    let at: usize = r.small()?;
    choices.get(at).copied().ok_or_else(corrupt)
}

impl View {
    /// Its bytes.
    pub(super) fn write(&self, w: &mut Writer) {
        w.text(&self.query);
        w.text(self.short.as_deref().unwrap_or(""));
        w.number(number(&ALGORITHMS, &self.algorithm));
        w.number(number(&CHECKS, &self.check));
        w.text(&self.definer.0);
        w.text(&self.definer.1);
        w.number(number(&SECURITIES, &self.security));
        w.text(&self.client);
        w.number(self.collation.id().into());
        w.number(self.updatable.into());
        w.number(self.tables.len() as u64);
        for (database, table) in &self.tables {
            w.text(database);
            w.text(table);
        }
    }

    /// Reads them back.
    pub(super) fn read(r: &mut Reader<'_>) -> SqlResult<View> {
        let query = r.text()?.to_string();
        let short = Some(r.text()?).filter(|t| !t.is_empty());
        let short = short.map(str::to_string);
        let algorithm = choice(&ALGORITHMS, r)?;
        let check = choice(&CHECKS, r)?;
        let definer = (r.text()?.to_string(), r.text()?.to_string());
        let security = choice(&SECURITIES, r)?;
        let client = r.text()?.to_string();
        let collation = r.collation()?;
        let updatable = choice(&[false, true], r)?;
        let mut tables = Vec::new();
        for _ in 0..r.count()? {
            tables.push((r.text()?.to_string(), r.text()?.to_string()));
        }
        Ok(View {
            query,
            short,
            algorithm,
            check,
            definer,
            security,
            client,
            collation,
            updatable,
            tables,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_return() {
        let plain = View {
            query: "select 1 AS `1`".into(),
            short: None,
            algorithm: ViewAlgorithm::Undefined,
            check: None,
            definer: ("root".into(), "localhost".into()),
            security: Security::Definer,
            client: "utf8mb4".into(),
            collation: Collation::Utf8mb4GeneralCi,
            updatable: false,
            tables: Vec::new(),
        };
        let full = View {
            short: Some("select".into()),
            algorithm: ViewAlgorithm::TempTable,
            check: Some(CheckOption::Cascaded),
            security: Security::Invoker,
            updatable: true,
            tables: vec![("d".into(), "t".into()), ("e".into(), "u".into())],
            ..plain.clone()
        };
        for view in [plain, full] {
            let mut w = Writer(Vec::new());
            view.write(&mut w);
            let mut r = Reader(&w.0);
            assert_eq!(View::read(&mut r).unwrap(), view);
            assert!(r.0.is_empty());
            for n in 0..w.0.len() {
                assert_eq!(View::read(&mut Reader(&w.0[..n])).unwrap_err().code, 1033);
            }
        }
    }
}

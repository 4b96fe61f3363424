//! SHOW, DESCRIBE and information_schema.
//!
//! Everything shown is a [`VirtualTable`]: named columns and a producer of rows. SHOW statements and
//! ordinary SELECTs read the same tables, so that both filter, sort and join alike. The planner
//! asks [`find`] for a name that lies in a system schema and materialises the rows as it
//! does those of a derived table.
//!
//! Nothing here takes a metadata lock or opens a table: definitions are read from the catalog as of
//! now, and a table dropped meanwhile is left out.

use std::sync::Arc;

use crate::error::SqlResult;
use crate::session::env::SessionEnv;
use crate::types::SqlType;
use crate::value::Value;

/// A column of a virtual table.
#[derive(Clone, Debug)]
pub struct VirtualColumn {
    /// Name, in the case that is shown.
    pub name: &'static str,
    /// Type.
    pub ty: SqlType,
    /// Whether it may be NULL.
    pub nullable: bool,
}

/// Receives the rows of a virtual table; an error ends the production.
pub type Emit<'a> = dyn FnMut(&[Value<'_>]) -> SqlResult<()> + 'a;

/// A table whose rows are computed when they are read.
pub trait VirtualTable: Send + Sync {
    /// Schema it belongs to, lower case (`information_schema`).
    fn database(&self) -> &str;
    /// Name, in the case that is shown.
    fn name(&self) -> &str;
    /// Columns.
    fn columns(&self) -> &[VirtualColumn];
    /// Produces the rows. `known` holds columns (by position) that the reader compares for equality with a
    /// constant: the producer may use them to leave out rows that cannot match, and need not;
    /// the reader applies its whole condition to what it gets.
    fn rows(
        &self,
        session: &SessionEnv,
        known: &[(usize, Value<'_>)],
        emit: &mut Emit<'_>,
    ) -> SqlResult<()>;
}

/// The virtual table of this name, both compared without regard to case; `None` if `database` is not a
/// system schema or has no such table.
pub fn find(database: &str, name: &str) -> Option<Arc<dyn VirtualTable>> {
    let _ = (database, name);
    None
}

/// Whether the schema consists of virtual tables (or is empty and the system's own).
pub fn is_system_schema(database: &str) -> bool {
    ["information_schema", "performance_schema", "mysql"]
        .iter()
        .any(|s| s.eq_ignore_ascii_case(database))
}

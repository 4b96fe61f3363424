//! Tables whose rows are computed when they are read: what binding, planning and reading know of them. Which ones there are is the
//! business of whoever provides [`super::Services`].

use super::SessionEnv;
use crate::error::SqlResult;
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
    /// Produces the rows.
    fn rows(&self, session: &SessionEnv, asked: Asked<'_>, emit: &mut Emit<'_>) -> SqlResult<()>;
}

/// What a reader wants of a virtual table's rows. The producer may use it, and need not.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Columns (by position) that are compared for equality with a constant: rows that cannot match may be left out. The
    /// reader applies its whole condition to what it gets.
    pub known: &'a [(usize, Value<'a>)],
    /// Columns that are looked at, sorted; `None`: all. The others may have any value.
    pub read: Option<&'a [usize]>,
}

/// Schemas that are the system's own, sorted.
pub const SYSTEM_SCHEMAS: [&str; 3] = ["information_schema", "mysql", "performance_schema"];

/// Whether the schema consists of virtual tables (or is empty and the system's own).
pub fn is_system_schema(database: &str) -> bool {
    SYSTEM_SCHEMAS
        .iter()
        .any(|s| s.eq_ignore_ascii_case(database))
}

//! From statements to logical plans: names looked up, types derived, MySQL's rules of what may stand where checked.
//!
//! It owns everything that looks at the syntax tree (with `expr::bind`, which binds expressions for it) and the errors about names.
//! It promises a [`Bound`] in which every column is a reference to a table of the statement. It never asks how anything is
//! read: it opens tables (shared metadata locks in the caller's transaction) for their schemas and takes no other lock.
//!
//! | file | owns |
//! |---|---|
//! | `scope` | names: the stack of blocks, columns, aggregates, subqueries |
//! | `from` | FROM: tables, derived tables, joins as written |
//! | `query` | whole queries: WITH, UNION, VALUES |
//! | `select` | SELECT's clauses, bound in MySQL's order |
//! | `heads` | result columns, and types of UNIONs |
//! | `group` | ONLY_FULL_GROUP_BY |
//! | `dml` | INSERT, REPLACE, UPDATE, DELETE |
//! | `several` | UPDATE and DELETE of several tables |

mod dml;
mod from;
mod group;
mod heads;
mod query;
mod scope;
mod select;
mod several;

pub(crate) use heads::computed;

use std::sync::Arc;

use crate::error::{SqlError, SqlResult};
use crate::logical::{Arena, Root};
use crate::parse::{Kind, ShowFilter, Statement, sp};
use crate::plan::{PlanContext, PlanTable};
use crate::result::ColumnMeta;
use crate::show::VirtualTable;
use heads::Head;
use scope::Binder;
pub(crate) use scope::Notes;

/// A statement, bound.
pub struct Bound {
    /// What it is.
    pub root: Root,
    /// Columns of its result set; empty if it has none.
    pub columns: Vec<ColumnMeta>,
    /// Its derived tables and subqueries.
    pub arena: Arena,
    /// The tables it opened.
    pub tables: Vec<PlanTable>,
    /// What was taken for granted of the session and the parameters.
    pub notes: Notes,
}

fn metas(heads: Vec<Head>) -> Vec<ColumnMeta> {
    heads.into_iter().map(|h| h.meta).collect()
}

impl Binder<'_, '_> {
    fn finish(self, root: Root, columns: Vec<ColumnMeta>) -> Bound {
        Bound {
            root,
            columns,
            arena: self.arena,
            tables: self.tables,
            notes: self.notes,
        }
    }
}

/// Binds a statement that is planned and no EXPLAIN.
pub fn statement(statement: &Statement, cx: &mut PlanContext<'_>) -> SqlResult<Bound> {
    let mut b = Binder::new(statement, cx);
    if let Some(with) = &statement.with {
        b.with(with)?;
    }
    let mut columns = Vec::new();
    let root = match &statement.kind {
        Kind::Query(q) => {
            let (query, heads) = b.query(q)?;
            if !statement.into.is_empty() && statement.into.len() != heads.len() {
                return Err(SqlError::new(
                    1222,
                    "The used SELECT statements have a different number of columns",
                ));
            }
            if statement.into.is_empty() {
                columns = metas(heads);
            }
            Root::Query(query)
        }
        Kind::Do(list) => Root::Do(b.expressions(list)?.0),
        Kind::Insert(i) => Root::Insert(Box::new(b.insert(i)?)),
        Kind::Update(u) => Root::Update(Box::new(b.update(u)?)),
        Kind::Delete(d) => Root::Delete(Box::new(b.delete(d)?)),
        Kind::Several(s) => Root::Several(Box::new(b.several(s)?)),
        _ => return Err(SqlError::unsupported("this statement as a plan")),
    };
    Ok(b.finish(root, columns))
}

/// Binds `SELECT list`.
pub fn expressions(
    list: &[sp::Expr],
    statement: &Statement,
    cx: &mut PlanContext<'_>,
) -> SqlResult<Bound> {
    let mut b = Binder::new(statement, cx);
    let (query, heads) = b.expressions(list)?;
    Ok(b.finish(Root::Query(query), metas(heads)))
}

/// Binds a SELECT over a virtual table, see [`crate::plan::compile_virtual`].
pub fn over_virtual(
    table: Arc<dyn VirtualTable>,
    columns: &[(usize, Option<&str>)],
    like: usize,
    filter: &ShowFilter,
    statement: &Statement,
    cx: &mut PlanContext<'_>,
) -> SqlResult<Bound> {
    let mut b = Binder::new(statement, cx);
    let (query, metas) = b.virtual_query(table, columns, like, filter)?;
    Ok(b.finish(Root::Query(query), metas))
}

//! From statements to logical plans: names looked up, types derived, MySQL's rules of what may stand where checked.
//!
//! It owns everything that looks at the syntax tree (with `expr::bind`, which binds expressions for it) and the errors about names.
//! It promises a [`Bound`] in which every column is a reference to a table of the statement. It never asks how anything is
//! read: it opens tables (shared metadata locks in the caller's transaction) for their schemas and takes no other lock.
//!
//! | file | owns |
//! |---|---|
//! | `scope` | names: the stack of blocks, columns, aggregates, subqueries |
//! | `json_table` | JSON_TABLE: its document and its columns |
//! | `from` | FROM: tables, derived tables, joins as written |
//! | `table_clauses` | what FROM says of a table behind its name |
//! | `query` | whole queries: WITH, UNION, INTERSECT, EXCEPT, VALUES |
//! | `select` | SELECT's clauses, bound in MySQL's order |
//! | `heading` | headings of items without an alias |
//! | `auto_is_null` | `sql_auto_is_null`: WHERE column IS NULL |
//! | `heads` | result columns, and types of set operations |
//! | `into` | INTO: where it may stand, and its variables |
//! | `group` | ONLY_FULL_GROUP_BY |
//! | `recursive` | WITH RECURSIVE |
//! | `rollup` | WITH ROLLUP, GROUPING() |
//! | `window` | window functions: the two queries that a SELECT with them is |
//! | `needs` | which privileges the statement needs |
//! | `dml` | INSERT, REPLACE, UPDATE, DELETE |
//! | `load` | LOAD DATA |
//! | `duplicates` | ON DUPLICATE KEY UPDATE on its way to the SELECT that it is bound in |
//! | `view` | views: those that are named, those that are defined |
//! | `full_names` | a view's query written so that it means the same to all |
//! | `updatable` | views that statements write through |
//! | `several` | UPDATE and DELETE of several tables |

mod auto_is_null;
mod dml;
mod duplicates;
mod from;
mod full_names;
mod group;
mod heading;
mod heads;
mod into;
mod json_table;
mod load;
mod needs;
mod query;
mod recursive;
mod rollup;
mod scope;
mod select;
mod several;
mod table_clauses;
mod updatable;
pub(crate) mod view;
mod window;

pub use into::of as into_of;
pub(crate) use into::{into_file, into_variables};
pub(crate) use load::loads_variables;

use std::borrow::Cow;
use std::sync::Arc;

use millpond_store::{Engine, Txn};

use crate::env::Locals;
use crate::env::SessionEnv;
use crate::env::VirtualTable;
use crate::env::privileges::Need;
use crate::error::{SqlError, SqlResult};
use crate::logical::{Arena, Notes, PlanTable, Root};
use crate::parse::ast::{self, SessionStatement, StatementKind};
use crate::result::ColumnMeta;
use crate::value::Value;
use heads::Head;
use scope::Binder;

/// What planning needs.
pub struct PlanContext<'a> {
    /// The engine.
    pub engine: &'a Engine,
    /// Holds the metadata locks of the tables opened while planning.
    pub txn: &'a mut Txn,
    /// The session: current database, sql_mode, variables.
    pub env: &'a SessionEnv,
    /// Values of `?`, for the types of those that stand where any may; `None` if they are yet to come.
    pub params: Option<&'a [Value<'a>]>,
    /// Whether estimates are to look at them: then the plan is for these values, and others like them.
    pub peek: bool,
    /// The variables in sight, if it is a statement of a stored program: its frame stands in the place of `params`.
    pub locals: Option<&'a Locals>,
}

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
    /// The privileges that it needs.
    pub needs: Box<[Need]>,
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
            needs: self.needs.into_list(),
        }
    }
}

/// Binds a statement that is planned and no EXPLAIN; `text` is what its spans count in.
pub fn statement(kind: &StatementKind, text: &str, cx: &mut PlanContext<'_>) -> SqlResult<Bound> {
    let mut b = Binder::new(text, cx);
    let ignores = match kind {
        StatementKind::Insert(i) => i.ignore,
        StatementKind::Update(u) => u.ignore,
        StatementKind::Delete(d) => d.ignore,
        _ => true,
    };
    b.strict = !ignores && b.cx.env.sql_mode.get().strict;
    let mut columns = Vec::new();
    let root = match kind {
        StatementKind::Query(q) => {
            b.into = into::of(q);
            let (query, heads) = b.query(q)?;
            if matches!(b.into, Some(ast::Into::Outfile(_) | ast::Into::Dumpfile(_))) {
                b.need_files();
            }
            match b.into {
                Some(into @ ast::Into::Variables(_)) => {
                    into::check(into, heads.len(), b.cx.locals)?
                }
                // A file's rows have columns, too.
                _ => columns = metas(heads),
            }
            Root::Query(query)
        }
        StatementKind::Do(list) => {
            let list = list.list.iter().map(|item| match item {
                Cow::Borrowed((e, _)) => Cow::Borrowed(e),
                Cow::Owned((e, _)) => Cow::Owned(e),
            });
            Root::Do(b.expressions(list)?.0)
        }
        StatementKind::Insert(i) => Root::Insert(Box::new(b.insert(i)?)),
        StatementKind::Update(u) => b.update_statement(u)?,
        StatementKind::Delete(d) => b.delete_statement(d)?,
        StatementKind::Session(s) if let SessionStatement::Load(load) = &**s => {
            if !load.local {
                b.need_files();
            }
            Root::Insert(Box::new(b.load(load)?))
        }
        _ => return Err(SqlError::unsupported("this statement as a plan")),
    };
    Ok(b.finish(root, columns))
}

/// Binds `SELECT list`.
pub fn expressions(list: &[&ast::Expr], cx: &mut PlanContext<'_>) -> SqlResult<Bound> {
    let mut b = Binder::new("", cx);
    let list = list.iter().map(|e| Cow::Borrowed(*e));
    let (query, heads) = b.expressions(list)?;
    Ok(b.finish(Root::Query(query), metas(heads)))
}

/// Binds a SELECT over a virtual table, see [`crate::planner::compile_virtual`].
pub fn over_virtual(
    table: Arc<dyn VirtualTable>,
    columns: &[(usize, Option<&str>)],
    like: usize,
    filter: Option<&ast::ShowFilter>,
    cx: &mut PlanContext<'_>,
) -> SqlResult<Bound> {
    let mut b = Binder::new("", cx);
    let (query, metas) = b.virtual_query(table, columns, like, filter)?;
    Ok(b.finish(Root::Query(query), metas))
}

/// Hands the rows of VALUES to `f`, one after the other. Many rows have no trees: each is parsed as it is come to.
fn each_row(rows: &ast::Rows, f: &mut dyn FnMut(&[ast::Expr]) -> SqlResult<()>) -> SqlResult<()> {
    match rows.as_slice() {
        Some(trees) => trees.iter().try_for_each(|row| f(row)),
        None => rows.iter().try_for_each(|row| f(&row)),
    }
}

//! Views: those that a statement names, and those that it defines.
//!
//! A view that is read is a derived table: its query is parsed and bound where the name stands, and sees nothing of the statement around: no
//! block, no WITH, no temporary table. Its literals are in the collation of the session that made it. What it names and isn't there any
//! more is error 1356 about the outermost view; a view that comes to read itself is error 1462.

use std::sync::Arc;

use millpond_syntax::lexer::{LexMode, Lexer, TokenKind};
use millpond_syntax::print;

use super::from::derived_columns;
use super::full_names::FullNames;
use super::heads::Head;
use super::scope::{Binder, Target};
use super::{PlanContext, from};
use crate::catalog::View;
use crate::error::{SqlError, SqlResult};
use crate::logical::{Body, Columns, Derived, DerivedId, Hints, Query, Table, TableId, TableKind};
use crate::parse::ast::{self, StatementKind, ViewAlgorithm};
use crate::parse::{Statement, parse_one};
use crate::stack;
use crate::types::{Collation, SqlType};
use crate::value::env::SqlMode;
use millpond_store::{LockMode, WaitPolicy};

/// How deeply views may nest: each is a level more for whoever plans and runs what is not merged.
const MAX_DEPTH: usize = 32;
/// How many levels are bound on one stack.
const LEVELS: usize = 4;
/// Longest name of a column.
const MAX_NAME: usize = 64;

/// A view that is being bound.
pub struct Viewed {
    /// Database and name.
    pub name: (String, String),
    /// What it is called in the statement.
    pub alias: String,
    /// What it is.
    pub view: Arc<View>,
    /// Whether a subquery of a statement that changes rows names it, within which the table that is changed can't be read.
    pub guarded: bool,
}

/// A column of a view.
#[derive(Clone, Debug)]
pub struct ViewColumn {
    /// Name.
    pub name: String,
    /// Type of its values.
    pub ty: SqlType,
    /// Whether they may be NULL.
    pub nullable: bool,
}

/// Error 1356.
pub fn invalid(database: &str, name: &str) -> SqlError {
    SqlError::new(
        1356,
        format!(
            "View '{database}.{name}' references invalid table(s) or column(s) or function(s) or definer/invoker of view lack rights to use them"
        ),
    )
}

/// Errors of a view's query that say that something which it names isn't there.
fn is_missing(code: u16) -> bool {
    matches!(
        code,
        1049 | 1054 | 1100 | 1109 | 1146 | 1176 | 1305 | 1356 | 1735 | 1747
    )
}

impl Binder<'_, '_> {
    /// A view as a table of FROM. `at`: its position among the statement's tables.
    pub(super) fn view_source(
        &mut self,
        id: TableId,
        at: usize,
        view: &Arc<View>,
        name: String,
        (database, table): (String, String),
        locks: Option<(LockMode, WaitPolicy)>,
    ) -> SqlResult<Table> {
        let own: Vec<String> = {
            let columns = &self.tables[at].schema.columns;
            columns.iter().map(|c| c.name.clone()).collect()
        };
        let guarded = self.in_subquery_of_change();
        let viewed = Viewed {
            name: (database.clone(), table.clone()),
            alias: name.clone(),
            view: view.clone(),
            guarded,
        };
        let (derived, columns) = self.derive_view(viewed, &own, locks)?;
        Ok(Table {
            id,
            name,
            database,
            table,
            kind: TableKind::Derived { derived, columns },
            hints: Hints::default(),
        })
    }

    /// A view of the system as a table of FROM: it has no definition in the catalog, and its columns are called what its query calls them.
    pub(super) fn system_view_source(
        &mut self,
        id: TableId,
        view: Arc<View>,
        name: String,
        (database, table): (String, String),
    ) -> SqlResult<Table> {
        self.notes.lists = true;
        let viewed = Viewed {
            name: (database.clone(), table.clone()),
            alias: name.clone(),
            view,
            guarded: self.in_subquery_of_change(),
        };
        let (derived, columns) = self.derive_view(viewed, &[], None)?;
        Ok(Table {
            id,
            name,
            database,
            table,
            kind: TableKind::Derived { derived, columns },
            hints: Hints::default(),
        })
    }

    /// Binds a view's query. `columns`: their names; none: the query's.
    fn derive_view(
        &mut self,
        viewed: Viewed,
        columns: &[String],
        lock: Option<(LockMode, WaitPolicy)>,
    ) -> SqlResult<(DerivedId, Columns)> {
        let (database, name) = viewed.name.clone();
        let itself = self.defining.as_ref() == Some(&viewed.name);
        if itself && self.views.is_empty() {
            return Err(from::no_such_table(&database, &name));
        }
        if itself || self.views.iter().any(|v| v.name == viewed.name) {
            return Err(SqlError::new(
                1462,
                format!("`{database}`.`{name}` contains view recursion"),
            ));
        }
        if self.views.len() == MAX_DEPTH {
            return Err(SqlError::unsupported("views that nest so deeply"));
        }
        let view = viewed.view.clone();
        let statement = parse_one(&view.query, SqlMode::DEFAULT)?;
        let StatementKind::Query(query) = statement.kind() else {
            return Err(invalid(&database, &name));
        };
        self.views.push(viewed);
        let run = statement.run;
        let bound = match self.views.len().is_multiple_of(LEVELS) {
            true => stack::with_room(run, || stack::lent(run, || self.alone(query))),
            false => stack::with_room(run, || self.alone(query)),
        };
        self.views.pop();
        let (mut query, heads) = bound.map_err(|e| match is_missing(e.code) {
            true => invalid(&database, &name),
            false => e,
        })?;
        if !columns.is_empty() && heads.len() != columns.len() {
            return Err(invalid(&database, &name));
        }
        if let Some(lock) = lock {
            lock_tables(&mut query, lock);
        }
        let columns = derived_columns(&query, heads, &name, columns)?;
        self.arena.derived.push(Derived {
            view: Some(view),
            ..Derived::of(query, 1)
        });
        Ok((self.arena.derived.len() - 1, columns))
    }

    /// Binds a view's query, which sees nothing of the statement around it.
    fn alone(&mut self, query: &ast::Query) -> SqlResult<(Query, Vec<Head>)> {
        let frames = std::mem::take(&mut self.frames);
        let ctes = std::mem::take(&mut self.ctes);
        let duplicates = self.duplicates.take();
        let names = self.names.take();
        let (text, into) = (std::mem::take(&mut self.text), self.into.take());
        let exists = std::mem::take(&mut self.exists);
        self.derives += 1;
        let bound = self.query(query);
        self.derives -= 1;
        (self.frames, self.ctes, self.duplicates) = (frames, ctes, duplicates);
        (self.names, self.text, self.into, self.exists) = (names, text, into, exists);
        bound
    }

    /// A table that the UPDATE, DELETE or INSERT around changes row by row.
    pub(super) fn changed_around(&self) -> Option<&Table> {
        let changed = |t: &&Table| {
            let stored = matches!(
                t.kind,
                TableKind::Stored {
                    lock: Some((LockMode::Exclusive, _)),
                    ..
                }
            );
            stored || self.written.iter().any(|w| w.0 == t.id)
        };
        self.frames.first()?.tables.iter().find(changed)
    }

    /// Whether what is bound is a subquery of an UPDATE, DELETE or INSERT. Derived tables are read to their end first.
    fn in_subquery_of_change(&self) -> bool {
        self.derives == 0 && self.frames.len() > 1 && self.changed_around().is_some()
    }

    /// Errors 1093 and 1443 for a subquery that reads what the statement changes, by its name or through a view. `alias`: what the
    /// subquery calls it.
    ///
    /// INSERT and REPLACE know a row's values before they write it: as in MySQL, their subqueries may read the table, if only by a
    /// name of its own.
    pub(super) fn refuse_target(&self, target: &Target, table: &str, alias: &str) -> SqlResult<()> {
        let prevents = |view: &str| {
            let (operation, alias) = (self.operation, &target.alias);
            SqlError::new(
                1443,
                format!(
                    "The definition of table '{view}' prevents operation {operation} on table '{alias}'."
                ),
            )
        };
        let merged = |v: &Viewed| v.view.algorithm != ViewAlgorithm::TempTable;
        if let Some(v) = self.views.iter().find(|v| v.guarded) {
            return match self.views.iter().all(merged) {
                true => Err(prevents(&v.alias)),
                false => Ok(()),
            };
        }
        let renamed = matches!(self.operation, "INSERT" | "REPLACE") && alias != target.alias;
        match self.in_subquery_of_change() {
            true if renamed && !target.through => Ok(()),
            true if target.through => Err(prevents(&target.alias)),
            true => Err(from::changed_and_read(table)),
            false => Ok(()),
        }
    }

    /// Binds the query of a view of the statement once more.
    pub(super) fn view_again(&mut self, table: &Table, derived: DerivedId) -> SqlResult<DerivedId> {
        let Some(view) = self.arena.derived[derived].view.clone() else {
            return Err(SqlError::new(1105, "no view"));
        };
        let names: Vec<String> = (0..table.columns())
            .map(|c| table.column(c).0.to_string())
            .collect();
        let viewed = Viewed {
            name: (table.database.clone(), table.table.clone()),
            alias: table.name.clone(),
            view,
            guarded: false,
        };
        Ok(self.derive_view(viewed, &names, None)?.0)
    }
}

/// Has the stored tables of a query read with locks.
fn lock_tables(q: &mut Query, with: (LockMode, WaitPolicy)) {
    match &mut q.body {
        Body::Block(b) => {
            for t in &mut b.tables {
                if let Some(lock) = t.lock_mut() {
                    lock.get_or_insert(with);
                }
            }
        }
        Body::Set(u) => u.arms.iter_mut().for_each(|(q, _)| lock_tables(q, with)),
        Body::Values(_) => {}
        Body::JsonTable(t) => lock_tables(&mut t.input, with),
        Body::Windowed(w) => lock_tables(&mut w.input, with),
        Body::Recursive(r) => {
            lock_tables(&mut r.seed, with);
            r.steps.iter_mut().for_each(|q| lock_tables(q, with));
        }
    }
}

/// What CREATE VIEW makes of a query.
pub struct Defined {
    /// Its columns.
    pub columns: Vec<ViewColumn>,
    /// The query with all names in full.
    pub query: String,
    /// The same without names of databases, if all tables are of the view's.
    pub short: Option<String>,
    /// Whether it may become part of what reads it.
    pub mergeable: bool,
    /// Whether statements can write through the view.
    pub updatable: bool,
    /// The tables and views that it names.
    pub tables: Vec<(String, String)>,
}

/// Binds the query of a view that is being defined. `text` is what its spans count in; `columns`: names given to its columns.
pub fn define(
    view: &ast::View,
    text: &str,
    name: &(String, String),
    cx: &mut PlanContext<'_>,
) -> SqlResult<Defined> {
    let given = from::names_of(&view.columns);
    let heads = {
        let mut b = Binder::new(text, cx);
        b.defining = Some(name.clone());
        let heads = b.query(&view.query)?.1;
        b.ask_all()?;
        heads
    };
    if !given.is_empty() && given.len() != heads.len() {
        return Err(from::column_counts(&name.1));
    }
    let names = match given.is_empty() {
        true => column_names(heads, &view.query)?,
        false => given,
    };
    distinct(&names)?;
    let text = view.query.to_string();
    refuse_variables(&text)?;
    let canonical = query_of(&text)?;
    let mut b = Binder::new(&text, cx);
    b.defining = Some(name.clone());
    b.names = Some(Box::new(FullNames::new(text.clone(), names.clone())));
    b.query(as_query(&canonical)?)?;
    let noted = b.names.take();
    let noted = noted.ok_or_else(|| SqlError::new(1105, "no names"))?;
    if let Some(temporary) = &noted.temporary {
        return Err(SqlError::new(
            1352,
            format!("View's SELECT refers to a temporary table '{temporary}'"),
        ));
    }
    let shown = |text: &str| -> SqlResult<String> {
        let statement = query_of(text)?;
        let query = as_query(&statement)?;
        let columns = &names;
        Ok(print::View { query, columns }.to_string())
    };
    let query = shown(&noted.finish(false))?;
    let home = noted
        .tables()
        .iter()
        .all(|(database, _)| *database == name.0);
    let short = match home {
        true => Some(shown(&noted.finish(true))?),
        false => None,
    };
    let tables = noted.tables().to_vec();
    let made = checked(&query, view, name, cx)?;
    if made.heads.len() != names.len() {
        return Err(SqlError::new(
            1105,
            "a view that does not read as it was written",
        ));
    }
    let columns = names
        .into_iter()
        .zip(made.heads)
        .map(|(name, head)| ViewColumn {
            name,
            ty: head.meta.ty,
            nullable: head.nullable,
        });
    Ok(Defined {
        columns: columns.collect(),
        query,
        short,
        mergeable: made.mergeable,
        updatable: made.updatable,
        tables,
    })
}

/// Binds what is going to be kept; whether it can be written through.
fn checked(
    text: &str,
    view: &ast::View,
    name: &(String, String),
    cx: &mut PlanContext<'_>,
) -> SqlResult<Checked> {
    let statement = query_of(text)?;
    let mut b = Binder::new("", cx);
    b.defining = Some(name.clone());
    let (query, heads) = b.query(as_query(&statement)?)?;
    let mergeable = is_mergeable(&query);
    b.arena.derived.push(Derived {
        view: Some(Arc::new(unsaid(view, b.cx.env.collation.get()))),
        ..Derived::of(query, 1)
    });
    let updatable = b.is_updatable(b.arena.derived.len() - 1);
    Ok(Checked {
        heads,
        mergeable,
        updatable,
    })
}

/// What was found out about what is going to be kept.
struct Checked {
    heads: Vec<Head>,
    mergeable: bool,
    updatable: bool,
}

/// Whether a view of this query may become part of the block that reads it.
fn is_mergeable(q: &Query) -> bool {
    let Body::Block(b) = &q.body else {
        return false;
    };
    b.group.is_none() && b.having.is_empty() && !b.distinct && b.limit.is_none() && b.from.is_some()
}

/// A view of which no more is known than how it is to be read.
fn unsaid(view: &ast::View, collation: Collation) -> View {
    View {
        query: String::new(),
        short: None,
        algorithm: view.algorithm.unwrap_or(ViewAlgorithm::Undefined),
        check: view.check,
        definer: Default::default(),
        security: ast::Security::Definer,
        client: String::new(),
        collation,
        updatable: false,
        tables: Vec::new(),
    }
}

/// Whether a query has an INTO.
pub fn has_into(q: &ast::Query) -> bool {
    super::into::of(q).is_some()
}

fn query_of(text: &str) -> SqlResult<Statement> {
    parse_one(text, SqlMode::DEFAULT)
}

fn as_query(statement: &Statement) -> SqlResult<&ast::Query> {
    match statement.kind() {
        StatementKind::Query(q) => Ok(q),
        _ => Err(SqlError::new(1105, "a view that is no query")),
    }
}

/// Error 1351.
fn refuse_variables(text: &str) -> SqlResult<()> {
    let mut lexer = Lexer::new(text, LexMode::default());
    loop {
        match lexer.next_token().kind {
            TokenKind::UserVariable | TokenKind::At | TokenKind::AtAt | TokenKind::Param => {
                return Err(SqlError::new(
                    1351,
                    "View's SELECT contains a variable or parameter",
                ));
            }
            TokenKind::End => return Ok(()),
            _ => {}
        }
    }
}

/// The names of a view's columns if none are given: the headings, unless they can't be names, or come twice.
fn column_names(heads: Vec<Head>, query: &ast::Query) -> SqlResult<Vec<String>> {
    let made_up = unnamed(&query.body, heads.len());
    let mut names: Vec<String> = Vec::new();
    for (n, head) in heads.into_iter().enumerate() {
        let name = head.meta.name;
        let bad = name.is_empty()
            || name.starts_with(' ')
            || name.ends_with(' ')
            || name.chars().count() > MAX_NAME;
        names.push(match bad && made_up[n] {
            true => format!("Name_exp_{}", n + 1),
            false => name,
        });
    }
    for n in 0..names.len() {
        let same = |a: &String, b: &String| a.eq_ignore_ascii_case(b);
        let Some(first) = (0..n).find(|f| same(&names[*f], &names[n])) else {
            continue;
        };
        // The one that nobody has named gives way.
        let Some(at) = [n, first].into_iter().find(|at| made_up[*at]) else {
            continue;
        };
        let plain = format!("Name_exp_{}", names[at]);
        let mut name = plain;
        for count in 1.. {
            if !names.iter().any(|other| same(other, &name)) {
                break;
            }
            name = format!("Name_exp_{count}_{}", names[at]);
        }
        names[at] = name;
    }
    Ok(names)
}

/// Error 1060.
fn distinct(names: &[String]) -> SqlResult<()> {
    for (n, name) in names.iter().enumerate() {
        if names[..n]
            .iter()
            .any(|other| other.eq_ignore_ascii_case(name))
        {
            return Err(SqlError::new(
                1060,
                format!("Duplicate column name '{name}'"),
            ));
        }
        if name.chars().count() > MAX_NAME {
            return Err(SqlError::new(
                1059,
                format!("Identifier name '{name}' is too long"),
            ));
        }
        if name.is_empty() || name.ends_with(' ') {
            return Err(SqlError::new(
                1166,
                format!("Incorrect column name '{name}'"),
            ));
        }
    }
    Ok(())
}

/// Which columns are items that are no columns and have no alias.
fn unnamed(body: &ast::QueryBody, columns: usize) -> Vec<bool> {
    let mut out = match &*body.tree() {
        ast::QueryBody::Set(set) => return unnamed(&set.first, columns),
        ast::QueryBody::Parens(q) => return unnamed(&q.body, columns),
        ast::QueryBody::Select(s) => {
            let item = |item: std::borrow::Cow<'_, ast::SelectItem>| match &*item {
                ast::SelectItem::Expr {
                    expr, alias: None, ..
                } => !matches!(expr.kind, ast::ExprKind::Column(_)),
                _ => false,
            };
            match s.items.len() == columns {
                true => s.items.iter().map(item).collect(),
                false => Vec::new(),
            }
        }
        _ => Vec::new(),
    };
    out.resize(columns, false);
    out
}

/// The columns of a view as they are now. `names`: what they are called; none: what the query calls them.
pub fn columns(
    database: &str,
    name: &str,
    names: &[String],
    view: &Arc<View>,
    cx: &mut PlanContext<'_>,
) -> SqlResult<Vec<ViewColumn>> {
    let mut b = Binder::new("", cx);
    let viewed = Viewed {
        name: (database.to_string(), name.to_string()),
        alias: name.to_string(),
        view: view.clone(),
        guarded: false,
    };
    let (_, columns) = b.derive_view(viewed, names, None)?;
    let column = |c: crate::logical::DerivedColumn| ViewColumn {
        name: c.name,
        ty: c.ty,
        nullable: c.nullable,
    };
    Ok(columns.into_iter().map(column).collect())
}

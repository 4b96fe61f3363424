//! INSERT, REPLACE, UPDATE, DELETE: the table that is written to, and what its columns are given.
//!
//! | file | owns |
//! |---|---|
//! | `insert` | INSERT and REPLACE |
//! | `change` | UPDATE and DELETE |

mod change;
mod insert;

use std::sync::Arc;

pub(super) use change::{Change, Rows};

use super::from;
use super::scope::{Binder, Target};
use super::table_clauses;
use crate::computed::generated_given;
use crate::env::is_system_schema;
use crate::env::privileges::{self, Privileges};
use crate::error::{SqlError, SqlResult};
use crate::expr::bind::{as_own_text, assigned_bits, for_type, unknown_column};
use crate::expr::{Expr, ExprKind, Func, Scope};
use crate::logical::{self, Body, Query, Table, TableId, TableKind};
use crate::parse;
use crate::parse::ast;
use crate::switches::Flag;
use crate::types::{Collation, Column, Family, Schema, SqlType};
use crate::write::locks_reads;
use millpond_store::{LockMode, WaitPolicy};

/// What an assignment or a VALUES item gives a column.
pub type Given = logical::Given<Expr>;
/// What a statement sets: (column, value), in order.
pub type Assignments = logical::Assignments<Expr>;

impl<'p> Binder<'p, '_> {
    pub(super) fn target(&mut self, name: &ast::ObjectName) -> SqlResult<(usize, String, String)> {
        let (database, table) = from::split_name(name);
        let database = self.database(database)?;
        parse::refuse_empty(&database, Some(&table))?;
        self.ask(&database, &table, self.changes_rows_by())?;
        if is_system_schema(&database) {
            return Err(SqlError::new(
                1044,
                format!(
                    "Access denied for user '{}' to database '{database}'",
                    self.cx.env.user
                ),
            ));
        }
        self.targets.push(Target {
            database: database.clone(),
            table: table.clone(),
            alias: table.clone(),
            through: false,
        });
        let at = self.open(&database, &table, true)?;
        Ok((at, database, table))
    }

    /// The privilege that the statement's change of rows takes.
    fn changes_rows_by(&self) -> Privileges {
        match self.operation {
            "UPDATE" => privileges::UPDATE,
            "DELETE" => privileges::DELETE,
            _ => privileges::INSERT,
        }
    }

    /// What INSERT and REPLACE take of a table besides INSERT of columns.
    fn inserts_by(&self, i: &ast::Insert) -> Privileges {
        match i.replace {
            true => privileges::DELETE,
            false => 0,
        }
    }

    /// Whether this statement, which writes, locks what it only reads. The plan is for transactions where it does, or doesn't.
    pub(super) fn locks_reads(&mut self) -> bool {
        let locks = locks_reads(self.cx.txn);
        self.notes.locks_reads = Some(locks);
        locks
    }

    pub(super) fn target_table(
        &mut self,
        at: usize,
        database: &str,
        table: &str,
        alias: &str,
    ) -> Table {
        Table {
            id: self.arena.table_id(),
            name: alias.to_string(),
            database: database.to_string(),
            table: table.to_string(),
            kind: TableKind::Stored {
                table: at,
                schema: self.tables[at].schema.clone(),
                lock: Some((LockMode::Exclusive, WaitPolicy::Wait)),
                partitions: None,
            },
            hints: table_clauses::hints_of(&self.tables[at].schema, self.sees_invisible_indexes()),
        }
    }

    fn sees_invisible_indexes(&self) -> bool {
        self.cx.env.switches.get().has(Flag::UseInvisibleIndexes)
    }

    pub(super) fn given(
        &mut self,
        e: &ast::Expr,
        clause: &'static str,
        row: TableId,
    ) -> SqlResult<(Given, Vec<usize>)> {
        if e.kind == ast::ExprKind::Default {
            return Ok((Given::Default, Vec::new()));
        }
        let value = self.bind(e, clause)?;
        let mut reads = reads(&value, row);
        if let Some(view) = self.inserted.as_ref().filter(|view| view.id == row) {
            reads = view.of_columns(&reads);
        }
        let reads_new = false;
        Ok((Given::Value { value, reads_new }, reads))
    }

    /// `SET a = 1, b = a` in order; a later value sees the earlier assignments.
    pub(super) fn assignments(
        &mut self,
        list: &ast::Items<ast::Assignment>,
        schema: &Arc<Schema>,
        row: TableId,
    ) -> SqlResult<Assignments> {
        let mut out: Assignments = Vec::new();
        for a in list {
            let column = self.assigned(&a.column, schema, row)?;
            let (mut given, reads) = self.given(&a.value, "field list", row)?;
            for_column(&mut given, &schema.columns[column], self);
            self.check_given(&given, &schema.columns[column], row)?;
            if let Given::Value { reads_new, .. } = &mut given {
                *reads_new = reads.iter().any(|c| out.iter().any(|(o, _)| o == c));
            }
            out.push((column, given));
        }
        Ok(out)
    }

    /// Error 3105 for a value other than DEFAULT that a generated column is given.
    pub(super) fn check_given(&self, g: &Given, column: &Column, row: TableId) -> SqlResult<()> {
        match g {
            Given::Value { .. } if column.generated.is_some() => {
                // What the value was told of is told all the same.
                for (code, message) in &self.notes.told {
                    self.cx.env.warn(*code, *message);
                }
                Err(self.generated_given(column, row))
            }
            _ => Ok(()),
        }
    }

    /// Error 3105.
    #[cold]
    pub(super) fn generated_given(&self, column: &Column, row: TableId) -> SqlError {
        let mut tables = self.frames.iter().flat_map(|f| &f.tables);
        let table = tables.find(|t| t.id == row).map_or("", |t| &t.table);
        let below = self.targets.iter().rev().find(|t| t.through);
        generated_given(&column.name, below.map_or(table, |t| &t.table))
    }

    fn assigned(
        &mut self,
        name: &ast::ColumnName,
        schema: &Arc<Schema>,
        row: TableId,
    ) -> SqlResult<usize> {
        let (qualifier, last) = (qualifier(name), name.name.as_str());
        let f = self.frame();
        if let Some(table) = qualifier.last() {
            let target = f.tables.iter().find(|t| t.id == row);
            if target.is_none_or(|t| t.name != *table) {
                return Err(unknown_column(&qualifier, last, "field list"));
            }
        }
        let at = match self.inserted.as_ref().filter(|view| view.id == row) {
            Some(view) => view.column(last),
            None => schema.column(last),
        };
        let at = at.ok_or_else(|| unknown_column(&qualifier, last, "field list"))?;
        let privileges = match self.updates_duplicates {
            true => privileges::UPDATE,
            false => self.changes_rows_by(),
        };
        self.need_column(row, last, privileges);
        Ok(at)
    }
}

/// What a value is for its column: a hexadecimal literal is a number for a numeric one.
/// A text is its bytes for a binary one, bytes are a text for one of another character set, and a time is its text for a string.
pub(super) fn for_column(g: &mut Given, column: &Column, scope: &mut dyn Scope) {
    let Given::Value { value, .. } = g else {
        return;
    };
    if column.ty.is_numeric() {
        assigned_bits(value);
    }
    for_type(value, &column.ty, scope);
    if column.ty.family() == Family::String {
        as_own_text(value);
    }
    let bytes = value.ty.is_string() && value.ty.collation == Collation::Binary;
    if column.ty.is_json() && bytes && !matches!(value.kind, ExprKind::Param(_)) {
        let nullable = value.nullable;
        let bytes = std::mem::replace(value, Expr::null());
        let kind = ExprKind::Function(Func::JsonBinary, vec![bytes]);
        *value = Expr::new(kind, SqlType::json(), nullable);
    }
}

/// The same for the rows of a query, by the positions and types of the columns of strings.
pub(super) fn select_strings(
    query: &mut Query,
    columns: &[(usize, &SqlType)],
    scope: &mut dyn Scope,
) {
    let mut each = |e: Option<&mut Expr>, ty: &SqlType| {
        if let Some(e) = e {
            for_type(e, ty, scope);
        }
    };
    match &mut query.body {
        Body::Block(b) => {
            for (n, ty) in columns {
                each(b.select.get_mut(*n), ty);
            }
        }
        Body::Values(rows) => {
            for row in rows {
                for (n, ty) in columns {
                    each(row.get_mut(*n), ty);
                }
            }
        }
        Body::Set(u) => {
            for (arm, _) in &mut u.arms {
                select_strings(arm, columns, scope);
            }
        }
        // It is a derived table's.
        Body::Recursive(_) | Body::Windowed(_) | Body::JsonTable(_) => {}
    }
}

/// The columns of a table that an expression reads.
pub(super) fn reads(e: &Expr, table: TableId) -> Vec<usize> {
    let mut reads = Vec::new();
    e.columns(&mut |s, c| {
        if s == table {
            reads.push(c);
        }
    });
    reads
}

/// What stands before a column's name.
pub(super) fn qualifier(name: &ast::ColumnName) -> Vec<&str> {
    let parts = name.database.iter().chain(&name.table);
    parts.map(ast::Ident::as_str).collect()
}

/// The values assigned.
pub(super) fn values_of(set: &Assignments) -> impl Iterator<Item = Expr> {
    set.iter().filter_map(|(_, g)| match g {
        Given::Value { value, .. } => Some(value.clone()),
        Given::Default => None,
    })
}

/// Whether an UPDATE may change a column: it assigns to it, or the column follows from others or tells when its row was updated.
pub(super) fn changes(schema: &Schema, set: &[(usize, Given)], column: usize) -> bool {
    let c = &schema.columns[column];
    c.on_update_now || c.generated.is_some() || set.iter().any(|(c, _)| *c == column)
}

/// Has a table read with shared locks, unless it has a lock of its own.
pub(super) fn lock_shared(t: &mut Table) {
    if let Some(lock) = t.lock_mut() {
        lock.get_or_insert((LockMode::Shared, WaitPolicy::Wait));
    }
}

/// INSERT ... SELECT locks what it reads, shared.
fn lock_sources(q: &mut Query) {
    match &mut q.body {
        Body::Block(b) => b.tables.iter_mut().for_each(lock_shared),
        Body::Set(u) => u.arms.iter_mut().for_each(|(q, _)| lock_sources(q)),
        Body::Values(_) => {}
        Body::JsonTable(t) => lock_sources(&mut t.input),
        Body::Windowed(w) => lock_sources(&mut w.input),
        Body::Recursive(r) => {
            lock_sources(&mut r.seed);
            r.steps.iter_mut().for_each(lock_sources);
        }
    }
}

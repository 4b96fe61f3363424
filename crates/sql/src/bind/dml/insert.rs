//! INSERT and REPLACE: the rows that go in, and what becomes of those that are in their way.

use super::{Given, for_column, lock_sources, reads, select_strings, values_of};
use crate::bind::duplicates::{OnDuplicate, Updating};
use crate::bind::scope::{Binder, Frame};
use crate::bind::table_clauses;
use crate::env::privileges;
use crate::error::{SqlError, SqlResult};
use crate::expr::bind::unknown_column;
use crate::expr::{Expr, ExprKind};
use crate::logical::{Carried, column_count};
use crate::logical::{DerivedColumn, Insert, InsertRows, Table, TableId, TableKind};
use crate::parse::ast;
use crate::types::{Schema, SqlType, Visibility};
use std::sync::Arc;

impl<'p> Binder<'p, '_> {
    /// Binds INSERT and REPLACE.
    pub fn insert(&mut self, i: &'p ast::Insert) -> SqlResult<Insert> {
        self.operation = if i.replace { "REPLACE" } else { "INSERT" };
        let (table, database, table_name) = self.target(&i.table)?;
        self.tables[table].goes_by(&table_name, true);
        if self.tables[table].schema.view.is_some() {
            return self.insert_into_view(i, table, (database, table_name));
        }
        let target = self.target_table(table, &database, &table_name, &table_name);
        let whole = self.inserts_by(i);
        self.need_target(
            target.id,
            (&database, &table_name),
            whole,
            privileges::INSERT,
        );
        self.insert_into(i, table, target.clone(), target)
    }

    /// Binds INSERT and REPLACE that write through a view; `at`: its position in the plan.
    fn insert_into_view(
        &mut self,
        i: &'p ast::Insert,
        at: usize,
        name: (String, String),
    ) -> SqlResult<Insert> {
        let id = self.arena.table_id();
        let Some(view) = self.tables[at].schema.view.clone() else {
            return Err(SqlError::new(1105, "no view"));
        };
        let whole = self.inserts_by(i);
        self.need_target(id, (&name.0, &name.1), whole, privileges::INSERT);
        let since = self.needs.count();
        self.needs.inserting = true;
        let view = self.view_source(id, at, &view, name.1.clone(), name, None);
        self.needs.inserting = false;
        let view = view?;
        let until = self.needs.count();
        let named: Option<Vec<String>> = match (&i.columns, &i.source) {
            (_, ast::InsertSource::Set(list)) => {
                let name =
                    |a: std::borrow::Cow<'_, ast::Assignment>| a.column.name.as_str().to_string();
                Some(list.iter().map(name).collect())
            }
            (Some(list), _) if !list.is_empty() => {
                Some(list.iter().map(|c| c.name.as_str().to_string()).collect())
            }
            _ => None,
        };
        let (target, inserted, through) = self.insert_through(view.clone(), named.as_deref())?;
        let TableKind::Stored { table, .. } = target.kind else {
            return Err(SqlError::new(1105, "no table below a view"));
        };
        let by = self.inserted_by(&view);
        self.tables[table].write = true;
        let base = target.id;
        self.inserted = Some(inserted);
        let bound = self.insert_into(i, table, target, view.clone());
        self.inserted = None;
        let mut bound = bound?;
        let mut put = |g: &mut Given| {
            if let Given::Value { value, .. } = g {
                self.put_below(value, &by);
            }
        };
        if let InsertRows::Values(rows) = &mut bound.rows {
            rows.iter_mut().flatten().for_each(&mut put);
        }
        let update = bound.update.iter_mut().flatten();
        update.for_each(|(_, g)| put(g));
        self.check_one_table(&view, base, &bound)?;
        if let TableKind::Derived { derived, .. } = view.kind {
            self.need_inserted(since..until, &view, derived, base, whole);
            self.discard(derived);
        }
        bound.through = Some(through);
        Ok(bound)
    }

    /// Binds INSERT and REPLACE. `target`: the table; `named`: what the statement's names are columns of.
    fn insert_into(
        &mut self,
        i: &'p ast::Insert,
        table: usize,
        target: Table,
        named_table: Table,
    ) -> SqlResult<Insert> {
        let table_name = named_table.name.clone();
        let schema = self.tables[table].schema.clone();
        let mut partitions = table_clauses::partitions_of(&schema, &i.partitions, &table_name)?;
        if let TableKind::Stored {
            partitions: own, ..
        } = &target.kind
        {
            partitions = partitions.or_else(|| own.clone());
        }
        let given = i.columns.as_ref().filter(|list| !list.is_empty());
        let mut columns = Vec::new();
        for c in given.into_iter().flatten() {
            let n = c.name.as_str();
            let here = |q: &ast::Ident| q.as_str() == table_name;
            let at = match &self.inserted {
                Some(view) => view.column(n),
                None => schema.column(n),
            };
            let at = at
                .filter(|_| c.table.as_ref().is_none_or(here))
                .ok_or_else(|| unknown_column(&[], n, "field list"))?;
            // Of a view's columns none is missed: the last value counts.
            if columns.contains(&at) && self.inserted.is_none() {
                return Err(SqlError::new(1110, format!("Column '{n}' specified twice")));
            }
            columns.push(at);
            self.need_column(named_table.id, n, privileges::INSERT);
        }
        let named = given.is_some();
        if !named && !matches!(i.source, ast::InsertSource::Set(_)) {
            let shown = |c: &usize| schema.columns[*c].visibility == Visibility::Visible;
            columns = match &self.inserted {
                Some(view) => view.of_columns(&(0..named_table.columns()).collect::<Vec<_>>()),
                None => (0..schema.columns.len()).filter(shown).collect(),
            };
            for c in 0..named_table.columns() {
                let (id, name) = (named_table.id, named_table.column(c).0);
                self.need_column(id, name, privileges::INSERT);
            }
        }
        let row = target.id;
        let names = self
            .inserted
            .as_ref()
            .map(|view| view.names(schema.columns.len()));
        let seen = named_table.id;
        self.open_frame_over(named_table.clone());
        let mut on = (!i.on_duplicate.is_empty()).then(|| OnDuplicate {
            list: &i.on_duplicate,
            alias: i.alias.as_ref(),
            columns: Vec::new(),
            old: named_table,
            schema: schema.clone(),
            names,
        });
        // `VALUES ()` means all defaults of a table; of a view it has no value for its columns.
        let named = named || self.inserted.is_some();
        let rows = self.insert_rows(i, &mut columns, named, (table, seen), &mut on);
        self.frames.pop();
        let rows = rows?;
        // Unless the query has bound it, among its tables.
        if let Some(mut on) = on {
            if has_subqueries(&rows) {
                return Err(SqlError::unsupported(
                    "subqueries in VALUES together with ON DUPLICATE KEY UPDATE",
                ));
            }
            on.columns.clone_from(&columns);
            self.on_duplicate(on, &[], &[])?;
        }
        let (update, others_read, carried) = match self.updating.take() {
            None => (None, Vec::new(), Carried::default()),
            Some(u) => (Some(u.set), u.others_read, u.carried),
        };
        Ok(Insert {
            table,
            row,
            others_read,
            columns,
            rows,
            replace: i.replace,
            ignore: i.ignore,
            update,
            carried,
            partitions,
            through: None,
        })
    }

    fn insert_rows(
        &mut self,
        i: &ast::Insert,
        columns: &mut Vec<usize>,
        named: bool,
        (table, target): (usize, TableId),
        on: &mut Option<OnDuplicate<'p>>,
    ) -> SqlResult<InsertRows> {
        let schema = self.tables[table].schema.clone();
        let q = match &i.source {
            ast::InsertSource::Set(list) => {
                return self.insert_set(list, columns, &schema, target);
            }
            ast::InsertSource::Values(rows) => {
                return self.insert_values(rows, columns, named, &schema, target);
            }
            ast::InsertSource::Query(q) => q,
        };
        if let (ast::QueryBody::Values(rows), None) = (&q.body, q.tail()) {
            return self.insert_values(rows, columns, named, &schema, target);
        }
        let frames = std::mem::take(&mut self.frames);
        self.reading_target = false;
        self.duplicates = on.take();
        let bound = self.query(q);
        *on = self.duplicates.take();
        self.frames = frames;
        let (mut query, _) = bound?;
        let carried = self
            .updating
            .as_ref()
            .map_or(0, |u| u.carried.columns.len());
        if query.types.len() - carried != columns.len() {
            return Err(column_count(1));
        }
        if let Some(c) = columns
            .iter()
            .find(|c| schema.columns[**c].generated.is_some())
        {
            return Err(self.generated_given(&schema.columns[*c], target));
        }
        let column = |n: usize| &schema.columns[columns[n]].ty;
        let strings: Vec<(usize, &SqlType)> = (0..columns.len())
            .map(|n| (n, column(n)))
            .filter(|(_, ty)| ty.is_string())
            .collect();
        select_strings(&mut query, &strings, self);
        if self.locks_reads() {
            lock_sources(&mut query);
        }
        Ok(InsertRows::Query {
            query,
            buffered: self.reading_target,
        })
    }

    /// Binds `INSERT ... SET a = 1`.
    fn insert_set(
        &mut self,
        list: &ast::Items<ast::Assignment>,
        columns: &mut Vec<usize>,
        schema: &Arc<Schema>,
        target: TableId,
    ) -> SqlResult<InsertRows> {
        let list = self.assignments(list, schema, target)?;
        let mut row = Vec::new();
        for (c, mut g) in list {
            // What the row has not set yet reads as its default.
            if let Given::Value { value, reads_new } = &mut g {
                *reads_new = !reads(value, target).is_empty();
            }
            if columns.contains(&c) && self.inserted.is_none() {
                return Err(SqlError::new(
                    1110,
                    format!("Column '{}' specified twice", schema.columns[c].name),
                ));
            }
            columns.push(c);
            row.push(g);
        }
        Ok(InsertRows::Values(vec![row]))
    }

    /// Binds the rows of VALUES.
    fn insert_values(
        &mut self,
        values: &ast::Rows,
        columns: &mut Vec<usize>,
        named: bool,
        schema: &Schema,
        target: TableId,
    ) -> SqlResult<InsertRows> {
        let mut rows = Vec::with_capacity(values.len());
        crate::bind::each_row(values, &mut |list| {
            // `VALUES ()` means all defaults.
            if list.is_empty() && !named {
                rows.push(Vec::new());
                return Ok(());
            }
            if list.len() != columns.len() {
                return Err(column_count(rows.len() as u64 + 1));
            }
            let mut out = Vec::with_capacity(list.len());
            for (e, &c) in list.iter().zip(&*columns) {
                let (mut g, reads) = self.given(e, "field list", target)?;
                for_column(&mut g, &schema.columns[c], self);
                self.check_given(&g, &schema.columns[c], target)?;
                if let Given::Value { reads_new, .. } = &mut g {
                    *reads_new = !reads.is_empty();
                }
                out.push(g);
            }
            rows.push(out);
            Ok(())
        })?;
        if rows.iter().all(Vec::is_empty) && !named {
            columns.clear();
        } else if rows.iter().any(Vec::is_empty) && rows.iter().any(|r| !r.is_empty()) {
            return Err(column_count(
                rows.iter().position(Vec::is_empty).unwrap_or(0) as u64 + 1,
            ));
        }
        Ok(InsertRows::Values(rows))
    }

    /// Binds ON DUPLICATE KEY UPDATE. Of the tables selected from, `shown` are the columns that unqualified names find.
    /// Returns the columns of theirs that it reads.
    pub(in crate::bind) fn on_duplicate(
        &mut self,
        on: OnDuplicate<'p>,
        tables: &[Table],
        shown: &[(usize, usize)],
    ) -> SqlResult<Vec<(usize, usize)>> {
        /// The first of the tables selected from.
        const FIRST: usize = 2;
        let mut f = Frame::new(&mut self.arena);
        let new = on.inserted_row(self.arena.table_id())?;
        let count = FIRST + tables.len();
        f.reachable = (0..count)
            .filter(|&s| s != 1 || on.alias.is_some())
            .collect();
        f.visible = (0..on.old.columns()).map(|c| (0, c)).collect();
        if on.column_aliases().is_some() {
            // Column aliases are names of their own.
            f.visible.extend(on.columns.iter().map(|&c| (1, c)));
        }
        f.visible.extend(shown.iter().map(|&(s, c)| (FIRST + s, c)));
        let schema = on.schema;
        let row = on.old.id;
        f.inserted = Some((new.id, schema.clone()));
        f.tables = vec![on.old, new];
        f.tables.extend(tables.iter().map(named_columns));
        f.nullable = vec![false; count];
        let others_read: Vec<TableId> = f.tables[1..].iter().map(|t| t.id).collect();
        let around = std::mem::take(&mut self.frames);
        self.frames.push(f);
        self.updates_duplicates = true;
        let set = self.assignments(on.list, &schema, row);
        self.updates_duplicates = false;
        self.frames = around;
        let set = set?;
        let mut read = Vec::new();
        for value in values_of(&set) {
            if self.is_correlated(&value) {
                return Err(SqlError::unsupported(
                    "correlated subquery in ON DUPLICATE KEY UPDATE",
                ));
            }
            value.columns(&mut |id, c| {
                if let Some(s) = tables.iter().position(|t| t.id == id)
                    && !read.contains(&(s, c))
                {
                    read.push((s, c));
                }
            });
        }
        self.updating = Some(Updating {
            set,
            others_read,
            carried: Carried {
                widths: tables.iter().map(Table::columns).collect(),
                columns: read.clone(),
            },
        });
        Ok(read)
    }

    /// Whether a subquery of an expression reads a row around it, or is compared with one.
    fn is_correlated(&self, e: &Expr) -> bool {
        let mut any = false;
        e.walk(&mut |x| {
            if let ExprKind::Subquery { id, operands, .. } = &x.kind {
                operands
                    .iter()
                    .for_each(|o| o.columns(&mut |_, _| any = true));
                any |= !self
                    .arena
                    .outer(&self.arena.subqueries[*id].query)
                    .is_empty();
            }
        });
        any
    }
}

/// Whether a subquery stands in VALUES.
fn has_subqueries(rows: &InsertRows) -> bool {
    let InsertRows::Values(rows) = rows else {
        return false;
    };
    let has = |g: &Given| matches!(g, Given::Value { value, .. } if value.has_subquery());
    rows.iter().flatten().any(has)
}

/// A table selected from, by its columns alone. Any of them may be NULL: it may be on the inner side of an outer join.
fn named_columns(t: &Table) -> Table {
    let columns = (0..t.columns()).map(|c| {
        let (name, ty, _) = t.column(c);
        DerivedColumn {
            name: name.to_string(),
            ty: ty.clone(),
            nullable: true,
            hold: t.hold(c),
        }
    });
    Table {
        database: t.database.clone(),
        ..Table::row(t.id, t.name.clone(), columns.collect())
    }
}

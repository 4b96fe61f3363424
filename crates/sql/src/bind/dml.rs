//! INSERT, REPLACE, UPDATE, DELETE: which rows, and what their columns are given.

use std::sync::Arc;

use super::duplicates::{OnDuplicate, Updating};
use super::from;
use super::scope::{Binder, Frame};
use super::select::is_descending;
use crate::computed::generated_given;
use crate::env::is_system_schema;
use crate::error::{SqlError, SqlResult};
use crate::expr::bind::{as_number, as_own_text, into_bytes, unknown_column};
use crate::expr::{Expr, ExprKind, Scope};
use crate::logical::{
    self, Block, Body, Delete, DerivedColumn, Insert, InsertRows, OrderKey, Query, Root, Table,
    TableId, TableKind, Tree, Update,
};
use crate::logical::{Carried, column_count};
use crate::parse::ast;
use crate::switches::Flag;
use crate::types::{Collation, Column, Family, Schema, Visibility};
use crate::write::locks_reads;
use millpond_store::{LockMode, WaitPolicy};

/// What an assignment or a VALUES item gives a column.
pub type Given = logical::Given<Expr>;
/// What a statement sets: (column, value), in order.
pub type Assignments = logical::Assignments<Expr>;

/// What is done to the rows of several tables.
#[derive(Clone, Copy)]
pub enum Change<'a> {
    /// SET.
    Update(&'a ast::Items<ast::Assignment>),
    /// The tables whose rows go, by the names they have in the join.
    Delete(&'a ast::Items<ast::ObjectName>),
}

impl<'p> Binder<'p, '_> {
    fn target(&mut self, name: &ast::ObjectName) -> SqlResult<(usize, String, String)> {
        let (database, table) = from::split_name(name);
        let database = self.database(database)?;
        if is_system_schema(&database) {
            return Err(SqlError::new(
                1044,
                format!(
                    "Access denied for user '{}' to database '{database}'",
                    self.cx.env.user
                ),
            ));
        }
        self.targets.push((database.clone(), table.clone()));
        let at = self.open(&database, &table, true)?;
        if self.tables[at].schema.view.is_some() {
            return Err(SqlError::unsupported("writing through views"));
        }
        Ok((at, database, table))
    }

    /// Whether this statement, which writes, locks what it only reads. The plan is for transactions where it does, or doesn't.
    pub(super) fn locks_reads(&mut self) -> bool {
        let locks = locks_reads(self.cx.txn);
        self.notes.locks_reads = Some(locks);
        locks
    }

    fn target_table(&mut self, at: usize, database: &str, table: &str, alias: &str) -> Table {
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
            hints: from::hints_of(&self.tables[at].schema, self.sees_invisible_indexes()),
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
        let reads = reads(&value, row);
        let reads_new = false;
        Ok((Given::Value { value, reads_new }, reads))
    }

    /// `SET a = 1, b = a` in order; a later value sees the earlier assignments.
    fn assignments(
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
                Err(self.generated_given(column, row))
            }
            _ => Ok(()),
        }
    }

    /// Error 3105.
    #[cold]
    fn generated_given(&self, column: &Column, row: TableId) -> SqlError {
        let mut tables = self.frames.iter().flat_map(|f| &f.tables);
        let table = tables.find(|t| t.id == row).map_or("", |t| &t.table);
        generated_given(&column.name, table)
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
        schema
            .column(last)
            .ok_or_else(|| unknown_column(&qualifier, last, "field list"))
    }

    /// Binds INSERT and REPLACE.
    pub fn insert(&mut self, i: &'p ast::Insert) -> SqlResult<Insert> {
        let (table, database, table_name) = self.target(&i.table)?;
        self.tables[table].goes_by(&table_name, true);
        let schema = self.tables[table].schema.clone();
        let partitions = from::partitions_of(&schema, &i.partitions, &table_name)?;
        let given = i.columns.as_ref().filter(|list| !list.is_empty());
        let mut columns = Vec::new();
        for c in given.into_iter().flatten() {
            let n = c.name.as_str();
            let here = |q: &ast::Ident| q.as_str() == table_name;
            let at = schema
                .column(n)
                .filter(|_| c.table.as_ref().is_none_or(here))
                .ok_or_else(|| unknown_column(&[], n, "field list"))?;
            if columns.contains(&at) {
                return Err(SqlError::new(1110, format!("Column '{n}' specified twice")));
            }
            columns.push(at);
        }
        let named = given.is_some();
        if !named && !matches!(i.source, ast::InsertSource::Set(_)) {
            let shown = |c: &usize| schema.columns[*c].visibility == Visibility::Visible;
            columns = (0..schema.columns.len()).filter(shown).collect();
        }
        let target = self.target_table(table, &database, &table_name, &table_name);
        let row = target.id;
        self.open_frame_over(target.clone());
        let mut on = (!i.on_duplicate.is_empty()).then(|| OnDuplicate {
            list: &i.on_duplicate,
            alias: i.alias.as_ref(),
            columns: Vec::new(),
            old: target,
            schema: schema.clone(),
        });
        let rows = self.insert_rows(i, &mut columns, named, (table, row), &mut on);
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
        let at = |n: &usize| is_binary(&schema.columns[columns[*n]]);
        let binary: Vec<usize> = (0..columns.len()).filter(at).collect();
        select_bytes(&mut query, &binary, self);
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
            if columns.contains(&c) {
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
        super::each_row(values, &mut |list| {
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
    pub(super) fn on_duplicate(
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
        f.visible = (0..on.schema.columns.len()).map(|c| (0, c)).collect();
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
        let set = self.assignments(on.list, &schema, row);
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

    /// The one table of an UPDATE or DELETE, in a new block.
    fn single(
        &mut self,
        name: &ast::ObjectName,
        alias: Option<&ast::Ident>,
        partitions: &ast::Items<ast::Ident>,
    ) -> SqlResult<usize> {
        let (table, database, table_name) = self.target(name)?;
        let alias = alias.map_or(table_name.as_str(), ast::Ident::as_str);
        self.tables[table].goes_by(alias, true);
        let mut target = self.target_table(table, &database, &table_name, alias);
        from::select_partitions(&mut target.kind, partitions, &table_name)?;
        self.open_frame_over(target);
        Ok(table)
    }

    /// Binds UPDATE of one table or several.
    pub fn update_statement(&mut self, u: &ast::Update) -> SqlResult<Root> {
        if let Some(with) = &u.with {
            self.with(with)?;
        }
        let [ast::TableRef::Table(t)] = &u.tables[..] else {
            let change = Change::Update(&u.set);
            let several = self.several(&u.tables, change, u.filter.as_ref(), u.ignore)?;
            return Ok(Root::Several(Box::new(several)));
        };
        let depth = self.frames.len();
        let r = self.update_in_frame(u, t);
        self.frames.truncate(depth);
        Ok(Root::Update(Box::new(r?)))
    }

    fn update_in_frame(&mut self, u: &ast::Update, t: &ast::TableFactor) -> SqlResult<Update> {
        let table = self.single(&t.name, t.alias.as_ref(), &t.partitions)?;
        let schema = self.tables[table].schema.clone();
        let row = self.frame().tables[0].id;
        let set = self.assignments(&u.set, &schema, row)?;
        let mut find = self.find(u.filter.as_ref(), &u.order_by, u.limit.as_ref())?;
        find.select = values_of(&set).collect();
        Ok(Update {
            table,
            find,
            moves_partitions: self.moves_partitions(&schema, &set)?,
            set,
            ignore: u.ignore,
        })
    }

    /// Whether an UPDATE may move rows to a partition that the scan has yet to come to.
    fn moves_partitions(&self, schema: &Schema, set: &[(usize, Given)]) -> SqlResult<bool> {
        let Some(p) = &schema.partitioning else {
            return Ok(false);
        };
        let f = p.function(schema, self.cx.env)?;
        Ok(f.columns.iter().any(|&c| changes(schema, set, c)))
    }

    /// Binds DELETE from one table or several.
    pub fn delete_statement(&mut self, d: &ast::Delete) -> SqlResult<Root> {
        if let Some(with) = &d.with {
            self.with(with)?;
        }
        let (name, alias, partitions) = match &d.target {
            ast::DeleteTarget::One {
                table,
                alias,
                partitions,
            } => (table, alias.as_ref(), partitions),
            ast::DeleteTarget::Several { targets, from, .. } => {
                let change = Change::Delete(targets);
                let several = self.several(from, change, d.filter.as_ref(), d.ignore)?;
                return Ok(Root::Several(Box::new(several)));
            }
        };
        let depth = self.frames.len();
        let r = self.single(name, alias, partitions).and_then(|table| {
            Ok(Delete {
                table,
                find: self.find(d.filter.as_ref(), &d.order_by, d.limit.as_ref())?,
                ignore: d.ignore,
            })
        });
        self.frames.truncate(depth);
        Ok(Root::Delete(Box::new(r?)))
    }

    /// The block that finds the rows of an UPDATE or DELETE; its select list is empty.
    fn find(
        &mut self,
        filter: Option<&ast::Expr>,
        order: &ast::Items<ast::OrderItem>,
        limit: Option<&ast::Limit>,
    ) -> SqlResult<Block> {
        let filter = match filter {
            Some(e) => self.bind(e, "where clause")?.into_conjuncts(),
            None => Vec::new(),
        };
        let mut keys = Vec::new();
        for o in order {
            let expr = self.bind(&o.expr, "order clause")?;
            let desc = is_descending(&o);
            if !expr.is_const() {
                keys.push(OrderKey { expr, desc });
            }
        }
        let limit = self.limit(limit)?;
        let tables = std::mem::take(&mut self.frame().tables);
        Ok(Block {
            from: tables.first().map(|t| Tree::Leaf(t.id)),
            tables,
            filter,
            order: keys,
            limit,
            ..Block::default()
        })
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

/// What a value is for its column: a hexadecimal literal is a number for a numeric one.
/// A text is what the client sent for a binary one, and a time is its text for a string.
pub(super) fn for_column(g: &mut Given, column: &Column, scope: &mut dyn Scope) {
    let Given::Value { value, .. } = g else {
        return;
    };
    if column.ty.is_numeric() && matches!(value.kind, ExprKind::BitString(_)) {
        as_number(value);
    }
    if is_binary(column) {
        into_bytes(value, scope);
    }
    if column.ty.family() == Family::String {
        as_own_text(value);
    }
}

fn is_binary(column: &Column) -> bool {
    column.ty.is_string() && column.ty.collation == Collation::Binary
}

/// The same for the rows of a query, by the positions of the binary columns.
fn select_bytes(query: &mut Query, binary: &[usize], scope: &mut dyn Scope) {
    let mut each = |e: Option<&mut Expr>| {
        if let Some(e) = e {
            into_bytes(e, scope);
        }
    };
    match &mut query.body {
        Body::Block(b) => {
            for n in binary {
                each(b.select.get_mut(*n));
            }
        }
        Body::Values(rows) => {
            for row in rows {
                binary.iter().for_each(|n| each(row.get_mut(*n)));
            }
        }
        Body::Set(u) => {
            for (arm, _) in &mut u.arms {
                select_bytes(arm, binary, scope);
            }
        }
        // It is a derived table's.
        Body::Recursive(_) | Body::Windowed(_) => {}
    }
}

/// The columns of a table that an expression reads.
fn reads(e: &Expr, table: TableId) -> Vec<usize> {
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
fn changes(schema: &Schema, set: &[(usize, Given)], column: usize) -> bool {
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
        Body::Windowed(w) => lock_sources(&mut w.input),
        Body::Recursive(r) => {
            lock_sources(&mut r.seed);
            r.steps.iter_mut().for_each(lock_sources);
        }
    }
}

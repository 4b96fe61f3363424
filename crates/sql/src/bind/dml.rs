//! INSERT, REPLACE, UPDATE, DELETE: which rows, and what their columns are given.

use std::sync::Arc;

use super::from;
use super::scope::{Binder, Frame};
use crate::error::{SqlError, SqlResult};
use crate::expr::bind::{as_number, into_bytes, unknown_column};
use crate::expr::{Coercibility, Expr, ExprKind, Scope};
use crate::logical::{
    self, Block, Body, Delete, DerivedColumn, Hints, Insert, InsertRows, OrderKey, Query, Table,
    TableId, TableKind, Tree, Update,
};
use crate::parse::sp;
use crate::plan::dml::{Carried, column_count};
use crate::types::{Collation, Column, Schema};
use millpond_store::{LockMode, WaitPolicy};

/// What an assignment or a VALUES item gives a column.
pub type Given = logical::Given<Expr>;
/// What a statement sets: (column, value), in order.
pub type Assignments = logical::Assignments<Expr>;

impl<'p> Binder<'p, '_> {
    fn target(&mut self, name: &sp::ObjectName) -> SqlResult<(usize, String, String)> {
        let (database, table) = from::split_name(name)?;
        let database = self.database(database)?;
        if crate::show::is_system_schema(&database) {
            return Err(SqlError::new(
                1044,
                format!(
                    "Access denied for user '{}' to database '{database}'",
                    self.cx.env.user
                ),
            ));
        }
        self.targets.push((database.clone(), table.clone()));
        Ok((self.open(&database, &table, true)?, database, table))
    }

    /// Whether this statement, which writes, locks what it only reads. The plan is for transactions where it does, or doesn't.
    pub(super) fn locks_reads(&mut self) -> bool {
        let locks = crate::plan::locks_reads(self.cx.txn);
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
            hints: Hints::default(),
        }
    }

    pub(super) fn given(
        &mut self,
        e: &sp::Expr,
        clause: &'static str,
        row: TableId,
    ) -> SqlResult<(Given, Vec<usize>)> {
        if is_default(e) {
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
        list: &[sp::Assignment],
        schema: &Arc<Schema>,
        row: TableId,
    ) -> SqlResult<Assignments> {
        let mut out: Assignments = Vec::new();
        for a in list {
            let sp::AssignmentTarget::ColumnName(name) = &a.target else {
                return Err(SqlError::unsupported("assignment to a list of columns"));
            };
            let column = self.assigned(name, schema, row)?;
            let (mut given, reads) = self.given(&a.value, "field list", row)?;
            for_column(&mut given, &schema.columns[column], self);
            if let Given::Value { reads_new, .. } = &mut given {
                *reads_new = reads.iter().any(|c| out.iter().any(|(o, _)| o == c));
            }
            out.push((column, given));
        }
        Ok(out)
    }

    fn assigned(
        &mut self,
        name: &sp::ObjectName,
        schema: &Arc<Schema>,
        row: TableId,
    ) -> SqlResult<usize> {
        let parts: Vec<&str> = name
            .0
            .iter()
            .filter_map(|p| p.as_ident().map(|i| i.value.as_str()))
            .collect();
        let (last, qualifier) = parts
            .split_last()
            .ok_or_else(|| SqlError::syntax("bad column name"))?;
        let f = self.frame();
        if let Some(table) = qualifier.last() {
            let target = f.tables.iter().find(|t| t.id == row);
            if target.is_none_or(|t| t.name != *table) {
                return Err(unknown_column(qualifier, last, "field list"));
            }
        }
        schema
            .column(last)
            .ok_or_else(|| unknown_column(qualifier, last, "field list"))
    }

    /// Binds INSERT and REPLACE.
    pub fn insert(&mut self, i: &'p sp::Insert) -> SqlResult<Insert> {
        let sp::TableObject::TableName(name) = &i.table else {
            return Err(SqlError::unsupported("INSERT into this"));
        };
        if i.returning.is_some() {
            return Err(SqlError::unsupported("this clause of INSERT"));
        }
        let (table, database, table_name) = self.target(name)?;
        self.tables[table].goes_by(&table_name, true);
        let schema = self.tables[table].schema.clone();
        let partitions = given_partitions(i, &schema, &table_name)?;
        let mut columns = Vec::new();
        for c in &i.columns {
            let (qualifier, n) = from::split_name(c)?;
            let at = schema
                .column(&n)
                .filter(|_| qualifier.as_ref().is_none_or(|q| *q == table_name))
                .ok_or_else(|| unknown_column(&[], &n, "field list"))?;
            if columns.contains(&at) {
                return Err(SqlError::new(1110, format!("Column '{n}' specified twice")));
            }
            columns.push(at);
        }
        let named = !i.columns.is_empty();
        if !named && i.assignments.is_empty() {
            columns = (0..schema.columns.len()).collect();
        }
        let target = self.target_table(table, &database, &table_name, &table_name);
        let row = target.id;
        self.open_frame_over(target.clone());
        let mut on = match &i.on {
            None => None,
            Some(sp::OnInsert::DuplicateKeyUpdate(list)) => Some(OnDuplicate {
                list,
                alias: i.insert_alias.as_ref(),
                columns: Vec::new(),
                old: target,
                schema: schema.clone(),
            }),
            Some(_) => return Err(SqlError::unsupported("ON CONFLICT")),
        };
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
            replace: i.replace_into,
            ignore: i.ignore,
            update,
            carried,
            partitions,
        })
    }

    fn insert_rows(
        &mut self,
        i: &sp::Insert,
        columns: &mut Vec<usize>,
        named: bool,
        (table, target): (usize, TableId),
        on: &mut Option<OnDuplicate<'p>>,
    ) -> SqlResult<InsertRows> {
        let schema = self.tables[table].schema.clone();
        if !i.assignments.is_empty() {
            let list = self.assignments(&i.assignments, &schema, target)?;
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
            return Ok(InsertRows::Values(vec![row]));
        }
        let Some(q) = &i.source else {
            return Ok(InsertRows::Values(vec![Vec::new()]));
        };
        if let sp::SetExpr::Values(v) = &*q.body
            && q.with.is_none()
            && q.order_by.is_none()
            && q.limit_clause.is_none()
        {
            let mut rows = Vec::new();
            for (n, row) in v.rows.iter().enumerate() {
                let list = &row.content;
                // `VALUES ()` means all defaults.
                if list.is_empty() && !named {
                    rows.push(Vec::new());
                    continue;
                }
                if list.len() != columns.len() {
                    return Err(column_count(n as u64 + 1));
                }
                let mut out = Vec::new();
                for (e, &c) in list.iter().zip(&*columns) {
                    let (mut g, reads) = self.given(e, "field list", target)?;
                    for_column(&mut g, &schema.columns[c], self);
                    if let Given::Value { reads_new, .. } = &mut g {
                        *reads_new = !reads.is_empty();
                    }
                    out.push(g);
                }
                rows.push(out);
            }
            if rows.iter().all(Vec::is_empty) && !named {
                columns.clear();
            } else if rows.iter().any(Vec::is_empty) && rows.iter().any(|r| !r.is_empty()) {
                return Err(column_count(
                    rows.iter().position(Vec::is_empty).unwrap_or(0) as u64 + 1,
                ));
            }
            return Ok(InsertRows::Values(rows));
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
    fn single(&mut self, t: &sp::TableWithJoins, what: &str) -> SqlResult<usize> {
        if !t.joins.is_empty() {
            return Err(SqlError::unsupported(format_args!(
                "{what} of several tables"
            )));
        }
        let sp::TableFactor::Table {
            name,
            alias,
            partitions,
            ..
        } = &t.relation
        else {
            return Err(SqlError::unsupported(format_args!("{what} of this")));
        };
        let (table, database, table_name) = self.target(name)?;
        let alias = alias
            .as_ref()
            .map_or(table_name.as_str(), |a| a.name.value.as_str())
            .to_string();
        self.tables[table].goes_by(&alias, true);
        let mut target = self.target_table(table, &database, &table_name, &alias);
        from::select_partitions(&mut target.kind, partitions, &table_name)?;
        self.open_frame_over(target);
        Ok(table)
    }

    /// Binds UPDATE.
    pub fn update(&mut self, u: &sp::Update) -> SqlResult<Update> {
        if u.from.is_some() || u.returning.is_some() {
            return Err(SqlError::unsupported("this clause of UPDATE"));
        }
        let depth = self.frames.len();
        let r = self.update_in_frame(u);
        self.frames.truncate(depth);
        r
    }

    fn update_in_frame(&mut self, u: &sp::Update) -> SqlResult<Update> {
        let table = self.single(&u.table, "UPDATE")?;
        let schema = self.tables[table].schema.clone();
        let row = self.frame().tables[0].id;
        let set = self.assignments(&u.assignments, &schema, row)?;
        let mut find = self.find(u.selection.as_ref(), &u.order_by, u.limit.as_ref())?;
        find.select = values_of(&set).collect();
        Ok(Update {
            table,
            find,
            moves_partitions: self.moves_partitions(&schema, &set)?,
            set,
            ignore: self.statement.ignore,
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

    /// Binds DELETE.
    pub fn delete(&mut self, d: &sp::Delete) -> SqlResult<Delete> {
        if !d.tables.is_empty() || d.using.is_some() || d.returning.is_some() {
            return Err(SqlError::unsupported("DELETE from several tables"));
        }
        let (sp::FromTable::WithFromKeyword(from) | sp::FromTable::WithoutKeyword(from)) = &d.from;
        let [t] = &from[..] else {
            return Err(SqlError::unsupported("DELETE from several tables"));
        };
        let depth = self.frames.len();
        let r = (|| {
            let table = self.single(t, "DELETE")?;
            let find = self.find(d.selection.as_ref(), &d.order_by, d.limit.as_ref())?;
            let ignore = self.statement.ignore;
            Ok(Delete {
                table,
                find,
                ignore,
            })
        })();
        self.frames.truncate(depth);
        r
    }

    /// The block that finds the rows of an UPDATE or DELETE; its select list is empty.
    fn find(
        &mut self,
        selection: Option<&sp::Expr>,
        order: &[sp::OrderByExpr],
        limit: Option<&sp::Expr>,
    ) -> SqlResult<Block> {
        let filter = match selection {
            Some(e) => self.bind(e, "where clause")?.into_conjuncts(),
            None => Vec::new(),
        };
        let mut keys = Vec::new();
        for o in order {
            let expr = self.bind(&o.expr, "order clause")?;
            let desc = o.options.sort == Some(sp::OrderBySort::Desc);
            if !expr.is_const() {
                keys.push(OrderKey { expr, desc });
            }
        }
        let limit = limit.map(|e| sp::LimitClause::LimitOffset {
            limit: Some(e.clone()),
            offset: None,
            limit_by: Vec::new(),
        });
        let limit = self.limit(limit.as_ref())?;
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

/// An ON DUPLICATE KEY UPDATE that is yet to be bound.
pub struct OnDuplicate<'p> {
    list: &'p [sp::Assignment],
    alias: Option<&'p sp::InsertAliases>,
    /// Columns that the statement gives.
    columns: Vec<usize>,
    old: Table,
    schema: Arc<Schema>,
}

/// The same, bound.
pub struct Updating {
    set: Assignments,
    others_read: Vec<TableId>,
    carried: Carried,
}

impl OnDuplicate<'_> {
    /// The names that `AS new(a, b)` gives the columns.
    fn column_aliases(&self) -> Option<&[sp::Ident]> {
        let list = self.alias?.col_aliases.as_deref()?;
        (!list.is_empty()).then_some(list)
    }

    /// The row that was to be inserted, under its alias.
    fn inserted_row(&self, id: TableId) -> SqlResult<Table> {
        let own = self.schema.columns.iter().map(|c| c.name.clone());
        let mut names: Vec<String> = own.collect();
        if let Some(list) = self.column_aliases() {
            if list.len() != self.columns.len() {
                return Err(SqlError::new(
                    1353,
                    "In definition of view, derived table or common table expression, SELECT list \
                     and column names list have different column counts",
                ));
            }
            names.iter_mut().for_each(String::clear);
            for (&c, alias) in self.columns.iter().zip(list) {
                names[c].clone_from(&alias.value);
            }
        }
        let columns = names.into_iter().zip(&self.schema.columns);
        let name = match self.alias {
            Some(a) => from::split_name(&a.row_alias)?.1,
            None => String::new(),
        };
        let columns = columns.map(|(name, c)| DerivedColumn {
            name,
            ty: c.ty.clone(),
            nullable: c.nullable,
            hold: Coercibility::Implicit,
        });
        Ok(Table::row(id, name, columns.collect()))
    }
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

/// INSERT ... PARTITION (...).
fn given_partitions(
    i: &sp::Insert,
    schema: &Schema,
    table: &str,
) -> SqlResult<Option<Arc<[usize]>>> {
    let mut names = Vec::new();
    for e in i.partitioned.iter().flatten() {
        let sp::Expr::Identifier(name) = e else {
            return Err(SqlError::syntax(format_args!("near '{e}'")));
        };
        names.push(name.clone());
    }
    from::partitions_of(schema, &names, table)
}

/// What a value is for its column: a hexadecimal literal is a number for a numeric one.
/// A text is what the client sent for a binary one.
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
        Body::Union(u) => {
            for (arm, _) in &mut u.arms {
                select_bytes(arm, binary, scope);
            }
        }
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

fn is_default(e: &sp::Expr) -> bool {
    matches!(e, sp::Expr::Identifier(i)
        if i.quote_style.is_none() && i.value.eq_ignore_ascii_case("default"))
}

/// The values assigned.
pub(super) fn values_of(set: &Assignments) -> impl Iterator<Item = Expr> {
    set.iter().filter_map(|(_, g)| match g {
        Given::Value { value, .. } => Some(value.clone()),
        Given::Default => None,
    })
}

/// Whether an UPDATE may change a column: it assigns to it, or the column tells when its row was updated.
fn changes(schema: &Schema, set: &[(usize, Given)], column: usize) -> bool {
    schema.columns[column].on_update_now || set.iter().any(|(c, _)| *c == column)
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
        Body::Union(u) => u.arms.iter_mut().for_each(|(q, _)| lock_sources(q)),
        Body::Values(_) => {}
    }
}

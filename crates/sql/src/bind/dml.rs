//! INSERT, REPLACE, UPDATE, DELETE: which rows, and what their columns are given.

use std::sync::Arc;

use super::duplicates::{OnDuplicate, Updating};
use super::from;
use super::scope::{Binder, Frame, Target};
use super::select::is_descending;
use crate::computed::generated_given;
use crate::env::is_system_schema;
use crate::env::privileges::{self, Privileges};
use crate::error::{SqlError, SqlResult};
use crate::expr::bind::{as_own_text, assigned_bits, for_type, unknown_column};
use crate::expr::{Expr, ExprKind, Func, Scope};
use crate::logical::{
    self, Block, Body, Delete, DerivedColumn, Insert, InsertRows, Limit, OrderKey, Query, Root,
    Several, Table, TableId, TableKind, Tree, Update,
};
use crate::logical::{Carried, column_count};
use crate::parse;
use crate::parse::ast;
use crate::switches::Flag;
use crate::types::{Collation, Column, Family, Schema, SqlType, Visibility};
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
    /// The rows of the one table there is go.
    DeleteAll,
}

/// In which order the rows come that are changed, and how many.
#[derive(Clone, Copy)]
pub struct Rows<'a> {
    /// ORDER BY.
    pub order: &'a ast::Items<ast::OrderItem>,
    /// LIMIT.
    pub limit: Option<&'a ast::Limit>,
}

impl Rows<'_> {
    /// All of them, in any order.
    const ALL: Rows<'static> = Rows {
        order: &ast::Items::EMPTY,
        limit: None,
    };
}

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
        let mut partitions = from::partitions_of(&schema, &i.partitions, &table_name)?;
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
            if columns.contains(&at) {
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
        match self.operation {
            "DELETE" => {
                self.need_target(target.id, (&database, &table_name), privileges::DELETE, 0)
            }
            _ => self.need_target(target.id, (&database, &table_name), 0, privileges::UPDATE),
        }
        from::select_partitions(&mut target.kind, partitions, &table_name)?;
        self.open_frame_over(target);
        Ok(table)
    }

    /// Binds UPDATE of one table or several.
    pub fn update_statement(&mut self, u: &ast::Update) -> SqlResult<Root> {
        self.operation = "UPDATE";
        if let Some(with) = &u.with {
            self.with(with)?;
        }
        let change = Change::Update(&u.set);
        self.needs.some = Some(privileges::SELECT | privileges::UPDATE);
        let one = match &u.tables[..] {
            [ast::TableRef::Table(t)] => Some(t),
            _ => None,
        };
        let Some(t) = one else {
            let several =
                self.several(&u.tables, change, u.filter.as_ref(), Rows::ALL, u.ignore)?;
            return Ok(Root::Several(Box::new(several)));
        };
        if self.is_view(&t.name)? {
            let rows = Rows {
                order: &u.order_by,
                limit: u.limit.as_ref(),
            };
            let several = self.several(&u.tables, change, u.filter.as_ref(), rows, u.ignore)?;
            return self.one_of(several);
        }
        let depth = self.frames.len();
        self.needs.some = None;
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
            through: None,
        })
    }

    /// A statement that changes one table alone, if what a view has become is one.
    fn one_of(&mut self, several: Several) -> SqlResult<Root> {
        let Several {
            find,
            mut targets,
            deletes,
            ignore,
        } = several;
        if find.tables.len() > 1 || targets.len() != 1 {
            let clause = match (find.order.is_empty(), find.limit.is_none()) {
                (false, _) => "ORDER BY",
                (_, false) => "LIMIT",
                _ => {
                    return Ok(Root::Several(Box::new(Several {
                        find,
                        targets,
                        deletes,
                        ignore,
                    })));
                }
            };
            let operation = self.operation;
            return Err(SqlError::new(
                1221,
                format!("Incorrect usage of {operation} and {clause}"),
            ));
        }
        let target = targets.swap_remove(0);
        let table = target.table;
        if deletes {
            return Ok(Root::Delete(Box::new(Delete {
                table,
                find,
                ignore,
            })));
        }
        let schema = self.tables[table].schema.clone();
        Ok(Root::Update(Box::new(Update {
            table,
            moves_partitions: self.moves_partitions(&schema, &target.set)?,
            find,
            set: target.set,
            ignore,
            through: target.through,
        })))
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
        self.operation = "DELETE";
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
                let several = self.several(from, change, d.filter.as_ref(), Rows::ALL, d.ignore)?;
                return Ok(Root::Several(Box::new(several)));
            }
        };
        if self.is_view(name)? {
            self.needs.some = Some(privileges::SELECT | privileges::DELETE);
            let from = [ast::TableRef::Table(Box::new(ast::TableFactor {
                name: name.clone(),
                partitions: partitions.clone(),
                alias: alias.cloned(),
                index_hints: ast::Items::EMPTY,
            }))];
            let rows = Rows {
                order: &d.order_by,
                limit: d.limit.as_ref(),
            };
            let change = Change::DeleteAll;
            let several = self.several(&from, change, d.filter.as_ref(), rows, d.ignore)?;
            return self.one_of(several);
        }
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

    /// The order in which the rows of an UPDATE or DELETE are found, and how many.
    pub(super) fn found_order(
        &mut self,
        order: &ast::Items<ast::OrderItem>,
        limit: Option<&ast::Limit>,
    ) -> SqlResult<(Vec<OrderKey>, Limit)> {
        let mut keys = Vec::new();
        for o in order {
            let expr = self.bind(&o.expr, "order clause")?;
            let desc = is_descending(&o);
            if !expr.is_const() {
                keys.push(OrderKey { expr, desc });
            }
        }
        Ok((keys, self.limit(limit)?))
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
        let (keys, limit) = self.found_order(order, limit)?;
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

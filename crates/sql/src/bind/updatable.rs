//! Views that statements write through.
//!
//! A view is updatable if its rows are rows of the tables below: its query is one SELECT without grouping, DISTINCT, LIMIT or outer joins, from stored
//! tables and views of that kind alone. Its columns that are columns of those can be given values, each changing the row that it comes from.
//!
//! The statement is bound with the view as the table it names. Then the view's tables take its place in the block that finds the rows
//! ([`crate::rewrite::merge`]), and the columns below that of its own: an INSERT has no such block, and gives its values to the columns
//! below from the start. What WITH CHECK OPTION asks is kept beside ([`Through`]).

use std::ops::Range;
use std::sync::Arc;

use millpond_store::{LockMode, WaitPolicy};

use super::scope::{Binder, Target};
use crate::env::privileges;
use crate::error::{SqlError, SqlResult};
use crate::expr::bind::unknown_column;
use crate::expr::{Expr, ExprKind};
use crate::logical::{
    Block, Body, DerivedId, Given, Insert, InsertRows, Table, TableId, TableKind, Through,
};
use crate::parse::ast::{self, CheckOption, ViewAlgorithm};
use crate::rewrite::merge;
use crate::types::Schema;

/// The view that an INSERT writes through.
pub struct InsertedView {
    /// What the statement's names are columns of.
    pub id: TableId,
    /// Its columns' names, and which column of the table each is.
    columns: Vec<(String, Option<usize>)>,
}

impl InsertedView {
    /// The column of the table that goes by a name.
    pub fn column(&self, name: &str) -> Option<usize> {
        let named = |c: &&(String, Option<usize>)| c.0.eq_ignore_ascii_case(name);
        self.columns.iter().find(named)?.1
    }
    /// The columns of the table that the view's own are.
    pub fn of_columns(&self, own: &[usize]) -> Vec<usize> {
        own.iter().filter_map(|c| self.columns[*c].1).collect()
    }
    /// The names of the table's columns, so many, in the view; empty where it has none.
    pub fn names(&self, count: usize) -> Vec<String> {
        let mut names = vec![String::new(); count];
        for (name, base) in &self.columns {
            if let Some(base) = base {
                names[*base].clone_from(name);
            }
        }
        names
    }
}

/// What a statement's columns of a view become: the table's id, and the expressions.
pub type Replaced = Vec<(TableId, Vec<Expr>)>;

/// Error 1288.
fn not_updatable(table: &str, operation: &str) -> SqlError {
    SqlError::new(
        1288,
        format!("The target table {table} of the {operation} is not updatable"),
    )
}

impl Binder<'_, '_> {
    /// Whether statements can write through a view.
    pub(super) fn is_updatable(&self, derived: DerivedId) -> bool {
        let Some(b) = self.updatable_block(derived) else {
            return false;
        };
        b.select.iter().any(|e| self.base_column(e, b).is_some())
    }

    /// The SELECT of a view that statements may write through.
    pub(super) fn updatable_block(&self, derived: DerivedId) -> Option<&Block> {
        let d = &self.arena.derived[derived];
        let view = d.view.as_ref()?;
        let Body::Block(b) = &d.query.body else {
            return None;
        };
        let tree = b.from.as_ref()?;
        let plain = b.group.is_none() && b.having.is_empty() && !b.distinct && b.limit.is_none();
        let outer = b.tables.iter().any(|t| merge::is_missing(tree, t.id));
        let based = |t: &Table| match &t.kind {
            TableKind::Stored { .. } => true,
            TableKind::Derived { derived, .. } => self.updatable_block(*derived).is_some(),
            TableKind::Lateral { .. } | TableKind::Virtual(_) | TableKind::Row(_) => false,
        };
        let fits = view.algorithm != ViewAlgorithm::TempTable
            && plain
            && !outer
            && b.tables.iter().all(based)
            && !b.select.iter().any(|e| self.reads_around(e));
        fits.then_some(b)
    }

    /// Whether a view's tables may take its place; `missing`: where an outer join may put NULLs.
    fn takes_place(&self, derived: DerivedId, missing: bool) -> bool {
        let column = |e: &Expr| matches!(e.kind, ExprKind::Column { .. });
        let block = self.updatable_block(derived);
        block.is_some_and(|b| !missing || b.select.iter().all(column))
    }

    /// Whether a subquery in an expression reads the rows around it.
    fn reads_around(&self, e: &Expr) -> bool {
        let mut any = false;
        e.subqueries(&mut |id| {
            let query = &self.arena.subqueries[id].query;
            any |= !self.arena.outer(query).is_empty();
        });
        any
    }

    /// The column of a stored table that a view's column is.
    pub(super) fn base_column(&self, e: &Expr, b: &Block) -> Option<(TableId, usize)> {
        let ExprKind::Column { source, column, .. } = e.kind else {
            return None;
        };
        match &b.table(source)?.kind {
            TableKind::Stored { .. } => Some((source, column)),
            TableKind::Derived { derived, .. } => {
                let below = self.updatable_block(*derived)?;
                self.base_column(below.select.get(column)?, below)
            }
            TableKind::Lateral { .. } | TableKind::Virtual(_) | TableKind::Row(_) => None,
        }
    }

    /// The stored table's column that a column is, if it is a view's.
    pub(super) fn below(&self, (id, column): (TableId, usize)) -> (TableId, usize) {
        let mut tables = self.frames.iter().flat_map(|f| &f.tables);
        let view = tables.find(|t| t.id == id).and_then(|t| match t.kind {
            TableKind::Derived { derived, .. } => self.updatable_block(derived),
            _ => None,
        });
        let base = view.and_then(|b| self.base_column(b.select.get(column)?, b));
        base.unwrap_or((id, column))
    }

    /// The definition of a stored table in sight, be it below a view.
    pub(super) fn schema_of(&self, id: TableId) -> Option<Arc<Schema>> {
        Some(self.stored(id)?.1)
    }

    /// The position of a stored table in sight among the statement's tables, and its definition.
    pub(super) fn stored(&self, id: TableId) -> Option<(usize, Arc<Schema>)> {
        let mut all = Vec::new();
        for t in self.frames.iter().flat_map(|f| &f.tables) {
            match t.kind {
                TableKind::Derived { derived, .. } => self.base_tables(derived, &mut all),
                _ => all.push(t.clone()),
            }
        }
        let t = all.into_iter().find(|t| t.id == id)?;
        match t.kind {
            TableKind::Stored { table, schema, .. } => Some((table, schema)),
            _ => None,
        }
    }

    /// The stored tables below a view, in order.
    fn base_tables(&self, derived: DerivedId, out: &mut Vec<Table>) {
        let Some(b) = self.updatable_block(derived) else {
            return;
        };
        for t in &b.tables {
            match &t.kind {
                TableKind::Derived { derived, .. } => self.base_tables(*derived, out),
                _ => out.push(t.clone()),
            }
        }
    }

    /// Whether a name in FROM alone is a view's.
    pub(super) fn is_view(&mut self, name: &ast::ObjectName) -> SqlResult<bool> {
        let (database, table) = super::from::split_name(name);
        let database = self.database(database)?;
        crate::parse::refuse_empty(&database, Some(&table))?;
        if crate::env::is_system_schema(&database) {
            return Ok(false);
        }
        let some = match self.operation {
            "DELETE" => privileges::DELETE,
            _ => privileges::UPDATE,
        };
        self.ask(&database, &table, some)?;
        let at = self.open(&database, &table, true)?;
        Ok(self.tables[at].schema.view.is_some())
    }

    /// The view in the innermost block, and its columns' names; `None`: it is another table.
    fn view_of(&self, id: TableId) -> Option<(&Table, DerivedId)> {
        let t = self.frames.last()?.tables.iter().find(|t| t.id == id)?;
        match t.kind {
            TableKind::Derived { derived, .. } if self.arena.derived[derived].view.is_some() => {
                Some((t, derived))
            }
            _ => None,
        }
    }

    /// The table and column that are changed where a column is assigned to that may be a view's: errors 1288, 1348 and 1393.
    pub(super) fn written_column(
        &mut self,
        id: TableId,
        column: usize,
    ) -> SqlResult<(TableId, usize)> {
        let Some((t, derived)) = self.view_of(id) else {
            return Ok((id, column));
        };
        let t = t.clone();
        let Some(b) = self.updatable_block(derived) else {
            return Err(not_updatable(&t.name, self.operation));
        };
        let Some(base) = b.select.get(column).and_then(|e| self.base_column(e, b)) else {
            let name = t.column(column).0;
            return Err(SqlError::new(
                1348,
                format!("Column '{name}' is not updatable"),
            ));
        };
        self.write_through(&t, derived, base.0)?;
        self.need_below(derived, base.0, Some(base.1), privileges::UPDATE);
        Ok(base)
    }

    /// The one table whose rows go where a view's do: errors 1288 and 1395.
    pub(super) fn deleted_from(&mut self, id: TableId) -> SqlResult<TableId> {
        let Some((t, derived)) = self.view_of(id) else {
            return Ok(id);
        };
        let t = t.clone();
        if !self.is_updatable(derived) {
            return Err(not_updatable(&t.name, self.operation));
        }
        let mut below = Vec::new();
        self.base_tables(derived, &mut below);
        let [base] = &below[..] else {
            return Err(SqlError::new(
                1395,
                format!("Can not delete from join view '{}.{}'", t.database, t.table),
            ));
        };
        let base = base.id;
        self.write_through(&t, derived, base)?;
        self.need_below(derived, base, None, privileges::DELETE);
        Ok(base)
    }

    /// Notes what is done to a table below a view, and to the views between; `column`: to this column of it alone.
    pub(super) fn need_below(
        &mut self,
        derived: DerivedId,
        base: TableId,
        column: Option<usize>,
        privileges: privileges::Privileges,
    ) {
        let Some(b) = self.updatable_block(derived) else {
            return;
        };
        let mut uses: Vec<(TableId, Option<String>)> = Vec::new();
        let mut below = Vec::new();
        for t in &b.tables {
            match &t.kind {
                TableKind::Derived { derived: inner, .. } => {
                    let mut tables = Vec::new();
                    self.base_tables(*inner, &mut tables);
                    if !tables.iter().any(|t| t.id == base) {
                        continue;
                    }
                    below.push(*inner);
                    let inner = self.updatable_block(*inner);
                    let is = |c: &usize| {
                        let e = inner.and_then(|b| Some((b.select.get(*c)?, b)));
                        e.and_then(|(e, b)| self.base_column(e, b))
                            == Some((base, column.unwrap_or(0)))
                    };
                    let name = column.and_then(|_| (0..t.columns()).find(is));
                    uses.push((t.id, name.map(|c| t.column(c).0.to_string())));
                }
                _ if t.id == base => {
                    uses.push((t.id, column.map(|c| t.column(c).0.to_string())));
                }
                _ => {}
            }
        }
        for (id, name) in uses {
            match name {
                Some(name) => self.need_column(id, &name, privileges),
                None => self.need_whole(id, privileges),
            }
        }
        for inner in below {
            self.need_below(inner, base, column, privileges);
        }
    }

    /// Notes what an INSERT through a view takes of the table that its rows go to and of the views between: of each column what it takes of the
    /// view's, and nothing for the view's having read it. `own`: the view's needs, among all; `whole`: what is taken of all of the table.
    pub(super) fn need_inserted(
        &mut self,
        own: Range<usize>,
        view: &Table,
        derived: DerivedId,
        base: TableId,
        whole: privileges::Privileges,
    ) {
        let mut way = vec![base];
        self.way_to(derived, base, &mut way);
        self.needs.settle_inserting(own, &way);
        if whole != 0 {
            self.need_below(derived, base, None, whole);
        }
        for (name, privileges) in self.needs.of_columns(view.id) {
            let column = view.find(&name).and_then(|c| {
                let b = self.updatable_block(derived)?;
                self.base_column(b.select.get(c)?, b)
            });
            if let Some((id, column)) = column
                && id == base
            {
                self.need_below(derived, base, Some(column), privileges);
            }
        }
    }

    /// The views below a view through which one comes to a stored table.
    fn way_to(&self, derived: DerivedId, base: TableId, out: &mut Vec<TableId>) {
        let Some(b) = self.updatable_block(derived) else {
            return;
        };
        for t in &b.tables {
            if let TableKind::Derived { derived, .. } = t.kind {
                let mut tables = Vec::new();
                self.base_tables(derived, &mut tables);
                if tables.iter().any(|t| t.id == base) {
                    out.push(t.id);
                    self.way_to(derived, base, out);
                }
            }
        }
    }

    /// Notes that a statement changes a table through a view: no other one through the same.
    fn write_through(&mut self, view: &Table, derived: DerivedId, base: TableId) -> SqlResult<()> {
        match self.written.iter().find(|w| w.0 == view.id) {
            Some(known) if known.1 == base => return Ok(()),
            Some(_) => return Err(several_tables(view)),
            None => {}
        }
        self.written.push((view.id, base));
        let mut below = Vec::new();
        self.base_tables(derived, &mut below);
        let Some(base) = below.into_iter().find(|t| t.id == base) else {
            return Err(not_updatable(&view.name, self.operation));
        };
        let own = |t: &crate::logical::PlanTable| {
            let def = t.table.def();
            def.database == view.database && def.name == view.table
        };
        if let Some(at) = self.tables.iter().position(own) {
            self.tables[at].goes_by(&view.name, true);
        }
        self.targets.push(Target {
            database: base.database.clone(),
            table: base.table.clone(),
            alias: view.name.clone(),
            through: true,
        });
        Ok(())
    }

    /// What the columns of a view are, and of the views below it, outermost first.
    fn replaced(&self, id: TableId, derived: DerivedId, out: &mut Replaced) {
        let Some(b) = self.updatable_block(derived) else {
            return;
        };
        out.push((id, b.select.clone()));
        for t in &b.tables {
            if let TableKind::Derived { derived, .. } = t.kind {
                self.replaced(t.id, derived, out);
            }
        }
    }

    /// Puts what views' columns are in the place of the columns.
    pub(super) fn put_below(&mut self, e: &mut Expr, by: &Replaced) {
        for (id, list) in by {
            self.arena
                .deep_mut(e, &mut |e| merge::replace(e, *id, list));
        }
    }

    /// The conditions that rows written through a view have to meet: its own if it, or one that it is read through with CASCADED, has a
    /// CHECK OPTION; then those of the views below by the same rule (MySQL's manual, "The View WITH CHECK OPTION Clause").
    fn conditions(&self, derived: DerivedId, cascaded: bool, out: &mut Vec<Expr>) {
        let Some(b) = self.updatable_block(derived) else {
            return;
        };
        let check = self.arena.derived[derived]
            .view
            .as_ref()
            .and_then(|v| v.check);
        let cascaded = cascaded || check == Some(CheckOption::Cascaded);
        if cascaded || check.is_some() {
            out.extend(b.filter.iter().cloned());
            if let Some(tree) = &b.from {
                tree.conditions(&mut |e| out.push(e.clone()));
            }
        }
        for t in &b.tables {
            if let TableKind::Derived { derived, .. } = t.kind {
                self.conditions(derived, cascaded, out);
            }
        }
    }

    /// Leaves nothing of a view that nothing reads: its conditions, as far as they are asked of rows written, have their subqueries from it.
    pub(super) fn discard(&mut self, derived: DerivedId) {
        let query = std::mem::take(&mut self.arena.derived[derived].query);
        query.tables(&mut |t| {
            if let TableKind::Derived { derived, .. } = t.kind {
                self.discard(derived);
            }
        });
    }

    /// What writing a table through a view asks of rows. `alone`: the view is not read besides.
    fn through(&mut self, view: &Table, derived: DerivedId, alone: bool) -> SqlResult<Through> {
        let mut check = Vec::new();
        self.conditions(derived, false, &mut check);
        let mut by = Replaced::new();
        self.replaced(view.id, derived, &mut by);
        let mut below = Vec::new();
        self.base_tables(derived, &mut below);
        if !alone && check.iter().any(Expr::has_subquery) {
            // A subquery can't be planned both where rows are found and where they are checked: these are those of another reading.
            let again = self.view_again(view, derived)?;
            check.clear();
            self.conditions(again, false, &mut check);
            by.clear();
            self.replaced(view.id, again, &mut by);
            let mut copies = Vec::new();
            self.base_tables(again, &mut copies);
            self.discard(again);
            for (copy, own) in copies.iter().zip(&below) {
                let columns = (0..copy.columns()).map(|c| {
                    let (name, ty, nullable) = own.column(c);
                    Expr::column(own.id, c, ty.clone(), nullable, name)
                });
                by.push((copy.id, columns.collect()));
            }
        }
        for e in &mut check {
            self.put_below(e, &by);
        }
        Ok(Through {
            view: (view.database.clone(), view.table.clone()),
            check,
            tables: below.iter().map(|t| t.id).collect(),
        })
    }

    /// Puts the tables of the views that the statement writes through in their places. Returns what became of the views' columns, and
    /// for each table that is written so what is asked of its rows if `checks`.
    pub(super) fn merge_written(
        &mut self,
        b: &mut Block,
        checks: bool,
    ) -> SqlResult<(Replaced, Vec<(TableId, Through)>)> {
        let (mut by, mut throughs) = (Replaced::new(), Vec::new());
        for (id, base) in self.written.clone() {
            let Some(t) = b.table(id).cloned() else {
                continue;
            };
            let TableKind::Derived { derived, .. } = t.kind else {
                continue;
            };
            let missing = b
                .from
                .as_ref()
                .is_some_and(|tree| merge::is_missing(tree, id));
            if !self.takes_place(derived, missing) {
                return Err(not_updatable(&t.name, self.operation));
            }
            let through = match checks {
                true => self.through(&t, derived, false)?,
                false => Through {
                    view: (t.database.clone(), t.table.clone()),
                    check: Vec::new(),
                    tables: Vec::new(),
                },
            };
            throughs.push((base, through));
            self.replaced(id, derived, &mut by);
        }
        let ordered = !b.order.is_empty() || !b.limit.is_none();
        let mut at = 0;
        while at < b.tables.len() {
            let t = &b.tables[at];
            match t.kind {
                TableKind::Derived { derived, .. } if by.iter().any(|(id, _)| *id == t.id) => {
                    merge::inline(b, at, derived, &mut self.arena);
                }
                _ => at += 1,
            }
        }
        if !ordered {
            b.order.clear();
        }
        // Whatever the checks read is read with the rows.
        for (_, through) in &throughs {
            for e in self.columns_read(&through.check, b) {
                b.select.push(e);
            }
        }
        Ok((by, throughs))
    }

    /// The columns of a block's tables that expressions read, their subqueries included.
    fn columns_read(&self, list: &[Expr], b: &Block) -> Vec<Expr> {
        let mut read: Vec<(TableId, usize)> = Vec::new();
        for e in list {
            e.columns(&mut |id, c| read.push((id, c)));
            e.subqueries(&mut |id| {
                let outer = self.arena.outer(&self.arena.subqueries[id].query);
                read.extend(outer.iter().map(|c| (c.table, c.column)));
            });
        }
        read.sort_unstable();
        read.dedup();
        let column = |(id, c): (TableId, usize)| {
            let (name, ty, nullable) = b.table(id)?.column(c);
            Some(Expr::column(id, c, ty.clone(), nullable, name))
        };
        read.into_iter().filter_map(column).collect()
    }

    /// Locks the tables that are written through views, and says which of the statement's they are.
    pub(super) fn written_table(&mut self, b: &mut Block, id: TableId) -> Option<usize> {
        let t = b.tables.iter_mut().find(|t| t.id == id)?;
        let TableKind::Stored { table, lock, .. } = &mut t.kind else {
            return None;
        };
        *lock = Some((LockMode::Exclusive, WaitPolicy::Wait));
        self.tables[*table].write = true;
        Some(*table)
    }

    /// Error 1443 or 1288 if a subquery of a statement that writes through a view reads the table that it changes.
    pub(super) fn refuse_own_reads(&self, table: usize, view: &str) -> SqlResult<()> {
        let reads =
            |t: &Table| matches!(t.kind, TableKind::Stored { table: at, .. } if at == table);
        let mut any = false;
        for s in &self.arena.subqueries {
            s.query.tables(&mut |t| any |= reads(t));
        }
        match any {
            true => Err(not_updatable(view, self.operation)),
            false => Ok(()),
        }
    }

    /// The view that an INSERT names as its target: the table below, and how the view's columns are that one's. `named`: the columns that
    /// the statement names.
    pub(super) fn insert_through(
        &mut self,
        view: Table,
        named: Option<&[String]>,
    ) -> SqlResult<(Table, InsertedView, Through)> {
        let not_insertable = || {
            SqlError::new(
                1471,
                format!(
                    "The target table {} of the INSERT is not insertable-into",
                    view.name
                ),
            )
        };
        let TableKind::Derived { derived, .. } = view.kind else {
            return Err(not_insertable());
        };
        let Some(b) = self.updatable_block(derived) else {
            return Err(not_insertable());
        };
        let own: Option<Vec<(TableId, usize)>> =
            b.select.iter().map(|e| self.base_column(e, b)).collect();
        // Columns that the statement names are looked at before the view is.
        for name in named.unwrap_or_default() {
            let Some(at) = view.find(name) else {
                return Err(unknown_column(&[], name, "field list"));
            };
            if self.base_column(&b.select[at], b).is_none() {
                let m = format!("Column '{name}' is not updatable");
                return Err(SqlError::new(1348, m));
            }
        }
        let own = own.ok_or_else(not_insertable)?;
        if (1..own.len()).any(|n| own[..n].contains(&own[n])) {
            return Err(not_insertable());
        }
        let mut below = Vec::new();
        self.base_tables(derived, &mut below);
        let base = match (&below[..], named) {
            ([one], _) => one.id,
            (_, None) => {
                return Err(SqlError::new(
                    1394,
                    format!(
                        "Can not insert into join view '{}.{}' without fields list",
                        view.database, view.table
                    ),
                ));
            }
            (_, Some(names)) => {
                let mut base = None;
                for name in names {
                    let Some(at) = view.find(name) else {
                        return Err(unknown_column(&[], name, "field list"));
                    };
                    match base {
                        Some(known) if known != own[at].0 => return Err(several_tables(&view)),
                        _ => base = Some(own[at].0),
                    }
                }
                base.ok_or_else(not_insertable)?
            }
        };
        let column = |(n, c): (usize, &(TableId, usize))| {
            let name = view.column(n).0.to_string();
            (name, (c.0 == base).then_some(c.1))
        };
        let columns = own.iter().enumerate().map(column).collect();
        let inserted = InsertedView {
            id: view.id,
            columns,
        };
        let through = self.through(&view, derived, true)?;
        let mut table = below
            .into_iter()
            .find(|t| t.id == base)
            .ok_or_else(|| SqlError::new(1105, "a view without the table below it"))?;
        if let Some(lock) = table.lock_mut() {
            *lock = Some((LockMode::Exclusive, WaitPolicy::Wait));
        }
        self.targets.push(Target {
            database: table.database.clone(),
            table: table.table.clone(),
            alias: view.name.clone(),
            through: true,
        });
        Ok((table, inserted, through))
    }

    /// Error 1393 for an INSERT through a view whose values read another table of it than the one that the rows go to: it has no row.
    pub(super) fn check_one_table(
        &self,
        view: &Table,
        base: TableId,
        insert: &Insert,
    ) -> SqlResult<()> {
        let TableKind::Derived { derived, .. } = view.kind else {
            return Ok(());
        };
        let mut below = Vec::new();
        self.base_tables(derived, &mut below);
        let mut others = false;
        let mut look = |g: &Given<Expr>| {
            if let Given::Value { value, .. } = g {
                value
                    .columns(&mut |id, _| others |= id != base && below.iter().any(|t| t.id == id));
            }
        };
        if let InsertRows::Values(rows) = &insert.rows {
            rows.iter().flatten().for_each(&mut look);
        }
        insert.update.iter().flatten().for_each(|(_, g)| look(g));
        match others {
            true => Err(several_tables(view)),
            false => Ok(()),
        }
    }

    /// What a view's columns are, for the expressions of an INSERT that writes through it.
    pub(super) fn inserted_by(&self, view: &Table) -> Replaced {
        let mut by = Replaced::new();
        if let TableKind::Derived { derived, .. } = view.kind {
            self.replaced(view.id, derived, &mut by);
        }
        by
    }
}

/// Error 1393.
fn several_tables(view: &Table) -> SqlError {
    SqlError::new(
        1393,
        format!(
            "Can not modify more than one base table through a join view '{}.{}'",
            view.database, view.table
        ),
    )
}

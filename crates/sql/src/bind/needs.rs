//! What the statement needs of whoever runs it ([`crate::env::privileges`]).
//!
//! Each table that is named has a need from the moment its name is looked up, and that moment it is asked for: names of what one may not use are
//! denied, be they there or not. Columns join it as they are bound. A plan is for all accounts, so what it needs is complete whoever it
//! was made for.

use std::ops::Range;
use std::sync::Arc;

use super::scope::Binder;
use crate::env::privileges::{self, By, Need, Object, Privileges};
use crate::error::SqlResult;
use crate::expr::{Expr, ExprKind};
use crate::logical::{Table, TableId};
use crate::parse::ast::Security;

/// What a statement needs.
#[derive(Debug, Default)]
pub struct Needs {
    /// By the references that the needs are about; `None` for routines.
    list: Vec<(Option<TableId>, Need)>,
    /// What a table of FROM needs at least, if not SELECT: those of UPDATE and DELETE of several tables may be those that are changed.
    pub(super) some: Option<Privileges>,
    /// Columns are named to be assigned to, not to be read.
    pub(super) assigning: bool,
    /// Within the view that rows are inserted into: what is done to its tables is known when it has been bound.
    pub(super) inserting: bool,
}

impl Needs {
    /// All of them.
    pub fn into_list(self) -> Box<[Need]> {
        self.list.into_iter().map(|(_, need)| need).collect()
    }
    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.list.len()
    }
    /// What columns of a table are used for, by their names.
    pub(super) fn of_columns(&self, id: TableId) -> Vec<(String, Privileges)> {
        let needs = self.list.iter().filter(|(t, _)| *t == Some(id));
        needs.flat_map(|(_, need)| need.columns.clone()).collect()
    }
    /// Settles the needs, these of all, of a view that rows are inserted into: INSERT of the tables on the way to the one that they go to, SELECT
    /// of others.
    pub(super) fn settle_inserting(&mut self, own: Range<usize>, way: &[TableId]) {
        for (id, need) in &mut self.list[own] {
            if need.object != Object::Table || need.some == 0 {
                continue;
            }
            need.some = privileges::SELECT;
            if id.is_some_and(|id| way.contains(&id)) {
                need.some = privileges::INSERT;
                need.columns.clear();
            }
        }
    }
}

impl Binder<'_, '_> {
    /// By whose right names mean something here.
    fn by(&self) -> Option<Arc<By>> {
        let outermost = self.views.first()?;
        let definer = |v: &&super::view::Viewed| v.view.security == Security::Definer;
        let definer = self.views.iter().rev().find(definer);
        Some(Arc::new(By {
            view: outermost.name.clone(),
            definer: definer.map(|v| v.view.definer.clone()),
        }))
    }

    /// What a table of FROM needs at least.
    fn reads_by(&self) -> Privileges {
        match self.needs.some {
            Some(some) if self.views.is_empty() && self.derives == 0 => some,
            _ if self.needs.inserting => privileges::SELECT | privileges::INSERT,
            _ => privileges::SELECT,
        }
    }

    /// Asks for what a table needs at least, before anything is said about it.
    pub(super) fn ask_table(&self, database: &str, table: &str) -> SqlResult<()> {
        self.ask(database, table, self.reads_by())
    }

    /// Asks for one of some privileges on a table.
    pub(super) fn ask(&self, database: &str, table: &str, some: Privileges) -> SqlResult<()> {
        if self.is_own_temporary(database, table) {
            return Ok(());
        }
        let Some(services) = &self.cx.env.services else {
            return Ok(());
        };
        services.check(&Need {
            by: self.by(),
            ..Need::some(database, table, some)
        })
    }

    /// Whoever makes a temporary table may do all with it.
    fn is_own_temporary(&self, database: &str, table: &str) -> bool {
        self.views.is_empty() && self.cx.env.temporary.get(database, table).is_some()
    }

    /// Notes a table of FROM.
    pub(super) fn need_table(&mut self, id: TableId, database: &str, table: &str) {
        if self.is_own_temporary(database, table) {
            return;
        }
        let need = Need {
            by: self.by(),
            ..Need::some(database, table, self.reads_by())
        };
        self.needs.list.push((Some(id), need));
    }

    /// Notes the table that the statement changes rows of. `whole`: what that takes of all of it.
    pub(super) fn need_target(
        &mut self,
        id: TableId,
        (database, table): (&str, &str),
        whole: Privileges,
        some: Privileges,
    ) {
        if self.is_own_temporary(database, table) {
            return;
        }
        let need = Need {
            by: self.by(),
            some,
            ..Need::whole(database, table, whole)
        };
        self.needs.list.push((Some(id), need));
    }

    /// Notes that something is done to all of a table that is known.
    pub(super) fn need_whole(&mut self, id: TableId, whole: Privileges) {
        if let Some((_, need)) = self.needs.list.iter_mut().find(|(t, _)| *t == Some(id)) {
            need.whole |= whole;
            need.some = 0;
        }
    }

    /// Notes what a column of a table is used for.
    pub(super) fn need_column(&mut self, id: TableId, name: &str, privileges: Privileges) {
        if let Some((_, need)) = self.needs.list.iter_mut().find(|(t, _)| *t == Some(id)) {
            need.column(name, privileges);
        }
    }

    /// Notes that a column was found by its name.
    pub(super) fn need_found(&mut self, found: &Expr) {
        let ExprKind::Column { source, column, .. } = found.kind else {
            return;
        };
        let privileges = match self.needs.assigning {
            true => privileges::UPDATE,
            false => privileges::SELECT,
        };
        let mut tables = self.frames.iter().flat_map(|f| &f.tables);
        let Some(table) = tables.find(|t| t.id == source) else {
            return;
        };
        let name = table.column(column).0;
        if let Some((_, need)) = self.needs.list.iter_mut().find(|(t, _)| *t == Some(source)) {
            need.column(name, privileges);
        }
    }

    /// Notes that a `*` stands for a table's columns.
    pub(super) fn need_star(&mut self, id: TableId, column: &str) {
        if let Some((_, need)) = self.needs.list.iter_mut().find(|(t, _)| *t == Some(id)) {
            need.star = true;
            need.column(column, privileges::SELECT);
        }
    }

    /// Error 1143 where a name is no column of a table in sight, if it might be one that may not be read: who may not is told the same of columns that
    /// there are.
    pub(super) fn hide_unknown(&self, qualifier: &[&str], name: &str) -> SqlResult<()> {
        let meant = |t: &&Table| qualifier.last().is_none_or(|q| t.name == **q);
        let Some(services) = &self.cx.env.services else {
            return Ok(());
        };
        for t in self
            .frames
            .iter()
            .rev()
            .flat_map(|f| &f.tables)
            .filter(meant)
        {
            let noted = self.needs.list.iter().find(|(id, _)| *id == Some(t.id));
            if let Some((_, need)) = noted {
                services.check(&Need {
                    columns: vec![(name.to_string(), privileges::SELECT)],
                    ..need.clone()
                })?;
            }
        }
        Ok(())
    }

    /// Notes that the tables of an UPDATE that are not among its targets are read.
    pub(super) fn need_others(&mut self, targets: &[TableId]) {
        let tables = self
            .frames
            .last()
            .map(|f| &f.tables[..])
            .unwrap_or_default();
        let others = tables.iter().filter(|t| !targets.contains(&t.id));
        let others: Vec<TableId> = others.map(|t| t.id).collect();
        for (id, need) in &mut self.needs.list {
            if id.is_some_and(|id| others.contains(&id)) {
                need.some = privileges::SELECT;
            }
        }
    }

    /// Asks for EXECUTE, and notes it.
    pub(super) fn need_function(&mut self, database: &str, name: &str) -> SqlResult<()> {
        let need = Need {
            by: self.by(),
            ..Need::execute(Object::Function, database, name)
        };
        if let Some(services) = &self.cx.env.services {
            services.check(&need)?;
        }
        self.needs.list.push((None, need));
        Ok(())
    }

    /// Notes that the statement reads or writes files of the server.
    pub(super) fn need_files(&mut self) {
        let need = Need {
            object: Object::Server,
            ..Need::whole("", "", privileges::FILE)
        };
        self.needs.list.push((None, need));
    }

    /// Asks for all that has been noted.
    pub(super) fn ask_all(&self) -> SqlResult<()> {
        match &self.cx.env.services {
            Some(services) => self
                .needs
                .list
                .iter()
                .try_for_each(|(_, n)| services.check(n)),
            None => Ok(()),
        }
    }
}

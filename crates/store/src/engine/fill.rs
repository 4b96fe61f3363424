//! Empty tables that a statement fills in bulk: its rows are there with its commit, and have no undo, lock or log record each.
//!
//! Steps: (1) the table's metadata lock is made exclusive, if that takes next to no wait, and no index has a root or an entry: nothing was ever written to
//! this incarnation, or nothing is left of it for anybody; (2) each index gets a new space, which has a grave before its first page as an index has that is built from rows (`index`), or a new file
//! for all of them, with a grave of its own; (3) a [`Load`] fills these, with rows of the statement's transaction, which is unfinished;
//! (4) that transaction puts the spaces into the table's row and removes the graves; (5) it commits. The table keeps its id, so counters, statistics and
//! whatever else is known of it go on; its former spaces never had a page.
//!
//! **Views.** A loaded row and its entries are as inserted by the transaction, with no version before: views that do not see it pass them
//! by, those made before the load and during it. Whoever uses the table before (5) would see no row, but nobody can.
//! **Failure.** Up to (5) an error, a KILL or a crash leaves the empty table, and the reclaimer gives back what the graves name. An error in
//! (4) undoes what of that is done before anything is let go.
//! **Locks.** The exclusive lock lasts to the end of the transaction. While it is held no other metadata lock is asked for, but row locks may be waited for
//! (`INSERT ... SELECT` locks what it reads), by the same owner: so whoever waits for the table and has what the statement waits for is found
//! as any deadlock. DDL's lock above all names is not needed: who holds it as readers do has locked the table, or waits for it.

use super::ddl::{Aftermath, grave_of};
use super::{Engine, Inner};
use crate::catalog::TableDef;
use crate::catalog::row::{self, Grave, Late, TableRow};
use crate::error::{Error, Result};
use crate::log::op::Op;
use crate::page::{Lsn, PageType};
use crate::table::Table;
use crate::table::load::{Load, RowOrder};
use crate::txn::{Isolation, MdlMode, Txn};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How long the exclusive lock is waited for: some look at a table for a moment (lists, statistics, short queries). Nobody is made a victim for it.
const BRIEFLY: Duration = Duration::from_millis(20);

/// An empty table that is being filled. Dropped before [`TableFill::commit`] it stays empty; the [`Load`] is to be gone by then.
pub struct TableFill<'e> {
    inner: &'e Inner,
    /// The table as it will be; nobody else knows of it.
    made: Arc<Table>,
    /// What has its pages, until it is in force.
    graves: Vec<Grave>,
    /// Where the log ended when the graves were there.
    dug: Lsn,
    /// The transaction's fate is not the fill's business any more.
    concluded: bool,
    aftermath: Aftermath,
}

impl Engine {
    /// Begins to fill a table that the transaction has pinned for writing, if it can be done in bulk: the transaction has written nothing, nothing was ever
    /// written to the table, and nobody else uses it for longer than a moment. Then nobody else does until the transaction has ended.
    ///
    /// When all rows are added: [`Load::finish`], [`TableFill::publish`], [`TableFill::commit`].
    pub fn fill(
        &self,
        txn: &mut Txn,
        table: &Arc<Table>,
        order: RowOrder,
    ) -> Result<Option<(Load, TableFill<'_>)>> {
        let inner = &*self.0;
        let unfit = table.is_temporary() || table.def.partitioned || inner.ctx.forced;
        let lock = match &table.mdl {
            Some(lock) if !unfit && txn.id() == 0 && table.is_unwritten()? => lock,
            _ => return Ok(None),
        };
        let mdl = inner.sys.mdl();
        let (owner, write) = (txn.owner().clone(), MdlMode::Write);
        if !mdl.holds(&owner, lock, write) {
            return Ok(None);
        }
        match mdl.upgrade(&owner, lock, (BRIEFLY, BRIEFLY), || Ok(())) {
            Err(Error::LockWaitTimeout | Error::Deadlock) => return Ok(None),
            locked => locked?,
        }
        let Some(row) = inner.unwritten(table)? else {
            mdl.downgrade(&owner, lock, write);
            return Ok(None);
        };
        let fill = inner.prepare(table, row)?;
        let trx = inner.sys.reserve(txn, 0)?.trx_id();
        let load = Load::start(&fill.made, order, inner.means(&owner, trx))?;
        Ok(Some((load, fill)))
    }
}

impl Inner {
    /// The row of a table that is locked exclusively, if none of its indexes has a root or an entry.
    fn unwritten(&self, table: &Table) -> Result<Option<TableRow>> {
        if !table.is_unwritten()? {
            return Ok(None);
        }
        let (database, name) = (&table.def.database, &table.def.name);
        let row = self
            .catalog
            .read(|txn| self.catalog.table(txn, database, name))?;
        Ok(row.filter(|row| {
            let same = row.def.id == table.def.id && row.version == table.version;
            same && row.def.indexes.iter().all(|i| i.root == 0)
        }))
    }

    /// Makes what a table is to be filled in: new spaces, with graves and then roots.
    fn prepare(&self, table: &Arc<Table>, mut row: TableRow) -> Result<TableFill<'_>> {
        for index in &mut row.def.indexes {
            index.space = self.pager.new_space_id()?;
        }
        let own_file = row.def.file.is_own();
        if own_file {
            row.def.file = self.pager.new_file_id()?;
        }
        let graves = graves_of(&row.def);
        let mut aftermath = Aftermath::new(&self.reclaimer);
        let builder = self.sys.owner();
        let mut digging = self.sys.begin(&builder, Isolation::ReadCommitted);
        for grave in &graves {
            aftermath.hold(grave.space);
            let bytes = row::encode_grave(grave);
            self.catalog.graveyard.insert(&mut digging, &bytes)?;
        }
        // Durable before the spaces' first pages, for those come later in the log.
        let dug = self.sys.commit_no_wait(digging)?;
        for _ in &graves {
            aftermath.building();
        }
        let fill = TableFill {
            inner: self,
            made: self.catalog.prospective(row, table),
            graves,
            dug,
            concluded: false,
            aftermath,
        };
        fill.make_roots(own_file)?;
        Ok(fill)
    }
}

impl TableFill<'_> {
    /// Gives each index its root, together with the note of it in its grave. A file's grave says nothing of roots; indexes that may be small get theirs
    /// when they need it.
    fn make_roots(&self, own_file: bool) -> Result<()> {
        let empty = Op::Init {
            kind: PageType::Leaf,
            level: 0,
        };
        for index in &self.made.indexes {
            let (tree, space) = (&index.tree, index.tree.space());
            if tree.is_sharing() {
                continue;
            }
            let root = match own_file {
                true => {
                    let mut mtr = self.inner.pager.mtr_in(space, 1)?;
                    let root = tree.alloc_root(&mut mtr)?;
                    mtr.commit();
                    root
                }
                false => self.inner.write_root(space, index.space, empty)?,
            };
            tree.set_root(root);
        }
        Ok(())
    }

    /// Puts what was loaded into the table's row, as a change of the transaction. If that fails, nothing of it is left.
    pub fn publish(&self, txn: &mut Txn) -> Result<()> {
        let before = txn.savepoint();
        let done = self.replace_row(txn);
        if done.is_err() {
            let inner = self.inner;
            inner.sys.rollback_to(txn, before, &*inner.handler)?;
        }
        done
    }

    fn replace_row(&self, txn: &mut Txn) -> Result<()> {
        let (inner, made) = (self.inner, &self.made);
        for (grave, index) in self.graves.iter().zip(&made.indexes) {
            let key = grave.space.0.to_be_bytes();
            let mut grave = grave.clone();
            if !grave.whole_file {
                grave.root = index.tree.root();
            }
            let bytes = row::encode_grave(&grave);
            inner.catalog.graveyard.delete(txn, &key, &bytes)?;
        }
        // Only now, for the AUTO_INCREMENT counter in the row has changed meanwhile.
        let found = inner.find(txn, &made.def.database, &made.def.name)?;
        let mut new = found.row.clone();
        new.version += 1;
        new.def.file = made.def.file;
        for (index, made) in new.def.indexes.iter_mut().zip(&made.indexes) {
            (index.space, index.root) = (made.space, made.tree.root());
        }
        inner.replace_row(txn, &found, &new)
    }

    /// Commits the transaction, durably whatever is asked for commits, as all transactions on the catalog. `rows`: that were loaded.
    pub fn commit(mut self, txn: Txn, rows: u64) -> Result<()> {
        self.concluded = true;
        self.made.core.row_ids_used(rows);
        self.aftermath.conclude(&self.inner.catalog, txn)?;
        self.made.count_inserted(rows);
        self.inner.fills.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

impl Drop for TableFill<'_> {
    /// What was made is nobody's: its pages are neither served nor written any more.
    fn drop(&mut self) {
        let pager = &self.inner.pager;
        // A stopped log has nothing written anyway.
        if self.concluded || pager.log().sync_to(self.dug).is_err() {
            return;
        }
        for index in &self.made.indexes {
            pager.drop_space(index.tree.space());
        }
    }
}

/// What has the pages of a table that is being made.
pub(super) fn graves_of(def: &TableDef) -> Vec<Grave> {
    match def.file.is_own() {
        false => def.indexes.iter().map(|i| grave_of(i, def)).collect(),
        true => vec![Grave {
            space: def.indexes[0].space,
            more: 0,
            file: def.file,
            root: 0,
            whole_file: true,
            late: Late::now(def, ""),
        }],
    }
}

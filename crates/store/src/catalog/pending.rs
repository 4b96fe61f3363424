//! Definitions that an unfinished transaction has changed: its own until it ends.
//!
//! The rows of the catalog are its own as any rows are; this is about what is in memory. The cache of open tables has committed definitions
//! alone. A table that the transaction has made or changed it opens here, under its exclusive metadata lock, and so do its undo records: they
//! find each table as it was when they were written, for the catalog's rows are undone in the same order.
//!
//! **Invariants.** (1) An object of here is never in the cache by name, and never valid once its transaction has ended or another statement of DDL of
//! it, or the undoing of one, has changed the row. (2) It shares core, indexes and trees with the cached object of the same table, so counters and
//! roots have one truth. (3) Every index of it has a root: no change of its rows writes into a row of the catalog that may be undone (but for the
//! mark of AUTO_INCREMENT, which is written anew after that: [`Catalog::forget_marks`]).
//! (4) Purge works with what is committed.
//!
//! **On whose behalf.** Reads of the catalog that have no transaction see what is committed, and beside that what the transaction has changed on
//! whose behalf the thread is at work ([`Behalf`]): an id in the view, as that of any transaction's own changes.
//!
//! Locks: `all` is a leaf; a transaction's `state` is held across nothing but the makings of objects in memory.

use super::row::TableRow;
use super::{Catalog, full_name, own};
use crate::error::Result;
use crate::space::{Space, SpaceId};
use crate::table::Table;
use crate::txn::{Isolation, TrxId, Txn};
use parking_lot::Mutex;
use std::any::Any;
use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

thread_local! {
    /// The transaction on whose behalf the thread reads the catalog; 0: nobody's.
    static BEHALF: Cell<TrxId> = const { Cell::new(0) };
}

/// Reads of the catalog on this thread are on a transaction's behalf until this is dropped.
pub struct Behalf {
    before: TrxId,
    /// It is the thread's.
    _here: std::marker::PhantomData<*const ()>,
}

impl Behalf {
    pub(crate) fn of(trx: TrxId) -> Behalf {
        Behalf {
            before: BEHALF.replace(trx),
            _here: std::marker::PhantomData,
        }
    }
}

impl Drop for Behalf {
    fn drop(&mut self) {
        BEHALF.set(self.before);
    }
}

/// All of them.
#[derive(Default)]
pub(super) struct Pendings {
    count: AtomicUsize,
    all: Mutex<HashMap<TrxId, Arc<Pending>>>,
}

/// What a transaction has changed, in memory.
pub(crate) struct Pending {
    trx: TrxId,
    /// A crash left it: what it has changed is not known.
    recovered: bool,
    state: Mutex<State>,
    /// What is to be done at its end, by the number of undo records before; opaque here.
    after: Mutex<Vec<(u64, Box<dyn Any + Send>)>>,
}

#[derive(Default)]
struct State {
    /// Names (as in the cache) whose rows have changed.
    names: HashSet<String>,
    /// Ids of tables whose rows have changed.
    ids: HashSet<u64>,
    /// The object opened last of each, valid or not.
    open: HashMap<u64, Arc<Table>>,
    /// Spaces of all that were opened.
    spaces: HashMap<SpaceId, Arc<Space>>,
}

impl Pending {
    fn touches(&self, full: &str) -> bool {
        self.recovered || self.state.lock().names.contains(full)
    }

    fn changes(&self, id: u64) -> bool {
        self.recovered || self.state.lock().ids.contains(&id)
    }

    fn valid(&self, id: u64) -> Option<Arc<Table>> {
        let state = self.state.lock();
        let open = state.open.get(&id);
        open.filter(|t| t.valid.load(Ordering::Acquire)).cloned()
    }

    /// Notes that a table's row has changed, or is about to.
    fn touch(&self, id: u64, full: String) {
        let mut state = self.state.lock();
        state.names.insert(full);
        state.ids.insert(id);
        if let Some(open) = state.open.get(&id) {
            open.valid.store(false, Ordering::Release);
        }
    }

    /// What was opened is opened anew.
    fn outdate(&self) {
        for open in self.state.lock().open.values() {
            open.valid.store(false, Ordering::Release);
        }
    }

    /// Adds what is to be done at the end; `at`: undo records before.
    pub fn add_after(&self, at: u64, after: Box<dyn Any + Send>) {
        self.after.lock().push((at, after));
    }

    /// Takes out what was added since there were `at` undo records.
    pub fn take_after(&self, at: u64) -> Vec<Box<dyn Any + Send>> {
        let mut after = self.after.lock();
        let first = after.iter().position(|(n, _)| *n >= at);
        let first = first.unwrap_or(after.len());
        after.drain(first..).map(|(_, a)| a).collect()
    }
}

impl Catalog {
    /// Notes that a transaction changes definitions. `recovered`: a crash left it, and it is to be undone.
    pub fn begin_pending(&self, trx: TrxId, recovered: bool) {
        let pending = Pending {
            trx,
            recovered,
            state: Mutex::default(),
            after: Mutex::default(),
        };
        let mut all = self.pendings.all.lock();
        all.insert(trx, Arc::new(pending));
        self.pendings.count.store(all.len(), Ordering::Release);
    }

    /// What a transaction has changed, if it changes definitions.
    #[inline]
    pub fn pending(&self, trx: TrxId) -> Option<Arc<Pending>> {
        if trx == 0 || !self.is_any_pending() {
            return None;
        }
        self.pendings.all.lock().get(&trx).cloned()
    }

    #[inline]
    pub(super) fn is_any_pending(&self) -> bool {
        self.pendings.count.load(Ordering::Acquire) != 0
    }

    /// Forgets a transaction that has ended.
    pub fn end_pending(&self, trx: TrxId) {
        if !self.is_any_pending() {
            return;
        }
        let ended = {
            let mut all = self.pendings.all.lock();
            let ended = all.remove(&trx);
            self.pendings.count.store(all.len(), Ordering::Release);
            ended
        };
        if let Some(ended) = ended {
            ended.outdate();
            ended.take_after(0);
        }
    }

    /// Before a transaction changes a table's row: nobody gets the object by name any more, and who has it finds it invalid. `trx`: the
    /// transaction, if the change stays its own until it ends. The caller holds the exclusive metadata lock.
    pub fn invalidate_for(&self, txn: &Txn, id: u64, database: &str, name: &str) {
        self.invalidate(id, database, name);
        self.touch(txn, id, database, name);
    }

    /// Notes that a transaction gives a table a row under this name.
    pub fn touch(&self, txn: &Txn, id: u64, database: &str, name: &str) {
        if txn.defines()
            && let Some(pending) = self.pending(txn.id())
        {
            pending.touch(id, full_name(database, name));
        }
    }

    /// A row of the table of tables is undone.
    pub fn undoing(&self, trx: TrxId) {
        if let Some(pending) = self.pending(trx) {
            pending.outdate();
        }
    }

    /// The object of a table by name for a transaction that has its metadata lock; `None`: it is as everybody has it.
    pub fn open_private(
        &self,
        trx: TrxId,
        (database, name): (&str, &str),
        of: Option<&Table>,
    ) -> Option<Result<Arc<Table>>> {
        let pending = self.pending(trx)?;
        let full = full_name(database, name);
        if !pending.touches(&full) {
            return None;
        }
        let found = self.read_as(trx, |txn| self.table(txn, database, name));
        Some(match found {
            Ok(Some(row)) => self.make_private(&pending, row, of),
            Ok(None) => Err(self.missing(database, name)),
            Err(e) => Err(e),
        })
    }

    /// [`Catalog::open_private`] for the transaction on whose behalf the thread is at work: it has the lock, whoever asks within its statement.
    #[inline]
    pub fn open_on_behalf(&self, database: &str, name: &str) -> Option<Result<Arc<Table>>> {
        if !self.is_any_pending() {
            return None;
        }
        self.open_private(BEHALF.get(), (database, name), None)
    }

    /// The table that an undo record of a transaction is about, as it was when that was written.
    pub fn for_undo(&self, trx: TrxId, id: u64) -> Result<Option<Arc<Table>>> {
        let pending = match self.pending(trx) {
            Some(pending) if id >= SpaceId::FIRST_USER && pending.changes(id) => pending,
            _ => return self.by_id(id),
        };
        if let Some(open) = pending.valid(id) {
            return Ok(Some(open));
        }
        match self.read_as(trx, |txn| self.table_by_id(txn, id))? {
            Some(row) => self.make_private(&pending, row, None).map(Some),
            None => Ok(None),
        }
    }

    /// The object for a row that a transaction sees.
    fn make_private(
        &self,
        pending: &Pending,
        row: TableRow,
        of: Option<&Table>,
    ) -> Result<Arc<Table>> {
        let id = row.def.id;
        if let Some(open) = pending.valid(id)
            && open.version == row.version
        {
            return Ok(open);
        }
        // What everybody has of it, or will have: opened if it was not, so that there is one core.
        let known = self.by_id(id)?;
        let codec = self.codec_of(&row, of)?;
        let mut state = pending.state.lock();
        let old = known.as_ref().or_else(|| state.open.get(&id));
        let made = old.is_none();
        let mut table = own::open_user(&self.ctx, row, codec, old);
        table.private = pending.trx;
        if made {
            // The row is the transaction's own: the mark is written when it commits.
            table.core.hold_marks();
        }
        for index in &table.indexes {
            let space = index.tree.space();
            state.spaces.insert(space.id, space.clone());
        }
        let table = Arc::new(table);
        if let Some(old) = state.open.insert(id, table.clone()) {
            old.valid.store(false, Ordering::Release);
        }
        Ok(table)
    }

    /// Before a transaction commits that has changed definitions: who has objects of its own finds them invalid, and those of tables that it has
    /// made are known by id, with their counters. Returns the ids of those.
    pub fn publish(&self, pending: &Pending) -> Result<Vec<u64>> {
        let mut made = Vec::new();
        pending.outdate();
        let open: Vec<Arc<Table>> = pending.state.lock().open.values().cloned().collect();
        for table in open {
            let id = table.def.id;
            if self.cache.by_id(id).is_some() {
                continue;
            }
            let Some(row) = self.read_as(pending.trx, |txn| self.table_by_id(txn, id))? else {
                continue;
            };
            let name = (&*row.def.database, &*row.def.name);
            table.core.forget_mark();
            if (&*table.def.database, &*table.def.name) == name {
                table.save_auto_increment()?;
            }
            let _loading = self.cache.loading(id);
            self.cache.insert_id(&table);
            made.push(id);
        }
        Ok(made)
    }

    /// Spaces in which a transaction that is undone has worked and that are no table's any more.
    pub fn orphaned(&self, trx: TrxId) -> Result<Vec<Arc<Space>>> {
        let Some(pending) = self.pending(trx) else {
            return Ok(Vec::new());
        };
        let (ids, mut spaces) = {
            let state = pending.state.lock();
            let ids: Vec<u64> = state.open.keys().copied().collect();
            (ids, state.spaces.clone())
        };
        for id in ids {
            if let Some(table) = self.by_id(id)? {
                table
                    .indexes
                    .iter()
                    .for_each(|i| drop(spaces.remove(&i.space)));
            }
        }
        Ok(spaces.into_values().collect())
    }

    /// After the undoing of what a transaction has done to definitions: marks of AUTO_INCREMENT may be those of before, so they are written
    /// again before the next number is given.
    pub fn forget_marks(&self, pending: &Pending) {
        let state = pending.state.lock();
        for table in state.open.values() {
            if self.cache.by_id(table.def.id).is_some() {
                table.core.forget_mark();
            }
        }
    }

    /// Runs a read that sees what is committed now, and what the transaction of this id has done.
    pub fn read_as<R>(&self, trx: TrxId, f: impl FnOnce(&mut Txn) -> Result<R>) -> Result<R> {
        let sys = &self.ctx.sys;
        let reader = self.readers.lock().pop().unwrap_or_else(|| sys.owner());
        let mut txn = sys.begin(&reader, Isolation::ReadCommitted);
        if trx != 0 {
            sys.see(&mut txn, trx);
        }
        let result = f(&mut txn);
        // It wrote nothing, so this only closes the view.
        sys.commit(txn)?;
        self.readers.lock().push(reader);
        result
    }

    /// The same on behalf of whom the thread is at work for.
    pub fn read<R>(&self, f: impl FnOnce(&mut Txn) -> Result<R>) -> Result<R> {
        self.read_as(BEHALF.get(), f)
    }

    /// Runs a read that sees what is committed now, on nobody's behalf.
    pub fn read_committed<R>(&self, f: impl FnOnce(&mut Txn) -> Result<R>) -> Result<R> {
        self.read_as(0, f)
    }
}

//! DDL within an open transaction: the transaction is lent to the engine for a statement, and what that does is the transaction's to keep or to undo.
//!
//! **Steps of a statement.** (1) [`Engine::lend`]: the transaction gets an id, the lock above all names, and gives its read view back. (2) What the
//! statement calls of the engine runs in it, each call wholly or not at all ([`Inner::join`]): metadata locks to the transaction's end, rows of the
//! catalog, objects of its own ([`crate::catalog::Pending`]); what is left to do at the commit is kept. (3) [`Lent::take_back`].
//! **Commit** ([`Inner::commit_defining`]) ends as any DDL does: durable, then the dead spaces are flagged. **Rollback**, to a savepoint too, undoes
//! rows and definitions by the same records, newest first; graves that came back are dug up then.
//!
//! **Roots before rows.** A root's number is written into the catalog's row in place, which an undo record of that row would take back. So no row
//! of such a transaction has an index without a root: a new table's indexes get theirs before its row is there, with graves that the
//! transaction removes ([`Inner::found_trees`]), and those of a table that it changes before it does so ([`Inner::root_trees`]).
//! **Who reads beside.** A transaction that the owner begins meanwhile is a guest: it sees what the lent one has done, writes nothing and
//! ends without releasing anything. What has to be committed by itself (tables in the making, the catalog's own tables) is a *deputy's*
//! ([`Engine::deputy`]): an owner of its own that does not ask for the lock above all names, which the statement has.
//! **A crash** leaves the transaction to recovery, which undoes it before anybody is served (`open`).

use super::ddl::{Aftermath, EVERYTHING};
use super::fill::graves_of;
use super::{Engine, Inner, TableName};
use crate::catalog::row::{self, TableRow};
use crate::catalog::{Behalf, TableDef, tree_of};
use crate::error::{Error, Result};
use crate::log::op::Op;
use crate::page::{Lsn, PageType};
use crate::txn::{Isolation, MdlMode, Owner, Savepoint, Txn};
use std::any::Any;
use std::sync::Arc;

/// A transaction that is with the engine, for one statement. Dropped, the transaction is rolled back.
#[must_use]
pub struct Lent<'e> {
    inner: &'e Inner,
    owner: Arc<Owner>,
    isolation: Isolation,
    _behalf: Behalf,
}

impl Lent<'_> {
    /// The transaction, which goes on. It reads anew what is committed by now.
    pub fn take_back(self) -> Option<Txn> {
        let mut txn = self.inner.lent.lock().remove(&self.owner.no())?;
        self.inner.sys.read_as_before(&mut txn, self.isolation);
        Some(txn)
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        self.owner.set_lent(0);
        // If it was not taken back its user went away, and it is undone.
        let left = self.inner.lent.lock().remove(&self.owner.no());
        drop(left);
    }
}

/// A lent transaction in use; it goes back however that ends.
struct InUse<'i> {
    inner: &'i Inner,
    txn: Option<Txn>,
}

impl Drop for InUse<'_> {
    fn drop(&mut self) {
        if let Some(txn) = self.txn.take() {
            self.inner.lent.lock().insert(txn.owner().no(), txn);
        }
    }
}

/// What is to be done at a transaction's end.
type After = Box<dyn Any + Send>;

/// Tables in the making, and what else is to be done.
fn partition(all: Vec<After>) -> (Vec<After>, Vec<After>) {
    all.into_iter().partition(|a| a.is::<Making>())
}

/// A table in the making that took another's place: when the transaction ends otherwise, nobody wants it.
struct Making(TableName);

impl Engine {
    /// Takes an owner's open transaction in, so that the DDL that the owner has done from now on is part of it. If that fails the transaction stays
    /// where it is.
    pub fn lend(&self, owner: &Arc<Owner>, open: &mut Option<Txn>) -> Result<Lent<'_>> {
        let inner = &*self.0;
        let Some(txn) = open else {
            return Err(Error::Invalid("no transaction to lend".into()));
        };
        let trx = inner.sys.reserve(txn, 0)?.trx_id();
        inner.lock_database(txn, EVERYTHING, MdlMode::Write)?;
        if !txn.defines() {
            txn.set_defines();
            inner.catalog.begin_pending(trx, false);
        }
        let isolation = inner.sys.read_anew(txn);
        if let Some(txn) = open.take() {
            inner.lent.lock().insert(owner.no(), txn);
        }
        owner.set_lent(trx);
        Ok(Lent {
            inner,
            owner: owner.clone(),
            isolation,
            _behalf: Behalf::of(trx),
        })
    }

    /// Whether DDL of this owner is part of a transaction that goes on.
    pub fn is_lent(&self, owner: &Owner) -> bool {
        owner.lent() != 0
    }

    /// Whether the catalog, read on this thread until the result is dropped, is as the transaction has made it.
    #[inline]
    pub fn on_behalf(&self, txn: Option<&Txn>) -> Option<Behalf> {
        txn.filter(|t| t.defines()).map(|t| Behalf::of(t.id()))
    }

    /// The owner for what a statement has committed by itself: the owner, or one beside it if its DDL is part of a transaction.
    pub fn deputy(&self, owner: &Arc<Owner>) -> Arc<Owner> {
        if owner.lent() == 0 {
            return owner.clone();
        }
        let deputy = self.owner();
        deputy.set_deputy();
        deputy
    }

    /// Has a table in the making dropped when the lent transaction of an owner, which has given it another name, has ended otherwise.
    pub fn drop_if_undone(&self, owner: &Owner, name: &TableName) {
        if let Some(pending) = self.0.catalog.pending(owner.lent()) {
            // It is there as long as the transaction's locks are on it, whatever is undone.
            pending.add_after(0, Box::new(Making(name.clone())));
        }
    }
}

impl Inner {
    /// The owner's transaction, if it is lent.
    fn use_lent(&self, owner: &Owner) -> Option<InUse<'_>> {
        if owner.lent() == 0 {
            return None;
        }
        let txn = self.lent.lock().remove(&owner.no());
        txn.map(|txn| InUse {
            inner: self,
            txn: Some(txn),
        })
    }

    /// Runs a step of DDL in the owner's lent transaction, if there is one: wholly, or nothing of it is left.
    pub(super) fn join<R, F>(&self, owner: &Owner, f: F) -> std::result::Result<Result<R>, F>
    where
        F: FnOnce(&mut Txn, &mut Aftermath) -> Result<R>,
    {
        let Some(mut in_use) = self.use_lent(owner) else {
            return Err(f);
        };
        let Some(txn) = &mut in_use.txn else {
            return Err(f);
        };
        let before = txn.savepoint();
        let mut after = Aftermath::new(&self.reclaimer);
        let done = f(txn, &mut after).and_then(|r| self.settle(txn, &after.relations).map(|()| r));
        self.sys.statement(txn);
        Ok(match (done, self.catalog.pending(txn.id())) {
            (Ok(r), Some(pending)) => {
                pending.add_after(before.undo_count, Box::new(after));
                Ok(r)
            }
            (Ok(_), None) => Err(Error::Invalid("a lent transaction changes nothing".into())),
            (Err(e), _) => self.rollback_defining_to(txn, before).and(Err(e)),
        })
    }

    /// Commits a transaction that has changed definitions, durably, and does what is left to do then.
    pub(super) fn commit_defining(&self, txn: Txn) -> Result<()> {
        let Some(pending) = self.catalog.pending(txn.id()) else {
            return self.sys.commit(txn);
        };
        let trx = txn.id();
        let made = match self.catalog.publish(&pending) {
            Ok(made) => made,
            Err(e) => {
                self.rollback_defining(txn)?;
                return Err(e);
            }
        };
        // If that fails recovery decides, or whoever undoes the transaction.
        let lsn = self.sys.commit_no_wait(txn)?;
        let (making, left) = partition(pending.take_after(0));
        self.catalog.end_pending(trx);
        for id in made {
            // Up to now nobody could be told how much it has changed.
            self.ctx.changed.push(id);
        }
        self.bury_all(lsn, left)?;
        self.drop_all(making);
        Ok(())
    }

    /// What is left to do after the commit: the spaces that died are flagged once that is durable.
    fn bury_all(&self, committed: Lsn, left: Vec<After>) -> Result<()> {
        let mut afters: Vec<Box<Aftermath>> = Vec::new();
        for after in left {
            if let Ok(mut after) = after.downcast::<Aftermath>() {
                after.set_committed();
                afters.push(after);
            }
        }
        self.pager.log().sync_to(committed)?;
        afters.iter().for_each(|after| after.bury(&self.catalog));
        Ok(())
    }

    /// Rolls back a transaction that has changed definitions.
    pub(super) fn rollback_defining(&self, txn: Txn) -> Result<()> {
        let Some(pending) = self.catalog.pending(txn.id()) else {
            return self.sys.rollback(txn, &*self.handler);
        };
        let trx = txn.id();
        // Before anybody gets its locks, who is to find no object of it valid.
        self.catalog.undoing(trx);
        self.catalog.forget_marks(&pending);
        self.sys.rollback(txn, &*self.handler)?;
        let (making, undone) = partition(pending.take_after(0));
        self.catalog.end_pending(trx);
        drop(undone);
        self.drop_all(making);
        Ok(())
    }

    /// Drops tables in the making that took no place for good.
    fn drop_all(&self, making: Vec<After>) {
        for name in making
            .into_iter()
            .filter_map(|a| a.downcast::<Making>().ok())
        {
            match self.drop_tables(&self.sys.owner(), &[name.0], false) {
                Ok(()) | Err(Error::NoSuchTable(_)) => {}
                // The next opening drops it.
                Err(e) => tracing::error!("a table in the making stays for now: {e}"),
            }
        }
    }

    /// Undoes everything after the savepoint, definitions too; keeps locks.
    pub(super) fn rollback_defining_to(&self, txn: &mut Txn, to: Savepoint) -> Result<()> {
        let pending = self.catalog.pending(txn.id());
        self.catalog.undoing(txn.id());
        if let Some(pending) = &pending {
            self.catalog.forget_marks(pending);
        }
        self.sys.rollback_to(txn, to, &*self.handler)?;
        self.catalog.undoing(txn.id());
        if let Some(pending) = &pending {
            let (making, undone) = partition(pending.take_after(to.undo_count));
            drop(undone);
            // Their names stay locked until the end.
            for making in making {
                pending.add_after(0, making);
            }
        }
        Ok(())
    }

    /// Gives the indexes of a new table or partition their roots, with graves that the transaction removes.
    pub(super) fn found_trees(
        &self,
        txn: &mut Txn,
        def: &mut TableDef,
        after: &mut Aftermath,
    ) -> Result<()> {
        if !txn.defines() || def.partitioned {
            return Ok(());
        }
        let mut graves = graves_of(def);
        let builder = self.sys.owner();
        let mut digging = self.sys.begin(&builder, Isolation::ReadCommitted);
        for grave in &graves {
            after.hold(grave.space);
            let bytes = row::encode_grave(grave);
            self.catalog.graveyard.insert(&mut digging, &bytes)?;
        }
        // Durable before the spaces' first pages, for those come later in the log.
        let dug = self.sys.commit_no_wait(digging)?;
        for _ in &graves {
            after.building();
        }
        let spaces = def.indexes.iter();
        let spaces = spaces.map(|i| self.pager.space(i.space, def.file));
        after.making(&self.pager, dug, spaces.collect());
        for at in 0..def.indexes.len() {
            let index = &def.indexes[at];
            let tree = tree_of(&self.ctx, def, index);
            let root = match def.file.is_own() {
                true => {
                    let mut mtr = self.pager.mtr_in(tree.space(), 1)?;
                    let root = tree.alloc_root(&mut mtr)?;
                    mtr.commit();
                    root
                }
                false => {
                    let empty = Op::Init {
                        kind: PageType::Leaf,
                        level: 0,
                    };
                    self.write_root(tree.space(), index.space, empty)?
                }
            };
            tree.set_root(root);
            def.indexes[at].root = root;
        }
        for grave in &mut graves {
            let own = def.indexes.iter().find(|i| i.space == grave.space);
            if let (false, Some(index)) = (grave.whole_file, own) {
                grave.root = index.root;
            }
            let (key, bytes) = (grave.space.0.to_be_bytes(), row::encode_grave(grave));
            self.catalog.graveyard.delete(txn, &key, &bytes)?;
        }
        Ok(())
    }

    /// Gives the indexes of a table whose row is locked their roots, before a transaction changes that; whether there was one without.
    pub(super) fn root_trees(&self, txn: &Txn, row: &TableRow) -> Result<bool> {
        let def = &row.def;
        if !txn.defines() || def.partitioned || def.indexes.iter().all(|i| i.root != 0) {
            return Ok(false);
        }
        let Some(table) = self.catalog.for_undo(txn.id(), def.id)? else {
            return Ok(false);
        };
        for at in 0..table.indexes.len() {
            table.give_root(at)?;
        }
        Ok(true)
    }

    /// The same before anything is done.
    pub(super) fn refuse_lent(&self, owner: &Owner, what: &str) -> Result<()> {
        match owner.lent() != 0 {
            true => Err(Error::NotInTransaction(what.into())),
            false => Ok(()),
        }
    }

    /// Error [`Error::NotInTransaction`] for what a transaction that goes on cannot undo.
    pub(super) fn refuse_joined(&self, txn: &Txn, what: &str) -> Result<()> {
        match txn.defines() {
            true => Err(Error::NotInTransaction(what.into())),
            false => Ok(()),
        }
    }
}

//! A table in the making follows the rows of the one that it is to replace, which change while they are copied.
//!
//! Its rows have the clustered keys that they have there, so each that changes is found by its key. Where its unique keys are in the
//! way of each other, for rows are not followed in the order in which they changed, the later one waits aside until the other has
//! moved; what still waits when all has been followed is a duplicate.

use std::collections::BTreeMap;
use std::sync::Arc;

use millpond_store::engine::RowFollower;
use millpond_store::{Engine, Error, LockMode, ReadMode, Table, Txn, WaitPolicy};

/// Puts rows as they are now into a table in the making.
pub(super) struct Following<'w> {
    engine: &'w Engine,
    table: &'w Arc<Table>,
    /// Begins a transaction that has pinned the table for writing.
    begin: &'w mut dyn FnMut() -> millpond_store::Result<Txn>,
    txn: Option<Txn>,
    /// Rows that another is in the way of, by clustered key, and the index where.
    aside: BTreeMap<Vec<u8>, (Vec<u8>, usize)>,
    clustered: Vec<u8>,
    old: Vec<u8>,
}

impl<'w> Following<'w> {
    pub fn new(
        engine: &'w Engine,
        table: &'w Arc<Table>,
        begin: &'w mut dyn FnMut() -> millpond_store::Result<Txn>,
    ) -> Following<'w> {
        Following {
            engine,
            table,
            begin,
            txn: None,
            aside: BTreeMap::new(),
            clustered: Vec::new(),
            old: Vec::new(),
        }
    }

    /// A row that another is in the way of, and the index where, once all rows have been followed.
    pub fn duplicate(&self) -> Option<&(Vec<u8>, usize)> {
        self.aside.values().next()
    }

    fn put(&mut self, key: &[u8], row: Option<&[u8]>) -> millpond_store::Result<()> {
        let txn = match &mut self.txn {
            Some(txn) => txn,
            none => none.insert((self.begin)()?),
        };
        let mode = ReadMode::Locking(LockMode::Exclusive, WaitPolicy::Wait);
        let (clustered, old) = (&mut self.clustered, &mut self.old);
        let there = self.table.get(txn, 0, key, mode, clustered, old)?;
        let done = match (there, row) {
            (false, None) => Ok(()),
            (true, None) => self.table.delete(txn, clustered, old),
            (true, Some(new)) if old == new => Ok(()),
            (true, Some(new)) => self.table.update(txn, clustered, old, new),
            (false, Some(new)) => self.table.insert(txn, new),
        };
        let (Err(Error::DuplicateKey { index }), Some(new)) = (&done, row) else {
            return done;
        };
        if there {
            // It makes way for what may wait for it.
            self.table.delete(txn, clustered, old)?;
        }
        self.aside.insert(key.to_vec(), (new.to_vec(), *index));
        Ok(())
    }
}

impl RowFollower for Following<'_> {
    fn row(&mut self, key: &[u8], row: Option<&[u8]>) -> millpond_store::Result<()> {
        self.aside.remove(key);
        self.put(key, row)
    }

    fn pause(&mut self) -> millpond_store::Result<()> {
        for (key, (row, _)) in std::mem::take(&mut self.aside) {
            self.put(&key, Some(&row))?;
        }
        match self.txn.take() {
            // Durable when the table takes its place.
            Some(txn) => self.engine.commit_later(txn).map(drop),
            None => Ok(()),
        }
    }
}

impl Drop for Following<'_> {
    fn drop(&mut self) {
        if let Some(txn) = self.txn.take() {
            // The table goes; what cannot be undone now is undone by recovery.
            let _ = self.engine.rollback(txn);
        }
    }
}

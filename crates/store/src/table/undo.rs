//! What undo records mean: rollback and purge of one record.
//!
//! Rollback restores the secondary entries first and the clustered entry last, for the latter's roll pointer says
//! whether the record has been undone: doing it again after a crash is harmless.

use super::context::Index;
use super::format::{self, ChainRef, RowHeader};
use super::payload::{KeyList, Undo};
use super::read::apply_undo;
use super::scratch::Scratch;
use super::{Table, chain};
use crate::error::Result;
use crate::txn::{ReadView, RollPtr, TrxId, UndoHandler};

/// Undoes and purges records of one table; for a transaction that knows which table its records are about.
pub(crate) struct TableUndo<'t>(pub &'t Table);

impl UndoHandler for TableUndo<'_> {
    fn undo(&self, trx: TrxId, at: RollPtr, payload: &[u8]) -> Result<()> {
        let (table, undo) = Undo::read(payload)?;
        if table != self.0.def.id {
            return Err(self.0.corrupt("an undo record of another table"));
        }
        self.0.undo(trx, at, &undo)
    }
    fn purge(&self, trx: TrxId, at: RollPtr, payload: &[u8], oldest: &ReadView) -> Result<()> {
        self.0.purge(trx, at, &Undo::read(payload)?.1, oldest)
    }
}

impl Table {
    /// Undoes one record of the unfinished transaction `trx`.
    pub(crate) fn undo(&self, trx: TrxId, at: RollPtr, undo: &Undo<'_>) -> Result<()> {
        match undo {
            Undo::Insert { key } => self.undo_insert(trx, at, key),
            Undo::Update {
                key,
                old,
                keys_changed,
                keys,
                ..
            } => self.undo_update(trx, at, key, undo, *old, *keys_changed, *keys),
            Undo::Delete { key, old, keys, .. } => self.undo_delete(trx, at, key, *old, *keys),
            Undo::Keys { clustered, keys } => self.restore_keys(trx, *clustered, *keys),
            Undo::Chain { space, page } => {
                let index = &*self.indexes[0];
                if index.space.0 != *space {
                    return Ok(());
                }
                let chain = ChainRef {
                    page: *page,
                    len: 0,
                    trx,
                    at: format::record_of(at),
                };
                chain::free(&self.ctx, index.tree.space(), &chain)
            }
        }
    }

    fn undo_insert(&self, trx: TrxId, at: RollPtr, key: &[u8]) -> Result<()> {
        let mut s = Scratch::take();
        let s = &mut *s;
        if !self.is_version(trx, at, key, &mut s.row)? {
            return Ok(());
        }
        let log = self.core.row_log.get();
        if self.indexes.len() > 1 || log.is_some() {
            self.strip(header_of(&s.row)?, &mut s.row)?;
            self.take_back_all(trx, key, &s.row, &mut s.keys)?;
        }
        self.indexes[0].tree.edit_known(key, 0, |leaf| {
            if leaf.value().is_some_and(|v| names(v, trx, at)) {
                leaf.remove();
            }
            Ok(())
        })?;
        if let Some(log) = log {
            log.changed(key, Some(&s.row), None);
        }
        Ok(())
    }

    fn undo_delete(
        &self,
        trx: TrxId,
        at: RollPtr,
        key: &[u8],
        old: RowHeader,
        keys: KeyList<'_>,
    ) -> Result<()> {
        let mut s = Scratch::take();
        if !self.is_version(trx, at, key, &mut s.row)? {
            return Ok(());
        }
        let log = self.core.row_log.get();
        if log.is_some() {
            // Once the mark is gone, others may change the row and free its tail.
            self.strip(header_of(&s.row)?, &mut s.row)?;
        }
        self.restore_keys(trx, key.len(), keys)?;
        self.indexes[0].tree.edit_known(key, 0, |leaf| {
            if leaf.value().is_some_and(|v| names(v, trx, at)) {
                leaf.patch(0, &old.bytes());
            }
            Ok(())
        })?;
        if let Some(log) = log {
            log.changed(key, None, Some(&s.row));
        }
        Ok(())
    }

    /// Takes back every secondary entry of a row.
    fn take_back_all(&self, trx: TrxId, key: &[u8], row: &[u8], entry: &mut Vec<u8>) -> Result<()> {
        for index in 1..self.indexes.len() {
            if self.is_multi(index) {
                for own in self.keys_of(index, row)?.iter() {
                    self.take_back_key(trx, index, own, key, entry)?;
                }
                continue;
            }
            entry.clear();
            self.codec.key(index, row, entry)?;
            entry.extend_from_slice(key);
            self.take_back(index, entry, trx)?;
        }
        Ok(())
    }

    /// Takes back the entry of an own key part; `entry` is a buffer.
    fn take_back_key(
        &self,
        trx: TrxId,
        index: usize,
        own: &[u8],
        clustered: &[u8],
        entry: &mut Vec<u8>,
    ) -> Result<()> {
        entry.clear();
        entry.extend_from_slice(own);
        entry.extend_from_slice(clustered);
        self.take_back(index, entry, trx)
    }

    #[expect(clippy::too_many_arguments)]
    fn undo_update(
        &self,
        trx: TrxId,
        at: RollPtr,
        key: &[u8],
        undo: &Undo<'_>,
        old: RowHeader,
        keys_changed: bool,
        keys: KeyList<'_>,
    ) -> Result<()> {
        let mut s = Scratch::take();
        let s = &mut *s;
        if !self.is_version(trx, at, key, &mut s.row)? {
            return Ok(());
        }
        s.value.clear();
        s.value.extend_from_slice(&s.row);
        apply_undo(undo, &mut s.value)?;
        let log = self.core.row_log.get();
        if old.marked() {
            if self.indexes.len() > 1 || log.is_some() {
                self.strip(header_of(&s.row)?, &mut s.row)?;
                self.take_back_all(trx, key, &s.row, &mut s.keys)?;
            }
        } else if keys_changed || log.is_some() {
            self.strip(header_of(&s.row)?, &mut s.row)?;
            s.other.clear();
            s.other.extend_from_slice(&s.value);
            self.strip(old, &mut s.other)?;
        }
        if keys_changed && !old.marked() {
            for index in 1..self.indexes.len() {
                if self.is_multi(index) {
                    let before = self.keys_of(index, &s.other)?;
                    let now = self.keys_of(index, &s.row)?;
                    for own in now.iter().filter(|k| !before.contains(k)) {
                        self.take_back_key(trx, index, own, key, &mut s.keys)?;
                    }
                    continue;
                }
                s.keys.clear();
                self.codec.key(index, &s.row, &mut s.keys)?;
                let new = s.keys.len();
                self.codec.key(index, &s.other, &mut s.keys)?;
                if s.keys[..new] != s.keys[new..] {
                    s.keys.truncate(new);
                    s.keys.extend_from_slice(key);
                    self.take_back(index, &s.keys, trx)?;
                }
            }
            self.restore_keys(trx, key.len(), keys)?;
        }
        // Purge may have passed by the delete mark that comes back, and will not come again.
        let gone = || old.marked() && self.ctx.sys.seen_by_all(old.trx);
        let value = &s.value;
        self.indexes[0].tree.edit_known(key, value.len(), |leaf| {
            if leaf.value().is_some_and(|v| names(v, trx, at)) {
                if gone() {
                    leaf.remove();
                } else {
                    leaf.replace(value);
                }
            }
            Ok(())
        })?;
        if let Some(log) = log {
            let before = (!old.marked()).then_some(&s.other[..]);
            log.changed(key, Some(&s.row), before);
        }
        Ok(())
    }

    fn restore_keys(&self, trx: TrxId, clustered: usize, keys: KeyList<'_>) -> Result<()> {
        for item in keys {
            let (space, entry) = item?;
            if let Some(index) = self.index_of(space) {
                let own = entry.len().saturating_sub(clustered);
                self.restore_marked(index, entry, own, trx)?;
            }
        }
        Ok(())
    }

    /// Whether the newest version under `key` is the one that the record leads back from; copies its value.
    fn is_version(&self, trx: TrxId, at: RollPtr, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        out.clear();
        let found = self.indexes[0].tree.get(key, |v| {
            let header = RowHeader::read(v)?;
            let is = header.trx == trx && format::record_of(header.roll) == format::record_of(at);
            if is {
                out.extend_from_slice(v);
            }
            Some(is)
        })?;
        match found {
            Some(None) => Err(self.corrupt_index(0, "has a damaged entry")),
            found => Ok(found.flatten() == Some(true)),
        }
    }

    fn index_of(&self, space: u64) -> Option<usize> {
        self.indexes.iter().position(|i| i.space.0 == space)
    }

    /// Removes what a record of the finished transaction `trx` kept for older views. The caller holds the
    /// table's maintenance lock.
    pub(crate) fn purge(
        &self,
        trx: TrxId,
        at: RollPtr,
        undo: &Undo<'_>,
        oldest: &ReadView,
    ) -> Result<()> {
        let clustered = &*self.indexes[0];
        if dropped(clustered) {
            return Ok(());
        }
        match undo {
            Undo::Insert { .. } | Undo::Chain { .. } => Ok(()),
            Undo::Keys { keys, .. } => self.purge_keys(*keys, oldest),
            Undo::Update { keys, chain, .. } => {
                self.purge_keys(*keys, oldest)?;
                self.purge_chain(*chain)
            }
            Undo::Delete {
                key, keys, chain, ..
            } => {
                self.purge_keys(*keys, oldest)?;
                if clustered.tree.may_have_entries() {
                    clustered.tree.edit_known(key, 0, |leaf| {
                        let v = leaf.value();
                        if v.is_some_and(|v| marks(v) && names(v, trx, at)) {
                            leaf.remove();
                        }
                        Ok(())
                    })?;
                }
                self.purge_chain(*chain)
            }
        }
    }

    fn purge_keys(&self, keys: KeyList<'_>, oldest: &ReadView) -> Result<()> {
        for item in keys {
            let (space, entry) = item?;
            if let Some(index) = self.index_of(space)
                && !dropped(&self.indexes[index])
            {
                self.purge_secondary(index, entry, oldest)?;
            }
        }
        Ok(())
    }

    fn purge_chain(&self, chain: Option<ChainRef>) -> Result<()> {
        match chain {
            Some(c) => chain::free(&self.ctx, self.indexes[0].tree.space(), &c),
            None => Ok(()),
        }
    }
}

fn dropped(index: &Index) -> bool {
    index.tree.space().is_dropped()
}

/// Whether a clustered value was written with the undo record `at` of `trx`.
fn names(value: &[u8], trx: TrxId, at: RollPtr) -> bool {
    RowHeader::read(value)
        .is_some_and(|h| h.trx == trx && format::record_of(h.roll) == format::record_of(at))
}

/// Whether a clustered value is a delete mark.
fn marks(value: &[u8]) -> bool {
    RowHeader::read(value).is_some_and(|h| h.marked())
}

fn header_of(value: &[u8]) -> Result<RowHeader> {
    RowHeader::read(value).ok_or_else(format::cut_short)
}

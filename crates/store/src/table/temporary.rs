//! Row changes of temporary tables.
//!
//! One session sees such a table, and its newest versions are what any view of the session's sees (`txn/unlogged`). So a row is
//! changed in place: entries bear transaction 0, which every view sees, no roll pointer, and no delete mark; what is
//! deleted is removed. Readers are those of other tables. No row is locked: whoever asks for a lock is told that it holds it.
//!
//! A change first pushes its undo record, which is what the row was (`key`, and the old row if there was one), then
//! sets clustered and secondary entries. Undoing sets them to what they were, whatever of the change was made; so a change
//! that fails halfway is undone like any other, and undoing what was not done does nothing.

use super::entries::keys_of;
use super::format::{self, CHAIN_REF, ChainRef, INLINE_PREFIX, OVERFLOW, ROW_HEADER, RowHeader};
use super::format::{SEC_VALUE, SecValue};
use super::scratch::Scratch;
use super::{MAX_ROW, Table, chain};
use crate::btree::MAX_KEY;
use crate::catalog::Keys;
use crate::error::{Error, Result};
use crate::txn::unlogged::UnloggedHandler;
use crate::txn::{RollPtr, Txn};

/// "No older version."
const FIRST: RollPtr = RollPtr(1 << 63);

impl UnloggedHandler for Table {
    fn undo(&self, payload: &[u8]) -> Result<()> {
        let mut r = format::Reader(payload);
        let had_row = r.byte()? != 0;
        let key = r.bytes()?;
        if self.is_gone() {
            return Ok(());
        }
        let mut row = Vec::new();
        let now = self.read_row(None, key, &mut row)?.then_some(&*row);
        self.set_row(key, now, had_row.then_some(r.0))
    }

    fn is_gone(&self) -> bool {
        self.indexes[0].tree.space().is_dropped()
    }

    fn lose(&self) {
        for index in &self.indexes {
            index.tree.lose_temporary();
        }
    }
}

impl Table {
    pub(super) fn insert_temporary(&self, txn: &mut Txn, row: &[u8]) -> Result<()> {
        let mut key = Vec::new();
        if self.def.hidden_row_id {
            let id = self.core.next_row_id(&self.indexes[0].tree)?;
            key.extend_from_slice(&id.to_be_bytes());
        } else {
            self.codec.key(0, row, &mut key)?;
        }
        self.check_temporary(&key, row, None)?;
        self.atomically_temporary(txn, |txn| self.change_row(txn, &key, None, Some(row)))
    }

    pub(super) fn update_temporary(
        &self,
        txn: &mut Txn,
        clustered_key: &[u8],
        old: &[u8],
        new: &[u8],
    ) -> Result<()> {
        if old == new {
            return Ok(());
        }
        let mut key = Vec::new();
        if self.def.hidden_row_id {
            key.extend_from_slice(clustered_key);
        } else {
            self.codec.key(0, new, &mut key)?;
        }
        self.check_temporary(&key, new, Some(clustered_key))?;
        self.atomically_temporary(txn, |txn| {
            if key == clustered_key {
                return self.change_row(txn, &key, Some(old), Some(new));
            }
            self.change_row(txn, clustered_key, Some(old), None)?;
            self.change_row(txn, &key, None, Some(new))
        })
    }

    pub(super) fn delete_temporary(
        &self,
        txn: &mut Txn,
        clustered_key: &[u8],
        old: &[u8],
    ) -> Result<()> {
        self.atomically_temporary(txn, |txn| {
            self.change_row(txn, clustered_key, Some(old), None)
        })
    }

    /// Whether a new row can be: lengths and unique keys. `instead_of`: the clustered key of the row that it replaces.
    fn check_temporary(&self, key: &[u8], row: &[u8], instead_of: Option<&[u8]>) -> Result<()> {
        if row.len() > MAX_ROW {
            return Err(Error::RowTooLarge(row.len()));
        }
        if key.len() > MAX_KEY {
            return Err(Error::KeyTooLong(key.len()));
        }
        let clustered = &self.indexes[0].tree;
        if instead_of != Some(key) && clustered.root() != 0 && clustered.get(key, |_| ())?.is_some()
        {
            return Err(Error::DuplicateKey { index: 0 });
        }
        let mut s = Scratch::take();
        let s = &mut *s;
        let mut keys = Keys::default();
        for index in 1..self.indexes.len() {
            let null = keys_of(&*self.codec, index, row, &mut keys)?;
            for own in keys.iter() {
                if own.len() + key.len() > MAX_KEY {
                    return Err(Error::KeyTooLong(own.len() + key.len()));
                }
                if null || !self.indexes[index].unique {
                    continue;
                }
                let mut taken = false;
                let (resume, next) = (&mut s.resume, &mut s.other);
                self.visit_prefix(index, own, resume, next, |clustered, _| {
                    taken |= instead_of != Some(clustered);
                })?;
                if taken {
                    return Err(Error::DuplicateKey { index });
                }
            }
        }
        Ok(())
    }

    /// Runs a row change; if it fails nothing of it stays.
    fn atomically_temporary(
        &self,
        txn: &mut Txn,
        change: impl FnOnce(&mut Txn) -> Result<()>,
    ) -> Result<()> {
        let before = txn.unlogged(&self.ctx.pager).position();
        let changed = change(txn);
        if changed.is_err() {
            txn.undo_unlogged(before);
        }
        changed
    }

    /// Makes the row under `key`, which is `old`, `new`, noting for rollback what it was.
    fn change_row(
        &self,
        txn: &mut Txn,
        key: &[u8],
        old: Option<&[u8]>,
        new: Option<&[u8]>,
    ) -> Result<()> {
        let me = || {
            let me = self.temporary.as_ref().and_then(std::sync::Weak::upgrade);
            me.expect("a temporary table that is used exists")
                as std::sync::Arc<dyn UnloggedHandler>
        };
        let mut head = Vec::with_capacity(key.len() + 8);
        head.push(u8::from(old.is_some()));
        format::put_bytes(&mut head, key);
        let undo = txn.unlogged(&self.ctx.pager);
        undo.push(self.def.id, me, &[&head, old.unwrap_or_default()])?;
        self.set_row(key, old, new)
    }

    /// Sets the entries of the row under `key`, which are those of `old` or already those of `new`, some of them.
    fn set_row(&self, key: &[u8], old: Option<&[u8]>, new: Option<&[u8]>) -> Result<()> {
        match new {
            Some(row) => self.put_clustered(key, row)?,
            None => self.remove_clustered(key)?,
        }
        let (mut was, mut is, mut entry) = (Keys::default(), Keys::default(), Vec::new());
        for index in 1..self.indexes.len() {
            for (row, keys) in [(old, &mut was), (new, &mut is)] {
                keys.clear();
                if let Some(row) = row {
                    keys_of(&*self.codec, index, row, keys)?;
                }
            }
            let mut differ: Vec<(bool, &[u8])> = Vec::new();
            Keys::differences(&was, &is, |new, own| differ.push((new, own)));
            for (new, own) in differ {
                entry.clear();
                entry.extend_from_slice(own);
                entry.extend_from_slice(key);
                match new {
                    true => self.add_entry(index, &entry, own.len() as u16)?,
                    false => self.remove_entry(index, &entry)?,
                }
            }
        }
        Ok(())
    }

    /// Writes a row under `key`, in the place of what is there.
    fn put_clustered(&self, key: &[u8], row: &[u8]) -> Result<()> {
        self.ensure_root(0)?;
        let tree = &self.indexes[0].tree;
        let mut s = Scratch::take();
        let mut header = RowHeader {
            flags: 0,
            trx: 0,
            roll: FIRST,
        };
        let mut chain = None;
        let value = &mut s.value;
        value.clear();
        value.extend_from_slice(&[0; ROW_HEADER]);
        if row.len() <= Self::inline_limit(key) {
            value.extend_from_slice(row);
        } else {
            let (head, tail) = row.split_at(INLINE_PREFIX);
            let new = chain::write_alone(&self.ctx, tree.space(), tail)?;
            value.reserve(CHAIN_REF + head.len());
            value.extend_from_slice(&new.bytes());
            value.extend_from_slice(head);
            header.flags = OVERFLOW;
            chain = Some(new);
        }
        value[..ROW_HEADER].copy_from_slice(&header.bytes());
        let put = tree.edit(key, value.len(), |leaf| {
            let before = chain_in(leaf.value())?;
            match leaf.value() {
                None => leaf.insert(value),
                Some(_) => leaf.replace(value),
            }
            Ok(before)
        });
        match put {
            Ok(before) => self.free_chain(before),
            Err(e) => {
                self.free_chain(chain)?;
                Err(e)
            }
        }
    }

    fn remove_clustered(&self, key: &[u8]) -> Result<()> {
        let tree = &self.indexes[0].tree;
        if tree.root() == 0 {
            return Ok(());
        }
        let chain = tree.edit(key, 0, |leaf| {
            let chain = chain_in(leaf.value())?;
            if leaf.value().is_some() {
                leaf.remove();
            }
            Ok(chain)
        })?;
        self.free_chain(chain)
    }

    fn free_chain(&self, chain: Option<ChainRef>) -> Result<()> {
        match chain {
            Some(c) => chain::free(&self.ctx, self.indexes[0].tree.space(), &c),
            None => Ok(()),
        }
    }

    fn add_entry(&self, index: usize, entry: &[u8], own: u16) -> Result<()> {
        self.ensure_root(index)?;
        let mut bytes = [0; SEC_VALUE + 6];
        let value = SecValue {
            flags: 0,
            trx: 0,
            key_len: own,
            origin: 0,
        };
        let len = value.write(&mut bytes);
        self.indexes[index].tree.edit(entry, len, |leaf| {
            if leaf.value().is_none() {
                leaf.insert(&bytes[..len]);
            }
            Ok(())
        })
    }

    fn remove_entry(&self, index: usize, entry: &[u8]) -> Result<()> {
        let tree = &self.indexes[index].tree;
        if tree.root() == 0 {
            return Ok(());
        }
        tree.edit(entry, 0, |leaf| {
            if leaf.value().is_some() {
                leaf.remove();
            }
            Ok(())
        })
    }
}

/// The overflow chain of a clustered value.
fn chain_in(value: Option<&[u8]>) -> Result<Option<ChainRef>> {
    match value {
        Some(v) => {
            let header = RowHeader::read(v).ok_or_else(format::cut_short)?;
            format::chain_of(header.flags, &v[ROW_HEADER..])
        }
        None => Ok(None),
    }
}

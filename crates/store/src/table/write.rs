//! Inserting, updating and deleting rows.
//!
//! The clustered entry changes first, in one mini-transaction with its undo record; then the secondary entries,
//! each in one of its own. A crash or error in between is mended by rollback, which makes every secondary entry agree
//! with the row again.

use super::counts::RowOp;
use super::format::{
    self, CHAIN_REF, ChainRef, Delta, INLINE_PREFIX, OVERFLOW, ROW_HEADER, RowHeader,
};
use super::payload;
use super::read::{RecordLock, Request, RowLock};
use super::scratch::{Buffers, Scratch};
use super::undo::TableUndo;
use super::{MAX_ROW, ReadMode, Table, chain};
use crate::btree::{LeafEdit, MAX_ENTRY, MAX_KEY};
use crate::catalog::Keys;
use crate::error::{Error, Result};
use crate::txn::undo::MAX_PAYLOAD;
use crate::txn::{LockMode, Txn, UndoRoom, WaitPolicy};
use smallvec::SmallVec;
use std::ops::Range;

/// How an attempt to insert into the clustered index went.
enum Attempt {
    Done,
    /// Another owner's range covers the key.
    Gap,
    /// Somebody holds the record that is there.
    Record,
    /// Nothing live is there, but others hold locks on the key: those who waited with us for whoever had it.
    Locked,
    /// A live row is there, and it is locked.
    Duplicate,
    /// The undo record needs this much room.
    Undo(usize),
}

/// An entry of a secondary index that an update replaces, takes away or adds, as places in the key buffer.
struct Changed {
    index: usize,
    /// Old entry, if there is one: key and clustered key.
    old: Option<Range<usize>>,
    /// New entry, if there is one.
    new: Option<Range<usize>>,
    /// Bytes of the new entry's own key part.
    new_len: usize,
    /// Whether the new key must be unique.
    unique: bool,
}

impl Table {
    /// Inserts a row. On `DuplicateKey` the row that is in the way is locked shared, as in InnoDB, and
    /// nothing of the new row remains.
    pub fn insert(&self, txn: &mut Txn, row: &[u8]) -> Result<()> {
        if self.is_temporary() {
            self.insert_temporary(txn, row)?;
        } else {
            self.atomically(txn, |txn, s| self.insert_row(txn, None, row, s))?;
        }
        self.indexes[0].counts.add(RowOp::Inserted, 1);
        self.count_change(1);
        Ok(())
    }

    /// Inserts a row under the hidden row id that it has elsewhere into a table that is to replace the one where it has it, and that gets all
    /// of its rows so: ids are not given out here meanwhile. `DuplicateKey { index: 0 }` if there is a row under it.
    pub fn insert_under(&self, txn: &mut Txn, row_id: &[u8], row: &[u8]) -> Result<()> {
        if self.is_temporary() || !self.def.hidden_row_id {
            return Err(Error::Invalid(format!("{} has no row ids", self.def.name)));
        }
        self.atomically(txn, |txn, s| self.insert_row(txn, Some(row_id), row, s))?;
        self.indexes[0].counts.add(RowOp::Inserted, 1);
        self.count_change(1);
        Ok(())
    }

    /// Clustered key of the row in the way of `row` in unique index `index` (for REPLACE and ON
    /// DUPLICATE KEY UPDATE), with its row, locked exclusively.
    pub fn find_duplicate(
        &self,
        txn: &mut Txn,
        index: usize,
        row: &[u8],
        clustered_key: &mut Vec<u8>,
        old_row: &mut Vec<u8>,
    ) -> Result<bool> {
        if index == 0 && self.def.hidden_row_id {
            return Ok(false);
        }
        let mode = ReadMode::Locking(LockMode::Exclusive, WaitPolicy::Wait);
        if self.is_multi(index) {
            for key in self.keys_of(index, row)?.iter() {
                if self.get(txn, index, key, mode, clustered_key, old_row)? {
                    return Ok(true);
                }
            }
            return Ok(false);
        }
        let mut s = Scratch::take();
        s.keys.clear();
        if self.codec.key(index, row, &mut s.keys)? {
            return Ok(false);
        }
        self.get(txn, index, &s.keys, mode, clustered_key, old_row)
    }

    /// Replaces the row under `clustered_key`, which the transaction has locked exclusively and read as
    /// `old`. The clustered key itself may change.
    pub fn update(
        &self,
        txn: &mut Txn,
        clustered_key: &[u8],
        old: &[u8],
        new: &[u8],
    ) -> Result<()> {
        if self.is_temporary() {
            self.update_temporary(txn, clustered_key, old, new)?;
        } else {
            self.atomically(txn, |txn, s| {
                self.update_row(txn, clustered_key, old, new, s)
            })?;
        }
        self.indexes[0].counts.add(RowOp::Updated, 1);
        self.count_change(0);
        Ok(())
    }

    /// Deletes the row under `clustered_key`, locked exclusively and read as `old`.
    pub fn delete(&self, txn: &mut Txn, clustered_key: &[u8], old: &[u8]) -> Result<()> {
        if self.is_temporary() {
            self.delete_temporary(txn, clustered_key, old)?;
        } else {
            self.atomically(txn, |txn, s| self.delete_row(txn, clustered_key, old, s))?;
        }
        self.indexes[0].counts.add(RowOp::Deleted, 1);
        self.count_change(-1);
        Ok(())
    }

    /// Runs a row change; if it fails nothing of it stays.
    #[inline]
    fn atomically(
        &self,
        txn: &mut Txn,
        change: impl FnOnce(&mut Txn, &mut Buffers) -> Result<()>,
    ) -> Result<()> {
        // The catalog's own tables have none of these limits.
        if self.mdl.is_some() {
            if self.ctx.forced {
                return Err(Error::ForcedRecovery);
            }
            self.ctx.sys.locks().room()?;
        }
        let before = txn.savepoint();
        let mut s = Scratch::take();
        match change(txn, &mut s) {
            Ok(()) => Ok(()),
            Err(e) => {
                drop(s);
                if txn.savepoint().undo_count != before.undo_count {
                    self.ctx.sys.rollback_to(txn, before, &TableUndo(self))?;
                }
                Err(e)
            }
        }
    }

    /// `row_id`: the hidden row id, if the row has one.
    fn insert_row(
        &self,
        txn: &mut Txn,
        row_id: Option<&[u8]>,
        row: &[u8],
        s: &mut Buffers,
    ) -> Result<()> {
        if row.len() > MAX_ROW {
            return Err(Error::RowTooLarge(row.len()));
        }
        self.ensure_root(0)?;
        s.key.clear();
        if let Some(id) = row_id {
            s.key.extend_from_slice(id);
        } else if self.def.hidden_row_id {
            let id = self.core.next_row_id(&self.indexes[0].tree)?;
            s.key.extend_from_slice(&id.to_be_bytes());
        } else {
            self.codec.key(0, row, &mut s.key)?;
        }
        if s.key.len() > MAX_KEY {
            return Err(Error::KeyTooLong(s.key.len()));
        }
        let flags = self.store_new(txn, row, s)?;
        self.insert_clustered(txn, flags, s)?;
        self.log_change(&s.key, None, Some(row));
        for index in 1..self.indexes.len() {
            if self.is_multi(index) {
                self.insert_several(txn, index, row, s)?;
                continue;
            }
            s.keys.clear();
            let null = self.codec.key(index, row, &mut s.keys)?;
            let own = s.keys.len();
            s.keys.extend_from_slice(&s.key);
            let unique = self.indexes[index].unique && !null;
            let (entry, buffers) = (&s.keys, (&mut s.resume, &mut s.other, &mut s.row));
            self.insert_secondary(txn, index, entry, own, unique, buffers)?;
        }
        Ok(())
    }

    /// Adds the entries of the row under `s.key` to an index that has several a row.
    fn insert_several(
        &self,
        txn: &mut Txn,
        index: usize,
        row: &[u8],
        s: &mut Buffers,
    ) -> Result<()> {
        let unique = self.indexes[index].unique;
        for own in self.keys_of(index, row)?.iter() {
            s.keys.clear();
            s.keys.extend_from_slice(own);
            s.keys.extend_from_slice(&s.key);
            let (entry, buffers) = (&s.keys, (&mut s.resume, &mut s.other, &mut s.row));
            self.insert_secondary(txn, index, entry, own.len(), unique, buffers)?;
        }
        Ok(())
    }

    /// Longest row kept wholly in its clustered entry.
    pub(super) fn inline_limit(key: &[u8]) -> usize {
        MAX_ENTRY - ROW_HEADER - key.len()
    }

    /// Puts a new row's value into `s.value`, the header left blank; returns the flags.
    fn store_new(&self, txn: &mut Txn, row: &[u8], s: &mut Buffers) -> Result<u8> {
        s.value.clear();
        s.value.extend_from_slice(&[0; ROW_HEADER]);
        if row.len() <= Self::inline_limit(&s.key) {
            s.value.extend_from_slice(row);
            return Ok(0);
        }
        let (head, tail) = row.split_at(INLINE_PREFIX);
        // The chain is in the index's own space, and goes with it.
        self.give_root(0)?;
        let space = self.indexes[0].tree.space();
        let chain = chain::write(&self.ctx, txn, self.def.id, space, tail)?;
        s.value.extend_from_slice(&chain.bytes());
        s.value.extend_from_slice(head);
        Ok(OVERFLOW)
    }

    fn insert_clustered(&self, txn: &mut Txn, flags: u8, s: &mut Buffers) -> Result<()> {
        let index = &*self.indexes[0];
        let sys = &self.ctx.sys;
        payload::undo_insert(&mut s.undo, self.def.id, &s.key);
        let mut payload = s.undo.len();
        loop {
            let (key, value, undo) = (&s.key, &mut s.value, &mut s.undo);
            let mut room = sys.reserve(txn, payload)?;
            let attempt = index.tree.edit(key, value.len(), |leaf| {
                self.try_insert(leaf, &mut room, payload, flags, key, value, undo)
            })?;
            drop(room);
            match attempt {
                Attempt::Done => return Ok(()),
                Attempt::Undo(bytes) => payload = bytes,
                Attempt::Gap => sys.locks().wait_insert(txn.owner(), index.space, key)?,
                Attempt::Record | Attempt::Locked => {
                    let mode = match attempt {
                        Attempt::Locked => LockMode::Exclusive,
                        _ => LockMode::Shared,
                    };
                    let wait = WaitPolicy::Wait;
                    sys.locks()
                        .lock(txn.owner(), index.space, key, mode, wait)?;
                }
                Attempt::Duplicate => return Err(Error::DuplicateKey { index: 0 }),
            }
        }
    }

    #[inline]
    #[expect(clippy::too_many_arguments)]
    fn try_insert(
        &self,
        leaf: &mut LeafEdit<'_, '_>,
        room: &mut UndoRoom<'_>,
        payload: usize,
        flags: u8,
        key: &[u8],
        value: &mut [u8],
        undo: &mut Vec<u8>,
    ) -> Result<Attempt> {
        let trx = room.trx_id();
        let space = self.indexes[0].space;
        let locks = self.ctx.sys.locks();
        let fresh = match leaf.value() {
            None => true,
            Some(there) => {
                let owner = room.txn().owner();
                match self.try_lock_value(owner, trx, key, there, LockMode::Shared) {
                    RecordLock::Conflict => return Ok(Attempt::Record),
                    RecordLock::Granted(_) => return Ok(Attempt::Duplicate),
                    RecordLock::Marked => false,
                    RecordLock::Damaged => return Err(format::cut_short()),
                }
            }
        };
        let owner = room.txn().owner();
        if !locks.may_insert(owner, space, key) {
            return Ok(Attempt::Gap);
        }
        // A row of our own locks its key, delete-marked or not: who holds a lock beside was granted it without a look at
        // the row, and waits for us once it has looked.
        let mine = leaf
            .value()
            .and_then(RowHeader::read)
            .is_some_and(|h| h.trx == trx);
        if !mine && locks.others_hold(owner, space, key) {
            return Ok(Attempt::Locked);
        }
        if fresh {
            let roll = room.append(leaf.mtr(), true, undo);
            value[..ROW_HEADER].copy_from_slice(&RowHeader { flags, trx, roll }.bytes());
            leaf.insert(value);
            return Ok(Attempt::Done);
        }
        // Older views may need what the delete mark hides: the row revives as a new version of it.
        let there = leaf.value().expect("seen above");
        let old = RowHeader::read(there).ok_or_else(format::cut_short)?;
        let delta = Delta::between(&there[ROW_HEADER..], &value[ROW_HEADER..]);
        payload::undo_update(undo, self.def.id, key, old, delta, false, None);
        if undo.len() > payload {
            let bytes = undo.len();
            payload::undo_insert(undo, self.def.id, key);
            return Ok(Attempt::Undo(bytes));
        }
        let roll = room.append(leaf.mtr(), false, undo);
        value[..ROW_HEADER].copy_from_slice(&RowHeader { flags, trx, roll }.bytes());
        leaf.replace(value);
        Ok(Attempt::Done)
    }

    /// Adds an entry to a secondary index, checking uniqueness if asked to.
    fn insert_secondary(
        &self,
        txn: &mut Txn,
        index: usize,
        entry: &[u8],
        own: usize,
        unique: bool,
        buffers: (&mut Vec<u8>, &mut Vec<u8>, &mut Vec<u8>),
    ) -> Result<()> {
        if entry.len() > MAX_KEY {
            return Err(Error::KeyTooLong(entry.len()));
        }
        self.ensure_root(index)?;
        if unique {
            self.check_unique(txn, index, &entry[..own], buffers)?;
        }
        let (space, locks) = (self.indexes[index].space, self.ctx.sys.locks());
        while !self.make_live(index, entry, own as u16, txn.id(), Some(txn.owner()))? {
            locks.wait_insert(txn.owner(), space, entry)?;
        }
        Ok(())
    }

    /// Makes sure that no other live row has this key, nor can get it before this transaction ends.
    fn check_unique(
        &self,
        txn: &mut Txn,
        index: usize,
        key: &[u8],
        (resume, other, row): (&mut Vec<u8>, &mut Vec<u8>, &mut Vec<u8>),
    ) -> Result<()> {
        let sys = &self.ctx.sys;
        let space = self.indexes[index].space;
        let (mode, wait) = (LockMode::Exclusive, WaitPolicy::Wait);
        sys.locks().lock(txn.owner(), space, key, mode, wait)?;
        // Those who have the key hold this lock to their end, so only rows that were there before can be in
        // the way. Several entries may be marked, one at most lives.
        let mut seen: Vec<Vec<u8>> = Vec::new();
        loop {
            let me = txn.id();
            let mut candidate = None;
            self.visit_prefix(index, key, resume, other, |clustered, value| {
                let open = value.trx != me && sys.is_active(value.trx);
                let asked = seen.iter().any(|s| s == clustered);
                if candidate.is_none() && !asked && (!value.marked() || open) {
                    candidate = Some(clustered.to_vec());
                }
            })?;
            let Some(clustered) = candidate else {
                return Ok(());
            };
            let request = Request {
                mode: LockMode::Shared,
                policy: WaitPolicy::Wait,
            };
            if let RowLock::Granted(new) =
                self.lock_row(txn, &clustered, request, false, Some(row))?
            {
                if self.has_key(index, row, key, other)? {
                    return Err(Error::DuplicateKey { index });
                }
                if new {
                    self.unlock_record(txn.owner(), &clustered);
                }
            }
            seen.push(clustered);
        }
    }

    fn update_row(
        &self,
        txn: &mut Txn,
        clustered_key: &[u8],
        old: &[u8],
        new: &[u8],
        s: &mut Buffers,
    ) -> Result<()> {
        if new.len() > MAX_ROW {
            return Err(Error::RowTooLarge(new.len()));
        }
        if !self.def.hidden_row_id {
            s.key.clear();
            self.codec.key(0, new, &mut s.key)?;
            if s.key != clustered_key {
                self.delete_row(txn, clustered_key, old, s)?;
                return self.insert_row(txn, None, new, s);
            }
        } else {
            s.key.clear();
            s.key.extend_from_slice(clustered_key);
        }
        if old == new {
            return Ok(());
        }

        let mut changed: SmallVec<[Changed; 4]> = SmallVec::new();
        s.keys.clear();
        for index in 1..self.indexes.len() {
            if self.is_multi(index) {
                self.several_changed(index, clustered_key, (old, new), &mut s.keys, &mut changed)?;
                continue;
            }
            let start = s.keys.len();
            self.codec.key(index, old, &mut s.keys)?;
            s.keys.extend_from_slice(clustered_key);
            let middle = s.keys.len();
            let null = self.codec.key(index, new, &mut s.keys)?;
            let new_len = s.keys.len() - middle;
            s.keys.extend_from_slice(clustered_key);
            let end = s.keys.len();
            if s.keys[start..middle] == s.keys[middle..end] {
                s.keys.truncate(start);
                continue;
            }
            if end - middle > MAX_KEY {
                return Err(Error::KeyTooLong(end - middle));
            }
            changed.push(Changed {
                index,
                old: Some(start..middle),
                new: Some(middle..end),
                new_len,
                unique: self.indexes[index].unique && !null,
            });
        }
        for c in changed.iter().filter(|c| c.unique) {
            let Some(new) = &c.new else { continue };
            let key = &s.keys[new.start..][..c.new_len];
            let buffers = (&mut s.resume, &mut s.other, &mut s.row);
            self.check_unique(txn, c.index, key, buffers)?;
        }

        self.update_clustered(txn, old, new, &changed, s)?;
        self.log_change(clustered_key, Some(old), Some(new));

        for c in &changed {
            if let Some(old) = &c.old {
                self.mark_secondary(c.index, &s.keys[old.clone()], txn.id())?;
            }
            let Some(new) = &c.new else { continue };
            let entry = &s.keys[new.clone()];
            let buffers = (&mut s.resume, &mut s.other, &mut s.row);
            self.insert_secondary(txn, c.index, entry, c.new_len, false, buffers)?;
        }
        Ok(())
    }

    /// What an update changes in an index that has several entries a row; their bytes go into `keys`.
    fn several_changed(
        &self,
        index: usize,
        clustered_key: &[u8],
        (old, new): (&[u8], &[u8]),
        keys: &mut Vec<u8>,
        changed: &mut SmallVec<[Changed; 4]>,
    ) -> Result<()> {
        let (old, new) = (self.keys_of(index, old)?, self.keys_of(index, new)?);
        let mut longest = 0;
        Keys::differences(&old, &new, |new, own| {
            let start = keys.len();
            keys.extend_from_slice(own);
            keys.extend_from_slice(clustered_key);
            let entry = start..keys.len();
            longest = longest.max(entry.len());
            changed.push(Changed {
                index,
                old: (!new).then(|| entry.clone()),
                new: new.then_some(entry),
                new_len: own.len(),
                unique: new && self.indexes[index].unique,
            });
        });
        match longest > MAX_KEY {
            true => Err(Error::KeyTooLong(longest)),
            false => Ok(()),
        }
    }

    /// Replaces the version under `s.key`.
    fn update_clustered(
        &self,
        txn: &mut Txn,
        old: &[u8],
        new: &[u8],
        changed: &[Changed],
        s: &mut Buffers,
    ) -> Result<()> {
        let limit = Self::inline_limit(&s.key);
        let mut dying = None;
        // Of a row of an earlier schema version, `old` is not what is stored.
        let as_is = old.len() <= limit && !self.upgrades;
        if !as_is {
            dying = self.stored_now(&s.key, &mut s.row)?;
        }
        // A tail that stays the same is shared by both versions.
        let shares = dying.is_some()
            && new.len() > limit
            && old.len() > limit
            && old[INLINE_PREFIX..] == new[INLINE_PREFIX..]
            && (!self.upgrades || self.is_stored(&s.key, old)?);
        let flags = if shares {
            s.value.clear();
            s.value.extend_from_slice(&[0; ROW_HEADER]);
            s.value.extend_from_slice(&s.row[..CHAIN_REF]);
            s.value.extend_from_slice(&new[..INLINE_PREFIX]);
            dying = None;
            OVERFLOW
        } else {
            self.store_new(txn, new, s)?
        };
        let stored_old = if as_is { old } else { &s.row[..] };
        let delta = Delta::between(stored_old, &s.value[ROW_HEADER..]);
        let blank = RowHeader::BLANK;
        let keys = changed.iter().filter_map(|c| {
            let old = c.old.clone()?;
            Some((self.indexes[c.index].space.0, &s.keys[old]))
        });
        payload::undo_update(
            &mut s.undo,
            self.def.id,
            &s.key,
            blank,
            delta,
            !changed.is_empty(),
            dying,
        );
        self.put_keys(txn, s.key.len(), keys, &mut s.undo, &mut s.other)?;
        let header_at = payload::undo_header_at(self.def.id, &s.key);

        let middle = delta.prefix..(s.value.len() - ROW_HEADER - delta.suffix);
        let same_length = stored_old.len() == s.value.len() - ROW_HEADER;
        let mut room = self.ctx.sys.reserve(txn, s.undo.len())?;
        let trx = room.trx_id();
        let (value, undo) = (&mut s.value, &mut s.undo);
        self.indexes[0]
            .tree
            .edit_known(&s.key, value.len(), |leaf| {
                let there = self.live_value(leaf)?;
                if &there[ROW_HEADER..] != stored_old {
                    // What the undo record would lead back to is not what was there.
                    return Err(self.corrupt("a row to be changed is not the one that was read"));
                }
                undo[header_at..header_at + ROW_HEADER].copy_from_slice(&there[..ROW_HEADER]);
                let roll = room.append(leaf.mtr(), false, undo);
                value[..ROW_HEADER].copy_from_slice(&RowHeader { flags, trx, roll }.bytes());
                // One operation, or two where the change is far from the header.
                let from = if middle.start < NEAR {
                    0
                } else {
                    leaf.patch(0, &value[..ROW_HEADER]);
                    ROW_HEADER + middle.start
                };
                let changed = &value[from..ROW_HEADER + middle.end];
                if same_length {
                    leaf.patch(from, changed);
                } else {
                    leaf.splice(from, delta.suffix, changed);
                }
                Ok(())
            })
    }

    /// Appends old secondary entries to the undo payload; what does not fit goes into records of its own before it.
    fn put_keys<'k>(
        &self,
        txn: &mut Txn,
        clustered: usize,
        keys: impl Iterator<Item = (u64, &'k [u8])>,
        payload: &mut Vec<u8>,
        more: &mut Vec<u8>,
    ) -> Result<()> {
        /// Bytes beside the key in a list entry, at most.
        const AROUND: usize = 20;
        more.clear();
        for (space, key) in keys {
            if payload.len() + key.len() + AROUND <= MAX_PAYLOAD {
                payload::put_key(payload, space, key);
                continue;
            }
            if more.len() + key.len() + AROUND > MAX_PAYLOAD {
                self.append_alone(txn, more)?;
                more.clear();
            }
            if more.is_empty() {
                payload::undo_keys(more, self.def.id, clustered);
            }
            payload::put_key(more, space, key);
        }
        if !more.is_empty() {
            self.append_alone(txn, more)?;
        }
        Ok(())
    }

    fn append_alone(&self, txn: &mut Txn, payload: &[u8]) -> Result<()> {
        let mut room = self.ctx.sys.reserve(txn, payload.len())?;
        let mut mtr = self.ctx.pager.mtr(0)?;
        room.append(&mut mtr, false, payload);
        mtr.commit();
        Ok(())
    }

    /// Copies the stored row under a clustered key; returns the chain that it has a tail in.
    fn stored_now(&self, key: &[u8], out: &mut Vec<u8>) -> Result<Option<ChainRef>> {
        let flags = self.indexes[0].tree.get(key, |v| {
            out.clear();
            out.extend_from_slice(v.get(ROW_HEADER..).unwrap_or_default());
            v.first().copied().unwrap_or(0)
        })?;
        let gone = || self.corrupt("a locked row is not in the clustered index");
        format::chain_of(flags.ok_or_else(gone)?, out)
    }

    /// Whether the row stored under a clustered key is `row` as it is, written under this schema version.
    fn is_stored(&self, key: &[u8], row: &[u8]) -> Result<bool> {
        let mut value = Vec::new();
        let found = self.indexes[0]
            .tree
            .get(key, |v| value.extend_from_slice(v))?;
        found.ok_or_else(|| self.corrupt("a locked row is not in the clustered index"))?;
        let header = RowHeader::read(&value).ok_or_else(format::cut_short)?;
        self.strip_as_is(header, &mut value)?;
        Ok(value == row)
    }

    /// The value of the live row an edit is about.
    fn live_value<'l>(&self, leaf: &'l LeafEdit<'_, '_>) -> Result<&'l [u8]> {
        match leaf.value() {
            Some(v) if RowHeader::read(v).is_some_and(|h| !h.marked()) => Ok(v),
            _ => Err(self.corrupt("a locked row is not in the clustered index")),
        }
    }

    fn delete_row(
        &self,
        txn: &mut Txn,
        clustered_key: &[u8],
        old: &[u8],
        s: &mut Buffers,
    ) -> Result<()> {
        let mut entries: SmallVec<[(usize, Range<usize>); 8]> = SmallVec::new();
        s.keys.clear();
        for index in 1..self.indexes.len() {
            if self.is_multi(index) {
                for own in self.keys_of(index, old)?.iter() {
                    let start = s.keys.len();
                    s.keys.extend_from_slice(own);
                    s.keys.extend_from_slice(clustered_key);
                    entries.push((index, start..s.keys.len()));
                }
                continue;
            }
            let start = s.keys.len();
            self.codec.key(index, old, &mut s.keys)?;
            s.keys.extend_from_slice(clustered_key);
            entries.push((index, start..s.keys.len()));
        }
        let mut chain = None;
        if old.len() > Self::inline_limit(clustered_key) || self.upgrades {
            chain = self.stored_now(clustered_key, &mut s.row)?;
        }
        let blank = RowHeader::BLANK;
        payload::undo_delete(&mut s.undo, self.def.id, clustered_key, blank, chain);
        let keys = entries
            .iter()
            .map(|(index, range)| (self.indexes[*index].space.0, &s.keys[range.clone()]));
        let own = clustered_key.len();
        self.put_keys(txn, own, keys, &mut s.undo, &mut s.other)?;
        let header_at = payload::undo_header_at(self.def.id, clustered_key);

        let mut room = self.ctx.sys.reserve(txn, s.undo.len())?;
        let trx = room.trx_id();
        let undo = &mut s.undo;
        self.indexes[0].tree.edit_known(clustered_key, 0, |leaf| {
            let there = self.live_value(leaf)?;
            undo[header_at..header_at + ROW_HEADER].copy_from_slice(&there[..ROW_HEADER]);
            let flags = there[0] | format::MARKED;
            let roll = room.append(leaf.mtr(), false, undo);
            leaf.patch(0, &RowHeader { flags, trx, roll }.bytes());
            Ok(())
        })?;
        self.log_change(clustered_key, Some(old), None);
        for (index, range) in entries {
            self.mark_secondary(index, &s.keys[range], trx)?;
        }
        Ok(())
    }
}

/// A change that begins this close to the row's start is logged together with the header.
const NEAR: usize = 32;

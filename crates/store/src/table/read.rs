//! Reading one row: visibility, older versions, unique lookups, and the locks of locking lookups.

use super::counts::RowOp;
use super::format::{self, CHAIN_REF, ROW_HEADER, RowHeader, SecValue};
use super::payload::Undo;
use super::range::Span;
use super::scratch::{Buffers, Scratch};
use super::{ReadMode, Table, chain};
use crate::btree::{Dir, ScanEnd, Tree};
use crate::error::{Error, Result};
use crate::txn::{
    Isolation, Lock, LockMode, Owner, ReadView, RollPtr, TrxId, TryLock, Txn, WaitPolicy,
};
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What a look at the newest version under the leaf's latch gave.
enum Seen {
    /// Nothing visible.
    No,
    /// The row is in the caller's buffer.
    Row,
    /// The whole value is in the caller's buffer: its tail or an older version is to be fetched.
    Value,
}

/// What a locking look at a row under the leaf's latch gave.
enum Locked {
    /// No live row; the gap is locked where gaps are.
    Absent,
    /// Locked; the value's bytes are in the caller's buffer. Whether the lock is new.
    Value(bool),
    /// Wait for it.
    Conflict,
    /// The value is no row's.
    Damaged,
}

/// A request for a row's lock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub mode: LockMode,
    pub policy: WaitPolicy,
}

/// Outcome of locking a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowLock {
    /// No live row under the key.
    Absent,
    /// Locked and in the caller's buffer; whether the lock is new.
    Granted(bool),
    /// Skipped, as the policy said.
    Skipped,
}

impl Table {
    /// Whether the transaction locks gaps in this table.
    #[inline]
    pub(super) fn locks_gaps(&self, txn: &Txn) -> bool {
        let repeatable = matches!(
            txn.isolation(),
            Isolation::RepeatableRead | Isolation::Serializable
        );
        repeatable && !self.is_temporary()
    }

    /// Unique lookup by a full key of a unique index; the row replaces `row`'s contents.
    /// `clustered_key` gets the clustered key.
    #[inline]
    pub fn get(
        &self,
        txn: &mut Txn,
        index: usize,
        key: &[u8],
        mode: ReadMode,
        clustered_key: &mut Vec<u8>,
        row: &mut Vec<u8>,
    ) -> Result<bool> {
        self.count_read(index);
        match (mode, index) {
            (ReadMode::Consistent, 0) => {
                clustered_key.clear();
                clustered_key.extend_from_slice(key);
                self.read_row(self.view_of(txn, 0)?, key, row)
            }
            (ReadMode::Consistent, _) => {
                let view = self.view_of(txn, index)?;
                self.get_secondary(view, index, key, clustered_key, row)
            }
            (ReadMode::Locking(mode, policy), 0) => {
                clustered_key.clear();
                clustered_key.extend_from_slice(key);
                let gaps = self.locks_gaps(txn);
                let found = self.lock_row(txn, key, Request { mode, policy }, gaps, Some(row))?;
                Ok(matches!(found, RowLock::Granted(_)))
            }
            (ReadMode::Locking(mode, policy), _) => {
                let request = Request { mode, policy };
                self.get_secondary_locking(txn, index, key, request, clustered_key, row)
            }
        }
    }

    /// Counts a row that is looked up.
    #[inline]
    fn count_read(&self, index: usize) {
        if let Some(index) = self.indexes.get(index) {
            index.counts.add(RowOp::Read, 1);
        }
    }

    /// Locks the row that a locking [`Table::get`] finds by a full key of a unique index, for who has no need to see it; whether there
    /// is one.
    pub fn lock_existing(
        &self,
        txn: &mut Txn,
        index: usize,
        key: &[u8],
        mode: LockMode,
        policy: WaitPolicy,
    ) -> Result<bool> {
        self.count_read(index);
        let request = Request { mode, policy };
        if index != 0 {
            let mut s = Scratch::take();
            let Buffers { key: at, row, .. } = &mut *s;
            return self.get_secondary_locking(txn, index, key, request, at, row);
        }
        let gaps = self.locks_gaps(txn);
        let found = self.lock_row(txn, key, request, gaps, None)?;
        Ok(matches!(found, RowLock::Granted(_)))
    }

    /// The view for a read through an index, refused if the index is younger.
    #[inline]
    pub(super) fn view_of<'t>(
        &self,
        txn: &'t mut Txn,
        index: usize,
    ) -> Result<Option<&'t ReadView>> {
        self.index(index)?;
        let view = self.ctx.sys.view(txn);
        if let Some(view) = view {
            self.check_age(view, index)?;
        }
        Ok(view)
    }

    /// Refuses a read through an index that is younger than the view.
    #[inline]
    pub(super) fn check_age(&self, view: &ReadView, index: usize) -> Result<()> {
        let created = self.index(index)?.created.load(Ordering::Relaxed);
        if created != 0 && !view.sees(created) {
            return Err(self.too_young());
        }
        Ok(())
    }

    #[cold]
    fn too_young(&self) -> Error {
        Error::DefinitionChanged(self.def.name.clone())
    }

    /// The version of the row under `key` that the view sees (`None`: the newest). Hold no latch.
    #[inline]
    pub(crate) fn read_row(
        &self,
        view: Option<&ReadView>,
        key: &[u8],
        row: &mut Vec<u8>,
    ) -> Result<bool> {
        let seen = self.indexes[0].tree.get(key, |value| {
            row.clear();
            if let Some(header) = RowHeader::read(value)
                && view.is_none_or(|v| v.sees(header.trx))
            {
                if header.marked() {
                    return Seen::No;
                }
                if !header.overflow() && self.reads_as_is(&value[ROW_HEADER..]) {
                    row.extend_from_slice(&value[ROW_HEADER..]);
                    return Seen::Row;
                }
            }
            row.extend_from_slice(value);
            Seen::Value
        })?;
        match seen {
            Some(Seen::Row) => Ok(true),
            None | Some(Seen::No) => Ok(false),
            Some(Seen::Value) => match self.resolve(view, key, row) {
                // Nothing protects what a reader without a view sees from being freed meanwhile.
                Err(Error::Corrupt(_)) if view.is_none() => self.read_again(key, row),
                r => r,
            },
        }
    }

    /// READ UNCOMMITTED lost a race against whoever freed the row's tail: looks again until the row stays
    /// the same between two attempts.
    #[cold]
    fn read_again(&self, key: &[u8], row: &mut Vec<u8>) -> Result<bool> {
        let mut last = Vec::new();
        loop {
            row.clear();
            let tree = &self.indexes[0].tree;
            if tree
                .get(key, |value| row.extend_from_slice(value))?
                .is_none()
            {
                return Ok(false);
            }
            let same = *row == last;
            last.clone_from(row);
            match self.resolve(None, key, row) {
                Err(Error::Corrupt(_)) if !same => {}
                r => return r,
            }
        }
    }

    /// Turns a clustered value in `row` into the row that the view sees, following undo records and
    /// fetching the tail. Hold no latch.
    pub(super) fn resolve(
        &self,
        view: Option<&ReadView>,
        key: &[u8],
        row: &mut Vec<u8>,
    ) -> Result<bool> {
        if let Some(view) = view
            && !self.older(key, row, |trx| view.sees(trx))?
        {
            return Ok(false);
        }
        let header = RowHeader::read(row).ok_or_else(format::cut_short)?;
        if header.marked() {
            return Ok(false);
        }
        self.strip(header, row)?;
        Ok(true)
    }

    /// Walks a clustered value back to the newest version that `sees` accepts; `false` if there is none.
    pub(super) fn older(
        &self,
        key: &[u8],
        value: &mut Vec<u8>,
        sees: impl Fn(TrxId) -> bool,
    ) -> Result<bool> {
        let mut s = Scratch::take();
        loop {
            let header = RowHeader::read(value).ok_or_else(format::cut_short)?;
            if sees(header.trx) {
                return Ok(true);
            }
            if is_first(header.roll) {
                return Ok(false);
            }
            self.ctx.sys.read_undo(header.roll, &mut s.undo)?;
            let (table, undo) = Undo::read(&s.undo)?;
            if table != self.def.id || undo.key() != Some(key) {
                return Err(self.corrupt("a row's roll pointer leads to another row's undo record"));
            }
            apply_undo(&undo, value)?;
        }
    }

    /// Whether a stored row, which is whole, is what the definition makes of it.
    #[inline]
    pub(super) fn reads_as_is(&self, stored: &[u8]) -> bool {
        !self.upgrades || self.codec.is_current(stored)
    }

    /// Turns a clustered value into the row as the definition has it: drops the header, fetches the tail.
    pub(super) fn strip(&self, header: RowHeader, value: &mut Vec<u8>) -> Result<()> {
        self.strip_as_is(header, value)?;
        if self.reads_as_is(value) {
            return Ok(());
        }
        let mut row = Vec::with_capacity(value.len() + value.len() / 4);
        self.codec.upgrade(value, &mut row)?;
        *value = row;
        Ok(())
    }

    /// The same, of the row as it was written.
    pub(super) fn strip_as_is(&self, header: RowHeader, value: &mut Vec<u8>) -> Result<()> {
        let chain = format::chain_of(header.flags, &value[ROW_HEADER..])?;
        let head = ROW_HEADER + if chain.is_some() { CHAIN_REF } else { 0 };
        value.copy_within(head.., 0);
        value.truncate(value.len() - head);
        match chain {
            Some(c) => chain::read(&self.ctx, self.indexes[0].tree.space(), &c, value),
            None => Ok(()),
        }
    }

    fn get_secondary(
        &self,
        view: Option<&ReadView>,
        index: usize,
        key: &[u8],
        clustered_key: &mut Vec<u8>,
        row: &mut Vec<u8>,
    ) -> Result<bool> {
        let mut s = Scratch::take();
        let s = &mut *s;
        // Entries with this key, most often one: (sure, key) in `s.keys`, each after its length.
        s.keys.clear();
        self.visit_prefix(
            index,
            key,
            &mut s.resume,
            &mut s.other,
            |clustered, value| {
                let sure = view.is_some_and(|v| value.decides(v));
                // Without a view the newest state counts, and marked is gone.
                if !(value.marked() && (sure || view.is_none())) {
                    s.keys.push(u8::from(sure));
                    format::put_bytes(&mut s.keys, clustered);
                }
            },
        )?;
        let mut candidates = format::Reader(&s.keys);
        while !candidates.0.is_empty() {
            let sure = candidates.byte()? != 0;
            let clustered = candidates.bytes()?;
            if !self.read_row(view, clustered, row)? {
                continue;
            }
            if !sure && !self.has_key(index, row, key, &mut s.value)? {
                continue;
            }
            clustered_key.clear();
            clustered_key.extend_from_slice(clustered);
            return Ok(true);
        }
        Ok(false)
    }

    /// Whether `row`'s key in the index is `key`, or one of its keys there.
    pub(super) fn has_key(
        &self,
        index: usize,
        row: &[u8],
        key: &[u8],
        buffer: &mut Vec<u8>,
    ) -> Result<bool> {
        if self.is_multi(index) {
            return Ok(self.keys_of(index, row)?.contains(key));
        }
        buffer.clear();
        self.codec.key(index, row, buffer)?;
        Ok(buffer.as_slice() == key)
    }

    /// Visits the entries of a secondary index whose own key part is `key`: clustered key, value.
    pub(super) fn visit_prefix(
        &self,
        index: usize,
        key: &[u8],
        resume: &mut Vec<u8>,
        next: &mut Vec<u8>,
        f: impl FnMut(&[u8], SecValue),
    ) -> Result<()> {
        visit_key(&self.index(index)?.tree, key, resume, next, f)
    }

    fn get_secondary_locking(
        &self,
        txn: &mut Txn,
        index: usize,
        key: &[u8],
        request: Request,
        clustered_key: &mut Vec<u8>,
        row: &mut Vec<u8>,
    ) -> Result<bool> {
        let mut s = Scratch::take();
        let s = &mut *s;
        let tree = &self.index(index)?.tree;
        let mut gap_locked = !self.locks_gaps(txn);
        loop {
            s.keys.clear();
            let sys = &self.ctx.sys;
            let me = txn.id();
            self.visit_prefix(
                index,
                key,
                &mut s.resume,
                &mut s.other,
                |clustered, value| {
                    // One that an unfinished transaction marked may come back.
                    if !value.marked() || (value.trx != me && sys.is_active(value.trx)) {
                        format::put_bytes(&mut s.keys, clustered);
                    }
                },
            )?;
            let mut candidates = format::Reader(&s.keys);
            while !candidates.0.is_empty() {
                let clustered = candidates.bytes()?;
                match self.lock_row(txn, clustered, request, false, Some(row))? {
                    RowLock::Granted(new) => {
                        if self.has_key(index, row, key, &mut s.value)? {
                            clustered_key.clear();
                            clustered_key.extend_from_slice(clustered);
                            return Ok(true);
                        }
                        if new {
                            self.unlock_record(txn.owner(), clustered);
                        }
                    }
                    RowLock::Absent => {}
                    RowLock::Skipped => return Ok(false),
                }
            }
            if gap_locked {
                return Ok(false);
            }
            // Lock first, then make sure that nothing slipped in before.
            let span = Span::prefix(key);
            let (lower, upper) = span.bounds();
            let locks = self.ctx.sys.locks();
            locks.lock_gap(txn.owner(), tree.space().id, lower, upper);
            gap_locked = true;
        }
    }

    /// Locks the live row under a clustered key, waiting as the policy says, and copies its newest version to `row`. With
    /// `gap` an absent row's place is locked against insertion. Hold no latch.
    pub(super) fn lock_row(
        &self,
        txn: &mut Txn,
        key: &[u8],
        request: Request,
        gap: bool,
        row: Option<&mut Vec<u8>>,
    ) -> Result<RowLock> {
        if self.mdl.is_some() {
            self.ctx.sys.locks().room()?;
        }
        let mut waited_new = false;
        let found = self.lock_row_found(txn, key, request, gap, row, &mut waited_new);
        // A lock that was waited for is not kept if there is no row for it, whether that is an answer or an error.
        if waited_new && !gap && !matches!(found, Ok(RowLock::Granted(_))) {
            self.unlock_record(txn.owner(), key);
        }
        found
    }

    /// `waited_new`: a lock was granted after a wait, which the owner did not have before.
    fn lock_row_found(
        &self,
        txn: &mut Txn,
        key: &[u8],
        request: Request,
        gap: bool,
        mut row: Option<&mut Vec<u8>>,
        waited_new: &mut bool,
    ) -> Result<RowLock> {
        let index = &*self.indexes[0];
        let sys = &self.ctx.sys;
        let mut gap_locked = !gap;
        let here = (Bound::Included(key), Bound::Included(key));
        loop {
            let me = txn.id();
            let owner = txn.owner();
            let seen = index.tree.get(key, |value| {
                match self.try_lock_value(owner, me, key, value, request.mode) {
                    RecordLock::Conflict => Locked::Conflict,
                    RecordLock::Damaged => Locked::Damaged,
                    RecordLock::Marked => {
                        if !gap_locked {
                            sys.locks().lock_gap(owner, index.space, here.0, here.1);
                        }
                        Locked::Absent
                    }
                    RecordLock::Granted(new) => {
                        if let Some(row) = &mut row {
                            row.clear();
                            row.extend_from_slice(value);
                        }
                        Locked::Value(new)
                    }
                }
            })?;
            match seen {
                Some(Locked::Value(new)) => {
                    if let Some(row) = row {
                        let header = RowHeader::read(row).ok_or_else(format::cut_short)?;
                        self.strip(header, row)?;
                    }
                    return Ok(RowLock::Granted(new || *waited_new));
                }
                Some(Locked::Damaged) => return Err(self.corrupt_index(0, "has a damaged entry")),
                Some(Locked::Absent) => return Ok(RowLock::Absent),
                None if gap_locked => return Ok(RowLock::Absent),
                None => {
                    // Lock first, then make sure that nothing slipped in before.
                    sys.locks().lock_gap(owner, index.space, here.0, here.1);
                    gap_locked = true;
                }
                Some(Locked::Conflict) => {
                    let locks = sys.locks();
                    match locks.lock(owner, index.space, key, request.mode, request.policy)? {
                        Lock::New => *waited_new = true,
                        Lock::Held => {}
                        Lock::Skipped => return Ok(RowLock::Skipped),
                    }
                }
            }
        }
    }

    /// Tries to lock a row whose value is at hand under the leaf's latch. A delete mark that is
    /// final is no row and is not locked.
    #[inline]
    pub(super) fn try_lock_value(
        &self,
        owner: &Arc<Owner>,
        me: TrxId,
        key: &[u8],
        value: &[u8],
        mode: LockMode,
    ) -> RecordLock {
        if self.is_temporary() {
            // Nobody else knows of it, and what is deleted is gone.
            return RecordLock::Granted(false);
        }
        let Some(header) = RowHeader::read(value) else {
            return RecordLock::Damaged;
        };
        let sys = &self.ctx.sys;
        let space = self.indexes[0].space;
        if me != 0 && header.trx == me {
            return if header.marked() {
                RecordLock::Marked
            } else {
                RecordLock::Granted(false)
            };
        }
        if sys.is_active(header.trx) && sys.convert_implicit(header.trx, space, key) {
            return RecordLock::Conflict;
        }
        if header.marked() {
            return RecordLock::Marked;
        }
        match sys.locks().try_lock(owner, space, key, mode) {
            TryLock::New => RecordLock::Granted(true),
            TryLock::Held => RecordLock::Granted(false),
            TryLock::Conflict => RecordLock::Conflict,
        }
    }

    /// Gives a record lock back.
    pub(super) fn unlock_record(&self, owner: &Arc<Owner>, key: &[u8]) {
        self.ctx
            .sys
            .locks()
            .unlock(owner, self.indexes[0].space, key);
    }
}

/// Visits the entries of a secondary index's tree whose own key part is `key`: clustered key, value.
pub(crate) fn visit_key(
    tree: &Tree,
    key: &[u8],
    resume: &mut Vec<u8>,
    next: &mut Vec<u8>,
    mut f: impl FnMut(&[u8], SecValue),
) -> Result<()> {
    let (mut first, mut damaged) = (true, false);
    loop {
        let mut visit = |entry: &[u8], value: &[u8]| {
            if !entry.starts_with(key) {
                return ControlFlow::Break(());
            }
            let Some(value) = SecValue::read(value) else {
                damaged = true;
                return ControlFlow::Break(());
            };
            if usize::from(value.key_len) == key.len() {
                f(&entry[key.len()..], value);
            }
            ControlFlow::Continue(())
        };
        let end = if first {
            tree.scan_leaf_of(key, next, &mut visit)?
        } else {
            let from = Bound::Excluded(&resume[..]);
            tree.scan_leaf(from, Dir::Forward, next, &mut visit)?
        };
        if damaged {
            return Err(format::cut_short());
        }
        if end != ScanEnd::More {
            return Ok(());
        }
        std::mem::swap(resume, next);
        first = false;
    }
}

/// Outcome of [`Table::try_lock_value`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordLock {
    /// Locked; whether that is new.
    Granted(bool),
    /// Deleted for good (or by the asker).
    Marked,
    /// Wait with no latch held.
    Conflict,
    /// The value is no row's; nothing is locked.
    Damaged,
}

/// Whether no older version exists behind this roll pointer.
#[inline]
pub(super) fn is_first(roll: RollPtr) -> bool {
    roll.0 >> 63 != 0
}

/// Turns a value into the version that `undo`, its roll pointer's record, keeps.
pub(super) fn apply_undo(undo: &Undo<'_>, value: &mut Vec<u8>) -> Result<()> {
    match undo {
        Undo::Update { old, delta, .. } => {
            delta.apply(value, ROW_HEADER)?;
            value[..ROW_HEADER].copy_from_slice(&old.bytes());
            Ok(())
        }
        Undo::Delete { old, .. } => {
            value[..ROW_HEADER].copy_from_slice(&old.bytes());
            Ok(())
        }
        Undo::Insert { .. } | Undo::Keys { .. } | Undo::Chain { .. } => Err(Error::Corrupt(
            "a roll pointer leads to an undo record that keeps no version".into(),
        )),
    }
}

//! Several small indexes at once: the entries of indexes that are new are put into the shared tree, those of dead ones are removed.
//!
//! The indexes have space ids one behind the other, so in the tree nothing lies between their entries. What is put there goes, as a rule, behind all that is
//! there: then a leaf takes as many indexes as it has room for by one operation of one mini-transaction, and what is removed is removed a leaf
//! at a time. An index comes whole, in one mini-transaction, so it is in one leaf as [`super::small`] has it.
//!
//! **Failure.** Indexes that have been put stay: whoever puts them has a grave that names all of them, and nobody knows them until it is gone.

use super::shared::{QUARTER, Shared, bytes_of, full_key, owner_of};
use super::{Cursor, Dir, ScanEnd, Tree};
use crate::error::{Error, Result};
use crate::log::op::Op;
use crate::page::slotted;
use crate::space::SpaceId;
use std::ops::{Bound, ControlFlow, Range};

/// Bytes that an index may have to be put by [`Shared::put`].
pub const MOST_PUT: usize = QUARTER - 64;
/// Bytes left free in a leaf at the tree's end, so that the first rows that come do not split it.
const RESERVE: usize = slotted::CAPACITY / 8;

/// Where the entries of an index are among those of all.
struct Part {
    space: SpaceId,
    records: Range<usize>,
    /// Bytes that they take in a leaf.
    footprint: usize,
}

/// Entries of new small indexes.
#[derive(Default)]
pub struct NewEntries {
    /// As [`slotted::encode_record`] has them, with the keys of the shared tree.
    records: Vec<u8>,
    parts: Vec<Part>,
    key: Vec<u8>,
}

impl NewEntries {
    /// The entries that are added from now on are this index's; ids ascend.
    pub fn begin(&mut self, space: SpaceId) {
        debug_assert!(self.parts.last().is_none_or(|p| p.space < space));
        let end = self.records.len();
        self.parts.push(Part {
            space,
            records: end..end,
            footprint: 0,
        });
    }

    /// Adds an entry of the index begun last; keys ascend. Whether it still has few enough for the shared tree.
    pub fn add(&mut self, key: &[u8], value: &[u8]) -> bool {
        let Some(part) = self.parts.last_mut() else {
            return false;
        };
        self.key.clear();
        self.key.extend_from_slice(&part.space.0.to_be_bytes());
        self.key.extend_from_slice(key);
        slotted::encode_record(&self.key, value, &mut self.records);
        part.footprint += self.key.len() + value.len() + slotted::RECORD_OVERHEAD;
        part.records.end = self.records.len();
        part.footprint <= MOST_PUT
    }

    /// Takes the index begun last back.
    pub fn take_back(&mut self) {
        if let Some(part) = self.parts.pop() {
            self.records.truncate(part.records.start);
        }
    }

    /// The bytes that all of them take.
    pub fn bytes(&self) -> usize {
        self.records.len()
    }

    /// Forgets all, keeping the memory.
    pub fn clear(&mut self) {
        self.records.clear();
        self.parts.clear();
    }

    /// How many indexes from the `at`-th on fit into so many bytes; the first may fill them, a further one leaves some.
    fn fitting(&self, at: usize, room: usize) -> usize {
        let mut used = 0;
        let fits = |(n, part): (usize, &Part)| {
            used += part.footprint;
            used + if n == 0 { 0 } else { RESERVE } <= room
        };
        let parts = self.parts[at..].iter().enumerate();
        parts.map(fits).take_while(|fits| *fits).count()
    }

    /// The records of some indexes, the first of which is the `at`-th.
    fn of(&self, at: usize, count: usize) -> &[u8] {
        &self.records[self.parts[at].records.start..self.parts[at + count - 1].records.end]
    }
}

impl Shared {
    /// Puts entries of new indexes into the tree. Hold no latch.
    pub fn put(&self, new: &NewEntries) -> Result<()> {
        let tree = self.made()?;
        let mut at = 0;
        while at < new.parts.len() {
            at += match new.parts[at].footprint {
                0 => 1,
                _ => self.put_some(tree, new, at)?,
            };
        }
        Ok(())
    }

    /// Puts the `at`-th index, and those after it for which there is room in the leaf at the tree's end; how many.
    fn put_some(&self, tree: &Tree, new: &NewEntries, at: usize) -> Result<usize> {
        let part = &new.parts[at];
        let prefix = full_key(part.space, &[]);
        loop {
            let (mut mtr, leaf) = self.latched(tree, &prefix)?;
            let page = mtr.page(leaf);
            let (count, free) = (slotted::count(page), slotted::free(page));
            let slot = match slotted::search(page, &prefix) {
                Ok(slot) | Err(slot) => slot,
            };
            let there = (slot < count).then(|| slotted::key(page, slot));
            if there.is_some_and(|key| key.starts_with(&prefix)) {
                let what = format!("space {} is new, but has entries", part.space.0);
                return Err(Error::Corrupt(what));
            }
            // Only the last leaf takes whatever comes behind its entries.
            let last = slot == count && slotted::right(page) == 0;
            let fit = match last {
                true => new.fitting(at, free),
                false => usize::from(part.footprint <= free),
            };
            if fit == 0 {
                drop(mtr);
                tree.split(&prefix, part.footprint)?;
                continue;
            }
            let data = new.of(at, fit);
            if slot == count {
                mtr.apply(leaf, Op::Append { data });
            } else {
                for (n, (key, value)) in slotted::decode_records(data).enumerate() {
                    let slot = slot + n as u16;
                    mtr.apply(leaf, Op::Insert { slot, key, value });
                }
            }
            mtr.commit();
            return Ok(fit);
        }
    }

    /// Whether an index of these has entries.
    pub fn has_any(&self, first: SpaceId, last: SpaceId) -> Result<bool> {
        match self.tree() {
            Some(tree) => Ok(first_between(tree, first, last)?.is_some()),
            None => Ok(false),
        }
    }

    /// Bytes that the entries of these indexes take.
    pub fn bytes_of_several(&self, first: SpaceId, last: SpaceId) -> Result<u64> {
        let Some(tree) = self.tree() else {
            return Ok(0);
        };
        let mut cursor = from(first);
        let mut bytes = 0;
        loop {
            let end = cursor.scan(tree, &mut |key, value| {
                if owner_of(key).is_none_or(|id| id > last) {
                    return ControlFlow::Break(());
                }
                bytes += (key.len() + value.len() + slotted::RECORD_OVERHEAD) as u64;
                ControlFlow::Continue(())
            })?;
            if end != ScanEnd::More {
                return Ok(bytes);
            }
        }
    }

    /// Removes the entries of dead indexes from one leaf, the first that has any; bytes that they took, 0: there are none. Nobody uses these
    /// indexes any more. Hold no latch.
    pub fn remove_some(&self, first: SpaceId, last: SpaceId) -> Result<usize> {
        let Some(tree) = self.tree() else {
            return Ok(0);
        };
        let Some(first) = first_between(tree, first, last)? else {
            return Ok(0);
        };
        let prefix = full_key(first, &[]);
        let (mut mtr, leaf) = self.latched(tree, &prefix)?;
        let page = mtr.page(leaf);
        let place = |id: u64| match slotted::search(page, &id.to_be_bytes()) {
            Ok(slot) | Err(slot) => slot,
        };
        let slots = place(first.0)..place(last.0.saturating_add(1));
        let bytes = bytes_of(page, slots.clone());
        if slots.end == slotted::count(page) {
            mtr.apply(leaf, Op::Truncate { slot: slots.start });
        } else {
            for slot in slots.rev() {
                mtr.apply(leaf, Op::Remove { slot });
            }
        }
        mtr.commit();
        tree.shrink(&prefix);
        Ok(bytes)
    }
}

/// A cursor before the first entry of an index.
fn from(space: SpaceId) -> Cursor {
    Cursor::new(Bound::Included(&full_key(space, &[])), Dir::Forward)
}

/// The first of these indexes that has entries.
fn first_between(tree: &Tree, first: SpaceId, last: SpaceId) -> Result<Option<SpaceId>> {
    let mut found = None;
    from(first).scan(tree, &mut |key, _| {
        found = owner_of(key).filter(|id| *id <= last);
        ControlFlow::Break(())
    })?;
    Ok(found)
}

//! States of secondary entries: made live, delete-marked, taken back, purged.

use super::Table;
use super::format::{SEC_VALUE, SecValue, cut_short};
use crate::btree::LeafEdit;
use crate::error::Result;
use crate::txn::{Owner, ReadView, TrxId};
use std::sync::Arc;

fn put(leaf: &mut LeafEdit<'_, '_>, new: SecValue) {
    let mut bytes = [0; SEC_VALUE + 6];
    let len = new.write(&mut bytes);
    match leaf.value().map(<[u8]>::len) {
        None => leaf.insert(&bytes[..len]),
        // Flags and transaction id; the key's length never changes.
        Some(SEC_VALUE) if len == SEC_VALUE => leaf.patch(0, &bytes[..7]),
        Some(_) => leaf.replace(&bytes[..len]),
    }
}

/// The entry that is there.
fn read(leaf: &LeafEdit<'_, '_>) -> Result<Option<SecValue>> {
    let Some(value) = leaf.value() else {
        return Ok(None);
    };
    SecValue::read(value).ok_or_else(cut_short).map(Some)
}

impl Table {
    /// Makes an entry live on behalf of `trx`. With an owner, `false` means that another owner's range
    /// covers the key and nothing was done; rollback passes none, for it only restores.
    pub(super) fn make_live(
        &self,
        index: usize,
        entry: &[u8],
        own: u16,
        trx: TrxId,
        owner: Option<&Arc<Owner>>,
    ) -> Result<bool> {
        let index = &*self.indexes[index];
        index.tree.edit(entry, SEC_VALUE + 6, |leaf| {
            let locks = self.ctx.sys.locks();
            if owner.is_some_and(|o| !locks.may_insert(o, index.space, entry)) {
                return Ok(false);
            }
            let old = read(leaf)?;
            if old.is_none_or(|o| o.marked()) {
                put(leaf, SecValue::made_live(old, trx, own));
            }
            Ok(true)
        })
    }

    /// Delete-marks a live entry.
    pub(super) fn mark_secondary(&self, index: usize, entry: &[u8], trx: TrxId) -> Result<()> {
        self.indexes[index]
            .tree
            .edit(entry, 0, |leaf| match read(leaf)? {
                Some(old) if !old.marked() => {
                    put(leaf, SecValue::made_marked(old, trx));
                    Ok(())
                }
                _ => Err(self.corrupt_index(index, "lacks the entry of a row")),
            })
    }

    /// Undoes what made an entry live.
    pub(super) fn take_back(&self, index: usize, entry: &[u8], trx: TrxId) -> Result<()> {
        let tree = &self.indexes[index].tree;
        if !tree.may_have_entries() {
            return Ok(());
        }
        let seen_by_all = |id| self.ctx.sys.seen_by_all(id);
        // No state before is longer.
        tree.edit(entry, 0, |leaf| {
            let Some(old) = read(leaf)? else {
                return Ok(());
            };
            match old.taken_back(trx, seen_by_all) {
                Some(same) if same == old => {}
                Some(new) => put(leaf, new),
                None => leaf.remove(),
            }
            Ok(())
        })
    }

    /// Undoes what delete-marked an entry.
    pub(super) fn restore_marked(
        &self,
        index: usize,
        entry: &[u8],
        own: usize,
        trx: TrxId,
    ) -> Result<()> {
        self.make_live(index, entry, own as u16, trx, None)?;
        Ok(())
    }

    /// Removes an entry if it is delete-marked and nobody can need it.
    pub(super) fn purge_secondary(
        &self,
        index: usize,
        entry: &[u8],
        oldest: &ReadView,
    ) -> Result<()> {
        let tree = &self.indexes[index].tree;
        if !tree.may_have_entries() {
            return Ok(());
        }
        tree.edit(entry, 0, |leaf| {
            let old = read(leaf)?;
            if old.is_some_and(|o| o.marked() && oldest.sees(o.trx)) {
                leaf.remove();
            }
            Ok(())
        })
    }
}

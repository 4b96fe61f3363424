//! What entries a row has in a secondary index; the entries of one that is built from rows: their keys are sorted first.

use super::format::{SEC_VALUE, SecValue};
use crate::btree::{MAX_KEY, Records};
use crate::catalog::{KeyCodec, Keys};
use crate::error::{Error, Result};
use crate::sort::{GoOn, Sorted, Sorter};
use crate::txn::{Owner, TrxId};

/// Entries between two looks at whether the statement was killed.
const KILL_CHECK_ENTRIES: u64 = 1024;

/// Puts the keys of a row's entries in an index, whichever kind it is of, into `out`; whether one has a part that is NULL.
pub(crate) fn keys_of(
    codec: &dyn KeyCodec,
    index: usize,
    row: &[u8],
    out: &mut Keys,
) -> Result<bool> {
    out.clear();
    if codec.is_multi(index) {
        codec.keys(index, row, out)?;
        return Ok(false);
    }
    let mut null = Ok(false);
    out.add(|bytes| null = codec.key(index, row, bytes));
    null
}

/// Adds a row's entries to those to be sorted; `key` is a buffer.
pub(crate) fn sort_entry(
    codec: &dyn KeyCodec,
    index: usize,
    clustered_key: &[u8],
    row: &[u8],
    key: &mut Vec<u8>,
    sorter: &mut Sorter,
    go_on: &GoOn<'_>,
) -> Result<()> {
    if codec.is_multi(index) {
        let mut keys = Keys::default();
        codec.keys(index, row, &mut keys)?;
        for own in keys.iter() {
            key.clear();
            key.extend_from_slice(own);
            sort_key(own.len(), false, clustered_key, key, sorter, go_on)?;
        }
        return Ok(());
    }
    key.clear();
    let null = codec.key(index, row, key)?;
    sort_key(key.len(), null, clustered_key, key, sorter, go_on)
}

/// Adds an entry whose own key part, of this length, is in `key`.
fn sort_key(
    own: usize,
    null: bool,
    clustered_key: &[u8],
    key: &mut Vec<u8>,
    sorter: &mut Sorter,
    go_on: &GoOn<'_>,
) -> Result<()> {
    key.extend_from_slice(clustered_key);
    if key.len() > MAX_KEY {
        return Err(Error::KeyTooLong(key.len()));
    }
    let [low, high] = (own as u16).to_le_bytes();
    sorter.add(key, &[low, high, u8::from(null)], go_on)
}

/// A live entry that a transaction put where nothing was. 0: as old as anything, and views that do not see the index's transaction are refused.
pub(crate) fn live_entry(key_len: usize, trx: TrxId) -> SecValue {
    SecValue {
        flags: 0,
        trx,
        key_len: key_len as u16,
        origin: 0,
    }
}

/// Sorted keys as entries of the tree to be; checks uniqueness on the way.
pub(crate) struct Entries<'o> {
    sorted: Sorted,
    index: usize,
    unique: bool,
    /// Whose they are.
    trx: TrxId,
    /// Who may be killed meanwhile.
    owner: &'o Owner,
    given: u64,
    /// The key before, without its clustered key; empty: none, or one with a NULL.
    last: Vec<u8>,
    /// The clustered key of the row that has the same key as another.
    duplicate: Option<Vec<u8>>,
    value: [u8; SEC_VALUE + 6],
}

impl Entries<'_> {
    /// Of an index at a position, as old as anything.
    pub fn new(sorted: Sorted, index: usize, unique: bool, owner: &Owner) -> Entries<'_> {
        Entries {
            sorted,
            index,
            unique,
            trx: 0,
            owner,
            given: 0,
            last: Vec::new(),
            duplicate: None,
            value: [0; SEC_VALUE + 6],
        }
    }

    /// The same, put there by a transaction.
    pub fn of(self, trx: TrxId) -> Self {
        Entries { trx, ..self }
    }

    /// After `DuplicateKey`: the clustered key of the second row.
    pub fn duplicate(&mut self) -> Option<Vec<u8>> {
        self.duplicate.take()
    }
}

impl Records for Entries<'_> {
    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        self.given += 1;
        if self.given.is_multiple_of(KILL_CHECK_ENTRIES) {
            self.owner.progress().add(KILL_CHECK_ENTRIES);
            if self.owner.is_killed() {
                return Err(Error::Interrupted);
            }
        }
        let Some((key, note)) = self.sorted.next()? else {
            return Ok(None);
        };
        let own = usize::from(u16::from_le_bytes([note[0], note[1]]));
        if self.unique {
            let null = note[2] != 0;
            if !null && !self.last.is_empty() && self.last == key[..own] {
                self.duplicate = Some(key[own..].to_vec());
                return Err(Error::DuplicateKey { index: self.index });
            }
            self.last.clear();
            if !null {
                self.last.extend_from_slice(&key[..own]);
            }
        }
        let len = live_entry(own, self.trx).write(&mut self.value);
        Ok(Some((key, &self.value[..len])))
    }
}

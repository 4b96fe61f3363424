//! What becomes of a table's rows while an index is built from them, as far as the index is concerned, or while they are written anew.
//!
//! A row log holds *entries in doubt*: keys of the new index, each with a clustered key. It does not say what is to be done about
//! them. Whoever takes an entry from the log looks at the row, and the new index is to have the entry if the newest version of the row,
//! finished or not, is live and has that key. Where the whole table is written anew the entries are clustered keys alone, each with the
//! partition that it is of, and the new table is to have the newest version of the row, if it is live. All partitions of a table share one log.
//!
//! **Invariants.**
//! 1. *Nothing is missed.* Whoever changes a clustered entry (insert, update, delete, and the undo of each) puts the old and the
//!    new version's entries into the log, where they differ, after the change and before the end of its transaction.
//! 2. *No order is needed.* The builder looks at a row after it has taken the entry from the log. A change that it does not see
//!    is made later than that, and by (1) puts the entry into the log once more. So changes need no latch in common with the log,
//!    entries may be repeated, and looking at them twice is harmless.
//! 3. *There is an end.* Log and view begin in the builder's exclusive metadata lock: all changes before are committed and in the view,
//!    all later ones in the log. Once the builder has that lock again, nobody has an unfinished change of
//!    the table, and nothing comes into the log any more. When it is empty then, the new index is that of the committed rows, none of
//!    its entries delete-marked: there is nothing in it for rollback or purge, whose records know nothing of it.
//!
//! Purge takes away rows that are not live; that changes nothing in the index.
//!
//! **Failure.** A change never fails because of the log. A log that grows beyond its limit, or meets a row that has
//! no key in the new index, is given up, and the build fails.

use super::Table;
use super::entries::keys_of;
use crate::btree::MAX_KEY;
use crate::catalog::{KeyCodec, Keys};
use crate::error::{Error, Result};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Bytes of a chunk: what is taken from the log at a time.
const CHUNK: usize = 16 << 10;
/// Bytes before an entry: its length, and that of the index's own key part, or the partition's position.
const HEAD: usize = 4;

/// A log of entries in doubt.
pub(crate) struct RowLog {
    /// The new index: its position in the definition that the codec is of. `None`: all of a row is new.
    index: Option<(Arc<dyn KeyCodec>, usize)>,
    /// Bytes it may hold.
    limit: Arc<AtomicU64>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    chunks: VecDeque<Vec<u8>>,
    bytes: u64,
    failed: Option<Error>,
}

impl RowLog {
    pub fn new(codec: Arc<dyn KeyCodec>, index: usize, limit: Arc<AtomicU64>) -> RowLog {
        RowLog {
            index: Some((codec, index)),
            limit,
            state: Mutex::default(),
        }
    }

    /// A log of whole rows.
    pub fn of_rows(limit: Arc<AtomicU64>) -> RowLog {
        RowLog {
            index: None,
            limit,
            state: Mutex::default(),
        }
    }

    /// Puts the keys of a row's entries in the new index into `out`; whether a part of one is NULL.
    pub fn keys(&self, row: &[u8], out: &mut Keys) -> Result<bool> {
        match &self.index {
            Some((codec, index)) => keys_of(&**codec, *index, row, out),
            None => Ok(false),
        }
    }

    /// A row has changed from one version to another. `part`: the position of its partition; 0 without.
    pub fn changed(&self, part: u16, clustered_key: &[u8], old: Option<&[u8]>, new: Option<&[u8]>) {
        if self.index.is_none() {
            self.add_row(part, clustered_key);
        } else if let Err(e) = self.add(clustered_key, old, new) {
            self.give_up(&mut self.state.lock(), e);
        }
    }

    fn add_row(&self, part: u16, clustered_key: &[u8]) {
        let mut entry = Vec::with_capacity(HEAD + clustered_key.len());
        entry.extend_from_slice(&(clustered_key.len() as u16).to_le_bytes());
        entry.extend_from_slice(&part.to_le_bytes());
        entry.extend_from_slice(clustered_key);
        self.append(&entry);
    }

    fn add(&self, clustered_key: &[u8], old: Option<&[u8]>, new: Option<&[u8]>) -> Result<()> {
        let (mut was, mut is) = (Keys::default(), Keys::default());
        for (row, keys) in [(old, &mut was), (new, &mut is)] {
            if let Some(row) = row {
                self.keys(row, keys)?;
            }
        }
        let mut differ: Vec<&[u8]> = Vec::new();
        Keys::differences(&was, &is, |_, key| differ.push(key));
        let mut entry = Vec::new();
        for own in differ {
            let len = own.len() + clustered_key.len();
            if len > MAX_KEY {
                return Err(Error::KeyTooLong(len));
            }
            entry.clear();
            entry.extend_from_slice(&(len as u16).to_le_bytes());
            entry.extend_from_slice(&(own.len() as u16).to_le_bytes());
            entry.extend_from_slice(own);
            entry.extend_from_slice(clustered_key);
            self.append(&entry);
        }
        Ok(())
    }

    fn append(&self, entry: &[u8]) {
        let mut state = self.state.lock();
        if state.failed.is_some() {
            return;
        }
        let full = |c: &Vec<u8>| c.len() + entry.len() > CHUNK;
        if state.chunks.back().is_none_or(full) {
            state.chunks.push_back(Vec::with_capacity(CHUNK));
        }
        if let Some(last) = state.chunks.back_mut() {
            last.extend_from_slice(entry);
        }
        state.bytes += entry.len() as u64;
        if state.bytes > self.limit() {
            self.give_up(&mut state, Error::RowLogFull);
        }
    }

    fn give_up(&self, state: &mut State, why: Error) {
        state.chunks = VecDeque::new();
        state.bytes = 0;
        state.failed.get_or_insert(why);
    }

    pub fn limit(&self) -> u64 {
        self.limit.load(Ordering::Relaxed)
    }

    /// Bytes in it.
    pub fn len(&self) -> Result<u64> {
        let state = self.state.lock();
        match &state.failed {
            None => Ok(state.bytes),
            Some(e) => Err(e.clone()),
        }
    }

    /// Takes the oldest chunk.
    pub fn take(&self) -> Result<Option<Vec<u8>>> {
        let mut state = self.state.lock();
        if let Some(e) = &state.failed {
            return Err(e.clone());
        }
        let chunk = state.chunks.pop_front();
        state.bytes -= chunk.as_ref().map_or(0, |c| c.len() as u64);
        Ok(chunk)
    }
}

/// A chunk's entries, each with the length of its own key part, or its partition's position: sorted, none twice.
pub(crate) fn entries(mut chunk: &[u8]) -> Vec<(&[u8], usize)> {
    let mut out = Vec::new();
    while let Some((head, rest)) = chunk.split_first_chunk::<HEAD>() {
        let [len, with] = [[head[0], head[1]], [head[2], head[3]]].map(u16::from_le_bytes);
        let (entry, rest) = rest.split_at(usize::from(len));
        out.push((entry, usize::from(with)));
        chunk = rest;
    }
    out.sort_unstable();
    out.dedup();
    out
}

/// A row log as those who change a table's rows know it.
#[derive(Clone)]
pub(crate) struct Logged {
    pub log: Arc<RowLog>,
    /// The position of the table among the partitions of which the log is; 0 without.
    pub part: u16,
}

impl Logged {
    /// A row has changed from one version to another.
    pub fn changed(&self, clustered_key: &[u8], old: Option<&[u8]>, new: Option<&[u8]>) {
        self.log.changed(self.part, clustered_key, old, new);
    }
}

/// Where those who change a table's rows find the log that they are to write.
#[derive(Default)]
pub(crate) struct Slot {
    on: AtomicBool,
    log: Mutex<Option<Logged>>,
}

impl Slot {
    /// The log, if an index is being built or the table is being written anew.
    #[inline]
    pub fn get(&self) -> Option<Logged> {
        if !self.on.load(Ordering::Acquire) {
            return None;
        }
        self.log.lock().clone()
    }

    /// Puts a log there or takes it away. The caller has the table's metadata lock exclusively, or the build has failed.
    pub fn set(&self, log: Option<Logged>) {
        let mut slot = self.log.lock();
        self.on.store(log.is_some(), Ordering::Release);
        *slot = log;
    }
}

impl Table {
    /// Notes a row change for the index that is being built or the table that is being written anew, if there is one. To be called after the
    /// clustered entry has changed.
    #[inline]
    pub(super) fn log_change(&self, clustered_key: &[u8], old: Option<&[u8]>, new: Option<&[u8]>) {
        if let Some(logged) = self.core.row_log.get() {
            logged.changed(clustered_key, old, new);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The row is the key; an empty one has none.
    struct Whole;

    impl KeyCodec for Whole {
        fn key(&self, _: usize, row: &[u8], out: &mut Vec<u8>) -> Result<bool> {
            if row.is_empty() {
                return Err(Error::Corrupt("an empty row".into()));
            }
            out.extend_from_slice(row);
            Ok(false)
        }
    }

    fn log(limit: u64) -> RowLog {
        RowLog::new(Arc::new(Whole), 1, Arc::new(AtomicU64::new(limit)))
    }

    #[test]
    fn what_is_in_doubt_comes_out_once_a_chunk() {
        let log = log(1 << 20);
        log.changed(0, b"1", None, Some(b"b"));
        log.changed(0, b"1", Some(b"b"), Some(b"a"));
        log.changed(0, b"1", Some(b"a"), Some(b"a"));
        log.changed(0, b"2", Some(b"a"), None);
        let chunk = log.take().unwrap().unwrap();
        let found: Vec<&[u8]> = entries(&chunk).iter().map(|(e, _)| *e).collect();
        assert_eq!(found, [b"a1", b"a2", b"b1"]);
        assert!(entries(&chunk).iter().all(|(_, own)| *own == 1));
        assert_eq!(log.len().unwrap(), 0);
        assert!(log.take().unwrap().is_none());
    }

    #[test]
    fn a_log_is_taken_chunk_by_chunk() {
        let log = log(1 << 20);
        let row = [7; 1000];
        for i in 0..200u8 {
            log.changed(0, &[i], None, Some(&row));
        }
        let mut seen = 0;
        while let Some(chunk) = log.take().unwrap() {
            assert!(chunk.len() <= CHUNK);
            seen += entries(&chunk).len();
        }
        assert_eq!((seen, log.len().unwrap()), (200, 0));
    }

    #[test]
    fn a_log_that_is_given_up_says_why() {
        let full = log(100);
        for i in 0..30 {
            full.changed(0, &[i], None, Some(b"abc"));
        }
        assert!(matches!(full.len(), Err(Error::RowLogFull)));
        assert!(matches!(full.take(), Err(Error::RowLogFull)));
        let long = log(1 << 20);
        long.changed(0, &[1; MAX_KEY], None, Some(b"abc"));
        long.changed(0, b"1", None, Some(b""));
        assert!(matches!(long.take(), Err(Error::KeyTooLong(_))));
    }
}

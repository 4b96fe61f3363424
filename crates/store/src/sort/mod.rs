//! External merge sort of (key, value) records within a memory budget.
//!
//! A [`Sorter`] collects records in memory; when the budget is used up it sorts them and spills a *run* to a
//! temporary file. [`Sorter::finish`] gives a [`Sorted`], which merges the runs as it is read. Order
//! is `memcmp` of keys; records with equal keys come out in the order they went in.
//!
//! | file | owns |
//! |---|---|
//! | `file` | temporary files, also for the layer above |
//! | `run` | writing and reading runs, each guarded by a checksum |
//! | `merge` | merging runs |
//! | `order` | sorting in memory |
//!
//! The module takes no locks and knows nothing of pages. It does I/O, so callers hold no latch. Temporary files lie in
//! the folder [`FOLDER`], go when the sorter does, and are never synced; [`clean`] removes at open what a crash
//! left. After an error a sorter is good for nothing but being dropped. Whatever takes longer than some milliseconds (sorting, writing
//! a run, merging runs into longer ones) asks its caller now and then whether to go on ([`GoOn`]).

mod file;
mod merge;
mod order;
mod run;
#[cfg(test)]
mod tests;

use crate::btree::Records;
use crate::error::{Error, Result};
use crate::io::Storage;
pub use file::{Piece, TempFile};
use merge::Merge;
use run::{Run, RunWriter};
use std::sync::Arc;

/// Where temporary files lie.
pub const FOLDER: &str = "tmp";

/// Memory given to reading one run, where there is enough.
const RUN_BUFFER: usize = 64 << 10;
/// The same, where there is not: more runs are merged at once rather than some of them twice.
const LEAST_RUN_BUFFER: usize = 16 << 10;

/// Runs that are merged at once, however long their records.
const LEAST_FAN_IN: usize = 4;
/// The least that a sorter works with, in bytes.
pub const LEAST_BUDGET: usize = 256 << 10;

/// Asked in the middle of long work; an error ends it and is its result.
pub type GoOn<'c> = dyn Fn() -> Result<()> + 'c;

/// Removes temporary files that an earlier process left.
pub fn clean(storage: &dyn Storage) -> Result<()> {
    let io = |what: String| move |e: std::io::Error| Error::io(what, &e);
    let names = match storage.list(FOLDER) {
        Ok(names) => names,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(Error::io(format!("{FOLDER}: list"), &e)),
    };
    for name in names {
        let path = format!("{FOLDER}/{name}");
        storage
            .remove(&path)
            .map_err(io(format!("{path}: remove")))?;
    }
    Ok(())
}

/// A record in the arena: its place, and the first eight key bytes as a number.
#[derive(Clone, Copy)]
struct Entry {
    head: u64,
    at: usize,
}

/// Bytes before a record's key, in memory and in runs: key length u32, value length u32.
const RECORD_HEADER: usize = 8;

/// Splits a record at the start of `bytes`; the whole of it is there.
#[inline]
fn record(bytes: &[u8]) -> (&[u8], &[u8]) {
    let (key_len, value_len) = lengths(bytes);
    bytes[RECORD_HEADER..RECORD_HEADER + key_len + value_len].split_at(key_len)
}

#[inline]
fn lengths(bytes: &[u8]) -> (usize, usize) {
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    (word(0) as usize, word(4) as usize)
}

/// The first eight bytes of a key as a number that orders as they do.
#[inline]
fn head_of(key: &[u8]) -> u64 {
    if let Some(eight) = key.first_chunk::<8>() {
        return u64::from_be_bytes(*eight);
    }
    let mut b = [0; 8];
    b[..key.len()].copy_from_slice(key);
    u64::from_be_bytes(b)
}

/// Takes records in any order.
pub struct Sorter {
    storage: Arc<dyn Storage>,
    budget: usize,
    arena: Vec<u8>,
    entries: Vec<Entry>,
    /// By number, what runs lie in.
    files: Vec<Option<TempFile>>,
    runs: Vec<Run>,
    spilled_bytes: u64,
    records: u64,
    /// Bytes of the longest record: reading a run takes a buffer for one.
    longest: usize,
}

impl Sorter {
    /// A sorter that uses about `budget` bytes of memory ([`LEAST_BUDGET`] at least).
    pub fn new(storage: Arc<dyn Storage>, budget: usize) -> Sorter {
        Sorter {
            storage,
            budget: budget.max(LEAST_BUDGET),
            arena: Vec::new(),
            entries: Vec::new(),
            files: Vec::new(),
            runs: Vec::new(),
            spilled_bytes: 0,
            records: 0,
            longest: 0,
        }
    }

    /// Changes the budget, within the bounds of [`Sorter::new`].
    pub fn set_budget(&mut self, budget: usize) {
        self.budget = budget.max(LEAST_BUDGET);
    }

    /// Bytes of memory that a record with this much key and value takes.
    pub fn cost(key: usize, value: usize) -> usize {
        RECORD_HEADER + key + value + size_of::<Entry>()
    }

    /// Adds a record. If others must be written to a file for it, `go_on` is asked.
    pub fn add(&mut self, key: &[u8], value: &[u8], go_on: &GoOn<'_>) -> Result<()> {
        let len = RECORD_HEADER + key.len() + value.len();
        self.longest = self.longest.max(len);
        if self.memory() + len + size_of::<Entry>() > self.budget && !self.entries.is_empty() {
            self.spill(go_on)?;
        }
        let (Ok(key_len), Ok(value_len)) = (u32::try_from(key.len()), u32::try_from(value.len()))
        else {
            return Err(Error::RowTooLarge(len));
        };
        reserve(&mut self.arena, len, self.budget);
        reserve(&mut self.entries, 1, self.budget / size_of::<Entry>());
        let at = self.arena.len();
        self.arena.extend_from_slice(&key_len.to_le_bytes());
        self.arena.extend_from_slice(&value_len.to_le_bytes());
        self.arena.extend_from_slice(key);
        self.arena.extend_from_slice(value);
        self.entries.push(Entry {
            head: head_of(key),
            at,
        });
        self.records += 1;
        Ok(())
    }

    /// Records added.
    pub fn len(&self) -> u64 {
        self.records
    }

    /// Whether none was added.
    pub fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// Sorts what remains; the result reads the records in order.
    pub fn finish(mut self, go_on: &GoOn<'_>) -> Result<Sorted> {
        if self.runs.is_empty() {
            self.sort(go_on)?;
            let (arena, entries) = (self.arena, self.entries);
            return Ok(Sorted {
                source: Source::Memory {
                    arena,
                    entries,
                    next: 0,
                },
                merge_passes: 0,
                spilled_bytes: 0,
            });
        }
        if !self.entries.is_empty() {
            self.spill(go_on)?;
        }
        self.arena = Vec::new();
        self.entries = Vec::new();
        let fan_in = (self.budget / LEAST_RUN_BUFFER.max(self.longest)).max(LEAST_FAN_IN);
        let mut merge_passes = 1;
        while self.runs.len() > fan_in {
            self.merge_some(fan_in, go_on)?;
            merge_passes += 1;
        }
        let merge = Merge::new(&self.files, &self.runs, self.budget / self.runs.len())?;
        Ok(Sorted {
            source: Source::Runs {
                merge,
                _files: self.files,
            },
            merge_passes,
            spilled_bytes: self.spilled_bytes,
        })
    }

    /// Merges neighbouring runs, `fan_in` at a time, until there are as few as that or each was merged once. Equal keys stay in order,
    /// for neighbours are merged. The first runs are the shortest: the budget may have grown since.
    fn merge_some(&mut self, fan_in: usize, go_on: &GoOn<'_>) -> Result<()> {
        let mut to = TempFile::create(&self.storage)?;
        let number = self.files.len();
        let mut excess = self.runs.len() - fan_in;
        let mut longer = Vec::with_capacity(fan_in);
        let mut rest = &self.runs[..];
        while excess > 0 && rest.len() > 1 {
            let (group, others) = rest.split_at(fan_in.min(excess + 1).min(rest.len()));
            let mut merge = Merge::new(
                &self.files,
                group,
                RUN_BUFFER.min(self.budget / group.len()),
            )?;
            let mut writer = RunWriter::new(&mut to, number);
            while let Some((key, value)) = merge.next()? {
                writer.add(key, value, go_on)?;
            }
            longer.push(writer.finish(go_on)?);
            excess -= group.len() - 1;
            rest = others;
        }
        longer.extend_from_slice(rest);
        self.spilled_bytes += to.len();
        self.runs = longer;
        self.files.push(Some(to));
        let runs = &self.runs;
        for (n, file) in self.files.iter_mut().enumerate() {
            if !runs.iter().any(|r| r.file == n) {
                *file = None;
            }
        }
        Ok(())
    }

    /// The budget with which what was added is merged with long reads.
    pub fn merge_budget(&self) -> usize {
        // One more for what is in memory.
        match self.runs.len() {
            0 => 0,
            n => (n + 1) * RUN_BUFFER,
        }
    }

    /// Bytes of memory that records take now.
    pub fn memory(&self) -> usize {
        self.arena.len() + self.entries.len() * size_of::<Entry>()
    }

    fn sort(&mut self, go_on: &GoOn<'_>) -> Result<()> {
        let arena = &self.arena[..];
        let key = |e: &Entry| record(&arena[e.at..]).0;
        let by = |a: &Entry, b: &Entry| {
            // Places in the arena ascend in the order of arrival, which makes the sort stable.
            let by_key = a.head.cmp(&b.head).then_with(|| key(a).cmp(key(b)));
            by_key.then_with(|| a.at.cmp(&b.at))
        };
        order::sort(&mut self.entries, by, go_on)
    }

    /// Writes what is in memory as a run.
    fn spill(&mut self, go_on: &GoOn<'_>) -> Result<()> {
        self.sort(go_on)?;
        if self.files.is_empty() {
            self.files.push(Some(TempFile::create(&self.storage)?));
        }
        let file = self.files[0].as_mut().expect("made for runs");
        let before = file.len();
        let mut writer = RunWriter::new(file, 0);
        for e in &self.entries {
            let (key, value) = record(&self.arena[e.at..]);
            writer.add(key, value, go_on)?;
        }
        let run = writer.finish(go_on)?;
        self.spilled_bytes += run.end - before;
        self.runs.push(run);
        self.arena.clear();
        self.entries.clear();
        Ok(())
    }
}

/// Makes room for `more` elements, growing by doubling but not beyond `limit` unless that is not enough.
fn reserve<T>(v: &mut Vec<T>, more: usize, limit: usize) {
    let need = v.len() + more;
    if need > v.capacity() {
        let to = (2 * v.capacity()).max(4096).min(limit).max(need);
        v.reserve_exact(to - v.len());
    }
}

/// The records in order, read once through [`Records::next`].
pub struct Sorted {
    source: Source,
    merge_passes: u32,
    spilled_bytes: u64,
}

enum Source {
    Memory {
        arena: Vec<u8>,
        entries: Vec<Entry>,
        next: usize,
    },
    Runs {
        merge: Merge,
        /// Removed when the sort is dropped.
        _files: Vec<Option<TempFile>>,
    },
}

impl Sorted {
    /// How many times records were merged at most (0: they fitted in memory).
    pub fn merge_passes(&self) -> u32 {
        self.merge_passes
    }

    /// Bytes written to temporary files.
    pub fn spilled_bytes(&self) -> u64 {
        self.spilled_bytes
    }
}

impl Records for Sorted {
    #[inline]
    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        match &mut self.source {
            Source::Memory {
                arena,
                entries,
                next,
            } => {
                let Some(e) = entries.get(*next) else {
                    return Ok(None);
                };
                *next += 1;
                Ok(Some(record(&arena[e.at..])))
            }
            Source::Runs { merge, .. } => merge.next(),
        }
    }
}

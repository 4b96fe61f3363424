//! Rows found by the bytes of a key: the built side of a hash join, the rows of an IN subquery.
//!
//! Rows lie in a hash table as long as the limit and the statement's account allow. When they don't, all go to an external sort by
//! the hash of their key, and from there to a [`RowBuffer`], whose blocks are in the order of hashes: then the first hash of each block
//! is an index over them. A lookup reads one block (more where one key has many rows), whatever number of rows there is;
//! lookups in the order of hashes read each block once, which is how a join that has grown too large goes on (see `hash`).
//! Sorting by hash needs no recursion for parts that turn out too large, and a key of any number of rows is no special case.
//!
//! Rows of one key come back in the order they were added.

use std::cell::Cell;
use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use super::row_buffer::{Place, RowBuffer, RowReader};
use super::sort::Sorter;
use super::state::{Flow, State};
use crate::error::SqlResult;
use crate::memory::{Charge, out_of_memory};

/// Bytes of a block on disk: what a lookup reads.
const BLOCK_BYTES: usize = 16 << 10;
/// Bytes of a block in memory, at least and at most.
const ARENA_BYTES: (usize, usize) = (1 << 10, 256 << 10);
/// What memory a row takes beside its bytes: its entry, twice while the list grows, and its slot.
const ROW_BYTES: usize = 2 * size_of::<Entry>() + 2 * size_of::<Slot>();
/// No further row.
const LAST: u32 = u32::MAX;
/// Bytes of a hash.
const HASH: usize = 8;

/// A row: where its bytes are (length of the key, key, row), and the next with its key.
#[derive(Clone, Copy)]
struct Entry {
    hash: u64,
    block: u32,
    at: u32,
    len: u32,
    next: u32,
}

/// The rows of a key, by position in the list.
struct Slot {
    first: u32,
    last: u32,
}

/// Rows by key.
pub struct KeyedRows<'s> {
    limit: usize,
    /// A row of a key that was there is left out.
    once: bool,
    hasher: DefaultHashBuilder,
    charge: Charge,
    slots: HashTable<Slot>,
    entries: Vec<Entry>,
    arena: Vec<Vec<u8>>,
    spill: Option<Sorter<'s>>,
    disk: Option<Disk<'s>>,
}

struct Disk<'s> {
    /// Hash, length of the key, key, row; by hash.
    rows: RowBuffer<'s>,
    /// The first hash of each block.
    firsts: Vec<u64>,
    /// The reader of the last lookup.
    reader: Cell<Option<Lookup>>,
}

/// A reader, and how far lookups have come.
struct Lookup {
    reader: RowReader,
    /// A hash that was looked up, and the place before the first row that has it or a greater one.
    last: Option<(u64, Place)>,
}

/// The number at the start of bytes, and the rest.
fn word(bytes: &[u8]) -> (usize, &[u8]) {
    let (head, rest) = bytes.split_at(4);
    let mut n = [0; 4];
    n.copy_from_slice(head);
    (u32::from_le_bytes(n) as usize, rest)
}

/// Key and row of an entry's bytes.
fn parts(bytes: &[u8]) -> (&[u8], &[u8]) {
    let (len, rest) = word(bytes);
    rest.split_at(len)
}

impl<'s> KeyedRows<'s> {
    /// None so far; they may take `limit` bytes of memory.
    pub fn new(st: &State<'s>, limit: usize, once: bool) -> KeyedRows<'s> {
        KeyedRows {
            limit,
            once,
            hasher: DefaultHashBuilder::default(),
            charge: st.charge(),
            slots: HashTable::new(),
            entries: Vec::new(),
            arena: Vec::new(),
            spill: None,
            disk: None,
        }
    }

    /// The hash of a key.
    pub fn hash(&self, key: &[u8]) -> u64 {
        self.hasher.hash_one(key)
    }

    /// Whether the rows are on disk. They are then by the order of [`KeyedRows::hash`].
    pub fn is_spilled(&self) -> bool {
        self.disk.is_some()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.spill.is_none() && self.disk.is_none()
    }

    /// Adds a row.
    pub fn add(&mut self, st: &mut State<'s>, key: &[u8], row: &[u8]) -> SqlResult<()> {
        st.tick_bytes(row.len())?;
        let hash = self.hash(key);
        if self.spill.is_none() {
            let cost = 4 + key.len() + row.len() + ROW_BYTES;
            let fits = self.charge.used() + cost <= self.limit
                && self.entries.len() < LAST as usize
                && self.charge.try_grow(cost);
            if fits {
                return self.insert(hash, key, row);
            }
            self.overflow(st)?;
        }
        match &mut self.spill {
            Some(sorter) => put(sorter, hash, key, row),
            None => Ok(()),
        }
    }

    fn bytes(&self, entry: u32) -> &[u8] {
        let e = &self.entries[entry as usize];
        &self.arena[e.block as usize][e.at as usize..][..e.len as usize]
    }

    fn find(&self, hash: u64, key: &[u8]) -> Option<&Slot> {
        self.slots
            .find(hash, |s| parts(self.bytes(s.first)).0 == key)
    }

    fn insert(&mut self, hash: u64, key: &[u8], row: &[u8]) -> SqlResult<()> {
        let found = self.find(hash, key).map(|s| s.last);
        if found.is_some() && self.once {
            return Ok(());
        }
        // The rows after the first need no key.
        let key = if found.is_some() { &[][..] } else { key };
        let n = self.entries.len() as u32;
        let len = 4 + key.len() + row.len();
        let size = u32::try_from(len).map_err(|_| out_of_memory())?;
        let full = |b: &Vec<u8>| b.capacity() - b.len() < len;
        if self.arena.last().is_none_or(full) {
            let grown = self.charge.used() / 4;
            let bytes = grown.clamp(ARENA_BYTES.0, ARENA_BYTES.1).max(len);
            self.arena.push(Vec::with_capacity(bytes));
        }
        let block = self.arena.len() - 1;
        let arena = &mut self.arena[block];
        let at = arena.len() as u32;
        arena.extend_from_slice(&(key.len() as u32).to_le_bytes());
        arena.extend_from_slice(key);
        arena.extend_from_slice(row);
        self.entries.push(Entry {
            hash,
            block: block as u32,
            at,
            len: size,
            next: LAST,
        });
        let entries = &mut self.entries;
        match found {
            None => {
                let slot = Slot { first: n, last: n };
                let of = |s: &Slot| entries[s.first as usize].hash;
                self.slots.insert_unique(hash, slot, of);
            }
            Some(last) => {
                entries[last as usize].next = n;
                let slot = self.slots.find_mut(hash, |s| s.last == last);
                slot.expect("found above").last = n;
            }
        }
        Ok(())
    }

    /// Moves all rows to a sort.
    #[cold]
    fn overflow(&mut self, st: &mut State<'s>) -> SqlResult<()> {
        st.env.effort.spill();
        let mut sorter = Sorter::of(st, u64::MAX, self.limit);
        for slot in &self.slots {
            let (key, _) = parts(self.bytes(slot.first));
            let hash = self.entries[slot.first as usize].hash;
            let mut n = slot.first;
            while n != LAST {
                st.tick()?;
                put(&mut sorter, hash, key, parts(self.bytes(n)).1)?;
                n = self.entries[n as usize].next;
            }
        }
        self.slots = HashTable::new();
        self.entries = Vec::new();
        self.arena = Vec::new();
        self.charge.clear();
        self.spill = Some(sorter);
        Ok(())
    }

    /// Makes what was added ready to be looked up.
    pub fn finish(&mut self, st: &mut State<'s>) -> SqlResult<()> {
        let Some(sorter) = self.spill.take() else {
            return Ok(());
        };
        // What is left beside the sort is kept in memory.
        let mut rows = RowBuffer::new(st, self.limit / 2, BLOCK_BYTES);
        let mut firsts: Vec<u64> = Vec::new();
        let mut last = Vec::new();
        let mut record = Vec::new();
        let (once, charge) = (self.once, &mut self.charge);
        sorter.drain(st, |_, sorted, row| {
            if once {
                if last == sorted {
                    return Ok(Flow::Continue);
                }
                last.clear();
                last.extend_from_slice(sorted);
            }
            let (hash, key) = sorted.split_at(HASH);
            record.clear();
            record.extend_from_slice(hash);
            record.extend_from_slice(&(key.len() as u32).to_le_bytes());
            record.extend_from_slice(key);
            record.extend_from_slice(row);
            if rows.push_bytes(&record)? {
                charge.grow(2 * HASH)?;
                firsts.push(number(hash));
            }
            Ok(Flow::Continue)
        })?;
        self.disk = Some(Disk {
            rows,
            firsts,
            reader: Cell::new(None),
        });
        Ok(())
    }

    /// Calls `f` with the rows of a key, until it stops.
    pub fn each(
        &self,
        st: &mut State<'s>,
        key: &[u8],
        mut f: impl FnMut(&mut State<'s>, &[u8]) -> SqlResult<Flow>,
    ) -> SqlResult<Flow> {
        let hash = self.hash(key);
        if let Some(disk) = &self.disk {
            return disk.each(st, hash, key, &mut f);
        }
        let mut n = self.find(hash, key).map_or(LAST, |s| s.first);
        while n != LAST {
            st.tick()?;
            if f(st, parts(self.bytes(n)).1)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
            n = self.entries[n as usize].next;
        }
        Ok(Flow::Continue)
    }

    /// Whether there are rows of a key.
    pub fn contains(&self, st: &mut State<'s>, key: &[u8]) -> SqlResult<bool> {
        Ok(self.each(st, key, |_, _| Ok(Flow::Stop))? == Flow::Stop)
    }
}

impl<'s> Disk<'s> {
    fn each(
        &self,
        st: &mut State<'s>,
        hash: u64,
        key: &[u8],
        f: &mut dyn FnMut(&mut State<'s>, &[u8]) -> SqlResult<Flow>,
    ) -> SqlResult<Flow> {
        // A lookup inside `f` makes a reader of its own.
        let mut lookup = self.reader.take().unwrap_or_else(|| Lookup {
            reader: self.rows.reader(),
            last: None,
        });
        let flow = self.each_by(&mut lookup, st, hash, key, f)?;
        self.reader.set(Some(lookup));
        Ok(flow)
    }

    fn each_by(
        &self,
        lookup: &mut Lookup,
        st: &mut State<'s>,
        hash: u64,
        key: &[u8],
        f: &mut dyn FnMut(&mut State<'s>, &[u8]) -> SqlResult<Flow>,
    ) -> SqlResult<Flow> {
        let Lookup { reader, last } = lookup;
        // The hash may begin within the block before the first that starts with it.
        let block = self.firsts.partition_point(|first| *first < hash);
        let block = block.saturating_sub(1);
        match last {
            // In the order of hashes each goes on where the one before began: no block is read, no row passed by twice.
            Some((before, place)) if *before <= hash && place.block >= block => {
                reader.go_to(*place);
            }
            _ => reader.seek(block),
        }
        let mut first = true;
        loop {
            let place = reader.place();
            let Some(record) = reader.next(&self.rows)? else {
                break;
            };
            let (h, rest) = record.split_at(HASH);
            let h = number(h);
            if h < hash {
                continue;
            }
            if first {
                first = false;
                *last = Some((hash, place));
            }
            if h > hash {
                break;
            }
            let (k, row) = parts(rest);
            if k != key {
                continue;
            }
            st.tick()?;
            if f(st, row)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }
}

fn number(hash: &[u8]) -> u64 {
    let mut n = [0; HASH];
    n.copy_from_slice(hash);
    u64::from_be_bytes(n)
}

fn put(sorter: &mut Sorter<'_>, hash: u64, key: &[u8], row: &[u8]) -> SqlResult<()> {
    let mut sorted = smallvec::SmallVec::<[u8; 64]>::new();
    sorted.extend_from_slice(&hash.to_be_bytes());
    sorted.extend_from_slice(key);
    sorter.add_bytes(&sorted, row)
}

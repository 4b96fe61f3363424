//! Buffers in the order of their keys' bytes: rows for ORDER BY, of which a LIMIT keeps only the first few in
//! memory, and everything that has outgrown memory. Large ones go to the store's external sort, whose budget grows with what the
//! statement's account gives, up to `sort_buffer_size`.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use millpond_store::btree::Records;
use millpond_store::sort::{self, LEAST_BUDGET};
use millpond_store::{Engine, Error, Owner};
use smallvec::SmallVec;

use super::state::{Flow, State};
use crate::env::{SessionEnv, overdue};
use crate::error::{SqlError, SqlResult};
use crate::memory::{Charge, grow_sort};
use crate::row::{Reader, put_all};
use crate::store_error::store_error;
use crate::value::Value;

/// A record with its key. Records with equal keys keep their order of arrival.
struct Keyed {
    /// The key, then the value.
    bytes: Vec<u8>,
    key: usize,
    arrival: u64,
}

impl Keyed {
    fn key(&self) -> &[u8] {
        &self.bytes[..self.key]
    }
}

impl PartialEq for Keyed {
    fn eq(&self, other: &Keyed) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Keyed {}
impl PartialOrd for Keyed {
    fn partial_cmp(&self, other: &Keyed) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Keyed {
    fn cmp(&self, other: &Keyed) -> Ordering {
        self.key()
            .cmp(other.key())
            .then(self.arrival.cmp(&other.arrival))
    }
}

/// Up to here a LIMIT keeps a heap; beyond, everything is sorted.
const HEAP_ROWS: u64 = 1000;

enum Buffer {
    /// The first few, the largest on top, and the bytes they take.
    Few(BinaryHeap<Keyed>, usize),
    /// All, in memory as far as they were charged.
    All(Box<sort::Sorter>),
}

/// What may end a sort in the middle.
#[derive(Clone, Copy)]
struct Stop<'s> {
    owner: &'s Owner,
    env: &'s SessionEnv,
}

impl Stop<'_> {
    /// Whether to go on, for the store.
    fn go_on(self) -> Result<(), Error> {
        match self.owner.is_killed() || self.env.is_overdue() {
            true => Err(Error::Interrupted),
            false => Ok(()),
        }
    }
    /// What an error of the store means.
    fn error(self, e: Error) -> SqlError {
        match e {
            Error::Interrupted if !self.owner.is_killed() => overdue(),
            e => store_error(e, ""),
        }
    }
}

/// Takes records in any order.
pub struct Sorter<'s> {
    engine: &'s Engine,
    stop: Stop<'s>,
    limit: usize,
    charge: Charge,
    keep: u64,
    arrived: u64,
    buffer: Buffer,
    value: Vec<u8>,
}

impl<'s> Sorter<'s> {
    /// Of whose records the first `keep` are wanted; for `sort_buffer_size`.
    pub fn new(st: &State<'s>, keep: u64) -> Sorter<'s> {
        Sorter::of(st, keep, st.limits.sort)
    }

    /// The same within `limit` bytes.
    pub fn of(st: &State<'s>, keep: u64, limit: usize) -> Sorter<'s> {
        Sorter {
            engine: st.engine,
            stop: Stop {
                owner: st.owner,
                env: st.env,
            },
            limit: limit.max(LEAST_BUDGET),
            charge: st.charge(),
            keep,
            arrived: 0,
            buffer: if keep <= HEAP_ROWS {
                Buffer::Few(BinaryHeap::new(), 0)
            } else {
                Buffer::All(Box::new(st.engine.sorter(LEAST_BUDGET)))
            },
            value: Vec::new(),
        }
    }

    /// Adds a row of values.
    pub fn add(&mut self, key: &[u8], row: &[Value<'_>]) -> SqlResult<()> {
        let mut value = std::mem::take(&mut self.value);
        value.clear();
        put_all(row, &mut value);
        let r = self.add_bytes(key, &value);
        self.value = value;
        r
    }

    /// Adds a record.
    pub fn add_bytes(&mut self, key: &[u8], value: &[u8]) -> SqlResult<()> {
        let arrival = self.arrived;
        self.arrived += 1;
        let stop = self.stop;
        match &mut self.buffer {
            Buffer::All(s) => {
                let cost = sort::Sorter::cost(key.len(), value.len());
                if s.memory() + cost > self.charge.used() {
                    grow_sort(s, &mut self.charge, self.limit, cost)?;
                }
                s.add(key, value, &|| stop.go_on())
                    .map_err(|e| stop.error(e))
            }
            Buffer::Few(heap, held) => {
                if (heap.len() as u64) < self.keep {
                    let bytes = [key, value].concat();
                    *held += bytes.capacity();
                    heap.push(Keyed {
                        bytes,
                        key: key.len(),
                        arrival,
                    });
                } else if let Some(mut top) = heap.peek_mut()
                    && *key < *top.key()
                {
                    // The memory of the one that falls out serves the one that comes in.
                    *held -= top.bytes.capacity();
                    top.bytes.clear();
                    top.bytes.extend_from_slice(key);
                    top.bytes.extend_from_slice(value);
                    *held += top.bytes.capacity();
                    top.key = key.len();
                    top.arrival = arrival;
                }
                let more = held.saturating_sub(self.charge.used());
                if *held > self.limit || !self.charge.try_grow(more) {
                    self.sort_all()?;
                }
                Ok(())
            }
        }
    }

    /// Gives what the heap holds, which is too much for memory, to a sort of everything.
    #[cold]
    fn sort_all(&mut self) -> SqlResult<()> {
        let mut all = Box::new(self.engine.sorter(LEAST_BUDGET));
        let stop = self.stop;
        if let Buffer::Few(heap, _) = &mut self.buffer {
            // Smallest first: those with equal keys in the order of their arrival.
            // What the sort takes beside what goes there is its least.
            self.charge.grow(LEAST_BUDGET)?;
            for k in std::mem::take(heap).into_sorted_vec() {
                let (key, value) = k.bytes.split_at(k.key);
                all.add(key, value, &|| stop.go_on())
                    .map_err(|e| stop.error(e))?;
            }
            self.charge.clear();
            self.charge.grow(LEAST_BUDGET.max(all.memory()))?;
        }
        self.buffer = Buffer::All(all);
        Ok(())
    }

    /// Counts its rows among those that the statement has sorted.
    pub fn count_rows(&self) {
        let counted = &self.stop.env.effort.sort_rows;
        counted.set(counted.get() + self.arrived.min(self.keep));
    }

    /// Calls `f` with the records in order, until it stops.
    pub fn drain(
        self,
        st: &mut State<'s>,
        mut f: impl FnMut(&mut State<'s>, &[u8], &[u8]) -> SqlResult<Flow>,
    ) -> SqlResult<()> {
        match self.buffer {
            Buffer::Few(heap, _) => {
                for k in heap.into_sorted_vec() {
                    st.tick()?;
                    if f(st, k.key(), &k.bytes[k.key..])? == Flow::Stop {
                        break;
                    }
                }
            }
            Buffer::All(mut s) => {
                let mut charge = self.charge;
                let more = s.merge_budget().min(self.limit);
                let more = more.saturating_sub(charge.used());
                if more > 0 && charge.try_grow(more) {
                    s.set_budget(charge.used());
                }
                let stop = self.stop;
                let sorted = s.finish(&|| stop.go_on());
                let mut sorted = sorted.map_err(|e| stop.error(e))?;
                let passes = &stop.env.effort.merge_passes;
                passes.set(passes.get() + u64::from(sorted.merge_passes()));
                while let Some((key, value)) = sorted.next().map_err(|e| store_error(e, ""))? {
                    st.tick_bytes(value.len())?;
                    if f(st, key, value)? == Flow::Stop {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Calls `f` with the rows in order, skipping `offset` and giving `count` at most.
    pub fn rows(
        self,
        st: &mut State<'s>,
        offset: u64,
        count: u64,
        mut f: impl FnMut(&mut State<'s>, &[Value<'_>]) -> SqlResult<Flow>,
    ) -> SqlResult<()> {
        let mut n = 0u64;
        let end = offset.saturating_add(count);
        if count == 0 {
            return Ok(());
        }
        self.drain(st, |st, _, value| {
            n += 1;
            if n <= offset {
                return Ok(Flow::Continue);
            }
            let mut row: SmallVec<[Value<'_>; 8]> = SmallVec::new();
            let mut r = Reader(value);
            while !r.is_empty() {
                row.push(r.value());
            }
            let flow = f(st, &row)?;
            Ok(if n >= end { Flow::Stop } else { flow })
        })
    }
}

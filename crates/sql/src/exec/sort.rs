//! Sorting rows in memory by the bytes of their keys; with a LIMIT only the first rows are kept.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::state::row_bytes;
use crate::value::Value;

/// A row with its key. Rows with equal keys keep their order of arrival.
struct Keyed {
    key: Box<[u8]>,
    arrival: u64,
    row: Box<[Value<'static>]>,
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
        self.key
            .cmp(&other.key)
            .then(self.arrival.cmp(&other.arrival))
    }
}

/// Takes rows in any order.
pub struct Sorter {
    /// How many of the first rows are wanted.
    keep: u64,
    arrived: u64,
    bytes: usize,
    rows: Vec<Keyed>,
    /// Used instead of `rows` once there are more than are wanted: the largest on top.
    heap: BinaryHeap<Keyed>,
}

/// Below this, a LIMIT keeps a heap; above, everything is sorted.
const HEAP_ROWS: u64 = 10_000;

impl Sorter {
    /// Of which the first `keep` rows are wanted.
    pub fn new(keep: u64) -> Sorter {
        Sorter {
            keep,
            arrived: 0,
            bytes: 0,
            rows: Vec::new(),
            heap: BinaryHeap::new(),
        }
    }

    /// Adds a row.
    pub fn add(&mut self, key: &[u8], row: &[Value<'_>]) {
        let arrival = self.arrived;
        self.arrived += 1;
        let keyed = || Keyed {
            key: key.into(),
            arrival,
            row: row.iter().map(|v| v.clone().into_owned()).collect(),
        };
        let size = |row: &[Value<'_>]| key.len() + 48 + row_bytes(row);
        if self.keep > HEAP_ROWS {
            self.bytes += size(row);
            self.rows.push(keyed());
            return;
        }
        if (self.heap.len() as u64) < self.keep {
            self.bytes += size(row);
            self.heap.push(keyed());
        } else if let Some(mut top) = self.heap.peek_mut()
            && *key < *top.key
        {
            *top = keyed();
        }
    }

    /// Bytes held, roughly.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The rows in order.
    pub fn finish(mut self) -> impl Iterator<Item = Box<[Value<'static>]>> {
        if self.heap.is_empty() {
            self.rows.sort_unstable();
        } else {
            self.rows = self.heap.into_sorted_vec();
        }
        self.rows.into_iter().map(|k| k.row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(keep: u64) -> Vec<i64> {
        let mut s = Sorter::new(keep);
        for n in [5i64, 1, 4, 1, 3, 9, 2, 6] {
            s.add(&[n as u8], &[Value::Int(n)]);
        }
        s.finish().map(|r| r[0].to_i64()).collect()
    }

    #[test]
    fn sorts_all_and_some() {
        assert_eq!(run(u64::MAX), [1, 1, 2, 3, 4, 5, 6, 9]);
        assert_eq!(run(3), [1, 1, 2]);
        assert_eq!(run(100), [1, 1, 2, 3, 4, 5, 6, 9]);
    }

    #[test]
    fn equal_keys_keep_their_order() {
        for keep in [2, u64::MAX] {
            let mut s = Sorter::new(keep);
            for n in 0..4 {
                s.add(&[7], &[Value::Int(n)]);
            }
            let got: Vec<i64> = s.finish().map(|r| r[0].to_i64()).collect();
            assert_eq!(got[..2], [0, 1]);
        }
    }
}

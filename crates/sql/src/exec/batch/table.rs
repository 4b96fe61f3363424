//! The built side of a hash join: columns of its rows, and a table of chains over their keys.
//!
//! Chains go through positions: `heads` by the low bits of a key's hash, `next` by position, each chain in ascending order, so that
//! rows of one key come back in the order in which they were read (by one worker). A table is built in one go, when all rows are there, and
//! is not changed after that.

use std::hash::BuildHasher;

use hashbrown::DefaultHashBuilder;

use super::keys::{KeyBytes, KeyValues};
use super::rows::{Columns, NO_ROW};
use super::workers::{Ran, Shared};

/// Rows by key.
pub struct JoinTable {
    /// The rows.
    pub columns: Columns,
    hasher: DefaultHashBuilder,
    heads: Vec<u32>,
    next: Vec<u32>,
    numbers: Vec<Vec<u64>>,
    bytes: Option<KeyBytes>,
}

/// Multiplier of Fibonacci hashing (Knuth, The Art of Computer Programming, 6.4): 2^64 divided by the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

fn mix(hash: u64, n: u64) -> u64 {
    (hash.rotate_left(29) ^ n).wrapping_mul(GOLDEN)
}

impl JoinTable {
    /// Of rows with these keys, none of which is one that matches nothing.
    pub fn new(columns: Columns, keys: KeyValues, shared: &Shared<'_>) -> Ran<JoinTable> {
        let rows = columns.len;
        let slots = (rows * 2).next_power_of_two().max(16);
        shared.charge((slots + rows) * size_of::<u32>())?;
        let mut table = JoinTable {
            columns,
            hasher: DefaultHashBuilder::default(),
            heads: vec![NO_ROW; slots],
            next: vec![NO_ROW; rows],
            numbers: keys.numbers,
            bytes: keys.bytes,
        };
        // From the last to the first, each before those that follow it.
        for row in (0..rows).rev() {
            shared.look(row)?;
            let slot = table.slot(table.hash_of(&table.numbers, table.bytes.as_ref(), row));
            table.next[row] = table.heads[slot];
            table.heads[slot] = row as u32;
        }
        Ok(table)
    }

    fn slot(&self, hash: u64) -> usize {
        (hash >> 20) as usize & (self.heads.len() - 1)
    }

    #[inline]
    fn hash_of(&self, numbers: &[Vec<u64>], bytes: Option<&KeyBytes>, row: usize) -> u64 {
        let mut hash = 0;
        for n in numbers {
            hash = mix(hash, n[row]);
        }
        match bytes {
            Some(b) => mix(hash, self.hasher.hash_one(b.get(row))),
            None => hash,
        }
    }

    /// Calls `f` with (row of the batch, row of this table) for all pairs whose keys are equal, in ascending order of the first.
    /// `first`: only the first pair of each row of the batch.
    #[inline]
    pub fn matches(
        &self,
        keys: &KeyValues,
        rows: usize,
        first: bool,
        mut f: impl FnMut(u32, u32) -> Ran<()>,
    ) -> Ran<()> {
        if let ([own], [asked], None) = (&self.numbers[..], &keys.numbers[..], &self.bytes) {
            return self.one_number(own, asked, keys.never.as_deref(), rows, first, f);
        }
        for row in 0..rows {
            if keys.never.as_ref().is_some_and(|n| n[row]) {
                continue;
            }
            let hash = self.hash_of(&keys.numbers, keys.bytes.as_ref(), row);
            let mut at = self.heads[self.slot(hash)];
            while at != NO_ROW {
                if self.equals(keys, row, at as usize) {
                    f(row as u32, at)?;
                    if first {
                        break;
                    }
                }
                at = self.next[at as usize];
            }
        }
        Ok(())
    }

    #[inline]
    fn one_number(
        &self,
        own: &[u64],
        asked: &[u64],
        never: Option<&[bool]>,
        rows: usize,
        first: bool,
        mut f: impl FnMut(u32, u32) -> Ran<()>,
    ) -> Ran<()> {
        // Slots first: the misses of the cache then overlap.
        let heads: Vec<u32> = asked[..rows]
            .iter()
            .map(|n| self.heads[self.slot(mix(0, *n))])
            .collect();
        for (row, (mut at, n)) in heads.into_iter().zip(asked).enumerate() {
            if never.is_some_and(|never| never[row]) {
                continue;
            }
            while at != NO_ROW {
                if own[at as usize] == *n {
                    f(row as u32, at)?;
                    if first {
                        break;
                    }
                }
                at = self.next[at as usize];
            }
        }
        Ok(())
    }

    fn equals(&self, keys: &KeyValues, row: usize, at: usize) -> bool {
        let mut pairs = self.numbers.iter().zip(&keys.numbers);
        pairs.all(|(own, asked)| own[at] == asked[row])
            && match (&self.bytes, &keys.bytes) {
                (Some(own), Some(asked)) => own.get(at) == asked.get(row),
                _ => true,
            }
    }
}

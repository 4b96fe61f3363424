//! CARDINALITY: about how many values the leading parts of an index have.
//!
//! From a few leaves spread over the tree, as InnoDB does: how often a prefix changes from one key to the next within a leaf
//! is taken for how often it does everywhere; and there are at least as many values as the leaves show. What was found out stays
//! until the table has a tenth more or fewer rows. An index's space never returns, so it names what is kept.

use hashbrown::{HashMap, HashSet};
use parking_lot::Mutex;
use std::sync::Arc;

use millpond_store::{Engine, Table};

use crate::row::key_part_ends;
use crate::types::Schema;

/// Leaves looked at in each index, InnoDB's default.
const LEAVES: u64 = 20;
/// Indexes about which something is kept.
const KEPT: usize = 4096;

/// What was found out, by space. Its mutex is taken alone, and never while looking at a tree.
#[derive(Default)]
pub(crate) struct Cardinalities(Mutex<HashMap<u64, Known>>);

struct Known {
    rows: u64,
    values: Arc<[u64]>,
}

impl Cardinalities {
    /// How many values each index's leading parts have, one after the other, by the schema's order of indexes. `rows`: of the
    /// table. A partitioned table's are its first partitions' with rows, taken for the whole.
    pub fn of(
        &self,
        engine: &Engine,
        table: &Arc<Table>,
        schema: &Schema,
        rows: u64,
    ) -> Vec<Arc<[u64]>> {
        let (sampled, factor) = match &schema.partitioning {
            None => (table.clone(), 1.0),
            Some(p) => {
                let open = |at| p.open(engine, table, at).ok();
                let first = (0..p.parts.len())
                    .filter_map(open)
                    .map(|part| (part.estimate_rows(), part))
                    .find(|(rows, _)| *rows > 0);
                match first {
                    Some((n, part)) => (part, rows as f64 / n as f64),
                    None => (table.clone(), 1.0),
                }
            }
        };
        let each = 0..schema.indexes.len();
        each.map(|i| self.of_index(&sampled, schema, i, rows, factor))
            .collect()
    }

    fn of_index(
        &self,
        table: &Table,
        schema: &Schema,
        index: usize,
        rows: u64,
        factor: f64,
    ) -> Arc<[u64]> {
        let space = table.def().indexes[index].space.0;
        let near = |k: &&Known| k.rows.abs_diff(rows) <= k.rows / 10;
        if let Some(known) = self.0.lock().get(&space).filter(near) {
            return known.values.clone();
        }
        let mut values = sample(table, schema, index, rows, factor);
        // Every row has a value of its own under a whole unique key.
        if schema.indexes[index].unique
            && let Some(last) = values.last_mut()
        {
            *last = rows;
        }
        let values: Arc<[u64]> = values.into();
        let mut kept = self.0.lock();
        if kept.len() >= KEPT {
            kept.clear();
        }
        let known = Known {
            rows,
            values: values.clone(),
        };
        kept.insert(space, known);
        values
    }
}

/// Keys of one index, as far as they were looked at.
struct Sample {
    /// Steps from a key to the next within a leaf.
    steps: u64,
    /// How many of them changed the first, the first two, ... parts.
    changes: Vec<u64>,
    /// Which values these had.
    seen: Vec<HashSet<Vec<u8>>>,
}

/// Values of each number of leading parts that are told apart one by one: enough to tell few from many.
const TOLD_APART: usize = 1000;

fn sample(table: &Table, schema: &Schema, index: usize, rows: u64, factor: f64) -> Vec<u64> {
    let parts = schema.indexes[index].parts.len();
    let mut s = Sample {
        steps: 0,
        changes: vec![0; parts],
        seen: vec![HashSet::new(); parts],
    };
    let (mut before, mut ends) = (Vec::new(), Vec::new());
    // A page that cannot be read leaves what was seen so far: a listing is no place to fail for it.
    let _ = table.sample_keys(index, LEAVES, &mut |first, key| {
        ends.clear();
        if key_part_ends(schema, index, key, &mut ends).is_err() {
            return;
        }
        let same = before.iter().zip(key).take_while(|(a, b)| a == b).count();
        s.steps += u64::from(!first);
        for (part, end) in ends.iter().enumerate() {
            if first || same < *end {
                s.changes[part] += u64::from(!first);
                if s.seen[part].len() < TOLD_APART {
                    s.seen[part].insert(key[..*end].to_vec());
                }
            }
        }
        before.clear();
        before.extend_from_slice(key);
    });
    let of_part = |part: usize| {
        let seen = s.seen[part].len() as u64;
        let rate = s.changes[part] as f64 / s.steps.max(1) as f64;
        let here = rows as f64 / factor;
        let guess = (1.0 + rate * (here - 1.0).max(0.0)) * factor;
        (guess.round() as u64).max(seen).min(rows)
    };
    (0..parts).map(of_part).collect()
}

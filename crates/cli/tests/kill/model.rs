//! What a worker believes the database to hold.

use crate::related::Related;
use std::collections::BTreeMap;

/// id -> (k, c)
pub type Rows = BTreeMap<i64, (i64, String)>;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    pub rows: Rows,
    /// Whether the secondary index `extra` exists.
    pub indexed: bool,
    /// Where its partitions end, if it has any; the last one has no end.
    pub ends: Vec<i64>,
}

/// One worker's world.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct World {
    /// Tables of its own database.
    pub tables: BTreeMap<String, Table>,
    /// Its rows of the shared table.
    pub shared: Rows,
    /// Its tables that refer to each other.
    pub related: Related,
}

impl World {
    /// The first difference from `other`, for people.
    pub fn difference(&self, other: &World) -> String {
        let names = |w: &World| w.tables.keys().cloned().collect::<Vec<_>>();
        if names(self) != names(other) {
            return format!("tables {:?}, not {:?}", names(self), names(other));
        }
        for (name, table) in &self.tables {
            let b = &other.tables[name];
            if table.ends != b.ends {
                return format!(
                    "{name}: partitions end at {:?}, not {:?}",
                    table.ends, b.ends
                );
            }
            if table.indexed != b.indexed {
                return format!("{name}: index {}, not {}", table.indexed, b.indexed);
            }
            if let Some(d) = rows_difference(&table.rows, &b.rows) {
                return format!("{name}: {d}");
            }
        }
        if let Some(d) = self.related.difference(&other.related) {
            return d;
        }
        rows_difference(&self.shared, &other.shared)
            .map_or("none".into(), |d| format!("shared: {d}"))
    }
}

fn rows_difference(a: &Rows, b: &Rows) -> Option<String> {
    let keys: std::collections::BTreeSet<_> = a.keys().chain(b.keys()).collect();
    let differing: Vec<_> = keys.into_iter().filter(|k| a.get(k) != b.get(k)).collect();
    let first = differing.first()?;
    let (n, x, y) = (differing.len(), a.get(first), b.get(first));
    Some(format!(
        "{n} rows differ, the first {first}: {x:?}, not {y:?}"
    ))
}

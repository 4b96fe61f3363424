//! Filling a target's buffer pool with a table, so that there is something for a drop to look through.
//!
//! The table grows by copying a seed table of [`CHUNK`] rows, a statement each, until the target says that so much is cached.

use crate::Result;
use crate::frame::{Lease, PoolPages, Progress, Size, Stop};

/// Rows of the seed, and so of one step.
const CHUNK: u64 = 2048;
/// Bytes of a row's padding: four rows to a page of 16 KiB.
const PAD: usize = 3700;
/// Bytes that a chunk takes in pages, about; the unit of progress.
pub const CHUNK_BYTES: u64 = CHUNK / 4 * (16 << 10);

/// The table `fill` in the lab's database.
#[derive(Default)]
pub struct Fill {
    rows: u64,
}

/// How growing ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filled {
    /// As much is cached as was asked for.
    Enough,
    /// The pool takes no more.
    PoolFull,
    /// It was asked to stop.
    Stopped,
}

impl Fill {
    /// Grows the table until so many bytes are cached.
    pub fn grow_to(
        &mut self,
        lease: &mut Lease<'_>,
        size: Size,
        progress: &Progress,
        stop: &Stop,
    ) -> Result<Filled> {
        loop {
            let pool = lease.pool()?;
            if pool.cached() >= size.0 {
                return Ok(Filled::Enough);
            }
            // Whoever needs frames finds the last of them on the LRU list: a pool is full before nothing is free.
            if pool.total - pool.data.min(pool.total) < pool.total / 50 {
                return Ok(Filled::PoolFull);
            }
            if stop.is_set() {
                return Ok(Filled::Stopped);
            }
            self.step(lease)?;
            progress.add(CHUNK_BYTES >> 20);
        }
    }

    /// Changes rows until a share of the cached pages is dirty, or every page was touched once; the pool afterwards.
    pub fn dirty(&self, lease: &mut Lease<'_>, share: f64, stop: &Stop) -> Result<PoolPages> {
        let mut pool = lease.pool()?;
        let mut from = 0;
        while (pool.dirty as f64) < pool.data as f64 * share && from < self.rows && !stop.is_set() {
            // A page holds four rows, so that one in four touches each.
            let until = from + CHUNK;
            let sql = format!(
                "UPDATE fill SET n = n + 1 WHERE id >= {from} AND id < {until} AND id % 4 = 0"
            );
            lease.client.run(&sql)?;
            from = until;
            pool = lease.pool()?;
        }
        Ok(pool)
    }

    fn step(&mut self, lease: &mut Lease<'_>) -> Result<()> {
        if self.rows == 0 {
            seed(lease)?;
        }
        let sql = format!(
            "INSERT INTO fill SELECT id + {}, n, pad FROM fill_seed",
            self.rows
        );
        lease.client.run(&sql)?;
        self.rows += CHUNK;
        Ok(())
    }
}

fn seed(lease: &mut Lease<'_>) -> Result<()> {
    for table in ["fill_seed", "fill"] {
        lease.client.run(&format!(
            "CREATE TABLE {table} (id INT NOT NULL PRIMARY KEY, n INT NOT NULL, pad VARCHAR({PAD}) NOT NULL)"
        ))?;
    }
    let pad = "millpond ".repeat(PAD / 9 + 1);
    let pad = &pad[..PAD];
    for first in (0..CHUNK).step_by(64) {
        let rows: Vec<String> = (first..first + 64)
            .map(|id| format!("({id},0,'{pad}')"))
            .collect();
        let sql = format!("INSERT INTO fill_seed VALUES {}", rows.join(","));
        lease.client.run(&sql)?;
    }
    Ok(())
}

//! Filling a target's buffer pool with a table, so that there is something for a drop to look through.
//!
//! The table grows by copying a seed table of [`CHUNK`] rows, a statement each, until the target says that so much is cached.

use crate::Result;
use crate::frame::{Lease, PoolPages, Progress, Size, Stop};
use std::time::{Duration, Instant};

/// Rows of the seed, and so of one step.
const CHUNK: u64 = 2048;
/// Bytes of a row's padding: four rows to a page of 16 KiB.
const PAD: usize = 3700;
/// Bytes that a chunk takes in pages, about; the unit of progress.
pub const CHUNK_BYTES: u64 = CHUNK / 4 * (16 << 10);

/// So long without one page written, a target is taken to write no more.
const PATIENCE: Duration = Duration::from_secs(2);

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
    /// Rows that it has.
    pub fn rows(&self) -> u64 {
        self.rows
    }

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

    fn step(&mut self, lease: &mut Lease<'_>) -> Result<()> {
        if self.rows == 0 {
            seed(lease)?;
        }
        let sql = format!(
            "INSERT INTO fill SELECT id + {}, pad FROM fill_seed",
            self.rows
        );
        lease.client.run(&sql)?;
        self.rows += CHUNK;
        Ok(())
    }
}

/// Waits while a target writes dirty pages, until no more than a share of the cached pages is dirty or it stops writing;
/// the pool afterwards. Where the target lets its limit be set, it is set for as long.
pub fn settle(lease: &mut Lease<'_>, share: f64, stop: &Stop) -> Result<PoolPages> {
    let limit = "innodb_max_dirty_pages_pct";
    let before = lease.client.value(&format!("SELECT @@GLOBAL.{limit}"));
    // A target that has no such limit, or a fixed one, writes as it likes.
    let set = |lease: &mut Lease<'_>, to: &str| {
        let sql = format!("SET GLOBAL {limit} = {to}");
        lease.client.run(&sql).is_ok()
    };
    // The limit is a part of all frames, used or not.
    let now = lease.pool()?;
    let percent = share * 100.0 * now.data as f64 / now.total.max(1) as f64;
    let was_set = set(lease, &format!("{:.3}", percent.min(99.0)));
    let waited = wait_for_writing(lease, share, stop);
    if let Ok(Some(before)) = before
        && was_set
    {
        set(lease, &before);
    }
    waited
}

fn wait_for_writing(lease: &mut Lease<'_>, share: f64, stop: &Stop) -> Result<PoolPages> {
    let mut least = u64::MAX;
    let mut since = Instant::now();
    loop {
        let pool = lease.pool()?;
        if pool.dirty < least {
            (least, since) = (pool.dirty, Instant::now());
        }
        let enough = pool.dirty as f64 <= pool.data as f64 * share;
        if enough || since.elapsed() > PATIENCE || stop.is_set() {
            return Ok(pool);
        }
        stop.sleep_until(Instant::now() + Duration::from_millis(50));
    }
}

/// Runs statements that change rows until a share of the cached pages is dirty, or there are no more; the pool afterwards.
pub fn dirty(
    lease: &mut Lease<'_>,
    share: f64,
    mut statements: impl Iterator<Item = String>,
    stop: &Stop,
) -> Result<PoolPages> {
    loop {
        let pool = lease.pool()?;
        if pool.dirty as f64 >= pool.data as f64 * share || stop.is_set() {
            return Ok(pool);
        }
        match statements.next() {
            Some(sql) => lease.client.run(&sql)?,
            None => return Ok(pool),
        };
    }
}

fn seed(lease: &mut Lease<'_>) -> Result<()> {
    for table in ["fill_seed", "fill"] {
        lease.client.run(&format!(
            "CREATE TABLE {table} (id INT NOT NULL PRIMARY KEY, pad VARCHAR({PAD}) NOT NULL)"
        ))?;
    }
    let pad = "millpond ".repeat(PAD / 9 + 1);
    let pad = &pad[..PAD];
    for first in (0..CHUNK).step_by(64) {
        let rows: Vec<String> = (first..first + 64)
            .map(|id| format!("({id},'{pad}')"))
            .collect();
        let sql = format!("INSERT INTO fill_seed VALUES {}", rows.join(","));
        lease.client.run(&sql)?;
    }
    Ok(())
}

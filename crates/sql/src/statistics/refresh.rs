//! Measuring tables anew in the background.
//!
//! A table says when it has had as many changes as were asked for ([`millpond_store::Table::tell_after`]): 100 if nobody has measured it
//! yet, a tenth of its rows (100 at least) after a measure. The instance's thread takes such tables one after the other. It looks
//! at `innodb_stats_persistent_sample_pages` leaves of each index, waits for nobody's metadata lock, rests
//! after each table for as long as bounds it to [`PAGES_PER_SECOND`], and leaves a table alone for [`INTERVAL`] after measuring
//! it, as InnoDB does (a small one for a second), so that tables that change all the time cost no more than that.
//!
//! The thread has a handle to the engine, not to the instance; [`Refresher::stop`], which dropping it does too, ends it.

use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hashbrown::HashMap;
use millpond_store::{ChangedTables, Engine, Table, Txn};

use super::{FEW_CHANGES, Open, Settings, all_changes, kept, take, tell_at_a_tenth};
use crate::error::SqlResult;
use crate::store_error::store_error;

/// Pages looked at a second.
const PAGES_PER_SECOND: u32 = 2000;
/// Time between two measures of a table of more than [`SMALL_ROWS`] rows.
const INTERVAL: Duration = Duration::from_secs(10);
/// The same of a smaller one, which may be about to grow.
const SMALL_INTERVAL: Duration = Duration::from_secs(1);
const SMALL_ROWS: u64 = 10_000;
/// How long the thread waits for a table, at most.
const IDLE: Duration = Duration::from_secs(3600);

/// What the variables say now.
pub type Ask = Arc<dyn Fn() -> Settings + Send + Sync>;

/// The thread.
pub struct Refresher {
    list: Arc<ChangedTables>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Refresher {
    /// Starts it.
    pub fn start(engine: &Engine, settings: Ask) -> std::io::Result<Refresher> {
        let list = engine.changed_tables().clone();
        let engine = engine.clone();
        let thread = std::thread::Builder::new()
            .name("statistics".into())
            .spawn(move || run(&engine, &settings))?;
        Ok(Refresher {
            list,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Ends it, and waits for its end.
    pub fn stop(&self) {
        self.list.close();
        if let Some(thread) = self.thread.lock().take()
            && thread.join().is_err()
        {
            tracing::error!("the thread that refreshes statistics has panicked");
        }
    }
}

impl Drop for Refresher {
    fn drop(&mut self) {
        self.stop();
    }
}

fn run(engine: &Engine, settings: &Ask) {
    let list = engine.changed_tables().clone();
    // Until when tables are left alone that were measured, and whether they wait for it.
    let mut resting: HashMap<u64, (Instant, bool)> = HashMap::new();
    while !list.is_closed() {
        let due = resting.values().map(|(until, _)| *until).min();
        let wait = due.map_or(IDLE, |d| d.saturating_duration_since(Instant::now()));
        if let Some(id) = list.take(wait) {
            match resting.get_mut(&id) {
                Some((_, waits)) => *waits = true,
                None => {
                    let rest = refresh_and_rest(engine, id, settings());
                    resting.insert(id, (Instant::now() + rest, false));
                    list.rest(pause(settings()));
                }
            }
        }
        let now = Instant::now();
        resting.retain(|id, (until, waits)| {
            let rests = *until > now;
            if !rests && *waits {
                list.push(*id);
            }
            rests
        });
    }
}

/// How long to rest after a table.
fn pause(settings: Settings) -> Duration {
    Duration::from_secs(settings.pages().min(10_000)) / PAGES_PER_SECOND
}

/// Refreshes a table's statistics; how long it is to be left alone.
fn refresh_and_rest(engine: &Engine, id: u64, settings: Settings) -> Duration {
    match refresh(engine, id, settings) {
        Ok(Some(rows)) if rows > SMALL_ROWS => INTERVAL,
        Ok(_) => SMALL_INTERVAL,
        Err(e) => {
            tracing::debug!(table = id, error = %e.message, "statistics were not refreshed");
            SMALL_INTERVAL
        }
    }
}

/// Measures a table, or the one of a partition, if it has changed by a tenth or was never measured; how many rows it has if it did.
pub fn refresh(engine: &Engine, id: u64, settings: Settings) -> SqlResult<Option<u64>> {
    // Two that measure a table would meet each other's locks, for which neither waits.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock();
    let name = engine.table_name(id).map_err(|e| store_error(e, ""))?;
    let Some((database, name)) = name.filter(|(d, _)| d != crate::catalog::WORK_DATABASE) else {
        return Ok(None);
    };
    let owner = engine.owner();
    owner.set_metadata_timeout(0);
    owner.set_row_timeout(0);
    let open = |txn: &mut Txn| -> SqlResult<Arc<Table>> {
        let table = engine.open_table(txn, &database, &name);
        table.map_err(|e| store_error(e, &name))
    };
    let mut txn = engine.begin(&owner, millpond_store::Isolation::ReadCommitted);
    let due = open(&mut txn).and_then(|table| is_due(engine, &table, settings));
    let _ = engine.commit(txn);
    match due {
        Ok(false) => Ok(None),
        Ok(true) => take(engine, &owner, &open as Open<'_>, settings),
        Err(e) => {
            // DDL is at it, or it is gone: its next changes tell of it again.
            if let Ok(Some(_)) = engine.table_name(id) {
                engine.tell_after(id, FEW_CHANGES);
            }
            Err(e)
        }
    }
}

fn is_due(engine: &Engine, table: &Arc<Table>, settings: Settings) -> SqlResult<bool> {
    let kept = kept(engine, table)?;
    let known = &kept.statistics;
    if !known.are_taken() {
        return Ok(true);
    }
    let since = all_changes(engine, table, &kept.schema)?;
    let since = since.rows.saturating_sub(kept.kept.rows);
    let much = since >= (known.rows / 10).max(FEW_CHANGES) || kept.outdated.load(Ordering::Relaxed);
    if !much || !settings.auto_recalc {
        tell_at_a_tenth(table, &kept.schema, known.rows);
    }
    Ok(much && settings.auto_recalc)
}

//! Optimizer statistics: rows, different values per index prefix, histograms; how they are taken, kept and read.
//!
//! | file | owns |
//! |---|---|
//! | `table` | [`TableStatistics`]: what is known, and the share of rows that one condition leaves |
//! | `estimate` | [`Term`]s: conditions put together |
//! | `histogram` | buckets: made, asked |
//! | `sample` | reading indexes and columns, whole or in part |
//! | `stored` | statistics as bytes |
//! | `json` | histograms as MySQL's documents |
//! | `refresh` | taking them anew when a table has changed: the instance's thread |
//!
//! **For the optimizer.** [`of`] gives an open table's statistics and how many rows it has now: a pointer kept at the table and a sum over its
//! change counter. It takes no lock that anybody holds for long and reads no page, but on two occasions: the first time after the table
//! was opened, when what is kept is looked up once, and while nobody has ever measured the table, or it is partitioned, when the row
//! count comes from a few pages of its trees. Without a measure the selectivities are guesses (see `table`), and the table is measured in the background soon, if it has 100 rows.
//!
//! ```text
//! let known = statistics::of(engine, &plan_table.table)?;          // Arc<TableStatistics>, rows
//! let share = known.statistics.selectivity(&terms, zone);          // AND of terms on this table, 0 to 1
//! let rows = known.rows as f64 * share;
//! let values = known.statistics.distinct(&[column]);               // of a join: 1 / max(distinct of either side)
//! let stale = then.statistics.are_outgrown_by(&known.statistics);  // remake what was planned with `then`
//! ```
//!
//! **Where they are.** In the catalog, in a row per table of their own ([`millpond_store::Engine::change_statistics`]): writing it neither touches the
//! table's definition nor makes plans invalid, and DML goes on. A table nobody measured has no such row. It goes with its table; TRUNCATE and
//! rebuilding hand it on, and of what it says only what still holds is used (`stored`).
//!
//! **Promises.** Whatever the statistics say, answers are the same. A measure holds the table's shared metadata lock for one index at a time, so DDL
//! waits for the reading of some leaves at most. What one thread measures never overwrites a histogram that another makes meanwhile.

mod estimate;
mod histogram;
mod json;
pub mod refresh;
mod sample;
mod stored;
mod table;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use millpond_store::{ChangeCount, Engine, Isolation, Noted, Owner, Table};

pub use estimate::Term;
pub use histogram::{Bucket, Histogram, Point};
pub use sample::Open;
pub use table::{BETWEEN, EQUALITY, INEQUALITY, IndexStatistics, TableStatistics};

use crate::env::now_us;
use crate::error::SqlResult;
use crate::row::schema_of;
use crate::store_error::store_error;
use crate::types::Schema;
use stored::{Measure, Stored};

/// Rows changed below which nobody measures a table anew.
const FEW_CHANGES: u64 = 100;

/// What the system variables say about statistics.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// `innodb_stats_persistent`: measures are kept in the catalog.
    pub persistent: bool,
    /// `innodb_stats_auto_recalc`: tables that have changed are measured anew.
    pub auto_recalc: bool,
    /// `innodb_stats_persistent_sample_pages`.
    pub persistent_pages: u64,
    /// `innodb_stats_transient_sample_pages`.
    pub transient_pages: u64,
}

impl Settings {
    fn pages(&self) -> u64 {
        match self.persistent {
            true => self.persistent_pages,
            false => self.transient_pages,
        }
    }
}

/// How many times statistics of any table have been taken or dropped in this process.
static GENERATION: AtomicU64 = AtomicU64::new(0);

/// Another number whenever any table's statistics are other ones: what was planned with the old ones may be looked at again
/// ([`TableStatistics::are_outgrown_by`]). Costs a load of what is seldom written.
pub(crate) fn generation() -> u64 {
    GENERATION.load(Ordering::Relaxed)
}

/// What is known about a table now.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// As they were taken.
    pub statistics: Arc<TableStatistics>,
    /// Rows the table has now, about.
    pub rows: u64,
}

/// What is noted at an open table.
struct Kept {
    stored: Stored,
    /// The definition that `statistics` are resolved against.
    schema: Arc<Schema>,
    statistics: Arc<TableStatistics>,
    /// The table's changes when it was measured; when it was opened, for what an earlier life measured.
    measured: ChangeCount,
    /// Its changes when the measure was kept last.
    kept: ChangeCount,
    /// It was emptied or filled by other means than row changes since.
    outdated: AtomicBool,
}

/// How much a table, or its partitions, have changed since they were opened; they are opened all, so that none comes later with what
/// it had counted before.
fn all_changes(engine: &Engine, table: &Arc<Table>, schema: &Schema) -> SqlResult<ChangeCount> {
    sample::parts(engine, table, schema)?;
    Ok(changes(table, schema))
}

/// The same of the partitions that are open.
fn changes(table: &Table, schema: &Schema) -> ChangeCount {
    let Some(p) = &schema.partitioning else {
        return table.changes();
    };
    let open = (0..p.leaves()).filter_map(|at| table.opened_partition(at));
    open.fold(ChangeCount::default(), |sum, part| {
        let c = part.changes();
        ChangeCount {
            rows: sum.rows + c.rows,
            net: sum.net + c.net,
        }
    })
}

/// Asks to be told when a tenth of the table has changed.
fn tell_at_a_tenth(table: &Table, schema: &Schema, rows: u64) {
    match &schema.partitioning {
        None => table.tell_after((rows / 10).max(FEW_CHANGES)),
        Some(p) => {
            // Changes may all be in one partition, or in all.
            let each = (rows / 10 / (p.leaves() as u64).clamp(1, 4)).max(FEW_CHANGES);
            let open = (0..p.leaves()).filter_map(|at| table.opened_partition(at));
            open.for_each(|part| part.tell_after(each));
        }
    }
}

/// What is noted at an open table, looked up if nothing is.
fn kept(engine: &Engine, table: &Arc<Table>) -> SqlResult<Arc<Kept>> {
    let schema = schema_of(table)?;
    let noted = table.noted().and_then(|n| n.downcast::<Kept>().ok());
    if let Some(kept) = noted {
        if Arc::ptr_eq(&kept.schema, &schema) {
            return Ok(kept);
        }
        // The definition has changed; what was measured stays.
        let again = Arc::new(Kept {
            statistics: Arc::new(kept.stored.resolve(table.def(), &schema)),
            stored: kept.stored.clone(),
            schema,
            measured: kept.measured,
            kept: kept.kept,
            outdated: AtomicBool::new(kept.outdated.load(Ordering::Relaxed)),
        });
        table.note(&mut |now| match now {
            // Somebody has measured meanwhile.
            Some(other) if !is(other, &kept) => Some(other.clone()),
            _ => Some(again.clone()),
        });
        return Ok(again);
    }
    let bytes = engine.statistics(table);
    let bytes = bytes.map_err(|e| store_error(e, &table.def().name))?;
    // What cannot be read is as good as nothing: the next measure replaces it.
    let stored = bytes
        .and_then(|b| Stored::read(&b).ok())
        .unwrap_or_default();
    let loaded = Arc::new(Kept {
        statistics: Arc::new(stored.resolve(table.def(), &schema)),
        stored,
        schema,
        measured: ChangeCount::default(),
        kept: ChangeCount::default(),
        outdated: AtomicBool::new(false),
    });
    table.note(&mut |now| Some(now.cloned().unwrap_or_else(|| loaded.clone())));
    if !loaded.statistics.are_taken()
        && !table.is_temporary()
        && crate::partition::estimate_rows(Some(engine), table, &loaded.schema) >= FEW_CHANGES
    {
        engine.changed_tables().push(table.def().id);
    }
    Ok(loaded)
}

fn is(noted: &Noted, kept: &Arc<Kept>) -> bool {
    std::ptr::addr_eq(Arc::as_ptr(noted), Arc::as_ptr(kept))
}

/// What is known about a table that the caller has opened or pinned.
pub fn of(engine: &Engine, table: &Arc<Table>) -> SqlResult<Known> {
    let kept = kept(engine, table)?;
    Ok(Known {
        rows: rows_now(engine, table, &kept),
        statistics: kept.statistics.clone(),
    })
}

/// Rows when they were counted, and those that have come and gone since. A partitioned table's changes are its open partitions', which
/// come and go with its definition.
fn rows_now(engine: &Engine, table: &Arc<Table>, kept: &Kept) -> u64 {
    let counted = kept.statistics.are_taken()
        && !kept.outdated.load(Ordering::Relaxed)
        && kept.schema.partitioning.is_none();
    if !counted {
        return crate::partition::estimate_rows(Some(engine), table, &kept.schema);
    }
    let net = changes(table, &kept.schema).net - kept.measured.net;
    kept.statistics.rows.saturating_add_signed(net)
}

/// The same for listings, which may read pages: measured now if a tenth of the table has changed since it was last, or nobody has
/// measured it. What is found out is noted at the table, and kept by the next refresh.
pub fn fresh(engine: &Engine, table: &Arc<Table>, settings: Settings) -> SqlResult<Known> {
    let now = kept(engine, table)?;
    let before = all_changes(engine, table, &now.schema)?;
    let changed = before.rows.saturating_sub(now.measured.rows);
    let fresh = now.statistics.are_taken()
        && !now.outdated.load(Ordering::Relaxed)
        && changed <= now.statistics.rows / 10;
    if !fresh {
        let owner = engine.owner();
        let open: Open<'_> = &|_| Ok(table.clone());
        let measured =
            sample::measure(engine, &owner, settings.pages(), open, now_us() / 1_000_000)?;
        if let Some((measure, net)) = measured {
            let before = ChangeCount { net, ..before };
            note_measure(table, &now.schema, Arc::new(measure), before, false);
        }
    }
    of(engine, table)
}

/// Notes a measure at the table, beside whatever histograms are noted there, unless a later one is. Whether it did.
fn note_measure(
    table: &Table,
    schema: &Arc<Schema>,
    measure: Arc<Measure>,
    before: ChangeCount,
    stays: bool,
) -> bool {
    let mut noted = true;
    table.note(&mut |now| {
        let old = now.and_then(|n| n.clone().downcast::<Kept>().ok());
        let later = |o: &Arc<Kept>| {
            o.statistics.are_taken()
                && !o.outdated.load(Ordering::Relaxed)
                && o.measured.rows > before.rows
        };
        if old.as_ref().is_some_and(later) {
            noted = false;
            return now.cloned();
        }
        let mut stored = old.as_ref().map(|o| o.stored.clone()).unwrap_or_default();
        stored.measure = Some(measure.clone());
        let kept = match (&old, stays) {
            (Some(old), false) => old.kept,
            _ => before,
        };
        Some(Arc::new(Kept {
            statistics: Arc::new(stored.resolve(table.def(), schema)),
            stored,
            schema: schema.clone(),
            measured: before,
            kept,
            outdated: AtomicBool::new(false),
        }) as Noted)
    });
    GENERATION.fetch_add(1, Ordering::Relaxed);
    noted
}

/// Changes what is kept for a table, which is open, and its definition.
type Edit<'a> = dyn FnMut(&mut Stored, &Arc<Table>, &Arc<Schema>) + 'a;

/// Changes what is kept for a table, in a transaction of its own, in which rows of statistics are changed one after the other.
fn change(
    engine: &Engine,
    owner: &Arc<Owner>,
    open: Open<'_>,
    edit: &mut Edit<'_>,
) -> SqlResult<()> {
    engine
        .prepare_statistics(owner)
        .map_err(|e| store_error(e, ""))?;
    let mut txn = engine.begin(owner, Isolation::ReadCommitted);
    let done = open(&mut txn).and_then(|table| {
        let schema = schema_of(&table)?;
        let changed = engine.change_statistics(&mut txn, &table, &mut |old| {
            let mut stored = old.and_then(|b| Stored::read(b).ok()).unwrap_or_default();
            edit(&mut stored, &table, &schema);
            (!stored.is_empty()).then(|| stored.bytes())
        });
        changed.map_err(|e| store_error(e, &table.def().name))
    });
    match done {
        // Nobody waits for it: it is durable with the next commit, and can be found out again.
        Ok(()) => match engine.commit_later(txn) {
            Ok(_) => Ok(()),
            Err(e) => Err(store_error(e, "")),
        },
        Err(e) => {
            engine.rollback(txn).map_err(|e| store_error(e, ""))?;
            Err(e)
        }
    }
}

/// Measures a table and notes what it finds; keeps it in the catalog if measures persist. How many rows it has; `None`: DDL came in
/// between.
pub fn take(
    engine: &Engine,
    owner: &Arc<Owner>,
    open: Open<'_>,
    settings: Settings,
) -> SqlResult<Option<u64>> {
    let mut txn = engine.begin(owner, Isolation::ReadCommitted);
    let before = open(&mut txn).and_then(|t| all_changes(engine, &t, &*schema_of(&t)?));
    // It only read.
    let _ = engine.commit(txn);
    let mut before = before?;
    let now = now_us() / 1_000_000;
    let Some((measure, net)) = sample::measure(engine, owner, settings.pages(), open, now)? else {
        return Ok(None);
    };
    before.net = net;
    let measure = Arc::new(measure);
    let mut same = true;
    let mut note = |table: &Arc<Table>, schema: &Arc<Schema>| {
        same = table.def().id == measure.table;
        let noted =
            same && note_measure(table, schema, measure.clone(), before, settings.persistent);
        if noted {
            tell_at_a_tenth(table, schema, measure.rows);
        }
        noted
    };
    if settings.persistent {
        change(engine, owner, open, &mut |stored, table, schema| {
            if note(table, schema) {
                stored.measure = Some(measure.clone());
            }
        })?;
    } else {
        let mut txn = engine.begin(owner, Isolation::ReadCommitted);
        let noted = open(&mut txn).and_then(|t| Ok(note(&t, &schema_of(&t)?)));
        let _ = engine.commit(txn);
        noted?;
    }
    Ok(same.then_some(measure.rows))
}

/// Makes histograms of columns (position, buckets), of a table of which no more than `memory` bytes of values are collected.
pub fn make_histograms(
    engine: &Engine,
    owner: &Arc<Owner>,
    open: Open<'_>,
    columns: &[(usize, usize)],
    memory: u64,
) -> SqlResult<()> {
    let made = sample::histograms(engine, owner, open, columns, memory, now_us())?;
    let made: Vec<Arc<Histogram>> = made.into_iter().map(Arc::new).collect();
    change_histograms(engine, owner, open, &mut |stored, schema| {
        for (histogram, (column, _)) in made.iter().zip(columns) {
            if let Some(column) = schema.columns.get(*column) {
                stored.put_histogram(column, histogram.clone());
            }
        }
    })
}

/// Drops a column's histogram; whether there was one.
pub fn drop_histogram(
    engine: &Engine,
    owner: &Arc<Owner>,
    open: Open<'_>,
    column: &str,
) -> SqlResult<bool> {
    let mut dropped = false;
    change_histograms(engine, owner, open, &mut |stored, _| {
        dropped |= stored.drop_histogram(column);
    })?;
    Ok(dropped)
}

/// Changes the histograms kept, and those noted.
fn change_histograms(
    engine: &Engine,
    owner: &Arc<Owner>,
    open: Open<'_>,
    edit: &mut dyn FnMut(&mut Stored, &Schema),
) -> SqlResult<()> {
    change(engine, owner, open, &mut |stored, table, schema| {
        edit(stored, schema);
        table.note(&mut |now| {
            let old = now?.clone().downcast::<Kept>().ok()?;
            let with = Stored {
                measure: old.stored.measure.clone(),
                histograms: stored.histograms.clone(),
            };
            Some(Arc::new(Kept {
                statistics: Arc::new(with.resolve(table.def(), schema)),
                stored: with,
                schema: schema.clone(),
                measured: old.measured,
                kept: old.kept,
                outdated: AtomicBool::new(old.outdated.load(Ordering::Relaxed)),
            }) as Noted)
        });
        GENERATION.fetch_add(1, Ordering::Relaxed);
    })
}

/// Says that a table's rows have changed otherwise than one by one (its partitions were): it is measured anew soon.
pub(crate) fn outdate(engine: &Engine, table: &Arc<Table>) -> SqlResult<()> {
    kept(engine, table)?.outdated.store(true, Ordering::Relaxed);
    engine.changed_tables().push(table.def().id);
    Ok(())
}

/// A histogram as a JSON document.
pub use json::document;

/// Measures a temporary table that the caller has: what is found is noted at it and goes with it.
pub fn take_temporary(engine: &Engine, table: &Arc<Table>, settings: Settings) -> SqlResult<()> {
    let schema = schema_of(table)?;
    let before = table.changes();
    let open: Open<'_> = &|_| Ok(table.clone());
    let now = now_us() / 1_000_000;
    let owner = engine.owner();
    if let Some((measure, net)) = sample::measure(engine, &owner, settings.pages(), open, now)? {
        let before = ChangeCount { net, ..before };
        note_measure(table, &schema, Arc::new(measure), before, false);
    }
    Ok(())
}

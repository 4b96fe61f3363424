//! Drop stalls: the experiment of "DROP TABLE and stalls" (2012). Threads read and write a table that is cached whole, and beside
//! them small tables are dropped. What do the threads feel?
//!
//! Every subject has its base case, the same load without drops, right before its run with them. What counts is not the
//! average, which hides stalls, but the longest stall, the slowest request, the worst 100 ms.

mod measure;
mod oltp;
mod report;
mod tables;

use crate::Result;
use crate::frame::{
    self, AlgorithmArgs, Chosen, Experiment, Place, PoolPages, ReportArgs, Size, TargetArgs, scale,
};
use crate::report::Report;
use crate::stats::{Latencies, Timeline};
use std::time::Duration;

/// Rows of the article's table; here times the scale.
const ROWS: f64 = 20_000_000.0;
/// Bytes of the article's buffer pool; here times the scale.
const POOL: f64 = 6.0 * (1u64 << 30) as f64;
/// Tables that the article dropped.
const TABLES: u32 = 30;
/// Rows of each.
const TABLE_ROWS: u64 = 1000;
/// Seconds between the article's drops; here times the square of the scale.
const INTERVAL: f64 = 30.0;
/// A stall is a time in which less than this part of the base case's usual rate gets done.
const STALL: f64 = 0.1;

/// What to run, and where.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    #[command(flatten)]
    targets: TargetArgs,
    #[command(flatten)]
    choice: AlgorithmArgs,
    #[command(flatten)]
    report: ReportArgs,
    /// Part of the article's 20 M rows and 6 GiB of buffer pool; times are scaled by its square, so that a tenth of the size takes a
    /// hundredth of the time; 1 is the article: a drop each 30 s for 15 minutes
    #[arg(long, value_name = "X", default_value_t = 0.1, value_parser = scale)]
    scale: f64,
    /// Threads of the load
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: u16,
    /// Rows of the table under load [default: the article's, scaled]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1000..))]
    rows: Option<u64>,
    /// Small tables to drop
    #[arg(long, default_value_t = TABLES)]
    tables: u32,
    /// Seconds between two drops [default: the article's, scaled]
    #[arg(long, value_name = "SECONDS", value_parser = positive)]
    interval: Option<f64>,
    /// Seconds of each run [default: as long as the drops take]
    #[arg(long, value_name = "SECONDS", value_parser = positive)]
    time: Option<f64>,
    /// Cached pages to dirty ones before each run, like 3:1 or 10:1
    #[arg(long, value_name = "N:1", default_value = "3:1", value_parser = dirty_ratio)]
    dirty_ratio: f64,
    /// Drop a large table of so many rows, cached and half of it dirty, in the middle of each run too
    #[arg(long, value_name = "ROWS", default_value_t = 0)]
    drop_rows: u64,
    /// Create and drop so many tables per second all along, instead of dropping tables made before
    #[arg(long, value_name = "PER-SECOND", value_parser = positive)]
    churn: Option<f64>,
    /// The embedded engine's buffer pool [default: the article's, scaled, and room for --drop-rows]
    #[arg(long, value_name = "SIZE")]
    pool: Option<Size>,
    /// The embedded engine's buffer pool instances [default: its own choice]
    #[arg(long, value_name = "N")]
    pool_instances: Option<usize>,
}

fn positive(text: &str) -> std::result::Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if x > 0.0 && x <= 1e6 => Ok(x),
        _ => Err("a number above 0".into()),
    }
}

/// `3:1`, or `3`: at least 1.
fn dirty_ratio(text: &str) -> std::result::Result<f64, String> {
    match text.strip_suffix(":1").unwrap_or(text).parse::<f64>() {
        Ok(x) if (1.0..=1e6).contains(&x) => Ok(x),
        _ => Err("a ratio like 3:1".into()),
    }
}

/// The experiment's shape.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    threads: u16,
    rows: u64,
    time: Duration,
    /// When something is done beside the load, and what; ascending.
    schedule: Vec<(Duration, Ddl)>,
    /// Cached pages to a dirty one.
    dirty_ratio: f64,
    drop_rows: u64,
    pool_bytes: u64,
    pool_instances: Option<usize>,
}

/// What is done beside the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ddl {
    /// Drop the small table of this number.
    DropSmall(u32),
    /// Drop the large table.
    DropLarge,
    /// Create and drop a table, the so-manieth.
    Churn(u32),
}

impl Args {
    fn schedule(&self, interval: f64, time: f64) -> Vec<(Duration, Ddl)> {
        let (interval, number): (f64, fn(u32) -> Ddl) = match self.churn {
            Some(per_second) => (1.0 / per_second, Ddl::Churn),
            None => (interval, Ddl::DropSmall),
        };
        let most = if self.churn.is_some() {
            u32::MAX
        } else {
            self.tables
        };
        let mut all: Vec<(Duration, Ddl)> = (0..most)
            .map(|i| ((i as f64 + 0.5) * interval, number(i)))
            .take_while(|(at, _)| *at < time)
            .map(|(at, ddl)| (Duration::from_secs_f64(at), ddl))
            .collect();
        if self.drop_rows > 0 {
            all.push((Duration::from_secs_f64(time / 2.0), Ddl::DropLarge));
            all.sort_by_key(|e| e.0);
        }
        all
    }
}

/// Something that was done beside the load.
#[derive(Clone, Debug)]
struct Event {
    /// Seconds since the run began.
    at: f64,
    /// Seconds that it took.
    took: f64,
    what: String,
}

/// A run of the load.
#[derive(Clone, Debug)]
struct Run {
    /// As it was before.
    pool: PoolPages,
    timeline: Timeline,
    /// Of all requests.
    all: Latencies,
    /// By kind of statement, in the order of [`oltp::Kind::ALL`].
    kinds: Vec<Latencies>,
    /// Transactions that met a deadlock or a lock wait that took too long, and began anew.
    conflicts: u64,
    events: Vec<Event>,
}

/// A subject's runs.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    subject: usize,
    base: Run,
    /// None yet if the experiment ended here.
    drops: Option<Run>,
}

type Results = frame::Results<Plan, Cell>;

impl Experiment for Args {
    const NAME: &'static str = "drop-stall";
    type Plan = Plan;
    type Cell = Cell;

    fn targets(&self) -> &TargetArgs {
        &self.targets
    }
    fn files(&self) -> &ReportArgs {
        &self.report
    }
    fn plan(&self) -> Plan {
        let interval = self.interval.unwrap_or(INTERVAL * self.scale * self.scale);
        let time = self.time.unwrap_or(interval * self.tables.max(1) as f64);
        let rows = self.rows.unwrap_or((ROWS * self.scale) as u64).max(1000);
        let large = self.drop_rows * tables::ROW_BYTES;
        // Where the number of rows is given, the pool is as much larger than the table as the article's was.
        let pool = POOL / ROWS * rows as f64 + large as f64 * 1.1;
        let pool = (pool as u64).max(64 << 20);
        Plan {
            threads: self.threads,
            rows,
            time: Duration::from_secs_f64(time),
            schedule: self.schedule(interval, time),
            dirty_ratio: self.dirty_ratio,
            drop_rows: self.drop_rows,
            pool_bytes: self.pool.map_or(pool, |s| s.0),
            pool_instances: self.pool_instances,
        }
    }
    fn units(&self, plan: &Plan, chosen: &Chosen) -> u64 {
        measure::units(plan, &self.choice, chosen.specs.len())
    }
    fn measure(&self, on: Place<'_>, results: &mut Results) -> Result<()> {
        measure::target(self, on, results)
    }
    fn report(results: &Results, incomplete: Option<String>) -> Report {
        results.report(incomplete)
    }
}

/// Runs the experiment, prints its tables, writes its report.
pub fn run(args: &Args) -> Result<()> {
    frame::run(args)
}

#[cfg(test)]
mod tests;

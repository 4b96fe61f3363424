//! Drop stalls: the question of "DROP TABLE and stalls" (2012). What does a load of reads and writes feel of tables dropped beside it?
//!
//! A controlled experiment, for on most machines load and disk have stalls of their own that are larger than what is asked for.
//! The load comes at a fixed rate (`load`), in runs of short windows with drops and without in random order
//! (`design`); targets and algorithms take turns in blocks (`blocks`). What counts are differences between windows of a pair, with
//! intervals (`effects`); `docs/lab.md` states the method.
//!
//! | module | owns |
//! |---|---|
//! | `design` | the windows of a run, and the moments of its drops |
//! | `load` | requests at a fixed rate, drops beside them |
//! | `statements` | what the requests are |
//! | `tables` | what is cached, dirty and dropped |
//! | `clock` | when drops worked on cached pages, as a target tells it |
//! | `record` | from requests to what is kept of a window |
//! | `effects` | differences, intervals, verdicts |
//! | `blocks` | turns, and when it is enough |
//! | `measure` | the above on real targets |
//! | `live` | what the terminal shows meanwhile |
//! | `report` | what is said about it |
//! | `simulated` | (tests) a target in simulated time with known stalls |

mod blocks;
mod clock;
mod design;
mod effects;
mod live;
mod load;
mod measure;
mod record;
mod report;
#[cfg(test)]
mod simulated;
mod statements;
mod tables;

use crate::Result;
use crate::frame::{
    self, AlgorithmArgs, Chosen, Experiment, Machine, Places, Pressure, ReportArgs, Size,
    TargetArgs, scale,
};
use crate::report::Report;
use blocks::{Cell, Ended, Limits};
use design::Shape;

/// Rows of the article's table; here times the scale.
const ROWS: f64 = 20_000_000.0;
/// Bytes that the article's pool held; here times the scale.
const CACHED: f64 = 315_000.0 * (16u64 << 10) as f64;
/// Rows of each table that the article dropped.
const DROPPED: f64 = 1000.0;
/// Seconds between the article's drops; here times the square of the scale.
const INTERVAL: f64 = 30.0;
/// Drops of the article.
const DROPS: f64 = 30.0;
/// Seconds of measuring.
const USUAL_TIME: f64 = 85.0;
/// Seconds of a window, about, and the longest of the article's.
const WINDOW: f64 = 0.2;
const LONGEST: f64 = 60.0;
/// Seconds of a run, about; with long windows as long as so many pairs of them.
const RUN: f64 = 4.0;
const RUN_PAIRS: f64 = 4.0;
/// Seconds that a run's preparation takes, about.
const PREPARING: f64 = 0.5;

/// What to run, and where.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    #[command(flatten)]
    targets: TargetArgs,
    #[command(flatten)]
    choice: AlgorithmArgs,
    #[command(flatten)]
    report: ReportArgs,
    /// A look in about half a minute: smaller, and less certain
    #[arg(long, conflicts_with = "scale")]
    quick: bool,
    /// Part of the article's sizes, 20 M rows and 315,000 cached pages; 1 is the article. The time between drops is scaled by its square
    #[arg(long, value_name = "X", value_parser = scale)]
    scale: Option<f64>,
    /// Seconds of measuring at most; it ends earlier if every interval is narrow [default: 85; 24 with --quick; with --scale as many
    /// as the article's drops take with each algorithm]
    #[arg(long, value_name = "SECONDS", value_parser = positive)]
    time: Option<f64>,
    /// Connections of the load
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: u16,
    /// Requests per second [default: --share of what the target does, 4000 at most]
    #[arg(long, value_name = "PER-SECOND", value_parser = positive)]
    rate: Option<f64>,
    /// Part of what the target can do that it is asked to do
    #[arg(long, value_name = "PART", default_value_t = 0.25, value_parser = part, conflicts_with = "rate")]
    share: f64,
    /// Rows of the table under load [default: 100000]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1000..))]
    rows: Option<u64>,
    /// How much is cached, with a table that nobody reads [default: 2G; 256M with --quick]
    #[arg(long, value_name = "SIZE")]
    cached: Option<Size>,
    /// Cached pages to dirty ones, like 3:1 or 10:1 [default: 2:1; 3:1, the article's, with --scale]
    #[arg(long, value_name = "N:1", value_parser = dirty_ratio)]
    dirty_ratio: Option<f64>,
    /// Rows of each table that is dropped, as many as the table under load has at most [default: 100; 1000 with --scale]
    #[arg(long, value_name = "ROWS")]
    drop_rows: Option<u64>,
    /// Create each table right before it is dropped, beside the load, instead of before each run
    #[arg(long)]
    churn: bool,
    /// Look up rows of each table before it is dropped, so that an adaptive hash index knows its pages; it is switched on for as long
    #[arg(long, conflicts_with = "churn")]
    hot: bool,
    /// Mean seconds between two drops [default: five times what a drop takes, 0.012 at least]
    #[arg(long, value_name = "SECONDS", value_parser = positive)]
    interval: Option<f64>,
    /// Seconds of a window [default: 0.2, about, as the time allows]
    #[arg(long, value_name = "SECONDS", value_parser = positive)]
    window: Option<f64>,
    /// The smallest stall that matters, in ms: less is no effect, however certain it is
    #[arg(long, value_name = "MS", default_value_t = 0.1, value_parser = positive)]
    smallest: f64,
    /// Half an interval in ms that is narrow enough to end before the time is over [default: half the smallest stall that matters]
    #[arg(long, value_name = "MS", value_parser = positive)]
    precision: Option<f64>,
    /// Don't take precedence over the machine's other programs while measuring, where that is allowed (root)
    #[arg(long)]
    no_precedence: bool,
    /// What chance depends on: the order of windows, the moments of drops, the rows
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u32,
    /// The embedded engine's buffer pool [default: a quarter more than is cached]
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

fn part(text: &str) -> std::result::Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if x > 0.0 && x < 1.0 => Ok(x),
        _ => Err("a number between 0 and 1".into()),
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
    cached: Size,
    /// Cached pages to a dirty one.
    dirty_ratio: f64,
    drop_rows: u64,
    churn: bool,
    hot: bool,
    /// Given, or to be found out.
    rate: Option<f64>,
    share: f64,
    /// Requests per second at most, if the rate is to be found out.
    most: f64,
    interval: Option<f64>,
    window: Option<f64>,
    /// Seconds.
    budget: f64,
    smallest: f64,
    precision: f64,
    /// Precedence is asked for.
    precedence: bool,
    seed: u64,
    pool_bytes: u64,
    pool_instances: Option<usize>,
}

/// What is known beside the windows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extra {
    generator: load::Generator,
    pressure: Pressure,
    /// Of each subject.
    compositions: Vec<measure::Composition>,
    /// Of each target: requests per second that it can do, and that it was sent.
    capacities: Vec<(f64, f64)>,
    ended: Option<Ended>,
    /// Each run had precedence over the machine's other programs.
    precedence: bool,
    /// Targets.
    lost: Vec<usize>,
}

type Results = frame::Results<Plan, Cell, Extra>;

impl Results {
    /// When it ends with so many subjects, and how long its windows are.
    fn limits(&self, subjects: usize) -> Limits {
        let each = self.plan.budget / subjects.max(1) as f64;
        let usual = self.plan.window.unwrap_or(WINDOW);
        let runs = (each / RUN.max(usual * 2.0 * RUN_PAIRS)).floor().max(1.0);
        let run = each / runs - PREPARING;
        let shape = match self.plan.window {
            Some(window) => Shape::of(run, window),
            None => Shape::fitting(run, usual, blocks::LEAST.div_ceil(runs as usize)),
        };
        Limits {
            shape,
            budget: self.plan.budget,
            precision: self.plan.precision,
            seed: self.plan.seed,
        }
    }
}

impl Args {
    /// Bytes to cache by default: as much as there is memory for.
    fn usual_size(&self) -> Size {
        let usual = if self.quick { 256 << 20 } else { 2 << 30 };
        // A pool is a quarter larger than what it is to hold.
        Size(usual.min(Machine::memory_to_use() / 4 * 3))
    }
}

impl Experiment for Args {
    const NAME: &'static str = "drop-stall";
    type Plan = Plan;
    type Cell = Cell;
    type Extra = Extra;

    fn targets(&self) -> &TargetArgs {
        &self.targets
    }
    fn files(&self) -> &ReportArgs {
        &self.report
    }
    fn plan(&self) -> Plan {
        let scaled = |of: f64| self.scale.map(|x| (of * x) as u64);
        let rows = self.rows.or(scaled(ROWS)).unwrap_or(100_000).max(1000);
        let table = Size(rows * tables::ROW_BYTES);
        let cached = self.cached.or(scaled(CACHED).map(Size));
        let cached = cached.unwrap_or_else(|| self.usual_size()).max(table);
        let interval = self.scale.map(|x| INTERVAL * x * x);
        let all = self.choice.algorithm.0.len() as f64;
        let budget = match (self.quick, interval) {
            (true, _) => 24.0,
            // With drops and without.
            (false, Some(interval)) => (interval * DROPS * 2.0 * all).max(USUAL_TIME),
            (false, None) => USUAL_TIME,
        };
        let dropped = self.scale.map(|x| (DROPPED * x) as u64);
        let drop_rows = self
            .drop_rows
            .or(dropped.map(|n| n.max(100)))
            .unwrap_or(100);
        let pool = cached.0 + cached.0 / 4 + drop_rows * tables::ROW_BYTES * 64;
        Plan {
            threads: self.threads,
            rows,
            cached,
            dirty_ratio: self.dirty_ratio.unwrap_or(match self.scale {
                Some(_) => 3.0,
                None => 2.0,
            }),
            drop_rows,
            churn: self.churn,
            hot: self.hot,
            rate: self.rate,
            share: self.share,
            most: 4000.0,
            interval: self.interval.or(interval),
            window: self
                .window
                .or(interval.map(|s| (s * 2.0).clamp(WINDOW, LONGEST))),
            budget: self.time.unwrap_or(budget),
            smallest: self.smallest,
            precision: self.precision.unwrap_or(self.smallest / 2.0),
            precedence: !self.no_precedence,
            seed: self.seed.into(),
            pool_bytes: self.pool.map_or(pool.max(64 << 20), |s| s.0),
            pool_instances: self.pool_instances,
        }
    }
    fn units(&self, plan: &Plan, chosen: &Chosen) -> u64 {
        measure::units(plan, chosen.specs.len())
    }
    fn measure(&self, on: Places<'_>, results: &mut Results) -> Result<()> {
        measure::targets(self, on, results)
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

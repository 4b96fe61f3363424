//! Truncation at scale: the experiment of "A 250x improvement to tablespace truncation in MySQL Server 8.0.23". A big table fills buffer
//! pools of several sizes; then a hundred empty tables are created and dropped, and truncated, all at once.
//!
//! The embedded engine is opened anew with each size. A server is measured with the pool that it has.

mod measure;
mod report;

use crate::Result;
use crate::frame::{
    self, AlgorithmArgs, Chosen, Experiment, Places, PoolPages, ReportArgs, Size, TargetArgs, scale,
};
use crate::report::Report;
use crate::stats::median;

/// GiB of the article's buffer pools.
const ARTICLE: [f64; 5] = [32.0, 64.0, 128.0, 256.0, 450.0];

/// What to run, and where.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    #[command(flatten)]
    targets: TargetArgs,
    #[command(flatten)]
    choice: AlgorithmArgs,
    #[command(flatten)]
    report: ReportArgs,
    /// The embedded engine's buffer pools, as a list like 1G,4G,12G [default: the article's 32, 64, 128, 256 and 450 GB times --scale]
    #[arg(
        long,
        value_name = "SIZE,...",
        value_delimiter = ',',
        conflicts_with = "scale"
    )]
    pools: Vec<Size>,
    /// Pools as a part of the article's; 1 is the article's own
    #[arg(long, value_name = "X", default_value_t = 0.004, value_parser = scale)]
    scale: f64,
    /// Empty tables
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    tables: u32,
    /// Connections that share them
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=4096))]
    threads: u16,
    /// Rounds for each pool; the median counts
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
}

/// The experiment's shape.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Ascending.
    pools: Vec<Size>,
    tables: u32,
    threads: u16,
    rounds: u16,
}

/// One round.
#[derive(Clone, Copy, Debug)]
struct Round {
    /// Seconds until all tables were created and dropped.
    create_drop: f64,
    /// Seconds until all tables were truncated.
    truncate: f64,
    /// Seconds of the slowest DROP.
    slowest_drop: f64,
}

/// One subject with one pool.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    subject: usize,
    /// Bytes.
    pool: u64,
    /// As it was when the rounds began.
    pages: PoolPages,
    /// At least one.
    rounds: Vec<Round>,
}

impl Cell {
    /// The median round's figure.
    fn median(&self, figure: fn(&Round) -> f64) -> f64 {
        let all: Vec<f64> = self.rounds.iter().map(figure).collect();
        median(&all).unwrap_or(f64::NAN)
    }
}

type Results = frame::Results<Plan, Cell>;

impl Experiment for Args {
    const NAME: &'static str = "truncate-scale";
    type Plan = Plan;
    type Cell = Cell;
    type Extra = ();

    fn targets(&self) -> &TargetArgs {
        &self.targets
    }
    fn files(&self) -> &ReportArgs {
        &self.report
    }
    fn plan(&self) -> Plan {
        let mut pools = self.pools.clone();
        if pools.is_empty() {
            pools.extend(ARTICLE.map(|gib| Size::from_gib(gib * self.scale)));
        }
        pools.sort();
        pools.dedup();
        Plan {
            pools,
            tables: self.tables,
            threads: self.threads.min(self.tables.min(u16::MAX as u32) as u16),
            rounds: self.rounds,
        }
    }
    fn units(&self, plan: &Plan, chosen: &Chosen) -> u64 {
        measure::units(plan, &self.choice, chosen)
    }
    fn measure(&self, on: Places<'_>, results: &mut Results) -> Result<()> {
        on.each(|place| measure::target(self, place, results))
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

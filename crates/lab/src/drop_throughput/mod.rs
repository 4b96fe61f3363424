//! Drop throughput: the cycle of "Drop table performance" (2011). A thousand small tables are created and dropped while the buffer
//! pool holds nothing, then more and more of another table.
//!
//! The empty pool always comes first: it says what a drop costs by itself, and every other figure is compared with it.

mod measure;
mod report;

use crate::Result;
use crate::frame::{
    self, AlgorithmArgs, Chosen, Experiment, Places, PoolPages, ReportArgs, Size, TargetArgs, scale,
};
use crate::report::Report;
pub(crate) use report::by_cached;

/// GB that the article's pool held, and seconds for 1,000 drops with MySQL 5.1.56, Percona Server 5.1.56 and MySQL 5.6.2.
pub(crate) const ARTICLE: [(f64, [f64; 3]); 3] = [
    (21.0, [310.0, 95.0, 234.0]),
    (52.0, [776.0, 210.0, 548.0]),
    (104.0, [1635.0, 466.0, 1210.0]),
];
/// The servers of its columns.
pub(crate) const ARTICLE_SERVERS: [&str; 3] =
    ["MySQL 5.1.56", "Percona Server 5.1.56", "MySQL 5.6.2"];

/// What to run, and where.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    #[command(flatten)]
    targets: TargetArgs,
    #[command(flatten)]
    choice: AlgorithmArgs,
    #[command(flatten)]
    report: ReportArgs,
    /// How much is cached, as a list like 0,1G,4G; 0 is always run first [default: the article's 21, 52 and 104 GB times --scale]
    #[arg(
        long,
        value_name = "SIZE,...",
        value_delimiter = ',',
        conflicts_with = "scale"
    )]
    fill: Vec<Size>,
    /// Sizes as a part of the article's; 1 is the article's own
    #[arg(long, value_name = "X", default_value_t = 0.01, value_parser = scale)]
    scale: f64,
    /// Tables created and dropped in a round
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    tables: u32,
    /// Rounds for each size; the median one counts
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
}

/// The experiment's shape.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Ascending; the first is 0.
    fills: Vec<Size>,
    tables: u32,
    rounds: u16,
}

/// One round: create all, drop all.
#[derive(Clone, Debug)]
struct Round {
    /// Seconds for creating.
    create: f64,
    /// When each table was dropped, seconds since the first DROP was sent.
    dropped: Vec<f64>,
}

impl Round {
    /// Seconds per drop.
    fn per_drop(&self) -> f64 {
        match self.dropped.last() {
            Some(end) => end / self.dropped.len() as f64,
            None => f64::NAN,
        }
    }
    /// Seconds of the slowest drop.
    fn slowest(&self) -> f64 {
        let starts = std::iter::once(&0.0).chain(&self.dropped);
        let times = self
            .dropped
            .iter()
            .zip(starts)
            .map(|(end, start)| end - start);
        times.fold(0.0, f64::max)
    }
}

/// One subject with one size.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    /// Number of the subject.
    subject: usize,
    /// As asked for.
    fill: Size,
    /// As it was when the rounds began.
    pool: PoolPages,
    /// At least one.
    rounds: Vec<Round>,
}

impl Cell {
    /// The round whose drops took neither the longest nor the shortest.
    fn median(&self) -> &Round {
        let mut order: Vec<&Round> = self.rounds.iter().collect();
        order.sort_by(|a, b| a.per_drop().total_cmp(&b.per_drop()));
        order[(order.len() - 1) / 2]
    }
}

type Results = frame::Results<Plan, Cell>;

impl Experiment for Args {
    const NAME: &'static str = "drop-throughput";
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
        let mut fills = vec![Size(0)];
        if self.fill.is_empty() {
            fills.extend(ARTICLE.map(|(gb, _)| Size::from_gib(gb * self.scale)));
        } else {
            fills.extend(&self.fill);
        }
        fills.sort();
        fills.dedup();
        Plan {
            fills,
            tables: self.tables,
            rounds: self.rounds,
        }
    }
    fn units(&self, plan: &Plan, chosen: &Chosen) -> u64 {
        measure::units(plan, &self.choice, chosen.specs.len())
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

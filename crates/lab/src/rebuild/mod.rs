//! Rebuilding a table: the experiment of "Speeding up OPTIMIZE for InnoDB tables" (2012). OPTIMIZE TABLE of a table like `employees`, plain,
//! with a unique key, with a foreign key, with both; where the target has `expand_fast_index_creation`, with it and without; written
//! anew just before, and fragmented. What the statement's stages are, and what reads and writes beside it feel.

pub(crate) mod article;
mod measure;
mod report;

use crate::Result;
use crate::employees::beside::{Beheld, Felt};
use crate::employees::{ARTICLE_ROWS, Keys};
use crate::frame::{self, Chosen, Experiment, Places, ReportArgs, Size, TargetArgs, scale};
use crate::profile::Profile;
use crate::report::Report;
use crate::stats::{Spread, Timeline};
use std::time::Duration;

/// How far the stages may be from the statement's time.
const TOLERANCE: f64 = 0.02;

/// What to run, and where.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    #[command(flatten)]
    targets: TargetArgs,
    #[command(flatten)]
    report: ReportArgs,
    /// Part of the article's 300,024 rows; 10 is three million
    #[arg(long, value_name = "X", default_value_t = 1.0, value_parser = scale)]
    scale: f64,
    /// Rows of the table [default: the article's, scaled]
    #[arg(long, conflicts_with = "scale", value_parser = clap::value_parser!(u64).range(100..=1_000_000_000))]
    rows: Option<u64>,
    /// Constraints that the table has [default: each in turn]
    #[arg(long, value_name = "KEYS,...", value_delimiter = ',')]
    keys: Vec<Keys>,
    /// Ways of a target that has expand_fast_index_creation [default: each]
    #[arg(long, value_name = "WAYS,...", value_delimiter = ',')]
    ways: Vec<Way>,
    /// Rebuilds of each kind; the median counts
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// Connections that read and write beside a rebuild
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: u16,
    /// Seconds that they run alone before it, to compare with
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = seconds)]
    before: f64,
    /// Part of the rows that is removed and brought back before a rebuild of a fragmented table; 0 leaves these rebuilds out
    #[arg(long, value_name = "PART", default_value_t = 0.1, value_parser = part)]
    fragment: f64,
    /// The embedded engine's buffer pool; the article's was as large
    #[arg(long, value_name = "SIZE", default_value = "256M")]
    pool: Size,
}

/// A time to wait.
fn seconds(text: &str) -> std::result::Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if (0.0..=3600.0).contains(&x) => Ok(x),
        _ => Err("seconds, at most 3600".into()),
    }
}

fn part(text: &str) -> std::result::Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if (0.0..=1.0).contains(&x) => Ok(x),
        _ => Err("a number from 0 to 1".into()),
    }
}

/// The experiment's shape.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    rows: u64,
    /// In the order of [`Keys::ALL`].
    keys: Vec<Keys>,
    /// Sorted before row by row.
    ways: Vec<Way>,
    rounds: u16,
    threads: u16,
    before: Duration,
    fragment: f64,
    pool: Size,
}

impl Plan {
    /// Kinds of rounds.
    fn kinds(&self) -> u64 {
        if self.fragment > 0.0 { 3 } else { 2 }
    }
}

/// `expand_fast_index_creation` of a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Way {
    /// The target has no such variable.
    #[value(skip)]
    AsItIs,
    /// ON: secondary indexes from sorted keys
    Sorted,
    /// OFF: row by row into every index
    RowByRow,
}

impl Way {
    fn origin(self) -> &'static str {
        match self {
            Way::AsItIs => "without expand_fast_index_creation",
            Way::Sorted => "expand_fast_index_creation=ON",
            Way::RowByRow => "expand_fast_index_creation=OFF",
        }
    }
}

/// Rebuilds beside a load.
#[derive(Clone, Debug, Default)]
struct Loaded {
    /// Seconds of each.
    rebuilds: Vec<f64>,
    /// The load alone, in all rounds.
    before: Felt,
    /// The load beside rebuilds.
    during: Felt,
    failed: u64,
    error: Option<String>,
    /// Of the first round, and when the rebuild was.
    timeline: Timeline,
    done: (f64, f64),
}

impl Loaded {
    fn add(&mut self, seconds: f64, beheld: Beheld) {
        if self.rebuilds.is_empty() {
            (self.timeline, self.done) = (beheld.timeline, beheld.done);
        }
        self.rebuilds.push(seconds);
        self.before.add(&beheld.before);
        self.during.add(&beheld.during);
        self.failed += beheld.failed;
        self.error = self.error.take().or(beheld.error);
    }
}

/// A subject and the table's constraints.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    subject: usize,
    way: Way,
    keys: Keys,
    /// Rebuilds of the table as a rebuild left it.
    fresh: Vec<Profile>,
    /// Rebuilds of the table after rows were removed and brought back.
    fragmented: Vec<Profile>,
    beside: Loaded,
}

impl Cell {
    fn fresh(&self) -> Option<Spread> {
        Spread::of(self.fresh.iter().map(|p| p.seconds))
    }
    fn fragmented(&self) -> Option<Spread> {
        Spread::of(self.fragmented.iter().map(|p| p.seconds))
    }
    /// The fresh rebuild in the middle; of an even number, the faster of the two.
    fn middle(&self) -> Option<&Profile> {
        let mut all: Vec<&Profile> = self.fresh.iter().collect();
        all.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        all.get(all.len().saturating_sub(1) / 2).copied()
    }
    /// All without a load beside.
    fn profiles(&self) -> impl Iterator<Item = &Profile> {
        self.fresh.iter().chain(&self.fragmented)
    }
}

type Results = frame::Results<Plan, Cell>;

impl Experiment for Args {
    const NAME: &'static str = "rebuild";
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
        let chosen = |k: &Keys| self.keys.is_empty() || self.keys.contains(k);
        let wanted = |w: &Way| self.ways.is_empty() || self.ways.contains(w);
        Plan {
            rows: self
                .rows
                .unwrap_or(((ARTICLE_ROWS as f64 * self.scale) as u64).max(100)),
            keys: Keys::ALL.into_iter().filter(chosen).collect(),
            ways: [Way::Sorted, Way::RowByRow]
                .into_iter()
                .filter(wanted)
                .collect(),
            rounds: self.rounds,
            threads: self.threads,
            before: Duration::from_secs_f64(self.before),
            fragment: self.fragment,
            pool: self.pool,
        }
    }
    fn units(&self, plan: &Plan, chosen: &Chosen) -> u64 {
        measure::units(plan, chosen.specs.len())
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

//! What each kind of ALTER TABLE costs: how long the statement takes, whether it is instant, in place or a copy, and what reads and
//! writes beside it feel. On a table like `employees` of the sample database.
//!
//! How a change is made is not guessed: ALGORITHM=INSTANT, NOCOPY, INPLACE and COPY are tried in turn, and the first that the target accepts is
//! the answer. Measured is the statement without such a clause, as one would write it.

mod cases;
mod measure;
mod report;

use crate::Result;
use crate::employees::ARTICLE_ROWS;
use crate::frame::{self, Chosen, Experiment, Places, ReportArgs, Size, TargetArgs, scale};
use crate::report::Report;
use crate::stats::Spread;
use cases::{CASES, Case};
use std::time::Duration;

/// What to run, and where.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    #[command(flatten)]
    targets: TargetArgs,
    #[command(flatten)]
    report: ReportArgs,
    /// Rows of the table as a part of the sample database's 300,024
    #[arg(long, value_name = "X", default_value_t = 1.0, value_parser = scale)]
    scale: f64,
    /// Rows of the table [default: the sample database's, scaled]
    #[arg(long, conflicts_with = "scale", value_parser = clap::value_parser!(u64).range(100..=1_000_000_000))]
    rows: Option<u64>,
    /// Changes to measure: those whose names contain one of these [default: all]
    #[arg(long, value_name = "TEXT,...", value_delimiter = ',')]
    only: Vec<String>,
    /// How often each change is made; the median counts
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// Connections that read and write beside each change
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: u16,
    /// Seconds that they run alone before it, to compare with
    #[arg(long, value_name = "SECONDS", default_value_t = 0.5, value_parser = seconds)]
    before: f64,
    /// The embedded engine's buffer pool
    #[arg(long, value_name = "SIZE", default_value = "256M")]
    pool: Size,
}

/// A time that a rate can be told of.
fn seconds(text: &str) -> std::result::Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if (0.01..=3600.0).contains(&x) => Ok(x),
        _ => Err("seconds, from 0.01 to 3600".into()),
    }
}

/// The experiment's shape.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    rows: u64,
    cases: Vec<Case>,
    rounds: u16,
    threads: u16,
    before: Duration,
    pool: Size,
}

/// The least ALGORITHM that a target accepts for a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// Nothing but the definition changes.
    Instant,
    /// No row is written anew, as MariaDB tells it.
    NoCopy,
    /// By the engine, which may write all rows anew.
    InPlace,
    /// Row by row into another table.
    Copy,
    /// The statement has no ALGORITHM clause, or the target refuses them all.
    Untold,
}

impl How {
    /// In the order in which they are tried.
    const TRIED: [How; 4] = [How::Instant, How::NoCopy, How::InPlace, How::Copy];

    fn name(self) -> &'static str {
        match self {
            How::Instant => "instant",
            How::NoCopy => "in place, no copy",
            How::InPlace => "in place",
            How::Copy => "copy",
            How::Untold => "–",
        }
    }

    /// As the clause has it.
    fn word(self) -> &'static str {
        match self {
            How::Instant => "INSTANT",
            How::NoCopy => "NOCOPY",
            How::InPlace => "INPLACE",
            How::Copy => "COPY",
            How::Untold => "DEFAULT",
        }
    }
}

/// One time that a change was made beside the load. What there is no figure of is NaN: on a busy machine no statement may have
/// ended in a short time.
#[derive(Clone, Copy, Debug)]
struct Round {
    /// Of the statement.
    seconds: f64,
    /// The longest read, and the longest write, that were under way meanwhile.
    read_wait: f64,
    write_wait: f64,
    /// The longest write while the load was alone.
    write_wait_alone: f64,
    /// The load's rate from the statement's beginning on, to its rate alone.
    kept: f64,
    /// Statements of the load that failed.
    failed: u64,
}

/// How a change went.
#[derive(Clone, Debug)]
enum Outcome {
    Made {
        how: How,
        rounds: Vec<Round>,
    },
    /// What the target said.
    Refused(String),
}

/// A subject and a change.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    subject: usize,
    name: &'static str,
    outcome: Outcome,
    /// The first failure of the load that was no deadlock.
    error: Option<String>,
}

impl Cell {
    fn rounds(&self) -> &[Round] {
        match &self.outcome {
            Outcome::Made { rounds, .. } => rounds,
            Outcome::Refused(_) => &[],
        }
    }
    /// Of a figure; none where the change was refused.
    fn spread(&self, figure: fn(&Round) -> f64) -> Option<Spread> {
        Spread::of(self.rounds().iter().map(figure).filter(|f| f.is_finite()))
    }
    /// The largest of all rounds.
    fn most(&self, figure: fn(&Round) -> f64) -> Option<f64> {
        self.spread(figure).map(|s| s.most)
    }
    fn failed(&self) -> u64 {
        self.rounds().iter().map(|r| r.failed).sum()
    }
}

type Results = frame::Results<Plan, Cell>;

impl Experiment for Args {
    const NAME: &'static str = "alter";
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
        let asked = |name: &str| {
            let found = |text: &String| name.to_lowercase().contains(&text.to_lowercase());
            self.only.is_empty() || self.only.iter().any(found)
        };
        Plan {
            rows: self
                .rows
                .unwrap_or(((ARTICLE_ROWS as f64 * self.scale) as u64).max(100)),
            cases: CASES.iter().filter_map(|c| c.with_only(asked)).collect(),
            rounds: self.rounds,
            threads: self.threads,
            before: Duration::from_secs_f64(self.before),
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
    if args.plan().cases.is_empty() {
        let names: Vec<&str> = CASES.iter().flat_map(Case::names).collect();
        return Err(format!("--only fits none of: {}", names.join("; ")).into());
    }
    frame::run(args)
}

#[cfg(test)]
mod tests;

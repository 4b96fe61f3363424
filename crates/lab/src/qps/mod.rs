//! Queries per second from a slow log that logs everything (`long_query_time=0`), as "DROP TABLE and stalls" read it: counted by
//! second, averaged over some.

mod log;
mod report;

use crate::Result;
use crate::frame::{ReportArgs, conclude};
use log::{Entries, Entry};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;

/// The subcommand.
const EXPERIMENT: &str = "qps";

/// What to read.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// A slow log in MySQL's format, as MySQL, Percona Server, MariaDB and Millpond write it; - is standard input
    #[arg(value_name = "SLOWLOG")]
    log: PathBuf,
    /// Seconds to average over
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    every: u32,
    #[command(flatten)]
    report: ReportArgs,
}

/// One second of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Second {
    queries: u64,
    /// Seconds that they took together.
    time: f64,
    /// Seconds that the slowest took.
    slowest: f64,
}

impl Second {
    fn add(&mut self, other: &Second) {
        self.queries += other.queries;
        self.time += other.time;
        self.slowest = self.slowest.max(other.slowest);
    }
}

/// A statement that changes tables as wholes.
#[derive(Clone, Debug, PartialEq)]
struct Ddl {
    /// Unix time.
    at: f64,
    /// Seconds.
    took: f64,
    statement: String,
}

/// What the log says.
#[derive(Debug, Default)]
struct Results {
    source: String,
    every: u32,
    /// By Unix time; seconds without a query are not there.
    seconds: BTreeMap<i64, Second>,
    ddl: Vec<Ddl>,
}

/// Reads the log, prints a table, writes the report.
pub fn run(args: &Args) -> Result<()> {
    args.report.check(EXPERIMENT)?;
    let shown = args.log.display();
    let results = match args.log.to_str() {
        Some("-") => Results::read(std::io::stdin().lock(), "standard input", args.every),
        _ => {
            let file = File::open(&args.log).map_err(|e| format!("{shown}: {e}"))?;
            Results::read(BufReader::new(file), &shown.to_string(), args.every)
        }
    };
    let results = results.map_err(|e| format!("{shown}: {e}"))?;
    if results.seconds.is_empty() {
        return Err(format!("{shown}: no query of a slow log found").into());
    }
    conclude(&args.report, &results.report(), true)
}

impl Results {
    fn read(log: impl BufRead, source: &str, every: u32) -> std::io::Result<Results> {
        let mut results = Results {
            source: source.into(),
            every,
            ..Results::default()
        };
        for entry in Entries::new(log) {
            results.count(&entry?);
        }
        Ok(results)
    }

    fn count(&mut self, entry: &Entry) {
        let second = self.seconds.entry(entry.at.floor() as i64).or_default();
        second.add(&Second {
            queries: 1,
            time: entry.took,
            slowest: entry.took,
        });
        if entry.is_ddl() {
            self.ddl.push(Ddl {
                at: entry.at,
                took: entry.took,
                statement: entry.statement.clone(),
            });
        }
    }

    /// Unix time of the first second, and number of seconds.
    fn span(&self) -> (i64, usize) {
        let first = self.seconds.keys().next().copied().unwrap_or(0);
        let last = self.seconds.keys().next_back().copied().unwrap_or(0);
        (first, (last - first + 1) as usize)
    }

    /// Queries of each second, from the first to the last.
    fn per_second(&self) -> Vec<u64> {
        let (first, n) = self.span();
        let queries = |t: i64| self.seconds.get(&t).map_or(0, |s| s.queries);
        (first..first + n as i64).map(queries).collect()
    }

    /// (Unix time at the beginning, seconds that it covers, what was in them), in steps of `every`; the last may be shorter.
    fn steps(&self) -> Vec<(i64, u32, Second)> {
        let (first, n) = self.span();
        let step = |from: usize| {
            let covers = (n - from).min(self.every as usize);
            let begin = first + from as i64;
            let mut sum = Second::default();
            for (_, s) in self.seconds.range(begin..begin + covers as i64) {
                sum.add(s);
            }
            (begin, covers as u32, sum)
        };
        (0..n).step_by(self.every as usize).map(step).collect()
    }

    /// Seconds of the longest stretch with less than a tenth of the median second's queries.
    fn longest_stall(&self) -> usize {
        let counts = self.per_second();
        let all: Vec<f64> = counts.iter().map(|n| *n as f64).collect();
        let limit = crate::stats::median(&all).unwrap_or(0.0) / 10.0;
        let (mut longest, mut now) = (0, 0);
        for n in all {
            now = if n < limit { now + 1 } else { 0 };
            longest = longest.max(now);
        }
        longest
    }

    /// The article's figure: the lowest queries of any second, and the longest run of seconds that had no more.
    fn lowest(&self) -> (u64, usize) {
        let counts = self.per_second();
        let lowest = counts.iter().copied().min().unwrap_or(0);
        let runs = counts.split(|n| *n > lowest).map(<[u64]>::len);
        (lowest, runs.max().unwrap_or(0))
    }
}

#[cfg(test)]
mod tests;

//! Many tables: `CREATE TABLE t<i> (i int primary key)`, insert one row into each, select it, drop each. One thread or many, every
//! phase finished by all threads before the next begins, rates over time recorded per phase.

mod report;
mod run;

use crate::frame::{DATABASE, Lease, Stop, write};
use crate::target::{Embedded, EmbeddedOptions, MysqlServer, Target};
use crate::{Error, Result};
use report::Report;
use std::path::PathBuf;

/// What to run, and where.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// Number of tables
    #[arg(long, default_value_t = 50_000, value_parser = clap::value_parser!(u32).range(1..))]
    tables: u32,
    /// Number of threads, each with a connection of its own
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=4096))]
    threads: u16,
    /// Tables per thread, instead of --tables; threads then select from tables at random
    #[arg(long, value_name = "N", conflicts_with = "tables", value_parser = clap::value_parser!(u32).range(1..))]
    tables_per_thread: Option<u32>,
    /// A server, like mysql://root@127.0.0.1:3306/ or mysql://root@localhost/?socket=/path [default: the embedded engine]
    #[arg(long, value_name = "URL")]
    target: Option<String>,
    /// Set innodb_flush_log_at_trx_commit while it runs [default: as the target has it, 1 for the embedded engine]
    #[arg(long, value_name = "0|1|2", value_parser = clap::value_parser!(u8).range(0..=2))]
    durability: Option<u8>,
    /// Directory in which the embedded engine gets a directory, which is removed at the end
    #[arg(
        long,
        value_name = "DIR",
        default_value = ".",
        conflicts_with = "target"
    )]
    dir: PathBuf,
    /// The embedded engine's buffer pool, MiB
    #[arg(long, value_name = "MIB", conflicts_with = "target")]
    pool_mib: Option<usize>,
    /// Write a report with rates over time as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write rates over time as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

/// The experiment's shape, apart from where it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    tables: u32,
    threads: u16,
    random_select: bool,
}

impl Args {
    fn plan(&self) -> Result<Plan> {
        let tables = match self.tables_per_thread {
            None => self.tables,
            Some(n) => n
                .checked_mul(self.threads as u32)
                .ok_or("too many tables")?,
        };
        Ok(Plan {
            tables,
            threads: self.threads,
            random_select: self.tables_per_thread.is_some(),
        })
    }
}

/// Runs the experiment, prints its table, writes its files.
pub fn run(args: &Args) -> Result<()> {
    let plan = args.plan()?;
    let stop = Stop::on_signals()?;
    match &args.target {
        Some(url) => run_on(&MysqlServer::at(url)?, args, plan, &stop),
        None => {
            let options = EmbeddedOptions {
                pool_bytes: args.pool_mib.map(|n| (n as u64) << 20),
                durability: args.durability,
                ..EmbeddedOptions::default()
            };
            let target = Embedded::create(&args.dir, &options)?;
            run_on(&target, args, plan, &stop)
        }
    }
}

fn run_on(target: &dyn Target, args: &Args, plan: Plan, stop: &Stop) -> Result<()> {
    let lease = Lease::take(target, args.durability)?;
    eprintln!("{}", target.describe());
    eprintln!("{}", lease.durability);
    let outcome = run::run(target, plan, stop.flag())?;
    let report = Report {
        target: target.describe(),
        durability: lease.durability.clone(),
        plan,
        outcome,
    };
    print!("{}", report.table());
    if let Some(path) = &args.json {
        write(path, &report.json())?;
    }
    if let Some(path) = &args.csv {
        write(path, &report.csv())?;
    }
    lease.end()?;
    match report.outcome.error {
        Some(e) => Err(Error::from(e)),
        None if !report.outcome.complete => Err("stopped before its end".into()),
        None => Ok(()),
    }
}

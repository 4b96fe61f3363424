//! Many tables: `CREATE TABLE t<i> (i int primary key)`, insert one row into each, select it, drop each. One thread or many, every
//! phase finished by all threads before the next begins, rates over time recorded per phase. On one target, or on the embedded
//! engine on several file systems, made in image files for the occasion.

pub(crate) mod comparison;
mod images;
mod report;
mod run;

use crate::frame::{
    self, Chosen, Conditions, DATABASE, Lease, Part, Places, Progress, ReportArgs, Size, Stop,
    TargetArgs, conclude, shortfall, sync_cost, too_short_for,
};
use crate::target::{Embedded, EmbeddedOptions, MysqlServer, Target};
use crate::{Error, Result};
use comparison::{Comparison, Place};
use images::{Kind, Mounted};
use report::Report;
use run::On;
use std::cell::RefCell;
use std::path::{Path, PathBuf};

/// The subcommand.
const EXPERIMENT: &str = "many-tables";

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
    /// Make temporary tables, each known to its thread only
    #[arg(long, conflicts_with = "tables_per_thread")]
    temporary: bool,
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
    /// Give every table of the embedded engine a file of its own
    #[arg(long, conflicts_with = "target")]
    file_per_table: bool,
    /// Run on file systems made in image files and mounted, like ext3,ext4,xfs,btrfs, one after the other; also ext3-no-dir-index,
    /// xfs-log-100m, and `here` for the directory as it is. Needs root, loop devices and each file system's mkfs
    #[arg(
        long,
        value_name = "NAME,...",
        value_delimiter = ',',
        conflicts_with = "target"
    )]
    filesystems: Vec<String>,
    /// Size of each image; it takes as much room as is written to it
    #[arg(long, value_name = "SIZE", default_value = "4G")]
    image_size: Size,
    #[command(flatten)]
    report: ReportArgs,
}

/// The experiment's shape, apart from where it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    tables: u32,
    threads: u16,
    random_select: bool,
    temporary: bool,
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
            temporary: self.temporary,
        })
    }
}

/// Runs the experiment, prints its table, writes its files.
pub fn run(args: &Args) -> Result<()> {
    let plan = args.plan()?;
    if args.report.is_named() || !args.filesystems.is_empty() {
        args.report.check(EXPERIMENT)?;
    } else {
        args.report.check_figures()?;
    }
    let stop = Stop::on_signals()?;
    if !args.filesystems.is_empty() {
        return run_on_filesystems(args, plan, &stop);
    }
    match &args.target {
        Some(url) => run_on(&MysqlServer::at(url)?, args, plan, &stop),
        None => run_on(&args.embedded(&args.dir)?, args, plan, &stop),
    }
}

impl Args {
    fn embedded(&self, dir: &Path) -> Result<Embedded> {
        let per_table = self
            .file_per_table
            .then(|| ("innodb_file_per_table".into(), "ON".into()));
        let options = EmbeddedOptions {
            pool_bytes: self.pool_mib.map(|n| (n as u64) << 20),
            durability: self.durability,
            variables: per_table.into_iter().collect(),
            ..EmbeddedOptions::default()
        };
        Embedded::create(dir, &options)
    }
}

fn run_on(target: &dyn Target, args: &Args, plan: Plan, stop: &Stop) -> Result<()> {
    let mut lease = Lease::take(target, args.durability)?;
    eprintln!("{}", target.describe());
    eprintln!("{}", lease.durability);
    let mut conditions = Conditions::gather(&args.dir)?;
    conditions.add(target, &mut lease)?;
    let outcome = run::run(target, plan, On { stop, shows: true })?;
    let report = Report {
        target: target.describe(),
        durability: lease.durability.clone(),
        plan,
        outcome,
    };
    args.report.print(&report.table().to_string());
    if !args.report.is_named() {
        args.report.write_figures(&report.json(), &report.csv())?;
    }
    if args.report.is_named() {
        let place = Place {
            name: target.name(),
            sync: None,
            outcome: report.outcome.clone(),
        };
        let one = Comparison {
            plan,
            conditions,
            places: vec![place],
            skipped: Vec::new(),
        };
        args.report.write(&one.report(None))?;
    }
    lease.end()?;
    match report.outcome.error {
        Some(e) => Err(Error::from(e)),
        None if !report.outcome.complete => Err("stopped before its end".into()),
        None => Ok(()),
    }
}

/// As a part of something larger: one connection after another to each target; the report, and whether there is anything in it.
pub(crate) fn measure_part(
    tables: u32,
    targets: &TargetArgs,
    chosen: &Chosen,
    progress: &Progress,
    stop: &Stop,
) -> Result<Part> {
    let plan = Plan {
        tables,
        threads: 1,
        random_select: false,
        temporary: false,
    };
    let mut all = Comparison {
        plan,
        conditions: Conditions::gather(&targets.dir)?,
        places: Vec::new(),
        skipped: Vec::new(),
    };
    let options = EmbeddedOptions {
        pool_bytes: None,
        ..targets.embedded(0)
    };
    let short = RefCell::default();
    let on = Places::of(chosen, progress, stop, &short);
    let ended = on.each(|place| {
        let target = place.spec.open(&targets.dir, &options)?;
        let mut lease = Lease::take(&*target, targets.durability)?;
        all.conditions.add(&*target, &mut lease)?;
        progress.step(format!("{}: {tables} tables", target.name()));
        let outcome = run::run(&*target, plan, one_by_one(place))?;
        let failed = outcome.error.clone();
        all.places.push(Place {
            name: target.name(),
            sync: None,
            outcome,
        });
        lease.end()?;
        failed.map_or(Ok(()), |e| Err(e.into()))
    });
    let incomplete = shortfall(&ended, stop).or_else(|| too_short_for(&short.borrow()));
    Ok(Part {
        report: all.report(incomplete),
        measured: !all.places.is_empty(),
        failed: ended.err().map(|e| e.to_string()),
    })
}

fn one_by_one(place: frame::Place<'_>) -> On<'_> {
    On {
        stop: place.stop,
        shows: false,
    }
}

/// The name for the directory as it is.
const HERE: &str = "here";

fn run_on_filesystems(args: &Args, plan: Plan, stop: &Stop) -> Result<()> {
    let mut all = Comparison {
        plan,
        conditions: Conditions::gather(&args.dir)?,
        places: Vec::new(),
        skipped: Vec::new(),
    };
    let ended = each_filesystem(args, &mut all, stop);
    let report = all.report(shortfall(&ended, stop));
    conclude(&args.report, &report, !all.places.is_empty())
}

fn each_filesystem(args: &Args, all: &mut Comparison, stop: &Stop) -> Result<()> {
    for name in &args.filesystems {
        if stop.is_set() {
            break;
        }
        eprintln!("{name}");
        if name == HERE {
            on_filesystem(args, name, &args.dir, all, stop)?;
            continue;
        }
        let kind = Kind::parse(name);
        let done = images::privately(|| -> std::result::Result<Result<()>, images::Skipped> {
            let mounted = Mounted::new(&kind, &args.dir, args.image_size)?;
            Ok(on_filesystem(args, name, &mounted.path, all, stop))
        });
        match done.and_then(|inside| inside) {
            Ok(ran) => ran?,
            Err(why) => {
                eprintln!("{name} is left out: {why}");
                all.skipped.push((name.clone(), why));
            }
        }
    }
    Ok(())
}

/// One run, added to the others.
fn on_filesystem(
    args: &Args,
    name: &str,
    dir: &Path,
    all: &mut Comparison,
    stop: &Stop,
) -> Result<()> {
    let sync = sync_cost(dir)?.as_secs_f64();
    let target = args.embedded(dir)?;
    let mut lease = Lease::take(&target, args.durability)?;
    if all.conditions.targets() == 0 {
        all.conditions.add(&target, &mut lease)?;
    }
    let outcome = run::run(&target, all.plan, On { stop, shows: true })?;
    lease.end()?;
    all.places.push(Place {
        name: name.into(),
        sync: Some(sync),
        outcome,
    });
    args.report
        .write(&all.report(Some("It is still running.".into())))?;
    Ok(())
}

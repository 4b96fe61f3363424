//! The `millpond` command.
//!
//! Owns flags, environment, configuration file, logging, exit codes. Everything else is the libraries' work. Exit codes: 0
//! done, 1 failed (or `check` found problems), 2 wrong usage.

mod allocator;
mod backup;
mod check;
mod memory;
mod restore;
mod serve;
mod settings;
mod shell;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// A MySQL-compatible database in which tables are as cheap as rows.
#[derive(Parser)]
#[command(name = "millpond", version, arg_required_else_help = true)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve MySQL clients
    Serve(serve::Args),
    /// An SQL shell on a data directory, without a server
    Sql(shell::Args),
    /// Experiments on Millpond or on any MySQL server
    Lab {
        #[command(subcommand)]
        experiment: Experiment,
    },
    /// Verify every page, tree and catalog row of a data directory that no server uses
    Check(check::Args),
    /// Have a running server copy its database into a directory of its machine
    Backup(backup::Args),
    /// Make a data directory of backups and archived log
    Restore(restore::Args),
}

#[derive(Subcommand)]
enum Experiment {
    /// All five articles in ten minutes: what each published beside what is measured here, on one page
    All(millpond_lab::all::Args),
    /// Create many tables, insert a row into each, read each, drop each
    ManyTables(millpond_lab::many_tables::Args),
    /// Create and drop empty tables with the buffer pool filled more and more
    DropThroughput(millpond_lab::drop_throughput::Args),
    /// Drop tables beside a read and write load, and see what the load feels
    DropStall(millpond_lab::drop_stall::Args),
    /// Create, drop and truncate empty tables with full buffer pools of several sizes
    TruncateScale(millpond_lab::truncate_scale::Args),
    /// Rebuild a table with OPTIMIZE TABLE, with unique and foreign keys, sorted and row by row
    Rebuild(millpond_lab::rebuild::Args),
    /// Change a table in every way, and see what each costs and what writers feel
    Alter(millpond_lab::alter::Args),
    /// Queries per second from a slow log written with long_query_time=0
    Qps(millpond_lab::qps::Args),
    /// Subtract the effects that one run of drop-stall found from those of another
    Compare(millpond_lab::compare::Args),
}

impl Experiment {
    fn run(&self) -> millpond_lab::Result<()> {
        match self {
            Experiment::All(args) => millpond_lab::all::run(args),
            Experiment::ManyTables(args) => millpond_lab::many_tables::run(args),
            Experiment::DropThroughput(args) => millpond_lab::drop_throughput::run(args),
            Experiment::DropStall(args) => millpond_lab::drop_stall::run(args),
            Experiment::TruncateScale(args) => millpond_lab::truncate_scale::run(args),
            Experiment::Rebuild(args) => millpond_lab::rebuild::run(args),
            Experiment::Alter(args) => millpond_lab::alter::run(args),
            Experiment::Qps(args) => millpond_lab::qps::run(args),
            Experiment::Compare(args) => millpond_lab::compare::run(args),
        }
    }
}

fn main() -> ExitCode {
    allocator::give_memory_back();
    let done = match Args::parse().command {
        Command::Serve(args) => serve::run(&args),
        Command::Sql(args) => shell::run(&args),
        Command::Lab { experiment } => experiment.run(),
        Command::Check(args) => check::run(&args),
        Command::Backup(args) => backup::run(&args),
        Command::Restore(args) => restore::run(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("millpond: {e}");
            ExitCode::FAILURE
        }
    }
}

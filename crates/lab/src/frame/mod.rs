//! What every experiment stands on: its flags for targets and reports, the state it borrows from a target and gives back, progress,
//! stopping, files, the machine it ran on.

mod args;
mod conditions;
mod experiment;
mod files;
mod lease;
mod machine;
mod precedence;
mod pressure;
mod progress;
mod size;
mod stop;
mod subject;

pub use args::{AlgorithmArgs, Chosen, Spec, TargetArgs, scale};
pub use conditions::Conditions;
#[cfg(test)]
pub(crate) use experiment::testing;
pub(crate) use experiment::{
    Experiment, Part, Place, Places, Results, measure_part, run, too_short_for,
};
pub use files::{ReportArgs, conclude, shortfall};
pub use lease::{DATABASE, Lease, PoolPages};
pub use machine::{Machine, sync_cost};
pub use precedence::Precedence;
pub use pressure::{Pressure, Worked};
pub use progress::Progress;
pub use size::Size;
pub use stop::Stop;
pub use subject::Subject;

/// An experiment's arguments as the command line would give them.
pub(crate) fn from_flags<A: clap::Args>(list: &[&str]) -> crate::Result<A> {
    #[derive(clap::Parser)]
    struct Cli<A: clap::Args> {
        #[command(flatten)]
        args: A,
    }
    let all = std::iter::once("lab").chain(list.iter().copied());
    Ok(<Cli<A> as clap::Parser>::try_parse_from(all)?.args)
}

/// The same for tests.
#[cfg(test)]
pub fn parsed<A: clap::Args>(list: &[&str]) -> A {
    from_flags(list).unwrap()
}

//! What every experiment stands on: its flags for targets and reports, the state it borrows from a target and gives back, progress,
//! stopping, files, the machine it ran on.

mod args;
mod conditions;
mod files;
mod lease;
mod machine;
mod progress;
mod size;
mod stop;
mod subject;

pub use args::{Chosen, Spec, TargetArgs, scale};
pub use conditions::Conditions;
pub use files::{ReportArgs, conclude, shortfall, write};
pub use lease::{DATABASE, Lease, PoolPages};
pub use machine::{Machine, sync_cost};
pub use progress::Progress;
pub use size::Size;
pub use stop::Stop;
pub use subject::Subject;

//! Figures from measurements.

mod bootstrap;
mod fit;
mod latency;
mod matched;
mod normal;
mod spread;
mod student;
mod timeline;

pub use bootstrap::{Interval, intervals, mean_interval};
pub use fit::{Line, median};
pub use latency::Latencies;
pub use matched::Matched;
pub use spread::Spread;
pub use timeline::{POINTS, Timeline, WINDOW, mean, most, thinned};

//! Figures from measurements.

mod fit;
mod latency;
mod timeline;

pub use fit::{Line, median};
pub use latency::Latencies;
pub use timeline::{POINTS, Timeline, WINDOW, mean, most, thinned};

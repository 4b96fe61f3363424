//! Figures from measurements.

mod fit;
mod latency;
mod spread;
mod timeline;

pub use fit::{Line, median};
pub use latency::Latencies;
pub use spread::Spread;
pub use timeline::{POINTS, Timeline, WINDOW, mean, most, thinned};

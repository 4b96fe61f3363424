//! Figures from measurements.

mod fit;

pub use fit::{Line, median};

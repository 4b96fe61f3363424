//! EXPLAIN: plans as MySQL shows them, before and after they ran.
//!
//! | file | owns |
//! |---|---|
//! | `table` | the traditional table; which format is asked for |
//! | `tree` | the tree of iterators, and EXPLAIN ANALYZE's |
//! | `json` | EXPLAIN FORMAT=JSON |
//! | `profile` | what EXPLAIN ANALYZE notes of a run |
//!
//! It reads plans and changes nothing; whoever runs a plan fills the [`Profile`].

mod json;
mod profile;
mod table;
mod tree;

pub use profile::{Profile, Times};
pub use table::{ExplainFormat, explain, explainable, text_heading};
pub use tree::analyzed;

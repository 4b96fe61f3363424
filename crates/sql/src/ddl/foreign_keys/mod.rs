//! Foreign keys in definitions: `docs/foreign-keys.md` has the rules.
//!
//! | file | owns |
//! |---|---|
//! | `define` | from the tree to a [`ForeignKey`](crate::catalog::ForeignKey): names, the index that a key brings |
//! | `parents` | whether child and parent fit each other |
//! | `rules` | what may not be changed about tables that have foreign keys, or are referred to |
//! | `relate` | the locks that a change takes on the other side, and the definitions it changes there |
//! | `rows` | whether the rows that are there keep a foreign key |
//!
//! Nothing here changes a row.

mod define;
mod parents;
mod relate;
mod rows;
mod rules;

pub(super) use define::{Spec, drop_covered, implied_keys, of_definition, resolve};
pub(super) use parents::not_with_partitions;
pub(super) use relate::{rename_columns, renamed_key};
pub(super) use rules::check_columns;

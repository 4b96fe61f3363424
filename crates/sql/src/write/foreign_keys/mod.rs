//! Foreign keys, row by row: `docs/foreign-keys.md` says what they promise.
//!
//! | file | owns |
//! |---|---|
//! | `relations` | [`Relations`]: the tables that a statement's rows have to do with, and by which keys |
//! | `resolve` | which those are: made with the plan |
//! | `enforce` | [`Enforced`]: a row's parents looked up and locked; its children found |
//! | `cascade` | what becomes of children |
//! | `errors` | errors 1451, 1452, 3008 |
//!
//! A statement's [`Relations`] are part of its plan: they hold the other tables open, and are pinned with the plan's own, so a change of any of
//! them makes a new plan. A table that neither has foreign keys nor is referred to has no relations, and its rows pay nothing.

mod cascade;
mod enforce;
mod errors;
mod relations;
mod resolve;

pub(crate) use enforce::Enforced;
pub use errors::child_error;
pub(super) use errors::ignorable;
pub use relations::Relations;
pub(crate) use resolve::{Written, resolve};

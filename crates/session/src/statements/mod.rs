//! Compiled statements: kept by text, for one session and for all that mean the same by it; and what each kind of statement does.
//!
//! | file | owns |
//! |---|---|
//! | `cache` | a compiled statement; a session's own, by text |
//! | `shared` | those that all sessions share |
//! | `kinds` | what each kind of statement does to transactions, counters and records |
//!
//! Nothing here runs a statement. What is kept says where it holds ([`Context`]), and whoever takes it out asks.

mod cache;
pub(crate) mod kinds;
mod masked;
mod shared;

pub(crate) use cache::{Cache, Compiled, Context, Kept, Parsed};
pub(crate) use shared::{MAX_TEXT, SharedCache};

//! MySQL's language over Millpond's store: types, collations, expressions, planner, executor, DDL. It knows no sessions and no
//! network: `millpond-session` runs statements by it.
//!
//! From the top; a module imports only from those below it.
//!
//! | module | owns |
//! |---|---|
//! | [`ddl`] | CREATE, DROP, TRUNCATE, RENAME, index DDL |
//! | [`exec`] | operators that push rows; which rows statements write |
//! | [`planner`] | from the syntax tree to a plan |
//! | `explain` | EXPLAIN |
//! | `bind` | from the syntax tree to a logical plan: names and types |
//! | `optimize` | from a logical plan to a physical one: access paths, join order |
//! | `rewrite` | logical plans made cheaper, one rule a file |
//! | [`plan`] | physical plans |
//! | `logical` | logical plans: query blocks, join trees, subqueries |
//! | [`write`](mod@write) | the one row writer |
//! | [`statistics`] | what is known of tables' rows |
//! | [`partition`] | partitioned tables: what they may be, routing, pruning |
//! | [`computed`] | what definitions say by expressions: defaults, CHECK, generated columns, key parts |
//! | [`expr`] | bound expressions, functions, casts, aggregates |
//! | [`fulltext`] | FULLTEXT search: words, searches, ranks |
//! | [`spatial`] | SPATIAL indexes: entries, and where to look for them |
//! | [`row`] | rows, keys and buffered values as bytes |
//! | [`catalog`] | definitions of tables |
//! | `files` | files that statements read and write: which, and their format |
//! | [`env`](mod@env) | what statements see of the session that runs them |
//! | [`parse`] | text to statements, by `millpond-syntax` |
//! | [`memory`], [`stack`] | what statements may take of memory and stack |
//! | [`store_error`] | the store's errors as MySQL's |
//! | [`types`], [`value`] | `millpond-types`: types, collations, values |
//! | [`result`], [`error`] | what goes out |

mod bind;
pub mod catalog;
pub mod computed;
pub mod ddl;
pub mod env;
pub mod exec;
mod explain;
pub mod expr;
pub mod files;
pub mod fulltext;
mod logical;
pub mod memory;
mod optimize;
pub mod parse;
pub mod partition;
pub mod plan;
pub mod planner;
pub mod result;
mod rewrite;
pub mod row;
pub mod spatial;
pub mod stack;
pub mod statistics;
pub mod store_error;
pub mod switches;
#[cfg(test)]
mod tests;
pub mod write;

pub use millpond_types::error;

/// Types, and the definitions of tables that have them.
pub mod types {
    pub use crate::catalog::{
        Check, CheckName, Column, DefaultValue, FulltextIndex, Generated, Index, KeyPart,
        MAX_KEY_LENGTH, Schema, TextParser, Visibility,
    };
    pub use millpond_types::types::*;
}

/// Values, and how they become a column's.
pub mod value {
    pub use crate::catalog::assign::{
        default_value, generated, initial_value, no_number, null_refused, number_within, store,
    };
    pub use millpond_types::value::*;
}

pub use error::{SqlError, SqlResult};
pub use result::{ColumnMeta, Completion, ResultSink};
pub use value::Value;

//! MySQL's language over Millpond's store: types, collations, expressions, planner, executor,
//! sessions, DDL, SHOW. It knows no network: the server and the embedded API both drive [`Session`].
//!
//! | module | owns |
//! |---|---|
//! | [`session`] | [`Instance`], [`Session`]: transactions, variables, prepared statements, diagnostics |
//! | [`show`] | SHOW, DESCRIBE, the tables of information_schema |
//! | [`ddl`] | CREATE, DROP, TRUNCATE, RENAME, index DDL |
//! | [`exec`] | operators that push rows; which rows statements write |
//! | [`write`] | the one row writer |
//! | `bind` | from the syntax tree to a logical plan: names and types |
//! | `logical` | logical plans: query blocks, join trees, subqueries |
//! | `rewrite` | logical plans made cheaper, one rule a file |
//! | `optimize` | from a logical plan to a physical one: access paths, join order |
//! | [`plan`] | physical plans, EXPLAIN |
//! | `partition` | partitioned tables: definitions, routing, pruning |
//! | [`parse`] | text to statements, by `millpond-syntax` |
//! | [`expr`] | bound expressions, functions, casts, aggregates |
//! | [`memory`] | what statements may take of memory |
//! | [`row`] | rows and keys as bytes |
//! | [`catalog`] | definitions of tables; optimizer statistics |
//! | [`types`], [`value`] | `millpond-types`: types, collations, values |
//! | [`watch`] | the stall record: latencies, time line, DDL events |
//! | [`result`], [`error`] | what goes out |

mod bind;
pub mod catalog;
pub mod ddl;
pub mod env;
pub mod exec;
mod explain;
pub mod expr;
mod logical;
pub mod memory;
mod optimize;
pub mod parse;
pub(crate) mod partition;
pub mod plan;
pub mod planner;
pub mod result;
mod rewrite;
pub mod row;
pub mod session;
pub mod show;
mod slowlog;
mod stack;
pub mod statistics;
mod store_error;
pub mod watch;
pub mod write;

pub use millpond_types::error;

/// Types, and the definitions of tables that have them.
pub mod types {
    pub use crate::catalog::{Column, DefaultValue, Index, KeyPart, MAX_KEY_LENGTH, Schema};
    pub use millpond_types::types::*;
}

/// Values, and how they become a column's.
pub mod value {
    pub use crate::catalog::assign::{
        default_value, generated, initial_value, null_refused, store,
    };
    pub use millpond_types::value::*;
}

pub use error::{SqlError, SqlResult};
pub use result::{ColumnMeta, Completion, ResultSink};
pub use session::{ConnectionInfo, Instance, InstanceOptions, Prepared, Session};
pub use value::Value;

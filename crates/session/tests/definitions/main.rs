//! What definitions of tables do, also while others read and write: one program, a module a topic.

mod ddl;
mod online_ddl;
mod online_rebuild;
mod partition_twin;
mod partitions;
#[path = "../support/mod.rs"]
mod support;
mod temporary;

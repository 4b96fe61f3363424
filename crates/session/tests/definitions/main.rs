//! What definitions of tables do, also while others read and write: one program, a module a topic.

mod bit_rot;
mod ddl;
mod drop_database;
mod encryption;
mod instant;
mod online_ddl;
mod online_rebuild;
mod partition_twin;
mod partitions;
mod power_cuts;
mod random_alters;
#[path = "../support/rng.rs"]
mod rng;
mod spatial;
#[path = "../support/mod.rs"]
mod support;
mod templates;
mod temporary;
mod transactional;
mod views;

//! How statements are planned, and that every plan gives the same rows: one program, a module a topic.

mod access_methods;
mod access_paths;
mod estimates;
mod exists;
mod hash_index;
mod plan_sharing;
mod plans;
mod rewrites;
#[path = "../support/rng.rs"]
mod rng;
mod statistics;
#[path = "../support/mod.rs"]
mod support;

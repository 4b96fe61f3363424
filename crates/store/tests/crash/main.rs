//! Scripted runs on a disk that fails: power cuts at every write, and operations that fail one at a time. What was acknowledged is there, the statement
//! under way wholly or not at all, and everything checks clean.

#[path = "../common/mod.rs"]
mod common;
mod cuts;
mod faults;
mod run;
mod script;

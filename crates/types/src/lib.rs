//! SQL's types and values, as MySQL has them: no tables, no sessions, no text of statements, and no other crate of Millpond.
//!
//! | module | owns |
//! |---|---|
//! | [`types`] | the table of types; collations, character sets, the types of results |
//! | [`value`] | values: conversion, comparison, text; dates and zones |
//! | [`value::json`] | JSON documents: binary form, text, paths, changes |
//! | [`value::family`] | what a type's values do: assignment, casts, order, bytes in rows and keys |
//! | [`decimal`] | exact numbers to 65 digits |
//! | [`crc32`] | the checksum of CRC32() and CHECKSUM TABLE |
//! | [`error`] | MySQL's error codes, SQLSTATEs and messages |
//!
//! Arrows: `value` → `types` → `decimal`, `error`. Nothing here does I/O but for reading the system's time zones once.

pub mod crc32;
pub mod decimal;
pub mod error;
pub mod types;
pub mod value;

pub use error::{SqlError, SqlResult};
pub use types::SqlType;
pub use value::Value;

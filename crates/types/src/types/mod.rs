//! SQL types, collations and character sets: what columns and expressions are. `base` is the table of types; values are
//! [`crate::value`]'s, and what a type's values do is [`crate::value::family`]'s.

use std::sync::Arc;

mod base;
pub mod collation;
pub mod derive;
mod encoding;
mod flags;
mod general_ci;
mod names;
mod uca;

pub use base::{BaseType, Beside, Compares, Counts, Facts, Family, StringFacts, Wire};
pub use encoding::{Encoding, Encodings};
pub use flags::*;
pub use names::{MAX_VARCHAR_BYTES, NOT_FIXED, fraction_len};

/// A type as a column or expression has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlType {
    /// Base type.
    pub base: BaseType,
    /// UNSIGNED.
    pub unsigned: bool,
    /// ZEROFILL: the width to which zeros are put before a column's numbers; 0 without it.
    pub zerofill: u8,
    /// Display length in characters (strings), precision (DECIMAL), fractional seconds (times) or bits (BIT).
    pub length: u32,
    /// Digits after the point (DECIMAL); 31 for a DOUBLE without.
    pub decimals: u8,
    /// Collation of character types; `Binary` for the rest.
    pub collation: Collation,
    /// Members of an ENUM.
    pub members: Option<Arc<[String]>>,
}

/// Collations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Collation {
    Binary,
    Utf8mb4Bin,
    Utf8mb4GeneralCi,
    Utf8mb4UnicodeCi,
    Utf8mb4Unicode520Ci,
    Utf8mb40900AiCi,
}

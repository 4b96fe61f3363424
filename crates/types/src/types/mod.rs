//! SQL types, collations and character sets: what columns and expressions are. `base` is the table of types; values are
//! [`crate::value`]'s, and what a type's values do is [`crate::value::family`]'s.
//!
//! Texts are UTF-8 inside, in memory, in rows and in keys, whatever the character set of their column. A character set is a part of
//! the type: it says which characters a column takes, how long it may be, and what its bytes are where bytes are asked for
//! (LENGTH, HEX, a binary string beside it, a client). So texts of different character sets are compared and joined without a conversion,
//! all that works on texts works on one form, and files of before there were character sets are as they were. What it costs is that a
//! latin1 `é` takes two bytes in a row, and a UTF-16 letter of Latin one.

use std::sync::Arc;

mod base;
mod charset;
mod chinese;
mod codes;
pub mod collation;
mod collations;
pub mod derive;
mod encoding;
mod flags;
mod general_ci;
mod latin1;
mod names;
mod single;
mod uca;
mod weight_string;

pub use base::{BaseType, Beside, Category, Compares, Counts, Facts, Family, StringFacts, Wire};
pub use charset::{Charset, CharsetFacts};
pub use collations::Collation;
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
    /// The reference system that all geometries of a column are in; `None`: any.
    pub srid: Option<u32>,
    /// Whether values show as they are, a DECIMAL with its own digits after the point and a YEAR as a number: those that IF, CASE and
    /// NULLIF choose. No column's are.
    pub chosen: bool,
    /// Members of an ENUM.
    pub members: Option<Arc<[String]>>,
}

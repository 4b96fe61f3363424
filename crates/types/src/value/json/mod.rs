//! JSON values: MySQL's type JSON, in a binary form of its own in which one member of a large document is read without the rest.
//!
//! # The binary form
//!
//! A value is a tag and what belongs to it; numbers are little-endian. Every value, wherever it is in a document, is a document by
//! itself: offsets count from the tag of the array or object that has them, so that what is extracted is copied as it is.
//!
//! ```text
//! 0 | 1 | 2                                          null, false, true
//! 3 i64 | 4 u64 | 5 f64                              INTEGER, UNSIGNED INTEGER, DOUBLE
//! 6 scale u8, length u8, digits                      DECIMAL, as rows have it
//! 7 length u32, UTF-8                                STRING
//! 8 u32 | 9 i64 | 10 u64, u32                        DATE, TIME (microseconds), DATETIME (packed, microseconds)
//! 11 type u8, length u32, bytes                      BLOB, BIT, OPAQUE: bytes of another MySQL type
//! 12 | 14 count, size, count × value offset, values              ARRAY
//! 13 | 15 count, size, count × (key offset, key length, value offset), keys, values     OBJECT
//! ```
//!
//! In 12 and 13 counts, sizes and offsets are 16 bits wide, in 14 and 15 (values of 64 KiB and more) 32 bits. `size` is that of the
//! whole value, the tag included. Keys are in MySQL's order: the shorter first, those of one length by their bytes; none is there
//! twice (of members with one name the last counts), so a key is found by bisection.
//!
//! # Limits
//!
//! Depth [`MAX_DEPTH`] (error 3157), a key's length 65535 bytes (3151), a document's size 4 GiB (3150) and what
//! `max_allowed_packet` allows of any value.
//!
//! | module | owns |
//! |---|---|
//! | `binary` | reading and writing the form |
//! | `text` | from text, with MySQL's messages, and to text |
//! | `order` | comparison, sort keys |
//! | `path` | path expressions: parsing, what they select |
//! | `edit` | documents changed at paths |
//! | `merge` | merging, containment, overlap |
//! | `convert` | from and to SQL values |
//!
//! Nothing here knows columns or functions: their names in messages are put there by whoever calls.

mod binary;
mod convert;
mod edit;
mod merge;
mod order;
mod path;
#[cfg(test)]
mod tests;
mod text;

use std::borrow::Cow;

use crate::error::{SqlError, SqlResult};

pub use binary::{Array, Object, Ref, View, array_of, object_of};
pub use convert::{Unfit, from_value, opaque_type, scalar};
pub use edit::{Change, array_append, array_insert, remove, set};
pub use merge::{contains, merge_patch, merge_preserve, overlaps};
pub use order::{compare, sort_key};
pub use path::{Cell, Leg, Path, PathError, write_leg};
pub use text::{SyntaxError, parse, unquote, write_quoted};

/// Arrays and objects that may be within each other, scalars counted as one level more.
pub const MAX_DEPTH: usize = 100;
/// Longest key in bytes.
pub const MAX_KEY: usize = u16::MAX as usize;

/// A JSON value: its binary form.
#[derive(Clone, Debug)]
pub struct Json<'a>(Cow<'a, [u8]>);

impl<'a> Json<'a> {
    /// The value of a binary form that this module made: the column of a stored row.
    #[inline]
    pub fn of_bytes(bytes: impl Into<Cow<'a, [u8]>>) -> Json<'a> {
        Json(bytes.into())
    }
    /// Its binary form.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
    /// The same value, borrowing from this one.
    #[inline]
    pub fn borrowed(&self) -> Json<'_> {
        Json(Cow::Borrowed(&self.0))
    }
    /// The same value, owning its bytes.
    pub fn into_owned(self) -> Json<'static> {
        Json(Cow::Owned(self.0.into_owned()))
    }
    /// Its binary form, given away.
    pub fn into_bytes(self) -> Cow<'a, [u8]> {
        self.0
    }
    /// The value as one of those within a document.
    #[inline]
    pub fn root(&self) -> Ref<'_> {
        Ref(&self.0)
    }
    /// What it is.
    #[inline]
    pub fn view(&self) -> View<'_> {
        View::of(&self.0)
    }
    /// Arrays and objects within each other, and a scalar one: JSON_DEPTH().
    pub fn depth(&self) -> usize {
        self.view().depth()
    }
    /// Refuses what is too deep: error 3157.
    pub fn checked(self) -> SqlResult<Json<'a>> {
        if self.0.len() > MAX_DEPTH && self.depth() > MAX_DEPTH {
            return Err(too_deep());
        }
        Ok(self)
    }
}

/// Error 3157.
pub fn too_deep() -> SqlError {
    SqlError::new(3157, "The JSON document exceeds the maximum depth.")
}

/// The error of a text that is refused whatever is to be done with it: 3157, 3151.
pub fn refused(e: SyntaxError) -> SqlError {
    match e {
        SyntaxError::LongKey => SqlError::new(
            3151,
            "The JSON object contains a key name that is too long.",
        ),
        _ => too_deep(),
    }
}

/// Error 3141 of a text that is the n-th argument, from 1, of a function; or 3157, 3151.
pub fn refused_argument(e: SyntaxError, n: usize, function: &str) -> SqlError {
    let SyntaxError::At(what, at) = e else {
        return refused(e);
    };
    SqlError::new(
        3141,
        format!(
            "Invalid JSON text in argument {n} to function {function}: \"{what}\" at position {at}."
        ),
    )
}

/// Error 3158.
pub fn null_key() -> SqlError {
    SqlError::new(3158, "JSON documents may not contain NULL member names.")
}

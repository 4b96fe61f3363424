//! Where each column lies in a stored row: what follows from the types alone. The row's bytes are [`crate::row`]'s.

use super::Column;
use crate::types::{BaseType, Collation, SqlType};
use crate::value::Decimal;

/// How a fixed-width column is written, or that it is variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Signed integer of `width` bytes, sign bit flipped, big-endian.
    Signed,
    /// Unsigned integer of `width` bytes, big-endian.
    Unsigned,
    Double,
    Float,
    /// Scale.
    Decimal(u8),
    Date,
    /// Fractional digits.
    DateTime(u8),
    /// Fractional digits.
    Timestamp(u8),
    Time,
    Year,
    /// Position of the member from 1; 0 is the empty string that bad input leaves.
    Enum,
    Variable,
}

/// A column's place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    pub form: Form,
    /// Bytes; 0 for variable ones.
    pub width: u8,
    /// Offset from the row's start; for a variable column its number among them.
    pub at: u32,
}

/// Where each column lies in a stored row.
#[derive(Clone, Debug)]
pub struct RowLayout {
    slots: Vec<Slot>,
    /// Where the ends of the variable columns begin.
    ends: u32,
    variable: u32,
}

/// Bytes that hold fractional seconds of so many digits.
pub(crate) fn fraction_len(fsp: u8) -> u8 {
    fsp.div_ceil(2)
}

/// Form and width of a type's values.
pub(crate) fn form_of(ty: &SqlType) -> (Form, u8) {
    use BaseType as B;
    let integer = if ty.unsigned {
        Form::Unsigned
    } else {
        Form::Signed
    };
    match ty.base {
        B::TinyInt => (integer, 1),
        B::SmallInt => (integer, 2),
        B::MediumInt => (integer, 3),
        B::Int => (integer, 4),
        B::BigInt => (integer, 8),
        B::Decimal => (
            Form::Decimal(ty.decimals),
            Decimal::encoded_len(ty.length) as u8,
        ),
        B::Float => (Form::Float, 4),
        B::Double => (Form::Double, 8),
        B::Date => (Form::Date, 3),
        B::DateTime => (Form::DateTime(ty.decimals), 5 + fraction_len(ty.decimals)),
        B::Timestamp => (Form::Timestamp(ty.decimals), 4 + fraction_len(ty.decimals)),
        B::Time => (Form::Time, 6),
        B::Year => (Form::Year, 1),
        B::Enum => (Form::Enum, 2),
        _ => (Form::Variable, 0),
    }
}

/// Bytes a fixed-width type takes in rows and keys; 0 for strings.
pub(crate) fn fixed_len(ty: &SqlType) -> usize {
    form_of(ty).1 as usize
}

/// Bytes a key part of a type counts for error 1071: `prefix` characters (bytes of a binary string), or all of them.
pub(crate) fn key_length(ty: &SqlType, prefix: Option<u32>) -> usize {
    if !ty.is_string() || ty.base == BaseType::Enum {
        return fixed_len(ty);
    }
    let chars = prefix.unwrap_or(ty.length).min(ty.length) as usize;
    match ty.collation {
        Collation::Binary => chars,
        _ => chars * 4,
    }
}

impl RowLayout {
    /// Lays the columns out.
    pub(crate) fn new(columns: &[Column]) -> RowLayout {
        let mut at = 1 + columns.len().div_ceil(8) as u32;
        let mut variable = 0;
        let mut slots = Vec::with_capacity(columns.len());
        for c in columns {
            let (form, width) = form_of(&c.ty);
            let place = if form == Form::Variable {
                &mut variable
            } else {
                &mut at
            };
            slots.push(Slot {
                form,
                width,
                at: *place,
            });
            *place += (width as u32).max((form == Form::Variable) as u32);
        }
        RowLayout {
            slots,
            ends: at,
            variable,
        }
    }

    /// Where the columns are, in order.
    #[inline]
    pub(crate) fn slots(&self) -> &[Slot] {
        &self.slots
    }
    /// Where the ends of the variable columns begin.
    #[inline]
    pub(crate) fn ends(&self) -> usize {
        self.ends as usize
    }
    /// How many columns are variable.
    #[inline]
    pub(crate) fn variable(&self) -> usize {
        self.variable as usize
    }
}

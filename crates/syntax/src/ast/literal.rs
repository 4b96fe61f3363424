//! Literals other than NULL, TRUE, FALSE and small whole numbers.

use super::name::Str;

/// A literal.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// A whole number that 64 bits don't hold; its digits.
    BigInt(Str),
    /// A number with a point, as it was written.
    Decimal(Str),
    /// A number with an exponent, as it was written.
    Float(Str),
    /// A text: what it means, and the first piece's length in bytes where it was written in several (a heading is the first piece).
    Text(Box<str>, Option<u32>),
    /// `N'…'`.
    National(Box<str>),
    /// `0x1F`, `x'1F'`: the bytes.
    Hex(Box<[u8]>),
    /// `0b101`, `b'101'`: the digits.
    Bits(Str),
    /// `DATE '2020-01-01'`.
    Date(Box<str>),
    /// `TIME '10:00:00'`.
    Time(Box<str>),
    /// `TIMESTAMP '2020-01-01 10:00:00'`.
    Timestamp(Box<str>),
}

impl Literal {
    /// Bytes of its text.
    pub(crate) fn len(&self) -> usize {
        match self {
            Literal::BigInt(s) | Literal::Decimal(s) | Literal::Float(s) | Literal::Bits(s) => {
                s.as_str().len()
            }
            Literal::Text(s, _)
            | Literal::National(s)
            | Literal::Date(s)
            | Literal::Time(s)
            | Literal::Timestamp(s) => s.len(),
            Literal::Hex(bytes) => bytes.len(),
        }
    }
}

/// `_charset'text'`, `_charset 0x1F`, `_charset b'101'`.
#[derive(Clone, Debug, PartialEq)]
pub struct CollatedLiteral {
    /// The character set, without the underscore.
    pub charset: Str,
    /// [`Literal::Text`], [`Literal::Hex`] or [`Literal::Bits`].
    pub literal: Literal,
}

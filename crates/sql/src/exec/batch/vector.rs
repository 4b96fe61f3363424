//! Values of one expression for all rows of a batch, typed where they are alike.

use crate::types::SqlType;
use crate::value::family::stored::{Form, form_of};
use crate::value::{Date, Decimal, Value};

/// Values of a batch's rows: as many as it has rows. What stands at a NULL's place means nothing.
#[derive(Clone, Debug)]
pub struct Vector<'b> {
    /// The values.
    pub data: Data<'b>,
    /// Which are NULL; `None`: none is. [`Data::Values`] says so itself and has none here.
    pub nulls: Option<Vec<bool>>,
}

/// Typed values.
#[derive(Clone, Debug)]
pub enum Data<'b> {
    /// Signed integers.
    Int(Vec<i64>),
    /// Unsigned integers.
    UInt(Vec<u64>),
    /// Decimals of one scale: their digits as a number, 10^scale times the value.
    Decimal(Vec<i64>, u8),
    /// Doubles.
    Double(Vec<f64>),
    /// Dates as [`Date::pack`] has them, whose order is that of dates.
    Date(Vec<u32>),
    /// Strings.
    Bytes(Vec<&'b [u8]>),
    /// Whatever else, or values of several kinds.
    Values(Vec<Value<'b>>),
}

/// What a type's values are in a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Kind {
    Int,
    UInt,
    Decimal(u8),
    Double,
    Date,
    Bytes,
    Values,
}

/// Decimals of more digits are [`Data::Values`].
const DIGITS: u32 = 18;

impl Kind {
    /// Of stored values of a type.
    pub fn of(ty: &SqlType) -> Kind {
        match form_of(ty).0 {
            Form::Signed => Kind::Int,
            Form::Unsigned => Kind::UInt,
            Form::Decimal(_) if ty.length <= DIGITS => Kind::Decimal(ty.decimals),
            Form::Double | Form::Float => Kind::Double,
            Form::Date => Kind::Date,
            Form::Variable if ty.is_string() => Kind::Bytes,
            // What there is no loop for.
            _ => Kind::Values,
        }
    }
}

impl<'b> Vector<'b> {
    /// Values none of which is NULL.
    pub fn of(data: Data<'b>) -> Vector<'b> {
        Vector { data, nulls: None }
    }

    /// How many.
    pub fn len(&self) -> usize {
        match &self.data {
            Data::Int(v) | Data::Decimal(v, _) => v.len(),
            Data::UInt(v) => v.len(),
            Data::Double(v) => v.len(),
            Data::Date(v) => v.len(),
            Data::Bytes(v) => v.len(),
            Data::Values(v) => v.len(),
        }
    }

    /// Whether one is NULL.
    #[inline]
    pub fn is_null(&self, at: usize) -> bool {
        match (&self.data, &self.nulls) {
            (Data::Values(v), _) => v[at].is_null(),
            (_, Some(nulls)) => nulls[at],
            (_, None) => false,
        }
    }

    /// One of them.
    pub fn value(&self, at: usize) -> Value<'_> {
        if self.is_null(at) {
            return Value::Null;
        }
        match &self.data {
            Data::Int(v) => Value::Int(v[at]),
            Data::UInt(v) => Value::UInt(v[at]),
            Data::Decimal(v, scale) => Value::Decimal(Decimal::from_i128(v[at].into(), *scale)),
            Data::Double(v) => Value::Double(v[at]),
            Data::Date(v) => Value::Date(Date::unpack(v[at])),
            Data::Bytes(v) => Value::Bytes(v[at].into()),
            Data::Values(v) => v[at].borrowed(),
        }
    }
}

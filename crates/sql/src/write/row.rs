//! The values of a row being made.

use smallvec::SmallVec;

use crate::types::Schema;
use crate::value::{Value, Zone};

/// A row being made: a value for each column, as the column stores it. Made and filled by a [`RowWriter`](super::RowWriter).
#[derive(Debug)]
pub struct NewRow<'v> {
    values: SmallVec<[Value<'v>; 16]>,
    /// Its AUTO_INCREMENT column is to get the next number, and is 0 until then.
    pub(super) numbered: bool,
}

impl<'v> NewRow<'v> {
    pub(super) fn of(values: impl Iterator<Item = Value<'v>>) -> NewRow<'v> {
        NewRow {
            values: values.collect(),
            numbered: false,
        }
    }
    /// A row of NULLs.
    pub(super) fn nulls(columns: usize) -> NewRow<'v> {
        NewRow {
            values: SmallVec::from_elem(Value::Null, columns),
            numbered: false,
        }
    }
    /// The values of an image.
    pub(super) fn decode(schema: &'v Schema, image: &'v [u8], tz: Zone) -> NewRow<'v> {
        let layout = schema.layout();
        NewRow::of((0..schema.columns.len()).map(|c| layout.column(schema, image, c, tz)))
    }
    /// The values.
    #[inline]
    pub fn values(&self) -> &[Value<'v>] {
        &self.values
    }
    /// Gives a column a value that is as the column stores it.
    #[inline]
    pub fn put(&mut self, column: usize, v: Value<'v>) {
        self.values[column] = v;
    }
}

/// Whether an integer is 0, which in an AUTO_INCREMENT column may stand for the next number.
pub(super) fn is_zero(v: &Value<'_>) -> bool {
    matches!(v, Value::Int(0) | Value::UInt(0))
}

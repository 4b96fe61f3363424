//! Rows and keys as bytes: the codec between SQL values and what the store keeps.
//!
//! Timestamps are UTC in rows and keys and in the session's zone as values, hence the `tz` (seconds east of UTC) parameters.

use crate::error::SqlResult;
use crate::types::{Schema, SqlType};
use crate::value::Value;
use millpond_store::{CodecFactory, KeyCodec, Result, TableDef};
use std::sync::Arc;

/// Where each column lies in a stored row.
#[derive(Clone, Debug)]
pub struct RowLayout {}

impl RowLayout {
    /// One column of a row, borrowing strings. O(1): no other column is looked at.
    pub fn column<'a>(
        &self,
        _schema: &'a Schema,
        _row: &'a [u8],
        _column: usize,
        _tz: i32,
    ) -> Value<'a> {
        todo!()
    }
}

/// Appends the row's bytes. The values must have gone through [`crate::value::store`]: one per column, of its type.
pub fn encode_row(
    _schema: &Schema,
    _values: &[Value<'_>],
    _tz: i32,
    _out: &mut Vec<u8>,
) -> SqlResult<()> {
    todo!()
}

/// All columns of a row, in order, appended to `out`.
pub fn decode_row<'a>(_schema: &'a Schema, _row: &'a [u8], _tz: i32, _out: &mut Vec<Value<'a>>) {
    todo!()
}

/// Appends the key of `index` made of the leading `values` (full or partial; at most one per part), each of its column's type
/// (see [`lookup`] for values that come from elsewhere).
pub fn encode_key_values(
    _schema: &Schema,
    _index: usize,
    _values: &[Value<'_>],
    _tz: i32,
    _out: &mut Vec<u8>,
) {
    todo!()
}

/// Appends a value's sort key: NULL first, `memcmp`-ordered, prefix-free; inverted if `desc`. For ORDER BY, GROUP BY and
/// DISTINCT. ENUMs sort by position.
pub fn encode_sort_value(_value: &Value<'_>, _ty: &SqlType, _desc: bool, _out: &mut Vec<u8>) {
    todo!()
}

/// The bytes that every key of a string part starts with if its column starts with `prefix` (for `LIKE 'abc%'`), appended.
/// `false` (nothing appended) if the part's type or direction does not allow it.
pub fn encode_key_like(
    _schema: &Schema,
    _index: usize,
    _part: usize,
    _prefix: &[u8],
    _out: &mut Vec<u8>,
) -> bool {
    todo!()
}

/// Whether part `part` of an index can be read back from its key bytes (covering reads).
pub fn key_part_decodable(_schema: &Schema, _index: usize, _part: usize) -> bool {
    todo!()
}

/// Reads the parts of an index key back, appending one value per part; a part that is not decodable gives `Value::Null`
/// (ask [`key_part_decodable`] first).
pub fn decode_key(
    _schema: &Schema,
    _index: usize,
    _key: &[u8],
    _tz: i32,
    _out: &mut Vec<Value<'static>>,
) -> SqlResult<()> {
    todo!()
}

/// How a value from a WHERE clause relates to a column's domain, for use as an index key.
#[derive(Clone, Debug)]
pub enum Lookup {
    /// A value of the column's type, equal to it.
    Exact(Value<'static>),
    /// Not representable: it lies above this value of the column's type and below the next.
    Above(Value<'static>),
    /// Below everything the column can hold.
    BelowAll,
    /// Above everything the column can hold.
    AboveAll,
    /// NULL: no comparison but `<=>` is ever true.
    Null,
    /// The comparison does not follow the column's order (a string column against a number): scan.
    Unusable,
}

/// Converts a constant for an index lookup on a column of type `ty`, as comparison `column op value` would treat it.
pub fn lookup(_value: &Value<'_>, _ty: &SqlType) -> Lookup {
    todo!()
}

/// The store's codec factory: decodes schemas from definitions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Codecs;

impl CodecFactory for Codecs {
    fn codec(&self, _def: &TableDef) -> Result<Arc<dyn KeyCodec>> {
        todo!()
    }
}

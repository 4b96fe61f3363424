//! Rows of sources as bytes, for buffers that may go to disk. The form is private to one execution.

use crate::expr::RowRef;
use crate::plan::nodes::Block;
use crate::row::{Reader, put_all, put_bytes};
use crate::types::Schema;
use crate::value::Value;

const ROW_NULLS: u8 = 0;
const ROW_STORED: u8 = 1;
const ROW_VALUES: u8 = 2;

/// Appends a source's row.
pub fn put_row(row: &RowRef<'_>, out: &mut Vec<u8>) {
    match row {
        // Lazy values stand in no row beyond the evaluation that asks for them.
        RowRef::Nulls | RowRef::Lazy(_) => out.push(ROW_NULLS),
        RowRef::Stored(_, bytes) => {
            out.push(ROW_STORED);
            put_bytes(bytes, out);
        }
        RowRef::Values(v) => {
            out.push(ROW_VALUES);
            let at = out.len();
            out.extend_from_slice(&[0; 4]);
            put_all(v, out);
            let len = (out.len() - at - 4) as u32;
            out[at..at + 4].copy_from_slice(&len.to_le_bytes());
        }
    }
}

/// A source's row as it was put.
pub enum PutRow<'b> {
    /// NULLs.
    Nulls,
    /// The bytes of a stored row.
    Stored(&'b [u8]),
    /// Values.
    Values(Vec<Value<'b>>),
}

impl PutRow<'_> {
    /// For expressions; `schema` is the source's, if it is a stored table.
    pub fn row<'r>(&'r self, schema: Option<&'r Schema>) -> RowRef<'r> {
        match (self, schema) {
            (PutRow::Stored(bytes), Some(schema)) => RowRef::Stored(schema, bytes),
            (PutRow::Values(v), _) => RowRef::Values(v),
            _ => RowRef::Nulls,
        }
    }
}

/// Reads the rows of a block's sources, its group's and subqueries' values included.
pub fn block_rows<'b>(b: &Block, bytes: &'b [u8]) -> Vec<PutRow<'b>> {
    let mut r = Reader(bytes);
    (b.base..b.width()).map(|_| row(&mut r)).collect()
}

/// Reads a source's row.
pub fn row<'b>(r: &mut Reader<'b>) -> PutRow<'b> {
    match r.take(1)[0] {
        ROW_STORED => PutRow::Stored(r.bytes()),
        ROW_VALUES => {
            let mut inner = Reader(r.bytes());
            let mut values = Vec::new();
            while !inner.is_empty() {
                values.push(inner.value());
            }
            PutRow::Values(values)
        }
        _ => PutRow::Nulls,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back() {
        let list = [Value::Int(i64::MIN), Value::Bytes(b"abc".into())];
        let mut b = Vec::new();
        put_row(&RowRef::Values(&list), &mut b);
        put_row(&RowRef::Nulls, &mut b);
        let mut r = Reader(&b);
        let PutRow::Values(v) = row(&mut r) else {
            panic!("not values")
        };
        assert_eq!(format!("{v:?}"), format!("{list:?}"));
        assert!(matches!(row(&mut r), PutRow::Nulls));
        assert!(r.is_empty());
    }
}

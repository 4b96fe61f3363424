//! Values and rows of sources as bytes, for buffers that may go to disk. The form is private to one execution.

use std::borrow::Cow;

use crate::expr::RowRef;
use crate::plan::nodes::Block;
use crate::types::Schema;
use crate::value::{Date, DateTime, Decimal, Time, Value};

const NULL: u8 = 0;
const INT: u8 = 1;
const UINT: u8 = 2;
const DOUBLE: u8 = 3;
const DECIMAL: u8 = 4;
const BYTES: u8 = 5;
const DATE: u8 = 6;
const DATETIME: u8 = 7;
const TIME: u8 = 8;

fn put_date(d: &Date, out: &mut Vec<u8>) {
    out.extend_from_slice(&d.year.to_le_bytes());
    out.extend_from_slice(&[d.month, d.day]);
}

/// Appends a value.
pub fn put(v: &Value<'_>, out: &mut Vec<u8>) {
    match v {
        Value::Null => out.push(NULL),
        Value::Int(n) => {
            out.push(INT);
            out.extend_from_slice(&n.to_le_bytes());
        }
        Value::UInt(n) => {
            out.push(UINT);
            out.extend_from_slice(&n.to_le_bytes());
        }
        Value::Double(n) => {
            out.push(DOUBLE);
            out.extend_from_slice(&n.to_le_bytes());
        }
        Value::Decimal(d) => {
            let len = Decimal::encoded_len(d.precision());
            out.extend_from_slice(&[DECIMAL, d.scale(), len as u8]);
            d.encode(len, out);
        }
        Value::Bytes(b) => {
            out.push(BYTES);
            out.extend_from_slice(&(b.len() as u32).to_le_bytes());
            out.extend_from_slice(b);
        }
        Value::Date(d) => {
            out.push(DATE);
            put_date(d, out);
        }
        Value::DateTime(d) => {
            out.push(DATETIME);
            put_date(&d.date, out);
            out.extend_from_slice(&[d.hour, d.minute, d.second | u8::from(d.later) << 7]);
            out.extend_from_slice(&d.micro.to_le_bytes());
        }
        Value::Time(t) => {
            out.push(TIME);
            out.extend_from_slice(&t.micros.to_le_bytes());
        }
    }
}

/// Appends values.
pub fn put_all(values: &[Value<'_>], out: &mut Vec<u8>) {
    for v in values {
        put(v, out);
    }
}

/// All values that were put.
pub fn values_of(bytes: &[u8]) -> Vec<Value<'_>> {
    let mut reader = Reader(bytes);
    let mut values = Vec::new();
    while !reader.is_empty() {
        values.push(reader.value());
    }
    values
}

/// Reads what was put.
pub struct Reader<'b>(pub &'b [u8]);

impl<'b> Reader<'b> {
    /// The next bytes. What is read was written by this module in the same execution, and guarded by
    /// checksums where it went to disk.
    fn take(&mut self, n: usize) -> &'b [u8] {
        let (head, rest) = self.0.split_at(n);
        self.0 = rest;
        head
    }
    fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut a = [0; N];
        a.copy_from_slice(self.take(N));
        a
    }
    /// Whether all was read.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    fn date(&mut self) -> Date {
        Date {
            year: u16::from_le_bytes(self.array()),
            month: self.take(1)[0],
            day: self.take(1)[0],
        }
    }
    /// Bytes with their length before them.
    pub fn bytes(&mut self) -> &'b [u8] {
        let n = u32::from_le_bytes(self.array());
        self.take(n as usize)
    }
    /// The next value.
    pub fn value(&mut self) -> Value<'b> {
        match self.take(1)[0] {
            INT => Value::Int(i64::from_le_bytes(self.array())),
            UINT => Value::UInt(u64::from_le_bytes(self.array())),
            DOUBLE => Value::Double(f64::from_le_bytes(self.array())),
            DECIMAL => {
                let [scale, len] = self.array();
                Value::Decimal(Decimal::decode(self.take(usize::from(len)), scale))
            }
            BYTES => Value::Bytes(Cow::Borrowed(self.bytes())),
            DATE => Value::Date(self.date()),
            DATETIME => {
                let date = self.date();
                let [hour, minute, second] = self.array();
                Value::DateTime(DateTime {
                    date,
                    hour,
                    minute,
                    second: second & 127,
                    micro: u32::from_le_bytes(self.array()),
                    later: second > 127,
                })
            }
            TIME => Value::Time(Time {
                micros: i64::from_le_bytes(self.array()),
            }),
            _ => Value::Null,
        }
    }
}

/// Appends bytes with their length before them.
pub fn put_bytes(b: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(b.len() as u32).to_le_bytes());
    out.extend_from_slice(b);
}

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
    fn values_come_back() {
        let date = Date {
            year: 2024,
            month: 2,
            day: 29,
        };
        let list = [
            Value::Null,
            Value::Int(i64::MIN),
            Value::UInt(u64::MAX),
            Value::Double(-0.5),
            Value::Decimal(Decimal::from_i128(-123_456, 3)),
            Value::Decimal(Decimal::from_i128(0, 0)),
            Value::Bytes(b"abc".into()),
            Value::Bytes(b"".into()),
            Value::Date(date),
            Value::DateTime(DateTime {
                date,
                hour: 23,
                minute: 59,
                second: 58,
                micro: 999_999,
                later: true,
            }),
            Value::Time(Time { micros: -5 }),
        ];
        let mut b = Vec::new();
        put_all(&list, &mut b);
        put_row(&RowRef::Values(&list[1..3]), &mut b);
        put_row(&RowRef::Nulls, &mut b);
        let mut r = Reader(&b);
        for v in &list {
            assert_eq!(format!("{v:?}"), format!("{:?}", r.value()));
        }
        let PutRow::Values(v) = row(&mut r) else {
            panic!("not values")
        };
        assert_eq!(v.len(), 2);
        assert!(matches!(row(&mut r), PutRow::Nulls));
        assert!(r.is_empty());
    }
}

//! Values as bytes of no order, for buffers that may go to disk. The form is private to one execution.

use std::borrow::Cow;

use crate::value::{Date, DateTime, Decimal, Json, Time, Value};

const NULL: u8 = 0;
const INT: u8 = 1;
const UINT: u8 = 2;
const DOUBLE: u8 = 3;
const DECIMAL: u8 = 4;
const BYTES: u8 = 5;
const DATE: u8 = 6;
const DATETIME: u8 = 7;
const TIME: u8 = 8;
const JSON: u8 = 9;

fn put_date(d: &Date, out: &mut Vec<u8>) {
    out.extend_from_slice(&d.year.to_le_bytes());
    out.extend_from_slice(&[d.month, d.day]);
}

/// Appends a value.
pub fn put_value(v: &Value<'_>, out: &mut Vec<u8>) {
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
        Value::Json(j) => {
            out.push(JSON);
            put_bytes(j.as_bytes(), out);
        }
    }
}

/// Appends values.
pub fn put_all(values: &[Value<'_>], out: &mut Vec<u8>) {
    for v in values {
        put_value(v, out);
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
    /// The next `n` bytes. What is read was written by this module in the same execution, and guarded by
    /// checksums where it went to disk.
    pub fn take(&mut self, n: usize) -> &'b [u8] {
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
            JSON => Value::Json(Json::of_bytes(self.bytes())),
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
        let mut r = Reader(&b);
        for v in &list {
            assert_eq!(format!("{v:?}"), format!("{:?}", r.value()));
        }
        assert!(r.is_empty());
    }
}

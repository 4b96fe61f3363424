//! A histogram as the JSON document of information_schema.COLUMN_STATISTICS: MySQL's members, in the order in which MySQL's JSON
//! type sorts them (by length, then by letters).

use super::histogram::{Histogram, Point};
use crate::types::SqlType;
use crate::value::text::{write_date, write_datetime, write_f64, write_time};
use crate::value::{DateTime, Value, Zone, member_number};

/// The document of a histogram of a column of this type.
pub fn document(h: &Histogram, ty: &SqlType) -> String {
    let mut out = Vec::from(&b"{\"buckets\": ["[..]);
    for (i, b) in h.buckets.iter().enumerate() {
        out.extend_from_slice(if i == 0 { b"[" } else { b", [" });
        value(&b.lower, ty, &mut out);
        out.extend_from_slice(b", ");
        if !h.singleton {
            value(&b.upper, ty, &mut out);
            out.extend_from_slice(b", ");
        }
        double(b.cumulative, &mut out);
        if !h.singleton {
            out.extend_from_slice(format!(", {}", b.distinct.round() as u64).as_bytes());
        }
        out.push(b']');
    }
    out.extend_from_slice(
        format!(
            "], \"data-type\": \"{}{}\", \"null-values\": ",
            if ty.is_integer() && ty.unsigned {
                "u"
            } else {
                ""
            },
            ty.base.facts().histogram
        )
        .as_bytes(),
    );
    double(h.null_fraction, &mut out);
    // Numbers and times are latin1 to MySQL.
    let collation = if ty.is_string() { ty.collation.id() } else { 8 };
    out.extend_from_slice(
        format!(", \"collation-id\": {collation}, \"last-updated\": \"").as_bytes(),
    );
    let (seconds, micro) = (h.updated_us / 1_000_000, h.updated_us % 1_000_000);
    let moment = DateTime::from_unix(seconds as i64, micro as u32, Zone::UTC);
    write_datetime(moment.unwrap_or_default(), 6, &mut out);
    out.extend_from_slice(b"\", \"sampling-rate\": ");
    double(h.sampling_rate, &mut out);
    let kind = if h.singleton {
        "singleton"
    } else {
        "equi-height"
    };
    let tail = format!(
        ", \"histogram-type\": \"{kind}\", \"number-of-buckets-specified\": {}}}",
        h.specified
    );
    out.extend_from_slice(tail.as_bytes());
    String::from_utf8_lossy(&out).into_owned()
}

/// A double always shows that it is one.
fn double(v: f64, out: &mut Vec<u8>) {
    let start = out.len();
    write_f64(v, out);
    if !out[start..].iter().any(|b| matches!(b, b'.' | b'e')) {
        out.extend_from_slice(b".0");
    }
}

fn value(point: &Point, ty: &SqlType, out: &mut Vec<u8>) {
    match &point.value {
        Value::Double(v) => double(*v, out),
        Value::Bytes(b) if ty.is_enumerated() => {
            if let Some(number) = member_number(b, ty) {
                out.extend_from_slice(&number.to_text());
            }
        }
        Value::Bytes(b) => {
            // An opaque value of MySQL's type 254, MYSQL_TYPE_STRING.
            out.extend_from_slice(b"\"base64:type254:");
            base64(b, out);
            out.push(b'"');
        }
        Value::Date(d) => quoted(out, |out| write_date(*d, out)),
        Value::DateTime(d) => quoted(out, |out| write_datetime(*d, 6, out)),
        Value::Time(t) => quoted(out, |out| write_time(*t, 6, out)),
        v => out.extend_from_slice(&v.to_text()),
    }
}

fn quoted(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    out.push(b'"');
    write(out);
    out.push(b'"');
}

fn base64(data: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for group in data.chunks(3) {
        let mut n = [0u8; 4];
        n[1..1 + group.len()].copy_from_slice(group);
        let n = u32::from_be_bytes(n);
        for i in 0..4 {
            out.push(match i <= group.len() {
                true => DIGITS[(n >> (18 - 6 * i)) as usize & 63],
                false => b'=',
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::histogram::Collector;
    use super::*;
    use crate::types::{BaseType, Collation};

    #[test]
    fn documents_are_mysqls() {
        let ty = SqlType::new(BaseType::Int);
        let mut c = Collector::new(&ty);
        for v in [1, 1, 2, 7] {
            c.add(&Value::Int(v));
        }
        let h = c.finish(2, 1.0, 1_490_358_760_000_000);
        assert_eq!(
            document(&h, &ty),
            "{\"buckets\": [[1, 1, 0.5, 1], [2, 7, 1.0, 2]], \"data-type\": \"int\", \"null-values\": 0.0, \"collation-id\": 8, \
             \"last-updated\": \"2017-03-24 12:32:40.000000\", \"sampling-rate\": 1.0, \"histogram-type\": \"equi-height\", \
             \"number-of-buckets-specified\": 2}"
        );
        let ty = SqlType::varchar(9, Collation::Utf8mb4Bin);
        let mut c = Collector::new(&ty);
        c.add(&Value::str("ab"));
        c.add(&Value::Null);
        let text = document(&c.finish(100, 1.0, 0), &ty);
        assert!(text.starts_with("{\"buckets\": [[\"base64:type254:YWI=\", 0.5]], \"data-type\": \"string\", \"null-values\": 0.5"), "{text}");
    }
}

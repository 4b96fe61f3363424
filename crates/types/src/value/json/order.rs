//! The order of JSON values: by MySQL's precedence of types, then within a type; and bytes that `memcmp` orders likewise.
//!
//! Numbers are compared by value whatever their types. A double counts as the whole number that it is, else as the shortest
//! decimal number that gives it back, so that equality is the same for every pair and has a key. Of two objects that are not
//! equal the one with fewer members is the smaller; if they have as many, the first difference in keys and values decides.

use std::cmp::Ordering;

use super::{Json, Ref, View};

/// Its place among types, lowest first.
fn rank(v: &View<'_>) -> u8 {
    match v {
        View::Null => 1,
        View::Int(_) | View::UInt(_) | View::Double(_) | View::Decimal(_) => 2,
        View::String(_) => 3,
        View::Object(_) => 4,
        View::Array(_) => 5,
        View::Bool(_) => 6,
        View::Date(_) => 7,
        View::Time(_) => 8,
        View::DateTime(_) => 9,
        View::Opaque(..) => match v.type_name() {
            "BIT" => 11,
            "BLOB" => 12,
            _ => 10,
        },
    }
}

/// Compares two values.
pub fn compare(a: Ref<'_>, b: Ref<'_>) -> Ordering {
    let (a, b) = (a.view(), b.view());
    rank(&a).cmp(&rank(&b)).then_with(|| match (&a, &b) {
        (View::Bool(a), View::Bool(b)) => a.cmp(b),
        (View::String(a), View::String(b)) => a.cmp(b),
        (View::Date(a), View::Date(b)) => a.cmp(b),
        (View::Time(a), View::Time(b)) => a.cmp(b),
        (View::DateTime(a), View::DateTime(b)) => a.cmp(b),
        (View::Opaque(_, a), View::Opaque(_, b)) => a.cmp(b),
        (View::Array(a), View::Array(b)) => a
            .iter()
            .zip(b.iter())
            .map(|(a, b)| compare(a, b))
            .find(|o| o.is_ne())
            .unwrap_or(a.len().cmp(&b.len())),
        (View::Object(a), View::Object(b)) => a.len().cmp(&b.len()).then_with(|| {
            a.iter()
                .zip(b.iter())
                .map(|(a, b)| {
                    let keys = super::binary::order_keys(a.0, b.0);
                    keys.then_with(|| compare(a.1, b.1))
                })
                .find(|o| o.is_ne())
                .unwrap_or(Ordering::Equal)
        }),
        _ => numbers(&a, &b),
    })
}

fn numbers(a: &View<'_>, b: &View<'_>) -> Ordering {
    match (a, b) {
        (View::Int(a), View::Int(b)) => a.cmp(b),
        (View::UInt(a), View::UInt(b)) => a.cmp(b),
        (View::Int(a), View::UInt(b)) => i128::from(*a).cmp(&i128::from(*b)),
        (View::UInt(a), View::Int(b)) => i128::from(*a).cmp(&i128::from(*b)),
        (View::Decimal(a), View::Decimal(b)) => a.cmp(b),
        (View::Double(a), View::Double(b)) => a.partial_cmp(b).unwrap_or(Ordering::Equal),
        _ => {
            let key = |v| {
                let mut key = Vec::with_capacity(32);
                number_key(v, &mut key);
                key
            };
            key(a).cmp(&key(b))
        }
    }
}

impl PartialOrd for Json<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Eq for Json<'_> {}

impl PartialEq for Json<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Ord for Json<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        compare(self.root(), other.root())
    }
}

/// Appends the sort key of a value: prefix-free, equal for equal values.
pub fn sort_key(v: Ref<'_>, out: &mut Vec<u8>) {
    let view = v.view();
    out.push(rank(&view));
    match view {
        View::Null => {}
        View::Bool(b) => out.push(b.into()),
        View::Int(_) | View::UInt(_) | View::Double(_) | View::Decimal(_) => {
            number_key(&view, out);
        }
        View::String(s) => put_ended(s.as_bytes(), out),
        View::Opaque(_, b) => put_ended(b, out),
        View::Date(d) => out.extend_from_slice(&d.pack().to_be_bytes()),
        View::Time(t) => out.extend_from_slice(&((t.micros as u64) ^ 1 << 63).to_be_bytes()),
        View::DateTime(d) => {
            out.extend_from_slice(&d.pack().to_be_bytes());
            out.extend_from_slice(&d.micro.to_be_bytes());
        }
        View::Array(a) => {
            // No rank is 0: an array that ends is before one that goes on.
            a.iter().for_each(|v| sort_key(v, out));
            out.push(0);
        }
        View::Object(o) => {
            out.extend_from_slice(&(o.len() as u32).to_be_bytes());
            for (key, v) in o.iter() {
                out.extend_from_slice(&(key.len() as u32).to_be_bytes());
                out.extend_from_slice(key.as_bytes());
                sort_key(v, out);
            }
        }
    }
}

/// Bytes, and an end that sorts before all bytes: zeros are followed by one that is none.
fn put_ended(bytes: &[u8], out: &mut Vec<u8>) {
    for &b in bytes {
        out.push(b);
        if b == 0 {
            out.push(0xff);
        }
    }
    out.extend_from_slice(&[0, 0]);
}

/// The decimal digits of a number without zeros at either end, and where the point is before them: 0.DIGITS × 10^exponent.
fn digits(v: &View<'_>) -> (bool, i32, Vec<u8>) {
    let mut text = Vec::with_capacity(24);
    let mut shift = 0;
    match v {
        View::Int(n) => text.extend_from_slice(n.to_string().as_bytes()),
        View::UInt(n) => text.extend_from_slice(n.to_string().as_bytes()),
        View::Decimal(d) => d.write(&mut text),
        View::Double(d) if d.fract() == 0.0 && d.abs() < u64::MAX as f64 => {
            text.extend_from_slice((*d as i128).to_string().as_bytes());
        }
        View::Double(d) => {
            let short = format!("{d:e}");
            let (mantissa, exponent) = short.split_once('e').unwrap_or((&short, "0"));
            text.extend_from_slice(mantissa.as_bytes());
            shift = exponent.parse().unwrap_or(0);
        }
        _ => {}
    }
    let negative = text.first() == Some(&b'-');
    let text = &text[usize::from(negative)..];
    let point = text.iter().position(|b| *b == b'.').unwrap_or(text.len());
    let all: Vec<u8> = text.iter().copied().filter(|b| *b != b'.').collect();
    let leading = all.iter().take_while(|b| **b == b'0').count();
    let trailing = all[leading..]
        .iter()
        .rev()
        .take_while(|b| **b == b'0')
        .count();
    let significant = all[leading..all.len() - trailing].to_vec();
    let exponent = point as i32 - leading as i32 + shift;
    (negative, exponent, significant)
}

/// Appends bytes that sort as numbers do: sign, exponent, digits; the last two inverted if it is negative.
fn number_key(v: &View<'_>, out: &mut Vec<u8>) {
    let (negative, exponent, digits) = digits(v);
    if digits.is_empty() {
        return out.push(1);
    }
    out.push(if negative { 0 } else { 2 });
    let start = out.len();
    out.extend_from_slice(&((exponent + 0x4000) as u16).to_be_bytes());
    out.extend_from_slice(&digits);
    out.push(0);
    if negative {
        out[start..].iter_mut().for_each(|b| *b = !*b);
    }
}

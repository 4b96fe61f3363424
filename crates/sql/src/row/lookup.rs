//! Constants of WHERE clauses as index keys: which value of a column's domain they are, or between which they lie.

use super::layout::member;
use crate::types::{BaseType, SqlType};
use crate::value::convert::{exact_decimal, exact_integer};
use crate::value::time::{Date, DateTime, truncate_micros};
use crate::value::{Decimal, Time, Value, Zone, integer_range, integer_value, parse_time};

/// How a value from a WHERE clause relates to a column's domain, for use as an index key.
///
/// The string cases hold under the column's own collation: a comparison under another must not use the index. ENUM columns sort by
/// position and compare as texts with texts: use them for equality only then.
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
pub fn lookup(value: &Value<'_>, ty: &SqlType, zone: Zone) -> Lookup {
    use BaseType as B;
    if value.is_null() {
        return Lookup::Null;
    }
    match ty.base {
        B::Null => Lookup::Unusable,
        _ if ty.is_integer() => integer(value, ty),
        B::Decimal => decimal(value, ty),
        B::Double => match value {
            Value::Date(_) | Value::DateTime(_) | Value::Time(_) => Lookup::Unusable,
            v => Lookup::Exact(Value::Double(v.to_f64())),
        },
        B::Float => {
            let v = value.to_f64();
            match value {
                Value::Date(_) | Value::DateTime(_) | Value::Time(_) => Lookup::Unusable,
                _ if (v as f32) as f64 == v => Lookup::Exact(Value::Double(v)),
                _ => Lookup::Unusable,
            }
        }
        B::Date | B::DateTime | B::Timestamp => datetime(value, ty, zone),
        B::Time => match value {
            Value::Time(t) => time(*t, ty),
            Value::Bytes(b) => match parse_time::parse_time(b) {
                Some(p) => time(p.value, ty),
                None => Lookup::Unusable,
            },
            _ => Lookup::Unusable,
        },
        B::Enum => match value {
            Value::Bytes(b) if member(ty, b) > 0 => Lookup::Exact(value.borrowed().into_owned()),
            Value::Int(_) | Value::UInt(_) => position(value, ty),
            _ => Lookup::Unusable,
        },
        _ => match value {
            Value::Bytes(_) => Lookup::Exact(value.borrowed().into_owned()),
            _ => Lookup::Unusable,
        },
    }
}

/// An ENUM's member by position. That of no member (0) belongs to the empty string that bad input leaves.
fn position(value: &Value<'_>, ty: &SqlType) -> Lookup {
    let members = ty.members.as_deref().unwrap_or(&[]);
    match usize::try_from(value.to_i64()) {
        Ok(0) => Lookup::Unusable,
        Ok(n) => members.get(n - 1).map_or(Lookup::AboveAll, |m| {
            Lookup::Exact(Value::string(m.clone()))
        }),
        Err(_) => Lookup::BelowAll,
    }
}

fn integer(value: &Value<'_>, ty: &SqlType) -> Lookup {
    // Beyond this a double no longer tells neighbouring integers apart.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let (floor, exact) = match value {
        Value::Int(v) => (*v as i128, true),
        Value::UInt(v) => (*v as i128, true),
        Value::Decimal(d) => match d.floor().to_i128() {
            Some(v) => (v, *d == d.floor()),
            None if d.is_negative() => return Lookup::BelowAll,
            None => return Lookup::AboveAll,
        },
        Value::Bytes(b) if exact_integer(b).is_some() => {
            (exact_integer(b).unwrap_or_default(), true)
        }
        Value::Double(_) | Value::Bytes(_) => {
            let v = value.to_f64();
            if v.abs() >= EXACT {
                return Lookup::Unusable;
            }
            (v.floor() as i128, v == v.floor())
        }
        _ => return Lookup::Unusable,
    };
    let (min, max) = integer_range(ty);
    if floor < min {
        Lookup::BelowAll
    } else if floor > max || (floor == max && !exact) {
        Lookup::AboveAll
    } else if ty.base == BaseType::Year && floor > 0 && floor < 1901 {
        Lookup::Above(integer_value(0, ty))
    } else if exact {
        Lookup::Exact(integer_value(floor, ty))
    } else {
        Lookup::Above(integer_value(floor, ty))
    }
}

fn decimal(value: &Value<'_>, ty: &SqlType) -> Lookup {
    let d = match value {
        Value::Int(_) | Value::UInt(_) | Value::Decimal(_) => value.to_decimal(),
        Value::Bytes(b) => match exact_decimal(b) {
            Some(d) => d,
            None => return Lookup::Unusable,
        },
        _ => return Lookup::Unusable,
    };
    let max = Decimal::max(ty.length, ty.decimals);
    let min = max.negated();
    if d < min {
        return Lookup::BelowAll;
    }
    if d > max {
        return Lookup::AboveAll;
    }
    let cut = d.truncate(ty.decimals);
    if cut == d {
        return Lookup::Exact(Value::Decimal(d.round(ty.decimals)));
    }
    if d.is_negative() {
        let step = Decimal::from_i128(1, ty.decimals);
        return match cut.checked_sub(step) {
            Some(below) => Lookup::Above(Value::Decimal(below)),
            None => Lookup::Unusable,
        };
    }
    Lookup::Above(Value::Decimal(cut))
}

fn datetime(value: &Value<'_>, ty: &SqlType, zone: Zone) -> Lookup {
    let d = match value {
        Value::Time(_) | Value::Double(_) => None,
        v => v.to_datetime(),
    };
    let Some(d) = d else {
        return Lookup::Unusable;
    };
    let (at, exact) = if ty.base == BaseType::Date {
        let day = Value::Date(d.date);
        (day, d == DateTime::from(d.date))
    } else {
        let micro = truncate_micros(d.micro as i64, ty.decimals) as u32;
        (Value::DateTime(DateTime { micro, ..d }), micro == d.micro)
    };
    if ty.base == BaseType::Timestamp {
        // A day inside the range that timestamps have in any time zone.
        let day = |year, month, day| Date { year, month, day };
        if !(day(1970, 1, 3)..day(2038, 1, 17)).contains(&d.date) || !d.date.exists() {
            return Lookup::Unusable;
        }
        // Local times that a clock shows twice, or never, do not stand where their moment does.
        if !zone.is_plain(d) {
            return Lookup::Unusable;
        }
    }
    if exact {
        Lookup::Exact(at)
    } else {
        Lookup::Above(at)
    }
}

fn time(t: Time, ty: &SqlType) -> Lookup {
    let cut = truncate_micros(t.micros, ty.decimals);
    if cut == t.micros {
        Lookup::Exact(Value::Time(t))
    } else {
        Lookup::Unusable
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Collation;

    #[test]
    fn constants_find_their_place() {
        let show = |l: Lookup| match l {
            Lookup::Exact(v) => format!("={}", String::from_utf8_lossy(&v.to_text())),
            Lookup::Above(v) => format!(">{}", String::from_utf8_lossy(&v.to_text())),
            other => format!("{other:?}"),
        };
        let int = SqlType::new(BaseType::TinyInt);
        let dec = SqlType::decimal(5, 2);
        let d = |s: &str| Value::Decimal(Decimal::parse_prefix(s.as_bytes()).value);
        let text = SqlType::varchar(10, Collation::Utf8mb4GeneralCi);
        let date = SqlType::new(BaseType::Date);
        for (v, ty, want) in [
            (Value::Int(5), &int, "=5"),
            (Value::Int(128), &int, "AboveAll"),
            (Value::Int(-129), &int, "BelowAll"),
            (d("1.5"), &int, ">1"),
            (d("-1.5"), &int, ">-2"),
            (d("127.5"), &int, "AboveAll"),
            (Value::str("12"), &int, "=12"),
            (Value::str("12.5x"), &int, ">12"),
            (Value::Null, &int, "Null"),
            (Value::Double(1e300), &int, "Unusable"),
            (d("1.234"), &dec, ">1.23"),
            (d("-1.234"), &dec, ">-1.24"),
            (Value::Int(1000), &dec, "AboveAll"),
            (Value::str("1.50"), &dec, "=1.50"),
            (Value::Int(3), &dec, "=3.00"),
            (Value::str("x"), &text, "=x"),
            (Value::Int(3), &text, "Unusable"),
            (Value::str("2024-01-31"), &date, "=2024-01-31"),
            (Value::str("2024-01-31 10:00:00"), &date, ">2024-01-31"),
            (Value::Int(20240131), &date, "=2024-01-31"),
            (Value::str("x"), &date, "Unusable"),
        ] {
            assert_eq!(
                show(lookup(&v, ty, Zone::UTC)),
                want,
                "{v:?} {}",
                ty.column_type()
            );
        }
    }
}

//! CAST and CONVERT, and bringing values to the representation that their static type promises.

use std::borrow::Cow;

use super::assign::{date_allowed, printable};
use super::convert::exact_integer;
use super::env::ConversionEnv;
use super::time::{DateTime, Time, round_micros};
use super::{Decimal, Value};
use crate::error::SqlResult;
use crate::types::collation::{char_count, char_prefix};
use crate::types::{BaseType, SqlType};

/// Complaint 1292 about a conversion that loses something.
#[cold]
pub fn truncated(session: &ConversionEnv, kind: &str, v: &Value<'_>) -> SqlResult<()> {
    let text = v.to_text();
    session.complain(
        1292,
        format!("Truncated incorrect {kind} value: '{}'", printable(&text)),
    )
}

/// The number that a text is in arithmetic and comparisons; what is none is complained of.
pub fn number_of_text(b: &[u8], session: &ConversionEnv) -> SqlResult<f64> {
    let (v, used) = super::convert::double_prefix(b);
    if used == 0 || !b[used..].trim_ascii().is_empty() {
        truncated(session, "DOUBLE", &Value::Bytes(Cow::Borrowed(b)))?;
    }
    Ok(v)
}

/// Converts to a type as CAST does (warnings go to the session).
pub fn cast<'a>(value: Value<'a>, ty: &SqlType, session: &ConversionEnv) -> SqlResult<Value<'a>> {
    use BaseType as B;
    if value.is_null() {
        return Ok(Value::Null);
    }
    Ok(match ty.base {
        B::Null => value,
        B::Year => {
            let v = value.to_i64();
            let full = match v {
                1..=69 => v + 2000,
                70..=99 => v + 1900,
                v => v,
            };
            if full != 0 && !(1901..=2155).contains(&full) {
                truncated(session, "YEAR", &value)?;
                return Ok(Value::Null);
            }
            Value::UInt(full as u64)
        }
        _ if ty.is_integer() => integer(value, ty.unsigned, session)?,
        B::Decimal => decimal(value, ty, session)?,
        B::Float | B::Double => {
            let v = match &value {
                Value::Bytes(b) => number_of_text(b, session)?,
                other => other.to_f64(),
            };
            Value::Double(if ty.base == B::Float {
                v as f32 as f64
            } else {
                v
            })
        }
        B::Date | B::DateTime | B::Timestamp => {
            let parsed = match &value {
                Value::Time(t) => {
                    DateTime::from_days_micros(session.local_now().date.days(), t.micros)
                }
                other => other.to_datetime(),
            };
            let good = parsed
                .filter(|d| date_allowed(d.date, session))
                .and_then(|d| {
                    if ty.base == B::Date {
                        Some(d)
                    } else {
                        d.round(ty.decimals)
                    }
                });
            match good {
                Some(d) if ty.base == B::Date => Value::Date(d.date),
                Some(d) => Value::DateTime(d),
                None => {
                    let m = format!(
                        "Incorrect datetime value: '{}'",
                        printable(&value.to_text())
                    );
                    session.complain(1292, m)?;
                    Value::Null
                }
            }
        }
        B::Time => match value.to_time() {
            Some(t) => Value::Time(Time::clamped(round_micros(t.micros, ty.decimals)).0),
            None => {
                truncated(session, "time", &value)?;
                Value::Null
            }
        },
        _ => text(value, ty, session)?,
    })
}

/// A decimal as an integer, clamped to what 128 bits hold.
fn rounded(d: Decimal) -> i128 {
    d.round_to_i128().unwrap_or(if d.is_negative() {
        i128::MIN
    } else {
        i128::MAX
    })
}

fn integer<'a>(value: Value<'a>, unsigned: bool, session: &ConversionEnv) -> SqlResult<Value<'a>> {
    let wide = match &value {
        Value::Int(v) => *v as i128,
        Value::UInt(v) => *v as i128,
        Value::Bytes(b) => match exact_integer(b) {
            Some(v) => v,
            None => {
                truncated(session, "INTEGER", &value)?;
                // Texts are read up to the first byte that is no digit; the point is one.
                rounded(Decimal::parse_prefix(integer_prefix(b)).value)
            }
        },
        Value::Double(v) => v.round_ties_even() as i128,
        other => rounded(other.to_decimal()),
    };
    // Texts and integers are 64 bits that signed and unsigned read differently; other numbers have one meaning.
    let bits = matches!(value, Value::Int(_) | Value::UInt(_) | Value::Bytes(_));
    let min = i64::MIN as i128;
    let max = if unsigned || bits {
        u64::MAX as i128
    } else {
        i64::MAX as i128
    };
    if wide < min || wide > max {
        truncated(session, "INTEGER", &value)?;
    }
    let bits = wide.clamp(min, max) as u64;
    Ok(if unsigned {
        Value::UInt(bits)
    } else {
        Value::Int(bits as i64)
    })
}

fn integer_prefix(b: &[u8]) -> &[u8] {
    let blanks = b.iter().take_while(|c| c.is_ascii_whitespace()).count();
    let sign = matches!(b.get(blanks), Some(b'-' | b'+')) as usize;
    let digits = b[blanks + sign..]
        .iter()
        .take_while(|c| c.is_ascii_digit())
        .count();
    &b[..blanks + sign + digits]
}

fn decimal<'a>(value: Value<'a>, ty: &SqlType, session: &ConversionEnv) -> SqlResult<Value<'a>> {
    if let Value::Bytes(b) = &value {
        let p = Decimal::parse_prefix(b);
        if p.used == 0 || !b[p.used..].trim_ascii().is_empty() {
            truncated(session, "DECIMAL", &value)?;
        }
    }
    let d = value.to_decimal().round(ty.decimals);
    let max = Decimal::max(ty.length, ty.decimals);
    if d.abs() > max {
        session.complain(1264, "Out of range value for column 'CAST' at row 1")?;
        return Ok(Value::Decimal(if d.is_negative() {
            max.negated()
        } else {
            max
        }));
    }
    Ok(Value::Decimal(d))
}

/// What error and warning 1300 say of bytes that are no UTF-8.
pub fn not_utf8(b: &[u8]) -> Option<String> {
    let good = std::str::from_utf8(b).err()?.valid_up_to();
    let bad: String = b[good..]
        .iter()
        .take(3)
        .map(|b| format!("{b:02X}"))
        .collect();
    Some(format!("Invalid utf8mb4 character string: '{bad}'"))
}

fn text<'a>(value: Value<'a>, ty: &SqlType, session: &ConversionEnv) -> SqlResult<Value<'a>> {
    let bytes = match value {
        Value::Bytes(b) => b,
        other => Cow::Owned(other.to_text().into_owned()),
    };
    if ty.is_character()
        && let Some(m) = not_utf8(&bytes)
    {
        session.complain(1300, m)?;
        return Ok(Value::Null);
    }
    let max = ty.length as usize;
    if ty.is_blob() || max == 0 && !matches!(ty.base, BaseType::Char | BaseType::Binary) {
        return Ok(Value::Bytes(bytes));
    }
    if ty.is_character() {
        if bytes.len() > max && char_count(&bytes) > max {
            truncated(
                session,
                &format!("CHAR({max})"),
                &Value::Bytes(bytes.clone()),
            )?;
            let n = char_prefix(&bytes, max);
            return Ok(Value::Bytes(cut(bytes, n)));
        }
    } else if bytes.len() > max {
        truncated(
            session,
            &format!("BINARY({max})"),
            &Value::Bytes(bytes.clone()),
        )?;
        return Ok(Value::Bytes(cut(bytes, max)));
    } else if ty.base == BaseType::Binary && bytes.len() < max {
        let mut b = bytes.into_owned();
        b.resize(max, 0);
        return Ok(Value::Bytes(Cow::Owned(b)));
    }
    Ok(Value::Bytes(bytes))
}

fn cut(b: Cow<'_, [u8]>, n: usize) -> Cow<'_, [u8]> {
    match b {
        Cow::Borrowed(b) => Cow::Borrowed(&b[..n]),
        Cow::Owned(mut b) => {
            b.truncate(n);
            Cow::Owned(b)
        }
    }
}

/// Brings a value to the representation its static type promises: an integer type's `Int` or `UInt`, a DECIMAL's scale, a text
/// for a string type. A decimal may have more digits than that (a quotient has). What does not convert is left alone; nothing
/// is warned of.
pub fn conform<'a>(value: Value<'a>, ty: &SqlType) -> Value<'a> {
    use BaseType as B;
    match (ty.base, &value) {
        (_, Value::Null) | (B::Null, _) => value,
        (B::Decimal, Value::Decimal(d)) if d.scale() >= ty.decimals => value,
        (B::Decimal, _) => Value::Decimal(value.to_decimal().round(ty.decimals)),
        (B::Float | B::Double, Value::Double(_)) => value,
        (B::Float | B::Double, _) => Value::Double(value.to_f64()),
        (B::Date, Value::Date(_)) | (B::Time, Value::Time(_)) => value,
        (B::DateTime | B::Timestamp, Value::DateTime(_)) => value,
        (B::Date, _) => value.to_date().map_or(value, Value::Date),
        (B::DateTime | B::Timestamp, _) => value.to_datetime().map_or(value, Value::DateTime),
        (B::Time, _) => value.to_time().map_or(value, Value::Time),
        (_, Value::Int(_)) if ty.is_integer() && !ty.unsigned => value,
        (_, Value::UInt(_)) if ty.is_integer() && ty.unsigned => value,
        _ if ty.is_integer() => {
            if ty.unsigned {
                Value::UInt(value.to_u64())
            } else {
                Value::Int(value.to_i64())
            }
        }
        (_, Value::Bytes(_)) => value,
        _ => Value::Bytes(Cow::Owned(value.to_text().into_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Collation;
    use crate::value::env::tests::env;

    #[test]
    fn casts() {
        let session = env();
        let decimal = |s: &str| Value::Decimal(Decimal::parse_prefix(s.as_bytes()).value);
        let char2 = SqlType {
            length: 2,
            ..SqlType::new(BaseType::Char)
        };
        for (v, ty, want, warns) in [
            (Value::UInt(u64::MAX), SqlType::bigint(), "-1", false),
            (
                Value::Int(-1),
                SqlType::ubigint(),
                "18446744073709551615",
                false,
            ),
            (Value::str("1.9"), SqlType::bigint(), "1", true),
            (Value::str("abc"), SqlType::bigint(), "0", true),
            (Value::Double(2.6), SqlType::bigint(), "3", false),
            (
                Value::Double(1e20),
                SqlType::bigint(),
                "9223372036854775807",
                true,
            ),
            (
                Value::Double(-1e20),
                SqlType::bigint(),
                "-9223372036854775808",
                true,
            ),
            (
                Value::Double(1e19),
                SqlType::ubigint(),
                "10000000000000000000",
                false,
            ),
            (
                decimal("9223372036854775808.0"),
                SqlType::bigint(),
                "9223372036854775807",
                true,
            ),
            (
                decimal("-1e40"),
                SqlType::bigint(),
                "-9223372036854775808",
                true,
            ),
            (
                Value::str("18446744073709551615"),
                SqlType::bigint(),
                "-1",
                false,
            ),
            (
                Value::str("99999999999999999999x"),
                SqlType::ubigint(),
                "18446744073709551615",
                true,
            ),
            (Value::str("1.255"), SqlType::decimal(10, 2), "1.26", false),
            (Value::Int(12345), SqlType::decimal(4, 2), "99.99", true),
            (Value::Int(123), char2, "12", true),
            (
                Value::str("2024-01-31 10:00:00"),
                SqlType::new(BaseType::Date),
                "2024-01-31",
                false,
            ),
            (
                Value::str("junk"),
                SqlType::new(BaseType::Date),
                "NULL",
                true,
            ),
            (
                Value::Int(20240131),
                SqlType::datetime(0),
                "2024-01-31 00:00:00",
                false,
            ),
            (
                Value::str("10:11"),
                SqlType::new(BaseType::Time),
                "10:11:00",
                false,
            ),
            (
                Value::str("x"),
                SqlType::varchar(5, Collation::Binary),
                "x",
                false,
            ),
        ] {
            session.diagnostics.borrow_mut().clear();
            let shown = format!("{v:?} as {}", ty.column_type());
            let got = cast(v, &ty, &session).unwrap();
            let mut out = Vec::new();
            if got.is_null() {
                out.extend_from_slice(b"NULL")
            } else {
                crate::value::write_text(&got, &ty, &mut out)
            }
            assert_eq!(String::from_utf8(out).unwrap(), want, "{shown}");
            assert_eq!(!session.diagnostics.borrow().is_empty(), warns, "{shown}");
        }
    }
}

//! Types as CREATE TABLE and CAST write them.

use crate::error::{SqlError, SqlResult};
use crate::types::{BaseType, Collation, NOT_FIXED, SqlType};
use sqlparser::ast::{
    BinaryLength, CharacterLength, DataType, EnumMember, ExactNumberInfo, TimezoneInfo,
};

fn integer(base: BaseType, unsigned: bool, width: &Option<u64>) -> SqlResult<SqlType> {
    if width.is_some_and(|w| w > 255) {
        return Err(SqlError::new(
            1439,
            "Display width out of range for column (max = 255)",
        ));
    }
    let mut t = SqlType::new(base);
    t.unsigned = unsigned;
    // TINYINT(1) is how booleans are told from small numbers; other widths mean nothing.
    if base == BaseType::TinyInt && !unsigned && *width == Some(1) {
        t.length = 1;
    }
    Ok(t)
}

fn decimal(info: &ExactNumberInfo, unsigned: bool) -> SqlResult<SqlType> {
    let (p, s) = match info {
        ExactNumberInfo::None => (10, 0),
        ExactNumberInfo::Precision(p) => (if *p == 0 { 10 } else { *p }, 0),
        ExactNumberInfo::PrecisionAndScale(p, s) => (*p, *s),
    };
    if !(0..=30).contains(&s) {
        return Err(SqlError::new(
            1425,
            format!("Too big scale {s} specified for column. Maximum is 30."),
        ));
    }
    if p > 65 {
        return Err(SqlError::new(
            1426,
            format!("Too-big precision {p} specified for column. Maximum is 65."),
        ));
    }
    if (p as i64) < s {
        return Err(SqlError::new(
            1427,
            "For float(M,D), double(M,D) or decimal(M,D), M must be >= D.",
        ));
    }
    Ok(SqlType {
        unsigned,
        ..SqlType::decimal(p as u32, s as u8)
    })
}

fn float(info: &ExactNumberInfo, base: BaseType, unsigned: bool) -> SqlResult<SqlType> {
    let mut t = SqlType::new(base);
    match info {
        ExactNumberInfo::None => {}
        // FLOAT(p): p says how many bits the mantissa must have.
        ExactNumberInfo::Precision(p) if base == BaseType::Float && *p <= 24 => {}
        ExactNumberInfo::Precision(p) if base == BaseType::Float && *p <= 53 => {
            t = SqlType::new(BaseType::Double);
        }
        ExactNumberInfo::Precision(_) => {
            return Err(SqlError::new(1063, "Incorrect column specifier for column"));
        }
        ExactNumberInfo::PrecisionAndScale(p, s) => {
            if *p > 255 || !(0..NOT_FIXED as i64).contains(s) || (*p as i64) < *s {
                return Err(SqlError::new(
                    1427,
                    "For float(M,D), double(M,D) or decimal(M,D), M must be >= D.",
                ));
            }
            t.length = *p as u32;
            t.decimals = *s as u8;
        }
    }
    t.unsigned = unsigned;
    Ok(t)
}

fn chars(length: &Option<CharacterLength>) -> Option<u64> {
    match length {
        Some(CharacterLength::IntegerLength { length, .. }) => Some(*length),
        Some(CharacterLength::Max) => Some(u64::MAX),
        None => None,
    }
}

fn too_long(max: u32) -> SqlError {
    SqlError::new(
        1074,
        format!("Column length too big for column (max = {max}); use BLOB or TEXT instead"),
    )
}

fn char_type(base: BaseType, length: u64, collation: Collation) -> SqlResult<SqlType> {
    let binary = collation == Collation::Binary;
    let base = match (base, binary) {
        (BaseType::Char, true) => BaseType::Binary,
        (BaseType::VarChar, true) => BaseType::VarBinary,
        (b, _) => b,
    };
    let max = match base {
        BaseType::Char | BaseType::Binary => 255,
        BaseType::VarChar => 16_383,
        _ => 65_535,
    };
    if length > max as u64 {
        return Err(too_long(max));
    }
    Ok(SqlType {
        length: length as u32,
        collation,
        ..SqlType::new(base)
    })
}

fn text(base: BaseType, collation: Collation) -> SqlType {
    use BaseType::*;
    let base = match (base, collation) {
        (TinyText, Collation::Binary) => TinyBlob,
        (Text, Collation::Binary) => Blob,
        (MediumText, Collation::Binary) => MediumBlob,
        (LongText, Collation::Binary) => LongBlob,
        (b, _) => b,
    };
    SqlType {
        collation,
        ..SqlType::new(base)
    }
}

/// TEXT(n) or BLOB(n): the smallest of the four that holds `n`.
fn sized(length: u64, collation: Collation) -> SqlType {
    let bytes = if collation == Collation::Binary {
        length
    } else {
        length.saturating_mul(4)
    };
    let base = match bytes {
        0..=255 => BaseType::TinyText,
        256..=65_535 => BaseType::Text,
        65_536..=16_777_215 => BaseType::MediumText,
        _ => BaseType::LongText,
    };
    text(base, collation)
}

fn fsp(base: BaseType, digits: &Option<u64>) -> SqlResult<SqlType> {
    let n = digits.unwrap_or(0);
    if n > 6 {
        return Err(SqlError::new(
            1426,
            format!("Too-big precision {n} specified. Maximum is 6."),
        ));
    }
    Ok(SqlType::temporal(base, n as u8))
}

/// The type that a CREATE TABLE or CAST wrote. `collation`: what character types get unless they say otherwise.
pub fn sql_type(ty: &DataType, collation: Collation) -> SqlResult<SqlType> {
    use BaseType as B;
    use DataType as D;
    Ok(match ty {
        D::TinyInt(w) => integer(B::TinyInt, false, w)?,
        D::TinyIntUnsigned(w) => integer(B::TinyInt, true, w)?,
        D::UTinyInt => integer(B::TinyInt, true, &None)?,
        D::SmallInt(w) | D::Int2(w) => integer(B::SmallInt, false, w)?,
        D::SmallIntUnsigned(w) | D::Int2Unsigned(w) => integer(B::SmallInt, true, w)?,
        D::USmallInt => integer(B::SmallInt, true, &None)?,
        D::MediumInt(w) => integer(B::MediumInt, false, w)?,
        D::MediumIntUnsigned(w) => integer(B::MediumInt, true, w)?,
        D::Int(w) | D::Integer(w) | D::Int4(w) => integer(B::Int, false, w)?,
        D::IntUnsigned(w) | D::IntegerUnsigned(w) | D::Int4Unsigned(w) => integer(B::Int, true, w)?,
        D::BigInt(w) | D::Int8(w) => integer(B::BigInt, false, w)?,
        D::BigIntUnsigned(w) | D::Int8Unsigned(w) => integer(B::BigInt, true, w)?,
        D::UBigInt => integer(B::BigInt, true, &None)?,
        D::Signed | D::SignedInteger => SqlType::bigint(),
        D::Unsigned | D::UnsignedInteger => SqlType::ubigint(),
        D::Bool | D::Boolean => integer(B::TinyInt, false, &Some(1))?,
        D::Decimal(i) | D::Numeric(i) | D::Dec(i) => decimal(i, false)?,
        D::DecimalUnsigned(i) | D::DecUnsigned(i) => decimal(i, true)?,
        D::Float(i) => float(i, B::Float, false)?,
        D::FloatUnsigned(i) => float(i, B::Float, true)?,
        D::Float4 => SqlType::new(B::Float),
        D::Double(i) => float(i, B::Double, false)?,
        D::DoubleUnsigned(i) => float(i, B::Double, true)?,
        D::DoublePrecision | D::Float8 | D::Real => SqlType::double(),
        D::DoublePrecisionUnsigned | D::RealUnsigned => {
            float(&ExactNumberInfo::None, B::Double, true)?
        }
        D::Char(l) | D::Character(l) => char_type(B::Char, chars(l).unwrap_or(1), collation)?,
        D::Varchar(l) | D::CharVarying(l) | D::CharacterVarying(l) | D::Nvarchar(l) => {
            let n = chars(l).ok_or_else(|| SqlError::syntax("VARCHAR needs a length"))?;
            char_type(B::VarChar, n, collation)?
        }
        D::TinyText => text(B::TinyText, collation),
        D::Text => text(B::Text, collation),
        D::MediumText => text(B::MediumText, collation),
        D::LongText => text(B::LongText, collation),
        D::Binary(n) => char_type(B::Binary, n.unwrap_or(1), Collation::Binary)?,
        D::Varbinary(n) => {
            let n = match n {
                Some(BinaryLength::IntegerLength { length }) => *length,
                Some(BinaryLength::Max) => u64::MAX,
                None => return Err(SqlError::syntax("VARBINARY needs a length")),
            };
            char_type(B::VarBinary, n, Collation::Binary)?
        }
        D::TinyBlob => SqlType::new(B::TinyBlob),
        D::Blob(None) => SqlType::new(B::Blob),
        D::Blob(Some(n)) => sized(*n, Collation::Binary),
        D::MediumBlob => SqlType::new(B::MediumBlob),
        D::LongBlob => SqlType::new(B::LongBlob),
        D::Date => SqlType::new(B::Date),
        D::Time(p, TimezoneInfo::None) => fsp(B::Time, p)?,
        D::Datetime(p) => fsp(B::DateTime, p)?,
        D::Timestamp(p, TimezoneInfo::None) => fsp(B::Timestamp, p)?,
        D::Enum(members, _) => {
            let mut names = Vec::with_capacity(members.len());
            for m in members {
                let EnumMember::Name(n) = m else {
                    return Err(SqlError::syntax(format!("near '{ty}'")));
                };
                // Trailing spaces of members are dropped, as comparison ignores them.
                let n = n.trim_end_matches(' ').to_string();
                if names
                    .iter()
                    .any(|o: &String| collation.eq(o.as_bytes(), n.as_bytes()))
                {
                    return Err(SqlError::new(
                        1291,
                        format!("Column has duplicated value '{n}' in ENUM"),
                    ));
                }
                names.push(n);
            }
            if names.len() > u16::MAX as usize {
                return Err(SqlError::new(1097, "Too many strings for column and SET"));
            }
            SqlType::enumeration(names, collation)
        }
        D::Custom(name, modifiers) => custom(&name.to_string(), modifiers, collation)
            .ok_or_else(|| SqlError::unsupported(format!("type {ty}")))??,
        _ => return Err(SqlError::unsupported(format!("type {ty}"))),
    })
}

/// Types that the parser knows no name of.
fn custom(name: &str, modifiers: &[String], collation: Collation) -> Option<SqlResult<SqlType>> {
    let n = modifiers.first().and_then(|m| m.parse::<u64>().ok());
    Some(match name.to_ascii_lowercase().as_str() {
        "year" => Ok(SqlType::new(BaseType::Year)),
        "text" => Ok(n.map_or_else(|| text(BaseType::Text, collation), |n| sized(n, collation))),
        "nchar" => char_type(BaseType::Char, n.unwrap_or(1), collation),
        "fixed" => {
            let scale = modifiers.get(1).and_then(|m| m.parse::<i64>().ok());
            decimal(
                &match (n, scale) {
                    (Some(p), Some(s)) => ExactNumberInfo::PrecisionAndScale(p, s),
                    (Some(p), None) => ExactNumberInfo::Precision(p),
                    _ => ExactNumberInfo::None,
                },
                false,
            )
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_return() {
        use sqlparser::{dialect::MySqlDialect, parser::Parser};
        for (sql, shown) in [
            ("INT", "int"),
            ("int(11) unsigned", "int unsigned"),
            ("bool", "tinyint(1)"),
            ("decimal(10,2)", "decimal(10,2)"),
            ("decimal", "decimal(10,0)"),
            ("varchar(20)", "varchar(20)"),
            ("char", "char(1)"),
            ("datetime(3)", "datetime(3)"),
            ("enum('a','b')", "enum('a','b')"),
            ("text", "text"),
            ("blob(70000)", "mediumblob"),
            ("double", "double"),
            ("float(7,3)", "float(7,3)"),
            ("year", "year"),
            ("varbinary(16)", "varbinary(16)"),
            ("time", "time"),
            ("bigint unsigned", "bigint unsigned"),
            ("timestamp", "timestamp"),
            ("text(100)", "text"),
        ] {
            let ty = Parser::new(&MySqlDialect {})
                .try_with_sql(sql)
                .unwrap()
                .parse_data_type()
                .unwrap();
            let t =
                sql_type(&ty, Collation::Utf8mb4GeneralCi).unwrap_or_else(|e| panic!("{sql}: {e}"));
            assert_eq!(t.column_type(), shown, "{sql}");
        }
        for (sql, code) in [
            ("json", 1235),
            ("bit(3)", 1235),
            ("set('a')", 1235),
            ("varchar(20000)", 1074),
            ("decimal(70,2)", 1426),
            ("geometry", 1235),
            ("datetime(7)", 1426),
            ("enum('a','A')", 1291),
        ] {
            let ty = Parser::new(&MySqlDialect {})
                .try_with_sql(sql)
                .unwrap()
                .parse_data_type()
                .unwrap();
            assert_eq!(
                sql_type(&ty, Collation::Utf8mb4GeneralCi).unwrap_err().code,
                code,
                "{sql}"
            );
        }
    }
}

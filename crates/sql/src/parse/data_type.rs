//! Types as columns have them.

use crate::error::{SqlError, SqlResult};
use crate::types::{BaseType, Collation, MAX_VARCHAR_BYTES, NOT_FIXED, SqlType};

use super::ast::{DataType, FloatSize, IntSize, LobSize, Numeric, TemporalType};

/// The type with UNSIGNED and ZEROFILL as they were said, the latter to a width.
fn marked(ty: SqlType, numeric: &Numeric, width: u32) -> SqlType {
    SqlType {
        unsigned: numeric.unsigned || numeric.zerofill,
        zerofill: if numeric.zerofill { width as u8 } else { 0 },
        ..ty
    }
}

fn integer(base: BaseType, width: &Option<u64>, numeric: &Numeric) -> SqlResult<SqlType> {
    if width.is_some_and(|w| w > 255) {
        return Err(too_wide(255));
    }
    let most = base.facts().digits.1.into();
    let shown = width.filter(|w| *w > 0).map_or(most, |w| w as u32);
    let mut t = marked(SqlType::new(base), numeric, shown);
    // TINYINT(1) is how booleans are told from small numbers; other widths mean nothing.
    if base == BaseType::TinyInt && !t.unsigned && *width == Some(1) {
        t.length = 1;
    }
    Ok(t)
}

/// DECIMAL of a precision and a scale.
fn decimal(precision: &Option<u64>, scale: &Option<u64>, numeric: &Numeric) -> SqlResult<SqlType> {
    let p = precision
        .filter(|p| *p > 0 || scale.is_some_and(|s| s > 0))
        .unwrap_or(10);
    let s = scale.unwrap_or(0);
    if s > 30 {
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
    if p < s {
        return Err(digits_below_decimals());
    }
    let width = p as u32 + u32::from(s > 0);
    Ok(marked(SqlType::decimal(p as u32, s as u8), numeric, width))
}

/// 1427.
fn digits_below_decimals() -> SqlError {
    SqlError::new(
        1427,
        "For float(M,D), double(M,D) or decimal(M,D), M must be >= D.",
    )
}

fn float(
    base: BaseType,
    digits: &Option<u64>,
    decimals: &Option<u64>,
    numeric: &Numeric,
) -> SqlResult<SqlType> {
    let mut t = SqlType::new(base);
    match (*digits, *decimals) {
        (None, _) => {}
        // FLOAT(p): p says how many bits the mantissa must have.
        (Some(p), None) if base == BaseType::Float && p <= 24 => {}
        (Some(p), None) if base == BaseType::Float && p <= 53 => {
            t = SqlType::new(BaseType::Double);
        }
        (Some(_), None) => {
            return Err(SqlError::new(1063, "Incorrect column specifier for column"));
        }
        (Some(p), Some(s)) => {
            if p > 255 || s >= u64::from(NOT_FIXED) || p < s {
                return Err(digits_below_decimals());
            }
            t.length = p as u32;
            t.decimals = s as u8;
        }
    }
    let width = t.length;
    Ok(marked(t, numeric, width))
}

/// Most bits of a BIT.
const MAX_BITS: u64 = 64;

fn bits(length: &Option<u64>) -> SqlResult<SqlType> {
    match length.unwrap_or(1) {
        n if n > MAX_BITS => Err(too_wide(MAX_BITS)),
        0 => Err(SqlError::new(3013, "Invalid size for column.")),
        n => Ok(SqlType::bits(n as u32)),
    }
}

fn too_wide(max: u64) -> SqlError {
    SqlError::new(
        1439,
        format!("Display width out of range for column (max = {max})"),
    )
}

fn too_long(max: u32) -> SqlError {
    SqlError::new(
        1074,
        format!("Column length too big for column (max = {max}); use BLOB or TEXT instead"),
    )
}

fn characters(base: BaseType, length: u64, collation: Collation) -> SqlResult<SqlType> {
    let base = match collation {
        Collation::Binary => base.binary(),
        _ => base,
    };
    let max = match base {
        BaseType::Char | BaseType::Binary => 255,
        _ => MAX_VARCHAR_BYTES / collation.character_set().facts().max_bytes,
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

/// The length that VARCHAR and VARBINARY must say.
fn required(length: &Option<u64>) -> SqlResult<u64> {
    length.ok_or_else(|| SqlError::syntax("VARCHAR and VARBINARY need a length"))
}

/// A TEXT type, or under the binary collation its BLOB.
fn text(size: LobSize, collation: Collation) -> SqlType {
    use BaseType as B;
    let base = match size {
        LobSize::Tiny => B::TinyText,
        LobSize::Normal => B::Text,
        LobSize::Medium => B::MediumText,
        LobSize::Long => B::LongText,
    };
    let base = match collation {
        Collation::Binary => base.binary(),
        _ => base,
    };
    SqlType {
        collation,
        ..SqlType::new(base)
    }
}

/// TEXT(n) or BLOB(n): the smallest of the four that holds `n`; a length of 0 says nothing.
fn sized(length: u64, collation: Collation) -> SqlResult<SqlType> {
    if length > u32::MAX.into() {
        return Err(too_wide(u32::MAX.into()));
    }
    let longest = collation.character_set().facts().max_bytes;
    let bytes = length.saturating_mul(longest.into());
    let size = match bytes {
        1..=255 => LobSize::Tiny,
        0..=65_535 => LobSize::Normal,
        65_536..=16_777_215 => LobSize::Medium,
        _ => LobSize::Long,
    };
    Ok(text(size, collation))
}

fn temporal(kind: TemporalType, digits: &Option<u64>) -> SqlResult<SqlType> {
    let base = match kind {
        TemporalType::Date => return Ok(SqlType::new(BaseType::Date)),
        TemporalType::Year if !matches!(digits, None | Some(4)) => {
            return Err(SqlError::new(1818, "Supports only YEAR or YEAR(4) column."));
        }
        TemporalType::Year => return Ok(SqlType::new(BaseType::Year)),
        TemporalType::Time => BaseType::Time,
        TemporalType::DateTime => BaseType::DateTime,
        TemporalType::Timestamp => BaseType::Timestamp,
    };
    let n = digits.unwrap_or(0);
    if n > 6 {
        return Err(SqlError::new(
            1426,
            format!("Too-big precision {n} specified for column. Maximum is 6."),
        ));
    }
    Ok(SqlType::temporal(base, n as u8))
}

/// Most members of a SET.
const MAX_SET: usize = 64;

/// The members of an ENUM or SET.
fn members(list: &[String], most: usize) -> SqlResult<Vec<String>> {
    if list.len() > most {
        return Err(SqlError::new(1097, "Too many strings for column and SET"));
    }
    // Trailing spaces of members are dropped, as comparison ignores them.
    let names = list.iter().map(|m| m.trim_end_matches(' ').to_string());
    Ok(names.collect())
}

/// The members of an ENUM or SET that come again further on: an error in strict mode, worth a note in others.
pub fn duplicated_members(ty: &SqlType) -> Vec<&str> {
    let members = ty.members.as_deref().unwrap_or(&[]);
    let again = |(at, member): (usize, &String)| {
        let same = |m: &String| ty.collation.eq(m.as_bytes(), member.as_bytes());
        members[at + 1..].iter().any(same)
    };
    let found = (members.iter().enumerate()).filter(|(at, m)| again((*at, m)));
    found.map(|(_, m)| m.as_str()).collect()
}

fn enumeration(list: &[String], collation: Collation) -> SqlResult<SqlType> {
    let names = members(list, u16::MAX.into())?;
    Ok(SqlType::enumeration(names, collation))
}

fn set(list: &[String], collation: Collation) -> SqlResult<SqlType> {
    if let Some(name) = list.iter().find(|name| name.contains(',')) {
        return Err(SqlError::new(
            1367,
            format!("Illegal set '{name}' value found during parsing"),
        ));
    }
    Ok(SqlType::set(members(list, MAX_SET)?, collation))
}

/// A spatial type by its name in SQL, in any reference system.
pub fn spatial(name: &str) -> SqlType {
    let shown = match name {
        "GEOMETRYCOLLECTION" => "GEOMCOLLECTION",
        other => other,
    };
    let named = |b: &&BaseType| b.facts().name.eq_ignore_ascii_case(shown);
    let base = BaseType::ALL.iter().find(named);
    SqlType::new(base.copied().unwrap_or(BaseType::Geometry))
}

/// The type that a column was given. `collation`: what character types get; their own CHARACTER SET is the caller's to read
/// ([`type_charset`]). REAL is DOUBLE.
pub fn sql_type(ty: &DataType, collation: Collation) -> SqlResult<SqlType> {
    use BaseType as B;
    use DataType as D;
    Ok(match ty {
        D::Int(size, width, numeric) => {
            let base = match size {
                IntSize::Tiny => B::TinyInt,
                IntSize::Small => B::SmallInt,
                IntSize::Medium => B::MediumInt,
                IntSize::Int => B::Int,
                IntSize::Big => B::BigInt,
            };
            integer(base, width, numeric)?
        }
        D::Decimal(precision, scale, numeric) => decimal(precision, scale, numeric)?,
        D::Float(size, digits, decimals, numeric) => {
            let base = match size {
                FloatSize::Float => B::Float,
                FloatSize::Double | FloatSize::Real => B::Double,
            };
            float(base, digits, decimals, numeric)?
        }
        D::Serial => SqlType::ubigint(),
        D::Temporal(kind, digits) => temporal(*kind, digits)?,
        D::Char(length, _) => characters(B::Char, length.unwrap_or(1), collation)?,
        D::VarChar(length, _) => characters(B::VarChar, required(length)?, collation)?,
        D::Binary(length) => characters(B::Binary, length.unwrap_or(1), Collation::Binary)?,
        D::VarBinary(length) => characters(B::VarBinary, required(length)?, Collation::Binary)?,
        D::Blob(LobSize::Normal, Some(n)) => sized(*n, Collation::Binary)?,
        D::Blob(size, _) => text(*size, Collation::Binary),
        D::Text(LobSize::Normal, Some(n), _) => sized(*n, collation)?,
        D::Text(size, _, _) => text(*size, collation),
        D::Enum(members, _) => enumeration(&members.all(), collation)?,
        D::Set(members, _) => set(&members.all(), collation)?,
        D::Bit(length) => bits(length)?,
        D::Json => SqlType::json(),
        D::Spatial(kind) => spatial(&kind.to_string()),
        D::Foreign(_) => {
            return Err(SqlError::unsupported(format_args!("type {ty}")));
        }
    })
}

/// What becomes of a VARCHAR or VARBINARY that is too long where errors are warnings: the smallest TEXT or BLOB that holds it.
pub fn text_instead(ty: &DataType, collation: Collation) -> Option<SqlType> {
    match ty {
        DataType::VarChar(Some(n), _) => sized(*n, collation).ok(),
        DataType::VarBinary(Some(n)) => sized(*n, Collation::Binary).ok(),
        _ => None,
    }
}

/// An error about a column's type that says which column it is about, as the message of its code does.
pub fn of_column(e: SqlError, column: &str) -> SqlError {
    let (word, named) = match e.code {
        1063 => ("for column", format!("for column '{column}'")),
        1074 | 1425 | 1439 | 3013 => ("column", format!("column '{column}'")),
        1097 => ("column", format!("column {column}")),
        1426 => ("specified for column", format!("specified for '{column}'")),
        1427 => (" D.", format!(" D (column '{column}').")),
        _ => return e,
    };
    SqlError::new(e.code, e.message.replacen(word, &named, 1))
}

/// What a character type says about its character set, and whether it asks for that set's binary collation.
pub fn type_charset(ty: &DataType) -> (Option<&str>, bool) {
    match ty {
        DataType::Char(_, set)
        | DataType::VarChar(_, set)
        | DataType::Text(_, _, set)
        | DataType::Enum(_, set)
        | DataType::Set(_, set) => {
            let name = set.name.as_ref().map(|name| name.as_str());
            (name.or(set.national.then_some("utf8mb3")), set.binary)
        }
        _ => (None, false),
    }
}

/// The collation that a CHARACTER SET and a COLLATE clause ask for together.
pub fn collation_of(
    charset: Option<&str>,
    collation: Option<&str>,
    default: Collation,
) -> SqlResult<Collation> {
    match (charset, collation) {
        (None, None) => Ok(default),
        (Some(charset), None) => Collation::of_charset(charset),
        (None, Some(collation)) => Collation::by_name(collation),
        (Some(charset), Some(collation)) => {
            let chosen = Collation::by_name(collation)?;
            if Collation::of_charset(charset)?.charset() == chosen.charset() {
                Ok(chosen)
            } else {
                Err(SqlError::new(
                    1253,
                    format!("COLLATION '{collation}' is not valid for CHARACTER SET '{charset}'"),
                ))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::{ast, parse_one};
    use crate::value::env::SqlMode;

    fn parsed(sql: &str) -> SqlResult<SqlType> {
        let text = format!("create table t (c {sql})");
        let statement = parse_one(&text, SqlMode::DEFAULT)?;
        let ast::StatementKind::Table(table) = statement.kind() else {
            panic!("{text}");
        };
        let ast::TableStatement::Create(create) = &**table else {
            panic!("{text}");
        };
        let [ast::TableElement::Column(column)] = &*create.elements.all() else {
            panic!("{text}");
        };
        sql_type(&column.data_type, Collation::Utf8mb4GeneralCi)
    }

    #[test]
    fn names_return() {
        for (sql, shown) in [
            ("INT", "int"),
            ("int(11) unsigned", "int unsigned"),
            ("bool", "tinyint(1)"),
            ("decimal(10,2)", "decimal(10,2)"),
            ("decimal", "decimal(10,0)"),
            ("decimal(0,0)", "decimal(10,0)"),
            ("text(0)", "text"),
            ("fixed(7,3)", "decimal(7,3)"),
            ("varchar(20)", "varchar(20)"),
            ("char", "char(1)"),
            ("datetime(3)", "datetime(3)"),
            ("enum('a','b')", "enum('a','b')"),
            ("set('a','b')", "set('a','b')"),
            ("text", "text"),
            ("blob(70000)", "mediumblob"),
            ("double", "double"),
            ("float(7,3)", "float(7,3)"),
            ("float(53)", "double"),
            ("year(4)", "year"),
            ("varbinary(16)", "varbinary(16)"),
            ("time", "time"),
            ("bigint unsigned", "bigint unsigned"),
            ("timestamp", "timestamp"),
            ("text(100)", "text"),
            ("json", "json"),
            ("geometrycollection", "geomcollection"),
            ("multipoint", "multipoint"),
            ("long varchar", "mediumtext"),
            ("bit", "bit(1)"),
            ("bit(64)", "bit(64)"),
            ("int zerofill", "int(10) unsigned zerofill"),
            ("tinyint(1) zerofill", "tinyint(1) unsigned zerofill"),
            ("bigint(0) zerofill", "bigint(20) unsigned zerofill"),
            ("decimal(7,3) zerofill", "decimal(7,3) unsigned zerofill"),
        ] {
            let t = parsed(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
            assert_eq!(t.column_type(), shown, "{sql}");
        }
        for (sql, code) in [
            ("bit(65)", 1439),
            ("set('a,b')", 1367),
            ("int(256) zerofill", 1439),
            ("varchar(20000)", 1074),
            ("decimal(70,2)", 1426),
            ("uuid", 1235),
            ("datetime(7)", 1426),
            ("year(2)", 1818),
        ] {
            assert_eq!(parsed(sql).unwrap_err().code, code, "{sql}");
        }
    }
}

//! Data types as columns, routine parameters and variables have them. Synonyms are resolved: `BOOL` is `TINYINT(1)`, `NUMERIC` is
//! `DECIMAL`, `LONG VARCHAR` is `MEDIUMTEXT`.

use super::list::Items;
use std::fmt;

use super::Ident;
use super::words::{Opt, Texts, flag, words};

/// A data type.
#[derive(Clone, Debug, PartialEq)]
pub enum DataType {
    /// An integer type, its display width.
    Int(IntSize, Option<u64>, Numeric),
    /// DECIMAL, its precision and scale.
    Decimal(Option<u64>, Option<u64>, Numeric),
    /// A floating-point type; (digits, decimals), of which FLOAT may have the first alone.
    Float(FloatSize, Option<u64>, Option<u64>, Numeric),
    /// SERIAL: BIGINT UNSIGNED NOT NULL AUTO_INCREMENT UNIQUE.
    Serial,
    /// BIT, its width.
    Bit(Option<u64>),
    /// A temporal type, its fractional digits (of YEAR: its width).
    Temporal(TemporalType, Option<u64>),
    /// CHAR, its length in characters.
    Char(Option<u64>, Charset),
    /// VARCHAR, its length in characters. Only a parameter or a return type may go without.
    VarChar(Option<u64>, Charset),
    /// BINARY, its length in bytes.
    Binary(Option<u64>),
    /// VARBINARY, its length in bytes.
    VarBinary(Option<u64>),
    /// A BLOB type, its length in bytes, from which BLOB chooses among the sizes.
    Blob(LobSize, Option<u64>),
    /// A TEXT type, its length in characters.
    Text(LobSize, Option<u64>, Charset),
    /// ENUM, its members.
    Enum(Items<String>, Charset),
    /// SET, its members.
    Set(Items<String>, Charset),
    /// JSON.
    Json,
    /// A spatial type.
    Spatial(SpatialType),
    /// MariaDB's INET4, INET6 and UUID.
    Foreign(ForeignType),
}

words! {
    /// Sizes of integers.
    pub enum IntSize { Tiny = "TINYINT", Small = "SMALLINT", Medium = "MEDIUMINT", Int = "INT", Big = "BIGINT" }
    /// Floating-point types. REAL is DOUBLE, or FLOAT in the mode REAL_AS_FLOAT.
    pub enum FloatSize { Float = "FLOAT", Double = "DOUBLE", Real = "REAL" }
    /// Temporal types.
    pub enum TemporalType { Date = "DATE", Time = "TIME", DateTime = "DATETIME", Timestamp = "TIMESTAMP", Year = "YEAR" }
    /// Spatial types.
    pub enum SpatialType {
        Geometry = "GEOMETRY", GeometryCollection = "GEOMETRYCOLLECTION", Point = "POINT", MultiPoint = "MULTIPOINT",
        LineString = "LINESTRING", MultiLineString = "MULTILINESTRING", Polygon = "POLYGON", MultiPolygon = "MULTIPOLYGON",
    }
    /// Types of MariaDB that MySQL doesn't have.
    pub enum ForeignType { Inet4 = "INET4", Inet6 = "INET6", Uuid = "UUID" }
}

/// Sizes of BLOB and TEXT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // The variants are the prefixes.
pub enum LobSize {
    Tiny,
    Normal,
    Medium,
    Long,
}

/// UNSIGNED and ZEROFILL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Numeric {
    /// UNSIGNED.
    pub unsigned: bool,
    /// ZEROFILL.
    pub zerofill: bool,
}

/// The character set of a character type.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Charset {
    /// NATIONAL: utf8mb3.
    pub national: bool,
    /// CHARACTER SET. ASCII is latin1, UNICODE is ucs2, BYTE is binary.
    pub name: Option<Ident>,
    /// BINARY: the set's binary collation.
    pub binary: bool,
}

impl fmt::Display for Numeric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(flag(self.unsigned, " UNSIGNED"))?;
        f.write_str(flag(self.zerofill, " ZEROFILL"))
    }
}

impl fmt::Display for Charset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let binary = flag(self.binary, " BINARY");
        write!(f, "{}{binary}", Opt(" CHARACTER SET ", &self.name))
    }
}

impl LobSize {
    fn prefix(self) -> &'static str {
        match self {
            LobSize::Tiny => "TINY",
            LobSize::Normal => "",
            LobSize::Medium => "MEDIUM",
            LobSize::Long => "LONG",
        }
    }
}

/// `(n)`, or nothing.
struct Length<'a>(&'a Option<u64>);

impl fmt::Display for Length<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(n) => write!(f, "({n})"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use DataType as T;
        match self {
            T::Int(size, width, numeric) => write!(f, "{size}{}{numeric}", Length(width)),
            T::Decimal(Some(p), Some(s), numeric) => write!(f, "DECIMAL({p}, {s}){numeric}"),
            T::Decimal(p, _, numeric) => write!(f, "DECIMAL{}{numeric}", Length(p)),
            T::Float(size, Some(p), Some(s), numeric) => write!(f, "{size}({p}, {s}){numeric}"),
            T::Float(size, p, _, numeric) => write!(f, "{size}{}{numeric}", Length(p)),
            T::Serial => f.write_str("SERIAL"),
            T::Bit(width) => write!(f, "BIT{}", Length(width)),
            T::Temporal(kind, digits) => write!(f, "{kind}{}", Length(digits)),
            T::Char(n, set) => {
                write!(
                    f,
                    "{}CHAR{}{set}",
                    flag(set.national, "NATIONAL "),
                    Length(n)
                )
            }
            T::VarChar(n, set) => {
                write!(
                    f,
                    "{}VARCHAR{}{set}",
                    flag(set.national, "NATIONAL "),
                    Length(n)
                )
            }
            T::Binary(n) => write!(f, "BINARY{}", Length(n)),
            T::VarBinary(n) => write!(f, "VARBINARY{}", Length(n)),
            T::Blob(size, n) => write!(f, "{}BLOB{}", size.prefix(), Length(n)),
            T::Text(size, n, set) => write!(f, "{}TEXT{}{set}", size.prefix(), Length(n)),
            T::Enum(members, set) => write!(f, "ENUM({}){set}", Texts(members)),
            T::Set(members, set) => write!(f, "SET({}){set}", Texts(members)),
            T::Json => f.write_str("JSON"),
            T::Spatial(kind) => kind.fmt(f),
            T::Foreign(kind) => kind.fmt(f),
        }
    }
}

//! What types are called: in SQL, in information_schema, in the protocol.

use super::flags::*;
use super::{BaseType, Collation, SqlType};
use crate::decimal::{Decimal, MAX_PRECISION, MAX_SCALE};
use std::sync::Arc;

/// Decimals of a FLOAT or DOUBLE without a fixed number of them.
pub const NOT_FIXED: u8 = 31;
/// Longest VARCHAR in bytes, and longest BLOB.
pub const MAX_VARCHAR_BYTES: u32 = 65_535;
const MEDIUM: u32 = 16_777_215;
/// Bytes a character can take.
const CHAR_BYTES: u32 = 4;

impl SqlType {
    /// A type with everything at its default: length, decimals and collation of `base`. Character types are
    /// utf8mb4_general_ci.
    pub fn new(base: BaseType) -> SqlType {
        use BaseType::*;
        let (length, decimals) = match base {
            Null => (0, 0),
            TinyInt => (4, 0),
            SmallInt => (6, 0),
            MediumInt => (9, 0),
            Int => (11, 0),
            BigInt => (20, 0),
            Decimal => (10, 0),
            Float => (12, NOT_FIXED),
            Double => (22, NOT_FIXED),
            Char | Binary => (1, 0),
            VarChar | VarBinary => (0, 0),
            TinyText | TinyBlob => (255, 0),
            Text | Blob => (65_535, 0),
            MediumText | MediumBlob => (MEDIUM, 0),
            LongText | LongBlob => (u32::MAX, 0),
            Date => (10, 0),
            Time => (10, 0),
            DateTime | Timestamp => (19, 0),
            Year => (4, 0),
            Enum => (0, 0),
        };
        SqlType {
            base,
            unsigned: base == Year,
            length,
            decimals,
            collation: match base {
                Char | VarChar | TinyText | Text | MediumText | LongText | Enum => {
                    Collation::Utf8mb4GeneralCi
                }
                _ => Collation::Binary,
            },
            members: None,
        }
    }
    /// The type of NULL.
    pub fn null() -> SqlType {
        SqlType::new(BaseType::Null)
    }
    /// BIGINT.
    pub fn bigint() -> SqlType {
        SqlType::new(BaseType::BigInt)
    }
    /// BIGINT UNSIGNED.
    pub fn ubigint() -> SqlType {
        SqlType {
            unsigned: true,
            ..SqlType::new(BaseType::BigInt)
        }
    }
    /// The type of comparisons and predicates: BIGINT shown one wide.
    pub fn boolean() -> SqlType {
        SqlType {
            length: 1,
            ..SqlType::new(BaseType::BigInt)
        }
    }
    /// DOUBLE.
    pub fn double() -> SqlType {
        SqlType::new(BaseType::Double)
    }
    /// DECIMAL(precision, scale).
    pub fn decimal(precision: u32, scale: u8) -> SqlType {
        let decimals = scale.min(MAX_SCALE);
        SqlType {
            length: precision.clamp(decimals.max(1) as u32, MAX_PRECISION),
            decimals,
            ..SqlType::new(BaseType::Decimal)
        }
    }
    /// VARCHAR(length) of a collation (VARBINARY under `Collation::Binary`); a TEXT or BLOB type where that is too short.
    pub fn varchar(length: u32, collation: Collation) -> SqlType {
        let binary = collation == Collation::Binary;
        let bytes = if binary {
            length as u64
        } else {
            length as u64 * CHAR_BYTES as u64
        };
        let base = match (bytes > MAX_VARCHAR_BYTES as u64, binary) {
            (false, false) => BaseType::VarChar,
            (false, true) => BaseType::VarBinary,
            (true, false) => BaseType::LongText,
            (true, true) => BaseType::LongBlob,
        };
        SqlType {
            length,
            collation,
            ..SqlType::new(base)
        }
    }
    /// DATETIME(fsp).
    pub fn datetime(fsp: u8) -> SqlType {
        SqlType::temporal(BaseType::DateTime, fsp)
    }
    /// DATE, TIME(fsp), DATETIME(fsp) or TIMESTAMP(fsp).
    pub fn temporal(base: BaseType, fsp: u8) -> SqlType {
        let t = SqlType::new(base);
        let extra = if fsp > 0 { fsp as u32 + 1 } else { 0 };
        SqlType {
            length: t.length + extra,
            decimals: fsp.min(6),
            ..t
        }
    }
    /// ENUM of members.
    pub fn enumeration(members: Vec<String>, collation: Collation) -> SqlType {
        let longest = members.iter().map(|m| m.chars().count()).max().unwrap_or(0);
        SqlType {
            length: longest as u32,
            collation,
            members: Some(Arc::from(members)),
            ..SqlType::new(BaseType::Enum)
        }
    }

    /// The type as SHOW CREATE TABLE and information_schema's COLUMN_TYPE write it: `int unsigned`, `varchar(20)`,
    /// `enum('a','b')`.
    pub fn column_type(&self) -> String {
        use BaseType::*;
        let mut s = self.data_type().to_string();
        match self.base {
            TinyInt if self.length == 1 => s.push_str("(1)"),
            Char | VarChar | Binary | VarBinary => s.push_str(&format!("({})", self.length)),
            Decimal => s.push_str(&format!("({},{})", self.length, self.decimals)),
            Float | Double if self.decimals < NOT_FIXED => {
                s.push_str(&format!("({},{})", self.length, self.decimals));
            }
            Time | DateTime | Timestamp if self.decimals > 0 => {
                s.push_str(&format!("({})", self.decimals));
            }
            Enum => {
                s.push('(');
                for (i, m) in self.members.iter().flat_map(|m| m.iter()).enumerate() {
                    if i > 0 {
                        s.push(',');
                    }
                    s.push('\'');
                    s.push_str(&m.replace('\'', "''"));
                    s.push('\'');
                }
                s.push(')');
            }
            _ => {}
        }
        if self.unsigned && self.base != Year {
            s.push_str(" unsigned");
        }
        s
    }
    /// The type without length, as information_schema's DATA_TYPE has it: `int`, `varchar`.
    pub fn data_type(&self) -> &'static str {
        use BaseType::*;
        match self.base {
            Null => "null",
            TinyInt => "tinyint",
            SmallInt => "smallint",
            MediumInt => "mediumint",
            Int => "int",
            BigInt => "bigint",
            Decimal => "decimal",
            Float => "float",
            Double => "double",
            Char => "char",
            VarChar => "varchar",
            TinyText => "tinytext",
            Text => "text",
            MediumText => "mediumtext",
            LongText => "longtext",
            Binary => "binary",
            VarBinary => "varbinary",
            TinyBlob => "tinyblob",
            Blob => "blob",
            MediumBlob => "mediumblob",
            LongBlob => "longblob",
            Date => "date",
            Time => "time",
            DateTime => "datetime",
            Timestamp => "timestamp",
            Year => "year",
            Enum => "enum",
        }
    }
    /// Protocol column type (`MYSQL_TYPE_*`).
    pub fn protocol_type(&self) -> u8 {
        use BaseType::*;
        match self.base {
            TinyInt => 1,
            SmallInt => 2,
            Int => 3,
            Float => 4,
            Double => 5,
            Null => 6,
            Timestamp => 7,
            BigInt => 8,
            MediumInt => 9,
            Date => 10,
            Time => 11,
            DateTime => 12,
            Year => 13,
            Decimal => 246,
            TinyText | Text | MediumText | LongText | TinyBlob | Blob | MediumBlob | LongBlob => {
                252
            }
            VarChar | VarBinary => 253,
            Char | Binary | Enum => 254,
        }
    }
    /// Protocol column length: display width in bytes.
    pub fn protocol_length(&self) -> u32 {
        use BaseType::*;
        match self.base {
            // Sign and point come on top of a decimal's digits.
            Decimal => self.length + (self.decimals > 0) as u32 + (!self.unsigned) as u32,
            TinyInt | SmallInt | Int if self.unsigned && self.length > 1 => self.length - 1,
            Char | VarChar | Enum => self.length.saturating_mul(CHAR_BYTES),
            LongText | LongBlob => u32::MAX,
            TinyText | Text | MediumText => self.length.saturating_mul(CHAR_BYTES),
            _ => self.length,
        }
    }
    /// Protocol character set id: the collation's id, 63 for anything that is not character data.
    pub fn protocol_charset(&self) -> u16 {
        if self.is_string() {
            self.collation.id()
        } else {
            Collation::Binary.id()
        }
    }
    /// Protocol flags that follow from the type alone (`FLAG_UNSIGNED`, `FLAG_BLOB`, `FLAG_BINARY`, `FLAG_ENUM`,
    /// `FLAG_TIMESTAMP`).
    pub fn protocol_flags(&self) -> u16 {
        let mut f = 0;
        if self.unsigned {
            f |= FLAG_UNSIGNED;
        }
        if self.is_blob() {
            f |= FLAG_BLOB;
        }
        if !self.collation.ignores_case() {
            f |= FLAG_BINARY;
        }
        match self.base {
            BaseType::Enum => f |= FLAG_ENUM,
            BaseType::Timestamp => f |= FLAG_TIMESTAMP,
            _ => {}
        }
        f
    }
    /// Whether it is an integer type (YEAR included).
    pub fn is_integer(&self) -> bool {
        use BaseType::*;
        matches!(
            self.base,
            TinyInt | SmallInt | MediumInt | Int | BigInt | Year
        )
    }
    /// A decimal with no more digits after the point than the type has.
    #[inline]
    pub fn shown(&self, d: Decimal) -> Decimal {
        if self.base == BaseType::Decimal && d.scale() > self.decimals {
            d.round(self.decimals)
        } else {
            d
        }
    }
    /// Whether it is a number of any kind.
    pub fn is_numeric(&self) -> bool {
        self.is_integer()
            || matches!(
                self.base,
                BaseType::Decimal | BaseType::Float | BaseType::Double
            )
    }
    /// Whether it is a character or binary string (ENUM included).
    pub fn is_string(&self) -> bool {
        use BaseType::*;
        self.is_blob() || matches!(self.base, Char | VarChar | Binary | VarBinary | Enum)
    }
    /// Whether it is a date, a time or both.
    pub fn is_temporal(&self) -> bool {
        use BaseType::*;
        matches!(self.base, Date | Time | DateTime | Timestamp)
    }
    /// Whether it is a TEXT or BLOB type (key parts need a prefix, no literal default).
    pub fn is_blob(&self) -> bool {
        use BaseType::*;
        matches!(
            self.base,
            TinyText | Text | MediumText | LongText | TinyBlob | Blob | MediumBlob | LongBlob
        )
    }
    /// Whether lengths are counted in characters: character data, not bytes.
    pub fn is_character(&self) -> bool {
        self.is_string() && self.collation != Collation::Binary
    }
    /// Digits before the point that the type's numbers can have.
    pub fn integer_digits(&self) -> u32 {
        use BaseType::*;
        match self.base {
            TinyInt => 3,
            SmallInt => 5,
            MediumInt => {
                if self.unsigned {
                    8
                } else {
                    7
                }
            }
            Int => 10,
            // A constant's length is that of its digits.
            BigInt => self.length.min(if self.unsigned { 20 } else { 19 }),
            Year => 4,
            Decimal => self.length - self.decimals as u32,
            Date => 8,
            Time => 7,
            DateTime | Timestamp => 14,
            Null => 0,
            _ => 22,
        }
    }
}

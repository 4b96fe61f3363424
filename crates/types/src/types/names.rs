//! What types are called: in SQL, in information_schema, in the protocol.

use super::base::{Category, Compares, Family, Shows};
use super::flags::*;
use super::{BaseType, Collation, SqlType};
use crate::decimal::{Decimal, MAX_PRECISION, MAX_SCALE};
use crate::value::geometry::Kind;
use std::sync::Arc;

/// Decimals of a FLOAT or DOUBLE without a fixed number of them.
pub const NOT_FIXED: u8 = 31;
/// Longest VARCHAR in bytes, and longest BLOB.
pub const MAX_VARCHAR_BYTES: u32 = 65_535;

impl SqlType {
    /// A type with everything at its default: length, decimals and collation of `base`. Character types are
    /// under [`Collation::DEFAULT`].
    pub fn new(base: BaseType) -> SqlType {
        let facts = base.facts();
        SqlType {
            base,
            unsigned: facts.unsigned,
            zerofill: 0,
            srid: None,
            chosen: false,
            length: facts.length,
            decimals: facts.decimals,
            collation: if facts.character {
                Collation::DEFAULT
            } else {
                Collation::Binary
            },
            members: None,
        }
    }
    /// JSON.
    pub fn json() -> SqlType {
        SqlType::new(BaseType::Json)
    }
    /// GEOMETRY: of any kind, in any reference system.
    pub fn geometry() -> SqlType {
        SqlType::new(BaseType::Geometry)
    }
    /// The type of NULL.
    pub fn null() -> SqlType {
        SqlType::new(BaseType::Null)
    }
    /// BIT(length).
    pub fn bits(length: u32) -> SqlType {
        SqlType {
            length,
            ..SqlType::new(BaseType::Bit)
        }
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
        let bytes = length as u64 * u64::from(collation.character_set().facts().max_bytes);
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
    /// SET of members.
    pub fn set(members: Vec<String>, collation: Collation) -> SqlType {
        let commas = members.len().saturating_sub(1);
        let chars: usize = members.iter().map(|m| m.chars().count()).sum();
        SqlType {
            length: (chars + commas) as u32,
            collation,
            members: Some(Arc::from(members)),
            ..SqlType::new(BaseType::Set)
        }
    }

    /// What CONVERT TO CHARACTER SET makes of a character type: one that holds as many characters in a collation's character set, for which a
    /// TEXT may have to become a longer one; under `Binary` as many bytes.
    pub fn in_collation(&self, to: Collation) -> SqlType {
        let longest = u64::from(to.character_set().facts().max_bytes);
        let kept = SqlType {
            collation: to,
            ..self.clone()
        };
        if to == Collation::Binary {
            return SqlType {
                base: self.base.binary(),
                ..kept
            };
        }
        let Some(facts) = self.base.facts().string else {
            return kept;
        };
        let shortest = u64::from(self.collation.character_set().facts().min_bytes);
        if facts.lob == 0 || longest <= self.char_bytes().into() {
            return kept;
        }
        let bytes = u64::from(self.length) / shortest * longest;
        let texts = [BaseType::Text, BaseType::MediumText, BaseType::LongText];
        let holds = |base: &BaseType| bytes <= base.facts().length.into();
        SqlType {
            collation: to,
            ..SqlType::new(texts.into_iter().find(holds).unwrap_or(BaseType::LongText))
        }
    }

    /// The type as SHOW CREATE TABLE and information_schema's COLUMN_TYPE write it: `int unsigned`, `varchar(20)`,
    /// `enum('a','b')`.
    pub fn column_type(&self) -> String {
        let facts = self.base.facts();
        let mut s = facts.name.to_string();
        match facts.shows {
            _ if self.zerofill > 0 && self.is_integer() => {
                s.push_str(&format!("({})", self.zerofill));
            }
            Shows::One if self.length == 1 => s.push_str("(1)"),
            Shows::Length => s.push_str(&format!("({})", self.length)),
            Shows::Digits if self.decimals < NOT_FIXED => {
                s.push_str(&format!("({},{})", self.length, self.decimals));
            }
            Shows::Seconds if self.decimals > 0 => s.push_str(&format!("({})", self.decimals)),
            Shows::Members => {
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
            Shows::Name | Shows::One | Shows::Digits | Shows::Seconds => {}
        }
        if self.unsigned && !facts.unsigned {
            s.push_str(" unsigned");
        }
        if self.zerofill > 0 {
            s.push_str(" zerofill");
        }
        s
    }
    /// The type without length, as information_schema's DATA_TYPE has it: `int`, `varchar`.
    pub fn data_type(&self) -> &'static str {
        self.base.facts().name
    }
    /// Protocol column type (`MYSQL_TYPE_*`).
    pub fn protocol_type(&self) -> u8 {
        self.base.facts().protocol
    }
    /// Protocol column length: display width in bytes, of texts in a character set of such longest characters.
    pub fn protocol_length(&self, char_bytes: u32) -> u32 {
        use BaseType::*;
        match self.base {
            _ if self.zerofill > 0 => self.zerofill.into(),
            // Sign and point come on top of a decimal's digits.
            Decimal => self.length + (self.decimals > 0) as u32 + (!self.unsigned) as u32,
            TinyInt | SmallInt | MediumInt | Int if self.unsigned && self.length > 1 => {
                self.length - 1
            }
            LongText | LongBlob => u32::MAX,
            // As many characters as a TEXT has bytes, at most.
            _ if self.is_blob() && self.is_character() => {
                let chars = self.length / self.collation.character_set().facts().min_bytes;
                chars.saturating_mul(char_bytes)
            }
            _ if self.base.facts().character => self.length.saturating_mul(char_bytes),
            _ => self.length,
        }
    }
    /// The same in the type's own character set.
    pub fn own_length(&self) -> u32 {
        self.protocol_length(self.char_bytes())
    }
    /// Protocol character set id: the collation's id, 63 for anything that is not character data.
    pub fn protocol_charset(&self) -> u16 {
        if self.is_string() {
            self.collation.id()
        } else {
            Collation::Binary.id()
        }
    }
    /// Protocol flags that follow from the type alone (`FLAG_UNSIGNED`, `FLAG_ZEROFILL`, `FLAG_BLOB`, `FLAG_BINARY`, `FLAG_ENUM`,
    /// `FLAG_TIMESTAMP`).
    pub fn protocol_flags(&self) -> u16 {
        let mut f = 0;
        if self.unsigned {
            f |= FLAG_UNSIGNED;
        }
        if self.zerofill > 0 {
            f |= FLAG_ZEROFILL;
        }
        if self.is_blob() {
            f |= FLAG_BLOB;
        }
        if self.collation.is_bin() {
            f |= FLAG_BINARY;
        }
        f | self.base.facts().flags
    }
    /// What its values do.
    #[inline]
    pub fn family(&self) -> Family {
        self.base.family()
    }
    #[inline]
    fn category(&self) -> Category {
        self.family().category()
    }
    /// Whether it is an integer type (YEAR included).
    #[inline]
    pub fn is_integer(&self) -> bool {
        self.category() == Category::Integer
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
    #[inline]
    pub fn is_numeric(&self) -> bool {
        matches!(self.category(), Category::Integer | Category::Fraction)
    }
    /// Whether it is a character or binary string (ENUM and SET included).
    #[inline]
    pub fn is_string(&self) -> bool {
        self.category() == Category::String
    }
    /// Whether it is a date, a time or both.
    #[inline]
    pub fn is_temporal(&self) -> bool {
        self.category() == Category::Temporal
    }
    /// Whether it is JSON.
    #[inline]
    pub fn is_json(&self) -> bool {
        self.base == BaseType::Json
    }
    /// Whether it is a spatial type.
    #[inline]
    pub fn is_geometry(&self) -> bool {
        self.family() == Family::Geometry
    }
    /// What kind its geometries are; `None`: of any, or it is no spatial type.
    pub fn geometry_kind(&self) -> Option<Kind> {
        self.base.facts().geometry.flatten()
    }
    /// Whether it is a TEXT, BLOB or spatial type (key parts need a prefix, no literal default).
    #[inline]
    pub fn is_blob(&self) -> bool {
        matches!(self.base.facts().string, Some(s) if s.lob > 0)
    }
    /// Whether its values are texts, but are kept, ordered and counted as numbers: those of ENUM and SET.
    #[inline]
    pub fn is_enumerated(&self) -> bool {
        self.base.facts().compares == Compares::Never
    }
    /// The collation of its values' texts, if it is a string or if its texts are bytes: BIT.
    #[inline]
    pub fn text_collation(&self) -> Option<Collation> {
        (self.is_string() || self.base == BaseType::Bit).then_some(self.collation)
    }
    /// The type of what is computed of it: only columns themselves show the zeros of ZEROFILL.
    pub fn computed(self) -> SqlType {
        SqlType {
            zerofill: 0,
            chosen: false,
            ..self
        }
    }
    /// Whether its values' texts are bytes: binary strings, and BIT.
    #[inline]
    pub fn has_bytes(&self) -> bool {
        self.text_collation() == Some(Collation::Binary)
    }
    /// Whether lengths are counted in characters: character data, not bytes.
    #[inline]
    pub fn is_character(&self) -> bool {
        self.is_string() && self.collation != Collation::Binary
    }
    /// Digits before the point that the type's numbers can have.
    pub fn integer_digits(&self) -> u32 {
        let (signed, unsigned) = self.base.facts().digits;
        let most = u32::from(if self.unsigned { unsigned } else { signed });
        match self.base {
            // A constant's length is that of its digits.
            BaseType::BigInt => self.length.min(most),
            BaseType::Decimal => self.length - self.decimals as u32,
            // A power of two has the digits of what is one less.
            BaseType::Bit => ((1u128 << self.length) - 1).ilog10() + 1,
            _ => most,
        }
    }
    /// information_schema's NUMERIC_PRECISION and NUMERIC_SCALE.
    pub fn numeric_precision(&self) -> (Option<u32>, Option<u32>) {
        let (signed, unsigned) = self.base.facts().digits;
        let scale = (self.decimals < NOT_FIXED).then_some(u32::from(self.decimals));
        match self.family() {
            // Of a MEDIUMINT that of the signed one, whichever it is.
            Family::Integer if self.unsigned && self.base != BaseType::MediumInt => {
                (Some(unsigned.into()), Some(0))
            }
            Family::Integer => (Some(signed.into()), Some(0)),
            Family::Bit => (Some(self.length), None),
            Family::Decimal => (Some(self.length), scale),
            Family::Float | Family::Double => (Some(self.length), scale),
            Family::Null
            | Family::Year
            | Family::String
            | Family::Enum
            | Family::Set
            | Family::Date
            | Family::DateTime
            | Family::Timestamp
            | Family::Time
            | Family::Json
            | Family::Geometry => (None, None),
        }
    }
    /// information_schema's CHARACTER_MAXIMUM_LENGTH and CHARACTER_OCTET_LENGTH.
    pub fn character_lengths(&self) -> Option<(u64, u64)> {
        let facts = self.base.facts();
        match facts.string {
            _ if self.is_geometry() => None,
            Some(s) if s.lob > 0 => {
                let shortest = self.collation.character_set().facts().min_bytes;
                Some(((facts.length / shortest).into(), facts.length.into()))
            }
            _ if self.is_string() => {
                let length = u64::from(self.length);
                Some((length, length * u64::from(self.char_bytes())))
            }
            _ => None,
        }
    }
    /// information_schema's DATETIME_PRECISION.
    pub fn datetime_precision(&self) -> Option<u32> {
        (self.base.facts().shows == Shows::Seconds).then_some(self.decimals.into())
    }
    /// Bytes that MySQL reckons with for one of its characters.
    pub fn char_bytes(&self) -> u32 {
        self.collation.character_set().facts().max_bytes
    }
    /// Bytes that MySQL counts for a key part of it: `key_len` in EXPLAIN.
    pub fn key_len(&self) -> u32 {
        let facts = self.base.facts();
        match facts.string {
            Some(s) => self.length * self.char_bytes() + if s.fixed { 0 } else { 2 },
            None if self.base == BaseType::Decimal => self.length.div_ceil(9) * 4,
            None if facts.key_len == 0 => self.fixed_len() as u32,
            None => facts.key_len.into(),
        }
    }
    /// Bytes that a column of it counts for MySQL's longest row.
    pub fn row_bytes(&self) -> usize {
        let bytes = self.length as usize * self.char_bytes() as usize;
        match self.base.facts().string {
            Some(s) if s.lob > 0 => 8 + usize::from(s.lob),
            Some(s) if s.fixed => bytes,
            Some(_) => bytes + if bytes > 255 { 2 } else { 1 },
            None if self.is_json() => 12,
            None => self.fixed_len(),
        }
    }
    /// Bytes that each value takes in rows and keys; 0 for strings, whose values differ in that.
    #[inline]
    pub fn fixed_len(&self) -> usize {
        let fraction = usize::from(fraction_len(self.decimals));
        let width = usize::from(self.base.facts().width);
        match self.family() {
            Family::Set => match self.members.as_deref().map_or(0, <[_]>::len).div_ceil(8) {
                bytes @ ..=4 => bytes.max(1),
                _ => 8,
            },
            Family::Bit => self.length.div_ceil(8) as usize,
            Family::Decimal => Decimal::encoded_len(self.length),
            Family::DateTime | Family::Timestamp => width + fraction,
            Family::Null
            | Family::Integer
            | Family::Year
            | Family::Float
            | Family::Double
            | Family::String
            | Family::Enum
            | Family::Date
            | Family::Time
            | Family::Json
            | Family::Geometry => width,
        }
    }
}

/// Bytes that hold fractional seconds of so many digits.
#[inline]
pub fn fraction_len(fsp: u8) -> u8 {
    fsp.div_ceil(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_have_room_in_display_lengths() {
        use BaseType::*;
        let lengths = |base| {
            let ty = SqlType::new(base);
            let unsigned = SqlType {
                unsigned: true,
                ..ty.clone()
            };
            (ty.protocol_length(4), unsigned.protocol_length(4))
        };
        let all = [TinyInt, SmallInt, MediumInt, Int, BigInt].map(lengths);
        assert_eq!(all, [(4, 3), (6, 5), (9, 8), (11, 10), (20, 20)]);
    }

    #[test]
    fn bits_and_zeros_are_told_to_clients() {
        const BIT: u8 = 16;
        let filled = SqlType {
            unsigned: true,
            zerofill: 5,
            ..SqlType::new(BaseType::Int)
        };
        let bits = SqlType::bits(10);
        let told = |t: &SqlType| {
            (
                t.protocol_type(),
                t.protocol_length(4),
                t.protocol_charset(),
            )
        };
        assert_eq!(told(&bits), (BIT, 10, 63));
        assert_eq!(told(&filled), (3, 5, 63));
        let marks = FLAG_UNSIGNED | FLAG_ZEROFILL;
        assert_eq!(bits.protocol_flags() & marks, FLAG_UNSIGNED);
        assert_eq!(filled.protocol_flags() & marks, marks);
        assert_eq!(filled.computed().protocol_flags() & marks, FLAG_UNSIGNED);
        assert_eq!((bits.fixed_len(), bits.key_len()), (2, 2));
        assert_eq!(bits.numeric_precision(), (Some(10), None));
    }
}

//! The table of types: a row says all that is the same for every column of a type. Its number in stored definitions is the row's place.
//!
//! What a type's values do (assignment, casts, order, bytes) is its family's, in [`crate::value::family`].

use super::flags::{FLAG_BINARY, FLAG_BLOB, FLAG_ENUM, FLAG_SET, FLAG_TIMESTAMP};
use super::names::NOT_FIXED;
use crate::value::geometry::Kind;

/// Types whose values are converted, compared, ordered and stored by the same rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Family {
    Null,
    Integer,
    Year,
    /// So many bits: numbers whose text is their bytes.
    Bit,
    Decimal,
    Float,
    Double,
    /// Character and binary strings of variable length.
    String,
    /// One of a list of texts, kept as its position.
    Enum,
    /// Several of a list of texts, kept as a number of a bit each.
    Set,
    Date,
    DateTime,
    Timestamp,
    Time,
    /// JSON documents, in a binary form of their own.
    Json,
    /// Geometries: bytes in MySQL's internal form.
    Geometry,
}

/// What a family's values are, roughly: what functions and operators ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    /// NULL alone.
    Null,
    /// Whole numbers.
    Integer,
    /// Other numbers.
    Fraction,
    /// Texts and bytes.
    String,
    /// Dates and times.
    Temporal,
    /// JSON.
    Json,
}

impl Family {
    /// Its category.
    pub const fn category(self) -> Category {
        match self {
            Family::Null => Category::Null,
            Family::Integer | Family::Year | Family::Bit => Category::Integer,
            Family::Decimal | Family::Float | Family::Double => Category::Fraction,
            Family::String | Family::Enum | Family::Set | Family::Geometry => Category::String,
            Family::Date | Family::DateTime | Family::Timestamp | Family::Time => {
                Category::Temporal
            }
            Family::Json => Category::Json,
        }
    }
}

/// What a value is in arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    /// A whole number.
    Integer,
    /// A decimal of the type's scale.
    Exact,
    /// A whole number, or a decimal where the type has fractional seconds.
    Seconds,
    /// A double.
    Approximate,
}

/// With what values are compared as they are, so that equal ones can be told by their sort keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compares {
    /// With all exact numbers.
    Exact,
    /// With all texts of the collation.
    Text,
    /// With all dates and datetimes.
    Moment,
    /// With values of the same type only.
    Own,
    /// With nothing: compared as texts, ordered as something else.
    Never,
}

/// Beside which values of a type a constant is read by the type's rules ([`crate::value::family::beside`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// Beside none.
    Nothing,
    /// Beside columns and subqueries.
    Columns,
    /// Beside all but constants.
    All,
}

/// How a value goes in a row of the binary protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Wire {
    Int8,
    Int16,
    Int32,
    Int64,
    Float32,
    Float64,
    DateTime,
    Time,
    /// Its text or bytes, with their length before them.
    Text,
}

/// What COLUMN_TYPE says besides the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shows {
    /// Nothing.
    Name,
    /// `(1)` where that is the length: BOOL.
    One,
    /// `(length)`.
    Length,
    /// `(precision,scale)` if there is a scale.
    Digits,
    /// `(digits)` of fractional seconds, if there are any.
    Seconds,
    /// The members.
    Members,
}

/// What is particular to a string type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StringFacts {
    /// Of a TEXT or BLOB the bytes that MySQL keeps its length in; else 0.
    pub lob: u8,
    /// Whether values have one length, as MySQL counts keys (CHAR, BINARY).
    pub fixed: bool,
    /// The same type of bytes.
    pub binary: BaseType,
}

/// A type's row.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// DATA_TYPE, with which COLUMN_TYPE begins.
    pub name: &'static str,
    /// What its values do.
    pub family: Family,
    /// `MYSQL_TYPE_*`.
    pub protocol: u8,
    /// Its values in the binary protocol.
    pub wire: Wire,
    /// Flags that the protocol has for it alone.
    pub flags: u16,
    /// Length of a column that says nothing of it: see [`super::SqlType::length`].
    pub length: u32,
    /// Decimals likewise.
    pub decimals: u8,
    /// Whether it has no signed form, so that UNSIGNED goes without saying.
    pub unsigned: bool,
    /// Whether it holds texts, which have a collation, and lengths are counted in characters.
    pub character: bool,
    /// What COLUMN_TYPE says more.
    pub shows: Shows,
    /// Digits before the point that its numbers may have, signed and unsigned.
    pub digits: (u8, u8),
    /// What it is in arithmetic.
    pub counts: Counts,
    /// What it is compared with as it is.
    pub compares: Compares,
    /// What becomes of constants that it is compared with.
    pub beside: Beside,
    /// Bytes of a value in rows and keys, without those of fractional seconds; 0 where that depends on the type's parameters.
    pub width: u8,
    /// Bytes that MySQL counts for it in a key (`key_len` of EXPLAIN); 0 where that depends on parameters.
    pub key_len: u8,
    /// `data-type` in the JSON of histograms; a `u` is put before that of an unsigned integer.
    pub histogram: &'static str,
    /// Of string types.
    pub string: Option<StringFacts>,
    /// Of spatial types what their values are; `Some(None)`: geometries of any kind.
    pub geometry: Option<Option<Kind>>,
}

/// Digits of what counts as a double.
const MANY: (u8, u8) = (22, 22);

const NULL: Facts = Facts {
    name: "null",
    family: Family::Null,
    protocol: 6,
    wire: Wire::Text,
    flags: 0,
    length: 0,
    decimals: 0,
    unsigned: false,
    character: false,
    shows: Shows::Name,
    digits: (0, 0),
    counts: Counts::Integer,
    compares: Compares::Own,
    beside: Beside::Nothing,
    width: 0,
    key_len: 0,
    histogram: "string",
    string: None,
    geometry: None,
};

const fn integer(
    name: &'static str,
    protocol: u8,
    wire: Wire,
    width: u8,
    length: u32,
    digits: (u8, u8),
) -> Facts {
    Facts {
        name,
        family: Family::Integer,
        protocol,
        wire,
        length,
        digits,
        compares: Compares::Exact,
        width,
        key_len: width,
        histogram: "int",
        ..NULL
    }
}

const fn float(
    name: &'static str,
    family: Family,
    protocol: u8,
    wire: Wire,
    width: u8,
    length: u32,
) -> Facts {
    Facts {
        name,
        family,
        protocol,
        wire,
        length,
        decimals: NOT_FIXED,
        shows: Shows::Digits,
        digits: MANY,
        counts: Counts::Approximate,
        width,
        key_len: width,
        histogram: "double",
        ..NULL
    }
}

const fn temporal(
    name: &'static str,
    family: Family,
    protocol: u8,
    length: u32,
    digits: u8,
    width: u8,
    key_len: u8,
) -> Facts {
    Facts {
        name,
        family,
        protocol,
        wire: Wire::DateTime,
        length,
        shows: Shows::Seconds,
        digits: (digits, digits),
        counts: Counts::Seconds,
        compares: Compares::Moment,
        beside: Beside::All,
        width,
        key_len,
        histogram: "datetime",
        ..NULL
    }
}

const fn string(
    name: &'static str,
    protocol: u8,
    length: u32,
    character: bool,
    string: StringFacts,
) -> Facts {
    Facts {
        name,
        family: Family::String,
        protocol,
        length,
        character,
        shows: if string.lob == 0 {
            Shows::Length
        } else {
            Shows::Name
        },
        digits: MANY,
        counts: Counts::Approximate,
        compares: Compares::Text,
        string: Some(string),
        ..NULL
    }
}

const fn plain(fixed: bool, binary: BaseType) -> StringFacts {
    StringFacts {
        lob: 0,
        fixed,
        binary,
    }
}

/// A TEXT (`character`) or BLOB of so many bytes of length.
const fn lob(name: &'static str, character: bool, bytes: u8, binary: BaseType) -> Facts {
    let length = (1u64 << (8 * bytes)) - 1;
    let facts = StringFacts {
        lob: bytes,
        fixed: false,
        binary,
    };
    string(name, 252, length as u32, character, facts)
}

/// A spatial type, whose values are bytes.
const fn spatial(name: &'static str, kind: Option<Kind>, itself: BaseType) -> Facts {
    Facts {
        family: Family::Geometry,
        protocol: 255,
        geometry: Some(kind),
        ..lob(name, false, 4, itself)
    }
}

/// Declares [`BaseType`] and the rows behind it.
macro_rules! types {
    ($($base:ident: $facts:expr;)*) => {
        /// Base types.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs)]
        #[repr(u8)]
        pub enum BaseType {
            $($base,)*
        }

        impl BaseType {
            /// All of them, in the order of their numbers in stored definitions.
            pub const ALL: &'static [BaseType] = &[$(BaseType::$base,)*];
        }

        static FACTS: [Facts; BaseType::ALL.len()] = [$($facts,)*];
    };
}

// Only ever append: a type's number in stored definitions is its place here.
types! {
    Null: Facts {
        counts: Counts::Approximate,
        ..NULL
    };
    TinyInt: Facts {
        shows: Shows::One,
        ..integer("tinyint", 1, Wire::Int8, 1, 4, (3, 3))
    };
    SmallInt: integer("smallint", 2, Wire::Int16, 2, 6, (5, 5));
    MediumInt: integer("mediumint", 9, Wire::Int32, 3, 9, (7, 8));
    Int: integer("int", 3, Wire::Int32, 4, 11, (10, 10));
    BigInt: integer("bigint", 8, Wire::Int64, 8, 20, (19, 20));
    Decimal: Facts {
        name: "decimal",
        family: Family::Decimal,
        protocol: 246,
        length: 10,
        shows: Shows::Digits,
        counts: Counts::Exact,
        compares: Compares::Exact,
        histogram: "decimal",
        ..NULL
    };
    Float: float("float", Family::Float, 4, Wire::Float32, 4, 12);
    Double: float("double", Family::Double, 5, Wire::Float64, 8, 22);
    Char: string("char", 254, 1, true, plain(true, BaseType::Binary));
    VarChar: string("varchar", 253, 0, true, plain(false, BaseType::VarBinary));
    TinyText: lob("tinytext", true, 1, BaseType::TinyBlob);
    Text: lob("text", true, 2, BaseType::Blob);
    MediumText: lob("mediumtext", true, 3, BaseType::MediumBlob);
    LongText: lob("longtext", true, 4, BaseType::LongBlob);
    Binary: string("binary", 254, 1, false, plain(true, BaseType::Binary));
    VarBinary: string("varbinary", 253, 0, false, plain(false, BaseType::VarBinary));
    TinyBlob: lob("tinyblob", false, 1, BaseType::TinyBlob);
    Blob: lob("blob", false, 2, BaseType::Blob);
    MediumBlob: lob("mediumblob", false, 3, BaseType::MediumBlob);
    LongBlob: lob("longblob", false, 4, BaseType::LongBlob);
    Date: Facts {
        shows: Shows::Name,
        counts: Counts::Integer,
        histogram: "date",
        ..temporal("date", Family::Date, 10, 10, 8, 3, 3)
    };
    Time: Facts {
        wire: Wire::Time,
        compares: Compares::Own,
        beside: Beside::Nothing,
        histogram: "time",
        ..temporal("time", Family::Time, 11, 10, 7, 6, 3)
    };
    DateTime: temporal("datetime", Family::DateTime, 12, 19, 14, 5, 5);
    Timestamp: Facts {
        flags: FLAG_TIMESTAMP,
        ..temporal("timestamp", Family::Timestamp, 7, 19, 14, 4, 4)
    };
    Year: Facts {
        family: Family::Year,
        beside: Beside::Columns,
        unsigned: true,
        ..integer("year", 13, Wire::Int16, 1, 4, (4, 4))
    };
    Enum: Facts {
        name: "enum",
        family: Family::Enum,
        protocol: 254,
        flags: FLAG_ENUM,
        character: true,
        shows: Shows::Members,
        digits: MANY,
        counts: Counts::Approximate,
        compares: Compares::Never,
        width: 2,
        key_len: 2,
        histogram: "enum",
        ..NULL
    };
    Set: Facts {
        name: "set",
        family: Family::Set,
        protocol: 254,
        flags: FLAG_SET,
        character: true,
        shows: Shows::Members,
        digits: MANY,
        counts: Counts::Approximate,
        compares: Compares::Never,
        histogram: "set",
        ..NULL
    };
    Bit: Facts {
        name: "bit",
        family: Family::Bit,
        protocol: 16,
        length: 1,
        shows: Shows::Length,
        unsigned: true,
        digits: (20, 20),
        compares: Compares::Exact,
        histogram: "int",
        ..NULL
    };
    Json: Facts {
        name: "json",
        family: Family::Json,
        protocol: 245,
        flags: FLAG_BLOB | FLAG_BINARY,
        length: u32::MAX,
        digits: MANY,
        counts: Counts::Approximate,
        histogram: "json",
        ..NULL
    };
    Geometry: spatial("geometry", None, BaseType::Geometry);
    Point: spatial("point", Some(Kind::Point), BaseType::Point);
    LineString: spatial("linestring", Some(Kind::LineString), BaseType::LineString);
    Polygon: spatial("polygon", Some(Kind::Polygon), BaseType::Polygon);
    MultiPoint: spatial("multipoint", Some(Kind::MultiPoint), BaseType::MultiPoint);
    MultiLineString: spatial("multilinestring", Some(Kind::MultiLineString), BaseType::MultiLineString);
    MultiPolygon: spatial("multipolygon", Some(Kind::MultiPolygon), BaseType::MultiPolygon);
    GeomCollection: spatial("geomcollection", Some(Kind::Collection), BaseType::GeomCollection);
}

impl BaseType {
    /// Its row.
    #[inline]
    pub fn facts(self) -> &'static Facts {
        &FACTS[self as usize]
    }
    /// What its values do.
    #[inline]
    pub fn family(self) -> Family {
        self.facts().family
    }
    /// Its number in stored definitions.
    pub fn number(self) -> u8 {
        self as u8
    }
    /// The type of a number in stored definitions.
    pub fn of_number(number: usize) -> Option<BaseType> {
        BaseType::ALL.get(number).copied()
    }
    /// Whether columns of it list what they may hold.
    pub fn has_members(self) -> bool {
        self.facts().shows == Shows::Members
    }
    /// The type that holds the bytes of this one's texts; itself if it holds none.
    pub fn binary(self) -> BaseType {
        self.facts().string.map_or(self, |s| s.binary)
    }
}

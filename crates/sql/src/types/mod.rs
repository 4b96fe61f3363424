//! SQL types, collations and table schemas.

/// A type as a column or expression has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlType {
    /// Base type.
    pub base: BaseType,
    /// UNSIGNED.
    pub unsigned: bool,
    /// Display length in characters (strings), precision (DECIMAL) or fractional seconds (times).
    pub length: u32,
    /// Digits after the point (DECIMAL); 31 for a DOUBLE without.
    pub decimals: u8,
    /// Collation of character types; `Binary` for the rest.
    pub collation: Collation,
    /// Members of an ENUM.
    pub members: Option<std::sync::Arc<[String]>>,
}

/// Base types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum BaseType {
    Null,
    TinyInt,
    SmallInt,
    MediumInt,
    Int,
    BigInt,
    Decimal,
    Float,
    Double,
    Char,
    VarChar,
    TinyText,
    Text,
    MediumText,
    LongText,
    Binary,
    VarBinary,
    TinyBlob,
    Blob,
    MediumBlob,
    LongBlob,
    Date,
    Time,
    DateTime,
    Timestamp,
    Year,
    Enum,
}

/// Collations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Collation {
    Binary,
    Utf8mb4Bin,
    Utf8mb4GeneralCi,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Name.
    pub name: String,
    /// Type.
    pub ty: SqlType,
    /// Whether NULL is allowed.
    pub nullable: bool,
    /// Default.
    pub default: DefaultValue,
    /// AUTO_INCREMENT.
    pub auto_increment: bool,
    /// ON UPDATE CURRENT_TIMESTAMP.
    pub on_update_now: bool,
    /// COMMENT.
    pub comment: String,
}

/// A column's default.
#[derive(Clone, Debug, PartialEq)]
pub enum DefaultValue {
    /// None was given: NULL if nullable, else the column must be given (or gets the type's zero when not strict).
    None,
    /// A literal, as the text that CREATE TABLE shows inside the quotes.
    Literal(String),
    /// NULL.
    Null,
    /// CURRENT_TIMESTAMP.
    Now,
}

/// A key part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPart {
    /// Column position.
    pub column: usize,
    /// Prefix length in characters (bytes for binary), or `None`.
    pub prefix: Option<u32>,
    /// DESC.
    pub desc: bool,
}

/// An index as SQL sees it; position matches the store's index list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// Name (`PRIMARY` for the primary key).
    pub name: String,
    /// UNIQUE or PRIMARY.
    pub unique: bool,
    /// Parts; empty for the hidden row id's `GEN_CLUST_INDEX`.
    pub parts: Vec<KeyPart>,
}

/// A table's schema: what the store keeps for us as opaque bytes in `TableDef.body` and `IndexDef.body`.
#[derive(Clone, Debug, PartialEq)]
pub struct Schema {
    /// Columns in order.
    pub columns: Vec<Column>,
    /// Indexes, clustered first (as in the store).
    pub indexes: Vec<Index>,
    /// Table default collation.
    pub collation: Collation,
    /// COMMENT.
    pub comment: String,
    /// Unix time of creation, seconds.
    pub created: u64,
}

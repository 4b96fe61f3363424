//! SQL types, collations and table schemas.

use crate::error::SqlResult;
use crate::row::RowLayout;
use millpond_store::TableDef;
use std::sync::Arc;

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
    pub members: Option<Arc<[String]>>,
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

/// A table's schema: what the store keeps for us as opaque bytes. Columns and options are in `TableDef.body`, each index's parts
/// in its `IndexDef.body`, so that CREATE INDEX and DROP INDEX leave the table's body alone.
#[derive(Clone, Debug)]
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
    /// Where each column lies in a stored row; derived from `columns` by [`Schema::new`].
    layout: RowLayout,
}

impl Schema {
    /// A schema. `columns` must not be changed afterwards: the row layout is derived here.
    pub fn new(
        _columns: Vec<Column>,
        _indexes: Vec<Index>,
        _collation: Collation,
        _comment: String,
        _created: u64,
    ) -> Schema {
        todo!()
    }
    /// The schema of a stored table.
    pub fn of(_def: &TableDef) -> SqlResult<Schema> {
        todo!()
    }
    /// Bytes for `TableDef.body`: columns and options, not the indexes.
    pub fn table_body(&self) -> Vec<u8> {
        todo!()
    }
    /// Bytes for `indexes[i]`'s `IndexDef.body`.
    pub fn index_body(&self, _index: usize) -> Vec<u8> {
        todo!()
    }
    /// Position of a column by name (case-insensitive).
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns
            .iter()
            .position(|c| c.name.eq_ignore_ascii_case(name))
    }
    /// Where each column lies in a stored row.
    pub fn layout(&self) -> &RowLayout {
        &self.layout
    }
    /// Longest key of `indexes[i]` in bytes, as MySQL counts it for error 1071 (limit 3072): 4 per character.
    pub fn key_length(&self, _index: usize) -> usize {
        todo!()
    }
}

/// Longest index key, as MySQL counts it.
pub const MAX_KEY_LENGTH: usize = 3072;

impl SqlType {
    /// A type with everything at its default: length, decimals and collation of `base`.
    pub fn new(_base: BaseType) -> SqlType {
        todo!()
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
        todo!()
    }
    /// The type of comparisons and predicates: BIGINT shown one wide, as MySQL's `INT(1)`.
    pub fn boolean() -> SqlType {
        todo!()
    }
    /// DOUBLE.
    pub fn double() -> SqlType {
        SqlType::new(BaseType::Double)
    }
    /// DECIMAL(precision, scale).
    pub fn decimal(_precision: u32, _scale: u8) -> SqlType {
        todo!()
    }
    /// VARCHAR(length) of a collation (VARBINARY under `Collation::Binary`).
    pub fn varchar(_length: u32, _collation: Collation) -> SqlType {
        todo!()
    }
    /// DATETIME(fsp).
    pub fn datetime(_fsp: u8) -> SqlType {
        todo!()
    }
    /// The type that a CREATE TABLE or CAST wrote. `collation`: what character types get unless they say otherwise.
    pub fn from_ast(_ty: &sqlparser::ast::DataType, _collation: Collation) -> SqlResult<SqlType> {
        todo!()
    }
    /// The type as SHOW CREATE TABLE and information_schema's COLUMN_TYPE write it: `int unsigned`, `varchar(20)`, `enum('a','b')`.
    pub fn column_type(&self) -> String {
        todo!()
    }
    /// The type without length, as information_schema's DATA_TYPE has it: `int`, `varchar`.
    pub fn data_type(&self) -> &'static str {
        todo!()
    }
    /// Protocol column type (`MYSQL_TYPE_*`).
    pub fn protocol_type(&self) -> u8 {
        todo!()
    }
    /// Protocol column length: display width in bytes.
    pub fn protocol_length(&self) -> u32 {
        todo!()
    }
    /// Protocol character set id: the collation's id, 63 for anything that is not character data.
    pub fn protocol_charset(&self) -> u16 {
        todo!()
    }
    /// Protocol flags that follow from the type alone (`FLAG_UNSIGNED`, `FLAG_BLOB`, `FLAG_BINARY`, `FLAG_ENUM`, `FLAG_TIMESTAMP`).
    pub fn protocol_flags(&self) -> u16 {
        todo!()
    }
    /// Whether it is an integer type (YEAR included).
    pub fn is_integer(&self) -> bool {
        todo!()
    }
    /// Whether it is a number of any kind.
    pub fn is_numeric(&self) -> bool {
        todo!()
    }
    /// Whether it is a character or binary string (ENUM included).
    pub fn is_string(&self) -> bool {
        todo!()
    }
    /// Whether it is a date, a time or both.
    pub fn is_temporal(&self) -> bool {
        todo!()
    }
    /// Whether it is a TEXT or BLOB type (key parts need a prefix, no literal default).
    pub fn is_blob(&self) -> bool {
        todo!()
    }
}

impl Collation {
    /// MySQL's name: `utf8mb4_general_ci`.
    pub fn name(self) -> &'static str {
        todo!()
    }
    /// Its character set's name: `utf8mb4` or `binary`.
    pub fn charset(self) -> &'static str {
        todo!()
    }
    /// Protocol id: 45, 46, 63.
    pub fn id(self) -> u16 {
        todo!()
    }
    /// By name, case-insensitive; error 1273 for a collation Millpond does not have.
    pub fn by_name(_name: &str) -> SqlResult<Collation> {
        todo!()
    }
    /// A character set's default collation; error 1115 if there is no such set.
    pub fn of_charset(_name: &str) -> SqlResult<Collation> {
        todo!()
    }
    /// Compares two strings under this collation (PAD SPACE except `Binary`).
    pub fn compare(self, _a: &[u8], _b: &[u8]) -> std::cmp::Ordering {
        todo!()
    }
    /// Whether two strings are equal under this collation.
    pub fn eq(self, a: &[u8], b: &[u8]) -> bool {
        self.compare(a, b).is_eq()
    }
    /// Appends bytes that compare (memcmp) as the strings do, prefix-free.
    pub fn sort_key(self, _s: &[u8], _out: &mut Vec<u8>) {
        todo!()
    }
}

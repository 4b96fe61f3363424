//! Columns, keys and constraints as CREATE TABLE and ALTER TABLE define them.

use super::list::Items;
use std::fmt;

use super::words::{List, Opt, Quoted, Spaced, either, flag, words};
use super::{DataType, Expr, Ident, ObjectName};

/// What the parentheses of CREATE TABLE hold.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant)] // Columns are most of them.
pub enum TableElement {
    /// A column.
    Column(ColumnDef),
    /// A key.
    Key(KeyDef),
    /// FOREIGN KEY.
    ForeignKey(ForeignKey),
    /// CHECK.
    Check(Check),
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnDef {
    /// Name.
    pub name: Ident,
    /// Type.
    pub data_type: DataType,
    /// Attributes, as written.
    pub attributes: Items<ColumnAttribute>,
}

/// An attribute of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnAttribute {
    /// NULL.
    Null,
    /// NOT NULL.
    NotNull,
    /// DEFAULT.
    Default(DefaultValue),
    /// ON UPDATE: the time of now.
    OnUpdate(Expr),
    /// AUTO_INCREMENT.
    AutoIncrement,
    /// SERIAL DEFAULT VALUE: NOT NULL AUTO_INCREMENT UNIQUE.
    SerialDefaultValue,
    /// [PRIMARY] KEY.
    PrimaryKey,
    /// UNIQUE [KEY].
    Unique,
    /// COMMENT.
    Comment(String),
    /// COLLATE.
    Collate(Ident),
    /// COLUMN_FORMAT.
    ColumnFormat(ColumnFormat),
    /// STORAGE.
    Storage(Storage),
    /// ENGINE_ATTRIBUTE.
    EngineAttribute(String),
    /// SECONDARY_ENGINE_ATTRIBUTE.
    SecondaryEngineAttribute(String),
    /// SRID.
    Srid(u64),
    /// VISIBLE.
    Visible,
    /// INVISIBLE.
    Invisible,
    /// [GENERATED ALWAYS] AS (expression).
    Generated(Expr, Option<GeneratedKind>),
    /// REFERENCES, which MySQL reads and ignores.
    References(References),
    /// CHECK.
    Check(Check),
    /// MariaDB's REF_SYSTEM_ID, its COMPRESSED, and other attributes that change no value.
    Foreign(Ident, Option<String>),
}

/// A column's default.
#[derive(Clone, Debug, PartialEq)]
pub enum DefaultValue {
    /// A literal, with its sign, or the time of now. (In MariaDB, any function.)
    Value(Expr),
    /// An expression in parentheses.
    Expr(Expr),
}

words! {
    /// COLUMN_FORMAT.
    pub enum ColumnFormat { Fixed = "FIXED", Dynamic = "DYNAMIC", Default = "DEFAULT" }
    /// STORAGE.
    pub enum Storage { Disk = "DISK", Memory = "MEMORY", Default = "DEFAULT" }
    /// How a generated column is kept. MariaDB's PERSISTENT is STORED.
    pub enum GeneratedKind { Virtual = "VIRTUAL", Stored = "STORED" }
    /// Kinds of keys.
    pub enum KeyKind {
        Primary = "PRIMARY KEY", Unique = "UNIQUE KEY", Fulltext = "FULLTEXT KEY", Spatial = "SPATIAL KEY", Plain = "KEY",
    }
    /// Index structures.
    pub enum IndexType { BTree = "BTREE", Hash = "HASH", RTree = "RTREE" }
    /// Directions.
    pub enum Direction { Ascending = "ASC", Descending = "DESC" }
    /// What becomes of rows whose parent goes or changes.
    pub enum ReferenceAction {
        Cascade = "CASCADE", Restrict = "RESTRICT", NoAction = "NO ACTION", SetNull = "SET NULL", SetDefault = "SET DEFAULT",
    }
    /// MATCH of a foreign key.
    pub enum Match { Full = "FULL", Partial = "PARTIAL", Simple = "SIMPLE" }
}

/// A key.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyDef {
    /// CONSTRAINT.
    pub constraint: Option<Constraint>,
    /// Kind.
    pub kind: KeyKind,
    /// IF NOT EXISTS (MariaDB).
    pub if_not_exists: bool,
    /// Name.
    pub name: Option<Ident>,
    /// What it is over.
    pub parts: Items<KeyPart>,
    /// Options, as written.
    pub options: Items<IndexOption>,
}

/// The CONSTRAINT before a key, a foreign key or a check.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraint {
    /// Its name, if given.
    pub name: Option<Ident>,
}

/// A part of a key.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyPart {
    /// What it is of.
    pub of: KeyPartOf,
    /// ASC or DESC.
    pub direction: Option<Direction>,
}

/// What a part of a key is of.
#[derive(Clone, Debug, PartialEq)]
pub enum KeyPartOf {
    /// A column, or its first n characters or bytes.
    Column(Ident, Option<u64>),
    /// An expression.
    Expr(Box<Expr>),
}

/// An option of a key.
#[derive(Clone, Debug, PartialEq)]
pub enum IndexOption {
    /// USING.
    Using(IndexType),
    /// KEY_BLOCK_SIZE.
    KeyBlockSize(u64),
    /// WITH PARSER.
    Parser(Ident),
    /// COMMENT.
    Comment(String),
    /// VISIBLE, INVISIBLE. MariaDB's IGNORED is INVISIBLE.
    Visible(bool),
    /// ENGINE_ATTRIBUTE.
    EngineAttribute(String),
    /// SECONDARY_ENGINE_ATTRIBUTE.
    SecondaryEngineAttribute(String),
}

/// FOREIGN KEY.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignKey {
    /// CONSTRAINT.
    pub constraint: Option<Constraint>,
    /// IF NOT EXISTS (MariaDB).
    pub if_not_exists: bool,
    /// Name of the index.
    pub name: Option<Ident>,
    /// Columns of the child.
    pub columns: Items<KeyPart>,
    /// The parent.
    pub references: References,
}

/// REFERENCES.
#[derive(Clone, Debug, PartialEq)]
pub struct References {
    /// Parent.
    pub table: ObjectName,
    /// Its columns. Only a column's own REFERENCES may go without.
    pub columns: Items<KeyPart>,
    /// MATCH.
    pub matching: Option<Match>,
    /// ON DELETE.
    pub on_delete: Option<ReferenceAction>,
    /// ON UPDATE.
    pub on_update: Option<ReferenceAction>,
}

/// CHECK.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// CONSTRAINT.
    pub constraint: Option<Constraint>,
    /// IF NOT EXISTS (MariaDB).
    pub if_not_exists: bool,
    /// The condition.
    pub condition: Expr,
    /// [NOT] ENFORCED.
    pub enforced: Option<bool>,
}

impl fmt::Display for TableElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TableElement::Column(column) => column.fmt(f),
            TableElement::Key(key) => key.fmt(f),
            TableElement::ForeignKey(key) => key.fmt(f),
            TableElement::Check(check) => check.fmt(f),
        }
    }
}

impl fmt::Display for ColumnDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {}{}",
            self.name,
            self.data_type,
            Spaced(&self.attributes)
        )
    }
}

impl fmt::Display for ColumnAttribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use ColumnAttribute as A;
        match self {
            A::Null => f.write_str("NULL"),
            A::NotNull => f.write_str("NOT NULL"),
            A::Default(value) => write!(f, "DEFAULT {value}"),
            A::OnUpdate(value) => write!(f, "ON UPDATE {value}"),
            A::AutoIncrement => f.write_str("AUTO_INCREMENT"),
            A::SerialDefaultValue => f.write_str("SERIAL DEFAULT VALUE"),
            A::PrimaryKey => f.write_str("PRIMARY KEY"),
            A::Unique => f.write_str("UNIQUE KEY"),
            A::Comment(text) => write!(f, "COMMENT {}", Quoted(text)),
            A::Collate(name) => write!(f, "COLLATE {name}"),
            A::ColumnFormat(format) => write!(f, "COLUMN_FORMAT {format}"),
            A::Storage(storage) => write!(f, "STORAGE {storage}"),
            A::EngineAttribute(text) => write!(f, "ENGINE_ATTRIBUTE {}", Quoted(text)),
            A::SecondaryEngineAttribute(text) => {
                write!(f, "SECONDARY_ENGINE_ATTRIBUTE {}", Quoted(text))
            }
            A::Srid(id) => write!(f, "SRID {id}"),
            A::Visible => f.write_str("VISIBLE"),
            A::Invisible => f.write_str("INVISIBLE"),
            A::Generated(expr, kind) => {
                write!(f, "GENERATED ALWAYS AS ({expr}){}", Opt(" ", kind))
            }
            A::References(references) => references.fmt(f),
            A::Check(check) => check.fmt(f),
            A::Foreign(name, Some(value)) => write!(f, "{name} = {}", Quoted(value)),
            // As a name it would be one of the engine's own attributes.
            A::Foreign(name, None) => f.write_str(name.as_str()),
        }
    }
}

impl fmt::Display for DefaultValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DefaultValue::Value(value) => value.fmt(f),
            DefaultValue::Expr(expr) => write!(f, "({expr})"),
        }
    }
}

impl fmt::Display for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CONSTRAINT{} ", Opt(" ", &self.name))
    }
}

impl fmt::Display for KeyDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}{}{}{} ({}){}",
            Opt("", &self.constraint),
            self.kind,
            flag(self.if_not_exists, " IF NOT EXISTS"),
            Opt(" ", &self.name),
            List(&self.parts),
            Spaced(&self.options)
        )
    }
}

impl fmt::Display for KeyPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.of {
            KeyPartOf::Column(name, Some(n)) => write!(f, "{name}({n})")?,
            KeyPartOf::Column(name, None) => name.fmt(f)?,
            KeyPartOf::Expr(expr) => write!(f, "({expr})")?,
        }
        Opt(" ", &self.direction).fmt(f)
    }
}

impl fmt::Display for IndexOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IndexOption::Using(kind) => write!(f, "USING {kind}"),
            IndexOption::KeyBlockSize(n) => write!(f, "KEY_BLOCK_SIZE = {n}"),
            IndexOption::Parser(name) => write!(f, "WITH PARSER {name}"),
            IndexOption::Comment(text) => write!(f, "COMMENT {}", Quoted(text)),
            IndexOption::Visible(yes) => f.write_str(either(*yes, "VISIBLE", "INVISIBLE")),
            IndexOption::EngineAttribute(text) => write!(f, "ENGINE_ATTRIBUTE {}", Quoted(text)),
            IndexOption::SecondaryEngineAttribute(text) => {
                write!(f, "SECONDARY_ENGINE_ATTRIBUTE {}", Quoted(text))
            }
        }
    }
}

impl fmt::Display for ForeignKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}FOREIGN KEY{}{} ({}) {}",
            Opt("", &self.constraint),
            flag(self.if_not_exists, " IF NOT EXISTS"),
            Opt(" ", &self.name),
            List(&self.columns),
            self.references
        )
    }
}

impl fmt::Display for References {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "REFERENCES {}", self.table)?;
        if !self.columns.is_empty() {
            write!(f, " ({})", List(&self.columns))?;
        }
        let update = Opt(" ON UPDATE ", &self.on_update);
        let delete = Opt(" ON DELETE ", &self.on_delete);
        write!(f, "{}{delete}{update}", Opt(" MATCH ", &self.matching))
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let constraint = Opt("", &self.constraint);
        let missing = flag(self.if_not_exists, " IF NOT EXISTS");
        write!(f, "{constraint}CHECK{missing} ({})", self.condition)?;
        match self.enforced {
            Some(yes) => f.write_str(either(yes, " ENFORCED", " NOT ENFORCED")),
            None => Ok(()),
        }
    }
}

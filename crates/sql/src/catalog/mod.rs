//! Definitions of tables, views and stored programs: columns, indexes, defaults, how they are kept as bytes and where columns lie in a row.
//!
//! | file | owns |
//! |---|---|
//! | `bytes` | what bodies are made of |
//! | `body` | definitions as bytes, in the store's `TableDef` and `IndexDef` |
//! | `bound` | what is made of a definition at its first use |
//! | `layout` | where each column lies in a stored row |
//! | `versions` | the definitions that rows were written under before, and what became of their columns |
//! | `partitioning`, `partition_body` | how a table is partitioned, and that as bytes |
//! | `foreign_keys` | foreign keys |
//! | `fulltext` | FULLTEXT indexes |
//! | `rules`, `rule_body` | CHECK constraints, generated columns, and those as bytes |
//! | `programs` | stored programs |
//! | `sections` | what bodies have behind columns and partitions |
//! | `view` | what a view has besides columns, and that as bytes |
//! | `assign` | values that become a column's; defaults |
//!
//! A [`Schema`] is never changed once it is made: DDL makes another. Types are `millpond-types`', rows and keys are
//! [`crate::row`]'s. Nothing here reads or writes a table.

use crate::types::{Collation, SqlType};
use crate::value::Target;
use bound::BoundOnce;
pub(crate) use bound::compute_by;
use std::sync::Arc;

pub mod assign;
mod body;
mod bound;
pub mod bytes;
pub mod events;
mod foreign_keys;
mod fulltext;
mod layout;
pub mod options;
mod partition_body;
mod partitioning;
pub mod programs;
mod rule_body;
mod rules;
mod sections;
mod skim;
mod versions;
mod view;

pub use foreign_keys::{ForeignKey, ReferentialAction, positions};
pub use fulltext::{FulltextIndex, TextParser};
pub use layout::RowLayout;
pub(crate) use layout::{Slot, key_length};
pub use options::KeptOptions;
pub(crate) use partitioning::HIGH_KEY;
pub use partitioning::{By, Limit, MAX_PARTITIONS, Partition, Partitioning, Spelled, Subpartition};
pub use rules::{Check, CheckName, Generated};
pub(crate) use skim::Skimmed;
pub(crate) use versions::Source;
pub use versions::{Fill, Step, Versions};
pub use view::{View, is_view};

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
    /// Its definition named the character set or collation that it has.
    pub explicit_collation: bool,
    /// COMMENT.
    pub comment: String,
    /// How its values follow from others, if they do.
    pub generated: Option<Box<Generated>>,
    /// Who sees it.
    pub visibility: Visibility,
}

/// Who sees a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Visibility {
    /// Everybody.
    #[default]
    Visible,
    /// Who names it: `*` and an INSERT without a list of columns leave it out.
    Invisible,
    /// No statement: it holds the values of a functional key part.
    Hidden,
}

impl Column {
    /// It as what a value is assigned to.
    #[inline]
    pub fn target(&self) -> Target<'_> {
        Target {
            name: &self.name,
            ty: &self.ty,
            nullable: self.nullable,
        }
    }
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
    /// The value of an expression: its text in the form of definitions. See [`crate::computed`].
    Expr(String),
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
    /// COMMENT.
    pub comment: String,
    /// Whether queries are planned with it.
    pub visible: bool,
    /// Whether USING BTREE was said: every index is one, and SHOW CREATE TABLE tells of it only then.
    pub btree: bool,
    /// Whether a foreign key brought it, for want of one: it goes where another comes that does as well.
    pub implied: bool,
    /// What it is if it is a FULLTEXT index. Then it has no parts: none of its columns leads anywhere by its values.
    pub fulltext: Option<Box<FulltextIndex>>,
    /// The column by position if it is a SPATIAL index. It has no parts either.
    pub spatial: Option<usize>,
}

impl Index {
    /// Whether its entries are those of another.
    pub fn stores_as(&self, other: &Index) -> bool {
        self.unique == other.unique
            && self.parts == other.parts
            && self.fulltext == other.fulltext
            && self.spatial == other.spatial
    }
    /// Whether it is the hidden row id's, which no statement names.
    pub fn is_hidden(&self) -> bool {
        self.parts.is_empty() && !self.is_multi()
    }
    /// Whether it has any number of entries a row, which say nothing of an order: it is a FULLTEXT or a SPATIAL one.
    pub fn is_multi(&self) -> bool {
        self.fulltext.is_some() || self.spatial.is_some()
    }
    /// Positions of the columns that its entries are made of, in its order.
    pub fn columns(&self) -> impl Iterator<Item = usize> {
        let text = self.fulltext.iter().flat_map(|f| f.columns.iter().copied());
        let parts = self.parts.iter().map(|p| p.column);
        parts.chain(text).chain(self.spatial)
    }
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
    /// Options that are shown and change nothing.
    pub options: KeptOptions,
    /// Unix time of creation, seconds.
    pub created: u64,
    /// CHECK constraints.
    pub checks: Vec<Check>,
    /// Its partitions, if it has any.
    pub partitioning: Option<Arc<Partitioning>>,
    /// Its foreign keys, in the order in which they were made.
    pub foreign_keys: Vec<ForeignKey>,
    /// What it shows, if it is a view: then it has no rows.
    pub view: Option<Arc<View>>,
    /// Where each column lies in a stored row; derived from `columns` by [`Schema::new`].
    layout: RowLayout,
    /// The schema versions that rows may be of.
    versions: Versions,
    /// Whether columns are generated; derived from `columns`.
    generates: bool,
    /// Its expressions, bound at their first use.
    pub(crate) computed: BoundOnce,
}

impl Schema {
    /// Bytes of memory that it takes, about: its columns and indexes, with names of the usual length and their places in rows.
    pub fn memory_bytes(&self) -> usize {
        const NAME: usize = 64;
        let columns = self.columns.len() * (size_of::<Column>() + NAME);
        let indexes = self.indexes.len() * (size_of::<Index>() + NAME);
        let texts: usize = self.checks.len() * 512 + self.comment.len();
        size_of::<Schema>() + columns + indexes + texts
    }

    /// A schema. `columns` must not be changed afterwards: the row layout is derived here.
    pub fn new(
        columns: Vec<Column>,
        indexes: Vec<Index>,
        collation: Collation,
        comment: String,
        created: u64,
    ) -> Schema {
        let layout = RowLayout::new(&columns);
        let generates = columns.iter().any(|c| c.generated.is_some());
        Schema {
            columns,
            indexes,
            collation,
            comment,
            options: KeptOptions::default(),
            created,
            checks: Vec::new(),
            partitioning: None,
            foreign_keys: Vec::new(),
            view: None,
            layout,
            versions: Versions::default(),
            generates,
            computed: BoundOnce::default(),
        }
    }
    /// Position of a column by name (case-insensitive), unless it is hidden.
    pub fn column(&self, name: &str) -> Option<usize> {
        let named =
            |c: &Column| c.name.eq_ignore_ascii_case(name) && c.visibility != Visibility::Hidden;
        self.columns.iter().position(named)
    }
    /// Whether columns are generated.
    #[inline]
    pub fn generates(&self) -> bool {
        self.generates
    }
    /// It with rows of these versions, the current one's being those that it is laid out for.
    pub fn with_versions(mut self, versions: Versions) -> Schema {
        self.layout = self.layout.with_version(versions.current());
        self.versions = versions;
        self
    }
    /// The schema versions that rows may be of.
    pub fn versions(&self) -> &Versions {
        &self.versions
    }
    /// Where each column lies in a stored row of the current version.
    #[inline]
    pub fn layout(&self) -> &RowLayout {
        &self.layout
    }
    /// Positions of the indexes in the order in which MySQL lists them: the primary key, unique ones that cannot be NULL, unique ones,
    /// others, FULLTEXT ones. The hidden row id's is left out.
    pub fn index_order(&self) -> Vec<usize> {
        let rank = |i: &Index| {
            if i.name == "PRIMARY" {
                0
            } else if i.fulltext.is_some() {
                4
            } else if !i.unique {
                3
            } else if i.parts.iter().any(|p| self.columns[p.column].nullable) {
                2
            } else {
                1
            }
        };
        let mut order: Vec<usize> = (0..self.indexes.len())
            .filter(|i| !self.indexes[*i].is_hidden())
            .collect();
        order.sort_by_key(|i| rank(&self.indexes[*i]));
        order
    }
    /// The foreign keys in the order in which MySQL lists them, that of their names.
    pub fn listed_foreign_keys(&self) -> Vec<&ForeignKey> {
        let names = Collation::Utf8mb3GeneralCi;
        let mut keys: Vec<&ForeignKey> = self.foreign_keys.iter().collect();
        keys.sort_by(|a, b| names.compare(a.name.as_bytes(), b.name.as_bytes()));
        keys
    }
    /// Longest key of `indexes[i]` in bytes, as MySQL counts it for error 1071 (limit [`MAX_KEY_LENGTH`]): 4 per character.
    pub fn key_length(&self, index: usize) -> usize {
        self.indexes[index]
            .parts
            .iter()
            .map(|p| key_length(&self.columns[p.column].ty, p.prefix))
            .sum()
    }
}

/// Where tables are made that nobody shall see yet: listed nowhere, and closed to DDL.
pub const WORK_DATABASE: &str = "#sql";

/// Whether an engine is the one that all tables have.
pub fn is_ours(engine: &str) -> bool {
    engine.eq_ignore_ascii_case("innodb") || engine.eq_ignore_ascii_case("millpond")
}

/// Longest index key, as MySQL counts it.
pub const MAX_KEY_LENGTH: usize = 3072;

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::types::BaseType;
    use millpond_store::TableDef;

    fn column(name: &str, ty: SqlType, nullable: bool) -> Column {
        Column {
            name: name.into(),
            ty,
            nullable,
            default: DefaultValue::None,
            auto_increment: false,
            on_update_now: false,
            explicit_collation: false,
            comment: String::new(),
            generated: None,
            visibility: Visibility::Visible,
        }
    }

    pub fn empty_def() -> TableDef {
        TableDef {
            id: 1,
            database: "d".into(),
            name: "t".into(),
            file: millpond_store::space::FileId::SHARED,
            hidden_row_id: false,
            partitioned: false,
            indexes: Vec::new(),
            body: Vec::new(),
        }
    }

    /// One column of every kind, each nullable and indexed on its own (but for JSON), the odd indexes descending.
    pub fn sample() -> Schema {
        use BaseType as B;
        use Collation::*;
        let unsigned = |b| SqlType {
            unsigned: true,
            ..SqlType::new(b)
        };
        let with = |b, length, collation| SqlType {
            length,
            collation,
            ..SqlType::new(b)
        };
        let types = vec![
            SqlType::new(B::TinyInt),
            unsigned(B::SmallInt),
            SqlType::new(B::MediumInt),
            unsigned(B::Int),
            SqlType::new(B::BigInt),
            unsigned(B::BigInt),
            SqlType::decimal(10, 2),
            SqlType::decimal(65, 30),
            SqlType::new(B::Double),
            SqlType::new(B::Float),
            with(B::Char, 10, Utf8mb4Bin),
            with(B::VarChar, 20, Utf8mb4GeneralCi),
            with(B::VarBinary, 20, Binary),
            SqlType::new(B::Text),
            SqlType::new(B::Date),
            SqlType::temporal(B::Time, 3),
            SqlType::datetime(6),
            SqlType::temporal(B::Timestamp, 2),
            SqlType::new(B::Year),
            SqlType::enumeration(vec!["b".into(), "a".into(), "c c".into()], Utf8mb4GeneralCi),
            SqlType::set(vec!["x".into(), "y y".into()], Utf8mb4GeneralCi),
            SqlType::bits(13),
            SqlType::json(),
        ];
        let mut columns: Vec<Column> = types
            .into_iter()
            .enumerate()
            .map(|(i, t)| column(&format!("c{i}"), t, true))
            .collect();
        columns[3].nullable = false;
        columns[4].auto_increment = true;
        columns[4].default = DefaultValue::Literal("7".into());
        columns[16].on_update_now = true;
        columns[16].default = DefaultValue::Now;
        columns[1].comment = "it's".into();
        columns[1].default = DefaultValue::Null;
        columns[0].default = DefaultValue::Expr("(1 + 2)".into());
        let indexes = (0..columns.len())
            .filter(|&i| !columns[i].ty.is_json())
            .map(|i| Index {
                name: format!("i{i}"),
                unique: i % 3 == 0,
                parts: vec![KeyPart {
                    column: i,
                    prefix: (i == 13).then_some(5),
                    desc: i % 2 == 1,
                }],
                comment: if i == 2 { "a key" } else { "" }.into(),
                visible: true,
                btree: false,
                implied: false,
                fulltext: None,
                spatial: None,
            })
            .collect();
        Schema::new(
            columns,
            indexes,
            Utf8mb4GeneralCi,
            "a table".into(),
            1_700_000_000,
        )
    }

    #[test]
    fn key_lengths() {
        let s = sample();
        assert_eq!(s.key_length(4), 8);
        assert_eq!(s.key_length(11), 80);
        assert_eq!(s.key_length(12), 20);
        assert_eq!(s.key_length(13), 20);
        assert_eq!(s.column("C11"), Some(11));
        assert_eq!(s.column("x"), None);
    }
}

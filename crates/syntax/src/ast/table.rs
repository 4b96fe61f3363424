//! CREATE TABLE, CREATE INDEX, and what drops, renames and empties tables.

use super::list::Items;
use std::fmt;

use super::words::{List, Opt, Quoted, Spaced, Texts, flag, words};
use super::{
    Ident, IndexOption, KeyKind, KeyPart, ObjectName, PartitionBy, Query, Storage, TableElement,
};

/// Statements about tables and indexes, ALTER TABLE excepted.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant)] // A statement has one, for a moment.
pub enum TableStatement {
    /// CREATE TABLE.
    Create(CreateTable),
    /// CREATE TABLE ... LIKE.
    CreateLike {
        /// OR REPLACE (MariaDB).
        or_replace: bool,
        /// TEMPORARY.
        temporary: bool,
        /// IF NOT EXISTS.
        if_not_exists: bool,
        /// New table.
        name: ObjectName,
        /// Model.
        like: ObjectName,
    },
    /// DROP TABLE.
    Drop {
        /// TEMPORARY.
        temporary: bool,
        /// IF EXISTS.
        if_exists: bool,
        /// Tables.
        names: Items<ObjectName>,
        /// RESTRICT or CASCADE, which do nothing.
        behavior: Option<DropBehavior>,
    },
    /// TRUNCATE TABLE.
    Truncate(ObjectName),
    /// RENAME TABLE: names now and then.
    Rename {
        /// IF EXISTS (MariaDB).
        if_exists: bool,
        /// Pairs.
        tables: Items<(ObjectName, ObjectName)>,
    },
    /// CREATE INDEX.
    CreateIndex(CreateIndex),
    /// DROP INDEX.
    DropIndex {
        /// IF EXISTS (MariaDB).
        if_exists: bool,
        /// Index.
        name: Ident,
        /// Table.
        table: ObjectName,
        /// ALGORITHM and LOCK.
        how: Items<AlterHow>,
    },
    /// IMPORT TABLE FROM files.
    Import(Items<String>),
}

/// CREATE TABLE with columns or a query.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTable {
    /// OR REPLACE (MariaDB).
    pub or_replace: bool,
    /// TEMPORARY.
    pub temporary: bool,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// Name.
    pub name: ObjectName,
    /// Columns, keys and constraints.
    pub elements: Items<TableElement>,
    /// Options, as written.
    pub options: Items<TableOption>,
    /// PARTITION BY.
    pub partition: Option<Box<PartitionBy>>,
    /// What becomes of rows of the query whose unique key is there already.
    pub duplicates: Option<Duplicates>,
    /// AS SELECT.
    pub query: Option<Box<Query>>,
}

/// CREATE INDEX.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateIndex {
    /// OR REPLACE (MariaDB).
    pub or_replace: bool,
    /// Kind; never a primary key.
    pub kind: KeyKind,
    /// IF NOT EXISTS (MariaDB).
    pub if_not_exists: bool,
    /// Index.
    pub name: Ident,
    /// Table.
    pub table: ObjectName,
    /// What it is over.
    pub parts: Items<KeyPart>,
    /// Options, as written.
    pub options: Items<IndexOption>,
    /// ALGORITHM and LOCK.
    pub how: Items<AlterHow>,
}

words! {
    /// What becomes of a row whose unique key is there already.
    pub enum Duplicates { Ignore = "IGNORE", Replace = "REPLACE" }
    /// RESTRICT or CASCADE.
    pub enum DropBehavior { Restrict = "RESTRICT", Cascade = "CASCADE" }
    /// Options whose value is a number or DEFAULT.
    pub enum NumberOption {
        AutoIncrement = "AUTO_INCREMENT", AvgRowLength = "AVG_ROW_LENGTH", Checksum = "CHECKSUM",
        DelayKeyWrite = "DELAY_KEY_WRITE", KeyBlockSize = "KEY_BLOCK_SIZE", MaxRows = "MAX_ROWS", MinRows = "MIN_ROWS",
        PackKeys = "PACK_KEYS", StatsAutoRecalc = "STATS_AUTO_RECALC", StatsPersistent = "STATS_PERSISTENT",
        StatsSamplePages = "STATS_SAMPLE_PAGES", AutoextendSize = "AUTOEXTEND_SIZE", NodeGroup = "NODEGROUP",
        PageChecksum = "PAGE_CHECKSUM", Transactional = "TRANSACTIONAL",
    }
    /// Options whose value is a string.
    pub enum TextOption {
        Comment = "COMMENT", Compression = "COMPRESSION", Connection = "CONNECTION", DataDirectory = "DATA DIRECTORY",
        IndexDirectory = "INDEX DIRECTORY", Encryption = "ENCRYPTION", EngineAttribute = "ENGINE_ATTRIBUTE",
        SecondaryEngineAttribute = "SECONDARY_ENGINE_ATTRIBUTE", Password = "PASSWORD",
    }
    /// ROW_FORMAT.
    pub enum RowFormat {
        Default = "DEFAULT", Dynamic = "DYNAMIC", Fixed = "FIXED", Compressed = "COMPRESSED", Redundant = "REDUNDANT",
        Compact = "COMPACT", Page = "PAGE",
    }
    /// INSERT_METHOD.
    pub enum InsertMethod { No = "NO", First = "FIRST", Last = "LAST" }
    /// ALGORITHM of a change of a table.
    pub enum AlterAlgorithm { Default = "DEFAULT", Instant = "INSTANT", Inplace = "INPLACE", Copy = "COPY", NoCopy = "NOCOPY" }
    /// LOCK of a change of a table.
    pub enum AlterLock { Default = "DEFAULT", None = "NONE", Shared = "SHARED", Exclusive = "EXCLUSIVE" }
}

/// An option of a table or a partition.
#[derive(Clone, Debug, PartialEq)]
pub enum TableOption {
    /// A number; `None` for DEFAULT.
    Number(NumberOption, Option<u64>),
    /// A string.
    Text(TextOption, String),
    /// ENGINE.
    Engine(Ident),
    /// SECONDARY_ENGINE; `None` for NULL.
    SecondaryEngine(Option<Ident>),
    /// CHARACTER SET; `None` for DEFAULT.
    Charset(Option<Ident>),
    /// COLLATE; `None` for DEFAULT.
    Collate(Option<Ident>),
    /// ROW_FORMAT.
    RowFormat(RowFormat),
    /// INSERT_METHOD.
    InsertMethod(InsertMethod),
    /// UNION.
    Union(Items<ObjectName>),
    /// TABLESPACE.
    Tablespace(Ident),
    /// STORAGE.
    Storage(Storage),
    /// START TRANSACTION: the table is visible when the transaction commits.
    StartTransaction,
    /// An option that a MariaDB engine defines.
    Foreign(Ident, String),
}

/// How a change of a table is to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlterHow {
    /// ALGORITHM.
    Algorithm(AlterAlgorithm),
    /// LOCK.
    Lock(AlterLock),
}

impl fmt::Display for TableStatement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use TableStatement as S;
        match self {
            S::Create(create) => create.fmt(f),
            S::CreateLike {
                or_replace,
                temporary,
                if_not_exists,
                name,
                like,
            } => {
                write_create(f, *or_replace, *temporary, *if_not_exists, name)?;
                write!(f, " LIKE {like}")
            }
            S::Drop {
                temporary,
                if_exists,
                names,
                behavior,
            } => write!(
                f,
                "DROP {}TABLE {}{}{}",
                flag(*temporary, "TEMPORARY "),
                flag(*if_exists, "IF EXISTS "),
                List(names),
                Opt(" ", behavior)
            ),
            S::Truncate(name) => write!(f, "TRUNCATE TABLE {name}"),
            S::Rename { if_exists, tables } => {
                write!(f, "RENAME TABLE {}", flag(*if_exists, "IF EXISTS "))?;
                for (n, pair) in tables.iter().enumerate() {
                    let (from, to) = &*pair;
                    write!(f, "{}{from} TO {to}", flag(n > 0, ", "))?;
                }
                Ok(())
            }
            S::CreateIndex(create) => create.fmt(f),
            S::DropIndex {
                if_exists,
                name,
                table,
                how,
            } => {
                let exists = flag(*if_exists, "IF EXISTS ");
                write!(f, "DROP INDEX {exists}{name} ON {table}{}", Spaced(how))
            }
            S::Import(files) => write!(f, "IMPORT TABLE FROM {}", Texts(files)),
        }
    }
}

fn write_create(
    f: &mut fmt::Formatter<'_>,
    or_replace: bool,
    temporary: bool,
    if_not_exists: bool,
    name: &ObjectName,
) -> fmt::Result {
    write!(
        f,
        "CREATE {}{}TABLE {}{name}",
        flag(or_replace, "OR REPLACE "),
        flag(temporary, "TEMPORARY "),
        flag(if_not_exists, "IF NOT EXISTS ")
    )
}

impl fmt::Display for CreateTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_create(
            f,
            self.or_replace,
            self.temporary,
            self.if_not_exists,
            &self.name,
        )?;
        if !self.elements.is_empty() {
            write!(f, " ({})", List(&self.elements))?;
        }
        write!(f, "{}{}", Spaced(&self.options), Opt(" ", &self.partition))?;
        write!(
            f,
            "{}{}",
            Opt(" ", &self.duplicates),
            Opt(" AS ", &self.query)
        )
    }
}

impl fmt::Display for CreateIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            KeyKind::Unique => "UNIQUE ",
            KeyKind::Fulltext => "FULLTEXT ",
            KeyKind::Spatial => "SPATIAL ",
            KeyKind::Plain | KeyKind::Primary => "",
        };
        write!(
            f,
            "CREATE {}{kind}INDEX {}{} ON {} ({}){}{}",
            flag(self.or_replace, "OR REPLACE "),
            flag(self.if_not_exists, "IF NOT EXISTS "),
            self.name,
            self.table,
            List(&self.parts),
            Spaced(&self.options),
            Spaced(&self.how)
        )
    }
}

impl fmt::Display for TableOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use TableOption as O;
        match self {
            O::Number(option, Some(n)) => write!(f, "{option} = {n}"),
            O::Number(option, None) => write!(f, "{option} = DEFAULT"),
            O::Text(option, text) => write!(f, "{option} = {}", Quoted(text)),
            O::Engine(name) => write!(f, "ENGINE = {name}"),
            O::SecondaryEngine(Some(name)) => write!(f, "SECONDARY_ENGINE = {name}"),
            O::SecondaryEngine(None) => f.write_str("SECONDARY_ENGINE = NULL"),
            O::Charset(Some(name)) => write!(f, "DEFAULT CHARACTER SET = {name}"),
            O::Charset(None) => f.write_str("DEFAULT CHARACTER SET = DEFAULT"),
            O::Collate(Some(name)) => write!(f, "COLLATE = {name}"),
            O::Collate(None) => f.write_str("COLLATE = DEFAULT"),
            O::RowFormat(format) => write!(f, "ROW_FORMAT = {format}"),
            O::InsertMethod(method) => write!(f, "INSERT_METHOD = {method}"),
            O::Union(tables) => write!(f, "UNION = ({})", List(tables)),
            O::Tablespace(name) => write!(f, "TABLESPACE = {name}"),
            O::Storage(storage) => write!(f, "STORAGE {storage}"),
            O::StartTransaction => f.write_str("START TRANSACTION"),
            O::Foreign(name, value) => write!(f, "{name} = {}", Quoted(value)),
        }
    }
}

impl fmt::Display for AlterHow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AlterHow::Algorithm(algorithm) => write!(f, "ALGORITHM = {algorithm}"),
            AlterHow::Lock(lock) => write!(f, "LOCK = {lock}"),
        }
    }
}

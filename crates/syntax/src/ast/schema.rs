//! Databases, views, tablespaces, log file groups, servers and spatial reference systems.

use super::list::Items;
use std::fmt;

use super::words::{List, Opt, Quoted, Spaced, either, flag, words};
use super::{Definer, DropBehavior, Ident, ObjectName, Query};

/// Statements about databases and what lies beside tables.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant)] // A statement has one, for a moment.
pub enum SchemaStatement {
    /// CREATE DATABASE.
    CreateDatabase {
        /// OR REPLACE (MariaDB).
        or_replace: bool,
        /// IF NOT EXISTS.
        if_not_exists: bool,
        /// Name.
        name: Ident,
        /// Options.
        options: Items<DatabaseOption>,
    },
    /// CREATE DATABASE ... LIKE (Millpond).
    CreateDatabaseLike {
        /// OR REPLACE, which is not for these.
        or_replace: bool,
        /// IF NOT EXISTS.
        if_not_exists: bool,
        /// Name.
        name: Ident,
        /// The database that it is to be like.
        like: Ident,
        /// WITH DATA.
        data: bool,
    },
    /// ALTER DATABASE.
    AlterDatabase {
        /// Name; the current database if none.
        name: Option<Ident>,
        /// Options.
        options: Items<DatabaseOption>,
    },
    /// DROP DATABASE.
    DropDatabase {
        /// IF EXISTS.
        if_exists: bool,
        /// Name.
        name: Ident,
    },
    /// CREATE VIEW, ALTER VIEW.
    View(View),
    /// DROP VIEW.
    DropView {
        /// IF EXISTS.
        if_exists: bool,
        /// Views.
        names: Items<ObjectName>,
        /// RESTRICT or CASCADE, which do nothing.
        behavior: Option<DropBehavior>,
    },
    /// CREATE, ALTER and DROP TABLESPACE and LOGFILE GROUP.
    Tablespace(TablespaceStatement),
    /// CREATE SERVER.
    CreateServer {
        /// OR REPLACE (MariaDB).
        or_replace: bool,
        /// IF NOT EXISTS (MariaDB).
        if_not_exists: bool,
        /// Name.
        name: Ident,
        /// FOREIGN DATA WRAPPER.
        wrapper: Ident,
        /// Options.
        options: Items<ServerOption>,
    },
    /// ALTER SERVER.
    AlterServer(Ident, Items<ServerOption>),
    /// DROP SERVER.
    DropServer {
        /// IF EXISTS.
        if_exists: bool,
        /// Name.
        name: Ident,
    },
    /// CREATE SPATIAL REFERENCE SYSTEM.
    CreateSpatialReferenceSystem {
        /// OR REPLACE.
        or_replace: bool,
        /// IF NOT EXISTS.
        if_not_exists: bool,
        /// SRID.
        srid: u64,
        /// Attributes.
        attributes: Items<SrsAttribute>,
    },
    /// DROP SPATIAL REFERENCE SYSTEM.
    DropSpatialReferenceSystem {
        /// IF EXISTS.
        if_exists: bool,
        /// SRID.
        srid: u64,
    },
}

/// An option of a database.
#[derive(Clone, Debug, PartialEq)]
pub enum DatabaseOption {
    /// CHARACTER SET; `None` for DEFAULT.
    Charset(Option<Ident>),
    /// COLLATE; `None` for DEFAULT.
    Collate(Option<Ident>),
    /// ENCRYPTION.
    Encryption(String),
    /// READ ONLY; `None` for DEFAULT.
    ReadOnly(Option<u64>),
    /// COMMENT (MariaDB).
    Comment(String),
}

/// CREATE VIEW, ALTER VIEW.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// ALTER VIEW.
    pub alter: bool,
    /// OR REPLACE.
    pub or_replace: bool,
    /// IF NOT EXISTS (MariaDB).
    pub if_not_exists: bool,
    /// ALGORITHM.
    pub algorithm: Option<ViewAlgorithm>,
    /// DEFINER.
    pub definer: Option<Definer>,
    /// SQL SECURITY.
    pub security: Option<Security>,
    /// Name.
    pub name: ObjectName,
    /// Names of the columns.
    pub columns: Items<Ident>,
    /// What it shows.
    pub query: Box<Query>,
    /// WITH CHECK OPTION.
    pub check: Option<CheckOption>,
}

words! {
    /// ALGORITHM of a view.
    pub enum ViewAlgorithm { Undefined = "UNDEFINED", Merge = "MERGE", TempTable = "TEMPTABLE" }
    /// SQL SECURITY.
    pub enum Security { Definer = "DEFINER", Invoker = "INVOKER" }
    /// Which rows may be written through a view.
    pub enum CheckOption { Cascaded = "CASCADED", Local = "LOCAL" }
    /// What a tablespace statement is about.
    pub enum TablespaceKind { Tablespace = "TABLESPACE", UndoTablespace = "UNDO TABLESPACE", LogfileGroup = "LOGFILE GROUP" }
    /// What a tablespace statement does.
    pub enum TablespaceVerb { Create = "CREATE", Alter = "ALTER", Drop = "DROP" }
    /// Options with a size or a number.
    pub enum TablespaceNumber {
        InitialSize = "INITIAL_SIZE", UndoBufferSize = "UNDO_BUFFER_SIZE", RedoBufferSize = "REDO_BUFFER_SIZE",
        NodeGroup = "NODEGROUP", FileBlockSize = "FILE_BLOCK_SIZE", ExtentSize = "EXTENT_SIZE",
        AutoextendSize = "AUTOEXTEND_SIZE", MaxSize = "MAX_SIZE",
    }
    /// What files an option adds or drops.
    pub enum TablespaceFile {
        AddDatafile = "ADD DATAFILE", DropDatafile = "DROP DATAFILE", AddUndofile = "ADD UNDOFILE",
        AddRedofile = "ADD REDOFILE",
    }
    /// Options of a server that are strings; PORT is a number.
    pub enum ServerText {
        Host = "HOST", Database = "DATABASE", User = "USER", Password = "PASSWORD", Socket = "SOCKET", Owner = "OWNER",
    }
    /// Attributes of a spatial reference system.
    pub enum SrsText { Name = "NAME", Definition = "DEFINITION", Description = "DESCRIPTION" }
}

/// CREATE, ALTER and DROP TABLESPACE and LOGFILE GROUP.
#[derive(Clone, Debug, PartialEq)]
pub struct TablespaceStatement {
    /// What is done.
    pub verb: TablespaceVerb,
    /// To what.
    pub kind: TablespaceKind,
    /// Its name.
    pub name: Ident,
    /// Options.
    pub options: Items<TablespaceOption>,
}

/// An option of a tablespace or a log file group.
#[derive(Clone, Debug, PartialEq)]
pub enum TablespaceOption {
    /// A size or number in bytes (`16M` is 16777216).
    Number(TablespaceNumber, u64),
    /// A file.
    File(TablespaceFile, String),
    /// USE LOGFILE GROUP.
    UseLogfileGroup(Ident),
    /// RENAME TO.
    RenameTo(Ident),
    /// SET ACTIVE, SET INACTIVE.
    SetActive(bool),
    /// WAIT, NO_WAIT.
    Wait(bool),
    /// COMMENT.
    Comment(String),
    /// ENGINE.
    Engine(Ident),
    /// ENCRYPTION.
    Encryption(String),
    /// ENGINE_ATTRIBUTE.
    EngineAttribute(String),
}

/// An option of a server.
#[derive(Clone, Debug, PartialEq)]
pub enum ServerOption {
    /// A string.
    Text(ServerText, String),
    /// PORT.
    Port(u64),
}

/// An attribute of a spatial reference system.
#[derive(Clone, Debug, PartialEq)]
pub enum SrsAttribute {
    /// A string.
    Text(SrsText, String),
    /// ORGANIZATION 'name' IDENTIFIED BY id.
    Organization(String, u64),
}

/// `CHARACTER SET = name`, where no name is DEFAULT.
fn write_or_default(f: &mut fmt::Formatter<'_>, words: &str, name: &Option<Ident>) -> fmt::Result {
    match name {
        Some(name) => write!(f, "{words} = {name}"),
        None => write!(f, "{words} = DEFAULT"),
    }
}

impl fmt::Display for SchemaStatement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use SchemaStatement as S;
        let exists = |on: bool| flag(on, "IF EXISTS ");
        let missing = |on: bool| flag(on, "IF NOT EXISTS ");
        let replace = |on: bool| flag(on, "OR REPLACE ");
        match self {
            S::CreateDatabase {
                or_replace,
                if_not_exists,
                name,
                options,
            } => {
                let (replace, missing) = (replace(*or_replace), missing(*if_not_exists));
                write!(
                    f,
                    "CREATE {replace}DATABASE {missing}{name}{}",
                    Spaced(options)
                )
            }
            S::CreateDatabaseLike {
                or_replace,
                if_not_exists,
                name,
                like,
                data,
            } => {
                let (replace, missing) = (replace(*or_replace), missing(*if_not_exists));
                let data = flag(*data, " WITH DATA");
                write!(
                    f,
                    "CREATE {replace}DATABASE {missing}{name} LIKE {like}{data}"
                )
            }
            S::AlterDatabase { name, options } => {
                write!(f, "ALTER DATABASE{}{}", Opt(" ", name), Spaced(options))
            }
            S::DropDatabase { if_exists, name } => {
                write!(f, "DROP DATABASE {}{name}", exists(*if_exists))
            }
            S::View(view) => view.fmt(f),
            S::DropView {
                if_exists,
                names,
                behavior,
            } => {
                write!(
                    f,
                    "DROP VIEW {}{}{}",
                    exists(*if_exists),
                    List(names),
                    Opt(" ", behavior)
                )
            }
            S::Tablespace(statement) => statement.fmt(f),
            S::CreateServer {
                or_replace,
                if_not_exists,
                name,
                wrapper,
                options,
            } => write!(
                f,
                "CREATE {}SERVER {}{name} FOREIGN DATA WRAPPER {wrapper} OPTIONS ({})",
                replace(*or_replace),
                missing(*if_not_exists),
                List(options)
            ),
            S::AlterServer(name, options) => {
                write!(f, "ALTER SERVER {name} OPTIONS ({})", List(options))
            }
            S::DropServer { if_exists, name } => {
                write!(f, "DROP SERVER {}{name}", exists(*if_exists))
            }
            S::CreateSpatialReferenceSystem {
                or_replace,
                if_not_exists,
                srid,
                attributes,
            } => {
                let (replace, missing) = (replace(*or_replace), missing(*if_not_exists));
                let attributes = Spaced(attributes);
                write!(
                    f,
                    "CREATE {replace}SPATIAL REFERENCE SYSTEM {missing}{srid}{attributes}"
                )
            }
            S::DropSpatialReferenceSystem { if_exists, srid } => {
                write!(
                    f,
                    "DROP SPATIAL REFERENCE SYSTEM {}{srid}",
                    exists(*if_exists)
                )
            }
        }
    }
}

impl fmt::Display for DatabaseOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DatabaseOption::Charset(name) => write_or_default(f, "CHARACTER SET", name),
            DatabaseOption::Collate(name) => write_or_default(f, "COLLATE", name),
            DatabaseOption::Encryption(text) => write!(f, "ENCRYPTION = {}", Quoted(text)),
            DatabaseOption::ReadOnly(Some(n)) => write!(f, "READ ONLY = {n}"),
            DatabaseOption::ReadOnly(None) => f.write_str("READ ONLY = DEFAULT"),
            DatabaseOption::Comment(text) => write!(f, "COMMENT = {}", Quoted(text)),
        }
    }
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {}{}{}{}VIEW {}{}",
            either(self.alter, "ALTER", "CREATE"),
            flag(self.or_replace, "OR REPLACE "),
            After("ALGORITHM = ", &self.algorithm),
            After("DEFINER = ", &self.definer),
            After("SQL SECURITY ", &self.security),
            flag(self.if_not_exists, "IF NOT EXISTS "),
            self.name
        )?;
        if !self.columns.is_empty() {
            write!(f, " ({})", List(&self.columns))?;
        }
        write!(f, " AS {}", self.query)?;
        match self.check {
            Some(check) => write!(f, " WITH {check} CHECK OPTION"),
            None => Ok(()),
        }
    }
}

/// Words, an item and a space, or nothing.
pub(super) struct After<'a, T>(pub &'static str, pub &'a Option<T>);

impl<T: fmt::Display> fmt::Display for After<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.1 {
            Some(item) => write!(f, "{}{item} ", self.0),
            None => Ok(()),
        }
    }
}

impl fmt::Display for TablespaceStatement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {} {}{}",
            self.verb,
            self.kind,
            self.name,
            Spaced(&self.options)
        )
    }
}

impl fmt::Display for TablespaceOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use TablespaceOption as O;
        match self {
            O::Number(option, n) => write!(f, "{option} = {n}"),
            O::File(option, file) => write!(f, "{option} {}", Quoted(file)),
            O::UseLogfileGroup(name) => write!(f, "USE LOGFILE GROUP {name}"),
            O::RenameTo(name) => write!(f, "RENAME TO {name}"),
            O::SetActive(yes) => f.write_str(either(*yes, "SET ACTIVE", "SET INACTIVE")),
            O::Wait(yes) => f.write_str(either(*yes, "WAIT", "NO_WAIT")),
            O::Comment(text) => write!(f, "COMMENT = {}", Quoted(text)),
            O::Engine(name) => write!(f, "ENGINE = {name}"),
            O::Encryption(text) => write!(f, "ENCRYPTION = {}", Quoted(text)),
            O::EngineAttribute(text) => write!(f, "ENGINE_ATTRIBUTE = {}", Quoted(text)),
        }
    }
}

impl fmt::Display for ServerOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServerOption::Text(option, text) => write!(f, "{option} {}", Quoted(text)),
            ServerOption::Port(n) => write!(f, "PORT {n}"),
        }
    }
}

impl fmt::Display for SrsAttribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SrsAttribute::Text(option, text) => write!(f, "{option} {}", Quoted(text)),
            SrsAttribute::Organization(name, id) => {
                write!(f, "ORGANIZATION {} IDENTIFIED BY {id}", Quoted(name))
            }
        }
    }
}

//! Prepared statements, HANDLER, LOAD DATA, USE and HELP.

use super::list::Items;
use std::fmt;

use super::words::{List, Opt, Quoted, either, flag, words};
use super::{Assignment, Expr, FileFormat, Ident, IntoTarget, Limit, ObjectName, UserVariable};

/// Statements of a session that belong to no larger group.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant)] // A statement has one, for a moment.
pub enum SessionStatement {
    /// USE.
    Use(Ident),
    /// HELP.
    Help(String),
    /// PREPARE.
    Prepare {
        /// Name.
        name: Ident,
        /// Its text.
        source: PrepareSource,
    },
    /// EXECUTE.
    Execute {
        /// Name.
        name: Ident,
        /// USING.
        using: Items<UserVariable>,
    },
    /// DEALLOCATE PREPARE, DROP PREPARE.
    Deallocate(Ident),
    /// HANDLER ... OPEN.
    HandlerOpen {
        /// Table.
        table: ObjectName,
        /// AS.
        alias: Option<Ident>,
    },
    /// HANDLER ... READ.
    HandlerRead {
        /// Table or alias.
        table: ObjectName,
        /// Index; none for the table's own order.
        index: Option<Ident>,
        /// Which rows.
        read: HandlerRead,
        /// WHERE.
        filter: Option<Expr>,
        /// LIMIT.
        limit: Option<Limit>,
    },
    /// HANDLER ... CLOSE.
    HandlerClose(ObjectName),
    /// LOAD DATA, LOAD XML.
    Load(Load),
}

/// Where PREPARE takes its text from.
#[derive(Clone, Debug, PartialEq)]
pub enum PrepareSource {
    /// A literal.
    Text(String),
    /// A user variable.
    Variable(UserVariable),
}

/// Which rows HANDLER reads.
#[derive(Clone, Debug, PartialEq)]
pub enum HandlerRead {
    /// The first, the next, ...
    Step(HandlerStep),
    /// From a key on.
    Key(HandlerCompare, Items<Expr>),
}

words! {
    /// Steps through a handler's rows.
    pub enum HandlerStep { First = "FIRST", Next = "NEXT", Prev = "PREV", Last = "LAST" }
    /// Who goes first while a file is loaded.
    pub enum LoadPriority { Low = "LOW_PRIORITY", Concurrent = "CONCURRENT" }
}

/// How HANDLER compares keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum HandlerCompare {
    Equal,
    GreaterOrEqual,
    LessOrEqual,
    Greater,
    Less,
}

/// LOAD DATA, LOAD XML.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// LOAD XML.
    pub xml: bool,
    /// LOW_PRIORITY, CONCURRENT.
    pub priority: Option<LoadPriority>,
    /// LOCAL.
    pub local: bool,
    /// INFILE.
    pub file: String,
    /// REPLACE, IGNORE.
    pub duplicates: Option<super::Duplicates>,
    /// Table.
    pub table: ObjectName,
    /// PARTITION.
    pub partitions: Items<Ident>,
    /// CHARACTER SET.
    pub charset: Option<Ident>,
    /// ROWS IDENTIFIED BY of LOAD XML.
    pub rows_identified: Option<String>,
    /// FIELDS and LINES.
    pub format: FileFormat,
    /// IGNORE n LINES.
    pub ignore: Option<u64>,
    /// Columns and variables; none: all columns.
    pub columns: Items<IntoTarget>,
    /// SET.
    pub set: Items<Assignment>,
}

impl fmt::Display for HandlerCompare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            HandlerCompare::Equal => "=",
            HandlerCompare::GreaterOrEqual => ">=",
            HandlerCompare::LessOrEqual => "<=",
            HandlerCompare::Greater => ">",
            HandlerCompare::Less => "<",
        })
    }
}

impl fmt::Display for SessionStatement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use SessionStatement as S;
        match self {
            S::Use(name) => write!(f, "USE {name}"),
            S::Help(topic) => write!(f, "HELP {}", Quoted(topic)),
            S::Prepare {
                name,
                source: PrepareSource::Text(text),
            } => {
                write!(f, "PREPARE {name} FROM {}", Quoted(text))
            }
            S::Prepare {
                name,
                source: PrepareSource::Variable(variable),
            } => {
                write!(f, "PREPARE {name} FROM {variable}")
            }
            S::Execute { name, using } => {
                write!(
                    f,
                    "EXECUTE {name}{}{}",
                    flag(!using.is_empty(), " USING "),
                    List(using)
                )
            }
            S::Deallocate(name) => write!(f, "DEALLOCATE PREPARE {name}"),
            S::HandlerOpen { table, alias } => {
                write!(f, "HANDLER {table} OPEN{}", Opt(" AS ", alias))
            }
            S::HandlerRead {
                table,
                index,
                read,
                filter,
                limit,
            } => {
                write!(f, "HANDLER {table} READ{}", Opt(" ", index))?;
                match read {
                    HandlerRead::Step(step) => write!(f, " {step}")?,
                    HandlerRead::Key(compare, key) => write!(f, " {compare} ({})", List(key))?,
                }
                write!(f, "{}{}", Opt(" WHERE ", filter), Opt(" ", limit))
            }
            S::HandlerClose(table) => write!(f, "HANDLER {table} CLOSE"),
            S::Load(load) => load.fmt(f),
        }
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "LOAD {}{}{} INFILE {}{} INTO TABLE {}",
            either(self.xml, "XML", "DATA"),
            Opt(" ", &self.priority),
            flag(self.local, " LOCAL"),
            Quoted(&self.file),
            Opt(" ", &self.duplicates),
            self.table
        )?;
        if !self.partitions.is_empty() {
            write!(f, " PARTITION ({})", List(&self.partitions))?;
        }
        Opt(" CHARACTER SET ", &self.charset).fmt(f)?;
        if let Some(tag) = &self.rows_identified {
            write!(f, " ROWS IDENTIFIED BY {}", Quoted(tag))?;
        }
        self.format.fmt(f)?;
        if let Some(n) = self.ignore {
            write!(f, " IGNORE {n} LINES")?;
        }
        if !self.columns.is_empty() {
            write!(f, " ({})", List(&self.columns))?;
        }
        write!(
            f,
            "{}{}",
            flag(!self.set.is_empty(), " SET "),
            List(&self.set)
        )
    }
}

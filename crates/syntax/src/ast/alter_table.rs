//! ALTER TABLE.

use super::list::Items;
use std::fmt;

use super::words::{List, Opt, either, flag, words};
use super::{
    AlterHow, Check, ColumnDef, ColumnName, DefaultValue, Direction, ForeignKey, Ident, KeyDef,
    ObjectName, PartitionBy, PartitionDef, TableElement, TableOption,
};

/// ALTER TABLE.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterTable {
    /// IGNORE (MariaDB).
    pub ignore: bool,
    /// IF EXISTS (MariaDB).
    pub if_exists: bool,
    /// Table.
    pub name: ObjectName,
    /// What is to change, in order. MySQL has the changes of partitions stand alone or last; that is checked where they are run.
    pub actions: Items<AlterAction>,
}

/// A change of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum AlterAction {
    /// ADD COLUMN.
    AddColumn {
        /// IF NOT EXISTS (MariaDB).
        if_not_exists: bool,
        /// Column.
        column: ColumnDef,
        /// Where.
        position: Option<Position>,
    },
    /// ADD (columns and keys).
    AddElements(Items<TableElement>),
    /// ADD a key.
    AddKey(KeyDef),
    /// ADD FOREIGN KEY.
    AddForeignKey(ForeignKey),
    /// ADD CHECK.
    AddCheck(Check),
    /// CHANGE, and MODIFY, which keeps the name.
    ChangeColumn {
        /// IF EXISTS (MariaDB).
        if_exists: bool,
        /// Name now; `None` for MODIFY.
        from: Option<Ident>,
        /// Column.
        column: ColumnDef,
        /// Where.
        position: Option<Position>,
    },
    /// DROP of a named part.
    Drop {
        /// What it is.
        part: Part,
        /// IF EXISTS (MariaDB).
        if_exists: bool,
        /// Name.
        name: Ident,
    },
    /// DROP PRIMARY KEY.
    DropPrimaryKey,
    /// ALTER COLUMN SET DEFAULT.
    SetDefault(Ident, DefaultValue),
    /// ALTER COLUMN DROP DEFAULT.
    DropDefault(Ident),
    /// ALTER COLUMN SET VISIBLE, SET INVISIBLE.
    ColumnVisible(Ident, bool),
    /// ALTER INDEX VISIBLE, INVISIBLE.
    IndexVisible(Ident, bool),
    /// ALTER CHECK, ALTER CONSTRAINT: [NOT] ENFORCED.
    Enforced {
        /// CHECK or CONSTRAINT.
        part: Part,
        /// Name.
        name: Ident,
        /// Whether it is from now on.
        enforced: bool,
    },
    /// RENAME COLUMN, RENAME INDEX: names now and then.
    RenamePart(Part, Ident, Ident),
    /// RENAME TO.
    RenameTo(ObjectName),
    /// A table option.
    Option(TableOption),
    /// CONVERT TO CHARACTER SET; no name for DEFAULT.
    ConvertTo {
        /// Character set.
        charset: Option<Ident>,
        /// COLLATE.
        collation: Option<Ident>,
    },
    /// ORDER BY.
    OrderBy(Items<(ColumnName, Option<Direction>)>),
    /// ALGORITHM and LOCK.
    How(AlterHow),
    /// Changes that need no more words.
    Plain(PlainAlter),
    /// A change of partitions.
    Partition(PartitionAction),
}

words! {
    /// Parts of a table.
    pub enum Part {
        ForeignKey = "FOREIGN KEY", Index = "INDEX", Check = "CHECK", Constraint = "CONSTRAINT", Column = "COLUMN",
    }
    /// Changes that need no more words.
    pub enum PlainAlter {
        Force = "FORCE", DisableKeys = "DISABLE KEYS", EnableKeys = "ENABLE KEYS",
        DiscardTablespace = "DISCARD TABLESPACE", ImportTablespace = "IMPORT TABLESPACE",
        WithValidation = "WITH VALIDATION", WithoutValidation = "WITHOUT VALIDATION",
        SecondaryLoad = "SECONDARY_LOAD", SecondaryUnload = "SECONDARY_UNLOAD",
        RemovePartitioning = "REMOVE PARTITIONING",
    }
    /// Changes of partitions that are named, or of all of them.
    pub enum PartitionVerb {
        Drop = "DROP", Truncate = "TRUNCATE", Rebuild = "REBUILD", Analyze = "ANALYZE", Check = "CHECK",
        Optimize = "OPTIMIZE", Repair = "REPAIR", Discard = "DISCARD", Import = "IMPORT",
        SecondaryLoad = "SECONDARY_LOAD", SecondaryUnload = "SECONDARY_UNLOAD",
    }
}

/// Where a column goes.
#[derive(Clone, Debug, PartialEq)]
pub enum Position {
    /// FIRST.
    First,
    /// AFTER.
    After(Ident),
}

/// A change of partitions.
#[derive(Clone, Debug, PartialEq)]
pub enum PartitionAction {
    /// PARTITION BY.
    By(Box<PartitionBy>),
    /// ADD PARTITION (definitions).
    Add {
        /// NO_WRITE_TO_BINLOG, LOCAL.
        local: bool,
        /// Partitions.
        partitions: Items<PartitionDef>,
    },
    /// ADD PARTITION PARTITIONS n.
    AddCount {
        /// NO_WRITE_TO_BINLOG, LOCAL.
        local: bool,
        /// How many.
        count: u64,
    },
    /// COALESCE PARTITION n.
    Coalesce {
        /// NO_WRITE_TO_BINLOG, LOCAL.
        local: bool,
        /// How many.
        count: u64,
    },
    /// REORGANIZE PARTITION; both empty: the cluster's own doing.
    Reorganize {
        /// NO_WRITE_TO_BINLOG, LOCAL.
        local: bool,
        /// Partitions that go.
        from: Items<Ident>,
        /// What their rows go to.
        into: Items<PartitionDef>,
    },
    /// EXCHANGE PARTITION.
    Exchange {
        /// Partition.
        partition: Ident,
        /// Table.
        table: ObjectName,
        /// WITH or WITHOUT VALIDATION.
        validation: Option<bool>,
    },
    /// A verb and the partitions it is about.
    Verb {
        /// What is done.
        verb: PartitionVerb,
        /// IF EXISTS (MariaDB).
        if_exists: bool,
        /// NO_WRITE_TO_BINLOG, LOCAL.
        local: bool,
        /// Partitions; `None`: ALL.
        partitions: Option<Items<Ident>>,
        /// QUICK, EXTENDED, ... of CHECK and REPAIR.
        options: Items<super::MaintenanceOption>,
    },
}

impl fmt::Display for AlterTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ignore = flag(self.ignore, "IGNORE ");
        let exists = flag(self.if_exists, "IF EXISTS ");
        write!(f, "ALTER {ignore}TABLE {exists}{}", self.name)?;
        for (n, action) in self.actions.iter().enumerate() {
            // PARTITION BY and REMOVE PARTITIONING follow the other changes without a comma.
            let comma = !matches!(
                *action,
                AlterAction::Partition(PartitionAction::By(_))
                    | AlterAction::Plain(PlainAlter::RemovePartitioning)
            );
            write!(f, "{} {action}", flag(n > 0 && comma, ","))?;
        }
        Ok(())
    }
}

impl fmt::Display for AlterAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use AlterAction as A;
        match self {
            A::AddColumn {
                if_not_exists,
                column,
                position,
            } => {
                let missing = flag(*if_not_exists, "IF NOT EXISTS ");
                write!(f, "ADD COLUMN {missing}{column}{}", Opt(" ", position))
            }
            A::AddElements(elements) => write!(f, "ADD COLUMN ({})", List(elements)),
            A::AddKey(key) => write!(f, "ADD {key}"),
            A::AddForeignKey(key) => write!(f, "ADD {key}"),
            A::AddCheck(check) => write!(f, "ADD {check}"),
            A::ChangeColumn {
                if_exists,
                from,
                column,
                position,
            } => {
                let verb = either(from.is_some(), "CHANGE", "MODIFY");
                let exists = flag(*if_exists, " IF EXISTS");
                let from = Opt(" ", from);
                write!(
                    f,
                    "{verb} COLUMN{exists}{from} {column}{}",
                    Opt(" ", position)
                )
            }
            A::Drop {
                part,
                if_exists,
                name,
            } => {
                write!(f, "DROP {part} {}{name}", flag(*if_exists, "IF EXISTS "))
            }
            A::DropPrimaryKey => f.write_str("DROP PRIMARY KEY"),
            A::SetDefault(name, value) => write!(f, "ALTER COLUMN {name} SET DEFAULT {value}"),
            A::DropDefault(name) => write!(f, "ALTER COLUMN {name} DROP DEFAULT"),
            A::ColumnVisible(name, yes) => {
                let how = either(*yes, "VISIBLE", "INVISIBLE");
                write!(f, "ALTER COLUMN {name} SET {how}")
            }
            A::IndexVisible(name, yes) => {
                write!(
                    f,
                    "ALTER INDEX {name} {}",
                    either(*yes, "VISIBLE", "INVISIBLE")
                )
            }
            A::Enforced {
                part,
                name,
                enforced,
            } => {
                write!(
                    f,
                    "ALTER {part} {name} {}",
                    either(*enforced, "ENFORCED", "NOT ENFORCED")
                )
            }
            A::RenamePart(part, from, to) => write!(f, "RENAME {part} {from} TO {to}"),
            A::RenameTo(name) => write!(f, "RENAME TO {name}"),
            A::Option(option) => option.fmt(f),
            A::ConvertTo { charset, collation } => {
                f.write_str("CONVERT TO CHARACTER SET ")?;
                match charset {
                    Some(name) => name.fmt(f)?,
                    None => f.write_str("DEFAULT")?,
                }
                Opt(" COLLATE ", collation).fmt(f)
            }
            A::OrderBy(columns) => {
                f.write_str("ORDER BY ")?;
                for (n, pair) in columns.iter().enumerate() {
                    let (column, direction) = &*pair;
                    write!(f, "{}{column}{}", flag(n > 0, ", "), Opt(" ", direction))?;
                }
                Ok(())
            }
            A::How(how) => how.fmt(f),
            A::Plain(plain) => plain.fmt(f),
            A::Partition(action) => action.fmt(f),
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Position::First => f.write_str("FIRST"),
            Position::After(name) => write!(f, "AFTER {name}"),
        }
    }
}

impl fmt::Display for PartitionAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use PartitionAction as P;
        let unlogged = |local: bool| flag(local, "NO_WRITE_TO_BINLOG ");
        match self {
            P::By(by) => by.fmt(f),
            P::Add { local, partitions } => {
                write!(
                    f,
                    "ADD PARTITION {}({})",
                    unlogged(*local),
                    List(partitions)
                )
            }
            P::AddCount { local, count } => {
                write!(f, "ADD PARTITION {}PARTITIONS {count}", unlogged(*local))
            }
            P::Coalesce { local, count } => {
                write!(f, "COALESCE PARTITION {}{count}", unlogged(*local))
            }
            P::Reorganize { local, from, into } => {
                write!(f, "REORGANIZE PARTITION {}{}", unlogged(*local), List(from))?;
                if from.is_empty() {
                    Ok(())
                } else {
                    write!(f, " INTO ({})", List(into))
                }
            }
            P::Exchange {
                partition,
                table,
                validation,
            } => {
                write!(f, "EXCHANGE PARTITION {partition} WITH TABLE {table}")?;
                match validation {
                    Some(yes) => {
                        f.write_str(either(*yes, " WITH VALIDATION", " WITHOUT VALIDATION"))
                    }
                    None => Ok(()),
                }
            }
            P::Verb {
                verb,
                if_exists,
                local,
                partitions,
                options,
            } => {
                write!(f, "{verb} PARTITION {}", unlogged(*local))?;
                f.write_str(flag(*if_exists, "IF EXISTS "))?;
                match partitions {
                    Some(names) => List(names).fmt(f)?,
                    None => f.write_str("ALL")?,
                }
                super::words::Spaced(options).fmt(f)?;
                let space = matches!(verb, PartitionVerb::Discard | PartitionVerb::Import);
                f.write_str(flag(space, " TABLESPACE"))
            }
        }
    }
}

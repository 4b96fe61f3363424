//! PARTITION BY and the partitions it defines.

use super::list::Items;
use std::fmt;

use super::words::{List, Opt, Spaced, flag, words};
use super::{Expr, Ident, TableOption};

words! {
    /// How rows are shared out. MariaDB's SYSTEM_TIME is not among them.
    pub enum PartitionMethod { Range = "RANGE", List = "LIST", Hash = "HASH", Key = "KEY" }
}

/// How rows are shared out, and by what.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionFunction {
    /// Method.
    pub method: PartitionMethod,
    /// LINEAR.
    pub linear: bool,
    /// ALGORITHM of KEY.
    pub algorithm: Option<u64>,
    /// By what.
    pub by: PartitionOn,
}

/// By what rows are shared out.
#[derive(Clone, Debug, PartialEq)]
pub enum PartitionOn {
    /// The value of an expression.
    Expr(Box<Expr>),
    /// Columns (RANGE COLUMNS, LIST COLUMNS, KEY, which may have none).
    Columns(Items<Ident>),
}

/// PARTITION BY.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionBy {
    /// Of partitions.
    pub function: PartitionFunction,
    /// PARTITIONS.
    pub count: Option<u64>,
    /// SUBPARTITION BY, and SUBPARTITIONS.
    pub subpartition: Option<(PartitionFunction, Option<u64>)>,
    /// The partitions defined.
    pub partitions: Items<PartitionDef>,
}

/// A partition.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionDef {
    /// Name.
    pub name: Ident,
    /// VALUES.
    pub values: Option<PartitionValues>,
    /// ENGINE, COMMENT, directories, row counts, TABLESPACE, NODEGROUP.
    pub options: Items<TableOption>,
    /// Subpartitions and their options.
    pub subpartitions: Items<(Ident, Items<TableOption>)>,
}

/// VALUES of a partition.
#[derive(Clone, Debug, PartialEq)]
pub enum PartitionValues {
    /// LESS THAN.
    LessThan(Items<PartitionValue>),
    /// IN: one list per value, of as many values as there are columns.
    In(Items<Items<PartitionValue>>),
    /// MariaDB's DEFAULT of a list.
    Default,
}

/// A value of VALUES.
#[derive(Clone, Debug, PartialEq)]
pub enum PartitionValue {
    /// MAXVALUE.
    Max,
    /// A constant expression.
    Expr(Expr),
}

impl fmt::Display for PartitionFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", flag(self.linear, "LINEAR "), self.method)?;
        if let Some(n) = self.algorithm {
            write!(f, " ALGORITHM = {n}")?;
        }
        match &self.by {
            PartitionOn::Expr(expr) => write!(f, " ({expr})"),
            PartitionOn::Columns(columns) => {
                let word = flag(self.method != PartitionMethod::Key, " COLUMNS");
                write!(f, "{word} ({})", List(columns))
            }
        }
    }
}

impl fmt::Display for PartitionBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "PARTITION BY {}{}",
            self.function,
            Opt(" PARTITIONS ", &self.count)
        )?;
        if let Some((function, count)) = &self.subpartition {
            write!(
                f,
                " SUBPARTITION BY {function}{}",
                Opt(" SUBPARTITIONS ", count)
            )?;
        }
        if self.partitions.is_empty() {
            return Ok(());
        }
        write!(f, " ({})", List(&self.partitions))
    }
}

impl fmt::Display for PartitionDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values = Opt(" VALUES ", &self.values);
        write!(
            f,
            "PARTITION {}{values}{}",
            self.name,
            Spaced(&self.options)
        )?;
        for (n, pair) in self.subpartitions.iter().enumerate() {
            let (name, options) = &*pair;
            let before = if n == 0 { " (" } else { ", " };
            write!(f, "{before}SUBPARTITION {name}{}", Spaced(options))?;
        }
        f.write_str(flag(!self.subpartitions.is_empty(), ")"))
    }
}

impl fmt::Display for PartitionValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PartitionValues::LessThan(values) => write!(f, "LESS THAN ({})", List(values)),
            PartitionValues::Default => f.write_str("IN (DEFAULT)"),
            PartitionValues::In(rows) => {
                f.write_str("IN (")?;
                for (n, row) in rows.iter().enumerate() {
                    f.write_str(flag(n > 0, ", "))?;
                    match &*row.all() {
                        [value] => value.fmt(f)?,
                        row => write!(f, "({})", List(row))?,
                    }
                }
                f.write_str(")")
            }
        }
    }
}

impl fmt::Display for PartitionValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PartitionValue::Max => f.write_str("MAXVALUE"),
            PartitionValue::Expr(expr) => expr.fmt(f),
        }
    }
}

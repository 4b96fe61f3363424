//! Statements on rows.

use std::borrow::Cow;
use std::fmt::{Display, Formatter, Result};

use super::name::UserVariable;
use super::query::Columns;
use crate::ast::words::{List, Opt, Quoted, flag};
use crate::ast::*;

impl Display for Insert {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let verb = if self.replace { "REPLACE" } else { "INSERT" };
        let priority = match self.priority {
            None => "",
            Some(Priority::Low) => "LOW_PRIORITY ",
            Some(Priority::Delayed) => "DELAYED ",
            Some(Priority::High) => "HIGH_PRIORITY ",
        };
        let ignore = flag(self.ignore, "IGNORE ");
        let hints = &self.hints;
        write!(f, "{verb} {hints}{priority}{ignore}INTO {}", self.table)?;
        if !self.partitions.is_empty() {
            write!(f, " PARTITION ({})", List(&self.partitions))?;
        }
        if let Some(columns) = &self.columns {
            write!(f, " ({})", List(columns))?;
        }
        match &self.source {
            InsertSource::Values(rows) => write!(f, " VALUES {rows}")?,
            InsertSource::Set(list) => write!(f, " SET {}", List(list))?,
            InsertSource::Query(q) => write!(f, " {q}")?,
        }
        if let Some(alias) = &self.alias {
            write!(f, " AS {}{}", alias.name, Columns(&alias.columns))?;
        }
        if !self.on_duplicate.is_empty() {
            write!(f, " ON DUPLICATE KEY UPDATE {}", List(&self.on_duplicate))?;
        }
        Ok(())
    }
}

impl Display for Assignment {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{} = {}", self.column, self.value)
    }
}

/// WHERE, ORDER BY and LIMIT.
fn rest(
    f: &mut Formatter<'_>,
    filter: &Option<Expr>,
    order_by: &Items<OrderItem>,
    limit: &Option<Limit>,
) -> Result {
    Opt(" WHERE ", filter).fmt(f)?;
    if !order_by.is_empty() {
        write!(f, " ORDER BY {}", order_by)?;
    }
    Opt(" ", limit).fmt(f)
}

fn with(f: &mut Formatter<'_>, with: &Option<With>) -> Result {
    match with {
        Some(with) => write!(f, "{with} "),
        None => Ok(()),
    }
}

impl Display for Update {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        with(f, &self.with)?;
        write!(
            f,
            "UPDATE {}{}{}{} SET {}",
            &self.hints,
            flag(self.low_priority, "LOW_PRIORITY "),
            flag(self.ignore, "IGNORE "),
            List(&self.tables),
            List(&self.set)
        )?;
        rest(f, &self.filter, &self.order_by, &self.limit)
    }
}

impl Display for Delete {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        with(f, &self.with)?;
        write!(
            f,
            "DELETE {}{}{}{}",
            &self.hints,
            flag(self.low_priority, "LOW_PRIORITY "),
            flag(self.quick, "QUICK "),
            flag(self.ignore, "IGNORE ")
        )?;
        match &self.target {
            DeleteTarget::One {
                table,
                alias,
                partitions,
            } => {
                write!(f, "FROM {table}{}", Opt(" AS ", alias))?;
                if !partitions.is_empty() {
                    write!(f, " PARTITION ({})", List(partitions))?;
                }
            }
            DeleteTarget::Several {
                using: true,
                targets,
                from,
            } => write!(f, "FROM {} USING {}", List(targets), List(from))?,
            DeleteTarget::Several { targets, from, .. } => {
                write!(f, "{} FROM {}", List(targets), List(from))?;
            }
        }
        rest(f, &self.filter, &self.order_by, &self.limit)
    }
}

impl Display for Do {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str("DO ")?;
        let item =
            |item: Cow<'_, (Expr, Option<Ident>)>| format!("{}{}", item.0, Opt(" AS ", &item.1));
        super::expr::separated(f, self.list.iter().map(item))
    }
}

impl Display for CallProcedure {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "CALL {}({})", self.name, &self.args)
    }
}

impl Display for Explain {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Explain::Table { table, column } => {
                write!(f, "DESCRIBE {table}")?;
                match column {
                    Some(column) => write!(f, " {}", Quoted(column)),
                    None => Ok(()),
                }
            }
            Explain::Statement {
                analyze,
                extended,
                format,
                into,
                schema,
                statement,
            } => {
                f.write_str("EXPLAIN ")?;
                f.write_str(flag(*analyze, "ANALYZE "))?;
                f.write_str(flag(*extended, "EXTENDED "))?;
                if let Some(format) = format {
                    write!(f, "FORMAT = {format} ")?;
                }
                if let Some(into) = into {
                    write!(f, "INTO {} ", UserVariable(into))?;
                }
                if let Some(schema) = schema {
                    write!(f, "FOR SCHEMA {schema} ")?;
                }
                statement.fmt(f)
            }
            Explain::Connection { format, id } => {
                f.write_str("EXPLAIN ")?;
                if let Some(format) = format {
                    write!(f, "FORMAT = {format} ")?;
                }
                write!(f, "FOR CONNECTION {id}")
            }
        }
    }
}

//! What FROM reads.

use std::fmt::{Display, Formatter, Result};

use super::function::JsonOns;
use super::query::Columns;
use crate::ast::words::{List, Opt, flag};
use crate::ast::*;

impl Display for TableRef {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            TableRef::Table(t) => t.fmt(f),
            TableRef::Derived(d) => d.fmt(f),
            TableRef::JsonTable(t) => t.fmt(f),
            TableRef::Parens(list) => write!(f, "({})", List(&**list)),
            TableRef::Odbc(t) => write!(f, "{{OJ {t}}}"),
            TableRef::Join(joins) => {
                joins.first.fmt(f)?;
                joins.rest.iter().try_for_each(|j| j.fmt(f))
            }
        }
    }
}

impl Display for TableFactor {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.name.fmt(f)?;
        if !self.partitions.is_empty() {
            write!(f, " PARTITION ({})", List(&self.partitions))?;
        }
        Opt(" AS ", &self.alias).fmt(f)?;
        self.index_hints.iter().try_for_each(|h| h.fmt(f))
    }
}

impl Display for IndexHint {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self.kind {
            IndexHintKind::Use => " USE INDEX",
            IndexHintKind::Force => " FORCE INDEX",
            IndexHintKind::Ignore => " IGNORE INDEX",
        })?;
        f.write_str(match self.scope {
            IndexHintScope::All => "",
            IndexHintScope::Join => " FOR JOIN",
            IndexHintScope::OrderBy => " FOR ORDER BY",
            IndexHintScope::GroupBy => " FOR GROUP BY",
        })?;
        write!(f, " ({})", List(&self.indexes))
    }
}

impl Display for Derived {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{}({})", flag(self.lateral, "LATERAL "), self.query)?;
        Opt(" AS ", &self.alias).fmt(f)?;
        Columns(&self.columns).fmt(f)
    }
}

impl Display for Join {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let kind = match self.kind {
            JoinKind::Inner => "JOIN",
            JoinKind::Cross => "CROSS JOIN",
            JoinKind::Left => "LEFT JOIN",
            JoinKind::Right => "RIGHT JOIN",
            JoinKind::Natural => "NATURAL JOIN",
            JoinKind::NaturalLeft => "NATURAL LEFT JOIN",
            JoinKind::NaturalRight => "NATURAL RIGHT JOIN",
            JoinKind::Straight => "STRAIGHT_JOIN",
        };
        write!(f, " {kind} {}", self.right)?;
        match &self.on {
            None => Ok(()),
            Some(JoinOn::On(e)) => write!(f, " ON {e}"),
            Some(JoinOn::Using(columns)) => write!(f, " USING ({})", List(columns)),
        }
    }
}

impl Display for JsonTable {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let columns = List(&self.columns);
        write!(
            f,
            "JSON_TABLE({}, {} COLUMNS ({columns})) AS {}",
            self.document, self.path, self.alias
        )
    }
}

impl Display for JsonColumn {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            JsonColumn::Ordinality(name) => write!(f, "{name} FOR ORDINALITY"),
            JsonColumn::Nested(path, columns) => {
                write!(f, "NESTED PATH {path} COLUMNS ({})", List(columns))
            }
            JsonColumn::Path {
                name,
                data_type,
                collation,
                exists,
                path,
                on_empty,
                on_error,
                error_first,
            } => {
                write!(f, "{name} {data_type}{}", Opt(" COLLATE ", collation))?;
                write!(f, "{} PATH {path}", flag(*exists, " EXISTS"))?;
                match error_first {
                    true => {
                        JsonOns(&None, on_error).fmt(f)?;
                        JsonOns(on_empty, &None).fmt(f)
                    }
                    false => JsonOns(on_empty, on_error).fmt(f),
                }
            }
        }
    }
}

//! Queries.

use std::fmt::{Display, Formatter, Result};

use super::expr::separated;
use super::name::UserVariable;
use crate::ast::words::{List, Quoted, flag};
use crate::ast::*;

impl Display for Query {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        if let Some(with) = self.with() {
            write!(f, "{with} ")?;
        }
        self.body.fmt(f)?;
        if !self.order_by().is_empty() {
            write!(f, " ORDER BY {}", self.order_by())?;
        }
        if let Some(limit) = self.limit() {
            write!(f, " {limit}")?;
        }
        if let Some(into) = self.into_clause() {
            write!(f, " {into}")?;
        }
        self.locks().iter().try_for_each(|l| l.fmt(f))
    }
}

impl Display for QueryBody {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            QueryBody::Select(s) => s.fmt(f),
            QueryBody::Parens(q) => write!(f, "({q})"),
            QueryBody::Table(name) => write!(f, "TABLE {name}"),
            QueryBody::Values(rows) => write!(f, "VALUES {rows}"),
            QueryBody::Held(held) => held.get().fmt(f),
            QueryBody::Set(set) => {
                set.first.fmt(f)?;
                set.rest.iter().try_for_each(|part| {
                    let op = match part.op {
                        SetOp::Union => "UNION",
                        SetOp::Intersect => "INTERSECT",
                        SetOp::Except => "EXCEPT",
                    };
                    write!(f, " {op} {}{}", flag(part.all, "ALL "), part.body)
                })
            }
        }
    }
}

impl Display for Rows {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let row = flag(self.row_keyword, "ROW");
        separated(f, self.iter().map(|r| format!("{row}({})", List(&r))))
    }
}

impl Display for With {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let recursive = flag(self.recursive, "RECURSIVE ");
        write!(f, "WITH {recursive}{}", List(&self.queries))
    }
}

impl Display for Cte {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let columns = Columns(&self.columns);
        write!(f, "{}{columns} AS ({})", self.name, self.query)
    }
}

/// ` (a, b)`, or nothing.
pub(super) struct Columns<'a>(pub &'a Items<Ident>);

impl Display for Columns<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        if self.0.is_empty() {
            return Ok(());
        }
        write!(f, " ({})", List(self.0))
    }
}

/// Hints, and a space behind them.
impl Display for Hints {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let mut open = "/*+";
        for hint in self.iter() {
            write!(f, "{open} {}", hint.name)?;
            open = "";
            if let Some(args) = &hint.args {
                write!(f, "({args})")?;
            }
        }
        f.write_str(if open.is_empty() { " */ " } else { "" })
    }
}

impl Display for Select {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "SELECT {}{}", self.hints(), self.options)?;
        List(&self.items).fmt(f)?;
        if let Some(into) = self.into_clause() {
            write!(f, " {into}")?;
        }
        if !self.from.is_empty() {
            write!(f, " FROM {}", List(&self.from))?;
        } else if self.more().is_some_and(|m| m.dual) {
            f.write_str(" FROM DUAL")?;
        }
        if let Some(e) = &self.filter {
            write!(f, " WHERE {e}")?;
        }
        if !self.group_by().is_empty() {
            write!(f, " GROUP BY {}", self.group_by())?;
            f.write_str(flag(self.rollup(), " WITH ROLLUP"))?;
        }
        if let Some(e) = self.having() {
            write!(f, " HAVING {e}")?;
        }
        if !self.windows().is_empty() {
            write!(f, " WINDOW {}", List(self.windows()))?;
        }
        Ok(())
    }
}

impl Display for SelectOptions {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let words = [
            (self.all, "ALL "),
            (self.distinct, "DISTINCT "),
            (self.high_priority, "HIGH_PRIORITY "),
            (self.straight_join, "STRAIGHT_JOIN "),
            (self.small_result, "SQL_SMALL_RESULT "),
            (self.big_result, "SQL_BIG_RESULT "),
            (self.buffer_result, "SQL_BUFFER_RESULT "),
            (self.no_cache, "SQL_NO_CACHE "),
            (self.calc_found_rows, "SQL_CALC_FOUND_ROWS "),
        ];
        words
            .iter()
            .try_for_each(|(on, word)| f.write_str(flag(*on, word)))
    }
}

impl Display for SelectItem {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            SelectItem::Wildcard => f.write_str("*"),
            SelectItem::TableWildcard(name) => write!(f, "{name}.*"),
            SelectItem::Expr { expr, alias, .. } => {
                expr.fmt(f)?;
                match alias {
                    Some(alias) => write!(f, " AS {alias}"),
                    None => Ok(()),
                }
            }
        }
    }
}

impl Display for NamedWindow {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{} AS {}", self.name, self.spec)
    }
}

impl Display for OrderItem {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.expr.fmt(f)?;
        match self.direction {
            Some(direction) => write!(f, " {direction}"),
            None => Ok(()),
        }
    }
}

impl Display for Limit {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match &self.offset {
            // In the order of placeholders.
            Some(offset) if param(offset) < param(&self.count) => {
                write!(f, "LIMIT {offset}, {}", self.count)
            }
            Some(offset) => write!(f, "LIMIT {} OFFSET {offset}", self.count),
            None => write!(f, "LIMIT {}", self.count),
        }
    }
}

fn param(e: &Expr) -> Option<u32> {
    match e.kind {
        ExprKind::Param(n) => Some(n),
        _ => None,
    }
}

impl Display for Into {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Into::Dumpfile(path) => write!(f, "INTO DUMPFILE {}", Quoted(path)),
            Into::Variables(list) => write!(f, "INTO {}", List(list)),
            Into::Outfile(o) => {
                write!(f, "INTO OUTFILE {}", Quoted(&o.path))?;
                if let Some(charset) = &o.charset {
                    write!(f, " CHARACTER SET {charset}")?;
                }
                o.format.fmt(f)
            }
        }
    }
}

impl Display for IntoTarget {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            IntoTarget::User(name) => UserVariable(name).fmt(f),
            IntoTarget::Local(name) => name.fmt(f),
        }
    }
}

impl Display for FileFormat {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let enclosed = if self.enclosed_optionally {
            " OPTIONALLY ENCLOSED BY "
        } else {
            " ENCLOSED BY "
        };
        let fields = [
            (" TERMINATED BY ", &self.fields_terminated),
            (enclosed, &self.fields_enclosed),
            (" ESCAPED BY ", &self.fields_escaped),
        ];
        let lines = [
            (" STARTING BY ", &self.lines_starting),
            (" TERMINATED BY ", &self.lines_terminated),
        ];
        clause(f, " FIELDS", &fields)?;
        clause(f, " LINES", &lines)
    }
}

fn clause(f: &mut Formatter<'_>, name: &str, parts: &[(&str, &Option<FileText>)]) -> Result {
    if parts.iter().all(|(_, text)| text.is_none()) {
        return Ok(());
    }
    f.write_str(name)?;
    for (words, text) in parts {
        let Some(text) = text else { continue };
        match std::str::from_utf8(text) {
            Ok(text) => write!(f, "{words}{}", Quoted(text))?,
            Err(_) => write!(f, "{words}{}", Literal::Hex(text.clone()))?,
        }
    }
    Ok(())
}

impl Display for Lock {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        if self.old_style {
            return f.write_str(" LOCK IN SHARE MODE");
        }
        f.write_str(match self.strength {
            LockStrength::Update => " FOR UPDATE",
            LockStrength::Share => " FOR SHARE",
        })?;
        if !self.tables.is_empty() {
            write!(f, " OF {}", List(&self.tables))?;
        }
        f.write_str(match self.wait {
            LockWait::Wait => "",
            LockWait::Nowait => " NOWAIT",
            LockWait::SkipLocked => " SKIP LOCKED",
        })
    }
}

//! Queries as trees: what the generator makes, what is written out as SQL, and what a failure is reduced by.

use std::fmt::Write;

/// Types of values. Every table has a column of each, of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `i INT`, and `id INT`.
    Int,
    /// `u INT UNSIGNED`.
    Unsigned,
    /// `d DECIMAL(6,2)`.
    Decimal,
    /// `c VARCHAR(10)`, without regard to case.
    Text,
    /// `b VARCHAR(10) COLLATE utf8mb4_bin`.
    Exact,
    /// `e DATE`.
    Date,
    /// `t BIT(5)`.
    Bits,
    /// `j JSON`.
    Json,
    /// A predicate.
    Truth,
    /// A row of values.
    Row,
}

/// An expression.
#[derive(Clone, Debug)]
pub enum Node {
    Leaf(Kind, String),
    /// Operands within texts, of which there is one more.
    Op(Kind, Vec<String>, Vec<Node>),
    /// Left operand (or none), what stands before the parenthesis, the subquery.
    Sub(Kind, Option<Box<Node>>, String, Box<Query>),
}

#[derive(Clone, Debug)]
pub enum Table {
    Base(String),
    Derived(Box<Query>),
    Nest(Vec<Source>),
}

/// A table of FROM with how it is joined to those before it.
#[derive(Clone, Debug)]
pub struct Source {
    /// `JOIN`, `LEFT JOIN`, `,` and so on.
    pub join: &'static str,
    pub table: Table,
    /// Empty for a nest.
    pub alias: String,
    /// An index hint for the tables that have indexes.
    pub hint: String,
    pub on: Option<Node>,
}

#[derive(Clone, Debug)]
pub struct Query {
    pub distinct: bool,
    pub items: Vec<Node>,
    pub from: Vec<Source>,
    pub filter: Option<Node>,
    pub group: Vec<Node>,
    /// WITH ROLLUP.
    pub rollup: bool,
    pub having: Option<Node>,
    /// Limit, and an order by every item.
    pub limit: Option<u64>,
    /// Operator and right side.
    pub union: Option<(&'static str, Box<Query>)>,
}

/// How a query is written.
#[derive(Clone, Copy, Default)]
pub struct Style {
    /// With index hints.
    pub hints: bool,
    /// SELECT STRAIGHT_JOIN.
    pub straight: bool,
}

impl Node {
    pub fn op(kind: Kind, text: &str, kids: Vec<Node>) -> Node {
        let parts: Vec<String> = text.split('@').map(str::to_string).collect();
        assert_eq!(parts.len(), kids.len() + 1, "{text}");
        Node::Op(kind, parts, kids)
    }

    pub fn kind(&self) -> Kind {
        match self {
            Node::Leaf(k, _) | Node::Op(k, ..) | Node::Sub(k, ..) => *k,
        }
    }

    pub fn write(&self, style: Style, out: &mut String) {
        match self {
            Node::Leaf(_, text) => out.push_str(text),
            Node::Op(_, parts, kids) => {
                out.push_str(&parts[0]);
                for (kid, part) in kids.iter().zip(&parts[1..]) {
                    kid.write(style, out);
                    out.push_str(part);
                }
            }
            Node::Sub(_, left, before, query) => {
                out.push('(');
                if let Some(left) = left {
                    left.write(style, out);
                }
                let _ = write!(out, "{before} ({}))", query.sql(style));
            }
        }
    }
}

fn list(nodes: &[Node], style: Style) -> String {
    let one = |n: &Node| {
        let mut text = String::new();
        n.write(style, &mut text);
        text
    };
    nodes.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn sources(from: &[Source], style: Style, out: &mut String) {
    for (n, s) in from.iter().enumerate() {
        if n > 0 {
            let _ = write!(out, " {} ", s.join);
        }
        match &s.table {
            Table::Base(name) => {
                let _ = write!(out, "{name} {}", s.alias);
                if style.hints {
                    out.push_str(&s.hint);
                }
            }
            Table::Derived(q) => {
                let _ = write!(out, "({}) {}", q.sql(style), s.alias);
            }
            Table::Nest(inner) => {
                out.push('(');
                sources(inner, style, out);
                out.push(')');
            }
        }
        if let Some(on) = s.on.as_ref().filter(|_| n > 0) {
            out.push_str(" ON ");
            on.write(style, out);
        }
    }
}

impl Query {
    /// Its items are named k0, k1 ...
    pub fn sql(&self, style: Style) -> String {
        let mut out = String::from("SELECT ");
        if style.straight && self.from.len() > 1 {
            out.push_str("STRAIGHT_JOIN ");
        }
        if self.distinct {
            out.push_str("DISTINCT ");
        }
        for (n, item) in self.items.iter().enumerate() {
            out.push_str(if n > 0 { ", " } else { "" });
            item.write(style, &mut out);
            let _ = write!(out, " AS k{n}");
        }
        out.push_str(" FROM ");
        sources(&self.from, style, &mut out);
        if let Some(filter) = &self.filter {
            out.push_str(" WHERE ");
            filter.write(style, &mut out);
        }
        if !self.group.is_empty() {
            let rollup = if self.rollup { " WITH ROLLUP" } else { "" };
            let _ = write!(out, " GROUP BY {}{rollup}", list(&self.group, style));
        }
        if let Some(having) = &self.having {
            out.push_str(" HAVING ");
            having.write(style, &mut out);
        }
        if let Some((op, right)) = &self.union {
            let _ = write!(out, " {op} {}", right.sql(style));
        }
        if let Some(limit) = self.limit {
            let by: Vec<String> = (1..=self.items.len()).map(|n| n.to_string()).collect();
            let _ = write!(out, " ORDER BY {} LIMIT {limit}", by.join(", "));
        }
        out
    }
}

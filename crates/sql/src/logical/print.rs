//! A logical plan as text: one line a clause, indented by depth.

use std::fmt::{self, Write};

use super::{Arena, Ask, Block, Body, Limit, OrderKey, Query, SetOp, Table, TableKind, Tree};
use crate::expr::Expr;

/// Indentation of a level.
const INDENT: &str = "  ";

impl Arena {
    /// A query as text, derived tables and subqueries in their places.
    pub fn print(&self, q: &Query) -> String {
        let mut p = Printer {
            arena: self,
            out: String::new(),
            depth: 0,
        };
        // Writing to a string does not fail.
        let _ = p.query(q);
        p.out
    }

    /// An expression's text, the same for subqueries that say the same.
    pub fn text(&self, e: &Expr) -> String {
        let mut ids = Vec::new();
        e.subqueries(&mut |id| ids.push(id));
        let mut text = e.to_string();
        for id in ids {
            text.push('\n');
            text.push_str(&self.print(&self.subqueries[id].query));
        }
        if !self.subqueries.is_empty() && e.has_subquery() {
            // What a subquery is called says nothing of it.
            for id in (0..self.subqueries.len()).rev() {
                text = text.replace(&format!("(select #{id})"), "(select)");
                text = text.replace(&format!("subquery #{id} ("), "subquery (");
            }
        }
        text
    }
}

struct Printer<'a> {
    arena: &'a Arena,
    out: String,
    depth: usize,
}

impl Printer<'_> {
    fn line(&mut self, text: fmt::Arguments<'_>) -> fmt::Result {
        for _ in 0..self.depth {
            self.out.push_str(INDENT);
        }
        self.out.write_fmt(text)?;
        self.out.write_char('\n')
    }

    fn inside(&mut self, f: impl FnOnce(&mut Self) -> fmt::Result) -> fmt::Result {
        self.depth += 1;
        let r = f(self);
        self.depth -= 1;
        r
    }

    fn query(&mut self, q: &Query) -> fmt::Result {
        match &q.body {
            Body::Block(b) => self.block(b),
            Body::Set(u) => {
                let op = match u.op {
                    SetOp::Union => "union",
                    SetOp::Intersect => "intersect",
                    SetOp::Except => "except",
                };
                self.line(format_args!("{op}"))?;
                self.inside(|p| {
                    for (arm, distinct) in &u.arms {
                        p.line(format_args!(
                            "{}",
                            if *distinct { "distinct" } else { "all" }
                        ))?;
                        p.inside(|p| p.query(arm))?;
                    }
                    p.tail(&u.order, &u.limit)
                })
            }
            Body::Windowed(w) => {
                self.line(format_args!("windows"))?;
                self.inside(|p| {
                    for w in &w.windows {
                        p.line(format_args!(
                            "partition {:?} order {:?} functions {}",
                            w.partition,
                            w.order,
                            w.functions.len()
                        ))?;
                    }
                    p.query(&w.input)
                })
            }
            Body::JsonTable(t) => {
                self.line(format_args!("json_table"))?;
                self.inside(|p| p.query(&t.input))
            }
            Body::Recursive(r) => {
                let distinct = if r.distinct { "distinct" } else { "all" };
                self.line(format_args!("recursive {distinct}"))?;
                self.inside(|p| {
                    p.query(&r.seed)?;
                    r.steps.iter().try_for_each(|q| p.query(q))?;
                    p.tail(&[], &r.limit)
                })
            }
            Body::Values(rows) => {
                self.line(format_args!("values"))?;
                self.inside(|p| {
                    rows.iter()
                        .try_for_each(|r| p.line(format_args!("{}", list(r))))
                })
            }
        }
    }

    fn block(&mut self, b: &Block) -> fmt::Result {
        let distinct = if b.distinct { "distinct " } else { "" };
        self.line(format_args!("select {distinct}{}", list(&b.select)))?;
        self.inside(|p| {
            p.subqueries(&b.select)?;
            if let Some(tree) = &b.from {
                p.line(format_args!("from"))?;
                p.inside(|p| p.tree(tree, b))?;
            }
            p.conditions("where", &b.filter)?;
            if let Some(g) = &b.group {
                if g.explicit {
                    p.line(format_args!("group by {}", list(&g.keys)))?;
                } else {
                    p.line(format_args!("aggregate"))?;
                }
                p.subqueries(&g.keys)?;
            }
            p.conditions("having", &b.having)?;
            p.tail(&b.order, &b.limit)
        })
    }

    fn tail(&mut self, order: &[OrderKey], limit: &Limit) -> fmt::Result {
        if !order.is_empty() {
            let keys: Vec<String> = order
                .iter()
                .map(|o| format!("{}{}", o.expr, if o.desc { " desc" } else { "" }))
                .collect();
            self.line(format_args!("order by {}", keys.join(", ")))?;
        }
        if let Some(n) = &limit.count {
            self.line(format_args!("limit {n}"))?;
        }
        if let Some(n) = &limit.offset {
            self.line(format_args!("offset {n}"))?;
        }
        Ok(())
    }

    fn conditions(&mut self, clause: &str, conjuncts: &[Expr]) -> fmt::Result {
        if conjuncts.is_empty() {
            return Ok(());
        }
        let all: Vec<String> = conjuncts.iter().map(ToString::to_string).collect();
        self.line(format_args!("{clause} {}", all.join(" and ")))?;
        self.subqueries(conjuncts)
    }

    fn tree(&mut self, t: &Tree, b: &Block) -> fmt::Result {
        let (what, parts, on): (_, Vec<&Tree>, _) = match t {
            Tree::Leaf(id) => {
                return match b.table(*id) {
                    Some(t) => self.table(t),
                    None => self.line(format_args!("?{id}")),
                };
            }
            Tree::Inner {
                parts,
                on,
                straight,
            } => {
                let what = if *straight { "straight join" } else { "join" };
                (what, parts.iter().collect(), on)
            }
            Tree::Left { left, right, on } => ("left join", vec![left, right], on),
            Tree::Semi {
                left,
                right,
                on,
                anti,
            } => {
                let what = if *anti { "anti join" } else { "semi join" };
                (what, vec![left, right], on)
            }
        };
        let all: Vec<String> = on.iter().map(ToString::to_string).collect();
        let word = if on.is_empty() { "" } else { " on " };
        self.line(format_args!("{what}{word}{}", all.join(" and ")))?;
        self.inside(|p| {
            p.subqueries(on)?;
            parts.into_iter().try_for_each(|t| p.tree(t, b))
        })
    }

    fn table(&mut self, t: &Table) -> fmt::Result {
        match &t.kind {
            TableKind::Derived { derived, .. } => {
                self.line(format_args!("derived {}", t.name))?;
                self.inside(|p| p.query(&p.arena.derived[*derived].query))
            }
            TableKind::Lateral { query, .. } => {
                self.line(format_args!("lateral {}", t.name))?;
                self.inside(|p| p.query(query))
            }
            _ if t.name == t.table || t.table.is_empty() => self.line(format_args!("{}", t.name)),
            _ => self.line(format_args!("{} {}", t.table, t.name)),
        }
    }

    fn subqueries(&mut self, exprs: &[Expr]) -> fmt::Result {
        let mut ids = Vec::new();
        for e in exprs {
            e.subqueries(&mut |id| ids.push(id));
        }
        for id in ids {
            let q = &self.arena.subqueries[id];
            let ask = match &q.ask {
                Ask::Scalar => "scalar",
                Ask::Call(_) => "call",
                Ask::Fulltext(_) => "fulltext",
                Ask::Exists { .. } => "exists",
                Ask::In { .. } => "in",
                Ask::Row { .. } => "row",
                Ask::Quantified { .. } => "quantified",
            };
            self.line(format_args!("subquery #{id} ({ask})"))?;
            self.inside(|p| p.query(&p.arena.subqueries[id].query))?;
        }
        Ok(())
    }
}

fn list(exprs: &[Expr]) -> String {
    let all: Vec<String> = exprs.iter().map(ToString::to_string).collect();
    all.join(", ")
}

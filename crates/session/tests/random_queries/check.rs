//! What must hold of a query's answers, whatever they are.
//!
//! - The same text answers the same with indexes, with other indexes by hints, without indexes, and with tables joined in the order given.
//! - Ternary logic partitioning (Rigger and Su, "Finding Bugs in Database Systems via Query Partitioning", OOPSLA 2020): the rows of a query
//!   without its WHERE (or HAVING) are those where it is true, those where it is false and those where it is unknown.
//! - NoREC (Rigger and Su, "Detecting Optimization Bugs in Database Engines via Non-Optimizing Reference Engine Construction",
//!   ESEC/FSE 2020): as many rows pass a WHERE as make its predicate true where it is a value.

use crate::engine::{Engine, Failure, Row};
use crate::query::{Kind, Node, Query, Source, Style, Table};
use crate::shrink::Case;

/// The tables with and without their indexes, and, for comparisons, those of a peer.
pub struct Databases {
    pub keyed: Box<dyn Engine>,
    pub plain: Box<dyn Engine>,
    pub peer: Option<Box<dyn Engine>>,
}

/// Two answers that ought to be the same.
#[derive(Debug)]
pub struct Difference {
    pub what: &'static str,
    /// Both ran: else one failed.
    pub rows: bool,
    pub sql: [String; 2],
    pub answers: [String; 2],
}

type Answer = Result<Vec<Row>, Failure>;

const INDEXED: Style = Style {
    hints: false,
    straight: false,
};
const HINTED: Style = Style {
    hints: true,
    straight: false,
};
const STRAIGHT: Style = Style {
    hints: false,
    straight: true,
};

fn ask(engine: &mut dyn Engine, sql: &str) -> Answer {
    let mut rows = engine.run(sql)?.rows;
    rows.sort();
    Ok(rows)
}

/// Rows on lines, NULL as such.
pub fn shown(answer: &Answer) -> String {
    match answer {
        Err(e) => format!("error {}: {}", e.code, e.message),
        Ok(rows) => {
            let cell = |c: &Option<Vec<u8>>| match c {
                None => "NULL".to_string(),
                Some(b) => String::from_utf8_lossy(b).into_owned(),
            };
            let line = |r: &Row| r.iter().map(cell).collect::<Vec<_>>().join("|");
            let lines: Vec<String> = rows.iter().take(20).map(line).collect();
            format!("{} rows: {}", rows.len(), lines.join(", "))
        }
    }
}

fn same(what: &'static str, a: (&str, &Answer), b: (&str, &Answer)) -> Result<(), Difference> {
    let agree = match (a.1, b.1) {
        (Ok(a), Ok(b)) => a == b,
        // Which of several errors a statement meets first is free.
        (Err(_), Err(_)) => true,
        _ => false,
    };
    if agree {
        return Ok(());
    }
    Err(Difference {
        what,
        rows: a.1.is_ok() && b.1.is_ok(),
        sql: [a.0.to_string(), b.0.to_string()],
        answers: [shown(a.1), shown(b.1)],
    })
}

impl Databases {
    /// Makes the tables anew. `Err` if the tables themselves can't be made.
    pub fn fill(&mut self, case: &Case) -> Result<(), Failure> {
        for (engine, name, keyed) in [
            (Some(&mut self.keyed), "rq_keyed", true),
            (Some(&mut self.plain), "rq_plain", false),
            (self.peer.as_mut(), "rq_keyed", true),
        ] {
            let Some(engine) = engine else {
                continue;
            };
            for sql in [
                format!("DROP DATABASE IF EXISTS {name}"),
                format!("CREATE DATABASE {name}"),
                format!("USE {name}"),
            ] {
                engine.run(&sql)?;
            }
            for sql in case.relations.iter().flat_map(|r| r.script(keyed)) {
                engine.run(&sql)?;
            }
        }
        Ok(())
    }

    /// Every check that fits the query. Gives whether the query ran.
    pub fn check(&mut self, query: &Query) -> Result<bool, Difference> {
        let sql = query.sql(INDEXED);
        let indexed = ask(&mut *self.keyed, &sql);
        if let Some(peer) = &mut self.peer {
            if indexed.is_ok() && mariadb_errs(query) {
                return Ok(true);
            }
            same("peer", (&sql, &indexed), (&sql, &ask(&mut **peer, &sql)))?;
            return Ok(indexed.is_ok());
        }
        let plain = ask(&mut *self.plain, &sql);
        same("without indexes", (&sql, &indexed), (&sql, &plain))?;
        for (what, style) in [("other indexes", HINTED), ("another join order", STRAIGHT)] {
            let other = query.sql(style);
            let answer = ask(&mut *self.keyed, &other);
            same(what, (&sql, &indexed), (&other, &answer))?;
        }
        if indexed.is_ok() {
            self.partition(query)?;
            self.count(query)?;
        }
        Ok(indexed.is_ok())
    }

    /// Ternary logic partitioning of WHERE, or of HAVING.
    fn partition(&mut self, query: &Query) -> Result<(), Difference> {
        if query.union.is_some() || query.limit.is_some() || query.items.iter().any(is_windowed) {
            return Ok(());
        }
        let aggregate = query.group.is_empty() && query.items.iter().any(is_aggregate);
        let having = query.having.is_some();
        let place = if having { &query.having } else { &query.filter };
        let Some(predicate) = place.as_ref().filter(|_| !aggregate) else {
            return Ok(());
        };
        if !having && !query.group.is_empty() {
            return Ok(());
        }
        let with = |p: Option<Node>| {
            let mut q = query.clone();
            if having {
                q.having = p;
            } else {
                q.filter = p;
            }
            q.sql(INDEXED)
        };
        let whole = with(None);
        let expected = ask(&mut *self.keyed, &whole);
        let op = if query.distinct { "UNION" } else { "UNION ALL" };
        let parts = ["@", "(NOT @)", "(@ IS NULL)"].map(|t| {
            let part = Node::op(Kind::Truth, t, vec![predicate.clone()]);
            with(Some(part))
        });
        let parted = parts.join(&format!(" {op} "));
        let found = ask(&mut *self.keyed, &parted);
        let what = if having {
            "TLP of HAVING"
        } else {
            "TLP of WHERE"
        };
        same(what, (&whole, &expected), (&parted, &found))?;
        // The same through an aggregate over the parts.
        let aggregates = |from: &str| {
            format!(
                "SELECT COUNT(*), COUNT(k0), MIN(LOWER(k0)), COUNT(DISTINCT LOWER(k0)) FROM ({from}) AS tlp"
            )
        };
        let (whole, parted) = (aggregates(&whole), aggregates(&parted));
        let expected = ask(&mut *self.keyed, &whole);
        let found = ask(&mut *self.keyed, &parted);
        same("TLP of aggregates", (&whole, &expected), (&parted, &found))
    }

    fn count(&mut self, query: &Query) -> Result<(), Difference> {
        let Some(predicate) = &query.filter else {
            return Ok(());
        };
        let counted = |item: &str, filter: Option<Node>| {
            Query {
                distinct: false,
                items: vec![Node::op(
                    Kind::Int,
                    item,
                    item.contains('@')
                        .then(|| predicate.clone())
                        .into_iter()
                        .collect(),
                )],
                from: query.from.clone(),
                filter,
                group: Vec::new(),
                rollup: false,
                having: None,
                limit: None,
                union: None,
            }
            .sql(INDEXED)
        };
        let optimized = counted("COUNT(*)", Some(predicate.clone()));
        let reference = counted(
            "CAST(COALESCE(SUM(CASE WHEN @ THEN 1 ELSE 0 END), 0) AS SIGNED)",
            None,
        );
        let expected = ask(&mut *self.plain, &reference);
        let found = ask(&mut *self.keyed, &optimized);
        same("NoREC", (&reference, &expected), (&optimized, &found))
    }
}

/// Whether a query has one of the forms that MariaDB 10.11 is known to answer wrongly: README.md has examples.
fn mariadb_errs(query: &Query) -> bool {
    let within = |n: &Option<Node>| n.as_ref().is_some_and(errs_in);
    let again = |n: usize| (0..n).any(|m| text(&query.items[m]) == text(&query.items[n]));
    let rolled = query.rollup && (query.having.is_some() || (0..query.items.len()).any(again));
    rolled
        || within(&query.filter)
        || within(&query.having)
        || query.items.iter().any(errs_in)
        || errs_in_from(&query.from)
        || query.union.as_ref().is_some_and(|(_, q)| mariadb_errs(q))
}

fn errs_in_from(from: &[Source]) -> bool {
    from.iter().any(|s| {
        s.on.as_ref().is_some_and(errs_in)
            || match &s.table {
                Table::Base(_) => false,
                Table::Derived(q) => mariadb_errs(q),
                Table::Nest(inner) => errs_in_from(inner),
            }
    })
}

/// An aggregate or a subquery as the left side of IN and its kin, or ANY and ALL of a subquery with an outer join.
fn errs_in(node: &Node) -> bool {
    match node {
        Node::Leaf(..) => false,
        Node::Op(_, _, kids) => kids.iter().any(errs_in),
        Node::Sub(_, left, how, query) => {
            let quantified = how.ends_with("ANY") || how.ends_with("ALL");
            let outer = |s: &Source| s.join.starts_with("LEFT") || s.join.starts_with("RIGHT");
            let left = left.as_ref();
            left.is_some_and(|l| is_aggregate(l) || has_subquery(l))
                || left.is_some() && compares_all(query)
                || quantified && query.from.iter().any(outer)
                || mariadb_errs(query)
        }
    }
}

/// Whether it, or an operand of it, sees other rows beside it.
fn is_windowed(node: &Node) -> bool {
    match node {
        Node::Op(_, parts, kids) => {
            parts.iter().any(|p| p.contains("OVER (")) || kids.iter().any(is_windowed)
        }
        _ => false,
    }
}

/// INTERSECT ALL or EXCEPT ALL.
fn compares_all(query: &Query) -> bool {
    let op = query.union.as_ref().map(|(op, _)| *op);
    matches!(op, Some("INTERSECT ALL" | "EXCEPT ALL"))
}

fn text(node: &Node) -> String {
    let mut out = String::new();
    node.write(INDEXED, &mut out);
    out
}

fn has_subquery(node: &Node) -> bool {
    match node {
        Node::Leaf(..) => false,
        Node::Op(_, _, kids) => kids.iter().any(has_subquery),
        Node::Sub(..) => true,
    }
}

fn is_aggregate(node: &Node) -> bool {
    let of = |t: &str| {
        ["COUNT(", "SUM(", "MIN(", "MAX("]
            .iter()
            .any(|a| t.starts_with(a))
    };
    match node {
        Node::Leaf(_, text) => of(text),
        Node::Op(_, parts, kids) => of(&parts[0]) || kids.iter().any(is_aggregate),
        Node::Sub(..) => false,
    }
}

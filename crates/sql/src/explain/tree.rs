//! EXPLAIN FORMAT=TREE and EXPLAIN ANALYZE: a plan as a tree of what MySQL calls iterators, each with what was expected of it and, once
//! it ran, what it did.
//!
//! Costs are in MySQL's unit, in which evaluating a row costs [`ROW_COST`]; they are those of one execution for what is executed
//! once per row of something else, and of all together for joins and what stands above them.

use super::profile::{Profile, Times};
use super::table::table_function;
use crate::plan::dml::InsertRows;
use crate::plan::nodes::SetOp;
use crate::plan::nodes::{
    Access, Block, Body, EqCond, ExprWithSubqueries, IndexMerge, Level, LevelFrom, LevelKind,
    Query, SourceKind,
};
use crate::plan::{Plan, Root};
use crate::types::Schema;

/// MySQL's `row_evaluate_cost`.
pub const ROW_COST: f64 = 0.1;

/// An iterator.
struct Node {
    text: String,
    /// Cost and rows expected.
    expected: Option<(f64, f64)>,
    /// What it did, if it was watched.
    actual: Option<Times>,
    inputs: Vec<Node>,
}

impl Node {
    fn new(text: impl Into<String>, inputs: Vec<Node>) -> Node {
        Node {
            text: text.into(),
            expected: None,
            actual: None,
            inputs,
        }
    }

    fn expecting(mut self, cost: f64, rows: f64) -> Node {
        self.expected = Some((cost, rows));
        self
    }

    fn did(mut self, actual: Option<Times>) -> Node {
        self.actual = actual;
        self
    }

    /// One that reads this one, expecting and doing the same but for rows.
    fn under(self, text: impl Into<String>, rows: Option<f64>, did: Option<Times>) -> Node {
        Node {
            text: text.into(),
            expected: self.expected.map(|(cost, own)| (cost, rows.unwrap_or(own))),
            actual: did.or(self.actual),
            inputs: vec![self],
        }
    }

    fn print(&self, depth: usize, watched: bool, out: &mut String) {
        out.push_str(&"    ".repeat(depth));
        out.push_str("-> ");
        out.push_str(&self.text);
        if let Some((cost, rows)) = self.expected {
            out.push_str(&format!(
                "  (cost={:.2} rows={})",
                cost * ROW_COST,
                number(rows)
            ));
        }
        match self.actual {
            Some(t) if t.loops > 0 => out.push_str(&times(t)),
            _ if watched && !self.text.starts_with("Select #") => out.push_str(" (never executed)"),
            _ => {}
        }
        out.push('\n');
        for node in &self.inputs {
            node.print(depth + 1, watched, out);
        }
    }
}

/// Per loop on the average, times in milliseconds.
fn times(t: Times) -> String {
    let loops = t.loops as f64;
    let ms = |d: std::time::Duration| d.as_secs_f64() * 1e3 / loops;
    format!(
        " (actual time={:.3}..{:.3} rows={} loops={})",
        ms(t.first),
        ms(t.total),
        number(t.rows as f64 / loops),
        t.loops
    )
}

/// Whole from ten on, three digits below.
fn number(n: f64) -> String {
    if n >= 10.0 || n.fract().abs() < 5e-4 {
        return format!("{n:.0}");
    }
    let digits = if n >= 1.0 { 2 } else { 3 };
    format!("{n:.digits$}")
}

/// The tree of a plan that has not run.
pub fn expected(plan: &Plan) -> String {
    Tree {
        plan,
        profile: None,
    }
    .text()
}

/// The tree of a query that has run.
pub fn analyzed(plan: &Plan, profile: &Profile) -> String {
    Tree {
        plan,
        profile: Some(profile),
    }
    .text()
}

struct Tree<'p> {
    plan: &'p Plan,
    profile: Option<&'p Profile>,
}

impl Tree<'_> {
    fn text(&self) -> String {
        let mut out = String::new();
        if let Some(root) = self.root() {
            root.print(0, self.profile.is_some(), &mut out);
        }
        out
    }

    fn root(&self) -> Option<Node> {
        let changes = |text: String, find: &Block| Node::new(text, vec![self.block(find)]);
        Some(match &self.plan.root {
            Root::Query(q) | Root::Do(q) => self.query(q),
            Root::Insert(i) => {
                let name = &self.plan.tables[i.table].table.def().name;
                let inputs = match &i.rows {
                    InsertRows::Query { query, .. } => vec![self.query(query)],
                    InsertRows::Values(_) | InsertRows::File(_) => Vec::new(),
                };
                Node::new(format!("Insert into {name}"), inputs)
            }
            Root::Update(u) => changes(format!("Update {}", u.find.sources[0].name), &u.find),
            Root::Delete(d) => {
                let name = &d.find.sources[0].name;
                changes(format!("Delete rows from {name}"), &d.find)
            }
            Root::Several(s) => {
                let of = |t: &crate::plan::dml::Target| s.find.sources[t.source].name.clone();
                let names = s.targets.iter().map(of).collect::<Vec<_>>().join(", ");
                let verb = if s.deletes {
                    "Delete rows from"
                } else {
                    "Update"
                };
                changes(format!("{verb} {names}"), &s.find)
            }
            Root::Explain(_) => return None,
        })
    }

    fn query(&self, q: &Query) -> Node {
        match &q.body {
            Body::Block(b) => self.block(b),
            Body::Set(u) => {
                let unique = u.arms.iter().any(|(_, d)| *d);
                let text = match (u.op, unique) {
                    (SetOp::Union, true) => "Union materialize with deduplication",
                    (SetOp::Union, false) => "Append",
                    (SetOp::Intersect, true) => "Intersect materialize with deduplication",
                    (SetOp::Intersect, false) => "Intersect all materialize",
                    (SetOp::Except, true) => "Except materialize with deduplication",
                    (SetOp::Except, false) => "Except all materialize",
                };
                let arms = u.arms.iter().map(|(arm, _)| self.query(arm));
                let arms: Vec<Node> = arms.collect();
                let did = sum(arms.iter().map(|a| a.actual));
                Node::new(text, arms).did(did)
            }
            Body::Windowed(w) => {
                let mut node = self.query(&w.input);
                for w in &w.windows {
                    if !w.partition.is_empty() || !w.order.is_empty() {
                        node = Node::new("Sort", vec![node]);
                    }
                    node = Node::new("Window aggregate with buffering", vec![node]);
                }
                node
            }
            Body::JsonTable(t) => self.query(&t.input),
            Body::Recursive(r) => {
                let text = match r.distinct {
                    true => "Repeat until convergence (with deduplication)",
                    false => "Repeat until convergence",
                };
                let arms = std::iter::once(&r.seed).chain(&r.steps);
                Node::new(text, arms.map(|arm| self.query(arm)).collect())
            }
            Body::Values(rows) => Node::new(
                format!("Rows fetched before execution: {}", rows.len()),
                Vec::new(),
            ),
        }
    }

    fn block(&self, b: &Block) -> Node {
        let did = self.profile.map(|p| p.block(b));
        let whole = did.map(|d| d.whole);
        let with_rows = |rows: u64| whole.map(|t| Times { rows, ..t });
        let mut node = match b.levels.is_empty() {
            true => Node::new("Rows fetched before execution", Vec::new())
                .expecting(0.0, 1.0)
                .did(with_rows(whole.map_or(0, |t| t.loops))),
            false => self.levels(b, &b.levels),
        };
        if let Some(g) = &b.group {
            let text = match (g.explicit, g.ordered) {
                (false, _) => "Aggregate",
                (true, true) => "Group aggregate",
                (true, false) => "Aggregate using temporary table",
            };
            let groups = did.and_then(|d| with_rows(d.groups));
            node = node.under(text, Some(g.expected), groups);
        }
        // LIMIT, ORDER BY and DISTINCT see what HAVING leaves.
        let seen = did.and_then(|d| with_rows(d.seen));
        if !b.having.is_empty() {
            let seen = seen.filter(|_| !b.distinct);
            node = node.under(format!("Filter: {}", conditions(&b.having)), None, seen);
        }
        if b.distinct {
            node = node.under("Temporary table with deduplication", None, seen);
        }
        if b.sorts() {
            let key = |o: &crate::plan::nodes::OrderKey| {
                format!("{}{}", o.expr.expr, if o.desc { " DESC" } else { "" })
            };
            let keys = b.order.iter().map(key).collect::<Vec<_>>().join(", ");
            let most = match limit(b) {
                Some(n) => format!(", limit input to {n:.0} row(s) per chunk"),
                None => String::new(),
            };
            node = node.under(format!("Sort: {keys}{most}"), None, whole);
        }
        if b.limit.count.is_some() || b.limit.offset.is_some() {
            let text = match (&b.limit.count, &b.limit.offset) {
                (Some(c), None) => format!("Limit: {c} row(s)"),
                (Some(c), Some(o)) => format!("Limit/Offset: {c}/{o} row(s)"),
                _ => "Offset".into(),
            };
            let most = b.limit.count.as_ref().and_then(|c| c.as_constant());
            let most = most.map_or(f64::INFINITY, |v| v.to_f64());
            let rows = node.expected.map(|(_, rows)| rows.min(most));
            node = node.under(text, rows, whole);
        }
        let asked = b.subqueries.iter().enumerate();
        for (n, q) in asked.filter(|(_, q)| !q.is_call()) {
            let when = if b.once.contains(&n) {
                "run only once"
            } else {
                "dependent"
            };
            let text = format!("Select #{} (subquery in condition; {when})", n + 2);
            node.inputs
                .push(Node::new(text, vec![self.query(&q.query)]));
        }
        node
    }

    /// Loops as the left-deep tree of joins that they are.
    fn levels(&self, b: &Block, levels: &[Level]) -> Node {
        let mut node: Option<Node> = None;
        // Of the join so far.
        let (mut cost, mut rows) = (0.0, 1.0);
        let mut did: Option<Times> = None;
        for l in levels {
            let (e, own) = (&l.expected, self.profile.map(|p| p.level(l)));
            let inner = self.level(b, l);
            cost += e.once + rows * e.each.max(inner.expected.map_or(0.0, |i| i.0));
            rows *= e.out;
            let passed = own.map(|o| o.passed);
            let rows_out = own.map(|o| match l.kind {
                LevelKind::Inner | LevelKind::Semi => o.passed.rows,
                LevelKind::Outer => o.passed.rows + o.unmatched,
                LevelKind::Anti => o.unmatched,
            });
            let passed = passed.zip(rows_out).map(|(t, rows)| Times { rows, ..t });
            did = match (did, passed) {
                // The loops of a join are those of its first input.
                (Some(before), Some(own)) => Some(joined(before, own)),
                (None, own) => own,
                (before, None) => before,
            };
            let joins = match (&l.from, l.kind) {
                (LevelFrom::Hash(_), LevelKind::Inner) => "Inner hash join",
                (LevelFrom::Hash(_), LevelKind::Outer) => "Left hash join",
                (LevelFrom::Hash(_), LevelKind::Semi) => "Hash semijoin",
                (LevelFrom::Hash(_), LevelKind::Anti) => "Hash antijoin",
                (_, LevelKind::Inner) => "Nested loop inner join",
                (_, LevelKind::Outer) => "Nested loop left join",
                (_, LevelKind::Semi) => "Nested loop semijoin",
                (_, LevelKind::Anti) => "Nested loop antijoin",
            };
            // All joins but inner ones have something on their left, and so have hash joins.
            let alone = l.kind == LevelKind::Inner && !matches!(l.from, LevelFrom::Hash(_));
            if node.is_none() && !alone {
                let before = Node::new("Rows fetched before execution", Vec::new());
                let runs = did.map(|t| Times {
                    loops: t.loops,
                    rows: t.loops,
                    ..Times::default()
                });
                node = Some(before.expecting(0.0, 1.0).did(runs));
            }
            node = Some(match (node, &l.from) {
                (None, _) => inner,
                (Some(outer), LevelFrom::Hash(h)) => {
                    let key = |(k, p)| format!("({k} = {p})");
                    let keys = h.keys.iter().zip(&h.probes).map(key).collect::<Vec<_>>();
                    let extra = match l.kind == LevelKind::Inner || l.on.is_empty() {
                        true => String::new(),
                        false => format!(", extra conditions: {}", conditions(&l.on)),
                    };
                    let text = format!("{joins} {}{extra}", keys.join(", "));
                    Node::new(text, vec![outer, inner])
                        .expecting(cost, rows)
                        .did(did)
                }
                (Some(outer), _) => Node::new(joins, vec![outer, inner])
                    .expecting(cost, rows)
                    .did(did),
            });
            // What is asked of an inner hash join's rows is asked after it, and so are NULLs of the others.
            let late = match (&l.from, l.kind) {
                (LevelFrom::Hash(_), LevelKind::Inner) => &l.on,
                _ => &l.filter,
            };
            if !late.is_empty() {
                if l.kind != LevelKind::Inner {
                    let rows = own.map_or(0, |o| o.out);
                    did = did.map(|t| Times { rows, ..t });
                }
                let text = format!("Filter: {}", conditions(late));
                node = node.map(|n| n.under(text, None, did));
            }
        }
        node.unwrap_or_else(|| Node::new("Rows fetched before execution", Vec::new()))
    }

    /// What one loop reads, without what it is joined with.
    fn level(&self, b: &Block, l: &Level) -> Node {
        let (e, did) = (&l.expected, self.profile.map(|p| p.level(l)));
        let read = did.map(|d| Times {
            rows: d.read.max(d.passed.rows),
            ..d.passed
        });
        let mut node = match &l.from {
            LevelFrom::Nest(list) => self.levels(b, list),
            LevelFrom::Table(s, a) => {
                let s = &b.sources[s - b.base];
                Node::new(access(&s.name, &s.kind, a), Vec::new())
            }
            LevelFrom::Rows(s) => self.computed(b, *s),
            LevelFrom::Hash(h) => {
                let s = &b.sources[h.source - b.base];
                let built = self.profile.map(|p| p.built(h));
                let node = match &h.access {
                    Some(a) => Node::new(access(&s.name, &s.kind, a), Vec::new()),
                    None => self.computed(b, h.source),
                };
                let node = node.expecting(e.once, e.rows).did(built);
                let node = match h.build_filter.is_empty() {
                    true => node,
                    false => {
                        let text = format!("Filter: {}", conditions(&h.build_filter));
                        node.under(text, None, built)
                    }
                };
                return Node::new("Hash", vec![node]).did(built);
            }
        };
        if !matches!(l.from, LevelFrom::Nest(_)) {
            node = node.expecting(e.each, e.rows).did(read);
        }
        if l.on.is_empty() {
            return node;
        }
        let passed = did.map(|d| d.passed);
        node.under(
            format!("Filter: {}", conditions(&l.on)),
            Some(e.out),
            passed,
        )
    }

    fn computed(&self, b: &Block, source: usize) -> Node {
        let s = &b.sources[source - b.base];
        if let Some(document) = table_function(self.plan, s) {
            let asks = matches!(&document.body, Body::Block(b) if !b.subqueries.is_empty());
            let inputs = asks.then(|| self.query(document)).into_iter().collect();
            let function = Node::new("Materialize table function", inputs);
            return Node::new(format!("Table scan on {}", s.name), vec![function]);
        }
        let inputs = match &s.kind {
            SourceKind::Derived { derived } => {
                let query = self.query(&self.plan.derived[*derived].query);
                let did = query.actual;
                vec![Node::new("Materialize", vec![query]).did(did)]
            }
            SourceKind::Lateral(l) => {
                let query = self.query(&l.query);
                let did = query.actual;
                let what = "Materialize (for each row around)";
                vec![Node::new(what, vec![query]).did(did)]
            }
            SourceKind::Table { .. } | SourceKind::Virtual { .. } => Vec::new(),
        };
        Node::new(format!("Table scan on {}", s.name), inputs)
    }
}

/// Rows that LIMIT and OFFSET let a sort keep, if they are known.
fn limit(b: &Block) -> Option<f64> {
    let number = |e: &crate::expr::Expr| e.as_constant().map(|v| v.to_f64());
    let offset = b.limit.offset.as_ref().map_or(Some(0.0), number)?;
    Some(b.limit.count.as_ref().and_then(number)? + offset)
}

/// A join of what its inputs did.
fn joined(outer: Times, inner: Times) -> Times {
    Times {
        loops: outer.loops,
        rows: inner.rows,
        first: outer.first + (inner.first).mul_f64(outer.loops as f64 / inner.loops.max(1) as f64),
        total: outer.total + inner.total,
    }
}

/// One after the other.
fn sum(list: impl Iterator<Item = Option<Times>>) -> Option<Times> {
    list.flatten().reduce(|a, b| Times {
        loops: a.loops.max(b.loops),
        rows: a.rows + b.rows,
        first: a.first,
        total: a.total + b.total,
    })
}

/// Conjuncts as a text.
pub fn conditions<'e>(list: impl IntoIterator<Item = &'e ExprWithSubqueries>) -> String {
    let texts = list.into_iter().map(|r| r.expr.to_string());
    let texts: Vec<String> = texts.collect();
    match &texts[..] {
        [one] => one.clone(),
        _ => format!("({})", texts.join(" and ")),
    }
}

/// How a stored table is read by several indexes. MySQL has a line for each.
fn merged(name: &str, m: &IndexMerge, schema: &Schema) -> String {
    let indexes = m.parts.iter().map(|p| &*schema.indexes[p.index].name);
    let indexes = indexes.collect::<Vec<_>>().join(", ");
    let how = match super::table::merge_name(m) {
        "intersect" => "Intersect rows sorted by row ID",
        "union" => "Deduplicate rows sorted by row ID",
        _ => "Sort-deduplicate by row ID",
    };
    format!("{how}, of {name} using {indexes}")
}

/// How a stored table is read.
fn access(name: &str, kind: &SourceKind, a: &Access) -> String {
    let SourceKind::Table { schema, .. } = kind else {
        return name.to_string();
    };
    if let Some(m) = &a.merge {
        return merged(name, m, schema);
    }
    if let Some(f) = &a.fulltext {
        let index = &schema.indexes[f.index];
        return format!("Full-text index search on {name} using {}", index.name);
    }
    if let Some(by) = &a.spatial {
        let index = &schema.indexes[by.index];
        let column = index.spatial.map_or("", |c| &*schema.columns[c].name);
        let over = format!("({column} unprintable_geometry_value)");
        return format!(
            "Index range scan on {name} using {} over {over}",
            index.name
        );
    }
    let index = &schema.indexes[a.index];
    let reverse = if a.reverse { " (reverse)" } else { "" };
    let lists = a.eq.iter().any(|c| matches!(c, EqCond::In(_)));
    if a.jump.is_some() {
        let over = over(a);
        return format!(
            "Covering index skip scan for deduplication on {name} using {}{over}",
            index.name
        );
    }
    let (how, keys) = if a.unique {
        ("Single-row index lookup", values(a, schema))
    } else if a.skip.is_some() {
        ("Index skip scan", over(a))
    } else if a.range.is_some() || !a.arms.is_empty() || lists {
        ("Index range scan", over(a))
    } else if !a.eq.is_empty() {
        ("Index lookup", values(a, schema))
    } else if a.index == 0 && !a.ordered && a.covering.is_none() {
        return format!("Table scan on {name}{reverse}");
    } else {
        ("Index scan", String::new())
    };
    let how = match a.covering.is_some() {
        true => format!("Covering {}{}", how[..1].to_lowercase(), &how[1..]),
        false => how.to_string(),
    };
    let pushed = pushed(a);
    format!(
        "{how} on {name} using {}{keys}{reverse}{pushed}",
        index.name
    )
}

/// What parts of an index are fixed to.
fn values(a: &Access, schema: &Schema) -> String {
    let parts = &schema.indexes[a.index].parts;
    let one = |(c, part): (&EqCond, &crate::types::KeyPart)| {
        let name = &schema.columns[part.column].name;
        match c {
            EqCond::Value(e) => format!("{name}={e}"),
            EqCond::NullSafe(e) => format!("{name}<=>{e}"),
            EqCond::IsNull => format!("{name}=NULL"),
            EqCond::In(_) => name.to_string(),
        }
    };
    let list: Vec<String> = a.eq.iter().zip(parts).map(one).collect();
    format!(" ({})", list.join(", "))
}

/// The conditions that a range scan decides.
fn over(a: &Access) -> String {
    match a.recheck.is_empty() {
        true => String::new(),
        false => format!(" over {}", conditions(&a.recheck)),
    }
}

/// The conditions that entries of the index decide, as MySQL says it after the scan.
fn pushed(a: &Access) -> String {
    match &a.pushed {
        None => String::new(),
        Some(c) => format!(", with index condition: {}", conditions(&c.conds)),
    }
}

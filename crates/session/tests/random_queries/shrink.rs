//! Cases a step simpler than a given one. Those that make no sense (a column of a table that is gone) fail to run and are passed over.

use crate::query::{Kind, Node, Query, Source, Table};
use crate::schema::Relation;

/// Tables and a query over them.
#[derive(Clone, Debug)]
pub struct Case {
    pub relations: Vec<Relation>,
    pub query: Query,
}

/// The simplest case found that still fails, tried at most `tries` times.
pub fn shrink(mut case: Case, mut tries: u32, fails: &mut dyn FnMut(&Case) -> bool) -> Case {
    'again: loop {
        for candidate in simpler(&case) {
            if tries == 0 {
                return case;
            }
            tries -= 1;
            if fails(&candidate) {
                case = candidate;
                continue 'again;
            }
        }
        return case;
    }
}

fn simpler(case: &Case) -> Vec<Case> {
    let mut out: Vec<Case> = Vec::new();
    for query in queries(&case.query) {
        let relations = case.relations.clone();
        out.push(Case { relations, query });
    }
    for (n, r) in case.relations.iter().enumerate() {
        let mut put = |relation: Option<Relation>| {
            let mut less = case.clone();
            match relation {
                Some(r) => less.relations[n] = r,
                None => drop(less.relations.remove(n)),
            }
            out.push(less);
        };
        put(None);
        let (rows, keys) = (r.rows.len(), r.keys.len());
        if rows > 1 {
            for half in [&r.rows[..rows / 2], &r.rows[rows / 2..]] {
                let mut less = r.clone();
                less.rows = half.to_vec();
                put(Some(less));
            }
        }
        for at in 0..rows {
            let mut less = r.clone();
            less.rows.remove(at);
            put(Some(less));
        }
        for at in 0..keys {
            let mut less = r.clone();
            less.keys.remove(at);
            put(Some(less));
        }
    }
    out
}

fn queries(q: &Query) -> Vec<Query> {
    let mut out = Vec::new();
    let mut put = |change: &dyn Fn(&mut Query)| {
        let mut less = q.clone();
        change(&mut less);
        out.push(less);
    };
    if let Some((op, right)) = &q.union {
        put(&|l| *l = (**right).clone());
        put(&|l| l.union = None);
        for r in queries(right) {
            put(&|l| l.union = Some((op, Box::new(r.clone()))));
        }
    }
    for n in (0..q.from.len()).rev().filter(|_| q.from.len() > 1) {
        put(&|l| drop(l.from.remove(n)));
    }
    if q.filter.is_some() {
        put(&|l| l.filter = None);
    }
    if q.having.is_some() {
        put(&|l| l.having = None);
    }
    if q.distinct {
        put(&|l| l.distinct = false);
    }
    if q.rollup {
        put(&|l| l.rollup = false);
    }
    if q.limit.is_some() {
        put(&|l| l.limit = None);
    }
    for n in 0..q.group.len() {
        put(&|l| drop(l.group.remove(n)));
    }
    for n in (0..q.items.len()).filter(|_| q.items.len() > 1) {
        put(&|l| drop(l.items.remove(n)));
    }
    for (n, item) in q.items.iter().enumerate() {
        for node in nodes(item) {
            put(&|l| l.items[n] = node.clone());
        }
    }
    for node in q.filter.iter().flat_map(nodes) {
        put(&|l| l.filter = Some(node.clone()));
    }
    for node in q.having.iter().flat_map(nodes) {
        put(&|l| l.having = Some(node.clone()));
    }
    for from in sources(&q.from) {
        put(&|l| l.from = from.clone());
    }
    out
}

fn sources(from: &[Source]) -> Vec<Vec<Source>> {
    let mut out = Vec::new();
    for (n, s) in from.iter().enumerate() {
        let mut put = |change: &dyn Fn(&mut Source)| {
            let mut less = from.to_vec();
            change(&mut less[n]);
            out.push(less);
        };
        if !s.hint.is_empty() {
            put(&|s| s.hint.clear());
        }
        if n > 0 && s.join != "JOIN" {
            put(&|s| s.join = "JOIN");
        }
        for on in s.on.iter().filter(|_| n > 0).flat_map(nodes) {
            put(&|s| s.on = Some(on.clone()));
        }
        match &s.table {
            Table::Base(_) => {}
            Table::Derived(q) => {
                for q in queries(q) {
                    put(&|s| s.table = Table::Derived(Box::new(q.clone())));
                }
            }
            Table::Nest(inner) => {
                let on = s.on.clone();
                for one in inner {
                    put(&|s| {
                        let join = s.join;
                        *s = one.clone();
                        s.join = join;
                        s.on.clone_from(&on);
                    });
                }
                for inner in sources(inner) {
                    put(&|s| s.table = Table::Nest(inner.clone()));
                }
            }
        }
    }
    out
}

fn nodes(node: &Node) -> Vec<Node> {
    let mut out = Vec::new();
    let kind = node.kind();
    let leaf = matches!(node, Node::Leaf(..));
    if kind == Kind::Truth && !leaf {
        out.push(Node::Leaf(kind, "TRUE".into()));
        out.push(Node::Leaf(kind, "FALSE".into()));
    }
    match node {
        Node::Leaf(..) => {}
        Node::Op(kind, parts, kids) => {
            out.extend(kids.iter().filter(|k| k.kind() == *kind).cloned());
            for (n, kid) in kids.iter().enumerate() {
                for less in nodes(kid) {
                    let mut kids = kids.clone();
                    kids[n] = less;
                    out.push(Node::Op(*kind, parts.clone(), kids));
                }
            }
        }
        Node::Sub(kind, left, how, query) => {
            for left in left.iter().flat_map(|l| nodes(l)) {
                let left = Some(Box::new(left));
                out.push(Node::Sub(*kind, left, how.clone(), query.clone()));
            }
            for query in queries(query) {
                let query = Box::new(query);
                out.push(Node::Sub(*kind, left.clone(), how.clone(), query));
            }
        }
    }
    out
}

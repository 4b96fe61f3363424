//! A SELECT's bound parts put together: access paths, loops, grouping, order.

use super::access::{self, Wanted};
use super::conditions;
use super::from;
use super::group;
use super::heads::Head;
use super::joins::Joiner;
use super::nodes::{
    Block, Body, Group, Limit, OrderKey, Query, Rich, Source, SourceKind, Subquery,
};
use super::scope::{Planner, rich};
use crate::error::SqlResult;
use crate::expr::{Expr, ExprKind};
use crate::types::SqlType;

/// Rows a derived table is taken to have.
const DERIVED_ROWS: f64 = 100.0;

impl Planner<'_, '_> {
    /// Puts a SELECT's bound parts together: access paths, loops, grouping, order.
    pub fn assemble(&mut self, p: Parts) -> SqlResult<(Query, Vec<Head>)> {
        let f = self.frame();
        let (base, count) = (f.base, f.count);
        let sources = std::mem::take(&mut f.sources);
        let subqueries = std::mem::take(&mut f.subqueries);
        let aggregates = std::mem::take(&mut f.aggregates);
        let grouped = p.grouped || !aggregates.is_empty();
        let once = conditions::once(base, count, &subqueries);
        let needs = |e: &Expr| conditions::needs(e, base, count, &subqueries);
        let mut order = p.order;
        order.retain(|(e, _)| !e.is_const());
        if grouped && self.cx.env.sql_mode.get().only_full_group_by {
            group::check(&group::Check {
                base,
                sources: &sources,
                subqueries: &subqueries,
                keys: &p.keys,
                filter: &p.filter,
                select: &p.select,
                having: &p.having,
                order: &order,
                explicit: p.grouped,
            })?;
        }
        // An implicit group has one row: nothing to sort.
        if grouped && !p.grouped {
            order.clear();
        }
        let columns = self.columns_read(
            &sources,
            &subqueries,
            &aggregates,
            [&p.select, &p.filter, &p.having, &p.keys]
                .into_iter()
                .flatten()
                .chain(order.iter().map(|(e, _)| e)),
            p.from.tree.as_ref(),
            base,
        );
        // A condition that may say something else each time is asked for each joined row.
        let (assigns, values) = (self.assigns, base + count + 1);
        let differs = |e: &Expr| conditions::differs(e, assigns, values, &once);
        let asked_once = |e: &Expr| needs(e) == 0 && (count == 0 || !differs(e));
        let (gate, filter): (Vec<Expr>, Vec<Expr>) = p.filter.into_iter().partition(asked_once);
        let keep: Vec<bool> = {
            let mut keep = vec![false; count];
            for e in p
                .select
                .iter()
                .chain(&p.having)
                .chain(order.iter().map(|(e, _)| e))
            {
                let bits = needs(e);
                for (n, k) in keep.iter_mut().enumerate() {
                    *k |= bits & (1 << n) != 0;
                }
            }
            keep
        };
        // The order in which the first table's rows would help.
        let single = |e: &Expr| match e.kind {
            ExprKind::Column { source, column, .. } if source >= base && source < base + count => {
                Some((source - base, column))
            }
            _ => None,
        };
        let wanted = if grouped {
            if p.grouped {
                same_source(
                    p.keys
                        .iter()
                        .map(|k| single(k).map(|(s, c)| (s, (c, false)))),
                )
                .map(|(s, list)| (s, Wanted::Together(list.into_iter().map(|l| l.0).collect())))
            } else {
                group::end_of(&aggregates, count, &single)
                    .map(|(s, c, max)| (s, Wanted::End(c, max)))
            }
        } else {
            same_source(
                order
                    .iter()
                    .map(|(e, d)| single(e).map(|(s, c)| (s, (c, *d)))),
            )
            .map(|(s, list)| (s, Wanted::Order(list)))
        };
        let unsortable = !grouped && !order.is_empty() && wanted.is_none();
        let limit_rows = match &p.limit.count {
            Some(c) if !grouped && !p.distinct && !unsortable && !p.calc_found_rows => {
                Some(access::limit_rows(c, p.limit.offset.as_ref()))
            }
            _ => None,
        };
        let wants_end = matches!(wanted, Some((_, Wanted::End(..))));
        let mut hash_ids = self.hash_ids;
        let sources = with_asked(sources, &filter, &columns, base);
        let joined = match p.from.tree {
            None => super::joins::Joined {
                levels: Vec::new(),
                ordered: false,
            },
            Some(tree) => Joiner {
                base,
                sources: &sources,
                tables: &self.tables,
                derived_rows: DERIVED_ROWS,
                columns: &columns,
                hints: &p.from.hints,
                env: self.cx.env,
                once: &once,
                assigns,
                needs: &needs,
                wanted,
                limit: limit_rows,
                hash_ids: &mut hash_ids,
            }
            .plan(tree, filter),
        };
        self.hash_ids = hash_ids;
        let source = base + count + 1;
        let wrap = |list: Vec<Expr>| -> Vec<Rich> {
            list.into_iter().map(|e| rich(e, source, &once)).collect()
        };
        let group = grouped.then(|| Group {
            subqueries: {
                let mut list = Vec::new();
                for a in &aggregates {
                    for e in a.args.iter().chain(a.order_by.iter().map(|(e, _)| e)) {
                        e.columns(&mut |s, c| {
                            if s == source && !once.contains(&c) && !list.contains(&c) {
                                list.push(c);
                            }
                        });
                    }
                }
                list.sort_unstable();
                list
            },
            keys: wrap(p.keys),
            explicit: p.grouped,
            ordered: p.grouped && joined.ordered,
            first_only: wants_end && joined.ordered,
            keep,
            aggregates,
        });
        let types: Vec<SqlType> = p.select.iter().map(|e| e.ty.clone()).collect();
        let order: Vec<OrderKey> = order
            .into_iter()
            .map(|(e, desc)| OrderKey {
                expr: rich(e, source, &once),
                desc,
            })
            .collect();
        let select = wrap(p.select);
        let block = Block {
            order_is_select: order.len() == select.len()
                && order.iter().zip(&select).all(|(o, s)| {
                    !o.desc && single(&o.expr.expr).is_some_and(|c| single(&s.expr) == Some(c))
                }),
            base,
            gate: wrap(gate),
            levels: joined.levels,
            group,
            having: wrap(p.having),
            select,
            distinct: p.distinct,
            order,
            in_order: !grouped && joined.ordered,
            limit: p.limit,
            sources,
            once,
            subqueries,
        };
        Ok((
            Query {
                body: Body::Block(Box::new(block)),
                types,
                calc_found_rows: p.calc_found_rows,
            },
            p.heads,
        ))
    }

    /// Columns read of each source, sorted.
    fn columns_read<'e>(
        &self,
        sources: &[Source],
        subqueries: &[Subquery],
        aggregates: &[crate::expr::AggregateSpec],
        exprs: impl Iterator<Item = &'e Expr>,
        tree: Option<&super::joins::Tree>,
        base: usize,
    ) -> Vec<Vec<usize>> {
        let mut columns = vec![Vec::new(); sources.len()];
        let mut note = |s: usize, c: usize| {
            if s >= base && s - base < sources.len() {
                columns[s - base].push(c);
            }
        };
        for e in exprs {
            e.columns(&mut note);
        }
        for a in aggregates {
            for e in a.args.iter().chain(a.order_by.iter().map(|(e, _)| e)) {
                e.columns(&mut note);
            }
        }
        for q in subqueries {
            for &(s, c) in &q.outer {
                note(s, c);
            }
        }
        fn walk(t: &super::joins::Tree, note: &mut dyn FnMut(usize, usize)) {
            use super::joins::Tree;
            match t {
                Tree::Leaf(_) => {}
                Tree::Inner { parts, on, .. } => {
                    parts.iter().for_each(|p| walk(p, note));
                    on.iter().for_each(|e| e.columns(note));
                }
                Tree::Left { left, right, on } => {
                    walk(left, note);
                    walk(right, note);
                    on.iter().for_each(|e| e.columns(note));
                }
            }
        }
        if let Some(t) = tree {
            walk(t, &mut note);
        }
        for c in &mut columns {
            c.sort_unstable();
            c.dedup();
        }
        columns
    }
}

/// A SELECT's parts, bound.
pub struct Parts {
    /// FROM.
    pub from: from::From,
    /// WHERE's conjuncts.
    pub filter: Vec<Expr>,
    /// Select list.
    pub select: Vec<Expr>,
    /// Its headings.
    pub heads: Vec<Head>,
    /// DISTINCT.
    pub distinct: bool,
    /// GROUP BY.
    pub keys: Vec<Expr>,
    /// Whether there is a GROUP BY.
    pub grouped: bool,
    /// HAVING's conjuncts.
    pub having: Vec<Expr>,
    /// ORDER BY.
    pub order: Vec<(Expr, bool)>,
    /// LIMIT.
    pub limit: Limit,
    /// SQL_CALC_FOUND_ROWS.
    pub calc_found_rows: bool,
}

impl Default for Parts {
    fn default() -> Parts {
        Parts {
            from: from::From {
                tree: None,
                hints: Vec::new(),
            },
            filter: Vec::new(),
            select: Vec::new(),
            heads: Vec::new(),
            distinct: false,
            keys: Vec::new(),
            grouped: false,
            having: Vec::new(),
            order: Vec::new(),
            limit: Limit::default(),
            calc_found_rows: false,
        }
    }
}

/// Items that all belong to one source; `None` if there are none or one belongs to another.
fn same_source<T>(items: impl Iterator<Item = Option<(usize, T)>>) -> Option<(usize, Vec<T>)> {
    let mut source = None;
    let mut list = Vec::new();
    for i in items {
        let (s, t) = i?;
        if *source.get_or_insert(s) != s {
            return None;
        }
        list.push(t);
    }
    source.map(|s| (s, list))
}

/// Notes for virtual tables which columns are read, and which are compared for equality with constants.
fn with_asked(
    mut sources: Vec<Source>,
    filter: &[Expr],
    columns: &[Vec<usize>],
    base: usize,
) -> Vec<Source> {
    for (n, s) in sources.iter_mut().enumerate() {
        if let SourceKind::Virtual { known, read, .. } = &mut s.kind {
            *read = Some(columns[n].clone());
            for e in filter {
                if let Some((c, conditions::Term::Eq(v))) = conditions::term(e, base + n)
                    && v.is_const()
                {
                    known.push((c, v));
                }
            }
        }
    }
    sources
}

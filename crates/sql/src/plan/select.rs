//! SELECT and set operations: binding the clauses in MySQL's order and assembling the block.

use super::access::{self, Wanted};
use super::conditions;
use super::from;
use super::group;
use super::joins::Joiner;
use super::nodes::{
    Block, Body, Group, Limit, OrderKey, Query, Rich, Source, SourceKind, Subquery, Union,
    VirtualRef,
};
use super::scope::{Aliases, Cte, Frame, Planner, rich};
use crate::error::{SqlError, SqlResult};
use crate::expr::{Expr, ExprKind};
use crate::parse::{ShowFilter, sp};
use crate::result::{
    ColumnMeta, FLAG_AUTO_INCREMENT, FLAG_MULTIPLE_KEY, FLAG_NO_DEFAULT, FLAG_NOT_NULL,
    FLAG_PRI_KEY, FLAG_UNIQUE_KEY,
};
use crate::show::VirtualTable;
use crate::types::{DefaultValue, SqlType};
use crate::value::Value;
use std::sync::Arc;

/// Rows a derived table is taken to have.
const DERIVED_ROWS: f64 = 100.0;

/// A column of a query's result.
#[derive(Clone, Debug)]
pub struct Head {
    /// As the client sees it.
    pub meta: ColumnMeta,
    /// Whether it can be NULL.
    pub nullable: bool,
}

impl Query {
    /// One row is enough to know (EXISTS).
    pub fn limit_to_one(&mut self) {
        if let Body::Block(b) = &mut self.body
            && b.limit.count.is_none()
            && b.group.is_none()
        {
            b.limit.count = Some(Expr::literal(Value::Int(1), SqlType::bigint()));
            b.order.clear();
            b.distinct = false;
        }
    }
}

impl Planner<'_, '_> {
    /// Plans a query inside of blocks with `base` sources, in their scope; also which of their columns it reads.
    pub fn nested_query(
        &mut self,
        q: &sp::Query,
        base: usize,
    ) -> SqlResult<(Query, Vec<(usize, usize)>)> {
        let depth = self.frames.len();
        // A frame without sources stands between, to collect what is read of the blocks around.
        self.frames.push(Frame::new(base, 0));
        let planned = self.query(q, base);
        self.frames.truncate(depth + 1);
        let collector = self.frames.pop().expect("pushed above");
        let (planned, _) = planned?;
        let mut outer: Vec<(usize, usize)> = collector
            .outer
            .into_iter()
            .filter(|(s, _)| *s < base)
            .collect();
        outer.sort_unstable();
        outer.dedup();
        Ok((planned, outer))
    }

    /// Plans a query inside of blocks with `base` sources.
    pub fn query(&mut self, q: &sp::Query, base: usize) -> SqlResult<(Query, Vec<Head>)> {
        let ctes = self.ctes.len();
        if let Some(with) = &q.with {
            if with.recursive {
                return Err(SqlError::unsupported("WITH RECURSIVE"));
            }
            for c in &with.cte_tables {
                self.ctes.push(Cte {
                    name: c.alias.name.value.clone(),
                    columns: c
                        .alias
                        .columns
                        .iter()
                        .map(|c| c.name.value.clone())
                        .collect(),
                    query: (*c.query).clone(),
                    planned: None,
                });
            }
        }
        let r = self.query_body(q, base);
        self.ctes.truncate(ctes);
        r
    }

    fn query_body(&mut self, q: &sp::Query, base: usize) -> SqlResult<(Query, Vec<Head>)> {
        let order: &[sp::OrderByExpr] = match q.order_by.as_ref().map(|o| &o.kind) {
            None => &[],
            Some(sp::OrderByKind::Expressions(list)) => list,
            Some(sp::OrderByKind::All(_)) => return Err(SqlError::unsupported("ORDER BY ALL")),
        };
        let limit = q.limit_clause.as_ref();
        match &*q.body {
            sp::SetExpr::Select(s) => self.select(s, order, limit, &q.locks, base),
            sp::SetExpr::Query(inner) if order.is_empty() && limit.is_none() => {
                self.query(inner, base)
            }
            body => {
                let mut arms = Vec::new();
                let mut heads = Vec::new();
                self.arms(body, false, base, &mut arms, &mut heads)?;
                if arms.len() == 1 && order.is_empty() && limit.is_none() {
                    let (q, _) = arms.pop().expect("one arm");
                    return Ok((q, heads));
                }
                self.union(arms, heads, order, limit, base)
            }
        }
    }

    fn arms(
        &mut self,
        body: &sp::SetExpr,
        distinct: bool,
        base: usize,
        arms: &mut Vec<(Query, bool)>,
        heads: &mut Vec<Head>,
    ) -> SqlResult<()> {
        let (query, h) = match body {
            sp::SetExpr::SetOperation {
                op,
                set_quantifier,
                left,
                right,
            } => {
                if *op != sp::SetOperator::Union {
                    return Err(SqlError::unsupported(op));
                }
                // A chain of UNIONs leans to the left: walk down it without recursion.
                let mut rights = vec![(right, set_quantifier)];
                let mut first = left;
                while let sp::SetExpr::SetOperation {
                    op: sp::SetOperator::Union,
                    set_quantifier,
                    left,
                    right,
                } = &**first
                {
                    rights.push((right, set_quantifier));
                    first = left;
                }
                self.arms(first, distinct, base, arms, heads)?;
                for (right, quantifier) in rights.into_iter().rev() {
                    let all = matches!(quantifier, sp::SetQuantifier::All);
                    self.arms(right, !all, base, arms, heads)?;
                }
                return Ok(());
            }
            sp::SetExpr::Select(s) => self.select(s, &[], None, &[], base)?,
            sp::SetExpr::Query(q) => self.query(q, base)?,
            sp::SetExpr::Values(v) => self.values(v, base)?,
            sp::SetExpr::Table(t) => {
                let name = t.table_name.clone().unwrap_or_default();
                let mut parts = Vec::new();
                if let Some(d) = &t.schema_name {
                    parts.push(sp::Ident::with_quote('`', d));
                }
                parts.push(sp::Ident::with_quote('`', name));
                self.whole_table(sp::ObjectName::from(parts), base)?
            }
            _ => return Err(SqlError::unsupported("this statement inside of a query")),
        };
        if heads.is_empty() {
            *heads = h;
        } else if heads.len() != h.len() {
            return Err(SqlError::new(
                1222,
                "The used SELECT statements have a different number of columns",
            ));
        } else {
            for (a, b) in heads.iter_mut().zip(h) {
                a.meta.ty = unify(&a.meta.ty, &b.meta.ty);
                a.nullable |= b.nullable;
                a.meta.database.clear();
                a.meta.table.clear();
                a.meta.org_table.clear();
                a.meta.org_name.clear();
                a.meta.flags =
                    if a.nullable { 0 } else { FLAG_NOT_NULL } | a.meta.ty.protocol_flags();
            }
        }
        arms.push((query, distinct));
        Ok(())
    }

    fn union(
        &mut self,
        arms: Vec<(Query, bool)>,
        heads: Vec<Head>,
        order: &[sp::OrderByExpr],
        limit: Option<&sp::LimitClause>,
        base: usize,
    ) -> SqlResult<(Query, Vec<Head>)> {
        let types: Vec<SqlType> = heads.iter().map(|h| h.meta.ty.clone()).collect();
        let mut f = Frame::new(base, 1);
        f.sources.push(Source {
            name: String::new(),
            database: String::new(),
            table: String::new(),
            kind: SourceKind::Derived {
                derived: usize::MAX,
                columns: heads
                    .iter()
                    .map(|h| (h.meta.name.clone(), h.meta.ty.clone(), h.nullable))
                    .collect(),
            },
        });
        f.nullable.push(false);
        f.visible = (0..heads.len()).map(|c| (0, c)).collect();
        f.reachable = vec![0];
        self.frames.push(f);
        let built = self.union_order(order, limit, heads.len());
        self.frames.pop();
        let (order, limit) = built?;
        Ok((
            Query {
                body: Body::Union(Box::new(Union {
                    arms,
                    order,
                    limit,
                    base,
                })),
                types,
                calc_found_rows: false,
            },
            heads,
        ))
    }

    fn union_order(
        &mut self,
        order: &[sp::OrderByExpr],
        limit: Option<&sp::LimitClause>,
        columns: usize,
    ) -> SqlResult<(Vec<OrderKey>, Limit)> {
        let mut keys = Vec::new();
        for o in order {
            let expr = match position(&o.expr) {
                Some(p) => {
                    let at = checked_position(p, columns, "order clause")?;
                    self.frame().column_expr(0, at)
                }
                None => self.bind(&o.expr, "order clause")?,
            };
            let expr = self.rich(expr, &[]);
            if !expr.subqueries.is_empty() {
                return Err(SqlError::unsupported("subquery in a union's ORDER BY"));
            }
            keys.push(OrderKey {
                expr,
                desc: o.options.sort == Some(sp::OrderBySort::Desc),
            });
        }
        let limit = self.limit(limit)?;
        Ok((keys, limit))
    }

    fn whole_table(&mut self, name: sp::ObjectName, base: usize) -> SqlResult<(Query, Vec<Head>)> {
        self.frames.push(Frame::new(base, 1));
        let r = (|| {
            let (database, table) = from::split_name(&name)?;
            let source = self.table_source(database, &table, None, &[])?;
            let f = self.frame();
            let columns = source.columns();
            f.sources.push(source);
            f.nullable.push(false);
            f.visible = (0..columns).map(|c| (0, c)).collect();
            f.reachable = vec![0];
            let mut select = Vec::new();
            let mut heads = Vec::new();
            self.star(None, &mut select, &mut heads)?;
            self.assemble(Parts {
                from: from::From {
                    tree: Some(super::joins::Tree::Leaf(0)),
                    hints: vec![access::Hints::default()],
                },
                select,
                heads,
                ..Parts::default()
            })
        })();
        self.frames.pop();
        r
    }

    /// `SELECT list`, without FROM.
    pub fn expressions(&mut self, list: &[sp::Expr]) -> SqlResult<(Query, Vec<Head>)> {
        self.frames.push(Frame::new(0, 0));
        let r = (|| {
            let mut select = Vec::new();
            let mut heads = Vec::new();
            for e in list {
                let bound = self.bind(e, "field list")?;
                heads.push(self.head(&bound, e.to_string(), true));
                select.push(bound);
            }
            self.assemble(Parts {
                select,
                heads,
                ..Parts::default()
            })
        })();
        self.frames.pop();
        r
    }

    /// See [`super::compile_virtual`].
    pub fn virtual_query(
        &mut self,
        table: Arc<dyn VirtualTable>,
        columns: &[(usize, Option<&str>)],
        like: usize,
        filter: &ShowFilter,
    ) -> SqlResult<(Query, Vec<ColumnMeta>)> {
        self.frames.push(Frame::new(0, 1));
        let r = (|| {
            let f = self.frame();
            let count = table.columns().len();
            f.sources.push(Source {
                name: table.name().to_string(),
                database: table.database().to_string(),
                table: table.name().to_string(),
                kind: SourceKind::Virtual {
                    table: VirtualRef(table.clone()),
                    known: Vec::new(),
                },
            });
            f.nullable.push(false);
            f.visible = (0..count).map(|c| (0, c)).collect();
            f.reachable = vec![0];
            let mut select = Vec::new();
            let mut heads = Vec::new();
            for &(c, heading) in columns {
                let f = self.frames.last().expect("pushed above");
                let e = f.column_expr(0, c);
                let name = heading
                    .unwrap_or_else(|| f.sources[0].column(c).0)
                    .to_string();
                heads.push(self.head(&e, name.clone(), true));
                select.push(e.clone());
                // WHERE names the headings shown.
                self.frame().names.push((name, e));
            }
            self.frame().aliases = Aliases::First;
            let filter = match filter {
                ShowFilter::None => Vec::new(),
                ShowFilter::Like(pattern) => {
                    let name = sp::Ident::with_quote('`', table.columns()[like].name);
                    let e = sp::Expr::Like {
                        negated: false,
                        any: false,
                        expr: Box::new(sp::Expr::Identifier(name)),
                        pattern: Box::new(sp::Expr::value(sp::Value::SingleQuotedString(
                            pattern.clone(),
                        ))),
                        escape_char: None,
                    };
                    self.frame().aliases = Aliases::Hidden;
                    vec![self.bind(&e, "where clause")?]
                }
                ShowFilter::Where(e) => self.bind(e, "where clause")?.into_conjuncts(),
            };
            self.frame().aliases = Aliases::Hidden;
            self.assemble(Parts {
                from: from::From {
                    tree: Some(super::joins::Tree::Leaf(0)),
                    hints: vec![access::Hints::default()],
                },
                filter,
                select,
                heads,
                ..Parts::default()
            })
        })();
        self.frames.pop();
        r.map(|(q, heads)| (q, heads.into_iter().map(|h| h.meta).collect()))
    }

    fn values(&mut self, v: &sp::Values, base: usize) -> SqlResult<(Query, Vec<Head>)> {
        self.frames.push(Frame::new(base, 0));
        let r = self.values_rows(v);
        let f = self.frames.pop().expect("pushed above");
        let (rows, types, heads) = r?;
        if !f.subqueries.is_empty() {
            return Err(SqlError::unsupported("subquery in VALUES"));
        }
        Ok((
            Query {
                body: Body::Values(rows),
                types,
                calc_found_rows: false,
            },
            heads,
        ))
    }

    #[allow(clippy::type_complexity)]
    fn values_rows(
        &mut self,
        v: &sp::Values,
    ) -> SqlResult<(Vec<Vec<Expr>>, Vec<SqlType>, Vec<Head>)> {
        let mut rows: Vec<Vec<Expr>> = Vec::new();
        let mut types: Vec<SqlType> = Vec::new();
        for row in &v.rows {
            let mut list = Vec::new();
            for e in &row.content {
                list.push(self.bind(e, "field list")?);
            }
            if rows.is_empty() {
                types = list.iter().map(|e| e.ty.clone()).collect();
            } else if list.len() != types.len() {
                return Err(SqlError::new(
                    1136,
                    format!(
                        "Column count doesn't match value count at row {}",
                        rows.len() + 1
                    ),
                ));
            } else {
                for (t, e) in types.iter_mut().zip(&list) {
                    *t = unify(t, &e.ty);
                }
            }
            rows.push(list);
        }
        let heads = types
            .iter()
            .enumerate()
            .map(|(n, ty)| Head {
                meta: computed(format!("column_{n}"), ty, true),
                nullable: true,
            })
            .collect();
        Ok((rows, types, heads))
    }

    /// Plans one SELECT.
    pub fn select(
        &mut self,
        s: &sp::Select,
        order: &[sp::OrderByExpr],
        limit: Option<&sp::LimitClause>,
        locks: &[sp::LockClause],
        base: usize,
    ) -> SqlResult<(Query, Vec<Head>)> {
        self.frames.push(Frame::new(base, from::count(&s.from)));
        let r = self.select_in_frame(s, order, limit, locks);
        self.frames.pop();
        r
    }

    fn select_in_frame(
        &mut self,
        s: &sp::Select,
        order: &[sp::OrderByExpr],
        limit: Option<&sp::LimitClause>,
        locks: &[sp::LockClause],
    ) -> SqlResult<(Query, Vec<Head>)> {
        if !s.named_window.is_empty() || s.qualify.is_some() || s.into.is_some() {
            return Err(SqlError::unsupported("this clause of SELECT"));
        }
        let mut from = self.bind_from(&s.from, locks)?;
        let modifiers = s.select_modifiers.as_ref();
        if modifiers.is_some_and(|m| m.straight_join)
            && let Some(super::joins::Tree::Inner { straight, .. }) = &mut from.tree
        {
            *straight = true;
        }
        let filter = match &s.selection {
            Some(e) => self.bind(e, "where clause")?.into_conjuncts(),
            None => Vec::new(),
        };
        self.frame().allow_aggregates = true;
        let (select, heads) = self.select_list(s)?;
        let count = select.len();
        self.frame().names = heads
            .iter()
            .zip(&select)
            .map(|(h, e)| (h.meta.name.clone(), e.clone()))
            .collect();
        self.frame().allow_aggregates = false;
        self.frame().aliases = Aliases::Last;
        let group_by = match &s.group_by {
            sp::GroupByExpr::Expressions(list, modifiers) => {
                if !modifiers.is_empty() {
                    return Err(SqlError::unsupported("WITH ROLLUP"));
                }
                list
            }
            sp::GroupByExpr::All(_) => return Err(SqlError::unsupported("GROUP BY ALL")),
        };
        let group_source = self.frame().group_source();
        let mut keys = Vec::new();
        for e in group_by {
            let k = match position(e) {
                Some(p) => select[checked_position(p, count, "group statement")?].clone(),
                None => self.bind(e, "group statement")?,
            };
            let mut aggregate = false;
            k.columns(&mut |s, _| aggregate |= s == group_source);
            if aggregate {
                return Err(SqlError::new(1056, format!("Can't group on '{e}'")));
            }
            keys.push(k);
        }
        self.frame().allow_aggregates = true;
        self.frame().aliases = Aliases::First;
        let having = match &s.having {
            Some(e) => self.bind(e, "having clause")?.into_conjuncts(),
            None => Vec::new(),
        };
        let mut order_keys = Vec::new();
        for o in order {
            let e = match position(&o.expr) {
                Some(p) => select[checked_position(p, count, "order clause")?].clone(),
                None => self.bind(&o.expr, "order clause")?,
            };
            order_keys.push((e, o.options.sort == Some(sp::OrderBySort::Desc)));
        }
        self.frame().aliases = Aliases::Hidden;
        let limit = self.limit(limit)?;
        self.assemble(Parts {
            from,
            filter,
            select,
            heads,
            distinct: matches!(s.distinct, Some(sp::Distinct::Distinct)),
            keys,
            grouped: !group_by.is_empty(),
            having,
            order: order_keys,
            limit,
            calc_found_rows: modifiers.is_some_and(|m| m.sql_calc_found_rows),
        })
    }

    /// Binds LIMIT.
    pub fn limit(&mut self, limit: Option<&sp::LimitClause>) -> SqlResult<Limit> {
        let (count, offset) = match limit {
            None => (None, None),
            Some(sp::LimitClause::OffsetCommaLimit { offset, limit }) => {
                (Some(limit), Some(offset))
            }
            Some(sp::LimitClause::LimitOffset { limit, offset, .. }) => {
                (limit.as_ref(), offset.as_ref().map(|o| &o.value))
            }
        };
        let mut one = |e: Option<&sp::Expr>| -> SqlResult<Option<Expr>> {
            let Some(e) = e else { return Ok(None) };
            let e = self.bind(e, "limit clause")?;
            let plain = match &e.kind {
                ExprKind::Param(_) => true,
                ExprKind::Literal(v) => {
                    matches!(v, Value::UInt(_)) || matches!(v, Value::Int(n) if *n >= 0)
                }
                _ => false,
            };
            if plain {
                Ok(Some(e))
            } else {
                Err(SqlError::syntax("LIMIT takes a number or a placeholder"))
            }
        };
        Ok(Limit {
            count: one(count)?,
            offset: one(offset)?,
        })
    }

    fn select_list(&mut self, s: &sp::Select) -> SqlResult<(Vec<Expr>, Vec<Head>)> {
        let at = s.select_token.0.span.start;
        let headings: Vec<String> = self
            .statement
            .headings
            .iter()
            .find(|h| h.0 == at)
            .map(|h| h.1.clone())
            .unwrap_or_default();
        let mut select = Vec::new();
        let mut heads = Vec::new();
        for (n, item) in s.projection.iter().enumerate() {
            let (e, name) = match item {
                sp::SelectItem::UnnamedExpr(e) => {
                    (e, headings.get(n).cloned().unwrap_or_else(|| e.to_string()))
                }
                sp::SelectItem::ExprWithAlias { expr, alias } => (expr, alias.value.clone()),
                sp::SelectItem::Wildcard(_) => {
                    if self.frame().sources.is_empty() {
                        return Err(SqlError::new(1096, "No tables used"));
                    }
                    self.star(None, &mut select, &mut heads)?;
                    continue;
                }
                sp::SelectItem::QualifiedWildcard(kind, _) => {
                    let sp::SelectItemQualifiedWildcardKind::ObjectName(name) = kind else {
                        return Err(SqlError::unsupported("this wildcard"));
                    };
                    self.star(Some(from::split_name(name)?), &mut select, &mut heads)?;
                    continue;
                }
                _ => return Err(SqlError::unsupported("this select item")),
            };
            let bound = self.bind(e, "field list")?;
            let named = matches!(item, sp::SelectItem::ExprWithAlias { .. });
            heads.push(self.head(&bound, name, named));
            select.push(bound);
        }
        Ok((select, heads))
    }

    /// `*`, `t.*`, `d.t.*`.
    fn star(
        &mut self,
        of: Option<(Option<String>, String)>,
        select: &mut Vec<Expr>,
        heads: &mut Vec<Head>,
    ) -> SqlResult<()> {
        let f = self.frames.last().expect("a block is being planned");
        let list: Vec<(usize, usize)> = match &of {
            None => f.visible.clone(),
            Some((database, table)) => {
                let found = f.reachable.iter().copied().find(|&s| {
                    f.sources[s].name == *table
                        && database
                            .as_ref()
                            .is_none_or(|d| f.sources[s].database == *d)
                });
                let Some(s) = found else {
                    return Err(SqlError::new(1051, format!("Unknown table '{table}'")));
                };
                (0..f.sources[s].columns()).map(|c| (s, c)).collect()
            }
        };
        for (s, c) in list {
            let f = self.frames.last().expect("a block is being planned");
            let e = f.column_expr(s, c);
            let name = f.sources[s].column(c).0.to_string();
            heads.push(self.head(&e, name, true));
            select.push(e);
        }
        Ok(())
    }

    /// What the client is told of a select item.
    fn head(&self, e: &Expr, name: String, named: bool) -> Head {
        let f = self.frames.last().expect("a block is being planned");
        if let ExprKind::Column { source, column, .. } = e.kind
            && source >= f.base
            && source - f.base < f.sources.len()
        {
            let s = &f.sources[source - f.base];
            let own = s.column(column).0;
            // A plain column shows its own name, in its own case.
            let name = if named { name } else { own.to_string() };
            let mut meta = computed(name, &e.ty, e.nullable);
            meta.table = s.name.clone();
            if let SourceKind::Table { schema, .. } = &s.kind {
                meta.database = s.database.clone();
                meta.org_table = s.table.clone();
                meta.org_name = own.to_string();
                meta.flags |= column_flags(schema, column);
            } else if let SourceKind::Virtual { .. } = &s.kind {
                meta.database = s.database.clone();
                meta.org_table = s.table.clone();
                meta.org_name = own.to_string();
            }
            return Head {
                meta,
                nullable: e.nullable,
            };
        }
        Head {
            meta: computed(name, &e.ty, e.nullable),
            nullable: e.nullable,
        }
    }

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
        let (gate, filter): (Vec<Expr>, Vec<Expr>) =
            p.filter.into_iter().partition(|e| needs(e) == 0);
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
        let sources = with_known(sources, &filter, base);
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
        let sorted = !grouped && joined.ordered;
        let types: Vec<SqlType> = p.select.iter().map(|e| e.ty.clone()).collect();
        let order = if sorted {
            Vec::new()
        } else {
            order
                .into_iter()
                .map(|(e, desc)| OrderKey {
                    expr: rich(e, source, &once),
                    desc,
                })
                .collect()
        };
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

/// Notes for virtual tables which columns are compared for equality with constants.
fn with_known(mut sources: Vec<Source>, filter: &[Expr], base: usize) -> Vec<Source> {
    for (n, s) in sources.iter_mut().enumerate() {
        if let SourceKind::Virtual { known, .. } = &mut s.kind {
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

/// A number in ORDER BY or GROUP BY is a position in the select list.
fn position(e: &sp::Expr) -> Option<u64> {
    match e {
        sp::Expr::Value(v) => match &v.value {
            sp::Value::Number(n, _) => n.parse().ok(),
            _ => None,
        },
        _ => None,
    }
}

fn checked_position(p: u64, count: usize, clause: &str) -> SqlResult<usize> {
    if p >= 1 && p <= count as u64 {
        Ok(p as usize - 1)
    } else {
        Err(SqlError::new(
            1054,
            format!("Unknown column '{p}' in '{clause}'"),
        ))
    }
}

/// A computed column's description.
pub fn computed(name: String, ty: &SqlType, nullable: bool) -> ColumnMeta {
    ColumnMeta {
        database: String::new(),
        table: String::new(),
        org_table: String::new(),
        name,
        org_name: String::new(),
        ty: ty.clone(),
        flags: ty.protocol_flags() | if nullable { 0 } else { FLAG_NOT_NULL },
    }
}

fn column_flags(schema: &crate::types::Schema, column: usize) -> u16 {
    let c = &schema.columns[column];
    let mut flags = 0;
    if c.auto_increment {
        flags |= FLAG_AUTO_INCREMENT;
    }
    if !c.nullable && c.default == DefaultValue::None && !c.auto_increment {
        flags |= FLAG_NO_DEFAULT;
    }
    for (n, i) in schema.indexes.iter().enumerate() {
        let Some(at) = i.parts.iter().position(|p| p.column == column) else {
            continue;
        };
        if n == 0 && i.name == "PRIMARY" {
            flags |= FLAG_PRI_KEY;
        } else if at == 0 {
            flags |= if i.unique && i.parts.len() == 1 {
                FLAG_UNIQUE_KEY
            } else {
                FLAG_MULTIPLE_KEY
            };
        }
    }
    flags
}

/// The type that holds values of both.
pub fn unify(a: &SqlType, b: &SqlType) -> SqlType {
    use crate::types::BaseType as B;
    if a == b || b.base == B::Null {
        return a.clone();
    }
    if a.base == B::Null {
        return b.clone();
    }
    if a.is_integer() && b.is_integer() {
        return if a.unsigned == b.unsigned {
            let mut t = if a.unsigned {
                SqlType::ubigint()
            } else {
                SqlType::bigint()
            };
            t.length = a.length.max(b.length);
            t
        } else {
            SqlType::decimal(20, 0)
        };
    }
    if a.is_numeric() && b.is_numeric() {
        let exact = |t: &SqlType| t.is_integer() || t.base == B::Decimal;
        if exact(a) && exact(b) {
            let scale = |t: &SqlType| if t.is_integer() { 0 } else { t.decimals };
            let whole = |t: &SqlType| {
                if t.is_integer() {
                    20
                } else {
                    t.length.saturating_sub(u32::from(t.decimals))
                }
            };
            let s = scale(a).max(scale(b));
            return SqlType::decimal((whole(a).max(whole(b)) + u32::from(s)).min(65), s);
        }
        return SqlType::double();
    }
    if a.base == b.base && !a.is_string() {
        let mut t = a.clone();
        t.length = a.length.max(b.length);
        t.decimals = a.decimals.max(b.decimals);
        return t;
    }
    if a.is_temporal() && b.is_temporal() && a.base != B::Time && b.base != B::Time {
        return SqlType::datetime(a.decimals.max(b.decimals));
    }
    let width = |t: &SqlType| if t.is_string() { t.length } else { 40 };
    let collation = if a.is_string() && b.is_string() {
        conditions::string_collation(a, b)
    } else if a.is_string() {
        a.collation
    } else if b.is_string() {
        b.collation
    } else {
        crate::types::Collation::Utf8mb4GeneralCi
    };
    if a.is_blob() || b.is_blob() {
        let mut t = if a.is_blob() { a.clone() } else { b.clone() };
        t.collation = collation;
        t.length = t.length.max(width(a)).max(width(b));
        return t;
    }
    SqlType::varchar(width(a).max(width(b)), collation)
}

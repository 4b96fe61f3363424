//! Whole queries: WITH, UNION, VALUES, TABLE, and the queries that SHOW and SET make.

use super::access::{self};
use super::assemble::Parts;
use super::exists::Exists;
use super::from;
use super::heads::{Head, computed, unify};
use super::nodes::{
    Body, DerivedColumn, Limit, OrderKey, Query, Source, SourceKind, Union, VirtualRef,
};
use super::scope::{Aliases, Cte, Frame, Planner};
use super::select::{checked_position, position};
use crate::error::{SqlError, SqlResult};
use crate::expr::Expr;
use crate::expr::bind::coercion::made_of;
use crate::parse::{ShowFilter, sp};
use crate::result::ColumnMeta;
use crate::show::VirtualTable;
use crate::types::SqlType;
use crate::value::Value;
use std::sync::Arc;

/// A query within others, its columns, and which of their columns it reads: (source, column).
pub type Nested = (Query, Vec<Head>, Vec<(usize, usize)>);

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
    /// Plans a query inside of blocks with `base` sources, in their scope.
    pub fn nested_query(&mut self, q: &sp::Query, base: usize) -> SqlResult<Nested> {
        let depth = self.frames.len();
        // A frame without sources stands between, to collect what is read of the blocks around.
        self.frames.push(Frame::new(base, 0));
        let planned = self.query(q, base);
        self.frames.truncate(depth + 1);
        let collector = self.frames.pop().expect("pushed above");
        let (planned, heads) = planned?;
        let mut outer: Vec<(usize, usize)> = collector
            .outer
            .into_iter()
            .filter(|(s, _)| *s < base)
            .collect();
        outer.sort_unstable();
        outer.dedup();
        Ok((planned, heads, outer))
    }

    /// Plans a query inside of blocks with `base` sources.
    pub fn query(&mut self, q: &sp::Query, base: usize) -> SqlResult<(Query, Vec<Head>)> {
        let ctes = self.ctes.len();
        let r = match &q.with {
            Some(with) => self.with(with),
            None => Ok(()),
        };
        let r = r.and_then(|()| self.query_body(q, base));
        self.ctes.truncate(ctes);
        r
    }

    /// Brings the queries of a WITH into scope.
    pub fn with(&mut self, with: &sp::With) -> SqlResult<()> {
        if with.recursive {
            return Err(SqlError::unsupported("WITH RECURSIVE"));
        }
        let ctes = self.ctes.len();
        for c in &with.cte_tables {
            let name = &c.alias.name.value;
            let same = |other: &Cte| other.name.eq_ignore_ascii_case(name);
            if self.ctes[ctes..].iter().any(same) {
                let m = format!("Not unique table/alias: '{name}'");
                return Err(SqlError::new(1066, m));
            }
            let columns = c.alias.columns.iter();
            self.ctes.push(Cte {
                name: name.clone(),
                columns: columns.map(|c| c.name.value.clone()).collect(),
                query: (*c.query).clone(),
                planned: None,
            });
        }
        Ok(())
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
                self.exists = Exists::Plain;
                // The tables of a UNION cannot be named in ON DUPLICATE KEY UPDATE.
                let duplicates = self.duplicates.take();
                let mut arms = Vec::new();
                let mut heads = Vec::new();
                self.arms(body, false, base, &mut arms, &mut heads)?;
                self.duplicates = duplicates;
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
                a.unite(&b);
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
                    .map(|h| DerivedColumn {
                        name: h.meta.name.clone(),
                        ty: h.meta.ty.clone(),
                        nullable: h.nullable,
                        hold: h.hold,
                    })
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
        // It is written in the first SELECT and means the whole.
        let calc_found_rows = arms.first().is_some_and(|(q, _)| q.calc_found_rows);
        Ok((
            Query {
                body: Body::Union(Box::new(Union {
                    arms,
                    order,
                    limit,
                    base,
                })),
                types,
                calc_found_rows,
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
                    read: None,
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
                hold: made_of(rows.iter().map(|row| &row[n])),
            })
            .collect();
        Ok((rows, types, heads))
    }
}

//! Whole queries: WITH, UNION, VALUES, TABLE, and the queries that SHOW and SET make.

use super::from;
use super::heads::{Head, computed, unify};
use super::scope::{Aliases, Binder, Cte};
use super::select::{checked_position, position};
use crate::error::{SqlError, SqlResult};
use crate::expr::Expr;
use crate::expr::bind::coercion::made_of;
use crate::logical::{
    Block, Body, DerivedColumn, Hints, Limit, OrderKey, Query, Table, TableKind, Tree, Union,
    VirtualRef,
};
use crate::parse::{ShowFilter, sp};
use crate::result::ColumnMeta;
use crate::show::VirtualTable;
use crate::types::SqlType;
use std::sync::Arc;

impl Query {
    /// A SELECT with these columns.
    pub fn of(block: Block) -> Query {
        Query {
            types: block.select.iter().map(|e| e.ty.clone()).collect(),
            body: Body::Block(Box::new(block)),
            calc_found_rows: false,
        }
    }
}

impl Binder<'_, '_> {
    /// Binds a query in the scope of the blocks around it.
    pub fn query(&mut self, q: &sp::Query) -> SqlResult<(Query, Vec<Head>)> {
        let ctes = self.ctes.len();
        let r = match &q.with {
            Some(with) => self.with(with),
            None => Ok(()),
        };
        let r = r.and_then(|()| self.query_body(q));
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
                bound: None,
            });
        }
        Ok(())
    }

    fn query_body(&mut self, q: &sp::Query) -> SqlResult<(Query, Vec<Head>)> {
        let order: &[sp::OrderByExpr] = match q.order_by.as_ref().map(|o| &o.kind) {
            None => &[],
            Some(sp::OrderByKind::Expressions(list)) => list,
            Some(sp::OrderByKind::All(_)) => return Err(SqlError::unsupported("ORDER BY ALL")),
        };
        let limit = q.limit_clause.as_ref();
        match &*q.body {
            sp::SetExpr::Select(s) => self.select(s, order, limit, &q.locks),
            sp::SetExpr::Query(inner) if order.is_empty() && limit.is_none() => self.query(inner),
            body => {
                // The tables of a UNION cannot be named in ON DUPLICATE KEY UPDATE.
                let duplicates = self.duplicates.take();
                let mut arms = Vec::new();
                let mut heads = Vec::new();
                self.arms(body, false, &mut arms, &mut heads)?;
                self.duplicates = duplicates;
                if arms.len() == 1 && order.is_empty() && limit.is_none() {
                    let (q, _) = arms.pop().expect("one arm");
                    return Ok((q, heads));
                }
                self.union(arms, heads, order, limit)
            }
        }
    }

    fn arms(
        &mut self,
        body: &sp::SetExpr,
        distinct: bool,
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
                self.arms(first, distinct, arms, heads)?;
                for (right, quantifier) in rights.into_iter().rev() {
                    let all = matches!(quantifier, sp::SetQuantifier::All);
                    self.arms(right, !all, arms, heads)?;
                }
                return Ok(());
            }
            sp::SetExpr::Select(s) => self.select(s, &[], None, &[])?,
            sp::SetExpr::Query(q) => self.query(q)?,
            sp::SetExpr::Values(v) => self.values(v)?,
            sp::SetExpr::Table(t) => {
                let name = t.table_name.clone().unwrap_or_default();
                let mut parts = Vec::new();
                if let Some(d) = &t.schema_name {
                    parts.push(sp::Ident::with_quote('`', d));
                }
                parts.push(sp::Ident::with_quote('`', name));
                self.whole_table(sp::ObjectName::from(parts))?
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
    ) -> SqlResult<(Query, Vec<Head>)> {
        let types: Vec<SqlType> = heads.iter().map(|h| h.meta.ty.clone()).collect();
        let columns = heads.iter().map(|h| DerivedColumn {
            name: h.meta.name.clone(),
            ty: h.meta.ty.clone(),
            nullable: h.nullable,
            hold: h.hold,
        });
        let row = self.arena.table_id();
        self.open_frame_over(Table::row(row, String::new(), columns.collect()));
        let built = self.union_order(order, limit, heads.len());
        self.frames.pop();
        let (order, limit) = built?;
        // It is written in the first SELECT and means the whole.
        let calc_found_rows = arms.first().is_some_and(|(q, _)| q.calc_found_rows);
        Ok((
            Query {
                body: Body::Union(Box::new(Union {
                    arms,
                    row,
                    order,
                    limit,
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
            if expr.has_subquery() {
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

    fn whole_table(&mut self, name: sp::ObjectName) -> SqlResult<(Query, Vec<Head>)> {
        let (database, table) = from::split_name(&name)?;
        let table = self.table_source(database, &table, None, &[])?;
        let from = Some(Tree::Leaf(table.id));
        self.open_frame_over(table);
        let mut select = Vec::new();
        let mut heads = Vec::new();
        let r = self.star(None, &mut select, &mut heads);
        let f = self.frames.pop().expect("pushed above");
        r?;
        let block = Block {
            tables: f.tables,
            from,
            select,
            ..Block::default()
        };
        Ok((Query::of(block), heads))
    }

    /// `SELECT list`, without FROM.
    pub fn expressions(&mut self, list: &[sp::Expr]) -> SqlResult<(Query, Vec<Head>)> {
        self.open_frame();
        let r = self.expression_list(list);
        self.frames.pop();
        let (select, heads) = r?;
        let block = Block {
            select,
            ..Block::default()
        };
        Ok((Query::of(block), heads))
    }

    fn expression_list(&mut self, list: &[sp::Expr]) -> SqlResult<(Vec<Expr>, Vec<Head>)> {
        let mut select = Vec::new();
        let mut heads = Vec::new();
        for e in list {
            let bound = self.bind(e, "field list")?;
            heads.push(self.head(&bound, e.to_string(), true));
            select.push(bound);
        }
        Ok((select, heads))
    }

    /// See [`crate::plan::compile_virtual`].
    pub fn virtual_query(
        &mut self,
        table: Arc<dyn VirtualTable>,
        columns: &[(usize, Option<&str>)],
        like: usize,
        filter: &ShowFilter,
    ) -> SqlResult<(Query, Vec<ColumnMeta>)> {
        let id = self.arena.table_id();
        self.open_frame_over(Table {
            id,
            name: table.name().to_string(),
            database: table.database().to_string(),
            table: table.name().to_string(),
            kind: TableKind::Virtual(VirtualRef(table.clone())),
            hints: Hints::default(),
        });
        let mut select = Vec::new();
        let mut heads = Vec::new();
        for &(c, heading) in columns {
            let f = self.frame();
            let e = f.column_expr(0, c);
            let name = heading
                .unwrap_or_else(|| f.tables[0].column(c).0)
                .to_string();
            heads.push(self.head(&e, name.clone(), true).meta);
            select.push(e.clone());
            // WHERE names the headings shown.
            self.frame().names.push((name, e));
        }
        let filter = self.shown(filter, table.columns()[like].name);
        let f = self.frames.pop().expect("pushed above");
        let block = Block {
            tables: f.tables,
            from: Some(Tree::Leaf(id)),
            filter: filter?,
            select,
            ..Block::default()
        };
        Ok((Query::of(block), heads))
    }

    /// The conditions of SHOW; LIKE is about the column of this name.
    fn shown(&mut self, filter: &ShowFilter, like: &str) -> SqlResult<Vec<Expr>> {
        Ok(match filter {
            ShowFilter::None => Vec::new(),
            ShowFilter::Like(pattern) => {
                let name = sp::Ident::with_quote('`', like);
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
            ShowFilter::Where(e) => {
                self.frame().aliases = Aliases::First;
                self.bind(e, "where clause")?.into_conjuncts()
            }
        })
    }

    fn values(&mut self, v: &sp::Values) -> SqlResult<(Query, Vec<Head>)> {
        self.open_frame();
        let r = self.values_rows(v);
        self.frames.pop();
        let (rows, types, heads) = r?;
        if rows.iter().flatten().any(Expr::has_subquery) {
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

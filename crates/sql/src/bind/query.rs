//! Whole queries: WITH, UNION, INTERSECT, EXCEPT, VALUES, TABLE, and the queries that SHOW and SET make.

use super::dml::select_strings;
use super::from;
use super::heads::{Head, unify};
use super::scope::{Aliases, Binder, Cte};
use super::select::{checked_position, is_descending, position};
use crate::env::VirtualTable;
use crate::error::{SqlError, SqlResult};
use crate::expr::Expr;
use crate::expr::bind::GLOBAL_ORDER;
use crate::expr::bind::coercion::made_of;
use crate::logical::{
    Block, Body, DerivedColumn, Hints, Limit, OrderKey, Query, SetOp, SetOperation, Table,
    TableKind, Tree, VirtualRef,
};
use crate::parse::ast;
use crate::result::ColumnMeta;
use crate::types::SqlType;
use std::borrow::Cow;
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
    pub fn query(&mut self, q: &ast::Query) -> SqlResult<(Query, Vec<Head>)> {
        self.allow_into(q.into_clause())?;
        let ctes = self.ctes.len();
        let r = match q.with() {
            Some(with) => self.with(with),
            None => Ok(()),
        };
        let r = r.and_then(|()| self.query_body(q));
        self.ctes.truncate(ctes);
        r
    }

    /// Brings the queries of a WITH into scope.
    pub fn with(&mut self, with: &ast::With) -> SqlResult<()> {
        let ctes = self.ctes.len();
        for c in &with.queries {
            let name = c.name.as_str();
            let same = |other: &Cte| other.name == name;
            if self.ctes[ctes..].iter().any(same) {
                let m = format!("Not unique table/alias: '{name}'");
                return Err(SqlError::new(1066, m));
            }
            self.ctes.push(Cte {
                name: name.to_string(),
                columns: from::names_of(&c.columns),
                query: c.query.clone(),
                bound: None,
                recursive: with.recursive,
                recursion: None,
            });
        }
        Ok(())
    }

    fn query_body(&mut self, q: &ast::Query) -> SqlResult<(Query, Vec<Head>)> {
        let (order, limit) = (q.order_by(), q.limit());
        match &*q.body.tree() {
            ast::QueryBody::Select(s) => self.select(s, order, limit, q.locks()),
            ast::QueryBody::Parens(inner) if order.is_empty() && limit.is_none() => {
                self.query(inner)
            }
            body => {
                // The tables of a UNION cannot be named in ON DUPLICATE KEY UPDATE.
                let duplicates = self.duplicates.take();
                let mut arms = Vec::new();
                let mut heads = Vec::new();
                self.arms(body, &mut arms, &mut heads)?;
                self.duplicates = duplicates;
                if arms.len() == 1 && order.is_empty() && limit.is_none() {
                    let (q, _) = arms.pop().expect("one arm");
                    return Ok((q, heads));
                }
                self.union(arms, heads, order, limit)
            }
        }
    }

    /// The parts of a UNION, or the one part that a query is. What stands before an INTERSECT or EXCEPT becomes one part with what
    /// follows it.
    fn arms(
        &mut self,
        body: &ast::QueryBody,
        arms: &mut Vec<(Query, bool)>,
        heads: &mut Vec<Head>,
    ) -> SqlResult<()> {
        let body = &*body.tree();
        let ast::QueryBody::Set(set) = body else {
            return self.arm(body, false, arms, heads);
        };
        self.arm(&set.first, false, arms, heads)?;
        for part in &set.rest {
            let op = match part.op {
                ast::SetOp::Union => {
                    self.arm(&part.body, !part.all, arms, heads)?;
                    continue;
                }
                ast::SetOp::Except => SetOp::Except,
                ast::SetOp::Intersect => SetOp::Intersect,
            };
            let left = self.whole(std::mem::take(arms), heads);
            let mut two = vec![(left, false)];
            self.arm(&part.body, !part.all, &mut two, heads)?;
            arms.push((self.set_operation(op, two, heads), false));
        }
        Ok(())
    }

    /// The parts of a UNION as one query.
    fn whole(&mut self, mut arms: Vec<(Query, bool)>, heads: &[Head]) -> Query {
        match arms.len() {
            1 => arms.swap_remove(0).0,
            _ => self.set_operation(SetOp::Union, arms, heads),
        }
    }

    /// A set operation without ORDER BY and LIMIT.
    pub fn set_operation(
        &mut self,
        op: SetOp,
        mut arms: Vec<(Query, bool)>,
        heads: &[Head],
    ) -> Query {
        let types = heads.iter().map(|h| &h.meta.ty).enumerate();
        let strings: Vec<(usize, &SqlType)> = types.filter(|(_, ty)| ty.is_string()).collect();
        for (arm, _) in &mut arms {
            select_strings(arm, &strings, self);
        }
        Query {
            // It is written in the first SELECT and means the whole.
            calc_found_rows: arms.first().is_some_and(|(q, _)| q.calc_found_rows),
            types: heads.iter().map(|h| h.meta.ty.clone()).collect(),
            body: Body::Set(Box::new(SetOperation {
                op,
                arms,
                row: self.arena.table_id(),
                order: Vec::new(),
                limit: Limit::default(),
            })),
        }
    }

    /// Binds one part of a UNION and adds it to those before it.
    pub fn arm(
        &mut self,
        body: &ast::QueryBody,
        distinct: bool,
        arms: &mut Vec<(Query, bool)>,
        heads: &mut Vec<Head>,
    ) -> SqlResult<()> {
        let (query, h) = match &*body.tree() {
            ast::QueryBody::Select(s) => {
                self.select(s, &ast::Items::EMPTY, None, &ast::Items::EMPTY)?
            }
            ast::QueryBody::Parens(q) => self.query(q)?,
            ast::QueryBody::Values(rows) => self.values(rows)?,
            ast::QueryBody::Table(name) => self.whole_table(name)?,
            set @ (ast::QueryBody::Set(_) | ast::QueryBody::Held(_)) => {
                let (mut arms, mut heads) = (Vec::new(), Vec::new());
                self.arms(set, &mut arms, &mut heads)?;
                (self.whole(arms, &heads), heads)
            }
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

    /// UNION, or ORDER BY and LIMIT of another query.
    fn union(
        &mut self,
        arms: Vec<(Query, bool)>,
        heads: Vec<Head>,
        order: &ast::Items<ast::OrderItem>,
        limit: Option<&ast::Limit>,
    ) -> SqlResult<(Query, Vec<Head>)> {
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
        let mut query = self.set_operation(SetOp::Union, arms, &heads);
        if let Body::Set(set) = &mut query.body {
            (set.row, set.order, set.limit) = (row, order, limit);
        }
        Ok((query, heads))
    }

    fn union_order(
        &mut self,
        order: &ast::Items<ast::OrderItem>,
        limit: Option<&ast::Limit>,
        columns: usize,
    ) -> SqlResult<(Vec<OrderKey>, Limit)> {
        let mut keys = Vec::new();
        for o in order {
            let expr = match position(&o.expr) {
                Some(p) => {
                    let at = checked_position(p, columns, "order clause")?;
                    self.frame().column_expr(0, at)
                }
                None => match self.bind(&o.expr, "order clause") {
                    Err(e) if e.code == 1054 => self.bind(&o.expr, GLOBAL_ORDER)?,
                    bound => bound?,
                },
            };
            if expr.has_subquery() {
                return Err(SqlError::unsupported("subquery in a union's ORDER BY"));
            }
            keys.push(OrderKey {
                expr,
                desc: is_descending(&o),
            });
        }
        let limit = self.limit(limit)?;
        Ok((keys, limit))
    }

    fn whole_table(&mut self, name: &ast::ObjectName) -> SqlResult<(Query, Vec<Head>)> {
        let table = self.table_source(name, None, &ast::Items::EMPTY)?;
        let from = Some(Tree::Leaf(table.id));
        self.open_frame_over(table);
        let mut select = Vec::new();
        let mut heads = Vec::new();
        let r = self.star(None, &mut select, &mut heads);
        let f = self.frames.pop().expect("pushed above");
        r?;
        self.note_whole_table(name, &select, &f.tables[0]);
        let block = Block {
            tables: f.tables,
            from,
            select,
            ..Block::default()
        };
        Ok((Query::of(block), heads))
    }

    /// `SELECT list`, without FROM.
    pub fn expressions<'e>(
        &mut self,
        list: impl Iterator<Item = Cow<'e, ast::Expr>>,
    ) -> SqlResult<(Query, Vec<Head>)> {
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

    fn expression_list<'e>(
        &mut self,
        list: impl Iterator<Item = Cow<'e, ast::Expr>>,
    ) -> SqlResult<(Vec<Expr>, Vec<Head>)> {
        let mut select = Vec::new();
        let mut heads = Vec::new();
        for e in list {
            let bound = self.bind(&e, "field list")?;
            heads.push(self.head(&bound, e.to_string(), true));
            select.push(bound);
        }
        Ok((select, heads))
    }

    /// See [`crate::planner::compile_virtual`].
    pub fn virtual_query(
        &mut self,
        table: Arc<dyn VirtualTable>,
        columns: &[(usize, Option<&str>)],
        like: usize,
        filter: Option<&ast::ShowFilter>,
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
    fn shown(&mut self, filter: Option<&ast::ShowFilter>, like: &str) -> SqlResult<Vec<Expr>> {
        Ok(match filter {
            None => Vec::new(),
            Some(ast::ShowFilter::Like(pattern)) => {
                let here = |kind| ast::Expr::new(kind, millpond_syntax::Span::default());
                let column = ast::ColumnRef::new(None, None, like.into());
                let pattern = ast::Literal::Text(pattern.as_str().into(), None);
                let e = ast::ExprKind::Like(Box::new(ast::Like {
                    negated: false,
                    value: here(ast::ExprKind::Column(column)),
                    pattern: here(ast::ExprKind::Literal(Box::new(pattern))),
                    escape: None,
                }));
                self.frame().aliases = Aliases::Hidden;
                vec![self.bind(&here(e), "where clause")?]
            }
            Some(ast::ShowFilter::Where(e)) => {
                self.frame().aliases = Aliases::First;
                self.bind(e, "where clause")?.into_conjuncts()
            }
        })
    }

    fn values(&mut self, v: &ast::Rows) -> SqlResult<(Query, Vec<Head>)> {
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
        v: &ast::Rows,
    ) -> SqlResult<(Vec<Vec<Expr>>, Vec<SqlType>, Vec<Head>)> {
        let mut rows: Vec<Vec<Expr>> = Vec::new();
        let mut types: Vec<SqlType> = Vec::new();
        super::each_row(v, &mut |row| {
            let mut list = Vec::with_capacity(row.len());
            for e in row {
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
            Ok(())
        })?;
        let heads = types
            .iter()
            .enumerate()
            .map(|(n, ty)| Head {
                meta: ColumnMeta::computed(format!("column_{n}"), ty, true),
                nullable: true,
                hold: made_of(rows.iter().map(|row| &row[n])),
            })
            .collect();
        Ok((rows, types, heads))
    }
}

//! SELECT: binding its clauses in MySQL's order.

use super::duplicates::OnDuplicate;
use super::group;
use super::heads::{Head, column_flags};
use super::scope::{Aliases, Binder, ROW_ID};
use super::table_clauses;
use super::window::Windows;
use crate::error::{SqlError, SqlResult};
use crate::expr::bind::coercion::hold_of;
use crate::expr::bind::{as_read, by_value, name_cast};
use crate::expr::{Expr, ExprKind};
use crate::logical::{Block, Group, Limit, OrderKey, Query, TableKind, Tree};
use crate::parse::ast;
use crate::result::{ColumnMeta, FLAG_ENUM, FLAG_SET};
use crate::types::{BaseType, Collation, SqlType};
use crate::value::Value;

/// A whole number that MySQL keeps in a BIGINT where the text of a statement has it, and all that are greater.
const LONG: u64 = 100_000_000;

/// Error code: a column that there is not.
const UNKNOWN_COLUMN: u16 = 1054;

impl<'p> Binder<'p, '_> {
    /// Binds one SELECT.
    pub fn select(
        &mut self,
        s: &ast::Select,
        order: &ast::Items<ast::OrderItem>,
        limit: Option<&ast::Limit>,
        locks: &ast::Items<ast::Lock>,
    ) -> SqlResult<(Query, Vec<Head>)> {
        self.open_frame();
        let depth = self.frames.len();
        let exists = std::mem::take(&mut self.exists);
        let r = self.select_in_frame(s, order, limit, locks, exists);
        self.frames.truncate(depth - 1);
        r
    }

    fn select_in_frame(
        &mut self,
        s: &ast::Select,
        order: &ast::Items<ast::OrderItem>,
        limit: Option<&ast::Limit>,
        locks: &ast::Items<ast::Lock>,
        exists: bool,
    ) -> SqlResult<(Query, Vec<Head>)> {
        self.check_clauses(s)?;
        if s.rollup() {
            self.begin_rollup();
        }
        let duplicates = self.duplicates.take();
        let mut from = self.bind_from(&s.from, locks)?;
        table_clauses::check_locks(locks, &self.frame().tables)?;
        if s.options.straight_join
            && let Some(Tree::Inner { straight, .. }) = &mut from
        {
            *straight = true;
        }
        let mut filter = match &s.filter {
            Some(e) => match self.bind(e, "where clause") {
                Ok(filter) => filter.into_conjuncts(),
                // What the list has that is unknown is told first.
                Err(e) if e.code == UNKNOWN_COLUMN => {
                    self.frame().allow_aggregates = true;
                    self.frame().windows.allowed = true;
                    return match self.select_list(s, exists) {
                        Err(first) if first.code == UNKNOWN_COLUMN => Err(first),
                        _ => Err(e),
                    };
                }
                Err(e) => return Err(e),
            },
            None => Vec::new(),
        };
        for condition in &mut filter {
            self.find_generated(condition);
        }
        self.name_windows(s.windows())?;
        self.frame().allow_aggregates = true;
        self.frame().windows.allowed = true;
        self.frame().listing = true;
        let (mut select, mut heads) = self.select_list(s, exists)?;
        self.frame().listing = false;
        self.frame().windows.allowed = false;
        self.frame().names = heads
            .iter()
            .zip(&select)
            .map(|(h, e)| (h.meta.name.clone(), e.clone()))
            .collect();
        self.frame().allow_aggregates = false;
        self.frame().aliases = Aliases::Last;
        let keys = self.group_keys(s.group_by(), &select)?;
        self.frame().allow_aggregates = true;
        self.frame().aliases = Aliases::First;
        let having = match s.having() {
            Some(e) => self.bind(e, "having clause")?.into_conjuncts(),
            None => Vec::new(),
        };
        self.check_windows(&keys, &having)?;
        self.frame().windows.allowed = true;
        let order = self.order_keys(order, &select)?;
        self.frame().windows.allowed = false;
        self.frame().aliases = Aliases::Hidden;
        let limit = self.limit(limit)?;
        let distinct = s.options.distinct;
        let explicit = !keys.is_empty();
        let grouped = explicit || !self.frame().aggregates.is_empty();
        if !grouped
            && !distinct
            && self.frame().windows.is_empty()
            && let Some(on) = duplicates
        {
            self.carry(on, &mut select, &mut heads)?;
        } else {
            self.duplicates = duplicates;
        }
        let f = self.frames.last_mut().expect("a block is being bound");
        let aggregates = std::mem::take(&mut f.aggregates);
        let mut block = Block {
            tables: std::mem::take(&mut f.tables),
            from,
            filter,
            group: grouped.then_some(Group {
                id: f.group,
                keys,
                explicit,
                rolled: false,
                aggregates,
            }),
            having,
            select,
            distinct,
            order,
            limit,
        };
        block.order.retain(|o| !o.expr.is_const());
        if grouped && self.cx.env.sql_mode.get().only_full_group_by {
            group::check(&block, &self.arena)?;
        }
        let none = Windows::new(self.frame().group);
        let mut windows = std::mem::replace(&mut self.frame().windows, none);
        let kept = !windows.is_empty();
        let keys: Vec<String> = match &block.group {
            Some(g) if self.frame().rollup.is_none() => {
                g.keys.iter().map(|k| self.arena.text(k)).collect()
            }
            _ => Vec::new(),
        };
        for (e, head) in block.select.iter_mut().zip(&mut heads) {
            let key = e.ty.chosen && keys.contains(&self.arena.text(e));
            if kept || key || distinct && !e.is_const() {
                e.ty.chosen = false;
                head.meta.ty.chosen = false;
            }
            if explicit && head.meta.ty.base == BaseType::Null && !e.is_const() {
                head.meta.ty = SqlType::varchar(0, Collation::Binary);
            }
        }
        if let Some(rollup) = self.frame().rollup.take() {
            self.roll_up(rollup, &mut block, &mut windows, &mut heads)?;
        }
        // An implicit group has one row: nothing to sort.
        if grouped && !explicit {
            block.order.clear();
        }
        if !windows.is_empty() {
            block = self.part_windows(windows, block)?;
        }
        let mut query = Query::of(block);
        query.calc_found_rows = s.options.calc_found_rows;
        Ok((query, heads))
    }

    /// What a SELECT may not have, or not yet.
    fn check_clauses(&self, s: &ast::Select) -> SqlResult<()> {
        self.allow_into(s.into_clause())?;
        if s.options.distinct && s.options.all {
            return Err(SqlError::new(1221, "Incorrect usage of ALL and DISTINCT"));
        }
        Ok(())
    }

    /// Neither groups nor HAVING see the results of window functions.
    fn check_windows(&mut self, keys: &[Expr], having: &[Expr]) -> SqlResult<()> {
        let f = self.frame();
        let Some(e) = keys.iter().chain(having).find(|e| f.windows.are_in(e)) else {
            return Ok(());
        };
        let text = e.to_string();
        let alias = f
            .names
            .iter()
            .find(|(_, own)| f.windows.are_in(own) && text.contains(&own.to_string()));
        let name = alias.map_or_else(|| e.to_string(), |(name, _)| name.clone());
        let m = format!(
            "You cannot use the alias '{name}' of an expression containing a window function in this context.'"
        );
        Err(SqlError::new(3594, m))
    }

    fn group_keys(
        &mut self,
        list: &ast::Items<ast::OrderItem>,
        select: &[Expr],
    ) -> SqlResult<Vec<Expr>> {
        let group = self.frame().group;
        let mut keys = Vec::new();
        for item in list {
            let e = &item.expr;
            let k = match position(e) {
                Some(p) => select[checked_position(p, select.len(), "group statement")?].clone(),
                None => self.bind(e, "group statement")?,
            };
            let mut aggregate = false;
            k.columns(&mut |s, _| aggregate |= s == group);
            if aggregate {
                return Err(SqlError::new(1056, format!("Can't group on '{e}'")));
            }
            keys.push(k);
        }
        Ok(keys)
    }

    fn order_keys(
        &mut self,
        order: &ast::Items<ast::OrderItem>,
        select: &[Expr],
    ) -> SqlResult<Vec<OrderKey>> {
        let mut keys = Vec::new();
        for o in order {
            self.frame().aliases = if is_bare(&o.expr) {
                Aliases::First
            } else {
                Aliases::Last
            };
            let expr = match position(&o.expr) {
                Some(p) => select[checked_position(p, select.len(), "order clause")?].clone(),
                None => self.bind(&o.expr, "order clause")?,
            };
            let desc = is_descending(&o);
            keys.push(OrderKey { expr, desc });
        }
        Ok(keys)
    }

    /// Binds the ON DUPLICATE KEY UPDATE of the INSERT that this SELECT is for; the columns it reads of the tables here join the
    /// select list.
    fn carry(
        &mut self,
        on: OnDuplicate<'p>,
        select: &mut Vec<Expr>,
        heads: &mut Vec<Head>,
    ) -> SqlResult<()> {
        let f = self.frame();
        let (tables, shown) = (std::mem::take(&mut f.tables), f.visible.clone());
        let read = self.on_duplicate(on, &tables, &shown);
        self.frame().tables = tables;
        for (s, c) in read? {
            let f = self.frames.last().expect("a block is being bound");
            let e = f.column_expr(s, c);
            heads.push(self.head(&e, String::new(), true));
            select.push(e);
        }
        Ok(())
    }

    /// Binds LIMIT.
    pub fn limit(&mut self, limit: Option<&ast::Limit>) -> SqlResult<Limit> {
        let count = limit.map(|l| &l.count);
        let offset = limit.and_then(|l| l.offset.as_ref());
        let mut one = |e: Option<&ast::Expr>| -> SqlResult<Option<Expr>> {
            let Some(e) = e else { return Ok(None) };
            let e = self.bind(e, "limit clause")?;
            let plain = match &e.kind {
                ExprKind::Param(_) => true,
                ExprKind::Local(..) => e.ty.is_integer(),
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

    fn select_list(&mut self, s: &ast::Select, exists: bool) -> SqlResult<(Vec<Expr>, Vec<Head>)> {
        let mut select = Vec::with_capacity(s.items.len());
        let mut heads = Vec::with_capacity(s.items.len());
        // Columns before each item, for who writes the list out.
        let mut counts = Vec::new();
        for item in &s.items {
            if self.names.is_some() {
                counts.push(heads.len());
            }
            let (e, alias, source) = match &*item {
                ast::SelectItem::Expr {
                    expr,
                    alias,
                    source,
                } => (expr, alias, *source),
                ast::SelectItem::Wildcard => {
                    if self.frame().tables.is_empty() {
                        return Err(SqlError::new(1096, "No tables used"));
                    }
                    self.star(None, &mut select, &mut heads)?;
                    continue;
                }
                ast::SelectItem::TableWildcard(name) => {
                    self.star(Some(name), &mut select, &mut heads)?;
                    continue;
                }
            };
            let mut bound = self.bind(e, "field list")?;
            by_value(&mut bound, self);
            let name = match alias {
                Some(alias) => alias.as_str().to_string(),
                None => self.heading(e, source),
            };
            name_cast(&mut bound, || name.clone());
            if alias.is_some() {
                self.frame().names.push((name.clone(), bound.clone()));
            }
            let mut head = self.head(&bound, name, alias.is_some());
            if !matches!(e.tree().kind, ast::ExprKind::Column(_)) {
                // Only columns tell that they are of these types: what is computed of them is told as a text.
                head.meta.flags &= !(FLAG_ENUM | FLAG_SET);
            }
            heads.push(head);
            select.push(bound);
        }
        if self.names.is_some() {
            counts.push(heads.len());
            self.note_items(s, &counts, &select, &heads, exists);
        }
        Ok((select, heads))
    }

    /// `*`, `t.*`, `d.t.*`.
    pub(super) fn star(
        &mut self,
        of: Option<&ast::ObjectName>,
        select: &mut Vec<Expr>,
        heads: &mut Vec<Head>,
    ) -> SqlResult<()> {
        let f = self.frames.last().expect("a block is being bound");
        let list: Vec<(usize, usize)> = match &of {
            None => {
                let shown = |(s, c): &(usize, usize)| f.tables[*s].shows(*c);
                f.visible.iter().copied().filter(shown).collect()
            }
            Some(name) => {
                let table = name.name.as_str();
                let database = name.database.as_ref().map(ast::Ident::as_str);
                let found = f.reachable.iter().copied().find(|&s| {
                    f.tables[s].name == table && database.is_none_or(|d| f.tables[s].database == d)
                });
                let Some(s) = found else {
                    return Err(SqlError::new(1051, format!("Unknown table '{table}'")));
                };
                let shown = (0..f.tables[s].columns()).filter(|&c| f.tables[s].shows(c));
                shown.map(|c| (s, c)).collect()
            }
        };
        for (s, c) in list {
            let f = self.frames.last().expect("a block is being bound");
            let e = f.column_expr(s, c);
            let (id, name) = (f.tables[s].id, f.tables[s].column(c).0.to_string());
            heads.push(self.head(&e, name.clone(), true));
            self.need_star(id, &name);
            select.push(as_read(e, self.cx.env));
        }
        Ok(())
    }

    /// What the client is told of a select item.
    pub(super) fn head(&self, e: &Expr, name: String, named: bool) -> Head {
        let f = self.frames.last().expect("a block is being bound");
        let of = match &e.kind {
            ExprKind::Padded(column) => column,
            _ => e,
        };
        if let ExprKind::Column { source, column, .. } = of.kind
            && let Some(s) = f.tables.iter().find(|t| t.id == source)
        {
            let own = s.column(column).0;
            // A plain column shows its own name, in its own case.
            let name = match (named, other_name(&name, own)) {
                (true, _) => name,
                (false, Some(other)) => other,
                (false, None) => own.to_string(),
            };
            let mut meta = ColumnMeta::computed(name, &e.ty, e.nullable);
            meta.table = s.name.clone();
            if let TableKind::Stored { schema, .. } = &s.kind {
                meta.database = s.database.clone();
                meta.org_table = s.table.clone();
                meta.org_name = own.to_string();
                meta.flags |= column_flags(schema, column);
            } else if matches!(s.kind, TableKind::Virtual(_)) || !s.database.is_empty() {
                meta.database = s.database.clone();
                meta.org_table = s.table.clone();
                meta.org_name = own.to_string();
            }
            return Head {
                meta,
                nullable: e.nullable,
                hold: hold_of(e),
            };
        }
        // A variable that nobody has set is told to be bytes.
        let unset = match &e.kind {
            ExprKind::UserVariable(name) => !self.cx.env.user_vars.borrow().contains_key(&**name),
            _ => false,
        };
        let bytes = SqlType::varchar(u32::from(u16::MAX), Collation::Binary);
        let long = SqlType::bigint();
        let ty = match &e.kind {
            _ if unset => &bytes,
            // It is no INT where it is kept.
            ExprKind::Literal(Value::Int(n)) if n.unsigned_abs() >= LONG => &long,
            _ => &e.ty,
        };
        Head {
            meta: ColumnMeta::computed(name, ty, e.nullable),
            nullable: e.nullable,
            hold: hold_of(e),
        }
    }
}

/// Whether an ORDER BY expression is a name alone. Such a one is looked for in the select list first, one within an expression among
/// the columns.
fn is_bare(e: &ast::Expr) -> bool {
    matches!(&e.kind, ast::ExprKind::Column(c) if c.table().is_none())
}

/// Whether an item of ORDER BY says DESC.
pub(super) fn is_descending(o: &ast::OrderItem) -> bool {
    o.direction == Some(ast::Direction::Descending)
}

/// A number in ORDER BY or GROUP BY is a position in the select list.
pub(super) fn position(e: &ast::Expr) -> Option<u64> {
    match e.kind {
        ast::ExprKind::Int(n) => Some(n),
        _ => None,
    }
}

pub(super) fn checked_position(p: u64, count: usize, clause: &str) -> SqlResult<usize> {
    if p >= 1 && p <= count as u64 {
        Ok(p as usize - 1)
    } else {
        Err(SqlError::new(
            1054,
            format!("Unknown column '{p}' in '{clause}'"),
        ))
    }
}

/// `_rowid` as it was written, of a column that it is another name of.
fn other_name(written: &str, own: &str) -> Option<String> {
    let last = written.rsplit('.').next().unwrap_or_default();
    let last = last.trim().trim_matches('`');
    let other = last.eq_ignore_ascii_case(ROW_ID) && !own.eq_ignore_ascii_case(ROW_ID);
    other.then(|| last.to_string())
}

//! GROUP BY ... WITH ROLLUP, and GROUPING().
//!
//! A rolled-up block groups each of its rows once for each number of keys that are rolled up, from none to all, the last keys first. It
//! becomes a plain one: its rows are joined with a derived table of these numbers, which is the last key, and a key is NULL where it is
//! among those rolled up. What equals a GROUP BY expression in the select list, HAVING and ORDER BY says the same; arguments of
//! aggregates are those of the row (MySQL's manual, "GROUP BY Modifiers"). Without ORDER BY each group comes before the one that it is
//! rolled up in.

use super::heads::Head;
use super::scope::Binder;
use super::window::Windows;
use crate::error::{SqlError, SqlResult};
use crate::expr::{ArithmeticOp, Coercibility, CompareOp, Expr, ExprKind};
use crate::logical::{
    Block, Body, Derived, DerivedColumn, Hints, OrderKey, Query, Table, TableId, TableKind, Tree,
};
use crate::parse::ast;
use crate::types::{BaseType, FLAG_NOT_NULL, SqlType};
use crate::value::Value;

/// What a block that rolls up has met so far.
#[derive(Debug)]
pub struct Rollup {
    /// The derived table of how many keys are rolled up. Until all keys are known, its columns from the first after its own stand for
    /// GROUPING()s.
    numbers: TableId,
    groupings: Vec<Vec<Expr>>,
}

/// Most arguments of GROUPING(), each a bit of its result.
const MOST_ARGUMENTS: usize = 64;

impl Binder<'_, '_> {
    /// The innermost block rolls its groups up.
    pub fn begin_rollup(&mut self) {
        let numbers = self.arena.table_id();
        self.frame().rollup = Some(Rollup {
            numbers,
            groupings: Vec::new(),
        });
    }

    /// `GROUPING(list)`.
    pub fn bind_grouping(&mut self, list: &ast::Items<ast::Expr>) -> SqlResult<Expr> {
        if self.frame().rollup.is_none() || !self.frame().allow_aggregates {
            return Err(SqlError::new(1111, "Invalid use of group function"));
        }
        let mut args = Vec::new();
        for e in list {
            args.push(crate::expr::bind(&e, self)?);
        }
        if args.len() > MOST_ARGUMENTS {
            return Err(SqlError::new(
                3601,
                "Incorrect number of arguments for function GROUPING",
            ));
        }
        let Some(rollup) = &mut self.frame().rollup else {
            return Err(SqlError::new(1111, "Invalid use of group function"));
        };
        rollup.groupings.push(args);
        let column = rollup.groupings.len();
        let ty = SqlType::bigint();
        Ok(Expr::column(rollup.numbers, column, ty, false, "grouping"))
    }

    /// Makes a block that rolls up a plain one.
    pub fn roll_up(
        &mut self,
        rollup: Rollup,
        block: &mut Block,
        windows: &mut Windows,
        heads: &mut [Head],
    ) -> SqlResult<()> {
        let Some(group) = &mut block.group else {
            return Ok(());
        };
        let keys = std::mem::take(&mut group.keys);
        let texts: Vec<String> = keys.iter().map(|k| self.arena.text(k)).collect();
        let rolled = Rolled {
            number: Expr::column(rollup.numbers, 0, SqlType::bigint(), true, "rollup"),
            keys,
        };
        let count = rolled.keys.len();
        let mut groupings = Vec::new();
        for args in &rollup.groupings {
            let mut found = Vec::new();
            for (n, arg) in args.iter().enumerate() {
                let text = self.arena.text(arg);
                let at = texts.iter().position(|t| *t == text);
                found.push(at.ok_or_else(|| {
                    let n = n + 1;
                    let m = format!("Argument #{n} of GROUPING function is not in GROUP BY");
                    SqlError::new(3602, m)
                })?);
            }
            groupings.push(rolled.grouping(&found));
        }
        // Where a key or a GROUPING() stands there first come columns that nothing else has, so that no key is looked for in another.
        let first_key = 1 + groupings.len();
        let replace = |e: &mut Expr| -> bool {
            let before = self.arena.text(e);
            let mut whole = true;
            e.walk_mut(&mut |x| {
                // A constant is a key where an item is nothing else.
                if !std::mem::take(&mut whole) && matches!(x.kind, ExprKind::Literal(_)) {
                    return;
                }
                let text = self.arena.text(x);
                if let Some(k) = texts.iter().position(|t| *t == text) {
                    *x = Expr::column(rollup.numbers, first_key + k, x.ty.clone(), true, "");
                }
            });
            let changed = self.arena.text(e) != before;
            e.walk_mut(&mut |x| {
                let ExprKind::Column { source, column, .. } = x.kind else {
                    return;
                };
                if source != rollup.numbers || column == 0 {
                    return;
                }
                *x = match column.checked_sub(first_key) {
                    Some(k) => rolled.key(k),
                    None => groupings[column - 1].clone(),
                };
            });
            changed
        };
        for (e, head) in block.select.iter_mut().zip(heads.iter_mut()) {
            if replace(e) {
                e.nullable = true;
                head.nullable = true;
                head.meta.ty = std::mem::replace(&mut head.meta.ty, SqlType::null()).computed();
                head.meta.ty.chosen = head.meta.ty.base == BaseType::Year;
                head.meta.flags &= !FLAG_NOT_NULL;
            }
        }
        for e in block.having.iter_mut() {
            replace(e);
        }
        for o in &mut block.order {
            replace(&mut o.expr);
        }
        windows.exprs_mut(&mut |e| {
            replace(e);
        });
        if block.order.is_empty() && windows.is_empty() {
            for k in 0..count {
                let by = [rolled.is_rolled(k), rolled.key(k)];
                block
                    .order
                    .extend(by.map(|expr| OrderKey { expr, desc: false }));
            }
        }
        group.rolled = true;
        group.keys = (0..count).map(|k| rolled.key(k)).collect();
        group.keys.push(rolled.number);
        self.join_numbers(rollup.numbers, count, block);
        Ok(())
    }

    /// Joins a block's rows with the numbers from 0 to `count`.
    fn join_numbers(&mut self, id: TableId, count: usize, block: &mut Block) {
        let number = |n: usize| Expr::literal(Value::Int(n as i64), SqlType::bigint());
        let query = Query {
            body: Body::Values((0..=count).map(|n| vec![number(n)]).collect()),
            types: vec![SqlType::bigint()],
            calc_found_rows: false,
        };
        self.arena.derived.push(Derived::of(query, 1));
        let columns = vec![DerivedColumn {
            name: "rollup".into(),
            ty: SqlType::bigint(),
            nullable: false,
            hold: Coercibility::Implicit,
        }];
        block.tables.push(Table {
            id,
            name: "<rollup>".into(),
            database: String::new(),
            table: String::new(),
            kind: TableKind::Derived {
                derived: self.arena.derived.len() - 1,
                columns,
            },
            hints: Hints::default(),
        });
        let own = Tree::Leaf(id);
        block.from = Some(match block.from.take() {
            None => own,
            Some(from) => Tree::Inner {
                parts: vec![from, own],
                on: Vec::new(),
                straight: false,
            },
        });
    }
}

/// The keys of a block, and the column that says how many of them are rolled up.
struct Rolled {
    number: Expr,
    keys: Vec<Expr>,
}

impl Rolled {
    /// Whether a key is rolled up: 1 or 0.
    fn is_rolled(&self, key: usize) -> Expr {
        let kept = (self.keys.len() - 1 - key) as i64;
        let kept = Expr::literal(Value::Int(kept), SqlType::bigint());
        // Of the group of no rows there is no number: all are rolled up.
        let kept = Expr::compare(CompareOp::Le, self.number.clone(), kept);
        let kind = ExprKind::IsTruth(Box::new(kept), true, true);
        Expr::new(kind, SqlType::boolean(), false)
    }

    /// A key's value in its group.
    fn key(&self, key: usize) -> Expr {
        let own = &self.keys[key];
        let null = Expr::literal(Value::Null, own.ty.clone());
        let branches = vec![(self.is_rolled(key), null)];
        let kind = ExprKind::Case(branches, Some(Box::new(own.clone())));
        Expr::new(kind, own.ty.clone(), true)
    }

    /// GROUPING() of these keys: a bit for each, the last the lowest.
    fn grouping(&self, keys: &[usize]) -> Expr {
        let mut bits: Option<Expr> = None;
        for key in keys {
            let bit = self.is_rolled(*key);
            bits = Some(match bits {
                None => bit,
                Some(bits) => {
                    let two = Expr::literal(Value::Int(2), SqlType::bigint());
                    let shifted = arithmetic(ArithmeticOp::Mul, bits, two);
                    arithmetic(ArithmeticOp::Add, shifted, bit)
                }
            });
        }
        let bits = bits.unwrap_or_else(Expr::null);
        Expr {
            ty: SqlType::bigint(),
            ..bits
        }
    }
}

fn arithmetic(op: ArithmeticOp, a: Expr, b: Expr) -> Expr {
    let kind = ExprKind::Arithmetic(op, Box::new([a, b]));
    Expr::new(kind, SqlType::bigint(), false)
}

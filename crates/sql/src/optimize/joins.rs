//! Join order and loops: the FROM clause's tree becomes nested levels.

use super::access::{self, Choice, Request, Wanted};
use super::conditions::{Cond, differs};
use super::lower::with_subqueries;
use crate::expr::{CompareOp, Expr, ExprKind};
use crate::logical::Hints;
use crate::plan::PlanTable;
use crate::plan::nodes::{
    Access, ExprWithSubqueries, HashJoin, Level, LevelFrom, Source, SourceKind,
};
use crate::session::env::SessionEnv;
use crate::types::{BaseType, SqlType};

/// A FROM clause: sources by number minus the block's base.
#[derive(Debug)]
pub enum Tree {
    /// A table.
    Leaf(usize),
    /// Inner, cross and comma joins; `straight`: in this order.
    Inner {
        /// Operands.
        parts: Vec<Tree>,
        /// ON and USING.
        on: Vec<Expr>,
        /// STRAIGHT_JOIN.
        straight: bool,
    },
    /// LEFT JOIN (a RIGHT JOIN with its sides swapped).
    Left {
        /// Kept side.
        left: Box<Tree>,
        /// Side that may be missing.
        right: Box<Tree>,
        /// ON and USING.
        on: Vec<Expr>,
    },
}

impl Tree {
    /// Calls `f` for each conjunct of an ON.
    pub fn conditions(&self, f: &mut dyn FnMut(&Expr)) {
        match self {
            Tree::Leaf(_) => {}
            Tree::Inner { parts, on, .. } => {
                parts.iter().for_each(|p| p.conditions(f));
                on.iter().for_each(f);
            }
            Tree::Left { left, right, on } => {
                left.conditions(f);
                right.conditions(f);
                on.iter().for_each(f);
            }
        }
    }
    fn bits(&self) -> u64 {
        match self {
            Tree::Leaf(n) => 1 << n,
            Tree::Inner { parts, .. } => parts.iter().fold(0, |b, p| b | p.bits()),
            Tree::Left { left, right, .. } => left.bits() | right.bits(),
        }
    }
}

/// A member of a flattened join.
struct Item {
    bits: u64,
    /// Items that must come before (by bits).
    after: u64,
    kind: ItemKind,
}

enum ItemKind {
    Leaf(usize),
    Outer { members: Vec<Item>, on: Vec<Cond> },
}

/// What the join planner knows of the block.
pub struct Joiner<'a> {
    /// Sources of the blocks around.
    pub base: usize,
    /// The block's sources.
    pub sources: &'a [Source],
    /// Tables of the plan.
    pub tables: &'a [PlanTable],
    /// Row counts of derived tables, as guessed.
    pub derived_rows: f64,
    /// Columns read of each source.
    pub columns: &'a [Vec<usize>],
    /// Index hints of each source.
    pub hints: &'a [Hints],
    /// Session.
    pub env: &'a SessionEnv,
    /// Subqueries that run once.
    pub once: &'a [usize],
    /// Whether the statement may assign to user variables as it runs.
    pub assigns: bool,
    /// What sources an expression reads, by bit.
    pub needs: &'a dyn Fn(&Expr) -> u64,
    /// Order wanted of the first table, by source minus base.
    pub wanted: Option<(usize, Wanted)>,
    /// LIMIT, if nothing but order stands between.
    pub limit: Option<f64>,
    /// Next hash join.
    pub hash_ids: &'a mut usize,
}

/// Loops in order, and whether rows come as wanted.
pub struct Joined {
    /// The loops.
    pub levels: Vec<Level>,
    /// Whether rows come in the wanted order.
    pub ordered: bool,
}

impl Joiner<'_> {
    /// The source of the block's subqueries.
    fn subqueries(&self) -> usize {
        self.base + self.sources.len() + 1
    }

    /// A condition on the joined rows of `bits`. One that may say something else each time is asked for each of them.
    fn cond(&self, expr: Expr, bits: u64) -> Cond {
        let needs = match (self.needs)(&expr) {
            0 if differs(&expr, self.assigns, self.subqueries(), self.once) => bits,
            needs => needs,
        };
        Cond { expr, needs }
    }

    /// Plans the loops of a FROM clause under the conjuncts of WHERE (those that read a source of it).
    pub fn plan(&mut self, tree: Tree, filter: Vec<Expr>) -> Joined {
        let mut conds = Vec::new();
        let mut straight = false;
        let mut items = Vec::new();
        let all = tree.bits();
        self.flatten(tree, &mut items, &mut conds, &mut straight);
        // An item that is inner takes part with its conditions; WHERE joins them.
        let outer_bits = items
            .iter()
            .filter(|i| matches!(i.kind, ItemKind::Outer { .. }))
            .fold(0, |b, i| b | i.bits);
        let mut late = Vec::new();
        for e in filter {
            let c = self.cond(e, all);
            if c.needs & outer_bits != 0 {
                late.push(c);
            } else {
                conds.push(c);
            }
        }
        self.levels(items, conds, late, 0, straight, true)
    }

    fn flatten(
        &self,
        tree: Tree,
        items: &mut Vec<Item>,
        conds: &mut Vec<Cond>,
        straight: &mut bool,
    ) {
        match tree {
            Tree::Leaf(n) => items.push(Item {
                bits: 1 << n,
                after: 0,
                kind: ItemKind::Leaf(n),
            }),
            Tree::Inner {
                parts,
                on,
                straight: s,
            } => {
                let bits = parts.iter().fold(0, |b, p| b | p.bits());
                *straight |= s;
                for p in parts {
                    self.flatten(p, items, conds, straight);
                }
                conds.extend(on.into_iter().map(|e| self.cond(e, bits)));
            }
            Tree::Left { left, right, on } => {
                let (before, bits) = (left.bits(), right.bits());
                self.flatten(*left, items, conds, straight);
                let mut members = Vec::new();
                let mut on: Vec<Cond> = on
                    .into_iter()
                    .map(|e| self.cond(e, before | bits))
                    .collect();
                self.flatten(*right, &mut members, &mut on, straight);
                let after = on.iter().fold(0, |b, c| b | c.needs) & !bits;
                items.push(Item {
                    bits,
                    after,
                    kind: ItemKind::Outer { members, on },
                });
            }
        }
    }

    /// Orders items and makes loops of them. `late`: conditions that outer items' NULLs take part in.
    fn levels(
        &mut self,
        items: Vec<Item>,
        conds: Vec<Cond>,
        late: Vec<Cond>,
        available: u64,
        straight: bool,
        top: bool,
    ) -> Joined {
        let order = self.order(&items, &conds, available, straight, top);
        debug_assert_eq!(order.len(), items.len(), "an item without a place");
        let mut items: Vec<Option<Item>> = items.into_iter().map(Some).collect();
        let mut conds: Vec<Option<Cond>> = conds.into_iter().map(Some).collect();
        let mut late: Vec<Option<Cond>> = late.into_iter().map(Some).collect();
        let mut levels: Vec<Level> = Vec::new();
        let mut ordered = false;
        let mut available = available;
        for at in order {
            let item = items[at].take().expect("each item is placed once");
            let now = available | item.bits;
            match item.kind {
                ItemKind::Leaf(n) => {
                    let here = take(&mut conds, now);
                    let first = levels.is_empty() && top;
                    let (mut level, sorted) = self.leaf(n, here, available, first);
                    if first {
                        ordered = sorted;
                    }
                    level.filter = self.with_subqueries(take(&mut late, now));
                    if !level.filter.is_empty() {
                        // An inner level has one list.
                        let f = std::mem::take(&mut level.filter);
                        level.on.extend(f);
                    }
                    levels.push(level);
                }
                ItemKind::Outer { members, on } => {
                    let mut level = if members.len() == 1
                        && let ItemKind::Leaf(n) = members[0].kind
                    {
                        let (mut level, _) = self.leaf(n, on, available, false);
                        level.outer = true;
                        level
                    } else {
                        let inner = self.levels(members, on, Vec::new(), available, false, false);
                        Level {
                            rows: 1,
                            filtered: 100.0,
                            from: LevelFrom::Nest(inner.levels),
                            outer: true,
                            on: Vec::new(),
                            filter: Vec::new(),
                        }
                    };
                    let mut after = take(&mut conds, now);
                    after.extend(take(&mut late, now));
                    level.filter = self.with_subqueries(after);
                    levels.push(level);
                }
            }
            available = now;
        }
        // Conditions on sources around this nest only.
        let rest: Vec<Cond> = conds.into_iter().chain(late).flatten().collect();
        if !rest.is_empty()
            && let Some(l) = levels.first_mut()
        {
            let rest = self.with_subqueries(rest);
            l.on.extend(rest);
        }
        Joined { levels, ordered }
    }

    fn with_subqueries(&self, conds: Vec<Cond>) -> Vec<ExprWithSubqueries> {
        let source = self.subqueries();
        let mut list: Vec<_> = conds
            .into_iter()
            .map(|c| with_subqueries(c.expr, source, self.once))
            .collect();
        // The cheap ones first.
        list.sort_by_key(|r| r.subqueries.len());
        list
    }

    fn request<'r>(
        &'r self,
        n: usize,
        conds: &'r [&'r Cond],
        available: u64,
        first: bool,
    ) -> Option<Request<'r>> {
        let SourceKind::Table {
            table,
            schema,
            lock,
            partitions,
        } = &self.sources[n].kind
        else {
            return None;
        };
        let wanted = match &self.wanted {
            Some((source, w)) if first && *source == n => Some(w),
            _ => None,
        };
        // Another table's order makes reading less of this one pointless.
        let limit = if first && (self.wanted.is_none() || wanted.is_some()) {
            self.limit
        } else {
            None
        };
        Some(Request {
            table: &self.tables[*table],
            schema,
            source: self.base + n,
            available,
            conds,
            columns: &self.columns[n],
            locked: lock.is_some() || self.tables[*table].write,
            wanted,
            limit,
            hints: &self.hints[n],
            partitions: partitions.as_ref(),
            env: self.env,
            base: self.base,
            count: self.sources.len(),
            once: self.once,
            assigns: self.assigns,
        })
    }

    fn choose(&self, n: usize, conds: &[&Cond], available: u64, first: bool) -> Option<Choice> {
        self.request(n, conds, available, first)
            .map(|r| access::choose(&r))
    }

    /// A loop over one table; also whether its rows come as wanted.
    fn leaf(&mut self, n: usize, conds: Vec<Cond>, available: u64, first: bool) -> (Level, bool) {
        let refs: Vec<&Cond> = conds.iter().collect();
        let choice = self.choose(n, &refs, available, first);
        let bit = 1 << n;
        let hash = self.hash(n, &conds, available, bit, choice.as_ref());
        if let Some((join, used)) = hash {
            let rest: Vec<Cond> = conds
                .into_iter()
                .enumerate()
                .filter(|(i, _)| !used.contains(i))
                .map(|(_, c)| c)
                .collect();
            return (
                Level {
                    rows: choice.map_or(self.derived_rows, |c| c.rows) as u64,
                    filtered: 10.0,
                    from: LevelFrom::Hash(join),
                    outer: false,
                    on: self.with_subqueries(rest),
                    filter: Vec::new(),
                },
                false,
            );
        }
        let Some(mut choice) = choice else {
            return (
                Level {
                    rows: self.derived_rows as u64,
                    filtered: 100.0,
                    from: LevelFrom::Rows(n + self.base),
                    outer: false,
                    on: self.with_subqueries(conds),
                    filter: Vec::new(),
                },
                false,
            );
        };
        let mut on = Vec::new();
        let mut recheck = Vec::new();
        for (i, c) in conds.into_iter().enumerate() {
            if choice.exact.contains(&i) {
                recheck.push(c);
            } else {
                on.push(c);
            }
        }
        let filtered = if on.is_empty() { 100.0 } else { 33.33 };
        choice.access.recheck = self.with_subqueries(recheck);
        (
            Level {
                rows: choice.rows.round() as u64,
                filtered,
                from: LevelFrom::Table(self.base + n, choice.access),
                outer: false,
                on: self.with_subqueries(on),
                filter: Vec::new(),
            },
            choice.ordered,
        )
    }

    /// Whether a source's rows are locked as they are read: those that the join does not meet are not to be.
    fn is_locked(&self, n: usize) -> bool {
        matches!(&self.sources[n].kind, SourceKind::Table { lock, table, .. }
            if lock.is_some() || self.tables[*table].write)
    }

    /// A hash join, where rows would otherwise be scanned once per earlier row. Also which conditions it decides.
    fn hash(
        &mut self,
        n: usize,
        conds: &[Cond],
        available: u64,
        bit: u64,
        choice: Option<&Choice>,
    ) -> Option<(HashJoin, Vec<usize>)> {
        if available == 0 || self.is_locked(n) {
            return None;
        }
        // An index that narrows by an earlier table's values is preferred.
        if let Some(c) = choice {
            let mut depends = c.access.unique;
            for (i, cond) in conds.iter().enumerate() {
                let used = c.exact.contains(&i);
                depends |= used && cond.needs & available != 0;
            }
            if depends {
                return None;
            }
        }
        let mut keys = Vec::new();
        let mut probes = Vec::new();
        let mut types = Vec::new();
        let mut null_safe = Vec::new();
        let mut used = Vec::new();
        for (i, c) in conds.iter().enumerate() {
            let ExprKind::Compare(op, sides, collation) = &c.expr.kind else {
                continue;
            };
            if !matches!(op, CompareOp::Eq | CompareOp::NullSafeEq) {
                continue;
            }
            let (a, b) = ((self.needs)(&sides[0]), (self.needs)(&sides[1]));
            let (key, probe) = if a == bit && b & bit == 0 && b & available != 0 {
                (&sides[0], &sides[1])
            } else if b == bit && a & bit == 0 && a & available != 0 {
                (&sides[1], &sides[0])
            } else {
                continue;
            };
            let subqueries = self.subqueries();
            let mut plain = true;
            for e in [key, probe] {
                e.columns(&mut |s, _| plain &= s != subqueries);
            }
            let Some(ty) = hash_type(&key.ty, &probe.ty) else {
                continue;
            };
            if !plain || ty.is_string() && *collation != ty.collation {
                continue;
            }
            keys.push(key.clone());
            probes.push(probe.clone());
            types.push(ty);
            null_safe.push(*op == CompareOp::NullSafeEq);
            used.push(i);
        }
        if keys.is_empty() {
            return None;
        }
        // The inner side is read once, under its own conditions.
        let own: Vec<&Cond> = conds
            .iter()
            .enumerate()
            .filter(|(i, c)| !used.contains(i) && c.needs == bit)
            .map(|(_, c)| c)
            .collect();
        let access = self.choose(n, &own, 0, false).map(|c| c.access);
        let clone = |c: &Cond| Cond {
            expr: c.expr.clone(),
            needs: c.needs,
        };
        let build_filter = self.with_subqueries(own.iter().map(|c| clone(c)).collect());
        // What the build decided is not checked again.
        for (i, c) in conds.iter().enumerate() {
            if !used.contains(&i) && c.needs == bit {
                used.push(i);
            }
        }
        let id = *self.hash_ids;
        *self.hash_ids += 1;
        Some((
            HashJoin {
                id,
                source: self.base + n,
                access: access.map(strip_recheck),
                build_filter,
                keys,
                probes,
                types,
                null_safe,
            },
            used,
        ))
    }

    /// Cost and rows of reading an item once, given what is available.
    fn weigh(&self, item: &Item, conds: &[Cond], available: u64, first: bool) -> (f64, f64) {
        let now = available | item.bits;
        let usable: Vec<&Cond> = conds
            .iter()
            .filter(|c| c.needs & !now == 0 && c.needs & item.bits != 0)
            .collect();
        match &item.kind {
            ItemKind::Leaf(n) => match self.choose(*n, &usable, available, first) {
                Some(c) => {
                    // Conditions that no index decides leave a part of the rows.
                    let left = usable.len().saturating_sub(c.exact.len());
                    let mut cost = c.cost;
                    if available != 0
                        && !self.is_locked(*n)
                        && c.access.eq.is_empty()
                        && c.access.arms.is_empty()
                        && usable.iter().any(|u| u.needs & available != 0)
                    {
                        // It will be hashed: read once, then probed.
                        cost = 1.0 + c.cost / 50.0;
                    }
                    (cost, (c.rows * 0.33f64.powi(left.min(3) as i32)).max(0.1))
                }
                None => {
                    let left = usable.len().min(3) as i32;
                    (
                        self.derived_rows,
                        (self.derived_rows * 0.1f64.powi(left)).max(1.0),
                    )
                }
            },
            ItemKind::Outer { members, on } => {
                let mut cost = 0.0;
                let mut rows = 1.0;
                let mut have = available;
                for m in members {
                    let (c, r) = self.weigh(m, on, have, false);
                    cost += rows * c;
                    rows *= r;
                    have |= m.bits;
                }
                (cost, rows.max(1.0))
            }
        }
    }

    /// The cheapest order of the items: all orders of up to six, greedily beyond.
    fn order(
        &self,
        items: &[Item],
        conds: &[Cond],
        available: u64,
        straight: bool,
        top: bool,
    ) -> Vec<usize> {
        let n = items.len();
        if n <= 1 || straight {
            return (0..n).collect();
        }
        let mut search = Search {
            joiner: self,
            items,
            conds,
            top,
            best: None,
        };
        if n <= 6 {
            search.all(&mut Vec::new(), available, 0.0, 1.0);
            if let Some((_, order)) = search.best {
                return order;
            }
        }
        search.greedy(available)
    }
}

struct Search<'s, 'a> {
    joiner: &'s Joiner<'a>,
    items: &'s [Item],
    conds: &'s [Cond],
    top: bool,
    best: Option<(f64, Vec<usize>)>,
}

impl Search<'_, '_> {
    fn eligible(&self, at: usize, available: u64) -> bool {
        let all = self.items.iter().fold(0, |b, i| b | i.bits);
        self.items[at].after & all & !available == 0
    }

    fn all(&mut self, order: &mut Vec<usize>, available: u64, cost: f64, rows: f64) {
        if self.best.as_ref().is_some_and(|(c, _)| cost >= *c) {
            return;
        }
        if order.len() == self.items.len() {
            self.best = Some((cost, order.clone()));
            return;
        }
        for at in 0..self.items.len() {
            if order.contains(&at) || !self.eligible(at, available) {
                continue;
            }
            let first = self.top && order.is_empty();
            let (c, r) = self
                .joiner
                .weigh(&self.items[at], self.conds, available, first);
            order.push(at);
            self.all(
                order,
                available | self.items[at].bits,
                cost + rows * c,
                rows * r,
            );
            order.pop();
        }
    }

    fn greedy(&self, mut available: u64) -> Vec<usize> {
        let mut order = Vec::new();
        while order.len() < self.items.len() {
            let next = (0..self.items.len())
                .filter(|at| !order.contains(at) && self.eligible(*at, available))
                .map(|at| {
                    let first = self.top && order.is_empty();
                    let (c, r) = self
                        .joiner
                        .weigh(&self.items[at], self.conds, available, first);
                    (c + r, at)
                })
                .min_by(|a, b| a.0.total_cmp(&b.0));
            // As written, each comes after what it asks about.
            let written = || (0..self.items.len()).find(|at| !order.contains(at));
            let Some(at) = next.map(|n| n.1).or_else(written) else {
                break;
            };
            available |= self.items[at].bits;
            order.push(at);
        }
        order
    }
}

/// Takes the conditions that are decidable now.
fn take(conds: &mut [Option<Cond>], now: u64) -> Vec<Cond> {
    conds
        .iter_mut()
        .filter(|c| c.as_ref().is_some_and(|c| c.needs & !now == 0))
        .filter_map(Option::take)
        .collect()
}

/// A hash join's build checks all its conditions itself.
fn strip_recheck(mut a: Access) -> Access {
    a.recheck = Vec::new();
    a
}

/// The type in which two sides can be hashed so that equal values have equal bytes.
fn hash_type(a: &SqlType, b: &SqlType) -> Option<SqlType> {
    if a.is_string() && b.is_string() {
        let same =
            a.collation == b.collation && a.base != BaseType::Enum && b.base != BaseType::Enum;
        return same.then(|| SqlType::varchar(a.length.max(b.length), a.collation));
    }
    if a.is_integer() && b.is_integer() {
        return Some(if a.unsigned && b.unsigned {
            SqlType::ubigint()
        } else if a.unsigned || b.unsigned {
            SqlType::decimal(20, 0)
        } else {
            SqlType::bigint()
        });
    }
    (a.base == b.base && a.decimals == b.decimals && !a.is_string()).then(|| a.clone())
}

//! Join order and loops: the FROM clause's tree becomes nested levels.

use super::access::{self, Choice, Lead, Request, Wanted};
use super::conditions::{Cond, differs};
use super::estimate::Outline;
use super::index_condition;
use super::loose_scan::Sparse;
use super::lower::with_subqueries;
use super::order::{self, Order, Weigh};
use super::peek::Peek;
use super::search::{BUILD, Search, Ways};
use crate::expr::{CompareOp, Expr, ExprKind};
use crate::logical::PlanTable;
use crate::logical::{EqualColumns, Hints};
use crate::plan::nodes::{
    Access, Expected, ExprWithSubqueries, HashJoin, Level, LevelFrom, LevelKind, Source, SourceKind,
};
use crate::switches::Flag;
use crate::types::SqlType;
use crate::types::derive::hashable_type;

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
    /// Outer, semi- and anti-joins.
    Beside {
        /// Kept side.
        left: Box<Tree>,
        /// Side that is looked for.
        right: Box<Tree>,
        /// ON and USING.
        on: Vec<Expr>,
        /// Which of its rows go on.
        kind: LevelKind,
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
            Tree::Beside {
                left, right, on, ..
            } => {
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
            Tree::Beside { left, right, .. } => left.bits() | right.bits(),
        }
    }
}

/// A member of a flattened join.
pub struct Item {
    /// Its sources.
    pub bits: u64,
    /// Sources that must come before.
    pub after: u64,
    /// What it is.
    pub kind: ItemKind,
}

/// What a member of a join is.
pub enum ItemKind {
    /// A table.
    Leaf(usize),
    /// The other side of an outer, semi- or anti-join.
    Nest {
        /// Its members.
        members: Vec<Item>,
        /// ON, and the conditions among the members.
        on: Vec<Cond>,
        /// Which of its rows go on.
        kind: LevelKind,
    },
}

/// What is there already when items are joined.
#[derive(Clone, Copy, Debug)]
pub struct Around {
    /// Sources.
    pub bits: u64,
    /// Rows, as estimated.
    pub rows: f64,
}

/// What the join planner knows of the block.
pub struct Joiner<'a> {
    /// Sources of the blocks around.
    pub base: usize,
    /// The block's sources.
    pub sources: &'a [Source],
    /// Tables of the plan.
    pub tables: &'a [PlanTable],
    /// What is expected of computed sources.
    pub computed: &'a [Outline],
    /// Columns read of each source.
    pub columns: &'a [Vec<usize>],
    /// Index hints of each source.
    pub hints: &'a [Hints],
    /// The session, and values of placeholders.
    pub peek: &'a Peek<'a>,
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
    /// One row of each combination of values of the only table is enough.
    pub sparse: Option<Sparse>,
    /// Next hash join.
    pub hash_ids: &'a mut usize,
}

/// Loops in order, and whether rows come as wanted.
pub struct Joined {
    /// The loops.
    pub levels: Vec<Level>,
    /// Rows that come out, as estimated.
    pub rows: f64,
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
            .filter(|i| matches!(i.kind, ItemKind::Nest { .. }))
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
        self.levels(
            items,
            conds,
            late,
            Around { bits: 0, rows: 1.0 },
            straight,
            true,
        )
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
                after: self.read_by(n),
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
            Tree::Beside {
                left,
                right,
                on,
                kind,
            } => {
                let (before, bits) = (left.bits(), right.bits());
                self.flatten(*left, items, conds, straight);
                let mut members = Vec::new();
                let mut on: Vec<Cond> = on
                    .into_iter()
                    .map(|e| self.cond(e, before | bits))
                    .collect();
                self.flatten(*right, &mut members, &mut on, straight);
                let needs = on.iter().fold(0, |b, c| b | c.needs);
                let after = members.iter().fold(needs, |b, m| b | m.after) & !bits;
                items.push(Item {
                    bits,
                    after,
                    kind: ItemKind::Nest { members, on, kind },
                });
            }
        }
    }

    /// The sources of the block that a computed source reads, by bit.
    fn read_by(&self, n: usize) -> u64 {
        let own = self.base..self.base + self.sources.len();
        let reads = self.sources[n].kind.reads().iter();
        reads
            .filter(|(s, _)| own.contains(s))
            .fold(0, |bits, (s, _)| bits | 1 << (s - self.base))
    }

    /// What it costs to read a computed source once more, once it has been read.
    fn again(&self, n: usize) -> f64 {
        let known = &self.computed[n];
        match self.sources[n].kind {
            SourceKind::Lateral(_) => known.cost + known.rows,
            _ => known.rows,
        }
    }

    /// Orders items and makes loops of them. `late`: conditions that outer items' NULLs take part in.
    fn levels(
        &mut self,
        items: Vec<Item>,
        conds: Vec<Cond>,
        late: Vec<Cond>,
        around: Around,
        straight: bool,
        top: bool,
    ) -> Joined {
        let (order, rows) = self.order(&items, &conds, around, straight, top);
        debug_assert_eq!(order.items.len(), items.len(), "an item without a place");
        let lead = self.lead(&order, &rows, straight, top);
        let mut available = around.bits;
        let mut equal = EqualColumns::default();
        let mut items: Vec<Option<Item>> = items.into_iter().map(Some).collect();
        let mut conds: Vec<Option<Cond>> = conds.into_iter().map(Some).collect();
        let mut late: Vec<Option<Cond>> = late.into_iter().map(Some).collect();
        let mut levels: Vec<Level> = Vec::new();
        let mut ordered = false;
        for (at, sizes) in order.items.into_iter().zip(rows.windows(2)) {
            let before = sizes[0];
            let item = items[at].take().expect("each item is placed once");
            let now = available | item.bits;
            match item.kind {
                ItemKind::Leaf(n) => {
                    let here = not_implied(take(&mut conds, now), &mut equal);
                    let first = levels.is_empty();
                    let lead = if first { lead } else { Lead::Nobody };
                    let around = Around {
                        bits: available,
                        rows: before,
                    };
                    let (mut level, sorted) = self.leaf(n, here, around, lead);
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
                ItemKind::Nest { members, on, kind } => {
                    let around = Around {
                        bits: available,
                        rows: before,
                    };
                    let mut level = if members.len() == 1
                        && let ItemKind::Leaf(n) = members[0].kind
                    {
                        let on = not_implied(on, &mut EqualColumns::default());
                        let (mut level, _) = self.leaf(n, on, around, Lead::Nobody);
                        level.kind = kind;
                        level
                    } else {
                        let inner = self.levels(members, on, Vec::new(), around, false, false);
                        Level {
                            expected: Expected::default(),
                            from: LevelFrom::Nest(inner.levels),
                            kind,
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
            if let Some(level) = levels.last_mut() {
                level.expected.out = sizes[1] / before.max(f64::MIN_POSITIVE);
            }
        }
        // Conditions on sources around this nest only.
        let rest: Vec<Cond> = conds.into_iter().chain(late).flatten().collect();
        if !rest.is_empty()
            && let Some(l) = levels.first_mut()
        {
            let rest = self.with_subqueries(rest);
            l.on.extend(rest);
        }
        Joined {
            levels,
            rows: rows.last().copied().unwrap_or(1.0),
            ordered,
        }
    }

    /// What the first table's path has to do with the order wanted.
    fn lead(&self, order: &Order, rows: &[f64], straight: bool, top: bool) -> Lead {
        let given = straight || order.items.len() == 1;
        // As free as a lone table's, but for what the others leave of its rows.
        let free = Lead::Free((rows[1] / rows[rows.len() - 1]).max(1.0));
        match (top, self.wants_order()) {
            (false, _) => Lead::Nobody,
            (true, false) => free,
            (true, true) if given => free,
            (true, true) if order.ordered => Lead::InOrder,
            (true, true) => Lead::Nobody,
        }
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
        lead: Lead,
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
            Some((source, w)) if lead != Lead::Nobody && *source == n => Some(w),
            _ => None,
        };
        let limit = match lead {
            // Another table's order makes reading less of this one pointless.
            Lead::Free(each) if self.wanted.is_none() || wanted.is_some() && self.spares() => {
                self.limit.map(|limit| limit * each)
            }
            _ => None,
        };
        Some(Request {
            table: &self.tables[*table],
            position: *table,
            schema,
            source: self.base + n,
            available,
            conds,
            columns: &self.columns[n],
            locked: lock.is_some() || self.tables[*table].write,
            wanted,
            sparse: self.sparse.as_ref(),
            in_order: lead == Lead::InOrder,
            limit,
            hints: &self.hints[n],
            partitions: partitions.as_ref(),
            peek: self.peek,
            base: self.base,
            count: self.sources.len(),
            once: self.once,
            assigns: self.assigns,
        })
    }

    /// Whether LIMIT is a reason to read an index for its order.
    pub fn spares(&self) -> bool {
        self.peek.env.switches.get().has(Flag::PreferOrderingIndex)
    }

    /// The access path of a source; `None` if it is computed.
    pub fn choose(&self, n: usize, conds: &[&Cond], available: u64, lead: Lead) -> Option<Choice> {
        let r = self.request(n, conds, available, lead)?;
        access::choose(&r)
    }

    /// A loop over one table; also whether its rows come as wanted.
    fn leaf(&mut self, n: usize, conds: Vec<Cond>, around: Around, lead: Lead) -> (Level, bool) {
        let refs: Vec<&Cond> = conds.iter().collect();
        let choice = self.choose(n, &refs, around.bits, lead);
        let choice = choice.or_else(|| self.choose(n, &refs, around.bits, Lead::Nobody));
        let ways = self.ways(n, &refs, around.bits, choice.as_ref(), || {
            let own = refs.iter().copied().filter(|c| c.needs == 1 << n);
            let own = self.choose(n, &own.collect::<Vec<_>>(), 0, Lead::Nobody);
            own.map(|c| (c.whole, c.rows))
        });
        let hash = match ways.by_hash(around.rows) {
            true => self.hash(n, &conds, around.bits),
            false => None,
        };
        if let Some((join, used)) = hash {
            let rest: Vec<Cond> = conds
                .into_iter()
                .enumerate()
                .filter(|(i, _)| !used.contains(i))
                .map(|(_, c)| c)
                .collect();
            return (
                Level {
                    expected: ways.expected_hashed(around.rows),
                    from: LevelFrom::Hash(join),
                    kind: LevelKind::Inner,
                    on: self.with_subqueries(rest),
                    filter: Vec::new(),
                },
                false,
            );
        }
        let Some(mut choice) = choice else {
            return (
                Level {
                    expected: Expected::of(self.computed[n].rows, self.again(n)),
                    from: LevelFrom::Rows(n + self.base),
                    kind: LevelKind::Inner,
                    on: self.with_subqueries(conds),
                    filter: Vec::new(),
                },
                false,
            );
        };
        let (mut on, mut recheck, mut pushed) = (Vec::new(), Vec::new(), Vec::new());
        for (i, c) in conds.into_iter().enumerate() {
            if choice.exact.contains(&i) {
                recheck.push(c);
            } else if choice.pushed.contains(&i) {
                pushed.push(c);
            } else {
                on.push(c);
            }
        }
        choice.access.recheck = self.with_subqueries(recheck);
        let pushed = self.with_subqueries(pushed);
        if let Some(r) = self.request(n, &[], around.bits, lead) {
            choice.access.pushed = index_condition::push(&r, choice.access.index, pushed);
        }
        (
            Level {
                expected: Expected::of(choice.rows, choice.whole),
                from: LevelFrom::Table(self.base + n, choice.access),
                kind: LevelKind::Inner,
                on: self.with_subqueries(on),
                filter: Vec::new(),
            },
            choice.ordered,
        )
    }

    /// Whether a source's rows are locked as they are read: those that the join does not meet are not to be.
    pub fn is_locked(&self, n: usize) -> bool {
        matches!(&self.sources[n].kind, SourceKind::Table { lock, table, .. }
            if lock.is_some() || self.tables[*table].write)
    }

    /// The sides of a condition that a hash join of a source can decide: (the source's, the other, the type they are hashed in,
    /// whether NULL matches NULL).
    pub fn hashable<'e>(
        &self,
        n: usize,
        c: &'e Cond,
        available: u64,
    ) -> Option<(&'e Expr, &'e Expr, SqlType, bool)> {
        let ExprKind::Compare(op, sides, collation) = &c.expr.kind else {
            return None;
        };
        if !matches!(op, CompareOp::Eq | CompareOp::NullSafeEq) {
            return None;
        }
        let bit = 1 << n;
        let (a, b) = ((self.needs)(&sides[0]), (self.needs)(&sides[1]));
        let (key, probe) = if a == bit && b & bit == 0 && b & available != 0 {
            (&sides[0], &sides[1])
        } else if b == bit && a & bit == 0 && a & available != 0 {
            (&sides[1], &sides[0])
        } else {
            return None;
        };
        let subqueries = self.subqueries();
        let mut plain = true;
        for e in [key, probe] {
            e.columns(&mut |s, _| plain &= s != subqueries);
        }
        let ty = hashable_type(&key.ty, &probe.ty)?;
        let usable = plain && (!ty.is_string() || *collation == ty.collation);
        usable.then_some((key, probe, ty, *op == CompareOp::NullSafeEq))
    }

    /// What reading a source costs by an access path and by hashing it, beside the rows of `available`. `own`: cost and rows of a stored one's
    /// path under the conditions that are its own.
    pub fn ways(
        &self,
        n: usize,
        conds: &[&Cond],
        available: u64,
        choice: Option<&Choice>,
        own: impl FnOnce() -> Option<(f64, f64)>,
    ) -> Ways {
        let computed_each_time = matches!(self.sources[n].kind, SourceKind::Lateral(_));
        let hashed = available != 0
            && self.peek.env.switches.get().has(Flag::BlockNestedLoop)
            && !self.is_locked(n)
            && !computed_each_time
            && conds
                .iter()
                .any(|c| self.hashable(n, c, available).is_some());
        let build = match (hashed, choice) {
            (false, _) => None,
            (true, None) => Some((self.computed[n].rows, self.computed[n].rows)),
            (true, Some(_)) => own(),
        };
        let by_index = choice.is_some_and(|c| {
            let narrows =
                |(i, cond): (usize, &&Cond)| c.exact.contains(&i) && cond.needs & available != 0;
            c.access.unique || conds.iter().enumerate().any(narrows)
        });
        let keep = match choice {
            None if available != 0 && !computed_each_time => self.computed[n].rows * BUILD,
            _ => 0.0,
        };
        Ways {
            keep,
            each: choice.map_or(self.again(n), |c| c.cost),
            by_index,
            build,
        }
    }

    /// A hash join of a source with what is available. Also which conditions it decides.
    fn hash(&mut self, n: usize, conds: &[Cond], available: u64) -> Option<(HashJoin, Vec<usize>)> {
        let bit = 1 << n;
        let mut keys = Vec::new();
        let mut probes = Vec::new();
        let mut types = Vec::new();
        let mut null_safe = Vec::new();
        let mut used = Vec::new();
        for (i, c) in conds.iter().enumerate() {
            let Some((key, probe, ty, safe)) = self.hashable(n, c, available) else {
                continue;
            };
            keys.push(key.clone());
            probes.push(probe.clone());
            types.push(ty);
            null_safe.push(safe);
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
        let access = self.choose(n, &own, 0, Lead::Nobody).map(|c| c.access);
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

    /// Whether ORDER BY wants the rows in an order that a table may have.
    pub fn wants_order(&self) -> bool {
        matches!(self.wanted, Some((_, Wanted::Order(_))))
    }

    /// The cheapest order of the items, and the rows before each and after the last.
    fn order(
        &self,
        items: &[Item],
        conds: &[Cond],
        around: Around,
        straight: bool,
        top: bool,
    ) -> (Order, Vec<f64>) {
        let mut search = Search::new(self, items, conds, around, top);
        let order = if items.len() <= 1 || straight {
            Order {
                items: (0..items.len()).collect(),
                ordered: true,
            }
        } else {
            order::best(&mut search)
        };
        let mut rows = vec![around.rows];
        let mut set = 0;
        for &at in &order.items {
            let before = rows[rows.len() - 1];
            rows.push((before * search.step(at, set, before).rows).max(f64::MIN_POSITIVE));
            set |= 1 << at;
        }
        (order, rows)
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

/// Those of some conditions that the ones before do not imply; equalities of columns are noted. What is equal within one table decides
/// which index is of use, and is left alone.
fn not_implied(mut conds: Vec<Cond>, equal: &mut EqualColumns) -> Vec<Cond> {
    conds.retain(|c| match c.expr.equated() {
        Some((a, b)) if a.table != b.table => equal.equate(a, b),
        _ => true,
    });
    conds
}

/// A hash join's build checks all its conditions itself.
fn strip_recheck(mut a: Access) -> Access {
    a.recheck = Vec::new();
    a.pushed = None;
    a
}

//! A query block: what is asked once and what per row, its loops, grouping, order.

use super::Optimizer;
use super::access::Wanted;
use super::conditions;
use super::estimate::{self, Outline};
use super::joins::{Joined, Joiner, Tree};
use super::loose_scan::{Extreme, Sparse};
use super::lower::with_subqueries;
use crate::error::{SqlError, SqlResult};
use crate::expr::{AggregateKind, AggregateSpec, Expr, ExprKind, Term};
use crate::logical;
use crate::plan::nodes::{
    Block, ExprWithSubqueries, Group, Lateral, LevelKind, OrderKey, Source, SourceKind, Subquery,
};

/// Rows a virtual table is taken to have.
const VIRTUAL_ROWS: f64 = 100.0;

/// Part of the groups that a condition of HAVING leaves.
const HAVING: f64 = 0.33;

/// A column of a source.
type Column = (usize, usize);

/// A block whose expressions read sources.
struct Lowered {
    base: usize,
    sources: Vec<Source>,
    hints: Vec<logical::Hints>,
    subqueries: Vec<Subquery>,
    from: Option<Tree>,
    filter: Vec<Expr>,
    /// Keys, and whether there is a GROUP BY.
    group: Option<(Vec<Expr>, bool)>,
    /// WITH ROLLUP.
    rolled: bool,
    aggregates: Vec<AggregateSpec>,
    having: Vec<Expr>,
    select: Vec<Expr>,
    order: Vec<(Expr, bool)>,
    distinct: bool,
    limit: logical::Limit,
}

impl Lowered {
    /// The column of one of the block's tables that an expression is.
    fn single(&self, e: &Expr) -> Option<Column> {
        match e.kind {
            ExprKind::Column { source, column, .. }
                if source >= self.base && source < self.base + self.sources.len() =>
            {
                Some((source - self.base, column))
            }
            _ => None,
        }
    }

    /// What sources an expression reads, by bit.
    fn needs(&self, e: &Expr) -> u64 {
        conditions::needs(e, self.base, self.sources.len(), &self.subqueries)
    }

    /// The order in which the first table's rows would help.
    fn wanted(&self) -> Option<(usize, Wanted)> {
        match &self.group {
            Some((keys, true)) => {
                let columns = keys.iter().map(|k| self.single(k));
                same_source(columns).map(|(s, list)| (s, Wanted::Together(list)))
            }
            Some((_, false)) => self.end().map(|(s, c, max)| (s, Wanted::End(c, max))),
            None => {
                let columns = self.order.iter();
                same_source(columns.map(|(e, d)| self.single(e).map(|(s, c)| (s, (c, *d)))))
                    .map(|(s, list)| (s, Wanted::Order(list)))
            }
        }
    }

    /// The column whose first value in index order decides the only aggregate: (source, column, is MAX).
    fn end(&self) -> Option<(usize, usize, bool)> {
        let [a] = &self.aggregates[..] else {
            return None;
        };
        let max = match a.kind {
            AggregateKind::Min => false,
            AggregateKind::Max => true,
            _ => return None,
        };
        let [arg] = &a.args[..] else {
            return None;
        };
        // ENUMs compare as texts in MIN and MAX, but are ordered by position.
        if self.sources.len() != 1 || arg.ty.is_enumerated() {
            return None;
        }
        self.single(arg).map(|(s, c)| (s, c, max))
    }

    /// Whether one row of each combination of the columns read is enough, and of which. `columns`: by source.
    fn sparse(&self, filter: &[Expr], assigns: bool, columns: &[Vec<usize>]) -> Option<Sparse> {
        let [columns] = columns else { return None };
        let grouped = self.group.iter().flat_map(|(keys, _)| keys);
        let ordered = self.order.iter().map(|(e, _)| e);
        let plain = || grouped.clone().chain(filter);
        let after = || {
            self.select
                .iter()
                .chain(&self.having)
                .chain(ordered.clone())
        };
        let args = || self.aggregates.iter().flat_map(|a| &a.args);
        let all = || plain().chain(after()).chain(args());
        if !self.subqueries.is_empty() || !all().all(|e| e.is_deterministic(assigns)) {
            return None;
        }
        let repeats = |a: &AggregateSpec| match a.kind {
            AggregateKind::Min | AggregateKind::Max => true,
            AggregateKind::Count | AggregateKind::Sum | AggregateKind::Avg => a.distinct,
            _ => false,
        };
        let enough = match self.group {
            None => self.distinct,
            Some(_) => self.aggregates.iter().all(repeats),
        };
        if !enough {
            return None;
        }
        let extreme = self.extreme().filter(|e| {
            let mut read = false;
            for x in plain().chain(after()) {
                x.columns(&mut |s, c| read |= s == self.base && c == e.column);
            }
            !read
        });
        let own = |c: &usize| extreme.is_none_or(|e| e.column != *c);
        Some(Sparse {
            columns: columns.iter().copied().filter(own).collect(),
            extreme,
        })
    }

    /// The one column of which all aggregates are the least or the greatest value.
    fn extreme(&self) -> Option<Extreme> {
        let mut found: Option<Extreme> = None;
        for a in &self.aggregates {
            let [arg] = &a.args[..] else { return None };
            // ENUMs compare as texts in MIN and MAX, but are ordered by position.
            if arg.ty.is_enumerated() {
                return None;
            }
            let (_, column) = self.single(arg)?;
            let (min, max) = match a.kind {
                AggregateKind::Min => (true, false),
                AggregateKind::Max => (false, true),
                _ => return None,
            };
            let e = found.get_or_insert(Extreme {
                column,
                min: false,
                max: false,
            });
            if e.column != column {
                return None;
            }
            (e.min, e.max) = (e.min | min, e.max | max);
        }
        found
    }

    /// Rows that LIMIT leaves, if nothing but order stands between.
    fn limit_rows(&self, wanted: bool, calc_found_rows: bool) -> Option<f64> {
        let grouped = self.group.is_some();
        let unsortable = !grouped && !self.order.is_empty() && !wanted;
        match &self.limit.count {
            Some(c) if !grouped && !self.distinct && !unsortable && !calc_found_rows => {
                Some(estimate::limit_rows(c, self.limit.offset.as_ref()))
            }
            _ => None,
        }
    }

    /// For each source, whether anything after grouping reads its columns.
    fn kept(&self) -> Vec<bool> {
        let order = self.order.iter().map(|(e, _)| e);
        let after = self.select.iter().chain(&self.having).chain(order);
        let bits = after.fold(0, |bits, e| bits | self.needs(e));
        (0..self.sources.len())
            .map(|n| bits & (1 << n) != 0)
            .collect()
    }

    /// Those subqueries of `once` that run before the first row: what some expression needs in any case, or what access paths and
    /// groups may need, which are asked for with values that are there. `gate` and `filter`: WHERE, taken apart.
    fn first(&self, once: &[usize], gate: &[Expr], filter: &[Expr]) -> Vec<usize> {
        let values = self.base + self.sources.len() + 1;
        let mut needed = vec![false; self.subqueries.len()];
        let mut note = |s: usize, c: usize| {
            if s == values {
                needed[c] = true;
            }
        };
        let order = self.order.iter().map(|(e, _)| e);
        let evaluated = gate.iter().take(1).chain(self.having.iter().take(1));
        for e in evaluated.chain(&self.select).chain(order) {
            e.columns_always(&mut note);
        }
        for e in filter {
            self.needed_by_condition(e, true, &mut note);
        }
        for e in self.group.iter().flat_map(|(keys, _)| keys) {
            e.columns(&mut note);
        }
        for a in &self.aggregates {
            for e in a.args.iter().chain(a.order_by.iter().map(|(e, _)| e)) {
                e.columns(&mut note);
            }
        }
        if let Some(t) = &self.from {
            t.conditions(&mut |e| e.columns(&mut note));
        }
        let first = once.iter().copied();
        // What reads rows of the blocks around is not kept from one time it is asked to the next.
        first
            .filter(|&n| needed[n] || !self.subqueries[n].stays())
            .collect()
    }

    /// Columns that a condition of WHERE reads whenever it is evaluated (if it is `always` reached), and those of terms that an
    /// index may be asked by.
    fn needed_by_condition(&self, e: &Expr, always: bool, f: &mut dyn FnMut(usize, usize)) {
        let sources = self.base..self.base + self.sources.len();
        match &e.kind {
            _ if sources
                .into_iter()
                .any(|s| conditions::term(e, s).is_some()) =>
            {
                e.columns(f);
            }
            ExprKind::And(list) | ExprKind::Or(list) => {
                for (n, e) in list.iter().enumerate() {
                    self.needed_by_condition(e, always && n == 0, f);
                }
            }
            _ if always => e.columns_always(f),
            _ => {}
        }
    }

    /// Columns read of each source, sorted.
    fn columns_read(&self) -> Vec<Vec<usize>> {
        let mut columns = vec![Vec::new(); self.sources.len()];
        let mut note = |s: usize, c: usize| {
            if s >= self.base && s - self.base < self.sources.len() {
                columns[s - self.base].push(c);
            }
        };
        let keys = self.group.iter().flat_map(|(keys, _)| keys);
        let lists = self.select.iter().chain(&self.filter).chain(&self.having);
        for e in lists.chain(keys).chain(self.order.iter().map(|(e, _)| e)) {
            e.columns(&mut note);
        }
        for a in &self.aggregates {
            for e in a.args.iter().chain(a.order_by.iter().map(|(e, _)| e)) {
                e.columns(&mut note);
            }
        }
        for q in &self.subqueries {
            for &(s, c) in &q.outer {
                note(s, c);
            }
        }
        for s in &self.sources {
            for &(s, c) in s.kind.reads() {
                note(s, c);
            }
        }
        if let Some(t) = &self.from {
            t.conditions(&mut |e| e.columns(&mut note));
        }
        for c in &mut columns {
            c.sort_unstable();
            c.dedup();
        }
        columns
    }

    /// Notes for virtual tables which columns are read, and which are compared for equality with constants.
    fn ask_virtual(&mut self, filter: &[Expr], columns: &[Vec<usize>]) {
        for (n, s) in self.sources.iter_mut().enumerate() {
            if let SourceKind::Virtual { known, read, .. } = &mut s.kind {
                *read = Some(columns[n].clone());
                for e in filter {
                    if let Some((c, Term::Eq(v))) = conditions::term(e, self.base + n)
                        && v.is_const()
                    {
                        known.push((c, v));
                    }
                }
            }
        }
    }
}

impl Optimizer<'_> {
    /// Plans a block inside of blocks with `base` sources; also what is expected of it.
    pub fn block(
        &mut self,
        b: logical::Block,
        base: usize,
        calc_found_rows: bool,
    ) -> SqlResult<(Block, Outline)> {
        let mut l = self.lowered(b, base)?;
        let count = l.sources.len();
        let once = conditions::once(base, count, &l.subqueries);
        let columns = l.columns_read();
        // A condition that may say something else each time is asked for each joined row.
        let (assigns, values) = (self.assigns, base + count + 1);
        let differs = |e: &Expr| conditions::differs(e, assigns, values, &once);
        let filter = std::mem::take(&mut l.filter);
        let asked_once = |e: &Expr| l.needs(e) == 0 && (count == 0 || !differs(e));
        let (gate, filter): (Vec<Expr>, Vec<Expr>) = filter.into_iter().partition(asked_once);
        let first = l.first(&once, &gate, &filter);
        let keep = l.kept();
        let wanted = l.wanted();
        let wants_end = matches!(wanted, Some((_, Wanted::End(..))));
        let limit = l.limit_rows(wanted.is_some(), calc_found_rows);
        let sparse = l.sparse(&filter, assigns, &columns);
        l.ask_virtual(&filter, &columns);
        let computed: Vec<Outline> = l.sources.iter().map(|s| self.outline(&s.kind)).collect();
        let mut hash_ids = self.hashes;
        let joined = match l.from.take() {
            None => Joined {
                levels: Vec::new(),
                rows: 1.0,
                ordered: false,
            },
            Some(tree) => Joiner {
                base,
                sources: &l.sources,
                tables: self.tables,
                computed: &computed,
                columns: &columns,
                hints: &l.hints,
                peek: self.peek,
                once: &first,
                assigns,
                needs: &|e| l.needs(e),
                wanted,
                limit,
                sparse,
                hash_ids: &mut hash_ids,
            }
            .plan(tree, filter),
        };
        self.hashes = hash_ids;
        let groups = self.groups(&l, joined.rows, &computed);
        let mut outline = self.expected(&l, groups, &computed);
        let order_is_select = order_is_select(&l);
        let wrap = |e: Expr| with_subqueries(e, values, &first);
        let wrap_all =
            |list: Vec<Expr>| -> Vec<ExprWithSubqueries> { list.into_iter().map(wrap).collect() };
        let grouped = l.group.is_some();
        let group = l.group.map(|(keys, explicit)| Group {
            rolled: l.rolled,
            subqueries: aggregated(&l.aggregates, values, &first),
            keys: wrap_all(keys),
            expected: groups,
            explicit,
            ordered: explicit && joined.ordered,
            first_only: wants_end && joined.ordered,
            keep,
            aggregates: l.aggregates,
        });
        let order = l.order.into_iter().map(|(e, desc)| OrderKey {
            expr: wrap(e),
            desc,
        });
        let block = Block {
            order_is_select,
            base,
            read: columns,
            gate: wrap_all(gate),
            levels: joined.levels,
            group,
            having: wrap_all(l.having),
            select: wrap_all(l.select),
            distinct: l.distinct,
            order: order.collect(),
            in_order: !grouped && joined.ordered,
            limit: l.limit,
            sources: l.sources,
            subqueries: l.subqueries,
            once,
            first,
        };
        outline.cost = self.cost(&block, outline.rows);
        Ok((block, outline))
    }

    /// What is expected of a computed source.
    fn outline(&self, kind: &SourceKind) -> Outline {
        match kind {
            SourceKind::Derived { derived } => self.outlines[*derived].clone(),
            SourceKind::Lateral(l) => Outline {
                cost: l.cost,
                ..Outline::of_rows(l.rows)
            },
            _ => Outline::of_rows(VIRTUAL_ROWS),
        }
    }

    /// Rows of a block whose join has so many, once they are grouped, if they are.
    fn groups(&self, l: &Lowered, joined: f64, computed: &[Outline]) -> f64 {
        match &l.group {
            Some((_, false)) => 1.0,
            Some((keys, true)) => estimate::grouped(joined, self.values(l, keys, computed)),
            None => joined,
        }
    }

    /// What is expected of a block that has so many rows before HAVING.
    fn expected(&self, l: &Lowered, mut rows: f64, computed: &[Outline]) -> Outline {
        let values = |list: &[Expr]| self.values(l, list, computed);
        for _ in &l.having {
            rows *= HAVING;
        }
        if l.distinct {
            rows = estimate::grouped(rows, values(&l.select));
        }
        rows = estimate::limited(rows, &l.limit).max(1.0);
        let select = l.select.iter();
        Outline {
            rows,
            cost: 0.0,
            distinct: select
                .map(|e| values(std::slice::from_ref(e)).min(rows))
                .collect(),
        }
    }

    /// How many different values expressions have together: those of the columns that they read.
    fn values(&self, l: &Lowered, list: &[Expr], computed: &[Outline]) -> f64 {
        let mut read: Vec<Vec<usize>> = vec![Vec::new(); l.sources.len()];
        let mut other = false;
        for e in list {
            e.columns(
                &mut |s, c| match s.checked_sub(l.base).and_then(|n| read.get_mut(n)) {
                    Some(columns) if !columns.contains(&c) => columns.push(c),
                    Some(_) => {}
                    // An aggregate or a subquery; those of the blocks around stay the same.
                    None => other |= s >= l.base,
                },
            );
        }
        if other {
            return f64::INFINITY;
        }
        let of = |(n, columns): (usize, &Vec<usize>)| match &l.sources[n].kind {
            _ if columns.is_empty() => 1.0,
            SourceKind::Table { table, .. } => estimate::distinct(&self.tables[*table], columns),
            _ => computed[n].distinct(columns),
        };
        read.iter().enumerate().map(of).product()
    }

    /// Gives a block's tables their sources, plans its subqueries and derived tables.
    fn lowered(&mut self, b: logical::Block, base: usize) -> SqlResult<Lowered> {
        let count = b.tables.len();
        for (n, t) in b.tables.iter().enumerate() {
            self.place(t.id, base + n);
        }
        if let Some(g) = &b.group {
            self.place(g.id, base + count);
        }
        let subqueries = self.subqueries(&|f| b.own_exprs(f), base + count + 1)?;
        let mut sources = Vec::new();
        let mut hints = Vec::new();
        for t in b.tables {
            hints.push(t.hints);
            sources.push(Source {
                name: t.name,
                kind: self.source(t.kind, base + count + 2)?,
            });
        }
        let rolled = b.group.as_ref().is_some_and(|g| g.rolled);
        let (group, aggregates) = match b.group {
            None => (None, Vec::new()),
            Some(g) => {
                let keys = self.lower_all(g.keys);
                let mut aggregates = g.aggregates;
                for a in &mut aggregates {
                    a.args = self.lower_all(std::mem::take(&mut a.args));
                    for (e, _) in &mut a.order_by {
                        *e = self.lower(e.clone());
                    }
                }
                (Some((keys, g.explicit)), aggregates)
            }
        };
        let order = b.order.into_iter();
        Ok(Lowered {
            base,
            sources,
            hints,
            subqueries,
            from: b.from.map(|t| self.tree(t, base)),
            filter: self.lower_all(b.filter),
            group,
            rolled,
            aggregates,
            having: self.lower_all(b.having),
            select: self.lower_all(b.select),
            order: order.map(|o| (self.lower(o.expr), o.desc)).collect(),
            distinct: b.distinct,
            limit: b.limit,
        })
    }

    /// `inside`: the first source of the blocks inside of this one.
    fn source(&mut self, kind: logical::TableKind, inside: usize) -> SqlResult<SourceKind> {
        use logical::TableKind as T;
        Ok(match kind {
            T::Stored {
                table,
                schema,
                lock,
                partitions,
            } => SourceKind::Table {
                table,
                schema,
                lock,
                partitions,
            },
            T::Derived { derived, .. } => SourceKind::Derived {
                derived: self.derived(derived)?,
            },
            T::Lateral { query, .. } => {
                let outer = self.outer(&query);
                let deterministic = self.arena.is_deterministic(&query, self.assigns);
                let id = self.subqueries;
                self.subqueries += 1;
                let (query, outline) = self.query(*query, inside)?;
                SourceKind::Lateral(Box::new(Lateral {
                    query,
                    outer,
                    deterministic,
                    id,
                    rows: outline.rows,
                    cost: outline.cost,
                }))
            }
            T::Virtual(table) => SourceKind::Virtual {
                table,
                known: Vec::new(),
                read: None,
            },
            T::Row(_) => return Err(SqlError::unsupported("this kind of table reference")),
        })
    }

    /// A join tree by position in the block.
    fn tree(&self, t: logical::Tree, base: usize) -> Tree {
        use logical::Tree as T;
        match t {
            T::Leaf(id) => Tree::Leaf(self.slots[id].unwrap_or(base) - base),
            T::Inner {
                parts,
                on,
                straight,
            } => Tree::Inner {
                parts: parts.into_iter().map(|p| self.tree(p, base)).collect(),
                on: self.lower_all(on),
                straight,
            },
            T::Left { left, right, on } => Tree::Beside {
                left: Box::new(self.tree(*left, base)),
                right: Box::new(self.tree(*right, base)),
                on: self.lower_all(on),
                kind: LevelKind::Outer,
            },
            T::Semi {
                left,
                right,
                on,
                anti,
            } => Tree::Beside {
                left: Box::new(self.tree(*left, base)),
                right: Box::new(self.tree(*right, base)),
                on: self.lower_all(on),
                kind: if anti {
                    LevelKind::Anti
                } else {
                    LevelKind::Semi
                },
            },
        }
    }
}

/// Whether ORDER BY is the select list, ascending.
fn order_is_select(l: &Lowered) -> bool {
    l.order.len() == l.select.len()
        && l.order
            .iter()
            .zip(&l.select)
            .all(|((o, desc), s)| !desc && l.single(o).is_some_and(|c| l.single(s) == Some(c)))
}

/// The subqueries that aggregates' arguments need per row.
fn aggregated(aggregates: &[AggregateSpec], source: usize, once: &[usize]) -> Vec<usize> {
    let mut list = Vec::new();
    for a in aggregates {
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

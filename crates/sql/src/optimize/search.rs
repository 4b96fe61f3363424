//! What the search for a join order asks: the cost and rows of adding a member to those before it.

use hashbrown::HashMap;

use super::access::{Choice, Lead};
use super::conditions::{Cond, term};
use super::estimate::{self, Asked};
use super::joins::{Around, Item, ItemKind, Joiner};
use super::order::{Step, Weigh};
use crate::expr::{CompareOp, Expr, ExprKind};
use crate::logical::PlanTable;
use crate::plan::nodes::{Expected, LevelKind, SourceKind};
use crate::switches::Flag;

/// Cost of putting a row into a hash table.
pub const BUILD: f64 = 2.0;
/// Cost of looking a row up in one.
const PROBE: f64 = 0.5;
/// The same where so many rows are joined that it is done by batches ([`crate::exec`], `batch`).
const BATCH_BUILD: f64 = 0.3;
const BATCH_PROBE: f64 = 0.1;
/// Rows that make a join one by batches.
const BATCH_ROWS: f64 = 10_000.0;
/// Rows up to which hashing may be preferred to an index: more may not fit into memory.
const BUILD_ROWS: f64 = 4_000_000.0;
/// Least part of the rows that an anti-join is taken to leave.
const ANTI: f64 = 0.1;
/// Cost of scans below which hashing is no loss.
const SMALL: f64 = 100.0;
/// How many times cheaper hashing must seem than an index to be preferred to it, and scans than hashing: estimates may be off.
const CLEARLY: f64 = 2.0;

/// What reading a source costs beside others.
#[derive(Clone, Copy, Debug)]
pub struct Ways {
    /// To keep the rows of a computed source that is read more than once.
    pub keep: f64,
    /// By its access path, per row of the others.
    pub each: f64,
    /// Whether that is an index that values of the others narrow.
    pub by_index: bool,
    /// To read what is hashed: cost and rows. `None`: it can't be hashed.
    pub build: Option<(f64, f64)>,
}

impl Ways {
    /// Whether to hash the source, beside that many rows of others.
    pub fn by_hash(&self, rows: f64) -> bool {
        let Some((cost, build)) = self.build else {
            return false;
        };
        let (once, each) = hashing(cost, build, rows);
        let hashed = once + rows * each;
        match self.by_index {
            true => build <= BUILD_ROWS && hashed * CLEARLY < rows * self.each,
            // Few rows may become many before the plan is made anew; a scan for each of them then never ends.
            false => rows * self.each < SMALL || hashed < rows * self.each * CLEARLY,
        }
    }
    /// What is expected of hashing it, beside that many rows of others.
    pub fn expected_hashed(&self, others: f64) -> Expected {
        let (cost, rows) = self.build.unwrap_or_default();
        let (once, each) = hashing(cost, rows, others);
        Expected {
            rows,
            once,
            each,
            out: rows,
        }
    }
    /// Cost once and per row of the others, of which there are that many.
    fn cost(&self, rows: f64) -> (f64, f64) {
        match self.build {
            Some((cost, build)) if self.by_hash(rows) => hashing(cost, build, rows),
            _ => (self.keep, self.each),
        }
    }
}

/// Cost of hashing rows that cost something to read, and of each of the others that looks one up.
fn hashing(cost: f64, build: f64, rows: f64) -> (f64, f64) {
    if build + rows < BATCH_ROWS {
        return (cost + build * BUILD, PROBE);
    }
    (cost + build * BATCH_BUILD, BATCH_PROBE)
}

/// What an item costs and leaves beside some others, whatever their number.
#[derive(Clone, Copy)]
struct Known {
    ways: Ways,
    rows: f64,
}

/// A table read by its own conditions alone.
#[derive(Clone, Copy)]
pub struct Own {
    /// Cost and rows of the path chosen; `None`: it is computed.
    pub path: Option<(f64, f64)>,
    /// Rows that meet the conditions.
    left: f64,
}

/// A search for the order of a join's items.
pub struct Search<'s, 'a> {
    joiner: &'s Joiner<'a>,
    items: &'s [Item],
    conds: &'s [Cond],
    around: Around,
    top: bool,
    /// By item, what an access path of it may make use of, as the sources needed: conditions on the same column in the same way are one.
    features: Vec<Vec<Vec<u64>>>,
    /// By item, the conditions that concern it.
    concern: Vec<Vec<usize>>,
    /// The sources that each of those needs.
    needs: Vec<Vec<u64>>,
    /// By item, the sources of other items that must come before it.
    after: Vec<u64>,
    /// By item, those of them that compare one of its columns with something of the others.
    equalities: Vec<Vec<Equality>>,
    known: HashMap<(usize, u64, u64), Known>,
    /// By item, what its own conditions leave of it, once that was asked for.
    own: Vec<Option<Own>>,
    /// Tables of which constants find one row at most.
    single: Vec<bool>,
}

impl<'s, 'a> Search<'s, 'a> {
    /// A search among the items.
    pub fn new(
        joiner: &'s Joiner<'a>,
        items: &'s [Item],
        conds: &'s [Cond],
        around: Around,
        top: bool,
    ) -> Search<'s, 'a> {
        let concerns = |i: &Item| {
            (0..conds.len())
                .filter(|&c| conds[c].needs & i.bits != 0)
                .collect::<Vec<usize>>()
        };
        let concern: Vec<_> = items.iter().map(concerns).collect();
        let features = items
            .iter()
            .zip(&concern)
            .map(|(i, list)| features(joiner, i, list, conds))
            .collect();
        let all = items.iter().fold(0, |b, i| b | i.bits);
        let after = items.iter().map(|i| i.after & all).collect();
        let of = |list: &Vec<usize>| list.iter().map(|&c| conds[c].needs).collect();
        let needs = concern.iter().map(of).collect();
        let single = items.iter().zip(&concern).map(|(i, list)| {
            let own = list.iter().map(|&c| &conds[c]);
            let own: Vec<&Cond> = own.filter(|c| c.needs == i.bits).collect();
            match i.kind {
                ItemKind::Leaf(n) if items.len() > 1 && !own.is_empty() => joiner
                    .choose(n, &own, 0, Lead::Nobody)
                    .is_some_and(|c| c.access.unique),
                _ => false,
            }
        });
        let single = single.collect();
        let equalities = items.iter().zip(&concern).map(|(i, list)| match i.kind {
            ItemKind::Leaf(n) => equalities(joiner, n, list.iter().map(|&c| &conds[c])),
            ItemKind::Nest { .. } => Vec::new(),
        });
        let equalities = equalities.collect();
        Search {
            joiner,
            single,
            equalities,
            items,
            conds,
            around,
            top,
            features,
            concern,
            needs,
            after,
            known: HashMap::new(),
            own: vec![None; items.len()],
        }
    }

    /// The sources of a set of items, and those around.
    fn bits(&self, set: u64) -> u64 {
        let own = self.items.iter().enumerate();
        own.filter(|(at, _)| set & (1 << at) != 0)
            .fold(self.around.bits, |b, (_, i)| b | i.bits)
    }

    fn usable(&self, at: usize, available: u64) -> Vec<&'s Cond> {
        let now = available | self.items[at].bits;
        let list = self.concern[at].iter().map(|&c| &self.conds[c]);
        list.filter(|c| c.needs & !now == 0).collect()
    }

    fn known(&mut self, at: usize, available: u64) -> Known {
        let now = available | self.items[at].bits;
        let has = |feature: &Vec<u64>| feature.iter().any(|needs| needs & !now == 0);
        let list = self.features[at].iter().enumerate();
        let mask = list
            .filter(|(_, f)| has(f))
            .fold(0u64, |m, (n, _)| m | 1 << (n % 64));
        // Access paths depend on which columns are compared, whichever table gives the values.
        let joined = u64::from(available != 0);
        let key = (at, mask, joined);
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let known = match &self.items[at].kind {
            ItemKind::Leaf(n) => {
                let conds = self.usable(at, available);
                alone(self.joiner, *n, &conds, available, &mut self.own[at])
            }
            ItemKind::Nest { members, on, kind } => {
                nest(self.joiner, members, on, *kind, available)
            }
        };
        self.known.insert(key, known);
        known
    }

    /// Rows of an item that meet one of the rows of others.
    fn rows(&self, at: usize, available: u64, known: &Known) -> f64 {
        match self.items[at].kind {
            ItemKind::Leaf(n) => known.rows * met(self.joiner, n, &self.equalities[at], available),
            ItemKind::Nest { .. } => known.rows,
        }
    }
}

/// Conditions of an item by what they mean for reading it.
fn features(joiner: &Joiner<'_>, item: &Item, list: &[usize], conds: &[Cond]) -> Vec<Vec<u64>> {
    let ItemKind::Leaf(n) = item.kind else {
        return list.iter().map(|&c| vec![conds[c].needs]).collect();
    };
    let source = joiner.base + n;
    let kind = |c: usize| {
        term(&conds[c].expr, source).map(|(column, t)| (column, std::mem::discriminant(&t)))
    };
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for &c in list {
        let what = kind(c);
        let same = |g: &&mut Vec<usize>| what.is_some() && kind(g[0]) == what;
        match groups.iter_mut().find(same) {
            Some(g) if conds[c].needs != item.bits => g.push(c),
            _ => groups.push(vec![c]),
        }
    }
    let needs = |group: Vec<usize>| group.into_iter().map(|c| conds[c].needs).collect();
    groups.into_iter().map(needs).collect()
}

/// The column of a source that an equality compares with something else, and the other side.
fn equated(source: usize, e: &Expr) -> Option<(usize, &Expr)> {
    let ExprKind::Compare(CompareOp::Eq | CompareOp::NullSafeEq, sides, _) = &e.kind else {
        return None;
    };
    let column = |e: &Expr| match e.kind {
        ExprKind::Column {
            source: s, column, ..
        } if s == source => Some(column),
        _ => None,
    };
    match (column(&sides[0]), column(&sides[1])) {
        (Some(c), None) => Some((c, &sides[1])),
        (None, Some(c)) => Some((c, &sides[0])),
        _ => None,
    }
}

/// A comparison of a table's column with something of other sources.
struct Equality {
    column: usize,
    /// The sources of the other side.
    needs: u64,
    /// The column that it is, if it is no more than that.
    other: Option<(usize, usize)>,
    /// How many values that has.
    distinct: f64,
}

/// The comparisons of a table's columns, by column, those with the fewest values first.
fn equalities<'c>(
    joiner: &Joiner<'_>,
    n: usize,
    conds: impl Iterator<Item = &'c Cond>,
) -> Vec<Equality> {
    let own = 1u64 << n;
    let one = |c: &'c Cond| {
        let (column, other) = equated(joiner.base + n, &c.expr)?;
        let other = joiner.column(other);
        Some(Equality {
            column,
            needs: c.needs & !own,
            other,
            distinct: other.map_or(f64::INFINITY, |(s, c)| joiner.distinct(s, &[c])),
        })
    };
    let mut list: Vec<Equality> = conds.filter_map(one).filter(|e| e.needs != 0).collect();
    list.sort_by(|a, b| {
        a.column
            .cmp(&b.column)
            .then(a.distinct.total_cmp(&b.distinct))
    });
    list
}

/// A table beside others, but for what equalities with their columns leave of it. `own`: what its own conditions leave, if that is known.
fn alone(
    joiner: &Joiner<'_>,
    n: usize,
    conds: &[&Cond],
    available: u64,
    own: &mut Option<Own>,
) -> Known {
    let (mine, others): (Vec<&Cond>, Vec<&Cond>) =
        conds.iter().partition(|c| c.needs & available == 0);
    let choice = joiner.choose(n, conds, available, Lead::Nobody);
    let mut own = || {
        *own.get_or_insert_with(|| match available {
            0 => joiner.own(n, &mine, choice.as_ref()),
            _ => joiner.own(n, &mine, joiner.choose(n, &mine, 0, Lead::Nobody).as_ref()),
        })
    };
    let left = own().left;
    let ways = joiner.ways(n, conds, available, choice.as_ref(), || own().path);
    let share: f64 = match joiner.counts_conditions() {
        true => others
            .iter()
            .filter(|c| equated(joiner.base + n, &c.expr).is_none())
            .map(|c| estimate::by_form(&c.expr))
            .product(),
        false => 1.0,
    };
    Known {
        ways,
        rows: left * share,
    }
}

/// A table beside others.
fn leaf(joiner: &Joiner<'_>, n: usize, conds: &[&Cond], available: u64) -> Known {
    let known = alone(joiner, n, conds, available, &mut None);
    let equalities = equalities(joiner, n, conds.iter().copied());
    Known {
        rows: known.rows * met(joiner, n, &equalities, available),
        ..known
    }
}

/// Part of a table's rows that meet a row of the others by equalities: 1 / max(values of either side), System R's, which takes it
/// that the values of the side with fewer are among the other's. Of several columns that one is equal to, all equal to each other
/// then, that with the fewest values says how many are left.
fn met(joiner: &Joiner<'_>, n: usize, equalities: &[Equality], available: u64) -> f64 {
    let mut usable = equalities.iter().filter(|e| e.needs & !available == 0);
    let Some(first) = usable.next() else {
        return 1.0;
    };
    let Some(second) = usable.find(|e| e.column != first.column) else {
        let own = joiner.distinct(n, &[first.column]);
        let theirs = first.other.map_or(1.0, |_| first.distinct);
        return 1.0 / own.max(theirs).max(1.0);
    };
    let mut columns = vec![first.column, second.column];
    // By source, its columns compared.
    let mut others: Vec<(usize, Vec<usize>)> = Vec::new();
    let mut add = |other: Option<(usize, usize)>| {
        let Some((source, column)) = other else {
            return;
        };
        match others.iter_mut().find(|o| o.0 == source) {
            Some(o) => o.1.push(column),
            None => others.push((source, vec![column])),
        }
    };
    add(first.other);
    add(second.other);
    for e in usable {
        if columns.last() != Some(&e.column) {
            columns.push(e.column);
            add(e.other);
        }
    }
    let own = joiner.distinct(n, &columns);
    if joiner.is_unique(n, &columns) {
        // How many combinations the other side has is a guess, and a foreign key has no others.
        return 1.0 / own.max(1.0);
    }
    let theirs: f64 = others.iter().map(|(s, c)| joiner.distinct(*s, c)).product();
    1.0 / own.max(theirs).max(1.0)
}

impl<'a> Joiner<'a> {
    /// A stored table, and its position in the plan.
    fn table(&self, n: usize) -> Option<(usize, &'a PlanTable)> {
        match &self.sources[n].kind {
            SourceKind::Table { table, .. } => Some((*table, &self.tables[*table])),
            _ => None,
        }
    }
    /// Whether conditions that no index decides count.
    fn counts_conditions(&self) -> bool {
        self.peek
            .env
            .switches
            .get()
            .has(Flag::ConditionFanoutFilter)
    }
    /// What a path under a table's own conditions leaves of it.
    fn own(&self, n: usize, conds: &[&Cond], choice: Option<&Choice>) -> Own {
        let left = match choice {
            Some(choice) if self.counts_conditions() => choice.left,
            Some(choice) => choice.rows,
            None if !self.counts_conditions() => self.rows(n),
            None => {
                let share = self.asked(n).share(conds.iter().map(|c| &c.expr), None);
                self.rows(n) * share
            }
        };
        Own {
            path: choice.map(|c| (c.whole, c.rows)),
            left,
        }
    }
    fn asked(&self, n: usize) -> Asked<'a> {
        Asked {
            table: self.table(n),
            source: self.base + n,
            peek: self.peek,
        }
    }
    /// Rows of a source.
    fn rows(&self, n: usize) -> f64 {
        self.table(n)
            .map_or(self.computed[n].rows, |(_, t)| estimate::rows(t))
            .max(1.0)
    }
    /// How many values columns of a source have.
    fn distinct(&self, n: usize, columns: &[usize]) -> f64 {
        match self.table(n) {
            Some((_, table)) => estimate::distinct(table, columns),
            None => self.computed[n].distinct(columns),
        }
    }
    fn is_unique(&self, n: usize, columns: &[usize]) -> bool {
        self.table(n)
            .is_some_and(|(_, t)| estimate::is_unique(t, columns))
    }
    /// The column of a source of the block that an expression is.
    fn column(&self, e: &Expr) -> Option<(usize, usize)> {
        match e.kind {
            ExprKind::Column { source, column, .. }
                if (self.base..self.base + self.sources.len()).contains(&source) =>
            {
                Some((source - self.base, column))
            }
            _ => None,
        }
    }
}

/// The other side of an outer, semi- or anti-join: its members one after the other.
fn nest(
    joiner: &Joiner<'_>,
    members: &[Item],
    on: &[Cond],
    kind: LevelKind,
    available: u64,
) -> Known {
    let mut each = 0.0;
    let mut rows = 1.0;
    let mut have = available;
    let mut only = None;
    for m in members {
        let now = have | m.bits;
        let conds: Vec<&Cond> = on
            .iter()
            .filter(|c| c.needs & !now == 0 && c.needs & m.bits != 0)
            .collect();
        let known = match &m.kind {
            ItemKind::Leaf(n) => leaf(joiner, *n, &conds, have),
            ItemKind::Nest { members, on, kind } => nest(joiner, members, on, *kind, have),
        };
        only = Some(known.ways);
        each += rows * known.ways.cost(rows).1;
        rows *= known.rows;
        have = now;
    }
    let ways = match (members, only) {
        ([_], Some(ways)) => ways,
        _ => Ways {
            keep: 0.0,
            each,
            by_index: true,
            build: None,
        },
    };
    let rows = match kind {
        LevelKind::Inner | LevelKind::Outer => rows.max(1.0),
        LevelKind::Semi => rows.min(1.0),
        LevelKind::Anti => (1.0 - rows).max(ANTI),
    };
    Known { ways, rows }
}

impl Weigh for Search<'_, '_> {
    fn items(&self) -> usize {
        self.items.len()
    }

    fn eligible(&self, at: usize, set: u64) -> bool {
        let after = self.after[at];
        after == 0 || after & !self.bits(set) == 0
    }

    fn connected(&self, at: usize, set: u64) -> bool {
        let (bits, own) = (self.bits(set), self.items[at].bits);
        let with = |needs: &u64| needs & bits != 0 && needs & !(bits | own) == 0;
        match &self.items[at].kind {
            ItemKind::Nest { .. } => true,
            ItemKind::Leaf(_) if self.after[at] != 0 => true,
            ItemKind::Leaf(_) => self.single[at] || self.needs[at].iter().any(with),
        }
    }

    fn step(&mut self, at: usize, set: u64, rows: f64) -> Step {
        let available = self.bits(set);
        let known = self.known(at, available);
        let (once, each) = known.ways.cost(rows);
        let out = self.rows(at, available, &known);
        Step {
            once,
            // What comes out is handed on.
            each: each + out * 0.1,
            rows: out,
        }
    }

    fn ordered(&mut self, at: usize) -> Option<Step> {
        let (ItemKind::Leaf(n), Some((wanted, _))) = (&self.items[at].kind, &self.joiner.wanted)
        else {
            return None;
        };
        if !self.top || n != wanted {
            return None;
        }
        let conds = self.usable(at, 0);
        let choice: Choice = self.joiner.choose(*n, &conds, 0, Lead::InOrder)?;
        let known = self.known(at, 0);
        let rows = self.rows(at, 0, &known);
        choice.ordered.then_some(Step {
            once: 0.0,
            each: choice.whole,
            rows,
        })
    }

    fn wants_order(&self) -> bool {
        self.joiner.wants_order()
    }

    fn limit(&self) -> Option<f64> {
        let spares = !self.wants_order() || self.joiner.spares();
        self.joiner.limit.filter(|_| self.top && spares)
    }
}

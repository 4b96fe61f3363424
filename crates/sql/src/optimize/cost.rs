//! What a block costs as a whole: its loops, the derived tables that it reads, and its subqueries as often as they are expected to run.
//! It serves to choose between ways to say the same; the unit is that of [`super::access`].

use super::{Optimizer, estimate};
use crate::plan::nodes::{Block, ExprWithSubqueries, Level, LevelFrom, SourceKind};

/// How many times more rows a subquery in a condition is asked for than satisfy it.
const ASKED: f64 = 3.0;
/// Cost of grouping or sorting, per row.
const KEEP: f64 = 2.0;

/// Cost of finding the value of a subquery that was kept.
const KNOWN: f64 = 0.5;

/// What running some loops costs.
struct Run<'b> {
    block: &'b Block,
    cost: f64,
    /// Rows that come out so far.
    rows: f64,
    /// By source, the rows that came out when it was joined: of its columns there are no more combinations.
    combinations: Vec<f64>,
}

impl Optimizer<'_> {
    /// The cost of running a block to its end, or until LIMIT is met where nothing has to be complete before. `rows`: that come out.
    pub fn cost(&self, b: &Block, rows: f64) -> f64 {
        let once = b.once.iter().map(|&n| b.subqueries[n].cost);
        let derived = b.sources.iter().map(|s| match s.kind {
            SourceKind::Derived { derived } => self.outlines[derived].cost,
            _ => 0.0,
        });
        let before: f64 = once.chain(derived).sum();
        let mut run = Run {
            block: b,
            cost: 0.0,
            rows: 1.0,
            combinations: vec![1.0; b.sources.len()],
        };
        self.levels(&mut run, &b.levels);
        let mut cost = run.cost;
        if b.group.is_some() || b.distinct || b.sorts() {
            cost += run.rows * KEEP;
        } else if b.limit.count.is_some() {
            cost *= (rows / run.rows.max(1.0)).min(1.0);
        }
        let each = |list: &[ExprWithSubqueries], times: f64| -> f64 {
            list.iter()
                .map(|e| self.asked(&run, &e.subqueries, times))
                .sum()
        };
        if let Some(g) = &b.group {
            cost += each(&g.keys, run.rows) + self.asked(&run, &g.subqueries, run.rows);
            cost += each(&b.having, g.expected);
        }
        let keys = b.order.iter().map(|o| &o.expr.subqueries);
        let keys: f64 = keys.map(|list| self.asked(&run, list, rows)).sum();
        before + cost + keys + each(&b.select, rows)
    }

    fn levels(&self, run: &mut Run<'_>, list: &[Level]) {
        for l in list {
            let e = &l.expected;
            let before = run.rows;
            match &l.from {
                LevelFrom::Nest(inner) => {
                    self.levels(run, inner);
                    run.rows = before;
                }
                _ => run.cost += e.once + before * e.each,
            }
            let out = before * e.out;
            if let LevelFrom::Table(s, _) | LevelFrom::Rows(s) = l.from {
                run.combinations[s - run.block.base] = out;
            } else if let LevelFrom::Hash(h) = &l.from {
                run.combinations[h.source - run.block.base] = out;
            }
            let looked_at = before * (e.out * ASKED).min(e.rows.max(e.out));
            let recheck: &[ExprWithSubqueries] = match &l.from {
                LevelFrom::Table(_, access) => &access.recheck,
                _ => &[],
            };
            for cond in l.on.iter().chain(&l.filter).chain(recheck) {
                run.cost += self.asked(run, &cond.subqueries, looked_at);
            }
            run.rows = out;
        }
    }

    /// The cost of asking for subqueries so many times. Those that may be kept run once for rows that are alike in what they read.
    fn asked(&self, run: &Run<'_>, list: &[usize], times: f64) -> f64 {
        let b = run.block;
        let one = |&n: &usize| {
            let q = &b.subqueries[n];
            let runs = match q.correlated && q.deterministic {
                true => times.min(self.combinations(run, &q.outer)),
                false => times,
            };
            runs * q.cost + times * KNOWN
        };
        list.iter().filter(|n| !b.once.contains(n)).map(one).sum()
    }

    /// How many combinations of values columns of the block's sources have at most.
    fn combinations(&self, run: &Run<'_>, columns: &[(usize, usize)]) -> f64 {
        let b = run.block;
        let mut all = 1.0;
        let mut by_source: Vec<Vec<usize>> = vec![Vec::new(); b.sources.len()];
        for &(s, c) in columns.iter().filter(|(s, _)| *s >= b.base) {
            match by_source.get_mut(s - b.base) {
                Some(list) => list.push(c),
                // An aggregate, or the value of another subquery.
                None => return f64::INFINITY,
            }
        }
        for (n, list) in by_source.iter().enumerate().filter(|(_, l)| !l.is_empty()) {
            let distinct = match &b.sources[n].kind {
                SourceKind::Table { table, .. } => estimate::distinct(&self.tables[*table], list),
                SourceKind::Derived { derived } => self.outlines[*derived].distinct(list),
                SourceKind::Lateral(_) | SourceKind::Virtual { .. } => f64::INFINITY,
            };
            all *= distinct.min(run.combinations[n]).max(1.0);
        }
        all
    }
}

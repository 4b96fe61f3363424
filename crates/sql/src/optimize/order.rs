//! The order of a join's items: dynamic programming over connected subsets of up to a dozen, greedily and by local
//! search beyond.
//!
//! Plans are left-deep, as the executor's loops are: the best way to join a set is the best way to join it without one of its items,
//! and then that one. A set that is connected by conditions is never taken apart into a cross product. Two ways to join a
//! set are kept: the cheapest, and the cheapest that leaves the rows in the order wanted.
//! (Selinger et al., Access Path Selection in a Relational Database Management System, 1979; Moerkotte and Neumann,
//! Analysis of Two Existing and One New Dynamic Programming Algorithm, 2006.)

/// Items up to which all orders are looked at.
const EXHAUSTIVE: usize = 12;
/// How many times the items of a greedy order are looked at for a better place.
const ROUNDS: usize = 4;
/// Cost of sorting, per row.
const SORT: f64 = 2.0;

/// What adding an item to a set of others means.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Cost before the first row: building a hash table.
    pub once: f64,
    /// Cost per row of the set.
    pub each: f64,
    /// Rows per row of the set.
    pub rows: f64,
}

/// What the search asks of the join.
pub trait Weigh {
    /// Number of items.
    fn items(&self) -> usize;
    /// Whether an item may come next: those that it depends on are there.
    fn eligible(&self, at: usize, set: u64) -> bool;
    /// Whether a condition connects an item with the set, or it has one row at most.
    fn connected(&self, at: usize, set: u64) -> bool;
    /// Adds an item to a set that has `rows` rows; the sets are of items, by bit.
    fn step(&mut self, at: usize, set: u64, rows: f64) -> Step;
    /// Reads an item first, in the order wanted. `None`: it gives no such order.
    fn ordered(&mut self, at: usize) -> Option<Step>;
    /// Whether an order is wanted.
    fn wants_order(&self) -> bool;
    /// Rows that are enough, if in order.
    fn limit(&self) -> Option<f64>;
}

/// An order of the items, and whether the first is read in the order wanted.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    /// The items.
    pub items: Vec<usize>,
    /// Whether rows come as wanted.
    pub ordered: bool,
}

/// A way to join a set.
#[derive(Clone, Copy, Debug)]
struct Way {
    once: f64,
    cost: f64,
    rows: f64,
    /// The item added last.
    last: usize,
}

impl Way {
    fn first(step: Step, at: usize) -> Way {
        Way {
            once: step.once,
            cost: step.each,
            rows: step.rows,
            last: at,
        }
    }
    fn then(self, step: Step, at: usize) -> Way {
        Way {
            once: self.once + step.once,
            cost: self.cost + self.rows * step.each,
            rows: (self.rows * step.rows).max(f64::MIN_POSITIVE),
            last: at,
        }
    }
    fn total(&self) -> f64 {
        self.once + self.cost
    }
    /// Cost of the whole, with what is left to do.
    fn whole(&self, w: &dyn Weigh, ordered: bool) -> f64 {
        if w.wants_order() && !ordered {
            return self.total() + self.rows * SORT;
        }
        match w.limit() {
            Some(limit) => self.once + self.cost * (limit / self.rows.max(limit)),
            None => self.total(),
        }
    }
}

/// The cheapest order.
pub fn best(w: &mut dyn Weigh) -> Order {
    if w.items() <= EXHAUSTIVE {
        exhaustive(w)
    } else {
        greedy(w)
    }
}

/// The items that may come next: those connected with the set, unless none is.
fn next(w: &dyn Weigh, set: u64) -> Vec<usize> {
    let free = |at: &usize| set & (1 << at) == 0 && w.eligible(*at, set);
    let all: Vec<usize> = (0..w.items()).filter(free).collect();
    if set == 0 {
        return all;
    }
    let connected: Vec<usize> = all
        .iter()
        .copied()
        .filter(|&at| w.connected(at, set))
        .collect();
    if connected.is_empty() { all } else { connected }
}

fn keep(best: &mut Option<Way>, way: Way) {
    if best.is_none_or(|b| way.total() < b.total()) {
        *best = Some(way);
    }
}

fn exhaustive(w: &mut dyn Weigh) -> Order {
    let n = w.items();
    let all = (1u64 << n) - 1;
    // By set: the cheapest way, and the cheapest in order.
    let mut ways: Vec<[Option<Way>; 2]> = vec![[None; 2]; 1 << n];
    for at in next(w, 0) {
        let step = w.step(at, 0, 1.0);
        keep(&mut ways[1 << at][0], Way::first(step, at));
        if let Some(step) = w.ordered(at) {
            keep(&mut ways[1 << at][1], Way::first(step, at));
        }
    }
    for set in 1..all {
        if ways[set as usize].iter().all(Option::is_none) {
            continue;
        }
        for at in next(w, set) {
            let grown = (set | 1 << at) as usize;
            for (ordered, way) in ways[set as usize].into_iter().enumerate() {
                if let Some(way) = way {
                    let step = w.step(at, set, way.rows);
                    keep(&mut ways[grown][ordered], way.then(step, at));
                }
            }
        }
    }
    let whole = |ordered: usize| {
        let way = ways[all as usize][ordered]?;
        Some((way.whole(w, ordered == 1), ordered))
    };
    let best = [whole(1), whole(0)].into_iter().flatten();
    let Some((_, ordered)) = best.min_by(|a, b| a.0.total_cmp(&b.0)) else {
        return greedy(w);
    };
    let mut items = Vec::new();
    let mut set = all;
    while let Some(way) = ways[set as usize][ordered] {
        items.push(way.last);
        set &= !(1 << way.last);
    }
    items.reverse();
    Order {
        items,
        ordered: ordered == 1,
    }
}

/// The cheapest of the orders that begin with each item and go on with whichever costs least, its rows counted.
fn greedy(w: &mut dyn Weigh) -> Order {
    let mut best: Option<(f64, Order)> = None;
    for first in next(w, 0) {
        let plain = w.step(first, 0, 1.0);
        let starts = [(Some(plain), false), (w.ordered(first), true)];
        for (step, ordered) in starts {
            let Some(step) = step else { continue };
            let (way, items) = grow(w, Way::first(step, first), first);
            let cost = way.whole(w, ordered);
            if items.len() == w.items() && best.as_ref().is_none_or(|b| cost < b.0) {
                best = Some((cost, Order { items, ordered }));
            }
        }
    }
    match best {
        Some((cost, order)) => improve(w, cost, order),
        // As written, each comes after what it asks about.
        None => Order {
            items: (0..w.items()).collect(),
            ordered: false,
        },
    }
}

/// Moves items of an order, one at a time, to where the whole costs less, until none does or all have been looked at a few times
/// (Ioannidis and Kang, Randomized Algorithms for Optimizing Large Join Queries, 1990: local search from a good start).
fn improve(w: &mut dyn Weigh, cost: f64, mut order: Order) -> Order {
    let mut least = cost;
    // What gives the order wanted stays where it is.
    let begin = usize::from(order.ordered);
    for _ in 0..ROUNDS {
        let before = least;
        for from in begin..order.items.len() {
            for to in begin..order.items.len() {
                if from == to {
                    continue;
                }
                let mut items = order.items.clone();
                let moved = items.remove(from);
                items.insert(to, moved);
                if let Some(cost) = weigh(w, &items, order.ordered, least) {
                    least = cost;
                    order.items = items;
                }
            }
        }
        if least >= before {
            break;
        }
    }
    order
}

/// What an order costs. `None`: it can't be, or doesn't cost less than that much.
fn weigh(w: &mut dyn Weigh, items: &[usize], ordered: bool, most: f64) -> Option<f64> {
    let step = match ordered {
        true => w.ordered(items[0])?,
        false if next(w, 0).contains(&items[0]) => w.step(items[0], 0, 1.0),
        false => return None,
    };
    let limited = w.limit().is_some();
    let mut way = Way::first(step, items[0]);
    let mut set = 1u64 << items[0];
    for &at in &items[1..] {
        let joined = w.eligible(at, set) && w.connected(at, set);
        if !joined && !next(w, set).contains(&at) {
            return None;
        }
        let step = w.step(at, set, way.rows);
        way = way.then(step, at);
        set |= 1 << at;
        if !limited && way.total() >= most {
            return None;
        }
    }
    Some(way.whole(w, ordered)).filter(|cost| *cost < most)
}

fn grow(w: &mut dyn Weigh, mut way: Way, first: usize) -> (Way, Vec<usize>) {
    let mut items = vec![first];
    let mut set = 1u64 << first;
    loop {
        let mut cheapest: Option<(f64, Way)> = None;
        for at in next(w, set) {
            let step = w.step(at, set, way.rows);
            let then = way.then(step, at);
            let cost = then.total() - way.total() + then.rows;
            if cheapest.is_none_or(|c| cost < c.0) {
                cheapest = Some((cost, then));
            }
        }
        let Some((_, then)) = cheapest else {
            return (way, items);
        };
        way = then;
        set |= 1 << way.last;
        items.push(way.last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tables with rows; pairs of them joined by keys of the second, which is looked up or, without an index, hashed.
    struct Tables {
        rows: Vec<f64>,
        keys: Vec<(usize, usize)>,
        steps: usize,
    }

    impl Weigh for Tables {
        fn items(&self) -> usize {
            self.rows.len()
        }
        fn eligible(&self, _: usize, _: u64) -> bool {
            true
        }
        fn connected(&self, at: usize, set: u64) -> bool {
            let with = |a: usize, b: usize| a == at && set & (1 << b) != 0;
            self.keys.iter().any(|&(a, b)| with(a, b) || with(b, a))
        }
        fn step(&mut self, at: usize, set: u64, _: f64) -> Step {
            self.steps += 1;
            let mut step = Step {
                once: 0.0,
                each: self.rows[at],
                rows: self.rows[at],
            };
            for &(from, to) in &self.keys {
                if to == at && set & (1 << from) != 0 {
                    (step.each, step.rows) = (1.0, step.rows / self.rows[at]);
                } else if from == at && set & (1 << to) != 0 {
                    (step.once, step.each) = (self.rows[at], 1.0);
                    step.rows /= self.rows[to];
                }
            }
            step
        }
        fn ordered(&mut self, _: usize) -> Option<Step> {
            None
        }
        fn wants_order(&self) -> bool {
            false
        }
        fn limit(&self) -> Option<f64> {
            None
        }
    }

    /// A table of facts with dimensions of a hundred rows around it.
    fn star(n: usize) -> Tables {
        let mut rows = vec![100.0; n];
        rows[n / 2] = 1_000_000.0;
        let keys = (0..n).filter(|&d| d != n / 2).map(|d| (n / 2, d));
        Tables {
            keys: keys.collect(),
            rows,
            steps: 0,
        }
    }

    #[test]
    fn dimensions_are_not_joined_with_each_other() {
        for n in [3, 7, 9, 12, 13, 20] {
            let mut t = star(n);
            let order = best(&mut t);
            assert_eq!(order.items.len(), n);
            let fact = order.items.iter().position(|&at| at == n / 2);
            assert!(fact <= Some(1), "{n}: {order:?}");
        }
    }

    #[test]
    fn chains_are_followed() {
        for n in [8, 12, 16] {
            let mut t = Tables {
                rows: (0..n).map(|i| 1000.0 * (i + 1) as f64).collect(),
                keys: (1..n).map(|i| (i - 1, i)).collect(),
                steps: 0,
            };
            let order = best(&mut t);
            let mut set = 1u64 << order.items[0];
            for &at in &order.items[1..] {
                assert!(t.connected(at, set), "{order:?}");
                set |= 1 << at;
            }
            assert_eq!(set, (1 << n) - 1);
        }
    }

    /// Tables behind the first: the greedy order takes what is cheap, not what leaves few rows.
    struct Filters(Vec<Step>);

    impl Weigh for Filters {
        fn items(&self) -> usize {
            self.0.len()
        }
        fn eligible(&self, at: usize, set: u64) -> bool {
            at == 0 || set & 1 != 0
        }
        fn connected(&self, _: usize, _: u64) -> bool {
            true
        }
        fn step(&mut self, at: usize, _: u64, _: f64) -> Step {
            self.0[at]
        }
        fn ordered(&mut self, _: usize) -> Option<Step> {
            None
        }
        fn wants_order(&self) -> bool {
            false
        }
        fn limit(&self) -> Option<f64> {
            None
        }
    }

    #[test]
    fn what_leaves_few_rows_comes_before_what_is_cheap() {
        let step = |each, rows| Step {
            once: 0.0,
            each,
            rows,
        };
        // A first table; many that are cheap and leave all rows; one that costs a little more than their rows and leaves few.
        let mut steps = vec![step(100.0, 100.0)];
        steps.extend(vec![step(1.0, 1.0); 14]);
        steps.push(step(3.0, 0.01));
        let order = best(&mut Filters(steps));
        assert_eq!(order.items[..2], [0, 15], "{order:?}");
    }

    #[test]
    fn a_search_is_bounded() {
        // A clique has all subsets.
        let n = 12;
        let pairs = (0..n).flat_map(|a| (0..a).map(move |b| (a, b)));
        let mut t = Tables {
            rows: vec![100.0; n],
            keys: pairs.collect(),
            steps: 0,
        };
        assert_eq!(best(&mut t).items.len(), n);
        assert!(t.steps <= n << n, "{}", t.steps);
    }
}

//! Holds a history against its isolation level.
//!
//! Each transaction has a point at which all its writes and locking reads hold: its commit, since their locks are kept until then. What
//! its plain reads see is the state at another point: that of the read view. So the graph has a node for the commit and
//! nodes for read views, and edges between them as Adya has them between whole transactions. Whatever the level,
//! **this graph has no cycle**, with an edge from all that was answered to all that was asked thereafter. What the levels
//! differ in is what belongs to which point:
//!
//! - SERIALIZABLE: one point a transaction, its commit (strict serializability);
//! - REPEATABLE READ: one read view a transaction, made by its first plain read;
//! - READ COMMITTED: one read view a statement. Locking reads of what isn't there lock no gap, so they have no point;
//! - READ UNCOMMITTED: plain reads have none: they may see anything that somebody wrote.
//!
//! From READ COMMITTED on a read sees no element of a transaction that was rolled back or lost (G1a), nor what a transaction had
//! only half written (G1b). At any level what was acknowledged is there in the end, what was rolled back isn't, and
//! a transaction whose COMMIT had no answer is there wholly or not at all. A transaction sees what it wrote.

use crate::graph::{self, Edge, Graph};
use crate::history::{Element, History, Interval, Key, Level, Op, Outcome, Seen, Txn};
use std::collections::{HashMap, HashSet};

/// What was checked.
#[derive(Debug, Default)]
pub struct Summary {
    pub committed: usize,
    pub reads: usize,
    /// Transactions whose COMMIT had no answer: how many were found committed, of how many.
    pub unknown: (usize, usize),
    /// Committed transactions on a cycle of the graph of whole transactions: what the level allows and SERIALIZABLE wouldn't.
    pub allowed: usize,
}

struct Writer {
    txn: usize,
    /// Rolled back to a savepoint.
    undone: bool,
}

/// A read of a list, after its contents were found to be in order.
struct Look {
    txn: usize,
    op: usize,
    key: Key,
    /// How many elements of the list, as it was in the end, it saw, but for the transaction's own.
    prefix: usize,
    kind: Kind,
    interval: Interval,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Of a list that the transaction has written to, and so locked.
    Own,
    Locking,
    Plain,
}

struct Checker<'a> {
    history: &'a History,
    writers: HashMap<Element, Writer>,
    committed: Vec<bool>,
}

/// An error says what was seen that the level forbids.
pub fn check(history: &History) -> Result<Summary, String> {
    let mut checker = Checker {
        history,
        writers: HashMap::new(),
        committed: Vec::new(),
    };
    checker.find_writers();
    checker.find_committed();
    checker.check_lists()?;
    let looks = checker.looks()?;
    let (graph, nodes) = checker.points(&looks);
    if let Some(component) = graph.components().first() {
        return Err(checker.describe(&graph.cycle(component), &nodes));
    }
    let whole = checker.whole_transactions(&looks).components();
    let unknown = |i: &usize| history.txns[*i].outcome == Outcome::Unknown;
    let found = |i: &usize| checker.committed[*i];
    let all = 0..history.txns.len();
    Ok(Summary {
        committed: all.clone().filter(found).count(),
        reads: looks.len(),
        unknown: (
            all.clone().filter(unknown).filter(found).count(),
            all.filter(unknown).count(),
        ),
        allowed: whole.iter().map(Vec::len).sum(),
    })
}

impl Checker<'_> {
    fn find_writers(&mut self) {
        for (i, txn) in self.history.txns.iter().enumerate() {
            let (mut active, mut savepoint) = (Vec::new(), 0);
            for op in &txn.ops {
                match op {
                    Op::Append(_, element) => {
                        active.push(*element);
                        let writer = Writer {
                            txn: i,
                            undone: false,
                        };
                        let other = self.writers.insert(*element, writer);
                        assert!(other.is_none(), "elements are appended once");
                    }
                    Op::Savepoint => savepoint = active.len(),
                    Op::RollbackToSavepoint => {
                        for element in active.drain(savepoint..) {
                            self.writers.get_mut(&element).expect("inserted").undone = true;
                        }
                    }
                    Op::Read { .. } => {}
                }
            }
        }
    }

    fn find_committed(&mut self) {
        let there: HashSet<usize> = (self.history.lists.values().flatten())
            .filter_map(|e| self.writers.get(e))
            .map(|w| w.txn)
            .collect();
        let txns = self.history.txns.iter().enumerate();
        self.committed = txns
            .map(|(i, txn)| match txn.outcome {
                Outcome::Committed => true,
                Outcome::Aborted => false,
                Outcome::Unknown => there.contains(&i),
            })
            .collect();
    }

    /// What is there in the end.
    fn check_lists(&self) -> Result<(), String> {
        let mut there = HashSet::new();
        for (key, list) in &self.history.lists {
            for element in list {
                let Some(writer) = self.writers.get(element) else {
                    return Err(format!("list {key} has {element}, which nobody wrote"));
                };
                if writer.undone || !self.committed[writer.txn] {
                    return Err(format!(
                        "list {key} has {element} of {}, which was rolled back",
                        self.text(writer.txn)
                    ));
                }
                if !there.insert(*element) {
                    return Err(format!("list {key} has {element} twice"));
                }
            }
        }
        let lost = (self.writers.iter())
            .find(|(e, w)| !w.undone && self.committed[w.txn] && !there.contains(e));
        match lost {
            Some((element, w)) => Err(format!("lost: {element} of {}", self.text(w.txn))),
            None => Ok(()),
        }
    }

    fn looks(&self) -> Result<Vec<Look>, String> {
        let mut looks = Vec::new();
        for (i, txn) in self.history.txns.iter().enumerate() {
            let (mut own, mut savepoint): (Vec<(Key, Element)>, usize) = (Vec::new(), 0);
            for (op, what) in txn.ops.iter().enumerate() {
                match what {
                    Op::Append(key, element) => own.push((*key, *element)),
                    Op::Savepoint => savepoint = own.len(),
                    Op::RollbackToSavepoint => own.truncate(savepoint),
                    Op::Read {
                        locking,
                        lists,
                        interval,
                    } => {
                        for (key, seen) in lists {
                            let mine: Vec<_> = own
                                .iter()
                                .filter(|(k, _)| k == key)
                                .map(|(_, e)| *e)
                                .collect();
                            let kind = match (mine.is_empty(), locking) {
                                (false, _) => Kind::Own,
                                (true, true) => Kind::Locking,
                                (true, false) => Kind::Plain,
                            };
                            let bad = |what: String| {
                                format!("{what}: list {key}, seen {seen:?} by {}", self.text(i))
                            };
                            if self.history.level == Level::ReadUncommitted && kind == Kind::Plain {
                                self.somebody_wrote(seen).map_err(bad)?;
                                continue;
                            }
                            let prefix = self.prefix(i, *key, seen, &mine).map_err(bad)?;
                            let interval = *interval;
                            looks.push(Look {
                                txn: i,
                                op,
                                key: *key,
                                prefix,
                                kind,
                                interval,
                            });
                        }
                    }
                }
            }
        }
        Ok(looks)
    }

    fn somebody_wrote(&self, seen: &Seen) -> Result<(), String> {
        let Seen::List(list) = seen else {
            return Ok(());
        };
        match list.iter().find(|e| !self.writers.contains_key(e)) {
            Some(element) => Err(format!("{element} was written by nobody")),
            None => Ok(()),
        }
    }

    /// How much of the list a read saw beside the transaction's own elements, which are the last.
    fn prefix(&self, txn: usize, key: Key, seen: &Seen, mine: &[Element]) -> Result<usize, String> {
        let none = Vec::new();
        let list = self.history.lists.get(&key).unwrap_or(&none);
        let Some(prefix) = seen.len().checked_sub(mine.len()) else {
            return Err("its own writes aren't seen".into());
        };
        if let Seen::List(seen) = seen {
            if seen[prefix..] != *mine {
                return Err("its own writes aren't seen".into());
            }
            let same = seen[..prefix]
                .iter()
                .zip(list)
                .take_while(|(a, b)| a == b)
                .count();
            if same < prefix {
                return Err(match self.writers.get(&seen[same]) {
                    None => format!("{} was written by nobody", seen[same]),
                    Some(w) if self.committed[w.txn] && !w.undone => {
                        format!("not a prefix of {list:?}")
                    }
                    Some(w) => format!(
                        "G1a, {} of {}, which was rolled back or lost",
                        seen[same],
                        self.text(w.txn)
                    ),
                });
            }
        }
        if prefix > list.len() {
            return Err(format!("G1a, longer than {list:?}"));
        }
        let of = |at: usize| list.get(at).map(|e| self.writers[e].txn);
        if prefix > 0 && of(prefix - 1) == of(prefix) && of(prefix) != Some(txn) {
            return Err("G1b, half of what was written".into());
        }
        Ok(prefix)
    }

    /// The graph of points, and whose they are: (transaction, operation of a read view). A transaction's commit is
    /// the node of its number.
    fn points(&self, looks: &[Look]) -> (Graph, HashMap<usize, (usize, usize)>) {
        let level = self.history.level;
        let mut graph = Graph::with_nodes(self.history.txns.len());
        let (mut views, mut nodes) = (HashMap::new(), HashMap::new());
        let mut intervals: Vec<(usize, u64, u64)> = (self.history.txns.iter().enumerate())
            .filter(|(i, _)| self.committed[*i])
            .map(|(i, txn)| (i, txn.commit.0, txn.commit.1))
            .collect();
        self.versions(&mut graph);
        for look in looks {
            let of_commit = match (level, look.kind) {
                (_, Kind::Own) | (Level::Serializable, _) => true,
                (Level::RepeatableRead, Kind::Locking) => true,
                (_, Kind::Locking) if look.prefix == 0 => continue,
                (_, Kind::Locking) => true,
                (_, Kind::Plain) => false,
            };
            if of_commit {
                if self.committed[look.txn] {
                    self.depend(&mut graph, look.txn, look);
                }
                continue;
            }
            let op = if level == Level::ReadCommitted {
                look.op
            } else {
                0
            };
            let view = *views.entry((look.txn, op)).or_insert_with(|| {
                let node = graph.node();
                let made = match self.history.txns[look.txn].snapshot {
                    Some(made) if level == Level::RepeatableRead => made,
                    _ => look.interval,
                };
                intervals.push((node, made.0, made.1));
                nodes.insert(node, (look.txn, look.op));
                node
            });
            self.depend(&mut graph, view, look);
        }
        graph.order_by_time(&intervals);
        (graph, nodes)
    }

    /// The graph of whole transactions that were committed.
    fn whole_transactions(&self, looks: &[Look]) -> Graph {
        let mut graph = Graph::with_nodes(self.history.txns.len());
        self.versions(&mut graph);
        for look in looks.iter().filter(|l| self.committed[l.txn]) {
            self.depend(&mut graph, look.txn, look);
        }
        graph
    }

    fn versions(&self, graph: &mut Graph) {
        for list in self.history.lists.values() {
            for two in list.windows(2) {
                graph.edge(
                    self.writers[&two[0]].txn,
                    self.writers[&two[1]].txn,
                    Edge::Ww,
                );
            }
        }
    }

    fn depend(&self, graph: &mut Graph, node: usize, look: &Look) {
        let Some(list) = self.history.lists.get(&look.key) else {
            return;
        };
        if look.prefix > 0 {
            graph.edge(self.writers[&list[look.prefix - 1]].txn, node, Edge::Wr);
        }
        if let Some(next) = list.get(look.prefix) {
            graph.edge(node, self.writers[next].txn, Edge::Rw);
        }
    }

    fn text(&self, txn: usize) -> String {
        let Txn {
            ops,
            outcome,
            commit,
            snapshot,
        } = &self.history.txns[txn];
        format!(
            "transaction {txn} ({outcome:?}, commit {commit:?}, read view {snapshot:?}): {ops:?}"
        )
    }

    fn describe(&self, cycle: &[(usize, Edge)], views: &HashMap<usize, (usize, usize)>) -> String {
        let mut text = format!(
            "{} at {}:",
            graph::name(cycle.iter().map(|(_, e)| *e)),
            self.history.level.sql()
        );
        for (node, edge) in cycle {
            let (txn, point) = match views.get(node) {
                Some((txn, op)) => (*txn, format!("the read view of operation {op} of ")),
                None if *node < self.history.txns.len() => (*node, "the commit of ".into()),
                None => continue,
            };
            text += &format!("\n  {point}{}\n    {edge:?} ->", self.text(txn));
        }
        text
    }
}

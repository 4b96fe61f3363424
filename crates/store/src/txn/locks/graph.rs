//! Who waits for whom.
//!
//! The graph stores only the waiting owners and what each waits for; edges are read from the lock queues
//! when a deadlock is looked for, so they are never stale. A deadlock is looked for once per wait, when it begins: a
//! cycle is complete only when its last member begins to wait, and that member finds it (everything
//! else that changes a queue grants locks to owners that are not waiting, or replaces an edge to
//! a waiter by an edge to the same owner as holder).
//!
//! Of a row's queue the edges are those to holders (`point`'s `edges`): who waits before another waits nowhere else, so there is no other
//! way on from it. A search takes as long as there are holders, however many wait.
//!
//! The queues are read one after the other, so a cycle found may be a mixture of moments. Each edge is therefore read
//! a second time: if all still stand, they stood together between the two passes.

use super::super::Owner;
use super::super::mdl::{MdlLock, MdlMode};
use super::point::PointRef;
use super::{Key, LockMode, LockSystem};
use crate::space::SpaceId;
use hashbrown::{HashMap, HashSet};
use parking_lot::Mutex;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// What an owner waits for.
#[derive(Clone)]
pub(in super::super) enum Target {
    /// A point lock.
    Point(PointRef),
    /// The ranges over a key to go.
    Insert(SpaceId, Key),
    /// A metadata lock.
    Metadata(Arc<MdlLock>, MdlMode),
}

/// What a deadlock means to who waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stance {
    /// Its transaction is lost.
    Firm,
    /// It gives the wait up and begins it again later: nothing is lost, provided that its request is what the others wait for.
    /// What it holds it keeps, so that no retry helps if they wait for that; then any of them goes sooner.
    Yields,
    /// It gives back what it has locked meanwhile and begins again: nothing is lost.
    BacksOff,
}

/// Counters of lock waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockStats {
    /// Row lock waits so far.
    pub row_waits: u64,
    /// Row lock waits now.
    pub row_waiting: u64,
    /// Time spent in row lock waits, ms.
    pub row_wait_ms: u64,
    /// Longest row lock wait, ms.
    pub row_wait_max_ms: u64,
    /// Metadata lock waits now.
    pub metadata_waiting: u64,
    /// Deadlocks so far.
    pub deadlocks: u64,
}

struct Waiting {
    owner: Arc<Owner>,
    target: Target,
    stance: Stance,
    since: Instant,
    /// Its wait is over, though it is still here: chosen to end a deadlock, or found to have ended.
    done: bool,
}

#[derive(Default)]
pub(in super::super) struct WaitGraph {
    waiting: Mutex<HashMap<u32, Waiting>>,
    row_waits: AtomicU64,
    row_wait_us: AtomicU64,
    row_wait_max_us: AtomicU64,
    deadlocks: AtomicU64,
    last: Mutex<Option<String>>,
}

type Nodes = HashMap<u32, Waiting>;

impl WaitGraph {
    pub(super) fn new() -> WaitGraph {
        WaitGraph::default()
    }

    /// An owner, queued already, begins to wait; ends any deadlock it closes.
    pub(super) fn enter(
        &self,
        locks: &LockSystem,
        owner: &Arc<Owner>,
        target: Target,
        stance: Stance,
    ) {
        if !matches!(target, Target::Metadata(..)) {
            self.row_waits.fetch_add(1, Ordering::Relaxed);
        }
        let mut nodes = self.waiting.lock();
        let node = Waiting {
            owner: owner.clone(),
            target,
            stance,
            since: Instant::now(),
            done: false,
        };
        nodes.insert(owner.no(), node);
        while let Some(cycle) = find_cycle(locks, &nodes, owner.no()) {
            if !still_stands(locks, &nodes, &cycle) {
                continue;
            }
            let victim = choose_victim(&nodes, &cycle);
            let node = nodes.get_mut(&victim).expect("the victim waits");
            // Either way it leads nowhere any more. If it is no victim, its wait has just ended: by the lock, or by a
            // timeout or kill, and then it stays in its queue until it gets this mutex to leave.
            node.done = true;
            if node.owner.make_victim() && node.stance == Stance::Firm {
                self.deadlocks.fetch_add(1, Ordering::Relaxed);
                *self.last.lock() = Some(report(locks, &nodes, &cycle, victim));
            }
        }
    }

    /// The owner waits no more.
    pub(super) fn leave(&self, no: u32) {
        let Some(node) = self.waiting.lock().remove(&no) else {
            return;
        };
        if !matches!(node.target, Target::Metadata(..)) {
            let us = node.since.elapsed().as_micros() as u64;
            self.row_wait_us.fetch_add(us, Ordering::Relaxed);
            self.row_wait_max_us.fetch_max(us, Ordering::Relaxed);
        }
    }

    pub(super) fn waiting(&self) -> Vec<(Arc<Owner>, Target, Duration)> {
        let nodes = self.waiting.lock();
        nodes
            .values()
            .map(|n| (n.owner.clone(), n.target.clone(), n.since.elapsed()))
            .collect()
    }

    pub(super) fn stats(&self) -> LockStats {
        let (row_waiting, metadata_waiting) = {
            let nodes = self.waiting.lock();
            let metadata = nodes
                .values()
                .filter(|n| matches!(n.target, Target::Metadata(..)))
                .count() as u64;
            (nodes.len() as u64 - metadata, metadata)
        };
        LockStats {
            row_waits: self.row_waits.load(Ordering::Relaxed),
            row_waiting,
            row_wait_ms: self.row_wait_us.load(Ordering::Relaxed) / 1000,
            row_wait_max_ms: self.row_wait_max_us.load(Ordering::Relaxed) / 1000,
            metadata_waiting,
            deadlocks: self.deadlocks.load(Ordering::Relaxed),
        }
    }

    pub(super) fn last_deadlock(&self) -> Option<String> {
        self.last.lock().clone()
    }

    pub(super) fn waiting_for(&self, locks: &LockSystem, no: u32) -> Option<String> {
        let nodes = self.waiting.lock();
        nodes.get(&no).map(|n| n.target.describe(locks, no))
    }
}

impl Target {
    /// Owners that `no`, waiting for this, waits for, as far as they matter to a cycle through `start`; only waiting ones do, and of
    /// metadata locks only those are found.
    fn edges(&self, locks: &LockSystem, nodes: &Nodes, no: u32, start: u32, out: &mut Vec<u32>) {
        let waits = |no: u32| nodes.get(&no).is_some_and(|node| !node.done);
        match self {
            Target::Point(at) => locks.points.edges(*at, no, start, &waits, out),
            Target::Insert(tree, key) => locks.ranges.blockers(no, *tree, key, out),
            Target::Metadata(lock, _) => {
                let Some(mode) = lock.queued_blockers(no, out) else {
                    return;
                };
                for (&other, node) in nodes {
                    if other != no && node.owner.blocks_metadata(lock, mode) {
                        out.push(other);
                    }
                }
            }
        }
    }

    fn describe(&self, locks: &LockSystem, no: u32) -> String {
        match self {
            Target::Point(at) => match locks.points.describe(*at, no) {
                Some((tree, key, mode)) => {
                    let mode = match mode {
                        LockMode::Shared => "S",
                        LockMode::Exclusive => "X",
                    };
                    format!(
                        "record lock, space {}, key {}, mode {mode}",
                        tree.0,
                        Hex(&key)
                    )
                }
                None => "record lock, granted just now".into(),
            },
            Target::Insert(tree, key) => {
                format!("insert intention, space {}, key {}", tree.0, Hex(key))
            }
            Target::Metadata(lock, mode) => {
                let name = lock.name().replace('\0', ".");
                format!("metadata lock, {name}, {mode:?}")
            }
        }
    }
}

struct Hex<'a>(&'a [u8]);

impl std::fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("0x")?;
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

fn edges_of(locks: &LockSystem, nodes: &Nodes, no: u32, start: u32, out: &mut Vec<u32>) {
    if let Some(node) = nodes.get(&no)
        && !node.done
    {
        node.target.edges(locks, nodes, no, start, out);
    }
}

/// A cycle through `start`, as the owners along it, `start` first.
fn find_cycle(locks: &LockSystem, nodes: &Nodes, start: u32) -> Option<Vec<u32>> {
    let mut path: Vec<(u32, Vec<u32>)> = Vec::new();
    let mut seen = HashSet::new();
    let mut edges = Vec::new();
    edges_of(locks, nodes, start, start, &mut edges);
    path.push((start, edges));
    while let Some((_, edges)) = path.last_mut() {
        let Some(next) = edges.pop() else {
            path.pop();
            continue;
        };
        if next == start {
            return Some(path.iter().map(|(no, _)| *no).collect());
        }
        if seen.insert(next) {
            let mut edges = Vec::new();
            edges_of(locks, nodes, next, start, &mut edges);
            path.push((next, edges));
        }
    }
    None
}

fn still_stands(locks: &LockSystem, nodes: &Nodes, cycle: &[u32]) -> bool {
    let mut edges = Vec::new();
    (0..cycle.len()).all(|i| {
        edges.clear();
        edges_of(locks, nodes, cycle[i], cycle[0], &mut edges);
        edges.contains(&cycle[(i + 1) % cycle.len()])
    })
}

/// Who loses least by it; the requester (first) on a tie.
fn choose_victim(nodes: &Nodes, cycle: &[u32]) -> u32 {
    let before = |i: usize| cycle[(i + cycle.len() - 1) % cycle.len()];
    let least = (0..cycle.len()).min_by_key(|&i| loss(nodes, cycle[i], before(i)));
    cycle[least.expect("a cycle has members")]
}

/// What is lost if an owner that `waiting` waits for is the victim: what it has changed, as a rule.
fn loss(nodes: &Nodes, no: u32, waiting: u32) -> u64 {
    let (Some(node), Some(waiting)) = (nodes.get(&no), nodes.get(&waiting)) else {
        return u64::MAX;
    };
    match (node.stance, &waiting.target) {
        (Stance::BacksOff, _) => 0,
        (Stance::Firm, _) => node.owner.weight().saturating_add(1),
        (Stance::Yields, Target::Metadata(lock, mode))
            if !node.owner.blocks_metadata(lock, *mode) =>
        {
            0
        }
        (Stance::Yields, _) => u64::MAX,
    }
}

fn report(locks: &LockSystem, nodes: &Nodes, cycle: &[u32], victim: u32) -> String {
    let mut text = String::new();
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |d| d.as_secs());
    let _ = writeln!(text, "unix time {now}");
    for (i, no) in cycle.iter().enumerate() {
        let Some(node) = nodes.get(no) else { continue };
        let owner = &node.owner;
        let (trx, locked) = {
            let held = owner.held.lock();
            (held.trx, held.points.len() + held.ranges.len())
        };
        let _ = writeln!(
            text,
            "*** ({}) TRANSACTION {trx}, thread id {}, {locked} row lock(s), undo log entries {}",
            i + 1,
            owner.tag(),
            owner.changes.load(Ordering::Relaxed)
        );
        let _ = writeln!(
            text,
            "*** ({}) WAITING FOR {}",
            i + 1,
            node.target.describe(locks, *no)
        );
    }
    let which = cycle.iter().position(|&no| no == victim).unwrap_or(0) + 1;
    let _ = writeln!(text, "*** WE ROLL BACK TRANSACTION ({which})");
    text
}

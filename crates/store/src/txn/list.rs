//! Listings of transactions, locks and waits, for those who ask who blocks whom.
//!
//! A listing stops nobody: it copies the list of owners, then what each holds, a chunk at a time, and looks each lock up
//! in its shard alone. So it is a mixture of moments: a lock may be missing that was passed on meanwhile, but none is shown that
//! was not held or awaited while the listing was made.

use super::locks::Target;
use super::mdl::MdlMode;
use super::{Isolation, LockMode, Owner, TrxId, TxnSystem};
use crate::space::SpaceId;
use hashbrown::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

/// Locks copied at a time while an owner's mutex is held.
const CHUNK: usize = 1024;

/// Who holds or waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Party {
    /// The owner's tag ([`Owner::set_tag`]).
    pub tag: u64,
    /// The owner's number.
    pub owner: u32,
    /// Its transaction; 0 before the first write.
    pub trx: TrxId,
}

/// What a lock is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Locked {
    /// A key of a tree.
    Point {
        /// The tree.
        space: SpaceId,
        /// The key.
        key: Vec<u8>,
        /// How strongly.
        mode: LockMode,
    },
    /// Keys between two, against insertion.
    Range {
        /// The tree.
        space: SpaceId,
        /// First key.
        start: Vec<u8>,
        /// The key behind the last; `None`: to the end.
        end: Option<Vec<u8>>,
    },
    /// The right to insert a key: only ever waited for.
    Insert {
        /// The tree.
        space: SpaceId,
        /// The key.
        key: Vec<u8>,
    },
    /// A name: `db`, or `db\0table`.
    Metadata {
        /// The name.
        name: String,
        /// How strongly.
        mode: MdlMode,
        /// Whether it outlives transactions.
        lasting: bool,
    },
}

/// A lock in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockInfo {
    /// Whose.
    pub who: Party,
    /// On what.
    pub what: Locked,
    /// Held, not waited for.
    pub granted: bool,
}

/// A wait in a listing.
#[derive(Clone, Debug)]
pub struct WaitInfo {
    /// What is waited for.
    pub lock: LockInfo,
    /// For how long already.
    pub waited: Duration,
    /// The row locks in its way, each with its owner. Empty for metadata locks.
    pub blockers: Vec<LockInfo>,
}

/// A transaction in a listing.
#[derive(Clone, Debug)]
pub struct TxnInfo {
    /// Whose.
    pub who: Party,
    /// When it first wrote or locked.
    pub started: SystemTime,
    /// Undo records.
    pub rows_changed: u64,
    /// Row locks.
    pub locks: u64,
    /// Isolation of the transaction begun last.
    pub isolation: Isolation,
    /// What it waits for, in words.
    pub waiting: Option<String>,
}

impl TxnSystem {
    /// Unfinished transactions that wrote, locked, or wait for a row.
    pub fn transactions(&self) -> Vec<TxnInfo> {
        let mut all = Vec::new();
        let now = SystemTime::now();
        let waiting = self.locks().waiting().into_iter();
        let waiting: HashMap<u32, SystemTime> = waiting
            .filter(|(_, target, _)| !matches!(target, Target::Metadata(..)))
            .filter_map(|(owner, _, waited)| Some((owner.no(), now.checked_sub(waited)?)))
            .collect();
        for owner in self.registry.all() {
            let (started, locks) = {
                let held = owner.held.lock();
                let locks = (held.points.len() + held.ranges.len()) as u64;
                (held.started, locks)
            };
            // A first lock that is still awaited is not held.
            if let Some(started) = started.or_else(|| waiting.get(&owner.no()).copied()) {
                all.push(TxnInfo {
                    who: party(&owner),
                    started,
                    rows_changed: owner.changes.load(Ordering::Relaxed),
                    locks,
                    isolation: owner.isolation(),
                    waiting: self.locks().waiting_for(owner.no()),
                });
            }
        }
        all
    }

    /// Calls `f` with each row lock that is held, until it breaks.
    pub fn each_row_lock(&self, f: &mut dyn FnMut(LockInfo) -> ControlFlow<()>) {
        for owner in self.registry.all() {
            let who = party(&owner);
            let mut granted = |what| {
                f(LockInfo {
                    who,
                    what,
                    granted: true,
                })
            };
            if self.each_point(&owner, &mut granted).is_break() {
                return;
            }
            let ranges: Vec<Locked> = {
                let held = owner.held.lock();
                held.ranges.iter().map(|r| r.locked()).collect()
            };
            if ranges.into_iter().try_for_each(granted).is_break() {
                return;
            }
        }
    }

    fn each_point(
        &self,
        owner: &Owner,
        f: &mut dyn FnMut(Locked) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut at = 0;
        loop {
            let chunk: Vec<_> = {
                let held = owner.held.lock();
                held.points.iter().skip(at).take(CHUNK).copied().collect()
            };
            if chunk.is_empty() {
                return ControlFlow::Continue(());
            }
            at += chunk.len();
            for point in chunk {
                if let Some((space, key, mode)) = self.locks().held_at(point, owner.no()) {
                    let key = key.to_vec();
                    f(Locked::Point { space, key, mode })?;
                }
            }
        }
    }

    /// Metadata locks that are held.
    pub fn metadata_locks(&self) -> Vec<LockInfo> {
        let mut all = Vec::new();
        for owner in self.registry.all() {
            let who = party(&owner);
            let held = owner.held.lock();
            all.extend(held.mdl.locked().map(|what| LockInfo {
                who,
                what,
                granted: true,
            }));
        }
        all
    }

    /// Who waits, for what, and for whom.
    pub fn waits(&self) -> Vec<WaitInfo> {
        let waiting = self.locks().waiting();
        if waiting.is_empty() {
            return Vec::new();
        }
        let owners = self.registry.all();
        let by_no: HashMap<u32, &Arc<Owner>> = owners.iter().map(|o| (o.no(), o)).collect();
        waiting
            .into_iter()
            .filter_map(|(owner, target, waited)| {
                let what = self.awaited(&target, owner.no())?;
                let mut blocking = Vec::new();
                self.locks()
                    .row_blockers(&target, owner.no(), &mut blocking);
                blocking.sort_unstable();
                blocking.dedup();
                let blockers = blocking
                    .iter()
                    .filter_map(|no| self.in_the_way(by_no.get(no)?, &what))
                    .collect();
                let lock = LockInfo {
                    who: party(&owner),
                    what,
                    granted: false,
                };
                Some(WaitInfo {
                    lock,
                    waited,
                    blockers,
                })
            })
            .collect()
    }

    fn awaited(&self, target: &Target, no: u32) -> Option<Locked> {
        Some(match target {
            Target::Point(at) => {
                let (space, key, mode) = self.locks().awaited_at(*at, no)?;
                let key = key.to_vec();
                Locked::Point { space, key, mode }
            }
            Target::Insert(space, key) => Locked::Insert {
                space: *space,
                key: key.to_vec(),
            },
            Target::Metadata(lock, mode) => Locked::Metadata {
                name: lock.name().to_string(),
                mode: *mode,
                lasting: false,
            },
        })
    }

    /// The lock of an owner that keeps another from `what`.
    fn in_the_way(&self, owner: &Arc<Owner>, what: &Locked) -> Option<LockInfo> {
        let who = party(owner);
        match what {
            Locked::Point { space, key, mode } => {
                let held = self.locks().mode_of(owner.no(), *space, key);
                Some(LockInfo {
                    who,
                    what: Locked::Point {
                        space: *space,
                        key: key.clone(),
                        // Who holds nothing waits earlier.
                        mode: held.unwrap_or(*mode),
                    },
                    granted: held.is_some(),
                })
            }
            Locked::Insert { space, key } => {
                let held = owner.held.lock();
                let range = held.ranges.iter().find(|r| r.covers(*space, key))?;
                Some(LockInfo {
                    who,
                    what: range.locked(),
                    granted: true,
                })
            }
            Locked::Range { .. } | Locked::Metadata { .. } => None,
        }
    }
}

fn party(owner: &Owner) -> Party {
    Party {
        tag: owner.tag(),
        owner: owner.no(),
        trx: owner.held.lock().trx,
    }
}

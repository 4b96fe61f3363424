//! The active set, read views, and what every view sees.
//!
//! A view's content changes only when a transaction that wrote ends: one that begins gets an id that every
//! earlier view calls too new. `version` counts the ends. An owner keeps its last view, and while the version
//! stands still it opens the same one again without the active set's mutex.
//!
//! **Horizon.** An open view is published in its owner's slot; its `serial` is the version it was made at, and of two views the
//! one with the lesser serial sees no more than the other. [`Views::oldest`] first makes a view F and then looks
//! at every slot. An owner that opens a view does so under its slot's mutex, reading the version there: if the purger has
//! been at the slot before, the owner reads F's version or a later one, so its view sees all that F sees; if
//! not, the purger finds the view.
//!
//! Lock order: an owner's slot, then the active set.

use super::owner::{Owner, Registry};
use super::{ReadView, TrxId};
use crate::wait::{self, Class};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// An owner's published view.
#[derive(Default)]
pub(super) struct ViewSlot {
    /// Views open at this owner; the one published is the oldest.
    open: u32,
    serial: u64,
    /// With `open` 0: the last view, kept for reuse.
    view: Option<ReadView>,
}

pub(super) struct Views {
    /// Ends so far; changed under the mutex.
    version: AtomicU64,
    /// Every id below is of a finished transaction.
    finished_below: AtomicU64,
    active: wait::Mutex<Active, { Class::ActiveSet as usize }>,
}

struct Active {
    /// Id of the next transaction to write.
    next: TrxId,
    /// Ids from here on have not been taken from the counter yet.
    limit: TrxId,
    /// Unfinished transactions that wrote, by id.
    running: Vec<(TrxId, Arc<Owner>)>,
}

impl Views {
    /// `next`: the first id to give; `limit`: the first not to be given.
    pub(super) fn new(next: TrxId, limit: TrxId) -> Views {
        Views {
            version: AtomicU64::new(0),
            finished_below: AtomicU64::new(next),
            active: wait::Mutex::new(Active {
                next,
                limit,
                running: Vec::new(),
            }),
        }
    }

    /// Gives the owner's transaction an id and makes it active; `None`: there is none left, see [`Views::give_ids`].
    pub(super) fn begin(&self, owner: &Arc<Owner>) -> Option<TrxId> {
        let mut active = self.active.lock();
        let id = active.next;
        if id >= active.limit {
            return None;
        }
        active.next += 1;
        active.running.push((id, owner.clone()));
        Some(id)
    }

    /// Makes a transaction active that a crash left unfinished. Ids may come in any order, before the first
    /// [`Views::begin`].
    pub(super) fn resurrect(&self, id: TrxId, owner: &Arc<Owner>) {
        let mut active = self.active.lock();
        debug_assert!(id < active.next);
        active.running.push((id, owner.clone()));
        active.running.sort_by_key(|(id, _)| *id);
        let first = active.running[0].0;
        self.finished_below.store(first, Ordering::Release);
    }

    /// Whether [`Views::begin`] has no id left.
    pub(super) fn exhausted(&self) -> bool {
        let active = self.active.lock();
        active.next >= active.limit
    }

    /// More ids, above all earlier ones: `from` up to `limit`.
    pub(super) fn give_ids(&self, from: TrxId, limit: TrxId) {
        let mut active = self.active.lock();
        debug_assert!(active.limit <= from && active.next >= active.limit);
        active.next = from;
        active.limit = limit;
    }

    /// The transaction's changes are final.
    pub(super) fn end(&self, id: TrxId) {
        let mut active = self.active.lock();
        let Ok(i) = active.running.binary_search_by_key(&id, |(id, _)| *id) else {
            debug_assert!(false, "transaction {id} is not active");
            return;
        };
        let (_, owner) = active.running.remove(i);
        let first = active.running.first().map_or(active.next, |(id, _)| *id);
        self.finished_below.store(first, Ordering::Release);
        self.version.fetch_add(1, Ordering::Release);
        drop(active);
        drop(owner);
    }

    /// Whether a transaction is unfinished.
    #[inline]
    pub(super) fn is_active(&self, id: TrxId) -> bool {
        id >= self.finished_below.load(Ordering::Acquire) && self.owner_of(id).is_some()
    }

    /// The owner of an unfinished transaction.
    pub(super) fn owner_of(&self, id: TrxId) -> Option<Arc<Owner>> {
        if id < self.finished_below.load(Ordering::Acquire) {
            return None;
        }
        let active = self.active.lock();
        let i = active
            .running
            .binary_search_by_key(&id, |(id, _)| *id)
            .ok()?;
        Some(active.running[i].1.clone())
    }

    /// The next id to be given.
    pub(super) fn next_id(&self) -> TrxId {
        self.active.lock().next
    }

    /// Opens a view for the owner: reuses its last one if no transaction ended since.
    #[inline]
    pub(super) fn open(&self, owner: &Owner) -> ReadView {
        let mut slot = owner.view.lock();
        // Read under the slot's mutex: see the module's header.
        if slot.serial == self.version.load(Ordering::Acquire)
            && let Some(view) = &slot.view
        {
            let view = view.clone();
            slot.open += 1;
            return view;
        }
        let (serial, view) = self.make(slot.view.as_ref());
        if slot.open == 0 {
            slot.serial = serial;
            slot.view = Some(view.clone());
        }
        slot.open += 1;
        view
    }

    /// Closes a view of the owner's.
    #[inline]
    pub(super) fn close(&self, owner: &Owner) {
        let mut slot = owner.view.lock();
        debug_assert!(slot.open > 0);
        slot.open -= 1;
    }

    /// A view that sees only what every open view sees, and every view opened from now on.
    pub(super) fn oldest(&self, registry: &Registry) -> ReadView {
        let (mut serial, mut view) = self.make(None);
        for owner in registry.all() {
            let slot = owner.view.lock();
            if slot.open > 0
                && slot.serial < serial
                && let Some(older) = &slot.view
            {
                serial = slot.serial;
                view = older.clone();
            }
        }
        view
    }

    /// A view of this moment and its serial. `last` may lend its empty list.
    fn make(&self, last: Option<&ReadView>) -> (u64, ReadView) {
        let active = self.active.lock();
        let low_limit = active.next;
        let list: Arc<[TrxId]> = match last {
            Some(last) if active.running.is_empty() && last.active.is_empty() => {
                last.active.clone()
            }
            _ => active.running.iter().map(|(id, _)| *id).collect(),
        };
        let view = ReadView {
            low_limit,
            up_limit: list.first().copied().unwrap_or(low_limit),
            active: list,
            own: 0,
        };
        (self.version.load(Ordering::Acquire), view)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Weak;

    /// Random begins, ends, opens and closes: a view sees exactly what had ended when it was opened, and
    /// the oldest view sees nothing that an open view does not.
    #[test]
    fn views_and_horizon_agree_with_history() {
        let registry = Arc::new(Registry::default());
        let mut seed = 7u64;
        let mut random = move |n: u64| {
            seed = seed
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (seed >> 33) % n
        };
        for _ in 0..50 {
            let views = Views::new(100, u64::MAX);
            let owners: Vec<_> = (0..5).map(|_| registry.owner(Weak::new())).collect();
            let mut running: Vec<TrxId> = Vec::new();
            let mut ended: Vec<TrxId> = Vec::new();
            let mut open: Vec<Vec<(ReadView, Vec<TrxId>)>> = vec![Vec::new(); 5];
            for _ in 0..200 {
                let o = random(5) as usize;
                match random(5) {
                    0 => running.push(views.begin(&owners[o]).unwrap()),
                    1 if !running.is_empty() => {
                        let id = running.swap_remove(random(running.len() as u64) as usize);
                        views.end(id);
                        ended.push(id);
                    }
                    2 if !open[o].is_empty() => {
                        let i = random(open[o].len() as u64) as usize;
                        open[o].swap_remove(i);
                        views.close(&owners[o]);
                    }
                    _ => open[o].push((views.open(&owners[o]), ended.clone())),
                }
                for id in 100..views.next_id() {
                    assert_eq!(views.is_active(id), running.contains(&id));
                }
                let oldest = views.oldest(&registry);
                for (view, saw) in open.iter().flatten() {
                    for id in 100..views.next_id() + 1 {
                        assert_eq!(view.sees(id), saw.contains(&id), "id {id}");
                        assert!(!oldest.sees(id) || view.sees(id), "id {id}");
                    }
                }
                if open.iter().all(Vec::is_empty) {
                    assert!(ended.iter().all(|&id| oldest.sees(id)));
                }
            }
            for (o, views_open) in open.iter().enumerate() {
                views_open.iter().for_each(|_| views.close(&owners[o]));
            }
        }
    }

    /// Threads open, check and close views while others end transactions and a purger takes the oldest view: no
    /// view ever fails to see what the purger had already called visible to all.
    #[test]
    fn the_oldest_view_is_never_overtaken() {
        let registry = Arc::new(Registry::default());
        let views = Views::new(1, u64::MAX);
        let purged = AtomicU64::new(0);
        std::thread::scope(|s| {
            for _ in 0..2 {
                let owner = registry.owner(Weak::new());
                let views = &views;
                s.spawn(move || {
                    for _ in 0..3000 {
                        views.end(views.begin(&owner).unwrap());
                    }
                });
            }
            for _ in 0..2 {
                let owner = registry.owner(Weak::new());
                let (views, purged) = (&views, &purged);
                s.spawn(move || {
                    for _ in 0..3000 {
                        let view = views.open(&owner);
                        // While this view is open, nothing it does not see may be purged.
                        let up_to = purged.load(Ordering::SeqCst);
                        for id in 1..=up_to.min(50) {
                            assert!(view.sees(up_to - id + 1));
                        }
                        let later = purged.load(Ordering::SeqCst);
                        assert!(later == 0 || view.sees(later));
                        views.close(&owner);
                    }
                });
            }
            let (views, purged, registry) = (&views, &purged, &registry);
            s.spawn(move || {
                for _ in 0..3000 {
                    let oldest = views.oldest(registry);
                    purged.store(oldest.up_limit - 1, Ordering::SeqCst);
                }
            });
        });
    }
}

//! Counters of the page layer.

use super::Pager;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

const STRIPES: usize = 16;

/// Counts of some threads; the first three are not exact: threads that share a stripe may lose some.
#[repr(align(64))]
#[derive(Default)]
struct Stripe {
    hits: AtomicU64,
    hash_hits: AtomicU64,
    descents: AtomicU64,
    /// What mini-transactions under way may append to the log without having reserved it (`room`). Here, because the line is
    /// theirs anyway: they count their hits in it.
    unreserved: AtomicU64,
}

/// Running totals.
#[derive(Default)]
pub(crate) struct Counts {
    stripes: [Stripe; STRIPES],
    pub reads: AtomicU64,
    pub written: AtomicU64,
    pub created: AtomicU64,
    pub discarded: AtomicU64,
    pub waits: AtomicU64,
    pub pending_reads: AtomicU64,
    pub pending_writes: AtomicU64,
    pub doublewrite_batches: AtomicU64,
    pub checkpoints: AtomicU64,
}

static NEXT_STRIPE: AtomicUsize = AtomicUsize::new(0);
thread_local! {
    static STRIPE: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// The thread's stripe.
#[inline]
fn stripe() -> usize {
    let mut i = STRIPE.get();
    if i == usize::MAX {
        i = NEXT_STRIPE.fetch_add(1, Ordering::Relaxed) % STRIPES;
        STRIPE.set(i);
    }
    i
}

impl Counts {
    #[inline]
    fn stripe(&self) -> &Stripe {
        &self.stripes[stripe()]
    }

    /// Counts what may be appended unreserved; in which stripe.
    #[inline]
    pub fn add_unreserved(&self, bytes: u64) -> usize {
        let i = stripe();
        self.stripes[i]
            .unreserved
            .fetch_add(bytes, Ordering::SeqCst);
        i
    }

    /// Counts it no longer.
    #[inline]
    pub fn sub_unreserved(&self, stripe: usize, bytes: u64) {
        self.stripes[stripe]
            .unreserved
            .fetch_sub(bytes, Ordering::SeqCst);
    }

    /// What may be appended unreserved.
    pub fn unreserved(&self) -> u64 {
        let each = self.stripes.iter();
        each.map(|s| s.unreserved.load(Ordering::SeqCst)).sum()
    }

    /// A request served from the pool.
    #[inline]
    pub fn hit(&self) {
        bump(&self.stripe().hits);
    }

    /// A search that the hash index served.
    #[inline]
    pub fn hash_hit(&self) {
        bump(&self.stripe().hash_hits);
    }

    /// A search that went down a tree.
    #[inline]
    pub fn descent(&self) {
        bump(&self.stripe().descents);
    }

    fn sum(&self, of: impl Fn(&Stripe) -> &AtomicU64) -> u64 {
        let each = self.stripes.iter().map(|s| of(s).load(Ordering::Relaxed));
        each.sum()
    }
}

#[inline]
fn bump(count: &AtomicU64) {
    count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

/// A snapshot for SHOW STATUS and SHOW ENGINE INNODB STATUS. Pages unless said otherwise; parts are read one after the
/// other, so they need not add up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolStats {
    /// Size of the pool.
    pub total: u64,
    /// Frames without a page.
    pub free: u64,
    /// Frames of dropped spaces and freed pages (estimate).
    pub stale: u64,
    /// Length of the LRU list's young part.
    pub young: u64,
    /// Length of the LRU list's old part.
    pub old: u64,
    /// Dirty frames: length of the flush lists.
    pub dirty: u64,
    /// Instances.
    pub instances: u64,
    /// Bytes of address space mapped.
    pub bytes: u64,
    /// Requests served from the pool.
    pub hits: u64,
    /// Pages read from files.
    pub reads: u64,
    /// Pages written in place.
    pub written: u64,
    /// Pages newly allocated.
    pub created: u64,
    /// Dirty pages given up unwritten because their space was dropped or they were freed.
    pub discarded: u64,
    /// Pages moved to the young end.
    pub made_young: u64,
    /// Frames evicted or given up.
    pub evicted: u64,
    /// Times a thread waited for a free frame.
    pub waits_free: u64,
    /// Reads under way.
    pub pending_reads: u64,
    /// Writes under way.
    pub pending_writes: u64,
    /// Batches through the doublewrite file.
    pub doublewrite_batches: u64,
    /// Searches that the adaptive hash index served.
    pub hash_searches: u64,
    /// Searches that went down a tree from its root.
    pub tree_searches: u64,
    /// Checkpoints written.
    pub checkpoints: u64,
    /// End of the log.
    pub lsn: u64,
    /// Durable end of the log.
    pub durable_lsn: u64,
    /// Last checkpoint.
    pub checkpoint_lsn: u64,
}

impl Pager {
    /// Numbers about the pool.
    pub fn stats(&self) -> PoolStats {
        let core = self.core();
        let c = &core.counts;
        let get = |a: &AtomicU64| a.load(Ordering::Relaxed);
        let mut s = PoolStats {
            total: u64::from(core.arena.count()),
            stale: core.stale_frames.load(Ordering::Relaxed).max(0) as u64,
            instances: core.instances.len() as u64,
            bytes: core.arena.bytes() as u64,
            hits: c.sum(|s| &s.hits),
            hash_searches: c.sum(|s| &s.hash_hits),
            tree_searches: c.sum(|s| &s.descents),
            reads: get(&c.reads),
            written: get(&c.written),
            created: get(&c.created),
            discarded: get(&c.discarded),
            waits_free: get(&c.waits),
            pending_reads: get(&c.pending_reads),
            pending_writes: get(&c.pending_writes),
            doublewrite_batches: get(&c.doublewrite_batches),
            checkpoints: get(&c.checkpoints),
            lsn: core.log.end_lsn(),
            durable_lsn: core.log.durable_lsn(),
            checkpoint_lsn: core.log.checkpoint_lsn(),
            ..PoolStats::default()
        };
        for i in &core.instances {
            s.free += u64::from(i.free_len.load(Ordering::Relaxed));
            s.young += u64::from(i.young_len.load(Ordering::Relaxed));
            s.old += u64::from(i.old_len.load(Ordering::Relaxed));
            s.dirty += u64::from(i.dirty_len.load(Ordering::Relaxed));
            s.evicted += u64::from(i.evictions.load(Ordering::Relaxed));
            s.made_young += get(&i.moved_young);
        }
        s
    }
}

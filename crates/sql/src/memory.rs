//! How much memory statements may use for rows they keep: one account per session, which runs one statement at a time, under one
//! for the server.
//!
//! A buffer holds a [`Charge`] and asks it before it grows. What can go to disk asks with [`Charge::try_grow`] and spills when it is
//! refused; what must be in memory (a row at hand, the block being written) asks with [`Charge::grow`], which fails with error 1038
//! only if the server's whole bound is used up. A quarter of the bound is kept for the latter, and one statement gets no more than
//! half of the rest for the former, so that those beside it can go on.
//!
//! Large syntax trees are charged while their statements run.
//!
//! Charges take from their account in steps, accounts from the server in chunks: charging a row is an addition. Whatever was
//! charged is given back when the charge is dropped. No locks; nothing here allocates.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use millpond_store::sort::{LEAST_BUDGET, Sorter};

use crate::error::{SqlError, SqlResult};

/// Bytes that an account takes from the server at a time.
pub const CHUNK_BYTES: usize = 64 << 10;
/// Bytes that a charge takes from its account at a time.
const STEP_BYTES: usize = 4 << 10;

/// The server's account (`temptable_max_ram`).
#[derive(Debug)]
pub struct ServerMemory {
    limit: AtomicUsize,
    reserved: AtomicUsize,
    peak: AtomicUsize,
    /// Bytes ever taken.
    taken: AtomicU64,
}

impl ServerMemory {
    /// An account with this bound, in bytes.
    pub fn new(limit: usize) -> ServerMemory {
        ServerMemory {
            limit: AtomicUsize::new(limit),
            reserved: AtomicUsize::new(0),
            peak: AtomicUsize::new(0),
            taken: AtomicU64::new(0),
        }
    }
    /// Bytes that accounts have ever taken.
    pub fn taken(&self) -> u64 {
        self.taken.load(Relaxed)
    }
    /// Changes the bound. What is in use beyond a lower one stays in use.
    pub fn set_limit(&self, limit: usize) {
        self.limit.store(limit, Relaxed);
    }
    /// Bytes that accounts have taken.
    pub fn reserved(&self) -> usize {
        self.reserved.load(Relaxed)
    }
    /// The most that they had taken at a time.
    pub fn peak(&self) -> usize {
        self.peak.load(Relaxed)
    }
    /// What may be taken for what could go to disk.
    fn optional_limit(&self) -> usize {
        let limit = self.limit.load(Relaxed);
        limit - limit / 4
    }
    fn reserve(&self, bytes: usize, limit: usize) -> bool {
        let more = |now: usize| now.checked_add(bytes).filter(|n| *n <= limit);
        match self.reserved.fetch_update(Relaxed, Relaxed, more) {
            Ok(before) => {
                self.peak.fetch_max(before + bytes, Relaxed);
                self.taken.fetch_add(bytes as u64, Relaxed);
                true
            }
            Err(_) => false,
        }
    }
    fn release(&self, bytes: usize) {
        self.reserved.fetch_sub(bytes, Relaxed);
    }
}

/// A session's account. Its charges are made by one thread at a time: that of the session's statement, or its workers, which charge
/// under one lock while the session's thread is one of them (`exec/batch/workers`).
#[derive(Debug)]
pub struct MemoryAccount {
    server: Arc<ServerMemory>,
    /// Taken from the server.
    reserved: AtomicUsize,
    /// Charged.
    used: AtomicUsize,
    peak: AtomicUsize,
}

impl MemoryAccount {
    /// An account of which nothing is used.
    pub fn new(server: &Arc<ServerMemory>) -> Arc<MemoryAccount> {
        Arc::new(MemoryAccount {
            server: server.clone(),
            reserved: AtomicUsize::new(0),
            used: AtomicUsize::new(0),
            peak: AtomicUsize::new(0),
        })
    }
    /// Bytes charged.
    pub fn used(&self) -> usize {
        self.used.load(Relaxed)
    }
    /// The most that was charged at a time since [`MemoryAccount::start`].
    pub fn peak(&self) -> usize {
        self.peak.load(Relaxed)
    }
    /// The server's bound.
    pub fn server_limit(&self) -> usize {
        self.server.limit.load(Relaxed)
    }
    /// A statement starts.
    pub fn start(&self) {
        self.peak.store(self.used(), Relaxed);
    }

    fn take(&self, bytes: usize, needed: bool) -> bool {
        let used = self.used().saturating_add(bytes);
        let reserved = self.reserved.load(Relaxed);
        if used > reserved {
            let limit = if needed {
                self.server.limit.load(Relaxed)
            } else {
                self.server.optional_limit()
            };
            if !needed && used > limit / 2 {
                return false;
            }
            let lack = used - reserved;
            let chunk = lack.checked_next_multiple_of(CHUNK_BYTES).unwrap_or(lack);
            let got = if self.server.reserve(chunk, limit) {
                chunk
            } else if self.server.reserve(lack, limit) {
                lack
            } else {
                return false;
            };
            self.reserved.store(reserved + got, Relaxed);
        }
        self.used.store(used, Relaxed);
        self.peak.fetch_max(used, Relaxed);
        true
    }

    fn give(&self, bytes: usize) {
        let used = self.used() - bytes;
        self.used.store(used, Relaxed);
        let keep = if used == 0 { 0 } else { used + CHUNK_BYTES };
        let reserved = self.reserved.load(Relaxed);
        if reserved > keep {
            self.reserved.store(keep, Relaxed);
            self.server.release(reserved - keep);
        }
    }
}

impl Drop for MemoryAccount {
    fn drop(&mut self) {
        self.server.release(*self.reserved.get_mut());
    }
}

/// What a buffer has been charged; given back when it is dropped.
#[derive(Debug)]
pub struct Charge {
    account: Arc<MemoryAccount>,
    /// Taken from the account.
    granted: usize,
    used: usize,
}

impl Charge {
    /// Nothing so far.
    pub fn new(account: &Arc<MemoryAccount>) -> Charge {
        Charge {
            account: account.clone(),
            granted: 0,
            used: 0,
        }
    }
    /// The account.
    pub fn account(&self) -> &Arc<MemoryAccount> {
        &self.account
    }
    /// Bytes charged.
    #[inline]
    pub fn used(&self) -> usize {
        self.used
    }
    /// Charges bytes unless there are too few; whether it did.
    #[inline]
    pub fn try_grow(&mut self, bytes: usize) -> bool {
        let used = self.used.saturating_add(bytes);
        if used > self.granted && !self.ask(used, false) {
            return false;
        }
        self.used = used;
        true
    }
    /// Charges bytes that cannot be done without; error 1038 if the server's bound is used up.
    #[inline]
    pub fn grow(&mut self, bytes: usize) -> SqlResult<()> {
        let used = self.used.saturating_add(bytes);
        if used > self.granted && !self.ask(used, true) {
            return Err(out_of_memory());
        }
        self.used = used;
        Ok(())
    }
    /// Charges what is lacking to `bytes`, as [`Charge::grow`] does.
    pub fn grow_to(&mut self, bytes: usize) -> SqlResult<()> {
        self.grow(bytes.saturating_sub(self.used))
    }
    /// Gives bytes back.
    pub fn shrink(&mut self, bytes: usize) {
        self.used = self.used.saturating_sub(bytes);
        let keep = self.used.saturating_add(self.step());
        if self.granted > keep {
            self.account.give(self.granted - keep);
            self.granted = keep;
        }
    }
    /// Gives all back.
    pub fn clear(&mut self) {
        if self.granted > 0 {
            self.account.give(self.granted);
        }
        self.granted = 0;
        self.used = 0;
    }

    fn step(&self) -> usize {
        (self.granted / 8).clamp(STEP_BYTES, CHUNK_BYTES)
    }

    #[cold]
    fn ask(&mut self, used: usize, needed: bool) -> bool {
        let lack = used - self.granted;
        let wanted = lack.max(self.step());
        let got = if self.account.take(wanted, false) {
            wanted
        } else if self.account.take(lack, needed) {
            lack
        } else {
            return false;
        };
        self.granted += got;
        true
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Error 1038.
#[cold]
pub fn out_of_memory() -> SqlError {
    SqlError::new(
        1038,
        "Out of sort memory, consider increasing server sort buffer size",
    )
}

/// What a sort is charged for its first record.
const FIRST_BYTES: usize = 16 << 10;

/// Makes room for a record in a sort that has used what it was charged. A sort that gets no more spills what it has.
#[cold]
pub fn grow_sort(s: &mut Sorter, charge: &mut Charge, limit: usize, cost: usize) -> SqlResult<()> {
    let had = charge.used();
    let want = (s.memory() + cost).max(2 * had).clamp(FIRST_BYTES, limit);
    if want <= LEAST_BUDGET {
        charge.grow_to(want)?;
    } else if had < LEAST_BUDGET {
        charge.grow_to(LEAST_BUDGET)?;
    }
    let more = want.saturating_sub(charge.used());
    if more > 0 && charge.try_grow(more) {
        s.set_budget(charge.used());
    }
    // It takes a record that is larger than all of its memory, too.
    charge.grow_to(cost)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charges_are_given_back() {
        let server = Arc::new(ServerMemory::new(1 << 20));
        let account = MemoryAccount::new(&server);
        let mut a = Charge::new(&account);
        assert!(a.try_grow(10));
        assert!(a.try_grow(100_000));
        let mut b = Charge::new(&account);
        b.grow(50_000).unwrap();
        assert!(account.used() >= 150_010);
        assert!(server.reserved() >= account.used());
        assert_eq!(server.reserved() % CHUNK_BYTES, 0);
        a.shrink(100_000);
        assert_eq!(a.used(), 10);
        assert!(account.used() < 70_000);
        drop(b);
        a.clear();
        assert_eq!((account.used(), server.reserved()), (0, 0));
        assert!(account.peak() >= 150_010);
        account.start();
        assert_eq!(account.peak(), 0);
        a.grow(1).unwrap();
        drop(a);
        drop(account);
        assert_eq!(server.reserved(), 0);
        assert!(server.peak() >= 150_010);
    }

    #[test]
    fn what_can_spill_leaves_room_for_what_cannot() {
        let server = Arc::new(ServerMemory::new(1 << 20));
        let one = MemoryAccount::new(&server);
        let other = MemoryAccount::new(&server);
        let fill = |account: &Arc<MemoryAccount>| {
            let mut c = Charge::new(account);
            while c.try_grow(1000) {}
            c
        };
        let mut a = fill(&one);
        assert!((360_000..=393_216).contains(&a.used()), "{}", a.used());
        let b = fill(&other);
        assert!((360_000..=393_216).contains(&b.used()), "{}", b.used());
        let third = MemoryAccount::new(&server);
        assert!(fill(&third).used() < 30_000);
        // A quarter is left.
        assert!(a.grow(200_000).is_ok());
        assert!(!a.try_grow(1 << 20));
        assert_eq!(a.grow(1 << 20).unwrap_err().code, 1038);
        assert!(server.peak() <= 1 << 20);
        drop(b);
        assert!(a.grow(300_000).is_ok());
        server.set_limit(1000);
        assert_eq!(a.grow(500_000).unwrap_err().code, 1038);
    }
}

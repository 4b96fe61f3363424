//! Transactions over a toy table: a page of fixed slots, changed and undone the way real rows are.

use super::undo::MAX_PAYLOAD;
use super::*;
use crate::error::Error;
use crate::hash_index::HashOptions;
use crate::io::SimStorage;
use crate::io::sim::Step;
use crate::log::FlushAtCommit;
use crate::log::op::Op;
use crate::page::{PageNo, PageType, get_u64};
use crate::pool::{MIN_POOL_BYTES, Mtr, PageH, Pager, PagerOptions};
use crate::space::{AllocKind, FileId, Space, SpaceId};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const ROWS: u64 = 16;
const TREE: SpaceId = SpaceId(1024);
/// Bytes of a row: value, trx id, roll pointer.
const ROW: usize = 24;

type Row = [u64; 3];

struct Toy {
    pager: Arc<Pager>,
    space: Arc<Space>,
    page: PageNo,
    sys: Arc<TxnSystem>,
    /// Purged records: transaction and position.
    purged: Mutex<Vec<(TrxId, RollPtr)>>,
    /// A row whose records can be neither purged nor undone; `ROWS`: none.
    broken: AtomicU64,
    /// What is broken makes a panic.
    panics: AtomicBool,
    /// How often that was met.
    failures: AtomicU64,
    /// How many more times undoing fails for lack of a descriptor or a frame, by turns.
    lacking: AtomicU64,
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }
}

fn options() -> PagerOptions {
    PagerOptions {
        pool_bytes: MIN_POOL_BYTES,
        instances: 1,
        log_bytes: 1 << 20,
        flush_at_commit: FlushAtCommit::Sync,
        hash_index: HashOptions::default(),
    }
}

impl Toy {
    fn create(disk: &SimStorage) -> Result<Arc<Toy>> {
        let pager = Pager::create(Arc::new(disk.clone()), options())?;
        let space = pager.space(TREE, FileId::SHARED);
        let mut mtr = pager.mtr_in(&space, 1)?;
        let init = Op::Init {
            kind: PageType::Overflow,
            level: 0,
        };
        let h = mtr.alloc(&space, AllocKind::Root, 0, init)?;
        let page = mtr.page_no(h);
        let end = mtr.commit();
        pager.log().sync_to(end)?;
        Toy::over(pager, page)
    }

    fn reopen(disk: &SimStorage, page: PageNo) -> Result<Arc<Toy>> {
        Toy::over(Pager::open(Arc::new(disk.clone()), options())?, page)
    }

    fn over(pager: Arc<Pager>, page: PageNo) -> Result<Arc<Toy>> {
        Ok(Arc::new(Toy {
            space: pager.space(TREE, FileId::SHARED),
            sys: TxnSystem::open(&pager, false)?,
            pager,
            page,
            purged: Mutex::default(),
            broken: AtomicU64::new(ROWS),
            panics: AtomicBool::new(false),
            failures: AtomicU64::new(0),
            lacking: AtomicU64::new(0),
        }))
    }

    fn at(row: u64) -> usize {
        64 + row as usize * ROW
    }

    fn row_in(page: &[u8], row: u64) -> Row {
        let at = Toy::at(row);
        [0, 8, 16].map(|i| get_u64(page, at + i))
    }

    fn put(mtr: &mut Mtr<'_>, h: PageH, row: u64, data: Row) {
        let bytes: Vec<u8> = data.iter().flat_map(|v| v.to_le_bytes()).collect();
        let op = Op::Bytes {
            offset: Toy::at(row) as u16,
            data: &bytes,
        };
        mtr.apply(h, op);
    }

    fn latched(&self) -> Result<(Mtr<'_>, PageH)> {
        loop {
            let _pin = self.pager.pin(&self.space, self.page)?;
            let mut mtr = self.pager.mtr(0)?;
            if let Some(h) = mtr.try_latch(&self.space, self.page) {
                return Ok((mtr, h));
            }
        }
    }

    /// Writes a row; `padding` makes the undo record long.
    fn write(&self, txn: &mut Txn, row: u64, value: u64, padding: usize) -> Result<()> {
        let mut room = self.sys.reserve(txn, 32 + padding)?;
        let trx = room.trx_id();
        let (mut mtr, h) = self.latched()?;
        let old = Toy::row_in(mtr.page(h), row);
        let mut payload = row.to_le_bytes().to_vec();
        payload.extend(old.iter().flat_map(|v| v.to_le_bytes()));
        payload.resize(32 + padding, 0xEE);
        let roll = room.append(&mut mtr, old[1] == 0, &payload);
        Toy::put(&mut mtr, h, row, [value, trx, roll.0]);
        mtr.commit();
        Ok(())
    }

    fn newest(&self, row: u64) -> Row {
        let page = self.pager.fetch(&self.space, self.page).unwrap();
        Toy::row_in(&page, row)
    }

    /// What a view sees of a row.
    fn read(&self, view: &ReadView, row: u64) -> u64 {
        let mut version = self.newest(row);
        let mut payload = Vec::new();
        while !view.sees(version[1]) {
            self.sys
                .read_undo(RollPtr(version[2]), &mut payload)
                .unwrap();
            assert_eq!(get_u64(&payload, 0), row);
            version = [8, 16, 24].map(|i| get_u64(&payload, i));
        }
        version[0]
    }

    fn check(&self, row: u64) -> Result<()> {
        if self.broken.load(Ordering::Relaxed) == row {
            self.failures.fetch_add(1, Ordering::Relaxed);
            assert!(!self.panics.load(Ordering::Relaxed), "a broken row");
            return Err(Error::Corrupt("a broken row".into()));
        }
        Ok(())
    }

    fn lack(&self) -> Result<()> {
        let left = self.lacking.load(Ordering::Relaxed);
        if left == 0 {
            return Ok(());
        }
        self.lacking.store(left - 1, Ordering::Relaxed);
        Err(match left % 2 {
            0 => Error::io("open a table", &std::io::Error::from_raw_os_error(24)),
            _ => Error::NoFrame("all are in use".into()),
        })
    }

    fn values(&self) -> Vec<u64> {
        (0..ROWS).map(|r| self.newest(r)[0]).collect()
    }
}

impl UndoHandler for Toy {
    fn undo(&self, trx: TrxId, at: RollPtr, payload: &[u8]) -> Result<()> {
        let row = get_u64(payload, 0);
        self.check(row)?;
        let (mut mtr, h) = self.latched()?;
        let now = Toy::row_in(mtr.page(h), row);
        if now[1] == trx && now[2] == at.0 {
            let old = [8, 16, 24].map(|i| get_u64(payload, i));
            Toy::put(&mut mtr, h, row, old);
            mtr.commit();
        }
        // Late, so that what has been undone is undone again.
        self.lack()
    }

    fn purge(&self, trx: TrxId, at: RollPtr, payload: &[u8], oldest: &ReadView) -> Result<()> {
        assert!(oldest.sees(trx));
        assert!(get_u64(payload, 0) < ROWS);
        self.check(get_u64(payload, 0))?;
        self.purged.lock().push((trx, at));
        Ok(())
    }
}

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let give_up = Instant::now() + Duration::from_secs(30);
    while !done() {
        assert!(Instant::now() < give_up, "never: {what}");
        std::thread::yield_now();
    }
}

fn close(toy: Arc<Toy>) {
    toy.sys.stop_purge();
    toy.pager.close().unwrap();
}

#[test]
fn savepoints_and_rollback_restore_rows() {
    let toy = Toy::create(&SimStorage::new()).unwrap();
    let owner = toy.sys.owner();
    let mut txn = toy.sys.begin(&owner, Isolation::RepeatableRead);
    let nothing = txn.savepoint();
    toy.write(&mut txn, 0, 10, 0).unwrap();
    let one = txn.savepoint();
    toy.write(&mut txn, 0, 11, 0).unwrap();
    toy.write(&mut txn, 1, 12, MAX_PAYLOAD - 32).unwrap();
    toy.write(&mut txn, 2, 13, MAX_PAYLOAD - 32).unwrap();
    assert_eq!(txn.savepoint().undo_count, 4);
    toy.sys.rollback_to(&mut txn, one, &*toy).unwrap();
    assert_eq!(toy.values()[..3], [10, 0, 0]);
    toy.write(&mut txn, 2, 14, 0).unwrap();
    let mut visited = Vec::new();
    toy.sys
        .visit_undo(&txn, &mut |_, payload| {
            visited.push(get_u64(payload, 0));
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(visited, [2, 0]);
    toy.sys.rollback_to(&mut txn, nothing, &*toy).unwrap();
    assert_eq!(toy.values()[..3], [0, 0, 0]);
    assert_eq!(txn.savepoint().undo_count, 0);
    toy.write(&mut txn, 3, 15, 0).unwrap();
    let id = txn.id();
    assert!(toy.sys.is_active(id));
    toy.sys.commit(txn).unwrap();
    assert!(!toy.sys.is_active(id));
    let mut second = toy.sys.begin(&owner, Isolation::RepeatableRead);
    toy.write(&mut second, 3, 16, 0).unwrap();
    toy.sys.rollback(second, &*toy).unwrap();
    assert_eq!(toy.values()[3], 15);
    assert_eq!(toy.sys.history_length(), 2);
    close(toy);
}

#[test]
fn isolation_levels_choose_their_views() {
    let toy = Toy::create(&SimStorage::new()).unwrap();
    let [a, b] = [toy.sys.owner(), toy.sys.owner()];
    let levels = [Isolation::ReadCommitted, Isolation::RepeatableRead];
    for (i, level) in levels.into_iter().enumerate() {
        let mut reader = toy.sys.begin(&a, level);
        let before = toy.read(&toy.sys.view(&mut reader).unwrap().clone(), 0);
        let mut writer = toy.sys.begin(&b, Isolation::RepeatableRead);
        toy.write(&mut writer, 0, 100 + i as u64, 0).unwrap();
        toy.sys.statement(&mut reader);
        let view = toy.sys.view(&mut reader).unwrap().clone();
        assert_eq!(toy.read(&view, 0), before);
        let own = toy.sys.view(&mut writer).unwrap().clone();
        assert_eq!(toy.read(&own, 0), 100 + i as u64);
        toy.sys.commit(writer).unwrap();
        assert_eq!(toy.read(&view, 0), before);
        toy.sys.statement(&mut reader);
        let view = toy.sys.view(&mut reader).unwrap().clone();
        let now = toy.read(&view, 0);
        assert_eq!(now == 100 + i as u64, level == Isolation::ReadCommitted);
        // A view made before the first write sees the writes that follow.
        toy.write(&mut reader, 1, 7, 0).unwrap();
        let view = toy.sys.view(&mut reader).unwrap().clone();
        assert_eq!(toy.read(&view, 1), 7);
        toy.sys.rollback(reader, &*toy).unwrap();
    }
    let mut dirty = toy.sys.begin(&a, Isolation::ReadUncommitted);
    assert!(toy.sys.view(&mut dirty).is_none());
    drop(dirty);
    close(toy);
}

#[test]
fn implicit_locks_end_with_their_transaction() {
    let toy = Toy::create(&SimStorage::new()).unwrap();
    let [a, b] = [toy.sys.owner(), toy.sys.owner()];
    let mut txn = toy.sys.begin(&a, Isolation::RepeatableRead);
    toy.write(&mut txn, 0, 1, 0).unwrap();
    let id = txn.id();
    assert!(toy.sys.convert_implicit(id, TREE, b"0"));
    let locks = toy.sys.locks();
    let mode = LockMode::Shared;
    assert_eq!(locks.try_lock(&b, TREE, b"0", mode), TryLock::Conflict);
    let info = toy.sys.transactions();
    assert_eq!(
        (info[0].who.trx, info[0].rows_changed, info[0].locks),
        (id, 1, 1)
    );
    let mut held = Vec::new();
    toy.sys.each_row_lock(&mut |lock| {
        held.push(lock);
        ControlFlow::Continue(())
    });
    let on_row = |mode| Locked::Point {
        space: TREE,
        key: b"0".to_vec(),
        mode,
    };
    assert_eq!(held.len(), 1);
    assert_eq!(
        (held[0].who.trx, &held[0].what),
        (id, &on_row(LockMode::Exclusive))
    );
    std::thread::scope(|s| {
        s.spawn(|| locks.lock(&b, TREE, b"0", mode, WaitPolicy::Wait).unwrap());
        until("waiting", || !toy.sys.waits().is_empty());
        let wait = toy.sys.waits().remove(0);
        assert_eq!(
            (wait.lock.who.owner, &wait.lock.what),
            (b.no(), &on_row(mode))
        );
        assert_eq!(wait.blockers, held);
        toy.sys.commit(txn).unwrap();
    });
    locks.release_all(&b);
    assert!(toy.sys.waits().is_empty());
    assert!(!toy.sys.convert_implicit(id, TREE, b"0"));
    assert_eq!(locks.try_lock(&b, TREE, b"0", mode), TryLock::New);
    locks.release_all(&b);
    assert!(toy.sys.transactions().is_empty());
    close(toy);
}

#[test]
fn a_dropped_transaction_is_rolled_back() {
    let toy = Toy::create(&SimStorage::new()).unwrap();
    toy.sys.start_purge(toy.clone(), 1);
    let owner = toy.sys.owner();
    let mut txn = toy.sys.begin(&owner, Isolation::RepeatableRead);
    toy.write(&mut txn, 0, 1, 0).unwrap();
    let id = txn.id();
    drop(txn);
    until("rolled back", || !toy.sys.is_active(id));
    assert_eq!(toy.values()[0], 0);
    toy.sys.stop_purge();
    close(toy);
}

/// What fails in one lane keeps neither the others nor abandoned transactions waiting, and is tried again.
#[test]
fn a_failure_of_purge_parks_a_lane() {
    for panics in [false, true] {
        purge_parks_a_lane(panics);
    }
}

fn purge_parks_a_lane(panics: bool) {
    let toy = Toy::create(&SimStorage::new()).unwrap();
    let owners = [(); 3].map(|()| toy.sys.owner());
    // Each has a lane of its own, as they are open at the same time.
    let txns: Vec<Txn> = (0..3)
        .map(|i| {
            let mut txn = toy.sys.begin(&owners[i], Isolation::RepeatableRead);
            toy.write(&mut txn, i as u64, 1, 0).unwrap();
            txn
        })
        .collect();
    for txn in txns {
        toy.sys.commit(txn).unwrap();
    }
    toy.panics.store(panics, Ordering::Relaxed);
    toy.broken.store(0, Ordering::Relaxed);
    toy.sys.start_purge(toy.clone(), 1);
    until("the others' history is purged", || {
        toy.sys.history_length() == 1
    });
    let mut txn = toy.sys.begin(&owners[0], Isolation::RepeatableRead);
    toy.write(&mut txn, 5, 1, 0).unwrap();
    drop(txn);
    until("rolled back", || toy.values()[5] == 0);
    toy.broken.store(ROWS, Ordering::Relaxed);
    until("all is purged", || toy.sys.history_length() == 0);
    close(toy);
}

/// A rollback that panics is one that has failed: the engine stops, the thread goes on.
#[test]
fn a_panic_in_a_rollback_stops_the_engine() {
    let toy = Toy::create(&SimStorage::new()).unwrap();
    let owner = toy.sys.owner();
    let mut txn = toy.sys.begin(&owner, Isolation::RepeatableRead);
    toy.write(&mut txn, 0, 1, 0).unwrap();
    toy.panics.store(true, Ordering::Relaxed);
    toy.broken.store(0, Ordering::Relaxed);
    toy.sys.start_purge(toy.clone(), 1);
    // Dropped, it is for the purge thread to roll back.
    drop(txn);
    until("stopped", || toy.pager.log().stopped().is_some());
    until("let go", || toy.sys.transactions().is_empty());
}

/// Nothing is purged any more once the log has stopped; but what is dropped unfinished then leaves no locks behind.
#[test]
fn a_dropped_transaction_gives_its_locks_back_after_the_log_has_stopped() {
    let toy = Toy::create(&SimStorage::new()).unwrap();
    let owner = toy.sys.owner();
    let mut txn = toy.sys.begin(&owner, Isolation::RepeatableRead);
    toy.write(&mut txn, 0, 1, 0).unwrap();
    toy.sys.commit(txn).unwrap();
    let mut txn = toy.sys.begin(&owner, Isolation::RepeatableRead);
    toy.write(&mut txn, 1, 1, 0).unwrap();
    let id = txn.id();
    let locks = toy.sys.locks();
    locks.try_lock(&owner, TREE, b"1", LockMode::Exclusive);
    toy.broken.store(0, Ordering::Relaxed);
    toy.pager.log().stop("no more");
    toy.sys.start_purge(toy.clone(), 1);
    until("purge has failed", || {
        toy.failures.load(Ordering::Relaxed) > 0
    });
    drop(txn);
    until("rolled back", || !toy.sys.is_active(id));
    let other = toy.sys.owner();
    until("unlocked", || {
        locks.try_lock(&other, TREE, b"1", LockMode::Exclusive) == TryLock::New
    });
    locks.release_all(&other);
    toy.sys.stop_purge();
    assert!(toy.sys.transactions().is_empty());
}

/// Moves lanes while purge is at one, as another purge thread may.
struct Mover<'t>(&'t Toy);

impl UndoHandler for Mover<'_> {
    fn undo(&self, _: TrxId, _: RollPtr, _: &[u8]) -> Result<()> {
        unreachable!("nothing is undone")
    }

    fn purge(&self, _: TrxId, _: RollPtr, _: &[u8], _: &ReadView) -> Result<()> {
        self.0.sys.lower_lanes()
    }
}

/// A lane is moved while a purge thread has seen that the page it is at is the lane's last.
#[test]
fn a_lane_that_is_moved_under_purge_leaves_its_old_end() {
    let toy = Toy::create(&SimStorage::new()).unwrap();
    let owner = toy.sys.owner();
    let purge = |handler: &dyn UndoHandler| {
        let mut view = toy.sys.views.oldest(&toy.sys.registry);
        let mut buffer = vec![0; crate::page::PAGE_SIZE];
        while toy.sys.purge_next(handler, &mut view, &mut buffer).unwrap() {}
    };
    // A record a page: the file becomes long, and nearly all of it free.
    let mut txn = toy.sys.begin(&owner, Isolation::RepeatableRead);
    for i in 0..1200 {
        toy.write(&mut txn, 0, i, MAX_PAYLOAD - 32).unwrap();
    }
    toy.sys.commit(txn).unwrap();
    purge(&*toy);
    assert_eq!(toy.sys.history_length(), 0);
    let last = || {
        let used = toy.pager.used_pages(FileId::UNDO).unwrap();
        let lanes = used
            .into_iter()
            .filter(|(no, _)| !crate::space::layout::is_bookkeeping(*no));
        lanes.map(|(no, _)| no).max().unwrap()
    };
    assert!(last() > 1100);
    let mut txn = toy.sys.begin(&owner, Isolation::RepeatableRead);
    toy.write(&mut txn, 0, 7, 0).unwrap();
    toy.sys.commit(txn).unwrap();
    purge(&Mover(&toy));
    assert!(last() < 600, "{} is in use", last());
    close(toy);
}

/// What a transaction wrote that can be neither committed nor undone is nobody's to build on: nothing commits any more.
#[test]
fn a_failed_rollback_stops_the_engine() {
    let toy = Toy::create(&SimStorage::new()).unwrap();
    let [a, b] = [toy.sys.owner(), toy.sys.owner()];
    let mut txn = toy.sys.begin(&a, Isolation::RepeatableRead);
    toy.write(&mut txn, 0, 1, 0).unwrap();
    let id = txn.id();
    toy.broken.store(0, Ordering::Relaxed);
    assert!(toy.sys.rollback(txn, &*toy).is_err());
    let why = toy.pager.log().stopped().unwrap();
    assert!(why.contains("a broken row"), "{why}");
    assert!(toy.sys.is_active(id));
    let mut other = toy.sys.begin(&b, Isolation::RepeatableRead);
    toy.write(&mut other, 1, 1, 0).unwrap();
    let refused = toy.sys.commit(other);
    assert!(matches!(refused, Err(Error::Stopped(_))), "{refused:?}");
}

/// A rollback waits for a lack to pass, and does the rest then; only if the engine closes it is left to recovery.
#[test]
fn a_rollback_outlasts_a_lack() {
    let disk = SimStorage::new();
    let toy = Toy::create(&disk).unwrap();
    let owner = toy.sys.owner();
    let mut txn = toy.sys.begin(&owner, Isolation::RepeatableRead);
    for row in 0..3 {
        toy.write(&mut txn, row, 1, 0).unwrap();
    }
    let id = txn.id();
    toy.lacking.store(3, Ordering::Relaxed);
    toy.sys.rollback(txn, &*toy).unwrap();
    assert_eq!(toy.lacking.load(Ordering::Relaxed), 0);
    assert_eq!(toy.pager.log().stopped(), None);
    assert!(!toy.sys.is_active(id));
    assert_eq!(toy.values(), [0; ROWS as usize]);

    let mut txn = toy.sys.begin(&owner, Isolation::RepeatableRead);
    toy.write(&mut txn, 5, 1, 0).unwrap();
    toy.sys.stop_purge();
    toy.lacking.store(u64::MAX, Ordering::Relaxed);
    assert!(toy.sys.rollback(txn, &*toy).unwrap_err().is_passing());
}

/// So does one to a savepoint; what has failed for good is not committed.
#[test]
fn a_rollback_to_a_savepoint_outlasts_a_lack_or_dooms_the_transaction() {
    let toy = Toy::create(&SimStorage::new()).unwrap();
    toy.sys.start_purge(toy.clone(), 1);
    let owner = toy.sys.owner();
    let mut txn = toy.sys.begin(&owner, Isolation::RepeatableRead);
    toy.write(&mut txn, 0, 1, 0).unwrap();
    let one = txn.savepoint();
    let two_more = |txn: &mut Txn| [1, 2].map(|row| toy.write(txn, row, 2, 0).unwrap());
    two_more(&mut txn);
    toy.lacking.store(3, Ordering::Relaxed);
    toy.sys.rollback_to(&mut txn, one, &*toy).unwrap();
    assert_eq!(toy.lacking.load(Ordering::Relaxed), 0);
    assert_eq!(toy.values()[..3], [1, 0, 0]);

    two_more(&mut txn);
    toy.broken.store(1, Ordering::Relaxed);
    toy.sys.rollback_to(&mut txn, one, &*toy).unwrap_err();
    toy.broken.store(ROWS, Ordering::Relaxed);
    let id = txn.id();
    toy.sys.commit(txn).unwrap_err();
    until("rolled back", || !toy.sys.is_active(id));
    assert_eq!(toy.values()[..3], [0, 0, 0]);
    assert_eq!(toy.pager.log().stopped(), None);
    toy.sys.stop_purge();
    close(toy);
}

/// Purge may be at a transaction the moment that it has ended: it is history by then.
#[test]
fn history_never_falls_below_nothing() {
    let toy = Toy::create(&SimStorage::new()).unwrap();
    toy.sys.start_purge(toy.clone(), 2);
    let done = AtomicU64::new(0);
    std::thread::scope(|s| {
        for row in 0..4 {
            let (toy, done) = (&toy, &done);
            s.spawn(move || {
                let owner = toy.sys.owner();
                for i in 0..500 {
                    let mut txn = toy.sys.begin(&owner, Isolation::RepeatableRead);
                    toy.write(&mut txn, row, i, 0).unwrap();
                    toy.sys.commit_no_wait(txn).unwrap();
                }
                done.fetch_add(1, Ordering::Relaxed);
            });
        }
        while done.load(Ordering::Relaxed) < 4 {
            assert!(toy.sys.history_length() <= 2000);
        }
    });
    until("all is purged", || toy.sys.history_length() == 0);
    close(toy);
}

/// Writers on all rows, readers with views of all ages, purge threads: no reader ever sees its view's values change, and in
/// the end everything has been purged once and the undo file has not grown with the number of transactions.
#[test]
fn purge_keeps_pace_and_spares_what_views_need() {
    let toy = Toy::create(&SimStorage::new()).unwrap();
    toy.sys.start_purge(toy.clone(), 2);
    let owner = toy.sys.owner();
    let written = AtomicU64::new(0);
    std::thread::scope(|s| {
        let (toy, written) = (&toy, &written);
        for t in 0..2u64 {
            s.spawn(move || {
                let owner = toy.sys.owner();
                let mut random = Random(t);
                for i in 0..400u64 {
                    let mut txn = toy.sys.begin(&owner, Isolation::RepeatableRead);
                    let records = 1 + random.below(3);
                    for _ in 0..records {
                        // Each thread has rows of its own: locking is not what is tested.
                        let row = random.below(ROWS / 2) * 2 + t;
                        toy.write(&mut txn, row, i, 900).unwrap();
                    }
                    if random.below(4) == 0 {
                        // Purge passes these by.
                        toy.sys.rollback(txn, &**toy).unwrap();
                    } else {
                        toy.sys.commit_no_wait(txn).unwrap();
                        written.fetch_add(records, Ordering::Relaxed);
                    }
                }
            });
        }
        for t in 0..2 {
            s.spawn(move || {
                let owner = toy.sys.owner();
                let mut random = Random(100 + t);
                for _ in 0..40 {
                    let mut txn = toy.sys.begin(&owner, Isolation::RepeatableRead);
                    let view = toy.sys.view(&mut txn).unwrap().clone();
                    let first: Vec<_> = (0..ROWS).map(|r| toy.read(&view, r)).collect();
                    for _ in 0..random.below(20) {
                        std::thread::yield_now();
                        let again: Vec<_> = (0..ROWS).map(|r| toy.read(&view, r)).collect();
                        assert_eq!(first, again);
                    }
                    toy.sys.commit(txn).unwrap();
                }
            });
        }
    });
    // Enough ends to wake the threads whatever they were doing.
    for _ in 0..64 {
        let mut txn = toy.sys.begin(&owner, Isolation::RepeatableRead);
        toy.write(&mut txn, 0, 1, 0).unwrap();
        toy.sys.commit_no_wait(txn).unwrap();
        written.fetch_add(1, Ordering::Relaxed);
    }
    let all = written.load(Ordering::Relaxed) as usize;
    until("all purged", || toy.sys.history_length() == 0);
    // Rolled-back first versions of rows are handed over like any others.
    let purged = toy.purged.lock().len();
    assert!(
        (all..=all + ROWS as usize).contains(&purged),
        "{purged} of {all}"
    );
    assert_eq!(toy.sys.purged(), 864);
    // 1,600 records of a kilobyte would be 100 pages; a few lanes keep a tail each.
    let undo = toy.pager.space(SpaceId(2), FileId::UNDO);
    let pages = toy.pager.space_pages(&undo).unwrap();
    assert!(pages <= 8, "{pages} undo pages in use");
    toy.sys.stop_purge();
    close(toy);
}

/// Many transactions at a time need many lanes; afterwards a few serve all.
#[test]
fn lanes_are_made_when_needed_and_reused() {
    let toy = Toy::create(&SimStorage::new()).unwrap();
    let owners: Vec<_> = (0..50).map(|_| toy.sys.owner()).collect();
    let undo = toy.pager.space(SpaceId(2), FileId::UNDO);
    for _ in 0..2 {
        let mut all = Vec::new();
        for owner in &owners {
            let mut txn = toy.sys.begin(owner, Isolation::RepeatableRead);
            toy.write(&mut txn, 0, 1, 0).unwrap();
            all.push(txn);
        }
        while let Some(txn) = all.pop() {
            toy.sys.rollback(txn, &*toy).unwrap();
        }
        assert_eq!(toy.pager.space_pages(&undo).unwrap(), 50);
    }
    assert_eq!(toy.values()[0], 0);
    close(toy);
}

/// What the model knows of a crash run: committed values, and what an unanswered commit may have made of them.
struct Model {
    committed: Vec<u64>,
    unanswered: Option<BTreeMap<u64, u64>>,
}

/// Runs interleaved transactions until the end or the first error.
fn workload(toy: &Arc<Toy>, random: &mut Random, model: &mut Model) -> Result<()> {
    let owners: Vec<_> = (0..4).map(|_| toy.sys.owner()).collect();
    let mut open: Vec<Option<(Txn, BTreeMap<u64, u64>)>> = (0..4).map(|_| None).collect();
    for step in 0..120u64 {
        let o = random.below(4) as usize;
        let (mut txn, mut wrote) = open[o].take().unwrap_or_else(|| {
            let txn = toy.sys.begin(&owners[o], Isolation::RepeatableRead);
            (txn, BTreeMap::new())
        });
        match random.below(9) {
            0 => {
                model.unanswered = Some(wrote.clone());
                toy.sys.commit(txn)?;
                model.unanswered = None;
                wrote
                    .iter()
                    .for_each(|(r, v)| model.committed[*r as usize] = *v);
                continue;
            }
            1 => {
                toy.sys.rollback(txn, &**toy)?;
                continue;
            }
            2 => {
                let to = txn.savepoint();
                let row = random.below(ROWS / 4) * 4 + o as u64;
                toy.write(&mut txn, row, 1_000_000 + step, 3000)?;
                toy.sys.rollback_to(&mut txn, to, &**toy)?;
            }
            3 if step % 4 == 0 => toy.pager.flush()?,
            _ => {
                let row = random.below(ROWS / 4) * 4 + o as u64;
                let padding = [0, 0, 500, 6000][random.below(4) as usize];
                toy.write(&mut txn, row, step + 1, padding)?;
                wrote.insert(row, step + 1);
            }
        }
        open[o] = Some((txn, wrote));
    }
    Ok(())
}

/// Cuts the power at one write or sync after another of the same run, loses unsynced writes at random, recovers twice: what
/// was committed is there, what was not is gone.
#[test]
fn crashes_keep_committed_transactions_and_nothing_else() {
    for run in 0..60u64 {
        let cut_at = run * 2 / 3;
        let disk = SimStorage::new();
        let mut random = Random(run);
        let mut model = Model {
            committed: vec![0; ROWS as usize],
            unanswered: None,
        };
        let toy = Toy::create(&disk).unwrap();
        let page = toy.page;
        // Its purge frees and reuses undo pages meanwhile.
        toy.sys.start_purge(toy.clone(), 1);
        let mut ops = 0;
        disk.on_step(move |_, _| {
            ops += 1;
            if ops > cut_at { Step::Cut } else { Step::Go }
        });
        let finished = workload(&toy, &mut random, &mut model);
        assert!(finished.is_ok() || disk.is_cut(), "{finished:?}");
        toy.sys.stop_purge();
        disk.cut();
        drop(toy);
        disk.restart(|| random.below(2) == 0);

        // The first recovery is cut off in the middle of its rollbacks.
        let toy = Toy::reopen(&disk, page).unwrap();
        for txn in toy.sys.take_recovered().into_iter().take(1) {
            toy.sys.rollback(txn, &*toy).unwrap();
        }
        disk.cut();
        drop(toy);
        disk.restart(|| random.below(2) == 0);

        let toy = Toy::reopen(&disk, page).unwrap();
        let recovered = toy.sys.take_recovered();
        assert!(recovered.len() <= 4);
        for txn in recovered {
            assert!(toy.sys.is_active(txn.id()));
            toy.sys.rollback(txn, &*toy).unwrap();
        }
        let mut without = model.committed.clone();
        let with = model.unanswered.map(|wrote| {
            let mut with = model.committed;
            wrote.iter().for_each(|(r, v)| with[*r as usize] = *v);
            with
        });
        let now = toy.values();
        if with != Some(now.clone()) {
            assert_eq!(now, without, "run {run}");
        } else {
            without = now;
        }
        // Life goes on: new ids are above all ids in rows, and purge gets through what is left.
        let owner = toy.sys.owner();
        let mut txn = toy.sys.begin(&owner, Isolation::RepeatableRead);
        toy.write(&mut txn, 0, 77, 0).unwrap();
        assert!((0..ROWS).all(|r| r == 0 || toy.newest(r)[1] < txn.id()));
        toy.sys.rollback(txn, &*toy).unwrap();
        assert_eq!(toy.values(), without);
        toy.sys.start_purge(toy.clone(), 1);
        until("history is purged", || toy.sys.history_length() == 0);
        close(toy);
    }
}

#[test]
fn a_failed_log_leaves_the_transaction_to_recovery() {
    let disk = SimStorage::new();
    let toy = Toy::create(&disk).unwrap();
    let owner = toy.sys.owner();
    let mut txn = toy.sys.begin(&owner, Isolation::RepeatableRead);
    toy.write(&mut txn, 0, 5, 0).unwrap();
    toy.pager.log().stop("no more");
    let key = b"0";
    toy.sys
        .locks()
        .try_lock(&owner, TREE, key, LockMode::Exclusive);
    assert!(matches!(toy.sys.commit(txn), Err(Error::Stopped(_))));
    // Whether it is committed is for recovery to say, but nobody is left waiting for its locks.
    let other = toy.sys.owner();
    let got = toy
        .sys
        .locks()
        .try_lock(&other, TREE, key, LockMode::Exclusive);
    assert_eq!(got, TryLock::New);
    toy.sys.locks().release_all(&other);
}

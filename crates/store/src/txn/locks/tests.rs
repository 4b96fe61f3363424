//! The lock table against a simple model, and with real threads.

use super::*;
use crate::txn::mdl::{MdlMode, MdlSystem};
use crate::txn::owner::Registry;
use std::sync::Weak;
use std::sync::mpsc;
use std::time::Instant;

const TREE: SpaceId = SpaceId(1024);
const S: LockMode = LockMode::Shared;
const X: LockMode = LockMode::Exclusive;

fn owners(n: usize) -> Vec<Arc<Owner>> {
    let registry = Arc::new(Registry::default());
    (0..n).map(|_| registry.owner(Weak::new())).collect()
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

/// Waits, without sleeping, until so many owners wait.
fn until_waiting(locks: &LockSystem, n: u64) {
    let give_up = Instant::now() + Duration::from_secs(30);
    loop {
        let stats = locks.stats();
        if stats.row_waiting + stats.metadata_waiting == n {
            return;
        }
        assert!(Instant::now() < give_up, "{stats:?}");
        std::thread::yield_now();
    }
}

fn key(k: u64) -> [u8; 8] {
    k.to_be_bytes()
}

#[test]
fn points_agree_with_a_model() {
    let mut random = Random(3);
    for round in 0..30 {
        let locks = LockSystem::new();
        let owners = owners(4);
        // (key, owner) -> mode
        let mut model: std::collections::BTreeMap<(u64, usize), LockMode> = Default::default();
        for _ in 0..400 {
            let (o, k) = (random.below(4) as usize, random.below(8));
            // Some keys too long to be inline.
            let mut bytes = vec![k as u8; 1 + 7 * k as usize];
            bytes[0] = round;
            match random.below(8) {
                0 => {
                    locks.release_all(&owners[o]);
                    model.retain(|(_, holder), _| *holder != o);
                }
                1 => {
                    locks.unlock(&owners[o], TREE, &bytes);
                    model.remove(&(k, o));
                }
                _ => {
                    let mode = if random.below(2) == 0 { S } else { X };
                    let before = model.get(&(k, o)).copied();
                    let blocked = (0..4)
                        .any(|p| p != o && model.get(&(k, p)).is_some_and(|&m| conflict(m, mode)));
                    let want = if before == Some(X) || before == Some(mode) {
                        TryLock::Held
                    } else if blocked {
                        TryLock::Conflict
                    } else {
                        model.insert((k, o), mode);
                        match before {
                            None => TryLock::New,
                            Some(_) => TryLock::Held,
                        }
                    };
                    assert_eq!(locks.try_lock(&owners[o], TREE, &bytes, mode), want);
                }
            }
            for (o, owner) in owners.iter().enumerate() {
                assert_eq!(
                    owner.held.lock().points.len(),
                    model.keys().filter(|(_, holder)| *holder == o).count()
                );
                assert_eq!(locks.held(owner, TREE, &bytes), model.get(&(k, o)).copied());
            }
        }
        owners.iter().for_each(|o| locks.release_all(o));
        assert_eq!(locks.points.live(), 0);
    }
}

#[test]
fn ranges_agree_with_a_model() {
    let mut random = Random(11);
    for _ in 0..60 {
        let locks = LockSystem::new();
        let owners = owners(3);
        // covered[o][position], position 2k being key k and 2k + 1 the gap after it.
        let mut covered = [[false; 41]; 3];
        for _ in 0..60 {
            let o = random.below(3) as usize;
            if random.below(10) == 0 {
                locks.release_all(&owners[o]);
                covered[o] = [false; 41];
            } else {
                let (a, b) = (random.below(20) as u8, random.below(20) as u8);
                let (ka, kb) = ([a], [b]);
                let (lower, from) = match random.below(3) {
                    0 => (Bound::Unbounded, 0),
                    1 => (Bound::Included(&ka[..]), 2 * a as usize),
                    _ => (Bound::Excluded(&ka[..]), 2 * a as usize + 1),
                };
                let (upper, to) = match random.below(3) {
                    0 => (Bound::Unbounded, 41),
                    1 => (Bound::Included(&kb[..]), 2 * b as usize + 1),
                    _ => (Bound::Excluded(&kb[..]), 2 * b as usize),
                };
                locks.lock_gap(&owners[o], TREE, lower, upper);
                (from..to).for_each(|p| covered[o][p] = true);
            }
            for p in 0..40u8 {
                let mut k = vec![p / 2];
                k.extend((p % 2 == 1).then_some(5));
                for (o, owner) in owners.iter().enumerate() {
                    let mut others = (0..3).filter(|&q| q != o);
                    let free = others.all(|q| !covered[q][p as usize]);
                    assert_eq!(locks.may_insert(owner, TREE, &k), free, "{p} {o}");
                }
            }
        }
        owners.iter().for_each(|o| locks.release_all(o));
        assert_eq!(locks.ranges.segments(), 0);
    }
}

#[test]
fn a_long_scan_holds_one_range() {
    let locks = LockSystem::new();
    let owners = owners(2);
    let mut last: Vec<u8> = Vec::new();
    for k in 0..1000u64 {
        let k = key(k);
        locks.lock_gap(
            &owners[0],
            TREE,
            Bound::Excluded(&last),
            Bound::Included(&k),
        );
        last = k.to_vec();
    }
    for k in (0..1000u64).rev() {
        let (from, to) = (key(k + 2000), key(k + 2001));
        locks.lock_gap(
            &owners[1],
            TREE,
            Bound::Included(&from),
            Bound::Excluded(&to),
        );
    }
    assert_eq!(locks.ranges.segments(), 2);
    assert_eq!(owners[0].held.lock().ranges.len(), 1);
    assert_eq!(owners[1].held.lock().ranges.len(), 1);
}

#[test]
fn waiters_are_served_in_order_and_readers_do_not_overtake() {
    let locks = LockSystem::new();
    let o = owners(4);
    assert_eq!(locks.try_lock(&o[0], TREE, b"k", S), TryLock::New);
    let (tx, rx) = mpsc::channel();
    std::thread::scope(|s| {
        for (i, mode) in [(1, X), (2, S), (3, S)] {
            let (locks, owner, tx) = (&locks, &o[i], tx.clone());
            s.spawn(move || {
                let got = locks.lock(owner, TREE, b"k", mode, WaitPolicy::Wait);
                assert_eq!(got.unwrap(), Lock::New);
                tx.send(i).unwrap();
                if mode == X {
                    until_waiting(locks, 2);
                    locks.release_all(owner);
                }
            });
            until_waiting(locks, i as u64);
        }
        // A reader would be compatible with the holder, but a writer waits before it.
        assert_eq!(locks.try_lock(&o[0], TREE, b"k", S), TryLock::Held);
        let skipped = locks.lock(&o[2], TREE, b"other", S, WaitPolicy::SkipLocked);
        assert_eq!(skipped.unwrap(), Lock::New);
        assert!(rx.try_recv().is_err());
        locks.release_all(&o[0]);
    });
    let order: Vec<_> = rx.try_iter().collect();
    assert_eq!(order[0], 1);
    assert_eq!(order.len(), 3);
    assert_eq!(locks.stats().row_waits, 3);
    o.iter().for_each(|o| locks.release_all(o));
    assert_eq!(locks.points.live(), 0);
}

#[test]
fn nowait_and_skip_locked_do_not_wait() {
    let locks = LockSystem::new();
    let o = owners(2);
    locks.try_lock(&o[0], TREE, b"k", X);
    let nowait = locks.lock(&o[1], TREE, b"k", S, WaitPolicy::NoWait);
    assert!(matches!(nowait, Err(Error::LockNotAvailable)));
    let skip = locks.lock(&o[1], TREE, b"k", S, WaitPolicy::SkipLocked);
    assert_eq!(skip.unwrap(), Lock::Skipped);
    assert_eq!(locks.stats().row_waits, 0);
}

#[test]
fn the_lighter_transaction_is_the_victim() {
    let locks = LockSystem::new();
    let o = owners(2);
    // Owner 0 has changed more, and closes the cycle: owner 1 must fall although it waited first.
    o[0].changes.store(10, std::sync::atomic::Ordering::Relaxed);
    locks.try_lock(&o[0], TREE, b"a", X);
    locks.try_lock(&o[1], TREE, b"b", X);
    std::thread::scope(|s| {
        let (locks, o) = (&locks, &o);
        let victim = s.spawn(move || {
            let got = locks.lock(&o[1], TREE, b"a", X, WaitPolicy::Wait);
            locks.release_all(&o[1]);
            got
        });
        until_waiting(locks, 1);
        let got = locks.lock(&o[0], TREE, b"b", X, WaitPolicy::Wait);
        assert_eq!(got.unwrap(), Lock::New);
        assert!(matches!(victim.join().unwrap(), Err(Error::Deadlock)));
    });
    assert_eq!(locks.stats().deadlocks, 1);
    let text = locks.last_deadlock().unwrap();
    assert!(text.contains("WE ROLL BACK TRANSACTION (2)"), "{text}");
    assert!(text.contains("key 0x61, mode X"), "{text}");
}

#[test]
fn two_readers_who_want_to_write_deadlock_and_the_requester_falls() {
    let locks = LockSystem::new();
    let o = owners(2);
    locks.try_lock(&o[0], TREE, b"a", S);
    locks.try_lock(&o[1], TREE, b"a", S);
    std::thread::scope(|s| {
        let (locks, o) = (&locks, &o);
        let first = s.spawn(move || locks.lock(&o[0], TREE, b"a", X, WaitPolicy::Wait));
        until_waiting(locks, 1);
        let got = locks.lock(&o[1], TREE, b"a", X, WaitPolicy::Wait);
        assert!(matches!(got, Err(Error::Deadlock)));
        locks.release_all(&o[1]);
        assert_eq!(first.join().unwrap().unwrap(), Lock::Held);
        assert_eq!(locks.held(&o[0], TREE, b"a"), Some(X));
    });
    locks.release_all(&o[0]);
    assert_eq!(locks.points.live(), 0);
}

#[test]
fn inserts_wait_for_ranges_and_deadlock_over_them() {
    let locks = LockSystem::new();
    let o = owners(3);
    let (a, z) = (Bound::Included(&b"a"[..]), Bound::Included(&b"z"[..]));
    locks.lock_gap(&o[0], TREE, a, z);
    locks.lock_gap(&o[1], TREE, a, z);
    assert!(!locks.may_insert(&o[0], TREE, b"m"));
    assert!(locks.may_insert(&o[2], TREE, b"zz"));
    std::thread::scope(|s| {
        let (locks, o) = (&locks, &o);
        let first = s.spawn(move || locks.wait_insert(&o[0], TREE, b"m"));
        until_waiting(locks, 1);
        // Both hold the gap and both want to insert: InnoDB's classic deadlock.
        let got = locks.wait_insert(&o[1], TREE, b"n");
        assert!(matches!(got, Err(Error::Deadlock)));
        locks.release_all(&o[1]);
        first.join().unwrap().unwrap();
        let third = s.spawn(move || locks.wait_insert(&o[2], TREE, b"m"));
        until_waiting(locks, 1);
        locks.release_all(&o[0]);
        third.join().unwrap().unwrap();
    });
}

#[test]
fn timeouts_and_kills_end_waits_and_leave_the_queue() {
    let locks = LockSystem::new();
    let o = owners(4);
    locks.try_lock(&o[0], TREE, b"k", X);
    locks.lock_gap(&o[0], TREE, Bound::Unbounded, Bound::Unbounded);
    o[1].set_row_timeout(0);
    let late = locks.lock(&o[1], TREE, b"k", S, WaitPolicy::Wait);
    assert!(matches!(late, Err(Error::LockWaitTimeout)));
    let late = locks.wait_insert(&o[1], TREE, b"x");
    assert!(matches!(late, Err(Error::LockWaitTimeout)));
    std::thread::scope(|s| {
        let (locks, o) = (&locks, &o);
        let killed = s.spawn(move || locks.lock(&o[2], TREE, b"k", X, WaitPolicy::Wait));
        until_waiting(locks, 1);
        let behind = s.spawn(move || locks.lock(&o[3], TREE, b"k", S, WaitPolicy::Wait));
        until_waiting(locks, 2);
        o[2].kill();
        assert!(matches!(killed.join().unwrap(), Err(Error::Interrupted)));
        // Still killed: the next wait ends at once, until the kill is forgotten.
        let again = locks.wait_insert(&o[2], TREE, b"x");
        assert!(matches!(again, Err(Error::Interrupted)));
        o[2].clear_kill();
        locks.release_all(&o[0]);
        assert_eq!(behind.join().unwrap().unwrap(), Lock::New);
    });
    locks.release_all(&o[3]);
    assert_eq!(locks.points.live(), 0);
}

#[test]
fn an_implicit_lock_becomes_explicit_only_while_its_transaction_lives() {
    let locks = LockSystem::new();
    let o = owners(2);
    o[0].held.lock().trx = 77;
    assert!(!locks.convert_implicit(&o[0], 76, TREE, b"k"));
    assert!(locks.convert_implicit(&o[0], 77, TREE, b"k"));
    assert!(locks.convert_implicit(&o[0], 77, TREE, b"k"));
    assert_eq!(o[0].held.lock().points.len(), 1);
    assert_eq!(locks.try_lock(&o[1], TREE, b"k", S), TryLock::Conflict);
    locks.release_all(&o[0]);
    assert!(!locks.convert_implicit(&o[0], 77, TREE, b"k"));
    assert_eq!(locks.try_lock(&o[1], TREE, b"k", S), TryLock::New);
}

/// A lock granted while the key's row was gone, beside that of who has written a row there since: it is not enough.
#[test]
fn a_lock_granted_beside_a_writer_waits_for_it() {
    let locks = LockSystem::new();
    let o = owners(4);
    let again = |policy| locks.lock(&o[1], TREE, b"k", S, policy);
    // The first writer, for which the second owner is about to wait, ends.
    o[0].held.lock().trx = 77;
    assert!(locks.convert_implicit(&o[0], 77, TREE, b"k"));
    assert_eq!(locks.try_lock(&o[1], TREE, b"k", S), TryLock::Conflict);
    locks.release_all(&o[0]);
    // Another writes the key; nobody holds a lock that it could see.
    assert!(!locks.others_hold(&o[2], TREE, b"k"));
    o[2].held.lock().trx = 78;
    let new = locks.lock(&o[1], TREE, b"k", X, WaitPolicy::Wait);
    assert_eq!(new.unwrap(), Lock::New);
    // The look at the row.
    assert!(locks.convert_implicit(&o[2], 78, TREE, b"k"));
    for mode in [S, X] {
        let there = locks.try_lock(&o[1], TREE, b"k", mode);
        assert_eq!(there, TryLock::Conflict, "{mode:?}");
    }
    let busy = again(WaitPolicy::NoWait);
    assert!(matches!(busy, Err(Error::LockNotAvailable)));
    assert_eq!(again(WaitPolicy::SkipLocked).unwrap(), Lock::Skipped);
    o[1].set_row_timeout(0);
    assert!(matches!(
        again(WaitPolicy::Wait),
        Err(Error::LockWaitTimeout)
    ));
    o[1].set_row_timeout(50);
    o[1].kill();
    assert!(matches!(again(WaitPolicy::Wait), Err(Error::Interrupted)));
    o[1].clear_kill();
    locks.try_lock(&o[1], TREE, b"other", X);
    locks.try_lock(&o[2], TREE, b"more", X);
    o[2].changes.store(5, std::sync::atomic::Ordering::Relaxed);
    std::thread::scope(|s| {
        let (locks, o) = (&locks, &o);
        // Whoever the writer comes to wait for is not waited for in turn.
        let victim = s.spawn(|| again(WaitPolicy::Wait));
        until_waiting(locks, 1);
        let writer = s.spawn(move || locks.lock(&o[2], TREE, b"other", X, WaitPolicy::Wait));
        assert!(matches!(victim.join().unwrap(), Err(Error::Deadlock)));
        locks.unlock(&o[1], TREE, b"other");
        assert_eq!(writer.join().unwrap().unwrap(), Lock::New);
        // Before those who have none; what it has is as strong as it was.
        let behind = s.spawn(move || locks.lock(&o[3], TREE, b"k", S, WaitPolicy::Wait));
        until_waiting(locks, 1);
        let first = s.spawn(|| again(WaitPolicy::Wait));
        until_waiting(locks, 2);
        locks.release_all(&o[2]);
        assert_eq!(first.join().unwrap().unwrap(), Lock::Held);
        assert_eq!(locks.held(&o[1], TREE, b"k"), Some(X));
        until_waiting(locks, 1);
        locks.release_all(&o[1]);
        assert_eq!(behind.join().unwrap().unwrap(), Lock::New);
    });
    locks.release_all(&o[3]);
    assert_eq!(locks.points.live(), 0);
}

#[test]
fn a_shard_of_many_locks_gives_its_memory_back() {
    let locks = LockSystem::new();
    let o = owners(2);
    for k in 0..100_000u64 {
        assert_eq!(locks.try_lock(&o[0], TREE, &key(k), X), TryLock::New);
    }
    assert_eq!(
        locks.try_lock(&o[1], TREE, &key(99_999), S),
        TryLock::Conflict
    );
    locks.release_all(&o[0]);
    assert_eq!(locks.points.live(), 0);
    assert!(locks.points.chunks() <= 128);
}

/// Transfers between keys in random order by real threads: deadlocks must all be found (nobody times out) and
/// the exclusive lock must exclude.
#[test]
fn threads_in_random_order_never_hang_nor_overlap() {
    let locks = LockSystem::new();
    let inside: Vec<_> = (0..6)
        .map(|_| std::sync::atomic::AtomicU32::new(0))
        .collect();
    let all = owners(4);
    std::thread::scope(|s| {
        for (t, owner) in all.iter().enumerate() {
            let (locks, inside) = (&locks, &inside);
            s.spawn(move || {
                let mut random = Random(t as u64 + 1);
                let relaxed = std::sync::atomic::Ordering::Relaxed;
                for _ in 0..500 {
                    let mut mine = Vec::new();
                    for _ in 0..3 {
                        let k = random.below(6) as usize;
                        let mode = if random.below(3) == 0 { S } else { X };
                        match locks.lock(owner, TREE, &key(k as u64), mode, WaitPolicy::Wait) {
                            Ok(_) if mode == X && !mine.contains(&k) => {
                                assert_eq!(inside[k].fetch_add(1, relaxed), 0);
                                mine.push(k);
                            }
                            Ok(_) => {}
                            Err(Error::Deadlock) => break,
                            Err(e) => panic!("{e}"),
                        }
                        std::thread::yield_now();
                    }
                    mine.iter().for_each(|&k| {
                        inside[k].fetch_sub(1, relaxed);
                    });
                    locks.release_all(owner);
                }
            });
        }
    });
    assert_eq!(locks.points.live(), 0);
    assert_eq!(locks.stats().row_waiting, 0);
}

/// Waits that end by themselves (timeouts of zero) while others look for deadlocks through them.
#[test]
fn waits_that_end_by_themselves_do_not_confuse_the_search() {
    let locks = LockSystem::new();
    let all = owners(4);
    std::thread::scope(|s| {
        for (t, owner) in all.iter().enumerate() {
            let locks = &locks;
            s.spawn(move || {
                owner.set_row_timeout(0);
                let mut random = Random(t as u64 + 1);
                for _ in 0..3000 {
                    for _ in 0..3 {
                        let k = key(random.below(4));
                        match locks.lock(owner, TREE, &k, X, WaitPolicy::Wait) {
                            Ok(_) | Err(Error::LockWaitTimeout) => {}
                            Err(Error::Deadlock) => break,
                            Err(e) => panic!("{e}"),
                        }
                    }
                    locks.release_all(owner);
                }
            });
        }
    });
    assert_eq!(locks.points.live(), 0);
}

/// Deadlocks are found by the edges to holders; a model looks along all edges, those to other waiters too.
#[test]
fn deadlocks_are_those_of_all_edges() {
    const OWNERS: usize = 7;
    let mut random = Random(11);
    let mut deadlocks = 0;
    for _ in 0..400 {
        let locks = LockSystem::new();
        let owners = owners(OWNERS);
        let mut waiting: Vec<Option<(PointRef, bool)>> = vec![None; OWNERS];
        for _ in 0..150 {
            let o = random.below(OWNERS as u64) as usize;
            if waiting[o].is_some() {
                continue;
            }
            let owner = &owners[o];
            if random.below(12) == 0 {
                locks.release_all(owner);
            } else {
                let mode = [S, X][random.below(2) as usize];
                let key = key(random.below(4));
                match random.below(40) {
                    // A writer that held the key implicitly is made to hold it beside others.
                    0 => {
                        if let Some(at) = locks.points.impose(owner.no(), TREE, &key) {
                            note_point(owner, at);
                        }
                    }
                    _ => match locks.points.request(owner, TREE, &key, mode, true) {
                        Request::New(at) => note_point(owner, at),
                        Request::Queued { at, upgrade } => waiting[o] = Some((at, upgrade)),
                        Request::Held | Request::Busy => {}
                    },
                }
            }
            if let Some((at, _)) = waiting[o] {
                let closes_one = reaches(&locks, &owners, &waiting, o);
                let before = locks.stats().deadlocks;
                locks
                    .graph
                    .enter(&locks, owner, Target::Point(at), Stance::Firm);
                assert_eq!(locks.stats().deadlocks > before, closes_one);
                deadlocks += u64::from(closes_one);
            }
            end_waits(&locks, &owners, &mut waiting);
        }
    }
    assert!(deadlocks > 1000, "{deadlocks}");
}

/// Whether an owner that waits can be come back to along all edges.
fn reaches(
    locks: &LockSystem,
    owners: &[Arc<Owner>],
    waiting: &[Option<(PointRef, bool)>],
    start: usize,
) -> bool {
    let mut seen = vec![false; owners.len()];
    let mut ahead = vec![start];
    while let Some(o) = ahead.pop() {
        let Some((at, _)) = waiting[o] else { continue };
        let mut edges = Vec::new();
        locks.points.blockers(at, owners[o].no(), &mut edges);
        for no in edges {
            let next = owners.iter().position(|x| x.no() == no).unwrap();
            if next == start {
                return true;
            }
            if !std::mem::replace(&mut seen[next], true) {
                ahead.push(next);
            }
        }
    }
    false
}

/// What the threads of those whose waits have ended would do: the victims lose their locks.
fn end_waits(locks: &LockSystem, owners: &[Arc<Owner>], waiting: &mut [Option<(PointRef, bool)>]) {
    while let Some(o) = (0..owners.len()).find(|&o| waiting[o].is_some() && !owners[o].is_waiting())
    {
        let (at, upgrade) = waiting[o].take().unwrap();
        let woken = owners[o].block(Duration::ZERO);
        locks.graph.leave(owners[o].no());
        let granted = woken == Woken::Granted || locks.points.cancel(at, owners[o].no());
        if granted && !upgrade {
            note_point(&owners[o], at);
        }
        if woken == Woken::Victim {
            locks.release_all(&owners[o]);
        }
    }
}

/// However many wait for a row, another is queued in a time that doesn't grow with them: it looks at the holder alone.
#[test]
fn a_long_queue_is_searched_by_its_holders() {
    const WAITERS: usize = 2000;
    let locks = LockSystem::new();
    let owners = owners(WAITERS + 1);
    let request = |owner| locks.points.request(owner, TREE, b"hot", X, true);
    assert!(matches!(request(&owners[0]), Request::New(_)));
    for owner in &owners[1..] {
        let Request::Queued { at, .. } = request(owner) else {
            panic!("it waits");
        };
        let mut edges = Vec::new();
        locks
            .points
            .edges(at, owner.no(), owner.no(), &|_| true, &mut edges);
        assert_eq!(edges, [owners[0].no()]);
        locks
            .graph
            .enter(&locks, owner, Target::Point(at), Stance::Firm);
    }
}

#[test]
fn metadata_locks_are_fair_and_free_when_held() {
    let locks = Arc::new(LockSystem::new());
    let mdl = MdlSystem::new(locks.clone());
    let o = owners(3);
    let t = mdl.get("db\0t");
    assert!(Arc::ptr_eq(&t, &mdl.get("db\0t")));
    mdl.lock(&o[0], &t, MdlMode::Shared).unwrap();
    std::thread::scope(|s| {
        let (locks, mdl, o, t) = (&locks, &mdl, &o, &t);
        let ddl = s.spawn(move || {
            mdl.lock(&o[1], t, MdlMode::Exclusive).unwrap();
            assert!(mdl.holds(&o[1], t, MdlMode::Exclusive));
            until_waiting(locks, 1);
            mdl.release_all(&o[1]);
        });
        until_waiting(locks, 1);
        let late = s.spawn(move || mdl.lock(&o[2], t, MdlMode::Shared).unwrap());
        until_waiting(locks, 2);
        // The holder passes the queue.
        mdl.lock(&o[0], t, MdlMode::Shared).unwrap();
        mdl.release_all(&o[0]);
        ddl.join().unwrap();
        late.join().unwrap();
        assert!(mdl.holds(&o[2], t, MdlMode::Shared));
    });
    mdl.unlock(&o[2], &t);
    o[0].set_metadata_timeout(0);
    mdl.lock(&o[1], &t, MdlMode::Exclusive).unwrap();
    let late = mdl.lock(&o[0], &t, MdlMode::Shared);
    assert!(matches!(late, Err(Error::LockWaitTimeout)));
    mdl.release_all(&o[1]);
    mdl.lock(&o[0], &t, MdlMode::Shared).unwrap();
    mdl.lock(&o[0], &t, MdlMode::Exclusive).unwrap();
    o[1].set_metadata_timeout(0);
    let late = mdl.lock(&o[1], &t, MdlMode::Shared);
    assert!(matches!(late, Err(Error::LockWaitTimeout)));
}

/// Random shared, exclusive and strengthened locks on a few names: exclusion holds, every deadlock is found, nothing is
/// left behind.
#[test]
fn threads_on_metadata_never_hang_nor_overlap() {
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
    const WRITER: u32 = 1 << 16;
    const READ_ONLY: u32 = 1 << 8;
    const WRITES: u32 = 1 << 4;
    let locks = Arc::new(LockSystem::new());
    let mdl = MdlSystem::new(locks.clone());
    let names: Vec<_> = (0..3).map(|i| mdl.get(&format!("db\0t{i}"))).collect();
    let inside: Vec<_> = (0..3).map(|_| AtomicU32::new(0)).collect();
    let all = owners(4);
    std::thread::scope(|s| {
        for (t, owner) in all.iter().enumerate() {
            let (mdl, names, inside) = (&mdl, &names, &inside);
            s.spawn(move || {
                let mut random = Random(t as u64 + 40);
                for _ in 0..400 {
                    let mut mine = [0u32; 3];
                    for _ in 0..3 {
                        let i = random.below(3) as usize;
                        // Write and read-only locks shut each other out, as exclusive ones shut out all.
                        let (mode, mark) = match random.below(5) {
                            0 => (MdlMode::Exclusive, WRITER),
                            1 if mine[i] != READ_ONLY => (MdlMode::Write, WRITES),
                            2 if mine[i] != WRITES => (MdlMode::ReadOnly, READ_ONLY),
                            _ => (MdlMode::Shared, 1),
                        };
                        match mdl.lock(owner, &names[i], mode) {
                            Ok(()) if mark > mine[i] => {
                                let add = mark - mine[i];
                                let now = inside[i].fetch_add(add, SeqCst) + add;
                                assert!(now <= WRITER, "{now:x}");
                                let both = now % READ_ONLY >= WRITES && now % WRITER >= READ_ONLY;
                                assert!(!both, "{now:x}");
                                mine[i] = mark;
                            }
                            Ok(()) => {}
                            Err(Error::Deadlock) => break,
                            Err(e) => panic!("{e}"),
                        }
                        std::thread::yield_now();
                    }
                    for (i, mark) in mine.iter().enumerate() {
                        inside[i].fetch_sub(*mark, SeqCst);
                    }
                    mdl.release_all(owner);
                }
            });
        }
    });
    assert_eq!(locks.stats().metadata_waiting, 0);
    for name in &names {
        mdl.lock(&all[0], name, MdlMode::Exclusive).unwrap();
    }
}

#[test]
fn deadlocks_span_rows_and_metadata() {
    let locks = Arc::new(LockSystem::new());
    let mdl = MdlSystem::new(locks.clone());
    let o = owners(2);
    let t = mdl.get("db\0t");
    mdl.lock(&o[0], &t, MdlMode::Shared).unwrap();
    locks.try_lock(&o[1], TREE, b"k", X);
    std::thread::scope(|s| {
        let (locks, mdl, o, t) = (&locks, &mdl, &o, &t);
        let ddl = s.spawn(move || {
            let got = mdl.lock(&o[1], t, MdlMode::Exclusive);
            locks.release_all(&o[1]);
            got
        });
        until_waiting(locks, 1);
        let row = locks.lock(&o[0], TREE, b"k", X, WaitPolicy::Wait);
        mdl.release_all(&o[0]);
        let ddl = ddl.join().unwrap();
        // The owner of the row lock weighs more; the requester falls.
        assert!(matches!(row, Err(Error::Deadlock)), "{row:?} {ddl:?}");
        ddl.unwrap();
    });
    assert!(
        locks
            .last_deadlock()
            .unwrap()
            .contains("metadata lock, db.t")
    );
}

#[test]
fn forgotten_names_leave_the_map() {
    let mdl = MdlSystem::new(Arc::new(LockSystem::new()));
    let o = owners(1);
    for i in 0..100 {
        let t = mdl.get(&format!("db\0t{i}"));
        mdl.lock(&o[0], &t, MdlMode::Shared).unwrap();
        mdl.release_all(&o[0]);
    }
    assert!(mdl.names() <= 8);
}

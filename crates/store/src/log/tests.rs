use super::*;
use crate::io::SimStorage;
use crate::io::sim::{OpKind, Step};

const CAPACITY: u64 = MIN_CAPACITY;

fn groups(log: &Log, from: Lsn) -> Vec<(Lsn, Vec<u8>)> {
    let mut found = Vec::new();
    log.scan(from, &mut |start, end, payload| {
        assert_eq!(end, start + (GROUP_HEADER + payload.len()) as u64);
        found.push((start, payload.to_vec()));
        Ok(())
    })
    .unwrap();
    found
}

fn reopen(disk: &SimStorage) -> (Log, Vec<(Lsn, Vec<u8>)>) {
    let (log, recovery) = Log::open(disk, FlushAtCommit::Sync).unwrap();
    let found = groups(&log, recovery.checkpoint);
    (log, found)
}

#[test]
fn synced_groups_come_back_and_the_log_goes_on() {
    let disk = SimStorage::new();
    let log = Log::create(&disk, CAPACITY, FlushAtCommit::Sync).unwrap();
    log.append(b"one", |_, _| ());
    let (end, ()) = log.append(b"two", |_, _| ());
    log.sync_to(end).unwrap();
    log.append(b"never synced", |_, _| ());
    disk.restart(|| false);
    let (log, found) = reopen(&disk);
    let payloads: Vec<_> = found.into_iter().map(|g| g.1).collect();
    assert_eq!(payloads, [b"one".to_vec(), b"two".to_vec()]);
    let sectors = end.next_multiple_of(SECTOR as u64);
    assert_eq!(log.end_lsn(), sectors, "a round fills up its last sector");
    let (end, ()) = log.append(b"three", |_, _| ());
    log.commit_wait(end).unwrap();
    disk.restart(|| false);
    assert_eq!(reopen(&disk).1.len(), 3);
}

/// What is whole behind the end is seen, until an opening has begun a new epoch.
#[test]
fn a_gap_is_noticed() {
    let disk = SimStorage::new();
    let log = Log::create(&disk, CAPACITY, FlushAtCommit::Sync).unwrap();
    let starts: Vec<Lsn> = (0..4)
        .map(|i| {
            let start = log.end_lsn().next_multiple_of(SECTOR as u64);
            let (end, ()) = log.append(&[i; 2000], |_, _| ());
            log.sync_to(end).unwrap();
            start
        })
        .collect();
    disk.kill();
    let look = || {
        let (log, found) = Log::open(&disk, FlushAtCommit::Sync).unwrap();
        let end = log.walk(found.checkpoint, &mut |_, _, _| Ok(())).unwrap();
        (end, log.resumes_after(end).unwrap())
    };
    assert_eq!(look().1, None);
    disk.corrupt("redo", 8192 + starts[1] + 1000, &[9; 10]);
    assert_eq!(look(), (starts[1], Some(starts[2])));
    let (log, found) = reopen(&disk);
    assert_eq!(found.len(), 1);
    let (end, ()) = log.append(b"new", |_, _| ());
    log.sync_to(end).unwrap();
    assert_eq!(look().1, None);
}

/// The group after a lost one survives the first cut; a new group of the lost one's exact length must
/// not make it valid again.
#[test]
fn a_group_from_before_a_cut_is_never_revived() {
    let disk = SimStorage::new();
    let log = Log::create(&disk, CAPACITY, FlushAtCommit::Sync).unwrap();
    let pad = vec![1; 512 - GROUP_HEADER];
    // Aligned groups of one sector each, the first at a sector boundary of the ring.
    assert_eq!(FIRST_LSN % 512, 0);
    log.append(&pad, |_, _| ());
    log.append(&pad, |_, _| ());
    log.relieve().unwrap();
    log.flush_to(log.end_lsn(), false).unwrap();
    let mut coins = [false, true].into_iter();
    disk.restart(|| coins.next().unwrap_or(true));
    let (log, found) = reopen(&disk);
    assert!(
        found.is_empty(),
        "the first group was lost, so the second does not count"
    );
    let (end, ()) = log.append(&pad, |_, _| ());
    log.sync_to(end).unwrap();
    disk.restart(|| false);
    let (log, found) = reopen(&disk);
    assert_eq!(found.len(), 1);
    // The checkpoint moves to the very byte at which the left-over group begins.
    assert_eq!(log.end_lsn(), FIRST_LSN + 512);
    log.write_checkpoint(log.end_lsn(), &[]).unwrap();
    disk.restart(|| false);
    let (_, found) = reopen(&disk);
    assert!(found.is_empty(), "it was lost with what came before it");
}

#[test]
fn the_ring_wraps_behind_checkpoints() {
    let disk = SimStorage::new();
    let log = Log::create(&disk, CAPACITY, FlushAtCommit::Sync).unwrap();
    let mut last = Vec::new();
    for i in 0..400u32 {
        let payload = vec![i as u8; 1 + (i as usize * 97) % 20_000];
        if log.room() < 64 << 10 {
            log.write_checkpoint(log.end_lsn(), &i.to_le_bytes())
                .unwrap();
            last.clear();
        }
        let (end, start) = log.append(&payload, |start, _| start);
        log.sync_to(end).unwrap();
        last.push((start, payload));
    }
    assert!(log.end_lsn() > 3 * CAPACITY);
    disk.restart(|| false);
    let (_, found) = reopen(&disk);
    assert_eq!(found, last);
}

#[test]
fn a_torn_checkpoint_leaves_the_one_before() {
    let disk = SimStorage::new();
    let log = Log::create(&disk, CAPACITY, FlushAtCommit::Sync).unwrap();
    let (end, ()) = log.append(b"x", |_, _| ());
    log.write_checkpoint(end, b"body").unwrap();
    drop(log);
    disk.corrupt("redo", 10, b"????");
    let (_, recovery) = Log::open(&disk, FlushAtCommit::Sync).unwrap();
    assert_eq!(
        (recovery.checkpoint, recovery.body),
        (end, b"body".to_vec())
    );
    disk.corrupt("redo", 4096 + 10, b"????");
    let e = Log::open(&disk, FlushAtCommit::Sync).err().unwrap();
    assert!(matches!(e, Error::Corrupt(_)), "{e}");
}

#[test]
fn a_failed_sync_stops_every_later_commit() {
    let disk = SimStorage::new();
    let log = Log::create(&disk, CAPACITY, FlushAtCommit::Sync).unwrap();
    let (end, ()) = log.append(b"fine", |_, _| ());
    log.sync_to(end).unwrap();
    disk.on_step(|kind, _| {
        if kind == OpKind::Sync {
            Step::Fail
        } else {
            Step::Go
        }
    });
    let (end, ()) = log.append(b"lost", |_, _| ());
    assert!(matches!(log.sync_to(end), Err(Error::Io { .. })));
    disk.clear_hook();
    let (end, ()) = log.append(b"later", |_, _| ());
    assert!(matches!(log.sync_to(end), Err(Error::Stopped(_))));
    assert!(matches!(log.commit_wait(end), Err(Error::Stopped(_))));
    assert!(log.stopped().unwrap().contains("redo"));
}

#[test]
fn committers_share_rounds_and_none_is_forgotten() {
    let disk = SimStorage::new();
    let log = Arc::new(Log::create(&disk, 8 << 20, FlushAtCommit::Sync).unwrap());
    let threads: Vec<_> = (0..8u8)
        .map(|t| {
            let log = log.clone();
            std::thread::spawn(move || {
                for i in 0..500u32 {
                    let mut payload = vec![t];
                    payload.extend_from_slice(&i.to_le_bytes());
                    let (end, ()) = log.append(&payload, |_, _| ());
                    if i % 5 == 0 {
                        log.flush_to(end, false).unwrap();
                    } else {
                        log.sync_to(end).unwrap();
                        assert!(log.durable_lsn() >= end);
                    }
                }
            })
        })
        .collect();
    for t in threads {
        t.join().unwrap();
    }
    log.tick().unwrap();
    disk.restart(|| false);
    assert_eq!(reopen(&disk).1.len(), 8 * 500);
}

/// Several rounds are under way when the power is cut, at each step in turn: what was acknowledged is there, and what
/// is there is a prefix of what was appended. The log is so small that it is short of room at times, when rounds
/// share sectors.
#[test]
fn a_cut_amid_overlapping_rounds_loses_nothing_acknowledged() {
    for seed in 0..60u64 {
        let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = move || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random
        };
        let disk = SimStorage::new();
        let log = Log::create(&disk, CAPACITY, FlushAtCommit::Sync).unwrap();
        let appended = Mutex::new(Vec::new());
        let acknowledged = Mutex::new(Vec::new());
        let mut steps = 20 + next() % 2000;
        disk.on_step(move |_, _| {
            steps -= 1;
            if steps == 0 { Step::Cut } else { Step::Go }
        });
        let sizes: Vec<u64> = (0..4).map(|_| 1 + next() % 6000).collect();
        std::thread::scope(|s| {
            for (t, size) in sizes.iter().enumerate() {
                let (log, appended, acknowledged) = (&log, &appended, &acknowledged);
                s.spawn(move || {
                    for i in 0u64.. {
                        if log.room() < 128 << 10 {
                            let durable = log.durable_lsn();
                            if log.write_checkpoint(durable, &[]).is_err() {
                                return;
                            }
                        }
                        let mut payload = vec![t as u8; 1 + (i * 37 % size) as usize];
                        payload.extend_from_slice(&i.to_le_bytes());
                        let keep = payload.clone();
                        let (end, start) = log.append(&payload, |start, _| {
                            appended.lock().push((start, keep));
                            start
                        });
                        if log.sync_to(end).is_err() {
                            return;
                        }
                        acknowledged.lock().push(start);
                    }
                });
            }
        });
        disk.restart(|| next() % 2 == 0);
        let (log, recovery) = Log::open(&disk, FlushAtCommit::Sync).unwrap();
        let found = groups(&log, recovery.checkpoint);
        let mut appended = appended.into_inner();
        appended.retain(|g| g.0 >= recovery.checkpoint);
        assert_eq!(found, appended[..found.len()], "seed {seed}: a prefix");
        let end = found.last().map_or(0, |g| g.0);
        for start in acknowledged.into_inner() {
            assert!(
                start < recovery.checkpoint || start <= end,
                "seed {seed}: the group at {start} was acknowledged and is lost"
            );
        }
    }
}

/// Counts how often it is told, and remembers what.
struct Told {
    lsn: Lsn,
    log: Arc<Log>,
    times: AtomicU64,
    failed: AtomicBool,
    all: Arc<(Mutex<usize>, Condvar)>,
}

impl OnDurable for Told {
    fn done(self: Arc<Self>, outcome: Result<()>) {
        match outcome {
            Ok(()) => assert!(self.log.durable_lsn() >= self.lsn),
            Err(_) => self.failed.store(true, Ordering::Relaxed),
        }
        self.times.fetch_add(1, Ordering::Relaxed);
        *self.all.0.lock() += 1;
        self.all.1.notify_all();
    }
}

fn with_service<R>(log: &Arc<Log>, work: impl FnOnce() -> R) -> R {
    log.expect_service();
    std::thread::scope(|s| {
        s.spawn(|| log.serve());
        let r = work();
        log.end_service();
        r
    })
}

fn leave(log: &Arc<Log>, lsn: Lsn, all: &Arc<(Mutex<usize>, Condvar)>) -> Arc<Told> {
    let told = Arc::new(Told {
        lsn,
        log: log.clone(),
        times: AtomicU64::new(0),
        failed: AtomicBool::new(false),
        all: all.clone(),
    });
    log.when_durable(lsn, told.clone());
    told
}

fn wait_for(n: usize, all: &(Mutex<usize>, Condvar)) {
    let mut done = all.0.lock();
    while *done < n {
        all.1.wait(&mut done);
    }
}

#[test]
fn callers_are_told_once_when_their_bytes_are_durable() {
    const THREADS: usize = 4;
    const EACH: usize = 500;
    let disk = SimStorage::new();
    let log = Arc::new(Log::create(&disk, 8 << 20, FlushAtCommit::Sync).unwrap());
    let all = Arc::new((Mutex::new(0), Condvar::new()));
    let told: Vec<Arc<Told>> = with_service(&log, || {
        let told = std::thread::scope(|s| {
            let threads: Vec<_> = (0..THREADS)
                .map(|t| {
                    let (log, all) = (&log, &all);
                    s.spawn(move || {
                        let mut told = Vec::new();
                        for i in 0..EACH {
                            let (end, ()) = log.append(&[t as u8; 20], |_, _| ());
                            if i % 7 == t {
                                // Some wait themselves, beside those who don't.
                                log.sync_to(end).unwrap();
                            }
                            told.push(leave(log, end, all));
                        }
                        told
                    })
                })
                .collect();
            threads
                .into_iter()
                .flat_map(|t| t.join().unwrap())
                .collect()
        });
        wait_for(THREADS * EACH, &all);
        told
    });
    for t in told {
        assert_eq!(t.times.load(Ordering::Relaxed), 1);
        assert!(!t.failed.load(Ordering::Relaxed));
    }
}

#[test]
fn callers_are_told_of_a_failure() {
    let disk = SimStorage::new();
    let log = Arc::new(Log::create(&disk, CAPACITY, FlushAtCommit::Sync).unwrap());
    let all = Arc::new((Mutex::new(0), Condvar::new()));
    disk.on_step(|kind, _| {
        if kind == OpKind::Sync {
            Step::Fail
        } else {
            Step::Go
        }
    });
    with_service(&log, || {
        let told: Vec<_> = (0..3)
            .map(|_| {
                let (end, ()) = log.append(b"lost", |_, _| ());
                leave(&log, end, &all)
            })
            .collect();
        wait_for(told.len(), &all);
        for t in told {
            assert!(t.failed.load(Ordering::Relaxed));
        }
    });
}

/// Who is told may panic, and so may a round: nobody waits for ever.
#[test]
fn a_panic_leaves_nobody_waiting() {
    struct Panics;
    impl OnDurable for Panics {
        fn done(self: Arc<Self>, _: Result<()>) {
            panic!("told");
        }
    }
    let disk = SimStorage::new();
    let log = Arc::new(Log::create(&disk, CAPACITY, FlushAtCommit::Sync).unwrap());
    let all = Arc::new((Mutex::new(0), Condvar::new()));
    let (end, ()) = log.append(b"one", |_, _| ());
    log.when_durable(end, Arc::new(Panics));
    assert!(log.durable_lsn() >= end);
    // Who cleans up after a panic may need a round.
    struct Cleans<'l>(&'l Log, Lsn);
    impl Drop for Cleans<'_> {
        fn drop(&mut self) {
            self.0.sync_to(self.1).unwrap();
        }
    }
    let (end, ()) = log.append(b"cleaning up", |_, _| ());
    let session = std::thread::scope(|s| {
        let cleans = Cleans(&log, end);
        s.spawn(move || {
            let _cleans = cleans;
            panic!("a statement");
        })
        .join()
    });
    assert!(session.is_err() && log.stopped().is_none());
    // A round that panics while others wait for it, and for the next.
    let step = std::sync::Barrier::new(2);
    let step = Arc::new(step);
    let in_hook = step.clone();
    let first = AtomicBool::new(true);
    disk.on_step(move |_, _| {
        if first.swap(false, Ordering::Relaxed) {
            in_hook.wait();
            in_hook.wait();
            panic!("a write");
        }
        Step::Go
    });
    let (end, ()) = log.append(b"two", |_, _| ());
    let told = std::thread::scope(|s| {
        let round = s.spawn(|| log.sync_to(end));
        step.wait();
        let told = leave(&log, end, &all);
        step.wait();
        assert!(round.join().is_err(), "the panic is its thread's");
        told
    });
    wait_for(1, &all);
    assert!(told.failed.load(Ordering::Relaxed));
    assert!(matches!(log.sync_to(end), Err(Error::Stopped(_))));
}

/// Who syncs while it holds locks tells no callers: the log's thread does.
#[test]
fn callers_are_told_by_nobody_who_holds_locks() {
    thread_local! {
        static HOLDS: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
    }
    struct Asks {
        told: Arc<AtomicU64>,
        wrong: Arc<AtomicU64>,
    }
    impl OnDurable for Asks {
        fn done(self: Arc<Self>, _: Result<()>) {
            self.wrong
                .fetch_add(u64::from(HOLDS.get()), Ordering::Relaxed);
            self.told.fetch_add(1, Ordering::Relaxed);
        }
    }
    const EACH: u64 = 3000;
    let disk = SimStorage::new();
    let log = Arc::new(Log::create(&disk, 8 << 20, FlushAtCommit::Sync).unwrap());
    let (told, wrong) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
    with_service(&log, || {
        std::thread::scope(|s| {
            for holds in [true, true, false, false] {
                let (log, told, wrong) = (&log, &told, &wrong);
                s.spawn(move || {
                    HOLDS.set(holds);
                    for _ in 0..EACH {
                        let (end, ()) = log.append(&[1; 20], |_, _| ());
                        if holds {
                            log.sync_to(end).unwrap();
                        } else {
                            let (told, wrong) = (told.clone(), wrong.clone());
                            log.when_durable(end, Arc::new(Asks { told, wrong }));
                        }
                    }
                });
            }
        });
        while told.load(Ordering::Relaxed) < 2 * EACH {
            std::thread::yield_now();
        }
    });
    assert_eq!(wrong.load(Ordering::Relaxed), 0);
}

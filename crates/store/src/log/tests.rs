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
    assert_eq!(log.end_lsn(), end);
    let (end, ()) = log.append(b"three", |_, _| ());
    log.commit_wait(end).unwrap();
    disk.restart(|| false);
    assert_eq!(reopen(&disk).1.len(), 3);
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
    assert_eq!(reopen(&disk).1.len(), 1);
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

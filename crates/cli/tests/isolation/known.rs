//! The checker tells what is forbidden from what isn't: histories written by hand.

use crate::check::{Summary, check};
use crate::history::{Element, History, Key, Level, Op, Outcome, Seen, Txn};

/// Makes transactions one after another in time: (operations, outcome).
fn history(
    level: Level,
    txns: &[(&[Op], Outcome)],
    lists: &[(Key, &[Element])],
) -> Result<Summary, String> {
    let txns = txns.iter().map(|(ops, outcome)| Txn {
        ops: ops.to_vec(),
        outcome: *outcome,
        // All at a time, unless a test says otherwise.
        commit: (0, 100),
        snapshot: Some((0, 100)),
    });
    check(&History {
        level,
        txns: txns.collect(),
        lists: lists.iter().map(|(k, l)| (*k, l.to_vec())).collect(),
    })
}

fn read(key: Key, list: &[Element]) -> Op {
    reads(&[(key, list)])
}

fn reads(lists: &[(Key, &[Element])]) -> Op {
    Op::Read {
        locking: false,
        lists: lists
            .iter()
            .map(|(k, l)| (*k, Seen::List(l.to_vec())))
            .collect(),
        interval: (0, 100),
    }
}

fn locking(key: Key, list: &[Element]) -> Op {
    let mut op = read(key, list);
    if let Op::Read { locking, .. } = &mut op {
        *locking = true;
    }
    op
}

fn append(key: Key, element: Element) -> Op {
    Op::Append(key, element)
}

use Level::*;
use Outcome::*;

#[track_caller]
fn finds(what: &str, level: Level, txns: &[(&[Op], Outcome)], lists: &[(Key, &[Element])]) {
    match history(level, txns, lists) {
        Ok(s) => panic!("{what} isn't found at {}: {s:?}", level.sql()),
        Err(e) => assert!(e.starts_with(what), "{what} is called: {e}"),
    }
}

#[track_caller]
fn allows(level: Level, txns: &[(&[Op], Outcome)], lists: &[(Key, &[Element])]) -> Summary {
    history(level, txns, lists).unwrap_or_else(|e| panic!("{}: {e}", level.sql()))
}

#[test]
fn dirty_writes_are_found_at_every_level() {
    for level in Level::ALL {
        let (a, b): (&[Op], &[Op]) = (&[append(1, 1), append(2, 2)], &[append(1, 3), append(2, 4)]);
        finds(
            "G0",
            level,
            &[(a, Committed), (b, Committed)],
            &[(1, &[1, 3]), (2, &[4, 2])],
        );
        let inside: &[Op] = &[append(1, 1), append(1, 2)];
        finds(
            "G0",
            level,
            &[(inside, Committed), (&[append(1, 3)], Committed)],
            &[(1, &[1, 3, 2])],
        );
    }
}

#[test]
fn what_was_acknowledged_is_there_and_what_was_rolled_back_is_not() {
    for level in Level::ALL {
        let one: &[Op] = &[append(1, 1)];
        finds("lost", level, &[(one, Committed)], &[]);
        finds("list 1 has 1 of", level, &[(one, Aborted)], &[(1, &[1])]);
        finds("list 1 has 9", level, &[], &[(1, &[9])]);
        finds(
            "list 1 has 1 twice",
            level,
            &[(one, Committed)],
            &[(1, &[1, 1])],
        );
        let both: &[Op] = &[append(1, 1), append(2, 2)];
        finds("lost", level, &[(both, Unknown)], &[(1, &[1])]);
        allows(level, &[(both, Unknown)], &[]);
        assert_eq!(
            allows(level, &[(both, Unknown)], &[(1, &[1]), (2, &[2])]).unknown,
            (1, 1)
        );
        let undone: &[Op] = &[
            append(1, 1),
            Op::Savepoint,
            append(1, 2),
            Op::RollbackToSavepoint,
            read(1, &[1]),
        ];
        allows(level, &[(undone, Committed)], &[(1, &[1])]);
        finds(
            "list 1 has 2 of",
            level,
            &[(undone, Committed)],
            &[(1, &[1, 2])],
        );
    }
}

#[test]
fn dirty_reads_are_found_from_read_committed_on() {
    let writer: &[Op] = &[append(1, 1)];
    let twice: &[Op] = &[append(1, 1), append(1, 2)];
    let reader: &[Op] = &[read(1, &[1])];
    let aborted = [(writer, Aborted), (reader, Committed)];
    let half = [(twice, Committed), (reader, Committed)];
    allows(ReadUncommitted, &aborted, &[]);
    allows(ReadUncommitted, &half, &[(1, &[1, 2])]);
    for level in [ReadCommitted, RepeatableRead, Serializable] {
        finds("G1a", level, &aborted, &[]);
        finds("G1b", level, &half, &[(1, &[1, 2])]);
    }
}

#[test]
fn a_read_sees_a_list_as_it_once_was_and_what_its_transaction_wrote() {
    let writers: [(&[Op], Outcome); 2] =
        [(&[append(1, 1)], Committed), (&[append(1, 2)], Committed)];
    let with = |ops: &'static [Op]| [writers[0], writers[1], (ops, Committed)];
    let other = vec![read(1, &[2])].leak();
    let blind = vec![append(1, 3), read(1, &[1, 2])].leak();
    let seeing = vec![append(1, 3), read(1, &[1, 2, 3])].leak();
    for level in [ReadCommitted, RepeatableRead, Serializable] {
        finds("not a prefix", level, &with(other), &[(1, &[1, 2])]);
        finds("its own writes", level, &with(blind), &[(1, &[1, 2, 3])]);
        allows(level, &with(seeing), &[(1, &[1, 2, 3])]);
    }
    let locked = vec![locking(1, &[2])].leak();
    finds(
        "not a prefix",
        ReadUncommitted,
        &with(locked),
        &[(1, &[1, 2])],
    );
}

#[test]
fn a_statement_sees_one_moment_from_read_committed_on_and_a_transaction_from_repeatable_read_on() {
    let writer: &[Op] = &[append(1, 1), append(2, 2)];
    let lists: &[(Key, &[Element])] = &[(1, &[1]), (2, &[2])];
    let statement: &[Op] = &[reads(&[(1, &[1]), (2, &[])])];
    let statements: &[Op] = &[read(1, &[]), read(2, &[2])];
    allows(
        ReadUncommitted,
        &[(writer, Committed), (statement, Committed)],
        lists,
    );
    for level in [ReadCommitted, RepeatableRead, Serializable] {
        finds(
            "G-single",
            level,
            &[(writer, Committed), (statement, Committed)],
            lists,
        );
    }
    let summary = allows(
        ReadCommitted,
        &[(writer, Committed), (statements, Committed)],
        lists,
    );
    assert_eq!(summary.allowed, 2, "no serial order has both");
    for level in [RepeatableRead, Serializable] {
        finds(
            "G-single",
            level,
            &[(writer, Committed), (statements, Committed)],
            lists,
        );
    }
}

#[test]
fn lost_updates_and_write_skew_are_found_at_serializable() {
    let (a, b): (&[Op], &[Op]) = (&[read(1, &[]), append(1, 1)], &[read(1, &[]), append(1, 2)]);
    let lost = [(a, Committed), (b, Committed)];
    let (c, d): (&[Op], &[Op]) = (&[read(1, &[]), append(2, 2)], &[read(2, &[]), append(1, 1)]);
    let skew = [(c, Committed), (d, Committed)];
    for level in [ReadUncommitted, ReadCommitted, RepeatableRead] {
        allows(level, &lost, &[(1, &[1, 2])]);
        allows(level, &skew, &[(1, &[1]), (2, &[2])]);
    }
    finds("G-single", Serializable, &lost, &[(1, &[1, 2])]);
    finds("G2-item", Serializable, &skew, &[(1, &[1]), (2, &[2])]);
}

#[test]
fn locking_reads_hold_until_the_commit() {
    // Both say that they read list 1 before the other wrote to it, and kept it locked.
    let (a, b): (&[Op], &[Op]) = (
        &[locking(1, &[9]), append(1, 1)],
        &[locking(1, &[9]), append(1, 2)],
    );
    let first: &[Op] = &[append(1, 9)];
    let txns = [(first, Committed), (a, Committed), (b, Committed)];
    for level in Level::ALL {
        finds("G-single", level, &txns, &[(1, &[9, 1, 2])]);
    }
}

#[test]
fn what_was_acknowledged_is_seen_by_who_asks_then() {
    let mut writer = Txn::new();
    (writer.ops, writer.outcome, writer.commit) = (vec![append(1, 1)], Committed, (0, 10));
    let mut reader = Txn::new();
    let interval = (11, 12);
    (reader.outcome, reader.commit, reader.snapshot) = (Committed, interval, Some(interval));
    let late = |seen: &[Element], interval| Op::Read {
        locking: false,
        lists: vec![(1, Seen::List(seen.to_vec()))],
        interval,
    };
    for level in [ReadCommitted, RepeatableRead, Serializable] {
        let with = |op: Op| {
            let mut reader = reader.clone();
            reader.ops = vec![op];
            let txns = vec![writer.clone(), reader];
            check(&History {
                level,
                txns,
                lists: [(1, vec![1])].into(),
            })
        };
        let e = with(late(&[], interval)).expect_err("a stale read");
        assert!(e.starts_with("G-single-realtime"), "{e}");
        with(late(&[1], interval)).unwrap();
    }
}

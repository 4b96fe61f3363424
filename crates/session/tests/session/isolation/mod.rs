//! The Hermitage cases for MySQL (Martin Kleppmann, github.com/ept/hermitage, `mysql.md`) on all four
//! isolation levels: each anomaly happens or is prevented exactly as documented for InnoDB.
//!
//! A case is a script of steps `session: statement -> expectation`. `blocks` means that the statement must wait
//! for a lock: the script goes on once the engine reports the waiter, so nothing depends on time.

mod script;

use script::run;

const RU: &str = "READ UNCOMMITTED";
const RC: &str = "READ COMMITTED";
const RR: &str = "REPEATABLE READ";
const SER: &str = "SERIALIZABLE";

/// G0, dirty write: prevented everywhere.
#[test]
fn g0_dirty_write() {
    for level in [RU, RC, RR, SER] {
        run(
            level,
            "
            T1: UPDATE test SET value = 11 WHERE id = 1 -> ok
            T2: UPDATE test SET value = 12 WHERE id = 1 -> blocks
            T1: UPDATE test SET value = 21 WHERE id = 2 -> ok
            T1: COMMIT -> ok
            T2: -> ok
            T2: UPDATE test SET value = 22 WHERE id = 2 -> ok
            T2: COMMIT -> ok
            T1: SELECT * FROM test -> 1,12 2,22
            ",
        );
    }
}

/// G1a, aborted read.
#[test]
fn g1a_aborted_read() {
    run(
        RU,
        "
        T1: UPDATE test SET value = 101 WHERE id = 1 -> ok
        T2: SELECT * FROM test -> 1,101 2,20
        T1: ROLLBACK -> ok
        T2: SELECT * FROM test -> 1,10 2,20
        T2: COMMIT -> ok
        ",
    );
    for level in [RC, RR] {
        run(
            level,
            "
            T1: UPDATE test SET value = 101 WHERE id = 1 -> ok
            T2: SELECT * FROM test -> 1,10 2,20
            T1: ROLLBACK -> ok
            T2: SELECT * FROM test -> 1,10 2,20
            T2: COMMIT -> ok
            ",
        );
    }
    run(
        SER,
        "
        T1: UPDATE test SET value = 101 WHERE id = 1 -> ok
        T2: SELECT * FROM test -> blocks
        T1: ROLLBACK -> ok
        T2: -> 1,10 2,20
        T2: COMMIT -> ok
        ",
    );
}

/// G1b, intermediate read.
#[test]
fn g1b_intermediate_read() {
    run(
        RU,
        "
        T1: UPDATE test SET value = 101 WHERE id = 1 -> ok
        T2: SELECT * FROM test -> 1,101 2,20
        T1: UPDATE test SET value = 11 WHERE id = 1 -> ok
        T1: COMMIT -> ok
        T2: SELECT * FROM test -> 1,11 2,20
        T2: COMMIT -> ok
        ",
    );
    run(
        RC,
        "
        T1: UPDATE test SET value = 101 WHERE id = 1 -> ok
        T2: SELECT * FROM test -> 1,10 2,20
        T1: UPDATE test SET value = 11 WHERE id = 1 -> ok
        T1: COMMIT -> ok
        T2: SELECT * FROM test -> 1,11 2,20
        T2: COMMIT -> ok
        ",
    );
    run(
        RR,
        "
        T1: UPDATE test SET value = 101 WHERE id = 1 -> ok
        T2: SELECT * FROM test -> 1,10 2,20
        T1: UPDATE test SET value = 11 WHERE id = 1 -> ok
        T1: COMMIT -> ok
        T2: SELECT * FROM test -> 1,10 2,20
        T2: COMMIT -> ok
        ",
    );
}

/// G1c, circular information flow.
#[test]
fn g1c_circular_information_flow() {
    run(
        RU,
        "
        T1: UPDATE test SET value = 11 WHERE id = 1 -> ok
        T2: UPDATE test SET value = 22 WHERE id = 2 -> ok
        T1: SELECT * FROM test WHERE id = 2 -> 2,22
        T2: SELECT * FROM test WHERE id = 1 -> 1,11
        T1: COMMIT -> ok
        T2: COMMIT -> ok
        ",
    );
    for level in [RC, RR] {
        run(
            level,
            "
            T1: UPDATE test SET value = 11 WHERE id = 1 -> ok
            T2: UPDATE test SET value = 22 WHERE id = 2 -> ok
            T1: SELECT * FROM test WHERE id = 2 -> 2,20
            T2: SELECT * FROM test WHERE id = 1 -> 1,10
            T1: COMMIT -> ok
            T2: COMMIT -> ok
            ",
        );
    }
    run(
        SER,
        "
        T1: UPDATE test SET value = 11 WHERE id = 1 -> ok
        T2: UPDATE test SET value = 22 WHERE id = 2 -> ok
        T1: SELECT * FROM test WHERE id = 2 -> blocks
        T2: SELECT * FROM test WHERE id = 1 -> deadlock
        T1: -> 2,20
        T1: COMMIT -> ok
        ",
    );
}

/// OTV, observed transaction vanishes.
#[test]
fn otv_observed_transaction_vanishes() {
    run(
        RU,
        "
        T1: UPDATE test SET value = 11 WHERE id = 1 -> ok
        T1: UPDATE test SET value = 19 WHERE id = 2 -> ok
        T2: UPDATE test SET value = 12 WHERE id = 1 -> blocks
        T1: COMMIT -> ok
        T2: -> ok
        T3: SELECT * FROM test -> 1,12 2,19
        T2: UPDATE test SET value = 18 WHERE id = 2 -> ok
        T3: SELECT * FROM test -> 1,12 2,18
        T2: COMMIT -> ok
        T3: COMMIT -> ok
        ",
    );
    run(
        RC,
        "
        T1: UPDATE test SET value = 11 WHERE id = 1 -> ok
        T1: UPDATE test SET value = 19 WHERE id = 2 -> ok
        T2: UPDATE test SET value = 12 WHERE id = 1 -> blocks
        T1: COMMIT -> ok
        T2: -> ok
        T3: SELECT * FROM test -> 1,11 2,19
        T2: UPDATE test SET value = 18 WHERE id = 2 -> ok
        T3: SELECT * FROM test -> 1,11 2,19
        T2: COMMIT -> ok
        T3: SELECT * FROM test -> 1,12 2,18
        T3: COMMIT -> ok
        ",
    );
    run(
        RR,
        "
        T1: UPDATE test SET value = 11 WHERE id = 1 -> ok
        T1: UPDATE test SET value = 19 WHERE id = 2 -> ok
        T2: UPDATE test SET value = 12 WHERE id = 1 -> blocks
        T1: COMMIT -> ok
        T2: -> ok
        T3: SELECT * FROM test -> 1,11 2,19
        T2: UPDATE test SET value = 18 WHERE id = 2 -> ok
        T3: SELECT * FROM test -> 1,11 2,19
        T2: COMMIT -> ok
        T3: SELECT * FROM test -> 1,11 2,19
        T3: COMMIT -> ok
        ",
    );
}

/// PMP, predicate-many-preceders, with a read predicate.
#[test]
fn pmp_read_predicate() {
    for (level, seen) in [(RC, "3,30"), (RR, "empty")] {
        run(
            level,
            &format!(
                "
                T1: SELECT * FROM test WHERE value = 30 -> empty
                T2: INSERT INTO test (id, value) VALUES (3, 30) -> ok
                T2: COMMIT -> ok
                T1: SELECT * FROM test WHERE value % 3 = 0 -> {seen}
                T1: COMMIT -> ok
                "
            ),
        );
    }
    run(
        SER,
        "
        T1: SELECT * FROM test WHERE value = 30 -> empty
        T2: INSERT INTO test (id, value) VALUES (3, 30) -> blocks
        T1: SELECT * FROM test WHERE value % 3 = 0 -> empty
        T1: COMMIT -> ok
        T2: -> ok
        T2: COMMIT -> ok
        ",
    );
}

/// PMP with a write predicate.
#[test]
fn pmp_write_predicate() {
    run(
        RC,
        "
        T1: UPDATE test SET value = value + 10 -> ok
        T2: SELECT * FROM test -> 1,10 2,20
        T2: DELETE FROM test WHERE value = 20 -> blocks
        T1: COMMIT -> ok
        T2: -> ok
        T2: SELECT * FROM test -> 2,30
        T2: COMMIT -> ok
        ",
    );
    // The delete sees the newest version (row 1), the select still the snapshot (row 2).
    run(
        RR,
        "
        T1: UPDATE test SET value = value + 10 -> ok
        T2: SELECT * FROM test -> 1,10 2,20
        T2: DELETE FROM test WHERE value = 20 -> blocks
        T1: COMMIT -> ok
        T2: -> ok
        T2: SELECT * FROM test -> 2,20
        T2: COMMIT -> ok
        T1: SELECT * FROM test -> 2,30
        ",
    );
    run(
        SER,
        "
        T1: SELECT * FROM test -> 1,10 2,20
        T2: SELECT * FROM test -> 1,10 2,20
        T1: UPDATE test SET value = value + 10 -> blocks
        T2: DELETE FROM test WHERE value = 20 -> deadlock
        T1: -> ok
        T1: COMMIT -> ok
        T2: SELECT * FROM test -> 1,20 2,30
        ",
    );
}

/// P4, lost update: InnoDB's REPEATABLE READ does not prevent it, SERIALIZABLE does.
#[test]
fn p4_lost_update() {
    for level in [RC, RR] {
        run(
            level,
            "
            T1: SELECT * FROM test WHERE id = 1 -> 1,10
            T2: SELECT * FROM test WHERE id = 1 -> 1,10
            T1: UPDATE test SET value = 11 WHERE id = 1 -> ok
            T2: UPDATE test SET value = 11 WHERE id = 1 -> blocks
            T1: COMMIT -> ok
            T2: -> ok
            T2: COMMIT -> ok
            ",
        );
    }
    run(
        SER,
        "
        T1: SELECT * FROM test WHERE id = 1 -> 1,10
        T2: SELECT * FROM test WHERE id = 1 -> 1,10
        T1: UPDATE test SET value = 11 WHERE id = 1 -> blocks
        T2: UPDATE test SET value = 11 WHERE id = 1 -> deadlock
        T1: -> ok
        T1: COMMIT -> ok
        ",
    );
}

/// G-single, read skew.
#[test]
fn g_single_read_skew() {
    for (level, seen) in [(RC, "2,18"), (RR, "2,20")] {
        run(
            level,
            &format!(
                "
                T1: SELECT * FROM test WHERE id = 1 -> 1,10
                T2: SELECT * FROM test WHERE id = 1 -> 1,10
                T2: SELECT * FROM test WHERE id = 2 -> 2,20
                T2: UPDATE test SET value = 12 WHERE id = 1 -> ok
                T2: UPDATE test SET value = 18 WHERE id = 2 -> ok
                T2: COMMIT -> ok
                T1: SELECT * FROM test WHERE id = 2 -> {seen}
                T1: COMMIT -> ok
                "
            ),
        );
    }
}

/// G-single with predicate dependencies.
#[test]
fn g_single_predicate() {
    for (level, seen) in [(RC, "1,12"), (RR, "empty")] {
        run(
            level,
            &format!(
                "
                T1: SELECT * FROM test WHERE value % 5 = 0 -> 1,10 2,20
                T2: UPDATE test SET value = 12 WHERE value = 10 -> ok
                T2: COMMIT -> ok
                T1: SELECT * FROM test WHERE value % 3 = 0 -> {seen}
                T1: COMMIT -> ok
                "
            ),
        );
    }
}

/// G-single with a write predicate: REPEATABLE READ reads its snapshot and writes the newest version.
#[test]
fn g_single_write_predicate() {
    run(
        RR,
        "
        T1: SELECT * FROM test WHERE id = 1 -> 1,10
        T2: SELECT * FROM test -> 1,10 2,20
        T2: UPDATE test SET value = 12 WHERE id = 1 -> ok
        T2: UPDATE test SET value = 18 WHERE id = 2 -> ok
        T2: COMMIT -> ok
        T1: DELETE FROM test WHERE value = 20 -> ok
        T1: SELECT * FROM test WHERE id = 2 -> 2,20
        T1: COMMIT -> ok
        T2: SELECT * FROM test -> 1,12 2,18
        ",
    );
    run(
        SER,
        "
        T1: SELECT * FROM test WHERE id = 1 -> 1,10
        T2: SELECT * FROM test -> 1,10 2,20
        T2: UPDATE test SET value = 12 WHERE id = 1 -> blocks
        T1: DELETE FROM test WHERE value = 20 -> deadlock
        T2: -> ok
        T2: UPDATE test SET value = 18 WHERE id = 2 -> ok
        T2: COMMIT -> ok
        ",
    );
}

/// G2-item, write skew.
#[test]
fn g2_item_write_skew() {
    for level in [RC, RR] {
        run(
            level,
            "
            T1: SELECT * FROM test WHERE id IN (1,2) -> 1,10 2,20
            T2: SELECT * FROM test WHERE id IN (1,2) -> 1,10 2,20
            T1: UPDATE test SET value = 11 WHERE id = 1 -> ok
            T2: UPDATE test SET value = 21 WHERE id = 2 -> ok
            T1: COMMIT -> ok
            T2: COMMIT -> ok
            ",
        );
    }
    run(
        SER,
        "
        T1: SELECT * FROM test WHERE id IN (1,2) -> 1,10 2,20
        T2: SELECT * FROM test WHERE id IN (1,2) -> 1,10 2,20
        T1: UPDATE test SET value = 11 WHERE id = 1 -> blocks
        T2: UPDATE test SET value = 21 WHERE id = 2 -> deadlock
        T1: -> ok
        T1: COMMIT -> ok
        ",
    );
}

/// G2, anti-dependency cycles.
#[test]
fn g2_anti_dependency_cycle() {
    for level in [RC, RR] {
        run(
            level,
            "
            T1: SELECT * FROM test WHERE value % 3 = 0 -> empty
            T2: SELECT * FROM test WHERE value % 3 = 0 -> empty
            T1: INSERT INTO test (id, value) VALUES (3, 30) -> ok
            T2: INSERT INTO test (id, value) VALUES (4, 42) -> ok
            T1: COMMIT -> ok
            T2: COMMIT -> ok
            T1: SELECT * FROM test WHERE value % 3 = 0 -> 3,30 4,42
            ",
        );
    }
    run(
        SER,
        "
        T1: SELECT * FROM test WHERE value % 3 = 0 -> empty
        T2: SELECT * FROM test WHERE value % 3 = 0 -> empty
        T1: INSERT INTO test (id, value) VALUES (3, 30) -> blocks
        T2: INSERT INTO test (id, value) VALUES (4, 42) -> deadlock
        T1: -> ok
        T1: COMMIT -> ok
        ",
    );
}

/// G2 over two edges (Fekete et al.): the read-only transaction sees one order, the writers another.
#[test]
fn g2_two_edges() {
    run(
        RR,
        "
        T1: SELECT * FROM test -> 1,10 2,20
        T2: UPDATE test SET value = value + 5 WHERE id = 2 -> ok
        T2: COMMIT -> ok
        T3: SELECT * FROM test -> 1,10 2,25
        T3: COMMIT -> ok
        T1: UPDATE test SET value = 0 WHERE id = 1 -> ok
        T1: COMMIT -> ok
        T1: SELECT * FROM test -> 1,0 2,25
        ",
    );
    run(
        SER,
        "
        T1: SELECT * FROM test -> 1,10 2,20
        T2: UPDATE test SET value = value + 5 WHERE id = 2 -> blocks
        T1: COMMIT -> ok
        T2: -> ok
        T3: SELECT * FROM test -> blocks
        T2: COMMIT -> ok
        T3: -> 1,10 2,25
        T3: COMMIT -> ok
        ",
    );
}

/// What a statement that writes reads besides it locks, wherever in the statement that is, from REPEATABLE READ on.
#[test]
fn statements_that_write_lock_what_they_read() {
    for read in [
        "INSERT INTO u SELECT * FROM test",
        "INSERT INTO u SELECT 3, n FROM (SELECT MAX(value) AS n FROM test) AS d",
        "INSERT INTO u VALUES (3, (SELECT MAX(value) FROM test))",
        "INSERT INTO u SELECT 3, (SELECT MAX(value) FROM test)",
        "UPDATE u SET value = (SELECT MAX(value) FROM test)",
        "UPDATE u SET value = 7 WHERE id IN (SELECT id + 8 FROM test)",
        "WITH q AS (SELECT id, value FROM test) UPDATE u JOIN q SET u.value = q.value",
        "DELETE FROM u WHERE value < (SELECT MAX(value) FROM test)",
        "DELETE u FROM u JOIN (SELECT COUNT(*) AS n FROM test) AS d ON d.n < u.id",
        "REPLACE INTO u SELECT 9, SUM(value) FROM test",
    ] {
        let setup = "
            T1: COMMIT -> ok
            T1: CREATE TABLE u (id INT PRIMARY KEY, value INT) -> ok
            T1: INSERT INTO u VALUES (9, 9) -> ok
            T1: COMMIT -> ok
            T1: BEGIN -> ok
            T1: UPDATE test SET value = 21 WHERE id = 2 -> ok";
        let waits = format!("{setup}\nT2: {read} -> blocks\nT1: COMMIT -> ok\nT2: -> ok\n");
        for level in [RR, SER] {
            run(level, &waits);
        }
        run(
            RC,
            &format!("{setup}\nT2: {read} -> ok\nT1: COMMIT -> ok\n"),
        );
    }
}

/// The gaps that a skip scan or a loose scan would pass by are locked by one that locks.
#[test]
fn locking_scans_leave_no_gaps() {
    for read in [
        "SELECT COUNT(*) FROM s WHERE b = 500 -> 2",
        "SELECT MAX(b) FROM s GROUP BY a -> 999 999",
    ] {
        run(
            SER,
            &format!(
                "
            T1: COMMIT -> ok
            T1: CREATE TABLE s (a INT, b INT, KEY (a, b)) -> ok
            T1: INSERT INTO s WITH RECURSIVE q AS (SELECT 0 AS n UNION ALL SELECT n + 1 FROM q WHERE n < 999) SELECT m, n FROM q, (SELECT 1 AS m UNION SELECT 3) AS g -> ok
            T1: COMMIT -> ok
            T1: ANALYZE TABLE s -> hermitage.s,analyze,status,OK
            T1: BEGIN -> ok
            T1: {read}
            T2: INSERT INTO s VALUES (2, 500) -> blocks
            T1: COMMIT -> ok
            T2: -> ok
            "
            ),
        );
    }
}

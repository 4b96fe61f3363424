//! SPATIAL indexes against tables read whole: random geometries and changes, transactions rolled back, the index made anew meanwhile, the power
//! cut in between.
//!
//! `MILLPOND_RANDOM_SEED` repeats a run.

use millpond_store::io::sim::SimStorage;

use crate::rng::Rng;
use crate::support::power::{client, open};
use crate::support::{Client, TestDb};

/// Keys of rows are below it.
const IDS: u64 = 400;

/// A coordinate: of a town, of a continent, or of anything.
fn coordinate(rng: &mut Rng) -> f64 {
    let scale = [1.0, 100.0, 1e6][rng.below(3) as usize];
    (rng.below(2001) as f64 - 1000.0) / 1000.0 * scale
}

/// A rectangle's text, perhaps without an extent.
fn rectangle(rng: &mut Rng) -> String {
    let (x, y) = (coordinate(rng), coordinate(rng));
    let (w, h) = (coordinate(rng).abs(), coordinate(rng).abs());
    let (u, v) = (x + w, y + h);
    match rng.below(3) {
        0 => format!("POINT({x} {y})"),
        1 => format!("LINESTRING({x} {y},{u} {v})"),
        _ => format!("GEOMETRYCOLLECTION(POINT({x} {y}),POINT({u} {v}))"),
    }
}

fn change(rng: &mut Rng) -> String {
    let (id, g) = (rng.below(IDS), rectangle(rng));
    let to = id + rng.below(20);
    match rng.below(6) {
        0 => format!("DELETE FROM t WHERE id BETWEEN {id} AND {to}"),
        1 => format!("UPDATE t SET g = ST_GeomFromText('{g}') WHERE id BETWEEN {id} AND {to}"),
        2 => format!(
            "UPDATE t SET g = POINT(id, {to}) WHERE MBRIntersects(g, ST_GeomFromText('{g}'))"
        ),
        _ => format!("REPLACE INTO t VALUES ({id}, ST_GeomFromText('{g}'))"),
    }
}

/// Searches by the index find what searches of the table find.
fn compare(c: &mut Client, rng: &mut Rng) {
    for function in [
        "MBRIntersects",
        "MBRContains",
        "MBRWithin",
        "MBREquals",
        "ST_Intersects",
    ] {
        let g = match rng.below(4) {
            0 => "POLYGON((-2000000 -2000000,2000000 -2000000,0 2000000,-2000000 -2000000))".into(),
            _ => rectangle(rng),
        };
        let find = |hint: &str| {
            format!(
                "SELECT id, ST_AsText(g) FROM t {hint} INDEX (s) WHERE {function}(ST_GeomFromText('{g}'), g) ORDER BY id"
            )
        };
        let by_index = c.rows(&find("FORCE"));
        assert_eq!(by_index, c.rows(&find("IGNORE")), "{function} {g}");
    }
}

#[test]
fn searches_find_what_is_there() {
    let seed = std::env::var("MILLPOND_RANDOM_SEED").map_or(7, |s| s.parse().expect("a number"));
    let mut rng = Rng(seed);
    let storage = SimStorage::new();
    let mut instance = open(&storage);
    let mut c = client(&instance);
    c.ok("CREATE TABLE t (id INT PRIMARY KEY, g GEOMETRY NOT NULL SRID 0, SPATIAL KEY s (g))");
    for round in 0..40 {
        let mut reader = client(&instance);
        reader.ok("START TRANSACTION WITH CONSISTENT SNAPSHOT");
        let before = reader.rows("SELECT id, ST_AsText(g) FROM t ORDER BY id");
        c.ok("BEGIN");
        for _ in 0..1 + rng.below(12) {
            c.ok(&change(&mut rng));
        }
        compare(&mut c, &mut rng);
        let now = c.rows("SELECT id, ST_AsText(g) FROM t ORDER BY id");
        compare(&mut reader, &mut rng);
        reader.ok("COMMIT");
        let mut then = before.clone();
        match rng.below(4) {
            0 => {
                c.ok("ROLLBACK");
            }
            1 => {
                storage.cut();
                drop((c, reader, instance));
                storage.restart(|| rng.below(2) == 0);
                instance = open(&storage);
                c = client(&instance);
            }
            _ => {
                c.ok("COMMIT");
                then = now;
            }
        }
        assert_eq!(c.rows("SELECT id, ST_AsText(g) FROM t ORDER BY id"), then);
        if round % 9 == 8 {
            c.ok("ALTER TABLE t DROP INDEX s");
            c.ok("CREATE SPATIAL INDEX s ON t (g)");
        }
        compare(&mut c, &mut rng);
        assert_eq!(
            c.rows("CHECK TABLE t"),
            ["test.t|check|status|OK"],
            "seed {seed}"
        );
    }
}

/// The index is made while rows are written, and has them.
#[test]
fn built_beside_writers() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (id INT PRIMARY KEY, g GEOMETRY NOT NULL SRID 0)");
    c.ok("SET cte_max_recursion_depth = 20000");
    c.ok(
        "INSERT INTO t WITH RECURSIVE n AS (SELECT 0 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 8000) \
         SELECT i, LINESTRING(POINT(i MOD 90, i DIV 90), POINT(i MOD 90 + 1, i DIV 90 + 1)) FROM n",
    );
    let mut builder = db.client();
    let built = std::thread::spawn(move || {
        builder.ok("ALTER TABLE t ADD SPATIAL INDEX s (g), ALGORITHM=INPLACE, LOCK=NONE");
    });
    let mut rng = Rng(3);
    while !built.is_finished() {
        let id = rng.below(8000);
        c.ok(&format!("UPDATE t SET g = POINT({id}, -1) WHERE id = {id}"));
        c.ok(&format!("DELETE FROM t WHERE id = {}", rng.below(8000)));
    }
    built.join().expect("built");
    let at = "MBRIntersects(g, ST_GeomFromText('POLYGON((-1 -2,9000 -2,9000 0,-1 0,-1 -2))'))";
    let count = |hint: &str| format!("SELECT COUNT(*) FROM t {hint} INDEX (s) WHERE {at}");
    assert_eq!(c.one(&count("FORCE")), c.one(&count("IGNORE")));
    assert_eq!(c.rows("CHECK TABLE t"), ["test.t|check|status|OK"]);
}

/// What a search reads for an UPDATE is locked, and what it doesn't is free.
#[test]
fn searches_lock_what_they_find() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (id INT PRIMARY KEY, g POINT NOT NULL SRID 0, SPATIAL KEY s (g))");
    c.ok("INSERT INTO t VALUES (1, POINT(1, 1)), (2, POINT(2, 2)), (3, POINT(900, 900))");
    c.ok("SET TRANSACTION ISOLATION LEVEL READ COMMITTED");
    c.ok("BEGIN");
    let found = "SELECT id FROM t FORCE INDEX (s) WHERE MBRContains(ST_GeomFromText('POLYGON((0 0,3 0,3 3,0 3,0 0))'), g) FOR UPDATE";
    assert_eq!(c.rows(found), ["1", "2"]);
    let mut other = db.client();
    other.ok("SET innodb_lock_wait_timeout = 1");
    other.ok("UPDATE t SET g = POINT(800, 800) WHERE id = 3");
    let locked = "SELECT id FROM t WHERE id = 2 FOR UPDATE NOWAIT";
    assert_eq!(other.code(locked), 3572);
    c.ok("COMMIT");
    assert_eq!(other.rows(locked), ["2"]);
}

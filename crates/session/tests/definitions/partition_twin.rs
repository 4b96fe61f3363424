//! A partitioned table beside one without partitions: the same statements must do and say the same.
//!
//! `TWIN_SEED=n` starts from another seed, `TWIN_ROUNDS=n` runs more rounds.

use crate::support::{Client, TestDb};

struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11
    }
    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
    fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len() as u64) as usize]
    }
}

/// Columns and keys, partition clauses that hold every value, changes of partitions that lose no row.
struct Shape {
    columns: &'static str,
    clauses: &'static [&'static str],
    alters: &'static [&'static str],
}

/// `a` and `b` are integers (`a` NULL at times), `d` a date, `s` a short text.
const SHAPES: [Shape; 4] = [
    Shape {
        columns: "(a INT, b INT NOT NULL, d DATE, s VARCHAR(4), v INT, PRIMARY KEY (b), KEY ka (a), KEY kd (d, s))",
        clauses: &[
            "PARTITION BY RANGE (b) (PARTITION p0 VALUES LESS THAN (5), PARTITION p1 VALUES LESS THAN (12),
             PARTITION p2 VALUES LESS THAN (13), PARTITION p3 VALUES LESS THAN MAXVALUE)",
            "PARTITION BY RANGE COLUMNS (b) (PARTITION p0 VALUES LESS THAN (-2), PARTITION p1 VALUES LESS THAN (12),
             PARTITION p2 VALUES LESS THAN (13), PARTITION p3 VALUES LESS THAN (MAXVALUE))",
            "PARTITION BY HASH (b) PARTITIONS 5",
            "PARTITION BY LINEAR HASH (b * 3 + 1) PARTITIONS 3",
            "PARTITION BY HASH (ABS(b) DIV 4) PARTITIONS 3",
            "PARTITION BY KEY () PARTITIONS 4",
            "PARTITION BY RANGE (b) SUBPARTITION BY HASH (b * 2 + 1) SUBPARTITIONS 3 (PARTITION p0 VALUES LESS THAN (5),
             PARTITION p1 VALUES LESS THAN (12), PARTITION p2 VALUES LESS THAN (13), PARTITION p3 VALUES LESS THAN MAXVALUE)",
        ],
        alters: &[
            "REBUILD PARTITION ALL",
            "REORGANIZE PARTITION p3 INTO (PARTITION p3 VALUES LESS THAN (20), PARTITION p4 VALUES LESS THAN MAXVALUE)",
            "REORGANIZE PARTITION p0, p1 INTO (PARTITION p1 VALUES LESS THAN (12))",
            "ADD PARTITION PARTITIONS 2",
            "COALESCE PARTITION 1",
        ],
    },
    Shape {
        columns: "(a INT, b INT, d DATE, s VARCHAR(4), v INT, KEY ka (a DESC, b), KEY kd (d))",
        clauses: &[
            "PARTITION BY RANGE (a) (PARTITION p0 VALUES LESS THAN (0), PARTITION p1 VALUES LESS THAN (9),
             PARTITION p2 VALUES LESS THAN MAXVALUE)",
            "PARTITION BY RANGE (YEAR(d)) (PARTITION p0 VALUES LESS THAN (2000), PARTITION p1 VALUES LESS THAN (2001),
             PARTITION p2 VALUES LESS THAN MAXVALUE)",
            "PARTITION BY RANGE (TO_DAYS(d)) (PARTITION p0 VALUES LESS THAN (TO_DAYS('2000-03-01')),
             PARTITION p1 VALUES LESS THAN (TO_DAYS('2001-01-01')), PARTITION p2 VALUES LESS THAN MAXVALUE)",
            "PARTITION BY RANGE COLUMNS (d, a) (PARTITION p0 VALUES LESS THAN ('2000-06-01', 4),
             PARTITION p1 VALUES LESS THAN ('2000-06-01', MAXVALUE), PARTITION p2 VALUES LESS THAN (MAXVALUE, MAXVALUE))",
            "PARTITION BY RANGE COLUMNS (s) (PARTITION p0 VALUES LESS THAN ('b'), PARTITION p1 VALUES LESS THAN ('bb'),
             PARTITION p2 VALUES LESS THAN (MAXVALUE))",
            "PARTITION BY KEY (a, s) PARTITIONS 6",
            "PARTITION BY HASH (MONTH(d)) PARTITIONS 4",
            "PARTITION BY LIST (a % 3) (PARTITION p0 VALUES IN (0, NULL), PARTITION p1 VALUES IN (1, -1), PARTITION p2 VALUES IN (2, -2))",
            "PARTITION BY LIST (a % 3) SUBPARTITION BY LINEAR KEY (s, d) SUBPARTITIONS 3 (PARTITION p0 VALUES IN (0, NULL),
             PARTITION p1 VALUES IN (1, -1), PARTITION p2 VALUES IN (2, -2))",
            "PARTITION BY RANGE (YEAR(d)) SUBPARTITION BY HASH (a) (PARTITION p0 VALUES LESS THAN (2000) (SUBPARTITION x, SUBPARTITION y),
             PARTITION p1 VALUES LESS THAN (2001) (SUBPARTITION z, SUBPARTITION u), PARTITION p2 VALUES LESS THAN MAXVALUE (SUBPARTITION v, SUBPARTITION w))",
            "PARTITION BY LIST COLUMNS (s) (PARTITION p0 VALUES IN ('a', 'b', NULL), PARTITION p1 VALUES IN ('ab', 'bb'), PARTITION p2 VALUES IN ('c'))",
        ],
        alters: &["REBUILD PARTITION p1", "ADD PARTITION PARTITIONS 1", "COALESCE PARTITION 2"],
    },
    Shape {
        columns: "(a INT, b INT NOT NULL, d DATE NOT NULL, s VARCHAR(4), v INT, PRIMARY KEY (d, b), UNIQUE ub (b, d), KEY ks (s, v))",
        clauses: &[
            "PARTITION BY RANGE COLUMNS (d, b) (PARTITION p0 VALUES LESS THAN ('2000-02-01', 3),
             PARTITION p1 VALUES LESS THAN ('2000-02-01', 7), PARTITION p2 VALUES LESS THAN (MAXVALUE, MAXVALUE))",
            "PARTITION BY RANGE (TO_DAYS(d)) (PARTITION p0 VALUES LESS THAN (730500), PARTITION p1 VALUES LESS THAN (730700),
             PARTITION p2 VALUES LESS THAN MAXVALUE)",
            "PARTITION BY RANGE (TO_DAYS(d)) SUBPARTITION BY KEY (b) SUBPARTITIONS 4 (PARTITION p0 VALUES LESS THAN (730500),
             PARTITION p1 VALUES LESS THAN (730700), PARTITION p2 VALUES LESS THAN MAXVALUE)",
            "PARTITION BY KEY (b) PARTITIONS 3",
            "PARTITION BY HASH (b + DAYOFMONTH(d)) PARTITIONS 7",
            "PARTITION BY LIST (b % 2) (PARTITION p0 VALUES IN (0), PARTITION p1 VALUES IN (1, -1))",
        ],
        alters: &["REBUILD PARTITION p0", "ADD PARTITION PARTITIONS 3"],
    },
    Shape {
        columns: "(a INT, b BIGINT UNSIGNED NOT NULL, d DATETIME(3), s VARCHAR(4), v INT, PRIMARY KEY (b), KEY kd (d))",
        clauses: &[
            "PARTITION BY RANGE (b) (PARTITION p0 VALUES LESS THAN (3), PARTITION p1 VALUES LESS THAN (1000),
             PARTITION p2 VALUES LESS THAN MAXVALUE)",
            "PARTITION BY HASH (b) PARTITIONS 3",
        ],
        alters: &["REBUILD PARTITION p2"],
    },
];

const DATES: [&str; 8] = [
    "'1999-12-31'",
    "'2000-01-01'",
    "'2000-02-29'",
    "'2000-06-01'",
    "'2000-06-02'",
    "'2000-12-31'",
    "'2001-01-01'",
    "'2003-07-07'",
];
const TEXTS: [&str; 5] = ["'a'", "'ab'", "'B'", "'bb'", "'c'"];

struct Twins {
    c: Client,
    rng: Rng,
    /// Whether `a`, `d` may be NULL, and `b` less than 0.
    null_d: bool,
    signed_b: bool,
    history: Vec<String>,
}

impl Twins {
    fn int(&mut self) -> String {
        (self.rng.below(24) as i64 - 4).to_string()
    }
    fn b(&mut self) -> String {
        if self.signed_b {
            self.int()
        } else {
            self.rng.below(20).to_string()
        }
    }
    fn a(&mut self) -> String {
        if self.rng.below(8) == 0 {
            "NULL".into()
        } else {
            self.int()
        }
    }
    fn date(&mut self) -> String {
        if self.null_d && self.rng.below(9) == 0 {
            "NULL".into()
        } else {
            self.rng.pick(&DATES).to_string()
        }
    }
    fn text(&mut self) -> String {
        if self.rng.below(9) == 0 {
            "NULL".into()
        } else {
            self.rng.pick(&TEXTS).to_string()
        }
    }
    fn row(&mut self) -> String {
        let (a, b, d, s) = (self.a(), self.b(), self.date(), self.text());
        format!("({a}, {b}, {d}, {s}, {})", self.rng.below(100))
    }
    fn rows(&mut self) -> String {
        let n = 1 + self.rng.below(4);
        let rows: Vec<String> = (0..n).map(|_| self.row()).collect();
        rows.join(", ")
    }
    fn condition(&mut self) -> String {
        let one = |t: &mut Twins| -> String {
            let column = *t.rng.pick(&["a", "b", "d", "s"]);
            let value = |t: &mut Twins| match column {
                "a" => t.int(),
                "b" => t.b(),
                "d" => t.rng.pick(&DATES).to_string(),
                _ => t.rng.pick(&TEXTS).to_string(),
            };
            match t.rng.below(9) {
                0 | 1 => format!("{column} = {}", value(t)),
                2 => format!("{column} < {}", value(t)),
                3 => format!("{column} >= {}", value(t)),
                4 => format!("{column} > {}", value(t)),
                5 => format!("{column} BETWEEN {} AND {}", value(t), value(t)),
                6 => format!("{column} IN ({}, {}, {})", value(t), value(t), value(t)),
                7 => format!("{column} IS NULL"),
                _ => format!("{column} <= {}", value(t)),
            }
        };
        match self.rng.below(7) {
            0 => "1 = 1".into(),
            1 | 2 => one(self),
            3 => format!("{} OR {} AND {}", one(self), one(self), one(self)),
            4 => format!("({} OR {}) AND {}", one(self), one(self), one(self)),
            _ => format!("{} AND {}", one(self), one(self)),
        }
    }
    fn query(&mut self, t: &str) -> String {
        let w = self.condition();
        let all = "a, b, d, s, v";
        match self.rng.below(9) {
            0 => format!("SELECT {all} FROM {t} WHERE {w} ORDER BY b, d, a, s, v"),
            1 => format!("SELECT a, b FROM {t} WHERE {w} ORDER BY a, b, d, s, v LIMIT 5"),
            2 => format!("SELECT a FROM {t} WHERE {w} ORDER BY a DESC LIMIT 3"),
            3 => format!("SELECT d, COUNT(*), SUM(v) FROM {t} WHERE {w} GROUP BY d ORDER BY d"),
            4 => format!("SELECT MIN(a), MAX(a), MIN(d), MAX(b), COUNT(*) FROM {t} WHERE {w}"),
            5 => format!(
                "SELECT x.b, y.b, y.v FROM {t} x JOIN {t} y ON y.b = x.a AND y.d = x.d WHERE x.b < 9 ORDER BY 1, 2, 3"
            ),
            6 => format!(
                "SELECT x.b, y.v FROM {t} x LEFT JOIN {t} y ON y.a = x.b AND y.v > 20 ORDER BY 1, 2"
            ),
            7 => format!("SELECT DISTINCT s FROM {t} WHERE {w} ORDER BY s DESC"),
            _ => format!(
                "SELECT b FROM {t} WHERE a IN (SELECT b FROM {t} WHERE {w}) ORDER BY b, d, a"
            ),
        }
    }
    fn change(&mut self, t: &str) -> String {
        let w = self.condition();
        let order = "ORDER BY b, d, a, s, v";
        match self.rng.below(12) {
            0..=3 => format!("INSERT INTO {t} VALUES {}", self.rows()),
            4 => format!("INSERT IGNORE INTO {t} VALUES {}", self.rows()),
            5 => format!("REPLACE INTO {t} VALUES {}", self.rows()),
            6 => format!(
                "INSERT INTO {t} VALUES {} ON DUPLICATE KEY UPDATE v = v + 1, b = {}",
                self.row(),
                self.b()
            ),
            7 => format!(
                "UPDATE {t} SET a = {}, v = v + 1 WHERE {w} {order}",
                self.a()
            ),
            8 => format!(
                "UPDATE {t} SET b = {}, d = {} WHERE {w} {order} LIMIT 2",
                self.b(),
                self.date()
            ),
            9 => format!("UPDATE {t} SET s = {} WHERE {w}", self.text()),
            10 => format!("UPDATE {t} SET b = b + 1 WHERE {w} ORDER BY b DESC, d, a, s, v"),
            _ => format!("DELETE FROM {t} WHERE {w} {order} LIMIT 3"),
        }
    }
    /// Runs a statement on both and compares what they say.
    fn both(&mut self, make: impl Fn(&str) -> String) {
        let sql = make("p");
        self.history.push(sql.clone());
        let one = self
            .c
            .run(&sql)
            .map(|a| (a[0].rows.clone(), a[0].done.affected));
        let two = self
            .c
            .run(&make("u"))
            .map(|a| (a[0].rows.clone(), a[0].done.affected));
        let same = match (&one, &two) {
            (Ok(one), Ok(two)) => one == two,
            (Err(one), Err(two)) => one.code == two.code,
            _ => false,
        };
        if !same {
            let history = self.history.join(";\n");
            panic!("{history};\n{sql}: {one:?}, but without partitions {two:?}");
        }
    }
}

fn round(seed: u64) {
    // Nothing here is about what survives.
    let db = TestDb::with(&[("innodb_flush_log_at_trx_commit", "0")]);
    let mut t = Twins {
        c: db.client(),
        rng: Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
        null_d: true,
        signed_b: true,
        history: vec![format!("-- seed {seed}")],
    };
    let shape = t.rng.pick(&SHAPES);
    let clause = *t.rng.pick(shape.clauses);
    t.null_d = !shape.columns.contains("d DATE NOT NULL");
    t.signed_b = !shape.columns.contains("UNSIGNED");
    t.c.ok(&format!("CREATE TABLE u {}", shape.columns));
    let create = format!("CREATE TABLE p {} {clause}", shape.columns);
    t.c.ok(&create);
    t.history.push(create);
    let mut open = false;
    for _ in 0..120 {
        match t.rng.below(20) {
            0 if open => {
                let end = *t.rng.pick(&["COMMIT", "ROLLBACK"]);
                t.c.ok(end);
                t.history.push(end.into());
                open = false;
            }
            0 => {
                t.c.ok("BEGIN");
                t.history.push("BEGIN".into());
                open = true;
            }
            1 if !open => {
                // What does not apply to this partitioning changes nothing.
                let sql = format!("ALTER TABLE p {}", t.rng.pick(shape.alters));
                t.history.push(sql.clone());
                let _ = t.c.run(&sql);
            }
            2..=9 => {
                let sql = t.query("\u{1}");
                t.both(|table| sql.replace('\u{1}', table));
            }
            _ => {
                let sql = t.change("\u{1}");
                t.both(|table| sql.replace('\u{1}', table));
            }
        }
    }
    if open {
        t.c.ok("COMMIT");
    }
    t.both(|table| format!("SELECT a, b, d, s, v FROM {table} ORDER BY b, d, a, s, v"));
    assert_eq!(t.c.rows("CHECK TABLE p"), ["test.p|check|status|OK"]);
    // Every row is where its values say: asked for by them, it is found.
    for row in t.c.ok("SELECT a, b, d, s FROM u").rows {
        let text = |v: &str| {
            if v == "NULL" {
                v.into()
            } else {
                format!("'{v}'")
            }
        };
        let sql = format!(
            "SELECT COUNT(*) FROM \u{1} WHERE a <=> {} AND b = {} AND d <=> {} AND s <=> {}",
            row[0],
            row[1],
            text(&row[2]),
            text(&row[3])
        );
        t.both(|table| sql.replace('\u{1}', table));
    }
}

#[test]
fn a_partitioned_table_does_what_its_twin_does() {
    let number = |name: &str, default: u64| {
        let given = std::env::var(name).ok().and_then(|s| s.parse().ok());
        given.unwrap_or(default)
    };
    let first = number("TWIN_SEED", 1);
    for seed in first..first + number("TWIN_ROUNDS", 30) {
        round(seed);
    }
}

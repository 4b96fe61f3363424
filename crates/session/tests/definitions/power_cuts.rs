//! The power is cut while statements set off more than they say: triggers, cascades, FULLTEXT indexes, JSON values changed
//! in part, programs, transactions on their way through two phases. What was acknowledged is there afterwards, the statement
//! under way wholly or not at all, also if the power goes again during recovery.
//!
//! `MILLPOND_CUTS` sets how many cuts are tried (default 40; there are some hundred places), `MILLPOND_RANDOM_SEED` repeats a run.

use std::sync::atomic::Ordering;

use millpond_session::Instance;
use millpond_store::io::sim::SimStorage;

use crate::rng::Rng;
use crate::support::Client;
use crate::support::power;

const TABLES: &[&str] = &[
    "CREATE TABLE journal (what VARCHAR(10) PRIMARY KEY, n INT NOT NULL)",
    "CREATE TABLE parent (id INT PRIMARY KEY, j JSON, words VARCHAR(200), FULLTEXT KEY f (words))",
    "CREATE TABLE child (id INT PRIMARY KEY, parent INT, KEY (parent),
       CONSTRAINT c FOREIGN KEY (parent) REFERENCES parent (id) ON DELETE CASCADE ON UPDATE CASCADE)",
    "CREATE TABLE grandchild (id INT PRIMARY KEY, child INT, KEY (child),
       CONSTRAINT g FOREIGN KEY (child) REFERENCES child (id) ON DELETE SET NULL)",
    "CREATE TRIGGER i AFTER INSERT ON parent FOR EACH ROW
       INSERT INTO journal VALUES ('insert', 1) ON DUPLICATE KEY UPDATE n = n + 1",
    "CREATE TRIGGER u AFTER UPDATE ON parent FOR EACH ROW
       INSERT INTO journal VALUES ('update', 1) ON DUPLICATE KEY UPDATE n = n + 1",
    "CREATE TRIGGER d AFTER DELETE ON parent FOR EACH ROW
       INSERT INTO journal VALUES ('delete', 1) ON DUPLICATE KEY UPDATE n = n + 1",
    "CREATE PROCEDURE move_all(IN distance INT) BEGIN
       DECLARE one INT; DECLARE ended INT DEFAULT 0;
       DECLARE k CURSOR FOR SELECT id FROM parent WHERE id < 1000;
       DECLARE CONTINUE HANDLER FOR NOT FOUND SET ended = 1;
       OPEN k;
       more: LOOP
         FETCH k INTO one;
         IF ended THEN LEAVE more; END IF;
         UPDATE parent SET id = one + distance WHERE id = one;
       END LOOP;
     END",
];

const STATEMENTS: &[&str] = &[
    "INSERT INTO parent VALUES (1, JSON_OBJECT('n', 1, 'pad', REPEAT('x', 3000)), 'heron pond'), (2, '[1, 2]', 'pike pond'),
       (3, JSON_OBJECT('n', 3, 'pad', REPEAT('y', 9000)), 'miller heron'), (4, '{}', 'wheel')",
    "INSERT INTO child VALUES (10, 1), (11, 1), (20, 2), (30, 3), (31, 3), (40, 4)",
    "INSERT INTO grandchild VALUES (100, 10), (101, 11), (200, 20), (300, 30)",
    "UPDATE parent SET j = JSON_SET(j, '$.n', 77) WHERE id IN (1, 3)",
    "UPDATE parent SET j = JSON_REPLACE(j, '$.pad', 'short'), words = 'heron mill' WHERE id = 1",
    "UPDATE parent SET j = JSON_REMOVE(j, '$[0]') WHERE id = 2",
    "UPDATE parent SET id = id + 500 WHERE id = 3",
    "BEGIN",
    "DELETE FROM parent WHERE id = 1",
    "UPDATE parent SET words = CONCAT(words, ' sluice')",
    "COMMIT",
    "BEGIN",
    "REPLACE INTO parent VALUES (2, '{\"n\": 2}', 'eel'), (5, NULL, 'eel wheel')",
    "SAVEPOINT s",
    "DELETE FROM parent",
    "ROLLBACK TO s",
    "COMMIT",
    "XA START 'kept'",
    "INSERT INTO parent VALUES (6, '{\"n\": 6}', 'heron'), (7, '7', 'pond')",
    "INSERT INTO child VALUES (60, 6), (70, 7)",
    "DELETE FROM parent WHERE id = 503",
    "XA END 'kept'",
    "XA PREPARE 'kept'",
    "XA COMMIT 'kept'",
    "XA START 'lost'",
    "UPDATE parent SET words = 'gone', j = JSON_SET(j, '$.n', 0) WHERE id = 6",
    "DELETE FROM parent WHERE id = 7",
    "XA END 'lost'",
    "XA PREPARE 'lost'",
    "XA ROLLBACK 'lost'",
    "BEGIN",
    "CALL move_all(1000)",
    "COMMIT",
    "ALTER TABLE parent DROP INDEX f, ADD COLUMN extra INT DEFAULT 5",
    "ALTER TABLE parent ADD FULLTEXT KEY f (words)",
    "DROP TRIGGER u",
    "UPDATE parent SET words = REPLACE(words, 'heron', 'pike')",
    "CREATE TRIGGER u BEFORE UPDATE ON parent FOR EACH ROW SET NEW.words = 'changed'",
    "UPDATE parent SET j = JSON_SET(j, '$.n', 9) WHERE id > 1000",
    "OPTIMIZE TABLE parent",
    "ALTER TABLE child DROP FOREIGN KEY c",
    "DELETE FROM parent WHERE id < 1006",
    "TRUNCATE TABLE parent",
    "DROP TABLE grandchild, child",
];

/// Transactions that change definitions and rows.
const TRANSACTIONS: &[&str] = &[
    "SET millpond_transactional_ddl = 1",
    "INSERT INTO parent VALUES (1, JSON_OBJECT('n', 1, 'pad', REPEAT('x', 3000)), 'heron pond'), (2, '[1, 2]', 'pike pond')",
    "INSERT INTO child VALUES (10, 1), (20, 2)",
    "INSERT INTO grandchild VALUES (100, 10)",
    "BEGIN",
    "CREATE TABLE new (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(5000))",
    "INSERT INTO new (v) SELECT REPEAT(words, 200) FROM parent",
    "ALTER TABLE parent ADD COLUMN extra INT DEFAULT 5",
    "UPDATE parent SET extra = id, words = 'mill'",
    "ALTER TABLE child DROP FOREIGN KEY c",
    "DROP TABLE grandchild",
    "ROLLBACK",
    "BEGIN",
    "CREATE TABLE new (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(5000))",
    "INSERT INTO new (v) SELECT REPEAT(words, 200) FROM parent",
    "ALTER TABLE new MODIFY v TEXT, ADD KEY (v(10))",
    "ALTER TABLE parent DROP INDEX f, ADD COLUMN extra INT DEFAULT 5",
    "DELETE FROM child WHERE id = 20",
    "COMMIT",
    "BEGIN",
    "TRUNCATE TABLE new",
    "INSERT INTO new (v) VALUES ('eel'), ('wheel')",
    "SAVEPOINT s",
    "DROP TABLE grandchild, child",
    "ALTER TABLE new ADD w INT",
    "ROLLBACK TO s",
    "RENAME TABLE new TO renamed",
    "CREATE VIEW looked AS SELECT id, v FROM renamed",
    "COMMIT",
    "BEGIN",
    "CREATE TABLE copied (PRIMARY KEY (id)) AS SELECT * FROM renamed",
    "ALTER TABLE renamed MODIFY id BIGINT",
    "INSERT INTO renamed VALUES (77, 'sluice')",
    "DROP VIEW looked",
    "ROLLBACK",
    "BEGIN",
    "ALTER TABLE renamed MODIFY id BIGINT",
    "CREATE INDEX i ON renamed (v(3))",
    "DROP TABLE grandchild",
    "INSERT INTO renamed VALUES (77, 'sluice')",
    "COMMIT",
];

/// All that other sessions can see.
fn state(c: &mut Client) -> Vec<String> {
    let mut all = c.rows("SELECT trigger_name, action_timing FROM information_schema.triggers WHERE trigger_schema = 'test' ORDER BY 1");
    all.extend(c.rows("XA RECOVER"));
    for table in c.rows("SHOW TABLES") {
        all.push(table.clone());
        all.extend(c.rows(&format!("SELECT * FROM {table} ORDER BY 1")));
    }
    let columns = c.rows("SHOW COLUMNS FROM parent");
    all.extend(columns);
    if !c
        .rows("SHOW INDEX FROM parent WHERE Key_name = 'f'")
        .is_empty()
    {
        all.push("words".into());
        for word in [
            "heron", "pond", "pike", "mill*", "wheel", "sluice", "eel", "changed", "gone",
        ] {
            let found = c.rows(&format!(
                "SELECT id FROM parent WHERE MATCH (words) AGAINST ('+{word}' IN BOOLEAN MODE) ORDER BY id"
            ));
            all.push(format!("{word}: {}", found.join(" ")));
        }
    }
    all
}

/// Tables without rows, written out.
fn prepared(open: fn(&SimStorage) -> Instance) -> SimStorage {
    let storage = SimStorage::new();
    let instance = open(&storage);
    let mut c = power::client(&instance);
    for sql in TABLES {
        c.ok(sql);
    }
    drop(c);
    instance.close().expect("close");
    storage
}

/// What there is before the first statement and after each one, and how many operations changed the disk.
fn dry_run(base: &SimStorage, statements: &[&str]) -> (Vec<Vec<String>>, u64) {
    let storage = base.copy();
    let instance = power::open(&storage);
    let (mut writer, mut reader) = (power::client(&instance), power::client(&instance));
    let operations = power::count_operations(&storage);
    let mut states = vec![state(&mut reader)];
    let mut open = false;
    for sql in statements {
        writer.ok(sql);
        open = *sql == "BEGIN" || open && !["COMMIT", "ROLLBACK"].contains(sql);
        // What an open transaction has locked nobody can read.
        states.push(match open {
            true => states[states.len() - 1].clone(),
            false => state(&mut reader),
        });
    }
    (states, operations.load(Ordering::Relaxed))
}

#[test]
fn what_statements_set_off_is_whole_after_a_power_cut() {
    is_whole_after_a_power_cut(STATEMENTS, power::open);
}

#[test]
fn what_statements_set_off_is_whole_where_all_is_encrypted() {
    is_whole_after_a_power_cut(STATEMENTS, power::open_encrypted);
}

#[test]
fn transactions_that_define_are_whole_after_a_power_cut() {
    is_whole_after_a_power_cut(TRANSACTIONS, power::open);
}

fn is_whole_after_a_power_cut(statements: &[&str], open: fn(&SimStorage) -> Instance) {
    let number = |name: &str| {
        std::env::var(name)
            .ok()
            .map(|n| n.parse().expect("a number"))
    };
    let seed = number("MILLPOND_RANDOM_SEED").unwrap_or(11);
    println!("MILLPOND_RANDOM_SEED={seed}");
    let mut rng = Rng(seed);
    let base = prepared(open);
    let (states, operations) = dry_run(&base, statements);
    let cuts = number("MILLPOND_CUTS").unwrap_or(40).min(operations);
    let mut inside = 0;
    for n in 0..cuts {
        // One place of each of as many stretches as there are cuts.
        let (start, end) = (operations * n / cuts, operations * (n + 1) / cuts);
        let cut_at = start + rng.below(end - start);
        let storage = base.copy();
        let instance = power::open(&storage);
        let mut c = power::client(&instance);
        power::cut_after(&storage, cut_at);
        let done = statements
            .iter()
            .take_while(|sql| c.run(sql).is_ok())
            .count();
        storage.cut();
        drop((c, instance));
        storage.restart(|| rng.below(2) == 0);
        if rng.below(2) == 0 {
            // It goes again while the first cut is recovered from.
            power::cut_after(&storage, rng.below(25));
            drop(power::try_open(&storage));
            storage.cut();
            storage.restart(|| rng.below(2) == 0);
        }
        let instance = power::open(&storage);
        let found = state(&mut power::client(&instance));
        let under_way = statements.get(done).copied().unwrap_or("nothing");
        let either = [Some(&states[done]), states.get(done + 1)];
        inside += u64::from(done < statements.len());
        assert!(
            either.contains(&Some(&found)),
            "seed {seed}, operation {cut_at}, in {under_way}: found {found:#?}, not {either:#?}"
        );
        let problems = instance.engine().check().expect("a check");
        assert_eq!(
            problems,
            Vec::<String>::new(),
            "seed {seed}, operation {cut_at}, in {under_way}"
        );
    }
    println!("{cuts} of {operations} places, {inside} of them in a statement");
    assert!(inside > cuts / 2, "statements must have been cut short");
}

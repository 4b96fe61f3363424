//! The adaptive hash index as users see it: variables, status, report.

use crate::support::{Client, TestDb};

fn status(c: &mut Client, name: &str) -> u64 {
    let rows = c.rows(&format!("SHOW GLOBAL STATUS LIKE '{name}'"));
    rows[0].split('|').nth(1).unwrap().parse().unwrap()
}

fn by_hash(c: &mut Client) -> u64 {
    status(c, "Innodb_adaptive_hash_hash_searches")
}

fn entries(c: &mut Client) -> u64 {
    status(c, "Millpond_adaptive_hash_entries")
}

/// Looks every row up by its primary key and by its unique key.
fn look(c: &mut Client) {
    for id in 1..=300 {
        let row = format!("{id}|{}", 3 * id);
        assert_eq!(
            c.rows(&format!("SELECT * FROM t WHERE id = {id}")),
            [row.as_str()]
        );
        let by_unique = format!("SELECT * FROM t WHERE u = {}", 3 * id);
        assert_eq!(c.rows(&by_unique), [row.as_str()]);
    }
}

#[test]
fn it_can_be_seen_and_switched() {
    let db = TestDb::new();
    let mut c = db.client();
    assert_eq!(
        c.rows("SHOW VARIABLES LIKE 'innodb_adaptive_hash_index%'"),
        [
            "innodb_adaptive_hash_index|ON",
            "innodb_adaptive_hash_index_parts|8"
        ]
    );
    c.ok("CREATE TABLE t (id INT PRIMARY KEY, u INT UNIQUE)");
    // More than indexes hold that share pages.
    let rows: Vec<_> = (1..=2000).map(|id| format!("({id},{})", 3 * id)).collect();
    c.ok(&format!("INSERT INTO t VALUES {}", rows.join(",")));
    (0..3).for_each(|_| look(&mut c));
    assert!(by_hash(&mut c) > 300);
    assert!(entries(&mut c) > 300);
    let report = c.rows("SHOW ENGINE INNODB STATUS").remove(0);
    let section = report
        .split("INSERT BUFFER AND ADAPTIVE HASH INDEX")
        .nth(1)
        .unwrap();
    assert_eq!(section.matches("Hash table size ").count(), 8);
    assert!(section.contains(" hash searches/s, "));

    c.ok("SET GLOBAL innodb_adaptive_hash_index = OFF");
    assert_eq!(entries(&mut c), 0);
    let before = by_hash(&mut c);
    look(&mut c);
    assert_eq!(by_hash(&mut c), before);
    c.ok("SET GLOBAL innodb_adaptive_hash_index = ON");
    (0..3).for_each(|_| look(&mut c));
    assert!(by_hash(&mut c) > before + 300);
    assert_eq!(c.code("SET SESSION innodb_adaptive_hash_index = OFF"), 1229);
    assert_eq!(
        c.code("SET GLOBAL innodb_adaptive_hash_index_parts = 4"),
        1238
    );
    // Same keys, another table.
    c.ok("TRUNCATE t");
    assert!(c.rows("SELECT * FROM t WHERE id = 7").is_empty());
    assert!(c.rows("SELECT * FROM t WHERE u = 21").is_empty());
}

#[test]
fn it_can_be_set_at_the_start() {
    let variables = [
        ("innodb_adaptive_hash_index", "OFF"),
        ("innodb_adaptive_hash_index_parts", "3"),
    ];
    let db = TestDb::with(&variables);
    let mut c = db.client();
    assert_eq!(
        c.rows("SHOW VARIABLES LIKE 'innodb_adaptive_hash_index%'"),
        [
            "innodb_adaptive_hash_index|OFF",
            "innodb_adaptive_hash_index_parts|3"
        ]
    );
    let report = c.rows("SHOW ENGINE INNODB STATUS").remove(0);
    assert_eq!(report.matches("Hash table size ").count(), 3);
    assert!(report.contains("Adaptive hash index is off"));
}

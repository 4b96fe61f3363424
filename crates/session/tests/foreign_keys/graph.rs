//! Eight tables that refer to each other, to themselves and in circles, by every rule; random statements on them; what must be true
//! of their rows at any time.

use crate::rng::Rng;

/// Ids and keys are below this.
const IDS: u64 = 12;
/// Tables `t0` to `t7`, each `(id, a, b, k, u, v)`.
pub const TABLES: u64 = 8;

/// Child, its columns, parent, its columns, rules.
type Key = (u64, &'static str, u64, &'static str, &'static str);

const KEYS: [Key; 12] = [
    (1, "a", 0, "id", "ON DELETE CASCADE ON UPDATE CASCADE"),
    (2, "a", 0, "id", "ON DELETE SET NULL ON UPDATE SET NULL"),
    (2, "b", 1, "id", ""),
    (3, "a", 1, "id", "ON DELETE CASCADE ON UPDATE RESTRICT"),
    (3, "b", 2, "id", "ON DELETE SET NULL ON UPDATE CASCADE"),
    (4, "a", 4, "id", "ON DELETE CASCADE"),
    (4, "b", 3, "id", "ON DELETE CASCADE ON UPDATE CASCADE"),
    (5, "a, b", 3, "id, k", "ON DELETE CASCADE ON UPDATE CASCADE"),
    (6, "a", 7, "id", "ON DELETE SET NULL ON UPDATE CASCADE"),
    (7, "a", 6, "id", "ON DELETE CASCADE"),
    (7, "b", 0, "u", "ON DELETE NO ACTION ON UPDATE CASCADE"),
    (5, "k", 5, "u", "ON DELETE SET NULL"),
];

/// Statements that make the tables.
pub fn tables() -> Vec<String> {
    let mut made: Vec<String> = (0..TABLES)
        .map(|t| {
            format!(
                "CREATE TABLE t{t} (id INT PRIMARY KEY, a INT, b INT, k INT, u INT, v INT, UNIQUE KEY u (u), KEY a (a, b), \
                 KEY b (b), KEY k (k), KEY ik (id, k))"
            )
        })
        .collect();
    for (n, (child, columns, parent, referenced, rules)) in KEYS.iter().enumerate() {
        made.push(format!(
            "ALTER TABLE t{child} ADD CONSTRAINT f{n} FOREIGN KEY ({columns}) REFERENCES t{parent} ({referenced}) {rules}"
        ));
    }
    made
}

/// Statements that take them away.
pub fn dropped() -> Vec<String> {
    let names: Vec<String> = (0..TABLES).map(|t| format!("t{t}")).collect();
    vec![
        "SET foreign_key_checks = 0".into(),
        format!("DROP TABLE IF EXISTS {}", names.join(", ")),
        "SET foreign_key_checks = 1".into(),
    ]
}

/// Queries that count rows without the parent that they name.
pub fn orphans() -> Vec<String> {
    let all = KEYS.iter();
    all.map(|(child, columns, parent, referenced, _)| {
        let columns: Vec<&str> = columns.split(", ").collect();
        let pairs = columns.iter().zip(referenced.split(", "));
        let same: Vec<String> = pairs.map(|(c, p)| format!("p.{p} = c.{c}")).collect();
        let given: Vec<String> = columns.iter().map(|c| format!("c.{c} IS NOT NULL")).collect();
        format!(
            "SELECT COUNT(*) FROM t{child} c WHERE {} AND NOT EXISTS (SELECT 1 FROM t{parent} p WHERE {})",
            given.join(" AND "),
            same.join(" AND ")
        )
    })
    .collect()
}

fn value(rng: &mut Rng) -> String {
    match rng.below(6) {
        0 | 1 => "NULL".into(),
        _ => rng.below(IDS).to_string(),
    }
}

fn row(rng: &mut Rng) -> String {
    format!(
        "({}, {}, {}, {}, {}, {})",
        rng.below(IDS),
        value(rng),
        value(rng),
        value(rng),
        value(rng),
        rng.below(100)
    )
}

/// A condition on ids: mostly one.
fn some(rng: &mut Rng) -> String {
    let id = rng.below(IDS);
    match rng.below(5) {
        0 => format!("id BETWEEN {id} AND {}", id + rng.below(4)),
        1 => format!("id IN ({id}, {})", rng.below(IDS)),
        _ => format!("id = {id}"),
    }
}

/// A random statement that writes.
pub fn statement(rng: &mut Rng) -> String {
    let t = rng.below(TABLES);
    let ignore = match rng.below(5) {
        0 => "IGNORE ",
        _ => "",
    };
    match rng.below(14) {
        0..=4 => {
            let rows: Vec<String> = (0..1 + rng.below(3)).map(|_| row(rng)).collect();
            format!("INSERT {ignore}INTO t{t} VALUES {}", rows.join(", "))
        }
        5 => format!("REPLACE INTO t{t} VALUES {}", row(rng)),
        6 => {
            let column = ["a", "b", "k", "u"][rng.below(4) as usize];
            let (row, new) = (row(rng), value(rng));
            format!(
                "INSERT INTO t{t} VALUES {row} ON DUPLICATE KEY UPDATE {column} = {new}, v = v + 1"
            )
        }
        7..=8 => {
            let column = ["a", "b", "k", "u"][rng.below(4) as usize];
            let (new, which) = (value(rng), some(rng));
            format!("UPDATE {ignore}t{t} SET {column} = {new} WHERE {which} ORDER BY id")
        }
        9 => {
            let (new, which) = (rng.below(IDS), rng.below(IDS));
            format!("UPDATE {ignore}t{t} SET id = {new}, v = v + 1 WHERE id = {which}")
        }
        10..=11 => format!("DELETE {ignore}FROM t{t} WHERE {} ORDER BY id", some(rng)),
        12 => format!(
            "DELETE {ignore}FROM t{t} ORDER BY id DESC LIMIT {}",
            1 + rng.below(4)
        ),
        _ => {
            let (child, parent) = (rng.below(TABLES), rng.below(IDS));
            format!(
                "DELETE FROM t{t} WHERE id IN (SELECT a FROM (SELECT a FROM t{child} WHERE b = {parent}) x) ORDER BY id"
            )
        }
    }
}

//! Tables of which a statement changes more than it says: cascades, triggers, a FULLTEXT index, JSON values changed in part.

use crate::rng::Rng;
use mysql::Conn;
use mysql::prelude::Queryable;
use std::collections::BTreeMap;

/// Parents' ids are below it.
const IDS: u64 = 60;
const WORDS: [&str; 6] = ["heron", "pike", "eel", "sluice", "wheel", "miller"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parent {
    /// `$.n` of its document.
    n: i64,
    /// Length of `$.pad`.
    pad: usize,
    /// Places in [`WORDS`] of the first word of its text and the second.
    words: (usize, usize),
}

/// What a worker believes these tables to hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Related {
    parents: BTreeMap<i64, Parent>,
    /// Their parents.
    children: BTreeMap<i64, i64>,
    /// How often rows of `parent` were inserted, updated, deleted by statements.
    journal: [i64; 3],
}

fn database(worker: usize) -> String {
    format!("r{worker}")
}

pub fn create(conn: &mut Conn, worker: usize) {
    let db = database(worker);
    let mut statements = vec![
        format!("CREATE DATABASE {db}"),
        format!("USE {db}"),
        "CREATE TABLE journal (what INT PRIMARY KEY, n INT NOT NULL)".into(),
        "INSERT INTO journal VALUES (0, 0), (1, 0), (2, 0)".into(),
        "CREATE TABLE parent (id INT PRIMARY KEY, j JSON NOT NULL, words TEXT, FULLTEXT KEY (words))".into(),
        "CREATE TABLE child (id INT PRIMARY KEY, parent INT NOT NULL, KEY (parent),
           FOREIGN KEY (parent) REFERENCES parent (id) ON DELETE CASCADE ON UPDATE CASCADE)"
            .into(),
    ];
    for (what, event) in ["INSERT", "UPDATE", "DELETE"].into_iter().enumerate() {
        statements.push(format!(
            "CREATE TRIGGER t{what} AFTER {event} ON parent FOR EACH ROW UPDATE journal SET n = n + 1 WHERE what = {what}"
        ));
    }
    for sql in statements {
        conn.query_drop(sql).unwrap();
    }
}

impl Related {
    fn remove(&mut self, id: i64) {
        if self.parents.remove(&id).is_some() {
            self.children.retain(|_, parent| *parent != id);
            self.journal[2] += 1;
        }
    }

    /// A random change, if there is something to change.
    pub fn change(&mut self, rng: &mut Rng, worker: usize) -> Option<String> {
        let db = database(worker);
        let id = rng.below(IDS) as i64;
        let k = rng.below(1 << 30) as i64;
        let words = (rng.below(6) as usize, rng.below(6) as usize);
        Some(match rng.below(8) {
            0 | 1 => {
                self.remove(id);
                // Some documents need overflow pages.
                let most = if rng.below(4) == 0 { 20_000 } else { 300 };
                let pad = rng.below(most) as usize;
                self.parents.insert(id, Parent { n: k, pad, words });
                self.journal[0] += 1;
                let text = text(words);
                format!(
                    "REPLACE INTO {db}.parent VALUES ({id}, JSON_OBJECT('n', {k}, 'pad', REPEAT('x', {pad})), '{text}')"
                )
            }
            2 => {
                let child = rng.below(4 * IDS) as i64;
                self.parents.get(&id)?;
                self.children.insert(child, id);
                format!(
                    "INSERT INTO {db}.child VALUES ({child}, {id}) ON DUPLICATE KEY UPDATE parent = {id}"
                )
            }
            3 | 4 => {
                let end = id + rng.below(10) as i64;
                for parent in self.parents.range_mut(id..=end) {
                    parent.1.n = k;
                    self.journal[1] += 1;
                }
                format!(
                    "UPDATE {db}.parent SET j = JSON_SET(j, '$.n', {k}) WHERE id BETWEEN {id} AND {end}"
                )
            }
            5 => {
                self.parents.get_mut(&id)?.words = words;
                self.journal[1] += 1;
                format!(
                    "UPDATE {db}.parent SET words = '{}' WHERE id = {id}",
                    text(words)
                )
            }
            6 => {
                let to = rng.below(IDS) as i64;
                if self.parents.contains_key(&to) {
                    return None;
                }
                let parent = self.parents.remove(&id)?;
                self.parents.insert(to, parent);
                for parent in self.children.values_mut().filter(|p| **p == id) {
                    *parent = to;
                }
                self.journal[1] += 1;
                format!("UPDATE {db}.parent SET id = {to} WHERE id = {id}")
            }
            _ => {
                let end = id + rng.below(3) as i64;
                (id..=end).for_each(|id| self.remove(id));
                format!("DELETE FROM {db}.parent WHERE id BETWEEN {id} AND {end}")
            }
        })
    }

    /// What the tables hold, after comparing what the FULLTEXT index finds with the texts.
    pub fn read(conn: &mut Conn, worker: usize) -> Result<Related, String> {
        let db = database(worker);
        let mut found = Related::default();
        let rows: Vec<(i64, i64, usize, String)> = ask(
            conn,
            &format!(
                "SELECT id, CAST(j->>'$.n' AS SIGNED), LENGTH(j->>'$.pad'), words FROM {db}.parent"
            ),
        )?;
        for (id, n, pad, text) in rows {
            let words = parse(&text).ok_or(format!("parent {id} has the words {text}"))?;
            found.parents.insert(id, Parent { n, pad, words });
        }
        found.children = ask(conn, &format!("SELECT id, parent FROM {db}.child"))?
            .into_iter()
            .collect();
        let journal: Vec<(usize, i64)> = ask(conn, &format!("SELECT what, n FROM {db}.journal"))?;
        for (what, n) in journal {
            found.journal[what] = n;
        }
        for (i, word) in WORDS.iter().enumerate() {
            let by_index: Vec<i64> = ask(
                conn,
                &format!(
                    "SELECT id FROM {db}.parent WHERE MATCH (words) AGAINST ('{word}' IN BOOLEAN MODE) ORDER BY id"
                ),
            )?;
            let has = |p: &Parent| p.words.0 == i || p.words.1 == i;
            let by_text: Vec<i64> = found
                .parents
                .iter()
                .filter(|(_, p)| has(p))
                .map(|(id, _)| *id)
                .collect();
            if by_index != by_text {
                return Err(format!(
                    "{db}: {word} is found in {by_index:?}, not {by_text:?}"
                ));
            }
        }
        Ok(found)
    }

    /// The first difference from `other`, for people.
    pub fn difference(&self, other: &Related) -> Option<String> {
        if self.journal != other.journal {
            return Some(format!(
                "journal {:?}, not {:?}",
                self.journal, other.journal
            ));
        }
        if self.children != other.children {
            return Some(format!(
                "children {:?}, not {:?}",
                self.children, other.children
            ));
        }
        (self.parents != other.parents)
            .then(|| format!("parents {:?}, not {:?}", self.parents, other.parents))
    }
}

fn text(words: (usize, usize)) -> String {
    format!("{} {}", WORDS[words.0], WORDS[words.1])
}

fn parse(text: &str) -> Option<(usize, usize)> {
    let place = |word: &str| WORDS.iter().position(|w| *w == word);
    let (first, second) = text.split_once(' ')?;
    Some((place(first)?, place(second)?))
}

fn ask<T: mysql::prelude::FromRow>(conn: &mut Conn, sql: &str) -> Result<Vec<T>, String> {
    conn.query(sql).map_err(|e| format!("{sql}: {e}"))
}

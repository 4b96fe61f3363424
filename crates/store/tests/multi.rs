//! Indexes with any number of entries a row: a row's words, each once.

mod common;
use common::*;
use millpond_store::engine::Beside;
use millpond_store::io::sim::SimStorage;
use millpond_store::*;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

/// The index on words has this name; its body is the field that they are in.
const WORDS: &str = "words";

struct WordCodec {
    inner: Arc<dyn KeyCodec>,
    /// Position of the index on words, and its field.
    words: Option<(usize, usize)>,
}

/// The words of a row's field, each once, in order.
fn words_of(row: &[u8], field: usize) -> Vec<Vec<u8>> {
    let text = fields(row)[field].clone().unwrap_or_default();
    let words = text.split(|b| *b == b' ').filter(|w| !w.is_empty());
    let mut words: Vec<Vec<u8>> = words.map(<[u8]>::to_vec).collect();
    words.sort();
    words.dedup();
    words
}

impl KeyCodec for WordCodec {
    fn key(&self, index: usize, row: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        assert!(!self.is_multi(index));
        self.inner.key(index, row, out)
    }
    fn is_multi(&self, index: usize) -> bool {
        self.words.is_some_and(|(at, _)| at == index)
    }
    fn keys(&self, index: usize, row: &[u8], out: &mut Keys) -> Result<()> {
        let (at, field) = self.words.unwrap();
        assert_eq!(at, index);
        for word in words_of(row, field) {
            out.add(|bytes| bytes.extend_from_slice(&key_of(&[Some(&word)])));
        }
        out.sort();
        Ok(())
    }
}

struct WordCodecs;

impl CodecFactory for WordCodecs {
    fn codec(&self, def: &TableDef) -> Result<Arc<dyn KeyCodec>> {
        let at = def.indexes.iter().position(|i| i.name == WORDS);
        Ok(Arc::new(WordCodec {
            inner: ToyCodecs.codec(def)?,
            words: at.map(|at| (at, usize::from(def.indexes[at].body[0]))),
        }))
    }
}

fn open_on(disk: &SimStorage) -> Db {
    Db {
        engine: Engine::open(Arc::new(disk.clone()), options(), Arc::new(WordCodecs)).unwrap(),
        disk: disk.clone(),
    }
}

/// A table of a number, its tenth with an index, and words with one.
fn with_table(unique: bool) -> Db {
    let db = open_on(&SimStorage::new());
    db.session().create(table(
        "t",
        &[
            ("PRIMARY", true, &[0]),
            ("tenth", false, &[1]),
            (WORDS, unique, &[2]),
        ],
    ));
    db
}

fn a_row(id: i64, text: &str) -> Vec<u8> {
    row(&[Some(&int(id)), Some(&int(id / 10)), Some(text.as_bytes())])
}

/// Rows by id.
type Rows = BTreeMap<i64, Vec<u8>>;

/// What a session sees by the index on words is what the rows that it sees have.
fn agrees(s: &mut Session, at: usize, rows: &Rows) {
    let t = s.open("t");
    let clustered: Vec<Vec<u8>> = rows.values().cloned().collect();
    assert_eq!(s.rows(&t, 0), clustered);
    let mut entries: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    for row in rows.values() {
        entries.extend(words_of(row, 2).into_iter().map(|w| (w, row.clone())));
    }
    entries.sort();
    let by_word: Vec<Vec<u8>> = entries.iter().map(|(_, row)| row.clone()).collect();
    assert_eq!(s.rows(&t, at), by_word);
    for word in ["a", "bb", "none"] {
        let key = key_of(&[Some(word.as_bytes())]);
        let range = KeyRange {
            lower: std::ops::Bound::Included(key.clone()),
            upper: std::ops::Bound::Included(key),
        };
        let want = entries.iter().filter(|(w, _)| w == word.as_bytes());
        let want: Vec<Vec<u8>> = want.map(|(_, row)| row.clone()).collect();
        let mode = ReadMode::Consistent;
        let found = s.scan(&t, at, range, Direction::Backward, mode).unwrap();
        assert_eq!(found.into_iter().rev().collect::<Vec<_>>(), want);
    }
}

/// Some words; now and then so many that undo records of their own hold the keys.
fn text(rng: &mut Rng) -> String {
    const WORDS: [&str; 6] = ["a", "bb", "ccc", "d", "ee", "fff"];
    let mut words: Vec<String> = Vec::new();
    for _ in 0..rng.below(5) {
        words.push(WORDS[rng.below(6) as usize].into());
    }
    if rng.chance(3) {
        let from = rng.below(500);
        words.extend((from..from + 900).map(|n| format!("w{n}")));
    }
    words.join(" ")
}

/// A random change of a row in the model and the table.
fn change(s: &mut Session, rows: &mut Rows, rng: &mut Rng) {
    let t = s.open("t");
    let id = rng.below(20) as i64;
    let new = a_row(id, &text(rng));
    match rows.entry(id) {
        Entry::Vacant(free) => {
            s.insert(&t, &new).unwrap();
            free.insert(new);
        }
        Entry::Occupied(row) if rng.chance(30) => {
            assert!(s.delete(&t, &int_key(id)).unwrap());
            row.remove();
        }
        Entry::Occupied(mut row) => {
            assert!(s.update(&t, &int_key(id), |_| new.clone()).unwrap());
            row.insert(new);
        }
    }
}

/// Changes, committed and rolled back, whole and to savepoints, before the eyes of readers with older views; then all is purged.
#[test]
fn entries_follow_their_rows() {
    let db = with_table(false);
    let mut rng = Rng(7);
    let mut rows = Rows::new();
    let mut writer = db.session();
    let mut reader = db.session();
    let mut seen = Rows::new();
    reader.open("t");
    for round in 0..50 {
        let before = rows.clone();
        for _ in 0..1 + rng.below(4) {
            change(&mut writer, &mut rows, &mut rng);
        }
        if rng.chance(30) {
            let (kept, engine) = (rows.clone(), db.engine.clone());
            let savepoint = writer.txn().savepoint();
            change(&mut writer, &mut rows, &mut rng);
            change(&mut writer, &mut rows, &mut rng);
            engine.rollback_to(writer.txn(), savepoint).unwrap();
            rows = kept;
        }
        agrees(&mut writer, 2, &rows);
        if rng.chance(30) {
            writer.rollback();
            rows = before;
        } else {
            writer.commit();
        }
        if round % 10 == 0 {
            reader.commit();
            reader.open("t");
            seen = rows.clone();
        }
        agrees(&mut reader, 2, &seen);
    }
    reader.commit();
    db.check();
    agrees(&mut reader, 2, &rows);
}

/// What was committed is there after a crash, with its entries; what was under way is not.
#[test]
fn a_crash_leaves_entries_of_what_was_committed() {
    let mut db = with_table(false);
    let mut rng = Rng(99);
    let mut rows = Rows::new();
    for _ in 0..12 {
        let mut s = db.session();
        for _ in 0..6 {
            change(&mut s, &mut rows, &mut rng);
        }
        s.commit();
        let mut unfinished = rows.clone();
        for _ in 0..6 {
            change(&mut s, &mut unfinished, &mut rng);
        }
        // Its changes are in the log, as another transaction's commit makes them.
        let mut other = db.session();
        let t = other.open("t");
        let new = a_row(100, "a last word");
        match rows.contains_key(&100) {
            true => assert!(other.update(&t, &int_key(100), |_| new.clone()).unwrap()),
            false => other.insert(&t, &new).unwrap(),
        }
        rows.insert(100, new);
        other.commit();
        drop(t);
        std::mem::forget(s.txn.take());
        drop((s, other));
        let disk = db.disk.clone();
        drop(db);
        disk.kill();
        db = open_on(&disk);
        db.check();
        let mut s = db.session();
        agrees(&mut s, 2, &rows);
        s.commit();
    }
}

/// An index that is built from rows that are there, and one that a loaded table has.
#[test]
fn built_indexes_have_all_entries() {
    let db = open_on(&SimStorage::new());
    let mut s = db.session();
    s.create(table(
        "t",
        &[("PRIMARY", true, &[0]), ("tenth", false, &[1])],
    ));
    let mut rng = Rng(3);
    let mut rows = Rows::new();
    for _ in 0..60 {
        change(&mut s, &mut rows, &mut rng);
    }
    s.commit();
    let index = (WORDS.to_string(), false, vec![2]);
    let owner = db.engine.owner();
    let body = b"with".to_vec();
    db.engine
        .create_index_beside(&owner, (D, "t"), index, body, Beside::Writes)
        .unwrap();
    agrees(&mut s, 2, &rows);
    s.commit();
    db.check();
}

/// A word that two rows may not have: neither by INSERT nor by UPDATE, but one row may keep its own.
#[test]
fn words_may_be_unique() {
    let db = with_table(true);
    let mut s = db.session();
    let t = s.open("t");
    s.insert(&t, &a_row(1, "a b c")).unwrap();
    s.insert(&t, &a_row(2, "d e")).unwrap();
    let refused = |r: Result<()>| assert!(matches!(r, Err(Error::DuplicateKey { index: 2 })));
    refused(s.insert(&t, &a_row(3, "x c")));
    let update = |s: &mut Session, id, text: &str| {
        s.update(&t, &int_key(id), |_| a_row(id, text)).map(|_| ())
    };
    refused(update(&mut s, 2, "d a"));
    update(&mut s, 1, "b c f").unwrap();
    update(&mut s, 2, "d a").unwrap();
    s.insert(&t, &a_row(3, "x")).unwrap();
    let (mut key, mut row) = (Vec::new(), Vec::new());
    let txn = s.txn();
    let found = t.find_duplicate(txn, 2, &a_row(9, "y f"), &mut key, &mut row);
    assert!(found.unwrap());
    assert_eq!(row, a_row(1, "b c f"));
    s.commit();
    db.check();
}

/// Temporary tables have such indexes, too.
#[test]
fn temporary_tables_have_entries() {
    let db = open_on(&SimStorage::new());
    let mut s = db.session();
    let new = table("t", &[("PRIMARY", true, &[0]), (WORDS, false, &[2])]);
    let t = db.engine.create_temporary(new).unwrap();
    for id in 0..3 {
        s.insert(&t, &a_row(id, "a b")).unwrap();
    }
    s.commit();
    s.update(&t, &int_key(1), |_| a_row(1, "b c")).unwrap();
    s.delete(&t, &int_key(2)).unwrap();
    let seen = |s: &mut Session| s.rows(&t, 1);
    let [zero, one] = [a_row(0, "a b"), a_row(1, "b c")];
    assert_eq!(seen(&mut s), [zero.clone(), zero.clone(), one.clone(), one]);
    s.rollback();
    assert_eq!(seen(&mut s).len(), 6);
    s.commit();
}

//! Several transactions, interleaved in one thread, against a model in memory. Where a transaction would wait it
//! gets a timeout at once, so every step ends and runs are the same but for the background threads.

mod common;
use common::*;
use millpond_store::*;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

type Key = i64;

#[derive(Clone, PartialEq, Eq)]
struct Row {
    id: i64,
    b: i64,
    c: Option<i64>,
    pad: Vec<u8>,
}

impl std::fmt::Debug for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let pad = (self.pad.len(), self.pad.first());
        write!(f, "{} b {} c {:?} pad {pad:?}", self.id, self.b, self.c)
    }
}

impl Row {
    fn bytes(&self) -> Vec<u8> {
        let (id, b, c) = (int(self.id), int(self.b), self.c.map(int));
        row(&[Some(&id), Some(&b), c.as_deref(), Some(&self.pad)])
    }
    fn of(bytes: &[u8]) -> Row {
        let f = fields(bytes);
        let one = |f: &Option<Vec<u8>>| {
            f.as_ref()
                .map(|b| (u64::from_be_bytes(b[..].try_into().unwrap()) ^ (1 << 63)) as i64)
        };
        Row {
            id: one(&f[0]).unwrap(),
            b: one(&f[1]).unwrap(),
            c: one(&f[2]),
            pad: f[3].clone().unwrap(),
        }
    }
    /// What it sorts by in an index.
    fn sort_key(&self, index: usize) -> (i64, i64) {
        match index {
            0 => (self.id, 0),
            1 => (self.b, self.id),
            _ => (self.c.unwrap_or(i64::MIN), self.id),
        }
    }
    fn part(&self, index: usize) -> Option<i64> {
        match index {
            0 => Some(self.id),
            1 => Some(self.b),
            _ => self.c,
        }
    }
}

type State = BTreeMap<Key, Row>;
type Changes = BTreeMap<Key, Option<Row>>;

fn apply(state: &State, changes: &Changes) -> State {
    let mut state = state.clone();
    for (k, row) in changes {
        match row {
            Some(row) => drop(state.insert(*k, row.clone())),
            None => drop(state.remove(k)),
        }
    }
    state
}

/// A range that a transaction read with locks: nobody may change what is in it.
#[derive(Clone, Debug)]
struct Locked {
    index: usize,
    low: i64,
    high: i64,
}

struct Party {
    session: Session,
    table: Option<Arc<Table>>,
    changes: Changes,
    /// What its view shows, without its own changes.
    snapshot: Option<State>,
    savepoints: Vec<(Savepoint, Changes)>,
    locked: Vec<Locked>,
    /// Keys it read with locks.
    keys: Vec<Key>,
}

struct World {
    db: Option<Db>,
    rng: Rng,
    committed: State,
    parties: Vec<Party>,
    /// The last steps, for people.
    log: Vec<String>,
}

const IDS: u64 = 60;
const PARTIES: usize = 4;
const INDEXES: usize = 3;

impl World {
    fn new(seed: u64) -> World {
        let db = Db::new();
        let s = db.session();
        s.create(table(
            "t",
            &[
                ("PRIMARY", true, &[0]),
                ("b", false, &[1]),
                ("c", true, &[2]),
            ],
        ));
        let mut w = World {
            db: Some(db),
            rng: Rng(seed),
            committed: State::new(),
            parties: Vec::new(),
            log: Vec::new(),
        };
        w.connect();
        w
    }

    fn connect(&mut self) {
        let db = self.db.as_ref().unwrap();
        self.parties = (0..PARTIES)
            .map(|i| {
                let session = db.at(match i {
                    0 => Isolation::ReadCommitted,
                    1 => Isolation::ReadUncommitted,
                    _ => Isolation::RepeatableRead,
                });
                session.owner.set_row_timeout(0);
                Party {
                    session,
                    table: None,
                    changes: Changes::new(),
                    snapshot: None,
                    savepoints: Vec::new(),
                    locked: Vec::new(),
                    keys: Vec::new(),
                }
            })
            .collect();
    }

    fn note(&mut self, what: String) {
        if self.log.len() > 60 {
            self.log.remove(0);
        }
        self.log.push(what);
    }

    fn table(&mut self, i: usize) -> Arc<Table> {
        let p = &mut self.parties[i];
        match &p.table {
            Some(t) => t.clone(),
            None => p.table.insert(p.session.open("t")).clone(),
        }
    }

    /// What a consistent read of party `i` shows.
    fn view(&mut self, i: usize) -> State {
        match self.parties[i].session.isolation {
            Isolation::ReadUncommitted => {
                let mut all = self.committed.clone();
                for p in &self.parties {
                    all = apply(&all, &p.changes);
                }
                all
            }
            Isolation::ReadCommitted => apply(&self.committed, &self.parties[i].changes),
            _ => {
                let committed = &self.committed;
                let p = &mut self.parties[i];
                let snapshot = p.snapshot.get_or_insert_with(|| committed.clone());
                apply(snapshot, &p.changes)
            }
        }
    }

    /// What party `i` changes and reads with locks: the newest committed rows and its own.
    fn newest(&self, i: usize) -> State {
        apply(&self.committed, &self.parties[i].changes)
    }

    fn others_changed(&self, i: usize, key: Key) -> bool {
        let mut others = self.parties.iter().enumerate().filter(|(j, _)| *j != i);
        others.any(|(_, p)| p.changes.contains_key(&key))
    }

    fn someone_else_is_open(&self, i: usize) -> bool {
        let mut others = self.parties.iter().enumerate().filter(|(j, _)| *j != i);
        others.any(|(_, p)| p.table.is_some())
    }

    /// Party `i` has changed `old` to `new`: it must have had the right to.
    fn changed(&mut self, i: usize, old: Option<Row>, new: Option<Row>) {
        for row in [&old, &new].into_iter().flatten() {
            assert!(
                !self.others_changed(i, row.id),
                "a lock was ignored: {:?}",
                self.log
            );
        }
        for (j, p) in self.parties.iter().enumerate().filter(|(j, _)| *j != i) {
            if let Some(old) = &old {
                assert!(
                    !p.keys.contains(&old.id),
                    "{j} had locked the row: {:?}",
                    self.log
                );
            }
            for l in &p.locked {
                if let Some(part) = new.as_ref().and_then(|n| n.part(l.index)) {
                    let moved = old.as_ref().is_none_or(|o| {
                        o.sort_key(l.index) != new.as_ref().unwrap().sort_key(l.index)
                    });
                    assert!(
                        !moved || part < l.low || part > l.high,
                        "a phantom in {j}'s {l:?}: {:?}",
                        self.log
                    );
                }
            }
        }
        if old == new {
            // As in MySQL an update to what is there already writes nothing: a snapshot goes on showing
            // what it did. But the row is locked.
            self.parties[i].keys.extend(old.map(|o| o.id));
            return;
        }
        let changes = &mut self.parties[i].changes;
        if let Some(old) = old {
            changes.insert(old.id, None);
        }
        if let Some(new) = new {
            changes.insert(new.id, Some(new));
        }
    }

    fn random_row(&mut self) -> Row {
        let r = &mut self.rng;
        let pad = match r.below(100) {
            0..80 => r.below(60),
            80..94 => r.below(3000),
            94..98 => r.below(9000),
            _ => r.below(70_000),
        };
        let fill = r.below(3) as u8;
        Row {
            id: r.below(IDS) as i64,
            b: r.below(8) as i64,
            c: (!r.chance(20)).then(|| r.below(100) as i64),
            pad: vec![fill; pad as usize],
        }
    }

    fn insert(&mut self, i: usize) {
        let new = self.random_row();
        let t = self.table(i);
        let newest = self.newest(i);
        let result = self.parties[i].session.insert(&t, &new.bytes());
        self.note(format!(
            "{i} insert {} b {} c {:?}: {result:?}",
            new.id, new.b, new.c
        ));
        let taken = |r: &Row| new.c.is_some() && r.c == new.c;
        match result {
            Ok(()) => {
                assert!(!newest.contains_key(&new.id), "{:?}", self.log);
                assert!(!newest.values().any(taken), "{:?}", self.log);
                self.changed(i, None, Some(new));
            }
            Err(Error::DuplicateKey { index: 0 }) => {
                assert!(newest.contains_key(&new.id), "{:?}", self.log)
            }
            Err(Error::DuplicateKey { index: 2 }) => {
                assert!(newest.values().any(taken), "{:?}", self.log)
            }
            Err(Error::LockWaitTimeout) => assert!(self.someone_else_is_open(i)),
            Err(e) => panic!("{e}: {:?}", self.log),
        }
    }

    fn update(&mut self, i: usize) {
        let id = self.rng.below(IDS) as i64;
        let random = self.random_row();
        let what = self.rng.below(6);
        let t = self.table(i);
        let newest = self.newest(i);
        let mut new = None;
        let result = self.parties[i].session.update(&t, &int_key(id), |old| {
            let mut row = Row::of(old);
            match what {
                0 => row.b = random.b,
                1 => row.c = random.c,
                2 => row.pad = random.pad.clone(),
                3 => row.id = random.id,
                4 => row.b = row.b.wrapping_add(1),
                _ => {
                    row = Row {
                        id,
                        ..random.clone()
                    }
                }
            }
            let bytes = row.bytes();
            new = Some(row);
            bytes
        });
        self.note(format!(
            "{i} update {id} to {:?}: {result:?}",
            new.as_ref().map(|n| (n.id, n.b, n.c, n.pad.len()))
        ));
        let there = newest.get(&id).cloned();
        match result {
            Ok(false) => {
                assert!(there.is_none(), "{:?}", self.log);
            }
            Ok(true) => {
                let (old, new) = (there.expect("a row"), new.unwrap());
                let clash = |r: &&Row| r.id != id && new.c.is_some() && r.c == new.c;
                assert!(newest.values().find(clash).is_none(), "{:?}", self.log);
                assert!(new.id == id || !newest.contains_key(&new.id));
                self.changed(i, Some(old), Some(new));
            }
            Err(Error::DuplicateKey { .. }) => {
                let new = new.unwrap();
                let clash =
                    |r: &&Row| r.id != id && ((new.c.is_some() && r.c == new.c) || r.id == new.id);
                assert!(newest.values().find(clash).is_some(), "{:?}", self.log);
            }
            Err(Error::LockWaitTimeout) => assert!(self.someone_else_is_open(i)),
            Err(e) => panic!("{e}: {:?}", self.log),
        }
    }

    fn delete(&mut self, i: usize) {
        let id = self.rng.below(IDS) as i64;
        let t = self.table(i);
        let there = self.newest(i).get(&id).cloned();
        let result = self.parties[i].session.delete(&t, &int_key(id));
        self.note(format!("{i} delete {id}: {result:?}"));
        match result {
            Ok(found) => {
                assert_eq!(found, there.is_some(), "{:?}", self.log);
                if found {
                    self.changed(i, there, None);
                }
            }
            Err(Error::LockWaitTimeout) => assert!(self.someone_else_is_open(i)),
            Err(e) => panic!("{e}: {:?}", self.log),
        }
    }

    fn read(&mut self, i: usize) {
        let t = self.table(i);
        let view = self.view(i);
        let index = self.rng.below(INDEXES as u64) as usize;
        if self.rng.chance(30) && index != 1 {
            let k = self.rng.below(100) as i64;
            let found = self.parties[i].session.get(&t, index, &int_key(k));
            let expected = view.values().find(|r| r.part(index) == Some(k));
            self.note(format!("{i} get {index} {k}"));
            assert_eq!(
                found.map(|r| Row::of(&r)).as_ref(),
                expected,
                "{:?}",
                self.log
            );
            return;
        }
        let (low, high) = self.some_range();
        let backward = self.rng.chance(40);
        let rows = self.scan(i, &t, index, low, high, backward, ReadMode::Consistent);
        self.note(format!(
            "{i} scan {index} {low}..={high} backward {backward}"
        ));
        let expected = expected(&view, index, low, high, backward);
        assert_eq!(rows.unwrap(), expected, "{:?}", self.log);
    }

    fn some_range(&mut self) -> (i64, i64) {
        let low = self.rng.below(70) as i64 - 5;
        let width = if self.rng.chance(20) {
            1000
        } else {
            self.rng.below(20) as i64
        };
        (low, low + width)
    }

    #[expect(clippy::too_many_arguments)]
    fn scan(
        &mut self,
        i: usize,
        t: &Table,
        index: usize,
        low: i64,
        high: i64,
        backward: bool,
        mode: ReadMode,
    ) -> Result<Vec<Row>> {
        let dir = if backward {
            Direction::Backward
        } else {
            Direction::Forward
        };
        let rows = self.parties[i]
            .session
            .scan(t, index, range(low, high), dir, mode);
        Ok(rows?.iter().map(|r| Row::of(r)).collect())
    }

    fn locking_read(&mut self, i: usize) {
        let t = self.table(i);
        let index = self.rng.below(INDEXES as u64) as usize;
        let newest = self.newest(i);
        let lock = if self.rng.chance(50) {
            LockMode::Shared
        } else {
            LockMode::Exclusive
        };
        let policy = if self.rng.chance(20) {
            WaitPolicy::SkipLocked
        } else {
            WaitPolicy::Wait
        };
        let mode = ReadMode::Locking(lock, policy);
        let gaps = self.parties[i].session.isolation == Isolation::RepeatableRead;
        let (low, high, rows) = if self.rng.chance(40) && index != 1 {
            let k = self.rng.below(100) as i64;
            let row = self.parties[i].session.read(&t, index, &int_key(k), mode);
            self.note(format!(
                "{i} locking get {index} {k} {mode:?}: {:?}",
                row.as_ref().map(|r| r.is_some())
            ));
            (
                k,
                k,
                row.map(|r| r.iter().map(|r| Row::of(r)).collect::<Vec<_>>()),
            )
        } else {
            let (low, high) = self.some_range();
            let rows = self.scan(i, &t, index, low, high, false, mode);
            self.note(format!(
                "{i} locking scan {index} {low}..={high} {mode:?}: {:?}",
                rows.as_ref().map(|r| r.len())
            ));
            (low, high, rows)
        };
        match rows {
            Ok(rows) => {
                let expected = expected(&newest, index, low, high, false);
                if policy == WaitPolicy::SkipLocked {
                    assert!(rows.iter().all(|r| expected.contains(r)), "{:?}", self.log);
                } else {
                    assert_eq!(rows, expected, "{:?}", self.log);
                    if gaps {
                        self.parties[i].locked.push(Locked { index, low, high });
                    }
                }
                for row in &rows {
                    assert!(!self.others_changed(i, row.id), "{:?}", self.log);
                    self.parties[i].keys.push(row.id);
                }
            }
            Err(Error::LockWaitTimeout) => assert!(self.someone_else_is_open(i)),
            Err(e) => panic!("{e}: {:?}", self.log),
        }
    }

    fn end(&mut self, i: usize) {
        let p = &mut self.parties[i];
        if p.table.take().is_none() {
            return;
        }
        let changes = std::mem::take(&mut p.changes);
        p.snapshot = None;
        p.savepoints.clear();
        p.locked.clear();
        p.keys.clear();
        if self.rng.chance(65) {
            p.session.commit();
            self.committed = apply(&self.committed, &changes);
            self.note(format!("{i} commit"));
        } else {
            p.session.rollback();
            self.note(format!("{i} rollback"));
        }
    }

    fn savepoint(&mut self, i: usize) {
        self.table(i);
        let back = self.rng.chance(50);
        let p = &mut self.parties[i];
        let txn = p.session.txn.as_mut().unwrap();
        if back && let Some((to, changes)) = p.savepoints.pop() {
            p.session.engine.rollback_to(txn, to).unwrap();
            p.changes = changes;
            self.note(format!("{i} rollback to savepoint"));
        } else {
            let changes = p.changes.clone();
            p.savepoints.push((txn.savepoint(), changes));
            self.note(format!("{i} savepoint"));
        }
    }

    /// DDL, checks and crashes, with no transaction open.
    fn quiet(&mut self) {
        for i in 0..PARTIES {
            self.end(i);
        }
        let owner = self.parties[0].session.owner.clone();
        let engine = self.parties[0].session.engine.clone();
        match self.rng.below(8) {
            0 => {
                engine.truncate_table(&owner, D, "t").unwrap();
                self.committed.clear();
                self.note("truncate".into());
            }
            1 | 2 => {
                let pairs = [((D.into(), "t".into()), (D.into(), "u".into()))];
                engine.rename_tables(&owner, &pairs).unwrap();
                engine
                    .drop_index(&owner, D, "u", "c", b"1".to_vec())
                    .unwrap();
                let c = ("c".to_string(), true, vec![2]);
                engine
                    .create_index(&owner, D, "u", c, b"2".to_vec())
                    .unwrap();
                let [(from, to)] = pairs;
                engine.rename_tables(&owner, &[(to, from)]).unwrap();
                self.note("index rebuilt".into());
            }
            3 => self.db.as_ref().unwrap().check(),
            _ => {
                // The process dies with transactions under way.
                drop((owner, engine));
                for i in 0..PARTIES {
                    for _ in 0..4 {
                        self.insert(i);
                        self.update(i);
                        self.delete(i);
                    }
                }
                // Transactions must not end in an orderly way when their sessions go.
                for p in self.parties.drain(..) {
                    if let Some(txn) = p.session.txn {
                        std::mem::forget(txn);
                    }
                }
                let db = self.db.take().unwrap().crash();
                // The model knows nothing of the transactions that die; who reads uncommitted rows would see theirs.
                wait_until(|| {
                    let status = db.engine.status();
                    status.counter("Millpond_unfinished_transactions") == 0
                });
                self.db = Some(db);
                self.connect();
                self.note("crash".into());
            }
        }
        let t = self.table(0);
        for index in 0..INDEXES {
            let rows = self.parties[0].session.rows(&t, index);
            let rows: Vec<Row> = rows.iter().map(|r| Row::of(r)).collect();
            let mut all: Vec<Row> = self.committed.values().cloned().collect();
            all.sort_by_key(|r| r.sort_key(index));
            assert_eq!(rows, all, "index {index}: {:?}", self.log);
        }
        self.end(0);
    }

    fn step(&mut self) {
        let i = self.rng.below(PARTIES as u64) as usize;
        match self.rng.below(100) {
            0..22 => self.insert(i),
            22..42 => self.update(i),
            42..54 => self.delete(i),
            54..76 => self.read(i),
            76..84 => self.locking_read(i),
            84..90 => self.savepoint(i),
            _ => self.end(i),
        }
    }
}

fn expected(state: &State, index: usize, low: i64, high: i64, backward: bool) -> Vec<Row> {
    let in_range = |r: &&Row| r.part(index).is_some_and(|k| low <= k && k <= high);
    let mut rows: Vec<Row> = state.values().filter(in_range).cloned().collect();
    rows.sort_by_key(|r| r.sort_key(index));
    if backward {
        rows.reverse();
    }
    rows
}

fn run(seed: u64, rounds: usize) {
    let mut w = World::new(seed);
    for _ in 0..rounds {
        for _ in 0..120 {
            w.step();
        }
        w.quiet();
    }
    for i in 0..PARTIES {
        w.end(i);
    }
    w.db.as_ref().unwrap().check();
}

/// `MODEL_SEEDS=from..to` runs others than the usual few.
fn seeds() -> std::ops::Range<u64> {
    let wanted = std::env::var("MODEL_SEEDS").ok();
    let parsed = wanted.as_deref().and_then(|s| {
        let (from, to) = s.split_once("..")?;
        Some(from.parse().ok()?..to.parse().ok()?)
    });
    parsed.unwrap_or(1..5)
}

#[test]
fn transactions_agree_with_a_model() {
    for seed in seeds() {
        run(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1, 12);
    }
}

#[test]
fn ranges_of_the_toy_codec_sort() {
    let keys: Vec<Vec<u8>> = [-3, -1, 0, 1, 255, 256].map(int_key).to_vec();
    assert!(keys.is_sorted());
    assert!(matches!(range(1, 2).lower, Bound::Included(_)));
}

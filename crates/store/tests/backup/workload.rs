//! Threads that change a database at random, each one of its own in it, and what it held at which LSN.

use crate::common::*;
use millpond_store::backup::{BackupOptions, Manifest, Restored, Until, restore};
use millpond_store::engine::{NewTable, Place};
use millpond_store::io::sim::SimStorage;
use millpond_store::*;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Rows by the first field.
type Rows = BTreeMap<i64, Vec<u8>>;
/// A table's rows, and whether it has the second index.
pub type Tables = BTreeMap<String, (Rows, bool)>;

/// What a thread's database held from when on, at the latest, and from when on at the earliest.
struct Step {
    before: u64,
    after: u64,
    tables: Tables,
}

/// What the threads did, oldest first.
#[derive(Default)]
pub struct History {
    steps: Mutex<Vec<Vec<Step>>>,
    /// The threads rest.
    resting: AtomicBool,
    verified: AtomicU64,
}

const THREADS: usize = 2;
const NAMES: [&str; 4] = ["a", "b", "c", "e"];

fn database(thread: usize) -> String {
    format!("w{thread}")
}

fn a_row(id: i64, rng: &mut Rng, most: u64) -> Vec<u8> {
    let pad: Vec<u8> = (0..rng.below(most)).map(|_| rng.next() as u8).collect();
    row(&[
        Some(&int(id)),
        Some(&int(rng.below(1000) as i64)),
        Some(&pad),
    ])
}

fn definition(database: &str, name: &str, own: bool) -> NewTable {
    let mut t = table(name, &[("PRIMARY", true, &[0]), ("n", false, &[1, 0])]);
    t.database = database.into();
    t.place = Some(Place::file_per_table(own));
    t
}

struct Worker<'a> {
    db: &'a Engine,
    owner: Arc<Owner>,
    database: String,
    rng: Rng,
    tables: Tables,
    history: &'a History,
    thread: usize,
    /// Where the log ended before what is not in the history yet.
    before: u64,
}

impl Worker<'_> {
    /// What was done since the last time is committed as one, and `tables` is what there is now.
    fn record(&mut self) {
        let after = self.db.log_end();
        let step = Step {
            before: std::mem::replace(&mut self.before, after),
            after,
            tables: self.tables.clone(),
        };
        self.history.steps.lock().unwrap()[self.thread].push(step);
    }

    fn some_table(&mut self) -> Option<String> {
        let n = self.rng.below(self.tables.len().max(1) as u64) as usize;
        self.tables.keys().nth(n).cloned()
    }

    /// A statement or transaction; what the database holds after it is in `tables`.
    fn step(&mut self) -> Result<()> {
        let free = NAMES.iter().find(|n| !self.tables.contains_key(**n));
        let chosen = self.some_table();
        match (self.rng.below(100), free, chosen) {
            (0..6, Some(name), _) => {
                let own = self.rng.chance(50);
                let new = definition(&self.database, name, own);
                self.db.create_table(&self.owner, new)?;
                self.tables.insert(name.to_string(), Default::default());
            }
            (6..10, Some(name), _) => self.fill(name)?,
            (10..13, _, Some(t)) => {
                let gone = [(self.database.clone(), t.clone())];
                self.db.drop_tables(&self.owner, &gone)?;
                self.tables.remove(&t);
            }
            (13..16, _, Some(t)) => {
                self.db.truncate_table(&self.owner, &self.database, &t)?;
                self.tables.get_mut(&t).unwrap().0.clear();
            }
            (16..20, _, Some(t)) => self.change_index(&t)?,
            (20..22, Some(to), Some(t)) => {
                let full = |n: &str| (self.database.clone(), n.to_string());
                self.db
                    .rename_tables(&self.owner, &[(full(&t), full(to))])?;
                let rows = self.tables.remove(&t).unwrap();
                self.tables.insert(to.to_string(), rows);
            }
            (22..23, _, _) => {
                self.db.drop_database(&self.owner, &self.database)?;
                self.tables.clear();
                self.db.create_database(&self.owner, &self.database, b"")?;
            }
            (_, _, Some(t)) => self.rows(&t)?,
            _ => {}
        }
        Ok(())
    }

    fn change_index(&mut self, t: &str) -> Result<()> {
        let has = &mut self.tables.get_mut(t).unwrap().1;
        match *has {
            true => self
                .db
                .drop_index(&self.owner, &self.database, t, "x", b"body".to_vec())?,
            false => {
                let x = ("x".into(), true, vec![2, 1, 0]);
                let new = self
                    .db
                    .create_index(&self.owner, &self.database, t, x, b"body".to_vec());
                match new {
                    // A row's key is too long.
                    Err(Error::KeyTooLong(_)) => return Ok(()),
                    new => new?,
                }
            }
        }
        *has = !*has;
        Ok(())
    }

    /// A transaction, committed or not.
    fn rows(&mut self, t: &str) -> Result<()> {
        let commit = self.rng.chance(80);
        let (mut rows, indexed) = self.tables[t].clone();
        let most = if indexed { 300 } else { 6000 };
        let mut txn = self.db.begin(&self.owner, Isolation::RepeatableRead);
        let done = (|| {
            let table = self.db.open_table(&mut txn, &self.database, t)?;
            for _ in 0..1 + self.rng.below(12) {
                let id = self.rng.below(60) as i64;
                let old = rows.remove(&id);
                let new = (!self.rng.chance(30)).then(|| a_row(id, &mut self.rng, most));
                match (&old, &new) {
                    (Some(old), Some(new)) => table.update(&mut txn, &int_key(id), old, new)?,
                    (Some(old), None) => table.delete(&mut txn, &int_key(id), old)?,
                    (None, Some(new)) => table.insert(&mut txn, new)?,
                    (None, None) => {}
                }
                rows.extend(new.map(|new| (id, new)));
            }
            Ok(())
        })();
        if done.is_err() || !commit {
            self.db.rollback(txn)?;
            return done;
        }
        self.db.commit(txn)?;
        self.tables.get_mut(t).unwrap().0 = rows;
        Ok(())
    }

    /// Makes a table and fills it in bulk, with more pages than go through the log.
    fn fill(&mut self, name: &str) -> Result<()> {
        let own = self.rng.chance(50);
        let new = definition(&self.database, name, own);
        self.db.create_table(&self.owner, new)?;
        self.tables.insert(name.into(), Default::default());
        self.record();
        let mut txn = self.db.begin(&self.owner, Isolation::RepeatableRead);
        let mut rows = Rows::new();
        let t = self
            .db
            .open_table_for_write(&mut txn, &self.database, name)?;
        let Some((mut load, fill)) = self.db.fill(&mut txn, &t, RowOrder::Any)? else {
            panic!("nothing was ever written to it");
        };
        for id in 0..60 + self.rng.below(60) as i64 {
            let new = a_row(id, &mut self.rng, 6000);
            load.add(&new)?;
            rows.insert(id, new);
        }
        let count = load.finish().map_err(|refused| refused.error)?;
        fill.publish(&mut txn)?;
        fill.commit(txn, count)?;
        self.tables.insert(name.into(), (rows, false));
        Ok(())
    }

    fn run(&mut self, stop: &AtomicBool) {
        while !stop.load(Ordering::Relaxed) {
            if self.history.resting.load(Ordering::Relaxed) {
                std::thread::sleep(std::time::Duration::from_millis(1));
                continue;
            }
            if let Err(e) = self.step() {
                panic!("{}: {e}", self.database);
            }
            self.record();
        }
    }
}

/// Runs `f` while threads change the database.
pub fn beside_work(db: &Engine, seed: u64, f: impl FnOnce(&History)) {
    let history = History::default();
    for thread in 0..THREADS {
        db.create_database(&db.owner(), &database(thread), b"")
            .unwrap();
        let at = db.log_end();
        let step = Step {
            before: at,
            after: at,
            tables: Tables::new(),
        };
        history.steps.lock().unwrap().push(vec![step]);
    }
    let stop = AtomicBool::new(false);
    struct Stop<'a>(&'a AtomicBool);
    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    std::thread::scope(|scope| {
        // A failed comparison ends the work, too.
        let _stop = Stop(&stop);
        for thread in 0..THREADS {
            let (history, stop) = (&history, &stop);
            scope.spawn(move || {
                let mut worker = Worker {
                    db,
                    owner: db.owner(),
                    database: database(thread),
                    rng: Rng(seed * 7919 + thread as u64 + 1),
                    tables: Tables::new(),
                    history,
                    thread,
                    before: db.log_end(),
                };
                worker.run(stop);
            });
        }
        f(&history);
    });
}

impl History {
    /// Waits until each thread has done so many things more.
    pub fn wait_for(&self, steps: usize) {
        let count = || -> Vec<usize> { self.steps.lock().unwrap().iter().map(Vec::len).collect() };
        let wanted: Vec<usize> = count().into_iter().map(|n| n + steps).collect();
        wait_until(|| count().iter().zip(&wanted).all(|(n, wanted)| n >= wanted));
    }

    /// What a thread's database may have held at an LSN: what was there for sure, or what was just being made of it.
    fn at(&self, thread: usize, lsn: u64) -> Vec<Tables> {
        let all = self.steps.lock().unwrap();
        let steps = &all[thread];
        let sure = steps.iter().rposition(|s| s.after <= lsn).unwrap();
        let next = steps.get(sure + 1).filter(|s| s.before < lsn);
        let both = std::iter::once(&steps[sure]).chain(next);
        both.map(|s| s.tables.clone()).collect()
    }
}

fn contents(db: &Engine, database: &str) -> Tables {
    let mut tables = Tables::new();
    // It may have been about to be made anew.
    for name in db.tables(database).unwrap_or_default() {
        let owner = db.owner();
        let mut txn = db.begin(&owner, Isolation::RepeatableRead);
        let t = db.open_table(&mut txn, database, &name).unwrap();
        let mut rows = Rows::new();
        let (dir, mode) = (Direction::Forward, ReadMode::Consistent);
        let mut scan = t
            .scan(&mut txn, 0, everything(), dir, mode, Fetch::Row)
            .unwrap();
        while let Some(r) = scan.next(&mut txn).unwrap() {
            rows.insert(ints_of_id(r.row), r.row.to_vec());
        }
        drop(scan);
        let indexed = t.def().indexes.iter().any(|i| i.name == "x");
        tables.insert(name, (rows, indexed));
        db.commit(txn).unwrap();
    }
    tables
}

fn ints_of_id(row: &[u8]) -> i64 {
    let id = fields(row)[0].clone().unwrap();
    (u64::from_be_bytes(id.try_into().unwrap()) ^ (1 << 63)) as i64
}

pub fn take(db: &Engine, base: Option<&Manifest>) -> Result<(SimStorage, Manifest)> {
    let to = SimStorage::new();
    let options = BackupOptions {
        base: base.cloned(),
        ..BackupOptions::default()
    };
    let manifest = db.backup(&to, &options, &mut |_| Ok(()))?;
    Ok((to, manifest))
}

/// Restores backups as they are; of encrypted ones comes an encrypted database.
pub fn restored(
    backups: &[&SimStorage],
    archive: Option<(&SimStorage, Until)>,
    to: &SimStorage,
) -> Result<Restored> {
    let keys = TestKeys::many();
    let as_it_is = |s: &SimStorage| crypt::as_it_is(Arc::new(s.clone()), Some(&keys));
    let each: Result<Vec<_>> = backups.iter().map(|b| as_it_is(b)).collect();
    let each = each?;
    let each: Vec<&dyn io::Storage> = each.iter().map(|b| &**b).collect();
    let from = archive.map(|(from, _)| as_it_is(from)).transpose()?;
    let until = archive.map_or(Until::End, |(_, until)| until);
    let plain: &dyn io::Storage = to;
    match backups.iter().any(|b| crypt::is_encrypted(*b)) {
        true => {
            let to = crypt::Encrypted::create(plain, &keys)?;
            restore(&each, from.as_deref(), until, &to)
        }
        false => restore(&each, from.as_deref(), until, plain),
    }
}

/// How often everything is verified.
const CHECK_EACH: u64 = 5;

/// Restores, opens, compares with what there was at the LSN it is of, which is returned, and verifies now and then. The threads rest meanwhile.
pub fn verify(
    backups: &[&SimStorage],
    archive: Option<(&SimStorage, Until)>,
    history: &History,
) -> u64 {
    history.resting.store(true, Ordering::Relaxed);
    let to = SimStorage::new();
    let restored = restored(backups, archive, &to).unwrap();
    // Nothing of it is lost with the power.
    to.restart(|| false);
    let db = Db::on(to);
    for thread in 0..THREADS {
        let found = contents(&db.engine, &database(thread));
        let may = history.at(thread, restored.lsn);
        if !may.contains(&found) {
            let names = |t: &Tables| -> Vec<(String, usize, bool)> {
                let each = t.iter().map(|(n, (r, x))| (n.clone(), r.len(), *x));
                each.collect()
            };
            let may: Vec<_> = may.iter().map(names).collect();
            let (lsn, found) = (restored.lsn, names(&found));
            panic!("at LSN {lsn} thread {thread} has {found:?}, and it should be one of {may:?}");
        }
    }
    let verified = history.verified.fetch_add(1, Ordering::Relaxed);
    if verified.is_multiple_of(CHECK_EACH) {
        db.check();
        db.engine.close().unwrap();
    }
    history.resting.store(false, Ordering::Relaxed);
    restored.lsn
}

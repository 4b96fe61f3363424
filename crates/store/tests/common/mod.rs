//! What the store's tests share: a toy row format, and shorthands.
#![allow(dead_code)]

use millpond_store::engine::{CopiedParts, CopiedTable, NewTable};
use millpond_store::hash_index::HashOptions;
use millpond_store::io::sim::{OpKind, SimStorage, Step};
use millpond_store::log::FlushAtCommit;
use millpond_store::*;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A row: fields, each NULL or bytes.
pub type Fields = Vec<Option<Vec<u8>>>;

/// Encodes a row: per field a length (0xffff: NULL; 0xfffe: a u32 length follows) and bytes.
pub fn row(fields: &[Option<&[u8]>]) -> Vec<u8> {
    let mut out = Vec::new();
    for f in fields {
        match f {
            None => out.extend_from_slice(&0xffff_u16.to_le_bytes()),
            Some(b) => {
                if b.len() < 0xfffe {
                    out.extend_from_slice(&(b.len() as u16).to_le_bytes());
                } else {
                    out.extend_from_slice(&0xfffe_u16.to_le_bytes());
                    out.extend_from_slice(&(b.len() as u32).to_le_bytes());
                }
                out.extend_from_slice(b);
            }
        }
    }
    out
}

/// A row of integers.
pub fn ints(values: &[i64]) -> Vec<u8> {
    let fields: Vec<Vec<u8>> = values.iter().map(|v| int(*v)).collect();
    row(&fields.iter().map(|f| Some(&f[..])).collect::<Vec<_>>())
}

/// An integer as field bytes that sort.
pub fn int(v: i64) -> Vec<u8> {
    ((v as u64) ^ (1 << 63)).to_be_bytes().to_vec()
}

pub fn fields(mut row: &[u8]) -> Fields {
    let mut out = Vec::new();
    while !row.is_empty() {
        let mut len = usize::from(u16::from_le_bytes([row[0], row[1]]));
        row = &row[2..];
        if len == 0xffff {
            out.push(None);
            continue;
        }
        if len == 0xfffe {
            len = u32::from_le_bytes(row[..4].try_into().unwrap()) as usize;
            row = &row[4..];
        }
        out.push(Some(row[..len].to_vec()));
        row = &row[len..];
    }
    out
}

/// Integers of a row made by [`ints`].
pub fn ints_of(row: &[u8]) -> Vec<i64> {
    let one = |f: Option<Vec<u8>>| {
        let b: [u8; 8] = f.unwrap().try_into().unwrap();
        (u64::from_be_bytes(b) ^ (1 << 63)) as i64
    };
    fields(row).into_iter().map(one).collect()
}

/// Key of some fields: NULL sorts first, values are terminated so that no key is another's prefix.
pub fn key_of(fields: &[Option<&[u8]>]) -> Vec<u8> {
    let mut out = Vec::new();
    for f in fields {
        put_field(*f, &mut out);
    }
    out
}

pub fn int_key(v: i64) -> Vec<u8> {
    key_of(&[Some(&int(v))])
}

fn put_field(f: Option<&[u8]>, out: &mut Vec<u8>) {
    match f {
        None => out.push(0),
        Some(b) => {
            out.push(1);
            for &x in b {
                out.push(x);
                if x == 0 {
                    out.push(0xff);
                }
            }
            out.extend_from_slice(&[0, 1]);
        }
    }
}

/// Keys are fields; an index's body lists their numbers.
pub struct ToyCodec(Vec<Vec<u8>>);

impl KeyCodec for ToyCodec {
    fn key(&self, index: usize, row: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        let fields = fields(row);
        let mut null = false;
        for &n in &self.0[index] {
            let f = fields[n as usize].as_deref();
            null |= f.is_none();
            put_field(f, out);
        }
        Ok(null)
    }
}

pub struct ToyCodecs;

impl CodecFactory for ToyCodecs {
    fn codec(&self, def: &TableDef) -> Result<Arc<dyn KeyCodec>> {
        let bodies = def.indexes.iter().map(|i| i.body.clone());
        Ok(Arc::new(ToyCodec(bodies.collect())))
    }
}

pub fn options() -> Options {
    Options {
        pool_bytes: 5 << 20,
        pool_instances: 1,
        log_bytes: 4 << 20,
        flush_at_commit: FlushAtCommit::Sync,
        file_per_table: false,
        // Every page that is searched gets entries.
        hash_index: HashOptions::EAGER,
        ..Options::default()
    }
}

/// A keyring in memory, which has a key more after each rotation.
#[derive(Debug, Default)]
pub struct TestKeys(AtomicU64);

impl TestKeys {
    /// As after many rotations.
    pub fn many() -> TestKeys {
        TestKeys(AtomicU64::new(100))
    }
}

impl std::fmt::Display for TestKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the tests' keyring")
    }
}

impl crypt::Keyring for TestKeys {
    fn keys(&self) -> Result<Vec<crypt::MasterKey>> {
        let key = |n: u64| crypt::MasterKey {
            id: format!("key {n}"),
            key: [n as u8; crypt::KEY],
        };
        Ok((0..=self.0.load(Ordering::Relaxed)).map(key).collect())
    }
    fn rotate(&self) -> Result<crypt::MasterKey> {
        self.0.fetch_add(1, Ordering::Relaxed);
        self.current()
    }
}

/// The same with a keyring.
pub fn encrypted(options: Options) -> Options {
    Options {
        keyring: Some(Arc::new(TestKeys::default())),
        ..options
    }
}

/// An open engine, and the disk under it.
pub struct Db {
    pub engine: Engine,
    pub disk: SimStorage,
}

impl Db {
    pub fn new() -> Db {
        Db::on(SimStorage::new())
    }
    pub fn on(disk: SimStorage) -> Db {
        Db {
            engine: open(&disk).unwrap(),
            disk,
        }
    }
    /// A new one that is encrypted.
    pub fn encrypted() -> Db {
        let disk = SimStorage::new();
        Db {
            engine: open_with(&disk, encrypted(options())).unwrap(),
            disk,
        }
    }
    pub fn session(&self) -> Session {
        Session {
            engine: self.engine.clone(),
            owner: self.engine.owner(),
            txn: None,
            isolation: Isolation::RepeatableRead,
        }
    }
    /// A new session at an isolation level.
    pub fn at(&self, isolation: Isolation) -> Session {
        Session {
            isolation,
            ..self.session()
        }
    }
    /// Kills the process and recovers.
    pub fn crash(self) -> Db {
        let disk = self.disk.clone();
        drop(self);
        disk.kill();
        Db::on(disk)
    }
    /// Waits until everything that purge and the reclaimer have to do is done.
    pub fn settled(&self) {
        wait_until(|| {
            let status = self.engine.status();
            status.counter("Millpond_unfinished_transactions") == 0
                && status.counter("Innodb_history_list_length") == 0
                && status.counter("Millpond_reclaimer_active") == 0
        });
    }
    /// Nothing is wrong, once all history is purged.
    pub fn check(&self) {
        self.settled();
        let problems = self.engine.check().unwrap();
        assert!(problems.is_empty(), "{problems:#?}");
    }
}

/// Copies say what the model says.
pub struct AsTheyAre;

impl CopiedParts for AsTheyAre {
    fn table(&mut self, def: &TableDef) -> Result<CopiedTable> {
        Ok(CopiedTable {
            body: def.body.clone(),
            partition_body: None,
            references: References::default(),
        })
    }
    fn object(&mut self, object: &Object) -> Result<Vec<u8>> {
        Ok(object.body.clone())
    }
}

/// Polls for something that background threads bring about.
pub fn wait_until(f: impl Fn() -> bool) {
    let start = std::time::Instant::now();
    while !f() {
        assert!(start.elapsed().as_secs() < 30, "it does not happen");
        std::thread::yield_now();
    }
}

pub trait Counters {
    fn counter(&self, name: &str) -> u64;
}

impl Counters for engine::EngineStatus {
    fn counter(&self, name: &str) -> u64 {
        self.counters.iter().find(|(n, _)| *n == name).unwrap().1
    }
}

pub fn open(disk: &SimStorage) -> Result<Engine> {
    open_with(disk, options())
}

/// Opens what is on the disk; by [`TestKeys`], if it is encrypted and the options have no keyring.
pub fn open_with(disk: &SimStorage, mut options: Options) -> Result<Engine> {
    if crypt::is_encrypted(disk) && options.keyring.is_none() {
        options.keyring = Some(Arc::new(TestKeys::many()));
    }
    Engine::open(Arc::new(disk.clone()), options, Arc::new(ToyCodecs))
}

/// One connection's worth of state.
pub struct Session {
    pub engine: Engine,
    pub owner: Arc<Owner>,
    pub txn: Option<Txn>,
    pub isolation: Isolation,
}

pub const D: &str = "d";

/// A table definition: name and indexes as (name, unique, fields).
pub fn table(name: &str, indexes: &[(&str, bool, &[u8])]) -> NewTable {
    NewTable {
        database: D.into(),
        name: name.into(),
        hidden_row_id: false,
        place: None,
        indexes: indexes
            .iter()
            .map(|(n, u, f)| (n.to_string(), *u, f.to_vec()))
            .collect(),
        body: b"body".to_vec(),
        auto_increment: 0,
    }
}

pub fn everything() -> KeyRange {
    KeyRange {
        lower: Bound::Unbounded,
        upper: Bound::Unbounded,
    }
}

pub fn range(lower: i64, upper: i64) -> KeyRange {
    KeyRange {
        lower: Bound::Included(int_key(lower)),
        upper: Bound::Included(int_key(upper)),
    }
}

impl Session {
    pub fn create(&self, t: NewTable) {
        match self.engine.create_database(&self.owner, &t.database, b"") {
            Ok(()) | Err(Error::DatabaseExists(_)) => {}
            Err(e) => panic!("{e}"),
        }
        self.engine.create_table(&self.owner, t).unwrap();
    }
    pub fn begin(&mut self) -> &mut Txn {
        assert!(self.txn.is_none());
        self.txn
            .insert(self.engine.begin(&self.owner, self.isolation))
    }
    /// The open transaction, begun if need be, at a new statement.
    pub fn txn(&mut self) -> &mut Txn {
        let txn = self
            .txn
            .get_or_insert_with(|| self.engine.begin(&self.owner, self.isolation));
        self.engine.statement(txn);
        txn
    }
    pub fn commit(&mut self) {
        self.engine.commit(self.txn.take().unwrap()).unwrap();
    }
    pub fn rollback(&mut self) {
        self.engine.rollback(self.txn.take().unwrap()).unwrap();
    }
    pub fn open(&mut self, name: &str) -> Arc<Table> {
        let engine = self.engine.clone();
        engine.open_table(self.txn(), D, name).unwrap()
    }
    pub fn insert(&mut self, t: &Table, row: &[u8]) -> Result<()> {
        t.insert(self.txn(), row)
    }
    /// Replaces the row under a clustered key by what `f` makes of it; `false` if there is none.
    pub fn update(
        &mut self,
        t: &Table,
        key: &[u8],
        f: impl FnOnce(&[u8]) -> Vec<u8>,
    ) -> Result<bool> {
        let (mut ck, mut old) = (Vec::new(), Vec::new());
        let txn = self.txn();
        let mode = ReadMode::Locking(LockMode::Exclusive, WaitPolicy::Wait);
        if !t.get(txn, 0, key, mode, &mut ck, &mut old)? {
            return Ok(false);
        }
        t.update(txn, &ck, &old, &f(&old))?;
        Ok(true)
    }
    pub fn delete(&mut self, t: &Table, key: &[u8]) -> Result<bool> {
        let (mut ck, mut old) = (Vec::new(), Vec::new());
        let txn = self.txn();
        let mode = ReadMode::Locking(LockMode::Exclusive, WaitPolicy::Wait);
        if !t.get(txn, 0, key, mode, &mut ck, &mut old)? {
            return Ok(false);
        }
        t.delete(txn, &ck, &old)?;
        Ok(true)
    }
    pub fn get(&mut self, t: &Table, index: usize, key: &[u8]) -> Option<Vec<u8>> {
        self.read(t, index, key, ReadMode::Consistent).unwrap()
    }
    pub fn read(
        &mut self,
        t: &Table,
        index: usize,
        key: &[u8],
        mode: ReadMode,
    ) -> Result<Option<Vec<u8>>> {
        let (mut ck, mut row) = (Vec::new(), Vec::new());
        let found = t.get(self.txn(), index, key, mode, &mut ck, &mut row)?;
        Ok(found.then_some(row))
    }
    pub fn rows(&mut self, t: &Table, index: usize) -> Vec<Vec<u8>> {
        self.scan(
            t,
            index,
            everything(),
            Direction::Forward,
            ReadMode::Consistent,
        )
        .unwrap()
    }
    pub fn scan(
        &mut self,
        t: &Table,
        index: usize,
        range: KeyRange,
        dir: Direction,
        mode: ReadMode,
    ) -> Result<Vec<Vec<u8>>> {
        let txn = self.txn();
        let mut scan = t.scan(txn, index, range, dir, mode, Fetch::Row)?;
        let mut rows = Vec::new();
        while let Some(r) = scan.next(txn)? {
            rows.push(r.row.to_vec());
        }
        Ok(rows)
    }
    pub fn ints(&mut self, t: &Table, index: usize) -> Vec<Vec<i64>> {
        self.rows(t, index).iter().map(|r| ints_of(r)).collect()
    }
}

/// A small deterministic generator.
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
    pub fn below(&mut self, n: u64) -> u64 {
        (self.next() >> 16) % n
    }
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// Counts the steps that change the disk, and cuts the power at number `at`.
pub fn cut_at(disk: &SimStorage, at: u64) -> Arc<AtomicU64> {
    let steps = Arc::new(AtomicU64::new(0));
    let count = steps.clone();
    disk.on_step(move |kind, _| {
        if kind == OpKind::Read {
            return Step::Go;
        }
        match count.fetch_add(1, Ordering::Relaxed) {
            n if n == at => Step::Cut,
            _ => Step::Go,
        }
    });
    steps
}

//! Open tables, by name for statements and by id for undo and purge.
//!
//! The map by id is the one that counts: it holds the one object in force per table. The map by name is a way
//! to it and holds only objects opened under their metadata lock. A shard of the map by id also has a *load lock*: loading a table, closing
//! it and burying its spaces exclude one another.
//!
//! **Eviction.** Tables that nobody uses (no plan, no statement) are closed, those opened or found longest ago first, when a shard has more than
//! its part of the number or of the bytes that open tables may have. Time is counted in tables loaded, by shard. Bytes are estimated when a
//! table is opened. Tables in use may exceed either.
//!
//! Lock order: load lock, name shard, id shard.

use crate::error::Result;
use crate::table::Table;
use crate::wait::{self, Class};
use hashbrown::{DefaultHashBuilder, HashMap};
use parking_lot::{Mutex, MutexGuard};
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

const SHARDS: usize = 64;
/// Of its part a shard gives up one in so many at a time.
const FRACTION: usize = 8;

type CacheMutex<T> = wait::Mutex<T, { Class::CatalogCache as usize }>;

#[derive(Default)]
struct IdShard {
    load: wait::Mutex<(), { Class::CatalogLoad as usize }>,
    map: CacheMutex<Open>,
    /// Tables loaded so far.
    clock: AtomicU64,
    /// Above as many the shard is trimmed, if that is more than its part; raised while tables in use exceed it.
    limit: Mutex<Size>,
}

/// Open tables by id.
#[derive(Default)]
struct Open {
    tables: HashMap<u64, Arc<Table>>,
    bytes: usize,
}

/// How many tables there are, and their bytes.
#[derive(Clone, Copy, Default)]
struct Size {
    tables: usize,
    bytes: usize,
}

impl Size {
    fn exceeds(self, other: Size) -> bool {
        self.tables > other.tables || self.bytes > other.bytes
    }
    fn max(self, other: Size) -> Size {
        Size {
            tables: self.tables.max(other.tables),
            bytes: self.bytes.max(other.bytes),
        }
    }
}

impl Open {
    fn size(&self) -> Size {
        Size {
            tables: self.tables.len(),
            bytes: self.bytes,
        }
    }
    fn insert(&mut self, table: &Arc<Table>) {
        self.bytes += table.memory();
        if let Some(old) = self.tables.insert(table.def.id, table.clone()) {
            self.bytes -= old.memory();
        }
    }
    fn remove(&mut self, id: u64) -> Option<Arc<Table>> {
        let table = self.tables.remove(&id)?;
        self.bytes -= table.memory();
        Some(table)
    }
}

type Names = HashMap<Box<str>, Arc<Table>>;

pub(super) struct Cache {
    hasher: DefaultHashBuilder,
    names: Box<[CacheMutex<Names>]>,
    ids: Box<[IdShard]>,
    /// What all shards may have.
    most_tables: AtomicUsize,
    most_bytes: AtomicUsize,
}

impl Cache {
    /// An empty cache for so many tables, and bytes.
    pub fn new(tables: usize, bytes: usize) -> Cache {
        Cache {
            hasher: DefaultHashBuilder::default(),
            names: (0..SHARDS).map(|_| CacheMutex::default()).collect(),
            ids: (0..SHARDS).map(|_| IdShard::default()).collect(),
            most_tables: AtomicUsize::new(tables),
            most_bytes: AtomicUsize::new(bytes),
        }
    }

    /// Changes how many tables are kept open; fewer are as others are opened.
    pub fn set_tables(&self, tables: usize) {
        self.most_tables.store(tables, Ordering::Relaxed);
    }

    /// What a shard may have.
    fn part(&self) -> Size {
        Size {
            tables: (self.most_tables.load(Ordering::Relaxed) / SHARDS).max(1),
            bytes: self.most_bytes.load(Ordering::Relaxed) / SHARDS,
        }
    }

    /// Notes that a table was looked for.
    fn touch(&self, table: &Table) {
        let now = self.ids(table.def.id).clock.load(Ordering::Relaxed);
        let used = &table.core.used;
        if used.load(Ordering::Relaxed) != now {
            used.store(now, Ordering::Relaxed);
        }
    }

    fn names(&self, name: &str) -> &CacheMutex<Names> {
        &self.names[self.hasher.hash_one(name) as usize % SHARDS]
    }

    fn ids(&self, id: u64) -> &IdShard {
        &self.ids[id as usize % SHARDS]
    }

    pub fn by_name(&self, name: &str) -> Option<Arc<Table>> {
        let table = self.names(name).lock().get(name).cloned()?;
        self.touch(&table);
        Some(table)
    }

    pub fn by_id(&self, id: u64) -> Option<Arc<Table>> {
        self.ids(id).map.lock().tables.get(&id).cloned()
    }

    /// The load lock of a table's shard.
    pub fn loading(&self, id: u64) -> MutexGuard<'_, ()> {
        self.ids(id).load.lock()
    }

    /// The object of this version, made with `make` from the present one if that is another. The caller holds the load
    /// lock.
    pub fn adopt(
        &self,
        id: u64,
        version: u32,
        make: impl FnOnce(Option<&Arc<Table>>) -> Table,
    ) -> Arc<Table> {
        let shard = self.ids(id);
        let mut open = shard.map.lock();
        let old = open.tables.get(&id);
        if let Some(t) = old
            && t.version == version
            && t.valid.load(Ordering::Acquire)
        {
            return t.clone();
        }
        let table = Arc::new(make(old));
        open.insert(&table);
        let now = shard.clock.fetch_add(1, Ordering::Relaxed) + 1;
        table.core.used.store(now, Ordering::Relaxed);
        table
    }

    /// Makes an object that nobody has known by id the table's. The caller holds the load lock.
    pub fn insert_id(&self, table: &Arc<Table>) {
        self.ids(table.def.id).map.lock().insert(table);
    }

    pub fn insert_name(&self, name: String, table: &Arc<Table>) {
        let mut names = self.names(&name).lock();
        names.insert(name.into_boxed_str(), table.clone());
    }

    pub fn invalidate(&self, id: u64, name: &str) {
        let by_name = self.names(name).lock().remove(name);
        let by_id = self.by_id(id);
        for t in by_name.into_iter().chain(by_id) {
            t.valid.store(false, Ordering::Release);
        }
    }

    /// Invalidates all tables of a database.
    pub fn invalidate_database(&self, database: &str) {
        let is_of = |t: &Table| t.def.database == database;
        for shard in &self.names {
            // The objects stay in the map by id, so none is dropped under the mutex.
            shard.lock().retain(|_, t| !is_of(t));
        }
        for shard in &self.ids {
            let open = shard.map.lock();
            for t in open.tables.values().filter(|t| is_of(t)) {
                t.valid.store(false, Ordering::Release);
            }
        }
    }

    /// Removes a table that is gone. The caller holds the load lock.
    pub fn remove_id(&self, id: u64) -> Option<Arc<Table>> {
        self.ids(id).map.lock().remove(id)
    }

    /// Closes tables that nobody uses if there are too many in the shard of `id`, those not looked for for longest first. The caller holds its load
    /// lock. Tables that DDL is at are left alone: it would write the row back without the counter saved in it.
    pub fn trim(&self, id: u64) -> Result<()> {
        let shard = self.ids(id);
        let part = self.part();
        let mut unused: Vec<Arc<Table>> = {
            let open = shard.map.lock();
            if !open.size().exceeds(shard.limit.lock().max(part)) {
                return Ok(());
            }
            let unused = open.tables.values().filter(|t| Arc::strong_count(t) <= 2);
            unused.cloned().collect()
        };
        unused.sort_unstable_by_key(|t| t.core.used.load(Ordering::Relaxed));
        let enough = Size {
            tables: part.tables - part.tables / FRACTION,
            bytes: part.bytes - part.bytes / FRACTION,
        };
        for table in unused {
            if table.def.id == id {
                continue;
            }
            if !shard.map.lock().size().exceeds(enough) {
                break;
            }
            self.close(shard, &table)?;
        }
        let left = shard.map.lock().size();
        // So that a shard whose tables are all in use is not searched at every opening.
        *shard.limit.lock() = match left.exceeds(part) {
            true => Size {
                tables: left.tables + left.tables / 4,
                bytes: left.bytes + left.bytes / 4,
            },
            false => Size::default(),
        };
        Ok(())
    }

    /// Closes a table unless somebody uses it, or is about to.
    fn close(&self, shard: &IdShard, table: &Arc<Table>) -> Result<()> {
        let mdl = table.mdl.as_ref().map(|lock| lock.try_moment());
        if matches!(mdl, Some(None)) {
            return Ok(());
        }
        // Under its former name there is no row to save in. The object of the new name will take the counter over.
        if !table.valid.load(Ordering::Acquire) && !table.is_saved() {
            return Ok(());
        }
        table.save_auto_increment()?;
        let name = super::full_name(&table.def.database, &table.def.name);
        let mut names = self.names(&name).lock();
        let mut open = shard.map.lock();
        let named = names.get(&*name).is_some_and(|t| Arc::ptr_eq(t, table));
        // With both maps locked nobody gets hold of it: ours, and one per map.
        if Arc::strong_count(table) <= 2 + usize::from(named) && table.is_saved() {
            open.remove(table.def.id);
            if named {
                names.remove(&*name);
            }
        }
        Ok(())
    }

    pub fn each(&self, mut f: impl FnMut(&Table) -> Result<()>) -> Result<()> {
        for shard in &self.ids {
            let tables: Vec<Arc<Table>> = shard.map.lock().tables.values().cloned().collect();
            for t in tables {
                f(&t)?;
            }
        }
        Ok(())
    }

    pub fn len(&self) -> usize {
        self.ids.iter().map(|s| s.map.lock().tables.len()).sum()
    }

    /// Bytes of open tables, about.
    pub fn bytes(&self) -> usize {
        self.ids.iter().map(|s| s.map.lock().bytes).sum()
    }
}

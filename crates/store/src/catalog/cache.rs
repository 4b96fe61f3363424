//! Open tables, by name for statements and by id for undo and purge.
//!
//! The map by id is the one that counts: it holds the one object in force per table. The map by name is a way
//! to it and holds only objects opened under their metadata lock. A shard of the map by id also has a *load lock*: loading a table, closing
//! it and burying its spaces exclude one another.
//!
//! Lock order: load lock, name shard, id shard.

use crate::error::Result;
use crate::table::Table;
use crate::wait::{self, Class};
use hashbrown::{DefaultHashBuilder, HashMap};
use parking_lot::MutexGuard;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const SHARDS: usize = 64;
/// Tables kept open per shard though nobody uses them; 4,096 in all.
const KEPT_PER_SHARD: usize = 64;

type CacheMutex<T> = wait::Mutex<T, { Class::CatalogCache as usize }>;

#[derive(Default)]
struct IdShard {
    load: wait::Mutex<(), { Class::CatalogLoad as usize }>,
    map: CacheMutex<HashMap<u64, Arc<Table>>>,
    /// Above this many tables the shard is trimmed; raised while tables in use exceed it.
    limit: AtomicUsize,
}

type Names = HashMap<Box<str>, Arc<Table>>;

pub(super) struct Cache {
    hasher: DefaultHashBuilder,
    names: Box<[CacheMutex<Names>]>,
    ids: Box<[IdShard]>,
}

impl Cache {
    pub fn new() -> Cache {
        Cache {
            hasher: DefaultHashBuilder::default(),
            names: (0..SHARDS).map(|_| CacheMutex::default()).collect(),
            ids: (0..SHARDS).map(|_| IdShard::default()).collect(),
        }
    }

    fn names(&self, name: &str) -> &CacheMutex<Names> {
        &self.names[self.hasher.hash_one(name) as usize % SHARDS]
    }

    fn ids(&self, id: u64) -> &IdShard {
        &self.ids[id as usize % SHARDS]
    }

    pub fn by_name(&self, name: &str) -> Option<Arc<Table>> {
        self.names(name).lock().get(name).cloned()
    }

    pub fn by_id(&self, id: u64) -> Option<Arc<Table>> {
        self.ids(id).map.lock().get(&id).cloned()
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
        let mut map = self.ids(id).map.lock();
        let old = map.get(&id);
        if let Some(t) = old
            && t.version == version
            && t.valid.load(Ordering::Acquire)
        {
            return t.clone();
        }
        let table = Arc::new(make(old));
        map.insert(id, table.clone());
        table
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
            let map = shard.map.lock();
            for t in map.values().filter(|t| is_of(t)) {
                t.valid.store(false, Ordering::Release);
            }
        }
    }

    /// Removes a table that is gone. The caller holds the load lock.
    pub fn remove_id(&self, id: u64) -> Option<Arc<Table>> {
        self.ids(id).map.lock().remove(&id)
    }

    /// Closes tables that nobody uses if there are too many in the shard of `id`. The caller holds its load lock. Tables
    /// that DDL is at are left alone: it would write the row back without the counter saved in it.
    pub fn trim(&self, id: u64) -> Result<()> {
        let shard = self.ids(id);
        let unused: Vec<Arc<Table>> = {
            let map = shard.map.lock();
            if map.len() <= shard.limit.load(Ordering::Relaxed).max(KEPT_PER_SHARD) {
                return Ok(());
            }
            let unused = map.values().filter(|t| Arc::strong_count(t) <= 2);
            unused.cloned().collect()
        };
        for table in unused {
            if table.def.id == id {
                continue;
            }
            let mdl = table.mdl.as_ref().map(|lock| lock.try_moment());
            if matches!(mdl, Some(None)) {
                continue;
            }
            // Under its former name there is no row to save in. The object of the new name will take the counter over.
            if !table.valid.load(Ordering::Acquire) && !table.is_saved() {
                continue;
            }
            table.save_auto_increment()?;
            let name = super::full_name(&table.def.database, &table.def.name);
            let mut names = self.names(&name).lock();
            let mut map = shard.map.lock();
            let named = names.get(&*name).is_some_and(|t| Arc::ptr_eq(t, &table));
            // With both maps locked nobody gets hold of it: ours, and one per map.
            if Arc::strong_count(&table) <= 2 + usize::from(named) && table.is_saved() {
                map.remove(&table.def.id);
                if named {
                    names.remove(&*name);
                }
            }
        }
        let left = shard.map.lock().len();
        // So that a shard whose tables are all in use is not searched at every opening.
        shard.limit.store(left + left / 4, Ordering::Relaxed);
        Ok(())
    }

    pub fn each(&self, mut f: impl FnMut(&Table) -> Result<()>) -> Result<()> {
        for shard in &self.ids {
            let tables: Vec<Arc<Table>> = shard.map.lock().values().cloned().collect();
            for t in tables {
                f(&t)?;
            }
        }
        Ok(())
    }

    pub fn len(&self) -> usize {
        self.ids.iter().map(|s| s.map.lock().len()).sum()
    }
}

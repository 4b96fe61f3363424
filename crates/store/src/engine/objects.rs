//! Stored objects that are no tables: how the layer above makes, changes and finds them ([`crate::catalog::ObjectKey`]).
//!
//! **Locks.** What changes an object holds its database's lock shared, so that DROP DATABASE and it come one after the other, and a lock of the
//! object's own name exclusively, which only those who change it ask for. Whoever uses an object holds nothing.

use super::{Engine, Inner};
use crate::catalog::{ChangeBody, OBJECTS, Object, ObjectKey, full_name};
use crate::error::{Error, Result};
use crate::txn::{MdlMode, Owner, Txn};
use std::sync::Arc;

impl Engine {
    /// An object as it is committed now.
    pub fn object(&self, key: &ObjectKey) -> Result<Option<Object>> {
        let catalog = &self.0.catalog;
        if catalog.objects().is_none() {
            return Ok(None);
        }
        catalog.read_committed(|txn| catalog.object(txn, key))
    }

    /// Visits the objects of a database (`None`: of all) as they are committed now, by key.
    pub fn each_object(
        &self,
        database: Option<&str>,
        f: &mut dyn FnMut(Object) -> Result<()>,
    ) -> Result<()> {
        let catalog = &self.0.catalog;
        if catalog.objects().is_none() {
            return Ok(());
        }
        catalog.read_committed(|txn| catalog.each_object(txn, database, f))
    }

    /// A table's objects as they are committed now, by key.
    pub fn objects_of(&self, database: &str, table: &str) -> Result<Vec<Object>> {
        let catalog = &self.0.catalog;
        if catalog.objects().is_none() {
            return Ok(Vec::new());
        }
        catalog.read_committed(|txn| {
            let keys = catalog.objects_of(txn, database, table)?;
            let found = keys.iter().map(|key| catalog.object(txn, key));
            let found: Result<Vec<Option<Object>>> = found.collect();
            Ok(found?.into_iter().flatten().collect())
        })
    }

    /// [`Engine::change_object`] of an object of a table, which must exist. The table is locked exclusively; whoever has opened
    /// it opens it anew, and makes plans anew.
    pub fn change_object_of(
        &self,
        owner: &Arc<Owner>,
        table: &str,
        key: &ObjectKey,
        change: &mut ChangeBody<'_>,
    ) -> Result<()> {
        self.0.prepare_objects(owner)?;
        let inner = &self.0;
        inner.ddl(owner, |txn, _| {
            let database = &*key.database;
            inner.lock_tables(txn, [(database, table)].into_iter())?;
            inner.lock_object(txn, key)?;
            inner.catalog.change_object(txn, key, table, change)?;
            // Last, so that recovery tells DDL by it.
            let found = inner.find(txn, database, table)?;
            let mut new = found.row.clone();
            new.version += 1;
            inner.replace_row(txn, &found, &new)
        })
    }

    /// Puts bodies in the place of objects that belong to no database that can be dropped, all of them in one step that a crash undoes
    /// or leaves whole; `None`: the object goes. The owner has no transaction open. Who changes such objects takes care that one does at a
    /// time.
    pub fn put_objects(
        &self,
        owner: &Arc<Owner>,
        objects: &[(ObjectKey, Option<Vec<u8>>)],
    ) -> Result<()> {
        self.0.prepare_objects(owner)?;
        let inner = &self.0;
        inner.ddl(owner, |txn, _| {
            for (key, body) in objects {
                inner.lock_object(txn, key)?;
                inner
                    .catalog
                    .change_object(txn, key, "", &mut |_| body.clone())?;
            }
            Ok(())
        })
    }

    /// Makes of an object what `change` makes of it, in one step that a crash undoes or leaves whole; `None` is none. The owner has no
    /// transaction open. The database must exist.
    pub fn change_object(
        &self,
        owner: &Arc<Owner>,
        key: &ObjectKey,
        change: &mut ChangeBody<'_>,
    ) -> Result<()> {
        if key.kind == 0 || [&key.database, &key.name].iter().any(|n| n.contains('\0')) {
            return Err(Error::Invalid("the key of an object".into()));
        }
        self.0.prepare_objects(owner)?;
        let inner = &self.0;
        inner.ddl(owner, |txn, _| {
            inner.lock_database(txn, &key.database, MdlMode::Shared)?;
            inner.lock_object(txn, key)?;
            if inner.catalog.database(txn, &key.database)?.is_none() {
                return Err(Error::NoSuchDatabase(key.database.clone()));
            }
            inner.catalog.change_object(txn, key, "", change)
        })
    }

    /// Gives an object another key, of its kind, in one step that a crash undoes or leaves whole: `change` is told its body, and whether there is
    /// an object of the other key, and says what it is from then on; `None`: all stays as it is. The owner has no transaction
    /// open. Both databases must exist.
    pub fn move_object(
        &self,
        owner: &Arc<Owner>,
        from: &ObjectKey,
        to: &ObjectKey,
        change: &mut MoveBody<'_>,
    ) -> Result<()> {
        if from.kind != to.kind || from == to {
            return Err(Error::Invalid("the new key of an object".into()));
        }
        self.0.prepare_objects(owner)?;
        let inner = &self.0;
        inner.ddl(owner, |txn, _| {
            // In the order of the keys, as whoever moves one the other way does.
            let mut keys = [from, to];
            keys.sort();
            for key in keys {
                inner.lock_database(txn, &key.database, MdlMode::Shared)?;
            }
            for key in keys {
                inner.lock_object(txn, key)?;
                if inner.catalog.database(txn, &key.database)?.is_none() {
                    return Err(Error::NoSuchDatabase(key.database.clone()));
                }
            }
            let mut there = false;
            inner.catalog.change_object(txn, to, "", &mut |body| {
                there = body.is_some();
                body.map(<[u8]>::to_vec)
            })?;
            let mut moved = None;
            inner.catalog.change_object(txn, from, "", &mut |body| {
                moved = change(body, there);
                match &moved {
                    Some(_) => None,
                    None => body.map(<[u8]>::to_vec),
                }
            })?;
            match moved {
                Some(body) => inner
                    .catalog
                    .change_object(txn, to, "", &mut |_| Some(body.clone())),
                None => Ok(()),
            }
        })
    }
}

/// What a change of key makes of an object's body: see [`Engine::move_object`].
pub type MoveBody<'a> = dyn FnMut(Option<&[u8]>, bool) -> Option<Vec<u8>> + 'a;

impl Inner {
    fn lock_object(&self, txn: &Txn, key: &ObjectKey) -> Result<()> {
        let name = format!("#{}:{}", key.kind, key.name);
        let mdl = self.sys.mdl();
        let lock = mdl.get(&full_name(&key.database, &name));
        mdl.lock(txn.owner(), &lock, MdlMode::Exclusive)
    }

    fn prepare_objects(&self, owner: &Arc<Owner>) -> Result<()> {
        self.refuse_lent(owner, "a change of stored programs, accounts or rights")?;
        match self.catalog.objects() {
            Some(_) => Ok(()),
            None => {
                self.make_own(owner, OBJECTS)?;
                self.catalog.find_objects()
            }
        }
    }
}

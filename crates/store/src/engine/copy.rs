//! CREATE DATABASE ... LIKE: a database that is made as another one is, with its rows or without, by one transaction.
//!
//! Steps: (1) the metadata locks of both databases and of the model's tables, names ascending; (2) the rows of the catalog are made, what the layer above has to
//! say about each definition among them; (3) with rows, the indexes are filled: entries of small ones go into the shared tree many at a time
//! ([`crate::btree::NewEntries`]), larger ones are built in bulk from entries that are in order already, past the log, with one sync a
//! file for all of them; (4) the transaction removes the graves of what was built, adds the catalog's rows, the new database's last, and
//! commits, durably. What (4) takes is a few rows a table, and what (3) takes for small tables is a copy of their bytes.
//!
//! **Rows** are those that are committed when (1) is done: writers are kept out of all tables of the model from there to the end, and wait; readers are not
//! kept out. So the copy is of one moment, no entry has an unfinished change, and entries are copied as they are stored. They are
//! as old as anything, and views older than the copy are refused (error `DefinitionChanged`), for their copies would be a lie. Without rows
//! writers go on; the locks keep definitions as they are.
//! **Graves.** Before its first entry or page each index is named in a grave: small ones by one for all of them, whose space ids follow each
//! other; others by one each, or by that of their file.
//! **Failure.** Up to (4) an error, a KILL or a crash leaves nothing: the transaction is undone and the reclaimer gives back what the graves name. Nobody
//! sees the database before it is whole, for it is found by its row.
//! **Locks.** As in [`super::ddl`]. The new tables need none: who asks for one has to have the database's, which is held exclusively.

use super::ddl::{Aftermath, grave_of};
use super::fill::graves_of;
use super::{Engine, Inner};
use crate::btree::{NewEntries, Root, Tree};
use crate::catalog::row::{self, Grave, Late, TableRow};
use crate::catalog::{CATALOG_DATABASE, Object, ObjectKey, References, TableDef, tree_of};
use crate::error::{Error, Result};
use crate::log::op::Op;
use crate::page::{Lsn, PageType};
use crate::pool::{Direct, Pager};
use crate::space::{FileId, SpaceId};
use crate::table::load::{copy_small, copy_tree};
use crate::txn::{Isolation, MdlMode, Owner, Txn};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Bytes of entries that are gathered before they are put into the shared tree.
const GATHERED: usize = 256 << 10;

/// What the layer above has to say about the parts of a database that is copied.
pub trait CopiedParts {
    /// The copy of a table or view.
    fn table(&mut self, def: &TableDef) -> Result<CopiedTable>;
    /// The body of the copy of an object; it keeps its kind and name, and its table's name.
    fn object(&mut self, object: &Object) -> Result<Vec<u8>>;
}

/// A table's definition in the copy.
#[derive(Clone, Debug)]
pub struct CopiedTable {
    /// Its body.
    pub body: Vec<u8>,
    /// That of its partitions; `None`: theirs stay as they are.
    pub partition_body: Option<Vec<u8>>,
    /// What that refers to, as [`crate::CodecFactory::references`] would say.
    pub references: References,
}

/// Which database is to be made of which.
#[derive(Clone, Copy, Debug)]
pub struct CopyDatabase<'n> {
    /// The one that is there.
    pub from: &'n str,
    /// The one to be made.
    pub to: &'n str,
    /// With rows.
    pub rows: bool,
}

impl Engine {
    /// Makes a database like another, or nothing; returns how many tables it has, views among them. The owner has no transaction open.
    pub fn copy_database(
        &self,
        owner: &Arc<Owner>,
        what: CopyDatabase<'_>,
        parts: &mut dyn CopiedParts,
    ) -> Result<usize> {
        let inner = &*self.0;
        inner.refuse_lent(owner, "CREATE DATABASE ... LIKE")?;
        let (tables, built) = inner.ddl(owner, |txn, after| {
            inner.lock_for_copy(txn, what)?;
            let options = inner.catalog.database(txn, what.from)?;
            let options = options.ok_or_else(|| Error::NoSuchDatabase(what.from.into()))?;
            let models = inner.models(txn, what.from)?;
            let (rows, objects) = inner.plan_copy(txn, what, &models, parts, after)?;
            let mut copies = Copies::new(&models, rows);
            let mut built = None;
            if what.rows {
                built = Some(inner.copy_rows(txn, &mut copies, after)?);
            }
            if let Some(built) = &built {
                built.remove_graves(inner, txn)?;
            }
            inner.insert_copies(txn, what, &copies, objects, after)?;
            let new = row::encode_database(what.to, &options);
            inner.catalog.databases.insert(txn, &new)?;
            Ok((copies.tables(), built))
        })?;
        if let Some(built) = built {
            built.concluded();
        }
        Ok(tables)
    }
}

/// The catalog's rows of the tables and partitions to be copied, in order, and those of the copies.
struct Copies<'m> {
    models: &'m [TableRow],
    rows: Vec<TableRow>,
}

impl Copies<'_> {
    fn new(models: &[TableRow], rows: Vec<TableRow>) -> Copies<'_> {
        Copies { models, rows }
    }

    fn tables(&self) -> usize {
        let whole = |r: &&TableRow| row::split_partition(&r.def.name).is_none();
        self.rows.iter().filter(whole).count()
    }
}

impl Inner {
    /// Locks both databases, and the tables of the model.
    fn lock_for_copy(&self, txn: &mut Txn, what: CopyDatabase<'_>) -> Result<()> {
        let CopyDatabase { from, to, rows } = what;
        for name in [from, to] {
            row::database_key(name)?;
        }
        let mut databases = [(from, MdlMode::Shared), (to, MdlMode::Exclusive)];
        databases.sort_by_key(|d| d.0);
        if from == to {
            databases = [(to, MdlMode::Exclusive); 2];
        }
        for (name, mode) in databases {
            self.lock_database(txn, name, mode)?;
        }
        self.sys.statement(txn);
        if from == CATALOG_DATABASE || self.catalog.database(txn, from)?.is_none() {
            return Err(Error::NoSuchDatabase(from.into()));
        }
        if to == CATALOG_DATABASE || self.catalog.database(txn, to)?.is_some() {
            return Err(Error::DatabaseExists(to.into()));
        }
        let mode = match rows {
            true => MdlMode::ReadOnly,
            false => MdlMode::Shared,
        };
        let mdl = self.sys.mdl();
        let mut locked: BTreeSet<String> = BTreeSet::new();
        loop {
            let names = self.catalog.table_names(txn, from)?;
            let more = names.into_iter().filter(|n| !locked.contains(n));
            let more: Vec<String> = more.collect();
            if more.is_empty() {
                return Ok(());
            }
            for name in more {
                let lock = mdl.get(&crate::catalog::full_name(from, &name));
                mdl.lock(txn.owner(), &lock, mode)?;
                locked.insert(name);
            }
            // Some may have been made, or got their names, while others were waited for.
            self.sys.statement(txn);
        }
    }

    /// The rows of a locked database's tables and partitions.
    fn models(&self, txn: &mut Txn, database: &str) -> Result<Vec<TableRow>> {
        let mut models = Vec::new();
        self.catalog.each_table_of(txn, database, &mut |row| {
            if row::split_partition(&row.def.name).is_none() {
                self.refuse_quarantined(&row.def)?;
            }
            models.push(row);
            Ok(())
        })?;
        Ok(models)
    }

    /// A table that is refused by name is not copied either.
    fn refuse_quarantined(&self, def: &TableDef) -> Result<()> {
        match self.catalog.known_by_id(def.id) {
            Some(table) => table.refuse_quarantined(),
            None => Ok(()),
        }
    }

    /// Makes the rows of the copies, without spaces, and their objects; sees to it that what they refer to is locked.
    fn plan_copy(
        &self,
        txn: &mut Txn,
        what: CopyDatabase<'_>,
        models: &[TableRow],
        parts: &mut dyn CopiedParts,
        after: &mut Aftermath,
    ) -> Result<(Vec<TableRow>, Vec<Object>)> {
        after.relations.all_new_in(what.to);
        let mut rows = Vec::with_capacity(models.len());
        // Partitions come right behind their table.
        let mut partition_body = None;
        for model in models {
            super::drop_database::not_killed(txn.owner())?;
            let mut new = model.clone();
            new.def.database = what.to.into();
            if row::split_partition(&new.def.name).is_some() {
                if let Some(body) = &partition_body {
                    new.def.body = Vec::clone(body);
                }
            } else {
                let copied = parts.table(&model.def)?;
                (new.def.body, partition_body) = (copied.body, copied.partition_body);
                after.relations.note_new(&new.def, copied.references);
            }
            self.keep_tablespace(txn, new.def.file)?;
            new.version = 0;
            new.auto_increment = match what.rows {
                true => self.counter_of(model),
                false => 0,
            };
            rows.push(new);
        }
        let mut objects = Vec::new();
        self.catalog
            .each_object(txn, Some(what.from), &mut |object| {
                objects.push(object);
                Ok(())
            })?;
        for object in &mut objects {
            object.body = parts.object(object)?;
            object.key.database = what.to.into();
        }
        // Before anything is built.
        self.need_relations(txn, &mut after.relations)?;
        self.number(txn, &mut rows, what.rows)?;
        Ok((rows, objects))
    }

    /// Where a table's AUTO_INCREMENT counter goes on; 0: nobody knows.
    fn counter_of(&self, model: &TableRow) -> u64 {
        let open = self.catalog.known_by_id(model.def.id);
        let next = open.and_then(|table| table.auto_increment_peek());
        next.unwrap_or(model.auto_increment)
    }

    /// Gives tables ids, files and spaces, these one behind the other.
    fn number(&self, txn: &mut Txn, rows: &mut [TableRow], filled: bool) -> Result<()> {
        let spaces: usize = rows.iter().map(|r| r.def.indexes.len()).sum();
        let mut space = match spaces {
            0 => return Ok(()),
            n => self.pager.new_space_ids(n as u64)?.0,
        };
        let first = self.new_table_ids(rows.len() as u64)?;
        // What older views would see of it is not what was there.
        let by = match filled {
            true => self.sys.reserve(txn, 0)?.trx_id(),
            false => 0,
        };
        for (row, id) in rows.iter_mut().zip(first..) {
            row.def.id = id;
            if row.def.file.is_own() {
                row.def.file = self.pager.new_file_id()?;
            }
            for index in &mut row.def.indexes {
                (index.space, index.root) = (SpaceId(space), 0);
                space += 1;
            }
            row.created.fill(by);
        }
        Ok(())
    }

    /// Adds the catalog's rows of all that was copied.
    fn insert_copies(
        &self,
        txn: &mut Txn,
        what: CopyDatabase<'_>,
        copies: &Copies<'_>,
        objects: Vec<Object>,
        after: &mut Aftermath,
    ) -> Result<()> {
        for object in objects {
            let key: &ObjectKey = &object.key;
            let body = &object.body;
            self.catalog
                .change_object(txn, key, &object.table, &mut |_| Some(body.clone()))?;
        }
        // A database of this name may have gone whose tables are still to follow.
        let in_the_way = self.catalog.dropped_below(txn, what.to)? != 0;
        for new in &copies.rows {
            super::drop_database::not_killed(txn.owner())?;
            self.note_member(txn, None, Some(&new.def))?;
            match in_the_way {
                true => self.insert_row(txn, new, after)?,
                false => self.catalog.tables.insert(txn, &row::encode_table(new)?)?,
            }
        }
        Ok(())
    }

    /// Fills the indexes of the copies.
    fn copy_rows(
        &self,
        txn: &mut Txn,
        copies: &mut Copies<'_>,
        after: &mut Aftermath,
    ) -> Result<Built<'_>> {
        let mut built = Built::new(&self.pager);
        let large = self.copy_small_indexes(txn, copies, &mut built, after)?;
        if !large.is_empty() {
            self.copy_large_indexes(txn, copies, &large, &mut built, after)?;
        }
        Ok(built)
    }

    /// Copies the indexes that share a tree; the others: table and index by position.
    fn copy_small_indexes(
        &self,
        txn: &Txn,
        copies: &Copies<'_>,
        built: &mut Built<'_>,
        after: &mut Aftermath,
    ) -> Result<Vec<(usize, usize)>> {
        let (mut large, mut new) = (Vec::new(), NewEntries::default());
        for (t, (model, copy)) in copies.models.iter().zip(&copies.rows).enumerate() {
            super::drop_database::not_killed(txn.owner())?;
            for (i, (from, to)) in model.def.indexes.iter().zip(&copy.def.indexes).enumerate() {
                let tree = tree_of(&self.ctx, &model.def, from);
                let small = tree.is_sharing() && copy_small(&tree, to.space, i == 0, &mut new)?;
                if !small && !tree.is_unwritten()? {
                    large.push((t, i));
                }
            }
            if new.bytes() >= GATHERED {
                self.put_small(copies, &mut new, built, after)?;
            }
        }
        if new.bytes() > 0 {
            self.put_small(copies, &mut new, built, after)?;
        }
        Ok(large)
    }

    /// Puts entries of small indexes into the tree that they share, behind a grave for all of them.
    fn put_small(
        &self,
        copies: &Copies<'_>,
        new: &mut NewEntries,
        built: &mut Built<'_>,
        after: &mut Aftermath,
    ) -> Result<()> {
        if built.graves.is_empty() {
            let spaces = copies.rows.iter().flat_map(|r| &r.def.indexes);
            let count = spaces.clone().count() as u64;
            let first = spaces.map(|i| i.space).next().unwrap_or(SpaceId(0));
            let grave = Grave {
                space: first,
                more: count.saturating_sub(1),
                file: FileId::SHARED,
                root: 0,
                whole_file: false,
                late: Late::of(&copies.rows[0].def.database, "", ""),
            };
            built.dig(self, vec![grave], after)?;
        }
        self.ctx.shared.put(new)?;
        new.clear();
        Ok(())
    }

    /// Builds the indexes that have pages of their own.
    fn copy_large_indexes(
        &self,
        txn: &Txn,
        copies: &mut Copies<'_>,
        large: &[(usize, usize)],
        built: &mut Built<'_>,
        after: &mut Aftermath,
    ) -> Result<()> {
        // Not under the id that the grave of all small ones may have.
        for &(t, i) in large {
            copies.rows[t].def.indexes[i].space = self.pager.new_space_id()?;
        }
        let mut graves = Vec::new();
        let mut own = None;
        for &(t, i) in large {
            let def = &copies.rows[t].def;
            match def.file.is_own() {
                false => graves.push(grave_of(&def.indexes[i], def)),
                true if own == Some(t) => {}
                true => graves.extend(graves_of(def)),
            }
            own = Some(t);
        }
        built.dig(self, graves, after)?;
        let mut directs: BTreeMap<FileId, Arc<Direct>> = BTreeMap::new();
        let mut roots: Vec<(Arc<Tree>, Option<Root>)> = Vec::with_capacity(large.len());
        for &(t, i) in large {
            let (model, def) = (&copies.models[t].def, &copies.rows[t].def);
            let from = tree_of(&self.ctx, model, &model.indexes[i]);
            let to = Arc::new(tree_of(&self.ctx, def, &def.indexes[i]));
            built.trees.push(to.clone());
            self.make_copy_root(&to)?;
            let direct = directs.entry(def.file);
            let direct = direct.or_insert_with(|| Direct::new(&self.pager, def.file));
            let root = copy_tree(&self.ctx, (&from, &to), i == 0, direct, txn.owner())?;
            roots.push((to, root));
        }
        for direct in directs.values() {
            direct.publish()?;
        }
        for ((tree, root), &(t, i)) in roots.iter().zip(large) {
            if let Some(root) = root {
                tree.fill(root)?;
            }
            copies.rows[t].def.indexes[i].root = tree.root();
        }
        Ok(())
    }

    /// Gives an index its root that has to have one before all else, together with the note of it in its grave; that of a file says nothing
    /// of roots.
    fn make_copy_root(&self, tree: &Tree) -> Result<()> {
        let (space, empty) = (
            tree.space(),
            Op::Init {
                kind: PageType::Leaf,
                level: 0,
            },
        );
        if tree.is_sharing() {
            return Ok(());
        }
        let root = match space.file.is_own() {
            true => {
                let mut mtr = self.pager.mtr_in(space, 1)?;
                let root = tree.alloc_root(&mut mtr)?;
                mtr.commit();
                root
            }
            false => self.write_root(space, space.id, empty)?,
        };
        tree.set_root(root);
        Ok(())
    }
}

/// What was built of a copy that is not in force yet. Dropped before it is, its pages are neither served nor written any more.
struct Built<'p> {
    pager: &'p Pager,
    /// What names all of it.
    graves: Vec<Grave>,
    /// Where the log ended when the graves were there.
    dug: Lsn,
    /// Those that have pages of their own.
    trees: Vec<Arc<Tree>>,
    concluded: bool,
}

impl<'p> Built<'p> {
    fn new(pager: &'p Pager) -> Built<'p> {
        Built {
            pager,
            graves: Vec::new(),
            dug: 0,
            trees: Vec::new(),
            concluded: false,
        }
    }

    /// Digs graves, by a transaction of its own that comes in the log before what they name.
    fn dig(&mut self, inner: &Inner, graves: Vec<Grave>, after: &mut Aftermath) -> Result<()> {
        let builder = inner.sys.owner();
        let mut digging = inner.sys.begin(&builder, Isolation::ReadCommitted);
        for grave in &graves {
            after.hold(grave.space);
            let bytes = row::encode_grave(grave);
            inner.catalog.graveyard.insert(&mut digging, &bytes)?;
        }
        self.dug = inner.sys.commit_no_wait(digging)?;
        graves.iter().for_each(|_| after.building());
        self.graves.extend(graves);
        Ok(())
    }

    /// Removes the graves, as a change of the transaction that brings the copy into force.
    fn remove_graves(&self, inner: &Inner, txn: &mut Txn) -> Result<()> {
        for grave in &self.graves {
            let mut now = grave.clone();
            let tree = |t: &&Arc<Tree>| t.space().id == grave.space;
            if let Some(tree) = self.trees.iter().find(tree)
                && !grave.whole_file
            {
                now.root = tree.root();
            }
            let key = grave.space.0.to_be_bytes();
            let bytes = row::encode_grave(&now);
            inner.catalog.graveyard.delete(txn, &key, &bytes)?;
        }
        Ok(())
    }

    /// The copy is in force.
    fn concluded(mut self) {
        self.concluded = true;
    }
}

impl Drop for Built<'_> {
    fn drop(&mut self) {
        // A stopped log has nothing written anyway.
        if self.concluded || self.trees.is_empty() || self.pager.log().sync_to(self.dug).is_err() {
            return;
        }
        for tree in &self.trees {
            self.pager.drop_space(tree.space());
        }
    }
}

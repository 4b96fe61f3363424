//! Tables that refer to others: their index is kept, and open objects on both sides learn of it.
//!
//! Each transaction of DDL notes which tables came and went and what their definitions refer to, before and after
//! ([`Relations::note`]). Before it commits, what that comes to is carried out ([`Inner::settle`]): entries of the catalog's index
//! come and go, and the tables on the other side of each get a new version, so that plans made with them are made
//! anew: a table referred to when what refers to it comes or goes, a table that refers when what it refers to comes or goes. A table that is written
//! anew and takes its own place changes nothing in the end.
//!
//! **Locks.** The other sides must be locked exclusively too, and which they are is known only when the statement's own tables are. So
//! [`Error::Related`] names them and nothing has happened; the caller holds them ([`Engine::hold_names`]) and tries again.

use super::{Engine, Inner, TableName};
use crate::catalog::{
    CATALOG_DATABASE, Constraint, REFERENCES, References, TableDef, references, row,
};
use crate::error::{Error, Result};
use crate::table::Table;
use crate::txn::{MdlMode, Owner, Txn};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::HeldTables;
use crate::catalog::full_name;

/// What a DDL transaction changes about who refers to whom.
#[derive(Default)]
pub(super) struct Relations {
    /// By their keys, the entries for tables referred to: how many come, less how many go.
    parents: BTreeMap<Vec<u8>, i32>,
    /// The same for those of constraints, with the constraint noted last.
    constraints: BTreeMap<Vec<u8>, (i32, Constraint)>,
    /// The same for tables by name.
    tables: BTreeMap<TableName, i32>,
    /// A database that the transaction makes, whose tables nobody else knows.
    new_database: Option<String>,
    /// A database of which all tables are noted.
    whole: Option<String>,
    /// The tables that refer to those noted, once they were looked for by [`Inner::need_relations`]. Nobody can add to them who does not have the locks
    /// of the new database.
    children: Option<BTreeSet<TableName>>,
}

/// What a transaction comes to that has noted [`Relations`].
#[derive(Default)]
struct Changes<'r> {
    /// Keys of entries that go.
    gone: Vec<&'r [u8]>,
    /// Those that come: how often, and which constraint's they are.
    come: Vec<(&'r [u8], i32, Option<&'r Constraint>)>,
    /// Tables on the other side.
    related: BTreeSet<TableName>,
}

impl Relations {
    /// All tables of this database are the transaction's own making.
    pub(super) fn all_new_in(&mut self, database: &str) {
        self.new_database = Some(database.into());
        self.all_of(database);
    }

    /// All tables of this database come or go. So what refers to them is looked for at once rather than by each name.
    pub(super) fn all_of(&mut self, database: &str) {
        self.whole = Some(database.into());
    }

    /// Notes a new table, and what its definition refers to.
    pub(super) fn note_new(&mut self, def: &TableDef, mut refers: References) {
        refers.parents.sort();
        refers.parents.dedup();
        self.count(def, &refers, 1);
    }

    fn count(&mut self, def: &TableDef, refers: &References, by: i32) {
        let child = (&*def.database, &*def.name);
        for parent in &refers.parents {
            let key = references::parent_key(parent, child);
            *self.parents.entry(key).or_default() += by;
        }
        for constraint in &refers.constraints {
            let key = references::constraint_key(&def.database, constraint);
            let noted = self.constraints.entry(key);
            let noted = noted.or_insert_with(|| (0, constraint.clone()));
            noted.0 += by;
            noted.1.clone_from(constraint);
        }
        let name = (def.database.clone(), def.name.clone());
        *self.tables.entry(name).or_default() += by;
    }
}

impl Inner {
    /// Notes that a definition gives way to another; `None`: that there is none.
    pub(super) fn note_relations(
        &self,
        relations: &mut Relations,
        before: Option<&TableDef>,
        after: Option<&TableDef>,
    ) {
        if let (Some(b), Some(a)) = (before, after)
            && b.body == a.body
            && b.name == a.name
            && b.database == a.database
        {
            return;
        }
        for (def, by) in [(before, -1), (after, 1)] {
            let Some(def) = def else { continue };
            if row::split_partition(&def.name).is_some() || def.database == CATALOG_DATABASE {
                continue;
            }
            let mut refers = self.codecs.references(def);
            refers.parents.sort();
            refers.parents.dedup();
            relations.count(def, &refers, by);
        }
    }

    /// What is to be done about what a transaction has noted.
    fn changes<'r>(&self, txn: &mut Txn, relations: &'r Relations) -> Result<Changes<'r>> {
        let changed = |n: &i32| *n != 0;
        let Changes {
            mut gone,
            mut come,
            mut related,
        } = Changes::default();
        let parents = relations.parents.iter().map(|(key, n)| (key, n, None));
        let constraints = relations.constraints.iter();
        let constraints = constraints.map(|(key, (n, named))| (key, n, Some(named)));
        for (key, n, named) in parents.chain(constraints).filter(|(_, n, _)| changed(n)) {
            related.extend(references::parent_of(key));
            match *n < 0 {
                true => gone.push(&**key),
                false => come.push((&**key, *n, named)),
            }
        }
        match &relations.children {
            Some(known) => related.extend(known.iter().cloned()),
            None => related.extend(self.children_of_noted(txn, relations)?),
        }
        let new = relations.new_database.as_deref();
        related.retain(|(database, _)| Some(&**database) != new);
        Ok(Changes {
            gone,
            come,
            related,
        })
    }

    /// The tables that refer to one of those noted by its name in the end, and did before.
    fn children_of_noted(
        &self,
        txn: &mut Txn,
        relations: &Relations,
    ) -> Result<BTreeSet<TableName>> {
        let mut children = BTreeSet::new();
        let whole = relations.whole.as_deref();
        if let Some(database) = whole {
            self.catalog
                .each_child_in(txn, database, &mut |parent, child| {
                    if relations.tables.get(&parent).is_some_and(|n| *n != 0) {
                        children.insert(child);
                    }
                    Ok(())
                })?;
        }
        let noted = relations.tables.iter().filter(|(_, n)| **n != 0);
        for (name, _) in noted.filter(|(name, _)| Some(&*name.0) != whole) {
            children.extend(self.catalog.children(txn, &name.0, &name.1)?);
        }
        Ok(children)
    }

    /// Error [`Error::Related`] if the transaction, which makes a database, could not carry out what it has noted.
    pub(super) fn need_relations(&self, txn: &mut Txn, relations: &mut Relations) -> Result<()> {
        relations.children = Some(self.children_of_noted(txn, relations)?);
        let related = self.changes(txn, relations)?.related;
        self.need_held(txn, &related)
    }

    /// Carries out what a transaction has noted.
    pub(super) fn settle(&self, txn: &mut Txn, relations: &Relations) -> Result<()> {
        let Changes {
            gone,
            come,
            related,
        } = self.changes(txn, relations)?;
        if related.is_empty() && come.is_empty() && gone.is_empty() {
            return Ok(());
        }
        self.need_held(txn, &related)?;
        for key in gone {
            self.catalog.remove_reference(txn, key)?;
        }
        for (key, n, named) in come {
            let taken = |c: &Constraint| Err(Error::DuplicateConstraint(c.clone()));
            match (self.catalog.add_reference(txn, key), named) {
                (Err(Error::DuplicateKey { .. }), Some(constraint)) => return taken(constraint),
                (Ok(()), Some(constraint)) if n > 1 => return taken(constraint),
                (r, _) => r?,
            }
        }
        // Last, so that the transaction's last changes are the definitions'. Those that went with it need no new version.
        let is_gone = |name: &TableName| relations.tables.get(name).is_some_and(|n| *n < 0);
        for name in related.iter().filter(|name| !is_gone(name)) {
            self.renew(txn, &name.0, &name.1)?;
        }
        Ok(())
    }

    /// Error [`Error::Related`] if the transaction does not hold one of these tables exclusively.
    fn need_held(&self, txn: &Txn, related: &BTreeSet<TableName>) -> Result<()> {
        let mdl = self.sys.mdl();
        let free = |(database, name): &TableName| {
            let lock = mdl.get(&full_name(database, name));
            !mdl.holds(txn.owner(), &lock, MdlMode::Exclusive)
        };
        let free: Vec<TableName> = related.iter().filter(|t| free(t)).cloned().collect();
        match free.is_empty() {
            true => Ok(()),
            false => Err(Error::Related(free)),
        }
    }

    /// Carries out that all tables of a database go. `alone`: error [`Error::Referenced`] if a table of another one refers to one of them.
    pub(super) fn drop_references(&self, txn: &mut Txn, database: &str, alone: bool) -> Result<()> {
        let owner = txn.owner().clone();
        let not_killed = || match owner.is_killed() {
            true => Err(Error::Interrupted),
            false => Ok(()),
        };
        let catalog = &self.catalog;
        let found = catalog.references_of_database(txn, database, &mut || not_killed())?;
        if let Some((table, by)) = found.referenced.filter(|_| alone) {
            return Err(Error::Referenced { table, by });
        }
        self.need_held(txn, &found.related)?;
        for key in &found.keys {
            not_killed()?;
            catalog.remove_reference(txn, key)?;
        }
        // Last, so that the transaction's last changes are the definitions'.
        for (database, name) in &found.related {
            self.renew(txn, database, name)?;
        }
        Ok(())
    }

    /// Gives a table's definition a new version, if the table is there.
    fn renew(&self, txn: &mut Txn, database: &str, name: &str) -> Result<()> {
        let found = match self.find(txn, database, name) {
            Err(Error::NoSuchTable(_) | Error::NoSuchDatabase(_)) => return Ok(()),
            found => found?,
        };
        let mut new = found.row.clone();
        new.version += 1;
        self.replace_row(txn, &found, &new)
    }

    /// Error [`Error::Referenced`] if a table other than `names` refers to one of them.
    pub(super) fn refuse_referenced(&self, txn: &mut Txn, names: &[TableName]) -> Result<()> {
        if self.catalog.references().is_none() {
            return Ok(());
        }
        for table in names {
            let mut children = self.catalog.children(txn, &table.0, &table.1)?;
            children.retain(|c| !names.contains(c));
            if let Some(by) = children.into_iter().next() {
                return Err(Error::Referenced {
                    table: table.clone(),
                    by,
                });
            }
        }
        Ok(())
    }

    /// Error [`Error::Referenced`] if a table of another database refers to one of these, in order, which are all that theirs has.
    pub(super) fn refuse_referenced_from_outside(
        &self,
        txn: &mut Txn,
        database: &str,
        tables: &[String],
    ) -> Result<()> {
        self.catalog
            .each_child_in(txn, database, &mut |table, by| match by.0 != database
                && tables.binary_search(&table.1).is_ok()
            {
                true => Err(Error::Referenced { table, by }),
                false => Ok(()),
            })
    }

    /// Replaces bodies of locked tables.
    pub(super) fn put_bodies(
        &self,
        txn: &mut Txn,
        bodies: &[(TableName, Vec<u8>)],
        relations: &mut Relations,
    ) -> Result<()> {
        for ((database, name), body) in bodies {
            let found = self.find(txn, database, name)?;
            let mut new = found.row.clone();
            new.version += 1;
            new.def.body.clone_from(body);
            self.note_relations(relations, Some(&found.row.def), Some(&new.def));
            self.replace_row(txn, &found, &new)?;
        }
        Ok(())
    }
}

impl Engine {
    /// Makes room for the index of references, if there is none yet, before the first table that refers to another is made. The
    /// owner has no transaction open and no locks.
    pub fn prepare_references(&self, owner: &Arc<Owner>) -> Result<()> {
        match self.0.catalog.references() {
            Some(_) => Ok(()),
            None => {
                self.0.make_own(&self.deputy(owner), REFERENCES)?;
                self.0.catalog.find_references()
            }
        }
    }

    /// The tables that refer to an open one; of a temporary one, none. Who has the table pinned knows that no other does.
    #[inline]
    pub fn children<'t>(&self, table: &'t Table) -> Result<&'t [TableName]> {
        if let Some(known) = table.children.get() {
            return Ok(known);
        }
        let children = match table.is_temporary() {
            true => Vec::new(),
            false => self.children_of(&table.def.database, &table.def.name)?,
        };
        Ok(table.children.get_or_init(|| children.into()))
    }

    /// The tables that refer to a name, whether or not there is a table of it, as of now.
    pub fn children_of(&self, database: &str, name: &str) -> Result<Vec<TableName>> {
        let catalog = &self.0.catalog;
        if catalog.references().is_none() {
            return Ok(Vec::new());
        }
        catalog.read(|txn| catalog.children(txn, database, name))
    }

    /// Whether a table refers to any name in a database, whether or not there is such a table, as of now.
    pub fn has_children_in(&self, database: &str) -> Result<bool> {
        let catalog = &self.0.catalog;
        if catalog.references().is_none() {
            return Ok(false);
        }
        let mut any = false;
        catalog.read(|txn| {
            catalog.each_child_in(txn, database, &mut |_, _| {
                any = true;
                Ok(())
            })
        })?;
        Ok(any)
    }

    /// Locks names exclusively, whether or not there are tables of them, until the guard is dropped. The owner has no
    /// transaction open and no locks that last.
    pub fn hold_names<'a>(
        &'a self,
        owner: &'a Arc<Owner>,
        names: &[TableName],
    ) -> Result<HeldTables<'a>> {
        let names: Vec<(TableName, bool)> = names.iter().map(|n| (n.clone(), true)).collect();
        self.0.lock_names_lasting(owner, &names, false)?;
        Ok(HeldTables {
            engine: self,
            owner,
        })
    }

    /// [`Engine::drop_tables`] of tables that only each other refer to; error [`Error::Referenced`].
    pub fn drop_unreferenced(&self, owner: &Arc<Owner>, names: &[TableName]) -> Result<()> {
        self.0.drop_tables(owner, names, true)
    }

    /// [`Engine::truncate_table`] of one to which no other table refers; error [`Error::Referenced`].
    pub fn truncate_unreferenced(
        &self,
        owner: &Arc<Owner>,
        database: &str,
        name: &str,
    ) -> Result<()> {
        self.0.truncate_table(owner, database, name, true)
    }
}

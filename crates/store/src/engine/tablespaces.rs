//! General tablespaces: files with names of their own, which many tables share and none takes with it.
//!
//! A tablespace is rows of the catalog ([`crate::catalog`]); its file is made when the first page needs it. What is in it is as
//! in the shared file: a table that goes digs graves for its indexes, whose extents are given back, and what is free at the end is cut off. A
//! tablespace that goes must hold no table, and is one grave: that of the whole file, which waits until the DDL that dug others
//! in it is done with them.
//!
//! **Locks.** A metadata lock by the tablespace's name ([`lock_name`]): exclusive to make, rename and drop it, shared to put a table
//! there. It comes after those of databases and tables. Tables that leave take none: a tablespace whose last table is about to leave
//! is not empty yet.

use super::{Engine, Inner};
use crate::catalog::row::{Grave, Late};
use crate::catalog::{TABLESPACES, TableDef, full_name};
use crate::error::{Error, Result};
use crate::space::FileId;
use crate::txn::{MdlMode, Owner, Txn};
use std::sync::Arc;

pub use crate::catalog::Tablespace;

/// Where a table's pages are to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a file of the table's own.
    OwnFile,
    /// In a file that tables share: [`FileId::SHARED`], or a tablespace's.
    In(FileId),
}

impl Place {
    /// `innodb_file_per_table`: a file of its own, or the shared one.
    pub fn file_per_table(on: bool) -> Place {
        match on {
            true => Place::OwnFile,
            false => Place::In(FileId::SHARED),
        }
    }

    /// Where another table with its pages in `file` would be put to be in the like of it.
    pub fn of(file: FileId) -> Place {
        match file.is_own() {
            true => Place::OwnFile,
            false => Place::In(file),
        }
    }
}

/// The name of a tablespace's metadata lock: no table has it, for no database is called that.
fn lock_name(tablespace: &str) -> String {
    full_name("", tablespace)
}

impl Engine {
    /// Makes a tablespace: some catalog rows, one commit; no page, no file. Its data file's name is `datafile`, or made up. Errors
    /// [`Error::TablespaceExists`], [`Error::DuplicateDatafile`]. The owner has no transaction open.
    pub fn create_tablespace(
        &self,
        owner: &Arc<Owner>,
        name: &str,
        datafile: Option<&str>,
        options: &[u8],
    ) -> Result<()> {
        check_name(name)?;
        let inner = &self.0;
        inner.refuse_lent(owner, "a change of tablespaces")?;
        if inner.catalog.tablespace_table().is_none() {
            inner.make_own(owner, TABLESPACES)?;
            inner.catalog.find_tablespaces()?;
        }
        let number = inner.pager.new_file_id()?.0;
        let made_up = || format!("00000000-0000-0000-0000-{number:012x}.ibd");
        let new = Tablespace {
            name: name.into(),
            file: FileId::general(number),
            datafile: datafile.map_or_else(made_up, Into::into),
            options: options.to_vec(),
        };
        inner.ddl(owner, |txn, _| {
            inner.lock_tablespace(txn, name, MdlMode::Exclusive)?;
            inner.catalog.add_tablespace(txn, &new)
        })
    }

    /// Gives a tablespace another name; the tables in it are as they were.
    pub fn rename_tablespace(&self, owner: &Arc<Owner>, from: &str, to: &str) -> Result<()> {
        check_name(to)?;
        let inner = &self.0;
        inner.refuse_lent(owner, "a change of tablespaces")?;
        inner.ddl(owner, |txn, _| {
            let mut names = [from, to];
            names.sort_unstable();
            for name in names {
                inner.lock_tablespace(txn, name, MdlMode::Exclusive)?;
            }
            let old = inner.need_tablespace(txn, from)?;
            if inner.catalog.tablespace(txn, to)?.is_some() {
                return Err(Error::TablespaceExists(to.into()));
            }
            inner.catalog.remove_tablespace(txn, &old)?;
            let new = Tablespace {
                name: to.into(),
                ..old
            };
            inner.catalog.add_tablespace(txn, &new)
        })
    }

    /// Drops a tablespace without tables; error [`Error::TablespaceNotEmpty`]. Takes as long whatever the file's length.
    pub fn drop_tablespace(&self, owner: &Arc<Owner>, name: &str) -> Result<()> {
        let inner = &self.0;
        inner.refuse_lent(owner, "a change of tablespaces")?;
        inner.ddl(owner, |txn, after| {
            inner.lock_tablespace(txn, name, MdlMode::Exclusive)?;
            let old = inner.need_tablespace(txn, name)?;
            if inner.catalog.has_members(txn, old.file)? {
                // They may be a dropped database's.
                inner.await_dropped(txn, None)?;
            }
            if inner.catalog.has_members(txn, old.file)? {
                return Err(Error::TablespaceNotEmpty(name.into()));
            }
            let grave = Grave {
                more: 0,
                // It is nobody's: graves are told apart by it.
                space: inner.pager.new_space_id()?,
                file: old.file,
                root: 0,
                whole_file: true,
                late: Late::of("", name, ""),
            };
            after.add_grave(&inner.catalog, txn, grave)?;
            inner.catalog.remove_tablespace(txn, &old)
        })
    }

    /// The tablespace of a name.
    pub fn tablespace(&self, name: &str) -> Result<Option<Tablespace>> {
        let catalog = &self.0.catalog;
        match catalog.tablespace_table() {
            Some(_) => catalog.read(|txn| catalog.tablespace(txn, name)),
            None => Ok(None),
        }
    }

    /// The name of the tablespace whose a file is; `None`: it is no tablespace's.
    pub fn tablespace_of(&self, file: FileId) -> Result<Option<String>> {
        let catalog = &self.0.catalog;
        match file.is_general() {
            true => catalog.read(|txn| catalog.tablespace_name(txn, file)),
            false => Ok(None),
        }
    }

    /// All tablespaces, by name.
    pub fn tablespaces(&self) -> Result<Vec<Tablespace>> {
        let catalog = &self.0.catalog;
        match catalog.tablespace_table() {
            Some(_) => catalog.read(|txn| catalog.all_tablespaces(txn)),
            None => Ok(Vec::new()),
        }
    }

    /// Bytes of a data file, and of those the free ones; 0 before it is made.
    pub fn file_room(&self, file: FileId) -> Result<(u64, u64)> {
        self.0.pager.file_room(file)
    }
}

/// A name that the catalog's keys can hold.
fn check_name(name: &str) -> Result<()> {
    match name.is_empty() || name.len() > 1000 || name.contains('\0') {
        true => Err(Error::Invalid(format!("'{name}' cannot be a name"))),
        false => Ok(()),
    }
}

impl Inner {
    fn lock_tablespace(&self, txn: &Txn, name: &str, mode: MdlMode) -> Result<()> {
        let mdl = self.sys.mdl();
        mdl.lock(txn.owner(), &mdl.get(&lock_name(name)), mode)
    }

    fn need_tablespace(&self, txn: &mut Txn, name: &str) -> Result<Tablespace> {
        let found = self.catalog.tablespace(txn, name)?;
        found.ok_or_else(|| Error::NoSuchTablespace(name.into()))
    }

    /// Sees to it that the tablespace in whose file a new table is to be stays until the transaction ends.
    pub(super) fn keep_tablespace(&self, txn: &Txn, file: FileId) -> Result<()> {
        if !file.is_general() {
            return Ok(());
        }
        let gone = || Error::NoSuchTablespace(file.name());
        let name = || {
            self.catalog
                .read(|t| self.catalog.tablespace_name(t, file))?
                .ok_or_else(gone)
        };
        let mut known = name()?;
        loop {
            self.lock_tablespace(txn, &known, MdlMode::Shared)?;
            let now = name()?;
            if now == known {
                return Ok(());
            }
            // It was renamed before the lock was there.
            known = now;
        }
    }

    /// Notes in which tablespaces a table was and is.
    pub(super) fn note_member(
        &self,
        txn: &mut Txn,
        before: Option<&TableDef>,
        after: Option<&TableDef>,
    ) -> Result<()> {
        for (def, is) in [(before, false), (after, true)] {
            if let Some(def) = def
                && def.file.is_general()
            {
                self.catalog.set_member(txn, def.file, def.id, is)?;
            }
        }
        Ok(())
    }
}

//! Which tables a statement's rows have to do with: from what it does to its own tables along the foreign keys that this touches.
//!
//! Parents of what is inserted or changed are opened; children of what is deleted or whose key changes, and where these are deleted
//! or changed in turn, theirs. Opening takes shared metadata locks in the statement's transaction, of those that may be changed too as
//! writers do.

use std::sync::Arc;

use millpond_store::{Engine, Error, Table, Txn};

use super::relations::{Related, Relations, ToChild, ToParent};
use crate::catalog::{ForeignKey, ReferentialAction, positions};
use crate::error::{SqlError, SqlResult};
use crate::row::schema_of;
use crate::store_error::store_error;
use crate::types::Schema;

/// What a statement does to a table's rows.
pub struct Written<'t> {
    /// The table.
    pub table: &'t Arc<Table>,
    /// Its schema.
    pub schema: &'t Arc<Schema>,
    /// Whether it inserts rows.
    pub inserts: bool,
    /// Whether it deletes rows.
    pub deletes: bool,
    /// Columns that it changes.
    pub updates: Vec<usize>,
}

/// What may happen to a table's rows.
#[derive(Clone, Debug, Default)]
struct Does {
    inserts: bool,
    deletes: bool,
    updates: Vec<usize>,
}

impl Does {
    fn touches(&self, columns: &[usize]) -> bool {
        columns.iter().any(|c| self.updates.contains(c))
    }
}

struct Resolver<'r> {
    engine: &'r Engine,
    txn: &'r mut Txn,
    tables: Vec<Related>,
    does: Vec<Does>,
}

/// The relations of a statement; `None` if none of its tables has any.
pub fn resolve(
    engine: &Engine,
    txn: &mut Txn,
    written: &[Written<'_>],
) -> SqlResult<Option<Box<Relations>>> {
    let mut any = false;
    for w in written {
        any |= !w.schema.foreign_keys.is_empty() || !children(engine, w.table)?.is_empty();
    }
    if !any {
        return Ok(None);
    }
    let mut r = Resolver {
        engine,
        txn,
        tables: Vec::new(),
        does: Vec::new(),
    };
    for w in written {
        r.add(w.table.clone(), w.schema.clone(), true);
    }
    for (at, w) in written.iter().enumerate() {
        // A table may be there twice; it is one to its rows.
        let at = r
            .find(&w.table.def().database, &w.table.def().name)
            .unwrap_or(at);
        r.happens(at, w.inserts, w.deletes, &w.updates)?;
    }
    r.connect()?;
    Ok(Some(Box::new(Relations { tables: r.tables })))
}

fn children<'t>(engine: &Engine, table: &'t Table) -> SqlResult<&'t [(String, String)]> {
    engine
        .children(table)
        .map_err(|e| store_error(e, &table.def().name))
}

impl Resolver<'_> {
    fn find(&self, database: &str, name: &str) -> Option<usize> {
        self.tables.iter().position(|r| {
            let def = r.table.def();
            def.database == database && def.name == name && !r.table.is_temporary()
        })
    }

    fn add(&mut self, table: Arc<Table>, schema: Arc<Schema>, written: bool) -> usize {
        self.tables.push(Related {
            table,
            schema,
            written,
            parents: Vec::new(),
            children: Vec::new(),
        });
        self.does.push(Does::default());
        self.tables.len() - 1
    }

    /// A table by name, opened if it isn't yet; `None`: there is none.
    fn open(&mut self, (database, name): &(String, String)) -> SqlResult<Option<usize>> {
        if let Some(at) = self.find(database, name) {
            return Ok(Some(at));
        }
        match self.engine.open_table(self.txn, database, name) {
            Ok(table) => {
                let schema = schema_of(&table)?;
                Ok(Some(self.add(table, schema, false)))
            }
            Err(Error::NoSuchTable(_) | Error::NoSuchDatabase(_)) => Ok(None),
            Err(e) => Err(store_error(e, name)),
        }
    }

    /// Takes notice of what may happen to a table's rows, and to those of its children by that.
    fn happens(
        &mut self,
        at: usize,
        inserts: bool,
        deletes: bool,
        updates: &[usize],
    ) -> SqlResult<()> {
        let does = &mut self.does[at];
        let before = (does.inserts, does.deletes, does.updates.len());
        does.inserts |= inserts;
        does.deletes |= deletes;
        for &c in updates {
            if !does.updates.contains(&c) {
                does.updates.push(c);
            }
        }
        if before == (does.inserts, does.deletes, does.updates.len()) {
            return Ok(());
        }
        for (child, key) in self.keys_to(at)? {
            let (deletes, updates) = self.touched(at, &key);
            let Some(child) = self.open(&child)? else {
                continue;
            };
            let columns = positions(&self.tables[child].schema, &key.columns).unwrap_or_default();
            if deletes && key.on_delete == ReferentialAction::Cascade {
                self.happens(child, false, true, &[])?;
            }
            if (deletes && key.on_delete == ReferentialAction::SetNull)
                || (updates && key.on_update.acts())
            {
                self.happens(child, false, false, &columns)?;
            }
        }
        Ok(())
    }

    /// Whether rows that a key refers to may be deleted, or changed in what it refers to.
    fn touched(&self, parent: usize, key: &ForeignKey) -> (bool, bool) {
        let columns = positions(&self.tables[parent].schema, &key.parent_columns);
        let does = &self.does[parent];
        (
            does.deletes,
            columns.is_some_and(|columns| does.touches(&columns)),
        )
    }

    /// The foreign keys that refer to a table and may be touched, with their tables.
    #[allow(clippy::type_complexity)]
    fn keys_to(&self, at: usize) -> SqlResult<Vec<((String, String), ForeignKey)>> {
        let mut keys = Vec::new();
        let does = &self.does[at];
        if !does.deletes && does.updates.is_empty() {
            return Ok(keys);
        }
        let table = &self.tables[at].table;
        let def = table.def();
        for child in children(self.engine, table)? {
            // Its definition is read without a lock: which keys refer here doesn't change while this table is locked.
            let schema = match self.engine.table_def(&child.0, &child.1) {
                Ok(def) => Schema::of(&def)?,
                Err(Error::NoSuchTable(_) | Error::NoSuchDatabase(_)) => continue,
                Err(e) => return Err(store_error(e, &child.1)),
            };
            for key in schema.foreign_keys {
                let here = key.parent.0 == def.database && key.parent.1 == def.name;
                let (deletes, updates) = self.touched(at, &key);
                if here && (deletes || updates) {
                    keys.push((child.clone(), key));
                }
            }
        }
        keys.sort_by(|a, b| (&a.0.0, &a.1.name).cmp(&(&b.0.0, &b.1.name)));
        Ok(keys)
    }

    /// Makes the edges between the tables.
    fn connect(&mut self) -> SqlResult<()> {
        // Parents that are opened now have nothing happen to them.
        for at in 0..self.tables.len() {
            self.tables[at].parents = self.parents_of(at)?;
            let mut to = Vec::new();
            for (child, key) in self.keys_to(at)? {
                let Some(child) = self.open(&child)? else {
                    continue;
                };
                to.push(self.to_child(at, child, key)?);
            }
            self.tables[at].children = to;
        }
        for at in 0..self.tables.len() {
            let does = &self.does[at];
            self.tables[at].written |= does.deletes || !does.updates.is_empty();
        }
        Ok(())
    }

    fn parents_of(&mut self, at: usize) -> SqlResult<Vec<ToParent>> {
        let schema = self.tables[at].schema.clone();
        let mut keys: Vec<&ForeignKey> = schema.foreign_keys.iter().collect();
        keys.sort_by(|a, b| a.name.cmp(&b.name));
        let mut parents = Vec::new();
        for key in keys {
            let columns = positions(&schema, &key.columns).ok_or_else(|| lost(key))?;
            let does = &self.does[at];
            let moves = schema.indexes[0].parts.iter();
            let moves = moves.into_iter().any(|p| does.updates.contains(&p.column));
            if !does.inserts && !moves && !does.touches(&columns) {
                continue;
            }
            let parent = self.open(&key.parent)?.and_then(|p| {
                let schema = &self.tables[p].schema;
                let over = positions(schema, &key.parent_columns)?;
                Some((p, schema.index_over(&over)?))
            });
            parents.push(ToParent {
                key: Arc::new(key.clone()),
                columns,
                parent,
            });
        }
        Ok(parents)
    }

    fn to_child(&self, parent: usize, child: usize, key: ForeignKey) -> SqlResult<ToChild> {
        let schema = &self.tables[child].schema;
        let (deletes, updates) = self.touched(parent, &key);
        let columns = positions(schema, &key.columns).ok_or_else(|| lost(&key))?;
        let over = positions(&self.tables[parent].schema, &key.parent_columns);
        Ok(ToChild {
            child,
            index: schema.index_over(&columns).ok_or_else(|| lost(&key))?,
            columns,
            parent_columns: over.ok_or_else(|| lost(&key))?,
            key: Arc::new(key),
            deletes,
            updates,
        })
    }
}

/// 1033: a definition lost what its foreign key needs, which no statement lets happen.
fn lost(key: &ForeignKey) -> SqlError {
    SqlError::new(
        1033,
        format!(
            "Incorrect information in table definition: foreign key '{}' lacks columns or an index",
            key.name
        ),
    )
}

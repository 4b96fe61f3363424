//! The tables that a statement's rows have to do with by foreign keys, as a graph.

use std::sync::Arc;

use millpond_store::{Table, Txn};

use crate::catalog::{ForeignKey, ReferentialAction};
use crate::error::SqlResult;
use crate::store_error::store_error;
use crate::types::Schema;

/// The tables that a statement's rows have to do with: those it writes to, their parents, and their children as far as
/// actions lead. Made by [`super::resolve`] for what the statement does.
pub struct Relations {
    /// The statement's own first.
    pub(super) tables: Vec<Related>,
}

/// A table among them.
pub(super) struct Related {
    pub table: Arc<Table>,
    pub schema: Arc<Schema>,
    /// Whether its rows may be changed.
    pub written: bool,
    /// Its foreign keys that the statement may touch, by name.
    pub parents: Vec<ToParent>,
    /// Foreign keys that refer to it and that the statement may touch, by database and name.
    pub children: Vec<ToChild>,
}

/// A foreign key, seen from the child.
pub(super) struct ToParent {
    pub key: Arc<ForeignKey>,
    pub columns: Vec<usize>,
    /// The parent and the index by which its rows are found; `None`: there is no such table, or it lost the index.
    pub parent: Option<(usize, usize)>,
}

/// A foreign key, seen from the parent.
pub(super) struct ToChild {
    pub key: Arc<ForeignKey>,
    pub child: usize,
    /// The index by which the child's rows are found.
    pub index: usize,
    /// The child's columns.
    pub columns: Vec<usize>,
    pub parent_columns: Vec<usize>,
    /// Whether the statement may delete rows of the parent.
    pub deletes: bool,
    /// Whether it may change their keys.
    pub updates: bool,
}

impl ToChild {
    /// Whether the statement may have it change the child.
    pub fn acts(&self) -> bool {
        self.deletes && self.key.on_delete.acts() || self.updates && self.key.on_update.acts()
    }
    /// What becomes of children.
    pub fn action(&self, deleted: bool) -> ReferentialAction {
        match deleted {
            true => self.key.on_delete,
            false => self.key.on_update,
        }
    }
}

impl Relations {
    /// Pins the tables; `false` if one has changed.
    pub fn pin(&self, txn: &mut Txn) -> SqlResult<bool> {
        for r in &self.tables {
            let pinned = match r.written {
                true => r.table.pin_for_write(txn),
                false => r.table.pin(txn),
            };
            if !pinned.map_err(|e| store_error(e, &r.table.def().name))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Where a table is among them, if it has anything to do with others.
    #[inline]
    pub(crate) fn node_of(&self, table: &Arc<Table>) -> Option<usize> {
        let at = self
            .tables
            .iter()
            .position(|r| Arc::ptr_eq(&r.table, table))?;
        let r = &self.tables[at];
        let related = !r.parents.is_empty() || !r.children.is_empty();
        (related || self.reaches(at)).then_some(at)
    }

    /// Whether rows of a table may be changed by what becomes of rows of others, or of its own.
    pub(super) fn reaches(&self, node: usize) -> bool {
        let all = self.tables.iter().flat_map(|r| &r.children);
        all.into_iter().any(|c| c.child == node && c.acts())
    }
}

impl std::fmt::Debug for Relations {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.tables.iter().map(|r| &r.table.def().name);
        f.debug_list().entries(names).finish()
    }
}

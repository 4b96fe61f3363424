//! The foreign keys of one table's rows on their way into it or out of it.
//!
//! **Parents** are looked up, and locked shared, before a row is written, so that whoever holds a parent exclusively is waited for without a row
//! written that he would wait for in turn. What is missing then is an error only once the row is there: a duplicate comes
//! first, and a row may be its own parent. **Children** that refuse are looked for before their parent is deleted or changed, as InnoDB does: a row that
//! refers to itself is among them, and a duplicate comes after. Those that go do so before their parent; those that change with it, after it.

use std::ops::Bound;

use millpond_store::{Direction, Fetch, KeyRange, LockMode, ReadMode, Table, WaitPolicy};

use super::super::{StoredRow, WriteContext};
use super::cascade::Link;
use super::errors::{child_error, parent_error};
use super::relations::{Related, Relations, ToChild, ToParent};
use crate::error::SqlResult;
use crate::store_error::store_error;
use crate::types::Schema;

/// The foreign keys of a writer's table.
pub(crate) struct Enforced<'w> {
    pub(super) relations: &'w Relations,
    /// The writer's table.
    pub(super) node: usize,
    /// What the rows change by; `None`: by the statement itself.
    pub(super) above: Option<&'w Link<'w>>,
    /// The foreign key by which they do, which holds in the end.
    pub(super) by: Option<&'w str>,
    /// The key under which children are looked for.
    key: Vec<u8>,
    /// A key of a row that may be its own child.
    own: Vec<u8>,
    /// Rows whose parents were looked up.
    rows: u64,
    /// Nobody but the statement's plan writes while it runs.
    alone: bool,
    /// By foreign key, the parent found last: rows of one often come together. Kept from the second row on, of tables to which the
    /// statement writes nothing: what it has locked there stays.
    found: Vec<Vec<u8>>,
}

/// A locking read of the newest version.
const fn locking(mode: LockMode) -> ReadMode {
    ReadMode::Locking(mode, WaitPolicy::Wait)
}

/// Whether a row's image differs from another in one of these columns, byte for byte.
fn differs(schema: &Schema, columns: &[usize], a: &[u8], b: &[u8]) -> bool {
    let layout = schema.layout();
    columns.iter().any(|&c| {
        let slot = layout.slots()[c];
        layout.is_null(a, c) != layout.is_null(b, c)
            || layout.bytes(slot, a) != layout.bytes(slot, b)
    })
}

/// Whether a row's clustered key changes.
fn moves(schema: &Schema, a: &[u8], b: &[u8]) -> bool {
    let parts = schema.indexes[0].parts.iter();
    parts
        .into_iter()
        .any(|p| differs(schema, &[p.column], a, b))
}

/// The rows of an index that have a key.
pub(super) fn only(key: &[u8]) -> KeyRange {
    KeyRange {
        lower: Bound::Included(key.to_vec()),
        upper: Bound::Included(key.to_vec()),
    }
}

impl<'w> Enforced<'w> {
    /// Of a table that a statement writes to.
    pub fn new(relations: &'w Relations, node: usize) -> Enforced<'w> {
        Enforced {
            relations,
            node,
            above: None,
            by: None,
            key: Vec::new(),
            own: Vec::new(),
            rows: 0,
            alone: true,
            found: Vec::new(),
        }
    }

    /// Triggers may write to any table between two rows.
    pub fn beside_triggers(&mut self) {
        self.alone = false;
    }

    pub(super) fn related(&self) -> &'w Related {
        &self.relations.tables[self.node]
    }

    /// Whether a row that goes or changes may have children.
    pub fn has_children(&self) -> bool {
        !self.related().children.is_empty()
    }

    /// Whether what happens to rows may change others of the same table.
    pub fn overtakes(&self) -> bool {
        self.relations.reaches(self.node)
    }

    /// Locks the parents that the next image of a row needs; whether all are there. `key`: a buffer.
    pub fn lock_parents(
        &mut self,
        cx: &mut WriteContext<'_>,
        key: &mut Vec<u8>,
        before: Option<&[u8]>,
        after: &[u8],
    ) -> SqlResult<bool> {
        self.rows += 1;
        if self.rows == 2 && self.alone {
            self.found.resize(self.related().parents.len(), Vec::new());
        }
        let mut all = true;
        for (n, to) in self.needed(before, after) {
            if !self.parent_key(to, after, key) {
                continue;
            }
            let known = self.found.get(n).is_some_and(|found| found == key);
            if known {
                continue;
            }
            let there = self.has_parent(cx, to, key)?;
            if there
                && self.stays(to)
                && let Some(found) = self.found.get_mut(n)
            {
                found.clone_from(key);
            }
            all &= there;
        }
        Ok(all)
    }

    /// Error 1452 if a row that is there now lacks a parent.
    pub fn refuse_orphan(
        &self,
        cx: &mut WriteContext<'_>,
        key: &mut Vec<u8>,
        before: Option<&[u8]>,
        after: &[u8],
    ) -> SqlResult<()> {
        for (_, to) in self.needed(before, after) {
            if self.parent_key(to, after, key) && !self.has_parent(cx, to, key)? {
                let def = cx.table.def();
                return Err(child_error((&def.database, &def.name), &to.key));
            }
        }
        Ok(())
    }

    /// The foreign keys that the next image of a row has to keep anew, by number.
    fn needed<'i>(
        &self,
        before: Option<&'i [u8]>,
        after: &'i [u8],
    ) -> impl Iterator<Item = (usize, &'w ToParent)> + use<'w, 'i> {
        let (related, by) = (self.related(), self.by);
        // As in InnoDB, where a row of another key has new entries in all indexes, and each is checked.
        let moves = before.is_none_or(|b| moves(&related.schema, b, after));
        related.parents.iter().enumerate().filter(move |(_, to)| {
            by.is_none_or(|by| *by != *to.key.name)
                && (moves || before.is_none_or(|b| differs(&related.schema, &to.columns, b, after)))
        })
    }

    /// Puts the key of a row's parent into `key`; `false`: the row needs none.
    fn parent_key(&self, to: &ToParent, image: &[u8], key: &mut Vec<u8>) -> bool {
        let own = &self.related().schema;
        key.clear();
        match to.parent {
            Some((parent, index)) => {
                let parent = &self.relations.tables[parent].schema;
                own.key_elsewhere(&to.columns, image, parent, index, key)
            }
            None => {
                let layout = own.layout();
                !to.columns.iter().any(|&c| layout.is_null(image, c))
            }
        }
    }

    /// Whether there is a parent with a key, which it is from now on.
    fn has_parent(&self, cx: &mut WriteContext<'_>, to: &ToParent, key: &[u8]) -> SqlResult<bool> {
        let Some((parent, index)) = to.parent else {
            return Ok(false);
        };
        let parent = &self.relations.tables[parent];
        let over = &parent.schema.indexes[index];
        let found = match over.unique && over.parts.len() == to.columns.len() {
            true => {
                let (mode, policy) = (LockMode::Shared, WaitPolicy::Wait);
                let table = &parent.table;
                table.lock_existing(cx.txn, index, key, mode, policy)
            }
            false => first(cx, &parent.table, index, key),
        };
        found.map_err(|e| store_error(e, &parent.table.def().name))
    }

    /// Whether a parent that was found stays until the statement ends.
    fn stays(&self, to: &ToParent) -> bool {
        let (parent, _) = to.parent.unzip();
        parent.is_some_and(|p| !self.relations.tables[p].written)
    }

    /// Sees to the children of a row that is about to be deleted.
    pub fn before_delete(
        &mut self,
        cx: &mut WriteContext<'_>,
        row: &StoredRow<'_>,
    ) -> SqlResult<()> {
        let link = Link::below(self.above, self.node, Some(row.key));
        for to in &self.related().children {
            if to.deletes && self.child_key(to, row.image) {
                self.act(cx, to, &link, None)?;
            }
        }
        Ok(())
    }

    /// Error 1451 for a row whose next image its children refuse.
    pub fn before_update(
        &mut self,
        cx: &mut WriteContext<'_>,
        old: &StoredRow<'_>,
        new: &[u8],
    ) -> SqlResult<()> {
        let link = Link::below(self.above, self.node, None);
        for to in self.left(old.image, new) {
            if !self.child_key(to, old.image) {
                continue;
            }
            if to.child == self.node {
                // A row that refers to itself, whatever it is to refer to.
                let related = self.related();
                self.own.clear();
                related
                    .schema
                    .key_of_row(to.index, old.image, &mut self.own);
                if self.own.starts_with(&self.key) {
                    return Err(self.refused(to));
                }
            }
            if !to.key.on_update.acts() {
                self.act(cx, to, &link, Some(new))?;
            }
        }
        Ok(())
    }

    /// Has the children of a row that has changed follow it.
    pub fn after_update(
        &mut self,
        cx: &mut WriteContext<'_>,
        old: &StoredRow<'_>,
        new: &[u8],
    ) -> SqlResult<()> {
        let link = Link::below(self.above, self.node, None);
        for to in self.left(old.image, new) {
            if to.key.on_update.acts() && self.child_key(to, old.image) {
                self.act(cx, to, &link, Some(new))?;
            }
        }
        Ok(())
    }

    /// The foreign keys whose children a row leaves by its next image.
    fn left<'i>(
        &self,
        old: &'i [u8],
        new: &'i [u8],
    ) -> impl Iterator<Item = &'w ToChild> + use<'w, 'i> {
        let related = self.related();
        related
            .children
            .iter()
            .filter(move |to| to.updates && differs(&related.schema, &to.parent_columns, old, new))
    }

    /// Puts the key of a row's children into `self.key`; `false`: it can have none.
    fn child_key(&mut self, to: &ToChild, image: &[u8]) -> bool {
        let (own, child) = (self.related(), &self.relations.tables[to.child]);
        self.key.clear();
        own.schema.key_elsewhere(
            &to.parent_columns,
            image,
            &child.schema,
            to.index,
            &mut self.key,
        )
    }

    /// Refuses children, or has them go or change. `new`: the parent's next image; `None`: it goes.
    fn act(
        &mut self,
        cx: &mut WriteContext<'_>,
        to: &'w ToChild,
        link: &Link<'_>,
        new: Option<&[u8]>,
    ) -> SqlResult<()> {
        let child = &self.relations.tables[to.child];
        if to.action(new.is_none()).acts() {
            return self.cascade(cx, to, link, &self.key, new);
        }
        let found = first(cx, &child.table, to.index, &self.key);
        match found.map_err(|e| store_error(e, &child.table.def().name))? {
            true => Err(self.refused(to)),
            false => Ok(()),
        }
    }

    /// Error 1451.
    pub(super) fn refused(&self, to: &ToChild) -> crate::error::SqlError {
        let def = self.relations.tables[to.child].table.def();
        parent_error((&def.database, &def.name), &to.key)
    }
}

/// Whether there is a row with a key, which is locked shared then.
fn first(
    cx: &mut WriteContext<'_>,
    table: &Table,
    index: usize,
    key: &[u8],
) -> Result<bool, millpond_store::Error> {
    let (dir, mode) = (Direction::Forward, locking(LockMode::Shared));
    let mut scan = table.scan(cx.txn, index, only(key), dir, mode, Fetch::Row)?;
    Ok(scan.next(cx.txn)?.is_some())
}

//! What becomes of children: rows of other tables, or of the same, deleted or changed through their own writer, whose foreign keys
//! are kept in turn.
//!
//! As in InnoDB: (1) what is being deleted already is passed by, so that rows which refer to each other in a circle go once; (2) a table whose rows
//! are being changed isn't changed again further down, but refuses; (3) the foreign key by which a row changes isn't checked again; (4) no
//! more than [`MOST_LEVELS`] rows are at it at a time, the statement's own included; (5) triggers and ON UPDATE CURRENT_TIMESTAMP have no part in it.

use millpond_store::{Direction, Fetch, LockMode, ReadMode, WaitPolicy};

use super::super::duplicate::duplicated_key;
use super::super::{
    Buffers, Hooks, NewRow, RowWriter, StoredRow, Target, WriteContext, WritePolicy,
};
use super::enforce::{Enforced, only};
use super::errors::{duplicate_by_cascade, too_deep};
use super::relations::ToChild;
use crate::catalog::ReferentialAction;
use crate::error::{SqlError, SqlResult};
use crate::store_error::{interrupted, store_error};
use crate::value::{self, StoreContext, Value, Zone};

/// How many rows, each by the one before, may be changed or deleted at a time.
const MOST_LEVELS: usize = 15;
/// Rows between two looks at whether the statement was killed.
const KILL_CHECK_ROWS: u64 = 1024;

/// A row that is being deleted or changed, and by which.
pub(crate) struct Link<'c> {
    above: Option<&'c Link<'c>>,
    /// Its table.
    node: usize,
    /// Its clustered key if it is being deleted.
    deleting: Option<&'c [u8]>,
    /// 1: by the statement itself.
    level: usize,
}

impl<'c> Link<'c> {
    pub fn below(above: Option<&'c Link<'c>>, node: usize, deleting: Option<&'c [u8]>) -> Link<'c> {
        Link {
            above,
            node,
            deleting,
            level: above.map_or(1, |a| a.level + 1),
        }
    }

    fn all(&self) -> impl Iterator<Item = &Link<'c>> {
        std::iter::successors(Some(self), |l| l.above)
    }

    /// Whether a row is being deleted.
    fn deletes(&self, node: usize, key: &[u8]) -> bool {
        self.all()
            .any(|l| l.node == node && l.deleting == Some(key))
    }

    /// Whether a row of a table is being changed.
    fn updates(&self, node: usize) -> bool {
        self.all().any(|l| l.node == node && l.deleting.is_none())
    }
}

impl Enforced<'_> {
    /// Deletes or changes the children with `key`. `new`: the parent's next image; `None`: it goes.
    pub(super) fn cascade(
        &self,
        cx: &mut WriteContext<'_>,
        to: &ToChild,
        link: &Link<'_>,
        key: &[u8],
        new: Option<&[u8]>,
    ) -> SqlResult<()> {
        let child = &self.relations.tables[to.child];
        let name = &*child.table.def().name;
        let wrap = |e| store_error(e, name);
        let deletes = new.is_none() && to.key.on_delete == ReferentialAction::Cascade;
        let target = Target {
            schema: &child.schema,
            name,
            partitions: None,
        };
        let policy = WritePolicy {
            strict: true,
            ..WritePolicy::default()
        };
        let mut writer = RowWriter::new(target, policy, &Hooks::NONE, cx.env, Buffers::default());
        if !child.parents.is_empty() || !child.children.is_empty() {
            let mut keys = Enforced::new(self.relations, to.child);
            keys.above = Some(link);
            keys.by = (!deletes).then_some(&*to.key.name);
            writer.enforce(keys);
        }
        let mode = ReadMode::Locking(LockMode::Exclusive, WaitPolicy::Wait);
        let dir = Direction::Forward;
        let mut scan = child
            .table
            .scan(cx.txn, to.index, only(key), dir, mode, Fetch::Row)
            .map_err(wrap)?;
        let (mut at, mut image) = (Vec::new(), Vec::new());
        let mut rows = 0u64;
        while let Some(found) = scan.next(cx.txn).map_err(wrap)? {
            if link.deletes(to.child, found.clustered_key) {
                continue;
            }
            if !deletes && link.updates(to.child) {
                return Err(self.refused(to));
            }
            if link.level >= MOST_LEVELS {
                return Err(too_deep(MOST_LEVELS));
            }
            at.clear();
            at.extend_from_slice(found.clustered_key);
            image.clear();
            image.extend_from_slice(found.row);
            let row = StoredRow {
                key: &at,
                part: 0,
                image: &image,
            };
            let mut below = WriteContext {
                engine: cx.engine,
                txn: &mut *cx.txn,
                env: cx.env,
                table: &child.table,
                load: None,
            };
            if deletes {
                writer.delete(&mut below, &row)?;
            } else {
                self.change(&mut below, &mut writer, to, &row, new)?;
            }
            rows += 1;
            if rows.is_multiple_of(KILL_CHECK_ROWS) && cx.txn.owner().is_killed() {
                return Err(interrupted());
            }
        }
        Ok(())
    }

    /// Gives a child's columns the parent's new values, or NULL.
    fn change(
        &self,
        cx: &mut WriteContext<'_>,
        writer: &mut RowWriter<'_>,
        to: &ToChild,
        row: &StoredRow<'_>,
        new: Option<&[u8]>,
    ) -> SqlResult<()> {
        let (parent, child) = (self.related(), &self.relations.tables[to.child]);
        let mut next = NewRow::default();
        let mut values: Vec<(usize, Value<'static>)> = Vec::with_capacity(to.columns.len());
        for (&c, &p) in to.columns.iter().zip(&to.parent_columns) {
            let column = &child.schema.columns[c];
            let v = match new {
                Some(new) if to.key.on_update == ReferentialAction::Cascade => {
                    let tz = cx.env.zone.get();
                    let v = parent.schema.layout().column(&parent.schema, new, p, tz);
                    v.into_owned()
                }
                _ => Value::Null,
            };
            let conversion = StoreContext {
                session: cx.env,
                strict: true,
                row: 1,
            };
            // What the child can't hold, the parent can't become.
            let stored = match v.is_null() && !column.nullable {
                true => return Err(self.refused(to)),
                false => value::store(v, column, &conversion),
            };
            let stored = stored.map_err(|_| self.refused(to))?;
            values.push((c, stored.into_owned()));
        }
        decode(writer, row, &mut next);
        for (c, v) in values {
            next.put(c, v);
        }
        match writer.update(cx, row, &mut next) {
            Err(e) if e.code == 1062 => Err(self.duplicates(&e, to, new)),
            done => done.map(drop),
        }
    }

    /// Error 1761: the child's new key is another row's.
    fn duplicates(&self, e: &SqlError, to: &ToChild, new: Option<&[u8]>) -> SqlError {
        let (parent, child) = (self.related(), &self.relations.tables[to.child]);
        let mut record = String::new();
        for (n, &p) in to.parent_columns.iter().enumerate() {
            if n > 0 {
                record.push('-');
            }
            let layout = parent.schema.layout();
            let v = new.map(|new| layout.column(&parent.schema, new, p, Zone::UTC));
            let text = v.map(|v| String::from_utf8_lossy(&v.to_text()).into_owned());
            record.push_str(text.as_deref().unwrap_or("NULL"));
        }
        let key = duplicated_key(e).unwrap_or_default();
        let (parent, child) = (&parent.table.def().name, &child.table.def().name);
        duplicate_by_cascade(parent, &record, child, key)
    }
}

/// Begins a row's next image as it is.
fn decode<'v, 'w: 'v>(writer: &RowWriter<'w>, row: &StoredRow<'v>, next: &mut NewRow<'v>) {
    writer.begin_update(row.image, next);
}

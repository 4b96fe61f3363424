//! [`RowWriter`]: rows into a table, from one image to the next, out of it.

use millpond_store::{Error, LockMode, ReadMode, Refused, Savepoint, WaitPolicy};
use smallvec::SmallVec;

use super::duplicate::duplicate;
use super::foreign_keys::{Enforced, ignorable};
use super::hooks::{Hooks, Images, PendingRow, RowListener, RowRule};
use super::place::{self, RowLocator, StoredRow};
use super::policy::{Buffers, Inserted, OnDuplicate, Target, Updated, WritePolicy};
use super::row::is_zero;
use super::{AutoIncrement, NewRow, WriteContext};
use crate::computed::CHECK_VIOLATED;
use crate::env::SessionEnv;
use crate::error::{SqlError, SqlResult};
use crate::expr::RowRef;
use crate::store_error::store_error;
use crate::types::Schema;
use crate::value::{self, Value, Zone};

/// Columns that an UPDATE gives values to, as far as the writer cares.
#[derive(Debug, Default)]
struct Assigned {
    /// ON UPDATE CURRENT_TIMESTAMP columns that are left alone.
    stamped: SmallVec<[usize; 2]>,
    /// The AUTO_INCREMENT column, if it is given a value.
    number: Option<usize>,
    /// Generated columns that follow from none that are: they stay what they were.
    settled: SmallVec<[usize; 2]>,
}

/// Writes a statement's rows to a table: see the [module](super) for a row's way.
///
/// A row that is inserted is begun by [`RowWriter::begin`], gets values by [`RowWriter::set`] and [`RowWriter::complete`], and is stored
/// by [`RowWriter::insert`]. A row that changes is begun by [`RowWriter::begin_update`], gets values by [`RowWriter::assign`], and is
/// stored by [`RowWriter::update`].
pub struct RowWriter<'w> {
    pub(super) target: Target<'w>,
    pub(super) policy: WritePolicy,
    pub(super) hooks: &'w Hooks<'w>,
    pub(super) tz: Zone,
    pub(super) auto: Option<AutoIncrement>,
    assigned: Assigned,
    /// Its table's foreign keys, if there are any to keep.
    keys: Option<Enforced<'w>>,
    buffers: Buffers,
    /// The partition of the row in the way.
    found_part: u32,
    /// The hidden row id that the next row to be stored keeps.
    row_id: Option<[u8; 8]>,
    /// The number of the current row in the statement, from 1, for messages.
    pub(super) row: u64,
    /// Whether somebody may read the columns of a row being changed that its image doesn't hold, before they are computed anew.
    pub(super) reads_computed: bool,
}

impl<'w> RowWriter<'w> {
    /// A writer of a statement that has written nothing yet.
    #[inline]
    pub fn new(
        target: Target<'w>,
        policy: WritePolicy,
        hooks: &'w Hooks<'w>,
        env: &SessionEnv,
        buffers: Buffers,
    ) -> RowWriter<'w> {
        RowWriter {
            target,
            policy,
            hooks,
            tz: env.zone.get(),
            auto: None,
            assigned: Assigned::default(),
            keys: None,
            buffers,
            found_part: 0,
            row_id: None,
            row: 0,
            reads_computed: true,
        }
    }

    /// Has the AUTO_INCREMENT column numbered.
    pub fn number_by(&mut self, auto: AutoIncrement) {
        self.auto = Some(auto);
    }

    /// Has the table's foreign keys kept.
    pub(crate) fn enforce(&mut self, mut keys: Enforced<'w>) {
        if self.hooks.are_triggers() {
            keys.beside_triggers();
        }
        self.keys = Some(keys);
    }

    /// Says which columns updates of this statement assign to.
    pub fn assigns_to(&mut self, columns: impl Fn(usize) -> bool) {
        for (c, column) in self.target.schema.columns.iter().enumerate() {
            if column.on_update_now && !columns(c) {
                self.assigned.stamped.push(c);
            }
            if column.auto_increment && columns(c) {
                self.assigned.number = Some(c);
            }
        }
        // A trigger may assign to any.
        if self.target.schema.generates() && self.hooks.before.is_empty() {
            self.settle_generated(columns);
        }
    }

    fn settle_generated(&mut self, assigned: impl Fn(usize) -> bool) {
        let Ok(computed) = self.target.schema.computed() else {
            return;
        };
        let mut moved: SmallVec<[usize; 4]> = SmallVec::new();
        for (column, e) in computed.generated_expressions() {
            let mut follows = false;
            e.columns(&mut |_, c| {
                follows |= assigned(c) || moved.contains(&c) || self.assigned.stamped.contains(&c);
            });
            match follows {
                true => moved.push(column),
                false => self.assigned.settled.push(column),
            }
        }
    }

    /// Its AUTO_INCREMENT numbers, if it makes any.
    pub fn numbers(&mut self) -> Option<&mut AutoIncrement> {
        self.auto.as_mut()
    }

    /// The buffers, for the next statement; this one is done.
    pub fn take_buffers(&mut self) -> Buffers {
        std::mem::take(&mut self.buffers)
    }

    /// Definition of the table that it writes to.
    pub fn schema(&self) -> &'w Schema {
        self.target.schema
    }

    /// Says which row of the statement comes now, from 1.
    pub fn at_row(&mut self, row: u64) {
        self.row = row;
    }

    /// The number of the current row in the statement.
    pub fn row(&self) -> u64 {
        self.row
    }

    /// Messages about the row after this one are to have this one's number.
    pub fn uncount(&mut self) {
        self.row -= 1;
    }

    /// Inserts a row.
    pub fn insert(
        &mut self,
        cx: &mut WriteContext<'_>,
        row: &mut NewRow<'_>,
    ) -> SqlResult<Inserted> {
        if !row.pending.is_empty() {
            self.settle(cx.env, row)?;
        }
        self.apply(cx, self.hooks.before, None, Some(row))?;
        if !row.unsaid.is_empty() {
            self.fill_unsaid(cx.env, row)?;
        }
        self.compute(cx, None, row)?;
        if !row.missing.is_empty() {
            self.refuse_missing(cx.env, row)?;
        }
        if !self.check(cx, None, row)? {
            if let Some(auto) = &mut self.auto {
                auto.passed_over(&row.values()[auto.column]);
            }
            return Ok(Inserted::Refused);
        }
        let numbered = self.number(cx, row)?;
        let Target {
            schema, partitions, ..
        } = self.target;
        let route = &mut self.buffers.route;
        let done = match place::route(schema, partitions, row.values(), cx, route) {
            Ok(part) => {
                let mut image = std::mem::take(&mut self.buffers.image);
                let done = self
                    .encode(row, &mut image)
                    .and_then(|()| self.store(cx, part, &image));
                self.buffers.image = image;
                done?
            }
            Err(e) if self.policy.ignore && place::ignorable(&e) => {
                cx.env.warn(e.code, e.message);
                Inserted::Skipped
            }
            Err(e) => return Err(e),
        };
        if let Some(auto) = &mut self.auto {
            match done {
                Inserted::Stored(_) | Inserted::Same(_) => {
                    auto.stored(cx.table, &row.values()[auto.column], numbered);
                }
                Inserted::Skipped | Inserted::Duplicate if numbered => auto.give_back(),
                Inserted::Skipped | Inserted::Duplicate => {
                    auto.passed_over(&row.values()[auto.column]);
                }
                _ => {}
            }
        }
        Ok(done)
    }

    /// Inserts a row that a table of the same columns has: its values went through their conversion and their rules when they
    /// were written there.
    pub fn insert_image(&mut self, cx: &mut WriteContext<'_>, image: &[u8]) -> SqlResult<Inserted> {
        self.row += 1;
        let schema = self.target.schema;
        let part = place::route_image(schema, image, cx, &mut self.buffers.route)?;
        self.store(cx, part, image)
    }

    /// Has the next row that is inserted keep the hidden row id that it has in another table, as all rows of this one do.
    pub fn keep_row_id(&mut self, row_id: &[u8]) {
        self.row_id = row_id.try_into().ok();
    }

    /// Makes a row as [`RowWriter::insert`] does, numbers apart, but does not store it: its image goes to `image`. Returns its partition's
    /// position.
    pub fn make(
        &mut self,
        cx: &mut WriteContext<'_>,
        row: &mut NewRow<'_>,
        image: &mut Vec<u8>,
    ) -> SqlResult<u32> {
        if !row.pending.is_empty() {
            self.settle(cx.env, row)?;
        }
        self.compute(cx, None, row)?;
        self.check(cx, None, row)?;
        let (schema, route) = (self.target.schema, &mut self.buffers.route);
        let part = place::route(schema, None, row.values(), cx, route)?;
        self.encode(row, image).map(|()| part)
    }

    /// The position of the partition where an image belongs.
    pub fn place_of(&mut self, cx: &WriteContext<'_>, image: &[u8]) -> SqlResult<u32> {
        place::route_image(self.target.schema, image, cx, &mut self.buffers.route)
    }

    /// Takes a complete row its AUTO_INCREMENT number, if it wants one still; whether it does. NULL in a column that may be NULL stays,
    /// and a number is used up for it, as in MySQL.
    fn number(&mut self, cx: &WriteContext<'_>, row: &mut NewRow<'_>) -> SqlResult<bool> {
        let schema = self.target.schema;
        let keeps_null = |c: usize| schema.columns[c].nullable && row.values()[c].is_null();
        let wants = |c: usize| row.numbered && (is_zero(&row.values()[c]) || keeps_null(c));
        let Some(auto) = self.auto.as_mut().filter(|a| wants(a.column)) else {
            return Ok(false);
        };
        let (c, n) = (auto.column, auto.next(cx.engine, cx.table, schema)?);
        if keeps_null(c) {
            return Ok(true);
        }
        let step = auto.step();
        let conversion = self.conversion(cx.env);
        let n = value::number_within(n, step, &schema.columns[c], &conversion)?;
        let v = value::generated(n, &schema.columns[c], &conversion)?;
        if let Some(auto) = &mut self.auto {
            auto.took(n);
        }
        row.put(c, v);
        Ok(true)
    }

    /// Stores an image in a partition, or does what is to be done with a duplicate. That can only be in the same one: unique keys
    /// hold what decides about partitions.
    fn store(
        &mut self,
        cx: &mut WriteContext<'_>,
        position: u32,
        image: &[u8],
    ) -> SqlResult<Inserted> {
        let Target { schema, name, .. } = self.target;
        let part = place::part(schema, cx, position)?;
        let undo = self.row_undo(cx);
        let parents = match &mut self.keys {
            Some(keys) => keys.lock_parents(cx, &mut self.buffers.route, None, image)?,
            None => true,
        };
        let mut replaced = 0;
        let row_id = self.row_id.take();
        loop {
            let stored = match (&mut cx.load, &row_id) {
                (Some(load), id) => {
                    match load.add(position, &part, id.as_ref().map(|id| &id[..]), image) {
                        Err(Refused {
                            error: Error::DuplicateKey { index },
                            row: Some(row),
                        }) => return Err(duplicate(schema, name, index, &row, self.tz)),
                        added => added.map_err(|refused| refused.error),
                    }
                }
                (None, None) => part.insert(cx.txn, image),
                (None, Some(id)) => part.insert_under(cx.txn, id, image),
            };
            let index = match stored {
                Ok(()) => {
                    // What made way may have been the parent, or taken it along.
                    if (!parents || replaced > 0)
                        && let Some(keys) = &self.keys
                        && let Err(e) = keys.refuse_orphan(cx, &mut self.buffers.route, None, image)
                    {
                        return self.undo_row(cx, undo, e).map(|()| Inserted::Skipped);
                    }
                    self.tell_all(cx, None, Some(image))?;
                    return Ok(Inserted::Stored(replaced));
                }
                Err(Error::DuplicateKey { index }) => index,
                Err(e) => return Err(store_error(e, name)),
            };
            if self.policy.duplicates == OnDuplicate::Refuse {
                let e = duplicate(schema, name, index, image, self.tz);
                return self.pass_over(cx, e).map(|()| Inserted::Skipped);
            }
            let Buffers {
                found_key, found, ..
            } = &mut self.buffers;
            let is_found = part
                .find_duplicate(cx.txn, index, image, found_key, found)
                .map_err(|e| store_error(e, name))?;
            if !is_found {
                // It has gone meanwhile.
                continue;
            }
            if self.policy.duplicates == OnDuplicate::Update {
                self.found_part = position;
                return Ok(Inserted::Duplicate);
            }
            // As in MySQL, the same row again stays if no other key can be in the way, and nobody acts on its making way.
            let later = &schema.indexes[index + 1..];
            if self.buffers.found == image
                && !later.iter().any(|i| i.unique)
                && !self.hooks.act_on_deletes(cx)
                && !self.keys.as_ref().is_some_and(Enforced::has_children)
            {
                return Ok(Inserted::Same(replaced));
            }
            let key = std::mem::take(&mut self.buffers.found_key);
            let found = std::mem::take(&mut self.buffers.found);
            let row = StoredRow {
                key: &key,
                part: position,
                image: &found,
            };
            let deleted = self.delete(cx, &row);
            (self.buffers.found_key, self.buffers.found) = (key, found);
            deleted?;
            replaced += 1;
        }
    }

    /// The row in the way of the one that was to be inserted: where it is, and its image. To be returned by
    /// [`RowWriter::return_found`].
    pub fn take_found(&mut self) -> (RowLocator, Vec<u8>) {
        let key = std::mem::take(&mut self.buffers.found_key);
        let part = self.found_part;
        (
            RowLocator { key, part },
            std::mem::take(&mut self.buffers.found),
        )
    }

    /// Returns the buffers of [`RowWriter::take_found`].
    pub fn return_found(&mut self, (at, image): (RowLocator, Vec<u8>)) {
        (self.buffers.found_key, self.buffers.found) = (at.key, image);
    }

    /// Changes a row.
    pub fn update(
        &mut self,
        cx: &mut WriteContext<'_>,
        old: &StoredRow<'_>,
        row: &mut NewRow<'_>,
    ) -> SqlResult<Updated> {
        let mut image = std::mem::take(&mut self.buffers.image);
        let done = self.update_into(cx, old, row, &mut image);
        self.buffers.image = image;
        done
    }

    fn update_into(
        &mut self,
        cx: &mut WriteContext<'_>,
        old: &StoredRow<'_>,
        row: &mut NewRow<'_>,
        image: &mut Vec<u8>,
    ) -> SqlResult<Updated> {
        let Target {
            schema,
            name,
            partitions,
        } = self.target;
        let before = Some(old.image);
        // What the statement itself changes counts, and triggers see the clock that they may set otherwise.
        let early = !self.hooks.before.is_empty() && !self.assigned.stamped.is_empty();
        if early {
            self.encode(row, image)?;
            if image[..] != *old.image {
                self.stamp(cx.env, row)?;
            }
        }
        self.apply(cx, self.hooks.before, before, Some(row))?;
        self.encode(row, image)?;
        if image[..] == *old.image {
            self.tell(cx, self.hooks.after, before, before)?;
            return Ok(Updated::Unchanged);
        }
        if !early {
            self.stamp(cx.env, row)?;
        }
        self.compute(cx, before, row)?;
        if !self.check(cx, before, row)? {
            return Ok(Updated::Skipped);
        }
        let computed = self.hooks.change_rows() || schema.generates();
        if !self.assigned.stamped.is_empty() || computed {
            self.encode(row, image)?;
        }
        let undo = self.row_undo(cx);
        let parents = match &mut self.keys {
            Some(keys) => {
                let parents = keys.lock_parents(cx, &mut self.buffers.route, before, image)?;
                if let Err(e) = keys.before_update(cx, old, image) {
                    return self.undo_row(cx, undo, e).map(|()| Updated::Skipped);
                }
                parents
            }
            None => true,
        };
        let route = &mut self.buffers.route;
        let to = match place::route(schema, partitions, row.values(), cx, route) {
            Err(e) if self.policy.ignore && place::ignorable(&e) => {
                cx.env.warn(e.code, e.message);
                return Ok(Updated::Skipped);
            }
            to => to?,
        };
        match place::change(schema, cx, old, to, image)? {
            Ok(()) => {}
            Err(Error::DuplicateKey { index }) => {
                let e = duplicate(schema, name, index, image, self.tz);
                return self.pass_over(cx, e).map(|()| Updated::Skipped);
            }
            Err(e) => return Err(store_error(e, name)),
        }
        if let Some(keys) = &mut self.keys {
            let orphan = match parents {
                true => Ok(()),
                false => keys.refuse_orphan(cx, &mut self.buffers.route, before, image),
            };
            if let Err(e) = orphan.and_then(|()| keys.after_update(cx, old, image)) {
                return self.undo_row(cx, undo, e).map(|()| Updated::Skipped);
            }
        }
        if let Some(c) = self.assigned.number {
            let number = row.values()[c].to_u64();
            match &mut self.auto {
                _ if number == 0 => {}
                Some(auto) => auto.seen(cx.table, number),
                None => cx.table.auto_increment_seen(number),
            }
        }
        self.tell_all(cx, before, Some(image))?;
        Ok(Updated::Changed)
    }

    /// Deletes a row; `false`: IGNORE passed it over, with a warning.
    pub fn delete(&mut self, cx: &mut WriteContext<'_>, row: &StoredRow<'_>) -> SqlResult<bool> {
        let before = Some(row.image);
        self.apply(cx, self.hooks.before, before, None)?;
        let undo = self.row_undo(cx);
        if let Some(keys) = &mut self.keys
            && let Err(e) = keys.before_delete(cx, row)
        {
            return self.undo_row(cx, undo, e).map(|()| false);
        }
        place::part(self.target.schema, cx, row.part)?
            .delete(cx.txn, row.key, row.image)
            .map_err(|e| store_error(e, self.target.name))?;
        self.tell_all(cx, before, None).map(|()| true)
    }

    /// Says whether values that are assigned, or a view, may read a row being changed.
    pub fn reads_row(&mut self, reads: bool) {
        self.reads_computed = reads;
    }

    /// Whether there are triggers: they act on rows, too, that an UPDATE finds as they are to be.
    pub fn has_triggers(&self) -> bool {
        self.hooks.are_triggers()
    }

    /// Whether what the writer does to a row may change rows that the statement has found already.
    pub fn overtakes(&self) -> bool {
        self.keys.as_ref().is_some_and(Enforced::overtakes)
    }

    /// The image that a row found earlier has now, in `image`; `false`: it has gone meanwhile, by the statement itself, which has it locked.
    pub fn now(
        &self,
        cx: &mut WriteContext<'_>,
        row: &StoredRow<'_>,
        image: &mut Vec<u8>,
    ) -> SqlResult<bool> {
        let mode = ReadMode::Locking(LockMode::Exclusive, WaitPolicy::Wait);
        let mut key = Vec::new();
        place::part(self.target.schema, cx, row.part)?
            .get(cx.txn, 0, row.key, mode, &mut key, image)
            .map_err(|e| store_error(e, self.target.name))
    }

    /// Where to return to if IGNORE passes a row over for its foreign keys.
    fn row_undo(&self, cx: &WriteContext<'_>) -> Option<Savepoint> {
        (self.keys.is_some() && self.policy.ignore).then(|| cx.txn.savepoint())
    }

    /// With IGNORE, undoes what has become of a row, with a warning instead of the error.
    fn undo_row(
        &self,
        cx: &mut WriteContext<'_>,
        undo: Option<Savepoint>,
        e: SqlError,
    ) -> SqlResult<()> {
        match undo.filter(|_| ignorable(&e)) {
            None => Err(e),
            Some(to) => {
                let undone = cx.engine.rollback_to(cx.txn, to);
                undone.map_err(|e| store_error(e, self.target.name))?;
                cx.env.warn(e.code, e.message);
                Ok(())
            }
        }
    }

    /// With IGNORE, a warning instead of an error.
    fn pass_over(&self, cx: &WriteContext<'_>, e: SqlError) -> SqlResult<()> {
        if !self.policy.ignore {
            return Err(e);
        }
        cx.env.warn(e.code, e.message);
        Ok(())
    }

    /// Sets the clock in the columns that tell when their row was changed.
    fn stamp(&self, env: &SessionEnv, row: &mut NewRow<'_>) -> SqlResult<()> {
        for &c in &self.assigned.stamped {
            let column = &self.target.schema.columns[c];
            let now = Value::DateTime(env.local_now_fsp(column.ty.decimals));
            row.put(c, value::store(now, column, &self.conversion(env))?);
        }
        Ok(())
    }

    /// Generated columns, and what hooks do there.
    #[inline]
    fn compute(
        &self,
        cx: &mut WriteContext<'_>,
        before: Option<&[u8]>,
        row: &mut NewRow<'_>,
    ) -> SqlResult<()> {
        if self.target.schema.generates() {
            let settled: &[usize] = match before {
                Some(_) => &self.assigned.settled,
                None => &[],
            };
            self.generate(cx.env, row, 0..usize::MAX, settled)?;
        }
        self.apply(cx, self.hooks.generated, before, Some(row))
    }

    /// NOT NULL, of what hooks left, and CHECK; whether the row goes on, or IGNORE passed it over.
    fn check(
        &self,
        cx: &mut WriteContext<'_>,
        before: Option<&[u8]>,
        row: &mut NewRow<'_>,
    ) -> SqlResult<bool> {
        if self.hooks.change_rows() {
            let conversion = self.conversion(cx.env);
            for (c, column) in self.target.schema.columns.iter().enumerate() {
                if column.nullable || !row.values()[c].is_null() {
                    continue;
                }
                if self.policy.refuse_nulls {
                    return Err(value::null_refused(column));
                }
                row.put(c, value::store(Value::Null, column, &conversion)?);
            }
        }
        let Target { schema, name, .. } = self.target;
        if !schema.checks.is_empty() {
            let values = RowRef::Values(row.values());
            match schema.computed()?.check(schema, name, values, cx.env) {
                Err(e) if e.code == CHECK_VIOLATED => {
                    return self.pass_over(cx, e).map(|()| false);
                }
                done => done?,
            }
        }
        self.apply(cx, self.hooks.check, before, Some(row))?;
        Ok(true)
    }

    /// Asks rules about a row.
    #[inline]
    fn apply(
        &self,
        cx: &mut WriteContext<'_>,
        rules: &[&dyn RowRule],
        before: Option<&[u8]>,
        after: Option<&mut NewRow<'_>>,
    ) -> SqlResult<()> {
        if rules.is_empty() {
            return Ok(());
        }
        let mut row = PendingRow {
            schema: self.target.schema,
            before,
            after,
            conversion: self.conversion(cx.env),
        };
        rules.iter().try_for_each(|rule| rule.apply(cx, &mut row))
    }

    /// Tells all who are to be told of a row that was written.
    #[inline]
    fn tell_all(
        &self,
        cx: &mut WriteContext<'_>,
        before: Option<&[u8]>,
        after: Option<&[u8]>,
    ) -> SqlResult<()> {
        self.tell(cx, self.hooks.after, before, after)?;
        self.tell(cx, self.hooks.images, before, after)
    }

    #[inline]
    fn tell(
        &self,
        cx: &mut WriteContext<'_>,
        listeners: &[&dyn RowListener],
        before: Option<&[u8]>,
        after: Option<&[u8]>,
    ) -> SqlResult<()> {
        if listeners.is_empty() {
            return Ok(());
        }
        let row = Images {
            schema: self.target.schema,
            before,
            after,
        };
        listeners.iter().try_for_each(|l| l.written(cx, &row))
    }
}

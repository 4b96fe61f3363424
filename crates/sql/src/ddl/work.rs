//! Tables in the making: ALTER TABLE, OPTIMIZE TABLE and CREATE TABLE ... SELECT fill them.
//!
//! Such a table is filled under a name in a database of its own, [`WORK_DATABASE`], where no session looks, and takes its place by one atomic
//! rename. Up to then a failure or a crash leaves nothing of it: whatever is in the work database when an
//! instance is opened is dropped ([`clear_work`]). A temporary table is made under no name at all, and takes its place in the
//! session's list. Rows are filled in bulk ([`millpond_store::Load`]). A table with partitions is filled partition by partition. Temporary tables, those with partitions
//! and row ids of their own, those whose duplicates are not refused, and all under `expand_fast_index_creation=OFF`, get their rows one by one, in bounded transactions.
//!
//! The statement's owner holds DDL's lock above all names throughout, and every step of DDL is its own. The rows' transactions
//! have an owner beside it on the same thread, which must never wait: no deadlock would be seen in the one waiting for what the
//! other holds up, and no KILL would reach it. It does not, for it locks nothing but a table that nobody else knows, and FLUSH TABLES WITH READ LOCK,
//! which takes all there are, waits for the statement. Where the statement is part of a transaction that goes on, the table is made and dropped by such an owner
//! too, for it is committed before it takes its place ([`millpond_store::Engine::deputy`]).

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use millpond_store::btree::Records;
use millpond_store::engine::{Follow, Place, TemporaryChange};
use millpond_store::sort::Sorted;
use millpond_store::{Engine, Error, Isolation, Owner, Refused, RowOrder, Table, Txn};

use super::Ddl;
use super::convert::{Conversion, is_computed};
use super::create::new_table;
use super::follow::{Following, Means, Moved};
use crate::catalog::WORK_DATABASE;
use crate::computed::generated_given;
use crate::env::SessionEnv;
use crate::error::{SqlError, SqlResult};
use crate::parse::ast::Duplicates;
use crate::result::{ColumnMeta, Completion, ResultSink};
use crate::row;
use crate::store_error::{interrupted, store_error};
use crate::types::{Column, Schema, SqlType};
use crate::value::{self, Value};
use crate::write::{
    AutoIncrement, Buffers, Filling, Hooks, Inserted, NewRow, OnDuplicate, RowWriter, Target,
    WriteContext, WritePolicy, duplicate,
};

/// Rows written per transaction.
const BATCH_ROWS: u64 = 10_000;
/// Rows between two looks at whether the statement was killed.
const KILL_CHECK_ROWS: u64 = 1_000;

static NEXT_NAME: AtomicU64 = AtomicU64::new(1);

/// Drops what an earlier life of the database left half made.
pub fn clear_work(engine: &Engine) -> millpond_store::Result<()> {
    let names = match engine.tables(WORK_DATABASE) {
        Ok(names) => names,
        Err(Error::NoSuchDatabase(_)) => return Ok(()),
        Err(e) => return Err(e),
    };
    if names.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = names
        .into_iter()
        .map(|n| (WORK_DATABASE.to_string(), n))
        .collect();
    engine.drop_tables(&engine.owner(), &names)
}

/// Where a table in the making is to be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Home {
    /// In the database; where the default says, if nothing else does.
    Stored(Option<Place>),
    /// In the session.
    Temporary,
}

/// A table in the making. Dropped, it leaves nothing behind.
pub struct Work<'a> {
    engine: &'a Engine,
    env: &'a SessionEnv,
    /// Whose statement it is: asked whether it was killed; does the DDL that gives the table its place.
    owner: &'a Arc<Owner>,
    /// Who makes and drops the table: the same, unless its DDL is part of a transaction that goes on.
    maker: Arc<Owner>,
    /// Whose the rows' transactions are, and nothing else (see the module): its own, so that the statement can read in its.
    row_owner: Arc<Owner>,
    name: (String, String),
    /// What messages call it.
    shown: &'a str,
    /// Whether it is a temporary table: `table` is all there is of it.
    temporary: bool,
    schema: &'a Schema,
    table: Option<Arc<Table>>,
    txn: Option<Txn>,
    /// In which order its rows come, if it is to be filled in bulk.
    bulk: Option<RowOrder>,
    /// Fills it.
    load: Option<Filling>,
    /// Writes the rows. Triggers and logs of rows don't see them: they are not the statement's.
    writer: RowWriter<'a>,
    /// For a row under its schema version.
    image: Vec<u8>,
    /// Rows it has got.
    rows: u64,
    /// The same, but REPLACE counts each row that it replaces, too.
    affected: u64,
    duplicates: Option<Duplicates>,
    placed: bool,
}

impl<'a> Work<'a> {
    /// Makes the table; a temporary one with its clustered index only if duplicates are refused.
    pub fn start(
        ddl: &Ddl<'a>,
        shown: &'a str,
        schema: &'a Schema,
        home: Home,
        duplicates: Option<Duplicates>,
        auto_increment: u64,
        order: RowOrder,
    ) -> SqlResult<Work<'a>> {
        let wrap = |e| store_error(e, shown);
        let temporary = home == Home::Temporary;
        let maker = ddl.engine.deputy(ddl.owner);
        if !temporary && ddl.engine.database(WORK_DATABASE).is_err() {
            let options = schema.collation.name().as_bytes();
            match ddl.engine.create_database(&maker, WORK_DATABASE, options) {
                Ok(()) | Err(Error::DatabaseExists(_)) => {}
                Err(e) => return Err(wrap(e)),
            }
        }
        let name = NEXT_NAME.fetch_add(1, Ordering::Relaxed).to_string();
        let place = match home {
            Home::Stored(place) => place,
            Home::Temporary => None,
        };
        let mut new = new_table(WORK_DATABASE, &name, schema, place);
        let plain = schema.partitioning.is_none() && duplicates.is_none();
        if temporary && plain {
            new.indexes.truncate(1);
        }
        let numbered = schema.partitioning.is_some() && schema.indexes[0].parts.is_empty();
        let bulk = !temporary && !numbered && duplicates.is_none() && fast(ddl.env);
        new.auto_increment = auto_increment;
        let mut table = None;
        if temporary {
            table = Some(ddl.engine.create_temporary(new).map_err(wrap)?);
        } else {
            let making = Ddl {
                owner: &maker,
                ..*ddl
            };
            making.create_stored(new, schema).map_err(wrap)?;
        }
        let target = Target {
            schema,
            name: shown,
            partitions: None,
        };
        let ignore = duplicates == Some(Duplicates::Ignore);
        let policy = WritePolicy {
            duplicates: match duplicates {
                Some(Duplicates::Replace) => OnDuplicate::Replace,
                None | Some(Duplicates::Ignore) => OnDuplicate::Refuse,
            },
            ignore,
            strict: ddl.env.sql_mode.get().strict && !ignore,
            refuse_nulls: false,
        };
        Ok(Work {
            engine: ddl.engine,
            env: ddl.env,
            owner: ddl.owner,
            row_owner: ddl.engine.owner(),
            maker,
            name: (WORK_DATABASE.to_string(), name),
            shown,
            temporary,
            schema,
            table,
            txn: None,
            bulk: bulk.then_some(order),
            load: None,
            writer: RowWriter::new(target, policy, &Hooks::NONE, ddl.env, Buffers::default()),
            image: Vec::new(),
            rows: 0,
            affected: 0,
            duplicates,
            placed: false,
        })
    }

    fn wrap(&self, e: Error) -> SqlError {
        store_error(e, self.shown)
    }

    /// Its name in the work database.
    pub fn name(&self) -> &(String, String) {
        &self.name
    }

    /// Whether it is to be a temporary table.
    pub fn is_temporary(&self) -> bool {
        self.temporary
    }

    /// Its rows have a place elsewhere now, and it is gone.
    pub fn placed(mut self) {
        self.placed = true;
    }

    /// Whether it is being filled in bulk, and its secondary indexes are to come.
    pub(super) fn is_loaded(&self) -> bool {
        self.load.is_some()
    }

    /// Whether it is to be filled in bulk.
    pub(super) fn is_bulk(&self) -> bool {
        self.bulk.is_some()
    }

    /// How many rows it has got.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// How many rows were put into it, and replaced.
    pub fn affected(&self) -> u64 {
        self.affected
    }

    /// The first AUTO_INCREMENT value that was made for it, and the last that a row brought along, 0 if none did.
    pub fn numbers_given(&mut self) -> (Option<u64>, u64) {
        let numbers = self.writer.numbers();
        numbers.map_or((None, 0), |n| (n.first_generated(), n.last_given()))
    }

    /// Adds a row.
    fn insert(&mut self, row: &mut NewRow<'_>) -> SqlResult<()> {
        self.write(|writer, cx| writer.insert(cx, row))
    }

    /// Adds a row that another table of the same columns has.
    fn insert_image(&mut self, image: &[u8]) -> SqlResult<()> {
        let mut buffer = std::mem::take(&mut self.image);
        let image = row::at_version(image, self.schema.versions().current(), &mut buffer);
        let done = self.write(|writer, cx| writer.insert_image(cx, image));
        self.image = buffer;
        done
    }

    /// Adds a row of the table that it is to replace. `row_id`: the hidden row id that it keeps.
    pub(super) fn take(
        &mut self,
        conversion: &Conversion<'_>,
        row_id: Option<&[u8]>,
        row: &[u8],
    ) -> SqlResult<()> {
        if let Some(id) = row_id {
            self.writer.keep_row_id(id);
        }
        if conversion.keeps_images() {
            conversion.check(row)?;
            return self.insert_image(row);
        }
        let old = conversion.old;
        let mut before = Vec::with_capacity(old.columns.len());
        row::decode_row(old, row, self.env.zone.get(), &mut before);
        let mut new = NewRow::default();
        self.writer.begin(self.env, false, &mut new);
        conversion.fill(&self.writer, &before, &mut new)?;
        self.insert(&mut new)
    }

    fn write(
        &mut self,
        insert: impl FnOnce(&mut RowWriter<'a>, &mut WriteContext<'_>) -> SqlResult<Inserted>,
    ) -> SqlResult<()> {
        let wrap = |e| store_error(e, self.shown);
        let begins = self.txn.is_none();
        let txn = self
            .txn
            .get_or_insert_with(|| self.engine.begin(&self.row_owner, Isolation::ReadCommitted));
        let table = match &mut self.table {
            Some(table) => table,
            none => none.insert(
                self.engine
                    .open_table(txn, &self.name.0, &self.name.1)
                    .map_err(wrap)?,
            ),
        };
        if begins {
            table.pin_for_write(txn).map_err(wrap)?;
        }
        if self.rows == 0 && self.writer.numbers().is_some() {
            // Nothing is to be looked up in a table that has no rows, and not all of its indexes.
            table.auto_increment_init(1);
        }
        if let (Some(order), None) = (self.bulk, &self.load) {
            self.load = Some(match self.schema.partitioning {
                None => {
                    let load = self.engine.load(self.owner, table, order).map_err(wrap)?;
                    Filling::Whole(Box::new(load))
                }
                Some(_) => {
                    let parts = self.engine.load_partitions(self.owner, order);
                    Filling::Parts(Box::new(parts))
                }
            });
        }
        let mut cx = WriteContext {
            engine: self.engine,
            txn,
            env: self.env,
            table,
            load: self.load.as_mut(),
        };
        match insert(&mut self.writer, &mut cx)? {
            Inserted::Stored(replaced) => {
                self.rows = self.rows + 1 - replaced;
                self.affected += 1 + replaced;
            }
            Inserted::Same(replaced) => {
                self.rows -= replaced;
                self.affected += 1 + replaced;
            }
            Inserted::Skipped | Inserted::Refused | Inserted::Duplicate => {}
        }
        let written = self.writer.row();
        if written.is_multiple_of(KILL_CHECK_ROWS) && self.owner.is_killed() {
            return Err(interrupted());
        }
        if written.is_multiple_of(BATCH_ROWS) {
            self.commit()?;
        }
        Ok(())
    }

    fn commit(&mut self) -> SqlResult<()> {
        match self.txn.take() {
            Some(txn) => self.engine.commit(txn).map_err(|e| self.wrap(e)),
            None => Ok(()),
        }
    }

    fn refused(&self, refused: Refused) -> SqlError {
        match (refused.error, refused.row) {
            (Error::DuplicateKey { index }, Some(row)) => {
                duplicate(self.schema, self.shown, index, &row, self.env.zone.get())
            }
            (e, _) => self.wrap(e),
        }
    }

    /// Ends the filling: writes what a load has left, or builds the secondary indexes of a temporary table.
    pub fn finish(&mut self) -> SqlResult<()> {
        self.commit()?;
        match self.load.take() {
            Some(Filling::Whole(load)) => {
                load.finish().map_err(|e| self.refused(e))?;
            }
            Some(Filling::Parts(parts)) => {
                let (_, late) = parts.finish().map_err(|e| self.refused(e))?;
                if let Some(late) = late {
                    self.insert_late(late)?;
                }
            }
            None => {}
        }
        if !self.temporary {
            self.table = None;
            return Ok(());
        }
        if self.schema.partitioning.is_some() || self.duplicates.is_some() {
            // They are there from the start.
            return Ok(());
        }
        for i in 1..self.schema.indexes.len() {
            let index = &self.schema.indexes[i];
            let new = (index.name.clone(), index.unique, index.body());
            let body = self.schema.table_body();
            let built = match &self.table {
                Some(table) => {
                    let change = TemporaryChange::AddIndex(new, body);
                    let altered = self.engine.alter_temporary(&self.row_owner, table, change);
                    altered.map(|table| self.table = Some(table))
                }
                None => self
                    .engine
                    .create_index(self.owner, &self.name.0, &self.name.1, new, body),
            };
            built.map_err(|e| match e {
                Error::DuplicateRow { index, row } => {
                    duplicate(self.schema, self.shown, index, &row, self.env.zone.get())
                }
                Error::DuplicateKey { .. } => SqlError::new(
                    1062,
                    format!("Duplicate entry for key '{}.{}'", self.shown, index.name),
                ),
                e => self.wrap(e),
            })?;
        }
        Ok(())
    }

    /// Inserts, one by one, rows that lay in another partition than theirs. They have been counted.
    fn insert_late(&mut self, mut late: Sorted) -> SqlResult<()> {
        let rows = self.rows;
        self.bulk = None;
        while let Some((_, image)) = late.next().map_err(|e| self.wrap(e))? {
            self.insert_image(image)?;
        }
        self.rows = rows;
        self.commit()
    }

    /// Follows what has changed since the rows were read, until the table that it is to replace is locked exclusively again. `counter`: the
    /// table whose AUTO_INCREMENT counter it goes on with.
    pub(super) fn follow(
        &mut self,
        follow: &Follow<'_>,
        conversion: &Conversion<'_>,
        moved: Option<Moved<'_>>,
        counter: Option<&Table>,
    ) -> SqlResult<()> {
        let wrap = |e| store_error(e, self.shown);
        let (engine, owner, name) = (self.engine, &self.row_owner, &self.name);
        let mut txn = engine.begin(owner, Isolation::ReadCommitted);
        let table = engine.open_table(&mut txn, &name.0, &name.1);
        engine.commit(txn).map_err(wrap)?;
        let table = table.map_err(wrap)?;
        let means = Means {
            engine,
            env: self.env,
            owner,
            table: &table,
            schema: self.schema,
            writer: &mut self.writer,
            conversion,
            limit: follow.limit(),
        };
        let mut following = Following::new(means, moved);
        follow.catch_up(self.owner, &mut following).map_err(wrap)?;
        if let Some(refused) = following.refusal(self.shown) {
            return Err(refused);
        }
        if let Some(next) = counter.and_then(Table::auto_increment_peek) {
            table.auto_increment_seen(next.saturating_sub(1));
            table.save_auto_increment().map_err(wrap)?;
        }
        Ok(())
    }

    /// Gives the table its name, and drops the one it takes the place of, which may have another. `others`: bodies that other tables get by
    /// the same step.
    pub fn place(
        mut self,
        owner: &Arc<Owner>,
        (database, name): (&str, &str),
        replaced: Option<(&str, &str)>,
        others: &[((String, String), Vec<u8>)],
    ) -> SqlResult<()> {
        let target = (database.to_string(), name.to_string());
        if let Some(table) = self.table.take() {
            let change = TemporaryChange::Rename(target.0, target.1);
            let placed = self.engine.alter_temporary(&self.row_owner, &table, change);
            let placed = placed.map_err(|e| self.wrap(e))?;
            self.placed = true;
            let old = self.env.temporary.get(database, name);
            self.env.temporary.put(placed);
            if let Some(old) = old {
                self.engine.drop_temporary(&old);
            }
            return Ok(());
        }
        let old = (WORK_DATABASE.to_string(), format!("{}-old", self.name.1));
        let mut renames = Vec::new();
        if let Some((database, name)) = replaced {
            renames.push(((database.to_string(), name.to_string()), old.clone()));
        }
        renames.push((self.name.clone(), target));
        self.engine
            .place_table_with(owner, &renames, others)
            .map_err(|e| self.wrap(e))?;
        self.engine.drop_if_undone(owner, &self.name);
        self.placed = true;
        if replaced.is_some() {
            self.engine
                .drop_tables(owner, &[old])
                .map_err(|e| self.wrap(e))?;
        }
        Ok(())
    }
}

/// Fills a table in the making with a query's rows.
pub struct Fill<'w, 'a> {
    work: &'w mut Work<'a>,
    /// For each column of the table, the query's column that goes there.
    from: Vec<Option<usize>>,
    /// The types of the query's columns.
    types: Vec<SqlType>,
    /// Values of the columns that the query does not give.
    defaults: Vec<Value<'static>>,
    /// What went wrong, as the sink's own error says too little.
    pub error: Option<SqlError>,
}

impl<'w, 'a> Fill<'w, 'a> {
    /// `step`: `auto_increment_increment` and `auto_increment_offset`.
    pub fn new(
        work: &'w mut Work<'a>,
        selected: &[ColumnMeta],
        step: (u64, u64),
    ) -> SqlResult<Fill<'w, 'a>> {
        let schema = work.schema;
        if let Some(c) = schema.columns.iter().position(|c| c.auto_increment) {
            work.writer.number_by(AutoIncrement::new(c, step, 0));
        }
        let columns = &schema.columns;
        // The last one of a name, should there be several.
        let from: Vec<Option<usize>> = columns
            .iter()
            .map(|c| {
                selected
                    .iter()
                    .rposition(|m| m.name.eq_ignore_ascii_case(&c.name))
            })
            .collect();
        let given = |(c, from): (&Column, &Option<usize>)| c.generated.is_some() && from.is_some();
        if let Some((c, _)) = columns.iter().zip(&from).find(|p| given(*p)) {
            return Err(generated_given(&c.name, work.shown));
        }
        work.writer.at_row(1);
        let cx = work.writer.conversion(work.env);
        let mut defaults = Vec::with_capacity(columns.len());
        for (c, from) in columns.iter().zip(&from) {
            defaults.push(match from {
                None if !c.auto_increment && !is_computed(c) => value::default_value(c, &cx)?,
                _ => Value::Null,
            });
        }
        work.writer.at_row(0);
        Ok(Fill {
            work,
            from,
            types: selected.iter().map(|m| m.ty.clone()).collect(),
            defaults,
            error: None,
        })
    }

    fn add(&mut self, row: &[Value<'_>]) -> SqlResult<()> {
        let env = self.work.env;
        let writer = &mut self.work.writer;
        let mut new = NewRow::default();
        writer.begin(env, false, &mut new);
        for (c, from) in self.from.iter().enumerate() {
            let v = match from {
                Some(f) => {
                    let v = (row[*f].borrowed(), &self.types[*f]);
                    writer.set_from(env, &mut new, c, v)?;
                    continue;
                }
                None if is_computed(&writer.schema().columns[c]) => {
                    writer.complete(env, &mut new, &[c])?;
                    continue;
                }
                None => self.defaults[c].borrowed(),
            };
            writer.set(env, &mut new, c, v)?;
        }
        self.work.insert(&mut new)
    }
}

impl ResultSink for Fill<'_, '_> {
    fn columns(&mut self, _columns: &[ColumnMeta]) -> io::Result<()> {
        Ok(())
    }
    fn row(&mut self, row: &[Value<'_>]) -> io::Result<()> {
        self.add(row).map_err(|e| {
            let text = e.message.clone();
            self.error = Some(e);
            io::Error::other(text)
        })
    }
    fn finish(&mut self, _done: &Completion) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Work<'_> {
    fn drop(&mut self) {
        if self.placed {
            return;
        }
        if self.temporary {
            // First, so that the rows need not be taken out one by one.
            if let Some(table) = self.table.take() {
                self.engine.drop_temporary(&table);
            }
            if let Some(txn) = self.txn.take() {
                let _ = self.engine.rollback(txn);
            }
            return;
        }
        self.load = None;
        if let Some(txn) = self.txn.take() {
            // What cannot be undone now is undone by recovery, and dropped at the next open with the table.
            let _ = self.engine.rollback(txn);
        }
        self.table = None;
        if self.engine.is_lent(self.owner) {
            // Whose transaction may have its lock by now.
            self.engine.drop_if_undone(self.owner, &self.name);
            return;
        }
        let _ = self
            .engine
            .drop_tables(&self.maker, std::slice::from_ref(&self.name));
    }
}

/// Whether tables are filled in bulk (`expand_fast_index_creation`).
fn fast(env: &SessionEnv) -> bool {
    let set = (env.sys_var)("", "expand_fast_index_creation");
    set.map_or(true, |v| v.to_u64() != 0)
}

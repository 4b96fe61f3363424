//! Tables written anew: ALTER TABLE, OPTIMIZE TABLE and CREATE TABLE ... SELECT.
//!
//! The new table is filled under a name in a database of its own, [`WORK_DATABASE`], where no session looks,
//! and takes its place by one atomic rename. Steps: (1) the old table is locked exclusively, then, where the statement allows it, readers
//! are let in, and writers where rows that change can be followed ([`super::follow`], [`super::inplace`]); before (4) it is locked
//! exclusively again; (2) the new one is made and filled in bulk: rows in the order of the clustered index go straight into packed pages, others are
//! sorted first; (3) secondary indexes are built from keys that were sorted beside ([`millpond_store::Load`]); then what has changed since (1)
//! is followed, until (4) old and new change places; (5) the old one is dropped. Up to (4) a failure, a KILL or a crash leaves the old table as it
//! was, with all that was written to it meanwhile; whatever is in the work database when an
//! instance is opened is dropped ([`clear_work`]). A temporary table is made under no name at all, and takes its place in the
//! session's list. Tables with partitions, temporary ones, those whose duplicates are not refused, and all under
//! `expand_fast_index_creation=OFF`, get their rows one by one, in bounded transactions.
//!
//! **Lock order.** DDL's lock above all names, the metadata locks of the tables concerned (exclusively, names ascending), the catalog's rows; the
//! new table's own locks last, which nobody else waits for. Between (1) and (4) the old table's metadata lock is upgradable: others read and write, DDL
//! waits. Other tables that the statement has locked (those of its foreign keys) stay locked exclusively, so then nobody writes meanwhile: who
//! did might wait for them while the statement waits for its end.
//!
//! The statement's owner holds DDL's lock above all names throughout, and every step of DDL is its own. The rows' transactions
//! have an owner beside it on the same thread, which must never wait: no deadlock would be seen in the one waiting for what the
//! other holds up, and no KILL would reach it. It does not, for it locks nothing but a table that nobody else knows, and FLUSH TABLES WITH READ LOCK,
//! which takes all there are, waits for the statement.

use std::collections::BTreeMap;
use std::io;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use millpond_store::engine::{Beside, Follow, TemporaryChange};
use millpond_store::space::FileId;
use millpond_store::{
    Direction, Engine, Error, Fetch, Isolation, KeyRange, Load, Owner, ReadMode, Refused, RowOrder,
    Table, Txn,
};

use super::Ddl;
use super::change::Changed;
use super::convert::{Conversion, is_computed};
use super::create::{new_table, unix_now};
use super::follow::{Following, Means, Moved, Places, Sources};
use crate::catalog::{Versions, WORK_DATABASE};
use crate::computed::generated_given;
use crate::env::SessionEnv;
use crate::error::{SqlError, SqlResult};
use crate::parse::ast::Duplicates;
use crate::result::{ColumnMeta, Completion, ResultSink};
use crate::row;
use crate::store_error::{interrupted, store_error};
use crate::types::{Column, Schema};
use crate::value::{self, Value};
use crate::write::{
    AutoIncrement, Buffers, Hooks, Inserted, NewRow, OnDuplicate, RowWriter, Target, WriteContext,
    WritePolicy, counter, duplicate,
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
    /// In the database; in a file of its own, the shared one, or where the default says.
    Stored(Option<bool>),
    /// In the session.
    Temporary,
}

/// A table in the making. Dropped, it leaves nothing behind.
pub struct Work<'a> {
    engine: &'a Engine,
    env: &'a SessionEnv,
    /// Whose statement it is: asked whether it was killed; does the DDL.
    owner: &'a Arc<Owner>,
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
    load: Option<Load>,
    /// Writes the rows. Triggers and logs of rows don't see them: they are not the statement's.
    writer: RowWriter<'a>,
    /// For a row under its schema version.
    image: Vec<u8>,
    /// Rows it has got.
    rows: u64,
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
        if !temporary && ddl.engine.database(WORK_DATABASE).is_err() {
            let options = schema.collation.name().as_bytes();
            match ddl
                .engine
                .create_database(ddl.owner, WORK_DATABASE, options)
            {
                Ok(()) | Err(Error::DatabaseExists(_)) => {}
                Err(e) => return Err(wrap(e)),
            }
        }
        let name = NEXT_NAME.fetch_add(1, Ordering::Relaxed).to_string();
        let own_file = match home {
            Home::Stored(own_file) => own_file,
            Home::Temporary => None,
        };
        let mut new = new_table(WORK_DATABASE, &name, schema, own_file);
        let plain = schema.partitioning.is_none() && duplicates.is_none();
        if temporary && plain {
            new.indexes.truncate(1);
        }
        let bulk = !temporary && plain && fast(ddl.env);
        new.auto_increment = auto_increment;
        let mut table = None;
        if temporary {
            table = Some(ddl.engine.create_temporary(new).map_err(wrap)?);
        } else {
            ddl.create_stored(new, schema).map_err(wrap)?;
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

    /// How many rows it has got.
    pub fn rows(&self) -> u64 {
        self.rows
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
    fn take(
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
            self.load = Some(self.engine.load(self.owner, table, order).map_err(wrap)?);
        }
        let mut cx = WriteContext {
            engine: self.engine,
            txn,
            env: self.env,
            table,
            load: self.load.as_mut(),
        };
        match insert(&mut self.writer, &mut cx)? {
            Inserted::Stored(replaced) => self.rows = self.rows + 1 - replaced,
            Inserted::Same(replaced) => self.rows -= replaced,
            Inserted::Skipped | Inserted::Duplicate => {}
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
        if let Some(load) = self.load.take() {
            load.finish().map_err(|e| self.refused(e))?;
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
                Error::DuplicateKey { .. } => SqlError::new(
                    1062,
                    format!("Duplicate entry for key '{}.{}'", self.shown, index.name),
                ),
                e => self.wrap(e),
            })?;
        }
        Ok(())
    }

    /// Follows what has changed since the rows were read, until the table that it is to replace is locked exclusively again. `counter`: the
    /// table whose AUTO_INCREMENT counter it goes on with.
    fn follow(
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
                Some(f) => row[*f].borrowed(),
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
        let _ = self
            .engine
            .drop_tables(self.owner, std::slice::from_ref(&self.name));
    }
}

/// Whether tables are filled in bulk (`expand_fast_index_creation`).
fn fast(env: &SessionEnv) -> bool {
    let set = (env.sys_var)("", "expand_fast_index_creation");
    set.map_or(true, |v| v.to_u64() != 0)
}

/// In which order the rows of a table that is written anew come for what it will be.
fn row_order(changed: &Changed, old: &Schema) -> RowOrder {
    let (new_parts, old_parts) = (&changed.schema.indexes[0].parts, &old.indexes[0].parts);
    let mut parts = new_parts.iter().zip(old_parts);
    let all = new_parts.len() <= old_parts.len()
        && parts.all(|(new, was)| changed.same_part(new, was, old));
    // Rows that agree in fewer parts than before are met as they come.
    match all && !new_parts.is_empty() && old.partitioning.is_none() {
        true => RowOrder::Clustered,
        false => RowOrder::Any,
    }
}

/// What is written anew, and how.
pub(super) struct Plan<'c> {
    /// Database and name of the table.
    pub own: (&'c str, &'c str),
    /// Those that it is to have.
    pub name: (&'c str, &'c str),
    pub old: &'c Schema,
    pub changed: &'c Changed,
    pub home: Home,
    /// What may go on meanwhile.
    pub beside: Beside,
    /// How rows that change are found; `None`: none may.
    pub places: Option<Places>,
    /// The positions of the partitions that are written anew, in the order of their numbers; `None`: all.
    pub partitions: Option<&'c [usize]>,
}

/// A table that has been written anew, and the old one as it is followed until that has gone.
pub(super) struct Anew<'c> {
    pub work: Work<'c>,
    pub _follow: Option<Follow<'c>>,
}

/// A table while it is written anew.
struct Old<'o> {
    table: Arc<Table>,
    /// Its rows, by partition.
    sources: Sources,
    follow: Option<Follow<'o>>,
}

impl<'a> Ddl<'a> {
    /// Writes a locked table anew under a changed definition and, perhaps, another name; returns how many rows were copied. `beside`: what
    /// may go on meanwhile, at most.
    pub(super) fn rebuild(
        &self,
        own: (&str, &str),
        mut changed: Changed,
        name: (&str, &str),
        beside: Beside,
    ) -> SqlResult<u64> {
        self.env.profiles.enter("setup");
        let (def, old) = self.definition(own.0, own.1)?;
        changed.schema.created = unix_now();
        changed.schema = changed.schema.with_versions(Versions::default());
        let home = match def.file {
            FileId::TEMP => Home::Temporary,
            file => Home::Stored(Some(file != FileId::SHARED)),
        };
        let places = changed.places(&old, self.env)?;
        let plan = Plan {
            own,
            name,
            old: &old,
            changed: &changed,
            home,
            beside: match (home, beside) {
                (Home::Temporary, _) => Beside::Nothing,
                (_, Beside::Writes) if places.is_none() => Beside::Reads,
                (_, beside) => beside,
            },
            places,
            partitions: None,
        };
        let made = self.write_anew(&plan)?;
        let rows = made.work.rows();
        self.env.profiles.enter("rename result table");
        made.work
            .place(self.owner, name, Some(own), &changed.others)?;
        self.env.profiles.enter("end");
        Ok(rows)
    }

    /// Writes the rows of a locked table into one that is to replace it, and follows what becomes of them; then the table is locked exclusively
    /// again, and the other one is what it is to be.
    pub(super) fn write_anew<'c>(&'c self, plan: &Plan<'c>) -> SqlResult<Anew<'c>> {
        let mut txn = self.engine.begin(self.owner, Isolation::ReadCommitted);
        let made = self.write_rows(&mut txn, plan);
        // It only read.
        let read = self.engine.commit(txn);
        read.map_err(|e| store_error(e, plan.own.1))?;
        made
    }

    fn write_rows<'c>(&'c self, txn: &mut Txn, plan: &Plan<'c>) -> SqlResult<Anew<'c>> {
        let Plan {
            own,
            old,
            changed,
            home,
            places,
            ..
        } = *plan;
        let schema = &changed.schema;
        let mut source = self.source(txn, plan)?;
        let mut numbered = schema.columns.iter().zip(&changed.from);
        let counts_on = numbered
            .any(|(c, f)| c.auto_increment && f.is_some_and(|f| old.columns[f].auto_increment));
        let counter = counts_on.then(|| source.table.clone());
        let next = counter.as_ref().and_then(|t| t.auto_increment_peek());
        if plan.beside != Beside::Nothing {
            let followed = match places {
                Some(_) => source.sources.clone(),
                // Nobody writes.
                None => Sources::new(),
            };
            let (table, engine) = (&source.table, self.engine);
            source.follow = Some(engine.follow(txn, table, followed, plan.beside));
        }
        let order = row_order(changed, old);
        self.env.profiles.enter("creating table");
        let mut work = Work::start(self, own.1, schema, home, None, next.unwrap_or(0), order)?;
        self.env.profiles.enter("copy to tmp table");
        let conversion = Conversion::new(old, changed, own.1, self.env);
        let keeps_ids = places == Some(Places::Same) && schema.indexes[0].parts.is_empty();
        self.copy(txn, &source, &conversion, keeps_ids, &mut work)?;
        if places != Some(Places::Computed) {
            // Purge goes on.
            self.engine.statement(txn);
        }
        if work.load.is_some() {
            self.env.profiles.enter("restoring secondary keys");
        }
        work.finish()?;
        // Where there are new foreign keys nobody writes meanwhile.
        if home != Home::Temporary {
            let (keys, made) = (
                &schema.foreign_keys[changed.kept_keys..],
                work.name().clone(),
            );
            self.check_rows_refer((&made.0, &made.1), plan.name, keys)?;
        }
        if let Some(follow) = &source.follow {
            self.env.profiles.enter("altering table");
            let moved = (places == Some(Places::Computed)).then(|| Moved {
                view: txn,
                sources: &source.sources,
                put: BTreeMap::new(),
            });
            work.follow(follow, &conversion, moved, counter.as_deref())?;
        }
        Ok(Anew {
            work,
            _follow: source.follow,
        })
    }

    /// Opens a table that is written anew, and its partitions.
    fn source<'o>(&self, txn: &mut Txn, plan: &Plan<'o>) -> SqlResult<Old<'o>> {
        let (database, table) = plan.own;
        let open = match self.temporary(database, table) {
            Some(table) => Ok(table),
            None => self.engine.open_table(txn, database, table),
        };
        let open = open.map_err(|e| store_error(e, table))?;
        counter::start(self.engine, &open, plan.old)?;
        let sources = match &plan.old.partitioning {
            None => vec![(0, open.clone())],
            Some(p) => {
                let all: Vec<usize> = (0..p.parts.len()).collect();
                let list = plan.partitions.unwrap_or(&all).iter().enumerate();
                let each = list.map(|(n, &at)| Ok((n as u16, p.open(self.engine, &open, at)?)));
                each.collect::<SqlResult<_>>()?
            }
        };
        Ok(Old {
            table: open,
            sources,
            follow: None,
        })
    }

    /// Copies the rows that the transaction's view has. `keeps_ids`: with their hidden row ids.
    fn copy(
        &self,
        txn: &mut Txn,
        from: &Old<'_>,
        conversion: &Conversion<'_>,
        keeps_ids: bool,
        work: &mut Work<'_>,
    ) -> SqlResult<()> {
        let everything = KeyRange {
            lower: Bound::Unbounded,
            upper: Bound::Unbounded,
        };
        let (forward, view) = (Direction::Forward, ReadMode::Consistent);
        let mut rows = 0u64;
        for (_, source) in &from.sources {
            let wrap = |e| store_error(e, &source.def().name);
            let mut scan = source
                .scan(txn, 0, everything.clone(), forward, view, Fetch::Row)
                .map_err(wrap)?;
            while let Some(found) = scan.next(txn).map_err(wrap)? {
                rows += 1;
                if rows.is_multiple_of(KILL_CHECK_ROWS)
                    && let Some(follow) = &from.follow
                {
                    follow.is_possible().map_err(wrap)?;
                }
                let row_id = keeps_ids.then_some(found.clustered_key);
                work.take(conversion, row_id, found.row)?;
            }
        }
        Ok(())
    }

    /// What may go on beside a rebuild, if the statement does not say.
    pub(super) fn beside(&self) -> Beside {
        match self.tables_locked {
            true => Beside::Nothing,
            false => Beside::Writes,
        }
    }

    /// Writes a table anew as it is: OPTIMIZE TABLE, ALTER TABLE ... ENGINE and FORCE.
    pub fn recreate(&self, database: &str, table: &str) -> SqlResult<()> {
        self.locked(database, table, || {
            let (_, schema) = self.definition(database, table)?;
            let own = (database, table);
            self.rebuild(own, Changed::same(schema), own, self.beside())
        })?;
        Ok(())
    }
}

//! Administration: FLUSH, LOCK TABLES, CHECK and its kin.

use std::ops::Bound;

use millpond_store::{Direction, Error, Fetch, KeyRange, Owner, ReadMode, Table, Txn};

use super::Session;
use crate::error::{SqlError, SqlResult};
use crate::exec::store_error;
use crate::parse::{Kind, Maintenance, PartitionOp, Partitions, TableName};
use crate::partition::Partitioning;
use crate::result::ColumnMeta;
use crate::session::env::SessionEnv;
use crate::show;
use crate::types::Schema;
use crate::value::Value;

/// Rows between two looks at whether the statement was killed.
const KILL_CHECK_ROWS: u64 = 4096;

/// Columns of a maintenance statement's result.
pub(super) fn maintain_columns(_op: Maintenance) -> [ColumnMeta; 4] {
    [
        show::meta("Table", 128),
        show::meta("Op", 10),
        show::meta("Msg_type", 10),
        show::meta("Msg_text", 393_216),
    ]
}

/// Error 1223.
fn conflicting() -> SqlError {
    SqlError::new(
        1223,
        "Can't execute the query because you have a conflicting read lock",
    )
}

/// A table that LOCK TABLES holds.
pub(super) struct Locked {
    /// Database and name.
    table: (String, String),
    /// The name that statements must call it by.
    alias: String,
    write: bool,
}

impl Locked {
    fn is(&self, database: &str, table: &str) -> bool {
        self.table.0 == database && self.table.1 == table
    }
}

/// Whether a lock, if there is one, and whether it is for writing, lets a table be read or written to.
fn may(lock: Option<bool>, name: &str, write: bool) -> SqlResult<()> {
    match lock {
        None => Err(SqlError::new(
            1100,
            format!("Table '{name}' was not locked with LOCK TABLES"),
        )),
        Some(false) if write => Err(SqlError::new(
            1099,
            format!("Table '{name}' was locked with a READ lock and can't be updated"),
        )),
        Some(_) => Ok(()),
    }
}

impl Session {
    /// LOCK TABLES, in place of what was locked before.
    pub(super) fn lock_tables(
        &mut self,
        tables: &[(TableName, Option<String>, bool)],
    ) -> SqlResult<()> {
        if self.read_locked {
            // All are locked for reading already.
            let write = tables.iter().any(|(.., write)| *write);
            return if write { Err(conflicting()) } else { Ok(()) };
        }
        self.unlock_tables();
        let mut names: Vec<((String, String), bool)> = Vec::new();
        let mut locked: Vec<Locked> = Vec::new();
        for (table, alias, write) in tables {
            let name = self.qualified(table)?;
            // Nobody else has the session's temporary tables: there is nothing to lock.
            let mine = self.env.temporary.get(&name.0, &name.1).is_some();
            if mine || show::is_system_schema(&name.0) {
                continue;
            }
            if *write {
                self.check_writable()?;
            }
            let alias = alias.as_ref().unwrap_or(&name.1).clone();
            if locked
                .iter()
                .any(|l| l.table.0 == name.0 && l.alias == alias)
            {
                return Err(SqlError::new(
                    1066,
                    format!("Not unique table/alias: '{alias}'"),
                ));
            }
            locked.push(Locked {
                table: name.clone(),
                alias,
                write: *write,
            });
            // A table named under several aliases has one lock, the strongest.
            match names.iter_mut().find(|n| n.0 == name) {
                Some(known) => known.1 |= write,
                None => names.push((name, *write)),
            }
        }
        let first = names.first().map_or("", |n| &n.0.1).to_string();
        self.instance
            .engine()
            .lock_tables(&self.owner, &names)
            .map_err(|e| store_error(e, &first))?;
        self.locked = locked;
        Ok(())
    }

    /// FLUSH TABLES WITH READ LOCK.
    fn lock_everything(&mut self) -> SqlResult<()> {
        if !self.locked.is_empty() {
            return Err(SqlError::new(
                1192,
                "Can't execute the given command because you have active locked tables or an active transaction",
            ));
        }
        if !self.read_locked {
            let engine = self.instance.engine();
            engine
                .lock_everything(&self.owner)
                .map_err(|e| store_error(e, ""))?;
            self.read_locked = true;
        }
        Ok(())
    }

    /// Error 1223 for a change after the session's own FLUSH TABLES WITH READ LOCK.
    #[inline]
    pub(super) fn check_read_lock(&self) -> SqlResult<()> {
        if self.read_locked {
            Err(conflicting())
        } else {
            Ok(())
        }
    }

    /// Releases what LOCK TABLES took, as START TRANSACTION does.
    pub(super) fn unlock_named(&mut self) {
        if !self.read_locked {
            self.unlock_tables();
        }
    }

    /// Releases what LOCK TABLES and FLUSH TABLES WITH READ LOCK took.
    pub(super) fn unlock_tables(&mut self) {
        if !self.locked.is_empty() || self.read_locked {
            self.locked.clear();
            self.read_locked = false;
            self.instance.engine().unlock_tables(&self.owner);
        }
    }

    /// UNLOCK TABLES: with locked tables it also commits.
    pub(super) fn unlock_statement(&mut self) -> SqlResult<()> {
        if self.locked.is_empty() && !self.read_locked {
            return Ok(());
        }
        let committed = self.commit_now();
        self.unlock_tables();
        committed
    }

    /// What a statement may do to a table that it knows by these names while tables are locked: errors 1100 and 1099.
    pub(super) fn check_names(
        &self,
        database: &str,
        table: &str,
        names: &[(Box<str>, bool)],
    ) -> SqlResult<()> {
        for (name, write) in names {
            let by = |l: &&Locked| l.is(database, table) && *l.alias == **name;
            may(self.locked.iter().find(by).map(|l| l.write), name, *write)?;
        }
        Ok(())
    }

    /// What may be done to a table itself while tables are locked, whatever the alias it was locked under.
    pub(super) fn check_locked(&self, database: &str, name: &str, write: bool) -> SqlResult<()> {
        if self.locked.is_empty() {
            return Ok(());
        }
        let mine = self.locked.iter().filter(|l| l.is(database, name));
        may(mine.map(|l| l.write).max(), name, write)
    }

    /// What DDL may do while tables are locked: change those tables (error 1100), nothing else (error 1192).
    pub(super) fn check_ddl_locked(&self, kind: &Kind) -> SqlResult<()> {
        if super::dispatch::is_temporary(kind) {
            return Ok(());
        }
        self.check_read_lock()?;
        if self.locked.is_empty() {
            return Ok(());
        }
        let check = |t: &TableName| {
            let (database, name) = self.qualified(t)?;
            if self.env.temporary.get(&database, &name).is_some() {
                return Ok(());
            }
            self.check_locked(&database, &name, true)
        };
        let check_object = |o| check(&crate::ddl::table_name(o)?);
        match kind {
            Kind::CreateIndex(c) => check_object(&c.table_name),
            Kind::AlterPartitions {
                table,
                op: PartitionOp::Exchange { table: other, .. },
            } => check(table).and_then(|()| check(other)),
            Kind::DropIndex { table, .. }
            | Kind::AlterTable { table, .. }
            | Kind::AlterPartitions { table, .. } => check(table),
            Kind::Truncate(table) => check(table),
            Kind::DropTables { names, .. } => names.iter().try_for_each(check),
            _ => Err(SqlError::new(
                1192,
                "Can't execute the given command because you have active locked tables or an active transaction",
            )),
        }
    }

    /// FLUSH.
    pub(super) fn flush(&mut self, what: &str, tables: &[TableName]) -> SqlResult<()> {
        match what {
            // Definitions are read through the catalog; what a session keeps are its plans.
            "TABLES" | "TABLE" if tables.is_empty() => {
                self.note_flush_tables();
                Ok(())
            }
            "TABLES" | "TABLE" => {
                for t in tables {
                    let (database, name) = self.qualified(t)?;
                    if self.env.temporary.get(&database, &name).is_some() {
                        continue;
                    }
                    self.instance
                        .0
                        .engine
                        .table_def(&database, &name)
                        .map_err(|e| store_error(e, &name))?;
                }
                self.note_flush_tables();
                Ok(())
            }
            "TABLES WITH READ LOCK" if tables.is_empty() => {
                self.note_flush_tables();
                self.lock_everything()
            }
            "TABLES WITH READ LOCK" => {
                let list: Vec<_> = tables.iter().map(|t| (t.clone(), None, false)).collect();
                self.note_flush_tables();
                self.lock_tables(&list)
            }
            "STATUS" => {
                self.instance.0.registry.drain(self.seat());
                self.instance.note_flush_status();
                Ok(())
            }
            // The error log is the standard error; there is no other log.
            "LOGS" | "SLOW LOGS" => {
                let reopened = self.instance.0.slow_log.reopen();
                reopened.map_err(|e| self.instance.slow_log_error(&e))
            }
            // There are no stored privileges that memory could disagree with.
            "PRIVILEGES" => Ok(()),
            // Nothing is remembered of hosts that failed to connect.
            "HOSTS" => Ok(()),
            several if several.contains(", ") => several
                .split(", ")
                .try_for_each(|what| self.flush(what, tables)),
            other => Err(SqlError::unsupported(format_args!("FLUSH {other}"))),
        }
    }

    /// A table's database and name; error 1046 if there's no database.
    pub(super) fn qualified(&self, t: &TableName) -> SqlResult<(String, String)> {
        crate::ddl::qualified(t, &self.env)
    }

    /// ANALYZE, CHECK, OPTIMIZE, REPAIR, CHECKSUM TABLE: one or more rows per table.
    pub(super) fn maintain(
        &mut self,
        op: Maintenance,
        tables: &[TableName],
        options: &[String],
        partitions: Option<&Partitions>,
    ) -> SqlResult<Vec<Vec<Value<'static>>>> {
        let name = match op {
            Maintenance::Analyze => "analyze",
            Maintenance::Check => "check",
            Maintenance::Repair => "repair",
            Maintenance::Optimize => "optimize",
            Maintenance::Checksum => return Err(SqlError::unsupported("CHECKSUM TABLE")),
        };
        if op == Maintenance::Analyze && !options.is_empty() {
            return Err(SqlError::unsupported(format_args!(
                "ANALYZE TABLE ... {}",
                options.join(" ")
            )));
        }
        let mut rows = Vec::new();
        for t in tables {
            let (database, table) = self.qualified(t)?;
            let shown = format!("{database}.{table}");
            let mut add = |kind: &str, text: String| {
                rows.push(vec![
                    Value::string(shown.clone()),
                    Value::string(name.to_string()),
                    Value::string(kind.to_string()),
                    Value::string(text),
                ]);
            };
            let mine = self.env.temporary.get(&database, &table).is_some();
            if !mine && let Err(e) = self.instance.0.engine.table_def(&database, &table) {
                add("Error", store_error(e, &table).message);
                add("status", "Operation failed".into());
                continue;
            }
            if let Some(asked) = partitions
                && !self.has_partitions(&database, &table, asked.as_deref().unwrap_or(&[]))?
            {
                add("Error", format!("Error in list of partitions to {shown}"));
                add("status", "Operation failed".into());
                continue;
            }
            match op {
                Maintenance::Optimize if let Some(partitions) = partitions => {
                    add(
                        "note",
                        "Table does not support optimize on partitions. All partitions will be rebuilt and analyzed."
                            .into(),
                    );
                    self.check_locked(&database, &table, true)?;
                    self.ddl().execute(&Kind::AlterPartitions {
                        table: t.clone(),
                        op: PartitionOp::Rebuild(partitions.clone()),
                    })?;
                    add("status", "OK".into());
                }
                Maintenance::Check => {
                    let only = partitions.and_then(|p| p.as_deref());
                    let problems = self.check_table(&database, &table, only)?;
                    if problems.is_empty() {
                        add("status", "OK".into());
                    } else {
                        for p in problems {
                            add("error", p);
                        }
                        add("error", "Corrupt".into());
                    }
                }
                Maintenance::Optimize => {
                    self.check_read_lock()?;
                    add(
                        "note",
                        "Table does not support optimize, doing recreate + analyze instead".into(),
                    );
                    if !mine {
                        self.check_locked(&database, &table, true)?;
                    }
                    self.ddl().recreate(&database, &table)?;
                    add("status", "OK".into());
                }
                Maintenance::Repair => add(
                    "note",
                    "The storage engine for the table doesn't support repair".into(),
                ),
                _ => match self.analyze(&database, &table) {
                    Ok(()) => add("status", "OK".into()),
                    Err(e) if e.code == 1317 => return Err(e),
                    Err(e) => {
                        add("Error", e.message);
                        add("status", "Operation failed".into());
                    }
                },
            }
        }
        Ok(rows)
    }

    /// Whether a table has these partitions; error 1505 if it has none at all.
    fn has_partitions(&self, database: &str, table: &str, names: &[String]) -> SqlResult<bool> {
        let def = self.instance.0.engine.table_def(database, table);
        let schema = Schema::of(&def.map_err(|e| store_error(e, table))?)?;
        let Some(p) = &schema.partitioning else {
            return Err(SqlError::new(
                1505,
                "Partition management on a not partitioned table is not possible",
            ));
        };
        let has = |name: &String| {
            p.parts
                .iter()
                .any(|part| part.name.eq_ignore_ascii_case(name))
        };
        Ok(names.iter().all(has))
    }

    /// Reads every index in one view and compares what they hold; a row in the wrong partition is a problem too. `only`: the
    /// partitions that are asked about.
    fn check_table(
        &mut self,
        database: &str,
        name: &str,
        only: Option<&[String]>,
    ) -> SqlResult<Vec<String>> {
        self.in_transaction(|s| {
            let wrap = |e| store_error(e, name);
            let Some(txn) = &mut s.txn.txn else {
                return Ok(Vec::new());
            };
            let engine = &s.instance.0.engine;
            let table = match s.env.temporary.get(database, name) {
                Some(table) => table,
                None => engine.open_table(txn, database, name).map_err(wrap)?,
            };
            let schema = crate::row::schema_of(&table)?;
            let mut check = Check {
                txn,
                owner: &s.owner,
                env: &s.env,
                schema: &schema,
                problems: Vec::new(),
            };
            match &schema.partitioning {
                None => check.table(&table, None).map_err(|e| e.named(name))?,
                Some(p) => {
                    for (at, part) in p.parts.iter().enumerate() {
                        let is = |name: &String| name.eq_ignore_ascii_case(&part.name);
                        if only.is_some_and(|only| !only.iter().any(is)) {
                            continue;
                        }
                        let part = p.open(engine, &table, at)?;
                        check
                            .table(&part, Some((p, at)))
                            .map_err(|e| e.named(name))?;
                    }
                }
            }
            Ok(check.problems)
        })
    }
}

/// CHECK TABLE of one table.
struct Check<'c> {
    txn: &'c mut Txn,
    owner: &'c Owner,
    env: &'c SessionEnv,
    schema: &'c Schema,
    problems: Vec<String>,
}

/// Why a check could not go on.
enum Halt {
    Store(Error),
    Sql(SqlError),
}

impl Halt {
    fn named(self, table: &str) -> SqlError {
        match self {
            Halt::Store(e) => store_error(e, table),
            Halt::Sql(e) => e,
        }
    }
}

impl Check<'_> {
    /// Checks a table, or the partition at a position.
    fn table(&mut self, table: &Table, part: Option<(&Partitioning, usize)>) -> Result<(), Halt> {
        let mut expected = 0;
        for (i, index) in table.def().indexes.iter().enumerate() {
            let count = self.index(table, i, &index.name, part.filter(|_| i == 0))?;
            if i == 0 {
                expected = count;
            } else if count != expected && self.problems.is_empty() {
                self.problems.push(format!(
                    "InnoDB: Index '{}' contains {count} entries, should be {expected}.",
                    index.name
                ));
            }
        }
        Ok(())
    }

    /// Reads an index; how many rows it finds.
    fn index(
        &mut self,
        table: &Table,
        index: usize,
        name: &str,
        part: Option<(&Partitioning, usize)>,
    ) -> Result<u64, Halt> {
        let everything = KeyRange {
            lower: Bound::Unbounded,
            upper: Bound::Unbounded,
        };
        let (dir, mode) = (Direction::Forward, ReadMode::Consistent);
        let mut scan = table
            .scan(self.txn, index, everything, dir, mode, Fetch::Row)
            .map_err(Halt::Store)?;
        let (mut count, mut buffer, mut misplaced) = (0u64, Vec::new(), 0u64);
        loop {
            match scan.next(self.txn) {
                Ok(Some(r)) => {
                    count += 1;
                    if let Some((p, at)) = part {
                        let belongs = p
                            .route_row(self.schema, r.row, self.env, &mut buffer)
                            .map_err(Halt::Sql)?;
                        misplaced += u64::from(belongs != Some(at));
                    }
                }
                Ok(None) => break,
                Err(e @ Error::Corrupt(_)) => {
                    self.problems.push(format!("Index '{name}': {e}"));
                    break;
                }
                Err(e) => return Err(Halt::Store(e)),
            }
            if count.is_multiple_of(KILL_CHECK_ROWS) && self.owner.is_killed() {
                let e = SqlError::new(1317, "Query execution was interrupted");
                return Err(Halt::Sql(e));
            }
        }
        if let Some((p, at)) = part
            && misplaced > 0
        {
            self.problems.push(format!(
                "Found {misplaced} misplaced rows in partition '{}'",
                p.parts[at].name
            ));
        }
        Ok(count)
    }
}

//! Administration: FLUSH, LOCK TABLES, CHECK and its kin.

use std::borrow::Cow;

use millpond_store::{Checked, Error, FaultKind, Owner, Table, Txn};

use super::Session;
use crate::show;
use millpond_sql::env::SessionEnv;
use millpond_sql::env::is_system_schema;
use millpond_sql::error::{SqlError, SqlResult};
use millpond_sql::parse::ast::{
    AlterAction, FlushItem, FlushLock, FlushPlain, Ident, LockedTable, MaintenanceOption,
    MaintenanceVerb, ObjectName, PartitionAction, StatementKind, TableLock, TableStatement,
};
use millpond_sql::partition::Partitioning;
use millpond_sql::result::ColumnMeta;
use millpond_sql::row::wrong_object;
use millpond_sql::store_error::store_error;
use millpond_sql::types::Schema;
use millpond_sql::value::Value;

/// Rows between two looks at whether the statement was killed.
pub(super) const KILL_CHECK_ROWS: u64 = 4096;

/// Columns of a maintenance statement's result.
pub(super) fn maintain_columns() -> Vec<ColumnMeta> {
    vec![
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

/// Whether a lock is for writing.
fn writes(lock: TableLock) -> bool {
    match lock {
        TableLock::Read | TableLock::ReadLocal => false,
        TableLock::Write | TableLock::LowPriorityWrite | TableLock::WriteConcurrent => true,
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
    pub(super) fn lock_tables(&mut self, tables: &[LockedTable]) -> SqlResult<()> {
        if self.read_locked {
            // All are locked for reading already.
            let write = tables.iter().any(|t| writes(t.lock));
            return if write { Err(conflicting()) } else { Ok(()) };
        }
        self.unlock_tables();
        let mut names: Vec<((String, String), bool)> = Vec::new();
        let mut locked: Vec<Locked> = Vec::new();
        for LockedTable { name, alias, lock } in tables {
            let write = writes(*lock);
            let name = self.qualified(name)?;
            // Nobody else has the session's temporary tables: there is nothing to lock.
            let mine = self.env.temporary.get(&name.0, &name.1).is_some();
            if mine || is_system_schema(&name.0) {
                continue;
            }
            if write {
                self.facts.check_server_writable()?;
                self.check_writable()?;
            }
            let alias = alias.as_ref().map_or(&*name.1, |a| a.as_str()).to_string();
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
                write,
            });
            // A table named under several aliases has one lock, the strongest.
            match names.iter_mut().find(|n| n.0 == name) {
                Some(known) => known.1 |= write,
                None => names.push((name, write)),
            }
        }
        let first = names.first().map_or("", |n| &n.0.1).to_string();
        let mut all = self.with_tables_of_views(&names)?;
        loop {
            // A view is not changed by who writes through it.
            let mut taken = all.clone();
            for (name, write) in &mut taken {
                *write &= self.view(&name.0, &name.1)?.is_none();
            }
            self.instance
                .engine()
                .lock_tables(&self.owner, &taken)
                .map_err(|e| store_error(e, &first))?;
            // A view may have become another before it was locked.
            let now = self.with_tables_of_views(&names);
            if now.as_ref().is_ok_and(|now| *now == all) {
                break;
            }
            self.instance.engine().unlock_tables(&self.owner);
            all = now?;
        }
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

    /// UNLOCK TABLES: with locked tables it also commits. After FLUSH TABLES WITH READ LOCK it does not: a dump begins its snapshot under that lock
    /// and goes on without it.
    pub(super) fn unlock_statement(&mut self) -> SqlResult<()> {
        if self.locked.is_empty() {
            if !self.txn.is_open() {
                self.unlock_tables();
            } else if self.read_locked {
                self.read_locked = false;
                self.instance.engine().unlock_everything(&self.owner);
            }
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

    /// Error 1290 for definitions while the server is read only, but for those of the session's own temporary tables.
    pub(super) fn check_definition_writable(&self, kind: &StatementKind) -> SqlResult<()> {
        let refused = match self.facts.check_server_writable() {
            Ok(()) => return Ok(()),
            refused => refused,
        };
        let Some(tables) = changed_tables(kind).filter(|t| !t.is_empty()) else {
            return refused;
        };
        for table in &tables {
            let (database, name) = self.qualified(table)?;
            if self.env.temporary.get(&database, &name).is_none() {
                return refused;
            }
        }
        Ok(())
    }

    /// What DDL may do while tables are locked: change those tables (error 1100), nothing else (error 1192).
    pub(super) fn check_ddl_locked(&self, kind: &StatementKind) -> SqlResult<()> {
        self.check_read_lock()?;
        if self.locked.is_empty() {
            return Ok(());
        }
        let check = |t: &ObjectName| {
            let (database, name) = self.qualified(t)?;
            if self.env.temporary.get(&database, &name).is_some() {
                return Ok(());
            }
            self.check_locked(&database, &name, true)
        };
        // As MySQL has it, accounts are changed under LOCK TABLES too.
        if matches!(kind, StatementKind::Account(_) | StatementKind::Set(_)) {
            return Ok(());
        }
        match changed_tables(kind) {
            Some(tables) => tables.iter().map(|t| &**t).try_for_each(check),
            None => Err(SqlError::new(
                1192,
                "Can't execute the given command because you have active locked tables or an active transaction",
            )),
        }
    }

    /// An item of FLUSH.
    pub(super) fn flush(&mut self, item: &FlushItem) -> SqlResult<()> {
        match item {
            // Definitions are read through the catalog; what a session keeps are its plans.
            FlushItem::Tables { tables, lock: None } => {
                for t in tables {
                    let (database, name) = self.qualified(&t)?;
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
            FlushItem::Tables {
                tables,
                lock: Some(FlushLock::Read),
            } => {
                self.note_flush_tables();
                if tables.is_empty() {
                    return self.lock_everything();
                }
                let lock = |name: Cow<'_, ObjectName>| LockedTable {
                    name: name.into_owned(),
                    alias: None,
                    lock: TableLock::Read,
                };
                let list: Vec<_> = tables.iter().map(lock).collect();
                self.lock_tables(&list)
            }
            FlushItem::Plain(FlushPlain::Status) => {
                self.instance.0.registry.drain(self.seat());
                self.instance.note_flush_status();
                Ok(())
            }
            // The error log is the standard error; there is no general log.
            FlushItem::Plain(FlushPlain::Logs) => {
                self.instance.reopen_slow_log()?;
                self.instance.reopen_audit_log()
            }
            FlushItem::Plain(FlushPlain::SlowLogs) => self.instance.reopen_slow_log(),
            // There are no stored privileges that memory could disagree with, and nothing is remembered of hosts that failed to
            // connect.
            FlushItem::Plain(FlushPlain::Privileges) => {
                self.instance.0.accounts.reload(self.instance.engine())
            }
            FlushItem::Plain(FlushPlain::UserResources) => {
                self.instance.0.accounts.meters.reset(None);
                Ok(())
            }
            FlushItem::Plain(FlushPlain::Hosts) => Ok(()),
            // As MySQL does without a binary log: dumps and schemas flush it whether there is one or not.
            FlushItem::Plain(FlushPlain::BinaryLogs) => Ok(()),
            FlushItem::Plain(other) => Err(SqlError::unsupported(format_args!("FLUSH {other}"))),
            FlushItem::RelayLogs(_) => Err(SqlError::unsupported("FLUSH RELAY LOGS")),
            FlushItem::Tables {
                lock: Some(FlushLock::Export),
                ..
            } => Err(SqlError::unsupported("FLUSH TABLES ... FOR EXPORT")),
        }
    }

    /// A table's database and name; error 1046 if there's no database.
    pub(super) fn qualified(&self, t: &ObjectName) -> SqlResult<(String, String)> {
        millpond_sql::ddl::qualified(t, &self.env)
    }

    /// ANALYZE, CHECK, OPTIMIZE, REPAIR TABLE: one or more rows per table. `partitions`: those of the one table that are
    /// meant, `Some(None)` being all of them, if it is about partitions.
    pub(super) fn maintain(
        &mut self,
        op: MaintenanceVerb,
        tables: &[ObjectName],
        options: &[MaintenanceOption],
        partitions: Option<Option<&[Ident]>>,
    ) -> SqlResult<Vec<Vec<Value<'static>>>> {
        let name = match op {
            MaintenanceVerb::Analyze => "analyze",
            MaintenanceVerb::Check => "check",
            MaintenanceVerb::Repair => "repair",
            MaintenanceVerb::Optimize => "optimize",
            MaintenanceVerb::Checksum => return Err(SqlError::unsupported("CHECKSUM TABLE")),
        };
        if op == MaintenanceVerb::Analyze
            && let Some(option) = options.first()
        {
            return Err(SqlError::unsupported(format_args!(
                "ANALYZE TABLE ... {option}"
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
            if let Some((schema, view)) = self.view(&database, &table)? {
                if op != MaintenanceVerb::Check {
                    add(
                        "Error",
                        wrong_object(&database, &table, "BASE TABLE").message,
                    );
                    add("status", "Operation failed".into());
                    continue;
                }
                match self.check_view(&database, &table, &schema, &view)? {
                    None => add("status", "OK".into()),
                    Some(e) => {
                        add("Error", e.message);
                        add("error", "Corrupt".into());
                    }
                }
                continue;
            }
            if let Some(asked) = partitions
                && !self.has_partitions(&database, &table, asked.unwrap_or(&[]))?
            {
                add("Error", format!("Error in list of partitions to {shown}"));
                add("status", "Operation failed".into());
                continue;
            }
            match op {
                MaintenanceVerb::Optimize if let Some(partitions) = partitions => {
                    add(
                        "note",
                        "Table does not support optimize on partitions. All partitions will be rebuilt and analyzed."
                            .into(),
                    );
                    self.check_locked(&database, &table, true)?;
                    self.ddl().optimize_partitions(t, partitions)?;
                    add("status", "OK".into());
                }
                MaintenanceVerb::Check => {
                    let only = partitions.flatten();
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
                MaintenanceVerb::Optimize => {
                    self.check_read_lock()?;
                    add(
                        "note",
                        "Table does not support optimize, doing recreate + analyze instead".into(),
                    );
                    if !mine {
                        self.check_locked(&database, &table, true)?;
                    }
                    self.env.profiles.enter("System lock");
                    self.ddl().recreate(&database, &table)?;
                    add("status", "OK".into());
                }
                MaintenanceVerb::Repair => add(
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
    fn has_partitions(&self, database: &str, table: &str, names: &[Ident]) -> SqlResult<bool> {
        let def = self.instance.0.engine.table_def(database, table);
        let schema = Schema::of(&def.map_err(|e| store_error(e, table))?)?;
        let Some(p) = &schema.partitioning else {
            return Err(SqlError::new(
                1505,
                "Partition management on a not partitioned table is not possible",
            ));
        };
        Ok(names.iter().all(|name| p.named(name.as_str()).is_some()))
    }

    /// Reads every index in one view and compares what they hold; a row in the wrong partition is a problem too. `only`: the
    /// partitions that are asked about.
    fn check_table(
        &mut self,
        database: &str,
        name: &str,
        only: Option<&[Ident]>,
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
            let schema = millpond_sql::row::schema_of(&table)?;
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
                    for at in 0..p.leaves() {
                        let is = |name: &Ident| {
                            let leaves = p.named(name.as_str());
                            leaves.is_some_and(|leaves| leaves.contains(&at))
                        };
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

/// The tables that a definition changes which may be done while tables are locked; `None` for any other.
fn changed_tables(kind: &StatementKind) -> Option<Vec<Cow<'_, ObjectName>>> {
    match kind {
        StatementKind::AlterTable(alter) => {
            let exchanged = alter.actions.iter().filter_map(|action| match &*action {
                AlterAction::Partition(PartitionAction::Exchange { table, .. }) => {
                    Some(Cow::Owned(table.clone()))
                }
                _ => None,
            });
            let own = std::iter::once(Cow::Borrowed(&alter.name));
            Some(own.chain(exchanged).collect())
        }
        StatementKind::Table(statement) => match &**statement {
            TableStatement::CreateIndex(create) => Some(vec![Cow::Borrowed(&create.table)]),
            TableStatement::DropIndex { table, .. } => Some(vec![Cow::Borrowed(table)]),
            TableStatement::Truncate(table) => Some(vec![Cow::Borrowed(table)]),
            TableStatement::Drop { names, .. } => Some(names.iter().collect()),
            // Which no lock can be held on yet.
            TableStatement::Create(create) => Some(vec![Cow::Borrowed(&create.name)]),
            TableStatement::CreateLike { name, .. } => Some(vec![Cow::Borrowed(name)]),
            _ => None,
        },
        _ => None,
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

impl From<Error> for Halt {
    fn from(e: Error) -> Halt {
        Halt::Store(e)
    }
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
        let (mut seen, mut misplaced, mut buffer) = (0u64, 0u64, Vec::new());
        let faults = table.check_indexes(self.txn, &mut |what| {
            seen += 1;
            if seen.is_multiple_of(KILL_CHECK_ROWS) && self.owner.is_killed() {
                let e = SqlError::new(1317, "Query execution was interrupted");
                return Err(Halt::Sql(e));
            }
            if let (Checked::Row(row), Some((p, at))) = (what, part) {
                let belongs = p
                    .route_row(self.schema, row, self.env, &mut buffer)
                    .map_err(Halt::Sql)?;
                misplaced += u64::from(belongs != Some(at));
            }
            Ok(())
        })?;
        for fault in faults {
            let name = &table.def().indexes[fault.index].name;
            self.problems.push(match fault.kind {
                FaultKind::Unreadable(e) => format!("Index '{name}': {e}"),
                kind => format!("InnoDB: Index '{name}' {kind}."),
            });
        }
        if let Some((p, at)) = part
            && misplaced > 0
        {
            self.problems.push(format!(
                "Found {misplaced} misplaced rows in partition '{}'",
                p.leaf_name(at)
            ));
        }
        Ok(())
    }
}

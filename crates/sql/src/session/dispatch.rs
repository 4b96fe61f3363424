//! Statements by kind: what counts them, which commit implicitly, who carries them out.

use super::Session;
use super::cache::Compiled;
use super::counters::Counter;
use crate::ddl::Ddl;
use crate::error::{SqlError, SqlResult};
use crate::parse::{Change, Kind, Maintenance, PrepareSource, Show, Statement, sp};
use crate::plan::{self, PlanContext};
use crate::result::{ColumnMeta, ResultSink};
use crate::show;
use crate::value::Value;
use crate::watch::StatementKind;

/// The counter of a statement.
pub(super) fn counter(kind: &Kind) -> Option<Counter> {
    use Counter as C;
    Some(match kind {
        Kind::Empty => return None,
        Kind::Query(_) => C::Select,
        Kind::Insert(i) => {
            let select = i
                .source
                .as_ref()
                .is_some_and(|q| !matches!(*q.body, sp::SetExpr::Values(_)));
            match (i.replace_into, select) {
                (false, false) => C::Insert,
                (false, true) => C::InsertSelect,
                (true, false) => C::Replace,
                (true, true) => C::ReplaceSelect,
            }
        }
        Kind::Update(_) => C::Update,
        Kind::Delete(_) => C::Delete,
        Kind::Several(s) => match s.change {
            Change::Update(_) => C::UpdateMulti,
            Change::Delete(_) => C::DeleteMulti,
        },
        Kind::Explain { .. } => C::Explain,
        Kind::Do(_) => C::Do,
        Kind::CreateTable(_) | Kind::CreatePartitioned(..) | Kind::CreateTableLike { .. } => {
            C::CreateTable
        }
        Kind::CreateIndex(_) => C::CreateIndex,
        Kind::DropIndex { .. } => C::DropIndex,
        Kind::AlterTable { .. } | Kind::AlterPartitions { .. } => C::AlterTable,
        Kind::DropTables { .. } => C::DropTable,
        Kind::DropViews { .. } => C::DropView,
        Kind::DropProgram { .. } => return None,
        Kind::Truncate(_) => C::Truncate,
        Kind::RenameTables(_) => C::RenameTable,
        Kind::CreateDatabase { .. } => C::CreateDb,
        Kind::AlterDatabase { .. } => C::AlterDb,
        Kind::DropDatabase { .. } => C::DropDb,
        // Counted where it is carried out, because COM_INIT_DB comes there too.
        Kind::Use(_) => return None,
        Kind::Begin { .. } => C::Begin,
        Kind::Commit { .. } => C::Commit,
        Kind::Rollback { .. } => C::Rollback,
        Kind::Savepoint(_) => C::Savepoint,
        Kind::RollbackTo(_) => C::RollbackTo,
        Kind::ReleaseSavepoint(_) => C::ReleaseSavepoint,
        Kind::Set(_) => C::SetOption,
        Kind::Show(s) => return show_counter(s),
        Kind::Describe { .. } => C::ShowFields,
        Kind::LockTables(_) => C::LockTables,
        Kind::UnlockTables => C::UnlockTables,
        Kind::Flush { .. } => C::Flush,
        Kind::Maintain { op, .. } => match op {
            Maintenance::Analyze => C::Analyze,
            Maintenance::Check => C::Check,
            Maintenance::Optimize => C::Optimize,
            Maintenance::Repair => C::Repair,
            Maintenance::Checksum => C::Checksum,
        },
        Kind::Kill { .. } => C::Kill,
        Kind::Prepare { .. } => C::PrepareSql,
        Kind::Execute { .. } => C::ExecuteSql,
        Kind::Deallocate(_) => C::DeallocSql,
        Kind::Help(_) => C::Help,
    })
}

fn show_counter(show: &Show) -> Option<Counter> {
    use Counter as C;
    Some(match show {
        Show::Databases(_) => C::ShowDatabases,
        Show::Tables { .. } => C::ShowTables,
        Show::TableStatus { .. } => C::ShowTableStatus,
        Show::OpenTables { .. } => C::ShowOpenTables,
        Show::Columns { .. } => C::ShowFields,
        Show::Index { .. } => C::ShowKeys,
        Show::CreateTable(_) => C::ShowCreateTable,
        Show::CreateDatabase { .. } => C::ShowCreateDb,
        Show::Variables { .. } => C::ShowVariables,
        Show::Status { .. } => C::ShowStatus,
        Show::ProcessList { .. } => C::ShowProcesslist,
        Show::Warnings { .. } | Show::CountWarnings => C::ShowWarnings,
        Show::Errors { .. } | Show::CountErrors => C::ShowErrors,
        Show::Engines => C::ShowStorageEngines,
        Show::EngineStatus(_) => C::ShowEngineStatus,
        Show::Collation(_) => C::ShowCollations,
        Show::CharacterSet(_) => C::ShowCharsets,
        Show::Grants(_) => C::ShowGrants,
        Show::Privileges => C::ShowPrivileges,
        Show::Plugins => C::ShowPlugins,
        Show::Triggers { .. } => C::ShowTriggers,
        Show::Events { .. }
        | Show::RoutineStatus { .. }
        | Show::CreateOther(..)
        | Show::Replication(_) => return None,
    })
}

/// Whether a statement leaves the diagnostics of the one before, because it is about them.
pub(super) fn keeps_diagnostics(kind: &Kind) -> bool {
    matches!(
        kind,
        Kind::Show(
            Show::Warnings { .. } | Show::Errors { .. } | Show::CountWarnings | Show::CountErrors
        )
    )
}

/// Whether a statement makes or drops temporary tables and says so.
pub(super) fn is_temporary(kind: &Kind) -> bool {
    match kind {
        Kind::CreateTable(create) | Kind::CreatePartitioned(create, _) => create.temporary,
        Kind::CreateTableLike { temporary, .. } | Kind::DropTables { temporary, .. } => *temporary,
        _ => false,
    }
}

/// Whether a statement ends the open transaction before it does anything.
fn commits(kind: &Kind) -> bool {
    is_definition(kind) && !is_temporary(kind)
}

fn is_definition(kind: &Kind) -> bool {
    matches!(
        kind,
        Kind::CreateTable(_)
            | Kind::CreatePartitioned(..)
            | Kind::CreateTableLike { .. }
            | Kind::CreateIndex(_)
            | Kind::DropIndex { .. }
            | Kind::AlterTable { .. }
            | Kind::AlterPartitions { .. }
            | Kind::DropTables { .. }
            | Kind::DropViews { .. }
            | Kind::DropProgram { .. }
            | Kind::Truncate(_)
            | Kind::RenameTables(_)
            | Kind::CreateDatabase { .. }
            | Kind::AlterDatabase { .. }
            | Kind::DropDatabase { .. }
            | Kind::LockTables(_)
            | Kind::Flush { .. }
            | Kind::Maintain { .. }
    )
}

/// Whether a statement is refused in a READ ONLY transaction although it is not planned.
fn changes(kind: &Kind) -> bool {
    is_definition(kind)
        && !matches!(
            kind,
            Kind::LockTables(_) | Kind::Flush { .. } | Kind::Maintain { .. }
        )
}

/// Whether a statement that does not go by the open transaction is refused where transactions are READ ONLY.
fn rebuilds(kind: &Kind) -> bool {
    matches!(kind, Kind::Maintain { op, .. } if matches!(op, Maintenance::Optimize | Maintenance::Repair))
}

/// Error 1295 for statements that cannot be prepared.
pub(super) fn preparable(statement: &Statement) -> SqlResult<()> {
    match statement.kind {
        Kind::Empty => Err(SqlError::new(1065, "Query was empty")),
        Kind::Prepare { .. }
        | Kind::Execute { .. }
        | Kind::Deallocate(_)
        | Kind::LockTables(_)
        | Kind::UnlockTables
        | Kind::Use(_)
        | Kind::Help(_) => Err(SqlError::new(
            1295,
            "This command is not supported in the prepared statement protocol yet",
        )),
        _ => Ok(()),
    }
}

impl Session {
    /// Carries a statement out. `more`: another one of the same text follows.
    #[inline]
    pub(super) fn dispatch(
        &mut self,
        compiled: &Compiled,
        params: &[Value<'_>],
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        self.current.running.kind = compiled.kind;
        self.allow_unsettled(compiled.kind, more);
        if !compiled.kind.is_ddl() {
            return self.carry_out(compiled, params, more, sink);
        }
        if let Kind::Truncate(table) = &compiled.statement.kind
            && let Ok((database, name)) = self.qualified(table)
            && show::truncate(&self.instance, &database, &name)
        {
            self.current.running.kind = StatementKind::Other;
            return self.finish(0, "", more, sink);
        }
        let event = self.begin_ddl(compiled);
        let result = self.carry_out(compiled, params, more, sink);
        self.end_ddl(event, &result);
        result
    }

    fn carry_out(
        &mut self,
        compiled: &Compiled,
        params: &[Value<'_>],
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        let statement = &compiled.statement;
        if statement.is_planned() {
            return self.run_planned(compiled, params, more, sink);
        }
        if changes(&statement.kind) {
            if self.txn.explicit {
                self.check_writable()?;
            }
            self.check_ddl_locked(&statement.kind)?;
        }
        if commits(&statement.kind) {
            self.commit_now()?;
            self.forget_asked();
        }
        if changes(&statement.kind) || rebuilds(&statement.kind) {
            self.check_writable()?;
        }
        match &statement.kind {
            Kind::Empty => Err(SqlError::new(1065, "Query was empty")),
            Kind::Use(name) => {
                self.use_database(name)?;
                self.finish(0, "", more, sink)
            }
            Kind::Begin {
                snapshot,
                read_only,
            } => {
                self.begin(*snapshot, *read_only)?;
                self.finish(0, "", more, sink)
            }
            Kind::Commit { chain, release } => {
                self.end_transaction(true, *chain, *release)?;
                self.finish(0, "", more, sink)
            }
            Kind::Rollback { chain, release } => {
                self.end_transaction(false, *chain, *release)?;
                self.finish(0, "", more, sink)
            }
            Kind::Savepoint(name) => {
                self.savepoint(name)?;
                self.finish(0, "", more, sink)
            }
            Kind::RollbackTo(name) => {
                self.rollback_to(name)?;
                self.finish(0, "", more, sink)
            }
            Kind::ReleaseSavepoint(name) => {
                self.release_savepoint(name)?;
                self.finish(0, "", more, sink)
            }
            Kind::Set(items) => {
                self.set(items, params)?;
                self.finish(0, "", more, sink)
            }
            Kind::Show(Show::Grants(Some(user))) if !self.is_self(user) => Err(SqlError::new(
                1141,
                format!("There is no such grant defined for user '{user}'"),
            )),
            Kind::Show(show) => {
                let table = show::of(show, &self.env)?;
                self.show(&table, more, sink)
            }
            Kind::Describe { table, column } => {
                let table = show::describe(table, column.as_deref(), &self.env)?;
                self.show(&table, more, sink)
            }
            Kind::Prepare { name, source } => {
                let text = match source {
                    PrepareSource::Text(t) => t.clone(),
                    PrepareSource::Variable(v) => {
                        let vars = self.env.user_vars.borrow();
                        let value = vars.get(v).map(|v| v.to_text().into_owned());
                        String::from_utf8_lossy(&value.unwrap_or_else(|| b"NULL".to_vec()))
                            .into_owned()
                    }
                };
                let key = name.to_lowercase();
                self.named.remove(&key);
                let prepared = self.make_prepared(&text)?;
                self.named.insert(key, prepared);
                self.finish(0, "Statement prepared", more, sink)
            }
            Kind::Execute { name, using } => self.execute_named(name, using, more, sink),
            Kind::Deallocate(name) => {
                if self.named.remove(&name.to_lowercase()).is_none() {
                    return Err(unknown_statement(name, "DEALLOCATE PREPARE"));
                }
                self.finish(0, "", more, sink)
            }
            Kind::Kill { connection, id } => {
                let value = self.evaluate(std::slice::from_ref(id), params)?;
                let id = u32::try_from(value[0].to_u64()).unwrap_or(u32::MAX);
                self.instance.kill(id, *connection)?;
                if id == self.id() {
                    return Err(SqlError::new(1317, "Query execution was interrupted"));
                }
                self.finish(0, "", more, sink)
            }
            Kind::LockTables(tables) => {
                self.lock_tables(tables)?;
                self.finish(0, "", more, sink)
            }
            Kind::UnlockTables => {
                self.unlock_statement()?;
                self.finish(0, "", more, sink)
            }
            Kind::Flush { what, tables } => {
                self.flush(what, tables)?;
                self.finish(0, "", more, sink)
            }
            Kind::Maintain {
                op,
                tables,
                options,
                histogram,
                partitions,
            } => {
                let rows = match histogram {
                    Some(clause) => self.histogram(tables, clause)?,
                    None => self.maintain(*op, tables, options, partitions.as_ref())?,
                };
                if *op == Maintenance::Analyze {
                    // Plans are made anew with what was found out.
                    self.note_flush_tables();
                }
                let columns = super::admin::maintain_columns(*op);
                self.send_rows(&columns, &rows, more, sink)
            }
            Kind::CreateTable(create) if create.query.is_some() => {
                let done = self
                    .noting_temporary(|s| s.create_table_select(statement, create, None, params))?;
                self.finish(done.affected, &done.info, more, sink)
            }
            Kind::CreatePartitioned(create, by) if create.query.is_some() => {
                let done = self.create_table_select(statement, create, Some(by), params)?;
                self.finish(done.affected, &done.info, more, sink)
            }
            Kind::Help(_) => {
                let columns = [
                    show::meta("source_category_name", 64),
                    show::meta("name", 64),
                    show::meta("is_it_category", 1),
                ];
                self.send_rows(&columns, &[], more, sink)
            }
            _ => {
                let done = self.noting_temporary(|s| s.ddl().execute(&statement.kind))?;
                if let Kind::AlterDatabase { .. } = statement.kind {
                    self.refresh_database_variables();
                }
                if let Kind::DropDatabase { name, .. } = &statement.kind
                    && self.env.database.borrow().as_deref() == Some(name)
                {
                    self.leave_database();
                }
                self.finish(done.affected, &done.info, more, sink)
            }
        }
    }

    /// Runs a statement that may make or drop temporary tables. If it does, names may mean other tables than before,
    /// so that the context of plans is another.
    fn noting_temporary<T>(
        &mut self,
        work: impl FnOnce(&mut Session) -> SqlResult<T>,
    ) -> SqlResult<T> {
        let before = self.env.temporary.changes();
        let done = work(self);
        let after = self.env.temporary.changes();
        if after != before {
            self.refresh_context();
        }
        if self.txn.is_open() {
            self.txn.made_temporary |= after.0 != before.0;
            self.txn.dropped_temporary |= after.1 != before.1;
        }
        done
    }

    /// What DDL works with.
    pub(super) fn ddl(&self) -> Ddl<'_> {
        Ddl {
            engine: &self.instance.0.engine,
            owner: &self.owner,
            env: &self.env,
            vars: &self.facts.vars,
            mode: self.settings.mode,
            tables_locked: !self.locked.is_empty(),
        }
    }

    fn is_self(&self, user: &str) -> bool {
        user == self.env.user
    }

    fn execute_named(
        &mut self,
        name: &str,
        using: &[String],
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        let Some(prepared) = self.named.get(&name.to_lowercase()).cloned() else {
            return Err(unknown_statement(name, "EXECUTE"));
        };
        if using.len() != prepared.params {
            return Err(SqlError::new(1210, "Incorrect arguments to EXECUTE"));
        }
        let values: Vec<Value<'static>> = {
            let vars = self.env.user_vars.borrow();
            using
                .iter()
                .map(|u| vars.get(u).cloned().unwrap_or(Value::Null))
                .collect()
        };
        let compiled = prepared.compiled()?;
        if let Some(c) = compiled.counter {
            self.count(c);
        }
        self.dispatch(compiled, &values, more, sink)
    }

    /// Runs a SHOW statement.
    fn show(
        &mut self,
        table: &show::Shown,
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        let plan = self.in_transaction(|s| s.compile_shown(table))?;
        self.run_once(&plan, &[], more, sink)
    }

    fn compile_shown(&mut self, shown: &show::Shown) -> SqlResult<plan::Plan> {
        self.ensure_transaction();
        let Some(txn) = &mut self.txn.txn else {
            return Err(SqlError::new(1105, "no transaction"));
        };
        let columns: Vec<(usize, Option<&str>)> = shown
            .columns
            .iter()
            .map(|(i, heading)| (*i, heading.as_deref()))
            .collect();
        plan::compile_virtual(
            shown.table.clone(),
            &columns,
            shown.like,
            &shown.filter,
            &mut PlanContext {
                engine: &self.instance.0.engine,
                txn,
                env: &self.env,
                params: None,
            },
        )
    }

    /// Columns of the result set of a statement that is not planned.
    pub(super) fn describe_command(&mut self, statement: &Statement) -> SqlResult<Vec<ColumnMeta>> {
        let shown = match &statement.kind {
            Kind::Show(show) => show::of(show, &self.env)?,
            Kind::Describe { table, column } => {
                show::describe(table, column.as_deref(), &self.env)?
            }
            Kind::Maintain { op, .. } => return Ok(super::admin::maintain_columns(*op).to_vec()),
            _ => return Ok(Vec::new()),
        };
        Ok(self.compile_shown(&shown)?.columns.to_vec())
    }
}

fn unknown_statement(name: &str, to: &str) -> SqlError {
    SqlError::new(
        1243,
        format!("Unknown prepared statement handler ({name}) given to {to}"),
    )
}

//! Who carries a statement out.

use super::Session;
use crate::show;
use crate::statements::Compiled;
use crate::statements::kinds::{self, Effect};
use crate::watch;
use millpond_sql::ddl::encryption::no_master_key;
use millpond_sql::ddl::{DatabaseLike, Ddl, Done};
use millpond_sql::env::{is_system_schema, privileges};
use millpond_sql::error::{SqlError, SqlResult};
use millpond_sql::parse::Statement;
use millpond_sql::parse::ast::{
    AdminStatement, Explain, Ident, InstanceAction, InstancePlain, MaintenanceOption,
    MaintenanceVerb, ObjectName, PrepareSource, SchemaStatement, SessionStatement, SetStatement,
    ShowKind, StatementKind, TableStatement, TransactionStatement, UserVariable,
};
use millpond_sql::plan::Plan;
use millpond_sql::planner::{self, PlanContext};
use millpond_sql::result::{ColumnMeta, Completion, ResultSink};
use millpond_sql::store_error::store_error;
use millpond_sql::value::Value;

/// What a statement that is not planned answers.
pub(super) enum Answer {
    /// OK, and what it did.
    Done(Done),
    /// Rows that are there.
    Rows(Vec<ColumnMeta>, Vec<Vec<Value<'static>>>),
    /// A selection from a virtual table.
    Shown(show::Shown),
}

impl Answer {
    /// OK, and nothing to say about it.
    pub fn ok() -> Answer {
        Answer::Done(Done::default())
    }
}

/// Says of a result that there were no warnings: those that SHOW WARNINGS lists are another statement's.
struct Unwarned<'s>(&'s mut dyn ResultSink);

impl ResultSink for Unwarned<'_> {
    fn columns(&mut self, columns: &[ColumnMeta]) -> std::io::Result<()> {
        self.0.columns(columns)
    }
    fn row(&mut self, row: &[Value<'_>]) -> std::io::Result<()> {
        self.0.row(row)
    }
    fn finish(&mut self, done: &Completion) -> std::io::Result<()> {
        self.0.finish(&Completion {
            warnings: 0,
            ..done.clone()
        })
    }
}

/// Whether a statement is CREATE TABLE ... SELECT.
fn fills_new(statement: &Statement) -> bool {
    match statement.kind() {
        StatementKind::Table(table) => {
            matches!(&**table, TableStatement::Create(create) if create.query.is_some())
        }
        _ => false,
    }
}

/// Error 1295 for statements that cannot be prepared.
pub(super) fn preparable(compiled: &Compiled) -> SqlResult<()> {
    if compiled.row.preparable {
        return Ok(());
    }
    Err(SqlError::new(
        1295,
        "This command is not supported in the prepared statement protocol yet",
    ))
}

impl Session {
    /// Carries a statement out, shown as `text` in the process list. `more`: another one of the same text follows.
    #[inline]
    pub(super) fn dispatch(
        &mut self,
        compiled: &Compiled,
        text: &str,
        params: &[Value<'_>],
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        let result = self.carry_out_watched(compiled, params, more, sink);
        self.audit_end(compiled, text, &result);
        result
    }

    #[inline]
    fn carry_out_watched(
        &mut self,
        compiled: &Compiled,
        params: &[Value<'_>],
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        // What it reads of the catalog is as its transaction has it.
        let _behalf = self.instance.0.engine.on_behalf(self.txn.txn.as_ref());
        let watched = compiled.row.watched;
        self.current.running.kind = watched;
        if self.facts.guard.is_metered() {
            self.facts.guard.meter(compiled.row.changes())?;
        }
        self.allow_unsettled(watched, more);
        if !watched.is_ddl() {
            return self.carry_out(compiled, params, more, sink);
        }
        if let StatementKind::Table(table) = compiled.statement.kind()
            && let TableStatement::Truncate(name) = &**table
            && let Ok((database, name)) = self.qualified(name)
            && is_system_schema(&database)
        {
            self.check_allowed(compiled.statement.kind())?;
            if show::truncate(&self.instance, &database, &name) {
                self.current.running.kind = watch::StatementKind::Other;
                return self.finish(0, "", more, sink);
            }
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
        // What commits implicitly does so before it is refused to whoever may not do it.
        let joins = self.take_effect(compiled)?;
        self.check_allowed(statement.kind())?;
        if let StatementKind::Session(session) = statement.kind()
            && let SessionStatement::Execute { name, using } = &**session
        {
            return self.execute_named(name.as_str(), &using.all(), more, sink);
        }
        if let StatementKind::Compound(_) = statement.kind() {
            self.diagnostics_statement(statement, sink)?;
            return self.finish(0, "", more, sink);
        }
        if let StatementKind::Call(call) = statement.kind() {
            return self.call_statement(call, params, more, sink);
        }
        if let StatementKind::Session(session) = statement.kind()
            && let SessionStatement::HandlerRead { .. } = &**session
        {
            return self.handler_read(session, params, more, sink);
        }
        let answer = match joins {
            false => self.answer(statement, params)?,
            true => self.define_within(|s| match fills_new(statement) {
                // It reads before, and in between.
                true => s.answer(statement, params),
                false => s.lending(|s| s.answer(statement, params)),
            })?,
        };
        match answer {
            Answer::Done(done) => self.finish_done(done, more, sink),
            Answer::Rows(columns, rows) => self.send_rows(&columns, &rows, more, sink),
            Answer::Shown(table) if compiled.row.keeps_diagnostics => {
                self.show(&table, params, more, &mut Unwarned(sink))
            }
            Answer::Shown(table) => self.show(&table, params, more, sink),
        }
    }

    /// What a statement does to the open transaction before anything else, and what that may have against it. Whether it is part of
    /// the transaction though it would commit.
    fn take_effect(&mut self, compiled: &Compiled) -> SqlResult<bool> {
        let effect = compiled.row.effect;
        let kind = compiled.statement.kind();
        if effect == Effect::Defines || matches!(kind, StatementKind::Account(_)) {
            self.check_definition_writable(kind)?;
        }
        match effect {
            Effect::Own => return Ok(false),
            Effect::Temporary => {
                self.check_temporary_in_xa()?;
                return self.check_writable().map(|()| false);
            }
            Effect::Defines => {
                self.check_ddl_locked(compiled.statement.kind())?;
            }
            Effect::Commits | Effect::Rebuilds => {}
        }
        self.check_outside_xa()?;
        if self.joins_transaction(compiled)? {
            self.check_writable()?;
            return Ok(true);
        }
        self.commit_now()?;
        self.forget_asked();
        match effect {
            Effect::Commits => {}
            _ => self.check_writable()?,
        }
        Ok(false)
    }

    /// Carries out a statement that is not planned.
    fn answer(&mut self, statement: &Statement, params: &[Value<'_>]) -> SqlResult<Answer> {
        use StatementKind as K;
        match statement.kind() {
            K::Transaction(s) => self.transaction_statement(s),
            K::Set(s) => match **s {
                SetStatement::Items(_) => self.set(s, params).map(|()| Answer::ok()),
                _ => self.set_account(s),
            },
            K::Account(s) => self.account_statement(s),
            K::Session(s) => self.session_statement(s),
            K::Admin(s) => self.admin_statement(s, params),
            K::AlterTable(alter)
                if let Some((verb, only, options)) = kinds::partition_upkeep(alter) =>
            {
                let table = std::slice::from_ref(&alter.name);
                let only = only.as_ref().map(|list| list.all());
                self.upkeep(verb, table, &options.all(), Some(only.as_deref()))
            }
            K::Table(s)
                if let TableStatement::Create(create) = &**s
                    && create.query.is_some() =>
            {
                let fill = |s: &mut Session| s.create_table_select(statement, create, params);
                self.noting_temporary(fill).map(Answer::Done)
            }
            K::AlterTable(alter) => {
                let done = self.define(statement);
                done.map_err(|e| self.without_value(e, &alter.name))
            }
            K::Table(_) => self.define(statement),
            K::Routine(s) => self
                .define_routine(statement, s, params)
                .map(|()| Answer::ok()),
            K::Schema(s) => {
                let done = self.define(statement)?;
                if let SchemaStatement::DropDatabase { name, .. } = &**s {
                    let inner = &self.instance.0;
                    inner.programs.changed();
                    inner.scheduler.note_database(&inner.engine, name.as_str());
                }
                self.note_database(s);
                Ok(done)
            }
            K::Show(_) | K::Explain(_) => self.shown(statement).map(Answer::Shown),
            K::Query(_) | K::Insert(_) | K::Update(_) | K::Delete(_) | K::Do(_) => {
                Err(SqlError::new(1105, "a planned statement"))
            }
            // Refused when they are compiled, or carried out before.
            K::Call(_) | K::Compound(_) | K::Replication(_) => {
                Err(SqlError::unsupported("this statement"))
            }
        }
    }

    /// Which value it is that has no partition is said to who may read the table.
    fn without_value(&self, e: SqlError, table: &ObjectName) -> SqlError {
        const NO_PARTITION: u16 = 1526;
        if e.code != NO_PARTITION {
            return e;
        }
        let readable = self.qualified(table).is_ok_and(|(database, table)| {
            let mine = self.env.temporary.get(&database, &table).is_some();
            mine || self.access().table(&database, &table) & privileges::SELECT != 0
        });
        match readable {
            true => e,
            false => SqlError::new(
                NO_PARTITION,
                "Table has no partition for some existing values",
            ),
        }
    }

    fn define(&mut self, statement: &Statement) -> SqlResult<Answer> {
        if let StatementKind::Schema(schema) = statement.kind()
            && let SchemaStatement::View(view) = &**schema
        {
            return self.ddl().view(view, &statement.text).map(Answer::Done);
        }
        if let StatementKind::Schema(schema) = statement.kind()
            && let SchemaStatement::CreateDatabaseLike {
                or_replace,
                if_not_exists,
                name,
                like,
                data,
            } = &**schema
        {
            if *or_replace {
                return Err(SqlError::unsupported("CREATE OR REPLACE DATABASE"));
            }
            let what = DatabaseLike {
                if_not_exists: *if_not_exists,
                name: name.as_str(),
                like: like.as_str(),
                data: *data,
            };
            return self.create_database_like(what).map(Answer::Done);
        }
        let done = self.noting_temporary(|s| s.ddl().execute(statement.kind()))?;
        Ok(Answer::Done(done))
    }

    /// Takes notice of what became of the database in use.
    fn note_database(&mut self, statement: &SchemaStatement) {
        match statement {
            SchemaStatement::AlterDatabase { .. } => self.refresh_database_variables(),
            SchemaStatement::DropDatabase { name, .. }
                if self.env.database.borrow().as_deref() == Some(name.as_str()) =>
            {
                self.leave_database();
            }
            _ => {}
        }
    }

    fn transaction_statement(&mut self, statement: &TransactionStatement) -> SqlResult<Answer> {
        use TransactionStatement as S;
        match statement {
            S::Start { .. } | S::Begin | S::Commit(_) | S::Rollback(_) => {
                self.check_outside_xa()?
            }
            S::Savepoint(_) | S::RollbackTo(_) | S::ReleaseSavepoint(_) => {
                self.check_active_xa()?
            }
            _ => {}
        }
        match statement {
            S::Xa(xa) => return self.xa_statement(xa),
            S::Start { snapshot, access } => self.begin(*snapshot, *access)?,
            S::Begin => self.begin(false, None)?,
            S::Commit(completion) => self.end_transaction(true, *completion)?,
            S::Rollback(completion) => self.end_transaction(false, *completion)?,
            S::Savepoint(name) => self.savepoint(name.as_str())?,
            S::RollbackTo(name) => self.rollback_to(name.as_str())?,
            S::ReleaseSavepoint(name) => self.release_savepoint(name.as_str())?,
            S::Set {
                scope,
                isolation,
                access,
            } => self.set_transaction(*scope, *isolation, *access)?,
            S::LockTables(tables) => self.lock_tables(&tables.all())?,
            S::UnlockTables => self.unlock_statement()?,
            S::LockInstance | S::UnlockInstance => {
                return Err(SqlError::unsupported(statement));
            }
        }
        Ok(Answer::ok())
    }

    fn session_statement(&mut self, statement: &SessionStatement) -> SqlResult<Answer> {
        use SessionStatement as S;
        match statement {
            S::Use(name) => self.enter_database(name.as_str())?,
            S::Prepare { name, source } => {
                self.prepare_named(name.as_str(), source)?;
                return Ok(Answer::Done(Done {
                    affected: 0,
                    info: "Statement prepared".into(),
                    ..Done::default()
                }));
            }
            S::Deallocate(name) => {
                self.check_unused(name.as_str())?;
                if self.named.remove(&name.as_str().to_lowercase()).is_none() {
                    return Err(unknown_statement(name.as_str(), "DEALLOCATE PREPARE"));
                }
                self.track_state();
            }
            S::Help(_) => {
                let columns = vec![
                    show::meta("source_category_name", 64),
                    show::meta("name", 64),
                    show::meta("is_it_category", 1),
                ];
                return Ok(Answer::Rows(columns, Vec::new()));
            }
            S::HandlerOpen { table, alias } => self.handler_open(table, alias.as_ref())?,
            S::HandlerClose(table) => self.handler_close(table)?,
            S::Execute { .. } | S::HandlerRead { .. } | S::Load(_) => {
                return Err(SqlError::unsupported(statement));
            }
        }
        Ok(Answer::ok())
    }

    fn admin_statement(
        &mut self,
        statement: &AdminStatement,
        params: &[Value<'_>],
    ) -> SqlResult<Answer> {
        use AdminStatement as S;
        match statement {
            S::Maintain {
                verb,
                tables,
                options,
                ..
            } => self.upkeep(*verb, &tables.all(), &options.all(), None),
            S::Histogram {
                tables,
                columns,
                change,
                ..
            } => {
                let rows = self.histogram(&tables.all(), &columns.all(), change)?;
                // Plans are made anew with what was found out.
                self.note_flush_tables();
                Ok(Answer::Rows(super::admin::maintain_columns(), rows))
            }
            S::AlterInstance(InstanceAction::ReloadTls {
                channel,
                no_rollback,
            }) => {
                // There is one way in, and it has MySQL's name.
                match channel.as_ref().map(Ident::as_str) {
                    None | Some("mysql_main") => {}
                    Some(other) => {
                        return Err(SqlError::unsupported(format_args!("channel {other}")));
                    }
                }
                self.instance.reload_tls(*no_rollback)?;
                Ok(Answer::ok())
            }
            S::AlterInstance(InstanceAction::Plain(InstancePlain::RotateInnodbMasterKey)) => {
                let engine = &self.instance.0.engine;
                if engine.master_key_id().is_none() {
                    return Err(no_master_key());
                }
                engine.rotate_master_key().map_err(|e| store_error(e, ""))?;
                Ok(Answer::ok())
            }
            S::Flush { items, .. } => {
                items.iter().try_for_each(|item| self.flush(&item))?;
                Ok(Answer::ok())
            }
            S::Kill { query, id } => {
                let value = self.evaluate(&[id], params)?;
                let id = u32::try_from(value[0].to_u64()).unwrap_or(u32::MAX);
                self.check_kill(id)?;
                self.instance.kill(id, !query)?;
                if id == self.id() {
                    return Err(SqlError::new(1317, "Query execution was interrupted"));
                }
                Ok(Answer::ok())
            }
            S::ResetPersist { if_exists, name } => {
                self.reset_persist(name.as_ref(), *if_exists)?;
                Ok(Answer::ok())
            }
            S::Backup { directory, base } => self.backup(directory, base.as_deref()),
            S::Shutdown => {
                self.instance.shut_down()?;
                Ok(Answer::ok())
            }
            // Nobody is told that the server is one that somebody would start again.
            S::Restart => Err(SqlError::new(
                3707,
                "Restart server failed (mysqld is not managed by supervisor process).",
            )),
            _ => Err(SqlError::unsupported("this statement")),
        }
    }

    /// ANALYZE, CHECK, OPTIMIZE, REPAIR, CHECKSUM TABLE, and of partitions: `Some(None)` is all of them.
    fn upkeep(
        &mut self,
        verb: MaintenanceVerb,
        tables: &[ObjectName],
        options: &[MaintenanceOption],
        partitions: Option<Option<&[Ident]>>,
    ) -> SqlResult<Answer> {
        if verb == MaintenanceVerb::Checksum {
            let rows = self.checksum(tables, options)?;
            return Ok(Answer::Rows(super::checksum::columns(), rows));
        }
        let rows = self.maintain(verb, tables, options, partitions)?;
        if verb == MaintenanceVerb::Analyze {
            // Plans are made anew with what was found out.
            self.note_flush_tables();
        }
        Ok(Answer::Rows(super::admin::maintain_columns(), rows))
    }

    /// What SHOW and DESCRIBE select from.
    fn shown(&self, statement: &Statement) -> SqlResult<show::Shown> {
        match statement.kind() {
            StatementKind::Show(show) => match show.kind {
                ShowKind::Grants => self.show_grants(show),
                ShowKind::CreateUser => self.show_create_user(show),
                _ => show::of(show, &self.env),
            },
            StatementKind::Explain(explain)
                if let Explain::Table { table, column } = &**explain =>
            {
                show::describe(table, column.as_deref(), &self.env)
            }
            _ => Err(SqlError::unsupported("this statement")),
        }
    }

    /// PREPARE.
    fn prepare_named(&mut self, name: &str, source: &PrepareSource) -> SqlResult<()> {
        let text = match source {
            PrepareSource::Text(text) => text.clone(),
            PrepareSource::Variable(UserVariable(name)) => {
                let vars = self.env.user_vars.borrow();
                let value = vars.get(&name.to_lowercase());
                let value = value.map(|v| v.to_text().into_owned());
                String::from_utf8_lossy(&value.unwrap_or_else(|| b"NULL".to_vec())).into_owned()
            }
        };
        self.check_unused(name)?;
        let key = name.to_lowercase();
        self.named.remove(&key);
        // What is prepared sees no local variable.
        let locals = self.locals.take();
        let prepared = self.make_prepared(&text);
        self.locals = locals;
        self.named.insert(key, prepared?);
        self.track_state();
        Ok(())
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
            self.track_state();
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
            mode: self.settings.mode,
            tables_locked: !self.locked.is_empty(),
        }
    }

    fn execute_named(
        &mut self,
        name: &str,
        using: &[UserVariable],
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        let Some(prepared) = self.named.get(&name.to_lowercase()).cloned() else {
            return Err(unknown_statement(name, "EXECUTE"));
        };
        self.check_unused(name)?;
        if using.len() != prepared.params {
            return Err(SqlError::new(1210, "Incorrect arguments to EXECUTE"));
        }
        let values: Vec<Value<'static>> = {
            let vars = self.env.user_vars.borrow();
            using
                .iter()
                .map(|UserVariable(name)| vars.get(&name.to_lowercase()).cloned())
                .map(|value| value.unwrap_or(Value::Null))
                .collect()
        };
        let compiled = prepared.compiled()?;
        if let Some(c) = compiled.row.counter {
            self.count(c);
        }
        // What is prepared sees no local variable.
        let locals = self.locals.take();
        let names = using.iter().map(|UserVariable(name)| name.to_lowercase());
        let outside = self.using.replace(names.collect());
        self.executing.push(name.to_lowercase());
        let done = self.dispatch(compiled, &compiled.text, &values, more, sink);
        self.executing.pop();
        (self.locals, self.using) = (locals, outside);
        done
    }

    /// Error 1444 for a statement of PREPARE's that is being executed.
    fn check_unused(&self, name: &str) -> SqlResult<()> {
        match self.executing.contains(&name.to_lowercase()) {
            true => Err(SqlError::new(
                1444,
                "The prepared statement contains a stored routine call that refers to that same statement. It's not allowed to execute a \
                 prepared statement in such a recursive manner",
            )),
            false => Ok(()),
        }
    }

    /// Runs a SHOW statement.
    fn show(
        &mut self,
        table: &show::Shown,
        params: &[Value<'_>],
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        let plan = self.in_transaction(|s| s.compile_shown(table, Some(params)))?;
        self.run_once(&plan, params, more, sink)
    }

    /// `params`: as in [`PlanContext::params`].
    fn compile_shown(
        &mut self,
        shown: &show::Shown,
        params: Option<&[Value<'_>]>,
    ) -> SqlResult<Plan> {
        self.ensure_transaction();
        let Some(txn) = &mut self.txn.txn else {
            return Err(SqlError::new(1105, "no transaction"));
        };
        let columns: Vec<(usize, Option<&str>)> = shown
            .columns
            .iter()
            .map(|(i, heading)| (*i, heading.as_deref()))
            .collect();
        let plan = planner::compile_virtual(
            shown.table.clone(),
            &columns,
            shown.like,
            shown.filter.as_ref(),
            &mut PlanContext {
                engine: &self.instance.0.engine,
                txn,
                env: &self.env,
                params,
                peek: false,
                locals: self.locals.as_deref(),
            },
        )?;
        // What its WHERE asks of tables.
        self.facts.check_needs(&plan)?;
        Ok(plan)
    }

    /// Columns of the result set of a statement that is not planned.
    pub(super) fn describe_command(&mut self, statement: &Statement) -> SqlResult<Vec<ColumnMeta>> {
        let shown = match statement.kind() {
            StatementKind::Show(_) | StatementKind::Explain(_) => {
                self.check_allowed(statement.kind())?;
                self.shown(statement)?
            }
            StatementKind::Admin(admin) => {
                return Ok(match &**admin {
                    AdminStatement::Maintain {
                        verb: MaintenanceVerb::Checksum,
                        ..
                    } => super::checksum::columns(),
                    AdminStatement::Maintain { .. } | AdminStatement::Histogram { .. } => {
                        super::admin::maintain_columns()
                    }
                    _ => Vec::new(),
                });
            }
            StatementKind::AlterTable(alter) if kinds::partition_upkeep(alter).is_some() => {
                return Ok(super::admin::maintain_columns());
            }
            _ => return Ok(Vec::new()),
        };
        Ok(self.compile_shown(&shown, None)?.columns.to_vec())
    }
}

fn unknown_statement(name: &str, to: &str) -> SqlError {
    SqlError::new(
        1243,
        format!("Unknown prepared statement handler ({name}) given to {to}"),
    )
}

//! SET of the session's variables in functions and triggers, which run within one of its statements.
//!
//! The value is the session's from then on, and statements within the function see it. What the session itself goes by (limits, timeouts) follows
//! when the statement around the function has ended. sql_mode is as it was once the program returns, and so are the switches that MySQL keeps among a
//! statement's options once the function does. What would end the transaction or is the business of the whole server is refused.

use std::sync::Arc;

use super::super::set::{isolation_name, level};
use super::super::setting::{Given, Setter, refresh, twin};
use super::inner::Inner;
use crate::programs::no_autocommit;
use crate::statements::Context;
use crate::vars::{self, VarValue};
use millpond_sql::env::{Locals, sql_mode};
use millpond_sql::error::{SqlError, SqlResult};
use millpond_sql::parse::ast::{self, AccessMode, Scope, SetItem, SetStatement, SetValue};
use millpond_sql::value::Value;

/// What the session keeps beside its variables, or statements have of the program they are in.
const OUTSIDE: [&str; 8] = [
    "identity",
    "insert_id",
    "last_insert_id",
    "session_track_system_variables",
    "session_track_transaction_info",
    "timestamp",
    "xa_detach_on_prepare",
    "max_join_size",
];

/// The switches that MySQL keeps among a statement's options.
const OPTIONS: [&str; 11] = [
    "big_tables",
    "foreign_key_checks",
    "profiling",
    "sql_auto_is_null",
    "sql_big_selects",
    "sql_buffer_result",
    "sql_notes",
    "sql_quote_show_create",
    "sql_safe_updates",
    "sql_warnings",
    "unique_checks",
];

/// 1235.
fn refused(what: &str) -> SqlError {
    SqlError::unsupported(format_args!("SET {what} in a stored function or trigger"))
}

impl Inner<'_> {
    /// SET.
    pub(super) fn set(
        &mut self,
        statement: &SetStatement,
        locals: &Arc<Locals>,
        params: &[Value<'_>],
    ) -> SqlResult<()> {
        let SetStatement::Items(items) = statement else {
            return Err(SqlError::unsupported(statement));
        };
        for item in items {
            match &*item {
                SetItem::Variable {
                    scope,
                    base: None,
                    name,
                    value,
                    ..
                } => {
                    let name = name.as_str().to_lowercase();
                    self.set_variable(*scope, &name, value, locals, params)?;
                }
                other => return Err(refused(&other.to_string())),
            }
        }
        self.around.env.row_count.set(0);
        Ok(())
    }

    fn set_variable(
        &mut self,
        scope: Option<Scope>,
        name: &str,
        value: &SetValue,
        locals: &Arc<Locals>,
        params: &[Value<'_>],
    ) -> SqlResult<()> {
        if name == "autocommit" {
            return Err(no_autocommit());
        }
        let charset = name.starts_with("character_set_") || name.starts_with("collation_");
        if scope.is_some_and(|s| s != Scope::Session) {
            return Err(refused("GLOBAL"));
        }
        if charset || OUTSIDE.contains(&name) {
            return Err(refused(name));
        }
        let index = self.setter().check(scope, name)?;
        let given = match (Given::without_value(value, Some(locals)), value) {
            (Some(given), _) => given,
            (None, SetValue::Expr(e)) => Given::Value(self.evaluate(e, locals, params)?),
            (None, _) => Given::Default,
        };
        let value = self.setter().value(index, scope, &given)?;
        if name == "sql_mode" {
            return self.set_mode(value);
        }
        self.put(index, name, value);
        Ok(())
    }

    /// SET SESSION TRANSACTION.
    pub(super) fn set_transaction(
        &mut self,
        scope: Scope,
        isolation: Option<ast::Isolation>,
        access: Option<AccessMode>,
    ) -> SqlResult<()> {
        if scope != Scope::Session {
            return Err(refused("GLOBAL"));
        }
        let isolation = isolation.map(|i| VarValue::Text(isolation_name(level(i)).into()));
        let read_only = access.map(|a| VarValue::Bool(a == AccessMode::ReadOnly));
        for (name, value) in [
            ("transaction_isolation", isolation),
            ("transaction_read_only", read_only),
        ] {
            if let Some(value) = value {
                self.put(vars::known(name), name, value);
            }
        }
        Ok(())
    }

    /// Stores a valid value and lets it take effect.
    fn put(&mut self, index: usize, name: &str, value: VarValue) {
        let vars = &self.facts.vars;
        if OPTIONS.contains(&name) && !self.options_before.iter().any(|(known, _)| *known == index)
        {
            self.options_before.push((index, vars.get(index)));
        }
        for n in twin(name).into_iter().chain([name]) {
            vars.put(vars::known(n), value.clone());
        }
        refresh(self.around.env, vars);
        let mut running = self.facts.running.lock();
        running.means = None;
        running.variables_set = true;
        drop(running);
        self.note_settings(self.context.mode);
    }

    /// The function returns.
    pub(super) fn restore_options(&mut self) {
        if self.options_before.is_empty() {
            return;
        }
        for (index, before) in self.options_before.drain(..) {
            self.facts.vars.put(index, before);
        }
        refresh(self.around.env, &self.facts.vars);
    }

    fn setter(&self) -> Setter<'_> {
        Setter {
            facts: self.facts,
            env: self.around.env,
        }
    }

    /// sql_mode, until the function returns.
    fn set_mode(&mut self, value: VarValue) -> SqlResult<()> {
        let mode = sql_mode::parse(value.as_str())?;
        let index = vars::known("sql_mode");
        let before = self.facts.vars.get(index);
        self.mode_before.get_or_insert(before);
        self.facts.vars.put(index, value);
        self.around.env.sql_mode.set(sql_mode::flags(mode));
        self.note_settings(mode);
        Ok(())
    }

    /// The meaning of texts from now on.
    fn note_settings(&mut self, mode: u64) {
        let env = self.around.env;
        let now = &self.context;
        self.context = Arc::new(Context {
            database: now.database.clone(),
            mode,
            collation: now.collation,
            client: now.client,
            zone: env.zone.get(),
            switches: env.switches.get(),
            div_increment: env.div_increment.get(),
            flushes: now.flushes,
            temporary: now.temporary,
        });
        self.means = super::inner::means(self.facts);
    }
}

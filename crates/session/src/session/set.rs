//! SET, and what follows from a variable's new value.

use std::sync::atomic::Ordering;

use millpond_store::{DropAlgorithm, Isolation};

use super::Session;
use super::setting::{Given, Setter, is_of_audit_log, refresh, twin};
use crate::counters::Counter;
use crate::instance::{Source, drop_algorithm, flush_mode, lazy_drop_table, show_drop_algorithm};
use crate::vars::{self, VarValue};
use millpond_sql::ddl;
use millpond_sql::env::sql_mode;
use millpond_sql::error::{SqlError, SqlResult};
use millpond_sql::exec::Limits;
use millpond_sql::parse::ast::{
    self, AccessMode, Expr, Ident, Scope, SetItem, SetStatement, SetValue, UserVariable,
};
use millpond_sql::parse::collation_of;
use millpond_sql::types::{Collation, Encoding, SqlType};
use millpond_sql::value::Value;

/// The isolation level that a variable names.
pub(super) fn isolation_of(name: &str) -> Isolation {
    match name {
        "READ-UNCOMMITTED" => Isolation::ReadUncommitted,
        "READ-COMMITTED" => Isolation::ReadCommitted,
        "SERIALIZABLE" => Isolation::Serializable,
        _ => Isolation::RepeatableRead,
    }
}

pub(super) fn isolation_name(isolation: Isolation) -> &'static str {
    match isolation {
        Isolation::ReadUncommitted => "READ-UNCOMMITTED",
        Isolation::ReadCommitted => "READ-COMMITTED",
        Isolation::RepeatableRead => "REPEATABLE-READ",
        Isolation::Serializable => "SERIALIZABLE",
    }
}

/// A level as the store has it.
pub(super) fn level(isolation: ast::Isolation) -> Isolation {
    match isolation {
        ast::Isolation::ReadUncommitted => Isolation::ReadUncommitted,
        ast::Isolation::ReadCommitted => Isolation::ReadCommitted,
        ast::Isolation::RepeatableRead => Isolation::RepeatableRead,
        ast::Isolation::Serializable => Isolation::Serializable,
    }
}

fn lower(name: &Option<Ident>) -> Option<String> {
    name.as_ref().map(|name| name.as_str().to_lowercase())
}

fn text(s: &str) -> VarValue {
    VarValue::Text(s.into())
}

/// A character set's default collation.
fn charset_collation(charset: &str) -> SqlResult<Collation> {
    collation_of(Some(charset), None, Collation::DEFAULT)
}

impl Session {
    /// SET. Items take effect one after the other; one that fails leaves those before it done.
    pub(super) fn set(&mut self, statement: &SetStatement, params: &[Value<'_>]) -> SqlResult<()> {
        let SetStatement::Items(items) = statement else {
            return Err(SqlError::unsupported(statement));
        };
        // GLOBAL and SESSION hold for what follows without a word of its own; `@@` says it for one variable.
        let mut word = None;
        for item in items {
            let scope = match &*item {
                SetItem::Variable {
                    scope,
                    system: false,
                    ..
                } => {
                    word = scope.or(word);
                    word
                }
                SetItem::Variable { scope, .. } => *scope,
                _ => None,
            };
            self.set_item(&item, scope, params)?;
        }
        Ok(())
    }

    fn set_item(
        &mut self,
        item: &SetItem,
        scope: Option<Scope>,
        params: &[Value<'_>],
    ) -> SqlResult<()> {
        match item {
            SetItem::User(UserVariable(name), value) => {
                let (mut values, types) = self.evaluate_typed(&[value], params)?;
                let value = values.pop().unwrap_or(Value::Null);
                let ty = types.first().cloned().unwrap_or_else(SqlType::null);
                self.track_state();
                self.env.set_typed_var(&name.to_lowercase(), value, &ty)
            }
            SetItem::Variable {
                base, name, value, ..
            } => {
                let name = name.as_str().to_lowercase();
                // A structured variable's instance (`hot_cache.key_buffer_size`) is part of its name.
                let name = match lower(base) {
                    Some(base) => format!("{base}.{name}"),
                    None => name,
                };
                self.set_system(scope, &name, value, params)
            }
            SetItem::Names { charset, collation } => {
                self.set_names(lower(charset).as_deref(), lower(collation).as_deref())
            }
            SetItem::CharacterSet(charset) => {
                let name = lower(charset);
                let name = vars::client_charset_name(name.as_deref().unwrap_or("utf8mb4"))?;
                let database = self.facts.vars.named("character_set_database");
                let connection = database.as_str().to_string();
                self.put_charset(name, Some(name), &connection);
                let collation = self.facts.vars.named("collation_database");
                self.facts
                    .vars
                    .put(vars::known("collation_connection"), collation);
                self.refresh_settings();
                Ok(())
            }
        }
    }

    /// SET TRANSACTION.
    pub(super) fn set_transaction(
        &mut self,
        scope: Option<Scope>,
        isolation: Option<ast::Isolation>,
        access: Option<AccessMode>,
    ) -> SqlResult<()> {
        let isolation = isolation.map(level);
        if scope.is_none() {
            return self.next_transaction(isolation, access);
        }
        if let Some(i) = isolation {
            self.assign(scope, "transaction_isolation", text(isolation_name(i)))?;
        }
        if let Some(access) = access {
            let read_only = VarValue::Bool(access == AccessMode::ReadOnly);
            self.assign(scope, "transaction_read_only", read_only)?;
        }
        Ok(())
    }

    fn evaluate_one(&mut self, expr: &Expr, params: &[Value<'_>]) -> SqlResult<Value<'static>> {
        let mut values = self.evaluate(&[expr], params)?;
        values
            .pop()
            .ok_or_else(|| SqlError::new(1105, "SET without a value"))
    }

    fn set_system(
        &mut self,
        scope: Option<Scope>,
        name: &str,
        value: &SetValue,
        params: &[Value<'_>],
    ) -> SqlResult<()> {
        let index = self.setter().check(scope, name)?;
        let given = match Given::without_value(value, self.locals.as_deref()) {
            Some(given) => given,
            None => match value {
                SetValue::Expr(e) => Given::Value(self.evaluate_one(e, params)?),
                _ => Given::Default,
            },
        };
        // What is written for the next start is a global value, too.
        let kept = scope.filter(|s| [Scope::Persist, Scope::PersistOnly].contains(s));
        let scope = kept.map_or(scope, |_| Some(Scope::Global));
        let value = self.setter().value(index, scope, &given)?;
        if name == "session_track_system_variables" {
            self.check_tracked(value.as_str());
        }
        if kept != Some(Scope::PersistOnly) {
            self.assign(scope, name, value.clone())?;
        }
        if kept.is_none() {
            return Ok(());
        }
        let done = self.persist(vars::all()[index].name, &value);
        // What holds now too has said so itself.
        if kept == Some(Scope::PersistOnly) && is_of_audit_log(name) {
            self.audit_setting(Counter::SetOption, &done);
        }
        done
    }

    fn setter(&self) -> Setter<'_> {
        Setter {
            facts: &self.facts,
            env: &self.env,
        }
    }

    /// Stores a valid value and lets it take effect.
    fn assign(&mut self, scope: Option<Scope>, name: &str, value: VarValue) -> SqlResult<()> {
        let twin = twin(name);
        if scope == Some(Scope::Global) {
            let before = self.instance.0.globals.get(vars::known(name));
            for n in twin.into_iter().chain([name]) {
                self.instance.0.globals.put(vars::known(n), value.clone());
            }
            let effect = self.global_effect(name, &value);
            match effect {
                Ok(()) => {
                    let source = Source::Set(self.set_by());
                    let mut sources = self.instance.0.sources.lock();
                    sources.insert(vars::known(name), source);
                }
                Err(_) => self.instance.0.globals.put(vars::known(name), before),
            }
            return effect;
        }
        if name == "autocommit" && value == VarValue::Bool(true) && !self.settings.autocommit {
            self.check_outside_xa()?;
            self.commit_now()?;
        }
        if name == "xa_detach_on_prepare" {
            self.check_outside_xa()?;
        }
        for n in twin.into_iter().chain([name]) {
            self.facts.vars.put(vars::known(n), value.clone());
        }
        // What holds from now on holds for the next transaction, too, whatever was asked for that alone.
        if !self.txn.is_open() {
            match name {
                "transaction_isolation" | "tx_isolation" => self.settings.next_isolation = None,
                "transaction_read_only" | "tx_read_only" => self.settings.next_read_only = None,
                _ => {}
            }
        }
        match name {
            "last_insert_id" | "identity" => {
                let id = value.as_u64().unwrap_or(0);
                self.env.last_insert_id.set(id);
                self.facts.vars.last_insert_id.store(id, Ordering::Relaxed);
            }
            "insert_id" => self.settings.insert_id = value.as_u64().unwrap_or(0),
            "max_join_size" => {
                // As MySQL has it: a bound is meant to be observed.
                let big = VarValue::Bool(value == VarValue::UInt(u64::MAX));
                self.facts.vars.put(vars::known("sql_big_selects"), big);
            }
            "timestamp" => {
                self.settings.timestamp = match value {
                    VarValue::Double(v) if v > 0.0 => {
                        Some((v as i64, ((v - v.floor()) * 1e6) as u32))
                    }
                    _ => None,
                };
            }
            "character_set_connection" | "character_set_server" => {
                // The collation follows its character set.
                let collation = charset_collation(value.as_str())?;
                let twin = name.replace("character_set", "collation");
                self.facts
                    .vars
                    .put(vars::known(&twin), text(collation.name()));
            }
            "collation_connection" | "collation_server" => {
                let charset = Collation::by_name(value.as_str())?.charset();
                let twin = name.replace("collation", "character_set");
                self.facts.vars.put(vars::known(&twin), text(charset));
            }
            _ => {}
        }
        self.refresh_settings();
        self.track_variable(name);
        Ok(())
    }

    fn global_effect(&mut self, name: &str, value: &VarValue) -> SqlResult<()> {
        let n = value.as_u64().unwrap_or(0);
        match name {
            "innodb_flush_log_at_trx_commit" => {
                self.instance.0.engine.set_flush_at_commit(flush_mode(n));
            }
            "innodb_adaptive_hash_index" => self.instance.0.engine.set_hash_index(n != 0),
            "read_only" | "super_read_only" => {
                if name == "read_only" && n == 0 {
                    let index = vars::known("super_read_only");
                    self.instance.0.globals.put(index, VarValue::Bool(false));
                }
                self.instance.apply_read_only();
            }
            "audit_log" => {
                // Who turns it on is the first that it says, who turns it off the last.
                let was_on = self.instance.0.audit.is_on();
                self.audit_setting(Counter::SetOption, &Ok(()));
                self.instance.apply_audit_log()?;
                if !was_on {
                    self.audit_setting(Counter::SetOption, &Ok(()));
                }
            }
            "audit_log_rotate_on_size" => {
                self.audit_setting(Counter::SetOption, &Ok(()));
                self.instance.0.audit.rotate_at(n);
            }
            "slow_query_log" | "slow_query_log_file" => self.instance.apply_slow_log()?,
            "event_scheduler" => match value.as_str() {
                "ON" => self.instance.0.scheduler.start(&self.instance)?,
                _ => self.instance.0.scheduler.stop(),
            },
            "mandatory_roles" | "activate_all_roles_on_login" | "partial_revokes" => {
                self.instance.apply_account_settings()?;
            }
            "log_slow_admin_statements" => self.instance.0.slow_log.set_admin(n != 0),
            "innodb_file_per_table" => self.instance.0.engine.set_file_per_table(n != 0),
            "innodb_io_capacity" | "innodb_io_capacity_max" => {
                let now = |name| self.instance.global_u64(name).unwrap_or(n);
                let (pages, most) = (now("innodb_io_capacity"), now("innodb_io_capacity_max"));
                self.instance.0.engine.set_io_capacity(pages, most);
            }
            "temptable_max_ram" => {
                let bytes = usize::try_from(n).unwrap_or(usize::MAX);
                self.instance.0.memory.set_limit(bytes);
            }
            "table_definition_cache" => {
                let tables = usize::try_from(n).unwrap_or(usize::MAX);
                self.instance.0.engine.set_table_cache(tables);
            }
            "innodb_ddl_buffer_size" => self.instance.0.engine.set_ddl_buffer(n),
            "innodb_online_alter_log_max_size" => self.instance.0.engine.set_row_log_limit(n),
            "millpond_reclaim_bytes_per_sec" => self.instance.0.engine.set_reclaim_rate(n),
            "millpond_drop_algorithm" => self.choose_drop_algorithm(drop_algorithm(value)),
            "innodb_lazy_drop_table" => {
                let before = self.instance.0.engine.drop_algorithm();
                self.choose_drop_algorithm(lazy_drop_table(n != 0, before));
            }
            "character_set_server" => {
                let collation = charset_collation(value.as_str())?;
                self.instance
                    .0
                    .globals
                    .put(vars::known("collation_server"), text(collation.name()));
            }
            "collation_server" => {
                let charset = Collation::by_name(value.as_str())?.charset();
                self.instance
                    .0
                    .globals
                    .put(vars::known("character_set_server"), text(charset));
            }
            _ => {}
        }
        Ok(())
    }

    fn choose_drop_algorithm(&self, chosen: DropAlgorithm) {
        self.instance.0.engine.set_drop_algorithm(chosen);
        show_drop_algorithm(&self.instance.0.globals, chosen);
    }

    fn set_names(&mut self, charset: Option<&str>, collation: Option<&str>) -> SqlResult<()> {
        let charset = vars::client_charset_name(charset.unwrap_or("utf8mb4"))?;
        let chosen = collation_of(Some(charset), collation, Collation::DEFAULT)?;
        self.put_charset(charset, Some(charset), charset);
        self.facts
            .vars
            .put(vars::known("collation_connection"), text(chosen.name()));
        self.track_variable("collation_connection");
        self.refresh_settings();
        Ok(())
    }

    /// The three character sets of a connection.
    pub(super) fn put_charset(&mut self, client: &str, results: Option<&str>, connection: &str) {
        let vars = &self.facts.vars;
        vars.put(vars::known("character_set_client"), text(client));
        vars.put(
            vars::known("character_set_results"),
            results.map_or(VarValue::Null, text),
        );
        vars.put(vars::known("character_set_connection"), text(connection));
        for name in [
            "character_set_client",
            "character_set_results",
            "character_set_connection",
        ] {
            self.track_variable(name);
        }
    }

    /// `character_set_database` and `collation_database` of the database in use.
    pub(super) fn refresh_database_variables(&mut self) {
        let name = self.env.database.borrow().clone();
        let collation = name
            .and_then(|n| ddl::database_collation(&self.instance.0.engine, &n).ok())
            .or_else(|| Collation::by_name(self.facts.vars.named("collation_server").as_str()).ok())
            .unwrap_or(Collation::DEFAULT);
        let vars = &self.facts.vars;
        vars.put(
            vars::known("character_set_database"),
            text(collation.charset()),
        );
        vars.put(vars::known("collation_database"), text(collation.name()));
    }

    /// Takes the settings that the hot path needs from the variables.
    pub(super) fn refresh_settings(&mut self) {
        let vars = &self.facts.vars;
        let number = |name| vars.named(name).as_u64().unwrap_or(0);
        let s = &mut self.settings;
        s.generation += 1;
        s.autocommit = number("autocommit") != 0;
        s.isolation = isolation_of(vars.named("transaction_isolation").as_str());
        s.read_only = number("transaction_read_only") != 0;
        s.mode = sql_mode::parse(vars.named("sql_mode").as_str()).unwrap_or(0);
        self.env.sql_mode.set(sql_mode::flags(s.mode));
        s.auto_increment = (
            number("auto_increment_increment").max(1),
            number("auto_increment_offset").max(1),
        );
        let bytes = |name| usize::try_from(number(name)).unwrap_or(usize::MAX);
        let table = bytes("tmp_table_size");
        s.limits = Limits {
            sort: bytes("sort_buffer_size").max(table),
            join: bytes("join_buffer_size").max(table),
            table,
            batch_rows: number("millpond_batch_rows"),
            bulk_rows: number("millpond_bulk_rows"),
            workers: number("millpond_parallel_workers") as usize,
        };
        let keep = number("profiling_history_size") as usize;
        self.env.profiles.set(number("profiling") != 0, keep);
        s.notes = number("sql_notes") != 0;
        let info = vars.named("session_track_transaction_info");
        self.track.follow(info.as_str());
        s.xa_detach = number("xa_detach_on_prepare") != 0;
        s.transactional_ddl = number("millpond_transactional_ddl") != 0;
        s.wait_timeout = number("wait_timeout");
        s.max_execution_ms = number("max_execution_time");
        s.select_limit = number("sql_select_limit");
        s.safe_updates = number("sql_safe_updates") != 0;
        s.max_join_size = if number("sql_big_selects") != 0 {
            u64::MAX
        } else {
            number("max_join_size")
        };
        // In whole microseconds, as MySQL keeps it.
        s.long_query_ns = match vars.named("long_query_time") {
            VarValue::Double(v) => (v * 1e6).round() as u64 * 1000,
            other => other.as_u64().unwrap_or(10) * 1_000_000_000,
        };
        s.min_examined_row_limit = number("min_examined_row_limit");
        refresh(&self.env, vars);
        self.env.collation.set(
            Collation::by_name(vars.named("collation_connection").as_str())
                .unwrap_or(Collation::DEFAULT),
        );
        let encoding = |name| Encoding::of_charset(vars.named(name).as_str());
        let client = encoding("character_set_client");
        self.env.client.set(client);
        let results = match vars.named("character_set_results") {
            VarValue::Null => Encoding::of_results(None),
            name => Encoding::of_results(Some(name.as_str())),
        };
        let connection = vars.named("character_set_connection");
        let connection = Encoding::of_results(Some(connection.as_str()));
        self.encodings.set(client, connection, results);
        self.owner
            .set_row_timeout(number("innodb_lock_wait_timeout"));
        self.owner.set_metadata_timeout(number("lock_wait_timeout"));
        self.facts.running.lock().means = None;
        self.refresh_context();
    }
}

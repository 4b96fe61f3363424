//! Which variables may be set to what, and what running statements see of them: the part of SET that the session has in common with the
//! functions and triggers that run within its statements.

use std::sync::atomic::Ordering;

use super::persist::{check_may_persist_only, check_persistable};
use crate::accounts::access::needs;
use crate::instance::{Facts, encryption};
use crate::vars::{self, Access, Def, SessionVars, VarScope, VarValue};
use millpond_sql::env::sql_mode;
use millpond_sql::env::{Locals, SessionEnv, locale};
use millpond_sql::error::{SqlError, SqlResult};
use millpond_sql::parse::ast::{Expr, ExprKind, Scope, SetValue};
use millpond_sql::switches::Switches;
use millpond_sql::value::Value;

/// What the event scheduler is where it was not started.
const SCHEDULER_DISABLED: &str = "DISABLED";

/// Whether a variable is the audit log's, for who has AUDIT_ADMIN to set.
pub(super) fn is_of_audit_log(name: &str) -> bool {
    name.starts_with("audit_log")
}

/// What a variable is set to.
pub(super) enum Given {
    /// DEFAULT.
    Default,
    /// A value, or a word such as ON.
    Value(Value<'static>),
}

impl Given {
    /// DEFAULT or a word, as in `SET autocommit = ON` and `SET names = utf8mb4`; `None` for an expression, as a name of one of the `locals` is.
    pub fn without_value(value: &SetValue, locals: Option<&Locals>) -> Option<Given> {
        let word = |word: &str| Some(Given::Value(Value::string(word.to_string())));
        match value {
            SetValue::Default => Some(Given::Default),
            SetValue::Word(w) => word(w.as_str()),
            SetValue::Expr(Expr {
                kind: ExprKind::Column(column),
                ..
            }) if column.table().is_none() => {
                let local = locals.is_some_and(|l| l.find(&[], column.name()).is_some());
                (!local).then(|| word(column.name())).flatten()
            }
            SetValue::Expr(_) => None,
        }
    }
}

/// The other name of a variable with two.
pub(super) fn twin(name: &str) -> Option<&'static str> {
    match name {
        "tx_isolation" => Some("transaction_isolation"),
        "transaction_isolation" => Some("tx_isolation"),
        "tx_read_only" => Some("transaction_read_only"),
        "transaction_read_only" => Some("tx_read_only"),
        _ => None,
    }
}

/// Takes over what statements see of a session's variables, but for what a stored program has of its own.
pub(super) fn refresh(env: &SessionEnv, vars: &SessionVars) {
    let number = |name| vars.named(name).as_u64().unwrap_or(0);
    env.foreign_key_checks
        .set(number("foreign_key_checks") != 0);
    env.div_increment
        .set(number("div_precision_increment") as u8);
    env.auto_is_null.set(number("sql_auto_is_null") != 0);
    let switches = vars.named("optimizer_switch");
    env.switches.set(Switches::of(switches.as_str()));
    let zone = vars::zone(vars.named("time_zone").as_str());
    env.zone.set(zone.unwrap_or_default());
    let names = locale::names(vars.named("lc_time_names").as_str());
    env.names.set(names.unwrap_or(locale::ENGLISH));
    env.week_format.set(number("default_week_format") as u8);
}

/// What decides on values of variables.
pub(super) struct Setter<'s> {
    pub facts: &'s Facts,
    pub env: &'s SessionEnv,
}

impl Setter<'_> {
    /// The position of a variable that may be set so.
    pub fn check(&self, scope: Option<Scope>, name: &str) -> SqlResult<usize> {
        let index = vars::lookup(name)?;
        let def = &vars::all()[index];
        match (def.scope, scope) {
            (_, Some(scope @ (Scope::Persist | Scope::PersistOnly))) => {
                check_persistable(scope, def)?;
            }
            _ if def.access == Access::ReadOnly => {
                return Err(SqlError::new(
                    1238,
                    format!("Variable '{name}' is a read only variable"),
                ));
            }
            (VarScope::Global, None | Some(Scope::Session)) => {
                return Err(SqlError::new(
                    1229,
                    format!(
                        "Variable '{name}' is a GLOBAL variable and should be set with SET GLOBAL"
                    ),
                ));
            }
            (VarScope::Session, Some(Scope::Global)) => {
                return Err(SqlError::new(
                    1228,
                    format!(
                        "Variable '{name}' is a SESSION variable and can't be used with SET GLOBAL"
                    ),
                ));
            }
            _ => {}
        }
        self.check_may_set(scope, name)?;
        if ["max_allowed_packet", "max_user_connections"].contains(&name)
            && matches!(scope, None | Some(Scope::Session))
        {
            return Err(SqlError::new(
                1621,
                format!(
                    "SESSION variable '{name}' is read-only. Use SET GLOBAL to assign the value"
                ),
            ));
        }
        Ok(index)
    }

    /// The value that a variable gets.
    pub fn value(&self, index: usize, scope: Option<Scope>, given: &Given) -> SqlResult<VarValue> {
        let def = &vars::all()[index];
        let value = match given {
            Given::Default if scope == Some(Scope::Global) || def.scope == VarScope::Session => {
                def.default.into()
            }
            Given::Default => self.facts.vars.globals.get(index),
            Given::Value(v) if def.name == "optimizer_switch" => self.switches(scope, v)?,
            Given::Value(v) => self.converted(index, v)?,
        };
        let value = self.bounded(def, value)?;
        let is_default = || value == VarValue::from(def.default);
        if def.access == Access::Fixed
            && (encryption::VARIABLES.contains(&def.name) || !is_default())
            && value != self.facts.vars.get(index)
        {
            return Err(SqlError::unsupported(format_args!(
                "{}={}",
                def.name,
                value.show()
            )));
        }
        Ok(value)
    }

    /// Error 1227 for variables that not everybody may set.
    fn check_may_set(&self, scope: Option<Scope>, name: &str) -> SqlResult<()> {
        /// What sessions may not set by themselves.
        const RESTRICTED: [&str; 8] = [
            "binlog_format",
            "binlog_row_image",
            "default_collation_for_utf8mb4",
            "gtid_next",
            "original_commit_timestamp",
            "pseudo_thread_id",
            "sql_log_bin",
            "sql_log_off",
        ];
        let access = self.facts.guard.access(&self.facts.instance.0.accounts);
        if scope == Some(Scope::PersistOnly) {
            check_may_persist_only(&access)?;
        }
        if scope.is_some_and(|s| s != Scope::Session) {
            if name == "mandatory_roles" {
                access.check_dynamic("ROLE_ADMIN")?;
            }
            if is_of_audit_log(name) {
                access.check_dynamic("AUDIT_ADMIN")?;
            }
            return access.check_dynamic("SYSTEM_VARIABLES_ADMIN");
        }
        let admin = ["SESSION_VARIABLES_ADMIN", "SYSTEM_VARIABLES_ADMIN"];
        if !RESTRICTED.contains(&name) || admin.iter().any(|a| access.has_dynamic(a)) {
            return Ok(());
        }
        Err(needs(
            "SUPER, SYSTEM_VARIABLES_ADMIN or SESSION_VARIABLES_ADMIN",
        ))
    }

    /// What `optimizer_switch` becomes: flags that are not named stay as they are, and their defaults are the global ones for a
    /// session.
    fn switches(&self, scope: Option<Scope>, given: &Value<'_>) -> SqlResult<VarValue> {
        let index = vars::known("optimizer_switch");
        if given.is_null() {
            return Err(vars::wrong_value(&vars::all()[index], "NULL"));
        }
        let all = Switches::default();
        let global = Switches::of(self.facts.vars.globals.get(index).as_str());
        let (now, defaults) = match scope {
            Some(Scope::Global) => (global, all),
            _ => (self.env.switches.get(), global),
        };
        let switches = vars::switched(given, now, defaults)?;
        Ok(VarValue::Text(switches.to_string().into()))
    }

    fn converted(&self, index: usize, value: &Value<'_>) -> SqlResult<VarValue> {
        let def = &vars::all()[index];
        let strict = self.env.sql_mode.get().strict_all;
        let converted = vars::convert(def, value, strict)?;
        // The event scheduler is disabled when the process starts, or never.
        if def.name == "event_scheduler" && converted.value.as_str() == SCHEDULER_DISABLED {
            let shown = String::from_utf8_lossy(&value.to_text()).into_owned();
            return Err(vars::wrong_value(def, &shown));
        }
        if ["slow_query_log_file", "audit_log_file"].contains(&def.name) {
            let name = converted.value.as_str();
            self.facts.instance.check_log_name(def.name, name)?;
        }
        if converted.clamped {
            self.warn_truncated(def, &String::from_utf8_lossy(&value.to_text()));
        }
        if matches!(def.kind, vars::Kind::SqlMode) {
            let warnings = sql_mode::warnings(converted.value.as_str());
            warnings.for_each(|(code, text)| self.env.warn(code, text));
        }
        Ok(converted.value)
    }

    fn warn_truncated(&self, def: &Def, shown: &str) {
        let text = format!("Truncated incorrect {} value: '{shown}'", def.name);
        self.env.warn(1292, text);
    }

    /// A value within what this process can do, which the definition knows nothing of.
    fn bounded(&self, def: &Def, value: VarValue) -> SqlResult<VarValue> {
        // Dumps of servers with GTIDs say what is to be added to those that have been purged, be it nothing.
        if def.name == "gtid_purged" && value.as_str().trim() == "+" {
            return Ok(VarValue::Text("".into()));
        }
        if def.name == "event_scheduler" {
            self.check_scheduler(def)?;
        }
        let instance = &self.facts.instance.0;
        let most = instance.most_connections.load(Ordering::Relaxed);
        if def.name != "max_connections" || value.as_u64().is_none_or(|n| n <= most) {
            return Ok(value);
        }
        if self.env.sql_mode.get().strict_all {
            return Err(vars::wrong_value(def, &value.show()));
        }
        self.warn_truncated(def, &value.show());
        Ok(VarValue::UInt(most))
    }

    /// Error 1290: where the event scheduler is disabled it stays that.
    fn check_scheduler(&self, def: &Def) -> SqlResult<()> {
        let now = self.facts.instance.global_text(def.name);
        match now.as_deref() == Some(SCHEDULER_DISABLED) {
            true => Err(SqlError::new(
                1290,
                "The MySQL server is running with the --event-scheduler=DISABLED or --skip-grant-tables option so it cannot execute \
                 this statement",
            )),
            false => Ok(()),
        }
    }
}

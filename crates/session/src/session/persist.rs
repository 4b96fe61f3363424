//! SET PERSIST, SET PERSIST_ONLY and RESET PERSIST.

use super::Session;
use super::setting::is_of_audit_log;
use crate::accounts::access::Access as Rights;
use crate::counters::Counter;
use crate::persisted::{self, Entry, Setter};
use crate::vars::{self, Access, Def, VarScope, VarValue};
use millpond_sql::env::now_us;
use millpond_sql::error::{SqlError, SqlResult};
use millpond_sql::parse::ast::{ObjectName, Scope};

/// What PERSIST_ONLY takes, and RESET PERSIST of a variable that it is for.
const BOTH: [&str; 2] = ["SYSTEM_VARIABLES_ADMIN", "PERSIST_RO_VARIABLES_ADMIN"];

/// Refuses variables that don't outlive the server under this scope.
pub(super) fn check_persistable(scope: Scope, def: &Def) -> SqlResult<()> {
    let name = def.name;
    if def.scope == VarScope::Session {
        return Err(SqlError::new(
            1228,
            format!("Variable '{name}' is a SESSION variable and can't be used with SET GLOBAL"),
        ));
    }
    if def.access != Access::ReadOnly {
        return Ok(());
    }
    let kind = match (scope, persisted::can_be_persisted(name)) {
        (Scope::PersistOnly, true) => return Ok(()),
        (_, true) => "read only",
        (_, false) => "non persistent read only",
    };
    let message = format!("Variable '{name}' is a {kind} variable");
    Err(SqlError::new(1238, message))
}

/// Error 3630 for who may not set variables that are read when the server starts.
pub(super) fn check_may_persist_only(access: &Rights) -> SqlResult<()> {
    match BOTH.iter().all(|privilege| access.has_dynamic(privilege)) {
        true => Ok(()),
        false => Err(SqlError::new(
            3630,
            format!(
                "Access denied; you need {} privileges for this operation",
                BOTH.join(" and ")
            ),
        )),
    }
}

impl Session {
    /// Who sets a variable now.
    pub(super) fn set_by(&self) -> Setter {
        let account = self.env.user.clone();
        let (user, host) = account.rsplit_once('@').unwrap_or((&account, ""));
        Setter {
            user: user.to_string(),
            host: host.to_string(),
            at_us: now_us() as i64,
        }
    }

    /// Writes a value for the next start.
    pub(super) fn persist(&self, name: &str, value: &VarValue) -> SqlResult<()> {
        let entry = Entry {
            value: (*value != VarValue::Null).then(|| value.show()),
            by: self.set_by(),
        };
        self.instance.0.persisted.put(name, entry)
    }

    /// RESET PERSIST: of one variable, or of all. What they are now stays.
    pub(super) fn reset_persist(
        &mut self,
        name: Option<&ObjectName>,
        if_exists: bool,
    ) -> SqlResult<()> {
        let file = &self.instance.0.persisted;
        let read_only = |name: &str| {
            vars::find(name).is_some_and(|index| vars::all()[index].access == Access::ReadOnly)
        };
        let name = name.map(|name| match &name.database {
            Some(base) => format!("{}.{}", base.as_str(), name.name.as_str()).to_lowercase(),
            None => name.name.as_str().to_lowercase(),
        });
        let any = |is: &dyn Fn(&str) -> bool| match &name {
            Some(name) => is(name),
            None => file.entries().keys().any(|name| is(name)),
        };
        match any(&read_only) {
            true => check_may_persist_only(&self.access())?,
            false => self.access().check_dynamic(BOTH[0])?,
        }
        let audits = any(&is_of_audit_log);
        if audits {
            self.access().check_dynamic("AUDIT_ADMIN")?;
        }
        let done = match &name {
            Some(name) => file.forget(name),
            None => file.clear().map(|()| true),
        };
        if audits {
            self.audit_setting(
                Counter::Reset,
                &done.as_ref().map(|_| ()).map_err(Clone::clone),
            );
        }
        if done? {
            return Ok(());
        }
        let name = name.unwrap_or_default();
        let message = format!("Variable {name} does not exist in persisted config file");
        if !if_exists {
            return Err(SqlError::new(3615, message));
        }
        self.env.warn(3615, message);
        Ok(())
    }
}

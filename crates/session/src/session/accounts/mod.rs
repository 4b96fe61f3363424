//! Statements about accounts.
//!
//! | file | owns |
//! |---|---|
//! | `users` | CREATE, ALTER, DROP, RENAME USER; CREATE and DROP ROLE |
//! | `secrets` | IDENTIFIED and SET PASSWORD: what becomes of passwords |
//! | `grants` | GRANT and REVOKE of privileges |
//! | `roles` | GRANT and REVOKE of roles; SET ROLE, SET DEFAULT ROLE |
//! | `shown` | SHOW GRANTS, SHOW CREATE USER |
//!
//! Each is one change of the accounts ([`crate::accounts`]): all of it, or an error and nothing.

mod grants;
mod roles;
mod secrets;
mod shown;
mod users;

use std::borrow::Cow;
use std::sync::Arc;

use super::Session;
use super::dispatch::Answer;
use crate::accounts::access::Access;
use crate::accounts::login::Admitted;
use crate::accounts::names::Name;
use crate::accounts::{Change, Settings};
use crate::instance::Instance;
use crate::registry::Seat;
use millpond_sql::env::SqlMode;
use millpond_sql::error::{SqlError, SqlResult};
use millpond_sql::parse::ast::{self, AccountStatement, RoleChoice, SetStatement, StatementKind};
use millpond_sql::parse::parse_one;

/// Longest name of a user, characters.
const MAX_USER: usize = 32;
/// Longest name of a host, bytes.
const MAX_HOST: usize = 255;

impl Instance {
    /// Has accounts go by what the global variables say of them: errors 1231 and 3896.
    pub(crate) fn apply_account_settings(&self) -> SqlResult<()> {
        let on = |name| self.global_u64(name) == Some(1);
        let mandatory = self.global_text("mandatory_roles").unwrap_or_default();
        self.0.accounts.set(Settings {
            mandatory: Session::mandatory(&mandatory)?,
            activate_all: on("activate_all_roles_on_login"),
            partial_revokes: on("partial_revokes"),
        })
    }
}

/// A text between quotes, written as in a statement.
fn written(text: &str, mode: SqlMode) -> String {
    if mode.no_backslash_escapes {
        return format!("'{}'", text.replace('\'', "''"));
    }
    let mut out = String::from("'");
    for c in text.chars() {
        match c {
            '\0' => out.push_str("\\0"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\x1a' => out.push_str("\\Z"),
            '\'' | '"' | '\\' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out.push('\'');
    out
}

/// 1396.
fn failed(operation: &str, names: &[Name], mode: SqlMode) -> SqlError {
    let name = |n: &Name| format!("{}@{}", written(&n.user, mode), written(&n.host, mode));
    let names: Vec<String> = names.iter().map(name).collect();
    SqlError::new(
        1396,
        format!("Operation {operation} failed for {}", names.join(",")),
    )
}

/// 3523.
fn unknown(name: &Name) -> SqlError {
    SqlError::new(3523, format!("Unknown authorization ID {}", name.quoted()))
}

impl Session {
    /// What runs may do this.
    pub(in crate::session) fn access(&self) -> Arc<Access> {
        self.facts.guard.access(&self.instance.0.accounts)
    }

    /// The account that is meant.
    pub(in crate::session) fn account_name(&self, account: &ast::Account) -> SqlResult<Name> {
        let name = match account {
            ast::Account::Named { user, host } => {
                let host = host.as_ref().map_or("%", |h| h.as_str());
                Name::new(user.as_str(), host)
            }
            ast::Account::Current => self.facts.guard.own(&self.instance.0.accounts).name.clone(),
            ast::Account::CurrentRole => return Err(SqlError::unsupported("CURRENT_ROLE here")),
        };
        let long = |what: &str, text: &str, most: usize| {
            SqlError::new(
                1470,
                format!("String '{text}' is too long for {what} (should be no longer than {most})"),
            )
        };
        if name.user.chars().count() > MAX_USER {
            return Err(long("user name", &name.user, MAX_USER));
        }
        if name.host.len() > MAX_HOST {
            return Err(long("host name", &name.host, MAX_HOST));
        }
        Ok(name)
    }

    fn account_names(&self, list: &ast::Items<ast::Account>) -> SqlResult<Vec<Name>> {
        list.iter().map(|a| self.account_name(&a)).collect()
    }

    /// Changes accounts.
    fn change_accounts<R>(&self, f: impl FnOnce(&mut Change) -> SqlResult<R>) -> SqlResult<R> {
        let inner = &self.instance.0;
        let done = inner.accounts.change(&inner.engine, &self.owner, f)?;
        self.show_roles();
        Ok(done)
    }

    /// Has CURRENT_ROLE() say what is active.
    fn show_roles(&self) {
        let active = &self.access().active;
        let roles: Vec<String> = active.iter().map(Name::quoted).collect();
        let shown = match roles.is_empty() {
            true => "NONE".into(),
            false => roles.join(","),
        };
        *self.env.roles.borrow_mut() = shown;
    }

    /// From now on the session is this account. Errors 1203 and 1226 if that may have no connection more.
    pub(in crate::session) fn become_account(&mut self, admitted: &Admitted) -> SqlResult<()> {
        let most = self.instance.global_u64("max_user_connections");
        let accounts = &self.instance.0.accounts;
        let Admitted {
            name,
            host,
            must_change,
        } = admitted;
        self.facts
            .guard
            .become_account(accounts, (name, host), *must_change, most.unwrap_or(0))?;
        *self.env.account.borrow_mut() = name.plain();
        self.show_roles();
        Ok(())
    }

    /// The roles are those that a session begins with.
    pub(in crate::session) fn reset_roles(&self) {
        if !self.access().is_everything() {
            let accounts = &self.instance.0.accounts;
            let roles = self.facts.guard.first_roles(accounts);
            self.facts.guard.set_roles(accounts, roles);
            self.show_roles();
        }
    }

    /// The roles of `mandatory_roles`; error 1231 if it is no list of roles.
    fn mandatory(text: &str) -> SqlResult<Vec<Name>> {
        if text.trim().is_empty() {
            return Ok(Vec::new());
        }
        let wrong = || {
            let text = format!("Variable 'mandatory_roles' can't be set to the value of '{text}'");
            SqlError::new(1231, text)
        };
        let statement = parse_one(&format!("SET ROLE {text}"), SqlMode::DEFAULT);
        let statement = statement.map_err(|_| wrong())?;
        let StatementKind::Set(set) = statement.kind() else {
            return Err(wrong());
        };
        let SetStatement::Role(RoleChoice::Roles(roles)) = &**set else {
            return Err(wrong());
        };
        let name = |account: Cow<'_, ast::Account>| match &*account {
            ast::Account::Named { user, host } => {
                let host = host.as_ref().map_or("%", |h| h.as_str());
                Ok(Name::new(user.as_str(), host))
            }
            _ => Err(wrong()),
        };
        roles.iter().map(name).collect()
    }

    /// Error 1095 for KILL of others.
    pub fn check_kill(&self, id: u32) -> SqlResult<()> {
        let access = self.access();
        let own = self.seat().user();
        let theirs = |seat: Arc<Seat>| seat.user() != own;
        let other = self.instance.0.registry.get(id).is_some_and(theirs);
        match other && !access.has_dynamic("CONNECTION_ADMIN") {
            true => Err(SqlError::new(
                1095,
                format!("You are not owner of thread {id}"),
            )),
            false => Ok(()),
        }
    }

    /// A statement about accounts.
    pub(in crate::session) fn account_statement(
        &mut self,
        statement: &AccountStatement,
    ) -> SqlResult<Answer> {
        use AccountStatement as S;
        match statement {
            S::CreateUser { .. } | S::AlterUser { .. } => return self.define_users(statement),
            S::DropUser { if_exists, users } => self.drop_users(users, *if_exists)?,
            S::RenameUser(pairs) => self.rename_users(pairs)?,
            S::CreateRole {
                or_replace,
                if_not_exists,
                roles,
            } => self.create_roles(roles, *or_replace, *if_not_exists)?,
            S::DropRole { if_exists, roles } => self.drop_roles(roles, *if_exists)?,
            S::Grant { .. } => self.grant(statement)?,
            S::Revoke { .. } => self.revoke(statement)?,
        }
        Ok(Answer::ok())
    }

    /// SET PASSWORD, SET ROLE, SET DEFAULT ROLE.
    pub(in crate::session) fn set_account(
        &mut self,
        statement: &SetStatement,
    ) -> SqlResult<Answer> {
        match statement {
            SetStatement::Password(set) => self.set_password(set),
            SetStatement::Role(roles) => self.set_role(roles).map(|()| Answer::ok()),
            SetStatement::DefaultRole(roles, users) => {
                self.set_default_role(roles, users).map(|()| Answer::ok())
            }
            _ => Err(SqlError::unsupported(statement)),
        }
    }

    /// Notes an account that is, or is not, there, where that is no error.
    fn note_account(&self, code: u16, name: &Name, how: &str) {
        self.env
            .note(code, format!("Authorization ID {name} {how}."));
    }
}

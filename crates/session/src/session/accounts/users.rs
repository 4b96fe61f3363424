//! CREATE, ALTER, DROP and RENAME USER; CREATE and DROP ROLE.

use super::roles::check_not_mandatory;
use super::secrets::{Identified, Random};
use super::{failed, unknown};
use crate::accounts::Change;
use crate::accounts::access::{Access, needs};
use crate::accounts::account::{Account, Lifetime, Secure};
use crate::accounts::names::Name;
use crate::session::Session;
use crate::session::dispatch::Answer;
use millpond_sql::env::now_us;
use millpond_sql::env::privileges as p;
use millpond_sql::error::{SqlError, SqlResult};
use millpond_sql::parse::ast::{
    self, AccountStatement, Items, PasswordOption, Require, ResourceLimit, RoleChoice,
    TlsRequirement, UserOptions, UserSpec,
};
use millpond_sql::value::json::{self, Json};

/// Most failed logins and days that may be said.
const MOST: u64 = 32_767;

/// What a connection must be.
fn secure(require: &Require) -> Secure {
    let Require::All(list) = require else {
        return Secure::Any;
    };
    let (mut cipher, mut issuer, mut subject) = Default::default();
    let mut secure = Secure::Any;
    for requirement in list {
        match requirement.into_owned() {
            TlsRequirement::Ssl => secure = Secure::Tls,
            TlsRequirement::X509 => secure = Secure::X509,
            TlsRequirement::Cipher(text) => cipher = text,
            TlsRequirement::Issuer(text) => issuer = text,
            TlsRequirement::Subject(text) => subject = text,
        }
    }
    match secure {
        Secure::Any => Secure::Specified {
            cipher,
            issuer,
            subject,
        },
        said => said,
    }
}

/// Applies what is said of connections and of how much may be done.
fn apply_limits(a: &mut Account, options: &UserOptions) {
    if let Some(require) = &options.require {
        a.secure = secure(require);
    }
    for limit in &options.limits {
        let (which, most) = &*limit;
        let limits = &mut a.limits;
        *match which {
            ResourceLimit::QueriesPerHour => &mut limits.queries,
            ResourceLimit::UpdatesPerHour => &mut limits.updates,
            ResourceLimit::ConnectionsPerHour => &mut limits.connections,
            ResourceLimit::UserConnections => &mut limits.at_a_time,
        } = *most;
    }
}

/// The comment or attribute as an account keeps it.
fn attribute_of(options: &UserOptions) -> SqlResult<Option<String>> {
    if let Some(comment) = &options.comment {
        let text = comment.replace('\\', "\\\\").replace('"', "\\\"");
        return Ok(Some(format!("{{\"comment\": \"{text}\"}}")));
    }
    let Some(text) = &options.attribute else {
        return Ok(None);
    };
    let text = text_of(&json::parse(text.as_bytes()).map_err(|_| bad_attribute())?);
    match text.starts_with('{') {
        true => Ok(Some(text)),
        false => Err(bad_attribute()),
    }
}

/// 3140.
fn bad_attribute() -> SqlError {
    SqlError::new(
        3140,
        "Invalid JSON text in argument 1 to function ATTRIBUTE.",
    )
}

fn text_of(json: &Json<'_>) -> String {
    String::from_utf8_lossy(&json.to_text()).into_owned()
}

/// An attribute with another merged into it (RFC 7396).
fn merged(before: &str, more: &str) -> SqlResult<String> {
    if before.is_empty() {
        return Ok(more.to_string());
    }
    let parse = |text: &str| json::parse(text.as_bytes()).map_err(|_| bad_attribute());
    let (before, more) = (parse(before)?, parse(more)?);
    Ok(text_of(&json::merge_patch(before.root(), more.root())))
}

/// Applies what is said of passwords and locks.
fn apply_options(a: &mut Account, options: &UserOptions) -> SqlResult<()> {
    apply_limits(a, options);
    let within = |n: u64, what: &str| match n > MOST {
        true => Err(SqlError::new(
            1525,
            format!("Incorrect {what} value: '{n}'"),
        )),
        false => Ok(n),
    };
    for option in &options.password {
        match &*option {
            PasswordOption::Expire => a.expired = true,
            PasswordOption::ExpireDefault => a.lifetime = Lifetime::Default,
            PasswordOption::ExpireNever => a.lifetime = Lifetime::Never,
            PasswordOption::ExpireInterval(0) => {
                return Err(SqlError::new(1525, "Incorrect DAY value: '0'"));
            }
            PasswordOption::ExpireInterval(n) => a.lifetime = Lifetime::Days(within(*n, "DAY")?),
            PasswordOption::History(n) => a.history = *n,
            PasswordOption::ReuseInterval(n) => a.reuse = *n,
            PasswordOption::RequireCurrent => a.require_current = Some(true),
            PasswordOption::RequireCurrentDefault => a.require_current = None,
            PasswordOption::RequireCurrentOptional => a.require_current = Some(false),
            PasswordOption::FailedLoginAttempts(n) => {
                a.attempts = within(*n, "FAILED_LOGIN_ATTEMPTS")?;
            }
            PasswordOption::LockTime(None) => a.lock_days = u64::MAX,
            PasswordOption::LockTime(Some(n)) => a.lock_days = within(*n, "PASSWORD_LOCK_TIME")?,
            PasswordOption::AccountLock(lock) => a.locked = *lock,
        }
    }
    Ok(())
}

/// A change of a user.
struct User {
    name: Name,
    identified: Option<Identified>,
}

impl Session {
    fn check_create_user(&self) -> SqlResult<()> {
        self.access().check_global(p::CREATE_USER)
    }

    /// Error 1227 for changes of accounts with SYSTEM_USER by who has it not.
    pub(in crate::session) fn check_system_user(
        &self,
        access: &Access,
        a: &Account,
    ) -> SqlResult<()> {
        let system = "SYSTEM_USER";
        match a.grants.dynamic.contains_key(system) && !access.has_dynamic(system) {
            true => Err(needs(system)),
            false => Ok(()),
        }
    }

    /// CREATE USER and ALTER USER.
    pub(super) fn define_users(&mut self, statement: &AccountStatement) -> SqlResult<Answer> {
        match statement {
            AccountStatement::CreateUser {
                or_replace,
                if_not_exists,
                users,
                default_roles,
                options,
            } => {
                self.check_create_user()?;
                let users = self.identified_users(users, true)?;
                let roles = self.account_names(default_roles)?;
                if !roles.is_empty() {
                    self.check_admin(&roles)?;
                }
                let access = self.access();
                let attribute = attribute_of(options)?;
                let existing = self.create_users(
                    &users,
                    |change, user, account| {
                        apply_options(account, options)?;
                        account.attribute = attribute.clone().unwrap_or_default();
                        for role in &roles {
                            change.accounts.get(role).ok_or_else(|| unknown(role))?;
                            account.roles.insert(role.clone(), false);
                            account.default_roles.insert(role.clone());
                        }
                        match change.accounts.get(user) {
                            Some(old) if *or_replace => self.check_system_user(&access, old)?,
                            there => return Ok(there.is_some()),
                        }
                        Ok(false)
                    },
                    *if_not_exists,
                )?;
                for name in &existing {
                    self.note_account(3163, name, "already exists");
                }
                let made = users.into_iter().filter(|u| !existing.contains(&u.name));
                self.remember_users(made.collect())
            }
            AccountStatement::AlterUser {
                if_exists,
                users,
                default_role,
                options,
            } => self.alter_users(users, *if_exists, default_role.as_ref(), options),
            _ => Err(SqlError::unsupported("this statement")),
        }
    }

    fn identified_users(&self, specs: &Items<UserSpec>, new: bool) -> SqlResult<Vec<User>> {
        let mut users: Vec<User> = Vec::new();
        for spec in specs {
            let name = self.account_name(&spec.account)?;
            if users.iter().any(|u| u.name == name) {
                let operation = if new { "CREATE USER" } else { "ALTER USER" };
                return Err(failed(operation, &[name], self.env.sql_mode.get()));
            }
            let identified = self.identified(&spec, &name, new)?;
            users.push(User { name, identified });
        }
        Ok(users)
    }

    /// Makes users; those that are there already, where that is no error. `finish` says whether one is.
    fn create_users(
        &self,
        users: &[User],
        finish: impl Fn(&Change, &Name, &mut Account) -> SqlResult<bool>,
        if_not_exists: bool,
    ) -> SqlResult<Vec<Name>> {
        self.change_accounts(|change| {
            let mut there = Vec::new();
            for user in users {
                let mut account = Account {
                    changed: now_us() / 1_000_000,
                    ..Account::default()
                };
                if let Some(identified) = &user.identified {
                    account.plugin = identified.plugin;
                    account.secret.clone_from(&identified.secret);
                }
                match finish(change, &user.name, &mut account)? {
                    true => there.push(user.name.clone()),
                    false => change.put(user.name.clone(), account),
                }
            }
            match there.is_empty() || if_not_exists {
                true => Ok(there),
                false => Err(failed("CREATE USER", &there, self.env.sql_mode.get())),
            }
        })
    }

    /// Remembers new passwords, and tells those that were made up.
    fn remember_users(&self, users: Vec<User>) -> SqlResult<Answer> {
        let mut random = Vec::new();
        for User { name, identified } in users {
            let Some(identified) = identified else {
                continue;
            };
            self.remember_password(&name, &identified);
            if let Some(Random(password)) = identified.random {
                random.push((name, password));
            }
        }
        Ok(super::secrets::told(&random))
    }

    fn alter_users(
        &mut self,
        specs: &Items<UserSpec>,
        if_exists: bool,
        default_role: Option<&RoleChoice>,
        options: &UserOptions,
    ) -> SqlResult<Answer> {
        let access = self.access();
        let own = self.facts.guard.own(&self.instance.0.accounts).name.clone();
        let only_password = default_role.is_none()
            && options.password.is_empty()
            && options.require.is_none()
            && options.limits.is_empty()
            && options.comment.is_none()
            && options.attribute.is_none();
        let users = self.identified_users(specs, false)?;
        let of_others = users.iter().any(|u| u.name != own);
        let of_own = only_password
            || (default_role.is_some()
                && options.password.is_empty()
                && options.require.is_none()
                && options.limits.is_empty());
        if of_others || !of_own {
            access.check_global(p::CREATE_USER)?;
        }
        let attribute = attribute_of(options)?;
        let roles = default_role.map(|r| self.wanted(r)).transpose()?;
        let settings = self.instance.0.accounts.snapshot().settings.clone();
        let missing = self.change_accounts(|change| {
            let mut missing = Vec::new();
            for user in &users {
                let Some(account) = change.accounts.get(&user.name).cloned() else {
                    missing.push(user.name.clone());
                    continue;
                };
                if user.name != own {
                    self.check_system_user(&access, &account)?;
                }
                let defaults = match &roles {
                    Some(wanted) => Some(super::roles::defaults(
                        &settings, &user.name, &account, wanted,
                    )?),
                    None => None,
                };
                let Some(account) = change.get_mut(&user.name) else {
                    continue;
                };
                if let Some(identified) = &user.identified {
                    self.give_password(&user.name, account, identified, user.name == own)?;
                }
                apply_options(account, options)?;
                if let Some(attribute) = &attribute {
                    account.attribute = merged(&account.attribute, attribute)?;
                }
                if let Some(defaults) = defaults {
                    account.default_roles = defaults;
                }
            }
            match missing.is_empty() || if_exists {
                true => Ok(missing),
                false => Err(failed("ALTER USER", &missing, self.env.sql_mode.get())),
            }
        })?;
        for name in &missing {
            self.note_account(3162, name, "does not exist");
        }
        let unlocks = |o: std::borrow::Cow<'_, PasswordOption>| {
            matches!(*o, PasswordOption::AccountLock(false))
        };
        let unlocked = options.password.iter().any(unlocks);
        for user in &users {
            if unlocked {
                self.instance.0.accounts.forget_failures(&user.name);
            }
            if !options.limits.is_empty() {
                self.instance.0.accounts.meters.reset(Some(&user.name));
            }
            if user.name == own && user.identified.is_some() {
                self.facts.guard.has_changed();
            }
        }
        let there = users.into_iter().filter(|u| !missing.contains(&u.name));
        self.remember_users(there.collect())
    }

    /// DROP USER.
    pub(super) fn drop_users(
        &mut self,
        users: &Items<ast::Account>,
        if_exists: bool,
    ) -> SqlResult<()> {
        self.check_create_user()?;
        self.drop_accounts("DROP USER", users, if_exists)
    }

    /// DROP ROLE.
    pub(super) fn drop_roles(
        &mut self,
        roles: &Items<ast::Account>,
        if_exists: bool,
    ) -> SqlResult<()> {
        let access = self.access();
        if access.global() & (p::CREATE_USER | p::DROP_ROLE) == 0 {
            return Err(needs("DROP ROLE or CREATE USER"));
        }
        self.drop_accounts("DROP ROLE", roles, if_exists)
    }

    fn drop_accounts(
        &self,
        operation: &str,
        list: &Items<ast::Account>,
        if_exists: bool,
    ) -> SqlResult<()> {
        let names = self.account_names(list)?;
        let access = self.access();
        check_not_mandatory(&self.instance.0.accounts.snapshot().settings, &names)?;
        let missing = self.change_accounts(|change| {
            let mut missing = Vec::new();
            for name in &names {
                match change.remove(name) {
                    Some(account) => {
                        self.check_system_user(&access, &account)?;
                        // Who may drop roles alone may drop what nobody logs in as.
                        if !account.locked {
                            access.check_global(p::CREATE_USER)?;
                        }
                    }
                    None => missing.push(name.clone()),
                }
                let holders = change.accounts.iter();
                let holds = holders.filter(|(_, a)| a.roles.contains_key(name));
                let holds: Vec<Name> = holds.map(|(n, _)| n.clone()).collect();
                for holder in holds {
                    if let Some(account) = change.get_mut(&holder) {
                        account.roles.remove(name);
                        account.default_roles.remove(name);
                    }
                }
            }
            match missing.is_empty() || if_exists {
                true => Ok(missing),
                false => Err(failed(operation, &missing, self.env.sql_mode.get())),
            }
        })?;
        for name in &missing {
            self.note_account(3162, name, "does not exist");
        }
        Ok(())
    }

    /// RENAME USER.
    pub(super) fn rename_users(
        &mut self,
        pairs: &Items<(ast::Account, ast::Account)>,
    ) -> SqlResult<()> {
        self.check_create_user()?;
        let access = self.access();
        let mut names = Vec::new();
        for pair in pairs {
            names.push((self.account_name(&pair.0)?, self.account_name(&pair.1)?));
        }
        let mode = self.env.sql_mode.get();
        self.change_accounts(|change| {
            for (from, to) in &names {
                let wrong = || failed("RENAME USER", std::slice::from_ref(from), mode);
                if change.accounts.contains_key(to) {
                    return Err(wrong());
                }
                let account = change.remove(from).ok_or_else(wrong)?;
                self.check_system_user(&access, &account)?;
                change.put(to.clone(), (*account).clone());
                let holders = change.accounts.iter();
                let holds = holders.filter(|(_, a)| a.roles.contains_key(from));
                let holds: Vec<Name> = holds.map(|(n, _)| n.clone()).collect();
                for holder in holds {
                    let Some(account) = change.get_mut(&holder) else {
                        continue;
                    };
                    if let Some(admin) = account.roles.remove(from) {
                        account.roles.insert(to.clone(), admin);
                    }
                    if account.default_roles.remove(from) {
                        account.default_roles.insert(to.clone());
                    }
                }
            }
            Ok(())
        })
    }

    /// CREATE ROLE: an account that nobody can log in as.
    pub(super) fn create_roles(
        &mut self,
        roles: &Items<ast::Account>,
        or_replace: bool,
        if_not_exists: bool,
    ) -> SqlResult<()> {
        let access = self.access();
        if access.global() & (p::CREATE_USER | p::CREATE_ROLE) == 0 {
            return Err(needs("CREATE ROLE or CREATE USER"));
        }
        if or_replace {
            access.check_global(p::CREATE_USER)?;
        }
        let names = self.account_names(roles)?;
        let there = self.change_accounts(|change| {
            let mut there = Vec::new();
            for name in &names {
                match change.accounts.get(name) {
                    Some(old) if or_replace => self.check_system_user(&access, old)?,
                    Some(_) => {
                        there.push(name.clone());
                        continue;
                    }
                    None => {}
                }
                change.put(
                    name.clone(),
                    Account {
                        expired: true,
                        locked: true,
                        changed: now_us() / 1_000_000,
                        ..Account::default()
                    },
                );
            }
            match there.is_empty() || if_not_exists {
                true => Ok(there),
                false => Err(failed("CREATE ROLE", &there, self.env.sql_mode.get())),
            }
        })?;
        for name in &there {
            self.note_account(3163, name, "already exists");
        }
        Ok(())
    }
}

//! IDENTIFIED and SET PASSWORD: what becomes of passwords.

use super::failed;
use crate::accounts::account::{Account, Plugin};
use crate::accounts::names::Name;
use crate::accounts::password;
use crate::session::Session;
use crate::session::dispatch::Answer;
use crate::show;
use millpond_sql::env::now_us;
use millpond_sql::env::privileges as p;
use millpond_sql::error::{SqlError, SqlResult};
use millpond_sql::parse::ast::{Authentication, PasswordText, Secret, SetPassword, UserSpec};
use millpond_sql::value::Value;

/// Length of a password that is made up.
const RANDOM: usize = 20;
/// Seconds of a day.
const DAY: u64 = 86_400;

/// A password that the server made up.
pub(super) struct Random(pub String);

/// What IDENTIFIED says.
pub(super) struct Identified {
    pub plugin: Plugin,
    pub secret: String,
    /// The password, if it is known.
    password: Option<String>,
    /// It was made up.
    pub random: Option<Random>,
    /// REPLACE.
    replace: Option<String>,
}

fn no_random(e: std::io::Error) -> SqlError {
    SqlError::new(1105, format!("no random bytes: {e}"))
}

/// What is kept of a password.
fn hashed(plugin: Plugin, password: &str) -> SqlResult<String> {
    match plugin {
        _ if password.is_empty() => Ok(String::new()),
        Plugin::CachingSha2 => password::sha2(password.as_bytes()).map_err(no_random),
        Plugin::Native => Ok(password::native(password)),
        Plugin::Socket => Err(SqlError::unsupported("a password of auth_socket")),
    }
}

/// Whether a password is that of a secret.
fn is_of(plugin: Plugin, secret: &str, password: &str) -> bool {
    match plugin {
        _ if secret.is_empty() => password.is_empty(),
        Plugin::CachingSha2 => password::is_sha2_of(secret, password.as_bytes()),
        Plugin::Native => password::native(password) == secret,
        Plugin::Socket => false,
    }
}

/// Error 1827 for what is no hash of a plugin's.
fn check_hash(plugin: Plugin, hash: &str) -> SqlResult<()> {
    let right = match plugin {
        _ if hash.is_empty() => true,
        Plugin::CachingSha2 => password::is_sha2(hash),
        Plugin::Native => password::native_bytes(hash).is_some(),
        Plugin::Socket => true,
    };
    match right {
        true => Ok(()),
        false => Err(SqlError::new(
            1827,
            "The password hash doesn't have the expected format.",
        )),
    }
}

/// The result of statements that make passwords up.
pub(super) fn told(random: &[(Name, String)]) -> Answer {
    if random.is_empty() {
        return Answer::ok();
    }
    let columns = [("user", 32), ("host", 255), ("generated password", 64)];
    let mut columns: Vec<_> = columns.iter().map(|(n, l)| show::meta(n, *l)).collect();
    columns.push(show::meta("auth_factor", 1));
    let row = |(name, password): &(Name, String)| {
        let texts = [&name.user, &name.host, password].map(|t| Value::string(t.clone()));
        texts
            .into_iter()
            .chain([Value::string("1".into())])
            .collect()
    };
    Answer::Rows(columns, random.iter().map(row).collect())
}

impl Session {
    /// What a user is identified by; `None`: nothing is said of it.
    pub(super) fn identified(
        &self,
        spec: &UserSpec,
        name: &Name,
        new: bool,
    ) -> SqlResult<Option<Identified>> {
        if spec.initial.is_some() || !spec.factors.is_empty() || spec.authentication.len() > 1 {
            return Err(SqlError::unsupported("authentication by several factors"));
        }
        if spec.discard_old {
            return Err(SqlError::unsupported("DISCARD OLD PASSWORD"));
        }
        let Some(how) = spec.authentication.iter().next() else {
            return Ok(None);
        };
        let snapshot = self.instance.0.accounts.snapshot();
        let known = snapshot.get(name).filter(|_| !new).map(|a| a.plugin);
        self.by_authentication(&how, known).map(Some)
    }

    fn by_authentication(
        &self,
        how: &Authentication,
        known: Option<Plugin>,
    ) -> SqlResult<Identified> {
        if how.retain {
            return Err(SqlError::unsupported("RETAIN CURRENT PASSWORD"));
        }
        let default = || {
            let name = self.instance.global_text("default_authentication_plugin");
            known
                .or_else(|| Plugin::by_name(&name?))
                .unwrap_or_default()
        };
        let plugin = match (&how.plugin, &how.secret) {
            (Some(name), _) => Plugin::by_name(name.as_str()).ok_or_else(|| {
                SqlError::new(1524, format!("Plugin '{}' is not loaded", name.as_str()))
            })?,
            (None, Secret::ByHash(_)) => Plugin::Native,
            (None, _) => default(),
        };
        let mut random = None;
        let (secret, password) = match &how.secret {
            Secret::None => (String::new(), None),
            Secret::By(text) | Secret::UsingFunction(text) => {
                (hashed(plugin, text)?, Some(text.clone()))
            }
            Secret::Random => {
                let text = password::random_text(RANDOM).map_err(no_random)?;
                random = Some(Random(text.clone()));
                (hashed(plugin, &text)?, Some(text))
            }
            Secret::As(hash) | Secret::ByHash(hash) => {
                check_hash(plugin, hash)?;
                (hash.clone(), None)
            }
        };
        Ok(Identified {
            plugin,
            secret,
            password,
            random,
            replace: how.replace.clone(),
        })
    }

    /// Gives an account a password: errors 3638, 3891, 3892 and 3893 if what it asks of passwords is not met.
    pub(super) fn give_password(
        &self,
        name: &Name,
        a: &mut Account,
        new: &Identified,
        own: bool,
    ) -> SqlResult<()> {
        let asked = |name| self.instance.global_u64(name).unwrap_or(0);
        match &new.replace {
            Some(_) if !own => {
                return Err(SqlError::new(
                    3893,
                    "Do not specify the current password while changing it for other users.",
                ));
            }
            Some(now) if !is_of(a.plugin, &a.secret, now) => {
                return Err(SqlError::new(
                    3891,
                    "Incorrect current password. Specify the correct password which has to be replaced.",
                ));
            }
            None if own
                && a.require_current
                    .unwrap_or(asked("password_require_current") == 1)
                && !a.secret.is_empty()
                && self.access().global() & p::CREATE_USER == 0 =>
            {
                return Err(SqlError::new(
                    3892,
                    "Current password needs to be specified in the REPLACE clause in order to change it.",
                ));
            }
            _ => {}
        }
        let now = now_us() / 1_000_000;
        let history = a.history.unwrap_or_else(|| asked("password_history"));
        let history = usize::try_from(history).unwrap_or(usize::MAX);
        let days = a.reuse.unwrap_or_else(|| asked("password_reuse_interval"));
        let since = now.saturating_sub(days.saturating_mul(DAY));
        let kept = |n: usize, when: u64| n < history || (days > 0 && when > since);
        if !a.secret.is_empty() {
            a.past.insert(0, (now, a.secret.clone()));
        }
        let mut n = 0;
        a.past.retain(|(when, _)| {
            n += 1;
            kept(n - 1, *when)
        });
        if let Some(password) = &new.password {
            let used = |(_, secret): &(u64, String)| {
                let plugin = match secret.starts_with('*') {
                    true => Plugin::Native,
                    false => Plugin::CachingSha2,
                };
                is_of(plugin, secret, password)
            };
            if a.past.iter().any(used) {
                return Err(SqlError::new(
                    3638,
                    format!(
                        "Cannot use these credentials for '{}' because they contradict the password history policy",
                        name.plain()
                    ),
                ));
            }
        }
        a.plugin = new.plugin;
        a.secret.clone_from(&new.secret);
        a.expired = false;
        a.changed = now;
        Ok(())
    }

    /// Remembers a new password, for logins to come.
    pub(super) fn remember_password(&self, name: &Name, new: &Identified) {
        if let (Plugin::CachingSha2, Some(password)) = (new.plugin, &new.password)
            && !password.is_empty()
        {
            let accounts = &self.instance.0.accounts;
            accounts.remember(name, &new.secret, password.as_bytes());
        }
    }

    /// SET PASSWORD.
    pub(super) fn set_password(&mut self, set: &SetPassword) -> SqlResult<Answer> {
        let own = self.facts.guard.own(&self.instance.0.accounts).name.clone();
        let name = match &set.account {
            Some(account) => self.account_name(account)?,
            None => own.clone(),
        };
        let access = self.access();
        if name != own {
            access.check_global(p::CREATE_USER)?;
        }
        let snapshot = self.instance.0.accounts.snapshot();
        let missing = || SqlError::new(1133, "Can't find any matching row in the user table");
        let known = snapshot.get(&name).ok_or_else(missing)?;
        let how = Authentication {
            plugin: None,
            secret: match &set.password {
                Some(PasswordText::Plain(text) | PasswordText::Function(text)) => {
                    Secret::By(text.clone())
                }
                None => Secret::Random,
            },
            replace: set.replace.clone(),
            retain: set.retain,
        };
        let new = self.by_authentication(&how, Some(known.plugin))?;
        self.change_accounts(|change| {
            let Some(account) = change.get_mut(&name) else {
                return Err(failed(
                    "SET PASSWORD",
                    std::slice::from_ref(&name),
                    self.env.sql_mode.get(),
                ));
            };
            if name != own {
                self.check_system_user(&access, account)?;
            }
            self.give_password(&name, account, &new, name == own)
        })?;
        self.remember_password(&name, &new);
        if name == own {
            self.facts.guard.has_changed();
        }
        let random = new.random.map(|r| (name, r.0));
        Ok(told(random.as_slice()))
    }
}

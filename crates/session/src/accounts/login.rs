//! Letting a client in.
//!
//! A [`Candidate`] is the account that a client says it is, or a decoy if there is none: what the server answers, and how long it takes, is the same
//! up to the last word, which is error 1045 for a wrong password and for an unknown account alike. Which plugin a decoy has is
//! always the same for a name.
//!
//! `caching_sha2_password` has two ways. On the fast one the client answers the challenge by the hash of a password that the server
//! remembers since it was last right; on the full one it sends the password itself, which the server takes over TLS and Unix sockets, and over plain
//! TCP encrypted by its RSA key, if it has one. What IDENTIFIED BY says is remembered at once, so a client is on the fast way from the start, until
//! the server is restarted.

use std::collections::hash_map::Entry;
use std::sync::Arc;

use millpond_sql::env::now_us;
use millpond_sql::error::{SqlError, SqlResult};
use millpond_store::Engine;
use sha2::{Digest, Sha256};

use super::Accounts;
use super::account::{Account, Lifetime, Plugin, Secure};
use super::names::Name;
use super::password::{self, Remembered};
use crate::registry::TlsFacts;

/// Seconds of a day.
const DAY: u64 = 86_400;
/// A hash that no password is looked for with: it is there to take as long as another.
const NO_HASH: &str = "$A$005$AAAAAAAAAAAAAAAAAAAA...........................................";

/// What a client's first answer has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is who it says.
    Right,
    /// It is not.
    Wrong,
    /// It has to send the password itself.
    Unsure,
}

/// Failed logins in a row.
#[derive(Clone, Copy, Debug, Default)]
pub struct Failures {
    count: u64,
    /// Until when the account is locked, seconds since 1970.
    until: Option<u64>,
}

/// Who a client says it is.
#[derive(Clone, Debug, Default)]
pub struct Client {
    /// User name.
    pub user: String,
    /// Where it is, as messages say it.
    pub host: String,
    /// Names and addresses of where it is.
    pub names: Vec<String>,
    /// At the other end of a Unix socket, this user of the operating system.
    pub system_user: Option<String>,
    /// It can change a password that has expired.
    pub handles_expired: bool,
    /// The connection's TLS, if it has any.
    pub tls: Option<Arc<TlsFacts>>,
}

/// The account that a client says it is.
pub struct Candidate {
    client: Client,
    /// `None`: there is no such.
    account: Option<(Name, Arc<Account>)>,
    remembered: Option<Remembered>,
    plugin: Plugin,
}

/// An account that has been let in.
#[derive(Clone, Debug)]
pub struct Admitted {
    pub(crate) name: Name,
    pub(crate) host: String,
    pub(crate) must_change: bool,
}

impl Candidate {
    /// The only account where there are none: `root` of this machine, without a password.
    pub fn without_accounts(client: Client, local: bool) -> Candidate {
        let root = || (Name::new("root", "localhost"), Arc::new(super::root()));
        Candidate {
            account: (client.user == "root" && local).then(root),
            remembered: None,
            plugin: Plugin::Native,
            client,
        }
    }
    /// The name of the plugin that it has to use.
    pub fn plugin(&self) -> &'static str {
        self.plugin.name()
    }
    /// Whether it may be let in without a word.
    pub fn needs_no_password(&self) -> bool {
        let open = |a: &Account| a.secret.is_empty() && a.plugin != Plugin::Socket;
        self.account.as_ref().is_some_and(|(_, a)| open(a))
    }
    /// What a client's answer to a challenge shows, given by its plugin.
    pub fn judge(&self, challenge: &[u8], answer: &[u8]) -> Verdict {
        let is = |right: bool| match right && self.account.is_some() {
            true => Verdict::Right,
            false => Verdict::Wrong,
        };
        let secret = self.account.as_ref().map_or("", |(_, a)| &a.secret);
        match self.plugin {
            Plugin::Socket => {
                let wanted = match secret {
                    "" => &self.client.user,
                    other => other,
                };
                is(self.client.system_user.as_deref() == Some(wanted))
            }
            _ if answer.is_empty() => is(secret.is_empty()),
            Plugin::Native => {
                let hash = password::native_bytes(secret).unwrap_or([0; 20]);
                let right = password::is_native_answer(&hash, challenge, answer);
                is(right && !secret.is_empty())
            }
            Plugin::CachingSha2 => match &self.remembered {
                Some(known) if password::is_fast_answer(known, challenge, answer) => is(true),
                _ => Verdict::Unsure,
            },
        }
    }
    /// Whether an answer on which the verdict was [`Verdict::Unsure`] was wrong, for what it should have been made of is remembered.
    pub fn is_disproved(&self) -> bool {
        self.remembered.is_some()
    }
    /// Whether a password is the right one.
    pub fn is_password(&self, given: &[u8]) -> bool {
        let secret = self.account.as_ref().map_or("", |(_, a)| &a.secret);
        let hash = if secret.is_empty() { NO_HASH } else { secret };
        let right = password::is_sha2_of(hash, given);
        right && !secret.is_empty()
    }
    /// Error 1045.
    pub fn refusal(&self, password: bool) -> SqlError {
        let (user, host) = (&self.client.user, &self.client.host);
        SqlError::new(
            1045,
            format!(
                "Access denied for user '{user}'@'{host}' (using password: {})",
                if password { "YES" } else { "NO" }
            ),
        )
    }
    /// Error 1045 for who would have to send the password over a connection that others may read.
    pub fn refusal_of_full(&self) -> SqlError {
        let (user, host) = (&self.client.user, &self.client.host);
        SqlError::new(
            1045,
            format!(
                "Access denied for user '{user}'@'{host}': without an RSA key (caching_sha2_password_private_key_path) \
                 caching_sha2_password takes a password for the first time since the server was started over TLS or its Unix socket only"
            ),
        )
    }
}

impl Accounts {
    /// The account that a client says it is.
    pub fn candidate(&self, client: Client) -> Candidate {
        let snapshot = self.snapshot();
        let account = snapshot.of_client(&client.user, &client.names);
        let account = account.map(|(n, a)| (n.clone(), a.clone()));
        let plugin = match &account {
            Some((_, a)) => a.plugin,
            None => self.decoy_plugin(&client.user),
        };
        let remembered = account.as_ref().and_then(|(name, a)| {
            // The fast way says at once whether a password is right: not of an account that is blocked, for then it could be
            // guessed on.
            self.check_failures(name, a, &client).ok()?;
            let remembered = self.remembered.lock();
            let (secret, known) = remembered.get(name)?;
            (*secret == a.secret).then_some(*known)
        });
        Candidate {
            client,
            account,
            remembered,
            plugin,
        }
    }

    /// The plugin of an account that there is not: one that accounts here have, as often as they do.
    fn decoy_plugin(&self, user: &str) -> Plugin {
        let hash = Sha256::new()
            .chain_update(self.decoy)
            .chain_update(user)
            .finalize();
        let snapshot = self.snapshot();
        let secret = |a: &&Arc<Account>| !a.secret.is_empty() && a.plugin != Plugin::Socket;
        let plugins: Vec<Plugin> = snapshot
            .accounts
            .values()
            .filter(secret)
            .map(|a| a.plugin)
            .collect();
        match plugins.len() {
            0 => Plugin::CachingSha2,
            n => plugins[usize::from(hash[0]) % n],
        }
    }

    /// Remembers a password that is right.
    pub fn remember(&self, name: &Name, secret: &str, password: &[u8]) {
        let known = (secret.to_string(), password::remembered(password));
        self.remembered.lock().insert(name.clone(), known);
    }

    /// A login has failed.
    fn fail(&self, name: &Name, account: &Account) {
        if account.attempts == 0 || account.lock_days == 0 {
            return;
        }
        let mut failures = self.failures.lock();
        let f = failures.entry(name.clone()).or_default();
        f.count += 1;
        if f.count >= account.attempts && f.until.is_none() {
            let now = now_us() / 1_000_000;
            f.until = Some(now.saturating_add(account.lock_days.saturating_mul(DAY)));
        }
    }

    /// Error 3955 if an account is locked for failed logins.
    fn check_failures(&self, name: &Name, account: &Account, client: &Client) -> SqlResult<()> {
        let mut failures = self.failures.lock();
        let Entry::Occupied(known) = failures.entry(name.clone()) else {
            return Ok(());
        };
        let Some(until) = known.get().until.filter(|_| account.attempts > 0) else {
            return Ok(());
        };
        let now = now_us() / 1_000_000;
        if now >= until {
            known.remove();
            return Ok(());
        }
        let (days, left) = match account.lock_days {
            u64::MAX => ("unlimited".into(), "unlimited".into()),
            n => (n.to_string(), (until - now).div_ceil(DAY).to_string()),
        };
        let (user, host) = (&client.user, &client.host);
        Err(SqlError::new(
            3955,
            format!(
                "Access denied for user '{user}'@'{host}'. Account is blocked for {days} day(s) ({left} day(s) remaining) due to {} \
                 consecutive failed logins.",
                account.attempts
            ),
        ))
    }

    /// Failed logins of an account are forgotten: it was unlocked.
    pub fn forget_failures(&self, name: &Name) {
        self.failures.lock().remove(name);
    }
}

/// Whether a connection is what an account asks of it.
fn is_secure(wanted: &Secure, tls: Option<&TlsFacts>) -> bool {
    let certificate = tls.and_then(|tls| tls.client.as_ref());
    match wanted {
        Secure::Any => true,
        Secure::Tls => tls.is_some(),
        Secure::X509 => certificate.is_some(),
        Secure::Specified {
            cipher,
            issuer,
            subject,
        } => {
            let is = |wanted: &String, has: Option<&str>| wanted.is_empty() || has == Some(wanted);
            tls.is_some()
                && is(cipher, tls.map(|tls| tls.cipher))
                && is(issuer, certificate.map(|c| &*c.issuer))
                && is(subject, certificate.map(|c| &*c.subject))
        }
    }
}

/// Whether a password's time is over.
fn is_overdue(account: &Account, default_days: u64) -> bool {
    let days = match account.lifetime {
        Lifetime::Default => default_days,
        Lifetime::Never => 0,
        Lifetime::Days(n) => n,
    };
    let now = now_us() / 1_000_000;
    let needed = !account.secret.is_empty() && account.plugin != Plugin::Socket;
    needed && days > 0 && now > account.changed.saturating_add(days.saturating_mul(DAY))
}

impl Accounts {
    /// Lets a client in, or not: see [`Instance::admit`](crate::Instance::admit). `lifetime_days`: of passwords of accounts that say nothing of it; 0: for ever.
    pub fn admit(
        &self,
        candidate: Candidate,
        right: bool,
        password: Option<&[u8]>,
        gave: bool,
        lifetime_days: u64,
    ) -> SqlResult<Admitted> {
        let refusal = candidate.refusal(gave);
        let Some((name, account)) = candidate.account else {
            return Err(refusal);
        };
        let client = &candidate.client;
        self.check_failures(&name, &account, client)?;
        if !right {
            self.fail(&name, &account);
            return Err(refusal);
        }
        // It is not said which of the two was wrong.
        if !is_secure(&account.secure, client.tls.as_deref()) {
            return Err(refusal);
        }
        self.forget_failures(&name);
        if let Some(password) = password {
            self.remember(&name, &account.secret, password);
        }
        let (user, host) = (&client.user, &client.host);
        if account.locked {
            return Err(SqlError::new(
                3118,
                format!("Access denied for user '{user}'@'{host}'. Account is locked."),
            ));
        }
        let must_change = account.expired || is_overdue(&account, lifetime_days);
        if must_change && !client.handles_expired {
            return Err(SqlError::new(
                1862,
                "Your password has expired. To log in you must change it using a client that supports expired passwords.",
            ));
        }
        Ok(Admitted {
            name,
            host: client.host.clone(),
            must_change,
        })
    }

    /// An account that anybody can log in as, for it has no password; `None`: there is none.
    pub fn open_account(&self) -> Option<String> {
        let snapshot = self.snapshot();
        let open = |a: &Account| a.secret.is_empty() && a.plugin != Plugin::Socket && !a.locked;
        let mut accounts = snapshot.accounts.iter();
        let found = accounts.find(|(_, a)| open(a));
        found.map(|(name, _)| name.plain())
    }

    /// Gives `root`@`localhost` a password, if nobody has changed accounts yet; whether it did.
    pub fn init_root_password(&self, engine: &Engine, password: &str) -> SqlResult<bool> {
        let owner = engine.owner();
        if self.are_kept() {
            return Ok(false);
        }
        let name = Name::new("root", "localhost");
        let secret = password::sha2(password.as_bytes());
        let secret = secret.map_err(|e| SqlError::new(1105, format!("no random bytes: {e}")))?;
        self.change(engine, &owner, |change| {
            if let Some(root) = change.get_mut(&name) {
                root.secret.clone_from(&secret);
                root.changed = now_us() / 1_000_000;
            }
            Ok(())
        })?;
        self.remember(&name, &secret, password.as_bytes());
        Ok(true)
    }
}

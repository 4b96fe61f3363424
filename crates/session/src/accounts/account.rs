//! What is known of an account, and its bytes in the catalog.

use std::collections::{BTreeMap, BTreeSet};

use millpond_sql::catalog::bytes::{Reader, Writer, corrupt};
use millpond_sql::env::privileges::Privileges;
use millpond_sql::error::SqlResult;

use super::names::Name;

/// Version of an account's bytes.
const VERSION: u8 = 1;
/// Version of those of an account that has what builds before know nothing of: [`Later`] follows. Accounts without it are left readable to them.
const LATER: u8 = 2;

/// How a client proves who it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Plugin {
    /// By a password's salted SHA-256 of many rounds.
    #[default]
    CachingSha2,
    /// By a password's SHA-1, as MySQL 4.1 to 5.7 did.
    Native,
    /// By the user of the operating system at the other end of the Unix socket.
    Socket,
}

impl Plugin {
    /// The plugin's name.
    pub fn name(self) -> &'static str {
        match self {
            Plugin::CachingSha2 => "caching_sha2_password",
            Plugin::Native => "mysql_native_password",
            Plugin::Socket => "auth_socket",
        }
    }
    /// The plugin of a name; MariaDB's name for that of sockets, too.
    pub fn by_name(name: &str) -> Option<Plugin> {
        match &*name.to_ascii_lowercase() {
            "caching_sha2_password" => Some(Plugin::CachingSha2),
            "mysql_native_password" => Some(Plugin::Native),
            "auth_socket" | "unix_socket" => Some(Plugin::Socket),
            _ => None,
        }
    }
}

/// When a password expires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lifetime {
    /// As `default_password_lifetime` says.
    #[default]
    Default,
    /// Never.
    Never,
    /// After so many days.
    Days(u64),
}

/// What a connection must be for an account to be let in: REQUIRE.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Secure {
    /// Whatever it is.
    #[default]
    Any,
    /// TLS.
    Tls,
    /// TLS with a certificate of the client's that the server's authorities have signed.
    X509,
    /// The same, and all of these that are not empty.
    Specified {
        /// The cipher suite, by OpenSSL's name or the RFCs'.
        cipher: String,
        /// Who signed the client's certificate.
        issuer: String,
        /// Whose it is.
        subject: String,
    },
}

/// Most of something that an account may do in an hour, or have at a time; 0: no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// MAX_QUERIES_PER_HOUR.
    pub queries: u64,
    /// MAX_UPDATES_PER_HOUR.
    pub updates: u64,
    /// MAX_CONNECTIONS_PER_HOUR.
    pub connections: u64,
    /// MAX_USER_CONNECTIONS; 0: as the variable `max_user_connections` says.
    pub at_a_time: u64,
}

/// Privileges on a table and on columns of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OnTable {
    /// On all of it.
    pub table: Privileges,
    /// By column, in lower case.
    pub columns: BTreeMap<String, Privileges>,
    /// Who granted them last.
    pub grantor: String,
}

impl OnTable {
    /// All that is granted on some column or on the table.
    pub fn any(&self) -> Privileges {
        self.columns.values().fold(self.table, |all, p| all | p)
    }
}

/// Which routine: whether it is a procedure, its database, its name in lower case.
pub type RoutineName = (bool, String, String);

/// What has been granted to an account, roles aside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// On everything.
    pub global: Privileges,
    /// Dynamic privileges, and whether they may be granted on.
    pub dynamic: BTreeMap<String, bool>,
    /// By database, or pattern of such.
    pub databases: BTreeMap<String, Privileges>,
    /// By database and table.
    pub tables: BTreeMap<(String, String), OnTable>,
    /// By routine.
    pub routines: BTreeMap<RoutineName, Privileges>,
    /// Global privileges that do not hold in a database: partial revokes.
    pub restrictions: BTreeMap<String, Privileges>,
}

impl Grants {
    /// Adds all that others have. What is restricted stays so only where both have it no other way.
    pub fn join(&mut self, other: &Grants) {
        let restrictions = std::mem::take(&mut self.restrictions);
        let without = |grants: &Grants, database: &String| {
            grants.global & !grants.restrictions.get(database).copied().unwrap_or(0)
        };
        let own = Grants {
            global: self.global,
            restrictions,
            ..Grants::default()
        };
        let all = own.restrictions.keys().chain(other.restrictions.keys());
        for database in all {
            let has = without(&own, database) | without(other, database);
            let lacks = (own.global | other.global) & !has;
            if lacks != 0 {
                self.restrictions.insert(database.clone(), lacks);
            }
        }
        self.global |= other.global;
        for (name, grant) in &other.dynamic {
            *self.dynamic.entry(name.clone()).or_default() |= grant;
        }
        for (name, p) in &other.databases {
            *self.databases.entry(name.clone()).or_default() |= p;
        }
        for (name, on) in &other.tables {
            let own = self.tables.entry(name.clone()).or_default();
            own.table |= on.table;
            for (column, p) in &on.columns {
                *own.columns.entry(column.clone()).or_default() |= p;
            }
        }
        for (name, p) in &other.routines {
            *self.routines.entry(name.clone()).or_default() |= p;
        }
    }
}

/// An account or role.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// How it logs in.
    pub plugin: Plugin,
    /// What proves the password; empty: none is needed. Of `auth_socket` the user of the operating system, if it is another.
    pub secret: String,
    /// The password must be changed.
    pub expired: bool,
    /// When it was last changed, seconds since 1970.
    pub changed: u64,
    /// When it expires.
    pub lifetime: Lifetime,
    /// PASSWORD HISTORY, REUSE INTERVAL (days); none: as the system's variables say.
    pub history: Option<u64>,
    /// PASSWORD REUSE INTERVAL, days.
    pub reuse: Option<u64>,
    /// PASSWORD REQUIRE CURRENT.
    pub require_current: Option<bool>,
    /// Earlier secrets, the latest first, each with when it was given up.
    pub past: Vec<(u64, String)>,
    /// FAILED_LOGIN_ATTEMPTS; 0: as many as one likes.
    pub attempts: u64,
    /// PASSWORD_LOCK_TIME, days; `u64::MAX`: UNBOUNDED.
    pub lock_days: u64,
    /// ACCOUNT LOCK.
    pub locked: bool,
    /// COMMENT and ATTRIBUTE: a JSON object, or nothing.
    pub attribute: String,
    /// What it may.
    pub grants: Grants,
    /// Roles it has been granted, and whether it may grant them on.
    pub roles: BTreeMap<Name, bool>,
    /// Those that are active when it logs in.
    pub default_roles: BTreeSet<Name>,
    /// REQUIRE.
    pub secure: Secure,
    /// WITH MAX_...
    pub limits: Limits,
}

fn put_name(w: &mut Writer, name: &Name) {
    w.text(&name.user);
    w.text(&name.host);
}

fn get_name(r: &mut Reader<'_>) -> SqlResult<Name> {
    let user = r.text()?.to_string();
    let host = r.text()?.to_string();
    Ok(Name { user, host })
}

fn put_option(w: &mut Writer, n: Option<u64>) {
    w.number(n.map_or(0, |n| n.saturating_add(1)));
}

fn get_option(r: &mut Reader<'_>) -> SqlResult<Option<u64>> {
    Ok(r.number()?.checked_sub(1))
}

fn put_grants(w: &mut Writer, g: &Grants) {
    w.number(g.global);
    w.number(g.dynamic.len() as u64);
    for (name, grant) in &g.dynamic {
        w.text(name);
        w.number(u64::from(*grant));
    }
    w.number(g.databases.len() as u64);
    for (name, p) in &g.databases {
        w.text(name);
        w.number(*p);
    }
    w.number(g.tables.len() as u64);
    for ((database, table), on) in &g.tables {
        w.text(database);
        w.text(table);
        w.text(&on.grantor);
        w.number(on.table);
        w.number(on.columns.len() as u64);
        for (column, p) in &on.columns {
            w.text(column);
            w.number(*p);
        }
    }
    w.number(g.routines.len() as u64);
    for ((procedure, database, name), p) in &g.routines {
        w.number(u64::from(*procedure));
        w.text(database);
        w.text(name);
        w.number(*p);
    }
}

fn get_grants(r: &mut Reader<'_>) -> SqlResult<Grants> {
    let mut g = Grants {
        global: r.number()?,
        ..Grants::default()
    };
    for _ in 0..r.number()? {
        g.dynamic.insert(r.text()?.to_string(), r.number()? != 0);
    }
    for _ in 0..r.number()? {
        g.databases.insert(r.text()?.to_string(), r.number()?);
    }
    for _ in 0..r.number()? {
        let name = (r.text()?.to_string(), r.text()?.to_string());
        let mut on = OnTable {
            grantor: r.text()?.to_string(),
            table: r.number()?,
            columns: BTreeMap::new(),
        };
        for _ in 0..r.number()? {
            on.columns.insert(r.text()?.to_string(), r.number()?);
        }
        g.tables.insert(name, on);
    }
    for _ in 0..r.number()? {
        let procedure = r.number()? != 0;
        let name = (procedure, r.text()?.to_string(), r.text()?.to_string());
        g.routines.insert(name, r.number()?);
    }
    Ok(g)
}

/// What the first builds with accounts knew nothing of.
fn put_later(w: &mut Writer, a: &Account) {
    let mut texts = |kind: u64, list: &[&str]| {
        w.number(kind);
        list.iter().for_each(|t| w.text(t));
    };
    match &a.secure {
        Secure::Any => texts(0, &[]),
        Secure::Tls => texts(1, &[]),
        Secure::X509 => texts(2, &[]),
        Secure::Specified {
            cipher,
            issuer,
            subject,
        } => texts(3, &[cipher, issuer, subject]),
    }
    w.number(a.limits.queries);
    w.number(a.limits.updates);
    w.number(a.limits.connections);
    w.number(a.limits.at_a_time);
    w.number(a.grants.restrictions.len() as u64);
    for (database, set) in &a.grants.restrictions {
        w.text(database);
        w.number(*set);
    }
}

fn get_later(r: &mut Reader<'_>, a: &mut Account) -> SqlResult<()> {
    a.secure = match r.number()? {
        0 => Secure::Any,
        1 => Secure::Tls,
        2 => Secure::X509,
        3 => Secure::Specified {
            cipher: r.text()?.to_string(),
            issuer: r.text()?.to_string(),
            subject: r.text()?.to_string(),
        },
        _ => return Err(corrupt()),
    };
    a.limits = Limits {
        queries: r.number()?,
        updates: r.number()?,
        connections: r.number()?,
        at_a_time: r.number()?,
    };
    for _ in 0..r.number()? {
        let database = r.text()?.to_string();
        a.grants.restrictions.insert(database, r.number()?);
    }
    Ok(())
}

impl Account {
    /// Whether it has what the first builds with accounts knew nothing of.
    fn is_later(&self) -> bool {
        self.secure != Secure::Any
            || self.limits != Limits::default()
            || !self.grants.restrictions.is_empty()
    }

    /// Its bytes.
    pub fn encode(&self) -> Vec<u8> {
        let later = self.is_later();
        let mut w = Writer::new(if later { LATER } else { VERSION });
        w.text(self.plugin.name());
        w.text(&self.secret);
        w.number(u64::from(self.expired) | u64::from(self.locked) << 1);
        w.number(self.changed);
        match self.lifetime {
            Lifetime::Default => w.number(0),
            Lifetime::Never => w.number(1),
            Lifetime::Days(n) => w.number(n.saturating_add(2)),
        }
        put_option(&mut w, self.history);
        put_option(&mut w, self.reuse);
        put_option(&mut w, self.require_current.map(u64::from));
        w.number(self.past.len() as u64);
        for (when, secret) in &self.past {
            w.number(*when);
            w.text(secret);
        }
        w.number(self.attempts);
        w.number(self.lock_days);
        w.text(&self.attribute);
        put_grants(&mut w, &self.grants);
        w.number(self.roles.len() as u64);
        for (name, admin) in &self.roles {
            put_name(&mut w, name);
            w.number(u64::from(*admin));
        }
        w.number(self.default_roles.len() as u64);
        self.default_roles.iter().for_each(|n| put_name(&mut w, n));
        if later {
            put_later(&mut w, self);
        }
        w.finish()
    }

    /// From its bytes; error 1033 if they are none.
    pub fn decode(bytes: &[u8]) -> SqlResult<Account> {
        let (&version, rest) = bytes.split_first().ok_or_else(corrupt)?;
        if ![VERSION, LATER].contains(&version) {
            return Err(corrupt());
        }
        let r = &mut Reader(rest);
        let plugin = Plugin::by_name(r.text()?).ok_or_else(corrupt)?;
        let secret = r.text()?.to_string();
        let flags = r.number()?;
        let mut a = Account {
            plugin,
            secret,
            expired: flags & 1 != 0,
            locked: flags & 2 != 0,
            changed: r.number()?,
            lifetime: match r.number()? {
                0 => Lifetime::Default,
                1 => Lifetime::Never,
                n => Lifetime::Days(n - 2),
            },
            history: get_option(r)?,
            reuse: get_option(r)?,
            require_current: get_option(r)?.map(|n| n != 0),
            ..Account::default()
        };
        for _ in 0..r.number()? {
            a.past.push((r.number()?, r.text()?.to_string()));
        }
        a.attempts = r.number()?;
        a.lock_days = r.number()?;
        a.attribute = r.text()?.to_string();
        a.grants = get_grants(r)?;
        for _ in 0..r.number()? {
            a.roles.insert(get_name(r)?, r.number()? != 0);
        }
        for _ in 0..r.number()? {
            a.default_roles.insert(get_name(r)?);
        }
        if version == LATER {
            get_later(r, &mut a)?;
        }
        Ok(a)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_return() {
        let mut a = Account {
            plugin: Plugin::Native,
            secret: "*AB".into(),
            expired: true,
            locked: true,
            changed: 1_700_000_000,
            lifetime: Lifetime::Days(90),
            history: Some(5),
            require_current: Some(false),
            past: vec![(1, "*CD".into())],
            attempts: 3,
            lock_days: u64::MAX,
            attribute: "{\"a\": 1}".into(),
            ..Account::default()
        };
        a.grants.global = 7;
        a.grants.dynamic.insert("ROLE_ADMIN".into(), true);
        a.grants.databases.insert("d\\_%".into(), 3);
        let on = OnTable {
            table: 1,
            columns: [("c".to_string(), 2)].into(),
            grantor: "root@localhost".into(),
        };
        a.grants.tables.insert(("d".into(), "t".into()), on);
        a.grants.routines.insert((true, "d".into(), "p".into()), 4);
        a.roles.insert(Name::new("r", "%"), true);
        a.default_roles.insert(Name::new("r", "%"));
        let returns = |a: &Account, version: u8| {
            let bytes = a.encode();
            assert_eq!(bytes[0], version);
            assert_eq!(Account::decode(&bytes).unwrap(), *a);
            for cut in 0..bytes.len() {
                assert!(Account::decode(&bytes[..cut]).is_err(), "{cut}");
            }
        };
        returns(&a, VERSION);
        a.limits.updates = 7;
        returns(&a, LATER);
        a.secure = Secure::Specified {
            cipher: String::new(),
            issuer: "/CN=a".into(),
            subject: "/CN=b".into(),
        };
        a.grants.restrictions.insert("mysql".into(), 3);
        returns(&a, LATER);
    }

    #[test]
    fn what_one_has_unrestricted_is_not_restricted() {
        let with = |global, restrictions: &[(&str, u64)]| Grants {
            global,
            restrictions: restrictions
                .iter()
                .map(|(d, p)| (d.to_string(), *p))
                .collect(),
            ..Grants::default()
        };
        let mut all = with(3, &[("a", 3), ("b", 1)]);
        all.join(&with(6, &[("a", 6)]));
        assert_eq!(all.global, 7);
        // Of `a` each lacks all that it has; `b` is restricted for the first in what the second has not at all.
        assert_eq!(
            all.restrictions,
            with(0, &[("a", 7), ("b", 1)]).restrictions
        );
        all.join(&with(1, &[]));
        assert_eq!(all.restrictions, with(0, &[("a", 6)]).restrictions);
    }
}

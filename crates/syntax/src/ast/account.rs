//! Accounts, roles and privileges.

use super::list::Items;
use std::fmt::{self, Display};

use super::words::{List, Opt, OptText, Quoted, Spaced, flag, words};
use super::{Ident, ObjectName, RoleChoice};

/// A user or a role.
#[derive(Clone, Debug, PartialEq)]
pub enum Account {
    /// `'user'@'host'`.
    Named {
        /// User.
        user: Ident,
        /// Host; if none, `%`.
        host: Option<Ident>,
    },
    /// CURRENT_USER.
    Current,
    /// MariaDB's CURRENT_ROLE as a definer.
    CurrentRole,
}

/// Statements about accounts.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant)] // A statement has one, for a moment.
pub enum AccountStatement {
    /// CREATE USER.
    CreateUser {
        /// OR REPLACE (MariaDB).
        or_replace: bool,
        /// IF NOT EXISTS.
        if_not_exists: bool,
        /// Users.
        users: Items<UserSpec>,
        /// DEFAULT ROLE.
        default_roles: Items<Account>,
        /// The rest.
        options: UserOptions,
    },
    /// ALTER USER.
    AlterUser {
        /// IF EXISTS.
        if_exists: bool,
        /// Users.
        users: Items<UserSpec>,
        /// DEFAULT ROLE of the one user.
        default_role: Option<RoleChoice>,
        /// The rest.
        options: UserOptions,
    },
    /// DROP USER.
    DropUser {
        /// IF EXISTS.
        if_exists: bool,
        /// Users.
        users: Items<Account>,
    },
    /// RENAME USER: names now and then.
    RenameUser(Items<(Account, Account)>),
    /// CREATE ROLE.
    CreateRole {
        /// OR REPLACE (MariaDB).
        or_replace: bool,
        /// IF NOT EXISTS.
        if_not_exists: bool,
        /// Roles.
        roles: Items<Account>,
    },
    /// DROP ROLE.
    DropRole {
        /// IF EXISTS.
        if_exists: bool,
        /// Roles.
        roles: Items<Account>,
    },
    /// GRANT.
    Grant {
        /// What.
        what: Grant,
        /// To whom. (Before MySQL 8 and in MariaDB with passwords.)
        to: Items<UserSpec>,
        /// REQUIRE, before MySQL 8 and in MariaDB.
        require: Option<Require>,
        /// WITH GRANT OPTION, WITH ADMIN OPTION.
        with_option: bool,
        /// WITH limits, before MySQL 8 and in MariaDB.
        limits: Items<(ResourceLimit, u64)>,
        /// AS user [WITH ROLE].
        grantor: Option<(Account, Option<RoleChoice>)>,
    },
    /// REVOKE.
    Revoke {
        /// IF EXISTS.
        if_exists: bool,
        /// What; none for ALL PRIVILEGES, GRANT OPTION.
        what: Option<Grant>,
        /// MariaDB's ADMIN OPTION FOR.
        admin_option: bool,
        /// From whom.
        from: Items<Account>,
        /// IGNORE UNKNOWN USER.
        ignore_unknown: bool,
    },
}

/// What is granted.
#[derive(Clone, Debug, PartialEq)]
pub enum Grant {
    /// Privileges on something; an empty list is ALL.
    Privileges {
        /// Which.
        privileges: Items<Privilege>,
        /// TABLE, FUNCTION, PROCEDURE.
        kind: Option<GrantKind>,
        /// On what.
        on: GrantLevel,
    },
    /// Roles.
    Roles(Items<Account>),
    /// PROXY ON.
    Proxy(Account),
}

/// A privilege.
#[derive(Clone, Debug, PartialEq)]
pub struct Privilege {
    /// Which.
    pub name: PrivilegeName,
    /// Of these columns only.
    pub columns: Items<Ident>,
}

/// The name of a privilege.
#[derive(Clone, Debug, PartialEq)]
pub enum PrivilegeName {
    /// One that the grammar knows.
    Static(StaticPrivilege),
    /// One that is registered: BINLOG_ADMIN, ...
    Dynamic(Ident),
}

/// On what privileges are granted.
#[derive(Clone, Debug, PartialEq)]
pub enum GrantLevel {
    /// `*.*`
    Global,
    /// `*`: the current database.
    Current,
    /// `database.*`
    Database(Ident),
    /// A table or a routine.
    Object(ObjectName),
}

words! {
    /// What a privilege is on.
    pub enum GrantKind {
        Table = "TABLE", Function = "FUNCTION", Procedure = "PROCEDURE",
    }
    /// Privileges that the grammar knows.
    pub enum StaticPrivilege {
        AlterRoutine = "ALTER ROUTINE", Alter = "ALTER", CreateRoutine = "CREATE ROUTINE",
        CreateTablespace = "CREATE TABLESPACE", CreateTemporaryTables = "CREATE TEMPORARY TABLES",
        CreateUser = "CREATE USER", CreateView = "CREATE VIEW", CreateRole = "CREATE ROLE", Create = "CREATE",
        DeleteHistory = "DELETE HISTORY",
        Delete = "DELETE", DropRole = "DROP ROLE", Drop = "DROP", Event = "EVENT", Execute = "EXECUTE", File = "FILE",
        GrantOption = "GRANT OPTION", Index = "INDEX", Insert = "INSERT", LockTables = "LOCK TABLES",
        Process = "PROCESS", References = "REFERENCES", Reload = "RELOAD",
        ReplicationClient = "REPLICATION CLIENT", ReplicationSlave = "REPLICATION SLAVE", Select = "SELECT",
        ShowDatabases = "SHOW DATABASES", ShowView = "SHOW VIEW", Shutdown = "SHUTDOWN", Super = "SUPER",
        Trigger = "TRIGGER", Update = "UPDATE", Usage = "USAGE",
    }
    /// Limits of an account.
    pub enum ResourceLimit {
        QueriesPerHour = "MAX_QUERIES_PER_HOUR", UpdatesPerHour = "MAX_UPDATES_PER_HOUR",
        ConnectionsPerHour = "MAX_CONNECTIONS_PER_HOUR", UserConnections = "MAX_USER_CONNECTIONS",
    }
    /// What a factor's action is.
    pub enum FactorVerb { Add = "ADD", Modify = "MODIFY" }
}

/// An account and how it logs in.
#[derive(Clone, Debug, PartialEq)]
pub struct UserSpec {
    /// Account.
    pub account: Account,
    /// IDENTIFIED, one per factor, joined by AND.
    pub authentication: Items<Authentication>,
    /// INITIAL AUTHENTICATION.
    pub initial: Option<Authentication>,
    /// DISCARD OLD PASSWORD.
    pub discard_old: bool,
    /// Changes of factors (ALTER USER).
    pub factors: Items<FactorChange>,
}

/// IDENTIFIED.
#[derive(Clone, Debug, PartialEq)]
pub struct Authentication {
    /// WITH plugin.
    pub plugin: Option<Ident>,
    /// The secret.
    pub secret: Secret,
    /// REPLACE: the password now.
    pub replace: Option<String>,
    /// RETAIN CURRENT PASSWORD.
    pub retain: bool,
}

/// How IDENTIFIED gives a secret.
#[derive(Clone, Debug, PartialEq)]
pub enum Secret {
    /// Not at all.
    None,
    /// BY a password.
    By(String),
    /// BY RANDOM PASSWORD.
    Random,
    /// AS a hash.
    As(String),
    /// BY PASSWORD and a hash, before MySQL 8 and in MariaDB.
    ByHash(String),
    /// MariaDB's USING a function of a password.
    UsingFunction(String),
}

/// A change of a factor.
#[derive(Clone, Debug, PartialEq)]
pub enum FactorChange {
    /// ADD, MODIFY n FACTOR.
    Set(FactorVerb, u64, Authentication),
    /// DROP n FACTOR.
    Drop(u64),
    /// n FACTOR INITIATE REGISTRATION.
    InitiateRegistration(u64),
    /// n FACTOR FINISH REGISTRATION SET CHALLENGE_RESPONSE AS.
    FinishRegistration(u64, String),
    /// n FACTOR UNREGISTER.
    Unregister(u64),
}

/// What CREATE USER and ALTER USER set besides passwords.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UserOptions {
    /// REQUIRE.
    pub require: Option<Require>,
    /// WITH limits.
    pub limits: Items<(ResourceLimit, u64)>,
    /// PASSWORD, FAILED_LOGIN_ATTEMPTS, ACCOUNT.
    pub password: Items<PasswordOption>,
    /// COMMENT.
    pub comment: Option<String>,
    /// ATTRIBUTE.
    pub attribute: Option<String>,
}

/// What a connection must have.
#[derive(Clone, Debug, PartialEq)]
pub enum Require {
    /// NONE.
    None,
    /// All of these.
    All(Items<TlsRequirement>),
}

/// A requirement of a connection.
#[derive(Clone, Debug, PartialEq)]
pub enum TlsRequirement {
    /// SSL.
    Ssl,
    /// X509.
    X509,
    /// CIPHER.
    Cipher(String),
    /// ISSUER.
    Issuer(String),
    /// SUBJECT.
    Subject(String),
}

/// An option about passwords and locks.
#[derive(Clone, Debug, PartialEq)]
pub enum PasswordOption {
    /// PASSWORD EXPIRE: now.
    Expire,
    /// PASSWORD EXPIRE DEFAULT.
    ExpireDefault,
    /// PASSWORD EXPIRE NEVER.
    ExpireNever,
    /// PASSWORD EXPIRE INTERVAL n DAY.
    ExpireInterval(u64),
    /// PASSWORD HISTORY; none for DEFAULT.
    History(Option<u64>),
    /// PASSWORD REUSE INTERVAL n DAY; none for DEFAULT.
    ReuseInterval(Option<u64>),
    /// PASSWORD REQUIRE CURRENT.
    RequireCurrent,
    /// PASSWORD REQUIRE CURRENT DEFAULT.
    RequireCurrentDefault,
    /// PASSWORD REQUIRE CURRENT OPTIONAL.
    RequireCurrentOptional,
    /// FAILED_LOGIN_ATTEMPTS.
    FailedLoginAttempts(u64),
    /// PASSWORD_LOCK_TIME in days; none for UNBOUNDED.
    LockTime(Option<u64>),
    /// ACCOUNT LOCK, ACCOUNT UNLOCK.
    AccountLock(bool),
}

impl Account {
    /// Writes a name as `'name'`.
    fn write_part(f: &mut fmt::Formatter<'_>, part: &Ident) -> fmt::Result {
        Quoted(part.as_str()).fmt(f)
    }
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Account::Current => f.write_str("CURRENT_USER"),
            Account::CurrentRole => f.write_str("CURRENT_ROLE"),
            Account::Named { user, host } => {
                Account::write_part(f, user)?;
                match host {
                    Some(host) => {
                        f.write_str("@")?;
                        Account::write_part(f, host)
                    }
                    None => Ok(()),
                }
            }
        }
    }
}

impl fmt::Display for AccountStatement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use AccountStatement as S;
        let exists = |on: bool| flag(on, "IF EXISTS ");
        let missing = |on: bool| flag(on, "IF NOT EXISTS ");
        let replace = |on: bool| flag(on, "OR REPLACE ");
        match self {
            S::CreateUser {
                or_replace,
                if_not_exists,
                users,
                default_roles,
                options,
            } => {
                let (replace, missing) = (replace(*or_replace), missing(*if_not_exists));
                write!(f, "CREATE {replace}USER {missing}{}", List(users))?;
                f.write_str(flag(!default_roles.is_empty(), " DEFAULT ROLE "))?;
                write!(f, "{}{options}", List(default_roles))
            }
            S::AlterUser {
                if_exists,
                users,
                default_role,
                options,
            } => {
                let roles = Opt(" DEFAULT ROLE ", default_role);
                write!(
                    f,
                    "ALTER USER {}{}{roles}{options}",
                    exists(*if_exists),
                    List(users)
                )
            }
            S::DropUser { if_exists, users } => {
                write!(f, "DROP USER {}{}", exists(*if_exists), List(users))
            }
            S::RenameUser(pairs) => {
                f.write_str("RENAME USER ")?;
                for (n, pair) in pairs.iter().enumerate() {
                    let (from, to) = &*pair;
                    write!(f, "{}{from} TO {to}", flag(n > 0, ", "))?;
                }
                Ok(())
            }
            S::CreateRole {
                or_replace,
                if_not_exists,
                roles,
            } => {
                let (replace, missing) = (replace(*or_replace), missing(*if_not_exists));
                write!(f, "CREATE {replace}ROLE {missing}{}", List(roles))
            }
            S::DropRole { if_exists, roles } => {
                write!(f, "DROP ROLE {}{}", exists(*if_exists), List(roles))
            }
            S::Grant {
                what,
                to,
                require,
                with_option,
                limits,
                grantor,
            } => {
                write!(
                    f,
                    "GRANT {what} TO {}{}",
                    List(to),
                    Opt(" REQUIRE ", require)
                )?;
                let option = match what {
                    Grant::Roles(_) => " WITH ADMIN OPTION",
                    _ => " WITH GRANT OPTION",
                };
                f.write_str(flag(*with_option, option))?;
                f.write_str(flag(!*with_option && !limits.is_empty(), " WITH"))?;
                limits
                    .iter()
                    .try_for_each(|limit| write!(f, " {} {}", limit.0, limit.1))?;
                if let Some((account, roles)) = grantor {
                    write!(f, " AS {account}{}", Opt(" WITH ROLE ", roles))?;
                }
                Ok(())
            }
            S::Revoke {
                if_exists,
                what,
                admin_option,
                from,
                ignore_unknown,
            } => {
                let admin = flag(*admin_option, "ADMIN OPTION FOR ");
                write!(f, "REVOKE {}{admin}", exists(*if_exists))?;
                match what {
                    Some(what) => what.fmt(f)?,
                    None => f.write_str("ALL PRIVILEGES, GRANT OPTION")?,
                }
                write!(
                    f,
                    " FROM {}{}",
                    List(from),
                    flag(*ignore_unknown, " IGNORE UNKNOWN USER")
                )
            }
        }
    }
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Grant::Privileges {
                privileges,
                kind,
                on,
            } => {
                f.write_str(flag(privileges.is_empty(), "ALL PRIVILEGES"))?;
                write!(f, "{} ON{} {on}", List(privileges), Opt(" ", kind))
            }
            Grant::Roles(roles) => List(roles).fmt(f),
            Grant::Proxy(account) => write!(f, "PROXY ON {account}"),
        }
    }
}

impl fmt::Display for Privilege {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            PrivilegeName::Static(name) => name.fmt(f)?,
            PrivilegeName::Dynamic(name) => name.fmt(f)?,
        }
        if self.columns.is_empty() {
            return Ok(());
        }
        write!(f, " ({})", List(&self.columns))
    }
}

impl fmt::Display for GrantLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GrantLevel::Global => f.write_str("*.*"),
            GrantLevel::Current => f.write_str("*"),
            GrantLevel::Database(name) => write!(f, "{name}.*"),
            GrantLevel::Object(name) => name.fmt(f),
        }
    }
}

impl fmt::Display for UserSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.account.fmt(f)?;
        for (n, authentication) in self.authentication.iter().enumerate() {
            write!(f, "{}{authentication}", flag(n > 0, " AND"))?;
        }
        if let Some(initial) = &self.initial {
            write!(f, " INITIAL AUTHENTICATION{initial}")?;
        }
        f.write_str(flag(self.discard_old, " DISCARD OLD PASSWORD"))?;
        Spaced(&self.factors).fmt(f)
    }
}

impl fmt::Display for Authentication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, " IDENTIFIED{}", Opt(" WITH ", &self.plugin))?;
        match &self.secret {
            Secret::None => {}
            Secret::By(text) => write!(f, " BY {}", Quoted(text))?,
            Secret::Random => f.write_str(" BY RANDOM PASSWORD")?,
            Secret::As(hash) => write!(f, " AS {}", Quoted(hash))?,
            Secret::ByHash(hash) => write!(f, " BY PASSWORD {}", Quoted(hash))?,
            Secret::UsingFunction(text) => write!(f, " USING PASSWORD({})", Quoted(text))?,
        }
        let retain = flag(self.retain, " RETAIN CURRENT PASSWORD");
        write!(f, "{}{retain}", OptText(" REPLACE ", &self.replace))
    }
}

impl fmt::Display for FactorChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FactorChange::Set(verb, n, how) => write!(f, "{verb} {n} FACTOR{how}"),
            FactorChange::Drop(n) => write!(f, "DROP {n} FACTOR"),
            FactorChange::InitiateRegistration(n) => {
                write!(f, "{n} FACTOR INITIATE REGISTRATION")
            }
            FactorChange::FinishRegistration(n, text) => {
                let text = Quoted(text);
                write!(
                    f,
                    "{n} FACTOR FINISH REGISTRATION SET CHALLENGE_RESPONSE AS {text}"
                )
            }
            FactorChange::Unregister(n) => write!(f, "{n} FACTOR UNREGISTER"),
        }
    }
}

impl fmt::Display for UserOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Opt(" REQUIRE ", &self.require).fmt(f)?;
        f.write_str(flag(!self.limits.is_empty(), " WITH"))?;
        self.limits
            .iter()
            .try_for_each(|limit| write!(f, " {} {}", limit.0, limit.1))?;
        Spaced(&self.password).fmt(f)?;
        OptText(" COMMENT ", &self.comment).fmt(f)?;
        OptText(" ATTRIBUTE ", &self.attribute).fmt(f)
    }
}

impl fmt::Display for Require {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Require::All(list) = self else {
            return f.write_str("NONE");
        };
        for (n, item) in list.iter().enumerate() {
            write!(f, "{}{item}", flag(n > 0, " AND "))?;
        }
        Ok(())
    }
}

impl fmt::Display for TlsRequirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TlsRequirement::Ssl => f.write_str("SSL"),
            TlsRequirement::X509 => f.write_str("X509"),
            TlsRequirement::Cipher(text) => write!(f, "CIPHER {}", Quoted(text)),
            TlsRequirement::Issuer(text) => write!(f, "ISSUER {}", Quoted(text)),
            TlsRequirement::Subject(text) => write!(f, "SUBJECT {}", Quoted(text)),
        }
    }
}

impl fmt::Display for PasswordOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use PasswordOption as O;
        match self {
            O::Expire => f.write_str("PASSWORD EXPIRE"),
            O::ExpireDefault => f.write_str("PASSWORD EXPIRE DEFAULT"),
            O::ExpireNever => f.write_str("PASSWORD EXPIRE NEVER"),
            O::ExpireInterval(n) => write!(f, "PASSWORD EXPIRE INTERVAL {n} DAY"),
            O::History(Some(n)) => write!(f, "PASSWORD HISTORY {n}"),
            O::History(None) => f.write_str("PASSWORD HISTORY DEFAULT"),
            O::ReuseInterval(Some(n)) => write!(f, "PASSWORD REUSE INTERVAL {n} DAY"),
            O::ReuseInterval(None) => f.write_str("PASSWORD REUSE INTERVAL DEFAULT"),
            O::RequireCurrent => f.write_str("PASSWORD REQUIRE CURRENT"),
            O::RequireCurrentDefault => f.write_str("PASSWORD REQUIRE CURRENT DEFAULT"),
            O::RequireCurrentOptional => f.write_str("PASSWORD REQUIRE CURRENT OPTIONAL"),
            O::FailedLoginAttempts(n) => write!(f, "FAILED_LOGIN_ATTEMPTS {n}"),
            O::LockTime(Some(n)) => write!(f, "PASSWORD_LOCK_TIME {n}"),
            O::LockTime(None) => f.write_str("PASSWORD_LOCK_TIME UNBOUNDED"),
            O::AccountLock(true) => f.write_str("ACCOUNT LOCK"),
            O::AccountLock(false) => f.write_str("ACCOUNT UNLOCK"),
        }
    }
}

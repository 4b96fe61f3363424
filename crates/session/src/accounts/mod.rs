//! Accounts: who there is, what they may do, how they prove who they are.
//!
//! | file | owns |
//! |---|---|
//! | `account` | what is known of an account, and its bytes |
//! | `names` | names of accounts, and which of them a client is |
//! | `privileges` | which privileges there are |
//! | `access` | what an account may do, and errors that say what it may not |
//! | `guard` | who a session is |
//! | `meter` | what accounts use of what they may in an hour |
//! | `password` | what is kept of passwords |
//! | `login` | letting a client in |
//! | `texts` | SHOW GRANTS, SHOW CREATE USER |
//!
//! **Where they live.** An account or role is an object of the catalog ([`millpond_store::ObjectKey`]), with all that was granted to it. A statement
//! about accounts changes all the objects it is about in one catalog transaction, durable before it answers: a crash leaves all of it or
//! nothing. The tables `mysql.user`, `mysql.db`, `mysql.role_edges` and their kin are views of that (`show/accounts`).
//!
//! **In memory** all accounts are one [`Snapshot`], which never changes: each change, and FLUSH PRIVILEGES, puts another with a higher
//! version in its place. Sessions keep what they may do as an [`Access`] made of the snapshot, with a number of its own; a plan that a session has
//! at hand says for which number it was checked. So an execution compares the version and the number, and checks only if either differs.
//! Plans themselves are shared by all accounts: what a plan needs is part of it.
//!
//! **Promises.** Who changes accounts sees them as no one else changes them meanwhile (one mutex, held over the catalog transaction). What is
//! answered of a login does not tell whether there is such an account. No password is kept, nor shown in any log. A session that is the
//! process itself (the embedded library's) may do everything and is asked nothing.
//! **Never** locks anything for a statement that only uses accounts.

pub(crate) mod access;
pub(crate) mod account;
pub(crate) mod guard;
pub mod login;
pub(crate) mod meter;
pub(crate) mod names;
pub(crate) mod password;
pub(crate) mod privileges;
pub(crate) mod texts;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use millpond_sql::catalog::programs::ACCOUNTS;
use millpond_sql::env::now_us;
use millpond_sql::error::{SqlError, SqlResult};
use millpond_sql::store_error::store_error;
use millpond_store::{Engine, Object, ObjectKey, Owner};
use parking_lot::{Mutex, RwLock};

use access::Access;
use account::Account;
use names::{Name, is_host, order};

/// The catalog's kind of objects that are accounts.
const KIND: u8 = 16;
/// The kind of the one that says that accounts are kept.
const KEPT: u8 = 17;

/// Stands between user and host in keys. No host has it.
const BETWEEN: char = '\u{1}';

/// Which roles are to be active.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Wanted {
    /// Those that are the account's default.
    #[default]
    Default,
    /// All that it has been granted, but for these.
    AllBut(Vec<Name>),
    /// These.
    These(Vec<Name>),
}

/// What global variables say of all accounts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// `mandatory_roles`: those that everybody has been granted.
    pub mandatory: Vec<Name>,
    /// `activate_all_roles_on_login`.
    pub activate_all: bool,
    /// `partial_revokes`: databases of grants are names, not patterns, and what is granted on everything can be revoked in one of them.
    pub partial_revokes: bool,
}

/// What may be done by an account with roles.
type Accesses = HashMap<(Name, Vec<Name>), Arc<Access>>;

/// All accounts at one time.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// Higher than that of any before.
    pub version: u64,
    /// By name.
    pub accounts: BTreeMap<Name, Arc<Account>>,
    /// What holds for all of them.
    pub settings: Arc<Settings>,
    /// Names in the order in which a client's is looked for.
    ordered: Vec<Name>,
    /// Accesses that were asked for, by account and roles.
    known: Mutex<Accesses>,
}

impl Snapshot {
    fn new(
        version: u64,
        accounts: BTreeMap<Name, Arc<Account>>,
        settings: Arc<Settings>,
    ) -> Snapshot {
        let mut ordered: Vec<Name> = accounts.keys().cloned().collect();
        ordered.sort_by_cached_key(order);
        Snapshot {
            version,
            accounts,
            settings,
            ordered,
            known: Mutex::default(),
        }
    }

    /// Whether something has been revoked partially.
    pub fn has_restrictions(&self) -> bool {
        let mut accounts = self.accounts.values();
        accounts.any(|a| !a.grants.restrictions.is_empty())
    }

    /// An account.
    pub fn get(&self, name: &Name) -> Option<&Arc<Account>> {
        self.accounts.get(name)
    }

    /// The account that a client is, which is known by these names and addresses.
    pub fn of_client(&self, user: &str, client: &[String]) -> Option<(&Name, &Arc<Account>)> {
        let fits = |n: &&Name| (n.user.is_empty() || n.user == user) && is_host(&n.host, client);
        let name = self.ordered.iter().find(fits)?;
        self.accounts.get_key_value(name)
    }

    /// All roles that some roles bring along, themselves among them.
    pub fn closure(&self, roles: &[Name]) -> Vec<Name> {
        let mut all: Vec<Name> = Vec::new();
        let mut open: Vec<Name> = roles.to_vec();
        while let Some(role) = open.pop() {
            if all.contains(&role) {
                continue;
            }
            if let Some(account) = self.get(&role) {
                open.extend(account.roles.keys().cloned());
                all.push(role);
            }
        }
        all
    }

    /// The roles that an account has been granted, and those that everybody has.
    pub fn roles_of(&self, name: &Name, account: &Account) -> BTreeSet<Name> {
        let there = |r: &&Name| *r != name && self.accounts.contains_key(*r);
        let mandatory = self.settings.mandatory.iter().filter(there);
        account.roles.keys().chain(mandatory).cloned().collect()
    }

    /// The roles that are meant.
    pub fn meant(&self, name: &Name, wanted: &Wanted) -> Vec<Name> {
        let Some(account) = self.get(name) else {
            return Vec::new();
        };
        let roles = self.roles_of(name, account);
        let granted = |r: &&Name| roles.contains(*r);
        match wanted {
            Wanted::Default => account
                .default_roles
                .iter()
                .filter(granted)
                .cloned()
                .collect(),
            Wanted::AllBut(but) => {
                let all = roles.iter().filter(|r| !but.contains(r));
                all.cloned().collect()
            }
            Wanted::These(list) => list.iter().filter(granted).cloned().collect(),
        }
    }

    /// What an account may with these roles; nothing, if there is no such account any more.
    pub fn access(&self, name: &Name, wanted: &Wanted) -> Arc<Access> {
        let active = self.meant(name, wanted);
        let key = (name.clone(), active);
        let mut known = self.known.lock();
        if let Some(access) = known.get(&key) {
            return access.clone();
        }
        let mut holders = vec![name.clone()];
        holders.extend(self.closure(&key.1));
        let holders = holders
            .iter()
            .filter_map(|n| self.accounts.get_key_value(n));
        let literal = self.settings.partial_revokes;
        let access = Arc::new(Access::of(name, key.1.clone(), holders, literal));
        known.insert(key, access.clone());
        access
    }
}

/// A change of accounts under way: what they are to become.
pub struct Change {
    /// By name.
    pub accounts: BTreeMap<Name, Arc<Account>>,
    changed: BTreeSet<Name>,
}

impl Change {
    /// An account, to change it.
    pub fn get_mut(&mut self, name: &Name) -> Option<&mut Account> {
        let account = self.accounts.get_mut(name)?;
        self.changed.insert(name.clone());
        Some(Arc::make_mut(account))
    }
    /// Makes an account.
    pub fn put(&mut self, name: Name, account: Account) {
        self.changed.insert(name.clone());
        self.accounts.insert(name, Arc::new(account));
    }
    /// Takes an account away.
    pub fn remove(&mut self, name: &Name) -> Option<Arc<Account>> {
        self.changed.insert(name.clone());
        self.accounts.remove(name)
    }
}

/// The accounts of an open database.
pub struct Accounts {
    version: AtomicU64,
    now: RwLock<Arc<Snapshot>>,
    /// Held by who changes them: whether the catalog has them.
    changing: Mutex<bool>,
    /// What is remembered of passwords that were right, by account and hash.
    remembered: Mutex<HashMap<Name, (String, password::Remembered)>>,
    /// Failed logins.
    failures: Mutex<HashMap<Name, login::Failures>>,
    /// What those that have limits have used.
    pub(crate) meters: meter::Meters,
    /// What makes answers about accounts that there are not always the same.
    pub(crate) decoy: [u8; 16],
}

fn kept_key() -> ObjectKey {
    ObjectKey {
        database: ACCOUNTS.into(),
        kind: KEPT,
        name: "accounts".into(),
    }
}

fn key_of(name: &Name) -> ObjectKey {
    ObjectKey {
        database: ACCOUNTS.into(),
        kind: KIND,
        name: format!("{}{BETWEEN}{}", name.user, name.host),
    }
}

/// The accounts that the catalog has, and whether any were ever kept. A database in which nobody has changed accounts has
/// `root`@`localhost`, with all privileges and no password.
fn load(engine: &Engine) -> SqlResult<(BTreeMap<Name, Arc<Account>>, bool)> {
    let mut found: Vec<Object> = Vec::new();
    let visited = engine.each_object(Some(ACCOUNTS), &mut |object| {
        found.push(object);
        Ok(())
    });
    visited.map_err(|e| store_error(e, ""))?;
    let mut accounts = BTreeMap::new();
    for object in found.iter().filter(|o| o.key.kind == KIND) {
        let (user, host) = object.key.name.rsplit_once(BETWEEN).unwrap_or_default();
        let account = Account::decode(&object.body)?;
        accounts.insert(Name::new(user, host), Arc::new(account));
    }
    let kept = found.iter().any(|o| o.key.kind == KEPT);
    if !kept {
        accounts.insert(Name::new("root", "localhost"), Arc::new(root()));
    }
    Ok((accounts, kept))
}

impl Accounts {
    /// Those of a database. Nothing is written before somebody changes them.
    pub fn open(engine: &Engine) -> SqlResult<Accounts> {
        let (accounts, kept) = load(engine)?;
        let decoy = password::random();
        let decoy = decoy.map_err(|e| SqlError::new(1105, format!("no random bytes: {e}")))?;
        Ok(Accounts {
            version: AtomicU64::new(1),
            now: RwLock::new(Arc::new(Snapshot::new(1, accounts, Arc::default()))),
            changing: Mutex::new(kept),
            remembered: Mutex::default(),
            failures: Mutex::default(),
            meters: meter::Meters::default(),
            decoy,
        })
    }

    /// The version of now.
    #[inline]
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Whether the catalog has them: somebody has changed them.
    pub fn are_kept(&self) -> bool {
        *self.changing.lock()
    }

    /// All accounts as they are now.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.now.read().clone()
    }

    fn publish(&self, accounts: BTreeMap<Name, Arc<Account>>, settings: Arc<Settings>) {
        let mut now = self.now.write();
        let version = now.version + 1;
        *now = Arc::new(Snapshot::new(version, accounts, settings));
        self.version.store(version, Ordering::Release);
    }

    /// From now on this holds for all accounts. Error 3896 if partial revokes are to be none while there are some.
    pub fn set(&self, settings: Settings) -> SqlResult<()> {
        let _one = self.changing.lock();
        let now = self.snapshot();
        if !settings.partial_revokes && now.has_restrictions() {
            return Err(SqlError::new(
                3896,
                "At least one partial revoke exists on a database. The system variable '@@partial_revokes' must be set to ON.",
            ));
        }
        self.publish(now.accounts.clone(), Arc::new(settings));
        Ok(())
    }

    /// FLUSH PRIVILEGES: what the catalog says; and failed logins are forgotten.
    pub fn reload(&self, engine: &Engine) -> SqlResult<()> {
        let _one = self.changing.lock();
        self.publish(load(engine)?.0, self.snapshot().settings.clone());
        self.failures.lock().clear();
        self.remembered.lock().clear();
        Ok(())
    }

    /// Changes accounts: all that `f` changes, or nothing if it fails. The owner has no transaction open.
    pub fn change<R>(
        &self,
        engine: &Engine,
        owner: &Arc<Owner>,
        f: impl FnOnce(&mut Change) -> SqlResult<R>,
    ) -> SqlResult<R> {
        let mut kept = self.changing.lock();
        let before = self.snapshot();
        let mut change = Change {
            accounts: before.accounts.clone(),
            changed: BTreeSet::new(),
        };
        let done = f(&mut change)?;
        let Change { accounts, changed } = change;
        let differs = |name: &&Name| before.get(name) != accounts.get(*name);
        let mut written: BTreeSet<&Name> = changed.iter().filter(differs).collect();
        if !written.is_empty() {
            if !*kept {
                written.extend(accounts.keys());
            }
            let body = |name: &Name| accounts.get(name).map(|a| a.encode());
            let mut objects: Vec<_> = written.iter().map(|n| (key_of(n), body(n))).collect();
            if !*kept {
                objects.push((kept_key(), Some(vec![1])));
            }
            let put = engine.put_objects(owner, &objects);
            put.map_err(|e| store_error(e, ""))?;
            *kept = true;
            let changed =
                |n: &Name| before.get(n).map(|a| &a.secret) != accounts.get(n).map(|a| &a.secret);
            self.remembered.lock().retain(|n, _| !changed(n));
            self.publish(accounts, before.settings.clone());
        }
        Ok(done)
    }
}

/// The account that a new database has.
fn root() -> Account {
    let mut account = Account {
        changed: now_us() / 1_000_000,
        ..Account::default()
    };
    account.grants.global = privileges::GLOBAL;
    let all = privileges::DYNAMIC.iter();
    account.grants.dynamic = all.map(|name| ((*name).to_string(), true)).collect();
    account
}

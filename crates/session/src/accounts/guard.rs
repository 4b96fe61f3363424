//! Who a session is: the account it logged in as, its active roles, and by whose right runs what runs.
//!
//! The session's own thread alone changes it; it stands beside what stored functions see of their session, for they run by their definers' rights.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use millpond_sql::error::SqlResult;
use parking_lot::Mutex;

use super::access::{Access, EVERYTHING};
use super::meter::Meter;
use super::names::Name;
use super::{Accounts, Wanted};

/// Who a session is.
pub struct Guard {
    /// [`Access::number`] of what is in force.
    number: AtomicU64,
    /// The version of the accounts that it is of.
    version: AtomicU64,
    /// Whether its statements are counted.
    metered: AtomicBool,
    state: Mutex<State>,
}

struct State {
    /// Where the client is, as messages say it.
    host: String,
    /// What the session itself may.
    own: Arc<Access>,
    /// The roles that SET ROLE made active.
    roles: Wanted,
    /// The definers of the programs that run, outermost first; `None`: whoever called.
    definers: Vec<Option<Arc<Access>>>,
    /// The password must be changed before anything else.
    must_change: bool,
    /// What counts its statements, if its account has limits.
    meter: Option<Meter>,
}

/// The number of who has to change its password first: no plan is checked for it.
const RESTRICTED: u64 = u64::MAX;

impl State {
    fn number(&self) -> u64 {
        match self.must_change {
            true => RESTRICTED,
            false => self.access().number,
        }
    }
    fn access(&self) -> &Arc<Access> {
        let definer = self.definers.iter().rev().find_map(Option::as_ref);
        definer.unwrap_or(&self.own)
    }
}

impl Guard {
    /// Of a session that may do everything.
    pub fn open(name: Name) -> Guard {
        let host = name.host.clone();
        Guard {
            number: AtomicU64::new(EVERYTHING),
            version: AtomicU64::new(0),
            metered: AtomicBool::new(false),
            state: Mutex::new(State {
                host,
                own: Arc::new(Access::everything(name)),
                roles: Wanted::Default,
                definers: Vec::new(),
                must_change: false,
                meter: None,
            }),
        }
    }

    /// From now on the session is this account, with the roles that a session begins with. `most`: `max_user_connections`. Errors 1203 and 1226 if the
    /// account may have no connection more.
    pub fn become_account(
        &self,
        accounts: &Accounts,
        (name, host): (&Name, &str),
        must_change: bool,
        most: u64,
    ) -> SqlResult<()> {
        let snapshot = accounts.snapshot();
        let limits = snapshot.get(name).map(|a| a.limits).unwrap_or_default();
        let roles = self.first_roles(accounts);
        let free = snapshot
            .access(name, &roles)
            .has_dynamic("CONNECTION_ADMIN");
        {
            let mut state = self.state.lock();
            // The connection of the account before has ended.
            state.meter = None;
            let most = if free { 0 } else { most };
            state.meter = accounts.meters.connect(name, limits, most)?;
            self.metered.store(state.meter.is_some(), Ordering::Relaxed);
            state.host = host.to_string();
            state.own = Arc::new(Access::of(name, Vec::new(), std::iter::empty(), false));
            state.roles = roles;
            state.definers.clear();
            state.must_change = must_change;
        }
        self.renew(accounts);
        Ok(())
    }

    /// The roles that a session begins with.
    pub fn first_roles(&self, accounts: &Accounts) -> Wanted {
        match accounts.snapshot().settings.activate_all {
            true => Wanted::AllBut(Vec::new()),
            false => Wanted::Default,
        }
    }

    /// Whether its statements are counted.
    #[inline]
    pub fn is_metered(&self) -> bool {
        self.metered.load(Ordering::Relaxed)
    }

    /// Counts a statement; `changes`: among updates. Error 1226 for one too many in an hour.
    #[cold]
    pub fn meter(&self, changes: bool) -> SqlResult<()> {
        match &self.state.lock().meter {
            Some(meter) => meter.statement(changes),
            None => Ok(()),
        }
    }

    /// The number of what is in force, if it is of the accounts of now.
    #[inline]
    pub fn number(&self, accounts: &Accounts) -> u64 {
        let number = self.number.load(Ordering::Relaxed);
        if number != EVERYTHING && self.version.load(Ordering::Relaxed) != accounts.version() {
            self.renew(accounts);
            return self.number.load(Ordering::Relaxed);
        }
        number
    }

    /// Takes notice of what accounts have become.
    #[cold]
    fn renew(&self, accounts: &Accounts) {
        let mut state = self.state.lock();
        let snapshot = accounts.snapshot();
        if state.own.is_everything() {
            return;
        }
        let name = state.own.name.clone();
        state.own = snapshot.access(&name, &state.roles);
        for definer in state.definers.iter_mut().flatten() {
            *definer = snapshot.access(&definer.name, &Wanted::Default);
        }
        self.version.store(snapshot.version, Ordering::Relaxed);
        self.number.store(state.number(), Ordering::Relaxed);
    }

    /// What is in force.
    pub fn access(&self, accounts: &Accounts) -> Arc<Access> {
        self.number(accounts);
        self.state.lock().access().clone()
    }

    /// What the session itself may, whatever runs.
    pub fn own(&self, accounts: &Accounts) -> Arc<Access> {
        self.number(accounts);
        self.state.lock().own.clone()
    }

    /// Where the client is.
    pub fn host(&self) -> String {
        self.state.lock().host.clone()
    }

    /// SET ROLE.
    pub fn set_roles(&self, accounts: &Accounts, roles: Wanted) {
        self.state.lock().roles = roles;
        self.renew(accounts);
    }

    /// A program begins that runs by this right; `None`: its caller's.
    pub fn enter(&self, definer: Option<Arc<Access>>) {
        let mut state = self.state.lock();
        state.definers.push(definer);
        self.number.store(state.number(), Ordering::Relaxed);
    }

    /// It ends.
    pub fn leave(&self) {
        let mut state = self.state.lock();
        state.definers.pop();
        self.number.store(state.number(), Ordering::Relaxed);
    }

    /// Whether the password must be changed first.
    pub fn must_change(&self) -> bool {
        self.state.lock().must_change
    }

    /// It has been changed.
    pub fn has_changed(&self) {
        let mut state = self.state.lock();
        state.must_change = false;
        self.number.store(state.number(), Ordering::Relaxed);
    }
}

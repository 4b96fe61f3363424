//! Who is connected: the process list, KILL, and the sum of all sessions' counters.
//!
//! | file | owns |
//! |---|---|
//! | `tls` | what a connection's TLS is |
//! | `branches` | whose XA transactions are whose |
//! | `people` | what each account has done |
//!
//! A [`Seat`] is the part of a session that others may look at. Its owner changes it per statement without
//! locks, except that the statement's text is swapped under a mutex of the seat's own when it differs
//! from the previous statement's.

mod branches;
mod people;
mod tls;

use parking_lot::{Condvar, Mutex};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::time::Instant;

use crate::counters::{Counters, Sums};
use millpond_sql::memory::MemoryAccount;
use millpond_store::Owner;
use millpond_store::txn::ProgressLook;
use millpond_store::wait::long;

pub(crate) use branches::Branches;
use people::People;
pub(crate) use people::{Person, Work};
pub use tls::{ClientCertificate, TlsFacts};

/// What a session is doing, as the process list's Command column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Command {
    Connect = 0,
    Sleep = 1,
    Query = 2,
    Execute = 3,
    Prepare = 4,
    Daemon = 5,
}

impl Command {
    fn name(code: u8) -> &'static str {
        match code {
            0 => "Connect",
            1 => "Sleep",
            2 => "Query",
            3 => "Execute",
            5 => "Daemon",
            _ => "Prepare",
        }
    }
}

/// What KILL calls to wake a connection: must be quick and must not call back into the instance.
#[derive(Clone)]
pub struct KillHook(pub Arc<dyn Fn() + Send + Sync>);

impl std::fmt::Debug for KillHook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KillHook")
    }
}

/// Looks whether the client of a connection is gone: must be quick and must not call back into the instance.
#[derive(Clone)]
pub struct ClientLook(pub Arc<dyn Fn() -> bool + Send + Sync>);

impl std::fmt::Debug for ClientLook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ClientLook")
    }
}

/// State of a session in SLEEP.
pub(crate) const USER_SLEEP: &str = "User sleep";
/// State of a session in GET_LOCK.
pub(crate) const USER_LOCK: &str = "User lock";

/// What function a session waits in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Waits {
    /// None.
    Nowhere = 0,
    /// SLEEP.
    Sleep = 1,
    /// GET_LOCK.
    Lock = 2,
}

/// What the event scheduler waits for, as its state says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Awaits {
    /// An event to be made.
    Event = 0,
    /// The time of the next one.
    Activation = 1,
}

/// States of [`Seat::kill`].
const ALIVE: u8 = 0;
const KILL_QUERY: u8 = 1;
const KILL_CONNECTION: u8 = 2;

/// What other sessions see of a session.
pub(crate) struct Seat {
    pub id: u32,
    user: Mutex<Arc<str>>,
    pub host: String,
    /// The connection's TLS, if it has any.
    pub tls: Option<Arc<TlsFacts>>,
    /// What its client says of itself.
    pub attributes: Vec<(String, String)>,
    owner: Mutex<Arc<Owner>>,
    pub counters: Counters,
    /// What its statements did, by kind.
    pub work: Work,
    /// What its statements' buffers are charged to.
    pub memory: Arc<MemoryAccount>,
    on_kill: Option<KillHook>,
    database: Mutex<Option<String>>,
    command: AtomicU8,
    since_us: AtomicU64,
    info: Mutex<Option<Arc<str>>>,
    kill: AtomicU8,
    /// Held while `kill` and the owner's own flag change together.
    killing: Mutex<()>,
    /// Wakes the session out of SLEEP.
    woken: Condvar,
    /// [`Waits`].
    waits: AtomicU8,
    is_gone: Option<ClientLook>,
    /// What it waits for, if it is the event scheduler's ([`Command::Daemon`]).
    awaits: AtomicU8,
}

/// A row of the process list.
#[derive(Clone, Debug)]
pub(crate) struct Process {
    pub id: u32,
    pub user: String,
    pub host: String,
    pub database: Option<String>,
    pub command: &'static str,
    pub seconds: u64,
    pub state: Cow<'static, str>,
    pub info: Option<Arc<str>>,
    /// How far the statement has come, if it is one that says so.
    pub progress: Option<ProgressLook>,
    /// Bytes that its buffers hold now, and the most that they held in the statement.
    pub memory: (u64, u64),
}

impl Seat {
    /// That of a new connection without TLS.
    pub fn new(
        id: u32,
        user: String,
        host: String,
        owner: Arc<Owner>,
        memory: Arc<MemoryAccount>,
        on_kill: Option<KillHook>,
        now_us: u64,
    ) -> Seat {
        Seat {
            id,
            user: Mutex::new(user.into()),
            host,
            tls: None,
            attributes: Vec::new(),
            owner: Mutex::new(owner),
            counters: Counters::new(),
            work: Work::default(),
            memory,
            on_kill,
            database: Mutex::new(None),
            command: AtomicU8::new(Command::Connect as u8),
            since_us: AtomicU64::new(now_us),
            info: Mutex::new(None),
            kill: AtomicU8::new(ALIVE),
            killing: Mutex::new(()),
            woken: Condvar::new(),
            waits: AtomicU8::new(Waits::Nowhere as u8),
            is_gone: None,
            awaits: AtomicU8::new(Awaits::Event as u8),
        }
    }
    /// The same over TLS, if there is any.
    pub fn over(self, tls: Option<Arc<TlsFacts>>) -> Seat {
        Seat { tls, ..self }
    }
    /// The same of a client that says this of itself.
    pub fn saying(self, attributes: Vec<(String, String)>) -> Seat {
        Seat { attributes, ..self }
    }
    /// The same with a client that may be looked for.
    pub fn watching(self, is_gone: Option<ClientLook>) -> Seat {
        Seat { is_gone, ..self }
    }
    /// Whether its client is known to be gone.
    pub fn client_is_gone(&self) -> bool {
        self.is_gone.as_ref().is_some_and(|look| (look.0)())
    }
    /// Says what function it waits in.
    pub fn waits_in(&self, function: Waits) {
        self.waits.store(function as u8, Ordering::Relaxed);
    }
    /// Where the client is, without its port.
    pub fn address(&self) -> &str {
        self.host.rsplit_once(':').map_or(&*self.host, |(h, _)| h)
    }
    /// Who the client says it is.
    pub fn user(&self) -> Arc<str> {
        self.user.lock().clone()
    }
    /// It is somebody else from now on.
    pub fn set_user(&self, user: &str) {
        *self.user.lock() = user.into();
    }
    /// Who waits for locks in its name.
    pub fn owner(&self) -> Arc<Owner> {
        self.owner.lock().clone()
    }
    /// Another does from now on, to whom `hand_over` gives what the one before had, kills among it.
    pub fn change_owner(&self, to: &Arc<Owner>, hand_over: impl FnOnce(&Owner)) {
        let _one_at_a_time = self.killing.lock();
        let mut owner = self.owner.lock();
        hand_over(&owner);
        *owner = to.clone();
    }
    /// A command starts.
    #[inline]
    pub fn busy(&self, command: Command, now_us: u64) {
        self.command.store(command as u8, Ordering::Relaxed);
        self.since_us.store(now_us, Ordering::Relaxed);
    }
    /// Shows this text. Called only when it differs from the last.
    pub fn show(&self, text: &Arc<str>) {
        *self.info.lock() = Some(text.clone());
    }
    /// It is the event scheduler's, which waits for this.
    pub fn daemon(&self, awaits: Awaits, now_us: u64) {
        self.awaits.store(awaits as u8, Ordering::Relaxed);
        self.busy(Command::Daemon, now_us);
    }
    fn is_daemon(&self) -> bool {
        self.command.load(Ordering::Relaxed) == Command::Daemon as u8
    }
    /// The command is done.
    #[inline]
    pub fn idle(&self) {
        self.command.store(Command::Sleep as u8, Ordering::Relaxed);
    }
    /// What it shows.
    pub fn text(&self) -> Option<Arc<str>> {
        self.info.lock().clone()
    }
    /// What it is doing.
    pub fn command(&self) -> &'static str {
        Command::name(self.command.load(Ordering::Relaxed))
    }
    pub fn set_database(&self, name: Option<&str>) {
        *self.database.lock() = name.map(str::to_string);
    }
    /// Whether the connection was killed.
    #[inline]
    pub fn killed(&self) -> bool {
        self.kill.load(Ordering::Acquire) == KILL_CONNECTION
    }
    /// Whether the statement (or the connection) was killed.
    #[inline]
    pub fn interrupted(&self) -> bool {
        self.kill.load(Ordering::Acquire) != ALIVE
    }
    /// A statement is about to start: a KILL QUERY that came before is over.
    pub fn forget_kill_query(&self) {
        let _one_at_a_time = self.killing.lock();
        if self.kill.load(Ordering::Acquire) == KILL_QUERY {
            self.kill.store(ALIVE, Ordering::Release);
            self.owner().clear_kill();
        }
    }
    /// KILL. A KILL QUERY of a session that runs nothing does nothing.
    pub fn kill(&self, connection: bool) {
        {
            let _one_at_a_time = self.killing.lock();
            if connection {
                self.kill.store(KILL_CONNECTION, Ordering::Release);
            } else if self.command.load(Ordering::Relaxed) == Command::Sleep as u8
                || self.kill.load(Ordering::Acquire) != ALIVE
            {
                return;
            } else {
                self.kill.store(KILL_QUERY, Ordering::Release);
            }
            self.owner().kill();
            self.woken.notify_all();
        }
        if connection && let Some(hook) = &self.on_kill {
            (hook.0)();
        }
    }
    /// Sleeps until a point in time, or until the session is killed.
    pub fn doze(&self, until: Instant) {
        self.waits_in(Waits::Sleep);
        let mut killing = self.killing.lock();
        while !self.interrupted() {
            if long(|| self.woken.wait_until(&mut killing, until)).timed_out() {
                break;
            }
        }
        self.waits_in(Waits::Nowhere);
    }
    /// Its row of the process list.
    pub fn process(&self, now_us: u64) -> Process {
        let command = self.command.load(Ordering::Relaxed);
        let idle = command == Command::Sleep as u8;
        let since = self.since_us.load(Ordering::Relaxed);
        Process {
            id: self.id,
            user: self.user().to_string(),
            host: self.host.clone(),
            database: self.database.lock().clone(),
            command: if self.killed() {
                "Killed"
            } else {
                Command::name(command)
            },
            seconds: now_us.saturating_sub(since) / 1_000_000,
            state: Cow::Borrowed(match self.waits.load(Ordering::Relaxed) {
                _ if idle => "",
                _ if command == Command::Daemon as u8 => {
                    match self.awaits.load(Ordering::Relaxed) {
                        0 => "Waiting on empty queue",
                        _ => "Waiting for next activation",
                    }
                }
                1 => USER_SLEEP,
                2 => USER_LOCK,
                _ => "executing",
            }),
            memory: (self.memory.used() as u64, self.memory.peak() as u64),
            progress: self.owner().progress().look(),
            info: if idle { None } else { self.info.lock().clone() },
        }
    }
}

/// All sessions of an instance. Its mutex is taken at connect, at disconnect and by whoever looks at the
/// list, never by a statement.
pub(crate) struct Registry {
    seats: Mutex<BTreeMap<u32, Arc<Seat>>>,
    /// Whether one of them is the event scheduler's; changes under the lock of `seats`.
    daemon: AtomicBool,
    next_id: AtomicU32,
    /// Counters of sessions that ended.
    past: Mutex<Sums>,
    /// What sessions did that ended, by account.
    people: People,
    /// Sessions ever made.
    pub connections: AtomicU64,
    max_used: AtomicU64,
}

impl Registry {
    pub fn new() -> Registry {
        Registry {
            seats: Mutex::new(BTreeMap::new()),
            daemon: AtomicBool::new(false),
            next_id: AtomicU32::new(1),
            past: Mutex::new(Sums::new()),
            people: People::default(),
            connections: AtomicU64::new(0),
            max_used: AtomicU64::new(0),
        }
    }
    /// A connection id that no session has.
    pub fn next_id(&self) -> u32 {
        loop {
            let id = self.next_id.fetch_add(1, Ordering::Relaxed);
            if id != 0 && !self.seats.lock().contains_key(&id) {
                return id;
            }
        }
    }
    pub fn enter(&self, seat: Arc<Seat>) {
        self.people.enter(&seat);
        let count = {
            let mut seats = self.seats.lock();
            seats.insert(seat.id, seat);
            seats.len() as u64 - u64::from(self.daemon.load(Ordering::Relaxed))
        };
        self.connections.fetch_add(1, Ordering::Relaxed);
        self.max_used.fetch_max(count, Ordering::Relaxed);
    }
    /// The event scheduler begins. It is no connection.
    pub fn enter_daemon(&self, seat: Arc<Seat>) {
        let mut seats = self.seats.lock();
        self.daemon.store(true, Ordering::Relaxed);
        seats.insert(seat.id, seat);
    }
    pub fn leave(&self, seat: &Seat) {
        let mut past = self.past.lock();
        let mut seats = self.seats.lock();
        if seat.is_daemon() {
            self.daemon.store(false, Ordering::Relaxed);
        }
        seats.remove(&seat.id);
        drop(seats);
        seat.counters.sum_into(&mut past);
        drop(past);
        self.people.leave(seat);
    }
    /// A session is somebody else's from now on.
    pub fn rename(&self, seat: &Seat, user: &str) {
        self.people.leave(seat);
        seat.set_user(user);
        self.people.enter(seat);
    }
    /// What each account has done, with the sessions that there are, by name.
    pub fn people(&self) -> Vec<Person> {
        let seats = self.all();
        self.people.read(seats.iter().filter(|s| !s.is_daemon()))
    }
    /// Forgets what accounts did that are not connected.
    pub fn forget_people(&self) {
        self.people.forget();
    }
    pub fn get(&self, id: u32) -> Option<Arc<Seat>> {
        self.seats.lock().get(&id).cloned()
    }
    /// Sessions; the event scheduler is none.
    pub fn count(&self) -> usize {
        let seats = self.seats.lock();
        seats.len() - usize::from(self.daemon.load(Ordering::Relaxed))
    }
    pub fn all(&self) -> Vec<Arc<Seat>> {
        self.seats.lock().values().cloned().collect()
    }
    /// The process list, by id.
    pub fn processes(&self, now_us: u64) -> Vec<Process> {
        self.all().iter().map(|s| s.process(now_us)).collect()
    }
    /// Counters of all sessions, past and present.
    pub fn sums(&self) -> Sums {
        let past = self.past.lock();
        let mut sums = past.clone();
        for seat in self.seats.lock().values() {
            seat.counters.sum_into(&mut sums);
        }
        sums
    }
    /// FLUSH STATUS: a session's counters go to the instance's and start at zero.
    pub fn drain(&self, seat: &Seat) {
        seat.counters.drain_into(&mut self.past.lock());
    }
    /// Most sessions at one time, and sessions running a statement now.
    pub fn usage(&self) -> (u64, u64) {
        let running = self
            .seats
            .lock()
            .values()
            .filter(|s| s.command.load(Ordering::Relaxed) > Command::Sleep as u8 && !s.is_daemon())
            .count() as u64;
        (self.max_used.load(Ordering::Relaxed), running)
    }
}

//! Which thread serves which connection.
//!
//! | file | owns |
//! |---|---|
//! | `state` | the numbers: who works, who waits, who should come |
//! | `poller` | the sockets of connections that nobody serves |
//! | `worker` | what a thread does |
//! | `timer` | what is done because time has passed |
//!
//! With `thread_handling = pool-of-threads`:
//!
//! **A connection** belongs to one at a time: (1) *waiting*: the pool has it, and the poller its socket, armed for one event; (2) *ready*: its client has sent something, or has
//! been silent for too long, and it stands in a queue; (3) *served*: a thread has it, and nobody else knows of it. A new one is greeted by whoever accepts it and then waits, so
//! that a client which says nothing takes no thread. KILL and a stop shut its socket, which is an event like any other.
//!
//! **Few connections** keep a thread each, which receives and sends as if there were no pool: a command is one `recv` and one `send`. It leaves when its client has sent nothing for
//! [`LINGER`]. So a connection that is busy costs what it costs with a thread of its own, and one that is not takes no thread.
//!
//! **Many** (more are active than `millpond_thread_pool_keep`: the pool is *crowded*): a thread runs one command, hands the connection back, and takes the one that has been ready the
//! longest; those in a transaction go first, eight to each that isn't, since others may wait for their locks. Of statements run as many at a time as twice `thread_pool_size`, not counting those that
//! wait (for a row or metadata lock, a page from the disk, the log, SLEEP, GET_LOCK: [`millpond_session::Waiter`]), nor those that have run for longer than `thread_pool_stall_limit`. So long statements hold up nobody
//! for longer than that, and those that wait for a lock don't keep its holder from being served. It ends when few connections are active.
//!
//! A thread each is the faster way for longer than one would think where clients are on the same machine: a client that is answered by a thread which then sleeps goes on at once on the same
//! processor, and the two of them find their memory in its caches. It ends where threads that hold a latch lose their processor to hundreds of others, and all who want the latch queue behind them: inserts at
//! the end of a tree first. Figures are in docs/connections.md.
//!
//! **Threads** without a connection wait for events (one at a time, [`Poller::wait`]), or for work, for `thread_pool_idle_timeout` at most. Whoever changes the numbers calls as many as are
//! missing ([`State::missing`]), and starts them if none waits. One thread looks at the clock for all.
//!
//! Otherwise each connection has a thread from accept to end, and none is shared.
//!
//! **Locks.** `state` is a leaf: under it nothing is called but the clock, conditions and the start of a thread, and no connection is dropped. A connection enters `waiting` before it is armed, so that
//! no event comes too early; keys are never used twice, so one that comes too late finds nothing.
//!
//! **Failure.** A panic in a command is the connection's (`conn`); its thread goes with it, for what it had in thread-local variables may be halfway. If a socket can't be armed, the connection gets a thread of its own.
//! If a thread can't be started, what is ready waits for those that there are, and it is tried again every second.

mod poller;
mod state;
mod timer;
mod worker;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use millpond_session::{SqlError, ThreadCounts};
use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::backend::Backend;
use crate::conn::Client;
use crate::refusal::refuse;
use crate::service::Service;
use poller::Poller;
use state::{Settings, State, Waiting};

/// How long a thread stays with a connection that is silent.
const LINGER: Duration = Duration::from_millis(100);
/// Stack of a thread. Only touched pages count as memory. Just under 2 MiB: the system backs aligned
/// ranges of 2 MiB by one huge page at the first touch where it is so configured.
const STACK: usize = (2 << 20) - (128 << 10);
/// That of the timer.
const TIMER_STACK: usize = 256 << 10;

/// A server's threads for connections.
pub(crate) struct Pool<B: Backend> {
    service: Arc<Service<B>>,
    /// `None`: each connection has a thread.
    poller: Option<Poller>,
    /// [`State::is_crowded`], for those who keep a connection.
    crowded: AtomicBool,
    state: Mutex<State<Client<B>>>,
    /// Threads without work wait here,
    called: Condvar,
    /// the timer here,
    tick: Condvar,
    /// and whoever waits for the last of them here.
    ended: Condvar,
    /// Threads ever started.
    started: AtomicU64,
}

type Guard<'a, B> = MutexGuard<'a, State<Client<B>>>;

/// What the variables say now.
fn settings<B: Backend>(backend: &B) -> Settings {
    let number = |name, default| backend.global_u64(name).unwrap_or(default);
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    Settings {
        size: number("thread_pool_size", processors as u64) as usize,
        keep: number("millpond_thread_pool_keep", 128) as usize,
        most_threads: number("thread_pool_max_threads", 65_536) as usize,
        stall: Duration::from_millis(number("thread_pool_stall_limit", 60)),
        idle: Duration::from_secs(number("thread_pool_idle_timeout", 60)),
    }
}

impl<B: Backend> Pool<B> {
    /// Starts the threads that there always are.
    pub fn start(service: Arc<Service<B>>) -> io::Result<Arc<Pool<B>>> {
        let own = service.backend.global_text("thread_handling").as_deref()
            == Some("one-thread-per-connection");
        let poller = match own {
            true => None,
            false => Some(Poller::new()?),
        };
        let pool = Arc::new(Pool {
            state: Mutex::new(State::new(settings(&service.backend))),
            service,
            poller,
            crowded: AtomicBool::new(false),
            called: Condvar::new(),
            tick: Condvar::new(),
            ended: Condvar::new(),
            started: AtomicU64::new(0),
        });
        let looked_at = Arc::downgrade(&pool);
        let look = move || looked_at.upgrade().map(|pool| pool.counts());
        pool.service
            .backend
            .show_threads(Arc::new(move || look().unwrap_or_default()));
        let clock = pool.clone();
        pool.spawn("pool-timer", TIMER_STACK, move |_| clock.keep_time())?;
        let mut state = pool.state.lock();
        state.timing = true;
        pool.settle(&mut state);
        drop(state);
        Ok(pool)
    }

    /// How many threads there are.
    fn counts(&self) -> ThreadCounts {
        let state = self.state.lock();
        let started = self.started.load(Ordering::Relaxed);
        ThreadCounts {
            threads: state.threads as u64,
            idle: (state.spare + state.polling) as u64,
            // The timer is none of them.
            started: started.saturating_sub(1),
        }
    }

    /// Serves a connection from here on.
    pub fn admit(self: &Arc<Self>, mut client: Client<B>) {
        match self.poller {
            None => self.keep(client),
            Some(_) => {
                if client.greet() {
                    self.park(client, 0, None);
                }
            }
        }
    }

    /// Gives a connection a thread for as long as it lasts.
    fn keep(self: &Arc<Self>, client: Client<B>) {
        let (pool, socket) = (self.clone(), client.socket().clone());
        self.state.lock().threads += 1;
        if let Err(e) = self.spawn("connection", STACK, move |_| pool.serve_to_the_end(client)) {
            self.state.lock().threads -= 1;
            tracing::error!(error = %e, "cannot start a thread for a connection");
            let e = SqlError::new(1135, format!("Can't create a new thread: {e}"));
            refuse(socket, &e);
        }
    }

    /// A connection waits for its client; thread `leaving` served it until now.
    fn park(self: &Arc<Self>, mut client: Client<B>, period: u64, leaving: Option<u64>) {
        let Some(poller) = &self.poller else { return };
        let (key, socket) = (client.key(), client.socket().clone());
        let known = std::mem::replace(&mut client.armed, true);
        let waiting = waiting(client, period);
        {
            let mut state = self.state.lock();
            if let Some(me) = leaving {
                state.leave(me);
            }
            state.waiting.insert(key, waiting);
        }
        if let Err(e) = poller.arm(&socket, key, known) {
            tracing::error!(error = %e, "cannot wait for a client among others");
            let back = self.state.lock().waiting.remove(&key);
            if let Some(waiting) = back {
                self.keep(waiting.client);
            }
        }
    }

    /// To be called when numbers have changed: tells everybody, and calls the threads that are missing.
    fn settle(self: &Arc<Self>, state: &mut Guard<'_, B>) {
        if self.poller.is_none() || state.stopping {
            return;
        }
        if self.crowded.load(Ordering::Relaxed) != state.is_crowded() {
            self.crowded.store(state.is_crowded(), Ordering::Relaxed);
            self.tick.notify_one();
        }
        while state.missing() > 0 {
            if state.spare > 0 && self.called.notify_one() {
                state.coming += 1;
                continue;
            }
            if state.threads >= state.settings.most_threads {
                return;
            }
            let pool = self.clone();
            if let Err(e) = self.spawn("connection", STACK, move |me| pool.work(me)) {
                tracing::error!(error = %e, "cannot start a thread for connections");
                return;
            }
            state.threads += 1;
            state.coming += 1;
        }
    }

    fn spawn(
        &self,
        name: &str,
        stack: usize,
        run: impl FnOnce(u64) + Send + 'static,
    ) -> io::Result<()> {
        let me = self.started.fetch_add(1, Ordering::Relaxed);
        let thread = std::thread::Builder::new().name(name.into());
        thread.stack_size(stack).spawn(move || run(me))?;
        Ok(())
    }

    /// Ends all threads, once no connection is left to be served; those of connections that don't end are not waited for.
    pub fn stop(&self, grace: Duration) {
        let mut state = self.state.lock();
        state.stopping = true;
        let left = state.drain();
        self.called.notify_all();
        self.tick.notify_all();
        drop(state);
        drop(left);
        if let Some(poller) = &self.poller {
            poller.stop();
        }
        let until = Instant::now() + grace;
        let mut state = self.state.lock();
        while state.threads > 0 || state.timing {
            if self.ended.wait_until(&mut state, until).timed_out() {
                return;
            }
        }
    }
}

/// A connection as it waits.
fn waiting<B: Backend>(client: Client<B>, period: u64) -> Waiting<Client<B>> {
    let patience = Some(client.patience()).filter(|time| !time.is_zero());
    Waiting {
        until: patience.map(|time| Instant::now() + time),
        started: client.is_in_transaction(),
        client,
        period,
    }
}

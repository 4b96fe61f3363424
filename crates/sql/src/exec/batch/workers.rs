//! The threads of a batch run.
//!
//! A run takes the session's own thread and as many more as are allowed (`millpond_parallel_workers`) and idle: all runs of the
//! process together never have more threads beside the sessions' own than the machine has cores but one. Each worker has a session
//! environment of its own, whose warnings go to the session when all have ended; memory is charged to the statement under one lock,
//! in large steps. A worker looks for KILL and the deadline at every batch; the first that fails stops the others.

use std::cell::{Cell, RefCell};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use millpond_store::Owner;
use parking_lot::Mutex;

use crate::computed::take_failure;
use crate::env::SessionEnv;
use crate::env::overdue;
use crate::error::SqlError;
use crate::exec::state::State;
use crate::memory::Charge;
use crate::store_error::interrupted;
use crate::value::{ConversionEnv, Value};

/// Why a run ended early.
#[derive(Debug)]
pub enum Halt {
    /// The statement fails.
    Error(SqlError),
    /// What it would keep is not for memory, or some value not for batches: the block is to run row by row. Nothing was given out.
    Unfit,
    /// Another worker has ended the run, or nobody wants more rows.
    Stopped,
}

impl From<SqlError> for Halt {
    fn from(e: SqlError) -> Halt {
        Halt::Error(e)
    }
}

/// A result of something that may end a run.
pub type Ran<T> = Result<T, Halt>;

/// Threads at work beside the sessions' own.
static EXTRA: AtomicUsize = AtomicUsize::new(0);

/// Cores of this machine that this process may use.
pub fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// Leave to have so many threads beside one's own.
struct Permit(usize);

impl Permit {
    fn take(wanted: usize) -> Permit {
        let most = cores() - 1;
        let mut got = 0;
        let _ = EXTRA.fetch_update(Relaxed, Relaxed, |now| {
            got = wanted.min(most.saturating_sub(now));
            Some(now + got)
        });
        Permit(got)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        EXTRA.fetch_sub(self.0, Relaxed);
    }
}

/// What the workers of a run share.
pub struct Shared<'s> {
    owner: &'s Owner,
    charge: Mutex<Charge>,
    limit: usize,
    ended: AtomicBool,
    /// Rows read from tables.
    pub examined: AtomicUsize,
}

/// One worker.
pub struct Worker<'w> {
    /// Its environment.
    pub env: SessionEnv,
    /// What all share.
    pub shared: &'w Shared<'w>,
}

/// Bytes that a worker charges at a time.
const STEP_BYTES: usize = 256 << 10;

/// Rows between two looks at whether the statement was killed, where nothing is read.
const LOOK_ROWS: usize = 1 << 14;

/// What one buffer of one worker has charged.
#[derive(Default)]
pub struct Held {
    bytes: usize,
}

impl Held {
    /// Charges what is lacking to `bytes`.
    pub fn grow_to(&mut self, bytes: usize, shared: &Shared<'_>) -> Ran<()> {
        if bytes <= self.bytes {
            return Ok(());
        }
        let more = (bytes - self.bytes).max(STEP_BYTES);
        shared.charge(more)?;
        self.bytes += more;
        Ok(())
    }
    /// What another has charged is this one's from now on.
    pub fn join(&mut self, other: Held) {
        self.bytes += other.bytes;
    }
    /// Its buffer is gone.
    pub fn release(self, shared: &Shared<'_>) {
        shared.release(self.bytes);
    }
}

impl<'s> Shared<'s> {
    /// Of a statement that may keep so many bytes.
    pub fn new(st: &State<'s>, limit: usize) -> Shared<'s> {
        Shared {
            owner: st.owner,
            charge: Mutex::new(st.charge()),
            limit,
            ended: AtomicBool::new(false),
            examined: AtomicUsize::new(0),
        }
    }
    /// Charges bytes, which stay charged until they are released or the run is over.
    pub fn charge(&self, bytes: usize) -> Ran<()> {
        let mut charge = self.charge.lock();
        if charge.used().saturating_add(bytes) > self.limit || !charge.try_grow(bytes) {
            return Err(Halt::Unfit);
        }
        Ok(())
    }
    /// Gives back what was charged.
    pub fn release(&self, bytes: usize) {
        self.charge.lock().shrink(bytes);
    }
    /// Within long work that reads nothing: whether the statement was killed. `done`: how much of it is done.
    #[inline]
    pub fn look(&self, done: usize) -> Ran<()> {
        if done.is_multiple_of(LOOK_ROWS) && self.owner.is_killed() {
            return Err(Halt::Error(interrupted()));
        }
        Ok(())
    }
    /// Ends the run for all workers.
    pub fn stop(&self) {
        self.ended.store(true, Relaxed);
    }
}

impl Worker<'_> {
    /// Between two batches: whether to go on.
    pub fn check(&self) -> Ran<()> {
        if self.shared.ended.load(Relaxed) {
            return Err(Halt::Stopped);
        }
        if self.shared.owner.is_killed() {
            return Err(Halt::Error(interrupted()));
        }
        if self.env.is_overdue() {
            return Err(Halt::Error(overdue()));
        }
        Ok(())
    }
}

/// System variables that functions ask for while they run.
const ASKED: [&str; 1] = ["max_allowed_packet"];

/// An environment for a worker of a session's statement. What expressions for batches may not ask for is not in it.
fn environment(env: &SessionEnv) -> SessionEnv {
    let known: Vec<(&str, Option<Value<'static>>)> = ASKED
        .iter()
        .map(|name| (*name, (env.sys_var)("", name).ok()))
        .collect();
    SessionEnv {
        conversion: ConversionEnv {
            now: env.now.clone(),
            zone: env.zone.clone(),
            sql_mode: env.sql_mode.clone(),
            div_increment: env.div_increment.clone(),
            rows_sent: Cell::default(),
            told: RefCell::default(),
            behind: RefCell::default(),
            cast_name: RefCell::default(),
            strict_write: env.strict_write.clone(),
            diagnostics: RefCell::default(),
        },
        connection_id: env.connection_id,
        database: RefCell::default(),
        user: String::new(),
        account: RefCell::default(),
        roles: RefCell::default(),
        collation: env.collation.clone(),
        names: env.names.clone(),
        week_format: env.week_format.clone(),
        client: env.client.clone(),
        switches: env.switches.clone(),
        auto_is_null: Cell::default(),
        generated: Cell::default(),
        foreign_key_checks: env.foreign_key_checks.clone(),
        last_insert_id: Cell::default(),
        row_count: Cell::default(),
        found_rows: Cell::default(),
        rows_examined: Cell::default(),
        effort: Default::default(),
        user_vars: RefCell::default(),
        user_collations: RefCell::default(),
        vars_charge: RefCell::default(),
        lists: Default::default(),
        sys_var: Box::new(move |_, name| {
            let found = known.iter().find(|(n, _)| *n == name);
            found
                .and_then(|(_, v)| v.clone())
                .ok_or_else(|| SqlError::new(1193, format!("Unknown system variable '{name}'")))
        }),
        services: None,
        deadline: env.deadline.clone(),
        limits: Cell::default(),
        temporary: Default::default(),
        profiles: Default::default(),
        query_attributes: Default::default(),
        reads_whole: Default::default(),
    }
}

/// Runs `work` in up to `most` workers, of which the calling thread is one; what each returned.
pub fn run<T: Send>(
    session: &SessionEnv,
    shared: &Shared<'_>,
    most: usize,
    work: impl Fn(&Worker<'_>) -> Ran<T> + Sync,
) -> Ran<Vec<T>> {
    let permit = Permit::take(most.saturating_sub(1));
    let envs: Vec<SessionEnv> = (0..permit.0).map(|_| environment(session)).collect();
    let own = Worker {
        env: environment(session),
        shared,
    };
    let work = &work;
    let (first, others) = std::thread::scope(|scope| {
        let threads: Vec<_> = envs
            .into_iter()
            .map(|env| {
                let body = move || {
                    let worker = Worker { env, shared };
                    let done = finish(work(&worker), shared);
                    (done, worker.env.conversion.diagnostics.take())
                };
                std::thread::Builder::new()
                    .name("millpond-scan".into())
                    .stack_size(STACK_BYTES)
                    .spawn_scoped(scope, body)
            })
            .collect();
        let first = finish(work(&own), shared);
        let others: Vec<_> = threads
            .into_iter()
            .filter_map(Result::ok)
            .map(|t| t.join().unwrap_or_else(|p| std::panic::resume_unwind(p)))
            .collect();
        (first, others)
    });
    let mut results = vec![(first, own.env.conversion.diagnostics.take())];
    results.extend(others);
    settle(session, results)
}

/// A worker's stack: an expression may be deep, as it may be in the session's thread.
const STACK_BYTES: usize = 8 << 20;

/// Ends the run for the others if a worker has failed.
fn finish<T>(done: Ran<T>, shared: &Shared<'_>) -> Ran<T> {
    let done = match take_failure() {
        Some(e) if done.is_ok() => Err(Halt::Error(e)),
        _ => done,
    };
    if done.is_err() {
        shared.stop();
    }
    done
}

/// What all workers returned, or why the run ended. Warnings are the session's if the run is.
fn settle<T>(
    env: &SessionEnv,
    results: Vec<(Ran<T>, Vec<crate::value::env::Diagnostic>)>,
) -> Ran<Vec<T>> {
    let mut values = Vec::new();
    let mut halt: Option<Halt> = None;
    let mut warnings = Vec::new();
    for (done, said) in results {
        warnings.extend(said);
        match (done, &halt) {
            (Ok(v), _) => values.push(v),
            // A statement that fails fails, whatever the others met.
            (Err(Halt::Error(e)), _) => halt = Some(Halt::Error(e)),
            (Err(e), None | Some(Halt::Stopped)) => halt = Some(e),
            (Err(_), Some(_)) => {}
        }
    }
    match halt {
        Some(Halt::Unfit) => Err(Halt::Unfit),
        halt => {
            for w in warnings {
                env.say(w);
            }
            halt.map_or(Ok(values), Err)
        }
    }
}

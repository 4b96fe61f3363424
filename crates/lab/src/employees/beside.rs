//! Point reads and writes on the table by a few connections, for a while alone and then while something is done to the table.
//!
//! In turns: four rows read by their number, an update of an indexed column, one of another, a row inserted and deleted again. Each is
//! a transaction, prepared once. A statement belongs to what is done if it was under way while that was; so one that waited all along
//! counts there, with its whole time.

use super::contents::{badge, born, hired};
use super::{DEPARTMENTS, Employees, TABLE};
use crate::frame::{DATABASE, Stop};
use crate::random::Random;
use crate::stats::{Latencies, Timeline, WINDOW};
use crate::target::{Client, Param, StatementId, Target, error_code, is_conflict, words};
use crate::{Error, Result};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Barrier, OnceLock};
use std::time::{Duration, Instant};

/// Reads of a turn.
const READS: usize = 4;
/// What a timeline holds at most, ms: what comes later is in the latencies only.
const TIMELINE: u64 = 3_600_000;

/// The load.
#[derive(Clone, Copy)]
pub struct Beside<'a> {
    /// Where.
    pub target: &'a dyn Target,
    /// On what.
    pub employees: &'a Employees,
    /// Connections.
    pub threads: u16,
    /// How long it runs alone.
    pub before: Duration,
    /// How long it is watched at least from when something begins to be done, for what takes next to nothing has no rate.
    pub least: Duration,
    /// Asked by the experiment.
    pub stop: &'a Stop,
}

/// Statements of a time.
#[derive(Clone, Debug, Default)]
pub struct Felt {
    /// How long selects took.
    pub reads: Latencies,
    /// How long updates, inserts and deletes took, with their commits.
    pub writes: Latencies,
    /// Statements finished, for the rate.
    pub finished: u64,
    /// Seconds that these are of.
    pub seconds: f64,
}

impl Felt {
    /// Adds another time.
    pub fn add(&mut self, other: &Felt) {
        self.reads.add(&other.reads);
        self.writes.add(&other.writes);
        self.finished += other.finished;
        self.seconds += other.seconds;
    }

    /// Statements per second.
    pub fn rate(&self) -> f64 {
        self.finished as f64 / self.seconds
    }
}

/// What the load felt.
#[derive(Clone, Debug, Default)]
pub struct Beheld {
    /// Alone.
    pub before: Felt,
    /// While it was done: latencies of statements beside it, and the rate from its beginning on.
    pub during: Felt,
    /// Of all.
    pub timeline: Timeline,
    /// When it was done, seconds on the timeline.
    pub done: (f64, f64),
    /// Statements that failed, deadlocks included.
    pub failed: u64,
    /// The first failure that was no deadlock and no lock wait that took too long.
    pub error: Option<String>,
}

impl Beside<'_> {
    /// Does the work beside the load.
    pub fn run<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<(T, Beheld)> {
        let clock = Clock::new(self.threads);
        std::thread::scope(|scope| {
            let thread = |n: u16| {
                let clock = &clock;
                scope.spawn(move || {
                    let done = self.thread(u64::from(n) + 1, clock);
                    // One that fails ends the run for all.
                    done.inspect_err(|_| clock.halt.store(true, Ordering::Relaxed))
                })
            };
            let threads: Vec<_> = (0..self.threads).map(thread).collect();
            let start = clock.begin();
            self.stop.sleep_until(start + self.before);
            clock.mark(&clock.from);
            let worked = work();
            clock.mark(&clock.until);
            let least = clock.at(&clock.from) + self.least;
            self.stop.sleep_until(start + least);
            clock.halt.store(true, Ordering::Relaxed);
            let watched = start.elapsed();
            let mut all = Recorded::default();
            let mut failed = Ok(());
            for thread in threads {
                let joined = thread.join();
                match joined.unwrap_or_else(|_| Err(Error::from("a thread panicked"))) {
                    Ok(recorded) => all.add(recorded),
                    Err(e) => failed = failed.and(Err(e)),
                }
            }
            let value = worked?;
            failed?;
            Ok((value, all.beheld(&clock, watched, start.elapsed())))
        })
    }

    fn thread(&self, seed: u64, clock: &Clock) -> Result<Recorded> {
        let connected = self.target.connect().and_then(|mut client| {
            client.run(&format!("USE {DATABASE}"))?;
            let statements = Statements::prepare(&mut *client)?;
            Ok((client, statements))
        });
        let start = clock.meet();
        let (client, statements) = connected?;
        let mut thread = Thread {
            client,
            statements,
            employees: self.employees,
            random: Random::new(seed),
            start,
            clock,
            recorded: Recorded::default(),
        };
        while !clock.halt.load(Ordering::Relaxed) {
            thread.turn()?;
        }
        Ok(thread.recorded)
    }
}

/// When what happens; times are ns since the start, the largest number where they are not known yet.
struct Clock {
    ready: Barrier,
    start: OnceLock<Instant>,
    /// When the work began, and ended.
    from: AtomicU64,
    until: AtomicU64,
    halt: AtomicBool,
}

impl Clock {
    fn new(threads: u16) -> Clock {
        Clock {
            ready: Barrier::new(threads as usize + 1),
            start: OnceLock::new(),
            from: AtomicU64::new(u64::MAX),
            until: AtomicU64::new(u64::MAX),
            halt: AtomicBool::new(false),
        }
    }

    /// Starts, once all threads are ready.
    fn begin(&self) -> Instant {
        self.ready.wait();
        let start = *self.start.get_or_init(Instant::now);
        self.ready.wait();
        start
    }

    /// Ready, and waits for the start.
    fn meet(&self) -> Instant {
        self.ready.wait();
        self.ready.wait();
        *self.start.get_or_init(Instant::now)
    }

    fn mark(&self, moment: &AtomicU64) {
        let start = self.start.get_or_init(Instant::now);
        moment.store(start.elapsed().as_nanos() as u64, Ordering::SeqCst);
    }

    fn at(&self, moment: &AtomicU64) -> Duration {
        Duration::from_nanos(moment.load(Ordering::SeqCst))
    }
}

/// What a thread, or all of them, recorded.
struct Recorded {
    before: Felt,
    during: Felt,
    timeline: Timeline,
    failed: u64,
    error: Option<String>,
}

impl Default for Recorded {
    fn default() -> Recorded {
        Recorded {
            before: Felt::default(),
            during: Felt::default(),
            timeline: Timeline::new(TIMELINE),
            failed: 0,
            error: None,
        }
    }
}

impl Recorded {
    fn add(&mut self, other: Recorded) {
        self.before.add(&other.before);
        self.during.add(&other.during);
        self.timeline.add(&other.timeline);
        self.failed += other.failed;
        self.error = self.error.take().or(other.error);
    }

    /// A statement, ns since the start.
    fn record(&mut self, clock: &Clock, kind: Kind, sent: u64, done: u64) {
        let took = done - sent;
        self.timeline.record(done, took);
        let alone = done <= clock.from.load(Ordering::SeqCst);
        let felt = match alone {
            true => &mut self.before,
            false => &mut self.during,
        };
        felt.finished += 1;
        // What is sent after the work says nothing about it.
        if alone || sent < clock.until.load(Ordering::SeqCst) {
            match kind {
                Kind::Read => felt.reads.record(took),
                Kind::Write => felt.writes.record(took),
            }
        }
    }

    /// `watched`: when the last statements were sent; `ended`: when they were done.
    fn beheld(mut self, clock: &Clock, watched: Duration, ended: Duration) -> Beheld {
        let (from, until) = (clock.at(&clock.from), clock.at(&clock.until));
        // Whole windows, with what waited to the end.
        let window = (WINDOW * 1e3) as u128;
        let whole = ended.as_millis().div_ceil(window) * window;
        self.timeline.truncate(whole as u64);
        self.before.seconds = from.as_secs_f64();
        self.during.seconds = (watched - from).as_secs_f64();
        Beheld {
            before: self.before,
            during: self.during,
            timeline: self.timeline,
            done: (from.as_secs_f64(), until.as_secs_f64()),
            failed: self.failed,
            error: self.error,
        }
    }
}

struct Statements {
    read: StatementId,
    update_key: StatementId,
    update_plain: StatementId,
    insert: StatementId,
    delete: StatementId,
}

impl Statements {
    fn prepare(client: &mut dyn Client) -> Result<Statements> {
        let mut p = |text: &str| client.prepare(&text.replace("$t", TABLE));
        Ok(Statements {
            read: p("SELECT first_name, last_name FROM $t WHERE emp_no = ?")?,
            update_key: p("UPDATE $t SET hire_date = ? WHERE emp_no = ?")?,
            update_plain: p("UPDATE $t SET birth_date = ? WHERE emp_no = ?")?,
            insert: p(&format!(
                "INSERT INTO $t ({}) VALUES (?, ?, 'New', 'Comer', 'F', ?, ?, ?)",
                super::columns()
            ))?,
            delete: p("DELETE FROM $t WHERE emp_no = ?")?,
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Read,
    Write,
}

struct Thread<'a> {
    client: Box<dyn Client + 'a>,
    statements: Statements,
    employees: &'a Employees,
    random: Random,
    start: Instant,
    clock: &'a Clock,
    recorded: Recorded,
}

impl Thread<'_> {
    fn turn(&mut self) -> Result<()> {
        for _ in 0..READS {
            let number = self.any();
            self.send(Kind::Read, self.statements.read, &[number])?;
        }
        let (date, number) = (hired(&mut self.random), self.any());
        let params = [Param::Text(&date), number];
        self.send(Kind::Write, self.statements.update_key, &params)?;
        let (date, number) = (born(&mut self.random), self.any());
        let params = [Param::Text(&date), number];
        self.send(Kind::Write, self.statements.update_plain, &params)?;
        self.come_and_go()
    }

    /// Inserts a row and deletes it.
    fn come_and_go(&mut self) -> Result<()> {
        let number = self.employees.another();
        let (born, hired) = (born(&mut self.random), hired(&mut self.random));
        let dept = self.random.below(DEPARTMENTS) + 1;
        let int = |n: u64| Param::Int(n as i64);
        let params = [
            int(number),
            Param::Text(&born),
            Param::Text(&hired),
            int(badge(number)),
            int(dept),
        ];
        self.send(Kind::Write, self.statements.insert, &params)?;
        self.send(Kind::Write, self.statements.delete, &[int(number)])
    }

    fn any(&mut self) -> Param<'static> {
        Param::Int(self.employees.any(&mut self.random) as i64)
    }

    /// Sends a statement, waits for its end and records how long that was, or that the target refused it.
    fn send(&mut self, kind: Kind, statement: StatementId, params: &[Param<'_>]) -> Result<()> {
        let sent = self.start.elapsed().as_nanos() as u64;
        let done = self.client.execute(statement, params);
        let now = self.start.elapsed().as_nanos() as u64;
        if let Err(e) = done {
            if error_code(&e).is_none() {
                return Err(e);
            }
            self.recorded.failed += 1;
            if self.recorded.error.is_none() && !is_conflict(&e) {
                self.recorded.error = Some(words(&e));
            }
        }
        // One that failed has waited too.
        self.recorded.record(self.clock, kind, sent, now);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Work from 100 ms to 200 ms.
    fn clock() -> Clock {
        let clock = Clock::new(0);
        clock.from.store(100 * MS, Ordering::SeqCst);
        clock.until.store(200 * MS, Ordering::SeqCst);
        clock
    }

    /// A thread's record of statements (kind, sent, done), ms.
    fn recorded(statements: &[(Kind, u64, u64)]) -> Recorded {
        let mut recorded = Recorded::default();
        for &(kind, sent, done) in statements {
            recorded.record(&clock(), kind, sent * MS, done * MS);
        }
        recorded
    }

    #[test]
    fn what_waited_to_the_end_is_on_the_timeline() {
        let ms = Duration::from_millis;
        let r = recorded(&[(Kind::Write, 10, 11), (Kind::Write, 95, 255)]);
        let beheld = r.beheld(&clock(), ms(200), ms(255));
        assert_eq!(beheld.timeline.slowest(), [0.001, 0.0, 0.160]);
        assert_eq!((beheld.before.rate(), beheld.during.rate()), (10.0, 10.0));
        assert_eq!(beheld.done, (0.1, 0.2));
    }

    #[test]
    fn a_statement_belongs_to_the_work_it_was_beside() {
        let r = recorded(&[
            (Kind::Read, 10, 12),
            (Kind::Write, 90, 100),
            (Kind::Write, 95, 205),
            (Kind::Read, 150, 151),
            (Kind::Read, 199, 230),
            (Kind::Write, 201, 260),
        ]);
        assert_eq!((r.before.reads.count(), r.before.writes.count()), (1, 1));
        assert_eq!((r.during.reads.count(), r.during.writes.count()), (2, 1));
        assert_eq!((r.before.finished, r.during.finished), (2, 4));
        let most = r.during.writes.quantile(1.0);
        assert!((most - 0.110).abs() < 0.001, "{most}");
    }
}

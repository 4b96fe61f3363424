//! The load: requests at a fixed rate, whatever becomes of those before.
//!
//! Request *n* is due *n* divided by the rate after the beginning. Connections take the requests in their order, wait until each is
//! due and send it; its latency counts from when it was due. So a target that stops for a while gets all the requests of that while, and each
//! counts with its whole wait: nothing is left out because the load waited with the target (coordinated omission). More requests at a
//! time than there are connections wait in the lab; that, too, is in their latencies.

use super::design::Course;
use super::record::{Moment, Recording, Request};
use super::statements::Requests;
use super::tables::Drops;
use crate::frame::{Stop, Worked};
use crate::stats::Latencies;
use crate::target::{Client, Target};
use crate::{Error, Result};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Barrier, OnceLock};
use std::time::{Duration, Instant};

/// How the load is sent.
#[derive(Clone, Copy)]
pub(super) struct Load<'a> {
    pub target: &'a dyn Target,
    /// Rows of the table.
    pub rows: u64,
    pub connections: u16,
    /// Requests per second; none: each connection sends its next as soon as it has the answer.
    pub rate: Option<f64>,
    /// So that no two runs send the same.
    pub seed: u64,
    pub stop: &'a Stop,
}

/// What the generator itself did.
#[derive(Clone, Debug, Default)]
pub(super) struct Generator {
    /// How much later than due a request was sent by a connection that had waited for it: the machine's doing.
    pub late: Latencies,
    /// Of the connections' threads; with the embedded engine that is the engine, too.
    pub worked: Worked,
    /// Seconds that it ran.
    pub seconds: f64,
}

impl Generator {
    pub fn add(&mut self, other: &Generator) {
        self.late.add(&other.late);
        self.worked.add(&other.worked);
        self.seconds += other.seconds;
    }
}

/// What is shared by the threads.
struct Shared {
    ready: Barrier,
    start: OnceLock<Instant>,
    next: AtomicU64,
    halt: AtomicBool,
}

impl Load<'_> {
    /// Runs a course with its drops; none if it was stopped.
    pub fn run(
        &self,
        course: &Course,
        client: &mut dyn Client,
        drops: &mut Drops,
    ) -> Result<Option<(Recording, Generator)>> {
        let beside =
            |start: Instant, halt: &AtomicBool| self.moments(course, client, drops, start, halt);
        let (requests, generator, moments) = self.send_until(course.until, beside)?;
        Ok((!self.stop.is_set()).then_some((Recording { requests, moments }, generator)))
    }

    /// Requests per second that the target does if it is sent as many as it takes.
    pub fn capacity(&self, seconds: f64) -> Result<f64> {
        let (requests, ..) = self.send_until(seconds, |_, _| Ok(()))?;
        let before = requests.iter().filter(|r| r.done as f64 <= seconds * 1e9);
        Ok(before.count() as f64 / seconds)
    }

    fn send_until<T>(
        &self,
        seconds: f64,
        beside: impl FnOnce(Instant, &AtomicBool) -> Result<T>,
    ) -> Result<(Vec<Request>, Generator, T)> {
        let shared = Shared {
            ready: Barrier::new(self.connections as usize + 1),
            start: OnceLock::new(),
            next: AtomicU64::new(0),
            halt: AtomicBool::new(false),
        };
        std::thread::scope(|scope| {
            let connection = |n: u16| {
                let shared = &shared;
                scope.spawn(move || {
                    let sent = self.connection(n, seconds, shared);
                    // One that fails ends the run for all.
                    sent.inspect_err(|_| shared.halt.store(true, Ordering::Relaxed))
                })
            };
            let connections: Vec<_> = (0..self.connections).map(connection).collect();
            shared.ready.wait();
            let start = *shared.start.get_or_init(Instant::now);
            shared.ready.wait();
            let done = beside(start, &shared.halt);
            if done.is_err() {
                shared.halt.store(true, Ordering::Relaxed);
            }
            let mut requests = Vec::new();
            let mut generator = Generator {
                seconds,
                ..Generator::default()
            };
            let mut failed = Ok(());
            for connection in connections {
                let joined = connection.join();
                match joined.unwrap_or_else(|_| Err(Error::from("a thread panicked"))) {
                    Ok((sent, own)) => {
                        requests.extend(sent);
                        generator.late.add(&own.late);
                        generator.worked.add(&own.worked);
                    }
                    Err(e) => failed = failed.and(Err(e)),
                }
            }
            // What failed first is most often the load's; the drop's own error says more if it did.
            let done = done?;
            failed?;
            Ok((requests, generator, done))
        })
    }

    fn connection(
        &self,
        n: u16,
        seconds: f64,
        shared: &Shared,
    ) -> Result<(Vec<Request>, Generator)> {
        let seed = self.seed * u64::from(u16::MAX) + u64::from(n);
        let connected = Requests::connect(self.target, self.rows, seed);
        shared.ready.wait();
        shared.ready.wait();
        let mut requests = connected?;
        let start = *shared.start.get_or_init(Instant::now);
        let mut generator = Generator::default();
        let mut sent = Vec::new();
        let before = Worked::of_this_thread();
        while !shared.halt.load(Ordering::Relaxed) && !self.stop.is_set() {
            let due = match self.rate {
                Some(rate) => shared.next.fetch_add(1, Ordering::Relaxed) as f64 / rate,
                None => start.elapsed().as_secs_f64(),
            };
            if due >= seconds {
                break;
            }
            let due = Duration::from_secs_f64(due);
            let early = due.saturating_sub(start.elapsed());
            if !early.is_zero() {
                std::thread::sleep(early);
                let late = start.elapsed().saturating_sub(due);
                generator.late.record(late.as_nanos() as u64);
            }
            requests.send()?;
            sent.push(Request {
                due: due.as_nanos() as u64,
                done: start.elapsed().as_nanos() as u64,
            });
        }
        generator.worked = Worked::of_this_thread().since(&before);
        Ok((sent, generator))
    }

    /// At each moment, or as soon as the one before is done, drops a table; in windows without drops changes a row, so
    /// that moments of both kinds are those at which this thread could run.
    fn moments(
        &self,
        course: &Course,
        client: &mut dyn Client,
        drops: &mut Drops,
        start: Instant,
        halt: &AtomicBool,
    ) -> Result<Vec<Moment>> {
        let mut done = Vec::new();
        for (window, w) in course.windows.iter().enumerate() {
            for moment in &w.moments {
                let when = start + Duration::from_secs_f64(*moment);
                if halt.load(Ordering::Relaxed) || !self.stop.sleep_until(when) {
                    return Ok(done);
                }
                let at = start.elapsed();
                match w.drops {
                    true => drops.next(client)?,
                    false => drops.instead(client)?,
                }
                done.push(Moment {
                    window,
                    at: at.as_nanos() as u64,
                    took: (start.elapsed() - at).as_nanos() as u64,
                    work: None,
                });
            }
        }
        Ok(done)
    }
}

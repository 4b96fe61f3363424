//! Rows into a new table by several connections at once.

use crate::frame::{DATABASE, Progress, Stop};
use crate::random::Random;
use crate::target::Target;
use crate::{Error, Result};
use std::sync::atomic::{AtomicBool, Ordering};

/// Rows of a unit of progress.
pub const UNIT: u64 = 20_000;
/// Connections, each with a part of the rows.
const LOADERS: u64 = 4;
/// Rows of a statement.
const BATCH: u64 = 1000;

/// Runs `insert(from, until, …)` for all of the rows `1..=rows`, batch after batch; each connection has numbers at random of its own,
/// the same in every run. Returns early, without an error, if it is to stop.
pub fn load(
    target: &dyn Target,
    rows: u64,
    insert: impl Fn(u64, u64, &mut Random) -> String + Sync,
    progress: &Progress,
    stop: &Stop,
) -> Result<()> {
    let failed = AtomicBool::new(false);
    let go_on = || !stop.is_set() && !failed.load(Ordering::Relaxed);
    let load_part = |part: u64| -> Result<()> {
        let mut client = target.connect()?;
        client.run(&format!("USE {DATABASE}"))?;
        let mut random = Random::new(part);
        let (mut next, end) = (rows * part / LOADERS + 1, rows * (part + 1) / LOADERS);
        while next <= end && go_on() {
            let until = (next + BATCH).min(end + 1);
            client.run(&insert(next, until, &mut random))?;
            progress.add((until / UNIT) - (next / UNIT));
            next = until;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let part = |part| {
            let (load_part, failed) = (&load_part, &failed);
            scope.spawn(move || {
                load_part(part).inspect_err(|_| failed.store(true, Ordering::Relaxed))
            })
        };
        let all: Vec<_> = (0..LOADERS).map(part).collect();
        all.into_iter().try_for_each(|t| match t.join() {
            Ok(done) => done,
            Err(_) => Err(Error::from("a loading thread panicked")),
        })
    })
}

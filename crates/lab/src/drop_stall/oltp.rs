//! The load: transactions of the same statements, in the same mix, as sysbench's `oltp_read_write`: ten point selects, four
//! ranges of a hundred rows (plain, summed, ordered, distinct), an update of an indexed and of a plain column, a delete and an
//! insert of the same row. Rows are chosen evenly. Statements are prepared once.

use super::tables::{LOADED, digits};
use crate::Result;
use crate::frame::DATABASE;
use crate::random::Random;
use crate::stats::{Latencies, Timeline};
use crate::target::{Client, Param, StatementId, Target, is_conflict};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Rows of a range.
const RANGE: u64 = 100;
/// Point selects of a transaction.
const POINTS: usize = 10;
/// Different strings that a thread writes.
const STRINGS: usize = 256;

/// Kinds of statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Point,
    Range,
    Update,
    DeleteInsert,
    BeginCommit,
}

impl Kind {
    pub const ALL: [Kind; 5] = [
        Kind::Point,
        Kind::Range,
        Kind::Update,
        Kind::DeleteInsert,
        Kind::BeginCommit,
    ];
    pub fn name(self) -> &'static str {
        match self {
            Kind::Point => "point select",
            Kind::Range => "range select",
            Kind::Update => "update",
            Kind::DeleteInsert => "delete, insert",
            Kind::BeginCommit => "begin, commit",
        }
    }
}

/// What a thread recorded.
pub(super) struct Recorded {
    pub timeline: Timeline,
    pub kinds: Vec<Latencies>,
    pub conflicts: u64,
}

/// When the load runs.
#[derive(Clone, Copy)]
pub(super) struct Clock<'a> {
    /// What is sent before is not recorded.
    pub start: Instant,
    pub time: Duration,
    pub stop: &'a AtomicBool,
}

impl Clock<'_> {
    fn over(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || Instant::now() >= self.start + self.time
    }
}

/// Runs transactions on a connection until the time is over.
pub(super) fn work(
    target: &dyn Target,
    rows: u64,
    seed: u64,
    clock: Clock<'_>,
) -> Result<Recorded> {
    let mut client = target.connect()?;
    client.run(&format!("USE {DATABASE}"))?;
    let mut thread = Thread::new(&mut *client, rows, seed, clock)?;
    while !clock.over() {
        if let Err(e) = thread.transaction() {
            if !is_conflict(&e) {
                return Err(e);
            }
            thread.recorded.conflicts += 1;
            thread.client.run("ROLLBACK")?;
        }
    }
    Ok(thread.recorded)
}

struct Thread<'a> {
    client: &'a mut dyn Client,
    clock: Clock<'a>,
    rows: u64,
    random: Random,
    strings: Vec<(String, String)>,
    statements: Statements,
    recorded: Recorded,
}

struct Statements {
    begin: StatementId,
    point: StatementId,
    ranges: [StatementId; 4],
    update_index: StatementId,
    update_plain: StatementId,
    delete: StatementId,
    insert: StatementId,
    commit: StatementId,
}

impl Statements {
    fn prepare(client: &mut dyn Client) -> Result<Statements> {
        let mut p = |text: &str| client.prepare(&text.replace("$t", LOADED));
        Ok(Statements {
            begin: p("BEGIN")?,
            point: p("SELECT c FROM $t WHERE id=?")?,
            ranges: [
                p("SELECT c FROM $t WHERE id BETWEEN ? AND ?")?,
                p("SELECT SUM(k) FROM $t WHERE id BETWEEN ? AND ?")?,
                p("SELECT c FROM $t WHERE id BETWEEN ? AND ? ORDER BY c")?,
                p("SELECT DISTINCT c FROM $t WHERE id BETWEEN ? AND ? ORDER BY c")?,
            ],
            update_index: p("UPDATE $t SET k=k+1 WHERE id=?")?,
            update_plain: p("UPDATE $t SET c=? WHERE id=?")?,
            delete: p("DELETE FROM $t WHERE id=?")?,
            insert: p("INSERT INTO $t (id, k, c, pad) VALUES (?, ?, ?, ?)")?,
            commit: p("COMMIT")?,
        })
    }
}

impl<'a> Thread<'a> {
    fn new(
        client: &'a mut dyn Client,
        rows: u64,
        seed: u64,
        clock: Clock<'a>,
    ) -> Result<Thread<'a>> {
        let statements = Statements::prepare(client)?;
        let mut random = Random::new(seed);
        let string = |_| (digits(&mut random, 10), digits(&mut random, 5));
        let strings = (0..STRINGS).map(string).collect();
        let recorded = Recorded {
            timeline: Timeline::new(clock.time.as_millis() as u64),
            kinds: vec![Latencies::default(); Kind::ALL.len()],
            conflicts: 0,
        };
        Ok(Thread {
            client,
            clock,
            rows,
            random,
            strings,
            statements,
            recorded,
        })
    }

    fn transaction(&mut self) -> Result<()> {
        self.send(Kind::BeginCommit, self.statements.begin, &[])?;
        for _ in 0..POINTS {
            let id = self.id();
            self.send(Kind::Point, self.statements.point, &[id])?;
        }
        for range in self.statements.ranges {
            let first = self.random.below(self.rows.saturating_sub(RANGE) + 1) as i64 + 1;
            let params = [Param::Int(first), Param::Int(first + RANGE as i64 - 1)];
            self.send(Kind::Range, range, &params)?;
        }
        let id = self.id();
        self.send(Kind::Update, self.statements.update_index, &[id])?;
        let (c, pad) = self.strings[self.random.below(STRINGS as u64) as usize].clone();
        let id = self.id();
        let params = [Param::Text(&c), id];
        self.send(Kind::Update, self.statements.update_plain, &params)?;
        let (id, k) = (self.id(), self.id());
        self.send(Kind::DeleteInsert, self.statements.delete, &[id])?;
        let params = [id, k, Param::Text(&c), Param::Text(&pad)];
        self.send(Kind::DeleteInsert, self.statements.insert, &params)?;
        self.send(Kind::BeginCommit, self.statements.commit, &[])
    }

    fn id(&mut self) -> Param<'static> {
        Param::Int(self.random.below(self.rows) as i64 + 1)
    }

    /// Sends a statement, waits for its end and records how long that was.
    fn send(&mut self, kind: Kind, statement: StatementId, params: &[Param<'_>]) -> Result<()> {
        let sent = Instant::now();
        self.client.execute(statement, params)?;
        let done = Instant::now();
        if sent >= self.clock.start {
            let took = (done - sent).as_nanos() as u64;
            let at = (done - self.clock.start).as_nanos() as u64;
            self.recorded.timeline.record(at, took);
            self.recorded.kinds[kind as usize].record(took);
        }
        Ok(())
    }
}

//! What clients did and saw. A list is a row that clients append elements to; every element is appended once in a history, so
//! that what a read returns says which transactions it has seen, and in what order they wrote (Kingsbury and Alvaro, "Elle:
//! Inferring Isolation Anomalies from Experimental Observations", VLDB 2020).

use std::collections::HashMap;

pub type Key = u32;
pub type Element = u32;

/// Nanoseconds of the history's clock: when a statement was sent, when its answer was there.
pub type Interval = (u64, u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

impl Level {
    pub const ALL: [Level; 4] = [
        Level::ReadUncommitted,
        Level::ReadCommitted,
        Level::RepeatableRead,
        Level::Serializable,
    ];

    /// As SET TRANSACTION ISOLATION LEVEL has it.
    pub fn sql(self) -> &'static str {
        match self {
            Level::ReadUncommitted => "READ UNCOMMITTED",
            Level::ReadCommitted => "READ COMMITTED",
            Level::RepeatableRead => "REPEATABLE READ",
            Level::Serializable => "SERIALIZABLE",
        }
    }
}

/// What a read saw of a list.
#[derive(Clone, Debug)]
pub enum Seen {
    List(Vec<Element>),
    /// An index of its length was read, not the list.
    Length(usize),
}

impl Seen {
    pub fn len(&self) -> usize {
        match self {
            Seen::List(list) => list.len(),
            Seen::Length(n) => *n,
        }
    }
}

#[derive(Clone, Debug)]
pub enum Op {
    Append(Key, Element),
    /// One statement, of one list or several. Lists that it would have found, had they been there, are empty.
    Read {
        locking: bool,
        lists: Vec<(Key, Seen)>,
        interval: Interval,
    },
    Savepoint,
    RollbackToSavepoint,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Committed,
    Aborted,
    /// The connection broke before the answer to COMMIT.
    Unknown,
}

#[derive(Clone, Debug)]
pub struct Txn {
    pub ops: Vec<Op>,
    pub outcome: Outcome,
    /// Of COMMIT, or of the one statement of an autocommitted transaction; the end of one whose outcome is unknown is `u64::MAX`.
    pub commit: Interval,
    /// Of the statement that made the transaction's read view, if one did.
    pub snapshot: Option<Interval>,
}

impl Txn {
    pub fn new() -> Txn {
        Txn {
            ops: Vec::new(),
            outcome: Outcome::Aborted,
            commit: (0, u64::MAX),
            snapshot: None,
        }
    }
}

pub struct History {
    pub level: Level,
    pub txns: Vec<Txn>,
    /// What the lists held when all clients had gone.
    pub lists: HashMap<Key, Vec<Element>>,
}

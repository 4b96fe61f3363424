//! What aggregates may take of memory, and what DISTINCT within them has seen.
//!
//! Values seen are kept as sort keys. When those of all groups together have outgrown the block's memory, values that a group does not
//! know yet go to one external sort for all of them, by group and key; where a group ends, its own come back in turn, equal ones
//! together.

use hashbrown::HashSet;
use std::sync::Arc;

use millpond_store::Error;
use millpond_store::btree::Records;
use millpond_store::sort::{LEAST_BUDGET, Sorted, Sorter};

use super::Value;
use crate::env::{SessionEnv, overdue};
use crate::error::{SqlError, SqlResult};
use crate::memory::{Charge, MemoryAccount, grow_sort};
use crate::row::put_value;
use crate::store_error::{interrupted, store_error};

/// What memory a kept key takes beside its bytes.
const OVERHEAD_BYTES: usize = 56;
/// Values between two looks at whether the statement was killed.
const LOOK_EVERY: u32 = 1024;
/// Bytes of an accumulator's number in keys.
const NUMBER: usize = 8;

/// The memory of a block's aggregates.
///
/// Accumulators are numbered as they are made, and must end in that order, all of them before others are made or each before
/// another takes a row.
pub struct MemoryBudget {
    charge: Charge,
    limit: usize,
    /// Accumulators made.
    made: u64,
    aside: Option<Aside>,
}

/// Values that are not in memory: number of the accumulator and key, and what is to be done about them.
enum Aside {
    Written(Box<Sorter>, Charge),
    Read {
        sorted: Box<Sorted>,
        /// The first record of the accumulator after the one that ended last.
        next: Option<(Vec<u8>, Vec<u8>)>,
        _charge: Charge,
    },
}

impl MemoryBudget {
    /// Of a block whose groups may take so many bytes.
    pub fn new(account: &Arc<MemoryAccount>, limit: usize) -> MemoryBudget {
        MemoryBudget {
            charge: Charge::new(account),
            limit,
            made: 0,
            aside: None,
        }
    }
    /// Takes bytes for what could go to disk; whether there are as many.
    pub fn try_take(&mut self, bytes: usize) -> bool {
        self.charge.used().saturating_add(bytes) <= self.limit && self.charge.try_grow(bytes)
    }
    /// Takes bytes that cannot be done without; error 1038 if the server has no more.
    pub fn take(&mut self, bytes: usize) -> SqlResult<()> {
        self.charge.grow(bytes)
    }
    /// Gives bytes back.
    pub fn give(&mut self, bytes: usize) {
        self.charge.shrink(bytes);
    }
    /// Something has become so large that was so large.
    pub fn resize(&mut self, from: usize, to: usize) -> SqlResult<()> {
        if to > from {
            self.take(to - from)
        } else {
            self.give(from - to);
            Ok(())
        }
    }
    /// Nothing is kept in memory any more.
    pub fn clear(&mut self) {
        self.charge.clear();
    }

    /// The number of an accumulator that is being made.
    pub(super) fn number(&mut self) -> u64 {
        self.made += 1;
        self.made
    }

    fn put_aside(&mut self, key: &[u8], value: &[u8], session: &SessionEnv) -> SqlResult<()> {
        if !matches!(self.aside, Some(Aside::Written(..)))
            && let Some(services) = &session.services
        {
            let sorter = services.engine().sorter(LEAST_BUDGET);
            let charge = Charge::new(self.charge.account());
            self.aside = Some(Aside::Written(Box::new(sorter), charge));
        }
        let Some(Aside::Written(sorter, charge)) = &mut self.aside else {
            return Ok(());
        };
        let cost = Sorter::cost(key.len(), value.len());
        if sorter.memory() + cost > charge.used() {
            grow_sort(sorter, charge, self.limit.max(LEAST_BUDGET), cost)?;
        }
        sorter
            .add(key, value, &|| go_on(session))
            .map_err(|e| ended(e, session))
    }

    /// Calls `f` with what an accumulator has put aside, once for each key.
    fn rest(
        &mut self,
        number: u64,
        session: &SessionEnv,
        mut f: impl FnMut(&mut MemoryBudget, &[u8]) -> SqlResult<()>,
    ) -> SqlResult<()> {
        let mut aside = match self.aside.take() {
            Some(Aside::Written(sorter, _charge)) => {
                let sorted = sorter.finish(&|| go_on(session));
                Aside::Read {
                    sorted: Box::new(sorted.map_err(|e| ended(e, session))?),
                    next: None,
                    _charge,
                }
            }
            Some(read) => read,
            None => return Ok(()),
        };
        let Aside::Read { sorted, next, .. } = &mut aside else {
            return Ok(());
        };
        let number = number.to_be_bytes();
        let mut last = Vec::new();
        let mut count = 0;
        let first = match next.take() {
            // Nothing of this one.
            Some(first) if first.0[..NUMBER] > number[..] => {
                *next = Some(first);
                None
            }
            Some(first) => {
                if first.0[..NUMBER] == number {
                    f(self, &first.1)?;
                    last = first.0;
                }
                Some(())
            }
            None => Some(()),
        };
        while first.is_some() {
            let Some((key, value)) = sorted.next().map_err(|e| store_error(e, ""))? else {
                break;
            };
            if key[..NUMBER] > number[..] {
                *next = Some((key.to_vec(), value.to_vec()));
                break;
            }
            count += 1;
            if count % LOOK_EVERY == 0 {
                stop(session)?;
            }
            if key[..NUMBER] < number[..] || last == key {
                continue;
            }
            last.clear();
            last.extend_from_slice(key);
            f(self, value)?;
        }
        self.aside = Some(aside);
        Ok(())
    }
}

/// What became of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fresh {
    /// It was there.
    Before,
    /// It is new, and is remembered.
    New,
    /// It is not known yet: give it to [`Seen::put_aside`].
    Later,
}

/// Values seen.
pub struct Seen {
    number: u64,
    set: HashSet<Box<[u8]>>,
    aside: bool,
    key: Vec<u8>,
}

impl Seen {
    /// None so far.
    pub fn new(budget: &mut MemoryBudget) -> Seen {
        Seen {
            number: budget.number(),
            set: HashSet::new(),
            aside: false,
            key: Vec::new(),
        }
    }

    /// Looks a value up, and remembers it.
    pub fn see(
        &mut self,
        key: &[u8],
        budget: &mut MemoryBudget,
        session: &SessionEnv,
    ) -> SqlResult<Fresh> {
        if self.set.contains(key) {
            return Ok(Fresh::Before);
        }
        if self.aside {
            return Ok(Fresh::Later);
        }
        let cost = key.len() + OVERHEAD_BYTES;
        if !budget.try_take(cost) {
            if session.services.is_some() {
                self.aside = true;
                return Ok(Fresh::Later);
            }
            budget.take(cost)?;
        }
        self.set.insert(key.into());
        Ok(Fresh::New)
    }

    /// Keeps a value that is not known yet, with what is to be done about it.
    pub fn put_aside(
        &mut self,
        key: &[u8],
        value: &[u8],
        budget: &mut MemoryBudget,
        session: &SessionEnv,
    ) -> SqlResult<()> {
        self.key.clear();
        self.key.extend_from_slice(&self.number.to_be_bytes());
        self.key.extend_from_slice(key);
        budget.put_aside(&self.key, value, session)
    }

    /// Calls `f` with what was put aside, once for each value.
    pub fn rest(
        &mut self,
        budget: &mut MemoryBudget,
        session: &SessionEnv,
        f: impl FnMut(&mut MemoryBudget, &[u8]) -> SqlResult<()>,
    ) -> SqlResult<()> {
        if !self.aside {
            return Ok(());
        }
        self.set = HashSet::new();
        budget.rest(self.number, session, f)
    }
}

/// An error if the statement must end.
fn stop(session: &SessionEnv) -> SqlResult<()> {
    if session.is_interrupted() {
        return Err(interrupted());
    }
    match session.is_overdue() {
        true => Err(overdue()),
        false => Ok(()),
    }
}

/// Whether a sort is to go on, for the store.
fn go_on(session: &SessionEnv) -> Result<(), Error> {
    stop(session).map_err(|_| Error::Interrupted)
}

/// What an error of a sort means.
fn ended(e: Error, session: &SessionEnv) -> SqlError {
    match (e, stop(session)) {
        (Error::Interrupted, Err(why)) => why,
        (e, _) => store_error(e, ""),
    }
}

/// A value as the bytes that go aside with it.
pub fn aside_bytes(v: &Value<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    put_value(v, &mut out);
    out
}

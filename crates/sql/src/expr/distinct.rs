//! What DISTINCT within an aggregate has seen, and how much memory the aggregates of a statement may take.
//!
//! Values seen are kept as sort keys. When those of all groups together have outgrown the session's memory, a group that has many sends
//! values it does not know yet to the store's external sort, and counts them at its end, where equal ones lie together.

use std::collections::HashSet;

use millpond_store::btree::Records;
use millpond_store::sort::Sorter;

use super::Value;
use crate::error::{SqlError, SqlResult};
use crate::exec::store_error;
use crate::session::env::SessionEnv;

/// What memory a kept key takes beside its bytes.
const OVERHEAD_BYTES: usize = 56;
/// A group with less than this goes on in memory: files cost more.
const SMALL_BYTES: usize = 64 << 10;
/// Groups that may have a sort of their own at a time.
const MOST_SORTS: usize = 64;
/// A sort's share of the session's memory.
const SORT_SHARE: usize = 8;
/// How many times the session's memory the groups that go on in memory may take before the statement fails.
const MOST_TIMES: usize = 32;
/// Values between two looks at whether the statement was killed.
const LOOK_EVERY: u32 = 1024;

/// The memory of a block's aggregates.
#[derive(Debug, Default)]
pub struct Room {
    /// Bytes in use.
    pub used: usize,
    /// Bytes from which on what can go to disk does.
    pub limit: usize,
    sorts: usize,
}

impl Room {
    /// Of a session with this much memory.
    pub fn new(limit: usize) -> Room {
        Room {
            limit,
            ..Room::default()
        }
    }

    /// Nothing is kept any more.
    pub fn clear(&mut self) {
        *self = Room::new(self.limit);
    }

    /// Takes memory; error 1038 beyond the bound.
    fn take(&mut self, bytes: usize) -> SqlResult<()> {
        self.used += bytes;
        if self.used > self.limit.saturating_mul(MOST_TIMES) {
            return Err(SqlError::new(
                1038,
                "Out of sort memory, consider increasing server sort buffer size",
            ));
        }
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
#[derive(Default)]
pub struct Seen {
    set: HashSet<Box<[u8]>>,
    bytes: usize,
    aside: Option<Box<Sorter>>,
}

impl Seen {
    /// Looks a value up, and remembers it.
    pub fn see(&mut self, key: &[u8], room: &mut Room, session: &SessionEnv) -> SqlResult<Fresh> {
        if self.set.contains(key) {
            return Ok(Fresh::Before);
        }
        if self.aside.is_some() {
            return Ok(Fresh::Later);
        }
        let cost = key.len() + OVERHEAD_BYTES;
        if room.used + cost > room.limit
            && self.bytes >= SMALL_BYTES
            && room.sorts < MOST_SORTS
            && let Some(facts) = &session.facts
        {
            let sorter = facts.instance.engine().sorter(room.limit / SORT_SHARE);
            self.aside = Some(Box::new(sorter));
            room.sorts += 1;
            return Ok(Fresh::Later);
        }
        room.take(cost)?;
        self.bytes += cost;
        self.set.insert(key.into());
        Ok(Fresh::New)
    }

    /// Keeps a value that is not known yet, with what is to be done about it.
    pub fn put_aside(&mut self, key: &[u8], value: &[u8]) -> SqlResult<()> {
        match &mut self.aside {
            Some(s) => s.add(key, value).map_err(|e| store_error(e, "")),
            None => Ok(()),
        }
    }

    /// Calls `f` with what was put aside, once for each value.
    pub fn rest(
        &mut self,
        session: &SessionEnv,
        mut f: impl FnMut(&[u8]) -> SqlResult<()>,
    ) -> SqlResult<()> {
        let Some(aside) = self.aside.take() else {
            return Ok(());
        };
        // The memory is needed for sorting.
        self.set = HashSet::new();
        let mut sorted = aside.finish().map_err(|e| store_error(e, ""))?;
        let mut last: Option<Vec<u8>> = None;
        let mut count = 0;
        while let Some((key, value)) = sorted.next().map_err(|e| store_error(e, ""))? {
            count += 1;
            if count % LOOK_EVERY == 0 {
                stop(session)?;
            }
            if last.as_deref() == Some(key) {
                continue;
            }
            let l = last.get_or_insert_default();
            l.clear();
            l.extend_from_slice(key);
            f(value)?;
        }
        Ok(())
    }
}

/// An error if the statement must end.
fn stop(session: &SessionEnv) -> SqlResult<()> {
    if session.facts.as_ref().is_some_and(|f| f.seat.interrupted()) {
        return Err(crate::exec::interrupted());
    }
    match session.is_overdue() {
        true => Err(crate::exec::overdue()),
        false => Ok(()),
    }
}

/// A value as the bytes that go aside with it.
pub fn aside_bytes(v: &Value<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    crate::exec::put_value(v, &mut out);
    out
}

//! Telling rows that were seen before. Keys are kept in memory up to the limit; from then on, rows with
//! other keys are put aside to be sorted, where equal ones lie together.

use hashbrown::HashSet;

use super::sort::Sorter;
use super::state::{Flow, State};
use crate::error::SqlResult;
use crate::memory::Charge;

/// What memory a kept key takes beside its bytes.
const OVERHEAD_BYTES: usize = 48;

/// What became of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// It was there.
    Before,
    /// It is new, and is remembered.
    New,
    /// It is not known yet: give the row to [`Distinct::put_aside`].
    Later,
}

/// Keys seen.
pub struct Distinct<'s> {
    set: HashSet<Box<[u8]>>,
    charge: Charge,
    aside: Option<Sorter<'s>>,
}

impl<'s> Distinct<'s> {
    /// None so far.
    pub fn new(st: &State<'s>) -> Distinct<'s> {
        Distinct {
            set: HashSet::new(),
            charge: st.charge(),
            aside: None,
        }
    }

    /// Looks a key up, and remembers it.
    pub fn see(&mut self, st: &State<'s>, key: &[u8]) -> Seen {
        if self.set.contains(key) {
            return Seen::Before;
        }
        if self.aside.is_some() {
            return Seen::Later;
        }
        let cost = key.len() + OVERHEAD_BYTES;
        if self.charge.used() + cost > st.limits.table || !self.charge.try_grow(cost) {
            st.env.effort.spill();
            self.aside = Some(Sorter::of(st, u64::MAX, st.limits.table));
            return Seen::Later;
        }
        self.set.insert(key.into());
        Seen::New
    }

    /// Keeps a row whose key is not known yet.
    pub fn put_aside(&mut self, key: &[u8], row: &[u8]) -> SqlResult<()> {
        match &mut self.aside {
            Some(s) => s.add_bytes(key, row),
            None => Ok(()),
        }
    }

    /// Calls `f` with the first row of each key that was put aside.
    pub fn rest(
        mut self,
        st: &mut State<'s>,
        mut f: impl FnMut(&mut State<'s>, &[u8]) -> SqlResult<Flow>,
    ) -> SqlResult<()> {
        let Some(aside) = self.aside else {
            return Ok(());
        };
        // The memory is needed for sorting.
        drop(self.set);
        self.charge.clear();
        let mut last: Option<Vec<u8>> = None;
        aside.drain(st, |st, key, row| {
            if last.as_deref() == Some(key) {
                return Ok(Flow::Continue);
            }
            let l = last.get_or_insert_default();
            l.clear();
            l.extend_from_slice(key);
            f(st, row)
        })
    }
}

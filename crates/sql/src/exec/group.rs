//! Grouping: by hashing, or as groups arrive one after the other. When the table of groups has grown too large, rows
//! of groups that are not in it are put aside to be sorted by their key, and grouped as they come back.

use hashbrown::HashMap;
use smallvec::SmallVec;

use super::codec;
use super::hash;
use super::levels::Emit;
use super::sort::Sorter;
use super::state::{Flow, Rows, State, row_bytes};
use crate::error::SqlResult;
use crate::expr::{Accumulator, MemoryBudget, RowRef};
use crate::plan::nodes::{Block, Group, SourceKind};
use crate::row::encode_sort_value;
use crate::value::Value;

/// What memory a group's key takes beside its bytes.
const KEY_BYTES: usize = 64;

/// A source's row as it was in a group's first row.
enum First {
    Nulls,
    Stored(Box<[u8]>),
    Values(Vec<Value<'static>>),
}

struct One {
    state: SmallVec<[Accumulator; 2]>,
    first: SmallVec<[First; 2]>,
}

/// The groups of a block.
pub struct Groups<'s> {
    b: &'s Block,
    g: &'s Group,
    /// Rows come in the order that was planned with.
    in_order: bool,
    map: HashMap<Box<[u8]>, u32>,
    list: Vec<One>,
    /// The key of the last group, where they arrive in order.
    last: Vec<u8>,
    key: Vec<u8>,
    /// What groups take.
    budget: MemoryBudget,
    aside: Option<Sorter<'s>>,
    /// A row came.
    met: bool,
}

impl<'s> Groups<'s> {
    /// None yet.
    pub fn new(st: &State<'s>, b: &'s Block, g: &'s Group, in_order: bool) -> Groups<'s> {
        Groups {
            b,
            g,
            in_order,
            map: HashMap::new(),
            list: Vec::new(),
            last: Vec::new(),
            key: Vec::new(),
            budget: MemoryBudget::new(st.memory, st.limits.table),
            aside: None,
            met: false,
        }
    }

    /// Takes a row in; a finished group goes to `emit`.
    pub fn row(
        &mut self,
        st: &mut State<'s>,
        rows: &[RowRef<'_>],
        emit: &mut Emit<'_, 's>,
    ) -> SqlResult<Flow> {
        let (b, g) = (self.b, self.g);
        let mut which: SmallVec<[usize; 4]> = g.subqueries.iter().copied().collect();
        for k in &g.keys {
            which.extend(k.subqueries.iter().copied());
        }
        if which.is_empty() {
            return self.take(st, rows, emit);
        }
        which.sort_unstable();
        which.dedup();
        st.with_subqueries(b, &which, rows, |st, rows| self.take(st, rows, emit))
    }

    fn take(
        &mut self,
        st: &mut State<'s>,
        rows: &[RowRef<'_>],
        emit: &mut Emit<'_, 's>,
    ) -> SqlResult<Flow> {
        let g = self.g;
        self.met = true;
        self.key.clear();
        for k in &g.keys {
            let v = k.expr.eval(&st.context(rows))?;
            encode_sort_value(&v, &k.expr.ty, false, &mut self.key);
        }
        let at = if g.keys.is_empty() {
            if self.list.is_empty() {
                self.add(rows)?;
            }
            0
        } else if g.ordered && self.in_order {
            if self.list.is_empty() {
                self.add(rows)?;
                std::mem::swap(&mut self.last, &mut self.key);
            } else if self.last != self.key {
                std::mem::swap(&mut self.last, &mut self.key);
                let done = self.list.pop().expect("a group is open");
                self.budget.clear();
                self.add(rows)?;
                if self.emit(st, done, rows, emit)? == Flow::Stop {
                    self.list.clear();
                    return Ok(Flow::Stop);
                }
            }
            0
        } else if let Some(&at) = self.map.get(&self.key[..]) {
            at as usize
        } else if self.aside.is_some() || !self.budget.try_take(self.key.len() + KEY_BYTES) {
            return self.put_aside(st, rows);
        } else {
            let at = self.list.len();
            self.map.insert(self.key.as_slice().into(), at as u32);
            self.add(rows)?;
            at
        };
        self.update(st, at, rows)?;
        if g.first_only && self.in_order {
            let v = g.aggregates[0].args[0].eval(&st.context(rows))?;
            if !v.is_null() {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    fn update(&mut self, st: &State<'s>, at: usize, rows: &[RowRef<'_>]) -> SqlResult<()> {
        let cx = st.context(rows);
        for (acc, spec) in self.list[at].state.iter_mut().zip(&self.g.aggregates) {
            acc.update(spec, &cx, &mut self.budget)?;
        }
        Ok(())
    }

    /// Keeps the block's rows (subquery values included) under the group's key.
    fn put_aside(&mut self, st: &State<'s>, rows: &[RowRef<'_>]) -> SqlResult<Flow> {
        let mut bytes = Vec::new();
        for r in &rows[self.b.base..] {
            codec::put_row(r, &mut bytes);
        }
        self.aside
            .get_or_insert_with(|| {
                st.env.effort.spill();
                Sorter::of(st, u64::MAX, st.limits.table)
            })
            .add_bytes(&self.key, &bytes)?;
        Ok(Flow::Continue)
    }

    /// Groups the rows that were put aside: equal keys come back together.
    fn rest(
        &mut self,
        st: &mut State<'s>,
        aside: Sorter<'s>,
        rows: &[RowRef<'_>],
        emit: &mut Emit<'_, 's>,
    ) -> SqlResult<()> {
        let b = self.b;
        // The memory is needed for sorting.
        self.map = HashMap::new();
        self.budget.clear();
        aside.drain(st, |st, key, bytes| {
            let put = codec::block_rows(b, bytes);
            let now = hash::put_back(b, &put, rows);
            if self.list.is_empty() || self.last != key {
                self.budget.clear();
                if let Some(done) = self.list.pop()
                    && self.emit(st, done, rows, emit)? == Flow::Stop
                {
                    return Ok(Flow::Stop);
                }
                self.last.clear();
                self.last.extend_from_slice(key);
                self.add(&now)?;
            }
            self.update(st, 0, &now)?;
            Ok(Flow::Continue)
        })?;
        if let Some(done) = self.list.pop() {
            self.emit(st, done, rows, emit)?;
        }
        Ok(())
    }

    fn add(&mut self, rows: &[RowRef<'_>]) -> SqlResult<()> {
        let (aggregates, budget) = (self.g.aggregates.iter(), &mut self.budget);
        let mut one = One {
            state: aggregates.map(|a| a.accumulator(budget)).collect(),
            first: SmallVec::new(),
        };
        let mut bytes = size_of::<One>() + one.state.len() * size_of::<Accumulator>();
        for (n, keep) in self.g.keep.iter().enumerate() {
            one.first.push(match rows[self.b.base + n] {
                RowRef::Stored(_, row) if *keep => {
                    bytes += row.len();
                    First::Stored(row.into())
                }
                RowRef::Values(v) if *keep => {
                    bytes += row_bytes(v);
                    First::Values(v.iter().map(|v| v.clone().into_owned()).collect())
                }
                _ => First::Nulls,
            });
        }
        self.list.push(one);
        self.budget.take(bytes)
    }

    fn emit(
        &mut self,
        st: &mut State<'s>,
        mut one: One,
        rows: &[RowRef<'_>],
        emit: &mut Emit<'_, 's>,
    ) -> SqlResult<Flow> {
        let b = self.b;
        let mut values: SmallVec<[Value<'static>; 4]> = SmallVec::new();
        for (acc, spec) in one.state.iter_mut().zip(&self.g.aggregates) {
            values.push(acc.finish(spec, st.env, &mut self.budget)?);
        }
        let mut now: Rows<'_> = Rows::from_slice(rows);
        for (n, f) in one.first.iter().enumerate() {
            now[b.base + n] = match (f, &b.sources[n].kind) {
                (First::Stored(bytes), SourceKind::Table { schema, .. }) => {
                    RowRef::Stored(schema, bytes)
                }
                (First::Values(v), _) => RowRef::Values(v),
                _ => RowRef::Nulls,
            };
        }
        now[b.group_source()] = RowRef::Values(&values);
        emit(st, &now)
    }

    /// Gives out the groups that are left. `rows`: the block's rows before the first.
    pub fn finish(
        mut self,
        st: &mut State<'s>,
        rows: &[RowRef<'_>],
        emit: &mut Emit<'_, 's>,
    ) -> SqlResult<()> {
        // Without GROUP BY there is one group, even of no rows, and so there is WITH ROLLUP.
        let none = self.list.is_empty() && !self.met;
        if none && (self.g.rolled || self.g.keys.is_empty() && !self.g.explicit) {
            self.add(rows)?;
        }
        for one in std::mem::take(&mut self.list) {
            st.tick()?;
            if self.emit(st, one, rows, emit)? == Flow::Stop {
                return Ok(());
            }
        }
        match self.aside.take() {
            Some(aside) => self.rest(st, aside, rows, emit),
            None => Ok(()),
        }
    }
}

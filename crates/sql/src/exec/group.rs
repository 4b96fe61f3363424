//! Grouping: by hashing, or as groups arrive one after the other.

use hashbrown::HashMap;
use smallvec::SmallVec;

use super::levels::Emit;
use super::state::{Flow, Rows, State, row_bytes};
use crate::error::SqlResult;
use crate::expr::{Accumulator, RowRef};
use crate::plan::nodes::{Block, Group, SourceKind};
use crate::row::encode_sort_value;
use crate::value::Value;

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
    map: HashMap<Box<[u8]>, u32>,
    list: Vec<One>,
    /// The key of the last group, where they arrive in order.
    last: Vec<u8>,
    key: Vec<u8>,
    bytes: usize,
}

impl<'s> Groups<'s> {
    /// None yet.
    pub fn new(b: &'s Block, g: &'s Group) -> Groups<'s> {
        Groups {
            b,
            g,
            map: HashMap::new(),
            list: Vec::new(),
            last: Vec::new(),
            key: Vec::new(),
            bytes: 0,
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
        self.key.clear();
        for k in &g.keys {
            let v = k.expr.eval(&st.context(rows))?;
            encode_sort_value(&v, &k.expr.ty, false, &mut self.key);
        }
        let at = if g.keys.is_empty() {
            if self.list.is_empty() {
                self.add(rows);
            }
            0
        } else if g.ordered {
            if self.list.is_empty() {
                self.add(rows);
                std::mem::swap(&mut self.last, &mut self.key);
            } else if self.last != self.key {
                std::mem::swap(&mut self.last, &mut self.key);
                let done = self.list.pop().expect("a group is open");
                self.add(rows);
                if self.emit(st, done, rows, emit)? == Flow::Stop {
                    self.list.clear();
                    return Ok(Flow::Stop);
                }
            }
            0
        } else if let Some(&at) = self.map.get(&self.key[..]) {
            at as usize
        } else {
            let at = self.list.len();
            self.map.insert(self.key.as_slice().into(), at as u32);
            self.bytes += self.key.len() + 64;
            self.add(rows);
            st.check_memory(self.bytes, "GROUP BY")?;
            at
        };
        let cx = st.context(rows);
        let one = &mut self.list[at];
        for (acc, spec) in one.state.iter_mut().zip(&g.aggregates) {
            acc.update(spec, &cx)?;
        }
        if g.first_only {
            let v = g.aggregates[0].args[0].eval(&cx)?;
            if !v.is_null() {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    fn add(&mut self, rows: &[RowRef<'_>]) {
        let mut one = One {
            state: self.g.aggregates.iter().map(|a| a.accumulator()).collect(),
            first: SmallVec::new(),
        };
        self.bytes += size_of::<One>() + one.state.len() * size_of::<Accumulator>();
        for (n, keep) in self.g.keep.iter().enumerate() {
            one.first.push(match rows[self.b.base + n] {
                RowRef::Stored(_, bytes) if *keep => {
                    self.bytes += bytes.len();
                    First::Stored(bytes.into())
                }
                RowRef::Values(v) if *keep => {
                    self.bytes += row_bytes(v);
                    First::Values(v.iter().map(|v| v.clone().into_owned()).collect())
                }
                _ => First::Nulls,
            });
        }
        self.list.push(one);
    }

    fn emit(
        &self,
        st: &mut State<'s>,
        mut one: One,
        rows: &[RowRef<'_>],
        emit: &mut Emit<'_, 's>,
    ) -> SqlResult<Flow> {
        let b = self.b;
        let mut values: SmallVec<[Value<'static>; 4]> = SmallVec::new();
        for (acc, spec) in one.state.iter_mut().zip(&self.g.aggregates) {
            values.push(acc.finish(spec, st.env)?);
        }
        let mut now: Rows<'_> = rows.iter().copied().collect();
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
        // Without GROUP BY there is one group, even of no rows.
        if self.g.keys.is_empty() && self.list.is_empty() && !self.g.explicit {
            self.add(rows);
        }
        for one in std::mem::take(&mut self.list) {
            st.tick()?;
            if self.emit(st, one, rows, emit)? == Flow::Stop {
                break;
            }
        }
        Ok(())
    }
}

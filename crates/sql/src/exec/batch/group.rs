//! Grouping batches: each worker has groups of its own, found by the bytes of their keys; at the end they are brought together.
//!
//! A worker tells groups apart by bytes that are cheap to make: of a string the string itself, which may make several groups of strings
//! that a collation takes for equal. Bringing together goes by the bytes that row-by-row grouping uses, which are equal for
//! equal values.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};
use smallvec::SmallVec;

use super::aggregate::Running;
use super::join::Contexts;
use super::kernel::Kernel;
use super::rows::{Batch, Column, Columns};
use super::vector::{Data, Kind, Vector};
use super::workers::{Halt, Held, Ran, Shared};
use crate::error::SqlResult;
use crate::exec::levels::Emit;
use crate::exec::state::{Flow, Rows, State};
use crate::expr::{EvalContext, Expr, MemoryBudget, RowRef};
use crate::plan::nodes::{Block, Group, SourceKind};
use crate::row::encode_sort_value;
use crate::value::{Value, Zone};

/// GROUP BY and aggregates, prepared for batches.
pub struct Grouping<'e> {
    b: &'e Block,
    g: &'e Group,
    keys: Vec<Kernel<'e>>,
    /// The bytes that a worker tells keys apart by are equal for all equal keys.
    exact: bool,
    /// By aggregate; `None`: it has no argument.
    arguments: Vec<Option<Kernel<'e>>>,
    /// By source of the block, the columns that are read after grouping.
    keep: Vec<Vec<usize>>,
}

/// Groups of one worker.
pub struct Groups {
    hasher: DefaultHashBuilder,
    slots: HashTable<u32>,
    /// Bytes of all keys, and where each ends.
    keys: Vec<u8>,
    ends: Vec<usize>,
    /// The same for the bytes that are equal for equal values, unless `keys` are.
    canonical: Vec<u8>,
    canonical_ends: Vec<usize>,
    states: Vec<Running>,
    /// By source of the block, the first row of each group.
    first: Vec<Columns>,
    held: Held,
}

impl Groups {
    fn len(&self) -> usize {
        self.ends.len()
    }
    /// The bytes that are equal for equal keys.
    fn key(&self, group: u32, exact: bool) -> &[u8] {
        let group = group as usize;
        let (all, ends) = if exact {
            (&self.keys, &self.ends)
        } else {
            (&self.canonical, &self.canonical_ends)
        };
        let from = if group == 0 { 0 } else { ends[group - 1] };
        &all[from..ends[group]]
    }
    fn bytes(&self) -> usize {
        self.keys.len()
            + self.canonical.len()
            + (self.ends.len() + self.canonical_ends.len()) * size_of::<usize>()
            + self.slots.capacity() * (size_of::<u32>() + 1)
            + self.states.iter().map(Running::bytes).sum::<usize>()
            + self.first.iter().map(Columns::bytes).sum::<usize>()
    }
    /// The group of a key, and whether it is new. The bytes of a new one stand at the end of `keys` already.
    fn find(&mut self, from: usize) -> (u32, bool) {
        let hash = self.hasher.hash_one(&self.keys[from..]);
        let ends = &self.ends;
        let keys = &self.keys;
        let of = |group: u32| {
            let group = group as usize;
            &keys[if group == 0 { 0 } else { ends[group - 1] }..ends[group]]
        };
        if let Some(at) = self.slots.find(hash, |g| *of(*g) == keys[from..]) {
            let at = *at;
            self.keys.truncate(from);
            return (at, false);
        }
        let new = self.ends.len() as u32;
        let hasher = &self.hasher;
        self.slots
            .insert_unique(hash, new, |g| hasher.hash_one(of(*g)));
        self.ends.push(self.keys.len());
        (new, true)
    }
}

const NULL: u8 = 0;
const VALUE: u8 = 1;

/// Appends the bytes by which a worker tells a value from others.
fn put(v: &Vector<'_>, row: usize, ty: &crate::types::SqlType, out: &mut Vec<u8>) {
    if v.is_null(row) {
        out.push(NULL);
        return;
    }
    out.push(VALUE);
    match &v.data {
        Data::Int(v) => out.extend_from_slice(&v[row].to_le_bytes()),
        Data::UInt(v) => out.extend_from_slice(&v[row].to_le_bytes()),
        Data::Date(v) => out.extend_from_slice(&v[row].to_le_bytes()),
        Data::Decimal(v, _) => out.extend_from_slice(&v[row].to_le_bytes()),
        Data::Bytes(v) => {
            out.extend_from_slice(&(v[row].len() as u32).to_le_bytes());
            out.extend_from_slice(v[row]);
        }
        // There is one zero and one way to write a value's bytes.
        Data::Double(_) | Data::Values(_) => encode_sort_value(&v.value(row), ty, false, out),
    }
}

impl<'e> Grouping<'e> {
    /// Prepares.
    pub fn new(b: &'e Block, g: &'e Group, cx: &EvalContext<'_>) -> Self {
        let arguments = g.aggregates.iter();
        let exact = |e: &Expr| matches!(Kind::of(&e.ty), Kind::Int | Kind::UInt | Kind::Date);
        Grouping {
            b,
            g,
            exact: g.keys.iter().all(|k| exact(&k.expr)),
            keys: g.keys.iter().map(|k| Kernel::new(&k.expr, cx)).collect(),
            arguments: arguments
                .map(|a| a.args.first().map(|e| Kernel::new(e, cx)))
                .collect(),
            keep: b
                .read
                .iter()
                .zip(&g.keep)
                .map(|(list, keep)| if *keep { list.clone() } else { Vec::new() })
                .collect(),
        }
    }

    /// No groups so far.
    pub fn groups(&self) -> Groups {
        let sources = self.keep.iter().zip(&self.b.sources);
        let first = sources.map(|(list, s)| kept_columns(list, &s.kind));
        Groups {
            hasher: DefaultHashBuilder::default(),
            slots: HashTable::new(),
            keys: Vec::new(),
            ends: Vec::new(),
            canonical: Vec::new(),
            canonical_ends: Vec::new(),
            states: self.g.aggregates.iter().map(Running::new).collect(),
            first: first.collect(),
            held: Held::default(),
        }
    }

    /// Takes a batch in.
    pub fn add<'b>(
        &self,
        groups: &mut Groups,
        batch: &Batch<'b>,
        cx: &Contexts<'b>,
        shared: &Shared<'_>,
    ) -> Ran<()>
    where
        'e: 'b,
    {
        let mut of_rows: Vec<u32> = Vec::with_capacity(batch.len);
        let mut fresh: Vec<u32> = Vec::new();
        if self.keys.is_empty() {
            if groups.len() == 0 {
                groups.ends.push(0);
                fresh.push(0);
            }
            of_rows.resize(batch.len, 0);
        } else {
            let mut keys = Vec::with_capacity(self.keys.len());
            for k in &self.keys {
                let v = k.vector(batch, &cx.batch)?;
                // Values of a kind that their type does not promise are told apart by other bytes.
                if self.exact && matches!(v.data, Data::Values(_)) {
                    return Err(Halt::Unfit);
                }
                keys.push(v);
            }
            for row in 0..batch.len {
                let from = groups.keys.len();
                for (v, k) in keys.iter().zip(&self.g.keys) {
                    put(v, row, &k.expr.ty, &mut groups.keys);
                }
                let (group, new) = groups.find(from);
                of_rows.push(group);
                if new {
                    fresh.push(row as u32);
                    if !self.exact {
                        for (v, k) in keys.iter().zip(&self.g.keys) {
                            encode_sort_value(
                                &v.value(row),
                                &k.expr.ty,
                                false,
                                &mut groups.canonical,
                            );
                        }
                        groups.canonical_ends.push(groups.canonical.len());
                    }
                }
            }
        }
        let count = groups.len();
        if !fresh.is_empty() {
            self.keep_first(groups, batch, &fresh, cx.batch.session.zone.get());
            groups.states.iter_mut().for_each(|s| s.resize(count));
        }
        let texts = |states: &[Running]| states.iter().map(Running::texts).sum::<usize>();
        let before = texts(&groups.states);
        for (n, (spec, argument)) in self.g.aggregates.iter().zip(&self.arguments).enumerate() {
            let v = match argument {
                Some(k) => Some(k.vector(batch, &cx.batch)?),
                None => None,
            };
            groups.states[n].update(spec, v.as_ref(), &of_rows)?;
        }
        if !fresh.is_empty() || texts(&groups.states) > before {
            let bytes = groups.bytes();
            groups.held.grow_to(bytes, shared)?;
        }
        Ok(())
    }

    /// Keeps what is read after grouping of the rows that begin a group.
    fn keep_first(&self, groups: &mut Groups, batch: &Batch<'_>, fresh: &[u32], zone: Zone) {
        for (n, list) in self.keep.iter().enumerate() {
            let columns = &mut groups.first[n];
            columns.len += fresh.len();
            for c in list {
                if let Some(column) = &mut columns.columns[*c] {
                    for row in fresh {
                        let source = &batch.sources[self.b.base + n];
                        column.push(source.value(*row as usize, *c, zone));
                    }
                }
            }
        }
    }

    /// Brings the groups of all workers together.
    pub fn merge(&self, mut all: Vec<Groups>, shared: &Shared<'_>) -> Ran<Groups> {
        let mut whole = match all.pop() {
            Some(one) if self.exact => one,
            one => {
                all.extend(one);
                self.groups()
            }
        };
        for other in all {
            let mut to = Vec::with_capacity(other.len());
            let mut fresh = Vec::new();
            for group in 0..other.len() as u32 {
                shared.look(group as usize)?;
                let from = whole.keys.len();
                whole.keys.extend_from_slice(other.key(group, self.exact));
                let (at, new) = if self.keys.is_empty() && whole.len() > 0 {
                    (0, false)
                } else {
                    whole.find(from)
                };
                to.push(at);
                if new {
                    fresh.push(group);
                }
            }
            let count = whole.len();
            let states = whole.states.iter_mut().zip(other.states);
            for ((state, more), spec) in states.zip(&self.g.aggregates) {
                state.resize(count);
                state.merge(spec, more, &to)?;
            }
            for (own, more) in whole.first.iter_mut().zip(&other.first) {
                own.len += fresh.len();
                for (column, more) in own.columns.iter_mut().zip(&more.columns) {
                    if let (Some(column), Some(more)) = (column, more) {
                        fresh
                            .iter()
                            .for_each(|g| column.push(more.value(*g as usize)));
                    }
                }
            }
            let bytes = whole.bytes();
            whole.held.grow_to(bytes, shared)?;
            other.held.release(shared);
        }
        Ok(whole)
    }

    /// Gives all groups to `emit`. `rows`: the block's rows before the first.
    pub fn finish<'s>(
        &self,
        mut groups: Groups,
        st: &mut State<'s>,
        rows: &[RowRef<'_>],
        emit: &mut Emit<'_, 's>,
    ) -> SqlResult<Flow> {
        let one = self.g.rolled || self.g.keys.is_empty() && !self.g.explicit;
        if one && groups.len() == 0 {
            groups.ends.push(0);
            groups.states.iter_mut().for_each(|s| s.resize(1));
            for columns in &mut groups.first {
                columns.len = 1;
                columns
                    .columns
                    .iter_mut()
                    .flatten()
                    .for_each(|c| c.push(Value::Null));
            }
        }
        let mut budget = MemoryBudget::new(st.memory, st.limits.table);
        let mut first: Vec<Vec<Value<'_>>> = self
            .b
            .sources
            .iter()
            .zip(&groups.first)
            .map(|(_, c)| vec![Value::Null; c.columns.len()])
            .collect();
        for group in 0..groups.len() {
            st.tick()?;
            let mut values: SmallVec<[Value<'static>; 4]> = SmallVec::new();
            for (state, spec) in groups.states.iter().zip(&self.g.aggregates) {
                values.push(state.finish(group, spec, st.env, &mut budget)?);
            }
            for (n, list) in self.keep.iter().enumerate() {
                for c in list {
                    if let Some(column) = &groups.first[n].columns[*c] {
                        first[n][*c] = column.value(group);
                    }
                }
            }
            let mut now: Rows<'_> = Rows::from_slice(rows);
            for (n, keep) in self.g.keep.iter().enumerate() {
                now[self.b.base + n] = if *keep {
                    RowRef::Values(&first[n])
                } else {
                    RowRef::Nulls
                };
            }
            now[self.b.group_source()] = RowRef::Values(&values);
            if emit(st, &now)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }
}

/// Columns of a source for these of its columns.
pub fn kept_columns(list: &[usize], kind: &SourceKind) -> Columns {
    let mut columns = Columns::default();
    for c in list {
        if columns.columns.len() <= *c {
            columns.columns.resize_with(c + 1, || None);
        }
        let kind = match kind {
            SourceKind::Table { schema, .. } => Kind::of(&schema.columns[*c].ty),
            _ => Kind::Values,
        };
        columns.columns[*c] = Some(Column::new(kind));
    }
    columns
}

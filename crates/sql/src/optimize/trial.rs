//! Scalar subqueries as derived tables, where that is cheaper: a block is planned both ways, and what is expected of either decides.
//! The rule itself is [`crate::rewrite::scalar_subqueries`].

use super::Optimizer;
use super::estimate::Outline;
use crate::error::SqlResult;
use crate::logical::{self, Arena, SubqueryId};
use crate::plan::nodes::{Block, Derived};
use crate::rewrite::{Context, scalar_subqueries};
use crate::switches::Flag;

/// Most subqueries of a block that are planned both ways.
const MOST_TRIALS: usize = 4;

/// What planning a block changes of the optimizer, but for the derived tables that it plans.
#[derive(Clone)]
struct State {
    arena: Arena,
    slots: Vec<Option<usize>>,
    values: Vec<Option<(usize, usize)>>,
    planned: Vec<Option<usize>>,
    outlines: Vec<Outline>,
    /// How often each of the derived tables planned before is read from.
    uses: Vec<usize>,
    subqueries: usize,
    hashes: usize,
}

impl Optimizer<'_> {
    /// The scalar subqueries of a query's block that may be turned, if they are to be.
    pub fn turnable(&mut self, q: &logical::Query) -> Vec<SubqueryId> {
        if !self.peek.env.switches.get().has(Flag::SubqueryToDerived) {
            return Vec::new();
        }
        let mut ids = scalar_subqueries::candidates(q, &self.context());
        ids.truncate(MOST_TRIALS);
        ids
    }

    /// Plans a block with those of its subqueries turned that are cheaper so.
    pub fn cheapest_block(
        &mut self,
        mut written: logical::Block,
        ids: Vec<SubqueryId>,
        base: usize,
        calc_found_rows: bool,
    ) -> SqlResult<(Block, Outline)> {
        if ids.is_empty() {
            return self.block(written, base, calc_found_rows);
        }
        let before = self.derived.len();
        let mut start = self.state(before);
        let mut best = self.block(written.clone(), base, calc_found_rows)?;
        let mut end = (self.state(before), self.derived.split_off(before));
        for id in ids {
            self.go_on_from(start.clone());
            let mut turned = written.clone();
            scalar_subqueries::apply(&mut turned, id, &mut self.context());
            self.slots.resize(self.arena.tables(), None);
            self.planned.resize(self.arena.derived.len(), None);
            let other = self.state(before);
            let got = self.block(turned.clone(), base, calc_found_rows)?;
            let more = self.derived.split_off(before);
            if got.1.cost < best.1.cost {
                end = (self.state(before), more);
                (best, start, written) = (got, other, turned);
            }
        }
        let (state, more) = end;
        self.go_on_from(state);
        self.derived.extend(more);
        Ok(best)
    }

    fn context(&mut self) -> Context<'_> {
        Context {
            arena: &mut self.arena,
            tables: self.tables,
            assigns: self.assigns,
            switches: self.peek.env.switches.get(),
        }
    }

    fn state(&self, derived: usize) -> State {
        State {
            arena: self.arena.clone(),
            slots: self.slots.clone(),
            values: self.values.clone(),
            planned: self.planned.clone(),
            outlines: self.outlines.clone(),
            uses: self.derived[..derived].iter().map(|d| d.uses).collect(),
            subqueries: self.subqueries,
            hashes: self.hashes,
        }
    }

    fn go_on_from(&mut self, s: State) {
        self.arena = s.arena;
        self.slots = s.slots;
        self.values = s.values;
        self.planned = s.planned;
        self.outlines = s.outlines;
        self.subqueries = s.subqueries;
        self.hashes = s.hashes;
        self.derived.truncate(s.uses.len());
        let derived: &mut [Derived] = &mut self.derived;
        for (d, uses) in derived.iter_mut().zip(s.uses) {
            d.uses = uses;
        }
    }
}

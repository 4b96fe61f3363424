//! What EXPLAIN ANALYZE notes of a run: how often each part of a plan ran, how many rows it gave, and how long that took.
//!
//! A part is known by its address: a plan does not move while it runs.

use std::time::Duration;

use hashbrown::HashMap;

use crate::plan::nodes::{Block, HashJoin, Level};

/// Executions of a part, all together.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    /// How many.
    pub loops: u64,
    /// Rows that it gave.
    pub rows: u64,
    /// Until the first row of each, or until its end if it had none.
    pub first: Duration,
    /// Until their ends.
    pub total: Duration,
}

/// What a loop did.
#[derive(Clone, Copy, Debug, Default)]
pub struct LevelTimes {
    /// Rows that passed its conditions.
    pub passed: Times,
    /// Rows that it read.
    pub read: u64,
    /// Executions without a row that passed.
    pub unmatched: u64,
    /// Of an outer, a semi- or an anti-join, rows that went on after all conditions.
    pub out: u64,
}

/// What a block did.
#[derive(Clone, Copy, Debug, Default)]
pub struct BlockTimes {
    /// Rows that it gave.
    pub whole: Times,
    /// Groups, before HAVING.
    pub groups: u64,
    /// Rows after HAVING and DISTINCT, before LIMIT.
    pub seen: u64,
}

/// What the parts of a plan did.
#[derive(Debug, Default)]
pub struct Profile {
    levels: HashMap<usize, LevelTimes>,
    blocks: HashMap<usize, BlockTimes>,
    hashes: HashMap<usize, Times>,
    /// Rows read that some loop counts as its own.
    counted: u64,
}

fn address<T>(part: &T) -> usize {
    std::ptr::from_ref(part).addr()
}

impl Profile {
    /// What a loop did.
    pub fn level(&self, level: &Level) -> LevelTimes {
        self.levels
            .get(&address(level))
            .copied()
            .unwrap_or_default()
    }
    /// What a block did.
    pub fn block(&self, block: &Block) -> BlockTimes {
        self.blocks
            .get(&address(block))
            .copied()
            .unwrap_or_default()
    }
    /// What building a hash join's side did.
    pub fn built(&self, h: &HashJoin) -> Times {
        self.hashes.get(&address(h)).copied().unwrap_or_default()
    }
    /// Notes a row that goes on from an outer, a semi- or an anti-join.
    pub fn out(&mut self, level: &Level) {
        self.levels.entry(address(level)).or_default().out += 1;
    }
    /// Notes a group of a block.
    pub fn group(&mut self, block: &Block) {
        self.blocks.entry(address(block)).or_default().groups += 1;
    }
    /// Notes how many rows a block had before LIMIT.
    pub fn seen(&mut self, block: &Block, rows: u64) {
        self.blocks.entry(address(block)).or_default().seen += rows;
    }
    /// What a loop has done so far, to add to.
    pub fn level_mut(&mut self, level: &Level) -> &mut LevelTimes {
        self.levels.entry(address(level)).or_default()
    }
    /// What a block has given so far, to add to.
    pub fn block_mut(&mut self, block: &Block) -> &mut Times {
        &mut self.blocks.entry(address(block)).or_default().whole
    }
    /// What building a hash join's side has done so far, to add to.
    pub fn built_mut(&mut self, h: &HashJoin) -> &mut Times {
        self.hashes.entry(address(h)).or_default()
    }
    /// Rows read so far that some loop counts as its own.
    pub fn counted(&self) -> u64 {
        self.counted
    }
    /// So many more of them.
    pub fn count(&mut self, rows: u64) {
        self.counted += rows;
    }
}

//! Trees against a map, under threads, and through recovery.

mod discard;
mod hashed;
mod model;
mod pieces;
mod redo;
mod several;
mod small;
mod stress;

use super::*;
use crate::hash_index::HashOptions;
use crate::io::SimStorage;
use crate::log::FlushAtCommit;
use crate::pool::PagerOptions;
use crate::space::{FileId, SpaceId};
use std::ops::{Bound, ControlFlow};

/// A small generator of reproducible pseudo-random numbers (xorshift64*).
pub(super) struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Rng {
        Rng(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() >> 11) as usize % n
    }
    pub fn bytes(&mut self, n: usize) -> Vec<u8> {
        (0..n).map(|_| (self.next() >> 20) as u8).collect()
    }
}

pub(super) fn options(pool_bytes: usize) -> PagerOptions {
    PagerOptions {
        pool_bytes,
        instances: 0,
        log_bytes: 16 << 20,
        flush_at_commit: FlushAtCommit::EverySecond,
        hash_index: HashOptions::EAGER,
    }
}

pub(super) fn new_pager() -> Arc<Pager> {
    Pager::create(Arc::new(SimStorage::new()), options(64 << 20)).unwrap()
}

pub(super) fn new_tree(pager: &Arc<Pager>, id: u64) -> Tree {
    let space = pager.space(SpaceId(id), FileId::SHARED);
    let tree = Tree::new(pager, space, 0);
    let mut mtr = pager.mtr(1).unwrap();
    let root = tree.alloc_root(&mut mtr).unwrap();
    mtr.commit();
    tree.set_root(root);
    tree
}

pub(super) fn put(tree: &Tree, key: &[u8], value: &[u8]) {
    let set = |e: &mut LeafEdit<'_, '_>| {
        if e.value().is_some() {
            e.replace(value);
        } else {
            e.insert(value);
        }
        Ok(())
    };
    // Either way must do, whether the key is there or not.
    if value.len().is_multiple_of(2) {
        tree.edit(key, value.len(), set).unwrap();
    } else {
        tree.edit_known(key, value.len(), set).unwrap();
    }
}

/// Removes the key; returns whether it was there.
pub(super) fn delete(tree: &Tree, key: &[u8]) -> bool {
    let edit = tree.edit_known(key, 0, |e| {
        let there = e.value().is_some();
        if there {
            e.remove();
        }
        Ok(there)
    });
    edit.unwrap()
}

pub(super) fn get(tree: &Tree, key: &[u8]) -> Option<Vec<u8>> {
    tree.get(key, <[u8]>::to_vec).unwrap()
}

/// All entries, in the order of a scan leaf by leaf.
pub(super) fn scan(tree: &Tree, dir: Dir) -> Vec<(Vec<u8>, Vec<u8>)> {
    scan_from(tree, Bound::Unbounded, dir, usize::MAX)
}

pub(super) fn scan_from(
    tree: &Tree,
    from: Bound<&[u8]>,
    dir: Dir,
    most: usize,
) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut out: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    let mut resume = Vec::new();
    let mut at = Vec::new();
    let mut from = from;
    loop {
        let end = tree.scan_leaf(from, dir, &mut resume, &mut |k, v| {
            out.push((k.to_vec(), v.to_vec()));
            if out.len() == most {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        if end.unwrap() != ScanEnd::More {
            return out;
        }
        assert_eq!(resume, out[out.len() - 1].0);
        std::mem::swap(&mut at, &mut resume);
        from = Bound::Excluded(&at);
    }
}

/// Fails the test if the tree is not in order.
pub(super) fn checked(tree: &Tree) -> Checked {
    let checked = tree.check();
    assert_eq!(checked.problems, Vec::<String>::new());
    checked
}

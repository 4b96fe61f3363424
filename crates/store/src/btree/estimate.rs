//! Row counts for the planner, from a few pages. They are estimates even on a quiet tree, except where a range
//! lies within one leaf or the tree is one.

use super::small::At;
use super::{Dir, Tree};
use crate::error::Result;
use crate::page::{page_no, slotted};
use smallvec::SmallVec;
use std::cmp::Ordering;
use std::ops::{Bound, ControlFlow};

/// Descents that [`Tree::estimate_total`] averages over.
const PROBES: u64 = 8;
/// Subtrees looked at within a range, besides those at its ends.
const SAMPLES: u16 = 6;

/// One page of a descent: the way taken, and how many ways there were.
#[derive(Clone, Copy)]
struct Step {
    slot: u16,
    count: u16,
}

/// Root first, leaf last.
type Path = SmallVec<[Step; 8]>;

/// Where a descent leads.
#[derive(Clone, Copy)]
enum Aim<'k> {
    /// Before the first entry not less than the key.
    Key(&'k [u8]),
    /// Behind every entry that is not greater than the key.
    Behind(&'k [u8]),
    /// Before the first entry of all.
    First,
    /// Behind the last entry of all.
    Last,
    /// Towards this share of every page.
    Share(u64),
    /// The way of a path as far as its page number `fork`, there this slot, then the middle.
    Beside {
        path: &'k Path,
        fork: usize,
        slot: u16,
    },
}

impl Tree {
    /// Estimated number of entries, from a few descents.
    pub fn estimate_total(&self) -> Result<u64> {
        if self.root() == 0 {
            return match self.count_small(Bound::Unbounded, Bound::Unbounded)? {
                At::Own => self.estimate_total(),
                At::Nowhere => Ok(0),
                At::Shared(count) => Ok(count),
            };
        }
        // The product of the fan-outs along a random descent is right on average.
        let mut sum = 0.0;
        for probe in 0..PROBES {
            let share = (2 * probe + 1).wrapping_mul(u64::MAX / (2 * PROBES));
            let path = self.path(Aim::Share(share))?;
            let product: f64 = path.iter().map(|step| f64::from(step.count)).product();
            if path.len() == 1 {
                return Ok(product as u64);
            }
            sum += product;
        }
        Ok((sum / PROBES as f64).round() as u64)
    }

    /// Estimated number of entries between the bounds, from the pages on the ways to them.
    pub fn estimate(&self, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Result<u64> {
        if self.root() == 0 {
            return match self.count_small(lower, upper)? {
                At::Own => self.estimate(lower, upper),
                At::Nowhere => Ok(0),
                At::Shared(count) => Ok(count),
            };
        }
        let low = self.path(match lower {
            Bound::Unbounded => Aim::First,
            Bound::Included(key) => Aim::Key(key),
            Bound::Excluded(key) => Aim::Behind(key),
        })?;
        let high = self.path(match upper {
            Bound::Unbounded => Aim::Last,
            Bound::Included(key) => Aim::Behind(key),
            Bound::Excluded(key) => Aim::Key(key),
        })?;
        if low.len() != high.len() {
            // The tree's height changed in between; whoever plans on this plans again.
            return Ok(0);
        }
        let Some(fork) = (0..low.len()).find(|&i| low[i].slot != high[i].slot) else {
            return Ok(0);
        };
        let (from, to) = (low[fork].slot, high[fork].slot);
        if from > to {
            return Ok(0);
        }
        if fork == low.len() - 1 {
            return Ok(u64::from(to - from));
        }
        let mut samples: SmallVec<[Path; 8]> = SmallVec::new();
        samples.extend([low.clone(), high.clone()]);
        let inside = to - from - 1;
        for i in 0..inside.min(SAMPLES) {
            let offset =
                u32::from(inside) * (2 * u32::from(i) + 1) / (2 * u32::from(inside.min(SAMPLES)));
            let slot = from + 1 + offset as u16;
            let sample = self.path(Aim::Beside {
                path: &low,
                fork,
                slot,
            })?;
            if sample.len() == low.len() {
                samples.push(sample);
            }
        }
        Ok(between(&low, &high, fork, &samples).round() as u64)
    }

    /// Shows `f` the keys of up to so many leaves, at even shares of the tree: each leaf's in order, its first with `true`.
    pub fn sample(&self, leaves: u64, f: &mut dyn FnMut(bool, &[u8])) -> Result<()> {
        let root = self.root();
        if root == 0 {
            return self.sample_small(leaves, f);
        }
        let mut seen: SmallVec<[u32; 32]> = SmallVec::new();
        for probe in 0..leaves {
            let share = (2 * probe + 1).wrapping_mul(u64::MAX / (2 * leaves));
            let mut state = share;
            let leaf = self.leaf(|page| {
                if page_no(page) == root {
                    state = share;
                }
                take_share(&mut state, slotted::count(page))
            })?;
            if seen.contains(&page_no(&leaf)) {
                continue;
            }
            seen.push(page_no(&leaf));
            for slot in 0..slotted::count(&leaf) {
                f(slot == 0, slotted::key(&leaf, slot));
            }
        }
        Ok(())
    }

    fn sample_small(&self, leaves: u64, f: &mut dyn FnMut(bool, &[u8])) -> Result<()> {
        match self.seek_small(Bound::Unbounded, Dir::Forward)? {
            At::Own => return self.sample(leaves, f),
            At::Nowhere => {}
            At::Shared(place) => {
                let mut first = true;
                place.visit(Dir::Forward, &mut |key, _| {
                    f(std::mem::take(&mut first), key);
                    ControlFlow::Continue(())
                });
            }
        }
        Ok(())
    }

    fn path(&self, aim: Aim<'_>) -> Result<Path> {
        let mut path = Path::new();
        let root = self.root();
        let mut state = 0;
        let leaf = self.leaf(|page| {
            let count = slotted::count(page);
            let slot = match aim {
                Aim::Key(key) | Aim::Behind(key) => slotted::search_child(page, key),
                Aim::First => 0,
                Aim::Last => count.saturating_sub(1),
                Aim::Beside {
                    path: beside,
                    fork,
                    slot,
                } => {
                    let depth = if page_no(page) == root { 0 } else { path.len() };
                    let wanted = match depth.cmp(&fork) {
                        Ordering::Less => beside[depth].slot,
                        Ordering::Equal => slot,
                        Ordering::Greater => count / 2,
                    };
                    wanted.min(count.saturating_sub(1))
                }
                Aim::Share(share) => {
                    if page_no(page) == root {
                        state = share;
                    }
                    take_share(&mut state, count)
                }
            };
            if page_no(page) == root {
                // The descent began anew after a miss.
                path.clear();
            }
            path.push(Step { slot, count });
            slot
        })?;
        let count = slotted::count(&leaf);
        let slot = match aim {
            Aim::Key(key) => match slotted::search(&leaf, key) {
                Ok(slot) | Err(slot) => slot,
            },
            Aim::Behind(key) => match slotted::search(&leaf, key) {
                Ok(slot) => slot + 1,
                Err(slot) => slot,
            },
            Aim::First | Aim::Share(_) | Aim::Beside { .. } => 0,
            Aim::Last => count,
        };
        path.push(Step { slot, count });
        Ok(path)
    }
}

/// The one of `count` ways that lies at a share of them. The fraction left over picks the way on the next level.
fn take_share(share: &mut u64, count: u16) -> u16 {
    let wide = u128::from(*share) * u128::from(count);
    *share = wide as u64;
    (wide >> 64) as u16
}

/// Entries between two positions whose ways part at `fork`, taking every subtree off the two ways for an average
/// one of the samples.
fn between(low: &Path, high: &Path, fork: usize, samples: &[Path]) -> f64 {
    let depth = low.len();
    // Entries under a page's child, by the page's depth.
    let mut child: SmallVec<[f64; 8]> = SmallVec::from_elem(1.0, depth);
    for i in (fork..depth - 1).rev() {
        let counts: f64 = samples.iter().map(|s| f64::from(s[i + 1].count)).sum();
        child[i] = child[i + 1] * counts / samples.len() as f64;
    }
    let mut sum = f64::from(high[fork].slot - low[fork].slot - 1) * child[fork];
    for i in fork + 1..depth {
        // On the left way what lies behind it, on the right way what lies before it.
        let own = u16::from(i < depth - 1);
        let behind = low[i].count.saturating_sub(low[i].slot + own);
        sum += (f64::from(behind) + f64::from(high[i].slot)) * child[i];
    }
    sum
}

//! Scans, one leaf at a time: the visitor runs under the leaf's shared latch, and between two calls nothing is
//! held. A scan therefore remembers the key it last visited, and a [`Cursor`] also the leaf, which saves the
//! descent as long as the leaf has not changed.

use super::Tree;
use super::descend::{Miss, Resident};
use super::edit::LeafHint;
use super::small::At;
use crate::error::Result;
use crate::page::{page_lsn, page_no, slotted};
use crate::pool::PageRead;
use std::ops::{Bound, ControlFlow};

/// Scan direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dir {
    /// Ascending keys.
    Forward,
    /// Descending keys.
    Backward,
}

/// Why a leaf scan ended.
#[derive(Debug, PartialEq, Eq)]
pub enum ScanEnd {
    /// The visitor broke off.
    Stopped,
    /// This leaf is exhausted; continue with the given (exclusive) bound.
    More,
    /// No further entries in this direction.
    End,
}

/// What a scan calls with each key and value.
pub type Visit<'v> = dyn FnMut(&[u8], &[u8]) -> ControlFlow<()> + 'v;

/// What [`Cursor::scan_crossing`] calls: as [`Visit`], and whether leaves were crossed.
pub type CrossingVisit<'v> = dyn FnMut(&[u8], &[u8], bool) -> ControlFlow<()> + 'v;

/// A latched leaf and how far the scan is in it: forward the next slot, backward the number of entries left.
struct Place<'t> {
    leaf: PageRead<'t>,
    pos: u16,
    /// Whether leaves before this one were looked at and released.
    crossed: bool,
}

/// Where the next entry is.
enum Sought<'t> {
    Place(Place<'t>),
    /// There is none.
    End,
    /// The tree has no root.
    Rootless,
}

/// What a visit left behind.
struct Visited {
    end: ScanEnd,
    /// Slot of the last entry the visitor saw.
    last: u16,
}

impl Place<'_> {
    /// Shows the visitor the leaf's remaining entries; there is at least one.
    #[inline]
    fn visit(&mut self, dir: Dir, f: &mut Visit<'_>) -> Visited {
        let n = slotted::count(&self.leaf);
        let mut last;
        loop {
            last = match dir {
                Dir::Forward => self.pos,
                Dir::Backward => self.pos - 1,
            };
            let (key, value) = slotted::entry(&self.leaf, last);
            let flow = f(key, value);
            let (exhausted, beyond) = match dir {
                Dir::Forward => {
                    self.pos += 1;
                    (self.pos == n, slotted::right(&self.leaf))
                }
                Dir::Backward => {
                    self.pos -= 1;
                    (self.pos == 0, slotted::left(&self.leaf))
                }
            };
            let end = match flow {
                ControlFlow::Break(()) => ScanEnd::Stopped,
                ControlFlow::Continue(()) if !exhausted => continue,
                ControlFlow::Continue(()) if beyond == 0 => ScanEnd::End,
                ControlFlow::Continue(()) => ScanEnd::More,
            };
            return Visited { end, last };
        }
    }
}

impl Tree {
    /// Visits entries of ONE leaf from `from` on, under its shared latch (`f` must be short: no I/O,
    /// no waits; it may take the lock table's mutexes). `ScanEnd::More` leaves in `resume` the key to continue
    /// from, exclusively: the last one visited. An unbounded `from` starts at the first (Forward) or last
    /// (Backward) entry.
    pub fn scan_leaf(
        &self,
        from: Bound<&[u8]>,
        dir: Dir,
        resume: &mut Vec<u8>,
        f: &mut Visit<'_>,
    ) -> Result<ScanEnd> {
        let mut place = match self.seek(from, dir)? {
            Sought::Place(place) => place,
            Sought::End => return Ok(ScanEnd::End),
            Sought::Rootless => {
                return match self.seek_small(from, dir)? {
                    At::Own => self.scan_leaf(from, dir, resume, f),
                    At::Nowhere => Ok(ScanEnd::End),
                    At::Shared(place) => Ok(place.visit(dir, f).0),
                };
            }
        };
        let visited = place.visit(dir, f);
        if visited.end == ScanEnd::More {
            resume.clear();
            resume.extend_from_slice(slotted::key(&place.leaf, visited.last));
        }
        Ok(visited.end)
    }

    /// As a forward [`Tree::scan_leaf`] from `key`, which is what lookups of this tree give of a key: entries with it
    /// are what is looked for.
    pub fn scan_leaf_of(
        &self,
        key: &[u8],
        resume: &mut Vec<u8>,
        f: &mut Visit<'_>,
    ) -> Result<ScanEnd> {
        let mut place = match self.seek_first(key)? {
            Sought::Place(place) => place,
            Sought::End => return Ok(ScanEnd::End),
            Sought::Rootless => {
                return self.scan_leaf(Bound::Included(key), Dir::Forward, resume, f);
            }
        };
        let visited = place.visit(Dir::Forward, f);
        if visited.end == ScanEnd::More {
            resume.clear();
            resume.extend_from_slice(slotted::key(&place.leaf, visited.last));
        }
        Ok(visited.end)
    }

    /// The leaf with the first entry at or beyond `key`, which is what lookups give of a key.
    fn seek_first(&self, key: &[u8]) -> Result<Sought<'_>> {
        if self.root() == 0 {
            return Ok(Sought::Rootless);
        }
        let probe = self.probe_first(key);
        if let Some((leaf, Ok(pos) | Err(pos))) = self.find_hashed(probe, key) {
            let crossed = false;
            return Ok(Sought::Place(Place { leaf, pos, crossed }));
        }
        let place = self.seek_forward(Bound::Included(key))?;
        if let Some(place) = &place {
            self.learn_first(probe, key, &place.leaf, place.pos);
        }
        Ok(place.map_or(Sought::End, Sought::Place))
    }

    /// The first key, copied.
    pub fn first_key(&self) -> Result<Option<Vec<u8>>> {
        self.edge_key(Dir::Forward)
    }

    /// The last key, copied.
    pub fn last_key(&self) -> Result<Option<Vec<u8>>> {
        self.edge_key(Dir::Backward)
    }

    fn edge_key(&self, dir: Dir) -> Result<Option<Vec<u8>>> {
        let mut key = None;
        self.scan_leaf(Bound::Unbounded, dir, &mut Vec::new(), &mut |k, _| {
            key = Some(k.to_vec());
            ControlFlow::Break(())
        })?;
        Ok(key)
    }

    /// The leaf with the first entry at or beyond `from`.
    fn seek(&self, from: Bound<&[u8]>, dir: Dir) -> Result<Sought<'_>> {
        if self.root() == 0 {
            return Ok(Sought::Rootless);
        }
        let place = match dir {
            Dir::Forward => self.seek_forward(from),
            Dir::Backward => self.seek_backward(from),
        };
        Ok(place?.map_or(Sought::End, Sought::Place))
    }

    fn seek_forward(&self, from: Bound<&[u8]>) -> Result<Option<Place<'_>>> {
        let mut resident = Resident::new(self);
        loop {
            let (leaf, pos) = match from {
                Bound::Unbounded => (self.leaf(|_| 0)?, 0),
                Bound::Included(key) | Bound::Excluded(key) => {
                    let leaf = self.leaf(|page| slotted::search_child(page, key))?;
                    let pos = match slotted::search(&leaf, key) {
                        Ok(slot) => slot + u16::from(from == Bound::Excluded(key)),
                        Err(slot) => slot,
                    };
                    (leaf, pos)
                }
            };
            match self.rightward(Place {
                leaf,
                pos,
                crossed: false,
            })? {
                Ok(place) => return Ok(place),
                Err(miss) => resident.bring(miss)?,
            }
        }
    }

    /// Follows the links, coupling latches, while the leaf has nothing left to visit.
    #[inline]
    fn rightward<'t>(
        &'t self,
        mut place: Place<'t>,
    ) -> Result<std::result::Result<Option<Place<'t>>, Miss>> {
        while place.pos >= slotted::count(&place.leaf) {
            let right = slotted::right(&place.leaf);
            if right == 0 {
                return Ok(Ok(None));
            }
            let Some(next) = self.pager.try_fetch(&self.space, right) else {
                return Ok(Err(Miss(right)));
            };
            if slotted::level(&next) != 0 || slotted::left(&next) != page_no(&place.leaf) {
                return Err(self.corrupt(right, "its left neighbour is not the one that names it"));
            }
            place = Place {
                leaf: next,
                pos: 0,
                crossed: true,
            };
        }
        Ok(Ok(Some(place)))
    }

    fn seek_backward(&self, from: Bound<&[u8]>) -> Result<Option<Place<'_>>> {
        // Keys below this separator are not under the leaf that a descent came to.
        let mut fence = Vec::new();
        let mut below = Vec::new();
        let mut from = from;
        let mut resident = Resident::new(self);
        let mut crossed = false;
        loop {
            let mut fenced = false;
            let leaf = self.try_leaf(|page| {
                let slot = match from {
                    Bound::Unbounded => slotted::count(page).saturating_sub(1),
                    Bound::Included(key) => slotted::search_child(page, key),
                    Bound::Excluded(key) => {
                        let slot = slotted::search_child(page, key);
                        // All that is under a separator equal to the bound lies beyond it.
                        slot - u16::from(slot > 0 && slotted::key(page, slot) == key)
                    }
                };
                if slot > 0 {
                    fenced = true;
                    fence.clear();
                    fence.extend_from_slice(slotted::key(page, slot));
                }
                slot
            })?;
            let leaf = match leaf {
                Ok(leaf) => leaf,
                Err(miss) => {
                    resident.bring(miss)?;
                    continue;
                }
            };
            let pos = match from {
                Bound::Unbounded => slotted::count(&leaf),
                Bound::Included(key) => match slotted::search(&leaf, key) {
                    Ok(slot) => slot + 1,
                    Err(slot) => slot,
                },
                Bound::Excluded(key) => match slotted::search(&leaf, key) {
                    Ok(slot) | Err(slot) => slot,
                },
            };
            if pos > 0 {
                return Ok(Some(Place { leaf, pos, crossed }));
            }
            if !fenced {
                return Ok(None);
            }
            std::mem::swap(&mut fence, &mut below);
            from = Bound::Excluded(&below);
            crossed = true;
        }
    }
}

/// A scan that remembers its leaf: going on where it was costs no descent as long as the leaf has not
/// changed. It holds no latch and no pin between calls, and allocates only to grow its key.
pub struct Cursor {
    dir: Dir,
    /// Where to go on if the leaf has changed.
    key: Vec<u8>,
    from: From,
    leaf: Option<Spot>,
}

/// What [`Cursor::key`] means.
#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    Edge,
    Included,
    /// As `Included`; the key is what lookups of the tree give.
    First,
    Excluded,
}

/// A leaf and a position in it, both good while its LSN is this.
#[derive(Clone, Copy)]
struct Spot {
    hint: LeafHint,
    pos: u16,
}

impl Cursor {
    /// A cursor before the first entry at or beyond `from`.
    pub fn new(from: Bound<&[u8]>, dir: Dir) -> Cursor {
        let mut cursor = Cursor {
            dir,
            key: Vec::new(),
            from: From::Edge,
            leaf: None,
        };
        cursor.reset(from, dir);
        cursor
    }

    /// Makes it what `new` would, keeping its memory.
    pub fn reset(&mut self, from: Bound<&[u8]>, dir: Dir) {
        self.dir = dir;
        self.leaf = None;
        self.key.clear();
        self.from = match from {
            Bound::Unbounded => From::Edge,
            Bound::Included(key) => {
                self.key.extend_from_slice(key);
                From::Included
            }
            Bound::Excluded(key) => {
                self.key.extend_from_slice(key);
                From::Excluded
            }
        };
    }

    /// Makes it a cursor before the first entry with `key`, forward, `key` being what lookups of the tree give of a
    /// key: the adaptive hash index may know the place.
    pub fn reset_to_first(&mut self, key: &[u8]) {
        self.reset(Bound::Included(key), Dir::Forward);
        self.from = From::First;
    }

    /// Visits further entries of one leaf, as [`Tree::scan_leaf`] does. After `Stopped` and `More` the next call
    /// goes on behind the last entry visited; after `End` it looks for entries that came to be there since.
    pub fn scan(&mut self, tree: &Tree, f: &mut Visit<'_>) -> Result<ScanEnd> {
        self.scan_crossing(tree, &mut |key, value, _| f(key, value))
    }

    /// As [`Cursor::scan`]; the visitor is also told whether the cursor went through other leaves before this one. If
    /// so, entries may have come to be in those between the key before and the first one visited; otherwise nothing
    /// could, under the latch.
    pub fn scan_crossing(&mut self, tree: &Tree, f: &mut CrossingVisit<'_>) -> Result<ScanEnd> {
        let mut place = match self.place(tree)? {
            Sought::Place(place) => place,
            Sought::End => return Ok(ScanEnd::End),
            Sought::Rootless => return self.scan_small(tree, f),
        };
        let crossed = place.crossed;
        let visited = place.visit(self.dir, &mut |key, value| f(key, value, crossed));
        self.key.clear();
        self.key
            .extend_from_slice(slotted::key(&place.leaf, visited.last));
        self.from = From::Excluded;
        self.leaf = Some(Spot {
            hint: LeafHint::of(&place.leaf),
            pos: place.pos,
        });
        Ok(visited.end)
    }

    /// Copies the leaf of the next entry into `page`, as [`slotted::copy`] does, and goes behind its last entry: the next entry's slot, and
    /// `More` or `End`. `None`: no entry follows. For forward scans; what a descent per entry finds, this finds as of one moment.
    pub fn copy_leaf(&mut self, tree: &Tree, page: &mut [u8]) -> Result<Option<(u16, ScanEnd)>> {
        debug_assert_eq!(self.dir, Dir::Forward);
        let place = match self.place(tree)? {
            Sought::Place(place) => place,
            Sought::End => return Ok(None),
            Sought::Rootless => return self.copy_small(tree, page),
        };
        slotted::copy(&place.leaf, page);
        let (first, hint) = (place.pos, LeafHint::of(&place.leaf));
        drop(place);
        let count = slotted::count(page);
        self.key.clear();
        self.key.extend_from_slice(slotted::key(page, count - 1));
        self.from = From::Excluded;
        self.leaf = Some(Spot { hint, pos: count });
        let end = match slotted::right(page) {
            0 => ScanEnd::End,
            _ => ScanEnd::More,
        };
        Ok(Some((first, end)))
    }

    /// [`Cursor::scan_crossing`] of an index that had no root: what is left of it lies in one leaf.
    #[inline(never)]
    fn scan_small(&mut self, tree: &Tree, f: &mut CrossingVisit<'_>) -> Result<ScanEnd> {
        let place = match tree.seek_small(self.bound(), self.dir)? {
            At::Shared(place) => place,
            At::Nowhere => return Ok(ScanEnd::End),
            At::Own => return self.scan_crossing(tree, f),
        };
        let (end, last) = place.visit(self.dir, &mut |key, value| f(key, value, false));
        self.key.clear();
        self.key.extend_from_slice(place.key(last));
        self.from = From::Excluded;
        self.leaf = Some(Spot {
            hint: LeafHint::of(&place.leaf),
            pos: last,
        });
        Ok(end)
    }

    /// [`Cursor::copy_leaf`] of an index that had no root.
    #[inline(never)]
    fn copy_small(&mut self, tree: &Tree, page: &mut [u8]) -> Result<Option<(u16, ScanEnd)>> {
        let place = match tree.seek_small(self.bound(), self.dir)? {
            At::Shared(place) => place,
            At::Nowhere => return Ok(None),
            At::Own => return self.copy_leaf(tree, page),
        };
        place.copy(page);
        drop(place);
        let last = slotted::key(page, slotted::count(page) - 1);
        self.key.clear();
        self.key.extend_from_slice(last);
        self.from = From::Excluded;
        Ok(Some((0, ScanEnd::End)))
    }

    /// Where it goes on.
    fn bound(&self) -> Bound<&[u8]> {
        match self.from {
            From::Edge => Bound::Unbounded,
            From::First | From::Included => Bound::Included(&self.key[..]),
            From::Excluded => Bound::Excluded(&self.key[..]),
        }
    }

    /// Leaf of the entry last visited, for [`Tree::edit_at`] on its key.
    pub fn hint(&self) -> Option<LeafHint> {
        self.leaf.map(|spot| spot.hint)
    }

    /// The key last visited (or the bound it started from).
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    #[inline]
    fn place<'t>(&self, tree: &'t Tree) -> Result<Sought<'t>> {
        if let Some(spot) = self.leaf
            && let Some(leaf) =
                tree.pager
                    .try_fetch_hint(spot.hint.frame, &tree.space, spot.hint.page)
            && page_lsn(&leaf) == spot.hint.lsn
        {
            let place = Place {
                leaf,
                pos: spot.pos,
                crossed: false,
            };
            match self.dir {
                Dir::Forward => {
                    if let Ok(place) = tree.rightward(place)? {
                        return Ok(place.map_or(Sought::End, Sought::Place));
                    }
                }
                Dir::Backward if spot.pos > 0 => return Ok(Sought::Place(place)),
                Dir::Backward => {}
            }
        }
        match self.from {
            From::First => tree.seek_first(&self.key),
            _ => tree.seek(self.bound(), self.dir),
        }
    }
}

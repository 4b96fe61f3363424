//! Which pages of one file are free, and what of that the redo log knows.
//!
//! Two states are kept for each extent. The *current* one is what allocation looks at: a page taken
//! by an unfinished mini-transaction is used, a page freed by one is still used. The *logged*
//! one is what the map page holds: it changes at commit, together with the redo group that says so,
//! under this structure's mutex. Map pages are therefore exact at every point of the log though
//! mini-transactions overlap, and a page is only reused by groups later in the log than the one that freed it.
//!
//! That an extent without used pages is reserved for a space is not logged: after a restart it is free.
//!
//! A file keeps some free extents back for those who must not fail ([`Need::Ending`]): a rollback that gives a row its
//! length back may have to split a page that others have filled, and the disk may be full by then.

use super::layout::{self, COUNTERS, entry_at, entry_bytes, map_page};
use super::{AllocKind, EXTENT_PAGES, FileId, MAP_EXTENTS, SpaceId};
use crate::log::op::{Op, Target};
use crate::page::{Lsn, PageNo, PageType, get_u32, get_u64, page_lsn, put_u32, put_u64};
use std::collections::{BTreeSet, HashMap};

/// Most extents a space takes at once.
const MAX_RUN: u32 = 8;
/// Extents kept back: a share of the file, and the most that are.
const KEPT_SHARE: u32 = 8;
const KEPT: u32 = 64;
/// Owner of fragment extents and of the bookkeeping pages in them.
const FRAGMENT: u64 = SpaceId::FILE.0;

#[derive(Clone, Copy, Default)]
struct Extent {
    owner: u64,
    logged_owner: u64,
    used: u8,
    logged_used: u8,
}

/// State of one bookkeeping page.
#[derive(Clone, Copy, Default)]
struct Slot {
    /// Its `Op::Init` is in the log.
    formatted: bool,
    lsn: Lsn,
    /// Start of the oldest group not yet written to the page; 0: clean.
    oldest: Lsn,
}

#[derive(Default)]
struct SpaceExtents {
    extents: BTreeSet<u32>,
    /// Those with a free page.
    partial: BTreeSet<u32>,
    pages: u64,
}

/// A bookkeeping page: 0 is the header, `k + 1` map `k`.
pub(crate) type SlotNo = u32;

/// Page number of a bookkeeping page.
pub(crate) fn page_of(slot: SlotNo) -> PageNo {
    slot.checked_sub(1).map_or(0, map_page)
}

/// One change of the logged state, made by a mini-transaction.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change {
    /// A page taken earlier is now allocated.
    Take(PageNo),
    /// A page is freed.
    Free(PageNo),
    /// Pages of an extent that [`FileAlloc::take_run`] took are now allocated.
    TakeExtent(u32),
    /// An extent of a dropped space is freed whole.
    FreeExtent(u32),
    /// A counter's high-water mark (shared file).
    Counter(usize, u64),
    /// The root of the tree that small indexes share (shared file).
    SharedRoot(PageNo),
}

/// Who needs pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// Somebody who can be told that the disk is full.
    Growth,
    /// The end of a transaction: it may have what is kept back.
    Ending,
}

/// Allocation state of one file.
pub(crate) struct FileAlloc {
    extents: Vec<Extent>,
    free: BTreeSet<u32>,
    /// Fragment extents with a free page.
    fragments: BTreeSet<u32>,
    spaces: HashMap<u64, SpaceExtents>,
    slots: Vec<Slot>,
    counters: [u64; COUNTERS],
    /// What the header says of how many maps count; 0: all.
    maps: u32,
    /// Root of the tree that small indexes share; 0: there is none.
    shared_root: PageNo,
}

fn is_map_extent(e: u32) -> bool {
    e.is_multiple_of(MAP_EXTENTS)
}

/// Bookkeeping pages in the first extent of each map: the map, and on the first the file header.
fn reserved(e: u32) -> u8 {
    match e {
        0 => 0b11,
        e if is_map_extent(e) => 0b10,
        _ => 0,
    }
}

impl FileAlloc {
    /// An empty file.
    pub fn new() -> FileAlloc {
        FileAlloc {
            extents: Vec::new(),
            free: BTreeSet::new(),
            fragments: BTreeSet::new(),
            spaces: HashMap::new(),
            slots: vec![Slot::default()],
            counters: [0; COUNTERS],
            maps: 0,
            shared_root: 0,
        }
    }

    /// Extents the file has room for.
    pub fn extents(&self) -> u32 {
        self.extents.len() as u32
    }

    /// Extents that are nobody's.
    pub fn free_extents(&self) -> u32 {
        self.free.len() as u32
    }

    /// The file has grown to `extents`.
    pub fn grow_to(&mut self, extents: u32) {
        for e in self.extents()..extents {
            let mut x = Extent::default();
            if is_map_extent(e) {
                self.slots.push(Slot::default());
                x.owner = FRAGMENT;
                x.used = reserved(e);
                self.fragments.insert(e);
            } else {
                self.free.insert(e);
            }
            self.extents.push(x);
        }
    }

    /// Takes over a header page read at open.
    pub fn load_header(&mut self, file: FileId, page: &[u8]) -> Result<(), String> {
        if get_u64(page, layout::MAGIC_AT) != layout::MAGIC {
            return Err("not a Millpond data file".into());
        }
        let version = get_u32(page, layout::VERSION_AT);
        if version != layout::FORMAT_VERSION {
            return Err(format!(
                "format version {version}; this program knows {}",
                layout::FORMAT_VERSION
            ));
        }
        self.shared_root = get_u32(page, layout::SHARED_ROOT_AT);
        let id = get_u64(page, layout::FILE_ID_AT);
        if id != file.0 {
            return Err(format!("it is the header of file {id}"));
        }
        for (n, c) in self.counters.iter_mut().enumerate() {
            *c = get_u64(page, layout::COUNTERS_AT + n * 8);
        }
        self.maps = get_u32(page, layout::MAPS_AT);
        self.slots[0].formatted = true;
        self.slots[0].lsn = page_lsn(page);
        Ok(())
    }

    /// Whether map page `k` counts. One that does not was cut off with its part of the file; what is there by accident
    /// means nothing.
    pub fn has_map(&self, k: u32) -> bool {
        self.maps == 0 || k < self.maps
    }

    /// Takes over map page `k` read at open, after [`FileAlloc::grow_to`].
    pub fn load_map(&mut self, k: u32, page: &[u8]) {
        let first = k * MAP_EXTENTS;
        // A crash can lose the growth and keep the map page, which recovery has written.
        self.grow_to(first + 1);
        let slot = &mut self.slots[k as usize + 1];
        slot.formatted = true;
        slot.lsn = page_lsn(page);
        for i in 0..MAP_EXTENTS {
            let (owner, used) = layout::read_entry(page, i);
            let e = first + i;
            if owner == 0 && !is_map_extent(e) {
                continue;
            }
            // Pages beyond the file's end may be allocated: a crash can lose the growth.
            self.grow_to(e + 1);
            self.free.remove(&e);
            let x = &mut self.extents[e as usize];
            *x = Extent {
                owner: owner.max(u64::from(is_map_extent(e))),
                logged_owner: owner,
                used: used | reserved(e),
                logged_used: used,
            };
            self.fragments.remove(&e);
            if x.owner == FRAGMENT {
                if x.used != u8::MAX {
                    self.fragments.insert(e);
                }
            } else {
                let full = x.used == u8::MAX;
                let pages = u64::from(x.used.count_ones());
                let s = self.spaces.entry(owner).or_default();
                s.extents.insert(e);
                s.pages += pages;
                if !full {
                    s.partial.insert(e);
                }
            }
        }
    }

    /// High-water mark of a counter.
    pub fn counter(&self, n: usize) -> u64 {
        self.counters[n]
    }

    /// Free extents that may be taken now. Temporary tables are never rolled back, and keep nothing for it.
    fn takable(&self, space: SpaceId, need: Need) -> u32 {
        let free = self.free.len() as u32;
        if need == Need::Ending || space.is_temporary() {
            return free;
        }
        free.saturating_sub((self.extents() / KEPT_SHARE).min(KEPT))
    }

    /// Root of the tree that small indexes share; 0: there is none.
    pub fn shared_root(&self) -> PageNo {
        self.shared_root
    }

    /// Takes a free page in memory; `None` if the file must grow.
    pub fn take(
        &mut self,
        space: SpaceId,
        how: AllocKind,
        near: PageNo,
        need: Need,
    ) -> Option<PageNo> {
        let takable = self.takable(space, need);
        let e = match how {
            AllocKind::Root => self.fragment_extent(takable)?,
            AllocKind::Extent => {
                // What is kept back goes piece by piece.
                let kept = takable > self.takable(space, Need::Growth);
                let most = if kept { takable.min(1) } else { takable };
                self.space_extent(space.0, near, most)?
            }
            AllocKind::Low => self.low_extent(space.0, takable)?,
        };
        let x = &mut self.extents[e as usize];
        debug_assert_ne!(x.used, u8::MAX);
        // Behind `near` in its own extent, else the lowest.
        let mut bit = x.used.trailing_ones();
        if near != 0 && near / EXTENT_PAGES == e {
            let above = x.used | ((1u16 << (near % EXTENT_PAGES)) - 1) as u8;
            if above != u8::MAX {
                bit = above.trailing_ones();
            }
        }
        x.used |= 1 << bit;
        let full = x.used == u8::MAX;
        if x.owner == FRAGMENT {
            if full {
                self.fragments.remove(&e);
            }
        } else {
            let s = self.spaces.get_mut(&space.0).expect("owner is known");
            s.pages += 1;
            if full {
                s.partial.remove(&e);
            }
        }
        Some(e * EXTENT_PAGES + bit)
    }

    /// Takes up to `want` free extents that lie one behind the other with all their pages, for a space whose pages are written past the
    /// pool: the first, and how many. `None` if the file must grow. Nothing is logged of them before [`Change::TakeExtent`].
    pub fn take_run(&mut self, space: SpaceId, want: u32, need: Need) -> Option<(u32, u32)> {
        let want = want.min(self.takable(space, need));
        if want == 0 {
            return None;
        }
        let last = self.spaces.get(&space.0).and_then(|s| s.extents.last());
        let from = last.map_or(0, |e| e + 1);
        let (first, len) = self
            .free_run(from, want)
            .or_else(|| self.free_run(0, want))?;
        let s = self.spaces.entry(space.0).or_default();
        for e in first..first + len {
            self.free.remove(&e);
            let x = &mut self.extents[e as usize];
            (x.owner, x.used) = (space.0, u8::MAX);
            s.extents.insert(e);
            s.pages += u64::from(EXTENT_PAGES);
        }
        Some((first, len))
    }

    /// `takable`: free extents that there are for it.
    fn fragment_extent(&mut self, takable: u32) -> Option<u32> {
        if let Some(e) = self.fragments.first() {
            return Some(*e);
        }
        if takable == 0 {
            return None;
        }
        let e = self.free.pop_first()?;
        self.extents[e as usize].owner = FRAGMENT;
        self.fragments.insert(e);
        Some(e)
    }

    fn space_extent(&mut self, space: u64, near: PageNo, takable: u32) -> Option<u32> {
        let near = near / EXTENT_PAGES;
        let s = self.spaces.entry(space).or_default();
        if s.partial.contains(&near) {
            return Some(near);
        }
        let after = s.partial.range(near..).next();
        if let Some(e) = after.or(s.partial.first()) {
            return Some(*e);
        }
        if takable == 0 {
            return None;
        }
        let want = (s.extents.len() as u32).clamp(1, MAX_RUN.min(takable));
        let from = s.extents.last().map_or(0, |e| e + 1);
        let (first, len) = self
            .free_run(from, want)
            .or_else(|| self.free_run(0, want))?;
        for e in first..first + len {
            self.free.remove(&e);
            self.extents[e as usize].owner = space;
            let s = self.spaces.get_mut(&space).expect("just made");
            s.extents.insert(e);
            s.partial.insert(e);
        }
        Some(first)
    }

    /// The first extent with a free page that is the space's or can become it.
    fn low_extent(&mut self, space: u64, takable: u32) -> Option<u32> {
        let s = self.spaces.entry(space).or_default();
        let free = self.free.first().copied().filter(|_| takable > 0);
        let partial = s.partial.first().copied();
        match (partial, free) {
            (Some(p), None) => Some(p),
            (Some(p), Some(f)) if p < f => Some(p),
            (_, Some(e)) => {
                self.free.remove(&e);
                self.extents[e as usize].owner = space;
                s.extents.insert(e);
                s.partial.insert(e);
                Some(e)
            }
            (None, None) => None,
        }
    }

    /// First free extent from `from` on and how many, up to `want`, follow it.
    fn free_run(&self, from: u32, want: u32) -> Option<(u32, u32)> {
        let mut it = self.free.range(from..);
        let first = *it.next()?;
        let more = it
            .take(want as usize - 1)
            .zip(first + 1..)
            .take_while(|(a, b)| **a == *b)
            .count();
        Some((first, 1 + more as u32))
    }

    /// Pages the space could get without growing the file; those in fragment extents count if `fragments` is set, for only roots come from there.
    pub fn available(&self, space: SpaceId, need: Need, fragments: bool) -> u32 {
        let partial = self.spaces.get(&space.0).map_or(0, |s| s.partial.len());
        let free = self.takable(space, need) * EXTENT_PAGES;
        let fragments = if fragments { self.fragments.len() } else { 0 };
        free + (partial + fragments) as u32
    }

    /// Whether the page is taken and may be the space's (of pages in fragment extents only the former is
    /// known).
    pub fn is_taken(&self, space: SpaceId, page: PageNo) -> bool {
        let x = self.extents.get((page / EXTENT_PAGES) as usize);
        x.is_some_and(|x| {
            x.used & 1 << (page % EXTENT_PAGES) != 0 && (x.owner == space.0 || x.owner == FRAGMENT)
        })
    }

    /// Whether the page is taken and lies in an extent of the space's own: surely not a root page, surely nobody
    /// else's.
    pub fn owns(&self, space: SpaceId, page: PageNo) -> bool {
        let x = self.extents.get((page / EXTENT_PAGES) as usize);
        x.is_some_and(|x| x.used & 1 << (page % EXTENT_PAGES) != 0 && x.owner == space.0)
    }

    /// Gives back a page that was taken but not logged.
    pub fn untake(&mut self, page: PageNo) {
        let e = page / EXTENT_PAGES;
        let x = &mut self.extents[e as usize];
        debug_assert_eq!(x.logged_used & 1 << (page % EXTENT_PAGES), 0);
        x.used &= !(1 << (page % EXTENT_PAGES));
        self.settle(e, 1);
    }

    /// Gives back what is left of an extent that [`FileAlloc::take_run`] took, unless it was logged.
    pub fn untake_extent(&mut self, e: u32) {
        let x = &mut self.extents[e as usize];
        if x.logged_used == 0 && x.used != 0 {
            let pages = x.used.count_ones();
            x.used = 0;
            self.settle(e, u64::from(pages));
        }
    }

    /// After pages of an extent were freed in memory: to which list does it belong?
    fn settle(&mut self, e: u32, freed: u64) {
        let x = &mut self.extents[e as usize];
        if x.owner == FRAGMENT {
            if x.used == 0 {
                x.owner = 0;
                self.fragments.remove(&e);
                self.free.insert(e);
            } else {
                self.fragments.insert(e);
            }
            return;
        }
        let owner = x.owner;
        let Some(s) = self.spaces.get_mut(&owner) else {
            return;
        };
        s.pages -= freed;
        if x.used == 0 {
            x.owner = 0;
            s.extents.remove(&e);
            s.partial.remove(&e);
            if s.extents.is_empty() {
                self.spaces.remove(&owner);
            }
            self.free.insert(e);
        } else {
            s.partial.insert(e);
        }
    }

    /// Brings a change into the logged state, encodes it, and notes which bookkeeping pages it touches.
    pub fn log(&mut self, change: Change, w: &mut Writer<'_>, touched: &mut impl FnMut(SlotNo)) {
        if !self.slots[0].formatted {
            self.slots[0].formatted = true;
            w.init(0, PageType::FileHeader);
            w.bytes(
                0,
                layout::MAGIC_AT,
                &layout::header_bytes(w.file, self.shared_root),
            );
            touched(0);
        }
        let e = match change {
            Change::Counter(n, value) => {
                self.counters[n] = value;
                w.bytes(0, layout::COUNTERS_AT + n * 8, &value.to_le_bytes());
                return touched(0);
            }
            Change::SharedRoot(root) => {
                self.shared_root = root;
                w.bytes(0, layout::SHARED_ROOT_AT, &root.to_le_bytes());
                return touched(0);
            }
            Change::Take(page) | Change::Free(page) => page / EXTENT_PAGES,
            Change::TakeExtent(e) | Change::FreeExtent(e) => e,
        };
        let k = e / MAP_EXTENTS;
        touched(k + 1);
        if !self.slots[k as usize + 1].formatted {
            self.slots[k as usize + 1].formatted = true;
            if !self.has_map(k) {
                self.log_maps(k + 1, w);
                touched(0);
            }
            w.init(map_page(k), PageType::AllocMap);
            let first = k * MAP_EXTENTS;
            let x = &mut self.extents[first as usize];
            x.logged_owner = FRAGMENT;
            x.logged_used = reserved(first);
            if first != e {
                w.entry(first, x);
            }
        }
        let x = &mut self.extents[e as usize];
        match change {
            Change::Take(page) => {
                x.logged_owner = x.owner;
                x.logged_used |= 1 << (page % EXTENT_PAGES);
            }
            Change::Free(page) => {
                x.logged_used &= !(1 << (page % EXTENT_PAGES));
                if x.logged_used == 0 {
                    x.logged_owner = 0;
                }
            }
            Change::TakeExtent(_) => {
                (x.logged_owner, x.logged_used) = (x.owner, x.used);
            }
            Change::FreeExtent(_) => {
                x.logged_used = 0;
                x.logged_owner = 0;
            }
            Change::Counter(..) | Change::SharedRoot(_) => unreachable!("returned above"),
        }
        w.entry(e, x);
    }

    fn log_maps(&mut self, maps: u32, w: &mut Writer<'_>) {
        self.maps = maps;
        w.bytes(0, layout::MAPS_AT, &maps.to_le_bytes());
    }

    /// Extents at the end, `most` of them at most, in which no page is used, now or by the log.
    pub fn vacant_tail(&self, most: u32) -> u32 {
        let vacant = |e: &u32| {
            let x = &self.extents[*e as usize];
            (x.used | x.logged_used) & !reserved(*e) == 0
        };
        let tail = (1..self.extents()).rev().take(most as usize);
        tail.take_while(vacant).count() as u32
    }

    /// Forgets the vacant extents from `keep` on, and logs which map pages go with them. The caller cuts the file once that is durable.
    pub fn cut(&mut self, keep: u32, w: &mut Writer<'_>, touched: &mut impl FnMut(SlotNo)) {
        let mut formatted = false;
        for e in (keep..self.extents()).rev() {
            let x = self.extents[e as usize];
            debug_assert_eq!((x.used | x.logged_used) & !reserved(e), 0);
            self.free.remove(&e);
            self.fragments.remove(&e);
            if let Some(s) = self.spaces.get_mut(&x.owner) {
                // Reserved and not used.
                s.extents.remove(&e);
                s.partial.remove(&e);
                if s.extents.is_empty() {
                    self.spaces.remove(&x.owner);
                }
            }
            if is_map_extent(e)
                && let Some(slot) = self.slots.pop()
                && slot.formatted
            {
                formatted = true;
                w.put(map_page(e / MAP_EXTENTS), Op::Free);
            }
        }
        self.extents.truncate(keep as usize);
        if formatted {
            self.log_maps(self.slots.len() as u32 - 1, w);
            touched(0);
        }
    }

    /// Whether the file is long enough to have this bookkeeping page.
    pub fn has_slot(&self, slot: SlotNo) -> bool {
        (slot as usize) < self.slots.len()
    }

    /// The group with this change is in the log: what it freed may be taken again.
    pub fn logged(&mut self, change: Change) {
        match change {
            Change::Take(_)
            | Change::TakeExtent(_)
            | Change::Counter(..)
            | Change::SharedRoot(_) => {}
            Change::Free(page) => {
                self.extents[(page / EXTENT_PAGES) as usize].used &= !(1 << (page % EXTENT_PAGES));
                self.settle(page / EXTENT_PAGES, 1);
            }
            Change::FreeExtent(e) => {
                let x = &mut self.extents[e as usize];
                let pages = x.used.count_ones();
                x.used = 0;
                self.settle(e, u64::from(pages));
            }
        }
    }

    /// Whether the log says that the page is used.
    pub fn is_logged_used(&self, page: PageNo) -> bool {
        let x = self.extents.get((page / EXTENT_PAGES) as usize);
        x.is_some_and(|x| x.logged_used & 1 << (page % EXTENT_PAGES) != 0)
    }

    /// A page of an unfinished mini-transaction's to be freed: it is in a fragment extent.
    pub fn is_fragment(&self, page: PageNo) -> bool {
        let x = self.extents.get((page / EXTENT_PAGES) as usize);
        x.is_some_and(|x| x.owner == FRAGMENT)
    }

    /// Up to `most` extents that the space owns.
    pub fn extents_of(&self, space: SpaceId, most: usize) -> Vec<u32> {
        let s = self.spaces.get(&space.0);
        s.map_or_else(Vec::new, |s| s.extents.iter().take(most).copied().collect())
    }

    /// Extents that the space owns.
    pub fn extent_count(&self, space: SpaceId) -> u64 {
        self.spaces
            .get(&space.0)
            .map_or(0, |s| s.extents.len() as u64)
    }

    /// Pages used in the space's own extents.
    pub fn pages_of(&self, space: SpaceId) -> u64 {
        self.spaces.get(&space.0).map_or(0, |s| s.pages)
    }

    /// Extents that somebody owns, not counting those that hold nothing but maps.
    pub fn owned_extents(&self) -> u32 {
        let maps = (0..self.extents()).step_by(MAP_EXTENTS as usize);
        let bare = maps.filter(|e| self.is_bare(*e)).count();
        self.extents() - self.free.len() as u32 - bare as u32
    }

    /// Whether nothing is in the extent but the file's bookkeeping.
    fn is_bare(&self, e: u32) -> bool {
        self.extents[e as usize].used == reserved(e)
    }

    /// Forgets the free extents at the end if they are at least half of an unlogged file; the extents that
    /// are left. The caller then cuts the file.
    pub fn trim(&mut self) -> u32 {
        let unused = |e: &u32| self.free.contains(e) || (is_map_extent(*e) && self.is_bare(*e));
        let excess = (0..self.extents()).rev().take_while(unused).count() as u32;
        if excess * 2 < self.extents() {
            return self.extents();
        }
        let keep = self.extents() - excess;
        for e in keep..self.extents() {
            self.free.remove(&e);
            self.fragments.remove(&e);
            if is_map_extent(e) {
                self.slots.pop();
            }
        }
        self.extents.truncate(keep as usize);
        keep
    }

    /// Used pages by the logged state, with the owner of their extent.
    pub fn used_pages(&self) -> Vec<(PageNo, u64)> {
        let mut all = Vec::new();
        for (e, x) in (0..).zip(&self.extents) {
            for bit in 0..EXTENT_PAGES {
                if x.logged_used & 1 << bit != 0 {
                    all.push((e * EXTENT_PAGES + bit, x.logged_owner));
                }
            }
        }
        all
    }

    /// Whether the log knows the page as used.
    pub fn is_used(&self, page: PageNo) -> bool {
        let extent = self.extents.get((page / EXTENT_PAGES) as usize);
        extent.is_some_and(|x| x.logged_used & 1 << (page % EXTENT_PAGES) != 0)
    }

    /// Whether an extent is nobody's, in memory and in the log, and has none of the file's own pages.
    pub fn is_vacant(&self, extent: u32) -> bool {
        let x = self.extents.get(extent as usize);
        let vacant = |x: &Extent| (x.owner | x.logged_owner, x.used | x.logged_used) == (0, 0);
        !is_map_extent(extent) && x.is_some_and(vacant)
    }

    /// A group ending at `end` changed this bookkeeping page; `start` if it was clean.
    pub fn stamp(&mut self, slot: SlotNo, start: Lsn, end: Lsn) -> bool {
        let s = &mut self.slots[slot as usize];
        let was_clean = s.oldest == 0;
        if was_clean {
            s.oldest = start;
        }
        s.lsn = end;
        was_clean
    }

    /// Makes the bookkeeping page's image (unsealed) and takes it as clean; its LSN.
    pub fn image(&mut self, file: FileId, slot: SlotNo, page: &mut [u8]) -> Lsn {
        let s = &mut self.slots[slot as usize];
        s.oldest = 0;
        let lsn = s.lsn;
        let Some(k) = slot.checked_sub(1) else {
            layout::start(page, 0, PageType::FileHeader, lsn);
            let fixed = layout::header_bytes(file, self.shared_root);
            page[layout::MAGIC_AT..layout::MAGIC_AT + fixed.len()].copy_from_slice(&fixed);
            put_u32(page, layout::MAPS_AT, self.maps);
            for (n, c) in self.counters.iter().enumerate() {
                put_u64(page, layout::COUNTERS_AT + n * 8, *c);
            }
            return lsn;
        };
        layout::start(page, map_page(k), PageType::AllocMap, lsn);
        let first = k * MAP_EXTENTS;
        let last = (first + MAP_EXTENTS).min(self.extents());
        for e in first..last {
            let x = &self.extents[e as usize];
            let at = entry_at(e - first);
            page[at..at + layout::ENTRY_USED]
                .copy_from_slice(&entry_bytes(x.logged_owner, x.logged_used));
        }
        lsn
    }
}

/// Encodes bookkeeping changes of one file into a redo group.
pub(crate) struct Writer<'a> {
    pub file: FileId,
    pub previous: &'a mut Option<Target>,
    pub out: &'a mut Vec<u8>,
}

impl Writer<'_> {
    fn put(&mut self, page: PageNo, op: Op<'_>) {
        let target = Target {
            space: SpaceId::FILE,
            file: self.file,
            page,
        };
        op.encode(target, *self.previous, self.out);
        *self.previous = Some(target);
    }

    fn init(&mut self, page: PageNo, kind: PageType) {
        self.put(page, Op::Init { kind, level: 0 });
    }

    fn bytes(&mut self, page: PageNo, at: usize, data: &[u8]) {
        let offset = at as u16;
        self.put(page, Op::Bytes { offset, data });
    }

    fn entry(&mut self, e: u32, x: &Extent) {
        let at = entry_at(e % MAP_EXTENTS);
        let data = entry_bytes(x.logged_owner, x.logged_used);
        self.bytes(map_page(e / MAP_EXTENTS), at, &data);
    }
}

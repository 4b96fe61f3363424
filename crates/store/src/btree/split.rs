//! Making room in a leaf: one mini-transaction that couples exclusive latches from the root and splits every
//! page on the way that must be split.
//!
//! All latches and new pages are taken before the first change, so what can fail fails while nothing has
//! happened.

use super::descend::{Miss, Resident};
use super::edit::{Found, has_room};
use super::runs::Run;
use super::shared::split_between;
use super::{CHILD, MAX_KEY, Tree, kind_of, separator};
use crate::error::{Error, Result};
use crate::log::op::Op;
use crate::page::{PageNo, slotted};
use crate::pool::{Mtr, PageH};
use crate::space::AllocKind;
use smallvec::SmallVec;
use std::sync::atomic::Ordering;

/// Bytes that the record of the longest separator takes.
const LONGEST_SEPARATOR: usize = MAX_KEY + CHILD + slotted::RECORD_OVERHEAD;

/// How many splits leave room for late keys after one has come.
const LATE_SPLITS: u8 = 64;

/// A latched page of the path and the slot that the path takes in it.
#[derive(Clone, Copy)]
struct Step {
    page: PageH,
    slot: u16,
}

/// How a page of the path is split: records from `at` on move right.
pub(super) struct Plan {
    at: u16,
    /// Least key of the right half, for the parent.
    separator: Vec<u8>,
}

/// In which order keys are known to come to the leaf that is split.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Any,
    /// They ascend at the tree's end, but some come late.
    Late,
    /// They ascend to the key.
    Ascending(Run),
}

enum Try {
    Done,
    Missing(Miss),
    /// The mini-transaction must promise this many new pages.
    Pages(usize),
    /// A page could not be had; what was allocated has been freed, which is to be committed.
    Failed(Error),
}

impl Tree {
    /// Splits the leaf of `key` so that an edit with this `need` has room (or finds that it has by now).
    #[cold]
    pub(super) fn split(&self, key: &[u8], need: usize) -> Result<()> {
        let mut resident = Resident::new(self);
        // Each level may split, and a root's split takes two pages.
        let mut new_pages = usize::from(self.height.load(Ordering::Relaxed)) + 1;
        loop {
            let mut mtr = self.pager.mtr_in(&self.space, new_pages)?;
            match self.try_split(&mut mtr, key, need, new_pages)? {
                Try::Done => {
                    mtr.commit();
                    return Ok(());
                }
                Try::Missing(miss) => {
                    drop(mtr);
                    resident.bring(miss)?;
                }
                Try::Pages(n) => new_pages = n,
                Try::Failed(e) => {
                    mtr.commit();
                    return Err(e);
                }
            }
        }
    }

    fn try_split(
        &self,
        mtr: &mut Mtr<'_>,
        key: &[u8],
        need: usize,
        new_pages: usize,
    ) -> Result<Try> {
        let mut path: SmallVec<[Step; 8]> = SmallVec::new();
        let mut no = self.root();
        let mut level = None;
        loop {
            let Some(page) = mtr.try_latch(&self.space, no) else {
                return Ok(Try::Missing(Miss(no)));
            };
            let bytes = mtr.page(page);
            let here = slotted::level(bytes);
            if level.is_some_and(|l: u8| here + 1 != l) {
                return Err(self.wrong_level(no));
            }
            level = Some(here);
            if here == 0 {
                path.push(Step { page, slot: 0 });
                break;
            }
            let slot = slotted::search_child(bytes, key);
            no = slotted::child(bytes, slot);
            if slotted::free(bytes) >= LONGEST_SEPARATOR {
                // It takes whatever comes from below: nothing above it will change.
                path.drain(..).for_each(|step| mtr.release(step.page));
            }
            path.push(Step { page, slot });
        }

        let leaf = path[path.len() - 1].page;
        let found = slotted::search(mtr.page(leaf), key);
        if has_room(mtr.page(leaf), found, key, need) {
            return Ok(Try::Done);
        }
        let right_no = slotted::right(mtr.page(leaf));
        let right = if right_no == 0 {
            None
        } else {
            let Some(h) = mtr.try_latch(&self.space, right_no) else {
                return Ok(Try::Missing(Miss(right_no)));
            };
            Some(h)
        };

        // The last leaf but one is full where keys ascend; one that belongs near its end comes late.
        let n = slotted::count(mtr.page(leaf));
        let before_last = right.is_some_and(|r| slotted::right(mtr.page(r)) == 0);
        if let Err(pos) = found
            && before_last
            && n - pos <= n / 4
        {
            self.late.store(LATE_SPLITS, Ordering::Relaxed);
        }
        // A root that is a leaf has none.
        let siblings = match path.len() {
            1 => 0,
            len => slotted::count(mtr.page(path[len - 2].page)),
        };
        if let (Some(right), false) = (right, self.parted)
            && self.go_on_in_next(mtr, &path, right, &Coming { key, need, found })
        {
            let (no, records) = (mtr.page_no(right), slotted::count(mtr.page(right)));
            self.note_run(siblings, no, records, 0);
            return Ok(Try::Done);
        }
        let late = self.late.load(Ordering::Relaxed);
        let leaf_no = mtr.page_no(leaf);
        let order = if late > 0 && right.is_none() {
            Order::Late
        } else if let Some(run) = self.ascends(siblings, leaf_no, n, found) {
            Order::Ascending(run)
        } else {
            Order::Any
        };
        let coming = Coming { key, need, found };
        let Some(plans) = plan(mtr, &path, &coming, order, self.parted) else {
            return Ok(Try::Done);
        };
        // Plans go up from the leaf; if they reach the path's top, that is the root.
        let splits_root = plans.len() == path.len();
        let pages = plans.len() + usize::from(splits_root);
        if pages > new_pages {
            return Ok(Try::Pages(pages));
        }
        let mut fresh: SmallVec<[PageH; 8]> = SmallVec::new();
        for i in 0..pages {
            // A root's split takes a second page of its level.
            let level = i.min(plans.len() - 1) as u8;
            let init = Op::Init {
                kind: kind_of(level),
                level,
            };
            match mtr.alloc(&self.space, AllocKind::Extent, leaf_no, init) {
                Ok(page) => fresh.push(page),
                Err(e) => {
                    for page in fresh {
                        mtr.free(page)?;
                    }
                    return Ok(Try::Failed(e));
                }
            }
        }
        carry_out(mtr, &path, &plans, &fresh, right);
        if let Err(pos) = found
            && !splits_root
        {
            let (at, new_no) = (plans[0].at, mtr.page_no(fresh[0]));
            if key >= &plans[0].separator[..] {
                self.note_run(siblings, new_no, n - at, pos - at);
            } else {
                self.note_run(siblings, leaf_no, at, pos);
                if let Order::Ascending(_) = order {
                    // They will come to it.
                    self.note_run(siblings, new_no, n - at, 0);
                }
            }
        }
        if late > 0 {
            self.late.store(late - 1, Ordering::Relaxed);
        }
        if splits_root {
            self.saw_height(plans.len() as u8 + 1);
        }
        Ok(Try::Done)
    }
}

impl Tree {
    /// Has a key that belongs behind all of a full leaf go into the next one, under the same parent, if that has room; no record moves, only
    /// what parts the two. Whether it does.
    fn go_on_in_next(
        &self,
        mtr: &mut Mtr<'_>,
        path: &[Step],
        right: PageH,
        coming: &Coming<'_>,
    ) -> bool {
        let [.., parent, leaf] = path else {
            return false;
        };
        let (page, next) = (mtr.page(leaf.page), mtr.page(right));
        let n = slotted::count(page);
        let size = coming.key.len() + coming.need + slotted::RECORD_OVERHEAD;
        if coming.found != Err(n) || slotted::free(next) < size + slotted::CAPACITY / 8 {
            return false;
        }
        let above = mtr.page(parent.page);
        let slot = parent.slot + 1;
        let separator = separator(slotted::key(page, n - 1), coming.key);
        let record = separator.len() + CHILD + slotted::RECORD_OVERHEAD;
        if slot >= slotted::count(above) || slotted::free(above) < record {
            return false;
        }
        let value = mtr.page_no(right).to_le_bytes();
        debug_assert_eq!(slotted::child(above, slot), mtr.page_no(right));
        mtr.apply(parent.page, Op::Remove { slot });
        mtr.apply(
            parent.page,
            Op::Insert {
                slot,
                key: separator,
                value: &value,
            },
        );
        true
    }
}

/// Decides which pages of the path are split, from the leaf up, and where. `parted`: the leaf only where two indexes meet; `None` if
/// that can't be.
fn plan(
    mtr: &Mtr<'_>,
    path: &[Step],
    coming: &Coming<'_>,
    order: Order,
    parted: bool,
) -> Option<SmallVec<[Plan; 8]>> {
    let (leaf, above) = path.split_last().expect("a path");
    let leaf = mtr.page(leaf.page);
    let mut plans = SmallVec::new();
    let items = Items::new(leaf, coming);
    let mut last: Plan = match parted {
        false => split_leaf(leaf, &items, order),
        true => split_between(leaf, &items, order)?,
    };
    let n = slotted::count(leaf);
    let mut at_edge = slotted::right(leaf) == 0 && last.at >= n - n / 8;
    for step in above.iter().rev() {
        let page = mtr.page(step.page);
        let need = last.separator.len() + CHILD + slotted::RECORD_OVERHEAD;
        plans.push(last);
        if slotted::free(page) >= need {
            return Some(plans);
        }
        // Where keys ascend, the left half stays full on this level too.
        let n = slotted::count(page);
        at_edge &= step.slot + 1 == n;
        let at = if at_edge { n - 1 } else { middle(page) };
        last = Plan {
            at,
            separator: slotted::key(page, at).to_vec(),
        };
    }
    plans.push(last);
    Some(plans)
}

/// The key that needs room, and where it is or belongs.
struct Coming<'k> {
    key: &'k [u8],
    /// Bytes of its value.
    need: usize,
    found: Found,
}

/// The records of a leaf as they will be, the coming one among them.
pub(super) struct Items<'p> {
    page: &'p [u8],
    key: &'p [u8],
    need: usize,
    /// Place of the coming one.
    pub pos: u16,
    pub is_new: bool,
    pub count: u16,
}

impl<'p> Items<'p> {
    fn new(page: &'p [u8], coming: &Coming<'p>) -> Items<'p> {
        let n = slotted::count(page);
        let (pos, is_new) = match coming.found {
            Ok(slot) => (slot, false),
            Err(slot) => (slot, true),
        };
        debug_assert!(n > 0);
        Items {
            page,
            key: coming.key,
            need: coming.need,
            pos,
            is_new,
            count: n + u16::from(is_new),
        }
    }

    /// The slot that an item has, the coming one that behind it.
    fn slot(&self, item: u16) -> u16 {
        item - u16::from(self.is_new && item > self.pos)
    }

    pub fn key_of(&self, item: u16) -> &'p [u8] {
        if item == self.pos {
            self.key
        } else {
            slotted::key(self.page, self.slot(item))
        }
    }

    /// Bytes that an item takes.
    pub fn size_of(&self, item: u16) -> usize {
        let own = self.key.len() + slotted::RECORD_OVERHEAD;
        match (item == self.pos, self.is_new) {
            (true, true) => own + self.need,
            (true, false) => own + self.need.max(slotted::value(self.page, self.pos).len()),
            _ => slotted::footprint(self.page, self.slot(item)),
        }
    }

    /// The split before an item.
    pub fn before(&self, item: u16) -> Plan {
        Plan {
            at: self.slot(item),
            separator: separator(self.key_of(item - 1), self.key_of(item)).to_vec(),
        }
    }
}

/// Where to split a leaf that lacks room for the coming record.
fn split_leaf(page: &[u8], all: &Items<'_>, order: Order) -> Plan {
    let Items {
        pos,
        is_new,
        count: items,
        ..
    } = *all;
    let size_of = |item: u16| all.size_of(item);
    let before = |item: u16| all.before(item);

    if is_new && pos == 0 {
        // Keys descend, perhaps: the new one gets the left page to itself.
        return before(1);
    }
    let total: usize = (0..items).map(size_of).sum();
    let behind = items - pos;
    let is_last = slotted::right(page) == 0;
    if is_new && (behind == 1 || (is_last && behind <= items / 16)) {
        // Keys ascend, perhaps not quite in order: the left page stays full, or with room for those that
        // come late.
        let cut = if is_last && order == Order::Late {
            pos.min(items - items / 8)
        } else {
            pos
        };
        let right: usize = (cut..items).map(size_of).sum();
        if right <= slotted::CAPACITY / 2 {
            return before(cut);
        }
    }
    if is_new && let Order::Ascending(run) = order {
        // What lies behind the keys that come goes away, once, and they go on to the page's end; with little behind them they go on in the
        // next page, before it.
        let behind: usize = (pos + 1..items).map(size_of).sum();
        if behind <= slotted::CAPACITY / 16 {
            return before(pos);
        }
        if total - behind <= slotted::CAPACITY {
            let mut passed_by = (slotted::CAPACITY - (total - behind)) * usize::from(run.passed)
                / usize::from(run.come + run.passed).max(1);
            let mut at = pos + 1;
            while at + 1 < items && size_of(at) <= passed_by {
                passed_by -= size_of(at);
                at += 1;
            }
            return before(at);
        }
    }
    let mut left = 0;
    let mut best = None;
    for item in 1..items {
        left += size_of(item - 1);
        let right = total - left;
        if left <= slotted::CAPACITY && right <= slotted::CAPACITY {
            let imbalance = left.abs_diff(right);
            if best.is_none_or(|(_, least)| imbalance < least) {
                best = Some((item, imbalance));
            }
        }
    }
    // An entry is at most half a page, so cutting on one side of the new one always serves.
    before(
        best.expect("two pages hold a page's records and one more")
            .0,
    )
}

/// The slot that divides an inner page's bytes evenly.
fn middle(page: &[u8]) -> u16 {
    let half = super::used(page) / 2;
    let mut left = 0;
    for slot in 1..slotted::count(page) {
        left += slotted::footprint(page, slot - 1);
        if left >= half {
            return slot;
        }
    }
    slotted::count(page) - 1
}

/// Does what was planned, from the top down, so that each level knows where its separator goes.
fn carry_out(
    mtr: &mut Mtr<'_>,
    path: &[Step],
    plans: &[Plan],
    fresh: &[PageH],
    next_leaf: Option<PageH>,
) {
    let mut parent = if plans.len() == path.len() {
        None
    } else {
        let step = path[path.len() - 1 - plans.len()];
        Some((step.page, step.slot + 1))
    };
    for (i, plan) in plans.iter().enumerate().rev() {
        let step = path[path.len() - 1 - i];
        let is_leaf = i == 0;
        let (left, right) = match parent {
            Some((parent, slot)) => {
                let right = fresh[i];
                let tail = records(mtr.page(step.page), plan.at, !is_leaf);
                mtr.apply(right, Op::Append { data: &tail });
                mtr.apply(step.page, Op::Truncate { slot: plan.at });
                let value = mtr.page_no(right).to_le_bytes();
                mtr.apply(
                    parent,
                    Op::Insert {
                        slot,
                        key: &plan.separator,
                        value: &value,
                    },
                );
                (step.page, right)
            }
            None => {
                let (left, right) = (fresh[i], fresh[i + 1]);
                split_root(mtr, step.page, left, right, plan);
                (left, right)
            }
        };
        if is_leaf {
            link(mtr, left, right, next_leaf);
        } else {
            let slot = step.slot + 1;
            parent = Some(if slot <= plan.at {
                (left, slot)
            } else {
                (right, slot - plan.at)
            });
        }
    }
}

/// Moves the root's records to two new children. The root stays where it is and keeps its number.
fn split_root(mtr: &mut Mtr<'_>, root: PageH, left: PageH, right: PageH, plan: &Plan) {
    let page = mtr.page(root);
    let level = slotted::level(page);
    let is_leaf = level == 0;
    let number = slotted::number(page);
    let tail = records(page, plan.at, !is_leaf);
    let mut head = Vec::with_capacity(super::used(page));
    for slot in 0..plan.at {
        let (key, value) = slotted::entry(page, slot);
        slotted::encode_record(key, value, &mut head);
    }
    mtr.apply(left, Op::Append { data: &head });
    mtr.apply(right, Op::Append { data: &tail });
    init_root(mtr, root, level + 1, number);
    let child = mtr.page_no(left).to_le_bytes();
    mtr.apply(
        root,
        Op::Insert {
            slot: 0,
            key: &[],
            value: &child,
        },
    );
    let child = mtr.page_no(right).to_le_bytes();
    mtr.apply(
        root,
        Op::Insert {
            slot: 1,
            key: &plan.separator,
            value: &child,
        },
    );
}

/// Empties the root for a new level, keeping its number.
pub(super) fn init_root(mtr: &mut Mtr<'_>, root: PageH, level: u8, number: u64) {
    mtr.apply(
        root,
        Op::Init {
            kind: kind_of(level),
            level,
        },
    );
    if number != 0 {
        let data = &number.to_le_bytes();
        mtr.apply(
            root,
            Op::Bytes {
                offset: slotted::NUMBER_AT as u16,
                data,
            },
        );
    }
}

/// Encodes the records from `slot` on; the first key of an inner page's right half is not needed there.
fn records(page: &[u8], slot: u16, drop_first_key: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(super::used(page));
    for s in slot..slotted::count(page) {
        let (key, value) = slotted::entry(page, s);
        let key = if drop_first_key && s == slot {
            &[][..]
        } else {
            key
        };
        slotted::encode_record(key, value, &mut out);
    }
    out
}

/// Links `right`, a new leaf, between `left` and the leaf after it.
fn link(mtr: &mut Mtr<'_>, left: PageH, right: PageH, next: Option<PageH>) {
    let (left_no, right_no) = (mtr.page_no(left), mtr.page_no(right));
    let next_no = next.map_or(0, |h| mtr.page_no(h));
    set_link(mtr, right, slotted::LEFT_AT, left_no);
    set_link(mtr, right, slotted::RIGHT_AT, next_no);
    set_link(mtr, left, slotted::RIGHT_AT, right_no);
    if let Some(next) = next {
        set_link(mtr, next, slotted::LEFT_AT, right_no);
    }
}

/// Sets one sibling field.
pub(super) fn set_link(mtr: &mut Mtr<'_>, page: PageH, at: usize, to: PageNo) {
    mtr.apply(
        page,
        Op::Bytes {
            offset: at as u16,
            data: &to.to_le_bytes(),
        },
    );
}

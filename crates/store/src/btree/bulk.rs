//! Building a tree bottom-up from sorted records: every page is packed in memory and written once.
//!
//! Pages are written past the pool and the log ([`Direct`]), but for those of a tree that turns out to have no more than a few: they are
//! logged as images, by mini-transactions of bounded size, which costs less than a sync of the file. (So are all pages of temporary
//! tables, where that is no log.) The topmost page is the caller's to write, logged, when the rest is published. Until then nothing
//! names the tree, so a build may be abandoned at any moment by dropping its space.

use super::shared::QUARTER;
use super::split::set_link;
use super::{CHILD, MAX_ENTRY, MAX_KEY, Tree, kind_of, separator, used};
use crate::error::{Error, Result};
use crate::log::op::Op;
use crate::page::{PAGE_HEADER, PAGE_SIZE, PageNo, slotted};
use crate::pool::{Direct, DirectPages, PageH, Pager};
use crate::space::{AllocKind, Space};
use std::sync::Arc;

/// Sorted records, one at a time.
pub trait Records {
    /// The next record; the borrowed bytes are good until the next call.
    #[allow(clippy::type_complexity)]
    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>>;
}

/// Makes [`Records`] of an iterator over owned keys and values.
pub struct FromIter<I> {
    iter: I,
    current: (Vec<u8>, Vec<u8>),
}

impl<I: Iterator<Item = (Vec<u8>, Vec<u8>)>> FromIter<I> {
    /// Wraps the iterator.
    pub fn new(iter: I) -> FromIter<I> {
        FromIter {
            iter,
            current: Default::default(),
        }
    }
}

impl<I: Iterator<Item = (Vec<u8>, Vec<u8>)>> Records for FromIter<I> {
    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        let Some(record) = self.iter.next() else {
            return Ok(None);
        };
        self.current = record;
        Ok(Some((&self.current.0, &self.current.1)))
    }
}

/// Bytes left free in each page, so that the first inserts do not split all of them.
const RESERVE: usize = slotted::CAPACITY / 16;

/// Leaves written by one mini-transaction; and pages that are logged where pages could be written past the log.
const LEAVES_PER_MTR: usize = 8;

type Page = Box<[u8; PAGE_SIZE]>;

fn new_page(level: u8) -> Page {
    let mut page = Box::new([0; PAGE_SIZE]);
    slotted::init(&mut page[..], level);
    page
}

/// The topmost page of a tree that was built.
pub struct Root(Page);

impl Root {
    /// Whether it is a leaf that holds as little as a small index does.
    fn is_small(&self) -> bool {
        slotted::level(&self.0[..]) == 0 && used(&self.0[..]) <= QUARTER
    }

    /// The operation that writes it.
    pub fn image(&self) -> Op<'_> {
        Op::Image {
            kind: kind_of(slotted::level(&self.0[..])),
            body: body(&self.0),
        }
    }
}

/// A page's body without its trailing zeros, which an image need not carry.
fn body(page: &Page) -> &[u8] {
    let body = &page[PAGE_HEADER..];
    let end = body.iter().rposition(|&b| b != 0).map_or(0, |at| at + 1);
    &body[..end]
}

/// A build under way: records are added in strictly ascending key order.
pub struct Bulk {
    pager: Arc<Pager>,
    space: Arc<Space>,
    /// Packed leaves not yet written, each with the separator before it.
    leaves: Vec<(Page, Vec<u8>)>,
    /// The leaf being packed, and the separator before it.
    leaf: Page,
    leaf_separator: Vec<u8>,
    last_key: Vec<u8>,
    /// The last leaf written (0: none).
    last_leaf: PageNo,
    /// The page being packed on each inner level, level 1 first.
    inner: Vec<Inner>,
    /// Where pages may be written past the log.
    direct: Option<Arc<Direct>>,
    /// Where they are, once they are.
    pages: Option<DirectPages>,
    /// The last leaf taken there, which lacks the number of the next.
    held: Option<(Page, PageNo)>,
    /// Pages beside the tree that were logged instead.
    logged: usize,
    /// What is to be done before the first page is taken.
    before_pages: Option<BeforePages>,
}

/// What is to be done before the first page of a build is taken, so that the space is found if nothing comes of it.
pub type BeforePages = Box<dyn FnOnce() -> Result<()> + Send>;

struct Inner {
    page: Page,
    /// The separator before it.
    separator: Vec<u8>,
    /// Page number of the one written last, to be near (0: none).
    last: PageNo,
}

impl Tree {
    /// Builds a tree from records in strictly ascending key order and returns its root, or 0 if there are none.
    /// Call with no latch held. `Error::Invalid` if the order is violated.
    pub fn bulk(
        pager: &Arc<Pager>,
        space: &Arc<Space>,
        records: &mut impl Records,
    ) -> Result<PageNo> {
        let mut bulk = Bulk::new(pager, space, None);
        bulk.add_all(records)?;
        match bulk.finish()? {
            Some(root) => write_one(pager, space, root.image(), AllocKind::Root, 0),
            None => Ok(0),
        }
    }

    /// Makes what a build has come to the contents of the tree, which is empty; if it is little and the tree need not have a root, as entries that
    /// are logged each. Nobody else knows the tree. Hold no latch.
    pub fn fill(&self, built: &Root) -> Result<()> {
        if self.root() == 0 && self.is_sharing() && built.is_small() {
            let page = &built.0[..];
            for slot in 0..slotted::count(page) {
                let (key, value) = slotted::entry(page, slot);
                self.edit(key, value.len(), |leaf| {
                    leaf.insert(value);
                    Ok(())
                })?;
            }
            return Ok(());
        }
        self.give_root()?;
        self.fill_root(built.image())
    }

    /// Writes the page that a build ends with over the root that the tree has, which is empty.
    fn fill_root(&self, page: Op<'_>) -> Result<()> {
        let root = self.root();
        loop {
            let _pin = self.pager.pin(&self.space, root)?;
            let mut mtr = self.pager.mtr_in(&self.space, 0)?;
            let Some(h) = mtr.try_latch(&self.space, root) else {
                continue;
            };
            mtr.apply(h, page);
            mtr.commit();
            return Ok(());
        }
    }
}

impl Bulk {
    /// Nothing so far. `direct`: what to write pages past the pool with; it is to be published before the root is written.
    pub fn new(pager: &Arc<Pager>, space: &Arc<Space>, direct: Option<&Arc<Direct>>) -> Bulk {
        Bulk {
            pager: pager.clone(),
            space: space.clone(),
            leaves: Vec::with_capacity(LEAVES_PER_MTR),
            leaf: new_page(0),
            leaf_separator: Vec::new(),
            last_key: Vec::new(),
            last_leaf: 0,
            inner: Vec::new(),
            direct: direct.cloned(),
            pages: None,
            held: None,
            logged: 0,
            before_pages: None,
        }
    }

    /// Has `f` done before the first page is taken.
    pub fn before_pages(mut self, f: BeforePages) -> Bulk {
        self.before_pages = Some(f);
        self
    }

    fn take_pages(&mut self) -> Result<()> {
        match self.before_pages.take() {
            Some(f) => f(),
            None => Ok(()),
        }
    }

    /// Adds all records.
    pub fn add_all(&mut self, records: &mut impl Records) -> Result<()> {
        while let Some((key, value)) = records.next()? {
            self.add(key, value)?;
        }
        Ok(())
    }

    /// Where to write this many pages that the tree's records refer to; `None`: through pool and log, as there are few so far.
    pub fn beside(&mut self, pages: usize) -> Result<Option<&mut DirectPages>> {
        self.take_pages()?;
        self.logged += pages;
        if self.pages.is_none() && self.logged > LEAVES_PER_MTR {
            self.go_direct();
        }
        Ok(self.pages.as_mut())
    }

    fn go_direct(&mut self) {
        let direct = self.direct.as_ref();
        self.pages = direct.map(|d| DirectPages::new(d, &self.space));
    }

    /// Adds a record. `Error::Invalid` if its key is not above the last one's.
    pub fn add(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        if key.len() > MAX_KEY {
            return Err(Error::KeyTooLong(key.len()));
        }
        if key.len() + value.len() > MAX_ENTRY {
            return Err(Error::RowTooLarge(key.len() + value.len()));
        }
        let is_first = slotted::count(&self.leaf[..]) == 0;
        if !is_first && key <= &self.last_key[..] {
            return Err(Error::Invalid("bulk load of keys out of order".into()));
        }
        let reserve = if is_first { 0 } else { RESERVE };
        if !slotted::pack(&mut self.leaf[..], key, value, reserve) {
            let before = separator(&self.last_key, key).to_vec();
            self.close_leaf(before)?;
            let fits = slotted::pack(&mut self.leaf[..], key, value, 0);
            debug_assert!(fits, "an entry fits an empty page");
        }
        self.last_key.clear();
        self.last_key.extend_from_slice(key);
        Ok(())
    }

    /// Sets the packed leaf aside and starts another, which begins at `next_separator`.
    fn close_leaf(&mut self, next_separator: Vec<u8>) -> Result<()> {
        let mut leaf = std::mem::replace(&mut self.leaf, new_page(0));
        slotted::packed(&mut leaf[..]);
        let before = std::mem::replace(&mut self.leaf_separator, next_separator);
        self.leaves.push((leaf, before));
        if self.pages.is_none() && self.leaves.len() == LEAVES_PER_MTR {
            self.go_direct();
        }
        if self.pages.is_some() || self.leaves.len() == LEAVES_PER_MTR {
            self.write_leaves()?;
        }
        Ok(())
    }

    fn write_leaves(&mut self) -> Result<()> {
        self.take_pages()?;
        if self.pages.is_some() {
            return self.put_leaves();
        }
        let leaves = std::mem::take(&mut self.leaves);
        let numbers = self.write_linked(&leaves)?;
        for ((_, separator), no) in leaves.into_iter().zip(numbers) {
            self.add_child(1, separator, no)?;
        }
        Ok(())
    }

    /// Puts the leaves where pages go past the log. Each waits for the number of the next.
    fn put_leaves(&mut self) -> Result<()> {
        for (mut leaf, separator) in std::mem::take(&mut self.leaves) {
            let Some(pages) = &mut self.pages else {
                continue;
            };
            let no = pages.take()?;
            if let Some((mut before, before_no)) = self.held.take() {
                slotted::set_right(&mut before[..], no);
                slotted::set_left(&mut leaf[..], before_no);
                pages.put(before_no, kind_of(0), body(&before))?;
            }
            self.held = Some((leaf, no));
            self.add_child(1, separator, no)?;
        }
        Ok(())
    }

    /// Writes the leaves, linked to each other and to the last one before them.
    fn write_linked(&mut self, leaves: &[(Page, Vec<u8>)]) -> Result<Vec<PageNo>> {
        loop {
            let _pin = match self.last_leaf {
                0 => None,
                no => Some(self.pager.pin(&self.space, no)?),
            };
            let mut mtr = self.pager.mtr_in(&self.space, leaves.len())?;
            let mut before: Option<PageH> = None;
            if self.last_leaf != 0 {
                before = mtr.try_latch(&self.space, self.last_leaf);
                if before.is_none() {
                    continue;
                }
            }
            let mut made: Vec<PageH> = Vec::with_capacity(leaves.len());
            for (leaf, _) in leaves {
                let near = made.last().map_or(self.last_leaf, |&h| mtr.page_no(h));
                let kind = kind_of(0);
                match mtr.alloc(
                    &self.space,
                    AllocKind::Extent,
                    near,
                    Op::Image {
                        kind,
                        body: body(leaf),
                    },
                ) {
                    Ok(page) => made.push(page),
                    Err(e) => {
                        // What is written goes when the space does.
                        mtr.commit();
                        return Err(e);
                    }
                }
            }
            for &page in &made {
                if let Some(left) = before {
                    let (left_no, no) = (mtr.page_no(left), mtr.page_no(page));
                    set_link(&mut mtr, page, slotted::LEFT_AT, left_no);
                    set_link(&mut mtr, left, slotted::RIGHT_AT, no);
                }
                before = Some(page);
            }
            let numbers: Vec<PageNo> = made.iter().map(|&h| mtr.page_no(h)).collect();
            mtr.commit();
            self.last_leaf = numbers[numbers.len() - 1];
            return Ok(numbers);
        }
    }

    /// Adds a child to the page being packed on an inner level.
    fn add_child(&mut self, level: usize, separator: Vec<u8>, no: PageNo) -> Result<()> {
        let child = no.to_le_bytes();
        if self.inner.len() < level {
            let page = new_page(level as u8);
            self.inner.push(Inner {
                page,
                separator: Vec::new(),
                last: 0,
            });
        }
        let inner = &mut self.inner[level - 1];
        let page = &mut inner.page[..];
        if slotted::count(page) == 0 {
            inner.separator = separator;
            slotted::pack(page, &[], &child, 0);
            return Ok(());
        }
        debug_assert_eq!(child.len(), CHILD);
        if slotted::pack(page, &separator, &child, RESERVE) {
            return Ok(());
        }
        let (written, before) = self.close_inner(level)?;
        self.add_child(level + 1, before, written)?;
        self.add_child(level, separator, no)
    }

    /// Writes the page being packed on an inner level and starts another; returns its number and the
    /// separator before it.
    fn close_inner(&mut self, level: usize) -> Result<(PageNo, Vec<u8>)> {
        let inner = &mut self.inner[level - 1];
        let mut page = std::mem::replace(&mut inner.page, new_page(level as u8));
        let separator = std::mem::take(&mut inner.separator);
        let near = inner.last;
        slotted::packed(&mut page[..]);
        let (kind, body) = (kind_of(level as u8), body(&page));
        let no = match &mut self.pages {
            Some(pages) => {
                let no = pages.take()?;
                pages.put(no, kind, body)?;
                no
            }
            None => {
                let image = Op::Image { kind, body };
                write_one(&self.pager, &self.space, image, AllocKind::Extent, near)?
            }
        };
        self.inner[level - 1].last = no;
        Ok((no, separator))
    }

    /// Writes what is left on each level but for the topmost page, which is returned; `None`: there are no records.
    pub fn finish(mut self) -> Result<Option<Root>> {
        let root = self.finish_levels()?;
        if let Some(mut pages) = self.pages.take() {
            if let Some((leaf, no)) = self.held.take() {
                pages.put(no, kind_of(0), body(&leaf))?;
            }
            pages.finish()?;
        }
        Ok(root)
    }

    fn finish_levels(&mut self) -> Result<Option<Root>> {
        let topmost = |page: &mut Page| {
            let mut page = std::mem::replace(page, new_page(0));
            slotted::packed(&mut page[..]);
            Ok(Some(Root(page)))
        };
        if self.last_leaf == 0 && self.leaves.is_empty() && self.held.is_none() {
            return match slotted::count(&self.leaf[..]) {
                0 => Ok(None),
                _ => topmost(&mut self.leaf),
            };
        }
        self.close_leaf(Vec::new())?;
        if !self.leaves.is_empty() {
            self.write_leaves()?;
        }
        let mut level = 1;
        while self.inner.len() > level {
            let (written, before) = self.close_inner(level)?;
            self.add_child(level + 1, before, written)?;
            level += 1;
        }
        topmost(&mut self.inner[level - 1].page)
    }
}

fn write_one(
    pager: &Pager,
    space: &Arc<Space>,
    page: Op<'_>,
    how: AllocKind,
    near: PageNo,
) -> Result<PageNo> {
    let mut mtr = pager.mtr_in(space, 1)?;
    let made = match mtr.alloc(space, how, near, page) {
        Ok(made) => made,
        Err(e) => {
            mtr.commit();
            return Err(e);
        }
    };
    let no = mtr.page_no(made);
    mtr.commit();
    Ok(no)
}

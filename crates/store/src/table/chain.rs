//! Overflow chains: the tails of rows too long for a leaf.
//!
//! A page holds `next page u32, used u16, reserved u16, trx id u64, undo address u64`, then bytes of the row. Transaction and address
//! name the chain ([`ChainRef`]); a page that bears another name, or is no overflow page, does not belong to it.
//!
//! A chain is begun in the same mini-transaction as the undo record about it, so rollback frees whatever of it
//! was written; purge frees the chains of versions that nobody needs. Freeing takes the pages after
//! the first one by one and the first last: after a crash it goes on where it stopped, and freeing
//! again what is freed does nothing.

use super::Table;
use super::context::Context;
use super::format::{self, ChainRef, ROW_HEADER, RowHeader};
use super::payload;
use crate::btree::{Cursor, Dir, ScanEnd};
use crate::error::{Error, Result};
use crate::log::op::Op;
use crate::page::{PAGE_HEADER, PAGE_SIZE, PageNo, PageType, get_u16, get_u32, get_u64, page_type};
use crate::pool::{DirectPages, Mtr, PageH};
use crate::space::{AllocKind, Space};
use crate::txn::Txn;
use std::ops::{Bound, ControlFlow};
use std::slice::Chunks;
use std::sync::Arc;
use std::sync::atomic::Ordering;

const NEXT: usize = PAGE_HEADER;
const USED: usize = NEXT + 4;
const TRX: usize = NEXT + 8;
const AT: usize = TRX + 8;
const DATA: usize = AT + 8;
/// Bytes of a row in one page.
const PER_PAGE: usize = PAGE_SIZE - DATA;
/// Pages added in one mini-transaction.
const PAGES_PER_STEP: usize = 8;
/// Longest undo record about a chain.
const UNDO_BYTES: usize = 40;

/// Writes `tail` into a new chain of the table's clustered space.
pub(crate) fn write(
    ctx: &Context,
    txn: &mut Txn,
    table: u64,
    space: &Arc<Space>,
    tail: &[u8],
) -> Result<ChainRef> {
    let mut pieces = tail.chunks(PER_PAGE);
    let mut payload = Vec::with_capacity(UNDO_BYTES);
    let mut room = ctx.sys.reserve(txn, UNDO_BYTES)?;
    let mut mtr = ctx.pager.mtr_in(space, 1)?;
    let init = Op::Init {
        kind: PageType::Overflow,
        level: 0,
    };
    // The page is named in the undo record, and the record in the page.
    let first = mtr.alloc(space, AllocKind::Extent, 0, init)?;
    let page = mtr.page_no(first);
    payload::undo_chain(&mut payload, table, space.id.0, page);
    let at = room.append(&mut mtr, false, &payload);
    let chain = ChainRef {
        page,
        len: tail.len() as u32,
        trx: room.trx_id(),
        at: format::record_of(at),
    };
    let mut body = Vec::with_capacity(PAGE_SIZE - PAGE_HEADER);
    fill(&mut body, &chain, pieces.next().unwrap_or(&[]));
    put(&mut mtr, first, PAGE_HEADER, &body);
    mtr.commit();
    append(ctx, space, &chain, pieces)?;
    Ok(chain)
}

/// Writes `tail` into a new chain that no undo record tells of, on error nothing: of a temporary table, or of one that is loaded. Such
/// a chain's name is its own only within its space, and the life of the process that wrote it.
pub(super) fn write_alone(ctx: &Context, space: &Arc<Space>, tail: &[u8]) -> Result<ChainRef> {
    let mut pieces = tail.chunks(PER_PAGE);
    let mut mtr = ctx.pager.mtr_in(space, 1)?;
    let init = Op::Init {
        kind: PageType::Overflow,
        level: 0,
    };
    let first = mtr.alloc(space, AllocKind::Extent, 0, init)?;
    let chain = ChainRef {
        page: mtr.page_no(first),
        len: tail.len() as u32,
        trx: 0,
        at: ctx.unlogged_chains.fetch_add(1, Ordering::Relaxed),
    };
    let mut body = Vec::with_capacity(PAGE_SIZE - PAGE_HEADER);
    fill(&mut body, &chain, pieces.next().unwrap_or(&[]));
    put(&mut mtr, first, PAGE_HEADER, &body);
    mtr.commit();
    match append(ctx, space, &chain, pieces) {
        Ok(()) => Ok(chain),
        Err(e) => {
            free(ctx, space, &chain)?;
            Err(e)
        }
    }
}

/// The same past the pool and the log; what is written goes with the space on an error.
pub(super) fn write_direct(
    ctx: &Context,
    pages: &mut DirectPages,
    tail: &[u8],
) -> Result<ChainRef> {
    let mut no = pages.take()?;
    let chain = ChainRef {
        page: no,
        len: tail.len() as u32,
        trx: 0,
        at: ctx.unlogged_chains.fetch_add(1, Ordering::Relaxed),
    };
    let mut body = Vec::with_capacity(PAGE_SIZE - PAGE_HEADER);
    let mut pieces = tail.chunks(PER_PAGE);
    let mut piece = pieces.next().unwrap_or(&[]);
    loop {
        let after = pieces.next();
        let next = match after {
            Some(_) => pages.take()?,
            None => 0,
        };
        fill(&mut body, &chain, piece);
        body[NEXT - PAGE_HEADER..][..4].copy_from_slice(&next.to_le_bytes());
        pages.put(no, PageType::Overflow, &body)?;
        match after {
            Some(after) => (piece, no) = (after, next),
            None => return Ok(chain),
        }
    }
}

/// Adds the pieces after the first to a chain of one page.
fn append(
    ctx: &Context,
    space: &Arc<Space>,
    chain: &ChainRef,
    mut pieces: Chunks<'_, u8>,
) -> Result<()> {
    let mut body = Vec::with_capacity(PAGE_SIZE - PAGE_HEADER);
    let mut last = chain.page;
    while pieces.len() > 0 {
        let _pin = ctx.pager.pin(space, last)?;
        let mut mtr = ctx.pager.mtr_in(space, PAGES_PER_STEP)?;
        let mut before = mtr
            .try_latch(space, last)
            .ok_or_else(|| Error::Corrupt("a pinned page is not resident".into()))?;
        for piece in pieces.by_ref().take(PAGES_PER_STEP) {
            fill(&mut body, chain, piece);
            let image = Op::Image {
                kind: PageType::Overflow,
                body: &body,
            };
            let next = match mtr.alloc(space, AllocKind::Extent, last, image) {
                Ok(next) => next,
                Err(e) => {
                    // What is linked already is whole; rollback frees it.
                    mtr.commit();
                    return Err(e);
                }
            };
            last = mtr.page_no(next);
            put(&mut mtr, before, NEXT, &last.to_le_bytes());
            before = next;
        }
        mtr.commit();
    }
    Ok(())
}

fn put(mtr: &mut Mtr<'_>, h: PageH, offset: usize, data: &[u8]) {
    let offset = offset as u16;
    mtr.apply(h, Op::Bytes { offset, data });
}

/// Makes a page's body: the last of its chain so far.
fn fill(body: &mut Vec<u8>, chain: &ChainRef, piece: &[u8]) {
    body.clear();
    body.extend_from_slice(&0u32.to_le_bytes());
    body.extend_from_slice(&(piece.len() as u16).to_le_bytes());
    body.extend_from_slice(&[0; 2]);
    body.extend_from_slice(&chain.trx.to_le_bytes());
    body.extend_from_slice(&chain.at.to_le_bytes());
    body.extend_from_slice(piece);
}

fn belongs(page: &[u8], chain: &ChainRef) -> bool {
    page_type(page) == Some(PageType::Overflow)
        && get_u64(page, TRX) == chain.trx
        && get_u64(page, AT) == chain.at
}

/// Appends the chain's bytes to `out`. Hold no latch.
pub(crate) fn read(
    ctx: &Context,
    space: &Arc<Space>,
    chain: &ChainRef,
    out: &mut Vec<u8>,
) -> Result<()> {
    let broken = |page: PageNo| {
        Error::Corrupt(format!(
            "page {page} of space {} does not continue an overflow chain of {} bytes",
            space.id.0, chain.len
        ))
    };
    let mut left = chain.len as usize;
    out.reserve(left);
    let mut no = chain.page;
    while left > 0 {
        if no == 0 {
            return Err(broken(no));
        }
        let page = ctx.pager.fetch(space, no)?;
        let used = usize::from(get_u16(&page, USED));
        if !belongs(&page, chain) || used == 0 || used > left || used > PER_PAGE {
            return Err(broken(no));
        }
        out.extend_from_slice(&page[DATA..DATA + used]);
        left -= used;
        no = get_u32(&page, NEXT);
    }
    Ok(())
}

/// Frees the chain, or what is left of it. Hold no latch.
pub(crate) fn free(ctx: &Context, space: &Arc<Space>, chain: &ChainRef) -> Result<()> {
    let mut _second = None;
    loop {
        // Freed before, the page may be anybody's by now, or nobody's, and what lies on disk may still look like
        // the chain's.
        if !ctx.pager.owns(space, chain.page)?
            || !belongs(&ctx.pager.fetch(space, chain.page)?, chain)
        {
            return Ok(());
        }
        let _first = ctx.pager.pin(space, chain.page)?;
        let mut mtr = ctx.pager.mtr_in(space, 0)?;
        let Some(first) = mtr.try_latch(space, chain.page) else {
            continue;
        };
        if !belongs(mtr.page(first), chain) {
            return Ok(());
        }
        let no = get_u32(mtr.page(first), NEXT);
        if no == 0 {
            mtr.free(first)?;
            mtr.commit();
            return Ok(());
        }
        let Some(next) = mtr.try_latch(space, no) else {
            drop(mtr);
            _second = Some(ctx.pager.pin(space, no)?);
            continue;
        };
        if !belongs(mtr.page(next), chain) {
            return Err(Error::Corrupt(format!(
                "page {no} of space {} is linked into an overflow chain it is not part of",
                space.id.0
            )));
        }
        let after = get_u32(mtr.page(next), NEXT);
        mtr.free(next)?;
        put(&mut mtr, first, NEXT, &after.to_le_bytes());
        mtr.commit();
    }
}

/// Pages of a chain.
pub(super) fn pages(len: u32) -> u64 {
    (u64::from(len)).div_ceil(PER_PAGE as u64).max(1)
}

impl Table {
    /// Pages that the chains of the newest versions take.
    pub(crate) fn chain_pages(&self) -> Result<u64> {
        let tree = &self.indexes[0].tree;
        let mut cursor = Cursor::new(Bound::Unbounded, Dir::Forward);
        let mut sum = Ok(0);
        loop {
            let end = cursor.scan(tree, &mut |_, value| {
                let chain = match RowHeader::read(value) {
                    Some(header) => format::chain_of(header.flags, &value[ROW_HEADER..]),
                    None => Err(format::cut_short()),
                };
                match (&mut sum, chain) {
                    (Ok(sum), Ok(Some(c))) => *sum += pages(c.len),
                    (Ok(_), Err(e)) => sum = Err(e),
                    _ => {}
                }
                ControlFlow::Continue(())
            })?;
            if end != ScanEnd::More {
                return sum;
            }
        }
    }
}

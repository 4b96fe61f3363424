//! Long values: chains of pages in the tree's own space. The body of such a page:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 32 | 4 | next page of the chain (0: last) |
//! | 36 | 2 | bytes of the value in this page |
//! | 38 | 2 | reserved, zero |
//! | 40 | | the bytes |
//!
//! A chain is written before anything names it and freed after nothing does, by several
//! mini-transactions of bounded size each. A crash in between leaves pages of the space that nothing names; they go
//! with the space. A chain is immutable; whoever may read it keeps it from being freed.

use crate::error::{Error, Result};
use crate::log::op::Op;
use crate::page::{PAGE_HEADER, PAGE_SIZE, PageNo, PageType, get_u16, get_u32, page_type};
use crate::pool::{PageH, Pager};
use crate::space::{AllocKind, Space};
use std::sync::Arc;

/// Bytes of a value that one page holds.
pub const PAGE_BYTES: usize = PAGE_SIZE - DATA_AT;

const NEXT_AT: usize = PAGE_HEADER;
const LEN_AT: usize = NEXT_AT + 4;
const DATA_AT: usize = LEN_AT + 4;

/// Pages that one mini-transaction writes or frees.
const PAGES_PER_MTR: usize = 8;

/// Writes a value (not empty) as a chain; returns its first page. Call with no latch held. On an error what
/// was written is freed again.
pub fn write(pager: &Pager, space: &Arc<Space>, bytes: &[u8]) -> Result<PageNo> {
    if bytes.is_empty() {
        return Err(Error::Invalid(
            "an empty value needs no overflow pages".into(),
        ));
    }
    let mut first = 0;
    let mut last = 0;
    for batch in bytes.chunks(PAGES_PER_MTR * PAGE_BYTES) {
        match write_batch(pager, space, batch, last) {
            Ok((batch_first, batch_last)) => {
                if first == 0 {
                    first = batch_first;
                }
                last = batch_last;
            }
            Err(e) => {
                if first != 0
                    && let Err(also) = free(pager, space, first)
                {
                    tracing::warn!(page = first, error = %also, "overflow pages not freed");
                }
                return Err(e);
            }
        }
    }
    Ok(first)
}

/// Writes some pages and hangs them behind `previous` (0: none); returns the first and the last.
fn write_batch(
    pager: &Pager,
    space: &Arc<Space>,
    bytes: &[u8],
    previous: PageNo,
) -> Result<(PageNo, PageNo)> {
    loop {
        let _pin = if previous == 0 {
            None
        } else {
            Some(pager.pin(space, previous)?)
        };
        let mut mtr = pager.mtr_in(space, PAGES_PER_MTR)?;
        let mut before = None;
        if previous != 0 {
            before = mtr.try_latch(space, previous);
            if before.is_none() {
                continue;
            }
        }
        let mut made: Vec<PageH> = Vec::with_capacity(PAGES_PER_MTR);
        let mut body = Vec::with_capacity(DATA_AT - PAGE_HEADER + PAGE_BYTES);
        for part in bytes.chunks(PAGE_BYTES) {
            body.clear();
            body.extend_from_slice(&0u32.to_le_bytes());
            body.extend_from_slice(&(part.len() as u16).to_le_bytes());
            body.extend_from_slice(&[0; 2]);
            body.extend_from_slice(part);
            let image = Op::Image {
                kind: PageType::Overflow,
                body: trimmed(&body),
            };
            let near = made.last().map_or(previous, |&h| mtr.page_no(h));
            match mtr.alloc(space, AllocKind::Extent, near, image) {
                Ok(page) => made.push(page),
                Err(e) => {
                    for page in made {
                        mtr.free(page)?;
                    }
                    mtr.commit();
                    return Err(e);
                }
            }
        }
        for (i, &page) in made.iter().enumerate() {
            let from = if i == 0 { before } else { Some(made[i - 1]) };
            if let Some(from) = from {
                let data = &mtr.page_no(page).to_le_bytes();
                mtr.apply(
                    from,
                    Op::Bytes {
                        offset: NEXT_AT as u16,
                        data,
                    },
                );
            }
        }
        let ends = (mtr.page_no(made[0]), mtr.page_no(made[made.len() - 1]));
        mtr.commit();
        return Ok(ends);
    }
}

/// Reads a value of `len` bytes, appending it to `out`. Call with no latch held.
pub fn read(
    pager: &Pager,
    space: &Arc<Space>,
    first: PageNo,
    len: usize,
    out: &mut Vec<u8>,
) -> Result<()> {
    let mut no = first;
    let mut left = len;
    out.reserve(len);
    while left > 0 {
        let page = pager.fetch(space, no)?;
        let (next, data) = parse(space, no, &page)?;
        if data.is_empty() || data.len() > left {
            return Err(broken(space, no, "its length does not fit the value's"));
        }
        out.extend_from_slice(data);
        left -= data.len();
        no = next;
    }
    if no == 0 {
        Ok(())
    } else {
        Err(broken(space, no, "it lies beyond the value's end"))
    }
}

/// Frees a chain. Call with no latch held. After an error the pages not yet freed go with the space.
pub fn free(pager: &Pager, space: &Arc<Space>, first: PageNo) -> Result<()> {
    let mut no = first;
    let mut _pin = None;
    while no != 0 {
        let mut mtr = pager.mtr(0)?;
        let mut pages: Vec<PageH> = Vec::with_capacity(PAGES_PER_MTR);
        let mut missing = 0;
        // All pages first: freeing latches allocation maps, behind which no tree page may be latched.
        while no != 0 && pages.len() < PAGES_PER_MTR {
            let Some(page) = mtr.try_latch(space, no) else {
                missing = no;
                break;
            };
            no = parse(space, no, mtr.page(page))?.0;
            pages.push(page);
        }
        let freed = pages.into_iter().try_for_each(|page| mtr.free(page));
        mtr.commit();
        freed?;
        if missing != 0 {
            // Also notices a chain that names a page which is none of it: that would be missing for ever.
            parse(space, missing, &pager.fetch(space, missing)?)?;
            _pin = Some(pager.pin(space, missing)?);
        }
    }
    Ok(())
}

/// The next page's number and this page's part of the value.
fn parse<'p>(space: &Space, no: PageNo, page: &'p [u8]) -> Result<(PageNo, &'p [u8])> {
    if page_type(page) != Some(PageType::Overflow) {
        return Err(broken(space, no, "it is not an overflow page"));
    }
    let len = usize::from(get_u16(page, LEN_AT));
    let Some(data) = page.get(DATA_AT..DATA_AT + len) else {
        return Err(broken(space, no, "its length exceeds a page"));
    };
    Ok((get_u32(page, NEXT_AT), data))
}

fn broken(space: &Space, no: PageNo, what: &str) -> Error {
    Error::Corrupt(format!(
        "overflow page {no} of space {}: {what}",
        space.id.0
    ))
}

/// A body without its trailing zeros, which an image need not carry.
pub(super) fn trimmed(body: &[u8]) -> &[u8] {
    let end = body.iter().rposition(|&b| b != 0).map_or(0, |at| at + 1);
    &body[..end]
}

//! The entries of an index copied into one that is new, as they are stored: no row is decoded and no key made, and nothing need be sorted.
//!
//! Nobody has unfinished changes of the index and nobody writes to it meanwhile, so each entry is committed: one that is delete-marked is left out, and
//! any other is the row that everybody sees who may see the copy. Copies have no version before and are as old as anything (transaction 0).

use super::{FIRST, KILL_CHECK_ROWS, value};
use crate::btree::{Bulk, Cursor, Dir, NewEntries, Root, ScanEnd, Tree};
use crate::error::{Error, Result};
use crate::page::slotted::{decode_records, encode_record};
use crate::pool::Direct;
use crate::space::SpaceId;
use crate::table::chain;
use crate::table::context::Context;
use crate::table::format::{
    CHAIN_REF, ROW_HEADER, RowHeader, SEC_VALUE, SecValue, chain_of, cut_short,
};
use crate::txn::Owner;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

/// What the header of a copied row says.
const COPIED: RowHeader = RowHeader {
    roll: FIRST,
    ..RowHeader::BLANK
};

/// Adds the entries of a small index to those of new ones. Whether they are few enough: if not nothing was added, nor if the index has a root.
/// `clustered`: its entries are rows.
pub(crate) fn copy_small(
    from: &Tree,
    to: SpaceId,
    clustered: bool,
    new: &mut NewEntries,
) -> Result<bool> {
    if from.root() != 0 {
        return Ok(false);
    }
    new.begin(to);
    let (mut fits, mut damaged) = (true, false);
    let mut header = COPIED.bytes().to_vec();
    // All of them are in one leaf.
    from.scan_leaf(
        Bound::Unbounded,
        Dir::Forward,
        &mut Vec::new(),
        &mut |key, stored| {
            match copied(stored, clustered, &mut header) {
                // A row that has a chain is in no small index.
                Some(Entry::Long) | None => damaged = true,
                Some(Entry::Gone) => {}
                Some(Entry::Live) => fits = new.add(key, &header),
            }
            match fits && !damaged {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        },
    )?;
    if damaged {
        return Err(cut_short());
    }
    if !fits {
        new.take_back();
    }
    Ok(fits)
}

/// What an entry is.
enum Entry {
    Gone,
    Live,
    /// A row with a chain.
    Long,
}

/// Makes an entry's value what its copy's is to be; `None`: it is damaged.
fn copied(stored: &[u8], clustered: bool, out: &mut Vec<u8>) -> Option<Entry> {
    out.clear();
    if clustered {
        let header = RowHeader::read(stored)?;
        if header.marked() {
            return Some(Entry::Gone);
        }
        if header.overflow() {
            return Some(Entry::Long);
        }
        out.extend_from_slice(&COPIED.bytes());
        out.extend_from_slice(&stored[ROW_HEADER..]);
        return Some(Entry::Live);
    }
    let entry = SecValue::read(stored)?;
    if entry.marked() {
        return Some(Entry::Gone);
    }
    let mut bytes = [0; SEC_VALUE + 6];
    let length = SecValue::made_live(None, 0, entry.key_len).write(&mut bytes);
    out.extend_from_slice(&bytes[..length]);
    Some(Entry::Live)
}

/// Packs the entries of an index into the tree of a new one, but for its topmost page; `None`: there are none. What a build goes by is in
/// [`super`].
pub(crate) fn copy_tree(
    ctx: &Context,
    (from, to): (&Tree, &Arc<Tree>),
    clustered: bool,
    direct: &Arc<Direct>,
    owner: &Owner,
) -> Result<Option<Root>> {
    let root_first = to.clone();
    let mut bulk = Bulk::new(&ctx.pager, to.space(), Some(direct))
        .before_pages(Box::new(move || root_first.give_root()));
    let mut cursor = Cursor::new(Bound::Unbounded, Dir::Forward);
    let (mut records, mut out, mut row) = (Vec::new(), Vec::new(), Vec::new());
    let mut rows = 0u64;
    loop {
        records.clear();
        // Under the leaf's latch entries are taken as they are; the pages of chains are read afterwards.
        let end = cursor.scan(from, &mut |key, stored| {
            encode_record(key, stored, &mut records);
            ControlFlow::Continue(())
        })?;
        for (key, stored) in decode_records(&records) {
            match copied(stored, clustered, &mut out).ok_or_else(cut_short)? {
                Entry::Gone => continue,
                Entry::Live => {}
                Entry::Long => {
                    whole_row(ctx, from, stored, &mut row)?;
                    value((ctx, to.space()), &mut bulk, 0, (key, &row), &mut out)?;
                }
            }
            bulk.add(key, &out)?;
            rows += 1;
            if rows.is_multiple_of(KILL_CHECK_ROWS) {
                owner.progress().add(KILL_CHECK_ROWS);
                if owner.is_killed() {
                    return Err(Error::Interrupted);
                }
            }
        }
        if end == ScanEnd::End {
            return bulk.finish();
        }
    }
}

/// A row with a chain.
fn whole_row(ctx: &Context, tree: &Tree, stored: &[u8], row: &mut Vec<u8>) -> Result<()> {
    let header = RowHeader::read(stored).ok_or_else(cut_short)?;
    let stored = &stored[ROW_HEADER..];
    let chain = chain_of(header.flags, stored)?.ok_or_else(cut_short)?;
    row.clear();
    row.extend_from_slice(&stored[CHAIN_REF..]);
    chain::read(ctx, tree.space(), &chain, row)
}

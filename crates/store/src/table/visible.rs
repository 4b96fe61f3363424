//! What a consistent scan makes of an index entry. First it looks at the entry alone, which may be done under the leaf's
//! latch; what that leaves open is completed with no latch held.

use super::format::{ROW_HEADER, RowHeader, SecValue};
use super::{Fetch, Table};
use crate::catalog::KeyCodec;
use crate::error::Result;
use crate::txn::ReadView;

/// What remains to be done about an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Visible; what was asked for is at hand.
    Ready,
    /// Clustered: the value is at hand, an older version or the tail is to be fetched.
    Value,
    /// Clustered: the row is at hand, visible and whole, but was written under an earlier schema version.
    Earlier,
    /// Secondary: visible and live; the row is to be fetched.
    Sure,
    /// Secondary: whether it counts depends on the row.
    Maybe,
}

/// What an entry says by itself.
pub(super) enum Look<'v> {
    /// There is no row in it for the view.
    Gone,
    /// It is no entry.
    Damaged,
    /// There may be a row in it.
    Row {
        state: State,
        /// Bytes of the index's own key part.
        own: u16,
        /// The row or, as [`State`] says, the whole value; empty if neither is needed.
        value: &'v [u8],
    },
}

/// An entry about which something remains to be done.
#[derive(Clone, Copy)]
pub(super) struct Open<'e> {
    pub state: State,
    /// The whole key.
    pub key: &'e [u8],
    /// Bytes of the index's own key part.
    pub own: usize,
    /// Clustered: the value, or the row.
    pub value: &'e [u8],
}

/// Looks at an entry of the clustered index. `upgrades`: the table's codec, if rows may be of earlier schema versions.
#[inline]
pub(super) fn look_clustered<'v>(
    upgrades: Option<&dyn KeyCodec>,
    view: Option<&ReadView>,
    fetch: Fetch,
    key: &[u8],
    value: &'v [u8],
) -> Look<'v> {
    let Some(header) = RowHeader::read(value) else {
        return Look::Damaged;
    };
    let own = key.len() as u16;
    let ready = |value| Look::Row {
        state: State::Ready,
        own,
        value,
    };
    if view.is_none_or(|v| v.sees(header.trx)) {
        if header.marked() {
            return Look::Gone;
        }
        if fetch == Fetch::Key {
            return ready(&[]);
        }
        if !header.overflow() {
            let value = &value[ROW_HEADER..];
            return match upgrades {
                Some(codec) if !codec.is_current(value) => Look::Row {
                    state: State::Earlier,
                    own,
                    value,
                },
                _ => ready(value),
            };
        }
    }
    Look::Row {
        state: State::Value,
        own,
        value,
    }
}

/// Looks at an entry of a secondary index.
#[inline]
pub(super) fn look_secondary<'v>(
    view: Option<&ReadView>,
    fetch: Fetch,
    key: &[u8],
    value: &'v [u8],
) -> Look<'v> {
    let value = SecValue::read(value);
    let Some(value) = value.filter(|v| usize::from(v.key_len) <= key.len()) else {
        return Look::Damaged;
    };
    let sure = match view {
        Some(v) => value.decides(v),
        None => fetch == Fetch::Key,
    };
    if value.marked() && (sure || view.is_none()) {
        return Look::Gone;
    }
    let state = match (sure, fetch) {
        (true, Fetch::Key) => State::Ready,
        (true, Fetch::Row) => State::Sure,
        (false, _) => State::Maybe,
    };
    Look::Row {
        state,
        own: value.key_len,
        value: &[],
    }
}

impl Table {
    /// Its codec, if rows may be of earlier schema versions.
    #[inline]
    pub(super) fn upgrader(&self) -> Option<&dyn KeyCodec> {
        self.upgrades.then_some(&*self.codec)
    }

    /// Does what remains to be done about an entry of an index that is not [`State::Ready`]: puts the row that the view sees into
    /// `row`; `false` if there is none. `key` is a buffer. Hold no latch.
    pub(super) fn complete(
        &self,
        view: Option<&ReadView>,
        index: usize,
        e: Open<'_>,
        row: &mut Vec<u8>,
        key: &mut Vec<u8>,
    ) -> Result<bool> {
        let (own, clustered) = e.key.split_at(e.own);
        match e.state {
            State::Ready => Ok(true),
            State::Earlier => {
                self.codec.upgrade(e.value, row)?;
                Ok(true)
            }
            State::Value if view.is_some() => {
                row.clear();
                row.extend_from_slice(e.value);
                self.resolve(view, e.key, row)
            }
            // Without a view nothing protects the tail: read it in one go.
            State::Value => self.read_row(None, e.key, row),
            State::Sure => match self.read_row(view, clustered, row)? {
                true => Ok(true),
                false => Err(self.corrupt_index(index, "has an entry without a row")),
            },
            State::Maybe => {
                Ok(self.read_row(view, clustered, row)? && self.has_key(index, row, own, key)?)
            }
        }
    }
}

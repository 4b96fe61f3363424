//! Undo payloads: a kind byte, the table's id, and what undoing and purging the change take; see [`Undo`] and
//! `docs/file-format.md`. Pure functions.

use super::format::{
    CHAIN_REF, ChainRef, Delta, ROW_HEADER, Reader, RowHeader, put_bytes, put_varint, varint_len,
};
use crate::error::{Error, Result};
use crate::page::PageNo;

const UNDO_INSERT: u8 = 1;
const UNDO_UPDATE: u8 = 2;
const UNDO_DELETE: u8 = 3;
const UNDO_KEYS: u8 = 4;
const UNDO_CHAIN: u8 = 5;
/// Beside the kind: a chain that dies with the version this record keeps.
const HAS_CHAIN: u8 = 0x80;
/// Beside the kind: some secondary key changed, so undoing has to look at both rows' keys.
const KEYS_CHANGED: u8 = 0x40;

/// Secondary entries a row change delete-marked, as (index space, entry key).
#[derive(Clone, Copy, Debug)]
pub struct KeyList<'a>(Reader<'a>);

impl<'a> Iterator for KeyList<'a> {
    type Item = Result<(u64, &'a [u8])>;
    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let mut one = || Ok((self.0.varint()?, self.0.bytes()?));
        let item = one();
        if item.is_err() {
            self.0 = Reader(&[]);
        }
        Some(item)
    }
}

/// Appends an entry of a key list.
pub fn put_key(out: &mut Vec<u8>, space: u64, key: &[u8]) {
    put_varint(out, space);
    put_bytes(out, key);
}

/// A decoded undo payload.
#[derive(Clone, Copy, Debug)]
pub enum Undo<'a> {
    /// A row came to be where nothing was: `key`.
    Insert {
        /// Clustered key.
        key: &'a [u8],
    },
    /// A version was replaced (or a delete-marked one revived).
    Update {
        /// Clustered key.
        key: &'a [u8],
        /// The old version's header.
        old: RowHeader,
        /// From the new stored row to the old.
        delta: Delta<'a>,
        /// Whether secondary keys differ between the two.
        keys_changed: bool,
        /// A chain only the old version uses.
        chain: Option<ChainRef>,
        /// Old secondary entries, marked.
        keys: KeyList<'a>,
    },
    /// A row was delete-marked; its stored bytes stayed.
    Delete {
        /// Clustered key.
        key: &'a [u8],
        /// The header before.
        old: RowHeader,
        /// The row's chain.
        chain: Option<ChainRef>,
        /// Its secondary entries, marked.
        keys: KeyList<'a>,
    },
    /// More delete-marked entries of the change that follows, whose own record had no room for them.
    Keys {
        /// Bytes of the clustered key at the end of each.
        clustered: usize,
        /// The entries.
        keys: KeyList<'a>,
    },
    /// An overflow chain was begun at `page` of index space `space`.
    Chain {
        /// The clustered index's space.
        space: u64,
        /// First page.
        page: PageNo,
    },
}

impl<'a> Undo<'a> {
    /// Decodes a payload into the table's id and the record.
    pub fn read(payload: &'a [u8]) -> Result<(u64, Undo<'a>)> {
        let mut r = Reader(payload);
        let kind = r.byte()?;
        let table = r.varint()?;
        let undo = match kind & 0x3f {
            UNDO_INSERT => Undo::Insert { key: r.bytes()? },
            UNDO_UPDATE => {
                let key = r.bytes()?;
                let old = read_header(&mut r)?;
                let prefix = r.varint()? as usize;
                let suffix = r.varint()? as usize;
                let middle = r.bytes()?;
                let chain = read_chain(kind, &mut r)?;
                Undo::Update {
                    key,
                    old,
                    delta: Delta {
                        prefix,
                        suffix,
                        middle,
                    },
                    keys_changed: kind & KEYS_CHANGED != 0,
                    chain,
                    keys: KeyList(r),
                }
            }
            UNDO_DELETE => Undo::Delete {
                key: r.bytes()?,
                old: read_header(&mut r)?,
                chain: read_chain(kind, &mut r)?,
                keys: KeyList(r),
            },
            UNDO_KEYS => Undo::Keys {
                clustered: r.varint()? as usize,
                keys: KeyList(r),
            },
            UNDO_CHAIN => Undo::Chain {
                space: r.varint()?,
                page: r.varint()? as PageNo,
            },
            k => return Err(Error::Corrupt(format!("undo record of unknown kind {k}"))),
        };
        Ok((table, undo))
    }
    /// Whether purging the record is doing nothing.
    pub fn leaves_nothing(&self) -> bool {
        match self {
            Undo::Insert { .. } | Undo::Chain { .. } => true,
            Undo::Update { chain, keys, .. } => chain.is_none() && keys.0.is_empty(),
            Undo::Delete { .. } | Undo::Keys { .. } => false,
        }
    }
    /// The clustered key the record is about.
    pub fn key(&self) -> Option<&'a [u8]> {
        match self {
            Undo::Insert { key } | Undo::Update { key, .. } | Undo::Delete { key, .. } => Some(key),
            Undo::Keys { .. } | Undo::Chain { .. } => None,
        }
    }
}

fn read_header(r: &mut Reader<'_>) -> Result<RowHeader> {
    RowHeader::read(r.take(ROW_HEADER)?).ok_or_else(super::format::cut_short)
}

fn read_chain(kind: u8, r: &mut Reader<'_>) -> Result<Option<ChainRef>> {
    if kind & HAS_CHAIN == 0 {
        return Ok(None);
    }
    Ok(Some(ChainRef::read(r.take(CHAIN_REF)?)))
}

/// Encodes an insert's payload.
pub fn undo_insert(out: &mut Vec<u8>, table: u64, key: &[u8]) {
    out.clear();
    out.push(UNDO_INSERT);
    put_varint(out, table);
    put_bytes(out, key);
}

/// Encodes an update's payload, without its key list: append that with [`put_key`].
pub fn undo_update(
    out: &mut Vec<u8>,
    table: u64,
    key: &[u8],
    old: RowHeader,
    delta: Delta<'_>,
    keys_changed: bool,
    chain: Option<ChainRef>,
) {
    out.clear();
    out.push(
        UNDO_UPDATE
            | if keys_changed { KEYS_CHANGED } else { 0 }
            | if chain.is_some() { HAS_CHAIN } else { 0 },
    );
    put_varint(out, table);
    put_bytes(out, key);
    out.extend_from_slice(&old.bytes());
    put_varint(out, delta.prefix as u64);
    put_varint(out, delta.suffix as u64);
    put_bytes(out, delta.middle);
    if let Some(c) = chain {
        out.extend_from_slice(&c.bytes());
    }
}

/// Encodes a delete's payload, without its key list: append that with [`put_key`].
pub fn undo_delete(
    out: &mut Vec<u8>,
    table: u64,
    key: &[u8],
    old: RowHeader,
    chain: Option<ChainRef>,
) {
    out.clear();
    out.push(UNDO_DELETE | if chain.is_some() { HAS_CHAIN } else { 0 });
    put_varint(out, table);
    put_bytes(out, key);
    out.extend_from_slice(&old.bytes());
    if let Some(c) = chain {
        out.extend_from_slice(&c.bytes());
    }
}

/// Opens the payload of a record of further keys of a row whose clustered key has `clustered` bytes: append them
/// with [`put_key`].
pub fn undo_keys(out: &mut Vec<u8>, table: u64, clustered: usize) {
    out.clear();
    out.push(UNDO_KEYS);
    put_varint(out, table);
    put_varint(out, clustered as u64);
}

/// Where an update's or delete's payload holds the old header.
pub fn undo_header_at(table: u64, key: &[u8]) -> usize {
    1 + varint_len(table) + varint_len(key.len() as u64) + key.len()
}

/// Encodes the payload about a new overflow chain.
pub fn undo_chain(out: &mut Vec<u8>, table: u64, space: u64, page: PageNo) {
    out.clear();
    out.push(UNDO_CHAIN);
    put_varint(out, table);
    put_varint(out, space);
    put_varint(out, u64::from(page));
}

#[cfg(test)]
mod tests {
    use super::super::format::OVERFLOW;
    use super::*;
    use crate::txn::RollPtr;

    #[test]
    fn undo_payloads_survive_the_round_trip() {
        let old = RowHeader {
            flags: OVERFLOW,
            trx: 0x1234_5678_9abc,
            roll: RollPtr(1 << 63 | 77),
        };
        let chain = ChainRef {
            page: 9,
            len: 70_000,
            trx: 5,
            at: 6,
        };
        let mut p = Vec::new();
        let delta = Delta {
            prefix: 200,
            suffix: 1,
            middle: b"mid",
        };
        undo_update(&mut p, 300, b"key", old, delta, true, Some(chain));
        let at = undo_header_at(300, b"key");
        assert_eq!(RowHeader::read(&p[at..]), Some(old));
        put_key(&mut p, 1030, b"k1");
        put_key(&mut p, 1031, b"");
        let (
            table,
            Undo::Update {
                key,
                old: o,
                delta: d,
                keys_changed,
                chain: c,
                keys,
            },
        ) = Undo::read(&p).unwrap()
        else {
            panic!("an update");
        };
        assert_eq!((table, key, o, d), (300, &b"key"[..], old, delta));
        assert_eq!((keys_changed, c), (true, Some(chain)));
        let keys: Vec<_> = keys.map(|k| k.unwrap()).collect();
        assert_eq!(keys, [(1030, &b"k1"[..]), (1031, &b""[..])]);
        for cut in 0..p.len() {
            // Cut anywhere it is an error or a shorter key list, never a panic.
            if let Ok((_, Undo::Update { keys, .. })) = Undo::read(&p[..cut]) {
                keys.for_each(drop);
            }
        }
    }
}

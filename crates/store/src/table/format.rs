//! The bytes of entry values; pure functions, no page, no lock.
//!
//! **Clustered value:** `flags u8, trx id u48, roll pointer u64`, then the *stored row*: the row's bytes, or with
//! [`OVERFLOW`] a [`ChainRef`] and the row's first bytes, the rest being in a chain of overflow pages.
//!
//! **Secondary value:** `flags u8, trx id u48, length u16 of the index's own key part` and, with [`WAS_MARKED`],
//! `origin u48`. The flags [`WAS_LIVE`] and [`WAS_MARKED`] tell what the entry was before the transaction
//! named in it first touched it (neither: it was not there), so that rollback restores exactly that.

use crate::error::{Error, Result};
use crate::hash_index::KeyPart;
use crate::page::{PageNo, get_u64};
use crate::txn::{ReadView, RollPtr, TrxId};

/// The row is deleted for whoever sees this version.
pub const MARKED: u8 = 1;
/// Clustered only: the row's tail is in an overflow chain.
pub const OVERFLOW: u8 = 2;
/// Secondary only: the entry was live before its transaction first touched it.
pub const WAS_LIVE: u8 = 4;
/// Secondary only: the entry was delete-marked by the transaction `origin` before.
pub const WAS_MARKED: u8 = 8;

/// Bytes before the stored row in a clustered value.
pub const ROW_HEADER: usize = 15;
/// Bytes of a secondary value without `origin`.
pub const SEC_VALUE: usize = 9;
/// Bytes of an encoded [`ChainRef`].
pub const CHAIN_REF: usize = 22;
/// Bytes of a long row kept in its clustered entry. Enough for the fixed part of a catalog row.
pub const INLINE_PREFIX: usize = 1024;

/// The error of an entry whose value is not what it must be.
#[cold]
pub fn cut_short() -> Error {
    Error::Corrupt("an index entry's value is damaged".into())
}

/// The low 48 bits.
const U48: u64 = (1 << 48) - 1;

fn get_u48(b: &[u8], at: usize) -> u64 {
    let mut w = [0; 8];
    w[..6].copy_from_slice(&b[at..at + 6]);
    u64::from_le_bytes(w)
}

fn put_u48(b: &mut [u8], at: usize, v: u64) {
    debug_assert!(v < 1 << 48);
    b[at..at + 6].copy_from_slice(&v.to_le_bytes()[..6]);
}

/// Header of a clustered value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowHeader {
    /// [`MARKED`], [`OVERFLOW`].
    pub flags: u8,
    /// Who wrote this version.
    pub trx: TrxId,
    /// The undo record that leads to the version before.
    pub roll: RollPtr,
}

impl RowHeader {
    /// One to be filled in.
    pub const BLANK: RowHeader = RowHeader {
        flags: 0,
        trx: 0,
        roll: RollPtr(0),
    };

    /// Reads the header of a clustered value; `None` if it is damaged ([`cut_short`]).
    #[inline]
    pub fn read(v: &[u8]) -> Option<RowHeader> {
        let b: &[u8; ROW_HEADER] = v.first_chunk()?;
        Some(RowHeader {
            flags: b[0],
            trx: get_u64(b, 1) & U48,
            roll: RollPtr(get_u64(b, 7)),
        })
    }
    /// Its bytes.
    #[inline]
    pub fn bytes(&self) -> [u8; ROW_HEADER] {
        let mut b = [0; ROW_HEADER];
        b[0] = self.flags;
        put_u48(&mut b, 1, self.trx);
        b[7..15].copy_from_slice(&self.roll.0.to_le_bytes());
        b
    }
    /// Whether the version is a delete mark.
    #[inline]
    pub fn marked(&self) -> bool {
        self.flags & MARKED != 0
    }
    /// Whether the row's tail is in a chain.
    #[inline]
    pub fn overflow(&self) -> bool {
        self.flags & OVERFLOW != 0
    }
}

/// Names an overflow chain: its first page and who made it, so that a freed and reused page is
/// never taken for it. `(trx, at)` is unique: ids never return, and one transaction's undo addresses do not repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainRef {
    /// First page.
    pub page: PageNo,
    /// Bytes in the chain.
    pub len: u32,
    /// The transaction that wrote it.
    pub trx: TrxId,
    /// Its undo record about the chain.
    pub at: u64,
}

impl ChainRef {
    /// Reads an encoded reference.
    pub fn read(b: &[u8]) -> ChainRef {
        ChainRef {
            page: u32::from_le_bytes(b[0..4].try_into().unwrap()),
            len: u32::from_le_bytes(b[4..8].try_into().unwrap()),
            trx: get_u48(b, 8),
            at: u64::from_le_bytes(b[14..22].try_into().unwrap()),
        }
    }
    /// Its bytes.
    pub fn bytes(&self) -> [u8; CHAIN_REF] {
        let mut b = [0; CHAIN_REF];
        b[0..4].copy_from_slice(&self.page.to_le_bytes());
        b[4..8].copy_from_slice(&self.len.to_le_bytes());
        put_u48(&mut b, 8, self.trx);
        b[14..22].copy_from_slice(&self.at.to_le_bytes());
        b
    }
}

/// The chain a stored row refers to.
pub fn chain_of(flags: u8, stored: &[u8]) -> Result<Option<ChainRef>> {
    if flags & OVERFLOW == 0 {
        return Ok(None);
    }
    if stored.len() < CHAIN_REF {
        return Err(Error::Corrupt(
            "a row's overflow reference is cut short".into(),
        ));
    }
    Ok(Some(ChainRef::read(stored)))
}

/// Where a secondary entry's value has the length of the index's own key.
pub const SEC_KEY_PART: KeyPart = KeyPart::LengthAt(7);

/// A secondary entry's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecValue {
    /// [`MARKED`], [`WAS_LIVE`], [`WAS_MARKED`].
    pub flags: u8,
    /// Who inserted, revived or marked the entry last.
    pub trx: TrxId,
    /// Bytes of the index's own key part.
    pub key_len: u16,
    /// With [`WAS_MARKED`]: who had marked it.
    pub origin: TrxId,
}

impl SecValue {
    /// Decodes a value; `None` if it is damaged ([`cut_short`]).
    #[inline]
    pub fn read(v: &[u8]) -> Option<SecValue> {
        let b: &[u8; SEC_VALUE] = v.first_chunk()?;
        let (flags, both) = (b[0], get_u64(b, 1));
        let origin = match flags & WAS_MARKED != 0 {
            true if v.len() < SEC_VALUE + 6 => return None,
            true => get_u48(v, SEC_VALUE),
            false => 0,
        };
        Some(SecValue {
            flags,
            trx: both & U48,
            key_len: (both >> 48) as u16,
            origin,
        })
    }
    /// Encodes the value; returns its length.
    #[inline]
    pub fn write(&self, out: &mut [u8; SEC_VALUE + 6]) -> usize {
        out[0] = self.flags;
        put_u48(out, 1, self.trx);
        out[7..9].copy_from_slice(&self.key_len.to_le_bytes());
        if self.flags & WAS_MARKED == 0 {
            return SEC_VALUE;
        }
        put_u48(out, SEC_VALUE, self.origin);
        SEC_VALUE + 6
    }
    /// Whether the entry is delete-marked.
    #[inline]
    pub fn marked(&self) -> bool {
        self.flags & MARKED != 0
    }
    /// Whether the entry alone tells the view what became of the row. It does where the view sees who touched
    /// it last, but for an entry that was live before the viewer's own transaction marked it and is live
    /// again: a rollback to a savepoint may have brought back a row that the view itself does not see.
    #[inline]
    pub fn decides(&self, view: &ReadView) -> bool {
        view.sees(self.trx)
            && !(self.trx == view.own && self.flags & (MARKED | WAS_LIVE) == WAS_LIVE)
    }
    /// The entry after transaction `trx` makes it live (`None`: it is not there) as the next state.
    pub fn made_live(old: Option<SecValue>, trx: TrxId, key_len: u16) -> SecValue {
        match old {
            None => SecValue {
                flags: 0,
                trx,
                key_len,
                origin: 0,
            },
            Some(o) if o.trx == trx => SecValue {
                flags: o.flags & !MARKED,
                ..o
            },
            Some(o) => SecValue {
                flags: if o.marked() { WAS_MARKED } else { WAS_LIVE },
                trx,
                key_len,
                origin: if o.marked() { o.trx } else { 0 },
            },
        }
    }
    /// The entry after transaction `trx` delete-marks it.
    pub fn made_marked(old: SecValue, trx: TrxId) -> SecValue {
        if old.trx == trx {
            SecValue {
                flags: old.flags | MARKED,
                ..old
            }
        } else {
            SecValue {
                flags: MARKED | if old.marked() { WAS_MARKED } else { WAS_LIVE },
                trx,
                key_len: old.key_len,
                origin: if old.marked() { old.trx } else { 0 },
            }
        }
    }
    /// The entry after transaction `trx` takes back what made it live; `None`: remove it.
    /// `seen_by_all` tells whether every view sees a transaction; asked only where the entry had been marked by
    /// another one, whose purge may have passed by already.
    pub fn taken_back(
        self,
        trx: TrxId,
        seen_by_all: impl FnOnce(TrxId) -> bool,
    ) -> Option<SecValue> {
        if self.marked() {
            return Some(self);
        }
        if self.trx != trx || self.flags & WAS_LIVE != 0 {
            return Some(SecValue::made_marked(self, trx));
        }
        if self.flags & WAS_MARKED == 0 || seen_by_all(self.origin) {
            return None;
        }
        Some(SecValue {
            flags: MARKED,
            trx: self.origin,
            key_len: self.key_len,
            origin: 0,
        })
    }
}

/// The record a roll pointer names, whatever it says of the record's kind.
#[inline]
pub fn record_of(roll: RollPtr) -> u64 {
    roll.0 & !(1 << 63)
}

/// An old value as its difference to the new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delta<'a> {
    /// Bytes kept at the front.
    pub prefix: usize,
    /// Bytes kept at the back.
    pub suffix: usize,
    /// Old bytes between.
    pub middle: &'a [u8],
}

impl<'a> Delta<'a> {
    /// What leads from `new` back to `old`.
    pub fn between(old: &'a [u8], new: &[u8]) -> Delta<'a> {
        let prefix = common_prefix(old, new);
        let suffix = common_suffix(&old[prefix..], &new[prefix..]);
        Delta {
            prefix,
            suffix,
            middle: &old[prefix..old.len() - suffix],
        }
    }
    /// Turns the new stored row in `row[base..]` into the old one.
    pub fn apply(&self, row: &mut Vec<u8>, base: usize) -> Result<()> {
        let len = row.len() - base;
        if self.prefix + self.suffix > len {
            return Err(Error::Corrupt("an undo record does not fit its row".into()));
        }
        let (from, to) = (base + self.prefix, row.len() - self.suffix);
        if to - from == self.middle.len() {
            row[from..to].copy_from_slice(self.middle);
        } else {
            row.splice(from..to, self.middle.iter().copied());
        }
        Ok(())
    }
}

/// Length of the longest common prefix, eight bytes at a time.
pub fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let n = a.len().min(b.len());
    let mut i = 0;
    while i + 8 <= n {
        let x = get_u64(a, i) ^ get_u64(b, i);
        if x != 0 {
            return i + (x.trailing_zeros() / 8) as usize;
        }
        i += 8;
    }
    while i < n && a[i] == b[i] {
        i += 1;
    }
    i
}

/// Length of the longest common suffix, eight bytes at a time.
pub fn common_suffix(a: &[u8], b: &[u8]) -> usize {
    let n = a.len().min(b.len());
    let (a, b) = (&a[a.len() - n..], &b[b.len() - n..]);
    let mut i = 0;
    while i + 8 <= n {
        let at = n - i - 8;
        let x = get_u64(a, at) ^ get_u64(b, at);
        if x != 0 {
            return i + (x.leading_zeros() / 8) as usize;
        }
        i += 8;
    }
    while i < n && a[n - i - 1] == b[n - i - 1] {
        i += 1;
    }
    i
}

/// Appends an unsigned integer, seven bits a byte.
pub fn put_varint(out: &mut Vec<u8>, mut v: u64) {
    while v >= 0x80 {
        out.push(v as u8 | 0x80);
        v >>= 7;
    }
    out.push(v as u8);
}

/// Appends a length and bytes.
pub fn put_bytes(out: &mut Vec<u8>, b: &[u8]) {
    put_varint(out, b.len() as u64);
    out.extend_from_slice(b);
}

/// Bytes that [`put_varint`] takes.
pub fn varint_len(v: u64) -> usize {
    (64 - (v | 1).leading_zeros() as usize).div_ceil(7)
}

/// Reads what [`put_varint`] and its like wrote.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    fn cut() -> Error {
        Error::Corrupt("a record is cut short".into())
    }
    /// Whether all has been read.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// An integer.
    pub fn varint(&mut self) -> Result<u64> {
        let mut v = 0u64;
        for i in 0..10 {
            let (&b, rest) = self.0.split_first().ok_or_else(Self::cut)?;
            self.0 = rest;
            v |= u64::from(b & 0x7f) << (7 * i);
            if b < 0x80 {
                return Ok(v);
            }
        }
        Err(Self::cut())
    }
    /// `n` bytes.
    pub fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        if n > self.0.len() {
            return Err(Self::cut());
        }
        let (a, b) = self.0.split_at(n);
        self.0 = b;
        Ok(a)
    }
    /// A length and bytes.
    pub fn bytes(&mut self) -> Result<&'a [u8]> {
        let n = self.varint()?;
        self.take(usize::try_from(n).map_err(|_| Self::cut())?)
    }
    /// One byte.
    pub fn byte(&mut self) -> Result<u8> {
        Ok(self.take(1)?[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delta_leads_back() {
        let cases: [(&[u8], &[u8]); 7] = [
            (b"", b""),
            (b"abc", b"abc"),
            (b"aaaa", b"aa"),
            (b"aa", b"aaaa"),
            (b"hello old world", b"hello new, big world"),
            (b"0123456789abcdef0", b"0123456789abcdef1"),
            (b"x", b""),
        ];
        for (old, new) in cases {
            let d = Delta::between(old, new);
            let mut row = [b"head", new].concat();
            d.apply(&mut row, 4).unwrap();
            assert_eq!(row, [b"head", old].concat());
        }
        // Every place at which two long strings can differ.
        let old: Vec<u8> = (0..40).collect();
        for from in 0..old.len() {
            for to in from + 1..=old.len() {
                let mut new = old.clone();
                new[from..to].fill(0xee);
                let d = Delta::between(&old, &new);
                assert_eq!((d.prefix, old.len() - d.suffix), (from, to));
            }
        }
        let d = Delta {
            prefix: 3,
            suffix: 3,
            middle: b"",
        };
        assert!(d.apply(&mut b"abcde".to_vec(), 0).is_err());
    }

    /// Rolling back any sequence of changes newest first restores the first state.
    #[test]
    fn taking_back_restores_a_secondary_entry() {
        let marked = SecValue {
            flags: MARKED,
            trx: 3,
            key_len: 4,
            origin: 0,
        };
        let live = SecValue { flags: 0, ..marked };
        for start in [None, Some(marked), Some(live)] {
            for steps in 1..6 {
                let mut e = start;
                let mut done = Vec::new();
                for _ in 0..steps {
                    let is_live = e.is_some_and(|e| !e.marked());
                    done.push(is_live);
                    e = Some(if is_live {
                        SecValue::made_marked(e.unwrap(), 9)
                    } else {
                        SecValue::made_live(e, 9, 4)
                    });
                }
                while let Some(was_live) = done.pop() {
                    e = if was_live {
                        Some(SecValue::made_live(e, 9, 4))
                    } else {
                        e.and_then(|e| e.taken_back(9, |_| false))
                    };
                    assert_eq!(e.is_some_and(|e| !e.marked()), was_live);
                }
                match start {
                    Some(s) if !s.marked() => assert!(!e.unwrap().marked()),
                    _ => assert_eq!(e, start),
                }
            }
        }
    }
}

//! Redo operations: what a mini-transaction may do to a page. Each is *physiological*: it names one
//! page and is a deterministic function of that page's bytes. Run time and recovery share [`Op::apply`].

use super::varint;
use crate::error::{Error, Result};
use crate::page::{PAGE_HEADER, PAGE_SIZE, PageNo, PageType, put_u16, put_u32, put_u64, slotted};
use crate::space::{FileId, SpaceId};

/// One change to one page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op<'a> {
    /// Formats the page: zeroes the body, sets type, and for B+tree pages an empty slotted page of
    /// this level (0 = leaf). Needs nothing of the old contents.
    Init {
        /// New type.
        kind: PageType,
        /// B+tree level.
        level: u8,
    },
    /// Overwrites bytes at `offset` (from the start of the page; never the header).
    Bytes {
        /// Offset in the page.
        offset: u16,
        /// New bytes.
        data: &'a [u8],
    },
    /// Inserts a record at `slot`, moving later slots up.
    Insert {
        /// Slot number.
        slot: u16,
        /// Key bytes.
        key: &'a [u8],
        /// Value bytes.
        value: &'a [u8],
    },
    /// Removes the record at `slot`.
    Remove {
        /// Slot number.
        slot: u16,
    },
    /// Overwrites bytes `offset..` of the value of the record at `slot`; the length stays.
    Patch {
        /// Slot number.
        slot: u16,
        /// Offset within the value.
        offset: u16,
        /// New bytes.
        data: &'a [u8],
    },
    /// Replaces the value at `slot`: keeps its first `prefix` and last `suffix` bytes around `data`.
    Splice {
        /// Slot number.
        slot: u16,
        /// Bytes kept at the front.
        prefix: u16,
        /// Bytes kept at the back.
        suffix: u16,
        /// Bytes between.
        data: &'a [u8],
    },
    /// Removes every record from `slot` on.
    Truncate {
        /// First slot removed.
        slot: u16,
    },
    /// Appends records after the last slot (the receiving half of a split or merge). `data` is a run
    /// of `key_len: u16, value_len: u16, key, value`.
    Append {
        /// The encoded records.
        data: &'a [u8],
    },
    /// Replaces the whole body (bytes after the header), e.g. by a bulk builder.
    Image {
        /// Page type.
        kind: PageType,
        /// The body, cut after its last non-zero byte.
        body: &'a [u8],
    },
    /// Marks the page free.
    Free,
}

/// Where an operation applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// Space.
    pub space: SpaceId,
    /// File it lives in.
    pub file: FileId,
    /// Page.
    pub page: PageNo,
}

/// Bit of the tag byte: the operation applies where the one before it in the group did.
const SAME_TARGET: u8 = 0x80;

impl Op<'_> {
    /// Applies to a page of `PAGE_SIZE` bytes. `target` fills the header on `Init` and `Image`, which need
    /// nothing of the old contents; the LSN is the caller's to stamp.
    #[inline]
    pub fn apply(&self, target: Target, page: &mut [u8]) {
        debug_assert_eq!(page.len(), PAGE_SIZE);
        match *self {
            Op::Init { kind, level } => {
                format(page, target, kind);
                if matches!(kind, PageType::Leaf | PageType::Inner) {
                    slotted::init(page, level);
                }
            }
            Op::Bytes { offset, data } => {
                let at = offset as usize;
                debug_assert!(at >= PAGE_HEADER);
                page[at..at + data.len()].copy_from_slice(data);
            }
            Op::Insert { slot, key, value } => slotted::insert(page, slot, key, value),
            Op::Remove { slot } => slotted::remove(page, slot),
            Op::Patch { slot, offset, data } => slotted::patch(page, slot, offset, data),
            Op::Splice {
                slot,
                prefix,
                suffix,
                data,
            } => {
                slotted::splice(page, slot, prefix, suffix, data);
            }
            Op::Truncate { slot } => slotted::truncate(page, slot),
            Op::Append { data } => slotted::append(page, data),
            Op::Image { kind, body } => {
                format(page, target, kind);
                page[PAGE_HEADER..PAGE_HEADER + body.len()].copy_from_slice(body);
            }
            Op::Free => format(page, target, PageType::Free),
        }
    }

    /// Whether the operation needs nothing of the page's old contents.
    pub fn overwrites(&self) -> bool {
        matches!(self, Op::Init { .. } | Op::Image { .. } | Op::Free)
    }

    /// Appends `target` and the operation to a group's payload. `previous` is the target of the
    /// operation before it in the same group.
    #[inline]
    pub fn encode(&self, target: Target, previous: Option<Target>, out: &mut Vec<u8>) {
        let same = previous == Some(target);
        out.push(self.tag() | if same { SAME_TARGET } else { 0 });
        if !same {
            varint::put(out, target.space.0);
            varint::put(out, target.file.0);
            varint::put(out, u64::from(target.page));
        }
        match *self {
            Op::Init { kind, level } => out.extend_from_slice(&[kind as u8, level]),
            Op::Bytes { offset, data } => {
                varint::put(out, u64::from(offset));
                put_bytes(out, data);
            }
            Op::Insert { slot, key, value } => {
                varint::put(out, u64::from(slot));
                put_bytes(out, key);
                put_bytes(out, value);
            }
            Op::Remove { slot } | Op::Truncate { slot } => varint::put(out, u64::from(slot)),
            Op::Patch { slot, offset, data } => {
                varint::put(out, u64::from(slot));
                varint::put(out, u64::from(offset));
                put_bytes(out, data);
            }
            Op::Splice {
                slot,
                prefix,
                suffix,
                data,
            } => {
                varint::put(out, u64::from(slot));
                varint::put(out, u64::from(prefix));
                varint::put(out, u64::from(suffix));
                put_bytes(out, data);
            }
            Op::Append { data } => put_bytes(out, data),
            Op::Image { kind, body } => {
                out.push(kind as u8);
                put_bytes(out, body);
            }
            Op::Free => {}
        }
    }

    fn tag(&self) -> u8 {
        match self {
            Op::Init { .. } => 1,
            Op::Bytes { .. } => 2,
            Op::Insert { .. } => 3,
            Op::Remove { .. } => 4,
            Op::Patch { .. } => 5,
            Op::Splice { .. } => 6,
            Op::Truncate { .. } => 7,
            Op::Append { .. } => 8,
            Op::Image { .. } => 9,
            Op::Free => 10,
        }
    }
}

/// Zeroes the body and writes the header but for checksum and LSN.
fn format(page: &mut [u8], target: Target, kind: PageType) {
    page[PAGE_HEADER..].fill(0);
    put_u32(page, 4, target.page);
    put_u64(page, 16, target.space.0);
    put_u16(page, 24, kind as u16);
    page[26..PAGE_HEADER].fill(0);
}

#[inline]
fn put_bytes(out: &mut Vec<u8>, b: &[u8]) {
    varint::put(out, b.len() as u64);
    out.extend_from_slice(b);
}

/// Iterates over the operations of a group's payload; the first malformed one yields `Corrupt` and ends it.
pub fn decode(payload: &[u8]) -> Decoder<'_> {
    Decoder {
        payload,
        at: 0,
        target: None,
    }
}

/// See [`decode`].
pub struct Decoder<'a> {
    payload: &'a [u8],
    at: usize,
    target: Option<Target>,
}

impl<'a> Iterator for Decoder<'a> {
    type Item = Result<(Target, Op<'a>)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.payload.len() {
            return None;
        }
        let start = self.at;
        match self.step() {
            Some(item) => Some(Ok(item)),
            None => {
                self.at = self.payload.len();
                let what = format!("redo group: malformed operation at byte {start}");
                Some(Err(Error::Corrupt(what)))
            }
        }
    }
}

impl<'a> Decoder<'a> {
    /// Goes on at an operation found before: `at` and `target` are what [`Decoder::position`] said before
    /// it was decoded, and its target.
    pub fn resume(payload: &'a [u8], at: usize, target: Target) -> Decoder<'a> {
        Decoder {
            payload,
            at,
            target: Some(target),
        }
    }

    /// Where the next operation starts in the payload.
    pub fn position(&self) -> usize {
        self.at
    }

    fn step(&mut self) -> Option<(Target, Op<'a>)> {
        let tag = self.byte()?;
        if tag & SAME_TARGET == 0 {
            let space = SpaceId(self.int()?);
            let file = FileId(self.int()?);
            let page = PageNo::try_from(self.int()?).ok()?;
            self.target = Some(Target { space, file, page });
        }
        let target = self.target?;
        let op = match tag & !SAME_TARGET {
            1 => Op::Init {
                kind: self.kind()?,
                level: self.byte()?,
            },
            2 => {
                let (offset, data) = (self.short()?, self.bytes()?);
                let fits =
                    offset as usize >= PAGE_HEADER && offset as usize + data.len() <= PAGE_SIZE;
                fits.then_some(Op::Bytes { offset, data })?
            }
            3 => Op::Insert {
                slot: self.short()?,
                key: self.bytes()?,
                value: self.bytes()?,
            },
            4 => Op::Remove {
                slot: self.short()?,
            },
            5 => Op::Patch {
                slot: self.short()?,
                offset: self.short()?,
                data: self.bytes()?,
            },
            6 => Op::Splice {
                slot: self.short()?,
                prefix: self.short()?,
                suffix: self.short()?,
                data: self.bytes()?,
            },
            7 => Op::Truncate {
                slot: self.short()?,
            },
            8 => Op::Append {
                data: self.bytes()?,
            },
            9 => {
                let (kind, body) = (self.kind()?, self.bytes()?);
                (body.len() <= PAGE_SIZE - PAGE_HEADER).then_some(Op::Image { kind, body })?
            }
            10 => Op::Free,
            _ => return None,
        };
        Some((target, op))
    }

    fn byte(&mut self) -> Option<u8> {
        let b = *self.payload.get(self.at)?;
        self.at += 1;
        Some(b)
    }
    fn int(&mut self) -> Option<u64> {
        varint::get(self.payload, &mut self.at)
    }
    fn short(&mut self) -> Option<u16> {
        u16::try_from(self.int()?).ok()
    }
    fn kind(&mut self) -> Option<PageType> {
        PageType::from_u16(u16::from(self.byte()?))
    }
    fn bytes(&mut self) -> Option<&'a [u8]> {
        let n = usize::try_from(self.int()?).ok()?;
        let b = self.payload.get(self.at..self.at.checked_add(n)?)?;
        self.at += n;
        Some(b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(page: PageNo) -> Target {
        Target {
            space: SpaceId(7),
            file: FileId(300),
            page,
        }
    }

    fn samples() -> Vec<(Target, Op<'static>)> {
        vec![
            (
                target(9),
                Op::Init {
                    kind: PageType::Undo,
                    level: 0,
                },
            ),
            (
                target(9),
                Op::Bytes {
                    offset: 40,
                    data: b"hello",
                },
            ),
            (
                target(70_000),
                Op::Insert {
                    slot: 3,
                    key: b"k",
                    value: b"",
                },
            ),
            (target(70_000), Op::Remove { slot: 300 }),
            (
                target(9),
                Op::Patch {
                    slot: 1,
                    offset: 2,
                    data: b"xy",
                },
            ),
            (
                target(9),
                Op::Splice {
                    slot: 1,
                    prefix: 200,
                    suffix: 3,
                    data: b"",
                },
            ),
            (target(9), Op::Truncate { slot: 5 }),
            (
                target(1),
                Op::Append {
                    data: b"\x01\0\x01\0kv",
                },
            ),
            (
                target(1),
                Op::Image {
                    kind: PageType::Leaf,
                    body: b"abc",
                },
            ),
            (target(2), Op::Free),
        ]
    }

    #[test]
    fn every_operation_roundtrips() {
        let mut payload = Vec::new();
        let mut previous = None;
        for (t, op) in samples() {
            op.encode(t, previous, &mut payload);
            previous = Some(t);
        }
        let back: Vec<_> = decode(&payload).collect::<Result<_>>().unwrap();
        assert_eq!(back, samples());
    }

    #[test]
    fn damaged_payloads_end_in_an_error_not_a_panic() {
        let mut payload = Vec::new();
        let mut previous = None;
        for (t, op) in samples() {
            op.encode(t, previous, &mut payload);
            previous = Some(t);
        }
        let whole = decode(&payload).count();
        for cut in 1..payload.len() {
            let ops: Vec<_> = decode(&payload[..cut]).collect();
            assert!(ops.len() <= whole);
        }
        for i in 0..payload.len() {
            let mut bad = payload.clone();
            bad[i] ^= 0xff;
            for op in decode(&bad) {
                if op.is_err() {
                    break;
                }
            }
        }
    }

    #[test]
    fn init_bytes_and_free_apply_to_any_contents() {
        let mut page = vec![0xa5; PAGE_SIZE];
        Op::Init {
            kind: PageType::Undo,
            level: 0,
        }
        .apply(target(9), &mut page);
        Op::Bytes {
            offset: 100,
            data: b"abc",
        }
        .apply(target(9), &mut page);
        assert_eq!(crate::page::page_no(&page), 9);
        assert_eq!(crate::page::page_space(&page), 7);
        assert_eq!(crate::page::page_type(&page), Some(PageType::Undo));
        assert_eq!(&page[99..104], b"\0abc\0");
        Op::Free.apply(target(9), &mut page);
        assert!(page[PAGE_HEADER..].iter().all(|b| *b == 0));
    }
}

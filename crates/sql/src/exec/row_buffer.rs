//! Rows that are kept: appended, and read any number of times in the order they came.
//!
//! Rows lie encoded (see `codec`) in blocks. A block stays in memory as long as the buffer's limit and the statement's account
//! allow another; from then on blocks go to a temporary file as they fill, and only the one being filled is in memory. Readers hold
//! a position, not a borrow, so rows may be appended while others are read, and several readers may be at different places.

use millpond_store::Engine;
use millpond_store::sort::{Piece, TempFile};
use smallvec::SmallVec;

use super::state::State;
use crate::env::SessionEnv;
use crate::error::SqlResult;
use crate::memory::{Charge, out_of_memory};
use crate::row::{Reader, put_all};
use crate::store_error::store_error;
use crate::value::Value;

/// Bytes of a block, unless one row is larger.
pub const BLOCK_BYTES: usize = 32 << 10;
/// Bytes that a block starts with.
const FIRST_BYTES: usize = 512;
/// Bytes before a row: its length.
const HEADER: usize = 4;

enum Block {
    Memory(Vec<u8>),
    File(Piece),
}

/// Rows.
pub struct RowBuffer<'s> {
    engine: &'s Engine,
    env: &'s SessionEnv,
    limit: usize,
    block_bytes: usize,
    charge: Charge,
    blocks: Vec<Block>,
    /// The block being filled.
    tail: Vec<u8>,
    file: Option<TempFile>,
    record: Vec<u8>,
}

impl<'s> RowBuffer<'s> {
    /// None so far; they may take `limit` bytes of memory.
    pub fn new(st: &State<'s>, limit: usize, block_bytes: usize) -> RowBuffer<'s> {
        RowBuffer {
            engine: st.engine,
            env: st.env,
            limit,
            block_bytes,
            charge: st.charge(),
            blocks: Vec::new(),
            tail: Vec::new(),
            file: None,
            record: Vec::new(),
        }
    }

    /// Appends a row of values.
    pub fn push(&mut self, row: &[Value<'_>]) -> SqlResult<()> {
        let mut record = std::mem::take(&mut self.record);
        record.clear();
        put_all(row, &mut record);
        let pushed = self.push_bytes(&record);
        self.record = record;
        pushed.map(|_| ())
    }

    /// Appends a row as bytes; whether it is the first of a block.
    pub fn push_bytes(&mut self, record: &[u8]) -> SqlResult<bool> {
        let len = u32::try_from(record.len()).map_err(|_| out_of_memory())?;
        let need = HEADER + record.len();
        if !self.tail.is_empty() && self.tail.len() + need > self.block_bytes {
            self.seal()?;
        }
        let (used, had) = (self.tail.len(), self.tail.capacity());
        if used + need > had {
            let to = (2 * had).clamp(FIRST_BYTES, self.block_bytes);
            let to = to.max(used + need);
            self.charge.grow(to - had)?;
            self.tail.reserve_exact(to - used);
        }
        self.tail.extend_from_slice(&len.to_le_bytes());
        self.tail.extend_from_slice(record);
        Ok(used == 0)
    }

    /// Puts the full block where it is to stay.
    fn seal(&mut self) -> SqlResult<()> {
        self.charge.grow(size_of::<Block>())?;
        let more = self.block_bytes;
        if self.file.is_none()
            && self.charge.used() + more <= self.limit
            && self.charge.try_grow(more)
        {
            let next = Vec::with_capacity(more);
            let full = std::mem::replace(&mut self.tail, next);
            self.blocks.push(Block::Memory(full));
            return Ok(());
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => {
                self.env.effort.spill();
                none.insert(
                    self.engine
                        .temporary_file()
                        .map_err(|e| store_error(e, ""))?,
                )
            }
        };
        let piece = file.add(&self.tail).map_err(|e| store_error(e, ""))?;
        self.blocks.push(Block::File(piece));
        self.tail.clear();
        if self.tail.capacity() > more {
            self.charge.shrink(self.tail.capacity() - more);
            self.tail = Vec::with_capacity(more);
        }
        Ok(())
    }

    /// Blocks, the one being filled included.
    pub fn blocks(&self) -> usize {
        self.blocks.len() + 1
    }

    /// A reader before the first row.
    pub fn reader(&self) -> RowReader {
        RowReader {
            block: 0,
            at: 0,
            loaded: usize::MAX,
            bytes: Vec::new(),
            charge: Charge::new(self.charge.account()),
        }
    }

    fn block_len(&self, block: usize) -> usize {
        match self.blocks.get(block) {
            Some(Block::Memory(b)) => b.len(),
            Some(Block::File(piece)) => piece.len(),
            None => self.tail.len(),
        }
    }
}

/// A place among the rows of a [`RowBuffer`].
pub struct RowReader {
    block: usize,
    at: usize,
    /// The block that is in `bytes`.
    loaded: usize,
    bytes: Vec<u8>,
    charge: Charge,
}

/// Before a row: the block, and the bytes before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The block.
    pub block: usize,
    at: usize,
}

impl RowReader {
    /// Goes to the first row of a block.
    pub fn seek(&mut self, block: usize) {
        self.block = block;
        self.at = 0;
    }

    /// Where it is.
    pub fn place(&self) -> Place {
        Place {
            block: self.block,
            at: self.at,
        }
    }

    /// Goes where it was before.
    pub fn go_to(&mut self, place: Place) {
        self.block = place.block;
        self.at = place.at;
    }

    /// The next row's bytes; `None` after the last.
    pub fn next<'r>(&'r mut self, rows: &'r RowBuffer<'_>) -> SqlResult<Option<&'r [u8]>> {
        while self.at >= rows.block_len(self.block) {
            if self.block + 1 >= rows.blocks() {
                return Ok(None);
            }
            self.seek(self.block + 1);
        }
        let bytes = match rows.blocks.get(self.block) {
            Some(Block::Memory(b)) => b,
            Some(Block::File(piece)) => {
                if self.loaded != self.block {
                    self.load(rows, *piece)?;
                }
                &self.bytes
            }
            None => &rows.tail,
        };
        let (head, rest) = bytes[self.at..].split_at(HEADER);
        let mut len = [0; HEADER];
        len.copy_from_slice(head);
        let len = u32::from_le_bytes(len) as usize;
        self.at += HEADER + len;
        Ok(Some(&rest[..len]))
    }

    #[cold]
    fn load(&mut self, rows: &RowBuffer<'_>, piece: Piece) -> SqlResult<()> {
        self.loaded = usize::MAX;
        self.charge.grow_to(piece.len())?;
        if let Some(file) = &rows.file {
            file.read(piece, &mut self.bytes)
                .map_err(|e| store_error(e, ""))?;
        }
        self.loaded = self.block;
        Ok(())
    }
}

/// The values of a row that was pushed.
pub fn values(bytes: &[u8]) -> SmallVec<[Value<'_>; 8]> {
    let mut r = Reader(bytes);
    let mut values = SmallVec::new();
    while !r.is_empty() {
        values.push(r.value());
    }
    values
}

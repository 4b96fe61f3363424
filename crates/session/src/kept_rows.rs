//! Rows as bytes that are kept until they are taken, once and in the order they came: what a cursor of the protocol reads.
//!
//! They lie in blocks. A block stays in memory as long as the limit and the session's account allow more; from then on blocks go to a
//! temporary file as they fill, and only the one being filled and the one being read are in memory.

use std::collections::VecDeque;

use millpond_sql::memory::{Charge, out_of_memory};
use millpond_sql::store_error::store_error;
use millpond_sql::{SqlError, SqlResult};
use millpond_store::Engine;
use millpond_store::sort::{Piece, TempFile};

/// Bytes of a block, unless one row is larger.
const BLOCK_BYTES: usize = 64 << 10;
/// Bytes before a row: its length.
const HEADER: usize = 4;

enum Block {
    Memory(Vec<u8>),
    File(Piece),
}

/// Where rows go for which memory does not suffice, and how much of that they may have.
struct Bounds {
    engine: Engine,
    /// For all that is in memory.
    charge: Charge,
    /// Bytes.
    limit: usize,
}

/// Rows; those of the default are all in memory.
#[derive(Default)]
pub struct KeptRows {
    bounds: Option<Bounds>,
    /// Full ones that are not read yet.
    blocks: VecDeque<Block>,
    /// The one being filled.
    tail: Vec<u8>,
    /// The one being read, and how far that is.
    front: Vec<u8>,
    at: usize,
    file: Option<TempFile>,
}

fn failed(e: millpond_store::Error) -> SqlError {
    store_error(e, "")
}

impl KeptRows {
    /// None so far; they may take `limit` bytes of memory.
    pub(crate) fn new(engine: Engine, charge: Charge, limit: usize) -> KeptRows {
        KeptRows {
            bounds: Some(Bounds {
                engine,
                charge,
                limit,
            }),
            ..KeptRows::default()
        }
    }

    /// Appends a row. Errors: 1038, and those of the temporary file.
    pub fn push(&mut self, row: &[u8]) -> SqlResult<()> {
        let len = u32::try_from(row.len()).map_err(|_| out_of_memory())?;
        let need = HEADER + row.len();
        if !self.tail.is_empty() && self.tail.len() + need > BLOCK_BYTES {
            let fits = |b: &Bounds| b.charge.used() + need <= b.limit;
            match self.file.is_none() && self.bounds.as_ref().is_none_or(fits) {
                true => {
                    let full = std::mem::take(&mut self.tail);
                    self.blocks.push_back(Block::Memory(full));
                }
                false => self.spill()?,
            }
        }
        if !self.bounds.as_mut().is_none_or(|b| b.charge.try_grow(need)) {
            self.spill()?;
            self.grow(need)?;
        }
        self.tail.extend_from_slice(&len.to_le_bytes());
        self.tail.extend_from_slice(row);
        Ok(())
    }

    fn grow(&mut self, bytes: usize) -> SqlResult<()> {
        match &mut self.bounds {
            Some(b) => b.charge.grow(bytes),
            None => Ok(()),
        }
    }

    fn shrink(&mut self, bytes: usize) {
        if let Some(b) = &mut self.bounds {
            b.charge.shrink(bytes);
        }
    }

    /// Writes the block being filled to the file.
    #[cold]
    fn spill(&mut self) -> SqlResult<()> {
        let Some(bounds) = self.bounds.as_ref().filter(|_| !self.tail.is_empty()) else {
            return Ok(());
        };
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(bounds.engine.temporary_file().map_err(failed)?),
        };
        let piece = file.add(&self.tail).map_err(failed)?;
        self.blocks.push_back(Block::File(piece));
        self.shrink(self.tail.len());
        self.tail.clear();
        Ok(())
    }

    /// Takes the next row; `None` after the last.
    pub fn take(&mut self) -> SqlResult<Option<&[u8]>> {
        while self.at >= self.front.len() {
            if !self.next_block()? {
                return Ok(None);
            }
        }
        let (head, rest) = self.front[self.at..].split_at(HEADER);
        let mut len = [0; HEADER];
        len.copy_from_slice(head);
        let len = u32::from_le_bytes(len) as usize;
        self.at += HEADER + len;
        Ok(Some(&rest[..len]))
    }

    /// Goes on to the next block, if there is one.
    fn next_block(&mut self) -> SqlResult<bool> {
        let (read, mut front) = (self.front.len(), std::mem::take(&mut self.front));
        self.at = 0;
        self.shrink(read);
        match self.blocks.pop_front() {
            Some(Block::Memory(block)) => self.front = block,
            Some(Block::File(piece)) => {
                self.grow(piece.len())?;
                if let Some(file) = &self.file {
                    file.read(piece, &mut front).map_err(failed)?;
                }
                self.front = front;
            }
            None => self.front = std::mem::take(&mut self.tail),
        }
        Ok(!self.front.is_empty())
    }
}

//! Runs in temporary files. A run is records one after another, each `key length u32, value length
//! u32, key, value`; its checksum is kept in memory and verified when the run has been read to its end.

use super::file::{Handle, TempFile};
use super::{GoOn, RECORD_HEADER, lengths, record};
use crate::error::{Error, Result};
use std::sync::Arc;

/// Bytes written at a time.
const WRITE_BUFFER: usize = 256 << 10;

/// Where a run lies, and what its bytes must sum to.
#[derive(Clone, Copy)]
pub(super) struct Run {
    /// The file's number.
    pub file: usize,
    start: u64,
    pub end: u64,
    crc: u32,
}

/// Writes one run at the end of a file.
pub(super) struct RunWriter<'f> {
    file: &'f mut TempFile,
    number: usize,
    start: u64,
    buffer: Vec<u8>,
    crc: u32,
}

impl<'f> RunWriter<'f> {
    /// At the end of the file of this number.
    pub fn new(file: &'f mut TempFile, number: usize) -> RunWriter<'f> {
        let start = file.len();
        RunWriter {
            file,
            number,
            start,
            buffer: Vec::with_capacity(WRITE_BUFFER),
            crc: 0,
        }
    }

    pub fn add(&mut self, key: &[u8], value: &[u8], go_on: &GoOn<'_>) -> Result<()> {
        if self.buffer.len() + RECORD_HEADER + key.len() + value.len() > WRITE_BUFFER {
            self.flush(go_on)?;
        }
        self.buffer
            .extend_from_slice(&(key.len() as u32).to_le_bytes());
        self.buffer
            .extend_from_slice(&(value.len() as u32).to_le_bytes());
        self.buffer.extend_from_slice(key);
        self.buffer.extend_from_slice(value);
        Ok(())
    }

    fn flush(&mut self, go_on: &GoOn<'_>) -> Result<()> {
        go_on()?;
        self.crc = crc32c::crc32c_append(self.crc, &self.buffer);
        self.file.append(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    pub fn finish(mut self, go_on: &GoOn<'_>) -> Result<Run> {
        self.flush(go_on)?;
        Ok(Run {
            file: self.number,
            start: self.start,
            end: self.file.len(),
            crc: self.crc,
        })
    }
}

/// Reads one run.
pub(super) struct RunReader {
    file: Arc<Handle>,
    name: String,
    run: Run,
    /// Next byte of the run to be read from the file.
    pos: u64,
    crc: u32,
    buffer: Vec<u8>,
    /// The record under the reader.
    at: usize,
    len: usize,
    buffer_size: usize,
}

impl RunReader {
    /// A reader before the first record.
    pub fn new(file: &TempFile, run: Run, buffer_size: usize) -> RunReader {
        RunReader {
            file: file.file.clone(),
            name: file.name.clone(),
            run,
            pos: run.start,
            crc: 0,
            buffer: Vec::new(),
            at: 0,
            len: 0,
            buffer_size,
        }
    }

    /// Moves to the next record; `false` at the end of the run.
    #[inline]
    pub fn advance(&mut self) -> Result<bool> {
        self.at += self.len;
        self.len = 0;
        if !self.have(RECORD_HEADER)? {
            return Ok(false);
        }
        let (key_len, value_len) = lengths(&self.buffer[self.at..]);
        let len = RECORD_HEADER + key_len + value_len;
        if !self.have(len)? {
            return Err(self.damaged());
        }
        self.len = len;
        Ok(true)
    }

    /// The record under the reader.
    #[inline]
    pub fn record(&self) -> (&[u8], &[u8]) {
        record(&self.buffer[self.at..])
    }

    /// Makes sure that `len` bytes from the present place are in the buffer; `false` at the end of the run.
    #[inline]
    fn have(&mut self, len: usize) -> Result<bool> {
        if self.at + len <= self.buffer.len() {
            return Ok(true);
        }
        self.refill(len)
    }

    #[cold]
    fn refill(&mut self, len: usize) -> Result<bool> {
        let kept = self.buffer.len() - self.at;
        let left = self.run.end - self.pos;
        if (kept as u64 + left) < len as u64 {
            if kept > 0 || self.crc != self.run.crc {
                return Err(self.damaged());
            }
            return Ok(false);
        }
        self.buffer.copy_within(self.at.., 0);
        self.at = 0;
        let more = (self.buffer_size.max(len) - kept).min(left as usize);
        self.buffer.resize(kept + more, 0);
        let fresh = &mut self.buffer[kept..];
        self.file
            .read_at(fresh, self.pos)
            .map_err(|e| Error::io(format!("{}: read", self.name), &e))?;
        self.crc = crc32c::crc32c_append(self.crc, fresh);
        self.pos += more as u64;
        Ok(true)
    }

    fn damaged(&self) -> Error {
        let Run { start, end, .. } = self.run;
        Error::Corrupt(format!(
            "{}: the run at {start}..{end} is damaged",
            self.name
        ))
    }
}

//! Reading groups, off the ring or off copies of the log.

use super::{FILLER, GROUP_HEADER, GroupVisitor, LogFile, whole_group};
use crate::error::Result;
use crate::page::Lsn;

/// Bytes of the log by LSN.
pub(crate) trait Stream {
    /// Fills `bytes` from `lsn` on.
    fn read(&self, bytes: &mut [u8], lsn: Lsn) -> Result<()>;
}

impl Stream for LogFile {
    fn read(&self, bytes: &mut [u8], lsn: Lsn) -> Result<()> {
        LogFile::read(self, bytes, lsn)
    }
}

/// Calls `visit(start, end, payload)` for each whole group of the `len` bytes from `from` on, in order, up to the first that is not
/// valid or whose epoch falls, or is below `epoch`: where that is, and the epoch of the last group.
pub(crate) fn walk(
    stream: &dyn Stream,
    from: Lsn,
    len: u64,
    mut epoch: u32,
    visit: GroupVisitor<'_>,
) -> Result<(Lsn, u32)> {
    let mut reader = Reader {
        stream,
        buf: Vec::new(),
        start: from,
        at: 0,
        left: len,
        most: len,
    };
    while let Some((start, e, filler, payload)) = reader.group(epoch)? {
        epoch = e;
        let end = start + (GROUP_HEADER + payload.len()) as u64;
        if !filler {
            visit(start, end, payload)?;
        }
        reader.advance(end);
    }
    Ok((reader.position(), epoch))
}

/// Start LSN, epoch, whether it says nothing, and payload.
type Group<'a> = (Lsn, u32, bool, &'a [u8]);

/// Reads groups in large steps.
struct Reader<'a> {
    stream: &'a dyn Stream,
    /// Stream bytes from LSN `start`; consumed up to `at`.
    buf: Vec<u8>,
    start: Lsn,
    at: usize,
    /// Bytes not yet read into `buf`.
    left: u64,
    /// No group is longer.
    most: u64,
}

/// Bytes read at a time.
pub(super) const STEP: usize = 4 << 20;

impl Reader<'_> {
    fn position(&self) -> Lsn {
        self.start + self.at as u64
    }

    fn advance(&mut self, to: Lsn) {
        self.at = (to - self.start) as usize;
    }

    /// Makes `n` bytes available at the position; `false` if there are no more.
    fn ensure(&mut self, n: usize) -> Result<bool> {
        if self.buf.len() - self.at >= n {
            return Ok(true);
        }
        self.start += self.at as u64;
        self.buf.drain(..self.at);
        self.at = 0;
        while self.buf.len() < n {
            let step = (STEP as u64).min(self.left) as usize;
            if step == 0 {
                return Ok(false);
            }
            let old = self.buf.len();
            self.buf.resize(old + step, 0);
            self.stream
                .read(&mut self.buf[old..], self.start + old as u64)?;
            self.left -= step as u64;
        }
        Ok(true)
    }

    /// The whole group at the position, if there is one of at least this epoch.
    fn group(&mut self, epoch: u32) -> Result<Option<Group<'_>>> {
        if !self.ensure(GROUP_HEADER)? {
            return Ok(None);
        }
        let word = |at: usize| {
            let at = self.at + at;
            u32::from_le_bytes(self.buf[at..at + 4].try_into().unwrap())
        };
        let (len, e) = (word(0), word(4));
        let whole = GROUP_HEADER + (len & !FILLER) as usize;
        if len == 0 || e < epoch || whole as u64 > self.most || !self.ensure(whole)? {
            return Ok(None);
        }
        let start = self.position();
        let group = whole_group(&self.buf[self.at..], start);
        Ok(group.map(|(len, e, payload)| (start, e, len & FILLER != 0, payload)))
    }
}

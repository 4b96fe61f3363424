//! Packets over a socket: one `recv` fills a reusable buffer in which packets are parsed in place, one
//! `send` carries everything a command answers.
//!
//! Lifecycle of the read buffer: it grows as a packet's bytes arrive (never by what a header merely announces),
//! holds the packet until the next [`PacketReader::read`], and shrinks to its first size after a large one. The write
//! buffer is sent when it passes [`FLUSH_AT`] at the end of a packet and when a command is done.
//!
//! Nothing here knows what packets mean. After any error but [`ReadError::TooLarge`] the connection must be closed.

use crate::compress::{self, Outflow, SharedInflow};
use crate::proto::{HEADER, MAX_PAYLOAD};
use crate::stream::Stream;
use socket2::Socket;
use std::io::{self, ErrorKind, Write};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// Read buffer of a connection at rest.
const READ_BUFFER: usize = 4 << 10;
/// A buffer larger than this after a command is given back.
const KEEP_BUFFER: usize = 64 << 10;
/// Unsent response bytes that make a send due.
const FLUSH_AT: usize = 64 << 10;
/// Largest step in which the read buffer grows.
const GROW: usize = 16 << 20;

/// Why no packet was read.
#[derive(Debug)]
pub enum ReadError {
    /// The client closed the connection (or the server shut its side for reading).
    Closed,
    /// No packet started within the idle timeout.
    Idle,
    /// A packet started but did not end within the read timeout, or the connection broke.
    Broken(io::Error),
    /// The packet is longer than allowed; it has been skipped, the stream is in step.
    TooLarge,
    /// A sequence id other than the expected one.
    OutOfOrder,
}

/// The receiving half.
pub struct PacketReader {
    stream: Stream,
    buf: Vec<u8>,
    /// Bytes received and not yet consumed: `buf[start..end]`.
    start: usize,
    end: usize,
    /// Receive timeout in force on the socket.
    timeout: Option<Duration>,
    /// What unpacks, on a connection that is compressed.
    inflow: Option<SharedInflow>,
}

impl PacketReader {
    /// A reader on `socket`, which must be blocking.
    pub fn new(socket: Arc<Socket>) -> PacketReader {
        PacketReader::on(Stream::plain(socket))
    }

    /// The same on a connection that may have TLS.
    pub fn on(stream: Stream) -> PacketReader {
        PacketReader {
            stream,
            buf: vec![0; READ_BUFFER],
            start: 0,
            end: 0,
            timeout: None,
            inflow: None,
        }
    }

    /// From here on packets come over this, which knows what has been received already.
    pub fn secure(&mut self, stream: Stream) {
        (self.start, self.end) = (0, 0);
        self.stream = stream;
    }

    /// From here on packets come compressed, and this knows what has been received already.
    pub fn unpack(&mut self, inflow: SharedInflow) {
        (self.start, self.end) = (0, 0);
        self.inflow = Some(inflow);
    }

    /// What unpacks, if packets come compressed: for another reader of the same stream.
    pub fn inflow(&self) -> Option<SharedInflow> {
        self.inflow.clone()
    }

    /// Reads the next packet, joined if it came in several, and returns where its payload lies (see
    /// [`PacketReader::bytes`]). `seq` is the expected sequence id and becomes the one to answer with. `idle` is how
    /// long to wait for its first byte, `rest` for each further delivery; zero means forever.
    #[inline]
    pub fn read(
        &mut self,
        seq: &mut u8,
        max: usize,
        idle: Duration,
        rest: Duration,
    ) -> Result<Range<usize>, ReadError> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            self.set_timeout(idle)?;
            match self.receive() {
                Ok(0) => return Err(ReadError::Closed),
                Ok(_) => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Err(ReadError::Idle),
                Err(e) => return Err(ReadError::Broken(e)),
            }
        }
        if self.end - self.start >= HEADER {
            let h = &self.buf[self.start..self.end];
            let len = u32::from_le_bytes([h[0], h[1], h[2], 0]) as usize;
            if len < MAX_PAYLOAD && len <= max && h[3] == *seq && h.len() >= HEADER + len {
                *seq = seq.wrapping_add(1);
                let payload = self.start + HEADER;
                self.start = payload + len;
                return Ok(payload..payload + len);
            }
        }
        self.read_slowly(seq, max, rest)
    }

    /// The payload of the packet read last.
    #[inline]
    pub fn bytes(&self, at: Range<usize>) -> &[u8] {
        &self.buf[at]
    }

    /// Whether more has been received than the packet read last.
    #[inline]
    pub fn has_more(&self) -> bool {
        self.start != self.end
    }

    /// Whether more than that lies where the socket does not show it: with TLS, or in compressed packets.
    pub fn has_hidden(&self) -> bool {
        self.stream.has_unread() || self.inflow.as_ref().is_some_and(|f| f.lock().has_unread())
    }

    /// Takes a buffer to read into if it has none. Before this, and after [`PacketReader::give_buffer`], nothing is read.
    #[inline]
    pub fn take_buffer(&mut self, spare: &mut Vec<u8>) {
        if self.buf.is_empty() {
            self.buf = std::mem::take(spare);
            if self.buf.is_empty() {
                self.buf = vec![0; READ_BUFFER];
            }
        }
    }

    /// Gives its buffer away, unless something is in it.
    #[inline]
    pub fn give_buffer(&mut self, spare: &mut Vec<u8>) {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            *spare = std::mem::take(&mut self.buf);
        }
    }

    /// What has been received beyond the packet read last.
    pub fn unread(&self) -> &[u8] {
        &self.buf[self.start..self.end]
    }

    /// Goes on after another reader of the same socket, which received `rest` without reading it.
    pub fn resume(&mut self, rest: &[u8]) -> io::Result<()> {
        self.buf.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        let end = self.end + rest.len();
        if self.buf.len() < end {
            self.buf.resize(end, 0);
        }
        self.buf[self.end..end].copy_from_slice(rest);
        self.end = end;
        self.stream.set_read_timeout(self.timeout)
    }

    /// Gives memory back after a large packet. Call when the packet is done with.
    #[inline]
    pub fn shrink(&mut self) {
        if self.buf.len() > KEEP_BUFFER && self.end - self.start <= READ_BUFFER {
            let mut small = vec![0; READ_BUFFER];
            let n = self.end - self.start;
            small[..n].copy_from_slice(&self.buf[self.start..self.end]);
            self.buf = small;
            (self.start, self.end) = (0, n);
        }
    }

    /// The general case: a packet that is not wholly here, is long, or is wrong.
    #[cold]
    fn read_slowly(
        &mut self,
        seq: &mut u8,
        max: usize,
        rest: Duration,
    ) -> Result<Range<usize>, ReadError> {
        self.set_timeout(rest)?;
        self.buf.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        // Invariant: buf[HEADER..payload_end] is what has been joined so far; `at` is where the next header is.
        let mut at = 0;
        let mut payload_end = HEADER;
        loop {
            self.receive_to(at + HEADER)?;
            let h = &self.buf[at..at + HEADER];
            let len = u32::from_le_bytes([h[0], h[1], h[2], 0]) as usize;
            if h[3] != *seq {
                return Err(ReadError::OutOfOrder);
            }
            *seq = seq.wrapping_add(1);
            if payload_end - HEADER + len > max {
                self.start = at + HEADER;
                self.skip(len, seq)?;
                return Err(ReadError::TooLarge);
            }
            if at > 0 {
                // Close the gap that the continuation's header leaves.
                self.buf.copy_within(at + HEADER..self.end, at);
                self.end -= HEADER;
            }
            payload_end += len;
            self.receive_to(payload_end)?;
            if len < MAX_PAYLOAD {
                self.start = payload_end;
                return Ok(HEADER..payload_end);
            }
            at = payload_end;
        }
    }

    /// Skips `len` bytes and the continuations that follow if they are a full packet's.
    fn skip(&mut self, mut len: usize, seq: &mut u8) -> Result<(), ReadError> {
        loop {
            let full = len == MAX_PAYLOAD;
            while len > 0 {
                if self.start == self.end {
                    (self.start, self.end) = (0, 0);
                    self.receive_some()?;
                }
                let n = len.min(self.end - self.start);
                self.start += n;
                len -= n;
            }
            if !full {
                return Ok(());
            }
            self.buf.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            self.receive_to(HEADER)?;
            len = u32::from_le_bytes([self.buf[0], self.buf[1], self.buf[2], 0]) as usize;
            *seq = self.buf[3].wrapping_add(1);
            self.start = HEADER;
        }
    }

    /// Receives until `buf[..upto]` is filled.
    fn receive_to(&mut self, upto: usize) -> Result<(), ReadError> {
        while self.end < upto {
            if self.end == self.buf.len() {
                let step = self.buf.len().clamp(READ_BUFFER, GROW);
                self.buf.resize(upto.min(self.end + step), 0);
            }
            self.receive_some()?;
        }
        Ok(())
    }

    fn receive_some(&mut self) -> Result<(), ReadError> {
        match self.receive() {
            Ok(0) => Err(ReadError::Broken(ErrorKind::UnexpectedEof.into())),
            Ok(_) => Ok(()),
            Err(e) => Err(ReadError::Broken(e)),
        }
    }

    #[inline]
    fn receive(&mut self) -> io::Result<usize> {
        loop {
            match compress::read(&self.inflow, &self.stream, &mut self.buf[self.end..]) {
                Ok(n) => {
                    self.end += n;
                    return Ok(n);
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }

    #[inline]
    fn set_timeout(&mut self, t: Duration) -> Result<(), ReadError> {
        let t = Some(t).filter(|t| !t.is_zero());
        if t != self.timeout {
            self.stream.set_read_timeout(t).map_err(ReadError::Broken)?;
            self.timeout = t;
        }
        Ok(())
    }
}

/// Sequence id of the first packet in `packets`.
pub(crate) fn sequence_of(packets: &[u8]) -> u8 {
    packets[HEADER - 1]
}

fn payload_len(packet: &[u8]) -> usize {
    u32::from_le_bytes([packet[0], packet[1], packet[2], 0]) as usize
}

/// Appends a packet whose payload `fill` writes; its length. The header is right up to [`MAX_PAYLOAD`].
#[inline]
pub(crate) fn encode(out: &mut Vec<u8>, sequence: u8, fill: impl FnOnce(&mut Vec<u8>)) -> usize {
    let header = out.len();
    out.extend_from_slice(&[0, 0, 0, sequence]);
    fill(out);
    let len = out.len() - header - HEADER;
    out[header..header + 3].copy_from_slice(&(len as u32).to_le_bytes()[..3]);
    len
}

/// The sending half.
pub struct PacketWriter {
    stream: Stream,
    out: Vec<u8>,
    /// Where the last packet begins.
    last: usize,
    seq: u8,
    broken: bool,
    /// Bytes sent since the last [`PacketWriter::take_sent`].
    sent: u64,
    /// Send timeout in force on the socket.
    timeout: Option<Duration>,
    /// What packs, on a connection that is compressed.
    outflow: Option<Box<Outflow>>,
}

impl PacketWriter {
    /// A writer on `socket`, which must be blocking.
    pub fn new(socket: Arc<Socket>) -> PacketWriter {
        PacketWriter {
            stream: Stream::plain(socket),
            out: Vec::with_capacity(READ_BUFFER),
            last: 0,
            seq: 0,
            broken: false,
            sent: 0,
            timeout: None,
            outflow: None,
        }
    }

    /// From here on packets go over this. Nothing is unsent.
    pub fn secure(&mut self, stream: Stream) {
        self.stream = stream;
    }

    /// From here on packets go compressed.
    pub fn pack(&mut self, outflow: Outflow) {
        self.outflow = Some(Box::new(outflow));
    }

    /// Sequence id of the next packet.
    pub fn set_sequence(&mut self, seq: u8) {
        self.seq = seq;
    }

    /// Sequence id of the next packet.
    pub fn sequence(&self) -> u8 {
        self.seq
    }

    /// How long a send may take before the connection counts as broken; zero means forever.
    pub fn set_timeout(&mut self, t: Duration) {
        let t = Some(t).filter(|t| !t.is_zero());
        if t != self.timeout {
            self.broken |= self.stream.set_write_timeout(t).is_err();
            self.timeout = t;
        }
    }

    /// Whether a send has failed: nothing more reaches the client.
    pub fn broken(&self) -> bool {
        self.broken
    }

    /// Appends a packet whose payload `fill` writes.
    #[inline]
    pub fn packet(&mut self, fill: impl FnOnce(&mut Vec<u8>)) {
        let header = self.out.len();
        self.last = header;
        let len = encode(&mut self.out, self.seq, fill);
        self.seq = self.seq.wrapping_add(1);
        if len >= MAX_PAYLOAD {
            self.split(header);
        }
    }

    /// Gives the payload after the header at `header`, too long for one packet, the headers it needs.
    #[cold]
    fn split(&mut self, header: usize) {
        let payload = self.out.split_off(header + HEADER);
        self.out.truncate(header);
        self.seq = self.seq.wrapping_sub(1);
        // A payload that is a multiple of the maximum ends with an empty packet.
        let mut rest = &payload[..];
        loop {
            let n = rest.len().min(MAX_PAYLOAD);
            self.out.extend_from_slice(&(n as u32).to_le_bytes()[..3]);
            self.out.push(self.seq);
            self.seq = self.seq.wrapping_add(1);
            self.out.extend_from_slice(&rest[..n]);
            rest = &rest[n..];
            if n < MAX_PAYLOAD {
                return;
            }
        }
    }

    /// Appends packets made earlier, `count` of them, whose sequence ids start where this writer is.
    #[inline]
    pub fn ready_made(&mut self, packets: &[u8], count: u8) {
        self.out.extend_from_slice(packets);
        self.seq = self.seq.wrapping_add(count);
    }

    /// Takes a buffer to write into if it has none.
    #[inline]
    pub fn take_buffer(&mut self, spare: &mut Vec<u8>) {
        if self.out.capacity() == 0 {
            self.out = std::mem::take(spare);
        }
    }

    /// Gives its buffer away, unless something is in it.
    #[inline]
    pub fn give_buffer(&mut self, spare: &mut Vec<u8>) {
        if self.out.is_empty() {
            *spare = std::mem::take(&mut self.out);
        }
    }

    /// What was not sent is somebody else's to send, and counts as sent.
    pub fn hand_over(&mut self) {
        self.sent += self.out.len() as u64;
        self.out.clear();
    }

    /// Whether exactly one packet is unsent, and a short one, which goes as it is.
    pub fn one_short_packet(&self) -> bool {
        /// A socket buffer has room for that, unless its client does not read.
        const SHORT: usize = 4 << 10;
        let len = self.out.len();
        self.outflow.is_none()
            && self.stream.is_plain()
            && (HEADER..=SHORT).contains(&len)
            && payload_len(&self.out) == len - HEADER
    }

    /// Takes back the last packet, which was not sent, and with it its sequence id.
    pub fn take_back(&mut self) {
        if self.last < self.out.len() {
            self.seq = sequence_of(&self.out[self.last..]);
            self.out.truncate(self.last);
        }
    }

    /// Bytes appended and not sent. With [`PacketWriter::unsent`], lets a caller keep what it has just appended.
    #[inline]
    pub fn position(&self) -> usize {
        self.out.len()
    }

    /// What has been appended and not sent.
    pub fn unsent(&self) -> &[u8] {
        &self.out
    }

    /// How many bytes were sent since this was asked last.
    #[inline]
    pub fn take_sent(&mut self) -> u64 {
        std::mem::take(&mut self.sent)
    }

    /// Sends if enough has gathered.
    #[inline]
    pub fn flush_if_due(&mut self) -> io::Result<()> {
        if self.out.len() >= FLUSH_AT {
            self.flush()
        } else {
            Ok(())
        }
    }

    /// Sends everything.
    #[inline]
    pub fn flush(&mut self) -> io::Result<()> {
        if self.broken {
            self.out.clear();
            return Err(ErrorKind::BrokenPipe.into());
        }
        let mut bytes = self.out.len() as u64;
        let sent = match &mut self.outflow {
            _ if self.out.is_empty() => Ok(()),
            None => (&self.stream).write_all(&self.out),
            Some(flow) => flow.send(&self.stream, &self.out).map(|n| bytes = n),
        };
        self.sent += bytes;
        self.out.clear();
        if self.out.capacity() > 2 * KEEP_BUFFER {
            self.out.shrink_to(FLUSH_AT);
        }
        self.broken = sent.is_err();
        sent
    }
}

#[cfg(test)]
mod tests;

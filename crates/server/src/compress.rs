//! Compressed packets (`CLIENT_COMPRESS`): what lies between packets and the socket once a client that asked for it is logged in.
//!
//! A compressed packet has a header of seven bytes (length as it is, sequence id, length unpacked; all lowest byte first) and a zlib stream, or as it
//! is what would not get shorter, which an unpacked length of zero tells. Packets lie in the stream of unpacked bytes wherever they fall.
//!
//! Memory is bounded by buffers of fixed size: a client's packet is unpacked as it comes, however long it says it is, and never past that. Both directions count
//! one sequence, which a client's command begins anew.

use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use parking_lot::Mutex;

use crate::proto::MAX_PAYLOAD;
use crate::stream::Stream;

const HEADER: usize = 7;
/// Bytes taken from the socket at a time.
const INPUT: usize = 16 << 10;
/// Shorter payloads are sent as they are (MySQL's `MIN_COMPRESS_LENGTH`).
const WORTH_IT: usize = 50;

/// The receiving half.
pub struct Inflow {
    input: Vec<u8>,
    start: usize,
    end: usize,
    /// Bytes of the packet at hand that are still packed.
    packed: usize,
    /// Bytes that it is yet to give.
    plain: usize,
    /// Whether it is as it is.
    stored: bool,
    /// Whether its end is still to come.
    open: bool,
    stream: Decompress,
    sequence: Arc<AtomicU8>,
}

/// For the readers of a connection, of which one reads at a time.
pub type SharedInflow = Arc<Mutex<Inflow>>;

/// The sending half.
pub struct Outflow {
    out: Vec<u8>,
    stream: Compress,
    sequence: Arc<AtomicU8>,
}

/// Both halves for a connection. `received`: what has come after the login already.
pub fn pair(received: &[u8]) -> (SharedInflow, Outflow) {
    let sequence = Arc::new(AtomicU8::new(0));
    let mut input = received.to_vec();
    input.resize(INPUT.max(received.len()), 0);
    let inflow = Inflow {
        input,
        start: 0,
        end: received.len(),
        packed: 0,
        plain: 0,
        stored: false,
        open: false,
        stream: Decompress::new(true),
        sequence: sequence.clone(),
    };
    let outflow = Outflow {
        out: Vec::new(),
        stream: Compress::new(Compression::default(), true),
        sequence,
    };
    (Arc::new(Mutex::new(inflow)), outflow)
}

fn damaged() -> io::Error {
    ErrorKind::InvalidData.into()
}

impl Inflow {
    /// As [`Read::read`] of the unpacked bytes. What has come of a packet is kept if the socket's timeout ends the wait for the rest.
    pub fn read(&mut self, mut socket: impl Read, out: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.open {
                if self.end - self.start >= HEADER {
                    self.begin();
                    continue;
                }
            } else {
                // The stream may hold back what it has been given before.
                match self.unpack(out)? {
                    (_, given @ 1..) => return Ok(given),
                    (1.., 0) => continue,
                    (0, 0) if !self.open => continue,
                    (0, 0) if self.packed == 0 || self.start < self.end => return Err(damaged()),
                    (0, 0) => {}
                }
            }
            self.input.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            match socket.read(&mut self.input[self.end..])? {
                0 => return Ok(0),
                n => self.end += n,
            }
        }
    }

    /// Whether bytes have been received that were not all given: some of them may be to be had without receiving more.
    pub fn has_unread(&self) -> bool {
        self.open || self.start < self.end
    }

    /// Takes a header.
    fn begin(&mut self) {
        let h = &self.input[self.start..self.start + HEADER];
        self.packed = u32::from_le_bytes([h[0], h[1], h[2], 0]) as usize;
        self.plain = u32::from_le_bytes([h[4], h[5], h[6], 0]) as usize;
        self.sequence.store(h[3].wrapping_add(1), Ordering::Relaxed);
        self.stored = self.plain == 0;
        if self.stored {
            self.plain = self.packed;
        }
        self.open = self.packed > 0 || !self.stored;
        self.stream.reset(true);
        self.start += HEADER;
    }

    /// Unpacks what is there: how many bytes it took, and gave.
    fn unpack(&mut self, out: &mut [u8]) -> io::Result<(usize, usize)> {
        let here = &self.input[self.start..self.end.min(self.start + self.packed)];
        let (taken, given) = if self.stored {
            let n = here.len().min(out.len());
            out[..n].copy_from_slice(&here[..n]);
            self.open = n < self.packed;
            (n, n)
        } else {
            // Past the last byte the stream's checksum follows: room for one more tells whether it is the last.
            let mut beyond = [0];
            let wanted = self.plain.min(out.len());
            let room = if self.plain == 0 {
                &mut beyond[..]
            } else {
                &mut out[..wanted]
            };
            let (before, made) = (self.stream.total_in(), self.stream.total_out());
            let status = self.stream.decompress(here, room, FlushDecompress::None);
            let status = status.map_err(|_| damaged())?;
            let taken = (self.stream.total_in() - before) as usize;
            let given = (self.stream.total_out() - made) as usize;
            self.open = status != Status::StreamEnd;
            let over = !self.open && (taken < self.packed || given < self.plain);
            if given > self.plain || over {
                return Err(damaged());
            }
            (taken, given)
        };
        self.start += taken;
        self.packed -= taken;
        self.plain -= given;
        Ok((taken, given))
    }
}

impl Outflow {
    /// Sends bytes; how many went over the socket for it.
    pub fn send(&mut self, mut socket: impl Write, bytes: &[u8]) -> io::Result<u64> {
        let mut sent = 0;
        for part in bytes.chunks(MAX_PAYLOAD) {
            self.out.clear();
            self.out.resize(HEADER, 0);
            let plain = if self.pack(part)? { part.len() } else { 0 };
            if plain == 0 {
                self.out.truncate(HEADER);
                self.out.extend_from_slice(part);
            }
            let packed = self.out.len() - HEADER;
            self.out[..3].copy_from_slice(&(packed as u32).to_le_bytes()[..3]);
            self.out[3] = self.sequence.fetch_add(1, Ordering::Relaxed);
            self.out[4..7].copy_from_slice(&(plain as u32).to_le_bytes()[..3]);
            socket.write_all(&self.out)?;
            sent += self.out.len() as u64;
        }
        self.out.shrink_to(INPUT);
        Ok(sent)
    }

    /// Appends a part packed; `false`: it would be no shorter.
    fn pack(&mut self, part: &[u8]) -> io::Result<bool> {
        if part.len() < WORTH_IT {
            return Ok(false);
        }
        self.stream.reset();
        self.out.reserve(part.len());
        let packed = self
            .stream
            .compress_vec(part, &mut self.out, FlushCompress::Finish);
        // Without room for the end it has not become shorter.
        Ok(packed.map_err(|_| damaged())? == Status::StreamEnd
            && self.out.len() - HEADER < part.len())
    }
}

/// As the reader and the writer hold them; empty for a connection that is not compressed.
#[inline]
pub fn read(flow: &Option<SharedInflow>, mut stream: &Stream, out: &mut [u8]) -> io::Result<usize> {
    match flow {
        None => stream.read(out),
        Some(flow) => flow.lock().read(stream, out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A socket that gives a few bytes at a time.
    struct Drip<'a>(&'a [u8], usize);

    impl Read for Drip<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let n = self.0.len().min(self.1).min(out.len());
            out[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    fn unpacked(bytes: &[u8], step: usize, room: usize) -> io::Result<Vec<u8>> {
        let (inflow, _) = pair(&[]);
        let (mut all, mut out) = (Vec::new(), vec![0; room]);
        let mut socket = Drip(bytes, step);
        loop {
            match inflow.lock().read(&mut socket, &mut out)? {
                0 => return Ok(all),
                n => all.extend_from_slice(&out[..n]),
            }
        }
    }

    fn noise(len: usize) -> Vec<u8> {
        let mut state = 1u64;
        let next = |_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 56) as u8
        };
        (0..len).map(next).collect()
    }

    #[test]
    fn whatever_is_sent_is_received() {
        for bytes in [
            b"short".to_vec(),
            vec![7; 100_000],
            noise(70_000),
            noise(49),
            vec![1; 50],
        ] {
            let (_, mut outflow) = pair(&[]);
            let mut wire = Vec::new();
            assert!(outflow.send(&mut wire, &bytes).unwrap() <= bytes.len() as u64 + 7);
            outflow.send(&mut wire, b"and more").unwrap();
            assert_eq!(wire[3], 0);
            let whole = [&bytes[..], b"and more"].concat();
            for (step, room) in [(1, 3), (7, 1), (1000, 4096), (usize::MAX, 1 << 20)] {
                assert_eq!(unpacked(&wire, step, room).unwrap(), whole);
            }
        }
    }

    #[test]
    fn a_payload_longer_than_a_packet_takes_several() {
        let bytes = vec![3; MAX_PAYLOAD + 10];
        let (_, mut outflow) = pair(&[]);
        let mut wire = Vec::new();
        outflow.send(&mut wire, &bytes).unwrap();
        assert_eq!(unpacked(&wire, usize::MAX, 1 << 16).unwrap(), bytes);
    }

    #[test]
    fn what_has_come_before_counts() {
        let (_, mut outflow) = pair(&[]);
        let mut wire = Vec::new();
        outflow.send(&mut wire, &[9; 200]).unwrap();
        let (inflow, _) = pair(&wire[..10]);
        let mut out = [0; 300];
        assert_eq!(inflow.lock().read(&wire[10..], &mut out).unwrap(), 200);
    }

    #[test]
    fn lies_and_damage_are_errors() {
        let (_, mut outflow) = pair(&[]);
        let mut wire = Vec::new();
        outflow.send(&mut wire, &[9; 2000]).unwrap();
        for (at, change) in [(4, 1), (4, 255), (0, 255), (7, 1), (wire.len() - 1, 1)] {
            let mut bad = wire.clone();
            bad[at] = bad[at].wrapping_add(change);
            assert!(unpacked(&bad, 100, 512).is_err(), "{at} {change}");
        }
    }
}

//! LOAD DATA LOCAL: a file that the client sends in the middle of a command.
//!
//! The server asks for it by a packet with 0xFB and its name; the client answers with packets of its bytes, the last of them empty, in the command's
//! sequence. They are read to that last one whatever becomes of the statement, so that the connection is in step when its answer goes out. If they don't
//! come as they should, the connection is shut for reading, and ends when the answer is out.

use crate::compress::SharedInflow;
use crate::proto::capability;
use crate::stream::Stream;
use crate::wire::{PacketReader, PacketWriter, ReadError};
use millpond_session::types::Encoding;
use std::io::{self, Read};
use std::net::Shutdown;
use std::ops::Range;
use std::time::Duration;

/// What comes in while a command runs.
pub struct Incoming {
    stream: Stream,
    inflow: Option<SharedInflow>,
    /// The client's capabilities.
    pub capabilities: u32,
    /// Longest packet, bytes.
    pub max_packet: usize,
    /// How long to wait for more; zero means forever.
    pub read_timeout: Duration,
    /// Whether more than the command has been received already: then the client does not wait for what it is asked.
    pub ahead: bool,
    /// Whether the command has read, and what it received beyond what it read.
    used: Option<Vec<u8>>,
}

impl Incoming {
    /// Of a connection that has run nothing yet.
    pub fn new(stream: Stream, inflow: Option<SharedInflow>, capabilities: u32) -> Incoming {
        Incoming {
            stream,
            inflow,
            capabilities,
            max_packet: 0,
            read_timeout: Duration::ZERO,
            ahead: false,
            used: None,
        }
    }

    /// What was received beyond what the command read, if it did read.
    #[inline]
    pub fn take_used(&mut self) -> Option<Vec<u8>> {
        self.used.take()
    }

    /// Asks for a file; `None` from a client that does not send any.
    pub fn ask<'a>(
        &'a mut self,
        out: &'a mut PacketWriter,
        name: &str,
        encoding: Encoding,
    ) -> Option<ClientFile<'a>> {
        const REQUEST: u8 = 0xfb;
        if self.capabilities & capability::LOCAL_FILES == 0 || self.ahead {
            return None;
        }
        out.packet(|p| {
            p.push(REQUEST);
            encoding.encode(name.as_bytes(), p);
        });
        // If it fails, so does the first read.
        let _ = out.flush();
        let mut reader = PacketReader::on(self.stream.clone());
        if let Some(inflow) = &self.inflow {
            reader.unpack(inflow.clone());
        }
        Some(ClientFile {
            reader,
            incoming: self,
            out,
            packet: 0..0,
            over: false,
            broken: false,
        })
    }
}

/// A file that is coming in.
pub struct ClientFile<'a> {
    incoming: &'a mut Incoming,
    out: &'a mut PacketWriter,
    reader: PacketReader,
    /// What of the packet at hand has not been read.
    packet: Range<usize>,
    over: bool,
    /// It will not be told any more where a packet begins.
    broken: bool,
}

impl ClientFile<'_> {
    /// Receives the next packet.
    fn receive(&mut self) -> io::Result<()> {
        let Incoming {
            max_packet,
            read_timeout: wait,
            ..
        } = *self.incoming;
        let mut seq = self.out.sequence();
        let read = self.reader.read(&mut seq, max_packet, wait, wait);
        self.out.set_sequence(seq);
        match read {
            Ok(packet) => {
                self.over = packet.is_empty();
                self.packet = packet;
                Ok(())
            }
            Err(ReadError::TooLarge) => Err(io::Error::other("a packet is too large")),
            Err(e) => {
                (self.over, self.broken) = (true, true);
                // Nothing that it sends can be made sense of any more.
                let _ = self.incoming.stream.socket().shutdown(Shutdown::Read);
                Err(match e {
                    ReadError::Broken(e) => e,
                    ReadError::OutOfOrder => io::Error::other("packets out of order"),
                    ReadError::Idle => io::ErrorKind::TimedOut.into(),
                    ReadError::Closed | ReadError::TooLarge => io::ErrorKind::UnexpectedEof.into(),
                })
            }
        }
    }
}

impl Read for ClientFile<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        while self.packet.is_empty() && !self.over {
            self.receive()?;
        }
        let n = self.packet.len().min(buf.len());
        let from = self.packet.start..self.packet.start + n;
        buf[..n].copy_from_slice(self.reader.bytes(from));
        self.packet.start += n;
        Ok(n)
    }
}

impl Drop for ClientFile<'_> {
    fn drop(&mut self) {
        while !self.over {
            // An error that leaves the stream in step is the statement's, if that still listens.
            let _ = self.receive();
        }
        let rest = match self.broken {
            true => Vec::new(),
            false => self.reader.unread().to_vec(),
        };
        self.incoming.used = Some(rest);
    }
}

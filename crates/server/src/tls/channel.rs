//! One connection's TLS: plain bytes on one side, the socket on the other.
//!
//! A connection's thread is the only one that reads and writes; it reads in two places (its packets, and files that a command asks for), which is what
//! the lock is for. What one flush of packets holds goes out by one send, as without TLS, if it is no longer than a few records.

use std::io::{self, BufRead, ErrorKind, Read, Write};
use std::sync::Arc;

use millpond_session::TlsFacts;
use parking_lot::Mutex;
use rustls::{ServerConfig, ServerConnection};
use socket2::Socket;

use super::names;

/// For the readers and the writer of a connection.
pub type SharedChannel = Arc<Mutex<Channel>>;

/// A connection's TLS.
pub struct Channel {
    tls: ServerConnection,
    /// What came before the handshake was begun, ahead of what the socket gives.
    ahead: Vec<u8>,
}

/// The socket, behind what has been received of it already.
struct Incoming<'a> {
    ahead: &'a mut Vec<u8>,
    socket: &'a Socket,
}

impl Read for Incoming<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.ahead.is_empty() {
            return (&*self.socket).read(out);
        }
        let n = self.ahead.len().min(out.len());
        out[..n].copy_from_slice(&self.ahead[..n]);
        self.ahead.drain(..n);
        Ok(n)
    }
}

fn retried<T>(mut f: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match f() {
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

impl Channel {
    /// Shakes hands on a blocking socket, whose timeout is for each delivery. `ahead`: what has been received of it beyond the request for TLS.
    pub fn accept(socket: &Socket, config: Arc<ServerConfig>, ahead: &[u8]) -> io::Result<Channel> {
        let tls = ServerConnection::new(config).map_err(io::Error::other)?;
        let mut channel = Channel {
            tls,
            ahead: ahead.to_vec(),
        };
        while channel.tls.is_handshaking() {
            match channel.tls.wants_write() {
                true => channel.send(socket)?,
                false => {
                    if channel.receive(socket)? == 0 {
                        return Err(ErrorKind::UnexpectedEof.into());
                    }
                }
            }
        }
        // TLS 1.2 ends with the server's word; 1.3 has tickets to come back with.
        channel.send(socket)?;
        Ok(channel)
    }

    /// What is known of it.
    pub fn facts(&self) -> TlsFacts {
        let certificates = self.tls.peer_certificates();
        let suite = self.tls.negotiated_cipher_suite();
        let client = certificates.and_then(|all| names::of_client(all.first()?));
        TlsFacts {
            version: self.tls.protocol_version().map_or("", names::version),
            cipher: suite.map_or("", |suite| names::cipher(suite.suite())),
            client,
        }
    }

    /// Sends what is to be sent.
    fn send(&mut self, socket: &Socket) -> io::Result<()> {
        while self.tls.wants_write() {
            if retried(|| self.tls.write_tls(&mut &*socket))? == 0 {
                return Err(ErrorKind::WriteZero.into());
            }
        }
        Ok(())
    }

    /// Receives once; 0: the other end has been closed.
    fn receive(&mut self, socket: &Socket) -> io::Result<usize> {
        let Channel { tls, ahead } = self;
        let mut incoming = Incoming { ahead, socket };
        let n = retried(|| tls.read_tls(&mut incoming))?;
        if let Err(e) = self.tls.process_new_packets() {
            // The client is told what was wrong, if it still listens.
            let _ = self.send(socket);
            return Err(io::Error::new(ErrorKind::InvalidData, e));
        }
        Ok(n)
    }

    /// Whether a read would not have to ask the socket.
    pub fn has_unread(&mut self) -> bool {
        let waits = |e: io::Error| e.kind() == ErrorKind::WouldBlock;
        !self.ahead.is_empty() || !self.tls.reader().fill_buf().is_err_and(waits)
    }

    /// As [`Read::read`] of the plain bytes; 0: there will be none any more.
    pub fn read(&mut self, socket: &Socket, out: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.tls.reader().read(out) {
                Err(e) if e.kind() == ErrorKind::WouldBlock => {}
                // Closed without a word: the packets say whether it was in the middle of something.
                Err(e) if e.kind() == ErrorKind::UnexpectedEof => return Ok(0),
                read => return read,
            }
            if self.receive(socket)? == 0 {
                return Ok(0);
            }
            // Answers to what the protocol itself asks.
            if self.tls.wants_write() {
                self.send(socket)?;
            }
        }
    }

    /// As [`Write::write_all`] of plain bytes.
    pub fn write_all(&mut self, socket: &Socket, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let n = self.tls.writer().write(bytes)?;
            bytes = &bytes[n..];
            self.send(socket)?;
        }
        Ok(())
    }

    /// Says that nothing comes any more, if that can be said without waiting.
    pub fn close(&mut self, socket: &Socket) {
        self.tls.send_close_notify();
        let mut last = Vec::new();
        while self.tls.wants_write() {
            // Writing to a vector cannot fail.
            let _ = self.tls.write_tls(&mut last);
        }
        let _ = socket.send_with_flags(&last, libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL);
    }
}

//! What a connection's bytes go over: its socket, or TLS on it.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::Duration;

use socket2::Socket;

use crate::tls::SharedChannel;

/// A connection's socket, and its TLS if it has any.
#[derive(Clone)]
pub struct Stream {
    socket: Arc<Socket>,
    tls: Option<SharedChannel>,
}

impl Stream {
    /// Without TLS.
    pub fn plain(socket: Arc<Socket>) -> Stream {
        Stream { socket, tls: None }
    }
    /// With it.
    pub fn secure(socket: Arc<Socket>, tls: SharedChannel) -> Stream {
        Stream {
            socket,
            tls: Some(tls),
        }
    }
    /// The socket.
    pub fn socket(&self) -> &Arc<Socket> {
        &self.socket
    }
    /// Whether what is written goes to the socket as it is.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.tls.is_none()
    }
    /// Whether a read would give something that the socket does not show.
    pub fn has_unread(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.lock().has_unread())
    }
    /// How long a read may wait.
    pub fn set_read_timeout(&self, t: Option<Duration>) -> io::Result<()> {
        self.socket.set_read_timeout(t)
    }
    /// How long a write may wait.
    pub fn set_write_timeout(&self, t: Option<Duration>) -> io::Result<()> {
        self.socket.set_write_timeout(t)
    }
    /// Says goodbye, where the protocol has a word for it.
    pub fn close(&self) {
        if let Some(tls) = &self.tls {
            tls.lock().close(&self.socket);
        }
    }
}

impl Read for &Stream {
    #[inline]
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match &self.tls {
            None => (&*self.socket).read(out),
            Some(tls) => tls.lock().read(&self.socket, out),
        }
    }
}

impl Write for &Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes).map(|()| bytes.len())
    }
    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &self.tls {
            None => (&*self.socket).write_all(bytes),
            Some(tls) => tls.lock().write_all(&self.socket, bytes),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

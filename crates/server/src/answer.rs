//! Answers that wait for the log.
//!
//! A statement whose commit is not durable yet leaves its answer, an OK, here; whoever makes the log durable sends it,
//! while the connection's thread is back at its socket. So a commit costs that thread no sleep of its own.
//!
//! 1. *Empty*.
//! 2. *Withheld* ([`Answer::withhold`]): the packet is kept, and the log told whom to call.
//! 3. *Sent*: the log called, with success or with an error that takes the OK's place; empty again. A client that takes
//!    nothing is given a thread that waits for it, since the caller must not.
//!
//! On a compressed connection nothing is withheld: its packets are packed by its own thread, which waits for the log itself.
//!
//! The connection's thread comes to [`Answer::wait_sent`] before it writes to the socket again, so answers keep their order
//! even if a client sends commands ahead.
//!
//! **Locks.** `held` is a leaf, and is kept while the answer is sent. **Fails**: a socket that takes no more is shut down, and
//! the connection's thread finds that out at its next read.

use crate::backend::Backend;
use crate::proto::response;
use crate::wire::{self, PacketWriter};
use millpond_session::types::Encoding;
use millpond_session::{OnDurable, StoreError, Unsettled, commit_error};
use parking_lot::{Condvar, Mutex};
use socket2::Socket;
use std::io::{self, ErrorKind, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A connection's place for one answer.
pub(crate) struct Answer<B> {
    backend: B,
    socket: Arc<Socket>,
    withheld: AtomicBool,
    held: Mutex<Held>,
    sent: Condvar,
}

#[derive(Default)]
struct Held {
    bytes: Vec<u8>,
    unsettled: Option<Unsettled>,
}

impl<B: Backend> Answer<B> {
    pub(crate) fn new(backend: B, socket: Arc<Socket>) -> Arc<Answer<B>> {
        Arc::new(Answer {
            backend,
            socket,
            withheld: AtomicBool::new(false),
            held: Mutex::default(),
            sent: Condvar::new(),
        })
    }

    /// Takes what `writer` holds, one packet, to be sent when the statement is settled.
    pub(crate) fn withhold(self: &Arc<Self>, writer: &mut PacketWriter, unsettled: Unsettled) {
        {
            let mut held = self.held.lock();
            debug_assert!(held.unsettled.is_none(), "one answer at a time");
            held.bytes.clear();
            held.bytes.extend_from_slice(writer.unsent());
            held.unsettled = Some(unsettled.clone());
            self.withheld.store(true, Ordering::Relaxed);
        }
        writer.hand_over();
        self.backend.when_settled(&unsettled, self.clone());
    }

    /// Whether an answer is withheld.
    #[inline]
    pub(crate) fn is_withheld(&self) -> bool {
        self.withheld.load(Ordering::Acquire)
    }

    /// Returns when no answer is withheld.
    #[inline]
    pub(crate) fn wait_sent(&self) {
        if self.is_withheld() {
            let mut held = self.held.lock();
            while held.unsettled.is_some() {
                self.sent.wait(&mut held);
            }
        }
    }

    fn empty(&self, held: &mut Held) {
        held.unsettled = None;
        self.withheld.store(false, Ordering::Release);
        self.sent.notify_all();
    }
}

impl<B: Backend> OnDurable for Answer<B> {
    fn done(self: Arc<Self>, outcome: Result<(), StoreError>) {
        let mut held = self.held.lock();
        let Some(unsettled) = held.unsettled.clone() else {
            return;
        };
        if let Err(e) = outcome {
            let sequence = wire::sequence_of(&held.bytes);
            held.bytes.clear();
            wire::encode(&mut held.bytes, sequence, |p| {
                response::err(p, &commit_error(e), Encoding::Utf8);
            });
        }
        self.backend.settled(unsettled);
        match send_now(&self.socket, &held.bytes) {
            Ok(n) if n == held.bytes.len() => self.empty(&mut held),
            Ok(n) => {
                let rest = held.bytes.split_off(n);
                drop(held);
                send_later(&self, rest);
            }
            Err(_) => {
                let _ = self.socket.shutdown(Shutdown::Both);
                self.empty(&mut held);
            }
        }
    }
}

/// Sends as much as the socket takes without waiting.
fn send_now(socket: &Socket, bytes: &[u8]) -> io::Result<usize> {
    let mut sent = 0;
    while sent < bytes.len() {
        match socket.send_with_flags(&bytes[sent..], libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) {
            Ok(n) => sent += n,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) if e.kind() == ErrorKind::WouldBlock => break,
            Err(e) => return Err(e),
        }
    }
    Ok(sent)
}

/// The rest is sent by a thread that may wait, as long as the connection allows.
#[cold]
fn send_later<B: Backend>(answer: &Arc<Answer<B>>, rest: Vec<u8>) {
    let for_thread = answer.clone();
    let thread = std::thread::Builder::new()
        .name("late-answer".into())
        .spawn(move || {
            if (&*for_thread.socket).write_all(&rest).is_err() {
                let _ = for_thread.socket.shutdown(Shutdown::Both);
            }
            for_thread.empty(&mut for_thread.held.lock());
        });
    if thread.is_err() {
        let _ = answer.socket.shutdown(Shutdown::Both);
        answer.empty(&mut answer.held.lock());
    }
}

#[cfg(test)]
mod tests;

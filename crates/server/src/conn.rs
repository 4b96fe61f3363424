//! One connection, from greeting to goodbye, on whatever thread serves it.
//!
//! Lifecycle of a [`Client`]: it is greeted ([`Client::greet`]), logs in (`login`), then commands are read, run and answered (or the answer is left to the log, see
//! `answer`), until the client quits, falls silent for longer than `wait_timeout`, breaks the protocol, is killed, or the server stops. The session is
//! dropped at the end, which rolls back what was open.
//!
//! **Threads.** One thread at a time has a client, and does all of that in [`Client::run`], which returns when the connection has ended or when there is nothing to do
//! ([`Stay`] says how long it waits for more). A client may then be run by another thread; what it keeps between commands is in it alone.
//!
//! Failure: a panic in a command is caught here, logged, told to the client as error 1815, and ends the connection, whose
//! session (in whatever state) is dropped; other connections don't notice.

mod attributes;
mod client;
mod commands;
mod login;
mod proof;

use crate::answer::Answer;
use crate::backend::{Backend, BackendSession};
use crate::client_file::Incoming;
use crate::proto::{HEADER, command, response};
use crate::service::Service;
use crate::sink::Shape;
use crate::statements::Statements;
use crate::wire::{PacketReader, PacketWriter, ReadError};
use millpond_session::types::{Encoding, Encodings};
use millpond_session::{Completion, SqlError, TlsFacts};
use millpond_session::{Counter, Unsettled};
use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

pub(crate) use client::{Client, Outcome, Spare, Stay};
pub(crate) use login::timeout as connect_timeout;

/// Where a client comes from.
#[derive(Clone, Debug)]
pub struct Peer {
    /// As the process list shows it: `localhost` or `127.0.0.1:40312`.
    pub host: String,
    /// As error messages show it: without the port.
    pub name: String,
    /// Whether it is on this machine.
    pub local: bool,
    /// Names and addresses by which accounts may know it.
    pub names: Vec<String>,
    /// Whether it is at the other end of a Unix socket: then as which user of the operating system, if that has a name.
    pub socket: Option<Option<String>>,
}

/// Numeric session variables that every command needs; read again when a variable has been set.
struct Limits {
    /// The session's settings that they are of.
    generation: u64,
    max_packet: usize,
    idle: Duration,
    read: Duration,
}

/// What a connection has after login.
struct Connection<B: Backend> {
    service: Arc<Service<B>>,
    peer: Arc<Peer>,
    tls: Option<Arc<TlsFacts>>,
    reader: PacketReader,
    writer: PacketWriter,
    incoming: Incoming,
    session: B::Session,
    /// What the client's bytes mean.
    encodings: Arc<Encodings>,
    capabilities: u32,
    statements: Statements,
    shape: Shape,
    limits: Limits,
    answer: Arc<Answer<B>>,
    /// Whether its session has values that came by name with the running statement.
    has_attributes: bool,
}

/// Sends an error before closing; that it may not arrive is of no consequence.
fn last_words(writer: &mut PacketWriter, e: &SqlError) {
    writer.packet(|p| response::err(p, e, Encoding::Utf8));
    let _ = writer.flush();
}

/// The error to close a connection with, if its client is to be told anything.
fn parting(e: &ReadError) -> Option<SqlError> {
    match e {
        ReadError::Closed => None,
        ReadError::Broken(e) if e.kind() != std::io::ErrorKind::WouldBlock => None,
        ReadError::Broken(_) => Some(SqlError::new(
            1159,
            "Got timeout reading communication packets",
        )),
        ReadError::Idle => Some(SqlError::new(
            4031,
            "The client was disconnected by the server because of inactivity. See wait_timeout and \
             interactive_timeout for configuring this behavior.",
        )),
        ReadError::TooLarge => Some(too_large()),
        ReadError::OutOfOrder => Some(SqlError::new(1156, "Got packets out of order")),
    }
}

fn too_large() -> SqlError {
    SqlError::new(1153, "Got a packet bigger than 'max_allowed_packet' bytes")
}

impl<B: Backend> Connection<B> {
    /// Reads and runs commands until the connection is to be closed or left.
    fn serve(&mut self, stay: &Stay<'_>) -> Outcome {
        loop {
            let mut seq = 0;
            let withheld = self.answer.is_withheld();
            let read = self.reader.read(
                &mut seq,
                self.limits.max_packet,
                stay.linger.unwrap_or(self.limits.idle),
                self.limits.read,
            );
            if stay.linger.is_some() && matches!(read, Err(ReadError::Idle)) {
                return Outcome::Idle;
            }
            self.answer.wait_sent();
            if withheld && matches!(read, Err(ReadError::Idle)) {
                // It was the client that waited.
                continue;
            }
            self.writer.set_sequence(seq);
            if self.session.killed() || self.service.is_stopping() {
                return Outcome::Ended;
            }
            match read {
                Ok(at) => {
                    self.session
                        .add_to_counter(Counter::BytesReceived, (HEADER + at.len()) as u64);
                    let ended = self.command(at).is_break();
                    if self.session.settings_generation() != self.limits.generation {
                        self.read_limits();
                    }
                    if let Some(unsettled) = self.session.take_unsettled() {
                        self.answer_when_settled(unsettled);
                    }
                    if ended {
                        let _ = self.writer.flush();
                        return Outcome::Ended;
                    }
                }
                Err(ReadError::TooLarge) => self.err(&too_large()),
                Err(e) => {
                    // A client that leaves without a word is an aborted one, too.
                    self.session.add_to_counter(Counter::AbortedClients, 1);
                    if let Some(e) = parting(&e) {
                        tracing::debug!(host = %self.peer.host, error = %e, "closing a connection");
                        last_words(&mut self.writer, &e);
                    }
                    return Outcome::Ended;
                }
            }
            let sent = self.writer.flush();
            self.session
                .add_to_counter(Counter::BytesSent, self.writer.take_sent());
            if sent.is_err() || self.session.killed() {
                return Outcome::Ended;
            }
            self.reader.shrink();
            if stay.leave.load(Ordering::Relaxed) {
                return self.left();
            }
        }
    }

    /// Why a thread leaves that need not stay.
    fn left(&self) -> Outcome {
        match self.reader.has_more() || self.reader.has_hidden() {
            true => Outcome::Ready,
            false => Outcome::Idle,
        }
    }

    /// The command's answer may go out only when its commit is durable.
    #[inline]
    fn answer_when_settled(&mut self, unsettled: Unsettled) {
        if self.writer.one_short_packet() {
            return self.answer.withhold(&mut self.writer, unsettled);
        }
        if let Err(e) = self.session.settle(unsettled) {
            self.writer.take_back();
            self.err(&e);
        }
    }

    /// Runs one command; its answer is in the writer when this returns.
    #[inline]
    fn command(&mut self, at: Range<usize>) -> ControlFlow<()> {
        let packet = self.reader.bytes(at.clone());
        let Some(&code) = packet.first() else {
            self.err(&SqlError::new(1835, "Malformed communication packet."));
            return ControlFlow::Break(());
        };
        let body = at.start + 1..at.end;
        match code {
            command::QUERY => self.query(body),
            command::STMT_EXECUTE => self.stmt_execute(body),
            _ => return self.rare_command(code, body),
        }
        ControlFlow::Continue(())
    }

    fn read_limits(&mut self) {
        /// MySQL's default, for a backend that knows no such variable.
        const MAX_PACKET: u64 = 64 << 20;
        /// MySQL's default, likewise.
        const READ_SECONDS: u64 = 30;
        self.limits.generation = self.session.settings_generation();
        let var = |name| self.session.variable_u64(name);
        self.limits.max_packet = var("max_allowed_packet").unwrap_or(MAX_PACKET) as usize;
        self.limits.read = Duration::from_secs(var("net_read_timeout").unwrap_or(READ_SECONDS));
        self.incoming.max_packet = self.limits.max_packet;
        self.incoming.read_timeout = self.limits.read;
        self.limits.idle = Duration::from_secs(self.session.wait_timeout());
        let write = var("net_write_timeout").unwrap_or(2 * READ_SECONDS);
        self.writer.set_timeout(Duration::from_secs(write));
    }

    fn ok(&mut self) {
        let status = self.session.status_flags();
        let done = Completion {
            tracked: self.session.take_tracked(),
            ..Completion::default()
        };
        self.writer.packet(|p| response::ok(p, 0x00, &done, status));
    }

    #[cold]
    fn err(&mut self, e: &SqlError) {
        let encoding = self.encodings.results();
        self.writer.packet(|p| response::err(p, e, encoding));
    }
}

//! One connection, from greeting to goodbye, on a thread of its own.
//!
//! Lifecycle: [`run`] greets, logs in (`login`), then reads a command, runs it, sends its answer (or leaves it to the log, see `answer`), until the client
//! quits, falls silent for longer than `wait_timeout`, breaks the protocol, is killed, or the server stops. The session is
//! dropped at the end, which rolls back what was open.
//!
//! Failure: a panic in a command is caught here, logged, told to the client as error 1815, and ends the connection, whose
//! session (in whatever state) is dropped; other connections don't notice.

mod attributes;
mod commands;
mod login;
mod proof;

use crate::answer::Answer;
use crate::backend::{Backend, BackendSession};
use crate::client_file::Incoming;
use crate::compress;
use crate::proto::{HEADER, capability, command, response};
use crate::service::Service;
use crate::sink::Shape;
use crate::statements::Statements;
use crate::stream::Stream;
use crate::wire::{PacketReader, PacketWriter, ReadError};
use millpond_session::types::{Encoding, Encodings};
use millpond_session::{Completion, SqlError, TlsFacts};
use millpond_session::{Counter, Unsettled};
use socket2::Socket;
use std::any::Any;
use std::ops::{ControlFlow, Range};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

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
struct Connection<'a, B: Backend> {
    service: &'a Service<B>,
    peer: &'a Peer,
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

/// Serves a client until it is gone.
/// `id` receives its session's id, for a shutdown that has to kill.
pub(crate) fn run<B: Backend>(
    service: &Service<B>,
    socket: &Arc<Socket>,
    peer: &Peer,
    id: &AtomicU32,
) {
    let mut reader = PacketReader::new(socket.clone());
    let mut writer = PacketWriter::new(socket.clone());
    let mut seq = 0;
    let mut stream = Stream::plain(socket.clone());
    let login = catch_unwind(AssertUnwindSafe(|| {
        login::login(
            service,
            &mut stream,
            peer,
            &mut reader,
            &mut writer,
            &mut seq,
        )
    }));
    let _goodbye = Goodbye(stream.clone());
    let login::LoggedIn {
        session,
        capabilities,
        tls,
        ..
    } = match login {
        Ok(Some(client)) => {
            id.store(client.id, Ordering::Release);
            client
        }
        Ok(None) => return,
        Err(panic) => return tell_panic(&mut writer, &*panic),
    };
    if capabilities & capability::COMPRESS != 0 {
        let (inflow, outflow) = compress::pair(reader.unread());
        reader.unpack(inflow);
        writer.pack(outflow);
    }
    let inflow = reader.inflow();
    let mut conn = Connection {
        service,
        peer,
        tls,
        reader,
        writer,
        incoming: Incoming::new(stream, inflow, capabilities),
        encodings: session.encodings(),
        session,
        capabilities,
        statements: Statements::default(),
        shape: Shape::default(),
        has_attributes: false,
        answer: Answer::new(service.backend.clone(), socket.clone()),
        limits: Limits {
            generation: 0,
            max_packet: 0,
            idle: Duration::ZERO,
            read: Duration::ZERO,
        },
    };
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| conn.serve())) {
        tell_panic(&mut conn.writer, &*panic);
    }
    let dropped = catch_unwind(AssertUnwindSafe(|| drop(conn)));
    if let Err(panic) = dropped {
        tracing::error!(host = %peer.host, panic = panic_text(&*panic), "ending a session panicked");
    }
}

/// Says goodbye on a connection, however it ends.
struct Goodbye(Stream);

impl Drop for Goodbye {
    fn drop(&mut self) {
        self.0.close();
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("(no message)")
}

fn tell_panic(writer: &mut PacketWriter, panic: &(dyn Any + Send)) {
    let text = panic_text(panic);
    tracing::error!(panic = text, "a connection's thread panicked; it is closed");
    last_words(
        writer,
        &SqlError::new(1815, format!("Internal error: {text}")),
    );
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

impl<B: Backend> Connection<'_, B> {
    /// Reads and runs commands until the connection is to be closed.
    fn serve(&mut self) {
        self.read_limits();
        self.session.leave_commits_unsettled();
        loop {
            let mut seq = 0;
            let withheld = self.answer.is_withheld();
            let read = self.reader.read(
                &mut seq,
                self.limits.max_packet,
                self.limits.idle,
                self.limits.read,
            );
            self.answer.wait_sent();
            if withheld && matches!(read, Err(ReadError::Idle)) {
                // It was the client that waited.
                continue;
            }
            self.writer.set_sequence(seq);
            if self.session.killed() || self.service.is_stopping() {
                return;
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
                        return;
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
                    return;
                }
            }
            let sent = self.writer.flush();
            self.session
                .add_to_counter(Counter::BytesSent, self.writer.take_sent());
            if sent.is_err() || self.session.killed() {
                return;
            }
            self.reader.shrink();
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

//! The connection phase: greeting, login, the session's start; and COM_CHANGE_USER's login.
//!
//! Who is let in is for the database's accounts to say; how a client proves who it is, is in `proof`.

use super::proof::{self, Claim, Line, MAX_LOGIN_PACKET};
use super::{Connection, Peer, last_words, parting};
use crate::backend::{Backend, BackendSession};
use crate::proto::handshake::{self, CHALLENGE, Greeting, Login};
use crate::proto::{capability, response};
use crate::refusal::too_many_connections;
use crate::service::Service;
use crate::stream::Stream;
use crate::tls::{Channel, Tls};
use crate::wire::{PacketReader, PacketWriter};
use millpond_session::{Attempt, ClientLook, KillHook, TlsFacts, VERSION};
use millpond_session::{Completion, ConnectionInfo, SqlError, Tracks};
use parking_lot::Mutex;
use socket2::Socket;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind};
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::time::Duration;

/// A client that has been let in.
pub(super) struct LoggedIn<B: Backend> {
    pub session: B::Session,
    pub capabilities: u32,
    pub id: u32,
    /// Its TLS, if it has any.
    pub tls: Option<Arc<TlsFacts>>,
}

/// A client that the server has said its first word to.
pub(super) struct Greeted {
    id: u32,
    challenge: [u8; CHALLENGE],
    /// TLS, if it was offered.
    tls: Option<Arc<Tls>>,
}

/// How long a client may be silent until it is logged in.
pub(crate) fn timeout<B: Backend>(backend: &B) -> Duration {
    /// MySQL's default `connect_timeout`.
    const CONNECT_SECONDS: u64 = 10;
    let seconds = backend.global_u64("connect_timeout");
    Duration::from_secs(seconds.unwrap_or(CONNECT_SECONDS))
}

/// Says the server's first word. `None`: the client is gone.
pub(super) fn greet<B: Backend>(
    service: &Service<B>,
    writer: &mut PacketWriter,
) -> Option<Greeted> {
    /// Autocommit.
    const GREETING_STATUS: u16 = 2;
    let id = service.backend.reserve_id();
    let challenge = challenge();
    let tls = service.tls.clone().filter(|tls| tls.is_ready());
    let offered = match tls {
        Some(_) => capability::SERVER | capability::SSL,
        None => capability::SERVER,
    };
    let greeting = Greeting {
        version: VERSION,
        id,
        status: GREETING_STATUS,
        capabilities: offered,
    };
    writer.packet(|p| handshake::greeting(p, &greeting, &challenge));
    writer.flush().ok()?;
    Some(Greeted { id, challenge, tls })
}

/// Logs in; `stream` has TLS afterwards if the client asked for it. `None`: refused or gone; the client has been told what there was to tell.
pub(super) fn login<B: Backend>(
    service: &Service<B>,
    greeted: Greeted,
    stream: &mut Stream,
    peer: &Peer,
    reader: &mut PacketReader,
    writer: &mut PacketWriter,
) -> Option<LoggedIn<B>> {
    let timeout = timeout(&service.backend);
    let Greeted { id, challenge, tls } = greeted;
    let seq = &mut 1;
    let mut at = next(service, reader, writer, seq, timeout)?;
    let mut facts = None;
    if let Some(tls) = &tls
        && handshake::is_tls_request(reader.bytes(at.clone()))
    {
        facts = match secure(tls, stream, reader, writer) {
            Ok(facts) => Some(Arc::new(facts)),
            Err(e) => {
                service.backend.count_aborted_connect();
                tracing::debug!(host = %peer.host, error = %e, "no TLS");
                return None;
            }
        };
        at = next(service, reader, writer, seq, timeout)?;
    }
    let Ok(login) = Login::parse(reader.bytes(at), facts.is_some()) else {
        service.backend.count_aborted_connect();
        tracing::debug!(host = %peer.host, "bad handshake");
        last_words(writer, &SqlError::new(1043, "Bad handshake"));
        return None;
    };
    let private = peer.socket.is_some() || facts.is_some();
    let user = String::from_utf8_lossy(login.user).into_owned();
    let database = login
        .database
        .map(|db| String::from_utf8_lossy(db).into_owned());
    let attempt = Attempt {
        id,
        user: &user,
        host: &peer.host,
        database: database.as_deref(),
        tls: facts.is_some(),
    };
    if !private && service.backend.global_u64("require_secure_transport") == Some(1) {
        let e = SqlError::new(
            3159,
            "Connections using insecure transport are prohibited while --require_secure_transport=ON.",
        );
        refuse(service, &attempt, writer, &e);
        return None;
    }
    let capabilities = login.capabilities;
    let info = ConnectionInfo {
        id,
        user: user.clone(),
        host: peer.host.clone(),
        database: database.clone(),
        found_rows: capabilities & capability::FOUND_ROWS != 0,
        account: None,
        tls: facts.clone(),
        multi_statements: capabilities & capability::MULTI_STATEMENTS != 0,
        // Several statements have several results.
        single_results: capabilities & (capability::MULTI_RESULTS | capability::MULTI_STATEMENTS)
            == 0,
        interactive: capabilities & capability::INTERACTIVE != 0,
        tracks: match capabilities & (capability::SESSION_TRACK | capability::DEPRECATE_EOF) {
            c if c & capability::SESSION_TRACK == 0 => Tracks::No,
            capability::SESSION_TRACK => Tracks::Ok,
            _ => Tracks::Rows,
        },
        collation_id: login.collation,
        attributes: handshake::attributes(login.attributes),
        on_kill: Some(kill_hook(stream.socket())),
        is_gone: Some(client_look(stream.socket())),
    };
    let claim = Claim::of(&login, peer, facts.clone());
    let mut line = Line {
        reader,
        writer,
        seq,
        timeout,
        key: service.password_key.as_deref(),
    };
    let admitted = proof::prove(&service.backend, claim, &challenge, &mut line);
    let session = admitted.and_then(|account| {
        let info = ConnectionInfo { account, ..info };
        let mut session = service.backend.connect(info)?;
        // The last place is an administrator's.
        if service.is_full() && !session.is_administrator() {
            return Err(too_many_connections());
        }
        session.run_init_connect()?;
        Ok(session)
    });
    match session {
        Ok(mut session) => {
            session.audit_connect();
            let status = session.status_flags();
            writer.packet(|p| response::ok(p, 0x00, &Completion::default(), status));
            writer.flush().ok()?;
            Some(LoggedIn {
                session,
                capabilities,
                id,
                tls: facts,
            })
        }
        Err(e) => {
            refuse(service, &attempt, writer, &e);
            None
        }
    }
}

/// Tells a client why it isn't let in, and whoever else is to know.
fn refuse<B: Backend>(
    service: &Service<B>,
    attempt: &Attempt<'_>,
    writer: &mut PacketWriter,
    why: &SqlError,
) {
    service.backend.count_aborted_connect();
    service.backend.audit_refusal("connect", attempt, why);
    tracing::debug!(host = %attempt.host, error = %why, "login refused");
    last_words(writer, why);
}

/// Reads a packet of the login. `None`: the client is gone, or has been told why it is refused.
fn next<B: Backend>(
    service: &Service<B>,
    reader: &mut PacketReader,
    writer: &mut PacketWriter,
    seq: &mut u8,
    timeout: Duration,
) -> Option<Range<usize>> {
    let read = reader.read(seq, MAX_LOGIN_PACKET, timeout, timeout);
    writer.set_sequence(*seq);
    match read {
        Ok(at) => Some(at),
        Err(e) => {
            service.backend.count_aborted_connect();
            if let Some(e) = parting(&e) {
                last_words(writer, &e);
            }
            None
        }
    }
}

/// Gives a connection TLS. What came behind the request belongs to the handshake.
fn secure(
    tls: &Tls,
    stream: &mut Stream,
    reader: &mut PacketReader,
    writer: &mut PacketWriter,
) -> io::Result<TlsFacts> {
    tls.began();
    let config = tls.config().ok_or(io::ErrorKind::ConnectionRefused)?;
    let channel = Channel::accept(stream.socket(), config, reader.unread())?;
    let facts = channel.facts();
    *stream = Stream::secure(stream.socket().clone(), Arc::new(Mutex::new(channel)));
    reader.secure(stream.clone());
    writer.secure(stream.clone());
    tls.finished();
    Ok(facts)
}

/// Wakes the connection's thread if it waits for its client; an answer being sent still goes out.
fn kill_hook(socket: &Arc<Socket>) -> KillHook {
    let socket = Arc::downgrade(socket);
    KillHook(Arc::new(move || {
        if let Some(socket) = socket.upgrade() {
            let _ = socket.shutdown(Shutdown::Read);
        }
    }))
}

/// Looks whether the other side has closed the connection, which an end of what it sends says.
fn client_look(socket: &Arc<Socket>) -> ClientLook {
    let socket = Arc::downgrade(socket);
    ClientLook(Arc::new(move || {
        let Some(socket) = socket.upgrade() else {
            return true;
        };
        let mut byte = [MaybeUninit::uninit()];
        match socket.recv_with_flags(&mut byte, libc::MSG_PEEK | libc::MSG_DONTWAIT) {
            Ok(bytes) => bytes == 0,
            Err(e) => !matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted),
        }
    }))
}

/// Bytes that nobody can guess, none of them zero (the greeting is read as a C string).
fn challenge() -> [u8; CHALLENGE] {
    // Each RandomState has fresh keys that derive from the system's randomness.
    let mut out = [0; CHALLENGE];
    for (i, chunk) in out.chunks_mut(8).enumerate() {
        let h = RandomState::new().hash_one(i).to_le_bytes();
        chunk.copy_from_slice(&h[..chunk.len()]);
    }
    out.map(|b| b % 94 + 33)
}

impl<B: Backend> Connection<B> {
    /// COM_CHANGE_USER: a login on the same connection. A refusal closes it, as MySQL does.
    pub(super) fn change_user(&mut self, body: Range<usize>) -> ControlFlow<()> {
        let packet = self.reader.bytes(body);
        let Ok(login) = Login::parse_change_user(packet, self.capabilities) else {
            self.err(&SqlError::new(1835, "Malformed communication packet."));
            return ControlFlow::Break(());
        };
        let user = String::from_utf8_lossy(login.user).into_owned();
        let database = login
            .database
            .map(|db| String::from_utf8_lossy(db).into_owned());
        let collation = login.collation;
        // The client has answered a challenge that nobody knows any more: it is asked anew.
        let claim = Claim::of(&login, &self.peer, self.tls.clone()).unanswered();
        let mut seq = self.writer.sequence();
        let mut line = Line {
            reader: &mut self.reader,
            writer: &mut self.writer,
            seq: &mut seq,
            timeout: self.limits.read,
            key: self.service.password_key.as_deref(),
        };
        let changed = proof::prove(&self.service.backend, claim, &challenge(), &mut line)
            .and_then(|admitted| {
                self.session.set_collation_id(collation);
                if let Some(admitted) = admitted {
                    self.session.change_account(&user, &admitted)?;
                }
                self.reset_session()
            })
            .and_then(|()| match &database {
                Some(db) => self.session.use_database(db),
                None => {
                    self.session.leave_database();
                    Ok(())
                }
            });
        match changed {
            Ok(()) => {
                self.session.audit_change_user();
                self.ok();
                ControlFlow::Continue(())
            }
            Err(e) => {
                let attempt = Attempt {
                    id: self.session.id(),
                    user: &user,
                    host: &self.peer.host,
                    database: database.as_deref(),
                    tls: self.tls.is_some(),
                };
                let backend = &self.service.backend;
                backend.audit_refusal("change_user", &attempt, &e);
                self.err(&e);
                ControlFlow::Break(())
            }
        }
    }
}

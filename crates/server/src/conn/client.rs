//! A connection as threads hand it on: before and after its login, and its end.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use millpond_session::{Counter, SqlError};
use socket2::Socket;

use super::login::{self, Greeted, LoggedIn};
use super::{Connection, Limits, Peer, last_words, parting};
use crate::answer::Answer;
use crate::backend::{Backend, BackendSession};
use crate::client_file::Incoming;
use crate::compress;
use crate::proto::{capability, status};
use crate::registry::Place;
use crate::service::Service;
use crate::sink::Shape;
use crate::statements::Statements;
use crate::stream::Stream;
use crate::wire::{PacketReader, PacketWriter, ReadError};

/// A connection before its login.
struct Guest {
    reader: PacketReader,
    writer: PacketWriter,
    greeted: Option<Greeted>,
}

enum Stage<B: Backend> {
    Guest(Box<Guest>),
    Member(Box<Connection<B>>),
    /// Refused, or gone.
    Over,
}

/// How long a thread stays with a connection.
pub(crate) struct Stay<'a> {
    /// It leaves when it has waited for a command for so long; `None`: it never does.
    pub linger: Option<Duration>,
    /// It leaves when a command is done and this is up.
    pub leave: &'a AtomicBool,
}

/// Why a thread leaves a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It has ended.
    Ended,
    /// There is nothing to do until its client sends something.
    Idle,
    /// The client has sent more.
    Ready,
    /// It has ended, by a panic.
    Panicked,
}

/// Buffers of a thread, which connections that it serves use as theirs.
#[derive(Default)]
pub(crate) struct Spare {
    read: Vec<u8>,
    write: Vec<u8>,
}

/// What a thread should not go on after.
struct Panicked;

/// A connection, whoever serves it.
pub(crate) struct Client<B: Backend> {
    stage: Stage<B>,
    /// Whether the pool's poller knows its socket.
    pub armed: bool,
    stream: Stream,
    service: Arc<Service<B>>,
    peer: Arc<Peer>,
    /// Receives its session's id, for a shutdown that has to kill.
    id: Arc<AtomicU32>,
    place: Place,
}

impl<B: Backend> Client<B> {
    /// A connection that nothing has been said on.
    pub fn new(
        service: Arc<Service<B>>,
        socket: Arc<Socket>,
        peer: Peer,
        id: Arc<AtomicU32>,
        place: Place,
    ) -> Client<B> {
        let guest = Guest {
            reader: PacketReader::new(socket.clone()),
            writer: PacketWriter::new(socket.clone()),
            greeted: None,
        };
        Client {
            stage: Stage::Guest(Box::new(guest)),
            armed: false,
            stream: Stream::plain(socket),
            service,
            peer: Arc::new(peer),
            id,
            place,
        }
    }

    /// A number that no other connection of the server ever has.
    pub fn key(&self) -> u64 {
        self.place.key()
    }

    /// Its socket.
    pub fn socket(&self) -> &Arc<Socket> {
        self.stream.socket()
    }

    /// Says the server's first word. `false`: the client is gone.
    pub fn greet(&mut self) -> bool {
        if let Stage::Guest(guest) = &mut self.stage
            && guest.greeted.is_none()
        {
            guest.greeted = login::greet(&*self.service, &mut guest.writer);
            return guest.greeted.is_some();
        }
        true
    }

    /// Serves it until it has ended or `stay` says to leave.
    pub fn run(&mut self, stay: &Stay<'_>, spare: &mut Spare) -> Outcome {
        let comes = matches!(self.stage, Stage::Guest(_));
        if comes && self.log_in().is_err() {
            return Outcome::Panicked;
        }
        let Stage::Member(conn) = &mut self.stage else {
            return Outcome::Ended;
        };
        conn.reader.take_buffer(&mut spare.read);
        conn.writer.take_buffer(&mut spare.write);
        let served = match comes && stay.leave.load(Ordering::Relaxed) {
            // A login is as good as a command.
            true => Ok(conn.left()),
            false => catch_unwind(AssertUnwindSafe(|| conn.serve(stay))),
        };
        let outcome = served.unwrap_or_else(|panic| {
            tell_panic(&mut conn.writer, &*panic);
            Outcome::Panicked
        });
        conn.reader.give_buffer(&mut spare.read);
        conn.writer.give_buffer(&mut spare.write);
        outcome
    }

    /// It has been silent for as long as it may ([`Client::patience`]): it is told so. `false`: it was the client that waited.
    pub fn expire(&mut self) -> bool {
        let writer = match &mut self.stage {
            Stage::Guest(guest) => {
                self.service.backend.count_aborted_connect();
                &mut guest.writer
            }
            Stage::Member(conn) if conn.answer.is_withheld() => return false,
            Stage::Member(conn) => {
                conn.session.add_to_counter(Counter::AbortedClients, 1);
                conn.writer.set_sequence(0);
                &mut conn.writer
            }
            Stage::Over => return true,
        };
        if let Some(e) = parting(&ReadError::Idle) {
            tracing::debug!(host = %self.peer.host, error = %e, "closing a connection");
            last_words(writer, &e);
        }
        true
    }

    /// How long it may be silent now; zero: for ever.
    pub fn patience(&self) -> Duration {
        match &self.stage {
            Stage::Member(conn) => conn.limits.idle,
            _ => login::timeout(&self.service.backend),
        }
    }

    /// Whether a transaction of its session is open.
    pub fn is_in_transaction(&self) -> bool {
        match &self.stage {
            Stage::Member(conn) => conn.session.status_flags() & status::IN_TRANSACTION != 0,
            _ => false,
        }
    }

    /// Logs in, if the client is let in; fails if that panics.
    fn log_in(&mut self) -> Result<(), Panicked> {
        let Stage::Guest(mut guest) = std::mem::replace(&mut self.stage, Stage::Over) else {
            return Ok(());
        };
        self.place.begin_login();
        let login = catch_unwind(AssertUnwindSafe(|| {
            let Guest {
                reader,
                writer,
                greeted,
            } = &mut *guest;
            let greeted = match greeted.take() {
                Some(greeted) => greeted,
                None => login::greet(&*self.service, writer)?,
            };
            let stream = &mut self.stream;
            login::login(&*self.service, greeted, stream, &self.peer, reader, writer)
        }));
        match login {
            Ok(Some(client)) => {
                self.id.store(client.id, Ordering::Release);
                let conn = self.member(*guest, client);
                self.stage = Stage::Member(Box::new(conn));
            }
            Ok(None) => {}
            Err(panic) => {
                tell_panic(&mut guest.writer, &*panic);
                return Err(Panicked);
            }
        }
        Ok(())
    }

    fn member(&self, guest: Guest, client: LoggedIn<B>) -> Connection<B> {
        let Guest {
            mut reader,
            mut writer,
            ..
        } = guest;
        let LoggedIn {
            mut session,
            capabilities,
            tls,
            ..
        } = client;
        if capabilities & capability::COMPRESS != 0 {
            let (inflow, outflow) = compress::pair(reader.unread());
            reader.unpack(inflow);
            writer.pack(outflow);
        }
        let incoming = Incoming::new(self.stream.clone(), reader.inflow(), capabilities);
        session.leave_commits_unsettled();
        let mut conn = Connection {
            answer: Answer::new(self.service.backend.clone(), self.socket().clone()),
            service: self.service.clone(),
            peer: self.peer.clone(),
            tls,
            reader,
            writer,
            incoming,
            encodings: session.encodings(),
            session,
            capabilities,
            statements: Statements::default(),
            shape: Shape::default(),
            has_attributes: false,
            limits: Limits {
                generation: 0,
                max_packet: 0,
                idle: Duration::ZERO,
                read: Duration::ZERO,
            },
        };
        conn.read_limits();
        conn
    }
}

impl<B: Backend> Drop for Client<B> {
    /// Ends the session, then says goodbye.
    fn drop(&mut self) {
        let stage = std::mem::replace(&mut self.stage, Stage::Over);
        let dropped = catch_unwind(AssertUnwindSafe(|| drop(stage)));
        if let Err(panic) = dropped {
            let panic = panic_text(&*panic);
            tracing::error!(host = %self.peer.host, panic, "ending a session panicked");
        }
        self.stream.close();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::Registry;
    use crate::scratch::Scratch;
    use socket2::{Domain, Type};
    use std::io::{Read, Write};

    static UP: AtomicBool = AtomicBool::new(true);

    fn framed(seq: u8, payload: &[u8]) -> Vec<u8> {
        let mut packet = (payload.len() as u32).to_le_bytes();
        packet[3] = seq;
        [&packet, payload].concat()
    }

    /// root's answer to the greeting.
    fn login() -> Vec<u8> {
        // PROTOCOL_41, SECURE_CONNECTION, PLUGIN_AUTH.
        let capabilities: u32 = 1 << 9 | 1 << 15 | 1 << 19;
        let mut answer = capabilities.to_le_bytes().to_vec();
        answer.extend_from_slice(&[0, 0, 0, 1, 45]);
        answer.extend_from_slice(&[0; 23]);
        answer.extend_from_slice(b"root\0\0mysql_native_password\0");
        framed(1, &answer)
    }

    /// What `run` says of clients that send this after their logins' packets, under a [`Stay`] that would wait for an hour.
    fn outcome(name: &str, behind: &[u8]) -> Outcome {
        let db = Scratch::open(&format!("client-{name}"));
        let service = Arc::new(Service::new(db.instance.clone(), None, None));
        let (ours, mut theirs) = Socket::pair(Domain::UNIX, Type::STREAM, None).unwrap();
        let (ours, id) = (Arc::new(ours), Arc::new(AtomicU32::new(0)));
        let registry: &Arc<Registry> = &service.registry;
        let place = registry.admit(&ours, &id, 10).unwrap();
        let peer = Peer {
            host: "localhost".into(),
            name: "localhost".into(),
            local: true,
            names: vec!["localhost".into()],
            socket: Some(None),
        };
        let mut client = Client::new(service, ours, peer, id, place);
        assert!(client.greet());
        theirs.write_all(&[&login(), behind].concat()).unwrap();
        let stay = Stay {
            linger: Some(Duration::from_secs(3600)),
            leave: &UP,
        };
        let outcome = client.run(&stay, &mut Spare::default());
        drop(client);
        // The greeting and an OK at least.
        let mut answers = Vec::new();
        theirs.read_to_end(&mut answers).unwrap();
        assert!(answers.len() > 50);
        outcome
    }

    #[test]
    fn a_thread_that_need_not_stay_does_not_wait_for_the_first_command() {
        assert_eq!(outcome("silent", b""), Outcome::Idle);
        assert_eq!(outcome("eager", &framed(0, b"\x0e")), Outcome::Ready);
    }
}

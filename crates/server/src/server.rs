//! Listening, accepting, counting, stopping.
//!
//! Threads: one per listener, and those for connections (`pool`). Start to end: [`Server::start`] binds everything or nothing; connections come
//! and go; [`Server::shutdown`] stops accepting, ends idle connections at once, waits a bounded time for running
//! statements, then kills them. The database itself is the caller's to close.

use crate::backend::Backend;
use crate::conn::{Client, Peer};
use crate::password_key::PasswordKey;
use crate::pool::Pool;
use crate::refusal::{refuse, too_many_connections};
use crate::service::Service;
use crate::tls::Tls;
use socket2::{Domain, SockAddr, SockRef, Socket, Type};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Shutdown, SocketAddr};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::thread::JoinHandle;
use std::time::Duration;

/// Connections that wait to be accepted before the system turns more away.
const BACKLOG: i32 = 1024;
/// How long killed statements may take to notice.
const KILLED_GRACE: Duration = Duration::from_secs(5);
/// How long threads may take to end when their connections have.
const THREADS_GRACE: Duration = Duration::from_secs(1);
/// Pause after a failed accept (no file descriptors left, usually).
pub(crate) const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Where to listen.
#[derive(Clone, Default)]
pub struct ServerConfig {
    /// TCP address; port 0 lets the system choose. One that others than this machine can reach takes TLS, and accounts with passwords.
    pub tcp: Option<SocketAddr>,
    /// Path of the Unix socket.
    pub socket: Option<PathBuf>,
    /// What connections may be secured by.
    pub tls: Option<Arc<Tls>>,
    /// What passwords may be encrypted by on connections without TLS.
    pub password_key: Option<Arc<PasswordKey>>,
}

/// A server that listens. Dropping it does not stop it; call [`Server::shutdown`].
pub struct Server<B: Backend> {
    service: Arc<Service<B>>,
    pool: Arc<Pool<B>>,
    listeners: Vec<(Arc<Socket>, JoinHandle<()>)>,
    tcp: Option<SocketAddr>,
    socket: Option<PathBuf>,
}

impl<B: Backend> Server<B> {
    /// Starts to listen and serve.
    pub fn start(backend: B, config: &ServerConfig) -> io::Result<Server<B>> {
        if let Some(addr) = config.tcp {
            check_listen(&backend, addr, config.tls.is_some())?;
        }
        let tcp = config.tcp.map(bind_tcp).transpose()?;
        let unix = config.socket.as_deref().map(bind_unix).transpose()?;
        let service = Service::new(backend, config.tls.clone(), config.password_key.clone());
        let service = Arc::new(service);
        let mut server = Server {
            pool: Pool::start(service.clone())?,
            service,
            listeners: Vec::new(),
            tcp: None,
            socket: None,
        };
        if let Err(e) = server.listen_on(tcp, unix, config) {
            server.shutdown(Duration::ZERO);
            return Err(e);
        }
        Ok(server)
    }

    fn listen_on(
        &mut self,
        tcp: Option<Socket>,
        unix: Option<Socket>,
        config: &ServerConfig,
    ) -> io::Result<()> {
        if let Some(listener) = tcp {
            self.tcp = listener.local_addr()?.as_socket();
            self.listen(listener, "accept-tcp")?;
        }
        if let Some(listener) = unix {
            self.socket.clone_from(&config.socket);
            self.listen(listener, "accept-unix")?;
        }
        Ok(())
    }

    /// The TCP address listened on.
    pub fn tcp_addr(&self) -> Option<SocketAddr> {
        self.tcp
    }

    /// The Unix socket listened on.
    pub fn socket_path(&self) -> Option<&Path> {
        self.socket.as_deref()
    }

    /// Connections open now, those still logging in included.
    pub fn connections(&self) -> usize {
        self.service.registry.len()
    }

    fn listen(&mut self, listener: Socket, name: &str) -> io::Result<()> {
        let listener = Arc::new(listener);
        let (service, accepting) = (self.service.clone(), listener.clone());
        let pool = self.pool.clone();
        let thread = std::thread::Builder::new()
            .name(name.into())
            .spawn(move || accept_loop(&service, &pool, &accepting))?;
        self.listeners.push((listener, thread));
        Ok(())
    }

    /// Stops: nobody new is let in, idle connections end now, statements may run for `grace` before they are killed.
    /// Returns how many connections would not end even so.
    pub fn shutdown(self, grace: Duration) -> usize {
        let service = &self.service;
        service.stop();
        for (listener, thread) in self.listeners {
            // Wakes a blocked accept on Linux.
            let _ = listener.shutdown(Shutdown::Both);
            let _ = thread.join();
        }
        if let Some(path) = &self.socket {
            let _ = std::fs::remove_file(path);
        }
        let registry = &service.registry;
        registry.shut(Shutdown::Read);
        let left = registry.wait_for_end(grace);
        if left > 0 {
            tracing::warn!(connections = left, "statements still run; killing them");
            for id in registry.sessions() {
                // One that has just ended is not there to be killed; that's what was wanted.
                let _ = service.backend.kill(id, true);
            }
            registry.shut(Shutdown::Both);
            registry.wait_for_end(KILLED_GRACE);
        }
        self.pool.stop(THREADS_GRACE);
        registry.len()
    }
}

fn refused(addr: SocketAddr, reason: &str) -> io::Error {
    io::Error::new(
        ErrorKind::InvalidInput,
        format!("refusing to listen on {addr}: {reason}; use a loopback address such as 127.0.0.1"),
    )
}

/// Refuses an address that others than this machine can reach.
pub fn check_address(addr: SocketAddr) -> io::Result<()> {
    match addr.ip().is_loopback() {
        true => Ok(()),
        false => Err(refused(
            addr,
            "there is no TLS, so anyone on the way to that address could read all that is said",
        )),
    }
}

/// The same of clients' connections, unless they can have TLS and nobody gets in without a password.
fn check_listen<B: Backend>(backend: &B, addr: SocketAddr, tls: bool) -> io::Result<()> {
    if addr.ip().is_loopback() {
        return Ok(());
    }
    if !tls {
        return check_address(addr);
    }
    match backend.open_account() {
        None => Ok(()),
        Some(name) => Err(refused(
            addr,
            &format!(
                "the account {name} has no password (ALTER USER ... IDENTIFIED BY, or --init-password-file for the first start)"
            ),
        )),
    }
}

pub(crate) fn bind_tcp(addr: SocketAddr) -> io::Result<Socket> {
    let bind = || {
        let s = Socket::new(Domain::for_address(addr), Type::STREAM, None)?;
        s.set_reuse_address(true)?;
        s.bind(&addr.into())?;
        s.listen(BACKLOG)?;
        Ok(s)
    };
    bind().map_err(|e: io::Error| named(&e, &format!("cannot listen on {addr}")))
}

/// Binds a Unix socket; takes the place of one whose server is gone.
fn bind_unix(path: &Path) -> io::Result<Socket> {
    let what = format!("cannot listen on {}", path.display());
    let bind = || {
        let addr = SockAddr::unix(path)?;
        let probe = Socket::new(Domain::UNIX, Type::STREAM, None)?;
        match probe.connect(&addr) {
            Ok(()) => {
                return Err(io::Error::new(
                    ErrorKind::AddrInUse,
                    "a server listens there",
                ));
            }
            Err(e) if e.kind() == ErrorKind::ConnectionRefused => std::fs::remove_file(path)?,
            Err(_) => {}
        }
        let s = Socket::new(Domain::UNIX, Type::STREAM, None)?;
        s.bind(&addr)?;
        s.listen(BACKLOG)?;
        Ok(s)
    };
    bind().map_err(|e: io::Error| named(&e, &what))
}

pub(crate) fn named(e: &io::Error, what: &str) -> io::Error {
    io::Error::new(e.kind(), format!("{what}: {e}"))
}

fn accept_loop<B: Backend>(service: &Arc<Service<B>>, pool: &Arc<Pool<B>>, listener: &Socket) {
    loop {
        let accepted = listener.accept();
        if service.is_stopping() {
            return;
        }
        match accepted {
            Ok((socket, addr)) => admit(service, pool, socket, &addr),
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => {
                tracing::error!(error = %e, "cannot accept a connection");
                std::thread::sleep(ACCEPT_PAUSE);
            }
        }
    }
}

fn peer_of(socket: &Socket, addr: &SockAddr) -> Peer {
    match addr.as_socket() {
        Some(addr) => {
            let _ = SockRef::from(socket).set_tcp_nodelay(true);
            let _ = SockRef::from(socket).set_keepalive(true);
            let plain = match addr.ip() {
                IpAddr::V6(ip) => ip.to_canonical().to_string(),
                ip => ip.to_string(),
            };
            let name = match addr.ip() {
                ip if ip.is_loopback() => "localhost".to_string(),
                _ => plain.clone(),
            };
            Peer {
                host: addr.to_string(),
                names: vec![name.clone(), plain],
                name,
                local: addr.ip().is_loopback(),
                socket: None,
            }
        }
        None => Peer {
            host: "localhost".into(),
            name: "localhost".into(),
            local: true,
            names: vec!["localhost".into()],
            socket: Some(system_user(socket)),
        },
    }
}

/// The user of the operating system at the other end of a Unix socket.
fn system_user(socket: &Socket) -> Option<String> {
    let mut credentials = libc::ucred {
        pid: 0,
        uid: libc::uid_t::MAX,
        gid: 0,
    };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the descriptor is open as long as `socket` is borrowed; the kernel writes at most `length` bytes, which is the size of what
    // `credentials` points to, and any bytes are such numbers.
    let got = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut credentials).cast(),
            &mut length,
        )
    };
    if got != 0 || credentials.uid == libc::uid_t::MAX {
        return None;
    }
    // Lines of name, password, number of the user, and more, with colons between.
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    let mut users = users.lines().map(|line| line.split(':'));
    users.find_map(|mut user| {
        let name = user.next()?;
        let id: u32 = user.nth(1)?.parse().ok()?;
        (id == credentials.uid).then(|| name.to_string())
    })
}

/// Hands a new connection to the pool, or tells it why not.
fn admit<B: Backend>(
    service: &Arc<Service<B>>,
    pool: &Arc<Pool<B>>,
    socket: Socket,
    addr: &SockAddr,
) {
    let peer = peer_of(&socket, addr);
    let socket = Arc::new(socket);
    let most = service.max_connections();
    let session = Arc::new(AtomicU32::new(0));
    let Some(place) = service.registry.admit(&socket, &session, most) else {
        service.backend.count_aborted_connect();
        tracing::warn!(host = %peer.host, max_connections = most, "too many connections");
        return refuse(socket, &too_many_connections());
    };
    let service = service.clone();
    pool.admit(Client::new(service, socket, peer, session, place));
}

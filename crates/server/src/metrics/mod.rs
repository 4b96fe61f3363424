//! Metrics for Prometheus and a status page for people, over HTTP: `GET /metrics`, `GET /`.
//!
//! | file | owns |
//! |---|---|
//! | `http` | reading a request, within limits of size and time; the response's head |
//! | `text` | the exposition: what there is, under which names |
//! | `status` | the status page's files, and the figures that it asks for once a second |
//!
//! A connection is closed after one answer. Up to [`AT_A_TIME`] are served at once, for browsers open connections that they don't use yet. A client
//! that dawdles is cut off after [`http::PATIENCE`], so it cannot keep others out for longer. Nothing here is on a query's
//! path: counters are read as SHOW STATUS reads them.
//!
//! It asks for no account, so it listens on loopback addresses only. The page and its figures answer only clients who call this machine by
//! a name of its own, so that no other site's page can read them; they change nothing, and hold no literal of any statement.

mod http;
mod status;
mod text;

use crate::server::{ACCEPT_PAUSE, bind_tcp, check_address, named};
use http::{Page, Refusal, Request};
use millpond_session::Instance;
use socket2::Socket;
use std::io::{self, ErrorKind};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;

/// Connections that are served at once.
const AT_A_TIME: usize = 8;

/// The metrics endpoint. Dropping it does not stop it; call [`MetricsServer::shutdown`].
pub struct MetricsServer {
    listener: Arc<Socket>,
    stopping: Arc<AtomicBool>,
    thread: JoinHandle<()>,
    addr: SocketAddr,
}

impl MetricsServer {
    /// Starts to listen on a loopback address; port 0 lets the system choose.
    pub fn start(instance: Instance, addr: SocketAddr) -> io::Result<MetricsServer> {
        check_address(addr)?;
        let listener = Arc::new(bind_tcp(addr)?);
        let addr = listener.local_addr()?.as_socket().unwrap_or(addr);
        let stopping = Arc::new(AtomicBool::new(false));
        let (accepting, stop) = (listener.clone(), stopping.clone());
        let thread = std::thread::Builder::new()
            .name("metrics".into())
            .spawn(move || serve(&instance, &accepting, &stop))
            .map_err(|e| named(&e, "cannot start the metrics thread"))?;
        Ok(MetricsServer {
            listener,
            stopping,
            thread,
            addr,
        })
    }

    /// The address listened on.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Stops, after the requests being answered if there are any.
    pub fn shutdown(self) {
        self.stopping.store(true, Ordering::SeqCst);
        // Wakes a blocked accept on Linux.
        let _ = self.listener.shutdown(Shutdown::Both);
        let _ = self.thread.join();
    }
}

/// What there is for a request.
fn page(instance: &Instance, request: &Request<'_>) -> Result<Page, Refusal> {
    if request.path == "/metrics" {
        return Ok(Page {
            kind: text::TYPE,
            body: text::exposition(instance),
        });
    }
    let page = status::page(instance, request.path);
    match page {
        Some(_) if !request.is_for_loopback() => Err((421, "Misdirected Request")),
        Some(page) => Ok(page()),
        None => Err((
            404,
            "Not Found: / is the status page, /metrics what Prometheus reads",
        )),
    }
}

fn serve(instance: &Instance, listener: &Socket, stopping: &AtomicBool) {
    let busy = AtomicUsize::new(0);
    let busy = &busy;
    std::thread::scope(|scope| {
        loop {
            let accepted = listener.accept();
            if stopping.load(Ordering::SeqCst) {
                return;
            }
            match accepted {
                Ok((socket, _)) if busy.load(Ordering::Relaxed) < AT_A_TIME => {
                    busy.fetch_add(1, Ordering::Relaxed);
                    let one = move || {
                        answer(instance, socket);
                        busy.fetch_sub(1, Ordering::Relaxed);
                    };
                    let name = std::thread::Builder::new().name("metrics".into());
                    if let Err(e) = name.spawn_scoped(scope, one) {
                        busy.fetch_sub(1, Ordering::Relaxed);
                        tracing::error!(error = %e, "cannot answer a metrics request");
                    }
                }
                // As many as may be: this one waits, and so do those after it.
                Ok((socket, _)) => answer(instance, socket),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => {
                    tracing::error!(error = %e, "cannot accept a metrics connection");
                    std::thread::sleep(ACCEPT_PAUSE);
                }
            }
        }
    });
}

fn answer(instance: &Instance, socket: Socket) {
    let mut stream = TcpStream::from(socket);
    let answered = catch_unwind(AssertUnwindSafe(|| {
        http::answer(&mut stream, |request| page(instance, request))
    }));
    match answered {
        Ok(Ok(())) => {}
        // The client's affair.
        Ok(Err(e)) => tracing::debug!(error = %e, "a metrics request failed"),
        Err(_) => tracing::error!("answering a metrics request panicked"),
    }
}

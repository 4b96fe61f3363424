//! Metrics for Prometheus, over HTTP: `GET /metrics`.
//!
//! | file | owns |
//! |---|---|
//! | `http` | reading a request, within limits of size and time; the response's head |
//! | `text` | the exposition: what there is, under which names |
//!
//! One thread answers one request at a time and closes the connection after it; a scraper asks every few seconds. A client that
//! dawdles is cut off after [`http::PATIENCE`], so it cannot keep others out for longer. Nothing here is on a query's
//! path: counters are read as SHOW STATUS reads them.
//!
//! It asks for no account, so it listens on loopback addresses only.

mod http;
mod text;

use crate::server::{ACCEPT_PAUSE, bind_tcp, check_address, named};
use millpond_session::Instance;
use socket2::Socket;
use std::io::{self, ErrorKind};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

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

    /// Stops, after the request being answered if there is one.
    pub fn shutdown(self) {
        self.stopping.store(true, Ordering::SeqCst);
        // Wakes a blocked accept on Linux.
        let _ = self.listener.shutdown(Shutdown::Both);
        let _ = self.thread.join();
    }
}

fn serve(instance: &Instance, listener: &Socket, stopping: &AtomicBool) {
    loop {
        let accepted = listener.accept();
        if stopping.load(Ordering::SeqCst) {
            return;
        }
        match accepted {
            Ok((socket, _)) => {
                let mut stream = TcpStream::from(socket);
                let answered = catch_unwind(AssertUnwindSafe(|| {
                    http::answer(&mut stream, |path| {
                        (path == "/metrics").then(|| text::exposition(instance))
                    })
                }));
                match answered {
                    Ok(Ok(())) => {}
                    // The client's affair.
                    Ok(Err(e)) => tracing::debug!(error = %e, "a metrics request failed"),
                    Err(_) => tracing::error!("answering a metrics request panicked"),
                }
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => {
                tracing::error!(error = %e, "cannot accept a metrics connection");
                std::thread::sleep(ACCEPT_PAUSE);
            }
        }
    }
}

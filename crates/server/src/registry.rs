//! Who is connected.
//!
//! `max_connections` clients are let in, and one more, whose account must have CONNECTION_ADMIN: an administrator gets in when others have
//! taken all places. That is known after the login only, so until then the last place is anybody's.
//!
//! Lock order: `connections` is a leaf; nothing is called while it is held.

use hashbrown::HashMap;
use parking_lot::{Condvar, Mutex};
use socket2::Socket;
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// The connections of a server, those still logging in included.
#[derive(Default)]
pub(crate) struct Registry {
    connections: Mutex<Connections>,
    ended: Condvar,
}

#[derive(Default)]
struct Connections {
    next: u64,
    open: HashMap<u64, Open>,
}

struct Open {
    socket: Arc<Socket>,
    /// Id of its session; 0 before it has one.
    session: Arc<AtomicU32>,
    /// When a thread began to log it in.
    login: Option<Instant>,
}

/// A connection's place, given back when it is dropped. A connection has it to the last, when it holds nothing else any more: who
/// waits for its end may close the database then.
pub(crate) struct Place {
    registry: Arc<Registry>,
    key: u64,
}

impl Place {
    /// A number that no other place of the registry ever has.
    pub fn key(&self) -> u64 {
        self.key
    }
    /// A thread begins to log it in.
    pub fn begin_login(&self) {
        if let Some(open) = self.registry.connections.lock().open.get_mut(&self.key) {
            open.login = Some(Instant::now());
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.registry.connections.lock().open.remove(&self.key);
        self.registry.ended.notify_all();
    }
}

impl Registry {
    /// A place for a connection, if fewer than `most` and the administrator's are taken.
    pub fn admit(
        self: &Arc<Self>,
        socket: &Arc<Socket>,
        session: &Arc<AtomicU32>,
        most: usize,
    ) -> Option<Place> {
        let mut c = self.connections.lock();
        if c.open.len() > most {
            return None;
        }
        let key = c.next;
        c.next += 1;
        let open = Open {
            socket: socket.clone(),
            session: session.clone(),
            login: None,
        };
        c.open.insert(key, open);
        Some(Place {
            registry: self.clone(),
            key,
        })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.connections.lock().open.len()
    }

    /// Shuts all their sockets.
    pub fn shut(&self, how: Shutdown) {
        for c in self.connections.lock().open.values() {
            let _ = c.socket.shutdown(how);
        }
    }

    /// Shuts those that threads have been logging in for so long, however busy their clients are with it.
    pub fn end_logins(&self, time: Duration) {
        let late = |c: &&Open| {
            let guest = c.session.load(Ordering::Acquire) == 0;
            guest && c.login.is_some_and(|since| since.elapsed() > time)
        };
        for c in self.connections.lock().open.values().filter(late) {
            let _ = c.socket.shutdown(Shutdown::Both);
        }
    }

    /// Ids of those that have sessions.
    pub fn sessions(&self) -> Vec<u32> {
        let connections = self.connections.lock();
        let ids = connections.open.values();
        ids.map(|c| c.session.load(Ordering::Acquire))
            .filter(|&id| id != 0)
            .collect()
    }

    /// Waits until no connection is left, or time is up; returns how many are left.
    pub fn wait_for_end(&self, time: Duration) -> usize {
        let deadline = Instant::now() + time;
        let mut connections = self.connections.lock();
        while !connections.open.is_empty() {
            if self
                .ended
                .wait_until(&mut connections, deadline)
                .timed_out()
            {
                break;
            }
        }
        connections.open.len()
    }
}

//! The sockets that idle connections wait on: an epoll, in which each is armed for one event at a time.
//!
//! One that is armed when it already has something is told of at once, so nothing is lost between looking and arming. Closing a socket takes it out.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use socket2::Socket;

/// Events taken at a time.
const EVENTS: usize = 256;
/// The key of what wakes all who wait.
const STOP: u64 = u64::MAX;
/// The other side having closed is something to read.
const WHAT: epoll::EventFlags = epoll::EventFlags::IN
    .union(epoll::EventFlags::RDHUP)
    .union(epoll::EventFlags::ONESHOT);

/// Sockets, each with a key.
pub(super) struct Poller {
    epoll: OwnedFd,
    /// Closed to wake all who wait.
    stop: parking_lot::Mutex<Option<UnixStream>>,
    _stopped: UnixStream,
}

/// Where events are received.
pub(super) struct Events(Vec<epoll::Event>);

impl Default for Events {
    fn default() -> Events {
        Events(Vec::with_capacity(EVENTS))
    }
}

impl Poller {
    pub fn new() -> io::Result<Poller> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let (stop, stopped) = UnixStream::pair()?;
        let key = epoll::EventData::new_u64(STOP);
        epoll::add(&epoll, &stopped, key, epoll::EventFlags::IN)?;
        Ok(Poller {
            epoll,
            stop: parking_lot::Mutex::new(Some(stop)),
            _stopped: stopped,
        })
    }

    /// Tells once of `key` when `socket` has something to read. `known`: it was armed before, and has not been [forgotten](Poller::forget).
    pub fn arm(&self, socket: &Socket, key: u64, known: bool) -> io::Result<()> {
        let data = epoll::EventData::new_u64(key);
        match known {
            true => epoll::modify(&self.epoll, socket, data, WHAT)?,
            false => epoll::add(&self.epoll, socket, data, WHAT)?,
        }
        Ok(())
    }

    /// Takes out a socket that was armed.
    pub fn forget(&self, socket: &Socket) {
        // It is there, or has never been.
        let _ = epoll::delete(&self.epoll, socket);
    }

    /// Waits until there is an event, `time` is up or [`Poller::stop`] was called, and returns the keys.
    pub fn wait<'e>(
        &self,
        events: &'e mut Events,
        time: Duration,
    ) -> impl Iterator<Item = u64> + use<'e> {
        let time = Timespec {
            tv_sec: time.as_secs() as i64,
            tv_nsec: time.subsec_nanos().into(),
        };
        events.0.clear();
        // Interrupted: as if time were up.
        let _ = epoll::wait(&self.epoll, spare_capacity(&mut events.0), Some(&time));
        let keys = events.0.iter().map(|e| e.data.u64());
        keys.filter(|key| *key != STOP)
    }

    /// From now on nobody waits.
    pub fn stop(&self) {
        self.stop.lock().take();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use socket2::{Domain, Type};
    use std::io::{Read, Write};

    const LONG: Duration = Duration::from_secs(60);

    fn keys(poller: &Poller, time: Duration) -> Vec<u64> {
        poller.wait(&mut Events::default(), time).collect()
    }

    #[test]
    fn tells_once_of_each_arming() {
        let poller = Poller::new().unwrap();
        let (a, mut b) = Socket::pair(Domain::UNIX, Type::STREAM, None).unwrap();
        poller.arm(&a, 7, false).unwrap();
        assert!(keys(&poller, Duration::ZERO).is_empty());
        b.write_all(b"xy").unwrap();
        assert_eq!(keys(&poller, LONG), [7]);
        b.write_all(b"z").unwrap();
        assert!(keys(&poller, Duration::ZERO).is_empty(), "not armed");
        // What is there already counts.
        poller.arm(&a, 8, true).unwrap();
        assert_eq!(keys(&poller, LONG), [8]);
        (&a).read_exact(&mut [0; 3]).unwrap();
        poller.arm(&a, 9, true).unwrap();
        drop(b);
        assert_eq!(keys(&poller, LONG), [9]);
    }

    #[test]
    fn one_that_is_forgotten_or_closed_is_not_told_of() {
        let poller = Poller::new().unwrap();
        let (a, mut b) = Socket::pair(Domain::UNIX, Type::STREAM, None).unwrap();
        poller.arm(&a, 1, false).unwrap();
        poller.forget(&a);
        b.write_all(b"x").unwrap();
        assert!(keys(&poller, Duration::ZERO).is_empty());
        poller.arm(&a, 2, false).unwrap();
        drop(a);
        assert!(keys(&poller, Duration::ZERO).is_empty());
    }

    #[test]
    fn stopping_wakes_whoever_waits() {
        let poller = Poller::new().unwrap();
        std::thread::scope(|s| {
            let waits = [(); 3].map(|()| s.spawn(|| keys(&poller, LONG)));
            poller.stop();
            for wait in waits {
                assert!(wait.join().unwrap().is_empty());
            }
        });
        assert!(keys(&poller, LONG).is_empty(), "from then on");
    }
}

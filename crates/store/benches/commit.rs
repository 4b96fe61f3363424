//! What a durable commit costs on this machine before a database has done anything for it:
//! `cargo bench -p millpond-store --bench commit`, or with `-- CLIENTS CLIENT_US SERVER_US` for other loads.
//!
//! Clients send 144 bytes over a Unix socket and wait for 52, as sysbench's updates do; a thread for each client receives them, and
//! answers are sent once a sector of a file has been written past the cache and synced, one round at a time for all who wait.
//! No server with a thread per connection and a sync per commit does better here than this with no work on either side; the
//! second line, with the time that sysbench and a statement take, is what to hold a measured rate against.

use millpond_store::io::{AlignedBuf, File, RealStorage, SECTOR, Storage};
use std::hint::spin_loop;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

const REQUEST: usize = 144;
const ANSWER: usize = 52;
const FILE: u64 = 64 << 20;
const TIME: Duration = Duration::from_secs(4);

/// Those who wait for the next round, and the file that rounds write.
struct Rounds {
    state: Mutex<State>,
    wanted: Condvar,
    file: Arc<dyn File>,
    count: AtomicU64,
    stop: AtomicBool,
}

#[derive(Default)]
struct State {
    waiting: Vec<Arc<UnixStream>>,
    under_way: bool,
    at: u64,
}

impl Rounds {
    /// Whoever finds no round under way runs one; answers are sent by who completes the round.
    fn commit(&self, client: Arc<UnixStream>, buf: &mut AlignedBuf) {
        let mut state = self.state.lock().unwrap();
        state.waiting.push(client);
        if !state.under_way {
            state.under_way = true;
            self.round(state, buf);
            if !self.state.lock().unwrap().waiting.is_empty() {
                self.wanted.notify_one();
            }
        }
    }

    fn round(&self, mut state: std::sync::MutexGuard<'_, State>, buf: &mut AlignedBuf) {
        let due = std::mem::take(&mut state.waiting);
        let at = state.at;
        state.at = (at + SECTOR as u64) % FILE;
        drop(state);
        self.file.write_at(&buf[..SECTOR], at).expect("write");
        self.file.sync().expect("sync");
        self.count.fetch_add(1, Ordering::Relaxed);
        self.state.lock().unwrap().under_way = false;
        for client in due {
            // A client that is gone needs no answer.
            let _ = (&*client).write_all(&[0; ANSWER]);
        }
    }

    /// Runs the rounds that wait when one is completed.
    fn serve(&self) {
        let mut buf = AlignedBuf::new(SECTOR);
        let mut state = self.state.lock().unwrap();
        while !self.stop.load(Ordering::Relaxed) {
            if state.under_way || state.waiting.is_empty() {
                state = self.wanted.wait_timeout(state, TIME).unwrap().0;
                continue;
            }
            state.under_way = true;
            self.round(state, &mut buf);
            state = self.state.lock().unwrap();
        }
    }
}

fn work(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        spin_loop();
    }
}

/// Runs a load and prints what it came to.
fn measure(storage: &RealStorage, clients: usize, client: Duration, server: Duration) {
    let rounds = Arc::new(Rounds {
        state: Mutex::default(),
        wanted: Condvar::new(),
        file: storage.open_direct("log").expect("the file"),
        count: AtomicU64::new(0),
        stop: AtomicBool::new(false),
    });
    let log = thread::spawn({
        let rounds = rounds.clone();
        move || rounds.serve()
    });
    let start = Instant::now();
    let threads: Vec<_> = (0..clients)
        .map(|_| {
            let (mut near, far) = UnixStream::pair().expect("a socket pair");
            let far = Arc::new(far);
            let rounds = rounds.clone();
            thread::spawn(move || {
                let mut buf = AlignedBuf::new(SECTOR);
                let mut request = [0; REQUEST];
                while (&*far).read_exact(&mut request).is_ok() {
                    work(server);
                    rounds.commit(far.clone(), &mut buf);
                }
            });
            thread::spawn(move || {
                let (mut answer, mut n) = ([0; ANSWER], 0u64);
                while start.elapsed() < TIME {
                    work(client);
                    near.write_all(&[0; REQUEST]).expect("send");
                    near.read_exact(&mut answer).expect("receive");
                    n += 1;
                }
                n
            })
        })
        .collect();
    let commits: u64 = threads.into_iter().map(|t| t.join().unwrap()).sum();
    let seconds = start.elapsed().as_secs_f64();
    rounds.stop.store(true, Ordering::Relaxed);
    rounds.wanted.notify_one();
    log.join().unwrap();
    let n = rounds.count.load(Ordering::Relaxed) as f64;
    println!(
        "{clients} clients, {} + {} us of work: {:.0} commits/s in {:.0} rounds/s",
        client.as_micros(),
        server.as_micros(),
        commits as f64 / seconds,
        n / seconds
    );
}

fn main() {
    let given: Vec<u64> = std::env::args()
        .skip(1)
        .filter_map(|a| a.parse().ok())
        .collect();
    let folder = concat!(env!("CARGO_TARGET_TMPDIR"), "/commit");
    let storage = RealStorage::new(folder).expect("storage");
    let file = storage.open("log", true).expect("a file");
    let zeroes = vec![0; 1 << 20];
    (0..FILE).step_by(zeroes.len()).for_each(|at| {
        file.write_at(&zeroes, at).expect("fill");
    });
    file.sync().expect("sync");
    let us = |at: usize, or: u64| Duration::from_micros(given.get(at).copied().unwrap_or(or));
    let clients = given.first().copied().unwrap_or(8) as usize;
    measure(&storage, clients, us(1, 0), us(2, 0));
    if given.is_empty() {
        measure(&storage, clients, us(1, 12), us(2, 8));
    }
    std::fs::remove_dir_all(folder).expect("removing the file");
}

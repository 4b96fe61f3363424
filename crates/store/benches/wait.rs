//! What counting waits costs a lock that nobody else wants: `cargo bench -p millpond-store --bench wait`. Nanoseconds of wall
//! time for taking and releasing, the best of several rounds.

use millpond_store::wait::{self, Class};
use std::hint::black_box;
use std::time::{Duration, Instant};

const CALLS: u32 = 20_000_000;

fn measure(what: &str, mut call: impl FnMut()) {
    let rounds = (0..7).map(|_| {
        let start = Instant::now();
        (0..CALLS).for_each(|_| call());
        start.elapsed()
    });
    let best: Duration = rounds.min().unwrap_or_default();
    println!(
        "{what:36} {:6.2} ns",
        best.as_nanos() as f64 / f64::from(CALLS)
    );
}

fn main() {
    let plain = parking_lot::Mutex::new(0u64);
    let counted = wait::Mutex::<u64, { Class::LruList as usize }>::new(0);
    measure("parking_lot::Mutex", || *black_box(&plain).lock() += 1);
    measure("wait::Mutex", || *black_box(&counted).lock() += 1);
    let plain = parking_lot::RwLock::new(0u64);
    let counted = wait::RwLock::<u64, { Class::Maintenance as usize }>::new(0);
    measure("parking_lot::RwLock, shared", || {
        black_box(*black_box(&plain).read());
    });
    measure("wait::RwLock, shared", || {
        black_box(*black_box(&counted).read());
    });
    let waits = wait::snapshot().iter().map(|w| w.count).sum::<u64>();
    println!("waits counted: {waits}");
}

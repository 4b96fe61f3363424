//! A database on a simulated disk that may lose its power.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use millpond_session::{ConnectionInfo, Instance, InstanceOptions, SqlResult};
use millpond_store::Options;
use millpond_store::io::sim::{OpKind, SimStorage, Step};

use super::Client;

/// Opens what is on the disk.
pub fn open(storage: &SimStorage) -> Instance {
    try_open(storage).expect("open")
}

/// Opens what is on the disk, whose power may go meanwhile.
pub fn try_open(storage: &SimStorage) -> SqlResult<Instance> {
    let options = InstanceOptions {
        path: "simulated".into(),
        store: Options {
            pool_bytes: 8 << 20,
            log_bytes: 4 << 20,
            ..Options::default()
        },
        variables: Vec::new(),
    };
    Instance::open_on(options, Arc::new(storage.clone()))
}

/// A session with a database `test` in use.
pub fn client(instance: &Instance) -> Client {
    let info = ConnectionInfo {
        user: "root".into(),
        host: "localhost".into(),
        ..ConnectionInfo::default()
    };
    let mut c = Client(instance.connect(info).expect("connect"));
    c.ok("CREATE DATABASE IF NOT EXISTS test");
    c.ok("USE test");
    c
}

/// Cuts the power instead of the operation that comes after so many others that change the disk.
pub fn cut_after(storage: &SimStorage, operations: u64) {
    let left = AtomicU64::new(operations);
    storage.on_step(move |kind, _| match kind {
        OpKind::Read => Step::Go,
        _ => match left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)) {
            Ok(_) => Step::Go,
            Err(_) => Step::Cut,
        },
    });
}

/// Counts the operations that change the disk from now on.
pub fn count_operations(storage: &SimStorage) -> Arc<AtomicU64> {
    let count = Arc::new(AtomicU64::new(0));
    let counter = count.clone();
    storage.on_step(move |kind, _| {
        if kind != OpKind::Read {
            counter.fetch_add(1, Ordering::Relaxed);
        }
        Step::Go
    });
    count
}

//! A database on a simulated disk that may lose its power.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use millpond_session::{ConnectionInfo, Instance, InstanceOptions, SqlResult};
use millpond_store::Options;
use millpond_store::crypt::{self, Keyring, MasterKey};
use millpond_store::io::sim::{OpKind, SimStorage, Step};

use super::Client;

/// A keyring of two keys.
#[derive(Debug)]
pub struct Keys;

impl fmt::Display for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the test's keyring")
    }
}

impl Keyring for Keys {
    fn keys(&self) -> millpond_store::Result<Vec<MasterKey>> {
        let key = |n: u8| MasterKey {
            id: format!("key {n}"),
            key: [n; 32],
        };
        Ok(vec![key(1), key(2)])
    }
    fn rotate(&self) -> millpond_store::Result<MasterKey> {
        self.current()
    }
}

/// Makes an encrypted database.
pub fn open_encrypted(storage: &SimStorage) -> Instance {
    open_with(storage, Some(Arc::new(Keys))).expect("open")
}

/// Opens what is on the disk.
pub fn open(storage: &SimStorage) -> Instance {
    try_open(storage).expect("open")
}

/// Opens what is on the disk, whose power may go meanwhile; by [`Keys`], if it is encrypted.
pub fn try_open(storage: &SimStorage) -> SqlResult<Instance> {
    let encrypted = crypt::is_encrypted(storage);
    open_with(
        storage,
        encrypted.then(|| Arc::new(Keys) as Arc<dyn Keyring>),
    )
}

fn open_with(storage: &SimStorage, keyring: Option<Arc<dyn Keyring>>) -> SqlResult<Instance> {
    let options = InstanceOptions {
        path: "simulated".into(),
        store: Options {
            pool_bytes: 8 << 20,
            log_bytes: 4 << 20,
            keyring,
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

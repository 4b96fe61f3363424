//! Who waits for a metadata lock, in the process list's words.

use hashbrown::HashMap;
use millpond_store::Engine;
use millpond_store::txn::{Locked, WaitInfo};

/// What the process list says of those who wait for metadata locks, by connection.
pub(super) fn metadata_waits(engine: &Engine) -> HashMap<u64, &'static str> {
    let state = |w: &WaitInfo| match &w.lock.what {
        Locked::Metadata { name, .. } => Some(match split_name(name) {
            (_, Some(_)) => "Waiting for table metadata lock",
            ("", None) => "Waiting for global read lock",
            _ => "Waiting for schema metadata lock",
        }),
        _ => None,
    };
    let waits = engine.waits();
    let each = waits
        .iter()
        .filter_map(|w| Some((w.lock.who.tag, state(w)?)));
    each.collect()
}

/// Database and table of a metadata lock's name; the one above all has neither, and that under which a database's tables are opened no table.
pub(super) fn split_name(name: &str) -> (&str, Option<&str>) {
    match name.split_once('\0') {
        Some((database, "")) => (database, None),
        Some((database, table)) => (database, Some(table)),
        None => (name, None),
    }
}

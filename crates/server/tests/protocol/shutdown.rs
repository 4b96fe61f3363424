//! COM_SHUTDOWN, as older clients shut a server down.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::commits::Db;
use crate::support::{DEPRECATE_EOF, Packet};

#[test]
fn a_command_shuts_down() {
    let db = Db::start("shutdown");
    let mut c = db.client_of(DEPRECATE_EOF);
    // Nobody has said how.
    c.command(b"\x08\x00");
    assert_eq!(c.packet().err().0, 1235);
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    db.instance.on_shutdown(move || {
        count.fetch_add(1, Ordering::Relaxed);
    });
    for command in [&b"\x08\x00"[..], b"\x08", b"\x03SHUTDOWN"] {
        c.command(command);
        assert!(matches!(c.packet(), Packet::Ok { .. }));
    }
    assert_eq!(asked.load(Ordering::Relaxed), 3);
    db.stop();
}

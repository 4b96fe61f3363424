//! A client that sends what it likes to a server that listens.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

use millpond_server::{Server, ServerConfig};
use millpond_session::Instance;
use millpond_store::io::sim::SimStorage;

use crate::database::{fill, open};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// HandshakeResponse41 of root, who has no password: PROTOCOL_41, SECURE_CONNECTION, PLUGIN_AUTH, several statements and results, DEPRECATE_EOF.
const CAPABILITIES: u32 = 1 << 9 | 1 << 15 | 1 << 16 | 1 << 17 | 1 << 18 | 1 << 19 | 1 << 24;

static SOCKET: LazyLock<PathBuf> = LazyLock::new(|| {
    let variables = [
        ("innodb_lock_wait_timeout", "1"),
        ("lock_wait_timeout", "1"),
        ("net_read_timeout", "1"),
        ("max_execution_time", "1000"),
    ];
    let instance: Instance = open(&SimStorage::new(), &variables).expect("an empty disk opens");
    fill(&instance);
    let socket = std::env::temp_dir().join(format!("millpond-fuzz-{}.sock", std::process::id()));
    let config = ServerConfig {
        socket: Some(socket.clone()),
        ..ServerConfig::default()
    };
    // It serves until the process ends.
    std::mem::forget(Server::start(instance, &config).expect("it listens"));
    socket
});

fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = (payload.len() as u32).to_le_bytes().to_vec();
    out[3] = sequence;
    out.extend_from_slice(payload);
    out
}

fn login() -> Vec<u8> {
    let mut answer = CAPABILITIES.to_le_bytes().to_vec();
    answer.extend_from_slice(&[0, 0, 0, 1, 45]);
    answer.extend_from_slice(&[0; 23]);
    answer.extend_from_slice(b"root\0\0mysql_native_password\0");
    packet(1, &answer)
}

/// The first byte says whether the client logs in before, and whether what follows is in packets: a length of a byte before each.
pub fn run(data: &[u8]) {
    let Some((&how, mut rest)) = data.split_first() else {
        return;
    };
    let lower = rest.to_ascii_lowercase();
    let waits = [
        &b"sleep"[..],
        b"benchmark",
        b"get_lock",
        b"shutdown",
        b"file",
    ];
    if waits
        .iter()
        .any(|w| lower.windows(w.len()).any(|at| at == *w))
    {
        return;
    }
    let mut sent = Vec::new();
    if how & 1 == 0 {
        sent.extend_from_slice(&login());
    }
    while how & 2 == 0 && !rest.is_empty() {
        let len = usize::from(rest[0]).min(rest.len() - 1);
        sent.extend_from_slice(&packet(how & 1, &rest[1..=len]));
        rest = &rest[1 + len..];
    }
    sent.extend_from_slice(rest);
    let mut stream = UnixStream::connect(&*SOCKET).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    // The server may hang up in the midst of it.
    let _ = stream.write_all(&sent);
    let _ = stream.shutdown(Shutdown::Write);
    let mut answers = Vec::new();
    if let Err(e) = stream.read_to_end(&mut answers) {
        let late = matches!(
            e.kind(),
            std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
        );
        assert!(!late, "the connection does not end");
    }
}

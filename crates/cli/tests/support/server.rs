//! The server under test as a child process.

use mysql::{Conn, OptsBuilder};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The build under test, or the one that `MILLPOND_TEST_BINARY` names.
fn binary() -> String {
    std::env::var("MILLPOND_TEST_BINARY").unwrap_or_else(|_| env!("CARGO_BIN_EXE_millpond").into())
}

pub struct Server {
    child: Child,
    socket: PathBuf,
}

impl Server {
    /// Starts a server with a small pool and a small log, so that eviction and checkpoints take part; `drop_algorithm` says
    /// what it does about cached pages of tables that go.
    pub fn start(data: &Path, drop_algorithm: &str) -> Server {
        let socket = data.join("kill.sock");
        let _ = std::fs::remove_file(&socket);
        let child = Command::new(binary())
            .args(["serve", "--port", "0", "--pool", "8M"])
            .args(["--set", "innodb_redo_log_capacity=8388608"])
            .arg("--set")
            .arg(format!("millpond_drop_algorithm={drop_algorithm}"))
            .arg("--data")
            .arg(data)
            .arg("--socket")
            .arg(&socket)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("the millpond binary starts");
        Server { child, socket }
    }

    /// How to connect to it.
    pub fn opts(&self) -> OptsBuilder {
        OptsBuilder::new()
            .socket(self.socket.to_str())
            .user(Some("root"))
    }

    /// Connects, waiting for recovery to end.
    pub fn connect(&mut self) -> Conn {
        let opts = self.opts();
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            match Conn::new(opts.clone()) {
                Ok(conn) => return conn,
                Err(e) => {
                    if let Some(status) = self.child.try_wait().unwrap() {
                        panic!("the server ended with {status}");
                    }
                    assert!(
                        Instant::now() < deadline,
                        "no connection within a minute: {e}"
                    );
                    std::thread::park_timeout(Duration::from_millis(20));
                }
            }
        }
    }

    pub fn kill(mut self) {
        self.child.kill().expect("SIGKILL");
        self.child.wait().unwrap();
    }

    /// SIGTERM: the server must end cleanly.
    pub fn stop(mut self) {
        let pid = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-TERM", &pid])
                .status()
                .unwrap()
                .success()
        );
        let status = self.child.wait().unwrap();
        assert!(status.success(), "SIGTERM ended the server with {status}");
    }
}

/// A test that fails leaves no server behind.
impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `millpond check` finds nothing wrong.
pub fn check(data: &Path) {
    let out = Command::new(binary())
        .arg("check")
        .arg("--data")
        .arg(data)
        .output()
        .unwrap();
    assert!(
        out.status.success(),
        "millpond check: {}\n{}\n{}",
        out.status,
        String::from_utf8_lossy(&out.stdout),
        String::from_utf8_lossy(&out.stderr)
    );
}

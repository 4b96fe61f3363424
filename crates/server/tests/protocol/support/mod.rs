//! A client that speaks bytes, and a stand-in for the database.

mod fake;

pub use fake::Fake;
use millpond_server::{Server, ServerConfig};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

pub const DEPRECATE_EOF: u32 = 1 << 24;
pub const MULTI: u32 = 3 << 16;
pub const LOCAL_FILES: u32 = 1 << 7;
/// PROTOCOL_41, TRANSACTIONS, SECURE_CONNECTION, PLUGIN_AUTH.
const BASE: u32 = 1 << 9 | 1 << 13 | 1 << 15 | 1 << 19;
const CONNECT_WITH_DB: u32 = 8;

/// A directory for a socket, removed in the end.
pub struct Dir(PathBuf);

impl Dir {
    pub fn socket(&self) -> &Path {
        &self.0
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Returns when this is so, which it has to be within a minute.
pub fn wait_for(mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it never came");
        std::thread::sleep(Duration::from_millis(2));
    }
}

pub fn start(fake: Fake) -> (Server<Fake>, Dir) {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    let dir = Dir(std::env::temp_dir().join(format!("millpond-test-{}-{n}", std::process::id())));
    let config = ServerConfig {
        tcp: None,
        socket: Some(dir.0.clone()),
        ..Default::default()
    };
    (Server::start(fake, &config).unwrap(), dir)
}

#[derive(Debug)]
pub enum Packet {
    Ok {
        more: bool,
    },
    Eof,
    Err {
        code: u16,
        state: String,
        text: String,
    },
    Other,
}

impl Packet {
    pub fn err(self) -> (u16, String, String) {
        match self {
            Packet::Err { code, state, text } => (code, state, text),
            other => panic!("not an error: {other:?}"),
        }
    }
}

pub struct Client {
    pub stream: UnixStream,
    pub id: u32,
    /// The last result said that another follows.
    pub more: bool,
    caps: u32,
    /// Sequence id of the next packet either way.
    pub seq: u8,
}

impl Client {
    pub fn over(stream: UnixStream) -> Client {
        Client {
            stream,
            id: 0,
            more: false,
            caps: 0,
            seq: 0,
        }
    }

    /// Connects and reads the greeting.
    pub fn greeted(socket: &Path) -> Client {
        let mut c = Client::over(UnixStream::connect(socket).unwrap());
        let greeting = c.raw();
        assert_eq!(greeting[0], 10);
        let version = greeting[1..].iter().position(|&b| b == 0).unwrap() + 2;
        assert!(greeting[1..].starts_with(millpond_session::VERSION.as_bytes()));
        c.id = u32::from_le_bytes(greeting[version..version + 4].try_into().unwrap());
        c
    }

    pub fn respond(&mut self, user: &str, auth: &[u8], plugin: &str, caps: u32, db: Option<&str>) {
        self.caps = caps | BASE | if db.is_some() { CONNECT_WITH_DB } else { 0 };
        let mut p = self.caps.to_le_bytes().to_vec();
        p.extend_from_slice(&[0, 0, 0, 1, 45]);
        p.extend_from_slice(&[0; 23]);
        p.extend_from_slice(user.as_bytes());
        p.push(0);
        p.push(auth.len() as u8);
        p.extend_from_slice(auth);
        if let Some(db) = db {
            p.extend_from_slice(db.as_bytes());
            p.push(0);
        }
        p.extend_from_slice(plugin.as_bytes());
        p.push(0);
        self.send(&p);
    }

    pub fn connect(socket: &Path, caps: u32) -> Client {
        let mut c = Client::greeted(socket);
        c.respond("root", b"", "mysql_native_password", caps, None);
        assert!(matches!(c.packet(), Packet::Ok { .. }));
        c
    }

    pub fn quit(mut self) {
        self.command(b"\x01");
        assert!(self.gone());
    }

    /// Starts a command.
    pub fn command(&mut self, payload: &[u8]) {
        self.seq = 0;
        self.send(payload);
    }

    /// Sends a payload as the next packet or packets.
    pub fn send(&mut self, payload: &[u8]) {
        const MAX: usize = 0xff_ffff;
        let mut rest = payload;
        loop {
            let n = rest.len().min(MAX);
            let mut framed = (n as u32).to_le_bytes()[..3].to_vec();
            framed.push(self.seq);
            self.seq = self.seq.wrapping_add(1);
            framed.extend_from_slice(&rest[..n]);
            self.stream.write_all(&framed).unwrap();
            rest = &rest[n..];
            if n < MAX {
                return;
            }
        }
    }

    /// The next payload, joined.
    pub fn raw(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        loop {
            let mut h = [0; 4];
            self.stream.read_exact(&mut h).unwrap();
            assert_eq!(h[3], self.seq, "sequence id");
            self.seq = self.seq.wrapping_add(1);
            let n = u32::from_le_bytes([h[0], h[1], h[2], 0]) as usize;
            let at = out.len();
            out.resize(at + n, 0);
            self.stream.read_exact(&mut out[at..]).unwrap();
            if n < 0xff_ffff {
                return out;
            }
        }
    }

    /// Whether the server has closed the connection.
    pub fn gone(&mut self) -> bool {
        matches!(self.stream.read(&mut [0]), Ok(0) | Err(_))
    }

    pub fn packet(&mut self) -> Packet {
        let p = self.raw();
        match p[..] {
            [0, _, _, status, ..] if p.len() >= 7 => Packet::Ok {
                more: status & 8 != 0,
            },
            [0xfe, _, _, status, _] => {
                self.more = status & 8 != 0;
                Packet::Eof
            }
            [0xfe, _, _, status, ..] if p.len() < 0xff_ffff && self.caps & DEPRECATE_EOF != 0 => {
                self.more = status & 8 != 0;
                Packet::Eof
            }
            [0xff, a, b, b'#', ..] => Packet::Err {
                code: u16::from_le_bytes([a, b]),
                state: String::from_utf8(p[4..9].to_vec()).unwrap(),
                text: String::from_utf8(p[9..].to_vec()).unwrap(),
            },
            _ => Packet::Other,
        }
    }

    /// Column count, definitions, and the EOF after them.
    fn definitions(&mut self) {
        let n = self.raw();
        assert_eq!(n.len(), 1, "{n:?}");
        for _ in 0..n[0] {
            assert!(self.raw().starts_with(b"\x03def"));
        }
        if self.caps & DEPRECATE_EOF == 0 {
            assert!(matches!(self.packet(), Packet::Eof));
        }
    }

    /// Rows of the text protocol.
    pub fn result_set(&mut self) -> Vec<Vec<Option<Vec<u8>>>> {
        self.definitions();
        let mut rows = Vec::new();
        loop {
            let p = self.raw();
            if p[0] == 0xfe && p.len() < 20 {
                self.more = p[3] & 8 != 0;
                return rows;
            }
            let mut row = Vec::new();
            let mut c = millpond_server::proto::Cursor::new(&p);
            while !c.is_empty() {
                if c.rest()[0] == 0xfb {
                    c.u8().unwrap();
                    row.push(None);
                } else {
                    row.push(Some(c.lenenc_bytes().unwrap().to_vec()));
                }
            }
            rows.push(row);
        }
    }

    /// Rows of the binary protocol, undecoded.
    pub fn binary_rows(&mut self) -> Vec<Vec<u8>> {
        self.definitions();
        let mut rows = Vec::new();
        loop {
            let p = self.raw();
            if p[0] == 0xfe && p.len() < 20 {
                return rows;
            }
            rows.push(p);
        }
    }

    /// Prepares; returns id, number of parameters, number of columns.
    pub fn prepare(&mut self, sql: &str) -> (u32, u16, u16) {
        self.command(format!("\x16{sql}").as_bytes());
        let p = self.raw();
        assert_eq!((p[0], p.len()), (0, 12));
        let u16_at = |i: usize| u16::from_le_bytes([p[i], p[i + 1]]);
        let (columns, params) = (u16_at(5), u16_at(7));
        for n in [params, columns] {
            for _ in 0..n {
                assert!(self.raw().starts_with(b"\x03def"));
            }
            if n > 0 && self.caps & DEPRECATE_EOF == 0 {
                assert!(matches!(self.packet(), Packet::Eof));
            }
        }
        (
            u32::from_le_bytes(p[1..5].try_into().unwrap()),
            params,
            columns,
        )
    }

    /// Executes; `body` is what follows the iteration count.
    pub fn execute(&mut self, id: u32, body: &[u8]) {
        self.execute_as(0, id, body);
    }

    /// The same with flags: 1 asks for a cursor.
    pub fn execute_as(&mut self, flags: u8, id: u32, body: &[u8]) {
        let mut p = vec![0x17];
        p.extend_from_slice(&id.to_le_bytes());
        p.extend_from_slice(&[flags, 1, 0, 0, 0]);
        p.extend_from_slice(body);
        self.command(&p);
    }
}

//! TLS, as clients meet it: certificates, versions, what accounts ask of connections, reloading. The client is a few packets over rustls.

mod threads;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use millpond_server::{Server, ServerConfig, Tls};
use millpond_session::{Instance, InstanceOptions};
use mysql::prelude::Queryable;
use mysql::{Conn, Error, OptsBuilder};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned, version};

/// A server and its data directory.
struct Db {
    dir: PathBuf,
    variables: Vec<(String, String)>,
    running: Option<(Instance, Server<Instance>)>,
}

impl Db {
    fn start() -> Db {
        Db::with(&[])
    }

    fn with(variables: &[(&str, &str)]) -> Db {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("millpond-tls-{}-{n}", std::process::id()));
        std::fs::create_dir(&dir).unwrap();
        let variables = variables
            .iter()
            .map(|(n, v)| (n.to_string(), v.to_string()));
        let mut db = Db {
            dir,
            variables: variables.chain(threads::variables()).collect(),
            running: None,
        };
        db.open();
        db
    }

    fn open(&mut self) {
        let instance = Instance::open(InstanceOptions {
            path: self.data(),
            store: millpond_store::Options {
                pool_bytes: 32 << 20,
                log_bytes: 16 << 20,
                ..millpond_store::Options::default()
            },
            variables: self.variables.clone(),
        })
        .unwrap();
        let config = ServerConfig {
            tcp: Some("127.0.0.1:0".parse().unwrap()),
            socket: Some(self.dir.join("sock")),
            tls: Tls::open(&instance).unwrap(),
            ..Default::default()
        };
        let server = Server::start(instance.clone(), &config).unwrap();
        self.running = Some((instance, server));
    }

    fn close(&mut self) {
        if let Some((instance, server)) = self.running.take() {
            server.shutdown(Duration::from_secs(5));
            instance.close().unwrap();
        }
    }

    fn data(&self) -> PathBuf {
        self.dir.join("data")
    }

    fn addr(&self) -> SocketAddr {
        self.running.as_ref().unwrap().1.tcp_addr().unwrap()
    }

    fn root(&self) -> Conn {
        let opts = OptsBuilder::new().socket(Some(self.dir.join("sock").to_str().unwrap()));
        Conn::new(opts.user(Some("root"))).unwrap()
    }

    /// Over TCP, without TLS.
    fn plain(&self, user: &str, password: &str) -> Result<Conn, Error> {
        Conn::new(
            OptsBuilder::new()
                .ip_or_hostname(Some("127.0.0.1"))
                .tcp_port(self.addr().port())
                .user(Some(user))
                .pass(Some(password))
                .prefer_socket(false),
        )
    }

    /// With the authority that was made, and without a certificate.
    fn with_tls(&self, user: &str, password: &str) -> Result<Client, String> {
        Line::to(self)
            .tls(&Trust::made(self))?
            .login(user, password)
    }

    fn with_certificate(&self, user: &str) -> Result<Client, String> {
        let mut trust = Trust::made(self);
        trust.own = Some(["client-cert.pem", "client-key.pem"].map(|name| self.data().join(name)));
        Line::to(self).tls(&trust)?.login(user, "pw")
    }
}

impl Drop for Db {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.close();
        }
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

static TLS12: [&rustls::SupportedProtocolVersion; 1] = [&version::TLS12];
static TLS13: [&rustls::SupportedProtocolVersion; 1] = [&version::TLS13];

/// What a client goes by.
struct Trust {
    ca: PathBuf,
    name: &'static str,
    own: Option<[PathBuf; 2]>,
    versions: &'static [&'static rustls::SupportedProtocolVersion],
}

impl Trust {
    fn made(db: &Db) -> Trust {
        Trust {
            ca: db.data().join("ca.pem"),
            name: "localhost",
            own: None,
            versions: rustls::ALL_VERSIONS,
        }
    }

    fn config(&self) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        for ca in CertificateDer::pem_file_iter(&self.ca).unwrap() {
            roots.add(ca.unwrap()).unwrap();
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider);
        let builder = builder.with_protocol_versions(self.versions).unwrap();
        let builder = builder.with_root_certificates(roots);
        match &self.own {
            None => builder.with_no_client_auth(),
            Some([cert, key]) => {
                let chain = CertificateDer::pem_file_iter(cert).unwrap();
                let chain = chain.map(Result::unwrap).collect();
                let key = PrivateKeyDer::from_pem_file(key).unwrap();
                builder.with_client_auth_cert(chain, key).unwrap()
            }
        }
    }
}

/// PROTOCOL_41, SSL, TRANSACTIONS, SECURE_CONNECTION, PLUGIN_AUTH.
const CAPABILITIES: u32 = 1 << 9 | 1 << 11 | 1 << 13 | 1 << 15 | 1 << 19;

fn packet(seq: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = (payload.len() as u32).to_le_bytes()[..3].to_vec();
    out.push(seq);
    out.extend_from_slice(payload);
    out
}

fn receive(stream: &mut impl Read) -> Result<Vec<u8>, String> {
    let mut header = [0; 4];
    stream.read_exact(&mut header).map_err(|e| e.to_string())?;
    let n = u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize;
    let mut payload = vec![0; n];
    stream.read_exact(&mut payload).map_err(|e| e.to_string())?;
    Ok(payload)
}

/// A connection that has been greeted.
struct Line(TcpStream);

impl Line {
    fn to(db: &Db) -> Line {
        let mut stream = TcpStream::connect(db.addr()).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .unwrap();
        let greeting = receive(&mut stream).unwrap();
        let version = greeting[1..].iter().position(|b| *b == 0).unwrap() + 2;
        let low = version + 4 + 8 + 1;
        let offered = u16::from_le_bytes([greeting[low], greeting[low + 1]]);
        assert_ne!(offered & 1 << 11, 0, "TLS is offered");
        Line(stream)
    }

    /// Asks for TLS.
    fn ask(mut self) -> TcpStream {
        let mut request = CAPABILITIES.to_le_bytes().to_vec();
        request.extend_from_slice(&[0, 0, 0, 1, 45]);
        request.extend_from_slice(&[0; 23]);
        self.0.write_all(&packet(1, &request)).unwrap();
        self.0
    }

    fn tls(self, trust: &Trust) -> Result<Secured, String> {
        let name = ServerName::try_from(trust.name).unwrap();
        let mut tls = ClientConnection::new(Arc::new(trust.config()), name).unwrap();
        let mut socket = self.ask();
        while tls.is_handshaking() {
            tls.complete_io(&mut socket).map_err(|e| e.to_string())?;
        }
        Ok(Secured(StreamOwned::new(tls, socket)))
    }
}

/// A connection that has TLS.
struct Secured(StreamOwned<ClientConnection, TcpStream>);

impl Secured {
    fn login(mut self, user: &str, password: &str) -> Result<Client, String> {
        let mut response = CAPABILITIES.to_le_bytes().to_vec();
        response.extend_from_slice(&[0, 0, 0, 1, 45]);
        response.extend_from_slice(&[0; 23]);
        response.extend_from_slice(user.as_bytes());
        // An answer to no challenge: the server has to ask for the password itself.
        response.extend_from_slice(b"\0\x20");
        response.extend_from_slice(&[7; 32]);
        response.extend_from_slice(b"caching_sha2_password\0");
        self.0
            .write_all(&packet(2, &response))
            .map_err(|e| e.to_string())?;
        let mut seq = 4;
        loop {
            let answer = receive(&mut self.0)?;
            match answer[..] {
                [0, ..] => return Ok(Client(self.0)),
                [1, 4] => {
                    let password = [password.as_bytes(), b"\0"].concat();
                    let sent = self.0.write_all(&packet(seq, &password));
                    sent.map_err(|e| e.to_string())?;
                    seq += 2;
                }
                _ => return Err(error_of(&answer)),
            }
        }
    }
}

fn error_of(answer: &[u8]) -> String {
    assert_eq!(answer[0], 0xff, "{answer:?}");
    let code = u16::from_le_bytes([answer[1], answer[2]]);
    format!("{code}: {}", String::from_utf8_lossy(&answer[9..]))
}

/// A client that is logged in.
struct Client(StreamOwned<ClientConnection, TcpStream>);

impl Client {
    /// The texts of the first column's and the second's values, if there are two.
    fn query(&mut self, sql: &str) -> Result<Vec<Vec<String>>, String> {
        let command = [b"\x03", sql.as_bytes()].concat();
        self.0.write_all(&packet(0, &command)).unwrap();
        let first = receive(&mut self.0)?;
        match first[0] {
            0 => return Ok(Vec::new()),
            0xff => return Err(error_of(&first)),
            columns => {
                for _ in 0..=columns {
                    receive(&mut self.0)?;
                }
            }
        }
        let mut rows = Vec::new();
        loop {
            let row = receive(&mut self.0)?;
            if row[0] == 0xfe && row.len() < 9 {
                return Ok(rows);
            }
            rows.push(texts(&row));
        }
    }

    fn status(&mut self, name: &str) -> String {
        let rows = self.query(&format!("SHOW STATUS LIKE '{name}'")).unwrap();
        rows[0][1].clone()
    }
}

/// Values of a row, each shorter than 2^24.
fn texts(mut row: &[u8]) -> Vec<String> {
    let mut out = Vec::new();
    while let Some((&n, rest)) = row.split_first() {
        let (n, rest) = match n {
            0xfc => (u16::from_le_bytes([rest[0], rest[1]]) as usize, &rest[2..]),
            0xfd => {
                let n = u32::from_le_bytes([rest[0], rest[1], rest[2], 0]);
                (n as usize, &rest[3..])
            }
            n => (n as usize, rest),
        };
        out.push(String::from_utf8_lossy(&rest[..n]).into_owned());
        row = &rest[n..];
    }
    out
}

fn run(c: &mut Conn, statements: &[&str]) {
    for sql in statements {
        c.query_drop(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
}

fn code<T>(result: Result<T, Error>) -> u16 {
    match result {
        Err(Error::MySqlError(e)) => e.code,
        Err(other) => panic!("{other}"),
        Ok(_) => 0,
    }
}

#[track_caller]
fn refused<T>(result: Result<T, String>, with: &str) {
    let e = result.err().expect("refused");
    assert!(e.starts_with(with), "{e}");
}

#[test]
fn certificates_are_made_once_and_can_be_verified() {
    let mut db = Db::start();
    run(
        &mut db.root(),
        &["CREATE USER u@localhost IDENTIFIED BY 'pw'"],
    );
    let files = [
        "ca.pem",
        "ca-key.pem",
        "server-cert.pem",
        "server-key.pem",
        "client-cert.pem",
        "client-key.pem",
    ];
    let read = |db: &Db| files.map(|name| std::fs::read(db.data().join(name)).unwrap());
    for name in files {
        let mode = std::fs::metadata(db.data().join(name))
            .unwrap()
            .permissions();
        assert_eq!(mode.mode() & 0o777, 0o600, "{name}");
    }
    let made = read(&db);
    db.close();
    db.open();
    assert!(made == read(&db));
    let mut trust = Trust::made(&db);
    for (versions, shown) in [(&TLS13[..], "TLSv1.3"), (&TLS12[..], "TLSv1.2")] {
        trust.versions = versions;
        for name in ["localhost", "127.0.0.1", "::1"] {
            trust.name = name;
            let secured = Line::to(&db).tls(&trust).unwrap();
            let mut c = secured.login("u", "pw").unwrap();
            assert_eq!(c.status("Ssl_version"), shown);
            let cipher = c.status("Ssl_cipher");
            assert!(
                cipher.contains("AES_256_GCM") || cipher.contains("AES256-GCM"),
                "{cipher}"
            );
            assert!(c.status("Ssl_server_not_after").ends_with(" GMT"));
        }
    }
    trust.name = "elsewhere.example";
    assert!(Line::to(&db).tls(&trust).is_err());
    let rows: Vec<(String, String)> = db.root().query("SHOW VARIABLES LIKE 'ssl_c%'").unwrap();
    assert!(
        rows.contains(&("ssl_ca".into(), "ca.pem".into())),
        "{rows:?}"
    );
    assert!(
        rows.contains(&("ssl_cert".into(), "server-cert.pem".into())),
        "{rows:?}"
    );
    // A connection without TLS has no cipher.
    let own: Vec<(String, String)> = db.root().query("SHOW STATUS LIKE 'Ssl_cipher'").unwrap();
    assert_eq!(own, [("Ssl_cipher".to_string(), String::new())]);
}

#[test]
fn passwords_may_be_sent_over_tls() {
    let mut db = Db::start();
    run(
        &mut db.root(),
        &["CREATE USER u@localhost IDENTIFIED BY 'pw'"],
    );
    // Nothing is remembered of passwords from here on.
    db.close();
    db.open();
    assert_eq!(code(db.plain("u", "pw")), 1045);
    refused(db.with_tls("u", "wrong"), "1045");
    refused(db.with_tls("nobody", "pw"), "1045");
    let mut c = db.with_tls("u", "pw").unwrap();
    assert_eq!(c.query("SELECT CURRENT_USER()").unwrap(), [["u@localhost"]]);
    // Now it is.
    assert_eq!(code(db.plain("u", "pw")), 0);
}

#[test]
fn long_packets_go_over_tls() {
    let db = Db::start();
    run(
        &mut db.root(),
        &["CREATE USER u@localhost IDENTIFIED BY 'pw'"],
    );
    let mut c = db.with_tls("u", "pw").unwrap();
    let text = "x".repeat(3 << 20);
    let rows = c
        .query(&format!("SELECT '{text}', LENGTH('{text}')"))
        .unwrap();
    assert_eq!(rows[0][0].len(), text.len());
    assert_eq!(rows[0][1], text.len().to_string());
    for n in 0..100 {
        assert_eq!(c.query(&format!("SELECT {n}")).unwrap(), [[n.to_string()]]);
    }
    let many = "SELECT REPEAT('y', 1000) FROM information_schema.COLUMNS LIMIT 500";
    assert_eq!(c.query(many).unwrap().len(), 500);
}

#[test]
fn insecure_connections_are_refused_where_that_is_asked() {
    let db = Db::start();
    let mut root = db.root();
    run(
        &mut root,
        &[
            "CREATE USER u@localhost IDENTIFIED BY 'pw'",
            "SET GLOBAL require_secure_transport = ON",
        ],
    );
    assert_eq!(code(db.plain("u", "pw")), 3159);
    assert_eq!(code(db.plain("nobody", "pw")), 3159);
    db.with_tls("u", "pw").unwrap();
    db.root();
    run(&mut root, &["SET GLOBAL require_secure_transport = OFF"]);
    assert_eq!(code(db.plain("u", "pw")), 0);
}

#[test]
fn accounts_ask_for_tls_and_certificates() {
    let db = Db::start();
    let mut root = db.root();
    let subject = "/CN=Millpond_Auto_Generated_Client_Certificate";
    let issuer = "/CN=Millpond_Auto_Generated_CA_Certificate";
    run(
        &mut root,
        &[
            "CREATE USER s@localhost IDENTIFIED BY 'pw' REQUIRE SSL",
            "CREATE USER x@localhost IDENTIFIED BY 'pw' REQUIRE X509",
            &format!(
                "CREATE USER b@localhost IDENTIFIED BY 'pw' REQUIRE SUBJECT '{subject}' AND ISSUER '{issuer}'"
            ),
            "CREATE USER o@localhost IDENTIFIED BY 'pw' REQUIRE ISSUER '/CN=other'",
            "CREATE USER c@localhost IDENTIFIED BY 'pw' REQUIRE CIPHER 'TLS_AES_256_GCM_SHA384'",
        ],
    );
    assert_eq!(code(db.plain("s", "pw")), 1045);
    db.with_tls("s", "pw").unwrap();
    db.with_tls("c", "pw").unwrap();
    for user in ["x", "b", "o"] {
        refused(db.with_tls(user, "pw"), "1045");
    }
    for user in ["s", "x", "b"] {
        db.with_certificate(user).unwrap();
    }
    refused(db.with_certificate("o"), "1045");
    run(&mut root, &["ALTER USER o@localhost REQUIRE NONE"]);
    assert_eq!(code(db.plain("o", "pw")), 0);
    // A certificate that nobody known has signed is worse than none.
    let key = rcgen::KeyPair::generate().unwrap();
    let params = rcgen::CertificateParams::new(Vec::new()).unwrap();
    let own = ["own.pem", "own-key.pem"].map(|name| db.dir.join(name));
    std::fs::write(&own[0], params.self_signed(&key).unwrap().pem()).unwrap();
    std::fs::write(&own[1], key.serialize_pem()).unwrap();
    let mut trust = Trust::made(&db);
    trust.own = Some(own);
    let secured = Line::to(&db).tls(&trust);
    assert!(secured.and_then(|s| s.login("s", "pw")).is_err());
}

#[test]
fn certificates_are_reloaded() {
    let db = Db::start();
    let mut root = db.root();
    run(&mut root, &["CREATE USER u@localhost IDENTIFIED BY 'pw'"]);
    let mut before = db.with_tls("u", "pw").unwrap();
    let old = db.dir.join("old-ca.pem");
    std::fs::copy(db.data().join("ca.pem"), &old).unwrap();
    refused(before.query("ALTER INSTANCE RELOAD TLS"), "1227");
    // What can't be read leaves all as it was.
    std::fs::write(db.data().join("server-cert.pem"), "nothing").unwrap();
    assert_eq!(code(root.query_drop("ALTER INSTANCE RELOAD TLS")), 3888);
    db.with_tls("u", "pw").unwrap();
    // What is gone is made anew, under another authority.
    std::fs::remove_file(db.data().join("server-cert.pem")).unwrap();
    run(&mut root, &["ALTER INSTANCE RELOAD TLS"]);
    db.with_tls("u", "pw").unwrap();
    let mut trust = Trust::made(&db);
    trust.ca = old;
    assert!(Line::to(&db).tls(&trust).is_err());
    assert_eq!(before.query("SELECT 1").unwrap(), [["1"]]);
    // Without going back there is no TLS any more, and it is not offered.
    std::fs::write(db.data().join("server-cert.pem"), "nothing").unwrap();
    let reload = "ALTER INSTANCE RELOAD TLS NO ROLLBACK ON ERROR";
    assert_eq!(code(root.query_drop(reload)), 3888);
    assert_eq!(code(db.plain("u", "pw")), 0);
    let mut stream = TcpStream::connect(db.addr()).unwrap();
    let greeting = receive(&mut stream).unwrap();
    let version = greeting[1..].iter().position(|b| *b == 0).unwrap() + 2;
    assert_eq!(greeting[version + 4 + 8 + 1 + 1] & 1 << 3, 0);
}

/// A ClientHello without extensions: of a version, with one cipher suite.
fn hello(version: [u8; 2], suite: [u8; 2]) -> Vec<u8> {
    let mut body = version.to_vec();
    body.extend_from_slice(&[9; 32]);
    body.push(0);
    body.extend_from_slice(&[0, 2]);
    body.extend_from_slice(&suite);
    body.extend_from_slice(&[1, 0]);
    let mut out = vec![22, 3, 1];
    out.extend_from_slice(&(body.len() as u16 + 4).to_be_bytes());
    out.extend_from_slice(&[1, 0]);
    out.extend_from_slice(&(body.len() as u16).to_be_bytes());
    out.extend_from_slice(&body);
    out
}

#[test]
fn old_versions_and_weak_ciphers_are_refused() {
    /// The record that ends a handshake.
    const ALERT: u8 = 21;
    let db = Db::start();
    let weak = [
        // SSL 3, TLS 1.0 and 1.1, with ECDHE-RSA-AES128-GCM-SHA256.
        hello([3, 0], [0xc0, 0x2f]),
        hello([3, 1], [0xc0, 0x2f]),
        hello([3, 2], [0xc0, 0x2f]),
        // TLS 1.2 with AES128-SHA, RC4-SHA, DES-CBC3-SHA, and nothing at all.
        hello([3, 3], [0, 0x2f]),
        hello([3, 3], [0, 5]),
        hello([3, 3], [0, 0x0a]),
        hello([3, 3], [0, 0]),
    ];
    for hello in weak {
        let mut stream = Line::to(&db).ask();
        stream.write_all(&hello).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        assert_eq!(answer.first(), Some(&ALERT), "{answer:?}");
    }
    // What is no TLS at all, or ends in the middle, ends the connection.
    for rubbish in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        &[22, 3, 1, 0xff, 0xff, 1],
        b"",
    ] {
        let mut stream = Line::to(&db).ask();
        stream.write_all(rubbish).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
    }
    db.root();
}

#[test]
fn settings() {
    let mut db = Db::with(&[("tls_version", "TLSv1.3")]);
    run(
        &mut db.root(),
        &["CREATE USER u@localhost IDENTIFIED BY 'pw'"],
    );
    let mut trust = Trust::made(&db);
    trust.versions = &TLS12;
    assert!(Line::to(&db).tls(&trust).is_err());
    db.with_tls("u", "pw").unwrap();
    db.close();
    let open = |variables: &[(&str, &str)]| {
        let variables = variables
            .iter()
            .map(|(n, v)| (n.to_string(), v.to_string()));
        let instance = Instance::open(InstanceOptions {
            path: db.data(),
            store: millpond_store::Options::default(),
            variables: variables.chain(threads::variables()).collect(),
        });
        let instance = instance.unwrap();
        let tls = Tls::open(&instance).map(|tls| tls.is_some());
        instance.close().unwrap();
        tls
    };
    let data = |name: &str| db.data().join(name).display().to_string();
    let (cert, key) = (data("server-cert.pem"), data("server-key.pem"));
    assert_eq!(open(&[("tls_version", "")]), Ok(false));
    assert!(open(&[("tls_version", "TLSv1.1")]).is_err());
    assert!(open(&[("ssl_cert", &cert)]).is_err());
    assert_eq!(open(&[("ssl_cert", &cert), ("ssl_key", &key)]), Ok(true));
    assert!(open(&[("ssl_cert", &cert), ("ssl_key", &data("client-key.pem"))]).is_err());
    assert!(open(&[("ssl_cert", "missing.pem"), ("ssl_key", &key)]).is_err());
    std::fs::remove_file(Path::new(&cert)).unwrap();
    assert_eq!(open(&[("auto_generate_certs", "OFF")]), Ok(false));
}

#[test]
fn public_addresses_take_tls_and_passwords() {
    let db = Db::start();
    let instance = &db.running.as_ref().unwrap().0;
    // An address for documentation: it can't be bound, so nothing is listened on whatever is decided.
    let start = |tls: Option<Arc<Tls>>| {
        let config = ServerConfig {
            tcp: Some("192.0.2.1:3306".parse().unwrap()),
            socket: None,
            tls,
            ..Default::default()
        };
        let started = Server::start(instance.clone(), &config);
        started.err().expect("no such address").to_string()
    };
    let tls = || Tls::open(instance).unwrap();
    assert!(start(None).contains("there is no TLS"));
    let e = start(tls());
    assert!(
        e.contains("the account root@localhost has no password"),
        "{e}"
    );
    run(
        &mut db.root(),
        &["ALTER USER root@localhost IDENTIFIED BY 'pw'"],
    );
    assert!(start(None).contains("there is no TLS"));
    let e = start(tls());
    assert!(e.starts_with("cannot listen on 192.0.2.1:3306"), "{e}");
}

/// What lies decrypted in the server is no event of a socket.
#[test]
fn commands_in_one_record_are_all_answered_by_shared_threads() {
    const COMMANDS: usize = 2000;
    let db = Db::with(&[
        ("millpond_thread_pool_keep", "0"),
        ("thread_pool_size", "1"),
    ]);
    let mut root = db.root();
    run(&mut root, &["CREATE USER u IDENTIFIED BY 'pw'"]);
    let mut client = db.with_tls("u", "pw").unwrap();
    for _ in 0..3 {
        let pings = packet(0, b"\x0e").repeat(COMMANDS);
        assert!(pings.len() < 16 << 10, "one record");
        client.0.write_all(&pings).unwrap();
        for _ in 0..COMMANDS {
            assert_eq!(receive(&mut client.0).unwrap()[0], 0);
        }
    }
}

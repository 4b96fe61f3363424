//! The metrics endpoint: real requests, and what is none.

use millpond_server::metrics::MetricsServer;
use millpond_session::result::{ColumnMeta, Completion, ResultSink};
use millpond_session::{ConnectionInfo, Instance, InstanceOptions, Value};
use std::collections::{HashMap, HashSet};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

struct Db {
    dir: PathBuf,
    instance: Instance,
    metrics: Option<MetricsServer>,
}

impl Db {
    fn start() -> Db {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("millpond-metrics-{}-{n}", std::process::id()));
        let instance = Instance::open(InstanceOptions {
            path: dir.clone(),
            store: millpond_store::Options {
                pool_bytes: 8 << 20,
                log_bytes: 16 << 20,
                ..millpond_store::Options::default()
            },
            variables: Vec::new(),
        })
        .unwrap();
        let addr: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let metrics = MetricsServer::start(instance.clone(), addr).unwrap();
        Db {
            dir,
            instance,
            metrics: Some(metrics),
        }
    }

    fn connect(&self) -> TcpStream {
        TcpStream::connect(self.metrics.as_ref().unwrap().addr()).unwrap()
    }

    /// Sends bytes and says no more; what comes back.
    fn ask(&self, request: &[u8]) -> String {
        let mut s = self.connect();
        // The server may have seen enough and closed before all was sent.
        let _ = s.write_all(request);
        let _ = s.shutdown(Shutdown::Write);
        let mut answer = Vec::new();
        let _ = s.read_to_end(&mut answer);
        String::from_utf8(answer).unwrap()
    }

    fn scrape(&self) -> String {
        let answer = self.ask(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        assert!(head.contains("\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
        let length = format!("\r\nContent-Length: {}\r\n", body.len());
        assert!(head.contains(&length), "{head}");
        body.to_string()
    }
}

impl Drop for Db {
    fn drop(&mut self) {
        if let Some(metrics) = self.metrics.take() {
            metrics.shutdown();
        }
        let _ = self.instance.close();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

struct Nowhere;

impl ResultSink for Nowhere {
    fn columns(&mut self, _: &[ColumnMeta]) -> std::io::Result<()> {
        Ok(())
    }
    fn row(&mut self, _: &[Value<'_>]) -> std::io::Result<()> {
        Ok(())
    }
    fn finish(&mut self, _: &Completion) -> std::io::Result<()> {
        Ok(())
    }
}

/// Checks a page against the text format; samples by name and labels.
fn samples(page: &str) -> HashMap<String, f64> {
    let name = |s: &str| {
        !s.is_empty()
            && !s.starts_with(|c: char| c.is_ascii_digit())
            && s.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let (mut all, mut families, mut family) = (HashMap::new(), HashSet::new(), "");
    assert!(page.ends_with('\n'));
    for line in page.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            family = help.split(' ').next().unwrap();
            assert!(name(family), "{line}");
            assert!(families.insert(family), "{family} comes twice");
            continue;
        }
        if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (of, kind) = kind.split_once(' ').unwrap();
            assert_eq!(of, family);
            assert!(["counter", "gauge", "untyped", "histogram"].contains(&kind));
            continue;
        }
        let (sample, value) = line.rsplit_once(' ').unwrap();
        let value: f64 = value.parse().unwrap_or_else(|_| panic!("{line}"));
        let of = sample.split('{').next().unwrap();
        assert!(name(of) && of.starts_with(family), "{line} in {family}");
        assert!(
            all.insert(sample.to_string(), value).is_none(),
            "{line} comes twice"
        );
    }
    all
}

#[test]
fn metrics_tell_what_happened() {
    let db = Db::start();
    let mut session = db
        .instance
        .connect(ConnectionInfo {
            multi_statements: true,
            ..ConnectionInfo::default()
        })
        .unwrap();
    let before = samples(&db.scrape());
    assert_eq!(before["mysql_up"], 1.0);
    assert_eq!(before["millpond_ddl_statements_total"], 0.0);
    session
        .execute(
            "CREATE DATABASE d; CREATE TABLE d.t (a INT); INSERT INTO d.t VALUES (1); SELECT * FROM d.t; SELECT 1",
            &mut Nowhere,
        )
        .unwrap();
    let after = samples(&db.scrape());
    for (sample, value) in [
        (
            "mysql_global_status_commands_total{command=\"select\"}",
            2.0,
        ),
        ("mysql_global_status_threads_connected", 1.0),
        ("mysql_global_variables_max_connections", 151.0),
        ("mysql_global_variables_autocommit", 1.0),
        ("millpond_ddl_statements_total", 2.0),
        (
            "millpond_statement_duration_seconds_count{kind=\"SELECT\"}",
            2.0,
        ),
        (
            "millpond_statement_duration_seconds_bucket{kind=\"SELECT\",le=\"+Inf\"}",
            2.0,
        ),
        (
            "millpond_statement_duration_seconds_count{kind=\"CREATE TABLE\"}",
            1.0,
        ),
    ] {
        assert_eq!(after.get(sample), Some(&value), "{sample}");
    }
    assert!(after["mysql_global_status_queries"] > before["mysql_global_status_queries"]);
    assert!(after.contains_key("mysql_global_status_buffer_pool_pages{state=\"free\"}"));
    assert!(after.contains_key("millpond_longest_stall_seconds"));
    // The catalog's rows are rows too.
    assert!(after["mysql_global_status_innodb_row_ops_total{operation=\"inserted\"}"] >= 1.0);
    let waits = "mysql_perf_schema_events_waits_total{event_name=\"wait/lock/row/innodb/record\"}";
    assert!(after.contains_key(waits));
    // Buckets grow towards the count.
    let mut buckets: Vec<(f64, f64)> = after
        .iter()
        .filter(|(k, _)| {
            k.starts_with("millpond_statement_duration_seconds_bucket{kind=\"INSERT\"")
        })
        .map(|(k, v)| {
            let le = k.split("le=\"").nth(1).unwrap().trim_end_matches("\"}");
            let le = if le == "+Inf" {
                f64::INFINITY
            } else {
                le.parse().unwrap()
            };
            (le, *v)
        })
        .collect();
    buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
    assert!(buckets.len() > 10 && buckets.windows(2).all(|w| w[0].1 <= w[1].1));
    assert_eq!(buckets.last(), Some(&(f64::INFINITY, 1.0)));
}

#[test]
fn other_requests_are_refused() {
    let db = Db::start();
    let status = |request: &[u8]| -> String {
        let answer = db.ask(request);
        answer.lines().next().unwrap_or_default().to_string()
    };
    let nowhere = status(b"GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(nowhere.starts_with("HTTP/1.1 404 Not Found"), "{nowhere}");
    assert_eq!(
        status(b"POST /metrics HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc"),
        "HTTP/1.1 405 Method Not Allowed"
    );
    assert_eq!(
        status(b"\x16\x03\x01\x02\x00\x01\r\n\r\n"),
        "HTTP/1.1 400 Bad Request"
    );
    assert_eq!(
        status(b"GET /metrics HTTP/1.1\r\n"),
        "HTTP/1.1 400 Bad Request"
    );
    assert_eq!(status(b"SELECT 1"), "HTTP/1.1 400 Bad Request");
    assert_eq!(status(b""), "");
    let mut long = b"GET /metrics HTTP/1.1\r\nX: ".to_vec();
    long.resize(10_000, b'x');
    assert_eq!(
        status(&long),
        "HTTP/1.1 431 Request Header Fields Too Large"
    );
    let head = db.ask(b"HEAD /metrics HTTP/1.1\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.ends_with("\r\n\r\n"));
    // Bytes that mean nothing, many times over.
    let mut state = 7u64;
    for _ in 0..200 {
        let bytes: Vec<u8> = (0..64)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state as u8
            })
            .collect();
        let answer = status(&bytes);
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1.1 4"),
            "{answer}"
        );
    }
    // A client that goes at once, and one that says nothing for as long as it may: others are served.
    drop(db.connect());
    let silent = db.connect();
    samples(&db.scrape());
    drop(silent);
}

#[test]
fn an_address_that_others_reach_is_refused() {
    let db = Db::start();
    let open: SocketAddr = "0.0.0.0:0".parse().unwrap();
    assert!(MetricsServer::start(db.instance.clone(), open).is_err());
    let taken = db.metrics.as_ref().unwrap().addr();
    assert!(MetricsServer::start(db.instance.clone(), taken).is_err());
}

/// Of the status page: the head and the body of the answer.
fn page(db: &Db, path: &str, host: &str) -> (String, String) {
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
    let answer = db.ask(request.as_bytes());
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    (head.to_string(), body.to_string())
}

#[test]
fn the_status_page_fetches_only_its_own_files() {
    let db = Db::start();
    let (head, html) = page(&db, "/", "localhost:9104");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    let policy = "\r\nContent-Security-Policy: default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; \
                  base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'\r\n";
    assert!(head.contains(policy), "{head}");
    assert!(head.contains("\r\nX-Content-Type-Options: nosniff\r\n"));
    for inline in ["<style", "style=", "onclick", "http:", "https:", "<form"] {
        assert!(!html.contains(inline), "{inline}");
    }
    // Whatever it names is there, with its type.
    let named = html
        .split("=\"/")
        .skip(1)
        .filter_map(|t| t.split('"').next());
    let mut files = 0;
    for file in named {
        let (head, body) = page(&db, &format!("/{file}"), "127.0.0.1");
        assert!(
            head.starts_with("HTTP/1.1 200 OK\r\n") && !body.is_empty(),
            "/{file}"
        );
        let kind = match file.split_once('.') {
            Some((_, "js")) => "text/javascript",
            Some((_, "css")) => "text/css",
            Some((_, "json")) => "application/json",
            _ => "text/plain",
        };
        assert!(
            head.contains(&format!("\r\nContent-Type: {kind}")),
            "{head}"
        );
        files += 1;
    }
    assert!(files >= 3, "{html}");
}

#[test]
fn other_sites_do_not_reach_the_status_page() {
    let db = Db::start();
    for path in ["/", "/status.json", "/status.js", "/status.css"] {
        for host in ["evil.example", "10.0.0.1", ""] {
            let (head, body) = page(&db, path, host);
            assert!(head.starts_with("HTTP/1.1 421 "), "{head}");
            assert_eq!(body, "Misdirected Request\n");
        }
    }
    // As before, Prometheus may call it by any name.
    assert!(
        page(&db, "/metrics", "db.example")
            .0
            .starts_with("HTTP/1.1 200 ")
    );
    let head = db.ask(b"GET / HTTP/1.0\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 421 "), "{head}");
    let head = db.ask(b"POST /status.json HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 405 "), "{head}");
}

#[test]
fn the_status_tells_what_happened_and_no_literal() {
    let db = Db::start();
    let info = ConnectionInfo {
        multi_statements: true,
        ..ConnectionInfo::default()
    };
    let mut session = db.instance.connect(info).unwrap();
    session
        .execute(
            "CREATE DATABASE shop; CREATE TABLE shop.orders (id INT PRIMARY KEY COMMENT 'hidden1', s VARCHAR(20) DEFAULT 'hidden2'); \
             INSERT INTO shop.orders VALUES (4711, 'hidden3'); SELECT s FROM shop.orders WHERE id = 4711; \
             CREATE USER u IDENTIFIED BY 'hidden4'; ALTER USER u IDENTIFIED BY 'hidden5'; DROP TABLE shop.orders",
            &mut Nowhere,
        )
        .unwrap();
    let text = page(&db, "/status.json", "localhost").1;
    for secret in ["hidden", "4711"] {
        assert!(!text.contains(secret), "{text}");
    }
    let s: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(s["ddl_statements"], 3);
    assert_eq!(s["ddl"][0]["kind"], "DROP TABLE");
    assert_eq!(s["ddl"][0]["about"], "shop.orders");
    assert!(s["ddl"][0]["took_us"].as_u64().is_some());
    let ended: u64 = (s["seconds"].as_array().unwrap().iter())
        .map(|second| second[1].as_u64().unwrap())
        .sum();
    assert_eq!(ended, 7);
    let digests: Vec<&str> = (s["statements"].as_array().unwrap().iter())
        .map(|d| d["text"].as_str().unwrap())
        .collect();
    let select = "SELECT `s` FROM `shop` . `orders` WHERE `id` = ?";
    assert!(digests.contains(&select), "{digests:?}");
    let of = |kind: &str| {
        let kinds = s["kinds"].as_array().unwrap();
        kinds.iter().find(|k| k["kind"] == kind).cloned().unwrap()
    };
    assert_eq!(of("INSERT")["count"], 1);
    let buckets = of("SELECT")["log"].clone();
    let counted: u64 = (buckets.as_array().unwrap().iter())
        .map(|n| n.as_u64().unwrap())
        .sum();
    assert_eq!(counted, 1);
    for (group, name) in [
        ("pool", "total"),
        ("pool", "page_bytes"),
        ("log", "capacity"),
        ("graveyard", "bytes"),
    ] {
        assert!(s[group][name].is_u64(), "{group}.{name}");
    }
}

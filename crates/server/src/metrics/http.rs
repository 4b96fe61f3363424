//! As much of HTTP/1.1 (RFC 9112) as a scraper and a browser need: one GET or HEAD request per connection.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, TcpStream};
use std::time::{Duration, Instant};

/// Longest request line and headers together.
const MAX_HEAD: usize = 8 << 10;
/// How long a client may take to send its request; and then to take the answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);
/// Sent with everything: what a browser may do with it, which is to draw it with this server's own files, and to keep no copy.
const GUARDS: &str = "Content-Security-Policy: default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'\r\n\
     X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\nCache-Control: no-store\r\n";

/// What there is at a path.
#[derive(Debug)]
pub(super) struct Page {
    /// Its media type.
    pub kind: &'static str,
    pub body: String,
}

/// Plain text.
pub(super) const TEXT: &str = "text/plain; charset=utf-8";

/// What is wrong with a request, as status code and reason.
pub(super) type Refusal = (u16, &'static str);

/// A request worth answering.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request<'a> {
    pub path: &'a str,
    /// The host that the client thinks it talks to.
    pub host: Option<&'a str>,
    /// HEAD: the head of the answer only.
    head_only: bool,
}

/// Reads one request and answers it with what `page` has for it.
pub(super) fn answer(
    stream: &mut TcpStream,
    page: impl FnOnce(&Request<'_>) -> Result<Page, Refusal>,
) -> io::Result<()> {
    let head = read_head(stream, Instant::now() + PATIENCE);
    stream.set_write_timeout(Some(PATIENCE))?;
    let refused = |refusal: Refusal| Page {
        kind: TEXT,
        body: format!("{}\n", refusal.1),
    };
    let (status, page, head_only) = match &head {
        Ok(head) => match parse(head) {
            Ok(request) => match page(&request) {
                Ok(page) => ((200, "OK"), page, request.head_only),
                Err(refusal) => (refusal, refused(refusal), request.head_only),
            },
            Err(refusal) => (refusal, refused(refusal), false),
        },
        Err(Unread::Refused(refusal)) => (*refusal, refused(*refusal), false),
        Err(Unread::Gone) => return Ok(()),
    };
    let allow = if status.0 == 405 {
        "Allow: GET, HEAD\r\n"
    } else {
        ""
    };
    let mut out = format!(
        "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n{GUARDS}{allow}Connection: close\r\n\r\n",
        status.0,
        status.1,
        page.kind,
        page.body.len()
    );
    if !head_only {
        out.push_str(&page.body);
    }
    stream.write_all(out.as_bytes())?;
    stream.shutdown(std::net::Shutdown::Write)?;
    drain(stream)
}

/// Takes in what the client still sends: closing over unread bytes would reset the connection and take the answer with
/// it.
fn drain(stream: &mut TcpStream) -> io::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    let mut buffer = [0; 1024];
    let mut left = MAX_HEAD;
    while left > 0 {
        match read_until(stream, &mut buffer, deadline) {
            Ok(0) => return Ok(()),
            Ok(n) => left = left.saturating_sub(n),
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

enum Unread {
    Refused(Refusal),
    /// The client left, or never said anything.
    Gone,
}

fn read_until(stream: &mut TcpStream, buffer: &mut [u8], deadline: Instant) -> io::Result<usize> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(buffer) {
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            // What a timeout is called differs between systems.
            Err(e) if e.kind() == ErrorKind::WouldBlock => return Err(ErrorKind::TimedOut.into()),
            read => return read,
        }
    }
}

/// Reads up to the blank line that ends a request's head.
fn read_head(stream: &mut TcpStream, deadline: Instant) -> Result<Vec<u8>, Unread> {
    let mut head = Vec::new();
    let mut buffer = [0; 1024];
    loop {
        let n = match read_until(stream, &mut buffer, deadline) {
            Ok(0) if head.is_empty() => return Err(Unread::Gone),
            Ok(0) => return Err(Unread::Refused((400, "Bad Request"))),
            Ok(n) => n,
            Err(e) if e.kind() == ErrorKind::TimedOut => {
                return Err(Unread::Refused((408, "Request Timeout")));
            }
            Err(_) => return Err(Unread::Gone),
        };
        // The end may straddle two reads.
        let from = head.len().saturating_sub(3);
        head.extend_from_slice(&buffer[..n]);
        let end = head[from..].windows(4).position(|w| w == b"\r\n\r\n");
        if let Some(end) = end {
            head.truncate(from + end);
            return Ok(head);
        }
        if head.len() > MAX_HEAD {
            return Err(Unread::Refused((431, "Request Header Fields Too Large")));
        }
    }
}

/// Understands a request's head: everything before the blank line.
fn parse(head: &[u8]) -> Result<Request<'_>, Refusal> {
    const BAD: Refusal = (400, "Bad Request");
    let head = std::str::from_utf8(head).map_err(|_| BAD)?;
    let mut lines = head.split("\r\n");
    let line = lines.next().unwrap_or_default();
    let mut words = line.split(' ');
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(BAD);
    };
    if !matches!(version, "HTTP/1.1" | "HTTP/1.0") {
        let known = version.starts_with("HTTP/");
        return Err(if known {
            (505, "HTTP Version Not Supported")
        } else {
            BAD
        });
    }
    let mut host = None;
    for header in lines {
        // A name without blanks, a colon, a value.
        let (name, value) = header.split_once(':').unwrap_or_default();
        if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err(BAD);
        }
        if name.eq_ignore_ascii_case("host") && host.replace(value.trim()).is_some() {
            return Err(BAD);
        }
    }
    let head_only = match method {
        "GET" => false,
        "HEAD" => true,
        _ => return Err((405, "Method Not Allowed")),
    };
    // A query means nothing here.
    let path = target.split('?').next().unwrap_or_default();
    if !path.starts_with('/') {
        return Err(BAD);
    }
    Ok(Request {
        path,
        host,
        head_only,
    })
}

impl Request<'_> {
    /// Whether the client knows this server by a name that is this machine's alone. A page from elsewhere whose name was made to lead
    /// here (DNS rebinding) does not.
    pub fn is_for_loopback(&self) -> bool {
        let Some(host) = self.host else { return false };
        let name = match host.strip_prefix('[') {
            Some(v6) => v6.split_once(']').map_or("", |(name, _)| name),
            None => host.split(':').next().unwrap_or_default(),
        };
        let is_loopback = |a: IpAddr| a.is_loopback();
        name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(is_loopback)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_its_own() {
        let own = |host: Option<&str>| {
            let request = Request {
                path: "/",
                host,
                head_only: false,
            };
            request.is_for_loopback()
        };
        for host in [
            "localhost",
            "LOCALHOST:9104",
            "127.0.0.1:9104",
            "127.9.9.9",
            "[::1]:80",
        ] {
            assert!(own(Some(host)), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "127.0.0.1.evil.example",
            "10.0.0.1:80",
            "[::2]",
            "[",
        ] {
            assert!(!own(Some(host)), "{host}");
        }
        assert!(!own(None));
    }

    #[test]
    fn requests_are_understood_or_refused() {
        let request = |path, host, head_only| {
            Ok(Request {
                path,
                host,
                head_only,
            })
        };
        let code = |c: u16| move |r: Result<Request<'_>, Refusal>| r.unwrap_err().0 == c;
        assert_eq!(
            parse(b"GET /metrics HTTP/1.1"),
            request("/metrics", None, false)
        );
        assert_eq!(
            parse(b"HEAD /metrics?x=1 HTTP/1.0\r\nHost: a\r\nAccept: */*"),
            request("/metrics", Some("a"), true)
        );
        for (bytes, refused) in [
            (&b""[..], 400),
            (b"GET", 400),
            (b"GET /metrics", 400),
            (b"GET  /metrics HTTP/1.1", 400),
            (b"GET metrics HTTP/1.1", 400),
            (b"GET /metrics HTTP/1.1\r\nno colon", 400),
            (b"GET /metrics HTTP/1.1\r\nbad name: x", 400),
            (b"GET /metrics HTTP/1.1\r\n: x", 400),
            (b"GET / HTTP/1.1\r\nHost: a\r\nhost: b", 400),
            (b"\xff\xfe / HTTP/1.1", 400),
            (b"GET /metrics SPDY/3", 400),
            (b"GET /metrics HTTP/2.0", 505),
            (b"POST /metrics HTTP/1.1", 405),
        ] {
            assert!(code(refused)(parse(bytes)), "{}", bytes.escape_ascii());
        }
    }
}

//! As much of HTTP/1.1 (RFC 9112) as a scraper needs: one GET or HEAD request per connection.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Longest request line and headers together.
const MAX_HEAD: usize = 8 << 10;
/// How long a client may take to send its request; and then to take the answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);
/// Prometheus' text format.
const TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What is wrong with a request, as status code and reason.
type Refusal = (u16, &'static str);

/// A request worth answering.
#[derive(Debug, PartialEq, Eq)]
struct Request<'a> {
    path: &'a str,
    /// HEAD: the head of the answer only.
    head_only: bool,
}

/// Reads one request and answers it with what `page` has for its path.
pub(super) fn answer(
    stream: &mut TcpStream,
    page: impl FnOnce(&str) -> Option<String>,
) -> io::Result<()> {
    let head = read_head(stream, Instant::now() + PATIENCE);
    stream.set_write_timeout(Some(PATIENCE))?;
    let (status, body, head_only) = match &head {
        Ok(head) => match parse(head) {
            Ok(request) => match page(request.path) {
                Some(body) => ((200, "OK"), body, request.head_only),
                None => (
                    (404, "Not Found"),
                    "Metrics are at /metrics\n".into(),
                    request.head_only,
                ),
            },
            Err(refusal) => (refusal, format!("{}\n", refusal.1), false),
        },
        Err(Unread::Refused(refusal)) => (*refusal, format!("{}\n", refusal.1), false),
        Err(Unread::Gone) => return Ok(()),
    };
    let allow = if status.0 == 405 {
        "Allow: GET, HEAD\r\n"
    } else {
        ""
    };
    let mut out = format!(
        "HTTP/1.1 {} {}\r\nContent-Type: {TYPE}\r\nContent-Length: {}\r\n{allow}Connection: close\r\n\r\n",
        status.0,
        status.1,
        body.len()
    );
    if !head_only {
        out.push_str(&body);
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
    for header in lines {
        // A name without blanks, a colon, a value.
        let name = header.split_once(':').map_or("", |(name, _)| name);
        if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c.is_control()) {
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
    Ok(Request { path, head_only })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_understood_or_refused() {
        let request = |path, head_only| Ok(Request { path, head_only });
        let code = |c: u16| move |r: Result<Request<'_>, Refusal>| r.unwrap_err().0 == c;
        assert_eq!(parse(b"GET /metrics HTTP/1.1"), request("/metrics", false));
        assert_eq!(
            parse(b"HEAD /metrics?x=1 HTTP/1.0\r\nHost: a\r\nAccept: */*"),
            request("/metrics", true)
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
            (b"\xff\xfe / HTTP/1.1", 400),
            (b"GET /metrics SPDY/3", 400),
            (b"GET /metrics HTTP/2.0", 505),
            (b"POST /metrics HTTP/1.1", 405),
        ] {
            assert!(code(refused)(parse(bytes)), "{}", bytes.escape_ascii());
        }
    }
}

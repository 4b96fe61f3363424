//! From text, with the messages that MySQL has of its parser, and to text as MySQL prints it.

use std::borrow::Cow;

use super::binary::{in_order, put_array, put_object};
use super::{Json, MAX_DEPTH, MAX_KEY, Ref, View};
use crate::value::text::{write_date, write_datetime, write_f64, write_i64, write_time, write_u64};

/// Why a text is no JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyntaxError {
    /// What is wrong, and at which byte.
    At(&'static str, usize),
    /// Too deep: error 3157.
    Deep,
    /// A key that is too long: error 3151.
    LongKey,
}

type Parsed<T> = Result<T, SyntaxError>;

/// Reads a text.
pub fn parse(text: &[u8]) -> Parsed<Json<'static>> {
    let mut parser = Parser {
        text,
        at: 0,
        depth: 0,
    };
    parser.blanks();
    if parser.peek().is_none() {
        return Err(SyntaxError::At("The document is empty.", parser.at));
    }
    let mut out = Vec::with_capacity(text.len() + 16);
    parser.value(&mut out)?;
    parser.blanks();
    if parser.at < text.len() {
        return parser.fail("The document root must not be followed by other values.");
    }
    Ok(Json(Cow::Owned(out)))
}

struct Parser<'t> {
    text: &'t [u8],
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }
    fn blanks(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }
    fn fail<T>(&self, what: &'static str) -> Parsed<T> {
        Err(SyntaxError::At(what, self.at))
    }
    fn value(&mut self, out: &mut Vec<u8>) -> Parsed<()> {
        match self.peek() {
            Some(b'{') => self.nested(|p| p.object(out)),
            Some(b'[') => self.nested(|p| p.array(out)),
            Some(b'"') => {
                let s = self.string()?;
                View::String(&s).write(out);
                self.scalar()
            }
            Some(b'n') => self.word(b"null", View::Null, out),
            Some(b't') => self.word(b"true", View::Bool(true), out),
            Some(b'f') => self.word(b"false", View::Bool(false), out),
            _ => {
                self.number()?.write(out);
                self.scalar()
            }
        }
    }
    /// A scalar is a level too.
    fn scalar(&self) -> Parsed<()> {
        if self.depth >= MAX_DEPTH {
            return Err(SyntaxError::Deep);
        }
        Ok(())
    }
    fn nested(&mut self, f: impl FnOnce(&mut Self) -> Parsed<()>) -> Parsed<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(SyntaxError::Deep);
        }
        self.at += 1;
        self.blanks();
        f(self)?;
        self.depth -= 1;
        Ok(())
    }
    fn word(&mut self, word: &[u8], value: View<'_>, out: &mut Vec<u8>) -> Parsed<()> {
        for (i, b) in word.iter().enumerate() {
            if self.text.get(self.at + i) != Some(b) {
                self.at += i;
                return self.fail("Invalid value.");
            }
        }
        self.at += word.len();
        value.write(out);
        self.scalar()
    }

    fn array(&mut self, out: &mut Vec<u8>) -> Parsed<()> {
        let mut values = Vec::new();
        let mut ends = Vec::new();
        if self.peek() == Some(b']') {
            self.at += 1;
        } else {
            loop {
                self.value(&mut values)?;
                ends.push(values.len());
                self.blanks();
                match self.peek() {
                    Some(b',') => self.at += 1,
                    Some(b']') => {
                        self.at += 1;
                        break;
                    }
                    _ => {
                        return self.fail("Missing a comma or ] after an array element.");
                    }
                }
                self.blanks();
            }
        }
        let starts = |i: usize| if i == 0 { 0 } else { ends[i - 1] };
        put_array((0..ends.len()).map(|i| &values[starts(i)..ends[i]]), out);
        Ok(())
    }

    fn object(&mut self, out: &mut Vec<u8>) -> Parsed<()> {
        let mut values = Vec::new();
        let mut members = Vec::new();
        if self.peek() == Some(b'}') {
            self.at += 1;
        } else {
            loop {
                if self.peek() != Some(b'"') {
                    return self.fail("Missing a name for object member.");
                }
                let key = self.string()?;
                if key.len() > MAX_KEY {
                    return Err(SyntaxError::LongKey);
                }
                self.blanks();
                if self.peek() != Some(b':') {
                    return self.fail("Missing a colon after a name of object member.");
                }
                self.at += 1;
                self.blanks();
                let start = values.len();
                self.value(&mut values)?;
                members.push((key, start, values.len()));
                self.blanks();
                match self.peek() {
                    Some(b',') => self.at += 1,
                    Some(b'}') => {
                        self.at += 1;
                        break;
                    }
                    _ => {
                        return self.fail("Missing a comma or } after an object member.");
                    }
                }
                self.blanks();
            }
        }
        let all = members
            .iter()
            .map(|(k, from, to)| (&**k, &values[*from..*to]));
        let sorted = in_order(all.collect());
        put_object(sorted.iter().copied(), out);
        Ok(())
    }

    /// Digits; how many.
    fn digits(&mut self) -> usize {
        let start = self.at;
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
        self.at - start
    }

    /// A number: an integer if it has neither a point nor an exponent and 64 bits hold it, else a double.
    fn number(&mut self) -> Parsed<View<'static>> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else if self.digits() == 0 {
            return self.fail("Invalid value.");
        }
        let mut whole = true;
        if self.peek() == Some(b'.') {
            self.at += 1;
            whole = false;
            if self.digits() == 0 {
                return self.fail("Miss fraction part in number.");
            }
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            whole = false;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            if self.digits() == 0 {
                return self.fail("Miss exponent in number.");
            }
        }
        let text = std::str::from_utf8(&self.text[start..self.at]).unwrap_or_default();
        if whole {
            if let Ok(n) = text.parse() {
                return Ok(View::Int(n));
            }
            if let Ok(n) = text.parse() {
                return Ok(View::UInt(n));
            }
        }
        match text.parse::<f64>() {
            Ok(v) if v.is_finite() => Ok(View::Double(v)),
            _ => {
                self.at = start;
                self.fail("Number too big to be stored in double.")
            }
        }
    }

    fn string(&mut self) -> Parsed<String> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let start = self.at;
            while !matches!(self.peek(), None | Some(b'"' | b'\\' | 0..0x20)) {
                self.at += 1;
            }
            match std::str::from_utf8(&self.text[start..self.at]) {
                Ok(s) => out.push_str(s),
                Err(e) => {
                    self.at = start + e.valid_up_to();
                    return self.fail("Invalid encoding in string.");
                }
            }
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => out.push(self.escaped()?),
                None => return self.fail("Missing a closing quotation mark in string."),
                Some(_) => return self.fail("Invalid encoding in string."),
            }
        }
    }

    fn escaped(&mut self) -> Parsed<char> {
        let start = self.at;
        self.at += 2;
        Ok(match self.text.get(start + 1) {
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b @ (b'"' | b'\\' | b'/')) => char::from(*b),
            Some(b'u') => {
                let first = self.hex(start)?;
                let code = match first {
                    0xd800..0xdc00 => {
                        if self.text.get(self.at..self.at + 2) != Some(b"\\u") {
                            return self.bad_pair(start);
                        }
                        self.at += 2;
                        match self.hex(start)? {
                            second @ 0xdc00..0xe000 => {
                                0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)
                            }
                            _ => return self.bad_pair(start),
                        }
                    }
                    other => other,
                };
                match char::from_u32(code) {
                    Some(c) => c,
                    None => return self.bad_pair(start),
                }
            }
            _ => {
                self.at = start;
                return self.fail("Invalid escape character in string.");
            }
        })
    }

    fn bad_pair<T>(&mut self, start: usize) -> Parsed<T> {
        self.at = start;
        self.fail("The surrogate pair in string is invalid.")
    }

    fn hex(&mut self, start: usize) -> Parsed<u32> {
        let digits = self.text.get(self.at..self.at + 4);
        let code = digits
            .filter(|d| d.iter().all(u8::is_ascii_hexdigit))
            .and_then(|d| std::str::from_utf8(d).ok())
            .and_then(|d| u32::from_str_radix(d, 16).ok());
        match code {
            Some(code) => {
                self.at += 4;
                Ok(code)
            }
            None => {
                self.at = start;
                self.fail("Incorrect hex digit after \\u escape in string.")
            }
        }
    }
}

/// What a text means that stands in double quotes, with JSON's escapes; `None` if it is no string of JSON.
pub fn unquote(text: &[u8]) -> Option<String> {
    let mut parser = Parser {
        text,
        at: 0,
        depth: 0,
    };
    let s = parser.string().ok()?;
    (parser.at == text.len()).then_some(s)
}

/// Appends a text in double quotes, with what must be escaped in JSON escaped.
pub fn write_quoted(s: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for &b in s.as_bytes() {
        let short = match b {
            b'"' | b'\\' => b,
            8 => b'b',
            0xc => b'f',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0..0x20 => {
                out.extend_from_slice(format!("\\u{b:04x}").as_bytes());
                continue;
            }
            b => {
                out.push(b);
                continue;
            }
        };
        out.extend_from_slice(&[b'\\', short]);
    }
    out.push(b'"');
}

/// Appends a double, which always shows that it is one.
fn write_double(v: f64, out: &mut Vec<u8>) {
    let start = out.len();
    write_f64(v, out);
    if out[start..]
        .iter()
        .all(|b| b.is_ascii_digit() || *b == b'-')
    {
        out.extend_from_slice(b".0");
    }
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn write_base64(data: &[u8], out: &mut Vec<u8>) {
    for group in data.chunks(3) {
        let mut n = [0u8; 4];
        n[1..1 + group.len()].copy_from_slice(group);
        let n = u32::from_be_bytes(n);
        for i in 0..4 {
            out.push(match i <= group.len() {
                true => BASE64[(n >> (18 - 6 * i)) as usize & 63],
                false => b'=',
            });
        }
    }
}

/// How arrays and objects are laid out.
#[derive(Clone, Copy)]
enum Layout {
    Line,
    /// A line for each value, indented by two blanks a level.
    Lines(usize),
}

impl Layout {
    fn inner(self) -> Layout {
        match self {
            Layout::Line => Layout::Line,
            Layout::Lines(level) => Layout::Lines(level + 1),
        }
    }
    fn new_line(self, out: &mut Vec<u8>) {
        if let Layout::Lines(level) = self {
            out.push(b'\n');
            out.resize(out.len() + 2 * level, b' ');
        }
    }
    fn separator(self, out: &mut Vec<u8>) {
        match self {
            Layout::Line => out.extend_from_slice(b", "),
            Layout::Lines(_) => out.push(b','),
        }
    }
}

impl View<'_> {
    /// Appends a scalar as it is within quotes, if it is one that has them; `false`, with nothing appended, for the others.
    fn write_quotable(&self, out: &mut Vec<u8>) -> bool {
        match self {
            View::String(s) => out.extend_from_slice(s.as_bytes()),
            View::Date(d) => write_date(*d, out),
            View::Time(t) => write_time(*t, 6, out),
            View::DateTime(d) => write_datetime(*d, 6, out),
            View::Opaque(ty, b) => {
                out.extend_from_slice(format!("base64:type{ty}:").as_bytes());
                write_base64(b, out);
            }
            _ => return false,
        }
        true
    }

    fn write_text(&self, layout: Layout, out: &mut Vec<u8>) {
        match self {
            View::Null => out.extend_from_slice(b"null"),
            View::Bool(true) => out.extend_from_slice(b"true"),
            View::Bool(false) => out.extend_from_slice(b"false"),
            View::Int(n) => write_i64(*n, out),
            View::UInt(n) => write_u64(*n, out),
            View::Double(v) => write_double(*v, out),
            View::Decimal(d) => d.write(out),
            View::String(s) => write_quoted(s, out),
            View::Date(_) | View::Time(_) | View::DateTime(_) | View::Opaque(..) => {
                out.push(b'"');
                self.write_quotable(out);
                out.push(b'"');
            }
            View::Array(a) => {
                out.push(b'[');
                for (i, v) in a.iter().enumerate() {
                    if i > 0 {
                        layout.separator(out);
                    }
                    layout.inner().new_line(out);
                    v.view().write_text(layout.inner(), out);
                }
                if !a.is_empty() {
                    layout.new_line(out);
                }
                out.push(b']');
            }
            View::Object(o) => {
                out.push(b'{');
                for (i, (key, v)) in o.iter().enumerate() {
                    if i > 0 {
                        layout.separator(out);
                    }
                    layout.inner().new_line(out);
                    write_quoted(key, out);
                    out.extend_from_slice(b": ");
                    v.view().write_text(layout.inner(), out);
                }
                if !o.is_empty() {
                    layout.new_line(out);
                }
                out.push(b'}');
            }
        }
    }
}

impl Ref<'_> {
    /// Appends the text of JSON.
    pub fn write_text(self, out: &mut Vec<u8>) {
        self.view().write_text(Layout::Line, out);
    }
    /// The same over several lines: JSON_PRETTY().
    pub fn write_pretty(self, out: &mut Vec<u8>) {
        self.view().write_text(Layout::Lines(0), out);
    }
    /// Appends a string, date or opaque value without its quotes, all else as [`Ref::write_text`] does: JSON_UNQUOTE().
    pub fn write_unquoted(self, out: &mut Vec<u8>) {
        let view = self.view();
        if !view.write_quotable(out) {
            view.write_text(Layout::Line, out);
        }
    }
}

impl View<'_> {
    /// What JSON_TYPE() calls it.
    pub fn type_name(&self) -> &'static str {
        match self {
            View::Null => "NULL",
            View::Bool(_) => "BOOLEAN",
            View::Int(_) => "INTEGER",
            View::UInt(_) => "UNSIGNED INTEGER",
            View::Double(_) => "DOUBLE",
            View::Decimal(_) => "DECIMAL",
            View::String(_) => "STRING",
            View::Date(_) => "DATE",
            View::Time(_) => "TIME",
            View::DateTime(_) => "DATETIME",
            View::Opaque(15 | 249..=254, _) => "BLOB",
            View::Opaque(16, _) => "BIT",
            View::Opaque(..) => "OPAQUE",
            View::Array(_) => "ARRAY",
            View::Object(_) => "OBJECT",
        }
    }
}

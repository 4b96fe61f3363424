//! Path expressions: `$`, then legs: `.key`, `."key"`, `.*`, `[n]`, `[last-n]`, `[m to n]`, `[*]`, and `**` before another leg.
//!
//! A value that is no array stands for the array of it alone: `$[0]` of a scalar is the scalar.

use super::{Ref, View, unquote};

/// A path expression.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path {
    /// The legs behind `$`.
    pub legs: Vec<Leg>,
}

/// A place in an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// How far from the first value, or from the last.
    pub n: usize,
    /// Counted from the last.
    pub from_last: bool,
}

/// A step from a value to values within it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Leg {
    Member(String),
    AnyMember,
    Cell(Cell),
    AnyCell,
    /// The first and the last.
    Range(Cell, Cell),
    /// The value itself and all within it, at any depth.
    Ellipsis,
}

/// The character, from 0, near which a text is no path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathError(pub usize);

/// Where a cell is in an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    At(usize),
    /// Before the first.
    Before,
    /// Behind the last.
    Behind,
}

impl Cell {
    pub(super) fn place(self, len: usize) -> Place {
        match (self.from_last, self.n < len) {
            (false, true) => Place::At(self.n),
            (true, true) => Place::At(len - 1 - self.n),
            (false, false) => Place::Behind,
            (true, false) => Place::Before,
        }
    }
}

impl Path {
    /// Reads a path expression.
    pub fn parse(text: &str) -> Result<Path, PathError> {
        let mut p = Parser { text, at: 0 };
        p.blanks();
        if p.next() != Some('$') {
            return Err(PathError(1));
        }
        let mut legs = Vec::new();
        loop {
            p.blanks();
            match p.peek() {
                None => break,
                Some('.') => {
                    p.next();
                    legs.push(p.member()?);
                }
                Some('[') => {
                    p.next();
                    legs.push(p.cells()?);
                }
                Some('*') => {
                    p.next();
                    if p.next() != Some('*') {
                        return p.fail();
                    }
                    // Something must follow, and no third asterisk.
                    if matches!(p.peek(), None | Some('*')) {
                        return p.fail();
                    }
                    legs.push(Leg::Ellipsis);
                }
                Some(_) => return p.fail(),
            }
        }
        if legs.last() == Some(&Leg::Ellipsis) {
            return p.fail();
        }
        Ok(Path { legs })
    }

    /// Whether it may select more than one value.
    pub fn selects_many(&self) -> bool {
        let one = |leg: &Leg| matches!(leg, Leg::Member(_) | Leg::Cell(_));
        !self.legs.iter().all(one)
    }

    /// The values that it selects, each once.
    pub fn select<'a>(&self, root: Ref<'a>) -> Vec<Ref<'a>> {
        let mut found = Vec::new();
        select(&self.legs, root, &mut |v| found.push(v));
        if self.legs.contains(&Leg::Ellipsis) {
            let mut seen = std::collections::HashSet::new();
            found.retain(|v: &Ref<'_>| seen.insert(v.0.as_ptr()));
        }
        found
    }
}

fn select<'a>(legs: &[Leg], v: Ref<'a>, found: &mut dyn FnMut(Ref<'a>)) {
    let Some((leg, rest)) = legs.split_first() else {
        return found(v);
    };
    match (leg, v.view()) {
        (Leg::Member(key), View::Object(o)) => {
            if let Some(v) = o.get(key) {
                select(rest, v, found);
            }
        }
        (Leg::AnyMember, View::Object(o)) => {
            o.iter().for_each(|(_, v)| select(rest, v, found));
        }
        (Leg::Member(_) | Leg::AnyMember, _) => {}
        (Leg::Cell(cell), View::Array(a)) => {
            if let Place::At(n) = cell.place(a.len())
                && let Some(v) = a.get(n)
            {
                select(rest, v, found);
            }
        }
        (Leg::AnyCell, View::Array(a)) => a.iter().for_each(|v| select(rest, v, found)),
        (Leg::AnyCell, _) => {}
        (Leg::Range(from, to), View::Array(a)) => {
            for v in range(*from, *to, a.len()).filter_map(|n| a.get(n)) {
                select(rest, v, found);
            }
        }
        (Leg::Cell(cell), _) => {
            if cell.place(1) == Place::At(0) {
                select(rest, v, found);
            }
        }
        (Leg::Range(from, to), _) => {
            if !range(*from, *to, 1).is_empty() {
                select(rest, v, found);
            }
        }
        (Leg::Ellipsis, view) => {
            select(rest, v, found);
            match view {
                View::Array(a) => a.iter().for_each(|v| select(legs, v, found)),
                View::Object(o) => o.iter().for_each(|(_, v)| select(legs, v, found)),
                _ => {}
            }
        }
    }
}

/// The places that a range has in an array.
fn range(from: Cell, to: Cell, len: usize) -> std::ops::Range<usize> {
    let first = match from.place(len) {
        Place::At(n) => n,
        Place::Before => 0,
        Place::Behind => len,
    };
    let end = match to.place(len) {
        Place::At(n) => n + 1,
        Place::Before => 0,
        Place::Behind => len,
    };
    first..end.max(first)
}

struct Parser<'t> {
    text: &'t str,
    /// In bytes.
    at: usize,
}

impl<'t> Parser<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }
    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }
    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }
    fn blanks(&mut self) {
        while self.peek().is_some_and(|c| c.is_ascii_whitespace()) {
            self.at += 1;
        }
    }
    fn fail<T>(&self) -> Result<T, PathError> {
        Err(PathError(self.text[..self.at].chars().count()))
    }

    /// What follows a point.
    fn member(&mut self) -> Result<Leg, PathError> {
        self.blanks();
        match self.peek() {
            Some('*') => {
                self.next();
                Ok(Leg::AnyMember)
            }
            Some('"') => {
                let start = self.at;
                self.next();
                loop {
                    match self.next() {
                        Some('"') => break,
                        Some('\\') => {
                            self.next();
                        }
                        Some(_) => {}
                        None => return self.fail(),
                    }
                }
                match unquote(&self.text.as_bytes()[start..self.at]) {
                    Some(key) => Ok(Leg::Member(key)),
                    None => self.fail(),
                }
            }
            _ => {
                let rest = self.rest();
                let end = rest.find(|c: char| c.is_ascii_whitespace() || ".[*".contains(c));
                let key = &rest[..end.unwrap_or(rest.len())];
                self.at += key.len();
                match is_identifier(key) {
                    true => Ok(Leg::Member(key.to_string())),
                    false => self.fail(),
                }
            }
        }
    }

    /// What follows a square bracket.
    fn cells(&mut self) -> Result<Leg, PathError> {
        self.blanks();
        let leg = if self.peek() == Some('*') {
            self.next();
            Leg::AnyCell
        } else {
            let from = self.cell()?;
            let before = self.at;
            self.blanks();
            let spaced = self.at > before;
            if spaced && self.rest().starts_with("to") {
                self.at += 2;
                if !self.peek().is_some_and(|c| c.is_ascii_whitespace()) {
                    return self.fail();
                }
                self.blanks();
                let to = self.cell()?;
                // What is empty whatever the array is a mistake.
                let ordered = match (from.from_last, to.from_last) {
                    (false, false) => from.n <= to.n,
                    (true, true) => from.n >= to.n,
                    _ => true,
                };
                if !ordered {
                    return self.fail();
                }
                Leg::Range(from, to)
            } else {
                Leg::Cell(from)
            }
        };
        self.blanks();
        match self.next() {
            Some(']') => Ok(leg),
            _ => self.fail(),
        }
    }

    fn cell(&mut self) -> Result<Cell, PathError> {
        if !self.rest().starts_with("last") {
            let n = self.number()?;
            return Ok(Cell {
                n,
                from_last: false,
            });
        }
        self.at += 4;
        let behind = self.at;
        self.blanks();
        let n = if self.peek() == Some('-') {
            self.next();
            self.blanks();
            self.number()?
        } else {
            self.at = behind;
            0
        };
        Ok(Cell { n, from_last: true })
    }

    fn number(&mut self) -> Result<usize, PathError> {
        let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        match self.rest()[..digits].parse::<u32>() {
            Ok(n) => {
                self.at += digits;
                Ok(n as usize)
            }
            Err(_) => self.fail(),
        }
    }
}

/// Whether a key needs no quotes: whether it is an identifier of ECMAScript.
pub(super) fn is_identifier(key: &str) -> bool {
    let mut chars = key.chars();
    let start = |c: char| c.is_alphabetic() || c == '$' || c == '_';
    let part = |c: char| start(c) || c.is_alphanumeric() || matches!(c, '\u{200c}' | '\u{200d}');
    chars.next().is_some_and(start) && chars.all(part)
}

/// Appends a leg as paths have it: what JSON_SEARCH() gives.
pub fn write_leg(leg: &Leg, out: &mut Vec<u8>) {
    match leg {
        Leg::Member(key) if is_identifier(key) => {
            out.push(b'.');
            out.extend_from_slice(key.as_bytes());
        }
        Leg::Member(key) => {
            out.push(b'.');
            super::write_quoted(key, out);
        }
        Leg::Cell(cell) => out.extend_from_slice(format!("[{}]", cell.n).as_bytes()),
        Leg::AnyMember => out.extend_from_slice(b".*"),
        Leg::AnyCell | Leg::Range(..) => out.extend_from_slice(b"[*]"),
        Leg::Ellipsis => out.extend_from_slice(b"**"),
    }
}

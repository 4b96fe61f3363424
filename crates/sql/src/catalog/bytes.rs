//! What bodies are made of: numbers, texts, a version in front.
//!
//! A body begins with a version byte. Integers are LEB128, texts are length and bytes. A reader refuses versions
//! it does not know.

use crate::error::{SqlError, SqlResult};
use crate::types::Collation;

/// Version of bodies.
pub const VERSION: u8 = 1;
/// Version of the bodies of partitioned tables.
pub const PARTITIONED: u8 = 2;
/// Version of the bodies that end with sections.
pub const SECTIONS: u8 = 3;
/// Version of the bodies of partitioned tables that end with sections.
pub const PARTITIONED_SECTIONS: u8 = 4;

/// Version of the bodies of FULLTEXT indexes.
pub const FULLTEXT: u8 = 5;
/// Version of the bodies of SPATIAL indexes.
pub const SPATIAL: u8 = 6;

/// Whether a table's body ends with sections.
pub fn has_sections(body: &[u8]) -> bool {
    matches!(body.first(), Some(&(SECTIONS | PARTITIONED_SECTIONS)))
}

/// Appends to a body.
pub struct Writer(pub Vec<u8>);

impl Writer {
    /// A body of this version.
    pub fn new(version: u8) -> Writer {
        Writer(vec![version])
    }
    /// Its bytes.
    pub fn finish(self) -> Vec<u8> {
        self.0
    }
    /// A number.
    pub fn number(&mut self, mut v: u64) {
        while v >= 0x80 {
            self.0.push(v as u8 | 0x80);
            v >>= 7;
        }
        self.0.push(v as u8);
    }
    /// A text.
    pub fn text(&mut self, s: &str) {
        self.bytes(s.as_bytes());
    }
    /// A byte string.
    pub fn bytes(&mut self, b: &[u8]) {
        self.number(b.len() as u64);
        self.0.extend_from_slice(b);
    }
}

/// Reads a body.
pub struct Reader<'a>(pub &'a [u8]);

/// Error 1033.
pub fn corrupt() -> SqlError {
    SqlError::new(1033, "Incorrect information in table definition")
}

impl<'a> Reader<'a> {
    /// Reads a body of this version.
    pub fn new(body: &'a [u8], version: u8) -> SqlResult<Reader<'a>> {
        let mut r = Reader(body);
        match r.byte()? == version {
            true => Ok(r),
            false => Err(corrupt()),
        }
    }
    /// A byte.
    pub fn byte(&mut self) -> SqlResult<u8> {
        let (b, rest) = self.0.split_first().ok_or_else(corrupt)?;
        self.0 = rest;
        Ok(*b)
    }
    /// A number.
    pub fn number(&mut self) -> SqlResult<u64> {
        let mut v = 0;
        for shift in (0..64).step_by(7) {
            let b = self.byte()?;
            v |= ((b & 0x7f) as u64) << shift;
            if b & 0x80 == 0 {
                return Ok(v);
            }
        }
        Err(corrupt())
    }
    /// A number of a narrower type.
    pub fn small<T: TryFrom<u64>>(&mut self) -> SqlResult<T> {
        T::try_from(self.number()?).map_err(|_| corrupt())
    }
    /// A text.
    pub fn text(&mut self) -> SqlResult<&'a str> {
        std::str::from_utf8(self.bytes()?).map_err(|_| corrupt())
    }
    /// A byte string.
    pub fn bytes(&mut self) -> SqlResult<&'a [u8]> {
        let n: usize = self.small()?;
        if n > self.0.len() {
            return Err(corrupt());
        }
        let (s, rest) = self.0.split_at(n);
        self.0 = rest;
        Ok(s)
    }
    /// A count of things that take at least a byte each.
    pub fn count(&mut self) -> SqlResult<usize> {
        let n: usize = self.small()?;
        if n > self.0.len() {
            return Err(corrupt());
        }
        Ok(n)
    }
    /// A collation by its id.
    pub fn collation(&mut self) -> SqlResult<Collation> {
        let id: u16 = self.small()?;
        Collation::by_id(id).ok_or_else(corrupt)
    }
    /// The version byte, which must be that of plain bodies.
    pub fn version(&mut self) -> SqlResult<()> {
        if self.byte()? != VERSION {
            return Err(corrupt());
        }
        Ok(())
    }
    /// Whether a table's body has a partitioning behind the columns, and whether it has sections at its end.
    pub fn parts(&mut self) -> SqlResult<(bool, bool)> {
        match self.byte()? {
            VERSION => Ok((false, false)),
            PARTITIONED => Ok((true, false)),
            SECTIONS => Ok((false, true)),
            PARTITIONED_SECTIONS => Ok((true, true)),
            _ => Err(corrupt()),
        }
    }
}

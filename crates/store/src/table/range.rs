//! Key ranges as half-open spans of entries.

use super::KeyRange;
use std::ops::Bound;

/// Entries from `low` on and below `high`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    /// First key that belongs, inclusive.
    pub low: Vec<u8>,
    /// First key that does not; `None`: all that follow belong.
    pub high: Option<Vec<u8>>,
    /// Nothing belongs.
    pub empty: bool,
}

/// The least key greater than every key that starts with `prefix`; `None` if there is none.
pub(crate) fn successor(mut prefix: Vec<u8>) -> Option<Vec<u8>> {
    while let Some(last) = prefix.pop() {
        if last != 0xff {
            prefix.push(last + 1);
            return Some(prefix);
        }
    }
    None
}

impl Span {
    /// The entries of a range of key prefixes.
    pub fn of(range: KeyRange) -> Span {
        let mut empty = false;
        let low = match range.lower {
            Bound::Unbounded => Vec::new(),
            Bound::Included(k) => k,
            Bound::Excluded(k) => successor(k).unwrap_or_else(|| {
                empty = true;
                Vec::new()
            }),
        };
        let high = match range.upper {
            Bound::Unbounded => None,
            Bound::Included(k) => successor(k),
            Bound::Excluded(k) => Some(k),
        };
        empty |= high.as_ref().is_some_and(|h| *h <= low);
        Span { low, high, empty }
    }

    /// The entries that start with `prefix`.
    pub fn prefix(prefix: &[u8]) -> Span {
        Span {
            low: prefix.to_vec(),
            high: successor(prefix.to_vec()),
            empty: false,
        }
    }

    /// Its bounds.
    pub fn bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        (self.lower(), self.upper())
    }

    /// Its lower bound.
    pub fn lower(&self) -> Bound<&[u8]> {
        if self.low.is_empty() {
            Bound::Unbounded
        } else {
            Bound::Included(&self.low)
        }
    }

    /// Its upper bound.
    pub fn upper(&self) -> Bound<&[u8]> {
        match &self.high {
            Some(h) => Bound::Excluded(h),
            None => Bound::Unbounded,
        }
    }

    /// Whether a key is at or beyond the upper end.
    #[inline]
    pub fn ends_before(&self, key: &[u8]) -> bool {
        self.high.as_deref().is_some_and(|h| key >= h)
    }

    /// Whether a key is below the lower end.
    #[inline]
    pub fn starts_after(&self, key: &[u8]) -> bool {
        key < self.low.as_slice()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Span {
        Span::of(KeyRange {
            lower: lower.map(|k| k.to_vec()),
            upper: upper.map(|k| k.to_vec()),
        })
    }

    #[test]
    fn prefixes_become_spans() {
        use Bound::*;
        let s = span(Included(b"b"), Included(b"b"));
        assert!(!s.empty && !s.starts_after(b"b") && !s.ends_before(b"b\xff\xff"));
        assert!(s.starts_after(b"a\xff") && s.ends_before(b"c"));
        let s = span(Excluded(b"b"), Excluded(b"d"));
        assert!(s.starts_after(b"b\xff") && !s.starts_after(b"c") && s.ends_before(b"d"));
        assert!(span(Excluded(b"b"), Included(b"b")).empty);
        assert!(span(Excluded(b"\xff\xff"), Unbounded).empty);
        assert_eq!(span(Unbounded, Included(b"\xff")).high, None);
        assert_eq!(successor(b"a\xff".to_vec()), Some(b"b".to_vec()));
    }
}

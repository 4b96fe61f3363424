//! Where in a statement's text something stands.

use std::ops::Range;

/// Bytes `start..end` of a statement's text.
///
/// Spans compare equal whatever they hold, so that trees compare by what they say and not by how their text was laid out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
}

impl Span {
    /// Bytes `start..end`.
    pub fn new(start: u32, end: u32) -> Span {
        Span { start, end }
    }
    /// From the beginning of this one to the end of `other`.
    pub fn to(self, other: Span) -> Span {
        Span::new(self.start, other.end)
    }
    /// What indexes the text.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
    /// The text it spans; empty if `text` is not the one it was made from.
    pub fn of(self, text: &str) -> &str {
        text.get(self.range()).unwrap_or("")
    }
    /// Whether nothing is spanned.
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }
}

impl PartialEq for Span {
    fn eq(&self, _: &Span) -> bool {
        true
    }
}

impl Eq for Span {}

//! Names: of columns, tables, routines and the rest.

use std::fmt;
use std::ops::Deref;

use crate::span::Span;

/// The longest text held in place.
const SHORT: usize = 14;

/// A text of 16 bytes in place: short ones, as most names are, without memory of their own.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Str(Repr);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Repr {
    Short { len: u8, bytes: [u8; SHORT] },
    Long(Box<Box<str>>),
}

impl Str {
    /// As text.
    #[inline]
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Repr::Short { len, bytes } => {
                // It was a whole text when it was put there.
                std::str::from_utf8(&bytes[..usize::from(*len)]).unwrap_or_default()
            }
            Repr::Long(text) => text,
        }
    }
}

impl From<&str> for Str {
    #[inline]
    fn from(text: &str) -> Str {
        if text.len() <= SHORT {
            let mut bytes = [0; SHORT];
            bytes[..text.len()].copy_from_slice(text.as_bytes());
            Str(Repr::Short {
                len: text.len() as u8,
                bytes,
            })
        } else {
            Str(Repr::Long(Box::new(text.into())))
        }
    }
}

impl From<String> for Str {
    fn from(text: String) -> Str {
        text.as_str().into()
    }
}

impl Deref for Str {
    type Target = str;
    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl PartialEq<str> for Str {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for Str {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl fmt::Debug for Str {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl fmt::Display for Str {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A name, without its quotes. Prints in backticks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ident {
    /// What it says, as it was written.
    pub text: Str,
    /// Where, with its quotes.
    pub span: Span,
}

impl Ident {
    /// A name that stands nowhere.
    pub fn new(text: &str) -> Ident {
        Ident {
            text: text.into(),
            span: Span::default(),
        }
    }
    /// What it says.
    pub fn as_str(&self) -> &str {
        self.text.as_str()
    }
}

/// `name` or `database.name`: a table, view, routine, trigger or event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectName {
    /// Its database, if said.
    pub database: Option<Ident>,
    /// Its name.
    pub name: Ident,
}

impl ObjectName {
    /// Where it stands.
    pub fn span(&self) -> Span {
        self.database
            .as_ref()
            .map_or(self.name.span, |d| d.span.to(self.name.span))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_any_length_are_kept() {
        for text in [
            "",
            "a",
            "fourteen_bytes",
            "fifteen_bytes_x",
            "\u{e9}t\u{e9}",
        ] {
            assert_eq!(Str::from(text).as_str(), text);
        }
        assert_eq!(size_of::<Str>(), 16);
        assert_eq!(size_of::<Option<Ident>>(), 24);
    }
}

//! What the definitions of this folder share: choices among keywords, written and read from one table, and the small pieces of
//! printing.

use super::list::Items;
use std::fmt::{self, Display};

/// A choice among sequences of keywords.
pub trait Words: Copy + PartialEq + 'static {
    /// Each value with its words. A sequence that begins another one stands behind it.
    const ALL: &'static [(Self, &'static str)];

    /// The words of this value.
    fn words(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(value, _)| *value == self)
            .map_or("", |(_, words)| words)
    }
}

/// Defines an enum that implements [`Words`] and `Display`.
macro_rules! words {
    ($($(#[$meta:meta])* pub enum $name:ident { $($variant:ident = $words:literal),+ $(,)? })+) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs)] // The variants are the words.
        pub enum $name { $($variant),+ }

        impl $crate::ast::words::Words for $name {
            const ALL: &'static [(Self, &'static str)] = &[$(($name::$variant, $words)),+];
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str($crate::ast::words::Words::words(*self))
            }
        }
    )+};
}
pub(crate) use words;

/// A string literal as it is printed: in single quotes, with the escapes of MySQL's default mode.
pub(crate) struct Quoted<'a>(pub &'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("'")?;
        for c in self.0.chars() {
            match c {
                '\'' => f.write_str("''")?,
                '\\' => f.write_str("\\\\")?,
                '\0' => f.write_str("\\0")?,
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                '\x1a' => f.write_str("\\Z")?,
                c => write!(f, "{c}")?,
            }
        }
        f.write_str("'")
    }
}

/// Items with commas between them.
pub(crate) struct List<'a, L: ?Sized>(pub &'a L);

impl<'a, L: ?Sized> Display for List<'a, L>
where
    &'a L: IntoIterator<Item: Display>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, item) in self.0.into_iter().enumerate() {
            if n > 0 {
                f.write_str(", ")?;
            }
            item.fmt(f)?;
        }
        Ok(())
    }
}

/// String literals with commas between them.
pub(crate) struct Texts<'a>(pub &'a Items<String>);

impl Display for Texts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, text) in self.0.iter().enumerate() {
            write!(f, "{}{}", flag(n > 0, ", "), Quoted(&text))?;
        }
        Ok(())
    }
}

/// Items, each with a space before it.
pub(crate) struct Spaced<'a, L: ?Sized>(pub &'a L);

impl<'a, L: ?Sized> Display for Spaced<'a, L>
where
    &'a L: IntoIterator<Item: Display>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.into_iter().try_for_each(|item| write!(f, " {item}"))
    }
}

/// Words and an item, or nothing.
pub(crate) struct Opt<'a, T>(pub &'static str, pub &'a Option<T>);

impl<T: Display> Display for Opt<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.1 {
            Some(item) => write!(f, "{}{item}", self.0),
            None => Ok(()),
        }
    }
}

/// Words and a string literal, or nothing.
pub(crate) struct OptText<'a>(pub &'static str, pub &'a Option<String>);

impl Display for OptText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.1 {
            Some(text) => write!(f, "{}{}", self.0, Quoted(text)),
            None => Ok(()),
        }
    }
}

/// Words, or nothing.
pub(crate) fn flag(on: bool, words: &'static str) -> &'static str {
    if on { words } else { "" }
}

/// One of two.
pub(crate) fn either(first: bool, yes: &'static str, no: &'static str) -> &'static str {
    if first { yes } else { no }
}

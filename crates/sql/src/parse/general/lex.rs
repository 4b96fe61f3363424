//! The lexer of [`super::generalize`]: one pass, no allocation for ordinary statements, a few instructions per byte.
//! It gives up on anything it does not know well.

use memchr::memchr2;
use smallvec::SmallVec;

use crate::session::env::SqlMode;

/// Words that tell where literals may be taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Word {
    Insert,
    Replace,
    Select,
    Update,
    Delete,
    Values,
    Value,
    Set,
    With,
    Table,
    Where,
    And,
    Or,
    Xor,
    Order,
    Group,
    Limit,
    For,
    Lock,
    Having,
    Window,
    Union,
    Into,
    Case,
    Between,
    In,
    Null,
    Other,
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A word without quotes.
    Word(Word),
    /// A quoted name.
    Name,
    /// A quoted text; whether what stands between the quotes is its value.
    Text {
        /// Nothing is escaped in it.
        plain: bool,
    },
    /// A number.
    Number,
    /// `=`, `<` and their like.
    Compare,
    /// Any other sign.
    Symbol(u8),
    /// The end.
    End,
}

/// A token and where it stands.
#[derive(Clone, Copy, Debug)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// First byte.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
}

/// The tokens of a statement; the last one is [`Kind::End`].
pub type Tokens = SmallVec<[Token; 64]>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Blank,
    Word,
    Digit,
    Quote,
    Compare,
    /// `#`, `?`, `:`: never.
    Never,
    /// May begin a comment or a number.
    Doubtful,
    Other,
}

static CLASSES: [Class; 256] = {
    let mut t = [Class::Other; 256];
    let mut b = 0;
    while b < 256 {
        t[b] = match b as u8 {
            b' ' | b'\t' | b'\n' | b'\r' => Class::Blank,
            b'0'..=b'9' => Class::Digit,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' | 0x80..=0xff => Class::Word,
            b'\'' | b'"' | b'`' => Class::Quote,
            b'=' | b'<' | b'>' | b'!' => Class::Compare,
            b'#' | b'?' | b':' => Class::Never,
            b'-' | b'/' | b'.' => Class::Doubtful,
            _ => Class::Other,
        };
        b += 1;
    }
    t
};

fn class(b: u8) -> Class {
    CLASSES[usize::from(b)]
}

fn in_word(b: u8) -> bool {
    matches!(class(b), Class::Word | Class::Digit)
}

/// A word of up to eight bytes as a number, without regard to the case of letters. (Setting bit 5 makes letters lower case
/// and makes no other byte of a word a letter.)
const fn packed(word: &[u8]) -> u64 {
    let mut n = 0;
    let mut i = 0;
    while i < word.len() {
        n = n << 8 | (word[i] | 0x20) as u64;
        i += 1;
    }
    n
}

fn word(bytes: &[u8]) -> Word {
    macro_rules! known {
        ($n:expr, $($word:ident $text:literal),*) => {{
            match $n {
                $(n if n == const { packed($text) } => Word::$word,)*
                _ => Word::Other,
            }
        }};
    }
    if bytes.len() > 8 {
        return Word::Other;
    }
    known!(packed(bytes),
        Insert b"insert", Replace b"replace", Select b"select", Update b"update", Delete b"delete",
        Values b"values", Value b"value", Set b"set", With b"with", Table b"table", Where b"where",
        And b"and", Or b"or", Xor b"xor", Order b"order", Group b"group", Limit b"limit", For b"for",
        Lock b"lock", Having b"having", Window b"window", Union b"union", Into b"into", Case b"case",
        Between b"between", In b"in", Null b"null")
}

/// The first word of a text.
pub fn first_word(text: &str) -> Word {
    let b = text.as_bytes();
    let start = b.iter().take_while(|b| class(**b) == Class::Blank).count();
    let length = b[start..].iter().take_while(|b| in_word(**b)).count();
    word(&b[start..start + length])
}

/// Where a quoted text that begins at `at` ends, and whether nothing is escaped in it.
fn quoted(b: &[u8], at: usize, escapes: bool) -> Option<(usize, bool)> {
    let quote = b[at];
    let other = if escapes { b'\\' } else { quote };
    let mut i = at + 1;
    let mut plain = true;
    loop {
        i += memchr2(quote, other, b.get(i..)?)?;
        if b[i] == quote {
            i += 1;
            if b.get(i) != Some(&quote) {
                return Some((i, plain));
            }
            i += 1;
        } else {
            i += 2;
        }
        plain = false;
    }
}

/// Where a number that begins at `at` ends.
fn number(b: &[u8], at: usize) -> Option<usize> {
    let digits = |mut i: usize| {
        while b.get(i).is_some_and(u8::is_ascii_digit) {
            i += 1;
        }
        i
    };
    let mut i = digits(at);
    if b.get(i) == Some(&b'.') {
        i = digits(i + 1);
    }
    if matches!(b.get(i), Some(b'e' | b'E')) {
        i += 1;
        if matches!(b.get(i), Some(b'+' | b'-')) {
            i += 1;
        }
        let end = digits(i);
        if end == i {
            return None;
        }
        i = end;
    }
    let goes_on = b.get(i).is_some_and(|c| in_word(*c) || *c == b'.');
    (!goes_on).then_some(i)
}

/// Splits a text; `None` if there is anything in it that this lexer does not know well.
pub fn lex(text: &str, mode: SqlMode) -> Option<Tokens> {
    let b = text.as_bytes();
    u32::try_from(b.len()).ok()?;
    let mut out = Tokens::new();
    let mut i = 0;
    // A semicolon, which must be followed by nothing else.
    let mut over = false;
    while let Some(&c) = b.get(i) {
        let start = i;
        let class = class(c);
        if class == Class::Blank {
            i += 1;
            continue;
        }
        if c == b';' {
            over = true;
            i += 1;
            continue;
        }
        if over {
            return None;
        }
        let kind = match class {
            Class::Word => {
                i += b[i..].iter().take_while(|b| in_word(**b)).count();
                Kind::Word(word(&b[start..i]))
            }
            Class::Quote => {
                let name = c == b'`' || c == b'"' && mode.ansi_quotes;
                let escapes = !name && !mode.no_backslash_escapes;
                let (end, plain) = quoted(b, i, escapes)?;
                i = end;
                if name {
                    Kind::Name
                } else {
                    Kind::Text { plain }
                }
            }
            Class::Digit => {
                i = number(b, i)?;
                Kind::Number
            }
            Class::Compare => {
                let more = |b: &&u8| CLASSES[usize::from(**b)] == Class::Compare;
                i += b[i..].iter().take_while(more).count();
                match &b[start..i] {
                    b"=" | b"<" | b">" | b"<=" | b">=" | b"<>" | b"!=" | b"<=>" => Kind::Compare,
                    _ => return None,
                }
            }
            Class::Never => return None,
            Class::Doubtful => {
                i += 1;
                match (c, b.get(i)) {
                    (b'-', Some(b'-')) | (b'/', Some(b'*')) | (b'.', Some(b'0'..=b'9')) => {
                        return None;
                    }
                    _ => Kind::Symbol(c),
                }
            }
            Class::Blank | Class::Other => {
                i += 1;
                Kind::Symbol(c)
            }
        };
        out.push(Token {
            kind,
            start: start as u32,
            end: i as u32,
        });
    }
    let end = out.last().map_or(0, |t| t.end);
    out.push(Token {
        kind: Kind::End,
        start: end,
        end,
    });
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_known_in_any_case() {
        for w in ["between", "BETWEEN", "BeTwEeN"] {
            assert_eq!(word(w.as_bytes()), Word::Between);
        }
        for w in [
            "betwee",
            "betweens",
            "and_",
            "\u{e9}t",
            "i",
            "replaces1",
            "",
        ] {
            assert_eq!(word(w.as_bytes()), Word::Other, "{w}");
        }
        assert_eq!(first_word(" \n update\tx"), Word::Update);
        assert_eq!(first_word(""), Word::Other);
        assert_eq!(first_word("(select 1)"), Word::Other);
    }

    #[test]
    fn texts_end_where_they_end() {
        let q = |s: &str, escapes| quoted(s.as_bytes(), 0, escapes);
        assert_eq!(q("'abc' x", true), Some((5, true)));
        assert_eq!(q("'' x", true), Some((2, true)));
        assert_eq!(q("'a''b'", true), Some((6, false)));
        assert_eq!(q("'a\\'b'", true), Some((6, false)));
        assert_eq!(q("'a\\'b'", false), Some((4, true)));
        assert_eq!(q("'a\\\\'", true), Some((5, false)));
        for open in ["'", "'abc", "'abc\\'", "'abc\\", "'abc''"] {
            assert_eq!(q(open, true), None, "{open}");
        }
    }
}

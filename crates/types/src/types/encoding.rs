//! Character sets as bytes: texts are UTF-8 inside, and are converted on their way in and out, and where their bytes are asked for.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU8, Ordering};

use super::charset::Charset;
use super::codes::{self, Codes, codes};
use super::collation::next_char;
use super::{Collation, latin1};
use crate::error::{SqlError, SqlResult};

/// What bytes mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Encoding {
    /// UTF-8, or no conversion at all (`binary`).
    #[default]
    Utf8 = 0,
    /// MySQL's latin1, which is Windows-1252 with its five gaps filled by the control characters of the same numbers.
    Latin1 = 1,
    /// Seven bits.
    Ascii = 2,
    /// UTF-8 of the basic plane.
    Utf8mb3 = 3,
    /// Two bytes a character, the greater first.
    Ucs2 = 4,
    /// UTF-16, the greater byte first.
    Utf16 = 5,
    /// UTF-16, the lesser byte first.
    Utf16le = 6,
    /// Four bytes a character, the greatest first.
    Utf32 = 7,
    /// Of results: each column in its own character set.
    Own = 8,
    /// Windows' Shift_JIS.
    Cp932 = 9,
    /// JIS X 0208 as Shift_JIS.
    Sjis = 10,
    /// JIS X 0208 and 0212 as EUC-JP.
    Ujis = 11,
    /// EUC-KR with Windows' other syllables.
    Euckr = 12,
    /// Armenian.
    Armscii8 = 13,
    /// Windows' Central European.
    Cp1250 = 14,
    /// Windows' Cyrillic.
    Cp1251 = 15,
    /// Windows' Arabic.
    Cp1256 = 16,
    /// Windows' Baltic.
    Cp1257 = 17,
    /// DOS's West European.
    Cp850 = 18,
    /// DOS's Central European.
    Cp852 = 19,
    /// DOS's Cyrillic.
    Cp866 = 20,
    /// DEC's multinational set.
    Dec8 = 21,
    /// Georgian.
    Geostd8 = 22,
    /// ISO 8859-7.
    Greek = 23,
    /// ISO 8859-8.
    Hebrew = 24,
    /// HP's Roman-8.
    Hp8 = 25,
    /// The Kamenický brothers' for DOS.
    Keybcs2 = 26,
    /// KOI8-R.
    Koi8r = 27,
    /// KOI8-U.
    Koi8u = 28,
    /// ISO 8859-2.
    Latin2 = 29,
    /// ISO 8859-9.
    Latin5 = 30,
    /// ISO 8859-13.
    Latin7 = 31,
    /// Macintosh's Central European.
    Macce = 32,
    /// Macintosh's Roman.
    Macroman = 33,
    /// Big5 with a few characters of ETEN's.
    Big5 = 34,
    /// GB 2312 as EUC-CN.
    Gb2312 = 35,
    /// Windows' code page 936, without the euro.
    Gbk = 36,
    /// EUC-JP with Windows' characters.
    Eucjpms = 37,
}

impl Encoding {
    const ALL: [Encoding; 38] = [
        Encoding::Utf8,
        Encoding::Latin1,
        Encoding::Ascii,
        Encoding::Utf8mb3,
        Encoding::Ucs2,
        Encoding::Utf16,
        Encoding::Utf16le,
        Encoding::Utf32,
        Encoding::Own,
        Encoding::Cp932,
        Encoding::Sjis,
        Encoding::Ujis,
        Encoding::Euckr,
        Encoding::Armscii8,
        Encoding::Cp1250,
        Encoding::Cp1251,
        Encoding::Cp1256,
        Encoding::Cp1257,
        Encoding::Cp850,
        Encoding::Cp852,
        Encoding::Cp866,
        Encoding::Dec8,
        Encoding::Geostd8,
        Encoding::Greek,
        Encoding::Hebrew,
        Encoding::Hp8,
        Encoding::Keybcs2,
        Encoding::Koi8r,
        Encoding::Koi8u,
        Encoding::Latin2,
        Encoding::Latin5,
        Encoding::Latin7,
        Encoding::Macce,
        Encoding::Macroman,
        Encoding::Big5,
        Encoding::Gb2312,
        Encoding::Gbk,
        Encoding::Eucjpms,
    ];

    /// Of a character set by its canonical name.
    pub fn of_charset(name: &str) -> Encoding {
        Charset::by_name(name).map_or(Encoding::Utf8, Charset::encoding)
    }

    /// Of `character_set_results`: what has none, or is `binary`, is not converted.
    pub fn of_results(name: Option<&str>) -> Encoding {
        match name {
            None | Some("" | "binary") => Encoding::Own,
            Some(name) => Encoding::of_charset(name),
        }
    }

    /// The character set that a collation id in a handshake stands for; error 1115 for one there is not.
    pub fn charset_of_collation(id: u16) -> SqlResult<&'static str> {
        let known = Collation::by_id(id).map(Collation::character_set);
        if let Some(charset) = known.filter(|c| c.is_clients()) {
            return Ok(charset.name());
        }
        match id {
            5 | 8 | 15 | 31 | 47..=49 | 94 => Ok("latin1"),
            33 | 76 | 83 | 192..=223 => Ok("utf8mb3"),
            45 | 46 | 224..=247 | 255..=323 => Ok("utf8mb4"),
            _ => Err(SqlError::new(
                1115,
                format!("Unknown character set: '#{id}'"),
            )),
        }
    }

    /// The character set whose bytes these are; of `Utf8` and `Own`, which may be another's, none.
    pub fn charset(self) -> Option<Charset> {
        let mut all = Charset::ALL.iter().copied();
        match self {
            Encoding::Utf8 | Encoding::Own => None,
            _ => all.find(|c| c.encoding() == self),
        }
    }

    /// The collation id that describes texts in this encoding; `None`: their own.
    pub fn collation_id(self) -> Option<u16> {
        self.charset().map(|c| c.facts().default.id())
    }

    /// Whether the UTF-8 of texts that it holds is their bytes in it.
    #[inline]
    pub fn is_utf8(self) -> bool {
        matches!(
            self,
            Encoding::Utf8 | Encoding::Utf8mb3 | Encoding::Ascii | Encoding::Own
        )
    }

    /// Whether ASCII is the same in it.
    fn has_ascii(self) -> bool {
        self.unit() == 1
    }

    /// Whether some of its bytes are ASCII's without being ASCII, so that statements can't be taken apart before they are converted.
    pub fn hides_ascii(self) -> bool {
        use Encoding as E;
        matches!(self, E::Cp932 | E::Sjis | E::Euckr | E::Big5 | E::Gbk)
    }

    /// Whether it has a character.
    #[inline]
    pub fn holds(self, code: u32) -> bool {
        match self {
            Encoding::Latin1 => latin1::byte(code).is_some(),
            Encoding::Ascii => code < 0x80,
            Encoding::Utf8mb3 | Encoding::Ucs2 => code < 0x1_0000,
            Encoding::Utf8
            | Encoding::Utf16
            | Encoding::Utf16le
            | Encoding::Utf32
            | Encoding::Own => true,
            _ => codes(self).is_some_and(|t| t.code(code).is_some()),
        }
    }

    /// Whether a letter has this one as its capital or small letter. In latin1 letters of the Windows characters have none.
    pub fn maps_case(self, from: u32, to: u32) -> bool {
        match self {
            Encoding::Latin1 => from < 0x100 && to < 0x100,
            _ => self.holds(to),
        }
    }

    /// Where the first character of a text stands that it does not have.
    pub fn misfit(self, text: &[u8]) -> Option<usize> {
        if text.is_ascii() || self == Encoding::Utf8 {
            return None;
        }
        let mut at = 0;
        while at < text.len() {
            let (code, n) = next_char(&text[at..]);
            if !self.holds(code) {
                return Some(at);
            }
            at += n;
        }
        None
    }

    /// A text with question marks for the characters that it does not have.
    pub fn fitted<'t>(self, text: Cow<'t, [u8]>) -> Cow<'t, [u8]> {
        let Some(first) = self.misfit(&text) else {
            return text;
        };
        let mut out = text[..first].to_vec();
        let mut at = first;
        while at < text.len() {
            let (code, n) = next_char(&text[at..]);
            match self.holds(code) {
                true => out.extend_from_slice(&text[at..at + n]),
                false => out.push(b'?'),
            }
            at += n;
        }
        Cow::Owned(out)
    }

    /// The text that bytes mean; an error says how many of them at the start do mean something.
    pub fn text_of(self, bytes: &[u8]) -> Result<Cow<'_, str>, usize> {
        if self == Encoding::Latin1 {
            return match std::str::from_utf8(bytes) {
                Ok(text) if text.is_ascii() => Ok(Cow::Borrowed(text)),
                _ => Ok(bytes.iter().map(|b| latin1::character(*b)).collect()),
            };
        }
        if self.is_utf8() {
            let text = std::str::from_utf8(bytes).map_err(|e| e.valid_up_to())?;
            return match self.misfit(bytes) {
                None => Ok(Cow::Borrowed(text)),
                Some(at) => Err(at),
            };
        }
        let mut out = String::with_capacity(bytes.len());
        let mut at = 0;
        let table = codes(self);
        while at < bytes.len() {
            let rest = &bytes[at..];
            let next = match table {
                Some(table) => self.coded(table, rest),
                None => self.wide(rest),
            };
            let (c, n) = next.ok_or(at)?;
            out.push(c);
            at += n;
        }
        Ok(Cow::Owned(out))
    }

    /// The character at the start of bytes that are codes of a table, and how many it takes.
    fn coded(self, table: &Codes, bytes: &[u8]) -> Option<(char, usize)> {
        let n = codes::length(self, bytes[0]);
        let own = bytes.get(..n)?;
        let code = own.iter().fold(0, |code, b| code << 8 | u32::from(*b));
        table.character(code).map(|c| (c, n))
    }

    /// The character at the start of bytes whose characters take two or four, and how many it takes.
    fn wide(self, bytes: &[u8]) -> Option<(char, usize)> {
        let unit = |at: usize| {
            let pair = [*bytes.get(at)?, *bytes.get(at + 1)?];
            Some(match self {
                Encoding::Utf16le => u16::from_le_bytes(pair),
                _ => u16::from_be_bytes(pair),
            })
        };
        let first = u32::from(unit(0)?);
        if self == Encoding::Utf32 {
            let code = first << 16 | u32::from(unit(2)?);
            return char::from_u32(code).map(|c| (c, 4));
        }
        if let Some(c) = char::from_u32(first) {
            return Some((c, 2));
        }
        if self == Encoding::Ucs2 {
            return None;
        }
        let second = u32::from(unit(2)?);
        let pair = (0xd800..0xdc00).contains(&first) && (0xdc00..0xe000).contains(&second);
        let code = 0x1_0000 + ((first & 0x3ff) << 10 | second & 0x3ff);
        char::from_u32(code).filter(|_| pair).map(|c| (c, 4))
    }

    /// Appends what the bytes mean. Bytes that mean nothing become question marks; UTF-8 is taken as it is.
    pub fn decode(self, bytes: &[u8], out: &mut String) {
        if matches!(self, Encoding::Utf8 | Encoding::Own) {
            return out.push_str(&String::from_utf8_lossy(bytes));
        }
        let mut rest = bytes;
        loop {
            match self.text_of(rest) {
                Ok(text) => return out.push_str(&text),
                Err(valid) => {
                    if let Ok(text) = self.text_of(&rest[..valid]) {
                        out.push_str(&text);
                    }
                    out.push('?');
                    rest = &rest[(valid + self.unit()).min(rest.len())..];
                }
            }
        }
    }

    /// Bytes of its shortest character.
    fn unit(self) -> usize {
        match self {
            Encoding::Ucs2 | Encoding::Utf16 | Encoding::Utf16le => 2,
            Encoding::Utf32 => 4,
            _ => 1,
        }
    }

    /// Bytes with as many zeros before them as make them whole characters: what a number's bytes are as a text.
    pub fn padded<'b>(self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        match bytes.len() % self.unit() {
            0 => Cow::Borrowed(bytes),
            over => {
                let mut out = vec![0; self.unit() - over];
                out.extend_from_slice(bytes);
                Cow::Owned(out)
            }
        }
    }

    /// The bytes that a client sent as this text; `None` if it cannot have sent them.
    pub fn sent(self, text: &[u8]) -> Option<Vec<u8>> {
        match self.misfit(text) {
            None => Some(self.encoded(text).into_owned()),
            Some(_) => None,
        }
    }

    /// Appends a text's bytes. Characters there are none for become question marks.
    pub fn encode(self, text: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(&self.encoded(text));
    }

    /// A text's bytes, with question marks for characters there are none for.
    pub fn encoded(self, text: &[u8]) -> Cow<'_, [u8]> {
        if self.is_utf8() {
            return self.fitted(Cow::Borrowed(text));
        }
        if self.has_ascii() && text.is_ascii() {
            return Cow::Borrowed(text);
        }
        let mut out = Vec::with_capacity(text.len() * self.unit());
        let mut at = 0;
        while at < text.len() {
            let (code, n) = next_char(&text[at..]);
            self.put(if self.holds(code) { code } else { b'?'.into() }, &mut out);
            at += n;
        }
        Cow::Owned(out)
    }

    /// Appends a character that it has.
    fn put(self, code: u32, out: &mut Vec<u8>) {
        let mut pair = [0; 2];
        let c = char::from_u32(code).unwrap_or('?');
        let units = &*c.encode_utf16(&mut pair);
        match self {
            Encoding::Utf32 => out.extend_from_slice(&code.to_be_bytes()),
            Encoding::Ucs2 | Encoding::Utf16 => {
                out.extend(units.iter().flat_map(|u| u.to_be_bytes()));
            }
            Encoding::Utf16le => out.extend(units.iter().flat_map(|u| u.to_le_bytes())),
            _ => match codes(self) {
                Some(table) => {
                    let (bytes, from) = codes::bytes(table.code(code).unwrap_or(b'?'.into()));
                    out.extend_from_slice(&bytes[from..]);
                }
                None => out.extend(latin1::byte(code)),
            },
        }
    }

    /// Bytes that a text takes in it.
    pub fn encoded_len(self, text: &[u8]) -> usize {
        if self.is_utf8() || self.has_ascii() && text.is_ascii() {
            return text.len();
        }
        if codes(self).is_some() {
            return self.encoded(text).len();
        }
        let chars = text.iter().filter(|b| **b & 0xc0 != 0x80).count();
        // What takes four bytes in UTF-8 takes two units in UTF-16.
        let pairs = || text.iter().filter(|b| **b >= 0xf0).count();
        match self {
            Encoding::Utf16 | Encoding::Utf16le => (chars + pairs()) * 2,
            _ => chars * self.unit(),
        }
    }

    /// The bytes of a text's first characters that take no more than `most` bytes in it.
    pub fn prefix_within(self, text: &[u8], most: usize) -> usize {
        let (mut at, mut taken) = (0, 0);
        while at < text.len() {
            let n = next_char(&text[at..]).1;
            taken += self.encoded_len(&text[at..at + n]);
            if taken > most {
                break;
            }
            at += n;
        }
        at
    }
}

/// What a session's client sends and wants, for whoever encodes while the session works.
#[derive(Debug, Default)]
pub struct Encodings {
    client: AtomicU8,
    connection: AtomicU8,
    results: AtomicU8,
}

fn from_code(code: u8) -> Encoding {
    let known = Encoding::ALL.get(usize::from(code));
    known.copied().unwrap_or_default()
}

impl Encodings {
    /// Of statements (`character_set_client`).
    #[inline]
    pub fn client(&self) -> Encoding {
        from_code(self.client.load(Ordering::Relaxed))
    }
    /// Whether literals are converted to `character_set_connection`.
    #[inline]
    pub fn converts(&self) -> bool {
        let connection = self.connection.load(Ordering::Relaxed);
        connection != Encoding::Own as u8 && connection != self.client.load(Ordering::Relaxed)
    }
    /// Of results (`character_set_results`).
    #[inline]
    pub fn results(&self) -> Encoding {
        from_code(self.results.load(Ordering::Relaxed))
    }
    /// Sets all; `connection` is [`Encoding::Own`] if that is `binary`.
    pub fn set(&self, client: Encoding, connection: Encoding, results: Encoding) {
        self.client.store(client as u8, Ordering::Relaxed);
        self.connection.store(connection as u8, Ordering::Relaxed);
        self.results.store(results as u8, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_byte_of_latin1_is_a_character() {
        let all: Vec<u8> = (0..=255).collect();
        let mut text = String::new();
        Encoding::Latin1.decode(&all, &mut text);
        let mut back = Vec::new();
        Encoding::Latin1.encode(text.as_bytes(), &mut back);
        assert_eq!(back, all);
        assert!(text.contains('é') && text.contains('€') && text.contains('ÿ'));
    }

    #[test]
    fn what_does_not_fit_is_a_question_mark() {
        let encoded = |e: Encoding, text: &str| {
            let mut out = Vec::new();
            e.encode(text.as_bytes(), &mut out);
            out
        };
        assert_eq!(encoded(Encoding::Latin1, "aé€ж😀"), b"a\xe9\x80??");
        assert_eq!(encoded(Encoding::Ascii, "aé"), b"a?");
        let mut text = String::new();
        Encoding::Ascii.decode(b"a\xe9", &mut text);
        assert_eq!(text, "a?");
    }

    #[test]
    fn handshakes_name_collations() {
        assert_eq!(Encoding::charset_of_collation(8), Ok("latin1"));
        assert_eq!(Encoding::charset_of_collation(255), Ok("utf8mb4"));
        assert_eq!(Encoding::charset_of_collation(28), Ok("gbk"));
        // gb18030
        assert_eq!(Encoding::charset_of_collation(248).unwrap_err().code, 1115);
        // No statement can come in UTF-16.
        assert_eq!(Encoding::charset_of_collation(54).unwrap_err().code, 1115);
    }

    fn bytes_of(encoding: Encoding, text: &str) -> Vec<u8> {
        encoding.encoded(text.as_bytes()).into_owned()
    }

    #[test]
    fn wide_characters_have_their_bytes() {
        let text = "a€😀";
        assert_eq!(
            bytes_of(Encoding::Utf16, text),
            b"\0a\x20\xac\xd8\x3d\xde\0"
        );
        assert_eq!(
            bytes_of(Encoding::Utf16le, text),
            b"a\0\xac\x20\x3d\xd8\0\xde"
        );
        assert_eq!(bytes_of(Encoding::Ucs2, text), b"\0a\x20\xac\0?");
        assert_eq!(bytes_of(Encoding::Utf32, "😀"), b"\0\x01\xf6\0");
        assert_eq!(bytes_of(Encoding::Utf8mb3, text), "a€?".as_bytes());
    }

    #[test]
    fn what_means_nothing_is_told_by_where_it_stands() {
        for (encoding, bytes, valid) in [
            (Encoding::Utf8, &b"a\xff"[..], 1),
            (Encoding::Utf8mb3, "ж😀".as_bytes(), 2),
            (Encoding::Ascii, b"ab\x80", 2),
            (Encoding::Utf16, b"\0a\xd8\x3d\0a", 2),
            (Encoding::Utf16, b"\0a\0", 2),
            (Encoding::Ucs2, b"\xd8\x3d\xde\0", 0),
            (Encoding::Utf32, b"\0\x11\0\0", 0),
        ] {
            assert_eq!(
                encoding.text_of(bytes),
                Err(valid),
                "{encoding:?} {bytes:x?}"
            );
        }
        let mut text = String::new();
        Encoding::Utf16.decode(b"\0a\xd8\x3d\0b\0", &mut text);
        assert_eq!(text, "a?b?");
        assert_eq!(*Encoding::Utf32.padded(b"A"), *b"\0\0\0A");
    }

    proptest! {
        #[test]
        fn texts_return_from_their_bytes(text in ".{0,40}", most in 0usize..60) {
            for encoding in Encoding::ALL {
                let bytes = encoding.encoded(text.as_bytes());
                let back = encoding.text_of(&bytes);
                match encoding.misfit(text.as_bytes()) {
                    None => prop_assert_eq!(back, Ok(Cow::Borrowed(&*text)), "{:?}", encoding),
                    Some(at) => {
                        let back = back.unwrap();
                        prop_assert_eq!(&back.as_bytes()[..at], &text.as_bytes()[..at]);
                    }
                }
                prop_assert_eq!(encoding.encoded_len(&encoding.fitted(text.as_bytes().into())), bytes.len());
                let cut = encoding.prefix_within(text.as_bytes(), most);
                prop_assert!(text.is_char_boundary(cut));
                prop_assert!(encoding.encoded_len(&text.as_bytes()[..cut]) <= most);
                prop_assert!(cut == text.len() || cut + 4 > most / 4);
            }
        }
    }
}

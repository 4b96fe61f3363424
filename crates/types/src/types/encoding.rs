//! Character sets of clients: texts are UTF-8 inside, and are converted on their way in and out.

use crate::error::{SqlError, SqlResult};
use std::sync::atomic::{AtomicU8, Ordering};

/// What a client's bytes mean.
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
}

/// Windows-1252 from 0x80 to 0x9f.
const HIGH: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

impl Encoding {
    /// Of a character set a client may have, by its canonical name.
    pub fn of_charset(name: &str) -> Encoding {
        match name {
            "latin1" => Encoding::Latin1,
            "ascii" => Encoding::Ascii,
            _ => Encoding::Utf8,
        }
    }

    /// The character set that a collation id in a handshake stands for; error 1115 for one there is not.
    pub fn charset_of_collation(id: u16) -> SqlResult<&'static str> {
        match id {
            5 | 8 | 15 | 31 | 47..=49 | 94 => Ok("latin1"),
            11 | 65 => Ok("ascii"),
            33 | 76 | 83 | 192..=223 => Ok("utf8mb3"),
            45 | 46 | 224..=247 | 255..=323 => Ok("utf8mb4"),
            63 => Ok("binary"),
            _ => Err(SqlError::new(
                1115,
                format!("Unknown character set: '#{id}'"),
            )),
        }
    }

    /// The collation id that describes texts in this encoding; `None`: their own.
    pub fn collation_id(self) -> Option<u16> {
        match self {
            Encoding::Utf8 => None,
            Encoding::Latin1 => Some(8),
            Encoding::Ascii => Some(11),
        }
    }

    /// Appends what the bytes mean. Bytes that mean nothing become question marks; UTF-8 is taken as it is.
    pub fn decode(self, bytes: &[u8], out: &mut String) {
        if self == Encoding::Utf8 {
            return out.push_str(&String::from_utf8_lossy(bytes));
        }
        out.extend(bytes.iter().map(|b| match (self, b) {
            (_, 0..0x80) => char::from(*b),
            (Encoding::Ascii, _) => '?',
            (_, 0x80..0xa0) => HIGH[usize::from(*b - 0x80)],
            _ => char::from(*b),
        }));
    }

    /// The bytes that a client sent as this text; `None` if it cannot have sent them.
    pub fn sent(self, text: &[u8]) -> Option<Vec<u8>> {
        let mut bytes = Vec::with_capacity(text.len());
        self.encode(text, &mut bytes);
        let mut back = String::with_capacity(text.len());
        self.decode(&bytes, &mut back);
        (back.as_bytes() == text).then_some(bytes)
    }

    /// Appends a text's bytes. Characters there are none for become question marks.
    pub fn encode(self, text: &[u8], out: &mut Vec<u8>) {
        if self == Encoding::Utf8 {
            return out.extend_from_slice(text);
        }
        out.extend(String::from_utf8_lossy(text).chars().map(|c| {
            let code = u32::from(c);
            match (self, code) {
                (_, 0..0x80) => code as u8,
                (Encoding::Latin1, 0xa0..0x100) => code as u8,
                (Encoding::Latin1, _) => {
                    let high = HIGH.iter().position(|h| *h == c);
                    high.map_or(b'?', |i| 0x80 + i as u8)
                }
                _ => b'?',
            }
        }));
    }
}

/// What a session's client sends and wants, for whoever encodes while the session works.
#[derive(Debug, Default)]
pub struct Encodings {
    client: AtomicU8,
    results: AtomicU8,
}

fn from_code(code: u8) -> Encoding {
    match code {
        1 => Encoding::Latin1,
        2 => Encoding::Ascii,
        _ => Encoding::Utf8,
    }
}

impl Encodings {
    /// Of statements (`character_set_client`).
    #[inline]
    pub fn client(&self) -> Encoding {
        from_code(self.client.load(Ordering::Relaxed))
    }
    /// Of results (`character_set_results`).
    #[inline]
    pub fn results(&self) -> Encoding {
        from_code(self.results.load(Ordering::Relaxed))
    }
    /// Sets both.
    pub fn set(&self, client: Encoding, results: Encoding) {
        self.client.store(client as u8, Ordering::Relaxed);
        self.results.store(results as u8, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(Encoding::charset_of_collation(28).unwrap_err().code, 1115);
    }
}

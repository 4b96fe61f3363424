//! MySQL's latin1, which is Windows-1252 with its five gaps filled by the control characters of the same numbers; and the orders of
//! its collations, a weight for each byte.
//!
//! The orders are told as the manual tells them: by which letters count as which. Weights are MySQL's own where a
//! statement can see them (WEIGHT_STRING).

/// Windows-1252 from 0x80 to 0x9f.
const HIGH: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// The character that a byte is.
#[inline]
pub(super) fn character(byte: u8) -> char {
    match byte {
        0x80..0xa0 => HIGH[usize::from(byte - 0x80)],
        _ => char::from(byte),
    }
}

/// The byte that a character is, if it is one.
#[inline]
pub(super) fn byte(code: u32) -> Option<u8> {
    match code {
        0..0x80 | 0xa0..0x100 => Some(code as u8),
        _ => {
            let high = HIGH.iter().position(|h| u32::from(*h) == code)?;
            Some(0x80 + high as u8)
        }
    }
}

/// Each byte by itself.
const fn by_number() -> [u8; 256] {
    let mut weights = [0; 256];
    let mut i = 0;
    while i < 256 {
        weights[i] = i as u8;
        i += 1;
    }
    weights
}

/// The letters of latin1's upper half as others, position by position from 0xc0 to 0xdf; the small ones of them likewise, and ASCII's
/// small letters as their capitals.
const fn folded(capitals: [u8; 32]) -> [u8; 256] {
    let mut weights = by_number();
    let mut i = 0;
    while i < 26 {
        weights[b'a' as usize + i] = b'A' + i as u8;
        i += 1;
    }
    i = 0;
    while i < 32 {
        weights[0xc0 + i] = capitals[i];
        // Not a letter's: the division sign and ÿ, whose place among the capitals × and ß have.
        if i != 0x17 && i != 0x1f {
            weights[0xe0 + i] = capitals[i];
        }
        i += 1;
    }
    weights
}

/// Swedish and Finnish: Å, Ä and Ö after Z, where the Swedish ASCII had them; Æ is Ä, Ü is Y, Đ is D.
pub(super) static SWEDISH_CI: [u8; 256] =
    folded(*b"AAAA\\[\\CEEEEIIIIDNOOOO]\xd7\xd8UUUYY\xde\xdf");

/// German dictionaries: umlauts are their vowels, ß is s.
pub(super) static GERMAN1_CI: [u8; 256] = folded(*b"AAAAAAACEEEEIIII\xd0NOOOOO\xd7OUUUUY\xdeS");

/// Byte by byte.
pub(super) static BIN: [u8; 256] = by_number();

/// The letters in the order of the `general` collations, capital before small.
const LETTERS: &[u8] = b"Aa\xc0\xe0\xc1\xe1\xc2\xe2\xc3\xe3\xc4\xe4\xc5\xe5\xc6\xe6BbCc\xc7\xe7Dd\xd0\xf0\
    Ee\xc8\xe8\xc9\xe9\xca\xea\xcb\xebFfGgHhIi\xcc\xec\xcd\xed\xce\xee\xcf\xefJjKkLlMmNn\xd1\xf1\
    Oo\xd2\xf2\xd3\xf3\xd4\xf4\xd5\xf5\xd6\xf6\xd8\xf8PpQqRrSs\xdfTtUu\xd9\xf9\xda\xfa\xdb\xfb\xdc\xfc\
    VvWwXxYy\xdd\xfd\xffZz\xde\xfe";
/// What follows them.
const AFTER: &[u8] = b"[\\]^_`{|}~\xd7\xf7\x7f";

/// Signs up to `@` by their numbers, then the letters, then the rest.
const fn general(ignores_case: bool) -> [u8; 256] {
    let mut weights = by_number();
    let mut next = b'A';
    let mut i = 0;
    while i < LETTERS.len() {
        let letter = LETTERS[i];
        let small = letter.is_ascii_lowercase() || letter >= 0xe0 && letter != 0xff;
        weights[letter as usize] = if ignores_case && small {
            next - 1
        } else {
            next
        };
        next += 1;
        i += 1;
    }
    i = 0;
    while i < AFTER.len() {
        weights[AFTER[i] as usize] = next;
        next += 1;
        i += 1;
    }
    i = 0x80;
    while i < 0xc0 {
        weights[i] = next;
        next = next.wrapping_add(1);
        i += 1;
    }
    weights
}

/// Each accented letter for itself, after the plain one.
pub(super) static GENERAL_CI: [u8; 256] = general(true);

/// Likewise, each capital before its small letter.
pub(super) static GENERAL_CS: [u8; 256] = general(false);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_those_of_the_manual() {
        let weight = |order: &[u8; 256], c: char| order[usize::from(byte(c.into()).unwrap())];
        let swedish = |c| weight(&SWEDISH_CI, c);
        assert!(swedish('Z') < swedish('å') && swedish('å') < swedish('ä'));
        assert!(swedish('ä') < swedish('ö') && swedish('ö') < swedish('ß'));
        assert_eq!(swedish('ü'), swedish('Y'));
        assert_eq!((swedish('ÿ'), swedish('÷')), (0xff, 0xf7));
        let german = |c| weight(&GERMAN1_CI, c);
        assert_eq!(german('ß'), german('s'));
        assert_eq!(german('Ü'), german('u'));
        assert_eq!((german('ÿ'), german('Ø')), (0xff, b'O'));
        let general = |c| weight(&GENERAL_CI, c);
        assert!(general('a') < general('á') && general('Æ') < general('B'));
        assert_eq!(general('á'), general('Á'));
        assert_eq!(
            (general('¿'), general('Þ'), general('€')),
            (0xff, 0xb1, 0xc0)
        );
        let sensitive = |c| weight(&GENERAL_CS, c);
        assert!(sensitive('A') < sensitive('a') && sensitive('a') < sensitive('À'));
    }

    #[test]
    fn general_orders_have_a_place_for_each_byte() {
        let mut weights = GENERAL_CS;
        weights.sort_unstable();
        assert_eq!(weights, by_number());
    }
}

//! The character sets of single bytes beside latin1 and ASCII: which characters their upper halves are, and the orders of their collations, a
//! weight for each byte.
//!
//! Both are MySQL's (`scripts/charset-tables`): nearly all of the characters are those of Unicode's mapping files, the orders are published as
//! charts only. A byte that is no character is refused, as in ASCII's upper half, where MySQL keeps it.

use super::Encoding;

/// The sets, in the order of `characters.bin`.
const SETS: [(Encoding, &str); 21] = [
    (Encoding::Armscii8, "armscii8"),
    (Encoding::Cp1250, "cp1250"),
    (Encoding::Cp1251, "cp1251"),
    (Encoding::Cp1256, "cp1256"),
    (Encoding::Cp1257, "cp1257"),
    (Encoding::Cp850, "cp850"),
    (Encoding::Cp852, "cp852"),
    (Encoding::Cp866, "cp866"),
    (Encoding::Dec8, "dec8"),
    (Encoding::Geostd8, "geostd8"),
    (Encoding::Greek, "greek"),
    (Encoding::Hebrew, "hebrew"),
    (Encoding::Hp8, "hp8"),
    (Encoding::Keybcs2, "keybcs2"),
    (Encoding::Koi8r, "koi8r"),
    (Encoding::Koi8u, "koi8u"),
    (Encoding::Latin2, "latin2"),
    (Encoding::Latin5, "latin5"),
    (Encoding::Latin7, "latin7"),
    (Encoding::Macce, "macce"),
    (Encoding::Macroman, "macroman"),
];

/// The collations, in the order of `orders.bin`.
const ORDERS: [&str; 33] = [
    "armscii8_general_ci",
    "cp1250_general_ci",
    "cp1250_croatian_ci",
    "cp1250_polish_ci",
    "cp1251_general_ci",
    "cp1251_general_cs",
    "cp1251_bulgarian_ci",
    "cp1251_ukrainian_ci",
    "cp1256_general_ci",
    "cp1257_general_ci",
    "cp1257_lithuanian_ci",
    "cp850_general_ci",
    "cp852_general_ci",
    "cp866_general_ci",
    "dec8_swedish_ci",
    "geostd8_general_ci",
    "greek_general_ci",
    "hebrew_general_ci",
    "hp8_english_ci",
    "keybcs2_general_ci",
    "koi8r_general_ci",
    "koi8u_general_ci",
    "latin1_danish_ci",
    "latin1_spanish_ci",
    "latin2_general_ci",
    "latin2_croatian_ci",
    "latin2_hungarian_ci",
    "latin5_turkish_ci",
    "latin7_general_ci",
    "latin7_general_cs",
    "latin7_estonian_cs",
    "macce_general_ci",
    "macroman_general_ci",
];

static CHARACTERS: &[u8; SETS.len() * 256] = include_bytes!("characters.bin");
static WEIGHTS: &[u8; ORDERS.len() * 256] = include_bytes!("orders.bin");

/// The characters that the bytes from 0x80 on are in an encoding of single bytes; 0 for none.
pub(super) fn upper_half(encoding: Encoding) -> Option<impl Iterator<Item = u16>> {
    let at = SETS.iter().position(|s| s.0 == encoding)? * 256;
    let pairs = CHARACTERS[at..at + 256].chunks_exact(2);
    Some(pairs.map(|b| u16::from_le_bytes([b[0], b[1]])))
}

/// How the strings of such a set compare.
#[derive(Clone, Copy, Debug)]
pub(super) struct Single {
    /// Whose bytes.
    pub encoding: Encoding,
    /// A weight for each of them.
    pub weights: &'static [u8; 256],
    /// Whether characters of ASCII are the same only as a letter's capital and small, if at all.
    pub keeps_ascii_apart: bool,
}

/// What a byte of such a set weighs that is no character there.
const ELSEWHERE: u32 = 0x100;

impl Single {
    /// A collation of [`ORDERS`], found when the program is compiled.
    pub const fn of(encoding: Encoding, name: &str) -> Single {
        let weights = weights(name);
        Single {
            encoding,
            weights,
            keeps_ascii_apart: keeps_ascii_apart(weights),
        }
    }

    /// Byte by byte.
    pub const fn bin(encoding: Encoding) -> Single {
        Single {
            encoding,
            weights: &super::latin1::BIN,
            keeps_ascii_apart: true,
        }
    }

    /// A character's weight. What the set does not have comes last.
    #[inline]
    pub fn weight(&self, c: u32) -> u32 {
        match super::codes::codes(self.encoding).and_then(|t| t.code(c)) {
            Some(byte) => self.weights[byte as usize & 0xff].into(),
            None => ELSEWHERE + c,
        }
    }

    /// What a space weighs.
    pub fn space(&self) -> u32 {
        self.weights[usize::from(b' ')].into()
    }
}

/// The weights of latin1's collations that are told here.
pub(super) const fn weights(name: &str) -> &'static [u8; 256] {
    let mut at = 0;
    while !same(ORDERS[at], name) {
        at += 1;
    }
    match WEIGHTS.split_at(at * 256).1.first_chunk() {
        Some(weights) => weights,
        None => panic!("orders.bin is too short"),
    }
}

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    a.len() == b.len() && i == a.len()
}

const fn keeps_ascii_apart(weights: &[u8; 256]) -> bool {
    let mut a = 0;
    while a < 0x80u8 {
        let mut b = 0;
        while b < a {
            let same = weights[a as usize] == weights[b as usize];
            if same != a.eq_ignore_ascii_case(&b) {
                return false;
            }
            b += 1;
        }
        a += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_and_order_is_used() {
        use super::super::Collation;
        for name in ORDERS {
            assert!(Collation::by_name(name).is_ok(), "{name}");
        }
        for (encoding, name) in SETS {
            let known = super::super::Charset::by_name(name);
            assert!(known.is_ok_and(|c| c.encoding() == encoding), "{name}");
        }
    }

    #[test]
    fn bytes_are_the_characters_they_should_be() {
        for (encoding, bytes, text) in [
            (Encoding::Cp1251, &b"\xcf\xf0\xe8\xe2\xe5\xf2"[..], "Привет"),
            (Encoding::Koi8r, b"\xf0\xd2\xc9\xd7\xc5\xd4", "Привет"),
            (Encoding::Koi8u, b"\xa7\xa4\xad", "їєґ"),
            (Encoding::Cp866, b"\x8f\xe0\xa8\xa2\xa5\xe2", "Привет"),
            (Encoding::Latin2, b"\xa3\xf3d\xbc", "Łódź"),
            (Encoding::Cp1250, b"\xa3\xf3d\x9f", "Łódź"),
            (Encoding::Cp852, b"\x9d\xa2d\xab", "Łódź"),
            (Encoding::Latin5, b"\xddstanbul \xfe\xf0", "İstanbul şğ"),
            (Encoding::Latin7, b"\xe0\xe6\xfb", "ąęū"),
            (Encoding::Cp1257, b"\xe0\xe6\xfb\x80", "ąęū€"),
            (Encoding::Greek, b"\xc1\xe8\xde\xed\xe1", "Αθήνα"),
            (Encoding::Hebrew, b"\xf9\xec\xe5\xed", "שלום"),
            (Encoding::Cp1256, b"\xd3\xe1\xc7\xe3", "سلام"),
            (Encoding::Macroman, b"\xca\x8e\xdb", "\u{a0}é€"),
            (Encoding::Hp8, b"\xc5\xcc\xbd", "éä§"),
            (Encoding::Cp850, b"\x82\x84\xf5", "éä§"),
        ] {
            assert_eq!(encoding.text_of(bytes).as_deref(), Ok(text), "{encoding:?}");
            assert_eq!(&*encoding.encoded(text.as_bytes()), bytes, "{encoding:?}");
        }
        assert_eq!(Encoding::Cp1251.text_of(b"a\x98"), Err(1));
        assert_eq!(&*Encoding::Cp1251.encoded("aé".as_bytes()), b"a?");
    }
}

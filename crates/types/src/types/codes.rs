//! The East Asian character sets whose characters take one to three bytes: their codes, from the tables of `encoding_rs` (the WHATWG's), which
//! are those of Windows, with what the older ones had otherwise. And those of single bytes, of [`super::single`].

use std::sync::LazyLock;

use super::{Encoding, chinese, single};

/// What has no code, or is no character's.
const NONE: u32 = 0;

/// A character set's codes: the bytes of a character as a number, the first the greatest.
pub(super) struct Codes {
    /// By character of the basic plane, up to the last that has one.
    of: Vec<u32>,
    /// Characters by code of one or two bytes; then by the last two of codes of three bytes. As far as there are such codes.
    characters: [Vec<u16>; 2],
}

macro_rules! tables {
    ($($encoding:ident)*) => {
        /// The codes of an encoding, if it has such.
        pub(super) fn codes(encoding: Encoding) -> Option<&'static Codes> {
            match encoding {
                $(Encoding::$encoding => {
                    static CODES: LazyLock<Codes> = LazyLock::new(|| Codes::of_encoding(Encoding::$encoding));
                    Some(&CODES)
                })*
                _ => None,
            }
        }
    };
}

tables!(
    Cp932 Sjis Ujis Euckr Big5 Eucjpms Gb2312 Gbk
    Armscii8 Cp1250 Cp1251 Cp1256 Cp1257 Cp850 Cp852 Cp866
    Dec8 Geostd8 Greek Hebrew Hp8 Keybcs2 Koi8r Koi8u
    Latin2 Latin5 Latin7 Macce Macroman
);

/// Where JIS X 0208's standard and Windows part: row and cell, counted from 0x21, with Windows' character and the standard's.
const PARTING: [(u32, u16, u16); 7] = [
    (0x2140, 0xff3c, 0x005c),
    (0x2141, 0xff5e, 0x301c),
    (0x2142, 0x2225, 0x2016),
    (0x215d, 0xff0d, 0x2212),
    (0x2171, 0xffe0, 0x00a2),
    (0x2172, 0xffe1, 0x00a3),
    (0x224c, 0xffe2, 0x00ac),
];

/// The Shift_JIS code of a row and cell.
fn shifted(jis: u32) -> u32 {
    let (row, cell) = ((jis >> 8) - 0x21, (jis & 0xff) - 0x21);
    let lead = row / 2 + if row < 62 { 0x81 } else { 0xc1 };
    let trail = match (row % 2, cell) {
        (0, ..63) => cell + 0x40,
        (0, _) => cell + 0x41,
        _ => cell + 0x9f,
    };
    lead << 8 | trail
}

/// Bytes of the character that begins with a byte.
pub(super) fn length(encoding: Encoding, first: u8) -> usize {
    match (encoding, first) {
        (Encoding::Cp932 | Encoding::Sjis, 0x81..=0x9f | 0xe0..=0xfc) => 2,
        (Encoding::Ujis | Encoding::Eucjpms, 0x8f) => 3,
        (Encoding::Ujis | Encoding::Eucjpms, 0x8e | 0xa1..=0xfe) => 2,
        (Encoding::Euckr | Encoding::Gbk, 0x81..=0xfe) => 2,
        (Encoding::Gb2312, 0xa1..=0xf7) | (Encoding::Big5, 0xa1..=0xf9) => 2,
        _ => 1,
    }
}

impl Codes {
    fn of_encoding(encoding: Encoding) -> Codes {
        if let Some(upper) = single::upper_half(encoding) {
            return Codes::of_single_bytes((0..0x80).chain(upper).collect());
        }
        let mut codes = Codes {
            of: vec![NONE; 0x1_0000],
            characters: [vec![0; 0x1_0000], vec![0; 0x1_0000]],
        };
        // A character that has a code of two bytes and one of three is written with two.
        for first in (0..=0xffu8).filter(|b| *b != 0x8f).chain([0x8f]) {
            let more = length(encoding, first) - 1;
            for rest in 0..1u32 << (8 * more) {
                codes.read(encoding, u32::from(first) << (8 * more) | rest);
            }
        }
        if matches!(encoding, Encoding::Ujis | Encoding::Eucjpms) {
            codes.user_defined();
        }
        if encoding == Encoding::Eucjpms {
            codes.selected();
        }
        codes
    }

    /// Of bytes that are these characters.
    fn of_single_bytes(characters: Vec<u16>) -> Codes {
        let last = characters.iter().max().map_or(0, |c| usize::from(*c));
        let mut codes = Codes {
            of: vec![NONE; last + 1],
            characters: [vec![0; characters.len()], Vec::new()],
        };
        for (code, c) in (0..).zip(&characters) {
            if *c != 0 {
                codes.put(code, *c, true);
            }
        }
        codes
    }

    /// Takes a code in if it is a character's.
    fn read(&mut self, encoding: Encoding, code: u32) {
        let table = match encoding {
            Encoding::Cp932 | Encoding::Sjis => encoding_rs::SHIFT_JIS,
            Encoding::Ujis | Encoding::Eucjpms => encoding_rs::EUC_JP,
            Encoding::Big5 => encoding_rs::BIG5,
            Encoding::Gb2312 | Encoding::Gbk => encoding_rs::GBK,
            _ => encoding_rs::EUC_KR,
        };
        // Rows that Windows added to the standard.
        let added = match encoding {
            Encoding::Sjis => matches!(code, 0x8540..=0x889e | 0xeb40..),
            Encoding::Ujis => matches!(code, 0xa9a1..=0xaffe | 0xf5a1..=0xfefe),
            // NEC's row is Windows' own.
            Encoding::Eucjpms => {
                matches!(code, 0xa9a1..=0xacfe | 0xaea1..=0xaffe | 0xf5a1..=0xfefe)
            }
            _ => false,
        };
        let bytes = code.to_be_bytes();
        let bytes = &bytes[code.leading_zeros().min(24) as usize / 8..];
        let Some(text) = table.decode_without_bom_handling_and_without_replacement(bytes) else {
            return;
        };
        let mut chars = text.chars();
        let (Some(c), None) = (chars.next(), chars.next()) else {
            return;
        };
        let Ok(mut c) = u16::try_from(u32::from(c)) else {
            return;
        };
        if added || code == 0x80 {
            return;
        }
        c = match chinese::character(encoding, code, c) {
            Some(own) => own,
            None => return,
        };
        let standard = match encoding {
            Encoding::Sjis => PARTING.iter().find(|p| shifted(p.0) == code),
            Encoding::Ujis => PARTING.iter().find(|p| p.0 | 0x8080 == code),
            _ => None,
        };
        if let Some((.., meant)) = standard {
            c = *meant;
        }
        // Of JIS X 0212 they part in two.
        c = match (encoding, code) {
            (Encoding::Ujis, 0x8f_a2b7) => 0x7e,
            (Encoding::Ujis, 0x8f_a2c3) => 0xa6,
            (Encoding::Eucjpms, 0x8f_a2b7) => 0xff5e,
            (Encoding::Eucjpms, 0x8f_a2c3) => 0xffe4,
            _ => c,
        };
        // Of a character that has several codes Windows writes the first, but for IBM's kanji, which NEC had selected some of.
        let selected = encoding == Encoding::Cp932 && matches!(code, 0xed40..=0xeefc);
        self.put(code, c, !selected);
    }

    /// Rows that are for users to define.
    fn user_defined(&mut self) {
        let mut c = 0xe000;
        for plane in [0, 0x8f_0000] {
            for row in 0xf5..=0xfe {
                for cell in 0xa1..=0xfe {
                    self.put(plane | row << 8 | cell, c, true);
                    c += 1;
                }
            }
        }
    }

    /// What IBM selected and JIS X 0212 does not have, in IBM's order, which is that of its codes in Windows' Shift_JIS.
    fn selected(&mut self) {
        let mut code = 0x8f_f3f3;
        for ibm in 0xfa40..=0xfc4b {
            let known = codes(Encoding::Cp932).and_then(|t| t.character(ibm));
            let Some(c) = known.and_then(|c| u16::try_from(u32::from(c)).ok()) else {
                continue;
            };
            let numeral = matches!(c, 0x2160..=0x2169 | 0x2170..=0x2179 | 0x2116 | 0x2121 | 0x3231);
            let has = self.of[usize::from(c)] != NONE;
            if has && !numeral {
                continue;
            }
            self.put(code, c, true);
            code = match code & 0xff {
                0xfe => 0x8f_f4a1,
                _ => code + 1,
            };
        }
    }

    fn put(&mut self, code: u32, c: u16, writes: bool) {
        let of = &mut self.of[usize::from(c)];
        if writes && *of == NONE {
            *of = code;
        }
        self.characters[usize::from(code > 0xffff)][code as usize & 0xffff] = c;
    }

    /// A character's code.
    #[inline]
    pub(super) fn code(&self, c: u32) -> Option<u32> {
        let code = *self.of.get(c as usize)?;
        (code != NONE || c == 0).then_some(code)
    }

    /// The character of a code.
    pub(super) fn character(&self, code: u32) -> Option<char> {
        let c = *self.characters[usize::from(code > 0xffff)].get(code as usize & 0xffff)?;
        (c != 0 || code == 0)
            .then(|| char::from_u32(c.into()))
            .flatten()
    }
}

/// A code's bytes.
pub(super) fn bytes(code: u32) -> ([u8; 4], usize) {
    let n = (4 - code.leading_zeros() as usize / 8).max(1);
    (code.to_be_bytes(), 4 - n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_have_their_codes() {
        let code = |encoding, c: char| codes(encoding).unwrap().code(c.into());
        assert_eq!(code(Encoding::Cp932, '①'), Some(0x8740));
        assert_eq!(code(Encoding::Sjis, '①'), None);
        assert_eq!(code(Encoding::Cp932, '～'), Some(0x8160));
        assert_eq!(code(Encoding::Sjis, '〜'), Some(0x8160));
        assert_eq!(code(Encoding::Ujis, '〜'), Some(0xa1c1));
        assert_eq!(code(Encoding::Ujis, 'ｱ'), Some(0x8eb1));
        assert_eq!(code(Encoding::Ujis, 'é'), Some(0x8f_abb1));
        assert_eq!(code(Encoding::Eucjpms, '～'), Some(0xa1c1));
        assert_eq!(code(Encoding::Eucjpms, '①'), Some(0xada1));
        assert_eq!(code(Encoding::Eucjpms, 'Ⅰ'), Some(0xadb5));
        assert_eq!(code(Encoding::Eucjpms, 'ⅰ'), Some(0x8f_f3f3));
        assert_eq!(code(Encoding::Eucjpms, '黑'), Some(0x8f_f4fe));
        assert_eq!(code(Encoding::Euckr, '한'), Some(0xc7d1));
        assert_eq!(code(Encoding::Euckr, '똠'), Some(0x8c63));
        assert_eq!(code(Encoding::Sjis, '\\'), Some(0x5c));
        assert_eq!(code(Encoding::Cp932, '\0'), Some(0));
    }

    #[test]
    fn codes_lead_back() {
        for encoding in [
            Encoding::Cp932,
            Encoding::Sjis,
            Encoding::Ujis,
            Encoding::Euckr,
            Encoding::Big5,
            Encoding::Eucjpms,
            Encoding::Gb2312,
            Encoding::Gbk,
        ] {
            let codes = codes(encoding).unwrap();
            for c in 0..0x1_0000 {
                if let Some(code) = codes.code(c) {
                    assert_eq!(
                        codes.character(code).map(u32::from),
                        Some(c),
                        "{encoding:?} {c:x}"
                    );
                    let (bytes, from) = bytes(code);
                    assert_eq!(length(encoding, bytes[from]), 4 - from);
                }
            }
        }
    }
}

//! The Chinese character sets: which codes of the WHATWG's tables they have, with which characters otherwise, and the order of
//! gbk_chinese_ci.
//!
//! That is MySQL's, by pronunciation: a place for each code (`gbk-order.bin`, little-endian u16 by row and cell, 0xffff for what is no
//! character). The others compare codes. Big5's are by the number of strokes, the common characters before the rare ones; MySQL compares them
//! so as well, but sorts rare ones among the common ones of as many strokes, which no index can follow: here one order holds for all, and only
//! WEIGHT_STRING counts strokes.

use std::ops::RangeInclusive;

use super::Encoding;

static GBK_ORDER: &[u8; GBK_ROWS * GBK_CELLS * 2] = include_bytes!("gbk-order.bin");
const GBK_ROWS: usize = 126;
const GBK_CELLS: usize = 190;
const NONE: u16 = 0xffff;
/// What a server shows for the first place of gbk's order.
const GBK_SHOWN: u32 = 0x8100;
/// Places to a row of what keys have in their stead, and the first cell of one: no byte of theirs is ASCII's punctuation.
const KEY_CELLS: u32 = 0xbf;
const KEY_CELL: u32 = 0x40;

/// The codes that gb2312 has, in rows that are not full.
const GB2312_ROWS: [RangeInclusive<u32>; 12] = [
    0xa2b1..=0xa2e2,
    0xa2e5..=0xa2ee,
    0xa2f1..=0xa2fc,
    0xa4a1..=0xa4f3,
    0xa5a1..=0xa5f6,
    0xa6a1..=0xa6b8,
    0xa6c1..=0xa6d8,
    0xa7a1..=0xa7c1,
    0xa7d1..=0xa7f1,
    0xa8a1..=0xa8ba,
    0xa8c5..=0xa8e9,
    0xa9a4..=0xa9ef,
];

/// Where gb2312 and its extension part.
const GB2312_PARTING: [(u32, u16); 2] = [(0xa1a4, 0x30fb), (0xa1aa, 0x2015)];

/// Where Big5 as Unicode's table has it and the WHATWG's part, besides rows 0xc6a1 to 0xc7fc; 0 for no character.
const BIG5_PARTING: [(u32, u16); 17] = [
    (0xa145, 0x2022),
    (0xa14e, 0xff64),
    (0xa15a, 0),
    (0xa1c2, 0x203e),
    (0xa1c3, 0),
    (0xa1c5, 0),
    (0xa1e3, 0x223c),
    (0xa1f2, 0x2641),
    (0xa1f3, 0x2609),
    (0xa1fe, 0),
    (0xa240, 0),
    (0xa241, 0xff0f),
    (0xa242, 0xff3c),
    (0xa244, 0x00a5),
    (0xa246, 0x00a2),
    (0xa247, 0x00a3),
    (0xa2cc, 0),
];

/// The characters from 0xc6a1 on, one after another.
const BIG5_KANA: [RangeInclusive<u16>; 14] = [
    0x30fe..=0x30fe,
    0x309d..=0x309e,
    0x3005..=0x3005,
    0x3041..=0x3093,
    0x30a1..=0x30f6,
    0x0414..=0x0415,
    0x0401..=0x0401,
    0x0416..=0x041c,
    0x0423..=0x042f,
    0x0430..=0x0435,
    0x0451..=0x0451,
    0x0436..=0x044f,
    0x2460..=0x2469,
    0x2474..=0x247d,
];

/// The codes from which on characters of big5 have as many strokes, and what WEIGHT_STRING shows for them.
static BIG5_STROKES: [(u32, u32); BIG5_RUNS] = [
    (0xa140, 0xa140),
    (0xa259, 0xab45),
    (0xa25a, 0xadbc),
    (0xa25b, 0xb0ae),
    (0xa25d, 0xb6c3),
    (0xa25e, 0xbea7),
    (0xa25f, 0xb6c3),
    (0xa260, 0xa8c3),
    (0xa261, 0xbbf5),
    (0xa262, 0xa140),
    (0xa440, 0xa440),
    (0xa442, 0xa442),
    (0xa454, 0xa454),
    (0xa4a1, 0xa4a1),
    (0xa4fe, 0xa4fe),
    (0xa5e0, 0xa5e0),
    (0xa6ea, 0xa6ea),
    (0xa8c3, 0xa8c3),
    (0xab45, 0xab45),
    (0xadbc, 0xadbc),
    (0xb0ae, 0xb0ae),
    (0xb3c3, 0xb3c3),
    (0xb6c3, 0xb6c3),
    (0xb9ac, 0xb9ac),
    (0xbbf5, 0xbbf5),
    (0xbea7, 0xbea7),
    (0xc075, 0xc075),
    (0xc24f, 0xc24f),
    (0xc35f, 0xc35f),
    (0xc455, 0xc455),
    (0xc4d7, 0xc4d7),
    (0xc56b, 0xc56b),
    (0xc5c8, 0xc5c8),
    (0xc5f1, 0xc5f1),
    (0xc655, 0xc655),
    (0xc665, 0xc665),
    (0xc66c, 0xc66c),
    (0xc676, 0xc676),
    (0xc679, 0xc679),
    (0xc67d, 0xc67d),
    (0xc67e, 0xc67e),
    (0xc6a1, 0xb6c3),
    (0xc6a2, 0xa140),
    (0xc940, 0xa442),
    (0xc945, 0xa454),
    (0xc94d, 0xa4a1),
    (0xc963, 0xa4fe),
    (0xc9ab, 0xa5e0),
    (0xca5a, 0xa6ea),
    (0xcbb1, 0xa8c3),
    (0xcddd, 0xab45),
    (0xd0c8, 0xadbc),
    (0xd44b, 0xb0ae),
    (0xd851, 0xb3c3),
    (0xdcb1, 0xb6c3),
    (0xe0f0, 0xb9ac),
    (0xe4e6, 0xbbf5),
    (0xe8f4, 0xbea7),
    (0xecb9, 0xc075),
    (0xefb7, 0xc24f),
    (0xf1eb, 0xc35f),
    (0xf3fd, 0xc455),
    (0xf5c0, 0xc4d7),
    (0xf6d6, 0xc56b),
    (0xf7d0, 0xc5c8),
    (0xf8a5, 0xc5f1),
    (0xf8ee, 0xc655),
    (0xf96b, 0xc665),
    (0xf9a2, 0xc66c),
    (0xf9ba, 0xc676),
    (0xf9c6, 0xf9c6),
    (0xf9c7, 0xc679),
    (0xf9cc, 0xc67d),
    (0xf9d0, 0xf9d0),
    (0xf9d1, 0xc67e),
    (0xf9d2, 0xf9c6),
    (0xf9d3, 0xf9d3),
    (0xf9d4, 0xf9d4),
    (0xf9d5, 0xf9d5),
    (0xf9d6, 0xb6c3),
    (0xf9d7, 0xbea7),
    (0xf9d8, 0xb6c3),
    (0xf9d9, 0xbea7),
    (0xf9da, 0xab45),
    (0xf9db, 0xb3c3),
    (0xf9dc, 0xb9ac),
];
const BIG5_RUNS: usize = 86;

/// The character that a code is in a set, where the WHATWG's table has `c`.
pub(super) fn character(encoding: Encoding, code: u32, c: u16) -> Option<u16> {
    let parting = |list: &[(u32, u16)]| list.iter().find(|p| p.0 == code).map_or(c, |p| p.1);
    let c = match encoding {
        Encoding::Gbk if code > 0xff => (gbk_place(code)? != NONE).then_some(c)?,
        Encoding::Gb2312 if code > 0xff => {
            let cells = 0xa1..=0xfe;
            let full = matches!(code >> 8, 0xa1 | 0xa3 | 0xb0..=0xf7)
                && cells.contains(&(code & 0xff))
                && !(0xd7fa..=0xd7fe).contains(&code);
            let known = full || GB2312_ROWS.iter().any(|row| row.contains(&code));
            known.then(|| parting(&GB2312_PARTING))?
        }
        Encoding::Big5 if code > 0xff => match code {
            0xc6a1..=0xc7fc => kana(code)?,
            0xa2ce | 0xa3c0..=0xa3fe | 0xc7fd..=0xc8fe | 0xf9dd.. | ..0xa140 => 0,
            _ => parting(&BIG5_PARTING),
        },
        _ => c,
    };
    (c != 0 || code == 0).then_some(c)
}

/// Of the rows that hold kana.
fn kana(code: u32) -> Option<u16> {
    let cell = |code: u32| match code & 0xff {
        trail @ 0x40..=0x7e => trail - 0x40,
        trail => trail - 0x62,
    };
    let place = (code >> 8) * 157 + cell(code) - (0xc6 * 157 + cell(0xc6a1));
    BIG5_KANA.iter().cloned().flatten().nth(place as usize)
}

/// The place of a code in gbk's order, if it can be one.
fn gbk_place(code: u32) -> Option<u16> {
    let cell = match code & 0xff {
        trail @ 0x40..=0x7e => trail - 0x40,
        trail @ 0x80..=0xfe => trail - 0x41,
        _ => return None,
    };
    let at = ((code >> 8).checked_sub(0x81)? as usize * GBK_CELLS + cell as usize) * 2;
    let bytes = GBK_ORDER.get(at..at + 2)?;
    Some(u16::from_le_bytes([bytes[0], bytes[1]]))
}

/// What stands for a code of two bytes in the keys of a set's default collation: two bytes that sort as it does.
pub(super) fn key(encoding: Encoding, code: u32) -> u32 {
    match encoding {
        Encoding::Gbk => {
            let place = u32::from(gbk_place(code).unwrap_or(NONE));
            (0x81 + place / KEY_CELLS) << 8 | (KEY_CELL + place % KEY_CELLS)
        }
        _ => code,
    }
}

/// The weight that WEIGHT_STRING shows for a key.
pub(super) fn shown(encoding: Encoding, key: u32) -> u32 {
    match encoding {
        Encoding::Gbk => {
            let row = (key >> 8) - 0x81;
            GBK_SHOWN + row * KEY_CELLS + (key & 0xff) - KEY_CELL
        }
        Encoding::Big5 => {
            let run = BIG5_STROKES.partition_point(|run| run.0 <= key);
            run.checked_sub(1).map_or(key, |run| BIG5_STROKES[run].1)
        }
        _ => key,
    }
}

/// What a character of ASCII weighs in a set's default collation: letters without their case, and in the Chinese ones a few others as
/// MySQL has them.
pub(super) fn ascii(encoding: Encoding, b: u8) -> u8 {
    match (encoding, b) {
        (Encoding::Big5, b'`') => b'E',
        (Encoding::Big5 | Encoding::Gb2312 | Encoding::Gbk, _) => match b {
            b'[' => b'\\',
            b'\\' => b']',
            b']' => b'[',
            b'~' => b'Y',
            _ => b.to_ascii_uppercase(),
        },
        _ => b.to_ascii_uppercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Collation;
    use super::super::codes::codes;
    use super::*;

    #[test]
    fn sets_have_as_many_characters_as_they_should() {
        for (encoding, want) in [
            (Encoding::Gbk, 21_791),
            (Encoding::Gb2312, 7_445),
            (Encoding::Big5, 13_710),
        ] {
            let codes = codes(encoding).unwrap();
            let many = (0x8000..0x1_0000).filter(|c| codes.character(*c).is_some());
            assert_eq!(many.count(), want, "{encoding:?}");
        }
    }

    #[test]
    fn characters_have_their_codes_and_places() {
        for (encoding, text, bytes) in [
            (Encoding::Gbk, "中文·€", &b"\xd6\xd0\xce\xc4\xa1\xa4?"[..]),
            (Encoding::Gb2312, "中文・", b"\xd6\xd0\xce\xc4\xa1\xa4"),
            (
                Encoding::Big5,
                "中文ぁа",
                b"\xa4\xa4\xa4\xe5\xc6\xa5\xc7\xc8",
            ),
        ] {
            assert_eq!(&*encoding.encoded(text.as_bytes()), bytes, "{encoding:?}");
        }
        let less = |c: Collation, a: &str, b: &str| c.compare(a.as_bytes(), b.as_bytes()).is_lt();
        // By pronunciation, a before z; a stroke before four.
        assert!(less(Collation::GbkChineseCi, "阿", "中"));
        assert!(less(Collation::GbkChineseCi, "a", "阿"));
        assert!(less(Collation::Big5ChineseCi, "一", "中"));
        assert!(less(Collation::Big5ChineseCi, "中", "文"));
        assert!(Collation::Gb2312ChineseCi.eq(b"~", b"y"));
        assert!(Collation::GbkChineseCi.eq(b"aB", b"Ab"));
    }
}

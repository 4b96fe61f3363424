//! Collations: comparison, sort keys.
//!
//! The collations of the Unicode Collation Algorithm are in [`super::uca`]. The others of texts pad (but for `utf8mb4_0900_bin`, which is
//! as bytes are): a string compares as if spaces followed it for ever. A sort key is a run of symbols closed by an END
//! symbol, so that it is prefix-free and can be one part of a longer key. Padding means that END must compare as "spaces for ever"
//! would: between what weighs less than a space and what weighs more. A run of spaces inside of the string is
//! written as one symbol that tells which side of END the character after it falls on, then the run's length, counted
//! so that longer runs lie nearer to END.

use std::cmp::Ordering;

use super::codes::codes;
use super::collations::Order;
use super::single::Single;
use super::{Collation, Encoding, chinese, general_ci, latin1, uca};

const SPACE: u8 = b' ';
/// A run of spaces followed by something below a space.
const RUN_BELOW: u8 = 0x20;
/// The end of the string.
const END: u8 = 0x21;
/// A run of spaces followed by something above a space.
const RUN_ABOVE: u8 = 0x22;
/// What other bytes above a space are moved up by to make room for the three symbols; UTF-8 has room at the top.
const SHIFT: u8 = 2;
/// Longest run one count byte tells.
const RUN_STEP: usize = 254;

/// Weights of ASCII under general_ci.
static ASCII: [u8; 128] = {
    let mut t = [0u8; 128];
    let mut i = 0;
    while i < 128 {
        t[i] = if i >= 97 && i <= 122 {
            i as u8 - 32
        } else {
            i as u8
        };
        i += 1;
    }
    t
};

/// A character's weight under general_ci.
#[inline]
pub(super) fn weight(c: u32) -> u32 {
    if c > 0xffff {
        return 0xfffd;
    }
    match general_ci::page((c >> 8) as usize) {
        Some(page) => page[(c & 0xff) as usize] as u32,
        None => c,
    }
}

/// A character's weight by a table of latin1's. What latin1 does not have comes last.
#[inline]
pub(super) fn latin1_weight(weights: &[u8; 256], c: u32) -> u32 {
    match latin1::byte(c) {
        Some(b) => weights[usize::from(b)].into(),
        None => 0x100 + c,
    }
}

/// A character's weight by its bytes in an East Asian character set, or what stands for them, which are the number's first ones. What that does not
/// have comes last.
pub(super) fn code_weight(encoding: Encoding, folds: bool, c: u32) -> u32 {
    let ascii = u8::try_from(c).ok().filter(u8::is_ascii);
    let code = match ascii {
        Some(b) if folds => chinese::ascii(encoding, b).into(),
        Some(b) => b.into(),
        None => match codes(encoding).and_then(|t| t.code(c)) {
            Some(code) if folds => chinese::key(encoding, code),
            Some(code) => code,
            None => return 0xff << 24 | c,
        },
    };
    code << (code.leading_zeros().min(24) / 8 * 8)
}

/// The character at the start of `s` and its length. Bytes that are no UTF-8 count one each, as themselves.
#[inline]
pub fn next_char(s: &[u8]) -> (u32, usize) {
    let b = s[0];
    if b < 0x80 {
        return (b as u32, 1);
    }
    let n = match b {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return (b as u32, 1),
    };
    if s.len() < n || s[1..n].iter().any(|c| c & 0xc0 != 0x80) {
        return (b as u32, 1);
    }
    let mut c = b as u32 & (0x7f >> n);
    for t in &s[1..n] {
        c = c << 6 | (t & 0x3f) as u32;
    }
    (c, n)
}

/// Whether two characters are the same under a collation.
#[inline]
pub fn same_weight(collation: Collation, a: u32, b: u32) -> bool {
    a == b
        || match collation.order() {
            Order::Uca(rules) => uca::same(*rules, a, b),
            Order::GeneralCi => weight(a) == weight(b),
            Order::Latin1(weights) => latin1_weight(weights, a) == latin1_weight(weights, b),
            Order::Single(order) => order.weight(a) == order.weight(b),
            Order::Codes(encoding, folds) => {
                code_weight(*encoding, *folds, a) == code_weight(*encoding, *folds, b)
            }
            Order::Bytes | Order::CodePoints => false,
        }
}

/// Characters in a text.
#[inline]
pub fn char_count(s: &[u8]) -> usize {
    s.iter().filter(|b| **b & 0xc0 != 0x80).count()
}

/// Bytes of the first `chars` characters.
pub fn char_prefix(s: &[u8], chars: usize) -> usize {
    if chars >= s.len() {
        return s.len();
    }
    let mut seen = 0;
    for (i, b) in s.iter().enumerate() {
        if b & 0xc0 != 0x80 {
            if seen == chars {
                return i;
            }
            seen += 1;
        }
    }
    s.len()
}

fn trim_end(s: &[u8]) -> &[u8] {
    let mut n = s.len();
    while n > 0 && s[n - 1] == SPACE {
        n -= 1;
    }
    &s[..n]
}

/// How the rest of the longer string compares with spaces for ever.
fn rest_against_spaces(rest: &[u8]) -> Ordering {
    match rest.iter().find(|b| **b != SPACE) {
        None => Ordering::Equal,
        Some(b) => b.cmp(&SPACE),
    }
}

fn compare_padded(a: &[u8], b: &[u8]) -> Ordering {
    let n = a.len().min(b.len());
    match a[..n].cmp(&b[..n]) {
        Ordering::Equal if a.len() == b.len() => Ordering::Equal,
        Ordering::Equal if a.len() > n => rest_against_spaces(&a[n..]),
        Ordering::Equal => rest_against_spaces(&b[n..]).reverse(),
        unequal => unequal,
    }
}

fn compare_general_ci(a: &[u8], b: &[u8]) -> Ordering {
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        let (x, y) = (a[i], b[j]);
        if x < 0x80 && y < 0x80 {
            if x != y {
                let (wx, wy) = (ASCII[x as usize], ASCII[y as usize]);
                if wx != wy {
                    return wx.cmp(&wy);
                }
            }
            i += 1;
            j += 1;
            continue;
        }
        let (cx, nx) = next_char(&a[i..]);
        let (cy, ny) = next_char(&b[j..]);
        match weight(cx).cmp(&weight(cy)) {
            Ordering::Equal => {}
            unequal => return unequal,
        }
        i += nx;
        j += ny;
    }
    // No character but those below a space weighs less than one, and none of them is changed by case.
    if i < a.len() {
        rest_against_spaces(&a[i..])
    } else {
        rest_against_spaces(&b[j..]).reverse()
    }
}

fn compare_weighted(weight: impl Fn(u32) -> u32, a: &[u8], b: &[u8]) -> Ordering {
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        let (cx, nx) = next_char(&a[i..]);
        let (cy, ny) = next_char(&b[j..]);
        if cx != cy {
            match weight(cx).cmp(&weight(cy)) {
                Ordering::Equal => {}
                unequal => return unequal,
            }
        }
        i += nx;
        j += ny;
    }
    // Here too what is below a space is below it by its weight, and nothing else is.
    if i < a.len() {
        rest_against_spaces(&a[i..])
    } else {
        rest_against_spaces(&b[j..]).reverse()
    }
}

/// As [`compare_weighted`], of an order in which any character may weigh less than a space or as much.
fn compare_single(order: &Single, a: &[u8], b: &[u8]) -> Ordering {
    let space = order.space();
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        let weight = |s: &[u8], at: &mut usize| match s.get(*at..) {
            None | Some([]) => space,
            Some(rest) => {
                let (c, n) = next_char(rest);
                *at += n;
                order.weight(c)
            }
        };
        match weight(a, &mut i).cmp(&weight(b, &mut j)) {
            Ordering::Equal => {}
            unequal => return unequal,
        }
    }
    Ordering::Equal
}

/// Writes the symbols of one padded string, byte by byte.
struct Symbols<'a> {
    out: &'a mut Vec<u8>,
    spaces: usize,
}

impl Symbols<'_> {
    #[inline]
    fn push(&mut self, b: u8) {
        if b == SPACE {
            self.spaces += 1;
            return;
        }
        if self.spaces > 0 {
            self.run(b > SPACE);
        }
        self.out.push(if b > SPACE {
            b.saturating_add(SHIFT)
        } else {
            b
        });
    }

    /// Writes blocks of bytes above a space and up to `most`, mapped by `f` (which keeps them above a space), as long as
    /// there are whole blocks of them; returns how many bytes they were. Such bytes stand for themselves, so a block of them
    /// needs no branch per byte.
    #[inline]
    fn push_run(&mut self, s: &[u8], most: u8, f: impl Fn(u8) -> u8) -> usize {
        const BLOCK: usize = 16;
        let mut n = 0;
        for block in s.chunks_exact(BLOCK) {
            let plain = block
                .iter()
                .fold(true, |all, b| all & (*b > SPACE) & (*b <= most));
            if !plain {
                break;
            }
            n += BLOCK;
        }
        if n > 0 {
            if self.spaces > 0 {
                self.run(true);
            }
            self.out
                .extend(s[..n].iter().map(|b| f(*b).saturating_add(SHIFT)));
        }
        n
    }

    fn run(&mut self, above: bool) {
        let mut left = std::mem::take(&mut self.spaces);
        let (symbol, more) = if above {
            (RUN_ABOVE, 0)
        } else {
            (RUN_BELOW, 0xff)
        };
        self.out.push(symbol);
        while left > RUN_STEP {
            self.out.push(more);
            left -= RUN_STEP;
        }
        self.out
            .push(if above { 255 - left as u8 } else { left as u8 });
    }

    /// A weight of latin1's, nearly all of which take a byte. The three that the shift leaves no room for, and characters that
    /// latin1 does not have, follow an escape; none of their bytes is one of the symbols.
    #[inline]
    fn push_latin1(&mut self, w: u32) {
        const ESCAPE: u8 = 0xff;
        const LAST: u32 = (ESCAPE - SHIFT - 1) as u32;
        if w <= LAST {
            return self.push(w as u8);
        }
        if self.spaces > 0 {
            self.run(true);
        }
        self.out.push(ESCAPE);
        match w {
            0..=0xff => self.out.push((w - LAST) as u8),
            _ => {
                self.out.push((0x100 - LAST) as u8);
                let mut utf8 = [0; 4];
                let c = char::from_u32(w - 0x100).unwrap_or(char::REPLACEMENT_CHARACTER);
                self.out
                    .extend_from_slice(c.encode_utf8(&mut utf8).as_bytes());
            }
        }
    }

    /// A weight of another set of single bytes. Where spaces weigh more than theirs do otherwise, more weigh less than there is room
    /// for, and weights take two bytes, half of them each.
    fn push_single(&mut self, w: u32, space: u32) {
        if space == u32::from(SPACE) || w > 0xff {
            return self.push_latin1(w);
        }
        if w == space {
            self.spaces += 1;
            return;
        }
        if self.spaces > 0 {
            self.run(w > space);
        }
        let half = if w < space { 0x10 } else { 0x40 };
        self.out.push(half + (w >> 4) as u8);
        self.out.push(0x40 + (w & 0xf) as u8);
    }

    /// A weight of an East Asian character set: its bytes. Only the first may be one of the symbols or have no room for the shift; what comes
    /// of no such character set begins with the greatest byte.
    fn push_code(&mut self, w: u32) {
        let [first, rest @ ..] = w.to_be_bytes();
        if first == 0xff {
            return self.push_latin1(0x100 + (w & 0xff_ffff));
        }
        self.push_latin1(first.into());
        let length = 3 - (w & 0xff_ffff).trailing_zeros().min(24) as usize / 8;
        self.out
            .extend_from_slice(&rest[..if w & 0xff_ffff == 0 { 0 } else { length }]);
    }

    /// A code point as UTF-8, whose bytes sort as code points do.
    #[inline]
    fn push_weight(&mut self, w: u32) {
        if w < 0x80 {
            self.push(w as u8);
        } else if w < 0x800 {
            self.push(0xc0 | (w >> 6) as u8);
            self.push(0x80 | (w & 0x3f) as u8);
        } else {
            if w < 0x1_0000 {
                self.push(0xe0 | (w >> 12) as u8);
            } else {
                self.push(0xf0 | (w >> 18) as u8);
                self.push(0x80 | (w >> 12 & 0x3f) as u8);
            }
            self.push(0x80 | (w >> 6 & 0x3f) as u8);
            self.push(0x80 | (w & 0x3f) as u8);
        }
    }
}

impl Collation {
    /// Compares two strings under this collation ([`Collation::pads`] tells what follows their ends).
    #[inline]
    pub fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            Collation::Binary => a.cmp(b),
            Collation::Utf8mb4Bin => compare_padded(a, b),
            Collation::Utf8mb4GeneralCi => compare_general_ci(a, b),
            _ => match self.order() {
                Order::Bytes => a.cmp(b),
                Order::CodePoints => compare_padded(a, b),
                Order::GeneralCi => compare_general_ci(a, b),
                Order::Latin1(weights) => compare_weighted(|c| latin1_weight(weights, c), a, b),
                Order::Single(order) => compare_single(order, a, b),
                Order::Codes(encoding, folds) => {
                    compare_weighted(|c| code_weight(*encoding, *folds, c), a, b)
                }
                Order::Uca(rules) => uca::compare(*rules, a, b),
            },
        }
    }
    /// Whether two strings are equal under this collation.
    #[inline]
    pub fn eq(self, a: &[u8], b: &[u8]) -> bool {
        self.compare(a, b).is_eq()
    }
    /// Appends bytes that compare (memcmp) as the strings do, prefix-free.
    pub fn sort_key(self, s: &[u8], out: &mut Vec<u8>) {
        if let Some(rules) = self.rules() {
            return uca::sort_key(rules, s, true, out);
        }
        out.reserve(s.len() + 2);
        match self.order() {
            Order::Bytes => {
                for b in s {
                    out.push(*b);
                    if *b == 0 {
                        out.push(0xff);
                    }
                }
                out.extend_from_slice(&[0, 1]);
            }
            _ => {
                self.sort_key_prefix(s, out);
                out.push(END);
            }
        }
    }
    /// The bytes that the sort keys of all strings starting with `s` start with (trailing spaces of `s` are left out: what they
    /// become depends on what follows).
    pub fn sort_key_prefix(self, s: &[u8], out: &mut Vec<u8>) {
        if let Some(rules) = self.rules() {
            return uca::sort_key(rules, s, false, out);
        }
        if self.has_byte_keys() {
            for b in s {
                out.push(*b);
                if *b == 0 {
                    out.push(0xff);
                }
            }
            return;
        }
        let s = trim_end(s);
        let mut symbols = Symbols { out, spaces: 0 };
        if let Order::Latin1(weights) = self.order() {
            let mut i = 0;
            while let Some(&b) = s.get(i) {
                let (c, n) = if b < 0x80 {
                    (b.into(), 1)
                } else {
                    next_char(&s[i..])
                };
                symbols.push_latin1(latin1_weight(weights, c));
                i += n;
            }
            return;
        }
        if let Order::Single(order) = self.order() {
            let space = order.space();
            let mut i = 0;
            while i < s.len() {
                let (c, n) = next_char(&s[i..]);
                symbols.push_single(order.weight(c), space);
                i += n;
            }
            return;
        }
        if let Order::Codes(encoding, folds) = self.order() {
            let mut i = 0;
            while i < s.len() {
                let (c, n) = next_char(&s[i..]);
                symbols.push_code(code_weight(*encoding, *folds, c));
                i += n;
            }
            return;
        }
        if matches!(self.order(), Order::CodePoints) {
            let mut i = 0;
            while i < s.len() {
                i += symbols.push_run(&s[i..], 0xff, |b| b);
                if let Some(b) = s.get(i) {
                    symbols.push(*b);
                    i += 1;
                }
            }
            return;
        }
        let mut i = 0;
        while i < s.len() {
            i += symbols.push_run(&s[i..], 0x7f, |b| b.to_ascii_uppercase());
            let Some(&b) = s.get(i) else { break };
            if b < 0x80 {
                symbols.push(ASCII[b as usize]);
                i += 1;
            } else {
                let (c, n) = next_char(&s[i..]);
                symbols.push_weight(weight(c));
                i += n;
            }
        }
    }

    /// Skips a sort key at the start of `key`; its length, if it is whole.
    pub fn sort_key_len(self, key: &[u8], flip: u8) -> Option<usize> {
        if let Some(rules) = self.rules() {
            return uca::sort_key_len(rules, key, flip);
        }
        let mut i = 0;
        if self.has_byte_keys() {
            loop {
                if *key.get(i)? ^ flip == 0 {
                    match *key.get(i + 1)? ^ flip {
                        1 => return Some(i + 2),
                        _ => i += 1,
                    }
                }
                i += 1;
            }
        }
        loop {
            match *key.get(i)? ^ flip {
                END => return Some(i + 1),
                RUN_ABOVE => {
                    i += 1;
                    while *key.get(i)? ^ flip == 0 {
                        i += 1;
                    }
                }
                RUN_BELOW => {
                    i += 1;
                    while *key.get(i)? ^ flip == 0xff {
                        i += 1;
                    }
                }
                _ => {}
            }
            i += 1;
        }
    }

    /// Whether sort keys are of bytes, of which zeros are escaped.
    fn has_byte_keys(self) -> bool {
        matches!(self.order(), Order::Bytes)
    }

    /// Whether [`Collation::unsort`] reads strings back from their sort keys; `pads` tells whether trailing spaces are gone.
    pub fn is_invertible(self) -> bool {
        matches!(self.order(), Order::Bytes | Order::CodePoints)
    }

    /// Reads a string back from its sort key, if it [is invertible](Collation::is_invertible).
    pub fn unsort(self, key: &[u8], flip: u8) -> Vec<u8> {
        let mut out = Vec::with_capacity(key.len());
        let mut i = 0;
        let end = key.len();
        if self.has_byte_keys() {
            while i + 2 < end || (i < end && key[i] ^ flip != 0) {
                let b = key[i] ^ flip;
                out.push(b);
                i += 1 + (b == 0) as usize;
            }
            return out;
        }
        while i < end {
            match key[i] ^ flip {
                END => break,
                symbol @ (RUN_ABOVE | RUN_BELOW) => {
                    let more = if symbol == RUN_ABOVE { 0 } else { 0xff };
                    i += 1;
                    let mut run = 0;
                    while i < end && key[i] ^ flip == more {
                        run += RUN_STEP;
                        i += 1;
                    }
                    let last = key.get(i).map_or(0, |b| b ^ flip);
                    run += if symbol == RUN_ABOVE {
                        255 - last
                    } else {
                        last
                    } as usize;
                    out.resize(out.len() + run, SPACE);
                }
                b => out.push(if b > RUN_ABOVE { b - SHIFT } else { b }),
            }
            i += 1;
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::super::Charset;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn general_ci_ignores_case_and_accents() {
        let c = Collation::Utf8mb4GeneralCi;
        for (a, b, want) in [
            ("abc", "ABC", Ordering::Equal),
            ("resume", "Résumé", Ordering::Equal),
            ("a", "b", Ordering::Less),
            ("a", "B", Ordering::Less),
            ("a ", "a", Ordering::Equal),
            ("a\t", "a", Ordering::Less),
            ("a!", "a", Ordering::Greater),
            ("ß", "s", Ordering::Equal),
            ("ä", "Ä", Ordering::Equal),
            ("я", "Я", Ordering::Equal),
            ("😀", "😁", Ordering::Equal),
            ("", "  ", Ordering::Equal),
        ] {
            assert_eq!(c.compare(a.as_bytes(), b.as_bytes()), want, "{a:?} {b:?}");
        }
        assert!(!Collation::Utf8mb4Bin.eq(b"a", b"A"));
        assert!(Collation::Utf8mb4Bin.eq(b"a", b"a "));
        assert!(!Collation::Binary.eq(b"a", b"a "));
    }

    #[test]
    fn characters() {
        assert_eq!(char_count("aé😀".as_bytes()), 3);
        assert_eq!(char_prefix("aé😀x".as_bytes(), 2), 3);
        assert_eq!(char_prefix("aé😀x".as_bytes(), 9), 8);
    }

    fn text() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            Just("a".to_string()),
            Just("A".to_string()),
            Just(" ".to_string()),
            Just("  ".to_string()),
            Just("\t".to_string()),
            Just("\u{0}".to_string()),
            Just("é".to_string()),
            Just("😀".to_string()),
            Just("~".to_string()),
            "[a-zA-Z]{1,4}",
            "[acdhlnosyzžåáñ\u{300}-\u{308}\u{30c}\u{653}]{1,4}",
            Just("abcdefghijklmnopqr".to_string()),
            Just("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopq".to_string()),
            Just(" ".repeat(254)),
            Just(" ".repeat(300)),
            any::<char>().prop_map(|c| c.to_string()),
        ];
        prop::collection::vec(piece, 0..6).prop_map(|v| v.concat())
    }

    /// One of those that have the same rules is enough.
    fn differing() -> impl Iterator<Item = Collation> {
        let all = Collation::ALL.iter().copied();
        all.filter(|c| c.rules().is_none() || c.character_set() == Charset::Utf8mb4)
    }

    /// What LIKE asks of an index: a text whose first characters are the pattern's one by one has a key that begins as it says.
    #[test]
    fn keys_begin_as_their_texts_do() {
        let letters = [
            "a", "A", "c", "C", "h", "H", "s", "Z", "d", "z", "n", "\u{303}", "ň", "ñ", "l",
        ];
        let texts: Vec<String> = letters
            .iter()
            .flat_map(|a| letters.iter().map(move |b| format!("{a}{b}")))
            .collect();
        for c in differing().filter(|c| c.rules().is_some()) {
            for (pattern, text) in texts.iter().flat_map(|p| texts.iter().map(move |t| (p, t))) {
                let mut pairs = pattern.chars().zip(text.chars());
                if !pairs.all(|(a, b)| same_weight(c, a.into(), b.into())) {
                    continue;
                }
                let mut prefix = Vec::new();
                c.sort_key_prefix(pattern.as_bytes(), &mut prefix);
                for rest in ["", "s", "h\u{301}"] {
                    let mut key = Vec::new();
                    c.sort_key((text.clone() + rest).as_bytes(), &mut key);
                    assert!(
                        key.starts_with(&prefix),
                        "{c:?} {pattern:?} {text:?} {rest:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn languages_go_with_their_tables() {
        for c in differing() {
            let Some(rules) = c.rules() else { continue };
            let version = rules.language.version();
            assert!(version.is_none_or(|v| v == rules.version), "{c:?}");
            let apart = (b' '..=b'~').all(|a| {
                (b' '..a).all(|b| {
                    let same = same_weight(c, a.into(), b.into());
                    same == (c.ignores_case() && a.eq_ignore_ascii_case(&b))
                })
            });
            assert_eq!(c.keeps_ascii_apart(), apart, "{c:?}");
        }
    }

    proptest! {
        #[test]
        fn sort_keys_compare_as_strings_do(a in text(), b in text(), flip in prop_oneof![Just(0u8), Just(0xffu8)]) {
            for c in differing() {
                let (mut x, mut y) = (Vec::new(), Vec::new());
                c.sort_key(a.as_bytes(), &mut x);
                c.sort_key(b.as_bytes(), &mut y);
                prop_assert_eq!(x.cmp(&y), c.compare(a.as_bytes(), b.as_bytes()), "{:?} {:?} {:?}", c, a, b);
                for v in &mut x {
                    *v ^= flip;
                }
                let n = x.len();
                x.extend_from_slice(&y);
                prop_assert_eq!(c.sort_key_len(&x, flip), Some(n));
                if c.is_invertible() && !c.pads() {
                    prop_assert_eq!(c.unsort(&x[..n], flip), a.as_bytes());
                }
                if c.is_invertible() && c.pads() {
                    prop_assert_eq!(c.unsort(&x[..n], flip), a.trim_end_matches(' ').as_bytes());
                }
            }
        }
    }
}

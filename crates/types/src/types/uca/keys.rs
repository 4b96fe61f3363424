//! Sort keys: bytes that compare (memcmp) as strings do under a collation, prefix-free.
//!
//! A key is the weights' codes and an end. Codes are of one to three bytes ([`Codes`]), as short as the weights are usual: each character of ASCII
//! that has one weight takes a byte, as in the text, the letters of other alphabets two, an ideograph four. Without padding the end is a zero, which no
//! code begins with; further levels follow the end of the first, each with an end. With padding the end and runs of spaces are symbols among
//! the weights, as the head of `types/collation` describes; a run's count is two bytes. Which code a weight has follows from the version's untailored
//! tables alone: keys are on disk, so it is part of the file format.

use std::sync::LazyLock;

use super::{IMPLICIT, Levels, Pad, Rules, Tables, V4, V9, V520, Version, Weights};

/// Weights less than this are not moved: they are a language's own (Persian's), and two less than the others.
const LEAST: u16 = 0x100;
/// Longest run that one count tells.
const RUN_STEP: u32 = 65_534;
/// What ideographs' first weights are, nearly all of them.
const IDEOGRAPHS: [u16; 2] = [0xfb40, 0xfb41];
/// Weights of the further levels from here on have a code of two bytes.
const WIDE: u16 = 0xf0;

/// Symbols of a padded key. Weights less than a space's move down by two: there is room below the least of the table's, and none above the greatest.
#[derive(Clone, Copy)]
struct Symbols {
    /// A run of spaces before a lesser weight.
    run_below: u16,
    end: u16,
    /// A run of spaces before a greater weight.
    run_above: u16,
}

impl Symbols {
    fn of(version: Version) -> Symbols {
        let space = version.space();
        Symbols {
            run_below: space - 2,
            end: space - 1,
            run_above: space,
        }
    }
}

/// The codes of a version's weights: their order is that of the weights, and no code is the beginning of another.
struct Codes {
    /// The first byte of each weight's code, at least 1.
    lead: Vec<u8>,
    /// Bytes of the codes that begin with a byte. Of one: the byte. Of two: the weight's lower byte follows. Of three: the weight.
    lengths: [u8; 256],
}

impl Codes {
    /// Codes of one byte for ASCII's weights, what stands for spaces and most ideographs' first weights; of two bytes for letters above ASCII's, a
    /// first byte for each 256 of which the tables have any; of three for all that are left.
    fn new(tables: &Tables, version: Version) -> Codes {
        let symbols = Symbols::of(version);
        let mut single = vec![false; 1 << 16];
        let ascii: Vec<u16> = tables.ascii_weights().collect();
        for w in ascii.iter().chain(&IDEOGRAPHS) {
            single[usize::from(*w)] = true;
        }
        for w in [symbols.run_below, symbols.end, symbols.run_above] {
            single[usize::from(w)] = true;
        }
        let last = ascii.iter().copied().max().unwrap_or(0);
        let mut in_use = [false; 256];
        // Those above are second weights of ideographs, most of which no character has for itself.
        for w in tables.all().filter(|w| (last + 1..IMPLICIT).contains(w)) {
            in_use[usize::from(w >> 8)] = true;
        }
        let mut codes = Codes {
            lead: vec![0; 1 << 16],
            lengths: [0; 256],
        };
        let (mut lead, mut before) = (0u8, (0, 0));
        for w in 1..=u16::MAX {
            // What weights that share a first byte have in common: the length, and the upper byte where only the lower one follows.
            let kind = match single[usize::from(w)] {
                true => (1, w),
                false if w > last && in_use[usize::from(w >> 8)] => (2, w >> 8),
                false => (3, 0),
            };
            if kind != before {
                lead = lead.checked_add(1).expect("fewer codes than bytes");
                (codes.lengths[usize::from(lead)], before) = (kind.0, kind);
            }
            codes.lead[usize::from(w)] = lead;
        }
        codes
    }

    fn of(version: Version) -> &'static Codes {
        static OF_V4: LazyLock<Codes> = LazyLock::new(|| Codes::new(&V4, Version::V4));
        static OF_V520: LazyLock<Codes> = LazyLock::new(|| Codes::new(&V520, Version::V520));
        static OF_V9: LazyLock<Codes> = LazyLock::new(|| Codes::new(&V9, Version::V9));
        match version {
            Version::V4 => &OF_V4,
            Version::V520 => &OF_V520,
            Version::V9 => &OF_V9,
        }
    }

    /// The code of a weight, if it is one byte; else 0.
    fn single(&self, w: u16) -> u8 {
        let lead = self.lead[usize::from(w)];
        match self.lengths[usize::from(lead)] {
            1 => lead,
            _ => 0,
        }
    }

    #[inline]
    fn put(&self, w: u16, out: &mut Vec<u8>) {
        let lead = self.lead[usize::from(w)];
        match self.lengths[usize::from(lead)] {
            1 => out.push(lead),
            2 => out.extend_from_slice(&[lead, w as u8]),
            _ => {
                let [high, low] = w.to_be_bytes();
                out.extend_from_slice(&[lead, high, low]);
            }
        }
    }
}

/// Appends what the sort keys of all strings begin with that begin as `s` does; or, if it `ends` there, its whole key.
pub fn sort_key(rules: Rules, s: &[u8], ends: bool, out: &mut Vec<u8>) {
    let codes = Codes::of(rules.version);
    let tables = rules.tables(Levels::Primary);
    let mut weights = Weights::of_tables(s, rules.version, Levels::Primary, tables);
    weights.goes_on = !ends;
    if rules.pad == Pad::Space {
        return padded_key(rules.version, weights, ends, codes, out);
    }
    out.reserve(s.len() + 1);
    loop {
        weights.put_plain(codes, out);
        match weights.next() {
            Some(w) => codes.put(w, out),
            None => break,
        }
    }
    if ends {
        out.push(0);
        for level in rules.levels.further() {
            Weights::of_level(s, rules, *level).for_each(|w| put_small(w, out));
            out.push(0);
        }
    }
}

/// A weight of a further level, which is small and not zero.
fn put_small(w: u16, out: &mut Vec<u8>) {
    if w < WIDE {
        return out.push(w as u8);
    }
    let [high, low] = w.to_be_bytes();
    out.extend_from_slice(&[WIDE as u8 + high, low]);
}

fn padded_key(
    version: Version,
    weights: Weights<'_>,
    ends: bool,
    codes: &Codes,
    out: &mut Vec<u8>,
) {
    let symbols = Symbols::of(version);
    let space = version.space();
    let mut spaces = 0u32;
    for w in weights {
        if w == space {
            spaces += 1;
            continue;
        }
        let above = w > space;
        if spaces > 0 {
            let (symbol, more) = match above {
                true => (symbols.run_above, 0u16),
                false => (symbols.run_below, 0xffff),
            };
            codes.put(symbol, out);
            while spaces > RUN_STEP {
                out.extend_from_slice(&more.to_be_bytes());
                spaces -= RUN_STEP;
            }
            let left = spaces as u16;
            let count = if above { 0xffff - left } else { left };
            out.extend_from_slice(&count.to_be_bytes());
            spaces = 0;
        }
        codes.put(if above { w } else { lowered(w) }, out);
    }
    if ends {
        codes.put(symbols.end, out);
    }
}

/// A weight less than a space's as it stands in a padded key.
#[cold]
fn lowered(w: u16) -> u16 {
    match w {
        ..LEAST => w,
        _ => w - 2,
    }
}

/// Length of the sort key at the start of `key`, each byte of which was xored with `flip`, if it is whole.
pub fn sort_key_len(rules: Rules, key: &[u8], flip: u8) -> Option<usize> {
    let codes = Codes::of(rules.version);
    match rules.pad {
        Pad::None => unpadded_len(rules, codes, key, flip),
        Pad::Space => padded_len(rules.version, codes, key, flip),
    }
}

fn unpadded_len(rules: Rules, codes: &Codes, key: &[u8], flip: u8) -> Option<usize> {
    let mut i = 0;
    loop {
        match *key.get(i)? ^ flip {
            0 => break,
            lead => i += usize::from(codes.lengths[usize::from(lead)]).max(1),
        }
    }
    i += 1;
    for _ in rules.levels.further() {
        loop {
            match *key.get(i)? ^ flip {
                0 => break,
                lead if u16::from(lead) < WIDE => i += 1,
                _ => i += 2,
            }
        }
        i += 1;
    }
    Some(i)
}

fn padded_len(version: Version, codes: &Codes, key: &[u8], flip: u8) -> Option<usize> {
    let symbols = Symbols::of(version);
    let lead = |w: u16| codes.lead[usize::from(w)];
    let (below, end, above) = (
        lead(symbols.run_below),
        lead(symbols.end),
        lead(symbols.run_above),
    );
    let word = |i: usize| {
        let pair = [*key.get(i)? ^ flip, *key.get(i + 1)? ^ flip];
        Some(u16::from_be_bytes(pair))
    };
    let mut i = 0;
    loop {
        let first = *key.get(i)? ^ flip;
        i += usize::from(codes.lengths[usize::from(first)]).max(1);
        if first == end {
            return Some(i);
        }
        if first == above || first == below {
            let more = if first == above { 0 } else { 0xffff };
            while word(i)? == more {
                i += 2;
            }
            i += 2;
        }
    }
}

impl Weights<'_> {
    /// Writes the codes of the characters ahead that have one weight each and a code of one byte, whatever follows them, as far as no weight of
    /// the last one is still to come.
    #[inline]
    fn put_plain(&mut self, codes: &Codes, out: &mut Vec<u8>) {
        const BLOCK: usize = 16;
        if !matches!(self.pending, super::Pending::Nothing) {
            return;
        }
        let plain = self.tables.ascii_codes(|w| codes.single(w));
        // What goes on might make the last character part of a contraction.
        let end = self.s.len() - usize::from(self.goes_on && !self.s.is_empty());
        // Whole blocks have no branch per byte: a code 0 shows what is not plain.
        let block = |at: usize| self.s.get(at..end)?.first_chunk::<BLOCK>();
        while let Some(block) = block(self.at) {
            let after = self.s.get(self.at + BLOCK).copied().unwrap_or(0);
            let all = block.iter().fold(after, |all, b| all | b);
            let coded = block.map(|b| plain[usize::from(b & 0x7f)]);
            if !all.is_ascii() || coded.contains(&0) {
                break;
            }
            out.extend_from_slice(&coded);
            self.at += BLOCK;
        }
        while self.at < end {
            let (b, next) = (self.s[self.at], self.s.get(self.at + 1));
            if !b.is_ascii() || next.is_some_and(|next| !next.is_ascii()) {
                return;
            }
            match plain[usize::from(b)] {
                0 => return,
                code => out.push(code),
            }
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Language;
    use super::*;

    const ROOT: Rules = Rules {
        pad: Pad::None,
        version: Version::V9,
        levels: Levels::Primary,
        language: Language::Root,
    };

    fn key(rules: Rules, s: &str) -> Vec<u8> {
        let mut out = Vec::new();
        sort_key(rules, s.as_bytes(), true, &mut out);
        out
    }

    /// What index entries take.
    #[test]
    fn keys_are_as_short_as_their_texts() {
        let as_cs = Rules {
            levels: Levels::Tertiary,
            ..ROOT
        };
        for (text, primary, all) in [
            ("", 1, 3),
            ("Hello, World 42~", 17, 51),
            ("naïve", 6, 20),
            ("привет", 13, 27),
            ("Ωμέγα", 11, 25),
            ("日本語", 13, 21),
            ("한", 7, 15),
        ] {
            assert_eq!(key(ROOT, text).len(), primary, "{text}");
            assert_eq!(key(as_cs, text).len(), all, "{text}");
        }
    }

    /// Codes are on disk: FNV-1a of each version's first bytes and lengths.
    #[test]
    fn codes_stay_what_they_are() {
        let hash = |version| {
            let codes = Codes::of(version);
            let bytes = codes.lead.iter().chain(&codes.lengths);
            bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, b| {
                (hash ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3)
            })
        };
        let all = [Version::V9, Version::V520, Version::V4].map(hash);
        let kept = [
            0xde35_2662_6597_a1e8,
            0x5750_2851_3cd5_ce6f,
            0xac98_0f60_22f9_7eeb,
        ];
        assert_eq!(all, kept, "{all:#x?}");
    }
}

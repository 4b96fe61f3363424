//! One level's weights of all characters, and of the sequences that have weights of their own (contractions).

use std::collections::HashMap;
use std::sync::OnceLock;

use super::super::collation::next_char;

/// An entry that says that the weight follows from the code point.
pub(super) const IMPLICIT: u16 = 0x7fff;
/// From here on, an entry is a place in the pool.
pub(super) const POOLED: u16 = 0x8000;
/// Code points to a page.
pub(super) const PAGE: usize = 128;
/// Characters of the longest contraction.
pub(super) const LONGEST: usize = 4;

/// The characters of a contraction, zeros behind them.
pub(super) type Sequence = [u32; LONGEST];

/// A level's weights.
#[derive(Clone)]
pub(super) struct Tables {
    numbers: Vec<u16>,
    pages: Vec<u16>,
    pool: Vec<u16>,
    /// First characters of contractions, ascending.
    starters: Vec<u32>,
    /// Those of them that are ASCII, a bit each.
    ascii_starters: u128,
    contractions: HashMap<Sequence, u16>,
    /// The least first byte of what a contraction goes on with: none of the untailored tables goes on with ASCII.
    least_follower: u8,
    /// ASCII characters that one may go on after with another, a bit each.
    ascii_followed: u128,
    /// Pages that are no other's.
    own: Vec<u16>,
    /// Weights of ASCII characters that have one, and always it where ASCII follows; 0: of the others.
    plain: [u16; 128],
    /// Their codes in sort keys; 0: others, and those that have no short one.
    ascii_codes: OnceLock<[u8; 128]>,
}

impl Tables {
    /// Reads what `scripts/uca-tables` writes.
    pub(super) fn read(data: &[u8]) -> Tables {
        let mut words = data
            .chunks_exact(2)
            .map(|b| u16::from_le_bytes([b[0], b[1]]));
        let mut list = |n: usize| words.by_ref().take(n).collect::<Vec<u16>>();
        let counts = list(3);
        let mut tables = Tables {
            numbers: list(0x11_0000 / PAGE),
            pages: list(usize::from(counts[0]) * PAGE),
            pool: list(usize::from(counts[1])),
            starters: Vec::new(),
            ascii_starters: 0,
            contractions: HashMap::new(),
            least_follower: 0x80,
            ascii_followed: 0,
            own: Vec::new(),
            plain: [0; 128],
            ascii_codes: OnceLock::new(),
        };
        for c in list(usize::from(counts[2]) * 7).chunks_exact(7) {
            let point = |i: usize| u32::from(c[i]) << 16 | u32::from(c[i + 1]);
            tables.contract([point(0), point(2), point(4), 0], c[6]);
        }
        tables.finished()
    }

    /// It, with what follows from all of its entries.
    pub(super) fn finished(mut self) -> Tables {
        for c in 0..128 {
            let entry = self.entry(c);
            let single = entry != IMPLICIT && entry < POOLED && self.ascii_followed >> c & 1 == 0;
            self.plain[c as usize] = if single { entry } else { 0 };
        }
        self.ascii_codes = OnceLock::new();
        self
    }

    /// The codes of ASCII characters that have one weight, and always it where ASCII follows, if `code` knows one of that weight; 0: of the others.
    #[inline]
    pub(super) fn ascii_codes(&self, code: impl Fn(u16) -> u8) -> &[u8; 128] {
        let coded = |w| if w == 0 { 0 } else { code(w) };
        self.ascii_codes.get_or_init(|| self.plain.map(coded))
    }

    /// The weight of the character at a place of a text, if it is ASCII, has one weight, and no more is to be known to tell.
    #[inline]
    pub(super) fn plain_weight(&self, s: &[u8], at: usize) -> Option<u16> {
        let b = *s.get(at)?;
        if !b.is_ascii() || s.get(at + 1).is_some_and(|next| !next.is_ascii()) {
            return None;
        }
        Some(self.plain[usize::from(b)]).filter(|w| *w != 0)
    }

    /// The weights of ASCII's characters that have one.
    pub(super) fn ascii_weights(&self) -> impl Iterator<Item = u16> + '_ {
        let entries = (0..128).map(|c| self.entry(c));
        entries.filter(|e| *e < IMPLICIT && *e > 0)
    }

    /// All weights that the table has, more than once where characters share them.
    pub(super) fn all(&self) -> impl Iterator<Item = u16> + '_ {
        let entries = self.pages.iter().copied();
        let pooled = entries.clone().filter(|e| *e >= POOLED);
        let lists = pooled.flat_map(|e| self.pooled(e).iter().copied());
        let single = entries.filter(|e| *e < IMPLICIT && *e > 0);
        single.chain(lists)
    }

    fn contract(&mut self, sequence: Sequence, entry: u16) {
        let first = sequence[0];
        if let Err(place) = self.starters.binary_search(&first) {
            self.starters.insert(place, first);
        }
        if first < 0x80 {
            self.ascii_starters |= 1 << first;
        }
        for pair in sequence.windows(2) {
            if (1..0x80).contains(&pair[1]) {
                self.least_follower = 0;
                if pair[0] < 0x80 {
                    self.ascii_followed |= 1 << pair[0];
                }
            }
        }
        self.contractions.insert(sequence, entry);
    }

    /// What stands for a character's weights.
    #[inline]
    pub(super) fn entry(&self, c: u32) -> u16 {
        match self.numbers.get(c as usize / PAGE) {
            Some(&n) => self.pages[usize::from(n) * PAGE + c as usize % PAGE],
            None => IMPLICIT,
        }
    }

    /// The weight at an index of the pool.
    #[inline]
    pub(super) fn in_pool(&self, at: usize) -> u16 {
        self.pool[at]
    }

    /// The weights at a place in the pool.
    pub(super) fn pooled(&self, entry: u16) -> &[u16] {
        let at = usize::from(entry - POOLED);
        &self.pool[at + 1..][..usize::from(self.pool[at])]
    }

    /// Whether a contraction may begin with a character.
    #[inline]
    fn starts(&self, c: u32) -> bool {
        match c {
            0..0x80 => self.ascii_starters >> c & 1 != 0,
            _ => self.starters.binary_search(&c).is_ok(),
        }
    }

    /// Whether texts that are the same up to between these two bytes weigh the same up to there, whatever follows.
    #[inline]
    pub(super) fn parts(&self, before: u8, after: Option<&u8>) -> bool {
        before.is_ascii()
            && after.is_none_or(u8::is_ascii)
            && self.ascii_followed >> before & 1 == 0
    }

    /// Whether a contraction at the start of `s` may go on after its end. Of a language's tables, whether one may be there at all, in `s` or
    /// in a text that weighs what `s` does character by character.
    pub(super) fn may_go_on(&self, s: &[u8]) -> bool {
        if !self.own.is_empty() {
            return self.may_contract(s);
        }
        let (first, n) = next_char(s);
        let rest = &s[n..];
        let ends = rest.is_empty() || next_char(rest).1 == rest.len();
        ends && self.starts(first)
    }

    /// Whether a text that weighs, character by character, what `s` does may have a contraction at its start, or at its start and
    /// after its end.
    fn may_contract(&self, s: &[u8]) -> bool {
        let alike = |a: u32, b: u32| {
            let (a, b) = (self.entry(a), self.entry(b));
            a == b || a >= POOLED && b >= POOLED && self.pooled(a) == self.pooled(b)
        };
        let (first, n) = next_char(s);
        let mut of_first = self.contractions.keys().filter(|k| alike(k[0], first));
        match s.get(n..) {
            None | Some([]) => of_first.next().is_some(),
            Some(rest) => {
                let second = next_char(rest).0;
                of_first.any(|k| alike(k[1], second))
            }
        }
    }

    /// The longest contraction at the start of `s`, which begins with `first` of `n` bytes: its entry and length.
    #[inline]
    pub(super) fn contraction(&self, s: &[u8], first: u32, n: usize) -> Option<(u16, usize)> {
        if s.get(n).is_none_or(|b| *b < self.least_follower) || !self.starts(first) {
            return None;
        }
        self.longest(s, first, n)
    }

    #[cold]
    fn longest(&self, s: &[u8], first: u32, n: usize) -> Option<(u16, usize)> {
        let mut sequence = [first, 0, 0, 0];
        let mut ends = [n; LONGEST];
        let mut count = 1;
        while count < LONGEST && ends[count - 1] < s.len() {
            let (c, m) = next_char(&s[ends[count - 1]..]);
            sequence[count] = c;
            ends[count] = ends[count - 1] + m;
            count += 1;
        }
        while count > 1 {
            if let Some(&e) = self.contractions.get(&sequence) {
                return Some((e, ends[count - 1]));
            }
            count -= 1;
            sequence[count] = 0;
        }
        None
    }

    /// Gives a character or a sequence of up to four other weights.
    pub(super) fn set(&mut self, text: &str, weights: &[u16]) {
        let entry = self.enter(weights);
        let mut sequence = [0; LONGEST];
        for (place, c) in sequence.iter_mut().zip(text.chars()) {
            *place = c.into();
        }
        if sequence[1] != 0 {
            return self.contract(sequence, entry);
        }
        let at = self.own_page(sequence[0]) * PAGE + sequence[0] as usize % PAGE;
        self.pages[at] = entry;
    }

    /// The page of a character, which from now on no other has.
    fn own_page(&mut self, c: u32) -> usize {
        let number = &mut self.numbers[c as usize / PAGE];
        if !self.own.contains(number) {
            let from = usize::from(*number) * PAGE;
            *number = (self.pages.len() / PAGE) as u16;
            self.pages.extend_from_within(from..from + PAGE);
            self.own.push(*number);
        }
        usize::from(*number)
    }

    fn enter(&mut self, weights: &[u16]) -> u16 {
        match weights {
            [] => 0,
            [w] if *w < IMPLICIT => *w,
            _ => {
                let at = self.pool.len() as u16;
                self.pool.push(weights.len() as u16);
                self.pool.extend_from_slice(weights);
                POOLED + at
            }
        }
    }

    /// Puts another list of weights in the place of each weight that `change` knows one for.
    pub(super) fn change(&mut self, change: impl Fn(u16) -> Option<Vec<u16>>) {
        let mut entries: HashMap<u16, u16> = HashMap::new();
        let mut changed = |tables: &mut Tables, entry: u16| -> u16 {
            if let Some(known) = entries.get(&entry) {
                return *known;
            }
            let weights = match entry {
                0 | IMPLICIT => return entry,
                POOLED.. => tables.pooled(entry).to_vec(),
                w => vec![w],
            };
            let mut other = Vec::with_capacity(weights.len());
            for w in &weights {
                match change(*w) {
                    Some(list) => other.extend(list),
                    None => other.push(*w),
                }
            }
            let new = match other == weights {
                true => entry,
                false => tables.enter(&other),
            };
            entries.insert(entry, new);
            new
        };
        for at in 0..self.pages.len() {
            let new = changed(self, self.pages[at]);
            self.pages[at] = new;
        }
        let mut contractions = std::mem::take(&mut self.contractions);
        for entry in contractions.values_mut() {
            *entry = changed(self, *entry);
        }
        self.contractions = contractions;
    }

    /// The greatest weight less than one that some character has for itself.
    pub(super) fn before(&self, weight: u16) -> u16 {
        let less = self.pages.iter().filter(|e| **e < weight);
        less.copied().max().unwrap_or(0)
    }
}

//! From the rules of a language to its weights: those of the untailored table with what the rules move.
//!
//! Rules are written as CLDR writes them (UTS #35, part 5). `&N<ñ<<<Ñ`: after N comes another letter, ñ, of which Ñ is the capital;
//! `<<` stands before what differs by an accent, `=` before what is the same, `/` before what follows of an expansion, `&[before 1]b` is
//! behind the letter before b. `[reorder Cyrl]` puts scripts before the others, `[caseFirst upper]` capitals before small letters.
//!
//! With version 4.0.0 there is one level, and what comes after a letter weighs one more than it, as in MySQL: the table has gaps there. With
//! 9.0.0 a weight follows that of the letter that is greater than any that could follow it otherwise (and so on each level), so
//! that all words with n come before the first with ñ. Equality is kept canonical there: a tailored letter is the same when its accent is a
//! character of its own, and a letter with one accent more is that letter and an accent.

use std::collections::{HashMap, HashSet};

use super::tables::Tables;
use super::{Levels, Version, Weights};

/// Latin letters that are a letter and an accent, three little-endian u16 each: what they are made of comes before what is made of them. By
/// `scripts/uca-tables`; LICENSE-UNICODE covers it.
static DECOMPOSITIONS: &[u8] = include_bytes!("decompositions.bin");

/// A letter without accent, on the second level.
const PLAIN: u16 = 0x20;
/// A small letter, on the third.
const SMALL: u16 = 2;
/// What follows a letter that another comes after, by level: more than any weight of a table's.
const FIRST_ADDED: [u16; 3] = [0xfc00, 0x200, 0x20];
/// With capitals first: which part of a third weight tells its form, and what is added to it.
const FORM: u16 = 0x3f;
const MIXED: u16 = 0x40;
const LOWER: u16 = 0x80;

/// How much what follows differs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Strength {
    Primary,
    Secondary,
    Tertiary,
    Same,
}

/// What stands behind the one before it.
struct Item<'r> {
    strength: Strength,
    text: &'r str,
    /// What follows of an expansion.
    extension: &'r str,
}

/// What stands behind what.
struct Chain<'r> {
    reset: &'r str,
    before: bool,
    items: Vec<Item<'r>>,
}

#[derive(Default)]
struct Rules<'r> {
    /// Scripts that come before the others.
    scripts: Vec<&'r str>,
    capitals_first: bool,
    chains: Vec<Chain<'r>>,
}

impl<'r> Rules<'r> {
    fn read(mut text: &'r str) -> Rules<'r> {
        let mut rules = Rules::default();
        while let Some(setting) = text.strip_prefix('[') {
            let (setting, rest) = setting.split_once(']').unwrap_or((setting, ""));
            match setting.strip_prefix("reorder ") {
                Some(scripts) => rules.scripts = scripts.split(' ').collect(),
                None => rules.capitals_first = setting == "caseFirst upper",
            }
            text = rest;
        }
        rules.chains = text.split('&').skip(1).map(Chain::read).collect();
        rules
    }
}

impl<'r> Chain<'r> {
    fn read(text: &'r str) -> Chain<'r> {
        let (before, text) = match text.strip_prefix("[before 1]") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let relation = |c| c == '<' || c == '=';
        let mut at = text.find(relation).unwrap_or(text.len());
        let reset = &text[..at];
        let mut items = Vec::new();
        while at < text.len() {
            let signs = text[at..].find(|c| !relation(c)).unwrap_or(0);
            let strength = match &text[at..at + signs] {
                "<" => Strength::Primary,
                "<<" => Strength::Secondary,
                "<<<" => Strength::Tertiary,
                _ => Strength::Same,
            };
            at += signs;
            let end = text[at..].find(relation).map_or(text.len(), |n| at + n);
            let (text, extension) = text[at..end]
                .split_once('/')
                .unwrap_or((&text[at..end], ""));
            items.push(Item {
                strength,
                text,
                extension,
            });
            at = end;
        }
        Chain {
            reset,
            before,
            items,
        }
    }
}

/// The weights that a language's rules make of a level's untailored ones.
pub(super) fn tailored(base: &Tables, version: Version, level: Levels, rules: &str) -> Tables {
    let rules = Rules::read(rules);
    let mut tailoring = Tailoring {
        tables: base.clone(),
        version,
        level,
        capitals_first: rules.capitals_first && level == Levels::Tertiary,
    };
    if level == Levels::Primary && !rules.scripts.is_empty() {
        tailoring.reorder(&rules.scripts);
    }
    if tailoring.capitals_first {
        tailoring
            .tables
            .change(|w| Some(vec![if is_capital(w) { w } else { w | LOWER }]));
    }
    for chain in &rules.chains {
        tailoring.chain(chain);
    }
    if version == Version::V9 {
        tailoring.close(&rules.chains);
    }
    tailoring.tables.finished()
}

/// Whether a weight of the third level is a capital's (UTS #10, table "Tertiary Weight Assignments").
fn is_capital(w: u16) -> bool {
    matches!(w, 0x08..=0x0c | 0x0e | 0x11 | 0x12 | 0x1d)
}

/// The first letter of a script, and the first of the script after it.
fn script(name: &str) -> (&'static str, &'static str) {
    match name {
        "Cyrl" => ("а", "\u{2c30}"),
        "Mong" => ("\u{1880}", "\u{1c5a}"),
        _ => (FIRST_LETTER, "α"),
    }
}

/// Of all scripts.
const FIRST_LETTER: &str = "a";

/// A level's weights on the way.
struct Tailoring {
    tables: Tables,
    version: Version,
    level: Levels,
    capitals_first: bool,
}

impl Tailoring {
    fn weights(&self, text: &str) -> Vec<u16> {
        Weights::of_tables(text.as_bytes(), self.version, self.level, &self.tables).collect()
    }

    fn reorder(&mut self, scripts: &[&str]) {
        let first = |text: &str| self.weights(text).first().copied().unwrap_or(0);
        let all = first(FIRST_LETTER);
        let moved: Vec<(u16, u16)> = scripts
            .iter()
            .map(|name| script(name))
            .map(|(from, to)| (first(from), first(to)))
            .collect();
        let end = moved.iter().map(|m| m.1).max().unwrap_or(all);
        self.tables.change(|w| {
            if !(all..end).contains(&w) {
                return None;
            }
            let mut to = all;
            for (from, end) in &moved {
                if (*from..*end).contains(&w) {
                    return Some(vec![to + (w - from)]);
                }
                to += end - from;
            }
            let behind = moved.iter().filter(|m| m.0 > w);
            Some(vec![w + behind.map(|m| m.1 - m.0).sum::<u16>()])
        });
    }

    fn chain(&mut self, chain: &Chain<'_>) {
        let mut weights = self.weights(chain.reset);
        if self.capitals_first {
            weights.iter_mut().for_each(|w| *w &= FORM);
        }
        if chain.before {
            weights = match self.level {
                Levels::Primary => vec![self.tables.before(weights[0])],
                Levels::Secondary => vec![PLAIN],
                Levels::Tertiary => vec![SMALL],
            };
        }
        let letters = match self.level {
            Levels::Secondary => weights.iter().filter(|w| **w == PLAIN).count(),
            _ => weights.len(),
        };
        let mut added = false;
        for item in &chain.items {
            self.step(item.strength, letters, &mut added, &mut weights);
            let mut own = weights.clone();
            if self.capitals_first {
                let case = self.case(item.text);
                own.iter_mut().for_each(|w| *w |= case);
            }
            own.extend(self.weights(item.extension));
            self.replace(item.text, &own);
        }
    }

    /// From the weights of one to those of what stands behind it.
    fn step(&self, strength: Strength, letters: usize, added: &mut bool, weights: &mut Vec<u16>) {
        use {Levels as L, Strength as S};
        match (self.version, self.level, strength) {
            (Version::V4, _, S::Primary) => match weights.last_mut() {
                Some(last) => *last += 1,
                None => weights.push(1),
            },
            (Version::V4, ..) => {}
            (_, L::Primary, S::Primary)
            | (_, L::Secondary, S::Secondary)
            | (_, L::Tertiary, S::Tertiary) => match weights.last_mut().filter(|_| *added) {
                Some(last) => *last += 1,
                None => {
                    weights.push(FIRST_ADDED[self.level as usize]);
                    *added = true;
                }
            },
            (_, L::Secondary, S::Primary) => {
                *weights = vec![PLAIN; letters];
                *added = false;
            }
            (_, L::Tertiary, S::Primary | S::Secondary) => {
                *weights = vec![SMALL; letters];
                *added = false;
            }
            _ => {}
        }
    }

    /// What of a third weight tells the case of a text, where capitals come first.
    fn case(&self, text: &str) -> u16 {
        let capitals = text.chars().filter(|c| c.is_uppercase()).count();
        match capitals {
            0 => LOWER,
            n if n < text.chars().count() => MIXED,
            _ => 0,
        }
    }

    fn replace(&mut self, text: &str, weights: &[u16]) {
        let was = self.weights(text);
        self.tables.set(text, weights);
        // An accent weighs nothing on the first level and the same as others on the third. Letters that have it weigh what it weighs.
        if let (Levels::Secondary, &[mark]) = (self.level, &*was)
            && mark != PLAIN
            && text.chars().count() == 1
        {
            let weights = weights.to_vec();
            self.tables.change(|w| (w == mark).then(|| weights.clone()));
        }
    }

    /// Gives what is canonically equivalent the same weights.
    fn close(&mut self, chains: &[Chain<'_>]) {
        let items = chains.iter().flat_map(|c| &c.items).map(|i| i.text);
        let single = |text: &str| text.chars().next().filter(|c| c.len_utf8() == text.len());
        let mut touched: HashSet<char> = items.filter_map(single).collect();
        let own = touched.clone();
        let mut whole: HashMap<char, String> = HashMap::new();
        let mut composed: HashMap<(char, char), char> = HashMap::new();
        for d in DECOMPOSITIONS.chunks_exact(6) {
            let part = |i: usize| {
                let code = u16::from_le_bytes([d[i], d[i + 1]]);
                char::from_u32(code.into()).unwrap_or_default()
            };
            let (c, first, mark) = (part(0), part(2), part(4));
            let mut parts = whole.get(&first).cloned().unwrap_or(first.into());
            parts.push(mark);
            composed.insert((first, mark), c);
            let outer = outer_accent(&parts).and_then(|(letter, below)| {
                let other = *composed.get(&(letter, mark))?;
                touched.contains(&other).then_some((other, below))
            });
            whole.insert(c, parts.clone());
            let weights = if own.contains(&c) {
                self.weights(c.encode_utf8(&mut [0; 4]))
            } else if touched.contains(&first) {
                self.weights_in_turn(first, mark)
            } else if let Some((other, below)) = outer {
                self.weights_in_turn(other, below)
            } else {
                continue;
            };
            touched.insert(c);
            for text in [c.into(), parts, String::from_iter([first, mark])] {
                if self.weights(&text) != weights {
                    self.tables.set(&text, &weights);
                }
            }
        }
        for text in chains.iter().flat_map(|c| &c.items).map(|i| i.text) {
            let parts = text.chars().map(|c| match whole.get(&c) {
                Some(parts) => parts.clone(),
                None => c.into(),
            });
            let parts: String = parts.collect();
            let weights = self.weights(text);
            if self.weights(&parts) != weights {
                self.tables.set(&parts, &weights);
            }
        }
    }

    /// The weights of two characters that are no contraction.
    fn weights_in_turn(&self, first: char, second: char) -> Vec<u16> {
        let mut weights = self.weights(first.encode_utf8(&mut [0; 4]));
        weights.extend(self.weights(second.encode_utf8(&mut [0; 4])));
        weights
    }
}

/// Of a letter with an accent below it (or attached to it) and then another one: the letter and the first. The second follows the letter as
/// well, whatever stands below.
fn outer_accent(parts: &str) -> Option<(char, char)> {
    let mut chars = parts.chars();
    let (letter, below) = (chars.next()?, chars.next()?);
    let last = chars.next()?;
    let is_below = |c| matches!(c, '\u{316}'..='\u{333}');
    (chars.next().is_none() && is_below(below) && !is_below(last)).then_some((letter, below))
}

#[cfg(test)]
mod tests {
    use super::super::{Language, Pad, Rules, compare};
    use super::*;

    fn as_cs(language: Language) -> Rules {
        Rules {
            pad: Pad::None,
            version: Version::V9,
            levels: Levels::Tertiary,
            language,
        }
    }

    /// Each less than the next, and no more than an accent or a capital apart where joined by a comma.
    #[test]
    fn letters_stand_where_the_language_has_them() {
        use Language as L;
        for (language, order) in [
            (L::Es, "nz ñ,Ñ ñz o"),
            (L::EsTrad, "cg cz ch,Ch,CH chz d lk lz ll,Ll ma"),
            (L::DePb, "ad ae,ä,Ä af od oe,ö of ue,ü uf"),
            (L::Sv, "d,đ,ð v,w,W x y,ü,ű za å,Å ä,Ä,æ,ę ö,ø,ő,œ,ô"),
            (L::Da, "Y,y,Ü,ü z Æ,æ,Ä,ä Ø,ø,Ö,ö,ő,œ Å,AA,Aa,å,aa åa"),
            (L::Nb, "z æ,Æ,ä,ę ø,Ø,ö å,Å,aa,Aa,AA"),
            (L::Is, "a á b d,đ ð e é f z þ æ,ä ö,ø å"),
            (L::Et, "s š z ž t u w õ ä ö ü x y"),
            (L::Cs, "c č d h hz ch,cH,Ch,CH i r ř s š z ž"),
            (L::Sk, "a,á ä b o,ó ô p"),
            (
                L::Hu,
                "c cz cs,Cs,CS d dz dzs,Dzs e g gy,Gy h o,ó ö,ő p u,ú ü,ű v",
            ),
            (L::Hr, "c č ć d dz dž,ǆ,Dž,ǅ,DŽ,Ǆ đ e lz lj m nz nj o а я α"),
            (L::Ru, "9 а я a z α"),
            (L::MnCyrl, "а я ᠠ a z"),
            (L::Lt, "c č d e,ę,ė f i,į,y,Y j u,ų,ū v"),
            (L::Lv, "c č d g ģ h i,y j k ķ l"),
            (L::La, "i,j,J k u"),
            (L::Tr, "h ı,I,Í i,İ,í j o ö p s ş t"),
            (
                L::Vi,
                "a,à,ả,ã,á,ạ ă,ằ,ẳ,ẵ,ắ,ặ â,ầ,ẩ,ẫ,ấ,ậ b d đ e ê,ề f o ô ơ,ờ,ợ p u ư,ừ v",
            ),
            (L::Ro, "a ă â b s ş t ţ"),
            (L::Pl, "a ą b z ź ż"),
            (L::Eo, "c ĉ d u ŭ v"),
            (L::Sl, "c č ć d đ e"),
        ] {
            let ai_ci = Rules {
                levels: Levels::Primary,
                ..as_cs(language)
            };
            let all: Vec<(usize, &str)> = order
                .split(' ')
                .enumerate()
                .flat_map(|(i, letter)| letter.split(',').map(move |form| (i, form)))
                .collect();
            for (n, (i, a)) in all.iter().enumerate() {
                for (j, b) in &all[n + 1..] {
                    let (x, y) = (a.as_bytes(), b.as_bytes());
                    assert!(
                        compare(as_cs(language), x, y).is_lt(),
                        "{language:?} {a} {b}"
                    );
                    let same = compare(ai_ci, x, y).is_eq();
                    assert_eq!(same, i == j, "{language:?} {a} {b}");
                }
            }
        }
    }

    #[test]
    fn what_is_canonically_equivalent_is_equal() {
        use Language as L;
        for (language, a, b) in [
            (L::Es, "ñ", "n\u{303}"),
            (L::Sv, "ǻ", "å\u{301}"),
            (L::Sv, "ǻ", "a\u{30a}\u{301}"),
            (L::Vi, "ậ", "a\u{323}\u{302}"),
            (L::Vi, "ấ", "a\u{302}\u{301}"),
            (L::Vi, "ợ", "ơ\u{323}"),
            (L::Et, "ź", "z\u{301}"),
            (L::Hr, "dž", "dz\u{30c}"),
            (L::Ro, "ş", "ș"),
            (L::Lt, "i\u{307}\u{301}", "i\u{301}"),
            (L::Hu, "ccs", "cscs"),
            (L::Tr, "İ", "I\u{307}"),
        ] {
            let rules = match language {
                // A double consonant is told by its third weight.
                L::Hu => Rules {
                    levels: Levels::Primary,
                    ..as_cs(language)
                },
                _ => as_cs(language),
            };
            assert!(
                compare(rules, a.as_bytes(), b.as_bytes()).is_eq(),
                "{language:?} {a} {b}"
            );
        }
    }
}

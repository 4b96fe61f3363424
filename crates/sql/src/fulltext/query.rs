//! A search ready to be held against rows, and ranks.
//!
//! **Ranks** are InnoDB's: the sum over the terms that a row is found by of how often it has the term, times the square of the term's inverse
//! document frequency, `log10(rows / rows that have it)`; where every row has it, `log10(1.0001)`, so that it counts at all. In a boolean search
//! `>` adds 1 to a row's rank, and `<` and `~` take 1 off, within -1 and 1.
//!
//! Of a boolean search that has terms with `+`, rows must have those, and the others add to the rank; without, any term will do. What `-` names
//! a row must not have; a search of nothing else finds nothing.

use std::collections::HashMap;

use crate::catalog::bytes::{Reader, Writer, corrupt};
use crate::catalog::{FulltextIndex, TextParser};
use crate::error::SqlResult;
use crate::types::Collation;

use super::parse::{self, Mode, Operator, Written};
use super::token;

/// The inverse document frequency of what every row has.
const EVERYWHERE: f64 = 1.0001;
/// How much `>`, `<` and `~` add or take, and as far as that goes.
const STEP: f32 = 1.0;
/// Bytes behind the word in an entry's own key: how often the row has it.
const COUNT_BYTES: usize = 4;
/// Bytes of a rank in the key that rows are sorted by: the best first.
pub const RELEVANCE_BYTES: usize = 4;

/// A word, or the beginning of words, that rows are found by.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// What the own keys of its entries begin with, and no others.
    pub key: Vec<u8>,
    /// Whether these are all that words begin with, not one word's.
    pub prefix: bool,
    /// Its inverse document frequency; 0 until [`Query::weigh`].
    idf: f64,
}

/// What is to be there.
#[derive(Clone, Debug, PartialEq)]
enum Item {
    /// A term, by position.
    Term(usize),
    /// Words that no row has an entry for.
    Nothing,
    Phrase(Phrase),
    List(Vec<(Operator, Item)>),
}

/// Words that follow each other, or stand near each other.
#[derive(Clone, Debug, PartialEq)]
struct Phrase {
    /// Sort keys of all of its words.
    words: Vec<Vec<u8>>,
    /// Positions of the terms that are those of them which the index has.
    terms: Vec<usize>,
    /// Within how many words they stand, in any order.
    distance: Option<u32>,
}

/// A search.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// How texts are cut; without its columns.
    index: FulltextIndex,
    collation: Collation,
    terms: Vec<Term>,
    /// Positions of those that are whole words.
    words: HashMap<Vec<u8>, usize>,
    items: Vec<(Operator, Item)>,
}

/// How often a row has each term.
pub type Counts = Vec<u32>;

/// How often a row has the word of an entry, by the entry's own key; `None` if it is no key of such an index.
pub fn count_of(own_key: &[u8]) -> Option<u32> {
    let at = own_key.len().checked_sub(COUNT_BYTES)?;
    Some(u32::from_be_bytes(own_key[at..].try_into().ok()?))
}

/// Of a row that was found: what `>`, `<` and `~` make of it, and the terms that it was found by, in the order in which they were looked for and some
/// more than once.
struct Found {
    base: f32,
    terms: Vec<usize>,
}

impl Found {
    fn step(&mut self, by: f32) {
        self.base = (self.base + by).clamp(-STEP, STEP);
    }
}

impl Query {
    /// What a text asks of an index; error 1064 for a boolean search that is none.
    pub fn new(
        index: &FulltextIndex,
        collation: Collation,
        mode: Mode,
        text: &[u8],
    ) -> SqlResult<Query> {
        let written = match mode {
            Mode::Boolean => parse::boolean(text)?,
            Mode::Natural | Mode::Expansion => parse::natural(text),
        };
        let mut query = Query {
            index: FulltextIndex {
                columns: Vec::new(),
                ..index.clone()
            },
            collation,
            terms: Vec::new(),
            words: HashMap::new(),
            items: Vec::new(),
        };
        query.items = query.list(&written, mode == Mode::Boolean);
        Ok(query)
    }

    /// Its terms.
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// Whether a row's texts decide more than its entries do.
    pub fn asks_texts(&self) -> bool {
        fn any(list: &[(Operator, Item)]) -> bool {
            list.iter().any(|(_, item)| match item {
                Item::Phrase(_) => true,
                Item::List(list) => any(list),
                Item::Term(_) | Item::Nothing => false,
            })
        }
        any(&self.items)
    }

    fn list(&mut self, written: &[(Operator, Written)], boolean: bool) -> Vec<(Operator, Item)> {
        let mut items = Vec::new();
        for (operator, written) in written {
            match written {
                Written::List(list) => {
                    let list = self.list(list, boolean);
                    items.push((*operator, Item::List(list)));
                }
                Written::Phrase(text, distance) => {
                    items.push((*operator, self.phrase(text, *distance)));
                }
                Written::Term(text, prefix) => {
                    let words = self.words(text, *prefix, boolean);
                    items.extend(words.into_iter().map(|item| (*operator, item)));
                }
            }
        }
        items
    }

    /// A word's sort key.
    fn key(&self, word: &[u8]) -> Vec<u8> {
        let mut key = Vec::new();
        self.collation.sort_key(word, &mut key);
        key
    }

    /// The position of a term, which is added if it is new.
    fn term(&mut self, key: Vec<u8>, prefix: bool) -> usize {
        let known = match prefix {
            false => self.words.get(&key).copied(),
            true => self.terms.iter().position(|t| t.prefix && t.key == key),
        };
        if let Some(at) = known {
            return at;
        }
        if !prefix {
            self.words.insert(key.clone(), self.terms.len());
        }
        self.terms.push(Term {
            key,
            prefix,
            idf: 0.0,
        });
        self.terms.len() - 1
    }

    /// The words that a term is cut into. `prefix`: the last of them is the beginning of words.
    fn words(&mut self, text: &[u8], prefix: bool, boolean: bool) -> Vec<Item> {
        if let TextParser::Ngram(size) = self.index.parser
            && boolean
        {
            let chars = crate::types::collation::char_count(text);
            return match chars.cmp(&(size as usize)) {
                std::cmp::Ordering::Less if prefix => vec![self.beginning(text)],
                _ => vec![self.phrase(text, None)],
            };
        }
        let mut words: Vec<(Vec<u8>, bool)> = Vec::new();
        token::each(&self.index, self.collation, text, &mut |word, indexed| {
            words.push((word.to_vec(), indexed));
        });
        let last = words.len();
        let mut items = Vec::new();
        for (n, (word, indexed)) in words.into_iter().enumerate() {
            items.push(if prefix && n + 1 == last {
                self.beginning(&word)
            } else if indexed {
                let key = self.key(&word);
                Item::Term(self.term(key, false))
            } else if n > 0 {
                continue;
            } else {
                Item::Nothing
            });
        }
        items
    }

    fn beginning(&mut self, word: &[u8]) -> Item {
        let mut key = Vec::new();
        self.collation.sort_key_prefix(word, &mut key);
        Item::Term(self.term(key, true))
    }

    fn phrase(&mut self, text: &[u8], distance: Option<u32>) -> Item {
        let mut words: Vec<(Vec<u8>, bool)> = Vec::new();
        token::each(&self.index, self.collation, text, &mut |word, indexed| {
            words.push((word.to_vec(), indexed));
        });
        let keys: Vec<Vec<u8>> = words.iter().map(|(w, _)| self.key(w)).collect();
        let mut terms = Vec::new();
        for (key, (_, indexed)) in keys.iter().zip(&words) {
            if *indexed {
                let at = self.term(key.clone(), false);
                if !terms.contains(&at) {
                    terms.push(at);
                }
            }
        }
        match (&keys[..], &terms[..]) {
            (_, []) => Item::Nothing,
            ([_], [term]) => Item::Term(*term),
            _ => Item::Phrase(Phrase {
                words: keys,
                terms,
                distance,
            }),
        }
    }

    /// Adds the words of a row's texts, any of which will do.
    pub fn expand(&mut self, texts: &[&[u8]]) {
        for text in texts {
            let mut keys = Vec::new();
            token::each(&self.index, self.collation, text, &mut |word, indexed| {
                if indexed {
                    keys.push(self.key(word));
                }
            });
            for key in keys {
                let (known, at) = (self.terms.len(), self.term(key, false));
                if at == known {
                    self.items.push((Operator::May, Item::Term(at)));
                }
            }
        }
    }

    /// Gives the terms their weights. `rows`: how many the table has; `having`: of each term, how many have it.
    pub fn weigh(&mut self, rows: u64, having: &[u64]) {
        for (term, &having) in self.terms.iter_mut().zip(having) {
            term.idf = match having {
                0 => 0.0,
                _ if having == rows => EVERYWHERE.log10(),
                _ => (rows as f64 / having as f64).log10(),
            };
        }
    }

    /// The rank of a row that has the terms so often; `None` if it is not found. `texts` are its columns', for phrases; without them a
    /// phrase is taken to be there if its words are.
    pub fn rank(&self, counts: &[u32], texts: Option<&[&[u8]]>) -> Option<f32> {
        let cut = texts.filter(|_| self.asks_texts()).map(|t| self.cut(t));
        let found = self.find(&self.items, counts, cut.as_deref())?;
        let mut rank = found.base;
        let mut counted = vec![false; self.terms.len()];
        for at in found.terms {
            if std::mem::replace(&mut counted[at], true) {
                continue;
            }
            let idf = self.terms[at].idf;
            rank += (f64::from(counts[at]) * idf * idf) as f32;
        }
        Some(rank)
    }

    /// The rank of a row with these texts, 0 if it is not found.
    pub fn rank_of(&self, texts: &[&[u8]]) -> f32 {
        let counts = self.counts(texts);
        self.rank(&counts, Some(texts)).unwrap_or(0.0)
    }

    /// How often texts have each term.
    pub(super) fn counts(&self, texts: &[&[u8]]) -> Counts {
        let mut counts = vec![0; self.terms.len()];
        let mut key = Vec::new();
        let prefixes: Vec<usize> = (0..self.terms.len())
            .filter(|at| self.terms[*at].prefix)
            .collect();
        for text in texts {
            token::each(&self.index, self.collation, text, &mut |word, indexed| {
                if !indexed {
                    return;
                }
                key.clear();
                self.collation.sort_key(word, &mut key);
                if let Some(at) = self.words.get(&key) {
                    counts[*at] += 1;
                }
                for &at in &prefixes {
                    counts[at] += u32::from(key.starts_with(&self.terms[at].key));
                }
            });
        }
        counts
    }

    /// The sort keys of all words of texts, one text after another.
    fn cut(&self, texts: &[&[u8]]) -> Vec<Vec<Vec<u8>>> {
        let cut = |text: &&[u8]| {
            let mut words = Vec::new();
            token::each(&self.index, self.collation, text, &mut |word, _| {
                words.push(self.key(word));
            });
            words
        };
        texts.iter().map(cut).collect()
    }

    fn find(
        &self,
        list: &[(Operator, Item)],
        counts: &[u32],
        texts: Option<&[Vec<Vec<u8>>]>,
    ) -> Option<Found> {
        let of = |wanted: fn(Operator) -> bool| list.iter().filter(move |(o, _)| wanted(*o));
        let mut found: Option<Found> = None;
        for (operator, item) in of(|o| !matches!(o, Operator::Must | Operator::Not)) {
            let Some(here) = self.item(item, counts, texts) else {
                continue;
            };
            if *operator == Operator::Negate && found.is_none() {
                continue;
            }
            let all = merged(&mut found, here);
            match operator {
                Operator::More => all.step(STEP),
                Operator::Less | Operator::Negate => all.step(-STEP),
                _ => {}
            }
        }
        for (_, item) in of(|o| o == Operator::Must) {
            let here = self.item(item, counts, texts)?;
            let base = here.base;
            let before = found.is_some();
            let all = merged(&mut found, here);
            if before {
                all.step(base);
            }
        }
        for (_, item) in of(|o| o == Operator::Not) {
            if self.item(item, counts, texts).is_some() {
                return None;
            }
        }
        found
    }

    fn item(&self, item: &Item, counts: &[u32], texts: Option<&[Vec<Vec<u8>>]>) -> Option<Found> {
        let terms = match item {
            Item::Nothing => return None,
            Item::List(list) => return self.find(list, counts, texts),
            Item::Term(at) => vec![*at],
            Item::Phrase(phrase) => {
                if texts.is_some_and(|texts| !phrase.is_in(texts)) {
                    return None;
                }
                phrase.terms.clone()
            }
        };
        let has = terms.iter().all(|at: &usize| counts[*at] > 0);
        has.then_some(Found { base: 0.0, terms })
    }

    /// It as bytes, for [`Query::of_bytes`].
    pub fn bytes(&self) -> Vec<u8> {
        let mut w = Writer(Vec::new());
        w.number(u64::from(self.collation.id()));
        self.index.write(&mut w);
        w.number(self.terms.len() as u64);
        for term in &self.terms {
            w.bytes(&term.key);
            w.number(u64::from(term.prefix));
            w.0.extend_from_slice(&term.idf.to_be_bytes());
        }
        write_list(&self.items, &mut w);
        w.0
    }

    /// The search that [`Query::bytes`] wrote.
    pub fn of_bytes(bytes: &[u8]) -> SqlResult<Query> {
        let r = &mut Reader(bytes);
        let collation = r.collation()?;
        let index = FulltextIndex::read(r, Vec::new())?;
        let mut terms = Vec::new();
        for _ in 0..r.count()? {
            let (key, prefix) = (r.bytes()?.to_vec(), r.number()? != 0);
            let (idf, rest) = r.0.split_first_chunk::<8>().ok_or_else(corrupt)?;
            r.0 = rest;
            let idf = f64::from_be_bytes(*idf);
            terms.push(Term { key, prefix, idf });
        }
        let items = read_list(r)?;
        let words = terms.iter().enumerate();
        let words = words.filter(|(_, t): &(usize, &Term)| !t.prefix);
        let words = words.map(|(at, t)| (t.key.clone(), at)).collect();
        Ok(Query {
            index,
            collation,
            terms,
            words,
            items,
        })
    }
}

/// Adds what a row was found by to what it was found by before.
fn merged(found: &mut Option<Found>, here: Found) -> &mut Found {
    let all = found.get_or_insert(Found {
        base: here.base,
        terms: Vec::new(),
    });
    all.terms.extend(here.terms);
    all
}

impl Phrase {
    /// Whether one of the texts has it.
    fn is_in(&self, texts: &[Vec<Vec<u8>>]) -> bool {
        let length = self.words.len();
        texts.iter().any(|text| match self.distance {
            None => text.windows(length).any(|w| w == &self.words[..]),
            Some(distance) => {
                let width = (distance as usize).min(text.len());
                let all = |w: &[Vec<u8>]| self.words.iter().all(|word| w.contains(word));
                width > 0 && text.windows(width).any(all)
            }
        })
    }
}

fn write_list(list: &[(Operator, Item)], w: &mut Writer) {
    w.number(list.len() as u64);
    for (operator, item) in list {
        w.number(match operator {
            Operator::May => 0,
            Operator::Must => 1,
            Operator::Not => 2,
            Operator::Negate => 3,
            Operator::More => 4,
            Operator::Less => 5,
        });
        match item {
            Item::Nothing => w.number(0),
            Item::Term(at) => {
                w.number(1);
                w.number(*at as u64);
            }
            Item::Phrase(phrase) => {
                w.number(2);
                w.number(phrase.words.len() as u64);
                phrase.words.iter().for_each(|word| w.bytes(word));
                w.number(phrase.terms.len() as u64);
                phrase.terms.iter().for_each(|at| w.number(*at as u64));
                w.number(phrase.distance.map_or(0, |d| u64::from(d) + 1));
            }
            Item::List(list) => {
                w.number(3);
                write_list(list, w);
            }
        }
    }
}

fn read_list(r: &mut Reader<'_>) -> SqlResult<Vec<(Operator, Item)>> {
    let mut list = Vec::new();
    for _ in 0..r.count()? {
        let operator = match r.number()? {
            0 => Operator::May,
            1 => Operator::Must,
            2 => Operator::Not,
            3 => Operator::Negate,
            4 => Operator::More,
            5 => Operator::Less,
            _ => return Err(corrupt()),
        };
        let item = match r.number()? {
            0 => Item::Nothing,
            1 => Item::Term(r.small()?),
            2 => Item::Phrase(read_phrase(r)?),
            3 => Item::List(read_list(r)?),
            _ => return Err(corrupt()),
        };
        list.push((operator, item));
    }
    Ok(list)
}

fn read_phrase(r: &mut Reader<'_>) -> SqlResult<Phrase> {
    let (mut words, mut terms) = (Vec::new(), Vec::new());
    for _ in 0..r.count()? {
        words.push(r.bytes()?.to_vec());
    }
    for _ in 0..r.count()? {
        terms.push(r.small()?);
    }
    let distance = match r.number()? {
        0 => None,
        d => Some(u32::try_from(d - 1).map_err(|_| corrupt())?),
    };
    Ok(Phrase {
        words,
        terms,
        distance,
    })
}

//! Texts cut into words.

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use regex::Regex;

use crate::catalog::{FulltextIndex, TextParser};
use crate::types::Collation;
use crate::types::collation::next_char;

/// InnoDB's default stopwords, in the order in which information_schema.INNODB_FT_DEFAULT_STOPWORD has them.
pub const STOPWORDS: [&str; 36] = [
    "a", "about", "an", "are", "as", "at", "be", "by", "com", "de", "en", "for", "from", "how",
    "i", "in", "is", "it", "la", "of", "on", "or", "that", "the", "this", "to", "was", "what",
    "when", "where", "who", "will", "with", "und", "the", "www",
];
/// Bytes of the longest of them.
const LONGEST_STOPWORD: usize = 5;

/// Calls `f` for each word of a text in order, with whether the index has it: those that are too short or too long, and stopwords, it has not.
pub fn each<'t>(
    index: &FulltextIndex,
    collation: Collation,
    text: &'t [u8],
    f: &mut dyn FnMut(&'t [u8], bool),
) {
    match index.parser {
        TextParser::Words { least, most } => words(text, &mut |word, chars| {
            let stops = || index.stopwords && is_stopword(word, collation);
            f(word, (least..=most).contains(&chars) && !stops());
        }),
        TextParser::Ngram(size) => ngrams(text, size as usize, &mut |ngram| {
            f(ngram, !(index.stopwords && has_stopword(ngram, collation)));
        }),
    }
}

/// Whether a character is part of words: letters with the marks that combine with them, and digits.
fn is_word(c: u32) -> bool {
    c == u32::from(b'_') || char::from_u32(c).is_some_and(|c| c.is_alphanumeric() || is_mark(c))
}

/// The first mark that combines with a letter.
const FIRST_MARK: char = '\u{300}';

/// What is part of words from there on: Unicode's letters, marks and digits, without joiners and what is like `_`.
static MARKED: LazyLock<Vec<RangeInclusive<char>>> = LazyLock::new(|| {
    const OTHERS: &str =
        r"\u{200C}\u{200D}\u{203F}\u{2040}\u{2054}\u{FE33}\u{FE34}\u{FE4D}-\u{FE4F}\u{FF3F}";
    let all: String = (FIRST_MARK..=char::MAX).collect();
    let marked = Regex::new(&format!(r"[\w--[{OTHERS}]]+")).expect("a pattern");
    let ranges = marked.find_iter(&all).map(|found| {
        let mut chars = found.as_str().chars();
        let first = chars.next().expect("one at least");
        first..=chars.next_back().unwrap_or(first)
    });
    ranges.collect()
});

fn is_mark(c: char) -> bool {
    c >= FIRST_MARK && {
        let at = MARKED.partition_point(|r| *r.end() < c);
        MARKED.get(at).is_some_and(|r| r.contains(&c))
    }
}

/// The words of a text, with their lengths in characters.
fn words<'t>(text: &'t [u8], f: &mut dyn FnMut(&'t [u8], u32)) {
    let (mut at, mut from, mut chars) = (0, 0, 0);
    while at < text.len() {
        let (c, n) = next_char(&text[at..]);
        if is_word(c) {
            if chars == 0 {
                from = at;
            }
            chars += 1;
        } else if chars > 0 {
            f(&text[from..at], chars);
            chars = 0;
        }
        at += n;
    }
    if chars > 0 {
        f(&text[from..], chars);
    }
}

/// Every `size` characters that follow each other without a space among them.
fn ngrams<'t>(text: &'t [u8], size: usize, f: &mut dyn FnMut(&'t [u8])) {
    for part in text.split(|b| *b == b' ') {
        let mut starts = Vec::new();
        let mut at = 0;
        while at < part.len() {
            starts.push(at);
            at += next_char(&part[at..]).1;
        }
        starts.push(part.len());
        for ends in starts.windows(size + 1) {
            f(&part[ends[0]..ends[size]]);
        }
    }
}

/// Whether a collation tells the cases of letters apart because it compares bytes.
fn is_binary(collation: Collation) -> bool {
    collation.name().ends_with("bin")
}

fn is_stopword(word: &[u8], collation: Collation) -> bool {
    if word.len() > LONGEST_STOPWORD {
        return false;
    }
    let same = |s: &&str| match is_binary(collation) {
        true => s.as_bytes() == word,
        false => s.as_bytes().eq_ignore_ascii_case(word),
    };
    STOPWORDS.iter().any(same)
}

/// Whether a stopword is part of an ngram, which is left out then.
fn has_stopword(ngram: &[u8], collation: Collation) -> bool {
    let part =
        |from: usize| (from..ngram.len()).any(|to| is_stopword(&ngram[from..=to], collation));
    (0..ngram.len()).any(part)
}

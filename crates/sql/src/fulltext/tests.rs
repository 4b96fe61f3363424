//! Words, searches and ranks.

use super::parse::{Mode, Operator, Written, boolean, natural};
use super::query::Query;
use super::token;
use crate::catalog::{FulltextIndex, TextParser};
use crate::types::Collation;

const CI: Collation = Collation::Utf8mb4GeneralCi;

fn index(parser: TextParser) -> FulltextIndex {
    FulltextIndex {
        columns: vec![0],
        parser,
        stopwords: true,
    }
}

fn words() -> FulltextIndex {
    index(TextParser::Words { least: 3, most: 84 })
}

/// The words of a text, those that an index does not have in parentheses.
fn cut(index: &FulltextIndex, text: &str) -> String {
    let mut out = Vec::new();
    token::each(index, CI, text.as_bytes(), &mut |word, indexed| {
        let word = String::from_utf8_lossy(word);
        out.push(match indexed {
            true => word.into_owned(),
            false => format!("({word})"),
        });
    });
    out.join(" ")
}

#[test]
fn texts_are_cut_into_words() {
    for (text, want) in [
        ("", ""),
        ("  --  ", ""),
        ("MySQL's full-text, search!", "MySQL (s) full text search"),
        (
            "The quick_brown fox2 at 100%",
            "(The) quick_brown fox2 (at) 100",
        ),
        ("Überall Ökonomie größer", "Überall Ökonomie größer"),
        ("日本語 テキスト", "日本語 テキスト"),
        // With marks that combine: of Latin, Devanagari, Hebrew, and alone.
        (
            "C\u{353}\u{319}i\u{329}ao, x\u{327}yz",
            "C\u{353}\u{319}i\u{329}ao x\u{327}yz",
        ),
        ("हिन्दी पाठ", "हिन्दी पाठ"),
        ("שָׁלוֹם-עוֹלָם", "שָׁלוֹם עוֹלָם"),
        ("abc\u{200D}def ghi\u{203F}jkl", "abc def ghi jkl"),
    ] {
        assert_eq!(cut(&words(), text), want, "{text}");
    }
    let long = "x".repeat(85);
    assert_eq!(cut(&words(), &long), format!("({long})"));
}

#[test]
fn texts_are_cut_into_ngrams() {
    let two = index(TextParser::Ngram(2));
    for (text, want) in [
        ("xyz", "xy yz"),
        ("x yz", "yz"),
        ("日本語の", "日本 本語 語の"),
        ("xyza", "xy yz (za)"),
        ("on", "(on)"),
    ] {
        assert_eq!(cut(&two, text), want, "{text}");
    }
}

#[test]
fn boolean_searches_are_read() {
    use Operator::*;
    let term = |o, t: &str| (o, Written::Term(t.as_bytes().to_vec(), false));
    let phrase = |o, t: &str, d| (o, Written::Phrase(t.as_bytes().to_vec(), d));
    for (text, want) in [
        ("", vec![]),
        ("a b", vec![term(May, "a"), term(May, "b")]),
        (
            "+a -b ~c >d <e",
            vec![
                term(Must, "a"),
                term(Not, "b"),
                term(Negate, "c"),
                term(More, "d"),
                term(Less, "e"),
            ],
        ),
        ("a-b", vec![term(May, "a"), term(Not, "b")]),
        ("+12*", vec![(Must, Written::Term(b"12".to_vec(), true))]),
        (
            "-\"a b\" \"c\" @ 4",
            vec![phrase(Not, "a b", None), phrase(May, "c", Some(4))],
        ),
        (
            "+a +(>b <c)",
            vec![
                term(Must, "a"),
                (Must, Written::List(vec![term(More, "b"), term(Less, "c")])),
            ],
        ),
    ] {
        assert_eq!(boolean(text.as_bytes()).unwrap(), want, "{text}");
    }
    for text in ["+", "a+", "++a", "+-a", "(a", "a)", "\"a\" @ b", "@", "+@a"] {
        assert_eq!(boolean(text.as_bytes()).unwrap_err().code, 1064, "{text}");
    }
}

#[test]
fn natural_searches_are_read() {
    let term = |t: &str| (Operator::May, Written::Term(t.as_bytes().to_vec(), false));
    let phrase = (Operator::May, Written::Phrase(b"c d".to_vec(), None));
    assert_eq!(
        natural(b"+a -b* \"c d\" \"e"),
        [term("+a"), term("-b*"), phrase, term("e")]
    );
}

/// What a search finds of texts, by position.
fn found(mode: Mode, search: &str, texts: &[&str]) -> Vec<usize> {
    let query = Query::new(&words(), CI, mode, search.as_bytes()).unwrap();
    let query = Query::of_bytes(&query.bytes()).unwrap();
    let finds = |at: &usize| {
        let texts = [texts[*at].as_bytes()];
        query.rank(&query.counts(&texts), Some(&texts)).is_some()
    };
    (0..texts.len()).filter(finds).collect()
}

#[test]
fn what_searches_find() {
    let texts = [
        "apple banana",
        "apple cherry pie",
        "banana cherry",
        "pie of Apple and banana",
        "pineapple",
    ];
    for (search, want) in [
        ("apple", vec![0, 1, 3]),
        ("apple cherry", vec![0, 1, 2, 3]),
        ("+apple +banana", vec![0, 3]),
        ("+apple banana", vec![0, 1, 3]),
        ("+apple -banana", vec![1]),
        ("-apple", vec![]),
        ("~apple", vec![]),
        ("pine*", vec![4]),
        ("app*", vec![0, 1, 3]),
        ("\"apple banana\"", vec![0]),
        ("\"banana apple\"", vec![]),
        ("\"pie of apple\"", vec![3]),
        ("\"of and\"", vec![]),
        ("\"apple banana\" @3", vec![0, 3]),
        ("\"apple banana\" @2", vec![0]),
        ("+(cherry banana) +apple", vec![0, 1, 3]),
        ("+apple -(cherry pie)", vec![0]),
    ] {
        assert_eq!(found(Mode::Boolean, search, &texts), want, "{search}");
    }
    assert_eq!(
        found(Mode::Natural, "-apple, cherry!", &texts),
        [0, 1, 2, 3]
    );
    assert_eq!(found(Mode::Natural, "of the to", &texts), [0usize; 0]);
    assert_eq!(found(Mode::Natural, "\"cherry pie\"", &texts), [1]);
}

#[test]
fn ranks() {
    let mut query = Query::new(&words(), CI, Mode::Natural, b"apple pie").unwrap();
    query.weigh(8, &[2, 8]);
    let rank = |text: &str| query.rank_of(&[text.as_bytes()]);
    let of = |rows: f64, having: f64| (rows / having).log10().powi(2);
    assert_eq!(rank("apple"), of(8.0, 2.0) as f32);
    assert_eq!(rank("apple Apple"), (2.0 * of(8.0, 2.0)) as f32);
    assert_eq!(rank("pie"), of(1.0001, 1.0) as f32);
    assert_eq!(rank("nothing"), 0.0);
    let mut query = Query::new(&words(), CI, Mode::Boolean, b">apple <pie").unwrap();
    query.weigh(10, &[1, 1]);
    let rank = |text: &str| query.rank_of(&[text.as_bytes()]);
    assert_eq!(
        (rank("apple"), rank("pie"), rank("apple pie")),
        (2.0, 0.0, 2.0)
    );
}

#[test]
fn cut_searches_are_refused() {
    let query = Query::new(&words(), CI, Mode::Boolean, b"+(\"a pie\" @3 b*) -cake").unwrap();
    let bytes = query.bytes();
    assert_eq!(Query::of_bytes(&bytes).unwrap(), query);
    for n in 0..bytes.len() {
        assert_eq!(Query::of_bytes(&bytes[..n]).unwrap_err().code, 1033, "{n}");
    }
}

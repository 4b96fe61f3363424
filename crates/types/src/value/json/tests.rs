//! The binary form against a plain model of documents, and texts with MySQL's messages.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::decimal::Decimal;

/// A document as a tree.
#[derive(Clone, Debug, PartialEq)]
enum Model {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Double(f64),
    Decimal(i64, u8),
    String(String),
    Array(Vec<Model>),
    Object(BTreeMap<String, Model>),
}

impl Model {
    fn json(&self) -> Json<'static> {
        match self {
            Model::Null => View::Null.to_json(),
            Model::Bool(b) => View::Bool(*b).to_json(),
            Model::Int(n) => View::Int(*n).to_json(),
            Model::UInt(n) => View::UInt(*n).to_json(),
            Model::Double(n) => View::Double(*n).to_json(),
            Model::Decimal(n, scale) => {
                View::Decimal(Decimal::from_i128((*n).into(), *scale)).to_json()
            }
            Model::String(s) => View::String(s).to_json(),
            Model::Array(list) => array_of(&list.iter().map(Model::json).collect::<Vec<_>>()),
            Model::Object(members) => {
                let members: Vec<_> = members.iter().map(|(k, v)| (k, v.json())).collect();
                object_of(&members)
            }
        }
    }
    fn of(v: Ref<'_>) -> Model {
        match v.view() {
            View::Bool(b) => Model::Bool(b),
            View::Int(n) => Model::Int(n),
            View::UInt(n) => Model::UInt(n),
            View::Double(n) => Model::Double(n),
            View::Decimal(d) => {
                let scale = d.scale();
                let mut text = Vec::new();
                d.write(&mut text);
                text.retain(|b| *b != b'.');
                let digits = String::from_utf8(text).unwrap();
                Model::Decimal(digits.parse().unwrap(), scale)
            }
            View::String(s) => Model::String(s.to_string()),
            View::Array(a) => Model::Array(a.iter().map(Model::of).collect()),
            View::Object(o) => Model::Object(
                o.iter()
                    .map(|(k, v)| (k.to_string(), Model::of(v)))
                    .collect(),
            ),
            _ => Model::Null,
        }
    }
    /// The value set at a path, as MySQL's manual says of JSON_SET, JSON_INSERT and JSON_REPLACE.
    fn set(&mut self, legs: &[Leg], value: &Model, change: Change) {
        let (replaces, adds) = (change != Change::Insert, change != Change::Replace);
        let Some((leg, rest)) = legs.split_first() else {
            if replaces {
                *self = value.clone();
            }
            return;
        };
        match (leg, &mut *self) {
            (Leg::Member(key), Model::Object(members)) => match members.get_mut(key) {
                Some(v) => v.set(rest, value, change),
                None if rest.is_empty() && adds => {
                    members.insert(key.clone(), value.clone());
                }
                None => {}
            },
            (Leg::Member(_), _) => {}
            (Leg::Cell(cell), Model::Array(list)) => {
                let n = cell.n;
                let at = if cell.from_last {
                    list.len().checked_sub(1 + n)
                } else {
                    Some(n)
                };
                match at {
                    Some(at) if at < list.len() => list[at].set(rest, value, change),
                    _ if !rest.is_empty() || !adds => {}
                    None => list.insert(0, value.clone()),
                    Some(_) => list.push(value.clone()),
                }
            }
            (Leg::Cell(cell), own) if cell.n == 0 => own.set(rest, value, change),
            (Leg::Cell(cell), own) if rest.is_empty() && adds => {
                let mut list = vec![own.clone(), value.clone()];
                if cell.from_last {
                    list.reverse();
                }
                *own = Model::Array(list);
            }
            _ => {}
        }
    }
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof!["[abc]{1,2}", ".{0,3}"]
}

fn model() -> impl Strategy<Value = Model> {
    let scalar = prop_oneof![
        Just(Model::Null),
        any::<bool>().prop_map(Model::Bool),
        any::<i64>().prop_map(Model::Int),
        (-3i64..4).prop_map(Model::Int),
        (i64::MAX as u64..).prop_map(Model::UInt),
        (0u64..4).prop_map(Model::UInt),
        any::<f64>()
            .prop_filter("a number", |v| v.is_finite())
            .prop_map(Model::Double),
        (-30i32..40).prop_map(|n| Model::Double(f64::from(n) / 10.0)),
        (-300i64..400, 0u8..4).prop_map(|(n, scale)| Model::Decimal(n, scale)),
        ".{0,5}".prop_map(Model::String),
        "[ab]{0,2}".prop_map(Model::String),
    ];
    scalar.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Model::Array),
            prop::collection::btree_map(key(), inner, 0..5).prop_map(Model::Object),
        ]
    })
}

fn leg() -> impl Strategy<Value = Leg> {
    prop_oneof![
        "[abc]".prop_map(Leg::Member),
        (0usize..4, any::<bool>()).prop_map(|(n, from_last)| Leg::Cell(Cell { n, from_last })),
    ]
}

proptest! {
    #[test]
    fn documents_come_back(m in model()) {
        let json = m.json();
        prop_assert_eq!(Model::of(json.root()), m.clone());
        // Every part is a document by itself.
        if let (View::Object(o), Model::Object(members)) = (json.view(), &m) {
            prop_assert_eq!(o.len(), members.len());
            for (key, v) in members {
                let part = o.get(key).expect("a member").json().into_owned();
                prop_assert_eq!(&Model::of(part.root()), v);
            }
        }
    }

    #[test]
    fn texts_come_back(m in model()) {
        let json = m.json();
        let back = parse(&json.to_text()).unwrap();
        // A decimal's text is that of a double, a small unsigned integer's that of a signed one: equal numbers all.
        prop_assert_eq!(&back, &json);
        let mut pretty = Vec::new();
        json.root().write_pretty(&mut pretty);
        prop_assert_eq!(&parse(&pretty).unwrap(), &json);
    }

    #[test]
    fn keys_sort_as_values_do(a in model(), b in model()) {
        let (a, b) = (a.json(), b.json());
        let key = |j: &Json<'_>| {
            let mut key = Vec::new();
            sort_key(j.root(), &mut key);
            key
        };
        prop_assert_eq!(key(&a).cmp(&key(&b)), a.cmp(&b), "{:?} {:?}", a, b);
        prop_assert_eq!(a.cmp(&b), b.cmp(&a).reverse());
    }

    #[test]
    fn changes_are_the_models(m in model(), legs in prop::collection::vec(leg(), 0..4), v in model()) {
        for change in [Change::Set, Change::Insert, Change::Replace] {
            let (before, value) = (m.json(), v.json());
            let mut want = m.clone();
            want.set(&legs, &v, change);
            let got = set(before.root(), &legs, value.root(), change);
            prop_assert_eq!(Model::of(got.as_ref().unwrap_or(&before).root()), want);
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in ".{0,40}", json in "[\\[\\]{}:,\"a0-9.e+ -]{0,20}") {
        let _ = parse(text.as_bytes());
        if let Ok(json) = parse(json.as_bytes()) {
            prop_assert_eq!(parse(&json.to_text()).unwrap(), json);
        }
        let _ = Path::parse(&text);
    }
}

#[test]
fn wide_documents_have_their_members() {
    let long = "x".repeat(70_000);
    let members: Vec<(String, Json<'static>)> = (0..3000)
        .map(|n| (format!("k{n}"), View::Int(n).to_json()))
        .chain([("long".to_string(), View::String(&long).to_json())])
        .collect();
    let json = object_of(&members);
    let View::Object(o) = json.view() else {
        panic!("an object");
    };
    assert_eq!(o.len(), 3001);
    for (key, v) in &members {
        assert_eq!(o.get(key).unwrap().as_bytes(), v.as_bytes());
    }
    assert!(o.get("k3000").is_none());
}

#[test]
fn the_last_of_members_with_one_key_counts() {
    let json = parse(br#"{"b": 1, "aa": 2, "b": 3, "a": {"x": 1, "x": 2}}"#).unwrap();
    assert_eq!(json.to_text(), br#"{"a": {"x": 2}, "b": 3, "aa": 2}"#);
}

#[test]
fn messages_are_those_of_mysql() {
    for (text, what, at) in [
        ("", "The document is empty.", 0),
        ("[1", "Missing a comma or ] after an array element.", 2),
        ("{a: 1}", "Missing a name for object member.", 1),
        (
            "{\"a\" 1}",
            "Missing a colon after a name of object member.",
            5,
        ),
        (
            "{\"a\": 1",
            "Missing a comma or } after an object member.",
            7,
        ),
        ("hello", "Invalid value.", 0),
        (
            "1 2",
            "The document root must not be followed by other values.",
            2,
        ),
        ("1.", "Miss fraction part in number.", 2),
        ("1e", "Miss exponent in number.", 2),
        ("1e999", "Number too big to be stored in double.", 0),
        (
            "\"\\u12\"",
            "Incorrect hex digit after \\u escape in string.",
            1,
        ),
        ("\"\\ud800\"", "The surrogate pair in string is invalid.", 1),
    ] {
        assert_eq!(
            parse(text.as_bytes()).unwrap_err(),
            SyntaxError::At(what, at),
            "{text}"
        );
    }
    let nested = |n| format!("{}{}", "[".repeat(n), "]".repeat(n));
    assert_eq!(parse(nested(100).as_bytes()).unwrap().depth(), 100);
    assert_eq!(
        parse(nested(101).as_bytes()).unwrap_err(),
        SyntaxError::Deep
    );
}

#[test]
fn paths_select() {
    let json = parse(br#"{"a": [1, {"b": 2}, [3, 4]], "b": {"a b": 5}}"#).unwrap();
    for (path, want) in [
        ("$", r#"{"a": [1, {"b": 2}, [3, 4]], "b": {"a b": 5}}"#),
        ("$.a[0]", "1"),
        (" $ . a [ 1 ] . b ", "2"),
        ("$.a[last][last-1]", "3"),
        ("$.b.\"a b\"", "5"),
        ("$.a[*]", r#"1 {"b": 2} [3, 4]"#),
        ("$.a[1 to last]", r#"{"b": 2} [3, 4]"#),
        ("$**.b", r#"{"a b": 5} 2"#),
        ("$.*.*", "5"),
        ("$.a[7]", ""),
        ("$[0].b[0][last].\"a b\"", "5"),
    ] {
        let found = Path::parse(path).unwrap().select(json.root());
        let texts = found
            .iter()
            .map(|v| String::from_utf8(v.json().to_text()).unwrap());
        assert_eq!(texts.collect::<Vec<_>>().join(" "), want, "{path}");
    }
    for (path, at) in [
        ("a", 1),
        ("$a", 1),
        ("$.", 2),
        ("$.a-b", 5),
        ("$[", 2),
        ("$**", 3),
        ("$[2 to 1]", 8),
    ] {
        assert_eq!(Path::parse(path), Err(PathError(at)), "{path}");
    }
}

//! Two documents made one, and what one has of the other.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::binary::{Array, Object, put_array};
use super::{Json, Ref, View, compare, object_of};

/// Members of both objects by key; those that both have as `both` makes them.
fn joined<'a>(
    a: Object<'a>,
    b: Object<'a>,
    both: impl Fn(Option<Ref<'a>>, Ref<'a>) -> Option<Json<'a>>,
) -> Json<'static> {
    let mut members: BTreeMap<&str, Json<'a>> = a.iter().map(|(key, v)| (key, v.json())).collect();
    for (key, v) in b.iter() {
        match both(a.get(key), v) {
            Some(v) => members.insert(key, v),
            None => members.remove(key),
        };
    }
    let members: Vec<_> = members.into_iter().collect();
    object_of(&members)
}

fn values<'a>(v: Ref<'a>) -> Vec<&'a [u8]> {
    match v.view() {
        View::Array(a) => a.iter().map(Ref::as_bytes).collect(),
        _ => vec![v.as_bytes()],
    }
}

/// Arrays one behind the other, objects with the members of both, merged where both have them; what is neither is an array of
/// itself: JSON_MERGE_PRESERVE().
pub fn merge_preserve<'a>(a: Ref<'a>, b: Ref<'a>) -> Json<'static> {
    if let (View::Object(a), View::Object(b)) = (a.view(), b.view()) {
        return joined(a, b, |a, b| {
            Some(match a {
                Some(a) => merge_preserve(a, b),
                None => b.json(),
            })
        });
    }
    let mut all = values(a);
    all.extend(values(b));
    let mut out = Vec::new();
    put_array(all.iter().copied(), &mut out);
    Json(Cow::Owned(out))
}

/// The second, but for objects: the first with the members of the second, without those that are null there: JSON_MERGE_PATCH(),
/// RFC 7396.
pub fn merge_patch<'a>(a: Ref<'a>, b: Ref<'a>) -> Json<'a> {
    let View::Object(patch) = b.view() else {
        return b.json();
    };
    let nothing = object_of::<&str>(&[]);
    match a.view() {
        View::Object(a) => patched(a, patch),
        _ => match nothing.view() {
            View::Object(none) => patched(none, patch).into_owned(),
            _ => b.json(),
        },
    }
}

fn patched(a: Object<'_>, patch: Object<'_>) -> Json<'static> {
    joined(a, patch, |a, b| match (a, b.view()) {
        (_, View::Null) => None,
        (Some(a), _) => Some(merge_patch(a, b)),
        // Nulls within a member that comes with the patch go too.
        (None, View::Object(_)) => Some(merge_patch(b_as_nothing(), b)),
        (None, _) => Some(b.json()),
    })
}

/// The value null, which a patch that is an object replaces.
fn b_as_nothing() -> Ref<'static> {
    Ref(&[0])
}

fn is_number(v: &View<'_>) -> bool {
    matches!(
        v,
        View::Int(_) | View::UInt(_) | View::Double(_) | View::Decimal(_)
    )
}

/// Whether a value has all of another in it: JSON_CONTAINS().
pub fn contains(target: Ref<'_>, candidate: Ref<'_>) -> bool {
    match (target.view(), candidate.view()) {
        (View::Object(t), View::Object(c)) => c
            .iter()
            .all(|(key, v)| t.get(key).is_some_and(|own| contains(own, v))),
        (View::Array(t), View::Array(c)) => c.iter().all(|v| has(t, v)),
        (View::Array(t), _) => has(t, candidate),
        (View::Object(_), _) | (_, View::Object(_) | View::Array(_)) => false,
        (t, c) => {
            let alike = t.type_name() == c.type_name() || is_number(&t) && is_number(&c);
            alike && compare(target, candidate).is_eq()
        }
    }
}

fn has(array: Array<'_>, candidate: Ref<'_>) -> bool {
    array.iter().any(|own| contains(own, candidate))
}

/// Whether two values have something in common: JSON_OVERLAPS().
pub fn overlaps(a: Ref<'_>, b: Ref<'_>) -> bool {
    match (a.view(), b.view()) {
        (View::Object(x), View::Object(y)) => x
            .iter()
            .any(|(key, v)| y.get(key).is_some_and(|other| compare(v, other).is_eq())),
        (View::Array(x), View::Array(y)) => {
            let mut sorted: Vec<Ref<'_>> = y.iter().collect();
            sorted.sort_by(|a, b| compare(*a, *b));
            let is_in = |v| sorted.binary_search_by(|own| compare(*own, v)).is_ok();
            x.iter().any(is_in)
        }
        (View::Array(x), _) => x.iter().any(|v| compare(v, b).is_eq()),
        (_, View::Array(y)) => y.iter().any(|v| compare(v, a).is_eq()),
        _ => compare(a, b).is_eq(),
    }
}

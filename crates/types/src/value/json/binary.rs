//! The binary form, read in place and written. The form is drawn in the header of [`super`].

use std::borrow::Cow;
use std::cmp::Ordering;

use super::Json;
use crate::value::{Date, DateTime, Decimal, Time};

const NULL: u8 = 0;
const FALSE: u8 = 1;
const TRUE: u8 = 2;
const INT: u8 = 3;
const UINT: u8 = 4;
const DOUBLE: u8 = 5;
const DECIMAL: u8 = 6;
const STRING: u8 = 7;
const DATE: u8 = 8;
const TIME: u8 = 9;
const DATETIME: u8 = 10;
const OPAQUE: u8 = 11;
const ARRAY: u8 = 12;
const OBJECT: u8 = 13;
/// What makes of an array or object one with numbers of 32 bits.
const WIDE: u8 = 2;

/// A value as it is read in place.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub enum View<'a> {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Double(f64),
    Decimal(Decimal),
    String(&'a str),
    Date(Date),
    Time(Time),
    DateTime(DateTime),
    /// Bytes of a MySQL type by its number in the protocol.
    Opaque(u8, &'a [u8]),
    Array(Array<'a>),
    Object(Object<'a>),
}

/// A value within a document: its bytes.
#[derive(Clone, Copy, Debug)]
pub struct Ref<'a>(pub(super) &'a [u8]);

impl<'a> Ref<'a> {
    /// What it is.
    #[inline]
    pub fn view(self) -> View<'a> {
        View::of(self.0)
    }
    /// Its binary form.
    pub fn as_bytes(self) -> &'a [u8] {
        self.0
    }
    /// The value as a document by itself.
    pub fn json(self) -> Json<'a> {
        Json(Cow::Borrowed(self.0))
    }
}

/// The values of an array.
#[derive(Clone, Copy, Debug)]
pub struct Array<'a>(Container<'a>);

/// The members of an object, in the order of their keys.
#[derive(Clone, Copy, Debug)]
pub struct Object<'a>(Container<'a>);

/// Bytes from an array's or object's tag on.
#[derive(Clone, Copy, Debug)]
struct Container<'a> {
    bytes: &'a [u8],
    /// Bytes of a number.
    width: usize,
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&bytes[at..at + N]);
    out
}

impl<'a> Container<'a> {
    fn new(bytes: &'a [u8], narrow: u8) -> Container<'a> {
        let width = if bytes[0] == narrow { 2 } else { 4 };
        Container { bytes, width }
    }
    /// The n-th number behind the tag.
    fn number(&self, n: usize) -> usize {
        let at = 1 + n * self.width;
        match self.width {
            2 => u16::from_le_bytes(array(self.bytes, at)).into(),
            _ => u32::from_le_bytes(array(self.bytes, at)) as usize,
        }
    }
    fn count(&self) -> usize {
        self.number(0)
    }
    fn size(&self) -> usize {
        self.number(1)
    }
    fn value(&self, at: usize) -> Ref<'a> {
        let bytes = &self.bytes[at..];
        Ref(&bytes[..length(bytes)])
    }
}

impl<'a> Array<'a> {
    /// How many values.
    pub fn len(&self) -> usize {
        self.0.count()
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// One of them.
    pub fn get(&self, n: usize) -> Option<Ref<'a>> {
        (n < self.len()).then(|| self.0.value(self.0.number(2 + n)))
    }
    /// All of them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Ref<'a>> + use<'a> {
        let own = self.0;
        (0..own.count()).map(move |n| own.value(own.number(2 + n)))
    }
}

impl<'a> Object<'a> {
    /// How many members.
    pub fn len(&self) -> usize {
        self.0.count()
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    fn key(&self, n: usize) -> &'a str {
        let at = self.0.number(2 + 3 * n);
        utf8(&self.0.bytes[at..at + self.0.number(3 + 3 * n)])
    }
    /// The value of a member.
    pub fn get(&self, key: &str) -> Option<Ref<'a>> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            match order_keys(self.key(middle), key) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => {
                    return Some(self.0.value(self.0.number(4 + 3 * middle)));
                }
            }
        }
        None
    }
    /// All members.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&'a str, Ref<'a>)> + use<'a> {
        let own = *self;
        (0..own.len()).map(move |n| (own.key(n), own.0.value(own.0.number(4 + 3 * n))))
    }
}

/// The order of keys: the shorter first, those of one length by their bytes.
pub fn order_keys(a: &str, b: &str) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

/// Texts are UTF-8 when they are written.
fn utf8(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}

/// Bytes of the value that begins here.
fn length(bytes: &[u8]) -> usize {
    let counted = |at: usize| at + 4 + u32::from_le_bytes(array(bytes, at)) as usize;
    match bytes[0] {
        INT | UINT | DOUBLE | TIME => 9,
        DECIMAL => 3 + usize::from(bytes[2]),
        STRING => counted(1),
        DATE => 5,
        DATETIME => 13,
        OPAQUE => counted(2),
        ARRAY | OBJECT => Container { bytes, width: 2 }.size(),
        NULL | FALSE | TRUE => 1,
        _ => Container { bytes, width: 4 }.size(),
    }
}

impl<'a> View<'a> {
    /// Of a binary form.
    pub(super) fn of(bytes: &'a [u8]) -> View<'a> {
        match bytes.first().copied().unwrap_or(NULL) {
            FALSE => View::Bool(false),
            TRUE => View::Bool(true),
            INT => View::Int(i64::from_le_bytes(array(bytes, 1))),
            UINT => View::UInt(u64::from_le_bytes(array(bytes, 1))),
            DOUBLE => View::Double(f64::from_le_bytes(array(bytes, 1))),
            DECIMAL => View::Decimal(Decimal::decode(
                &bytes[3..3 + usize::from(bytes[2])],
                bytes[1],
            )),
            STRING => View::String(utf8(&bytes[5..length(bytes)])),
            DATE => View::Date(Date::unpack(u32::from_le_bytes(array(bytes, 1)))),
            TIME => View::Time(Time {
                micros: i64::from_le_bytes(array(bytes, 1)),
            }),
            DATETIME => View::DateTime(DateTime::unpack(
                u64::from_le_bytes(array(bytes, 1)),
                u32::from_le_bytes(array(bytes, 9)),
            )),
            OPAQUE => View::Opaque(bytes[1], &bytes[6..length(bytes)]),
            tag if tag == ARRAY || tag == ARRAY + WIDE => {
                View::Array(Array(Container::new(bytes, ARRAY)))
            }
            tag if tag == OBJECT || tag == OBJECT + WIDE => {
                View::Object(Object(Container::new(bytes, OBJECT)))
            }
            _ => View::Null,
        }
    }

    /// Whether it is neither an array nor an object.
    pub fn is_scalar(&self) -> bool {
        !matches!(self, View::Array(_) | View::Object(_))
    }

    pub(super) fn depth(&self) -> usize {
        let deepest = match self {
            View::Array(a) => a.iter().map(|v| v.view().depth()).max(),
            View::Object(o) => o.iter().map(|(_, v)| v.view().depth()).max(),
            _ => None,
        };
        1 + deepest.unwrap_or(0)
    }

    /// Appends the binary form.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match self {
            View::Null => out.push(NULL),
            View::Bool(b) => out.push(if *b { TRUE } else { FALSE }),
            View::Int(n) => tagged(INT, &n.to_le_bytes(), out),
            View::UInt(n) => tagged(UINT, &n.to_le_bytes(), out),
            View::Double(n) => tagged(DOUBLE, &n.to_le_bytes(), out),
            View::Decimal(d) => {
                let len = Decimal::encoded_len(d.precision());
                out.extend_from_slice(&[DECIMAL, d.scale(), len as u8]);
                d.encode(len, out);
            }
            View::String(s) => {
                tagged(STRING, &(s.len() as u32).to_le_bytes(), out);
                out.extend_from_slice(s.as_bytes());
            }
            View::Date(d) => tagged(DATE, &d.pack().to_le_bytes(), out),
            View::Time(t) => tagged(TIME, &t.micros.to_le_bytes(), out),
            View::DateTime(d) => {
                tagged(DATETIME, &d.pack().to_le_bytes(), out);
                out.extend_from_slice(&d.micro.to_le_bytes());
            }
            View::Opaque(ty, b) => {
                tagged(OPAQUE, &[*ty], out);
                out.extend_from_slice(&(b.len() as u32).to_le_bytes());
                out.extend_from_slice(b);
            }
            View::Array(Array(c)) | View::Object(Object(c)) => {
                out.extend_from_slice(&c.bytes[..c.size()]);
            }
        }
    }

    /// The value itself.
    pub fn to_json(&self) -> Json<'static> {
        let mut out = Vec::new();
        self.write(&mut out);
        Json(Cow::Owned(out))
    }
}

fn tagged(tag: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    out.extend_from_slice(bytes);
}

/// Whether a value of `count` members, as many numbers more for each, and so many bytes beside them is written wide.
fn width_for(numbers: usize, beside: usize) -> usize {
    if 1 + 2 * numbers + beside <= usize::from(u16::MAX) {
        2
    } else {
        4
    }
}

fn put_number(n: usize, width: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&(n as u32).to_le_bytes()[..width]);
}

/// Appends an array of values in their binary form.
pub(super) fn put_array<'v>(
    values: impl ExactSizeIterator<Item = &'v [u8]> + Clone,
    out: &mut Vec<u8>,
) {
    let count = values.len();
    let total: usize = values.clone().map(<[u8]>::len).sum();
    let width = width_for(2 + count, total);
    let head = 1 + (2 + count) * width;
    out.reserve(head + total);
    out.push(if width == 2 { ARRAY } else { ARRAY + WIDE });
    put_number(count, width, out);
    put_number(head + total, width, out);
    let mut at = head;
    for v in values.clone() {
        put_number(at, width, out);
        at += v.len();
    }
    values.for_each(|v| out.extend_from_slice(v));
}

/// Appends an object. The members are in the order of their keys, each there once.
pub(super) fn put_object<'v>(
    members: impl ExactSizeIterator<Item = (&'v str, &'v [u8])> + Clone,
    out: &mut Vec<u8>,
) {
    let count = members.len();
    let keys: usize = members.clone().map(|m| m.0.len()).sum();
    let values: usize = members.clone().map(|m| m.1.len()).sum();
    let width = width_for(2 + 3 * count, keys + values);
    let head = 1 + (2 + 3 * count) * width;
    let total = head + keys + values;
    out.reserve(total);
    out.push(if width == 2 { OBJECT } else { OBJECT + WIDE });
    put_number(count, width, out);
    put_number(total, width, out);
    let (mut key, mut value) = (head, head + keys);
    for (name, v) in members.clone() {
        put_number(key, width, out);
        put_number(name.len(), width, out);
        put_number(value, width, out);
        key += name.len();
        value += v.len();
    }
    members
        .clone()
        .for_each(|m| out.extend_from_slice(m.0.as_bytes()));
    members.for_each(|m| out.extend_from_slice(m.1));
}

/// An array of values.
pub fn array_of(values: &[Json<'_>]) -> Json<'static> {
    let mut out = Vec::new();
    put_array(values.iter().map(Json::as_bytes), &mut out);
    Json(Cow::Owned(out))
}

/// An object of members in any order; of those with one key the last counts.
pub fn object_of<K: AsRef<str>>(members: &[(K, Json<'_>)]) -> Json<'static> {
    let all = members.iter().map(|(k, v)| (k.as_ref(), v.as_bytes()));
    let sorted = in_order(all.collect());
    let mut out = Vec::new();
    put_object(sorted.iter().copied(), &mut out);
    Json(Cow::Owned(out))
}

/// Members in the order of their keys; of those with one key the last.
pub(super) fn in_order<V: Copy>(mut members: Vec<(&str, V)>) -> Vec<(&str, V)> {
    members.sort_by(|a, b| order_keys(a.0, b.0));
    let mut kept: Vec<(&str, V)> = Vec::with_capacity(members.len());
    for member in members {
        match kept.last_mut() {
            Some(last) if last.0 == member.0 => *last = member,
            _ => kept.push(member),
        }
    }
    kept
}

//! Keys of one row in an index that has any number of entries for it.

/// Keys of a row's entries, in one buffer: ascending, no two alike, once [`Keys::sort`] was called.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    bytes: Vec<u8>,
    /// Where each begins and ends.
    spans: Vec<(usize, usize)>,
}

impl Keys {
    /// Forgets all.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.spans.clear();
    }
    /// Adds a key that `put` appends to the bytes it is given.
    pub fn add(&mut self, put: impl FnOnce(&mut Vec<u8>)) {
        let from = self.bytes.len();
        put(&mut self.bytes);
        self.spans.push((from, self.bytes.len()));
    }
    /// Puts them in order and leaves out repetitions.
    pub fn sort(&mut self) {
        let bytes = &self.bytes;
        let key = |s: &(usize, usize)| &bytes[s.0..s.1];
        self.spans.sort_unstable_by(|a, b| key(a).cmp(key(b)));
        self.spans.dedup_by(|a, b| key(a) == key(b));
    }
    /// The keys in their order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.spans.iter().map(|s| &self.bytes[s.0..s.1])
    }
    /// How many there are.
    pub fn len(&self) -> usize {
        self.spans.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }
    /// Whether a key is among them, which are in order.
    pub fn contains(&self, key: &[u8]) -> bool {
        let found = self
            .spans
            .binary_search_by(|s| self.bytes[s.0..s.1].cmp(key));
        found.is_ok()
    }
    /// Of two rows' keys, those that the first has alone and those that the second has alone, both in order.
    pub(crate) fn differences<'k>(old: &'k Keys, new: &'k Keys, mut f: impl FnMut(bool, &'k [u8])) {
        let (mut was, mut is) = (old.iter().peekable(), new.iter().peekable());
        loop {
            let order = match (was.peek(), is.peek()) {
                (None, None) => return,
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (Some(a), Some(b)) => a.cmp(b),
            };
            let gone = order.is_le().then(|| was.next()).flatten();
            let come = order.is_ge().then(|| is.next()).flatten();
            match (gone, come) {
                (Some(key), None) => f(false, key),
                (None, Some(key)) => f(true, key),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(list: &[&str]) -> Keys {
        let mut keys = Keys::default();
        for k in list {
            keys.add(|out| out.extend_from_slice(k.as_bytes()));
        }
        keys.sort();
        keys
    }

    #[test]
    fn each_key_once_in_order() {
        let k = keys(&["b", "a", "", "b"]);
        assert_eq!(k.iter().collect::<Vec<_>>(), [&b""[..], b"a", b"b"]);
        assert!(k.contains(b"a") && !k.contains(b"c"));
    }

    #[test]
    fn what_differs() {
        let (old, new) = (keys(&["a", "b", "d"]), keys(&["b", "c", "d", "e"]));
        let mut found = Vec::new();
        Keys::differences(&old, &new, |new, key| found.push((new, key)));
        assert_eq!(found, [(false, &b"a"[..]), (true, b"c"), (true, b"e")]);
    }
}

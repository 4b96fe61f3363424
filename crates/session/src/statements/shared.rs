//! The statements that the sessions of an instance share, by text.
//!
//! A statement is kept when its text is offered for the second time, by whichever session, so that texts with literals
//! that never recur cost a hash and nothing else. Each part of the cache has a mutex of its own, a leaf: nothing is called
//! while it is held but comparisons. Sessions come here only for what they do not hold themselves.

use hashbrown::HashMap;
use parking_lot::Mutex;
use std::hash::BuildHasher;
use std::sync::Arc;

use super::cache::{Context, Parsed};

/// Parts of the cache.
const PARTS: usize = 16;
/// Statements kept per part.
const ENTRIES: usize = 64;
/// Longest text kept, bytes.
pub(crate) const MAX_TEXT: usize = 8 << 10;
/// Texts remembered as seen once, per part.
const SEEN: usize = 256;

struct Entry {
    used: u64,
    context: Arc<Context>,
    source: Arc<str>,
    parsed: Arc<Parsed>,
}

struct Part {
    entries: HashMap<u64, Entry>,
    seen: Box<[u64]>,
    tick: u64,
}

/// An instance's statements by text and context.
pub(crate) struct SharedCache {
    hasher: hashbrown::DefaultHashBuilder,
    parts: [Mutex<Part>; PARTS],
}

impl SharedCache {
    pub fn new() -> SharedCache {
        SharedCache {
            hasher: hashbrown::DefaultHashBuilder::default(),
            parts: std::array::from_fn(|_| {
                Mutex::new(Part {
                    entries: HashMap::new(),
                    seen: vec![0; SEEN].into(),
                    tick: 0,
                })
            }),
        }
    }
    /// The key of a context for [`SharedCache::key`].
    pub fn context_key(&self, context: &Context) -> u64 {
        self.hasher.hash_one(context)
    }
    /// A text's key in a context.
    #[inline]
    pub fn key(&self, text: &str, context_key: u64) -> u64 {
        self.hasher.hash_one(text) ^ context_key
    }
    fn part(&self, key: u64) -> &Mutex<Part> {
        &self.parts[(key >> 32) as usize % PARTS]
    }
    /// The statement kept for this text, with the text.
    pub fn get(
        &self,
        key: u64,
        text: &str,
        context: &Arc<Context>,
    ) -> Option<(Arc<str>, Arc<Parsed>)> {
        let mut part = self.part(key).lock();
        part.tick += 1;
        let tick = part.tick;
        let e = part.entries.get_mut(&key)?;
        if *e.source != *text || e.context != *context {
            return None;
        }
        e.used = tick;
        Some((e.source.clone(), e.parsed.clone()))
    }
    /// Offers a statement; it is kept if its text was offered before. Returns the text if so.
    pub fn offer(
        &self,
        key: u64,
        text: &str,
        context: &Arc<Context>,
        parsed: &Arc<Parsed>,
    ) -> Option<Arc<str>> {
        if text.len() > MAX_TEXT {
            return None;
        }
        let mut part = self.part(key).lock();
        let part = &mut *part;
        let slot = &mut part.seen[key as usize % SEEN];
        if *slot != key {
            *slot = key;
            return None;
        }
        let source: Arc<str> = if *parsed.text == *text {
            parsed.text.clone()
        } else {
            text.into()
        };
        if part.entries.len() >= ENTRIES && !part.entries.contains_key(&key) {
            let oldest = part.entries.iter().min_by_key(|(_, e)| e.used);
            if let Some(&oldest) = oldest.map(|(k, _)| k) {
                part.entries.remove(&oldest);
            }
        }
        part.tick += 1;
        part.entries.insert(
            key,
            Entry {
                used: part.tick,
                context: context.clone(),
                source: source.clone(),
                parsed: parsed.clone(),
            },
        );
        Some(source)
    }
}

#[cfg(test)]
mod tests {
    use super::super::cache::tests::{compiled, context};
    use super::*;

    #[test]
    fn keeps_texts_offered_twice_and_drops_the_longest_unused() {
        let cache = SharedCache::new();
        let a = context("a");
        // All of one part.
        let key = |i: usize| i as u64;
        let text = |i: usize| format!("select {i}");
        let offer = |i: usize| {
            cache
                .offer(key(i), &text(i), &a, compiled(&text(i)).parsed())
                .is_some()
        };
        let has = |i: usize| cache.get(key(i), &text(i), &a).is_some();
        for i in 1..=ENTRIES {
            assert!(!offer(i) && !has(i));
            assert!(offer(i) && has(i) && has(1));
        }
        offer(ENTRIES + 1);
        offer(ENTRIES + 1);
        assert!(has(1) && has(ENTRIES + 1) && !has(2));
    }

    #[test]
    fn a_key_alone_is_no_match() {
        let cache = SharedCache::new();
        let a = context("a");
        let c = compiled("select 1");
        for _ in 0..2 {
            cache.offer(7, "select 1", &a, c.parsed());
        }
        assert!(cache.get(7, "select 1", &a).is_some());
        assert!(cache.get(7, "select 2", &a).is_none());
        assert!(cache.get(7, "select 1", &context("b")).is_none());
    }
}

//! Compiled statements, and each session's cache of them by text.
//!
//! A text is compiled once more and kept when it is seen for the second time, so that texts with literals that never
//! recur cost a hash and nothing else. A kept statement serves as long as the database and the
//! settings that planning depends on ([`Session`](super::Session)'s epoch) are the same; whether its tables still
//! are is found out when it runs.

use parking_lot::Mutex;
use std::hash::BuildHasher;
use std::sync::Arc;

use super::counters::Counter;
use crate::parse::{Kind, Statement};
use crate::plan::Plan;
use crate::stack;
use crate::watch::{self, StatementKind};

/// Statements kept per session.
const ENTRIES: usize = 32;
/// Longest text kept, bytes.
const MAX_TEXT: usize = 8 << 10;
/// Texts remembered as seen once.
const SEEN: usize = 128;

/// A parsed statement, and its plan once it has one.
pub(crate) struct Compiled {
    pub statement: Statement,
    /// Text as the process list shows it.
    pub text: Arc<str>,
    pub counter: Option<Counter>,
    pub kind: StatementKind,
    plan: Mutex<Option<Kept>>,
}

struct Kept {
    plan: Arc<Plan>,
    epoch: u64,
    database: Option<String>,
}

impl Compiled {
    pub fn new(statement: Statement, text: Arc<str>) -> Compiled {
        Compiled {
            counter: super::dispatch::counter(&statement.kind),
            kind: watch::kind_of(&statement.kind),
            statement,
            text,
            plan: Mutex::new(None),
        }
    }
    /// The plan, if it still serves.
    #[inline]
    pub fn plan(&self, epoch: u64, database: &Option<String>) -> Option<Arc<Plan>> {
        match &*self.plan.lock() {
            Some(k) if k.epoch == epoch && k.database == *database => Some(k.plan.clone()),
            _ => None,
        }
    }
    /// Whether it may stand for all statements that differ from it in their literals only; it may until a plan
    /// says otherwise.
    pub fn is_general(&self) -> bool {
        self.plan
            .lock()
            .as_ref()
            .is_none_or(|k| k.plan.is_settled())
    }
    /// Keeps a plan, unless it says that it must not be kept.
    pub fn keep(&self, plan: &Arc<Plan>, epoch: u64, database: &Option<String>) {
        *self.plan.lock() = plan.reusable.then(|| Kept {
            plan: plan.clone(),
            epoch,
            database: database.clone(),
        });
    }
    /// Forgets the plan.
    pub fn forget(&self) {
        *self.plan.lock() = None;
    }
}

impl Drop for Compiled {
    fn drop(&mut self) {
        let run = self.statement.run;
        if stack::is_deep(run) {
            let kind = std::mem::replace(&mut self.statement.kind, Kind::Empty);
            let plan = self.plan.get_mut().take();
            stack::with_room(run, || drop((kind, plan)));
        }
    }
}

struct Entry {
    hash: u64,
    used: u64,
    epoch: u64,
    compiled: Arc<Compiled>,
    source: Box<str>,
}

/// A session's statements by text.
pub(crate) struct Cache {
    hasher: hashbrown::DefaultHashBuilder,
    entries: Vec<Entry>,
    seen: Vec<u64>,
    tick: u64,
}

impl Cache {
    pub fn new() -> Cache {
        Cache {
            hasher: hashbrown::DefaultHashBuilder::default(),
            entries: Vec::new(),
            seen: Vec::new(),
            tick: 0,
        }
    }
    /// The text's key for the calls below.
    pub fn hash(&self, text: &str) -> u64 {
        self.hasher.hash_one(text)
    }
    /// The statement kept for this text.
    pub fn get(&mut self, hash: u64, text: &str, epoch: u64) -> Option<Arc<Compiled>> {
        self.tick += 1;
        let tick = self.tick;
        self.entries
            .iter_mut()
            .find(|e| e.hash == hash && e.epoch == epoch && *e.source == *text)
            .map(|e| {
                e.used = tick;
                e.compiled.clone()
            })
    }
    /// Offers a statement; it is kept if its text was offered before.
    pub fn offer(&mut self, hash: u64, text: &str, epoch: u64, compiled: &Arc<Compiled>) {
        if text.len() > MAX_TEXT {
            return;
        }
        if self.seen.is_empty() {
            self.seen = vec![0; SEEN];
        }
        let slot = &mut self.seen[hash as usize % SEEN];
        if *slot != hash {
            *slot = hash;
            return;
        }
        let entry = Entry {
            hash,
            used: self.tick,
            epoch,
            compiled: compiled.clone(),
            source: text.into(),
        };
        // A text whose settings changed replaces itself, else the longest unused goes.
        let victim = match self.entries.iter().position(|e| e.hash == hash) {
            Some(i) => Some(i),
            None if self.entries.len() < ENTRIES => None,
            None => (0..self.entries.len()).min_by_key(|i| self.entries[*i].used),
        };
        match victim {
            Some(i) => self.entries[i] = entry,
            None => self.entries.push(entry),
        }
    }
    /// Forgets everything.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.seen.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compiled(text: &str) -> Arc<Compiled> {
        let statement = Statement {
            kind: Kind::Empty,
            params: 0,
            text: text.into(),
            ignore: false,
            into: Vec::new(),
            headings: Vec::new(),
            run: 0,
        };
        Arc::new(Compiled::new(statement, text.into()))
    }

    #[test]
    fn keeps_texts_seen_twice_and_drops_the_longest_unused() {
        let mut cache = Cache::new();
        let text = |i: usize| format!("select {i}");
        let offer = |cache: &mut Cache, i: usize| {
            let h = cache.hash(&text(i));
            cache.offer(h, &text(i), 0, &compiled(&text(i)));
        };
        let has = |cache: &mut Cache, i: usize, epoch| {
            let h = cache.hash(&text(i));
            cache.get(h, &text(i), epoch).is_some()
        };
        offer(&mut cache, 0);
        assert!(!has(&mut cache, 0, 0));
        offer(&mut cache, 0);
        assert!(has(&mut cache, 0, 0));
        assert!(!has(&mut cache, 0, 1));
        for i in 1..ENTRIES + 1 {
            offer(&mut cache, i);
            offer(&mut cache, i);
            assert!(i == ENTRIES || has(&mut cache, 0, 0));
        }
        assert!(has(&mut cache, ENTRIES, 0));
        assert!(has(&mut cache, 0, 0));
        assert!(!has(&mut cache, 1, 0));
        assert_eq!(cache.entries.len(), ENTRIES);
    }
}

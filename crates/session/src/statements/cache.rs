//! Compiled statements, and each session's cache of them by text.
//!
//! What a text was compiled to has two parts. [`Parsed`], the syntax tree and the plan, is shared by all sessions of an
//! instance ([`super::shared`]). [`Compiled`] is a session's own hold on it, with the plan it ran last: running
//! it again touches nothing that other sessions touch. Where the best plan depends on a statement's literals, a few are kept, each for
//! values of its kind ([`millpond_sql::planner::holds`]). A kept plan serves as long as the session's
//! [`Context`] is the one it was made in; whether its tables still are is found out when it runs.

use parking_lot::Mutex;
use std::any::Any;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use super::kinds::{self, Row};
use super::masked;
use crate::digests::Tally;
use millpond_sql::env::SqlMode;
use millpond_sql::error::SqlResult;
use millpond_sql::parse::ast::{StatementKind, TransactionStatement};
use millpond_sql::parse::{Statement, lex_mode};
use millpond_sql::plan::Plan;
use millpond_sql::stack;
use millpond_sql::switches::Switches;
use millpond_sql::types::{Collation, Encoding};
use millpond_sql::value::Zone;

/// Statements a session holds on to.
const ENTRIES: usize = 32;
/// Plans kept of a statement, for values of different kinds.
const PLANS: usize = 4;

/// What the meaning of a text depends on, besides the text: all that parsing and planning ask of a session.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Context {
    /// Current database.
    pub database: Option<String>,
    /// sql_mode, all bits.
    pub mode: u64,
    /// `collation_connection`.
    pub collation: Collation,
    /// What the client's bytes mean, where a text becomes bytes.
    pub client: Encoding,
    /// The session's time zone.
    pub zone: Zone,
    /// `optimizer_switch`.
    pub switches: Switches,
    /// `div_precision_increment`.
    pub div_increment: u8,
    /// How many FLUSH TABLES there had been when the session last looked.
    pub flushes: u64,
    /// If the session has temporary tables: which, by the connection's id and the number of changes of their names. So no two sessions
    /// have the same, and one without any has the same as all others.
    pub temporary: Option<(u32, u64)>,
}

impl Context {
    /// Whether another session may be in the same.
    #[inline]
    pub fn is_common(&self) -> bool {
        self.temporary.is_none()
    }
}

/// A parsed statement, and its plan once it has one. Belongs to no session.
pub(crate) struct Parsed {
    pub statement: Statement,
    /// Text as the process list shows it.
    pub text: Arc<str>,
    /// What is done about its kind.
    pub row: Row,
    /// Whether passwords may be in it, which nobody keeps.
    pub is_secret: bool,
    /// Where its executions are counted, in the schema that it ran in first; the second is for an INSERT of one row that runs for each of
    /// several, which has another digest.
    tallies: [OnceLock<Arc<Tally>>; 2],
    /// Made by any session, the latest first.
    plans: Mutex<Vec<Kept>>,
}

/// A plan and where it holds.
#[derive(Clone)]
pub(crate) struct Kept {
    pub plan: Arc<Plan>,
    pub context: Arc<Context>,
    /// The triggers of the tables that it writes to, if there are any; what they are is the business of whoever runs them.
    pub triggers: Option<Arc<dyn Any + Send + Sync>>,
    /// Whose privileges it has been found to need no more than ([`crate::accounts::access::Access::number`]).
    pub checked: u64,
}

impl Parsed {
    /// Error 1235 if statements of its kind are not run. `mode`: the one that it was parsed in.
    pub fn new(statement: Statement, text: Arc<str>, mode: SqlMode) -> SqlResult<Parsed> {
        let is_secret = masked::is_secret(statement.kind(), &text);
        Ok(Parsed {
            row: kinds::row(statement.kind())?,
            is_secret,
            text: match is_secret {
                true => masked::masked(statement.kind(), &text, lex_mode(mode)),
                false => text,
            },
            statement,
            tallies: Default::default(),
            plans: Mutex::default(),
        })
    }
}

impl Parsed {
    /// Where an execution with so many values is counted, if it is known.
    #[inline]
    pub fn tally(&self, values: usize) -> &OnceLock<Arc<Tally>> {
        &self.tallies[usize::from(values > self.statement.params)]
    }
}

impl Drop for Parsed {
    fn drop(&mut self) {
        let run = self.statement.run;
        if stack::is_deep(run) {
            // Something of no depth in its place.
            let begin = StatementKind::Transaction(Box::new(TransactionStatement::Begin));
            let kind = std::mem::replace(&mut self.statement.tree.kind, begin);
            let plans = std::mem::take(self.plans.get_mut());
            stack::with_room(run, || drop((kind, plans)));
        }
    }
}

/// A session's hold on a parsed statement.
pub(crate) struct Compiled {
    parsed: Arc<Parsed>,
    /// Whether plans are made for the values at hand and others like them, not for whatever may come.
    pub peeks: bool,
    /// The plan that ran last; out of here while it runs.
    plan: Mutex<Option<Kept>>,
}

impl Deref for Compiled {
    type Target = Parsed;
    fn deref(&self) -> &Parsed {
        &self.parsed
    }
}

impl Drop for Compiled {
    fn drop(&mut self) {
        let run = self.parsed.statement.run;
        if stack::is_deep(run) {
            let plan = self.plan.get_mut().take();
            stack::with_room(run, || drop(plan));
        }
    }
}

impl Compiled {
    /// As [`Parsed::new`].
    pub fn new(statement: Statement, text: Arc<str>, mode: SqlMode) -> SqlResult<Compiled> {
        Ok(Compiled::of(Arc::new(Parsed::new(statement, text, mode)?)))
    }
    pub fn of(parsed: Arc<Parsed>) -> Compiled {
        Compiled {
            parsed,
            peeks: true,
            plan: Mutex::new(None),
        }
    }
    /// One that is to be prepared: its plan is made once.
    pub fn prepared(parsed: Arc<Parsed>) -> Compiled {
        let mut compiled = Compiled::of(parsed);
        compiled.peeks = false;
        compiled
    }
    /// What other sessions may hold too.
    pub fn parsed(&self) -> &Arc<Parsed> {
        &self.parsed
    }
    /// The plan, if there is one for this context, taken out. It goes back by [`Compiled::put_back`].
    #[inline]
    pub fn take(&self, context: &Arc<Context>) -> Option<Kept> {
        if let Some(k) = self.plan.lock().take()
            && k.context == *context
        {
            return Some(k);
        }
        self.others(context, None).into_iter().next()
    }
    /// Plans that sessions have made for this context, but for one that was tried.
    pub fn others(&self, context: &Arc<Context>, tried: Option<&Arc<Plan>>) -> Vec<Kept> {
        let plans = self.parsed.plans.lock();
        let other = |k: &&Kept| {
            let same = tried.is_some_and(|t| Arc::ptr_eq(t, &k.plan));
            // A prepared statement's plan serves all values alike; a text's is for its own.
            k.context == *context && !same && self.takes(&k.plan)
        };
        plans.iter().filter(other).cloned().collect()
    }
    fn takes(&self, plan: &Plan) -> bool {
        match self.peeks {
            true => !plan.is_blind(),
            false => plan.assumptions().is_empty(),
        }
    }
    /// Returns a plan that was taken out, or is new to nobody else.
    #[inline]
    pub fn put_back(&self, kept: Kept) {
        *self.plan.lock() = kept.plan.reusable.then_some(kept);
    }
    /// Offers a new plan to other sessions.
    pub fn share(&self, kept: &Kept) {
        if kept.plan.reusable && !kept.plan.private && kept.context.is_common() {
            let mut plans = self.parsed.plans.lock();
            plans.retain(|k| k.context == kept.context);
            plans.truncate(PLANS - 1);
            plans.insert(0, kept.clone());
        }
    }
    /// Forgets a plan that was taken out: it no longer holds.
    pub fn forget(&self, kept: &Kept) {
        let mut plans = self.parsed.plans.lock();
        plans.retain(|k| !Arc::ptr_eq(&k.plan, &kept.plan));
    }
    /// Whether it may stand for all statements that differ from it in their literals only; it may until a plan
    /// says otherwise.
    pub fn is_general(&self) -> bool {
        let settled = |k: &Kept| k.plan.is_shareable() || k.plan.is_blind();
        if let Some(k) = &*self.plan.lock() {
            return settled(k);
        }
        self.parsed.plans.lock().first().is_none_or(settled)
    }
}

struct Entry {
    key: u64,
    used: u64,
    context: Arc<Context>,
    source: Arc<str>,
    compiled: Arc<Compiled>,
}

/// A session's statements by text.
#[derive(Default)]
pub(crate) struct Cache {
    entries: Vec<Entry>,
    tick: u64,
}

impl Cache {
    /// The statement held for this text.
    pub fn get(&mut self, key: u64, text: &str, context: &Arc<Context>) -> Option<Arc<Compiled>> {
        self.tick += 1;
        let tick = self.tick;
        self.entries
            .iter_mut()
            .find(|e| e.key == key && e.context == *context && *e.source == *text)
            .map(|e| {
                e.used = tick;
                e.compiled.clone()
            })
    }
    /// Holds a statement; the one longest unused makes room.
    pub fn put(
        &mut self,
        key: u64,
        source: Arc<str>,
        context: Arc<Context>,
        compiled: Arc<Compiled>,
    ) {
        let entry = Entry {
            key,
            used: self.tick,
            context,
            source,
            compiled,
        };
        let victim = match self.entries.iter().position(|e| e.key == key) {
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
        self.entries = Vec::new();
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub fn context(database: &str) -> Arc<Context> {
        Arc::new(Context {
            database: Some(database.into()),
            mode: 0,
            collation: Collation::Utf8mb4GeneralCi,
            client: Encoding::Utf8,
            zone: Zone::UTC,
            switches: Switches::default(),
            div_increment: 4,
            flushes: 0,
            temporary: None,
        })
    }

    pub fn compiled(text: &str) -> Arc<Compiled> {
        let statement = millpond_sql::parse::parse_one(text, SqlMode::DEFAULT).unwrap();
        Arc::new(Compiled::new(statement, text.into(), SqlMode::DEFAULT).unwrap())
    }

    #[test]
    fn holds_the_latest_used() {
        let mut cache = Cache::default();
        let text = |i: usize| format!("select {i}");
        let a = context("a");
        let put = |cache: &mut Cache, i: usize| {
            let c = compiled(&text(i));
            cache.put(i as u64, c.text.clone(), a.clone(), c);
        };
        let has = |cache: &mut Cache, i: usize, context: &Arc<Context>| {
            cache.get(i as u64, &text(i), context).is_some()
        };
        assert!(!has(&mut cache, 0, &a));
        for i in 0..ENTRIES {
            put(&mut cache, i);
            assert!(has(&mut cache, 0, &a));
        }
        assert!(!has(&mut cache, 0, &context("b")));
        let all = Switches::default();
        let switched = Arc::new(Context {
            switches: all.with("semijoin=off", all).unwrap(),
            database: a.database.clone(),
            ..*a
        });
        assert!(!has(&mut cache, 0, &switched));
        // The same settings said once more.
        assert!(has(&mut cache, 0, &context("a")));
        put(&mut cache, ENTRIES);
        assert!(has(&mut cache, ENTRIES, &a));
        assert!(has(&mut cache, 0, &a));
        assert!(!has(&mut cache, 1, &a));
        assert_eq!(cache.entries.len(), ENTRIES);
    }
}

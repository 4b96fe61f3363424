//! The table as a map, with snapshots and who has touched what.

use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub k: Option<i64>,
    pub u: Option<i64>,
    pub b: Option<u8>,
    pub j: Option<Document>,
    pub c: String,
}

/// `{"n": n, "s": "y..."}`: what a JSON column has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    pub n: i64,
    /// How long the text is.
    pub s: usize,
}

impl Document {
    pub fn text(&self) -> String {
        format!(r#"{{"n": {}, "s": "{}"}}"#, self.n, "y".repeat(self.s))
    }
}

impl Row {
    /// As in a VALUES list.
    pub fn values(&self, id: i64) -> String {
        let number = |n: Option<i64>| n.map_or("NULL".to_string(), |n| n.to_string());
        let bits = number(self.b.map(i64::from));
        let document = self.j.as_ref();
        let document = document.map_or("NULL".to_string(), |j| format!("'{}'", j.text()));
        let (k, u) = (number(self.k), number(self.u));
        format!("({id},{k},{u},{bits},{document},'{}')", self.c)
    }

    /// As a result row.
    pub fn cells(&self, id: i64) -> Vec<Option<String>> {
        let number = |n: Option<i64>| n.map(|n| n.to_string());
        vec![
            Some(id.to_string()),
            number(self.k),
            number(self.u),
            number(self.b.map(i64::from)),
            self.j.as_ref().map(Document::text),
            Some(self.c.clone()),
        ]
    }
}

pub type Rows = BTreeMap<i64, Row>;
type Changes = BTreeMap<i64, Option<Row>>;

#[derive(Default)]
struct Session {
    open: bool,
    snapshot: Option<Rows>,
    changes: Changes,
    savepoint: Option<Changes>,
    /// Rows and unique values that this transaction has locked; kept by rollbacks to savepoints.
    ids: BTreeSet<i64>,
    values: BTreeSet<i64>,
}

pub struct Model {
    committed: Rows,
    sessions: Vec<Session>,
}

impl Model {
    pub fn new(sessions: usize) -> Model {
        let sessions = (0..sessions).map(|_| Session::default()).collect();
        Model {
            committed: Rows::new(),
            sessions,
        }
    }

    pub fn in_transaction(&self, s: usize) -> bool {
        self.sessions[s].open
    }

    pub fn begin(&mut self, s: usize) {
        self.sessions[s].open = true;
    }

    /// Whether no other open transaction holds the row (or the gap where it would be).
    pub fn may_touch(&self, s: usize, id: i64) -> bool {
        self.others(s).all(|o| !o.ids.contains(&id))
    }

    /// Whether no other open transaction has anything to do with the unique value or locks the row
    /// that has it.
    pub fn may_use(&self, s: usize, u: Option<i64>) -> bool {
        let Some(u) = u else { return true };
        let holder = self
            .committed
            .iter()
            .find(|(_, r)| r.u == Some(u))
            .map(|(id, _)| *id);
        self.others(s).all(|o| !o.values.contains(&u))
            && holder.is_none_or(|id| self.may_touch(s, id))
    }

    /// The same for the value of the row as it is now.
    pub fn may_use_of(&self, s: usize, id: i64) -> bool {
        self.may_use(s, self.newest(s, id).and_then(|r| r.u))
    }

    fn others(&self, s: usize) -> impl Iterator<Item = &Session> {
        self.sessions
            .iter()
            .enumerate()
            .filter(move |(i, o)| *i != s && o.open)
            .map(|(_, o)| o)
    }

    /// What a write or locking read of the session sees.
    fn newest(&self, s: usize, id: i64) -> Option<Row> {
        let own = self.sessions[s].changes.get(&id);
        own.cloned()
            .unwrap_or_else(|| self.committed.get(&id).cloned())
    }

    fn newest_all(&self, s: usize) -> Rows {
        let mut rows = self.committed.clone();
        apply(&mut rows, &self.sessions[s].changes);
        rows
    }

    /// What a consistent read of the session sees (REPEATABLE READ).
    pub fn view(&mut self, s: usize) -> Rows {
        if !self.sessions[s].open {
            return self.committed.clone();
        }
        let session = &mut self.sessions[s];
        let mut rows = session
            .snapshot
            .get_or_insert_with(|| self.committed.clone())
            .clone();
        apply(&mut rows, &session.changes);
        rows
    }

    fn touch(&mut self, s: usize, id: i64, u: Option<i64>) {
        self.sessions[s].ids.insert(id);
        self.sessions[s].values.extend(u);
    }

    fn set(&mut self, s: usize, id: i64, row: Option<Row>) {
        let old = self.newest(s, id).and_then(|r| r.u);
        self.touch(s, id, old);
        self.touch(s, id, row.as_ref().and_then(|r| r.u));
        self.sessions[s].changes.insert(id, row);
    }

    /// A statement outside a transaction commits by itself.
    fn statement_end(&mut self, s: usize) {
        if !self.sessions[s].open {
            self.end(s, true);
        }
    }

    fn unique_taken(rows: &Rows, id: i64, u: Option<i64>) -> bool {
        u.is_some() && rows.iter().any(|(i, r)| *i != id && r.u == u)
    }

    /// Inserts all or nothing; `false` where a key is taken.
    pub fn insert(&mut self, s: usize, rows: Vec<(i64, Row)>) -> bool {
        let mut now = self.newest_all(s);
        let mut fits = true;
        for (id, row) in &rows {
            self.touch(s, *id, row.u);
            fits &= !now.contains_key(id) && !Self::unique_taken(&now, *id, row.u);
            if !fits {
                break;
            }
            now.insert(*id, row.clone());
        }
        if fits {
            for (id, row) in rows {
                self.set(s, id, Some(row));
            }
        } else {
            // The rows in the way are locked too.
            for (id, row) in &rows {
                let holders: Vec<i64> = now
                    .iter()
                    .filter(|(_, r)| r.u.is_some() && r.u == row.u)
                    .map(|(i, _)| *i)
                    .collect();
                self.sessions[s].ids.extend(holders);
                self.touch(s, *id, None);
            }
        }
        self.statement_end(s);
        fits
    }

    pub fn update(&mut self, s: usize, from: i64, to: i64, change: &dyn Fn(&mut Row)) -> bool {
        let now = self.newest_all(s);
        let mut fits = true;
        let mut changed = Vec::new();
        for id in from..=to {
            self.sessions[s].ids.insert(id);
            if let Some(old) = now.get(&id) {
                let mut row = old.clone();
                change(&mut row);
                if row.u != old.u {
                    self.touch(s, id, row.u);
                    fits &= !Self::unique_taken(&now, id, row.u);
                }
                // A row that stays as it is gets no new version: a snapshot goes on seeing the old one.
                if row != *old {
                    changed.push((id, row));
                }
            }
        }
        if fits {
            for (id, row) in changed {
                self.set(s, id, Some(row));
            }
        } else {
            let holders: Vec<i64> = now
                .iter()
                .filter(|(_, r)| changed.iter().any(|(_, c)| r.u.is_some() && c.u == r.u))
                .map(|(i, _)| *i)
                .collect();
            self.sessions[s].ids.extend(holders);
        }
        self.statement_end(s);
        fits
    }

    pub fn move_row(&mut self, s: usize, from: i64, to: i64) -> bool {
        let now = self.newest_all(s);
        self.touch(s, from, None);
        let fits = match now.get(&from) {
            None => true,
            Some(_) if from == to => true,
            Some(_) if now.contains_key(&to) => {
                self.touch(s, to, None);
                false
            }
            Some(row) => {
                self.set(s, from, None);
                self.set(s, to, Some(row.clone()));
                true
            }
        };
        self.statement_end(s);
        fits
    }

    pub fn delete(&mut self, s: usize, from: i64, to: i64) {
        for id in from..=to {
            self.touch(s, id, None);
            if self.newest(s, id).is_some() {
                self.set(s, id, None);
            }
        }
        self.statement_end(s);
    }

    /// SELECT ... FOR UPDATE.
    pub fn lock(&mut self, s: usize, id: i64) -> Option<Row> {
        let row = self.newest(s, id);
        self.touch(s, id, None);
        self.statement_end(s);
        row
    }

    pub fn has_savepoint(&self, s: usize) -> bool {
        self.sessions[s].savepoint.is_some()
    }

    pub fn savepoint(&mut self, s: usize) {
        self.sessions[s].savepoint = Some(self.sessions[s].changes.clone());
    }

    pub fn rollback_to_savepoint(&mut self, s: usize) {
        let saved = self.sessions[s].savepoint.clone().expect("a savepoint");
        self.sessions[s].changes = saved;
    }

    pub fn end(&mut self, s: usize, commit: bool) {
        let session = std::mem::take(&mut self.sessions[s]);
        if commit {
            apply(&mut self.committed, &session.changes);
        }
    }
}

fn apply(rows: &mut Rows, changes: &Changes) {
    for (id, row) in changes {
        match row {
            Some(row) => rows.insert(*id, row.clone()),
            None => rows.remove(id),
        };
    }
}

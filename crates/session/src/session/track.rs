//! Session tracking: what a client that asked for it (CLIENT_SESSION_TRACK) is told of its session's state where a statement ends.
//!
//! What changes is noted where it changes and told with the next OK that the client gets, as it is then: a variable's value, the database in use, or
//! that there was some change. Statements of stored programs tell nothing by themselves, the statement that runs them does. For a client
//! that did not ask nothing is noted.
//!
//! Of transactions their state and characteristics are told where these differ from what was told last. GTIDs there are none.

use super::Session;
use crate::vars::{self, VarValue};
use millpond_sql::plan::Plan;
use millpond_sql::result::Tracked;
use millpond_store::Isolation;

/// Which answers can carry it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tracks {
    /// None: the client did not ask.
    #[default]
    No,
    /// An OK, but no end of rows: those are EOF packets.
    Ok,
    /// Ends of rows as well, which are OK packets (CLIENT_DEPRECATE_EOF).
    Rows,
}

/// What a client wants to know of transactions (`session_track_transaction_info`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Info {
    #[default]
    Nothing,
    State,
    Characteristics,
}

/// What has been done in a transaction, for its state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks {
    read: bool,
    written: bool,
    answered: bool,
}

/// What has changed since it was last told.
#[derive(Default)]
pub(super) struct Tracker {
    tracks: Tracks,
    info: Info,
    /// The transaction's state and characteristics as they were told, if they were.
    told: (Option<String>, Option<String>),
    /// Variables that have been set, by position, in the order in which they were first.
    variables: Vec<usize>,
    schema: bool,
    state: bool,
}

impl Tracker {
    pub fn new(tracks: Tracks) -> Tracker {
        Tracker {
            tracks,
            ..Tracker::default()
        }
    }
    /// Nothing has changed.
    pub fn forget(&mut self) {
        self.variables.clear();
        (self.schema, self.state) = (false, false);
    }
    /// What `session_track_transaction_info` says.
    pub fn follow(&mut self, info: &str) {
        let info = match info {
            _ if self.tracks == Tracks::No => Info::Nothing,
            "STATE" => Info::State,
            "CHARACTERISTICS" => Info::Characteristics,
            _ => Info::Nothing,
        };
        if self.info != info {
            self.info = info;
            self.told = (None, None);
        }
    }
    #[inline]
    fn has_changes(&self) -> bool {
        self.schema || self.state || !self.variables.is_empty() || self.info != Info::Nothing
    }
}

/// The names in a list as `session_track_system_variables` has them.
fn names(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim).filter(|n| !n.is_empty())
}

impl Session {
    /// Whether a variable that turns a kind of tracking on does so, for a client that wants any.
    fn is_tracked(&self, variable: &str) -> bool {
        self.track.tracks != Tracks::No && self.facts.vars.named(variable) == VarValue::Bool(true)
    }

    /// The database in use may be another.
    pub(super) fn track_schema(&mut self) {
        if self.is_tracked("session_track_schema") {
            self.track.schema = true;
        }
        self.track_state();
    }

    /// Something has changed that a new connection would have otherwise.
    pub(super) fn track_state(&mut self) {
        if self.is_tracked("session_track_state_change") {
            self.track.state = true;
        }
    }

    /// A variable has been set.
    pub(super) fn track_variable(&mut self, name: &str) {
        if self.track.tracks == Tracks::No {
            return;
        }
        let list = self.facts.vars.named("session_track_system_variables");
        let tracked = |n: &str| n == "*" || n.eq_ignore_ascii_case(name);
        if names(list.as_str()).any(tracked) {
            let index = vars::known(name);
            if !self.track.variables.contains(&index) {
                self.track.variables.push(index);
            }
        }
        self.track_state();
    }

    /// Warning 1231 for names in `session_track_system_variables` that no variable has.
    pub(super) fn check_tracked(&self, list: &str) {
        for name in names(list) {
            if name != "*" && vars::find(&name.to_ascii_lowercase()).is_none() {
                let m = format!("{name} is not a valid system variable and will be ignored.");
                self.env.warn(1231, m);
            }
        }
    }

    /// What the answer that follows tells; `rows`: it ends a result set.
    #[inline]
    pub(super) fn tracked(&mut self, rows: bool) -> Vec<Tracked> {
        match self.track.has_changes() {
            true => self.changes(rows),
            false => Vec::new(),
        }
    }

    /// What the answer to a command that is no statement tells.
    pub fn take_tracked(&mut self) -> Vec<Tracked> {
        self.tracked(false)
    }

    #[cold]
    fn changes(&mut self, rows: bool) -> Vec<Tracked> {
        let within = self.locals.is_some() || !self.facts.running.lock().calls.is_empty();
        if within || rows && self.track.tracks != Tracks::Rows {
            return Vec::new();
        }
        let variables = std::mem::take(&mut self.track.variables);
        let variable = |index: &usize| {
            let value = self.facts.vars.get(*index).show();
            Tracked::Variable(vars::all()[*index].name.into(), value)
        };
        let mut told: Vec<Tracked> = variables.iter().map(variable).collect();
        if self.track.schema {
            told.push(Tracked::Schema(self.database().unwrap_or_default()));
        }
        if self.track.state {
            told.push(Tracked::State);
        }
        self.track.forget();
        self.transaction_changes(&mut told);
        told
    }

    fn transaction_changes(&mut self, told: &mut Vec<Tracked>) {
        if self.track.info == Info::Nothing {
            return;
        }
        if self.track.info == Info::Characteristics {
            let now = Some(self.characteristics());
            if now != self.track.told.1 {
                told.extend(now.clone().map(Tracked::Characteristics));
                self.track.told.1 = now;
            }
        }
        let now = Some(self.transaction_state());
        if now != self.track.told.0 {
            told.extend(now.clone().map(Tracked::Transaction));
            self.track.told.0 = now;
        }
    }

    /// A statement with this plan runs in the open transaction.
    #[inline]
    pub(super) fn mark_plan(&mut self, plan: &Plan) {
        if self.track.info == Info::Nothing {
            return;
        }
        for (_, write) in plan.tables.iter().flat_map(|t| t.names.iter()) {
            self.txn.marks.written |= *write;
            self.txn.marks.read |= !*write;
        }
    }

    /// A result set has been sent.
    #[inline]
    pub(super) fn mark_answered(&mut self) {
        if self.txn.is_open() {
            self.txn.marks.answered = true;
        }
    }

    /// MySQL's letters: explicit or implicit transaction; tables that know no transactions, and those that do, read; the same, written;
    /// unsafe statements; results sent; tables locked. All tables know transactions here.
    fn transaction_state(&self) -> String {
        let mut letters = [b'_'; 8];
        let marks = self.txn.marks;
        if self.txn.is_open() {
            letters[0] = if self.txn.explicit { b'T' } else { b'I' };
            let each = [
                (2, marks.read, b'R'),
                (4, marks.written, b'W'),
                (6, marks.answered, b'S'),
            ];
            for (at, is, letter) in each {
                if is {
                    letters[at] = letter;
                }
            }
        }
        if !self.locked.is_empty() {
            letters[7] = b'L';
        }
        letters.iter().map(|b| char::from(*b)).collect()
    }

    /// Statements that begin such a transaction as is open, or as was asked for by SET TRANSACTION.
    fn characteristics(&self) -> String {
        let open = self.txn.is_open();
        let (isolation, read_only) = match open {
            true => self.txn.asked,
            false => (self.settings.next_isolation, self.settings.next_read_only),
        };
        let mut said = Vec::new();
        if let Some(level) = isolation {
            said.push(format!(
                "SET TRANSACTION ISOLATION LEVEL {};",
                level_name(level)
            ));
        }
        let access = |read_only| match read_only {
            true => "READ ONLY",
            false => "READ WRITE",
        };
        if let Some(read_only) = read_only {
            said.push(format!("SET TRANSACTION {};", access(read_only)));
        }
        if open && self.txn.explicit {
            said.push(match self.xa_start_text() {
                Some(text) => text,
                None => {
                    let snapshot = self.txn.begun.0.then_some("WITH CONSISTENT SNAPSHOT");
                    let access = self.txn.begun.1.map(access);
                    let how: Vec<&str> = snapshot.into_iter().chain(access).collect();
                    match how.is_empty() {
                        true => "START TRANSACTION;".into(),
                        false => format!("START TRANSACTION {};", how.join(", ")),
                    }
                }
            });
        }
        said.join(" ")
    }
}

fn level_name(level: Isolation) -> &'static str {
    match level {
        Isolation::ReadUncommitted => "READ UNCOMMITTED",
        Isolation::ReadCommitted => "READ COMMITTED",
        Isolation::RepeatableRead => "REPEATABLE READ",
        Isolation::Serializable => "SERIALIZABLE",
    }
}

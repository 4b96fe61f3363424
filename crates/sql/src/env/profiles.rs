//! Profiles of statements (`SET profiling = 1`): the stages that a statement goes through, with what each took.
//!
//! A stage ends where the next begins, so the stages' times add up to the statement's. Whoever enters a stage says so under the name that
//! MySQL shows; while nobody profiles that costs the look at a flag.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::panic::Location;
use std::time::{Duration, Instant};

use millpond_store::usage::Usage;

/// Longest text kept of a statement, in characters.
const SHOWN: usize = 300;

/// A stage of a statement.
#[derive(Clone, Debug)]
pub struct Stage {
    /// Its name.
    pub name: &'static str,
    /// How long it took.
    pub duration: Duration,
    /// What the statement's thread used in it.
    pub usage: Usage,
    /// Where it is entered: the source file and its line.
    pub source: (&'static str, u32),
}

/// A statement's profile.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Its number in the session, from 1.
    pub id: u64,
    /// The statement's beginning.
    pub text: String,
    /// Its stages in order.
    pub stages: Vec<Stage>,
}

impl Profile {
    /// How long the statement took.
    pub fn duration(&self) -> Duration {
        self.stages.iter().map(|s| s.duration).sum()
    }
}

/// The statement that is profiled now.
struct Running {
    stages: Vec<Stage>,
    since: Instant,
    used: Usage,
}

impl Running {
    /// Ends the last stage.
    fn end(&mut self) {
        let (now, used) = (Instant::now(), Usage::of_thread());
        if let Some(last) = self.stages.last_mut() {
            last.duration = now - self.since;
            last.usage = used.since(&self.used);
        }
        (self.since, self.used) = (now, used);
    }

    fn enter(&mut self, name: &'static str, at: &'static Location<'static>) {
        self.end();
        let file = at.file().rsplit('/').next().unwrap_or_default();
        self.stages.push(Stage {
            name,
            duration: Duration::ZERO,
            usage: Usage::default(),
            source: (file, at.line()),
        });
    }
}

/// A session's profiles.
#[derive(Default)]
pub struct Profiles {
    /// `profiling`.
    on: Cell<bool>,
    /// `profiling_history_size`.
    keep: Cell<usize>,
    running: RefCell<Option<Running>>,
    /// What the statement to come is shown as, if not as its text.
    shown: RefCell<Option<String>>,
    last: Cell<u64>,
    list: RefCell<VecDeque<Profile>>,
}

impl Profiles {
    /// Sets `profiling` and `profiling_history_size`.
    pub fn set(&self, on: bool, keep: usize) {
        self.on.set(on);
        self.keep.set(keep);
        self.trim();
    }

    fn trim(&self) {
        let mut list = self.list.borrow_mut();
        while list.len() > self.keep.get() {
            list.pop_front();
        }
    }

    /// A statement begins, if statements are profiled and it has not begun before.
    #[inline]
    #[track_caller]
    pub fn begin(&self) {
        if self.on.get() {
            self.begin_at(Location::caller());
        }
    }

    #[cold]
    fn begin_at(&self, at: &'static Location<'static>) {
        let mut running = self.running.borrow_mut();
        if running.is_none() {
            let mut new = Running {
                stages: Vec::new(),
                since: Instant::now(),
                used: Usage::of_thread(),
            };
            new.enter("starting", at);
            *running = Some(new);
        }
    }

    /// The statement enters a stage.
    #[inline]
    #[track_caller]
    pub fn enter(&self, name: &'static str) {
        if self.on.get()
            && let Some(running) = &mut *self.running.borrow_mut()
        {
            running.enter(name, Location::caller());
        }
    }

    /// The statement to come is one of several: it is shown with those behind it.
    pub fn show_as(&self, text: &str) {
        if self.on.get() {
            *self.shown.borrow_mut() = Some(text.chars().take(SHOWN).collect());
        }
    }

    /// The statement has ended; `text` is kept with its profile, without one it is forgotten.
    #[inline]
    pub fn end(&self, text: Option<&str>) {
        let Some(mut running) = self.running.take() else {
            return;
        };
        running.end();
        let shown = self.shown.take();
        if let Some(text) = text {
            let text = shown.as_deref().unwrap_or(text);
            self.last.set(self.last.get() + 1);
            self.list.borrow_mut().push_back(Profile {
                id: self.last.get(),
                text: text.chars().take(SHOWN).collect(),
                stages: running.stages,
            });
            self.trim();
        }
    }

    /// Those that are kept, in order.
    pub fn all(&self) -> Vec<Profile> {
        self.list.borrow().iter().cloned().collect()
    }
}

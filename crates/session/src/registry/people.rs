//! What each account has done: its sessions' statements by kind, and how many connections it had.
//!
//! A session counts for itself ([`Work`]); what it counted goes to its account's sums when it ends. Of more than [`MOST`] accounts, the later ones
//! are not kept.

use hashbrown::HashMap;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use super::Seat;
use crate::counters::Counter;
use crate::digests::{Cell, Done, KINDS, Sums, kind_number};

/// Accounts kept that have no connection.
const MOST: usize = 4096;

/// A session's statements, by kind. The session's thread alone adds to it.
pub(crate) struct Work(Box<[OnceLock<Box<Cell>>; KINDS]>);

impl Default for Work {
    fn default() -> Work {
        Work(Box::new([const { OnceLock::new() }; KINDS]))
    }
}

impl Work {
    /// Counts a statement.
    #[inline]
    pub fn add(&self, kind: Option<Counter>, done: &Done) {
        self.0[kind_number(kind)]
            .get_or_init(Cell::new)
            .add(done, true);
    }
    /// What was counted, by number of the kind.
    pub fn sums(&self) -> BTreeMap<usize, Sums> {
        let cells = self.0.iter().enumerate();
        cells
            .filter_map(|(n, c)| Some((n, c.get()?.sums())))
            .filter(|(_, sums)| sums.count > 0)
            .collect()
    }
    fn reset(&self) {
        self.0
            .iter()
            .filter_map(OnceLock::get)
            .for_each(|c| c.reset());
    }
}

/// An account's connections and statements.
#[derive(Clone, Debug, Default)]
pub(crate) struct Person {
    pub user: String,
    /// Where its clients are, without ports.
    pub host: String,
    /// Connections now, and ever.
    pub current: u64,
    pub total: u64,
    /// By number of the kind.
    pub work: BTreeMap<usize, Sums>,
    /// Bytes that its sessions hold now.
    pub memory: u64,
}

impl Person {
    /// All its statements.
    pub fn sums(&self) -> Sums {
        let mut all = Sums::default();
        self.work.values().for_each(|s| all.add(s));
        all
    }
    /// Adds another's.
    pub fn add(&mut self, other: &Person) {
        self.current += other.current;
        self.total += other.total;
        self.memory += other.memory;
        add(&mut self.work, &other.work);
    }
}

fn add(to: &mut BTreeMap<usize, Sums>, from: &BTreeMap<usize, Sums>) {
    for (kind, sums) in from {
        to.entry(*kind).or_default().add(sums);
    }
}

#[derive(Default)]
struct Known {
    current: u64,
    total: u64,
    /// Of sessions that ended.
    work: BTreeMap<usize, Sums>,
}

/// Accounts by user and host.
#[derive(Default)]
pub(super) struct People(Mutex<HashMap<(String, String), Known>>);

fn key(seat: &Seat) -> (String, String) {
    (seat.user().to_string(), seat.address().to_string())
}

impl People {
    pub fn enter(&self, seat: &Seat) {
        let mut people = self.0.lock();
        let key = key(seat);
        if people.len() >= MOST && !people.contains_key(&key) {
            people.retain(|_, k| k.current > 0);
        }
        let known = people.entry(key).or_default();
        known.current += 1;
        known.total += 1;
    }

    /// What it counted is its account's from now on.
    pub fn leave(&self, seat: &Seat) {
        let sums = seat.work.sums();
        seat.work.reset();
        if let Some(known) = self.0.lock().get_mut(&key(seat)) {
            known.current = known.current.saturating_sub(1);
            add(&mut known.work, &sums);
        }
    }

    pub fn read<'s>(&self, seats: impl Iterator<Item = &'s Arc<Seat>>) -> Vec<Person> {
        let mut all: BTreeMap<(String, String), Person> = BTreeMap::new();
        for ((user, host), known) in self.0.lock().iter() {
            let person = Person {
                user: user.clone(),
                host: host.clone(),
                current: known.current,
                total: known.total,
                work: known.work.clone(),
                memory: 0,
            };
            all.insert((user.clone(), host.clone()), person);
        }
        for seat in seats {
            if let Some(person) = all.get_mut(&key(seat)) {
                add(&mut person.work, &seat.work.sums());
                person.memory += seat.memory.used() as u64;
            }
        }
        all.into_values().collect()
    }

    pub fn forget(&self) {
        self.0.lock().retain(|_, known| {
            known.total = known.current;
            known.current > 0
        });
    }
}

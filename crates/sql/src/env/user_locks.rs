//! GET_LOCK and its kin: locks by name that belong to sessions, not to transactions.
//!
//! One map behind one mutex, which nothing else is locked under. KILL wakes those who wait, so that the one it means looks
//! up. Before it waits it follows who waits for whom from the lock's holder; if that leads back to itself,
//! the wait would last for ever, and is error 3058 instead.

use std::collections::HashMap;
use std::time::Instant;

use millpond_store::wait::long;
use parking_lot::{Condvar, Mutex};

use crate::error::{SqlError, SqlResult};

/// Longest name, in characters.
const MAX_NAME: usize = 64;

#[derive(Default)]
struct State {
    /// Holder and how many times it holds the lock, by lower-case name.
    held: HashMap<String, (u32, u64)>,
    /// Names that connections wait for.
    waiting: HashMap<u32, String>,
}

impl State {
    /// Whether a connection that waits for `name` would wait for itself.
    fn is_circle(&self, id: u32, name: &str) -> bool {
        let mut name = name;
        // No chain is longer than there are waiters.
        for _ in 0..=self.waiting.len() {
            match self.held.get(name) {
                Some((holder, _)) if *holder == id => return true,
                Some((holder, _)) => match self.waiting.get(holder) {
                    Some(next) => name = next,
                    None => return false,
                },
                None => return false,
            }
        }
        false
    }
}

/// The locks of an instance.
#[derive(Default)]
pub struct UserLocks {
    state: Mutex<State>,
    released: Condvar,
}

/// A lock's name as it is known by; error 3057 for none and for one too long.
fn key(name: Option<&str>) -> SqlResult<String> {
    match name {
        Some(n) if !n.is_empty() && n.chars().count() <= MAX_NAME => Ok(n.to_lowercase()),
        other => Err(SqlError::new(
            3057,
            format!(
                "Incorrect user-level lock name '{}'.",
                other.unwrap_or("NULL")
            ),
        )),
    }
}

impl UserLocks {
    /// GET_LOCK: waits until `until` (`None`: for ever) for a lock; whether connection `id` has it then. `interrupted`: asked whenever
    /// somebody calls [`UserLocks::wake`], and at the statement's `deadline`, whether to give up, which gives `None`.
    pub fn get(
        &self,
        id: u32,
        name: Option<&str>,
        (until, deadline): (Option<Instant>, Option<Instant>),
        interrupted: impl Fn() -> bool,
    ) -> SqlResult<Option<bool>> {
        let name = key(name)?;
        let mut state = self.state.lock();
        let got = loop {
            match state.held.get_mut(&name) {
                None => {
                    state.held.insert(name.clone(), (id, 1));
                    break Some(true);
                }
                Some((holder, times)) if *holder == id => {
                    *times += 1;
                    break Some(true);
                }
                Some(_) => {}
            }
            if state.is_circle(id, &name) {
                state.waiting.remove(&id);
                return Err(SqlError::new(
                    3058,
                    "Deadlock found when trying to get user-level lock; try rolling back transaction/releasing \
                     locks and restarting lock acquisition.",
                ));
            }
            if interrupted() {
                break None;
            }
            let now = Instant::now();
            if until.is_some_and(|u| u <= now) {
                break Some(false);
            }
            state.waiting.insert(id, name.clone());
            let released = &self.released;
            long(|| match until.into_iter().chain(deadline).min() {
                Some(at) => {
                    released.wait_until(&mut state, at);
                }
                None => released.wait(&mut state),
            });
        };
        state.waiting.remove(&id);
        Ok(got)
    }

    /// Has those who wait look whether they were interrupted.
    pub fn wake(&self) {
        // Under the mutex, so that it cannot fall between a waiter's look and its sleep.
        let _state = self.state.lock();
        self.released.notify_all();
    }

    /// RELEASE_LOCK: whether `id` held it; `None` if nobody did.
    pub fn release(&self, id: u32, name: Option<&str>) -> SqlResult<Option<bool>> {
        let name = key(name)?;
        let mut state = self.state.lock();
        let Some((holder, times)) = state.held.get_mut(&name) else {
            return Ok(None);
        };
        if *holder != id {
            return Ok(Some(false));
        }
        *times -= 1;
        if *times == 0 {
            state.held.remove(&name);
            self.released.notify_all();
        }
        Ok(Some(true))
    }

    /// Releases all that a connection holds; how many times it held locks.
    pub fn release_all(&self, id: u32) -> u64 {
        let mut state = self.state.lock();
        let mut n = 0;
        state.held.retain(|_, (holder, times)| {
            let mine = *holder == id;
            n += if mine { *times } else { 0 };
            !mine
        });
        if n > 0 {
            self.released.notify_all();
        }
        n
    }

    /// IS_USED_LOCK: who holds it.
    pub fn holder(&self, name: Option<&str>) -> SqlResult<Option<u32>> {
        let name = key(name)?;
        Ok(self.state.lock().held.get(&name).map(|(id, _)| *id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_belong_to_connections() {
        let locks = UserLocks::default();
        let now = || Some(Instant::now());
        let get = |id, name| locks.get(id, Some(name), (now(), None), || false);
        assert_eq!(get(1, "a"), Ok(Some(true)));
        assert_eq!(get(1, "A"), Ok(Some(true)));
        assert_eq!(get(2, "a"), Ok(Some(false)));
        assert_eq!(locks.holder(Some("a")), Ok(Some(1)));
        assert_eq!(locks.release(2, Some("a")), Ok(Some(false)));
        assert_eq!(locks.release(1, Some("a")), Ok(Some(true)));
        assert_eq!(get(2, "a"), Ok(Some(false)));
        assert_eq!(locks.release(1, Some("a")), Ok(Some(true)));
        assert_eq!(locks.release(1, Some("a")), Ok(None));
        assert_eq!(get(2, "a"), Ok(Some(true)));
        assert_eq!(locks.get(1, Some("a"), (None, None), || true), Ok(None));
        assert_eq!((locks.release_all(1), locks.release_all(2)), (0, 1));
        let code = |r: SqlResult<Option<u32>>| r.map_err(|e| e.code);
        assert_eq!(code(locks.holder(None)), Err(3057));
        assert_eq!(code(locks.holder(Some(&"x".repeat(65)))), Err(3057));
    }

    #[test]
    fn a_circle_is_an_error() {
        let locks = UserLocks::default();
        let at_once = Some(Instant::now());
        assert_eq!(
            locks.get(1, Some("a"), (at_once, None), || false),
            Ok(Some(true))
        );
        assert_eq!(
            locks.get(2, Some("b"), (at_once, None), || false),
            Ok(Some(true))
        );
        std::thread::scope(|s| {
            let one = s.spawn(|| locks.get(1, Some("b"), (None, None), || false));
            while !locks.state.lock().waiting.contains_key(&1) {
                std::thread::yield_now();
            }
            let two = locks.get(2, Some("a"), (None, None), || false);
            assert_eq!(two.map_err(|e| e.code), Err(3058));
            locks.release_all(2);
            assert_eq!(one.join().ok(), Some(Ok(Some(true))));
        });
    }
}

//! What a thread of the pool does: serve a connection, wait for events, wait to be called.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use millpond_session::{Waiter, tell_waits_to};

use super::poller::Events;
use super::state::{Job, Role, Why};
use super::{LINGER, Pool, waiting};
use crate::backend::Backend;
use crate::conn::{Client, Outcome, Spare, Stay};

static ALWAYS: AtomicBool = AtomicBool::new(true);
static NEVER: AtomicBool = AtomicBool::new(false);
/// How long events are waited for at a time, by a thread that would do so for ever.
const LONG: Duration = Duration::from_secs(3600);

/// Tells the pool when its thread waits.
struct Told<B: Backend> {
    pool: Arc<Pool<B>>,
    me: u64,
    /// Whether it is one of those of which so many may be at work.
    works: Rc<Cell<bool>>,
}

impl<B: Backend> Told<B> {
    fn set_aside(&self, aside: bool) {
        if self.works.get() {
            let mut state = self.pool.state.lock();
            state.set_aside(self.me, aside);
            self.pool.settle(&mut state);
        }
    }
}

impl<B: Backend> Waiter for Told<B> {
    fn begin(&self) {
        self.set_aside(true);
    }
    fn end(&self) {
        self.set_aside(false);
    }
}

/// A thread's own things.
struct Own {
    me: u64,
    spare: Spare,
    events: Events,
    works: Rc<Cell<bool>>,
}

impl<B: Backend> Pool<B> {
    /// A thread's life, in which it serves many connections.
    pub(super) fn work(self: Arc<Self>, me: u64) {
        let mut own = Own {
            me,
            spare: Spare::default(),
            events: Events::default(),
            works: Rc::default(),
        };
        tell_waits_to(Some(Rc::new(Told {
            pool: self.clone(),
            me,
            works: own.works.clone(),
        })));
        self.state.lock().coming -= 1;
        while let Some((job, role)) = self.next(&mut own) {
            own.works.set(role == Role::Works);
            let goes_on = self.serve(job, role, &mut own);
            own.works.set(false);
            if !goes_on {
                break;
            }
        }
        tell_waits_to(None);
        self.end();
    }

    /// A thread's life, in which it serves one.
    pub(super) fn serve_to_the_end(self: Arc<Self>, mut client: Client<B>) {
        let stay = Stay {
            linger: None,
            leave: &NEVER,
        };
        client.run(&stay, &mut Spare::default());
        drop(client);
        self.end();
    }

    /// A thread goes. The last is waited for, so it holds nothing of a connection any more.
    fn end(self: &Arc<Self>) {
        let mut state = self.state.lock();
        state.threads -= 1;
        self.settle(&mut state);
        self.ended.notify_all();
    }

    /// What to do next; `None`: there has been nothing for long.
    fn next(self: &Arc<Self>, own: &mut Own) -> Option<(Job<Client<B>>, Role)> {
        let poller = self.poller.as_ref()?;
        let mut state = self.state.lock();
        let (mut enough, mut looked) = (false, false);
        loop {
            if state.stopping {
                return None;
            }
            if !looked && state.wants_look() {
                looked = true;
                drop(state);
                let keys = poller.wait(&mut own.events, Duration::ZERO);
                state = self.state.lock();
                keys.for_each(|key| state.sent(key));
            }
            if let Some(taken) = state.take(own.me) {
                self.settle(&mut state);
                return Some(taken);
            }
            if state.wants_poller() {
                state.polling += 1;
                drop(state);
                let keys = poller.wait(&mut own.events, LONG);
                state = self.state.lock();
                state.polling -= 1;
                keys.for_each(|key| state.sent(key));
                continue;
            }
            if enough || !state.may_stay() {
                return None;
            }
            state.spare += 1;
            let idle = state.settings.idle;
            let called = !self.called.wait_for(&mut state, idle).timed_out();
            state.spare -= 1;
            if called {
                state.coming = state.coming.saturating_sub(1);
            }
            enough = !called;
        }
    }

    /// Serves a connection as long as it is right to. `false`: this thread had better not go on.
    fn serve(self: &Arc<Self>, job: Job<Client<B>>, role: Role, own: &mut Own) -> bool {
        let Job {
            mut client,
            why,
            period,
        } = job;
        let stay = match role {
            Role::Keeps => Stay {
                linger: Some(LINGER),
                leave: &self.crowded,
            },
            Role::Works | Role::Aside => Stay {
                linger: Some(LINGER),
                leave: &ALWAYS,
            },
        };
        if role == Role::Keeps && std::mem::take(&mut client.armed) {
            // Nobody is told of what comes while it has a thread, which would cost whoever sends it.
            if let Some(poller) = &self.poller {
                poller.forget(client.socket());
            }
        }
        let outcome = match why {
            Why::Sent => client.run(&stay, &mut own.spare),
            Why::Silent if client.expire() => Outcome::Ended,
            Why::Silent => Outcome::Idle,
        };
        match outcome {
            Outcome::Idle => self.park(client, period, Some(own.me)),
            Outcome::Ready => {
                let mut state = self.state.lock();
                state.leave(own.me);
                state.again(waiting(client, period));
            }
            Outcome::Ended | Outcome::Panicked => {
                drop(client);
                self.state.lock().leave(own.me);
            }
        }
        outcome != Outcome::Panicked
    }
}

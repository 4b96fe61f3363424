//! Who works, who waits, and who should come: the pool's numbers, and what follows from them. No thread, no socket.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use hashbrown::HashMap;

/// Statements that may run at a time beyond that, for each of `thread_pool_size`: some always wait for a moment, for a latch or the disk.
const AT_WORK_EACH: usize = 2;
/// How many of the connections in a transaction go before one that is in none.
const STARTED_BEFORE_FRESH: u32 = 8;

/// What the system variables say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    /// `thread_pool_size`.
    pub size: usize,
    /// `millpond_thread_pool_keep`.
    pub keep: usize,
    /// `thread_pool_max_threads`.
    pub most_threads: usize,
    /// `thread_pool_stall_limit`.
    pub stall: Duration,
    /// `thread_pool_idle_timeout`.
    pub idle: Duration,
}

impl Settings {
    /// Connections that may keep a thread each. One thread is left, to notice that there are more.
    fn kept(&self) -> usize {
        self.keep.min(self.most_threads - 1)
    }
    /// Statements that may run at a time when there are more.
    fn at_work(&self) -> usize {
        self.size * AT_WORK_EACH
    }
    /// Threads that may wait for work.
    fn most_spare(&self) -> usize {
        self.at_work() + self.kept() / 8
    }
}

/// A connection that nobody serves.
pub(super) struct Waiting<C> {
    pub client: C,
    /// Until when its client may be silent.
    pub until: Option<Instant>,
    /// Whether it is in a transaction.
    pub started: bool,
    /// In which of [`State::begin_period`]'s it was served last.
    pub period: u64,
}

/// A connection that is to be served.
pub(super) struct Job<C> {
    pub client: C,
    pub why: Why,
    pub period: u64,
}

/// Why a connection is to be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// Its client has sent something.
    Sent,
    /// Its client has been silent for too long.
    Silent,
}

/// What a thread that serves a connection counts as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It keeps its connection.
    Keeps,
    /// It runs one statement, and is one of those of which so many may.
    Works,
    /// It would, but waits for something, or has been at it for longer than the stall limit.
    Aside,
}

struct Thread {
    role: Role,
    since: Instant,
}

/// The pool's state.
pub(super) struct State<C> {
    pub settings: Settings,
    /// Connections whose clients are awaited, by key.
    pub waiting: HashMap<u64, Waiting<C>>,
    /// Connections to be served: those in a transaction, and others.
    started: VecDeque<Job<C>>,
    fresh: VecDeque<Job<C>>,
    /// Whether there has been one in a transaction in this period.
    saw_started: bool,
    /// How many of `started` have gone since one of `fresh` went.
    passed: u32,
    /// Threads that serve a connection, by number.
    serving: HashMap<u64, Thread>,
    /// How many of them keep it, and how many work.
    keeping: usize,
    working: usize,
    /// All threads, those that wait for events, those that wait for work, and those that have been called and haven't come yet.
    pub threads: usize,
    pub polling: usize,
    pub spare: usize,
    pub coming: usize,
    /// More connections are active than may keep a thread.
    crowded: bool,
    period: u64,
    /// Connections served in this period.
    active: usize,
    pub stopping: bool,
    /// The timer is there, which is none of `threads`.
    pub timing: bool,
}

impl<C> State<C> {
    pub fn new(settings: Settings) -> State<C> {
        State {
            settings,
            waiting: HashMap::new(),
            started: VecDeque::new(),
            fresh: VecDeque::new(),
            saw_started: false,
            passed: 0,
            serving: HashMap::new(),
            keeping: 0,
            working: 0,
            threads: 0,
            polling: 0,
            spare: 0,
            coming: 0,
            crowded: false,
            period: 0,
            active: 0,
            stopping: false,
            timing: false,
        }
    }

    pub fn is_crowded(&self) -> bool {
        self.crowded
    }

    fn ready(&self) -> usize {
        self.started.len() + self.fresh.len()
    }

    /// The client of a connection that waits has sent something.
    pub fn sent(&mut self, key: u64) {
        if let Some(waiting) = self.waiting.remove(&key) {
            self.queue(waiting, Why::Sent);
        }
    }

    fn queue(&mut self, waiting: Waiting<C>, why: Why) {
        let Waiting {
            client,
            started,
            period,
            ..
        } = waiting;
        self.saw_started |= started;
        let queue = match started {
            true => &mut self.started,
            false => &mut self.fresh,
        };
        queue.push_back(Job {
            client,
            why,
            period,
        });
        self.look_around();
    }

    /// A connection that waits behind those that are to be served already.
    pub fn again(&mut self, waiting: Waiting<C>) {
        self.queue(waiting, Why::Sent);
    }

    fn look_around(&mut self) {
        if self.keeping + self.ready() > self.settings.kept() {
            self.crowded = true;
        }
    }

    /// The connection that thread `me` is to serve next, if it may serve one now.
    pub fn take(&mut self, me: u64) -> Option<(Job<C>, Role)> {
        if self.crowded && self.working >= self.settings.at_work() {
            return None;
        }
        let may_pass = self.passed < STARTED_BEFORE_FRESH || self.fresh.is_empty();
        let started_goes = may_pass && !self.started.is_empty();
        let queue = match started_goes {
            true => &mut self.started,
            false => &mut self.fresh,
        };
        let mut job = queue.pop_front()?;
        self.passed = match started_goes && !self.fresh.is_empty() {
            true => self.passed + 1,
            false => 0,
        };
        let role = match self.crowded {
            true => Role::Works,
            false => Role::Keeps,
        };
        if self.crowded && job.period != self.period {
            job.period = self.period;
            self.active += 1;
        }
        self.add(role);
        let since = Instant::now();
        self.serving.insert(me, Thread { role, since });
        Some((job, role))
    }

    fn add(&mut self, role: Role) {
        match role {
            Role::Keeps => self.keeping += 1,
            Role::Works => self.working += 1,
            Role::Aside => {}
        }
    }

    fn remove(&mut self, role: Role) {
        match role {
            Role::Keeps => self.keeping -= 1,
            Role::Works => self.working -= 1,
            Role::Aside => {}
        }
    }

    /// Thread `me` leaves the connection that it serves.
    pub fn leave(&mut self, me: u64) {
        if let Some(thread) = self.serving.remove(&me) {
            self.remove(thread.role);
        }
    }

    /// Thread `me` waits for something, or goes on; nothing if it keeps its connection.
    pub fn set_aside(&mut self, me: u64, aside: bool) {
        let to = match aside {
            true => Role::Aside,
            false => Role::Works,
        };
        if let Some(thread) = self.serving.get_mut(&me)
            && thread.role != Role::Keeps
        {
            let from = std::mem::replace(&mut thread.role, to);
            self.remove(from);
            self.add(to);
        }
    }

    /// Sets aside those that have worked for longer than the stall limit.
    pub fn set_stalled_aside(&mut self, now: Instant) {
        let stall = self.settings.stall;
        for thread in self.serving.values_mut() {
            let busy = now.saturating_duration_since(thread.since);
            if thread.role == Role::Works && busy >= stall {
                thread.role = Role::Aside;
                self.working -= 1;
            }
        }
    }

    /// Queues connections whose clients have been silent for too long.
    pub fn expire(&mut self, now: Instant) {
        let late = |_: &u64, w: &mut Waiting<C>| w.until.is_some_and(|until| until <= now);
        let expired: Vec<_> = self.waiting.extract_if(late).collect();
        for (_, waiting) in expired {
            self.queue(waiting, Why::Silent);
        }
    }

    /// Ends a period of looking how many connections are active: if they are few again, they may keep their threads.
    pub fn begin_period(&mut self) {
        if self.crowded && self.active + self.keeping + self.ready() <= self.settings.kept() / 2 {
            self.crowded = false;
        }
        self.active = 0;
        self.saw_started = false;
        self.period += 1;
    }

    /// Whether events should be looked at before the next connection is taken: one in a transaction may have sent something, and would go first.
    pub fn wants_look(&self) -> bool {
        let would_pass = self.started.is_empty() && self.passed < STARTED_BEFORE_FRESH;
        self.crowded && self.saw_started && would_pass && !self.fresh.is_empty()
    }

    /// Whether a thread with nothing to do should wait for events: one does, unless what they tell of couldn't be served.
    pub fn wants_poller(&self) -> bool {
        self.polling == 0 && !(self.crowded && self.working >= self.settings.at_work())
    }

    /// Whether a thread with nothing to do may wait for work.
    pub fn may_stay(&self) -> bool {
        self.spare < self.settings.most_spare()
    }

    /// How many threads are missing, those that are coming not among them.
    pub fn missing(&self) -> usize {
        let wanted = self.ready() + usize::from(self.polling == 0);
        let wanted = match self.crowded {
            false => wanted,
            true => {
                let at_work = self.working + self.polling;
                wanted.min(self.settings.at_work().saturating_sub(at_work))
            }
        };
        wanted.saturating_sub(self.coming)
    }

    /// Takes out all connections.
    pub fn drain(&mut self) -> Vec<C> {
        let ready = self.started.drain(..).chain(self.fresh.drain(..));
        let mut all: Vec<C> = ready.map(|job| job.client).collect();
        all.extend(self.waiting.drain().map(|(_, w)| w.client));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(size: usize) -> State<u64> {
        State::new(Settings {
            size,
            keep: 32,
            most_threads: 1000,
            stall: Duration::from_millis(10),
            idle: Duration::from_secs(60),
        })
    }

    fn wait(s: &mut State<u64>, key: u64, started: bool) {
        let waiting = Waiting {
            client: key,
            until: None,
            started,
            period: 0,
        };
        s.waiting.insert(key, waiting);
    }

    fn send(s: &mut State<u64>, keys: std::ops::Range<u64>) {
        for key in keys {
            wait(s, key, false);
            s.sent(key);
        }
    }

    #[test]
    fn few_connections_keep_a_thread_each_and_many_share() {
        let mut s = state(1);
        send(&mut s, 0..32);
        assert_eq!(s.missing(), 33, "one each, and one for events");
        for me in 0..32 {
            assert_eq!(s.take(me).unwrap().1, Role::Keeps);
        }
        assert!(!s.is_crowded());
        assert_eq!(s.missing(), 1);
        send(&mut s, 100..110);
        assert!(s.is_crowded());
        assert_eq!(s.missing(), 2);
        assert_eq!(s.take(50).unwrap().1, Role::Works);
        assert_eq!(s.take(51).unwrap().1, Role::Works);
        assert!(s.take(52).is_none());
        assert_eq!((s.missing(), s.wants_poller()), (0, false));
        s.leave(51);
        assert_eq!((s.missing(), s.wants_poller()), (1, true));
        assert!(s.take(51).is_some());
    }

    #[test]
    fn whoever_waits_or_takes_long_makes_room() {
        let mut s = state(1);
        send(&mut s, 0..40);
        assert!(s.take(1).is_some() && s.take(2).is_some() && s.take(3).is_none());
        s.set_aside(1, true);
        assert_eq!(s.missing(), 1);
        assert!(s.take(3).is_some() && s.take(4).is_none());
        // Back again, there is one more at work than there should be, until one is done.
        s.set_aside(1, false);
        s.leave(2);
        assert!(s.take(2).is_none());
        let later = Instant::now() + s.settings.stall;
        s.set_stalled_aside(later);
        assert!(s.take(4).is_some() && s.take(5).is_some() && s.take(6).is_none());
        for me in 1..6 {
            s.leave(me);
        }
        assert_eq!(s.working, 0);
    }

    #[test]
    fn a_crowd_ends_when_few_are_active() {
        let mut s = state(1);
        send(&mut s, 0..40);
        for _ in 0..3 {
            s.begin_period();
            assert!(s.is_crowded(), "they wait to be served");
        }
        while s.take(1).is_some() {
            s.leave(1);
        }
        s.begin_period();
        assert!(s.is_crowded(), "forty were active");
        send(&mut s, 0..10);
        while s.take(1).is_some() {
            s.leave(1);
        }
        s.begin_period();
        assert!(!s.is_crowded());
    }

    #[test]
    fn transactions_that_are_open_go_first_but_not_for_ever() {
        let mut s = state(1);
        send(&mut s, 0..40);
        for key in 100..120 {
            wait(&mut s, key, true);
            s.sent(key);
        }
        let mut order = Vec::new();
        while let Some((job, _)) = s.take(1) {
            order.push(job.client);
            s.leave(1);
        }
        assert_eq!(
            order[..10],
            [100, 101, 102, 103, 104, 105, 106, 107, 0, 108]
        );
        assert_eq!(order.len(), 60);
    }

    #[test]
    fn a_look_is_worth_it_where_transactions_are_open() {
        let mut s = state(1);
        send(&mut s, 0..40);
        assert!(!s.wants_look());
        wait(&mut s, 100, true);
        s.sent(100);
        assert!(!s.wants_look(), "one is there");
        assert_eq!(s.take(1).unwrap().0.client, 100);
        assert!(s.wants_look());
        s.begin_period();
        assert!(!s.wants_look());
    }

    #[test]
    fn one_thread_is_left_for_events() {
        let mut s = state(1);
        s.settings.most_threads = 3;
        send(&mut s, 0..3);
        assert!(s.is_crowded());
        s.settings.most_threads = 1;
        assert!(s.may_stay() && s.take(1).is_some());
    }

    #[test]
    fn silence_is_told_and_a_stale_event_means_nothing() {
        let mut s = state(1);
        let now = Instant::now();
        wait(&mut s, 1, false);
        wait(&mut s, 2, false);
        s.waiting.get_mut(&1).unwrap().until = Some(now);
        s.expire(now);
        let (job, _) = s.take(9).unwrap();
        assert_eq!((job.client, job.why), (1, Why::Silent));
        s.sent(1);
        assert!(s.take(8).is_none());
        assert_eq!(s.drain(), [2]);
    }
}

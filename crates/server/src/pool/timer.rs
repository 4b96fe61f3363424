//! What is done because time has passed: clients that have been silent for too long, logins that take too long, statements that run for long, a crowd that is over.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{LINGER, Pool, settings};
use crate::backend::Backend;
use crate::conn;

/// How exact timeouts are, and how soon variables take effect.
const SECOND: Duration = Duration::from_secs(1);

impl<B: Backend> Pool<B> {
    /// The timer's life.
    pub(super) fn keep_time(self: Arc<Self>) {
        let mut looked = Instant::now();
        let mut period = looked;
        let mut state = self.state.lock();
        while !state.stopping {
            let pause = match state.is_crowded() {
                true => (state.settings.stall / 2).clamp(LINGER / 20, LINGER / 2),
                false => SECOND,
            };
            self.tick.wait_for(&mut state, pause);
            let now = Instant::now();
            state.set_stalled_aside(now);
            if now - period >= LINGER {
                state.begin_period();
                period = now;
            }
            if now - looked >= SECOND {
                looked = now;
                drop(state);
                let backend = &self.service.backend;
                let settings = settings(backend);
                let registry = &self.service.registry;
                // Those that are silent have been told why they end by then.
                registry.end_logins(conn::connect_timeout(backend) + 2 * SECOND);
                state = self.state.lock();
                state.settings = settings;
                state.expire(now);
            }
            self.settle(&mut state);
        }
        state.timing = false;
        self.ended.notify_all();
    }
}

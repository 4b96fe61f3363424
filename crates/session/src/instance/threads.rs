//! The server's threads, as far as SHOW STATUS tells of them: the server brings them.

use std::sync::Arc;

use super::Instance;

/// A server's threads for connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadCounts {
    /// Those that there are.
    pub threads: u64,
    /// Those of them that serve no connection.
    pub idle: u64,
    /// How many were ever started.
    pub started: u64,
}

/// Counts a server's threads.
pub type ThreadsLook = Arc<dyn Fn() -> ThreadCounts + Send + Sync>;

impl Instance {
    /// SHOW STATUS asks this how many threads there are.
    pub fn show_threads(&self, look: ThreadsLook) {
        *self.0.threads.write() = Some(look);
    }

    /// Rows of SHOW STATUS about threads. Without a server a session counts as one.
    pub(crate) fn thread_status(&self) -> [(&'static str, u64); 4] {
        let look = self.0.threads.read().clone();
        let counts = look.map(|look| look());
        let made = || {
            self.0
                .registry
                .connections
                .load(std::sync::atomic::Ordering::Relaxed)
        };
        let ThreadCounts {
            threads,
            idle,
            started,
        } = counts.unwrap_or_else(|| ThreadCounts {
            threads: self.0.registry.count() as u64,
            idle: 0,
            started: made(),
        });
        [
            ("Threads_cached", idle),
            ("Threads_created", started),
            ("Threadpool_threads", threads),
            ("Threadpool_idle_threads", idle),
        ]
    }
}

//! Who waits: one per connection.

/// One per connection: the party that holds and waits for locks. `Send + Sync`; `kill` may be called
/// from other threads.
pub struct Owner {}

impl Owner {
    /// Number of the owner, unique among living owners.
    pub fn no(&self) -> u32 {
        todo!()
    }
    /// Wakes the owner out of any lock wait with `Interrupted`, now and until [`Owner::clear_kill`].
    pub fn kill(&self) {
        todo!()
    }
    /// Forgets a kill (KILL QUERY affects one statement).
    pub fn clear_kill(&self) {
        todo!()
    }
    /// Whether killed; long scans ask now and then.
    pub fn is_killed(&self) -> bool {
        todo!()
    }
    /// `innodb_lock_wait_timeout`, seconds.
    pub fn set_row_timeout(&self, _seconds: u64) {
        todo!()
    }
    /// `lock_wait_timeout` (metadata locks), seconds.
    pub fn set_metadata_timeout(&self, _seconds: u64) {
        todo!()
    }
    /// A number of the upper layer's (connection id), shown in listings.
    pub fn set_tag(&self, _tag: u64) {
        todo!()
    }
}

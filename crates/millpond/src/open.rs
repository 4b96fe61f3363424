//! What a database and its connections share.

use millpond_session::Instance;

/// Closes the instance when the database and all its connections are gone.
pub(crate) struct Open(pub Instance);

impl Drop for Open {
    fn drop(&mut self) {
        // Whoever wants to know whether this worked calls `Database::close`; what could not be written is in the
        // redo log and recovered at the next open.
        let _ = self.0.close();
    }
}

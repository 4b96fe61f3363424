//! The audit log: who connected and who was refused, which definitions and accounts were changed, and what was denied, a JSON object a
//! line, as MySQL Enterprise's `audit_log_format = JSON` has its fields.
//!
//! | class, event | when |
//! |---|---|
//! | `audit`, `startup`; `shutdown` | the log is turned on, off |
//! | `connection`, `connect`; `change_user`; `disconnect` | a client is let in or refused (`status`: the error's number), goes |
//! | `general`, `status` | a statement has changed definitions or accounts, or tried to; a statement that was refused for want of a privilege; a change of the log's own variables |
//!
//! Events are written in the order they were handed over, by a thread of the log's own ([`LogFile`]): nobody waits. What happened in the last moment
//! before a crash may be missing. Texts have no passwords in them: they are those of the process list.
//!
//! A log that can't be opened keeps the server from starting; one that can't be written, later, loses events, counts them
//! (`Audit_log_events_lost`) and says so in the server's log.

mod event;

use crate::logfile::LogFile;
pub(crate) use event::{Data, Event, Transport, Who};
use millpond_sql::env::now_us;
use parking_lot::Mutex;
use std::io;
use std::path::Path;

/// An instance's audit log.
pub(crate) struct AuditLog {
    file: LogFile,
    /// Number of the next event. Held while it is handed over, so that numbers are in order in the file; the times beside them are of
    /// a moment before.
    next: Mutex<u64>,
}

impl Default for AuditLog {
    fn default() -> AuditLog {
        AuditLog {
            file: LogFile::new("audit log"),
            next: Mutex::default(),
        }
    }
}

/// Whether an error says that a privilege was missing.
pub(crate) fn is_denial(code: u16) -> bool {
    // Of databases, logins, others' connections, tables, columns, what takes a global privilege, routines, roles, what is read at the next start.
    [1044, 1045, 1095, 1142, 1143, 1227, 1370, 3530, 3630].contains(&code)
}

impl AuditLog {
    /// Whether events are wanted.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.file.is_on()
    }

    /// Turns the log on, into this file.
    pub fn start(&self, path: &Path) -> io::Result<()> {
        let was_on = self.is_on();
        self.file.start(path, String::new())?;
        if !was_on {
            self.log(&Event::of_log("startup"));
        }
        Ok(())
    }

    /// Turns the log off.
    pub fn stop(&self) -> io::Result<()> {
        if self.is_on() {
            self.log(&Event::of_log("shutdown"));
        }
        self.file.stop()
    }

    /// Closes the file and opens it by its name again.
    pub fn reopen(&self) -> io::Result<()> {
        self.file.reopen()
    }

    /// `audit_log_rotate_on_size`.
    pub fn rotate_at(&self, bytes: u64) {
        self.file.rotate_at(bytes);
    }

    /// Hands an event over.
    pub fn log(&self, event: &Event<'_>) {
        // Before the lock: a text may be long.
        let (head, tail) = event.line(now_us() / 1_000_000);
        let mut next = self.next.lock();
        let head = format!("{head}{next}");
        *next += 1;
        self.file.push(head.as_bytes(), None, &tail);
    }

    /// Status variables.
    pub fn status(&self) -> [(&'static str, u64); 3] {
        [
            ("Audit_log_current_size", self.file.bytes()),
            ("Audit_log_events", *self.next.lock()),
            ("Audit_log_events_lost", self.file.lost()),
        ]
    }
}

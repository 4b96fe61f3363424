//! The slow query log and the audit log, as their variables say: on or off, and into which file.

use std::path::{Path, PathBuf};

use millpond_sql::error::{SqlError, SqlResult};

use super::{Instance, text};
use crate::audit::{Data, Event, Transport, Who};
use crate::logfile;
use crate::slowlog;
use crate::vars::{self, VarValue};

impl Instance {
    /// Turns the slow query log on if it is to be on from the start. As in MySQL, a file that cannot be opened
    /// does not keep the server from starting.
    pub(super) fn start_slow_log(&self) {
        let admin = self.global_u64("log_slow_admin_statements");
        self.0.slow_log.set_admin(admin == Some(1));
        if let Err(e) = self.apply_slow_log() {
            tracing::error!(error = %e, "the slow query log stays off");
            let off = VarValue::Bool(false);
            self.0.globals.put(vars::known("slow_query_log"), off);
        }
    }

    fn slow_log_path(&self) -> PathBuf {
        let name = self.global_text("slow_query_log_file").unwrap_or_default();
        Path::new(&self.global_text("datadir").unwrap_or_default()).join(name)
    }

    /// The slow query log as its variables say: on or off, and into which file.
    pub(crate) fn apply_slow_log(&self) -> SqlResult<()> {
        let file = vars::known("slow_query_log_file");
        if self.0.globals.get(file).as_str().is_empty() {
            let host = self.global_text("hostname").unwrap_or_default();
            self.0.globals.put(file, text(&format!("{host}-slow.log")));
            // As MySQL shows its default.
            let path = self.slow_log_path();
            self.0.globals.put(file, text(&path.to_string_lossy()));
        }
        let done = if self.global_u64("slow_query_log") == Some(1) {
            // What SET checked may be otherwise by now, and at the start nobody has.
            let path = self.slow_log_path();
            if logfile::is_of(&path, &self.audit_log_path()) {
                let shown = path.to_string_lossy();
                return Err(vars::wrong_value(&vars::all()[file], &shown));
            }
            let program = std::env::args().next().unwrap_or_default();
            let head = slowlog::head(
                &program,
                vars::VERSION,
                self.global_u64("port").unwrap_or(0),
                &self.global_text("socket").unwrap_or_default(),
            );
            self.0.slow_log.start(&self.slow_log_path(), head)
        } else {
            self.0.slow_log.stop()
        };
        done.map_err(|e| cannot_open(&self.slow_log_path(), &e))
    }

    /// Error 1231 for a name that cannot be a log's: neither a file that can be written nor one that could be made, or a file that
    /// the server itself goes by; nor may the audit log be the slow query log's file, who writes to which need not be who is trusted
    /// with the other.
    pub(crate) fn check_log_name(&self, variable: &str, name: &str) -> SqlResult<()> {
        let data = self.global_text("datadir").unwrap_or_default();
        let path = Path::new(&data).join(name);
        let mixed = match variable {
            "audit_log_file" => logfile::is_of(&self.slow_log_path(), &path),
            _ => logfile::is_of(&path, &self.audit_log_path()),
        };
        let fits = match std::fs::metadata(&path) {
            Ok(m) => !m.is_dir() && !m.permissions().readonly(),
            Err(_) => path
                .parent()
                .and_then(|dir| std::fs::metadata(dir).ok())
                .is_some_and(|m| m.is_dir() && !m.permissions().readonly()),
        };
        let fits = fits && logfile::is_for_logs(&path, Path::new(&data));
        match fits && !mixed && !name.is_empty() {
            true => Ok(()),
            false => Err(vars::wrong_value(&vars::all()[vars::known(variable)], name)),
        }
    }

    /// FLUSH SLOW LOGS.
    pub(crate) fn reopen_slow_log(&self) -> SqlResult<()> {
        let reopened = self.0.slow_log.reopen();
        reopened.map_err(|e| cannot_open(&self.slow_log_path(), &e))
    }
}

/// Error 1016 for a log file that cannot be opened.
fn cannot_open(path: &Path, e: &std::io::Error) -> SqlError {
    SqlError::new(
        1016,
        format!(
            "Can't open file: '{}' (errno: {} - {e})",
            path.display(),
            e.raw_os_error().unwrap_or(0)
        ),
    )
}

/// A client that wants to be let in.
pub struct Attempt<'a> {
    /// Its connection.
    pub id: u32,
    /// Who it says it is.
    pub user: &'a str,
    /// Where it is, as the process list shows it.
    pub host: &'a str,
    /// The database that it wants to use.
    pub database: Option<&'a str>,
    /// Whether it came over TLS.
    pub tls: bool,
}

impl Instance {
    /// Turns the audit log on if it is to be on from the start; an error if it can't be: a server that is to be audited doesn't run without.
    pub(super) fn start_audit_log(&self) -> SqlResult<()> {
        let bytes = self.global_u64("audit_log_rotate_on_size");
        self.0.audit.rotate_at(bytes.unwrap_or(0));
        self.apply_audit_log()
    }

    fn audit_log_path(&self) -> PathBuf {
        let name = self.global_text("audit_log_file").unwrap_or_default();
        Path::new(&self.global_text("datadir").unwrap_or_default()).join(name)
    }

    /// The audit log as its variable says: on or off.
    pub(crate) fn apply_audit_log(&self) -> SqlResult<()> {
        let path = self.audit_log_path();
        let done = match self.global_u64("audit_log") == Some(1) {
            true => self.0.audit.start(&path),
            false => self.0.audit.stop(),
        };
        done.map_err(|e| cannot_open(&path, &e))
    }

    /// FLUSH LOGS.
    pub(crate) fn reopen_audit_log(&self) -> SqlResult<()> {
        let reopened = self.0.audit.reopen();
        reopened.map_err(|e| cannot_open(&self.audit_log_path(), &e))
    }

    /// Writes down that a client was refused, when it connected or wanted to become somebody else (`event`).
    pub fn audit_refusal(&self, event: &str, attempt: &Attempt<'_>, why: &SqlError) {
        if !self.0.audit.is_on() {
            return;
        }
        let &Attempt {
            id,
            user,
            host,
            tls,
            ..
        } = attempt;
        let address = host.rsplit_once(':').map_or(host, |(address, _)| address);
        self.0.audit.log(&Event {
            name: event,
            who: Some(Who {
                id,
                account: (user, address),
                user,
                host,
            }),
            data: Data::Connection {
                transport: Transport::of(host, tls),
                status: Some(why.code),
                database: attempt.database.unwrap_or_default(),
            },
        });
    }

    /// Writes what was logged, and closes the files.
    pub(super) fn stop_logs(&self) {
        for (name, stopped) in [
            ("slow query log", self.0.slow_log.stop()),
            ("audit log", self.0.audit.stop()),
        ] {
            if let Err(e) = stopped {
                tracing::error!(error = %e, "cannot close the {name}");
            }
        }
    }
}

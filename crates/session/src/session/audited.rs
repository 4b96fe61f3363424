//! What a session tells the audit log.

use super::Session;
use crate::accounts::names::Name;
use crate::audit::{Data, Event, Transport, Who, is_denial};
use crate::counters::Counter;
use crate::registry::Seat;
use crate::statements::Compiled;
use crate::statements::kinds::Effect;
use millpond_sql::error::{SqlError, SqlResult};
use millpond_sql::parse::ast::{SessionStatement, SetStatement, StatementKind};

impl Session {
    /// A statement, shown as `text`, has run, well or not.
    #[inline]
    pub(super) fn audit_end(&self, compiled: &Compiled, text: &str, result: &SqlResult<()>) {
        if self.instance.0.audit.is_on() {
            self.audit_statement(compiled, text, result);
        }
    }

    #[cold]
    fn audit_statement(&self, compiled: &Compiled, text: &str, result: &SqlResult<()>) {
        // What PREPARE and EXECUTE are about says so itself.
        if let StatementKind::Session(s) = compiled.statement.kind()
            && matches!(
                **s,
                SessionStatement::Prepare { .. } | SessionStatement::Execute { .. }
            )
        {
            return;
        }
        let status = result.as_ref().err().map_or(0, |e| e.code);
        let row = &compiled.row;
        // Transactions end without a word.
        let defines = row.watched.is_ddl()
            || is_of_accounts(compiled)
            || matches!(
                row.effect,
                Effect::Defines | Effect::Temporary | Effect::Rebuilds
            );
        if defines || is_denial(status) {
            self.audit_text(row.kind, text, status);
        }
    }

    /// A command without a statement, or whose statement wasn't run, has failed.
    #[cold]
    pub(super) fn audit_failure(&self, kind: Counter, text: &str, error: &SqlError) {
        if is_denial(error.code) && self.instance.0.audit.is_on() {
            self.audit_text(kind, text, error.code);
        }
    }

    /// The log itself is being set by a statement of this kind, now or for the next start; or it was tried.
    #[cold]
    pub(super) fn audit_setting(&self, kind: Counter, result: &SqlResult<()>) {
        if self.instance.0.audit.is_on() {
            let status = result.as_ref().err().map_or(0, |e| e.code);
            let text = self.seat().text();
            self.audit_text(kind, text.as_deref().unwrap_or_default(), status);
        }
    }

    fn audit_text(&self, kind: Counter, query: &str, status: u16) {
        let name = Counter::NAMES[kind as usize];
        let command = self.seat().command();
        self.audit("status", |_| Data::General {
            command,
            sql_command: name.trim_start_matches("Com_"),
            query,
            status,
        });
    }

    fn audit<'a>(&'a self, name: &'a str, data: impl FnOnce(&'a Seat) -> Data<'a>) {
        let seat: &Seat = self.seat();
        let account = Name::of(&self.env.account.borrow());
        let user = seat.user();
        self.instance.0.audit.log(&Event {
            name,
            who: Some(Who {
                id: seat.id,
                account: (&account.user, &account.host),
                user: &user,
                host: &seat.host,
            }),
            data: data(seat),
        });
    }

    /// A client has been let in: from now on the audit log is told when it goes.
    pub fn audit_connect(&mut self) {
        self.audited = true;
        self.audit_connection("connect", Some(0));
    }

    /// A client has become somebody else.
    pub fn audit_change_user(&self) {
        self.audit_connection("change_user", Some(0));
    }

    pub(super) fn audit_disconnect(&self) {
        if self.audited {
            self.audit_connection("disconnect", None);
        }
    }

    fn audit_connection(&self, name: &str, status: Option<u16>) {
        if !self.instance.0.audit.is_on() {
            return;
        }
        let database = self.env.database.borrow();
        self.audit(name, |seat| Data::Connection {
            transport: Transport::of(&seat.host, seat.tls.is_some()),
            status,
            database: database.as_deref().unwrap_or_default(),
        });
    }
}

/// Whether a statement is about accounts and what they may do.
fn is_of_accounts(compiled: &Compiled) -> bool {
    match compiled.statement.kind() {
        StatementKind::Account(_) => true,
        StatementKind::Set(s) => matches!(**s, SetStatement::Password(_)),
        _ => false,
    }
}

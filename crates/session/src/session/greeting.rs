//! What a client's session does before its first statement (`init_connect`), and who may have one when there are as many as there may be.

use super::Session;
use super::run::Nowhere;
use millpond_sql::error::{SqlError, SqlResult};

impl Session {
    /// Whether its account has CONNECTION_ADMIN, for whom there is a connection beyond `max_connections`.
    pub fn is_administrator(&self) -> bool {
        self.access().has_dynamic("CONNECTION_ADMIN")
    }

    /// Runs the statements of `init_connect`, unless the account has CONNECTION_ADMIN or must change its password first. Error 1184 if one
    /// fails: the client is not let in.
    pub fn run_init_connect(&mut self) -> SqlResult<()> {
        let text = self.instance.global_text("init_connect");
        let Some(text) = text.filter(|t| !t.trim().is_empty()) else {
            return Ok(());
        };
        if self.is_administrator() || self.facts.guard.must_change() {
            return Ok(());
        }
        let multi_statements = std::mem::replace(&mut self.multi_statements, true);
        let done = self.execute(&text, &mut Nowhere);
        self.multi_statements = multi_statements;
        self.env.conversion.diagnostics.get_mut().clear();
        done.map_err(|_| {
            let seat = self.seat();
            let database = self.env.database.borrow();
            let database = database.as_deref().unwrap_or("unconnected");
            let (id, user, host) = (seat.id, seat.user(), &seat.host);
            SqlError::new(
                1184,
                format!(
                    "Aborted connection {id} to db: '{database}' user: '{user}' host: '{host}' (init_connect command failed)"
                ),
            )
        })
    }
}

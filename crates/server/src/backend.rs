//! What the protocol layer needs of a database: [`millpond_session::Instance`] and its sessions, or a stand-in in tests of the
//! protocol alone. Dispatch is static.

use millpond_session::memory::Charge;
use millpond_session::result::Tracked;
use millpond_session::types::Encodings;
use millpond_session::{Admitted, Attempt, Candidate, Client, SqlError, ThreadsLook};
use millpond_session::{ConnectionInfo, Instance, Prepared, ResultSink, Session, SqlResult, Value};
use millpond_session::{Counter, KeptRows, OnDurable, Unsettled};
use std::sync::Arc;

/// A database that connections come to. See [`Instance`] for each method's meaning.
#[allow(missing_docs)]
pub trait Backend: Clone + Send + Sync + 'static {
    type Session: BackendSession + Send;
    fn reserve_id(&self) -> u32;
    fn connect(&self, info: ConnectionInfo) -> SqlResult<Self::Session>;
    fn kill(&self, id: u32, connection: bool) -> SqlResult<()>;
    /// The account that a client says it is: `root` alone, where there are no accounts.
    fn candidate(&self, client: Client, local: bool) -> Candidate {
        Candidate::without_accounts(client, local)
    }
    /// Lets it in, or not.
    fn admit(
        &self,
        candidate: Candidate,
        right: bool,
        _password: Option<&[u8]>,
        gave: bool,
    ) -> SqlResult<Option<Admitted>> {
        match right {
            true => Ok(None),
            false => Err(candidate.refusal(gave)),
        }
    }
    /// Writes down that a client was refused, when it connected or wanted to become somebody else (`event`).
    fn audit_refusal(&self, _event: &str, _attempt: &Attempt<'_>, _why: &SqlError) {}
    /// An account that anybody can log in as. Where there are no accounts, root is one.
    fn open_account(&self) -> Option<String> {
        Some("root@localhost".into())
    }
    fn global_u64(&self, name: &str) -> Option<u64>;
    fn global_text(&self, _name: &str) -> Option<String> {
        None
    }
    /// How many threads the server has, for SHOW STATUS.
    fn show_threads(&self, _look: ThreadsLook) {}
    fn count_aborted_connect(&self);
    fn when_settled(&self, unsettled: &Unsettled, who: Arc<dyn OnDurable>);
    fn settled(&self, unsettled: Unsettled);
}

/// One connection's session. See [`Session`] for each method's meaning.
#[allow(missing_docs)]
pub trait BackendSession {
    fn id(&self) -> u32;
    fn execute(&mut self, sql: &str, sink: &mut dyn ResultSink) -> SqlResult<()>;
    fn prepare(&mut self, sql: &str) -> SqlResult<Arc<Prepared>>;
    fn execute_prepared(
        &mut self,
        statement: &Arc<Prepared>,
        params: &[Value<'_>],
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()>;
    fn use_database(&mut self, name: &str) -> SqlResult<()>;
    fn leave_database(&mut self);
    fn change_account(&mut self, _user: &str, _admitted: &Admitted) -> SqlResult<()> {
        Ok(())
    }
    fn check_kill(&self, _id: u32) -> SqlResult<()> {
        Ok(())
    }
    /// Whether its account has CONNECTION_ADMIN.
    fn is_administrator(&self) -> bool {
        true
    }
    /// Writes down that a client was let in.
    fn audit_connect(&mut self) {}
    /// Writes down that it became somebody else.
    fn audit_change_user(&self) {}
    /// What is done before a client's first statement.
    fn run_init_connect(&mut self) -> SqlResult<()> {
        Ok(())
    }
    fn reset(&mut self) -> SqlResult<()>;
    fn status_flags(&self) -> u16;
    fn killed(&self) -> bool;
    fn wait_timeout(&self) -> u64;
    fn settings_generation(&self) -> u64;
    fn variable_u64(&self, name: &str) -> Option<u64>;
    fn set_multi_statements(&mut self, on: bool);
    fn add_to_counter(&self, counter: Counter, n: u64);
    fn leave_commits_unsettled(&mut self);
    fn take_unsettled(&mut self) -> Option<Unsettled>;
    fn settle(&self, unsettled: Unsettled) -> SqlResult<()>;
    /// UTF-8 both ways unless a session says otherwise.
    fn encodings(&self) -> Arc<Encodings> {
        Arc::default()
    }
    /// To be charged for what a client sends ahead of a statement; `None`: nobody counts.
    fn charge(&self) -> Option<Charge> {
        None
    }
    /// For the rows of a cursor: all in memory unless a session says otherwise.
    fn keep_rows(&self) -> KeptRows {
        KeptRows::default()
    }
    fn set_collation_id(&mut self, _id: u16) {}
    /// What the client is to be told of its session's state with an OK.
    fn take_tracked(&mut self) -> Vec<Tracked> {
        Vec::new()
    }
    fn converted_texts(&mut self, _which: impl Iterator<Item = bool>) {}
    fn set_query_attributes(&mut self, _attributes: Vec<(String, Option<String>)>) {}
}

impl Backend for Instance {
    type Session = Session;
    fn reserve_id(&self) -> u32 {
        Instance::reserve_id(self)
    }
    fn connect(&self, info: ConnectionInfo) -> SqlResult<Session> {
        Instance::connect(self, info)
    }
    fn kill(&self, id: u32, connection: bool) -> SqlResult<()> {
        Instance::kill(self, id, connection)
    }
    fn candidate(&self, client: Client, _local: bool) -> Candidate {
        Instance::candidate(self, client)
    }
    fn admit(
        &self,
        candidate: Candidate,
        right: bool,
        password: Option<&[u8]>,
        gave: bool,
    ) -> SqlResult<Option<Admitted>> {
        Instance::admit(self, candidate, right, password, gave).map(Some)
    }
    fn audit_refusal(&self, event: &str, attempt: &Attempt<'_>, why: &SqlError) {
        Instance::audit_refusal(self, event, attempt, why);
    }
    fn open_account(&self) -> Option<String> {
        Instance::open_account(self)
    }
    fn global_u64(&self, name: &str) -> Option<u64> {
        Instance::global_u64(self, name)
    }
    fn global_text(&self, name: &str) -> Option<String> {
        Instance::global_text(self, name)
    }
    fn show_threads(&self, look: ThreadsLook) {
        Instance::show_threads(self, look)
    }
    fn count_aborted_connect(&self) {
        Instance::count_aborted_connect(self)
    }
    fn when_settled(&self, unsettled: &Unsettled, who: Arc<dyn OnDurable>) {
        Instance::when_settled(self, unsettled, who)
    }
    fn settled(&self, unsettled: Unsettled) {
        Instance::settled(self, unsettled)
    }
}

impl BackendSession for Session {
    fn id(&self) -> u32 {
        Session::id(self)
    }
    #[inline]
    fn execute(&mut self, sql: &str, sink: &mut dyn ResultSink) -> SqlResult<()> {
        Session::execute(self, sql, sink)
    }
    fn prepare(&mut self, sql: &str) -> SqlResult<Arc<Prepared>> {
        Session::prepare(self, sql)
    }
    #[inline]
    fn execute_prepared(
        &mut self,
        statement: &Arc<Prepared>,
        params: &[Value<'_>],
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        Session::execute_prepared(self, statement, params, sink)
    }
    fn leave_database(&mut self) {
        Session::leave_database(self);
    }
    fn change_account(&mut self, user: &str, admitted: &Admitted) -> SqlResult<()> {
        Session::change_account(self, user, admitted)
    }
    fn is_administrator(&self) -> bool {
        Session::is_administrator(self)
    }
    fn audit_connect(&mut self) {
        Session::audit_connect(self);
    }
    fn audit_change_user(&self) {
        Session::audit_change_user(self);
    }
    fn run_init_connect(&mut self) -> SqlResult<()> {
        Session::run_init_connect(self)
    }
    fn check_kill(&self, id: u32) -> SqlResult<()> {
        Session::check_kill(self, id)
    }
    fn use_database(&mut self, name: &str) -> SqlResult<()> {
        Session::use_database(self, name)
    }
    fn reset(&mut self) -> SqlResult<()> {
        Session::reset(self)
    }
    #[inline]
    fn status_flags(&self) -> u16 {
        Session::status_flags(self)
    }
    #[inline]
    fn killed(&self) -> bool {
        Session::killed(self)
    }
    #[inline]
    fn wait_timeout(&self) -> u64 {
        Session::wait_timeout(self)
    }
    #[inline]
    fn settings_generation(&self) -> u64 {
        Session::settings_generation(self)
    }
    fn variable_u64(&self, name: &str) -> Option<u64> {
        Session::variable_u64(self, name)
    }
    fn set_multi_statements(&mut self, on: bool) {
        Session::set_multi_statements(self, on)
    }
    #[inline]
    fn add_to_counter(&self, counter: Counter, n: u64) {
        Session::add_to_counter(self, counter, n)
    }
    fn charge(&self) -> Option<Charge> {
        Some(Session::charge(self))
    }
    fn keep_rows(&self) -> KeptRows {
        Session::keep_rows(self)
    }
    fn leave_commits_unsettled(&mut self) {
        Session::leave_commits_unsettled(self)
    }
    #[inline]
    fn take_unsettled(&mut self) -> Option<Unsettled> {
        Session::take_unsettled(self)
    }
    fn settle(&self, unsettled: Unsettled) -> SqlResult<()> {
        Session::settle(self, unsettled)
    }
    fn encodings(&self) -> Arc<Encodings> {
        Session::encodings(self)
    }
    fn converted_texts(&mut self, which: impl Iterator<Item = bool>) {
        Session::converted_texts(self, which);
    }
    fn set_query_attributes(&mut self, attributes: Vec<(String, Option<String>)>) {
        Session::set_query_attributes(self, attributes);
    }
    fn take_tracked(&mut self) -> Vec<Tracked> {
        Session::take_tracked(self)
    }
    fn set_collation_id(&mut self, id: u16) {
        Session::set_collation_id(self, id);
    }
}

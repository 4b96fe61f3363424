//! HANDLER: tables that a session has opened to read along their indexes. They stay open over ends of transactions, and are closed by HANDLER
//! ... CLOSE, FLUSH TABLES, any change of their tables' definitions, and the session's end.

use super::Session;
use super::run::{no_transaction, sink_error};
use millpond_sql::error::{SqlError, SqlResult};
use millpond_sql::exec::handler::{Asked, Handler, Steps};
use millpond_sql::parse;
use millpond_sql::parse::ast::{HandlerRead, Ident, Limit, ObjectName, SessionStatement};
use millpond_sql::planner::{self, PlanContext};
use millpond_sql::result::{Completion, ResultSink};
use millpond_sql::store_error::interrupted;
use millpond_sql::value::Value;
use millpond_syntax::quote::quote_name;

/// Error 1109.
fn unknown(name: &str) -> SqlError {
    SqlError::new(1109, format!("Unknown table '{name}' in HANDLER"))
}

impl Session {
    /// HANDLER ... OPEN.
    pub(super) fn handler_open(
        &mut self,
        name: &ObjectName,
        alias: Option<&Ident>,
    ) -> SqlResult<()> {
        self.check_no_locked_tables()?;
        self.check_active_xa()?;
        let (database, table) = self.qualified(name)?;
        let alias = alias.map_or(&*table, Ident::as_str).to_string();
        let key = alias.to_lowercase();
        if self.handlers.contains_key(&key) {
            let m = format!("Not unique table/alias: '{alias}'");
            return Err(SqlError::new(1066, m));
        }
        let all = format!(
            "SELECT * FROM {}.{} AS {}",
            quote_name(&database),
            quote_name(&table),
            quote_name(&alias)
        );
        let statement = parse::parse_one(&all, self.env.sql_mode.get())?;
        let opened = self.in_transaction(|s| {
            let txn = s.txn.txn.as_mut().ok_or_else(no_transaction)?;
            let cx = &mut PlanContext {
                engine: &s.instance.0.engine,
                txn,
                env: &s.env,
                params: None,
                peek: false,
                locals: None,
            };
            let plan = planner::compile(&statement, cx)?;
            let [used] = &plan.tables[..] else {
                let m = format!("Table storage engine for '{alias}' doesn't have this option");
                return Err(SqlError::new(1031, m));
            };
            Handler::new(used.table.clone(), plan.columns.clone(), &alias)
        })?;
        self.handlers.insert(key, opened);
        Ok(())
    }

    /// HANDLER ... READ.
    pub(super) fn handler_read(
        &mut self,
        statement: &SessionStatement,
        params: &[Value<'_>],
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        let SessionStatement::HandlerRead {
            table,
            index,
            read,
            filter,
            limit,
        } = statement
        else {
            return Err(SqlError::unsupported(statement));
        };
        self.check_no_locked_tables()?;
        self.check_active_xa()?;
        let name = table.name.as_str();
        let key = name.to_lowercase();
        let limit = self.handler_limit(limit.as_ref(), params)?;
        let values;
        let steps = match read {
            HandlerRead::Step(step) => Steps::Step(*step),
            HandlerRead::Key(compare, list) => {
                let list = list.all();
                let exprs: Vec<_> = list.iter().collect();
                values = self.evaluate(&exprs, params)?;
                Steps::Key(*compare, &values)
            }
        };
        let asked = Asked {
            index: index.as_ref().map(Ident::as_str),
            steps,
            filter: filter.as_ref(),
            limit,
        };
        let mut handler = self.handlers.remove(&key).ok_or_else(|| unknown(name))?;
        let mut is_open = true;
        let sent = self.in_transaction(|s| {
            let owner = s.owner.clone();
            let killed = || match owner.is_killed() {
                true => Err(interrupted()),
                false => Ok(()),
            };
            s.txn.touched = true;
            let txn = s.txn.txn.as_mut().ok_or_else(no_transaction)?;
            is_open = handler.is_open(&s.instance.0.engine, txn)?;
            if !is_open {
                return Err(unknown(name));
            }
            handler.read(txn, &s.env, &asked, &killed, sink)
        });
        if is_open {
            self.handlers.insert(key, handler);
        }
        let sent = sent?;
        self.env.rows_sent.set(sent);
        self.env.row_count.set(-1);
        self.env.found_rows.set(sent);
        let done = Completion {
            warnings: self.warning_count(),
            status: self.status_flags(),
            more,
            tracked: self.tracked(true),
            ..Completion::default()
        };
        sink.finish(&done).map_err(|e| sink_error(&e))
    }

    /// HANDLER ... CLOSE.
    pub(super) fn handler_close(&mut self, table: &ObjectName) -> SqlResult<()> {
        self.check_no_locked_tables()?;
        let name = table.name.as_str();
        let closed = self.handlers.remove(&name.to_lowercase());
        let mut closed = closed.ok_or_else(|| unknown(name))?;
        // That of a table that is gone has been closed by its end.
        let was_open = self.in_transaction(|s| {
            let txn = s.txn.txn.as_mut().ok_or_else(no_transaction)?;
            closed.is_open(&s.instance.0.engine, txn)
        })?;
        match was_open {
            true => Ok(()),
            false => Err(unknown(name)),
        }
    }

    /// How many rows, after how many; one where nothing is said.
    fn handler_limit(
        &mut self,
        limit: Option<&Limit>,
        params: &[Value<'_>],
    ) -> SqlResult<(u64, u64)> {
        let Some(limit) = limit else {
            return Ok((1, 0));
        };
        let mut exprs = vec![&limit.count];
        exprs.extend(&limit.offset);
        let values = self.evaluate(&exprs, params)?;
        let offset = values.get(1).map_or(0, |v| v.to_u64());
        Ok((values[0].to_u64(), offset))
    }

    /// Error 1192 under LOCK TABLES.
    fn check_no_locked_tables(&self) -> SqlResult<()> {
        if self.locked.is_empty() {
            return Ok(());
        }
        Err(SqlError::new(
            1192,
            "Can't execute the given command because you have active locked tables or an active transaction",
        ))
    }
}

//! The commands.

use super::{Connection, attributes};
use crate::backend::{Backend, BackendSession};
use crate::literal;
use crate::proto::{Cursor, binary, capability, command, lenenc, response, status};
use crate::sink::{Format, TextRows, WireSink};
use crate::statements::{Statement, malformed};
use millpond_session::Counter;
use millpond_session::{Completion, Prepared, SqlError, SqlResult, Value};
use smallvec::SmallVec;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

/// The flag of COM_STMT_EXECUTE that asks for a cursor (CURSOR_TYPE_READ_ONLY).
const READ_ONLY_CURSOR: u8 = 1;
/// The flag of COM_STMT_EXECUTE that says how many parameters there are, named ones included.
const PARAMETER_COUNT_AVAILABLE: u8 = 8;
/// Parameters that are bound without allocating.
const INLINE_PARAMS: usize = 16;

impl<B: Backend> Connection<B> {
    /// COM_QUERY.
    #[inline]
    pub(super) fn query(&mut self, body: Range<usize>) {
        let body = match self.capabilities & capability::QUERY_ATTRIBUTES {
            0 => body,
            _ => match self.query_attributes(body) {
                Ok(text) => text,
                Err(e) => return self.err(&e),
            },
        };
        let before = self.session.status_flags();
        let no_escapes = before & status::NO_BACKSLASH_ESCAPES != 0;
        self.incoming.ahead = self.reader.has_more();
        let text = self.reader.bytes(body);
        let (client, converts) = (self.encodings.client(), self.encodings.converts());
        let done = literal::text(text, no_escapes, client, converts).and_then(|sql| {
            let sink = WireSink::new(
                &mut self.writer,
                &mut self.shape,
                Format::Text,
                self.capabilities,
                before,
                &self.encodings,
                None,
            );
            let mut sink = sink.asking(&mut self.incoming);
            self.session.execute(&sql, &mut sink)
        });
        self.forget_attributes();
        if let Some(rest) = self.incoming.take_used() {
            // If that fails, so does the next read.
            let _ = self.reader.resume(&rest);
        }
        if let Err(e) = done {
            self.err(&e);
        }
    }

    /// COM_STMT_EXECUTE. For a read-only cursor the rows are kept for COM_STMT_FETCH.
    #[inline]
    pub(super) fn stmt_execute(&mut self, body: Range<usize>) {
        if let Err(e) = self.try_stmt_execute(body) {
            self.err(&e);
        }
    }

    #[inline]
    fn try_stmt_execute(&mut self, body: Range<usize>) -> SqlResult<()> {
        let mut c = Cursor::new(self.reader.bytes(body));
        let id = c.u32().map_err(malformed)?;
        let statement = self.statements.get(id, "mysqld_stmt_execute")?;
        if statement.long_error().is_some() {
            return match statement.clear_long_data() {
                Some(e) => Err(e),
                None => Ok(()),
            };
        }
        statement.cursor = None;
        let (prepared, shape, types, names, long) = statement.parts();
        let mut params: SmallVec<[Value<'_>; INLINE_PARAMS]> = SmallVec::new();
        // The cursor's type and the iteration count (always 1) come first.
        let head = c.take(5).map_err(malformed);
        // CALL and what has no rows are answered at once.
        let fetched = |head: &[u8]| head[0] & READ_ONLY_CURSOR != 0 && !prepared.columns.is_empty();
        let mut cursor = match &head {
            Ok(head) if fetched(head) => Some(self.session.keep_rows()),
            _ => None,
        };
        let named = self.capabilities & capability::QUERY_ATTRIBUTES != 0;
        let bound = head.and_then(|head| {
            let own = prepared.params;
            let all = match named && (own > 0 || head[0] & PARAMETER_COUNT_AVAILABLE != 0) {
                true => attributes::count(&mut c, own)?,
                false => own,
            };
            let names = named.then_some(&mut *names);
            Statement::bind(types, names, long, all, &mut c, &mut params)
        });
        if let Err(e) = bound {
            drop(params);
            // It is for one execution, whatever becomes of it.
            statement.clear_long_data();
            return Err(e);
        }
        let client = self.encodings.client();
        if !client.is_utf8() {
            let texts = types.iter().map(|ty| !ty.is_bytes());
            self.session.converted_texts(texts);
            binary::decode_texts(client, types, &mut params);
        }
        if params.len() > prepared.params {
            let sent = attributes::of(
                &names[prepared.params..],
                &params[prepared.params..],
                client,
            );
            self.session.set_query_attributes(sent);
            self.has_attributes = true;
            params.truncate(prepared.params);
        }
        let sink = WireSink::new(
            &mut self.writer,
            shape,
            Format::Binary,
            self.capabilities,
            self.session.status_flags(),
            &self.encodings,
            Some(&prepared.columns),
        );
        let mut sink = sink.keeping(cursor.as_mut());
        let done = self.session.execute_prepared(prepared, &params, &mut sink);
        let done = done.map_err(|e| sink.take_error().unwrap_or(e));
        let had_long_data = !long.is_empty();
        drop(params);
        if had_long_data {
            statement.clear_long_data();
        }
        if done.is_ok() {
            statement.cursor = cursor;
        }
        self.forget_attributes();
        done?;
        Ok(())
    }

    /// All other commands.
    pub(super) fn rare_command(&mut self, code: u8, body: Range<usize>) -> ControlFlow<()> {
        let done = match code {
            command::QUIT => return ControlFlow::Break(()),
            command::CHANGE_USER => return self.change_user(body),
            // The two that have no answer.
            command::STMT_SEND_LONG_DATA => {
                self.long_data(body);
                return ControlFlow::Continue(());
            }
            command::STMT_CLOSE => {
                let id = Cursor::new(self.reader.bytes(body)).u32();
                if id.is_ok_and(|id| self.statements.remove(id)) {
                    self.session.add_to_counter(Counter::StmtClose, 1);
                }
                return ControlFlow::Continue(());
            }
            command::STMT_PREPARE => self.prepare(body),
            command::STMT_RESET => self.stmt_reset(body),
            command::STMT_FETCH => self.stmt_fetch(body),
            command::PING => {
                self.ok();
                Ok(())
            }
            command::INIT_DB => self.init_db(body),
            command::RESET_CONNECTION => self.reset_session().map(|()| self.ok()),
            command::SET_OPTION => self.set_option(body),
            command::REFRESH => self.refresh(body),
            command::SHUTDOWN => self.shutdown(),
            command::STATISTICS => self.statistics(),
            command::PROCESS_INFO => self.process_info(),
            command::PROCESS_KILL => self.process_kill(body),
            command::FIELD_LIST => self.field_list(body),
            _ => Err(SqlError::new(1047, "Unknown command")),
        };
        if let Err(e) = done {
            self.err(&e);
        }
        ControlFlow::Continue(())
    }

    fn text(&self, body: Range<usize>) -> SqlResult<String> {
        let no_escapes = self.session.status_flags() & status::NO_BACKSLASH_ESCAPES != 0;
        let (client, converts) = (self.encodings.client(), self.encodings.converts());
        literal::text(self.reader.bytes(body), no_escapes, client, converts).map(|s| s.into_owned())
    }

    fn prepare(&mut self, body: Range<usize>) -> SqlResult<()> {
        let sql = self.text(body)?;
        let prepared = self.session.prepare(&sql)?;
        if prepared.params.max(prepared.columns.len()) > u16::MAX as usize {
            return Err(SqlError::new(
                1390,
                "Prepared statement contains too many placeholders",
            ));
        }
        let id = self.statements.insert(prepared.clone());
        self.answer_prepare(id, &prepared);
        Ok(())
    }

    fn answer_prepare(&mut self, id: u32, prepared: &Arc<Prepared>) {
        let (columns, params) = (prepared.columns.len(), prepared.params);
        self.writer.packet(|p| {
            p.push(0);
            p.extend_from_slice(&id.to_le_bytes());
            p.extend_from_slice(&(columns as u16).to_le_bytes());
            p.extend_from_slice(&(params as u16).to_le_bytes());
            p.extend_from_slice(&[0, 0, 0]);
        });
        for _ in 0..params {
            self.writer.packet(response::parameter);
        }
        if params > 0 {
            self.eof_unless_deprecated();
        }
        for c in prepared.columns.iter() {
            let encoding = self.encodings.results();
            self.writer.packet(|p| response::column(p, c, encoding));
        }
        if columns > 0 {
            self.eof_unless_deprecated();
        }
    }

    fn eof_unless_deprecated(&mut self) {
        if self.capabilities & capability::DEPRECATE_EOF == 0 {
            let status = self.session.status_flags();
            self.writer.packet(|p| response::eof(p, 0, status));
        }
    }

    fn long_data(&mut self, body: Range<usize>) {
        let mut c = Cursor::new(self.reader.bytes(body));
        if let (Ok(id), Ok(param)) = (c.u32(), c.u16())
            && let Ok(s) = self.statements.get(id, "mysqld_stmt_send_long_data")
        {
            let max = self.limits.max_packet;
            s.long_data(param as usize, c.rest(), max, || self.session.charge());
        }
    }

    fn stmt_reset(&mut self, body: Range<usize>) -> SqlResult<()> {
        let id = Cursor::new(self.reader.bytes(body))
            .u32()
            .map_err(malformed)?;
        let statement = self.statements.get(id, "mysqld_stmt_reset")?;
        statement.clear_long_data();
        statement.cursor = None;
        self.ok();
        Ok(())
    }

    fn stmt_fetch(&mut self, body: Range<usize>) -> SqlResult<()> {
        let mut c = Cursor::new(self.reader.bytes(body));
        let id = c.u32().map_err(malformed)?;
        let most = c.u32().map_err(malformed)?;
        let statement = self.statements.get(id, "mysqld_stmt_fetch")?;
        let Some(cursor) = &mut statement.cursor else {
            let m = format!("The statement ({id}) has no open cursor.");
            return Err(SqlError::new(1421, m));
        };
        let mut more = true;
        for _ in 0..most {
            let Some(row) = cursor.take()? else {
                more = false;
                break;
            };
            self.writer.packet(|p| p.extend_from_slice(row));
            // A client that is gone is noticed where the answer ends.
            let _ = self.writer.flush_if_due();
        }
        let left = match more {
            true => status::CURSOR_EXISTS,
            false => {
                statement.cursor = None;
                status::LAST_ROW_SENT
            }
        };
        let status = self.session.status_flags() | left;
        match self.capabilities & capability::DEPRECATE_EOF != 0 {
            true => (self.writer).packet(|p| response::ok(p, 0xfe, &Completion::default(), status)),
            false => self.writer.packet(|p| response::eof(p, 0, status)),
        }
        Ok(())
    }

    fn init_db(&mut self, body: Range<usize>) -> SqlResult<()> {
        let name = self.text(body)?;
        self.session.use_database(&name)?;
        self.ok();
        Ok(())
    }

    /// COM_RESET_CONNECTION's work, and part of COM_CHANGE_USER's.
    pub(super) fn reset_session(&mut self) -> SqlResult<()> {
        self.statements.clear();
        self.session.reset()?;
        self.session
            .set_multi_statements(self.capabilities & capability::MULTI_STATEMENTS != 0);
        Ok(())
    }

    fn set_option(&mut self, body: Range<usize>) -> SqlResult<()> {
        let option = Cursor::new(self.reader.bytes(body))
            .u16()
            .map_err(malformed)?;
        match option {
            0 => self.session.set_multi_statements(true),
            1 => self.session.set_multi_statements(false),
            _ => return Err(SqlError::new(1047, "Unknown command")),
        }
        // The one command besides fetching from a cursor that is answered with EOF whatever was agreed.
        let status = self.session.status_flags();
        self.writer.packet(|p| response::eof(p, 0, status));
        Ok(())
    }

    /// COM_REFRESH: what the statements of its bits do.
    fn refresh(&mut self, body: Range<usize>) -> SqlResult<()> {
        const BITS: [(u8, &str); 7] = [
            (0x01, "FLUSH PRIVILEGES"),
            (0x02, "FLUSH LOGS"),
            (0x04, "FLUSH TABLES"),
            (0x08, "FLUSH HOSTS"),
            (0x10, "FLUSH STATUS"),
            (0x40, "RESET REPLICA"),
            (0x80, "RESET MASTER"),
        ];
        // The bit left out is about threads kept for later connections, of which there are none.
        let bits = *self.reader.bytes(body).first().unwrap_or(&0);
        for (_, statement) in BITS.iter().filter(|(bit, _)| bits & bit != 0) {
            let mut rows = TextRows::default();
            self.session.execute(statement, &mut rows)?;
        }
        self.ok();
        Ok(())
    }

    /// COM_SHUTDOWN, whose kinds are all one: SHUTDOWN.
    fn shutdown(&mut self) -> SqlResult<()> {
        let mut rows = TextRows::default();
        self.session.execute("SHUTDOWN", &mut rows)?;
        self.ok();
        Ok(())
    }

    /// COM_STATISTICS: a line for people, from SHOW GLOBAL STATUS.
    fn statistics(&mut self) -> SqlResult<()> {
        const SHOWN: [(&str, &str); 7] = [
            ("Uptime", "uptime"),
            ("Threads", "threads_connected"),
            ("Questions", "questions"),
            ("Slow queries", "slow_queries"),
            ("Opens", "opened_tables"),
            ("Flush tables", "flush_commands"),
            ("Open tables", "open_tables"),
        ];
        let mut rows = TextRows::default();
        self.session.execute("SHOW GLOBAL STATUS", &mut rows)?;
        let value = |name: &str| {
            let row = rows.rows.iter().find(|r| r[0].eq_ignore_ascii_case(name));
            row.and_then(|r| r.get(1)?.parse::<u64>().ok())
        };
        let mut parts: Vec<String> = SHOWN
            .iter()
            .filter_map(|(label, name)| Some(format!("{label}: {}", value(name)?)))
            .collect();
        if let (Some(up), Some(questions)) = (value("uptime"), value("questions")) {
            let average = questions as f64 / up.max(1) as f64;
            parts.push(format!("Queries per second avg: {average:.3}"));
        }
        let line = parts.join("  ");
        self.writer.packet(|p| p.extend_from_slice(line.as_bytes()));
        Ok(())
    }

    fn process_info(&mut self) -> SqlResult<()> {
        let before = self.session.status_flags();
        let mut sink = WireSink::new(
            &mut self.writer,
            &mut self.shape,
            Format::Text,
            self.capabilities,
            before,
            &self.encodings,
            None,
        );
        self.session.execute("SHOW PROCESSLIST", &mut sink)
    }

    fn process_kill(&mut self, body: Range<usize>) -> SqlResult<()> {
        let id = Cursor::new(self.reader.bytes(body))
            .u32()
            .map_err(malformed)?;
        self.session.check_kill(id)?;
        self.service.backend.kill(id, true)?;
        self.ok();
        Ok(())
    }

    /// COM_FIELD_LIST: the columns of a table whose names match a LIKE pattern.
    fn field_list(&mut self, body: Range<usize>) -> SqlResult<()> {
        let mut c = Cursor::new(self.reader.bytes(body));
        let table = String::from_utf8_lossy(c.nul_bytes().map_err(malformed)?).into_owned();
        let wild = String::from_utf8_lossy(c.nul_or_rest()).to_lowercase();
        let sql = format!("SELECT * FROM `{}` LIMIT 0", table.replace('`', "``"));
        let prepared = self.session.prepare(&sql)?;
        for column in prepared.columns.iter() {
            if wild.is_empty() || like(column.name.to_lowercase().as_bytes(), wild.as_bytes()) {
                let encoding = self.encodings.results();
                self.writer.packet(|p| {
                    response::column(p, column, encoding);
                    // The default value: NULL, as MySQL answers without looking.
                    lenenc::put_bytes(p, b"");
                });
            }
        }
        let status = self.session.status_flags();
        self.writer.packet(|p| response::eof(p, 0, status));
        Ok(())
    }
}

/// Whether `s` matches a pattern of `%`, `_` and `\`. Time at most the product of the lengths, no recursion.
fn like(s: &[u8], pattern: &[u8]) -> bool {
    let (mut i, mut p) = (0, 0);
    // Where the last `%` was, and how far it reaches by now.
    let mut retry: Option<(usize, usize)> = None;
    loop {
        let step = match pattern.get(p..).unwrap_or(&[]) {
            [] => {
                if i == s.len() {
                    return true;
                }
                None
            }
            [b'%', ..] => {
                p += 1;
                retry = Some((p, i));
                continue;
            }
            [b'_', ..] if i < s.len() => Some(1),
            [b'\\', c, ..] if s.get(i) == Some(c) => Some(2),
            [c, ..] if *c != b'_' && s.get(i) == Some(c) => Some(1),
            _ => None,
        };
        match (step, &mut retry) {
            (Some(n), _) => {
                p += n;
                i += 1;
            }
            (None, Some((after, reach))) if *reach < s.len() => {
                *reach += 1;
                (p, i) = (*after, *reach);
            }
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::like;

    #[test]
    fn like_patterns() {
        assert!(like(b"abc", b"a%"));
        assert!(like(b"abc", b"a_c"));
        assert!(like(b"a_c", b"a\\_c"));
        assert!(!like(b"abc", b"a\\_c"));
        assert!(!like(b"abc", b"b%"));
        assert!(like(b"", b"%"));
        assert!(!like(b"", b"_"));
        assert!(like(b"xaybzb", b"%a%b"));
        assert!(!like(&[b'a'; 60], &b"%a".repeat(100)));
        assert!(like(&[b'a'; 60], &b"%a".repeat(60)));
    }
}

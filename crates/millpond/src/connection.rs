//! Connections, prepared statements, transactions.

use std::collections::HashMap;
use std::io;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use millpond_session::result::{ColumnMeta, Completion, ResultSink};
use millpond_session::value::Value;
use millpond_session::{Prepared, Session};

use crate::convert::{FromValue, Params};
use crate::error::{Error, Result};
use crate::open::Open;
use crate::row::{Row, Rows};

/// Prepared statements that a connection keeps for [`Connection::execute`] and [`Connection::query`].
const KEPT_STATEMENTS: usize = 64;

/// How a statement ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Rows inserted, changed or deleted, as MySQL counts them.
    pub affected: u64,
    /// First AUTO_INCREMENT value generated, or 0.
    pub last_insert_id: u64,
    /// Warnings raised; SHOW WARNINGS lists them.
    pub warnings: u16,
    /// MySQL's info text, e.g. `Records: 2  Duplicates: 0  Warnings: 0`.
    pub info: String,
}

impl Outcome {
    fn of(done: &Completion) -> Outcome {
        Outcome {
            affected: done.affected,
            last_insert_id: done.last_insert_id,
            warnings: done.warnings,
            info: done.info.clone(),
        }
    }
}

/// A statement prepared on a connection: planned once, run any number of times on that connection. It goes on
/// working when its tables change, as long as they exist.
#[derive(Clone)]
pub struct Statement {
    prepared: Arc<Prepared>,
}

impl Statement {
    /// Number of its placeholders.
    pub fn param_count(&self) -> usize {
        self.prepared.params
    }
    /// Names of its result's columns; none if it returns no rows.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.prepared.columns.iter().map(|c| c.name.as_str())
    }
}

/// A connection. One thread at a time uses it; dropping it rolls back its transaction.
pub struct Connection {
    // Dropped before `open`, whose end closes the database.
    session: Session,
    kept: HashMap<String, Statement>,
    _open: Arc<Open>,
}

impl Connection {
    pub(crate) fn new(session: Session, open: Arc<Open>) -> Connection {
        Connection {
            session,
            kept: HashMap::new(),
            _open: open,
        }
    }

    /// Runs a statement and drops the rows it may return.
    pub fn execute(&mut self, sql: &str, params: impl Params) -> Result<Outcome> {
        let mut sink = Discard::default();
        self.run(sql, &params.values(), &mut sink)?;
        Ok(sink.outcome)
    }

    /// Runs a query and collects its rows.
    ///
    /// ```
    /// # fn main() -> millpond::Result<()> {
    /// # let dir = std::env::temp_dir().join(format!("millpond-doc-query-{}", std::process::id()));
    /// # let db = millpond::Database::open(&dir)?;
    /// # let mut conn = db.connect()?;
    /// let rows = conn.query("SELECT 1 AS n, ? AS t UNION ALL SELECT 2, NULL", ("one",))?;
    /// assert_eq!(rows.len(), 2);
    /// for row in &rows {
    ///     let n = row.get::<i64>("n")?;
    ///     let t = row.get::<Option<String>>(1)?;
    ///     assert_eq!(t.is_some(), n == 1);
    /// }
    /// # drop(conn);
    /// # db.close()?;
    /// # std::fs::remove_dir_all(&dir).ok();
    /// # Ok(())
    /// # }
    /// ```
    pub fn query(&mut self, sql: &str, params: impl Params) -> Result<Rows> {
        let mut sink = Collect::default();
        self.run(sql, &params.values(), &mut sink)?;
        Ok(sink.rows())
    }

    /// Runs a statement that may return several results, as CALL does, and collects the rows of each, in order. OUT and INOUT parameters
    /// that are placeholders come last, as a result of one row.
    ///
    /// ```
    /// # fn main() -> millpond::Result<()> {
    /// # let dir = std::env::temp_dir().join(format!("millpond-doc-results-{}", std::process::id()));
    /// # let db = millpond::Database::open(&dir)?;
    /// # let mut conn = db.connect()?;
    /// # conn.execute_batch("CREATE DATABASE d; USE d")?;
    /// conn.execute("CREATE PROCEDURE p(a INT, OUT b INT) BEGIN SELECT a; SET b = a + 1; END", ())?;
    /// let results = conn.query_results("CALL p(?, ?)", (1, 0))?;
    /// assert_eq!(results[0].iter().next().unwrap().get::<i64>("a")?, 1);
    /// assert_eq!(results[1].iter().next().unwrap().get::<i64>("b")?, 2);
    /// # drop(conn);
    /// # db.close()?;
    /// # std::fs::remove_dir_all(&dir).ok();
    /// # Ok(())
    /// # }
    /// ```
    pub fn query_results(&mut self, sql: &str, params: impl Params) -> Result<Vec<Rows>> {
        let mut sink = CollectAll::default();
        self.run(sql, &params.values(), &mut sink)?;
        Ok(sink.0.into_iter().map(Collect::rows).collect())
    }

    /// Runs a query and hands its rows to `each` as they come, keeping none. An error from `each` ends the query.
    pub fn query_each(
        &mut self,
        sql: &str,
        params: impl Params,
        each: impl FnMut(Row) -> Result<()>,
    ) -> Result<()> {
        let mut sink = Each {
            columns: Vec::new().into(),
            each,
            error: None,
        };
        let ran = self.run(sql, &params.values(), &mut sink);
        match sink.error {
            Some(e) => Err(e),
            None => ran,
        }
    }

    /// The first row of a query, if it returns any.
    pub fn query_row(&mut self, sql: &str, params: impl Params) -> Result<Option<Row>> {
        Ok(self.query(sql, params)?.into_iter().next())
    }

    /// The first column of a query's first row; [`Error::NoRows`] if there's none.
    pub fn query_value<T: FromValue>(&mut self, sql: &str, params: impl Params) -> Result<T> {
        let row = self.query_row(sql, params)?.ok_or(Error::NoRows)?;
        row.get(0)
    }

    /// Runs a text of several statements; results are dropped, an error ends the text.
    pub fn execute_batch(&mut self, sql: &str) -> Result<()> {
        self.session.set_multi_statements(true);
        let ran = self.session.execute(sql, &mut Discard::default());
        self.session.set_multi_statements(false);
        Ok(ran?)
    }

    /// Prepares a statement.
    pub fn prepare(&mut self, sql: &str) -> Result<Statement> {
        Ok(Statement {
            prepared: self.session.prepare(sql)?,
        })
    }

    /// Runs a prepared statement and drops the rows it may return.
    pub fn execute_prepared(
        &mut self,
        statement: &Statement,
        params: impl Params,
    ) -> Result<Outcome> {
        let mut sink = Discard::default();
        self.session
            .execute_prepared(&statement.prepared, &params.values(), &mut sink)?;
        Ok(sink.outcome)
    }

    /// Runs a prepared query and collects its rows.
    pub fn query_prepared(&mut self, statement: &Statement, params: impl Params) -> Result<Rows> {
        let mut sink = Collect::default();
        self.session
            .execute_prepared(&statement.prepared, &params.values(), &mut sink)?;
        Ok(sink.rows())
    }

    /// Starts a transaction. It is rolled back when the guard is dropped without a commit.
    ///
    /// ```
    /// # fn main() -> millpond::Result<()> {
    /// # let dir = std::env::temp_dir().join(format!("millpond-doc-transaction-{}", std::process::id()));
    /// # let db = millpond::Database::open(&dir)?;
    /// # let mut conn = db.connect()?;
    /// # conn.execute_batch("CREATE DATABASE d; USE d; CREATE TABLE t (a INT PRIMARY KEY)")?;
    /// let mut tx = conn.transaction()?;
    /// tx.execute("INSERT INTO t VALUES (1)", ())?;
    /// tx.commit()?;
    ///
    /// let mut tx = conn.transaction()?;
    /// tx.execute("INSERT INTO t VALUES (2)", ())?;
    /// drop(tx);
    ///
    /// assert_eq!(conn.query_value::<i64>("SELECT COUNT(*) FROM t", ())?, 1);
    /// # drop(conn);
    /// # db.close()?;
    /// # std::fs::remove_dir_all(&dir).ok();
    /// # Ok(())
    /// # }
    /// ```
    pub fn transaction(&mut self) -> Result<Transaction<'_>> {
        self.execute("START TRANSACTION", ())?;
        Ok(Transaction {
            conn: self,
            open: true,
        })
    }

    /// Makes a database the current one.
    pub fn use_database(&mut self, name: &str) -> Result<()> {
        Ok(self.session.use_database(name)?)
    }

    /// Connection id, as SHOW PROCESSLIST and KILL know it.
    pub fn id(&self) -> u32 {
        self.session.id()
    }

    /// The session underneath, for what this API does not cover.
    pub fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    fn run(&mut self, sql: &str, params: &[Value<'_>], sink: &mut dyn ResultSink) -> Result<()> {
        if params.is_empty() {
            return Ok(self.session.execute(sql, sink)?);
        }
        let statement = match self.kept.get(sql) {
            Some(kept) => kept.clone(),
            None => {
                let statement = self.prepare(sql)?;
                if self.kept.len() >= KEPT_STATEMENTS {
                    self.kept.clear();
                }
                self.kept.insert(sql.to_string(), statement.clone());
                statement
            }
        };
        Ok(self
            .session
            .execute_prepared(&statement.prepared, params, sink)?)
    }
}

/// A transaction: a connection that rolls back when this is dropped before [`Transaction::commit`].
pub struct Transaction<'c> {
    conn: &'c mut Connection,
    open: bool,
}

impl Transaction<'_> {
    /// Commits.
    pub fn commit(mut self) -> Result<()> {
        self.open = false;
        self.conn.execute("COMMIT", ()).map(|_| ())
    }
    /// Rolls back.
    pub fn rollback(mut self) -> Result<()> {
        self.open = false;
        self.conn.execute("ROLLBACK", ()).map(|_| ())
    }
}

impl Deref for Transaction<'_> {
    type Target = Connection;
    fn deref(&self) -> &Connection {
        self.conn
    }
}

impl DerefMut for Transaction<'_> {
    fn deref_mut(&mut self) -> &mut Connection {
        self.conn
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if self.open {
            // A failure leaves nothing committed; the next statement on the connection reports what is wrong.
            let _ = self.conn.execute("ROLLBACK", ());
        }
    }
}

/// Keeps the outcome only.
#[derive(Default)]
struct Discard {
    outcome: Outcome,
}

impl ResultSink for Discard {
    fn columns(&mut self, _columns: &[ColumnMeta]) -> io::Result<()> {
        Ok(())
    }
    fn row(&mut self, _row: &[Value<'_>]) -> io::Result<()> {
        Ok(())
    }
    fn finish(&mut self, done: &Completion) -> io::Result<()> {
        self.outcome = Outcome::of(done);
        Ok(())
    }
}

fn names(columns: &[ColumnMeta]) -> Arc<[String]> {
    columns.iter().map(|c| c.name.clone()).collect()
}

fn owned(columns: &Arc<[String]>, row: &[Value<'_>]) -> Row {
    Row {
        columns: columns.clone(),
        values: row.iter().map(|v| v.clone().into_owned()).collect(),
    }
}

/// Keeps the rows.
#[derive(Default)]
struct Collect {
    columns: Arc<[String]>,
    rows: Vec<Row>,
}

impl Collect {
    fn rows(self) -> Rows {
        Rows {
            columns: self.columns,
            rows: self.rows,
        }
    }
}

impl ResultSink for Collect {
    fn columns(&mut self, columns: &[ColumnMeta]) -> io::Result<()> {
        self.columns = names(columns);
        self.rows.clear();
        Ok(())
    }
    fn row(&mut self, row: &[Value<'_>]) -> io::Result<()> {
        self.rows.push(owned(&self.columns, row));
        Ok(())
    }
    fn finish(&mut self, _done: &Completion) -> io::Result<()> {
        Ok(())
    }
}

/// Keeps the rows of each result.
#[derive(Default)]
struct CollectAll(Vec<Collect>);

impl ResultSink for CollectAll {
    fn columns(&mut self, columns: &[ColumnMeta]) -> io::Result<()> {
        let mut next = Collect::default();
        next.columns(columns)?;
        self.0.push(next);
        Ok(())
    }
    fn row(&mut self, row: &[Value<'_>]) -> io::Result<()> {
        self.0.last_mut().map_or(Ok(()), |last| last.row(row))
    }
    fn finish(&mut self, _done: &Completion) -> io::Result<()> {
        Ok(())
    }
}

/// Hands rows on.
struct Each<F> {
    columns: Arc<[String]>,
    each: F,
    error: Option<Error>,
}

impl<F: FnMut(Row) -> Result<()>> ResultSink for Each<F> {
    fn columns(&mut self, columns: &[ColumnMeta]) -> io::Result<()> {
        self.columns = names(columns);
        Ok(())
    }
    fn row(&mut self, row: &[Value<'_>]) -> io::Result<()> {
        (self.each)(owned(&self.columns, row)).map_err(|e| {
            self.error = Some(e);
            io::Error::other("the receiver of the rows ended the query")
        })
    }
    fn finish(&mut self, _done: &Completion) -> io::Result<()> {
        Ok(())
    }
}

//! The load's requests: statements of sysbench's `oltp_read_write` in the same mix, each a transaction of its own, so that one that
//! waits holds up no other by the client's doing. Of seventeen requests ten are point selects, four ranges of a hundred rows (plain, summed,
//! ordered, distinct), one updates an indexed and one a plain column, one deletes a row and inserts it again. Rows are
//! chosen evenly. Statements are prepared once, but for BEGIN and COMMIT.

use super::tables::{LOADED, digits};
use crate::Result;
use crate::frame::DATABASE;
use crate::random::Random;
use crate::target::{Client, Param, StatementId, Target, is_conflict};

/// Rows of a range.
const RANGE: u64 = 100;
/// Different strings that a connection writes.
const STRINGS: usize = 64;

/// A connection that sends requests.
pub(super) struct Requests<'a> {
    client: Box<dyn Client + 'a>,
    rows: u64,
    random: Random,
    strings: Vec<(String, String)>,
    statements: Statements,
}

struct Statements {
    point: StatementId,
    ranges: [StatementId; 4],
    update_index: StatementId,
    update_plain: StatementId,
    delete: StatementId,
    insert: StatementId,
}

impl Statements {
    fn prepare(client: &mut dyn Client) -> Result<Statements> {
        let mut p = |text: &str| client.prepare(&text.replace("$t", LOADED));
        Ok(Statements {
            point: p("SELECT c FROM $t WHERE id=?")?,
            ranges: [
                p("SELECT c FROM $t WHERE id BETWEEN ? AND ?")?,
                p("SELECT SUM(k) FROM $t WHERE id BETWEEN ? AND ?")?,
                p("SELECT c FROM $t WHERE id BETWEEN ? AND ? ORDER BY c")?,
                p("SELECT DISTINCT c FROM $t WHERE id BETWEEN ? AND ? ORDER BY c")?,
            ],
            update_index: p("UPDATE $t SET k=k+1 WHERE id=?")?,
            update_plain: p("UPDATE $t SET c=? WHERE id=?")?,
            delete: p("DELETE FROM $t WHERE id=?")?,
            insert: p("INSERT INTO $t (id, k, c, pad) VALUES (?, ?, ?, ?)")?,
        })
    }
}

impl<'a> Requests<'a> {
    /// Connects and prepares.
    pub fn connect(target: &'a dyn Target, rows: u64, seed: u64) -> Result<Requests<'a>> {
        let mut client = target.connect()?;
        client.run(&format!("USE {DATABASE}"))?;
        let statements = Statements::prepare(&mut *client)?;
        let mut random = Random::new(seed);
        let string = |_| (digits(&mut random, 10), digits(&mut random, 5));
        let strings = (0..STRINGS).map(string).collect();
        Ok(Requests {
            client,
            rows,
            random,
            strings,
            statements,
        })
    }

    /// Sends the next request and waits for its answer; after a deadlock, or a lock wait that took too long, again.
    pub fn send(&mut self) -> Result<()> {
        let kind = self.random.below(17);
        while let Err(e) = self.once(kind) {
            if !is_conflict(&e) {
                return Err(e);
            }
            self.client.run("ROLLBACK")?;
        }
        Ok(())
    }

    fn once(&mut self, kind: u64) -> Result<()> {
        let id = self.id();
        match kind {
            0..10 => self.client.execute(self.statements.point, &[id]),
            10..14 => {
                let first = self.random.below(self.rows.saturating_sub(RANGE) + 1) as i64 + 1;
                let params = [Param::Int(first), Param::Int(first + RANGE as i64 - 1)];
                let range = self.statements.ranges[kind as usize - 10];
                self.client.execute(range, &params)
            }
            14 => self.client.execute(self.statements.update_index, &[id]),
            15 => {
                let string = self.random.below(STRINGS as u64) as usize;
                let params = [Param::Text(&self.strings[string].0), id];
                self.client.execute(self.statements.update_plain, &params)
            }
            _ => self.exchange(id),
        }
    }

    /// Deletes a row and inserts it again.
    fn exchange(&mut self, id: Param<'_>) -> Result<()> {
        let k = self.id();
        let (c, pad) = &self.strings[self.random.below(STRINGS as u64) as usize];
        let values = [id, k, Param::Text(c), Param::Text(pad)];
        // MySQL does not prepare BEGIN (1295).
        self.client.run("BEGIN")?;
        self.client.execute(self.statements.delete, &[id])?;
        self.client.execute(self.statements.insert, &values)?;
        self.client.run("COMMIT").map(drop)
    }

    fn id(&mut self) -> Param<'static> {
        Param::Int(self.random.below(self.rows) as i64 + 1)
    }
}

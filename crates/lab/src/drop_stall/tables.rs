//! The tables: sysbench's columns and contents.

use super::Plan;
use crate::Result;
use crate::bulk;
use crate::fill::{Fill, Filled, dirty};
use crate::frame::{Lease, PoolPages, Progress, Size, Stop};
use crate::random::Random;
use crate::target::{Client, Target};

/// The table under load.
pub(super) const LOADED: &str = "sbtest";
/// A row that is changed where no table is dropped.
const INSTEAD: &str = "instead";
/// Bytes that a row takes, with its entry in the index, about.
pub(super) const ROW_BYTES: u64 = 235;

/// Rows that one dirtying statement passes over.
const PASS: u64 = 8192;
/// One row in so many is changed to make pages of the filling table dirty: a page holds as many.
const STRIDE: u64 = 4;
/// Rows that one copying statement copies.
const COPY: u64 = 40_000;
/// Look-ups that make a table's pages known to an adaptive hash index.
const LOOKUPS: u64 = 400;

fn create(name: &str) -> String {
    format!(
        "CREATE TABLE {name} (id INT NOT NULL PRIMARY KEY, k INT NOT NULL DEFAULT 0, c CHAR(120) NOT NULL DEFAULT '', \
         pad CHAR(60) NOT NULL DEFAULT '')"
    )
}

/// Groups of eleven digits, as sysbench has them.
pub(super) fn digits(random: &mut Random, groups: usize) -> String {
    let group = |_| format!("{:011}", random.below(100_000_000_000));
    let groups: Vec<String> = (0..groups).map(group).collect();
    groups.join("-")
}

/// Makes and fills the table under load. Counts units of progress.
pub(super) fn load(
    target: &dyn Target,
    lease: &mut Lease<'_>,
    rows: u64,
    progress: &Progress,
    stop: &Stop,
) -> Result<()> {
    lease.client.run(&create(LOADED))?;
    for sql in [
        format!("CREATE TABLE {INSTEAD} (id INT NOT NULL PRIMARY KEY, changes INT NOT NULL)"),
        format!("INSERT INTO {INSTEAD} VALUES (1, 0)"),
    ] {
        lease.client.run(&sql)?;
    }
    let insert = |from, until, random: &mut Random| insert(from, until, rows, random);
    bulk::load(target, rows, insert, progress, stop)?;
    if stop.is_set() {
        return Ok(());
    }
    let index = format!("CREATE INDEX k_1 ON {LOADED} (k)");
    lease.client.run(&index)?;
    // The clustered index once over, then the other.
    for sql in [
        format!("SELECT COUNT(*) FROM {LOADED} WHERE pad = ''"),
        format!("SELECT SUM(k) FROM {LOADED}"),
    ] {
        lease.client.run(&sql)?;
    }
    Ok(())
}

fn insert(from: u64, until: u64, rows: u64, random: &mut Random) -> String {
    let values: Vec<String> = (from..until)
        .map(|id| {
            let k = random.below(rows) + 1;
            let (c, pad) = (digits(random, 10), digits(random, 5));
            format!("({id},{k},'{c}','{pad}')")
        })
        .collect();
    format!(
        "INSERT INTO {LOADED} (id,k,c,pad) VALUES {}",
        values.join(",")
    )
}

/// What else is cached: a table that nobody reads, of which a part is kept dirty.
#[derive(Default)]
pub(super) struct Cached {
    fill: Fill,
    /// Where dirtying goes on.
    next: u64,
}

impl Cached {
    /// Grows until so much is cached; false if the pool does not hold it.
    pub fn grow(
        &mut self,
        lease: &mut Lease<'_>,
        size: Size,
        progress: &Progress,
        stop: &Stop,
    ) -> Result<bool> {
        Ok(self.fill.grow_to(lease, size, progress, stop)? != Filled::PoolFull)
    }

    /// Changes rows until a share of the cached pages is dirty, or all were changed once.
    pub fn dirty(&mut self, lease: &mut Lease<'_>, share: f64, stop: &Stop) -> Result<PoolPages> {
        let rows = self.fill.rows();
        let passes = rows.div_ceil(PASS);
        let next = &mut self.next;
        let statements = (0..passes).map(|_| {
            let from = *next % passes * PASS;
            *next += 1;
            // Another text each time round, or the row would be found to be as it is to be.
            let round = *next / passes;
            format!(
                "UPDATE fill SET pad = CONCAT('{round:010} ', SUBSTRING(pad, 12)) WHERE id >= {from} AND id < {} AND id % {STRIDE} = 0",
                from + PASS
            )
        });
        dirty(lease, share, statements, stop)
    }
}

/// The tables that are dropped.
pub(super) struct Drops {
    made: u64,
    dropped: u64,
    rows: u64,
    /// They are created as they are dropped.
    churn: bool,
    /// They are looked up often before.
    hot: bool,
}

impl Drops {
    pub fn new(plan: &Plan) -> Drops {
        Drops {
            made: 0,
            dropped: 0,
            rows: plan.drop_rows.min(plan.rows),
            churn: plan.churn,
            hot: plan.hot,
        }
    }

    /// Of the table of this number.
    pub fn name(number: u64) -> String {
        format!("sbtest_{number}")
    }

    /// How many were dropped.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Makes so many to drop, those included that are left of a run that was cut short.
    pub fn make(&mut self, lease: &mut Lease<'_>, number: usize, stop: &Stop) -> Result<()> {
        while !self.churn && self.made < self.dropped + number as u64 && !stop.is_set() {
            let name = Drops::name(self.made);
            lease.client.run(&create(&name))?;
            self.made += 1;
            for from in (0..self.rows).step_by(COPY as usize) {
                let until = (from + COPY).min(self.rows);
                lease.client.run(&format!(
                    "INSERT INTO {name} SELECT * FROM {LOADED} WHERE id > {from} AND id <= {until}"
                ))?;
            }
            if self.hot {
                self.look_up(lease, &name)?;
            }
        }
        Ok(())
    }

    fn look_up(&self, lease: &mut Lease<'_>, name: &str) -> Result<()> {
        for i in 0..LOOKUPS {
            let id = i % self.rows.max(1) + 1;
            let sql = format!("SELECT c FROM {name} WHERE id = {id}");
            lease.client.run(&sql)?;
        }
        Ok(())
    }

    /// Does in place of a drop what any statement does that commits as little.
    pub fn instead(&self, client: &mut dyn Client) -> Result<()> {
        let sql = format!("UPDATE {INSTEAD} SET changes = changes + 1 WHERE id = 1");
        client.run(&sql).map(drop)
    }

    /// Drops the next.
    pub fn next(&mut self, client: &mut dyn Client) -> Result<()> {
        let name = Drops::name(self.dropped);
        if self.churn {
            client.run(&create(&name))?;
        }
        client.run(&format!("DROP TABLE {name}"))?;
        self.dropped += 1;
        Ok(())
    }
}

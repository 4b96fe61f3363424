//! The tables: sysbench's columns and contents.

use super::{Plan, TABLE_ROWS};
use crate::Result;
use crate::bulk;
use crate::fill::{dirty, settle};
use crate::frame::{Lease, PoolPages, Progress, Stop};
use crate::random::Random;
use crate::target::Target;

/// The table under load.
pub(super) const LOADED: &str = "sbtest";
/// The large table that is dropped.
pub(super) const LARGE: &str = "sbtest_large";
/// Bytes that a row takes, with its entry in the index, about.
pub(super) const ROW_BYTES: u64 = 235;

/// One row in so many is changed to make pages dirty: a page holds more.
const STRIDE: u64 = 40;
/// Rows that one dirtying statement passes over.
const PASS: u64 = 40_000;

/// The name of a small table to drop.
pub(super) fn small(number: u32) -> String {
    format!("sbtest_small_{number}")
}

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
    let insert = |from, until, random: &mut Random| insert(from, until, rows, random);
    bulk::load(target, rows, insert, progress, stop)?;
    if stop.is_set() {
        return Ok(());
    }
    let index = format!("CREATE INDEX k_1 ON {LOADED} (k)");
    lease.client.run(&index).map(drop)
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

/// Makes what is to be dropped, reads the table under load once over, and makes pages dirty up to the ratio asked for.
pub(super) fn prepare(
    lease: &mut Lease<'_>,
    plan: &Plan,
    drops: bool,
    stop: &Stop,
) -> Result<PoolPages> {
    if drops {
        make_dropped(lease, plan, stop)?;
    }
    // The clustered index, then the other.
    for sql in [
        format!("SELECT COUNT(*) FROM {LOADED} WHERE pad = ''"),
        format!("SELECT SUM(k) FROM {LOADED}"),
    ] {
        lease.client.run(&sql)?;
    }
    let share = 1.0 / plan.dirty_ratio;
    settle(lease, share, stop)?;
    dirty(lease, share, touches(LOADED, plan.rows), stop)
}

/// Statements that change a row of each page of a table.
fn touches(table: &str, rows: u64) -> impl Iterator<Item = String> {
    let mut random = Random::new(rows);
    (1..=rows).step_by(PASS as usize).map(move |from| {
        let until = (from + PASS).min(rows + 1);
        let pad = digits(&mut random, 5);
        format!(
            "UPDATE {table} SET pad = '{pad}' WHERE id >= {from} AND id < {until} AND id % {STRIDE} = 0"
        )
    })
}

fn make_dropped(lease: &mut Lease<'_>, plan: &Plan, stop: &Stop) -> Result<()> {
    for (_, ddl) in &plan.schedule {
        if let super::Ddl::DropSmall(n) = ddl
            && !stop.is_set()
        {
            lease.client.run(&create(&small(*n)))?;
            copy(lease, &small(*n), 0, TABLE_ROWS.min(plan.rows))?;
        }
    }
    if plan.drop_rows == 0 {
        return Ok(());
    }
    lease.client.run(&create(LARGE))?;
    let mut made = 0;
    while made < plan.drop_rows && !stop.is_set() {
        let n = PASS.min(plan.drop_rows - made).min(plan.rows);
        copy(lease, LARGE, made, n)?;
        made += n;
    }
    // Half of it is changed again, after what the server has written meanwhile.
    for sql in touches(LARGE, made / 2) {
        lease.client.run(&sql)?;
    }
    Ok(())
}

/// Copies the first rows of the table under load, their ids moved up.
fn copy(lease: &mut Lease<'_>, to: &str, ids: u64, rows: u64) -> Result<()> {
    let sql = format!(
        "INSERT INTO {to} (id,k,c,pad) SELECT id + {ids}, k, c, pad FROM {LOADED} WHERE id <= {rows}"
    );
    lease.client.run(&sql).map(drop)
}

/// Removes what a run that was cut short left.
pub(super) fn clear(lease: &mut Lease<'_>, plan: &Plan) -> Result<()> {
    for (_, ddl) in &plan.schedule {
        let name = match ddl {
            super::Ddl::DropSmall(n) => small(*n),
            super::Ddl::DropLarge => LARGE.to_string(),
            super::Ddl::Churn(_) => continue,
        };
        lease.client.run(&format!("DROP TABLE IF EXISTS {name}"))?;
    }
    Ok(())
}

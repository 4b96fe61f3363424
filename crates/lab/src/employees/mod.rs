//! The table of experiments on rebuilding and altering: like `employees` of MySQL's sample database, which "Speeding up OPTIMIZE for
//! InnoDB tables" rebuilds. Two columns more, `badge` and `dept`, are there for a unique and a foreign key.
//!
//! | module | owns |
//! |---|---|
//! | `contents` | rows at random |
//! | [`beside`] | point reads and writes on the table while something else is done to it |
//!
//! Whatever keys are asked for, the table has four secondary indexes over the same columns, so that a difference is the constraint's
//! alone. The article doesn't tell its own.

pub mod beside;
mod contents;

use crate::Result;
use crate::bulk;
use crate::frame::{Lease, Place};
use crate::random::Random;
use crate::target::{Client, Target};
use contents::{columns, row};
use std::sync::atomic::{AtomicU64, Ordering};

/// Rows of the sample database's table, and so of the article's.
pub const ARTICLE_ROWS: u64 = 300_024;
/// Its name.
pub const TABLE: &str = "employees";
/// The first `emp_no`.
const FIRST: u64 = 10_001;
/// What `dept` refers to, from 1.
const DEPARTMENTS: u64 = 9;
/// Rows of a statement that removes rows, and of one that brings them back.
const BATCH: u64 = 500;

/// Which constraints the table has besides its primary key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, clap::ValueEnum)]
pub enum Keys {
    /// None.
    Plain,
    /// A unique key.
    Unique,
    /// A foreign key.
    ForeignKey,
    /// A unique and a foreign key.
    Both,
}

impl Keys {
    /// In the order of reports.
    pub const ALL: [Keys; 4] = [Keys::Plain, Keys::Unique, Keys::ForeignKey, Keys::Both];

    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Keys::Plain => "plain",
            Keys::Unique => "unique",
            Keys::ForeignKey => "foreign key",
            Keys::Both => "unique, foreign key",
        }
    }

    /// The clauses of an ALTER TABLE that makes one into the other; empty if there is nothing to do.
    fn change(self, to: Keys) -> String {
        let unique = |k| matches!(k, Keys::Unique | Keys::Both);
        let foreign = |k| matches!(k, Keys::ForeignKey | Keys::Both);
        let mut clauses = Vec::new();
        match (unique(self), unique(to)) {
            (false, true) => clauses.push("DROP KEY badge, ADD UNIQUE KEY badge (badge)"),
            (true, false) => clauses.push("DROP KEY badge, ADD KEY badge (badge)"),
            _ => {}
        }
        match (foreign(self), foreign(to)) {
            (false, true) => clauses.push(
                "ADD CONSTRAINT works_in FOREIGN KEY (dept) REFERENCES departments (dept_no)",
            ),
            (true, false) => clauses.push("DROP FOREIGN KEY works_in"),
            _ => {}
        }
        clauses.join(", ")
    }
}

/// The table in a target.
pub struct Employees {
    rows: u64,
    /// An `emp_no` that no row has had.
    unused: AtomicU64,
}

impl Employees {
    /// Makes and fills the table, plain, with further columns that have defaults (`, name TYPE …`). Counts units of progress.
    pub(crate) fn create(
        target: &dyn Target,
        lease: &mut Lease<'_>,
        rows: u64,
        further: &str,
        on: Place<'_>,
    ) -> Result<Employees> {
        lease.client.run(
            "CREATE TABLE departments (dept_no INT NOT NULL PRIMARY KEY, dept_name VARCHAR(40) NOT NULL)",
        )?;
        let departments: Vec<String> = (1..=DEPARTMENTS)
            .map(|n| format!("({n}, 'Department {n}')"))
            .collect();
        let departments = departments.join(", ");
        lease
            .client
            .run(&format!("INSERT INTO departments VALUES {departments}"))?;
        lease.client.run(&format!(
            "CREATE TABLE {TABLE} (emp_no INT NOT NULL PRIMARY KEY, birth_date DATE NOT NULL, first_name VARCHAR(14) NOT NULL, \
             last_name VARCHAR(16) NOT NULL, gender ENUM('M','F') NOT NULL, hire_date DATE NOT NULL, badge INT NOT NULL, \
             dept INT NOT NULL{further}, KEY name (last_name, first_name), KEY hire_date (hire_date), KEY badge (badge), \
             KEY dept (dept)) DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci"
        ))?;
        let insert = |from: u64, until: u64, random: &mut Random| {
            insert((from..until).map(|n| FIRST + n - 1), random)
        };
        bulk::load(target, rows, insert, on.progress, on.stop)?;
        Ok(Employees {
            rows,
            unused: AtomicU64::new(FIRST + rows),
        })
    }

    /// Gives the table other keys.
    pub fn set_keys(&self, client: &mut dyn Client, from: Keys, to: Keys) -> Result<()> {
        let clauses = from.change(to);
        if clauses.is_empty() {
            return Ok(());
        }
        client
            .run(&format!("ALTER TABLE {TABLE} {clauses}"))
            .map(drop)
    }

    /// Removes a part of the rows, here and there, and brings them back with other names and dates, so that pages are split and
    /// partly empty.
    pub fn fragment(&self, client: &mut dyn Client, part: f64, random: &mut Random) -> Result<()> {
        let mut left = (self.rows as f64 * part) as u64;
        while left > 0 {
            let some = BATCH.min(left);
            let mut numbers: Vec<u64> = (0..some).map(|_| self.any(random)).collect();
            numbers.sort();
            numbers.dedup();
            let list: Vec<String> = numbers.iter().map(u64::to_string).collect();
            let list = list.join(",");
            client.run(&format!("DELETE FROM {TABLE} WHERE emp_no IN ({list})"))?;
            client.run(&insert(numbers.into_iter(), random))?;
            left -= some;
        }
        Ok(())
    }

    /// Fails unless all rows are there.
    pub fn check(&self, client: &mut dyn Client) -> Result<()> {
        let sql = format!(
            "SELECT COUNT(*) FROM {TABLE} WHERE emp_no < {}",
            FIRST + self.rows
        );
        let found = client.value(&sql)?.and_then(|n| n.parse::<u64>().ok());
        match found {
            Some(n) if n == self.rows => Ok(()),
            _ => Err(format!("{} rows were written, {sql} gives {found:?}", self.rows).into()),
        }
    }

    /// Number of a row that is there.
    fn any(&self, random: &mut Random) -> u64 {
        FIRST + random.below(self.rows)
    }

    /// Number for a row that is not there.
    fn another(&self) -> u64 {
        self.unused.fetch_add(1, Ordering::Relaxed)
    }
}

fn insert(numbers: impl Iterator<Item = u64>, random: &mut Random) -> String {
    let rows: Vec<String> = numbers.map(|n| row(n, random)).collect();
    format!(
        "INSERT INTO {TABLE} ({}) VALUES {}",
        columns(),
        rows.join(",")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_change_step_by_step() {
        assert_eq!(Keys::Plain.change(Keys::Plain), "");
        assert!(
            Keys::Unique
                .change(Keys::Both)
                .starts_with("ADD CONSTRAINT")
        );
        let all = Keys::Both.change(Keys::Plain);
        assert!(
            all.contains("ADD KEY badge") && all.contains("DROP FOREIGN KEY"),
            "{all}"
        );
        for a in Keys::ALL {
            for b in Keys::ALL {
                assert_eq!(a.change(b).is_empty(), a == b);
            }
        }
    }
}

//! What an experiment borrows from a target, and gives back at its end: a database of its own, the durability setting, the
//! algorithm.
//!
//! 1. [`Lease::take`] makes the database and sets what is to be set.
//! 2. [`Lease::algorithms`] says what can be chosen here, [`Lease::choose`] chooses.
//! 3. [`Lease::end`] restores everything and drops the database; so does dropping the lease, where an error can only be printed.

use crate::Result;
use crate::algorithm::{self, Algorithm, Algorithms};
use crate::target::{Client, Durability, Target};

/// The database that experiments work in.
pub const DATABASE: &str = "millpond_lab";

/// Variables worth knowing about a target, shown where it has them.
const SETTINGS: [&str; 14] = [
    "version",
    "version_comment",
    "innodb_buffer_pool_size",
    "innodb_buffer_pool_instances",
    "innodb_flush_log_at_trx_commit",
    "sync_binlog",
    "log_bin",
    "innodb_doublewrite",
    "innodb_flush_method",
    "innodb_file_per_table",
    "innodb_adaptive_hash_index",
    "innodb_log_file_size",
    "innodb_redo_log_capacity",
    "innodb_max_dirty_pages_pct",
];

/// Pages of a target's buffer pool, 16 KiB each unless it says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolPages {
    /// All frames.
    pub total: u64,
    /// On the LRU list.
    pub data: u64,
    /// On the flush list.
    pub dirty: u64,
    /// Bytes of a page.
    pub page_bytes: u64,
}

impl PoolPages {
    /// Bytes cached.
    pub fn cached(&self) -> u64 {
        self.data * self.page_bytes
    }
    /// Bytes cached and not written yet.
    pub fn dirty_bytes(&self) -> u64 {
        self.dirty * self.page_bytes
    }
}

impl std::fmt::Display for PoolPages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (lru, dirty) = (self.data, self.dirty);
        write!(f, "{lru} pages on the LRU list, {dirty} of them dirty")?;
        match dirty {
            0 => Ok(()),
            _ => write!(f, " ({:.1}:1)", lru as f64 / dirty as f64),
        }
    }
}

/// Reads the state of the buffer pool.
pub fn pool_pages(client: &mut dyn Client) -> Result<PoolPages> {
    let rows = client.rows("SHOW GLOBAL STATUS LIKE 'Innodb%page%'")?;
    let get = |name: &str| {
        let row = rows.iter().find(|r| {
            let key = r.first().and_then(Option::as_deref);
            key.is_some_and(|k| k.eq_ignore_ascii_case(name))
        })?;
        row.get(1)?.as_deref()?.parse::<u64>().ok()
    };
    let need = |name: &str| get(name).ok_or_else(|| format!("the target does not tell {name}"));
    Ok(PoolPages {
        total: need("Innodb_buffer_pool_pages_total")?,
        data: need("Innodb_buffer_pool_pages_data")?,
        dirty: get("Innodb_buffer_pool_pages_dirty").unwrap_or(0),
        page_bytes: get("Innodb_page_size").unwrap_or(16 << 10),
    })
}

/// A target in use.
pub struct Lease<'t> {
    /// A connection for whatever the experiment does alone, in the lab's database.
    pub client: Box<dyn Client + 't>,
    /// As measured with.
    pub durability: Durability,
    durability_before: Option<u8>,
    algorithm_before: Option<String>,
    /// Other variables that were set, and what they were before.
    borrowed: Vec<(String, String)>,
    ended: bool,
}

impl<'t> Lease<'t> {
    /// Makes the lab's database in the target.
    pub fn take(target: &'t dyn Target, durability: Option<u8>) -> Result<Lease<'t>> {
        let mut client = target.connect()?;
        client
            .run(&format!("CREATE DATABASE {DATABASE}"))
            .map_err(|e| {
                format!(
                    "{e}\nIf an earlier run left it behind, DROP DATABASE {DATABASE} and run again."
                )
            })?;
        let before = Durability::of(&mut *client);
        let mut lease = Lease {
            durability: before.clone(),
            durability_before: durability.and(before.flush_at_commit),
            algorithm_before: client
                .value(&format!("SELECT @@GLOBAL.{}", algorithm::VARIABLE))
                .ok()
                .flatten(),
            client,
            borrowed: Vec::new(),
            ended: false,
        };
        lease.client.run(&format!("USE {DATABASE}"))?;
        if let Some(n) = durability {
            lease.set_durability(n)?;
            lease.durability = Durability::of(&mut *lease.client);
        }
        Ok(lease)
    }

    /// What to run here: the algorithms chosen, or the target as itself.
    pub fn algorithms(&self, chosen: &Algorithms) -> Vec<Option<Algorithm>> {
        match self.algorithm_before {
            None => vec![None],
            Some(_) => chosen.0.iter().copied().map(Some).collect(),
        }
    }

    /// Has the target drop tables this way from now on.
    pub fn choose(&mut self, algorithm: Option<Algorithm>) -> Result<()> {
        if let Some(a) = algorithm {
            let sql = format!("SET GLOBAL {} = {}", algorithm::VARIABLE, a.name());
            self.client.run(&sql)?;
        }
        Ok(())
    }

    /// Sets a variable until the end, where the target has it and lets it be set; whether it was.
    pub fn borrow(&mut self, variable: &str, value: &str) -> bool {
        let before = self.client.value(&format!("SELECT @@GLOBAL.{variable}"));
        let sql = format!("SET GLOBAL {variable} = {value}");
        let set = self.client.run(&sql).is_ok();
        if let (true, Ok(Some(before))) = (set, before) {
            self.borrowed.push((variable.to_string(), before));
        }
        set
    }

    /// The state of the buffer pool.
    pub fn pool(&mut self) -> Result<PoolPages> {
        pool_pages(&mut *self.client)
    }

    /// The buffer pool's size in bytes.
    pub fn pool_size(&mut self) -> Result<u64> {
        let size = self
            .client
            .value("SELECT @@GLOBAL.innodb_buffer_pool_size")?;
        let size = size.and_then(|v| v.parse().ok());
        size.ok_or_else(|| "the target does not tell innodb_buffer_pool_size".into())
    }

    /// The settings that bear on the figures, as the target has them now.
    pub fn settings(&mut self) -> Vec<(String, String)> {
        let mut ask = |name: &str| {
            // A target without such a variable answers with an error, which says the same.
            let value = self.client.value(&format!("SELECT @@GLOBAL.{name}"));
            Some((name.to_string(), value.ok().flatten()?))
        };
        SETTINGS.into_iter().filter_map(&mut ask).collect()
    }

    fn set_durability(&mut self, n: u8) -> Result<()> {
        let sql = format!("SET GLOBAL innodb_flush_log_at_trx_commit = {n}");
        self.client.run(&sql).map(drop)
    }

    /// Restores what was changed and drops the database.
    pub fn end(mut self) -> Result<()> {
        self.restore()
    }

    fn restore(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.ended, true) {
            return Ok(());
        }
        let mut first = Ok(());
        if let Some(name) = self.algorithm_before.clone() {
            let sql = format!("SET GLOBAL {} = {name}", algorithm::VARIABLE);
            first = first.and(self.client.run(&sql).map(drop));
        }
        for (name, value) in std::mem::take(&mut self.borrowed) {
            let sql = format!("SET GLOBAL {name} = {value}");
            first = first.and(self.client.run(&sql).map(drop));
        }
        if let Some(n) = self.durability_before {
            first = first.and(self.set_durability(n));
        }
        let drop_it = format!("DROP DATABASE {DATABASE}");
        first.and(self.client.run(&drop_it).map(drop))
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        if let Err(e) = self.restore() {
            eprintln!("cleaning up: {e}");
        }
    }
}

//! Building an index, or writing a whole table anew, while the table's rows change.
//!
//! Steps, with the table's metadata lock at each:
//! 1. *Exclusive:* whoever has changed rows has finished. The row log begins ([`crate::table::row_log`], which has the invariants), and
//!    a view is made.
//! 2. *Upgradable* (or with writers kept out): rows and statements go on, other DDL waits. The rows of the view are sorted, the tree is built
//!    bottom-up, then what is in the row log is settled, chunk by chunk, until little is left. Nobody but the builder knows the tree.
//! 3. *Exclusive* again: the rest of the log is settled, and the index becomes part of the definition.
//!
//! **Age.** The index's `created` is the id of the transaction that ends the build. A view that sees that id was made after the
//! end, so it sees all that is in the rows by then; every other view, one made during the build too, is refused a read
//! through the index. So entries need no history, and are as old as anything (transaction 0).
//! **Uniqueness** is a matter of the rows at the end. Where settling adds a second entry with a key, the key is suspect and is looked
//! at again under the exclusive lock: two rows may share it for a while, or one may have been rolled back. Duplicates that the view has
//! fail at once.
//! **The exclusive lock at the end** keeps statements waiting that come while it waits for transactions that have used the table. So it
//! is waited for briefly, and given up for four times as long, in which the log is settled on and statements go on; then twice as long,
//! up to a minute, so that even where transactions overlap for ever the build ends. A wait that would be a deadlock ends so too,
//! but where others wait for what the build has (writers, if it keeps them out) one of them is the victim.
//! **Failure** at any point takes the row log away and leaves the space to its grave (see `index`).

use super::Inner;
use crate::btree::Tree;
use crate::catalog::{KeyCodec, Keys, full_name};
use crate::error::{Error, Result};
use crate::table::Table;
use crate::table::entries::live_entry;
use crate::table::format::{SEC_VALUE, SecValue};
use crate::table::row_log::{self, Logged, RowLog};
use crate::table::visit_key;
use crate::txn::{MdlMode, Owner, Txn};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What goes on beside an index build or a rebuild, the most first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Beside {
    /// Reads and writes (LOCK=NONE).
    #[default]
    Writes,
    /// Reads (LOCK=SHARED).
    Reads,
    /// Nothing (LOCK=EXCLUSIVE).
    Nothing,
}

/// Bytes in the log that are left to be settled under the exclusive lock.
pub(super) const LEFT: u64 = 4 << 10;
/// How long the exclusive lock is waited for at a time: first, and at most.
const WAIT_FIRST: Duration = Duration::from_millis(20);
const WAIT_LONGEST: Duration = Duration::from_secs(60);
/// How long the log is left alone while the build waits, or lets others go first: it has a limit.
const SLICE: Duration = Duration::from_millis(50);
/// How many times as long others go first after that.
const PAUSE: u32 = 4;

/// The row log of a build, in force until this is dropped.
pub(super) struct Online {
    /// Whose metadata lock counts.
    table: Arc<Table>,
    /// The tables whose changes are logged, by the number that the log has them under, ascending: the table itself, or its partitions.
    sources: Vec<(u16, Arc<Table>)>,
    log: Arc<RowLog>,
}

impl Online {
    /// Begins the row log; the caller has the metadata lock exclusively.
    pub fn start(inner: &Inner, table: &Arc<Table>, codec: Arc<dyn KeyCodec>, at: usize) -> Online {
        let log = RowLog::new(codec, at, inner.row_log_limit.clone());
        Online::with(table, vec![(0, table.clone())], log)
    }

    /// The same for a table that is written anew, or some of its partitions.
    pub fn of_rows(inner: &Inner, table: &Arc<Table>, sources: Vec<(u16, Arc<Table>)>) -> Online {
        Online::with(table, sources, RowLog::of_rows(inner.row_log_limit.clone()))
    }

    fn with(table: &Arc<Table>, sources: Vec<(u16, Arc<Table>)>, log: RowLog) -> Online {
        let log = Arc::new(log);
        for (part, source) in &sources {
            let (log, part) = (log.clone(), *part);
            source.core.row_log.set(Some(Logged { log, part }));
        }
        Online {
            table: table.clone(),
            sources,
            log,
        }
    }

    pub fn table(&self) -> &Table {
        &self.table
    }

    /// The table under a number of the log.
    pub fn source(&self, part: u16) -> Result<&Arc<Table>> {
        match self.sources.binary_search_by_key(&part, |(p, _)| *p) {
            Ok(at) => Ok(&self.sources[at].1),
            Err(_) => Err(Error::Invalid(format!("no source {part} is followed"))),
        }
    }

    pub fn log(&self) -> &RowLog {
        &self.log
    }
}

impl Drop for Online {
    fn drop(&mut self) {
        for (_, source) in &self.sources {
            source.core.row_log.set(None);
        }
    }
}

/// Whoever settles what is in a row log.
pub(super) trait Settles {
    /// The log.
    fn log(&self) -> &RowLog;

    /// Settles a chunk of it.
    fn chunk(&mut self, chunk: &[u8]) -> Result<()>;

    /// Settles the log until no more than `left` bytes are in it.
    fn settle(&mut self, owner: &Owner, left: u64) -> Result<()> {
        while self.log().len()? > left {
            if owner.is_killed() {
                return Err(Error::Interrupted);
            }
            let Some(chunk) = self.log().take()? else {
                break;
            };
            self.chunk(&chunk)?;
        }
        Ok(())
    }

    /// Lets others go first for this long, and settles what they do.
    fn stand_aside(&mut self, owner: &Owner, time: Duration) -> Result<()> {
        let begun = Instant::now();
        loop {
            let left = time.saturating_sub(begun.elapsed());
            owner.pause(left.min(SLICE))?;
            self.settle(owner, LEFT)?;
            if left <= SLICE {
                return Ok(());
            }
        }
    }
}

/// Settles the row log of an index that is built.
pub(super) struct Settler<'b> {
    online: &'b Online,
    tree: &'b Tree,
    unique: bool,
    /// Keys that more than one row may have.
    suspects: BTreeSet<Vec<u8>>,
    suspect_bytes: u64,
    row: Vec<u8>,
    keys: Keys,
}

impl<'b> Settler<'b> {
    pub fn new(online: &'b Online, tree: &'b Tree, unique: bool) -> Settler<'b> {
        Settler {
            online,
            tree,
            unique,
            suspects: BTreeSet::new(),
            suspect_bytes: 0,
            row: Vec::new(),
            keys: Keys::default(),
        }
    }

    /// Gives the index an entry or takes it away, as the row says.
    fn decide(&mut self, entry: &[u8], own: usize) -> Result<()> {
        let (key, clustered) = entry.split_at(own);
        let mut null = false;
        let mut there = self.online.table.read_row(None, clustered, &mut self.row)?;
        if there {
            null = self.online.log.keys(&self.row, &mut self.keys)?;
            there = self.keys.contains(key);
        }
        let mut bytes = [0; SEC_VALUE + 6];
        let len = live_entry(own, 0).write(&mut bytes);
        let added = self.tree.edit(entry, len, |leaf| {
            match (leaf.value().is_some(), there) {
                (false, true) => leaf.insert(&bytes[..len]),
                (true, false) => leaf.remove(),
                _ => return Ok(false),
            }
            Ok(there)
        })?;
        if added && self.unique && !null && self.count(key)? > 1 {
            self.suspect(key)?;
        }
        Ok(())
    }

    fn suspect(&mut self, key: &[u8]) -> Result<()> {
        if self.suspects.insert(key.to_vec()) {
            self.suspect_bytes += key.len() as u64;
            if self.suspect_bytes > self.online.log.limit() {
                return Err(Error::RowLogFull);
            }
        }
        Ok(())
    }

    /// Entries with this key.
    fn count(&self, key: &[u8]) -> Result<usize> {
        let mut count = 0;
        let (mut resume, mut next) = (Vec::new(), Vec::new());
        visit_key(self.tree, key, &mut resume, &mut next, |_, _: SecValue| {
            count += 1;
        })?;
        Ok(count)
    }

    /// Whether two rows have a key in common. Under the exclusive lock, with the log empty.
    fn has_duplicates(&self) -> Result<bool> {
        for key in &self.suspects {
            if self.count(key)? > 1 {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Settles for Settler<'_> {
    fn log(&self) -> &RowLog {
        &self.online.log
    }

    fn chunk(&mut self, chunk: &[u8]) -> Result<()> {
        row_log::entries(chunk)
            .into_iter()
            .try_for_each(|(entry, own)| self.decide(entry, own))
    }
}

impl Inner {
    /// Lets statements at a table that the transaction has locked exclusively.
    pub(super) fn let_in(&self, txn: &Txn, table: &Table, beside: Beside) {
        let mode = match beside {
            Beside::Writes => MdlMode::Upgradable,
            Beside::Reads => MdlMode::NoWrite,
            Beside::Nothing => return,
        };
        let mdl = self.sys.mdl();
        let lock = mdl.get(&full_name(&table.def.database, &table.def.name));
        mdl.downgrade(txn.owner(), &lock, mode);
    }

    /// Settles the row log of index `at` and has the table exclusively again; its tree is that of the rows then.
    pub(super) fn catch_up(&self, txn: &Txn, mut settler: Settler<'_>, at: usize) -> Result<()> {
        let table = settler.online.table.clone();
        self.settle_all(txn.owner(), &table, &mut settler)?;
        match settler.has_duplicates()? {
            true => Err(Error::DuplicateKey { index: at }),
            false => Ok(()),
        }
    }

    /// Settles a row log wholly and has the table exclusively again.
    pub(super) fn settle_all(
        &self,
        owner: &Arc<Owner>,
        table: &Table,
        settler: &mut dyn Settles,
    ) -> Result<()> {
        let mdl = self.sys.mdl();
        let lock = mdl.get(&full_name(&table.def.database, &table.def.name));
        // Only waits count, each in full: a deadlock that no retry ends does not go on for ever.
        let mut allowance = owner.metadata_timeout();
        let mut wait = WAIT_FIRST;
        settler.settle(owner, LEFT)?;
        loop {
            let most = wait.min(allowance);
            let locked = mdl.upgrade(owner, &lock, (most, SLICE), || settler.settle(owner, LEFT));
            match locked {
                Err(Error::LockWaitTimeout | Error::Deadlock) if allowance > wait => {}
                locked => break locked?,
            }
            allowance -= most;
            settler.stand_aside(owner, wait * PAUSE)?;
            wait = (wait * 2).min(WAIT_LONGEST);
        }
        settler.settle(owner, 0)
    }
}

//! Verification of a table's indexes against each other, in one view.
//!
//! A scan of the clustered index works out which entries its rows have in each secondary index: how many there are, and the sum of their
//! hashes (of both key parts, keyed anew for each check; the order of a sum's terms doesn't matter). A scan of each secondary index, which
//! fetches no row, gives the same two of the entries that are there. Where both agree, each row has its entries and each entry a row, but
//! for a chance of 2⁻⁶⁴. So a check reads every page once, in order, whatever the size of the pool. Only where they differ are the rows of the entries fetched,
//! one by one, to say what is wrong.

use super::{Direction, Fetch, KeyRange, ReadMode, Scan, Table, entries};
use crate::catalog::Keys;
use crate::error::Error;
use crate::txn::Txn;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::ops::Bound;

/// What a check comes by: a chance to look at the row, or to end the check by an error.
pub enum Checked<'r> {
    /// A row of the clustered index.
    Row(&'r [u8]),
    /// An entry of a secondary index.
    Entry,
}

/// What is wrong with an index.
#[derive(Debug)]
pub struct IndexFault {
    /// Its position in the table's definition.
    pub index: usize,
    /// What it is.
    pub kind: FaultKind,
}

/// Kinds of [`IndexFault`].
#[derive(Debug)]
pub enum FaultKind {
    /// It can't be read any further.
    Unreadable(Error),
    /// A clustered index: keys that are not their rows'.
    Keys(u64),
    /// There are more or fewer entries than the rows are to have.
    Count {
        /// Those that are there.
        entries: u64,
        /// Those that there should be.
        wanted: u64,
    },
    /// As many entries as there should be, but others.
    Entries,
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FaultKind::Unreadable(e) => e.fmt(f),
            FaultKind::Keys(n) => write!(f, "{n} keys are not their rows'"),
            FaultKind::Count { entries, wanted } => {
                write!(f, "contains {entries} entries, should be {wanted}")
            }
            FaultKind::Entries => f.write_str("contains entries that are not its rows'"),
        }
    }
}

/// Entries of an index: how many, and the sum of their hashes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum {
    count: u64,
    hashes: u64,
}

impl Sum {
    fn add(&mut self, by: &RandomState, key: &[u8], clustered_key: &[u8]) {
        self.count += 1;
        self.hashes = self.hashes.wrapping_add(by.hash_one((key, clustered_key)));
    }
}

/// A scan of everything in an index.
fn everything<'t>(
    table: &'t Table,
    txn: &mut Txn,
    index: usize,
    fetch: Fetch,
) -> crate::error::Result<Scan<'t>> {
    let range = KeyRange {
        lower: Bound::Unbounded,
        upper: Bound::Unbounded,
    };
    let (dir, mode) = (Direction::Forward, ReadMode::Consistent);
    table.scan(txn, index, range, dir, mode, fetch)
}

impl Table {
    /// Compares what the table's indexes hold, as the transaction's view has it. `on` is called for each row and entry; its error ends the
    /// check. Damage is what is reported, at most once per index; other errors end the check.
    pub fn check_indexes<E: From<Error>>(
        &self,
        txn: &mut Txn,
        on: &mut dyn FnMut(Checked<'_>) -> Result<(), E>,
    ) -> Result<Vec<IndexFault>, E> {
        let (mut faults, by) = (Vec::new(), RandomState::new());
        let mut wanted = vec![Sum::default(); self.indexes.len()];
        let (clustered, readable) = match self.sum_rows(txn, on, &by, &mut wanted) {
            Ok(0) => (None, true),
            Ok(wrong) => (Some(FaultKind::Keys(wrong)), true),
            Err(e) => (Some(FaultKind::Unreadable(e.damage()?)), false),
        };
        faults.extend(clustered.map(|kind| IndexFault { index: 0, kind }));
        for (index, wanted) in wanted.into_iter().enumerate().skip(1) {
            let kind = match self.sum_entries(txn, on, &by, index) {
                // What its rows are is not known.
                Ok(_) if !readable => continue,
                Ok(found) if found == wanted => continue,
                Ok(found) => match self.fetch_rows(txn, on, index) {
                    Ok(()) if found.count != wanted.count => FaultKind::Count {
                        entries: found.count,
                        wanted: wanted.count,
                    },
                    Ok(()) => FaultKind::Entries,
                    Err(e) => FaultKind::Unreadable(e.damage()?),
                },
                Err(e) => FaultKind::Unreadable(e.damage()?),
            };
            faults.push(IndexFault { index, kind });
        }
        Ok(faults)
    }

    /// Adds up the entries that the rows are to have in secondary indexes; how many clustered keys are not their rows'.
    fn sum_rows<E: From<Error>>(
        &self,
        txn: &mut Txn,
        on: &mut dyn FnMut(Checked<'_>) -> Result<(), E>,
        by: &RandomState,
        wanted: &mut [Sum],
    ) -> Result<u64, Halt<E>> {
        let (mut keys, mut wrong) = (Keys::default(), 0);
        let mut scan = everything(self, txn, 0, Fetch::Row)?;
        while let Some(row) = scan.next(txn)? {
            on(Checked::Row(row.row)).map_err(Halt::Asked)?;
            if !self.def.hidden_row_id {
                entries::keys_of(&*self.codec, 0, row.row, &mut keys)?;
                wrong += u64::from(!keys.contains(row.key));
            }
            for (index, sum) in wanted.iter_mut().enumerate().skip(1) {
                entries::keys_of(&*self.codec, index, row.row, &mut keys)?;
                for key in keys.iter() {
                    sum.add(by, key, row.clustered_key);
                }
            }
        }
        Ok(wrong)
    }

    /// Adds up the entries that are in a secondary index.
    fn sum_entries<E: From<Error>>(
        &self,
        txn: &mut Txn,
        on: &mut dyn FnMut(Checked<'_>) -> Result<(), E>,
        by: &RandomState,
        index: usize,
    ) -> Result<Sum, Halt<E>> {
        let mut sum = Sum::default();
        let mut scan = everything(self, txn, index, Fetch::Key)?;
        while let Some(entry) = scan.next(txn)? {
            sum.add(by, entry.key, entry.clustered_key);
            on(Checked::Entry).map_err(Halt::Asked)?;
        }
        Ok(sum)
    }

    /// Fetches the row of each entry of a secondary index; an error says which is not as it should be.
    fn fetch_rows<E: From<Error>>(
        &self,
        txn: &mut Txn,
        on: &mut dyn FnMut(Checked<'_>) -> Result<(), E>,
        index: usize,
    ) -> Result<(), Halt<E>> {
        let mut keys = Keys::default();
        let mut scan = everything(self, txn, index, Fetch::Row)?;
        while let Some(row) = scan.next(txn)? {
            on(Checked::Entry).map_err(Halt::Asked)?;
            entries::keys_of(&*self.codec, index, row.row, &mut keys)?;
            if !keys.contains(row.key) {
                let e = self.corrupt_index(index, "has an entry whose key is not its row's");
                return Err(Halt::Store(e));
            }
        }
        Ok(())
    }
}

/// Why a scan has ended early.
enum Halt<E> {
    Store(Error),
    /// By whom it was asked.
    Asked(E),
}

impl<E> From<Error> for Halt<E> {
    fn from(e: Error) -> Halt<E> {
        Halt::Store(e)
    }
}

impl<E: From<Error>> Halt<E> {
    /// The damage that it is; any other error.
    fn damage(self) -> Result<Error, E> {
        match self {
            Halt::Store(e @ Error::Corrupt(_)) => Ok(e),
            Halt::Store(e) => Err(e.into()),
            Halt::Asked(e) => Err(e),
        }
    }
}

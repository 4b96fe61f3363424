//! The secondary indexes of a table that is loaded: threads take the rows, sort their keys and build the trees, each of some of the
//! indexes.
//!
//! Rows go to the threads in batches, a few of which may wait; so memory is bounded whoever is slower. A thread that fails
//! takes no more, and whoever gives rows out asks it why. Roots are not written: that is for the load to do, when all is durable.

use super::{Means, Table, bulk_of};
use crate::btree::Root;
use crate::error::{Error, Result};
use crate::pool::Direct;
use crate::sort::Sorter;
use crate::table::entries::{Entries, sort_entry};
use crate::txn::DdlStage;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Bytes of a batch of rows.
const BATCH_BYTES: usize = 256 << 10;
/// Batches that may wait for a thread.
const WAITING: usize = 4;

/// An error, and the clustered key of a row whose unique key was there already.
pub type Failure = (Error, Option<Vec<u8>>);

/// Indexes by number, and what their roots are to be.
type Built = Vec<(usize, Option<Root>)>;

/// Rows with their clustered keys.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    /// Where each key and each row ends.
    ends: Vec<(usize, usize)>,
}

impl Batch {
    fn rows(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut from = 0;
        self.ends.iter().map(move |&(key, row)| {
            let both = (&self.bytes[from..key], &self.bytes[key..row]);
            from = row;
            both
        })
    }
}

/// A thread and its indexes.
struct Worker {
    batches: Option<SyncSender<Arc<Batch>>>,
    thread: Option<JoinHandle<std::result::Result<Built, Failure>>>,
}

impl Worker {
    /// Ends the thread; what became of it.
    fn join(&mut self) -> std::result::Result<Built, Failure> {
        self.batches = None;
        let panicked = || Error::Invalid("a thread that loads a table has panicked".into());
        match self.thread.take() {
            None => Ok(Built::new()),
            Some(thread) => thread.join().unwrap_or_else(|_| Err((panicked(), None))),
        }
    }
}

/// All secondary indexes of a load. Dropped, their threads end and the trees stay empty.
pub struct Indexes {
    workers: Vec<Worker>,
    batch: Batch,
    /// All rows were given out: the trees are to be built.
    complete: Arc<AtomicBool>,
}

impl Indexes {
    /// Starts the threads.
    pub fn start(table: &Arc<Table>, direct: &Arc<Direct>, means: &Means) -> Result<Indexes> {
        let all = table.indexes.len() - 1;
        let threads = means.threads.clamp(1, all.max(1)).min(all);
        let complete = Arc::new(AtomicBool::new(false));
        let mut indexes = Indexes {
            workers: Vec::with_capacity(threads),
            batch: Batch::default(),
            complete: complete.clone(),
        };
        for first in 0..threads {
            let (batches, take) = sync_channel(WAITING);
            let own: Vec<usize> = (1 + first..=all).step_by(threads).collect();
            let (table, means, complete) = (table.clone(), means.clone(), complete.clone());
            let direct = direct.clone();
            let thread = std::thread::Builder::new()
                .name("load".into())
                .spawn(move || run((&table, &direct), &means, &own, &take, &complete))
                .map_err(|e| Error::io("start a thread that loads a table", &e))?;
            indexes.workers.push(Worker {
                batches: Some(batches),
                thread: Some(thread),
            });
        }
        Ok(indexes)
    }

    /// Adds a row.
    pub fn add(&mut self, clustered_key: &[u8], row: &[u8]) -> Result<()> {
        if self.workers.is_empty() {
            return Ok(());
        }
        let batch = &mut self.batch;
        batch.bytes.extend_from_slice(clustered_key);
        let key = batch.bytes.len();
        batch.bytes.extend_from_slice(row);
        batch.ends.push((key, batch.bytes.len()));
        if batch.bytes.len() >= BATCH_BYTES {
            return self.give_out();
        }
        Ok(())
    }

    fn give_out(&mut self) -> Result<()> {
        let next = Batch {
            bytes: Vec::with_capacity(self.batch.bytes.len()),
            ends: Vec::with_capacity(self.batch.ends.len()),
        };
        let batch = Arc::new(std::mem::replace(&mut self.batch, next));
        for w in &mut self.workers {
            let gone = w
                .batches
                .as_ref()
                .is_none_or(|b| b.send(batch.clone()).is_err());
            if gone {
                return Err(match w.join() {
                    Err((error, _)) => error,
                    Ok(_) => Error::Invalid("a thread that loads a table has ended".into()),
                });
            }
        }
        Ok(())
    }

    /// All rows have been added: the threads build the trees.
    pub fn build(&mut self) -> Result<()> {
        if !self.batch.ends.is_empty() {
            self.give_out()?;
        }
        self.complete.store(true, Ordering::Release);
        for w in &mut self.workers {
            w.batches = None;
        }
        Ok(())
    }

    /// Waits for the threads.
    pub fn finish(&mut self) -> std::result::Result<Built, Failure> {
        let mut all = Ok(Built::new());
        for w in &mut self.workers {
            let built = w.join();
            all = all.and_then(|mut all| {
                all.extend(built?);
                Ok(all)
            });
        }
        all
    }
}

impl Drop for Indexes {
    fn drop(&mut self) {
        for w in &mut self.workers {
            // Who drops a load has an error to tell already.
            let _ = w.join();
        }
    }
}

/// What a thread does.
fn run(
    (table, direct): (&Arc<Table>, &Arc<Direct>),
    means: &Means,
    indexes: &[usize],
    batches: &Receiver<Arc<Batch>>,
    complete: &AtomicBool,
) -> std::result::Result<Built, Failure> {
    // One more for the clustered index.
    let new = |_| means.sorter(table.indexes.len());
    let mut sorters: Vec<Sorter> = indexes.iter().map(new).collect();
    let mut key = Vec::new();
    for batch in batches {
        for (clustered, row) in batch.rows() {
            for (&index, sorter) in indexes.iter().zip(&mut sorters) {
                let added = sort_entry(
                    &*table.codec,
                    index,
                    clustered,
                    row,
                    &mut key,
                    sorter,
                    &|| means.go_on(),
                );
                added.map_err(|e| (e, None))?;
            }
        }
    }
    if !complete.load(Ordering::Acquire) {
        return Ok(Built::new());
    }
    let each = indexes.iter().zip(sorters);
    each.map(|(&index, sorter)| Ok((index, build(table, direct, means, index, sorter)?)))
        .collect()
}

fn build(
    table: &Arc<Table>,
    direct: &Arc<Direct>,
    means: &Means,
    index: usize,
    sorter: Sorter,
) -> std::result::Result<Option<Root>, Failure> {
    let progress = means.owner.progress();
    progress.enter(DdlStage::MergeSort);
    let sorted = sorter.finish(&|| means.go_on()).map_err(|e| (e, None))?;
    progress.enter(DdlStage::Insert);
    let unique = table.indexes[index].unique;
    let mut entries = Entries::new(sorted, index, unique, &means.owner).of(means.trx);
    let mut bulk = bulk_of(table, index, direct);
    let built = bulk.add_all(&mut entries).and_then(|()| bulk.finish());
    built.map_err(|e| (e, entries.duplicate()))
}

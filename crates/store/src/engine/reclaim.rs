//! The reclaimer: gives back, in small steps, the pages and files that DDL left behind.
//!
//! A grave whose DDL is done is dug up: the space's extents are found by their owner in the allocation maps and freed in steps;
//! its root page goes in the mini-transaction that removes the grave's row, so that neither is freed twice nor
//! forgotten. The entries of an index that had no root are removed from the tree that it shares before. A file is cut shorter step by step, then removed. Everything can be repeated after a crash. No page of the
//! dead space is read. The thread holds no lock that a statement waits for.
//!
//! What is free at the ends of the shared and the undo file goes back to the file system likewise, and at those of tablespaces' files that
//! are in use.
//!
//! **A grave is left alone** while its space is being built and until the DDL that dug it has buried the space
//! ([`Reclaimer::hold`]): purge may be at work in it that long.
//! **Failure.** A grave that cannot be dug up is left for a later pass, and does not keep others waiting.
//! **Rate.** [`pace`](super::pace) makes the thread wait between steps, unless somebody needs the space now.

use super::pace::{Ending, Paced, Shared};
use crate::catalog::Catalog;
use crate::catalog::row::Grave;
use crate::error::{Error, Result};
use crate::io::Storage;
use crate::pool::{Pace, Pager};
use crate::space::{FileId, SpaceId};
use crate::table::format::{RowHeader, cut_short};
use crate::txn::{Isolation, Txn};
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

/// Free bytes left at a file's end even when the disk is full.
const HASTY_SPARE: u64 = 1 << 20;
/// After a failure the thread looks again this much later.
const RETRY: Duration = Duration::from_secs(5);
/// Graves read at a time: memory stays bounded however many there are.
const BATCH: usize = 1024;
/// How often the ends of files are looked at.
const LOOK: Duration = Duration::from_secs(1);
/// Free bytes at a file's end that are worth cutting off, how many are left there, and how many are counted.
const TAIL_WORTH: u64 = 16 << 20;
const TAIL_SPARE: u64 = 8 << 20;
const TAIL_COUNTED: u64 = 4 << 30;
/// The files that every database has whose ends are cut; see [`Worker::ended`].
const ENDED: [FileId; 2] = [FileId::SHARED, FileId::UNDO];
/// Files deleted with one sync before and one after.
const FILES_AT_A_TIME: usize = 64;
/// What giving back a root page counts for, bytes.
const ROOT_BYTES: u64 = crate::page::PAGE_SIZE as u64;

/// The running reclaimer.
pub(super) struct Reclaimer {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// Spaces whose graves are left alone until this is dropped: spaces being built, or not buried yet.
pub(super) struct Held {
    shared: Arc<Shared>,
    spaces: Vec<SpaceId>,
}

impl Held {
    /// Holds another space, before its grave's row is written.
    pub fn add(&mut self, space: SpaceId) {
        if self.shared.state.lock().held.insert(space) {
            self.spaces.push(space);
        }
    }

    /// Holds them no longer.
    pub fn release(&mut self) {
        if self.spaces.is_empty() {
            return;
        }
        let mut state = self.shared.state.lock();
        for space in self.spaces.drain(..) {
            state.held.remove(&space);
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.release();
    }
}

impl Reclaimer {
    /// Starts the thread, which first takes on what an earlier life left. `rate`: bytes a second, 0 for no limit. Without `work` there is
    /// no thread, and graves stay.
    pub fn start(
        storage: &Arc<dyn Storage>,
        pager: &Arc<Pager>,
        catalog: &Arc<Catalog>,
        rate: u64,
        work: bool,
    ) -> Result<Reclaimer> {
        let shared = Arc::new(Shared::new(rate));
        if !work {
            let thread = Mutex::default();
            return Ok(Reclaimer { shared, thread });
        }
        let worker = Worker {
            shared: shared.clone(),
            pager: pager.clone(),
            catalog: catalog.clone(),
        };
        // What there is now; what comes from now on is counted by whoever brings it.
        let sys = &catalog.ctx.sys;
        let mut there = sys.begin(&sys.owner(), Isolation::ReadCommitted);
        sys.view(&mut there);
        shared.set_counting(true);
        let files = table_files(&**storage)?;
        let in_need = shared.clone();
        pager.set_relief(move |file| in_need.relief(file == FileId::SHARED || file.is_general()));
        let thread = std::thread::Builder::new()
            .name("reclaimer".into())
            .spawn(move || worker.run(files, there))
            .map_err(|e| Error::io("start the reclaimer", &e))?;
        Ok(Reclaimer {
            shared,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Tells that there are more graves.
    pub fn wake(&self) {
        self.shared.state.lock().work = true;
        self.shared.wake.notify_all();
    }

    /// For spaces whose graves are to be left alone.
    pub fn hold(&self) -> Held {
        Held {
            shared: self.shared.clone(),
            spaces: Vec::new(),
        }
    }

    /// What is known of the work.
    pub fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Ends the thread; what it has not done is done after the next opening.
    pub fn stop(&self) {
        self.shared.state.lock().stop = true;
        self.shared.wake.notify_all();
        self.shared.progress.notify_all();
        let thread = self.thread.lock().take();
        if let Some(t) = thread
            && t.join().is_err()
        {
            tracing::error!("the reclaimer panicked");
        }
    }
}

/// Files of tables that are there, by id.
fn table_files(storage: &dyn Storage) -> Result<Vec<FileId>> {
    let names = match storage.list("tables") {
        Ok(names) => names,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(Error::io("list tables", &e)),
    };
    Ok(names
        .iter()
        .filter_map(|n| FileId::of_table_name(n))
        .collect())
}

/// Graves that a pass has had to leave.
#[derive(Default)]
struct Left {
    count: u64,
    first: Option<(SpaceId, Error)>,
}

impl Left {
    fn result(self) -> Result<()> {
        let Some((space, why)) = self.first else {
            return Ok(());
        };
        tracing::error!(graves = self.count, first = space.0, "dead spaces are left");
        Err(why)
    }
}

struct Worker {
    shared: Arc<Shared>,
    pager: Arc<Pager>,
    catalog: Arc<Catalog>,
}

impl Worker {
    fn run(&self, files: Vec<FileId>, there: Txn) {
        let _ending = Ending(&self.shared);
        if let Err(e) = self.count(there) {
            tracing::error!("dead spaces are not counted: {e}");
        }
        self.shared.set_counting(false);
        if let Err(e) = self.remove_orphans(files) {
            tracing::error!("files of unknown tables are left: {e}");
        }
        let mut lengths = HashMap::new();
        loop {
            let urgent = {
                let mut state = self.shared.state.lock();
                if !state.work && !state.stop {
                    self.shared.wake.wait_for(&mut state, LOOK);
                }
                if state.stop {
                    return;
                }
                if !state.work {
                    drop(state);
                    self.cut_ends(&mut lengths);
                    continue;
                }
                state.begin_pass();
                state.urgent > 0
            };
            let before = self.shared.reclaimed_bytes();
            let mut done = self.dig_up_all();
            if urgent && done.is_ok() && self.shared.reclaimed_bytes() == before {
                done = self.cut_all();
            }
            let mut state = self.shared.state.lock();
            state.end_pass();
            self.shared.progress.notify_all();
            if let Err(e) = done {
                tracing::error!("dead spaces are left for now: {e}");
                if !state.stop && state.urgent == 0 {
                    self.shared.wake.wait_for(&mut state, RETRY);
                }
                state.work = true;
            }
        }
    }

    /// Counts the graves that a transaction sees, before any of them is removed.
    fn count(&self, mut there: Txn) -> Result<()> {
        let graves = self.catalog.count_graves(&mut there);
        // It wrote nothing, so this only closes the view.
        self.catalog.ctx.sys.commit(there)?;
        self.shared.graves_added(graves?);
        Ok(())
    }

    /// The files whose ends are cut.
    fn ended(&self) -> Vec<FileId> {
        let mut files = ENDED.to_vec();
        files.extend(self.pager.general_files());
        files
    }

    /// Cuts off what has long been free at the ends of files. `lengths`: of the files at the last look; one that has grown since
    /// may be about to grow again.
    fn cut_ends(&self, lengths: &mut HashMap<FileId, u64>) {
        let mut pace = Paced::new(&self.shared);
        let files = self.ended();
        lengths.retain(|file, _| files.contains(file));
        for file in files {
            let length = lengths.entry(file).or_default();
            let cut = self
                .pager
                .free_tail(file, TAIL_COUNTED)
                .and_then(|(now, tail)| {
                    let before = std::mem::replace(length, now);
                    if now != before || tail < TAIL_WORTH || self.pager.log().stopped().is_some() {
                        return Ok(true);
                    }
                    self.pager.shrink_file(file, TAIL_SPARE, &mut pace)
                });
            if let Err(e) = cut {
                tracing::error!("{} stays long for now: {e}", file.name());
            }
        }
    }

    /// The same, for somebody who needs the room elsewhere; but who has just been promised room keeps it.
    fn cut_all(&self) -> Result<()> {
        let mut pace = Paced::new(&self.shared);
        for file in self.ended() {
            // Who needs more than is free at the shared file's end would only have to make it longer again.
            if file == FileId::UNDO || self.shared.state.lock().urgent_shared == 0 {
                self.pager.shrink_file(file, HASTY_SPARE, &mut pace)?;
            }
        }
        Ok(())
    }

    /// A file is created before its first page is logged. If a crash fell in between, its table may be dropped
    /// without ever having had a page, and nobody would remember the file.
    fn remove_orphans(&self, files: Vec<FileId>) -> Result<()> {
        let mut unknown: HashSet<FileId> = files.into_iter().collect();
        if unknown.is_empty() {
            return Ok(());
        }
        // Graves first: a table dropped between the two reads is seen in the second or is young, not in the list.
        self.catalog.read(|txn| {
            self.catalog.each_file(txn, &mut |file| {
                unknown.remove(&file);
            })?;
            for tablespace in self.catalog.all_tablespaces(txn)? {
                unknown.remove(&tablespace.file);
            }
            Ok(())
        })?;
        let mut after = None;
        loop {
            let graves = self.catalog.graves_after(after, BATCH)?;
            let Some(last) = graves.last() else { break };
            after = Some(last.space);
            for grave in &graves {
                unknown.remove(&grave.file);
            }
        }
        let mut pace = Paced::new(&self.shared);
        for file in unknown {
            tracing::info!(
                file = file.0,
                "removing the file of a table that does not exist"
            );
            if !self.pager.delete_file(file, &mut pace)? {
                return Ok(());
            }
        }
        Ok(())
    }

    fn dig_up_all(&self) -> Result<()> {
        let mut pace = Paced::new(&self.shared);
        let mut left = Left::default();
        let mut after = None;
        'all: loop {
            let graves = self.catalog.graves_after(after, BATCH)?;
            let Some(last) = graves.last() else { break };
            after = Some(last.space);
            for some in graves.chunks(FILES_AT_A_TIME) {
                let (files, spaces): (Vec<&Grave>, _) = some.iter().partition(|g| g.whole_file);
                if !self.dig_up_spaces(&spaces, &mut pace, &mut left)?
                    || !self.dig_up_files(&files, &mut pace, &mut left)?
                {
                    break 'all;
                }
            }
        }
        left.result()
    }

    /// Notes why a grave is left, unless nothing can be written any more, so that there is no use in going on.
    fn leave(&self, grave: &Grave, why: Error, left: &mut Left) -> Result<()> {
        if self.pager.log().stopped().is_some() {
            return Err(why);
        }
        left.count += 1;
        left.first.get_or_insert((grave.space, why));
        Ok(())
    }

    /// Whether the pass may go on.
    fn dig_up_spaces(
        &self,
        graves: &[&Grave],
        pace: &mut Paced<'_>,
        left: &mut Left,
    ) -> Result<bool> {
        for grave in graves {
            if !self.shared.begin_grave(grave.space) {
                continue;
            }
            let done = self.dig_up_space(grave.space, pace);
            let go_on = self.shared.end_grave();
            match done {
                Ok(true) if go_on => {}
                Ok(_) => return Ok(false),
                Err(e) => self.leave(grave, e, left)?,
            }
            if !go_on {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn dig_up_space(&self, space: SpaceId, pace: &mut Paced<'_>) -> Result<bool> {
        // Whoever built it may have finished and removed the grave between our two looks.
        let Some(grave) = self.catalog.grave(space)? else {
            return Ok(true);
        };
        // A crash left who has used it, and what that did there is to be undone first.
        if self.catalog.is_contested(space)? {
            return Ok(true);
        }
        if grave.is_range() {
            if !self.remove_several(&grave, pace)? {
                return Ok(false);
            }
        } else if !self.is_doomed(grave.file)? {
            let space = self.pager.space(grave.space, grave.file);
            self.pager.drop_space(&space);
            if !self.pager.free_extents(&space, pace)? {
                return Ok(false);
            }
            if grave.file == FileId::SHARED && grave.root == 0 {
                // If it was small it had a part of a page.
                let graveyard = self.shared.graveyard.lock();
                let bytes = self.catalog.ctx.shared.remove(grave.space)?;
                drop(graveyard);
                if bytes > 0 && pace.freed(bytes as u64).is_break() {
                    return Ok(false);
                }
            }
        }
        self.remove(&grave)?;
        Ok(grave.root == 0 || pace.freed(ROOT_BYTES).is_continue())
    }

    /// Removes the entries of small indexes that have one grave, a leaf at a time. Whether the pass may go on.
    fn remove_several(&self, grave: &Grave, pace: &mut Paced<'_>) -> Result<bool> {
        loop {
            let graveyard = self.shared.graveyard.lock();
            let removed = self
                .catalog
                .ctx
                .shared
                .remove_some(grave.space, grave.last())?;
            drop(graveyard);
            if removed == 0 {
                return Ok(true);
            }
            if pace.freed(removed as u64).is_break() {
                return Ok(false);
            }
        }
    }

    /// Deletes files, with one sync of the log before and one of their folder after. Whether the pass may go on.
    fn dig_up_files(
        &self,
        graves: &[&Grave],
        pace: &mut Paced<'_>,
        left: &mut Left,
    ) -> Result<bool> {
        let mut free = Vec::with_capacity(graves.len());
        for grave in graves {
            // Whoever built it may have finished and removed the grave since it was read: then it is not held any more, and not there either.
            if !self.shared.is_held(grave.space)
                && self.catalog.grave(grave.space)?.is_some()
                && !self.catalog.is_contested(grave.space)?
                && !self.is_used(grave)?
            {
                free.push(*grave);
            }
        }
        let graves: Vec<&Grave> = free;
        if graves.is_empty() {
            return Ok(true);
        }
        let files: Vec<FileId> = graves.iter().map(|g| g.file).collect();
        self.pager.doom_files(&files)?;
        let (mut gone, mut go_on) = (Vec::new(), true);
        for grave in graves {
            // Not held a moment ago, it is not held any more: DDL has no more to do with it.
            self.shared.begin_grave(grave.space);
            let done = self.pager.cut_away(grave.file, pace);
            go_on = self.shared.end_grave();
            match done {
                Ok(true) => gone.push(grave),
                Ok(false) => go_on = false,
                Err(e) => self.leave(grave, e, left)?,
            }
            if !go_on {
                break;
            }
        }
        self.pager.sync_tables()?;
        for grave in gone {
            self.remove(grave)?;
        }
        Ok(go_on)
    }

    /// Whether the file goes as a whole: then it may have been cut short before a crash, maps and all.
    fn is_doomed(&self, file: FileId) -> Result<bool> {
        match file {
            FileId::SHARED => Ok(false),
            // A tablespace is forgotten by the transaction that digs the grave of its file.
            file if file.is_general() => self
                .catalog
                .read(|txn| Ok(self.catalog.tablespace_name(txn, file)?.is_none())),
            // One that an unfinished transaction has removed says nothing: it may stay so.
            file => self.any_grave(|g| {
                Ok(g.file == file && g.whole_file && !self.catalog.is_contested(g.space)?)
            }),
        }
    }

    /// Whether DDL has to do still with something that was in a tablespace whose file goes.
    fn is_used(&self, grave: &Grave) -> Result<bool> {
        Ok(grave.file.is_general()
            && self.any_grave(|g| Ok(g.file == grave.file && self.shared.is_held(g.space)))?)
    }

    fn any_grave(&self, of_interest: impl Fn(&Grave) -> Result<bool>) -> Result<bool> {
        let mut after = None;
        loop {
            let graves = self.catalog.graves_after(after, BATCH)?;
            let Some(last) = graves.last() else {
                return Ok(false);
            };
            for grave in &graves {
                if of_interest(grave)? {
                    return Ok(true);
                }
            }
            after = Some(last.space);
        }
    }

    /// Removes a grave's row and frees the root page at once. Nobody but the reclaimer reads graves, so no older
    /// version of the row is of interest and it needs no transaction.
    fn remove(&self, grave: &Grave) -> Result<()> {
        let doomed = self.is_doomed(grave.file)?;
        let root = if doomed { 0 } else { grave.root };
        let tree = &self.catalog.graveyard.indexes[0].tree;
        let mut removed = false;
        let graveyard = self.shared.graveyard.lock();
        tree.edit(&grave.space.0.to_be_bytes(), 0, |leaf| {
            let Some(value) = leaf.value() else {
                return Ok(());
            };
            if RowHeader::read(value).ok_or_else(cut_short)?.marked() {
                return Ok(());
            }
            match leaf.mtr().free_root(grave.file, root) {
                // The file went meanwhile, with all that was in it.
                Err(Error::Io {
                    kind: ErrorKind::NotFound,
                    ..
                }) => {}
                r => r?,
            }
            leaf.remove();
            removed = true;
            Ok(())
        })?;
        drop(graveyard);
        if removed {
            self.shared.spaces.fetch_add(1, Ordering::Relaxed);
            self.shared.graves_removed(1);
        }
        Ok(())
    }
}

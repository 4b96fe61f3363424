//! The reclaimer: gives back, in small steps, the pages and files that DDL left behind.
//!
//! A grave that is committed and whose space nobody is building is dug up: the space's extents are found by their
//! owner in the allocation maps and freed in steps with pauses; its root page goes in the mini-transaction that removes the grave's
//! row, so that neither is freed twice nor forgotten. Everything can be repeated after a crash. No page of the
//! dead space is read. The thread holds no lock that a statement waits for.

use crate::catalog::Catalog;
use crate::catalog::row::Grave;
use crate::error::{Error, Result};
use crate::io::Storage;
use crate::pool::Pager;
use crate::space::{FileId, SpaceId};
use crate::table::format::RowHeader;
use parking_lot::{Condvar, Mutex};
use std::collections::HashSet;
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Pause between two steps of up to 64 extents: no more than about 4 GiB a second are freed.
const PAUSE: Duration = Duration::from_millis(2);
/// After a failure the thread looks again this much later.
const RETRY: Duration = Duration::from_secs(5);

/// The running reclaimer.
pub(super) struct Reclaimer {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    state: Mutex<State>,
    wake: Condvar,
    reclaimed: AtomicU64,
}

#[derive(Default)]
struct State {
    work: bool,
    /// Work was begun and is not done.
    busy: bool,
    stop: bool,
    /// Spaces with a grave though they are being built.
    building: HashSet<SpaceId>,
}

/// A space being built: its grave is left alone until this is dropped.
pub(super) struct Building<'r> {
    shared: &'r Shared,
    space: SpaceId,
}

impl Drop for Building<'_> {
    fn drop(&mut self) {
        self.shared.state.lock().building.remove(&self.space);
    }
}

impl Reclaimer {
    /// Starts the thread, which first takes on what an earlier life left.
    pub fn start(
        storage: &Arc<dyn Storage>,
        pager: &Arc<Pager>,
        catalog: &Arc<Catalog>,
    ) -> Result<Reclaimer> {
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                work: true,
                ..State::default()
            }),
            wake: Condvar::new(),
            reclaimed: AtomicU64::new(0),
        });
        let worker = Worker {
            shared: shared.clone(),
            pager: pager.clone(),
            catalog: catalog.clone(),
        };
        let files = table_files(&**storage)?;
        let thread = std::thread::Builder::new()
            .name("reclaimer".into())
            .spawn(move || worker.run(files))
            .map_err(|e| Error::io("start the reclaimer", &e))?;
        Ok(Reclaimer {
            shared,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Tells that there are new graves.
    pub fn wake(&self) {
        self.shared.state.lock().work = true;
        self.shared.wake.notify_one();
    }

    /// Marks a space as being built.
    pub fn building(&self, space: SpaceId) -> Building<'_> {
        let shared = &*self.shared;
        shared.state.lock().building.insert(space);
        Building { shared, space }
    }

    /// Graves dug up since opening.
    pub fn reclaimed(&self) -> u64 {
        self.shared.reclaimed.load(Ordering::Relaxed)
    }

    /// Whether it has something to do.
    pub fn is_active(&self) -> bool {
        let state = self.shared.state.lock();
        state.work || state.busy
    }

    /// Ends the thread; what it has not done is done after the next opening.
    pub fn stop(&self) {
        self.shared.state.lock().stop = true;
        self.shared.wake.notify_one();
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
        .filter_map(|n| n.parse().ok().map(FileId))
        .collect())
}

struct Worker {
    shared: Arc<Shared>,
    pager: Arc<Pager>,
    catalog: Arc<Catalog>,
}

impl Worker {
    fn run(&self, files: Vec<FileId>) {
        if let Err(e) = self.remove_orphans(files) {
            tracing::error!("files of unknown tables are left: {e}");
        }
        loop {
            {
                let mut state = self.shared.state.lock();
                while !state.work && !state.stop {
                    self.shared.wake.wait(&mut state);
                }
                if state.stop {
                    return;
                }
                (state.work, state.busy) = (false, true);
            }
            let done = self.dig_up_all();
            let mut state = self.shared.state.lock();
            if let Err(e) = done {
                tracing::error!("dead spaces are left for now: {e}");
                if !state.stop {
                    self.shared.wake.wait_for(&mut state, RETRY);
                }
                state.work = true;
            }
            state.busy = false;
        }
    }

    fn stopping(&self) -> bool {
        self.shared.state.lock().stop
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
            self.catalog.each_table(txn, &mut |row| {
                unknown.remove(&row.def.file);
                Ok(())
            })
        })?;
        for grave in self.catalog.graves()? {
            unknown.remove(&grave.file);
        }
        for file in unknown {
            tracing::info!(
                file = file.0,
                "removing the file of a table that does not exist"
            );
            self.pager.delete_file(file)?;
        }
        Ok(())
    }

    fn dig_up_all(&self) -> Result<()> {
        for grave in self.catalog.graves()? {
            if self.stopping() {
                return Ok(());
            }
            if self.shared.state.lock().building.contains(&grave.space) {
                continue;
            }
            // Whoever built it may have finished and removed the grave between our two looks.
            if let Some(grave) = self.catalog.grave(grave.space)? {
                self.dig_up(&grave)?;
                self.shared.reclaimed.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    fn dig_up(&self, grave: &Grave) -> Result<()> {
        if grave.whole_file {
            self.pager.delete_file(grave.file)?;
            return self.remove(grave);
        }
        let space = self.pager.space(grave.space, grave.file);
        self.pager.drop_space(&space);
        self.pager
            .free_extents(&space, || std::thread::sleep(PAUSE))?;
        self.remove(grave)
    }

    /// Removes a grave's row and frees the root page at once. Nobody but the reclaimer reads graves, so no older
    /// version of the row is of interest and it needs no transaction.
    fn remove(&self, grave: &Grave) -> Result<()> {
        let tree = &self.catalog.graveyard.indexes[0].tree;
        tree.edit(&grave.space.0.to_be_bytes(), 0, |leaf| {
            if leaf.value().is_none_or(|v| RowHeader::read(v).marked()) {
                return Ok(());
            }
            match leaf.mtr().free_root(grave.file, grave.root) {
                // The file went meanwhile, with all that was in it.
                Err(Error::Io {
                    kind: ErrorKind::NotFound,
                    ..
                }) => {}
                r => r?,
            }
            leaf.remove();
            Ok(())
        })
    }
}

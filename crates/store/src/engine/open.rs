//! Creating, recovering and closing a database.
//!
//! Opening: (1) the directory is locked, and its keys are had if it is encrypted; (2) redo brings pages to the log's end; (3) undo lanes and the catalog's roots are read, or
//! made if a crash interrupted the making; (4) the reclaimer starts, for the disk may be full; (5) DDL that was unfinished is rolled back, so
//! that definitions are in force when they are used; (6) prepared transactions get the metadata locks of their tables ([`super::prepared`]); (7) purge
//! starts, and the rollback of all else that was unfinished ([`super::unfinished`]); tables of dropped databases follow them ([`super::dropped`]).

use super::dropped::Dropper;
use super::encryption::Encryption;
use super::reclaim::Reclaimer;
use super::unfinished::Unfinished;
use super::{FORCE_RECOVERY_MOST, Inner, Options, TABLE_CACHE_BYTES_LEAST};
use crate::catalog::{
    CATALOG_DATABASE, Catalog, CodecFactory, Handler, OBJECTS, REFERENCES, STATISTICS, TABLESPACES,
};
use crate::error::{Error, Result};
use crate::io::Storage;
use crate::log::{Log, MIN_CAPACITY};
use crate::pool::{Pager, PagerOptions};
use crate::space::{FileId, SpaceId};
use crate::table::Context;
use crate::table::payload::Undo;
use crate::txn::{Txn, TxnSystem};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

const PURGE_THREADS: usize = 2;

pub(super) fn open(
    storage: Arc<dyn Storage>,
    options: Options,
    codecs: Arc<dyn CodecFactory>,
) -> Result<Inner> {
    if options.log_bytes < MIN_CAPACITY {
        let (asked, least) = (options.log_bytes, MIN_CAPACITY);
        let what = format!("a redo log of {asked} bytes is below the minimum of {least}");
        return Err(Error::Invalid(what));
    }
    if options.force_recovery > FORCE_RECOVERY_MOST {
        let asked = options.force_recovery;
        return Err(Error::Invalid(format!(
            "innodb_force_recovery={asked} is not supported; 1 to {FORCE_RECOVERY_MOST} are"
        )));
    }
    storage.lock().map_err(|e| match e.kind() {
        std::io::ErrorKind::WouldBlock => {
            Error::Locked("the directory is in use by another process".into())
        }
        _ => Error::io("lock the directory", &e),
    })?;
    let (storage, encryption) = Encryption::open(storage, &options)?;
    check_files(&*storage)?;
    crate::sort::clean(&*storage)?;
    let pager = open_pager(&storage, &options)?;
    pager.set_drop_algorithm(options.drop_algorithm);
    pager.set_io_capacity(options.io_capacity, options.io_capacity_max);
    if options.open_files > 0 {
        pager.set_open_files(options.open_files);
    }
    let force = options.force_recovery;
    let sys = TxnSystem::open(&pager, force > 0)?;
    sys.locks().set_limit(options.lock_limit());
    let ctx = Context::new(pager.clone(), sys.clone(), force > 0)?;
    let table_bytes = match options.table_cache_bytes {
        0 => (options.pool_bytes / 8).max(TABLE_CACHE_BYTES_LEAST),
        bytes => bytes,
    };
    let catalog = Catalog::open(&ctx, codecs.clone(), (options.table_cache, table_bytes))?;
    let handler = Arc::new(Handler(catalog.clone()));
    // The reclaimer asks whose files there are.
    catalog.find_tablespaces()?;
    // Before rollbacks, which may need room on a full disk.
    let rate = options.reclaim_bytes_per_sec;
    let reclaimer = Reclaimer::start(&storage, &pager, &catalog, rate, force < 2)?;
    let reclaimer = Arc::new(reclaimer);
    let later = match force < 3 {
        true => roll_back_ddl(&sys, &catalog, &handler, force)?,
        false => sys.take_recovered(),
    };
    // Graves have come back.
    reclaimer.wake();
    catalog.find_statistics()?;
    catalog.find_references()?;
    catalog.find_objects()?;
    super::prepared::lock_tables(&sys, &catalog, force > 0)?;
    if force < 2 {
        sys.start_purge(handler.clone(), PURGE_THREADS);
    }
    let unfinished = Unfinished::start(&sys, &catalog, later, force < 3)?;
    let dropper = Dropper::start(&catalog, &handler, &reclaimer, force < 2)?;
    Ok(Inner {
        unfinished,
        storage,
        encryption,
        sort_bytes: options.sort_bytes,
        ddl_bytes: AtomicU64::new(options.ddl_bytes),
        row_log_limit: Arc::new(AtomicU64::new(options.row_log_bytes)),
        fills: AtomicU64::new(0),
        lent: Default::default(),
        file_per_table: AtomicBool::new(options.file_per_table),
        closed: AtomicBool::new(false),
        opened: Instant::now(),
        pager,
        sys,
        ctx,
        catalog,
        handler,
        codecs,
        reclaimer,
        dropper,
        drop_at_once: options.drop_at_once,
    })
}

/// Refuses a directory that has lost one of its files, before anything in it is changed.
///
/// At creation the log comes first, and nothing is logged before the names of the data files are durable. So without a log
/// there are no data files, and with a log that was ever used there are both.
fn check_files(storage: &dyn Storage) -> Result<()> {
    let files = [FileId::SHARED, FileId::UNDO].map(FileId::name);
    let missing = |what: String| {
        let what = format!("{what} is missing from the data directory; nothing was changed");
        Err(Error::Corrupt(what))
    };
    if !Log::exists(storage) {
        return match files.iter().find(|f| storage.exists(f)) {
            Some(f) => missing(format!("file redo, which goes with {f},")),
            None => Ok(()),
        };
    }
    let lost = files.iter().find(|f| !storage.exists(f));
    match lost {
        Some(f) if Log::was_used(storage)? => missing(format!("file {f}")),
        _ => Ok(()),
    }
}

fn open_pager(storage: &Arc<dyn Storage>, options: &Options) -> Result<Arc<Pager>> {
    let pager_options = PagerOptions {
        pool_bytes: options.pool_bytes,
        instances: options.pool_instances,
        log_bytes: options.log_bytes,
        flush_at_commit: options.flush_at_commit,
        hash_index: options.hash_index,
    };
    let has_data = storage.exists(&FileId::SHARED.name());
    if Log::exists(&**storage)
        // Without data files the creation was cut short, perhaps while the log was being written.
        && (has_data || Log::open(&**storage, options.flush_at_commit).is_ok())
    {
        return Pager::open(storage.clone(), pager_options);
    }
    Pager::create(storage.clone(), pager_options)
}

/// Rolls back what DDL a crash left unfinished, so that definitions are in force when they are used; the other transactions.
///
/// DDL has changed the catalog's tables, those among them that were made when they were needed too: how those are known is committed,
/// or what makes them is unfinished and has changed the table of tables. It may have changed rows beside that, before and after (`lent`), so
/// all of a transaction's undo is looked at until a change of the catalog is found.
fn roll_back_ddl(
    sys: &Arc<TxnSystem>,
    catalog: &Catalog,
    handler: &Handler,
    force: u8,
) -> Result<Vec<Txn>> {
    let mut own = Vec::new();
    for name in [STATISTICS, REFERENCES, TABLESPACES, OBJECTS] {
        let row = catalog.read(|txn| catalog.table(txn, CATALOG_DATABASE, name))?;
        own.extend(row.map(|r| r.def.id));
    }
    let mut later = Vec::new();
    for txn in sys.take_recovered() {
        let mut ddl = false;
        let seen = sys.visit_undo(&txn, &mut |_, payload| {
            let read = Undo::read(payload);
            ddl = read.is_ok_and(|(t, _)| t < SpaceId::FIRST_USER || own.contains(&t));
            match ddl {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        if !ddl || seen.is_err() {
            later.push(txn);
            continue;
        }
        let id = txn.id();
        tracing::info!(id, "rolling back unfinished DDL");
        catalog.begin_pending(id, true);
        let undone = sys.rollback_recovered(txn, handler).and_then(|()| {
            // Files may go with what it has made, where rows were undone: nobody writes that any more.
            let pager = &catalog.ctx.pager;
            pager.log().sync_to(pager.log().end_lsn())?;
            pager.drop_spaces(&catalog.orphaned(id)?);
            Ok(())
        });
        catalog.end_pending(id);
        match undone {
            Err(e) if force > 0 => tracing::error!("DDL transaction {id} stays unfinished: {e}"),
            done => done.map_err(|e| forcible("unfinished DDL cannot be rolled back", e))?,
        }
    }
    Ok(later)
}

/// An error for which there is a way around.
fn forcible(what: &str, why: Error) -> Error {
    match why {
        Error::Corrupt(why) => Error::Corrupt(format!(
            "{what}: {why}; with innodb_force_recovery=1 the rest can be read"
        )),
        why => why,
    }
}

pub(super) fn close(inner: &Inner) -> Result<()> {
    let open = {
        let _paused = inner.dropper.pause();
        inner.sys.open_transactions()
    };
    if open > 0 {
        let what = format!("{open} transactions are open");
        return Err(Error::Invalid(what));
    }
    if inner.closed.swap(true, Ordering::AcqRel) {
        return Ok(());
    }
    inner.unfinished.stop();
    inner.dropper.stop();
    inner.reclaimer.stop();
    inner.sys.stop_purge();
    inner.catalog.save_counters()?;
    inner.pager.close()
}

//! Counters under the names of SHOW STATUS, and a report in the shape of SHOW ENGINE INNODB STATUS.

use super::{EngineStatus, Inner};
use crate::page::PAGE_SIZE;
use crate::pool::PoolStats;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

impl Inner {
    pub(super) fn status(&self) -> EngineStatus {
        let pool = self.pager.stats();
        EngineStatus {
            counters: self.counters(&pool),
            report: self.report(&pool),
        }
    }

    fn counters(&self, p: &PoolStats) -> Vec<(&'static str, u64)> {
        let page = PAGE_SIZE as u64;
        let data = p.total - p.free.min(p.total);
        let locks = self.sys.locks().stats();
        let rows = self.ctx().rows.all();
        let temporary = self.pager.unlogged_stats();
        let reclaim = self.reclaimer.shared();
        let log = self.pager.log().stats();
        let count = |n: &AtomicU64| n.load(Ordering::Relaxed);
        vec![
            ("Innodb_buffer_pool_pages_total", p.total),
            ("Innodb_buffer_pool_pages_data", data),
            ("Innodb_buffer_pool_bytes_data", data * page),
            ("Innodb_buffer_pool_pages_dirty", p.dirty),
            ("Innodb_buffer_pool_bytes_dirty", p.dirty * page),
            ("Innodb_buffer_pool_pages_free", p.free),
            ("Innodb_buffer_pool_pages_misc", p.stale),
            ("Innodb_buffer_pool_pages_flushed", p.written),
            ("Innodb_buffer_pool_read_requests", p.hits + p.reads),
            ("Innodb_buffer_pool_reads", p.reads),
            ("Innodb_buffer_pool_wait_free", p.waits_free),
            ("Innodb_data_reads", p.reads),
            ("Innodb_data_read", p.reads * page),
            ("Innodb_data_writes", p.written),
            ("Innodb_data_written", p.written * page),
            ("Innodb_data_pending_reads", p.pending_reads),
            ("Innodb_data_pending_writes", p.pending_writes),
            ("Innodb_dblwr_writes", p.doublewrite_batches),
            ("Innodb_dblwr_pages_written", p.written),
            ("Innodb_pages_created", p.created),
            ("Innodb_pages_read", p.reads),
            ("Innodb_pages_written", p.written),
            ("Innodb_page_size", page),
            ("Innodb_num_open_files", self.pager.open_files().0 as u64),
            ("Innodb_os_log_written", p.lsn),
            ("Innodb_os_log_fsyncs", count(&log.syncs)),
            ("Innodb_log_writes", count(&log.writes)),
            ("Innodb_log_write_requests", count(&log.groups)),
            ("Innodb_redo_log_current_lsn", p.lsn),
            ("Innodb_redo_log_flushed_to_disk_lsn", p.durable_lsn),
            ("Innodb_redo_log_checkpoint_lsn", p.checkpoint_lsn),
            ("Innodb_row_lock_current_waits", locks.row_waiting),
            ("Innodb_row_lock_waits", locks.row_waits),
            ("Innodb_row_lock_time", locks.row_wait_ms),
            ("Innodb_row_lock_time_max", locks.row_wait_max_ms),
            (
                "Innodb_row_lock_time_avg",
                locks.row_wait_ms.checked_div(locks.row_waits).unwrap_or(0),
            ),
            ("Innodb_deadlocks", locks.deadlocks),
            ("Innodb_rows_read", rows.read),
            ("Innodb_rows_inserted", rows.inserted),
            ("Innodb_rows_updated", rows.updated),
            ("Innodb_rows_deleted", rows.deleted),
            ("Innodb_history_list_length", self.sys.history_length()),
            ("Innodb_adaptive_hash_hash_searches", p.hash_searches),
            ("Innodb_adaptive_hash_non_hash_searches", p.tree_searches),
            (
                "Millpond_adaptive_hash_entries",
                self.pager.hash_index().entries() as u64,
            ),
            ("Millpond_spaces_reclaimed", reclaim.reclaimed_spaces()),
            ("Millpond_reclaimed_bytes", reclaim.reclaimed_bytes()),
            (
                "Millpond_reclaimer_active",
                u64::from(reclaim.is_active() || self.dropper.is_active()),
            ),
            ("Millpond_dropped_tables_removed", self.dropper.tables()),
            ("Millpond_graveyard_spaces", reclaim.graves()),
            (
                "Millpond_graveyard_bytes",
                self.graveyard_bytes().unwrap_or(0),
            ),
            ("Millpond_unfinished_transactions", self.unfinished.left()),
            (
                "Millpond_quarantined_tables",
                self.catalog.quarantined() as u64,
            ),
            ("Millpond_bulk_fills", count(&self.fills)),
            ("Millpond_open_tables", self.catalog.open_tables() as u64),
            (
                "Millpond_open_table_bytes",
                self.catalog.open_table_bytes() as u64,
            ),
            ("Millpond_temp_file_bytes", temporary.file_bytes),
            ("Millpond_temp_file_used_bytes", temporary.used_bytes),
            ("Millpond_temp_pages_written", temporary.written),
        ]
    }

    fn ctx(&self) -> &crate::table::Context {
        &self.catalog.ctx
    }

    fn report(&self, p: &PoolStats) -> String {
        let mut out = String::with_capacity(4096);
        // Writing to a string cannot fail.
        let _ = self.write_report(&mut out, p);
        out
    }

    fn write_report(&self, w: &mut String, p: &PoolStats) -> std::fmt::Result {
        let uptime = self.opened.elapsed().as_secs();
        title(w, "BACKGROUND THREAD")?;
        writeln!(w, "Uptime {uptime} seconds")?;
        writeln!(w, "Purge: {} transactions done", self.sys.purged())?;
        writeln!(
            w,
            "Reclaimer: {} dead spaces and files given back, {} waiting",
            self.reclaimer.shared().reclaimed_spaces(),
            self.reclaimer.shared().graves()
        )?;
        writeln!(w, "Open tables {}", self.catalog.open_tables())?;

        let locks = self.sys.locks().stats();
        title(w, "SEMAPHORES")?;
        writeln!(
            w,
            "Row lock waits {}, waiting now {}; waiting for metadata locks {}",
            locks.row_waits, locks.row_waiting, locks.metadata_waiting
        )?;
        writeln!(w, "Waits for a free frame {}", p.waits_free)?;
        for s in crate::wait::snapshot().iter().filter(|s| s.count > 0) {
            writeln!(
                w,
                "{}: {} waits, {} us, longest {} us",
                s.class.event_name(),
                s.count,
                s.total_ns / 1000,
                s.max_ns / 1000
            )?;
        }

        if let Some(deadlock) = self.sys.last_deadlock() {
            title(w, "LATEST DETECTED DEADLOCK")?;
            writeln!(w, "{}", deadlock.trim_end())?;
        }

        title(w, "TRANSACTIONS")?;
        writeln!(w, "Trx id counter {}", self.sys.next_id())?;
        writeln!(w, "History list length {}", self.sys.history_length())?;
        writeln!(w, "LIST OF TRANSACTIONS FOR EACH SESSION:")?;
        let now = SystemTime::now();
        for t in self.sys.transactions() {
            let seconds = now.duration_since(t.started).map_or(0, |d| d.as_secs());
            writeln!(w, "---TRANSACTION {}, ACTIVE {seconds} sec", t.who.trx)?;
            if let Some(what) = &t.waiting {
                writeln!(w, "LOCK WAIT for {what}")?;
            }
            writeln!(
                w,
                "{} row lock(s), undo log entries {}",
                t.locks, t.rows_changed
            )?;
            writeln!(w, "MySQL thread id {}", t.who.tag)?;
        }

        title(w, "FILE I/O")?;
        writeln!(
            w,
            "Pending normal reads {}, writes {}",
            p.pending_reads, p.pending_writes
        )?;
        writeln!(
            w,
            "{} OS file reads, {} OS file writes, {} doublewrite batches",
            p.reads, p.written, p.doublewrite_batches
        )?;

        title(w, "INSERT BUFFER AND ADAPTIVE HASH INDEX")?;
        self.pager
            .hash_index()
            .report(w, p.hash_searches, p.tree_searches)?;

        title(w, "LOG")?;
        writeln!(w, "Log sequence number          {}", p.lsn)?;
        writeln!(w, "Log flushed up to            {}", p.durable_lsn)?;
        writeln!(w, "Last checkpoint at           {}", p.checkpoint_lsn)?;
        writeln!(
            w,
            "Log capacity                 {}",
            self.pager.log().capacity()
        )?;
        writeln!(w, "{} checkpoints", p.checkpoints)?;

        title(w, "BUFFER POOL AND MEMORY")?;
        writeln!(w, "Total memory allocated {}", p.bytes)?;
        writeln!(w, "Buffer pool size   {}", p.total)?;
        writeln!(w, "Free buffers       {}", p.free)?;
        writeln!(w, "Database pages     {}", p.young + p.old)?;
        writeln!(w, "Old database pages {}", p.old)?;
        writeln!(w, "Modified db pages  {}", p.dirty)?;
        writeln!(w, "Stale pages        {}", p.stale)?;
        writeln!(
            w,
            "LRU len: {}, flush list len: {}",
            p.young + p.old,
            p.dirty
        )?;
        writeln!(w, "Pages made young {}", p.made_young)?;
        writeln!(
            w,
            "Pages read {}, created {}, written {}, evicted {}, discarded {}",
            p.reads, p.created, p.written, p.evicted, p.discarded
        )?;
        let requests = p.hits + p.reads;
        let rate = (p.hits * 1000).checked_div(requests).unwrap_or(1000);
        writeln!(w, "Buffer pool hit rate {rate} / 1000")?;

        self.write_instances(w)?;

        title(w, "ROW OPERATIONS")?;
        let rows = self.ctx().rows.all();
        writeln!(
            w,
            "Number of rows inserted {}, updated {}, deleted {}, read {}",
            rows.inserted, rows.updated, rows.deleted, rows.read
        )
    }
}

impl Inner {
    /// A section for each instance, if there are several.
    fn write_instances(&self, w: &mut String) -> std::fmt::Result {
        let instances = self.pager.instance_stats();
        if instances.len() < 2 {
            return Ok(());
        }
        title(w, "INDIVIDUAL BUFFER POOL INFO")?;
        for (no, i) in instances.iter().enumerate() {
            writeln!(w, "---BUFFER POOL {no}")?;
            writeln!(w, "Buffer pool size   {}", i.size)?;
            writeln!(w, "Free buffers       {}", i.free)?;
            writeln!(w, "Database pages     {}", i.young + i.old)?;
            writeln!(w, "Old database pages {}", i.old)?;
            writeln!(w, "Modified db pages  {}", i.dirty)?;
            writeln!(
                w,
                "LRU len: {}, flush list len: {}",
                i.young + i.old,
                i.dirty
            )?;
            writeln!(w, "Pending reads      {}", i.pending_reads)?;
            writeln!(
                w,
                "Pages made young {}, not young {}",
                i.made_young, i.not_young
            )?;
            writeln!(
                w,
                "Pages read {}, created {}, written {}",
                i.reads, i.created, i.written
            )?;
        }
        Ok(())
    }
}

fn title(w: &mut String, name: &str) -> std::fmt::Result {
    let line = "-".repeat(name.len());
    writeln!(w, "{line}\n{name}\n{line}")
}

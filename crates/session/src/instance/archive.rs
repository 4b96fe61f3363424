//! The log's archive: whether there is one, and how it is doing.

use std::sync::Arc;

use millpond_sql::error::{SqlError, SqlResult};
use millpond_store::io::RealStorage;

use super::Instance;

impl Instance {
    /// Archives the log, if `millpond_log_archive_dir` says where to.
    pub(super) fn start_archive(&self) -> SqlResult<()> {
        let asked = self.global_text("millpond_log_archive_dir");
        let Some(path) = asked.filter(|p| !p.is_empty()) else {
            return Ok(());
        };
        let cannot = |why: String| {
            let m = format!("Can't archive the log in '{path}': {why}");
            SqlError::new(1105, m)
        };
        let storage = RealStorage::new(&path).map_err(|e| cannot(e.to_string()))?;
        let archive = self.0.engine.archive_log(Arc::new(storage));
        *self.0.archive.lock() = Some(archive.map_err(|e| cannot(e.to_string()))?);
        Ok(())
    }

    /// Status variables about it.
    pub(super) fn archive_status(&self) -> [(&'static str, u64); 3] {
        let archive = self.0.archive.lock();
        let status = archive.as_ref().map(|a| a.status()).unwrap_or_default();
        [
            ("Millpond_log_archived_lsn", status.lsn),
            ("Millpond_log_archive_gaps", status.gaps),
            (
                "Millpond_log_archive_failing",
                u64::from(status.trouble.is_some()),
            ),
        ]
    }
}

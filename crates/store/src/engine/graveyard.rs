//! The graveyard as users see it.

use super::Inner;
use crate::catalog::row::{self, Grave};
use crate::error::Result;
use crate::page::PAGE_SIZE;
use crate::pool::EXTENT_BYTES;
use crate::space::FileId;
use std::time::{Duration, SystemTime};

/// Graves read at a time.
const BATCH: usize = 1024;
/// Graves measured for [`Inner::graveyard_bytes`]; more are taken to be like these.
const MEASURED: u64 = 4096;

/// What is done about a grave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraveState {
    /// Its space is being built; if that succeeds there is no grave.
    Building,
    /// Its turn has not come.
    Waiting,
    /// It is being given back.
    Reclaiming,
}

/// A dead space, or a dead file, that has not wholly been given back.
#[derive(Clone, Debug)]
pub struct GraveInfo {
    /// Space id; of a whole file one of its spaces'.
    pub space: u64,
    /// Whose it was, where known.
    pub database: Option<String>,
    /// Its table, or `table#P#partition`.
    pub table: Option<String>,
    /// The index; `None`: the whole file.
    pub index: Option<String>,
    /// Name of its file.
    pub file: String,
    /// Bytes left.
    pub bytes: u64,
    /// Extents left; those of a whole file count as they lie in it.
    pub extents: u64,
    /// When it died, where known.
    pub since: Option<SystemTime>,
    /// What is done about it.
    pub state: GraveState,
}

/// A table's name, or a partition's as MySQL writes it.
fn readable(name: &str) -> String {
    match row::split_partition(name) {
        Some((table, partition)) => format!("{table}#P#{partition}"),
        None => name.into(),
    }
}

impl Inner {
    /// Visits the graves by space id.
    pub(super) fn each_grave(
        &self,
        f: &mut dyn FnMut(GraveInfo) -> std::ops::ControlFlow<()>,
    ) -> Result<()> {
        let mut after = None;
        loop {
            let graves = self.catalog.graves_after(after, BATCH)?;
            let Some(last) = graves.last() else {
                return Ok(());
            };
            after = Some(last.space);
            for grave in graves {
                if f(self.grave_info(grave)?).is_break() {
                    return Ok(());
                }
            }
        }
    }

    fn grave_info(&self, grave: Grave) -> Result<GraveInfo> {
        let (bytes, extents) = self.grave_size(&grave)?;
        let shared = self.reclaimer.shared();
        let state = if shared.current() == Some(grave.space) {
            GraveState::Reclaiming
        } else if shared.is_held(grave.space) {
            GraveState::Building
        } else {
            GraveState::Waiting
        };
        let known = |s: String| (!s.is_empty()).then_some(s);
        let since = grave.late.since_ms;
        Ok(GraveInfo {
            space: grave.space.0,
            database: known(grave.late.database),
            table: known(readable(&grave.late.table)),
            index: known(grave.late.index),
            file: grave.file.name(),
            bytes,
            extents,
            since: (since > 0).then(|| SystemTime::UNIX_EPOCH + Duration::from_millis(since)),
            state,
        })
    }

    /// Bytes and extents.
    fn grave_size(&self, grave: &Grave) -> Result<(u64, u64)> {
        if grave.whole_file {
            let bytes = self.pager.file_bytes(grave.file)?;
            return Ok((bytes, bytes / EXTENT_BYTES));
        }
        if grave.is_range() {
            let bytes = self
                .ctx
                .shared
                .bytes_of_several(grave.space, grave.last())?;
            return Ok((bytes, 0));
        }
        let extents = self.pager.space_extents(grave.space, grave.file)?;
        let root = match grave.root {
            0 if grave.file == FileId::SHARED => self.ctx.shared.bytes(grave.space)?,
            0 => 0,
            _ => PAGE_SIZE as u64,
        };
        Ok((extents * EXTENT_BYTES + root, extents))
    }

    /// About how many bytes are in the graveyard: measured up to 4,096 graves, estimated from those beyond.
    pub(super) fn graveyard_bytes(&self) -> Result<u64> {
        let graves = self.reclaimer.shared().graves();
        if graves == 0 {
            return Ok(0);
        }
        let (mut measured, mut bytes) = (0, 0);
        let mut after = None;
        while measured < MEASURED {
            let batch = self.catalog.graves_after(after, BATCH)?;
            let Some(last) = batch.last() else {
                return Ok(bytes);
            };
            after = Some(last.space);
            for grave in &batch {
                bytes += self.grave_size(grave)?.0;
            }
            measured += batch.len() as u64;
        }
        let scaled = u128::from(bytes) * u128::from(graves.max(measured)) / u128::from(measured);
        Ok(u64::try_from(scaled).unwrap_or(u64::MAX))
    }
}

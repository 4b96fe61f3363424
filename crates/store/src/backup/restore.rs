//! A data directory out of backups and archived log.
//!
//! The pages of a full backup are put where they were, and its log is redone on them as recovery would do it: they are of its end LSN then. Those of incremental
//! ones follow, each with its log. Archived log is redone from there on, a segment at a time, up to a point in time or LSN. Last comes an empty log
//! that begins where the redo ended; without it nothing takes the directory for a database. What was not committed is rolled
//! back when it is opened.
//!
//! Everything read is verified: chunks and groups by their checksums, the whole by the manifest.

use super::archive::{self, Segment};
use super::manifest::Manifest;
use super::pages::{self, Chunk};
use super::{FILES, LOG};
use crate::error::{Error, Result};
use crate::io::{File, Storage};
use crate::log::Log;
use crate::log::stream::{self, Stream};
use crate::page::{Lsn, PAGE_SIZE, put_u64};
use crate::pool::{new_history, redo_copy};
use crate::space::{FileId, SpaceId, layout};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Memory that redoing may use, roughly.
const MEMORY: usize = 256 << 20;

/// How far to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// As far as there is log.
    End,
    /// What was logged up to this LSN.
    Lsn(Lsn),
    /// What was durable by then, milliseconds since 1970; to the second.
    Time(u64),
}

/// What was restored.
#[derive(Clone, Debug)]
pub struct Restored {
    /// The database is as it was here.
    pub lsn: Lsn,
    /// Pages written out of backups.
    pub pages: u64,
    /// Bytes of log redone.
    pub log_bytes: u64,
    /// Other files of the last backup that has any, by name.
    pub files: Vec<(String, Vec<u8>)>,
}

/// A stretch of the log in a file.
pub(super) struct Copy {
    pub file: Arc<dyn File>,
    pub name: String,
    /// LSN of the file's first byte.
    pub start: Lsn,
}

impl Stream for Copy {
    fn read(&self, bytes: &mut [u8], lsn: Lsn) -> Result<()> {
        let read = self.file.read_at(bytes, lsn - self.start);
        read.map_err(|e| Error::io(format!("read {}", self.name), &e))
    }
}

/// Makes a database in `to`, which is empty, of a full backup, incremental ones that are each based on the one before, and archived log.
pub fn restore(
    backups: &[&dyn Storage],
    archived: Option<&dyn Storage>,
    until: Until,
    to: &dyn Storage,
) -> Result<Restored> {
    for folder in ["", "tables"] {
        let there = to.list(folder).unwrap_or_default();
        if let Some(name) = there.first() {
            let what = format!("the directory to restore to is not empty: there is {name}");
            return Err(Error::Invalid(what));
        }
    }
    let manifests = chain(backups)?;
    let Some(last) = manifests.last() else {
        return Err(Error::Invalid("there is no backup to restore".into()));
    };
    let (segments, limit) = match archived {
        Some(from) => plan(from, last, until)?,
        None if until != Until::End => {
            let what = "a point in time or LSN takes archived log";
            return Err(Error::Invalid(what.into()));
        }
        None => (Vec::new(), last.end),
    };
    let mut work = Work {
        to,
        files: BTreeSet::new(),
        lsn: 0,
        epoch: 0,
        restored: Restored {
            lsn: 0,
            pages: 0,
            log_bytes: 0,
            files: Vec::new(),
        },
    };
    for (from, manifest) in backups.iter().zip(&manifests) {
        work.backup(*from, manifest)?;
    }
    if let Some(from) = archived {
        for segment in &segments {
            work.segment(from, segment, limit)?;
        }
    }
    work.finish(last.redo_bytes)
}

/// The backups' manifests, if each is based on the one before.
fn chain(backups: &[&dyn Storage]) -> Result<Vec<Manifest>> {
    let mut manifests: Vec<Manifest> = Vec::new();
    for (n, from) in backups.iter().enumerate() {
        let manifest = Manifest::read(*from)?;
        let wanted = manifests.last().map(|m| (m.end, m.crc));
        let alien = manifests
            .last()
            .is_some_and(|m| m.history != manifest.history);
        if manifest.base != wanted || alien {
            return Err(Error::Invalid(match (manifest.base, wanted) {
                (Some(_), None) => "the first backup is incremental; it takes the one that it is based on before it".into(),
                (None, _) => format!("backup {} is a full one, and there is another before it", n + 1),
                _ => format!("backup {} is not based on the one before it", n + 1),
            }));
        }
        manifests.push(manifest);
    }
    Ok(manifests)
}

/// The archive's segments to redo, and the LSN not to pass.
fn plan(from: &dyn Storage, last: &Manifest, until: Until) -> Result<(Vec<Segment>, Lsn)> {
    if archive::history_of(from)? != Some(last.history) {
        let what =
            "the archive is not of the database that the backup is of, or of another history of it";
        return Err(Error::Invalid(what.into()));
    }
    let limit = match until {
        Until::End => Lsn::MAX,
        Until::Lsn(lsn) => lsn,
        Until::Time(ms) => archive::lsn_at(from, ms)?.ok_or_else(|| {
            Error::Invalid("the archive has nothing from before that time".into())
        })?,
    };
    if limit < last.end {
        return Err(Error::Invalid(format!(
            "the backup ends at LSN {}, and is to be restored to LSN {limit}: an earlier backup can be",
            last.end
        )));
    }
    let mut at = last.end;
    let mut segments = archive::segments(from, last.end)?;
    segments.retain(|s| s.end > last.end && s.start < limit);
    for segment in &segments {
        if segment.start > at {
            return Err(Error::Invalid(format!(
                "the archived log has a gap from LSN {at} to {}",
                segment.start
            )));
        }
        at = at.max(segment.end);
    }
    if let Until::Lsn(lsn) = until
        && at < lsn
    {
        let what = format!("the archived log ends at LSN {at}, before {lsn}");
        return Err(Error::Invalid(what));
    }
    Ok((segments, limit))
}

struct Work<'a> {
    to: &'a dyn Storage,
    /// Files that pages were written to.
    files: BTreeSet<FileId>,
    lsn: Lsn,
    epoch: u32,
    restored: Restored,
}

impl Work<'_> {
    /// Puts a backup's pages in place and redoes its log.
    fn backup(&mut self, from: &dyn Storage, manifest: &Manifest) -> Result<()> {
        let mut open: Option<(FileId, Arc<dyn File>)> = None;
        let (to, files) = (self.to, &mut self.files);
        let found = pages::each_chunk(from, manifest.pages_bytes, |chunk| {
            let file = match &open {
                Some((id, file)) if *id == chunk.id => file.clone(),
                _ => {
                    let name = chunk.id.name();
                    let file = to.open(&name, true);
                    let file = file.map_err(|e| Error::io(format!("create {name}"), &e))?;
                    files.insert(chunk.id);
                    open = Some((chunk.id, file.clone()));
                    file
                }
            };
            put(&chunk, &*file)
        })?;
        if found != (manifest.chunks, manifest.pages, manifest.pages_crc) {
            let what = "the pages of the backup are not those that its manifest is about";
            return Err(Error::Corrupt(what.into()));
        }
        self.restored.pages += manifest.pages;
        self.sync_files()?;
        let file = from.open(LOG, false);
        let copy = Copy {
            file: file.map_err(|e| Error::io(format!("open {LOG}"), &e))?,
            name: LOG.into(),
            start: manifest.start,
        };
        // What was archived before the base's end has lower epochs than its last group.
        self.redo(&copy, manifest.start, manifest.end, 0, false)?;
        let files = other_files(from)?;
        if !files.is_empty() {
            self.restored.files = files;
        }
        Ok(())
    }

    /// Redoes a segment of the archive from where the work stands, up to `limit`.
    fn segment(&mut self, from: &dyn Storage, segment: &Segment, limit: Lsn) -> Result<()> {
        let copy = segment.open(from)?;
        let len = segment.end.min(limit).saturating_sub(self.lsn);
        // The limit may be within a group.
        let ignore = &mut |_, _, _: &[u8]| Ok(());
        let (end, _) = stream::walk(&copy, self.lsn, len, self.epoch, ignore)?;
        self.redo(&copy, self.lsn, end, self.epoch, true)
    }

    fn redo(&mut self, copy: &Copy, from: Lsn, end: Lsn, epoch: u32, alone: bool) -> Result<()> {
        let range = (from, end - from);
        let (report, last) = redo_copy(self.to, copy, range, alone, epoch, MEMORY)?;
        if let Some((file, page)) = report.broken.first() {
            let what = format!("page {page} of {file} cannot be restored");
            return Err(Error::Corrupt(what));
        }
        self.restored.log_bytes += end - from;
        self.lsn = end;
        self.epoch = self.epoch.max(last);
        Ok(())
    }

    fn sync_files(&mut self) -> Result<()> {
        for id in std::mem::take(&mut self.files) {
            let name = id.name();
            let file = self.to.open(&name, false);
            file.and_then(|f| f.sync())
                .map_err(|e| Error::io(format!("sync {name}"), &e))?;
        }
        Ok(())
    }

    /// From here on it is a history of its own: LSNs to come are others than the source's.
    fn begin_history(&self) -> Result<()> {
        let name = FileId::SHARED.name();
        let io = |e| Error::io(format!("write the header of {name}"), &e);
        let file = self.to.open(&name, false).map_err(io)?;
        let mut page = vec![0; PAGE_SIZE];
        file.read_at(&mut page, 0).map_err(io)?;
        let valid = layout::verify(&page, SpaceId::FILE.0, 0);
        valid.map_err(|e| Error::Corrupt(format!("{name}, page 0: {e}")))?;
        let at = layout::COUNTERS_AT + layout::HISTORY * 8;
        put_u64(&mut page, at, new_history());
        layout::seal(&mut page);
        file.write_at(&page, 0).map_err(io)?;
        file.sync().map_err(io)
    }

    /// Makes the directory a database.
    fn finish(mut self, redo_bytes: u64) -> Result<Restored> {
        self.begin_history()?;
        for folder in ["", "tables"] {
            match self.to.sync_folder(folder) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                    return Err(Error::io(format!("sync folder '{folder}'"), &e));
                }
                _ => {}
            }
        }
        Log::create_at(self.to, redo_bytes, self.lsn, self.epoch)?;
        self.restored.lsn = self.lsn;
        Ok(self.restored)
    }
}

fn put(chunk: &Chunk<'_>, file: &dyn File) -> Result<()> {
    let failed = |what: &str, e| Error::io(format!("{what} {}", chunk.id.name()), &e);
    for (no, image) in &chunk.pages {
        file.write_at(image, u64::from(*no) * PAGE_SIZE as u64)
            .map_err(|e| failed("write", e))?;
    }
    if chunk.len > 0 {
        file.set_len(chunk.len)
            .map_err(|e| failed("set the length of", e))?;
    }
    Ok(())
}

fn other_files(from: &dyn Storage) -> Result<Vec<(String, Vec<u8>)>> {
    let mut files = Vec::new();
    for name in from.list(FILES).unwrap_or_default() {
        let path = format!("{FILES}/{name}");
        let io = |e| Error::io(format!("read {path}"), &e);
        let file = from.open(&path, false).map_err(io)?;
        let mut bytes = vec![0; file.len().map_err(io)? as usize];
        file.read_at(&mut bytes, 0).map_err(io)?;
        files.push((name, bytes));
    }
    Ok(files)
}

//! Backups: copies of a database that is open and being written to, and databases made of such copies.
//!
//! | file | owns |
//! |---|---|
//! | `take` | copying an open database |
//! | `pages` | the file of pages: chunks, written and read |
//! | `manifest` | what a backup says of itself |
//! | `restore` | a data directory out of backups and archived log |
//! | `archive` | the log copied away as it grows |
//!
//! A backup is a directory with `backup.pages`, `backup.log` and, once all else is durable, `backup.manifest`. What is in them and why it is
//! enough is in `docs/backup.md`.

mod archive;
mod manifest;
mod pages;
mod restore;
mod take;

pub use archive::{Archive, ArchiveStatus};
pub use manifest::Manifest;
pub use restore::{Restored, Until, restore};
pub(crate) use take::{Encrypt, take};

use crate::error::Result;
use crate::page::Lsn;

/// The file of pages.
const PAGES: &str = "backup.pages";
/// The log that belongs to them.
const LOG: &str = "backup.log";
/// What makes a backup whole.
const MANIFEST: &str = "backup.manifest";
/// Folder of other files, which are copied as they are.
const FILES: &str = "files";

/// What a backup is to be like.
#[derive(Clone, Debug, Default)]
pub struct BackupOptions {
    /// Only pages changed since this backup ended; see [`Manifest::read`].
    pub base: Option<Manifest>,
    /// Bytes of pages copied a second; 0: no limit.
    pub bytes_per_sec: u64,
    /// Other small files to go with it, by name.
    pub files: Vec<(String, Vec<u8>)>,
}

/// How far a backup has come.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Bytes of files that have been looked at.
    pub bytes: u64,
    /// Bytes that they had in all when it began.
    pub of: u64,
    /// The log is copied up to here.
    pub log: Lsn,
}

/// Called now and then, between two steps; an error ends the backup with it.
pub type OnProgress<'a> = &'a mut dyn FnMut(&Progress) -> Result<()>;

//! BACKUP TO: a copy of the open database in a directory of the server's machine.
//!
//! It takes BACKUP_ADMIN, and `secure_file_priv` must allow the directory, which is new or empty. The store does the work
//! (`millpond_store::backup`); here are who may, where to, how fast (`millpond_backup_bytes_per_sec`), how far (the process list's State), and KILL.

use std::fs;
use std::path::Path;

use millpond_sql::error::{SqlError, SqlResult};
use millpond_sql::files::access;
use millpond_sql::store_error::store_error;
use millpond_sql::value::Value;
use millpond_store::Error;
use millpond_store::backup::{BackupOptions, Manifest};
use millpond_store::io::RealStorage;
use millpond_store::txn::DdlStage;

use super::Session;
use super::dispatch::Answer;
use crate::show;

/// The base's, or the new backup's directory.
fn storage(path: &Path) -> SqlResult<RealStorage> {
    RealStorage::new(path).map_err(|e| {
        let number = e.raw_os_error().unwrap_or_default();
        let path = path.display();
        SqlError::new(
            1,
            format!("Can't create/write to file '{path}' (OS errno {number} - {e})"),
        )
    })
}

/// Error 1086 unless the directory is not there or empty. Whether it is there.
fn check_empty(path: &Path) -> SqlResult<bool> {
    let Ok(mut entries) = fs::read_dir(path) else {
        return match path.exists() {
            true => Err(exists(path)),
            false => Ok(false),
        };
    };
    match entries.next() {
        None => Ok(true),
        Some(_) => Err(exists(path)),
    }
}

fn exists(path: &Path) -> SqlError {
    let path = path.display();
    SqlError::new(1086, format!("File '{path}' already exists"))
}

impl Session {
    /// BACKUP TO. A row: where it is, where its log begins and ends, and what there is of pages.
    pub(super) fn backup(&mut self, directory: &str, base: Option<&str>) -> SqlResult<Answer> {
        let path = access::directory(&self.env, directory)?;
        let base = match base {
            Some(name) => {
                let path = access::directory(&self.env, name)?;
                if !path.is_dir() {
                    let name = path.display();
                    return Err(SqlError::new(
                        29,
                        format!("File '{name}' not found (OS errno 2 - No such file or directory)"),
                    ));
                }
                let manifest = Manifest::read(&storage(&path)?);
                Some(manifest.map_err(|e| store_error(e, ""))?)
            }
            None => None,
        };
        let there = check_empty(&path)?;
        let options = BackupOptions {
            base,
            bytes_per_sec: self
                .instance
                .global_u64("millpond_backup_bytes_per_sec")
                .unwrap_or(0),
            files: self.instance.0.persisted.file().into_iter().collect(),
        };
        let to = storage(&path)?;
        let owner = self.owner.clone();
        let seen = owner.progress().begin_in(DdlStage::Backup, 0);
        let done = self
            .instance
            .0
            .engine
            .backup(&to, &options, &mut |progress| {
                owner.progress().set(progress.bytes, progress.of);
                match owner.is_killed() {
                    true => Err(Error::Interrupted),
                    false => Ok(()),
                }
            });
        drop(seen);
        let manifest = match done {
            Ok(manifest) => manifest,
            Err(e) => {
                // What it wrote is removed by now.
                let _ = fs::remove_dir(path.join("files"));
                if !there {
                    let _ = fs::remove_dir(&path);
                }
                return Err(store_error(e, ""));
            }
        };
        let columns = vec![
            show::meta("Directory", 1024),
            show::meta("Start_lsn", 20),
            show::meta("End_lsn", 20),
            show::meta("Pages", 20),
            show::meta("Bytes", 20),
        ];
        let text = |s: String| Value::string(s);
        let row = vec![
            text(path.display().to_string()),
            text(manifest.start.to_string()),
            text(manifest.end.to_string()),
            text(manifest.pages.to_string()),
            text((manifest.pages_bytes + manifest.end - manifest.start).to_string()),
        ];
        Ok(Answer::Rows(columns, vec![row]))
    }
}

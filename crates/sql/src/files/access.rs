//! Which files statements may touch.
//!
//! `secure_file_priv` says: none (NULL, the default), those in one directory and below it, or any (an empty text); and who may do it at all, the
//! FILE privilege. A path is judged and opened with its symbolic links resolved, so that no link
//! leads out of the directory; a file is created only where nothing is, not even a link. The file with the database's master keys is nobody's,
//! wherever it is. A name that is not absolute is looked for in the data directory.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::system_error;
use crate::env::SessionEnv;
use crate::error::{SqlError, SqlResult};
use crate::value::Value;

/// What `secure_file_priv` allows.
enum Allowed {
    Nothing,
    Anything,
    /// What lies in this directory, whose links are resolved.
    Within(PathBuf),
}

impl Allowed {
    fn of(env: &SessionEnv) -> SqlResult<Allowed> {
        let value = (env.sys_var)("global", "secure_file_priv")?;
        let text = match &value {
            Value::Null => return Ok(Allowed::Nothing),
            value => String::from_utf8_lossy(&value.to_text()).into_owned(),
        };
        if text.is_empty() {
            return Ok(Allowed::Anything);
        }
        // One that is not there has no files.
        Ok(fs::canonicalize(text).map_or(Allowed::Nothing, Allowed::Within))
    }
    /// Error 1290 unless a path without links is allowed.
    fn check(&self, path: &Path) -> SqlResult<()> {
        match self {
            Allowed::Anything => Ok(()),
            Allowed::Within(directory) if path.starts_with(directory) => Ok(()),
            Allowed::Nothing | Allowed::Within(_) => Err(refused()),
        }
    }
}

/// Error 1290.
fn refused() -> SqlError {
    SqlError::new(
        1290,
        "The MySQL server is running with the --secure-file-priv option so it cannot execute this statement",
    )
}

/// Error 1290 if a path without links is where the keys of the database are.
fn check_keys(env: &SessionEnv, path: &Path) -> SqlResult<()> {
    let services = env.services.as_ref();
    match services.is_some_and(|s| s.engine().has_keys_in(path)) {
        true => Err(refused()),
        false => Ok(()),
    }
}

/// Where a name leads.
fn absolute(env: &SessionEnv, name: &str) -> SqlResult<PathBuf> {
    let path = Path::new(name);
    if path.is_absolute() {
        return Ok(path.to_path_buf());
    }
    let data = (env.sys_var)("global", "datadir")?;
    Ok(Path::new(&*String::from_utf8_lossy(&data.to_text())).join(path))
}

/// A path whose last part need not be there, with the links of the rest resolved.
fn resolved(path: &Path) -> io::Result<PathBuf> {
    let (Some(directory), Some(file)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    Ok(fs::canonicalize(directory)?.join(file))
}

/// Opens a file to read it. Errors 1290; 13 if there is none; 1085 if it is no regular file; 29 if it can't be opened.
pub fn open(env: &SessionEnv, name: &str) -> SqlResult<File> {
    let allowed = Allowed::of(env)?;
    if let Allowed::Nothing = allowed {
        return Err(refused());
    }
    let path = absolute(env, name)?;
    let real = match fs::canonicalize(&path) {
        Ok(real) => real,
        Err(e) => {
            // Whether there is one elsewhere is not told.
            if !matches!(allowed, Allowed::Anything) {
                allowed.check(&resolved(&path).map_err(|_| refused())?)?;
            }
            return Err(system_error(13, format!("Can't get stat of '{name}'"), &e));
        }
    };
    allowed.check(&real)?;
    check_keys(env, &real)?;
    let cannot = |e: io::Error| system_error(29, format!("File '{name}' not found"), &e);
    if !fs::metadata(&real).map_err(cannot)?.is_file() {
        let m =
            format!("The file '{name}' must be in the database directory or be readable by all");
        return Err(SqlError::new(1085, m));
    }
    File::open(&real).map_err(cannot)
}

/// A file that was created, and where it is.
pub struct Created {
    /// The file.
    pub file: File,
    path: PathBuf,
}

impl Created {
    /// Removes it again.
    pub fn remove(self) {
        // What is left of a statement that failed harms nobody.
        let _ = fs::remove_file(&self.path);
    }
}

/// Creates a file, readable by the server's user and group. Errors 1290; 1086 if there is something of this name; 1 if it can't be created.
pub fn create(env: &SessionEnv, name: &str) -> SqlResult<Created> {
    /// As MySQL's from 8.0.17 on.
    const MODE: u32 = 0o640;
    let allowed = Allowed::of(env)?;
    if let Allowed::Nothing = allowed {
        return Err(refused());
    }
    let cannot = |e: io::Error| system_error(1, format!("Can't create/write to file '{name}'"), &e);
    let path = match (resolved(&absolute(env, name)?), &allowed) {
        (Ok(path), _) => path,
        (Err(_), Allowed::Within(_)) => return Err(refused()),
        (Err(e), _) => return Err(cannot(e)),
    };
    allowed.check(&path)?;
    check_keys(env, &path)?;
    let mut options = OpenOptions::new();
    match options.write(true).create_new(true).mode(MODE).open(&path) {
        Ok(file) => Ok(Created { file, path }),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
            Err(SqlError::new(1086, format!("File '{name}' already exists")))
        }
        Err(e) => Err(cannot(e)),
    }
}

/// Where a directory is, which need not be there, that a statement is to fill or to read. Errors 1290; 1 if what it would lie in is not there.
pub fn directory(env: &SessionEnv, name: &str) -> SqlResult<PathBuf> {
    let allowed = Allowed::of(env)?;
    if let Allowed::Nothing = allowed {
        return Err(refused());
    }
    let path = absolute(env, name)?;
    let path = match (
        fs::canonicalize(&path).or_else(|_| resolved(&path)),
        &allowed,
    ) {
        (Ok(path), _) => path,
        (Err(_), Allowed::Within(_)) => return Err(refused()),
        (Err(e), _) => {
            let what = format!("Can't create/write to file '{name}'");
            return Err(system_error(1, what, &e));
        }
    };
    allowed.check(&path)?;
    Ok(path)
}

/// Error 3: a file that was opened can't be written.
pub fn write_error(name: &str, e: &io::Error) -> SqlError {
    system_error(3, format!("Error writing file '{name}'"), e)
}

/// Error 2: a file that was opened can't be read.
pub fn read_error(name: &str, e: &io::Error) -> SqlError {
    system_error(2, format!("Error reading file '{name}'"), e)
}

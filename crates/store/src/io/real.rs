//! Real files under one directory.

use super::{AlignedBuf, File, SECTOR, Storage};
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Name of the file whose lock means that the directory is taken.
const LOCK_FILE: &str = "lock";

/// A directory of the file system.
pub struct RealStorage {
    root: PathBuf,
    lock: parking_lot::Mutex<Option<fs::File>>,
}

impl RealStorage {
    /// Uses `root`, creating it if missing.
    pub fn new(root: impl AsRef<Path>) -> io::Result<RealStorage> {
        fs::create_dir_all(&root)?;
        let root = root.as_ref().canonicalize()?;
        Ok(RealStorage {
            root,
            lock: parking_lot::Mutex::new(None),
        })
    }
}

impl Storage for RealStorage {
    fn open(&self, name: &str, create: bool) -> io::Result<Arc<dyn File>> {
        let path = self.root.join(name);
        if create && let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let file = fs::OpenOptions::new()
            .read(true)
            .write(true)
            .create(create)
            .truncate(false)
            .open(path)?;
        Ok(Arc::new(RealFile { file }))
    }

    fn open_direct(&self, name: &str) -> io::Result<Arc<dyn File>> {
        let direct = fs::OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_DIRECT)
            .open(self.root.join(name));
        match direct {
            // A disk whose sectors are larger refuses the read, as it would refuse writes.
            Ok(file)
                if file
                    .read_exact_at(&mut AlignedBuf::new(SECTOR), SECTOR as u64)
                    .is_ok() =>
            {
                Ok(Arc::new(RealFile { file }))
            }
            // tmpfs, say, has no such mode.
            _ => self.open(name, false),
        }
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.root.join(name))
    }

    fn exists(&self, name: &str) -> bool {
        self.root.join(name).exists()
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let entries = match fs::read_dir(self.root.join(folder)) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                names.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        Ok(names)
    }

    fn sync_folder(&self, folder: &str) -> io::Result<()> {
        fs::File::open(self.root.join(folder))?.sync_all()
    }

    fn handle_limit(&self) -> usize {
        // Half of them, for connections need some too.
        file_limits().map_or(FEW_FILES, |l| {
            usize::try_from(l.rlim_cur / 2).unwrap_or(usize::MAX)
        })
    }

    fn lock(&self) -> io::Result<()> {
        let mut held = self.lock.lock();
        if held.is_some() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let path = self.root.join(LOCK_FILE);
        let file = fs::OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        match file.try_lock() {
            Ok(()) => {
                *held = Some(file);
                Ok(())
            }
            Err(fs::TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
            Err(fs::TryLockError::Error(e)) => Err(e),
        }
    }
}

/// Handles where the system does not say how many there may be.
const FEW_FILES: usize = 400;

fn file_limits() -> Option<libc::rlimit> {
    let mut limits = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the call fills the structure, which is of its type and lives on.
    let rc = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limits) };
    (rc == 0).then_some(limits)
}

/// Lets the process open as many files as its hard limit allows; a server's business, before it opens a database.
pub fn raise_file_limit() {
    if let Some(mut limits) = file_limits() {
        limits.rlim_cur = limits.rlim_max;
        // SAFETY: the call reads the structure, which is of its type. If it fails, things stay as they are.
        unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limits) };
    }
}

struct RealFile {
    file: fs::File,
}

impl File for RealFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_all_at(buf, offset)
    }

    fn sync(&self) -> io::Result<()> {
        // fdatasync: also writes the metadata needed to read the data back, the length among it.
        self.file.sync_data()
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let old = self.file.metadata()?.len();
        if len <= old {
            return self.file.set_len(len);
        }
        let (Ok(from), Ok(count)) = (i64::try_from(old), i64::try_from(len - old)) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        // SAFETY: a system call on a descriptor that `self.file` keeps open; no memory is passed.
        let rc = unsafe { libc::posix_fallocate(self.file.as_raw_fd(), from, count) };
        match rc {
            0 => Ok(()),
            // File systems without allocation: a sparse file is the best there is.
            libc::EOPNOTSUPP | libc::EINVAL => self.file.set_len(len),
            e => Err(io::Error::from_raw_os_error(e)),
        }
    }
}

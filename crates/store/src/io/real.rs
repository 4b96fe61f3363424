//! Real files under one directory.

use super::{AlignedBuf, File, SECTOR, Storage};
use std::fs;
use std::io::{self, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{
    DirBuilderExt, FileExt, FileTypeExt, MetadataExt, OpenOptionsExt, symlink,
};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Name of the file whose lock means that the directory is taken.
const LOCK_FILE: &str = "lock";

/// With the caller's they are as many as InnoDB's `innodb_write_io_threads` by default.
const WRITE_THREADS: usize = 3;

/// Rows are nobody's business but the owner's.
const OWNERS_FILE: u32 = 0o600;
const OWNERS_FOLDER: u32 = 0o700;

/// Makes a folder that is missing, durably: what is durable in it is no use if its own name is lost.
fn make_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(OWNERS_FOLDER).create(folder)?;
    match folder.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => fs::File::open(parent)?.sync_all(),
        _ => fs::File::open(".")?.sync_all(),
    }
}

/// A directory of the file system. A file of it may be a symbolic link to a block device.
pub struct RealStorage {
    root: PathBuf,
    lock: parking_lot::Mutex<Option<fs::File>>,
    /// The file that is to be a link to a block device when it is made, and the device.
    device: Option<(String, PathBuf)>,
    /// The devices, which nobody else may use meanwhile.
    claimed: parking_lot::Mutex<Vec<fs::File>>,
}

impl RealStorage {
    /// Uses `root`, creating it if missing.
    pub fn new(root: impl AsRef<Path>) -> io::Result<RealStorage> {
        make_folder(root.as_ref())?;
        let root = root.as_ref().canonicalize()?;
        Ok(RealStorage {
            root,
            lock: parking_lot::Mutex::new(None),
            device: None,
            claimed: parking_lot::Mutex::default(),
        })
    }

    /// Has the file of this name lie on a block device: `new`, when it is made, and whatever the device holds is lost; otherwise it must be
    /// there already.
    pub fn on_device(mut self, name: &str, device: &Path, new: bool) -> io::Result<RealStorage> {
        let wrong = |why: String| Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        let shown = device.display();
        let device = device.canonicalize()?;
        if !is_device(&fs::metadata(&device)?) {
            return wrong(format!("{shown} is no block device"));
        }
        let here = self.root.join(name);
        match (here.canonicalize(), new) {
            (Ok(there), false) if there == device => {}
            (Ok(there), _) => {
                let there = there.display();
                return wrong(format!("file {name} is there already, on {there}"));
            }
            (Err(_), true) => self.device = Some((name.into(), device)),
            (Err(_), false) => return wrong(format!("there is no file {name} yet on {shown}")),
        }
        Ok(self)
    }

    /// Claims the block devices on which files of the top folder lie.
    fn claim_devices(&self) -> io::Result<()> {
        let mut devices: Vec<PathBuf> = self.device.iter().map(|d| d.1.clone()).collect();
        for entry in fs::read_dir(&self.root)? {
            let path = entry?.path();
            if fs::metadata(&path).is_ok_and(|m| is_device(&m)) {
                devices.push(path);
            }
        }
        for device in devices {
            // Of a device this refuses what is mounted or claimed by somebody else.
            let claim = fs::OpenOptions::new()
                .read(true)
                .custom_flags(libc::O_EXCL)
                .open(&device);
            let name = device.display();
            let claim = claim.map_err(|e| io::Error::new(e.kind(), format!("{name}: {e}")))?;
            self.claimed.lock().push(claim);
        }
        Ok(())
    }
}

fn is_device(of: &fs::Metadata) -> bool {
    of.file_type().is_block_device()
}

impl Storage for RealStorage {
    fn open(&self, name: &str, create: bool) -> io::Result<Arc<dyn File>> {
        let path = self.root.join(name);
        if create && let Some(folder) = path.parent() {
            make_folder(folder)?;
        }
        if create
            && let Some((_, device)) = self.device.as_ref().filter(|d| d.0 == name)
            && !path.exists()
        {
            symlink(device, &path)?;
        }
        let file = fs::OpenOptions::new()
            .read(true)
            .write(true)
            .create(create)
            .truncate(false)
            .mode(OWNERS_FILE)
            .open(&path)?;
        Ok(Arc::new(RealFile::new(file, path)?))
    }

    fn open_direct(&self, name: &str) -> io::Result<Arc<dyn File>> {
        let path = self.root.join(name);
        match open_past_cache(&path) {
            // A disk whose sectors are larger refuses the read, as it would refuse writes.
            Ok(file)
                if file
                    .read_exact_at(&mut AlignedBuf::new(SECTOR), SECTOR as u64)
                    .is_ok() =>
            {
                Ok(Arc::new(RealFile::new(file, path)?))
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

    fn write_threads(&self) -> usize {
        WRITE_THREADS
    }

    fn handle_limit(&self) -> usize {
        // A file may take two, and connections need some too.
        file_limits().map_or(FEW_FILES, |l| {
            usize::try_from(l.rlim_cur / 4).unwrap_or(usize::MAX)
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
            .mode(OWNERS_FILE)
            .open(path)?;
        match file.try_lock() {
            Ok(()) => {
                self.claim_devices()?;
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

/// Files that the process may have open now, if the system says so.
pub fn file_limit() -> Option<u64> {
    file_limits().map(|l| l.rlim_cur)
}

/// Lets the process open as many files as its hard limit allows; a server's business, before it opens a database.
pub fn raise_file_limit() {
    if let Some(mut limits) = file_limits() {
        limits.rlim_cur = limits.rlim_max;
        // SAFETY: the call reads the structure, which is of its type. If it fails, things stay as they are.
        unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limits) };
    }
}

fn open_past_cache(path: &Path) -> io::Result<fs::File> {
    fs::OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_DIRECT)
        .open(path)
}

struct RealFile {
    file: fs::File,
    path: PathBuf,
    /// The same file for writes past the cache, from the first one on; `None` inside where that can't be had.
    direct: OnceLock<Option<fs::File>>,
    /// The length of a block device, which the file is.
    device: Option<u64>,
}

impl RealFile {
    fn new(mut file: fs::File, path: PathBuf) -> io::Result<RealFile> {
        let device = match is_device(&file.metadata()?) {
            true => Some(file.seek(SeekFrom::End(0))?),
            false => None,
        };
        Ok(RealFile {
            file,
            path,
            direct: OnceLock::new(),
            device,
        })
    }

    fn past_cache(&self) -> Option<&fs::File> {
        let open = || {
            let direct = open_past_cache(&self.path).ok()?;
            // The name may be gone, or be another file's by now.
            let (one, other) = (self.file.metadata().ok()?, direct.metadata().ok()?);
            ((one.dev(), one.ino()) == (other.dev(), other.ino())).then_some(direct)
        };
        self.direct.get_or_init(open).as_ref()
    }
}

impl File for RealFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(buf, offset)
    }

    fn will_read(&self, offset: u64, len: u64) {
        #[cfg(target_os = "linux")]
        if let (Ok(from), Ok(count)) = (i64::try_from(offset), i64::try_from(len)) {
            let advice = libc::POSIX_FADV_WILLNEED;
            // SAFETY: a system call on a descriptor that `self.file` keeps open; no memory is passed.
            unsafe { libc::posix_fadvise(self.file.as_raw_fd(), from, count, advice) };
        }
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_all_at(buf, offset)
    }

    fn write_direct(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        debug_assert_eq!(buf.as_ptr().align_offset(super::DIRECT_ALIGN), 0);
        match self.past_cache().map(|f| f.write_all_at(buf, offset)) {
            // A disk whose sectors are larger.
            Some(Err(e)) if e.raw_os_error() == Some(libc::EINVAL) => self.write_at(buf, offset),
            Some(done) => done,
            None => self.write_at(buf, offset),
        }
    }

    fn sync(&self) -> io::Result<()> {
        // fdatasync: also writes the metadata needed to read the data back, the length among it, and has the disk write what
        // came to it through whichever handle.
        self.file.sync_data()
    }

    fn len(&self) -> io::Result<u64> {
        match self.device {
            Some(bytes) => Ok(bytes),
            None => Ok(self.file.metadata()?.len()),
        }
    }

    fn is_fixed(&self) -> bool {
        self.device.is_some()
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        match self.device {
            Some(bytes) if len > bytes => return Err(io::ErrorKind::StorageFull.into()),
            Some(_) => return Ok(()),
            None => {}
        }
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

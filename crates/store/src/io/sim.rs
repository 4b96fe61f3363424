//! A storage in memory that does to its user what disks and power cuts do: it fails chosen operations,
//! and after a cut it keeps, loses or tears each unsynced write at random.
//!
//! What survives is decided per 512-byte sector of each unsynced write, independently: that covers loss,
//! reordering and tearing. Creations and removals are durable at the next `sync_folder`; a file that was
//! created but whose folder was not synced may be gone after a cut.

use super::{File, Storage};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

const SECTOR: u64 = super::SECTOR as u64;

/// Decides what happens at each step. Returned by the hook of [`SimStorage::on_step`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Do it.
    Go,
    /// Fail this operation with an I/O error; nothing of it happens.
    Fail,
    /// Fail it as a full disk does.
    Full,
    /// The power goes now: this operation and every later one fail until [`SimStorage::restart`].
    Cut,
}

/// The kinds of operation the hook is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpKind {
    /// `File::read_at`.
    Read,
    /// `File::write_at`.
    Write,
    /// `File::sync`.
    Sync,
    /// `File::set_len`.
    SetLen,
    /// `Storage::open` that creates.
    Create,
    /// `Storage::remove`.
    Remove,
    /// `Storage::sync_folder`.
    SyncFolder,
}

/// Called before each operation with its kind and file name.
pub type Hook = Box<dyn FnMut(OpKind, &str) -> Step + Send>;

/// The simulated directory. Clones share it.
#[derive(Clone)]
pub struct SimStorage {
    disk: Arc<Mutex<Disk>>,
}

#[derive(Default)]
struct Disk {
    files: BTreeMap<String, Arc<Mutex<Data>>>,
    /// Names that a cut would forget (created) or bring back (removed).
    created: BTreeSet<String>,
    removed: BTreeMap<String, Arc<Mutex<Data>>>,
    hook: Option<Hook>,
    /// Bytes that all files together may have.
    capacity: Option<u64>,
    /// Handles that may be open, and that are.
    most_handles: Option<usize>,
    handles: usize,
    /// A file that cannot be opened.
    shut: Option<String>,
    /// Files that are block devices once they are made, and their lengths.
    devices: BTreeMap<String, u64>,
    cut: bool,
    locked: bool,
    /// Incremented by `restart`: handles of an earlier life fail for ever.
    life: u64,
}

#[derive(Default)]
struct Data {
    /// What a read sees.
    now: Vec<u8>,
    /// What is surely on the platter.
    synced: Vec<u8>,
    /// Unsynced changes in order.
    pending: Vec<Change>,
    /// It is a block device.
    fixed: bool,
}

/// What a block device holds that was never written.
const LEFT_OVER: u8 = 0xa5;

enum Change {
    Write(u64, Vec<u8>),
    SetLen(u64),
}

impl Default for SimStorage {
    fn default() -> Self {
        SimStorage::new()
    }
}

impl SimStorage {
    /// An empty disk.
    pub fn new() -> SimStorage {
        SimStorage {
            disk: Arc::new(Mutex::new(Disk::default())),
        }
    }

    /// Installs the hook that decides each step.
    pub fn on_step(&self, hook: impl FnMut(OpKind, &str) -> Step + Send + 'static) {
        self.disk.lock().hook = Some(Box::new(hook));
    }

    /// Removes the hook.
    pub fn clear_hook(&self) {
        self.disk.lock().hook = None;
    }

    /// Limits (or no longer limits) the bytes that all files together may have: what would grow a file beyond fails
    /// as on a full disk. Files may have more already.
    pub fn set_capacity(&self, bytes: Option<u64>) {
        self.disk.lock().capacity = bytes;
    }

    /// Limits how many handles may be open, of which a sync of a folder takes one; half of them are for data files.
    pub fn set_handle_limit(&self, handles: Option<usize>) {
        self.disk.lock().most_handles = handles;
    }

    /// Keeps a file that is there from being opened, or no longer.
    pub fn shut(&self, name: Option<&str>) {
        self.disk.lock().shut = name.map(Into::into);
    }

    /// Has a file that is not there yet be a block device of so many bytes, on which something lies already.
    pub fn set_device(&self, name: &str, bytes: u64) {
        self.disk.lock().devices.insert(name.into(), bytes);
    }

    /// Handles that are open.
    pub fn handles(&self) -> usize {
        self.disk.lock().handles
    }

    /// Cuts the power now: every operation fails until [`SimStorage::restart`].
    pub fn cut(&self) {
        self.disk.lock().cut = true;
    }

    /// Whether the power is cut.
    pub fn is_cut(&self) -> bool {
        self.disk.lock().cut
    }

    /// Power back on: settles every unsynced change by `coin` (called once a sector or name; `true`:
    /// it made it to the disk), releases the lock, and removes the hook. Handles from before fail.
    pub fn restart(&self, mut coin: impl FnMut() -> bool) {
        self.kill();
        let mut disk = self.disk.lock();
        for (name, data) in std::mem::take(&mut disk.removed) {
            if coin() {
                disk.files.entry(name).or_insert(data);
            }
        }
        for name in std::mem::take(&mut disk.created) {
            if !coin() {
                disk.files.remove(&name);
            }
        }
        for data in disk.files.values() {
            data.lock().settle(&mut coin);
        }
    }

    /// As a killed process leaves it: the operating system keeps every completed write, but what was not synced is still
    /// for a later power cut to take. Releases the lock and removes the hook. Handles from before fail.
    pub fn kill(&self) {
        let mut disk = self.disk.lock();
        disk.cut = false;
        disk.locked = false;
        disk.hook = None;
        disk.life += 1;
    }

    /// A disk of its own with what this one holds now, all of it durable.
    pub fn copy(&self) -> SimStorage {
        let copy = SimStorage::new();
        for (name, data) in &self.disk.lock().files {
            let now = data.lock().now.clone();
            let data = Data {
                synced: now.clone(),
                now,
                ..Data::default()
            };
            let data = Arc::new(Mutex::new(data));
            copy.disk.lock().files.insert(name.clone(), data);
        }
        copy
    }

    /// Names and current lengths of all files.
    pub fn files(&self) -> Vec<(String, u64)> {
        let disk = self.disk.lock();
        disk.files
            .iter()
            .map(|(n, d)| (n.clone(), d.lock().now.len() as u64))
            .collect()
    }

    /// What a file holds now.
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        self.disk.lock().files[name].lock().now.clone()
    }

    /// Changes bytes of a file behind the engine's back, durably (bit rot).
    pub fn corrupt(&self, name: &str, offset: u64, bytes: &[u8]) {
        let disk = self.disk.lock();
        let mut data = disk.files[name].lock();
        overlay(&mut data.now, offset, bytes);
        overlay(&mut data.synced, offset, bytes);
    }
}

impl Disk {
    fn step(&mut self, kind: OpKind, name: &str, life: u64) -> io::Result<()> {
        if self.cut || life != self.life {
            return Err(io::Error::other("simulated power cut"));
        }
        match self.hook.as_mut().map_or(Step::Go, |h| h(kind, name)) {
            Step::Go => Ok(()),
            Step::Fail => Err(io::Error::other(format!("simulated failure of {kind:?}"))),
            Step::Full => Err(io::ErrorKind::StorageFull.into()),
            Step::Cut => {
                self.cut = true;
                Err(io::Error::other("simulated power cut"))
            }
        }
    }
}

impl Disk {
    /// Whether a file that has `old` bytes may grow to `new`. The caller holds no file's data.
    fn may_grow(&self, old: u64, new: u64) -> io::Result<()> {
        let Some(capacity) = self.capacity.filter(|_| new > old) else {
            return Ok(());
        };
        let used: u64 = self.files.values().map(|d| d.lock().now.len() as u64).sum();
        if used + (new - old) > capacity {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(())
    }
}

fn overlay(to: &mut Vec<u8>, offset: u64, bytes: &[u8]) {
    let at = offset as usize;
    if to.len() < at + bytes.len() {
        to.resize(at + bytes.len(), 0);
    }
    to[at..at + bytes.len()].copy_from_slice(bytes);
}

impl Data {
    fn settle(&mut self, coin: &mut impl FnMut() -> bool) {
        let mut disk = std::mem::take(&mut self.synced);
        for change in self.pending.drain(..) {
            match change {
                Change::SetLen(len) => {
                    if coin() {
                        disk.resize(len as usize, 0);
                    }
                }
                Change::Write(offset, bytes) => {
                    let end = offset + bytes.len() as u64;
                    let mut from = offset;
                    while from < end {
                        let to = end.min((from / SECTOR + 1) * SECTOR);
                        if coin() {
                            let part = &bytes[(from - offset) as usize..(to - offset) as usize];
                            overlay(&mut disk, from, part);
                        }
                        from = to;
                    }
                }
            }
        }
        self.now.clone_from(&disk);
        self.synced = disk;
    }
}

impl Storage for SimStorage {
    fn open(&self, name: &str, create: bool) -> io::Result<Arc<dyn File>> {
        let mut disk = self.disk.lock();
        let life = disk.life;
        if !disk.files.contains_key(name) {
            if !create {
                return Err(io::ErrorKind::NotFound.into());
            }
            disk.step(OpKind::Create, name, life)?;
            let mut data = Data::default();
            if let Some(bytes) = disk.devices.get(name) {
                data.fixed = true;
                data.now = vec![LEFT_OVER; *bytes as usize];
                data.synced.clone_from(&data.now);
            }
            let data = Arc::new(Mutex::new(data));
            disk.files.insert(name.to_string(), data);
            disk.created.insert(name.to_string());
        } else if disk.cut {
            return Err(io::Error::other("simulated power cut"));
        } else if disk.shut.as_deref() == Some(name) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        if disk.most_handles.is_some_and(|most| disk.handles >= most) {
            return Err(io::Error::from_raw_os_error(24));
        }
        disk.handles += 1;
        let data = disk.files[name].clone();
        Ok(Arc::new(SimFile {
            name: name.to_string(),
            disk: self.disk.clone(),
            data,
            life,
        }))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut disk = self.disk.lock();
        let life = disk.life;
        if !disk.files.contains_key(name) {
            return Err(io::ErrorKind::NotFound.into());
        }
        disk.step(OpKind::Remove, name, life)?;
        let data = disk.files.remove(name).expect("just seen");
        if !disk.created.remove(name) {
            disk.removed.insert(name.to_string(), data);
        }
        Ok(())
    }

    fn exists(&self, name: &str) -> bool {
        self.disk.lock().files.contains_key(name)
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let disk = self.disk.lock();
        let inside = |n: &&String| match folder {
            "" => !n.contains('/'),
            f => n.strip_prefix(f).is_some_and(|rest| rest.starts_with('/')),
        };
        let skip = if folder.is_empty() {
            0
        } else {
            folder.len() + 1
        };
        Ok(disk
            .files
            .keys()
            .filter(inside)
            .map(|n| n[skip..].to_string())
            .collect())
    }

    fn sync_folder(&self, folder: &str) -> io::Result<()> {
        let mut disk = self.disk.lock();
        let life = disk.life;
        if disk.most_handles.is_some_and(|most| disk.handles >= most) {
            return Err(io::Error::from_raw_os_error(24));
        }
        disk.step(OpKind::SyncFolder, folder, life)?;
        let inside = |n: &String| n.rsplit_once('/').map_or("", |(f, _)| f) == folder;
        disk.created.retain(|n| !inside(n));
        disk.removed.retain(|n, _| !inside(n));
        Ok(())
    }

    fn handle_limit(&self) -> usize {
        self.disk.lock().most_handles.map_or(usize::MAX, |n| n / 2)
    }

    fn lock(&self) -> io::Result<()> {
        let mut disk = self.disk.lock();
        if std::mem::replace(&mut disk.locked, true) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(())
    }
}

struct SimFile {
    name: String,
    disk: Arc<Mutex<Disk>>,
    data: Arc<Mutex<Data>>,
    life: u64,
}

impl Drop for SimFile {
    fn drop(&mut self) {
        self.disk.lock().handles -= 1;
    }
}

impl SimFile {
    fn step(&self, kind: OpKind) -> io::Result<()> {
        self.disk.lock().step(kind, &self.name, self.life)
    }
}

impl File for SimFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.step(OpKind::Read)?;
        let data = self.data.lock();
        let at = offset as usize;
        let from = data
            .now
            .get(at..at + buf.len())
            .ok_or(io::ErrorKind::UnexpectedEof)?;
        buf.copy_from_slice(from);
        Ok(())
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        // A cut during a write leaves any part of it, like any other unsynced write; writes that come later leave
        // nothing.
        let mut disk = self.disk.lock();
        let was_cut = disk.cut;
        let step = disk.step(OpKind::Write, &self.name, self.life);
        if step.is_err() && (was_cut || !disk.cut || disk.life != self.life) {
            return step;
        }
        let (old, fixed) = {
            let data = self.data.lock();
            (data.now.len() as u64, data.fixed)
        };
        let end = offset + buf.len() as u64;
        if fixed && end > old {
            return Err(io::ErrorKind::StorageFull.into());
        }
        disk.may_grow(old, end)?;
        drop(disk);
        let mut data = self.data.lock();
        overlay(&mut data.now, offset, buf);
        data.pending.push(Change::Write(offset, buf.to_vec()));
        step
    }

    fn write_direct(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        // What a real disk would refuse.
        assert_eq!(buf.as_ptr().align_offset(super::DIRECT_ALIGN), 0);
        assert!(buf.len().is_multiple_of(super::SECTOR));
        assert!(offset.is_multiple_of(super::SECTOR as u64));
        self.write_at(buf, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.step(OpKind::Sync)?;
        let mut data = self.data.lock();
        let data = &mut *data;
        for change in data.pending.drain(..) {
            match change {
                Change::SetLen(len) => data.synced.resize(len as usize, 0),
                Change::Write(offset, bytes) => overlay(&mut data.synced, offset, &bytes),
            }
        }
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.data.lock().now.len() as u64)
    }

    fn is_fixed(&self) -> bool {
        self.data.lock().fixed
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        if self.is_fixed() {
            self.step(OpKind::SetLen)?;
            return match len > self.len()? {
                true => Err(io::ErrorKind::StorageFull.into()),
                false => Ok(()),
            };
        }
        {
            let mut disk = self.disk.lock();
            disk.step(OpKind::SetLen, &self.name, self.life)?;
            let old = self.data.lock().now.len() as u64;
            disk.may_grow(old, len)?;
        }
        let mut data = self.data.lock();
        data.now.resize(len as usize, 0);
        data.pending.push(Change::SetLen(len));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn synced_writes_survive_and_unsynced_ones_may_tear() {
        let disk = SimStorage::new();
        let f = disk.open("a", true).unwrap();
        disk.sync_folder("").unwrap();
        f.write_at(&[1; 1024], 0).unwrap();
        f.sync().unwrap();
        f.write_at(&[2; 1024], 0).unwrap();
        let mut flip = false;
        disk.restart(|| {
            flip = !flip;
            flip
        });
        let f2 = disk.open("a", false).unwrap();
        let mut b = [0; 1024];
        f2.read_at(&mut b, 0).unwrap();
        assert_eq!((b[0], b[511], b[512], b[1023]), (2, 2, 1, 1));
        assert!(f.sync().is_err(), "handles do not outlive a power cut");
    }

    #[test]
    fn what_a_killed_process_did_not_sync_may_still_be_lost() {
        let disk = SimStorage::new();
        let f = disk.open("a", true).unwrap();
        f.write_at(b"x", 0).unwrap();
        disk.kill();
        assert!(f.sync().is_err(), "handles do not outlive their process");
        let f = disk.open("a", false).unwrap();
        let mut b = [0];
        f.read_at(&mut b, 0).unwrap();
        assert_eq!(b, *b"x");
        disk.restart(|| false);
        assert!(!disk.exists("a"));
    }

    #[test]
    fn names_need_a_folder_sync() {
        let disk = SimStorage::new();
        disk.open("kept", true).unwrap();
        disk.sync_folder("").unwrap();
        disk.open("lost", true).unwrap();
        disk.remove("kept").unwrap();
        let mut coins = [true, false].into_iter();
        disk.restart(|| coins.next().unwrap());
        assert!(disk.exists("kept"));
        assert!(!disk.exists("lost"));
    }

    #[test]
    fn a_full_disk_has_room_again_after_a_cut_in_length() {
        let disk = SimStorage::new();
        disk.set_capacity(Some(1000));
        let (a, b) = (disk.open("a", true).unwrap(), disk.open("b", true).unwrap());
        a.set_len(600).unwrap();
        let full = |r: io::Result<()>| r.unwrap_err().kind() == io::ErrorKind::StorageFull;
        assert!(full(b.set_len(500)) && full(b.write_at(&[1; 100], 400)));
        b.set_len(400).unwrap();
        a.write_at(&[1; 600], 0).unwrap();
        assert!(full(a.write_at(&[1], 600)));
        a.set_len(500).unwrap();
        b.write_at(&[1; 100], 400).unwrap();
    }

    #[test]
    fn the_hook_fails_and_cuts() {
        let disk = SimStorage::new();
        let f = disk.open("a", true).unwrap();
        let mut n = 0;
        disk.on_step(move |kind, _| {
            n += usize::from(kind == OpKind::Write);
            match n {
                1 => Step::Full,
                2 => Step::Cut,
                _ => Step::Go,
            }
        });
        assert_eq!(
            f.write_at(b"x", 0).unwrap_err().kind(),
            io::ErrorKind::StorageFull
        );
        assert!(f.write_at(b"x", 0).is_err());
        assert!(disk.is_cut() && f.sync().is_err());
        disk.restart(|| false);
        assert!(!disk.exists("a"));
    }
}

//! File systems in image files, mounted by loop devices, for as long as they are needed and no longer.
//!
//! 1. [`privately`] runs work on a thread with a mount namespace of its own. What is mounted there nobody else sees, and
//!    the kernel unmounts it when the last thread of the namespace is gone: even if the process is killed.
//! 2. [`Mounted::new`] makes an image, a file system in it, and mounts it. The image has no name from then on, so that its space comes
//!    back with the unmounting.
//! 3. Dropping [`Mounted`] unmounts it and removes the mount point.
//!
//! All of it needs root, loop devices and the file system's mkfs; whatever is missing is told as a reason to skip.

use crate::frame::Size;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Why a file system can't be had here.
pub(super) type Skipped = String;

/// A kind of file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    /// As asked for.
    pub name: String,
    /// The kernel's name.
    system: String,
    /// Options of mkfs.
    options: &'static [&'static str],
}

impl Kind {
    /// By name: whatever there is a `mkfs.<name>` for, and two variants of the article.
    pub fn parse(name: &str) -> Kind {
        let (system, options): (&str, &[&str]) = match name {
            "ext3-no-dir-index" => ("ext3", &["-O", "^dir_index"]),
            "xfs-log-100m" => ("xfs", &["-l", "size=100m"]),
            other => (other, &[]),
        };
        Kind {
            name: name.into(),
            system: system.into(),
            options,
        }
    }

    fn program(&self) -> String {
        format!("mkfs.{}", self.system)
    }

    /// What is missing before anything is tried.
    fn missing(&self) -> Option<Skipped> {
        // SAFETY: reads a number of the process; it cannot fail.
        if unsafe { libc::geteuid() } != 0 {
            return Some("mounting needs root".into());
        }
        if !Path::new("/dev/loop-control").exists() {
            return Some("there are no loop devices here (/dev/loop-control)".into());
        }
        let program = self.program();
        if find(&program).is_none() {
            return Some(format!("{program} is not installed"));
        }
        None
    }
}

/// A program in the places where administrators' programs are.
fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut dirs: Vec<PathBuf> = std::env::split_paths(&path).collect();
    dirs.extend(["/usr/sbin", "/sbin"].map(PathBuf::from));
    dirs.into_iter()
        .map(|d| d.join(program))
        .find(|p| p.exists())
}

/// Runs a program; what it complained about if it failed.
fn call(program: &str, args: &[&std::ffi::OsStr]) -> Result<(), Skipped> {
    let path = find(program).ok_or_else(|| format!("{program} is not installed"))?;
    let done = Command::new(path).args(args).output();
    let done = done.map_err(|e| format!("{program}: {e}"))?;
    if done.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    let lines: Vec<&str> = said
        .lines()
        .map(str::trim)
        .filter(|l| !l.is_empty())
        .collect();
    Err(format!("{program}: {}", lines.join("; ")))
}

/// Runs work where its mounts are its own; an error says why that is not possible.
pub(super) fn privately<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, Skipped> {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            // SAFETY: gives this thread, which began a moment ago and shares no path or directory with others that they
            // rely on, a copy of the mount namespace; no memory is touched.
            if unsafe { libc::unshare(libc::CLONE_NEWNS) } != 0 {
                let e = std::io::Error::last_os_error();
                return Err(format!("a mount namespace can't be made: {e}"));
            }
            call("mount", &["--make-rprivate".as_ref(), "/".as_ref()])?;
            Ok(work())
        });
        let panicked = |_| Err("the thread with the mounts panicked".to_string());
        thread.join().unwrap_or_else(panicked)
    })
}

/// A mounted image.
pub(super) struct Mounted {
    pub path: PathBuf,
}

impl Mounted {
    /// Makes and mounts one, in a directory below this one. To be called within [`privately`].
    pub fn new(kind: &Kind, dir: &Path, size: Size) -> Result<Mounted, Skipped> {
        if let Some(missing) = kind.missing() {
            return Err(missing);
        }
        let base = dir.join(format!("millpond-lab-{}-{}", kind.name, std::process::id()));
        let image = base.with_extension("img");
        let mounted = mount(kind, &base, &image, size);
        // The loop device keeps what it needs of it.
        let _ = std::fs::remove_file(&image);
        if mounted.is_err() {
            let _ = std::fs::remove_dir(&base);
        }
        mounted.map(|()| Mounted { path: base })
    }
}

fn mount(kind: &Kind, base: &Path, image: &Path, size: Size) -> Result<(), Skipped> {
    let io = |e: std::io::Error| format!("{}: {e}", image.display());
    let file = std::fs::File::create(image).map_err(io)?;
    file.set_len(size.0).map_err(io)?;
    drop(file);
    std::fs::create_dir(base).map_err(io)?;
    let mut args: Vec<&std::ffi::OsStr> = kind.options.iter().map(|o| o.as_ref()).collect();
    args.push(image.as_os_str());
    call(&kind.program(), &args)?;
    let (system, how) = (
        kind.system.as_ref(),
        ["-t".as_ref(), "-o".as_ref(), "loop".as_ref()],
    );
    let args = [
        how[0],
        system,
        how[1],
        how[2],
        image.as_os_str(),
        base.as_os_str(),
    ];
    call("mount", &args)
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if let Err(e) = call("umount", &[self.path.as_os_str()]) {
            eprintln!("{e}");
        }
        if let Err(e) = std::fs::remove_dir(&self.path) {
            eprintln!("{}: {e}", self.path.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_told_and_nothing_stays() {
        let dir = tempfile::tempdir().unwrap();
        let kind = Kind::parse("nosuchfs");
        let reason = Mounted::new(&kind, dir.path(), Size(1 << 20))
            .err()
            .unwrap();
        let known = [
            "mounting needs root",
            "loop devices",
            "mkfs.nosuchfs is not installed",
        ];
        assert!(known.iter().any(|k| reason.contains(k)), "{reason}");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    /// Where there are the rights, a file system is there, nobody else sees it, and nothing stays.
    #[test]
    fn an_image_is_mounted_for_a_while() {
        let dir = tempfile::tempdir().unwrap();
        let kind = Kind::parse("ext4");
        let inside = privately(|| -> Result<(), Skipped> {
            let mounted = Mounted::new(&kind, dir.path(), Size(16 << 20))?;
            std::fs::write(mounted.path.join("x"), "y").map_err(|e| e.to_string())?;
            let table = std::fs::read_to_string("/proc/thread-self/mounts").unwrap();
            assert!(table.contains(mounted.path.to_str().unwrap()));
            let others = std::fs::read_to_string("/proc/self/mounts").unwrap();
            assert!(!others.contains(mounted.path.to_str().unwrap()));
            Ok(())
        });
        if let Err(reason) = inside.and_then(|r| r) {
            eprintln!("not possible here: {reason}");
        }
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn variants_have_their_options() {
        let kind = Kind::parse("xfs-log-100m");
        assert_eq!(
            (kind.program().as_str(), kind.options.len()),
            ("mkfs.xfs", 2)
        );
        assert_eq!(Kind::parse("btrfs").program(), "mkfs.btrfs");
    }
}

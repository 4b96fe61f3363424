//! Where master keys come from.
//!
//! A keyring is lines of an id and 64 hexadecimal digits; the last line is the current key, those before it open what was encrypted by
//! them. Empty lines and those that begin with `#` are passed by. A [`FileKeyring`] has them in a file that the server adds to; a
//! [`CommandKeyring`] runs a command that prints them.
//!
//! **Failure.** What can't be read as that is an error that names the line and none of its contents: they are secrets.

use super::header::MOST_ID;
use super::{KEY, random};
use crate::error::{Error, Result};
use std::fmt::{self, Display, Write as _};
use std::fs;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A key that data keys are wrapped by.
#[derive(Clone, PartialEq, Eq)]
pub struct MasterKey {
    /// Names it where it was used; not secret.
    pub id: String,
    /// The key.
    pub key: [u8; KEY],
}

impl fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MasterKey({})", self.id)
    }
}

/// Master keys. Its [`Display`] says which keyring it is, for messages.
pub trait Keyring: fmt::Debug + Display + Send + Sync {
    /// All of them, the current one last.
    fn keys(&self) -> Result<Vec<MasterKey>>;
    /// Makes another key the current one, durably, and returns it. Those there are stay.
    fn rotate(&self) -> Result<MasterKey>;
    /// The current key, made if the keyring has yet to be made itself: a new database asks.
    fn current(&self) -> Result<MasterKey> {
        let last = self.keys()?.pop();
        last.ok_or_else(|| Error::Invalid(format!("{self} has no key")))
    }
    /// The file that it is in.
    fn file(&self) -> Option<&Path> {
        None
    }
    /// Whether keys are in the file of this path, which has no links.
    fn is_in(&self, _file: &Path) -> bool {
        false
    }
}

/// Reads lines of keys; an error says what is wrong with which.
fn parse(text: &str) -> std::result::Result<Vec<MasterKey>, String> {
    let mut keys: Vec<MasterKey> = Vec::new();
    for (line, n) in text.lines().zip(1..) {
        let mut words = line.split_whitespace();
        let Some(id) = words.next().filter(|id| !id.starts_with('#')) else {
            continue;
        };
        let wrong = |what: &str| format!("line {n}: {what}");
        let digits = words.next().filter(|_| words.next().is_none());
        let key = digits.and_then(key_of);
        let key = key.ok_or_else(|| wrong("it is to be an id and 64 hexadecimal digits"))?;
        if id.len() > MOST_ID {
            return Err(wrong("the id is too long"));
        }
        if keys.iter().any(|k| k.id == id) {
            return Err(wrong("another key has that id"));
        }
        let id = id.to_string();
        keys.push(MasterKey { id, key });
    }
    Ok(keys)
}

fn key_of(hex: &str) -> Option<[u8; KEY]> {
    let mut key = [0; KEY];
    if hex.len() != 2 * KEY || !hex.is_ascii() {
        return None;
    }
    for (byte, at) in key.iter_mut().zip((0..).step_by(2)) {
        let digits = &hex[at..at + 2];
        // It would take a sign.
        let hex = digits.bytes().all(|d| d.is_ascii_hexdigit());
        *byte = u8::from_str_radix(digits, 16).ok().filter(|_| hex)?;
    }
    Some(key)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, b| {
        let _ = write!(text, "{b:02x}");
        text
    })
}

/// Keys in a file, which none but its owner and group may read. [`Keyring::rotate`] adds one.
#[derive(Clone, Debug)]
pub struct FileKeyring {
    path: PathBuf,
}

impl FileKeyring {
    /// Of the file of this name; nothing is read yet.
    pub fn new(path: impl Into<PathBuf>) -> FileKeyring {
        FileKeyring { path: path.into() }
    }

    fn io(&self, what: &str) -> impl Fn(std::io::Error) -> Error {
        let what = format!("{what} {self}");
        move |e| Error::io(what.clone(), &e)
    }

    /// What is in it; `None`: there is no such file.
    fn read(&self) -> Result<Option<(String, Vec<MasterKey>)>> {
        let text = match fs::read_to_string(&self.path) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            read => read.map_err(self.io("read"))?,
        };
        let mode = fs::metadata(&self.path).map_err(self.io("look at"))?.mode();
        if mode & 0o007 != 0 {
            return Err(Error::Invalid(format!(
                "{self} is open to everybody (mode {:o}): it is to be its owner's alone (chmod 600)",
                mode & 0o777
            )));
        }
        let keys = parse(&text).map_err(|e| Error::Invalid(format!("{self}, {e}")))?;
        Ok(Some((text, keys)))
    }

    /// Keeps others from adding keys, of this process and of servers that share the file; makes it if it is not there. Until what is returned is
    /// dropped. And where it is, without links.
    fn hold(&self) -> std::io::Result<(fs::File, PathBuf)> {
        loop {
            let file = fs::OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .open(&self.path)?;
            file.lock()?;
            let real = fs::canonicalize(&self.path)?;
            // Whoever held it before has put another file in its place.
            let (held, there) = (file.metadata()?, fs::metadata(&real)?);
            if (held.dev(), held.ino()) == (there.dev(), there.ino()) {
                return Ok((file, real));
            }
        }
    }

    /// Writes it anew, beside the old one, which is there until the new one is durable. Whoever may read the one may read the other.
    fn write(text: &str, (held, path): &(fs::File, PathBuf)) -> std::io::Result<()> {
        let draft = draft_of(path);
        match fs::remove_file(&draft) {
            Err(e) if e.kind() != ErrorKind::NotFound => return Err(e),
            _ => {}
        }
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&draft)?;
        let written = alike(&file, &held.metadata()?)
            .and_then(|()| file.write_all(text.as_bytes()))
            .and_then(|()| file.sync_all())
            .and_then(|()| fs::rename(&draft, path));
        if written.is_err() {
            let _ = fs::remove_file(&draft);
        }
        written?;
        fs::File::open(path.parent().unwrap_or(Path::new("/")))?.sync_all()
    }
}

/// Where a keyring's file is drafted.
fn draft_of(path: &Path) -> PathBuf {
    let mut draft = path.to_path_buf().into_os_string();
    draft.push(".new");
    draft.into()
}

/// Gives a new file the owner, the group and the mode of an old one. Servers of other accounts may share it.
fn alike(new: &fs::File, old: &fs::Metadata) -> std::io::Result<()> {
    let made = new.metadata()?;
    let (user, group) = (old.uid(), old.gid());
    let other = |is: u32, to_be: u32| (is != to_be).then_some(to_be);
    let (u, g) = (other(made.uid(), user), other(made.gid(), group));
    if u.or(g).is_some() {
        fchown(new, u, g).map_err(|e| {
            let what =
                format!("a new one cannot be given to its owner and group, {user}:{group}: {e}");
            std::io::Error::new(e.kind(), what)
        })?;
    }
    new.set_permissions(fs::Permissions::from_mode(old.mode() & 0o777))
}

impl Display for FileKeyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the keyring {}", self.path.display())
    }
}

impl Keyring for FileKeyring {
    fn keys(&self) -> Result<Vec<MasterKey>> {
        let none = || Err(Error::Invalid(format!("{self} is not there")));
        self.read()?.map_or_else(none, |(_, keys)| Ok(keys))
    }

    fn rotate(&self) -> Result<MasterKey> {
        let held = self.hold().map_err(self.io("lock"))?;
        let (mut text, _) = self.read()?.unwrap_or_default();
        let new = MasterKey {
            id: format!("millpond-{}", hex(&random::<8>()?)),
            key: random()?,
        };
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        let _ = writeln!(text, "{} {}", new.id, hex(&new.key));
        FileKeyring::write(&text, &held).map_err(self.io("write"))?;
        Ok(new)
    }

    fn current(&self) -> Result<MasterKey> {
        match self.read()?.and_then(|(_, mut keys)| keys.pop()) {
            Some(key) => Ok(key),
            None => self.rotate(),
        }
    }

    fn file(&self) -> Option<&Path> {
        Some(&self.path)
    }

    fn is_in(&self, file: &Path) -> bool {
        let same = |a: &fs::Metadata, b: &fs::Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
        let both = fs::metadata(&self.path).ok().zip(fs::metadata(file).ok());
        if both.is_some_and(|(own, other)| same(&own, &other)) {
            return true;
        }
        // It may have been replaced between the two looks, or not be there.
        let name = self.path.file_name().unwrap_or_default();
        let folder = self.path.parent().filter(|p| !p.as_os_str().is_empty());
        let folder = fs::canonicalize(folder.unwrap_or(Path::new(".")));
        let real = fs::canonicalize(&self.path).ok();
        let real = real.or_else(|| Some(folder.ok()?.join(name)));
        real.is_some_and(|real| file == real || file == draft_of(&real))
    }
}

/// Keys that a command prints, run by `sh`. [`Keyring::rotate`] runs it again, and there must be another key at the end.
#[derive(Clone, Debug)]
pub struct CommandKeyring {
    command: String,
}

impl CommandKeyring {
    /// Of this command; it isn't run yet.
    pub fn new(command: impl Into<String>) -> CommandKeyring {
        CommandKeyring {
            command: command.into(),
        }
    }
}

impl Display for CommandKeyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the keyring command's output")
    }
}

impl Keyring for CommandKeyring {
    fn keys(&self) -> Result<Vec<MasterKey>> {
        let ran = Command::new("sh")
            .args(["-c", &self.command])
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .map_err(|e| Error::io("run the keyring command", &e))?;
        if !ran.status.success() {
            let what = format!("the keyring command failed: {}", ran.status);
            return Err(Error::Invalid(what));
        }
        let text = String::from_utf8_lossy(&ran.stdout);
        parse(&text).map_err(|e| Error::Invalid(format!("{self}, {e}")))
    }

    /// The caller compares it with the one in use.
    fn rotate(&self) -> Result<MasterKey> {
        self.current()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{chown, symlink};

    const ONE: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1F";

    #[test]
    fn lines_of_keys() {
        let text = format!("# keys\n\na {ONE}\n  b\t{}  \n", ONE.replace('0', "f"));
        let keys = parse(&text).unwrap();
        assert_eq!(keys.len(), 2);
        assert_eq!((&*keys[0].id, keys[0].key[31]), ("a", 0x1f));
        assert_eq!((&*keys[1].id, keys[1].key[0]), ("b", 0xff));
        assert!(parse("").unwrap().is_empty());
        for (wrong, why) in [
            ("a".to_string(), "line 1: it is to be"),
            (format!("a {}", &ONE[1..]), "line 1: it is to be"),
            (format!("a {ONE}\nb {ONE}0"), "line 2: it is to be"),
            (format!("a {}", ONE.replace("1F", "+F")), "line 1: it is to"),
            (format!("a {ONE} more"), "line 1: it is to be"),
            (format!("a {ONE}\na {ONE}"), "line 2: another key"),
            (format!("{} {ONE}", "x".repeat(256)), "line 1: the id"),
        ] {
            let e = parse(&wrong).unwrap_err();
            assert!(e.starts_with(why), "{e}");
            assert!(!e.contains("0001"), "a message has no key: {e}");
        }
        assert!(!format!("{:?}", keys[0]).contains('0'), "nor has this");
    }

    #[test]
    fn a_file_is_made_read_and_added_to() {
        let dir = std::env::temp_dir().join(format!("millpond-keyring-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let path = dir.join("keys");
        let keyring = FileKeyring::new(&path);
        assert!(
            keyring.keys().is_err(),
            "nobody makes it but who needs a key"
        );
        let first = keyring.current().unwrap();
        assert_eq!(keyring.current().unwrap(), first);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&path), 0o600);
        let second = keyring.rotate().unwrap();
        assert_ne!(first.key, second.key);
        assert_eq!(keyring.keys().unwrap(), [first.clone(), second.clone()]);
        // A hand has added one without an end of line.
        fs::write(
            &path,
            format!("{}mine {ONE}", fs::read_to_string(&path).unwrap()),
        )
        .unwrap();
        let third = keyring.rotate().unwrap();
        let ids: Vec<String> = keyring.keys().unwrap().into_iter().map(|k| k.id).collect();
        assert_eq!(ids, [first.id, second.id, "mine".into(), third.id]);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let e = keyring.keys().unwrap_err().to_string();
        assert!(e.contains("open to everybody (mode 644)"), "{e}");
        fs::remove_dir_all(&dir).unwrap();
    }

    /// Servers of several accounts may share a file by its group, and each have a link to it.
    #[test]
    fn whoever_may_read_it_may_read_the_next_one() {
        let dir = std::env::temp_dir().join(format!("millpond-alike-{}", std::process::id()));
        fs::create_dir_all(dir.join("links")).unwrap();
        let (path, link) = (dir.join("keys"), dir.join("links/keys"));
        // One that leads nowhere yet.
        symlink("../keys", &link).unwrap();
        let keyring = FileKeyring::new(&link);
        keyring.current().unwrap();
        let alone = fs::metadata(&path).unwrap();
        assert_eq!(alone.mode() & 0o777, 0o600);
        let mut rotations = 0;
        for mode in [0o640, 0o660, 0o400] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            if alone.uid() == 0 {
                chown(&path, Some(mode), Some(mode + 1)).unwrap();
            } else if mode & 0o200 == 0 {
                continue;
            }
            let before = fs::metadata(&path).unwrap();
            rotations += 1;
            keyring.rotate().unwrap();
            let after = fs::metadata(&path).unwrap();
            assert_ne!(before.ino(), after.ino());
            let who = |m: &fs::Metadata| (m.uid(), m.gid(), m.mode());
            assert_eq!(who(&before), who(&after));
        }
        assert_eq!(fs::read_link(&link).unwrap(), Path::new("../keys"));
        let count = |folder: &Path| fs::read_dir(folder).unwrap().count();
        assert_eq!((count(&dir), count(&dir.join("links"))), (2, 1));
        assert_eq!(keyring.keys().unwrap().len(), rotations + 1);
        // It says so of its file, under whatever name, of its draft, and of no other.
        let real = fs::canonicalize(&path).unwrap();
        let other = real.with_file_name("other");
        assert!(keyring.is_in(&real) && keyring.is_in(&draft_of(&real)));
        assert!(!keyring.is_in(&other));
        fs::hard_link(&path, &other).unwrap();
        assert!(keyring.is_in(&other));
        fs::remove_dir_all(&dir).unwrap();
    }

    /// Servers may share a file, and each needs the keys that it has made.
    #[test]
    fn no_key_is_lost_where_several_are_made_at_once() {
        let path = std::env::temp_dir().join(format!("millpond-shared-{}", std::process::id()));
        let made = std::thread::scope(|s| {
            let some = || {
                let keyring = FileKeyring::new(&path);
                let keys = (0..10).map(|_| keyring.rotate().unwrap());
                keys.collect::<Vec<MasterKey>>()
            };
            let threads: Vec<_> = (0..4).map(|_| s.spawn(some)).collect();
            let made = threads.into_iter().flat_map(|t| t.join().unwrap());
            made.collect::<Vec<MasterKey>>()
        });
        let keys = FileKeyring::new(&path).keys().unwrap();
        fs::remove_file(&path).unwrap();
        assert_eq!((made.len(), keys.len()), (40, 40));
        assert!(made.iter().all(|k| keys.contains(k)));
    }

    #[test]
    fn a_command_prints_them() {
        let keyring = CommandKeyring::new(format!("echo a {ONE}; echo b {ONE}"));
        assert_eq!(keyring.current().unwrap().id, "b");
        assert_eq!(keyring.keys().unwrap().len(), 2);
        for (command, why) in [
            ("echo; exit 3", "failed: exit status: 3"),
            ("echo secret", "line 1: it is to be"),
            ("true", "has no key"),
        ] {
            let e = CommandKeyring::new(command).current().unwrap_err();
            let e = e.to_string();
            assert!(e.contains(why) && !e.contains("secret"), "{e}");
        }
    }
}

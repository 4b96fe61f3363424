//! Which files statements may touch, and what becomes of statements that read long ones.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::support::TestDb;

/// A directory that is gone when this is dropped.
struct Dir(PathBuf);

impl Dir {
    fn new() -> Dir {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("millpond-files-{}-{n}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).expect("a new directory");
        // The system's own may be a link.
        Dir(fs::canonicalize(path).expect("it is there"))
    }
    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn write(path: &str, text: &str) {
    fs::write(path, text).expect("written");
}

#[test]
fn null_refuses_all_files() {
    let dir = Dir::new();
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT)");
    let file = dir.path("x");
    assert_eq!(c.one("SELECT @@secure_file_priv IS NULL"), "1");
    assert_eq!(c.code(&format!("SELECT 1 INTO OUTFILE '{file}'")), 1290);
    assert!(!Path::new(&file).exists());
    write(&file, "1\n");
    assert_eq!(
        c.code(&format!("LOAD DATA INFILE '{file}' INTO TABLE t")),
        1290
    );
    assert_eq!(c.one(&format!("SELECT LOAD_FILE('{file}') IS NULL")), "1");
    assert_eq!(c.code("SET GLOBAL secure_file_priv = ''"), 1238);
    // LOCAL is no way past it: the client is this process.
    c.ok("SET GLOBAL local_infile = ON");
    let local = format!("LOAD DATA LOCAL INFILE '{file}' INTO TABLE t");
    assert_eq!(c.code(&local), 3948);
    let db = TestDb::with(&[("secure_file_priv", "NULL")]);
    let mut c = db.client();
    assert_eq!(c.code(&format!("SELECT 1 INTO DUMPFILE '{file}'")), 1290);
}

#[test]
fn an_empty_text_allows_all_files() {
    let dir = Dir::new();
    let db = TestDb::with(&[("secure_file_priv", "")]);
    let mut c = db.client();
    let file = dir.path("x");
    c.ok(&format!("SELECT 1, 'a' INTO OUTFILE '{file}'"));
    assert_eq!(fs::read_to_string(&file).expect("written"), "1\ta\n");
    let mode = fs::metadata(&file).expect("written").mode();
    assert_eq!(mode & 0o137, 0, "{mode:o}");
    assert_eq!(c.code(&format!("SELECT 1 INTO OUTFILE '{file}'")), 1086);
    // A link to nowhere is something, too.
    let link = dir.path("link");
    symlink(dir.path("elsewhere"), &link).expect("a link");
    assert_eq!(c.code(&format!("SELECT 1 INTO OUTFILE '{link}'")), 1086);
    assert!(!Path::new(&dir.path("elsewhere")).exists());
    let nowhere = dir.path("nowhere/x");
    assert_eq!(c.code(&format!("SELECT 1 INTO OUTFILE '{nowhere}'")), 1);
    assert_eq!(
        c.code(&format!("LOAD DATA INFILE '{nowhere}' INTO TABLE t")),
        1146
    );
    c.ok("CREATE TABLE t (a INT, b TEXT)");
    assert_eq!(
        c.code(&format!("LOAD DATA INFILE '{nowhere}' INTO TABLE t")),
        13
    );
    // What isn't absolute lies in the data directory.
    c.ok("SELECT 5, 'five' INTO OUTFILE 'relative'");
    assert!(db.path.join("relative").is_file());
    c.ok("LOAD DATA INFILE './relative' INTO TABLE t");
    assert_eq!(c.one("SELECT CONCAT(a, b) FROM t"), "5five");
}

#[test]
fn nothing_leads_out_of_the_directory() {
    let (inside, outside) = (Dir::new(), Dir::new());
    let db = TestDb::with(&[("secure_file_priv", &inside.0.display().to_string())]);
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT)");
    assert_eq!(
        c.one("SELECT @@secure_file_priv"),
        format!("{}/", inside.0.display())
    );
    let name = outside.0.file_name().expect("a name").to_string_lossy();
    write(&outside.path("secret"), "1\n");
    symlink(outside.path("secret"), inside.path("link")).expect("a link");
    symlink(&outside.0, inside.path("way")).expect("a link");
    fs::create_dir(inside.path("deeper")).expect("a directory");
    for from in [
        outside.path("secret"),
        inside.path("link"),
        inside.path("way/secret"),
        inside.path(&format!("../{name}/secret")),
        outside.path("nothing"),
        inside.path("way/nothing"),
        "secret".into(),
    ] {
        let load = format!("LOAD DATA INFILE '{from}' INTO TABLE t");
        assert_eq!(c.code(&load), 1290, "{from}");
        let read = c.one(&format!("SELECT LOAD_FILE('{from}') IS NULL"));
        assert_eq!(read, "1", "{from}");
    }
    for to in [
        outside.path("new"),
        inside.path("way/new"),
        inside.path(&format!("../{name}/new")),
        inside.path("deeper/../../new"),
        inside.path("nowhere/new"),
        "new".into(),
    ] {
        assert_eq!(
            c.code(&format!("SELECT 1 INTO OUTFILE '{to}'")),
            1290,
            "{to}"
        );
    }
    assert!(!Path::new(&outside.path("new")).exists());
    // Within it, links lead where they will.
    symlink(inside.path("deeper"), inside.path("down")).expect("a link");
    let file = inside.path("down/new");
    c.ok(&format!("SELECT 7 INTO OUTFILE '{file}'"));
    c.ok(&format!("LOAD DATA INFILE '{file}' INTO TABLE t"));
    assert_eq!(c.one("SELECT a FROM t"), "7");
    assert_eq!(
        c.code(&format!(
            "LOAD DATA INFILE '{}' INTO TABLE t",
            inside.path("nothing")
        )),
        13
    );
}

#[test]
fn long_rows_and_kill() {
    let dir = Dir::new();
    let db = TestDb::with(&[("secure_file_priv", ""), ("max_allowed_packet", "1048576")]);
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT, b LONGTEXT)");
    let file = dir.path("long");
    let line = "x".repeat(2 << 20);
    write(&file, &format!("1\tshort\n2\t{line}\n3\tshort\n"));
    assert_eq!(
        c.code(&format!("LOAD DATA INFILE '{file}' INTO TABLE t")),
        1153
    );
    assert_eq!(c.one("SELECT COUNT(*) FROM t"), "0");
    // What goes nowhere is not kept.
    c.ok(&format!(
        "LOAD DATA INFILE '{file}' IGNORE INTO TABLE t (a)"
    ));
    assert_eq!(c.one("SELECT GROUP_CONCAT(a) FROM t"), "1,2,3");

    let rows: String = (0..200_000).map(|n| format!("{n}\ttext\n")).collect();
    let many = dir.path("many");
    write(&many, &rows);
    c.ok("TRUNCATE t");
    let id = c.0.id();
    let mut other = db.client();
    let load = format!("LOAD DATA INFILE '{many}' INTO TABLE t");
    let loader = std::thread::spawn(move || {
        let failed = c.code(&load);
        (failed, c)
    });
    let busy = format!(
        "SELECT COUNT(*) FROM information_schema.processlist WHERE id = {id} AND info LIKE 'LOAD%'"
    );
    while other.one(&busy) != "1" {
        std::thread::yield_now();
    }
    other.ok(&format!("KILL QUERY {id}"));
    let (failed, mut c) = loader.join().expect("no panic");
    assert_eq!(failed, 1317);
    assert_eq!(c.one("SELECT COUNT(*) FROM t"), "0");
    let done = c.ok(&format!("LOAD DATA INFILE '{many}' INTO TABLE t"));
    assert_eq!(
        done.done.info,
        "Records: 200000  Deleted: 0  Skipped: 0  Warnings: 0"
    );
    assert_eq!(done.done.affected, 200_000);
}

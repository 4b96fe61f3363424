//! What statements write is on no disk in the clear, whichever file it goes to; and what they are told about encryption.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Mutex};

use millpond_session::{Instance, InstanceOptions};
use millpond_store::Options;
use millpond_store::crypt::Keyring;
use millpond_store::io::sim::SimStorage;
use millpond_store::io::{File, Storage};

use crate::support::power::Keys;
use crate::support::{Client, power};

/// What is looked for: it stands in values four times and more in a row, so that a part of that lies at a multiple of its length.
const MARK: [u8; 8] = *b"miller4!";

/// A storage that looks at all that is written.
struct Searched {
    storage: SimStorage,
    /// Files, or folders of such, that what is looked for was written to.
    found: Arc<Mutex<BTreeSet<String>>>,
}

struct SearchedFile {
    file: Arc<dyn File>,
    name: String,
    found: Arc<Mutex<BTreeSet<String>>>,
}

impl Searched {
    fn file(&self, name: &str, file: Arc<dyn File>) -> Arc<dyn File> {
        let folder = name.split_inclusive('/').next().unwrap_or(name);
        Arc::new(SearchedFile {
            file,
            name: folder.into(),
            found: self.found.clone(),
        })
    }
}

impl Storage for Searched {
    fn open(&self, name: &str, create: bool) -> io::Result<Arc<dyn File>> {
        Ok(self.file(name, self.storage.open(name, create)?))
    }
    fn remove(&self, name: &str) -> io::Result<()> {
        self.storage.remove(name)
    }
    fn exists(&self, name: &str) -> bool {
        self.storage.exists(name)
    }
    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        self.storage.list(folder)
    }
    fn sync_folder(&self, folder: &str) -> io::Result<()> {
        self.storage.sync_folder(folder)
    }
    fn lock(&self) -> io::Result<()> {
        self.storage.lock()
    }
}

impl File for SearchedFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_at(buf, offset)
    }
    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        let turned = |n: u32| u64::from_le_bytes(MARK).rotate_left(8 * n);
        let marks: [u64; 8] = std::array::from_fn(|n| turned(n as u32));
        let (words, _) = buf.as_chunks::<8>();
        if words
            .iter()
            .any(|w| marks.contains(&u64::from_le_bytes(*w)))
        {
            self.found.lock().unwrap().insert(self.name.clone());
        }
        self.file.write_at(buf, offset)
    }
    fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }
}

fn open(storage: Searched, keyring: Option<Arc<dyn Keyring>>) -> Instance {
    let options = InstanceOptions {
        path: "simulated".into(),
        store: Options {
            pool_bytes: 5 << 20,
            log_bytes: 4 << 20,
            keyring,
            ..Options::default()
        },
        variables: [("innodb_sort_buffer_size", "65536")]
            .map(|(n, v)| (n.into(), v.into()))
            .to_vec(),
    };
    Instance::open_on(options, Arc::new(storage)).expect("open")
}

/// Statements that write to every kind of file.
fn write_everywhere(c: &mut Client) {
    let text = |n: usize| String::from_utf8(MARK.repeat(n)).expect("ASCII");
    c.ok("SET cte_max_recursion_depth = 10000");
    c.ok("SET GLOBAL innodb_file_per_table = ON");
    c.ok("CREATE TABLE own (id INT PRIMARY KEY, v VARBINARY(400), w LONGBLOB)");
    c.ok("SET GLOBAL innodb_file_per_table = OFF");
    c.ok("CREATE TABLE shared (id INT PRIMARY KEY, v VARBINARY(400), w LONGBLOB)");
    let long = text(40_000);
    for table in ["own", "shared"] {
        // A new table is filled past the log, the other way is by single rows.
        c.ok(&format!(
            "INSERT INTO {table} VALUES (0, '{}', '{long}')",
            text(5)
        ));
        c.ok(&format!(
            "INSERT INTO {table} (id, v) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
             SELECT i, CONCAT(LPAD(i, 8, '0'), '{}') FROM n",
            text(30)
        ));
        // Undo has what was there.
        c.ok(&format!("UPDATE {table} SET v = 'gone' WHERE id % 3 = 0"));
        c.ok(&format!("DELETE FROM {table} WHERE id % 3 = 1"));
        c.ok(&format!("CREATE INDEX v ON {table} (v)"));
    }
    c.ok("CREATE TEMPORARY TABLE passing (id INT PRIMARY KEY, v VARBINARY(400))");
    // More than the pool holds.
    for base in [0, 10_000, 20_000] {
        c.ok(&format!(
            "INSERT INTO passing WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9999)
             SELECT i + {base}, CONCAT(LPAD(i * 7919 % 10007, 8, '0'), REPEAT('{}', 45)) FROM n",
            text(1)
        ));
    }
    c.ok("SET sort_buffer_size = 32768");
    let sorted = c.rows("SELECT v FROM passing ORDER BY v DESC");
    assert_eq!(sorted.len(), 29_997);
    c.ok("FLUSH TABLES");
}

/// The files that the text of statements was written to, a crash and the recovery from it among them.
fn files_with_the_text(keyring: Option<Arc<dyn Keyring>>) -> BTreeSet<String> {
    let disk = SimStorage::new();
    let found = Arc::default();
    let searched = || Searched {
        storage: disk.clone(),
        found: Arc::clone(&found),
    };
    let instance = open(searched(), keyring.clone());
    let mut c = power::client(&instance);
    write_everywhere(&mut c);
    drop(c);
    disk.cut();
    drop(instance);
    disk.restart(|| true);
    let instance = open(searched(), keyring);
    let mut c = power::client(&instance);
    assert_eq!(c.rows("SELECT COUNT(*) FROM own"), ["2001"]);
    assert_eq!(
        c.rows("SELECT LENGTH(w) FROM shared WHERE id = 0"),
        ["320000"]
    );
    drop(c);
    assert_eq!(
        instance.engine().check().expect("a check"),
        Vec::<String>::new()
    );
    instance.close().expect("close");
    // What is there now was looked at when it was written.
    let found = found.lock().unwrap();
    found.clone()
}

#[test]
fn nothing_is_written_in_the_clear() {
    let plain = files_with_the_text(None);
    let all = [
        "data",
        "doublewrite",
        "redo",
        "tables/",
        "temp",
        "tmp/",
        "undo",
    ];
    assert_eq!(plain, all.map(String::from).into(), "without a keyring");
    let encrypted = files_with_the_text(Some(Arc::new(Keys)));
    assert_eq!(encrypted, BTreeSet::new());
}

#[test]
fn statements_about_encryption() {
    let plain = open_new(None);
    let mut c = power::client(&plain);
    let no_key = "Can't find master key from keyring";
    for sql in [
        "ALTER INSTANCE ROTATE INNODB MASTER KEY",
        "CREATE TABLE t (a INT) ENCRYPTION = 'Y'",
        "CREATE TABLESPACE s ADD DATAFILE 's.ibd' ENCRYPTION = 'y'",
        "CREATE DATABASE d ENCRYPTION = 'Y'",
        "ALTER DATABASE test ENCRYPTION = 'Y'",
    ] {
        let e = c.run(sql).unwrap_err();
        assert_eq!(
            (e.code, e.message.starts_with(no_key)),
            (3185, true),
            "{sql}: {e:?}"
        );
    }
    c.ok("CREATE TABLE t (a INT) ENCRYPTION = 'N'");
    assert_eq!(
        c.run("CREATE TABLE x (a INT) ENCRYPTION = 'X'")
            .unwrap_err()
            .code,
        3184
    );
    assert_eq!(
        c.run("CREATE DATABASE x ENCRYPTION = 'X'")
            .unwrap_err()
            .code,
        1525
    );
    assert_eq!(
        c.run("SET GLOBAL innodb_redo_log_encrypt = 1")
            .unwrap_err()
            .code,
        1235
    );
    c.ok("SET GLOBAL innodb_redo_log_encrypt = 0");

    let encrypted = open_new(Some(Arc::new(Keys)));
    let mut c = power::client(&encrypted);
    c.ok("CREATE TABLE t (a INT) ENCRYPTION = 'Y'");
    c.ok("ALTER TABLE t ENCRYPTION = 'Y'");
    c.ok("CREATE TABLESPACE s ADD DATAFILE 's.ibd' ENCRYPTION = 'Y'");
    c.ok("CREATE DATABASE d ENCRYPTION = 'Y'");
    assert!(c.rows("SHOW CREATE DATABASE d")[0].ends_with("DEFAULT ENCRYPTION='Y' */"));
    assert_eq!(
        c.rows(
            "SELECT default_encryption FROM information_schema.schemata WHERE schema_name = 'd'"
        ),
        ["YES"]
    );
    assert_eq!(
        c.rows("SELECT DISTINCT encryption FROM information_schema.innodb_tablespaces"),
        ["Y"]
    );
    assert_eq!(
        c.rows("SELECT @@default_table_encryption, @@innodb_redo_log_encrypt, @@innodb_undo_log_encrypt"),
        ["1|1|1"]
    );
    assert_eq!(
        c.run("SET GLOBAL innodb_undo_log_encrypt = 0")
            .unwrap_err()
            .code,
        1235
    );
    c.ok("SET GLOBAL innodb_undo_log_encrypt = 1");
    // What dumps of other servers say.
    c.ok("CREATE DATABASE e ENCRYPTION = 'N'");
    assert_eq!(
        c.rows("SHOW WARNINGS"),
        ["Warning|1478|ENCRYPTION='N' has no effect: the server's data is encrypted as a whole."]
    );
    assert!(c.rows("SHOW CREATE DATABASE e")[0].ends_with("DEFAULT ENCRYPTION='Y' */"));
    // The keyring's last key is in use already.
    let e = c
        .run("ALTER INSTANCE ROTATE INNODB MASTER KEY")
        .unwrap_err();
    assert!(e.message.contains("is the one in use"), "{e:?}");
}

fn open_new(keyring: Option<Arc<dyn Keyring>>) -> Instance {
    let searched = Searched {
        storage: SimStorage::new(),
        found: Arc::default(),
    };
    open(searched, keyring)
}

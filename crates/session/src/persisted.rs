//! System variables that outlive the server: SET PERSIST and the file `mysqld-auto.cnf` in the data directory.
//!
//! The file is JSON in MySQL 8's form (version 2): by variable its value as text, who set it and when, in one group for variables that can be set
//! while the server runs and one for those that can't. It is read when a database is opened, after all else that says what variables are, unless
//! `persisted_globals_load` is OFF, and written anew by each statement that changes it: beside the old one, synced, then renamed, so that there is
//! always a whole one.
//!
//! Failure: a file that can't be read as such, or a value that a variable doesn't take, keeps the database from opening; a variable that there isn't
//! is passed by with a warning, for a later version may have had it.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use crate::vars::{self, Access};
use millpond_sql::error::{SqlError, SqlResult};
use millpond_sql::value::Value;
use millpond_sql::value::json::{self, Json, View, object_of};

/// The file's name in the data directory.
const FILE: &str = "mysqld-auto.cnf";
/// The form of the file.
const VERSION: i64 = 2;
/// Variables that can be set while the server runs.
const DYNAMIC: &str = "mysql_dynamic_variables";
/// Those that can't.
const STATIC: &str = "mysql_static_variables";

/// Read-only variables that no file may set: what they say is found out, or known before the file is read, or a matter of who starts the server.
const NOT_PERSISTED: &[&str] = &[
    "auto_generate_certs",
    "basedir",
    "bind_address",
    "caching_sha2_password_auto_generate_rsa_keys",
    "caching_sha2_password_private_key_path",
    "caching_sha2_password_public_key_path",
    "character_set_system",
    "character_sets_dir",
    "core_file",
    "datadir",
    "default_authentication_plugin",
    "external_user",
    "gtid_executed",
    "gtid_owned",
    "hostname",
    "init_file",
    "innodb_buffer_pool_load_at_startup",
    "innodb_data_file_path",
    "innodb_data_home_dir",
    "innodb_log_group_home_dir",
    "innodb_page_size",
    "innodb_read_only",
    "innodb_temp_data_file_path",
    "innodb_version",
    "large_files_support",
    "large_page_size",
    "license",
    "log_bin",
    "log_bin_basename",
    "log_error",
    "lower_case_file_system",
    "lower_case_table_names",
    "persisted_globals_load",
    "pid_file",
    "plugin_dir",
    "port",
    "protocol_version",
    "proxy_user",
    "secure_file_priv",
    "server_uuid",
    "skip_networking",
    "socket",
    "system_time_zone",
    "tmpdir",
    "version",
    "version_comment",
    "version_compile_machine",
    "version_compile_os",
];

/// Whether SET PERSIST_ONLY takes a read-only variable.
pub(crate) fn can_be_persisted(name: &str) -> bool {
    !name.starts_with("have_") && !NOT_PERSISTED.contains(&name)
}

/// Who set a variable, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setter {
    pub user: String,
    pub host: String,
    /// Microseconds since 1970 UTC.
    pub at_us: i64,
}

/// What the file says of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// As SHOW VARIABLES prints it; `None`: NULL.
    pub value: Option<String>,
    pub by: Setter,
}

/// Entries by variable.
type Entries = BTreeMap<String, Entry>;

/// The file of a database.
pub(crate) struct Persisted {
    path: PathBuf,
    entries: Mutex<Entries>,
}

impl Persisted {
    /// That of a data directory, with what it says if `load`.
    pub fn open(data: &Path, load: bool) -> SqlResult<Persisted> {
        let path = data.join(FILE);
        let entries = match fs::read(&path) {
            Ok(text) if load => parse(&text).ok_or_else(|| corrupted(&path))?,
            Ok(_) => Entries::new(),
            Err(e) if [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&e.kind()) => {
                Entries::new()
            }
            Err(e) => {
                let m = format!("Can't read file '{}': {e}", path.display());
                return Err(SqlError::new(1024, m));
            }
        };
        let entries = Mutex::new(entries);
        Ok(Persisted { path, entries })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its name and what is in it, if it is there.
    pub fn file(&self) -> Option<(String, Vec<u8>)> {
        // It is replaced under this lock.
        let _entries = self.entries.lock();
        Some((FILE.to_string(), fs::read(&self.path).ok()?))
    }

    /// What it says now.
    pub fn entries(&self) -> Entries {
        self.entries.lock().clone()
    }

    /// Says something of a variable.
    pub fn put(&self, name: &str, entry: Entry) -> SqlResult<()> {
        self.change(|entries| {
            entries.insert(name.to_string(), entry);
        })
    }

    /// Forgets a variable; whether anything was said of it.
    pub fn forget(&self, name: &str) -> SqlResult<bool> {
        if !self.entries.lock().contains_key(name) {
            return Ok(false);
        }
        self.change(|entries| {
            entries.remove(name);
        })?;
        Ok(true)
    }

    /// Forgets all.
    pub fn clear(&self) -> SqlResult<()> {
        self.change(Entries::clear)
    }

    /// What is said is what the file says: a change that can't be written is none.
    fn change(&self, change: impl FnOnce(&mut Entries)) -> SqlResult<()> {
        let mut entries = self.entries.lock();
        let mut changed = entries.clone();
        change(&mut changed);
        write(&self.path, &text(&changed)).map_err(|e| {
            let number = e.raw_os_error().unwrap_or(0);
            let path = self.path.display();
            SqlError::new(
                1026,
                format!("Error writing file '{path}' (errno: {number} - {e})"),
            )
        })?;
        *entries = changed;
        Ok(())
    }
}

fn corrupted(path: &Path) -> SqlError {
    SqlError::new(
        1105,
        format!(
            "Persisted config file is corrupt: {}. Start with persisted_globals_load=OFF to do without it, and mend or remove it",
            path.display()
        ),
    )
}

/// A value of the file that its variable doesn't take.
pub(crate) fn refused(name: &str, e: &SqlError) -> SqlError {
    SqlError::new(
        e.code,
        format!(
            "{FILE}: {name}: {} (persisted_globals_load=OFF does without the file)",
            e.message
        ),
    )
}

fn parse(text: &[u8]) -> Option<Entries> {
    let file = json::parse(text).ok()?;
    let View::Object(file) = file.view() else {
        return None;
    };
    if !matches!(file.get("Version")?.view(), View::Int(VERSION)) {
        return None;
    }
    let mut entries = Entries::new();
    for (name, group) in file.iter() {
        if name == "Version" {
            continue;
        }
        let View::Object(group) = group.view() else {
            return None;
        };
        for (name, entry) in group.iter() {
            let View::Object(entry) = entry.view() else {
                return None;
            };
            let value = match entry.get("Value")?.view() {
                View::String(text) => Some(text.to_string()),
                View::Null => None,
                _ => return None,
            };
            let View::Object(by) = entry.get("Metadata")?.view() else {
                return None;
            };
            let word = |key: &str| match by.get(key)?.view() {
                View::String(text) => Some(text.to_string()),
                _ => None,
            };
            let by = Setter {
                user: word("User")?,
                host: word("Host")?,
                at_us: match by.get("Timestamp")?.view() {
                    View::Int(us) => us,
                    View::UInt(us) => i64::try_from(us).ok()?,
                    _ => return None,
                },
            };
            entries.insert(name.to_string(), Entry { value, by });
        }
    }
    Some(entries)
}

fn text(entries: &Entries) -> Vec<u8> {
    let string = |s: &str| json::scalar(&Value::string(s.to_string())).into_owned();
    let number = |n: i64| json::scalar(&Value::Int(n)).into_owned();
    let entry = |entry: &Entry| {
        let by = object_of(&[
            ("Host", string(&entry.by.host)),
            ("User", string(&entry.by.user)),
            ("Timestamp", number(entry.by.at_us)),
        ]);
        let value = match &entry.value {
            Some(value) => string(value),
            None => json::scalar(&Value::Null).into_owned(),
        };
        object_of(&[("Value", value), ("Metadata", by)])
    };
    let is_static = |name: &str| {
        vars::find(name).is_some_and(|index| vars::all()[index].access == Access::ReadOnly)
    };
    let group = |wanted: bool| {
        let members = entries.iter().filter(|(name, _)| is_static(name) == wanted);
        let members: Vec<(&str, Json<'_>)> =
            members.map(|(name, e)| (name.as_str(), entry(e))).collect();
        object_of(&members)
    };
    let mut members = vec![("Version", number(VERSION))];
    for (name, wanted) in [(DYNAMIC, false), (STATIC, true)] {
        if entries.keys().any(|name| is_static(name) == wanted) {
            members.push((name, group(wanted)));
        }
    }
    object_of(&members).to_text()
}

fn write(path: &Path, text: &[u8]) -> io::Result<()> {
    let draft = path.with_extension("cnf.new");
    // Not for everybody: a variable may hold what others needn't know.
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o640)
        .open(&draft)?;
    file.write_all(text)?;
    file.sync_all()?;
    fs::rename(&draft, path)?;
    match path.parent() {
        Some(directory) => File::open(directory)?.sync_all(),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_persisted_is_there() {
        for name in NOT_PERSISTED {
            let index = vars::find(name).unwrap_or_else(|| panic!("{name}"));
            assert_eq!(vars::all()[index].access, Access::ReadOnly, "{name}");
        }
    }

    #[test]
    fn texts() {
        let entry = |value: Option<&str>, at_us| Entry {
            value: value.map(str::to_string),
            by: Setter {
                user: "root".into(),
                host: "local\"host".into(),
                at_us,
            },
        };
        let all = Entries::from([
            (
                "max_connections".into(),
                entry(Some("152"), 1_700_000_000_000_000),
            ),
            ("back_log".into(), entry(Some("99"), 2)),
            ("character_set_results".into(), entry(None, 3)),
        ]);
        let written = String::from_utf8(text(&all)).unwrap();
        assert_eq!(parse(written.as_bytes()), Some(all));
        assert!(
            written.contains(r#""mysql_static_variables": {"back_log": {"#),
            "{written}"
        );
        assert_eq!(parse(br#"{"Version": 2}"#), Some(Entries::new()));
        // As MySQL writes it.
        let other = br#"{"Version": 2, "mysql_dynamic_parse_early_variables": {"max_connections": {"Value": "152",
            "Metadata": {"Host": "localhost", "User": "root", "Timestamp": 1620000000000000}}}}"#;
        let entries = parse(other).unwrap();
        assert_eq!(entries["max_connections"].by.at_us, 1_620_000_000_000_000);
        for wrong in [
            "",
            "[]",
            r#"{"mysql_dynamic_variables": {}}"#,
            r#"{"Version": 3}"#,
            r#"{"Version": 2, "mysql_dynamic_variables": 1}"#,
            r#"{"Version": 2, "mysql_dynamic_variables": {"a": {"Value": 1, "Metadata": {}}}}"#,
            r#"{"Version": 2, "mysql_dynamic_variables": {"a": {"Value": "1"}}}"#,
        ] {
            assert_eq!(parse(wrong.as_bytes()), None, "{wrong}");
        }
    }
}

//! Settings: a flag wins over the environment (`MILLPOND_*`), which wins over the configuration file, which wins over the
//! default. The file has the flags' names as keys, and a table `[variables]` for what `--set` sets:
//!
//! ```toml
//! data = "/var/lib/millpond"
//! port = 3306
//! pool = "2G"
//! [variables]
//! innodb_flush_log_at_trx_commit = 1
//! ```

use clap::Args;
use millpond_lab::frame::Size;
use millpond_session::{Instance, InstanceOptions};
use millpond_store::crypt::{CommandKeyring, FileKeyring, Keyring};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

/// What can go wrong here, for people.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// A system variable and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment(pub String, pub String);

impl FromStr for Assignment {
    type Err = String;
    fn from_str(s: &str) -> Result<Assignment, String> {
        match s.split_once('=') {
            Some((name, value)) if !name.trim().is_empty() => Ok(Assignment(
                name.trim().replace('-', "_").to_lowercase(),
                value.trim().to_string(),
            )),
            _ => Err(format!("'{s}' is not of the form name=value")),
        }
    }
}

/// Where the master keys are of what is encrypted.
#[derive(Args, Clone, Debug, Default)]
pub struct KeyringArgs {
    /// File of the master keys that data is encrypted by; made with a new database [default: nothing is encrypted]
    #[arg(long, env = "MILLPOND_KEYRING_FILE", value_name = "FILE")]
    pub keyring_file: Option<PathBuf>,
    /// Command that prints them, run by sh
    #[arg(
        long,
        env = "MILLPOND_KEYRING_COMMAND",
        value_name = "COMMAND",
        conflicts_with = "keyring_file"
    )]
    pub keyring_command: Option<String>,
}

impl KeyringArgs {
    /// The keyring, of the file's settings if no flag says which.
    pub fn keyring(&self, file: &File) -> Result<Option<Arc<dyn Keyring>>, Error> {
        let given = self.keyring_file.is_some() || self.keyring_command.is_some();
        let (path, command) = match given {
            true => (&self.keyring_file, &self.keyring_command),
            false => (&file.keyring_file, &file.keyring_command),
        };
        Ok(match (path, command) {
            (Some(_), Some(_)) => {
                return Err("there is a keyring file and a keyring command: one will do".into());
            }
            (Some(path), None) => Some(Arc::new(FileKeyring::new(path))),
            (None, Some(command)) => Some(Arc::new(CommandKeyring::new(command))),
            (None, None) => None,
        })
    }
}

/// Settings of every command that opens a data directory.
#[derive(Args, Clone, Debug, Default)]
pub struct EngineArgs {
    /// Data directory; created if it's not there [default: millpond-data]
    #[arg(long, short, env = "MILLPOND_DATA", value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Buffer pool size, like 128M or 2G [default: 128M]
    #[arg(long, env = "MILLPOND_POOL", value_name = "SIZE")]
    pub pool: Option<Size>,
    /// Redo log capacity [default: 256M]
    #[arg(long, env = "MILLPOND_LOG_SIZE", value_name = "SIZE")]
    pub log_size: Option<Size>,
    /// Set a system variable, e.g. --set innodb_flush_log_at_trx_commit=2
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub variables: Vec<Assignment>,
    #[command(flatten)]
    pub keyring: KeyringArgs,
    /// Configuration file (TOML)
    #[arg(long, env = "MILLPOND_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// The configuration file's contents; everything is optional.
#[derive(Debug, Default, PartialEq)]
pub struct File {
    pub data: Option<PathBuf>,
    pub pool: Option<Size>,
    pub log_size: Option<Size>,
    pub port: Option<u16>,
    pub bind: Option<IpAddr>,
    pub socket: Option<PathBuf>,
    pub max_connections: Option<u32>,
    pub metrics_addr: Option<SocketAddr>,
    pub log_level: Option<String>,
    pub keyring_file: Option<PathBuf>,
    pub keyring_command: Option<String>,
    pub variables: Vec<Assignment>,
}

impl File {
    /// Reads the file, if one is named.
    pub fn read(path: Option<&Path>) -> Result<File, Error> {
        let Some(path) = path else {
            return Ok(File::default());
        };
        let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        File::parse(&text).map_err(|e| format!("{}: {e}", path.display()).into())
    }

    fn parse(text: &str) -> Result<File, Error> {
        let mut file = File::default();
        for (key, value) in text.parse::<toml::Table>()? {
            file.set(&key, &value)?;
        }
        Ok(file)
    }

    fn set(&mut self, key: &str, value: &toml::Value) -> Result<(), String> {
        self.take(key, value)
            .map_err(|e| format!("{key}: {e}"))?
            .ok_or_else(|| match text_of(value) {
                Ok(text) => format!("{key} = {text}: unknown setting"),
                Err(_) => format!("[{key}]: unknown setting"),
            })
    }

    /// Takes a setting over; `None` if there is none of this name.
    fn take(&mut self, key: &str, value: &toml::Value) -> Result<Option<()>, String> {
        match key.replace('_', "-").as_str() {
            "data" => self.data = Some(scalar(value)?),
            "pool" => self.pool = Some(scalar(value)?),
            "log-size" => self.log_size = Some(scalar(value)?),
            "port" => self.port = Some(scalar(value)?),
            "bind" => self.bind = Some(scalar(value)?),
            "socket" => self.socket = Some(scalar(value)?),
            "max-connections" => self.max_connections = Some(scalar(value)?),
            "metrics-addr" => self.metrics_addr = Some(scalar(value)?),
            "log-level" => self.log_level = Some(scalar(value)?),
            "keyring-file" => self.keyring_file = Some(scalar(value)?),
            "keyring-command" => self.keyring_command = Some(scalar(value)?),
            "variables" => {
                let table = value.as_table().ok_or("must be a table")?;
                for (name, value) in table {
                    let assignment = format!("{name}={}", text_of(value)?);
                    self.variables.push(assignment.parse()?);
                }
            }
            _ => return Ok(None),
        }
        Ok(Some(()))
    }
}

fn text_of(value: &toml::Value) -> Result<String, String> {
    match value {
        toml::Value::String(s) => Ok(s.clone()),
        toml::Value::Integer(n) => Ok(n.to_string()),
        toml::Value::Float(n) => Ok(n.to_string()),
        toml::Value::Boolean(b) => Ok((if *b { "ON" } else { "OFF" }).into()),
        other => Err(format!(
            "a value of type {} is no string, number or boolean",
            other.type_str()
        )),
    }
}

fn scalar<T: FromStr<Err: std::fmt::Display>>(value: &toml::Value) -> Result<T, String> {
    let text = text_of(value)?;
    text.parse().map_err(|e: T::Err| match e.to_string() {
        e if e.contains(&*text) => e,
        e => format!("'{text}': {e}"),
    })
}

/// Default data directory.
const DATA: &str = "millpond-data";

impl EngineArgs {
    /// What to open, with the file's settings where no flag says otherwise.
    pub fn options(&self, file: &File) -> Result<InstanceOptions, Error> {
        let mut store = millpond_store::Options::default();
        if let Some(Size(n)) = self.pool.or(file.pool) {
            store.pool_bytes = usize::try_from(n)?;
        }
        if let Some(Size(n)) = self.log_size.or(file.log_size) {
            store.log_bytes = n;
        }
        store.keyring = self.keyring.keyring(file)?;
        let path = self.data.as_ref().or(file.data.as_ref());
        let path = path.map_or_else(|| PathBuf::from(DATA), Clone::clone);
        // The file's first: of two settings of one variable, the last counts.
        let variables = file.variables.iter().chain(&self.variables);
        Ok(InstanceOptions {
            path,
            store,
            variables: variables.map(|a| (a.0.clone(), a.1.clone())).collect(),
        })
    }
}

/// Opens an instance in a process of its own; an error names the directory.
pub fn open(options: InstanceOptions) -> Result<Instance, Error> {
    millpond_store::io::real::raise_file_limit();
    let path = options.path.clone();
    Instance::open(options).map_err(|e| format!("{}: {}", path.display(), e.message).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files() {
        let file = File::parse(
            "data = '/d'\nport = 3307\npool = '1G'\nmax_connections = 10\nbind = '127.0.0.1'\n\
             metrics-addr = '127.0.0.1:9104'\n[variables]\nautocommit = true\nsql_mode = ''\n",
        )
        .unwrap();
        assert_eq!(file.data, Some(PathBuf::from("/d")));
        assert_eq!((file.port, file.max_connections), (Some(3307), Some(10)));
        assert_eq!(file.pool, Some(Size(1 << 30)));
        assert_eq!(file.metrics_addr, "127.0.0.1:9104".parse().ok());
        assert_eq!(
            file.variables,
            [
                Assignment("autocommit".into(), "ON".into()),
                Assignment("sql_mode".into(), String::new())
            ]
        );
        for (bad, names) in [
            ("prot = 1", "prot = 1: unknown setting"),
            ("port = 99999", "port: '99999': "),
            ("bind = 'here'", "bind: 'here': "),
            ("metrics_addr = '9104'", "metrics_addr: '9104': "),
            ("pool = '12X'", "pool: '12X': unknown unit 'X'"),
            ("port = [1]", "port: a value of type array is no "),
            ("[prot]", "[prot]: unknown setting"),
            ("port =", "TOML"),
        ] {
            let e = File::parse(bad).unwrap_err().to_string();
            assert!(e.contains(names), "{e}");
        }
    }

    #[test]
    fn flags_win_over_the_file() {
        let file = File::parse("pool = '1G'\nlog-size = '64M'\n[variables]\na = 1\n").unwrap();
        let args = EngineArgs {
            pool: Some(Size(2 << 30)),
            variables: vec!["A=2".parse().unwrap()],
            ..EngineArgs::default()
        };
        let options = args.options(&file).unwrap();
        assert_eq!(options.store.pool_bytes, 2 << 30);
        assert_eq!(options.store.log_bytes, 64 << 20);
        assert_eq!(options.path, PathBuf::from(DATA));
        let last = options.variables.last().unwrap();
        assert_eq!(last, &("a".to_string(), "2".to_string()));
    }
}

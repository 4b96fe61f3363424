//! Which targets and algorithms an experiment runs on.

use super::Machine;
use crate::Result;
use crate::algorithm::Algorithms;
use crate::target::{Embedded, EmbeddedOptions, MysqlServer, Target};
use std::path::{Path, PathBuf};

/// Flags that all experiments on targets share.
#[derive(clap::Args, Clone, Debug)]
pub struct TargetArgs {
    /// A server, like mysql://root@127.0.0.1:3306/ or mysql://root@localhost/?socket=/path, or `embedded`; give it several
    /// times to compare [default: embedded]
    #[arg(long, value_name = "URL")]
    pub target: Vec<String>,
    /// Set innodb_flush_log_at_trx_commit while it runs [default: as the target has it, 1 for the embedded engine]
    #[arg(long, value_name = "0|1|2", value_parser = clap::value_parser!(u8).range(0..=2))]
    pub durability: Option<u8>,
    /// Set a system variable of the embedded engine, e.g. --set innodb_adaptive_hash_index=ON
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = assignment)]
    pub variables: Vec<(String, String)>,
    /// Directory in which the embedded engine gets a directory, which is removed at the end
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub dir: PathBuf,
}

/// The flag of experiments on drops.
#[derive(clap::Args, Clone, Debug)]
pub struct AlgorithmArgs {
    /// Algorithms to run where the target has them: all, or some of full_scan, lazy_mark, cleaner, flush_list, stale,
    /// millpond; other targets run once, as themselves
    #[arg(long, value_name = "all|NAME,...", default_value = "all")]
    pub algorithm: Algorithms,
}

/// `NAME=VALUE`.
fn assignment(text: &str) -> std::result::Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_lowercase(), value.trim().to_string()))
        }
        _ => Err(format!("'{text}' is not of the form name=value")),
    }
}

/// A part of an article's size.
pub fn scale(text: &str) -> std::result::Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if x > 0.0 && x <= 100.0 => Ok(x),
        _ => Err("a number above 0, 1 for the article's own sizes".into()),
    }
}

/// A target that is not open yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spec {
    /// The engine in this process.
    Embedded,
    /// A server by its URL.
    Url(String),
}

impl Spec {
    fn parse(text: &str) -> Spec {
        match text {
            "embedded" => Spec::Embedded,
            url => Spec::Url(url.into()),
        }
    }

    /// Where it is, for people: no password in it.
    pub fn shown(&self) -> String {
        match self {
            Spec::Embedded => "the embedded engine".into(),
            Spec::Url(url) => MysqlServer::place(url),
        }
    }

    /// Opens it; the options are the embedded engine's.
    pub fn open(&self, dir: &Path, options: &EmbeddedOptions) -> Result<Box<dyn Target>> {
        Ok(match self {
            Spec::Embedded => Box::new(Embedded::create(dir, options)?),
            Spec::Url(url) => Box::new(MysqlServer::at(url)?),
        })
    }
}

/// The targets of a run, in the order given.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// At least one.
    pub specs: Vec<Spec>,
    /// More than one of them offers algorithms.
    pub several: bool,
}

impl TargetArgs {
    /// How the embedded engine is opened, with a pool of so many bytes as far as there is memory for it.
    pub fn embedded(&self, pool_bytes: u64) -> EmbeddedOptions {
        EmbeddedOptions {
            pool_bytes: Some(pool_bytes.min(Machine::memory_to_use())),
            durability: self.durability,
            variables: self.variables.clone(),
            ..EmbeddedOptions::default()
        }
    }

    /// Each server is asked once, so that a wrong URL is known before an hour of work.
    pub fn chosen(&self) -> Result<Chosen> {
        let mut specs: Vec<Spec> = self.target.iter().map(|t| Spec::parse(t)).collect();
        if specs.is_empty() {
            specs.push(Spec::Embedded);
        }
        let mut ours = 0;
        for spec in &specs {
            ours += match spec {
                Spec::Embedded => 1,
                Spec::Url(url) => usize::from(MysqlServer::at(url)?.name().starts_with("Millpond")),
            };
        }
        Ok(Chosen {
            specs,
            several: ours > 1,
        })
    }
}

//! The machine that figures were measured on.

use crate::Result;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// What matters of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// Processor model.
    pub cpu: String,
    /// Processors that this process may use.
    pub cores: usize,
    /// Memory, bytes.
    pub memory: u64,
    /// Operating system and its version.
    pub system: String,
    /// Processes that ran or wanted to, on the average of the minute before; NaN if the system does not tell.
    pub load: f64,
}

impl Machine {
    /// Bytes of memory that an embedded engine's pool may take without pressing others out.
    pub fn memory_to_use() -> u64 {
        let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let available = text.lines().find_map(|l| {
            let kib = l.strip_prefix("MemAvailable:")?.trim();
            kib.strip_suffix("kB")?.trim().parse::<u64>().ok()
        });
        // A system that does not tell is taken at the experiment's word.
        available.map_or(u64::MAX, |kib| (kib << 10) / 10 * 8)
    }

    /// This one. What the system does not tell is said to be unknown.
    pub fn here() -> Machine {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let field = |text: &str, name: &str| {
            let line = text.lines().find(|l| l.starts_with(name))?;
            Some(line.split_once(':')?.1.trim().to_string())
        };
        let memory = field(&read("/proc/meminfo"), "MemTotal")
            .and_then(|v| v.split(' ').next()?.parse::<u64>().ok())
            .unwrap_or(0);
        let load = read("/proc/loadavg");
        Machine {
            load: load
                .split(' ')
                .next()
                .and_then(|l| l.parse().ok())
                .unwrap_or(f64::NAN),
            cpu: field(&read("/proc/cpuinfo"), "model name").unwrap_or_else(|| "unknown".into()),
            cores: std::thread::available_parallelism().map_or(1, |n| n.get()),
            memory: memory << 10,
            system: format!("Linux {}", read("/proc/sys/kernel/osrelease").trim()),
        }
    }
}

/// What one `fdatasync` of a small write costs in a directory: the median of some.
pub fn sync_cost(dir: &Path) -> Result<Duration> {
    const ROUNDS: usize = 100;
    let path = dir.join(format!(".millpond-lab-sync-{}", std::process::id()));
    let measured = (|| {
        let mut file = std::fs::File::create(&path)?;
        file.write_all(&vec![0; 1 << 20])?;
        file.sync_all()?;
        let mut times = Vec::with_capacity(ROUNDS);
        for i in 0..ROUNDS {
            let start = Instant::now();
            file.write_all_at(&[1; 512], i as u64 * 512)?;
            file.sync_data()?;
            times.push(start.elapsed());
        }
        times.sort();
        Ok(times[ROUNDS / 2])
    })();
    let removed = std::fs::remove_file(&path);
    let measured = measured.map_err(|e: std::io::Error| format!("{}: {e}", path.display()))?;
    removed?;
    Ok(measured)
}

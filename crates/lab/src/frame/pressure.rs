//! What else goes on on the machine while something is measured: how long threads wait for a processor, what a hypervisor takes away,
//! what the disk answers. Where the system does not tell, there is nothing to say.

use super::Stop;
use crate::stats::Latencies;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// Time between two looks.
const EVERY: Duration = Duration::from_millis(50);
/// Looks between two writes to the disk.
const WRITES: u32 = 5;

/// Processor time of threads, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Worked {
    /// On a processor.
    pub ran: f64,
    /// Ready to run, and waiting for one.
    pub waited: f64,
}

impl Worked {
    /// Of the calling thread until now.
    pub fn of_this_thread() -> Worked {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
        let mut ns = text.split_whitespace().map_while(|n| n.parse::<f64>().ok());
        Worked {
            ran: ns.next().unwrap_or(0.0) / 1e9,
            waited: ns.next().unwrap_or(0.0) / 1e9,
        }
    }
    /// Since an earlier time.
    pub fn since(&self, earlier: &Worked) -> Worked {
        Worked {
            ran: self.ran - earlier.ran,
            waited: self.waited - earlier.waited,
        }
    }
    /// Adds another thread's, or another time's.
    pub fn add(&mut self, other: &Worked) {
        self.ran += other.ran;
        self.waited += other.waited;
    }
}

/// What was seen of the machine.
#[derive(Clone, Debug, Default)]
pub struct Pressure {
    /// Clock ticks of all processors: in all, and taken away by a hypervisor.
    ticks: (u64, u64),
    /// Sum over all looks of the threads that ran or wanted to.
    running: u64,
    looks: u64,
    /// A small synced write now and then.
    pub syncs: Latencies,
}

impl Pressure {
    /// Looks at the machine until it is told to end, and writes to a file in the directory.
    pub fn watch(dir: &Path, stop: &Stop) -> Pressure {
        let path = dir.join(format!(".millpond-lab-disk-{}", std::process::id()));
        // A directory that takes no file gives no latencies of its disk.
        let mut file = std::fs::File::create(&path).ok();
        if let Some(file) = &mut file {
            let _ = file.write_all(&[0; 512]).and_then(|()| file.sync_all());
        }
        let mut seen = Pressure::default();
        let before = ticks();
        let mut when = Instant::now();
        for look in 0.. {
            seen.looks += 1;
            // This thread is one of them.
            seen.running += running().saturating_sub(1);
            if let (Some(file), true) = (&file, look % WRITES == 0) {
                let begun = Instant::now();
                let written = file
                    .write_all_at(&[1; 512], 0)
                    .and_then(|()| file.sync_data());
                if written.is_ok() {
                    seen.syncs.record(begun.elapsed().as_nanos() as u64);
                }
            }
            when += EVERY;
            if !stop.sleep_until(when) {
                break;
            }
        }
        let after = ticks();
        seen.ticks = (
            after.0.saturating_sub(before.0),
            after.1.saturating_sub(before.1),
        );
        let _ = std::fs::remove_file(&path);
        seen
    }

    /// The part of the processors' time that a hypervisor took away.
    pub fn stolen(&self) -> f64 {
        self.ticks.1 as f64 / self.ticks.0.max(1) as f64
    }

    /// Threads that ran or wanted to, on the average.
    pub fn running(&self) -> f64 {
        self.running as f64 / self.looks.max(1) as f64
    }
}

/// All ticks, and those taken away.
fn ticks() -> (u64, u64) {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let line = text.lines().next().unwrap_or_default();
    let all: Vec<u64> = line
        .split_whitespace()
        .skip(1)
        .map_while(|n| n.parse().ok())
        .collect();
    // user, nice, system, idle, iowait, irq, softirq, steal; what follows is in user and nice, too.
    let own = &all[..all.len().min(8)];
    (own.iter().sum(), own.get(7).copied().unwrap_or(0))
}

fn running() -> u64 {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let line = text.lines().find_map(|l| l.strip_prefix("procs_running "));
    line.and_then(|n| n.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_works_has_worked() {
        let before = Worked::of_this_thread();
        let mut sum = 0u64;
        while Worked::of_this_thread().since(&before).ran < 0.002 {
            sum = (0..10_000u64).fold(sum, |a, b| a.wrapping_add(b));
        }
        assert!(sum > 0);
    }

    #[test]
    fn the_machine_is_watched_until_the_end_and_no_file_stays() {
        let dir = tempfile::tempdir().unwrap();
        let stop = Stop::default();
        let seen = std::thread::scope(|scope| {
            let watching = scope.spawn(|| Pressure::watch(dir.path(), &stop));
            while ticks().0 == 0 || std::fs::read_dir(dir.path()).unwrap().count() == 0 {
                std::thread::sleep(Duration::from_millis(5));
            }
            stop.set();
            watching.join().unwrap()
        });
        assert!(seen.looks > 0 && seen.syncs.count() > 0);
        assert!((0.0..=1.0).contains(&seen.stolen()) && seen.running() >= 0.0);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}

//! How much memory the process may have, and whether what it was told to take is within that.

use millpond_lab::frame::Size;
use std::path::Path;

/// A bound on the process's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    pub bytes: u64,
    /// It is a cgroup's, not the machine's.
    pub of_cgroup: bool,
}

impl std::fmt::Display for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let whose = match self.of_cgroup {
            true => "its cgroup's limit",
            false => "the machine's",
        };
        write!(f, "{} ({whose})", Size(self.bytes))
    }
}

/// The bound; `None`: the system doesn't say.
pub fn bound() -> Option<Bound> {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let machine = read("/proc/meminfo").and_then(|text| total(&text));
    let groups = read("/proc/self/cgroup").unwrap_or_default();
    let cgroup = cgroup_limit(&groups, Path::new("/sys/fs/cgroup"));
    match (cgroup, machine) {
        (Some(bytes), machine) if machine.is_none_or(|m| bytes < m) => Some(Bound {
            bytes,
            of_cgroup: true,
        }),
        (_, machine) => machine.map(|bytes| Bound {
            bytes,
            of_cgroup: false,
        }),
    }
}

/// An error if the pool alone is more than the process may have: its pages would be taken one by one until the system ends the server.
/// A persisted size wins over all that the command says, so the message names each place where it may be from.
pub fn check_pool(pool: u64, bound: Option<Bound>) -> Result<(), String> {
    match bound {
        Some(bound) if pool > bound.bytes => Err(format!(
            "the buffer pool, {}, is more than the memory that this process may have, {bound}: choose a smaller --pool or \
             innodb_buffer_pool_size, and if that is persisted in mysqld-auto.cnf, which counts more, mend the file or start with \
             --set persisted_globals_load=OFF",
            Size(pool)
        )),
        _ => Ok(()),
    }
}

/// Says so if all that may be taken is more than the process may have. `parts`: what for, and how many bytes at the most.
pub fn warn(parts: &[(&str, u64)], bound: Option<Bound>) {
    let Some(bound) = bound else { return };
    if sum(parts) > bound.bytes {
        let list: Vec<String> = (parts.iter())
            .map(|(what, bytes)| format!("{what} {}", Size(*bytes)))
            .collect();
        tracing::warn!(
            "together {} may take more than the memory that this process may have, {bound}; the system ends a server that does",
            list.join(", ")
        );
    }
}

/// Bytes of all parts; each may be any number.
fn sum(parts: &[(&str, u64)]) -> u64 {
    parts.iter().fold(0, |all, (_, n)| all.saturating_add(*n))
}

/// `MemTotal` of /proc/meminfo, bytes.
fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|l| l.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// The least limit of the memory cgroup that /proc/self/cgroup names and those above it; version 1 has a hierarchy of its own for memory,
/// version 2 one for all.
fn cgroup_limit(groups: &str, root: &Path) -> Option<u64> {
    let mut least: Option<u64> = None;
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) =
            (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let (base, name) = match controllers {
            "" => (root.to_path_buf(), "memory.max"),
            c if c.split(',').any(|c| c == "memory") => {
                (root.join("memory"), "memory.limit_in_bytes")
            }
            _ => continue,
        };
        // In a container the path may be the host's, and what is seen begins at the container's own group: the root's file is its.
        let own = Path::new(path.trim_start_matches('/'));
        for group in own.ancestors() {
            let limit = std::fs::read_to_string(base.join(group).join(name)).ok();
            let limit = limit.and_then(|text| text.trim().parse::<u64>().ok());
            least = [least, limit].into_iter().flatten().min();
        }
    }
    // Version 1 says "no limit" by a number near the greatest there is.
    least.filter(|bytes| *bytes < 1 << 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_limit_above_a_group_counts() {
        let dir = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        put("a/memory.max", "1073741824\n");
        put("a/b/memory.max", "max\n");
        assert_eq!(cgroup_limit("0::/a/b\n", dir.path()), Some(1 << 30));
        assert_eq!(cgroup_limit("0::/c\n", dir.path()), None);
        put("memory/memory.limit_in_bytes", "9223372036854771712\n");
        put("memory/x/memory.limit_in_bytes", "536870912\n");
        let v1 = "9:name=systemd:/\n4:cpu,memory:/x/y\n1:cpu:/\n";
        assert_eq!(cgroup_limit(v1, dir.path()), Some(1 << 29));
        assert_eq!(cgroup_limit("4:memory:/\n", dir.path()), None);
    }

    #[test]
    fn a_pool_beyond_the_bound_is_refused() {
        assert_eq!(
            total("MemTotal:       1024 kB\nMemFree: 3 kB\n"),
            Some(1 << 20)
        );
        let bound = Some(Bound {
            bytes: 1 << 30,
            of_cgroup: true,
        });
        assert!(check_pool(1 << 30, bound).is_ok());
        assert!(check_pool(1 << 31, None).is_ok());
        let refused = check_pool(1 << 31, bound).unwrap_err();
        assert!(refused.contains("its cgroup's limit"), "{refused}");
        // Whichever of them it was.
        for name in ["--pool", "innodb_buffer_pool_size", "mysqld-auto.cnf"] {
            assert!(refused.contains(name), "{refused}");
        }
    }

    #[test]
    fn parts_without_a_limit_are_more_than_the_bound() {
        assert_eq!(sum(&[("a", 1 << 30), ("b", 2)]), (1 << 30) + 2);
        assert_eq!(sum(&[("a", 1), ("b", u64::MAX), ("c", 5)]), u64::MAX);
    }
}

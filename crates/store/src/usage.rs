//! What a thread has used of the machine, as the operating system counts it.

use std::time::Duration;

/// Totals of a thread since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// CPU time in user mode.
    pub user: Duration,
    /// CPU time in the kernel.
    pub system: Duration,
    /// Context switches that it waited for something by.
    pub voluntary_switches: u64,
    /// Context switches that came upon it.
    pub involuntary_switches: u64,
    /// Block input operations.
    pub blocks_in: u64,
    /// Block output operations.
    pub blocks_out: u64,
    /// Page faults that took I/O.
    pub major_faults: u64,
    /// Other page faults.
    pub minor_faults: u64,
    /// Swaps.
    pub swaps: u64,
}

impl Usage {
    /// What the calling thread has used; nothing where the system does not tell.
    pub fn of_thread() -> Usage {
        // SAFETY: `rusage` is a plain C structure of numbers, for which all zeros are a value.
        let mut r: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: the pointer is to a live `rusage`, which the call fills and does not keep.
        if unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut r) } != 0 {
            return Usage::default();
        }
        let time = |t: libc::timeval| {
            Duration::from_secs(t.tv_sec as u64) + Duration::from_micros(t.tv_usec as u64)
        };
        Usage {
            user: time(r.ru_utime),
            system: time(r.ru_stime),
            voluntary_switches: r.ru_nvcsw as u64,
            involuntary_switches: r.ru_nivcsw as u64,
            blocks_in: r.ru_inblock as u64,
            blocks_out: r.ru_oublock as u64,
            major_faults: r.ru_majflt as u64,
            minor_faults: r.ru_minflt as u64,
            swaps: r.ru_nswap as u64,
        }
    }

    /// What was used since then.
    pub fn since(&self, before: &Usage) -> Usage {
        Usage {
            user: self.user.saturating_sub(before.user),
            system: self.system.saturating_sub(before.system),
            voluntary_switches: self
                .voluntary_switches
                .saturating_sub(before.voluntary_switches),
            involuntary_switches: self
                .involuntary_switches
                .saturating_sub(before.involuntary_switches),
            blocks_in: self.blocks_in.saturating_sub(before.blocks_in),
            blocks_out: self.blocks_out.saturating_sub(before.blocks_out),
            major_faults: self.major_faults.saturating_sub(before.major_faults),
            minor_faults: self.minor_faults.saturating_sub(before.minor_faults),
            swaps: self.swaps.saturating_sub(before.swaps),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_by() {
        let before = Usage::of_thread();
        let mut n = 0u64;
        loop {
            n = std::hint::black_box(n.wrapping_mul(31).wrapping_add(7));
            let used = Usage::of_thread().since(&before);
            if used.user + used.system >= Duration::from_millis(2) {
                break;
            }
        }
        assert_eq!(before.since(&before), Usage::default());
    }
}

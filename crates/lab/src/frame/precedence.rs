//! Precedence over the machine's other programs: what is measured runs as soon as it wants to, whatever is built beside it.
//!
//! Where the system allows it (root, or CAP_SYS_NICE) this process's threads are in the real-time class as long as the value lives, and so are
//! those that they start. That is for loads that take a part of the processors: the kernel leaves others a twentieth of the time in any case
//! (`kernel.sched_rt_runtime_us`), but no more. Other processes, like a server under test, are left as they are.

/// It ends when this is dropped.
pub struct Precedence {
    mine: bool,
    given: bool,
}

impl Precedence {
    /// Asks for it. A process that was started in the real-time class stays as it is.
    pub fn take() -> Precedence {
        let before = class::own();
        let mine = before == Some(class::USUAL) && class::set_all(class::FIRST);
        Precedence {
            mine,
            given: mine || before.is_some_and(|c| c != class::USUAL),
        }
    }

    /// Whether it was given.
    pub fn given(&self) -> bool {
        self.given
    }
}

impl Drop for Precedence {
    fn drop(&mut self) {
        if self.mine {
            class::set_all(class::USUAL);
        }
    }
}

#[cfg(target_os = "linux")]
mod class {
    pub const USUAL: libc::c_int = libc::SCHED_OTHER;
    pub const FIRST: libc::c_int = libc::SCHED_RR;

    /// The calling thread's.
    pub fn own() -> Option<libc::c_int> {
        // SAFETY: asks about the calling thread and touches no memory.
        let class = unsafe { libc::sched_getscheduler(0) };
        (class >= 0).then_some(class)
    }

    /// Puts the calling thread into a class, and if that is allowed all others of the process.
    pub fn set_all(class: libc::c_int) -> bool {
        if !set(0, class) {
            return false;
        }
        for task in std::fs::read_dir("/proc/self/task").into_iter().flatten() {
            let name = task.ok().map(|t| t.file_name());
            if let Some(id) = name.and_then(|n| n.to_str()?.parse().ok()) {
                // One that has ended meanwhile needs nothing.
                let _ = set(id, class);
            }
        }
        true
    }

    fn set(thread: libc::pid_t, class: libc::c_int) -> bool {
        let least = libc::sched_param {
            sched_priority: i32::from(class != USUAL),
        };
        // SAFETY: the parameter is read during the call alone; a thread that is no more is an error.
        unsafe { libc::sched_setscheduler(thread, class, &least) == 0 }
    }
}

#[cfg(not(target_os = "linux"))]
mod class {
    pub const USUAL: i32 = 0;
    pub const FIRST: i32 = 1;

    pub fn own() -> Option<i32> {
        None
    }
    pub fn set_all(_: i32) -> bool {
        false
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn it_is_given_back() {
        let before = class::own();
        let taken = Precedence::take();
        if taken.mine {
            assert_eq!(class::own(), Some(class::FIRST));
            let inherited = std::thread::spawn(class::own).join().unwrap();
            assert_eq!(inherited, Some(class::FIRST));
        }
        drop(taken);
        assert_eq!(class::own(), before);
    }
}

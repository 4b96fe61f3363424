//! Which experiments run for the articles, how large, and how long each may take on one target.

use std::time::Duration;

/// An experiment with its flags.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Course {
    /// The subcommand.
    pub experiment: &'static str,
    /// At most, on one target.
    pub time: Duration,
    /// As the command line has them.
    pub flags: &'static str,
    /// Seconds on one target that the experiment is to measure for, where it asks; the rest of its time is preparation.
    pub measuring: Option<u64>,
}

/// Its part of the time is kept for cleaning up.
const CLEANING: u32 = 29;

const fn course(experiment: &'static str, seconds: u64, flags: &'static str) -> Course {
    Course {
        experiment,
        time: Duration::from_secs(seconds),
        flags,
        measuring: None,
    }
}

/// Ten minutes. The algorithms are those that stand for the servers of each article, and ours.
const USUAL: [Course; 6] = [
    course("many-tables", 60, "--tables 10000"),
    course(
        "drop-throughput",
        125,
        "--fill 96M,512M,1G,2G --tables 300 --rounds 3 --algorithm full_scan,lazy_mark,cleaner,millpond",
    ),
    Course {
        measuring: Some(100),
        ..course(
            "drop-stall",
            155,
            "--cached 1G --algorithm full_scan,flush_list,lazy_mark,millpond",
        )
    },
    course(
        "rebuild",
        120,
        "--scale 0.5 --keys plain,unique,foreign-key --rounds 3 --before 0.5",
    ),
    course(
        "alter",
        25,
        "--rows 100000 --only FORCE,OPTIMIZE --rounds 3 --before 0.3",
    ),
    course(
        "truncate-scale",
        95,
        "--pools 128M,512M,1G,2G --rounds 5 --algorithm full_scan,flush_list,stale,millpond",
    ),
];

/// A minute: fewer algorithms and less of everything, for it takes rounds to say anything.
const QUICK: [Course; 6] = [
    course("many-tables", 6, "--tables 400"),
    course(
        "drop-throughput",
        13,
        "--fill 96M,256M --tables 30 --rounds 3 --algorithm full_scan,lazy_mark,millpond",
    ),
    Course {
        measuring: Some(15),
        ..course(
            "drop-stall",
            21,
            "--cached 256M --window 0.25 --algorithm full_scan,millpond",
        )
    },
    course(
        "rebuild",
        9,
        "--rows 5000 --keys plain,foreign-key --rounds 3 --threads 2 --before 0.05 --fragment 0",
    ),
    course(
        "alter",
        3,
        "--rows 5000 --only FORCE --rounds 2 --threads 2 --before 0.05",
    ),
    course(
        "truncate-scale",
        6,
        "--pools 64M,256M --tables 50 --rounds 3 --algorithm full_scan,stale,millpond",
    ),
];

/// In the order in which the articles appeared. With another time for each target, in seconds, each has the same part of that.
pub(super) fn courses(quick: bool, time: Option<u64>) -> Vec<Course> {
    let usual = if quick { &QUICK } else { &USUAL };
    let whole = budget(usual, 1).as_secs();
    let part = time.unwrap_or(whole) as f64 / whole as f64;
    let scaled = |course: &Course| Course {
        time: course.time.mul_f64(part),
        // What it asks for is enough: more time is for slow machines.
        measuring: course
            .measuring
            .map(|m| ((m as f64 * part) as u64).clamp(1, m)),
        ..course.clone()
    };
    usual.iter().map(scaled).collect()
}

/// What all measure at most on so many targets.
pub(super) fn time(courses: &[Course], targets: usize) -> Duration {
    courses.iter().map(|c| c.time).sum::<Duration>() * targets as u32
}

/// What all take at most on so many targets: after its time an experiment still ends its step and cleans up.
pub(super) fn budget(courses: &[Course], targets: usize) -> Duration {
    let measuring = time(courses, targets);
    let whole = measuring + measuring / CLEANING;
    Duration::from_secs(whole.as_secs_f64().round() as u64)
}

impl Course {
    /// Its flags on so many targets, without those that say where.
    pub fn flags_on(&self, targets: usize) -> Vec<String> {
        let mut flags: Vec<String> = self.flags.split_whitespace().map(String::from).collect();
        if let Some(seconds) = self.measuring {
            flags.push("--time".into());
            flags.push((seconds * targets as u64).to_string());
        }
        flags
    }

    /// What runs it alone.
    pub fn command(&self, targets: usize) -> String {
        let flags = self.flags_on(targets).join(" ");
        format!("millpond lab {} {flags}", self.experiment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_fit_into_ten_minutes_and_into_one() {
        assert_eq!(budget(&courses(false, None), 1), Duration::from_secs(600));
        assert_eq!(budget(&courses(true, None), 2), Duration::from_secs(120));
        for quick in [false, true] {
            for course in courses(quick, None) {
                assert!(course.measuring.is_none_or(|m| m < course.time.as_secs()));
            }
        }
    }

    #[test]
    fn another_time_is_shared_alike() {
        assert_eq!(
            budget(&courses(true, Some(600)), 1),
            Duration::from_secs(600)
        );
        let stall = |time| courses(true, time).remove(2);
        let of = |time| (stall(time).time.as_millis(), stall(time).measuring);
        assert_eq!(of(None), (21_000, Some(15)));
        assert_eq!(of(Some(600)), (210_000, Some(15)));
        assert_eq!(of(Some(30)), (10_500, Some(7)));
        assert_eq!(budget(&courses(true, Some(77)), 1).as_secs(), 77);
    }
}

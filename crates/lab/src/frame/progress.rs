//! Progress: a bar with the time left on a terminal, a line now and then elsewhere.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Time between two plain lines about the same step.
const PLAIN: Duration = Duration::from_secs(5);

/// How far an experiment has come, in units of its own or, if it has a limit, by the clock. Shared by its threads.
pub struct Progress {
    bar: ProgressBar,
    plain: Option<Mutex<Plain>>,
    clock: Option<Mutex<Clock>>,
}

struct Plain {
    began: Instant,
    told: Instant,
    what: String,
    done: u64,
    all: u64,
}

/// A time that is not exceeded.
struct Clock {
    began: Instant,
    time: Duration,
    /// Which of several experiments runs.
    part: String,
}

impl Clock {
    /// Of the time; what is done early shortens it.
    fn left(&self) -> Duration {
        self.time.saturating_sub(self.began.elapsed())
    }
}

impl Progress {
    /// Of so many units.
    pub fn new(all: u64) -> Progress {
        Progress::shown(all, None, "{bar:30} {percent:>3} %, {eta} left  {wide_msg}")
    }

    /// Of experiments that together take no longer than this; units that they count are not shown.
    pub fn within(time: Duration) -> Progress {
        let clock = Clock {
            began: Instant::now(),
            time,
            part: String::new(),
        };
        let template = "{bar:20} at most {prefix} left  {wide_msg}";
        let progress = Progress::shown(time.as_secs().max(1), Some(clock), template);
        progress.tick();
        progress
    }

    fn shown(all: u64, clock: Option<Clock>, template: &str) -> Progress {
        let clock = clock.map(Mutex::new);
        if !std::io::stderr().is_terminal() {
            let now = Instant::now();
            return Progress {
                bar: ProgressBar::hidden(),
                plain: Some(Mutex::new(Plain {
                    began: now,
                    told: now,
                    what: String::new(),
                    done: 0,
                    all,
                })),
                clock,
            };
        }
        let bar = ProgressBar::new(all);
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(250));
        Progress {
            bar,
            plain: None,
            clock,
        }
    }

    fn clock<T>(&self, of: impl FnOnce(&mut Clock) -> T) -> Option<T> {
        let clock = self.clock.as_ref()?;
        Some(of(&mut clock.lock().unwrap_or_else(|e| e.into_inner())))
    }

    /// One of several experiments begins.
    pub fn part(&self, name: &str) {
        self.clock(|c| c.part = format!("{name}: "));
        self.step("begins");
    }

    /// Shows the time left, if there is a limit: to be called a few times a second.
    pub fn tick(&self) {
        if let Some((left, time)) = self.clock(|c| (c.left(), c.time)) {
            self.bar.set_length(time.as_secs().max(1));
            self.bar.set_position((time - left).as_secs());
            self.bar.set_prefix(minutes(left));
        }
    }

    /// Names the step that begins.
    pub fn step(&self, what: impl Into<String>) {
        let part = self.clock(|c| c.part.clone()).unwrap_or_default();
        let what = format!("{part}{}", what.into());
        match &self.plain {
            None => self.bar.set_message(what),
            Some(plain) => {
                let mut p = plain.lock().unwrap_or_else(|e| e.into_inner());
                if p.what != what {
                    p.what = what;
                    let left = self.left(&p);
                    p.tell(left);
                }
            }
        }
    }

    /// So many more units are done.
    pub fn add(&self, units: u64) {
        match &self.plain {
            None if self.clock.is_none() => self.bar.inc(units),
            None => {}
            Some(plain) => {
                let mut p = plain.lock().unwrap_or_else(|e| e.into_inner());
                p.done += units;
                if p.told.elapsed() >= PLAIN {
                    let left = self.left(&p);
                    p.tell(left);
                }
            }
        }
    }

    /// What a line says about the time left.
    fn left(&self, plain: &Plain) -> String {
        match self.clock(|c| c.left()) {
            Some(time) => format!(" (at most {} left)", minutes(time)),
            None => left(plain.began.elapsed(), plain.done, plain.all),
        }
    }

    /// So many units turn out not to be needed.
    pub fn forgo(&self, units: u64) {
        match &self.plain {
            None if self.clock.is_none() => self.bar.dec_length(units),
            None => {}
            Some(plain) => {
                let mut p = plain.lock().unwrap_or_else(|e| e.into_inner());
                p.all = p.all.saturating_sub(units);
            }
        }
    }

    /// A line that stays.
    pub fn say(&self, line: &str) {
        match &self.plain {
            None => self.bar.suspend(|| eprintln!("{line}")),
            Some(_) => eprintln!("{line}"),
        }
    }

    /// Takes the bar away.
    pub fn end(&self) {
        self.bar.finish_and_clear();
    }
}

impl Plain {
    fn tell(&mut self, left: String) {
        self.told = Instant::now();
        eprintln!("{}{left}", self.what);
    }
}

/// `9:05`, minutes and seconds.
fn minutes(time: Duration) -> String {
    let seconds = time.as_secs();
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

/// What the line says about the whole: nothing while that would be a guess.
fn left(elapsed: Duration, done: u64, all: u64) -> String {
    if done == 0 || all == 0 || elapsed < Duration::from_secs(1) {
        return String::new();
    }
    let share = (done as f64 / all as f64).min(1.0);
    let seconds = elapsed.as_secs_f64() * (1.0 - share) / share;
    format!(" ({:.0} %, about {seconds:.0} s left)", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_left_follows_from_the_share_done() {
        let s = Duration::from_secs;
        assert_eq!(left(s(10), 25, 100), " (25 %, about 30 s left)");
        assert_eq!(left(s(10), 200, 100), " (100 %, about 0 s left)");
        assert_eq!(left(s(10), 0, 100), "");
    }

    #[test]
    fn the_time_left_is_told() {
        let s = Duration::from_secs;
        let progress = Progress::within(s(1000));
        let left = || progress.clock(|c| c.left()).unwrap();
        assert!(left() > s(900));
        let over = Progress::within(Duration::ZERO);
        assert_eq!(over.clock(|c| c.left()), Some(Duration::ZERO));
        assert_eq!([minutes(s(545)), minutes(s(3))], ["9:05", "0:03"]);
    }
}

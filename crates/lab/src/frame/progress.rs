//! Progress: a bar with the time left on a terminal, a line now and then elsewhere.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Time between two plain lines about the same step.
const PLAIN: Duration = Duration::from_secs(5);

/// How far an experiment has come, in units of its own. Shared by its threads.
pub struct Progress {
    bar: ProgressBar,
    plain: Option<Mutex<Plain>>,
}

struct Plain {
    began: Instant,
    told: Instant,
    what: String,
    done: u64,
    all: u64,
}

impl Progress {
    /// Of so many units.
    pub fn new(all: u64) -> Progress {
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
            };
        }
        let bar = ProgressBar::new(all);
        let template = "{bar:30} {percent:>3} %, {eta} left  {wide_msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(250));
        Progress { bar, plain: None }
    }

    /// Names the step that begins.
    pub fn step(&self, what: impl Into<String>) {
        let what = what.into();
        match &self.plain {
            None => self.bar.set_message(what),
            Some(plain) => {
                let mut p = plain.lock().unwrap_or_else(|e| e.into_inner());
                if p.what != what {
                    p.what = what;
                    p.tell();
                }
            }
        }
    }

    /// So many more units are done.
    pub fn add(&self, units: u64) {
        match &self.plain {
            None => self.bar.inc(units),
            Some(plain) => {
                let mut p = plain.lock().unwrap_or_else(|e| e.into_inner());
                p.done += units;
                if p.told.elapsed() >= PLAIN {
                    p.tell();
                }
            }
        }
    }

    /// So many units turn out not to be needed.
    pub fn forgo(&self, units: u64) {
        match &self.plain {
            None => self.bar.dec_length(units),
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
    fn tell(&mut self) {
        self.told = Instant::now();
        let left = left(self.began.elapsed(), self.done, self.all);
        eprintln!("{}{}", self.what, left);
    }
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
}

//! What the server's log says of damage that statements meet: clients get an error, and whoever runs the server should know
//! too. Each page and file once, a full disk now and then: a table that is read all the time is not to fill the log.

use millpond_store::Error;
use parking_lot::Mutex;
use std::collections::HashSet;
use std::time::{Duration, Instant};

/// A full disk is mentioned again after this.
const REMIND: Duration = Duration::from_secs(60);
/// So much damage is remembered; beyond it, what was said before may be said again.
const REMEMBERED: usize = 1000;

#[derive(Default)]
struct Told {
    damage: HashSet<String>,
    full: Option<Instant>,
}

impl Told {
    fn damage_is_new(&mut self, what: &str) -> bool {
        if self.damage.len() >= REMEMBERED {
            self.damage.clear();
        }
        self.damage.insert(what.into())
    }

    fn full_is_due(&mut self, now: Instant) -> bool {
        let due = self.full.is_none_or(|last| now - last >= REMIND);
        if due {
            self.full = Some(now);
        }
        due
    }
}

static TOLD: Mutex<Option<Told>> = Mutex::new(None);

/// Tells the log of an error that a statement on the table (empty: of no one table) has met, if it is of that kind.
pub(super) fn report(e: &Error, table: &str) {
    let new = match e {
        Error::Io { .. } if e.is_full() => with(|told| told.full_is_due(Instant::now())),
        Error::Io { what, .. } | Error::Corrupt(what) => with(|told| told.damage_is_new(what)),
        _ => false,
    };
    match table {
        _ if !new => {}
        "" => tracing::error!("{e}"),
        table => tracing::error!(table, "{e}"),
    }
}

fn with(f: impl FnOnce(&mut Told) -> bool) -> bool {
    f(TOLD.lock().get_or_insert_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use tracing::field::{Field, Visit};
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Level, Metadata, Subscriber};

    /// Keeps what is logged at error level.
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<String>>>);

    impl Subscriber for Lines {
        fn enabled(&self, m: &Metadata<'_>) -> bool {
            *m.level() == Level::ERROR
        }
        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }
        fn record(&self, _: &Id, _: &Record<'_>) {}
        fn record_follows_from(&self, _: &Id, _: &Id) {}
        fn event(&self, event: &Event<'_>) {
            struct Line(String);
            impl Visit for Line {
                fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
                    self.0.push_str(&format!("{field}={value:?} "));
                }
            }
            let mut line = Line(String::new());
            event.record(&mut line);
            self.0.lock().push(line.0);
        }
        fn enter(&self, _: &Id) {}
        fn exit(&self, _: &Id) {}
    }

    #[test]
    fn damage_is_logged_once_and_a_full_disk_now_and_then() {
        let lines = Lines::default();
        tracing::subscriber::with_default(lines.clone(), || {
            let missing = std::io::Error::from(std::io::ErrorKind::NotFound);
            let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
            for _ in 0..3 {
                report(&Error::Corrupt("tables/7, page 3: checksum".into()), "t");
                report(&Error::io("open tables/8", &missing), "u");
                report(&Error::io("grow tables/9", &full), "v");
                report(&Error::Deadlock, "t");
            }
        });
        let lines = lines.0.lock();
        assert_eq!(lines.len(), 3, "{lines:?}");
        for (line, says) in lines.iter().zip(["tables/7", "tables/8", "tables/9"]) {
            assert!(line.contains(says) && line.contains("table="), "{line}");
        }
        let (mut told, now) = (Told::default(), Instant::now());
        let due = [0, 30, 60, 61].map(|s| told.full_is_due(now + Duration::from_secs(s)));
        assert_eq!(due, [true, false, true, false]);
    }
}

//! When drops worked on cached pages, as a target of ours tells it: [`RECORD`] has a row for each DDL statement. Its times count from the statement's own
//! beginning, so that no clock of the target's is held against one of the lab's.

use super::record::{Moment, Recording, Work};
use super::tables::Drops;
use crate::Result;
use crate::frame::DATABASE;
use crate::target::{Client, TextRow};
use std::collections::HashMap;

const RECORD: &str = "information_schema.MILLPOND_DDL_EVENTS";
/// Nanoseconds of its unit.
const MICROSECOND: u64 = 1000;

/// Whether the target tells when a drop works on pages.
pub(super) fn is_there(client: &mut dyn Client) -> bool {
    // Who has no such record, or an earlier one, answers with an error, which says the same.
    let sql = format!("SELECT PAGES_AFTER_US, PAGES_US FROM {RECORD} LIMIT 0");
    client.run(&sql).is_ok()
}

/// Tells a run's drops when they worked; `first` is the number of the first table that it dropped. Of the oldest the target may know no more:
/// these say nothing.
pub(super) fn tell(
    client: &mut dyn Client,
    first: u64,
    recording: &mut Recording,
    drops: impl Fn(&Moment) -> bool,
) -> Result<()> {
    let rows = client.rows(&format!(
        "SELECT TABLE_NAME, PAGES_AFTER_US, PAGES_US FROM {RECORD} \
         WHERE KIND = 'DROP TABLE' AND TABLE_SCHEMA = '{DATABASE}' AND PAGES_US IS NOT NULL"
    ))?;
    let known: HashMap<String, Work> = rows.iter().filter_map(work).collect();
    let dropped = recording.moments.iter_mut().filter(|m| drops(m));
    for (number, moment) in (first..).zip(dropped) {
        moment.work = known.get(&Drops::name(number)).copied();
    }
    Ok(())
}

fn work(row: &TextRow) -> Option<(String, Work)> {
    let [name, after, took] = &row[..] else {
        return None;
    };
    let ns = |text: &Option<String>| Some(text.as_ref()?.parse::<u64>().ok()? * MICROSECOND);
    let work = Work {
        after: ns(after)?,
        took: ns(took)?,
    };
    Some((name.clone()?, work))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::{Embedded, EmbeddedOptions, Target};
    use std::time::Instant;

    #[test]
    fn the_engine_tells_when_drops_worked() {
        let dir = tempfile::tempdir().unwrap();
        let options = EmbeddedOptions {
            pool_bytes: Some(32 << 20),
            ..EmbeddedOptions::default()
        };
        let target = Embedded::create(dir.path(), &options).unwrap();
        let mut client = target.connect().unwrap();
        assert!(is_there(&mut *client));
        let mut run = |sql: &str| client.run(sql).map(drop).unwrap();
        run(&format!("CREATE DATABASE {DATABASE}"));
        run(&format!("USE {DATABASE}"));
        run("SET GLOBAL millpond_drop_algorithm = full_scan");
        let mut recording = Recording::default();
        for number in 7..9 {
            let name = Drops::name(number);
            run(&format!("CREATE TABLE {name} (a INT)"));
            let begun = Instant::now();
            run(&format!("DROP TABLE {name}"));
            let moment = |window, took| Moment {
                window,
                at: 0,
                took,
                work: None,
            };
            // In window 1 nothing is dropped.
            recording
                .moments
                .push(moment(0, begun.elapsed().as_nanos() as u64));
            recording.moments.push(moment(1, 1));
        }
        // One that the target knows nothing of.
        recording.moments.push(recording.moments[0]);
        tell(&mut *client, 7, &mut recording, |m| m.window == 0).unwrap();
        for (i, moment) in recording.moments.iter().enumerate() {
            let fits = moment
                .work
                .map(|w| w.after > 0 && w.took > 0 && w.after + w.took <= moment.took);
            assert_eq!(fits, (i == 0 || i == 2).then_some(true), "{i}: {moment:?}");
        }
    }
}

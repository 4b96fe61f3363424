//! What SHOW PROFILE tells of a statement.

use crate::Result;
use crate::target::{Client, TextRow};
use std::time::Instant;

/// A statement's time and its stages.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// Seconds, as the client saw it.
    pub seconds: f64,
    /// Seconds by name, in the order in which each was first entered; empty where the target has no SHOW PROFILE.
    pub stages: Vec<(String, f64)>,
}

impl Profile {
    /// Seconds of all stages.
    pub fn sum(&self) -> f64 {
        self.stages.iter().map(|s| s.1).sum()
    }

    /// Seconds in a stage.
    pub fn of(&self, stage: &str) -> Option<f64> {
        let found = self.stages.iter().find(|s| s.0 == stage);
        found.map(|s| s.1)
    }

    /// The part of the statement's time that the stages make up, if there are any.
    pub fn covered(&self) -> Option<f64> {
        (!self.stages.is_empty()).then(|| self.sum() / self.seconds)
    }
}

/// Runs a statement; its rows and its profile.
pub fn profiled(client: &mut dyn Client, sql: &str) -> Result<(Vec<TextRow>, Profile)> {
    // A target that refuses this has no profiles.
    let has = client.run("SET profiling = 1").is_ok();
    let begun = Instant::now();
    let done = client.rows(sql);
    let seconds = begun.elapsed().as_secs_f64();
    if !has {
        let stages = Vec::new();
        return Ok((done?, Profile { seconds, stages }));
    }
    let shown = done.and_then(|rows| Ok((rows, client.rows("SHOW PROFILE")?)));
    client.run("SET profiling = 0")?;
    let (rows, shown) = shown?;
    let stages = stages(&shown)?;
    Ok((rows, Profile { seconds, stages }))
}

/// From rows of name and duration; a stage entered several times counts once.
fn stages(rows: &[TextRow]) -> Result<Vec<(String, f64)>> {
    let mut stages: Vec<(String, f64)> = Vec::new();
    for row in rows {
        let [Some(name), Some(took), ..] = &row[..] else {
            return Err(format!("SHOW PROFILE gives {row:?}").into());
        };
        let took: f64 = took
            .parse()
            .map_err(|_| format!("SHOW PROFILE: '{took}' is no time"))?;
        match stages.iter_mut().find(|s| s.0 == *name) {
            Some(known) => known.1 += took,
            None => stages.push((name.clone(), took)),
        }
    }
    Ok(stages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_of_one_name_are_one() {
        let row = |name: &str, took: &str| vec![Some(name.to_string()), Some(took.to_string())];
        let rows = [
            row("starting", "0.000418"),
            row("end", "0.000009"),
            row("copy to tmp table", "31.557635"),
            row("end", "0.000017"),
        ];
        let stages = stages(&rows).unwrap();
        let names: Vec<&str> = stages.iter().map(|s| s.0.as_str()).collect();
        assert_eq!(names, ["starting", "end", "copy to tmp table"]);
        let profile = Profile {
            seconds: 32.0,
            stages,
        };
        assert!((profile.of("end").unwrap() - 0.000026).abs() < 1e-9);
        assert!((profile.sum() - 31.558079).abs() < 1e-9);
        assert!((profile.covered().unwrap() - 0.98619).abs() < 1e-5);
        assert_eq!(profile.of("restoring secondary keys"), None);
        assert!(super::stages(&[row("x", "soon")]).is_err());
    }

    #[test]
    fn no_stages_cover_nothing() {
        assert_eq!(Profile::default().covered(), None);
    }
}

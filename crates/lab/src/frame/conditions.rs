//! What figures depend on: the machine, the disk, each target's version, settings and durability.

use super::{Lease, Machine, Size, sync_cost};
use crate::Result;
use crate::report::{num, seconds};
use crate::target::Target;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Instant;

/// Of one run of an experiment.
pub struct Conditions {
    machine: Machine,
    /// Seconds that one small synced write takes.
    pub sync: f64,
    targets: Vec<TargetFacts>,
}

struct TargetFacts {
    name: String,
    described: String,
    durability: String,
    settings: Vec<(String, String)>,
    round_trip: f64,
}

impl Conditions {
    /// Of this machine, with a disk measured in the directory.
    pub fn gather(dir: &Path) -> Result<Conditions> {
        Ok(Conditions {
            machine: Machine::here(),
            sync: sync_cost(dir)?.as_secs_f64(),
            targets: Vec::new(),
        })
    }

    /// Adds a target as it is now.
    pub fn add(&mut self, target: &dyn Target, lease: &mut Lease<'_>) -> Result<()> {
        self.targets.push(TargetFacts {
            name: target.name(),
            described: target.describe(),
            durability: lease.durability.to_string(),
            settings: lease.settings(),
            round_trip: round_trip(lease)?,
        });
        Ok(())
    }

    /// Processors that the lab may use.
    pub fn cores(&self) -> usize {
        self.machine.cores
    }

    /// Number of targets added.
    pub fn targets(&self) -> usize {
        self.targets.len()
    }

    /// Seconds that the least statement takes on a target, by its number.
    pub fn round_trip(&self, target: usize) -> f64 {
        self.targets[target].round_trip
    }

    /// For people.
    pub fn facts(&self) -> Vec<(String, String)> {
        let m = &self.machine;
        let memory = Size(m.memory);
        let mut facts = vec![
            (
                "Machine".into(),
                format!(
                    "{}, {} cores, {memory}, {}; load average {} when it began",
                    m.cpu,
                    m.cores,
                    m.system,
                    num(m.load)
                ),
            ),
            (
                "Disk".into(),
                format!("{} for a small write and fdatasync", seconds(self.sync)),
            ),
            (
                "Lab".into(),
                format!("Millpond {}", env!("CARGO_PKG_VERSION")),
            ),
        ];
        for t in &self.targets {
            let settings: Vec<String> =
                t.settings.iter().map(|(k, v)| format!("{k}={v}")).collect();
            facts.push((
                t.name.clone(),
                format!(
                    "{}; {}; SELECT 1 in {}; {}",
                    t.described,
                    t.durability,
                    seconds(t.round_trip),
                    settings.join(", ")
                ),
            ));
        }
        facts
    }

    /// For programs.
    pub fn json(&self) -> Value {
        let m = &self.machine;
        let targets: Vec<Value> = self
            .targets
            .iter()
            .map(|t| {
                let settings: serde_json::Map<String, Value> = t
                    .settings
                    .iter()
                    .map(|(k, v)| (k.clone(), v.clone().into()))
                    .collect();
                json!({
                    "name": t.name,
                    "target": t.described,
                    "durability": t.durability,
                    "round_trip_seconds": t.round_trip,
                    "settings": settings,
                })
            })
            .collect();
        json!({
            "cpu": m.cpu,
            "cores": m.cores,
            "memory_bytes": m.memory,
            "system": m.system,
            "load_average": m.load,
            "fdatasync_seconds": self.sync,
            "targets": targets,
        })
    }
}

/// The median of some.
fn round_trip(lease: &mut Lease<'_>) -> Result<f64> {
    let mut times = Vec::new();
    for _ in 0..200 {
        let start = Instant::now();
        lease.client.run("SELECT 1")?;
        times.push(start.elapsed().as_secs_f64());
    }
    Ok(crate::stats::median(&times).unwrap_or(0.0))
}

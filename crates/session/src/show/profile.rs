//! SHOW PROFILES, SHOW PROFILE and information_schema.PROFILING.

use std::time::Duration;

use super::table::{Columns, Ty, Virtual, n, s};
use millpond_sql::env::{Profile, Stage};
use millpond_sql::parse::ast::ProfileType;
use millpond_sql::value::{Decimal, Value};

const IS: &str = "information_schema";

/// Columns of a stage beyond its name and duration, with the type of profile that shows each.
const DETAILS: &[(ProfileType, &str, &str, Ty)] = &[
    (ProfileType::Cpu, "CPU_user", "CPU_USER", SECONDS),
    (ProfileType::Cpu, "CPU_system", "CPU_SYSTEM", SECONDS),
    (
        ProfileType::ContextSwitches,
        "Context_voluntary",
        "CONTEXT_VOLUNTARY",
        Ty::NullNum,
    ),
    (
        ProfileType::ContextSwitches,
        "Context_involuntary",
        "CONTEXT_INVOLUNTARY",
        Ty::NullNum,
    ),
    (
        ProfileType::BlockIo,
        "Block_ops_in",
        "BLOCK_OPS_IN",
        Ty::NullNum,
    ),
    (
        ProfileType::BlockIo,
        "Block_ops_out",
        "BLOCK_OPS_OUT",
        Ty::NullNum,
    ),
    (
        ProfileType::Ipc,
        "Messages_sent",
        "MESSAGES_SENT",
        Ty::NullNum,
    ),
    (
        ProfileType::Ipc,
        "Messages_received",
        "MESSAGES_RECEIVED",
        Ty::NullNum,
    ),
    (
        ProfileType::PageFaults,
        "Page_faults_major",
        "PAGE_FAULTS_MAJOR",
        Ty::NullNum,
    ),
    (
        ProfileType::PageFaults,
        "Page_faults_minor",
        "PAGE_FAULTS_MINOR",
        Ty::NullNum,
    ),
    (ProfileType::Swaps, "Swaps", "SWAPS", Ty::NullNum),
    (
        ProfileType::Source,
        "Source_function",
        "SOURCE_FUNCTION",
        Ty::NullStr(30),
    ),
    (
        ProfileType::Source,
        "Source_file",
        "SOURCE_FILE",
        Ty::NullStr(64),
    ),
    (
        ProfileType::Source,
        "Source_line",
        "SOURCE_LINE",
        Ty::NullNum,
    ),
];
const SECONDS: Ty = Ty::NullDecimal(9, 6);

pub(super) fn tables(database: &str) -> Vec<Virtual> {
    match database {
        IS => vec![profiling()],
        _ => Vec::new(),
    }
}

/// Seconds, to the microsecond.
fn seconds(d: Duration) -> Value<'static> {
    let text = format!("{}.{:06}", d.as_secs(), d.subsec_micros());
    Value::Decimal(Decimal::parse_prefix(text.as_bytes()).value)
}

/// A stage's details, in the order of [`DETAILS`].
fn details(stage: &Stage) -> [Value<'static>; 14] {
    let u = &stage.usage;
    [
        seconds(u.user),
        seconds(u.system),
        n(u.voluntary_switches),
        n(u.involuntary_switches),
        n(u.blocks_in),
        n(u.blocks_out),
        // The system counts none.
        n(0u64),
        n(0u64),
        n(u.major_faults),
        n(u.minor_faults),
        n(u.swaps),
        Value::Null,
        s(stage.source.0),
        n(stage.source.1),
    ]
}

fn profiling() -> Virtual {
    let mut columns = vec![
        ("QUERY_ID", Ty::Num),
        ("SEQ", Ty::Num),
        ("STATE", Ty::Str(30)),
        ("DURATION", Ty::Decimal(9, 6)),
    ];
    columns.extend(DETAILS.iter().map(|(_, _, name, ty)| (*name, *ty)));
    Virtual::new(IS, "PROFILING", &columns, |cx, emit| {
        for p in cx.env.profiles.all() {
            for (seq, stage) in p.stages.iter().enumerate() {
                let mut row = vec![
                    n(p.id),
                    n(seq as u64 + 1),
                    s(stage.name),
                    seconds(stage.duration),
                ];
                row.extend(details(stage));
                emit(&row)?;
            }
        }
        Ok(())
    })
}

/// SHOW PROFILES.
pub(super) fn list() -> Virtual {
    const COLUMNS: Columns = &[
        ("Query_ID", Ty::Num),
        ("Duration", Ty::Double),
        ("Query", Ty::Str(300)),
    ];
    Virtual::new(IS, "SHOW_PROFILES", COLUMNS, |cx, emit| {
        for p in cx.env.profiles.all() {
            let duration = Value::Double(p.duration().as_nanos() as f64 / 1e9);
            emit(&[n(p.id), duration, s(p.text.clone())])?;
        }
        Ok(())
    })
}

/// SHOW PROFILE: of the query, or of the last one; the rows from `offset` on, up to `limit`.
pub(super) fn one(
    types: &[ProfileType],
    query: Option<u64>,
    (limit, offset): (Option<u64>, u64),
) -> Virtual {
    let shown = |t: ProfileType| types.contains(&ProfileType::All) || types.contains(&t);
    let chosen: Vec<usize> = (0..DETAILS.len())
        .filter(|&at| shown(DETAILS[at].0))
        .collect();
    let mut columns = vec![("Status", Ty::Str(30)), ("Duration", Ty::Decimal(9, 6))];
    columns.extend(chosen.iter().map(|&at| (DETAILS[at].1, DETAILS[at].3)));
    Virtual::new(IS, "SHOW_PROFILE", &columns, move |cx, emit| {
        let all = cx.env.profiles.all();
        let asked: Option<&Profile> = match query {
            Some(id) => all.iter().find(|p| p.id == id),
            None => all.last(),
        };
        let stages = asked.map_or(&[][..], |p| &p.stages);
        let limit = limit.map_or(usize::MAX, |l| l as usize);
        for stage in stages.iter().skip(offset as usize).take(limit) {
            let mut row = vec![s(stage.name), seconds(stage.duration)];
            let all = details(stage);
            row.extend(chosen.iter().map(|&at| all[at].clone()));
            emit(&row)?;
        }
        Ok(())
    })
}

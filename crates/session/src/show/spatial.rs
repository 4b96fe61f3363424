//! Spatial columns, reference systems and units as tables.

use super::schema::{Met, Only, each_table};
use super::table::{Columns, Ty, Virtual, n, opt, s};
use crate::accounts::privileges::TABLE;
use millpond_sql::types::Visibility;
use millpond_sql::value::Value;
use millpond_sql::value::geometry::Srs;
use millpond_sql::value::geometry::srs::UNITS;

const IS: &str = "information_schema";

pub(super) fn tables(database: &str) -> Vec<Virtual> {
    if database != IS {
        return Vec::new();
    }
    vec![geometry_columns(), reference_systems(), units()]
}

fn geometry_columns() -> Virtual {
    const COLUMNS: Columns = &[
        ("TABLE_CATALOG", Ty::Str(64)),
        ("TABLE_SCHEMA", Ty::Str(64)),
        ("TABLE_NAME", Ty::Str(64)),
        ("COLUMN_NAME", Ty::Str(64)),
        ("SRS_NAME", Ty::NullStr(80)),
        ("SRS_ID", Ty::NullNum),
        ("GEOMETRY_TYPE_NAME", Ty::Text),
    ];
    Virtual::new(IS, "ST_GEOMETRY_COLUMNS", COLUMNS, |cx, emit| {
        let only = &Only::default().narrowed(cx, 1, 2);
        each_table(&cx.facts.instance, only, |database, met| {
            let Met::Stored(def, schema) = met else {
                return Ok(());
            };
            for c in &schema.columns {
                let seen = only.on_column(database, &def.name, &c.name) & TABLE != 0;
                if !seen || !c.ty.is_geometry() || c.visibility == Visibility::Hidden {
                    continue;
                }
                emit(&[
                    s("def"),
                    s(database),
                    s(&*def.name),
                    s(&*c.name),
                    opt(c.ty.srid.and_then(Srs::of).map(|srs| srs.name)),
                    c.ty.srid.map_or(Value::Null, n),
                    s(c.ty.data_type()),
                ])?;
            }
            Ok(())
        })
    })
}

fn reference_systems() -> Virtual {
    const COLUMNS: Columns = &[
        ("SRS_NAME", Ty::Str(80)),
        ("SRS_ID", Ty::Num),
        ("ORGANIZATION", Ty::NullStr(256)),
        ("ORGANIZATION_COORDSYS_ID", Ty::NullNum),
        ("DEFINITION", Ty::Text),
        ("DESCRIPTION", Ty::NullText),
    ];
    Virtual::new(IS, "ST_SPATIAL_REFERENCE_SYSTEMS", COLUMNS, |_, emit| {
        for srs in Srs::all() {
            emit(&[
                s(srs.name),
                n(srs.id),
                opt(srs.organization.map(|o| o.0)),
                srs.organization.map_or(Value::Null, |o| n(o.1)),
                s(srs.definition),
                Value::Null,
            ])?;
        }
        Ok(())
    })
}

fn units() -> Virtual {
    const COLUMNS: Columns = &[
        ("UNIT_NAME", Ty::NullStr(255)),
        ("UNIT_TYPE", Ty::NullStr(7)),
        ("CONVERSION_FACTOR", Ty::Double),
        ("DESCRIPTION", Ty::NullStr(255)),
    ];
    Virtual::new(IS, "ST_UNITS_OF_MEASURE", COLUMNS, |_, emit| {
        for (name, metres) in UNITS {
            emit(&[s(*name), s("LINEAR"), Value::Double(*metres), s("")])?;
        }
        Ok(())
    })
}

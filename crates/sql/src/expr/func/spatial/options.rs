//! The last argument of what reads and writes WKT and WKB: `axis-order=long-lat`.

use super::{Call, Exit};
use crate::error::SqlError;
use crate::value::geometry::Srs;

/// Which coordinate comes first in texts and WKB of geographic systems.
#[derive(Clone, Copy, PartialEq)]
enum AxisOrder {
    /// As the system defines it: latitude.
    OfSrs,
    LongLat,
    LatLong,
}

impl Call<'_, '_> {
    fn bad_option(&self, code: u16, message: String) -> Exit {
        SqlError::new(code, format!("{message} function {}.", self.name())).into()
    }
    /// Whether texts have latitudes first, as argument `i` says if it is there. Errors 3558 to 3564.
    pub(super) fn swaps(&self, i: usize, srs: &Srs) -> Result<bool, Exit> {
        let order = match i < self.len() {
            true => self.axis_order(i)?,
            false => AxisOrder::OfSrs,
        };
        Ok(srs.is_geographic() && order != AxisOrder::LongLat)
    }
    /// Error 3561, 3562 or 3563 for separators where nothing is to be separated.
    fn check_separators(&self, text: &str) -> Result<(), Exit> {
        let refused = |code, how: String| {
            let m = format!("The options argument in function {} {how}.", self.name());
            Err(SqlError::new(code, m).into())
        };
        let separator = |c: &char| matches!(c, '=' | ',');
        if let Some(c) = text.chars().next().filter(separator) {
            return refused(3561, format!("starts with the invalid character '{c}'"));
        }
        if let Some(c) = text.chars().next_back().filter(separator) {
            return refused(3562, format!("ends with the invalid character '{c}'"));
        }
        for twice in ["==", ",,"] {
            if text.contains(twice) {
                return refused(
                    3563,
                    format!("contains the invalid character sequence '{twice}'"),
                );
            }
        }
        Ok(())
    }
    fn axis_order(&self, i: usize) -> Result<AxisOrder, Exit> {
        let text = self.text(i)?;
        let text = String::from_utf8_lossy(&text).to_ascii_lowercase();
        let text = text.trim_matches(' ');
        let mut order = None;
        if text.is_empty() {
            return Ok(AxisOrder::OfSrs);
        }
        self.check_separators(text)?;
        for pair in text.split(',') {
            let Some((key, value)) = pair.split_once('=').filter(|(_, v)| !v.contains('=')) else {
                let m = format!("The string '{pair}' is not a valid key = value pair in");
                return Err(self.bad_option(3560, m));
            };
            let (key, value) = (key.trim_matches(' '), value.trim_matches(' '));
            if key != "axis-order" {
                let m = format!("Invalid option key '{key}' in");
                return Err(self.bad_option(3558, m));
            }
            if order.is_some() {
                // So MySQL spells it.
                let m = format!("Duplicate option key '{key}' in funtion '{}'.", self.name());
                return Err(SqlError::new(3564, m).into());
            }
            order = Some(match value {
                "srid-defined" => AxisOrder::OfSrs,
                "long-lat" => AxisOrder::LongLat,
                "lat-long" => AxisOrder::LatLong,
                _ => {
                    let name = self.name();
                    let m =
                        format!("Invalid value '{value}' for option '{key}' in function '{name}'.");
                    return Err(SqlError::new(3559, m).into());
                }
            });
        }
        Ok(order.unwrap_or(AxisOrder::OfSrs))
    }
}

//! LOAD DATA: the rows of a file, one after the other, on their way to the row writer.

use std::io;

use super::bulk::Filler;
use super::dml::DmlOptions;
use super::insert::{Insertion, subquery_source};
use super::state::{Rows, State};
use crate::env::overdue;
use crate::error::{SqlError, SqlResult};
use crate::expr::RowRef;
use crate::files::access::{self, read_error};
use crate::files::read::{self, Row, Source};
use crate::files::{self, Format};
use crate::logical::LoadTarget;
use crate::plan::dml::{Given, LoadFile};
use crate::result::{ResultSink, local_disabled};
use crate::store_error::interrupted;
use crate::types::{Encoding, Schema};
use crate::value::{Value, printable};
use crate::write::NewRow;

/// Bytes that a row of a file is taken to have, before any was read.
const ROW_BYTES: f64 = 100.0;

/// Loads a file.
pub(super) fn run<'s>(
    insertion: &mut Insertion<'s>,
    st: &mut State<'s>,
    file: &'s LoadFile,
    dml: &DmlOptions<'s>,
    sink: &mut dyn ResultSink,
) -> SqlResult<()> {
    let env = st.env;
    file.format.warn(env);
    let charset = match &file.charset {
        Some(name) => name.to_ascii_lowercase(),
        None => {
            let name = (env.sys_var)("", "character_set_database")?;
            String::from_utf8_lossy(&name.to_text()).into_owned()
        }
    };
    let encoding = files::encoding(&charset)?;
    let utf8 = charset.starts_with("utf8");
    let most = (env.sys_var)("", "max_allowed_packet")?.to_u64();
    let owner = st.owner;
    let check = Box::new(move || {
        if owner.is_killed() {
            return Err(interrupted());
        }
        if env.is_overdue() {
            return Err(overdue());
        }
        Ok(())
    });
    let source = if file.local {
        if (env.sys_var)("global", "local_infile")?.to_i64() == 0 {
            return Err(local_disabled());
        }
        Source::new(sink.client_file(&file.name)?, check, Box::new(lost_client))
    } else {
        let from = access::open(env, &file.name)?;
        let failed = |e: &io::Error| read_error(&file.name, e);
        let bytes = from.metadata().map_err(|e| failed(&e))?.len();
        let rows = bytes as f64 / ROW_BYTES;
        insertion.filler = Filler::begin(st, insertion.plan, dml, rows)?;
        Source::new(Box::new(from), check, Box::new(failed))
    };
    let widths = widths(&file.format, &file.targets, &insertion.t.schema);
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let mut rows = read::Rows::new(source, &file.format, widths, most);
    rows.skip_lines(file.skip, file.targets.len())?;
    let mut row = Row::default();
    while rows.next(file.targets.len(), &mut row)? {
        st.tick_bytes(row.bytes())?;
        if utf8 {
            let mut fields = row.fields().flatten();
            fields.try_for_each(|field| begins_characters(field, &charset))?;
        }
        insertion.loaded(st, file, &row, encoding)?;
    }
    Ok(())
}

/// How many bytes each field takes where nothing parts them.
fn widths(format: &Format, targets: &[LoadTarget], schema: &Schema) -> Vec<usize> {
    if !format.is_unparted() {
        return Vec::new();
    }
    let width = |t: &LoadTarget| match t {
        LoadTarget::Column(c) => schema.columns[*c].ty.own_length() as usize,
        LoadTarget::Variable(_) => 0,
    };
    targets.iter().map(width).collect()
}

/// Error 1300 for a byte of a file in UTF-8 that no character begins with, whatever the column is, as MySQL reads files character by character.
fn begins_characters(field: &[u8], charset: &str) -> SqlResult<()> {
    let mut at = 0;
    while let Err(e) = std::str::from_utf8(&field[at..]) {
        at += e.valid_up_to();
        if !matches!(field[at], 0xc2..=0xf7) {
            let before = printable(&field[..at]);
            let m = format!("Invalid {charset} character string: '{before}'");
            return Err(SqlError::new(1300, m));
        }
        at += 1;
    }
    Ok(())
}

/// Error 1158: the client that sends a file has gone, or says something else.
fn lost_client(e: &io::Error) -> SqlError {
    SqlError::new(
        1158,
        format!("Got an error reading communication packets: {e}"),
    )
}

/// A field as a value: a text, of a column that is for bytes the bytes themselves.
fn value(field: &[u8], encoding: Encoding, binary: bool) -> Value<'_> {
    if encoding == Encoding::Utf8 || binary {
        return Value::Bytes(field.into());
    }
    let mut text = String::with_capacity(field.len());
    encoding.decode(field, &mut text);
    Value::string(text)
}

impl<'s> Insertion<'s> {
    /// A row of the file.
    fn loaded(
        &mut self,
        st: &mut State<'s>,
        file: &'s LoadFile,
        row: &Row,
        encoding: Encoding,
    ) -> SqlResult<()> {
        let env = st.env;
        let mut new = NewRow::default();
        self.writer.begin(env, !file.set.is_empty(), &mut new);
        let mut fields = row.fields();
        for target in &file.targets {
            let field = fields.next();
            match target {
                LoadTarget::Column(c) => {
                    let binary = !self.t.schema.columns[*c].ty.is_character();
                    match field {
                        None => {
                            let fixed = file.format.is_unparted();
                            self.writer.set_missing(env, &mut new, *c, fixed)?;
                        }
                        Some(None) => self.writer.set_loaded_null(env, &mut new, *c)?,
                        Some(Some(bytes)) => {
                            let v = value(bytes, encoding, binary);
                            self.writer.set(env, &mut new, *c, v)?;
                        }
                    }
                }
                LoadTarget::Variable(name) => {
                    let v = field.flatten().map(|bytes| value(bytes, encoding, false));
                    let v = v.map_or(Value::Null, Value::into_owned);
                    env.set_user_var(name, v)?;
                }
            }
        }
        if !file.set.is_empty() {
            self.set(st, file, &mut new)?;
        }
        self.writer.complete(env, &mut new, &self.plan.others)?;
        self.put(st, &mut new, &[])?;
        if row.more {
            let m = format!(
                "Row {} was truncated; it contained more data than there were input columns",
                self.writer.row()
            );
            self.writer.conversion(env).raise(1262, m)?;
        }
        Ok(())
    }

    /// SET, of a row that has what the file gives it.
    fn set(
        &mut self,
        st: &mut State<'s>,
        file: &'s LoadFile,
        new: &mut NewRow<'_>,
    ) -> SqlResult<()> {
        let plan = self.plan;
        let source = subquery_source(plan);
        if !plan.subqueries.is_empty() {
            // They may read what has been loaded into variables.
            st.forget_kept();
            let mut rows: Rows<'_> = std::iter::repeat_n(RowRef::Nulls, source + 1).collect();
            rows[0] = RowRef::Values(new.values());
            let all: Vec<usize> = (0..plan.subqueries.len()).collect();
            self.subqueries = st.subquery_values(&plan.subqueries, source, &all, &rows)?;
        }
        for (c, given) in &file.set {
            let Given::Value { value, .. } = given else {
                self.writer.set_default(st.env, new, *c)?;
                continue;
            };
            let v = {
                let mut rows: Rows<'_> = std::iter::repeat_n(RowRef::Nulls, source + 1).collect();
                rows[0] = RowRef::Values(new.values());
                rows[source] = RowRef::Values(&self.subqueries);
                value.expr.eval(&st.context(&rows))?.into_owned()
            };
            self.writer.set(st.env, new, *c, v)?;
        }
        Ok(())
    }
}

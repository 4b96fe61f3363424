//! Results as people or programs read them: tables and vertical rows as MySQL's own client prints them, or lines with tabs.

use millpond_session::result::ColumnMeta;
use millpond_session::types::SqlType;
use millpond_session::value::write_text;
use millpond_session::{Completion, ResultSink, Value};
use std::io::{self, Write};
use std::time::Instant;
use unicode_width::UnicodeWidthStr;

/// How rows are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Boxes.
    Table,
    /// A line per value.
    Vertical,
    /// A line per row, values between tabs.
    Tabs,
}

/// Prints results to `out`. Keeps a table's rows until it knows its columns' widths; prints the other layouts at once.
pub struct Printer<'a> {
    out: &'a mut dyn Write,
    layout: Layout,
    columns: Vec<(String, SqlType)>,
    rows: Vec<Vec<Option<String>>>,
    row_count: usize,
    in_result: bool,
    since: Instant,
}

impl<'a> Printer<'a> {
    /// A printer for one text of statements that starts to run now.
    pub fn new(out: &'a mut dyn Write, layout: Layout) -> Printer<'a> {
        Printer {
            out,
            layout,
            columns: Vec::new(),
            rows: Vec::new(),
            row_count: 0,
            in_result: false,
            since: Instant::now(),
        }
    }

    fn print_table(&mut self) -> io::Result<()> {
        let shown = |v: &Option<String>| v.as_deref().map_or(4, UnicodeWidthStr::width);
        let mut widths: Vec<usize> = self.columns.iter().map(|c| c.0.width()).collect();
        for row in &self.rows {
            for (w, v) in widths.iter_mut().zip(row) {
                *w = (*w).max(shown(v));
            }
        }
        let ruler: String = widths.iter().map(|w| "-".repeat(w + 2) + "+").collect();
        writeln!(self.out, "+{ruler}")?;
        write!(self.out, "|")?;
        for ((name, _), w) in self.columns.iter().zip(&widths) {
            write!(self.out, " {name}{} |", " ".repeat(w - name.width()))?;
        }
        writeln!(self.out, "\n+{ruler}")?;
        for row in &self.rows {
            write!(self.out, "|")?;
            for ((v, (_, ty)), w) in row.iter().zip(&self.columns).zip(&widths) {
                let text = v.as_deref().unwrap_or("NULL");
                let pad = " ".repeat(w - shown(v));
                if ty.is_numeric() {
                    write!(self.out, " {pad}{text} |")?;
                } else {
                    write!(self.out, " {text}{pad} |")?;
                }
            }
            writeln!(self.out)?;
        }
        writeln!(self.out, "+{ruler}")
    }

    fn print_vertical(&mut self, row: &[Option<String>]) -> io::Result<()> {
        let stars = "*".repeat(27);
        writeln!(self.out, "{stars} {}. row {stars}", self.row_count)?;
        let width = self.columns.iter().map(|c| c.0.width()).max().unwrap_or(0);
        for ((name, _), v) in self.columns.iter().zip(row) {
            let pad = " ".repeat(width - name.width());
            let text = v.as_deref().unwrap_or("NULL");
            writeln!(self.out, "{pad}{name}: {text}")?;
        }
        Ok(())
    }

    fn print_tabs(&mut self, row: &[Option<String>]) -> io::Result<()> {
        for (i, v) in row.iter().enumerate() {
            if i > 0 {
                write!(self.out, "\t")?;
            }
            match v {
                None => write!(self.out, "NULL")?,
                Some(text) => self.out.write_all(escape(text).as_bytes())?,
            }
        }
        writeln!(self.out)
    }
}

/// A value on one line, as MySQL's client writes it in batches.
fn escape(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('\n', "\\n")
        .replace('\t', "\\t")
        .replace('\0', "\\0")
}

/// `1 row`, `2 rows`.
fn rows(n: u64) -> String {
    format!("{n} row{}", if n == 1 { "" } else { "s" })
}

impl ResultSink for Printer<'_> {
    fn columns(&mut self, columns: &[ColumnMeta]) -> io::Result<()> {
        self.columns = columns
            .iter()
            .map(|c| (c.name.clone(), c.ty.clone()))
            .collect();
        self.rows.clear();
        self.row_count = 0;
        self.in_result = true;
        if self.layout == Layout::Tabs {
            let names: Vec<Option<String>> =
                self.columns.iter().map(|c| Some(c.0.clone())).collect();
            self.print_tabs(&names)?;
        }
        Ok(())
    }

    fn row(&mut self, row: &[Value<'_>]) -> io::Result<()> {
        let mut bytes = Vec::new();
        let texts = row.iter().zip(&self.columns).map(|(v, (_, ty))| {
            if v.is_null() {
                return None;
            }
            bytes.clear();
            write_text(v, ty, &mut bytes);
            Some(String::from_utf8_lossy(&bytes).into_owned())
        });
        let texts: Vec<Option<String>> = texts.collect();
        self.row_count += 1;
        match self.layout {
            Layout::Table => self.rows.push(texts),
            Layout::Vertical => self.print_vertical(&texts)?,
            Layout::Tabs => self.print_tabs(&texts)?,
        }
        Ok(())
    }

    fn finish(&mut self, done: &Completion) -> io::Result<()> {
        let seconds = self.since.elapsed().as_secs_f64();
        let in_result = std::mem::take(&mut self.in_result);
        if self.layout == Layout::Tabs {
            self.since = Instant::now();
            return Ok(());
        }
        let warnings = match done.warnings {
            0 => String::new(),
            1 => ", 1 warning".to_string(),
            n => format!(", {n} warnings"),
        };
        if !in_result {
            let affected = rows(done.affected);
            writeln!(
                self.out,
                "Query OK, {affected} affected{warnings} ({seconds:.2} sec)"
            )?;
            if !done.info.is_empty() {
                writeln!(self.out, "{}", done.info)?;
            }
        } else if self.row_count == 0 {
            writeln!(self.out, "Empty set{warnings} ({seconds:.2} sec)")?;
        } else {
            if self.layout == Layout::Table {
                self.print_table()?;
            }
            let n = rows(self.row_count as u64);
            writeln!(self.out, "{n} in set{warnings} ({seconds:.2} sec)")?;
        }
        writeln!(self.out)?;
        self.rows = Vec::new();
        self.since = Instant::now();
        Ok(())
    }
}

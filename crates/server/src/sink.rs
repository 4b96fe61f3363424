//! Results on their way to the client: a [`ResultSink`] that encodes each row as it comes.

use crate::client_file::Incoming;
use crate::proto::{binary, capability, lenenc, response, status, text};
use crate::wire::PacketWriter;
use millpond_session::result::{ColumnMeta, local_disabled};
use millpond_session::types::{Encoding, Encodings, SqlType, Wire};
use millpond_session::{Completion, KeptRows, ResultSink, SqlError, SqlResult, Value};
use std::io;

/// What encoding rows needs to know of their columns; kept between results so that its memory is reused. A prepared
/// statement has one of its own, whose encoded definitions serve every execution.
#[derive(Default)]
pub struct Shape {
    types: Vec<SqlType>,
    wire: Vec<Wire>,
    key: Key,
    /// The column count packet and the definitions, with sequence ids from 1.
    encoded: Vec<u8>,
}

/// Address and number of the columns that are described, and for whom.
type Key = (usize, usize, Encoding);

impl Shape {
    fn set(&mut self, columns: &[ColumnMeta]) {
        self.types.clear();
        self.wire.clear();
        for c in columns {
            self.wire.push(c.ty.base.facts().wire);
            self.types.push(c.ty.clone());
        }
    }
}

/// Which rows the command asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// COM_QUERY.
    Text,
    /// COM_STMT_EXECUTE.
    Binary,
}

/// Encodes one command's results.
pub struct WireSink<'a> {
    out: &'a mut PacketWriter,
    shape: &'a mut Shape,
    format: Format,
    deprecate_eof: bool,
    /// Status flags of the last result, for the EOF after column definitions.
    status: u16,
    /// What the client wants, which a SET on the way may change.
    encodings: &'a Encodings,
    /// Of the result at hand.
    encoding: Encoding,
    /// Whether some of its texts may have to be converted.
    converts: bool,
    /// Columns whose address identifies them for as long as this sink lives: a prepared statement's.
    lasting: Option<&'a [ColumnMeta]>,
    /// Where the client's files come from, if the command may ask for such.
    incoming: Option<&'a mut Incoming>,
    in_rows: bool,
    /// For a cursor: where its rows go.
    kept: Option<Kept<'a>>,
}

/// The rows of a cursor. Its columns are told once all of them are there.
struct Kept<'a> {
    rows: &'a mut KeptRows,
    columns: Vec<ColumnMeta>,
    record: Vec<u8>,
    /// Why a row could not be kept.
    error: Option<SqlError>,
}

impl<'a> WireSink<'a> {
    /// A sink for one command of a client with these capabilities.
    pub fn new(
        out: &'a mut PacketWriter,
        shape: &'a mut Shape,
        format: Format,
        capabilities: u32,
        status: u16,
        encodings: &'a Encodings,
        lasting: Option<&'a [ColumnMeta]>,
    ) -> WireSink<'a> {
        WireSink {
            out,
            shape,
            format,
            deprecate_eof: capabilities & capability::DEPRECATE_EOF != 0,
            status,
            encodings,
            encoding: Encoding::Utf8,
            converts: false,
            lasting,
            incoming: None,
            in_rows: false,
            kept: None,
        }
    }

    /// The same, for rows that are to be fetched later.
    pub fn keeping(self, rows: Option<&'a mut KeptRows>) -> WireSink<'a> {
        let kept = rows.map(|rows| Kept {
            rows,
            columns: Vec::new(),
            record: Vec::new(),
            error: None,
        });
        WireSink { kept, ..self }
    }

    /// Why a row could not be kept, if that is what ended the statement.
    pub fn take_error(&mut self) -> Option<SqlError> {
        self.kept.as_mut()?.error.take()
    }

    /// The same, for a command that may ask for the client's files.
    pub fn asking(self, incoming: &'a mut Incoming) -> WireSink<'a> {
        WireSink {
            incoming: Some(incoming),
            ..self
        }
    }

    /// Appends the column count and definitions, from the shape's copy if it has them.
    fn definitions(&mut self, columns: &[ColumnMeta]) {
        /// More definitions than this are not worth keeping, and would wrap the sequence id.
        const MOST_KEPT: usize = 100;
        let encoding = self.encoding;
        let key = (columns.as_ptr() as usize, columns.len(), encoding);
        let lasting = self.out.sequence() == 1
            && columns.len() <= MOST_KEPT
            && self.lasting.is_some_and(|l| std::ptr::eq(l, columns));
        if lasting && self.shape.key == key {
            return self
                .out
                .ready_made(&self.shape.encoded, columns.len() as u8 + 1);
        }
        self.shape.set(columns);
        let start = self.out.position();
        self.out
            .packet(|p| lenenc::put_lenenc(p, columns.len() as u64));
        for c in columns {
            self.out.packet(|p| response::column(p, c, encoding));
        }
        self.shape.key = Key::default();
        if lasting {
            self.shape.encoded.clear();
            self.shape
                .encoded
                .extend_from_slice(&self.out.unsent()[start..]);
            self.shape.key = key;
        }
    }
}

impl WireSink<'_> {
    #[inline]
    fn plain_row(&mut self, row: &[Value<'_>]) -> io::Result<()> {
        let Shape { types, wire, .. } = &*self.shape;
        if let Some(kept) = &mut self.kept {
            kept.record.clear();
            binary::row(&mut kept.record, types, wire, row);
            return kept.rows.push(&kept.record).map_err(|e| {
                kept.error = Some(e);
                io::ErrorKind::Other.into()
            });
        }
        match self.format {
            Format::Text => self.out.packet(|p| text::row(p, types, row)),
            Format::Binary => self.out.packet(|p| binary::row(p, types, wire, row)),
        }
        self.out.flush_if_due()
    }

    /// A row whose texts are converted first.
    #[cold]
    fn encoded_row(&mut self, row: &[Value<'_>]) -> io::Result<()> {
        let types = &self.shape.types;
        let each = row.iter().zip(types).map(|(v, ty)| match v {
            Value::Bytes(text) if response::is_text(ty) => {
                let encoding = match self.encoding {
                    Encoding::Own => ty.collation.character_set().encoding(),
                    other => other,
                };
                Value::Bytes(encoding.encoded(text))
            }
            Value::Json(j) => {
                let mut out = Vec::new();
                self.encoding.encode(&j.to_text(), &mut out);
                Value::Bytes(out.into())
            }
            other => other.borrowed(),
        });
        let row: Vec<Value<'_>> = each.collect();
        self.plain_row(&row)
    }
}

impl ResultSink for WireSink<'_> {
    fn out_parameters(&mut self) {
        self.status |= status::OUT_PARAMETERS | status::MORE_RESULTS;
    }

    fn columns(&mut self, columns: &[ColumnMeta]) -> io::Result<()> {
        self.encoding = self.encodings.results();
        let own_utf8 = |c: &ColumnMeta| c.ty.collation.character_set().encoding().is_utf8();
        self.converts = match self.encoding {
            Encoding::Utf8 => false,
            Encoding::Own => !columns.iter().all(own_utf8),
            _ => true,
        };
        if let Some(kept) = &mut self.kept {
            kept.columns = columns.to_vec();
            self.shape.set(columns);
            self.shape.key = Key::default();
            self.in_rows = true;
            return Ok(());
        }
        self.definitions(columns);
        if !self.deprecate_eof {
            let status = self.status;
            self.out.packet(|p| response::eof(p, 0, status));
        }
        self.in_rows = true;
        self.out.flush_if_due()
    }

    #[inline]
    fn row(&mut self, row: &[Value<'_>]) -> io::Result<()> {
        if self.converts {
            return self.encoded_row(row);
        }
        self.plain_row(row)
    }

    fn client_file(&mut self, name: &str) -> SqlResult<Box<dyn io::Read + '_>> {
        let incoming = self.incoming.as_mut().ok_or_else(local_disabled)?;
        let file = incoming.ask(self.out, name, self.encodings.client());
        Ok(Box::new(file.ok_or_else(local_disabled)?))
    }

    #[inline]
    fn finish(&mut self, done: &Completion) -> io::Result<()> {
        let more = if done.more { status::MORE_RESULTS } else { 0 };
        let mut status = done.status | more;
        let in_rows = std::mem::take(&mut self.in_rows);
        if let Some(kept) = self.kept.as_mut().filter(|_| in_rows) {
            let columns = std::mem::take(&mut kept.columns);
            self.definitions(&columns);
            status |= status::CURSOR_EXISTS;
        }
        if !in_rows {
            self.out.packet(|p| response::ok(p, 0x00, done, status));
        } else if self.deprecate_eof {
            self.out.packet(|p| response::ok(p, 0xfe, done, status));
        } else {
            self.out.packet(|p| response::eof(p, done.warnings, status));
        }
        self.status = done.status;
        // The last result's end is the connection's to send: it may have to wait for the log.
        if done.more {
            self.out.flush_if_due()
        } else {
            Ok(())
        }
    }
}

/// Keeps a small result's values as text: for commands whose answer the protocol layer words itself.
#[derive(Default)]
pub struct TextRows {
    types: Vec<SqlType>,
    /// Each row's values; NULL is empty.
    pub rows: Vec<Vec<String>>,
}

impl ResultSink for TextRows {
    fn columns(&mut self, columns: &[ColumnMeta]) -> io::Result<()> {
        self.types = columns.iter().map(|c| c.ty.clone()).collect();
        Ok(())
    }
    fn row(&mut self, row: &[Value<'_>]) -> io::Result<()> {
        let texts = row.iter().zip(&self.types).map(|(v, ty)| {
            let mut text = Vec::new();
            millpond_session::value::write_text(v, ty, &mut text);
            String::from_utf8_lossy(&text).into_owned()
        });
        self.rows.push(texts.collect());
        Ok(())
    }
    fn finish(&mut self, _done: &Completion) -> io::Result<()> {
        Ok(())
    }
}

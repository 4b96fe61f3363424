//! Rows read as LOAD DATA has them: fields parted by terminators and quotes, or of fixed widths.
//!
//! A row is read as a whole before anything is made of it; it takes what its fields take, `most` bytes at the longest. What is passed over (lines ignored,
//! what stands before LINES STARTING BY, what follows the last field asked for) takes nothing, however long it is.

use std::io::{self, ErrorKind, Read};

use super::Format;
use crate::error::{SqlError, SqlResult};

/// Bytes that are asked for at a time.
const CHUNK: usize = 64 << 10;

/// Where the bytes come from.
pub struct Source<'r> {
    from: Box<dyn Read + 'r>,
    /// Asked before each read: an error ends all.
    check: Box<dyn Fn() -> SqlResult<()> + 'r>,
    /// What a failed read is as an error of a statement.
    failed: Box<dyn Fn(&io::Error) -> SqlError + 'r>,
    buf: Vec<u8>,
    /// What is not yet used: `buf[start..end]`.
    start: usize,
    end: usize,
    over: bool,
}

impl<'r> Source<'r> {
    /// Reads from `from`; `check` is asked now and then whether to go on.
    pub fn new(
        from: Box<dyn Read + 'r>,
        check: Box<dyn Fn() -> SqlResult<()> + 'r>,
        failed: Box<dyn Fn(&io::Error) -> SqlError + 'r>,
    ) -> Source<'r> {
        Source {
            from,
            check,
            failed,
            buf: vec![0; CHUNK],
            start: 0,
            end: 0,
            over: false,
        }
    }

    /// Has `count` bytes there, if there are as many.
    #[inline]
    fn has(&mut self, count: usize) -> SqlResult<bool> {
        if self.end - self.start >= count {
            return Ok(true);
        }
        self.fill(count)
    }

    #[cold]
    fn fill(&mut self, count: usize) -> SqlResult<bool> {
        self.buf.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        if self.buf.len() < count {
            self.buf.resize(count + CHUNK, 0);
        }
        while self.end < count && !self.over {
            (self.check)()?;
            match self.from.read(&mut self.buf[self.end..]) {
                Ok(0) => self.over = true,
                Ok(n) => self.end += n,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err((self.failed)(&e)),
            }
        }
        Ok(self.end >= count)
    }

    /// The next byte.
    #[inline]
    fn next(&mut self) -> SqlResult<Option<u8>> {
        if !self.has(1)? {
            return Ok(None);
        }
        self.start += 1;
        Ok(Some(self.buf[self.start - 1]))
    }

    /// Returns the byte taken last.
    #[inline]
    fn back(&mut self) {
        self.start -= 1;
    }

    /// Takes `text` if it is what comes next.
    fn take(&mut self, text: &[u8]) -> SqlResult<bool> {
        let next = self.has(text.len())? && self.buf[self.start..].starts_with(text);
        if next {
            self.start += text.len();
        }
        Ok(next)
    }

    /// What has been read and not used.
    #[inline]
    fn ready(&self) -> &[u8] {
        &self.buf[self.start..self.end]
    }
}

/// A field of a row.
#[derive(Clone, Copy, Debug)]
struct Field {
    start: usize,
    end: usize,
    null: bool,
}

/// A row's fields.
#[derive(Debug, Default)]
pub struct Row {
    bytes: Vec<u8>,
    fields: Vec<Field>,
    /// Whether something stood behind the fields asked for, up to the line's end.
    pub more: bool,
}

impl Row {
    /// The fields that are there; NULL is `None`.
    pub fn fields(&self) -> impl Iterator<Item = Option<&[u8]>> {
        self.fields
            .iter()
            .map(|f| (!f.null).then(|| &self.bytes[f.start..f.end]))
    }
    /// How many bytes they take.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }
}

/// Reads rows.
pub struct Rows<'r> {
    source: Source<'r>,
    format: &'r Format,
    /// LINES TERMINATED BY, unless fields end likewise: then lines end with their last fields.
    line_end: &'r [u8],
    /// Bytes that mean more than themselves, in a field that is not enclosed and in one that is.
    special: [[bool; 256]; 2],
    /// The fields' widths, if nothing parts them.
    widths: Option<Vec<usize>>,
    /// Longest row.
    most: usize,
    /// Whether the line's end has been read with its last field.
    line_over: bool,
    over: bool,
    /// Whether LINES STARTING BY is yet to be looked for.
    at_start: bool,
}

impl<'r> Rows<'r> {
    /// Reads rows of this format, `most` bytes long at most. `widths`: the fields' own, for a format that parts them by nothing.
    pub fn new(
        source: Source<'r>,
        format: &'r Format,
        widths: Vec<usize>,
        most: usize,
    ) -> Rows<'r> {
        let line_end = match &format.lines_terminated {
            end if *end == format.fields_terminated => &[][..],
            end => end,
        };
        let mut special = [[false; 256]; 2];
        let mut mark = |enclosed: usize, c: Option<u8>| {
            if let Some(c) = c {
                special[enclosed][usize::from(c)] = true;
            }
        };
        for enclosed in [0, 1] {
            mark(enclosed, format.escaped);
        }
        mark(0, format.fields_terminated.first().copied());
        mark(0, line_end.first().copied());
        mark(1, format.enclosed);
        Rows {
            source,
            format,
            line_end,
            special,
            widths: format.is_unparted().then_some(widths),
            most,
            line_over: false,
            over: false,
            at_start: !format.lines_starting.is_empty(),
        }
    }

    /// Passes over lines. What encloses fields means nothing here: a line ends where LINES TERMINATED BY is. If that is nothing, as many rows of
    /// `fields` fields are passed over.
    pub fn skip_lines(&mut self, count: u64, fields: usize) -> SqlResult<()> {
        let mut row = Row::default();
        for _ in 0..count {
            if self.over {
                break;
            }
            if self.format.lines_terminated.is_empty() {
                self.next(fields, &mut row)?;
            } else {
                self.end_line()?;
            }
        }
        Ok(())
    }

    /// Reads the next row, `count` fields of it at most; `false`: there is none.
    pub fn next(&mut self, count: usize, row: &mut Row) -> SqlResult<bool> {
        row.bytes.clear();
        row.fields.clear();
        if self.over {
            return Ok(false);
        }
        if self.widths.is_some() {
            self.fixed(row)?;
        } else {
            while row.fields.len() < count && self.field(row)? {}
        }
        if row.fields.is_empty() && self.over {
            return Ok(false);
        }
        row.more = self.end_line()?;
        Ok(true)
    }

    /// Reads a field; `false`: the line has no more.
    fn field(&mut self, row: &mut Row) -> SqlResult<bool> {
        if self.line_over || !self.find_start()? {
            return Ok(false);
        }
        let Some(first) = self.source.next()? else {
            (self.line_over, self.over) = (true, true);
            return Ok(false);
        };
        let format = self.format;
        let quote = format.enclosed.filter(|q| *q == first);
        if quote.is_none() {
            self.source.back();
        }
        let start = row.bytes.len();
        let mut null = false;
        let closed = loop {
            self.plain(usize::from(quote.is_some()), &mut row.bytes)?;
            if row.bytes.len() > self.most {
                return Err(too_long());
            }
            let Some(c) = self.source.next()? else {
                (self.line_over, self.over) = (true, true);
                // A quote that nothing closes is part of the field.
                if let Some(q) = quote {
                    row.bytes.insert(start, q);
                }
                break false;
            };
            if Some(c) == format.escaped {
                match self.source.next()? {
                    Some(e) if format.escaped != format.enclosed || e == c => {
                        null |= e == b'N';
                        row.bytes.push(unescaped(e));
                        continue;
                    }
                    Some(_) => self.source.back(),
                    None => {
                        row.bytes.push(c);
                        continue;
                    }
                }
            }
            if Some(c) == quote {
                if self.source.take(&[c])? {
                    row.bytes.push(c);
                    continue;
                }
                if !self.source.has(1)? || self.ends_line(None)? {
                    self.line_over = true;
                    self.over = !self.source.has(1)?;
                    break true;
                }
                if self.ends_field(None)? {
                    break true;
                }
            } else if quote.is_none() {
                if self.ends_line(Some(c))? {
                    self.line_over = true;
                    break false;
                }
                if self.ends_field(Some(c))? {
                    break false;
                }
            }
            row.bytes.push(c);
        };
        let text = &row.bytes[start..];
        let word = format.enclosed.is_some() && !closed && text == b"NULL";
        row.fields.push(Field {
            start,
            end: row.bytes.len(),
            null: word || null && text.len() == 1,
        });
        Ok(true)
    }

    /// Takes what means only itself. `enclosed`: as an index of `special`.
    fn plain(&mut self, enclosed: usize, out: &mut Vec<u8>) -> SqlResult<()> {
        let special = &self.special[enclosed];
        let ready = self.source.ready();
        let end = ready.iter().position(|c| special[usize::from(*c)]);
        let run = &ready[..end.unwrap_or(ready.len())];
        out.extend_from_slice(run);
        self.source.start += run.len();
        Ok(())
    }

    /// Whether a line ends here; `c`: with this byte, which has been taken.
    fn ends_line(&mut self, c: Option<u8>) -> SqlResult<bool> {
        ends(&mut self.source, self.line_end, c)
    }

    fn ends_field(&mut self, c: Option<u8>) -> SqlResult<bool> {
        ends(&mut self.source, &self.format.fields_terminated, c)
    }

    /// Reads a row of fields of fixed widths.
    fn fixed(&mut self, row: &mut Row) -> SqlResult<()> {
        let widths = self.widths.take().unwrap_or_default();
        let total = widths
            .iter()
            .fold(0, |sum: usize, w| sum.saturating_add(*w));
        if self.find_start()? {
            while row.bytes.len() < total {
                let Some(c) = self.source.next()? else {
                    (self.line_over, self.over) = (true, true);
                    break;
                };
                if Some(c) == self.format.escaped {
                    let next = self.source.next()?;
                    row.bytes.push(next.map_or(c, unescaped));
                } else if self.ends_line(Some(c))? {
                    self.line_over = true;
                    break;
                } else {
                    row.bytes.push(c);
                }
                if row.bytes.len() > self.most {
                    return Err(too_long());
                }
            }
            let mut start = 0;
            for width in &widths {
                if start == row.bytes.len() {
                    break;
                }
                let end = start.saturating_add(*width).min(row.bytes.len());
                let null = false;
                row.fields.push(Field { start, end, null });
                start = end;
            }
        }
        self.widths = Some(widths);
        Ok(())
    }

    /// Looks for LINES STARTING BY where a line begins; `false`: it doesn't come any more.
    fn find_start(&mut self) -> SqlResult<bool> {
        if !self.at_start {
            return Ok(true);
        }
        self.at_start = false;
        let prefix = &self.format.lines_starting[..];
        loop {
            if self.source.take(prefix)? {
                return Ok(true);
            }
            if self.source.next()?.is_none() {
                (self.line_over, self.over) = (true, true);
                return Ok(false);
            }
        }
    }

    /// Goes to the end of the line; whether there was anything before it. What stands before the end of the file is not told of, as in MySQL.
    fn end_line(&mut self) -> SqlResult<bool> {
        self.at_start = !self.format.lines_starting.is_empty();
        if std::mem::take(&mut self.line_over) || self.line_end.is_empty() {
            return Ok(false);
        }
        let mut more = false;
        loop {
            let Some(c) = self.source.next()? else {
                self.over = true;
                return Ok(false);
            };
            if Some(c) == self.format.escaped {
                self.source.next()?;
            } else if self.ends_line(Some(c))? {
                return Ok(more);
            }
            more = true;
        }
    }
}

/// Whether `end`, which may be empty, comes next; `c`: its first byte, which has been taken already.
#[inline]
fn ends(source: &mut Source<'_>, end: &[u8], c: Option<u8>) -> SqlResult<bool> {
    match (end.split_first(), c) {
        (None, _) => Ok(false),
        (Some(_), None) => source.take(end),
        (Some((first, [])), Some(c)) => Ok(*first == c),
        (Some((first, rest)), Some(c)) => Ok(*first == c && source.take(rest)?),
    }
}

/// What a byte behind the escape character means.
fn unescaped(c: u8) -> u8 {
    match c {
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'0' => 0,
        b'b' => 8,
        b'Z' => 26,
        c => c,
    }
}

/// Error 1153: a row is longer than `max_allowed_packet`.
fn too_long() -> SqlError {
    SqlError::new(
        1153,
        "Got a packet bigger than 'max_allowed_packet' bytes: a row of the file is longer",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives its bytes a few at a time.
    struct Drops<'d>(&'d [u8]);

    impl Read for Drops<'_> {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            let n = self.0.len().min(buf.len()).min(3);
            buf[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    fn format(fields: &str, quote: &str, escape: &str, start: &str, end: &str) -> Format {
        let one = |s: &str| s.bytes().next();
        Format {
            fields_terminated: fields.into(),
            enclosed: one(quote),
            optionally: false,
            escaped: one(escape),
            lines_starting: start.into(),
            lines_terminated: end.into(),
        }
    }

    fn source(text: &str) -> Source<'_> {
        Source::new(
            Box::new(Drops(text.as_bytes())),
            Box::new(|| Ok(())),
            Box::new(|e| SqlError::new(2, e.to_string())),
        )
    }

    /// Rows of `count` fields as `[a|b|-]+`: `-` is NULL, `+` stands for more behind the fields.
    fn read(format: &Format, widths: &[usize], text: &str, count: usize, skip: u64) -> String {
        let mut rows = Rows::new(source(text), format, widths.to_vec(), 100);
        let mut out = String::new();
        let mut row = Row::default();
        rows.skip_lines(skip, count).unwrap();
        while rows.next(count, &mut row).unwrap() {
            let shown = |f: Option<&[u8]>| match f {
                None => "-".to_string(),
                Some(f) => String::from_utf8_lossy(f).into_owned(),
            };
            let fields: Vec<String> = row.fields().map(shown).collect();
            out += &format!("[{}]{}", fields.join("|"), if row.more { "+" } else { "" });
        }
        out
    }

    #[test]
    fn fields_end_with_their_terminators() {
        let plain = format("\t", "", "\\", "", "\n");
        let csv = format(",", "\"", "\\", "", "\r\n");
        let doubled = format(",", "\"", "\"", "", "\n");
        let long = format("<->", "", "", "", "<end>");
        for (format, text, rows) in [
            (&plain, "1\ta\n2\tb\n", "[1|a][2|b]"),
            (&plain, "1\ta\n2\tb", "[1|a][2|b]"),
            (&plain, "1\n\n", "[1][]"),
            (&plain, "1\t\\N\n\\N\t\\NN\n", "[1|-][-|NN]"),
            (&plain, "1\ta\tb\n2\tc\n", "[1|a]+[2|c]"),
            (&plain, "1\ta\n2\tc\td", "[1|a][2|c]"),
            (&plain, "a\\\tb\\\nc\t\\\\\\t\n", "[a\tb\nc|\\\t]"),
            (&plain, "NULL\tx\n", "[NULL|x]"),
            (&csv, "\"a,b\",c\r\n", "[a,b|c]"),
            (&csv, "\"a\"\"b\",\"c\"d\"\r\n", "[a\"b|c\"d]"),
            (&csv, "NULL,\"NULL\"\r\n", "[-|NULL]"),
            (&csv, "a\rb,c\nd\r\n", "[a\rb|c\nd]"),
            (&csv, "\"open,1\r\n", "[\"open,1\r\n]"),
            (&csv, "1,\"b\"", "[1|b]"),
            (&doubled, "\"say \"\"hi\"\"\",2\n", "[say \"hi\"|2]"),
            (&long, "a<-b<->c<end>d<en<->e<end>", "[a<-b|c][d<en|e]"),
            (&plain, "", ""),
        ] {
            assert_eq!(read(format, &[], text, 2, 0), rows, "{text:?}");
        }
    }

    #[test]
    fn lines_start_and_end_as_they_are_told_to() {
        let prefixed = format(",", "", "\\", "xxx", "\n");
        assert_eq!(
            read(&prefixed, &[], "xxxa,1\nno,2\nsome xxxb,3\nxx", 2, 0),
            "[a|1][b|3]"
        );
        let plain = format(",", "", "\\", "", "\n");
        assert_eq!(read(&plain, &[], "h\n\n1,2\n", 2, 2), "[1|2]");
        assert_eq!(read(&plain, &[], "h\n", 2, 5), "");
        let endless = format(",", "", "\\", "", "");
        assert_eq!(read(&endless, &[], "1,2,3,4,5", 2, 0), "[1|2][3|4][5]");
        assert_eq!(read(&endless, &[], "1,2,3,4,5", 2, 1), "[3|4][5]");
        let alike = format(",", "", "\\", "", ",");
        assert_eq!(read(&alike, &[], "1,2,3,4,", 2, 0), "[1|2][3|4]");
    }

    #[test]
    fn what_nothing_parts_has_widths() {
        let fixed = format("", "", "\\", "", "\n");
        let text = "12  abc\n3   de\n4\n5   fghi\n";
        assert_eq!(
            read(&fixed, &[4, 3], text, 2, 0),
            "[12  |abc][3   |de][4][5   |fgh]+"
        );
        let endless = format("", "", "", "", "");
        assert_eq!(read(&endless, &[1, 2], "1ab2cd3", 2, 0), "[1|ab][2|cd][3]");
    }

    #[test]
    fn a_row_has_a_greatest_length() {
        let plain = format(",", "", "\\", "", "\n");
        let text = format!("{},1\n", "x".repeat(200));
        let mut rows = Rows::new(source(&text), &plain, Vec::new(), 100);
        let e = rows.next(2, &mut Row::default()).unwrap_err();
        assert_eq!(e.code, 1153);
        // What is passed over may be of any length.
        let mut rows = Rows::new(source(&text), &plain, Vec::new(), 100);
        rows.skip_lines(1, 2).unwrap();
        assert!(!rows.next(2, &mut Row::default()).unwrap());
    }
}

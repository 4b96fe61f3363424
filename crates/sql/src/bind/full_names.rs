//! A view's query written so that it means the same whatever becomes of sessions and tables: each table, column and stored function by its
//! full name, each `*` as the columns that it is, each item of a select list with its name, NATURAL JOIN and USING as ON.
//!
//! Trees can't be changed in place (`millpond_syntax::ast::list`). So binding notes what is to stand where in the text, which is the
//! query's canonical one: without comments, names in backticks, in the default `sql_mode`.

use std::collections::BTreeMap;

use millpond_syntax::Keyword as K;
use millpond_syntax::Span;
use millpond_syntax::ast::Ident;
use millpond_syntax::lexer::{LexMode, Lexer, Token, TokenKind};

use super::scope::{Binder, Frame};
use crate::expr::{Expr, ExprKind};
use crate::logical::{Table, TableKind};
use crate::parse::ast::{self, SelectItem};

/// What stands in the place of a part of the text: in full, and without names of databases.
#[derive(Default)]
struct Edit {
    end: u32,
    full: String,
    short: String,
}

/// What binding has noted of a view's query.
pub struct FullNames {
    text: String,
    tokens: Vec<Token>,
    /// Names of the view's columns, which become those of the first SELECT's items.
    columns: Vec<String>,
    /// The names that these items have in the text.
    own: Vec<String>,
    edits: BTreeMap<u32, Edit>,
    /// Tables and views named.
    tables: Vec<(String, String)>,
    /// The first SELECT of the query itself has been met.
    begun: bool,
    /// A session's temporary table that is named.
    pub temporary: Option<String>,
}

impl FullNames {
    /// For a query's canonical text, and the names of the view's columns.
    pub fn new(text: String, columns: Vec<String>) -> FullNames {
        let mut lexer = Lexer::new(&text, LexMode::default());
        let next = || Some(lexer.next_token()).filter(|t| t.kind != TokenKind::End);
        let tokens = std::iter::from_fn(next).collect();
        FullNames {
            text,
            tokens,
            columns,
            own: Vec::new(),
            edits: BTreeMap::new(),
            tables: Vec::new(),
            begun: false,
            temporary: None,
        }
    }

    fn put(&mut self, start: u32, end: u32, full: &str, short: &str) {
        let edit = self.edits.entry(start).or_default();
        // What is bound twice is noted twice.
        if edit.end == end && edit.full == full {
            return;
        }
        edit.end = end;
        edit.full = full.to_string();
        edit.short = short.to_string();
    }

    /// The text with all that was noted, without names of databases if `short`; and the tables named.
    pub fn finish(&self, short: bool) -> String {
        let mut out = String::with_capacity(self.text.len() * 2);
        let mut from = 0;
        for (start, edit) in &self.edits {
            let start = *start as usize;
            if start < from {
                continue;
            }
            out.push_str(self.text.get(from..start).unwrap_or(""));
            out.push_str(if short { &edit.short } else { &edit.full });
            from = edit.end as usize;
        }
        out.push_str(self.text.get(from..).unwrap_or(""));
        out
    }

    /// The tables and views named, each once.
    pub fn tables(&self) -> &[(String, String)] {
        &self.tables
    }

    /// Position of the token that begins at a place or behind it.
    fn token_at(&self, start: u32) -> usize {
        self.tokens.partition_point(|t| t.start < start)
    }

    fn is(&self, at: usize, keyword: K) -> bool {
        let token = self.tokens.get(at);
        token.is_some_and(|t| t.kind == TokenKind::Keyword(keyword))
    }

    /// The items of the select list of a SELECT: where each begins and ends.
    fn items(&self, select: Span) -> Vec<(u32, u32)> {
        const OPTIONS: [K; 9] = [
            K::ALL,
            K::DISTINCT,
            K::HIGH_PRIORITY,
            K::STRAIGHT_JOIN,
            K::SQL_SMALL_RESULT,
            K::SQL_BIG_RESULT,
            K::SQL_BUFFER_RESULT,
            K::SQL_NO_CACHE,
            K::SQL_CALC_FOUND_ROWS,
        ];
        let mut at = self.token_at(select.start) + 1;
        let skipped = |at: usize| {
            OPTIONS.iter().any(|k| self.is(at, *k))
                || self
                    .tokens
                    .get(at)
                    .is_some_and(|t| t.kind == TokenKind::Hint)
        };
        while skipped(at) {
            at += 1;
        }
        let (mut items, mut depth) = (Vec::new(), 0usize);
        let mut start = None;
        let mut end = 0;
        while let Some(token) = self.tokens.get(at) {
            match token.kind {
                TokenKind::LParen | TokenKind::LBrace => depth += 1,
                TokenKind::RParen | TokenKind::RBrace if depth == 0 => break,
                TokenKind::RParen | TokenKind::RBrace => depth -= 1,
                TokenKind::Comma if depth == 0 => {
                    items.extend(start.take().map(|s| (s, end)));
                    at += 1;
                    continue;
                }
                TokenKind::Keyword(k) if depth == 0 && ends_list(k) => break,
                _ => {}
            }
            start.get_or_insert(token.start);
            end = token.end;
            at += 1;
        }
        items.extend(start.map(|s| (s, end)));
        items
    }

    /// Writes a join's common columns as its ON. `right`: where the names of its right side begin.
    fn join(&mut self, right: u32, using: Option<Span>, full: &str, short: &str) {
        if let Some(first) = using {
            // USING ( name, ... )
            let name = self.token_at(first.start);
            let close = (name..self.tokens.len())
                .find(|n| self.tokens[*n].kind == TokenKind::RParen)
                .unwrap_or(name);
            let (start, end) = (
                self.tokens[name.saturating_sub(2)].start,
                self.tokens[close].end,
            );
            let on = |text: &str| format!("ON {text}");
            return self.put(start, end, &on(full), &on(short));
        }
        let first = self.token_at(right);
        let Some(join) = (0..first).rev().find(|n| self.is(*n, K::JOIN)) else {
            return;
        };
        if let Some(natural) = (0..join).rev().find(|n| self.is(*n, K::NATURAL)) {
            let (start, end) = (self.tokens[natural].start, self.tokens[natural].end);
            self.put(start, end, "", "");
        }
        if full.is_empty() {
            return;
        }
        let (mut at, mut depth, mut end) = (join + 1, 0usize, 0);
        while let Some(token) = self.tokens.get(at) {
            match token.kind {
                TokenKind::LParen => depth += 1,
                TokenKind::RParen if depth == 0 => break,
                TokenKind::RParen => depth -= 1,
                TokenKind::Comma | TokenKind::RBrace if depth == 0 => break,
                TokenKind::Keyword(K::USE | K::FORCE | K::IGNORE) if depth == 0 => {
                    // Up to the list of indexes.
                    let open = |n: &usize| self.tokens[*n].kind == TokenKind::LParen;
                    at = (at..self.tokens.len()).find(open).unwrap_or(at);
                    depth += 1;
                }
                TokenKind::Keyword(k) if depth == 0 && (ends_list(k) || joins(k)) => break,
                _ => {}
            }
            end = self.tokens[at].end;
            at += 1;
        }
        let on = |text: &str| format!(" ON {text}");
        self.put(end, end, &on(full), &on(short));
    }
}

/// Whether a clause that follows a select list or FROM begins with this.
fn ends_list(k: K) -> bool {
    matches!(
        k,
        K::FROM
            | K::INTO
            | K::WHERE
            | K::GROUP
            | K::HAVING
            | K::WINDOW
            | K::ORDER
            | K::LIMIT
            | K::UNION
            | K::EXCEPT
            | K::INTERSECT
            | K::FOR
            | K::LOCK
    )
}

fn joins(k: K) -> bool {
    matches!(
        k,
        K::JOIN | K::LEFT | K::RIGHT | K::NATURAL | K::CROSS | K::STRAIGHT_JOIN | K::ON | K::USING
    )
}

fn quoted(name: &str) -> String {
    Ident::new(name).to_string()
}

/// A column of a table, in full and without its database.
pub(super) fn column_names(table: &Table, column: usize) -> (String, String) {
    let name = quoted(table.column(column).0);
    if table.name.is_empty() {
        return (name.clone(), name);
    }
    let short = format!("{}.{name}", quoted(&table.name));
    // An alias is of no database.
    match table.database.is_empty() || table.name != table.table {
        true => (short.clone(), short),
        false => (format!("{}.{short}", quoted(&table.database)), short),
    }
}

/// Where the names of a table reference begin.
fn first_name(t: &ast::TableRef) -> u32 {
    match t {
        ast::TableRef::Table(t) => t.name.span().start,
        ast::TableRef::Derived(d) => d.query.span.start,
        ast::TableRef::JsonTable(t) => t.document.span.start,
        ast::TableRef::Join(joins) => first_name(&joins.first),
        ast::TableRef::Parens(list) => list.first().map_or(0, first_name),
        ast::TableRef::Odbc(t) => first_name(t),
    }
}

impl Binder<'_, '_> {
    /// Whether what is bound is the query itself, no derived table and no subquery of it.
    fn at_top(&self) -> bool {
        self.derives == 0 && self.frames.len() == 1
    }

    /// Notes what a table's name stands for.
    pub(super) fn note_table(&mut self, name: &ast::ObjectName, table: &Table) {
        let Some(names) = &mut self.names else { return };
        if table.database.is_empty() {
            return;
        }
        let own = (table.database.clone(), table.table.clone());
        let short = quoted(&table.table);
        let full = format!("{}.{short}", quoted(&table.database));
        let span = name.span();
        names.put(span.start, span.end, &full, &short);
        if !names.tables.contains(&own) {
            names.tables.push(own);
        }
        if let TableKind::Stored { table: at, .. } = table.kind
            && self.tables[at].table.is_temporary()
        {
            names.temporary = Some(table.table.clone());
        }
    }

    /// Notes of which database a stored function is that is called by its name alone.
    pub(super) fn note_function(&mut self, name: &Ident, database: &str) {
        if let Some(names) = &mut self.names {
            let short = quoted(name.as_str());
            let full = format!("{}.{short}", quoted(database));
            names.put(name.span.start, name.span.end, &full, &short);
        }
    }

    /// Notes what a column's name stands for: a column of the frame at a position, or an item of its select list.
    pub(super) fn note_column(
        &mut self,
        span: Span,
        frame: usize,
        name: &str,
        e: &Expr,
        alias: bool,
    ) {
        if self.names.is_none() {
            return;
        }
        let top = self.derives == 0 && frame == 0;
        let Some((full, short)) = shown(&self.frames[frame], name, e, alias) else {
            let names = self.names.as_mut().expect("asked above");
            // An item of the query's own list has the column's name.
            let own = |own: &String| top && own.eq_ignore_ascii_case(name);
            let renamed = names.own.iter().position(own);
            let renamed = renamed
                .and_then(|n| names.columns.get(n))
                .map_or(name, |n| n);
            let renamed = quoted(renamed);
            names.put(span.start, span.end, &renamed, &renamed);
            return;
        };
        let names = self.names.as_mut().expect("asked above");
        names.put(span.start, span.end, &full, &short);
    }

    /// Notes the names of a SELECT's items, and what `*` stands for. `heads`: the columns before each item, and after the last.
    pub(super) fn note_items(
        &mut self,
        s: &ast::Select,
        counts: &[usize],
        select: &[Expr],
        heads: &[super::heads::Head],
        exists: bool,
    ) {
        let (top, nested) = (self.at_top(), self.frames.len() > 1);
        let frame = self.frames.last().expect("a block is being bound");
        let Some(names) = &mut self.names else { return };
        let first = top && !names.begun;
        names.begun |= top;
        if first {
            names.own = heads.iter().map(|h| h.meta.name.clone()).collect();
        }
        let ranges = names.items(s.span);
        for ((n, item), (start, end)) in s.items.iter().enumerate().zip(ranges) {
            let columns = counts[n]..counts[n + 1];
            let name = |c: usize| match names.columns.get(c) {
                Some(name) if first => quoted(name),
                _ => quoted(&heads[c].meta.name),
            };
            match &*item {
                SelectItem::Expr { alias: None, .. } if nested => {}
                SelectItem::Expr { alias: None, .. } => {
                    let text = format!(" AS {}", name(columns.start));
                    names.put(end, end, &text, &text);
                }
                SelectItem::Expr {
                    alias: Some(alias), ..
                } if first => {
                    let text = name(columns.start);
                    names.put(alias.span.start, alias.span.end, &text, &text);
                }
                SelectItem::Expr { .. } => {}
                SelectItem::Wildcard if exists && s.items.len() == 1 => {
                    names.put(start, end, "1", "1");
                }
                SelectItem::Wildcard | SelectItem::TableWildcard(_) => {
                    let (mut full, mut short) = (Vec::new(), Vec::new());
                    for c in columns {
                        let Some((mut f, mut s)) = shown(frame, "", &select[c], false) else {
                            continue;
                        };
                        if !nested {
                            let alias = format!(" AS {}", name(c));
                            f.push_str(&alias);
                            s.push_str(&alias);
                        }
                        full.push(f);
                        short.push(s);
                    }
                    names.put(start, end, &full.join(", "), &short.join(", "));
                }
            }
        }
    }

    /// Notes that TABLE is a SELECT of all columns.
    pub(super) fn note_whole_table(
        &mut self,
        name: &ast::ObjectName,
        select: &[Expr],
        table: &Table,
    ) {
        let at_top = self.derives == 0 && self.frames.is_empty();
        let nested = !self.frames.is_empty();
        let Some(names) = &mut self.names else { return };
        let first = at_top && !names.begun;
        names.begun |= at_top;
        let (mut full, mut short) = (Vec::new(), Vec::new());
        for (n, e) in select.iter().enumerate() {
            let ExprKind::Column { column, .. } = e.kind else {
                continue;
            };
            let (mut f, mut s) = column_names(table, column);
            let own = names.columns.get(n).filter(|_| first);
            if !nested {
                let name = quoted(own.map_or(table.column(column).0, |n| n));
                f = format!("{f} AS {name}");
                s = format!("{s} AS {name}");
            }
            full.push(f);
            short.push(s);
        }
        let start = names.token_at(name.span().start).saturating_sub(1);
        let start = names.tokens[start].start;
        let from = quoted(&table.table);
        let in_full = match table.database.is_empty() {
            true => from.clone(),
            false => format!("{}.{from}", quoted(&table.database)),
        };
        names.put(
            start,
            name.span().end,
            &format!("SELECT {} FROM {in_full}", full.join(", ")),
            &format!("SELECT {} FROM {from}", short.join(", ")),
        );
    }

    /// Notes a join by common columns.
    pub(super) fn note_join(&mut self, join: &ast::Join, common: &[(Expr, Expr)]) {
        if self.names.is_none() {
            return;
        }
        let frame = self.frames.last().expect("a block is being bound");
        let (mut full, mut short) = (Vec::new(), Vec::new());
        for (l, r) in common {
            if let (Some(l), Some(r)) = (shown(frame, "", l, false), shown(frame, "", r, false)) {
                full.push(format!("{} = {}", l.0, r.0));
                short.push(format!("{} = {}", l.1, r.1));
            }
        }
        let using = match &join.on {
            Some(ast::JoinOn::Using(list)) => list.first().map(|n| n.span),
            _ => None,
        };
        let names = self.names.as_mut().expect("asked above");
        names.join(
            first_name(&join.right),
            using,
            &full.join(" AND "),
            &short.join(" AND "),
        );
    }
}

/// A column of a frame's tables, in full and without its database; `None` for an item of the select list, which goes by its name.
fn shown(frame: &Frame, name: &str, e: &Expr, alias: bool) -> Option<(String, String)> {
    let ExprKind::Column { source, column, .. } = e.kind else {
        return None;
    };
    let table = frame.tables.iter().find(|t| t.id == source)?;
    // Under a name of its own it is the item.
    if table.name.is_empty() || alias && !table.column(column).0.eq_ignore_ascii_case(name) {
        return None;
    }
    Some(column_names(table, column))
}

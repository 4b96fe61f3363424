//! SELECT.

use super::Parser;
use super::cursor::is_ident;
use crate::ast::*;
use crate::error::{Result, SyntaxError};
use crate::keyword::Keyword as K;
use crate::lexer::TokenKind as T;

/// The most columns of a table.
pub(super) const MAX_COLUMNS: usize = 4096;
/// The longest select list: one that has as many placeholders as a statement can.
const MAX_SELECTED: usize = 65_535;

impl Parser<'_> {
    /// SELECT up to what is said of the query as a whole.
    pub(super) fn select(&mut self) -> Result<Select> {
        let start = self.start();
        self.expect(K::SELECT)?;
        let mut more = SelectMore {
            hints: self.hints(),
            ..SelectMore::default()
        };
        let options = self.select_options();
        let items = self.select_items()?;
        more.into = self.early_into()?;
        let mut from = Vec::new();
        if self.eat(K::FROM) {
            more.dual = self.eat(K::DUAL);
            if !more.dual {
                from = self.table_refs()?;
            }
        }
        let filter = self.where_clause()?;
        self.groups(&mut more)?;
        self.took(size_of::<Select>())?;
        let more = (more != SelectMore::default()).then(|| Box::new(more));
        if more.is_some() {
            self.took(size_of::<SelectMore>())?;
        }
        Ok(Select {
            options,
            items,
            from,
            filter,
            more,
            span: self.span_from(start),
        })
    }

    /// WHERE.
    pub(super) fn where_clause(&mut self) -> Result<Option<Expr>> {
        if !self.eat(K::WHERE) {
            return Ok(None);
        }
        self.expr().map(Some)
    }

    /// INTO that isn't the last clause.
    fn early_into(&mut self) -> Result<Option<Into>> {
        if !self.at(K::INTO) {
            return Ok(None);
        }
        let mark = self.mark();
        let into = self.maybe_into()?;
        // Before UNION and the like it is misplaced, which is not for the grammar to say.
        let goes_on = self.at_any(&[
            K::FROM,
            K::WHERE,
            K::GROUP,
            K::HAVING,
            K::WINDOW,
            K::UNION,
            K::EXCEPT,
            K::INTERSECT,
        ]);
        if !goes_on {
            // It is the query's.
            self.reset(mark);
            return Ok(None);
        }
        Ok(into)
    }

    fn select_options(&mut self) -> SelectOptions {
        let mut o = SelectOptions::default();
        while let T::Keyword(k) = self.kind() {
            let option = match k {
                K::ALL => &mut o.all,
                K::DISTINCT | K::DISTINCTROW => &mut o.distinct,
                K::HIGH_PRIORITY => &mut o.high_priority,
                K::STRAIGHT_JOIN => &mut o.straight_join,
                K::SQL_SMALL_RESULT => &mut o.small_result,
                K::SQL_BIG_RESULT => &mut o.big_result,
                K::SQL_BUFFER_RESULT => &mut o.buffer_result,
                K::SQL_NO_CACHE => &mut o.no_cache,
                K::SQL_CALC_FOUND_ROWS => &mut o.calc_found_rows,
                _ => break,
            };
            // The words that are no reserved ones may be columns.
            if !k.is_reserved() && matches!(self.kind_nth(1), T::Comma | T::Dot | T::End) {
                break;
            }
            *option = true;
            if k == K::SQL_CALC_FOUND_ROWS {
                self.deprecate(Deprecated::CalcFoundRows);
            }
            self.next();
        }
        o
    }

    fn select_items(&mut self) -> Result<Items<SelectItem>> {
        let start = self.piece(self.last_end());
        let mut first = None;
        if self.eat_punct(T::Star) {
            first = Some(SelectItem::Wildcard);
            if !self.at_punct(T::Comma) {
                return Ok(vec![SelectItem::Wildcard].into());
            }
        }
        let mut len = usize::from(first.is_some());
        self.items_from(start, first, |p| {
            if len == MAX_SELECTED {
                let message = "Too many columns";
                return Err(SyntaxError::new(1117, p.peek().span(), message));
            }
            len += 1;
            p.select_item()
        })
    }

    pub(super) fn select_item(&mut self) -> Result<SelectItem> {
        if self.at_table_wildcard() {
            let first = self.ident()?;
            self.next();
            let name = if self.eat_punct(T::Star) {
                ObjectName {
                    database: None,
                    name: first,
                }
            } else {
                let name = self.ident()?;
                self.next();
                self.next();
                ObjectName {
                    database: Some(first),
                    name,
                }
            };
            return Ok(SelectItem::TableWildcard(Box::new(name)));
        }
        let start = self.start();
        let expr = self.expr()?;
        let source = self.span_from(start);
        let alias = self.select_alias()?.map(Box::new);
        Ok(SelectItem::Expr {
            expr,
            alias,
            source,
        })
    }

    /// `t.*`, `d.t.*`.
    #[inline]
    fn at_table_wildcard(&self) -> bool {
        if self.kind_nth(1) != T::Dot || !is_ident(self.kind()) {
            return false;
        }
        match self.kind_nth(2) {
            T::Star => true,
            k => is_ident(k) && self.kind_nth(3) == T::Dot && self.kind_nth(4) == T::Star,
        }
    }

    /// The name of an item: a name or a text, with AS or without.
    pub(super) fn select_alias(&mut self) -> Result<Option<Ident>> {
        // SOUNDS is an operator's.
        let bare = self.at_ident() && !self.at(K::SOUNDS);
        if self.eat(K::AS) || bare || self.at_punct(T::Text) {
            return self.ident_or_text().map(Some);
        }
        Ok(None)
    }

    /// GROUP BY, HAVING, WINDOW.
    fn groups(&mut self, more: &mut SelectMore) -> Result<()> {
        if self.eat(K::GROUP) {
            self.expect(K::BY)?;
            more.group_by = self.order_items()?;
            // WITH CHECK OPTION of a view may follow instead.
            more.rollup = self.eat_all(&[K::WITH, K::ROLLUP]);
        }
        if self.eat(K::HAVING) {
            more.having = Some(self.expr()?);
        }
        if self.eat(K::WINDOW) {
            more.windows = self.comma_list(Self::named_window)?;
        }
        Ok(())
    }

    pub(super) fn named_window(&mut self) -> Result<NamedWindow> {
        let name = self.ident()?;
        self.expect(K::AS)?;
        let spec = self.window_spec()?;
        Ok(NamedWindow { name, spec })
    }
}

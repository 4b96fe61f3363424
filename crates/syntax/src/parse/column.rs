//! Columns, keys and constraints.

use super::Parser;
use crate::ast::{
    Check, ColumnAttribute, ColumnDef, Constraint, DefaultValue, Expr, ExprKind, ForeignKey,
    GeneratedKind, IndexOption, Items, KeyDef, KeyKind, KeyPart, KeyPartOf, References,
    TableElement, UnaryOp,
};
use crate::error::Result;
use crate::keyword::Keyword as K;
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// What stands between the commas of CREATE TABLE.
    pub(crate) fn table_element(&mut self) -> Result<TableElement> {
        match self.constraint_or_key()? {
            Some(element) => Ok(element),
            None => self.column_def().map(TableElement::Column),
        }
    }

    /// A key, a foreign key or a check; nothing if none begins here.
    pub(crate) fn constraint_or_key(&mut self) -> Result<Option<TableElement>> {
        let constraint = self.constraint()?;
        if self.at(K::CHECK) {
            return self.check(constraint).map(|c| Some(TableElement::Check(c)));
        }
        if self.eat_all(&[K::FOREIGN, K::KEY]) {
            return self
                .foreign_key(constraint)
                .map(|k| Some(TableElement::ForeignKey(k)));
        }
        let kind = self.key_kind();
        match kind {
            Some(kind) => self
                .key_def(constraint, kind)
                .map(|k| Some(TableElement::Key(k))),
            None if constraint.is_some() => Err(self.error_here()),
            None => Ok(None),
        }
    }

    fn constraint(&mut self) -> Result<Option<Constraint>> {
        if !self.eat(K::CONSTRAINT) {
            return Ok(None);
        }
        let name = if self.at_ident() {
            Some(self.ident()?)
        } else {
            None
        };
        Ok(Some(Constraint { name }))
    }

    fn key_kind(&mut self) -> Option<KeyKind> {
        let word = self.keyword()?;
        let kind = match word {
            K::PRIMARY if self.at_nth(1, K::KEY) => KeyKind::Primary,
            K::UNIQUE => KeyKind::Unique,
            K::FULLTEXT => KeyKind::Fulltext,
            K::SPATIAL => KeyKind::Spatial,
            K::KEY | K::INDEX => KeyKind::Plain,
            _ => return None,
        };
        self.next();
        if kind != KeyKind::Plain {
            self.eat_any(&[K::KEY, K::INDEX]);
        }
        Some(kind)
    }

    fn key_def(&mut self, constraint: Option<Constraint>, kind: KeyKind) -> Result<KeyDef> {
        let if_not_exists = self.if_not_exists();
        let typed =
            |p: &Self| p.at(K::USING) || p.at(K::TYPE) && !p.at_punct_nth(1, TokenKind::LParen);
        let name = if self.at_ident() && !typed(self) {
            Some(self.ident()?)
        } else {
            None
        };
        let early = if typed(self) {
            self.index_option()?
        } else {
            None
        };
        let parts = self.key_parts()?;
        let options = self.index_options(early)?;
        Ok(KeyDef {
            constraint,
            kind,
            if_not_exists,
            name,
            parts,
            options,
        })
    }

    /// Options of an index, of which one may stand before its columns.
    pub(super) fn index_options(
        &mut self,
        early: Option<IndexOption>,
    ) -> Result<Items<IndexOption>> {
        let mut options = self.row_of(Self::index_option)?;
        options.head.splice(0..0, early);
        Ok(options)
    }

    fn at_punct_nth(&self, n: usize, kind: TokenKind) -> bool {
        self.kind_nth(n) == kind
    }

    /// `(column, column(n) DESC, (expression), ...)`
    pub(crate) fn key_parts(&mut self) -> Result<Items<KeyPart>> {
        self.parens(|p| p.comma_list(Self::key_part))
    }

    pub(super) fn key_part(&mut self) -> Result<KeyPart> {
        let of = if self.at_punct(TokenKind::LParen) {
            KeyPartOf::Expr(Box::new(self.parens(Self::expr)?))
        } else {
            let name = self.ident()?;
            let prefixed = self.at_punct(TokenKind::LParen);
            KeyPartOf::Column(
                name,
                if prefixed {
                    Some(self.parens(Self::uint)?)
                } else {
                    None
                },
            )
        };
        Ok(KeyPart {
            of,
            direction: self.choice(),
        })
    }

    /// An option of a key, if one is next.
    pub(crate) fn index_option(&mut self) -> Result<Option<IndexOption>> {
        let Some(word) = self.keyword() else {
            return Ok(self
                .yes_or_no("NOT IGNORED", "IGNORED")
                .map(IndexOption::Visible));
        };
        use IndexOption as O;
        let option = match word {
            K::USING | K::TYPE => {
                self.next();
                O::Using(self.expect_choice()?)
            }
            K::KEY_BLOCK_SIZE => {
                self.next();
                O::KeyBlockSize(self.equals_number()?)
            }
            K::WITH if self.at_nth(1, K::PARSER) => {
                self.next();
                self.next();
                O::Parser(self.ident()?)
            }
            K::COMMENT => {
                self.next();
                O::Comment(self.equals_text()?)
            }
            K::VISIBLE | K::INVISIBLE => {
                self.next();
                O::Visible(word == K::VISIBLE)
            }
            K::ENGINE_ATTRIBUTE => {
                self.next();
                O::EngineAttribute(self.equals_text()?)
            }
            K::SECONDARY_ENGINE_ATTRIBUTE => {
                self.next();
                O::SecondaryEngineAttribute(self.equals_text()?)
            }
            K::NOT if self.eat_words("NOT IGNORED") => O::Visible(true),
            _ => return Ok(None),
        };
        Ok(Some(option))
    }

    fn foreign_key(&mut self, constraint: Option<Constraint>) -> Result<ForeignKey> {
        let if_not_exists = self.if_not_exists();
        let name = if self.at_ident() {
            Some(self.ident()?)
        } else {
            None
        };
        let columns = self.key_parts()?;
        let references = self.references()?;
        Ok(ForeignKey {
            constraint,
            if_not_exists,
            name,
            columns,
            references,
        })
    }

    fn references(&mut self) -> Result<References> {
        self.expect(K::REFERENCES)?;
        let table = self.object_name()?;
        let listed = self.at_punct(TokenKind::LParen);
        let columns = if listed {
            self.key_parts()?
        } else {
            Items::EMPTY
        };
        let matching = if self.eat(K::MATCH) {
            Some(self.expect_choice()?)
        } else {
            None
        };
        let mut references = References {
            table,
            columns,
            matching,
            on_delete: None,
            on_update: None,
        };
        loop {
            if references.on_delete.is_none() && self.eat_all(&[K::ON, K::DELETE]) {
                references.on_delete = Some(self.expect_choice()?);
            } else if references.on_update.is_none()
                && self.at_all(&[K::ON, K::UPDATE])
                && self.at_action(2)
            {
                self.next();
                self.next();
                references.on_update = Some(self.expect_choice()?);
            } else {
                return Ok(references);
            }
        }
    }

    /// Whether the n-th token begins a reference's action; if not, ON UPDATE is the column's.
    fn at_action(&self, n: usize) -> bool {
        [K::CASCADE, K::RESTRICT, K::SET, K::NO]
            .iter()
            .any(|k| self.at_nth(n, *k))
    }

    fn check(&mut self, constraint: Option<Constraint>) -> Result<Check> {
        self.expect(K::CHECK)?;
        let if_not_exists = self.if_not_exists();
        let condition = self.parens(Self::expr)?;
        let enforced = self.yes_or_no("ENFORCED", "NOT ENFORCED");
        Ok(Check {
            constraint,
            if_not_exists,
            condition,
            enforced,
        })
    }

    /// A column: its name, type and attributes.
    pub(crate) fn column_def(&mut self) -> Result<ColumnDef> {
        let name = self.ident()?;
        let data_type = self.data_type()?;
        let attributes = self.row_of(Self::column_attribute)?;
        Ok(ColumnDef {
            name,
            data_type,
            attributes,
        })
    }

    /// An attribute of a column, if one is next.
    pub(super) fn column_attribute(&mut self) -> Result<Option<ColumnAttribute>> {
        let Some(word) = self.keyword() else {
            return self.foreign_attribute();
        };
        use ColumnAttribute as A;
        let attribute = match word {
            K::NULL => self.then(A::Null),
            K::NOT if self.eat_words("NOT NULL") => A::NotNull,
            K::DEFAULT => {
                self.next();
                A::Default(self.default_value()?)
            }
            K::ON if self.eat_all(&[K::ON, K::UPDATE]) => A::OnUpdate(self.plain_value()?),
            K::AUTO_INCREMENT => self.then(A::AutoIncrement),
            K::SERIAL if self.eat_words("SERIAL DEFAULT VALUE") => A::SerialDefaultValue,
            K::PRIMARY | K::KEY => {
                self.eat(K::PRIMARY);
                self.expect(K::KEY)?;
                A::PrimaryKey
            }
            K::UNIQUE => {
                self.next();
                self.eat(K::KEY);
                A::Unique
            }
            K::COMMENT => {
                self.next();
                A::Comment(self.equals_text()?)
            }
            K::COLLATE => {
                self.next();
                A::Collate(self.collation_name()?)
            }
            K::COLUMN_FORMAT => {
                self.next();
                A::ColumnFormat(self.expect_choice()?)
            }
            K::STORAGE => {
                self.next();
                A::Storage(self.expect_choice()?)
            }
            K::ENGINE_ATTRIBUTE => {
                self.next();
                A::EngineAttribute(self.equals_text()?)
            }
            K::SECONDARY_ENGINE_ATTRIBUTE => {
                self.next();
                A::SecondaryEngineAttribute(self.equals_text()?)
            }
            K::SRID => {
                self.next();
                A::Srid(self.uint()?)
            }
            K::VISIBLE => self.then(A::Visible),
            K::INVISIBLE => self.then(A::Invisible),
            K::GENERATED | K::AS => {
                if self.eat(K::GENERATED) {
                    self.expect_words("ALWAYS")?;
                }
                self.expect(K::AS)?;
                self.generated()?
            }
            K::REFERENCES => A::References(self.references()?),
            K::CONSTRAINT | K::CHECK => {
                let constraint = self.constraint()?;
                A::Check(self.check(constraint)?)
            }
            _ => return self.foreign_attribute(),
        };
        Ok(Some(attribute))
    }

    /// Consumes a token on the way to `value`.
    fn then<T>(&mut self, value: T) -> T {
        self.next();
        value
    }

    fn generated(&mut self) -> Result<ColumnAttribute> {
        let expr = self.parens(Self::expr)?;
        let kind = if self.eat_word("PERSISTENT") {
            Some(GeneratedKind::Stored)
        } else {
            self.choice()
        };
        Ok(ColumnAttribute::Generated(expr, kind))
    }

    /// `name = value`: an attribute that a MariaDB engine defines; and COMPRESSED.
    fn foreign_attribute(&mut self) -> Result<Option<ColumnAttribute>> {
        if self.at_word("COMPRESSED") {
            let name = self.ident()?;
            return Ok(Some(ColumnAttribute::Foreign(name, None)));
        }
        if !self.at_ident() || self.kind_nth(1) != TokenKind::Eq {
            return Ok(None);
        }
        let name = self.ident()?;
        let value = self.foreign_value()?;
        Ok(Some(ColumnAttribute::Foreign(name, Some(value))))
    }

    /// `= value`: a text, a number or a word.
    pub(crate) fn foreign_value(&mut self) -> Result<String> {
        self.expect_punct(TokenKind::Eq)?;
        if self.at_punct(TokenKind::Text) {
            return self.text_literal();
        }
        if !self.at_ident()
            && !self.at_punct(TokenKind::Int)
            && !self.at(K::DEFAULT)
            && !self.at(K::ON)
        {
            return Err(self.error_here());
        }
        let token = self.next();
        Ok(self.slice(token).to_string())
    }

    /// The value of DEFAULT: a literal with a sign, the time of now, or what stands in parentheses. MariaDB takes calls of
    /// functions too. An operator never follows, since NOT, ON and COLLATE behind it are the column's.
    pub(crate) fn default_value(&mut self) -> Result<DefaultValue> {
        if self.at_punct(TokenKind::LParen) {
            return self.parens(Self::expr).map(DefaultValue::Expr);
        }
        // DATE_ADD(...) prints with operators, which need the parentheses.
        self.plain_value().map(|value| match value.kind {
            ExprKind::Binary(..) | ExprKind::Chain(_) | ExprKind::Special(_) => {
                DefaultValue::Expr(value)
            }
            _ => DefaultValue::Value(value),
        })
    }

    /// A literal with its sign, or a call of a function.
    fn plain_value(&mut self) -> Result<Expr> {
        let start = self.start();
        let op = match self.kind() {
            TokenKind::Minus => Some(UnaryOp::Minus),
            TokenKind::Plus => Some(UnaryOp::Plus),
            _ => None,
        };
        if op.is_some() {
            self.next();
        }
        let inner = self.start();
        let kind = self.operand()?;
        if matches!(kind, ExprKind::Column(_)) {
            return Err(self.error_at(inner));
        }
        let value = Expr::new(kind, self.span_from(inner));
        Ok(match op {
            Some(op) => Expr::new(ExprKind::Unary(op, Box::new(value)), self.span_from(start)),
            None => value,
        })
    }
}

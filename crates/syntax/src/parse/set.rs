//! SET.

use super::Parser;
use crate::ast::{
    Account, Ident, Items, PasswordText, RoleChoice, Scope, SetItem, SetPassword, SetStatement,
    SetValue, StatementKind, UserVariable, VariableScope,
};
use crate::error::Result;
use crate::keyword::Keyword as K;
use crate::lexer::TokenKind;

fn set(statement: SetStatement) -> StatementKind {
    StatementKind::Set(Box::new(statement))
}

impl Parser<'_> {
    /// SET.
    pub(crate) fn set(&mut self) -> Result<StatementKind> {
        self.next();
        match self.keyword() {
            Some(K::PASSWORD) if !self.is_assigned(1) || !self.at_variable_value(2) => {
                self.next();
                return self.set_password();
            }
            Some(K::ROLE) if !self.is_assigned(1) => {
                self.next();
                return Ok(set(SetStatement::Role(self.role_choice()?)));
            }
            Some(K::DEFAULT) if self.eat_words("DEFAULT ROLE") => {
                let roles = self.role_choice()?;
                self.expect(K::TO)?;
                let users = self.comma_list(Self::account)?;
                return Ok(set(SetStatement::DefaultRole(roles, users)));
            }
            Some(K::RESOURCE) if self.eat_words("RESOURCE GROUP") => {
                let name = self.ident()?;
                let threads = if self.eat(K::FOR) {
                    self.comma_list(Self::uint)?
                } else {
                    Items::EMPTY
                };
                return Ok(set(SetStatement::ResourceGroup(name, threads)));
            }
            Some(K::TRANSACTION) if !self.is_assigned(1) => {
                self.next();
                return self.set_transaction(None);
            }
            Some(K::GLOBAL | K::SESSION | K::LOCAL)
                if self.at_nth(1, K::TRANSACTION) && !self.is_assigned(2) =>
            {
                let scope = self.scope();
                self.next();
                return self.set_transaction(scope);
            }
            _ => {}
        }
        if self.at_word("STATEMENT") && !self.is_assigned(1) {
            self.next();
            let items = self.comma_list(Self::set_item)?;
            self.expect(K::FOR)?;
            let statement = self.nested_by(super::cursor::QUERY, Self::statement)?;
            return Ok(set(SetStatement::Statement(items, Box::new(statement))));
        }
        Ok(set(SetStatement::Items(self.comma_list(Self::set_item)?)))
    }

    /// Whether the n-th token from here assigns, or is the dot of a qualified name.
    fn is_assigned(&self, n: usize) -> bool {
        matches!(
            self.kind_nth(n),
            TokenKind::Eq | TokenKind::Assign | TokenKind::Dot
        )
    }

    /// Whether the n-th token is no password's: SET PASSWORD = 'text' is not about a variable.
    fn at_variable_value(&self, n: usize) -> bool {
        !matches!(
            self.kind_nth(n),
            TokenKind::Text | TokenKind::Keyword(K::PASSWORD)
        ) && !self
            .slice(self.peek_nth(n))
            .eq_ignore_ascii_case("OLD_PASSWORD")
    }

    /// GLOBAL, SESSION, LOCAL, PERSIST, PERSIST_ONLY, if one is next.
    pub(crate) fn scope(&mut self) -> Option<Scope> {
        if self.eat(K::LOCAL) {
            return Some(Scope::Session);
        }
        self.choice()
    }

    pub(crate) fn set_item(&mut self) -> Result<SetItem> {
        if self.at_punct(TokenKind::UserVariable) {
            let name = UserVariable(self.user_variable()?);
            self.expect_assignment()?;
            return Ok(SetItem::User(name, self.expr()?));
        }
        if self.eat_punct(TokenKind::AtAt) {
            return self.set_system_variable();
        }
        if self.at(K::NAMES) && !self.is_assigned(1) {
            self.next();
            return self.set_names();
        }
        if self.eat_character_set() {
            let name = if self.eat(K::DEFAULT) {
                None
            } else {
                Some(self.charset_or_collation()?)
            };
            return Ok(SetItem::CharacterSet(name));
        }
        let scope = if self.is_assigned(1) {
            None
        } else {
            self.scope()
        };
        let first = self.ident()?;
        let (base, name) = self.qualified(first)?;
        self.expect_assignment()?;
        let value = self.set_value()?;
        Ok(SetItem::Variable {
            scope,
            system: false,
            base,
            name,
            value,
        })
    }

    fn qualified(&mut self, first: Ident) -> Result<(Option<Ident>, Ident)> {
        if self.eat_punct(TokenKind::Dot) {
            return Ok((Some(first), self.ident()?));
        }
        Ok((None, first))
    }

    fn set_system_variable(&mut self) -> Result<SetItem> {
        let variable = self.system_variable()?;
        self.expect_assignment()?;
        let value = self.set_value()?;
        let scope = variable.scope.map(|scope| match scope {
            VariableScope::Global => Scope::Global,
            VariableScope::Session => Scope::Session,
            VariableScope::Persist => Scope::Persist,
            VariableScope::PersistOnly => Scope::PersistOnly,
        });
        let (base, name) = (variable.component, variable.name);
        Ok(SetItem::Variable {
            scope,
            system: true,
            base,
            name,
            value,
        })
    }

    fn expect_assignment(&mut self) -> Result<()> {
        if self.eat_punct(TokenKind::Eq) || self.eat_punct(TokenKind::Assign) {
            return Ok(());
        }
        Err(self.error_here())
    }

    /// A value, which may be a word that begins no expression, or one that would begin another.
    fn set_value(&mut self) -> Result<SetValue> {
        if self.at(K::DEFAULT) && self.kind_nth(1) != TokenKind::LParen {
            self.next();
            return Ok(SetValue::Default);
        }
        let word = self.at_any(&[K::ON, K::ALL, K::SYSTEM])
            || self.at_any(&[K::BINARY, K::ROW])
                && matches!(
                    self.kind_nth(1),
                    TokenKind::Comma
                        | TokenKind::Semicolon
                        | TokenKind::End
                        | TokenKind::Keyword(K::FOR)
                );
        if word {
            return Ok(SetValue::Word(self.ident_here()));
        }
        self.expr().map(SetValue::Expr)
    }

    fn set_names(&mut self) -> Result<SetItem> {
        if self.eat(K::DEFAULT) {
            return Ok(SetItem::Names {
                charset: None,
                collation: None,
            });
        }
        let charset = Some(self.charset_name()?);
        let collation = if !self.eat(K::COLLATE) || self.eat(K::DEFAULT) {
            None
        } else {
            Some(self.collation_name()?)
        };
        Ok(SetItem::Names { charset, collation })
    }

    fn set_password(&mut self) -> Result<StatementKind> {
        let account: Option<Account> = if self.eat(K::FOR) {
            Some(self.account()?)
        } else {
            None
        };
        let password = if self.eat_words("TO RANDOM") {
            None
        } else {
            self.expect_assignment()?;
            Some(self.password_text()?)
        };
        let (replace, retain) = self.replaced_password()?;
        Ok(set(SetStatement::Password(SetPassword {
            account,
            password,
            replace,
            retain,
        })))
    }

    fn password_text(&mut self) -> Result<PasswordText> {
        if self.eat(K::PASSWORD) || self.eat_word("OLD_PASSWORD") {
            return self.parens(Self::text_literal).map(PasswordText::Function);
        }
        self.text_literal().map(PasswordText::Plain)
    }

    /// REPLACE 'password' RETAIN CURRENT PASSWORD, either or neither.
    pub(crate) fn replaced_password(&mut self) -> Result<(Option<String>, bool)> {
        let replace = if self.eat(K::REPLACE) {
            Some(self.text_literal()?)
        } else {
            None
        };
        Ok((replace, self.eat_words("RETAIN CURRENT PASSWORD")))
    }

    /// DEFAULT, NONE, ALL [EXCEPT roles], roles.
    pub(crate) fn role_choice(&mut self) -> Result<RoleChoice> {
        Ok(if self.eat(K::DEFAULT) {
            RoleChoice::Default
        } else if self.eat(K::NONE) {
            RoleChoice::None
        } else if self.eat(K::ALL) {
            let except = self.eat(K::EXCEPT);
            RoleChoice::AllExcept(if except {
                self.comma_list(Self::account)?
            } else {
                Items::EMPTY
            })
        } else {
            RoleChoice::Roles(self.comma_list(Self::account)?)
        })
    }
}

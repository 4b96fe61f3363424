//! Accounts, roles and privileges.

use super::Parser;
use super::create::Create;
use crate::ast::{
    Account, AccountStatement, Authentication, FactorChange, FactorVerb, Grant, GrantKind,
    GrantLevel, ObjectName, PasswordOption, Privilege, PrivilegeName, Require, ResourceLimit,
    Secret, StatementKind, StaticPrivilege, TlsRequirement, UserOptions, UserSpec,
};
use crate::error::Result;
use crate::keyword::Keyword as K;
use crate::lexer::TokenKind;

fn account(statement: AccountStatement) -> StatementKind {
    StatementKind::Account(Box::new(statement))
}

/// What a list of GRANT or REVOKE holds before it is known whether it is of privileges or of roles.
enum Item {
    Privilege(Privilege),
    Role(Account),
}

impl Parser<'_> {
    fn accounts(&mut self) -> Result<Vec<Account>> {
        self.comma_list(Self::account)
    }

    /// Behind CREATE USER.
    pub(crate) fn create_user(&mut self, create: Create) -> Result<StatementKind> {
        let if_not_exists = self.if_not_exists();
        let users = self.comma_list(Self::user_spec)?;
        let default_roles = if self.eat_words("DEFAULT ROLE") {
            self.accounts()?
        } else {
            Vec::new()
        };
        let options = self.user_options()?;
        let or_replace = create.or_replace;
        Ok(account(AccountStatement::CreateUser {
            or_replace,
            if_not_exists,
            users,
            default_roles,
            options,
        }))
    }

    /// Behind ALTER USER.
    pub(crate) fn alter_user(&mut self) -> Result<StatementKind> {
        let if_exists = self.if_exists();
        let users = if self.at(K::USER) && self.kind_nth(1) == TokenKind::LParen {
            self.next();
            // ALTER USER USER() is about oneself.
            self.parens(|_| Ok(()))?;
            vec![self.user_spec_of(Account::Current)?]
        } else {
            self.comma_list(Self::user_spec)?
        };
        let default_role = if self.eat_words("DEFAULT ROLE") {
            Some(self.role_choice()?)
        } else {
            None
        };
        let options = self.user_options()?;
        Ok(account(AccountStatement::AlterUser {
            if_exists,
            users,
            default_role,
            options,
        }))
    }

    fn user_spec(&mut self) -> Result<UserSpec> {
        let account = self.account()?;
        self.user_spec_of(account)
    }

    fn user_spec_of(&mut self, account: Account) -> Result<UserSpec> {
        let mut spec = UserSpec {
            account,
            authentication: Vec::new(),
            initial: None,
            discard_old: false,
            factors: Vec::new(),
        };
        if self.eat_words("DISCARD OLD PASSWORD") {
            spec.discard_old = true;
        } else if self.at(K::IDENTIFIED) {
            spec.authentication.push(self.authentication()?);
            while self.at_all(&[K::AND, K::IDENTIFIED]) || self.at(K::OR) {
                self.next();
                self.eat(K::IDENTIFIED);
                spec.authentication.push(self.authentication_rest()?);
            }
            if self.eat_words("INITIAL AUTHENTICATION") {
                spec.initial = Some(self.authentication()?);
            }
        } else {
            while let Some(change) = self.factor_change()? {
                spec.factors.push(change);
            }
        }
        Ok(spec)
    }

    fn authentication(&mut self) -> Result<Authentication> {
        self.expect(K::IDENTIFIED)?;
        self.authentication_rest()
    }

    /// Behind IDENTIFIED.
    fn authentication_rest(&mut self) -> Result<Authentication> {
        let plugin = if self.eat(K::WITH) || self.eat_word("VIA") {
            Some(self.ident_or_text()?)
        } else {
            None
        };
        let secret = if self.eat(K::BY) {
            if self.eat_words("RANDOM PASSWORD") {
                Secret::Random
            } else if self.eat(K::PASSWORD) {
                Secret::ByHash(self.text_literal()?)
            } else {
                Secret::By(self.text_literal()?)
            }
        } else if plugin.is_none() {
            return Err(self.error_here());
        } else if self.eat(K::AS) {
            Secret::As(self.text_literal()?)
        } else if self.eat(K::USING) {
            if self.eat(K::PASSWORD) {
                Secret::UsingFunction(self.parens(Self::text_literal)?)
            } else {
                Secret::As(self.text_literal()?)
            }
        } else {
            Secret::None
        };
        let (replace, retain) = self.replaced_password()?;
        Ok(Authentication {
            plugin,
            secret,
            replace,
            retain,
        })
    }

    fn factor_change(&mut self) -> Result<Option<FactorChange>> {
        if self.at_punct(TokenKind::Int) && self.at_nth(1, K::FACTOR) {
            let n = self.uint()?;
            self.next();
            return Ok(Some(if self.eat_words("INITIATE REGISTRATION") {
                FactorChange::InitiateRegistration(n)
            } else if self.eat(K::UNREGISTER) {
                FactorChange::Unregister(n)
            } else {
                self.expect_words("FINISH REGISTRATION SET CHALLENGE_RESPONSE AS")?;
                FactorChange::FinishRegistration(n, self.text_literal()?)
            }));
        }
        if self.eat(K::DROP) {
            let n = self.uint()?;
            self.expect(K::FACTOR)?;
            return Ok(Some(FactorChange::Drop(n)));
        }
        let Some(verb) = self.choice::<FactorVerb>() else {
            return Ok(None);
        };
        let n = self.uint()?;
        self.expect(K::FACTOR)?;
        Ok(Some(FactorChange::Set(verb, n, self.authentication()?)))
    }

    fn user_options(&mut self) -> Result<UserOptions> {
        let require = self.require()?;
        let limits = if self.eat(K::WITH) {
            self.limits()?
        } else {
            Vec::new()
        };
        let mut options = UserOptions {
            require,
            limits,
            ..UserOptions::default()
        };
        while let Some(option) = self.password_option()? {
            options.password.push(option);
        }
        if self.eat(K::COMMENT) {
            options.comment = Some(self.text_literal()?);
        } else if self.eat(K::ATTRIBUTE) {
            options.attribute = Some(self.text_literal()?);
        }
        Ok(options)
    }

    fn require(&mut self) -> Result<Option<Require>> {
        if !self.eat(K::REQUIRE) {
            return Ok(None);
        }
        if self.eat(K::NONE) {
            return Ok(Some(Require::None));
        }
        let mut list = vec![self.tls_requirement()?];
        while self.eat(K::AND) || self.at_any(&[K::SSL, K::X509, K::CIPHER, K::ISSUER, K::SUBJECT])
        {
            list.push(self.tls_requirement()?);
        }
        Ok(Some(Require::All(list)))
    }

    fn tls_requirement(&mut self) -> Result<TlsRequirement> {
        let word = self.eat_any(&[K::SSL, K::X509, K::CIPHER, K::ISSUER, K::SUBJECT]);
        Ok(match word {
            Some(K::SSL) => TlsRequirement::Ssl,
            Some(K::X509) => TlsRequirement::X509,
            Some(K::CIPHER) => TlsRequirement::Cipher(self.text_literal()?),
            Some(K::ISSUER) => TlsRequirement::Issuer(self.text_literal()?),
            Some(_) => TlsRequirement::Subject(self.text_literal()?),
            None => return Err(self.error_here()),
        })
    }

    /// One limit or more.
    fn limits(&mut self) -> Result<Vec<(ResourceLimit, u64)>> {
        let mut limits = vec![(self.expect_choice()?, self.uint()?)];
        while let Some(limit) = self.choice() {
            limits.push((limit, self.uint()?));
        }
        Ok(limits)
    }

    fn password_option(&mut self) -> Result<Option<PasswordOption>> {
        use PasswordOption as O;
        if let Some(lock) = self.yes_or_no("ACCOUNT LOCK", "ACCOUNT UNLOCK") {
            return Ok(Some(O::AccountLock(lock)));
        }
        if self.eat(K::FAILED_LOGIN_ATTEMPTS) {
            return Ok(Some(O::FailedLoginAttempts(self.uint()?)));
        }
        if self.eat(K::PASSWORD_LOCK_TIME) {
            let unbounded = self.eat(K::UNBOUNDED);
            return Ok(Some(O::LockTime(if unbounded {
                None
            } else {
                Some(self.uint()?)
            })));
        }
        if !self.eat(K::PASSWORD) {
            return Ok(None);
        }
        Ok(Some(if self.eat_words("HISTORY") {
            O::History(self.equals_number_or_default()?)
        } else if self.eat_words("REUSE INTERVAL") {
            O::ReuseInterval(if self.eat(K::DEFAULT) {
                None
            } else {
                Some(self.days()?)
            })
        } else if self.eat_words("REQUIRE CURRENT") {
            if self.eat(K::DEFAULT) {
                O::RequireCurrentDefault
            } else if self.eat(K::OPTIONAL) {
                O::RequireCurrentOptional
            } else {
                O::RequireCurrent
            }
        } else {
            self.expect(K::EXPIRE)?;
            if self.eat(K::DEFAULT) {
                O::ExpireDefault
            } else if self.eat(K::NEVER) {
                O::ExpireNever
            } else if self.eat(K::INTERVAL) {
                O::ExpireInterval(self.days()?)
            } else {
                O::Expire
            }
        }))
    }

    /// `n DAY`
    fn days(&mut self) -> Result<u64> {
        let n = self.uint()?;
        self.expect(K::DAY)?;
        Ok(n)
    }

    /// Behind DROP USER.
    pub(crate) fn drop_user(&mut self) -> Result<StatementKind> {
        let if_exists = self.if_exists();
        Ok(account(AccountStatement::DropUser {
            if_exists,
            users: self.accounts()?,
        }))
    }

    /// Behind RENAME USER.
    pub(crate) fn rename_user(&mut self) -> Result<StatementKind> {
        let pairs = self.comma_list(|p| {
            let from = p.account()?;
            p.expect(K::TO)?;
            Ok((from, p.account()?))
        })?;
        Ok(account(AccountStatement::RenameUser(pairs)))
    }

    /// Behind CREATE ROLE.
    pub(crate) fn create_role(&mut self, create: Create) -> Result<StatementKind> {
        let if_not_exists = self.if_not_exists();
        let (or_replace, roles) = (create.or_replace, self.accounts()?);
        Ok(account(AccountStatement::CreateRole {
            or_replace,
            if_not_exists,
            roles,
        }))
    }

    /// Behind DROP ROLE.
    pub(crate) fn drop_role(&mut self) -> Result<StatementKind> {
        let if_exists = self.if_exists();
        Ok(account(AccountStatement::DropRole {
            if_exists,
            roles: self.accounts()?,
        }))
    }

    /// GRANT.
    pub(crate) fn grant(&mut self) -> Result<StatementKind> {
        self.next();
        let what = self.granted()?;
        self.expect(K::TO)?;
        let to = self.comma_list(Self::user_spec)?;
        let require = self.require()?;
        let roles = matches!(what, Grant::Roles(_));
        let (mut with_option, mut limits) = (false, Vec::new());
        if self.eat(K::WITH) {
            if roles {
                self.expect_words("ADMIN OPTION")?;
                with_option = true;
            } else {
                (with_option, limits) = self.grant_options()?;
            }
        }
        let grantor = if !roles && self.eat(K::AS) {
            let user = self.account()?;
            let roles = if self.eat_words("WITH ROLE") {
                Some(self.role_choice()?)
            } else {
                None
            };
            Some((user, roles))
        } else {
            None
        };
        Ok(account(AccountStatement::Grant {
            what,
            to,
            require,
            with_option,
            limits,
            grantor,
        }))
    }

    /// GRANT OPTION and limits, in any order, one at least.
    fn grant_options(&mut self) -> Result<(bool, Vec<(ResourceLimit, u64)>)> {
        let (mut option, mut limits) = (false, Vec::new());
        loop {
            if self.eat_words("GRANT OPTION") {
                option = true;
            } else if let Some(limit) = self.choice() {
                limits.push((limit, self.uint()?));
            } else if option || !limits.is_empty() {
                return Ok((option, limits));
            } else {
                return Err(self.error_here());
            }
        }
    }

    /// What is granted or revoked, up to TO or FROM.
    fn granted(&mut self) -> Result<Grant> {
        if self.eat_words("PROXY ON") {
            return self.account().map(Grant::Proxy);
        }
        if self.at(K::ALL) {
            self.next();
            self.eat(K::PRIVILEGES);
            self.expect(K::ON)?;
            return self.granted_on(Vec::new());
        }
        let start = self.start();
        let items = self.comma_list(Self::granted_item)?;
        if self.eat(K::ON) {
            let privileges: Option<Vec<_>> = items.into_iter().map(Item::privilege).collect();
            let privileges = privileges.ok_or_else(|| self.error_at(start))?;
            return self.granted_on(privileges);
        }
        let roles: Option<Vec<_>> = items.into_iter().map(Item::role).collect();
        roles.map(Grant::Roles).ok_or_else(|| self.error_here())
    }

    fn granted_item(&mut self) -> Result<Item> {
        if let Some(name) = self.choice::<StaticPrivilege>() {
            let columns = self.optional_ident_list()?;
            return Ok(Item::Privilege(Privilege {
                name: PrivilegeName::Static(name),
                columns,
            }));
        }
        let role = self.account()?;
        if let (Account::Named { user, host: None }, TokenKind::LParen) = (&role, self.kind()) {
            let name = PrivilegeName::Dynamic(user.clone());
            return Ok(Item::Privilege(Privilege {
                name,
                columns: self.ident_list()?,
            }));
        }
        Ok(Item::Role(role))
    }

    /// Behind ON.
    fn granted_on(&mut self, privileges: Vec<Privilege>) -> Result<Grant> {
        let kind = self.choice::<GrantKind>();
        let on = self.grant_level()?;
        Ok(Grant::Privileges {
            privileges,
            kind,
            on,
        })
    }

    fn grant_level(&mut self) -> Result<GrantLevel> {
        if self.eat_punct(TokenKind::Star) {
            if self.eat_punct(TokenKind::Dot) {
                self.expect_punct(TokenKind::Star)?;
                return Ok(GrantLevel::Global);
            }
            return Ok(GrantLevel::Current);
        }
        let first = self.ident()?;
        if !self.eat_punct(TokenKind::Dot) {
            return Ok(GrantLevel::Object(ObjectName {
                database: None,
                name: first,
            }));
        }
        if self.eat_punct(TokenKind::Star) {
            return Ok(GrantLevel::Database(first));
        }
        Ok(GrantLevel::Object(ObjectName {
            database: Some(first),
            name: self.ident()?,
        }))
    }

    /// REVOKE.
    pub(crate) fn revoke(&mut self) -> Result<StatementKind> {
        self.next();
        let if_exists = self.if_exists();
        let admin_option = self.eat_words("ADMIN OPTION FOR");
        let all = self.eat_words("ALL PRIVILEGES") || self.eat_words("ALL");
        let what = if all && self.eat_punct(TokenKind::Comma) {
            self.expect_words("GRANT OPTION")?;
            None
        } else if all {
            self.expect(K::ON)?;
            Some(self.granted_on(Vec::new())?)
        } else {
            Some(self.granted()?)
        };
        self.expect(K::FROM)?;
        let from = self.accounts()?;
        let ignore_unknown = self.eat_words("IGNORE UNKNOWN USER");
        Ok(account(AccountStatement::Revoke {
            if_exists,
            what,
            admin_option,
            from,
            ignore_unknown,
        }))
    }
}

impl Item {
    /// As a privilege.
    fn privilege(self) -> Option<Privilege> {
        match self {
            Item::Privilege(privilege) => Some(privilege),
            Item::Role(Account::Named { user, host: None }) => Some(Privilege {
                name: PrivilegeName::Dynamic(user),
                columns: Vec::new(),
            }),
            Item::Role(_) => None,
        }
    }

    /// As a role. (A role may have the name of a privilege that is no reserved word; MySQL has it quoted then.)
    fn role(self) -> Option<Account> {
        match self {
            Item::Role(role) => Some(role),
            Item::Privilege(_) => None,
        }
    }
}

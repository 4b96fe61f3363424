//! Accounts, roles and privileges.

use super::Parser;
use super::create::Create;
use crate::ast::{
    Account, AccountStatement, Authentication, FactorChange, FactorVerb, Grant, GrantKind,
    GrantLevel, Items, ObjectName, PasswordOption, Privilege, PrivilegeName, Require,
    ResourceLimit, Secret, StatementKind, StaticPrivilege, TlsRequirement, UserOptions, UserSpec,
};
use crate::error::Result;
use crate::keyword::Keyword as K;
use crate::lexer::TokenKind;

fn account(statement: AccountStatement) -> StatementKind {
    StatementKind::Account(Box::new(statement))
}

/// What a list of GRANT or REVOKE holds before it is known whether it is of privileges or of roles.
enum Granted {
    Privilege(Privilege),
    Role(Account),
}

impl Parser<'_> {
    fn accounts(&mut self) -> Result<Items<Account>> {
        self.comma_list(Self::account)
    }

    /// Behind CREATE USER.
    pub(crate) fn create_user(&mut self, create: Create) -> Result<StatementKind> {
        let if_not_exists = self.if_not_exists();
        let users = self.comma_list(Self::user_spec)?;
        let default_roles = if self.eat_words("DEFAULT ROLE") {
            self.accounts()?
        } else {
            Items::EMPTY
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
            vec![self.user_spec_of(Account::Current)?].into()
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

    pub(super) fn user_spec(&mut self) -> Result<UserSpec> {
        let account = self.account()?;
        self.user_spec_of(account)
    }

    fn user_spec_of(&mut self, account: Account) -> Result<UserSpec> {
        let mut spec = UserSpec {
            account,
            authentication: Items::EMPTY,
            initial: None,
            discard_old: false,
            factors: Items::EMPTY,
        };
        if self.eat_words("DISCARD OLD PASSWORD") {
            spec.discard_old = true;
        } else if self.at(K::IDENTIFIED) {
            let mut first = true;
            spec.authentication = self.row_of(|p| {
                let more =
                    std::mem::take(&mut first) || p.at_all(&[K::AND, K::IDENTIFIED]) || p.at(K::OR);
                more.then(|| p.factor()).transpose()
            })?;
            if self.eat_words("INITIAL AUTHENTICATION") {
                spec.initial = Some(self.authentication()?);
            }
        } else {
            spec.factors = self.row_of(Self::factor_change)?;
        }
        Ok(spec)
    }

    /// One of several authentications, with the word before it.
    pub(super) fn factor(&mut self) -> Result<Authentication> {
        if self.eat_any(&[K::AND, K::OR]).is_some() {
            self.eat(K::IDENTIFIED);
            return self.authentication_rest();
        }
        self.authentication()
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

    pub(super) fn factor_change(&mut self) -> Result<Option<FactorChange>> {
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
            Items::EMPTY
        };
        let mut options = UserOptions {
            require,
            limits,
            ..UserOptions::default()
        };
        options.password = self.row_of(Self::password_option)?;
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
        let mut more = true;
        let list = self.row_of(|p| {
            if !std::mem::take(&mut more) {
                return Ok(None);
            }
            let requirement = p.tls_requirement()?;
            more = p.eat(K::AND) || p.at_any(&[K::SSL, K::X509, K::CIPHER, K::ISSUER, K::SUBJECT]);
            Ok(Some(requirement))
        })?;
        Ok(Some(Require::All(list)))
    }

    pub(super) fn tls_requirement(&mut self) -> Result<TlsRequirement> {
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
    fn limits(&mut self) -> Result<Items<(ResourceLimit, u64)>> {
        let mut first = true;
        self.row_of(|p| {
            if std::mem::take(&mut first) {
                return p.resource_limit().map(Some);
            }
            p.maybe_limit()
        })
    }

    pub(super) fn resource_limit(&mut self) -> Result<(ResourceLimit, u64)> {
        Ok((self.expect_choice()?, self.uint()?))
    }

    fn maybe_limit(&mut self) -> Result<Option<(ResourceLimit, u64)>> {
        match self.choice() {
            Some(limit) => Ok(Some((limit, self.uint()?))),
            None => Ok(None),
        }
    }

    pub(super) fn password_option(&mut self) -> Result<Option<PasswordOption>> {
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
        let pairs = self.comma_list(Self::renamed_account)?;
        Ok(account(AccountStatement::RenameUser(pairs)))
    }

    /// An account and its new name.
    pub(super) fn renamed_account(&mut self) -> Result<(Account, Account)> {
        let from = self.account()?;
        self.expect(K::TO)?;
        Ok((from, self.account()?))
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
        let (mut with_option, mut limits) = (false, Items::EMPTY);
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
    fn grant_options(&mut self) -> Result<(bool, Items<(ResourceLimit, u64)>)> {
        let mut option = false;
        let limits = self.row_of(|p| {
            while p.eat_words("GRANT OPTION") {
                option = true;
            }
            p.maybe_limit()
        })?;
        if !option && limits.is_empty() {
            return Err(self.error_here());
        }
        Ok((option, limits))
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
            return self.granted_on(Items::EMPTY);
        }
        let start = self.start();
        // Which of the two they are is known behind them.
        let list = self.mark();
        let (mut privileges, mut roles) = (true, true);
        loop {
            match self.granted_item()? {
                Granted::Privilege(_) => roles = false,
                Granted::Role(Account::Named { host: None, .. }) => {}
                Granted::Role(_) => privileges = false,
            }
            if !self.eat_punct(TokenKind::Comma) {
                break;
            }
        }
        if self.at(K::ON) {
            if !privileges {
                return Err(self.error_at(start));
            }
            self.reset(list);
            let privileges = self.comma_list(Self::privilege)?;
            self.expect(K::ON)?;
            return self.granted_on(privileges);
        }
        if !roles {
            return Err(self.error_here());
        }
        self.reset(list);
        self.accounts().map(Grant::Roles)
    }

    /// A privilege.
    pub(super) fn privilege(&mut self) -> Result<Privilege> {
        let start = self.start();
        match self.granted_item()? {
            Granted::Privilege(privilege) => Ok(privilege),
            Granted::Role(Account::Named { user, host: None }) => Ok(Privilege {
                name: PrivilegeName::Dynamic(user),
                columns: Items::EMPTY,
            }),
            Granted::Role(_) => Err(self.error_at(start)),
        }
    }

    fn granted_item(&mut self) -> Result<Granted> {
        if let Some(name) = self.choice::<StaticPrivilege>() {
            let columns = self.optional_ident_list()?;
            return Ok(Granted::Privilege(Privilege {
                name: PrivilegeName::Static(name),
                columns,
            }));
        }
        let role = self.account()?;
        if let (Account::Named { user, host: None }, TokenKind::LParen) = (&role, self.kind()) {
            let name = PrivilegeName::Dynamic(user.clone());
            return Ok(Granted::Privilege(Privilege {
                name,
                columns: self.ident_list()?,
            }));
        }
        Ok(Granted::Role(role))
    }

    /// Behind ON.
    fn granted_on(&mut self, privileges: Items<Privilege>) -> Result<Grant> {
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
            Some(self.granted_on(Items::EMPTY)?)
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

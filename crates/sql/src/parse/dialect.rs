//! sqlparser's MySQL dialect with MySQL's own precedences, the operators it lacks, and the sql_mode
//! bits that change how text is read.

use std::any::TypeId;

use sqlparser::ast::{
    BinaryOperator, CastKind, DataType, DateTimeField, Expr, Function, FunctionArg,
    FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident, Interval, ObjectName,
    Statement, UnaryOperator,
};
use sqlparser::dialect::{Dialect, MySqlDialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use crate::session::env::SqlMode;

/// The dialect of a session.
#[derive(Debug)]
pub struct MillpondDialect {
    base: MySqlDialect,
    ansi_quotes: bool,
    backslash: bool,
}

impl MillpondDialect {
    /// For a session's sql_mode.
    pub fn new(mode: SqlMode) -> MillpondDialect {
        MillpondDialect {
            base: MySqlDialect {},
            ansi_quotes: mode.ansi_quotes,
            backslash: !mode.no_backslash_escapes,
        }
    }
}

const BITWISE_XOR: u8 = 45;
const UNARY: u8 = 48;
const SHIFT: u8 = 28;
const ASSIGN: u8 = 2;

/// Whether the token is this unquoted word.
fn is_word(t: &Token, word: &str) -> bool {
    matches!(t, Token::Word(w) if w.quote_style.is_none() && w.value.eq_ignore_ascii_case(word))
}

impl Dialect for MillpondDialect {
    // sqlparser asks by type whether it reads MySQL.
    fn dialect(&self) -> TypeId {
        TypeId::of::<MySqlDialect>()
    }
    fn is_identifier_start(&self, ch: char) -> bool {
        self.base.is_identifier_start(ch)
    }
    fn is_identifier_part(&self, ch: char) -> bool {
        self.base.is_identifier_part(ch)
    }
    fn is_delimited_identifier_start(&self, ch: char) -> bool {
        ch == '`' || (self.ansi_quotes && ch == '"')
    }
    fn identifier_quote_style(&self, identifier: &str) -> Option<char> {
        self.base.identifier_quote_style(identifier)
    }
    fn supports_string_literal_backslash_escape(&self) -> bool {
        self.backslash
    }
    fn supports_string_literal_concatenation(&self) -> bool {
        true
    }
    fn ignores_wildcard_escapes(&self) -> bool {
        true
    }
    fn supports_numeric_prefix(&self) -> bool {
        true
    }
    fn supports_bitwise_shift_operators(&self) -> bool {
        true
    }
    fn supports_multiline_comment_hints(&self) -> bool {
        // Version comments are opened before tokenising.
        false
    }
    fn require_interval_qualifier(&self) -> bool {
        true
    }
    fn supports_limit_comma(&self) -> bool {
        true
    }
    fn supports_create_table_select(&self) -> bool {
        true
    }
    fn supports_create_table_like_parenthesized(&self) -> bool {
        true
    }
    fn supports_insert_set(&self) -> bool {
        true
    }
    fn is_table_factor_alias(&self, explicit: bool, kw: &Keyword, parser: &mut Parser) -> bool {
        self.base.is_table_factor_alias(explicit, kw, parser)
    }
    fn supports_table_hints(&self) -> bool {
        true
    }
    fn requires_single_line_comment_whitespace(&self) -> bool {
        true
    }
    fn supports_match_against(&self) -> bool {
        true
    }
    fn supports_select_modifiers(&self) -> bool {
        true
    }
    fn supports_update_order_by(&self) -> bool {
        true
    }
    fn supports_data_type_signed_suffix(&self) -> bool {
        true
    }
    fn supports_cross_join_constraint(&self) -> bool {
        true
    }
    fn supports_double_ampersand_operator(&self) -> bool {
        true
    }
    fn allow_extract_custom(&self) -> bool {
        true
    }
    fn supports_comment_optimizer_hint(&self) -> bool {
        true
    }
    fn supports_constraint_keyword_without_name(&self) -> bool {
        true
    }
    fn supports_key_column_option(&self) -> bool {
        true
    }
    fn supports_group_by_with_modifier(&self) -> bool {
        true
    }
    fn supports_left_associative_joins_without_parens(&self) -> bool {
        self.base.supports_left_associative_joins_without_parens()
    }

    fn parse_statement(&self, _parser: &mut Parser) -> Option<Result<Statement, ParserError>> {
        None
    }

    fn prec_value(&self, prec: Precedence) -> u8 {
        match prec {
            Precedence::Period => 100,
            Precedence::DoubleColon => 50,
            Precedence::AtTz => 41,
            Precedence::MulDivModOp => 40,
            Precedence::PlusMinus => 30,
            Precedence::Ampersand => 26,
            Precedence::Caret => BITWISE_XOR,
            Precedence::Pipe | Precedence::Colon | Precedence::PgOther => 25,
            // A predicate is an operand of a comparison: `a = b LIKE c` is `a = (b LIKE c)`.
            Precedence::Between | Precedence::Like => 22,
            Precedence::Eq | Precedence::Is => 20,
            Precedence::UnaryNot => 15,
            Precedence::And => 10,
            Precedence::Xor => 7,
            Precedence::Or => 5,
        }
    }

    fn get_next_precedence(&self, parser: &Parser) -> Option<Result<u8, ParserError>> {
        match &parser.peek_token_ref().token {
            Token::ShiftLeft | Token::ShiftRight => Some(Ok(SHIFT)),
            Token::Assignment => Some(Ok(ASSIGN)),
            // `!` is no postfix operator here.
            Token::ExclamationMark => Some(Ok(0)),
            Token::Arrow | Token::LongArrow => Some(Ok(60)),
            t if is_word(t, "MOD") => Some(Ok(self.prec_value(Precedence::MulDivModOp))),
            t if is_word(t, "SOUNDS") && is_word(&parser.peek_nth_token_ref(1).token, "LIKE") => {
                Some(Ok(self.prec_value(Precedence::Like)))
            }
            _ => None,
        }
    }

    fn parse_infix(
        &self,
        parser: &mut Parser,
        expr: &Expr,
        precedence: u8,
    ) -> Option<Result<Expr, ParserError>> {
        if is_word(&parser.peek_token_ref().token, "MOD") {
            parser.advance_token();
            return Some(
                parser
                    .parse_subexpr(precedence)
                    .map(|right| Expr::BinaryOp {
                        left: Box::new(expr.clone()),
                        op: BinaryOperator::Modulo,
                        right: Box::new(right),
                    }),
            );
        }
        if is_word(&parser.peek_token_ref().token, "SOUNDS") {
            parser.advance_token();
            parser.advance_token();
            let right = parser.parse_subexpr(precedence);
            return Some(right.map(|right| Expr::BinaryOp {
                left: Box::new(call("soundex", vec![expr.clone()])),
                op: BinaryOperator::Eq,
                right: Box::new(call("soundex", vec![right])),
            }));
        }
        for (word, op) in [
            (Keyword::OR, BinaryOperator::Or),
            (Keyword::AND, BinaryOperator::And),
        ] {
            if parser.peek_keyword(word) {
                return Some(chain(parser, expr, precedence, word, &op));
            }
        }
        self.base.parse_infix(parser, expr, precedence)
    }

    fn parse_prefix(&self, parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
        let sign = match &parser.peek_token_ref().token {
            Token::ExclamationMark => Some(UnaryOperator::Not),
            Token::Minus => Some(UnaryOperator::Minus),
            Token::Plus => Some(UnaryOperator::Plus),
            Token::Tilde => Some(UnaryOperator::BitwiseNot),
            _ => None,
        };
        if let Some(op) = sign {
            parser.advance_token();
            let operand = parser.parse_subexpr(UNARY);
            return Some(operand.map(|e| Expr::UnaryOp {
                op,
                expr: Box::new(e),
            }));
        }
        match &parser.peek_token_ref().token {
            t if is_word(t, "BINARY") => {
                parser.advance_token();
                Some(parser.parse_subexpr(UNARY).map(|e| Expr::Cast {
                    kind: CastKind::Cast,
                    expr: Box::new(e),
                    data_type: DataType::Binary(None),
                    format: None,
                }))
            }
            t if is_word(t, "INTERVAL") => Some(interval(parser)),
            t if is_word(t, "CHAR") && parser.peek_nth_token_ref(1).token == Token::LParen => {
                Some(characters(parser))
            }
            _ => None,
        }
    }
}

/// `a OR b OR c ...` as a balanced tree, so that what walks it goes as deep as the logarithm of its length.
fn chain(
    parser: &mut Parser,
    first: &Expr,
    precedence: u8,
    word: Keyword,
    op: &BinaryOperator,
) -> Result<Expr, ParserError> {
    let mut operands = vec![Some(first.clone())];
    while parser.parse_keyword(word) {
        operands.push(Some(parser.parse_subexpr(precedence)?));
    }
    fn balance(list: &mut [Option<Expr>], op: &BinaryOperator) -> Option<Expr> {
        if let [one] = list {
            return one.take();
        }
        let (left, right) = list.split_at_mut(list.len() / 2);
        Some(Expr::BinaryOp {
            left: Box::new(balance(left, op)?),
            op: op.clone(),
            right: Box::new(balance(right, op)?),
        })
    }
    balance(&mut operands, op)
        .ok_or_else(|| ParserError::ParserError("an operator without operands".into()))
}

fn call(name: &str, args: Vec<Expr>) -> Expr {
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new(name)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: args
                .into_iter()
                .map(|e| FunctionArg::Unnamed(FunctionArgExpr::Expr(e)))
                .collect(),
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

/// `CHAR(n, ... [USING charset])`.
fn characters(parser: &mut Parser) -> Result<Expr, ParserError> {
    parser.advance_token();
    parser.expect_token(&Token::LParen)?;
    let args = parser.parse_comma_separated(Parser::parse_expr)?;
    let charset = if parser.parse_keyword(Keyword::USING) {
        Some(parser.parse_object_name(false)?)
    } else {
        None
    };
    parser.expect_token(&Token::RParen)?;
    let bytes = call("char", args);
    Ok(match charset {
        None => bytes,
        Some(charset) => Expr::Convert {
            is_try: false,
            expr: Box::new(bytes),
            data_type: None,
            charset: Some(charset),
            target_before_value: false,
            styles: Vec::new(),
        },
    })
}

/// `INTERVAL expr unit`, or the function `INTERVAL(n, a, b, ...)`.
fn interval(parser: &mut Parser) -> Result<Expr, ParserError> {
    let word = parser.next_token();
    let value = parser.parse_expr()?;
    let unit = match &parser.peek_token_ref().token {
        Token::Word(w) if w.quote_style.is_none() => interval_unit(&w.value),
        _ => None,
    };
    if let Some(unit) = unit {
        parser.advance_token();
        return Ok(Expr::Interval(Interval {
            value: Box::new(value),
            leading_field: Some(unit),
            leading_precision: None,
            last_field: None,
            fractional_seconds_precision: None,
        }));
    }
    match value {
        Expr::Tuple(args) => Ok(call("interval", args)),
        _ => {
            let found = parser.peek_token();
            drop(word);
            parser.expected("an interval unit", found)
        }
    }
}

fn interval_unit(word: &str) -> Option<DateTimeField> {
    let upper = word.to_ascii_uppercase();
    Some(match upper.as_str() {
        "MICROSECOND" => DateTimeField::Microsecond,
        "SECOND" => DateTimeField::Second,
        "MINUTE" => DateTimeField::Minute,
        "HOUR" => DateTimeField::Hour,
        "DAY" => DateTimeField::Day,
        "WEEK" => DateTimeField::Week(None),
        "MONTH" => DateTimeField::Month,
        "QUARTER" => DateTimeField::Quarter,
        "YEAR" => DateTimeField::Year,
        "SECOND_MICROSECOND" | "MINUTE_MICROSECOND" | "MINUTE_SECOND" | "HOUR_MICROSECOND"
        | "HOUR_SECOND" | "HOUR_MINUTE" | "DAY_MICROSECOND" | "DAY_SECOND" | "DAY_MINUTE"
        | "DAY_HOUR" | "YEAR_MONTH" => DateTimeField::Custom(Ident::new(upper)),
        _ => return None,
    })
}

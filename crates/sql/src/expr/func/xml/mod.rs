//! ExtractValue and UpdateXML: XPath on documents given as texts.
//!
//! A call parses its expression and its document, which are values like any others; nothing is kept between calls. Both are bounded: how
//! deep and long an expression may be, how many nodes a document has and a step finds (see the files).
//!
//! | file | owns |
//! |---|---|
//! | `document` | documents as lists of nodes |
//! | `path` | XPath expressions as trees |
//! | `evaluate` | what an expression says of a document |

mod document;
mod evaluate;
mod path;

use super::call::bytes;
use super::{Call, Computed, Exit, Follows, Function, Null, row};
use crate::error::SqlError;
use evaluate::Evaluation;
use path::{Item, Wrong};

#[rustfmt::skip]
pub(super) const FUNCTIONS: &[Function] = &[
    row("EXTRACTVALUE", 2..=2, |t| t.text(t.lengths().max(LEAST)), extract_value).null(Null::Maybe).follows(Follows::Statement),
    row("UPDATEXML", 3..=3, |t| t.text(t.lengths().max(LEAST)), update_xml).null(Null::Maybe).follows(Follows::Statement),
];

/// Characters that a result has room for at least.
const LEAST: u32 = 65_535;

/// Most characters of an expression that a message shows.
const SHOWN: usize = 32;

fn extract_value<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let (text, item) = (c.text(0)?, expression(c)?);
    let nodes = document(c, &text)?;
    let value = evaluation(c, &nodes).value(&item, None)?;
    match value {
        v if v.is_null() => Err(Exit::Null),
        v => bytes(v.to_text().into_owned()),
    }
}

fn update_xml<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let (text, item, new) = (c.text(0)?, expression(c)?, c.text(2)?);
    let nodes = document(c, &text)?;
    if !item.is_nodes() {
        return Err(Exit::Null);
    }
    let found = evaluation(c, &nodes).nodes_of(&item, None)?;
    let [one] = found[..] else {
        return bytes(text.into_owned());
    };
    let (from, to) = nodes[one.node].span;
    let mut out = Vec::with_capacity(text.len() + new.len());
    c.append(&mut out, &text[..from])?;
    c.append(&mut out, &new)?;
    c.append(&mut out, &text[to..])?;
    bytes(out)
}

fn evaluation<'e>(c: &'e Call<'_, '_>, nodes: &'e [document::Node<'e>]) -> Evaluation<'e> {
    Evaluation {
        nodes,
        cx: c.cx,
        collation: c.collation(),
        looked_at: Default::default(),
    }
}

/// NULL with warning 1525 if a text is no document.
fn document<'t>(c: &Call<'_, '_>, text: &'t [u8]) -> Result<Vec<document::Node<'t>>, Exit> {
    document::read(text).map_err(|wrong| {
        let m = format!("Incorrect XML value: '{wrong}'");
        c.cx.session.warn(1525, m);
        Exit::Null
    })
}

fn expression(c: &Call<'_, '_>) -> Result<Item, Exit> {
    let text = c.text(1)?;
    let rest = |at: usize| {
        let rest = String::from_utf8_lossy(&text[at.min(text.len())..]);
        rest.chars().take(SHOWN).collect::<String>()
    };
    path::parse(&text).map_err(|wrong| {
        let m = match wrong {
            Wrong::At(at) => format!("XPATH syntax error: '{}'", rest(at)),
            Wrong::TwoSets(at) => format!(
                "XPATH error: comparison of two nodesets is not supported: '{}'",
                rest(at)
            ),
            Wrong::Variable(at) => format!("Unknown XPATH variable at: '{}'", rest(at)),
            Wrong::TooLarge => "XPATH error: the expression is too deep or too long".into(),
        };
        SqlError::new(1105, m).into()
    })
}

//! The status page: what the server does, drawn by a browser that asks for the figures once a second.
//!
//! | file | owns |
//! |---|---|
//! | `figures` | `/status.json`: all that the page shows |
//! | `seconds` | the stall record's ticks, by second |
//! | `page.html`, `page.js`, `page.css` | the page: no outside resource, no inline script or style |
//!
//! Statements appear by digest and DDL by what it is about; no text of a statement does, for there may be a password in it.

mod figures;
mod seconds;

use super::http::Page;
use millpond_session::Instance;

const HTML: &str = include_str!("page.html");
const SCRIPT: &str = include_str!("page.js");
const STYLE: &str = include_str!("page.css");

/// What makes the page at a path, if there is one.
pub(super) fn page<'a>(instance: &'a Instance, path: &str) -> Option<impl FnOnce() -> Page + 'a> {
    type Body = fn(&Instance) -> String;
    let (kind, body): (&'static str, Body) = match path {
        "/" => ("text/html; charset=utf-8", |_| HTML.into()),
        "/status.js" => ("text/javascript; charset=utf-8", |_| SCRIPT.into()),
        "/status.css" => ("text/css; charset=utf-8", |_| {
            [millpond_page::STYLE, STYLE].concat()
        }),
        "/status.json" => ("application/json", |instance| {
            figures::figures(instance).to_string()
        }),
        _ => return None,
    };
    Some(move || Page {
        kind,
        body: body(instance),
    })
}

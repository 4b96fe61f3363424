//! What Millpond's pages have in common, the lab's reports and the server's status page: colours in light and dark, type, tables, cards,
//! charts. It knows nothing of what stands on a page, and needs no other crate.

/// The style sheet. Lines and bars are of the classes `c0` to `c8` and `b0` to `b8`, small text beside them of `f0` to `f8`, which has the
/// contrast of WCAG AA on the page and on cards.
pub const STYLE: &str = include_str!("style.css");

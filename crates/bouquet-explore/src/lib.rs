//! The explorer: Bloom filters on a page of the browser.
//!
//! | part | what it knows |
//! |---|---|
//! | [`engine`] | questions and answers: everything that is computed, by the library; no browser, no network |
//! | [`server`] | HTTP on the loopback interface, the token, who may ask |
//! | [`page`] | the page itself, which is part of the program |
//! | [`formula`], [`markdown`] | texts of kinds as HTML, formulas as MathML |

pub mod engine;
pub mod formula;
pub mod markdown;
pub mod page;
pub mod server;

//! The settings of `complement`.

use crate::accuracy::witness::Component;
use crate::kind::{Parameter, common};
use crate::shell::{ByRate, Choice, Fields, Settings, choices, fields};

/// What the second filter holds.
///
/// ```
/// use bouquet::{Complement, ComplementSettings, accuracy::complement::Form};
/// let settings = |form| ComplementSettings { items: Some(1_000), others: Some(9_000), form: Some(form), ..Default::default() };
/// let (full, petit) = (Complement::with(settings(Form::Full))?, Complement::with(settings(Form::Petit))?);
/// assert!(petit.stats().bits < full.stats().bits / 4);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Every other key of the universe.
    Full,
    /// Those that the main filter accepts.
    Petit,
}

choices!(Form { Full = "full", Petit = "petit" });

pub(super) const ITEMS: Parameter = Parameter { help: "distinct members that the filter is made for", ..common::ITEMS };
pub(super) const OTHERS: Parameter = Parameter {
    name: "others",
    help: "other keys of the universe that it is made for; as many as are known when it is built, or as items",
    ..common::ITEMS
};
pub(super) const FPR: Parameter = Parameter { help: "share of questions that it leaves undetermined", ..common::FPR };
pub(super) const BITS: Parameter =
    Parameter { help: "size of both filters in cells, instead of a share", ..common::BITS };
pub(super) const MAIN_BITS: Parameter =
    Parameter { name: "main-bits", help: "cells of the main filter; the best split when not given", ..common::BITS };
pub(super) const MEMBER_SHARE: Parameter = Parameter::real(
    "member-share",
    "share of questions about members, for the best split; that of members in the universe when not given",
    0.0,
    1.0,
);
pub(super) const FORM: Parameter = Parameter::choice(
    "form",
    "what the second filter holds: all other keys, or (petit) those that the main filter accepts",
    Form::WORDS,
);
pub(super) const CELLS: Parameter =
    Parameter::choice("cells", "bits, or counters that let keys be moved", Component::WORDS);
pub(super) const HASHES: Parameter =
    Parameter { help: "positions per key in the main filter; the best number when not given", ..common::HASHES };
pub(super) const OTHER_HASHES: Parameter = Parameter {
    name: "other-hashes",
    help: "positions per key in the second filter; the best number when not given",
    ..common::HASHES
};

/// The settings of a filter with its complement.
///
/// ```
/// use bouquet::{Complement, ComplementSettings};
/// let settings = ComplementSettings { items: Some(1_000), others: Some(1_000), bits: Some(20_000), ..Default::default() };
/// assert_eq!(Complement::with(settings)?.settings().main_bits, Some(10_000), "as many questions on both sides");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ComplementSettings {
    /// Distinct members.
    pub items: Option<u64>,
    /// Other keys of the universe.
    pub others: Option<u64>,
    /// The share of questions that are left undetermined.
    pub fpr: Option<f64>,
    /// Cells of both filters.
    pub bits: Option<u64>,
    /// Cells of the main filter.
    pub main_bits: Option<u64>,
    /// The share of questions about members.
    pub member_share: Option<f64>,
    /// What the second filter holds.
    pub form: Option<Form>,
    /// What the filters are made of.
    pub cells: Option<Component>,
    /// Positions per key in the main filter.
    pub hashes: Option<u32>,
    /// Positions per key in the second filter.
    pub other_hashes: Option<u32>,
}

impl Settings for ComplementSettings {
    const FIELDS: Fields<Self> = fields![
        items: ITEMS,
        others: OTHERS,
        fpr: FPR,
        bits: BITS,
        main_bits: MAIN_BITS,
        member_share: MEMBER_SHARE,
        form: FORM,
        cells: CELLS,
        hashes: HASHES,
        other_hashes: OTHER_HASHES,
    ];

    const DESIGN: &'static [&'static str] = &["items", "others", "fpr", "member-share"];
}

impl ByRate for ComplementSettings {}

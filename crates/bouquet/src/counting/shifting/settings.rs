//! The settings of a shifting filter, and the shape that follows from them.

use super::MAX_SPAN;
use crate::error::{Error, Result};
use crate::hash::{Digest, fastrange};
use crate::kind::{Parameter, common};
use crate::parts::bit_array::flat_places;
use crate::parts::counter_array::Places;
use crate::shell::{self, ByRate, Fields, Settings, choices, fields};
use crate::theory::{self, Size, shifting, standard};

/// The stream of the digest that offsets are taken from.
const OFFSETS: u64 = 11;

pub(super) const FORM: Parameter = Parameter::choice(
    "form",
    "what offsets tell: nothing (membership), which of the sets 0 and 1, whose number each key carries \
     (association), how often (multiplicity)",
    <Form as shell::Choice>::WORDS,
);
const BITS: Parameter =
    Parameter { help: "positions of bases, instead of a rate; as many bits, and the span behind them", ..common::BITS };
const SPAN: Parameter = Parameter::count(
    "span",
    "bits from a base on that offsets may reach; with multiplicity the largest that can be told",
    3,
    MAX_SPAN as u64,
);
pub(super) const CELLS: Parameter = Parameter::choice(
    "cells",
    "bits, or bits with counters, with which keys can be removed and moved",
    <Cells as shell::Choice>::WORDS,
);
const WIDTH: Parameter =
    Parameter::count("width", "bits per counter; the span is then at most 57 divided by it", 2, 16).or(4);
const NO_TABLE: Parameter = Parameter::flag(
    "no-table",
    "with multiplicity and counters: no exact table, trust the filter's own counts (can lose keys)",
);

/// What the offset of a key's bits means.
///
/// ```
/// use bouquet::{Shifting, counting::shifting::Form, shell::Choice};
/// assert_eq!(Shifting::with_rate(100, 0.01)?.settings().form, Some(Form::Membership));
/// assert_eq!(Form::Association.word(), "association");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Nothing: it makes two bits of one.
    #[default]
    Membership,
    /// In which of two sets the key is.
    Association,
    /// How often the key is in.
    Multiplicity,
}

choices!(Form { Membership = "membership", Association = "association", Multiplicity = "multiplicity" });

impl Form {
    /// Hashed bases of a key with k bits.
    pub(super) fn bases(self, hashes: u32) -> u32 {
        if self == Form::Membership { hashes / 2 } else { hashes }
    }
}

/// What a cell is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cells {
    /// A bit.
    #[default]
    Bits,
    /// A bit with a counter, with which keys can be removed and moved.
    Counters,
}

choices!(Cells { Bits = "bits", Counters = "counters" });

/// The settings of a shifting filter.
///
/// ```
/// use bouquet::{Shifting, ShiftingSettings, counting::shifting::{Cells, Form}};
/// let (form, cells) = (Some(Form::Multiplicity), Some(Cells::Counters));
/// let mut counts = Shifting::with(ShiftingSettings { items: Some(1_000), form, cells, ..Default::default() })?;
/// counts.insert("rose")?;
/// counts.insert_times("rose", 11)?;
/// assert_eq!(counts.count("rose").count, 12);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ShiftingSettings {
    /// Distinct keys that it is made for.
    pub items: Option<u64>,
    /// The rate at which absent keys seem present with that many keys.
    pub fpr: Option<f64>,
    /// What the offset of a key's bits means.
    pub form: Option<Form>,
    /// Positions of bases.
    pub bits: Option<u64>,
    /// Bits per key.
    pub hashes: Option<u32>,
    /// Bits from a base on that offsets may reach.
    pub span: Option<u32>,
    /// What a cell is.
    pub cells: Option<Cells>,
    /// Bits per counter.
    pub width: Option<u32>,
    /// Whether multiplicities do without an exact table.
    pub no_table: Option<bool>,
}

impl Settings for ShiftingSettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        fpr: common::FPR,
        form: FORM,
        bits: BITS,
        hashes: common::HASHES,
        span: SPAN,
        cells: CELLS,
        width: WIDTH,
        no_table: NO_TABLE,
    ];
}

impl ByRate for ShiftingSettings {}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shape {
    pub(super) form: Form,
    pub(super) places: Places,
    /// Bits per key.
    pub(super) hashes: u32,
    pub(super) span: u32,
    /// Bits per counter.
    pub(super) width: Option<u32>,
    pub(super) has_table: bool,
}

impl Shape {
    pub(super) fn plan(asked: &ShiftingSettings) -> Result<Self> {
        let form = FORM.need(asked.form)?;
        let counted = CELLS.need(asked.cells)? == Cells::Counters;
        let width = if counted { Some(WIDTH.need(asked.width)?) } else { None };
        let most = MAX_SPAN / width.unwrap_or(1).max(1);
        let span = asked.span.unwrap_or(most);
        if span > most {
            return Err(Error::parameter("span", format!("at most {most} with counters of this width"), span));
        }
        let no_table = NO_TABLE.need(asked.no_table)?;
        if no_table && !(counted && form == Form::Multiplicity) {
            return Err(Error::parameter("no-table", "no, unless form=multiplicity and cells=counters", "yes"));
        }
        let Size { bits, hashes } = Self::size(asked, form, span)?;
        let places = flat_places(bits, form.bases(hashes))?;
        let has_table = counted && form != Form::Membership && !no_table;
        let shape = Shape { form, places, hashes, span, width, has_table };
        shape.store_bits().map(|_| shape)
    }

    /// The settings of this shape, for what was asked. Those of counters are left out where there are none.
    pub(super) fn settings(&self, asked: &ShiftingSettings) -> ShiftingSettings {
        ShiftingSettings {
            items: asked.items,
            fpr: asked.fpr,
            form: Some(self.form),
            bits: Some(self.places.counters()),
            hashes: Some(self.hashes),
            span: Some(self.span),
            cells: self.width.map(|_| Cells::Counters),
            width: self.width,
            no_table: (self.trusts_itself()).then_some(true),
        }
    }

    /// Whether counts move by what the filter itself says of them.
    pub(super) fn trusts_itself(&self) -> bool {
        self.form == Form::Multiplicity && self.width.is_some() && !self.has_table
    }

    /// Whether a key must be told once and for all: what it says cannot be changed, and it says more than that it is in.
    pub(super) fn is_built_once(&self) -> bool {
        self.form != Form::Membership && self.width.is_none()
    }

    fn size(asked: &ShiftingSettings, form: Form, span: u32) -> Result<Size> {
        let (items, hashes, fpr) = (asked.items, asked.hashes, common::FPR.need(asked.fpr)?);
        if form == Form::Membership
            && let Some(odd) = hashes.filter(|hashes| hashes % 2 == 1)
        {
            return Err(Error::parameter("hashes", "even: bits come in pairs", odd));
        }
        match (asked.bits, items, form) {
            (Some(bits), items, form) => {
                let hashes = match (hashes, items, form) {
                    (Some(hashes), ..) => hashes,
                    (None, None, _) => return Err(common::ITEMS.missing("hashes")),
                    (None, Some(items), Form::Membership) => shifting::best_hashes(bits, items, span),
                    (None, Some(items), _) => standard::for_bits(bits, items)?.hashes,
                };
                Ok(Size { bits, hashes })
            }
            (None, None, _) => Err(common::ITEMS.missing("bits")),
            (None, Some(items), Form::Membership) => Ok(shifting::for_membership(items, fpr, span, hashes)?),
            (None, Some(items), form) => {
                let offsets = if form == Form::Association { 3 } else { span };
                let rate = shifting::rate_per_offset(fpr, offsets);
                match hashes {
                    None => Ok(standard::for_rate(items, rate)?),
                    Some(hashes) => {
                        let bits = theory::check_bits(standard::needed_bits(items, rate, hashes))?;
                        Ok(Size { bits, hashes })
                    }
                }
            }
        }
    }

    /// Bits and, where there are counters, theirs.
    pub(super) fn store_bits(&self) -> Result<u64> {
        let all = self.cells() as u128 * (1 + u128::from(self.width.unwrap_or(0)));
        u64::try_from(all).map_err(|_| Error::TooLarge { what: "the filter".into(), bytes: all / 8 })
    }

    /// Positions of bases and the span behind them, without wrapping round.
    pub(super) fn cells(&self) -> u64 {
        self.places.counters().saturating_add(self.span.into())
    }

    /// The expected share of absent keys that seem present.
    pub(super) fn expected_rate(&self, items: u64) -> f64 {
        let (m, k) = (self.places.counters(), self.hashes);
        match self.form {
            Form::Membership => shifting::membership_rate(m, items, k, self.span),
            Form::Association => shifting::any_offset(m, items, k, 3),
            Form::Multiplicity => shifting::any_offset(m, items, k, self.span),
        }
    }

    /// The offsets of a key that mean: first set only, both, second only. With membership the second is that of the
    /// pair.
    #[inline]
    pub(super) fn offsets(&self, digest: Digest) -> [u32; 3] {
        let words = digest.derive(OFFSETS);
        let below = |word, n: u32| fastrange(word, n.into()) as u32;
        if self.form == Form::Membership {
            return [0, 1 + below(words.h1, self.span - 1), 0];
        }
        let half = (self.span - 1) / 2;
        let both = 1 + below(words.h1, half);
        [0, both, both + 1 + below(words.h2, half)]
    }
}

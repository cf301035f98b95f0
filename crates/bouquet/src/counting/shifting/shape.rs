//! The parameters of a shifting filter, and the shape that follows from them.

use super::{Form, MAX_SPAN};
use crate::error::{Error, Result};
use crate::hash::{Digest, fastrange};
use crate::kind::{Config, Parameter, ParameterType, common};
use crate::parts::bit_array::flat_places;
use crate::parts::counter_array::Places;
use crate::theory::{self, Size, shifting, standard};

/// The stream of the digest that offsets are taken from.
const OFFSETS: u64 = 11;

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

pub(super) const FORM: Parameter = Parameter {
    name: "form",
    help: "what offsets tell: nothing (membership), which of the sets 0 and 1, whose number each key carries \
           (association), how often (multiplicity)",
    of: ParameterType::Choice { options: &Form::NAMES },
};

pub(super) const BITS: Parameter =
    Parameter { help: "positions of bases, instead of a rate; as many bits, and the span behind them", ..common::BITS };

pub(super) const SPAN: Parameter = Parameter {
    name: "span",
    help: "bits from a base on that offsets may reach; with multiplicity the largest that can be told",
    of: ParameterType::Count { min: 3, max: MAX_SPAN as u64, default: None },
};

pub(super) const CELLS: Parameter = Parameter {
    name: "cells",
    help: "bits, or bits with counters, with which keys can be removed and moved",
    of: ParameterType::Choice { options: &["bits", "counters"] },
};

pub(super) const WIDTH: Parameter = Parameter {
    name: "width",
    help: "bits per counter; the span is then at most 57 divided by it",
    of: ParameterType::Count { min: 2, max: 16, default: Some(4) },
};

pub(super) const NO_TABLE: Parameter = Parameter {
    name: "no-table",
    help: "with multiplicity and counters: no exact table, trust the filter's own counts (can lose keys)",
    of: ParameterType::Flag,
};

impl Shape {
    pub(super) fn plan(config: &Config) -> Result<Self> {
        let form = Form::of(config);
        let counted = config.choice("cells") == "counters";
        let width = if counted { config.count("width").map(|width| width as u32) } else { None };
        let most = MAX_SPAN / width.unwrap_or(1).max(1);
        let span = config.count("span").map_or(most, |span| span as u32);
        if span > most {
            return Err(Error::parameter("span", format!("at most {most} with counters of this width"), span));
        }
        let no_table = config.flag("no-table");
        if no_table && !(counted && form == Form::Multiplicity) {
            return Err(Error::parameter("no-table", "no, unless form=multiplicity and cells=counters", "yes"));
        }
        let Size { bits, hashes } = Self::size(config, form, span)?;
        let places = flat_places(bits, form.bases(hashes))?;
        let has_table = counted && form != Form::Membership && !no_table;
        let shape = Shape { form, places, hashes, span, width, has_table };
        shape.store_bits().map(|_| shape)
    }

    fn size(config: &Config, form: Form, span: u32) -> Result<Size> {
        let (items, fpr) = (config.count("items"), config.real("fpr").unwrap_or(0.01));
        let hashes = config.count("hashes").map(|hashes| hashes as u32);
        let missing =
            |what: &str| Error::parameter("items", common::ITEMS.range(), format!("missing (or give `{what}`)"));
        if form == Form::Membership
            && let Some(odd) = hashes.filter(|hashes| hashes % 2 == 1)
        {
            return Err(Error::parameter("hashes", "even: bits come in pairs", odd));
        }
        match (config.count("bits"), items, form) {
            (Some(bits), items, form) => {
                let hashes = match (hashes, items, form) {
                    (Some(hashes), ..) => hashes,
                    (None, None, _) => return Err(missing("hashes")),
                    (None, Some(items), Form::Membership) => shifting::best_hashes(bits, items, span),
                    (None, Some(items), _) => standard::for_bits(bits, items)?.hashes,
                };
                Ok(Size { bits, hashes })
            }
            (None, None, _) => Err(missing("bits")),
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

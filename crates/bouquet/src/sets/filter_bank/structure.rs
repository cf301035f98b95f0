//! The facts of the kind, its state and its frames.

use super::rates::evenly;
use super::shape::{COUNTER_BITS, Layout, Shape};
use super::{Cells, FilterBank, KIND, MAX_SETS, Tally};
use crate::capability::NoteType;
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::Hashing;
use crate::kind::{
    Config, ErrorClass, Facts, Need, Parameter, ParameterType, Plan, Rates, Setting, Stats, Structure, Text, Verb,
    common,
};
use crate::sets::codes::Acceptance;
use crate::store::{BitMatrix, Counters};
use crate::theory::{bank, partitioned};

const FACTS: Facts = Facts {
    id: "filter-bank",
    number: 220,
    aliases: &["bank", "bit-sliced Bloom filters", "multicast filters", "parallel filters"],
    family: "sets",
    text: Text::new(include_str!("../filter_bank.md")),
    errors: &[ErrorClass::FalsePositive, ErrorClass::SpuriousSet],
    note: NoteType::Group,
    parameters: &[
        Parameter {
            name: "sets",
            help: "number of sets; their numbers begin with 0",
            of: ParameterType::Count { min: 1, max: MAX_SETS, default: Some(4) },
        },
        Parameter {
            name: "items",
            help: "memberships in all sets together, spread evenly over them",
            of: ParameterType::Count { min: 1, max: 1 << 56, default: None },
        },
        Parameter { name: "fpr", help: "false-positive rate of each set with its share of the items", ..common::FPR },
        Parameter {
            name: "spurious",
            help: "instead of fpr: members that are reported in another set too",
            of: ParameterType::Real { above: 0.0, below: 1.0, default: None },
        },
        Parameter { name: "bits", help: "size of each set's filter in bits, instead of a rate", ..common::BITS },
        common::HASHES,
        Parameter {
            name: "layout",
            help: "rows of all sets per position, a vector per set, or one filter per bit of the set's number",
            of: ParameterType::Choice { options: &["sliced", "rows", "coded"] },
        },
        Parameter {
            name: "cells",
            help: "bits, or 4-bit counters that allow removal (layout rows)",
            of: ParameterType::Choice { options: &["bits", "counters"] },
        },
    ],
};

impl Structure for FilterBank {
    const FACTS: Facts = FACTS;

    const NEEDS: &'static [Need] = &[Need::new(Verb::Remove, "cells", "counters")];

    fn plan(config: &Config) -> Result<Plan> {
        let shape = Shape::plan(config)?;
        let items = config.count("items");
        let fpr = items.map(|items| {
            let counts = evenly(items, shape.sets);
            if shape.is_coded() {
                let slice = shape.bits / u64::from(shape.hashes);
                return Acceptance::expected(&counts, slice, shape.hashes).any();
            }
            let rate = |&n: &u64| partitioned::rate(shape.bits, n, shape.hashes);
            bank::any_spurious(&counts.iter().map(rate).collect::<Vec<_>>())
        });
        Ok(Plan { bits: shape.store_bits()?, hashes: shape.hashes, items, fpr })
    }

    fn create(config: &Config) -> Result<Self> {
        Self::from_config(config)
    }

    fn config(&self) -> Config {
        let Shape { sets, bits, hashes, layout, counters } = self.shape;
        let mut config = Config::new(KIND.facts())
            .put("sets", Setting::Count(sets))
            .put("bits", Setting::Count(bits))
            .put("hashes", Setting::Count(hashes.into()))
            .put("layout", Setting::Choice(layout.name()))
            .put("cells", Setting::Choice(if counters { "counters" } else { "bits" }))
            .hashed(self.hashing.clone());
        if let Some(items) = self.design.items {
            config = config.put("items", Setting::Count(items));
        }
        for (name, rate) in [("fpr", self.design.fpr), ("spurious", self.design.spurious)] {
            if let Some(rate) = rate {
                config = config.put(name, Setting::Real(rate));
            }
        }
        config
    }

    fn hashing(&self) -> &Hashing {
        &self.hashing
    }

    fn stats(&self) -> Stats {
        let census = self.census();
        let cells: f64 = (0..self.shape.filters()).map(|filter| self.filter_bits(filter) as f64).sum();
        let ones: u64 = census.iter().map(|(ones, _)| ones).sum();
        let (mean, variance) = self.expected_ones().iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let fpr = if self.shape.is_coded() {
            self.acceptance_now().any()
        } else {
            bank::any_spurious(&census.iter().map(|(_, rate)| *rate).collect::<Vec<_>>())
        };
        Stats {
            items: self.tallies.iter().fold(0, |sum, tally| sum.saturating_add(tally.items)),
            bits: match &self.cells {
                Cells::Bits(matrix) => matrix.bits(),
                Cells::Counters(rows) => rows.iter().map(Counters::bits).sum(),
            },
            hashes: self.shape.hashes,
            fill: Some(ones as f64 / cells),
            fpr: Some(fpr),
            // Filters of a coded bank share keys, so their ones may vary together: at worst the deviations add up.
            honest_fill: Some((mean + 8.0 * (variance * self.shared_filters()).sqrt()) / cells),
        }
    }

    fn expected(&self, items: u64) -> Rates {
        let counts = self.spread(items);
        let (any, sets) = if self.shape.is_coded() {
            let acceptance = self.acceptance(&counts);
            (acceptance.any(), acceptance.candidates(self.sets()))
        } else {
            let rates = self.expected_rates(&counts);
            (bank::any_spurious(&rates), bank::expected_spurious(&rates))
        };
        Rates { false_positive: Some(any), spurious_sets: Some(sets), ..Rates::default() }
    }

    fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        let state = encoder.state();
        for tally in &self.tallies {
            state.u64(tally.items);
            state.u64(tally.inserted);
        }
        let sizes = self.own_sizes();
        state.u8(sizes.is_some().into());
        sizes.into_iter().flatten().for_each(|bits| state.u64(bits));
        match &self.cells {
            Cells::Bits(matrix) => match matrix.rows() {
                Some(rows) => rows.iter().for_each(|row| encoder.bits(row)),
                None => matrix.slices().into_iter().for_each(|slices| encoder.bits(slices)),
            },
            Cells::Counters(rows) => rows.iter().for_each(|row| encoder.counters(row)),
        }
    }

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self> {
        let shape = Shape::plan(decoder.config())?;
        let state = decoder.state();
        let mut tallies = Vec::new();
        for _ in 0..shape.sets {
            let (items, inserted) = (state.u64()?, state.u64()?);
            if items > inserted {
                return Err(Error::corrupt("items of a set", format!("at most {inserted}"), items));
            }
            tallies.push(Tally { items, inserted });
        }
        let sizes = match state.u8()? {
            0 => None,
            1 if shape.layout == Layout::Rows && !shape.counters => {
                Some((0..shape.sets).map(|_| state.u64()).collect::<Result<Vec<_>>>()?)
            }
            other => return Err(Error::corrupt("sizes of the sets", "0, or 1 for rows of bits", other)),
        };
        let cells = match sizes {
            Some(sizes) => Cells::Bits(Self::decode_sizes(decoder, &shape, &sizes)?),
            None if shape.counters => {
                let rows = (0..shape.sets).map(|_| decoder.counters(shape.bits, COUNTER_BITS));
                Cells::Counters(rows.collect::<Result<Vec<_>>>()?)
            }
            None if shape.layout == Layout::Rows => {
                let rows = (0..shape.sets).map(|_| decoder.bits(shape.bits)).collect::<Result<Vec<_>>>()?;
                Cells::Bits(BitMatrix::from_rows(rows))
            }
            None => {
                let bits = decoder.bits(shape.store_bits()?)?;
                let matrix = BitMatrix::from_slices(bits, shape.filters(), shape.bits);
                let matrix = matrix.filter(|matrix| !decoder.reads_stores() || matrix.spares_are_empty());
                Cells::Bits(matrix.ok_or_else(|| Error::corrupt("spare columns", "0", "1"))?)
            }
        };
        let bank = Self::with_parts(decoder.config(), shape, cells, tallies);
        if decoder.is_doubted() && decoder.reads_stores() {
            bank.refuse_overfull_filters()?;
        }
        Ok(bank)
    }
}

impl FilterBank {
    /// The sizes of the sets, where they differ.
    fn own_sizes(&self) -> Option<impl Iterator<Item = u64>> {
        let Cells::Bits(matrix) = &self.cells else { return None };
        let rows = matrix.rows()?;
        rows.iter().any(|row| row.len() != self.shape.bits).then(|| rows.iter().map(crate::store::BitStore::len))
    }

    fn decode_sizes(decoder: &mut Decoder<'_>, shape: &Shape, sizes: &[u64]) -> Result<BitMatrix> {
        let hashes = u64::from(shape.hashes);
        let whole = |bits: &u64| *bits > 0 && *bits <= shape.bits && bits.is_multiple_of(hashes);
        if let Some(bits) = sizes.iter().find(|bits| !whole(bits)) {
            return Err(Error::corrupt("size of a set", format!("a multiple of {hashes} up to {}", shape.bits), bits));
        }
        Ok(BitMatrix::from_rows(sizes.iter().map(|&bits| decoder.bits(bits)).collect::<Result<Vec<_>>>()?))
    }
}

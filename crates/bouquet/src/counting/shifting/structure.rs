//! The facts of the kind, its state and its frames.

use super::shape::{BITS, CELLS, FORM, NO_TABLE, SPAN, Shape, WIDTH};
use super::table::{read_table, table_bytes, write_table};
use super::{Form, KIND, Shifting};
use crate::capability::NoteType;
use crate::codec::{Decoder, Encoder};
use crate::error::Result;
use crate::hash::Hashing;
use crate::kind::{Config, ErrorClass, Facts, Need, Plan, Rates, Setting, Stats, Structure, Text, Verb, common};
use crate::parts::counter_array::nonzero;
use crate::store::Counters;
use crate::theory::{shifting, spread};

impl Structure for Shifting {
    const FACTS: Facts = Facts {
        id: "shifting",
        number: 62,
        aliases: &["ShBF", "ShBF-M", "ShBF-A", "ShBF-X"],
        family: "counting",
        text: Text::new(include_str!("../shifting.md")),
        errors: &[ErrorClass::FalsePositive],
        note: NoteType::None,
        parameters: &[common::ITEMS, common::FPR, FORM, BITS, common::HASHES, SPAN, CELLS, WIDTH, NO_TABLE],
    };

    const IN_PLACE: bool = true;

    const NEEDS: &'static [Need] = &[
        Need { verb: Verb::Remove, parameter: CELLS.name, word: "counters" },
        Need { verb: Verb::Classify, parameter: FORM.name, word: Form::Association.name() },
    ];

    fn note(config: &Config) -> NoteType {
        if Form::of(config) == Form::Association { NoteType::Group } else { NoteType::None }
    }

    fn plan(config: &Config) -> Result<Plan> {
        let shape = Shape::plan(config)?;
        let items = config.count("items");
        let fpr = items.map(|items| shape.expected_rate(items));
        Ok(Plan { bits: shape.store_bits()?, hashes: shape.hashes, items, fpr })
    }

    fn create(config: &Config) -> Result<Self> {
        Self::from_config(config)
    }

    fn config(&self) -> Config {
        let shape = &self.shape;
        let mut config = Config::new(KIND.facts())
            .put("form", Setting::Choice(shape.form.name()))
            .put("bits", Setting::Count(shape.places.counters()))
            .put("hashes", Setting::Count(shape.hashes.into()))
            .put("span", Setting::Count(shape.span.into()))
            .hashed(self.array.hashing.clone());
        if let Some(width) = shape.width {
            config = config.put("cells", Setting::Choice("counters")).put("width", Setting::Count(width.into()));
            if shape.form == Form::Multiplicity && !shape.has_table {
                config = config.put("no-table", Setting::Flag(true));
            }
        }
        self.design.put(config)
    }

    fn errors(&self) -> &'static [ErrorClass] {
        const SETS: &[ErrorClass] = &[ErrorClass::FalsePositive, ErrorClass::SpuriousSet];
        const COUNTS: &[ErrorClass] = &[ErrorClass::FalsePositive, ErrorClass::OverCount];
        const TRUSTING: &[ErrorClass] =
            &[ErrorClass::FalsePositive, ErrorClass::OverCount, ErrorClass::FalseNegative, ErrorClass::UnderCount];
        match (self.shape.form, self.counters.is_some() && self.table.is_none()) {
            (Form::Multiplicity, true) => TRUSTING,
            (Form::Multiplicity, false) => COUNTS,
            (Form::Association, _) => SETS,
            (Form::Membership, _) => Self::FACTS.errors,
        }
    }

    fn hashing(&self) -> &Hashing {
        &self.array.hashing
    }

    fn stats(&self) -> Stats {
        let cells = self.shape.cells();
        let honest = spread::ones(cells, self.inserted, self.shape.hashes)
            + 8.0 * spread::ones_variance(cells, self.inserted, self.shape.hashes).sqrt();
        let table = self.table.as_ref().map_or(0, table_bytes) as u64 * 8;
        Stats {
            items: self.items,
            bits: cells + self.counters.as_ref().map_or(0, Counters::bits) + table,
            hashes: self.shape.hashes,
            fill: Some(self.array.bits.fill()),
            fpr: Some(self.rate_now()),
            honest_fill: Some(honest / cells as f64),
        }
    }

    fn expected(&self, items: u64) -> Rates {
        let Shape { form, places, hashes, span, .. } = self.shape;
        let (m, k) = (places.counters(), hashes);
        let over_count = (form == Form::Multiplicity).then(|| 1.0 - shifting::exact_count(m, items, k, span, 1));
        // Each of the two sets has two classes that tell of it.
        let spurious_sets = (form == Form::Association).then(|| 2.0 * shifting::any_offset(m, items, k, 2));
        Rates { false_positive: Some(self.shape.expected_rate(items)), over_count, spurious_sets, ..Rates::default() }
    }

    fn is_in_place(&self) -> bool {
        self.counters.is_none()
    }

    /// State: items and insertions. Stores: the bits; or the counters, from which the bits follow, and the table.
    fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        encoder.state().u64(self.items);
        encoder.state().u64(self.inserted);
        match &self.counters {
            Some(counters) => encoder.counters(counters),
            None => encoder.bits(&self.array.bits),
        }
        if let Some(table) = &self.table {
            encoder.bytes(write_table(table));
        }
    }

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self> {
        let shape = Shape::plan(decoder.config())?;
        let numbers = [decoder.state().u64()?, decoder.state().u64()?];
        let (bits, counters) = match shape.width {
            None => (decoder.bits(shape.cells())?, None),
            Some(width) => {
                let counters = decoder.counters(shape.cells(), width)?;
                (nonzero(&counters)?, Some(counters))
            }
        };
        let table = if shape.has_table { Some(read_table(decoder.bytes()?, shape.form)?) } else { None };
        Ok(Self::with_parts(decoder.config(), shape, bits, counters, table, numbers))
    }
}

#![doc = include_str!("compacted.md")]

use crate::capability::NoteType;
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result, same};
use crate::hash::{Digest, Hashing, fastrange, mix};
use crate::key::Key;
use crate::kind::{
    ErrorClass, Facts, Figure, Kind, Made, Parameter, Plan, Rates, Reply, Setting, Special, Stats, Takes, Text, common,
    kind,
};
use crate::membership::Layout;
use crate::membership::standard::{Bloom, BloomSettings, Flat};
use crate::parts::bit_array::{self, BitArray, flat_places};
use crate::parts::bit_stream::{BitReader, BitWriter};
use crate::parts::chosen::digests;
use crate::parts::counter_array::{Placement, Places};
use crate::shell::{Fields, Filter, Gather, Hashed, Mechanism, Settings, Test, fields};
use crate::simd::prefetch;
use crate::store::{BitStore, Words};
use crate::theory::{MAX_BITS, compacted as theory, compressed::message_bits, special::entropy, standard};

/// The registry's row.
pub const KIND: Kind = kind!(Compacted);

/// A compacted Bloom filter: half of the bits, and false negatives.
///
/// ```
/// use bouquet::Compacted;
/// let filter = Compacted::with_rates(1_000, 0.01, 0.1, (0..1_000u64).collect::<Vec<_>>())?;
/// let found = (0..1_000u64).filter(|key| filter.contains(key)).count();
/// assert!(found < 1_000, "some are lost");
/// assert!(found > 850, "one in ten");
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type Compacted = Filter<PackedColumns>;

/// The most rows: indices of ten bits.
const MAX_BLOCKS: u64 = 1022;

const LOSS: Parameter = Parameter::real("loss", "share of present keys that may seem absent", 0.0, 1.0).or_real(0.1);
const BLOCKS: Parameter = Parameter::count(
    "blocks",
    "rows that the vector is laid in; 6, 14, 30 use indices of 3, 4, 5 bits well",
    2,
    MAX_BLOCKS,
)
.or(6);
const BITS: Parameter = Parameter {
    help: "bits of the vector before it is packed, rounded up to whole rows, instead of rates",
    ..common::BITS
};

/// The settings of a compacted filter.
///
/// ```
/// use bouquet::{Compacted, CompactedSettings, hash::Hashing};
/// let settings = CompactedSettings { bits: Some(12_000), hashes: Some(3), ..Default::default() };
/// let filter = Compacted::from_keys(&settings, &Hashing::default(), ["rose"])?;
/// assert_eq!(filter.stats().bits, 6_000, "2,000 columns of 3 bits");
/// let two_rows = CompactedSettings { blocks: Some(2), ..Default::default() };
/// let filter = Compacted::from_keys(&two_rows, &Hashing::default(), (0..100u64).collect::<Vec<_>>())?;
/// assert!((0..100u64).all(|key| filter.contains(&key)), "two rows lose nothing");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompactedSettings {
    /// Distinct keys.
    pub items: Option<u64>,
    /// The false-positive rate with that many keys.
    pub fpr: Option<f64>,
    /// The share of present keys that may seem absent.
    pub loss: Option<f64>,
    /// Bits of the vector before it is packed.
    pub bits: Option<u64>,
    /// Positions per key.
    pub hashes: Option<u32>,
    /// Rows.
    pub blocks: Option<u32>,
}

impl Settings for CompactedSettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        fpr: common::FPR,
        loss: LOSS,
        bits: BITS,
        hashes: common::HASHES,
        blocks: BLOCKS,
    ];

    const DESIGN: &'static [&'static str] = &["items", "fpr", "loss"];
}

/// The places of keys in the vector, and the rows that it is laid in.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Shape {
    places: Places,
    blocks: u32,
}

impl Shape {
    fn of(settings: &CompactedSettings) -> Result<Self> {
        let blocks: u32 = BLOCKS.need(settings.blocks)?;
        let (fpr, loss) = (common::FPR.need(settings.fpr)?, LOSS.need(settings.loss)?);
        let (bits, hashes) = match (settings.bits, settings.hashes, settings.items) {
            (Some(bits), Some(hashes), _) => (bits, hashes),
            (None, _, None) => return Err(common::ITEMS.missing("bits")),
            (Some(_), None, None) => return Err(common::ITEMS.missing("hashes")),
            (Some(bits), None, Some(items)) => {
                // The fewest positions that reach the rate lose the fewest keys.
                let rate = |k: &u32| theory::false_positives(blocks, 1.0 - standard::zeros(bits, items, *k), *k);
                let best = || (1..=64).min_by(|a, b| rate(a).total_cmp(&rate(b)));
                (bits, (1..=64).find(|k| rate(k) <= fpr).or_else(best).unwrap_or(1))
            }
            (None, None, Some(items)) => {
                let size = theory::for_rates(items, fpr, loss, blocks)?;
                (size.bits, size.hashes)
            }
            (None, Some(hashes), Some(items)) => {
                let sizes = |size: &u64| {
                    let fill = 1.0 - standard::zeros(*size, items, hashes);
                    theory::false_positives(blocks, fill, hashes) <= fpr
                        && theory::false_negatives(blocks, fill, hashes) <= loss
                };
                // An eighth more at a time, until both rates are kept.
                let grow = |size: &u64| Some(size + size / 8 + 1).filter(|size| *size < MAX_BITS);
                let bits = std::iter::successors(Some(items), grow).find(sizes);
                (bits.ok_or_else(|| Error::parameter("hashes", "others for these rates", hashes))?, hashes)
            }
        };
        let bits = bits.checked_next_multiple_of(blocks.into()).filter(|&bits| bits <= MAX_BITS);
        let bits =
            bits.ok_or_else(|| Error::parameter("bits", format!("at most {MAX_BITS}"), settings.bits.unwrap_or(0)))?;
        Ok(Shape { places: flat_places(bits, hashes)?, blocks })
    }

    /// The columns.
    #[inline]
    fn columns(&self) -> u64 {
        self.places.counters() / u64::from(self.blocks)
    }

    #[inline]
    fn index_bits(&self) -> u32 {
        theory::index_bits(self.blocks)
    }

    /// The index that reads as all ones.
    #[inline]
    fn all(&self) -> u64 {
        (1 << self.index_bits()) - 1
    }

    fn packed_bits(&self) -> u64 {
        self.columns() * u64::from(self.index_bits())
    }

    fn fill(&self, items: u64) -> f64 {
        1.0 - standard::zeros(self.places.counters(), items, self.places.hashes())
    }
}

/// The columns of a vector of bits, an index each.
#[derive(Clone, Debug, PartialEq)]
pub struct PackedColumns {
    shape: Shape,
    /// Ones of the vector before it was packed.
    ones: u64,
    /// Ones that are read now.
    read: u64,
    indices: Words,
}

impl PackedColumns {
    /// Packs a vector. Which of several ones a column keeps depends on the seed and the column alone.
    fn pack(shape: Shape, vector: &BitStore, seed: u64) -> Result<Self> {
        let (columns, blocks, all) = (shape.columns(), u64::from(shape.blocks), shape.all());
        let mut writer = BitWriter::default();
        let mut rows = Vec::new();
        for column in 0..columns {
            rows.clear();
            rows.extend((0..blocks).filter(|row| vector.get(row * columns + column)));
            let ones = rows.len() as u64;
            let index = match ones {
                0 => 0,
                1 => rows[0] + 1,
                _ if 2 * ones >= blocks => all,
                _ => rows[fastrange(mix(mix(seed).wrapping_add(column)), ones) as usize] + 1,
            };
            writer.put(index, shape.index_bits());
        }
        let mut packed = PackedColumns { shape, ones: vector.count_ones(), read: 0, indices: writer.into_words()? };
        packed.read = packed.count()?;
        Ok(packed)
    }

    /// The index of a column.
    #[inline]
    fn index(&self, column: u64) -> u64 {
        let bits = self.shape.index_bits();
        let mut reader = BitReader::new(self.indices.as_slice(), column * u64::from(bits), self.shape.packed_bits());
        reader.get(bits).unwrap_or(0)
    }

    /// Whether a bit of the vector reads as one.
    #[inline]
    fn bit(&self, place: u64) -> bool {
        let columns = self.shape.columns();
        let index = self.index(place % columns);
        index == place / columns + 1 || index == self.shape.all()
    }

    /// The ones that are read; refuses indices that name no row.
    fn count(&self) -> Result<u64> {
        let (all, rows) = (self.shape.all(), u64::from(self.shape.blocks));
        let mut ones = 0;
        for column in 0..self.shape.columns() {
            ones += match self.index(column) {
                0 => 0,
                index if index <= rows => 1,
                index if index == all => rows,
                index => return Err(Error::corrupt("index of a column", format!("up to {rows}, or {all}"), index)),
            };
        }
        Ok(ones)
    }

    fn fill(&self) -> f64 {
        self.ones as f64 / self.shape.places.counters() as f64
    }
}

impl Mechanism for PackedColumns {
    const FACTS: Facts = Facts {
        id: "compacted",
        number: 19,
        aliases: &["CmBF"],
        family: "membership",
        text: Text::new(include_str!("compacted.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::FalseNegative],
        note: NoteType::None,
        parameters: &[],
    };

    const SPECIALS: &'static [Special<Compacted>] = &[
        Special::ask(
            "unpacked",
            Takes::Nothing,
            "the vector as a standard filter, without what is lost",
            |filter, _| Ok(Made::reply(filter.unpacked()?)),
        ),
        Special::act(
            "pack",
            Takes::Filter,
            "packs a standard filter (reduction=fastrange) of the same bits, hashes and seed in the place of what is here",
            |filter, other| {
                let refused = |_| Error::parameter("argument", "a filter of kind `standard`", "something else");
                filter.pack(other.filter().map_err(refused)?)?;
                Ok(Reply::Done)
            },
        ),
    ];

    type Settings = CompactedSettings;

    fn resolve(asked: &CompactedSettings) -> Result<CompactedSettings> {
        let Shape { places, blocks } = Shape::of(asked)?;
        let (bits, hashes) = (Some(places.counters()), Some(places.hashes()));
        Ok(CompactedSettings { bits, hashes, blocks: Some(blocks), ..asked.clone() })
    }

    fn plan(settings: &CompactedSettings) -> Result<Plan> {
        let (shape, items) = (Shape::of(settings)?, settings.items);
        let hashes = shape.places.hashes();
        let fpr = items.map(|items| theory::false_positives(shape.blocks, shape.fill(items), hashes));
        Ok(Plan { bits: shape.packed_bits(), hashes, items, fpr })
    }

    /// Both rates, and the filter that has neither the one nor the length.
    fn advice(settings: &CompactedSettings) -> Option<String> {
        let (shape, items) = (Shape::of(settings).ok()?, settings.items?);
        let lost = theory::false_negatives(shape.blocks, shape.fill(items), shape.places.hashes());
        let lossless = shape.places.counters() as f64 * entropy(shape.fill(items));
        let shorter = lossless < shape.packed_bits() as f64;
        let advice = || {
            let (share, bits, packed) = (100.0 * lost, lossless.ceil(), shape.packed_bits());
            format!(
                "{share:.1} % of the keys will seem absent, and a lossless code of the same vector has {bits} bits instead of {packed}: take `compressed`"
            )
        };
        shorter.then(advice)
    }

    fn empty(settings: &CompactedSettings, _: &Hashing) -> Result<Self> {
        let shape = Shape::of(settings)?;
        Ok(PackedColumns { shape, ones: 0, read: 0, indices: Words::zeroed(shape.packed_bits().div_ceil(64))? })
    }

    /// That of a standard filter with these positions, which unpacking gives.
    fn domain(settings: &CompactedSettings) -> String {
        Shape::of(settings).map_or_else(
            |_| bit_array::domain(Self::FACTS.id, settings.bits, settings.hashes),
            |shape| shape.places.domain(),
        )
    }

    fn stats(&self, items: u64) -> Stats {
        let Shape { places, .. } = self.shape;
        let fill = self.read as f64 / places.counters() as f64;
        let fpr = Some(fill.powi(places.hashes() as i32));
        let (bits, hashes) = (self.shape.packed_bits(), places.hashes());
        Stats { items, bits, hashes, fill: Some(fill), fpr, honest_fill: None }
    }

    fn figures(&self) -> Vec<Figure> {
        let Shape { places, blocks } = self.shape;
        let lost = theory::false_negatives(blocks, self.fill(), places.hashes());
        let lossless = message_bits(places.counters(), self.ones).ceil() as u64;
        vec![
            Figure { name: "false-negative rate", value: Setting::Real(lost) },
            Figure { name: "bits of a lossless code (kind compressed)", value: Setting::Count(lossless) },
        ]
    }

    fn expected(&self, items: u64) -> Rates {
        let Shape { places, blocks } = self.shape;
        let fill = self.shape.fill(items);
        Rates {
            false_positive: Some(theory::false_positives(blocks, fill, places.hashes())),
            false_negative: Some(theory::false_negatives(blocks, fill, places.hashes())),
            ..Rates::default()
        }
    }

    /// State: items, ones before packing. Store: the indices.
    fn encode<'a>(&'a self, items: u64, encoder: &mut Encoder<'a>) {
        encoder.state().u64(items);
        encoder.state().u64(self.ones);
        encoder.state().u64(self.read);
        encoder.words(self.indices.as_slice());
    }

    fn decode(settings: &CompactedSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let shape = Shape::of(settings)?;
        let [items, ones, read] = [decoder.state().u64()?, decoder.state().u64()?, decoder.state().u64()?];
        if ones.max(read) > shape.places.counters() {
            return Err(Error::corrupt("ones", format!("at most {}", shape.places.counters()), ones.max(read)));
        }
        let packed = PackedColumns { shape, ones, read, indices: decoder.words(shape.packed_bits().div_ceil(64))? };
        if decoder.reads_stores() {
            let (counted, spare) = (packed.count()?, packed.spare_bits());
            if counted != read || spare != 0 {
                return Err(Error::corrupt("ones of the columns", read, counted));
            }
        }
        Ok((packed, items))
    }

    #[inline]
    fn reach(&self) -> u64 {
        self.shape.packed_bits()
    }

    #[inline]
    fn prefetch(&self, digest: Digest) {
        let (columns, bits) = (self.shape.columns(), u64::from(self.shape.index_bits()));
        for place in self.shape.places.of(digest) {
            prefetch(self.indices.as_slice(), (place % columns * bits / 64) as usize);
        }
    }
}

impl PackedColumns {
    /// The bits behind the last index.
    fn spare_bits(&self) -> u64 {
        let used = self.shape.packed_bits() % 64;
        let last = self.indices.as_slice().last().map_or(0, |word| word.swap_bytes());
        if used == 0 { 0 } else { last << used }
    }
}

impl Test for PackedColumns {
    #[inline]
    fn test(&self, key: Hashed<'_>) -> bool {
        self.shape.places.all(key.digest, |place| self.bit(place))
    }
}

impl Gather for PackedColumns {
    fn gather<K: Key>(
        asked: &CompactedSettings,
        hashing: &Hashing,
        keys: &[K],
        _: &[K],
    ) -> Result<(CompactedSettings, Self, u64)> {
        let settings = Self::resolve(asked)?;
        let (shape, own) = (Shape::of(&settings)?, Self::hashing(&settings, hashing));
        let mut vector = BitArray::zeroed(shape.places)?;
        let digests = digests(&own, keys);
        digests.iter().for_each(|&digest| _ = vector.set_all(digest));
        Ok((settings, Self::pack(shape, &vector.bits, hashing.seed())?, digests.len() as u64))
    }
}

impl Compacted {
    /// The filter of these keys; `items` is how many are expected. At most a share `fpr` of absent keys seem present, and at
    /// most a share `loss` of present ones absent.
    ///
    /// ```
    /// use bouquet::Compacted;
    /// let filter = Compacted::with_rates(3, 0.01, 0.01, ["rose", "lily", "iris"])?;
    /// assert!(filter.expected(3).false_negative.is_some_and(|lost| lost <= 0.01));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_rates<K: Key>(items: u64, fpr: f64, loss: f64, keys: impl IntoIterator<Item = K>) -> Result<Self> {
        let (items, fpr, loss) = (Some(items), Some(fpr), Some(loss));
        Self::from_keys(&CompactedSettings { items, fpr, loss, ..Default::default() }, &Hashing::default(), keys)
    }

    /// The filter of these keys: a vector of `bits` bits with `hashes` positions per key, packed from 6 rows.
    ///
    /// ```
    /// use bouquet::Compacted;
    /// let filter = Compacted::with_size(600, 3, ["rose"])?;
    /// assert_eq!(filter.unpacked()?.bits().len(), 600);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size<K: Key>(bits: u64, hashes: u32, keys: impl IntoIterator<Item = K>) -> Result<Self> {
        let settings = CompactedSettings { bits: Some(bits), hashes: Some(hashes), ..Default::default() };
        Self::from_keys(&settings, &Hashing::default(), keys)
    }

    /// A standard filter, packed from this many rows. Its bits must be whole rows, and its positions those of `reduction=fastrange`.
    ///
    /// ```
    /// use bouquet::{Bloom, BloomSettings, Compacted, hash::Reduction, membership::Reducing};
    /// let reduction = Some(Reducing::By(Reduction::Fastrange));
    /// let settings = BloomSettings { bits: Some(60_000), hashes: Some(3), reduction, ..Default::default() };
    /// let mut sparse = Bloom::with(settings)?;
    /// sparse.insert("rose");
    /// let packed = Compacted::of_bloom(&sparse, 6)?;
    /// assert!(packed.contains("rose") && packed.stats().bits == 30_000);
    /// assert!(Compacted::of_bloom(&Bloom::with_size(60_000, 3)?, 6).is_err(), "its positions come from shorter words");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn of_bloom(bloom: &Bloom, blocks: u32) -> Result<Self> {
        let (bits, hashes) = (Some(bloom.bits().len()), Some(bloom.hashes()));
        let asked = CompactedSettings { bits, hashes, blocks: Some(blocks), ..Default::default() };
        let settings = PackedColumns::resolve(&asked)?;
        let shape = Shape::of(&settings)?;
        same("bits", shape.places.counters(), bloom.bits().len())?;
        let plain = shape.places.plain()?;
        if *bloom.layout() != plain {
            let of = |layout: &Flat| {
                let BloomSettings { family, reduction, .. } = layout.settings(BloomSettings::default());
                format!("{family:?}, {reduction:?}")
            };
            let (left, right) = (of(&plain), of(bloom.layout()));
            return Err(Error::Incompatible { field: "family and reduction".into(), left, right });
        }
        let packed = PackedColumns::pack(shape, bloom.bits(), bloom.hashing.seed())?;
        Ok(Self::of_parts(packed, settings, &bloom.hashing, bloom.items()))
    }

    /// Packs a standard filter in the place of what is here, which must have its size and hashing.
    ///
    /// ```
    /// use bouquet::{Bloom, BloomSettings, Compacted, hash::Reduction, membership::Reducing};
    /// let reduction = Some(Reducing::By(Reduction::Fastrange));
    /// let settings = BloomSettings { bits: Some(60_000), hashes: Some(3), reduction, ..Default::default() };
    /// let mut sparse = Bloom::with(settings)?;
    /// sparse.insert("rose");
    /// let mut packed = Compacted::with_size(60_000, 3, [] as [&str; 0])?;
    /// packed.pack(&sparse)?;
    /// assert!(packed.contains("rose"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn pack(&mut self, bloom: &Bloom) -> Result<()> {
        let Shape { places, blocks } = self.mechanism.shape;
        same("bits", places.counters(), bloom.bits().len())?;
        same("hashes", places.hashes(), bloom.hashes())?;
        same("hashing", &self.hashing, &bloom.hashing)?;
        let CompactedSettings { items, fpr, loss, .. } = self.settings();
        *self = Self::of_bloom(bloom, blocks)?;
        self.settings = CompactedSettings { items, fpr, loss, ..self.settings() };
        Ok(())
    }

    /// The vector as a standard filter: what was lost is not in it, what was invented is.
    ///
    /// ```
    /// use bouquet::Compacted;
    /// let filter = Compacted::with_size(6_000, 3, (0..100u64).collect::<Vec<_>>())?;
    /// let bloom = filter.unpacked()?;
    /// assert!((0..10_000u64).all(|key| bloom.contains(&key) == filter.contains(&key)));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn unpacked(&self) -> Result<Bloom> {
        let (packed, places) = (&self.mechanism, self.mechanism.shape.places);
        let mut bits = BitStore::zeroed(places.counters())?;
        (0..places.counters()).filter(|&place| packed.bit(place)).for_each(|place| _ = bits.set(place));
        Ok(Bloom::of_layout(places.plain()?, BloomSettings::default(), &self.hashing, bits, self.items()))
    }
}

#[cfg(test)]
mod tests;

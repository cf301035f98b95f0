#![doc = include_str!("variable_length.md")]

use crate::capability::{Multiplicity, NoteType};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::{Hashing, MAX_HASHES, SplitMix};
use crate::kind::{ErrorClass, Facts, Kind, Plan, Rates, Reply, Special, Stats, Takes, Text, kind};
use crate::parts::bit_array::{self, BitArray, flat_places};
use crate::shell::{Age, Far, Filter, Hashed, Mechanism, Put, Take, Tally, Test};
use crate::store::BitStore;
use crate::theory::variable_length::{self, Shape};

mod settings;
mod signatures;

use settings::{AGEING, TICK, shape};
pub use settings::{Ageing, VariableLengthSettings};

/// The registry's row.
pub const KIND: Kind = kind!(VariableLength);

/// A Bloom filter with variable-length signatures.
///
/// ```
/// use bouquet::VariableLength;
/// let mut flows = VariableLength::with_rate(1_000, 0.01)?;
/// flows.insert("rose");
/// flows.touch("rose");
/// assert!(flows.contains("rose"));
/// flows.remove("rose")?;
/// assert!(!flows.contains("rose"));
/// # Ok::<(), bouquet::Error>(())
/// ```
///
/// The number of a key's bits hints at how many packets it had: [`touch`](VariableLength::touch) sets one more for each.
///
/// ```
/// # use bouquet::{VariableLength, capability::Multiplicity};
/// let mut filter = VariableLength::with_size(10_000)?;
/// filter.insert("rose");
/// assert_eq!(filter.count("rose"), Multiplicity { count: 1, at_least: false });
/// [1, 2].map(|_| filter.touch("rose"));
/// assert_eq!(filter.count("rose"), Multiplicity { count: 3, at_least: true });
/// filter.advance(200); // 64 bits per tick
/// assert!(!filter.contains("rose"));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type VariableLength = Filter<Signatures>;

/// Signatures of keys, some of whose bits may be lost.
#[derive(Clone, Debug, PartialEq)]
pub struct Signatures {
    shape: Shape,
    array: BitArray,
    ageing: Ageing,
    /// Bits that a tick clears.
    tick: u64,
    /// Where ageing in turn goes on.
    next: u64,
    /// Draws the bits that removals and random ageing clear.
    random: SplitMix,
    /// Insertions, removed ones included.
    inserted: u64,
}

impl Mechanism for Signatures {
    const FACTS: Facts = Facts {
        id: "variable-length",
        number: 65,
        aliases: &["VBF", "variable-length signatures"],
        family: "counting",
        text: Text::new(include_str!("variable_length.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::FalseNegative, ErrorClass::OverCount, ErrorClass::UnderCount],
        note: NoteType::None,
        parameters: &[],
    };

    const IN_PLACE: bool = true;

    const SPECIALS: &'static [Special<VariableLength>] = &[
        Special::act(
            "touch",
            Takes::Key,
            "sets one more bit of each key that is in, and tells its signature's length",
            |filter, argument| {
                Ok(filter.touch(argument.key()?).map_or(Reply::Truth(false), |length| u64::from(length).into()))
            },
        ),
        Special::act("recover", Takes::Key, "heals the first bits of each key that is in", |filter, argument| {
            Ok(Reply::Truth(filter.recover(argument.key()?)))
        }),
        Special::act("recover-fully", Takes::Key, "sets all bits of each key that is in", |filter, argument| {
            Ok(Reply::Truth(filter.recover_fully(argument.key()?)))
        }),
        Special::act(
            "age",
            Takes::Number,
            "clears this many bits, as the setting `ageing` says",
            |filter, argument| {
                filter.age(argument.number()?);
                Ok(Reply::Done)
            },
        ),
    ];

    type Settings = VariableLengthSettings;

    fn resolve(asked: &VariableLengthSettings) -> Result<VariableLengthSettings> {
        let VariableLengthSettings { items, fpr, removals, fnr, .. } = *asked;
        Ok(VariableLengthSettings {
            items,
            fpr,
            removals,
            fnr,
            ageing: Some(AGEING.need(asked.ageing)?),
            tick: Some(TICK.need(asked.tick)?),
            ..VariableLengthSettings::of_shape(shape(asked)?)
        })
    }

    fn plan(settings: &VariableLengthSettings) -> Result<Plan> {
        let (shape, items) = (shape(settings)?, settings.items);
        Ok(Plan { bits: shape.bits, hashes: shape.hashes, items, fpr: items.map(|items| shape.rate(items)) })
    }

    fn empty(settings: &VariableLengthSettings, hashing: &Hashing) -> Result<Self> {
        let shape = shape(settings)?;
        Ok(Signatures {
            shape,
            array: BitArray::zeroed(flat_places(shape.bits, shape.hashes)?)?,
            ageing: AGEING.need(settings.ageing)?,
            tick: TICK.need(settings.tick)?,
            next: 0,
            random: SplitMix::new(hashing.seed()),
            inserted: 0,
        })
    }

    fn domain(settings: &VariableLengthSettings) -> String {
        bit_array::domain(Self::FACTS.id, settings.bits, settings.hashes)
    }

    fn stats(&self, items: u64) -> Stats {
        let fill = self.array.bits.fill();
        Stats {
            items,
            bits: self.shape.bits,
            hashes: self.shape.hashes,
            fill: Some(fill),
            fpr: Some(self.shape.rate_at(fill)),
            // All k positions of every key that was inserted, if all were touched until they had them.
            honest_fill: Some(self.array.places.honest_fill(self.inserted)),
        }
    }

    fn expected(&self, items: u64) -> Rates {
        Rates {
            false_positive: Some(self.shape.rate(items)),
            // As long as nothing is removed and no time passes.
            false_negative: Some(0.0),
            over_count: Some(variable_length::longer(&self.shape, items)),
            ..Rates::default()
        }
    }

    /// State: items, insertions, the position where ageing goes on, the generator's state. Store: the bits.
    fn encode<'a>(&'a self, items: u64, encoder: &mut Encoder<'a>) {
        for number in [items, self.inserted, self.next, self.random.state()] {
            encoder.state().u64(number);
        }
        encoder.bits(&self.array.bits);
    }

    fn decode(settings: &VariableLengthSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let shape = shape(settings)?;
        let state = decoder.state();
        let [items, inserted, next, random] = [state.u64()?, state.u64()?, state.u64()?, state.u64()?];
        if items > inserted {
            return Err(Error::corrupt("items", format!("at most {inserted}, the insertions"), items));
        }
        if next >= shape.bits {
            return Err(Error::corrupt("next bit to age", format!("below {}", shape.bits), next));
        }
        let array = BitArray { places: flat_places(shape.bits, shape.hashes)?, bits: decoder.bits(shape.bits)? };
        let (ageing, tick, random) = (AGEING.need(settings.ageing)?, TICK.need(settings.tick)?, SplitMix::new(random));
        Ok((Signatures { shape, array, ageing, tick, next, random, inserted }, items))
    }

    #[inline(always)]
    fn far(&self) -> Option<&dyn Far> {
        Some(&self.array)
    }
}

impl Test for Signatures {
    /// Whether at least q of the key's positions are ones.
    #[inline]
    fn test(&self, key: Hashed<'_>) -> bool {
        self.is_present(&self.positions(key.digest))
    }
}

impl Put for Signatures {
    type Note<'a> = ();
    type Outcome = bool;

    /// Sets the first t of a key's positions.
    #[inline]
    fn put(&mut self, key: Hashed<'_>, (): ()) -> bool {
        let positions = self.positions(key.digest);
        let fresh = !self.is_present(&positions);
        self.set_first(&positions, self.shape.set);
        self.inserted = self.inserted.saturating_add(1);
        fresh
    }
}

impl Take for Signatures {
    type Note<'a> = ();

    /// Clears ones of the key, drawn at random, until d are left. Other keys that share these bits lose them too.
    fn take(&mut self, key: Hashed<'_>, (): ()) -> Result<()> {
        let positions = self.positions(key.digest);
        let mut ones = [0; MAX_HASHES as usize];
        let mut left = 0;
        for &position in positions.iter().filter(|&&position| self.array.bits.get(position)) {
            ones[left] = position;
            left += 1;
        }
        if left < self.shape.quorum as usize {
            return Err(Error::NotPresent);
        }
        while left > self.shape.keep as usize {
            let chosen = self.random.below(left as u64) as usize;
            self.array.bits.clear(ones[chosen]);
            left -= 1;
            ones[chosen] = ones[left];
        }
        Ok(())
    }
}

impl Tally for Signatures {
    /// A hint at how many packets a key had: one and the positions beyond the t of its insertion that are ones, by
    /// [`touch`](VariableLength::touch) or by chance. Zero for an absent key.
    fn tally(&self, key: Hashed<'_>) -> Multiplicity {
        let length = self.length_of(&self.positions(key.digest));
        let Shape { hashes, set, quorum, .. } = self.shape;
        let present = length >= quorum;
        let count = if present { 1 + u64::from(length.saturating_sub(set)) } else { 0 };
        Multiplicity { count, at_least: present && length == hashes }
    }
}

impl Age for Signatures {
    /// Each tick clears the bits of a tick.
    fn age(&mut self, ticks: u64) {
        self.clear_bits(u128::from(ticks) * u128::from(self.tick));
    }
}

impl VariableLength {
    /// A filter of `bits` bits with k = 12, t = 10, q = 9 and d = 8: good for a key per 20 bits.
    ///
    /// ```
    /// use bouquet::VariableLength;
    /// let shape = VariableLength::with_size(400_000)?.shape();
    /// assert_eq!((shape.hashes, shape.set, shape.quorum, shape.keep), (12, 10, 9, 8));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(bits: u64) -> Result<Self> {
        Self::with(VariableLengthSettings { bits: Some(bits), ..Default::default() })
    }

    /// A filter of any shape with 0 <= d < q <= t <= k <= 64 and k <= m.
    ///
    /// ```
    /// use bouquet::{VariableLength, theory::variable_length::Shape};
    /// let shape = Shape { bits: 1_000, hashes: 6, set: 5, quorum: 4, keep: 3 };
    /// assert_eq!(VariableLength::with_shape(shape)?.shape(), shape);
    /// assert!(VariableLength::with_shape(Shape { quorum: 6, ..shape }).is_err(), "more than are set");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_shape(shape: Shape) -> Result<Self> {
        Self::with(VariableLengthSettings::of_shape(shape))
    }

    /// m, k, t, q and d, which tell its rates: see [`Shape`].
    ///
    /// ```
    /// let shape = bouquet::VariableLength::with_size(400_000)?.shape();
    /// assert!((shape.rate(20_000) - 0.0135).abs() < 1e-4);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.mechanism.shape
    }

    /// The bits.
    ///
    /// ```
    /// use bouquet::VariableLength;
    /// let mut filter = VariableLength::with_size(1_000)?;
    /// filter.insert("rose");
    /// assert_eq!(filter.bits().count_ones(), 10);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn bits(&self) -> &BitStore {
        &self.mechanism.array.bits
    }

    /// Clears this many bits: those that are next in turn, or at random.
    ///
    /// ```
    /// use bouquet::VariableLength;
    /// let mut filter = VariableLength::with_size(1_000)?;
    /// filter.insert_batch(&(0..50u64).collect::<Vec<_>>());
    /// filter.age(1_000);
    /// assert_eq!(filter.bits().count_ones(), 0, "once round");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn age(&mut self, bits: u64) {
        self.mechanism.clear_bits(bits.into());
    }
}

#[cfg(test)]
mod tests;

#![doc = include_str!("variable_length.md")]

use crate::capability::{Advance, Contains, Count, Insert, Item, Multiplicity, NoteType, Remove};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing, MAX_HASHES, Positions, SplitMix, probes};
use crate::key::Key;
use crate::kind::{
    Config, ErrorClass, Facts, Kind, Parameter, ParameterType, Plan, Rates, Setting, Stats, Structure, Text, common,
    kind,
};
use crate::parts::bit_array::{BitArray, Design, flat_places, insert_each};
use crate::store::BitStore;
use crate::theory::variable_length::{self, Shape};

/// The registry's row.
pub const KIND: Kind = kind!(VariableLength);

/// How bits are cleared as time passes.
///
/// ```
/// use bouquet::counting::variable_length::{Ageing, VariableLength};
/// assert_eq!(VariableLength::with_size(1_000)?.ageing(), Ageing::RoundRobin);
/// assert_eq!(Ageing::Random.name(), "random");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ageing {
    /// One after the other, and again from the beginning.
    RoundRobin,
    /// Anywhere.
    Random,
}

impl Ageing {
    const NAMES: [&str; 2] = ["round-robin", "random"];

    /// The word for it.
    ///
    /// ```
    /// assert_eq!(bouquet::counting::variable_length::Ageing::RoundRobin.name(), "round-robin");
    /// ```
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// A Bloom filter with variable-length signatures.
///
/// ```
/// use bouquet::counting::variable_length::VariableLength;
/// let mut flows = VariableLength::with_rate(1_000, 0.01)?;
/// flows.insert("rose");
/// flows.touch("rose");
/// assert!(flows.contains("rose"));
/// flows.remove("rose")?;
/// assert!(!flows.contains("rose"));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct VariableLength {
    shape: Shape,
    array: BitArray,
    ageing: Ageing,
    /// Bits that a tick clears.
    tick: u64,
    /// Where ageing in turn goes on.
    next: u64,
    /// Draws the bits that removals and random ageing clear.
    random: SplitMix,
    /// Insertions less removals.
    items: u64,
    /// Insertions.
    inserted: u64,
    design: Design,
    planned: Planned,
}

/// What was asked for besides items and rate.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Planned {
    removals: Option<u64>,
    fnr: Option<f64>,
}

const REMOVALS: Parameter = Parameter {
    name: "removals",
    help: "removals between two recoveries of a key; a tenth of the items if not given",
    of: ParameterType::Count { min: 0, max: 1 << 56, default: None },
};

const FNR: Parameter = Parameter {
    name: "fnr",
    help: "share of the keys that may be missed after those removals",
    of: ParameterType::Real { above: 0.0, below: 1.0, default: Some(0.01) },
};

const SET: Parameter = Parameter {
    name: "set",
    help: "positions that an insertion sets; five sixths of the hashes if not searched",
    of: ParameterType::Count { min: 1, max: MAX_HASHES as u64, default: None },
};

const QUORUM: Parameter = Parameter {
    name: "quorum",
    help: "ones among a key's positions that make it present; nine tenths of those set if not searched",
    of: ParameterType::Count { min: 1, max: MAX_HASHES as u64, default: None },
};

const KEEP: Parameter = Parameter {
    name: "keep",
    help: "ones that a removal leaves; one less than the quorum, which is gentlest, if not given",
    of: ParameterType::Count { min: 0, max: MAX_HASHES as u64 - 1, default: None },
};

const AGEING: Parameter = Parameter {
    name: "ageing",
    help: "how ticks clear bits: in turn (round-robin), or at random",
    of: ParameterType::Choice { options: &Ageing::NAMES },
};

const TICK: Parameter = Parameter {
    name: "tick",
    help: "bits that a tick clears",
    of: ParameterType::Count { min: 1, max: 1 << 56, default: Some(64) },
};

/// The default of k, t and q, from which those of other numbers of hashes are scaled.
const USUAL_HASHES: u32 = 12;

fn shape(config: &Config) -> Result<Shape> {
    let number = |name| config.count(name).map(|count| count as u32);
    let (bits, items) = (config.count("bits"), config.count("items"));
    let (hashes, set, quorum) = (number("hashes"), number("set"), number("quorum"));
    let fixed = hashes.is_some() || set.is_some() || quorum.is_some();
    let missing = |what: &str| Error::parameter("items", common::ITEMS.range(), format!("missing (or give `{what}`)"));
    let fpr = config.real("fpr").unwrap_or(0.01);
    let mut shape = match (bits, items) {
        (_, Some(items)) if !fixed => {
            let removals = config.count("removals").unwrap_or(items / 10);
            let fnr = config.real("fnr").unwrap_or(0.01);
            match bits {
                Some(bits) => variable_length::best(bits, items, removals, fnr)?,
                None => variable_length::for_rate(items, fpr, removals, fnr)?,
            }
        }
        (bits, items) => {
            let hashes = hashes.unwrap_or_else(|| USUAL_HASHES.max(set.unwrap_or(0)).max(quorum.unwrap_or(0)));
            let set = set.unwrap_or_else(|| (hashes * 5 / 6).max(quorum.unwrap_or(1)).min(hashes).max(1));
            let quorum = quorum.unwrap_or_else(|| (set * 9).div_ceil(10));
            let keep = number("keep").unwrap_or_else(|| quorum.saturating_sub(1));
            for (name, found, most, of) in
                [("set", set, hashes, "hashes"), ("quorum", quorum, set, "set"), ("keep", keep + 1, quorum, "quorum")]
            {
                if found > most {
                    let found = if name == "keep" { keep } else { found };
                    return Err(Error::parameter(name, format!("at most the {most} of {of} (keep: below it)"), found));
                }
            }
            let shape = Shape { bits: 0, hashes, set, quorum, keep };
            match (bits, items) {
                (Some(bits), _) => Shape { bits, ..shape },
                (None, Some(items)) => variable_length::sized(shape, items, fpr)?,
                (None, None) => return Err(missing("bits")),
            }
        }
    };
    if let Some(keep) = number("keep") {
        if keep >= shape.quorum {
            return Err(Error::parameter("keep", format!("below the quorum, {}", shape.quorum), keep));
        }
        shape.keep = keep;
    }
    if shape.bits < u64::from(shape.hashes) {
        return Err(Error::parameter("bits", format!("at least the {} positions of a key", shape.hashes), shape.bits));
    }
    Ok(shape)
}

impl VariableLength {
    /// A filter for `items` distinct keys whose false-positive rate is then `fpr`, and which misses at most a hundredth
    /// of them after a tenth was removed: the smallest that does.
    ///
    /// ```
    /// use bouquet::counting::variable_length::VariableLength;
    /// let shape = VariableLength::with_rate(10_000, 0.01)?.shape();
    /// assert!(shape.rate(10_000) <= 0.01 && shape.misses(10_000, 1_000, 0.0) <= 0.01);
    /// assert!(VariableLength::with_rate(0, 0.01).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_rate(items: u64, fpr: f64) -> Result<Self> {
        let config = Config::new(KIND.facts()).with("items", Setting::Count(items))?;
        Self::from_config(&config.with("fpr", Setting::Real(fpr))?)
    }

    /// A filter of `bits` bits with k = 12, t = 10, q = 9 and d = 8: good for a key per 20 bits.
    ///
    /// ```
    /// use bouquet::counting::variable_length::VariableLength;
    /// let shape = VariableLength::with_size(400_000)?.shape();
    /// assert_eq!((shape.hashes, shape.set, shape.quorum, shape.keep), (12, 10, 9, 8));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(bits: u64) -> Result<Self> {
        Self::from_config(&Config::new(KIND.facts()).with("bits", Setting::Count(bits))?)
    }

    /// A filter of any shape with 0 <= d < q <= t <= k <= 64 and k <= m.
    ///
    /// ```
    /// use bouquet::{counting::variable_length::VariableLength, theory::variable_length::Shape};
    /// let shape = Shape { bits: 1_000, hashes: 6, set: 5, quorum: 4, keep: 3 };
    /// assert_eq!(VariableLength::with_shape(shape)?.shape(), shape);
    /// assert!(VariableLength::with_shape(Shape { quorum: 6, ..shape }).is_err(), "more than are set");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_shape(shape: Shape) -> Result<Self> {
        let Shape { bits, hashes, set, quorum, keep } = shape;
        let config = Config::new(KIND.facts()).with("bits", Setting::Count(bits))?;
        let rest = [("hashes", hashes), ("set", set), ("quorum", quorum), ("keep", keep)];
        let config =
            rest.into_iter().try_fold(config, |config, (name, n)| config.with(name, Setting::Count(n.into())))?;
        Self::from_config(&config)
    }

    /// An empty filter of the settings in `config`, which must be for this kind.
    ///
    /// ```
    /// use bouquet::{counting::variable_length::{Ageing, KIND, VariableLength}, kind::Config};
    /// let config = Config::new(KIND.facts()).set("items", "1000")?.set("removals", "500")?.set("ageing", "random")?;
    /// let filter = VariableLength::from_config(&config)?;
    /// assert!(filter.shape().misses(1_000, 500, 0.0) <= 0.01);
    /// assert_eq!(filter.ageing(), Ageing::Random);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_config(config: &Config) -> Result<Self> {
        let shape = shape(config)?;
        let bits = BitStore::zeroed(shape.bits)?;
        let random = SplitMix::new(config.hashing().seed());
        Self::with_parts(config, shape, bits, random, [0; 3])
    }

    fn with_parts(
        config: &Config,
        shape: Shape,
        bits: BitStore,
        random: SplitMix,
        [items, inserted, next]: [u64; 3],
    ) -> Result<Self> {
        let places = flat_places(shape.bits, shape.hashes)?;
        let random_ageing = config.choice("ageing") == Ageing::Random.name();
        Ok(VariableLength {
            shape,
            array: BitArray::new(KIND.facts().id, places, config.hashing(), bits),
            ageing: if random_ageing { Ageing::Random } else { Ageing::RoundRobin },
            tick: config.need("tick")?,
            next,
            random,
            items,
            inserted,
            design: Design::of(config),
            planned: Planned {
                removals: config.count("removals"),
                fnr: config.is_set("fnr").then(|| config.real("fnr")).flatten(),
            },
        })
    }

    /// m, k, t, q and d, which tell its rates: see [`Shape`].
    ///
    /// ```
    /// let shape = bouquet::counting::variable_length::VariableLength::with_size(400_000)?.shape();
    /// assert!((shape.rate(20_000) - 0.0135).abs() < 1e-4);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// How ticks clear bits.
    ///
    /// ```
    /// use bouquet::counting::variable_length::{Ageing, VariableLength};
    /// assert_eq!(VariableLength::with_size(1_000)?.ageing(), Ageing::RoundRobin);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn ageing(&self) -> Ageing {
        self.ageing
    }

    /// The bits.
    ///
    /// ```
    /// use bouquet::counting::variable_length::VariableLength;
    /// let mut filter = VariableLength::with_size(1_000)?;
    /// filter.insert("rose");
    /// assert_eq!(filter.bits().count_ones(), 10);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn bits(&self) -> &BitStore {
        &self.array.bits
    }

    /// Insertions less removals.
    ///
    /// ```
    /// use bouquet::counting::variable_length::VariableLength;
    /// let mut filter = VariableLength::with_size(1_000)?;
    /// ["rose", "lily"].map(|key| filter.insert(key));
    /// filter.remove("rose")?;
    /// assert_eq!(filter.items(), 1);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn items(&self) -> u64 {
        self.items
    }

    /// The positions of a key in the order of its hash functions, all different: one that is taken already moves to the
    /// next.
    #[inline]
    fn positions(&self, digest: Digest) -> Positions {
        let mut taken = [0; MAX_HASHES as usize];
        let mut count = 0;
        for mut position in probes(digest, self.shape.bits, self.shape.hashes) {
            // It ends, because there are at least as many bits as positions.
            while taken[..count].contains(&position) {
                position = if position + 1 == self.shape.bits { 0 } else { position + 1 };
            }
            taken[count] = position;
            count += 1;
        }
        taken[..count].iter().copied().collect()
    }

    #[inline]
    fn length_of(&self, positions: &[u64]) -> u32 {
        positions.iter().map(|&position| u32::from(self.array.bits.get(position))).sum()
    }

    /// The length of a key's signature: how many of its positions are ones.
    ///
    /// ```
    /// use bouquet::counting::variable_length::VariableLength;
    /// let mut filter = VariableLength::with_size(10_000)?;
    /// assert_eq!(filter.signature("rose"), 0);
    /// filter.insert("rose");
    /// assert_eq!(filter.signature("rose"), 10);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn signature<K: Key + ?Sized>(&self, key: &K) -> u32 {
        self.length_of(&self.positions(self.array.digest(key)))
    }

    /// Inserts a key, setting the first t of its positions, and says whether it seemed absent before.
    ///
    /// ```
    /// use bouquet::counting::variable_length::VariableLength;
    /// let mut filter = VariableLength::with_rate(1_000, 0.01)?;
    /// assert!(filter.insert("rose") && !filter.insert("rose"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        self.insert_digest(self.array.digest(key))
    }

    #[inline]
    fn insert_digest(&mut self, digest: Digest) -> bool {
        let positions = self.positions(digest);
        let fresh = self.length_of(&positions) < self.shape.quorum;
        for &position in positions.iter().take(self.shape.set as usize) {
            self.array.bits.set(position);
        }
        self.items = self.items.saturating_add(1);
        self.inserted = self.inserted.saturating_add(1);
        fresh
    }

    /// Whether at least q of the key's positions are ones.
    ///
    /// ```
    /// use bouquet::counting::variable_length::VariableLength;
    /// let mut filter = VariableLength::with_rate(1_000, 0.01)?;
    /// filter.insert("rose");
    /// assert!(filter.contains("rose") && !filter.contains("thistle"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_digest(self.array.digest(key))
    }

    #[inline]
    fn contains_digest(&self, digest: Digest) -> bool {
        self.length_of(&self.positions(digest)) >= self.shape.quorum
    }

    /// Takes a key out: ones of it, drawn at random, are cleared until d are left. [`Error::NotPresent`] when fewer
    /// than q are ones, and nothing changes. Other keys that share these bits lose them too; a key that merely seems
    /// present does the same harm.
    ///
    /// ```
    /// use bouquet::counting::variable_length::VariableLength;
    /// let mut filter = VariableLength::with_size(10_000)?;
    /// filter.insert("rose");
    /// filter.remove("rose")?;
    /// assert_eq!(filter.signature("rose"), 8);
    /// assert!(filter.remove("rose").is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        let positions = self.positions(self.array.digest(key));
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
        self.items = self.items.saturating_sub(1);
        Ok(())
    }

    /// Gives a key that is still present its first t bits back, as after an insertion, and says whether it was. To be
    /// called when a live key is looked up: it heals what removals and ageing have done.
    ///
    /// ```
    /// use bouquet::counting::variable_length::VariableLength;
    /// let mut filter = VariableLength::with_size(10_000)?;
    /// filter.insert("rose");
    /// filter.age(5_000);
    /// let worn = filter.signature("rose");
    /// assert!(filter.recover("rose") == (worn >= 9));
    /// assert!(!filter.recover("lily"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn recover<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        self.lengthen(key, self.shape.set)
    }

    /// The same for all k bits: the longest signature, which bears the most.
    ///
    /// ```
    /// use bouquet::counting::variable_length::VariableLength;
    /// let mut filter = VariableLength::with_size(10_000)?;
    /// filter.insert("rose");
    /// assert!(filter.recover_fully("rose"));
    /// assert_eq!(filter.signature("rose"), 12);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn recover_fully<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        self.lengthen(key, self.shape.hashes)
    }

    fn lengthen<K: Key + ?Sized>(&mut self, key: &K, first: u32) -> bool {
        let positions = self.positions(self.array.digest(key));
        let present = self.length_of(&positions) >= self.shape.quorum;
        if present {
            for &position in positions.iter().take(first as usize) {
                self.array.bits.set(position);
            }
        }
        present
    }

    /// A packet of a key that is present: one more of its positions is set, if one is left. The length of the signature
    /// thereafter, or `None` for a key that is absent.
    ///
    /// ```
    /// use bouquet::counting::variable_length::VariableLength;
    /// let mut filter = VariableLength::with_size(10_000)?;
    /// assert_eq!(filter.touch("rose"), None);
    /// filter.insert("rose");
    /// assert_eq!([1, 2, 3].map(|_| filter.touch("rose")), [Some(11), Some(12), Some(12)]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn touch<K: Key + ?Sized>(&mut self, key: &K) -> Option<u32> {
        let positions = self.positions(self.array.digest(key));
        let length = self.length_of(&positions);
        if length < self.shape.quorum {
            return None;
        }
        let missing = positions.iter().find(|&&position| !self.array.bits.get(position));
        let more = missing.is_some_and(|&position| self.array.bits.set(position));
        Some(length + u32::from(more))
    }

    /// A hint at how many packets a key had: one and the positions beyond the t of its insertion that are ones, by
    /// [`touch`](Self::touch) or by chance. Zero for an absent key.
    ///
    /// ```
    /// use bouquet::{capability::Multiplicity, counting::variable_length::VariableLength};
    /// let mut filter = VariableLength::with_size(10_000)?;
    /// filter.insert("rose");
    /// assert_eq!(filter.count("rose"), Multiplicity { count: 1, at_least: false });
    /// [1, 2].map(|_| filter.touch("rose"));
    /// assert_eq!(filter.count("rose"), Multiplicity { count: 3, at_least: true });
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> Multiplicity {
        let length = self.signature(key);
        let Shape { hashes, set, quorum, .. } = self.shape;
        let present = length >= quorum;
        let count = if present { 1 + u64::from(length.saturating_sub(set)) } else { 0 };
        Multiplicity { count, at_least: present && length == hashes }
    }

    /// Clears so many bits: those that are next in turn, or at random.
    ///
    /// ```
    /// use bouquet::counting::variable_length::VariableLength;
    /// let mut filter = VariableLength::with_size(1_000)?;
    /// (0..50u64).for_each(|key| assert!(filter.insert(&key) || key > 0));
    /// filter.age(1_000);
    /// assert_eq!(filter.bits().count_ones(), 0, "once round");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn age(&mut self, bits: u64) {
        self.age_many(bits.into());
    }

    fn age_many(&mut self, bits: u128) {
        let m = self.shape.bits;
        match self.ageing {
            Ageing::RoundRobin => {
                let (start, run) = (self.next, bits.min(m.into()) as u64);
                let before_end = run.min(m - start);
                self.array.bits.clear_run(start, before_end);
                self.array.bits.clear_run(0, run - before_end);
                self.next = ((u128::from(start) + bits % u128::from(m)) % u128::from(m)) as u64;
            }
            Ageing::Random => {
                let mut left = bits;
                while left > 0 {
                    // When every bit is zero only the generator goes on; looking costs less than the steps in between.
                    if self.array.bits.words().iter().all(|&word| word == 0) {
                        return self.random.skip(left as u64);
                    }
                    let steps = left.min(m.into());
                    for _ in 0..steps {
                        let position = self.random.below(m);
                        self.array.bits.clear(position);
                    }
                    left -= steps;
                }
            }
        }
    }

    /// Lets so many ticks pass, each of which clears the bits of a tick.
    ///
    /// ```
    /// use bouquet::counting::variable_length::VariableLength;
    /// let mut filter = VariableLength::with_size(6_400)?;
    /// filter.insert("rose");
    /// filter.advance(100);
    /// assert!(!filter.contains("rose"), "100 times 64 bits are all");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn advance(&mut self, ticks: u64) {
        self.age_many(u128::from(ticks) * u128::from(self.tick));
    }

    /// The frame.
    ///
    /// ```
    /// use bouquet::counting::variable_length::VariableLength;
    /// let mut filter = VariableLength::with_size(1_000)?;
    /// filter.insert("rose");
    /// let mut copy = VariableLength::from_bytes(&filter.to_bytes())?;
    /// filter.remove("rose")?;
    /// copy.remove("rose")?;
    /// assert_eq!(copy, filter, "the copy clears the same bits");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        crate::codec::to_bytes(self)
    }

    /// Reads a frame of this kind.
    ///
    /// ```
    /// use bouquet::counting::variable_length::VariableLength;
    /// let mut filter = VariableLength::with_rate(1_000, 0.01)?;
    /// filter.insert("rose");
    /// assert_eq!(VariableLength::from_bytes(&filter.to_bytes())?, filter);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        crate::codec::from_bytes(bytes)
    }
}

impl Structure for VariableLength {
    const FACTS: Facts = Facts {
        id: "variable-length",
        number: 65,
        aliases: &["VBF", "variable-length signatures"],
        family: "counting",
        text: Text::new(include_str!("variable_length.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::FalseNegative, ErrorClass::OverCount, ErrorClass::UnderCount],
        note: NoteType::None,
        parameters: &[
            common::ITEMS,
            common::FPR,
            REMOVALS,
            FNR,
            common::BITS,
            common::HASHES,
            SET,
            QUORUM,
            KEEP,
            AGEING,
            TICK,
        ],
    };

    const IN_PLACE: bool = true;

    fn plan(config: &Config) -> Result<Plan> {
        let shape = shape(config)?;
        let items = config.count("items");
        Ok(Plan { bits: shape.bits, hashes: shape.hashes, items, fpr: items.map(|items| shape.rate(items)) })
    }

    fn create(config: &Config) -> Result<Self> {
        Self::from_config(config)
    }

    fn config(&self) -> Config {
        let Shape { bits, hashes, set, quorum, keep } = self.shape;
        let mut config = Config::new(KIND.facts()).put("bits", Setting::Count(bits)).hashed(self.array.hashing.clone());
        for (name, number) in [("hashes", hashes), ("set", set), ("quorum", quorum), ("keep", keep)] {
            config = config.put(name, Setting::Count(number.into()));
        }
        config = config.put("ageing", Setting::Choice(self.ageing.name())).put("tick", Setting::Count(self.tick));
        if let Some(removals) = self.planned.removals {
            config = config.put("removals", Setting::Count(removals));
        }
        if let Some(fnr) = self.planned.fnr {
            config = config.put("fnr", Setting::Real(fnr));
        }
        self.design.put(config)
    }

    fn hashing(&self) -> &Hashing {
        &self.array.hashing
    }

    fn stats(&self) -> Stats {
        let fill = self.array.bits.fill();
        Stats {
            items: self.items,
            bits: self.shape.bits,
            hashes: self.shape.hashes,
            fill: Some(fill),
            fpr: Some(self.shape.rate_at(fill)),
            // All k positions of every key that was inserted, if all were touched until they had them.
            honest_fill: Some(self.array.honest_fill(self.inserted)),
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
    fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        for number in [self.items, self.inserted, self.next, self.random.state()] {
            encoder.state().u64(number);
        }
        encoder.bits(&self.array.bits);
    }

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self> {
        let shape = shape(decoder.config())?;
        let state = decoder.state();
        let [items, inserted, next, random] = [state.u64()?, state.u64()?, state.u64()?, state.u64()?];
        if items > inserted {
            return Err(Error::corrupt("items", format!("at most {inserted}, the insertions"), items));
        }
        if next >= shape.bits {
            return Err(Error::corrupt("next bit to age", format!("below {}", shape.bits), next));
        }
        let bits = decoder.bits(shape.bits)?;
        Self::with_parts(decoder.config(), shape, bits, SplitMix::new(random), [items, inserted, next])
    }
}

impl Contains for VariableLength {
    fn contains(&self, key: &[u8]) -> bool {
        VariableLength::contains(self, key)
    }

    fn contains_batch(&self, keys: &[&[u8]], answers: &mut [bool]) {
        self.array.answer_each(keys, answers, |digest| self.contains_digest(digest));
    }
}

impl Insert for VariableLength {
    fn insert(&mut self, item: Item<'_>) -> Result<bool> {
        Ok(VariableLength::insert(self, item.bare()?))
    }

    fn insert_batch(&mut self, items: &[Item<'_>]) -> Result<u64> {
        let insert = |filter: &mut Self, _: &Item<'_>, digest| Ok(filter.insert_digest(digest));
        insert_each(self, items, |filter, items| filter.array.digests(items), insert)
    }
}

impl Remove for VariableLength {
    fn remove(&mut self, item: Item<'_>) -> Result<()> {
        VariableLength::remove(self, item.bare()?)
    }
}

impl Count for VariableLength {
    fn count(&self, key: &[u8]) -> Multiplicity {
        VariableLength::count(self, key)
    }
}

impl Advance for VariableLength {
    fn advance(&mut self, ticks: u64) {
        VariableLength::advance(self, ticks);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::spread;

    const N: u64 = 20_000;
    const USUAL: Shape = Shape { bits: 400_000, hashes: 12, set: 10, quorum: 9, keep: 8 };
    const STRICT: Shape = Shape { quorum: 10, keep: 9, ..USUAL };

    fn filled(shape: Shape, seed: u64) -> VariableLength {
        let Shape { bits, hashes, set, quorum, keep } = shape;
        let settings = [("hashes", hashes), ("set", set), ("quorum", quorum), ("keep", keep)];
        let config = Config::new(KIND.facts()).with("bits", Setting::Count(bits)).unwrap();
        let config = settings.into_iter().fold(config, |config, (name, n)| config.put(name, Setting::Count(n.into())));
        let mut filter = VariableLength::from_config(&config.hashed(Hashing::seeded(seed))).unwrap();
        (0..N).for_each(|key| {
            filter.insert(&key);
        });
        filter
    }

    fn missed(filter: &VariableLength, keys: std::ops::Range<u64>) -> f64 {
        let count = keys.end - keys.start;
        keys.filter(|key| !filter.contains(key)).count() as f64 / count as f64
    }

    #[test]
    fn the_rates_are_the_predicted_ones() {
        for (shape, printed) in [(USUAL, 0.0135), (STRICT, 0.0024)] {
            let filter = filled(shape, 1);
            assert_eq!(missed(&filter, 0..N), 0.0);
            let queries = 500_000;
            let found = 1.0 - missed(&filter, 1 << 40..(1 << 40) + queries);
            // The rate's slope in the fill is steeper than that of all k bits together nowhere.
            let fill_luck = spread::ones_variance(400_000, N, 10).sqrt() / 400_000.0;
            let slope = (shape.rate_at(0.394) - shape.rate_at(0.393)) / 0.001;
            let sigma = spread::test_sigma_conditional(shape.rate(N), queries).hypot(slope * fill_luck);
            assert!((found - shape.rate(N)).abs() < 5.0 * sigma, "{found} {}", shape.rate(N));
            assert!((shape.rate(N) - printed).abs() < 5e-5);
        }
    }

    #[test]
    fn removals_lose_as_many_keys_as_predicted_and_removed_keys_answer_no() {
        for (shape, printed, tolerance) in [(USUAL, 0.0039, 0.2), (STRICT, 0.037, 0.1)] {
            let mut sum = 0.0;
            for seed in 0..10 {
                let mut filter = filled(shape, seed);
                let mut removed = 0;
                for key in 0..2_000u64 {
                    // A few have been lost to the removals before them.
                    removed += u64::from(filter.remove(&key).is_ok());
                    assert!(!filter.contains(&key));
                }
                assert!(removed > 1_900);
                assert_eq!(missed(&filter, 0..2_000), 1.0);
                sum += missed(&filter, 2_000..N);
            }
            let mean = sum / 10.0;
            assert!((mean / printed - 1.0).abs() < tolerance, "{mean} instead of {printed}");
            let expected = shape.misses(N, 2_000, 0.0);
            let sigma = spread::test_sigma_conditional(expected, 10 * (N - 2_000));
            assert!((mean - expected).abs() < 5.0 * sigma, "{mean}, expected {expected} with sigma {sigma}");
        }
    }

    #[test]
    fn recovering_cuts_later_losses() {
        let (mut healed, mut left) = (0.0, 0.0);
        for seed in 0..3 {
            let mut filter = filled(USUAL, seed);
            (0..2_000u64).for_each(|key| drop(filter.remove(&key)));
            let mut untended = filter.clone();
            let lost = missed(&filter, 4_000..N);
            // Bits that a key gets back may bring back another that shares them.
            (2_000..N).for_each(|key| assert!(filter.recover(&key) || !untended.contains(&key)));
            for filter in [&mut filter, &mut untended] {
                (2_000..4_000u64).for_each(|key| drop(filter.remove(&key)));
            }
            healed += missed(&filter, 4_000..N) - lost;
            left += missed(&untended, 4_000..N) - lost;
        }
        assert!(healed < left / 2.0, "{healed} with recovery, {left} without");
    }

    #[test]
    fn one_cycle_of_ageing_empties_the_filter() {
        let mut filter = filled(USUAL, 1);
        filter.age(100_000);
        assert_eq!(filter.bits().count_ones_in(0, 100_000), 0);
        assert!(filter.bits().count_ones() > 100_000);
        // A quarter of the positions is gone.
        let expected = USUAL.misses(N, 0, 0.25);
        let measured = missed(&filter, 0..N);
        // The ten bits of a key are missed independently, and keys nearly so.
        let sigma = spread::test_sigma_conditional(expected, N);
        assert!((measured - expected).abs() < 5.0 * sigma, "{measured} {expected}");
        filter.age(300_000);
        assert_eq!(filter.bits().count_ones(), 0);
        assert_eq!(filter.next, 0);
    }

    #[test]
    fn random_ageing_clears_as_many_as_chance_does() {
        let config = Config::new(KIND.facts()).set("bits", "100000").unwrap().set("ageing", "random").unwrap();
        let mut filter = VariableLength::from_config(&config).unwrap();
        (0..5_000u64).for_each(|key| {
            filter.insert(&key);
        });
        let before = filter.bits().count_ones() as f64;
        filter.age(50_000);
        let after = filter.bits().count_ones() as f64;
        // A one outlives so many draws among m bits with probability e^-1/2; they compete, so scatter less than alone.
        let alive = (-0.5f64).exp();
        assert!((after - before * alive).abs() < 5.0 * (before * alive * (1.0 - alive)).sqrt(), "{before} {after}");
        filter.advance(u64::MAX);
        assert_eq!(filter.bits().count_ones(), 0);
    }

    #[test]
    fn a_key_has_different_positions_even_in_a_tiny_filter() {
        let shape = Shape { bits: 12, hashes: 12, set: 10, quorum: 9, keep: 8 };
        for key in 0..100u64 {
            let mut filter = VariableLength::with_shape(shape).unwrap();
            filter.insert(&key);
            assert_eq!((filter.bits().count_ones(), filter.signature(&key)), (10, 10));
            filter.remove(&key).unwrap();
            assert_eq!(filter.bits().count_ones(), 8);
        }
        assert!(VariableLength::with_shape(Shape { bits: 11, ..shape }).is_err());
    }

    #[test]
    fn signatures_grow_with_packets() {
        let mut filter = filled(USUAL, 2);
        for key in 0..1_000u64 {
            (0..5).for_each(|_| assert!(filter.touch(&key).is_some()));
        }
        let mean = |keys: std::ops::Range<u64>| keys.map(|key| filter.count(&key).count).sum::<u64>() as f64 / 1_000.0;
        assert_eq!(mean(0..1_000), 3.0, "all twelve");
        assert!((mean(1_000..2_000) - (1.0 + 2.0 * 0.3935)).abs() < 0.1);
    }
}

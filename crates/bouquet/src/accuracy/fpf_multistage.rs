#![doc = include_str!("fpf_multistage.md")]

use crate::capability::{Dataset, Item, NoteType};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing};
use crate::key::Key;
use crate::kind::{
    ErrorClass, Facts, Figure, Kind, Made, Parameter, Plan, Rates, Reply, Setting, Special, Stats, Takes, Text, common,
    kind,
};
use crate::shell::{Assemble, Fields, Filter, Hashed, Mechanism, Settings, Sort, Test, fields};
use crate::store::Words;
use crate::theory::{multistage, standard};

mod stage;

use stage::{Code, Stage};

/// The registry's row.
pub const KIND: Kind = kind!(FpfMultistage);

/// A header of filters, one per hop, without a wrong answer about the links that will be asked for.
///
/// ```
/// use bouquet::{FpfMultistage, FpfMultistageSettings, hash::Hashing};
/// let links = [("a-b", 0), ("b-c", 1), ("b-d", 1)].map(|(link, hop)| (link.as_bytes(), hop));
/// let others = [("a-c", 0), ("b-e", 1), ("b-a", 1)].map(|(link, hop)| (link.as_bytes(), hop));
/// let header = FpfMultistage::encoded(&FpfMultistageSettings::default(), &Hashing::default(), links, others)?;
/// assert!(header.passes("a-b") && !header.passes("a-c"));
/// let next = header.forwarded()?;
/// assert!(next.passes("b-c") && next.passes("b-d") && !next.passes("b-e") && !next.passes("b-a"));
/// assert!(next.forwarded()?.forwarded().is_err(), "no stage is left");
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type FpfMultistage = Filter<Stages>;

/// Bits of a number of positions; 0 is the escape code.
const HASH_BITS: u32 = 3;

/// The most positions of a link.
const MOST_HASHES: u32 = (1 << HASH_BITS) - 1;

/// The most stages of a header.
const MOST_STAGES: u64 = 1 << 12;

const ITEMS: Parameter = Parameter { help: "links that the header is made for", ..common::ITEMS };
const EXCLUDED: Parameter =
    Parameter::count("excluded", "links that will be asked for and must be rejected; for the plan", 0, 1 << 40).or(0);
const STAGES: Parameter = Parameter::count("stages", "hops; for the plan", 1, MOST_STAGES).or(1);
const SEED_BITS: Parameter = Parameter::count("seed-bits", "bits of the seed of a stage", 0, 12).or(3);
const MOST: Parameter =
    Parameter::count("most", "bits of a stage, at most: a longer one lists its links instead", 1, 1 << 20).or(4_096);

/// The settings of a multistage header.
///
/// ```
/// use bouquet::{FpfMultistage, FpfMultistageSettings};
/// let empty = FpfMultistage::with(FpfMultistageSettings { seed_bits: Some(0), ..Default::default() })?;
/// assert_eq!((empty.stages(), empty.stats().bits), (0, 0));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FpfMultistageSettings {
    /// Links to take.
    pub items: Option<u64>,
    /// Links to reject.
    pub excluded: Option<u64>,
    /// Hops.
    pub stages: Option<u64>,
    /// Bits of the seed of a stage.
    pub seed_bits: Option<u32>,
    /// Bits of a stage, at most.
    pub most: Option<u64>,
}

impl Settings for FpfMultistageSettings {
    const FIELDS: Fields<Self> =
        fields![items: ITEMS, excluded: EXCLUDED, stages: STAGES, seed_bits: SEED_BITS, most: MOST];
    const DESIGN: &'static [&'static str] = &["items", "excluded", "stages"];
}

/// Stages, as they follow each other in the header.
#[derive(Clone, Debug, PartialEq)]
pub struct Stages {
    code: Code,
    stages: Vec<Stage>,
    /// The header, as a string of bits.
    header: Words,
    bits: u64,
    /// Links that were put in, and links that were to be rejected.
    links: u64,
    excluded: u64,
}

impl Stages {
    fn of(code: Code, stages: Vec<Stage>, links: u64, excluded: u64) -> Result<Self> {
        let (header, bits) = code.encode(&stages)?;
        Ok(Stages { code, stages, header, bits, links, excluded })
    }

    /// The stages that take a link.
    fn takers(&self, digest: Digest) -> impl Iterator<Item = u64> + '_ {
        (0..).zip(&self.stages).filter(move |(_, stage)| stage.takes(digest)).map(|(number, _)| number)
    }
}

fn code(settings: &FpfMultistageSettings) -> Result<Code> {
    Ok(Code { seed_bits: SEED_BITS.need(settings.seed_bits)?, most: MOST.need(settings.most)? })
}

impl Mechanism for Stages {
    const FACTS: Facts = Facts {
        id: "fpf-multistage",
        number: 166,
        aliases: &["FPF-MBF", "multistage header"],
        family: "accuracy",
        text: Text::new(include_str!("fpf_multistage.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::SpuriousSet],
        note: NoteType::Group,
        parameters: &[],
    };

    const OWN_ITEMS: bool = true;
    const KNOWS_ABSENT: bool = true;
    const SIZE_FOLLOWS_DATA: bool = true;

    const SPECIALS: &'static [Special<FpfMultistage>] = &[
        Special::ask("passes", Takes::Key, "whether the first stage takes the link", |filter, argument| {
            Ok(Reply::Truth(filter.passes(argument.key()?)))
        }),
        Special::ask(
            "forward",
            Takes::Nothing,
            "the header without its first stage, as the next hop gets it",
            |filter, _| Ok(Made::reply(filter.forwarded()?)),
        ),
        Special::ask(
            "stages",
            Takes::Nothing,
            "for each stage: its bits with all that belongs to them, those of the filter, positions, seed, and the rate of links that are not declared",
            |filter, _| {
                let row = |stage: &Stage| {
                    let (filter_bits, hashes, seed) = stage.shape();
                    let mut row: Vec<Reply> =
                        [filter.mechanism.code.bits(stage), filter_bits, hashes.into(), seed].map(Reply::from).into();
                    row.push(Reply::Real(stage.rate()));
                    row
                };
                let rows = filter.mechanism.stages.iter().map(row).collect();
                Ok(Reply::Table(&["bits", "filter", "positions", "seed", "rate"], rows))
            },
        ),
        Special::ask(
            "header",
            Takes::Nothing,
            "the header alone: its bits, the first of a byte highest",
            |filter, _| Ok(Reply::Bytes(filter.header())),
        ),
    ];

    type Settings = FpfMultistageSettings;

    fn resolve(asked: &FpfMultistageSettings) -> Result<FpfMultistageSettings> {
        Ok(FpfMultistageSettings {
            excluded: Some(EXCLUDED.need(asked.excluded)?),
            stages: Some(STAGES.need(asked.stages)?),
            seed_bits: Some(SEED_BITS.need(asked.seed_bits)?),
            most: Some(MOST.need(asked.most)?),
            ..asked.clone()
        })
    }

    fn plan(settings: &FpfMultistageSettings) -> Result<Plan> {
        let (code, items) = (code(settings)?, settings.items.unwrap_or(0));
        let stages: u64 = STAGES.need(settings.stages)?;
        let excluded: u64 = EXCLUDED.need(settings.excluded)?;
        let (links, others) = (items.div_ceil(stages), excluded.div_ceil(stages));
        if others == 0 {
            // How long a stage must be follows from what it must reject.
            return Ok(Plan { bits: 0, hashes: 1, items: settings.items, fpr: None });
        }
        // What is expected of long stages takes long to compute; they list their links.
        let (short, seeds) = (code.most.min(4_096), 1 << code.seed_bits);
        let expected = multistage::expected_bits(links.min(short), others, seeds, MOST_HASHES, short);
        let bits = (expected.round() as u64).max(1);
        let of_stage = u64::from(multistage::gamma_bits(bits) + HASH_BITS + code.seed_bits) + bits;
        let hashes = *multistage::candidates(bits, links, MOST_HASHES).end();
        Ok(Plan { bits: of_stage.saturating_mul(stages), hashes, items: settings.items, fpr: None })
    }

    fn empty(settings: &FpfMultistageSettings, _: &Hashing) -> Result<Self> {
        Self::of(code(settings)?, Vec::new(), 0, 0)
    }

    fn domain(settings: &FpfMultistageSettings) -> String {
        format!("{} {}", Self::FACTS.id, settings.seed_bits.unwrap_or(0))
    }

    fn items(&self, _: u64) -> u64 {
        self.links
    }

    fn stats(&self, items: u64) -> Stats {
        let hashes = self.stages.iter().map(|stage| stage.shape().1).max().unwrap_or(1);
        let rejects: f64 = self.stages.iter().map(|stage| 1.0 - stage.rate()).product();
        Stats { items, bits: self.bits, hashes, fill: None, fpr: Some(1.0 - rejects), honest_fill: None }
    }

    fn figures(&self) -> Vec<Figure> {
        let listed = self.stages.iter().filter(|stage| stage.is_list()).count() as u64;
        let figures = [
            ("stages", self.stages.len() as u64),
            ("stages that list their links", listed),
            ("links that are rejected", self.excluded),
        ];
        figures.map(|(name, count)| Figure { name, value: Setting::Count(count) }).to_vec()
    }

    /// As many stages of the same lengths, with the links spread evenly over them.
    fn expected(&self, items: u64) -> Rates {
        let count = self.stages.len().max(1) as u64;
        let rate = |stage: &Stage| match stage.shape() {
            _ if stage.is_list() => 0.0,
            (bits, hashes, _) => standard::expected_rate(bits, items.div_ceil(count), hashes),
        };
        let rejects: f64 = self.stages.iter().map(|stage| 1.0 - rate(stage)).product();
        let sets = self.stages.iter().map(rate).sum();
        Rates { false_positive: Some(1.0 - rejects), spurious_sets: Some(sets), ..Rates::default() }
    }

    /// State: links, links that are rejected, bits of the header. Store: the header, as words.
    fn encode<'a>(&'a self, _: u64, encoder: &mut Encoder<'a>) {
        [self.links, self.excluded, self.bits].iter().for_each(|number| encoder.state().u64(*number));
        encoder.words(self.header.as_slice());
    }

    fn decode(settings: &FpfMultistageSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let code = code(settings)?;
        let [links, excluded, bits] = [decoder.state().u64()?, decoder.state().u64()?, decoder.state().u64()?];
        let header = decoder.words(bits.div_ceil(64))?;
        let stages = code.decode(header.as_slice(), bits)?;
        let links = links.min(u64::MAX / 2);
        Ok((Stages { code, stages, header, bits, links, excluded }, 0))
    }
}

impl Test for Stages {
    /// Whether any stage takes the link.
    fn test(&self, key: Hashed<'_>) -> bool {
        self.takers(key.digest).next().is_some()
    }
}

impl Sort for Stages {
    /// The stages that take the link.
    fn sort(&self, key: Hashed<'_>) -> Vec<u64> {
        self.takers(key.digest).collect()
    }
}

impl Assemble for Stages {
    fn assemble(
        asked: &FpfMultistageSettings,
        hashing: &Hashing,
        data: &Dataset<'_>,
    ) -> Result<(FpfMultistageSettings, Self, u64)> {
        let settings = Self::resolve(asked)?;
        let (code, own) = (code(&settings)?, Self::hashing(&settings, hashing));
        let mut hops: Vec<[Vec<Digest>; 2]> = Vec::new();
        for (side, items) in [data.items, data.absent].into_iter().enumerate() {
            for item in items {
                let hop = item.group()?;
                if hop >= MOST_STAGES {
                    let expected = format!("a stage from 0 to {}", MOST_STAGES - 1);
                    return Err(Error::Item { expected, found: format!("stage {hop}") });
                }
                if hops.len() <= hop as usize {
                    hops.resize_with(hop as usize + 1, Default::default);
                }
                hops[hop as usize][side].push(item.digest(&own));
            }
        }
        let (mut links, mut excluded, mut stages) = (0, 0, Vec::new());
        for (hop, sides) in hops.iter_mut().enumerate() {
            for side in sides.iter_mut() {
                side.sort_unstable();
                side.dedup();
            }
            let [take, reject] = sides;
            if take.iter().any(|link| reject.binary_search(link).is_ok()) {
                return Err(Error::Build {
                    what: format!("a link of stage {hop} is to be taken and to be rejected"),
                    remedy: "name it once".into(),
                });
            }
            links += take.len() as u64;
            excluded += reject.len() as u64;
            stages.push(Stage::search(&code, take, reject));
        }
        Ok((settings, Self::of(code, stages, links, excluded)?, 0))
    }
}

impl FpfMultistage {
    /// The header of these links, each with its hop from 0 on, that rejects the others at theirs.
    pub fn encoded<'a>(
        settings: &FpfMultistageSettings,
        hashing: &Hashing,
        links: impl IntoIterator<Item = (&'a [u8], u64)>,
        excluded: impl IntoIterator<Item = (&'a [u8], u64)>,
    ) -> Result<Self> {
        let item = |(link, hop)| Item::new(link, crate::capability::Note::Group(hop));
        let links: Vec<_> = links.into_iter().map(item).collect();
        let excluded: Vec<_> = excluded.into_iter().map(item).collect();
        Self::build(settings, hashing, &Dataset { items: &links, absent: &excluded })
    }

    /// Whether the first stage takes the link.
    #[must_use]
    pub fn passes<K: Key + ?Sized>(&self, link: &K) -> bool {
        self.mechanism.stages.first().is_some_and(|stage| stage.takes(link.digest(&self.hashing)))
    }

    /// The header without its first stage, as the next hop gets it; an error if none is left.
    pub fn forwarded(&self) -> Result<Self> {
        let Stages { code, stages, links, excluded, .. } = &self.mechanism;
        let Some((_, rest)) = stages.split_first() else {
            return Err(Error::Truncated { what: "the header".into(), needed: 1, available: 0 });
        };
        let mechanism = Stages::of(*code, rest.to_vec(), *links, *excluded)?;
        Ok(Filter { mechanism, ..self.clone() })
    }

    /// How many stages are left.
    #[must_use]
    pub fn stages(&self) -> usize {
        self.mechanism.stages.len()
    }

    /// The header alone, the first bit of a byte highest.
    ///
    /// ```
    /// use bouquet::{FpfMultistage, FpfMultistageSettings, hash::Hashing};
    /// let settings = FpfMultistageSettings::default();
    /// let header = FpfMultistage::encoded(&settings, &Hashing::default(), [(b"a-b".as_slice(), 0)], [])?;
    /// assert_eq!(header.header(), [0b1_001_000_1], "b = 1, k = 1, seed 0, and the bit");
    /// assert_eq!(FpfMultistage::from_header(&settings, &Hashing::default(), &header.header(), 8)?.header(), header.header());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn header(&self) -> Vec<u8> {
        let bytes = self.mechanism.header.as_slice().iter().flat_map(|word| word.to_le_bytes());
        bytes.take(self.mechanism.bits.div_ceil(8) as usize).collect()
    }

    /// Reads a header of this many bits; one that is cut short or has a stage beyond the limit is refused.
    pub fn from_header(settings: &FpfMultistageSettings, hashing: &Hashing, header: &[u8], bits: u64) -> Result<Self> {
        settings.check()?;
        let settings = Stages::resolve(settings)?;
        let code = code(&settings)?;
        if bits.div_ceil(8) > header.len() as u64 {
            return Err(Error::Truncated {
                what: "the header".into(),
                needed: bits.div_ceil(8),
                available: header.len() as u64,
            });
        }
        let mut words = vec![0u64; bits.div_ceil(64) as usize];
        for (at, byte) in header.iter().take(words.len() * 8).enumerate() {
            words[at / 8] |= u64::from(*byte) << (8 * (at % 8));
        }
        let stages = code.decode(&words, bits)?;
        Ok(Self::of_parts(Stages::of(code, stages, 0, 0)?, settings, hashing, 0))
    }
}

#[cfg(test)]
mod tests;

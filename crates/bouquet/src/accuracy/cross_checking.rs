#![doc = include_str!("cross_checking.md")]

mod settings;

use crate::accuracy::witness::{self, Witness};
use crate::capability::{Note, NoteType};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing, fastrange};
use crate::key::Key;
use crate::kind::{ErrorClass, Facts, Kind, Need, Plan, Rates, Special, Stats, Takes, Text, Verb, common, kind};
use crate::parts::bit_array::flat_places;
use crate::shell::{Code, Filter, FromNote, Hashed, Implied, Mechanism, Put, Sort, Test, Unite};
use crate::theory::Size;
use crate::theory::witnesses::{CrossChecked, confirmed, confirmed_by_own};
use settings::{BY, CHECK, LIMIT, PARTS, SHARE};
pub use settings::{Check, CrossCheckingSettings, Partition};

/// The registry's row.
pub const KIND: Kind = kind!(CrossChecking);

/// A filter whose positives the filter of a part of the set must confirm.
///
/// ```
/// use bouquet::CrossChecking;
/// let mut filter = CrossChecking::with_rate(1_000, 0.001)?;
/// filter.insert("rose")?;
/// assert!(filter.contains("rose") && !filter.contains("thistle"));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type CrossChecking = Filter<CheckedParts>;

/// The number of a key's part, where keys come with it.
///
/// ```
/// use bouquet::accuracy::cross_checking::Label;
/// assert_eq!(Label::default(), Label(None), "a hash puts it somewhere");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Label(pub Option<u64>);

impl<'a> FromNote<'a> for Label {
    fn from_note(note: Note<'a>) -> Result<Self> {
        match note {
            Note::None => Ok(Label(None)),
            Note::Group(part) => Ok(Label(Some(part))),
            note => Err(Error::Item {
                expected: "a key, or one with the number of its part".into(),
                found: note.to_string(),
            }),
        }
    }
}

impl Implied for Label {}

/// Numbers that are mixed into digests: of the main filter, of the choice of a part, and of the first part.
const MAIN: u64 = 1;
const CHOICE: u64 = 2;
const FIRST_PART: u64 = 3;

/// The main filter, and the filters of the parts.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedParts {
    main: Witness,
    parts: Vec<Witness>,
    by: Partition,
    check: Check,
    design: CrossChecked,
}

/// What settings describe.
struct Shape {
    design: CrossChecked,
    by: Partition,
    check: Check,
}

impl Shape {
    fn of(settings: &CrossCheckingSettings) -> Result<Self> {
        let (by, check) = (BY.need(settings.by)?, CHECK.need(settings.check)?);
        if by == Partition::Label && check == Check::Own {
            return Err(Error::parameter("check", "all, since a label is not known when a key is asked for", "own"));
        }
        let (parts, share, limit) =
            (PARTS.need(settings.parts)?, SHARE.need(settings.share)?, LIMIT.need(settings.limit)?);
        let design = match (settings.bits, settings.items) {
            (None, Some(items)) => {
                let fpr = common::FPR.need(settings.fpr)?;
                CrossChecked::for_rate(items, fpr, parts, share, check == Check::Own, limit)?
            }
            (Some(bits), Some(items)) => CrossChecked::of_bits(bits, items, parts, share, limit)?,
            (Some(bits), None) => {
                let (main, part) = CrossChecked::split(bits, parts, share)?;
                let hashes = settings.hashes.ok_or_else(|| common::ITEMS.missing("hashes"))?;
                let of_part = settings.part_hashes.unwrap_or(hashes);
                let (main, part) = (Size { bits: main, hashes }, Size { bits: part, hashes: of_part });
                CrossChecked { main, part, parts }
            }
            (None, None) => return Err(common::ITEMS.missing("bits")),
        };
        let hashes = |of: Size, given: Option<u32>| Size { hashes: given.unwrap_or(of.hashes), ..of };
        let (main, part) = (hashes(design.main, settings.hashes), hashes(design.part, settings.part_hashes));
        Ok(Shape { design: CrossChecked { main, part, ..design }, by, check })
    }

    /// The main filter and the parts, each made by its number and size.
    fn filters(self, mut make: impl FnMut(u64, Size) -> Result<Witness>) -> Result<CheckedParts> {
        let main = make(MAIN, self.design.main)?;
        let parts = (0..self.design.parts).map(|part| make(FIRST_PART + u64::from(part), self.design.part));
        let parts = parts.collect::<Result<_>>()?;
        Ok(CheckedParts { main, parts, by: self.by, check: self.check, design: self.design })
    }
}

impl Mechanism for CheckedParts {
    const FACTS: Facts = Facts {
        id: "cross-checking",
        number: 162,
        aliases: &["CBF cross-checking", "cross-checking Bloom filters"],
        family: "accuracy",
        text: Text::new(include_str!("cross_checking.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::SpuriousSet],
        note: NoteType::None,
        parameters: &[],
    };

    const IN_PLACE: bool = true;

    const OWN_ITEMS: bool = true;

    const NEEDS: &'static [Need] = &[Need::new(Verb::Classify, BY.name, "label")];

    const SPECIALS: &'static [Special<CrossChecking>] = &[Special::ask(
        "confirmed-by",
        Takes::Key,
        "the parts that confirm the key: none for a key that is not in, one for most members, several leave its part open",
        |filter, key| Ok(filter.confirmed_by(key.key()?).into()),
    )];

    type Settings = CrossCheckingSettings;

    fn resolve(asked: &CrossCheckingSettings) -> Result<CrossCheckingSettings> {
        let Shape { design, by, check } = Shape::of(asked)?;
        flat_places(design.main.bits, design.main.hashes)?;
        flat_places(design.part.bits, design.part.hashes)?;
        Ok(CrossCheckingSettings {
            bits: Some(design.bits()),
            share: Some(SHARE.need(asked.share)?),
            parts: Some(design.parts),
            by: Some(by),
            check: Some(check),
            limit: Some(LIMIT.need(asked.limit)?),
            hashes: Some(design.main.hashes),
            part_hashes: Some(design.part.hashes),
            ..asked.clone()
        })
    }

    fn plan(settings: &CrossCheckingSettings) -> Result<Plan> {
        let shape = Shape::of(settings)?;
        let fpr = settings.items.map(|items| shape.expected(items, None));
        let hashes = shape.design.main.hashes;
        Ok(Plan { bits: shape.design.bits(), hashes, items: settings.items, fpr })
    }

    /// With the best numbers of positions a plain filter of the same size is better.
    fn advice(settings: &CrossCheckingSettings) -> Option<String> {
        let (shape, items) = (Shape::of(settings).ok()?, settings.items?);
        let (bits, limit) = (shape.design.bits(), LIMIT.need(settings.limit).ok()?);
        let hashes = crate::theory::standard::for_bits(bits, items).ok()?.hashes.min(limit);
        let (plain, own) = (crate::theory::standard::rate(bits, items, hashes), shape.expected(items, None));
        let advice = || {
            format!("a standard filter of {bits} bits has a rate of {plain:.3e}, this one {own:.3e}: take `standard`")
        };
        (plain <= own).then(advice)
    }

    fn empty(settings: &CrossCheckingSettings, _: &Hashing) -> Result<Self> {
        Shape::of(settings)?.filters(|number, size| Witness::empty(number, flat_places(size.bits, size.hashes)?, false))
    }

    fn domain(settings: &CrossCheckingSettings) -> String {
        let parts = settings.parts.unwrap_or(0);
        format!("{} {parts}", crate::parts::bit_array::domain(Self::FACTS.id, settings.bits, settings.hashes))
    }

    fn note(settings: &CrossCheckingSettings) -> NoteType {
        if settings.by == Some(Partition::Label) { NoteType::Group } else { NoteType::None }
    }

    fn items(&self, _: u64) -> u64 {
        self.main.items
    }

    fn stats(&self, items: u64) -> Stats {
        let (fill, honest) = witness::fill(self.witnesses());
        let parts: Vec<f64> = self.parts.iter().map(Witness::rate_now).collect();
        let of = if self.check == Check::Own { confirmed_by_own } else { confirmed };
        Stats {
            items,
            bits: self.witnesses().map(Witness::bits).sum(),
            hashes: self.main.hashes(),
            fill: Some(fill),
            fpr: Some(of(self.main.rate_now(), &parts)),
            honest_fill: Some(honest),
        }
    }

    fn expected(&self, items: u64) -> Rates {
        let shape = Shape { design: self.design, by: self.by, check: self.check };
        let tallies: Vec<u64> = self.parts.iter().map(|part| part.items).collect();
        let false_positive = shape.expected(items, Some(&tallies));
        let confirming = self.design.confirming_of(&shape.spread(items, Some(&tallies)));
        Rates { false_positive: Some(false_positive), spurious_sets: Some(confirming), ..Rates::default() }
    }

    /// State: the items of the main filter and of each part. Stores: the same in bits.
    fn encode<'a>(&'a self, _: u64, encoder: &mut Encoder<'a>) {
        self.witnesses().for_each(|witness| witness.encode(encoder));
    }

    fn decode(settings: &CrossCheckingSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let filters = Shape::of(settings)?
            .filters(|number, size| Witness::decode(number, flat_places(size.bits, size.hashes)?, false, decoder))?;
        Ok((filters, 0))
    }

    #[inline]
    fn reach(&self) -> u64 {
        self.main.bits()
    }

    #[inline]
    fn prefetch(&self, digest: Digest) {
        self.main.prefetch(digest);
    }
}

impl Shape {
    /// The keys of each part when there are this many: as the parts have them now, or evenly.
    fn spread(&self, items: u64, tallies: Option<&[u64]>) -> Vec<u64> {
        let even = vec![items.div_ceil(self.design.parts.into()); self.design.parts as usize];
        let Some(tallies) = tallies.filter(|_| self.by == Partition::Label) else { return even };
        let all = tallies.iter().fold(0u128, |sum, tally| sum + u128::from(*tally));
        if all == 0 {
            return even;
        }
        // Rounded, so that the tallies themselves come out for their sum.
        tallies.iter().map(|tally| ((u128::from(items) * u128::from(*tally) + all / 2) / all) as u64).collect()
    }

    fn expected(&self, items: u64, tallies: Option<&[u64]>) -> f64 {
        match self.by {
            Partition::Hash => self.design.rate(items, self.check == Check::Own),
            Partition::Label => self.design.rate_of(&self.spread(items, tallies)),
        }
    }
}

impl Test for CheckedParts {
    #[inline]
    fn test(&self, key: Hashed<'_>) -> bool {
        self.main.accepts(key.digest) && self.asked(key.digest).any(|(_, part)| part.accepts(key.digest))
    }
}

impl Put for CheckedParts {
    type Note<'a> = Label;
    type Outcome = Result<bool>;

    /// Whether the key was certainly new, in its part if it has a label.
    #[inline]
    fn put(&mut self, key: Hashed<'_>, label: Label) -> Result<bool> {
        let part = match (self.by, label) {
            (Partition::Hash, Label(None)) => self.own_part(key.digest),
            (Partition::Label, Label(Some(part))) => {
                let last = self.parts.len() as u64 - 1;
                if part > last {
                    let expected = format!("a part from 0 to {last} (give more `parts`)");
                    return Err(Error::Item { expected, found: format!("part {part}") });
                }
                part
            }
            (Partition::Hash, Label(Some(part))) => {
                let expected = "a key without a note (by=label takes the number of its part)";
                return Err(Error::Item { expected: expected.into(), found: format!("part {part}") });
            }
            (Partition::Label, Label(None)) => {
                return Err(Error::Item { expected: "a key with the number of its part".into(), found: "none".into() });
            }
        };
        let seemed = self.main.accepts(key.digest)
            && match self.by {
                Partition::Hash => self.asked(key.digest).any(|(_, part)| part.accepts(key.digest)),
                Partition::Label => self.parts[part as usize].accepts(key.digest),
            };
        self.main.put(key.digest);
        self.parts[part as usize].put(key.digest);
        Ok(!seemed)
    }
}

impl Sort for CheckedParts {
    /// The parts that confirm the key: several leave open which it is.
    fn sort(&self, key: Hashed<'_>) -> Vec<u64> {
        if !self.main.accepts(key.digest) {
            return Vec::new();
        }
        self.asked(key.digest).filter(|(_, part)| part.accepts(key.digest)).map(|(number, _)| number).collect()
    }
}

/// Bit for bit the filter of the union.
impl Unite for CheckedParts {
    fn unite(&mut self, other: &Self) -> Result<()> {
        self.main.unite(&other.main)?;
        self.parts.iter_mut().zip(&other.parts).try_for_each(|(part, other)| part.unite(other))
    }
}

impl Code for CheckedParts {
    fn entropy_bits(&self) -> f64 {
        self.witnesses().map(Witness::entropy_bits).sum()
    }
}

impl CheckedParts {
    fn witnesses(&self) -> impl Iterator<Item = &Witness> {
        std::iter::once(&self.main).chain(&self.parts)
    }

    /// The part to which the hash puts a key.
    #[inline]
    fn own_part(&self, digest: Digest) -> u64 {
        fastrange(digest.derive(CHOICE).h1, self.parts.len() as u64)
    }

    /// The parts that may confirm a key.
    #[inline]
    fn asked(&self, digest: Digest) -> impl Iterator<Item = (u64, &Witness)> {
        let (first, count) = match self.check {
            Check::All => (0, self.parts.len()),
            Check::Own => (self.own_part(digest), 1),
        };
        (first..).zip(self.parts.iter().skip(first as usize).take(count))
    }
}

impl CrossChecking {
    /// A filter of `bits` bits together, half of them in the main filter, and `hashes` positions per key in each of the filters.
    ///
    /// ```
    /// use bouquet::CrossChecking;
    /// let mut filter = CrossChecking::with_size(24_000, 3)?;
    /// filter.insert("rose")?;
    /// assert!(filter.contains("rose") && filter.stats().bits == 24_000);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(bits: u64, hashes: u32) -> Result<Self> {
        Self::with(CrossCheckingSettings { bits: Some(bits), hashes: Some(hashes), ..Default::default() })
    }

    /// The parts that confirm a key: none for one that is not in. One is most likely its own; several leave that open.
    ///
    /// ```
    /// use bouquet::CrossChecking;
    /// let mut filter = CrossChecking::with_rate(1_000, 0.001)?;
    /// filter.insert("rose")?;
    /// assert!(filter.confirmed_by("rose").len() == 1 && filter.confirmed_by("thistle").is_empty());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn confirmed_by<K: Key + ?Sized>(&self, key: &K) -> Vec<u64> {
        self.mechanism.sort(Hashed { digest: key.digest(&self.hashing), bytes: &[] })
    }
}

#[cfg(test)]
mod tests;

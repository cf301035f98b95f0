//! `BF.*`: a chain of Bloom filters, each larger and stricter than the one before.

use super::super::murmur::{murmur2, murmur64a};
use super::super::reader::{Reader, expect, within, zeroed};
use super::valkey;
use crate::error::{Error, Result};

/// No rounding of the bits to a power of two.
const NO_ROUND: u32 = 1;
/// The capacity was given as a power of two of bits.
const ENTRIES_ARE_BITS: u32 = 2;
/// 64-bit hashes.
const WIDE: u32 = 4;
/// The chain does not grow.
const FIXED: u32 = 8;
/// Ours: the header ends with a tightening ratio and seeds, which RedisBloom does not have.
const EXTENDED: u32 = 1 << 16;
/// Ours: hashes, positions and sizes are those of Valkey's module, and there are four words of seeds instead of one.
const SIP: u32 = 1 << 17;

/// The seed of the first hash; the first hash is the seed of the second.
const SEED: u64 = 0xc6a4_a793_5bd1_e995;
const SEED_NARROW: u32 = 0x9747_b28c;

/// The rate of a link divided by that of the link before it.
const TIGHTENING: f64 = 0.5;

/// The constants as RedisBloom writes them: sizes depend on their last digit.
#[expect(clippy::approx_constant, reason = "fifteen digits, as RedisBloom has them")]
const LN_2: f64 = 0.693_147_180_559_945;
const LN_2_SQUARED: f64 = 0.480_453_013_918_201;

const HEADER_BYTES: u64 = 20;
const LINK_BYTES: u64 = 53;

/// What RedisBloom's own structures take beside the bits, which its `Size` counts.
const CHAIN_OVERHEAD: u64 = 32;
const LINK_OVERHEAD: u64 = 64;

/// More positions than any rate that a double can hold needs: log2 of 1 / 5e-324 is 1,074.
const MOST_HASHES: u64 = 1_100;

/// What a chain is made for.
///
/// ```
/// use bouquet::foreign::{BloomShape, RedisBloomChain};
/// let shape = BloomShape { capacity: 1_000, rate: 0.001, ..BloomShape::default() };
/// assert_eq!(RedisBloomChain::new(&shape, u64::MAX)?.capacity(), 1_000);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BloomShape {
    /// Keys of the first link.
    pub capacity: u64,
    /// The wanted rate of the whole chain.
    pub rate: f64,
    /// A link's capacity divided by that of the one before it; `None` for a chain that is full after the first.
    pub expansion: Option<u32>,
    /// A link's rate divided by that of the one before it; RedisBloom's is 0.5.
    pub tightening: f64,
    /// Another seed than RedisBloom's.
    pub seed: Option<u64>,
}

impl Default for BloomShape {
    fn default() -> Self {
        BloomShape { capacity: 100, rate: 0.01, expansion: Some(2), tightening: TIGHTENING, seed: None }
    }
}

/// One Bloom filter of a chain, without its bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Keys that went in.
    pub items: u64,
    /// Keys that it is made for.
    pub capacity: u64,
    /// Its rate with that many keys.
    pub rate: f64,
    /// Bits for each of them.
    pub bits_per_key: f64,
    /// Bits in all.
    pub bits: u64,
    /// The logarithm of the bits if positions are taken modulo a power of two, or 0.
    pub log2_bits: u8,
    /// Positions per key.
    pub hashes: u32,
}

impl Link {
    /// The link for this many keys at this rate.
    fn planned(capacity: u64, rate: f64) -> Result<Self> {
        if capacity == 0 || !(rate > 0.0 && rate < 1.0) {
            return Err(Error::parameter("fpr", "between 0 and 1, for at least one key", rate));
        }
        let bits_per_key = (rate.ln() / LN_2_SQUARED).abs();
        // A float above 2^64 becomes the largest integer, which no limit allows.
        let bits = ((capacity as f64 * bits_per_key) as u64).max(1).checked_next_multiple_of(64).unwrap_or(u64::MAX);
        let hashes = (LN_2 * bits_per_key).ceil() as u32;
        Ok(Link { items: 0, capacity, rate, bits_per_key, bits, log2_bits: 0, hashes })
    }

    /// The same as Valkey's module sizes it: whole bytes, and the nearest number of positions.
    pub(super) fn planned_by_valkey(capacity: u64, rate: f64) -> Result<Self> {
        use std::f64::consts::LN_2;
        if capacity == 0 || !(rate > 0.0 && rate < 1.0) {
            return Err(Error::parameter("fpr", "between 0 and 1, for at least one key", rate));
        }
        let bytes = (capacity as f64 * rate.ln() / (-8.0 * (LN_2 * LN_2))).ceil() as u64;
        let bits = bytes.saturating_mul(8);
        let bits_per_key = bits as f64 / capacity as f64;
        let hashes = ((bits_per_key * LN_2).round() as u32).max(1);
        Ok(Link { items: 0, capacity, rate, bits_per_key, bits, log2_bits: 0, hashes })
    }

    /// What positions are taken modulo.
    fn modulus(&self) -> u64 {
        if self.log2_bits > 0 { 1 << self.log2_bits } else { self.bits }
    }

    /// Refuses what no program writes; `bytes` is the length of its bit array.
    fn check(&self, bytes: u64) -> Result<()> {
        let rate = self.rate > 0.0 && self.rate < 1.0 && self.bits_per_key > 0.0 && self.bits_per_key.is_finite();
        expect(rate, "the rate of a link", "between 0 and 1", self.rate)?;
        expect(self.capacity > 0, "the capacity of a link", "at least 1", self.capacity)?;
        let hashes = (1..=MOST_HASHES).contains(&self.hashes.into());
        expect(hashes, "the positions of a link", "1 to 1100", self.hashes)?;
        expect(self.log2_bits < 63, "the logarithm of a link's bits", "below 63", self.log2_bits)?;
        let fits = bytes.checked_mul(8).is_some_and(|bits| (1..=bits).contains(&self.modulus()) && self.bits <= bits);
        expect(fits, "the bits of a link", "at most those of its array", self.bits)
    }
}

#[derive(Clone, Debug, PartialEq)]
struct Component {
    link: Link,
    array: Vec<u8>,
}

impl Component {
    fn bytes(&self) -> u64 {
        self.array.len() as u64
    }

    #[inline]
    fn positions(link: &Link, (a, b): (u64, u64)) -> impl Iterator<Item = (usize, u8)> + use<> {
        let modulus = link.modulus();
        (0..u64::from(link.hashes)).map(move |i| {
            let bit = a.wrapping_add(i.wrapping_mul(b)) % modulus;
            ((bit >> 3) as usize, 1 << (bit & 7))
        })
    }

    /// The positions of Valkey's module: the two hashes, then their combinations modulo the largest prime of 64 bits.
    fn valkey_positions(link: &Link, (a, b): (u64, u64)) -> impl Iterator<Item = (usize, u8)> + use<> {
        const PRIME: u64 = 0xffff_ffff_ffff_ffc5;
        let modulus = link.modulus();
        let combined = (2..u64::from(link.hashes)).map(move |i| a.wrapping_add(i.wrapping_mul(b)) % PRIME);
        [a, b].into_iter().take(link.hashes as usize).chain(combined).map(move |hash| {
            let bit = hash % modulus;
            ((bit >> 3) as usize, 1 << (bit & 7))
        })
    }

    #[inline]
    fn holds(&self, hashes: (u64, u64), is_valkey: bool) -> bool {
        let is_set = |(byte, mask): (usize, u8)| self.array[byte] & mask != 0;
        if is_valkey {
            Self::valkey_positions(&self.link, hashes).all(is_set)
        } else {
            Self::positions(&self.link, hashes).all(is_set)
        }
    }

    #[inline]
    fn put(&mut self, hashes: (u64, u64), is_valkey: bool) {
        let array = &mut self.array;
        let mut set = |(byte, mask): (usize, u8)| array[byte] |= mask;
        if is_valkey {
            Self::valkey_positions(&self.link, hashes).for_each(&mut set);
        } else {
            Self::positions(&self.link, hashes).for_each(&mut set);
        }
    }
}

/// What is known of a chain beside its links: items, options, growth, and for chains that RedisBloom does not have the tightening ratio and the
/// seeds.
pub type ChainFields<'a> = (u64, u32, u32, Option<(f64, &'a [u64])>);

/// A chain of Bloom filters as RedisBloom has it.
///
/// A key is two hashes, a = MurmurHash64A(key, 0xc6a4a7935bd1e995) and b = MurmurHash64A(key, a); its positions in a link of m bits
/// are (a + i b mod 2^64) mod m, the least significant bit of a byte first. The first link has half of the wanted rate, each
/// further one half of the rate and `expansion` times the capacity of the link before it. A key that any link has is not put in again.
///
/// ```
/// use bouquet::foreign::{BloomShape, RedisBloomChain};
/// let mut flowers = RedisBloomChain::new(&BloomShape::default(), u64::MAX)?;
/// assert!(flowers.insert(b"rose")? && !flowers.insert(b"rose")?);
/// assert!(flowers.contains(b"rose") && !flowers.contains(b"thistle"));
/// let again = RedisBloomChain::from_dump(&flowers.dump(), u64::MAX)?;
/// assert_eq!(again, flowers);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RedisBloomChain {
    items: u64,
    options: u32,
    growth: u32,
    tightening: f64,
    /// The first alone, but with Valkey's hashes.
    seeds: [u64; 4],
    components: Vec<Component>,
}

impl RedisBloomChain {
    /// An empty chain of at most `most_bytes` bytes.
    pub fn new(shape: &BloomShape, most_bytes: u64) -> Result<Self> {
        let &BloomShape { expansion, tightening, seed, .. } = shape;
        if !(tightening > 0.0 && tightening < 1.0) {
            return Err(Error::parameter("tightening", "between 0 and 1", tightening));
        }
        let extended = if seed.is_some() || tightening != TIGHTENING { EXTENDED } else { 0 };
        let fixed = if expansion.is_none() { FIXED } else { 0 };
        let mut chain = RedisBloomChain {
            items: 0,
            options: NO_ROUND | WIDE | fixed | extended,
            growth: expansion.unwrap_or(2),
            tightening,
            seeds: [seed.unwrap_or(SEED), 0, 0, 0],
            components: Vec::new(),
        };
        chain.append(Self::planned(shape)?, most_bytes)?;
        Ok(chain)
    }

    fn append(&mut self, link: Link, most_bytes: u64) -> Result<()> {
        within(link.bits.div_ceil(8).checked_add(self.bytes() + LINK_OVERHEAD), most_bytes)?;
        let array = zeroed(link.bits.div_ceil(8))?;
        self.components.push(Component { link, array });
        Ok(())
    }

    /// Whether it is full when its first link is.
    #[must_use]
    pub fn is_fixed(&self) -> bool {
        self.options & FIXED != 0
    }

    /// The factor by which links grow; `None` if the chain does not.
    #[must_use]
    pub fn expansion(&self) -> Option<u32> {
        (!self.is_fixed()).then_some(self.growth)
    }

    /// Whether hashes, positions and sizes are those of Valkey's module.
    fn is_valkey(&self) -> bool {
        self.options & SIP != 0
    }

    /// The rate that was asked for.
    #[must_use]
    pub fn rate(&self) -> f64 {
        let first = self.links().next().map_or(0.0, |link| link.rate);
        if self.is_fixed() || self.is_valkey() { first } else { first / self.tightening }
    }

    /// The factor by which the rates of links fall.
    #[must_use]
    pub fn tightening(&self) -> f64 {
        self.tightening
    }

    /// Keys that went in.
    #[must_use]
    pub fn items(&self) -> u64 {
        self.items
    }

    /// Keys that the links of now are made for.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.links().fold(0, |sum, link| sum.saturating_add(link.capacity))
    }

    /// The links, the oldest first.
    pub fn links(&self) -> impl ExactSizeIterator<Item = &Link> + '_ {
        self.components.iter().map(|component| &component.link)
    }

    /// The bit arrays of the links, in the same order.
    pub fn arrays(&self) -> impl ExactSizeIterator<Item = &[u8]> + '_ {
        self.components.iter().map(|component| component.array.as_slice())
    }

    /// The bytes that RedisBloom says such a chain takes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        CHAIN_OVERHEAD + self.components.iter().map(|component| LINK_OVERHEAD + component.bytes()).sum::<u64>()
    }

    /// The first link of a shape.
    pub(super) fn planned(shape: &BloomShape) -> Result<Link> {
        let tightening = if shape.expansion.is_some() { shape.tightening } else { 1.0 };
        Link::planned(shape.capacity, shape.rate * tightening)
    }

    /// The link behind another of a shape.
    pub(super) fn planned_after(shape: &BloomShape, last: &Link) -> Result<Link> {
        let capacity = last.capacity.saturating_mul(u64::from(shape.expansion.unwrap_or(2)).max(1));
        Link::planned(capacity, last.rate * shape.tightening)
    }

    /// The chain of a shape with these links, whose sizes are theirs.
    pub(super) fn from_planned(shape: &BloomShape, links: Vec<(Link, Vec<u8>)>) -> Result<Self> {
        let fixed = if shape.expansion.is_none() { FIXED } else { 0 };
        let items = links.iter().try_fold(0u64, |sum, (link, _)| sum.checked_add(link.items)).unwrap_or(u64::MAX);
        let mut planned = Self::planned(shape);
        for (link, _) in &links {
            expect(
                Link { items: link.items, ..planned? } == *link,
                "a link",
                "one of the chain's shape",
                link.capacity,
            )?;
            planned = Self::planned_after(shape, link);
        }
        Self::from_parts((items, NO_ROUND | WIDE | fixed, shape.expansion.unwrap_or(2), None), links)
    }

    #[inline]
    pub(super) fn hashes(&self, key: &[u8]) -> (u64, u64) {
        if self.is_valkey() {
            valkey::hashes(&self.seeds, key)
        } else if self.options & WIDE != 0 {
            let a = murmur64a(key, self.seeds[0]);
            (a, murmur64a(key, a))
        } else {
            let a = murmur2(key, SEED_NARROW);
            (a.into(), murmur2(key, a).into())
        }
    }

    /// Whether the key may be in the set.
    #[must_use]
    #[inline]
    pub fn contains(&self, key: &[u8]) -> bool {
        self.holds(self.hashes(key))
    }

    #[inline]
    pub(super) fn holds(&self, hashes: (u64, u64)) -> bool {
        self.components.iter().rev().any(|component| component.holds(hashes, self.is_valkey()))
    }

    /// Puts a key in and says whether it was certainly new.
    pub fn insert(&mut self, key: &[u8]) -> Result<bool> {
        self.insert_within(key, u64::MAX)
    }

    /// The same in at most `most_bytes` bytes. An error leaves the chain as it was: [`Error::Full`] for a chain that does not grow,
    /// [`Error::TooLarge`] for one that may not.
    pub fn insert_within(&mut self, key: &[u8], most_bytes: u64) -> Result<bool> {
        self.put(self.hashes(key), most_bytes)
    }

    pub(super) fn put(&mut self, hashes: (u64, u64), most_bytes: u64) -> Result<bool> {
        if self.holds(hashes) {
            return Ok(false);
        }
        let next = self.components.last().filter(|last| last.link.items >= last.link.capacity).map(|last| last.link);
        if let Some(last) = next {
            if self.is_fixed() {
                return Err(Error::Full {
                    what: format!("all {} keys that it was made for are in", last.capacity),
                    remedy: "make it for more keys, or let it grow".into(),
                });
            }
            self.append(self.link_after(&last, self.components.len())?, most_bytes)?;
        }
        let is_valkey = self.is_valkey();
        if let Some(last) = self.components.last_mut() {
            last.put(hashes, is_valkey);
            last.link.items = last.link.items.saturating_add(1);
            self.items = self.items.saturating_add(1);
        }
        Ok(true)
    }

    /// The link behind the last of this many.
    fn link_after(&self, last: &Link, links: usize) -> Result<Link> {
        let capacity = last.capacity.saturating_mul(u64::from(self.growth).max(1));
        if self.is_valkey() {
            return Link::planned_by_valkey(capacity, self.rate() * self.tightening.powi(links as i32));
        }
        Link::planned(capacity, last.rate * self.tightening)
    }

    /// The capacity that it can grow to within `most_bytes` bytes, and the bytes that it takes with a capacity of at least `wanted`.
    pub fn grown(&self, wanted: u64, most_bytes: u64) -> Result<(u64, u64)> {
        let (mut capacity, mut bytes) = (self.capacity(), self.bytes());
        let Some(mut last) = self.components.last().map(|component| component.link) else {
            return Ok((capacity, bytes));
        };
        let mut links = self.components.len();
        while capacity < wanted && !self.is_fixed() {
            let next = self.link_after(&last, links)?;
            links += 1;
            match within(bytes.checked_add(LINK_OVERHEAD + next.bits.div_ceil(8)), most_bytes) {
                Ok(more) => bytes = more,
                Err(_) if wanted == u64::MAX => break,
                Err(error) => return Err(error),
            }
            capacity = capacity.saturating_add(next.capacity);
            last = next;
        }
        Ok((capacity, bytes))
    }

    /// The header of a dump: items, number of links, options, growth, then each link.
    #[must_use]
    pub fn header(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity((HEADER_BYTES + LINK_BYTES * self.components.len() as u64) as usize);
        out.extend(self.items.to_le_bytes());
        for number in [self.components.len() as u32, self.options, self.growth] {
            out.extend(number.to_le_bytes());
        }
        for Component { link, array } in &self.components {
            for number in [array.len() as u64, link.bits, link.items] {
                out.extend(number.to_le_bytes());
            }
            for number in [link.rate, link.bits_per_key] {
                out.extend(number.to_le_bytes());
            }
            out.extend(link.hashes.to_le_bytes());
            out.extend(link.capacity.to_le_bytes());
            out.push(link.log2_bits);
        }
        if self.options & EXTENDED != 0 {
            out.extend(self.tightening.to_le_bytes());
            out.extend(self.seeds().iter().flat_map(|seed| seed.to_le_bytes()));
        }
        out
    }

    /// The length of the header that these bytes begin with.
    fn header_len(bytes: &[u8]) -> Result<u64> {
        let mut reader = Reader(bytes);
        reader.u64()?;
        let (links, options) = (reader.u32()?, reader.u32()?);
        let extension = if options & EXTENDED != 0 { 8 + 8 * Self::seed_words(options) as u64 } else { 0 };
        Ok(HEADER_BYTES + LINK_BYTES * u64::from(links) + extension)
    }

    /// The chain of a header, with its bits cleared; its arrays may take `most_bytes` bytes.
    pub fn from_header(header: &[u8], most_bytes: u64) -> Result<Self> {
        let len = Self::header_len(header)?;
        expect(len == header.len() as u64, "the length of the header", &len.to_string(), header.len())?;
        let mut reader = Reader(header);
        let items = reader.u64()?;
        let [links, options, growth] = [reader.u32()?, reader.u32()?, reader.u32()?];
        let mut chain = Self::of_fields(items, links, options, growth)?;
        let mut parsed = Vec::with_capacity(links as usize);
        let mut total = CHAIN_OVERHEAD;
        for _ in 0..links {
            let [bytes, bits, items] = [reader.u64()?, reader.u64()?, reader.u64()?];
            let [rate, bits_per_key] = [reader.f64()?, reader.f64()?];
            let (hashes, capacity, log2_bits) = (reader.u32()?, reader.u64()?, reader.u8()?);
            let link = Link { items, capacity, rate, bits_per_key, bits, log2_bits, hashes };
            link.check(bytes)?;
            total = within(bytes.checked_add(total + LINK_OVERHEAD), most_bytes)?;
            parsed.push((link, bytes));
        }
        if options & EXTENDED != 0 {
            let tightening = reader.f64()?;
            let seeds = (0..Self::seed_words(options)).map(|_| reader.u64()).collect::<Result<Vec<_>>>()?;
            chain.extend(tightening, &seeds)?;
        }
        for (link, bytes) in parsed {
            chain.components.push(Component { link, array: zeroed(bytes)? });
        }
        chain.checked()
    }

    fn of_fields(items: u64, links: u32, options: u32, growth: u32) -> Result<Self> {
        let known = NO_ROUND | ENTRIES_ARE_BITS | WIDE | FIXED | EXTENDED | SIP;
        let sound = options & !known == 0 && (options & SIP == 0 || options & EXTENDED != 0);
        expect(sound, "the options", "known ones", options)?;
        expect(links > 0, "the number of links", "at least 1", links)?;
        let components = Vec::new();
        Ok(RedisBloomChain { items, options, growth, tightening: TIGHTENING, seeds: [SEED, 0, 0, 0], components })
    }

    /// What a snapshot says of the chain beside its links: items, options, growth, and for chains that RedisBloom does not have the
    /// tightening ratio and the seeds.
    #[must_use]
    pub fn fields(&self) -> ChainFields<'_> {
        let extension = (self.options & EXTENDED != 0).then_some((self.tightening, self.seeds()));
        (self.items, self.options, self.growth, extension)
    }

    fn seeds(&self) -> &[u64] {
        &self.seeds[..Self::seed_words(self.options)]
    }

    /// Whether options say that a tightening ratio and seeds follow.
    #[must_use]
    pub fn is_extended(options: u32) -> bool {
        options & EXTENDED != 0
    }

    /// How many words of seeds a chain of these options has.
    #[must_use]
    pub fn seed_words(options: u32) -> usize {
        if options & SIP != 0 { 4 } else { 1 }
    }

    fn extend(&mut self, tightening: f64, seeds: &[u64]) -> Result<()> {
        expect(tightening > 0.0 && tightening < 1.0, "the tightening ratio", "between 0 and 1", tightening)?;
        let words = Self::seed_words(self.options);
        expect(seeds.len() == words, "the seeds", &format!("{words} words"), seeds.len())?;
        self.tightening = tightening;
        self.seeds[..words].copy_from_slice(seeds);
        Ok(())
    }

    /// The chain of what a snapshot holds: the [`fields`](Self::fields), then links with their arrays.
    pub fn from_parts(
        (items, options, growth, extension): ChainFields<'_>,
        links: Vec<(Link, Vec<u8>)>,
    ) -> Result<Self> {
        let mut chain = Self::of_fields(items, u32::try_from(links.len()).unwrap_or(0), options, growth)?;
        if let Some((tightening, seeds)) = extension {
            chain.extend(tightening, seeds)?;
        }
        for (link, array) in links {
            link.check(array.len() as u64)?;
            chain.components.push(Component { link, array });
        }
        chain.checked()
    }

    fn checked(self) -> Result<Self> {
        let sum = self.links().try_fold(0u64, |sum, link| sum.checked_add(link.items));
        expect(sum == Some(self.items), "the number of items", "the sum of the links'", self.items)?;
        Ok(self)
    }

    /// The bytes of the bit arrays from position `at` on, at most `most` and of one link; `None` at the end.
    #[must_use]
    pub fn chunk(&self, at: u64, most: u64) -> Option<&[u8]> {
        chunk(self.arrays(), at, most)
    }

    /// Writes bytes to the bit arrays from position `at` on; they must lie in one link.
    pub fn load_chunk(&mut self, at: u64, bytes: &[u8]) -> Result<()> {
        load_chunk(self.components.iter_mut().map(|component| &mut component.array), at, bytes)
    }

    /// Gives each bit array away and takes it back, with the same bytes at another place: for programs that move memory.
    pub fn rehouse(&mut self, mut house: impl FnMut(Vec<u8>) -> Vec<u8>) {
        for component in &mut self.components {
            rehouse(&mut component.array, &mut house);
        }
    }

    /// Header and bit arrays in one.
    #[must_use]
    pub fn dump(&self) -> Vec<u8> {
        let mut out = self.header();
        self.arrays().for_each(|array| out.extend_from_slice(array));
        out
    }

    /// Reads a [dump](Self::dump), which must be whole, of at most `most_bytes` bytes.
    pub fn from_dump(bytes: &[u8], most_bytes: u64) -> Result<Self> {
        let mut reader = Reader(bytes);
        let header = reader.take(usize::try_from(Self::header_len(bytes)?).unwrap_or(usize::MAX))?;
        // Each array is in the dump, so that no header can ask for more than there is.
        let mut chain = Self::from_header(header, most_bytes.min(dumped(bytes, header, Self::OVERHEADS)))?;
        for Component { array, .. } in &mut chain.components {
            let bytes = reader.take(array.len())?;
            array.copy_from_slice(bytes);
        }
        expect(reader.0.is_empty(), "the end of the dump", "nothing", format!("{} bytes", reader.0.len()))?;
        Ok(chain)
    }

    /// Reads what Valkey's module writes behind `BF.LOAD`, of at most `most_bytes` bytes. Hashes, positions and growth of such a chain
    /// are those of that module.
    pub fn from_valkey(bytes: &[u8], most_bytes: u64) -> Result<Self> {
        let object = valkey::Object::read(bytes, most_bytes)?;
        let fixed = if object.expansion == 0 { FIXED } else { 0 };
        let growth = if object.expansion == 0 { 2 } else { object.expansion };
        let items = object.links.iter().try_fold(0u64, |sum, (link, _)| sum.checked_add(link.items));
        let options = NO_ROUND | WIDE | EXTENDED | SIP | fixed;
        let fields = (items.unwrap_or(u64::MAX), options, growth, Some((object.tightening, object.seeds.as_slice())));
        let chain = Self::from_parts(fields, object.links)?;
        within(Some(chain.bytes()), most_bytes)?;
        Ok(chain)
    }

    /// Overheads of a chain and of a link, for [`dumped`].
    const OVERHEADS: (u64, u64, u64) = (CHAIN_OVERHEAD, LINK_OVERHEAD, LINK_BYTES);
}

/// The size of the filter that a dump can hold at most, with overheads of the whole and of each part of the header.
pub(in super::super) fn dumped(bytes: &[u8], header: &[u8], (whole, part, described): (u64, u64, u64)) -> u64 {
    let arrays = (bytes.len() - header.len()) as u64;
    arrays + whole + part * (header.len() as u64 / described + 1)
}

/// Gives an array away and takes it back; its length stays, whatever comes.
pub(in super::super) fn rehouse<T: Copy + Default>(array: &mut Vec<T>, house: &mut impl FnMut(Vec<T>) -> Vec<T>) {
    let len = array.len();
    *array = house(std::mem::take(array));
    array.resize(len, T::default());
}

/// The bytes from position `at` on in arrays that follow each other, at most `most` and of one array.
pub(in super::super) fn chunk<'a>(
    mut arrays: impl Iterator<Item = &'a [u8]>,
    mut at: u64,
    most: u64,
) -> Option<&'a [u8]> {
    let array = arrays.find(|array| {
        let here = at < array.len() as u64;
        if !here {
            at -= array.len() as u64;
        }
        here
    })?;
    let rest = &array[at as usize..];
    Some(&rest[..rest.len().min(usize::try_from(most).unwrap_or(usize::MAX))])
}

/// Writes bytes from position `at` on to arrays that follow each other; they must lie in one.
pub(in super::super) fn load_chunk<'a>(
    arrays: impl Iterator<Item = &'a mut Vec<u8>>,
    mut at: u64,
    bytes: &[u8],
) -> Result<()> {
    for array in arrays {
        let len = array.len() as u64;
        if at < len {
            let room = &mut array[at as usize..];
            expect(bytes.len() <= room.len(), "the chunk", "one that its array has room for", bytes.len())?;
            room[..bytes.len()].copy_from_slice(bytes);
            return Ok(());
        }
        at -= len;
    }
    Err(Error::corrupt("the position of the chunk", "one within the filter", at))
}

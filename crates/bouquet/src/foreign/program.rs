//! What makes the plain bit filter of another program: sizes, positions, and the bytes of its files.

use xxhash_rust::xxh64::xxh64;

use super::digests::{SliceHash, rbloom_hash, rbloom_step, squid_words};
use super::hashes::{FNV_BASIS, fnv1a, lookup3, murmur3_32, murmur3_128, murmur3_128_seeded, spark_murmur3};
use super::murmur::hadoop_murmur2;
use super::reader::{Reader, expect};
use crate::error::{Error, Result};
use crate::hash::{SplitMix, mix};
use crate::shell::choices;
use crate::theory::standard::optimal_bits_per_key;

/// Whose filter it is.
///
/// ```
/// use bouquet::foreign::Program;
/// use bouquet::shell::Choice;
/// assert_eq!(Program::Guava.word(), "guava");
/// assert_eq!(Program::MEMBERS.len(), 14);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Program {
    /// Guava's `BloomFilter` with the strategy `MURMUR128_MITZ_64`.
    #[default]
    Guava,
    /// Guava's older strategy `MURMUR128_MITZ_32`.
    Guava32,
    /// Spark's `BloomFilter` of version 2.
    Spark,
    /// Spark's `BloomFilter` of version 1.
    Spark1,
    /// Hadoop's `BloomFilter` with `MURMUR_HASH`.
    Hadoop,
    /// Hadoop's `BloomFilter` with `JENKINS_HASH`.
    HadoopJenkins,
    /// Go's `bits-and-blooms/bloom`.
    Go,
    /// Python's `pyprobables`.
    Pyprobables,
    /// Apache DataSketches' `BloomFilter`.
    Datasketches,
    /// Bitcoin's `filterload`, BIP 37.
    Bip37,
    /// Squid's cache digest: keys are URLs that are fetched with GET.
    Squid,
    /// Python's `rbloom` with the first 16 bytes of SHA-256 as hash, as its documentation proposes.
    Rbloom,
    /// Python's `pybloom-live`.
    PybloomLive,
    /// Python's `pybloomfiltermmap3`.
    Pybloomfiltermmap,
}

choices!(Program {
    Guava = "guava",
    Guava32 = "guava-32",
    Spark = "spark",
    Spark1 = "spark-1",
    Hadoop = "hadoop",
    HadoopJenkins = "hadoop-jenkins",
    Go = "go",
    Pyprobables = "pyprobables",
    Datasketches = "datasketches",
    Bip37 = "bip37",
    Squid = "squid",
    Rbloom = "rbloom",
    PybloomLive = "pybloom-live",
    Pybloomfiltermmap = "pybloomfiltermmap",
});

/// Shape of a filter: all that its positions depend on beside the key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shape {
    pub(super) program: Program,
    pub(super) bits: u64,
    pub(super) hashes: u32,
    /// The seed of Spark, DataSketches and pybloomfiltermmap, the tweak of BIP 37; 0 for all others.
    pub(super) salt: u64,
    /// What BIP 37 says of updates, the bits per entry of Squid; 0 for all others.
    pub(super) flags: u8,
}

/// What a file holds: the shape, the words of bits, and what the program wrote about itself.
pub(super) struct Parsed {
    pub(super) shape: Shape,
    pub(super) words: Vec<u64>,
    pub(super) seeds: Vec<u32>,
    pub(super) made_for: Option<(u64, f64)>,
    pub(super) items: Option<u64>,
}

/// The most bytes of bits that a peer takes by BIP 37, and the most positions of a key.
const BIP37: (u64, u32) = (36_000, 50);

/// The words of an MD5, which are Squid's positions.
const SQUID_HASHES: u32 = 4;

impl Program {
    /// Bits come in multiples of this.
    pub(super) fn unit(self) -> u64 {
        match self {
            Program::Guava | Program::Guava32 | Program::Spark | Program::Spark1 | Program::Datasketches => 64,
            Program::Bip37 | Program::Squid | Program::Rbloom | Program::Pybloomfiltermmap => 8,
            // Slices of equal length are seen to where the number of slices is known.
            _ => 1,
        }
    }

    /// The most bits that its files and its arithmetic can have.
    pub(super) fn most_bits(self) -> u64 {
        match self {
            // Positions are 31 bits wide.
            Program::Guava32 | Program::Spark1 | Program::Hadoop | Program::HadoopJenkins => (1 << 31) - 64,
            Program::Guava | Program::Spark => ((1 << 31) - 64) * 64,
            Program::Datasketches => ((1 << 31) - 64) * 64,
            Program::Bip37 => BIP37.0 * 8,
            // Positions are 32 bits wide.
            Program::Squid => 1 << 32,
            _ => 1 << 56,
        }
    }

    /// The most positions of a key.
    pub(super) fn most_hashes(self) -> u32 {
        match self {
            Program::Bip37 => BIP37.1,
            Program::Squid => SQUID_HASHES,
            _ => 64,
        }
    }

    /// The fewest positions of a key.
    pub(super) fn least_hashes(self) -> u32 {
        if self == Program::Squid { SQUID_HASHES } else { 1 }
    }

    /// Whether every position of a key has a slice of its own.
    pub(super) fn is_sliced(self) -> bool {
        self == Program::PybloomLive
    }

    /// The largest of the flags.
    pub(super) fn most_flags(self) -> u8 {
        if matches!(self, Program::Bip37 | Program::Squid) { u8::MAX } else { 0 }
    }

    /// Whether it has a seed, and the largest.
    pub(super) fn most_salt(self) -> u64 {
        match self {
            Program::Spark | Program::Bip37 => u32::MAX.into(),
            Program::Datasketches | Program::Pybloomfiltermmap => u64::MAX,
            _ => 0,
        }
    }

    /// The bits that the program itself takes for this many keys and this rate.
    pub(super) fn bits_for(self, items: u64, rate: f64) -> u64 {
        let bits = items as f64 * optimal_bits_per_key(rate);
        let slices = f64::from(self.hashes_for(0, items, rate));
        let whole = match self {
            Program::Guava | Program::Guava32 | Program::Spark | Program::Spark1 | Program::Bip37 | Program::Rbloom => {
                bits.floor()
            }
            Program::PybloomLive => (bits / slices).ceil() * slices,
            Program::Pybloomfiltermmap => ((bits / slices).ceil() * slices).max(128.0),
            Program::Squid => {
                // Whole bits per entry, from the rate of four positions.
                let hashes = f64::from(SQUID_HASHES);
                let per_entry = (-hashes / (-rate.powf(1.0 / hashes)).ln_1p()).ceil().clamp(1.0, 255.0);
                items as f64 * per_entry
            }
            _ => bits.ceil(),
        };
        let most = self.most_bits() as f64;
        // A filter of BIP 37 is as large as it may be and no larger, whatever was asked for; its last byte is not begun.
        if self == Program::Bip37 { whole.min(most) as u64 / 8 * 8 } else { whole as u64 }
    }

    /// The positions per key that the program itself takes.
    pub(super) fn hashes_for(self, bits: u64, items: u64, rate: f64) -> u32 {
        let best = bits as f64 / items.max(1) as f64 * std::f64::consts::LN_2;
        let hashes = match self {
            Program::Guava | Program::Guava32 => (-rate.log2()).round(),
            Program::Datasketches => (-rate.log2()).ceil(),
            Program::Spark | Program::Spark1 | Program::Pyprobables => best.round(),
            Program::Hadoop | Program::HadoopJenkins | Program::Go => best.ceil(),
            Program::Bip37 => best.floor(),
            // Of the bits before they are rounded to bytes.
            Program::Rbloom => {
                let whole = (items as f64 * optimal_bits_per_key(rate)).floor();
                (whole / items.max(1) as f64 * std::f64::consts::LN_2).floor()
            }
            Program::PybloomLive => (-rate.log2()).ceil(),
            Program::Pybloomfiltermmap => (-rate.log2()).floor(),
            Program::Squid => f64::from(SQUID_HASHES),
        };
        hashes.clamp(f64::from(self.least_hashes()), f64::from(self.most_hashes())) as u32
    }
}

/// As Java takes the absolute value of what is not negative, and inverts what is.
fn inverted(sum: i64) -> u64 {
    (if sum < 0 { !sum } else { sum }) as u64
}

/// h + i g for i = `from`, `from` + 1, ... in 32 bits with a sign.
fn sums_of_32(h: u32, g: u32, from: u32) -> impl Fn(u32) -> u64 {
    move |i| inverted(i64::from(h.wrapping_add((i + from).wrapping_mul(g)) as i32))
}

/// Hashes the key with a byte 1 behind it; short keys without an allocation.
fn with_one_behind<R>(key: &[u8], hash: impl Fn(&[u8]) -> R) -> R {
    let mut short = [0; 128];
    if key.len() < short.len() {
        short[..key.len()].copy_from_slice(key);
        short[key.len()] = 1;
        return hash(&short[..=key.len()]);
    }
    hash(&[key, &[1]].concat())
}

impl Shape {
    /// Visits the positions of a key as long as `visit` says so; whether it did for all.
    ///
    /// `seeds` are those of the positions, for a program whose files have them.
    #[inline]
    pub(super) fn all(&self, key: &[u8], seeds: &[u32], visit: impl FnMut(u64) -> bool) -> bool {
        let (bits, salt) = (self.bits, self.salt);
        match self.program {
            Program::Guava => {
                let (h, g) = murmur3_128(key);
                self.each(|i| (h.wrapping_add(u64::from(i).wrapping_mul(g)) & (u64::MAX >> 1)) % bits, visit)
            }
            Program::Guava32 => {
                let h = murmur3_128(key).0;
                let sum = sums_of_32(h as u32, (h >> 32) as u32, 1);
                self.each(|i| sum(i) % bits, visit)
            }
            Program::Spark => {
                let h = spark_murmur3(key, salt as u32);
                let g = i64::from(spark_murmur3(key, h) as i32);
                let start = i64::from(h as i32) * i64::from(i32::MAX);
                self.each(|i| inverted(start.wrapping_add(g.wrapping_mul(i64::from(i) + 1))) % bits, visit)
            }
            Program::Spark1 => {
                let h = spark_murmur3(key, 0);
                let sum = sums_of_32(h, spark_murmur3(key, h), 1);
                self.each(|i| sum(i) % bits, visit)
            }
            Program::Hadoop => self.chained(key, hadoop_murmur2, visit),
            Program::HadoopJenkins => self.chained(key, lookup3, visit),
            Program::Go => {
                let first = murmur3_128(key);
                let second = with_one_behind(key, murmur3_128);
                let h = [first.0, first.1, second.0, second.1];
                self.each(
                    |i| {
                        let at = 2 + ((i + i % 2) % 4) as usize / 2;
                        h[(i % 2) as usize].wrapping_add(u64::from(i).wrapping_mul(h[at])) % bits
                    },
                    visit,
                )
            }
            Program::Pyprobables => self.each(|i| fnv1a(key, FNV_BASIS.wrapping_add(31 * u64::from(i))) % bits, visit),
            Program::Datasketches => {
                let h = xxh64(key, salt);
                let g = xxh64(key, h);
                self.each(|i| (h.wrapping_add((u64::from(i) + 1).wrapping_mul(g)) >> 1) % bits, visit)
            }
            Program::Bip37 => {
                let seed = |i: u32| i.wrapping_mul(0xfba4_c795).wrapping_add(salt as u32);
                self.each(|i| u64::from(murmur3_32(key, seed(i))) % bits, visit)
            }
            Program::Squid => {
                let words = squid_words(key);
                self.each(|i| u64::from(words[i as usize]) % bits, visit)
            }
            Program::Rbloom => {
                let mut hash = rbloom_hash(key);
                self.each(|_| rbloom_step(&mut hash) % bits, visit)
            }
            Program::PybloomLive => SliceHash::of(bits, self.hashes).all(key, visit),
            Program::Pybloomfiltermmap => self.each(
                |i| {
                    let (h, g) = murmur3_128_seeded(key, seeds[i as usize]);
                    (h ^ g) % bits
                },
                visit,
            ),
        }
    }

    /// The same for a key of which only a digest is known: plain double hashing, which no program has.
    #[inline]
    pub(super) fn all_of_digest(&self, (h, g): (u64, u64), visit: impl FnMut(u64) -> bool) -> bool {
        if self.program.is_sliced() {
            // Mixed, for between slices the errors of a plain sum do not cancel.
            let slice = self.bits / u64::from(self.hashes);
            let in_slice = |i: u64| mix(h ^ mix(g.wrapping_add(i))) % slice;
            return self.each(|i| u64::from(i) * slice + in_slice(i.into()), visit);
        }
        self.each(|i| h.wrapping_add(u64::from(i).wrapping_mul(g | 1)) % self.bits, visit)
    }

    /// The seeds of the positions, where the program's files have them; those that we choose follow from the salt.
    pub(super) fn seeds(&self) -> Vec<u32> {
        let count = if self.program == Program::Pybloomfiltermmap { self.hashes } else { 0 };
        let mut random = SplitMix::new(self.salt);
        (0..count).map(|_| (random.next_u64() >> 32) as u32).collect()
    }

    #[inline(always)]
    fn each(&self, mut position: impl FnMut(u32) -> u64, mut visit: impl FnMut(u64) -> bool) -> bool {
        (0..self.hashes).all(|i| visit(position(i)))
    }

    /// Hadoop's positions: each hash is the seed of the next, and its remainder loses its sign.
    fn chained(&self, key: &[u8], hash: fn(&[u8], u32) -> u32, mut visit: impl FnMut(u64) -> bool) -> bool {
        let mut seed = 0;
        (0..self.hashes).all(|_| {
            seed = hash(key, seed);
            visit((i64::from(seed as i32) % self.bits as i64).unsigned_abs())
        })
    }

    fn words(&self) -> u64 {
        self.bits.div_ceil(64)
    }

    /// The file of a filter with these words.
    pub(super) fn write(
        &self,
        words: &[u64],
        seeds: &[u32],
        made_for: Option<(u64, f64)>,
        items: u64,
    ) -> Result<Vec<u8>> {
        let big = |words: &[u64]| words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<u8>>();
        let little = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        let bytes = || little(words)[..self.bits.div_ceil(8) as usize].to_vec();
        let (hashes, count) = (self.hashes.to_be_bytes(), (words.len() as u32).to_be_bytes());
        Ok(match self.program {
            Program::Guava | Program::Guava32 => {
                let strategy = u8::from(self.program == Program::Guava);
                [&[strategy, self.hashes as u8][..], &count, &big(words)].concat()
            }
            Program::Spark => {
                let seed = (self.salt as u32).to_be_bytes();
                [&2u32.to_be_bytes()[..], &hashes, &seed, &count, &big(words)].concat()
            }
            Program::Spark1 => [&1u32.to_be_bytes()[..], &hashes, &count, &big(words)].concat(),
            Program::Hadoop | Program::HadoopJenkins => {
                let hash = u8::from(self.program == Program::Hadoop);
                let bits = (self.bits as u32).to_be_bytes();
                [&u32::MAX.to_be_bytes()[..], &hashes, &[hash], &bits, &bytes()].concat()
            }
            Program::Go => {
                let numbers = [self.bits, self.hashes.into(), self.bits];
                [big(&numbers), big(words)].concat()
            }
            Program::Pyprobables => {
                let (planned, rate) = need(made_for, "from which pyprobables computes all sizes")?;
                let single = rate as f32;
                let told = Self::pyprobables(planned, single);
                if (told.bits, told.hashes) != (self.bits, self.hashes) {
                    let found = format!("{} and {}", self.bits, self.hashes);
                    let expected = format!("{} and {}, as pyprobables computes them", told.bits, told.hashes);
                    return Err(Error::parameter("bits and hashes", expected, found));
                }
                [&bytes()[..], &little(&[planned, items]), &single.to_le_bytes()].concat()
            }
            Program::Datasketches => {
                let is_empty = words.iter().all(|word| *word == 0);
                let first = if is_empty { [3, 1, 21, 4] } else { [4, 1, 21, 0] };
                let count = u64::from(words.len() as u32);
                let start =
                    [&first[..], &(self.hashes as u16).to_le_bytes(), &[0; 2], &little(&[self.salt, count])].concat();
                // As there, where keys were put in since the ones were last counted: let the reader count them.
                if is_empty { start } else { [start, little(&[u64::MAX]), little(words)].concat() }
            }
            Program::Bip37 => {
                let body = bytes();
                let length = match body.len() {
                    short @ ..253 => vec![short as u8],
                    long => [&[253][..], &(long as u16).to_le_bytes()].concat(),
                };
                let (hashes, tweak) = (self.hashes.to_le_bytes(), (self.salt as u32).to_le_bytes());
                [&length[..], &body, &hashes, &tweak, &[self.flags]].concat()
            }
            Program::Squid => {
                let (capacity, per_entry) = self.squid_entries(made_for.map(|(items, _)| items))?;
                let count = u32::try_from(items).unwrap_or(u32::MAX);
                let numbers = [capacity, count, 0, (self.bits / 8) as u32].map(u32::to_be_bytes).concat();
                let reserved = [0; SQUID_HEADER - 22];
                let kinds = [per_entry, SQUID_HASHES as u8];
                [&SQUID_VERSIONS.map(u16::to_be_bytes).concat()[..], &numbers, &kinds, &reserved, &bytes()].concat()
            }
            Program::Rbloom => [&u64::from(self.hashes).to_le_bytes()[..], &bytes()].concat(),
            Program::PybloomLive => {
                let (capacity, rate) = need(made_for, "which pybloom-live keeps with the filter")?;
                let slices = u64::from(self.hashes);
                let numbers = [rate.to_bits(), slices, self.bits / slices, capacity, items];
                [little(&numbers), bytes()].concat()
            }
            Program::Pybloomfiltermmap => {
                let (capacity, rate) = need(made_for, "which pybloomfiltermmap keeps with the filter")?;
                let mut header = vec![0; MMAP_HEADER];
                let mut at = 0;
                let mut write = |bytes: &[u8]| {
                    header[at..at + bytes.len()].copy_from_slice(bytes);
                    at += bytes.len();
                };
                write(MMAP_MAGIC);
                write(&self.bits.to_le_bytes());
                write(&MMAP_RECORD.to_le_bytes());
                write(&capacity.to_le_bytes());
                write(&rate.to_bits().to_le_bytes());
                write(&self.hashes.to_le_bytes());
                seeds.iter().for_each(|seed| write(&seed.to_le_bytes()));
                // Version 1, and the number of items is right.
                header[MMAP_VERSION..MMAP_VERSION + 2].copy_from_slice(&[1, 1]);
                [header, bytes()].concat()
            }
        })
    }

    /// What Squid's header says of the size: entries and bits for each, from which a reader computes the bytes again.
    fn squid_entries(&self, planned: Option<u64>) -> Result<(u32, u8)> {
        let bytes = self.bits / 8;
        let fits = |entries: u64, each: u64| (entries * each).div_ceil(8) == bytes;
        let told = u64::from(self.flags);
        let of_five = (self.bits / 5, 5);
        let with = |entries: u64| (1..=255).find(|each| fits(entries, *each)).map(|each| (entries, each));
        let found = match planned.filter(|entries| *entries <= u32::MAX.into()) {
            Some(entries) if told > 0 && fits(entries, told) => Some((entries, told)),
            Some(entries) => with(entries),
            None => None,
        };
        let (entries, each) = found.unwrap_or(of_five);
        let too_large = || Error::parameter("bits", "a digest of at most 2^32 - 1 entries", self.bits);
        Ok((u32::try_from(entries).map_err(|_| too_large())?, each as u8))
    }

    /// The shape that pyprobables gives a filter for this many keys at this rate, which it keeps as a single-precision number.
    fn pyprobables(items: u64, rate: f32) -> Shape {
        let program = Program::Pyprobables;
        let bits = program.bits_for(items, rate.into());
        let hashes = program.hashes_for(bits, items, rate.into());
        Shape { program, bits, hashes, salt: 0, flags: 0 }
    }
}

/// What the filter was made for, which some files tell.
fn need(made_for: Option<(u64, f64)>, why: &str) -> Result<(u64, f64)> {
    made_for.ok_or_else(|| Error::parameter("items", format!("given with `fpr`, {why}"), "not given"))
}

/// Bytes before the bits of a cache digest, and the versions that it has and needs.
const SQUID_HEADER: usize = 128;
const SQUID_VERSIONS: [u16; 2] = [5, 3];
/// The largest fill of a digest that Squid takes.
const SQUID_FILL: f64 = 0.65;

/// The first bytes of a file of pybloomfiltermmap.
const MMAP_MAGIC: &[u8] = b"MBITARRAY";
/// Bytes of the record behind the magic bytes, the number of bits and its own length; with them it is filled up to whole blocks.
const MMAP_RECORD: u32 = 1200;
const MMAP_HEADER: usize = 1280;
/// Where the record tells its version, behind room for 256 seeds and a pointer.
const MMAP_VERSION: usize = 1077;
/// Where it tells how many items there were when it was last written.
const MMAP_ITEMS: usize = 1085;

/// Words of which as many bytes are there as this many bits take, lowest first; what is behind the last bit must be zero.
fn words_of_bytes(bytes: &[u8], bits: u64) -> Result<Vec<u64>> {
    let word = |chunk: &[u8]| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    };
    let words: Vec<u64> = bytes.chunks(8).map(word).collect();
    let behind = words.last().copied().unwrap_or(0).checked_shr((bits % 64) as u32).unwrap_or(0);
    expect(bits.is_multiple_of(64) || behind == 0, "the bits behind the last", "zeros", "ones")?;
    Ok(words)
}

impl<'a> Reader<'a> {
    fn big_u32(&mut self) -> Result<u32> {
        Ok(self.u32()?.swap_bytes())
    }

    /// All the words that are left, which must be this many.
    fn words_left(&mut self, count: u64, convert: fn(u64) -> u64) -> Result<Vec<u64>> {
        let found = self.0.len() as u64;
        expect(count.checked_mul(8) == Some(found), "the bytes of the bits", &format!("8 times {count}"), found)?;
        (0..count).map(|_| self.u64().map(convert)).collect()
    }

    /// All the bytes that are left but the last few, which must hold this many bits.
    fn bits_left(&mut self, bits: u64, behind: usize) -> Result<Vec<u64>> {
        let found = self.0.len().saturating_sub(behind) as u64;
        expect(bits.div_ceil(8) == found, "the bytes of the bits", &bits.div_ceil(8).to_string(), found)?;
        words_of_bytes(self.take(found as usize)?, bits)
    }
}

impl Parsed {
    fn plain(program: Program, bits: u64, hashes: u32, words: Vec<u64>) -> Self {
        let shape = Shape { program, bits, hashes, salt: 0, flags: 0 };
        Parsed { shape, words, seeds: Vec::new(), made_for: None, items: None }
    }

    /// Reads `BloomFilter.writeTo` of Guava.
    pub(super) fn guava(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader(bytes);
        let strategy = reader.u8()?;
        expect(strategy < 2, "the strategy of a Guava filter", "0 or 1", strategy)?;
        let (hashes, count) = (reader.u8()?, reader.big_u32()?);
        let program = if strategy == 1 { Program::Guava } else { Program::Guava32 };
        let words = reader.words_left(count.into(), u64::swap_bytes)?;
        Ok(Self::plain(program, u64::from(count) * 64, hashes.into(), words))
    }

    /// Reads `BloomFilter.writeTo` of Spark.
    pub(super) fn spark(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader(bytes);
        let version = reader.big_u32()?;
        expect((1..=2).contains(&version), "the version of a Spark filter", "1 or 2", version)?;
        let hashes = reader.big_u32()?;
        let salt = if version == 2 { reader.big_u32()? } else { 0 };
        let count = reader.big_u32()?;
        let program = if version == 2 { Program::Spark } else { Program::Spark1 };
        let words = reader.words_left(count.into(), u64::swap_bytes)?;
        let mut parsed = Self::plain(program, u64::from(count) * 64, hashes, words);
        parsed.shape.salt = salt.into();
        Ok(parsed)
    }

    /// Reads `BloomFilter.write` of Hadoop.
    pub(super) fn hadoop(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader(bytes);
        let version = reader.big_u32()? as i32;
        expect(version == -1, "the version of a Hadoop filter", "-1", version)?;
        let (hashes, hash) = (reader.big_u32()?, reader.u8()?);
        expect(hash < 2, "the hash function of a Hadoop filter", "0 (Jenkins) or 1 (Murmur)", hash)?;
        let bits = reader.big_u32()?.into();
        let program = if hash == 1 { Program::Hadoop } else { Program::HadoopJenkins };
        let words = reader.bits_left(bits, 0)?;
        Ok(Self::plain(program, bits, hashes, words))
    }

    /// Reads `WriteTo` of Go's bits-and-blooms.
    pub(super) fn go(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader(bytes);
        let mut number = || reader.u64().map(u64::swap_bytes);
        let (bits, hashes, length) = (number()?, number()?, number()?);
        expect(length == bits, "the length of the bit set", &bits.to_string(), length)?;
        let hashes = u32::try_from(hashes).unwrap_or(u32::MAX);
        let words = reader.words_left(bits.div_ceil(64), u64::swap_bytes)?;
        let last = words.last().copied().unwrap_or(0);
        expect(bits.is_multiple_of(64) || last >> (bits % 64) == 0, "the bits behind the last", "zeros", "ones")?;
        Ok(Self::plain(Program::Go, bits, hashes, words))
    }

    /// Reads `export` of pyprobables.
    pub(super) fn pyprobables(bytes: &[u8]) -> Result<Self> {
        const BEHIND: usize = 20;
        let mut end = Reader(bytes);
        end.take(bytes.len().saturating_sub(BEHIND))?;
        let (planned, items) = (end.u64()?, end.u64()?);
        let rate = f32::from_bits(end.u32()?);
        expect((1..1 << 56).contains(&planned), "the estimated elements", "1 to 2^56", planned)?;
        expect(rate > 0.0 && rate < 1.0, "the false-positive rate", "above 0 and below 1", rate)?;
        let shape = Shape::pyprobables(planned, rate);
        let words = Reader(bytes).bits_left(shape.bits, BEHIND)?;
        Ok(Parsed { shape, words, seeds: Vec::new(), made_for: Some((planned, rate.into())), items: Some(items) })
    }

    /// Reads `toByteArray` of DataSketches.
    pub(super) fn datasketches(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader(bytes);
        let (preamble, version, family, flags) = (reader.u8()?, reader.u8()?, reader.u8()?, reader.u8()?);
        expect(version == 1, "the version of a DataSketches filter", "1", version)?;
        expect(family == 21, "the family of a DataSketches filter", "21", family)?;
        let is_empty = flags & 4 != 0;
        let longs = if is_empty { 3 } else { 4 };
        expect(preamble == longs, "the preamble of a DataSketches filter", &longs.to_string(), preamble)?;
        let (hashes, _) = (reader.u16()?, reader.u16()?);
        let (salt, count, _) = (reader.u64()?, reader.u32()?, reader.u32()?);
        let bits = u64::from(count) * 64;
        let mut parsed = Self::plain(Program::Datasketches, bits, hashes.into(), Vec::new());
        parsed.shape.salt = salt;
        if is_empty {
            expect(reader.0.is_empty(), "the bytes of an empty filter", "24", bytes.len())?;
            parsed.items = Some(0);
        } else {
            let ones = reader.u64()?;
            parsed.words = reader.words_left(count.into(), |word| word)?;
            let counted = parsed.words.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
            expect(ones == u64::MAX || ones == counted, "the number of ones", &counted.to_string(), ones)?;
        }
        Ok(parsed)
    }

    /// Reads the body of `filterload`.
    pub(super) fn bip37(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader(bytes);
        let length = match reader.u8()? {
            253 => u64::from(reader.u16()?),
            short @ ..253 => u64::from(short),
            large => {
                return Err(Error::corrupt(
                    "the bytes of a BIP 37 filter",
                    "36000 at most",
                    format!("a number of kind {large}"),
                ));
            }
        };
        expect(length <= BIP37.0, "the bytes of a BIP 37 filter", "36000 at most", length)?;
        let words = reader.bits_left(length * 8, 9)?;
        let (hashes, salt, flags) = (reader.u32()?, reader.u32()?, reader.u8()?);
        let mut parsed = Self::plain(Program::Bip37, length * 8, hashes, words);
        (parsed.shape.salt, parsed.shape.flags) = (salt.into(), flags);
        Ok(parsed)
    }

    /// Reads a cache digest of Squid, header and mask.
    pub(super) fn squid(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader(bytes);
        let mut header = Reader(reader.take(SQUID_HEADER)?);
        let (current, required) = (header.u16()?.swap_bytes(), header.u16()?.swap_bytes());
        let [has, needs] = SQUID_VERSIONS;
        expect(current >= needs, "the version of a cache digest", &format!("{needs} or newer"), current)?;
        expect(required <= has, "the version that a cache digest needs", &format!("{has} or older"), required)?;
        let (capacity, count) = (header.big_u32()?, header.big_u32()?);
        let (_deleted, mask) = (header.big_u32()?, header.big_u32()?);
        let (per_entry, hashes) = (header.u8()?, header.u8()?);
        expect(capacity > 0, "the capacity of a cache digest", "1 at least", capacity)?;
        expect(per_entry > 0, "the bits per entry of a cache digest", "1 at least", per_entry)?;
        expect(hashes == SQUID_HASHES as u8, "the hash functions of a cache digest", "4", hashes)?;
        let planned = (u64::from(capacity) * u64::from(per_entry)).div_ceil(8);
        expect(planned == mask.into(), "the bytes of the mask", &planned.to_string(), mask)?;
        let bits = planned * 8;
        let words = reader.bits_left(bits, 0)?;
        let ones = words.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
        let fill = ones as f64 / bits as f64;
        expect(
            fill <= SQUID_FILL,
            "the fill of a cache digest",
            &format!("{SQUID_FILL} at most"),
            format!("{fill:.3}"),
        )?;
        let mut parsed = Self::plain(Program::Squid, bits, hashes.into(), words);
        parsed.shape.flags = per_entry;
        let rate = (1.0 - (-f64::from(hashes) / f64::from(per_entry)).exp()).powi(hashes.into());
        parsed.made_for = Some((capacity.into(), rate));
        parsed.items = Some(count.into());
        Ok(parsed)
    }

    /// Reads `Bloom.save` of rbloom.
    pub(super) fn rbloom(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader(bytes);
        let hashes = u32::try_from(reader.u64()?).unwrap_or(u32::MAX);
        let bits = reader.0.len() as u64 * 8;
        let words = reader.bits_left(bits, 0)?;
        Ok(Self::plain(Program::Rbloom, bits, hashes, words))
    }

    /// Reads `BloomFilter.tofile` of pybloom-live.
    pub(super) fn pybloom_live(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader(bytes);
        let rate = reader.f64()?;
        let (slices, slice, capacity, count) = (reader.u64()?, reader.u64()?, reader.u64()?, reader.u64()?);
        expect(rate > 0.0 && rate < 1.0, "the error rate", "above 0 and below 1", rate)?;
        expect(capacity > 0, "the capacity", "1 at least", capacity)?;
        let bits = slices.saturating_mul(slice);
        let words = reader.bits_left(bits, 0)?;
        let hashes = u32::try_from(slices).unwrap_or(u32::MAX);
        let mut parsed = Self::plain(Program::PybloomLive, bits, hashes, words);
        (parsed.made_for, parsed.items) = (Some((capacity, rate)), Some(count));
        Ok(parsed)
    }

    /// Reads a file that pybloomfiltermmap3 has mapped.
    pub(super) fn pybloomfiltermmap(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader(bytes);
        let header = reader.take(MMAP_HEADER)?;
        let mut fields = Reader(header);
        let magic = fields.take(MMAP_MAGIC.len())?;
        let told = || String::from_utf8_lossy(magic).into_owned();
        expect(magic == MMAP_MAGIC, "the first bytes of a file of pybloomfiltermmap", "MBITARRAY", told())?;
        let (bits, record) = (fields.u64()?, fields.u32()?);
        expect(record == MMAP_RECORD, "the length of its record", &MMAP_RECORD.to_string(), record)?;
        let (capacity, rate, hashes) = (fields.u64()?, fields.f64()?, fields.u32()?);
        expect(capacity > 0, "the capacity", "1 at least", capacity)?;
        expect(rate > 0.0 && rate < 1.0, "the error rate", "above 0 and below 1", rate)?;
        let most = Program::Pybloomfiltermmap.most_hashes();
        expect((1..=most).contains(&hashes), "the positions of a key", &format!("1 to {most}"), hashes)?;
        let words = reader.bits_left(bits, 0)?;
        let mut parsed = Self::plain(Program::Pybloomfiltermmap, bits, hashes, words);
        parsed.seeds = (0..hashes).map(|_| fields.u32()).collect::<Result<_>>()?;
        parsed.made_for = Some((capacity, rate));
        // It is told once the file was opened again; before that it is zero.
        parsed.items = Some(Reader(&header[MMAP_ITEMS..]).u64()?).filter(|items| *items > 0);
        Ok(parsed)
    }

    /// Refuses what the program itself would not make.
    pub(super) fn checked(self) -> Result<Self> {
        let Shape { program, bits, hashes, .. } = self.shape;
        expect(
            (1..=program.most_bits()).contains(&bits),
            "the number of bits",
            &format!("1 to {}", program.most_bits()),
            bits,
        )?;
        let (least, most) = (program.least_hashes(), program.most_hashes());
        expect((least..=most).contains(&hashes), "the positions of a key", &format!("{least} to {most}"), hashes)?;
        let fits = !program.is_sliced() || bits.is_multiple_of(hashes.into());
        expect(fits, "the number of bits", &format!("{hashes} equal slices"), bits)?;
        Ok(self)
    }

    /// The words, zeros if the file has none of an empty filter. A filter without its words may be large on paper only.
    pub(super) fn words(&mut self, most_bytes: u64) -> Result<Vec<u64>> {
        if self.words.is_empty() {
            super::reader::within(self.shape.words().checked_mul(8), most_bytes)?;
            return super::reader::zeroed(self.shape.words());
        }
        Ok(std::mem::take(&mut self.words))
    }
}

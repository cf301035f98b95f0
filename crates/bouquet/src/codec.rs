//! Frames: every kind on disk and on the wire. The bytes are described in FORMAT.md, and only there.
//!
//! A structure writes its small state and its big stores to an [`Encoder`] and reads them back from a [`Decoder`] in
//! the same order. The decoder trusts nothing: it checks magic, version, lengths and checksums before anything is
//! allocated, and allocates no more than the frame's own length justifies (or, for coded stores, than the parameters,
//! already checked, ask for).

use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;

use memmap2::Mmap;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::coder;
use crate::error::{Error, Result};
use crate::hash::{HashId, Hashing, Secret};
use crate::kind::{Config, Facts, ParameterType, Setting, Structure};
use crate::store::{BitMatrix, BitStore, Counters, Opening, Orientation, Words, WritableMap};

mod authentication;
mod cells;
mod pace;
mod patch;
mod state;
pub use crate::store::Grain;
use authentication::Authenticator;
pub(crate) use authentication::Code;
pub use cells::CellStore;
pub(crate) use cells::stores;
use pace::PACE;
pub use pace::Pace;
pub use patch::{PATCH_MAGIC, PATCH_VERSION};
pub(crate) use patch::{apply as apply_patch, between as patch_between};
pub use state::{StateReader, StateWriter};

/// The version that this library writes, and the newest that it reads.
pub const VERSION: u16 = 1;

/// The first bytes of every frame. The first is no text in any encoding, so that no text file is mistaken for a frame.
pub const MAGIC: [u8; 8] = *b"\x89bouquet";

const PRELUDE: usize = 64;
const TABLE_ROW: usize = 40;
const ALIGNMENT: usize = 64;

/// A frame holds at most this many stores; more would be a forged header.
pub(crate) const MAX_SECTIONS: usize = 4096;

/// Coded stores may be far larger than their bytes; if those of one frame held more than this (1 GiB), a short frame
/// could exhaust the memory.
pub const MAX_CODED_BITS: u64 = 1 << 33;

/// The checksum's place in the prelude.
const CHECKSUM: std::ops::Range<usize> = 56..64;

/// The place of the flags in the prelude.
const FLAGS: usize = 13;

/// The flag of a frame that is open for writing in its file.
const OPEN_FOR_WRITING: u8 = 1;

/// The flag of a frame that has an authentication code.
const HAS_CODE: u8 = 2;

/// The flag of a frame whose state ends with the pace of its clock.
const HAS_PACE: u8 = 4;

/// The place of the authentication code in the prelude; zeros in a frame that has none.
const CODE: std::ops::Range<usize> = 40..56;

/// How a store's bytes are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coding {
    /// As they are in memory, little-endian.
    Raw,
    /// Arithmetic-coded bits or counters.
    Arithmetic,
}

/// Collects what a structure writes.
///
/// ```
/// # use bouquet::codec::{Decoder, Encoder, Header};
/// # use bouquet::kind::{Config, Facts, Kind, Plan, Rates, Stats, Structure};
/// # use bouquet::store::{BitStore, Counters};
/// # use bouquet::{Bloom, AnyFilter, Result, hash::Hashing};
/// #[derive(Clone)]
/// struct Garden { year: u32, beds: BitStore, flowers: Counters, sizes: [u64; 3], name: String, hashing: Hashing }
///
/// impl Structure for Garden {
///     fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
///         encoder.state().u32(self.year);
///         encoder.bits(&self.beds);
///         encoder.counters(&self.flowers);
///         encoder.words(&self.sizes);
///         encoder.bytes(self.name.clone().into_bytes());
///     }
///     // ... and the rest.
/// #     const FACTS: Facts = Facts { parameters: &[], ..Bloom::FACTS };
/// #     fn plan(_: &Config) -> Result<Plan> { Ok(Plan { bits: 372, hashes: 1, items: None, fpr: None }) }
/// #     fn create(config: &Config) -> Result<Self> {
/// #         let (beds, flowers) = (BitStore::zeroed(100)?, Counters::zeroed(10, 4)?);
/// #         Ok(Garden { year: 1759, beds, flowers, sizes: [1, 2, 3], name: "Kew".into(), hashing: config.hashing().clone() })
/// #     }
/// #     fn config(&self) -> Config { Config::new(KIND.facts()).hashed(self.hashing.clone()) }
/// #     fn hashing(&self) -> &Hashing { &self.hashing }
/// #     fn stats(&self) -> Stats { Stats { items: 0, bits: 372, hashes: 1, fill: None, fpr: None, honest_fill: None } }
/// #     fn expected(&self, _: u64) -> Rates { Rates::default() }
/// #     fn decode(decoder: &mut Decoder<'_>) -> Result<Self> {
/// #         let (hashing, year) = (decoder.config().hashing().clone(), decoder.state().u32()?);
/// #         let (beds, flowers) = (decoder.bits(100)?, decoder.counters(10, 4)?);
/// #         let sizes = decoder.words(3)?.as_slice().try_into().expect("three words");
/// #         let name = String::from_utf8_lossy(decoder.bytes()?).into_owned();
/// #         Ok(Garden { year, beds, flowers, sizes, name, hashing })
/// #     }
/// }
/// static KIND: Kind = Kind::of::<Garden>().done();
///
/// let frame = AnyFilter::new_of_kind(&KIND, &Config::new(KIND.facts()))?.to_bytes();
/// let header = Header::read(&frame)?;
/// assert_eq!((header.stores(), header.store_bits()), (4, 100 + 10 * 4 + 3 * 64 + 3 * 8));
/// # let options = bouquet::OpenOptions { kind: Some(&KIND), ..Default::default() };
/// # let again = AnyFilter::from_bytes_with(&frame, &options)?;
/// # let garden = again.downcast_ref::<Garden>().expect("its own type");
/// # assert_eq!((garden.year, garden.sizes, garden.name.as_str()), (1759, [1, 2, 3], "Kew"));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub struct Encoder<'a> {
    coding: Coding,
    state: StateWriter,
    sections: Vec<Section<'a>>,
    vouching: Vouching,
    pace: Option<Pace>,
}

/// Where the authentication code of a frame comes from.
enum Vouching {
    /// It has none: it is not keyed, or nobody who had the secret ever vouched for it.
    None,
    /// It is computed while the stores are written.
    Computed(Authenticator),
    /// It is the one that the filter was opened with. Nothing can have changed since, because the secret is missing.
    Kept(Code),
}

impl Vouching {
    fn new(hashing: &Hashing, kept: Option<Code>) -> Self {
        match (hashing.secret(), kept) {
            (Some(secret), _) => Vouching::Computed(Authenticator::new(secret)),
            (None, Some(code)) => Vouching::Kept(code),
            (None, None) => Vouching::None,
        }
    }
}

struct Section<'a> {
    bytes: SectionBytes<'a>,
    /// Bits of the store before coding.
    bits: u64,
    /// Bits of its cells.
    width: u32,
    coding: Coding,
    /// Where its bytes change in a file, if they do.
    place: Option<&'a WritableMap>,
}

enum SectionBytes<'a> {
    Words(&'a [u64]),
    Owned(Vec<u8>),
}

impl Section<'_> {
    fn len(&self) -> u64 {
        match &self.bytes {
            SectionBytes::Words(words) => words.len() as u64 * 8,
            SectionBytes::Owned(bytes) => bytes.len() as u64,
        }
    }

    /// Hands the bytes on in pieces, converting on big-endian machines only.
    fn for_each(&self, mut f: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        match &self.bytes {
            SectionBytes::Owned(bytes) => f(bytes),
            SectionBytes::Words(words) if cfg!(target_endian = "little") => f(bytemuck::cast_slice(words)),
            SectionBytes::Words(words) => words.iter().try_for_each(|word| f(&word.to_le_bytes())),
        }
    }
}

impl<'a> Encoder<'a> {
    fn new(coding: Coding, vouching: Vouching, pace: Option<Pace>) -> Self {
        Encoder { coding, state: StateWriter::default(), sections: Vec::new(), vouching, pace }
    }

    /// The state as the frame has it, with the pace at its end.
    fn whole_state(&self) -> Vec<u8> {
        let mut state = self.state.as_slice().to_vec();
        state.extend(self.pace.iter().flat_map(|pace| pace.to_bytes()));
        state
    }

    /// Hands a store to the authentication code, if one is computed.
    fn vouch(&mut self, store: impl FnOnce(&mut Authenticator)) {
        if let Vouching::Computed(authenticator) = &mut self.vouching {
            store(authenticator);
        }
    }

    /// The small state: numbers and short byte strings.
    pub fn state(&mut self) -> &mut StateWriter {
        &mut self.state
    }

    /// A store of bits.
    pub fn bits(&mut self, bits: &'a BitStore) {
        self.vouch(|code| code.store_words(bits.len(), bits.words()));
        // What could not be decoded is written as it is.
        let section = if self.coding == Coding::Raw || bits.len() > MAX_CODED_BITS {
            let place = bits.writable_map();
            Section { bytes: SectionBytes::Words(bits.words()), bits: bits.len(), width: 1, coding: Coding::Raw, place }
        } else {
            // The store's own words and length agree, which is all that the coder could refuse.
            let coded = coder::encode_bits(bits.words(), bits.len()).expect("a store has the words of its bits");
            let bytes = [coded.ones.to_le_bytes().as_slice(), &coded.bytes].concat();
            Section {
                bytes: SectionBytes::Owned(bytes),
                bits: bits.len(),
                width: 1,
                coding: Coding::Arithmetic,
                place: None,
            }
        };
        self.sections.push(section);
    }

    /// A store of counters.
    pub fn counters(&mut self, counters: &'a Counters) {
        let (bits, width) = (counters.bits(), counters.width());
        self.vouch(|code| code.store_words(bits, counters.words()));
        let codable = bits <= MAX_CODED_BITS && width <= coder::MAX_WIDTH;
        // What could not be decoded is written as it is.
        let section = if self.coding == Coding::Raw || !codable {
            let place = counters.writable_map();
            Section { bytes: SectionBytes::Words(counters.words()), bits, width, coding: Coding::Raw, place }
        } else {
            // Counters of at most 32 bits, all below 2^width and the same in both passes: nothing to refuse.
            let coded = coder::encode_counters(counters.iter().map(|counter| counter as u32), width)
                .expect("a store's counters have its width");
            Section { bytes: SectionBytes::Owned(coded), bits, width, coding: Coding::Arithmetic, place: None }
        };
        self.sections.push(section);
    }

    /// A store of plain words.
    pub fn words(&mut self, words: &'a [u64]) {
        let bits = words.len() as u64 * 64;
        self.vouch(|code| code.store_words(bits, words));
        self.sections.push(Section {
            bytes: SectionBytes::Words(words),
            bits,
            width: 64,
            coding: Coding::Raw,
            place: None,
        });
    }

    /// A store of bytes.
    pub fn bytes(&mut self, bytes: Vec<u8>) {
        let bits = bytes.len() as u64 * 8;
        self.vouch(|code| code.store(bits, &bytes));
        self.sections.push(Section {
            bytes: SectionBytes::Owned(bytes),
            bits,
            width: 8,
            coding: Coding::Raw,
            place: None,
        });
    }

    /// The stores that `fill` writes, copied, so that they need not live as long as the structure: for one that is kept
    /// in memory otherwise than in its frame.
    pub fn copied<'b>(&mut self, fill: impl FnOnce(&mut Encoder<'b>)) {
        let mut other = Encoder::new(self.coding, std::mem::replace(&mut self.vouching, Vouching::None), None);
        fill(&mut other);
        self.vouching = other.vouching;
        other.state.as_slice().iter().for_each(|&byte| self.state.u8(byte));
        for section in other.sections {
            let mut bytes = Vec::with_capacity(section.len() as usize);
            // Nothing that is copied to memory fails.
            let _ = section.for_each(|piece| {
                bytes.extend_from_slice(piece);
                Ok(())
            });
            self.sections.push(Section { bytes: SectionBytes::Owned(bytes), place: None, ..section });
        }
    }

    fn header_len(&self, parameters: &[u8]) -> usize {
        let state = self.state.as_slice().len() + if self.pace.is_some() { PACE } else { 0 };
        align(PRELUDE + self.sections.len() * TABLE_ROW + parameters.len() + state)
    }

    /// Everything before the first store.
    fn header(&self, facts: &Facts, config: &Config) -> io::Result<Vec<u8>> {
        let parameters = encode_settings(config);
        let state = self.whole_state();
        let body = self.header_len(&parameters);

        let mut header = Vec::with_capacity(body);
        header.extend_from_slice(&MAGIC);
        header.extend_from_slice(&VERSION.to_le_bytes());
        header.extend_from_slice(&facts.number.to_le_bytes());
        header.extend_from_slice(&[config.hashing().id().number(), 0]);
        header.extend_from_slice(&(self.sections.len() as u16).to_le_bytes());
        header.extend_from_slice(&config.hashing().seed().to_le_bytes());
        header.extend_from_slice(&(parameters.len() as u32).to_le_bytes());
        header.extend_from_slice(&(state.len() as u32).to_le_bytes());
        let total_at = header.len();
        header.resize(PRELUDE, 0);

        let mut offset = body as u64;
        for section in &self.sections {
            let mut checksum = Xxh3::new();
            section.for_each(|bytes| {
                checksum.update(bytes);
                Ok(())
            })?;
            let coding = u64::from(section.coding == Coding::Arithmetic);
            for field in [offset, section.len(), section.bits, coding, checksum.digest()] {
                header.extend_from_slice(&field.to_le_bytes());
            }
            offset += align_u64(section.len());
        }
        header.extend_from_slice(&parameters);
        header.extend_from_slice(&state);
        header.resize(body, 0);
        header[total_at..total_at + 8].copy_from_slice(&offset.to_le_bytes());
        let code = match &self.vouching {
            Vouching::None => None,
            Vouching::Kept(code) => Some(*code),
            Vouching::Computed(authenticator) => Some(authenticator.clone().finish(&parameters, &state, &header)),
        };
        if let Some(code) = code {
            header[FLAGS] |= HAS_CODE;
            header[CODE].copy_from_slice(&code);
        }
        if self.pace.is_some() {
            header[FLAGS] |= HAS_PACE;
        }
        seal(&mut header);
        Ok(header)
    }

    /// Writes the frame.
    fn write(&self, facts: &Facts, config: &Config, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&self.header(facts, config)?)?;
        for section in &self.sections {
            section.for_each(|bytes| out.write_all(bytes))?;
            let padding = align_u64(section.len()) - section.len();
            out.write_all(&[0; ALIGNMENT][..padding as usize])?;
        }
        Ok(())
    }
}

/// Writes the checksum of a header.
fn seal(header: &mut [u8]) {
    header[CHECKSUM].fill(0);
    let checksum = xxh3_64(header);
    header[CHECKSUM].copy_from_slice(&checksum.to_le_bytes());
}

/// The frame as versions before the authentication code wrote it, and as who lacks the secret can forge it.
#[cfg(test)]
pub(crate) fn without_code(mut frame: Vec<u8>) -> Vec<u8> {
    let header = Header::read(&frame).expect("a frame").len();
    frame[FLAGS] &= !HAS_CODE;
    frame[CODE].fill(0);
    seal(&mut frame[..header]);
    frame
}

/// The header, otherwise the same, of a frame that is open for writing.
pub(crate) fn flagged(header: &[u8]) -> Vec<u8> {
    let mut header = header.to_vec();
    header[FLAGS] |= OPEN_FOR_WRITING;
    seal(&mut header);
    header
}

/// The parts of a filter whose stores are the bytes of its file.
pub(crate) struct InPlace<'a> {
    encoder: Encoder<'a>,
    config: Config,
}

impl<'a> InPlace<'a> {
    /// What `fill` gives to the encoder, if every store is the very bytes that the file of this header has for it and the
    /// rest is as long as it is there: then writing a new header makes the file the frame of the filter.
    ///
    /// A keyed frame gets its authentication code if `vouched`, which reads every store.
    pub(crate) fn new(
        config: Config,
        fill: impl FnOnce(&mut Encoder<'a>),
        file: &Header,
        opening: &Opening,
        vouched: bool,
        pace: Option<Pace>,
    ) -> Option<Self> {
        let vouching = if vouched { Vouching::new(config.hashing(), file.code) } else { Vouching::None };
        let mut encoder = Encoder::new(Coding::Raw, vouching, pace);
        fill(&mut encoder);
        let stays = |(section, row): (&Section<'_>, &Row)| {
            let same = section.len() == row.bytes.len() as u64 && section.bits == row.bits && row.coding == Coding::Raw;
            same && section.place.is_some_and(|place| place.is_at(opening, row.bytes.start as u64))
        };
        let (sections, rows) = (&encoder.sections, &file.sections);
        let stays = sections.len() == rows.len() && sections.iter().zip(rows).all(stays);
        (stays && encoder.header_len(&encode_settings(&config)) == file.len()).then_some(InPlace { encoder, config })
    }

    /// Waits until the disk has the stores.
    pub(crate) fn sync_stores(&self) -> io::Result<()> {
        self.encoder.sections.iter().filter_map(|section| section.place).try_for_each(WritableMap::sync)
    }

    /// The header of the frame as the filter is now.
    pub(crate) fn header(&self, facts: &Facts) -> io::Result<Vec<u8>> {
        self.encoder.header(facts, &self.config)
    }
}

fn align(len: usize) -> usize {
    len.next_multiple_of(ALIGNMENT)
}

fn align_u64(len: u64) -> u64 {
    len.next_multiple_of(ALIGNMENT as u64)
}

/// Writes a frame of the parts that `fill` gives to the encoder; `coded` asks for arithmetic-coded stores.
pub(crate) fn write_frame<'a>(
    facts: &Facts,
    config: &Config,
    coded: bool,
    fill: impl FnOnce(&mut Encoder<'a>),
    out: &mut impl Write,
) -> io::Result<()> {
    write_frame_again(facts, config, coded, Kept::default(), fill, out)
}

/// What a frame has beside its filter.
#[derive(Clone, Copy, Default)]
pub(crate) struct Kept {
    /// The authentication code of a filter that was opened without its secret.
    pub(crate) code: Option<Code>,
    pub(crate) pace: Option<Pace>,
}

/// As [`write_frame`], of a filter that may have been opened without its secret and then keeps its authentication code.
pub(crate) fn write_frame_again<'a>(
    facts: &Facts,
    config: &Config,
    coded: bool,
    kept: Kept,
    fill: impl FnOnce(&mut Encoder<'a>),
    out: &mut impl Write,
) -> io::Result<()> {
    let coding = if coded { Coding::Arithmetic } else { Coding::Raw };
    let mut encoder = Encoder::new(coding, Vouching::new(config.hashing(), kept.code), kept.pace);
    fill(&mut encoder);
    encoder.write(facts, config, out)
}

/// The frame of a structure.
pub(crate) fn to_bytes<T: Structure>(structure: &T) -> Vec<u8> {
    let mut out = Vec::new();
    write_frame(&T::FACTS, &structure.config(), T::CODED, |encoder| structure.encode(encoder), &mut out)
        .expect("writing to memory does not fail");
    out
}

/// Writes bytes to a file as [`Filter::save`](crate::AnyFilter::save) writes a filter: beside it first, then synced and renamed.
///
/// ```
/// use bouquet::codec::replace_file;
/// # let path = std::env::temp_dir().join(format!("bouquet-replace-{}", std::process::id()));
/// replace_file(&path, b"rose")?;
/// assert_eq!(std::fs::read(&path)?, b"rose");
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn replace_file(path: &std::path::Path, bytes: &[u8]) -> Result<()> {
    crate::files::write_atomically(path, |out| out.write_all(bytes))
}

/// What turns one structure into another of its kind, and the structure that comes of it.
pub(crate) mod delta {
    use super::{MAX_CODED_BITS, from_bytes_with, patch, write_frame};
    use crate::error::Result;
    use crate::kind::Structure;

    fn raw<T: Structure>(structure: &T) -> Vec<u8> {
        let mut out = Vec::new();
        write_frame(&T::FACTS, &structure.config(), false, |encoder| structure.encode(encoder), &mut out)
            .expect("writing to memory does not fail");
        out
    }

    /// What turns `old` into `new`.
    pub(crate) fn between<T: Structure>(old: &T, new: &T) -> Result<Vec<u8>> {
        patch::between(&raw(old), &raw(new))
    }

    /// What a delta makes of `base`.
    pub(crate) fn apply<T: Structure>(base: &T, delta: &[u8]) -> Result<T> {
        let frame = patch::apply(&raw(base), delta, MAX_CODED_BITS)?;
        from_bytes_with(&frame, base.hashing().secret())
    }
}

/// The structure of a frame, which must be of its kind and not keyed.
pub(crate) fn from_bytes<T: Structure>(bytes: &[u8]) -> Result<T> {
    from_bytes_with(bytes, None)
}

/// The structure of a frame, which must be of its kind.
fn from_bytes_with<T: Structure>(bytes: &[u8], secret: Option<&Secret>) -> Result<T> {
    let header = Header::read(bytes)?;
    let facts: &'static Facts = const { &T::FACTS };
    crate::error::same("kind number", facts.number, header.kind)?;
    let access = Access { secret, ..Access::default() };
    let mut decoder = Decoder::new(Source::Bytes(bytes), &header, facts, access)?;
    let structure = T::decode(&mut decoder)?;
    decoder.finish()?;
    Ok(structure)
}

const TYPE_COUNT: u8 = 0;
const TYPE_REAL: u8 = 1;
const TYPE_CHOICE: u8 = 2;
const TYPE_FLAG: u8 = 3;

/// Names, words and their lengths come from the schemas, which keep them far below 256 bytes.
fn encode_settings(config: &Config) -> Vec<u8> {
    let mut out = Vec::new();
    let text = |out: &mut Vec<u8>, text: &str| {
        out.push(text.len() as u8);
        out.extend_from_slice(text.as_bytes());
    };
    for (parameter, setting) in config.settings() {
        text(&mut out, parameter.name);
        match setting {
            Setting::Count(value) => {
                out.push(TYPE_COUNT);
                out.extend_from_slice(&value.to_le_bytes());
            }
            Setting::Real(value) => {
                out.push(TYPE_REAL);
                out.extend_from_slice(&value.to_le_bytes());
            }
            Setting::Choice(word) => {
                out.push(TYPE_CHOICE);
                text(&mut out, word);
            }
            Setting::Flag(flag) => out.extend_from_slice(&[TYPE_FLAG, u8::from(flag)]),
        }
    }
    out
}

fn decode_settings(bytes: &[u8], facts: &'static Facts) -> Result<Config> {
    let mut config = Config::new(facts);
    let mut reader = StateReader::new(bytes, "parameters");
    while !reader.is_empty() {
        let name_len = reader.u8()?;
        let name = reader.text(usize::from(name_len))?;
        let parameter = facts.parameters.iter().find(|parameter| parameter.name == name);
        let setting = match reader.u8()? {
            TYPE_COUNT => Setting::Count(reader.u64()?),
            TYPE_REAL => Setting::Real(reader.f64()?),
            TYPE_CHOICE => {
                let len = reader.u8()?;
                let word = reader.text(usize::from(len))?;
                let options = match parameter.map(|parameter| parameter.of) {
                    Some(ParameterType::Choice { options }) => options,
                    _ => &[],
                };
                let known = options.iter().copied().find(|&option| option == word);
                Setting::Choice(
                    known.ok_or_else(|| Error::corrupt(format!("parameter `{name}`"), options.join("|"), word))?,
                )
            }
            TYPE_FLAG => Setting::Flag(reader.u8()? != 0),
            other => return Err(Error::corrupt("parameter type", "0 to 3", other)),
        };
        config = config.with(name, setting)?;
    }
    Ok(config)
}

/// Where a frame's bytes are.
#[derive(Clone, Copy)]
pub(crate) enum Source<'a> {
    /// In memory.
    Bytes(&'a [u8]),
    /// In a mapped file: stores stay there, and their checksums are not computed, which would read the file.
    Map(&'a Arc<Mmap>),
    /// In a mapped file that is read to be checked: stores stay there.
    ReadMap(&'a Arc<Mmap>),
    /// In a file that is open for writing, of which these are the bytes: stores stay there, to be changed, once their
    /// checksums are right.
    Writable(&'a [u8], &'a File, &'a Opening),
}

impl<'a> Source<'a> {
    pub(crate) fn bytes(self) -> &'a [u8] {
        match self {
            Source::Bytes(bytes) | Source::Writable(bytes, ..) => bytes,
            Source::Map(map) | Source::ReadMap(map) => map,
        }
    }
}

/// The fixed facts of a frame: everything but its stores. Reading it needs neither secret nor memory.
///
/// ```
/// use bouquet::{Bloom, codec::{Header, VERSION}, hash::HashId, registry};
/// let header = Header::read(&Bloom::with_rate(100, 0.01)?.to_bytes())?;
/// assert_eq!(header.kind, registry::find("standard")?.facts().number);
/// assert_eq!((header.version, header.hash, header.seed), (VERSION, HashId::Folded, 0));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Header {
    /// The format version.
    pub version: u16,
    /// The kind's number.
    pub kind: u16,
    /// The digest function.
    pub hash: HashId,
    /// The seed, or the check value of the secret.
    pub seed: u64,
    /// The length of the whole frame.
    pub bytes: u64,
    /// The authentication code of a keyed frame.
    code: Option<Code>,
    /// The pace of its clock, at the end of the state.
    pace: Option<Pace>,
    parameters: std::ops::Range<usize>,
    state: std::ops::Range<usize>,
    sections: Vec<Row>,
}

/// A row of the section table.
#[derive(Clone, Debug)]
struct Row {
    bytes: std::ops::Range<usize>,
    bits: u64,
    coding: Coding,
    checksum: u64,
}

impl Header {
    /// Reads and checks everything before the stores.
    ///
    /// ```
    /// use bouquet::{Bloom, Error, codec::Header};
    /// let frame = Bloom::with_rate(100, 0.01)?.to_bytes();
    /// assert_eq!(Header::read(&frame)?.bytes, frame.len() as u64);
    /// assert!(matches!(Header::read(b"not a frame"), Err(Error::NotAFrame { .. })));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn read(bytes: &[u8]) -> Result<Self> {
        Self::read_prefix(bytes, bytes.len() as u64)
    }

    /// The same of a frame of this length, below 2^63, of which `bytes` are no more than the first.
    fn read_prefix(bytes: &[u8], frame_len: u64) -> Result<Self> {
        let begin = &bytes[..bytes.len().min(MAGIC.len())];
        if begin != &MAGIC[..begin.len()] || bytes.is_empty() {
            let found = if bytes.is_empty() { "nothing".into() } else { format!("`{}`", begin.escape_ascii()) };
            return Err(Error::NotAFrame { expected: format!("`{}`", MAGIC.escape_ascii()), found });
        }
        need("the prelude", PRELUDE as u64, bytes.len() as u64)?;
        let mut prelude = StateReader::new(&bytes[MAGIC.len()..PRELUDE], "prelude");
        let version = prelude.u16()?;
        if version == 0 || version > VERSION {
            return Err(Error::Version { found: version, supported: VERSION });
        }
        let kind = prelude.u16()?;
        let hash = prelude.u8()?;
        let flags = prelude.u8()?;
        let sections = usize::from(prelude.u16()?);
        let seed = prelude.u64()?;
        let parameters_len = prelude.u32()? as usize;
        let state_len = prelude.u32()? as usize;
        let total = prelude.u64()?;
        let _code = [prelude.u64()?, prelude.u64()?];
        let checksum = prelude.u64()?;

        // The lengths are hostile until the checksum is right; sums of a few 32-bit numbers fit in 64 bits.
        let parameters = PRELUDE + sections * TABLE_ROW;
        let state = parameters + parameters_len;
        let end = state + state_len;
        let body = align(end);
        need("the header", body as u64, bytes.len() as u64)?;
        let mut found = Xxh3::new();
        found.update(&bytes[..CHECKSUM.start]);
        found.update(&[0; 8]);
        found.update(&bytes[CHECKSUM.end..body]);
        check("header checksum", format_args!("{checksum:#018x}"), format_args!("{:#018x}", found.digest()))?;
        if flags & !HAS_CODE & !HAS_PACE == OPEN_FOR_WRITING {
            return Err(Error::Interrupted);
        }
        check("flags", 0, flags & !HAS_CODE & !HAS_PACE)?;
        let pace = if flags & HAS_PACE != 0 { Some(Pace::read(&bytes[state..end])?) } else { None };
        let code = (flags & HAS_CODE != 0).then(|| authentication::code_of(bytes));
        check("the place of a code that the frame does not have", true, code.is_some() || bytes[CODE] == [0; 16])?;
        if sections > MAX_SECTIONS {
            return Err(Error::corrupt("number of stores", format!("at most {MAX_SECTIONS}"), sections));
        }
        check("padding of the header", true, bytes[end..body].iter().all(|&b| b == 0))?;
        need("the frame", total, frame_len)?;
        check("length of the frame", total, frame_len)?;

        let hash = HashId::from_number(hash).ok_or_else(|| {
            Error::corrupt("hash function", "1 to 6", format!("{hash} (written by a newer version?)"))
        })?;
        check("authentication code of a frame without a secret", false, code.is_some() && !hash.is_keyed())?;
        let mut table = StateReader::new(&bytes[PRELUDE..parameters], "store table");
        let mut rows = Vec::with_capacity(sections);
        let mut offset = body as u64;
        for _ in 0..sections {
            let (begin, len, bits, coding, checksum) =
                (table.u64()?, table.u64()?, table.u64()?, table.u64()?, table.u64()?);
            check("offset of a store", offset, begin)?;
            let available = total.saturating_sub(offset);
            need("a store", len, available)?;
            // `len` is at most the length of the frame, which is below 2^63, so rounding up stays in range.
            need("the padding of a store", align_u64(len), available)?;
            let coding = match coding {
                0 => Coding::Raw,
                1 => Coding::Arithmetic,
                other => return Err(Error::corrupt("coding of a store", "0 or 1", other)),
            };
            rows.push(Row { bytes: begin as usize..(begin + len) as usize, bits, coding, checksum });
            offset += align_u64(len);
        }
        check("end of the stores", total, offset)?;
        Ok(Header {
            version,
            kind,
            hash,
            seed,
            bytes: total,
            code,
            pace,
            parameters: parameters..state,
            state: state..end,
            sections: rows,
        })
    }

    /// Refuses coded stores of more than `max` bits in all. Stores are later read with these very sizes or not at all.
    pub(crate) fn refuse_large(&self, max: u64) -> Result<()> {
        let coded = self.sections.iter().filter(|row| row.coding == Coding::Arithmetic);
        let bits = coded.fold(0u64, |sum, row| sum.saturating_add(row.bits));
        if bits <= max.min(MAX_CODED_BITS) {
            return Ok(());
        }
        Err(Error::TooLarge { what: "the coded part of the frame".into(), bytes: u128::from(bits).div_ceil(8) })
    }

    /// The authentication code of a keyed frame, if it has one.
    pub(crate) fn code(&self) -> Option<Code> {
        self.code
    }

    /// The pace of the filter's clock, if the frame has one.
    #[must_use]
    pub fn pace(&self) -> Option<Pace> {
        self.pace
    }

    /// Whether the frame has an authentication code, right or wrong: all keyed frames do but those of earlier versions.
    ///
    /// ```
    /// use bouquet::{AnyFilter, codec::Header, hash::{Hashing, Secret}, kind::Config, registry};
    /// let config = Config::new(registry::find("standard")?.facts()).set("items", "10")?;
    /// let keyed = AnyFilter::new(&config.clone().hashed(Hashing::keyed(Secret::random()?)))?;
    /// assert!(Header::read(&keyed.to_bytes())?.has_code());
    /// assert!(!Header::read(&AnyFilter::new(&config)?.to_bytes())?.has_code(), "anybody could make it");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn has_code(&self) -> bool {
        self.code.is_some()
    }

    /// The length of everything before the stores.
    pub(crate) fn len(&self) -> usize {
        align(self.state.end)
    }

    /// The number of stores.
    ///
    /// ```
    /// use bouquet::{Scalable, codec::Header};
    /// let mut filter = Scalable::with_rate(100, 0.01)?;
    /// let before = Header::read(&filter.to_bytes())?.stores();
    /// filter.grow()?;
    /// assert!(Header::read(&filter.to_bytes())?.stores() > before, "one for each component");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn stores(&self) -> usize {
        self.sections.len()
    }

    /// Bytes of the stores as they are in the frame, without the padding between them.
    ///
    /// ```
    /// use bouquet::{Bloom, codec::Header};
    /// let header = Header::read(&Bloom::with_size(1_000, 3)?.to_bytes())?;
    /// assert_eq!((header.stores(), header.store_bytes(), header.store_bits()), (1, 128, 1_000));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn store_bytes(&self) -> u64 {
        self.sections.iter().map(|row| row.bytes.len() as u64).sum()
    }

    /// Bits of the stores in memory, before any coding, as the frame states them.
    ///
    /// ```
    /// use bouquet::{Bloom, AnyFilter, codec::Header};
    /// let filter = AnyFilter::from_structure(Bloom::with_size(100_000, 3)?)?;
    /// let coded = Header::read(&filter.to_compressed_bytes())?;
    /// assert_eq!(coded.store_bits(), 100_000);
    /// assert!(coded.store_bytes() < 100, "nothing is in it");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn store_bits(&self) -> u64 {
        self.sections.iter().fold(0, |sum, row| row.bits.saturating_add(sum))
    }

    /// Whether a store is arithmetic-coded.
    ///
    /// ```
    /// use bouquet::{Bloom, AnyFilter, codec::Header};
    /// let filter = AnyFilter::from_structure(Bloom::with_rate(100, 0.01)?)?;
    /// assert!(Header::read(&filter.to_compressed_bytes())?.is_coded());
    /// assert!(!Header::read(&filter.to_bytes())?.is_coded());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn is_coded(&self) -> bool {
        self.sections.iter().any(|row| row.coding == Coding::Arithmetic)
    }

    /// The settings in the frame, checked against the schema of its kind; hashing is not filled in.
    pub(crate) fn settings(&self, bytes: &[u8], facts: &'static Facts) -> Result<Config> {
        decode_settings(&bytes[self.parameters.clone()], facts)
    }
}

fn need(what: &str, needed: u64, available: u64) -> Result<()> {
    if needed <= available { Ok(()) } else { Err(Error::Truncated { what: what.into(), needed, available }) }
}

fn check<T: ToString>(what: &str, expected: T, found: T) -> Result<()> {
    let (expected, found) = (expected.to_string(), found.to_string());
    if expected == found { Ok(()) } else { Err(Error::corrupt(what, expected, found)) }
}

/// Refuses a coded store where only a raw one can stand.
fn is_raw(row: &Row) -> Result<()> {
    check("coding of a store", "raw", if row.coding == Coding::Raw { "raw" } else { "arithmetic" })
}

/// Hands a structure the parts of its frame, in the order in which they were written.
///
/// ```
/// # use bouquet::codec::{Decoder, Encoder};
/// # use bouquet::kind::{Config, Facts, Kind, Plan, Rates, Stats, Structure};
/// # use bouquet::{Bloom, AnyFilter, OpenOptions, Result, hash::Hashing};
/// /// A Bloom filter with a label, which also reads frames that have none.
/// #[derive(Clone)]
/// struct Labelled(Bloom, Vec<u8>);
///
/// impl Structure for Labelled {
///     fn decode(decoder: &mut Decoder<'_>) -> Result<Self> {
///         let bloom = Bloom::decode(decoder)?; // takes its settings, its state and its bits
///         let label = if decoder.stores_left() > 0 { decoder.bytes()?.to_vec() } else { b"none".to_vec() };
///         Ok(Labelled(bloom, label))
///     }
///     // ... and the rest.
/// #     const FACTS: Facts = Bloom::FACTS;
/// #     fn plan(config: &Config) -> Result<Plan> { Bloom::plan(config) }
/// #     fn create(config: &Config) -> Result<Self> { Ok(Labelled(Bloom::create(config)?, b"roses".to_vec())) }
/// #     fn config(&self) -> Config { self.0.config() }
/// #     fn hashing(&self) -> &Hashing { self.0.hashing() }
/// #     fn stats(&self) -> Stats { self.0.stats() }
/// #     fn expected(&self, items: u64) -> Rates { self.0.expected(items) }
/// #     fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
/// #         self.0.encode(encoder);
/// #         encoder.bytes(self.1.clone());
/// #     }
/// }
/// static KIND: Kind = Kind::of::<Labelled>().done();
/// let options = OpenOptions { kind: Some(&KIND), ..Default::default() };
/// let label = |frame: &[u8]| -> Result<Vec<u8>> {
///     Ok(AnyFilter::from_bytes_with(frame, &options)?.downcast_ref::<Labelled>().map_or(Vec::new(), |own| own.1.clone()))
/// };
///
/// let config = Config::new(KIND.facts()).set("items", "100")?;
/// let frame = AnyFilter::new_of_kind(&KIND, &config)?.to_bytes();
/// assert_eq!(label(&frame)?, b"roses");
/// assert_eq!(label(&Bloom::with_rate(100, 0.01)?.to_bytes())?, b"none");
/// assert!(Bloom::from_bytes(&frame).is_err(), "a store would be left over");
/// # Ok::<(), bouquet::Error>(())
/// ```
pub struct Decoder<'a> {
    source: Source<'a>,
    config: Config,
    state: StateReader<'a>,
    sections: std::vec::IntoIter<Row>,
    /// What coded stores may still unfold to.
    coded_bits_left: u64,
    /// What computes the code that the frame must have.
    authenticator: Option<Authenticator>,
    header: &'a Header,
}

/// What a reader has and asks for.
#[derive(Clone, Copy, Default)]
pub(crate) struct Access<'a> {
    /// The secret of a keyed frame.
    pub(crate) secret: Option<&'a Secret>,
    /// Without it, the result may be looked at but not asked.
    pub(crate) allow_locked: bool,
    /// A keyed frame may do without a code, and a mapped one is not read to check it.
    pub(crate) allow_unauthenticated: bool,
}

impl<'a> Decoder<'a> {
    /// Prepares the parts.
    pub(crate) fn new(
        source: Source<'a>,
        header: &'a Header,
        facts: &'static Facts,
        Access { secret, allow_locked, allow_unauthenticated }: Access<'_>,
    ) -> Result<Self> {
        let bytes = source.bytes();
        let hashing = match (secret, allow_locked && header.hash.is_keyed()) {
            (None, true) => Hashing::locked(header.hash, header.seed),
            _ => Hashing::from_frame(header.hash, header.seed, secret)?,
        };
        let spared = allow_unauthenticated && (header.code.is_none() || matches!(source, Source::Map(_)));
        let authenticator = match hashing.secret() {
            Some(_) if spared => None,
            Some(_) if header.code.is_none() => return Err(authentication::no_code()),
            secret => secret.map(Authenticator::new),
        };
        let config = header.settings(bytes, facts)?.hashed(hashing);
        let own = header.state.start..header.state.end - if header.pace.is_some() { PACE } else { 0 };
        let state = StateReader::new(&bytes[own], "state");
        let sections = header.sections.clone().into_iter();
        Ok(Decoder { source, config, state, sections, coded_bits_left: MAX_CODED_BITS, authenticator, header })
    }

    /// The settings and the hashing of the filter.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The small state.
    pub fn state(&mut self) -> &mut StateReader<'a> {
        &mut self.state
    }

    /// Whether what the stores hold is to be checked. Not in a file that is only mapped, which would be read as a whole: whatever
    /// it holds, no verb may go wrong but in its answers. It is checked before it is changed or written.
    #[must_use]
    pub fn reads_stores(&self) -> bool {
        !matches!(self.source, Source::Map(_))
    }

    /// The next store as a matrix by position. Spare columns are looked at wherever stores are read.
    pub(crate) fn slices(&mut self, sets: u64, positions: u64) -> Result<BitMatrix> {
        let bits = self.bits(BitMatrix::needed_bits(sets, positions, Orientation::ByPosition)?)?;
        let matrix = BitMatrix::from_slices(bits, sets, positions);
        let matrix = matrix.filter(|matrix| !self.reads_stores() || matrix.spares_are_empty());
        matrix.ok_or_else(|| Error::corrupt("spare columns", "0", "1"))
    }

    /// The next store's bytes, checked against its checksum unless the file is only mapped.
    fn section(&mut self) -> Result<(Row, &'a [u8])> {
        let row = self.sections.next().ok_or_else(|| Error::corrupt("stores", "another one", "none"))?;
        let all = self.source.bytes();
        let bytes = &all[row.bytes.clone()];
        if self.reads_stores() {
            let found = xxh3_64(bytes);
            check("checksum of a store", format_args!("{:#018x}", row.checksum), format_args!("{found:#018x}"))?;
            let padding = &all[row.bytes.end..align(row.bytes.end)];
            check("padding of a store", true, padding.iter().all(|&b| b == 0))?;
        }
        Ok((row, bytes))
    }

    fn raw_words(&mut self, bits: u64) -> Result<Words> {
        let (row, bytes) = self.section()?;
        check("bits of a store", bits, row.bits)?;
        check("bytes of a store", bits.div_ceil(64).saturating_mul(8), bytes.len() as u64)?;
        is_raw(&row)?;
        self.authenticate(|code| code.store(bits, bytes));
        self.place(&row, bytes)
    }

    /// Words in place where the frame is mapped, a copy otherwise.
    fn place(&self, row: &Row, bytes: &[u8]) -> Result<Words> {
        let (offset, len) = (row.bytes.start, bytes.len() / 8);
        let in_place = match self.source {
            Source::Bytes(_) => None,
            Source::Map(map) | Source::ReadMap(map) => Words::mapped(map, offset, len),
            Source::Writable(_, file, opening) => {
                Words::writable(file, opening, offset, len).map_err(|error| Error::NotInPlace {
                    what: format!("a store cannot be mapped ({error})"),
                    remedy: "open it otherwise and save it".into(),
                })?
            }
        };
        in_place.map_or_else(|| Words::from_le_bytes(bytes), Ok)
    }

    /// A store of exactly `len` bits.
    pub fn bits(&mut self, len: u64) -> Result<BitStore> {
        let next = self.sections.as_slice().first();
        let words = if next.is_some_and(|row| row.coding == Coding::Arithmetic) {
            let (row, bytes) = self.section()?;
            check("bits of a store", len, row.bits)?;
            let (ones, coded) = bytes
                .split_first_chunk::<8>()
                .ok_or_else(|| Error::corrupt("coded store", "at least 8 bytes", bytes.len()))?;
            let words = coder::decode_bits(coded, len, u64::from_le_bytes(*ones), self.coded_bits_left)?;
            self.coded_bits_left -= len;
            self.authenticate(|code| code.store_words(len, &words));
            Words::copied(&words)?
        } else {
            self.raw_words(len)?
        };
        BitStore::from_words(words, len).ok_or_else(|| Error::corrupt("bits beyond the end of a store", "0", "1"))
    }

    /// A store of exactly `len` counters of `width` bits.
    pub fn counters(&mut self, len: u64, width: u32) -> Result<Counters> {
        let bits = len.checked_mul(u64::from(width)).ok_or_else(|| Error::corrupt("counters", "fewer", len))?;
        let next = self.sections.as_slice().first();
        if next.is_some_and(|row| row.coding == Coding::Arithmetic) {
            let (row, bytes) = self.section()?;
            check("bits of a store", bits, row.bits)?;
            let left = self.coded_bits_left.checked_sub(bits);
            self.coded_bits_left = left.ok_or_else(|| {
                Error::corrupt("bits of a coded store", format!("at most {}", self.coded_bits_left), bits)
            })?;
            let mut counters = Counters::zeroed(len, width)?;
            let mut index = 0;
            coder::decode_counter_runs(bytes, len, width, |counter, times| {
                // The store begins as zeros.
                if counter != 0 {
                    counters.fill(index..index + times, counter.into());
                }
                index += times;
            })?;
            self.authenticate(|code| code.store_words(bits, counters.words()));
            return Ok(counters);
        }
        let words = self.raw_words(bits)?;
        Counters::from_words(words, len, width).ok_or_else(|| Error::corrupt("bits beyond the last counter", "0", "1"))
    }

    /// Counters that look random and so are plain words in every frame, also in those that are coded.
    pub fn cells(&mut self, len: u64, width: u32) -> Result<Counters> {
        let bits = len.checked_mul(width.into()).ok_or_else(|| Error::corrupt("cells", "fewer", len))?;
        let words = self.words(bits.div_ceil(64))?;
        Counters::from_words(words, len, width).ok_or_else(|| Error::corrupt("bits behind the last cell", "0", "1"))
    }

    /// A store of exactly `len` words.
    pub fn words(&mut self, len: u64) -> Result<Words> {
        self.raw_words(len.checked_mul(64).ok_or_else(|| Error::corrupt("words", "fewer", len))?)
    }

    /// A store of bytes, of whatever length was written.
    pub fn bytes(&mut self) -> Result<&'a [u8]> {
        let (row, bytes) = self.section()?;
        is_raw(&row)?;
        check("bits of a store", (bytes.len() as u64).saturating_mul(8), row.bits)?;
        self.authenticate(|code| code.store(row.bits, bytes));
        Ok(bytes)
    }

    /// Hands a store, as it is in memory, to what computes the authentication code.
    fn authenticate(&mut self, store: impl FnOnce(&mut Authenticator)) {
        if let Some(authenticator) = &mut self.authenticator {
            store(authenticator);
        }
    }

    /// Whether the frame is keyed and nobody who has the secret vouches for it.
    pub(crate) fn is_doubted(&self) -> bool {
        self.config.hashing().id().is_keyed() && self.authenticator.is_none()
    }

    /// How many stores have not been read yet.
    #[must_use]
    pub fn stores_left(&self) -> usize {
        self.sections.len()
    }

    /// Everything must have been read, and the authentication code be right; tells whether there was one to check.
    pub(crate) fn finish(self) -> Result<bool> {
        check("stores that the kind does not have", 0, self.sections.len())?;
        check("bytes behind the state", 0, self.state.len())?;
        if let (Some(authenticator), Some(code)) = (self.authenticator, &self.header.code) {
            let bytes = self.source.bytes();
            let (parameters, state) = (&bytes[self.header.parameters.clone()], &bytes[self.header.state.clone()]);
            return authentication::check_code(code, &authenticator.finish(parameters, state, bytes)).map(|()| true);
        }
        Ok(false)
    }
}

//! Decisions from bytes, and the items that they choose.

use bouquet::capability::{Note, NoteType};
use bouquet::hash::Hashing;
use bouquet::kind::{Config, Kind, ParameterType, Setting};
use bouquet::registry;

use super::{MAX_BITS, secret};

/// Reads decisions from bytes; behind the end there are zeros.
pub struct Input<'a>(pub &'a [u8]);

impl Input<'_> {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn u8(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    pub fn u16(&mut self) -> u16 {
        u16::from_le_bytes([self.u8(), self.u8()])
    }

    pub fn u64(&mut self) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|_| self.u8()))
    }

    pub fn below(&mut self, n: usize) -> usize {
        usize::from(self.u16()) % n.max(1)
    }

    /// Mostly a small number, at times one at the end of a range.
    pub fn number(&mut self) -> u64 {
        match self.u8() {
            small @ 0..=239 => u64::from(small),
            240..=247 => u64::from(self.u16()),
            248..=250 => self.u64(),
            shift @ 251..=252 => 1 << (u64::from(shift) * 31 % 64),
            253 => u64::MAX,
            254 => u64::MAX - u64::from(self.u8()),
            255 => i64::MAX as u64,
        }
    }

    /// A word for a place where a hostile number could be: often one at the end of a range.
    pub fn hostile(&mut self) -> u64 {
        const ENDS: [u64; 8] = [0, 1, u64::MAX, u64::MAX - 1, i64::MAX as u64, 1 << 63, u32::MAX as u64, 1 << 32];
        match self.u8() {
            end @ 0..=63 => ENDS[usize::from(end % 8)],
            // Limits inside the library are powers of two, or one off.
            power @ 64..=127 => (1u64 << (power - 64)).wrapping_add([0, 1, u64::MAX][self.below(3)]),
            bits @ 128..=159 => f64::to_bits(f64::from(bits - 128) / 31.0),
            160..=191 => f64::to_bits(self.real()),
            _ => self.number(),
        }
    }

    /// A real number, special ones among them.
    pub fn real(&mut self) -> f64 {
        const SPECIAL: [f64; 8] =
            [0.0, 1.0, -1.0, f64::NAN, f64::INFINITY, f64::MIN_POSITIVE, 1e300, 0.999_999_999_999];
        match self.u8() {
            i @ 0..=7 => SPECIAL[usize::from(i)],
            8..=15 => f64::from_bits(self.u64()),
            share => f64::from(share) / 256.0,
        }
    }

    /// A kind: the one of this number in frames, so that inputs keep their meaning when kinds are added, or any.
    pub fn kind(&mut self) -> &'static Kind {
        let number = self.u16();
        let exact = registry::kinds().find(|kind| kind.facts().number == number);
        exact.unwrap_or_else(|| {
            let all: Vec<_> = registry::kinds().collect();
            all[usize::from(number) % all.len()]
        })
    }

    pub fn hashing(&mut self) -> Hashing {
        match self.u8() {
            seed @ 0..=127 => Hashing::seeded(seed.into()),
            128..=191 => Hashing::keyed(secret()),
            192..=255 => Hashing::keyed_high(secret()),
        }
    }

    /// Settings of a small filter; `None` when the chosen ones cannot be had or are too large.
    pub fn config(&mut self, kind: &'static Kind) -> Option<Config> {
        let mut config = Config::new(kind.facts()).hashed(self.hashing());
        for parameter in kind.facts().parameters {
            // The number of items is what most kinds cannot do without; the others may have their defaults. Few items
            // make small filters, in which keys meet.
            let needed = parameter.name == "items";
            if !needed && self.u8() < 160 {
                continue;
            }
            let setting = match parameter.of {
                ParameterType::Count { min, max, .. } if needed && self.0.first().is_none_or(|&first| first < 240) => {
                    Setting::Count(u64::from(self.u8() % 24).clamp(min, max))
                }
                // The first values are where a structure is narrowest.
                ParameterType::Count { min, max, .. } => Setting::Count(match self.u8() {
                    first @ 0..=127 => min.saturating_add(u64::from(first % 8)).min(max),
                    _ => self.number().clamp(min, max),
                }),
                ParameterType::Real { .. } => Setting::Real(self.real()),
                ParameterType::Choice { options } => Setting::Choice(options[self.below(options.len())]),
                ParameterType::Flag => Setting::Flag(true),
            };
            // A value out of range stays unset.
            config = config.clone().with(parameter.name, setting).unwrap_or(config);
        }
        let plan = kind.plan(&config).ok()?;
        (plan.bits <= MAX_BITS).then_some(config)
    }

    pub fn shape(&mut self, config: &Config) -> Shape {
        let key_lens = [8, 8, 8, 4, 1, 16, 0, 70];
        let value_lens = [8, 8, 0, 1, 3, 4, 16, 200];
        let integers = registry::find(config.facts().id).is_ok_and(|kind| !kind.hashes_keys());
        let integers = integers.then(|| if config.flag("decimal") { Integers::Digits } else { Integers::Bytes });
        Shape { key_len: key_lens[self.below(8)], value_len: value_lens[self.below(8)], integers }
    }

    pub fn key(&mut self, shape: &Shape) -> Vec<u8> {
        key(shape, self.u8())
    }

    pub fn note(&mut self, of: NoteType, shape: &Shape) -> OwnedNote {
        match of {
            NoteType::None => OwnedNote::None,
            NoteType::Integer => OwnedNote::Integer(self.small_or_any()),
            NoteType::Group => OwnedNote::Group(self.small_or_any()),
            NoteType::Weight => OwnedNote::Weight(self.real()),
            NoteType::Weights => OwnedNote::Weights(self.real(), self.real()),
            NoteType::Amount => OwnedNote::Amount(self.small_or_any()),
            NoteType::Bytes => {
                let choice = self.u8();
                let len = if choice < 224 { shape.value_len } else { usize::from(choice - 224) };
                OwnedNote::Bytes(vec![choice % 16; len])
            }
            other => panic!("the harness has no notes of type {other:?} yet"),
        }
    }

    fn small_or_any(&mut self) -> u64 {
        match self.u8() {
            small @ 0..=239 => u64::from(small % 4),
            _ => self.number(),
        }
    }
}

/// The usual lengths of keys and values: some kinds want all of one length.
pub struct Shape {
    key_len: usize,
    value_len: usize,
    /// How keys are integers, for kinds that do not hash them.
    integers: Option<Integers>,
}

enum Integers {
    Digits,
    Bytes,
}

/// The number of different keys.
pub const KEYS: u8 = 64;

/// The key of a number. A quarter have other lengths than the usual one, zeros at their ends among them.
pub fn key(shape: &Shape, choice: u8) -> Vec<u8> {
    let number = choice % KEYS;
    match shape.integers {
        Some(Integers::Digits) => return number.to_string().into_bytes(),
        Some(Integers::Bytes) => return u64::from(number).to_le_bytes().to_vec(),
        None => {}
    }
    if number < 48 {
        let mut key = vec![0; shape.key_len];
        key.iter_mut().zip([number, 0, 0xff, number]).for_each(|(byte, value)| *byte = value);
        return key;
    }
    let mut key = vec![number % 4; usize::from(number - 48)];
    if let Some(last) = key.last_mut() {
        *last = 0;
    }
    key
}

/// A note that owns its bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum OwnedNote {
    None,
    Integer(u64),
    Bytes(Vec<u8>),
    Group(u64),
    Weight(f64),
    Weights(f64, f64),
    Amount(u64),
}

impl OwnedNote {
    pub fn as_note(&self) -> Note<'_> {
        match self {
            OwnedNote::None => Note::None,
            OwnedNote::Integer(value) => Note::Integer(*value),
            OwnedNote::Bytes(value) => Note::Bytes(value),
            OwnedNote::Group(group) => Note::Group(*group),
            OwnedNote::Weight(weight) => Note::Weight(*weight),
            OwnedNote::Weights(first, second) => Note::Weights(*first, *second),
            OwnedNote::Amount(amount) => Note::Amount(*amount),
        }
    }
}

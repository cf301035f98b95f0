//! Parameters: what a kind can be given, and what it was given.

use crate::error::{Error, Result};
use crate::hash::{Family, Hashing, Reduction, Scheme};
use crate::kind::Facts;
use crate::kind::Value;
use crate::theory::collisions;

/// One parameter of a kind's schema. Command line, other languages and the documentation are made from it.
///
/// ```
/// let parameters = bouquet::registry::find("standard")?.facts().parameters;
/// let names: Vec<_> = parameters.iter().map(|parameter| parameter.name).collect();
/// assert_eq!(names, ["items", "fpr", "bits", "hashes", "family", "reduction"]);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name, in lower case with hyphens.
    pub name: &'static str,
    /// One line of help.
    pub help: &'static str,
    /// Its type, range and default.
    pub of: ParameterType,
}

/// The type of a parameter, with its range and its default.
///
/// ```
/// use bouquet::kind::{Parameter, ParameterType};
/// let of = ParameterType::Count { min: 3, max: 8, default: Some(5) };
/// let petals = Parameter { name: "petals", help: "petals per flower", of };
/// assert_eq!(petals.range(), "a whole number from 3 to 8");
/// assert!(petals.parse("9").is_err());
/// ```
#[derive(Clone, Copy, Debug)]
pub enum ParameterType {
    /// A whole number.
    Count {
        /// The least value.
        min: u64,
        /// The greatest value.
        max: u64,
        /// What it is when not given; `None` when it then follows from the others.
        default: Option<u64>,
    },
    /// A number strictly between the two bounds.
    Real {
        /// Every value is above this.
        above: f64,
        /// Every value is below this.
        below: f64,
        /// What it is when not given.
        default: Option<f64>,
    },
    /// One of some words; the first is the default.
    Choice {
        /// The words.
        options: &'static [&'static str],
    },
    /// Yes or no, no by default.
    Flag,
}

impl Parameter {
    /// A whole number from `min` to `max` that follows from the other parameters when it is not given.
    ///
    /// ```
    /// use bouquet::kind::Parameter;
    /// const PETALS: Parameter = Parameter::count("petals", "petals per flower", 3, 8).or(5);
    /// assert_eq!((PETALS.range().as_str(), PETALS.need::<u64>(None)?), ("a whole number from 3 to 8", 5));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub const fn count(name: &'static str, help: &'static str, min: u64, max: u64) -> Self {
        Parameter { name, help, of: ParameterType::Count { min, max, default: None } }
    }

    /// The same whole number with a default.
    #[must_use]
    pub const fn or(self, value: u64) -> Self {
        match self.of {
            ParameterType::Count { min, max, .. } => {
                Parameter { of: ParameterType::Count { min, max, default: Some(value) }, ..self }
            }
            _ => self,
        }
    }

    /// A number strictly between two bounds that follows from the other parameters when it is not given.
    ///
    /// ```
    /// use bouquet::kind::Parameter;
    /// const SHADE: Parameter = Parameter::real("shade", "share of the day in the shade", 0.0, 1.0).or_real(0.5);
    /// assert!(SHADE.parse("1").is_err() && SHADE.need::<f64>(None)? == 0.5);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub const fn real(name: &'static str, help: &'static str, above: f64, below: f64) -> Self {
        Parameter { name, help, of: ParameterType::Real { above, below, default: None } }
    }

    /// The same number with a default.
    #[must_use]
    pub const fn or_real(self, value: f64) -> Self {
        match self.of {
            ParameterType::Real { above, below, .. } => {
                Parameter { of: ParameterType::Real { above, below, default: Some(value) }, ..self }
            }
            _ => self,
        }
    }

    /// One of some words; the first is the default.
    ///
    /// ```
    /// use bouquet::kind::Parameter;
    /// const COLOUR: Parameter = Parameter::choice("colour", "of the petals", &["red", "white"]);
    /// assert_eq!(COLOUR.range(), "one of red, white");
    /// ```
    #[must_use]
    pub const fn choice(name: &'static str, help: &'static str, options: &'static [&'static str]) -> Self {
        Parameter { name, help, of: ParameterType::Choice { options } }
    }

    /// Yes or no, no by default.
    ///
    /// ```
    /// use bouquet::kind::Parameter;
    /// assert_eq!(Parameter::flag("thorns", "whether it pricks").need::<bool>(None).ok(), Some(false));
    /// ```
    #[must_use]
    pub const fn flag(name: &'static str, help: &'static str) -> Self {
        Parameter { name, help, of: ParameterType::Flag }
    }

    /// What values it takes, in words.
    ///
    /// ```
    /// assert_eq!(bouquet::kind::common::FPR.range(), "a number above 0 and below 1");
    /// ```
    #[must_use]
    pub fn range(&self) -> String {
        match self.of {
            ParameterType::Count { min, max: u64::MAX, .. } => format!("a whole number, at least {min}"),
            ParameterType::Count { min, max, .. } => format!("a whole number from {min} to {max}"),
            ParameterType::Real { above, below, .. } => format!("a number above {above} and below {below}"),
            ParameterType::Choice { options } => format!("one of {}", options.join(", ")),
            ParameterType::Flag => "yes or no".into(),
        }
    }

    /// The default as text, `None` when it follows from the other parameters.
    ///
    /// ```
    /// use bouquet::kind::common;
    /// assert_eq!(common::FPR.default_text().as_deref(), Some("0.01"));
    /// assert_eq!(common::BITS.default_text(), None);
    /// ```
    #[must_use]
    pub fn default_text(&self) -> Option<String> {
        self.default().map(|setting| setting.to_string())
    }

    fn default(&self) -> Option<Setting> {
        match self.of {
            ParameterType::Count { default, .. } => default.map(Setting::Count),
            ParameterType::Real { default, .. } => default.map(Setting::Real),
            ParameterType::Choice { options } => options.first().copied().map(Setting::Choice),
            ParameterType::Flag => Some(Setting::Flag(false)),
        }
    }

    /// The value that was given, or the default; without either, an error that says what is missing.
    ///
    /// ```
    /// use bouquet::kind::common;
    /// assert_eq!(common::FPR.need::<f64>(None)?, 0.01);
    /// assert_eq!(common::FPR.need(Some(0.5))?, 0.5);
    /// assert!(common::ITEMS.need::<u64>(None).is_err(), "it has no default");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn need<T: Value>(&self, given: Option<T>) -> Result<T> {
        given.or_else(|| T::from_setting(self.default()?)).ok_or_else(|| self.refuse("missing"))
    }

    /// The error of a parameter that is missing while others are, too, any of which would do.
    ///
    /// ```
    /// use bouquet::kind::common;
    /// assert!(common::ITEMS.missing("bits").to_string().ends_with("missing (or give `bits`)"));
    /// ```
    #[must_use]
    pub fn missing(&self, or: &str) -> Error {
        self.refuse(format!("missing (or give `{or}`)"))
    }

    /// Checks a setting against type and range.
    pub(crate) fn check(&self, setting: Setting) -> Result<Setting> {
        let fits = match (self.of, setting) {
            (ParameterType::Count { min, max, .. }, Setting::Count(value)) => (min..=max).contains(&value),
            (ParameterType::Real { above, below, .. }, Setting::Real(value)) => value > above && value < below,
            (ParameterType::Choice { options }, Setting::Choice(word)) => options.contains(&word),
            (ParameterType::Flag, Setting::Flag(_)) => true,
            _ => false,
        };
        if fits { Ok(setting) } else { Err(self.refuse(setting)) }
    }

    fn refuse(&self, found: impl ToString) -> Error {
        Error::parameter(self.name, self.range(), found)
    }

    /// Reads a setting from text.
    ///
    /// ```
    /// use bouquet::kind::{Setting, common};
    /// assert_eq!(common::ITEMS.parse("1e6")?, Setting::Count(1_000_000));
    /// assert!(common::FPR.parse("1").is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn parse(&self, text: &str) -> Result<Setting> {
        let refuse = || self.refuse(format!("`{text}`"));
        let setting = match self.of {
            ParameterType::Count { .. } => Setting::Count(parse_count(text).ok_or_else(refuse)?),
            ParameterType::Real { .. } => Setting::Real(text.parse().map_err(|_| refuse())?),
            ParameterType::Choice { options } => {
                Setting::Choice(options.iter().copied().find(|&option| option == text).ok_or_else(refuse)?)
            }
            ParameterType::Flag => match text {
                "yes" | "true" | "1" => Setting::Flag(true),
                "no" | "false" | "0" => Setting::Flag(false),
                _ => return Err(refuse()),
            },
        };
        self.check(setting).map_err(|_| refuse())
    }
}

/// A whole number in digits (underscores allowed) or as a float without fraction such as `1e6`.
fn parse_count(text: &str) -> Option<u64> {
    let plain = text.replace('_', "");
    plain.parse().ok().or_else(|| {
        let value: f64 = plain.parse().ok()?;
        // 2^64 itself is a float, u64::MAX is not.
        (value.fract() == 0.0 && (0.0..18_446_744_073_709_551_616.0).contains(&value)).then_some(value as u64)
    })
}

/// The value of a parameter.
///
/// ```
/// use bouquet::{kind::{Config, Setting}, registry};
/// let config = Config::new(registry::find("iblt")?.facts()).set("items", "1e3")?.set("accumulator", "sum")?;
/// let settings: Vec<_> = config.settings().map(|(_, setting)| setting).collect();
/// assert_eq!(settings, [Setting::Count(1_000), Setting::Choice("sum")]);
/// assert_eq!(Setting::Flag(true).to_string(), "yes");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Setting {
    /// A whole number.
    Count(u64),
    /// A number.
    Real(f64),
    /// A word.
    Choice(&'static str),
    /// Yes or no.
    Flag(bool),
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Setting::Count(value) => write!(f, "{value}"),
            // Without hundreds of zeros.
            Setting::Real(value) if *value != 0.0 && !(1e-5..1e16).contains(&value.abs()) => write!(f, "{value:e}"),
            Setting::Real(value) => write!(f, "{value}"),
            Setting::Choice(word) => f.write_str(word),
            Setting::Flag(flag) => f.write_str(if *flag { "yes" } else { "no" }),
        }
    }
}

/// Settings for one kind, checked against its schema, and how it is to hash.
///
/// ```
/// let kind = bouquet::registry::find("standard")?;
/// let config = bouquet::kind::Config::new(kind.facts()).set("items", "1e6")?.set("fpr", "0.01")?;
/// assert_eq!(config.count("items"), Some(1_000_000));
/// assert!(config.set("petals", "5").is_err());
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Config {
    facts: &'static Facts,
    /// In the order of the schema, so that equal settings compare and encode equally.
    settings: Vec<Option<Setting>>,
    hashing: Hashing,
}

impl PartialEq for Config {
    fn eq(&self, other: &Self) -> bool {
        self.facts.id == other.facts.id && self.settings == other.settings && self.hashing == other.hashing
    }
}

impl Config {
    /// No settings, default hashing.
    ///
    /// ```
    /// use bouquet::{kind::Config, registry};
    /// let config = Config::new(registry::find("standard")?.facts());
    /// assert_eq!(config.settings().count(), 0);
    /// assert_eq!(config.real("fpr"), Some(0.01)); // its default
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn new(facts: &'static Facts) -> Self {
        Config { facts, settings: vec![None; facts.parameters.len()], hashing: Hashing::default() }
    }

    /// The same settings with another hashing.
    ///
    /// ```
    /// use bouquet::{AnyFilter, hash::Hashing, kind::Config, registry};
    /// let config = Config::new(registry::find("standard")?.facts()).set("items", "10")?;
    /// let other = config.clone().hashed(Hashing::seeded(7));
    /// assert!(AnyFilter::new(&config)?.merge(&AnyFilter::new(&other)?).is_err(), "other positions");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn hashed(mut self, hashing: Hashing) -> Self {
        self.hashing = hashing;
        self
    }

    /// The kind that the settings are for.
    ///
    /// ```
    /// use bouquet::{kind::Config, registry};
    /// assert_eq!(Config::new(registry::find("BF")?.facts()).facts().id, "standard");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn facts(&self) -> &'static Facts {
        self.facts
    }

    /// How the filter is to hash.
    ///
    /// ```
    /// use bouquet::{hash::Hashing, kind::Config, registry};
    /// let config = Config::new(registry::find("standard")?.facts());
    /// assert_eq!(config.hashing(), &Hashing::default());
    /// assert_eq!(config.hashed(Hashing::seeded(7)).hashing().seed(), 7);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn hashing(&self) -> &Hashing {
        &self.hashing
    }

    /// The bits of a digest that tell two keys apart in such a filter: those of its hash function, or as many as its
    /// [`Scheme`] makes positions from. [`theory::collisions`](crate::theory::collisions) says which rates they allow.
    ///
    /// ```
    /// use bouquet::{hash::Hashing, kind::Config, registry};
    /// let config = Config::new(registry::find("standard")?.facts());
    /// assert_eq!(config.digest_bits(), 64);
    /// let wide = config.hashed(Hashing::seeded_wide(0));
    /// assert_eq!(wide.clone().set("reduction", "fastrange")?.digest_bits(), 128);
    /// assert_eq!(wide.set("reduction", "fastrange32")?.digest_bits(), 64);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn digest_bits(&self) -> u32 {
        let id = self.hashing.id();
        match (Family::from_name(self.choice("family")), Reduction::from_name(self.choice("reduction"))) {
            (None, None) => id.bits(),
            (family, reduction) => {
                let (family, reduction) = (family.unwrap_or_default(), reduction.unwrap_or_default());
                Scheme { family, reduction }.digest_bits(id)
            }
        }
    }

    /// The rate of a filter with this many keys whose mechanism has `rate`: collisions of digests come on top. What is exact
    /// compares more than digests.
    pub(crate) fn with_collisions(&self, rate: Option<f64>, items: u64) -> Option<f64> {
        let bits = self.digest_bits();
        rate.map(|rate| if rate > 0.0 { collisions::with_collisions(rate, items, bits) } else { rate })
    }

    /// Sets a parameter from text.
    ///
    /// ```
    /// use bouquet::{kind::Config, registry};
    /// let config = Config::new(registry::find("standard")?.facts()).set("items", "1_000")?;
    /// assert_eq!(config.count("items"), Some(1_000));
    /// assert!(config.set("items", "many").is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn set(mut self, name: &str, text: &str) -> Result<Self> {
        let index = self.index(name)?;
        self.settings[index] = Some(self.facts.parameters[index].parse(text)?);
        Ok(self)
    }

    /// Sets a parameter.
    ///
    /// ```
    /// use bouquet::{kind::{Config, Setting}, registry};
    /// let config = Config::new(registry::find("standard")?.facts()).with("fpr", Setting::Real(0.001))?;
    /// assert_eq!(config.real("fpr"), Some(0.001));
    /// assert!(config.clone().with("fpr", Setting::Real(1.5)).is_err(), "out of range");
    /// assert!(config.with("fpr", Setting::Count(1)).is_err(), "of another type");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with(mut self, name: &str, setting: Setting) -> Result<Self> {
        let index = self.index(name)?;
        self.settings[index] = Some(self.facts.parameters[index].check(setting)?);
        Ok(self)
    }

    /// Sets the parameter at this place of the schema.
    #[must_use]
    pub(crate) fn put_at(mut self, index: usize, setting: Setting) -> Self {
        self.settings[index] = Some(setting);
        self
    }

    fn index(&self, name: &str) -> Result<usize> {
        self.facts.parameters.iter().position(|parameter| parameter.name == name).ok_or_else(|| {
            let known: Vec<_> = self.facts.parameters.iter().map(|parameter| parameter.name).collect();
            Error::UnknownParameter { kind: self.facts.id.into(), name: name.into(), known: known.join(", ") }
        })
    }

    /// What was set, in the order of the schema.
    ///
    /// ```
    /// use bouquet::{kind::Config, registry};
    /// let config = Config::new(registry::find("standard")?.facts()).set("hashes", "7")?.set("bits", "6400")?;
    /// let pairs: Vec<_> = config.settings().map(|(of, setting)| format!("{}={setting}", of.name)).collect();
    /// assert_eq!(pairs, ["bits=6400", "hashes=7"]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn settings(&self) -> impl Iterator<Item = (&'static Parameter, Setting)> + '_ {
        let pairs = self.facts.parameters.iter().zip(&self.settings);
        pairs.filter_map(|(parameter, setting)| Some((parameter, (*setting)?)))
    }

    /// Whether a parameter was set, not merely has a default.
    ///
    /// ```
    /// use bouquet::{kind::Config, registry};
    /// let config = Config::new(registry::find("standard")?.facts());
    /// assert!(config.real("fpr").is_some() && !config.is_set("fpr"));
    /// assert!(config.set("fpr", "0.01")?.is_set("fpr"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn is_set(&self, name: &str) -> bool {
        self.index(name).is_ok_and(|index| self.settings[index].is_some())
    }

    fn setting(&self, name: &str) -> Option<Setting> {
        let index = self.index(name).ok()?;
        self.settings[index].or_else(|| self.facts.parameters[index].default())
    }

    /// A whole number, or its default.
    ///
    /// ```
    /// use bouquet::{kind::Config, registry};
    /// let config = Config::new(registry::find("iblt")?.facts()).set("items", "50")?;
    /// assert_eq!((config.count("items"), config.count("value-bytes")), (Some(50), Some(8)));
    /// assert_eq!((config.count("cells"), config.count("accumulator")), (None, None)); // no default; no number
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn count(&self, name: &str) -> Option<u64> {
        match self.setting(name)? {
            Setting::Count(value) => Some(value),
            _ => None,
        }
    }

    /// A number, or its default.
    ///
    /// ```
    /// use bouquet::{kind::Config, registry};
    /// let config = Config::new(registry::find("standard")?.facts()).set("fpr", "1e-3")?;
    /// assert_eq!((config.real("fpr"), config.real("items")), (Some(0.001), None));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn real(&self, name: &str) -> Option<f64> {
        match self.setting(name)? {
            Setting::Real(value) => Some(value),
            _ => None,
        }
    }

    /// A word, or its default; empty when the kind has no such parameter.
    ///
    /// ```
    /// use bouquet::{kind::Config, registry};
    /// let config = Config::new(registry::find("iblt")?.facts());
    /// assert_eq!((config.choice("accumulator"), config.choice("colour")), ("xor", ""));
    /// assert_eq!(config.set("accumulator", "sum")?.choice("accumulator"), "sum");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn choice(&self, name: &str) -> &'static str {
        match self.setting(name) {
            Some(Setting::Choice(word)) => word,
            _ => "",
        }
    }

    /// A flag, no by default.
    ///
    /// ```
    /// use bouquet::{Bloom, kind::{Config, Facts, Parameter, ParameterType, Structure}};
    /// const SORTED: Parameter = Parameter { name: "sorted", help: "keep keys in order", of: ParameterType::Flag };
    /// static FACTS: Facts = Facts { parameters: &[SORTED], ..Bloom::FACTS };
    /// assert!(!Config::new(&FACTS).flag("sorted"));
    /// assert!(Config::new(&FACTS).set("sorted", "yes")?.flag("sorted"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn flag(&self, name: &str) -> bool {
        matches!(self.setting(name), Some(Setting::Flag(true)))
    }

    /// A whole number that must be there.
    ///
    /// ```
    /// use bouquet::{kind::Config, registry};
    /// let config = Config::new(registry::find("standard")?.facts()).set("items", "50")?;
    /// assert_eq!(config.need("items")?, 50);
    /// assert!(config.need("bits").unwrap_err().to_string().contains("missing"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn need(&self, name: &str) -> Result<u64> {
        let range = || self.facts.parameters.iter().find(|p| p.name == name).map_or(String::new(), Parameter::range);
        self.count(name).ok_or_else(|| Error::parameter(name, range(), "missing"))
    }
}

/// Parameters that many kinds share.
pub mod common {
    use super::{Config, Parameter, ParameterType};
    use crate::error::Result;
    use crate::hash::MAX_HASHES;
    use crate::theory::{self, Size, standard};

    /// How many distinct keys the filter is made for.
    pub const ITEMS: Parameter = Parameter {
        name: "items",
        help: "distinct keys that the filter is made for",
        of: ParameterType::Count { min: 1, max: 1 << 56, default: None },
    };

    /// The wanted false-positive rate.
    pub const FPR: Parameter = Parameter {
        name: "fpr",
        help: "false-positive rate with that many keys",
        of: ParameterType::Real { above: 0.0, below: 1.0, default: Some(0.01) },
    };

    /// The size in bits or cells.
    pub const BITS: Parameter = Parameter {
        name: "bits",
        help: "size in bits, instead of a rate",
        of: ParameterType::Count { min: 1, max: 1 << 62, default: None },
    };

    /// Positions per key.
    pub const HASHES: Parameter = Parameter {
        name: "hashes",
        help: "positions per key; the best number when not given",
        of: ParameterType::Count { min: 1, max: MAX_HASHES as u64, default: None },
    };

    /// The size that the settings `items`, `fpr`, `bits` (or another name for the number of cells) and `hashes`
    /// describe: by size when the cells are given, by accuracy otherwise.
    ///
    /// ```
    /// use bouquet::{kind::{Config, common}, registry};
    /// let config = Config::new(registry::find("standard")?.facts()).set("items", "1000")?;
    /// assert_eq!(common::size(&config, "bits")?.hashes, 7); // at 1 %
    /// assert_eq!(common::size(&config.set("bits", "3000")?, "bits")?.hashes, 2);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn size(config: &Config, cells: &str) -> Result<Size> {
        let hashes = config.count("hashes").map(|k| k as u32);
        size_of(config.count("items"), config.real("fpr"), config.count(cells), hashes, cells)
    }

    /// The size that these settings describe: by size when the cells are given, by accuracy otherwise. `name` is what the
    /// kind calls its number of cells.
    ///
    /// ```
    /// use bouquet::kind::common;
    /// assert_eq!(common::size_of(Some(1_000), Some(0.001), None, None, "bits")?.hashes, 10);
    /// assert_eq!(common::size_of(Some(1_000), None, Some(3_000), None, "bits")?.hashes, 2);
    /// let error = common::size_of(None, Some(0.001), None, None, "counters").unwrap_err();
    /// assert!(error.to_string().ends_with("missing (or give `counters`)"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn size_of(
        items: Option<u64>,
        fpr: Option<f64>,
        cells: Option<u64>,
        hashes: Option<u32>,
        name: &str,
    ) -> Result<Size> {
        let fpr = FPR.need(fpr)?;
        match (cells, items, hashes) {
            (Some(bits), _, Some(hashes)) => Ok(Size { bits, hashes }),
            (Some(bits), Some(items), None) => Ok(standard::for_bits(bits, items)?),
            (None, Some(items), None) => Ok(standard::for_rate(items, fpr)?),
            (None, Some(items), Some(hashes)) => {
                let bits = theory::check_bits(standard::needed_bits(items, fpr, hashes))?;
                Ok(Size { bits, hashes })
            }
            (Some(_), None, None) => Err(ITEMS.missing("hashes")),
            (None, None, _) => Err(ITEMS.missing(name)),
        }
    }
}

//! Typed settings: a struct of options per kind, from which its schema, parsing, help and frame order follow.
//!
//! A kind writes a plain struct with one `Option` per parameter and lists the fields in the order of its frames:
//!
//! ```text
//! #[derive(Clone, Debug, Default, PartialEq)]
//! pub struct CuckooSettings { pub items: Option<u64>, pub fpr: Option<f64>, pub buckets: Option<u64>, ... }
//!
//! impl Settings for CuckooSettings {
//!     const FIELDS: Fields<Self> = fields![items: ITEMS, fpr: FPR, buckets: BUCKETS, ...];
//! }
//! ```
//!
//! Inside the library a misspelt field does not compile. Front ends hold a [`Config`], the same settings by name.

use crate::error::{Error, Result, same};
use crate::kind::{Config, Parameter, Setting, Value};

/// An enumeration whose members have words, in the order of its schema: the first is the default. Its words are
/// listed by the macro `choices!`.
///
/// ```
/// use bouquet::{hash::Reduction, shell::Choice};
/// assert_eq!(Reduction::Mask.word(), "mask");
/// assert!(Reduction::WORDS.contains(&"modulo"));
/// ```
pub trait Choice: Copy + PartialEq + 'static {
    /// The words.
    const WORDS: &'static [&'static str];

    /// The members, in the same order.
    const MEMBERS: &'static [Self];

    /// The word of this member.
    #[must_use]
    fn word(self) -> &'static str {
        let found = Self::MEMBERS.iter().zip(Self::WORDS).find(|(member, _)| **member == self);
        found.map_or("", |(_, word)| word)
    }
}

impl<C: Choice> Value for C {
    fn to_setting(self) -> Setting {
        Setting::Choice(self.word())
    }

    fn from_setting(setting: Setting) -> Option<Self> {
        let Setting::Choice(word) = setting else { return None };
        Self::WORDS.iter().zip(Self::MEMBERS).find(|(known, _)| **known == word).map(|(_, member)| *member)
    }
}

/// Gives the members of an enumeration their words: `choices!(Policy { Sticky = "sticky", Reject = "reject" })`.
macro_rules! choices {
    ($choice:ty { $($member:ident = $word:literal),+ $(,)? }) => {
        impl $crate::shell::Choice for $choice {
            const WORDS: &'static [&'static str] = &[$($word),+];
            const MEMBERS: &'static [Self] = &[$(<$choice>::$member),+];
        }
    };
}
pub(crate) use choices;

/// How a field is read and written.
pub struct Accessor<S> {
    /// The field's value, if it was given.
    pub get: fn(&S) -> Option<Setting>,
    /// Gives the field a value; `false` for a setting of another type.
    pub set: fn(&mut S, Setting) -> bool,
}

/// The fields of a settings struct, in the order of schema and frame.
pub struct Fields<S: 'static> {
    /// The schema.
    pub parameters: &'static [Parameter],
    /// How each of them is read and written, in the same order.
    pub accessors: &'static [Accessor<S>],
}

/// Lists the fields of a settings struct with their parameters: `fields![items: ITEMS, fpr: FPR]`.
macro_rules! fields {
    ($($field:ident: $parameter:expr),+ $(,)?) => {
        $crate::shell::Fields {
            parameters: &[$($parameter),+],
            accessors: &[$($crate::shell::Accessor {
                get: |settings| settings.$field.map($crate::shell::Value::to_setting),
                set: |settings, setting| {
                    settings.$field = $crate::shell::Value::from_setting(setting);
                    settings.$field.is_some()
                },
            }),+],
        }
    };
}
pub(crate) use fields;

/// The settings of a kind: a struct of options.
///
/// ```
/// use bouquet::{Cuckoo, CuckooSettings, shell::Settings};
/// let asked = CuckooSettings { items: Some(1_000), fpr: Some(0.001), ..Default::default() };
/// let filter = Cuckoo::with(asked)?;
/// assert_eq!(filter.settings().fingerprint, Some(13), "what was left open is filled in");
/// assert!(CuckooSettings::FIELDS.parameters.iter().any(|parameter| parameter.name == "fingerprint"));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub trait Settings: Clone + PartialEq + std::fmt::Debug + Default + Send + Sync + 'static {
    /// Its fields, in the order of schema and frame.
    const FIELDS: Fields<Self>;

    /// Parameters that say what a filter was made for and not what it is: filters that differ in them can be combined.
    const DESIGN: &'static [&'static str] = &["items", "fpr"];

    /// How the field of this name is read and written.
    ///
    /// ```
    /// use bouquet::{CuckooSettings, shell::Settings};
    /// assert!(CuckooSettings::field("items").is_some() && CuckooSettings::field("petals").is_none());
    /// ```
    fn field(name: &str) -> Option<&'static Accessor<Self>> {
        let position = Self::FIELDS.parameters.iter().position(|known| known.name == name)?;
        Self::FIELDS.accessors.get(position)
    }

    /// Whether the field of this name was given.
    ///
    /// ```
    /// use bouquet::{CuckooSettings, shell::Settings};
    /// let settings = CuckooSettings { items: Some(1_000), ..Default::default() };
    /// assert!(settings.gives("items") && !settings.gives("fpr") && !settings.gives("petals"));
    /// ```
    fn gives(&self, name: &str) -> bool {
        Self::field(name).is_some_and(|field| (field.get)(self).is_some())
    }

    /// Gives the field of this name a value; `false` if there is none, or for a setting of another type.
    ///
    /// ```
    /// use bouquet::{CuckooSettings, kind::Setting, shell::Settings};
    /// let mut settings = CuckooSettings::default();
    /// assert!(settings.put("items", Setting::Count(7)) && !settings.put("petals", Setting::Count(7)));
    /// assert_eq!(settings.items, Some(7));
    /// ```
    fn put(&mut self, name: &str, setting: Setting) -> bool {
        Self::field(name).is_some_and(|field| (field.set)(self, setting))
    }

    /// The settings of a configuration for the same kind.
    ///
    /// ```
    /// use bouquet::{CuckooSettings, kind::Config, registry, shell::Settings};
    /// let config = Config::new(registry::find("cuckoo")?.facts()).set("buckets", "64")?;
    /// assert_eq!(CuckooSettings::from_config(&config)?.buckets, Some(64));
    /// assert!(CuckooSettings::from_config(&Config::new(registry::find("standard")?.facts())).is_ok());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    fn from_config(config: &Config) -> Result<Self> {
        let mut settings = Self::default();
        for (parameter, setting) in config.settings() {
            if !settings.put(parameter.name, setting) {
                return Err(Error::parameter(parameter.name, parameter.range(), setting));
            }
        }
        Ok(settings)
    }

    /// Writes what was given to a configuration of the same kind.
    #[must_use]
    fn to_config(&self, mut config: Config) -> Config {
        for (at, accessor) in Self::FIELDS.accessors.iter().enumerate() {
            if let Some(setting) = (accessor.get)(self) {
                config = config.put_at(at, setting);
            }
        }
        config
    }

    /// Refuses a value that its parameter's range does not allow.
    fn check(&self) -> Result<()> {
        for (parameter, accessor) in Self::FIELDS.parameters.iter().zip(Self::FIELDS.accessors) {
            if let Some(setting) = (accessor.get)(self) {
                parameter.check(setting)?;
            }
        }
        Ok(())
    }

    /// Refuses settings that differ in more than what the filters were made for.
    fn alike(&self, other: &Self) -> Result<()> {
        let fields = Self::FIELDS.parameters.iter().zip(Self::FIELDS.accessors);
        for (parameter, accessor) in fields.filter(|(parameter, _)| !Self::DESIGN.contains(&parameter.name)) {
            let shown = |settings: &Self| (accessor.get)(settings).map(|setting| setting.to_string());
            if shown(self) != shown(other) {
                let text = |settings: &Self| shown(settings).unwrap_or_else(|| "not given".into());
                return Err(Error::Incompatible { field: parameter.name.into(), left: text(self), right: text(other) });
            }
        }
        Ok(())
    }
}

/// Settings with `items` and `fpr`, from which all others follow.
///
/// ```
/// use bouquet::{CuckooSettings, shell::ByRate};
/// assert_eq!(CuckooSettings::by_rate(100, 0.01)?.items, Some(100));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub trait ByRate: Settings {
    /// The settings of a filter for this many distinct keys and this rate.
    fn by_rate(items: u64, fpr: f64) -> Result<Self> {
        let mut settings = Self::default();
        for (name, setting) in [("items", Setting::Count(items)), ("fpr", Setting::Real(fpr))] {
            same("parameters", true, settings.put(name, setting))?;
        }
        Ok(settings)
    }
}

choices!(crate::hash::Family {
    Independent = "independent",
    Double = "double",
    EnhancedDouble = "enhanced-double",
    Triple = "triple",
    Universal = "universal",
    Fig2 = "fig2",
    SdbmMersenne = "sdbm-mersenne",
    SquidMd5 = "squid-md5",
});

choices!(crate::hash::Reduction {
    Modulo = "modulo",
    Mask = "mask",
    Fastrange = "fastrange",
    Fastrange32 = "fastrange32",
});

//! What a filter is wanted for.

use bouquet::kind::{Setting, Verb, common};
use bouquet::{Error, Result};

/// What is to be little.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Goal {
    /// Bytes of memory.
    #[default]
    Memory,
    /// Nanoseconds per operation.
    Speed,
    /// Bytes of a filter that is sent.
    BytesSent,
}

impl Goal {
    /// Every goal.
    pub const ALL: [Goal; 3] = [Goal::Memory, Goal::Speed, Goal::BytesSent];

    /// The word for it on the command line.
    ///
    /// ```
    /// use bouquet_advice::Goal;
    /// assert_eq!(Goal::ALL.map(Goal::name), ["memory", "speed", "bytes-sent"]);
    /// assert_eq!(Goal::from_name("speed"), Some(Goal::Speed));
    /// ```
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Goal::Memory => "memory",
            Goal::Speed => "speed",
            Goal::BytesSent => "bytes-sent",
        }
    }

    /// The goal of this word.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Goal::ALL.into_iter().find(|goal| goal.name() == name)
    }
}

/// What a filter is wanted for: how many keys, what it must be able to do, what it may cost.
///
/// ```
/// use bouquet::kind::Verb;
/// use bouquet_advice::{Goal, Workload};
/// let sessions = Workload { need: vec![Verb::Remove], goal: Goal::Speed, ..Workload::new(1_000_000, 0.001)? };
/// assert!(sessions.check().is_ok());
/// assert!(Workload::new(0, 0.001).is_err() && Workload::new(1_000, f64::NAN).is_err());
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Distinct keys: all of them, those of a window, or those expected for now where the set grows.
    pub items: u64,
    /// The false-positive rate with that many keys.
    pub fpr: f64,
    /// Verbs that the filter must have, beside those that every workload needs.
    pub need: Vec<Verb>,
    /// Whether keys beyond `items` come, without end, and the rate must hold all the same.
    pub grows: bool,
    /// Seconds after which keys are to be forgotten.
    pub window: Option<f64>,
    /// Whether all keys are known beforehand and never change.
    pub is_static: bool,
    /// Whether an adversary chooses keys or queries.
    pub hostile: bool,
    /// Whether several threads change the filter at the same time.
    pub shared: bool,
    /// How often a day the whole filter is sent.
    pub sent_per_day: f64,
    /// The exponent of Zipf's law, where some keys come much more often than others.
    pub skew: Option<f64>,
    /// Bytes of memory that the filter may take.
    pub memory: Option<u64>,
    /// The share of queries among all operations.
    pub reads: f64,
    /// The share of present keys that may be missed.
    pub may_miss: f64,
    /// What is to be little.
    pub goal: Goal,
}

impl Workload {
    /// So many distinct keys at this rate, nine queries in ten operations, and nothing special.
    pub fn new(items: u64, fpr: f64) -> Result<Self> {
        let workload = Workload {
            items,
            fpr,
            need: Vec::new(),
            grows: false,
            window: None,
            is_static: false,
            hostile: false,
            shared: false,
            sent_per_day: 0.0,
            skew: None,
            memory: None,
            reads: 0.9,
            may_miss: 0.0,
            goal: Goal::Memory,
        };
        workload.check().map(|()| workload)
    }

    /// Refuses numbers that mean nothing.
    pub fn check(&self) -> Result<()> {
        common::ITEMS.parse(&self.items.to_string())?;
        let Setting::Real(_) = common::FPR.parse(&self.fpr.to_string())? else { unreachable!("a rate is a number") };
        let number = |name: &str, value: f64, valid: bool, expected: &str| match valid {
            true => Ok(()),
            false => Err(Error::Parameter { name: name.into(), expected: expected.into(), found: value.to_string() }),
        };
        let finite = |value: f64| value.is_finite() && value >= 0.0;
        let window = self.window.unwrap_or(1.0);
        number("window", window, finite(window) && window > 0.0, "a time above 0, such as 30s, 15m, 1h or 7d")?;
        number("sent", self.sent_per_day, finite(self.sent_per_day), "how often a day, at least 0")?;
        let skew = self.skew.unwrap_or(1.0);
        number("skew", skew, (0.0..=5.0).contains(&skew), "an exponent of Zipf's law from 0 to 5, such as zipf:1.1")?;
        number("reads", self.reads, (0.0..=1.0).contains(&self.reads), "a share from 0 to 1")?;
        number("may-miss", self.may_miss, (0.0..1.0).contains(&self.may_miss), "a share from 0 to below 1")?;
        match (self.is_static, self.grows || self.window.is_some()) {
            (true, true) => Err(Error::Parameter {
                name: "static".into(),
                expected: "a set that neither grows nor forgets".into(),
                found: "both".into(),
            }),
            _ => Ok(()),
        }
    }

    /// The verbs that a filter needs for it, each once: a question, and what changes it.
    #[must_use]
    pub fn verbs(&self) -> Vec<Verb> {
        const QUESTIONS: &[Verb] =
            &[Verb::Contains, Verb::Count, Verb::Get, Verb::Classify, Verb::Judge, Verb::Weigh, Verb::List, Verb::Top];
        let mut verbs = Vec::new();
        if !self.need.iter().any(|verb| QUESTIONS.contains(verb)) {
            verbs.push(Verb::Contains);
        }
        let implied =
            [(!self.is_static, Verb::Insert), (self.grows, Verb::Grow), (self.window.is_some(), Verb::Advance)];
        let implied = implied.into_iter().filter(|(needed, _)| *needed).map(|(_, verb)| verb);
        for verb in implied.chain(self.need.iter().copied()) {
            // A static set is built from its keys, however that is done.
            let built = self.is_static && verb == Verb::BuildFrom;
            if !built && !verbs.contains(&verb) {
                verbs.push(verb);
            }
        }
        verbs
    }
}

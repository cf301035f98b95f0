//! A kind under test: how filters of it are made, filled and asked, whatever its verbs.

use std::cell::OnceCell;
use std::ops::Range;

use bouquet::capability::{Answer, Dataset, Item, Multiplicity, Note, NoteType, Value, Verdict as Judgement};
use bouquet::hash::Hashing;
use bouquet::kind::{Config, ErrorClass, Facts, Kind, Need, Parameter, ParameterType, Setting, Verb};
use bouquet::{AnyFilter, Error, OpenOptions};

/// What a law says of a kind: nothing, or why it does not hold.
pub type Verdict = Result<(), String>;

/// Turns an error of the library into a reason.
pub trait Because<T> {
    fn because(self, what: &str) -> Result<T, String>;
}

impl<T> Because<T> for bouquet::Result<T> {
    fn because(self, what: &str) -> Result<T, String> {
        self.map_err(|error| format!("{what}: {error}"))
    }
}

/// The number of sets, where keys belong to sets.
pub const GROUPS: u64 = 4;

/// The number of different values, where keys have values.
pub const VALUES: u64 = 16;

/// The first of the keys that are never inserted.
pub const ABSENT: u64 = 1 << 40;

/// Values of bytes: eight each, because a kind may want all values to have one length.
static BYTES: [[u8; 8]; VALUES as usize] = {
    let mut values = [[0; 8]; VALUES as usize];
    let mut i = 0;
    while i < values.len() {
        values[i] = (0x0102_0304_0506_0700 + i as u64).to_le_bytes();
        i += 1;
    }
    values
};

/// Keys by their numbers: key `i` is the integer `i`, so that the keys of disjoint ranges are disjoint.
pub struct Keys {
    pub numbers: Vec<u64>,
    bytes: Vec<[u8; 8]>,
}

impl Keys {
    pub fn new(numbers: impl IntoIterator<Item = u64>) -> Self {
        let numbers: Vec<u64> = numbers.into_iter().collect();
        let bytes = numbers.iter().map(|number| number.to_le_bytes()).collect();
        Keys { numbers, bytes }
    }

    /// Keys that are never inserted.
    pub fn absent(count: u64) -> Self {
        Keys::new(ABSENT..ABSENT + count)
    }

    pub fn refs(&self) -> Vec<&[u8]> {
        self.bytes.iter().map(<[u8; 8]>::as_slice).collect()
    }
}

/// The note of a key, a function of its number.
fn note_of(of: NoteType, sets: u64, number: u64) -> Note<'static> {
    match of {
        NoteType::None => Note::None,
        NoteType::Integer => Note::Integer(number % VALUES),
        NoteType::Bytes => Note::Bytes(&BYTES[(number % VALUES) as usize]),
        NoteType::Group => Note::Group(number % sets),
        NoteType::Weight => Note::Weight(0.5),
        NoteType::Weights => Note::Weights(1.0, 0.5),
        // Said or not, it comes once: the laws count insertions, and amounts have one of their own.
        NoteType::Amount => [Note::None, Note::Amount(1)][(number % 2) as usize],
        other => panic!("the suite has no notes of type {other:?} yet"),
    }
}

/// Parameters and what they are set to.
type Settings = Vec<(&'static str, Setting)>;

/// A size for the words that want one of a certain form: a power of two, in slices too.
const SQUARE_BITS: (&str, Setting) = ("bits", Setting::Count(1 << 15));
const SQUARE_HASHES: (&str, Setting) = ("hashes", Setting::Count(4));

/// A kind under test, with certain settings.
pub struct Subject {
    pub kind: &'static Kind,
    /// Those that differ from the usual ones.
    settings: Settings,
    /// An empty filter of them, where there are some: it knows which errors they allow.
    sample: Option<AnyFilter>,
    sets: OnceCell<u64>,
    note_type: OnceCell<NoteType>,
}

/// What a parameter can be set to beside its default: every word of a choice, the flag, and of a number that has a default its
/// least value and some around the default. Items and rate are the laws' own.
fn alternatives(parameter: &Parameter) -> Settings {
    let mut values: Vec<Setting> = match parameter.of {
        _ if ["items", "fpr", "sets"].contains(&parameter.name) => Vec::new(),
        ParameterType::Choice { options } => options[1..].iter().map(|word| Setting::Choice(word)).collect(),
        ParameterType::Flag => vec![Setting::Flag(true)],
        ParameterType::Count { min, max, default: Some(usual) } => {
            let mut values = vec![min, usual.saturating_sub(1), usual.saturating_add(1), usual.saturating_mul(2)];
            // What is off by default is on with other numbers than 1, too.
            values.extend(if usual == 0 { vec![16, 1_024, max.min(64)] } else { Vec::new() });
            values.sort_unstable();
            values.retain(|value| (min..=max).contains(value) && *value != usual);
            values.into_iter().map(Setting::Count).collect()
        }
        ParameterType::Real { above, below, default: Some(usual) } => {
            let farther = (3.0 * usual).min((usual + below) / 2.0);
            [(above + usual) / 2.0, farther].map(Setting::Real).to_vec()
        }
        _ => Vec::new(),
    };
    values.dedup();
    values.into_iter().map(|value| (parameter.name, value)).collect()
}

impl Subject {
    /// The kind with its usual settings.
    pub fn new(kind: &'static Kind) -> Self {
        Subject { kind, settings: Vec::new(), sample: None, sets: OnceCell::new(), note_type: OnceCell::new() }
    }

    /// The kind with its usual settings and, where verbs need others, with every combination of the parameters that
    /// verbs depend on, as far as it can be had.
    pub fn all(kind: &'static Kind) -> Vec<Self> {
        let mut subjects = vec![Subject::new(kind)];
        let concerns =
            |need: &Need, name: &str| need.parameter == name || need.unless.is_some_and(|(of, _)| of == name);
        let depends = |name: &str| Verb::ALL.iter().flat_map(|&verb| kind.needs(verb)).any(|need| concerns(need, name));
        for parameter in kind.facts().parameters.iter().filter(|parameter| depends(parameter.name)) {
            let ParameterType::Choice { options } = parameter.of else { continue };
            let with = |(settings, word): (&Settings, &'static str)| {
                [settings.as_slice(), &[(parameter.name, Setting::Choice(word))]].concat()
            };
            // The first word is the usual one.
            let others = subjects.iter().flat_map(|subject| options[1..].iter().map(|word| (&subject.settings, *word)));
            let others: Vec<_> = others.map(with).filter_map(|settings| Subject::of(kind, settings)).collect();
            subjects.extend(others);
        }
        subjects
    }

    /// The kind with its usual settings; with every other value of each parameter, one at a time; and with every two words of
    /// two parameters; as far as these can be had. Words that want a size of a certain form get one.
    pub fn variants(kind: &'static Kind) -> Vec<Self> {
        let others: Vec<Settings> = kind.facts().parameters.iter().map(alternatives).collect();
        let mut all = vec![Settings::new()];
        all.extend(others.iter().flatten().map(|&one| vec![one]));
        let is_word = |one: &&(&str, Setting)| matches!(one.1, Setting::Choice(_) | Setting::Flag(_));
        for (i, first) in others.iter().enumerate() {
            for second in &others[i + 1..] {
                let pairs =
                    first.iter().filter(is_word).flat_map(|a| second.iter().filter(is_word).map(|b| vec![*a, *b]));
                all.extend(pairs);
            }
        }
        let had = |settings: Settings| {
            let sized = [settings.as_slice(), &[SQUARE_BITS, SQUARE_HASHES]].concat();
            Subject::of(kind, settings).or_else(|| Subject::of(kind, sized))
        };
        let mut variants: Vec<_> = all.iter().cloned().filter_map(had).collect();
        // What needs a word or two of others.
        for one in others.iter().flatten() {
            if !variants.iter().any(|subject| subject.settings.contains(one)) {
                let words =
                    all.iter().filter(|words| !words.is_empty() && words.iter().all(|(name, _)| *name != one.0));
                variants.extend(words.map(|words| [words.as_slice(), &[*one]].concat()).find_map(had));
            }
        }
        variants
    }

    /// The kind with these settings; `None` when they cannot be had.
    fn of(kind: &'static Kind, settings: Settings) -> Option<Self> {
        let known = |name: &str| kind.facts().parameters.iter().any(|parameter| parameter.name == name);
        if !settings.iter().all(|(name, _)| known(name)) {
            return None;
        }
        let subject = Subject { kind, settings, sample: None, sets: OnceCell::new(), note_type: OnceCell::new() };
        let sample = subject.empty(&subject.config(100, 0.01).ok()?).ok()?;
        Some(Subject { sample: Some(sample), ..subject })
    }

    /// The parameters that some variants set.
    pub fn parameters_that_vary(kind: &'static Kind) -> impl Iterator<Item = &'static str> {
        kind.facts().parameters.iter().filter(|parameter| !alternatives(parameter).is_empty()).map(|of| of.name)
    }

    pub fn sets_parameter(&self, name: &str) -> bool {
        self.settings.iter().any(|(set, _)| *set == name)
    }

    pub fn is_usual(&self) -> bool {
        self.settings.is_empty()
    }

    /// The kind, and its settings where they are not the usual ones.
    pub fn name(&self) -> String {
        let settings: Vec<_> = self.settings.iter().map(|(name, setting)| format!(" {name}={setting}")).collect();
        format!("`{}`{}", self.facts().id, settings.concat())
    }

    /// The settings alone, without a size.
    fn bare_config(&self) -> Config {
        let set = |config: Config, (name, setting): &(&str, Setting)| {
            config.with(name, *setting).expect("a setting of the schema")
        };
        self.settings.iter().fold(Config::new(self.facts()), set)
    }

    /// Whether filters of this kind and these settings have the verb.
    pub fn can(&self, verb: Verb) -> bool {
        self.kind.can_with(verb, &self.bare_config())
    }

    /// Whether filters of this kind and these settings declare this sort of error.
    pub fn errs(&self, class: ErrorClass) -> bool {
        self.sample.as_ref().map_or_else(|| self.kind.errs(class), |sample| sample.errs(class))
    }

    /// What keys carry.
    pub fn note_type(&self) -> NoteType {
        *self.note_type.get_or_init(|| self.kind.note(&self.bare_config()))
    }

    /// The number of sets that keys are put into, where they belong to sets.
    pub fn sets(&self) -> u64 {
        *self.sets.get_or_init(|| self.config(100, 0.01).map_or(GROUPS, |config| self.sets_of(&config)))
    }

    /// A kind that does not let itself be told the number of sets has as many as it takes keys for.
    fn sets_of(&self, config: &Config) -> u64 {
        if self.has_parameter("sets") {
            return GROUPS;
        }
        let takes = |set| {
            let items = [Item::new(b"a key", Note::Group(set))];
            AnyFilter::build_of_kind(self.kind, config, &Dataset { items: &items, absent: &[] }).is_ok()
        };
        (0..GROUPS).take_while(|&set| takes(set)).count().max(1) as u64
    }

    /// The note of a key, a function of its number.
    pub fn note(&self, number: u64) -> Note<'static> {
        let of = self.note_type();
        note_of(of, if of == NoteType::Group { self.sets() } else { 1 }, number)
    }

    /// The value that a key's note gives it, where it has one.
    pub fn value(&self, number: u64) -> Option<Value> {
        match self.note(number) {
            Note::Integer(value) => Some(Value::Integer(value)),
            Note::Bytes(value) => Some(Value::Bytes(value.to_vec())),
            _ => None,
        }
    }

    pub fn facts(&self) -> &'static Facts {
        self.kind.facts()
    }

    pub fn has_parameter(&self, name: &str) -> bool {
        self.facts().parameters.iter().any(|parameter| parameter.name == name)
    }

    /// Settings for this many items and this rate, as far as the kind has such parameters. A kind without a number of
    /// items gets a size at which others would hold them well.
    pub fn config(&self, items: u64, fpr: f64) -> Result<Config, String> {
        let mut config = self.bare_config();
        let mut put = |name: &str, setting| -> Verdict {
            if self.has_parameter(name) {
                config = config.clone().with(name, setting).because("a usual setting is refused")?;
            }
            Ok(())
        };
        put("items", Setting::Count(items))?;
        put("fpr", Setting::Real(fpr))?;
        if !self.has_parameter("items") {
            put("bits", Setting::Count(items * 16))?;
        }
        if self.note_type() == NoteType::Group {
            put("sets", Setting::Count(GROUPS))?;
        }
        Ok(config)
    }

    /// The keys with the notes that filters of these settings take.
    pub fn items<'a>(&self, config: &Config, keys: &'a Keys) -> Vec<Item<'a>> {
        let of = self.kind.note(config);
        let sets = if of == NoteType::Group { self.sets_of(config) } else { 1 };
        let notes = keys.numbers.iter().map(|&number| note_of(of, sets, number));
        keys.bytes.iter().zip(notes).map(|(key, note)| Item::new(key, note)).collect()
    }

    pub fn empty(&self, config: &Config) -> Result<AnyFilter, String> {
        AnyFilter::new_of_kind(self.kind, config).because("creating an empty filter")
    }

    pub fn try_build(&self, config: &Config, keys: &Keys) -> bouquet::Result<AnyFilter> {
        AnyFilter::build_of_kind(self.kind, config, &Dataset { items: &self.items(config, keys), absent: &[] })
    }

    pub fn build(&self, config: &Config, keys: &Keys) -> Result<AnyFilter, String> {
        self.try_build(config, keys).because("building")
    }

    /// The same, and with keys that are known to be absent if the kind has a use for them.
    pub fn build_knowing(&self, config: &Config, keys: &Keys, absent: &Keys) -> Result<AnyFilter, String> {
        let strangers = if self.kind.knows_absent() { self.items(config, absent) } else { Vec::new() };
        let data = Dataset { items: &self.items(config, keys), absent: &strangers };
        AnyFilter::build_of_kind(self.kind, config, &data).because("building")
    }

    /// A filter of the keys `range`, made for this many items and this rate.
    pub fn filled(&self, items: u64, fpr: f64, range: Range<u64>) -> Result<AnyFilter, String> {
        self.build(&self.config(items, fpr)?, &Keys::new(range))
    }

    /// The same with a seed of its own.
    pub fn seeded(&self, items: u64, fpr: f64, range: Range<u64>, seed: u64) -> Result<AnyFilter, String> {
        self.build(&self.config(items, fpr)?.hashed(Hashing::seeded(seed)), &Keys::new(range))
    }

    /// Inserts one key with its note.
    pub fn insert(&self, filter: &mut AnyFilter, number: u64) -> bouquet::Result<bool> {
        filter.insert()?.insert(Item::new(&number.to_le_bytes(), self.note(number)))
    }

    /// Removes one key with its note.
    pub fn remove(&self, filter: &mut AnyFilter, number: u64) -> bouquet::Result<()> {
        filter.remove()?.remove(Item::new(&number.to_le_bytes(), self.note(number)))
    }

    /// How frames of the kind are opened, whether it is registered or not.
    pub fn options(&self) -> OpenOptions {
        OpenOptions { kind: Some(self.kind), ..OpenOptions::default() }
    }

    pub fn reopen(&self, bytes: &[u8]) -> bouquet::Result<AnyFilter> {
        AnyFilter::from_bytes_with(bytes, &self.options())
    }

    /// Whether keys come with nothing that an insertion must keep together with them, so that any key can come again.
    pub fn takes_bare_keys(&self) -> bool {
        matches!(self.note_type(), NoteType::None | NoteType::Amount | NoteType::Weight | NoteType::Weights)
    }

    /// Whether two insertions of a key are more than one: then a filter is a multiset.
    pub fn is_multiset(&self) -> bool {
        [Verb::Count, Verb::Remove, Verb::List].iter().any(|&verb| self.can(verb))
    }

    /// Whether a key that is put into its set again is noticed: then that changes nothing, and one removal undoes it.
    pub fn is_set_of_pairs(&self) -> Result<bool, String> {
        if self.note_type() != NoteType::Group && !self.can(Verb::Remove) || !self.can(Verb::Insert) {
            return Ok(false);
        }
        let mut filter = self.empty(&self.config(1_000, 0.01)?)?;
        for _ in 0..2 {
            self.insert(&mut filter, 1).because("inserting")?;
        }
        Ok(filter.stats().items == 1)
    }
}

/// Everything that a filter says about one key.
#[derive(Clone, Debug, PartialEq)]
pub struct Observed {
    pub contains: Option<bool>,
    pub count: Option<Multiplicity>,
    pub answer: Option<Answer>,
    pub sets: Option<Vec<u64>>,
    pub judgement: Option<Judgement>,
}

impl Observed {
    /// Whether the key seems present, by whichever verb tells.
    pub fn present(&self) -> bool {
        self.contains == Some(true)
            || self.count.is_some_and(|count| count.count > 0)
            || self.answer.as_ref().is_some_and(|answer| *answer != Answer::Absent)
            || self.sets.as_ref().is_some_and(|sets| !sets.is_empty())
            || matches!(self.judgement, Some(Judgement::In | Judgement::Undetermined))
    }
}

/// Asks everything about these keys.
pub fn observe(filter: &AnyFilter, keys: &Keys) -> Result<Vec<Observed>, String> {
    let answers = if filter.can(Verb::Contains) { Some(found(filter, keys)?) } else { None };
    let count = filter.can(Verb::Count).then(|| filter.count()).transpose().because("count")?;
    let get = filter.can(Verb::Get).then(|| filter.get()).transpose().because("get")?;
    let classify = filter.can(Verb::Classify).then(|| filter.classify()).transpose().because("classify")?;
    let judge = filter.can(Verb::Judge).then(|| filter.judge()).transpose().because("judge")?;
    let about = |(i, key): (usize, &[u8])| Observed {
        contains: answers.as_ref().map(|answers| answers[i]),
        count: count.map(|count| count.count(key)),
        answer: get.map(|get| get.get(key)),
        sets: classify.map(|classify| classify.classify(key)),
        judgement: judge.map(|judge| judge.judge(key)),
    };
    Ok(keys.refs().into_iter().enumerate().map(about).collect())
}

/// Which of the keys are contained.
pub fn found(filter: &AnyFilter, keys: &Keys) -> Result<Vec<bool>, String> {
    let mut answers = vec![false; keys.numbers.len()];
    filter.contains().because("contains")?.contains_batch(&keys.refs(), &mut answers);
    Ok(answers)
}

/// How many of the keys are contained.
pub fn found_count(filter: &AnyFilter, keys: &Keys) -> Result<u64, String> {
    Ok(found(filter, keys)?.into_iter().filter(|&answer| answer).count() as u64)
}

/// Two filters say the same about every key.
pub fn alike(what: &str, left: &AnyFilter, right: &AnyFilter, keys: &Keys) -> Verdict {
    for ((number, a), b) in keys.numbers.iter().zip(observe(left, keys)?).zip(observe(right, keys)?) {
        ensure!(a == b, "{what}: about key {number} one says {a:?}, the other {b:?}");
    }
    Ok(())
}

/// Members and strangers: the keys `0..members` and ten thousand that are never inserted.
pub fn probe(members: u64) -> Keys {
    Keys::new((0..members).chain(ABSENT..ABSENT + 10_000))
}

/// A filter is the same as before, bit for bit.
pub fn unchanged(what: &str, before: &[u8], filter: &AnyFilter) -> Verdict {
    ensure!(before == filter.to_bytes(), "{what}: the filter has changed");
    Ok(())
}

/// A refusal changes nothing, bit for bit. Only a kind that tells how often it refused changes by that: whatever else it tells
/// and answers is as before.
pub fn only_refused(subject: &Subject, what: &str, before: &[u8], filter: &AnyFilter, keys: &Keys) -> Verdict {
    if before == filter.to_bytes() {
        return Ok(());
    }
    let earlier = subject.reopen(before).because("reading the frame from before a refusal")?;
    ensure!(earlier.figures() != filter.figures(), "{what}: the filter has changed");
    ensure!(earlier.stats() == filter.stats(), "{what}: {:?} became {:?}", earlier.stats(), filter.stats());
    ensure!(earlier.config() == filter.config(), "{what}: the settings have changed");
    alike(what, &earlier, filter, keys)
}

/// The error is the expected one.
pub fn refused<T>(what: &str, result: bouquet::Result<T>, expected: impl Fn(&Error) -> bool) -> Verdict {
    match result {
        Ok(_) => Err(format!("{what}: accepted")),
        Err(error) if expected(&error) => Ok(()),
        Err(error) => Err(format!("{what}: refused with another error than expected: {error:?}")),
    }
}

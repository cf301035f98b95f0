//! Filters whose probes go through stages: what `pipelined` and `energy-efficient` share.
//!
//! A base layout says where a key's bits lie; every position has a hash function of its own, which is computed when it is
//! asked for and not before. A [`Scheduler`] says which functions are computed when. The answers are those of the base.

use crate::capability::{Estimate, Overlap};
use crate::codec::{Decoder, Encoder, StateReader, StateWriter};
use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing, fastrange};
use crate::key::{BATCH, Key, digest_batch};
use crate::kind::{Facts, Figure, Plan, Rates, Reply, Setting, Special, Stats, Takes};
use crate::membership::Blocks;
use crate::membership::banked::{BankedSettings, Banks};
use crate::membership::blocked::{BlockedKind, BlockedSettings};
use crate::membership::partitioned::{PartitionedSettings, Slices};
use crate::membership::standard::{BloomSettings, Flat};
use crate::membership::ultra_fast::{Split, UltraFastSettings};
use crate::membership::{Layout, Sizes};
use crate::shell::{Code, Filter, Gauge, Hashed, Mechanism, Meet, Put, Settings, Test, Unite, choices};
use crate::simd::prefetch;
use crate::store::BitStore;
use crate::theory::{self, pipeline};

/// Where the bits of a key lie.
///
/// ```
/// use bouquet::{Pipelined, PipelinedSettings, membership::BaseLayout};
/// let settings = PipelinedSettings { items: Some(100), layout: Some(BaseLayout::Banked), ..Default::default() };
/// assert_eq!(Pipelined::with(settings)?.settings().bits.map(|bits| bits % 8), Some(0));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BaseLayout {
    /// Anywhere, as in `standard`.
    Flat,
    /// One in each of k slices, as in `partitioned`.
    Sliced,
    /// In k different banks, as in `banked`.
    Banked,
    /// Within a cache line, as in `blocked`.
    Blocked,
    /// One in each word of a block, as in `ultra-fast`.
    UltraFast,
}

choices!(BaseLayout {
    Flat = "flat",
    Sliced = "sliced",
    Banked = "banked",
    Blocked = "blocked",
    UltraFast = "ultra-fast",
});

/// Settings with the sizes of a base filter.
pub trait StagedSettings: Settings {
    /// What was given of sizes and layout.
    fn base(&self) -> (Sizes, Option<BaseLayout>);

    /// The same settings for this base.
    #[must_use]
    fn with_base(self, bits: u64, hashes: u32, layout: BaseLayout) -> Self;
}

/// When which functions are computed: what the kinds differ in.
pub trait Scheduler: Clone + PartialEq + std::fmt::Debug + Send + Sync + 'static {
    /// The facts of the kind.
    const FACTS: Facts;

    /// Whether what it writes has the same size at all times, so that filters can be changed in their file.
    const IN_PLACE: bool = true;

    /// The questions and actions of the kind.
    const SPECIALS: &'static [Special<Filter<Staged<Self>>>];

    /// The settings of the kind.
    type Settings: StagedSettings;

    /// The scheduler of k functions that these settings describe, for a filter with this share of ones when it is full.
    fn plan(settings: &Self::Settings, hashes: u32, ones: f64) -> Result<Self>;

    /// The settings of this scheduler.
    fn settings(&self, asked: Self::Settings) -> Self::Settings;

    /// The functions of each stage, for queries that are answered at once.
    fn stages(&self, hashes: u32) -> Vec<u32>;

    /// The functions of the first stage.
    fn first(&self) -> u32;

    /// Takes note of the share of ones after insertions.
    fn filled(&mut self, _hashes: u32, _ones: f64) {}

    /// What it has to tell.
    fn figures(&self) -> Vec<Figure> {
        Vec::new()
    }

    /// Writes its state.
    fn encode(&self, _state: &mut StateWriter) {}

    /// Reads its state.
    fn decode(&mut self, _hashes: u32, _state: &mut StateReader<'_>) -> Result<()> {
        Ok(())
    }
}

/// What queries have cost.
///
/// ```
/// use bouquet::Pipelined;
/// let mut filter = Pipelined::with_size(1_000, 8)?;
/// filter.measure("rose");
/// let work = filter.work();
/// assert_eq!((work.queries, work.positives, work.evaluations), (1, 0, 2), "the first stage is enough");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Queries that were answered.
    pub queries: u64,
    /// Those that were answered with yes.
    pub positives: u64,
    /// Hash functions that were computed.
    pub evaluations: u64,
    /// Bits that were read, or blocks where a key has one.
    pub accesses: u64,
    /// Stages that were entered.
    pub stages: u64,
    /// Ticks from question to answer; one for an answer at once.
    pub ticks: u64,
}

impl Work {
    const FIELDS: usize = 6;

    fn numbers(&self) -> [u64; Self::FIELDS] {
        let Work { queries, positives, evaluations, accesses, stages, ticks } = *self;
        [queries, positives, evaluations, accesses, stages, ticks]
    }

    pub(super) fn add(&mut self, other: &Work) {
        let [queries, positives, evaluations, accesses, stages, ticks] =
            std::array::from_fn(|i| self.numbers()[i].saturating_add(other.numbers()[i]));
        *self = Work { queries, positives, evaluations, accesses, stages, ticks };
    }

    /// A number per query.
    ///
    /// ```
    /// use bouquet::membership::Work;
    /// assert_eq!(Work { queries: 4, evaluations: 10, ..Work::default() }.mean(|work| work.evaluations), 2.5);
    /// assert_eq!(Work::default().mean(|work| work.evaluations), 0.0);
    /// ```
    #[must_use]
    pub fn mean(&self, of: impl Fn(&Self) -> u64) -> f64 {
        if self.queries == 0 { 0.0 } else { of(self) as f64 / self.queries as f64 }
    }
}

/// A layout whose positions are computed one by one.
#[derive(Clone, Debug, PartialEq)]
enum Base {
    Flat(Flat),
    Sliced(Slices),
    Banked(Banks),
    Blocked(Blocks<BlockedKind>),
    UltraFast(Split),
}

/// The same expression for each layout.
macro_rules! of_base {
    ($base:expr, $layout:ident => $what:expr) => {
        match $base {
            Base::Flat($layout) => $what,
            Base::Sliced($layout) => $what,
            Base::Banked($layout) => $what,
            Base::Blocked($layout) => $what,
            Base::UltraFast($layout) => $what,
        }
    };
}

impl Base {
    fn plan<S: StagedSettings>(settings: &S) -> Result<Self> {
        let (Sizes { items, fpr, bits, hashes }, layout) = settings.base();
        Ok(match layout.unwrap_or(BaseLayout::Flat) {
            BaseLayout::Flat => {
                Base::Flat(Flat::plan(&BloomSettings { items, fpr, bits, hashes, ..Default::default() })?)
            }
            BaseLayout::Sliced => {
                Base::Sliced(Slices::plan(&PartitionedSettings { items, fpr, bits, hashes, ..Default::default() })?)
            }
            BaseLayout::Banked => {
                Base::Banked(Banks::plan(&BankedSettings { items, fpr, bits, hashes, ..Default::default() })?)
            }
            BaseLayout::Blocked => {
                Base::Blocked(Blocks::plan(&BlockedSettings { items, fpr, bits, hashes, ..Default::default() })?)
            }
            BaseLayout::UltraFast => {
                Base::UltraFast(Split::plan(&UltraFastSettings { items, fpr, bits, hashes, ..Default::default() })?)
            }
        })
    }

    fn layout(&self) -> BaseLayout {
        match self {
            Base::Flat(_) => BaseLayout::Flat,
            Base::Sliced(_) => BaseLayout::Sliced,
            Base::Banked(_) => BaseLayout::Banked,
            Base::Blocked(_) => BaseLayout::Blocked,
            Base::UltraFast(_) => BaseLayout::UltraFast,
        }
    }

    fn bits(&self) -> u64 {
        of_base!(self, layout => layout.bits())
    }

    fn hashes(&self) -> u32 {
        of_base!(self, layout => layout.hashes())
    }

    /// The position that function i gives: one evaluation.
    #[inline]
    fn position(&self, digest: Digest, i: u32) -> u64 {
        let (word, i) = (digest.derive(u64::from(i)).h1, u64::from(i));
        match self {
            Base::Flat(flat) => fastrange(word, flat.bits()),
            Base::Sliced(slices) => i * slices.slice_bits() + fastrange(word, slices.slice_bits()),
            Base::Banked(banks) => (banks.first(digest) ^ i) * banks.rows() + fastrange(word, banks.rows()),
            Base::Blocked(blocks) => {
                let block = u64::from(blocks.shape().block_bits);
                blocks.block(digest, 0) * block + fastrange(word, block)
            }
            Base::UltraFast(split) => {
                let lane = split.lane_bits();
                split.block(digest) * split.block_bits() + i * lane + fastrange(word, lane)
            }
        }
    }

    /// What a query that computes so many functions reads: a bit for each, or the one block that all of them lie in.
    fn accesses(&self, evaluations: u32) -> u64 {
        match self {
            Base::Flat(_) | Base::Sliced(_) | Base::Banked(_) => evaluations.into(),
            Base::Blocked(_) | Base::UltraFast(_) => u64::from(evaluations > 0),
        }
    }

    /// The parts of the store that fill each for itself and of which a key has one.
    fn part_bits(&self) -> u64 {
        match self {
            Base::Flat(_) | Base::Sliced(_) | Base::Banked(_) => self.bits(),
            Base::Blocked(blocks) => blocks.shape().block_bits.into(),
            Base::UltraFast(split) => split.block_bits(),
        }
    }
}

/// Bits, and the scheduler of their probes.
///
/// Position i is that of the word `digest.derive(i).h1` by fastrange: among all bits, in slice i, in the i-th bank of the key, in its
/// block, or in word i of its block.
#[derive(Clone, Debug, PartialEq)]
pub struct Staged<S> {
    base: Base,
    bits: BitStore,
    /// The ones, as insertions have counted them.
    ones: u64,
    pub(super) work: Work,
    pub(super) scheduler: S,
}

impl<S: Scheduler> Staged<S> {
    pub(super) const TRACE: Special<Filter<Self>> =
        Special::ask("trace", Takes::Key, "whether the key is in, and what an answer at once costs", |filter, key| {
            Ok(trace_row(&filter.contains_traced(key.key()?)))
        });

    pub(super) const MEASURE: Special<Filter<Self>> = Special::act(
        "measure",
        Takes::Key,
        "whether the key is in; what the answer costs is added to the work",
        |filter, key| Ok(Reply::Truth(filter.measure(key.key()?))),
    );

    pub(super) const WORK: Special<Filter<Self>> =
        Special::ask("work", Takes::Nothing, "what measured queries cost on average, beside theory", |filter, _| {
            Ok(work_table(filter))
        });

    fn of(settings: &S::Settings, base: Base, bits: BitStore) -> Result<Self> {
        let items = settings.base().0.items;
        // Full filters of the best size are half full.
        let ones = items.map_or(0.5, |items| of_base!(&base, layout => layout.expected_fill(items)).0);
        let scheduler = S::plan(settings, base.hashes(), ones)?;
        Ok(Staged { base, bits, ones: 0, work: Work::default(), scheduler })
    }

    pub(super) fn hashes(&self) -> u32 {
        self.base.hashes()
    }

    /// The share of ones.
    pub(super) fn fill(&self) -> f64 {
        self.ones as f64 / self.bits.len().max(1) as f64
    }

    /// What is read by a query that computes so many functions.
    #[inline]
    pub(super) fn accesses(&self, evaluations: u32) -> u64 {
        self.base.accesses(evaluations)
    }

    /// One evaluation: whether function i hits.
    #[inline]
    pub(super) fn hits(&self, digest: Digest, i: u32) -> bool {
        self.bits.get(self.base.position(digest, i))
    }

    /// Whether all of these functions hit; all are computed, as if in parallel.
    #[inline]
    pub(super) fn all_hit(&self, digest: Digest, functions: std::ops::Range<u32>) -> bool {
        functions.fold(true, |all, i| all & self.hits(digest, i))
    }

    /// A query that is answered at once, and what it costs.
    pub(super) fn traced(&self, digest: Digest) -> Work {
        let (mut work, mut from) = (Work { queries: 1, ticks: 1, ..Work::default() }, 0);
        for stage in self.scheduler.stages(self.hashes()) {
            work.stages += 1;
            work.evaluations += u64::from(stage);
            work.accesses = self.accesses(from + stage);
            if !self.all_hit(digest, from..from + stage) {
                return work;
            }
            from += stage;
        }
        work.positives = 1;
        work
    }

    /// Counts the ones anew, after a union or intersection.
    fn recount(&mut self) {
        self.ones = self.bits.count_ones();
        let fill = self.fill();
        self.scheduler.filled(self.base.hashes(), fill);
    }

    fn keys_in(&self, bits: &BitStore) -> Estimate {
        of_base!(&self.base, layout => layout.cardinality(bits))
    }
}

impl<S: Scheduler> Mechanism for Staged<S> {
    const FACTS: Facts = S::FACTS;
    const IN_PLACE: bool = S::IN_PLACE;
    const SPECIALS: &'static [Special<Filter<Self>>] = S::SPECIALS;

    type Settings = S::Settings;

    fn resolve(asked: &S::Settings) -> Result<S::Settings> {
        let base = Base::plan(asked)?;
        let sized = asked.clone().with_base(base.bits(), base.hashes(), base.layout());
        Ok(Self::of(asked, base, BitStore::zeroed(0)?)?.scheduler.settings(sized))
    }

    fn plan(settings: &S::Settings) -> Result<Plan> {
        let (base, items) = (Base::plan(settings)?, settings.base().0.items);
        let fpr = items.map(|items| of_base!(&base, layout => layout.expected_rate(items)));
        Ok(Plan { bits: base.bits(), hashes: base.hashes(), items, fpr })
    }

    fn empty(settings: &S::Settings, _: &Hashing) -> Result<Self> {
        let base = Base::plan(settings)?;
        let bits = BitStore::zeroed(base.bits())?;
        Self::of(settings, base, bits)
    }

    fn domain(settings: &S::Settings) -> String {
        let Sizes { bits, hashes, .. } = settings.base().0;
        crate::parts::bit_array::domain(S::FACTS.id, bits, hashes)
    }

    fn settings(&self, resolved: &S::Settings) -> S::Settings {
        self.scheduler.settings(resolved.clone())
    }

    fn stats(&self, items: u64) -> Stats {
        let (mean, deviation) = of_base!(&self.base, layout => layout.expected_fill(items));
        Stats {
            items,
            bits: self.bits.len(),
            hashes: self.hashes(),
            fill: Some(self.bits.fill()),
            fpr: Some(of_base!(&self.base, layout => layout.rate_now(&self.bits))),
            honest_fill: Some(mean + 8.0 * deviation),
        }
    }

    fn figures(&self) -> Vec<Figure> {
        let real = |name, value| Figure { name, value: Setting::Real(value) };
        let count = |name, value| Figure { name, value: Setting::Count(value) };
        let mut figures = vec![count("functions of the first stage", self.scheduler.first().into())];
        if self.work.queries > 0 {
            figures.extend([
                count("measured queries", self.work.queries),
                real("hash evaluations per query", self.work.mean(|work| work.evaluations)),
                real("memory accesses per query", self.work.mean(|work| work.accesses)),
                real("stages per query", self.work.mean(|work| work.stages)),
                real("ticks per query", self.work.mean(|work| work.ticks)),
            ]);
        }
        figures.extend(self.scheduler.figures());
        figures
    }

    fn expected(&self, items: u64) -> Rates {
        let rate = of_base!(&self.base, layout => layout.expected_rate(items));
        Rates { false_positive: Some(rate), ..Rates::default() }
    }

    /// State: items, ones, the work, then what the scheduler has. Store: the bits.
    fn encode<'a>(&'a self, items: u64, encoder: &mut Encoder<'a>) {
        let state = encoder.state();
        [items, self.ones].into_iter().chain(self.work.numbers()).for_each(|number| state.u64(number));
        self.scheduler.encode(state);
        encoder.bits(&self.bits);
    }

    fn decode(settings: &S::Settings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let base = Base::plan(settings)?;
        let len = base.bits();
        let mut staged = Self::of(settings, base, BitStore::zeroed(0)?)?;
        let (state, hashes) = (decoder.state(), staged.hashes());
        let items = state.u64()?;
        staged.ones = state.u64()?;
        if staged.ones > len {
            return Err(Error::corrupt("ones", format!("at most {len}, the bits"), staged.ones));
        }
        let mut next = || state.u64();
        staged.work = Work {
            queries: next()?,
            positives: next()?,
            evaluations: next()?,
            accesses: next()?,
            stages: next()?,
            ticks: next()?,
        };
        staged.scheduler.decode(hashes, state)?;
        staged.bits = decoder.bits(len)?;
        if decoder.reads_stores() && staged.bits.count_ones() != staged.ones {
            return Err(Error::corrupt("ones", staged.bits.count_ones(), staged.ones));
        }
        Ok((staged, items))
    }

    #[inline]
    fn reach(&self) -> u64 {
        self.bits.len()
    }

    #[inline]
    fn prefetch(&self, digest: Digest) {
        (0..self.hashes()).for_each(|i| prefetch(self.bits.words(), (self.base.position(digest, i) / 64) as usize));
    }
}

impl<S: Scheduler> Test for Staged<S> {
    fn test(&self, key: Hashed<'_>) -> bool {
        self.traced(key.digest).positives == 1
    }

    /// A batch goes through the first stage; what is left of it moves together and goes through the next.
    fn test_batch<K: Key>(&self, hashing: &Hashing, keys: &[K], answers: &mut [bool]) {
        let stages = self.scheduler.stages(self.hashes());
        for (keys, answers) in keys.chunks(BATCH).zip(answers.chunks_mut(BATCH)) {
            let digests = digest_batch(hashing, keys, |_| ());
            let (mut left, mut from): (Vec<usize>, u32) = ((0..keys.len()).collect(), 0);
            for stage in &stages {
                left.retain(|&key| self.all_hit(digests[key], from..from + stage));
                from += stage;
            }
            answers.iter_mut().take(keys.len()).for_each(|answer| *answer = false);
            for key in left {
                if let Some(answer) = answers.get_mut(key) {
                    *answer = true;
                }
            }
        }
    }
}

impl<S: Scheduler> Put for Staged<S> {
    type Note<'a> = ();
    type Outcome = bool;

    fn put(&mut self, key: Hashed<'_>, (): ()) -> bool {
        let before = self.ones;
        for i in 0..self.hashes() {
            let position = self.base.position(key.digest, i);
            self.ones = self.ones.saturating_add(u64::from(self.bits.set(position)));
        }
        // What is planned from the fill is planned anew with every 64th part of it.
        let step = self.bits.len() / 64 + 1;
        if before / step != self.ones / step {
            let fill = self.fill();
            self.scheduler.filled(self.base.hashes(), fill);
        }
        before != self.ones
    }
}

impl<S: Scheduler> Unite for Staged<S> {
    fn unite(&mut self, other: &Self) -> Result<()> {
        self.bits.or(&other.bits)?;
        self.recount();
        Ok(())
    }
}

impl<S: Scheduler> Meet for Staged<S> {
    fn meet(&mut self, other: &Self) -> Result<()> {
        self.bits.and(&other.bits)?;
        self.recount();
        Ok(())
    }
}

impl<S: Scheduler> Gauge for Staged<S> {
    fn gauge(&self) -> Estimate {
        self.keys_in(&self.bits)
    }

    fn compare(&self, other: &Self) -> Result<Overlap> {
        let mut both = self.bits.clone();
        both.or(&other.bits)?;
        let error = |keys| of_base!(&self.base, layout => layout.cardinality_error(keys));
        Ok(Overlap::of(self.gauge(), other.gauge(), self.keys_in(&both), error))
    }
}

impl<S: Scheduler> Code for Staged<S> {
    fn entropy_bits(&self) -> f64 {
        self.bits.len() as f64 * theory::special::entropy(self.bits.fill())
    }
}

impl<S: Scheduler> Filter<Staged<S>> {
    /// The bits, as the base filter has them.
    ///
    /// ```
    /// use bouquet::Pipelined;
    /// let mut filter = Pipelined::with_size(10_000, 8)?;
    /// filter.insert("rose");
    /// assert_eq!(filter.bits().count_ones(), 8);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn bits(&self) -> &BitStore {
        &self.mechanism.bits
    }

    /// What the queries have cost that were measured.
    ///
    /// ```
    /// use bouquet::Pipelined;
    /// let mut filter = Pipelined::with_size(10_000, 8)?;
    /// filter.insert("rose");
    /// filter.measure("rose");
    /// assert_eq!((filter.work().evaluations, filter.work().stages), (8, 2), "a member needs all");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn work(&self) -> Work {
        self.mechanism.work
    }

    /// Whether the key may be in, and what the answer has cost, which is also added to the [work](Self::work).
    ///
    /// ```
    /// use bouquet::Pipelined;
    /// let mut filter = Pipelined::with_size(10_000, 8)?;
    /// filter.insert("rose");
    /// assert!(filter.measure("rose") && !filter.measure("thistle"));
    /// assert_eq!(filter.work().queries, 2);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn measure<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        let traced = self.contains_traced(key);
        self.mechanism.work.add(&traced);
        traced.positives == 1
    }

    /// What the answer for a key costs: stages, hash evaluations and memory accesses; `positives` is 1 for yes.
    ///
    /// ```
    /// use bouquet::Pipelined;
    /// let filter = Pipelined::with_size(10_000, 8)?;
    /// let work = filter.contains_traced("thistle");
    /// assert_eq!((work.stages, work.evaluations, work.accesses, work.positives), (1, 2, 2, 0));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn contains_traced<K: Key + ?Sized>(&self, key: &K) -> Work {
        self.mechanism.traced(key.digest(&self.hashing))
    }

    /// The hash evaluations per query that theory expects of this content, when this share of the queries is positive.
    ///
    /// ```
    /// use bouquet::Pipelined;
    /// let filter = Pipelined::with_size(10_000, 8)?;
    /// assert_eq!((filter.expected_cost(0.0), filter.expected_cost(1.0)), (2.0, 8.0), "it is empty");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn expected_cost(&self, positive: f64) -> f64 {
        let staged = &self.mechanism;
        let (stages, part) = (staged.scheduler.stages(staged.hashes()), staged.base.part_bits());
        let fill = |start| staged.bits.count_ones_in(start, start + part) as f64 / part as f64;
        let starts = (0..staged.bits.len()).step_by(part as usize);
        let sum: f64 = starts.map(|start| pipeline::cost(&stages, fill(start), positive)).sum();
        sum * part as f64 / staged.bits.len() as f64
    }
}

/// One row for a query.
fn trace_row(work: &Work) -> Reply {
    let row =
        vec![Reply::Truth(work.positives == 1), work.stages.into(), work.evaluations.into(), work.accesses.into()];
    Reply::Table(&["present", "stages", "evaluations", "accesses"], vec![row])
}

/// What was measured beside what theory expects of such queries.
fn work_table<S: Scheduler>(filter: &Filter<Staged<S>>) -> Reply {
    let work = filter.work();
    let expected = filter.expected_cost(work.mean(|work| work.positives));
    let row = vec![
        work.queries.into(),
        work.positives.into(),
        Reply::Real(work.mean(|work| work.evaluations)),
        Reply::Real(expected),
        Reply::Real(work.mean(|work| work.accesses)),
        Reply::Real(work.mean(|work| work.stages)),
        Reply::Real(work.mean(|work| work.ticks)),
    ];
    let heads = &["queries", "positives", "evaluations", "in theory", "accesses", "stages", "ticks"];
    Reply::Table(heads, vec![row])
}

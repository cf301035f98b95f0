//! The suite catches what it is meant to catch: kinds that are broken on purpose, each in one way.
//!
//! [`Wrapped`] is the plain filter with a [`Defect`] in one place. The healthy wrapper passes every law, so a broken
//! one fails because of its defect; and where a defect concerns one law alone, it fails that law alone.

use std::marker::PhantomData;

use bouquet::capability::{
    BuildFrom, Cardinality, Compress, Contains, Dataset, Estimate, Insert, Intersect, Item, Judge, Merge, Overlap,
    Verdict, Weigh,
};
use bouquet::codec::{Decoder, Encoder};
use bouquet::hash::{Hashing, mix};
use bouquet::kind::{Config, ErrorClass, Facts, Kind, Plan, Rates, Setting, Stats, Structure};
use bouquet::theory::paradox::updated;
use bouquet::{Bloom, Complement, Error, Result};

use crate::subject::ABSENT;
use crate::{Law, suite};

/// Where a wrapper differs from the plain filter.
trait Defect: Clone + Send + Sync + 'static {
    const ID: &'static str;
    const ERRORS: &'static [ErrorClass] = &[ErrorClass::FalsePositive];

    fn plan(_config: &Config, plan: Plan) -> Plan {
        plan
    }
    fn config(config: Config) -> Config {
        config
    }
    fn stats(stats: Stats) -> Stats {
        stats
    }
    fn expected(_filter: &Bloom, rates: Rates) -> Rates {
        rates
    }
    fn decoded(filter: Bloom) -> Result<Bloom> {
        Ok(filter)
    }
    fn contains(filter: &Bloom, key: &[u8]) -> bool {
        filter.contains(key)
    }
    fn contains_batch(filter: &Bloom, keys: &[&[u8]], answers: &mut [bool]) {
        for (key, answer) in keys.iter().zip(answers) {
            *answer = Self::contains(filter, key);
        }
    }
    fn contains_words(filter: &Bloom, keys: &[u64], answers: &mut [bool]) {
        for (key, answer) in keys.iter().zip(answers) {
            *answer = Self::contains(filter, &key.to_le_bytes());
        }
    }
    fn insert(filter: &mut Bloom, key: &[u8]) -> bool {
        filter.insert(key)
    }
    fn merge(filter: &mut Bloom, other: &Bloom) -> Result<()> {
        filter.merge(other)
    }
    fn intersect(filter: &mut Bloom, other: &Bloom) -> Result<()> {
        filter.intersect(other)
    }
    fn cardinality(estimate: Estimate) -> Estimate {
        estimate
    }
    fn probability(filter: &Bloom, key: &[u8], prior: f64) -> f64 {
        updated(prior, filter.stats().fpr.unwrap_or(0.0), 0.0, filter.contains(key))
    }
    fn entropy_bits(bits: f64) -> f64 {
        bits
    }
}

#[derive(Clone)]
struct Wrapped<D>(Bloom, PhantomData<D>);

fn kind_of<D: Defect>() -> &'static Kind {
    const { &Kind::of::<Wrapped<D>>().contains().insert().weigh().merge().intersect().cardinality().compress().done() }
}

impl<D: Defect> Structure for Wrapped<D> {
    const FACTS: Facts = Facts { id: D::ID, number: u16::MAX, errors: D::ERRORS, ..<Bloom as Structure>::FACTS };

    fn plan(config: &Config) -> Result<Plan> {
        Ok(D::plan(config, <Bloom as Structure>::plan(config)?))
    }

    fn create(config: &Config) -> Result<Self> {
        Ok(Wrapped(Bloom::from_config(config)?, PhantomData))
    }

    fn config(&self) -> Config {
        D::config(renamed(&self.0.config(), const { &Self::FACTS }))
    }

    fn hashing(&self) -> &Hashing {
        self.0.hashing()
    }

    fn stats(&self) -> Stats {
        D::stats(self.0.stats())
    }

    fn expected(&self, items: u64) -> Rates {
        D::expected(&self.0, self.0.expected(items))
    }

    fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        self.0.encode(encoder);
    }

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self> {
        Ok(Wrapped(D::decoded(<Bloom as Structure>::decode(decoder)?)?, PhantomData))
    }
}

/// The same settings for a kind with the same schema.
fn renamed(config: &Config, facts: &'static Facts) -> Config {
    let empty = Config::new(facts).hashed(config.hashing().clone());
    let same = config.settings().try_fold(empty, |config, (parameter, setting)| config.with(parameter.name, setting));
    same.expect("the schemas are one")
}

impl<D: Defect> Contains for Wrapped<D> {
    fn contains(&self, key: &[u8]) -> bool {
        D::contains(&self.0, key)
    }

    fn contains_batch(&self, keys: &[&[u8]], answers: &mut [bool]) {
        D::contains_batch(&self.0, keys, answers);
    }

    fn contains_words(&self, keys: &[u64], answers: &mut [bool]) {
        D::contains_words(&self.0, keys, answers);
    }
}

impl<D: Defect> Insert for Wrapped<D> {
    fn insert(&mut self, item: Item<'_>) -> Result<bool> {
        Ok(D::insert(&mut self.0, item.bare()?))
    }
}

impl<D: Defect> Weigh for Wrapped<D> {
    fn probability(&self, key: &[u8], prior: Option<f64>) -> Option<f64> {
        Some(D::probability(&self.0, key, prior?))
    }
}

impl<D: Defect> Merge for Wrapped<D> {
    fn merge(&mut self, other: &Self) -> Result<()> {
        D::merge(&mut self.0, &other.0)
    }
}

impl<D: Defect> Intersect for Wrapped<D> {
    fn intersect(&mut self, other: &Self) -> Result<()> {
        D::intersect(&mut self.0, &other.0)
    }
}

impl<D: Defect> Cardinality for Wrapped<D> {
    fn cardinality(&self) -> Estimate {
        D::cardinality(self.0.cardinality())
    }

    fn overlap(&self, other: &Self) -> Result<Overlap> {
        self.0.overlap(&other.0)
    }
}

impl<D: Defect> Compress for Wrapped<D> {
    fn entropy_bits(&self) -> f64 {
        D::entropy_bits(Compress::entropy_bits(&self.0))
    }
}

/// A frame that is refused.
pub fn corrupt(what: &str) -> Error {
    Error::Corrupt { what: what.into(), expected: "another".into(), found: "this".into() }
}

/// The names of the laws among these that a kind breaks.
fn broken_laws(kind: &'static Kind, laws: impl Iterator<Item = &'static Law>) -> Vec<&'static str> {
    let broken: Vec<_> = laws.filter_map(|law| Some((law.name, law.failures(kind).next()?))).collect();
    for (_, why) in &broken {
        println!("{why}");
    }
    broken.into_iter().map(|(name, _)| name).collect()
}

/// The kind breaks these laws and no other.
#[track_caller]
pub fn breaks_exactly(kind: &'static Kind, expected: &[&str]) {
    assert_eq!(broken_laws(kind, suite()), expected, "`{}`", kind.facts().id);
}

/// The kind breaks these laws; that it breaks others too lies in the nature of its defect.
#[track_caller]
pub fn breaks_at_least(kind: &'static Kind, expected: &[&str]) {
    let broken = broken_laws(kind, suite().filter(|law| expected.contains(&law.name)));
    for law in expected {
        assert!(broken.contains(law), "`{}` passes {law}", kind.facts().id);
    }
}

/// A defect and the laws that it breaks.
macro_rules! defects {
    ($($test:ident: $name:ident $id:literal $check:ident [$($law:literal),*] { $($body:tt)* })*) => {$(
        #[derive(Clone)]
        struct $name;

        impl Defect for $name {
            const ID: &'static str = $id;
            $($body)*
        }

        #[test]
        fn $test() {
            $check(kind_of::<$name>(), &[$($law),*]);
        }
    )*};
}

defects! {
    a_healthy_wrapper_passes_every_law: Healthy "healthy" breaks_exactly [] {}

    a_lost_key_is_noticed: LosesKeys "loses-keys" breaks_at_least [
        "inserted_keys_are_contained",
        "keys_stay_contained_beyond_the_planned_load",
        "merged_keys_are_contained",
        "keys_are_contained_after_a_frame",
        "an_intersection_keeps_the_common_keys",
        "only_keys_that_seem_absent_are_new",
        "random_operations_agree_with_an_exact_model"
    ] {
        // One key of 701, so that few samples would hold one.
        fn contains(filter: &Bloom, key: &[u8]) -> bool {
            let number = <[u8; 8]>::try_from(key).map_or(0, u64::from_le_bytes);
            filter.contains(key) && number % 701 != 7
        }
    }

    a_filter_that_believes_every_positive_answer_is_noticed: Credulous "credulous" breaks_exactly [
        "probabilities_are_calibrated"
    ] {
        fn probability(filter: &Bloom, key: &[u8], prior: f64) -> f64 {
            if prior > 0.0 && filter.contains(key) { 1.0 } else { 0.0 }
        }
    }

    a_rate_twice_that_of_theory_is_noticed: TwiceTheRate "twice-the-rate" breaks_exactly [
        "rates_agree_with_theory_at_one_percent",
        "rates_agree_with_theory_at_one_per_mille",
        "rates_agree_with_theory_for_every_setting"
    ] {
        // As many keys again, chosen by another hash, so that every law but that of the rate is kept.
        fn contains(filter: &Bloom, key: &[u8]) -> bool {
            let digest = filter.hashing().digest(key);
            let unit = (mix(digest.h1 ^ mix(digest.h2)) >> 11) as f64 / (1u64 << 53) as f64;
            // Counting all bits for every key would take too long: the first four thousand tell the rate within some percent.
            let words = &filter.bits().words()[..filter.bits().words().len().min(64)];
            let ones: u32 = words.iter().map(|word| word.count_ones()).sum();
            let fill = f64::from(ones) / filter.bits().len().min(64 * words.len() as u64) as f64;
            filter.contains(key) || unit < fill.powi(filter.hashes() as i32)
        }
        fn insert(filter: &mut Bloom, key: &[u8]) -> bool {
            let seemed = Self::contains(filter, key);
            filter.insert(key) && !seemed
        }
    }

    theory_that_is_five_percent_off_is_noticed: FlatteringTheory "flattering-theory" breaks_at_least [
        "rates_agree_with_theory_at_one_percent",
        "rates_agree_with_theory_at_one_per_mille"
    ] {
        fn expected(_: &Bloom, rates: Rates) -> Rates {
            Rates { false_positive: rates.false_positive.map(|rate| rate * 0.95), ..rates }
        }
    }

    a_flattering_present_rate_is_noticed: FlatteringRate "flattering-rate" breaks_exactly [
        "rates_agree_with_theory_at_one_percent",
        "rates_agree_with_theory_at_one_per_mille",
        "rates_agree_with_theory_for_every_setting"
    ] {
        fn stats(stats: Stats) -> Stats {
            Stats { fpr: stats.fpr.map(|rate| rate * 0.8), ..stats }
        }
    }

    a_declared_error_without_theory_is_noticed: SilentTheory "silent-theory" breaks_exactly [
        "rates_agree_with_theory_at_one_percent",
        "rates_agree_with_theory_at_one_per_mille",
        "rates_agree_with_theory_for_every_setting"
    ] {
        fn expected(_: &Bloom, _: Rates) -> Rates {
            Rates::default()
        }
    }

    a_setting_with_another_rate_than_its_theory_is_noticed: OneFamily "one-family" breaks_exactly [
        "rates_agree_with_theory_for_every_setting"
    ] {
        fn expected(filter: &Bloom, rates: Rates) -> Rates {
            let factor = if filter.config().choice("family") == "triple" { 0.9 } else { 1.0 };
            Rates { false_positive: rates.false_positive.map(|rate| rate * factor), ..rates }
        }
    }

    // As many keys are missed as theory says, all of them by one filter of thirty.
    a_filter_that_forgets_everything_is_noticed_among_others: OneForgets "one-forgets" breaks_exactly [
        "rates_agree_with_theory_at_one_percent",
        "rates_agree_with_theory_at_one_per_mille",
        "rates_agree_with_theory_for_every_setting"
    ] {
        const ERRORS: &'static [ErrorClass] = &[ErrorClass::FalsePositive, ErrorClass::FalseNegative];
        fn expected(_: &Bloom, rates: Rates) -> Rates {
            Rates { false_negative: Some(1.0 / 30.0), ..rates }
        }
        fn contains(filter: &Bloom, key: &[u8]) -> bool {
            // False positives are as many as ever.
            let number = <[u8; 8]>::try_from(key).map_or(0, u64::from_le_bytes);
            filter.contains(key) && !(filter.hashing().seed() == 7 && number < ABSENT)
        }
    }

    a_batch_that_answers_otherwise_in_large_filters_is_noticed: FarBatches "far-batches" breaks_exactly [
        "batches_beyond_the_cache_do_what_single_calls_do"
    ] {
        fn contains_batch(filter: &Bloom, keys: &[&[u8]], answers: &mut [bool]) {
            let far = filter.bits().len() > 1 << 26;
            for (i, (key, answer)) in keys.iter().zip(answers).enumerate() {
                // The last of a round is forgotten.
                *answer = filter.contains(*key) && !(far && i % 32 == 31);
            }
        }
    }

    numbers_that_lose_their_high_bytes_are_noticed: ShortWords "short-words" breaks_exactly [
        "batches_beyond_the_cache_do_what_single_calls_do"
    ] {
        fn contains_words(filter: &Bloom, keys: &[u64], answers: &mut [bool]) {
            let keys = keys.iter().map(|key| key & 0xff_ffff);
            keys.zip(answers).for_each(|(key, answer)| *answer = filter.contains(&key));
        }
    }

    a_frame_that_its_own_reader_refuses_is_noticed: RefusesItsOwn "refuses-its-own" breaks_exactly [
        "whatever_is_accepted_has_a_frame_that_opens",
        "every_verb_leaves_a_frame_that_opens"
    ] {
        // Neither end of the range.
        fn decoded(filter: Bloom) -> Result<Bloom> {
            match filter.hashes() {
                22..=40 => Err(corrupt("hashes")),
                _ => Ok(filter),
            }
        }
    }

    a_count_that_verbs_lead_beyond_its_end_is_noticed: RunsOut "runs-out" breaks_exactly [
        "forged_frames_are_refused_or_work"
    ] {
        fn decoded(filter: Bloom) -> Result<Bloom> {
            if filter.items() > 1 << 62 { Err(corrupt("items")) } else { Ok(filter) }
        }
    }

    a_setting_whose_plan_is_wrong_is_noticed: OnePlan "one-plan" breaks_at_least [
        "the_plan_is_what_a_filter_takes",
        "whatever_is_accepted_has_a_frame_that_opens"
    ] {
        fn plan(config: &Config, plan: Plan) -> Plan {
            let more = if config.choice("family") == "triple" { 64 } else { 0 };
            Plan { bits: plan.bits + more, ..plan }
        }
    }

    an_undeclared_error_is_noticed: SilentErrors "silent-errors" breaks_exactly [
        "errors_that_are_not_declared_do_not_happen",
        "random_operations_agree_with_an_exact_model",
        "random_data_sets_agree_with_an_exact_model"
    ] {
        const ERRORS: &'static [ErrorClass] = &[];
    }

    a_bit_forgotten_in_the_frame_is_noticed: ForgetsABit "forgets-a-bit" breaks_at_least [
        "keys_are_contained_after_a_frame",
        "frames_give_back_the_filter",
        "compressed_frames_give_back_the_filter",
        "filters_stay_usable_after_a_frame",
        "patches_give_the_new_filter",
        "keyed_frames_need_their_secret",
        "mapped_filters_answer_alike_and_leave_the_file_alone"
    ] {
        // Intersecting with a filter in which all but a few bits are one takes these few out. Large filters keep
        // theirs: filling the other one would take too long.
        fn decoded(mut filter: Bloom) -> Result<Bloom> {
            let bits = filter.bits().len();
            if bits > 100_000 {
                return Ok(filter);
            }
            let mut mask = Bloom::from_config(&filter.config())?;
            // A bit stays zero through this many insertions with probability e^-5.
            let keys = 5 * bits / u64::from(filter.hashes()) + filter.items();
            for key in 0..keys {
                mask.insert(&format!("mask {key}"));
            }
            filter.intersect(&mask)?;
            Ok(filter)
        }
    }

    a_wrong_size_is_noticed: WrongSize "wrong-size" breaks_exactly ["the_reported_size_is_that_of_the_stores"] {
        fn plan(_: &Config, plan: Plan) -> Plan {
            Plan { bits: plan.bits - plan.bits / 8, ..plan }
        }
        fn stats(stats: Stats) -> Stats {
            Stats { bits: stats.bits - stats.bits / 8, ..stats }
        }
    }

    a_wrong_plan_is_noticed: WrongPlan "wrong-plan" breaks_exactly ["the_plan_is_kept"] {
        fn plan(_: &Config, plan: Plan) -> Plan {
            Plan { hashes: plan.hashes + 1, ..plan }
        }
    }

    a_merge_that_is_not_the_union_is_noticed: MergesTheIntersection "merges-the-intersection" breaks_at_least [
        "merged_keys_are_contained",
        "a_union_answers_for_both",
        "merging_with_an_empty_filter_changes_no_answer",
        "overlaps_are_within_their_standard_error",
        "random_operations_agree_with_an_exact_model"
    ] {
        fn merge(filter: &mut Bloom, other: &Bloom) -> Result<()> {
            filter.intersect(other)
        }
    }

    a_one_sided_merge_is_noticed: IgnoresTheOther "ignores-the-other" breaks_at_least [
        "merged_keys_are_contained",
        "merging_is_commutative"
    ] {
        fn merge(filter: &mut Bloom, other: &Bloom) -> Result<()> {
            filter.clone().merge(other)
        }
    }

    a_refused_merge_that_leaves_traces_is_noticed: LeavesTraces "leaves-traces" breaks_exactly [
        "different_filters_are_not_merged"
    ] {
        fn merge(filter: &mut Bloom, other: &Bloom) -> Result<()> {
            let merged = filter.merge(other);
            if merged.is_err() {
                filter.insert("trace");
            }
            merged
        }
    }

    an_intersection_that_loses_keys_is_noticed: EmptyIntersection "empty-intersection" breaks_exactly [
        "an_intersection_keeps_the_common_keys"
    ] {
        fn intersect(filter: &mut Bloom, other: &Bloom) -> Result<()> {
            filter.intersect(other)?;
            filter.clear()
        }
    }

    news_that_are_none_are_noticed: AlwaysNew "always-new" breaks_exactly ["only_keys_that_seem_absent_are_new"] {
        fn insert(filter: &mut Bloom, key: &[u8]) -> bool {
            filter.insert(key);
            true
        }
    }

    a_biased_cardinality_is_noticed: Biased "biased" breaks_at_least [
        "cardinalities_are_within_their_standard_error"
    ] {
        fn cardinality(estimate: Estimate) -> Estimate {
            Estimate { keys: estimate.keys + estimate.standard_error, ..estimate }
        }
    }

    a_standard_error_that_is_too_small_is_noticed: TooSure "too-sure" breaks_exactly [
        "cardinalities_are_within_their_standard_error"
    ] {
        fn cardinality(estimate: Estimate) -> Estimate {
            Estimate { standard_error: estimate.standard_error / 2.0, ..estimate }
        }
    }

    a_wrong_entropy_is_noticed: WrongEntropy "wrong-entropy" breaks_exactly [
        "coded_stores_have_the_size_of_their_entropy"
    ] {
        fn entropy_bits(bits: f64) -> f64 {
            bits * 0.98
        }
    }

    settings_that_are_lost_are_noticed: ForgetsItsRate "forgets-its-rate" breaks_at_least [
        "settings_survive_in_the_filter"
    ] {
        fn config(config: Config) -> Config {
            config.with("fpr", Setting::Real(0.5)).expect("a rate in range")
        }
    }
}

/// Two sides of a universe, with what is said instead of each verdict.
#[derive(Clone)]
struct Judged<const HIDES_DOUBT: bool>(Complement);

impl<const HIDES_DOUBT: bool> Structure for Judged<HIDES_DOUBT> {
    const FACTS: Facts = Facts { id: "judged", number: u16::MAX, ..<Complement as Structure>::FACTS };
    const KNOWS_ABSENT: bool = true;

    fn plan(config: &Config) -> Result<Plan> {
        <Complement as Structure>::plan(config)
    }

    fn create(config: &Config) -> Result<Self> {
        Complement::from_config(config).map(Judged)
    }

    fn config(&self) -> Config {
        renamed(&self.0.config(), const { &Self::FACTS })
    }

    fn hashing(&self) -> &Hashing {
        self.0.hashing()
    }

    fn stats(&self) -> Stats {
        self.0.stats()
    }

    fn expected(&self, items: u64) -> Rates {
        self.0.expected(items)
    }

    fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        self.0.encode(encoder);
    }

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self> {
        <Complement as Structure>::decode(decoder).map(Judged)
    }
}

impl<const HIDES_DOUBT: bool> BuildFrom for Judged<HIDES_DOUBT> {
    fn build_from(config: &Config, data: &Dataset<'_>) -> Result<Self> {
        Complement::build_from(config, data).map(Judged)
    }
}

impl<const HIDES_DOUBT: bool> Judge for Judged<HIDES_DOUBT> {
    fn judge(&self, key: &[u8]) -> Verdict {
        match self.0.judge(key) {
            Verdict::Undetermined if HIDES_DOUBT => Verdict::In,
            verdict => verdict,
        }
    }
}

#[test]
fn doubt_that_is_told_as_a_verdict_is_noticed() {
    const HONEST: Kind = Kind::of::<Judged<false>>().judge().build_from().done();
    const HIDES_DOUBT: Kind = Kind::of::<Judged<true>>().judge().build_from().done();
    breaks_exactly(const { &HONEST }, &[]);
    breaks_exactly(const { &HIDES_DOUBT }, &["verdicts_are_right_inside_the_universe"]);
}

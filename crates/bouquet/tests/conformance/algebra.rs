//! The laws of the verbs that take two filters: merge and intersect, and of cardinality and overlap.

use bouquet::capability::Estimate;
use bouquet::hash::{Hashing, Secret};
use bouquet::kind::{ErrorClass, Verb};
use bouquet::{AnyFilter, Error};

use crate::subject::{Because, Keys, Subject, Verdict, alike, found, observe, probe, refused, unchanged};

laws! {
    a_union_answers_for_both needs [Merge];
    merging_is_commutative needs [Merge];
    merging_is_associative needs [Merge];
    merging_a_set_with_itself_changes_no_answer needs [Merge];
    merging_with_an_empty_filter_changes_no_answer needs [Merge];
    merged_counts_add_up needs [Merge, Count];
    different_filters_are_not_merged needs [Merge];
    different_filters_are_not_intersected needs [Intersect];
    an_intersection_keeps_the_common_keys needs [Contains, Intersect];
    an_intersection_holds_nothing_that_one_lacks needs [Contains, Intersect];
    subtracting_undoes_merging needs [Merge, Subtract];
    a_difference_lists_what_is_not_shared needs [Insert, Difference];
    different_filters_have_no_difference needs [Difference];
    different_filters_are_not_subtracted needs [Subtract];
    cardinalities_are_within_their_standard_error needs [Cardinality];
    overlaps_are_within_their_standard_error needs [Cardinality];
    different_filters_have_no_overlap needs [Cardinality];
}

const ITEMS: u64 = 2_000;

/// The union of filters of one shape.
fn union(left: &AnyFilter, right: &AnyFilter) -> Result<AnyFilter, String> {
    let mut union = left.clone();
    union.merge(right).because("merging")?;
    Ok(union)
}

fn third(subject: &Subject, number: u64) -> Result<AnyFilter, String> {
    subject.filled(ITEMS, 0.01, number * ITEMS / 3..(number + 1) * ITEMS / 3)
}

fn a_union_answers_for_both(subject: &Subject) -> Verdict {
    let (a, b) = (third(subject, 0)?, third(subject, 1)?);
    let union = union(&a, &b)?;
    let keys = probe(ITEMS);
    let certain = !subject.errs(ErrorClass::FalseNegative);
    let parts = observe(&a, &keys)?.into_iter().zip(observe(&b, &keys)?);
    for ((number, (a, b)), both) in keys.numbers.iter().zip(parts).zip(observe(&union, &keys)?) {
        let missing = (a.present() || b.present()) && !both.present();
        ensure!(!missing || !certain, "key {number}: {a:?} and {b:?} became {both:?}");
        if let (Some(a), Some(b), Some(both)) = (a.sets, b.sets, both.sets) {
            let kept = a.iter().chain(&b).all(|set| both.contains(set));
            ensure!(kept || !certain, "key {number}: sets {a:?} and {b:?} became {both:?}");
        }
    }
    let (sum, told) = (a.stats().items + b.stats().items, union.stats().items);
    ensure!(told <= sum, "items: {sum} in both, {told} in the union");
    Ok(())
}

fn merging_is_commutative(subject: &Subject) -> Verdict {
    let (a, b) = (third(subject, 0)?, third(subject, 1)?);
    alike("A with B, and B with A", &union(&a, &b)?, &union(&b, &a)?, &probe(ITEMS))
}

fn merging_is_associative(subject: &Subject) -> Verdict {
    let (a, b, c) = (third(subject, 0)?, third(subject, 1)?, third(subject, 2)?);
    let (left, right) = (union(&union(&a, &b)?, &c)?, union(&a, &union(&b, &c)?)?);
    alike("(A with B) with C, and A with (B with C)", &left, &right, &probe(ITEMS))
}

fn merging_a_set_with_itself_changes_no_answer(subject: &Subject) -> Verdict {
    if subject.is_multiset() {
        return Ok(());
    }
    let filter = subject.filled(ITEMS, 0.01, 0..ITEMS)?;
    alike("A, and A with A", &filter, &union(&filter, &filter)?, &probe(ITEMS))
}

fn subtracting_undoes_merging(subject: &Subject) -> Verdict {
    let (a, b) = (third(subject, 0)?, third(subject, 1)?);
    let mut back = union(&a, &b)?;
    back.subtract(&b).because("subtracting")?;
    alike("A, and A with B without B", &a, &back, &probe(ITEMS))
}

/// Ten keys only here and ten only there, among hundreds that are shared, so that none of those need be decoded.
fn a_difference_lists_what_is_not_shared(subject: &Subject) -> Verdict {
    let (own, common) = (10, 500);
    let here = subject.filled(100, 0.01, 0..common)?;
    let there = subject.filled(100, 0.01, own..common + own)?;
    let listing = here.difference(&there).because("the difference")?;
    ensure!(listing.undecoded == 0, "{} cells stay undecoded", listing.undecoded);
    let mut found: Vec<_> = listing.entries.into_iter().map(|entry| (entry.count, entry.key)).collect();
    found.sort_unstable();
    let keys = |numbers: std::ops::Range<u64>, count| numbers.map(move |number| (count, number.to_le_bytes().to_vec()));
    let mut expected: Vec<_> = keys(0..own, 1).chain(keys(common..common + own, -1)).collect();
    expected.sort_unstable();
    ensure!(found == expected, "the difference is {found:?}");
    let none = here.difference(&here).because("the difference to itself")?;
    ensure!(none.entries.is_empty() && none.undecoded == 0, "a filter differs from itself in {none:?}");
    Ok(())
}

fn merging_with_an_empty_filter_changes_no_answer(subject: &Subject) -> Verdict {
    let config = subject.config(ITEMS, 0.01)?;
    let (filter, empty) = (subject.build(&config, &Keys::new(0..ITEMS))?, subject.empty(&config)?);
    alike("A, and A with nothing", &filter, &union(&filter, &empty)?, &probe(ITEMS))?;
    alike("A, and nothing with A", &filter, &union(&empty, &filter)?, &probe(ITEMS))
}

fn merged_counts_add_up(subject: &Subject) -> Verdict {
    if subject.errs(ErrorClass::UnderCount) {
        return Ok(());
    }
    let a = subject.filled(ITEMS, 0.01, 0..ITEMS / 2)?;
    let b = subject.filled(ITEMS, 0.01, ITEMS / 4..ITEMS * 3 / 4)?;
    let both = union(&a, &b)?;
    let count = both.count().because("count")?;
    for number in 0..ITEMS * 3 / 4 {
        let times = u64::from(number < ITEMS / 2) + u64::from(number >= ITEMS / 4);
        let told = count.count(&number.to_le_bytes());
        ensure!(told.count >= times || told.at_least, "key {number} is in {times} times, counted {told:?}");
    }
    Ok(())
}

/// Filters that differ from one made by `config(ITEMS, 0.01)`, and how.
fn strangers(subject: &Subject) -> Result<Vec<(&'static str, AnyFilter)>, String> {
    let keys = Keys::new(0..100);
    let config = subject.config(ITEMS, 0.01)?;
    let secret = Secret::new(&[7; 32]).because("a secret")?;
    Ok(vec![
        ("another seed", subject.build(&config.clone().hashed(Hashing::seeded(99)), &keys)?),
        ("a secret", subject.build(&config.hashed(Hashing::keyed(secret)), &keys)?),
        ("another size", subject.build(&subject.config(ITEMS * 4, 0.01)?, &keys)?),
    ])
}

fn incompatible(error: &Error) -> bool {
    matches!(error, Error::Incompatible { field, left, right } if !field.is_empty() && left != right)
}

fn different_filters_are_not_merged(subject: &Subject) -> Verdict {
    different_are_refused(subject, "merging", AnyFilter::merge)
}

fn different_filters_are_not_intersected(subject: &Subject) -> Verdict {
    different_are_refused(subject, "intersecting", AnyFilter::intersect)
}

fn different_filters_are_not_subtracted(subject: &Subject) -> Verdict {
    different_are_refused(subject, "subtracting", AnyFilter::subtract)
}

fn different_filters_have_no_difference(subject: &Subject) -> Verdict {
    different_are_refused(subject, "listing the difference", |filter, other| filter.difference(other).map(drop))
}

/// Combining with a filter of other settings or hashing is refused and changes nothing.
fn different_are_refused(
    subject: &Subject,
    doing: &str,
    combine: fn(&mut AnyFilter, &AnyFilter) -> bouquet::Result<()>,
) -> Verdict {
    let mut filter = subject.filled(ITEMS, 0.01, 0..100)?;
    let before = filter.to_bytes();
    for (what, stranger) in strangers(subject)? {
        refused(&format!("{doing} with {what}"), combine(&mut filter, &stranger), incompatible)?;
        unchanged(&format!("refused {doing} with {what}"), &before, &filter)?;
    }
    Ok(())
}

fn different_filters_have_no_overlap(subject: &Subject) -> Verdict {
    let filter = subject.filled(ITEMS, 0.01, 0..100)?;
    for (what, stranger) in strangers(subject)? {
        refused(&format!("the overlap with {what}"), filter.overlap(&stranger), incompatible)?;
    }
    Ok(())
}

/// The filters of two sets that share a third of their union, and of their intersection.
fn crossing(subject: &Subject) -> Result<[AnyFilter; 3], String> {
    let a = subject.filled(ITEMS, 0.01, 0..ITEMS * 2 / 3)?;
    let b = subject.filled(ITEMS, 0.01, ITEMS / 3..ITEMS)?;
    let mut common = a.clone();
    common.intersect(&b).because("intersecting")?;
    Ok([a, b, common])
}

fn an_intersection_keeps_the_common_keys(subject: &Subject) -> Verdict {
    if subject.errs(ErrorClass::FalseNegative) {
        return Ok(());
    }
    let [_, _, common] = crossing(subject)?;
    let keys = Keys::new(ITEMS / 3..ITEMS * 2 / 3);
    let missing = keys.numbers.iter().zip(found(&common, &keys)?).find(|(_, found)| !found);
    ensure!(missing.is_none(), "common key {} is not found", missing.unwrap().0);
    Ok(())
}

fn an_intersection_holds_nothing_that_one_lacks(subject: &Subject) -> Verdict {
    let filters = crossing(subject)?;
    let keys = probe(ITEMS);
    let [a, b, common] = &filters.each_ref().map(|filter| found(filter, &keys));
    let (a, b, common) = (a.clone()?, b.clone()?, common.clone()?);
    for (i, number) in keys.numbers.iter().enumerate() {
        let invented = common[i] && !(a[i] && b[i]);
        ensure!(!invented, "key {number} is in the intersection, but not in both");
    }
    Ok(())
}

/// How many standard errors an estimate is from the truth.
fn deviation(what: &str, seed: u64, estimate: Estimate, truth: f64) -> Result<f64, String> {
    let Estimate { keys, standard_error, saturated } = estimate;
    ensure!(!saturated, "{what}, seed {seed}: saturated at the planned load");
    ensure!(
        standard_error > 0.0 && standard_error < truth / 4.0,
        "{what}, seed {seed}: standard error {standard_error}"
    );
    let off = (keys - truth) / standard_error;
    ensure!(
        off.abs() <= 5.0,
        "{what}, seed {seed}: measured {keys:.1}, expected {truth}, {off:.1} standard errors off"
    );
    Ok(off)
}

fn cardinalities_are_within_their_standard_error(subject: &Subject) -> Verdict {
    const SEEDS: u64 = 60;
    for load in [ITEMS / 4, ITEMS, ITEMS * 3 / 2] {
        let (mut sum, mut squares) = (0.0, 0.0);
        for seed in 0..SEEDS {
            let filter = subject.seeded(ITEMS, 0.01, 0..load, seed)?;
            let off = deviation("cardinality", seed, filter.cardinality().because("cardinality")?, load as f64)?;
            sum += off;
            squares += off * off;
        }
        // Together the deviations show what one alone would hide: a bias, or a standard error that is too small. Their
        // sum has variance n, the sum of their squares mean n and variance 2 n.
        let n = SEEDS as f64;
        ensure!(sum.abs() <= 5.0 * n.sqrt(), "{load} keys: {:.2} standard errors off on average", sum / n);
        let limit = n + 5.0 * (2.0 * n).sqrt();
        ensure!(squares <= limit, "{load} keys: the standard error is {:.2} times too small", (squares / n).sqrt());
    }
    let none = subject.empty(&subject.config(ITEMS, 0.01)?)?.cardinality().because("cardinality")?;
    ensure!(none.keys.abs() < 1e-6, "an empty filter holds {none:?}");
    Ok(())
}

fn overlaps_are_within_their_standard_error(subject: &Subject) -> Verdict {
    for seed in 0..30 {
        let a = subject.seeded(ITEMS, 0.01, 0..ITEMS * 2 / 3, seed)?;
        let b = subject.seeded(ITEMS, 0.01, ITEMS / 3..ITEMS, seed)?;
        let overlap = a.overlap(&b).because("overlap")?;
        let common = (ITEMS * 2 / 3 - ITEMS / 3) as f64;
        deviation("union", seed, overlap.union, ITEMS as f64)?;
        deviation("intersection", seed, overlap.intersection, common)?;
        let share = overlap.intersection.keys / overlap.union.keys;
        ensure!((overlap.jaccard - share).abs() < 1e-9, "jaccard {} of {overlap:?}", overlap.jaccard);
        if subject.can(Verb::Merge) {
            let merged = union(&a, &b)?.cardinality().because("cardinality")?.keys;
            ensure!((merged - overlap.union.keys).abs() < 1e-6 * merged, "merged {merged}, overlap {overlap:?}");
        }
    }
    Ok(())
}

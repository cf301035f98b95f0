//! The law of all of `theory`: no argument makes a function panic, hang or return NaN.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::blocks::{Inner, Layout};
use super::scalable::Design;
use super::stable::Shape;
use super::*;

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, rng_seed: RngSeed::Fixed(2004), ..ProptestConfig::default() }
}

/// Counts of every magnitude, with the ends more often than chance would have them.
fn count() -> impl Strategy<Value = u64> {
    prop_oneof![
        2 => prop::sample::select(vec![0, 1, 2, 3, u64::MAX, u64::MAX - 1, 1 << 53, 1 << 63]),
        3 => 0..200u64,
        5 => (0..64u32, any::<u64>()).prop_map(|(shift, bits)| bits >> shift),
    ]
}

fn probes() -> impl Strategy<Value = u32> {
    prop_oneof![
        2 => prop::sample::select(vec![0, 1, 2, u32::MAX]),
        5 => 0..70u32,
        3 => (0..32u32, any::<u32>()).prop_map(|(shift, bits)| bits >> shift),
    ]
}

fn real() -> impl Strategy<Value = f64> {
    prop_oneof![
        3 => prop::sample::select(vec![
            0.0, -0.0, 1.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE, f64::MAX, f64::MIN,
            f64::EPSILON, 1.0 - f64::EPSILON, 5e-324,
        ]),
        4 => 0.0..1.0f64,
        2 => 0.0..200.0f64,
        2 => (-300.0..300.0f64).prop_map(|e| 10f64.powf(e)),
        1 => any::<f64>(),
    ]
}

/// A probability.
#[track_caller]
fn unit(x: f64) {
    assert!((0.0..=1.0).contains(&x), "{x} is no probability");
}

/// Any number.
#[track_caller]
fn number(x: f64) {
    assert!(!x.is_nan());
}

/// A quantity, maybe infinite.
#[track_caller]
fn quantity(x: f64) {
    assert!(x >= 0.0, "{x} is no quantity");
}

fn size(found: Result<Size>) {
    if let Ok(size) = found {
        assert!(size.bits > 0 && size.hashes > 0);
    }
}

proptest! {
    #![proptest_config(config(2000))]

    #[test]
    fn standard_is_total(m in count(), n in count(), k in probes(), x in real(), y in real()) {
        for rate in [
            standard::zeros(m, n, k), standard::limit_zeros(x, k), standard::rate(m, n, k), standard::limit_rate(x, k),
            standard::optimal_rate(x), standard::corrected_rate(m, n, k),
        ] {
            unit(rate);
        }
        prop_assert!(standard::rate(m, n, k) <= standard::corrected_rate(m, n, k));
        number(standard::log_rate(x, y));
        number(standard::log_rate_slope(x, y));
        number(standard::log_rate_at_fill(x, y));
        quantity(standard::best_hashes(x));
        quantity(standard::optimal_bits_per_key(x));
        quantity(standard::needed_bits(n, x, k));
        standard::capacity(m, k, x);
        size(standard::for_rate(n, x));
        size(standard::for_rate_with_at_most(n, x, k));
        size(standard::for_bits(m, n));
    }

    #[test]
    fn partitioned_is_total(m in count(), n in count(), k in probes(), x in real(), slices in prop::collection::vec(count(), 0..5)) {
        unit(partitioned::zeros(m, n, k));
        unit(partitioned::rate(m, n, k));
        unit(partitioned::banked_rate(m, n, k));
        unit(partitioned::rate_of_slices(&slices, n));
        unit(partitioned::conditional_rate(&slices, m));
        partitioned::slice_bits(m, k);
        quantity(partitioned::needed_slice(n, x, k));
        size(partitioned::for_rate(n, x));
    }

    #[test]
    fn banks_are_total(m in count(), n in count(), k in probes(), banks in count()) {
        unit(banks::rate(m, n, k, banks));
        unit(banks::without_conflict(k, banks));
        quantity(banks::busiest(k, banks));
    }

    #[test]
    fn separation_is_total(words in count(), n in count(), b in count(), k in probes(), sets in count(), x in real(), y in real()) {
        unit(separation::rate(words, n, b, k));
        unit(separation::any_rate(words, n, b, k, sets));
        unit(separation::any_of(x, y, sets));
        let _ = separation::words_for_rate(n, x, b, k);
    }

    #[test]
    fn pipeline_is_total(stages in prop::collection::vec(probes(), 0..9), k in probes(), x in real(), y in real(), z in real()) {
        quantity(pipeline::negative_cost(&stages, x));
        quantity(pipeline::cost(&stages, x, y));
        unit(pipeline::saving(&stages, x));
        prop_assert!(pipeline::best_first(k, x) >= 1);
        quantity(pipeline::handed_on(z, k, x, y));
        pipeline::is_stable(z, k, x, y, x);
    }

    #[test]
    fn buckets_and_groups_are_total(m in count(), n in count(), k in probes(), groups in count()) {
        unit(buckets::shared(m, n));
        unit(buckets::shared_by_copies(m, n, k));
        unit(bank::shared_rate(m, n, k));
        unit(bank::equal_parts_rate(m, groups, n, k));
    }

    #[test]
    fn protection_is_total(k in probes(), x in real(), y in real()) {
        for chance in [
            protection::detected(x), protection::missed(x), protection::rate_with_saturated(x, y, k),
            protection::lost(k, x), protection::lost_rechecked(k, x), protection::rechecks(x, k),
        ] {
            unit(chance);
        }
    }

    #[test]
    fn spread_is_total(m in count(), n in count(), k in probes(), x in real(), q in count()) {
        quantity(spread::ones(m, n, k));
        quantity(spread::ones_variance(m, n, k));
        prop_assert!(spread::ones(m, n, k) <= m as f64);
        unit(spread::deviation_bound(m, n, k, x));
        unit(spread::deviation(m, n, k, x));
        quantity(spread::test_sigma(m, n, k, q));
        quantity(spread::test_sigma_conditional(x, q));
    }

    #[test]
    fn bounds_are_total(u in count(), n in count(), k in probes(), x in real()) {
        quantity(bounds::least_bits(n, x));
        quantity(bounds::least_bits_in_universe(u, n, x));
        unit(bounds::least_rate(x));
        unit(bounds::hash_list_rate(n, x));
        quantity(bounds::hash_list_bits(n, x));
        quantity(bounds::perfect_hash_bits(n, k));
    }

    #[test]
    fn perfect_is_total(n in count(), k in probes(), x in real()) {
        if let Ok(shape) = perfect::fuse(n) {
            prop_assert!(shape.cells() >= n);
        }
        prop_assert!(!perfect::fuse_bits_per_key(n, k).is_nan());
        quantity(perfect::minimal_bits(n));
        quantity(perfect::minimal_bits_per_key(n, k));
        unit(perfect::break_even(x));
    }

    #[test]
    fn egh_is_total(u in count(), d in count(), k in probes(), n in count()) {
        prop_assert_eq!(egh::first_primes(k.min(500)).len() as u32, k.min(500));
        unit(egh::rate(k.min(500), n));
        quantity(egh::approximate_bits(u, d));
        if egh::approximate_bits(u, d) < 1e6 && let Ok(design) = egh::design(u, d) {
            prop_assert!(design.primes > 0 && design.bits >= u64::from(design.primes));
        }
    }

    #[test]
    fn selection_is_total(trials in count(), known in count(), n in count(), m in count(), x in real()) {
        let outlook = selection::Outlook::new(trials, x, known);
        quantity(outlook.clean());
        quantity(outlook.trials_needed());
        prop_assert!(outlook.fewest() <= known);
        quantity(selection::plain_false_positives(m, n, known));
    }

    #[test]
    fn golomb_is_total(n in count(), m in count(), x in real()) {
        unit(golomb::rate(n, m));
        quantity(golomb::least_bits_per_key(x));
        prop_assert!(golomb::best_divisor(x) >= 1 && golomb::best_rice(x).is_power_of_two());
        quantity(golomb::bits_per_key(x, m));
    }

    #[test]
    fn compacted_is_total(blocks in probes(), k in probes(), n in count(), x in real(), y in real()) {
        // Sums over all rows take their time.
        let blocks = blocks.min(1_000);
        compacted::index_bits(blocks);
        for rate in [
            compacted::survival(blocks, x), compacted::invention(blocks, x), compacted::packed_fill(blocks, x),
            compacted::false_negatives(blocks, x, k), compacted::false_positives(blocks, x, k),
            compacted::lossless_below(blocks),
        ] {
            unit(rate);
        }
        size(compacted::for_rates(n, x, y, blocks.min(20)));
    }

    #[test]
    fn algebra_is_total(m in count(), k in probes(), a in count(), b in count(), c in count(), d in count(), x in real()) {
        unit(algebra::union_rate(m, k, a, b, c));
        unit(algebra::intersection_is_exact_bound(m, k, a, b));
        unit(algebra::intersection_is_exact(m, k, a, b, c));
        unit(algebra::both_set(m, k, a, b, c));
        quantity(algebra::inner_product(m, k, a, b, c));
        unit(algebra::halved_zeros(m, a, k));
        unit(algebra::halved_rate(m, a, k));
        quantity(algebra::cardinality_error(m, k, x));
        for estimate in [
            algebra::cardinality(m, k, a), algebra::cardinality_of_slices(&[a, b, c], m),
            algebra::intersection_size(m, k, a, b, c), algebra::jaccard(m, k, a, b, c),
        ].into_iter().flatten() {
            quantity(estimate.value);
            quantity(estimate.error);
        }
        quantity(algebra::bloomjoin_bytes(Size { bits: m, hashes: k }, a, b, c, d));
        size(algebra::best_bloomjoin(a, b, c, d));
    }

    #[test]
    fn counters_are_total(m in count(), n in count(), k in probes(), j in count(), t in count(), x in real()) {
        for chance in [
            counters::value(m, n, k, j), counters::reaches(m, n, k, j), counters::limit_reaches(x, j),
            counters::choice_bound(m, n, k, j), counters::power_bound(m, n, k, j), counters::half_full_bound(j),
            counters::overflow(m, n, k, j, t),
        ] {
            unit(chance);
        }
        counters::unreached(m, n, k);
        prop_assert!((1..=64).contains(&counters::width(m, n, k, x)));
        counters::width_for_multiplicity(n);
        quantity(unary::code_bits(m, n, k));
        quantity(unary::counter_entropy(x));
        unit(ternary::indeterminable(m, n, k, j));
        unit(ternary::false_yes(m, n, k, j));
        unit(ternary::undeletable(m, n, k, j));
        size(counters::for_rate(n, x));
    }

    #[test]
    fn refutation_is_total(slice in count(), n in count(), k in probes(), marks in count(), x in real()) {
        use refutation::Refutation;
        for code in [
            Refutation::none(), Refutation::fingerprint(k), Refutation::interval(marks), Refutation::sequence(marks, k),
        ] {
            unit(code.chance(n as usize));
            unit(code.limit_rate(x, k));
            unit(code.rate(slice, n, k));
            quantity(code.load(x, k));
            prop_assert!((1..=64).contains(&code.best_hashes(slice, n)));
            let _ = (code.for_rate(n, x, None), code.for_rate(n, x, Some(k)));
        }
        unit(refutation::fingerprint_rate(k, slice, n, k));
        let (bits, hashes) = refutation::best_fingerprint(x, k);
        prop_assert!(bits > 0 && hashes > 0);
    }

    #[test]
    fn compression_is_total(m in count(), n in count(), k in probes(), x in real(), y in real()) {
        quantity(compressed::message_bits_per_key(x, k));
        quantity(compressed::message_bits(m, n));
        unit(compressed::limit_of_message(x));
        quantity(compressed::update_bits_per_key(x, k, y));
        for plan in [compressed::for_message(x, y), compressed::for_rate(x, y)].into_iter().flatten() {
            unit(plan.rate);
            unit(compressed::fill(&plan));
            quantity(plan.message_bits_per_key);
        }
    }

    #[test]
    fn stability_is_total(cells in count(), hashes in probes(), max in probes(), decrements in count(), gap in count(), x in real()) {
        let shape = Shape { cells, hashes, max, decrements };
        for chance in [shape.zeros(), shape.limit_rate(), shape.zeros_after(gap), shape.faded(gap), shape.miss_rate(gap)] {
            unit(chance);
        }
        if let Ok(found) = stable::decrements(cells, hashes, max, x) {
            prop_assert!(found >= 1 && found <= cells);
        }
        if let Ok(plan) = stable::best(cells, x, gap) {
            unit(plan.misses);
            prop_assert!(plan.rate <= x * (1.0 + 1e-9));
        }
    }

    #[test]
    fn forgetting_is_total(m in count(), k in probes(), a in count(), b in count(), pasts in probes(), n in count(), x in real(), y in real()) {
        quantity(generations::active_keys(a, b, n) as f64);
        for chance in [
            generations::rate_of_each(x), generations::either_rate(x, y), generations::neighbours_rate([x, y, x]),
            generations::forgetful_rate(m, k, a, pasts, n), generations::shared_positions_rate(m, k, n),
            aging::fill_of_longest(m, k, x), aging::fill_of_first(m, k, x), aging::early_loss(m, k, x, y),
            routing::two_ways(x, k, pasts), routing::fill(m, k, x, &[y, x]),
        ] {
            unit(chance);
        }
        let shape = aging::Shape { cells: m, hashes: k, blocks: a, lives: b };
        for chance in [shape.dead_after(n), shape.rate_after(n), shape.miss_rate(n), shape.mean_miss_rate(n)] {
            unit(chance);
        }
        quantity(generations::capacity_ratio(x));
        quantity(routing::expected_theta(k, x, pasts, y));
        quantity(routing::noise(k, x));
        if let Ok(bits) = routing::bits_for_fill(n, k, x) {
            prop_assert!((1..=MAX_BITS).contains(&bits));
        }
        if let Ok(size) = generations::forgetful_size(n, x, pasts) {
            prop_assert!(size.bits >= 1 && size.hashes >= 1);
        }
    }

    #[test]
    fn resetting_is_total(bits in count(), resets in probes(), sets in probes(), n in count(), x in real(), y in real(), z in real()) {
        let shape = generalized::Shape { bits, resets, sets };
        for chance in [
            shape.reset_chance(), shape.set_chance(), shape.untouched_chance(), shape.steady_zeros(), shape.zeros(x, n),
            shape.limit_zeros(x, n), shape.rate_at(x), shape.exact_rate_at(x), shape.rate_of_array(n), shape.kept_zero(n),
            shape.kept_one(n), shape.miss_rate(n), shape.exact_miss_rate(n), generalized::limit_rate(x, y, z),
            generalized::worst_zeros(x, y), generalized::bound(x, y), generalized::miss_bound(x, y, z),
        ] {
            unit(chance);
        }
        quantity(shape.mean_resets());
        quantity(shape.mean_sets());
        let (zero, one) = generalized::limit_kept(x, y, z);
        unit(zero);
        unit(one);
        quantity(generalized::crossing(x, y, z));
        if let Ok(c) = generalized::bits_per_key(resets, sets, x) {
            quantity(c);
        }
        if let Ok(shape) = generalized::for_bounds(n, x, y) {
            prop_assert!(generalized::bound(shape.resets.into(), shape.sets.into()) <= x);
        }
    }

    #[test]
    fn peeling_is_total(n in count(), m in count(), k in probes(), x in real()) {
        quantity(peeling::threshold(k));
        unit(peeling::unlisted(n, m, k));
        unit(peeling::unknown(n, m, k));
        let _ = (peeling::listing_cells(n, k), peeling::difference_cells(n), peeling::for_listing(n));
        let _ = (peeling::gap_cells(n), braids::upper_counters(n, x));
        unit(peeling::mistaken_pure(m, k, k));
        unit(peeling::id_collision(n, k));
        unit(braids::next_undecided(x, x, k, x));
        let _ = (peeling::bloomier_cells(n), peeling::compact_cells(n), peeling::bloomier_bits(n, x));
        unit(peeling::bloomier_rate(n, k));
        quantity(peeling::cascade_keys(n, m, x, k));
    }

    #[test]
    fn the_rest_is_total(
        m in count(), n in count(), k in probes(), s in count(), x in real(), y in real(), z in real(), w in real(),
        rates in prop::collection::vec(real(), 0..5), counters in prop::collection::vec(count(), 0..5),
    ) {
        unit(bank::unique(&rates, s as usize));
        unit(bank::unique_among(s, x));
        unit(collisions::floor(n, k));
        unit(collisions::with_collisions(x, n, k));
        let _ = collisions::check_reachable(x, n, k);
        unit(bank::any_spurious(&rates));
        unit(scalable::compound_rate(&rates));
        quantity(bank::expected_spurious(&rates));
        unit(bank::rate_for(s, x));
        quantity(bank::set_bits(n, x));
        bank::code_filters(s);
        unit(bank::wrong_code(x, k));
        unit(adversary::polluted_fill(m, n, k));
        unit(adversary::polluted_rate(m, n, k));
        unit(adversary::mixed_rate(m, n, s, k));
        quantity(adversary::forgery_cost(x));
        quantity(adversary::worst_case_hashes(x));
        unit(adversary::worst_case_rate(x));
        unit(adversary::fill_limit(m, n, k, x));
        size(adversary::for_worst_case(n, x));
        unit(paradox::false_share(m, n, x));
        unit(paradox::posterior(x, y));
        unit(paradox::trust_threshold(x, y));
        unit(paradox::paradox_threshold(x, y));
        paradox::worth_querying(x, y, z);
        quantity(paradox::counting_odds(x, m, n, k, &counters));
        quantity(paradox::expected_cost(x, y, z, w));
        unit(paradox::updated(x, y, z, m % 2 == 0));
        quantity(paradox::least_product(x, y, m, n, k));
        unit(paradox::product_tail(&[x, y, z], k, w));
        let trust = paradox::frozen_trust(m, k, y, &[(x, z), (w, 1.0)]);
        unit(trust.rate);
        unit(trust.threshold);
        quantity(trust.inserted);
        multistage::candidates(m, n, k);
        unit(multistage::success(m, k, n, m));
        quantity(multistage::least_bits(m, n));
        multistage::gamma_bits(m);
        quantity(multistage::expected_bits(n, m, n, k, m.min(100)));
        let classes = [assignment::Class { queries: x, members: y }, assignment::Class { queries: z, members: w }];
        quantity(assignment::divergence(&classes));
        quantity(assignment::cost(&classes, &[x, y]));
        unit(assignment::acceptance(x, y));
        unit(assignment::expected_acceptance(m, x, y));
        unit(assignment::rate(&classes, &assignment::assign_in_steps(&classes, m, k, 16), m));
        unit(assignment::presence(m, n, m / 2));
        quantity(choices::phi(k));
        quantity(choices::highest_random(n, k));
        quantity(choices::highest_left(n, k));
        unit(blocks::pattern_collisions(m, x, n));
        quantity(special::ln_gamma(x.abs() + 2.0));
        number(special::ln_gamma(x));
        number(special::ln_choose(x, y));
        unit(special::binomial(x, y, z));
        unit(special::binomial(n as f64, y, z));
        unit(special::poisson(x, y));
        unit(special::poisson(n as f64, y));
        unit(special::binomial_tail(n, x, y));
        unit(special::poisson_tail(n, x));
        unit(special::normal_tail(x));
        unit(special::entropy(x));
        unit(testing_power(x, y));
    }
}

/// Powers of probabilities stay probabilities.
fn testing_power(x: f64, y: f64) -> f64 {
    special::power(special::probability(x), special::amount(y))
}

proptest! {
    // These walk through thousands of states per call.
    #![proptest_config(config(40))]

    #[test]
    fn witnesses_are_total(bits in count(), n in count(), others in count(), k in probes(), parts in 0..70u32, x in real(), y in real(), z in real()) {
        for chance in [
            witnesses::confirmed(x, &[y, z]), witnesses::confirmed_by_own(x, &[y, z]), witnesses::confirmed_by_own(x, &[]),
            witnesses::undetermined(x, y, z), witnesses::covers(bits, n, k), witnesses::below(x, n, others),
            witnesses::below_mixed(x, &[y, z], n), witnesses::Complement::even_share(n, others),
            retouched::lost_share(bits, n, k), retouched::rate_after(bits, n, k, others),
        ] {
            unit(chance);
        }
        quantity(retouched::gain(x, y));
        quantity(witnesses::nodes(n, others, bits, k));
        prop_assert!(witnesses::patterns(bits.min(100), n, k) <= 100);
        if let Ok(checked) = witnesses::CrossChecked::of_bits(bits, n, parts, x, k) {
            prop_assert_eq!(checked.bits(), bits);
            unit(checked.rate(n, false));
            unit(checked.rate_of(&[n, others]));
            quantity(checked.confirming_of(&[n, others]));
        }
        if let Ok(checked) = witnesses::CrossChecked::for_rate(n, x, parts, y, true, k) {
            prop_assert!(checked.bits() >= 3);
        }
        let design = witnesses::Complement { items: n, others, members: x, petit: k % 2 == 0 };
        if let Ok((main, complement)) = design.of_bits(bits) {
            prop_assert_eq!(main.bits + complement.bits, bits);
            unit(design.undetermined(main, complement));
        }
        if let Ok((main, complement)) = design.for_share(y) {
            unit(design.undetermined(main, complement));
        }
    }

    #[test]
    fn long_computations_are_total(
        m in prop_oneof![0..3000u64, Just(standard::EXACT_LIMIT + 1), count()], n in count(), k in probes(), x in real(),
        block_bits in prop_oneof![0..600u64, count()], blocks_per_key in probes(), sliced: bool,
    ) {
        quantity(braids::threshold(k, x));
        let _ = braids::counters(n, k, x);
        if let Some(exact) = standard::exact_rate(m.min(3000), n, k) {
            unit(exact);
            prop_assert!(exact >= standard::rate(m.min(3000), n, k) * (1.0 - 1e-9));
        }
        prop_assert_eq!(standard::exact_rate(m, n, k).is_some(), m <= standard::EXACT_LIMIT);
        unit(standard::expected_rate(m, n, k));
        let layout = Layout { block_bits, inner: if sliced { Inner::Slices } else { Inner::Bits }, blocks_per_key };
        unit(blocks::rate(layout, m, n, k));
        unit(blocks::limit_rate(layout, x, k));
        quantity(spread::largest_normal(n));
        quantity(spread::best_of_ones(m, n, k, n));
        unit(spread::best_of_rate(m, n, k, n));
        unit(peeling::cascade_rate(m, x));
        unit(peeling::cascade_rate(n, x));
        unit(choices::chosen_fill(x, k, blocks_per_key));
        unit(choices::chosen_rate(x, k, blocks_per_key));
    }

    #[test]
    fn bit_vectors_are_total(m in count(), n in count(), t in count(), k in probes(), w in probes(), x in real()) {
        for share in [deletable::collision(m, n, k), deletable::share(m, n, k, x), deletable::rough_share(m, n, k, x)] {
            unit(share);
        }
        if let Ok(region) = deletable::largest_region(m, n, k, x) {
            prop_assert!((1..=m).contains(&region));
        }
        for chance in [
            shifting::membership_rate(m, n, k, w), shifting::any_offset(m, n, k, w), shifting::rate_per_offset(x, w),
            shifting::clear_answer(m, n, k), shifting::exact_count(m, n, k, w, k), shifting::published_rate(m, n, k, w),
        ] {
            unit(chance);
        }
        prop_assert!((2..=64).contains(&shifting::best_hashes(m, n, w)));
        size(shifting::for_membership(n, x, w, None));
        for number in [adaptive::foreign_ones(x), adaptive::mean_foreign_ones(x), adaptive::estimate(x, m as f64, x)] {
            quantity(number);
        }
        for share in [
            adaptive::shared_fill(m, n, t, k), adaptive::single_fill(m, n, k), adaptive::single_over_count(m, n, k),
            adaptive::split_over_count(m, n),
        ] {
            unit(share);
        }
        if let Ok(bits) = adaptive::shared_bits(n, t, k, x) {
            prop_assert!(bits > 0);
        }
        for number in [
            space_code::mean_value(k, x, x, n as f64), space_code::distinct_groups(k, x, n as f64),
            space_code::half_full_bits(k, x), space_code::reach(k, x),
        ] {
            quantity(number);
        }
        let laws = space_code::laws_on(k, x, &[n, m]);
        space_code::seeming(&laws, x).iter().flatten().for_each(|&chance| quantity(chance));
        quantity(space_code::groups_of_flows(k, x, n, m));
        let shape = variable_length::Shape { bits: m, hashes: k, set: k / 2, quorum: k / 3, keep: w };
        for chance in [
            shape.fill(n), shape.rate(n), shape.rate_at(x), shape.survival(n, t), shape.fill_after(n, t),
            shape.misses(n, t, x), variable_length::longer(&shape, n),
        ] {
            unit(chance);
        }
        for found in [variable_length::best(m, n, t, x), variable_length::for_rate(n, x, t, 0.5)].into_iter().flatten() {
            prop_assert!(found.keep < found.quorum && found.quorum <= found.set && found.set <= found.hashes);
        }
    }

    #[test]
    fn searches_of_functions_are_total(bits in count(), resets in probes(), sets in probes(), n in count(), x in real(), y in real()) {
        let shape = generalized::Shape { bits, resets, sets };
        unit(shape.largest_rate());
        unit(shape.mean_miss_rate(n));
        if let Ok(balance) = generalized::balance(x, y) {
            quantity(balance.crossing);
            unit(balance.best.bound);
        }
    }

    #[test]
    fn searches_are_total(n in count(), k in probes(), x in real(), c in real(), g in 0..5u32, sliced: bool, bits in 0..300u64) {
        let inner = if sliced { Inner::Slices } else { Inner::Bits };
        let layout = Layout { block_bits: bits, inner, blocks_per_key: g };
        quantity(blocks::bits_per_key(layout, k, x));
        let (_, rate) = blocks::best_hashes(layout, c);
        unit(rate);
        if let Ok(size) = blocks::for_rate(layout, n, x, Some(k)) {
            prop_assert!(blocks::rate(layout, size.bits, n, size.hashes) <= x);
        }
        if let Ok(loads) = choices::d_left(k, c.min(2.0)) {
            unit(loads.at_least(n as usize).min(1.0));
            loads.highest(n);
        }
        if let Ok(loads) = choices::random_choices(k, c.min(2.0)) {
            loads.highest(n);
            unit(loads.at_least_in(n as usize, k as usize).min(1.0));
        }
    }

    #[test]
    fn words_are_total(
        word_bits in prop_oneof![0..600u32, probes()], words in count(), words_per_key in 0..6u32, places in probes(),
        first in prop_oneof![0..600u32, probes()], n in count(), x in real(),
    ) {
        let shape = hierarchy::Shape { word_bits, words, words_per_key, places, first };
        unit(shape.rate(n));
        unit(shape.given_up(n));
        unit(shape.over_count(n));
        unit(shape.ideal_rate(n));
        unit(shape.published_rate(n));
        shape.most_arrivals();
        hierarchy::best_first(word_bits, words, words_per_key, places, n);
        if let Ok(shape) = hierarchy::for_words(word_bits, words, words_per_key, n, Some(places)) {
            prop_assert!(shape.most_arrivals() > 0);
        }
        if let Ok(shape) = hierarchy::for_rate(word_bits, words_per_key, n, x, Some(places)) {
            prop_assert!(shape.rate(n) <= x);
        }
    }

    #[test]
    fn chains_are_total(rate in real(), growth in probes(), tightening in real(), first in count(), levels in probes(), n in count()) {
        if let Ok(design) = Design::new(rate, growth, tightening, first) {
            let level = design.level(levels);
            unit(level.rate);
            unit(design.first_rate());
            quantity(design.capacity(levels));
            design.levels(n);
            unit(design.bound(levels));
            unit(design.full_rate(levels));
            quantity(design.bits_per_key(levels));
        }
    }
}

proptest! {
    #![proptest_config(config(40))]

    #[test]
    fn pages_are_total(m in count(), n in count(), c in count(), roots in count(), children in count(), k in probes(), x in real()) {
        unit(paged::filter_rate(m.min(1 << 40), k, n));
        unit(paged::page_rate(x, k));
        unit(paged::full_rate(x, k));
        quantity(paged::data_reads(x, n));
        let (hashes, capacity) = paged::page_size(m, x);
        prop_assert!((1..=MAX_HASHES).contains(&hashes) && capacity >= 1);
        prop_assert!(paged::hashes(x) >= 1 && paged::chain_reads(n) <= n);
        let forest = paged::Forest { roots, children, bits: m, hashes: k, capacity: c };
        unit(forest.rate(n));
        prop_assert!(forest.holds(k) <= forest.holds(k.saturating_add(1)));
    }
}

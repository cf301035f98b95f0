//! Tests of blocks: published rates, sizing, moments.

use super::super::occupancy::hit_weights;
use super::super::testing::{assert_close, assert_prints};
use super::*;

const LINE: Layout = Layout { block_bits: 512, inner: Inner::Bits, blocks_per_key: 1 };
const WORD: Layout = Layout { block_bits: 64, inner: Inner::Bits, blocks_per_key: 1 };
const PARQUET: Layout = Layout { block_bits: 256, inner: Inner::Slices, blocks_per_key: 1 };

fn words(g: u32) -> Layout {
    Layout { blocks_per_key: g, ..WORD }
}

/// Mean and deviation of the ones over all ways to throw n keys of k probes into the blocks.
fn enumerated(layout: Layout, blocks: u64, n: u32, k: u32) -> (f64, f64) {
    let slice = layout.block_bits / u64::from(k);
    let ways = if layout.inner == Inner::Slices { slice } else { layout.block_bits };
    // A key is a block and k places.
    let keys: Vec<Vec<u64>> = (0..blocks * ways.pow(k))
        .map(|key| {
            let place = |i: u32| key / blocks / ways.pow(i) % ways;
            let inner = if layout.inner == Inner::Slices { slice } else { 0 };
            (0..k).map(|i| key % blocks * layout.block_bits + u64::from(i) * inner + place(i)).collect()
        })
        .collect();
    let mut sums = (0.0, 0.0);
    let total = keys.len().pow(n);
    for choice in 0..total {
        let chosen = (0..n).flat_map(|i| &keys[choice / keys.len().pow(i) % keys.len()]);
        let ones = f64::from(chosen.fold(0u64, |ones, place| ones | 1 << place).count_ones());
        sums = (sums.0 + ones, sums.1 + ones * ones);
    }
    let mean = sums.0 / total as f64;
    (mean, (sums.1 / total as f64 - mean * mean).max(0.0).sqrt())
}

#[test]
fn the_fill_of_few_blocks_with_few_keys_is_exact() {
    for inner in [Inner::Bits, Inner::Slices] {
        let layout = Layout { block_bits: 8, inner, blocks_per_key: 1 };
        for (blocks, n, k) in [(1, 1, 2), (1, 2, 2), (2, 2, 2), (3, 2, 2), (5, 3, 1), (2, 3, 1), (1, 3, 2)] {
            let bits = (8 * blocks) as f64;
            let ((mean, deviation), exact) = (fill(layout, 8 * blocks, n, k), enumerated(layout, blocks, n as u32, k));
            assert_close(mean * bits, exact.0, 1e-12);
            assert!((deviation * bits - exact.1).abs() < 1e-7, "{layout:?} {blocks} {n} {k}: {deviation} {exact:?}");
        }
    }
}

#[test]
fn blocked_rates_are_the_printed_ones() {
    for (layout, printed) in [(LINE, ["0.02326", "0.009665", "0.0008439"]), (WORD, ["0.03354", "0.01784", "0.004052"])]
    {
        for (c, printed) in [8.0, 10.0, 16.0].into_iter().zip(printed) {
            assert_prints(best_hashes(layout, c).1, printed);
        }
    }
    assert_prints(limit_rate(LINE, 10.0, 7), "0.0096860");
    assert_prints(rate(WORD, 1_000_000, 100_000, 5), "0.017844");
    // A million bits are 1953 whole cache lines, 64 bits short.
    assert_prints(rate(LINE, 1_000_000, 100_000, 7), "0.0096882");
}

#[test]
fn the_classic_inner_rate_is_too_low() {
    let classic: f64 =
        (0..200).map(|x| poisson(f64::from(x), 6.4) * power(-ln_miss(64.0, 5.0 * f64::from(x)).exp_m1(), 5.0)).sum();
    assert_prints(classic, "0.017051");
    assert!(limit_rate(WORD, 10.0, 5) > 1.04 * classic);
}

#[test]
fn blocked_sizes_are_the_printed_ones() {
    for (rate, k, printed) in [(0.01, 6, "9.92"), (0.001, 9, "15.55"), (1e-4, 12, "22.03")] {
        let (found, c) = best_for_rate(LINE, rate);
        assert_eq!(found, k);
        assert_prints(c, printed);
    }
    assert_prints(best_for_rate(WORD, 0.01).1, "12.14");
    assert_prints(best_for_rate(WORD, 0.001).1, "24.00");
}

#[test]
fn several_words_per_key_have_the_printed_rates() {
    for (c, table) in [
        (10.0, [(5, "0.01784"), (6, "0.01027"), (6, "0.00899")]),
        (16.0, [(6, "0.004052"), (8, "0.001125"), (9, "0.000703")]),
        (20.0, [(7, "0.00189"), (10, "0.000318"), (12, "0.000151")]),
    ] {
        for (g, (k, printed)) in (1..).zip(table) {
            assert_prints(limit_rate(words(g), c, k), printed);
        }
    }
}

#[test]
fn split_blocks_have_the_printed_rates_and_sizes() {
    let wide = Layout { block_bits: 512, ..PARQUET };
    for (c, narrow_rate, wide_rate) in [(10.0, "0.012648", "0.010490"), (16.0, "0.001316", "0.000909")] {
        assert_prints(limit_rate(PARQUET, c, 8), narrow_rate);
        assert_prints(limit_rate(wide, c, 8), wide_rate);
    }
    for (rate, printed) in [(0.1, "5.99"), (0.01, "10.53"), (1e-3, "16.89"), (1e-4, "26.34"), (1e-5, "40.99")] {
        assert_prints(bits_per_key(PARQUET, 8, rate), printed);
    }
}

#[test]
fn set_separation_is_a_sliced_block() {
    // Four sets of 8000 keys share 10,000 words of 64 bits, four sub-blocks each.
    let word = Layout { block_bits: 64, inner: Inner::Slices, blocks_per_key: 1 };
    assert_prints(rate(word, 640_000, 32_000, 4), "0.00307");
}

#[test]
fn one_block_is_a_flat_filter() {
    assert_close(rate(LINE, 512, 50, 7), super::super::standard::expected_rate(512, 50, 7), 1e-9);
    let large = Layout { block_bits: 1_000_000, ..LINE };
    assert_close(
        rate(large, 1_000_000, 100_000, 7),
        super::super::standard::expected_rate(1_000_000, 100_000, 7),
        1e-9,
    );
    let sliced = Layout { block_bits: 1022, ..PARQUET };
    assert_close(rate(sliced, 1022, 100, 7), super::super::partitioned::rate(1022, 100, 7), 1e-9);
}

#[test]
fn walking_and_sampling_agree() {
    // A block just above the limit for the exact walk, against one at it, scaled to the same load.
    let walked = limit_rate(Layout { block_bits: 1024, ..LINE }, 12.0, 8);
    let sampled = limit_rate(Layout { block_bits: 1025, ..LINE }, 12.0, 8);
    assert_close(sampled, walked, 2e-4);
}

#[test]
fn uneven_probes_equal_a_sum_over_two_kinds_of_arrivals() {
    // Two words per key and 7 probes: a direct sum over both kinds of arrivals.
    let found = limit_rate(words(2), 12.0, 7);
    let mean = 2.0 * 64.0 / 12.0;
    let mut moments = [0.0; 2];
    for (moment, probes) in moments.iter_mut().zip([3u32, 4]) {
        let hits = hit_weights(64, probes);
        // Arrivals with 3 and with 4 probes are independent Poisson streams of half the mean each.
        for threes in 0..60u32 {
            let mut block = Occupancy::new(64, 1e-40);
            block.throw_many(u128::from(3 * threes));
            for fours in 0..60u32 {
                let share = poisson(f64::from(threes), mean / 2.0) * poisson(f64::from(fours), mean / 2.0);
                *moment += share * block.mean_of(&hits);
                block.throw_many(4);
            }
        }
    }
    assert_close(found, moments[0] * moments[1], 1e-9);
}

/// The mixture as a plain sum over all arrivals, with nothing kept or left out.
fn direct(layout: Layout, c: f64, k: u32) -> f64 {
    let words = layout.blocks_per_key;
    let (base, extra) = (k / words, k % words);
    let share = f64::from(extra) / f64::from(words);
    let mean = layout.block_bits as f64 * f64::from(words) / c;
    let mut block = Occupancy::new(layout.block_bits, 1e-40);
    let hits = [base, base + 1].map(|probes| hit_weights(layout.block_bits, probes));
    let mut sums = [0.0; 3];
    for x in 0..=(mean + 12.0 * mean.sqrt() + 40.0) as u32 {
        let inner = match layout.inner {
            Inner::Bits => [block.mean_of(&hits[0]), block.mean_of(&hits[1])],
            Inner::Slices => inner_rates(layout, f64::from(x), base, share).into(),
        };
        for (sum, value) in sums.iter_mut().zip([1.0, inner[0], inner[1]]) {
            *sum += poisson(f64::from(x), mean) * value;
        }
        block.throw_many(u128::from(base));
        block.throw(share);
    }
    power(sums[1] / sums[0], f64::from(words - extra)) * power(sums[2] / sums[0], f64::from(extra))
}

#[test]
fn kept_inner_rates_give_the_direct_sum() {
    for layout in [LINE, WORD, words(2), words(3), PARQUET, Layout { blocks_per_key: 2, ..LINE }] {
        for k in [1, 2, 5, 8, 13, 24] {
            let mut kept = Mixture::new(layout, k);
            // Sizes up and down: the table is extended and read again.
            for c in [12.0, 40.0, 6.0, 1000.0, 2.0, 12.0] {
                let expected = direct(layout, c, k);
                assert_close(kept.limit_rate(c), expected, 1e-12);
                assert_close(limit_rate(layout, c, k), expected, 1e-12);
            }
        }
    }
}

#[test]
fn the_search_from_the_flat_optimum_finds_what_a_scan_of_all_hashes_finds() {
    fn scan(cost: impl Fn(u32) -> f64) -> (u32, f64) {
        (2..=MAX_HASHES).fold((1, cost(1)), |best, k| {
            let found = cost(k);
            if found < best.1 { (k, found) } else { best }
        })
    }
    let narrow = Layout { block_bits: 32, ..WORD };
    let sliced_word = Layout { inner: Inner::Slices, ..WORD };
    for layout in [narrow, WORD, words(2), words(3), words(4), PARQUET, sliced_word, LINE] {
        // Far below half a bit per key all rates are 1 but for rounding, and so is the order of the hashes.
        for c in [0.5, 1.0, 3.0, 10.0, 17.0, 33.0, 90.0] {
            assert_eq!(best_hashes(layout, c), scan(|k| limit_rate(layout, c, k)), "{layout:?} {c}");
        }
        let rates: &[f64] = if layout == LINE { &[0.01, 1e-3] } else { &[0.9, 0.3, 0.1, 0.01, 1e-3, 1e-4, 1e-6] };
        for &rate in rates {
            let (found, all) = (best_for_rate(layout, rate), scan(|k| bits_per_key(layout, k, rate)));
            assert_eq!(found, all, "{layout:?} {rate}");
        }
    }
    assert_eq!(best_for_rate(WORD, 1.0), (1, 0.0));
    assert_eq!(best_for_rate(WORD, 0.0), (1, f64::INFINITY));
    assert_eq!(best_hashes(WORD, f64::INFINITY), (1, 0.0));
}

#[test]
fn sizes_reach_their_rate_and_one_block_less_does_not() {
    for layout in [WORD, words(2), PARQUET] {
        for n in [1u64, 37, 1000, 100_000] {
            for asked in [0.1, 0.003] {
                let size = for_rate(layout, n, asked, None).unwrap();
                assert_eq!(size.bits % layout.block_bits, 0);
                assert!(rate(layout, size.bits, n, size.hashes) <= asked);
                assert!(rate(layout, size.bits - layout.block_bits, n, size.hashes) > asked, "{layout:?} {n} {asked}");
            }
        }
    }
    assert!(for_rate(WORD, 10, 0.0, None).is_err() && for_rate(WORD, 0, 0.1, None).is_err());
    assert!(for_rate(Layout { block_bits: 0, ..WORD }, 10, 0.1, None).is_err());
    assert!(for_rate(WORD, 10, 0.1, Some(0)).is_err());
    assert!(for_rate(WORD, 10, 1e-300, Some(1)).is_err());
}

/// Equal, or beyond 2^46 bits, where rounding errors are as large as a block, nearly so.
fn same(found: Option<Size>, expected: Option<Size>) -> bool {
    match (found, expected) {
        (Some(a), Some(b)) if b.bits > 1 << 46 => a.hashes == b.hashes && a.bits.abs_diff(b.bits) <= b.bits >> 40,
        _ => found == expected,
    }
}

#[test]
fn fast_sizing_finds_what_slow_sizing_finds() {
    let line = |blocks_per_key| Layout { blocks_per_key, ..LINE };
    let layouts = [LINE, WORD, words(2), words(3), words(5), line(2), line(3), Layout { block_bits: 256, ..LINE }];
    for layout in layouts {
        for rate in [0.5, 0.2, 0.05, 0.01, 1e-3, 1e-4, 1e-6, 1e-9] {
            for n in [1, 3, 100, 12_345, 1_000_000, 1_000_000_000] {
                let expected = oracle::for_rate(layout, n, rate, None).ok();
                let found = for_rate(layout, n, rate, None).ok();
                assert!(same(found, expected), "{layout:?}, {n} keys at {rate}: {found:?}, {expected:?}");
            }
        }
    }
}

#[test]
fn fast_sizing_with_given_hashes_finds_what_slow_sizing_finds() {
    let sliced = |block_bits| Layout { block_bits, ..PARQUET };
    for layout in [PARQUET, sliced(512), sliced(64), Layout { blocks_per_key: 2, ..PARQUET }, LINE, words(2)] {
        for k in [1, 2, 4, 7, 8, 16] {
            for rate in [0.9, 0.5, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-6, 1e-9] {
                for n in [1, 2, 10, 100, 1_000, 12_345, 1_000_000, 1_000_000_000] {
                    let expected = oracle::for_rate(layout, n, rate, Some(k)).ok();
                    let found = for_rate(layout, n, rate, Some(k)).ok();
                    assert!(same(found, expected), "{layout:?}, {n} keys at {rate}, {k}: {found:?}, {expected:?}");
                }
            }
        }
    }
}

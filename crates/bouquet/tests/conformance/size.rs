//! The reported size is the real size.

use bouquet::capability::NoteType;
use bouquet::codec::Header;
use bouquet::kind::{Config, Plan, Verb};
use bouquet::{AnyFilter, Error};

use crate::subject::{Because, Keys, Subject, Verdict};

laws! {
    the_reported_size_is_that_of_the_stores needs [];
    nothing_large_hides_outside_the_stores needs [];
    the_plan_is_kept needs [];
    the_plan_is_what_a_filter_takes needs [] with every_setting;
}

const ITEMS: u64 = 2_000;

fn filters(subject: &Subject) -> Result<Vec<AnyFilter>, String> {
    let mut filters = vec![subject.empty(&subject.config(ITEMS, 0.01)?)?];
    for (items, fpr, load) in [(100, 0.1, 100), (ITEMS, 0.01, ITEMS / 2), (ITEMS, 0.01, ITEMS), (ITEMS, 0.001, ITEMS)] {
        filters.push(subject.filled(items, fpr, 0..load)?);
    }
    Ok(filters)
}

fn the_reported_size_is_that_of_the_stores(subject: &Subject) -> Verdict {
    for filter in filters(subject)? {
        let header = Header::read(&filter.to_bytes()).because("reading the frame")?;
        let reported = filter.stats().bits;
        // A store ends on a word; a coded one is smaller in the frame than in memory, so its stated bits are compared.
        let real = if header.is_coded() { header.store_bits() } else { header.store_bytes() * 8 };
        let padding = 64 * header.stores() as u64;
        // Other settings may keep beside the stores what follows from them, and tell of it.
        let told = real.abs_diff(reported) <= padding || !subject.is_usual() && reported > real;
        ensure!(told, "reported {reported} bits, stored {real} in {} stores", header.stores());
    }
    Ok(())
}

fn nothing_large_hides_outside_the_stores(subject: &Subject) -> Verdict {
    for filter in filters(subject)? {
        let (rest, allowed, whole) = outside_the_stores(&filter)?;
        if rest <= allowed {
            continue;
        }
        // What is left over when a filter is built once may be kept as it is, if it hardly grows with the keys.
        let is_built = !subject.can(Verb::Insert) && !subject.is_usual();
        ensure!(is_built, "{rest} of {whole} bytes are outside the stores, allowed {allowed}");
        let (more, ..) = outside_the_stores(&subject.filled(64 * ITEMS, 0.01, 0..64 * ITEMS)?)?;
        ensure!(more <= 4 * rest, "{rest} bytes are outside the stores, {more} with 64 times as many keys");
    }
    Ok(())
}

/// The bytes outside the stores, those that prelude, settings and a little state may take, with the row, padding and state of
/// each store, and all bytes.
fn outside_the_stores(filter: &AnyFilter) -> Result<(u64, u64, usize), String> {
    let frame = filter.to_bytes();
    let header = Header::read(&frame).because("reading the frame")?;
    Ok((frame.len() as u64 - header.store_bytes(), 1_024 + 256 * header.stores() as u64, frame.len()))
}

fn the_plan_is_kept(subject: &Subject) -> Verdict {
    for (items, fpr) in [(1, 0.5), (100, 0.1), (ITEMS, 0.01), (5_000, 0.0001)] {
        let config = subject.config(items, fpr)?;
        let plan = subject.kind.plan(&config).because("planning")?;
        let filter = subject.filled(items, fpr, 0..items)?;
        let stats = filter.stats();
        if subject.has_parameter("items") {
            ensure!(plan.items == Some(items), "planned for {:?} items instead of {items}", plan.items);
        }
        // What grows by itself has at full load what it was planned for, give or take a step of its growth.
        let grows = subject.can(Verb::Grow);
        // Keys that are kept by name come on top.
        let is_built = !subject.can(Verb::Insert);
        let names = filter.can(Verb::Top) && !filter.top().because("top")?.top().is_empty();
        let whole = subject.is_usual() && !names || is_built;
        let made = if whole { stats.bits } else { subject.empty(&config)?.stats().bits };
        // What is built once with other settings is planned for what is expected of many random keys.
        let near = plan.bits.abs_diff(made) <= plan.bits / 10 + 1_024;
        let expects = subject.kind.size_follows_data() || !subject.is_usual();
        let expected = is_built && expects && (near || items < ITEMS && made <= plan.bits);
        ensure!(plan.bits == made || grows || expected, "planned {} bits, made {made}", plan.bits);
        let few = expected && items < ITEMS;
        ensure!(plan.hashes == stats.hashes || grows || few, "planned {} hashes, made {}", plan.hashes, stats.hashes);
        // A plan spreads the items evenly over the sets, where there are some.
        let even = subject.note_type() != NoteType::Group || items.is_multiple_of(subject.sets());
        if let (Some(planned), Some(expected)) = (plan.fpr, filter.expected(items).false_positive)
            && even
            && !grows
        {
            let close = (planned - expected).abs() <= 1e-9 * expected;
            // Few keys of a cascade are kept as they are, and values that no key has cost no errors: the plan is for all values.
            let built_for = is_built && !subject.is_usual() && expected <= 1.1 * planned;
            ensure!(close || built_for, "planned the rate {planned}, expected {expected} with {items} items");
        }
    }
    Ok(())
}

fn the_plan_is_what_a_filter_takes(subject: &Subject) -> Verdict {
    for (items, fpr) in [(1, 0.5), (100, 0.1), (ITEMS, 0.01)] {
        let config = subject.config(items, fpr)?;
        // Words may want a size of their own, which they name; that is the parameters' law.
        let Ok(plan) = subject.kind.plan(&config) else { continue };
        takes_what_is_planned(subject, &config, &plan, &subject.empty(&config)?)
            .map_err(|why| format!("{items} items at rate {fpr}: {why}"))?;
    }
    Ok(())
}

/// An empty filter has the bits that are planned, or the filter with the items that are.
pub fn takes_what_is_planned(subject: &Subject, config: &Config, plan: &Plan, empty: &AnyFilter) -> Verdict {
    let made = empty.stats().bits;
    // What is built once follows its data: its plan is an expectation, which `the_plan_is_kept` compares.
    if made == plan.bits || !empty.can(Verb::Insert) {
        return Ok(());
    }
    ensure!(made < plan.bits, "planned {} bits, made {made} without a key", plan.bits);
    // What grows has its size when it needs it, give or take a step of its growth.
    if empty.can(Verb::Grow) {
        return Ok(());
    }
    let full = match plan.items {
        Some(items) => subject.try_build(config, &Keys::new(0..items)),
        None => return Err(format!("planned {} bits, made {made}, for no number of items", plan.bits)),
    };
    match full.map(|filter| filter.stats().bits) {
        Ok(full) => ensure!(full == plan.bits, "planned {} bits, made {made}, and {full} when full", plan.bits),
        // Settings that do not take the suite's keys, or not this many.
        Err(Error::Item { .. } | Error::Full { .. }) => {}
        Err(error) => return Err(format!("building: {error}")),
    }
    Ok(())
}

//! Frames with forged fields and right checksums are refused, or what they give works: every verb leaves a frame that opens.
//!
//! Numbers of the state, the settings and the stores are replaced by those at which sums overflow, sizes explode and counts
//! run out, at every place and not only where a field begins.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use bouquet::hash::SplitMix;
use bouquet::{AnyFilter, OpenOptions};

use crate::every_verb::{Change, every_question_is_answered, opens, random_keys};
use crate::layout;
use crate::subject::{Because, Keys, Subject, Verdict};

laws! {
    forged_frames_are_refused_or_work needs [] with every_setting;
}

/// Frames that are forged of a kind with its usual settings, and with others.
const FORGED: u64 = 1_000;
const FORGED_OF_OTHERS: u64 = 60;

/// Of the usual ones this many at least must be accepted: otherwise nothing would be tried.
const LEAST_ACCEPTED: u64 = 50;

const KEYS: u64 = 20;

fn forged_frames_are_refused_or_work(subject: &Subject) -> Verdict {
    let config = subject.config(KEYS, 0.05)?;
    let filled = subject.try_build(&config, &Keys::new(0..KEYS - 5));
    // Settings that do not take the suite's keys have an empty filter.
    let sound = filled.or_else(|_| AnyFilter::new_of_kind(subject.kind, &config)).because("a filter to forge")?;
    let frame = sound.to_bytes();
    let mut random = SplitMix::new(5);
    let forged = if subject.is_usual() { FORGED } else { FORGED_OF_OTHERS };
    let mut accepted = 0;
    for number in 0..forged {
        let (what, forged) = forge(&frame, &mut random);
        let tried = catch_unwind(AssertUnwindSafe(|| works(subject, &sound, &forged, &mut random)));
        let works = tried.unwrap_or_else(|_| Err("something panics".into()));
        accepted += u64::from(works.map_err(|why| format!("forged frame {number}, {what}: {why}"))?);
    }
    ensure!(
        !subject.is_usual() || accepted >= LEAST_ACCEPTED,
        "only {accepted} of {forged} forged frames are accepted"
    );
    Ok(())
}

/// The frame with one field, or sometimes two, of other content, and what was done to it.
fn forge(frame: &[u8], random: &mut SplitMix) -> (String, Vec<u8>) {
    let mut forged = frame.to_vec();
    let parts = layout::parts(frame);
    let mut done = Vec::new();
    for _ in 0..1 + random.below(4) / 3 {
        let (name, part) = match random.below(8) {
            0..=3 => ("state", &parts.state),
            4 | 5 => ("settings", &parts.parameters),
            _ => ("stores", &parts.stores),
        };
        if !part.is_empty() {
            let at = part.start + random.below(part.len() as u64) as usize;
            done.push(format!("{name} at {}", at - part.start));
            overwrite(&mut forged, at..part.end, random);
        }
    }
    layout::fix_checksums(&mut forged);
    (done.join(" and "), forged)
}

/// Replaces the first byte, four or eight of the range.
fn overwrite(frame: &mut [u8], range: Range<usize>, random: &mut SplitMix) {
    let width = [1, 4, 8][random.below(3) as usize].min(range.len());
    let field = &mut frame[range.start..range.start + width];
    let mut old = [0; 8];
    old[..width].copy_from_slice(field);
    let old = u64::from_le_bytes(old);
    let new = match random.below(16) {
        0 => 0,
        1 => 1,
        2 => u64::MAX,
        3 => old.wrapping_add(1),
        4 => old.wrapping_sub(1),
        5 => old ^ 1 << random.below(64),
        6 => 1 << 62,
        7 => i64::MAX as u64,
        8 => 1 << 63,
        9 => u64::from(u32::MAX),
        10 => 1 << 31,
        11 => f64::NAN.to_bits(),
        12 => f64::INFINITY.to_bits(),
        13 => (-1.0f64).to_bits(),
        14 => 1e300f64.to_bits(),
        _ => random.next_u64(),
    };
    field.copy_from_slice(&new.to_le_bytes()[..width]);
}

/// Whether the frame is accepted; then all that can be done with its filter leaves a frame that opens.
fn works(
    subject: &Subject,
    sound: &AnyFilter,
    forged: &[u8],
    random: &mut SplitMix,
) -> std::result::Result<bool, String> {
    let options = OpenOptions { max_coded_bits: Some(1 << 22), ..subject.options() };
    let filter = match AnyFilter::from_bytes_with(forged, &options) {
        Ok(filter) => filter,
        Err(error) => {
            ensure!(!error.to_string().is_empty(), "refused without a word");
            return Ok(false);
        }
    };
    let first = opens(subject, "at once", &filter)?;
    every_question_is_answered(subject, &first)?;
    let mut filter = first.clone();
    let mut changes = Change::all(&filter);
    let mut done = Vec::new();
    // Each once, in any order: what one of them leaves is what the next one finds.
    while !changes.is_empty() {
        let change = changes.swap_remove(random.below(changes.len() as u64) as usize);
        let keys = random_keys(random);
        let other = if random.below(2) == 0 { &first } else { sound };
        let items = subject.items(&sound.config(), &keys);
        let outcome = change.apply(subject, &mut filter, &items, || Ok(other.clone()), random);
        done.push(format!("{}{}", change.name(), if outcome.is_ok() { "" } else { " (refused)" }));
        filter = opens(subject, &format!("after {}", done.join(", ")), &filter)?;
    }
    every_question_is_answered(subject, &filter)?;
    Ok(true)
}

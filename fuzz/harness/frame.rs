//! Valid frames and edits.

use std::cell::RefCell;
use std::collections::HashMap;

use bouquet::AnyFilter;
use bouquet::capability::{Dataset, Item};
use bouquet::hash::SplitMix;
use bouquet::kind::{Config, Kind, Verb};

use super::input::{Input, OwnedNote};
use super::layout::{ALIGNMENT, PRELUDE, Parts, ROW, body, fix_layout, parts, put, word};

/// Bytes for the decisions of a variant.
fn decisions(variant: u16, attempt: u64) -> Vec<u8> {
    let mut random = SplitMix::new(u64::from(variant) << 32 | attempt);
    (0..64).flat_map(|_| random.next_u64().to_le_bytes()).collect()
}

/// Settings of a small filter of the kind, by variant. They are kept, because planning a filter takes longer than all
/// that the harness does with it.
pub fn small_config(kind: &'static Kind, variant: u16) -> Option<Config> {
    type Configs = HashMap<(u16, u16), Option<Config>>;
    thread_local! {
        static CONFIGS: RefCell<Configs> = RefCell::default();
    }
    let make = |attempt| {
        let asked = Input(&decisions(variant, attempt)).config(kind)?;
        // What the filter itself says is quicker to make a filter of; one that is built is not planned before its keys.
        if kind.can(Verb::BuildFrom) { Some(asked) } else { Some(AnyFilter::new(&asked).ok()?.config()) }
    };
    // Not every choice of settings can be had: the first good one of some tries.
    let make = || (0..20).find_map(make);
    CONFIGS.with_borrow_mut(|configs| configs.entry((kind.facts().number, variant)).or_insert_with(make).clone())
}

/// A small filter of the kind; its settings, hashing and keys follow from the variant.
fn small_filter(kind: &'static Kind, variant: u8) -> Option<AnyFilter> {
    let config = small_config(kind, variant.into())?;
    // Not every choice of keys and values fits the settings.
    (0..20).find_map(|attempt| {
        let bytes = decisions(variant.into(), 1000 + attempt);
        let mut input = Input(&bytes);
        let shape = input.shape(&config);
        let mut items: Vec<(Vec<u8>, OwnedNote)> = Vec::new();
        for _ in 0..variant % 16 {
            let (key, note) = (input.key(&shape), input.note(kind.facts().note, &shape));
            if items.iter().all(|(known, _)| *known != key) {
                items.push((key, note));
            }
        }
        let items: Vec<_> = items.iter().map(|(key, note)| Item::new(key, note.as_note())).collect();
        let filter = AnyFilter::build(&config, &Dataset { items: &items, absent: &[] }).ok()?;
        (filter.stats().bits <= 1 << 16).then_some(filter)
    })
}

/// The frame of a small filter, coded or raw.
pub fn small_frame(kind: &'static Kind, variant: u8, coded: bool) -> Option<Vec<u8>> {
    type Frames = HashMap<(u16, u8), Option<(Vec<u8>, Vec<u8>)>>;
    thread_local! {
        static FRAMES: RefCell<Frames> = RefCell::default();
    }
    FRAMES.with_borrow_mut(|frames| {
        let make = || small_filter(kind, variant).map(|filter| (filter.to_bytes(), filter.to_compressed_bytes()));
        let (raw, compressed) = frames.entry((kind.facts().number, variant)).or_insert_with(make).as_ref()?;
        Some(if coded { compressed.clone() } else { raw.clone() })
    })
}

/// Edits the frame as the input says.
pub fn edit(frame: &mut Vec<u8>, input: &mut Input<'_>) {
    for _ in 0..64 {
        if input.is_empty() || frame.is_empty() || frame.len() > 1 << 16 {
            return;
        }
        let op = input.u8();
        let range = part(frame, op >> 4);
        let at = range.start + input.below(range.len());
        match op & 0x0f {
            0..=3 => frame[at] = input.u8(),
            4..=5 => frame[at] ^= 1 << (input.u8() % 8),
            6 => frame[at] = frame[at].wrapping_add(1),
            7 => frame[at] = frame[at].wrapping_sub(1),
            8..=11 => {
                let word = input.hostile().to_le_bytes();
                frame[at..].iter_mut().zip(word).for_each(|(byte, new)| *byte = new);
            }
            12 => frame.truncate(at),
            13 if op >= 0x80 => lengthen(frame, input),
            13 => frame.extend(std::iter::repeat_n(op >> 4, usize::from(input.u8()))),
            14 => {
                let end = (at + usize::from(input.u8())).min(frame.len());
                frame.drain(at..end);
            }
            _ => {
                let end = (at + usize::from(input.u8())).min(frame.len());
                let copy = frame[at..end].to_vec();
                let to = input.below(frame.len());
                frame.splice(to..to, copy);
            }
        }
    }
}

/// Lengthens a store by some words of zeros and adds their number to a word of another store, which may be its length: what
/// a frame says twice must be changed twice to get behind the first check.
fn lengthen(frame: &mut Vec<u8>, input: &mut Input<'_>) {
    let Some((body, stores)) = body(frame).filter(|&(_, stores)| stores > 0) else { return };
    let words = [1, 16, 255, 4096, 70_000][input.below(5)];
    let row = PRELUDE + input.below(stores) * ROW;
    let fields = word(frame, row, 8).zip(word(frame, row + 8, 8)).zip(word(frame, row + 16, 8));
    let Some(((offset, len), bits)) = fields.filter(|((offset, len), _)| *offset <= 1 << 20 && *len <= 1 << 20) else {
        return;
    };
    let more = (len + 8 * words).next_multiple_of(ALIGNMENT) - len.next_multiple_of(ALIGNMENT);
    if offset + len > frame.len() || body >= offset {
        return;
    }
    let told = body + 8 * input.below((offset - body) / 8);
    let number = word(frame, told, 8).unwrap_or(0);
    put(frame, told, (number as u64).wrapping_add(words as u64));
    frame.splice(offset + len..offset + len, std::iter::repeat_n(0, more));
    put(frame, row + 8, (len + 8 * words) as u64);
    put(frame, row + 16, (bits as u64).wrapping_add(64 * words as u64));
    fix_layout(frame);
}

/// The part of the frame that an edit is for; parts that decide much get more edits than their length deserves.
fn part(frame: &[u8], choice: u8) -> std::ops::Range<usize> {
    let Parts { table, parameters, state, .. } = parts(frame);
    let range = match choice {
        0..=2 => 0..PRELUDE,
        3..=4 => table,
        5..=7 => parameters,
        8..=10 => state,
        11 => state.start..state.start + 1,
        12..=13 => state.end..frame.len(),
        _ => 0..frame.len(),
    };
    // Earlier edits may have left no such part.
    if range.start < range.end && range.end <= frame.len() { range } else { 0..frame.len() }
}

use bouquet::hash::replication::fig2;

use super::papers::TARKOMA;
use crate::{Axis, Claim, Experiment, Lab, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "survey000-fig2",
    paper: &TARKOMA,
    place: "Figure 2",
    title: "a filter of 16 bits with MD5, SHA-1 and CRC-32",
    run,
};

const BITS: u64 = 16;

fn mask(keys: &str) -> u16 {
    let positions = keys.bytes().filter_map(|key| fig2(&[key], BITS)).flatten();
    positions.fold(0, |mask, position| mask | 1 << position)
}

/// Set positions from left to right, as the text of the paper lists them.
fn positions(mask: u16) -> Vec<u32> {
    (0..BITS as u32).rev().filter(|position| mask >> position & 1 == 1).collect()
}

fn run(_: &Lab) -> Result<Report> {
    // Rows of the figure: the keys whose bits they show and the digits that are printed for them.
    let rows = [
        ("a", "000000001000001010"),
        ("b", "100000001100000000"),
        ("ab", "10000000110000001010"),
        ("y", "0010010000100000"),
        ("l", "010000000100010000"),
        ("abyl", "1110011110101010"),
        ("q", "001000000100000001"),
        ("z", "100001001000000000"),
    ];
    let names = rows.map(|(keys, _)| match keys {
        "ab" => "filter of a, b".into(),
        "abyl" => "filter of a, b, y, l".into(),
        key => key.to_string(),
    });
    let bits = |row: usize| positions(mask(rows[row].0)).into_iter().map(move |x| (f64::from(x), (7 - row) as f64));
    let of = |rows: &[usize]| rows.iter().flat_map(|&row| bits(row)).collect::<Vec<_>>();
    // Bit 15 stands at the left, as in the figure.
    let mirrored = |points: Vec<(f64, f64)>| points.into_iter().map(|(x, y)| (15.0 - x, y)).collect::<Vec<_>>();
    let plot = Plot::new(
        Axis::linear("position of the bit")
            .range(-0.5, 15.5)
            .named((0..16).map(|x| (15.0 - f64::from(x), x.to_string()))),
        Axis::linear("")
            .range(-0.5, 7.5)
            .named(names.iter().enumerate().map(|(row, name)| ((7 - row) as f64, name.clone()))),
    )
    .points("set by an added key", mirrored(of(&[0, 1, 3, 4])))
    .points("set in the filter", mirrored(of(&[2, 5])))
    .points("asked for by a query", mirrored(of(&[6, 7])));

    let texts = [
        ("positions after adding a and b", vec![15, 9, 8, 3, 1], positions(mask("ab"))),
        ("positions after adding y and l", vec![15, 14, 13, 10, 9, 8, 7, 5, 3, 1], positions(mask("abyl"))),
        ("position that a and b share", vec![8], positions(mask("a") & mask("b"))),
        ("positions that z asks for", vec![15, 10, 7], positions(mask("z"))),
        ("position that q misses", vec![0], positions(mask("q") & !mask("abyl"))),
    ];
    let texts =
        texts.map(|(what, said, found)| Claim::holds(what, format!("{said:?}"), format!("{found:?}"), said == found));
    let filter = mask("abyl");
    let strings = rows.iter().zip(&names).map(|((keys, printed), name)| {
        let found = format!("{:016b}", mask(keys));
        let claim = Claim::holds(format!("digits printed for {name}"), *printed, &found, *printed == found);
        let right = Claim::holds("digits of the positions that the text names", &found, &found, found.len() == 16);
        if claim.agrees { claim } else { claim.corrected(right) }
    });
    Ok(Report::new()
        .plot(plot)
        .claims(texts)
        .claim(Claim::holds("query for q", "not present", "not present", filter & mask("q") != mask("q")))
        .claim(Claim::holds("query for z", "a false positive", "a false positive", filter & mask("z") == mask("z")))
        .claims(strings)
        .note("The text is right throughout; six of the eight printed bit strings have 18 or 20 digits."))
}

//! The plots of records: time against the number of keys, and rate against bits per key.

use std::path::{Path, PathBuf};

use bouquet_plot::{Anchor, Axis, Colour, Frame, Mark, Picture, Place, Stroke, Text};

use crate::floor;
use crate::measure::Metric;
use crate::record::{Row, magnitude};

/// Writes every plot that the rows allow and says where; those of times show the contenders of `only`, or all when there is none.
/// Of rows for the same thing the last counts.
pub fn all(rows: &[Row], only: &[String], directory: &Path) -> Result<Vec<PathBuf>, String> {
    std::fs::create_dir_all(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let mut conditions: Vec<(&str, f64)> = rows.iter().map(|row| (row.keys.as_str(), row.fpr)).collect();
    conditions.sort_by(|a, b| a.0.cmp(b.0).then(b.1.total_cmp(&a.1)));
    conditions.dedup();

    let mut written = Vec::new();
    for (keys, fpr) in conditions {
        for metric in [Metric::Miss, Metric::BatchMiss] {
            let mut lines = lines(rows, keys, fpr, metric);
            lines.retain(|line| only.is_empty() || only.contains(&line.name));
            if lines.len() > 1 {
                let path = directory.join(format!("bench-{}-{keys}-{fpr}.svg", metric.name()));
                let what = if metric == Metric::Miss { "single calls" } else { "batch form" };
                let caption = format!("Lookup of an absent {} key, {} % asked for, {what}", spoken(keys), 100.0 * fpr);
                write(&path, &times(&caption, &lines))?;
                written.push(path);
            }
        }
    }
    let points = points(rows);
    if !points.is_empty() {
        let path = directory.join("bench-rate.svg");
        let caption = format!("False-positive rate and memory, {} keys", magnitude(most_measured(rows)));
        write(&path, &rates(&caption, &points))?;
        written.push(path);
    }
    Ok(written)
}

fn write(path: &Path, picture: &Picture) -> Result<(), String> {
    std::fs::write(path, picture.svg()).map_err(|error| format!("{}: {error}", path.display()))
}

fn spoken(keys: &str) -> &str {
    match keys {
        "u64" => "8-byte",
        "str24" => "24-byte",
        other => other,
    }
}

/// A contender and its points.
struct Line {
    name: String,
    points: Vec<(f64, f64)>,
    /// What each point was measured for, in ascending order.
    of: Vec<f64>,
}

/// A line per contender, in the order of the rows.
fn lines(rows: &[Row], keys: &str, fpr: f64, metric: Metric) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for row in rows.iter().filter(|row| row.keys == keys && row.fpr == fpr && row.metric == metric.name()) {
        insert(&mut lines, &row.contender, row.n as f64, (row.n as f64, row.median));
    }
    lines
}

/// The number of keys for which most rates were measured; of several the largest.
fn most_measured(rows: &[Row]) -> u64 {
    let rates = |n: u64| rows.iter().filter(|row| row.n == n && row.metric == Metric::Rate.name()).count();
    rows.iter().map(|row| row.n).max_by_key(|n| (rates(*n), *n)).unwrap_or(0)
}

/// Bits per key and measured rate at that number of keys, a line over the rates per contender. The types of keys
/// do not differ in this; the handle is the filter that it holds, and the floor is no filter to be used.
fn points(rows: &[Row]) -> Vec<Line> {
    let n = most_measured(rows);
    let mut lines: Vec<Line> = Vec::new();
    let rate = |row: &&Row| row.n == n && row.metric == Metric::Rate.name();
    for row in rows.iter().filter(rate).filter(|row| row.contender != floor::NAME && !row.contender.ends_with(HANDLE)) {
        let same = |other: &&Row| {
            (&other.contender, other.n, other.fpr, &other.keys) == (&row.contender, row.n, row.fpr, &row.keys)
                && other.metric == Metric::Bits.name()
        };
        // No false positive among the queries has no place on a logarithmic axis.
        if let Some(bits) = rows.iter().rfind(same).filter(|_| row.median > 0.0) {
            insert(&mut lines, &row.contender, -row.fpr, (bits.median, row.median));
        }
    }
    lines
}

fn insert(lines: &mut Vec<Line>, name: &str, of: f64, point: (f64, f64)) {
    let at = lines.iter().position(|line| line.name == name).unwrap_or_else(|| {
        lines.push(Line { name: name.into(), points: Vec::new(), of: Vec::new() });
        lines.len() - 1
    });
    let line = &mut lines[at];
    match line.of.binary_search_by(|other| other.total_cmp(&of)) {
        Ok(i) => line.points[i] = point,
        Err(i) => {
            line.of.insert(i, of);
            line.points.insert(i, point);
        }
    }
}

const SIZE: (f64, f64) = (1000.0, 620.0);
/// The end of a handle's name.
const HANDLE: &str = " (handle)";
/// Room for the names at the right of the times, and at the right of the rates, which stand beside sizes.
const NAMES: f64 = 250.0;
const NAMES_AND_SIZES: f64 = 310.0;
const LINE_HEIGHT: f64 = 16.0;
const SMALL: f64 = 12.0;

/// Warm colours for ours, cold ones for the peers, black for the floor; a handle has the colour of what it holds.
fn colour(lines: &[Line], at: usize) -> Colour {
    const OURS: [Colour; 8] = [
        Colour::new(200, 0, 60),
        Colour::new(225, 95, 0),
        Colour::new(160, 0, 140),
        Colour::new(215, 130, 0),
        Colour::new(120, 40, 0),
        Colour::new(235, 60, 120),
        Colour::new(150, 90, 60),
        Colour::new(110, 0, 70),
    ];
    const PEERS: [Colour; 8] = [
        Colour::new(0, 90, 180),
        Colour::new(0, 140, 90),
        Colour::new(60, 60, 160),
        Colour::new(0, 150, 170),
        Colour::new(90, 130, 0),
        Colour::new(80, 110, 150),
        Colour::new(0, 100, 60),
        Colour::new(110, 90, 200),
    ];
    if lines[at].name == floor::NAME {
        return Colour::BLACK;
    }
    let held = lines[at].name.strip_suffix(HANDLE).and_then(|held| lines.iter().position(|line| line.name == held));
    if let Some(held) = held {
        return colour(lines, held);
    }
    let of_family = |line: &&Line| ours(line) == ours(&lines[at]) && line.name != floor::NAME;
    let before = lines[..at].iter().filter(of_family).count();
    if ours(&lines[at]) { OURS[before % OURS.len()] } else { PEERS[before % PEERS.len()] }
}

fn ours(line: &Line) -> bool {
    line.name.starts_with("bouquet ")
}

/// The extremes of a coordinate, with some room around them.
fn range(values: impl Iterator<Item = f64> + Clone, room: f64) -> std::ops::Range<f64> {
    let (low, high) = (values.clone().fold(f64::INFINITY, f64::min), values.fold(0.0, f64::max));
    low / room..high * room
}

/// A picture with its caption over the frame, which leaves this much room at the right.
fn captioned(caption: &str, room: f64) -> (Picture, [f64; 4]) {
    let mut picture = Picture::new(SIZE.0, SIZE.1);
    let sides = [84.0, 36.0, SIZE.0 - room, SIZE.1 - 58.0];
    picture.text(((sides[0] + sides[2]) / 2.0, 20.0), caption, Text::new(20.0).anchored(Anchor::Middle));
    (picture, sides)
}

fn times(caption: &str, lines: &[Line]) -> Picture {
    let (mut picture, sides) = captioned(caption, NAMES);
    let all = || lines.iter().flat_map(|line| line.points.iter().copied());
    let (sizes, times) = (range(all().map(|(n, _)| n), 1.15), range(all().map(|(_, time)| time), 1.2));
    let named = all().map(|(n, _)| (n, magnitude(n.round() as u64)));
    let x = Axis::log("keys in the filter").range(sizes.start, sizes.end).named(distinct(named));
    let y = Axis::log("ns per lookup (median)").range(times.start, times.end);
    let frame = Frame::new(sides, &x, &y, std::iter::empty());
    frame.draw(&mut picture);

    let mut names = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let colour = colour(lines, at);
        let stroke = match (line.name == floor::NAME, ours(line)) {
            (true, _) => Stroke::new(colour, 3.0).dashed(8.0, 5.0),
            (_, true) => Stroke::new(colour, if line.name.ends_with(HANDLE) { 1.0 } else { 2.0 }),
            _ => Stroke::new(colour, 1.0).dashed(3.0, 3.0),
        };
        for path in frame.paths(line.points.iter().copied()) {
            picture.path(&path, stroke);
        }
        let places: Vec<Place> = line.points.iter().filter_map(|point| frame.at(point.0, point.1)).collect();
        for place in &places {
            picture.mark(*place, mark(line), colour);
        }
        if let Some(last) = places.last() {
            names.push((*last, line.name.as_str(), colour));
        }
    }
    label(&mut picture, names);
    picture
}

/// Values with their names in ascending order, each once.
fn distinct(named: impl Iterator<Item = (f64, String)>) -> Vec<(f64, String)> {
    let mut named: Vec<_> = named.collect();
    named.sort_by(|a, b| a.0.total_cmp(&b.0));
    named.dedup();
    named
}

/// Discs for ours, crosses for the others.
fn mark(line: &Line) -> Mark {
    if ours(line) { Mark::Disc } else { Mark::Cross }
}

/// Marked numbers of bits.
const BITS: [f64; 12] = [5.0, 6.0, 8.0, 10.0, 12.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0];

/// Writes names at the right of the points where their lines end, in the order of the ends, none over another.
fn label(picture: &mut Picture, mut names: Vec<(Place, &str, Colour)>) {
    names.sort_by(|(a, ..), (b, ..)| a.1.total_cmp(&b.1));
    let mut heights: Vec<f64> = names.iter().map(|(at, ..)| at.1).collect();
    for i in 1..heights.len() {
        heights[i] = heights[i].max(heights[i - 1] + LINE_HEIGHT);
    }
    let mut lowest = SIZE.1 - LINE_HEIGHT;
    for height in heights.iter_mut().rev() {
        *height = height.min(lowest);
        lowest = *height - LINE_HEIGHT;
    }
    let left = SIZE.0 - NAMES + 24.0;
    for ((at, name, colour), height) in names.iter().zip(heights) {
        let leader = Stroke::new(colour.faded(0.5), 1.0);
        picture.path(&[(at.0 + 6.0, at.1), (left - 4.0, height)], leader);
        picture.text((left, height), name, Text::new(SMALL).coloured(*colour));
    }
}

fn rates(caption: &str, lines: &[Line]) -> Picture {
    let (mut picture, sides) = captioned(caption, NAMES_AND_SIZES);
    let all = || lines.iter().flat_map(|line| line.points.iter().copied());
    let (bits, measured) = (range(all().map(|(bits, _)| bits), 1.15), range(all().map(|(_, rate)| rate), 1.6));
    let x = Axis::log("bits per key").range(bits.start, bits.end).ticks(BITS);
    let y = Axis::log("measured false-positive rate").range(measured.start, measured.end).in_percent();
    let frame = Frame::new(sides, &x, &y, std::iter::empty());
    frame.draw(&mut picture);

    // The best that a Bloom filter can do, 2^(-b ln 2), and any filter, 2^-b.
    for (name, per_bit, grey) in [("Bloom filters' limit", 2f64.ln(), 0.8), ("any filter's limit", 1.0, 0.4)] {
        let at = |i: u32| bits.start * (bits.end / bits.start).powf(f64::from(i) / 200.0);
        let grey = Colour::BLACK.faded(grey);
        for path in frame.paths((0..=200).map(at).map(|bits| (bits, (-bits * per_bit).exp2()))) {
            picture.path(&path, Stroke::new(grey, 1.0));
            if let Some((x, y)) = path.last() {
                picture.text((x + 4.0, y - 8.0), name, Text::new(SMALL).coloured(grey));
            }
        }
    }

    let left = SIZE.0 - NAMES_AND_SIZES + 18.0;
    let top = (SIZE.1 - LINE_HEIGHT * (lines.len() as f64 + 1.0)) / 2.0;
    let text = Text::new(SMALL);
    picture.text((left + 14.0, top), "bits per key", text.coloured(Colour::BLACK.faded(0.6)));
    for (at, line) in lines.iter().enumerate() {
        let colour = colour(lines, at);
        for path in frame.paths(line.points.iter().copied()) {
            picture.path(&path, Stroke::new(colour.faded(0.35), 1.0));
        }
        for place in line.points.iter().filter_map(|point| frame.at(point.0, point.1)) {
            picture.mark(place, mark(line), colour);
        }
        let height = top + LINE_HEIGHT * (at as f64 + 1.0);
        let sizes: Vec<String> = line.points.iter().map(|(bits, _)| format!("{bits:.1}")).collect();
        picture.mark((left, height), mark(line), colour);
        let name = format!("{}: {}", line.name, sizes.join(", "));
        picture.text((left + 14.0, height), &name, text.coloured(colour));
    }
    picture
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(contender: &str, n: u64, metric: Metric, median: f64) -> Row {
        let (keys, unit, contender) = ("u64".into(), metric.unit().into(), contender.into());
        let metric = metric.name().into();
        Row { keys, n, fpr: 0.01, contender, metric, unit, median, min: median, max: median, floor_ratio: None }
    }

    #[test]
    fn plots_name_every_contender() {
        let mut rows = Vec::new();
        for (at, name) in [floor::NAME, "bouquet one", "peer two"].into_iter().enumerate() {
            for n in [1_000, 1_000_000] {
                rows.push(row(name, n, Metric::Miss, (at + 1) as f64 * (n as f64).log10()));
                rows.push(row(name, n, Metric::Rate, 0.01));
                rows.push(row(name, n, Metric::Bits, 10.0 + at as f64));
            }
        }
        let directory = std::env::temp_dir().join(format!("bench-plots-{}", std::process::id()));
        let written = all(&rows, &[], &directory).unwrap();
        let texts: Vec<String> = written.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
        std::fs::remove_dir_all(&directory).unwrap();
        assert_eq!(texts.len(), 2);
        assert!(texts.iter().all(|text| text.contains("bouquet one") && text.contains("peer two")));
        assert!(texts[0].contains("10^6") && texts[0].contains(floor::NAME) && !texts[1].contains(floor::NAME));
    }

    #[test]
    fn the_last_of_equal_rows_counts() {
        let rows = [row("peer", 1_000, Metric::Miss, 5.0), row("peer", 1_000, Metric::Miss, 7.0)];
        assert_eq!(lines(&rows, "u64", 0.01, Metric::Miss)[0].points, [(1_000.0, 7.0)]);
    }
}

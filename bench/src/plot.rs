//! The plots of records: time against the number of keys, and rate against bits per key.

use std::path::{Path, PathBuf};

use plotters::coord::Shift;
use plotters::coord::combinators::WithKeyPoints;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

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
                times(&path, &caption, &lines).map_err(|error| format!("{}: {error}", path.display()))?;
                written.push(path);
            }
        }
    }
    let points = points(rows);
    if !points.is_empty() {
        let path = directory.join("bench-rate.svg");
        let caption = format!("False-positive rate and memory, {} keys", magnitude(most_measured(rows)));
        rates(&path, &caption, &points).map_err(|error| format!("{}: {error}", path.display()))?;
        written.push(path);
    }
    Ok(written)
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

type Failure = Box<dyn std::error::Error>;
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

const SIZE: (u32, u32) = (1000, 620);
/// The end of a handle's name.
const HANDLE: &str = " (handle)";
/// Room for the names at the right.
const NAMES: u32 = 250;
const LINE_HEIGHT: i32 = 16;
const SMALL: i32 = 13;

/// Warm colours for ours, cold ones for the peers, black for the floor; a handle has the colour of what it holds.
fn colour(lines: &[Line], at: usize) -> RGBColor {
    const OURS: [RGBColor; 8] = [
        RGBColor(200, 0, 60),
        RGBColor(225, 95, 0),
        RGBColor(160, 0, 140),
        RGBColor(215, 130, 0),
        RGBColor(120, 40, 0),
        RGBColor(235, 60, 120),
        RGBColor(150, 90, 60),
        RGBColor(110, 0, 70),
    ];
    const PEERS: [RGBColor; 8] = [
        RGBColor(0, 90, 180),
        RGBColor(0, 140, 90),
        RGBColor(60, 60, 160),
        RGBColor(0, 150, 170),
        RGBColor(90, 130, 0),
        RGBColor(80, 110, 150),
        RGBColor(0, 100, 60),
        RGBColor(110, 90, 200),
    ];
    if lines[at].name == floor::NAME {
        return BLACK;
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

fn font(size: i32) -> TextStyle<'static> {
    TextStyle::from(("sans-serif", size).into_font()).pos(Pos::new(HPos::Left, VPos::Center))
}

/// The extremes of a coordinate, with some room around them.
fn range(values: impl Iterator<Item = f64> + Clone, room: f64) -> std::ops::Range<f64> {
    let (low, high) = (values.clone().fold(f64::INFINITY, f64::min), values.fold(0.0, f64::max));
    low / room..high * room
}

fn times(path: &Path, caption: &str, lines: &[Line]) -> Result<(), Failure> {
    let root = SVGBackend::new(path, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let all = || lines.iter().flat_map(|line| line.points.iter().copied());
    let vertical = range(all().map(|(_, time)| time), 1.2);
    let mut sizes: Vec<f64> = all().map(|(n, _)| n).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    let mut chart = ChartBuilder::on(&root)
        .caption(caption, ("sans-serif", 20))
        .margin(10)
        .margin_right(NAMES)
        .x_label_area_size(48)
        .y_label_area_size(60)
        .build_cartesian_2d(
            range(all().map(|(n, _)| n), 1.15).log_scale().with_key_points(sizes),
            vertical.clone().log_scale().with_key_points(one_two_five(&vertical)),
        )?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.12))
        .x_desc("keys in the filter")
        .y_desc("ns per lookup (median)")
        .axis_desc_style(("sans-serif", 15))
        .label_style(("sans-serif", SMALL))
        .x_label_formatter(&|n| magnitude(n.round() as u64))
        .y_label_formatter(&|time| format!("{time}"))
        .draw()?;

    let mut names = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let colour = colour(lines, at);
        let points = line.points.iter().copied();
        if line.name == floor::NAME {
            chart.draw_series(DashedLineSeries::new(points.clone(), 8, 5, BLACK.stroke_width(3)))?;
        } else if ours(line) {
            let width = if line.name.ends_with(HANDLE) { 1 } else { 2 };
            chart.draw_series(LineSeries::new(points.clone(), colour.stroke_width(width)))?;
        } else {
            chart.draw_series(DashedLineSeries::new(points.clone(), 3, 3, colour.stroke_width(1)))?;
        }
        mark(&mut chart, points, colour, ours(line))?;
        if let Some(last) = line.points.last() {
            names.push((chart.backend_coord(last), line.name.clone(), colour));
        }
    }
    label(&root, names)?;
    root.present()?;
    Ok(())
}

type Axis = WithKeyPoints<LogCoord<f64>>;

/// Discs for ours, crosses for the others.
fn mark(
    chart: &mut ChartContext<'_, SVGBackend<'_>, Cartesian2d<Axis, Axis>>,
    points: impl Iterator<Item = (f64, f64)>,
    colour: RGBColor,
    ours: bool,
) -> Result<(), Failure> {
    if ours {
        chart.draw_series(points.map(|point| Circle::new(point, 4, colour.filled())))?;
    } else {
        chart.draw_series(points.map(|point| Cross::new(point, 4, colour.stroke_width(2))))?;
    }
    Ok(())
}

/// Marked numbers of bits.
const BITS: [f64; 12] = [5.0, 6.0, 8.0, 10.0, 12.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0];

/// 1, 2, 5, 10, 20, .. in a range.
fn one_two_five(range: &std::ops::Range<f64>) -> Vec<f64> {
    let decades = (range.start.log10().floor() as i32)..=(range.end.log10().ceil() as i32);
    // Parsed, for 10^-3 computed is not 0.001.
    let steps = decades.flat_map(|decade| [1, 2, 5].map(|step| format!("{step}e{decade}").parse().unwrap_or(0.0)));
    steps.filter(|step| range.contains(step)).collect()
}

/// Writes names at the right of the points where their lines end, in the order of the ends, none over another.
fn label(root: &Area<'_>, mut names: Vec<((i32, i32), String, RGBColor)>) -> Result<(), Failure> {
    names.sort_by_key(|(at, _, _)| at.1);
    let mut heights: Vec<i32> = names.iter().map(|(at, _, _)| at.1).collect();
    for i in 1..heights.len() {
        heights[i] = heights[i].max(heights[i - 1] + LINE_HEIGHT);
    }
    let mut lowest = SIZE.1 as i32 - LINE_HEIGHT;
    for height in heights.iter_mut().rev() {
        *height = (*height).min(lowest);
        lowest = *height - LINE_HEIGHT;
    }
    let left = (SIZE.0 - NAMES) as i32 + 24;
    for ((at, name, colour), height) in names.iter().zip(heights) {
        let leader = vec![(at.0 + 6, at.1), (left - 4, height)];
        root.draw(&PathElement::new(leader, colour.mix(0.5)))?;
        root.draw(&Text::new(name.clone(), (left, height), font(SMALL).color(colour)))?;
    }
    Ok(())
}

fn rates(path: &Path, caption: &str, lines: &[Line]) -> Result<(), Failure> {
    let root = SVGBackend::new(path, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let all = || lines.iter().flat_map(|line| line.points.iter().copied());
    let (bits, measured) = (range(all().map(|(bits, _)| bits), 1.15), range(all().map(|(_, rate)| rate), 1.6));
    let mut chart = ChartBuilder::on(&root)
        .caption(caption, ("sans-serif", 20))
        .margin(10)
        .margin_right(NAMES + 60)
        .x_label_area_size(48)
        .y_label_area_size(76)
        .build_cartesian_2d(
            bits.clone().log_scale().with_key_points(BITS.into_iter().filter(|b| bits.contains(b)).collect()),
            measured.clone().log_scale().with_key_points(one_two_five(&measured)),
        )?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.12))
        .x_desc("bits per key")
        .y_desc("measured false-positive rate")
        .axis_desc_style(("sans-serif", 15))
        .label_style(("sans-serif", SMALL))
        .x_label_formatter(&|bits| format!("{bits:.0}"))
        .y_label_formatter(&|rate| percent(*rate))
        .draw()?;

    // The best that a Bloom filter can do, 2^(-b ln 2), and any filter, 2^-b.
    for (name, per_bit, grey) in [("Bloom filters' limit", 2f64.ln(), 0.8), ("any filter's limit", 1.0, 0.4)] {
        let curve: Vec<(f64, f64)> = (0..=200)
            .map(|i| bits.start * (bits.end / bits.start).powf(f64::from(i) / 200.0))
            .map(|bits| (bits, (-bits * per_bit).exp2()))
            .filter(|(_, rate)| measured.contains(rate))
            .collect();
        if let Some(last) = curve.last().copied() {
            chart.draw_series(LineSeries::new(curve, BLACK.mix(grey).stroke_width(1)))?;
            let (x, y) = chart.backend_coord(&last);
            root.draw(&Text::new(name, (x + 4, y - 8), font(SMALL).color(&BLACK.mix(grey))))?;
        }
    }

    let left = (SIZE.0 - NAMES - 60) as i32 + 18;
    let top = (SIZE.1 as i32 - LINE_HEIGHT * (lines.len() as i32 + 1)) / 2;
    root.draw(&Text::new("bits per key", (left + 14, top), font(SMALL).color(&BLACK.mix(0.6))))?;
    for (at, line) in lines.iter().enumerate() {
        let colour = colour(lines, at);
        chart.draw_series(LineSeries::new(line.points.iter().copied(), colour.mix(0.35)))?;
        mark(&mut chart, line.points.iter().copied(), colour, ours(line))?;
        let height = top + LINE_HEIGHT * (at as i32 + 1);
        let sizes: Vec<String> = line.points.iter().map(|(bits, _)| format!("{bits:.1}")).collect();
        if ours(line) {
            root.draw(&Circle::new((left, height), 4, colour.filled()))?;
        } else {
            root.draw(&Cross::new((left, height), 4, colour.stroke_width(2)))?;
        }
        let text = format!("{}: {}", line.name, sizes.join(", "));
        root.draw(&Text::new(text, (left + 14, height), font(SMALL).color(&colour)))?;
    }
    root.present()?;
    Ok(())
}

/// A rate for people, without a tail of zeros.
fn percent(rate: f64) -> String {
    let digits = (-(100.0 * rate).log10()).ceil().max(0.0) as usize;
    format!("{:.*} %", digits, 100.0 * rate)
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

    #[test]
    fn percentages_have_as_many_digits_as_they_need() {
        assert_eq!([0.01, 0.002, 0.0005, 0.5].map(percent), ["1 %", "0.2 %", "0.05 %", "50 %"]);
    }
}

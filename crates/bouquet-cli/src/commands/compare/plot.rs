//! The drawing: a point per kind, its name beside it.

use bouquet_plot::number::percent;
use bouquet_plot::{Anchor, Axis, Colour, Frame, Mark, Picture, Place, Stroke, Text, text_width};

use super::Height;
use super::measure::Measured;

const SIZE: (f64, f64) = (960.0, 640.0);
const SMALL: f64 = 12.0;
/// The height of a line of text, in pixels.
const LINE: f64 = 15.0;

/// A colour for each family, apart from each other also for those who see red and green alike.
const COLOURS: [Colour; 9] = [
    Colour::new(0, 114, 178),
    Colour::new(213, 94, 0),
    Colour::new(0, 158, 115),
    Colour::new(204, 121, 167),
    Colour::new(120, 94, 240),
    Colour::new(148, 103, 20),
    Colour::new(86, 160, 210),
    Colour::new(90, 90, 90),
    Colour::new(160, 0, 40),
];

/// A kind in the drawing.
struct Point {
    name: &'static str,
    family: &'static str,
    at: (f64, f64),
}

/// Draws the kinds that have both numbers; `None` where none has.
pub fn draw(measured: &[Measured], height: Height, items: u64, fpr: f64) -> Option<String> {
    let point = |row: &Measured| {
        let height = match height {
            Height::Bits => Some(row.bits_per_key),
            // No false positive among the queries has no place on a logarithmic axis.
            Height::Rate => row.false_positives.measured.filter(|rate| *rate > 0.0),
        };
        let facts = row.kind.facts();
        Some(Point { name: facts.id, family: facts.family, at: (row.contains?, height?) })
    };
    let points: Vec<Point> = measured.iter().filter_map(point).collect();
    if points.is_empty() {
        return None;
    }
    let left_out: Vec<_> = measured.iter().map(|row| row.kind.facts().id).collect();
    let left_out: Vec<_> = left_out.into_iter().filter(|id| !points.iter().any(|point| point.name == *id)).collect();
    let caption = format!("{} keys in filters made for {} of false positives", grouped(items), percent(fpr));
    Some(scatter(&points, height, &caption, &left_out).svg())
}

/// An axis that shows the extremes of a coordinate with room around them.
fn axis(label: &str, values: impl Iterator<Item = f64> + Clone) -> Axis {
    let (low, high) = (values.clone().fold(f64::INFINITY, f64::min), values.fold(0.0, f64::max));
    Axis::log(label).range(low / 1.35, high * 1.35)
}

fn colour(families: &[&str], family: &str) -> Colour {
    COLOURS[families.iter().position(|other| *other == family).unwrap_or(0) % COLOURS.len()]
}

fn scatter(points: &[Point], height: Height, caption: &str, left_out: &[&str]) -> Picture {
    let mut families: Vec<&str> = Vec::new();
    for point in points {
        if !families.contains(&point.family) {
            families.push(point.family);
        }
    }
    let x = axis("nanoseconds per query (median; better to the left)", points.iter().map(|point| point.at.0));
    let heights = points.iter().map(|point| point.at.1);
    let y = match height {
        Height::Bits => axis("bits per key (better below)", heights),
        Height::Rate => axis("measured false-positive rate (better below)", heights).in_percent(),
    };

    let widest = families.iter().map(|family| text_width(family, SMALL)).fold(text_width("family", SMALL), f64::max);
    let legend = SIZE.0 - widest - 34.0;
    let below = if left_out.is_empty() { 60.0 } else { 82.0 };
    let (left, top, right) = (84.0, 36.0, legend - 12.0);
    let mut picture = Picture::new(SIZE.0, SIZE.1);
    picture.text(((left + right) / 2.0, 20.0), caption, Text::new(20.0).anchored(Anchor::Middle));
    let frame = Frame::new([left, top, right, SIZE.1 - below], &x, &y, std::iter::empty());
    frame.draw(&mut picture);

    // The legend has the margin to itself: among the points its own would be taken for kinds.
    let grey = |opacity: f64| Text::new(SMALL).coloured(Colour::BLACK.faded(opacity));
    picture.text((legend, top + LINE), "family", grey(0.6));
    for (row, family) in (2..).zip(&families) {
        let (x, y) = (legend + Mark::RADIUS, top + f64::from(row) * LINE);
        picture.mark((x, y), Mark::Disc, colour(&families, family));
        picture.text((x + 10.0, y), family, grey(0.8));
    }
    names(&mut picture, points, &frame, &families, (left, legend - 4.0));
    if !left_out.is_empty() {
        let text = format!("not drawn, for no false positive was seen: {}", left_out.join(", "));
        picture.text((left, SIZE.1 - 16.0), &text, grey(0.6));
    }
    picture
}

/// A rectangle of pixels.
#[derive(Clone, Copy)]
struct Room {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

impl Room {
    fn meets(&self, other: &Room) -> bool {
        self.left < other.right && other.left < self.right && self.top < other.bottom && other.top < self.bottom
    }

    fn holds(&self, (x, y): Place) -> bool {
        let r = Mark::RADIUS;
        self.meets(&Room { left: x - r, top: y - r, right: x + r, bottom: y + r })
    }
}

/// Draws the points, and each name as near to its point as there is room for it; one that is not beside its point gets a line
/// to it.
fn names(picture: &mut Picture, points: &[Point], frame: &Frame<'_>, families: &[&str], (left, right): (f64, f64)) {
    let place = |point: &Point| frame.at(point.at.0, point.at.1);
    let mut spots: Vec<(Place, &Point)> = points.iter().filter_map(|point| Some((place(point)?, point))).collect();
    spots.sort_by(|(a, _), (b, _)| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let mut taken: Vec<Room> = Vec::new();
    for (at, ((x, y), point)) in spots.iter().enumerate() {
        let width = text_width(point.name, SMALL) + 2.0;
        let room = |dx: f64, dy: f64| {
            let left = if dx < 0.0 { x + dx - width } else { x + dx };
            Room { left, top: y + dy - LINE / 2.0, right: left + width, bottom: y + dy + LINE / 2.0 }
        };
        let free = |room: &Room| {
            let inside = room.left >= left && room.right <= right;
            let clear = !spots.iter().enumerate().any(|(other, (spot, _))| other != at && room.holds(*spot));
            inside && clear && !taken.iter().any(|other| room.meets(other))
        };
        let rings = (0..20).flat_map(|ring| {
            let far = f64::from(ring) * 11.0;
            let aside = 8.0 + far / 2.0;
            [(aside, -far), (aside, far), (-aside, -far), (-aside, far)]
        });
        let found = rings.map(|(dx, dy)| ((dx, dy), room(dx, dy))).find(|(_, room)| free(room));
        let ((dx, dy), spot) = found.unwrap_or_else(|| ((8.0, 0.0), room(8.0, 0.0)));
        let colour = colour(families, point.family);
        let (anchor, start) = if dx < 0.0 { (Anchor::End, spot.right) } else { (Anchor::Start, spot.left) };
        if dy != 0.0 {
            picture.path(&[(*x, *y), (start, y + dy)], Stroke::new(colour.faded(0.5), 1.0));
        }
        picture.mark((*x, *y), Mark::Disc, colour);
        picture.text((start, y + dy), point.name, Text::new(SMALL).coloured(colour).anchored(anchor));
        taken.push(spot);
    }
}

/// A whole number with commas between the thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let comma = |at: usize| if at > 0 && (digits.len() - at).is_multiple_of(3) { "," } else { "" };
    digits.char_indices().map(|(at, digit)| format!("{}{digit}", comma(at))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_for_people() {
        assert_eq!([7, 1_000, 200_000, 1_234_567].map(grouped), ["7", "1,000", "200,000", "1,234,567"]);
    }
}

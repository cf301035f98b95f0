#![doc = include_str!("exponential_decay.md")]

use std::collections::BTreeMap;

use crate::capability::NoteType;
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing, fastrange, mix};
use crate::key::Key;
use crate::kind::{
    ErrorClass, Facts, Figure, Kind, Made, Parameter, Plan, Rates, Reply, Setting, Special, Stats, Takes, Text, common,
    kind,
};
use crate::parts::bit_array::{BitArray, domain, flat_places};
use crate::parts::counter_array::Places;
use crate::shell::{Age, Code, Far, Fields, Filter, Hashed, Mechanism, Put, Settings, Test, Unite, fields};
use crate::store::BitStore;
use crate::theory::routing::{bits_for_fill, noise};
use crate::theory::special::entropy;
use crate::theory::standard;

/// The registry's row.
pub const KIND: Kind = kind!(ExponentialDecay);

/// A node of a network: its own objects, and what its neighbours have told of theirs.
///
/// ```
/// use bouquet::ExponentialDecay;
/// let mut near = ExponentialDecay::with_node(1, 100)?;
/// let mut here = ExponentialDecay::with_node(2, 100)?;
/// let mut far = ExponentialDecay::with_node(3, 100)?;
/// near.insert("rose");
/// here.receive(&near.update_for(2)?)?;
/// far.receive(&here.update_for(3)?)?;
/// assert_eq!(here.route("rose", &[]), Some(1), "a neighbour has it");
/// assert_eq!(here.theta("rose"), [(2, 0), (1, 32)]);
/// let (from, theta) = far.theta("rose")[1];
/// assert!(from == 2 && (1..32).contains(&theta), "a hop further it is weaker");
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type ExponentialDecay = Filter<Node>;

const ITEMS: Parameter =
    Parameter { help: "objects that a table tells of, those far away as far as they are told", ..common::ITEMS };
const FILL: Parameter =
    Parameter::real("fill", "share of ones in a table with that many objects", 0.0, 1.0).or_real(0.5);
const BITS: Parameter = Parameter { help: "size in bits of each table", ..common::BITS };
const HASHES: Parameter =
    Parameter::count("hashes", "k, positions per object: the steps in which it fades", 1, 64).or(32);
const DECAY: Parameter =
    Parameter::count("decay", "d, of which one bit is passed on: larger than a node has neighbours", 1, 1 << 20).or(8);
const NODE: Parameter = Parameter::count("node", "number of this node", 0, u64::MAX).or(0);

/// The settings of a node.
///
/// ```
/// use bouquet::{ExponentialDecay, ExponentialDecaySettings};
/// let settings = ExponentialDecaySettings { bits: Some(8_192), decay: Some(4), node: Some(17), ..Default::default() };
/// assert_eq!(ExponentialDecay::with(settings)?.settings().hashes, Some(32));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExponentialDecaySettings {
    /// Objects that a table tells of.
    pub items: Option<u64>,
    /// The share of ones with that many.
    pub fill: Option<f64>,
    /// The size of each table.
    pub bits: Option<u64>,
    /// k, positions per object.
    pub hashes: Option<u32>,
    /// d: one bit of every `d` is passed on.
    pub decay: Option<u64>,
    /// The number of this node.
    pub node: Option<u64>,
}

impl Settings for ExponentialDecaySettings {
    const FIELDS: Fields<Self> =
        fields![items: ITEMS, fill: FILL, bits: BITS, hashes: HASHES, decay: DECAY, node: NODE];

    const DESIGN: &'static [&'static str] = &["items", "fill", "node"];
}

/// The most neighbours: a frame has up to 4096 stores.
const MOST_NEIGHBOURS: usize = 4095;

/// A node's objects and the tables of its neighbours.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    local: BitArray,
    /// By the number of the neighbour that sent it.
    tables: BTreeMap<u64, BitStore>,
    decay: u64,
    number: u64,
    /// What is passed on is drawn anew in every epoch.
    epoch: u64,
}

fn places(settings: &ExponentialDecaySettings) -> Result<Places> {
    let hashes = HASHES.need(settings.hashes)?;
    let bits = match (settings.bits, settings.items) {
        (Some(bits), _) => bits,
        (None, Some(items)) => bits_for_fill(items, hashes, FILL.need(settings.fill)?)?,
        (None, None) => return Err(ITEMS.missing("bits")),
    };
    flat_places(bits, hashes)
}

impl Mechanism for Node {
    const FACTS: Facts = Facts {
        id: "exponential-decay",
        number: 133,
        aliases: &["edbf", "exponentially-decaying"],
        family: "decay",
        text: Text::new(include_str!("exponential_decay.md")),
        errors: &[ErrorClass::FalsePositive],
        note: NoteType::None,
        parameters: &[],
    };

    const CODED: bool = true;

    const SPECIALS: &'static [Special<ExponentialDecay>] = &[
        Special::ask(
            "theta",
            Takes::Key,
            "how many of its k bits each table has: the own one, then those of the neighbours",
            |filter, key| {
                let thetas = filter.theta(key.key()?).into_iter();
                Ok(thetas.map(|(_, theta)| u64::from(theta)).collect::<Vec<_>>().into())
            },
        ),
        Special::ask(
            "tables",
            Takes::Nothing,
            "this node and its neighbours, with the theta that an absent key hardly exceeds",
            |filter, _| {
                let node = &filter.mechanism;
                let numbers = std::iter::once(&node.number).chain(node.tables.keys());
                let fills = std::iter::once(&node.local.bits).chain(node.tables.values()).map(BitStore::fill);
                let row = |((number, fill), noise): ((&u64, f64), f64)| {
                    vec![Reply::from(*number), Reply::Real(fill), Reply::Real(noise)]
                };
                let rows = numbers.zip(fills).zip(filter.thresholds()).map(row).collect();
                Ok(Reply::Table(&["node", "fill", "noise"], rows))
            },
        ),
        Special::ask(
            "route",
            Takes::Pair,
            "the node to ask next for a key; the nodes that were asked follow the TAB, with commas",
            |filter, pair| {
                let item = pair.item()?;
                let visited = visited(item.bytes()?)?;
                Ok(filter.route(item.key, &visited).map_or(Reply::Unknown, Reply::from))
            },
        ),
        Special::ask("update-for", Takes::Number, "the table for the neighbour of this number", |filter, number| {
            Ok(Made::reply(filter.update_for(number.number()?)?))
        }),
        Special::act("receive", Takes::Filter, "takes the table that a neighbour has sent", |filter, other| {
            filter.receive(other.filter::<ExponentialDecay>()?)?;
            Ok(Reply::Done)
        }),
        Special::act(
            "forget-local",
            Takes::Nothing,
            "forgets the objects of this node, to insert those it still has",
            |filter, _| {
                filter.forget_local()?;
                Ok(Reply::Done)
            },
        ),
        Special::act(
            "forget-neighbour",
            Takes::Number,
            "forgets the table of a neighbour that is gone",
            |filter, number| Ok(Reply::Truth(filter.mechanism.tables.remove(&number.number()?).is_some())),
        ),
    ];

    type Settings = ExponentialDecaySettings;

    fn resolve(asked: &ExponentialDecaySettings) -> Result<ExponentialDecaySettings> {
        let places = places(asked)?;
        Ok(ExponentialDecaySettings {
            bits: Some(places.counters()),
            hashes: Some(places.hashes()),
            decay: Some(DECAY.need(asked.decay)?),
            node: Some(NODE.need(asked.node)?),
            ..asked.clone()
        })
    }

    fn plan(settings: &ExponentialDecaySettings) -> Result<Plan> {
        let (places, items) = (places(settings)?, settings.items);
        let fpr = items.map(|items| standard::expected_rate(places.counters(), items, places.hashes()));
        Ok(Plan { bits: places.counters(), hashes: places.hashes(), items, fpr })
    }

    fn empty(settings: &ExponentialDecaySettings, _: &Hashing) -> Result<Self> {
        let local = BitArray::zeroed(places(settings)?)?;
        let (decay, number) = (DECAY.need(settings.decay)?, NODE.need(settings.node)?);
        Ok(Node { local, tables: BTreeMap::new(), decay, number, epoch: 0 })
    }

    fn domain(settings: &ExponentialDecaySettings) -> String {
        domain(Self::FACTS.id, settings.bits, settings.hashes)
    }

    fn stats(&self, items: u64) -> Stats {
        let fill = self.local.bits.fill();
        let places = &self.local.places;
        Stats {
            items,
            bits: places.counters() * (1 + self.tables.len() as u64),
            hashes: places.hashes(),
            fill: Some(fill),
            fpr: Some(fill.powi(places.hashes() as i32)),
            // Passed on, a table has the bits of other nodes' objects.
            honest_fill: None,
        }
    }

    fn figures(&self) -> Vec<Figure> {
        let figure = |name, value| Figure { name, value: Setting::Count(value) };
        vec![figure("neighbours", self.tables.len() as u64), figure("epoch", self.epoch)]
    }

    fn expected(&self, items: u64) -> Rates {
        let places = &self.local.places;
        let rate = standard::expected_rate(places.counters(), items, places.hashes());
        Rates { false_positive: Some(rate), ..Rates::default() }
    }

    /// State: u64 items, u64 epoch, u32 neighbours; for each its number, u64, ascending. Stores: the bits of the own table, of each
    /// neighbour's.
    fn encode<'a>(&'a self, items: u64, encoder: &mut Encoder<'a>) {
        let state = encoder.state();
        state.u64(items);
        state.u64(self.epoch);
        state.u32(self.tables.len() as u32);
        self.tables.keys().for_each(|node| state.u64(*node));
        encoder.bits(&self.local.bits);
        self.tables.values().for_each(|table| encoder.bits(table));
    }

    fn decode(settings: &ExponentialDecaySettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let places = places(settings)?;
        let stores = decoder.stores_left();
        let state = decoder.state();
        let (items, epoch, count) = (state.u64()?, state.u64()?, state.u32()? as usize);
        if stores != count + 1 {
            return Err(Error::corrupt("tables", format!("{count} and the own one"), stores));
        }
        let nodes = (0..count).map(|_| state.u64()).collect::<Result<Vec<_>>>()?;
        let (decay, number) = (DECAY.need(settings.decay)?, NODE.need(settings.node)?);
        if nodes.windows(2).any(|pair| pair[0] >= pair[1]) || nodes.contains(&number) {
            return Err(Error::corrupt("neighbours", "ascending numbers of other nodes", format!("{nodes:?}")));
        }
        let local = BitArray { places, bits: decoder.bits(places.counters())? };
        let tables = nodes.into_iter().map(|node| Ok((node, decoder.bits(places.counters())?)));
        let tables = tables.collect::<Result<_>>()?;
        Ok((Node { local, tables, decay, number, epoch }, items))
    }

    fn far(&self) -> Option<&dyn Far> {
        Some(&self.local)
    }
}

/// The numbers of a list with commas.
fn visited(text: &[u8]) -> Result<Vec<u64>> {
    let refused = || Error::Item {
        expected: "KEY TAB numbers of nodes with commas".into(),
        found: format!("`{}` behind the TAB", text.escape_ascii()),
    };
    let text = std::str::from_utf8(text).map_err(|_| refused())?;
    let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
    words.map(|word| word.parse().map_err(|_| refused())).collect()
}

impl Test for Node {
    #[inline]
    fn test(&self, key: Hashed<'_>) -> bool {
        self.local.all_set(key.digest)
    }
}

impl Put for Node {
    type Note<'a> = ();
    type Outcome = bool;

    #[inline]
    fn put(&mut self, key: Hashed<'_>, (): ()) -> bool {
        self.local.set_all(key.digest)
    }
}

impl Age for Node {
    /// The next epochs: what is passed on is drawn anew.
    fn age(&mut self, ticks: u64) {
        self.epoch = self.epoch.saturating_add(ticks);
    }
}

impl Unite for Node {
    /// The objects of both nodes, and what either has been told.
    fn unite(&mut self, other: &Self) -> Result<()> {
        let new = other.tables.keys().filter(|node| **node != self.number && !self.tables.contains_key(node)).count();
        if self.tables.len() + new > MOST_NEIGHBOURS {
            let (left, right) =
                (self.tables.len().to_string(), format!("{new} others, more than {MOST_NEIGHBOURS} in all"));
            return Err(Error::Incompatible { field: "neighbours".into(), left, right });
        }
        self.local.bits.or(&other.local.bits)?;
        for (&node, table) in other.tables.iter().filter(|(node, _)| **node != self.number) {
            match self.tables.get_mut(&node) {
                Some(own) => own.or(table)?,
                None => _ = self.tables.insert(node, table.clone()),
            }
        }
        Ok(())
    }
}

impl Code for Node {
    fn entropy_bits(&self) -> f64 {
        let of = |bits: &BitStore| bits.len() as f64 * entropy(bits.fill());
        of(&self.local.bits) + self.tables.values().map(of).sum::<f64>()
    }
}

impl Node {
    /// How many of the key's bits are set.
    fn theta(&self, bits: &BitStore, digest: Digest) -> u32 {
        let mut theta = 0;
        self.local.places.all(digest, |place| {
            theta += u32::from(bits.get(place));
            true
        });
        theta
    }

    /// Clears the bits that are not passed on in this epoch. That is no draw at every update: what is sent again is the same.
    fn thin(&self, bits: &mut BitStore) {
        let (own, most) = (mix(mix(self.number).wrapping_add(self.epoch)), u64::MAX / self.decay.max(1));
        let faded: Vec<u64> = bits.ones().filter(|place| mix(own.wrapping_add(*place)) > most).collect();
        faded.into_iter().for_each(|place| bits.clear(place));
    }
}

impl ExponentialDecay {
    /// A node for `objects` objects per table, with k = 32 and d = 8.
    ///
    /// ```
    /// use bouquet::ExponentialDecay;
    /// assert_eq!(ExponentialDecay::with_node(1, 1_000)?.settings().bits, Some(46_167)); // half full
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_node(node: u64, items: u64) -> Result<Self> {
        let (node, items) = (Some(node), Some(items));
        Self::with(ExponentialDecaySettings { node, items, ..Default::default() })
    }

    /// A node with tables of `bits` bits, which passes on one bit of `decay`.
    ///
    /// ```
    /// use bouquet::ExponentialDecay;
    /// assert_eq!(ExponentialDecay::with_size(1, 8_192, 4)?.settings().decay, Some(4));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(node: u64, bits: u64, decay: u64) -> Result<Self> {
        let (node, bits, decay) = (Some(node), Some(bits), Some(decay));
        Self::with(ExponentialDecaySettings { node, bits, decay, ..Default::default() })
    }

    /// theta, for this node and each neighbour: how many of the k bits of the key are set.
    ///
    /// ```
    /// use bouquet::ExponentialDecay;
    /// let mut node = ExponentialDecay::with_node(1, 100)?;
    /// node.insert("rose");
    /// assert_eq!(node.theta("rose"), [(1, 32)]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn theta<K: Key + ?Sized>(&self, key: &K) -> Vec<(u64, u32)> {
        let (node, digest) = (&self.mechanism, key.digest(&self.hashing));
        let own = (node.number, node.theta(&node.local.bits, digest));
        let told = node.tables.iter().map(|(&number, table)| (number, node.theta(table, digest)));
        std::iter::once(own).chain(told).collect()
    }

    /// What noise reaches in each table: an object is there if more of its bits are set.
    fn thresholds(&self) -> Vec<f64> {
        let node = &self.mechanism;
        let k = node.local.places.hashes();
        let own = f64::from(k) - 0.5;
        std::iter::once(own).chain(node.tables.values().map(|table| noise(k, table.fill()))).collect()
    }

    /// The node to ask next: this one if it has the key, else the neighbour that was not visited and has the largest theta above its noise,
    /// else any neighbour, one that was not visited if there is one; which, is the same for the same question. `None` without
    /// neighbours.
    ///
    /// ```
    /// use bouquet::ExponentialDecay;
    /// let mut here = ExponentialDecay::with_node(2, 100)?;
    /// for neighbour in [1, 3] {
    ///     here.receive(&ExponentialDecay::with_node(neighbour, 100)?.update_for(2)?)?;
    /// }
    /// assert!(here.route("rose", &[]).is_some());
    /// assert_eq!(here.route("rose", &[1]), Some(3));
    /// assert!(here.route("rose", &[1, 3]).is_some(), "back to one of them");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn route<K: Key + ?Sized>(&self, key: &K, visited: &[u64]) -> Option<u64> {
        let node = &self.mechanism;
        if self.contains(key) {
            return Some(node.number);
        }
        let open: Vec<_> = (self.theta(key).into_iter().zip(self.thresholds()).skip(1))
            .filter(|((neighbour, _), _)| !visited.contains(neighbour))
            .collect();
        let told = open.iter().filter(|((_, theta), level)| f64::from(*theta) > *level);
        // Of equal ones the first.
        let best = told.rev().max_by_key(|((_, theta), _)| *theta);
        let draw = || {
            let digest = key.digest(&self.hashing);
            let random = mix(digest.h1 ^ mix(node.number).wrapping_add(visited.len() as u64));
            let any = |len: usize| fastrange(random, len as u64) as usize;
            match open.len() {
                0 => node.tables.keys().nth(any(node.tables.len())).copied(),
                len => open.get(any(len)).map(|((neighbour, _), _)| *neighbour),
            }
        };
        best.map(|((neighbour, _), _)| *neighbour).or_else(draw)
    }

    /// The table for a neighbour: what the others have told, thinned, and the own objects as they are.
    ///
    /// ```
    /// use bouquet::ExponentialDecay;
    /// let mut node = ExponentialDecay::with_node(1, 100)?;
    /// node.insert("rose");
    /// let update = node.update_for(2)?;
    /// assert!(update.contains("rose"));
    /// assert_eq!(node.update_for(2)?, update, "sent again it is the same");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn update_for(&self, neighbour: u64) -> Result<Self> {
        let node = &self.mechanism;
        let mut told = BitStore::zeroed(node.local.bits.len())?;
        for (_, table) in node.tables.iter().filter(|(sender, _)| **sender != neighbour) {
            told.or(table)?;
        }
        node.thin(&mut told);
        told.or(&node.local.bits)?;
        let local = BitArray { places: node.local.places, bits: told };
        let sent = Node { local, tables: BTreeMap::new(), ..node.clone() };
        Ok(Self::of_parts(sent, self.settings(), &self.hashing, self.items))
    }

    /// Takes the table that a neighbour has sent, in the place of its last one. One that this node sent is refused, and so is one of
    /// another shape.
    ///
    /// ```
    /// use bouquet::ExponentialDecay;
    /// let mut here = ExponentialDecay::with_node(2, 100)?;
    /// let sent = here.update_for(1)?;
    /// assert!(here.receive(&sent).is_err(), "it is its own");
    /// here.receive(&ExponentialDecay::with_node(1, 100)?.update_for(2)?)?;
    /// assert_eq!(here.theta("rose").len(), 2);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn receive(&mut self, sent: &Self) -> Result<()> {
        self.comparable(sent, Settings::alike)?;
        let number = sent.mechanism.number;
        if number == self.mechanism.number {
            return Err(Error::parameter("node", "the number of another node", number));
        }
        let tables = &mut self.mechanism.tables;
        if tables.len() >= MOST_NEIGHBOURS && !tables.contains_key(&number) {
            let expected = format!("that of one of the {MOST_NEIGHBOURS} neighbours, the most that a node has");
            return Err(Error::parameter("node", expected, number));
        }
        tables.insert(number, sent.mechanism.local.bits.clone());
        Ok(())
    }

    /// Forgets the objects of this node; those that it still has are inserted again.
    ///
    /// ```
    /// use bouquet::ExponentialDecay;
    /// let mut node = ExponentialDecay::with_node(1, 100)?;
    /// node.insert("rose");
    /// node.forget_local()?;
    /// assert!(!node.contains("rose") && node.items() == 0);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn forget_local(&mut self) -> Result<()> {
        self.mechanism.local = BitArray::zeroed(self.mechanism.local.places)?;
        self.items = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests;

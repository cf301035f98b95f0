#![doc = include_str!("trie_checked.md")]

mod parent;

use std::collections::HashSet;

pub use crate::accuracy::witness::Component;
use crate::accuracy::witness::Witness;
use crate::capability::NoteType;
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing};
use crate::key::Key;
use crate::kind::{
    Argument, ErrorClass, Facts, Figure, Kind, Need, Parameter, Plan, Rates, Reply, Setting, Special, Stats, Takes,
    Text, Verb, common, kind,
};
use crate::parts::bit_array::{self, flat_places};
use crate::parts::counter_array::Places;
use crate::shell::{
    ByRate, Choice, Code, Fields, Filter, Gather, Hashed, Mechanism, Put, Settings, Take, Test, Unite, fields,
};
use crate::theory::witnesses::{self, below};
pub use parent::{Node, Parent, Rule};

/// The registry's row.
pub const KIND: Kind = kind!(TrieChecked);

/// A filter of the nodes of a trie, in which a node without its ancestors is exposed.
///
/// ```
/// use bouquet::TrieChecked;
/// let mut files = TrieChecked::with_rate(1_000, 0.01)?;
/// files.insert("usr/share/doc/bloom");
/// assert!(files.contains("usr/share/doc"), "every ancestor is in");
/// assert!(!files.contains("usr/share/man/bloom"));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type TrieChecked = Filter<CheckedNodes>;

/// Ancestors that stand for all of them.
pub const ALL_ANCESTORS: u32 = 1 << 16;

const ITEMS: Parameter =
    Parameter { help: "nodes (keys and all their ancestors) that the filter is made for", ..common::ITEMS };
const FPR: Parameter =
    Parameter { help: "false-positive rate with that many nodes, of children of real nodes", ..common::FPR };
const ANCESTORS: Parameter = Parameter::count(
    "ancestors",
    "ancestors that are checked beside the key, the nearest first; 65536 checks all",
    0,
    ALL_ANCESTORS as u64,
)
.or(2);
const PARENT: Parameter = Parameter::choice(
    "parent",
    "what the parent of a key is: the path without its last name, all but the first label of a domain name, a date without \
     its last field, or all bits but the last",
    Rule::WORDS,
);
const CELLS: Parameter = Parameter::choice("cells", "bits, or counters that let keys be removed", Component::WORDS);

/// The settings of a filter of nodes.
///
/// ```
/// use bouquet::{TrieChecked, TrieCheckedSettings, accuracy::trie_checked::Rule};
/// let settings = TrieCheckedSettings { items: Some(100), parent: Some(Rule::Domain), ..Default::default() };
/// let mut names = TrieChecked::with(settings)?;
/// names.insert("www.example.com");
/// assert!(names.contains("example.com") && !names.contains("www.example.org"));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrieCheckedSettings {
    /// Nodes.
    pub items: Option<u64>,
    /// The false-positive rate with that many nodes.
    pub fpr: Option<f64>,
    /// Size in cells.
    pub bits: Option<u64>,
    /// Positions per node.
    pub hashes: Option<u32>,
    /// Ancestors that are checked.
    pub ancestors: Option<u32>,
    /// What the parent of a key is.
    pub parent: Option<Rule>,
    /// What the filter is made of.
    pub cells: Option<Component>,
}

impl Settings for TrieCheckedSettings {
    const FIELDS: Fields<Self> = fields![
        items: ITEMS,
        fpr: FPR,
        bits: common::BITS,
        hashes: common::HASHES,
        ancestors: ANCESTORS,
        parent: PARENT,
        cells: CELLS,
    ];
}

impl ByRate for TrieCheckedSettings {}

/// The number that is mixed into digests beside the length.
const NODES: u64 = 0;

/// The nodes, and how their ancestors are found.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedNodes {
    /// Its items are the keys and those ancestors that seemed new.
    nodes: Witness,
    /// Insertions less removals of keys, as far as is known.
    keys: u64,
    rule: Rule,
    ancestors: u32,
    /// Ancestors are hashed as keys are.
    hashing: Hashing,
}

fn places(settings: &TrieCheckedSettings) -> Result<(Places, bool)> {
    let TrieCheckedSettings { items, fpr, bits, hashes, .. } = settings;
    let size = common::size_of(*items, *fpr, *bits, *hashes, "bits")?;
    Ok((flat_places(size.bits, size.hashes)?, CELLS.need(settings.cells)? == Component::Counters))
}

/// A pair of a key and the length of its prefix in bits.
fn prefix_of<'a>(pair: Argument<'a>) -> Result<Node<'a>> {
    let item = pair.item()?;
    let text = item.bytes()?;
    let length = std::str::from_utf8(text).ok().and_then(|text| text.trim().parse().ok());
    let node = length.and_then(|length| Node::prefix(item.key, length));
    node.ok_or_else(|| Error::Item {
        expected: format!("KEY TAB the bits of its prefix, 1 to {}", 8 * item.key.len()),
        found: format!("`{}`", text.escape_ascii()),
    })
}

impl Mechanism for CheckedNodes {
    const FACTS: Facts = Facts {
        id: "trie-checked",
        number: 170,
        aliases: &["ancestor-checked", "trie Bloom filter"],
        family: "accuracy",
        text: Text::new(include_str!("trie_checked.md")),
        errors: &[ErrorClass::FalsePositive],
        note: NoteType::None,
        parameters: &[],
    };

    const IN_PLACE: bool = true;

    const BUILT_WHOLE: bool = true;

    const NEEDS_BYTES: bool = true;

    const OWN_ITEMS: bool = true;

    const NEEDS: &'static [Need] = &[Need::new(Verb::Remove, CELLS.name, "counters")];

    const SPECIALS: &'static [Special<TrieChecked>] = &[
        Special::ask(
            "longest-match",
            Takes::Key,
            "the nodes on the key's way up that pass the check, the longest first: the first that the trie itself has is the match",
            |filter, key| {
                let nodes = filter.matches(key.key()?);
                Ok(Reply::List(nodes.map(|node| filter.told(&node)).collect()))
            },
        ),
        Special::ask(
            "row",
            Takes::Key,
            "how many nodes are there in a row from the key upwards: with one more than the ancestors that are checked it passes",
            |filter, key| Ok(filter.row(&Node::of(key.key()?)).into()),
        ),
        Special::ask(
            "holds-prefix",
            Takes::Pair,
            "whether the first bits of a key (KEY TAB BITS) are a node (parent=bits)",
            |filter, pair| Ok(Reply::Truth(filter.mechanism.has(&prefix_of(pair)?))),
        ),
        Special::act(
            "insert-prefix",
            Takes::Pair,
            "puts the first bits of a key (KEY TAB BITS) in, with their ancestors (parent=bits)",
            |filter, pair| Ok(Reply::Truth(filter.mechanism.put_path(prefix_of(pair)?))),
        ),
        Special::act(
            "insert-closed",
            Takes::Key,
            "puts a key in without its ancestors, which must all be in already",
            |filter, key| Ok(Reply::Truth(filter.insert_closed(key.key()?))),
        ),
    ];

    type Settings = TrieCheckedSettings;

    fn resolve(asked: &TrieCheckedSettings) -> Result<TrieCheckedSettings> {
        let (places, counters) = places(asked)?;
        Ok(TrieCheckedSettings {
            bits: Some(places.counters()),
            hashes: Some(places.hashes()),
            ancestors: Some(ANCESTORS.need(asked.ancestors)?),
            parent: Some(PARENT.need(asked.parent)?),
            cells: Some(if counters { Component::Counters } else { Component::Bits }),
            ..asked.clone()
        })
    }

    fn plan(settings: &TrieCheckedSettings) -> Result<Plan> {
        let ((places, counters), items) = (places(settings)?, settings.items);
        let (rule, ancestors) = (PARENT.need(settings.parent)?, ANCESTORS.need(settings.ancestors)?);
        let fpr = items.map(|items| below(places.expected_rate(items), rule.levels(), u64::from(ancestors)));
        Ok(Plan { bits: Witness::bits_of(&places, counters)?, hashes: places.hashes(), items, fpr })
    }

    fn empty(settings: &TrieCheckedSettings, hashing: &Hashing) -> Result<Self> {
        let (places, counters) = places(settings)?;
        Self::of(Witness::empty(NODES, places, counters)?, settings, Self::hashing(settings, hashing))
    }

    fn emptied(&self, settings: &TrieCheckedSettings, hashing: &Hashing) -> Result<Self> {
        Ok(CheckedNodes { hashing: self.hashing.clone(), ..Self::empty(settings, hashing)? })
    }

    fn domain(settings: &TrieCheckedSettings) -> String {
        bit_array::domain(Self::FACTS.id, settings.bits, settings.hashes)
    }

    fn items(&self, _: u64) -> u64 {
        self.keys
    }

    /// The rate is that of keys far from the trie where every key has many ancestors (parent=bits), else that of children of real
    /// nodes, which is the largest.
    fn stats(&self, items: u64) -> Stats {
        Stats {
            items,
            bits: self.nodes.bits(),
            hashes: self.nodes.hashes(),
            fill: Some(self.nodes.fill()),
            fpr: Some(self.far(self.nodes.rate_now())),
            honest_fill: Some(self.nodes.honest_fill(self.all_nodes())),
        }
    }

    fn figures(&self) -> Vec<Figure> {
        vec![
            Figure { name: "nodes", value: Setting::Count(self.nodes.items) },
            Figure { name: "rate of children", value: Setting::Real(self.nodes.rate_now()) },
        ]
    }

    /// Each key brings as many nodes as those before it did, or one.
    fn expected(&self, items: u64) -> Rates {
        let nodes = match self.keys {
            0 => items,
            keys => (items as f64 * (self.all_nodes() as f64 / keys as f64)).round() as u64,
        };
        Rates { false_positive: Some(self.far(self.nodes.expected_rate(nodes))), ..Rates::default() }
    }

    /// State: keys; keys and ancestors that seemed new. Store: bits or counters.
    fn encode<'a>(&'a self, _: u64, encoder: &mut Encoder<'a>) {
        encoder.state().u64(self.keys);
        self.nodes.encode(encoder);
    }

    fn decode(settings: &TrieCheckedSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let (places, counters) = places(settings)?;
        let keys = decoder.state().u64()?;
        let hashing = Self::hashing(settings, decoder.config().hashing());
        let nodes = Witness::decode(NODES, places, counters, decoder)?;
        Ok((CheckedNodes { keys, ..Self::of(nodes, settings, hashing)? }, 0))
    }
}

impl Test for CheckedNodes {
    #[inline]
    fn test(&self, key: Hashed<'_>) -> bool {
        self.nodes.accepts(Node::digest_of(key.digest, key.bytes))
            && self.has_ancestors(Node::of(key.bytes), &self.rule)
    }
}

impl Put for CheckedNodes {
    type Note<'a> = ();
    type Outcome = bool;

    /// Puts the key and all of its ancestors in; says whether the key seemed absent.
    fn put(&mut self, key: Hashed<'_>, (): ()) -> bool {
        self.put_path(Node::of(key.bytes))
    }
}

impl Take for CheckedNodes {
    type Note<'a> = ();

    /// Takes a reference from the key and from each of its ancestors.
    fn take(&mut self, key: Hashed<'_>, (): ()) -> Result<()> {
        let path = self.path(Node::of(key.bytes), &self.rule);
        if !path.iter().all(|&node| self.nodes.accepts(node)) {
            return Err(Error::NotPresent);
        }
        let before = self.nodes.items.saturating_sub(1);
        for (done, &node) in path.iter().enumerate() {
            // Only bits refuse, and they do so at once.
            self.nodes.take(node).inspect_err(|_| debug_assert_eq!(done, 0))?;
        }
        // An ancestor that is still there has other references.
        let gone = path.iter().skip(1).filter(|&&node| !self.nodes.accepts(node)).count() as u64;
        self.nodes.items = before.saturating_sub(gone);
        self.keys = self.keys.saturating_sub(1);
        Ok(())
    }
}

impl Unite for CheckedNodes {
    fn unite(&mut self, other: &Self) -> Result<()> {
        self.nodes.unite(&other.nodes)?;
        self.keys = self.keys.saturating_add(other.keys);
        Ok(())
    }
}

impl Code for CheckedNodes {
    fn entropy_bits(&self) -> f64 {
        self.nodes.entropy_bits()
    }
}

impl Gather for CheckedNodes {
    /// Sized for all nodes, if there are more than it was to be made for.
    fn gather<K: Key>(
        asked: &TrieCheckedSettings,
        hashing: &Hashing,
        keys: &[K],
        _absent: &[K],
    ) -> Result<(TrieCheckedSettings, Self, u64)> {
        let mut asked = asked.clone();
        if asked.bits.is_none() {
            let rule = PARENT.need(asked.parent)?;
            let mut nodes = HashSet::new();
            for key in keys {
                key.with_bytes(|key| {
                    let mut node = Some(Node::of(key));
                    // Ancestors of a node that came before came with it.
                    while let Some(next) = node.filter(|node| nodes.insert(node.digest(hashing))) {
                        node = rule.parent(&next);
                    }
                });
            }
            asked.items = Some(asked.items.unwrap_or(1).max(nodes.len() as u64));
        }
        let settings = Self::resolve(&asked)?;
        let mut filter = Self::empty(&settings, hashing)?;
        keys.iter().for_each(|key| key.with_bytes(|key| _ = filter.put_path(Node::of(key))));
        Ok((settings, filter, 0))
    }
}

impl CheckedNodes {
    fn of(nodes: Witness, settings: &TrieCheckedSettings, hashing: Hashing) -> Result<Self> {
        let (rule, ancestors) = (PARENT.need(settings.parent)?, ANCESTORS.need(settings.ancestors)?);
        Ok(CheckedNodes { nodes, keys: 0, rule, ancestors, hashing })
    }

    /// The rate of a stranger as far from the trie as the rule lets it be.
    fn far(&self, rate: f64) -> f64 {
        below(rate, self.rule.levels(), self.ancestors.into())
    }

    /// The digests of a node and of all its ancestors.
    fn path(&self, node: Node<'_>, rule: &impl Parent) -> Vec<Digest> {
        let nodes = std::iter::successors(Some(node), |node| rule.parent(node));
        nodes.map(|node| node.digest(&self.hashing)).collect()
    }

    fn put_path(&mut self, node: Node<'_>) -> bool {
        self.put_path_by(node, &self.rule.clone())
    }

    fn put_path_by(&mut self, node: Node<'_>, rule: &impl Parent) -> bool {
        let path = self.path(node, rule);
        let checked = path.iter().take(self.ancestors as usize + 1);
        let seemed = checked.clone().all(|&node| self.nodes.accepts(node));
        for (above, &node) in path.iter().enumerate() {
            let before = self.nodes.items;
            // A key is one node more, and an ancestor if it seems new.
            if !self.nodes.put(node) && above > 0 {
                self.nodes.items = before;
            }
        }
        self.keys = self.keys.saturating_add(1);
        !seemed
    }

    /// The nodes, with those that seemed to be there when they came.
    fn all_nodes(&self) -> u64 {
        let ancestors = self.nodes.items.saturating_sub(self.keys);
        witnesses::nodes(self.nodes.items - ancestors, ancestors, self.nodes.cells(), self.nodes.hashes()).round()
            as u64
    }

    fn has(&self, node: &Node<'_>) -> bool {
        self.has_by(node, &self.rule)
    }

    fn has_by(&self, node: &Node<'_>, rule: &impl Parent) -> bool {
        self.nodes.accepts(node.digest(&self.hashing)) && self.has_ancestors(node.clone(), rule)
    }

    /// Whether as many ancestors as are checked are there, the nearest first.
    fn has_ancestors(&self, node: Node<'_>, rule: &impl Parent) -> bool {
        let ancestors = std::iter::successors(rule.parent(&node), |node| rule.parent(node));
        ancestors.take(self.ancestors as usize).all(|node| self.nodes.accepts(node.digest(&self.hashing)))
    }
}

impl TrieChecked {
    /// A filter of `bits` bits and `hashes` positions per node.
    ///
    /// ```
    /// use bouquet::TrieChecked;
    /// assert_eq!(TrieChecked::with_size(1_000, 5)?.stats().bits, 1_000);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(bits: u64, hashes: u32) -> Result<Self> {
        Self::with(TrieCheckedSettings { bits: Some(bits), hashes: Some(hashes), ..Default::default() })
    }

    /// Puts the first `bits` bits of a key in, with their ancestors; for filters with `parent=bits`. Says whether they seemed absent.
    ///
    /// ```
    /// use bouquet::{TrieChecked, TrieCheckedSettings, accuracy::trie_checked::Rule};
    /// let settings = TrieCheckedSettings { items: Some(1_000), fpr: Some(1e-6), parent: Some(Rule::Bits), ..Default::default() };
    /// let mut routes = TrieChecked::with(settings)?;
    /// routes.insert_prefix(&[10, 64, 0, 0], 10)?;
    /// assert!(routes.contains_prefix(&[10, 80, 0, 0], 10)?, "10.64.0.0/10");
    /// assert!(!routes.contains_prefix(&[10, 128, 0, 0], 10)?);
    /// assert!(routes.insert_prefix(&[10], 9).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn insert_prefix(&mut self, key: &[u8], bits: u64) -> Result<bool> {
        let node = Self::prefix(key, bits)?;
        Ok(self.mechanism.put_path(node))
    }

    /// Whether the first `bits` bits of a key seem to be a node.
    pub fn contains_prefix(&self, key: &[u8], bits: u64) -> Result<bool> {
        Ok(self.mechanism.has(&Self::prefix(key, bits)?))
    }

    fn prefix(key: &[u8], bits: u64) -> Result<Node<'_>> {
        let expected = || Error::parameter("bits", format!("1 to {}", 8 * key.len()), bits);
        Node::prefix(key, bits).ok_or_else(expected)
    }

    /// Puts a key in without its ancestors, which must all be in: for sets that are closed under parents. Says whether it
    /// seemed absent. Such a key is not to be removed: it has no references to give back at its ancestors.
    ///
    /// ```
    /// use bouquet::TrieChecked;
    /// let mut files = TrieChecked::with_rate(100, 0.001)?;
    /// for name in ["usr", "usr/bin", "usr/bin/ls"] {
    ///     files.insert_closed(name.as_bytes());
    /// }
    /// assert!(files.contains("usr/bin/ls") && files.nodes() == 3);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn insert_closed(&mut self, key: &[u8]) -> bool {
        let filter = &mut self.mechanism;
        let node = Node::of(key);
        let seemed = filter.has(&node);
        filter.nodes.put(node.digest(&filter.hashing));
        filter.keys = filter.keys.saturating_add(1);
        !seemed
    }

    /// Inserts a key whose ancestors another rule gives: any set in which a key is there only if its parent is.
    ///
    /// ```
    /// use bouquet::{TrieChecked, accuracy::trie_checked::{Node, Parent}};
    /// /// Words and their beginnings.
    /// struct Beginnings;
    /// impl Parent for Beginnings {
    ///     fn parent<'a>(&self, node: &Node<'a>) -> Option<Node<'a>> {
    ///         node.cut(node.bytes().len() - 1)
    ///     }
    /// }
    /// let mut words = TrieChecked::with_rate(100, 0.001)?;
    /// words.insert_by("rose", &Beginnings);
    /// assert!(words.contains_by("ros", &Beginnings) && !words.contains_by("rise", &Beginnings));
    /// assert_eq!(words.nodes(), 4);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn insert_by<K: Key + ?Sized>(&mut self, key: &K, rule: &impl Parent) -> bool {
        key.with_bytes(|key| self.mechanism.put_path_by(Node::of(key), rule))
    }

    /// Whether a key seems to be in whose ancestors another rule gives.
    pub fn contains_by<K: Key + ?Sized>(&self, key: &K, rule: &impl Parent) -> bool {
        key.with_bytes(|key| self.mechanism.has_by(&Node::of(key), rule))
    }

    /// The nodes on a key's way up that pass the check, the longest first.
    fn matches<'a>(&self, key: &'a [u8]) -> impl Iterator<Item = Node<'a>> {
        let rule = self.mechanism.rule;
        let way = std::iter::successors(Some(Node::of(key)), move |node| rule.parent(node));
        way.filter(|node| self.mechanism.has(node))
    }

    /// The longest node on a key's way up that passes the check and that `confirm` finds in the trie itself.
    ///
    /// ```
    /// use bouquet::TrieChecked;
    /// let mut files = TrieChecked::with_rate(100, 0.001)?;
    /// files.insert("usr/share/doc");
    /// let found = files.longest_match(b"usr/share/man/man1", |_| true).expect("its beginning is there");
    /// assert_eq!(found.bytes(), b"usr/share");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn longest_match<'a>(&self, key: &'a [u8], mut confirm: impl FnMut(&Node<'a>) -> bool) -> Option<Node<'a>> {
        self.matches(key).find(|node| confirm(node))
    }

    /// How many nodes are there in a row from this one upwards.
    fn row(&self, node: &Node<'_>) -> u64 {
        let filter = &self.mechanism;
        let path = filter.path(node.clone(), &filter.rule);
        path.iter().take_while(|&&node| filter.nodes.accepts(node)).count() as u64
    }

    /// A node as it is told: its bytes, or its length where it is a string of bits.
    fn told(&self, node: &Node<'_>) -> Reply {
        if self.mechanism.rule == Rule::Bits { node.bits().into() } else { Reply::Bytes(node.bytes().to_vec()) }
    }

    /// The nodes that it holds: its keys, and their ancestors but for those few that seemed to be there when they came.
    ///
    /// ```
    /// use bouquet::TrieChecked;
    /// let mut files = TrieChecked::with_rate(100, 0.001)?;
    /// files.insert_batch(&["usr/bin/ls", "usr/bin/cat"]);
    /// assert_eq!((files.items(), files.nodes()), (2, 4));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn nodes(&self) -> u64 {
        self.mechanism.nodes.items
    }
}

#[cfg(test)]
mod tests;

//! Keyed filters: membership when keys or queries come from an adversary.
//!
//! # The problem
//!
//! Whoever can compute a key's positions can choose keys. Keys that each set k fresh bits fill the filter to nk/m where
//! honest ones reach 1 - e^(-kn/m): at the best k that is 0.693 against 0.5, and a rate of 0.693^k against 0.5^k (k = 10:
//! 2.6 % against 0.1 %). And a key that passes without being in the set costs 1/f evaluations of public hash functions on
//! the adversary's own machine, without a single query (Gerbet, Kumar, Lauradoux, 2015). A public seed does not help: fast
//! hashes have collisions that no seed breaks.
//!
//! # The idea
//!
//! The digest of a key is a pseudo-random function of a secret: SipHash-2-4 with 128 bits of output for keys up to 64
//! bytes and keyed BLAKE3 for longer ones ([`Hashing::keyed`](crate::hash::Hashing::keyed)), or keyed BLAKE3 for all ([`Hashing::keyed_high`](crate::hash::Hashing::keyed_high)). Its
//! working key is derived from the secret and the kind, m and k of the filter, so that filters of other shapes under the
//! same secret are unrelated. All else is as in the public mode: every kind, every verb, every rate.
//!
//! ```text
//! secret, "standard 28860 10" --derive--> working key --SipHash(key)--> digest --> positions
//! secret, "bouquet-kcv"       --derive--> check value (8 bytes, in the frame)
//! secret, "bouquet frame code v1" --derive--> key of the authentication code (16 bytes, in the frame)
//! ```
//!
//! # Guarantee
//!
//! Keys that were chosen without the secret and without watching the filter behave as random keys do: rates are those of
//! honest filling, and a forged positive costs 1/f *queries*. A frame carries the check value and the code; without the secret,
//! or with another, it is refused ([`Error::Secret`](crate::Error::Secret)), and so are unions of filters with different
//! secrets ([`Error::Incompatible`](crate::Error::Incompatible)).
//!
//! The authentication code is a keyed BLAKE3 over all that makes the filter: kind, parameters, state (the item count is there)
//! and stores. Whoever opens a frame with the secret checks it, so that a frame that was made or changed without the secret
//! is refused ([`Error::NotAuthentic`](crate::Error::NotAuthentic)), whatever its checksums say. Not protected:
//!
//! - *which* of your frames it is. An old frame of the same secret is as authentic as the newest, and so is the frame of another
//!   set: who can replace a file can put back last week's. Give sets that must not be confused secrets of their own.
//! - frames of before there was a code. They have none, and taking the code out of a frame makes one that looks like them; so
//!   they are refused unless [`allow_unauthenticated`](crate::OpenOptions::allow_unauthenticated) says otherwise. Their fill must still
//!   be within 8 standard deviations of what their item count allows ([`Error::Overfull`](crate::Error::Overfull)), but the item count
//!   can be forged too.
//! - frames that are opened without the secret, to look at them: what they say is unproven.
//! - a mapped file that is changed after it was opened. Opening it reads it once to check the code, unless
//!   `allow_unauthenticated` spares it that; then nothing in it is proven.
//!
//! # Secrecy
//!
//! Who sees the bits but not the secret learns about how many keys there are, and of no key whether it is among them; and
//! two filters of one secret and shape can be compared. Who may ask learns the answers one by one, and a false positive
//! once found can be asked again: the guarantee is for distinct queries (Naor, Yogev, 2015), only a filter that adapts to
//! its errors repairs that. Who sees bits change while choosing insertions learns those keys' positions.
//!
//! # Cost
//!
//! A query with a key of eight bytes takes about 2.4 times (SipHash) or 5.5 times (BLAKE3) as long as with public hashing
//! when the filter is in the cache, less when memory decides; size and rates are the same. A secret cannot be exchanged in a filter, since its keys are not in it: [`AnyFilter::rekeyed`](crate::AnyFilter::rekeyed) makes a
//! filter of the same parameters from the keys.
//!
//! # Choose another
//!
//! if the filter's users must not have the secret either: none of the present kinds; if there can be no secret at all, size
//! the filter for the worst: [`for_worst_case`](crate::theory::adversary::for_worst_case).

use crate::secrecy::Mode;

/// The registry's row.
pub const MODE: Mode = Mode {
    id: "keyed",
    name: "Keyed Bloom filter",
    aliases: &["secret", "siphash", "PRF filter"],
    papers: &[
        "T. Gerbet, A. Kumar, C. Lauradoux, The power of evil choices in Bloom filters, 2015",
        "M. Naor, E. Yogev, Bloom filters in adversarial environments, 2015",
    ],
    summary: "Any kind, when keys or queries may come from an adversary: public caches, deny lists, wallets.",
    idea: "The digest of a key is a pseudo-random function of a secret (SipHash-2-4-128, BLAKE3 for long keys or on \
           request), separate for each kind and shape. Whoever lacks the secret can choose neither keys that fill the \
           filter nor keys that pass it. The frame carries an 8-byte check value and a 16-byte authentication code (keyed \
           BLAKE3), never the secret.",
    formulas: &[
        "n chosen keys, public hashing: fill n k/m, rate (n k/m)^k",
        "n chosen keys, keyed: fill 1 - e^(-k n/m), rate that of honest keys",
        "a forged positive: 1/f evaluations offline when public, 1/f queries when keyed",
    ],
    secrecy: "A frame that was made or changed without the secret is refused by whoever opens it with the secret. An older \
              frame of the same secret put in its place is not; nor is anything proven to one who looks without the \
              secret. Without the secret the bits tell about how many keys there are and nothing on any of them. With query \
              access the answers come one by one, and a false positive once found can be replayed. Watching bits change \
              on chosen insertions reveals those keys' positions.",
    cost: "A query takes two to three times as long for short keys, five to six times with BLAKE3; size and rates are the same. \
           A new secret needs the keys again.",
    usage: "Library: Config::hashed(Hashing::keyed(Secret::random()?)), and OpenOptions { secret, .. } to open frames. \
            Keyed frames of before the authentication code open with allow_unauthenticated: true; saving adds the code.",
};

#[cfg(test)]
mod tests {
    use crate::capability::{Dataset, Item, Note, NoteType};
    use crate::hash::{HashId, Hashing, Positions, Reduction, Scheme, Secret};
    use crate::kind::{Config, ErrorClass, Kind, Stats, Structure, Verb};
    use crate::theory::{adversary, spread, standard};
    use crate::{AnyFilter, Bloom, Error, OpenOptions, registry};

    /// The design that the attacks are run against: 14.43 bits per key, the best k.
    const BITS: u64 = 28_860;
    const HASHES: u32 = 10;
    const KEYS: u64 = 2_000;

    fn secret(number: u64) -> Secret {
        let mut bytes = [0x5A; 32];
        bytes[..8].copy_from_slice(&number.to_le_bytes());
        Secret::new(&bytes).unwrap()
    }

    fn options(secret: Secret) -> OpenOptions {
        OpenOptions { secret: Some(secret), ..OpenOptions::default() }
    }

    fn bloom(hashing: Hashing, keys: impl IntoIterator<Item = u64>) -> Bloom {
        let config = Config::new(&Bloom::FACTS).set("bits", &BITS.to_string()).unwrap();
        let config = config.set("hashes", &HASHES.to_string()).unwrap();
        let mut filter = Bloom::from_config(&config.hashed(hashing)).unwrap();
        for key in keys {
            filter.insert(&key);
        }
        filter
    }

    /// What an adversary computes alone: a key's positions under public hashing.
    fn public_positions(key: u64) -> Positions {
        let scheme = Scheme { reduction: Reduction::Fastrange32, ..Scheme::default() };
        scheme.positions(&Hashing::default(), &key.to_le_bytes(), BITS, HASHES)
    }

    /// The share of keys from outside, far from those that the attacks try, that pass.
    fn measured_rate(filter: &Bloom, queries: u64) -> f64 {
        let first = 1u64 << 60;
        (first..first + queries).filter(|key| filter.contains(key)).count() as f64 / queries as f64
    }

    /// Keys that each set k fresh bits, found by trying.
    fn polluting_keys() -> Vec<u64> {
        let mut taken = vec![false; BITS as usize];
        let fresh = |key: &u64, taken: &[bool]| {
            let mut at = public_positions(*key);
            at.iter().all(|&p| !taken[p as usize]) && at.distinct().len() == HASHES as usize
        };
        let mut chosen = Vec::new();
        for key in 0.. {
            if fresh(&key, &taken) {
                public_positions(key).iter().for_each(|&p| taken[p as usize] = true);
                chosen.push(key);
                if chosen.len() as u64 == KEYS {
                    break;
                }
            }
        }
        chosen
    }

    #[test]
    fn chosen_keys_pollute_a_public_filter_and_do_nothing_to_a_keyed_one() {
        let chosen = polluting_keys();
        let queries = 400_000;
        let public = bloom(Hashing::default(), chosen.iter().copied());
        assert_eq!(public.bits().count_ones(), KEYS * u64::from(HASHES));
        let (polluted, expected) = (measured_rate(&public, queries), adversary::polluted_rate(BITS, KEYS, HASHES));
        // The published 2.56 % is that of (n/m) k = ln 2; 14.43 bits per key are a little more.
        assert!((expected - 0.0256).abs() < 0.0001, "{expected}");
        assert!((polluted / 0.0256 - 1.0).abs() < 0.10, "{polluted}");
        assert!((polluted - expected).abs() < 5.0 * spread::test_sigma_conditional(expected, queries));

        let honest = standard::expected_rate(BITS, KEYS, HASHES);
        assert!((honest - 0.00098).abs() < 0.00001, "{honest}");
        let queries = 2_000_000;
        let sigma = spread::test_sigma(BITS, KEYS, HASHES, queries);
        for hashing in [Hashing::keyed(secret(1)), Hashing::keyed_high(secret(1))] {
            let queries = if hashing.id() == HashId::Blake3 { queries / 4 } else { queries };
            let sigma = sigma.max(spread::test_sigma(BITS, KEYS, HASHES, queries));
            let found = measured_rate(&bloom(hashing, chosen.iter().copied()), queries);
            assert!((found - honest).abs() < 5.0 * sigma, "{found} {honest}");
        }
    }

    #[test]
    fn positives_forged_offline_pass_a_public_filter_and_no_keyed_one() {
        let members = 1u64 << 40..(1 << 40) + KEYS;
        let public = bloom(Hashing::default(), members.clone());
        // The forger has the bits of the public filter and computes positions; no query is asked.
        let bits = public.bits().clone();
        let mut evaluations = 0;
        let passes = |key: &u64| {
            evaluations += 1;
            public_positions(*key).iter().all(|&position| bits.get(position))
        };
        let forged: Vec<_> = (0..).filter(passes).take(100).collect();
        assert!(evaluations < 200_000, "{evaluations}");
        let cost = adversary::forgery_cost(public.rate_now());
        assert!((f64::from(evaluations) / 100.0 / cost - 1.0).abs() < 0.5, "{evaluations} {cost}");
        assert!(forged.iter().all(|key| public.contains(key)));

        let honest = standard::expected_rate(BITS, KEYS, HASHES);
        let secrets = 300;
        let passed: usize = (0..secrets)
            .map(|number| bloom(Hashing::keyed(secret(number)), members.clone()))
            .map(|keyed| forged.iter().filter(|key| keyed.contains(*key)).count())
            .sum();
        let trials = secrets * 100;
        let sigma = spread::test_sigma_conditional(honest, trials);
        assert!(passed as f64 / trials as f64 <= honest + 5.0 * sigma, "{passed} of {trials}");
    }

    /// The frame with every bit of its first store set and all checksums right: they need no secret.
    fn all_ones(mut frame: Vec<u8>) -> Vec<u8> {
        let field = |frame: &[u8], at: usize| u64::from_le_bytes(frame[at..at + 8].try_into().unwrap());
        let (begin, len) = (field(&frame, 64) as usize, field(&frame, 72) as usize);
        frame[begin..begin + len].fill(0xFF);
        let store = xxhash_rust::xxh3::xxh3_64(&frame[begin..begin + len]);
        frame[96..104].copy_from_slice(&store.to_le_bytes());
        frame[56..64].fill(0);
        let header = xxhash_rust::xxh3::xxh3_64(&frame[..begin]);
        frame[56..64].copy_from_slice(&header.to_le_bytes());
        frame
    }

    #[test]
    fn a_filter_of_ones_is_refused() {
        let config = Config::new(&Bloom::FACTS).set("bits", "6400").unwrap().set("hashes", "7").unwrap();
        let frame = |hashing| {
            let mut filter = Bloom::from_config(&config.clone().hashed(hashing)).unwrap();
            (0..600u64).for_each(|key| {
                filter.insert(&key);
            });
            filter.to_bytes()
        };
        let keyed = frame(Hashing::keyed(secret(1)));
        assert!(AnyFilter::from_bytes_with(&keyed, &options(secret(1))).is_ok());
        let mut forged = all_ones(keyed);
        let open = |forged: &[u8], options: &OpenOptions| AnyFilter::from_bytes_with(forged, options).map(drop);
        assert!(matches!(open(&forged, &options(secret(1))), Err(Error::NotAuthentic { .. })));
        // Without a code, as before there was one, it is still fuller than its items allow.
        forged[13] = 0;
        forged[40..56].fill(0);
        forged = all_ones(forged);
        assert!(matches!(open(&forged, &options(secret(1))), Err(Error::NotAuthentic { .. })));
        let allowed = OpenOptions { allow_unauthenticated: true, ..options(secret(1)) };
        assert!(matches!(open(&forged, &allowed), Err(Error::Overfull { .. })));

        // Public frames are as open as their hash functions, unless a limit is asked for.
        let forged = all_ones(frame(Hashing::default()));
        assert!(AnyFilter::from_bytes(&forged).unwrap().contains().unwrap().contains(b"anything"));
        let limit = OpenOptions { max_fill: Some(0.6), ..OpenOptions::default() };
        assert!(matches!(AnyFilter::from_bytes_with(&forged, &limit), Err(Error::Overfull { .. })));
    }

    #[test]
    fn filters_of_different_secrets_do_not_combine() {
        let mut one = bloom(Hashing::keyed(secret(1)), 0..10);
        let two = bloom(Hashing::keyed(secret(2)), 0..10);
        let stronger = bloom(Hashing::keyed_high(secret(1)), 0..10);
        let before = one.clone();
        for other in [two, stronger, bloom(Hashing::default(), 0..10)] {
            for answer in [one.merge(&other), one.intersect(&other)] {
                assert!(matches!(&answer, Err(Error::Incompatible { field, .. }) if field == "hashing"), "{answer:?}");
            }
        }
        assert_eq!(one, before);
        one.merge(&bloom(Hashing::keyed(secret(1)), 10..20)).unwrap();
        assert!((0..20u64).all(|key| one.contains(&key)));
    }

    #[test]
    fn secrets_are_neither_printed_nor_written() {
        let filter = AnyFilter::from_structure(bloom(Hashing::keyed(secret(1)), 0..10)).unwrap();
        let (frame, printed) = (filter.to_bytes(), format!("{filter:?} {:?} {:?}", filter.config(), secret(1)));
        assert!(!frame.windows(8).any(|window| window == [0x5A; 8]));
        assert!(!printed.contains("90, 90") && !printed.to_lowercase().contains("5a5a"), "{printed}");
    }

    fn note(note: NoteType, index: u64) -> Note<'static> {
        match note {
            NoteType::None => Note::None,
            NoteType::Integer => Note::Integer(index % 7),
            NoteType::Bytes => Note::Bytes(b"value"),
            NoteType::Group => Note::Group(index % 4),
            NoteType::Weight => Note::Weight(0.5),
            NoteType::Weights => Note::Weights(1.0, 0.5),
            // Copies of a key take slots of a quotient filter; one made for 300 has room for two of each.
            NoteType::Amount => Note::Amount(1 + index % 2),
        }
    }

    fn config(kind: &Kind) -> Config {
        let config = Config::new(kind.facts());
        let sized = kind.facts().parameters.iter().any(|parameter| parameter.name == "items");
        if sized { config.set("items", "300").unwrap() } else { config }
    }

    fn items<'a>(kind: &Kind, keys: &'a [[u8; 8]]) -> Vec<Item<'a>> {
        (0..).zip(keys).map(|(index, key)| Item::new(key, note(kind.facts().note, index))).collect()
    }

    #[test]
    fn every_kind_can_be_keyed() {
        let keys: Vec<_> = (0..300u64).map(u64::to_le_bytes).collect();
        let strangers: Vec<_> = (1_000..1_030u64).map(u64::to_le_bytes).collect();
        for kind in registry::kinds() {
            let id = kind.facts().id;
            // Some kinds are as large as what they must reject makes them.
            let known = if kind.knows_absent() { strangers.as_slice() } else { &[] };
            let (items, absent) = (items(kind, &keys), items(kind, known));
            let data = Dataset { items: &items, absent: &absent };
            for make in [Hashing::keyed, Hashing::keyed_high] {
                let build = |number| AnyFilter::build(&config(kind).hashed(make(secret(number))), &data).unwrap();
                let filter = build(1);
                let frame = filter.to_bytes();

                for refused in [OpenOptions::default(), options(secret(2))] {
                    let answer = AnyFilter::from_bytes_with(&frame, &refused);
                    assert!(matches!(answer, Err(Error::Secret { .. })), "{id}");
                }
                let again = AnyFilter::from_bytes_with(&frame, &options(secret(1))).unwrap();
                assert_eq!(again.to_bytes(), frame, "{id}");
                if kind.can(Verb::Contains) {
                    let (before, after) = (filter.contains().unwrap(), again.contains().unwrap());
                    for key in &keys {
                        assert!(before.contains(key) || kind.errs(ErrorClass::FalseNegative), "{id}");
                        assert_eq!(before.contains(key), after.contains(key), "{id}");
                    }
                }

                let locked = OpenOptions { allow_locked: true, ..OpenOptions::default() };
                let locked = AnyFilter::from_bytes_with(&frame, &locked).unwrap();
                // A rate may need the hash function to be known; what is told is the same.
                let told = Stats { fpr: locked.stats().fpr.or(filter.stats().fpr), ..locked.stats() };
                assert_eq!(told, filter.stats(), "{id}");
                assert!(matches!(locked.contains(), Err(Error::Secret { .. } | Error::Unsupported { .. })), "{id}");

                // Another secret puts the same keys elsewhere.
                let stores = |frame: &[u8]| match frame[14..16] {
                    [0, 0] => None,
                    _ => Some(frame[u64::from_le_bytes(frame[64..72].try_into().unwrap()) as usize..].to_vec()),
                };
                let moved = stores(&build(2).to_bytes());
                let is_moved = moved.is_none() || moved != stores(&frame);
                assert_eq!(is_moved, kind.hashes_keys() || moved.is_none(), "{id} does not hash with the secret");
            }
        }
    }

    #[test]
    fn rebuilding_gives_the_filter_of_the_keys_under_the_new_secret() {
        let keys: Vec<_> = (0..3_000u64).map(u64::to_le_bytes).collect();
        for kind in registry::kinds() {
            let id = kind.facts().id;
            let items = items(kind, &keys[..300]);
            let data = Dataset { items: &items, absent: &[] };
            let build = |hashing| AnyFilter::build(&config(kind).hashed(hashing), &data).unwrap();
            let old = build(Hashing::keyed_high(secret(1)));
            let locked = OpenOptions { allow_locked: true, ..OpenOptions::default() };
            let locked = AnyFilter::from_bytes_with(&old.to_bytes(), &locked).unwrap();
            for filter in [&old, &locked] {
                let new = filter.rekeyed(items.iter().copied(), secret(2)).unwrap();
                assert_eq!(new.hashing(), &Hashing::keyed_high(secret(2)), "{id}");
                assert_eq!(new.stats().bits, build(Hashing::keyed_high(secret(2))).stats().bits, "{id}");
                if kind.can(Verb::Contains) && !kind.errs(ErrorClass::FalseNegative) {
                    let contains = new.contains().unwrap();
                    assert!(keys[..300].iter().all(|key| contains.contains(key)), "{id}");
                }
            }
            let public = build(Hashing::default()).rekeyed(items.iter().copied(), secret(2)).unwrap();
            assert_eq!(public.hashing(), &Hashing::keyed(secret(2)), "{id}");
        }
        // More keys than are held at once.
        let empty = AnyFilter::from_structure(bloom(Hashing::default(), [])).unwrap();
        let many = empty.rekeyed(keys.iter().map(|key| Item::from(key.as_slice())), secret(3)).unwrap();
        let expected = AnyFilter::from_structure(bloom(Hashing::keyed(secret(3)), 0..3_000)).unwrap();
        assert_eq!(many.to_bytes(), expected.to_bytes());
    }

    #[test]
    fn the_mode_is_listed_and_found_by_its_names() {
        for name in ["keyed", "KEYED", "secret", "Keyed Bloom filter"] {
            assert_eq!(registry::find_mode(name).unwrap().id, "keyed");
        }
        assert!(registry::find_mode("standard").is_none());
        assert!(registry::MODES.iter().all(|mode| registry::find(mode.id).is_err()), "no kind has a mode's name");
    }
}

//! Items in their buckets: how they are found, and how they move when counters change.

use super::{BOOST_BITS, Held, Mode, Pruned, PrunedCounting, parts};
use crate::error::Result;
use crate::hash::{Digest, Hashing};
use crate::key::Key;
use crate::parts::counter_array::Placement;
use crate::parts::item_bytes;
use crate::store::Counters;

#[cfg(test)]
thread_local! {
    /// Buckets that queries have read.
    pub(super) static ACCESSES: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// The item of a link.
#[inline]
fn index(link: u64) -> Option<usize> {
    link.checked_sub(1).map(|number| number as usize)
}

impl PrunedCounting {
    /// Items beyond the first of their bucket, which queries may have to pass.
    ///
    /// ```
    /// use bouquet::PrunedCounting;
    /// let mut table = PrunedCounting::with_size(1, 1)?;
    /// (0..3u64).try_for_each(|key| table.insert(&key, b"").map(drop))?;
    /// assert_eq!(table.crowded(), 2);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn crowded(&self) -> u64 {
        let table = &self.mechanism;
        (0..table.buckets()).map(|bucket| (table.at_home(bucket).count() as u64).saturating_sub(1)).sum()
    }

    /// Drives items out of buckets that hold more than one, by at most `limit` boosts of one each, and says how many it
    /// made. Answers stay the same; fewer items are passed on the way to them.
    ///
    /// ```
    /// use bouquet::PrunedCounting;
    /// let mut table = PrunedCounting::with_size(350, 3)?;
    /// (0..100u64).try_for_each(|key| table.insert(&key, b"").map(drop))?;
    /// assert!(table.crowded() > 0);
    /// table.balance(10_000)?;
    /// assert_eq!(table.crowded(), 0);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn balance(&mut self, limit: u64) -> Result<u64> {
        self.mechanism.balance(limit)
    }
}

impl Pruned {
    pub(super) fn buckets(&self) -> u64 {
        self.places.counters()
    }

    pub(super) fn len(&self) -> usize {
        self.held.len() - self.free.len()
    }

    /// The items by key.
    pub(super) fn sorted(&self) -> Vec<&Held> {
        let mut items: Vec<&Held> = self.held.iter().flatten().collect();
        items.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        items
    }

    pub(super) fn held(&self, number: usize) -> Option<&Held> {
        self.held.get(number)?.as_ref()
    }

    /// The numbers of the items at home in a bucket.
    pub(super) fn at_home(&self, bucket: u64) -> impl Iterator<Item = usize> + '_ {
        let follow = move |number: &usize| self.held(*number).and_then(|held| index(held.next_at_home));
        std::iter::successors(index(self.at_home.as_slice()[bucket as usize]), follow)
    }

    /// The numbers of the items that are hashed to a bucket.
    pub(super) fn hashed(&self, bucket: u64) -> impl Iterator<Item = usize> + '_ {
        let follow = move |number: &usize| {
            let held = self.held(*number)?;
            let which = held.places.iter().position(|&place| place == bucket)?;
            index(held.next_hashed[which])
        };
        std::iter::successors(index(self.hashed.as_slice()[bucket as usize]), follow)
    }

    /// The home of an item with these places: the one with the least counter, boost included, the first of equal ones.
    #[inline]
    pub(super) fn home(&self, places: &[u64]) -> u64 {
        let boost = |place| self.boosts.as_ref().map_or(0, |boosts| boosts.get(place));
        let load = |place: u64| (self.counters.get(place) + boost(place), place);
        // A key has at least one place.
        places.iter().copied().min_by_key(|&place| load(place)).unwrap_or(0)
    }

    /// The number of the item with this key.
    #[inline]
    pub(super) fn find(&self, key: &[u8], digest: Digest) -> Option<usize> {
        if !self.counters.all_nonzero(self.places.of(digest)) {
            return None;
        }
        #[cfg(test)]
        ACCESSES.set(ACCESSES.get() + 1);
        let bucket = self.home(&self.places.distinct(digest));
        let is_own = |number: &usize| self.held(*number).is_some_and(|held| *held.key == *key);
        match self.mode {
            Mode::Basic => self.hashed(bucket).find(is_own),
            Mode::Pruned => self.at_home(bucket).find(is_own),
        }
    }

    pub(super) fn value(&self, key: &[u8], digest: Digest) -> Option<&[u8]> {
        self.held(self.find(key, digest)?).map(|held| &*held.value)
    }

    pub(super) fn insert(&mut self, key: &[u8], digest: Digest, value: &[u8], copies: u64) -> Result<bool> {
        item_bytes::check(key, value)?;
        if let Some(number) = self.find(key, digest) {
            if let Some(held) = &mut self.held[number] {
                self.bytes = self.bytes - held.value.len() as u64 + value.len() as u64;
                held.value = value.into();
                held.copies = held.copies.saturating_add(copies);
            }
            return Ok(false);
        }
        let places = self.places.distinct(digest);
        self.counters.update_each(places.iter().copied(), |counter| counter.saturating_add(1));
        self.hold(Held {
            key: key.into(),
            value: value.into(),
            copies,
            home: self.home(&places),
            next_at_home: 0,
            next_hashed: vec![0; places.len()].into(),
            places: (*places).into(),
        });
        // Only counters of these places have risen, so only what is at home there can have a better home now.
        for &place in places.iter() {
            let here: Vec<usize> = self.at_home(place).collect();
            here.into_iter().for_each(|number| self.rehome(number));
        }
        Ok(true)
    }

    /// Takes an item in and enters it in the lists of its buckets.
    pub(super) fn hold(&mut self, held: Held) {
        let number = self.free.pop().unwrap_or(self.held.len());
        if number == self.held.len() {
            self.held.push(None);
        }
        self.bytes += (held.key.len() + held.value.len()) as u64;
        let (places, home) = (held.places.clone(), held.home);
        self.held[number] = Some(held);
        for (which, &place) in places.iter().enumerate() {
            let first = std::mem::replace(&mut self.hashed.as_mut_slice()[place as usize], number as u64 + 1);
            if let Some(held) = &mut self.held[number] {
                held.next_hashed[which] = first;
            }
        }
        self.move_in(number, home);
    }

    fn move_in(&mut self, number: usize, home: u64) {
        if let Some(held) = &mut self.held[number] {
            held.home = home;
            held.next_at_home = std::mem::replace(&mut self.at_home.as_mut_slice()[home as usize], number as u64 + 1);
        }
    }

    fn move_out(&mut self, number: usize) {
        let Some((home, next)) = self.held(number).map(|held| (held.home, held.next_at_home)) else { return };
        let before = self.at_home(home).take_while(|&other| other != number).last();
        match before.and_then(|before| self.held[before].as_mut()) {
            Some(before) => before.next_at_home = next,
            None => self.at_home.as_mut_slice()[home as usize] = next,
        }
    }

    /// Moves an item to where its home is now.
    pub(super) fn rehome(&mut self, number: usize) {
        let Some((old, new)) = self.held(number).map(|held| (held.home, self.home(&held.places))) else { return };
        if old != new {
            self.move_out(number);
            self.move_in(number, new);
        }
    }

    pub(super) fn drop_item(&mut self, number: usize) {
        self.move_out(number);
        let Some(places) = self.held(number).map(|held| held.places.clone()) else { return };
        for (which, &place) in places.iter().enumerate() {
            let next = self.held(number).map_or(0, |held| held.next_hashed[which]);
            let before = self.hashed(place).take_while(|&other| other != number).last();
            let before = before.and_then(|before| self.held[before].as_mut());
            match before.and_then(|held| Some((held.places.iter().position(|&own| own == place)?, held))) {
                Some((which, held)) => held.next_hashed[which] = next,
                None => self.hashed.as_mut_slice()[place as usize] = next,
            }
        }
        if let Some(held) = self.held[number].take() {
            self.bytes -= (held.key.len() + held.value.len()) as u64;
        }
        self.free.push(number);
        let frozen = self.counters.max();
        let less = |counter: u64| if counter < frozen { counter.saturating_sub(1) } else { counter };
        self.counters.update_each(places.iter().copied(), less);
        // A lower counter can become the home of any item that is hashed there.
        for &place in places.iter() {
            let here: Vec<usize> = self.hashed(place).collect();
            here.into_iter().for_each(|number| self.rehome(number));
        }
    }

    pub(super) fn balance(&mut self, limit: u64) -> Result<u64> {
        let mut made = 0;
        loop {
            let before = made;
            for bucket in 0..self.buckets() {
                let here: Vec<usize> = self.at_home(bucket).collect();
                if made == limit || here.len() < 2 {
                    continue;
                }
                if self.boosts.is_none() {
                    self.boosts = Some(Counters::zeroed(self.buckets(), BOOST_BITS)?);
                }
                if let Some(boosts) = self.boosts.as_mut().filter(|boosts| boosts.get(bucket) < boosts.max()) {
                    boosts.update(bucket, |boost| boost + 1);
                    made += 1;
                    here.into_iter().for_each(|number| self.rehome(number));
                }
            }
            if made == before {
                return Ok(made);
            }
        }
    }

    /// The items in the order of their keys.
    pub(super) fn items_to_bytes(&self) -> Vec<u8> {
        item_bytes::write(self.sorted().into_iter().map(parts))
    }

    /// Takes in what [`items_to_bytes`](Self::items_to_bytes) wrote; also the sum of the copies.
    pub(super) fn read_items(&mut self, bytes: &[u8], hashing: &Hashing) -> Result<u64> {
        item_bytes::read(bytes, |key, value, copies| {
            if hashing.is_usable() {
                return self.insert(key, key.digest(hashing), value, copies).map(drop);
            }
            // Without its secret a table can be looked at, but where its keys belong is not known.
            let (places, next_hashed) = (Box::default(), Box::default());
            let (key, value) = (key.into(), value.into());
            self.hold(Held { key, value, copies, places, home: 0, next_at_home: 0, next_hashed });
            Ok(())
        })
    }
}

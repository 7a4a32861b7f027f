/** A 32-bit hash. `seed` is secret, so that clients cannot search for names with the same hash. */
export function hashText(seed: number, text: string): number {
  let hash = seed;
  for (let i = 0; i < text.length; i++) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x5bd1e995);
    hash ^= hash >>> 15;
  }
  return mix(hash ^ text.length);
}

/** The finalizer of MurmurHash3. */
function mix(value: number): number {
  let hash = value;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/**
 * Deals `size` different cards of a deck of `deck` cards, chosen by `hash` (shuffle sharding, KEP-1040). The result is
 * written to the first `size` elements of `hand`.
 */
export function dealHand(hash: number, deck: number, size: number, hand: Uint32Array): void {
  for (let i = 0; i < size; i++) {
    // The n-th of the cards that are left: cards dealt before are kept in ascending order, and each shifts it by one.
    let card = mix(hash + Math.imul(i + 1, 0x9e3779b9)) % (deck - i);
    let place = 0;
    while (place < i && card >= (hand[place] as number)) {
      card++;
      place++;
    }
    hand.copyWithin(place + 1, place, i);
    hand[place] = card;
  }
}

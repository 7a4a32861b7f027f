import type { Clock } from '@multiplane/component-base';

/** A time as metadata carries it: whole seconds, UTC. `now` in milliseconds since the epoch. */
export function metadataTime(now: number): string {
  return `${new Date(now).toISOString().slice(0, 19)}Z`;
}

/** {@link metadataTime} of the current time, formatted once per second. */
export class MetadataTimes {
  readonly #clock: Pick<Clock, 'now'>;
  #second = Number.NaN;
  #text = '';

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  now(): string {
    const second = Math.floor(this.#clock.now() / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#text = metadataTime(second * 1000);
    }
    return this.#text;
  }
}

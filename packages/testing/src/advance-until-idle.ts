import type { FakeClock } from './fake-clock.ts';

/** A controller with its work queue. */
interface WithQueue {
  readonly queue: { readonly busy: boolean };
}

/** Advances the clock; waits before and after each timer until the event loop and the controllers are idle. */
export function advanceUntilIdle(clock: FakeClock, ms: number, controllers: readonly WithQueue[]): Promise<void> {
  return clock.advance(ms, () => !controllers.some(({ queue }) => queue.busy));
}

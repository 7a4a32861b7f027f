import { eventually } from './eventually.ts';
import type { FakeClock } from './fake-clock.ts';

/** A controller with its work queue. */
interface WithQueue {
  readonly queue: { readonly busy: boolean };
}

const steps = 20;

/**
 * Advances the clock in steps, and waits before each step and at the end until the controllers are idle. How many iterations
 * of the event loop that takes depends on the load of the machine; {@link FakeClock.advance} alone waits for one.
 */
export async function advanceUntilIdle(clock: FakeClock, ms: number, controllers: readonly WithQueue[]): Promise<void> {
  for (let step = 0; step < steps; step++) {
    await waitUntilIdle(controllers);
    await clock.advance(ms / steps);
  }
  await waitUntilIdle(controllers);
}

function waitUntilIdle(controllers: readonly WithQueue[]): Promise<void> {
  return eventually(() => {
    if (controllers.some(({ queue }) => queue.busy)) throw new Error('controllers are busy');
  });
}

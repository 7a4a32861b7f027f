import type { FakeClock } from '@multiplane/component-base';
import { eventually } from './eventually.ts';

/** What a controller shows of its work. */
interface WithQueue {
  readonly queue: { readonly busy: boolean };
}

const steps = 20;

/**
 * Lets so much time pass, and controllers finish what they have to do before each step of it and at the end. How many
 * turns of the event loop that takes depends on how busy the machine is: {@link FakeClock.advance} alone gives them one.
 */
export async function atRest(clock: FakeClock, ms: number, controllers: readonly WithQueue[]): Promise<void> {
  for (let step = 0; step < steps; step++) {
    await finished(controllers);
    await clock.advance(ms / steps);
  }
  await finished(controllers);
}

function finished(controllers: readonly WithQueue[]): Promise<void> {
  return eventually(() => {
    if (controllers.some(({ queue }) => queue.busy)) throw new Error('controllers are still at work');
  });
}

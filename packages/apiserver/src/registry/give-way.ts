import { atOnce } from '@multiplane/apimachinery';
import { nextTurn } from '@multiplane/component-base';

/** Work on less than this is over before anybody notices. */
const bigBytes = 64 * 1024;
/** Bodies beyond this take a millisecond and more until they are written, several times that in a process that has just started. */
const smallBodyBytes = 4 * 1024;
const immediately: Promise<void> = Promise.resolve();

/** Whether work on so much is worth a pause. */
export const isBig = (bytes: number): boolean => bytes >= bigBytes;

/**
 * A turn of the event loop for others between two passes over something big: each pass is linear in its size, and what
 * a pass over the largest object takes is what others wait at most. Nothing for what is small.
 */
export function giveWay(bytes: number): Promise<void> {
  return isBig(bytes) ? nextTurn() : immediately;
}

/** Bodies that have come together wait for one another, if what becomes of them takes long. */
export function bodyTurn(bytes: number): Promise<void> | undefined {
  return bytes > smallBodyBytes ? nextTurn() : undefined;
}

/** Runs passes in one go, or with a turn of the event loop before each when the input is big. */
export function inSteps<T>(steps: Generator<void, T>, bytes: number): T | Promise<T> {
  return isBig(bytes) ? withPauses(steps, bytes) : atOnce(steps);
}

async function withPauses<T>(steps: Generator<void, T>, bytes: number): Promise<T> {
  for (;;) {
    await giveWay(bytes);
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** Work on less than this is over before anybody notices. */
const bigBytes = 64 * 1024;
const immediately: Promise<void> = Promise.resolve();

/** Whether work on so much is worth a pause. */
export const isBig = (bytes: number): boolean => bytes >= bigBytes;

/**
 * A turn of the event loop for others between two passes over something big: each pass is linear in its size, and what
 * a pass over the largest object takes is what others wait at most. Nothing for what is small.
 */
export function giveWay(bytes: number): Promise<void> {
  return !isBig(bytes)
    ? immediately
    : new Promise((resolve) => {
        setImmediate(resolve);
      });
}

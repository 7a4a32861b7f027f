import { isStatusError } from '@multiplane/apimachinery';
import { eventually, type EventuallyOptions } from './eventually.ts';

/**
 * Tries until an object could be created, where servers or connections come and go. A try that failed may have created it
 * all the same: then it is there, which is what was wanted.
 */
export async function untilCreated(create: () => Promise<unknown>, options?: EventuallyOptions): Promise<void> {
  let hasFailed = false;
  await eventually(async () => {
    try {
      await create();
    } catch (error) {
      if (hasFailed && isThere(error)) return;
      hasFailed ||= !isThere(error);
      throw error;
    }
  }, options);
}

/** By the answer of an API server, or of a store. */
const isThere = (error: unknown): boolean =>
  isStatusError(error, 'AlreadyExists') || (error as { readonly code?: unknown } | null)?.code === 'KeyExists';

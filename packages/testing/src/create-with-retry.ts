import { isStatusError } from '@multiplane/apimachinery';
import { eventually, type EventuallyOptions } from './eventually.ts';

/**
 * Creates an object with retries, for tests that break servers or connections. After a failed attempt, which may have created
 * the object, an AlreadyExists error is a success.
 */
export async function createWithRetry(create: () => Promise<unknown>, options?: EventuallyOptions): Promise<void> {
  let hasFailed = false;
  await eventually(async () => {
    try {
      await create();
    } catch (error) {
      if (hasFailed && alreadyExists(error)) return;
      hasFailed ||= !alreadyExists(error);
      throw error;
    }
  }, options);
}

/** The error of an API server, or of a store. */
const alreadyExists = (error: unknown): boolean =>
  isStatusError(error, 'AlreadyExists') || (error as { readonly code?: unknown } | null)?.code === 'KeyExists';

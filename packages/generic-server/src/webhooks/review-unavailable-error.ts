import { isStatusError } from '@multiplane/apimachinery';

/**
 * The server that knows a credential or decides on a permission did not respond. A new request fails by it; a request that runs
 * already continues.
 */
export class ReviewUnavailableError extends Error {
  override readonly name = 'ReviewUnavailableError';
}

/** Whether an error, one of its parts or its cause is an outage of the server that reviews a request. */
export function isReviewUnavailable(error: unknown): boolean {
  if (error instanceof ReviewUnavailableError) return true;
  if (isStatusError(error)) return error.code >= 500 || error.code === 429;
  if (error instanceof AggregateError) return error.errors.some(isReviewUnavailable);
  return error instanceof Error && error.cause !== undefined && isReviewUnavailable(error.cause);
}

/** A request was rejected by priority and fairness: 429, the client may retry after some seconds. */
export class TooManyRequestsError extends Error {
  override readonly name = 'TooManyRequestsError';
  readonly retryAfterSeconds: number;

  constructor(reason: string, retryAfterSeconds: number) {
    super(`the request was rejected: ${reason}`);
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

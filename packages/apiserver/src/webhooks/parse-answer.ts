import { bodyLimits, parseJsonIncrementally, type Json } from '@multiplane/apimachinery';

/**
 * Parses what a webhook answered in passes: its owner chooses size and shape, as a client does those of a body. Throws JsonSyntaxError,
 * also for an object that is wider than a body may be: what it makes of a stored object can be written again by clients.
 */
export function* parseAnswer(body: Buffer): Generator<void, Json> {
  const { value } = yield* parseJsonIncrementally(body, false, { limits: bodyLimits });
  return value;
}

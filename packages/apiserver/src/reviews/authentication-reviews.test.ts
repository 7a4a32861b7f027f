import { expect, test } from '@jest/globals';
import { tokenReview } from './authentication-reviews.ts';

test('a TokenReview returns its spec with the token', async () => {
  const handler = tokenReview(
    { audiences: [] },
    { tokensIn: () => ({ authenticateToken: () => Promise.resolve(undefined) }) },
  );
  const object = { kind: 'TokenReview', metadata: {}, spec: { token: 'secret' } };
  expect(await handler({ object } as never)).toEqual({
    ...object,
    status: { user: {}, error: 'invalid bearer token' },
  });
});

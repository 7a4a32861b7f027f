import { expect, test } from '@jest/globals';
import { tokenDigest, TokenDigests } from './token-digests.ts';

test('a digest is that of the token at hand, whoever brought another one before over the same connection', () => {
  const digests = new TokenDigests();
  const [proxy, client] = [{}, {}];
  const said = ['alice', 'alice', 'bobby', 'alice', 'alic', 'alicf', ''].flatMap((token) =>
    [proxy, client, undefined].map((connection) => [token, digests.of(token, connection)]),
  );
  expect(said).toEqual(said.map(([token]) => [token, tokenDigest(token as string)]));
});

import { expect, test } from '@jest/globals';
import { tokenDigest, TokenDigests } from './token-digests.ts';

test('a connection with several tokens gets the digest of each', () => {
  const digests = new TokenDigests();
  const [proxy, client] = [{}, {}];
  const said = ['alice', 'alice', 'bobby', 'alice', 'alic', 'alicf', ''].flatMap((token) =>
    [proxy, client, undefined].map((connection) => [token, digests.of(token, connection)]),
  );
  expect(said).toEqual(said.map(([token]) => [token, tokenDigest(token as string)]));
});

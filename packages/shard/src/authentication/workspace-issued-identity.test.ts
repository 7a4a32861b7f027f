import { expect, test } from '@jest/globals';
import type { LogicalClusterName } from '@multiplane/apimachinery';
import { foreignIdentity } from './foreign-identity.ts';

const cluster = 'c1' as LogicalClusterName;

test('keeps what is the issuer’s to say, and nothing of the system’s', () => {
  const user = {
    name: 'ann',
    uid: '1',
    groups: ['team', 'system:masters', 'system:kcp:admin'],
    extra: {
      'example.org/key': ['v'],
      'authorization.kcp.io/warrant': ['{"user":"root"}'],
      'Authentication.KCP.io/Scopes': ['cluster:other'],
    },
  };
  expect(foreignIdentity(user, cluster)).toEqual({
    name: 'ann',
    uid: '1',
    groups: ['team', 'system:authenticated'],
    extra: Object.assign(Object.create(null) as object, {
      'example.org/key': ['v'],
      'authentication.kcp.io/scopes': ['cluster:c1'],
      'authentication.kcp.io/cluster-name': ['c1'],
    }),
  });
});

test.each(['system:admin', 'system:serviceaccount:default:a', 'system:anonymous'])('%s is nobody', (name) => {
  expect(() => foreignIdentity({ name, uid: '', groups: [], extra: {} }, cluster)).toThrow(
    'system usernames are not admitted',
  );
});

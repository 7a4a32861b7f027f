import { expect, test } from '@jest/globals';
import type { LogicalClusterName } from '@multiplane/apimachinery';
import { workspaceIssuedIdentity } from './workspace-issued-identity.ts';

const cluster = 'c1' as LogicalClusterName;

test('keeps the identity of the issuer and drops system groups and extras', () => {
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
  expect(workspaceIssuedIdentity(user, cluster)).toEqual({
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

test.each(['system:admin', 'system:serviceaccount:default:a', 'system:anonymous'])(
  'rejects the user name %s',
  (name) => {
    expect(() => workspaceIssuedIdentity({ name, uid: '', groups: [], extra: {} }, cluster)).toThrow(
      'system usernames are not admitted',
    );
  },
);

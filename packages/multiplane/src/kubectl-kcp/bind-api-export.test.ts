import { describe, expect, test } from '@jest/globals';
import { parseBindRequest, type BindFlags } from './bind-api-export.ts';

const parse = (reference: string | undefined, flags: Partial<BindFlags> = {}): ReturnType<typeof parseBindRequest> =>
  parseBindRequest(reference, { timeoutMs: 1000, ...flags });

describe('parseBindRequest', () => {
  test('reads the workspace and name of the export, which is the default name of the binding', () => {
    expect(parse('root:org:provider:cowboys')).toMatchObject({
      path: 'root:org:provider',
      exportName: 'cowboys',
      bindingName: 'cowboys',
      claimStates: [],
      allClaims: undefined,
    });
    expect(parse('root:cowboys', { name: 'mine' })).toMatchObject({ path: 'root', bindingName: 'mine' });
  });

  test('reads the states of claims', () => {
    const flags = { acceptPermissionClaim: ['configmaps.core', 'a.b.c'], rejectPermissionClaim: ['secrets.core'] };
    expect(parse('root:x', flags).claimStates).toEqual([
      { group: '', resource: 'configmaps', state: 'Accepted' },
      { group: 'b.c', resource: 'a', state: 'Accepted' },
      { group: '', resource: 'secrets', state: 'Rejected' },
    ]);
    expect(parse('root:x', { rejectAllPermissionClaims: true }).allClaims).toBe('Rejected');
  });

  test.each<[string | undefined, Partial<BindFlags>, string]>([
    [undefined, {}, '`root:ws:apiexport_object` reference to bind is required as an argument'],
    ['cowboys', {}, 'fully qualified reference to workspace where APIExport exists is required.'],
    ['Root:cowboys', {}, 'fully qualified reference to workspace where APIExport exists is required.'],
    [
      'root:x',
      { acceptAllPermissionClaims: true, rejectAllPermissionClaims: true },
      'cannot use both --accept-all-permission-claims and --reject-all-permission-claims',
    ],
    [
      'root:x',
      { acceptAllPermissionClaims: true, acceptPermissionClaim: ['a.b'] },
      'cannot use --accept-all-permission-claims with --accept-permission-claim',
    ],
    [
      'root:x',
      { rejectAllPermissionClaims: true, acceptPermissionClaim: ['a.b'] },
      'cannot use --reject-all-permission-claims together with --accept-permission-claim',
    ],
    [
      'root:x',
      { acceptPermissionClaim: ['one', 'two'] },
      'invalid accepted permission claims: [invalid permission claim "one" invalid permission claim "two"]',
    ],
    [
      'root:x',
      { rejectPermissionClaim: ['one'] },
      'invalid rejected permission claims: [invalid permission claim "one"]',
    ],
    [
      'root:x',
      { acceptPermissionClaim: ['a.b'], rejectPermissionClaim: ['a.b'] },
      'accepted permission claim a.b conflicts with rejected permission claim a.b',
    ],
  ])('%s with %j is refused', (reference, flags, message) => {
    expect(() => parse(reference, flags)).toThrow(message);
  });
});

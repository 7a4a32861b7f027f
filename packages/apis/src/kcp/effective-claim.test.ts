import { describe, expect, test } from '@jest/globals';
import type { ScopedPermissionClaim } from './api-sharing.ts';
import { effectiveClaim } from './effective-claim.ts';

const accepted = (more: Partial<ScopedPermissionClaim>): ScopedPermissionClaim => ({
  resource: 'secrets',
  verbs: ['get'],
  selector: { matchAll: true },
  ...more,
});
const offered = (more: Partial<ScopedPermissionClaim>) => ({ resource: 'secrets', verbs: ['*'], ...more });

describe('the claim that is in force', () => {
  test('is the accepted one where neither side limits it', () => {
    expect(effectiveClaim(accepted({}), offered({}))).toEqual(accepted({}));
  });

  test('has the limits of the side that has any', () => {
    const limits = { objects: { names: ['a'], fieldSelector: 'type=Opaque' }, subresources: ['status'] };
    expect(effectiveClaim(accepted({}), offered(limits))).toEqual(accepted(limits));
    expect(effectiveClaim(accepted(limits), offered({}))).toEqual(accepted(limits));
  });

  test('has what both sides have in common', () => {
    const [one, two] = ['.spec.one', '.spec.two'].map((path) => ({ group: 'example.dev', resource: 'things', path }));
    const effective = effectiveClaim(
      accepted({
        objects: { names: ['a', 'b'], namespaces: ['x'], fieldSelector: 'type=Opaque', references: [one as never] },
        subresources: ['status'],
      }),
      offered({
        objects: {
          names: ['b', 'c'],
          namespaces: ['y'],
          fieldSelector: 'metadata.name!=d',
          references: [one as never, two as never],
        },
        subresources: ['scale'],
      }),
    );
    expect(effective).toEqual(
      accepted({
        objects: {
          names: ['b'],
          namespaces: [],
          fieldSelector: 'type=Opaque,metadata.name!=d',
          references: [one as never],
        },
        subresources: [],
      }),
    );
  });
});

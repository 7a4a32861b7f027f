import { describe, expect, test } from '@jest/globals';
import { bindingOf } from '../../test/shared-apis.ts';
import { acceptedClaim, trimBinding, bindingTo, claimsAllow, exportKeyOf } from './export-bindings.ts';

const things = exportKeyOf('provider/things');
const claim = { group: '', resource: 'configmaps', verbs: ['*'] };
const binding = bindingOf({
  reference: { export: { path: 'root:provider', name: 'things' } },
  permissionClaims: [{ ...claim, state: 'Accepted', selector: { matchAll: true } }],
});

describe('bindingTo', () => {
  test('finds the binding by the export cluster in its status', () => {
    expect(bindingTo([bindingOf({}, { name: 'other', exportCluster: 'other' }), binding], things)).toBe(binding);
    expect(bindingTo([binding], exportKeyOf('provider/others'))).toBeUndefined();
  });

  test('falls back to a reference by logical cluster name while the status is empty', () => {
    const unbound = { ...binding, status: {} };
    expect(bindingTo([unbound], things)).toBeUndefined();
    const byCluster = { ...unbound, spec: { reference: { export: { path: 'provider', name: 'things' } } } };
    expect(bindingTo([byCluster], things)).toBe(byCluster);
  });

  test('works with trimmed bindings', () => {
    const trimmed = trimBinding({ ...binding, metadata: { ...binding.metadata, managedFields: [] } });
    expect(trimmed.metadata).toEqual({ name: 'things', annotations: { 'kcp.io/cluster': 'consumer' } });
    expect(bindingTo([trimmed], things)).toBe(trimmed);
    expect(acceptedClaim(trimmed, claim)?.selector).toEqual({ matchAll: true });
    expect(trimmed['status']).toMatchObject({ phase: 'Bound', boundResources: [{ resource: 'widgets' }] });
  });
});

test('a claim allows the verbs of both sides, with * on either side', () => {
  const allows = (claimed: string[], accepted: string[]): boolean =>
    claimsAllow({ verbs: claimed }, { ...claim, verbs: accepted }, 'list');
  expect([allows(['*'], ['list']), allows(['list'], ['*']), allows(['list'], ['list'])]).toEqual([true, true, true]);
  expect([allows(['*'], ['get']), allows(['get'], ['*'])]).toEqual([false, false]);
  expect(claimsAllow({ verbs: ['*'] }, undefined, 'list')).toBe(false);
});

test('a claim on events matches either of their groups', () => {
  const events = bindingOf({
    permissionClaims: [
      { group: '', resource: 'events', verbs: ['*'], state: 'Accepted', selector: { matchAll: true } },
    ],
  });
  expect(acceptedClaim(events, { group: 'events.k8s.io', resource: 'events' })?.verbs).toEqual(['*']);
  const rejected = bindingOf({ permissionClaims: [{ ...claim, state: 'Rejected' }] });
  expect(acceptedClaim(rejected, claim)).toBeUndefined();
});

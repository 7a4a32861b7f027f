import { describe, expect, test } from '@jest/globals';
import { bindingOf } from '../test-support/shared-apis.ts';
import { acceptedClaim, bindingFacts, bindingTo, claimsAllow, exportKeyOf } from './export-bindings.ts';

const things = exportKeyOf('provider/things');
const claim = { group: '', resource: 'configmaps', verbs: ['*'] };
const binding = bindingOf({
  reference: { export: { path: 'root:provider', name: 'things' } },
  permissionClaims: [{ ...claim, state: 'Accepted', selector: { matchAll: true } }],
});

describe('the binding to an export', () => {
  test('is the one that the system says is bound to it', () => {
    expect(bindingTo([bindingOf({}, { name: 'other', exportCluster: 'elsewhere' }), binding], things)).toBe(binding);
    expect(bindingTo([binding], exportKeyOf('provider/others'))).toBeUndefined();
  });

  test('before the system has found the export, the one that names its logical cluster', () => {
    const unbound = { ...binding, status: {} };
    expect(bindingTo([unbound], things)).toBeUndefined();
    const byCluster = { ...unbound, spec: { reference: { export: { path: 'provider', name: 'things' } } } };
    expect(bindingTo([byCluster], things)).toBe(byCluster);
  });

  test('is known well enough by what a server apart from the shard keeps of it', () => {
    const facts = bindingFacts({ ...binding, metadata: { ...binding.metadata, managedFields: [] } });
    expect(facts.metadata).toEqual({ name: 'things', annotations: { 'kcp.io/cluster': 'consumer' } });
    expect(bindingTo([facts], things)).toBe(facts);
    expect(acceptedClaim(facts, claim)?.selector).toEqual({ matchAll: true });
    expect(facts['status']).toMatchObject({ phase: 'Bound', boundResources: [{ resource: 'widgets' }] });
  });
});

test('a claim allows what both sides name, whichever way they name all', () => {
  const allows = (asked: string[], accepted: string[]): boolean =>
    claimsAllow({ verbs: asked }, { ...claim, verbs: accepted }, 'list');
  expect([allows(['*'], ['list']), allows(['list'], ['*']), allows(['list'], ['list'])]).toEqual([true, true, true]);
  expect([allows(['*'], ['get']), allows(['get'], ['*'])]).toEqual([false, false]);
  expect(claimsAllow({ verbs: ['*'] }, undefined, 'list')).toBe(false);
});

test('events are claimed by either of their groups', () => {
  const events = bindingOf({
    permissionClaims: [
      { group: '', resource: 'events', verbs: ['*'], state: 'Accepted', selector: { matchAll: true } },
    ],
  });
  expect(acceptedClaim(events, { group: 'events.k8s.io', resource: 'events' })?.verbs).toEqual(['*']);
  const rejected = bindingOf({ permissionClaims: [{ ...claim, state: 'Rejected' }] });
  expect(acceptedClaim(rejected, claim)).toBeUndefined();
});

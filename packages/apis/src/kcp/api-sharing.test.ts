import { describe, expect, it } from '@jest/globals';
import { claimKey, claimLabelValue, exportLabelValue, reflexiveClaimLabelValue } from './api-sharing.ts';

describe('hashes by which shared APIs find each other are those of kcp (C1.2)', () => {
  it('of an export', () => {
    expect(exportLabelValue('root', 'tenancy.kcp.io')).toBe('bmCdly9xXiUpEHe3ypvDwvXMTfoVZUE92mqAQf');
    expect(exportLabelValue('abcd1234', 'my-export')).toBe('phGj1BkmdNY3LKTrtFc1KGLYTBs8Nt50p8PIU');
  });

  it('of a claim, whatever its selectors are', () => {
    expect(claimLabelValue({ resource: 'configmaps' })).toBe('3QVjs6pfBjMpLEVYYhysJnroYGsQGlWm05E4qe');
    expect(claimLabelValue({ group: '', resource: 'configmaps', identityHash: '' })).toBe(
      '3QVjs6pfBjMpLEVYYhysJnroYGsQGlWm05E4qe',
    );
    const deployments = { group: 'apps', resource: 'deployments', identityHash: 'deadbeef' };
    expect(claimLabelValue({ ...deployments, ...{ defaultSelector: { matchAll: true } } })).toBe(
      '4CpOMiJ5JL9ZC4cG8ne7nGNQbSOEUiwZ89KHal',
    );
  });

  it('of a binding claimed by its own export', () => {
    expect(reflexiveClaimLabelValue).toBe('LstvmbbzVDDOn90ZbhzSQO5U3DMCf88h1pZ');
  });

  it('events of both groups are one claim', () => {
    expect(claimKey({ group: 'events.k8s.io', resource: 'events' })).toBe(claimKey({ resource: 'events' }));
    expect(claimKey({ group: 'example.com', resource: 'events' })).not.toBe(claimKey({ resource: 'events' }));
  });
});

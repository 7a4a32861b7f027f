import { describe, expect, it } from '@jest/globals';
import { parseLabelSelector } from '@multiplane/apimachinery';
import {
  claimKey,
  claimLabels,
  claimLabelValue,
  exportLabelValue,
  notWithheldSelector,
  reflexiveClaimLabelValue,
} from './api-sharing.ts';

describe('hashes by which shared APIs find each other are those of kcp', () => {
  it('of an export', () => {
    expect(exportLabelValue('root', 'tenancy.kcp.io')).toBe('bmCdly9xXiUpEHe3ypvDwvXMTfoVZUE92mqAQf');
    expect(exportLabelValue('abcd1234', 'my-export')).toBe('phGj1BkmdNY3LKTrtFc1KGLYTBs8Nt50p8PIU');
  });

  it('of a claim, whatever its selectors are', () => {
    expect(claimLabelValue({ resource: 'configmaps' })).toBe('3QVjs6pfBjMpLEVYYhysJnroYGsQGlWm05E4qe');
    expect(claimLabelValue({ group: '', resource: 'configmaps', identityHash: '' })).toBe(
      '3QVjs6pfBjMpLEVYYhysJnroYGsQGlWm05E4qe',
    );
    const deployments = {
      group: 'apps',
      resource: 'deployments',
      identityHash: 'deadbeef',
      defaultSelector: { matchAll: true },
    };
    expect(claimLabelValue(deployments)).toBe('4CpOMiJ5JL9ZC4cG8ne7nGNQbSOEUiwZ89KHal');
  });

  it('of a binding claimed by its own export', () => {
    expect(reflexiveClaimLabelValue).toBe('LstvmbbzVDDOn90ZbhzSQO5U3DMCf88h1pZ');
  });

  it('events of both groups are one claim', () => {
    expect(claimKey({ group: 'events.k8s.io', resource: 'events' })).toBe(claimKey({ resource: 'events' }));
    expect(claimKey({ group: 'example.com', resource: 'events' })).not.toBe(claimKey({ resource: 'events' }));
    expect(claimLabelValue({ group: 'events.k8s.io', resource: 'events' })).toBe(
      claimLabelValue({ resource: 'events' }),
    );
  });
});

describe('a label marks what a consumer excludes from wildcard requests', () => {
  const shown = (verbs: string[], verb: 'list' | 'watch'): boolean =>
    parseLabelSelector(notWithheldSelector('abc', 'things', verb)).matches(
      claimLabels('abc', 'things', { resource: 'configmaps', verbs, state: 'Accepted' }),
    );

  it('nothing where all is accepted, and no label then', () => {
    expect([shown(['*'], 'list'), shown(['list', 'watch'], 'watch')]).toEqual([true, true]);
    expect(Object.keys(claimLabels('abc', 'things', { resource: 'configmaps', verbs: ['*'] }))).toHaveLength(1);
  });

  it('verbs one by one', () => {
    expect([shown(['get', 'list'], 'list'), shown(['get', 'list'], 'watch')]).toEqual([true, false]);
    expect([shown(['watch'], 'list'), shown(['watch'], 'watch')]).toEqual([false, true]);
    expect([shown(['get'], 'list'), shown(['get'], 'watch')]).toEqual([false, false]);
  });

  it('and is no matter of other exports', () => {
    const labels = claimLabels('abc', 'others', { resource: 'configmaps', verbs: ['get'] });
    expect(parseLabelSelector(notWithheldSelector('abc', 'things', 'list')).matches(labels)).toBe(true);
  });
});

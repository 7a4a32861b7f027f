import { expect, test } from '@jest/globals';
import { isStatusError } from '@multiplane/apimachinery';
import { checkRequiredLabels } from './required-labels.ts';
import type { ResourceRequest } from './resource-request.ts';

/** The HTTP status of a GET of an object with the label `tier=gold`; 200 if the check passes. */
function statusOf(query: string): number {
  const request = {
    context: { info: { query: new URLSearchParams(query) } },
    definition: { group: 'example.dev', resource: 'widgets' },
    name: 'w',
  } as unknown as ResourceRequest;
  try {
    checkRequiredLabels(request, () => ({ tier: 'gold' }));
    return 200;
  } catch (error) {
    if (isStatusError(error)) return error.code;
    throw error;
  }
}

test('a read requires the labels that its query names', () => {
  expect(statusOf('')).toBe(200);
  expect(statusOf('requiredLabels=')).toBe(200);
  expect(statusOf('requiredLabels=tier%3Dgold')).toBe(200);
  expect(statusOf('requiredLabels=tier+in+(gold,silver),!gone')).toBe(200);
  expect(statusOf('requiredLabels=tier%3Dsilver')).toBe(404);
  // The selector of a client cannot swallow that of the virtual workspace, which replaces the parameter: the first one counts.
  expect(statusOf('requiredLabels=tier%3Dsilver&requiredLabels=tier%3Dgold')).toBe(404);
  expect(statusOf('requiredLabels=tier%3D%3D%3D(')).toBe(400);
});

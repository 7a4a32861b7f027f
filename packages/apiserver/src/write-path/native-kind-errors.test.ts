import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Pipeline } from '../../test/pipeline.ts';

let pipeline: Pipeline;
beforeEach(async () => {
  pipeline = await Pipeline.open();
});
afterEach(() => pipeline.close());

describe('events of events.k8s.io, which are stored as those of the core group', () => {
  const events = '/apis/events.k8s.io/v1/namespaces/default/events';

  test.each([
    ['GET', 404, undefined, 'events "e" not found', { name: 'e', kind: 'events' }],
    ['DELETE', 404, undefined, 'events "e" not found', { name: 'e', kind: 'events' }],
    [
      'PUT',
      422,
      { metadata: { name: 'e' }, eventTime: '2026-01-01T00:00:00.000000Z', reportingController: 'c' },
      expect.stringMatching(/^Event "e" is invalid: /),
      expect.objectContaining({ name: 'e', kind: 'Event' }),
    ],
  ])('%s: the error names the stored kind', async (method, status, body, message, details) => {
    const answer = await pipeline.ask(method, `${events}/e`, body);
    expect(answer.status).toBe(status);
    expect(answer.body).toMatchObject({ message, details });
    expect(answer.body['details']).not.toHaveProperty('group');
  });

  test('a body of another kind cannot be converted into the stored one', async () => {
    const answer = await pipeline.ask('POST', events, { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'e' } });
    expect(answer.body['message']).toBe(
      'ConfigMap in version "v1" cannot be handled as a Event: converting (v1.ConfigMap) to (core.Event): unknown conversion',
    );
  });
});

describe('deletion of a namespace', () => {
  const path = '/api/v1/namespaces/n';

  test.each([
    [{ uid: 'other' }, /^Precondition failed: UID in precondition: other, UID in object meta: 0{8}-/],
    [
      { resourceVersion: '1' },
      /^Precondition failed: ResourceVersion in precondition: 1, ResourceVersion in object meta: \d+$/,
    ],
  ])('preconditions %j', async (preconditions, reason) => {
    await pipeline.must(201, 'POST', '/api/v1/namespaces', { metadata: { name: 'n' } });
    const answer = await pipeline.ask('DELETE', path, { preconditions });
    const head = 'Operation cannot be fulfilled on namespaces "n": ';
    expect(answer.body).toMatchObject({ reason: 'Conflict', details: { name: 'n', kind: 'namespaces' } });
    expect(String(answer.body['message']).slice(0, head.length)).toBe(head);
    expect(String(answer.body['message']).slice(head.length)).toMatch(reason);
  });

  test('orphanDependents false deletes dependents in the foreground; a further DELETE changes nothing', async () => {
    await pipeline.must(201, 'POST', '/api/v1/namespaces', { metadata: { name: 'n' } });
    const marked = await pipeline.must(202, 'DELETE', path, { orphanDependents: false });
    expect(marked['metadata']).toMatchObject({ finalizers: ['foregroundDeletion'] });
    const again = await pipeline.must(200, 'DELETE', path, { propagationPolicy: 'Orphan' });
    expect(again['metadata']).toEqual(marked['metadata']);
  });

  test('namespaces are selected by the field name too', async () => {
    const { items } = await pipeline.must(200, 'GET', '/api/v1/namespaces?fieldSelector=name%3Ddefault');
    expect(items).toHaveLength(1);
  });
});

import { expect, test } from '@jest/globals';
import type { Attempt } from '../../e2e/conformance/observe-scenario.ts';
import { PairedUids } from '../../e2e/conformance/paired-uids.ts';
import { recordedDifferences } from '../../e2e/conformance/recorded-differences.ts';
import type { Step } from '../../e2e/conformance/scenario.ts';
import { Meeting, SetUpFailed, type MeetingOptions } from './meeting.ts';

const options: MeetingOptions = { quietMs: 30, longQuietMs: 30, pollMs: 1, withinSeconds: 20 };
const answer = (body: string, holds = true): Attempt => ({ seen: { status: 200, body }, holds });

/** Plays one step; each side answers its list, and then the last answer again. Returns what counts, and how often each sent. */
async function meet(step: Step, reference: readonly Attempt[], subject: readonly Attempt[], more = options) {
  const meeting = new Meeting(more, {
    differ: (_, attempts) => attempts.get('reference')?.seen.body !== attempts.get('subject')?.seen.body,
  });
  const sent = { reference: 0, subject: 0 };
  const side = (name: 'reference' | 'subject', answers: readonly Attempt[]): Promise<Attempt> =>
    meeting.attempt(name, 0, step, async () => answers[Math.min(sent[name]++, answers.length - 1)] as Attempt);
  const final = await Promise.all([side('reference', reference), side('subject', subject)]);
  return { bodies: final.map(({ seen }) => seen.body), sent };
}

test('a read is repeated until both sides answer the same', async () => {
  const { bodies } = await meet({ path: '/x' }, [answer('a'), answer('b'), answer('c')], [answer('c')]);
  expect(bodies).toEqual(['c', 'c']);
});

test('answers that stay different are final', async () => {
  const { bodies } = await meet({ path: '/x' }, [answer('a')], [answer('b')]);
  expect(bodies).toEqual(['a', 'b']);
});

test('a write is sent once, whatever the answers are, but while what it waits for does not hold', async () => {
  const step = { method: 'POST', path: '/x' };
  expect((await meet(step, [answer('a')], [answer('b')])).sent).toEqual({ reference: 1, subject: 1 });
  const late = await meet(step, [answer('no', false), answer('no', false), answer('a')], [answer('a')]);
  expect(late.sent).toEqual({ reference: 3, subject: 1 });
});

test('a step that neither side can pass ends when nothing changes, unless the reference is still on its way', async () => {
  const { bodies } = await meet({ path: '/x' }, [answer('a', false)], [answer('a', false)]);
  expect(bodies).toEqual(['a', 'a']);
  const passing = Array.from({ length: 100 }, () => answer('WaitingForEstablished', false));
  const { bodies: after } = await meet({ path: '/x' }, [...passing, answer('a')], [answer('a')]);
  expect(after).toEqual(['a', 'a']);
});

test('a scenario whose set-up takes the reference too long is left out', async () => {
  const step = { path: '/x', capture: { w: '/spec/cluster' }, until: { contains: 'b', within: 0.01 } };
  await expect(meet(step, [answer('a', false)], [answer('b')])).rejects.toThrow(SetUpFailed);
});

test('uids at the same place are the same, and stay it', () => {
  const uids = new PairedUids();
  const [first, second] = [
    { a: '{{uid1}}', b: '{{uid2}}' },
    { b: '{{uid1}}', a: '{{uid2}}' },
  ];
  expect(uids.renamed(first, second)).toEqual(first);
  expect(uids.renamed({ c: '{{uid1}}' }, { c: '{{uid1}}' })).toEqual({ c: '{{uid2}}' });
  expect(uids.renamed({}, { c: '{{uid3}}' })).toEqual({ c: '{{unpaired uid3}}' });
});

test('an entry of the recorded differences needs a scenario, a reason and one list', () => {
  const listed = (entry: string) => recordedDifferences('kcp', `- ${entry}\n`);
  expect(listed('{kcp: a/b, steps: [1, 2], reason: why}').different).toEqual({ 'a/b': { 1: 'why', 2: 'why' } });
  expect(listed('{kubernetes: a/b, steps: [1], reason: why}').different).toEqual({});
  for (const wrong of ['{kcp: a/b, steps: [1]}', '{kcp: a/b, reason: why}', '{kcp: a/b, step: [1], reason: why}'])
    expect(() => listed(wrong)).toThrow('malformed entry');
});

import { expect, test } from '@jest/globals';
import { statusErrors } from '@multiplane/apimachinery';
import { untilCreated } from './until-created.ts';

const exists = statusErrors.alreadyExists({ group: '', resource: 'configmaps' }, 'a');
const away = new Error('nobody answers');

test('what a try has made whose answer was lost is there', async () => {
  const answers: Error[] = [away, exists];
  await untilCreated(() => Promise.reject(answers.shift() ?? new Error('once too often')));
  expect(answers).toEqual([]);
});

test('what was there before anything was tried is not what was made', async () => {
  await expect(untilCreated(() => Promise.reject(exists), { timeout: 20 })).rejects.toThrow('already exists');
});

import { expect, test } from '@jest/globals';
import { statusErrors } from '@multiplane/apimachinery';
import { createWithRetry } from './create-with-retry.ts';

const exists = statusErrors.alreadyExists({ group: '', resource: 'configmaps' }, 'a');
const away = new Error('no response');

test('an object that a failed attempt created is a success', async () => {
  const answers: Error[] = [away, exists];
  await createWithRetry(() => Promise.reject(answers.shift() ?? new Error('once too often')));
  expect(answers).toEqual([]);
});

test('an object that existed before the first attempt is an error', async () => {
  await expect(createWithRetry(() => Promise.reject(exists), { timeout: 20 })).rejects.toThrow('already exists');
});

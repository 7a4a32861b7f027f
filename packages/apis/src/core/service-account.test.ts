import { expect, test } from '@jest/globals';
import { serviceAccounts } from './service-account.ts';

test('the table of service accounts has a name and an age', () => {
  expect(serviceAccounts().tableConvertor.columns.map(({ name }) => name)).toEqual(['Name', 'Age']);
});

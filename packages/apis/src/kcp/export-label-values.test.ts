import { expect, test } from '@jest/globals';
import { exportLabelValue } from './api-sharing.ts';
import { ExportLabelValues } from './export-label-values.ts';

test('are those of the exports, however many are asked for and however often', () => {
  const values = new ExportLabelValues();
  for (let round = 0; round < 2; round++)
    for (let index = 0; index < 5000; index++)
      expect(values.of(`cluster-${index}`, 'things')).toBe(exportLabelValue(`cluster-${index}`, 'things'));
});

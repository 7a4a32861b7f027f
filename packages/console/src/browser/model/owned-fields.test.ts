import { expect, test } from '@jest/globals';
import { ownedFields } from './owned-fields.ts';

test('names the fields of a set by their paths', () => {
  const set = {
    'f:spec': { 'f:ports': { '.': {}, 'k:{"port":80}': { '.': {}, 'f:name': {} } }, 'f:finalizers': { 'v:"a"': {} } },
    'f:data': {},
  };
  expect(ownedFields(set)).toEqual(['spec.ports[port=80].name', 'spec.finalizers["a"]', 'data']);
});

test('what is no set has no fields', () => {
  expect(ownedFields(undefined)).toEqual([]);
  expect(ownedFields({ 'f:a': { 'k:{broken': {} } })).toEqual(['a[{broken]']);
});

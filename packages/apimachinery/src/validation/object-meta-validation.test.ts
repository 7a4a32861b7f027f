import { describe, expect, test } from '@jest/globals';
import { fieldErrorText, FieldPath } from './field-error.ts';
import { validateStandardFinalizers } from './finalizers.ts';
import type { ObjectMeta, OwnerReference } from '../meta/object.ts';
import { validateDns1123Subdomain } from './names.ts';
import { validateObjectMeta, validateObjectMetaUpdate } from './object-meta-validation.ts';
import { statusErrors } from '../errors/status-error.ts';
import { dedupOwnerReferences, duplicateOwnersWarning } from './owner-references.ts';

const create = (meta: ObjectMeta, standardFinalizers = true): string[] =>
  validateObjectMeta(meta, { namespaced: true, validateName: validateDns1123Subdomain, standardFinalizers }).map(
    fieldErrorText,
  );
const good: ObjectMeta = { name: 'a', namespace: 'n' };
const owner: OwnerReference = { apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid: 'u' };

describe('metadata of a create', () => {
  test('may be complete', () => {
    const meta = {
      ...good,
      labels: { constructor: 'x' },
      annotations: { 'UPPER.example/x': 'y\n' },
      finalizers: ['kubernetes', 'a.b/c'],
      ownerReferences: [owner],
    };
    expect(create(meta)).toEqual([]);
  });

  test('needs a name and, in a namespace, the namespace', () => {
    expect(create({})).toEqual([
      'metadata.name: Required value: name or generateName is required',
      'metadata.namespace: Required value',
    ]);
    expect(validateObjectMeta(good, { namespaced: false, validateName: () => [] }).map(fieldErrorText)).toEqual([
      'metadata.namespace: Forbidden: not allowed on this type',
    ]);
    expect(create({ name: 'a', namespace: 'A' })[0]).toMatch(
      /^metadata.namespace: Invalid value: "A": a lowercase RFC 1123 label/,
    );
  });

  test('reports a bad base of a generated name, and the generated name', () => {
    const errors = create({ generateName: 'Bad_', name: 'Bad_x', namespace: 'n' });
    expect(errors.map((error) => error.slice(0, 48))).toEqual([
      'metadata.generateName: Invalid value: "Bad_": a ',
      'metadata.name: Invalid value: "Bad_x": a lowerca',
    ]);
    expect(create({ generateName: 'gen-', name: 'gen-abcde', namespace: 'n' })).toEqual([]);
  });

  test('has no negative generation', () => {
    expect(create({ ...good, generation: -1 })).toEqual([
      'metadata.generation: Invalid value: -1: must be greater than or equal to 0',
    ]);
  });

  test('has bounded annotations', () => {
    expect(create({ ...good, annotations: { a: 'x'.repeat(262143) } })).toEqual([]);
    expect(create({ ...good, annotations: { a: 'ä'.repeat(131072) } })).toEqual([
      'metadata.annotations: Too long: may not be more than 262144 bytes',
    ]);
  });

  test('has qualified finalizers', () => {
    const standard = 'name is neither a standard finalizer name nor is it fully qualified';
    expect(create({ ...good, finalizers: ['plain'] })).toEqual([
      `metadata.finalizers[0]: Invalid value: "plain": ${standard}`,
    ]);
    expect(create({ ...good, finalizers: ['plain'] }, false)).toEqual([]);
    expect(create({ ...good, finalizers: [''] })).toEqual([
      'metadata.finalizers: Invalid value: "": name part must be non-empty',
      expect.stringMatching(/^metadata.finalizers: Invalid value: "": name part must consist of/),
      `metadata.finalizers[0]: Invalid value: "": ${standard}`,
    ]);
    expect(create({ ...good, finalizers: ['orphan', 'foregroundDeletion'] })).toEqual([
      'metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: finalizer orphan and foregroundDeletion cannot be both set',
    ]);
    expect(validateStandardFinalizers(['kubernetes', 'a/b'], FieldPath.of('spec', 'finalizers'))).toEqual([]);
  });

  test('has complete owners', () => {
    const errors = (change: Partial<OwnerReference>): string[] =>
      create({ ...good, ownerReferences: [{ ...owner, ...change } as OwnerReference] });
    expect(errors({ apiVersion: '' })).toEqual([
      'metadata.ownerReferences.apiVersion: Invalid value: "": version must not be empty',
    ]);
    expect(errors({ apiVersion: 'a/b/c' })).toEqual([
      'metadata.ownerReferences.apiVersion: Invalid value: "a/b/c": version must not be empty',
    ]);
    expect(errors({ apiVersion: 'apps/' })).toEqual([
      'metadata.ownerReferences.apiVersion: Invalid value: "apps/": version must not be empty',
    ]);
    expect(errors({ kind: '' })).toEqual(['metadata.ownerReferences.kind: Invalid value: "": must not be empty']);
    expect(errors({ name: '', uid: '' })).toEqual([
      'metadata.ownerReferences.name: Invalid value: "": must not be empty',
      'metadata.ownerReferences.uid: Invalid value: "": must not be empty',
    ]);
    expect(errors({ kind: 'Event' })).toEqual([
      'metadata.ownerReferences: Invalid value: {"apiVersion":"v1","kind":"Event","name":"o","uid":"u"}: /v1, Kind=Event is disallowed from being an owner',
    ]);
  });

  test('has one controller', () => {
    const two: OwnerReference[] = [
      { ...owner, controller: true },
      { ...owner, uid: 'v', name: 'p', controller: true },
    ];
    expect(create({ ...good, ownerReferences: two })[0]).toMatch(
      / Only one reference can have Controller set to true\. Found "true" in references for ConfigMap\/o and ConfigMap\/p$/,
    );
  });

  test('has entries of managed fields with a proper frame', () => {
    const entry = { manager: 'm\n', operation: 'Bad', fieldsType: 'FieldsV2', subresource: 's'.repeat(257) };
    expect(create({ ...good, managedFields: [entry] })).toEqual([
      'metadata.managedFields[0].operation: Invalid value: "Bad": must be `Apply` or `Update`',
      'metadata.managedFields[0].fieldsType: Invalid value: "FieldsV2": must be `FieldsV1`',
      String.raw`metadata.managedFields[0].manager: Invalid value: "m\n": invalid character U+000A (at position 1)`,
      'metadata.managedFields[0].subresource: Too long: may not be more than 256 bytes',
    ]);
  });
});

describe('metadata of an update', () => {
  const old: ObjectMeta = {
    ...good,
    uid: 'u',
    creationTimestamp: '2026-01-01T00:00:00Z',
    generation: 2,
    finalizers: ['a/x'],
  };
  const update = (change: Partial<ObjectMeta>, before: ObjectMeta = old): string[] =>
    validateObjectMetaUpdate({ ...before, ...change }, before).map(fieldErrorText);

  test('keeps what is fixed', () => {
    expect(update({ labels: { a: 'b' } })).toEqual([]);
    expect(update({ uid: 'v' })).toEqual(['metadata.uid: Invalid value: "v": field is immutable']);
    expect(update({ name: 'b', namespace: 'm' })).toEqual([
      'metadata.name: Invalid value: "b": field is immutable',
      'metadata.namespace: Invalid value: "m": field is immutable',
    ]);
    expect(update({ generation: 1 })).toEqual(['metadata.generation: Invalid value: 1: must not be decremented']);
    expect(update({ deletionTimestamp: '2026-01-01T00:00:00Z' })).toEqual([
      'metadata.deletionTimestamp: Invalid value: "2026-01-01T00:00:00Z": field is immutable',
    ]);
  });

  test('gets no new finalizers while it is being deleted', () => {
    const deleted = { ...old, deletionTimestamp: '2026-01-01T00:00:00Z' };
    expect(update({ finalizers: ['a/x', 'a/z', 'a/y'] }, deleted)).toEqual([
      'metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"a/y", "a/z"}',
    ]);
    expect(update({ finalizers: [] }, deleted)).toEqual([]);
    expect(update({ finalizers: ['a/x', 'a/z'] })).toEqual([]);
  });
});

test('repeated owners are dropped and named', () => {
  const reordered = { uid: 'u', name: 'o', kind: 'ConfigMap', apiVersion: 'v1' };
  const other = { ...owner, controller: true };
  expect(dedupOwnerReferences([owner, reordered, other])).toEqual({ references: [owner, other], duplicates: ['u'] });
  expect(duplicateOwnersWarning(['u', 'v'], 'request')).toMatch(
    /please fix your requests; duplicate UID\(s\) observed: u, v$/,
  );
  expect(duplicateOwnersWarning(['u'], 'admission')).toMatch(
    /^\.metadata\.ownerReferences contains duplicate entries after mutating admission happens; /,
  );
});

test('a hundred thousand errors are refused, and the first ones are reported', () => {
  const labels = Object.fromEntries(Array.from({ length: 150_000 }, (_, index) => [`-${index}`, '-']));
  const errors = validateObjectMeta({ name: 'a', labels }, { namespaced: false, validateName: () => [] });
  expect(errors.length).toBe(300_000);
  const { message, details } = statusErrors.invalid({ group: '', kind: 'ConfigMap' }, 'a', errors);
  expect(details?.causes?.length).toBe(1000);
  expect(message).toMatch(/, and 299000 more errors\]$/);
});

test('errors with long lists of values are reported up to the size of the body', () => {
  const ownerReferences = Array.from({ length: 3_000 }, (_, index) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    name: `owner-${index}`,
    uid: `uid-${index}`,
    controller: true,
  }));
  const errors = validateObjectMeta(
    { name: 'a', namespace: 'b', ownerReferences },
    { namespaced: true, validateName: () => [] },
  );
  expect(errors.length).toBe(2_999);
  const { message, details } = statusErrors.invalid({ group: '', kind: 'ConfigMap' }, 'a', errors);
  const reported = details?.causes?.length as number;
  expect(reported).toBeGreaterThan(1);
  expect(message).toMatch(new RegExp(`, and ${2_999 - reported} more errors\\]$`));
  expect(message.length).toBeLessThan(4 * 1024 * 1024);
});
